//! Where a step leads: to the next or previous hunk across files, and around a list of files.

use std::borrow::Borrow;
use std::path::PathBuf;

/// A row of a file. Files are gone through in the order of their paths.
pub type Position = (PathBuf, usize);

/// The position that so many steps lead to. Past the last hunk they go on with the first one, and the other way
/// round; more steps than are left in a direction lead to its end first. `all` is in order.
pub fn step(all: &[Position], now: &Position, count: usize, forward: bool) -> Option<Position> {
    let target = if forward {
        let next = all.partition_point(|position| position <= now);
        all.get(next + count - 1).or(all.last().filter(|last| *last > now)).or(all.first())
    } else {
        let before = all.partition_point(|position| position < now);
        let first = all.first().filter(|first| *first < now);
        before.checked_sub(count).and_then(|at| all.get(at)).or(first).or(all.last())
    };
    target.cloned()
}

/// The last of so many that come next; where there are fewer, the last one is as far as it goes.
pub fn after<T>(coming: impl Iterator<Item = T>, count: usize) -> Option<T> {
    coming.take(count).last()
}

/// What comes after or before something in a list, round and round.
pub fn neighbour<T, B>(all: &[T], here: Option<&B>, forward: bool) -> Option<T>
where
    T: Clone + Borrow<B>,
    B: PartialEq + ?Sized,
{
    let count = all.len();
    let at = here.and_then(|here| all.iter().position(|each| each.borrow() == here));
    let next = match (at, forward) {
        (None, _) => 0,
        (Some(at), true) => (at + 1) % count,
        (Some(at), false) => (at + count - 1) % count,
    };
    all.get(next).cloned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn at(path: &str, row: usize) -> Position {
        (path.into(), row)
    }

    fn all() -> Vec<Position> {
        vec![at("/a", 3), at("/a", 9), at("/b", 0)]
    }

    #[test]
    fn a_step_leads_to_the_next_hunk_and_past_a_file_to_the_next_file() {
        assert_eq!(step(&all(), &at("/a", 0), 1, true), Some(at("/a", 3)));
        assert_eq!(step(&all(), &at("/a", 3), 1, true), Some(at("/a", 9)));
        assert_eq!(step(&all(), &at("/a", 9), 1, true), Some(at("/b", 0)));
        assert_eq!(step(&all(), &at("/b", 0), 1, false), Some(at("/a", 9)));
        assert_eq!(step(&all(), &at("/a", 4), 1, false), Some(at("/a", 3)));
    }

    #[test]
    fn a_step_past_the_last_hunk_leads_to_the_first_and_back() {
        assert_eq!(step(&all(), &at("/b", 0), 1, true), Some(at("/a", 3)));
        assert_eq!(step(&all(), &at("/a", 3), 1, false), Some(at("/b", 0)));
    }

    #[test]
    fn more_steps_than_are_left_lead_to_the_end_first() {
        assert_eq!(step(&all(), &at("/a", 0), 2, true), Some(at("/a", 9)));
        assert_eq!(step(&all(), &at("/a", 0), 9, true), Some(at("/b", 0)));
        assert_eq!(step(&all(), &at("/b", 5), 9, false), Some(at("/a", 3)));
        assert_eq!(step(&all(), &at("/b", 5), 2, false), Some(at("/a", 9)));
    }

    #[test]
    fn a_count_leads_as_far_as_there_is_something() {
        assert_eq!((after(1..=3, 2), after(1..=3, 9), after(1..1, 1)), (Some(2), Some(3), None));
    }

    #[test]
    fn without_hunks_there_is_nowhere_to_step() {
        assert_eq!(step(&[], &at("/a", 0), 1, true), None);
        assert_eq!(step(&[], &at("/a", 0), 1, false), None);
    }

    #[test]
    fn neighbours_go_round_and_begin_with_the_first() {
        let paths: Vec<PathBuf> = ["/a", "/b", "/c"].map(PathBuf::from).to_vec();
        let next = |here: Option<&str>, forward| neighbour(&paths, here.map(Path::new), forward);
        assert_eq!(next(None, true), Some("/a".into()));
        assert_eq!(next(Some("/elsewhere"), false), Some("/a".into()));
        assert_eq!(next(Some("/c"), true), Some("/a".into()));
        assert_eq!(next(Some("/a"), false), Some("/c".into()));
        assert_eq!(neighbour::<PathBuf, Path>(&[], None, true), None);
        assert_eq!(neighbour::<PathBuf, Path>(&[], Some(Path::new("/a")), true), None);
    }
}

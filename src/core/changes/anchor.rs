//! Lines of a text with those around them, so that they are found again in a text that has changed since. Where
//! they stand is never guessed: lines that could be in two places, or that stand alone, are in none.

use serde::{Deserialize, Serialize};

use crate::core::changes::diff::Hunk;

/// So many lines on either side are kept.
const CONTEXT: usize = 3;

/// A hunk, and what stands around it. One that changes nothing has the same lines on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    pub hunk: Hunk,
    before: Vec<String>,
    after: Vec<String>,
}

/// How well a place fits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fit {
    row: usize,
    /// Lines around it that are the same, and whether all are.
    same: usize,
    is_whole: bool,
}

impl Anchor {
    /// A hunk of the text with these lines.
    pub fn new<S: AsRef<str>>(hunk: Hunk, lines: &[S]) -> Self {
        let first = hunk.row.min(lines.len());
        let end = (first + hunk.added.len()).min(lines.len());
        let owned = |lines: &[S]| lines.iter().map(|line| line.as_ref().to_owned()).collect();
        let before = owned(&lines[first.saturating_sub(CONTEXT)..first]);
        let after = owned(&lines[end..(end + CONTEXT).min(lines.len())]);
        Self { hunk, before, after }
    }

    /// The same hunk the other way round: where it stands was undone what it did.
    pub fn reversed(&self) -> Self {
        let Hunk { row, removed, added } = self.hunk.clone();
        Self { hunk: Hunk { row, removed: added, added: removed }, ..self.clone() }
    }

    /// The same where only some lines of the text are known: its rows from `first` on.
    pub fn near(hunk: Hunk, first: usize, lines: &[String]) -> Self {
        let here = Hunk { row: hunk.row.saturating_sub(first), ..hunk.clone() };
        Self { hunk, ..Self::new(here, lines) }
    }

    /// Rows of a text that hold all that is kept around these.
    pub fn rows_around(rows: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        rows.start.saturating_sub(CONTEXT)..rows.end + CONTEXT
    }

    /// The row at which its lines stand in a text; `None` where they don't, or may stand in two places.
    pub fn find<S: AsRef<str>>(&self, lines: &[S]) -> Option<usize> {
        let count = self.hunk.added.len();
        let fits = self.fits(lines);
        if fits.is_empty() && count > 0 && count <= lines.len() && !self.is_blank() {
            // Lines that are nowhere else need no others around them.
            let is_here = |row: &usize| same(&lines[*row..*row + count], &self.hunk.added);
            let mut rows = (0..=lines.len() - count).filter(is_here);
            return rows.next().filter(|_| rows.next().is_none());
        }
        self.best(fits)
    }

    /// The same, where lines that were around it must be there, too.
    pub fn find_by_context<S: AsRef<str>>(&self, lines: &[S]) -> Option<usize> {
        self.best(self.fits(lines))
    }

    fn fits<S: AsRef<str>>(&self, lines: &[S]) -> Vec<Fit> {
        let count = self.hunk.added.len();
        let Some(last) = lines.len().checked_sub(count) else { return Vec::new() };
        let rows = (0..=last).filter(|row| same(&lines[*row..*row + count], &self.hunk.added));
        rows.map(|row| self.fit(lines, row)).filter(|fit| self.is_enough(*fit)).collect()
    }

    fn best(&self, fits: Vec<Fit>) -> Option<usize> {
        let best = fits.iter().map(|fit| (fit.is_whole, fit.same)).max()?;
        let mut best: Vec<Fit> = fits.into_iter().filter(|fit| (fit.is_whole, fit.same) == best).collect();
        best.sort_by_key(|fit| fit.row.abs_diff(self.hunk.row));
        match best.as_slice() {
            [one] => Some(one.row),
            // Nothing but the row tells them apart, and the row is still right.
            [first, ..] if first.row == self.hunk.row => Some(first.row),
            _ => None,
        }
    }

    fn fit<S: AsRef<str>>(&self, lines: &[S], row: usize) -> Fit {
        let end = row + self.hunk.added.len();
        let above = lines[..row].iter().rev().zip(self.before.iter().rev());
        let above = above.take_while(|(one, other)| one.as_ref() == *other).count();
        let below = lines[end..].iter().zip(&self.after);
        let below = below.take_while(|(one, other)| one.as_ref() == *other).count();
        let is_whole = (above == self.before.len() && (above == CONTEXT || above == row))
            && (below == self.after.len() && (below == CONTEXT || below == lines.len() - end));
        Fit { row, same: above + below, is_whole }
    }

    /// Lines that say little by themselves need all that was around them.
    fn is_enough(&self, fit: Fit) -> bool {
        fit.is_whole || !self.is_blank() && fit.same > 0
    }

    fn is_blank(&self) -> bool {
        self.hunk.added.iter().all(|line| line.trim().is_empty())
    }
}

fn same<S: AsRef<str>>(lines: &[S], others: &[String]) -> bool {
    lines.iter().map(AsRef::as_ref).eq(others.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn anchor(text: &str, row: usize, removed: &[&str], count: usize) -> Anchor {
        let all = lines(text);
        let removed = removed.iter().map(|line| (*line).to_owned()).collect();
        Anchor::new(Hunk { row, removed, added: all[row..row + count].to_vec() }, &all)
    }

    #[test]
    fn lines_are_found_where_they_have_moved() {
        let at = anchor("a b X c d", 2, &["x"], 1);
        assert_eq!(at.find(&lines("a b X c d")), Some(2));
        assert_eq!(at.find(&lines("new new a b X c d")), Some(4));
        assert_eq!(at.find(&lines("X other")), Some(0), "it is nowhere else");
        assert_eq!(at.find(&lines("a b x c d")), None, "it is not there");
    }

    #[test]
    fn of_two_places_the_one_with_the_same_lines_around_is_meant() {
        let at = anchor("a X b", 1, &[], 1);
        assert_eq!(at.find(&lines("X z a X b")), Some(3));
        assert_eq!(at.find(&lines("a X b a X b")), Some(1), "it has not moved");
        assert_eq!(at.find(&lines("z a X b a X b")), None, "both are the same");
        assert_eq!(at.find(&lines("X z X")), None);
    }

    #[test]
    fn a_deletion_needs_all_that_was_around_it() {
        let at = anchor("a b c d e f", 3, &["gone"], 0);
        assert_eq!(at.find(&lines("a b c d e f")), Some(3));
        assert_eq!(at.find(&lines("x a b c d e f")), Some(4));
        assert_eq!(at.find(&lines("a b c gone d e f")), None);
        assert_eq!(at.find(&lines("a b c d e x")), None);
        let first = anchor("a b", 0, &["gone"], 0);
        assert_eq!(first.find(&lines("a b")), Some(0));
        assert_eq!(first.find(&lines("x a b")), None, "the beginning is elsewhere");
    }

    #[test]
    fn a_text_that_is_too_short_holds_nothing() {
        assert_eq!(anchor("a b c", 0, &[], 3).find(&lines("a")), None);
        assert_eq!(anchor("a b c", 0, &[], 3).find::<&str>(&[]), None);
    }

    proptest! {
        #[test]
        fn in_the_same_text_a_hunk_is_where_it_was_or_nowhere(
            text in prop::collection::vec("[ab]?", 1..9),
            row in 0usize..9,
            count in 0usize..4,
        ) {
            let row = row.min(text.len());
            let end = (row + count).min(text.len());
            let hunk = Hunk { row, removed: vec!["r".into()], added: text[row..end].to_vec() };
            prop_assert_eq!(Anchor::new(hunk, &text).find(&text).unwrap_or(row), row);
        }
    }
}

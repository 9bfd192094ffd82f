//! Limits how often the following window moves: a few moves a second, newest location first, and edits
//! before reads. The caller passes in the time.

use super::Visit;
use crate::core::ids::Moment;

/// Between two moves, in milliseconds.
pub const GAP: u64 = 300;
/// What was edited stands at least so long before something that is read takes its place.
pub const EDIT_STANDS: u64 = 900;
/// An edit that has waited longer than this is passed over for what came after it.
const STALE: u64 = 3_000;

/// The places that wait to be shown.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// The newest place that was changed, if it has not been shown.
    edit: Option<Visit>,
    /// The newest place that came after it.
    other: Option<Visit>,
    last: Option<Move>,
}

#[derive(Clone, Copy, Debug)]
struct Move {
    at: Moment,
    changes: bool,
}

impl Pace {
    /// An agent is at a place.
    pub fn offer(&mut self, visit: Visit) {
        if visit.verb.changes() {
            self.edit = Some(visit);
            self.other = None;
        } else {
            self.other = Some(visit);
        }
    }

    /// A place that was taken could not be shown: it waits again unless there is a newer one.
    pub fn give_back(&mut self, visit: Visit) {
        if visit.verb.changes() {
            self.edit.get_or_insert(visit);
        } else if self.edit.is_none() {
            self.other.get_or_insert(visit);
        }
    }

    /// The places of a session are of no interest any more.
    pub fn drop_session(&mut self, session: crate::core::ids::SessionKey) {
        self.edit.take_if(|visit| visit.session == session);
        self.other.take_if(|visit| visit.session == session);
    }

    pub fn clear(&mut self) {
        (self.edit, self.other) = (None, None);
    }

    pub fn is_waiting(&self) -> bool {
        self.edit.is_some() || self.other.is_some()
    }

    /// How long until the next place may be shown, in milliseconds; nothing when none waits.
    pub fn left(&self, now: Moment) -> Option<u64> {
        if !self.is_waiting() {
            return None;
        }
        let changes = self.edit.is_some();
        let Some(last) = self.last else { return Some(0) };
        let stands = if last.changes && !changes { EDIT_STANDS } else { GAP };
        // A clock that was set back must not hold anything up.
        Some(if now < last.at { 0 } else { stands.saturating_sub(now.since(last.at)) })
    }

    /// The place to show now, if it is time for one.
    pub fn take(&mut self, now: Moment) -> Option<Visit> {
        if self.left(now)? > 0 {
            return None;
        }
        if self.other.is_some() {
            self.edit.take_if(|edit| now.since(edit.at) > STALE);
        }
        let next = self.edit.take().or_else(|| self.other.take())?;
        self.last = Some(Move { at: now, changes: next.verb.changes() });
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::ids::SessionKey;
    use crate::core::locations::{Lines, Verb};

    fn visit(line: u32, verb: Verb, at: u64) -> Visit {
        Visit {
            session: SessionKey(1),
            call: None,
            path: "/p/a".into(),
            lines: Lines::at(Some(line)),
            verb,
            at: Moment(at),
        }
    }

    /// Plays places that come at these moments, with a timer that rings as it is told, and gives what was
    /// shown when.
    fn play(places: &[(u64, Verb)]) -> Vec<(u64, Visit)> {
        let mut pace = Pace::default();
        let mut shown = Vec::new();
        let mut waiting = places.iter().enumerate().peekable();
        let mut now = 0;
        loop {
            while let Some((index, (at, verb))) = waiting.next_if(|(_, (at, _))| *at <= now) {
                pace.offer(visit(index as u32 + 1, *verb, *at));
            }
            shown.extend(pace.take(Moment(now)).map(|visit| (now, visit)));
            let ring = pace.left(Moment(now)).map(|left| now + left);
            let next = waiting.peek().map(|(_, (at, _))| *at);
            now = match (ring, next) {
                (None, None) => return shown,
                (ring, next) => ring.into_iter().chain(next).min().expect("one of them").max(now),
            };
        }
    }

    #[test]
    fn the_first_place_is_shown_at_once_and_of_a_burst_the_newest() {
        let burst: Vec<_> = (0..1000).map(|each| (each, Verb::Reading)).collect();
        let lines: Vec<_> = play(&burst).iter().map(|(at, visit)| (*at, visit.line())).collect();
        assert_eq!(
            lines,
            [(0, Some(1)), (300, Some(301)), (600, Some(601)), (900, Some(901)), (1200, Some(1000))]
        );
    }

    #[test]
    fn an_edit_is_seen_before_what_is_read_after_it_and_stands_a_while() {
        let shown =
            play(&[(0, Verb::Reading), (10, Verb::Reading), (20, Verb::Editing), (30, Verb::Reading)]);
        let shown: Vec<_> = shown.iter().map(|(at, visit)| (*at, visit.line())).collect();
        assert_eq!(shown, [(0, Some(1)), (300, Some(3)), (1200, Some(4))]);
    }

    #[test]
    fn after_a_long_pause_an_old_edit_is_passed_over() {
        let mut pace = Pace::default();
        pace.offer(visit(1, Verb::Editing, 0));
        pace.offer(visit(2, Verb::Reading, 60_000));
        assert_eq!(pace.take(Moment(60_000)).and_then(|visit| visit.line()), Some(2));
        assert!(!pace.is_waiting());
    }

    #[test]
    fn what_could_not_be_shown_waits_unless_there_is_something_newer() {
        let mut pace = Pace::default();
        pace.give_back(visit(1, Verb::Reading, 0));
        pace.give_back(visit(2, Verb::Reading, 0));
        assert_eq!(pace.take(Moment(0)).and_then(|visit| visit.line()), Some(1));
        pace.offer(visit(3, Verb::Editing, 0));
        pace.give_back(visit(1, Verb::Reading, 0));
        assert_eq!(pace.take(Moment(999)).and_then(|visit| visit.line()), Some(3));
        assert!(!pace.is_waiting());
    }

    proptest! {
        #[test]
        fn moves_keep_their_distance_and_the_newest_place_is_reached(
            steps in prop::collection::vec((0_u64..400, prop::bool::weighted(0.2)), 1..200)
        ) {
            let mut now = 0;
            let places: Vec<(u64, Verb)> = steps
                .iter()
                .map(|(wait, edits)| {
                    now += wait;
                    (now, if *edits { Verb::Editing } else { Verb::Reading })
                })
                .collect();
            let shown = play(&places);
            for pair in shown.windows(2) {
                let ((before, _), (after, _)) = (&pair[0], &pair[1]);
                prop_assert!(after - before >= GAP);
            }
            // In order, and up to the newest.
            let lines: Vec<u32> = shown.iter().filter_map(|(_, visit)| visit.line()).collect();
            prop_assert!(lines.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(lines.last(), Some(&(places.len() as u32)));
            // An edit is only ever passed over for a newer edit.
            for (index, (at, verb)) in places.iter().enumerate() {
                if verb.changes() {
                    let line = index as u32 + 1;
                    let newer = places[index + 1..].iter().any(|(later, verb)| verb.changes() && *later <= at + EDIT_STANDS);
                    prop_assert!(lines.contains(&line) || newer, "{} of {:?}", line, places);
                }
            }
        }
    }
}

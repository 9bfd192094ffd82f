//! Until when requests of ours are to be answered, by their ids. What follows when one is not is for `patience`.

use std::collections::BTreeSet;

use tokio::time::Instant;

/// The requests that have a deadline.
#[derive(Default)]
pub(super) struct Deadlines {
    due: BTreeSet<(Instant, i64)>,
}

impl Deadlines {
    pub fn add(&mut self, at: Instant, id: i64) {
        self.due.insert((at, id));
    }

    /// When the next deadline is.
    pub fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// A request whose deadline is over; each is given once.
    pub fn take(&mut self, now: Instant) -> Option<i64> {
        let (at, id) = *self.due.first().filter(|(at, _)| *at <= now)?;
        self.due.remove(&(at, id));
        Some(id)
    }
}

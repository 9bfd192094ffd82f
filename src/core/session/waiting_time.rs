//! For how long the user has been waited for.

use crate::core::ids::Moment;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitingTime {
    /// Something waits for them since then.
    since: Option<Moment>,
    /// In milliseconds, what they took for answers before.
    before: u64,
}

impl WaitingTime {
    /// Whether something waits for them from now on.
    pub fn note(&mut self, waits: bool, now: Moment) {
        match self.since {
            None if waits => self.since = Some(now),
            Some(since) if !waits => {
                self.before += now.since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    /// In milliseconds.
    pub fn until(&self, now: Moment) -> u64 {
        self.before + self.since.map_or(0, |since| now.since(since))
    }
}

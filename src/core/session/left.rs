//! What a session does about commands that are still running after their turn was stopped. Finding and
//! killing them is left to the background.

use super::left_commands::{Fate, Notice, is_same, names};
use super::{Phase, Session};
use crate::core::ids::{EntryId, Moment};
use crate::core::message::{LeftCommand, Severity};
use crate::core::session::entry::Body;

impl Session {
    /// Commands of a turn that was stopped go on, or have ended meanwhile. `how` says how they are ended. Gives what
    /// to tell a user who wanted that and may look elsewhere.
    pub fn left_running(&mut self, running: Vec<LeftCommand>, how: &str, now: Moment) -> Option<String> {
        if matches!(self.phase, Phase::Ending { .. } | Phase::Gone) {
            return None;
        }
        self.status_touched = true;
        self.left.running = running;
        if self.left.notice.is_none() && !self.left.running.is_empty() {
            let named = self.left.running.iter().map(|command| (command.clone(), Fate::Running)).collect();
            let mut notice = Notice { entry: EntryId(self.entries.len()), how: how.to_owned(), named };
            notice.entry =
                self.add(Body::Notice { severity: Severity::Warning, text: notice.text(), times: 1 }, now);
            self.left.notice = Some(notice);
            return None;
        }
        let notice = self.left.notice.as_mut()?;
        let was_wanted = !notice.with(Fate::Ending).is_empty();
        notice.went_on(&self.left.running, Fate::Ended);
        let is_done = was_wanted && notice.with(Fate::Ending).is_empty();
        let told = is_done.then(|| format!("ended {}", names(&notice.with(Fate::EndedByUser))));
        self.say_what_is_left();
        told
    }

    /// The user wants an end of all that goes on.
    pub fn end_left(&mut self) -> Vec<LeftCommand> {
        if let Some(notice) = &mut self.left.notice {
            let running = notice.named.iter_mut().filter(|(_, fate)| *fate == Fate::Running);
            running.for_each(|(_, fate)| *fate = Fate::Ending);
            self.say_what_is_left();
        }
        self.left.running.clone()
    }

    /// These could not be ended. Gives what to tell the user.
    pub fn could_not_end(&mut self, commands: &[LeftCommand]) -> Option<String> {
        let notice = self.left.notice.as_mut()?;
        let mut still = Vec::new();
        for (command, fate) in &mut notice.named {
            if *fate == Fate::Ending && commands.iter().any(|one| is_same(one, command)) {
                *fate = Fate::Running;
                still.push(command.clone());
            }
        }
        self.say_what_is_left();
        let first = still.first()?;
        Some(format!(
            "couldn't end {}: the system refuses it; as its owner, run kill -9 {}",
            names(&still),
            first.process
        ))
    }

    /// Commands of a turn that was stopped, which go on.
    pub fn left(&self) -> &[LeftCommand] {
        &self.left.running
    }

    /// The agent is gone, and all that it had started.
    pub(super) fn lose_left(&mut self) {
        self.left.running.clear();
        if let Some(notice) = &mut self.left.notice {
            notice.went_on(&[], Fate::EndedWithAgent);
        }
        self.say_what_is_left();
    }

    /// Brings the notice up to date, for the last time once all of it is over.
    fn say_what_is_left(&mut self) {
        let Some(notice) = &self.left.notice else { return };
        if let Some(entry) = self.entries.get_mut(notice.entry.0)
            && let Body::Notice { text, .. } = &mut entry.body
        {
            *text = notice.text();
            self.touched.insert(notice.entry);
        }
        if notice.named.iter().all(|(_, fate)| fate.is_over()) {
            self.left.notice = None;
        }
    }
}

//! Commands of turns that were stopped, which go on: which do, and the notice that names them and says what became of
//! each. Finding and ending them is the background's business.

use super::{Phase, Session};
use crate::core::ids::{EntryId, Moment};
use crate::core::message::{LeftCommand, Severity};
use crate::core::session::entry::Body;
use crate::core::transcript::cut_middle;

/// A command's line is cut to so many characters.
const MOST_LINE: usize = 80;
/// So many commands a notice names; one that starts others again and again makes more of them.
const MOST_NAMED: usize = 50;

/// What goes on, and the notice about it.
#[derive(Default)]
pub(super) struct Left {
    running: Vec<LeftCommand>,
    notice: Option<Notice>,
}

struct Notice {
    entry: EntryId,
    /// How the user ends them.
    how: String,
    named: Vec<(LeftCommand, Fate)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Running,
    /// The user wants its end.
    Ending,
    EndedByUser,
    Ended,
    EndedWithAgent,
}

impl Fate {
    fn is_over(self) -> bool {
        matches!(self, Self::EndedByUser | Self::Ended | Self::EndedWithAgent)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Running => "",
            Self::Ending => " · being ended",
            Self::EndedByUser => " · ended by you",
            Self::Ended => " · ended by itself",
            Self::EndedWithAgent => " · ended with the agent",
        }
    }
}

impl Notice {
    fn text(&self) -> String {
        let is_over = self.named.iter().all(|(_, fate)| fate.is_over());
        let head = match is_over {
            true => "The turn was stopped, but this went on:",
            false => "The turn was stopped, but this goes on:",
        };
        let lines = self.named.iter().map(|(command, fate)| shortened(command) + fate.word());
        // Nothing is left to be ended once all is over or on its way.
        let how = self.named.iter().any(|(_, fate)| *fate == Fate::Running).then(|| self.how.clone());
        [head.to_owned()].into_iter().chain(lines).chain(how).collect::<Vec<_>>().join("\n")
    }

    fn with(&self, wanted: Fate) -> Vec<LeftCommand> {
        self.named.iter().filter(|(_, fate)| *fate == wanted).map(|(command, _)| command.clone()).collect()
    }

    /// Those that are not among these any more have ended.
    fn went_on(&mut self, running: &[LeftCommand], ended: Fate) {
        // What one of them had started may be left for a moment.
        let new = if self.with(Fate::Ending).is_empty() { Fate::Running } else { Fate::Ending };
        for (command, fate) in &mut self.named {
            if !fate.is_over() && !running.iter().any(|one| is_same(one, command)) {
                *fate = if *fate == Fate::Ending { Fate::EndedByUser } else { ended };
            }
        }
        for command in running {
            if !self.named.iter().any(|(named, _)| is_same(named, command)) {
                self.named.push((command.clone(), new));
            }
        }
        if self.named.len() > MOST_NAMED {
            self.named.retain(|(_, fate)| !fate.is_over());
        }
    }
}

/// Whether both are one process: what it runs may change.
fn is_same(one: &LeftCommand, other: &LeftCommand) -> bool {
    one.process == other.process && one.start == other.start
}

fn shortened(command: &LeftCommand) -> String {
    cut_middle(&command.line, MOST_LINE)
}

/// `sleep 1000`, `sleep 1000 and 2 more`.
fn names(commands: &[LeftCommand]) -> String {
    match commands {
        [] => "nothing".to_owned(),
        [one] => shortened(one),
        [first, rest @ ..] => format!("{} and {} more", shortened(first), rest.len()),
    }
}

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
            notice.entry = self.add(Body::Notice { severity: Severity::Warning, text: notice.text() }, now);
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

//! Commands that are still running after their turn was stopped: what happened to each, and how a notice
//! lists them. How a session handles them is left to `left`.

use crate::core::ids::EntryId;
use crate::core::message::LeftCommand;
use crate::core::text::fitting::cut_middle;

/// A command's line is cut to so many characters.
const MOST_LINE: usize = 80;
/// So many commands a notice names; one that starts others again and again makes more of them.
const MOST_NAMED: usize = 50;

/// What goes on, and the notice about it.
#[derive(Default)]
pub struct Left {
    pub running: Vec<LeftCommand>,
    pub notice: Option<Notice>,
}

pub struct Notice {
    pub entry: EntryId,
    /// How the user ends them.
    pub how: String,
    pub named: Vec<(LeftCommand, Fate)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Running,
    /// The user wants its end.
    Ending,
    EndedByUser,
    Ended,
    EndedWithAgent,
}

impl Fate {
    pub fn is_over(self) -> bool {
        matches!(self, Self::EndedByUser | Self::Ended | Self::EndedWithAgent)
    }

    pub fn word(self) -> &'static str {
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
    pub fn text(&self) -> String {
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

    pub fn with(&self, wanted: Fate) -> Vec<LeftCommand> {
        self.named.iter().filter(|(_, fate)| *fate == wanted).map(|(command, _)| command.clone()).collect()
    }

    /// Those that are not among these any more have ended.
    pub fn went_on(&mut self, running: &[LeftCommand], ended: Fate) {
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
pub fn is_same(one: &LeftCommand, other: &LeftCommand) -> bool {
    one.process == other.process && one.start == other.start
}

pub fn shortened(command: &LeftCommand) -> String {
    cut_middle(&command.line, MOST_LINE)
}

/// `sleep 1000`, `sleep 1000 and 2 more`.
pub fn names(commands: &[LeftCommand]) -> String {
    match commands {
        [] => "nothing".to_owned(),
        [one] => shortened(one),
        [first, rest @ ..] => format!("{} and {} more", shortened(first), rest.len()),
    }
}

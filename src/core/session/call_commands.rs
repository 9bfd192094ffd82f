//! The commands of a tool call that run in terminals: which ones it has, also those that its content shows no
//! more, and how they ended. What the user sees of them is left to `transcript`.

use crate::core::ids::TerminalId;
use crate::core::message::Exit;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallCommands {
    /// In the order in which they came, with how they ended.
    commands: Vec<(TerminalId, Option<Exit>)>,
    /// The turn was cancelled while one of them ran.
    interrupted: bool,
    /// The agent has said since then that the call was completed.
    said_completed: bool,
}

impl CallCommands {
    pub fn terminals(&self) -> impl Iterator<Item = &TerminalId> {
        self.commands.iter().map(|(terminal, _)| terminal)
    }

    pub fn has(&self, terminal: &TerminalId) -> bool {
        self.terminals().any(|known| known == terminal)
    }

    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    pub fn add(&mut self, terminal: &TerminalId) {
        if !self.has(terminal) {
            self.commands.push((terminal.clone(), None));
        }
    }

    pub fn remove(&mut self, terminal: &TerminalId) {
        self.commands.retain(|(known, _)| known != terminal);
    }

    pub fn ended(&mut self, terminal: &TerminalId, exit: Exit) {
        if let Some((_, known)) = self.commands.iter_mut().find(|(known, _)| known == terminal) {
            *known = Some(exit);
        }
    }

    /// How the first of those ended that did not end well.
    pub fn failure(&self) -> Option<&Exit> {
        self.commands.iter().filter_map(|(_, exit)| exit.as_ref()).find(|exit| is_failure(exit))
    }

    /// The turn is cancelled while the call is not over.
    pub fn interrupt(&mut self) {
        self.interrupted = self.commands.iter().any(|(_, exit)| exit.is_none());
    }

    /// The agent says that the call was completed. Says whether that is to be believed: a command that the cancel
    /// of its turn ended has completed nothing.
    pub fn completed(&mut self) -> bool {
        self.said_completed = true;
        !self.was_interrupted()
    }

    /// Whether a call that counted as cancelled was completed after all, as is known now.
    pub fn has_completed(&self) -> bool {
        self.said_completed && !self.was_interrupted()
    }

    fn was_interrupted(&self) -> bool {
        let well = |exit: &Option<Exit>| exit.as_ref().is_some_and(|exit| exit.code == Some(0));
        self.interrupted && !self.commands.iter().all(|(_, exit)| well(exit))
    }
}

/// Of some commands nobody says how they ended; that is no failure.
pub fn is_failure(exit: &Exit) -> bool {
    exit.signal.is_some() || exit.code.is_some_and(|code| code != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> CallCommands {
        let mut commands = CallCommands::default();
        commands.add(&TerminalId("t".into()));
        commands
    }

    fn ended(mut commands: CallCommands, code: Option<u32>, signal: Option<&str>) -> CallCommands {
        commands.ended(&TerminalId("t".into()), Exit { code, signal: signal.map(str::to_owned) });
        commands
    }

    #[test]
    fn what_ended_before_the_cancel_was_not_ended_by_it() {
        let mut commands = ended(running(), Some(1), None);
        commands.interrupt();
        assert!(commands.completed());
    }

    #[test]
    fn what_ended_well_in_spite_of_the_cancel_is_completed_and_what_did_not_is_not() {
        let after_cancel = |code, signal| {
            let mut commands = running();
            commands.interrupt();
            assert!(!commands.completed(), "nobody knows yet how it ended");
            ended(commands, code, signal).has_completed()
        };
        assert!(after_cancel(Some(0), None));
        assert!(!after_cancel(None, Some("SIGTERM")) && !after_cancel(Some(143), None));
    }

    #[test]
    fn an_end_that_nobody_explains_is_no_failure() {
        assert_eq!(ended(running(), None, None).failure(), None);
        assert!(ended(running(), Some(2), None).failure().is_some());
        assert!(ended(running(), None, Some("SIGKILL")).failure().is_some());
    }
}

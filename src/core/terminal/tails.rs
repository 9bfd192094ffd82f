//! The ends of what commands have shown, for those who show them elsewhere than in the windows of terminals: the chat,
//! and what a prompt refers to.

use std::collections::BTreeMap;

use crate::core::ids::{Moment, SessionKey, TerminalId};
use crate::core::terminal::shown::Shown;
use crate::core::transcript::Tail;

#[derive(Default)]
pub struct Tails {
    /// Of the sessions' own commands, with when these were started.
    own: BTreeMap<(SessionKey, TerminalId), (Moment, Tail)>,
    /// Of commands in the sessions that these are forks of.
    copied: BTreeMap<(SessionKey, TerminalId), Tail>,
}

impl Tails {
    /// What a command has shown is another text.
    pub fn changed(&mut self, session: SessionKey, terminal: &TerminalId, shown: &Shown) {
        self.own.insert((session, terminal.clone()), (shown.program().started, shown.tail()));
    }

    pub fn get(&self, session: SessionKey, terminal: &TerminalId) -> Option<Tail> {
        let key = (session, terminal.clone());
        self.own.get(&key).map(|(_, tail)| tail).or_else(|| self.copied.get(&key)).cloned()
    }

    /// The end of what the agent's last terminal showed, of those that have shown anything.
    pub fn last_of(&self, session: SessionKey) -> Option<String> {
        let mine = self.own.iter().filter(|((of, _), _)| *of == session).map(|(_, known)| known);
        let (_, tail) =
            mine.filter(|(_, tail)| !tail.lines.is_empty()).max_by_key(|(started, _)| started.0)?;
        Some(tail.lines.join("\n"))
    }

    /// A session begins with what was said in another one: the commands that are over look there as they did.
    pub fn copy(&mut self, from: SessionKey, to: SessionKey) {
        let own = self.own.iter().map(|(key, (_, tail))| (key, tail));
        let of_source =
            own.chain(&self.copied).filter(|((session, _), tail)| *session == from && !tail.running);
        let all: Vec<_> = of_source.map(|((_, id), tail)| ((to, id.clone()), tail.clone())).collect();
        self.copied.extend(all);
    }

    /// The session is over, and with it what its commands have shown.
    pub fn forget(&mut self, session: SessionKey) {
        self.own.retain(|(of, _), _| *of != session);
        self.copied.retain(|(of, _), _| *of != session);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::core::message::{Exit, Skipped};
    use crate::core::terminal::render::Renderer;
    use crate::core::terminal::shown::Program;

    const ONE: SessionKey = SessionKey(1);
    const TWO: SessionKey = SessionKey(2);

    fn shown(output: &str, is_over: bool) -> Shown {
        shown_at(Moment(1000), output, is_over)
    }

    fn shown_at(started: Moment, output: &str, is_over: bool) -> Shown {
        let (command, cwd) = ("make".to_owned(), PathBuf::from("/p"));
        let mut shown = Shown::new(Program { command, cwd, typing: true, started });
        let (bytes, lines) = Renderer::default().render(output.as_bytes());
        shown.grew(&bytes, lines, (Skipped::default(), 0));
        if is_over {
            shown.ended(Exit { code: Some(0), signal: None }, Moment(9000));
        }
        shown
    }

    fn id(name: &str) -> TerminalId {
        TerminalId(name.into())
    }

    #[test]
    fn what_was_told_last_counts() {
        let mut tails = Tails::default();
        tails.changed(ONE, &id("a"), &shown("", false));
        assert_eq!(tails.last_of(ONE), None, "it has shown nothing");
        tails.changed(ONE, &id("a"), &shown("one\r\ntwo\r\n", false));
        assert_eq!(tails.get(ONE, &id("a")).expect("it is known").lines, ["one", "two"]);
        assert_eq!(tails.last_of(ONE).as_deref(), Some("one\ntwo"));
        assert!(tails.get(TWO, &id("a")).is_none() && tails.last_of(TWO).is_none());
    }

    #[test]
    fn the_last_terminal_is_the_one_that_was_started_last_and_has_shown_anything() {
        let mut tails = Tails::default();
        let at = |started, output, is_over| shown_at(Moment(started), output, is_over);
        tails.changed(ONE, &id("b"), &at(1000, "first\r\n", true));
        tails.changed(ONE, &id("a"), &at(2000, "second\r\n", true));
        assert_eq!(tails.last_of(ONE).as_deref(), Some("second"));
        tails.changed(ONE, &id("c"), &at(3000, "", false));
        assert_eq!(tails.last_of(ONE).as_deref(), Some("second"));
        tails.changed(ONE, &id("c"), &at(3000, "third\r\n", false));
        assert_eq!(tails.last_of(ONE).as_deref(), Some("third"));
    }

    #[test]
    fn a_fork_has_what_is_over_and_keeps_it() {
        let mut tails = Tails::default();
        tails.changed(ONE, &id("over"), &shown("done\r\n", true));
        tails.changed(ONE, &id("runs"), &shown("more\r\n", false));
        tails.copy(ONE, TWO);
        let three = SessionKey(3);
        tails.copy(TWO, three);
        tails.forget(ONE);
        assert!(tails.get(ONE, &id("over")).is_none());
        assert!(tails.get(TWO, &id("runs")).is_none(), "nobody tells it how that goes on");
        assert_eq!(tails.get(three, &id("over")).expect("it was copied").lines, ["done"]);
        assert_eq!(tails.last_of(TWO), None, "its own agent has run nothing");
    }
}

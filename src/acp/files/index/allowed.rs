//! Commands in terminals that the user was asked about, or that a rule has allowed, and which files they have changed:
//! of these nobody says that they were changed without asking.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::{Activity, Cause};

/// As many files of a session are kept in mind; one more is told of like any other.
const MOST_FILES: usize = 10_000;

#[derive(Debug, Default)]
pub struct AllowedCommands(HashMap<SessionKey, Known>);

#[derive(Debug, Default)]
struct Known {
    commands: HashSet<TerminalId>,
    /// What such a command changed last.
    files: HashSet<PathBuf>,
}

impl AllowedCommands {
    pub fn began(&mut self, session: SessionKey, terminal: TerminalId) {
        self.0.entry(session).or_default().commands.insert(terminal);
    }

    pub fn session_ended(&mut self, session: SessionKey) {
        self.0.remove(&session);
    }

    /// Who changed a file last is known.
    pub fn changed(&mut self, cause: &Cause, path: &Path) {
        let Cause::Session(Activity { session, terminal, .. }) = cause else { return };
        let Some(known) = self.0.get_mut(session) else { return };
        let is_allowed = terminal.as_ref().is_some_and(|terminal| known.commands.contains(terminal));
        if !is_allowed {
            known.files.remove(path);
        } else if known.files.len() < MOST_FILES {
            known.files.insert(path.to_owned());
        }
    }

    pub fn has_changed(&self, session: SessionKey, path: &Path) -> bool {
        self.0.get(&session).is_some_and(|known| known.files.contains(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_changed_a_file_last_counts() {
        let (session, path) = (SessionKey(1), Path::new("/p/.envrc"));
        let by = |terminal: Option<&str>| {
            let terminal = terminal.map(|terminal| TerminalId(terminal.to_owned()));
            Cause::Session(Activity { session, call: None, terminal })
        };
        let mut commands = AllowedCommands::default();
        commands.began(session, TerminalId("allowed".to_owned()));
        for (cause, is_allowed) in [
            (by(Some("other")), false),
            (by(Some("allowed")), true),
            (by(None), false),
            (by(Some("allowed")), true),
            (by(Some("other")), false),
        ] {
            commands.changed(&cause, path);
            assert_eq!(commands.has_changed(session, path), is_allowed, "{cause:?}");
        }
        commands.changed(&by(Some("allowed")), path);
        commands.session_ended(session);
        assert!(!commands.has_changed(session, path));
    }
}

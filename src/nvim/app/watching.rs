//! The files that a session's tool calls are about, for agents that change them without the editor's
//! help: the background is told of each once, and tells when the file is another one on the disk.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use mlua::Result;

use super::App;
use crate::core::entry::EntryId;
use crate::core::message::{Command, SessionKey};
use crate::nvim::resolve::canonical;

/// What the background has been told to watch.
#[derive(Default)]
pub struct Watching(HashSet<(SessionKey, PathBuf)>);

impl Watching {
    /// The session is over: the background has given up its files.
    pub fn ended(&mut self, session: SessionKey) {
        self.0.retain(|(known, _)| *known != session);
    }

    /// The sessions that have to do with a file, links resolved.
    pub fn sessions_of(&self, path: &Path) -> Vec<SessionKey> {
        let is_it = |known: &Path| {
            known == path || (known.file_name() == path.file_name() && canonical(known) == path)
        };
        self.0.iter().filter(|(_, known)| is_it(known)).map(|(session, _)| *session).collect()
    }
}

impl App {
    /// Has the files of a call's diffs and places watched.
    pub(super) fn watch_files_of(&mut self, key: SessionKey, entry: EntryId) -> Result<()> {
        let Some(session) = self.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let named = call.diffs().map(|diff| &diff.path).chain(call.locations.iter().map(|place| &place.path));
        let paths: Vec<PathBuf> = named.map(|path| session.place.cwd.join(path)).collect();
        for path in paths {
            if self.watching.0.insert((key, path.clone())) {
                if let Some(buf) = self.files.buf_of(&self.editor, &path) {
                    self.editor.helper::<()>("guard", buf)?;
                }
                self.send(Command::Watch { session: key, path })?;
            }
        }
        Ok(())
    }
}

//! Which conflicts wait for the user, as everybody may know it: questions are asked about them, and files are
//! left alone for as long. What they are about in detail is the business of `files`.

use std::path::{Path, PathBuf};

use crate::core::ids::{AskId, SessionKey};
use crate::nvim::editor::Buf;

/// Oldest first.
#[derive(Default)]
pub struct OpenConflicts(Vec<OpenConflict>);

pub struct OpenConflict {
    /// A question of our own: no agent knows of it.
    pub ask: AskId,
    pub session: SessionKey,
    pub path: PathBuf,
    pub buf: Buf,
}

impl OpenConflicts {
    pub fn add(&mut self, conflict: OpenConflict) {
        self.0.push(conflict);
    }

    pub fn remove(&mut self, ask: AskId) {
        self.0.retain(|conflict| conflict.ask != ask);
    }

    pub fn about(&self, path: &Path) -> bool {
        self.0.iter().any(|conflict| conflict.path == path)
    }

    /// The file that a question is about.
    pub fn path_of(&self, ask: AskId) -> Option<&Path> {
        self.0.iter().find(|conflict| conflict.ask == ask).map(|conflict| conflict.path.as_path())
    }

    /// The one to be decided in a buffer.
    pub fn of(&self, buf: Buf) -> Option<AskId> {
        self.0.iter().find(|conflict| conflict.buf == buf).map(|conflict| conflict.ask)
    }

    pub fn waiting(&self) -> impl Iterator<Item = (SessionKey, AskId)> {
        self.0.iter().map(|conflict| (conflict.session, conflict.ask))
    }

    pub fn is_open(&self, ask: AskId) -> bool {
        self.0.iter().any(|conflict| conflict.ask == ask)
    }
}

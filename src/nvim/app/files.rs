//! The router's part for files: what others ask of them.

use std::path::Path;

use mlua::Result;

use crate::core::changes::writers::Writers;
use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::nvim::app::App;
use crate::nvim::editor::Buf;

impl App {
    pub fn buffer_loaded(&mut self, buf: Buf) -> Result<()> {
        self.files.buffer_loaded(&mut self.cx, buf)?;
        self.route()
    }

    pub fn buffer_modified(&mut self, buf: Buf) -> Result<()> {
        self.files.buffer_modified(&mut self.cx, buf)?;
        self.route()
    }

    pub fn buffer_saved(&mut self, buf: Buf) -> Result<()> {
        self.reviews.saved(&self.cx, buf);
        self.files.buffer_saved(&mut self.cx, buf)?;
        self.route()
    }

    pub fn file_touched(&mut self, writers: Writers, path: &Path) -> Result<()> {
        self.files.file_touched(&mut self.cx, writers, path)?;
        self.route()
    }

    pub fn watch_files_of(&mut self, key: SessionKey, entry: EntryId) -> Result<()> {
        self.files.watching.watch_files_of(&mut self.cx, key, entry)?;
        self.route()
    }

    pub fn announce_edits(&mut self, key: SessionKey, entry: EntryId, content: bool) -> Result<()> {
        self.files.watching.announce_edits(&mut self.cx, key, entry, content);
        self.route()
    }

    pub fn edits_over(&mut self, key: SessionKey) -> Result<()> {
        self.files.watching.edits_over(&mut self.cx, key);
        self.route()
    }

    pub fn guard_all(&mut self) -> Result<()> {
        self.files.guard_all(&mut self.cx)?;
        self.route()
    }

    pub fn drop_conflicts(&mut self, session: SessionKey) -> Result<()> {
        self.files.drop_conflicts(&mut self.cx, session)?;
        self.route()
    }

    pub fn put_up_conflict(&mut self, ask: AskId) -> Result<()> {
        self.files.ask_about_conflict(&mut self.cx, ask);
        self.route()
    }
}

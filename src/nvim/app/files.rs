//! The router's part for files: what others ask of them.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::changes::writers::Writers;
use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::core::message::{Cause, ChangedFile, FileChange};
use crate::nvim::app::App;
use crate::nvim::editor::Buf;
use crate::nvim::files::{Files, Task, whose};

impl App {
    pub fn buffer_loaded(&mut self, buf: Buf) -> Result<()> {
        self.files.buffer_loaded(&mut self.cx, buf)?;
        self.route()
    }

    pub fn buffer_new(&mut self, buf: Buf) -> Result<()> {
        self.files.buffer_new(&mut self.cx, buf)?;
        self.route()
    }

    pub fn buffer_read(&mut self, buf: Buf) -> Result<()> {
        self.files.buffer_read(&mut self.cx, buf)?;
        self.route()
    }

    pub fn buffer_unloaded(&mut self, buf: Buf) -> Result<()> {
        self.files.buffer_unloaded(&mut self.cx, buf);
        self.route()
    }

    pub fn buffer_modified(&mut self, buf: Buf) -> Result<()> {
        self.files.buffer_modified(&mut self.cx, buf)?;
        self.route()
    }

    pub fn buffer_saved(&mut self, buf: Buf) -> Result<()> {
        self.files.buffer_saved(&mut self.cx, buf)?;
        self.route()
    }

    pub fn file_written(&mut self, buf: Buf, path: &Path) -> Result<()> {
        self.files.file_written(&mut self.cx, buf, path)
    }

    pub fn user_entered(&mut self, buf: Buf) -> Result<()> {
        Files::user_entered(&self.cx, buf)
    }

    pub fn user_commands(&mut self) -> Result<()> {
        self.files.user_commands(&mut self.cx)?;
        self.route()
    }

    pub fn user_is_done(&mut self) -> Result<()> {
        self.files.user_is_done(&mut self.cx)?;
        self.route()
    }

    pub fn file_looked_at(&mut self, buf: Buf) -> Result<()> {
        self.files.file_looked_at(&mut self.cx, buf)?;
        self.route()
    }

    pub fn write_refused(&mut self, buf: Buf) -> Result<()> {
        self.files.write_refused(&mut self.cx, buf)?;
        self.route()
    }

    pub fn resolved(&mut self, names: Vec<(PathBuf, PathBuf)>) -> Result<()> {
        self.files.resolved(&mut self.cx, names)?;
        self.route()
    }

    pub fn file_changed_outside(&mut self, path: &Path, kind: &FileChange, cause: Cause) -> Result<()> {
        self.files.file_changed_outside(&mut self.cx, path, kind, cause)?;
        self.route()
    }

    pub fn files_changed(&mut self, cause: Cause, files: Vec<ChangedFile>) -> Result<()> {
        self.files.files_changed(&mut self.cx, cause, files)?;
        self.route()
    }

    pub fn file_task(&mut self, path: PathBuf, task: Task) -> Result<()> {
        self.files.file_task(&mut self.cx, path, task)?;
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

    pub fn offer_gone(&mut self, buf: Buf) -> Result<bool> {
        let is_gone = self.files.offer_gone(&mut self.cx, buf);
        self.route()?;
        Ok(is_gone)
    }

    pub fn call_about(&self, key: SessionKey, path: &Path) -> Option<EntryId> {
        whose::call_about(&self.cx, key, path)
    }

    pub fn put_up_conflict(&mut self, ask: AskId) -> Result<()> {
        self.files.ask_about_conflict(&mut self.cx, ask);
        self.route()
    }
}

//! The router's part for following: what other features tell it, and ask of it.

use std::path::Path;

use mlua::Result;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::locations::{Lines, Verb};
use crate::nvim::app::App;

impl App {
    pub fn call_moved(&mut self, key: SessionKey, entry: EntryId) -> Result<()> {
        self.follow.call_moved(&mut self.cx, key, entry)?;
        self.route()
    }

    pub fn file_visited(
        &mut self,
        key: SessionKey,
        path: &Path,
        lines: Option<Lines>,
        verb: Verb,
    ) -> Result<()> {
        self.follow.file_visited(&mut self.cx, key, path, (lines, verb))?;
        self.route()
    }

    pub fn no_longer_at_work(&mut self, key: SessionKey) -> Result<()> {
        self.edits_over(key)?;
        self.follow.turn_left(&mut self.cx, key)?;
        self.route()
    }

    pub fn follow_due(&mut self) -> Result<()> {
        self.follow.follow_due(&mut self.cx)?;
        self.route()
    }
}

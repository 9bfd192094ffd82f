//! The router's part for following: what other features tell it, and ask of it.

use std::path::Path;

use mlua::Result;
use serde_json::Value as Json;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::locations::{Lines, Verb};
use crate::nvim::app::App;
use crate::nvim::editor::Buf;
use crate::nvim::follow::Follow;

impl App {
    pub fn set_follow(&mut self, word: Option<&str>) -> Result<()> {
        self.follow.set_follow(&mut self.cx, word)?;
        self.route()
    }

    pub fn list_locations(&mut self, words: &[String]) -> Result<()> {
        self.follow.list_locations(&mut self.cx, words)?;
        self.route()
    }

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

    pub fn turn_began(&mut self, key: SessionKey) -> Result<()> {
        // Nothing else goes out before the prompt that this is about.
        self.follow.turn_began(&mut self.cx, key)
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

    pub fn buffer_visited(&mut self, buf: Buf) -> Result<()> {
        Follow::buffer_visited(&self.cx, buf)
    }

    pub fn is_following(&self) -> bool {
        self.follow.is_following(&self.cx)
    }

    pub fn location_elsewhere(&self, key: SessionKey) -> Option<String> {
        self.follow.location_elsewhere(&self.cx, key)
    }

    pub fn location_status(&self, key: SessionKey) -> Option<Json> {
        self.follow.location_status(&self.cx, key)
    }
}

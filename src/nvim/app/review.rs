//! The router's part for the review: what other features tell it, and ask of it.

use std::path::Path;

use mlua::Result;

use crate::config::Stay;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::Content;
use crate::core::store::checkpoint::Held;
use crate::nvim::app::App;
use crate::nvim::arguments::Args;
use crate::nvim::editor::Buf;
use crate::nvim::review::actions::{ChatEntry, Verdict};

impl App {
    // What happened.

    /// A buffer may hold another text than its review says.
    pub fn review_stale(&mut self, buf: Buf) -> Result<()> {
        // Edits on their way are told of once they are in.
        if self.reviews.path_of(buf).is_some_and(|path| self.files.is_being_edited(path)) {
            return Ok(());
        }
        self.reviews.review_stale(&mut self.cx, buf)?;
        self.route()
    }

    pub fn review_loaded(&mut self, buf: Buf, path: &Path) -> Result<()> {
        self.reviews.review_loaded(&mut self.cx, buf, path)?;
        self.reviews.comments_loaded(&mut self.cx, buf, path)?;
        self.route()
    }

    pub fn review_call(&mut self, key: SessionKey, entry: EntryId) -> Result<()> {
        self.reviews.review_call(&mut self.cx, key, entry)?;
        self.route()
    }

    pub fn settle_reviews(&mut self, key: SessionKey, until: Stay) -> Result<()> {
        self.reviews.settle_reviews(&mut self.cx, key, until)?;
        self.route()
    }

    pub fn file_restored(&mut self, path: &Path, held: &Held) -> Result<()> {
        self.reviews.file_restored(&mut self.cx, path, held)?;
        self.route()
    }

    pub fn comments_sent(&mut self, key: SessionKey, text: String, count: usize) -> Result<()> {
        self.prompt(key, vec![Content::Text(text.into())])?;
        self.reviews.comments_sent(&mut self.cx, key, count)?;
        self.route()?;
        self.frame_due()
    }

    pub fn show_diffs(&mut self, key: SessionKey, entry: EntryId) -> Result<()> {
        self.reviews.show_diffs(&mut self.cx, key, entry)?;
        self.route()
    }

    pub fn settle_split(&mut self, key: SessionKey) -> Result<()> {
        self.reviews.settle_split(&mut self.cx, key)?;
        self.route()
    }

    pub fn looks_changed(&mut self) {
        self.reviews.looks_changed(&self.cx);
    }

    // What the user wants.

    pub fn decide_hunks(&mut self, verdict: Verdict, args: &Args) -> Result<()> {
        let entry = match args.first() {
            None => self.chat_entry_here()?,
            Some(_) => None,
        };
        self.reviews.decide_hunks(&mut self.cx, verdict, args, entry)
    }

    /// The chat that the cursor is in, and the entry that it is on.
    fn chat_entry_here(&self) -> Result<Option<ChatEntry>> {
        let buf = self.cx.editor.current_buf()?;
        match self.cx.chats.iter().find(|(_, chat)| chat.transcript == buf) {
            Some((key, _)) => Ok(Some((*key, self.chats.entry_under_cursor(&self.cx, *key)?))),
            None => Ok(None),
        }
    }

    pub fn go_to_row(&mut self, path: &Path, row: usize) -> Result<()> {
        self.reviews.go_to_row(&mut self.cx, path, row)?;
        self.route()
    }
}

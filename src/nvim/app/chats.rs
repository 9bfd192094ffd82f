//! Showing chats, and drawing what has changed: in the chats, and in what stands beside them.

use std::time::Duration;

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::nvim::app::App;
use crate::nvim::arguments::Args;
use crate::nvim::chat::Chats;
use crate::nvim::keys;
use crate::nvim::sessions::{Sessions, status};

impl App {
    /// A session was made: it gets a chat, which is shown.
    pub(super) fn session_began(&mut self, key: SessionKey) -> Result<()> {
        self.make_chat(key)?;
        self.show(key)?;
        self.reviews.adopt_left(&mut self.cx);
        self.files.guard_all(&mut self.cx)
    }

    fn make_chat(&mut self, key: SessionKey) -> Result<()> {
        let bufs = self.chats.make(&mut self.cx, key)?;
        keys::bind(&self.cx.editor, &self.cx.config.keys, bufs.transcript, bufs.prompt)?;
        self.prompts.attach_prompt(&mut self.cx, key)?;
        self.route()?;
        Chats::announce_types(&self.cx, bufs)
    }

    /// Shows a session's chat; buffers that the user wiped are made anew from the session.
    pub fn show(&mut self, key: SessionKey) -> Result<()> {
        self.show_undrawn(key)?;
        self.cx.editor.command("redraw")
    }

    /// The same for those who go on with windows, or with the mode, which is drawn, too.
    pub(super) fn show_undrawn(&mut self, key: SessionKey) -> Result<()> {
        if self.chats.drop_wiped(&mut self.cx, key) {
            self.make_chat(key)?;
        }
        self.chats.show(&mut self.cx, key)?;
        // What this chat asks has its turn now.
        self.asking.retry = true;
        self.update_bar(key)
    }

    pub fn toggle_chat(&mut self) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return self.chat(&Args::default(), false) };
        if self.chats.hide(&self.cx, key)? { Ok(()) } else { self.show(key) }
    }

    /// Draws now when a frame is due, else sees to it that it comes. The editor has been held for a while already.
    pub fn frame_due(&mut self, held: Duration) -> Result<()> {
        if self.sessions.takes_status() {
            // At hand for those who ask while the app is busy. Once in a drain: there may be a hundred sessions.
            status::keep(self.status());
        }
        self.chats.frame_due(&self.cx, held)
    }

    pub(super) fn update_bar(&mut self, key: SessionKey) -> Result<()> {
        let location = self.follow.location_elsewhere(&self.cx, key);
        self.chats.update_bar(&self.cx, key, location.as_deref())?;
        self.keep_time()
    }

    pub(super) fn keep_time(&mut self) -> Result<()> {
        let is_terminal_watched = self.terminals.is_watched(&self.cx.editor);
        self.chats.keep_time(&self.cx, is_terminal_watched)
    }

    /// The time of running turns moves on.
    pub fn ticked(&mut self) -> Result<()> {
        let keys: Vec<SessionKey> = self.cx.sessions.keys().copied().collect();
        for key in keys {
            Sessions::ticked(&mut self.cx, key);
            self.serve_commands()?;
            self.after_change(key)?;
            self.update_bar(key)?;
        }
        self.terminals.update_bars(&self.cx)?;
        self.keep_time()?;
        self.frame_due(Duration::ZERO)
    }

    /// Notes what changed of a session, so that the next frame draws it.
    pub fn after_change(&mut self, key: SessionKey) -> Result<()> {
        let (entries, status) = self.sessions.take_changes(&mut self.cx, key);
        if !entries.is_empty() {
            self.reviews.entries_changed(&mut self.cx, key, &entries)?;
            self.route()?;
            self.chats.touch(&self.cx, key, entries);
        }
        if status {
            self.prompts.show_queue(&mut self.cx, key)?;
            self.update_bar(key)?;
            self.chats.update_plan(&self.cx, key)?;
            self.usage.draw_open(&self.cx)?;
            self.asking.retry = true;
        }
        Ok(())
    }
}

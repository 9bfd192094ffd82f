//! The router's part for chats: what others need of them, and what they need to know of others.

use std::time::Duration;

use mlua::Result;

use crate::core::ids::{EntryId, SessionKey};
use crate::nvim::app::App;
use crate::nvim::arguments::Args;
use crate::nvim::chat::Chats;
use crate::nvim::editor::Win;
use crate::nvim::keys;

impl App {
    // Making and showing.

    /// A session was made: it gets a chat, which is shown.
    pub fn session_began(&mut self, key: SessionKey) -> Result<()> {
        self.make_chat(key)?;
        self.cx.current = Some(key);
        self.show(key)?;
        self.reviews.adopt_left(&mut self.cx);
        self.files.guard_all(&mut self.cx)
    }

    fn make_chat(&mut self, key: SessionKey) -> Result<()> {
        let bufs = self.chats.make(&mut self.cx, key)?;
        let all = 0..self.cx.sessions.get(&key).map_or(0, |session| session.entries().len());
        let entries = all.map(EntryId).collect();
        self.chats.touch(&self.cx, key, entries);
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
        self.update_bar(key)
    }

    pub fn toggle_chat(&mut self) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return self.chat(Args::default(), false) };
        if self.chats.hide(&self.cx, key)? { Ok(()) } else { self.show(key) }
    }

    /// Takes a chat's windows and buffers away.
    pub(super) fn close_chat(&mut self, key: SessionKey) -> Result<()> {
        if let Some(lines) = self.chats.close(&mut self.cx, key)? {
            self.discard(lines);
        }
        Ok(())
    }

    // Drawing.

    /// Draws now when a frame is due, else sees to it that it comes.
    pub fn frame_due(&mut self) -> Result<()> {
        self.frame_due_after(Duration::ZERO)
    }

    /// The same when the editor has been held for a while already.
    pub fn frame_due_after(&mut self, held: Duration) -> Result<()> {
        self.refresh_status();
        self.chats.frame_due(&self.cx, held)
    }

    pub fn update_bar(&mut self, key: SessionKey) -> Result<()> {
        let location = self.follow.location_elsewhere(&self.cx, key);
        self.chats.update_bar(&self.cx, key, location.as_deref())?;
        self.keep_time()
    }

    pub fn keep_time(&mut self) -> Result<()> {
        let is_terminal_watched = self.terminals.is_watched(&self.cx.editor);
        self.chats.keep_time(&self.cx, is_terminal_watched)
    }

    /// The time of running turns moves on.
    pub fn ticked(&mut self) -> Result<()> {
        let now = self.cx.now();
        let keys: Vec<SessionKey> = self.cx.sessions.keys().copied().collect();
        keys.into_iter().try_for_each(|key| {
            let due = self.cx.sessions.get_mut(&key).map(|session| session.ticked(now));
            if let Some(due) = due.filter(|due| !due.is_empty()) {
                self.send_all(due)?;
            }
            self.after_change(key)?;
            self.update_bar(key)
        })?;
        self.terminals.update_bars(&self.cx)?;
        self.keep_time()?;
        self.frame_due()
    }

    // Windows.

    pub fn window_closing(&mut self, win: Win) -> Result<()> {
        self.reviews.window_closing(&self.cx, win)?;
        self.chats.window_closing(&mut self.cx, win)
    }

    // When a session has changed.

    /// Notes what changed, so that the next frame draws it.
    pub fn after_change(&mut self, key: SessionKey) -> Result<()> {
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        let outdated = session.take_outdated();
        let (entries, status) = session.take_touched();
        if !outdated.is_empty() {
            self.discard(outdated);
        }
        self.sessions.tell_changes(&mut self.cx, key, &entries, status);
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

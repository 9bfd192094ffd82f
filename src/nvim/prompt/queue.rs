//! Prompts that wait for the turn to end: shown under what is being typed, taken back, moved, sent at
//! once. Which of them goes when is the session's word.

use mlua::{Result, Value};

use crate::core::ids::SessionKey;
use crate::core::message::Content;
use crate::core::text::visible::visible_line;
use crate::core::transcript::cut_middle;
use crate::nvim::app::App;

/// More are counted, not shown.
const SHOWN: usize = 3;

impl App {
    /// Draws the waiting prompts as quiet lines under the prompt's text.
    pub fn show_queue(&mut self, key: SessionKey) -> Result<()> {
        self.draw_queue(key)?;
        let (Some(session), Some(chat)) = (self.cx.sessions.get(&key), self.chats.get(&key)) else {
            return Ok(());
        };
        let buf = chat.prompt;
        if !self.cx.editor.buf_is_loaded(buf) {
            return Ok(());
        }
        self.cx.editor.clear_namespace(buf, self.prompts.queue, 0, -1)?;
        let queue = session.queue();
        if queue.is_empty() {
            return Ok(());
        }
        let width = chat
            .prompt_window(&self.cx.editor)
            .and_then(|win| self.cx.editor.win_size(win).ok())
            .map_or(60, |(columns, _)| usize::from(columns).saturating_sub(12).max(12));
        let mut lines: Vec<String> = queue
            .iter()
            .take(SHOWN)
            .map(|queued| format!("waiting: {}", cut_middle(&visible_line(&queued.line()), width)))
            .collect();
        if queue.len() > SHOWN {
            let all = self.cx.config.keys.get("queue").first().map_or(":Acp queue", String::as_str);
            lines.push(format!("and {} more; {all} shows them", queue.len() - SHOWN));
        }
        let virtual_lines = self.cx.editor.lua.create_table()?;
        for line in lines {
            let chunk = self.cx.editor.lua.create_sequence_from([line.as_str(), "AcpMeta"])?;
            virtual_lines.push(self.cx.editor.lua.create_sequence_from([chunk])?)?;
        }
        let last = self.cx.editor.line_count(buf)?.saturating_sub(1);
        let options = self.cx.editor.table([("virt_lines", Value::Table(virtual_lines))])?;
        self.cx.editor.set_extmark(buf, self.prompts.queue, last, 0, options).map(drop)
    }

    /// Takes a waiting prompt back into the prompt; without an index the last one. Says whether there
    /// was one.
    pub fn take_back(&mut self, key: SessionKey, index: Option<usize>) -> Result<bool> {
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(false) };
        let Some(index) = index.or(session.queue().len().checked_sub(1)) else { return Ok(false) };
        let Some(text) = session.unqueue(index).map(|queued| queued.text()) else { return Ok(false) };
        self.give_back(key, &text)?;
        self.after_change(key)?;
        Ok(true)
    }

    /// The key for it: where nothing waits or something is typed, the key does what it always does.
    pub fn take_back_or_up(&mut self, key: SessionKey) -> Result<()> {
        let Some(chat) = self.chats.get(&key) else { return Ok(()) };
        let empty = chat.is_prompt_blank(&self.cx.editor)?;
        if empty && self.take_back(key, None)? {
            return Ok(());
        }
        self.type_keys("<Up>")
    }

    /// Steers the turn where that can be, else stops it and sends this next.
    pub fn prompt_now(&mut self, key: SessionKey, content: Vec<Content>) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        if !session.is_working() || session.can_be_steered() {
            return self.steer(key, content);
        }
        self.prompt_at(key, content, 0)?;
        self.cancel(key).map(drop)
    }

    /// Puts a prompt into the line at a place.
    pub fn prompt_at(&mut self, key: SessionKey, content: Vec<Content>, index: usize) -> Result<()> {
        self.prompt(key, content)?;
        if let Some(session) = self.cx.sessions.get_mut(&key)
            && let Some(last) = session.queue().len().checked_sub(1)
        {
            session.move_queued(last, index);
        }
        self.after_change(key)
    }

    /// Moves a waiting prompt.
    pub fn move_queued(&mut self, key: SessionKey, from: usize, to: usize) -> Result<()> {
        if let Some(session) = self.cx.sessions.get_mut(&key) {
            session.move_queued(from, to);
        }
        self.after_change(key)
    }

    /// Removes a waiting prompt; it stays in the history.
    pub fn remove_queued(&mut self, key: SessionKey, index: usize) -> Result<()> {
        if let Some(session) = self.cx.sessions.get_mut(&key) {
            session.unqueue(index);
        }
        self.after_change(key)
    }

    /// Sends a waiting prompt now.
    pub fn send_queued(&mut self, key: SessionKey, index: usize) -> Result<()> {
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        match session.unqueue(index) {
            Some(queued) => self.prompt_now(key, queued.content),
            None => Ok(()),
        }
    }
}

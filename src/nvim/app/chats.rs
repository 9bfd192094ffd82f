//! The router's part for chats: making one for a session, and showing it.

use std::time::Duration;

use mlua::Result;

use crate::core::ids::{EntryId, SessionKey, TerminalId};
use crate::nvim::app::App;
use crate::nvim::chat::Chat;
use crate::nvim::context::ChatBuffers;
use crate::nvim::editor::first_line;
use crate::nvim::{keys, later};

/// When what nobody waits for is done: the chat is on the screen then, and agents that are quick are ready.
const UNHURRIED: Duration = Duration::from_millis(50);

impl App {
    /// A session was made: it gets a chat, which is shown.
    pub fn session_began(&mut self, key: SessionKey) -> Result<()> {
        self.make_chat(key)?;
        self.cx.current = Some(key);
        self.show(key)?;
        self.guard_all()
    }

    fn make_chat(&mut self, key: SessionKey) -> Result<()> {
        let title = self.cx.sessions.get(&key).map(|session| session.agent_name.clone()).unwrap_or_default();
        let chat = Chat::new(&self.cx.editor, key, &title)?;
        if self.highlight.attach(chat.transcript) {
            later(&self.cx.editor.lua, UNHURRIED, |app| {
                app.highlight.load();
                Ok(())
            })?;
        }
        let (transcript, prompt) = (chat.transcript, chat.prompt);
        self.cx.chats.insert(key, ChatBuffers { transcript, prompt });
        self.chats.insert(key, chat);
        self.redraw_all(key);
        keys::bind(&self.cx.editor, &self.cx.config.keys, transcript, prompt)?;
        self.attach_prompt(key)?;
        for buf in [prompt, transcript] {
            later(&self.cx.editor.lua, Duration::ZERO, move |app| {
                app.cx.attempt("a FileType autocommand failed", move |editor| {
                    Chat::announce(editor, buf).map_err(|error| first_line(&error))
                });
                Ok(())
            })?;
        }
        Ok(())
    }

    fn redraw_all(&mut self, key: SessionKey) {
        if let (Some(session), Some(chat)) = (self.cx.sessions.get(&key), self.chats.get_mut(&key)) {
            let terminals = &self.terminals;
            let tail = |terminal: &TerminalId| terminals.tail(&(key, terminal.clone()));
            chat.touch(session, (0..session.entries().len()).map(EntryId).collect(), &tail);
        }
        self.bars.remove(&key);
    }

    /// Shows a session's chat; buffers that the user wiped are made anew from the session.
    pub fn show(&mut self, key: SessionKey) -> Result<()> {
        if self.chats.get(&key).is_some_and(|chat| !chat.is_valid(&self.cx.editor)) {
            self.cx.chats.remove(&key);
            if let Some(chat) = self.chats.remove(&key) {
                chat.close(&self.cx.editor);
            }
            self.make_chat(key)?;
        }
        self.cx.current = Some(key);
        // What stands in the buffer is up to date before it is seen.
        self.draw(Duration::from_millis(20))?;
        if let Some(chat) = self.chats.get(&key) {
            let chats: Vec<&Chat> = self.chats.values().collect();
            self.windows.show(&self.cx.editor, chat, &chats, &self.cx.config.window)?;
        }
        self.bars.remove(&key);
        self.update_bar(key)?;
        self.cx.editor.command("redraw")
    }

    /// Takes a chat's windows and buffers away.
    pub(super) fn close_chat(&mut self, key: SessionKey) -> Result<()> {
        self.cx.chats.remove(&key);
        let Some(chat) = self.chats.remove(&key) else { return Ok(()) };
        if self.cx.editor.current_buf()? == chat.prompt {
            self.cx.editor.command("stopinsert")?;
        }
        self.windows.hide(&self.cx.editor, &chat)?;
        self.windows.forget(key);
        chat.close(&self.cx.editor);
        [chat.prompt, chat.transcript].iter().for_each(|buf| self.cx.buffers.texts.forget(*buf));
        self.discard(chat.into_lines());
        Ok(())
    }
}

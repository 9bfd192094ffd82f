//! What the user does to windows, as far as chats have to do with it: closing one of a chat's two,
//! or the last one that is no chat's.

use std::time::Duration;

use mlua::Result;

use crate::core::session::Session;
use crate::nvim::app::App;
use crate::nvim::chat::Chat;
use crate::nvim::chat::windows::Left;
use crate::nvim::editor::{Level, Win};
use crate::nvim::later;

impl App {
    /// A window is about to be closed.
    pub fn window_closing(&mut self, win: Win) -> Result<()> {
        self.check_split(Some(win))?;
        let chats: Vec<&Chat> = self.chats.values().collect();
        match self.windows.closing(&self.cx.editor, win, &chats) {
            // Not now: Neovim is in the middle of it.
            Some(other) => later(&self.cx.editor.lua, Duration::ZERO, move |app| app.half_closed(win, other)),
            None => Ok(()),
        }
    }

    /// One of a chat's two windows was closed: so is the other, unless there is nothing else to see.
    fn half_closed(&mut self, win: Win, other: Win) -> Result<()> {
        match self.windows.closed(&self.cx.editor, win, other) {
            Left::Nothing => {}
            Left::Close(other) => self.cx.editor.close_win(other)?,
            Left::Mend(other) => return self.mend(other),
        }
        self.leave_insert_mode()
    }

    /// Completes the chat of which only one window is left.
    fn mend(&mut self, left: Win) -> Result<()> {
        let buf = self.cx.editor.win_buf(left)?;
        let chat = self.chats.values().find(|chat| chat.transcript == buf || chat.prompt == buf);
        let Some(chat) = chat else { return Ok(()) };
        let key = chat.session;
        let chats: Vec<&Chat> = self.chats.values().collect();
        self.windows.place(&self.cx.editor, chat, &chats, &self.cx.config.window)?;
        self.bars.remove(&key);
        self.update_bar(key)
    }

    /// `:quit` and the like: chats do not keep Neovim, or a tab page, from being left. What an agent is
    /// at work on does, once.
    pub fn quitting(&mut self) -> Result<()> {
        let win = self.cx.editor.current_win()?;
        if self.cx.editor.is_floating(win) {
            return Ok(());
        }
        let others = self.windows.only_beside(&self.cx.editor, win)?;
        if others.is_empty() {
            return Ok(());
        }
        let from_chat = self.windows.is_of_chat(&self.cx.editor, win);
        let last_tab = self.cx.editor.api::<Vec<i64>>("nvim_list_tabpages", ())?.len() == 1;
        if !from_chat && last_tab {
            let busy = |session: &&Session| session.is_working() || !session.asks().is_empty();
            if let Some(session) = self.cx.sessions.values().find(busy) {
                let text = format!("{} is still at work: :quit once more, or :qall, ends it", session.name());
                self.cx.advise(text, Level::Warn);
                return Ok(());
            }
        }
        let shown = others.iter().find_map(|other| {
            let buf = self.cx.editor.win_buf(*other).ok()?;
            let chat = self.chats.values().find(|chat| chat.transcript == buf || chat.prompt == buf)?;
            Some(chat.session)
        });
        let chats: Vec<&Chat> = self.chats.values().collect();
        self.windows.make_way(&self.cx.editor, &others, &chats)?;
        // Unsaved edits keep Neovim; the chat is back then.
        let Some(key) = shown else { return Ok(()) };
        later(&self.cx.editor.lua, Duration::ZERO, move |app| {
            if !app.cx.editor.win_is_valid(win) {
                return Ok(());
            }
            let Some(chat) = app.chats.get(&key) else { return Ok(()) };
            let chats: Vec<&Chat> = app.chats.values().collect();
            app.windows.place(&app.cx.editor, chat, &chats, &app.cx.config.window)?;
            app.cx.editor.set_current_win(win)?;
            app.bars.remove(&key);
            app.update_bar(key)
        })
    }

    /// Whoever typed into a prompt that is gone does not type into a file.
    pub fn leave_insert_mode(&self) -> Result<()> {
        if self.cx.editor.mode().0.starts_with('i') { self.cx.editor.command("stopinsert") } else { Ok(()) }
    }
}

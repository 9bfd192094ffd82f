//! What the user does to windows, as far as chats have to do with it: closing one of a chat's two,
//! or the last one that is no chat's.

use std::time::Duration;

use mlua::Result;

use crate::core::session::Session;
use crate::nvim::chat::Chats;
use crate::nvim::chat::windows::Left;
use crate::nvim::context::{ChatBuffers, Context};
use crate::nvim::editor::{Level, Win};

impl Chats {
    /// A window is about to be closed.
    pub fn window_closing(&mut self, cx: &mut Context, win: Win) -> Result<()> {
        let chats: Vec<&ChatBuffers> = cx.chats.values().collect();
        match self.windows.closing(&cx.editor, win, &chats) {
            // Not now: Neovim is in the middle of it.
            Some(other) => {
                cx.later(Duration::ZERO, move |this: &mut Self, cx| this.half_closed(cx, win, other))
            }
            None => Ok(()),
        }
    }

    /// One of a chat's two windows was closed: so is the other, unless there is nothing else to see.
    fn half_closed(&mut self, cx: &mut Context, win: Win, other: Win) -> Result<()> {
        match self.windows.closed(&cx.editor, win, other) {
            Left::Nothing => {}
            Left::Close(other) => cx.editor.close_win(other)?,
            Left::Mend(other) => return self.mend(cx, other),
        }
        leave_insert_mode(cx)
    }

    /// Completes the chat of which only one window is left.
    fn mend(&mut self, cx: &mut Context, left: Win) -> Result<()> {
        let buf = cx.editor.win_buf(left)?;
        let Some(chat) = cx.chats.values().find(|chat| chat.contains(buf)) else { return Ok(()) };
        let chats: Vec<&ChatBuffers> = cx.chats.values().collect();
        self.windows.place(&cx.editor, chat, &chats, &cx.config.window)?;
        let key = chat.session;
        self.redraw_bar(cx, key);
        Ok(())
    }

    /// `:quit` and the like: chats do not keep Neovim, or a tab page, from being left. What an agent is
    /// at work on does, once.
    pub fn quitting(&mut self, cx: &mut Context) -> Result<()> {
        let win = cx.editor.current_win()?;
        if cx.editor.is_floating(win) {
            return Ok(());
        }
        let others = self.windows.only_beside(&cx.editor, win)?;
        if others.is_empty() {
            return Ok(());
        }
        let from_chat = self.windows.is_of_chat(&cx.editor, win);
        let last_tab = cx.editor.api::<Vec<i64>>("nvim_list_tabpages", ())?.len() == 1;
        if !from_chat && last_tab {
            let busy = |session: &&Session| session.is_working() || !session.asks().is_empty();
            if let Some(session) = cx.sessions.values().find(busy) {
                let text = format!("{} is still at work: :quit once more, or :qall, ends it", session.name());
                cx.advise(text, Level::Warn);
                return Ok(());
            }
        }
        let shown = others.iter().find_map(|other| {
            let buf = cx.editor.win_buf(*other).ok()?;
            cx.chats.values().find(|chat| chat.contains(buf)).map(|chat| chat.session)
        });
        let chats: Vec<&ChatBuffers> = cx.chats.values().collect();
        self.windows.make_way(&cx.editor, &others, &chats)?;
        // Unsaved edits keep Neovim; the chat is back then.
        let Some(key) = shown else { return Ok(()) };
        cx.later(Duration::ZERO, move |this: &mut Self, cx| {
            if !cx.editor.win_is_valid(win) {
                return Ok(());
            }
            let Some(chat) = cx.chats.get(&key) else { return Ok(()) };
            let chats: Vec<&ChatBuffers> = cx.chats.values().collect();
            this.windows.place(&cx.editor, chat, &chats, &cx.config.window)?;
            cx.editor.set_current_win(win)?;
            this.redraw_bar(cx, key);
            Ok(())
        })
    }
}

/// Whoever typed into a prompt that is gone does not type into a file.
pub fn leave_insert_mode(cx: &Context) -> Result<()> {
    if cx.editor.mode().0.starts_with('i') { cx.editor.command("stopinsert") } else { Ok(()) }
}

//! Making a chat for a session, showing it, hiding it, and taking it away. Which session that is, and what
//! looks after its prompt, is left to others.

use std::time::Duration;

use mlua::Result;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::text::visible::visible_line;
use crate::nvim::chat::Chats;
use crate::nvim::chat::canvas::Chat;
use crate::nvim::chat::window_events::leave_insert_mode;
use crate::nvim::context::{ChatBuffers, Context};
use crate::nvim::editor::{Editor, Win, first_line};

/// When what nobody waits for is done: the chat is on the screen then, and agents that are quick are ready.
const UNHURRIED: Duration = Duration::from_millis(50);

impl Chats {
    /// Makes the buffers of a session's chat; gives them.
    pub fn make(&mut self, cx: &mut Context, key: SessionKey) -> Result<ChatBuffers> {
        let title = cx.sessions.get(&key).map(|session| cx.configured_title(&session.agent_name));
        // A slash would make a folder of it, of which tab labels show a letter.
        let title = visible_line(&title.unwrap_or_default()).replace('/', "-");
        let chat = Chat::new(&cx.editor, key, &title)?;
        if self.highlight.attach(chat.transcript) {
            cx.later(UNHURRIED, |this: &mut Self, _| {
                this.highlight.load();
                Ok(())
            })?;
        }
        let bufs = ChatBuffers { session: key, transcript: chat.transcript, prompt: chat.prompt };
        cx.chats.insert(key, bufs);
        self.open.insert(key, chat);
        self.bars.remove(&key);
        let all = 0..cx.sessions.get(&key).map_or(0, |session| session.entries().len());
        self.touch(cx, key, all.map(EntryId).collect());
        Ok(bufs)
    }

    /// What listens for the file types of a chat's buffers gets its turn, once the chat is on the screen.
    pub fn announce_types(cx: &Context, bufs: ChatBuffers) -> Result<()> {
        for buf in [bufs.prompt, bufs.transcript] {
            cx.later(Duration::ZERO, move |_: &mut Self, cx| {
                cx.run_effect("a FileType autocommand failed", move |editor| {
                    Chat::announce(editor, buf).map_err(|error| first_line(&error))
                });
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Lets go of a chat whose buffers the user has wiped. Says whether it was one.
    pub fn drop_wiped(&mut self, cx: &mut Context, key: SessionKey) -> bool {
        if self.open.get(&key).is_none_or(|chat| chat.is_valid(&cx.editor)) {
            return false;
        }
        cx.chats.remove(&key);
        if let Some(chat) = self.open.remove(&key) {
            chat.close(&cx.editor);
        }
        true
    }

    /// Shows a session's chat, and goes to its prompt.
    pub fn show(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        cx.current = Some(key);
        // What stands in the buffer is up to date before it is seen.
        self.draw(cx, Duration::from_millis(20))?;
        if let Some(chat) = cx.chats.get(&key) {
            let chats: Vec<&ChatBuffers> = cx.chats.values().collect();
            self.windows.show(&cx.editor, chat, &chats, &cx.config.window)?;
        }
        self.show_plan_again(cx, key)?;
        self.bars.remove(&key);
        Ok(())
    }

    /// Whether a chat stands in this tab page.
    pub fn is_shown(&self, cx: &Context, key: SessionKey) -> bool {
        cx.chats.get(&key).is_some_and(|chat| self.windows.is_shown(&cx.editor, chat))
    }

    /// Hides a chat that stands in this tab page. Says whether it did.
    pub fn hide(&mut self, cx: &Context, key: SessionKey) -> Result<bool> {
        let Some(chat) = cx.chats.get(&key).filter(|chat| self.windows.is_shown(&cx.editor, chat)) else {
            return Ok(false);
        };
        self.hide_plan(cx, key)?;
        self.windows.hide(&cx.editor, chat)?;
        leave_insert_mode(cx)?;
        Ok(true)
    }

    /// Where the user is, who goes to another chat only if they are in this one: it is about to go.
    pub fn seat(&self, cx: &Context, gone: SessionKey) -> Result<Seat> {
        let buf = cx.editor.current_buf()?;
        let is_there = cx.chats.get(&gone).is_some_and(|chat| chat.contains(buf));
        Ok(Seat { win: cx.editor.current_win()?, is_there, types: cx.editor.mode().0 != "n" })
    }

    /// Takes a chat's windows and buffers away.
    pub fn close(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        self.bars.remove(&key);
        let (Some(bufs), Some(chat)) = (cx.chats.remove(&key), self.open.remove(&key)) else {
            return Ok(());
        };
        if cx.editor.current_buf()? == bufs.prompt {
            cx.editor.command("stopinsert")?;
        }
        // Its windows may show another chat by now.
        if self.windows.is_shown(&cx.editor, &bufs) {
            self.windows.hide(&cx.editor, &bufs)?;
        }
        self.windows.forget(key);
        chat.close(&cx.editor);
        [bufs.prompt, bufs.transcript].iter().for_each(|buf| cx.buffers.texts.forget(*buf));
        cx.discard(chat.into_lines());
        Ok(())
    }
}

/// Where the user was before a chat was shown in the place of another one.
pub struct Seat {
    win: Win,
    /// They were in that one.
    is_there: bool,
    types: bool,
}

impl Seat {
    /// The cursor goes along only if it was there.
    pub fn take_again(&self, editor: &Editor) -> Result<()> {
        if !self.types {
            // Nobody asked to type there.
            editor.command("stopinsert")?;
        }
        editor.command("redraw")?;
        match self.is_there || !editor.win_is_valid(self.win) {
            true => Ok(()),
            false => editor.set_current_win(self.win),
        }
    }
}

//! Making a chat for a session, showing it, hiding it, and taking it away. Which session that is, and what
//! looks after its prompt, is left to others.

use std::time::Duration;

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::text::visible::visible_line;
use crate::nvim::chat::Chats;
use crate::nvim::chat::canvas::Chat;
use crate::nvim::chat::window_events::leave_insert_mode;
use crate::nvim::context::{ChatBuffers, Context};
use crate::nvim::editor::first_line;

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

    /// Takes a chat's windows and buffers away. Gives what was known of its lines, which may take long to free.
    pub fn close(&mut self, cx: &mut Context, key: SessionKey) -> Result<Option<impl Send + use<>>> {
        self.bars.remove(&key);
        let (Some(bufs), Some(chat)) = (cx.chats.remove(&key), self.open.remove(&key)) else {
            return Ok(None);
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
        Ok(Some(chat.into_lines()))
    }
}

//! The router's part for terminals: what others have them do, and what they need to know for that.

use mlua::Result;

use crate::nvim::app::App;
use crate::nvim::terminals::Key;
use crate::nvim::terminals::actions::UnderCursor;

impl App {
    pub fn terminal_command(&mut self, verb: Option<&str>) -> Result<()> {
        let under = self.entry_here()?;
        self.terminals.command(&mut self.cx, verb, under)
    }

    pub fn enter_terminal(&mut self, key: &Key) -> Result<()> {
        self.terminals.enter(&mut self.cx, key)?;
        self.route()
    }

    /// The entry that the cursor is on, if it is in a transcript.
    pub(super) fn entry_here(&self) -> Result<UnderCursor> {
        let buf = self.cx.editor.current_buf()?;
        let here = self.cx.chats.iter().find(|(_, chat)| chat.transcript == buf);
        let Some(session) = here.map(|(key, _)| *key) else { return Ok(None) };
        Ok(self.chats.entry_under_cursor(&self.cx, session)?.map(|entry| (session, entry)))
    }
}

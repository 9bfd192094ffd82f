//! What follows when windows come or have other sizes, feature by feature.

use mlua::Result;

use crate::nvim::app::App;
use crate::nvim::editor::Buf;

impl App {
    pub fn resized(&mut self) -> Result<()> {
        self.looks_changed();
        self.terminals.resized(&mut self.cx)?;
        self.serve_commands()?;
        self.chats.resized(&self.cx)?;
        self.draw_agents()?;
        // The bars are made to fit.
        self.ticked()
    }

    pub fn buffer_shown(&mut self, buf: Buf) -> Result<()> {
        self.terminals.buffer_shown(&self.cx, buf)?;
        self.check_split(None)?;
        let shown = self.cx.chats.iter().find(|(_, chat)| chat.transcript == buf);
        if let Some(key) = shown.map(|(key, _)| *key) {
            self.cx.current = Some(key);
            self.chats.redraw_bar(&mut self.cx, key);
            self.route()?;
        }
        self.resized()
    }
}

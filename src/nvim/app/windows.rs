//! What follows when windows come or have other sizes, feature by feature.

use mlua::Result;

use crate::nvim::app::App;
use crate::nvim::editor::Buf;
use crate::nvim::editor::highlight_groups;

impl App {
    /// There is another colour scheme, or another background.
    pub fn colours_changed(&mut self) -> Result<()> {
        highlight_groups::define(&self.cx.editor)?;
        self.reviews.looks_changed(&mut self.cx)?;
        self.chats.colours_changed(&self.cx)
    }

    pub fn resized(&mut self) -> Result<()> {
        self.cx.editor.helper::<()>("keep_on_screen", ())?;
        self.cx.editor.helper::<()>("keep_page_shares", ())?;
        self.reviews.looks_changed(&mut self.cx)?;
        self.files.windows_changed(&mut self.cx)?;
        self.terminals.resized(&mut self.cx)?;
        self.reviews.fit_page_bar(&self.cx)?;
        self.serve_commands()?;
        self.chats.resized(&self.cx)?;
        self.agents.draw(&self.cx)?;
        self.usage.draw_open(&self.cx)?;
        self.rules.resized(&mut self.cx)?;
        self.inspector.look_again(&mut self.cx)?;
        self.audit.look_again(&self.cx)?;
        // The bars are made to fit.
        self.ticked()
    }

    pub fn buffer_shown(&mut self, buf: Buf) -> Result<()> {
        self.terminals.buffer_shown(&self.cx, buf)?;
        self.reviews.check_split(&self.cx, None)?;
        self.reviews.check_stage(&self.cx)?;
        self.chats.buffer_shown(&self.cx, buf)?;
        self.inspector.buffer_shown(&mut self.cx, buf)?;
        self.chats.transcript_shown(&mut self.cx, buf);
        self.route()?;
        self.resized()
    }
}

//! A command's output made ready to be shown, once and in the background: bytes that are safe for a terminal of the
//! editor, and the last lines for the chat as far as they changed. The editor's side only appends them.

use crate::core::terminal::last_lines::{self, LastLines};
use crate::core::terminal::sanitize::Harmless;
use crate::core::terminal::screen::Screen;

pub struct Renderer {
    harmless: Harmless,
    screen: Screen,
}

impl Default for Renderer {
    fn default() -> Self {
        Self { harmless: Harmless::default(), screen: Screen::new(last_lines::MOST) }
    }
}

impl Renderer {
    /// Takes raw output. Gives what of it windows may show, and the lines that it changed.
    pub fn render(&mut self, raw: &[u8]) -> (Vec<u8>, LastLines) {
        let bytes = self.harmless.pass(raw);
        self.screen.feed(&bytes);
        (bytes, LastLines::changed(&mut self.screen))
    }

    /// How many rows the program was told that there are.
    pub fn resize(&mut self, rows: u16) {
        self.screen.resize(usize::from(rows));
    }
}

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
        Self { harmless: Harmless::default(), screen: Screen::new(last_lines::MAX_LINES) }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the chat shows after 30 numbered lines, and one that is written where the screen begins.
    fn after_home(rows: Option<u16>) -> Vec<String> {
        let mut renderer = Renderer::default();
        if let Some(rows) = rows {
            renderer.resize(rows);
        }
        let mut kept = LastLines::default();
        let numbers: String = (1..=30).map(|number| format!("{number}\r\n")).collect();
        for raw in [numbers.as_str(), "\x1b[Hhome"] {
            kept.take_in(renderer.render(raw.as_bytes()).1);
        }
        kept.lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn the_screen_begins_as_many_rows_above_its_end_as_the_program_was_told() {
        for (rows, changed) in [(None, 7), (Some(24), 7), (Some(12), 19), (Some(31), 0), (Some(200), 0)] {
            let mut expected: Vec<String> = (1..=30).map(|number| number.to_string()).collect();
            // It is longer than the number that it is written over.
            expected[changed] = "home".to_owned();
            assert_eq!(after_home(rows), expected, "{rows:?} rows");
        }
    }

    #[test]
    fn what_no_window_may_get_is_in_neither() {
        let mut renderer = Renderer::default();
        let (bytes, lines) = renderer.render(b"a\x1b]52;c;aGk=\x07b\r\n");
        assert_eq!(bytes, b"ab\r\n");
        assert_eq!(lines.lines[0].text, "ab");
    }
}

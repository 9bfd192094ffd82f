//! When the output of a command that is over is given to its windows once more. Neovim cuts the rows of a terminal that
//! becomes narrower, be it for a moment, and what it has cut does not come back when the terminal is wider again.

use std::cell::OnceCell;

use vte::{Params, Parser, Perform};

#[derive(Default)]
pub struct Refit {
    /// The columns of the widest window, as last seen.
    columns: Option<u16>,
    /// They have changed since the windows were given the output.
    has_changed: bool,
    /// See [`is_lines`], of what the command has written in all.
    is_lines: OnceCell<bool>,
}

impl Refit {
    /// `is_begun`: the windows have been given some of the output.
    pub fn seen(&mut self, columns: u16, is_begun: bool) {
        let before = self.columns.replace(columns);
        self.has_changed |= is_begun && before.is_some_and(|before| before != columns);
    }

    /// The columns of the widest window, if one was seen.
    pub fn columns(&self) -> Option<u16> {
        self.columns
    }

    /// Its windows may have been narrower for a moment that nobody saw.
    pub fn may_have_changed(&mut self) {
        self.has_changed |= self.columns.is_some();
    }

    /// Whether windows show more of it when they are given all that a command wrote, which is over and took its window
    /// for `told` columns wide.
    pub fn is_wanted(&self, raw: &[u8], told: u16) -> bool {
        let is_wide_enough = self.columns.is_some_and(|columns| columns >= told);
        self.has_changed && (is_wide_enough || *self.is_lines.get_or_init(|| is_lines(raw)))
    }

    pub fn done(&mut self) {
        self.has_changed = false;
    }
}

/// Whether output is one line after the other, which looks right in any width. What moves the cursor back, such as a
/// bar of progress, would be spread over more rows in a window that is narrower than it was written for.
fn is_lines(raw: &[u8]) -> bool {
    let mut lines = Lines::default();
    Parser::new().advance(&mut lines, raw);
    !lines.moves_back
}

#[derive(Default)]
struct Lines {
    /// The cursor is where its line begins, of which something may be written already.
    returned: bool,
    moves_back: bool,
}

impl Perform for Lines {
    fn print(&mut self, _: char) {
        self.moves_back |= self.returned;
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => self.returned = true,
            b'\n' => self.returned = false,
            b'\t' => self.moves_back |= self.returned,
            0x07 => {}
            _ => self.moves_back = true,
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _: bool, action: char) {
        let is_harmless = match (intermediates, action) {
            ([], 'm' | 'K') => true,
            // Whether the cursor is seen, and how text is pasted.
            (b"?", 'h' | 'l') => params.iter().all(|param| matches!(param, [25 | 2004])),
            _ => false,
        };
        self.moves_back |= !is_harmless;
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, byte: u8) {
        // The end of a longer sequence, and the choice of a character set.
        self.moves_back |= !(byte == b'\\' || matches!(intermediates, [b'(' | b')']));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_from_what_moves_the_cursor_back() {
        for lines in [
            "",
            "one\r\ntwo\r\n",
            "one\ntwo",
            "\x1b[1;31mred\x1b[0m\x1b[K\r\n\ttab\x07",
            "\r\r\nempty",
            "\x1b]8;;file:///a\x1b\\link\x1b]8;;\x07\r\n\x1b(B\x1b[m",
            "\x1b[?25lhidden\x1b[?25h\r\n",
            "\u{e4}\u{4e16}\r\n",
        ] {
            assert!(is_lines(lines.as_bytes()), "{lines:?}");
        }
        for moves in [
            "10 %\r20 %",
            "one\r\n\x1b[1Aover",
            "\x1b[Htop",
            "\x1b[2J",
            "a\x08b",
            "\x1b[?1049h",
            "\x1bMup",
            "one\r\ttwo",
        ] {
            assert!(!is_lines(moves.as_bytes()), "{moves:?}");
        }
    }

    #[test]
    fn it_is_wanted_when_the_width_has_changed_and_the_output_bears_the_new_one() {
        // Columns as they are seen one after the other, raw output, and whether it is wanted; told are 40.
        for (seen, raw, wanted) in [
            (&[40][..], "lines\r\n", false),
            (&[40, 40], "lines\r\n", false),
            (&[40, 28], "lines\r\n", true),
            (&[40, 28, 40], "lines\r\n", true),
            (&[40, 28], "1\r2", false),
            (&[40, 28, 40], "1\r2", true),
            (&[40, 28, 80], "1\r2", true),
        ] {
            let mut refit = Refit::default();
            seen.iter().for_each(|columns| refit.seen(*columns, true));
            assert_eq!(refit.is_wanted(raw.as_bytes(), 40), wanted, "{seen:?} {raw:?}");
            refit.done();
            assert!(!refit.is_wanted(raw.as_bytes(), 40));
        }
    }

    #[test]
    fn windows_that_were_given_nothing_lack_nothing() {
        let mut refit = Refit::default();
        refit.seen(40, false);
        refit.seen(28, false);
        assert!(!refit.is_wanted(b"lines\r\n", 40));
    }

    #[test]
    fn windows_that_may_have_been_narrower_for_a_moment_are_given_it_again() {
        let mut refit = Refit::default();
        refit.may_have_changed();
        assert!(!refit.is_wanted(b"lines\r\n", 40), "it is in no window");
        refit.seen(40, true);
        refit.may_have_changed();
        refit.seen(40, true);
        assert!(refit.is_wanted(b"lines\r\n", 40));
    }
}

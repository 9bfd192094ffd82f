//! One screen of the editor as data: cells with their styles, and the cursor. Taking it is left to `stage`,
//! drawing it to `paint`.

use crate::support::grid::{CursorShape, Grid, Style};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glyph {
    /// Empty in the right half of a character that is two columns wide.
    pub text: String,
    pub style: Style,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    pub rows: Vec<Vec<Glyph>>,
    pub cursor: Cursor,
    pub foreground: u32,
    pub background: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub row: usize,
    pub column: usize,
    pub shape: CursorShape,
}

impl Screen {
    pub fn of(grid: &Grid) -> Self {
        let (columns, rows) = grid.size();
        let glyph =
            |row, column| Glyph { text: grid.cell(row, column).to_owned(), style: grid.style(row, column) };
        let (foreground, background) = grid.default_colors();
        let (row, column) = grid.cursor;
        Self {
            rows: (0..rows).map(|row| (0..columns).map(|column| glyph(row, column)).collect()).collect(),
            cursor: Cursor { row, column, shape: grid.cursor_shape() },
            foreground,
            background,
        }
    }

    pub fn columns(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }
}

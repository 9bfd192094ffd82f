//! Where a tool call's diffs stand in a file's present text, as hunks that can be drawn.
//! Drawing them is left to the editor's side.

use serde::{Deserialize, Serialize};

use crate::core::message::FileDiff;

/// One diff placed in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    pub hunks: Vec<Hunk>,
    pub state: PlacedState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlacedState {
    /// The text still holds the old lines.
    Proposed,
    /// The text holds the new lines already.
    Applied,
    /// Neither was found: the hunks show the agent's own old text at the best guess of a line.
    Adrift,
}

/// Lines that go and lines that come, at a 0-based row of the present text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// First row of the present text that the hunk is about. When the lines it is about are none
    /// (a pure insertion into a text that is still old), the row before which they go.
    pub row: usize,
    pub removed: Vec<String>,
    pub added: Vec<String>,
}

/// Where the diffs of one file stand in its text.
pub fn place(_text: &str, diffs: &[FileDiff]) -> Vec<Placed> {
    let lines = |text: &str| text.lines().map(str::to_owned).collect();
    let place = |diff: &FileDiff| {
        let removed = lines(diff.old_text.as_deref().unwrap_or_default());
        Placed {
            hunks: vec![Hunk { row: 0, removed, added: lines(&diff.new_text) }],
            state: PlacedState::Adrift,
        }
    };
    diffs.iter().map(place).collect()
}

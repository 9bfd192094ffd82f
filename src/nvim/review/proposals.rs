//! The changes that an open tool call proposes, as virtual text in the file itself: the lines that
//! are to go are marked, the new ones stand below them. They go when the call is over. Where they
//! belong is worked out in the background (`core::diff`).

use std::collections::HashMap;
use std::time::Duration;

use mlua::{Result, Table};

use super::look::Look;
use super::marks::{Words, line, push, show_above_first_line, virtual_lines, words_in};
use crate::core::diff::{Hunk, Placed, PlacedState};
use crate::core::entry::EntryId;
use crate::core::message::SessionKey;
use crate::nvim::editor::{Buf, Editor};

#[derive(Default)]
pub struct Proposals {
    /// The buffers in which a call's changes are drawn, each in a namespace of the call's own.
    drawn: HashMap<(SessionKey, EntryId), Vec<Buf>>,
}

impl Proposals {
    pub fn is_drawn(&self, call: (SessionKey, EntryId)) -> bool {
        self.drawn.contains_key(&call)
    }

    pub fn draw(
        &mut self,
        editor: &Editor,
        call: (SessionKey, EntryId),
        buf: Buf,
        placed: &[Placed],
        made_shown: bool,
    ) -> Result<()> {
        let ns = namespace(editor, call)?;
        editor.clear_namespace(buf, ns, 0, -1)?;
        let marks = editor.lua.create_table()?;
        let lines = editor.line_count(buf)?;
        let look = Look::of(editor, buf, COLOURS);
        for placed in placed {
            for hunk in &placed.hunks {
                match placed.state {
                    PlacedState::Proposed => proposed(editor, &look, &marks, hunk, lines)?,
                    // What is made already shows among the hunks of the file.
                    PlacedState::Applied if made_shown => {}
                    PlacedState::Applied => applied(editor, &look, &marks, hunk, lines)?,
                    PlacedState::Adrift => adrift(editor, &look, &marks, hunk, lines)?,
                }
            }
        }
        editor.paint(buf, ns, marks)?;
        let first = placed.iter().flat_map(|placed| &placed.hunks).map(|hunk| hunk.row).min();
        if first == Some(0) {
            show_above_first_line(editor, buf);
        }
        let bufs = self.drawn.entry(call).or_default();
        if !bufs.contains(&buf) {
            bufs.push(buf);
        }
        Ok(())
    }

    pub fn clear(&mut self, editor: &Editor, call: (SessionKey, EntryId)) -> Result<()> {
        let Some(bufs) = self.drawn.remove(&call) else { return Ok(()) };
        let ns = namespace(editor, call)?;
        for buf in bufs {
            if editor.buf_is_valid(buf) {
                editor.clear_namespace(buf, ns, 0, -1)?;
            }
        }
        Ok(())
    }

    pub fn clear_session(&mut self, editor: &Editor, session: SessionKey) -> Result<()> {
        let calls: Vec<_> = self.drawn.keys().filter(|call| call.0 == session).copied().collect();
        for call in calls {
            self.clear(editor, call)?;
        }
        Ok(())
    }
}

/// What the colours of one call's changes in a file may cost.
const COLOURS: Duration = Duration::from_millis(30);

fn namespace(editor: &Editor, call: (SessionKey, EntryId)) -> Result<i64> {
    editor.namespace(&format!("acp.diff.{}.{}", call.0.0, call.1.0))
}

/// The buffer holds the old lines: they are marked as going, the new ones stand below them.
fn proposed(editor: &Editor, look: &Look, marks: &Table, hunk: &Hunk, lines: usize) -> Result<()> {
    let words = Words::of(hunk);
    for (at, row) in (hunk.row..(hunk.row + hunk.removed.len()).min(lines)).enumerate() {
        push(marks, row, 0, line(editor, "AcpDiffDelete", "-")?)?;
        words_in(editor, marks, row, words.removed(at), "AcpDiffDeleteWord")?;
    }
    if hunk.added.is_empty() {
        return Ok(());
    }
    let after = hunk.row + hunk.removed.len();
    let (row, above) = if after == 0 { (0, true) } else { ((after - 1).min(lines - 1), false) };
    push(marks, row, 0, virtual_lines(editor, look, &hunk.added, '+', &|at| words.added(at), above)?)
}

/// The buffer holds the new lines: they are marked, the old ones stand above them.
fn applied(editor: &Editor, look: &Look, marks: &Table, hunk: &Hunk, lines: usize) -> Result<()> {
    let words = Words::of(hunk);
    for (at, row) in (hunk.row..(hunk.row + hunk.added.len()).min(lines)).enumerate() {
        push(marks, row, 0, line(editor, "AcpDiffAdd", "+")?)?;
        words_in(editor, marks, row, words.added(at), "AcpDiffAddWord")?;
    }
    if hunk.removed.is_empty() {
        return Ok(());
    }
    let (row, above) = if hunk.row < lines { (hunk.row, true) } else { (lines - 1, false) };
    push(marks, row, 0, virtual_lines(editor, look, &hunk.removed, '-', &|at| words.removed(at), above)?)
}

/// The text has moved on: the agent's own view of it, above the best guess of a line.
fn adrift(editor: &Editor, look: &Look, marks: &Table, hunk: &Hunk, lines: usize) -> Result<()> {
    let row = hunk.row.min(lines - 1);
    let words = Words::of(hunk);
    let note = ["the file has changed since the agent read it; its own view of the change:".to_owned()];
    push(marks, row, 0, virtual_lines(editor, look, &note, '?', &|_| &[], true)?)?;
    if !hunk.removed.is_empty() {
        push(marks, row, 0, virtual_lines(editor, look, &hunk.removed, '-', &|at| words.removed(at), true)?)?;
    }
    if !hunk.added.is_empty() {
        push(marks, row, 0, virtual_lines(editor, look, &hunk.added, '+', &|at| words.added(at), true)?)?;
    }
    Ok(())
}

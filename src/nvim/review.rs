//! The changes that a tool call proposes or has made, as virtual text in the file itself: removed
//! lines stand above, added ones are marked. They go when the call is over. Where they belong is
//! worked out in the background (`core::diff`).

use std::collections::HashMap;

use mlua::{Result, Table, Value};

use crate::core::diff::{Hunk, Placed, PlacedState};
use crate::core::entry::EntryId;
use crate::core::message::SessionKey;
use crate::nvim::editor::{Buf, Editor};

/// At most this many virtual lines for one hunk; the rest is said in a line.
const SHOWN: usize = 200;

#[derive(Default)]
pub struct Review {
    /// The buffers in which a call's changes are drawn, each in a namespace of the call's own.
    drawn: HashMap<(SessionKey, EntryId), Vec<Buf>>,
}

impl Review {
    pub fn is_drawn(&self, call: (SessionKey, EntryId)) -> bool {
        self.drawn.contains_key(&call)
    }

    pub fn draw(
        &mut self,
        editor: &Editor,
        call: (SessionKey, EntryId),
        buf: Buf,
        placed: &[Placed],
    ) -> Result<()> {
        let ns = namespace(editor, call)?;
        editor.clear_namespace(buf, ns, 0, -1)?;
        let marks = editor.lua.create_table()?;
        let lines = editor.line_count(buf)?;
        for placed in placed {
            for hunk in &placed.hunks {
                match placed.state {
                    PlacedState::Proposed => proposed(editor, &marks, hunk, lines)?,
                    PlacedState::Applied => applied(editor, &marks, hunk, lines)?,
                    PlacedState::Adrift => adrift(editor, &marks, hunk, lines)?,
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

fn namespace(editor: &Editor, call: (SessionKey, EntryId)) -> Result<i64> {
    editor.namespace(&format!("acp.diff.{}.{}", call.0.0, call.1.0))
}

/// The buffer holds the old lines: they are marked as going, the new ones stand below them.
fn proposed(editor: &Editor, marks: &Table, hunk: &Hunk, lines: usize) -> Result<()> {
    for row in hunk.row..(hunk.row + hunk.removed.len()).min(lines) {
        push(marks, row, line(editor, "AcpDiffDelete", "-")?)?;
    }
    if hunk.added.is_empty() {
        return Ok(());
    }
    let after = hunk.row + hunk.removed.len();
    let (row, above) = if after == 0 { (0, true) } else { ((after - 1).min(lines - 1), false) };
    push(marks, row, virtual_lines(editor, &hunk.added, "+", "AcpDiffAdd", above)?)
}

/// The buffer holds the new lines: they are marked, the old ones stand above them.
fn applied(editor: &Editor, marks: &Table, hunk: &Hunk, lines: usize) -> Result<()> {
    for row in hunk.row..(hunk.row + hunk.added.len()).min(lines) {
        push(marks, row, line(editor, "AcpDiffAdd", "+")?)?;
    }
    if hunk.removed.is_empty() {
        return Ok(());
    }
    let (row, above) = if hunk.row < lines { (hunk.row, true) } else { (lines - 1, false) };
    push(marks, row, virtual_lines(editor, &hunk.removed, "-", "AcpDiffDelete", above)?)
}

/// The text has moved on: the agent's own view of it, above the best guess of a line.
fn adrift(editor: &Editor, marks: &Table, hunk: &Hunk, lines: usize) -> Result<()> {
    let row = hunk.row.min(lines - 1);
    let note = vec!["the file has changed since the agent read it; its own view of the change:".to_owned()];
    push(marks, row, virtual_lines(editor, &note, "?", "AcpMeta", true)?)?;
    if !hunk.removed.is_empty() {
        push(marks, row, virtual_lines(editor, &hunk.removed, "-", "AcpDiffDelete", true)?)?;
    }
    if !hunk.added.is_empty() {
        push(marks, row, virtual_lines(editor, &hunk.added, "+", "AcpDiffAdd", true)?)?;
    }
    Ok(())
}

fn push(marks: &Table, row: usize, options: Table) -> Result<()> {
    marks.raw_push(row)?;
    marks.raw_push(0)?;
    marks.raw_push(options)
}

fn line(editor: &Editor, group: &str, sign: &str) -> Result<Table> {
    editor.table([
        ("line_hl_group", editor.string(group)?),
        ("sign_text", editor.string(sign)?),
        ("sign_hl_group", editor.string(group)?),
    ])
}

fn virtual_lines(editor: &Editor, lines: &[String], sign: &str, group: &str, above: bool) -> Result<Table> {
    let all = editor.lua.create_table()?;
    let chunk = |text: String, group: &str| -> Result<Table> {
        let text = editor.lua.create_string(text)?;
        let chunk = editor.lua.create_sequence_from([text, editor.lua.create_string(group)?])?;
        editor.lua.create_sequence_from([chunk])
    };
    for text in lines.iter().take(SHOWN) {
        // Padded, so that the colour reaches across the window.
        all.raw_push(chunk(format!("{sign} {:<200}", text.replace('\t', "    ")), group)?)?;
    }
    if lines.len() > SHOWN {
        all.raw_push(chunk(format!("{sign} … {} more lines", lines.len() - SHOWN), "AcpMeta")?)?;
    }
    editor.table([("virt_lines", Value::Table(all)), ("virt_lines_above", Value::Boolean(above))])
}

/// Neovim does not show virtual lines above the first line until the window is told to make room
/// (`:help winrestview()`, topfill).
fn show_above_first_line(editor: &Editor, buf: Buf) {
    for win in editor.wins_of(buf) {
        let fill = || -> Result<()> {
            let height: mlua::Table =
                editor.api("nvim_win_text_height", (win, editor.table([("end_row", Value::Integer(0))])?))?;
            let fill: i64 = height.get("fill")?;
            let top: i64 = editor.func("line", ("w0", win))?;
            if top == 1 && fill > 0 {
                editor.func::<Value>(
                    "win_execute",
                    (win, format!("call winrestview({{'topfill': {fill}}})")),
                )?;
            }
            Ok(())
        };
        // Without it the lines show once the window scrolls.
        let _ = fill();
    }
}

//! The extmarks that changes are drawn with: marked lines, virtual lines, changed words. What they are
//! put together to is left to `hunks` and `proposals`.

use std::collections::HashMap;
use std::ops::Range;

use mlua::{Result, Table, Value};

use crate::core::diff::{self, Hunk};
use crate::nvim::editor::{Buf, Editor};

/// At most this many virtual lines for one hunk; the rest is said in a line.
const SHOWN: usize = 200;

/// How far the colour of a virtual line reaches.
const WIDTH: usize = 200;

/// The changed words in a hunk's lines, by their numbers in it.
#[derive(Default)]
pub struct Words {
    removed: HashMap<usize, Vec<Range<usize>>>,
    added: HashMap<usize, Vec<Range<usize>>>,
}

impl Words {
    pub fn of(hunk: &Hunk) -> Self {
        let mut words = Self::default();
        for (old, new) in diff::pairs(hunk) {
            let (removed, added) = diff::words(&hunk.removed[old], &hunk.added[new]);
            words.removed.insert(old, removed);
            words.added.insert(new, added);
        }
        words
    }

    pub fn removed(&self, line: usize) -> &[Range<usize>] {
        self.removed.get(&line).map_or(&[], Vec::as_slice)
    }

    pub fn added(&self, line: usize) -> &[Range<usize>] {
        self.added.get(&line).map_or(&[], Vec::as_slice)
    }
}

pub fn push(marks: &Table, row: usize, column: usize, options: Table) -> Result<()> {
    marks.raw_push(row)?;
    marks.raw_push(column)?;
    marks.raw_push(options)
}

pub fn line(editor: &Editor, group: &str, sign: &str) -> Result<Table> {
    editor.table([
        ("line_hl_group", editor.string(group)?),
        ("sign_text", editor.string(sign)?),
        ("sign_hl_group", editor.string(group)?),
    ])
}

/// Marks changed words in a line of the buffer.
pub fn words_in(
    editor: &Editor,
    marks: &Table,
    row: usize,
    words: &[Range<usize>],
    group: &str,
) -> Result<()> {
    for word in words {
        let options = editor.table([
            ("end_col", Value::Integer(word.end as i64)),
            ("hl_group", editor.string(group)?),
            // The line may have become shorter in between.
            ("strict", Value::Boolean(false)),
        ])?;
        push(marks, row, word.start, options)?;
    }
    Ok(())
}

/// Lines that are not in the buffer, each after a sign; `words` gives the changed words of each.
pub fn virtual_lines<'a>(
    editor: &Editor,
    lines: &[String],
    sign: char,
    words: &dyn Fn(usize) -> &'a [Range<usize>],
    above: bool,
) -> Result<Table> {
    let (group, strong) = match sign {
        '+' => ("AcpDiffAdd", "AcpDiffAddWord"),
        '-' => ("AcpDiffDelete", "AcpDiffDeleteWord"),
        _ => ("AcpMeta", "AcpMeta"),
    };
    let all = editor.lua.create_table()?;
    for (at, text) in lines.iter().take(SHOWN).enumerate() {
        let chunks = editor.lua.create_table()?;
        let mut column = 2;
        let mut done = 0;
        chunks.raw_push(chunk(editor, &format!("{sign} "), group)?)?;
        for word in words(at) {
            chunks.raw_push(chunk(editor, &spaced(&text[done..word.start], &mut column), group)?)?;
            chunks.raw_push(chunk(editor, &spaced(&text[word.clone()], &mut column), strong)?)?;
            done = word.end;
        }
        let rest = spaced(&text[done..], &mut column);
        // Padded, so that the colour reaches across the window.
        let padding = " ".repeat(WIDTH.saturating_sub(column));
        chunks.raw_push(chunk(editor, &(rest + &padding), group)?)?;
        all.raw_push(chunks)?;
    }
    if lines.len() > SHOWN {
        let text = format!("{sign} … {} more lines", lines.len() - SHOWN);
        all.raw_push(editor.lua.create_sequence_from([chunk(editor, &text, "AcpMeta")?])?)?;
    }
    editor.table([("virt_lines", Value::Table(all)), ("virt_lines_above", Value::Boolean(above))])
}

fn chunk(editor: &Editor, text: &str, group: &str) -> Result<Table> {
    editor.lua.create_sequence_from([editor.lua.create_string(text)?, editor.lua.create_string(group)?])
}

/// A text in which tabs are spaces and nothing else moves the cursor. `column` goes along.
fn spaced(text: &str, column: &mut usize) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\t' => out.push_str("    "),
            char if char.is_control() => out.push('\u{fffd}'),
            char => out.push(char),
        }
        *column += if char == '\t' { 4 } else { 1 };
    }
    out
}

/// Neovim does not show virtual lines above the first line until the window is told to make room
/// (`:help winrestview()`, topfill).
pub fn show_above_first_line(editor: &Editor, buf: Buf) {
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

/// The rows of a buffer that windows show.
pub fn seen(editor: &Editor, buf: Buf) -> Vec<Range<usize>> {
    let rows = |win| -> Result<Range<usize>> {
        let first: usize = editor.func("line", ("w0", win))?;
        let last: usize = editor.func::<Value>("line", ("w$", win))?.as_usize().unwrap_or(first);
        Ok(first.saturating_sub(1)..last)
    };
    editor.wins_of(buf).into_iter().filter_map(|win| rows(win).ok()).collect()
}

//! A page that lists hunks, put into a buffer: its lines, folds and colours, with those of the code's language. What
//! is on the page is left to `core::changes::hunk_page`.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use mlua::{Function, Result, Table, Value};

use crate::config::Keys;
use crate::core::changes::hunk_page::{Page, steps};
use crate::core::changes::review_edits::ADDED;
use crate::nvim::diff_view::appearance::Appearance;
use crate::nvim::diff_view::marks::{push, words_in};
use crate::nvim::editor::{Buf, Editor};

/// What the colours of a page may cost; beyond, code is plain.
const COLOUR_BUDGET: Duration = Duration::from_millis(40);

/// Puts the page into a buffer that held another one. What is on both stays, and with it the folds that the user has
/// opened and closed.
pub fn put(page: &Page, editor: &Editor, buf: Buf, before: &Page) -> Result<()> {
    let modifiable: bool = editor.buf_option(buf, "modifiable")?;
    // Not for `u`: what it would bring back is no page.
    let levels: i64 = editor.buf_option(buf, "undolevels")?;
    editor.set_buf_option(buf, "undolevels", -1)?;
    editor.set_buf_option(buf, "modifiable", true)?;
    // Neovim asks for folds while lines change: above each that does, all are new ones already.
    tell_folds(page, editor, buf)?;
    let count = editor.line_count(buf)?;
    if before.lines.is_empty() || before.lines.len() != count {
        editor.set_lines(buf, 0..count, &page.lines)?;
    } else {
        for step in steps(before, page) {
            let lines = &page.lines[step.lines];
            match step.is_text {
                true => {
                    let row = step.rows.start as i64;
                    editor.set_text(buf, (row, 0), (row, -1), lines)?;
                }
                false => editor.set_lines(buf, step.rows, lines)?,
            }
        }
    }
    update_folds(editor, buf)?;
    editor.set_buf_option(buf, "undolevels", levels)?;
    editor.set_buf_option(buf, "modified", false)?;
    editor.set_buf_option(buf, "modifiable", modifiable)?;
    paint(page, editor, buf)
}

/// Has Neovim look at all folds again: where lines went it asks about those that changed only, and a fold can end too
/// early. Setting the option does it and leaves each fold open or closed.
fn update_folds(editor: &Editor, buf: Buf) -> Result<()> {
    for win in editor.wins_of(buf) {
        if editor.win_option::<String>(win, "foldmethod")? == "expr" {
            editor.set_win_option(win, "foldmethod", "expr")?;
        }
    }
    Ok(())
}

/// The levels of folds by lines, and what is shown of those that are closed, for `page_window`'s options.
fn tell_folds(page: &Page, editor: &Editor, buf: Buf) -> Result<()> {
    let closed = editor.lua.create_table()?;
    for (row, text, group) in page.closed() {
        let chunk = editor.lua.create_sequence_from([text.as_str(), group])?;
        closed.raw_set((row + 1).to_string(), editor.lua.create_sequence_from([chunk])?)?;
    }
    editor.api::<()>("nvim_buf_set_var", (buf, "acp_closed_folds", closed))?;
    editor.api::<()>("nvim_buf_set_var", (buf, "acp_folds", page.folds.clone()))
}

fn paint(page: &Page, editor: &Editor, buf: Buf) -> Result<()> {
    let ns = editor.namespace("acp.panel")?;
    editor.clear_namespace(buf, ns, 0, -1)?;
    let marks = editor.lua.create_table()?;
    for (row, group) in &page.marks {
        push(&marks, *row, 0, line_mark(editor, &page.lines[*row], group)?)?;
    }
    let shift = ADDED.len();
    for (row, words, group) in &page.words {
        let words: Vec<Range<usize>> =
            words.iter().map(|range| range.start + shift..range.end + shift).collect();
        words_in(editor, &marks, *row, &words, group)?;
    }
    let mut left = COLOUR_BUDGET;
    for (first, path, lines) in &page.code {
        let appearance = Appearance::of_filetype(filetype(editor, path), left);
        for (at, line) in appearance.colours(editor, lines).iter().enumerate() {
            for (range, group) in line {
                let options = editor.table([
                    ("end_col", Value::Integer((range.end + shift) as i64)),
                    ("hl_group", Value::Integer(*group)),
                    // Below the changed words.
                    ("priority", Value::Integer(4000)),
                    ("strict", Value::Boolean(false)),
                ])?;
                push(&marks, first + at, range.start + shift, options)?;
            }
        }
        left = appearance.left();
    }
    editor.paint(buf, ns, marks)
}

/// What Neovim takes a file of this name for.
fn filetype(editor: &Editor, path: &Path) -> String {
    let find = || -> Result<Option<String>> {
        let require: Function = editor.lua.globals().get("require")?;
        let module: Table = require.call("acp.highlight.code")?;
        module.get::<Function>("filetype")?.call(path.to_string_lossy().into_owned())
    };
    find().ok().flatten().unwrap_or_default()
}

fn line_mark(editor: &Editor, text: &str, group: &str) -> Result<Table> {
    if matches!(group, "AcpDiffAdd" | "AcpDiffDelete") {
        return editor.table([("line_hl_group", editor.string(group)?)]);
    }
    editor.table([("end_col", Value::Integer(text.len() as i64)), ("hl_group", editor.string(group)?)])
}

/// Says that a page has nothing more to do, and which key closes it.
pub fn nothing_left(what: &str, keys: &Keys) -> String {
    let close = keys.line(&[("review_close", "closes this")]);
    if close.is_empty() { what.to_owned() } else { format!("{what} \u{b7} {close}") }
}

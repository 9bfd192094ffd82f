//! What a conflict looks like in its file: the user's lines marked, the other side's below, on the screen while the user
//! is asked about them.

use mlua::{Result, Table, Value};

use crate::core::changes::conflict::Conflict;
use crate::core::changes::reconcile::ConflictHunk;
use crate::core::text::visible::visible;
use crate::nvim::editor::code_window::code_window;
use crate::nvim::editor::{Buf, Editor, Win};

/// Lines of the other side that are shown; the file itself has them all once they are taken.
const SHOWN: usize = 60;

/// Lines of the file above a place that was scrolled to.
const ABOVE: usize = 3;

/// A window that was scrolled to what the user is asked about.
pub struct Scrolled {
    win: Win,
    /// What the user saw in it.
    before: Table,
    /// Where the cursor was put.
    cursor: (usize, usize),
}

pub fn show_clashes(editor: &Editor, buf: Buf, conflict: &Conflict) -> Result<()> {
    let ns = editor.namespace("acp.conflict")?;
    let last = editor.line_count(buf)?;
    for hunk in &conflict.hunks {
        for row in hunk.row..(hunk.row + hunk.ours.len()).min(last) {
            let options = editor.table([("line_hl_group", editor.string("AcpConflict")?)])?;
            editor.set_extmark(buf, ns, row, 0, options)?;
        }
        let mut lines = vec![(format!("\u{256d} {}", conflict.theirs()), "AcpMeta")];
        lines.extend(hunk.theirs.iter().take(SHOWN).map(|line| (visible(line).into_owned(), "AcpDiffAdd")));
        match hunk.theirs.len() {
            0 => lines.push(("(these lines are gone)".to_owned(), "AcpMeta")),
            many if many > SHOWN => lines.push((format!("\u{2026} {} more", many - SHOWN), "AcpMeta")),
            _ => {}
        }
        let virtual_lines = editor.lua.create_table()?;
        for (text, group) in lines {
            let chunk = editor.lua.create_sequence_from([text.as_str(), group])?;
            virtual_lines.push(editor.lua.create_sequence_from([chunk])?)?;
        }
        let (row, above) = match hunk.row + hunk.ours.len() {
            0 => (0, true),
            end => (end - 1, false),
        };
        let options = editor.table([
            ("virt_lines", Value::Table(virtual_lines)),
            ("virt_lines_above", Value::Boolean(above)),
        ])?;
        editor.set_extmark(buf, ns, row.min(last - 1), 0, options)?;
    }
    Ok(())
}

pub fn clear_clashes(editor: &Editor, buf: Buf) -> Result<()> {
    if !editor.buf_is_valid(buf) {
        return Ok(());
    }
    editor.clear_namespace(buf, editor.namespace("acp.conflict")?, 0, -1)
}

/// Has a window show the file.
pub fn show_in_window(editor: &Editor, buf: Buf) -> Result<()> {
    let here = editor.tab_wins()?;
    if !editor.buf_is_loaded(buf) || editor.wins_of(buf).iter().any(|win| here.contains(win)) {
        return Ok(());
    }
    if let Some(win) = code_window(editor)?
        && (win != editor.current_win()? || editor.mode().0 == "n")
    {
        editor.set_win_buf(win, buf)?;
    }
    Ok(())
}

/// Scrolls a window to a place where that can't be seen: all of it above a picker that covers so many rows at the
/// screen's end, as far as there is room.
pub fn scroll_to(
    editor: &Editor,
    buf: Buf,
    hunk: &ConflictHunk,
    covered: usize,
    scrolled: &mut Option<Scrolled>,
) -> Result<()> {
    let here = editor.tab_wins()?;
    let Some(win) = editor.wins_of(buf).into_iter().find(|win| here.contains(win)) else { return Ok(()) };
    let end = editor.line_count(buf)?.saturating_sub(1);
    let first = hunk.row.min(end);
    let last = (hunk.row + hunk.ours.len()).saturating_sub(1).clamp(first, end);
    let is_folded: bool = editor.helper("open_fold", (win, first))?;
    // The other side's lines don't wrap, and have one above them.
    let theirs = hunk.theirs.len().min(SHOWN) + 2;
    let rows = |from: usize| -> Result<usize> { editor.helper("rows_of_lines", (win, from, last)) };
    let room: usize = editor.helper("rows_in_sight", (win, covered))?;
    let seen: usize = editor.helper("first_line_in_sight", win)?;
    if !is_folded && seen <= first && rows(seen)? + theirs <= room {
        return Ok(());
    }
    let spare = room.saturating_sub(rows(first)? + theirs).min(ABOVE);
    let before = match scrolled.take().filter(|scrolled| scrolled.win == win) {
        Some(scrolled) => scrolled.before,
        None => editor.helper("view_of", win)?,
    };
    let line = |row: usize| Value::Integer(row as i64 + 1);
    let view = editor.table([
        ("topline", line(first.saturating_sub(spare))),
        ("lnum", line(first)),
        ("col", Value::Integer(0)),
        ("leftcol", Value::Integer(0)),
        ("skipcol", Value::Integer(0)),
    ])?;
    editor.helper::<()>("set_view", (win, view))?;
    *scrolled = Some(Scrolled { win, before, cursor: editor.cursor(win)? });
    Ok(())
}

/// The user sees again what they had seen before, unless they went elsewhere.
pub fn scroll_back(editor: &Editor, buf: Buf, scrolled: Scrolled) -> Result<()> {
    let Scrolled { win, before, cursor } = scrolled;
    let is_there = editor.win_is_valid(win) && editor.win_buf(win)? == buf;
    if is_there && editor.cursor(win)? == cursor { editor.helper("set_view", (win, before)) } else { Ok(()) }
}

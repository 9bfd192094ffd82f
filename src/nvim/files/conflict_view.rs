//! What a conflict looks like in its file: the user's lines marked, the other side's below, on the screen while the user
//! is asked about them.

use std::time::Duration;

use mlua::{Result, Table, Value};

use crate::core::changes::conflict::Conflict;
use crate::core::changes::reconcile::ConflictHunk;
use crate::nvim::diff_view::appearance::{Appearance, cells};
use crate::nvim::diff_view::marks::{SignedLines, virtual_lines};
use crate::nvim::editor::code_window::code_window;
use crate::nvim::editor::{Buf, Editor, Win};

/// Lines of the other side that are shown; the file itself has them all once they are taken.
const SHOWN: usize = 60;

/// What the colours of the other side's lines may cost.
const COLOURS: Duration = Duration::from_millis(3);

/// Lines of the file above a place that was scrolled to.
const ABOVE: usize = 3;

/// A window that shows the file only since the user is asked about it.
pub struct Lent {
    kept: Table,
    /// The `changedtick` of the file's buffer then.
    tick: u64,
}

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
    let appearance = Appearance::of(editor, buf, COLOURS);
    for hunk in &conflict.hunks {
        for row in hunk.row..(hunk.row + hunk.ours.len()).min(last) {
            let options = editor.table([("line_hl_group", editor.string("AcpConflict")?)])?;
            if row == hunk.row {
                let yours = meta(editor, "\u{2190} yours")?;
                options.set("virt_text", editor.lua.create_sequence_from([yours])?)?;
            }
            editor.set_extmark(buf, ns, (row, 0), options)?;
        }
        let (row, above) = match hunk.row + hunk.ours.len() {
            0 => (0, true),
            end => (end - 1, false),
        };
        let options = theirs(editor, &appearance, hunk, (&conflict.theirs(), above))?;
        editor.set_extmark(buf, ns, (row.min(last - 1), 0), options)?;
    }
    Ok(())
}

/// The other side's lines between a line that says whose they are and one that ends them.
fn theirs(
    editor: &Editor,
    appearance: &Appearance,
    hunk: &ConflictHunk,
    (whose, above): (&str, bool),
) -> Result<Table> {
    let shown = &hunk.theirs[..hunk.theirs.len().min(SHOWN)];
    let options = virtual_lines(editor, appearance, &SignedLines::new('+', shown), above)?;
    let lines: Table = options.get("virt_lines")?;
    let margin = appearance.margin(' ').unwrap_or_default();
    let line = |text: String| -> Result<Table> {
        editor.lua.create_sequence_from([meta(editor, &format!("{margin}{text}"))?])
    };
    lines.raw_insert(1, line(format!("\u{256d} {whose}"))?)?;
    match hunk.theirs.len() {
        0 => lines.raw_push(line("  (these lines are gone)".to_owned())?)?,
        many if many > SHOWN => lines.raw_push(line(format!("\u{2026} {} more", many - SHOWN))?)?,
        _ => {}
    }
    lines.raw_push(line("\u{2570}".to_owned())?)?;
    Ok(options)
}

fn meta(editor: &Editor, text: &str) -> Result<Table> {
    editor.lua.create_sequence_from([editor.string(text)?, editor.string("AcpMeta")?])
}

pub fn clear_clashes(editor: &Editor, buf: Buf) -> Result<()> {
    if !editor.buf_is_valid(buf) {
        return Ok(());
    }
    editor.clear_namespace(buf, editor.namespace("acp.conflict")?, 0, -1)
}

/// Has a window show the file, for as long as it is asked about.
pub fn show_in_window(editor: &Editor, buf: Buf) -> Result<Option<Lent>> {
    let here = editor.tab_wins()?;
    if !editor.buf_is_loaded(buf) || editor.wins_of(buf).iter().any(|win| here.contains(win)) {
        return Ok(None);
    }
    match code_window(editor)? {
        Some(win) if win != editor.current_win()? || editor.mode().0 == "n" => {
            let kept = editor.helper("lend", (win, buf))?;
            Ok(Some(Lent { kept, tick: editor.changedtick(buf)? }))
        }
        _ => Ok(None),
    }
}

/// The window shows again what it did, unless the user has worked on the file in it.
pub fn give_back(editor: &Editor, buf: Buf, lent: Lent) -> Result<()> {
    let is_as_it_was = editor.buf_is_loaded(buf) && editor.changedtick(buf)? == lent.tick;
    if is_as_it_was { editor.helper("give_back", lent.kept) } else { Ok(()) }
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
    // Between the line that says whose they are and the one that ends them.
    let theirs = rows_of(editor, &Appearance::of(editor, buf, Duration::ZERO), hunk) + 2;
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

/// How many rows the other side's lines take.
fn rows_of(editor: &Editor, appearance: &Appearance, hunk: &ConflictHunk) -> usize {
    let rows =
        |line: &String| appearance.room().map_or(1, |room| (cells(editor, line) + 2).div_ceil(room.max(1)));
    hunk.theirs.iter().take(SHOWN).map(rows).sum::<usize>().max(1)
}

/// The user sees again what they had seen before, unless they went elsewhere.
pub fn scroll_back(editor: &Editor, buf: Buf, scrolled: Scrolled) -> Result<()> {
    let Scrolled { win, before, cursor } = scrolled;
    let is_there = editor.win_is_valid(win) && editor.win_buf(win)? == buf;
    if is_there && editor.cursor(win)? == cursor { editor.helper("set_view", (win, before)) } else { Ok(()) }
}

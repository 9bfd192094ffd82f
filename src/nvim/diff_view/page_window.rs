//! The buffer and the window of a page that lists hunks. What is on the page is left to `page`.

use std::ops::Range;

use mlua::Result;

use crate::config::{Keys, Pane};
use crate::core::changes::hunk_page::About;
use crate::core::changes::stepping::after;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::keys::bind::bind_pane;

/// Of a screen with fewer rows a page takes more than half.
const SMALL_SCREEN: u16 = 40;

/// So many rows are left to a chat, and to all that stands beside it: the end of an answer can be read, and be answered.
const FOR_CHAT: u16 = 12;

/// A buffer for a page, with the review's keys.
pub fn page_buf(editor: &Editor, keys: &Keys, name: &str) -> Result<Buf> {
    let buf = editor.create_buf(false, true)?;
    editor.set_buf_name(buf, name)?;
    editor.set_buf_option(buf, "bufhidden", "hide")?;
    editor.set_buf_option(buf, "swapfile", false)?;
    editor.set_buf_option(buf, "filetype", "acp-review")?;
    bind_pane(editor, keys, Pane::Review, buf)?;
    Ok(buf)
}

/// Goes to a window with a page, which is made if there is none.
pub fn show_page(editor: &Editor, buf: Buf) -> Result<Win> {
    if let Some(win) = editor.wins_of(buf).first().copied() {
        editor.set_current_win(win)?;
        return Ok(win);
    }
    let win = editor.split_for_page(height(editor)?.max(5))?;
    editor.set_win_buf(win, buf)?;
    for (option, value) in
        [("wrap", false), ("number", false), ("relativenumber", false), ("spell", false), ("list", false)]
    {
        editor.set_win_option(win, option, value)?;
    }
    editor.set_win_option(win, "signcolumn", "no")?;
    editor.set_win_option(win, "foldmethod", "expr")?;
    editor.set_win_option(win, "foldexpr", "get(get(b:,'acp_folds',[]),v:lnum-1,0)")?;
    editor.set_win_option(
        win,
        "foldtext",
        "get(get(b:,'acp_closed_folds',{}),v:foldstart,getline(v:foldstart))",
    )?;
    editor.set_win_option(win, "foldlevel", 9)?;
    editor.set_win_option(win, "foldminlines", 1)?;
    editor.set_win_option(win, "foldenable", true)?;
    let chars: String = editor.win_option(win, "fillchars")?;
    let others = chars.split(',').filter(|each| !each.is_empty() && !each.starts_with("fold:"));
    let chars: Vec<&str> = others.chain(["fold: "]).collect();
    editor.set_win_option(win, "fillchars", chars.join(","))?;
    Ok(win)
}

/// On a small screen what is decided about needs the most of it.
fn height(editor: &Editor) -> Result<u16> {
    let (_, rows) = editor.size();
    if rows >= SMALL_SCREEN {
        return Ok(rows / 2);
    }
    let is_chat = |win: &Win| {
        let kind = editor.win_buf(*win).and_then(|buf| editor.buf_option::<String>(buf, "filetype"));
        kind.is_ok_and(|kind| kind == "acp") && !editor.is_floating(*win)
    };
    let has_chat = editor.tab_wins()?.iter().any(is_chat);
    let most = if has_chat { rows.saturating_sub(FOR_CHAT).max(rows / 2) } else { rows };
    Ok(most.min(rows * 2 / 3))
}

/// The rows of a page that the cursor is on: those of a closed fold, else the one.
pub fn rows_here(editor: &Editor) -> Result<Range<usize>> {
    let row = editor.cursor(editor.current_win()?)?.0 - 1;
    rows_seen_as_one(editor, &(row..row + 1))
}

/// As many rows more as belong to closed folds: for Vim's commands, too, these are whole.
pub fn rows_seen_as_one(editor: &Editor, rows: &Range<usize>) -> Result<Range<usize>> {
    let first: i64 = editor.func("foldclosed", rows.start + 1)?;
    let last: i64 = editor.func("foldclosedend", rows.end)?;
    let start = usize::try_from(first - 1).unwrap_or(rows.start);
    Ok(start..usize::try_from(last).ok().filter(|_| last > 0).unwrap_or(rows.end))
}

/// To the next or previous hunk of a page. A closed fold is one place, whatever is in it.
pub fn step_in_page(editor: &Editor, rows: &[About], forward: bool) -> Result<()> {
    let win = editor.current_win()?;
    let here = rows_here(editor)?;
    let hunk_at = |row: usize| match rows.get(row) {
        Some(About::Hunk { path, hunk, .. }) => Some((path, hunk)),
        _ => None,
    };
    let begins = |at: &usize| hunk_at(*at).is_some() && (*at == 0 || hunk_at(*at - 1) != hunk_at(*at));
    let starts = (0..rows.len()).filter(begins);
    let count = editor.count()?;
    let target = match forward {
        true => after(starts.filter(|at| *at >= here.end), count),
        false => after(starts.rev().filter(|at| *at < here.start), count),
    };
    match target {
        Some(target) => {
            let shown = rows_seen_as_one(editor, &(target..target + 1))?;
            editor.set_cursor(win, shown.start + 1, 0)
        }
        None => Ok(()),
    }
}

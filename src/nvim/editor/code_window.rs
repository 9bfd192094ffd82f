//! Which window shows code: the one to open files in, and the one that may be taken from place to place
//! without anything getting lost. What is shown in it is left to others.

use mlua::{Result, Value};

use crate::nvim::editor::{Buf, Editor, Win};

/// Narrower and lower windows are lists and bars, not for code.
const MIN_SIZE: (u16, u16) = (20, 3);

/// The window for code: the last one the user was in that shows a file, else the first of the tab
/// page, else one whose contents nobody misses, else a new one at the left. Narrow columns are passed over.
pub fn code_window(editor: &Editor) -> Result<Option<Win>> {
    match code_window_but(editor, &[])? {
        Some(win) => Ok(Some(win)),
        None => {
            let empty = editor.create_buf(true, false)?;
            match split(editor, empty) {
                Ok(win) => Ok(Some(win)),
                // There is no room for one more: better a narrow one than none.
                Err(error) => {
                    editor.api::<()>("nvim_buf_delete", (empty, editor.lua.create_table()?))?;
                    let narrow = editor.tab_wins()?.into_iter().find(|win| is_code(editor, *win));
                    narrow.map_or(Err(error), |win| Ok(Some(win)))
                }
            }
        }
    }
}

/// The same among all windows but these; none is made.
pub fn code_window_but(editor: &Editor, others: &[Win]) -> Result<Option<Win>> {
    let wins = editor.tab_wins()?;
    let likely = [Some(editor.current_win()?), previous(editor)?].into_iter().flatten();
    let mut all = likely.chain(wins.iter().copied()).filter(|win| !others.contains(win));
    let is_wide = |win: &Win| editor.win_size(*win).is_ok_and(|(width, _)| width >= MIN_SIZE.0);
    if let Some(win) = all.find(|win| is_code(editor, *win) && is_wide(win)) {
        return Ok(Some(win));
    }
    // The user wants to see something else than what is proposed.
    let shows_proposal = |win: &Win| {
        let kind = editor.win_buf(*win).and_then(|buf| editor.buf_option::<String>(buf, "filetype"));
        !others.contains(win) && kind.is_ok_and(|kind| kind == "acp-proposal")
    };
    if let Some(win) = wins.iter().copied().find(shows_proposal) {
        return Ok(Some(win));
    }
    let spare = wins.into_iter().filter(|win| !others.contains(win) && is_spare(editor, *win));
    let area =
        |win: &Win| editor.win_size(*win).map_or(0, |(width, height)| u32::from(width) * u32::from(height));
    Ok(spare.max_by_key(area))
}

/// The same where one that shows a file is better than a new one, however narrow it is: other windows may have left it
/// that little. None that keeps a width of its own.
pub fn file_window_but(editor: &Editor, others: &[Win]) -> Result<Option<Win>> {
    let is_narrow = |win: &Win| {
        let keeps_width = editor.win_option::<bool>(*win, "winfixwidth").unwrap_or(false);
        !others.contains(win) && is_code(editor, *win) && !keeps_width
    };
    Ok(match code_window_but(editor, others)? {
        Some(win) => Some(win),
        None => editor.tab_wins()?.into_iter().find(is_narrow),
    })
}

/// A start screen, a directory: large, and of no size of its own as sidebars are.
fn is_spare(editor: &Editor, win: Win) -> bool {
    let has = |name: &str| editor.win_option::<bool>(win, name).unwrap_or(false);
    let (Ok(buf), Ok((width, height))) = (editor.win_buf(win), editor.win_size(win)) else { return false };
    let kind: String = editor.buf_option(buf, "buftype").unwrap_or_default();
    let filetype: String = editor.buf_option(buf, "filetype").unwrap_or_default();
    let is_fixed = has("winfixbuf") || has("winfixwidth") || has("winfixheight");
    let is_page = has("diff") || has("previewwindow") || filetype.starts_with("acp");
    matches!(kind.as_str(), "nofile" | "nowrite" | "acwrite")
        && !is_fixed
        && !is_page
        && !editor.is_floating(win)
        && (width, height) >= MIN_SIZE
        && height >= MIN_SIZE.1
}

/// The window of the tab page that may follow an agent, best first: `last`, where the user was last in
/// code, the one before this, any other; the one the user is in only where there is none beside it.
pub fn pick(editor: &Editor, last: Option<Win>) -> Result<Option<Win>> {
    let current = editor.current_win()?;
    let wins = editor.tab_wins()?;
    let likely = last.into_iter().chain(previous(editor)?).filter(|win| wins.contains(win));
    let mut all = likely.chain(wins.iter().copied()).filter(|win| *win != current);
    let found = all.find(|win| may_be_taken(editor, *win));
    Ok(found.or_else(|| is_code(editor, current).then_some(current)))
}

/// A new window at the left; the user stays where they are.
pub fn split(editor: &Editor, buf: Buf) -> Result<Win> {
    let config = editor.table([("split", editor.string("left")?), ("win", Value::Integer(-1))])?;
    editor.open_win(buf, false, config)
}

/// The window of the tab page in which a file is read already, best the one that the user was in before.
pub fn window_of(editor: &Editor, buf: Buf) -> Result<Option<Win>> {
    let likely = previous(editor)?.into_iter().chain(editor.tab_wins()?);
    let shows = |win: &Win| editor.win_buf(*win).is_ok_and(|shown| shown == buf);
    Ok(likely.filter(shows).find(|win| is_file(editor, *win)))
}

/// A normal window that shows a file, and may show another.
pub fn is_code(editor: &Editor, win: Win) -> bool {
    let fixed = editor.win_option::<bool>(win, "winfixbuf").unwrap_or(false);
    !fixed && is_file(editor, win)
}

fn is_file(editor: &Editor, win: Win) -> bool {
    let diff = editor.win_option::<bool>(win, "diff").unwrap_or(false);
    let preview = editor.win_option::<bool>(win, "previewwindow").unwrap_or(false);
    let Ok(buf) = editor.win_buf(win) else { return false };
    let kind: String = editor.buf_option(buf, "buftype").unwrap_or_default();
    !diff && !preview && kind.is_empty() && !editor.is_floating(win)
}

/// Whether such a window may show another file now: nothing is lost by it, nor would Neovim refuse it
/// (`:help abandon`), and no buffer ends that is gone once nobody sees it ('bufhidden').
pub fn may_be_taken(editor: &Editor, win: Win) -> bool {
    if !is_code(editor, win) {
        return false;
    }
    let Ok(buf) = editor.win_buf(win) else { return false };
    if editor.wins_of(buf).len() > 1 {
        return true;
    }
    match editor.buf_option::<String>(buf, "bufhidden").unwrap_or_default().as_str() {
        "hide" => true,
        "" => {
            !editor.buf_option::<bool>(buf, "modified").unwrap_or(true)
                || editor.global_option::<bool>("hidden").unwrap_or(false)
        }
        _ => false,
    }
}

/// The window the user was in before this one.
pub fn previous(editor: &Editor) -> Result<Option<Win>> {
    let number: i64 = editor.func("winnr", "#")?;
    if number <= 0 {
        return Ok(None);
    }
    let win = Win(editor.func("win_getid", number)?);
    Ok(editor.win_is_valid(win).then_some(win))
}

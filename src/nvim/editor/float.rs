//! A small window over the others for lines that are only looked at. What they say is left to others.

use mlua::{Result, Table, Value};

use crate::nvim::editor::{Buf, Editor, Level, Win};

/// What closes the window that the cursor is in.
pub const CLOSE: &str = "<Cmd>close<CR>";
const KEYS: &str = "q or <Esc> closes this page, j, k and <C-d> scroll";

/// A small window in the middle that `q` and `<Esc>` close.
pub fn float(editor: &Editor, lines: &[String]) -> Result<Win> {
    let buf = scratch(editor, lines)?;
    let config = place(editor, lines)?;
    config.set("style", "minimal")?;
    editor.command("stopinsert")?;
    let win = editor.open_win(buf, true, config)?;
    wrap(editor, win)?;
    make_room(editor, win, lines)?;
    bind_closing(editor, buf, (&["q", "<Esc>"], CLOSE), KEYS)?;
    Ok(win)
}

/// The keys that close a page which has no other ones, and `g?`, which says so.
pub fn bind_closing(
    editor: &Editor,
    buf: Buf,
    (keys, command): (&[&str], &str),
    told: &'static str,
) -> Result<()> {
    let keymap: Table = editor.module("keymap")?;
    let set: mlua::Function = keymap.get("set")?;
    let options = || editor.table([("buffer", Value::Integer(buf.0)), ("nowait", Value::Boolean(true))]);
    for key in keys {
        set.call::<()>(("n", *key, command, options()?))?;
    }
    let notify = editor.notify.clone();
    let tell_keys = editor.lua.create_function(move |_, ()| notify.call::<()>((told, Level::Info as i64)))?;
    set.call::<()>(("n", "g?", tell_keys, options()?))
}

/// Has such a window fit other lines, or another screen.
pub fn refit(editor: &Editor, win: Win, lines: &[String]) -> Result<()> {
    editor.api::<()>("nvim_win_set_config", (win, place(editor, lines)?))?;
    make_room(editor, win, lines)
}

/// What the border says.
const CLOSES: &str = " q closes ";

/// The same where the window has no room for all of the lines.
const MORE: &str = " j, k and <C-d> scroll \u{b7} q closes ";

/// Lines that wrap take more rows than one. The border says how to close the window and, where there is no room for all,
/// how to see the rest.
fn make_room(editor: &Editor, win: Win, lines: &[String]) -> Result<()> {
    let most = editor.size().1.saturating_sub(4).max(1);
    let (width, _) = editor.win_size(win)?;
    let needed = match lines.len() {
        few if few < usize::from(most) => editor.helper("rows_of_text", win)?,
        many => many,
    };
    let config = in_the_middle(editor, width, u16::try_from(needed).unwrap_or(most).clamp(1, most))?;
    let is_cut = needed > usize::from(most);
    config.set("footer", if is_cut { MORE } else { CLOSES })?;
    config.set("footer_pos", "right")?;
    editor.api("nvim_win_set_config", (win, config))
}

/// A window at the top of the screen for lines that are looked at while something else is asked. `None` if not all of
/// them fit above so many rows at the end of the screen.
pub fn float_above(editor: &Editor, lines: &[String], covered: usize) -> Result<Option<Win>> {
    let buf = scratch(editor, lines)?;
    let config = place(editor, lines)?;
    config.set("style", "minimal")?;
    config.set("row", 0)?;
    let win = editor.open_win(buf, false, config.clone())?;
    wrap(editor, win)?;
    let needed: usize = editor.helper("rows_of_text", win)?;
    // Besides there is the border.
    if needed + 2 + covered > usize::from(editor.size().1) {
        editor.close_win(win)?;
        return Ok(None);
    }
    config.set("height", needed)?;
    editor.api::<()>("nvim_win_set_config", (win, config))?;
    Ok(Some(win))
}

fn scratch(editor: &Editor, lines: &[String]) -> Result<Buf> {
    let buf = editor.create_buf(false, true)?;
    editor.set_text(buf, (0, 0), (0, 0), lines)?;
    editor.set_buf_option(buf, "modifiable", false)?;
    editor.set_buf_option(buf, "bufhidden", "wipe")?;
    Ok(buf)
}

/// Words that are longer than the window go on where their line begins.
fn wrap(editor: &Editor, win: Win) -> Result<()> {
    ["wrap", "linebreak", "breakindent"]
        .into_iter()
        .try_for_each(|option| editor.set_win_option(win, option, true))
}

fn place(editor: &Editor, lines: &[String]) -> Result<Table> {
    let (columns, rows) = editor.size();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(20) + 2;
    let width = u16::try_from(width).unwrap_or(columns).min(columns.saturating_sub(4)).max(1);
    let height = u16::try_from(lines.len()).unwrap_or(rows).min(rows.saturating_sub(4)).max(1);
    in_the_middle(editor, width, height)
}

fn in_the_middle(editor: &Editor, width: u16, height: u16) -> Result<Table> {
    let (columns, rows) = editor.size();
    editor.table([
        ("relative", editor.string("editor")?),
        ("width", Value::Integer(width.into())),
        ("height", Value::Integer(height.into())),
        ("row", Value::Integer((rows.saturating_sub(height) / 2).into())),
        ("col", Value::Integer((columns.saturating_sub(width) / 2).into())),
        ("border", editor.string("rounded")?),
    ])
}

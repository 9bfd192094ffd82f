//! A small window over the others for lines that are only looked at. What they say is left to others.

use mlua::{Result, Table, Value};

use crate::nvim::editor::{Editor, Win};

/// A small window in the middle that `q` and `<Esc>` close.
pub fn float(editor: &Editor, lines: &[String]) -> Result<Win> {
    let buf = editor.create_buf(false, true)?;
    editor.set_text(buf, (0, 0), (0, 0), lines)?;
    editor.set_buf_option(buf, "modifiable", false)?;
    editor.set_buf_option(buf, "bufhidden", "wipe")?;
    let config = place(editor, lines)?;
    config.set("style", "minimal")?;
    editor.command("stopinsert")?;
    let win = editor.open_win(buf, true, config)?;
    for key in ["q", "<Esc>", "g?"] {
        let options = editor.table([("buffer", Value::Integer(buf.0)), ("nowait", Value::Boolean(true))])?;
        let keymap: Table = editor.module("keymap")?;
        let set: mlua::Function = keymap.get("set")?;
        set.call::<()>(("n", key, "<Cmd>close<CR>", options))?;
    }
    Ok(win)
}

/// Has such a window fit other lines, or another screen.
pub fn refit(editor: &Editor, win: Win, lines: &[String]) -> Result<()> {
    editor.api("nvim_win_set_config", (win, place(editor, lines)?))
}

fn place(editor: &Editor, lines: &[String]) -> Result<Table> {
    let (columns, rows) = editor.size();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(20) + 2;
    let width = u16::try_from(width).unwrap_or(columns).min(columns.saturating_sub(4)).max(1);
    let height = u16::try_from(lines.len()).unwrap_or(rows).min(rows.saturating_sub(4)).max(1);
    editor.table([
        ("relative", editor.string("editor")?),
        ("width", Value::Integer(width.into())),
        ("height", Value::Integer(height.into())),
        ("row", Value::Integer((rows.saturating_sub(height) / 2).into())),
        ("col", Value::Integer((columns.saturating_sub(width) / 2).into())),
        ("border", editor.string("rounded")?),
    ])
}

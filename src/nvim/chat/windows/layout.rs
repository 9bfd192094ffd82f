//! Opening the windows of a chat: where they stand in each layout, and what they look like. How large they
//! are is left to `core::window_sizes`. Which windows there are already is left to `windows`.

use mlua::{Result, Table, Value};

use crate::config::{Layout, Size, WindowOptions};
use crate::core::window_sizes::{self, Floats, Rows, Wanted, prompt_height, share};
use crate::nvim::chat::windows::margin;
use crate::nvim::editor::{Buf, Editor, Win};

/// What a chat at an edge has of the editor, unless the user says otherwise.
const HALF: Size = Size::Percent(50);

/// Where a window is split off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Right,
    Left,
    Below,
    Above,
}

impl Side {
    fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Left => "left",
            Self::Below => "below",
            Self::Above => "above",
        }
    }

    /// What its size is counted in.
    fn dimension(self) -> &'static str {
        match self {
            Self::Right | Self::Left => "width",
            Self::Below | Self::Above => "height",
        }
    }
}

/// Shows a buffer in a new window beside another one, or else along an edge of the editor. The cursor
/// stays where it is.
pub fn split(editor: &Editor, buf: Buf, side: Side, size: u16, beside: Option<Win>) -> Result<Win> {
    let config = editor.table([
        ("split", editor.string(side.word())?),
        ("win", Value::Integer(beside.map_or(-1, |win| win.0))),
        (side.dimension(), Value::Integer(size.max(1).into())),
    ])?;
    editor.open_win(buf, false, config)
}

/// Shows a buffer in a tab page of its own, and goes there.
pub fn tab(editor: &Editor, buf: Buf) -> Result<Win> {
    editor.command("tab split")?;
    let win = editor.current_win()?;
    editor.set_win_buf(win, buf)?;
    Ok(win)
}

/// The edge that a layout is at, if it is at one.
pub fn edge(layout: Layout) -> Option<Side> {
    match layout {
        Layout::Right => Some(Side::Right),
        Layout::Left => Some(Side::Left),
        Layout::Bottom => Some(Side::Below),
        Layout::Top => Some(Side::Above),
        Layout::Float | Layout::Tab | Layout::Current => None,
    }
}

/// What a chat at an edge is to have of the editor: columns or lines.
fn edge_size(editor: &Editor, side: Side, options: &WindowOptions) -> u16 {
    let (size, all) = wanted(editor, side, options);
    size.of(all)
}

/// The share of the editor that this is.
pub fn edge_share(editor: &Editor, side: Side, options: &WindowOptions) -> Option<f32> {
    match wanted(editor, side, options) {
        // On a small screen the cells would not say it exactly.
        (Size::Percent(percent), _) => share(percent, 100),
        (size, all) => share(size.of(all), all),
    }
}

fn wanted(editor: &Editor, side: Side, options: &WindowOptions) -> (Size, u16) {
    let (columns, lines) = editor.size();
    match side {
        Side::Right | Side::Left => (options.width.unwrap_or(HALF), columns),
        Side::Below | Side::Above => (options.height.unwrap_or(HALF), lines),
    }
}

/// Whether Neovim has no room for one more window beside the others.
pub fn is_without_room(error: &mlua::Error) -> bool {
    error.to_string().contains("E36:")
}

pub fn open_transcript(editor: &Editor, buf: Buf, options: &WindowOptions) -> Result<Win> {
    if let Some(side) = edge(options.layout) {
        return split(editor, buf, side, edge_size(editor, side, options), None);
    }
    match options.layout {
        Layout::Float => editor.open_win(buf, false, floats(editor, options)?.0),
        Layout::Tab => tab(editor, buf),
        _ => {
            let win = editor.current_win()?;
            editor.set_win_buf(win, buf)?;
            Ok(win)
        }
    }
}

pub fn open_prompt(editor: &Editor, buf: Buf, transcript: Win, options: &WindowOptions) -> Result<Win> {
    if editor.is_floating(transcript) {
        return editor.open_win(buf, false, floats(editor, options)?.1);
    }
    let (_, height) = editor.win_size(transcript)?;
    split(editor, buf, Side::Below, prompt_height(options.prompt_height, height), Some(transcript))
}

/// Where the two floating windows are.
pub fn floats(editor: &Editor, options: &WindowOptions) -> Result<(Table, Table)> {
    let (columns, lines) = editor.size();
    // The command line is not for text.
    let lines = lines.saturating_sub(1);
    let wanted = Wanted {
        width: options.width.map(|width| width.of(columns)),
        height: options.height.map(|height| height.of(lines)),
        prompt: options.prompt_height,
    };
    let Floats { width, column, transcript, prompt } = window_sizes::floats(columns, lines, wanted);
    let config = |rows: Rows| {
        editor.table([
            ("relative", editor.string("editor")?),
            ("width", Value::Integer(width.into())),
            ("height", Value::Integer(rows.count.into())),
            ("row", Value::Integer(rows.first.into())),
            ("col", Value::Integer(column.into())),
            ("border", editor.string("rounded")?),
        ])
    };
    Ok((config(transcript)?, config(prompt)?))
}

/// Window options, set each time since a window may have shown something else before. They belong to
/// the buffer in its window: what the window shows afterwards has its own.
pub fn dress(editor: &Editor, transcript: Win, prompt: Win) -> Result<()> {
    for win in [transcript, prompt] {
        for (name, value) in [
            ("number", false),
            ("relativenumber", false),
            ("cursorline", false),
            ("list", false),
            ("spell", false),
            ("wrap", true),
            ("linebreak", true),
            ("breakindent", true),
            // A paragraph that is higher than the window is scrolled by rows: without this, rows stay blank.
            ("smoothscroll", true),
        ] {
            editor.set_win_option(win, name, value)?;
        }
        editor.set_win_option(win, "signcolumn", "no")?;
        // A margin. 'statuscolumn' could draw it as well, but has every row of the window drawn again
        // whenever lines are added.
        editor.set_win_option(win, "foldcolumn", "1")?;
        margin::set(editor, win)?;
        editor.set_win_option(win, "foldenable", false)?;
        editor.set_win_option(win, "colorcolumn", "")?;
        editor.set_win_option(win, "conceallevel", 2)?;
        editor.set_win_option(win, "concealcursor", "nc")?;
        editor.set_win_option(win, "statuscolumn", "")?;
        editor.set_win_option(win, "fillchars", "eob: ")?;
    }
    Ok(())
}

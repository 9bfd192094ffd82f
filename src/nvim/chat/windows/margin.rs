//! The margin of a chat's windows, which the bars of the plugin's own lines stand in. It has the background of the text
//! beside it. A window with groups of its own ('winhighlight') costs: Neovim computes all highlight groups of all windows
//! anew whenever it redraws while there is one. So a window only gets those that change what is seen.

use mlua::{Result, Table, Value};

use crate::nvim::editor::{Editor, Win};

const MARGIN: &str = "FoldColumn:EndOfBuffer";
const FLOAT: &str = "NormalFloat:Normal,FloatBorder:Normal";

/// What can be seen of a group where no text is, besides its background.
const ON_BLANKS: [&str; 8] = [
    "reverse",
    "standout",
    "underline",
    "undercurl",
    "underdouble",
    "underdotted",
    "underdashed",
    "strikethrough",
];

pub fn set(editor: &Editor, win: Win) -> Result<()> {
    let margin = has_look(editor)?.then_some(MARGIN);
    let float = editor.is_floating(win).then_some(FLOAT);
    let groups: Vec<&str> = margin.into_iter().chain(float).collect();
    editor.set_win_option(win, "winhighlight", groups.join(","))
}

/// The same for a window that has one already, in other colours now. What the user has set stays.
pub fn renew(editor: &Editor, win: Win) -> Result<()> {
    let now: String = editor.win_option(win, "winhighlight")?;
    let ours = ["".to_owned(), MARGIN.to_owned(), FLOAT.to_owned(), format!("{MARGIN},{FLOAT}")];
    if ours.contains(&now) { set(editor, win) } else { Ok(()) }
}

/// Whether the margin would look unlike the text's background by itself.
fn has_look(editor: &Editor) -> Result<bool> {
    let looks = |group: &str| -> Result<Table> {
        let options = [("name", editor.string(group)?), ("link", Value::Boolean(false))];
        editor.api("nvim_get_hl", (0, editor.table(options)?))
    };
    let (margin, normal) = (looks("FoldColumn")?, looks("Normal")?);
    for key in ["bg", "ctermbg"] {
        let behind = margin.get::<Option<u32>>(key)?;
        if behind.is_some() && behind != normal.get::<Option<u32>>(key)? {
            return Ok(true);
        }
    }
    let cterm: Option<Table> = margin.get("cterm")?;
    let has = |looks: &Table| ON_BLANKS.iter().any(|key| looks.get::<bool>(*key).unwrap_or(false));
    Ok(has(&margin) || cterm.as_ref().is_some_and(has))
}

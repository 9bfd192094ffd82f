//! The plugin's highlight groups, with the colours of commands in the chat.

use mlua::{Result, Table, Value};

use crate::core::terminal::screen::COLOURS;
use crate::nvim::editor::Editor;

/// The plugin's highlight groups, as links that a colour scheme or a user may replace.
pub fn define(editor: &Editor) -> Result<()> {
    for (group, link) in [
        ("AcpUser", "Title"),
        ("AcpAgent", "Title"),
        ("AcpThought", "Comment"),
        ("AcpTool", "Normal"),
        ("AcpToolPending", "Comment"),
        ("AcpToolRunning", "DiagnosticInfo"),
        ("AcpToolWaiting", "DiagnosticWarn"),
        ("AcpToolDone", "DiagnosticOk"),
        ("AcpToolFailed", "DiagnosticError"),
        ("AcpToolCancelled", "Comment"),
        ("AcpPlan", "Title"),
        ("AcpMeta", "Comment"),
        ("AcpUnprintable", "SpecialKey"),
        ("AcpMention", "Underlined"),
        ("AcpMentionMissing", "DiagnosticUnderlineWarn"),
        ("AcpError", "DiagnosticError"),
        ("AcpDiffAdd", "DiffAdd"),
        ("AcpDiffAddWord", "DiffText"),
        ("AcpDiffDeleteWord", "DiffText"),
        ("AcpConflict", "DiffChange"),
        ("AcpLocation", "Visual"),
        ("AcpAgentMark1", "DiagnosticInfo"),
        ("AcpAgentMark2", "DiagnosticOk"),
        ("AcpAgentMark3", "DiagnosticWarn"),
        ("AcpAgentMark4", "DiagnosticHint"),
        ("AcpAgentMark5", "Special"),
        ("AcpAgentMark6", "Title"),
        ("AcpWinbar", "Title"),
    ] {
        let options = editor.table([("link", editor.string(link)?), ("default", Value::Boolean(true))])?;
        editor.api::<()>("nvim_set_hl", (0, group, options))?;
    }
    define_removed(editor)?;
    define_colours(editor)
}

/// Lines that are gone are told by their background: their letters have the colours of their language. Where
/// the colour scheme's group has none, as Neovim's own, they get one.
fn define_removed(editor: &Editor) -> Result<()> {
    let name = editor.table([("name", editor.string("DiffDelete")?), ("link", Value::Boolean(false))])?;
    let scheme: Table = editor.api("nvim_get_hl", (0, name))?;
    let own = editor.table([("name", editor.string("AcpDiffDelete")?)])?;
    let own: Table = editor.api("nvim_get_hl", (0, own))?;
    let number_of = |name: &str| editor.api::<i64>("nvim_get_color_by_name", name).unwrap_or(-1);
    let (dark, light) = ("NvimDarkRed", "NvimLightRed");
    // What was set for the other background is ours, though it looks like a user's own by now.
    let is_ours =
        own.get::<Option<i64>>("bg")?.is_some_and(|colour| [dark, light].map(number_of).contains(&colour));
    if scheme.contains_key("bg")? || scheme.contains_key("reverse")? {
        let options =
            editor.table([("link", editor.string("DiffDelete")?), ("default", Value::Boolean(!is_ours))])?;
        return editor.api("nvim_set_hl", (0, "AcpDiffDelete", options));
    }
    let options: Table = editor.module("o")?;
    let is_light = options.get::<String>("background").is_ok_and(|background| background == "light");
    let options = editor.table([
        ("bg", editor.string(if is_light { light } else { dark })?),
        ("ctermbg", Value::Integer(1)),
        ("default", Value::Boolean(!is_ours)),
    ])?;
    editor.api("nvim_set_hl", (0, "AcpDiffDelete", options))
}

/// Neovim's own names for a colour that can be read before a dark, and before a light background.
const READABLE: [(&str, &str); 8] = [
    ("NvimDarkGrey4", "NvimDarkGrey2"),
    ("NvimLightRed", "NvimDarkRed"),
    ("NvimLightGreen", "NvimDarkGreen"),
    ("NvimLightYellow", "NvimDarkYellow"),
    ("NvimLightBlue", "NvimDarkBlue"),
    ("NvimLightMagenta", "NvimDarkMagenta"),
    ("NvimLightCyan", "NvimDarkCyan"),
    ("NvimLightGrey2", "NvimDarkGrey4"),
];

/// The colours of what commands print, as they are in a terminal where the colour scheme says so
/// (`:help terminal-config`).
fn define_colours(editor: &Editor) -> Result<()> {
    let variables: Table = editor.module("g")?;
    let options: Table = editor.module("o")?;
    let is_light = options.get::<String>("background").is_ok_and(|background| background == "light");
    let number_of = |name: &str| editor.api::<i64>("nvim_get_color_by_name", name).unwrap_or(-1);
    for (number, (text, behind)) in COLOURS.iter().enumerate() {
        let named: Option<String> = variables.get(format!("terminal_color_{number}"))?;
        let (dark, light) = READABLE[number % 8];
        let (readable, turned) = if is_light { (light, dark) } else { (dark, light) };
        let colours = [
            (*text, "fg", "ctermfg", named.clone().unwrap_or_else(|| readable.to_owned())),
            (*behind, "bg", "ctermbg", named.unwrap_or_else(|| turned.to_owned())),
        ];
        for (group, place, cterm, colour) in colours {
            // What was set for the other background is ours, though it looks like a user's own by now.
            let name = editor.table([("name", editor.string(group)?)])?;
            let before: Table = editor.api("nvim_get_hl", (0, name))?;
            let before: Option<i64> = before.get(place)?;
            let is_ours = before.is_some_and(|colour| [dark, light].map(number_of).contains(&colour));
            let options = editor.table([
                (place, editor.string(colour)?),
                (cterm, Value::Integer(number as i64)),
                ("default", Value::Boolean(!is_ours)),
            ])?;
            editor.api::<()>("nvim_set_hl", (0, group, options))?;
        }
    }
    for (group, look) in [
        ("AcpBold", "bold"),
        ("AcpItalic", "italic"),
        ("AcpUnderline", "underline"),
        ("AcpReverse", "reverse"),
    ] {
        let options = editor.table([(look, Value::Boolean(true)), ("default", Value::Boolean(true))])?;
        editor.api::<()>("nvim_set_hl", (0, group, options))?;
    }
    Ok(())
}

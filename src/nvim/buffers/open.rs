//! Opening files without side effects beyond what that needs: not listed before somebody works in them,
//! no file type plugins before somebody is in them, no question. Which window shows them is left to
//! others.

use std::path::Path;

use mlua::{Function, Result, Table};

use crate::nvim::editor::{Buf, Editor};
use crate::platform::files::bytes_of_path;

pub struct Opened {
    pub buf: Buf,
    /// Its swap file, where another Neovim has the usual one.
    pub swap: Option<String>,
}

/// The buffer of a file, loaded, not listed when it is new, without asking about swap files.
pub fn load(editor: &Editor, path: &Path) -> Result<Buf> {
    open(editor, path).map(|opened| opened.buf)
}

pub fn open(editor: &Editor, path: &Path) -> Result<Opened> {
    let load: Function = helpers(editor)?.get("load")?;
    let (buf, swap) = load.call(editor.string(bytes_of_path(path))?)?;
    Ok(Opened { buf, swap })
}

/// The user is in a buffer: if it was opened for an agent, it becomes one of theirs.
pub fn entered(editor: &Editor, buf: Buf) -> Result<()> {
    let enter: Function = helpers(editor)?.get("enter")?;
    enter.call(buf)
}

/// The agent has changed what is in a buffer: it has to be found again.
pub fn list(editor: &Editor, buf: Buf) -> Result<()> {
    if editor.buf_is_loaded(buf) && !editor.buf_option::<bool>(buf, "buflisted")? {
        let kind: String = editor.buf_option(buf, "buftype")?;
        if kind.is_empty() {
            editor.set_buf_option(buf, "buflisted", true)?;
        }
    }
    Ok(())
}

fn helpers(editor: &Editor) -> Result<Table> {
    const NAME: &str = "acp.open";
    if let Some(helpers) = editor.lua.named_registry_value::<Option<Table>>(NAME)? {
        return Ok(helpers);
    }
    let helpers: Table = editor.lua.load(include_str!("open.lua")).set_name("=acp/open").eval()?;
    editor.lua.set_named_registry_value(NAME, &helpers)?;
    Ok(helpers)
}

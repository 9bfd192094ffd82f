//! The colours of the transcript's Markdown. The work is done by `lua/acp/highlight.lua`, since
//! treesitter lives in Lua; this file hands over which rows are what. Colour is a courtesy: when it
//! fails, the text stays plain and the chat goes on.

use mlua::{Function, IntoLuaMulti, Table};

use crate::nvim::editor::{Buf, Editor};

pub struct Highlight {
    module: Option<Table>,
}

impl Highlight {
    pub fn new(editor: &Editor) -> Self {
        let load = || -> mlua::Result<Table> {
            let require: Function = editor.lua.globals().get("require")?;
            require.call("acp.highlight")
        };
        Self { module: load().ok() }
    }

    pub fn attach(&self, buf: Buf) {
        self.call("attach", buf);
    }

    /// A Markdown region begins at a 0-based row.
    pub fn open(&self, buf: Buf, id: usize, row: usize) {
        self.call("open", (buf, id, row));
    }

    /// The region ends before `end_row` now.
    pub fn grew(&self, buf: Buf, id: usize, end_row: usize) {
        self.call("grew", (buf, id, end_row));
    }

    pub fn close(&self, buf: Buf, id: usize, end_row: usize) {
        self.call("close", (buf, id, end_row));
    }

    /// Regions stand below all others, complete: `list` has the id, the first row and the row after the
    /// last of each.
    pub fn add(&self, buf: Buf, list: Vec<usize>) {
        self.call("add", (buf, list));
    }

    /// The region's text is about to be replaced.
    pub fn drop(&self, buf: Buf, id: usize) {
        self.call("drop", (buf, id));
    }

    fn call(&self, name: &str, args: impl IntoLuaMulti) {
        let Some(module) = &self.module else { return };
        let function: mlua::Result<Function> = module.get(name);
        // Plain text is what remains when colouring fails.
        let _ = function.and_then(|function| function.call::<()>(args));
    }
}

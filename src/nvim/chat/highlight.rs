//! The colours of the transcript's Markdown. The work is done by `lua/acp/highlight.lua`, since
//! treesitter lives in Lua; this file hands over which rows are what. It loads that file when there is
//! something to colour, or a moment after a chat was opened, since with treesitter it takes as long as all
//! else of the opening. Colour is a courtesy: when it fails, the text stays plain and the chat goes on.

use std::cell::{OnceCell, RefCell};

use mlua::{Function, IntoLuaMulti, Lua, Table};

use crate::nvim::editor::{Buf, Editor};

pub struct Highlight {
    lua: Lua,
    module: OnceCell<Option<Table>>,
    /// Transcripts that are to be coloured once the module is there.
    early: RefCell<Vec<Buf>>,
}

impl Highlight {
    pub fn new(editor: &Editor) -> Self {
        Self { lua: editor.lua.clone(), module: OnceCell::new(), early: RefCell::default() }
    }

    /// Says that a buffer is a transcript. Gives whether somebody has to see to it that what colours it
    /// is loaded.
    pub fn attach(&self, buf: Buf) -> bool {
        self.early.borrow_mut().push(buf);
        if self.module.get().is_some() {
            self.load();
            return false;
        }
        true
    }

    pub fn load(&self) {
        self.module.get_or_init(|| {
            let require: mlua::Result<Function> = self.lua.globals().get("require");
            require.and_then(|require| require.call("acp.highlight")).ok()
        });
        for buf in self.early.take() {
            self.call("attach", buf);
        }
    }

    /// A Markdown region begins at a 0-based row.
    pub fn open(&self, buf: Buf, id: usize, row: usize) {
        self.call("open", (buf, id, row));
    }

    /// The same, with all that was typed to be seen.
    pub fn open_as_typed(&self, buf: Buf, id: usize, row: usize) {
        self.call("open", (buf, id, row, true));
    }

    /// The region ends before `end_row` now.
    pub fn grew(&self, buf: Buf, id: usize, end_row: usize) {
        self.call("grew", (buf, id, end_row));
    }

    pub fn close(&self, buf: Buf, id: usize, end_row: usize) {
        self.call("close", (buf, id, end_row));
    }

    /// Regions stand below all others, complete: `list` has the id, the first row and the row after the
    /// last of each. In those of the ids in `typed` all that was typed is seen.
    pub fn add(&self, buf: Buf, list: Vec<usize>, typed: Vec<usize>) {
        self.call("add", (buf, list, typed));
    }

    /// The region's text is about to be replaced.
    pub fn drop(&self, buf: Buf, id: usize) {
        self.call("drop", (buf, id));
    }

    /// Why a 0-based row has no colours, or not all that it could have.
    pub fn why_plain(&self, buf: Buf, row: usize) -> Option<String> {
        let Some(Some(module)) = self.module.get() else { return None };
        let why: Function = module.get("why_plain").ok()?;
        why.call((buf, row)).ok()?
    }

    fn call(&self, name: &str, args: impl IntoLuaMulti) {
        if !self.early.borrow().is_empty() {
            self.load();
        }
        let Some(Some(module)) = self.module.get() else { return };
        let function: mlua::Result<Function> = module.get(name);
        // Plain text is what remains when colouring fails.
        let _ = function.and_then(|function| function.call::<()>(args));
    }
}

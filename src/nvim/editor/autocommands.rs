//! Groups of autocommands. What is heard, and what follows from it, is left to those who make them.

use mlua::{Lua, Result, Table, Value};

use crate::nvim::editor::Editor;

/// A group of autocommands; made again, it is empty.
pub struct Group<'editor> {
    pub editor: &'editor Editor,
    id: i64,
}

impl<'editor> Group<'editor> {
    pub fn new(editor: &'editor Editor, name: &str) -> Result<Self> {
        let clear = editor.table([("clear", Value::Boolean(true))])?;
        Ok(Self { editor, id: editor.api("nvim_create_augroup", (name, clear))? })
    }

    pub fn create(
        &self,
        events: &[&str],
        options: Vec<(&str, Value)>,
        heard: impl Fn(&Lua, Table) -> Result<()> + 'static,
    ) -> Result<()> {
        let callback = self.editor.lua.create_function(move |lua, event: Table| heard(lua, event))?;
        let all = self
            .editor
            .table([("group", Value::Integer(self.id)), ("callback", Value::Function(callback))])?;
        for (name, value) in options {
            all.set(name, value)?;
        }
        self.editor.api::<Value>("nvim_create_autocmd", (events.to_vec(), all)).map(drop)
    }
}

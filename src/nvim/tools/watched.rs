//! What an agent has changed on the disk, told to the language servers: their answers to its next call are about it.

use mlua::{Function, Table};

use crate::core::store::checkpoint::Held;
use crate::nvim::context::Context;
use crate::nvim::events::Change;
use crate::nvim::tools::Tools;
use crate::platform::files::bytes_of_path;

impl Tools {
    pub fn file_changed(cx: &mut Context, change: &Change) {
        if !change.saved {
            return;
        }
        let is_there = |held: &Held| !matches!(held, Held::Absent);
        let (before, after) = (is_there(&change.held.0), is_there(&change.held.1));
        let path = change.path.clone();
        cx.run_effect("couldn't tell the language servers of a change", move |editor| {
            let module: Table = editor.lua.globals().get::<Function>("require")?.call("acp.tools.watched")?;
            let path = editor.string(bytes_of_path(&path))?;
            module.get::<Function>("changed")?.call::<()>((path, before, after))
        });
    }
}

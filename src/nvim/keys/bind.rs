//! The keys of a buffer, bound to their actions by name. What an action does is its feature's part.

use mlua::{Function, Lua, Result, Table};

use crate::config::{Keys, Pane};
use crate::core::text::bar::Part;
use crate::nvim::editor::{Buf, Editor};
use crate::nvim::guard;

/// The keys of this name answer by their place in the list.
pub const ANSWER: &str = "answer";

/// The keys of this name are bound only while there is something that they do.
pub const SUGGESTION: &str = "take_suggestion";

/// A function for Lua that runs a key's action.
pub fn key_action(lua: &Lua, name: &'static str) -> Result<Function> {
    lua.create_function(move |_, ()| {
        // A mapping's error would be shown without its words (E5108).
        guard::guarded(|| guard::enter(|features| features.key(name)));
        Ok(())
    })
}

/// Keys as parts of a bar: the name of each, what it does, and how little it matters.
pub fn key_parts(keys: &Keys, of: &[(&str, &str, u8)]) -> Vec<Part> {
    let part = |(name, what, rank): &(&str, &str, u8)| {
        keys.named(name, what).map(|text| Part::new("AcpMeta", text, *rank))
    };
    of.iter().filter_map(part).collect()
}

/// The keys of one kind of buffer, but those that are not always the plugin's.
pub fn bind_pane(editor: &Editor, keys: &Keys, pane: Pane, buf: Buf) -> Result<()> {
    let keymap: Table = editor.module("keymap")?;
    let set: Function = keymap.get("set")?;
    for (key, lhs) in keys.of(pane).filter(|(key, _)| ![ANSWER, SUGGESTION].contains(&key.name)) {
        let mut action = key_action(&editor.lua, key.name)?;
        if lhs == "q" {
            // While a macro is recorded, it ends that.
            action = editor.helper("unless_recording", action)?;
        }
        let options = editor.table([
            ("buffer", mlua::Value::Integer(buf.0)),
            ("nowait", mlua::Value::Boolean(true)),
            ("desc", editor.string(format!("acp: {}", key.about.trim_end_matches('.')))?),
        ])?;
        set.call::<()>((key.modes.to_vec(), lhs, action, options))?;
    }
    Ok(())
}

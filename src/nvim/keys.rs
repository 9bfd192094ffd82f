//! The chat's keys: each is a name of `config::KEYS` that calls the action of that name. Keys that
//! a user switched off are not there.

use mlua::{Function, Result, Table};

use crate::config::{Keys, Pane};
use crate::nvim::editor::{Buf, Editor};

pub fn bind(editor: &Editor, keys: &Keys, transcript: Buf, prompt: Buf) -> Result<()> {
    let keymap: Table = editor.module("keymap")?;
    let set: Function = keymap.get("set")?;
    for (pane, buf) in [(Pane::Transcript, transcript), (Pane::Prompt, prompt)] {
        for (key, lhs) in keys.of(pane) {
            let action = crate::nvim::key_action(&editor.lua, key.name)?;
            let options = editor.table([
                ("buffer", mlua::Value::Integer(buf.0)),
                ("nowait", mlua::Value::Boolean(true)),
                ("desc", editor.string(format!("acp: {}", key.about.trim_end_matches('.')))?),
            ])?;
            set.call::<()>((key.modes.to_vec(), lhs, action, options))?;
        }
    }
    Ok(())
}

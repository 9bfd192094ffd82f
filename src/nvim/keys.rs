//! The chat's keys: each is a name of `config::KEYS` that calls the action of that name. Keys that
//! a user switched off are not there. Sees to it, too, that `<C-c>` works while Neovim is busy.

use mlua::{Function, LuaString, Result, Table, Value};

use crate::config::{Keys, Pane};
use crate::nvim::app::App;
use crate::nvim::editor::{Buf, Editor};

/// `<C-c>` as Neovim reads it.
const INTERRUPT: &[u8] = b"\x03";

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

/// Has `<C-c>` do in a chat what it is mapped to, also when it came while Neovim was busy. It is an
/// interrupt then, which no mapping sees: `:help map-modes` knows nothing of it, `getchar.c` does.
pub fn catch_interrupts(editor: &Editor) -> Result<()> {
    let vim: Table = editor.lua.globals().get("vim")?;
    let listen: Function = vim.get("on_key")?;
    // Whoever fails in here is never called again.
    let hear = editor.lua.create_function(|lua, key: LuaString| {
        if key.as_bytes() != INTERRUPT {
            return Ok(None);
        }
        let Some(name) = super::look(|app| app.interrupts()).flatten() else { return Ok(None) };
        // Not now: whoever reads this key is in the middle of something.
        let later = super::later(lua, std::time::Duration::ZERO, move |app| app.key(name));
        // From 0.11 on this keeps the key from ending insert mode.
        Ok(later.ok().map(|()| ""))
    })?;
    let space: i64 = editor.api("nvim_create_namespace", "acp.interrupts")?;
    listen.call::<Value>((hear, space)).map(drop)
}

impl App {
    /// The chat's key that an interrupt stands for, here and now.
    fn interrupts(&self) -> Option<&'static str> {
        let buf = self.editor.current_buf().ok()?;
        let chat = self.chats.values().find(|chat| chat.transcript == buf || chat.prompt == buf)?;
        let pane = if chat.prompt == buf { Pane::Prompt } else { Pane::Transcript };
        let (mode, _) = self.editor.mode();
        let mut keys = self.config.keys.of(pane);
        let key =
            keys.find(|(key, lhs)| lhs.eq_ignore_ascii_case("<C-c>") && key.modes.contains(&mode.as_str()));
        key.map(|(key, _)| key.name)
    }

    /// A `<C-c>` came while a function of Neovim's ran for us, which failed for it: the key is gone, and
    /// what was being done may be half done.
    pub fn interrupted(&mut self) -> Result<()> {
        let sessions: Vec<_> = self.sessions.keys().copied().collect();
        sessions.into_iter().try_for_each(|session| self.after_change(session))?;
        self.asking.retry = true;
        match self.interrupts() {
            Some(name) => self.key(name),
            None => Ok(()),
        }
    }
}

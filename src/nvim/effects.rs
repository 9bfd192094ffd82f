//! What may run code of the user's, and so waits until nothing of the app is being changed: what is told,
//! what is opened and drawn, the `User` autocommands. `settle` in `mod.rs` runs it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Display;

use mlua::{Function, Result};
use serde_json::{Value as Json, json};

use crate::core::ids::SessionKey;
use crate::nvim::app::App;
use crate::nvim::editor::{Editor, Level};

/// Done with the editor alone, once the app is free.
pub type Effect = Box<dyn FnOnce(&Editor)>;

thread_local! {
    /// Which events somebody listens to.
    static HEARD: RefCell<HashMap<&'static str, bool>> = RefCell::default();
}

/// Code of the user's has run, which may listen to other events now.
pub fn forget_listeners() {
    HEARD.with_borrow_mut(HashMap::clear);
}

impl App {
    /// Tells the user something; what shows it may be a function of their own.
    pub fn advise(&mut self, text: impl Into<String>, level: Level) {
        let text = text.into();
        self.effects.push_back(Box::new(move |editor| editor.notify(&text, level)));
    }

    /// Does something that may fail. The user is told then, after what has failed.
    pub fn attempt<E: Display>(
        &mut self,
        failed: impl Into<String>,
        effect: impl FnOnce(&Editor) -> std::result::Result<(), E> + 'static,
    ) {
        let failed = failed.into();
        self.effects.push_back(Box::new(move |editor| {
            if let Err(error) = effect(editor) {
                editor.notify(&format!("{failed}: {error}"), Level::Error);
            }
        }));
    }

    /// Sets off a `User` autocommand, if anybody listens.
    pub fn emit(&mut self, pattern: &'static str, key: SessionKey, mut data: Json) {
        if !self.is_heard(pattern) {
            return;
        }
        if let (Json::Object(data), Some(session)) = (&mut data, self.sessions.get(&key)) {
            data.insert("session".into(), json!(key.0));
            data.insert("agent".into(), json!(session.agent_name));
        }
        self.attempt(format!("an autocommand for {pattern} failed"), move |editor| {
            emit(editor, pattern, &data)
        });
    }

    /// The same as [`Self::has_listeners`], asked once for each event until the user's code had its turn: a
    /// turn of thousands of calls sets off thousands.
    pub fn is_heard(&self, event: &'static str) -> bool {
        if let Some(known) = HEARD.with_borrow(|heard| heard.get(event).copied()) {
            return known;
        }
        let known = self.has_listeners(event);
        HEARD.with_borrow_mut(|heard| heard.insert(event, known));
        known
    }

    /// Whether a `User` autocommand may want to hear of this. What cannot be told counts as yes.
    pub fn has_listeners(&self, event: &str) -> bool {
        let any = || -> Result<bool> {
            let events = self.editor.table([("event", self.editor.string("User")?)])?;
            let all: mlua::Table = self.editor.api("nvim_get_autocmds", events)?;
            for autocommand in all.sequence_values::<mlua::Table>() {
                let pattern: String = autocommand?.get("pattern")?;
                if pattern == event || pattern.contains(['*', '?', '[', '{', '\\']) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        any().unwrap_or(true)
    }
}

fn emit(editor: &Editor, pattern: &str, data: &Json) -> Result<()> {
    let options = editor.table([
        ("pattern", editor.string(pattern)?),
        ("modeline", mlua::Value::Boolean(false)),
        ("data", crate::nvim::to_lua(&editor.lua, data)?),
    ])?;
    let run: Function = editor.module("api")?.get("nvim_exec_autocmds")?;
    run.call(("User", options))
}

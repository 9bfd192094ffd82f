//! What may run code of the user's, and so waits until the features are free: what is told, opened and
//! drawn, and the `User` autocommands.

use std::fmt::Display;

use mlua::{Function, Result};
use serde_json::{Value as Json, json};

use crate::core::ids::SessionKey;
use crate::core::message::Severity;
use crate::core::text::fitting::cut_end;
use crate::core::text::visible::visible_line;
use crate::nvim::context::Context;
use crate::nvim::editor::{Editor, Level};
use crate::nvim::events::EditorEvent;
use crate::nvim::guard::was_interrupted;
use crate::nvim::{listeners, lua_data};

/// The cells of a session's title in a message.
const TITLE_ROOM: usize = 30;

impl Context {
    /// Tells the user something; what shows it may be a function of their own.
    pub fn notify(&mut self, text: impl Into<String>, level: Level) {
        let text = text.into();
        self.effects.push_back(Box::new(move |editor| editor.notify(&text, level)));
    }

    /// Tells of what waits for the user; the message goes once nothing does.
    pub fn notify_of_question(&mut self, text: impl Into<String>, level: Level) {
        let text = text.into();
        self.effects.push_back(Box::new(move |editor| editor.notify_question(&text, level)));
    }

    /// A line in the chat of a session, or of the one used last.
    pub fn note(&mut self, key: Option<SessionKey>, severity: Severity, text: String) {
        let now = self.now();
        let Some(key) = key.or(self.current) else { return };
        if let Some(session) = self.sessions.get_mut(&key) {
            session.notice(severity, text, now);
        }
        self.raise(EditorEvent::SessionChanged(key));
    }

    /// Does something that may fail. The user is told then, after what has failed.
    pub fn run_effect<E: Display>(
        &mut self,
        failed: impl Into<String>,
        effect: impl FnOnce(&Editor) -> std::result::Result<(), E> + 'static,
    ) {
        let failed = failed.into();
        self.effects.push_back(Box::new(move |editor| {
            if let Err(error) = effect(editor)
                && !was_interrupted(&error)
            {
                editor.notify(&format!("{failed}: {error}"), Level::Error);
            }
        }));
    }

    /// Says something outside the chat, a warning being a question, when no window of the tab page shows it, or the user is
    /// away. Where the text begins with the agent's name and other sessions have agents of that name, it says which it is.
    pub fn announce(&mut self, key: SessionKey, text: &str, level: Level) {
        if self.shows_chat(key) && !self.is_away {
            return;
        }
        let told = self.with_title(key, text);
        let text = told.as_deref().unwrap_or(text);
        let (notify, bell) = (self.config.notify, self.config.bell);
        match (notify, level) {
            (true, Level::Warn) => self.notify_of_question(text, level),
            (true, _) => self.notify(text, level),
            (false, _) => {}
        }
        if bell {
            self.run_effect("couldn't ring the bell", ring);
        }
    }

    /// The text with the session's title after the agent's name, where the name alone is that of several.
    pub fn with_title(&self, key: SessionKey, text: &str) -> Option<String> {
        let named = self.name_among_all(key);
        // Questions say it by themselves.
        let rest =
            text.strip_prefix(&self.sessions.get(&key)?.name()).filter(|_| !text.starts_with(&named))?;
        Some(format!("{named}{rest}"))
    }

    /// What a session's agent is called, with the session's title where others have agents of that name.
    pub fn name_among_all(&self, key: SessionKey) -> String {
        let Some(session) = self.sessions.get(&key) else { return String::new() };
        let name = session.name();
        let is_one_of_several = self.sessions.values().filter(|other| other.name() == name).count() > 1;
        match session.title.as_deref().filter(|_| is_one_of_several) {
            Some(title) => format!("{name} ({})", cut_end(&visible_line(title), TITLE_ROOM)),
            None => name,
        }
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
        self.run_effect(format!("an autocommand for {pattern} failed"), move |editor| {
            emit(editor, pattern, &data)
        });
    }

    pub fn is_heard(&self, event: &'static str) -> bool {
        listeners::is_heard(&self.editor, event)
    }

    pub fn has_listeners(&self, event: &str) -> bool {
        listeners::has_listeners(&self.editor, event)
    }
}

/// Has Neovim ring as for a mistake, which is its only way: an <Esc> that ends nothing
/// (`:help 'belloff'`). Where it would end something, there is no bell.
fn ring(editor: &Editor) -> Result<()> {
    let (mode, blocking) = editor.mode();
    if blocking || mode != "n" && mode != "i" {
        return Ok(());
    }
    let empty = editor.lua.create_table()?;
    let before: String = editor.api("nvim_get_option_value", ("belloff", empty.clone()))?;
    editor.api::<()>("nvim_set_option_value", ("belloff", "", empty.clone()))?;
    let rung = editor.command("normal! \u{1b}");
    editor.api::<()>("nvim_set_option_value", ("belloff", before, empty))?;
    rung
}

fn emit(editor: &Editor, pattern: &str, data: &Json) -> Result<()> {
    let options = editor.table([
        ("pattern", editor.string(pattern)?),
        ("modeline", mlua::Value::Boolean(false)),
        ("data", lua_data::to_lua(&editor.lua, data)?),
    ])?;
    let run: Function = editor.module("api")?.get("nvim_exec_autocmds")?;
    run.call(("User", options))
}

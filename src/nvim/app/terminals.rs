//! The windows of the commands that agents run, and what is typed into them.

use std::time::Duration;

use mlua::Result;
use serde_json::json;

use super::App;
use crate::config::AutoOpen;
use crate::core::message::Command;
use crate::core::session::Session;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::follow;
use crate::nvim::terminal::{Key, Program};

/// A command that still runs after this gets a window, where so configured.
const LONG: Duration = Duration::from_millis(1000);

impl App {
    pub(super) fn terminal_started(&mut self, key: Key, command: String, typing: bool) -> Result<()> {
        let typed = crate::nvim::typed(&self.editor.lua, key.clone())?;
        let program = Program { command: command.clone(), typing };
        let buf = self.terminals.start(&self.editor, key.clone(), program, typed)?;
        self.emit("AcpTerminalStarted", key.0, json!({ "buf": buf.0, "command": command }));
        match self.config.terminal.auto_open {
            AutoOpen::Always => self.open_terminal(&key),
            AutoOpen::Long if typing => self.open_if_long(key),
            AutoOpen::Long | AutoOpen::Never => Ok(()),
        }
    }

    /// Has the terminal's window opened where so configured, if the command still runs after a while.
    pub(super) fn open_if_long(&mut self, key: Key) -> Result<()> {
        if self.config.terminal.auto_open != AutoOpen::Long {
            return Ok(());
        }
        crate::nvim::later(&self.editor.lua, LONG, move |app| {
            let runs = app.terminals.get(&key).is_some_and(|terminal| terminal.exit.is_none());
            if runs { app.open_terminal(&key) } else { Ok(()) }
        })
    }

    /// The user typed into a terminal, or the terminal itself answers what the program asks of it.
    pub fn typed(&mut self, key: Key, bytes: Vec<u8>) -> Result<()> {
        if self.terminals.takes_input(&key) {
            let (session, terminal) = key;
            return self.send(Command::Type { session, terminal, bytes });
        }
        if self.terminals.tell_once(&self.editor, &key)? {
            let name = self.sessions.get(&key.0).map_or_else(|| "the agent".to_owned(), Session::name);
            let text = format!("{name} runs this command itself: what you type does not reach it");
            self.effects.push_back(Box::new(move |editor| editor.notify(&text, Level::Info)));
        }
        Ok(())
    }

    pub fn open_terminal(&mut self, key: &Key) -> Result<()> {
        let beside = follow::code_window(&self.editor)?;
        let title = self.sessions.get(&key.0).and_then(|session| session.title_of(&key.1));
        self.terminals.open(&self.editor, key, &self.config.terminal, beside, title)?;
        self.resized()
    }

    pub fn resized(&mut self) -> Result<()> {
        for ((session, terminal), rows, columns) in self.terminals.resized(&self.editor) {
            self.send(Command::Resize { session, terminal, rows, columns })?;
        }
        self.windows.resized(&self.editor, &self.config.window)?;
        self.fit_chats();
        // The bars are made to fit.
        self.ticked()
    }

    pub fn buffer_shown(&mut self, buf: Buf) -> Result<()> {
        self.terminals.shown(&self.editor, buf)?;
        if let Some(key) = self.chats.values().find(|chat| chat.transcript == buf).map(|chat| chat.session) {
            self.current = Some(key);
            self.bars.remove(&key);
            self.update_bar(key)?;
        }
        self.resized()
    }

    pub(super) fn touch_terminal(&mut self, key: &Key) -> Result<()> {
        if let Some(session) = self.sessions.get_mut(&key.0) {
            session.touch_terminal(&key.1);
        }
        self.after_change(key.0)
    }
}

//! The commands that agents run, as the events tell of them: their buffers and windows, what is typed
//! into them, and the time above them.

use std::time::Duration;

use mlua::Result;
use serde_json::json;

use crate::config::{AutoClose, AutoOpen};
use crate::core::message::{Command, Exit, Work};
use crate::core::session::Session;
use crate::core::text::one_line;
use crate::nvim::app::{App, Job};
use crate::nvim::editor::{Buf, Level};
use crate::nvim::follow;
use crate::nvim::terminals::{Key, Program};

/// A command that still runs after this gets a window, where so configured.
const LONG: Duration = Duration::from_millis(1000);

/// How long the end of a command stays in sight where its window closes by itself.
const LINGER: Duration = Duration::from_millis(1500);

/// Between two pieces of a terminal's output, of which four are what comes in a frame.
const PACE: Duration = Duration::from_millis(4);

impl App {
    pub fn terminal_started(&mut self, key: Key, program: Program) -> Result<()> {
        let (command, typing) = (program.command.clone(), program.typing);
        let typed = crate::nvim::typed(&self.cx.editor.lua, key.clone())?;
        let buf = self.terminals.start(&self.cx.editor, key.clone(), program, typed)?;
        self.bind_terminal(&key, buf)?;
        self.cx.emit("AcpTerminalStarted", key.0, json!({ "buf": buf.0, "command": command }));
        match self.cx.config.terminal.auto_open {
            AutoOpen::Always => self.open_terminal_by_itself(&key),
            AutoOpen::Long if typing => self.open_if_long(key),
            AutoOpen::Long | AutoOpen::Never => Ok(()),
        }
    }

    /// `lost` says how much was skipped before this, and how much the agent's record lacks.
    pub fn terminal_grew(&mut self, key: Key, bytes: &[u8], lost: (usize, usize)) -> Result<()> {
        let first = self.terminals.grew(&key, bytes, lost);
        self.touch_terminal(&key)?;
        // Many agents tell of what they run themselves only in the end: until then there is
        // nothing to see, and nothing to do.
        if first && !self.terminals.takes_input(&key) {
            self.open_if_long(key)?;
        }
        self.feed_terminals()
    }

    pub fn terminal_ended(&mut self, key: Key, exit: Exit) -> Result<()> {
        let now = self.cx.now();
        let facts = self.terminals.get(&key).map(|terminal| {
            json!({
                "buf": terminal.buf.0, "command": terminal.command,
                "code": exit.code, "signal": exit.signal,
            })
        });
        self.terminals.ended(&key, exit, now);
        self.touch_terminal(&key)?;
        self.feed_terminals()?;
        self.update_terminal_bars()?;
        self.keep_time()?;
        if let Some(facts) = facts {
            self.cx.emit("AcpTerminalEnded", key.0, facts);
        }
        if self.cx.config.terminal.auto_close == AutoClose::Never {
            return Ok(());
        }
        crate::nvim::later(&self.cx.editor.lua, LINGER, move |app| {
            app.terminals.close_by_itself(&app.cx.editor, &key)?;
            app.resized()
        })
    }

    /// Has the terminal's window opened where so configured, if the command still runs after a while.
    fn open_if_long(&mut self, key: Key) -> Result<()> {
        if self.cx.config.terminal.auto_open != AutoOpen::Long {
            return Ok(());
        }
        crate::nvim::later(&self.cx.editor.lua, LONG, move |app| {
            let runs = app.terminals.get(&key).is_some_and(|terminal| terminal.exit.is_none());
            if runs { app.open_terminal_by_itself(&key) } else { Ok(()) }
        })
    }

    fn open_terminal_by_itself(&mut self, key: &Key) -> Result<()> {
        let before = self.terminals.get(key).map(|terminal| self.cx.editor.wins_of(terminal.buf));
        self.open_terminal(key)?;
        let after = self.terminals.get(key).map(|terminal| self.cx.editor.wins_of(terminal.buf));
        if let (Some([]), Some([win, ..])) = (before.as_deref(), after.as_deref()) {
            self.terminals.opened_by_itself(key, *win);
        }
        Ok(())
    }

    /// Gives windows what they lack of their terminals' output: a piece now, the next ones half a frame
    /// later each.
    pub fn feed_terminals(&mut self) -> Result<()> {
        if self.terminals.feeding {
            return Ok(());
        }
        self.terminals.feeding = self.terminals.feed(&self.cx.editor)?;
        if !self.terminals.feeding {
            return Ok(());
        }
        crate::nvim::later(&self.cx.editor.lua, PACE, |app| {
            app.terminals.feeding = false;
            app.feed_terminals()
        })
    }

    /// The user typed into a terminal, or the terminal itself answers what the program asks of it.
    pub fn typed(&mut self, key: Key, bytes: Vec<u8>) -> Result<()> {
        let by_hand = self.terminals.is_typed_by_hand(&self.cx.editor, &key);
        if self.terminals.takes_input(&key) && (self.cx.config.terminal.input || !by_hand) {
            let (session, terminal) = key;
            return self.send(Command::Type { session, terminal, bytes });
        }
        if by_hand && self.terminals.tell_once(&key) {
            let text = if self.terminals.takes_input(&key) {
                "typing in terminals is switched off (terminal.input)".to_owned()
            } else {
                let name = self.cx.sessions.get(&key.0).map_or_else(|| "the agent".to_owned(), Session::name);
                format!("{name} runs this command itself: what you type does not reach it")
            };
            self.cx.advise(text, Level::Info);
        }
        Ok(())
    }

    pub fn open_terminal(&mut self, key: &Key) -> Result<()> {
        let typed = crate::nvim::typed(&self.cx.editor.lua, key.clone())?;
        if let Some(buf) = self.terminals.revive(&self.cx.editor, key, typed)? {
            self.bind_terminal(key, buf)?;
        }
        let beside = follow::code_window(&self.cx.editor)?;
        self.terminals.open(&self.cx.editor, key, &self.cx.config.terminal, beside)?;
        self.feed_terminals()?;
        self.resized()
    }

    pub fn resized(&mut self) -> Result<()> {
        self.looks_changed();
        self.update_terminal_bars()?;
        for ((session, terminal), rows, columns) in self.terminals.resized(&self.cx.editor) {
            self.send(Command::Resize { session, terminal, rows, columns })?;
        }
        self.windows.resized(&self.cx.editor, &self.cx.config.window)?;
        self.fit_chats();
        self.draw_agents()?;
        // The bars are made to fit.
        self.ticked()
    }

    pub fn buffer_shown(&mut self, buf: Buf) -> Result<()> {
        self.terminals.has_new_window(buf);
        self.check_split(None)?;
        self.feed_terminals()?;
        if let Some(key) = self.chats.values().find(|chat| chat.transcript == buf).map(|chat| chat.session) {
            self.cx.current = Some(key);
            self.bars.remove(&key);
            self.update_bar(key)?;
        }
        self.resized()
    }

    pub fn update_terminal_bars(&mut self) -> Result<()> {
        let now = self.cx.now();
        let sessions = &self.cx.sessions;
        let title = |key: &Key| sessions.get(&key.0).and_then(|session| session.title_of(&key.1));
        self.terminals.update_bars(&self.cx.editor, now, title)
    }

    /// Has the places found that the command names in its output, for the quickfix list.
    pub fn find_places(&mut self, key: &Key) -> Result<()> {
        let Some(terminal) = self.terminals.get(key) else { return Ok(()) };
        let (cwd, title) = (terminal.cwd.clone(), one_line(&terminal.command));
        let output = self.terminals.raw(key);
        let job = self.next_job(Job::Places { title });
        self.send(Command::Compute { job, work: Work::Places { output, cwd } })
    }

    fn touch_terminal(&mut self, key: &Key) -> Result<()> {
        if let Some(session) = self.cx.sessions.get_mut(&key.0) {
            session.touch_terminal(&key.1);
        }
        self.after_change(key.0)
    }
}

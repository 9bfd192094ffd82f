//! What the terminals do about what happens: a command starts, writes, and ends; the user types into it, or
//! has another window show it.

use std::time::Duration;

use mlua::Result;
use serde_json::json;

use crate::config::{AutoClose, AutoOpen, Pane};
use crate::core::message::{Command, Exit, Skipped};
use crate::core::session::Session;
use crate::core::terminal::last_lines::LastLines;
use crate::core::terminal::shown::Program;
use crate::core::window_sizes::beside_terminal;
use crate::nvim::context::Context;
use crate::nvim::editor::code_window::{code_window, is_code};
use crate::nvim::editor::{Buf, Editor, Level, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::keys::bind_pane;
use crate::nvim::terminals::{Key, Terminals};

/// A command that still runs after this gets a window, where so configured.
const AUTO_OPEN_DELAY: Duration = Duration::from_millis(1000);

/// How long the end of a command stays in sight where its window closes by itself.
const LINGER: Duration = Duration::from_millis(1500);

impl Terminals {
    pub fn started(&mut self, cx: &mut Context, key: Key, program: Program) -> Result<()> {
        let (command, typing) = (program.command.clone(), program.typing);
        // An agent that runs a command itself says for which call.
        let now = cx.now();
        if let Some(session) = cx.sessions.get_mut(&key.0).filter(|_| typing) {
            session.command_started(&key.1, &command, now);
        }
        let buf = self.start(&cx.editor, key.clone(), program)?;
        self.publish(cx, &key);
        bind_pane(&cx.editor, &cx.config.keys, Pane::Terminal, buf)?;
        cx.emit("AcpTerminalStarted", key.0, json!({ "buf": buf.0, "command": command }));
        match cx.config.terminal.auto_open {
            AutoOpen::Always => self.open_by_itself(cx, &key),
            AutoOpen::Long if typing => Self::open_if_long(cx, key),
            AutoOpen::Long | AutoOpen::Never => Ok(()),
        }
    }

    /// `lost` says how much was skipped before this, and how much the agent's record lacks.
    pub fn grew(
        &mut self,
        cx: &mut Context,
        key: Key,
        (bytes, lines): (&[u8], LastLines),
        lost: (Skipped, usize),
    ) -> Result<()> {
        let first = self.open.get_mut(&key).is_some_and(|terminal| terminal.shown.grew(bytes, lines, lost));
        self.publish(cx, &key);
        touch(cx, &key);
        // Many agents tell of what they run themselves only in the end: until then there is
        // nothing to see, and nothing to do.
        if first && !self.takes_input(&key) {
            Self::open_if_long(cx, key)?;
        }
        self.feed(cx)
    }

    pub fn ended(&mut self, cx: &mut Context, key: Key, exit: Exit) -> Result<()> {
        let now = cx.now();
        let facts = self.open.get(&key).map(|terminal| {
            json!({
                "buf": terminal.buf.0, "command": terminal.shown.program().command,
                "code": exit.code, "signal": exit.signal,
            })
        });
        if let Some(session) = cx.sessions.get_mut(&key.0) {
            session.command_ended(&key.1, &exit, now);
        }
        if let Some(terminal) = self.open.get_mut(&key) {
            terminal.shown.ended(exit, now);
        }
        self.publish(cx, &key);
        self.show_failed(cx, &key)?;
        touch(cx, &key);
        self.feed(cx)?;
        self.refit_soon(cx)?;
        self.update_bars(cx)?;
        cx.raise(EditorEvent::TerminalEnded);
        if let Some(facts) = facts {
            cx.emit("AcpTerminalEnded", key.0, facts);
        }
        if cx.config.terminal.auto_close == AutoClose::Never {
            return Ok(());
        }
        cx.later(LINGER, move |terminals: &mut Self, cx| {
            for (win, next) in terminals.put_away(&cx.editor, &key)? {
                terminals.show_key(cx, &next, win)?;
            }
            cx.raise(EditorEvent::WindowsResized);
            Ok(())
        })
    }

    /// The end of the output is there for all.
    fn publish(&self, cx: &mut Context, key: &Key) {
        if let Some(terminal) = self.open.get(key) {
            cx.tails.changed(key.0, &key.1, &terminal.shown);
        }
    }

    /// Opens the terminal's window where so configured, if the command still runs after a while.
    fn open_if_long(cx: &Context, key: Key) -> Result<()> {
        if cx.config.terminal.auto_open != AutoOpen::Long {
            return Ok(());
        }
        cx.later(AUTO_OPEN_DELAY, move |terminals: &mut Self, cx| match terminals.is_running(&key) {
            true => terminals.open_by_itself(cx, &key),
            false => Ok(()),
        })
    }

    fn open_by_itself(&mut self, cx: &mut Context, key: &Key) -> Result<()> {
        if let Some(terminal) = self.open.get_mut(key) {
            terminal.listed = true;
        }
        match self.window(&cx.editor, &cx.config.terminal)? {
            // What the user looks at stays; the line says that there is another one.
            Some(win) if cx.editor.current_win()? == win => self.update_bars(cx),
            Some(win) => self.show_key(cx, key, win),
            None => {
                self.open(cx, key)?;
                let win = self.window(&cx.editor, &cx.config.terminal)?;
                self.by_itself.extend(win);
                Ok(())
            }
        }
    }

    /// A command that has failed is worth a look, unless another one that did is looked at, or the user does.
    fn show_failed(&mut self, cx: &mut Context, key: &Key) -> Result<()> {
        let failed =
            |key: &Key| self.get(key).is_some_and(|each| each.listed && each.shown.state().has_failed());
        let Some(win) = self.window(&cx.editor, &cx.config.terminal)?.filter(|_| failed(key)) else {
            return Ok(());
        };
        let shown = self.shown_in(&cx.editor, win);
        if self.is_the_users(&cx.editor, win)? || shown.is_some_and(|shown| failed(&shown)) {
            return Ok(());
        }
        self.show_key(cx, key, win)
    }

    /// Has a window show a terminal, whose buffer the user may have deleted.
    pub(super) fn show_key(&mut self, cx: &mut Context, key: &Key, win: Win) -> Result<()> {
        if let Some(buf) = self.revive(&cx.editor, key)? {
            bind_pane(&cx.editor, &cx.config.keys, Pane::Terminal, buf)?;
        }
        self.show_in(&cx.editor, key, win)?;
        self.open.values_mut().for_each(|terminal| terminal.bar.clear());
        self.feed(cx)?;
        cx.raise(EditorEvent::WindowsResized);
        Ok(())
    }

    /// The user typed into a terminal, or the terminal itself answers what the program asks of it.
    pub fn typed(&mut self, cx: &mut Context, key: Key, bytes: Vec<u8>) {
        let by_hand = self.is_typed_by_hand(&cx.editor, &key);
        let takes_input = self.takes_input(&key);
        if takes_input && (cx.config.terminal.input || !by_hand) {
            let (session, terminal) = key;
            return cx.send(Command::Type { session, terminal, bytes });
        }
        if by_hand && self.open.get_mut(&key).is_some_and(|terminal| terminal.shown.tell_once()) {
            let text = if takes_input {
                "typing in terminals is switched off (terminal.input)".to_owned()
            } else {
                let name = cx.sessions.get(&key.0).map_or_else(|| "the agent".to_owned(), Session::name);
                format!("{name} runs this command itself: what you type does not reach it")
            };
            cx.notify(text, Level::Info);
        }
    }

    /// Shows a terminal in the window for it, which is opened if there is none.
    pub fn open(&mut self, cx: &mut Context, key: &Key) -> Result<()> {
        if let Some(buf) = self.revive(&cx.editor, key)? {
            bind_pane(&cx.editor, &cx.config.keys, Pane::Terminal, buf)?;
        }
        if let Some(win) = self.window(&cx.editor, &cx.config.terminal)? {
            return self.show_key(cx, key, win);
        }
        let beside = window_beside(&cx.editor)?;
        self.open_window(&cx.editor, key, &cx.config.terminal, beside)?;
        self.feed(cx)?;
        cx.raise(EditorEvent::WindowsResized);
        Ok(())
    }

    pub fn screen_resized(&mut self) {
        self.open.values_mut().for_each(|terminal| terminal.shown.window_resized());
    }

    /// Windows may have other sizes now: programs are told, and the bars are made to fit.
    pub fn resized(&mut self, cx: &mut Context) -> Result<()> {
        self.keep_shares(&cx.editor)?;
        self.update_bars(cx)?;
        for ((session, terminal), rows, columns) in self.resized_windows(&cx.editor) {
            cx.send(Command::Resize { session, terminal, rows, columns });
        }
        self.refit_soon(cx)
    }

    /// A buffer has come into another window.
    pub fn buffer_shown(&mut self, cx: &Context, buf: Buf) -> Result<()> {
        self.has_new_window(buf);
        self.renew_unseen(cx, buf)?;
        self.feed(cx)
    }

    pub fn update_bars(&mut self, cx: &Context) -> Result<()> {
        let now = cx.now();
        let sessions = &cx.sessions;
        let title = |key: &Key| sessions.get(&key.0).and_then(|session| session.title_of(&key.1));
        self.draw_bars(&cx.editor, now, title)
    }
}

/// The chat shows the end of the output.
fn touch(cx: &mut Context, key: &Key) {
    if let Some(session) = cx.sessions.get_mut(&key.0) {
        session.touch_terminal(&key.1);
    }
    cx.raise(EditorEvent::SessionChanged(key.0));
}

/// The window that a terminal is split off from: the one for code, or a wider one of these where that is narrow.
fn window_beside(editor: &Editor) -> Result<Option<Win>> {
    let Some(first) = code_window(editor)? else { return Ok(None) };
    let others = editor.tab_wins()?.into_iter().filter(|win| *win != first && is_code(editor, *win));
    let wins: Vec<Win> = std::iter::once(first).chain(others).collect();
    let widths =
        wins.iter().map(|win| editor.win_size(*win).map(|size| size.0)).collect::<Result<Vec<_>>>()?;
    Ok(beside_terminal(&widths).and_then(|at| wins.get(at).copied()))
}

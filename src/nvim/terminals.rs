//! The commands that agents run, as Neovim terminal buffers. The program itself lives in the
//! background, or in the agent; here its bytes are shown, what the user types is sent back, and the
//! last lines are kept for the chat. A terminal that no window shows is fed only when one does.

pub mod actions;
pub mod backlog;
pub mod bar;
pub mod events;
pub mod window;

use std::collections::BTreeMap;
use std::path::PathBuf;

use mlua::{Function, Result, Value};

use crate::core::ids::{Moment, SessionKey, TerminalId};
use crate::core::message::Exit;
use crate::core::session::exit_text;
use crate::core::terminal::sanitize::Harmless;
use crate::core::terminal::screen::Screen;
use crate::core::transcript::Tail;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::terminals::backlog::Backlog;

/// How many lines the chat shows at the most.
const TAIL_LINES: usize = 200;

pub type Key = (SessionKey, TerminalId);

#[derive(Default)]
pub struct Terminals {
    open: BTreeMap<Key, Terminal>,
    /// Windows are being given what they lack, piece by piece.
    pub feeding: bool,
}

/// What runs in a terminal.
pub struct Program {
    pub command: String,
    pub cwd: PathBuf,
    /// What the user types reaches it.
    pub typing: bool,
    pub started: Moment,
}

pub struct Terminal {
    pub command: String,
    pub cwd: PathBuf,
    pub buf: Buf,
    pub exit: Option<Exit>,
    pub started: Moment,
    ended: Option<Moment>,
    typing: bool,
    /// The user was told that typing does nothing here.
    told: bool,
    /// There has been output.
    grew: bool,
    channel: i64,
    harmless: Harmless,
    backlog: Backlog,
    screen: Screen,
    /// How many bytes came too fast to be shown.
    skipped: usize,
    /// How many bytes the agent's record lacks at its beginning.
    cut: usize,
    /// Cells, as the program was last told.
    size: (u16, u16),
    /// What its windows have above them.
    bar: String,
    /// The window that has opened by itself.
    by_itself: Option<Win>,
}

impl Terminals {
    /// Makes the buffer. `typed` is called with what the user types into it.
    pub fn start(&mut self, editor: &Editor, key: Key, program: Program, typed: Function) -> Result<Buf> {
        let Program { command, cwd, typing, started } = program;
        let (buf, channel) = make_buf(editor, &key, &command, typed)?;
        let terminal = Terminal {
            command,
            cwd,
            buf,
            exit: None,
            started,
            ended: None,
            typing,
            told: false,
            grew: false,
            channel,
            harmless: Harmless::default(),
            backlog: Backlog::default(),
            screen: Screen::new(TAIL_LINES),
            skipped: 0,
            cut: 0,
            size: (24, 80),
            bar: String::new(),
            by_itself: None,
        };
        self.open.insert(key, terminal);
        Ok(buf)
    }

    /// Sees to it that the terminal has its buffer, which the user may have deleted; gives a new one.
    pub fn revive(&mut self, editor: &Editor, key: &Key, typed: Function) -> Result<Option<Buf>> {
        let Some(terminal) = self.open.get_mut(key) else { return Ok(None) };
        if editor.buf_is_loaded(terminal.buf) {
            return Ok(None);
        }
        (terminal.buf, terminal.channel) = make_buf(editor, key, &terminal.command, typed)?;
        terminal.backlog.again();
        Ok(Some(terminal.buf))
    }

    pub fn get(&self, key: &Key) -> Option<&Terminal> {
        self.open.get(key)
    }

    /// Those that run come first, then those that were started last.
    pub fn all(&self) -> Vec<(&Key, &Terminal)> {
        let mut all: Vec<_> = self.open.iter().collect();
        all.sort_by_key(|(_, terminal)| (terminal.exit.is_some(), std::cmp::Reverse(terminal.started.0)));
        all
    }

    /// The terminal of a buffer.
    pub fn of_buf(&self, buf: Buf) -> Option<Key> {
        self.open.iter().find(|(_, terminal)| terminal.buf == buf).map(|(key, _)| key.clone())
    }

    /// The session is over, and with it what its commands have shown.
    pub fn forget(&mut self, editor: &Editor, session: SessionKey) -> Result<()> {
        let gone: Vec<Key> = self.open.keys().filter(|(of, _)| *of == session).cloned().collect();
        for key in gone {
            if let Some(terminal) = self.open.remove(&key)
                && editor.buf_is_valid(terminal.buf)
            {
                editor.delete_buf(terminal.buf)?;
            }
        }
        Ok(())
    }

    /// Takes new output in, and how much was skipped before it and is cut from the agent's record. Says
    /// whether it is the first.
    pub fn grew(&mut self, key: &Key, bytes: &[u8], (skipped, cut): (usize, usize)) -> bool {
        let Some(terminal) = self.open.get_mut(key) else { return false };
        terminal.cut = terminal.cut.max(cut);
        let first = !std::mem::replace(&mut terminal.grew, true);
        let bytes = terminal.harmless.pass(bytes);
        terminal.screen.feed(&bytes);
        if skipped > 0 {
            terminal.skipped += skipped;
            let amount = crate::nvim::terminals::bar::amount(skipped);
            let note = format!("\x1b[0m\r\n\x1b[2m\u{2026} {amount} not shown \u{2026}\x1b[0m\r\n");
            terminal.backlog.push(note.as_bytes());
        }
        terminal.backlog.push(&bytes);
        first
    }

    pub fn ended(&mut self, key: &Key, exit: Exit, now: Moment) {
        let Some(terminal) = self.open.get_mut(key) else { return };
        if terminal.exit.is_some() {
            // It was taken for over; the agent says only now how it ended.
            terminal.exit = Some(exit);
            return;
        }
        let text = format!("\x1b[0m\r\n\x1b[2m[The command {}]\x1b[0m\x1b[?25l", exit_text(Some(&exit)));
        terminal.backlog.push(text.as_bytes());
        terminal.exit = Some(exit);
        terminal.ended = Some(now);
    }

    /// Gives each terminal that a window shows the next piece of what it lacks. Says whether there is
    /// more: one piece is as much as a frame has time for.
    pub fn feed(&mut self, editor: &Editor) -> Result<bool> {
        let mut more = false;
        for terminal in self.open.values_mut().filter(|terminal| terminal.backlog.has_more()) {
            if !editor.buf_is_valid(terminal.buf) || editor.wins_of(terminal.buf).is_empty() {
                continue;
            }
            let (piece, lost) = terminal.backlog.next();
            if lost > 0 {
                let note = "\x1b[0m\x1b[2m\u{2026} earlier output was not shown \u{2026}\x1b[0m\r\n";
                editor.api::<()>("nvim_chan_send", (terminal.channel, note))?;
            }
            let bytes = editor.lua.create_string(piece)?;
            editor.api::<()>("nvim_chan_send", (terminal.channel, bytes))?;
            more |= terminal.backlog.has_more();
        }
        Ok(more)
    }

    pub fn tail(&self, key: &Key) -> Option<Tail> {
        let terminal = self.open.get(key)?;
        let running = terminal.exit.is_none();
        let failed = terminal.exit.as_ref().is_some_and(|exit| match exit.code {
            Some(code) => code != 0,
            // Of some commands nobody says how they ended.
            None => exit.signal.is_some(),
        });
        if terminal.screen.is_taken() {
            let lines = vec!["(it has the whole terminal for itself, <CR> shows it)".to_owned()];
            return Some(Tail { lines, spans: Vec::new(), total: 1, running, failed });
        }
        let (lines, spans) = terminal
            .screen
            .tail(TAIL_LINES)
            .into_iter()
            .map(|line| (line.text, line.spans))
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let total = terminal.screen.count().max(lines.len());
        Some(Tail { lines, spans, total, running, failed })
    }

    /// What is kept of the raw output.
    pub fn raw(&self, key: &Key) -> Vec<u8> {
        self.open.get(key).map(|terminal| terminal.backlog.all().to_vec()).unwrap_or_default()
    }

    pub fn takes_input(&self, key: &Key) -> bool {
        self.open.get(key).is_none_or(|terminal| terminal.typing)
    }

    /// Whether it is the user who types into the terminal: it answers by itself what programs ask of it.
    pub fn is_typed_by_hand(&self, editor: &Editor, key: &Key) -> bool {
        let here = editor.current_buf().ok();
        editor.mode().0 == "t" && self.open.get(key).is_some_and(|terminal| Some(terminal.buf) == here)
    }

    /// Whether it is time to say that typing does nothing: the first time that the user does it.
    pub fn tell_once(&mut self, key: &Key) -> bool {
        self.open.get_mut(key).is_some_and(|terminal| !std::mem::replace(&mut terminal.told, true))
    }
}

fn make_buf(editor: &Editor, key: &Key, command: &str, typed: Function) -> Result<(Buf, i64)> {
    let buf = editor.create_buf(false, true)?;
    editor.set_buf_option(buf, "bufhidden", "hide")?;
    let name = format!("acp://terminal/{}/{}/{}", key.0.0, key.1.0, one_line(command));
    if editor.set_buf_name(buf, &name).is_err() {
        editor.set_buf_name(buf, &format!("{name}#{}", buf.0))?;
    }
    let options = editor.table([("on_input", Value::Function(typed))])?;
    let channel: i64 = editor.api("nvim_open_term", (buf, options))?;
    editor.set_buf_option(buf, "filetype", "acp-terminal")?;
    Ok((buf, channel))
}

fn one_line(text: &str) -> String {
    let line = crate::core::text::one_line(text);
    crate::core::transcript::cut_middle(&line, 60)
}

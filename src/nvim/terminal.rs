//! The commands that agents run, as Neovim terminal buffers. The program itself lives in the
//! background, or in the agent; here its bytes are shown, what the user types is sent back, and the
//! last lines are kept for the chat. A terminal that no window shows is fed only when one does.

use std::collections::BTreeMap;

use mlua::{Function, Result, Value};

use crate::config::{Position, TerminalOptions};
use crate::core::message::{Exit, SessionKey, TerminalId};
use crate::core::output::Output;
use crate::core::session::exit_text;
use crate::core::transcript::Tail;
use crate::nvim::editor::{Buf, Editor, Win};

/// How much raw output a hidden terminal keeps for the moment it is shown.
const KEPT: usize = 256 << 10;
/// How much plain text is kept for the chat.
const TAIL: usize = 64 << 10;
/// How many lines of it the chat shows at the most.
const TAIL_LINES: usize = 200;

pub type Key = (SessionKey, TerminalId);

#[derive(Default)]
pub struct Terminals {
    open: BTreeMap<Key, Terminal>,
}

/// What runs in a terminal.
pub struct Program {
    pub command: String,
    /// What the user types reaches it.
    pub typing: bool,
}

pub struct Terminal {
    pub command: String,
    pub buf: Buf,
    pub exit: Option<Exit>,
    typing: bool,
    /// The user was told that typing does nothing here.
    told: bool,
    /// There has been output.
    grew: bool,
    channel: i64,
    /// Raw output that no window has shown yet.
    kept: Vec<u8>,
    dropped: bool,
    record: Output,
    lines: usize,
    /// Cells, as the program was last told.
    size: (u16, u16),
}

impl Terminals {
    /// Makes the buffer. `typed` is called with what the user types into it.
    pub fn start(&mut self, editor: &Editor, key: Key, program: Program, typed: Function) -> Result<Buf> {
        let Program { command, typing } = program;
        let buf = editor.create_buf(false, true)?;
        editor.set_buf_option(buf, "bufhidden", "hide")?;
        let name = format!("acp://terminal/{}/{}/{}", key.0.0, key.1.0, one_line(&command));
        if editor.set_buf_name(buf, &name).is_err() {
            editor.set_buf_name(buf, &format!("{name}#{}", buf.0))?;
        }
        let options = editor.table([("on_input", Value::Function(typed))])?;
        let channel: i64 = editor.api("nvim_open_term", (buf, options))?;
        editor.set_buf_option(buf, "filetype", "acp-terminal")?;
        let terminal = Terminal {
            command,
            buf,
            exit: None,
            typing,
            told: false,
            grew: false,
            channel,
            kept: Vec::new(),
            dropped: false,
            record: Output::new(TAIL),
            lines: 0,
            size: (24, 80),
        };
        self.open.insert(key, terminal);
        Ok(buf)
    }

    pub fn get(&self, key: &Key) -> Option<&Terminal> {
        self.open.get(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Terminal)> {
        self.open.iter()
    }

    /// Takes new output in, and shows it where a window does. Says whether it is the first.
    pub fn grew(&mut self, editor: &Editor, key: &Key, bytes: &[u8], skipped: usize) -> Result<bool> {
        let Some(terminal) = self.open.get_mut(key) else { return Ok(false) };
        let first = !std::mem::replace(&mut terminal.grew, true);
        terminal.record.feed(bytes);
        terminal.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        if skipped > 0 {
            let note = format!("\x1b[0m\r\n\x1b[2m… {} kB not shown …\x1b[0m\r\n", skipped.div_ceil(1024));
            terminal.keep(note.as_bytes());
        }
        terminal.keep(bytes);
        terminal.show_kept(editor)?;
        Ok(first)
    }

    pub fn ended(&mut self, editor: &Editor, key: &Key, exit: Exit) -> Result<()> {
        let Some(terminal) = self.open.get_mut(key) else { return Ok(()) };
        if terminal.exit.is_some() {
            // It was taken for over; the agent says only now how it ended.
            terminal.exit = Some(exit);
            return Ok(());
        }
        let text = format!("\x1b[0m\r\n\x1b[2m[The command {}]\x1b[0m\x1b[?25l", exit_text(Some(&exit)));
        terminal.keep(text.as_bytes());
        terminal.exit = Some(exit);
        terminal.show_kept(editor)
    }

    /// A window shows one of the buffers now: it gets what was kept.
    pub fn shown(&mut self, editor: &Editor, buf: Buf) -> Result<()> {
        for terminal in self.open.values_mut().filter(|terminal| terminal.buf == buf) {
            terminal.show_kept(editor)?;
        }
        Ok(())
    }

    /// The terminals whose windows have another size than their programs were told: rows, columns.
    pub fn resized(&mut self, editor: &Editor) -> Vec<(Key, u16, u16)> {
        let mut changed = Vec::new();
        for (key, terminal) in &mut self.open {
            if terminal.exit.is_some() {
                continue;
            }
            let Some(win) = editor.wins_of(terminal.buf).first().copied() else { continue };
            let Ok((columns, rows)) = editor.win_size(win) else { continue };
            if terminal.size != (rows, columns) {
                terminal.size = (rows, columns);
                changed.push((key.clone(), rows, columns));
            }
        }
        changed
    }

    pub fn tail(&self, key: &Key) -> Option<Tail> {
        let terminal = self.open.get(key)?;
        let text = terminal.record.text();
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let from = lines.len().saturating_sub(TAIL_LINES);
        Some(Tail {
            lines: lines[from..].iter().map(|line| (*line).to_owned()).collect(),
            total: terminal.lines.max(lines.len()),
            running: terminal.exit.is_none(),
            failed: terminal.exit.as_ref().is_some_and(|exit| match exit.code {
                Some(code) => code != 0,
                // Of some commands nobody says how they ended.
                None => exit.signal.is_some(),
            }),
        })
    }

    pub fn takes_input(&self, key: &Key) -> bool {
        self.open.get(key).is_none_or(|terminal| terminal.typing)
    }

    /// Whether it is time to say that typing does nothing: the first time that the user does it.
    pub fn tell_once(&mut self, editor: &Editor, key: &Key) -> Result<bool> {
        let Some(terminal) = self.open.get_mut(key) else { return Ok(false) };
        // A terminal answers what programs ask of it, which nobody types.
        let by_hand = editor.mode().0 == "t" && editor.current_buf()? == terminal.buf;
        Ok(by_hand && !std::mem::replace(&mut terminal.told, true))
    }

    /// Opens a terminal's window without moving the cursor there, unless one is open already.
    pub fn open(
        &mut self,
        editor: &Editor,
        key: &Key,
        options: &TerminalOptions,
        beside: Option<Win>,
        title: Option<String>,
    ) -> Result<()> {
        let Some(terminal) = self.open.get_mut(key) else { return Ok(()) };
        if !editor.wins_of(terminal.buf).is_empty() {
            return Ok(());
        }
        let (columns, lines) = editor.size();
        let split = |direction: &str, name: &str, size: u16| -> Result<Win> {
            let config = editor.table([
                ("split", editor.string(direction)?),
                ("win", Value::Integer(beside.map_or(-1, |win| win.0))),
                (name, Value::Integer(size.into())),
            ])?;
            editor.open_win(terminal.buf, false, config)
        };
        let win = match options.position {
            Position::Bottom => split("below", "height", options.size.of(lines))?,
            Position::Top => split("above", "height", options.size.of(lines))?,
            Position::Right => split("right", "width", options.size.of(columns))?,
            Position::Left => split("left", "width", options.size.of(columns))?,
            Position::Tab => {
                let before = editor.current_win()?;
                editor.command("tab split")?;
                let win = editor.current_win()?;
                editor.set_win_buf(win, terminal.buf)?;
                editor.set_current_win(before)?;
                win
            }
        };
        for name in ["number", "relativenumber", "cursorline", "list", "spell"] {
            editor.set_win_option(win, name, false)?;
        }
        editor.set_win_option(win, "signcolumn", "no")?;
        let label = one_line(&title.unwrap_or_else(|| terminal.command.clone()));
        let bar = format!("%#AcpWinbar# {}%< ", label.replace('%', "%%"));
        editor.set_win_option(win, "winbar", bar)?;
        terminal.show_kept(editor)
    }
}

impl Terminal {
    fn keep(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > KEPT {
            let cut = self.kept.len() - KEPT / 2;
            self.kept.drain(..cut);
            self.dropped = true;
        }
    }

    fn show_kept(&mut self, editor: &Editor) -> Result<()> {
        if self.kept.is_empty() || !editor.buf_is_valid(self.buf) || editor.wins_of(self.buf).is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.dropped) {
            let note = "\x1b[0m\x1b[2m… earlier output was not shown …\x1b[0m\r\n";
            editor.api::<()>("nvim_chan_send", (self.channel, note))?;
        }
        let bytes = editor.lua.create_string(std::mem::take(&mut self.kept))?;
        editor.api("nvim_chan_send", (self.channel, bytes))
    }
}

fn one_line(text: &str) -> String {
    let line = crate::core::text::one_line(text);
    crate::core::transcript::cut_middle(&line, 60)
}

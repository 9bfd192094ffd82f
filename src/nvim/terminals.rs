//! The commands that agents run, as Neovim terminal buffers. The program itself lives in the
//! background, or in the agent; here its bytes are shown, what the user types is sent back, and the
//! last lines are told to the others (`cx.tails`). A terminal that no window shows is fed only when one does.

pub mod actions;
pub mod events;
pub mod feeding;
pub mod window;

use std::collections::{BTreeMap, HashMap};

use mlua::{Function, Result, Value};

use crate::config::TerminalOptions;
use crate::core::ids::{Moment, SessionKey, TerminalId};
use crate::core::terminal::bar::name_of;
use crate::core::terminal::shown::{Program, Shown};
use crate::core::text::fitting::cut_end;
use crate::core::text::visible::visible_line;
use crate::core::window_sizes::OfScreen;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::{Buf, Editor, Win};

pub type Key = (SessionKey, TerminalId);

/// Status lines and tab labels have room for this much of a command.
const LONGEST_NAME: usize = 30;

#[derive(Default)]
pub struct Terminals {
    open: BTreeMap<Key, Terminal>,
    /// The windows that have opened by themselves.
    by_itself: Vec<Win>,
    /// The height and the width of their windows.
    sizes: HashMap<Win, (OfScreen, OfScreen)>,
    /// Windows are being given what they lack, piece by piece.
    feeding: bool,
    /// Those that lack the ends of lines are looked for in a moment.
    refitting: bool,
}

pub struct Terminal {
    pub shown: Shown,
    pub buf: Buf,
    channel: i64,
    /// Its command is over: its buffer is given nothing more, and deleted like any other.
    is_closed: bool,
    /// What its windows have above them.
    bar: String,
    /// Rows and columns of its window, and since when it is known to have them.
    window: Option<((u16, u16), Moment)>,
    /// It is one of those that the window of terminals is for.
    listed: bool,
}

impl Terminal {
    /// The buffer is a new one, which has been given nothing.
    fn begin_again(&mut self, editor: &Editor) -> Result<()> {
        self.bar.clear();
        self.window = None;
        self.is_closed = false;
        self.shown.begin_again();
        self.set_name(editor)
    }

    fn set_name(&self, editor: &Editor) -> Result<()> {
        editor.set_free_name(self.buf, &format!("acp://terminal {}", label(&self.shown.program().command)))
    }
}

impl Terminals {
    /// Makes the buffer.
    fn start(&mut self, editor: &Editor, key: Key, program: Program) -> Result<Buf> {
        let (buf, channel) = make_buf(editor, &key)?;
        let shown = Shown::new(program);
        let terminal = Terminal {
            shown,
            buf,
            channel,
            is_closed: false,
            bar: String::new(),
            window: None,
            listed: false,
        };
        terminal.set_name(editor)?;
        self.open.insert(key, terminal);
        Ok(buf)
    }

    /// Sees to it that the terminal has its buffer, which the user may have deleted; gives a new one.
    fn revive(&mut self, editor: &Editor, key: &Key) -> Result<Option<Buf>> {
        let Some(terminal) = self.open.get_mut(key) else { return Ok(None) };
        if editor.buf_is_loaded(terminal.buf) {
            return Ok(None);
        }
        (terminal.buf, terminal.channel) = make_buf(editor, key)?;
        terminal.begin_again(editor)?;
        Ok(Some(terminal.buf))
    }

    pub fn get(&self, key: &Key) -> Option<&Terminal> {
        self.open.get(key)
    }

    /// Those that run come first, then those that were started last.
    pub fn all(&self) -> Vec<(&Key, &Terminal)> {
        let mut all: Vec<_> = self.open.iter().collect();
        all.sort_by_key(|(_, terminal)| {
            let shown = &terminal.shown;
            (!shown.is_running(), std::cmp::Reverse(shown.program().started.0))
        });
        all
    }

    /// The terminal of a buffer.
    pub fn of_buf(&self, buf: Buf) -> Option<Key> {
        self.open.iter().find(|(_, terminal)| terminal.buf == buf).map(|(key, _)| key.clone())
    }

    /// The session is over, and with it what its commands have shown.
    pub fn forget(&mut self, cx: &mut Context, session: SessionKey) -> Result<()> {
        cx.tails.forget(session);
        let gone: Vec<Key> = self.open.keys().filter(|(of, _)| *of == session).cloned().collect();
        for key in gone {
            if let Some(terminal) = self.open.remove(&key)
                && cx.editor.buf_is_valid(terminal.buf)
            {
                cx.editor.delete_buf(terminal.buf)?;
            }
        }
        Ok(())
    }

    pub fn bufs(&self) -> Vec<Buf> {
        self.all().into_iter().map(|(_, terminal)| terminal.buf).collect()
    }

    pub fn takes_input(&self, key: &Key) -> bool {
        self.open.get(key).is_none_or(|terminal| terminal.shown.program().typing)
    }

    /// Whether a program can be typed into, as far as the user lets it be.
    pub fn can_type(&self, options: &TerminalOptions, key: &Key) -> bool {
        options.input && self.is_running(key) && self.takes_input(key)
    }

    fn is_running(&self, key: &Key) -> bool {
        self.open.get(key).is_some_and(|terminal| terminal.shown.is_running())
    }

    /// Whether it is the user who types into the terminal: it answers by itself what programs ask of it.
    fn is_typed_by_hand(&self, editor: &Editor, key: &Key) -> bool {
        let here = editor.current_buf().ok();
        editor.mode().0 == "t" && self.open.get(key).is_some_and(|terminal| Some(terminal.buf) == here)
    }
}

/// A function for `nvim_open_term()` that hands on what the user types.
fn typed(editor: &Editor, key: Key) -> Result<Function> {
    editor.lua.create_function(move |_, (_, _, _, data): (Value, Value, Value, mlua::LuaString)| {
        let (key, bytes) = (key.clone(), data.as_bytes().to_vec());
        context::run(move |terminals: &mut Terminals, cx| {
            terminals.typed(cx, key, bytes);
            Ok(())
        });
        Ok(())
    })
}

fn make_buf(editor: &Editor, key: &Key) -> Result<(Buf, i64)> {
    let buf = editor.create_buf(false, true)?;
    editor.set_buf_option(buf, "bufhidden", "hide")?;
    let options = editor.table([("on_input", Value::Function(typed(editor, key.clone())?))])?;
    let channel: i64 = editor.api("nvim_open_term", (buf, options))?;
    editor.set_buf_option(buf, "filetype", "acp-terminal")?;
    Ok((buf, channel))
}

/// What a command is called in the name of its buffer.
fn label(command: &str) -> String {
    cut_end(&visible_line(&name_of(command)), LONGEST_NAME)
}

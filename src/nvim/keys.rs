//! The chat's keys: each is a name of `config::KEYS` that calls the action of that name. Keys that
//! a user switched off are not there. Sees to it, too, that `<C-c>` works while Neovim is busy.

pub mod bind;
pub mod last_input;
pub mod page;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use mlua::{Function, LuaString, Result, Table, Value};

use crate::config::{KEYS, Keys, Pane};
use crate::core::session::Session;
use crate::nvim::app::App;
use crate::nvim::editor::{Buf, Editor};
use crate::nvim::files::user_acts;
pub use crate::nvim::keys::bind::bind_pane;
use crate::nvim::keys::bind::{ANSWER, key_action};
use crate::nvim::questions::KeyAnswer;

/// `<C-c>` as Neovim reads it.
const INTERRUPT: &[u8] = b"\x03";

/// How keys begin that nobody types (`K_SPECIAL`, `KS_EXTRA`).
const INTERNAL: &[u8] = b"\x80\xfd";

/// How the presses of the mouse's buttons end as keys; what is before it says how many, and which keys are held.
const PRESSES: [&str; 3] = ["<LeftMouse>", "<MiddleMouse>", "<RightMouse>"];

pub fn bind(editor: &Editor, keys: &Keys, transcript: Buf, prompt: Buf) -> Result<()> {
    let keymap: Table = editor.module("keymap")?;
    let set: Function = keymap.get("set")?;
    for (pane, buf) in [(Pane::Transcript, transcript), (Pane::Prompt, prompt)] {
        // For whoever would rather map what the keys do than name keys in the options.
        for key in KEYS.iter().filter(|key| key.panes.contains(&pane) && key.name != ANSWER) {
            let action = key_action(&editor.lua, key.name)?;
            let options = editor.table([("buffer", mlua::Value::Integer(buf.0))])?;
            let plug = format!("<Plug>(acp-{})", key.name.replace('_', "-"));
            set.call::<()>((key.modes.to_vec(), plug, action, options))?;
        }
        bind_pane(editor, keys, pane, buf)?;
    }
    editor.helper::<()>("not_edited", transcript)?;
    bind_answers(editor, &set, keys, transcript)
}

/// The keys that answer what waits under the cursor. Where nothing does, a digit stays a count: so they
/// are expressions, which do not end a count that is being typed.
fn bind_answers(editor: &Editor, set: &Function, keys: &Keys, transcript: Buf) -> Result<()> {
    let plugs = (1..=9).map(|number| (number, format!("<Plug>(acp-answer-{number})")));
    let bound = keys.get(ANSWER).iter().cloned().enumerate().map(|(at, lhs)| (at + 1, lhs));
    for (number, lhs) in plugs.chain(bound) {
        let digit = lhs.parse::<u8>().is_ok().then(|| lhs.clone());
        let give = editor.lua.create_function(move |lua, ()| {
            let Some(meant) = crate::nvim::look(|app| answer_here(app, number)).flatten() else {
                if digit.is_none() {
                    crate::nvim::later(lua, Duration::ZERO, |_| {
                        Err(mlua::Error::runtime("nothing under the cursor waits for such an answer"))
                    })?;
                }
                let is_late = crate::nvim::look(|app| app.asking.has_just_answered()).unwrap_or(false);
                return Ok(digit.clone().filter(|_| !is_late).unwrap_or_default());
            };
            // Nothing may be changed while an expression is evaluated.
            crate::nvim::later(lua, Duration::ZERO, move |app| {
                app.asking.answer_by_key(&mut app.cx, &meant);
                app.route()
            })?;
            // A count that was begun is given up.
            let vim: Table = lua.globals().get("vim")?;
            let count: i64 = vim.get::<Table>("v")?.get("count")?;
            Ok(if count > 0 { "\u{1b}".to_owned() } else { String::new() })
        })?;
        let options = editor.table([
            ("buffer", Value::Integer(transcript.0)),
            ("nowait", Value::Boolean(true)),
            ("expr", Value::Boolean(true)),
            ("desc", editor.string(format!("acp: answer {number}"))?),
        ])?;
        set.call::<()>(("n", lhs, give, options))?;
    }
    Ok(())
}

/// The answer that the key of this number gives in the chat, to the question under the cursor.
fn answer_here(app: &App, number: usize) -> Option<KeyAnswer> {
    let (session, entry) = app.chats.entry_here(&app.cx).ok()??;
    app.asking.answer_of_key(&app.cx, session, entry, number)
}

/// Hears each key: when the last one came, and from where the mouse was pressed. Has `<C-c>` do in a chat
/// what it is mapped to, also when it comes while Neovim is busy. It is an interrupt then, which Neovim
/// hands out as a key after the mappings had their turn.
pub fn listen(editor: &Editor) -> Result<()> {
    let vim: Table = editor.lua.globals().get("vim")?;
    let listen: Function = vim.get("on_key")?;
    // One interrupt may be heard twice: as what ends insert mode, and as what ends all that waits.
    let heard = Rc::new(Cell::new(false));
    // Whoever fails in here is never called again. To swallow the key would have Neovim hand it out
    // anew for ever.
    let mut presses = Vec::new();
    for name in PRESSES {
        let code: LuaString = editor.api("nvim_replace_termcodes", (name, true, true, true))?;
        presses.push(code.as_bytes().to_vec());
    }
    let here: Function = editor.module("api")?.get("nvim_get_current_buf")?;
    let hear = editor.lua.create_function(move |lua, key: LuaString| {
        if presses.iter().any(|press| key.as_bytes().ends_with(press)) {
            last_input::mouse_pressed(here.call(()).ok());
        }
        // What Neovim tells itself comes as keys, too.
        if !key.as_bytes().starts_with(INTERNAL) {
            last_input::key_typed();
            user_acts::key_typed(lua);
        }
        if key.as_bytes() != INTERRUPT || heard.get() {
            return Ok(());
        }
        let Some(meant) = crate::nvim::look(App::meant_by_interrupt).flatten() else { return Ok(()) };
        let heard_again = heard.clone();
        // Not now: whoever reads this key is in the middle of something.
        let later = crate::nvim::later(lua, Duration::ZERO, move |app| {
            heard_again.set(false);
            app.act_on_interrupt(&meant)
        });
        heard.set(later.is_ok());
        Ok(())
    })?;
    let space: i64 = editor.api("nvim_create_namespace", "acp.interrupts")?;
    listen.call::<Value>((hear, space)).map(drop)
}

/// What a `<C-c>` is for, and where it was typed.
struct Meant {
    key: &'static str,
    buf: Buf,
    mode: String,
}

impl App {
    fn meant_by_interrupt(&self) -> Option<Meant> {
        let buf = self.cx.editor.current_buf().ok()?;
        let chat = self.cx.chats.values().find(|chat| chat.contains(buf))?;
        let pane = if chat.prompt == buf { Pane::Prompt } else { Pane::Transcript };
        let (mode, _) = self.cx.editor.mode();
        let (key, _) = self
            .cx
            .config
            .keys
            .of(pane)
            .find(|(key, lhs)| lhs.eq_ignore_ascii_case("<C-c>") && key.modes.contains(&mode.as_str()))?;
        Some(Meant { key: key.name, buf, mode })
    }

    fn act_on_interrupt(&mut self, meant: &Meant) -> Result<()> {
        let stops =
            self.cx.session_here().and_then(|key| self.cx.sessions.get(&key)).is_some_and(Session::is_busy);
        self.key(meant.key)?;
        let left_insert_mode = meant.mode == "i" && self.cx.editor.mode().0 == "n";
        if stops && left_insert_mode && self.cx.editor.current_buf()? == meant.buf {
            // Who stops an agent goes on to type; the key alone would have left them there.
            self.cx.editor.func::<()>("feedkeys", ("gi", "n"))?;
        }
        Ok(())
    }

    /// A `<C-c>` came while a function of Neovim's ran for us, which failed for it: the key is gone, and
    /// what was being done may be half done.
    pub fn interrupted(&mut self) -> Result<()> {
        let sessions: Vec<_> = self.cx.sessions.keys().copied().collect();
        sessions.into_iter().try_for_each(|session| self.after_change(session))?;
        self.asking.retry = true;
        match self.meant_by_interrupt() {
            Some(meant) => self.key(meant.key),
            None => Ok(()),
        }
    }
}

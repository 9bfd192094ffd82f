//! When the user has Neovim do something that may change files: a `:` command of theirs, or a key in a buffer of another
//! plugin, such as a file explorer. The background is told, so that it takes none of it for an agent's work; what
//! follows from it is left to `core::changes::attribution`.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mlua::{Lua, Result, Value};

use crate::core::message::{Command, UserBegan};
use crate::nvim::context::{self, Context};
use crate::nvim::editor::autocommands::Group;
use crate::nvim::editor::{Buf, Editor};
use crate::nvim::files::Files;
use crate::platform::files;

thread_local! {
    /// The user is in a buffer of another plugin. Looked at for each key, so it costs next to nothing.
    static IS_IN_OTHERS: Cell<bool> = const { Cell::new(false) };
    /// A key was typed there, and is not done yet.
    static IS_KEY_OPEN: Cell<bool> = const { Cell::new(false) };
}

fn now() -> UserBegan {
    let millis = |time: SystemTime| {
        let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
    };
    UserBegan { at: millis(SystemTime::now()), by_files: millis(files::clock()) }
}

/// A key was typed, and Neovim is about to do what it means.
pub fn key_typed(lua: &Lua) {
    if !IS_IN_OTHERS.get() || IS_KEY_OPEN.replace(true) {
        return;
    }
    let began = now();
    // Not now: whoever reads this key is in the middle of something. It is about the time, so nothing is lost by that.
    let later = context::later(lua, Duration::ZERO, move |files: &mut Files, cx| files.user_acts(cx, began));
    IS_KEY_OPEN.set(later.is_ok());
}

impl Files {
    /// The user is in this buffer from now on.
    pub fn user_entered(cx: &Context, buf: Buf) -> Result<()> {
        if cx.editor.current_buf()? == buf {
            IS_IN_OTHERS.set(is_others(&cx.editor, buf));
        }
        Ok(())
    }

    /// A command of the user's begins.
    pub fn user_commands(&mut self, cx: &mut Context) -> Result<()> {
        self.user_acts(cx, now())
    }

    fn user_acts(&mut self, cx: &mut Context, began: UserBegan) -> Result<()> {
        if self.user_acts || !cx.has_background || cx.sessions.is_empty() {
            IS_KEY_OPEN.set(false);
            return Ok(());
        }
        self.user_acts = true;
        cx.send(Command::UserBegan(began));
        // Only while there is something that ends: it comes after each key (`:help SafeState`).
        let once = vec![("once", Value::Boolean(true))];
        Group::new(&cx.editor, "acp.user_acts")?.create(&["SafeState"], once, |_, _| {
            context::run(|files: &mut Self, cx| files.user_is_done(cx));
            Ok(())
        })
    }

    /// What the user had Neovim do is done.
    pub fn user_is_done(&mut self, cx: &mut Context) -> Result<()> {
        IS_KEY_OPEN.set(false);
        if std::mem::take(&mut self.user_acts) {
            cx.send(Command::UserEnded);
        }
        Ok(())
    }
}

/// Whether a buffer is another plugin's, in which keys may do anything.
fn is_others(editor: &Editor, buf: Buf) -> bool {
    let kind = editor.buf_option::<String>(buf, "buftype");
    let is_scratch =
        kind.is_ok_and(|kind| matches!(kind.as_str(), "nofile" | "nowrite" | "acwrite" | "prompt"));
    is_scratch && !editor.buf_name(buf).starts_with("acp://")
}

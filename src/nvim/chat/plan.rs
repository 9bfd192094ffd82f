//! The agent's plan in a small window of its own, for as long as the user wants it there. It shows the
//! newest plan of one session and changes with it; what a plan looks like is `core::transcript`'s word.

use mlua::{Function, Result, Table, Value};

use crate::core::ids::SessionKey;
use crate::core::transcript::plan;
use crate::nvim::app::App;
use crate::nvim::editor::{Buf, Editor, Win};

/// Longer plans are scrolled.
const ROWS: usize = 12;

pub struct Pinned {
    session: SessionKey,
    buf: Buf,
}

impl App {
    /// Pins the plan, or takes it away when it is pinned in this tab page.
    pub fn toggle_plan(&mut self, key: SessionKey) -> Result<()> {
        if let Some(pinned) = &self.plan
            && pinned.session == key
            && let Some(win) = window(&self.cx.editor, pinned.buf)
        {
            return self.cx.editor.close_win(win);
        }
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let Some(items) = session.plan() else {
            return Err(mlua::Error::runtime("the agent has not made a plan yet"));
        };
        let rows = (items.len() + 1).min(ROWS);
        let buf = match self.plan.take().filter(|pinned| self.cx.editor.buf_is_loaded(pinned.buf)) {
            Some(pinned) => pinned.buf,
            None => make(&self.cx.editor)?,
        };
        self.plan = Some(Pinned { session: key, buf });
        if window(&self.cx.editor, buf).is_none() {
            let beside = self.chats.get(&key).and_then(|chat| chat.window(&self.cx.editor));
            let config = self.cx.editor.table([
                ("split", self.cx.editor.string("above")?),
                ("win", Value::Integer(beside.map_or(-1, |win| win.0))),
                ("height", Value::Integer(i64::try_from(rows).unwrap_or(1))),
            ])?;
            let win = self.cx.editor.open_win(buf, false, config)?;
            for (name, value) in [
                ("number", false),
                ("relativenumber", false),
                ("cursorline", false),
                ("list", false),
                ("spell", false),
                ("foldenable", false),
            ] {
                self.cx.editor.set_win_option(win, name, value)?;
            }
            for (name, value) in
                [("signcolumn", "no"), ("foldcolumn", "1"), ("fillchars", "eob: "), ("winbar", "")]
            {
                self.cx.editor.set_win_option(win, name, value)?;
            }
            self.cx.editor.set_win_option(win, "winhighlight", "FoldColumn:EndOfBuffer")?;
            self.cx.editor.helper::<Table>("fix_heights", Vec::<Win>::new())?;
        }
        self.update_plan(key)
    }

    /// Draws the pinned plan of a session, if it is there.
    pub fn update_plan(&mut self, key: SessionKey) -> Result<()> {
        let Some(Pinned { buf, .. }) = self.plan.as_ref().filter(|pinned| pinned.session == key) else {
            return Ok(());
        };
        let buf = *buf;
        if !self.cx.editor.buf_is_loaded(buf) {
            self.plan = None;
            return Ok(());
        }
        let items = self.cx.sessions.get(&key).and_then(|session| session.plan()).unwrap_or_default();
        let drawing = plan(items, &self.style());
        let count = self.cx.editor.line_count(buf)?;
        if self.cx.editor.lines(buf, 0, -1)? == drawing.lines {
            return Ok(());
        }
        self.cx.editor.set_buf_option(buf, "modifiable", true)?;
        self.cx.editor.set_lines(buf, 0..count, &drawing.lines)?;
        self.cx.editor.set_buf_option(buf, "modifiable", false)?;
        let ns = self.cx.editor.namespace("acp.plan")?;
        self.cx.editor.clear_namespace(buf, ns, 0, -1)?;
        let marks = self.cx.editor.lua.create_table()?;
        for mark in &drawing.marks {
            marks.raw_push(mark.row)?;
            marks.raw_push(mark.start)?;
            marks.raw_push(self.cx.editor.table([
                ("end_col", Value::Integer(mark.end as i64)),
                ("hl_group", self.cx.editor.string(mark.group)?),
            ])?)?;
        }
        self.cx.editor.paint(buf, ns, marks)
    }
}

fn window(editor: &Editor, buf: Buf) -> Option<Win> {
    let wins = editor.tab_wins().ok()?;
    wins.into_iter().find(|win| editor.win_buf(*win).is_ok_and(|shown| shown == buf))
}

fn make(editor: &Editor) -> Result<Buf> {
    let buf = editor.create_buf(false, true)?;
    editor.set_buf_option(buf, "bufhidden", "wipe")?;
    editor.set_buf_option(buf, "modifiable", false)?;
    editor.set_buf_option(buf, "filetype", "acp-plan")?;
    let keymap: Table = editor.module("keymap")?;
    let options = editor.table([("buffer", Value::Integer(buf.0)), ("nowait", Value::Boolean(true))])?;
    keymap.get::<Function>("set")?.call::<()>(("n", "q", "<Cmd>close<CR>", options))?;
    Ok(buf)
}

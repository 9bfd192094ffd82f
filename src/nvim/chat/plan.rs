//! The agent's plan in a small window of its own, for as long as the user wants it there. It shows the
//! newest plan of one session and changes with it; what a plan looks like is `core::transcript`'s word.

use mlua::{Result, Table, Value};

use crate::core::ids::SessionKey;
use crate::core::transcript::{Drawing, plan, plan_row};
use crate::core::window_sizes::plan_height;
use crate::nvim::chat::canvas::bar;
use crate::nvim::chat::redraw::style;
use crate::nvim::chat::windows::margin;
use crate::nvim::chat::{Chats, Pinned};
use crate::nvim::context::Context;
use crate::nvim::editor::float::{CLOSE, bind_closing};
use crate::nvim::editor::{Buf, Editor, Win};

impl Chats {
    /// Pins the plan, or takes it away when it is pinned in this tab page.
    pub fn toggle_plan(&mut self, cx: &Context, key: SessionKey) -> Result<()> {
        if let Some(pinned) = &self.pinned
            && pinned.session == key
            && let Some(win) = window(&cx.editor, pinned.buf)
        {
            return cx.editor.close_win(win);
        }
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        if session.plan().is_none() {
            return Err(mlua::Error::runtime("the agent has not made a plan yet"));
        }
        let needed = plan(session.plan(), &style(cx)).lines.len();
        let buf = match self.pinned.take().filter(|pinned| cx.editor.buf_is_loaded(pinned.buf)) {
            Some(pinned) => pinned.buf,
            None => make(&cx.editor)?,
        };
        self.pinned = Some(Pinned { session: key, buf, arrangement: None });
        if window(&cx.editor, buf).is_none() {
            let beside = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor));
            let whole = match beside {
                Some(win) => cx.editor.win_size(win)?.1,
                None => cx.editor.size().1,
            };
            let rows = plan_height(u16::try_from(needed).unwrap_or(u16::MAX), whole.saturating_sub(1));
            let config = cx.editor.table([
                ("split", cx.editor.string("above")?),
                ("win", Value::Integer(beside.map_or(-1, |win| win.0))),
                ("height", Value::Integer(rows.into())),
            ])?;
            let win = cx.editor.open_win(buf, false, config)?;
            for (name, value) in [
                ("number", false),
                ("relativenumber", false),
                ("cursorline", false),
                ("list", false),
                ("spell", false),
                ("foldenable", false),
                ("wrap", true),
                ("linebreak", true),
                ("breakindent", true),
                ("smoothscroll", true),
            ] {
                cx.editor.set_win_option(win, name, value)?;
            }
            cx.editor.set_win_option(win, "conceallevel", 2)?;
            cx.editor.set_win_option(win, "concealcursor", "nc")?;
            for (name, value) in
                [("signcolumn", "no"), ("foldcolumn", "1"), ("fillchars", "eob: "), ("winbar", "")]
            {
                cx.editor.set_win_option(win, name, value)?;
            }
            margin::set(&cx.editor, win)?;
            cx.editor.helper::<()>("fix_sizes", (Vec::<Win>::new(), Vec::<Win>::new()))?;
        }
        self.update_plan(cx, key)
    }

    /// The plan goes with its chat, above which it stands, and comes back with it.
    pub fn hide_plan(&mut self, cx: &Context, key: SessionKey) -> Result<()> {
        let pinned = self.pinned.as_ref().filter(|pinned| pinned.session == key);
        let Some(win) = pinned.and_then(|pinned| window(&cx.editor, pinned.buf)) else { return Ok(()) };
        // The last window stays.
        if cx.editor.tab_wins()?.len() > 1 {
            cx.editor.close_win(win)?;
            (self.pinned, self.hidden_plan) = (None, Some(key));
        }
        Ok(())
    }

    pub fn show_plan_again(&mut self, cx: &Context, key: SessionKey) -> Result<()> {
        let has_plan = cx.sessions.get(&key).is_some_and(|session| session.plan().is_some());
        let is_hidden = self.hidden_plan.take_if(|of| *of == key).is_some();
        if is_hidden && has_plan && self.pinned.is_none() { self.toggle_plan(cx, key) } else { Ok(()) }
    }

    /// Draws the pinned plan of a session, if it is there.
    pub fn update_plan(&mut self, cx: &Context, key: SessionKey) -> Result<()> {
        let Some(Pinned { buf, .. }) = self.pinned.as_ref().filter(|pinned| pinned.session == key) else {
            return Ok(());
        };
        let buf = *buf;
        if !cx.editor.buf_is_loaded(buf) {
            self.pinned = None;
            return Ok(());
        }
        let newest = cx.sessions.get(&key).and_then(|session| session.plan());
        let drawing = plan(newest, &style(cx));
        let count = cx.editor.line_count(buf)?;
        if cx.editor.lines(buf, 0, -1)? == drawing.lines {
            return Ok(());
        }
        self.highlight.attach(buf);
        self.highlight.drop(buf, MARKDOWN);
        cx.editor.set_buf_option(buf, "modifiable", true)?;
        cx.editor.set_lines(buf, 0..count, &drawing.lines)?;
        cx.editor.set_buf_option(buf, "modifiable", false)?;
        if let Some(rows) = &drawing.markdown {
            self.highlight.open(buf, MARKDOWN, rows.start);
            self.highlight.close(buf, MARKDOWN, rows.end);
        }
        mark(cx, buf, &drawing)?;
        let at_hand = plan_row(newest, &drawing);
        self.fit_plan(cx, drawing.lines.len() != count)?;
        show_step(&cx.editor, buf, at_hand)
    }

    /// The pinned plan has as many lines as it needs, as far as the transcript can spare them: again once the windows
    /// beside it have changed that were in its way. What the user makes of its height stays until then.
    pub fn fit_plan(&mut self, cx: &Context, is_new: bool) -> Result<()> {
        let Some(pinned) = &mut self.pinned else { return Ok(()) };
        let Some(win) = window(&cx.editor, pinned.buf) else { return Ok(()) };
        let arrangement: String = cx.editor.helper("arrangement", ())?;
        if !is_new && pinned.arrangement.as_ref() == Some(&arrangement) {
            return Ok(());
        }
        pinned.arrangement = Some(arrangement);
        let needed = u16::try_from(cx.editor.line_count(pinned.buf)?).unwrap_or(u16::MAX);
        let chat = cx.chats.get(&pinned.session).and_then(|chat| chat.window(&cx.editor));
        let Some(chat) = chat.filter(|chat| !cx.editor.is_floating(*chat)) else { return Ok(()) };
        let (has, spare) = (cx.editor.win_size(win)?.1, cx.editor.win_size(chat)?.1);
        let rows = plan_height(needed, has + spare);
        if rows == has { Ok(()) } else { cx.editor.api("nvim_win_set_height", (win.0, rows)) }
    }
}

/// The region of a plan's buffer that is Markdown; there is one at most.
const MARKDOWN: usize = 0;

/// Puts a drawing's own marks on the plan.
fn mark(cx: &Context, buf: Buf, drawing: &Drawing) -> Result<()> {
    let ns = cx.editor.namespace("acp.plan")?;
    cx.editor.clear_namespace(buf, ns, 0, -1)?;
    let marks = cx.editor.lua.create_table()?;
    let put = |row: usize, start: usize, options: Table| -> Result<()> {
        marks.raw_push(row)?;
        marks.raw_push(start)?;
        marks.raw_push(options)
    };
    for mark in &drawing.marks {
        let options =
            [("end_col", Value::Integer(mark.end as i64)), ("hl_group", cx.editor.string(mark.group)?)];
        put(mark.row, mark.start, cx.editor.table(options)?)?;
    }
    for (row, group) in &drawing.frames {
        let bars: (Table, Option<Table>) =
            cx.editor.helper("bar", (bar(cx.config.icons), *group, drawing.may_wrap(*row)))?;
        put(*row, 0, bars.0)?;
        bars.1.map_or(Ok(()), |rest| put(*row, 0, rest))?;
    }
    cx.editor.paint(buf, ns, marks)
}

/// Where a plan does not fit, its windows begin with the step at hand, unless there is room for what is before it; but
/// where the user is they stay.
fn show_step(editor: &Editor, buf: Buf, row: usize) -> Result<()> {
    let here = editor.current_win()?;
    for win in editor.wins_of(buf).into_iter().filter(|win| *win != here) {
        editor.helper::<()>("begin_with", (win, row))?;
    }
    Ok(())
}

fn window(editor: &Editor, buf: Buf) -> Option<Win> {
    let wins = editor.tab_wins().ok()?;
    wins.into_iter().find(|win| editor.win_buf(*win).is_ok_and(|shown| shown == buf))
}

fn make(editor: &Editor) -> Result<Buf> {
    let buf = editor.create_buf(false, true)?;
    editor.set_buf_option(buf, "bufhidden", "wipe")?;
    editor.set_buf_option(buf, "modifiable", false)?;
    editor.set_free_name(buf, "acp://plan")?;
    editor.set_buf_option(buf, "filetype", "acp-plan")?;
    bind_closing(editor, buf, (&["q"], CLOSE), "q closes the plan, as :Acp plan does, which shows it again")?;
    Ok(buf)
}

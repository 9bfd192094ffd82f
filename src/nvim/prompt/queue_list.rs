//! The prompts that wait, as a list over the prompt that its own keys work in: edit one, move it, remove it,
//! send it at once. It is drawn anew whenever the line changes, and gone when nothing waits. Which prompt
//! goes when is the session's word.

use mlua::{Result, Table, Value};

use crate::config::{Keys, Pane};
use crate::core::ids::SessionKey;
use crate::core::session::Queued;
use crate::core::text::fitting::cut_end;
use crate::nvim::arguments::{NO_SESSION, fail};
use crate::nvim::context::{self, Context};
use crate::nvim::editor::{Buf, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::keys::bind::bind_pane;
use crate::nvim::prompt::{Prompts, QueueList};

/// More rows are scrolled to.
const ROWS: usize = 10;

impl Prompts {
    pub fn open_queue(&mut self, cx: &mut Context) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = cx.sessions.get(&key) else { return fail(NO_SESSION) };
        if session.queue().is_empty() {
            return fail("no prompt is queued; those sent while the agent works are");
        }
        if let Some(list) = self.queue_list.as_ref().filter(|list| cx.editor.win_is_valid(list.win)) {
            return cx.editor.set_current_win(list.win);
        }
        if cx.chats.get(&key).copied().and_then(|chat| chat.prompt_window(&cx.editor)).is_none() {
            cx.raise(EditorEvent::SessionChosen(key));
            let then = context::then(move |this: &mut Self, cx, ()| this.open_queue_of(cx, key));
            cx.resume(then, ());
            return Ok(());
        }
        self.open_queue_of(cx, key)
    }

    fn open_queue_of(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        cx.editor.command("stopinsert")?;
        let buf = queue_buf(cx)?;
        let config = queue_window(cx, key, false)?;
        let win = cx.editor.open_win(buf, true, config)?;
        for (name, value) in [
            ("wrap", false),
            ("number", false),
            ("relativenumber", false),
            ("cursorline", true),
            ("list", false),
            ("spell", false),
        ] {
            cx.editor.set_win_option(win, name, value)?;
        }
        cx.editor.set_win_option(win, "signcolumn", "no")?;
        cx.editor.set_win_option(win, "winbar", "")?;
        cx.editor.set_win_option(
            win,
            "winhighlight",
            "NormalFloat:Normal,FloatBorder:Normal,FloatFooter:AcpMeta",
        )?;
        // It stands over what is being typed, so it goes when it is left.
        cx.editor.helper::<()>("close_when_left", win)?;
        self.queue_list = Some(QueueList { session: key, buf, win, removed: Vec::new() });
        self.draw_queue(cx, key)
    }

    /// The line has changed: so does the list, if it is open.
    pub fn draw_queue(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(list) = self.queue_list.as_ref().filter(|list| list.session == key) else { return Ok(()) };
        let (buf, win, can_restore) = (list.buf, list.win, !list.removed.is_empty());
        if !cx.editor.win_is_valid(win) || !cx.editor.buf_is_loaded(buf) {
            self.queue_list = None;
            return Ok(());
        }
        let line = |queued: &Queued| match queued.held {
            true => format!("(held) {}", queued.line()),
            false => queued.line(),
        };
        let texts: Vec<String> =
            cx.sessions.get(&key).map_or_else(Vec::new, |session| session.queue().iter().map(line).collect());
        if texts.is_empty() && !can_restore {
            return self.close_queue(cx, key);
        }
        let (columns, _) = cx.editor.win_size(win)?;
        let digits = texts.len().to_string().len();
        let room = usize::from(columns).saturating_sub(digits + 3).max(8);
        let mut lines: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| format!(" {:>digits$} {}", at + 1, cut_end(text, room)))
            .collect();
        if lines.is_empty() {
            lines.push(" nothing waits any more".to_owned());
        }
        let count = cx.editor.line_count(buf)?;
        cx.editor.set_buf_option(buf, "modifiable", true)?;
        cx.editor.set_lines(buf, 0..count, &lines)?;
        cx.editor.set_buf_option(buf, "modifiable", false)?;
        let config = queue_window(cx, key, can_restore)?;
        cx.editor.api::<()>("nvim_win_set_config", (win, config))
    }

    fn close_queue(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        if let Some(list) = self.queue_list.take()
            && cx.editor.win_is_valid(list.win)
        {
            let was_here = cx.editor.current_win()? == list.win;
            cx.editor.close_win(list.win)?;
            let prompt = cx.chats.get(&key).copied().and_then(|chat| chat.prompt_window(&cx.editor));
            if let Some(win) = prompt.filter(|_| was_here) {
                cx.editor.set_current_win(win)?;
            }
        }
        Ok(())
    }

    pub fn queue_key(&mut self, cx: &mut Context, name: &str) -> Option<Result<()>> {
        if !name.starts_with("queue_") {
            return None;
        }
        let list = self.queue_list.as_ref()?;
        let (key, win) = (list.session, list.win);
        Some(self.act_on_queued(cx, name, key, win))
    }

    fn act_on_queued(&mut self, cx: &mut Context, name: &str, key: SessionKey, win: Win) -> Result<()> {
        let index = cx.editor.cursor(win)?.0 - 1;
        let before = cx.sessions.get(&key).map_or(0, |session| session.queue().len());
        match name {
            "queue_close" => return self.close_queue(cx, key),
            "queue_restore" => {
                let index = self.restore_queued(cx, key)?;
                self.draw_queue(cx, key)?;
                let last = cx.editor.line_count(cx.editor.win_buf(win)?)?;
                return cx.editor.set_cursor(win, (index + 1).min(last), 0);
            }
            _ if before == 0 => return fail("no prompt is queued any more"),
            "queue_edit" => {
                if self.take_back(cx, key, Some(index))? {
                    self.close_queue(cx, key)?;
                    cx.raise(EditorEvent::SessionChosen(key));
                    return Ok(());
                }
            }
            "queue_remove" => self.remove_queued(cx, key, index),
            "queue_send" => {
                Self::send_queued(cx, key, index);
                cx.raise(EditorEvent::FrameDue);
                return Ok(());
            }
            "queue_up" | "queue_down" => {
                let to = if name == "queue_up" { index.saturating_sub(1) } else { index + 1 };
                Self::move_queued(cx, key, index, to);
                self.draw_queue(cx, key)?;
                let last = cx.editor.line_count(cx.editor.win_buf(win)?)?;
                return cx.editor.set_cursor(win, (to + 1).min(last), 0);
            }
            _ => return fail(format!("there is no key {name:?}")),
        }
        let after = cx.sessions.get(&key).map_or(0, |session| session.queue().len());
        if before == after {
            return fail("this prompt is in the chat already; it is sent again by itself");
        }
        Ok(())
    }
}

fn queue_buf(cx: &Context) -> Result<Buf> {
    let buf = cx.editor.create_buf(false, true)?;
    cx.editor.set_buf_option(buf, "bufhidden", "wipe")?;
    cx.editor.set_buf_option(buf, "undolevels", -1)?;
    cx.editor.set_buf_option(buf, "filetype", "acp-queue")?;
    cx.editor.set_buf_option(buf, "modifiable", false)?;
    bind_pane(&cx.editor, &cx.config.keys, Pane::Queue, buf)?;
    Ok(buf)
}

/// At the foot of the prompt's window, over the lines in which the same prompts stand there.
fn queue_window(cx: &Context, key: SessionKey, can_restore: bool) -> Result<Table> {
    let count = cx.sessions.get(&key).map_or(0, |session| session.queue().len());
    let prompt = cx.chats.get(&key).copied().and_then(|chat| chat.prompt_window(&cx.editor));
    let (columns, rows) = match prompt {
        Some(win) => cx.editor.win_size(win)?,
        None => cx.editor.size(),
    };
    let width = usize::from(columns).saturating_sub(2).max(10);
    let footer = footer(&cx.config.keys, width.saturating_sub(2), (count > 0, can_restore));
    let mut config = vec![
        ("anchor", cx.editor.string("SW")?),
        ("row", Value::Integer(rows.into())),
        ("col", Value::Integer(0)),
        ("width", Value::Integer(width as i64)),
        ("height", Value::Integer(count.clamp(1, ROWS) as i64)),
        ("border", cx.editor.string("rounded")?),
        ("style", cx.editor.string("minimal")?),
        ("title", cx.editor.string(" Waiting prompts ")?),
        ("footer", cx.editor.string(footer)?),
    ];
    match prompt {
        Some(win) => {
            config.push(("relative", cx.editor.string("win")?));
            config.push(("win", Value::Integer(win.0)));
        }
        None => config.push(("relative", cx.editor.string("editor")?)),
    }
    cx.editor.lua.create_table_from(config)
}

/// The list's keys as they are bound; in a narrow window the last ones are those to miss.
fn footer(keys: &Keys, width: usize, (any_waits, can_restore): (bool, bool)) -> String {
    let mut footer = String::new();
    let moves = ["queue_up", "queue_down"].map(|name| keys.get(name).first().map_or("", String::as_str));
    let first = |name: &str| keys.get(name).first().cloned().unwrap_or_default();
    for (does, lhs, what) in [
        (can_restore, first("queue_restore"), "bring back"),
        (any_waits, first("queue_edit"), "edit"),
        (any_waits, first("queue_remove"), "remove"),
        (any_waits, moves.join(" ").trim().to_owned(), "move"),
        (any_waits, first("queue_send"), "send now"),
        (true, first("queue_close"), "back"),
        (true, first("help"), "keys"),
    ] {
        let part = format!("{lhs} {what}");
        let space = if footer.is_empty() { 0 } else { 3 };
        if !does || lhs.is_empty() || footer.chars().count() + space + part.chars().count() > width {
            continue;
        }
        if space > 0 {
            footer.push_str(" \u{b7} ");
        }
        footer.push_str(&part);
    }
    format!(" {footer} ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_footer_fits() {
        let keys = Keys::default();
        assert_eq!(
            footer(&keys, 80, (true, false)),
            " <CR> edit \u{b7} dd remove \u{b7} K J move \u{b7} s send now \u{b7} q back \u{b7} g? keys "
        );
        assert_eq!(footer(&keys, 34, (true, false)), " <CR> edit \u{b7} dd remove \u{b7} K J move ");
        assert_eq!(footer(&keys, 34, (false, true)), " u bring back \u{b7} q back \u{b7} g? keys ");
        assert_eq!(footer(&keys, 34, (true, true)), " u bring back \u{b7} <CR> edit \u{b7} q back ");
    }
}

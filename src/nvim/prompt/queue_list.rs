//! The prompts that wait, as a list over the prompt that its own keys work in: edit one, move it, remove it,
//! send it at once. It is drawn anew whenever the line changes, and gone when nothing waits. Which prompt
//! goes when is the session's word.

use mlua::{Result, Table, Value};

use crate::config::{Keys, Pane};
use crate::core::ids::SessionKey;
use crate::core::transcript::cut_end;
use crate::nvim::actions::{NO_SESSION, fail};
use crate::nvim::app::App;
use crate::nvim::editor::{Buf, Win};
use crate::nvim::keys;

/// More rows are scrolled to.
const ROWS: usize = 10;

/// The list that is open.
pub struct QueueList {
    session: SessionKey,
    buf: Buf,
    win: Win,
}

impl App {
    pub fn open_queue(&mut self) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.cx.sessions.get(&key) else { return fail(NO_SESSION) };
        if session.queue().is_empty() {
            return fail("no prompt is queued; those that you send while the agent works are");
        }
        if let Some(list) = self.queue_list.as_ref().filter(|list| self.cx.editor.win_is_valid(list.win)) {
            return self.cx.editor.set_current_win(list.win);
        }
        if self.chats.get(&key).and_then(|chat| chat.prompt_window(&self.cx.editor)).is_none() {
            self.show(key)?;
        }
        self.cx.editor.command("stopinsert")?;
        let buf = self.queue_buf()?;
        let config = self.queue_window(key)?;
        let win = self.cx.editor.open_win(buf, true, config)?;
        for (name, value) in [
            ("wrap", false),
            ("number", false),
            ("relativenumber", false),
            ("cursorline", true),
            ("list", false),
            ("spell", false),
        ] {
            self.cx.editor.set_win_option(win, name, value)?;
        }
        self.cx.editor.set_win_option(win, "signcolumn", "no")?;
        self.cx.editor.set_win_option(win, "winbar", "")?;
        self.cx.editor.set_win_option(win, "winhighlight", "NormalFloat:Normal,FloatFooter:AcpMeta")?;
        // It stands over what is being typed, so it goes when it is left.
        self.cx.editor.command(&format!(
            "autocmd WinLeave <buffer={}> ++once lua vim.schedule(function() pcall(vim.api.nvim_win_close, {}, true) end)",
            buf.0, win.0
        ))?;
        self.queue_list = Some(QueueList { session: key, buf, win });
        self.draw_queue(key)
    }

    fn queue_buf(&self) -> Result<Buf> {
        let buf = self.cx.editor.create_buf(false, true)?;
        self.cx.editor.set_buf_option(buf, "bufhidden", "wipe")?;
        self.cx.editor.set_buf_option(buf, "undolevels", -1)?;
        self.cx.editor.set_buf_option(buf, "filetype", "acp-queue")?;
        self.cx.editor.set_buf_option(buf, "modifiable", false)?;
        keys::bind_pane(&self.cx.editor, &self.cx.config.keys, Pane::Queue, buf)?;
        Ok(buf)
    }

    /// At the foot of the prompt's window, over the lines in which the same prompts stand there.
    fn queue_window(&self, key: SessionKey) -> Result<Table> {
        let count = self.cx.sessions.get(&key).map_or(0, |session| session.queue().len());
        let prompt = self.chats.get(&key).and_then(|chat| chat.prompt_window(&self.cx.editor));
        let (columns, rows) = match prompt {
            Some(win) => self.cx.editor.win_size(win)?,
            None => self.cx.editor.size(),
        };
        let width = usize::from(columns).saturating_sub(2).max(10);
        let footer = footer(&self.cx.config.keys, width.saturating_sub(2));
        let mut config = vec![
            ("anchor", self.cx.editor.string("SW")?),
            ("row", Value::Integer(rows.into())),
            ("col", Value::Integer(0)),
            ("width", Value::Integer(width as i64)),
            ("height", Value::Integer(count.clamp(1, ROWS) as i64)),
            ("border", self.cx.editor.string("rounded")?),
            ("style", self.cx.editor.string("minimal")?),
            ("title", self.cx.editor.string(" Waiting prompts ")?),
            ("footer", self.cx.editor.string(footer)?),
        ];
        match prompt {
            Some(win) => {
                config.push(("relative", self.cx.editor.string("win")?));
                config.push(("win", Value::Integer(win.0)));
            }
            None => config.push(("relative", self.cx.editor.string("editor")?)),
        }
        self.cx.editor.lua.create_table_from(config)
    }

    /// The line has changed: so does the list, if it is open.
    pub fn draw_queue(&mut self, key: SessionKey) -> Result<()> {
        let Some(QueueList { buf, win, .. }) = self.queue_list.as_ref().filter(|list| list.session == key)
        else {
            return Ok(());
        };
        let (buf, win) = (*buf, *win);
        if !self.cx.editor.win_is_valid(win) || !self.cx.editor.buf_is_loaded(buf) {
            self.queue_list = None;
            return Ok(());
        }
        let texts: Vec<String> =
            self.cx.sessions.get(&key).map_or_else(Vec::new, |session| {
                session.queue().iter().map(|queued| queued.line()).collect()
            });
        if texts.is_empty() {
            return self.close_queue(key);
        }
        let (columns, _) = self.cx.editor.win_size(win)?;
        let digits = texts.len().to_string().len();
        let room = usize::from(columns).saturating_sub(digits + 3).max(8);
        let lines: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| format!(" {:>digits$} {}", at + 1, cut_end(text, room)))
            .collect();
        let count = self.cx.editor.line_count(buf)?;
        self.cx.editor.set_buf_option(buf, "modifiable", true)?;
        self.cx.editor.set_lines(buf, 0..count, &lines)?;
        self.cx.editor.set_buf_option(buf, "modifiable", false)?;
        let config = self.queue_window(key)?;
        self.cx.editor.api::<()>("nvim_win_set_config", (win, config))
    }

    fn close_queue(&mut self, key: SessionKey) -> Result<()> {
        if let Some(list) = self.queue_list.take()
            && self.cx.editor.win_is_valid(list.win)
        {
            let was_here = self.cx.editor.current_win()? == list.win;
            self.cx.editor.close_win(list.win)?;
            let prompt = self.chats.get(&key).and_then(|chat| chat.prompt_window(&self.cx.editor));
            if let Some(win) = prompt.filter(|_| was_here) {
                self.cx.editor.set_current_win(win)?;
            }
        }
        Ok(())
    }

    pub fn queue_key(&mut self, name: &str) -> Option<Result<()>> {
        if !name.starts_with("queue_") {
            return None;
        }
        let list = self.queue_list.as_ref()?;
        let (key, win) = (list.session, list.win);
        Some(self.act_on_queued(name, key, win))
    }

    fn act_on_queued(&mut self, name: &str, key: SessionKey, win: Win) -> Result<()> {
        let index = self.cx.editor.cursor(win)?.0 - 1;
        let before = self.cx.sessions.get(&key).map_or(0, |session| session.queue().len());
        match name {
            "queue_close" => return self.close_queue(key),
            "queue_edit" => {
                if self.take_back(key, Some(index))? {
                    self.close_queue(key)?;
                    return self.show(key);
                }
            }
            "queue_remove" => self.remove_queued(key, index)?,
            "queue_send" => {
                self.send_queued(key, index)?;
                return self.frame_due();
            }
            "queue_up" | "queue_down" => {
                let to = if name == "queue_up" { index.saturating_sub(1) } else { index + 1 };
                self.move_queued(key, index, to)?;
                let last = self.cx.editor.line_count(self.cx.editor.win_buf(win)?)?;
                return self.cx.editor.set_cursor(win, (to + 1).min(last), 0);
            }
            _ => return fail(format!("there is no key {name:?}")),
        }
        let after = self.cx.sessions.get(&key).map_or(0, |session| session.queue().len());
        if before == after {
            return fail("this prompt is already in the chat; it is sent again automatically");
        }
        Ok(())
    }
}

/// The list's keys as they are bound; in a narrow window the last ones are those to miss.
fn footer(keys: &Keys, width: usize) -> String {
    let mut footer = String::new();
    let moves = ["queue_up", "queue_down"].map(|name| keys.get(name).first().map_or("", String::as_str));
    let first = |name: &str| keys.get(name).first().cloned().unwrap_or_default();
    for (lhs, what) in [
        (first("queue_edit"), "edit"),
        (first("queue_remove"), "remove"),
        (moves.join(" ").trim().to_owned(), "move"),
        (first("queue_send"), "send now"),
        (first("queue_close"), "back"),
    ] {
        let part = format!("{lhs} {what}");
        let space = if footer.is_empty() { 0 } else { 3 };
        if lhs.is_empty() || footer.chars().count() + space + part.chars().count() > width {
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
            footer(&keys, 80),
            " <CR> edit \u{b7} dd remove \u{b7} K J move \u{b7} s send now \u{b7} q back "
        );
        assert_eq!(footer(&keys, 34), " <CR> edit \u{b7} dd remove \u{b7} K J move ");
    }
}

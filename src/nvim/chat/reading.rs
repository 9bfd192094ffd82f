//! What a reader of the transcript may ask for: an entry in full, a block of code, an outline.

use mlua::{Result, Value};

use crate::core::ids::{EntryId, SessionKey, TerminalId};
use crate::core::session::entry::Body;
use crate::core::text::fitting::cut_end;
use crate::core::text::visible::{visible, visible_line};
use crate::core::transcript::details::details;
use crate::core::transcript::reading::{code_block_at, headings};
use crate::core::transcript::{Drawing, UNPRINTABLE};
use crate::nvim::arguments::fail;
use crate::nvim::chat::Chats;
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::editor::float::float;

impl Chats {
    pub fn show_details(&self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(entry) = self.entry_under_cursor(cx, key)? else { return Ok(()) };
        let tail = |terminal: &TerminalId| cx.tails.get(key, terminal);
        let page = cx.sessions.get(&key).and_then(|session| details(session, entry, &tail));
        let Some(Drawing { lines, marks, .. }) = page else {
            return match self.why_plain(cx, key)? {
                Some(reason) => {
                    cx.notify(format!("these lines have no colours: {reason}"), Level::Info);
                    Ok(())
                }
                None => fail("the transcript already shows everything about this entry"),
            };
        };
        let win = float(&cx.editor, &lines)?;
        let buf = cx.editor.win_buf(win)?;
        cx.editor.set_buf_option(buf, "filetype", "acp-details")?;
        self.highlight.attach(buf);
        self.highlight.open(buf, 0, 0);
        self.highlight.close(buf, 0, lines.len());
        let list = cx.editor.lua.create_table()?;
        for mark in marks {
            list.raw_push(mark.row)?;
            list.raw_push(mark.start)?;
            list.raw_push(cx.editor.table([
                ("end_col", Value::Integer(mark.end as i64)),
                ("hl_group", cx.editor.string(mark.group)?),
            ])?)?;
        }
        let marks = cx.editor.namespace("acp.marks")?;
        cx.editor.paint(buf, marks, list)?;
        cx.editor.helper("yank_meant", (buf, marks, UNPRINTABLE))
    }

    /// Why the code under the cursor was not given to a parser.
    fn why_plain(&self, cx: &Context, key: SessionKey) -> Result<Option<String>> {
        let Some(chat) = self.open.get(&key) else { return Ok(None) };
        let Some(win) = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor)) else { return Ok(None) };
        let (line, _) = cx.editor.cursor(win)?;
        Ok(self.highlight.why_plain(chat.transcript, line - 1))
    }

    /// Into the register that was named before the key, as any yank.
    pub fn yank_code(&self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(entry) = self.entry_under_cursor(cx, key)? else { return Ok(()) };
        let Some(chat) = self.open.get(&key) else { return Ok(()) };
        let Some(win) = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor)) else { return Ok(()) };
        let (line, _) = cx.editor.cursor(win)?;
        let (start, end) = (chat.start_row(&cx.editor, entry)?, chat.end_row(&cx.editor, entry)?);
        let lines = cx.editor.lines(chat.transcript, start as i64, end as i64)?;
        let Some(block) = code_block_at(&lines, line - 1 - start).filter(|block| !block.is_empty()) else {
            return fail("there is no block of code under the cursor");
        };
        let register: String = cx.editor.module("v")?.get("register")?;
        let register = if register == "\"" { String::new() } else { register };
        let (first, last) = (start + block.start + 1, start + block.end);
        cx.editor.command(&format!("silent {first},{last}yank {register}"))?;
        let count = block.len();
        let text = if count == 1 { "1 line yanked".to_owned() } else { format!("{count} lines yanked") };
        cx.notify(text, Level::Info);
        Ok(())
    }

    /// What was asked, and the headings of what was answered, in the window's location list.
    pub fn show_outline(&self, cx: &Context, key: SessionKey) -> Result<()> {
        let (Some(chat), Some(session)) = (self.open.get(&key), cx.sessions.get(&key)) else {
            return Ok(());
        };
        let Some(win) = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor)) else { return Ok(()) };
        let items = cx.editor.lua.create_table()?;
        let add = |row: usize, text: String| -> Result<()> {
            items.raw_push(cx.editor.table([
                ("bufnr", Value::Integer(chat.transcript.0)),
                ("lnum", Value::Integer(row as i64 + 1)),
                ("text", cx.editor.string(&*visible(&text))?),
            ])?)
        };
        for id in chat.shown().iter().copied().map(EntryId) {
            match session.entry(id).map(|entry| &entry.body) {
                Some(Body::User { text, .. }) => {
                    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                    add(chat.head_row(&cx.editor, id)?, cut_end(first.trim(), 100))?;
                }
                Some(Body::Message { .. }) => {
                    let (start, end) = (chat.start_row(&cx.editor, id)?, chat.end_row(&cx.editor, id)?);
                    let lines = cx.editor.lines(chat.transcript, start as i64, end as i64)?;
                    for (row, level, words) in headings(&lines) {
                        add(start + row, format!("{}{words}", "  ".repeat(level)))?;
                    }
                }
                _ => {}
            }
        }
        if items.raw_len() == 0 {
            return fail("nothing has been asked here yet");
        }
        let title = session.title.clone().unwrap_or_else(|| session.name());
        cx.editor.set_current_win(win)?;
        cx.editor.helper("outline", (win.0, items, visible_line(&title)))
    }
}

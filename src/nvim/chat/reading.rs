//! What a reader of the transcript may ask for: an entry in full, a block of code, an outline.

use mlua::{Result, Value};

use crate::core::ids::{EntryId, SessionKey, TerminalId};
use crate::core::session::entry::Body;
use crate::core::text::visible::{visible, visible_line};
use crate::core::transcript::details::details;
use crate::core::transcript::reading::{code_block_at, headings};
use crate::core::transcript::{Drawing, UNPRINTABLE, cut_end};
use crate::nvim::actions::fail;
use crate::nvim::actions::views::float;
use crate::nvim::app::App;
use crate::nvim::editor::Level;

impl App {
    pub fn show_details(&mut self, key: SessionKey) -> Result<()> {
        let Some(entry) = self.entry_under_cursor(key)? else { return Ok(()) };
        let entry = self.sessions.get(&key).and_then(|session| session.entry(entry));
        let tail = |terminal: &TerminalId| self.terminals.tail(&(key, terminal.clone()));
        let Some(Drawing { lines, marks, .. }) = entry.and_then(|entry| details(entry, &tail)) else {
            return match self.why_plain(key)? {
                Some(reason) => {
                    self.advise(format!("these lines have no colours: {reason}"), Level::Info);
                    Ok(())
                }
                None => fail("the transcript shows all there is to know of this entry"),
            };
        };
        let win = float(&self.editor, &lines)?;
        let buf = self.editor.win_buf(win)?;
        self.editor.set_buf_option(buf, "filetype", "acp-details")?;
        self.editor.set_win_option(win, "wrap", true)?;
        self.editor.set_win_option(win, "linebreak", true)?;
        self.highlight.attach(buf);
        self.highlight.open(buf, 0, 0);
        self.highlight.close(buf, 0, lines.len());
        let list = self.editor.lua.create_table()?;
        for mark in marks {
            list.raw_push(mark.row)?;
            list.raw_push(mark.start)?;
            list.raw_push(self.editor.table([
                ("end_col", Value::Integer(mark.end as i64)),
                ("hl_group", self.editor.string(mark.group)?),
            ])?)?;
        }
        let marks = self.editor.namespace("acp.marks")?;
        self.editor.paint(buf, marks, list)?;
        self.editor.helper("yank_meant", (buf, marks, UNPRINTABLE))
    }

    /// Why the code under the cursor was not given to a parser.
    fn why_plain(&self, key: SessionKey) -> Result<Option<String>> {
        let Some(chat) = self.chats.get(&key) else { return Ok(None) };
        let Some(win) = chat.window(&self.editor) else { return Ok(None) };
        let (line, _) = self.editor.cursor(win)?;
        Ok(self.highlight.why_plain(chat.transcript, line - 1))
    }

    /// Into the register that was named before the key, as any yank.
    pub fn yank_code(&mut self, key: SessionKey) -> Result<()> {
        let Some(entry) = self.entry_under_cursor(key)? else { return Ok(()) };
        let Some(chat) = self.chats.get(&key) else { return Ok(()) };
        let Some(win) = chat.window(&self.editor) else { return Ok(()) };
        let (line, _) = self.editor.cursor(win)?;
        let (start, end) = (chat.start_row(&self.editor, entry)?, chat.end_row(&self.editor, entry)?);
        let lines = self.editor.lines(chat.transcript, start as i64, end as i64)?;
        let Some(block) = code_block_at(&lines, line - 1 - start).filter(|block| !block.is_empty()) else {
            return fail("there is no block of code under the cursor");
        };
        let register: String = self.editor.module("v")?.get("register")?;
        let register = if register == "\"" { String::new() } else { register };
        let (first, last) = (start + block.start + 1, start + block.end);
        self.editor.command(&format!("silent {first},{last}yank {register}"))?;
        let count = block.len();
        let text = if count == 1 { "1 line yanked".to_owned() } else { format!("{count} lines yanked") };
        self.advise(text, Level::Info);
        Ok(())
    }

    /// What was asked, and the headings of what was answered, in the window's location list.
    pub fn show_outline(&mut self, key: SessionKey) -> Result<()> {
        let (Some(chat), Some(session)) = (self.chats.get(&key), self.sessions.get(&key)) else {
            return Ok(());
        };
        let Some(win) = chat.window(&self.editor) else { return Ok(()) };
        let items = self.editor.lua.create_table()?;
        let add = |row: usize, text: String| -> Result<()> {
            items.raw_push(self.editor.table([
                ("bufnr", Value::Integer(chat.transcript.0)),
                ("lnum", Value::Integer(row as i64 + 1)),
                ("text", self.editor.string(&*visible(&text))?),
            ])?)
        };
        for id in chat.shown().iter().copied().map(EntryId) {
            match session.entry(id).map(|entry| &entry.body) {
                Some(Body::User { text, .. }) => {
                    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                    add(chat.head_row(&self.editor, id)?, cut_end(first.trim(), 100))?;
                }
                Some(Body::Message { .. }) => {
                    let (start, end) = (chat.start_row(&self.editor, id)?, chat.end_row(&self.editor, id)?);
                    let lines = self.editor.lines(chat.transcript, start as i64, end as i64)?;
                    for (row, level, words) in headings(&lines) {
                        add(start + row, format!("{}{words}", "  ".repeat(level)))?;
                    }
                }
                _ => {}
            }
        }
        if items.raw_len() == 0 {
            return fail("nothing was asked in here yet");
        }
        let title = session.title.clone().unwrap_or_else(|| session.name());
        let what = self
            .editor
            .table([("items", Value::Table(items)), ("title", self.editor.string(visible_line(&title))?)])?;
        let none = self.editor.lua.create_table()?;
        self.editor.func::<Value>("setloclist", (win.0, none, " ", what))?;
        self.editor.set_current_win(win)?;
        self.editor.command("lopen")
    }
}

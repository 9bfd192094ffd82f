//! Moving through the transcript, and from it to what it is about.

use std::path::Path;

use mlua::Result;

use super::fail;
use crate::core::message::SessionKey;
use crate::nvim::app::App;
use crate::nvim::follow;

impl App {
    pub(super) fn entry_under_cursor(&self, key: SessionKey) -> Result<Option<crate::core::entry::EntryId>> {
        let Some(chat) = self.chats.get(&key) else { return Ok(None) };
        let Some(win) = chat.window(&self.editor) else { return Ok(None) };
        let (line, _) = self.editor.cursor(win)?;
        chat.entry_at(&self.editor, line - 1)
    }

    /// To the next or previous entry, as `]]` and `[[` go through sections.
    pub(super) fn step(&mut self, key: SessionKey, forward: bool) -> Result<()> {
        let count: usize = self.editor.module("v")?.get("count1")?;
        let Some(entry) = self.entry_under_cursor(key)? else { return Ok(()) };
        let (Some(chat), Some(session)) = (self.chats.get(&key), self.sessions.get(&key)) else {
            return Ok(());
        };
        let Some(win) = chat.window(&self.editor) else { return Ok(()) };
        let last = session.entries().len().saturating_sub(1);
        let target = if forward { (entry.0 + count).min(last) } else { entry.0.saturating_sub(count) };
        let row = chat.start_row(&self.editor, crate::core::entry::EntryId(target))?;
        let lines = self.editor.lines(chat.transcript, row as i64, row as i64 + 1)?;
        // The blank line that sets an entry off is not where one wants to be.
        let row = if lines.first().is_some_and(String::is_empty) && target > 0 { row + 1 } else { row };
        let count = self.editor.line_count(chat.transcript)?;
        self.editor.set_cursor(win, (row + 1).min(count), 0)
    }

    /// To the file or terminal that the entry is about.
    pub(super) fn go_to(&mut self, key: SessionKey) -> Result<()> {
        let Some(entry) = self.entry_under_cursor(key)? else { return Ok(()) };
        let Some(session) = self.sessions.get(&key) else { return Ok(()) };
        let waiting = session.asks().iter().find(|open| open.entry == entry).map(|open| open.ask);
        if let Some(ask) = waiting {
            self.put_up(key, ask);
            return Ok(());
        }
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else {
            return fail("this entry is about no file");
        };
        let terminal = call.terminals().next().cloned();
        let place = call.places().first().map(|place| (session.place.cwd.join(&place.path), place.line));
        if let Some(terminal) = terminal {
            let terminal = (key, terminal);
            if self.terminals.get(&terminal).is_none() {
                return fail("the agent has shown nothing of this command yet");
            }
            return self.enter_terminal(&terminal);
        }
        let Some((path, line)) = place else { return fail("this entry is about no file") };
        if !path.is_file() {
            return fail(format!("{} is no file that can be opened", path.display()));
        }
        self.go_to_file(&path, line, None)
    }

    /// Shows a file in the window for code, and goes there; the line and the column are 1-based.
    pub(super) fn go_to_file(&mut self, path: &Path, line: Option<u32>, column: Option<u32>) -> Result<()> {
        let Some(win) = follow::code_window(&self.editor)? else { return Ok(()) };
        let buf = follow::load(&self.editor, path)?;
        self.editor.set_current_win(win)?;
        self.editor.command("normal! m'")?;
        self.editor.set_win_buf(win, buf)?;
        if let Some(line) = line.filter(|line| *line > 0) {
            let last = self.editor.line_count(buf)?;
            self.editor.set_cursor(
                win,
                (line as usize).min(last),
                column.map_or(0, |column| column as usize - 1),
            )?;
        }
        Ok(())
    }
}

//! Moving through the transcript, and from it to what it is about.

use mlua::Result;

use super::fail;
use crate::core::entry::EntryId;
use crate::core::message::SessionKey;
use crate::nvim::app::App;
use crate::nvim::chat::Fold;
use crate::nvim::follow;

impl App {
    pub(super) fn entry_under_cursor(&self, key: SessionKey) -> Result<Option<EntryId>> {
        let Some(chat) = self.chats.get(&key) else { return Ok(None) };
        let Some(win) = chat.window(&self.editor) else { return Ok(None) };
        let (line, _) = self.editor.cursor(win)?;
        chat.entry_at(&self.editor, line - 1)
    }

    /// Opens or folds what stands under the cursor.
    pub(super) fn toggle_fold(&mut self, key: SessionKey) -> Result<()> {
        let (Some(chat), Some(session)) = (self.chats.get_mut(&key), self.sessions.get_mut(&key)) else {
            return Ok(());
        };
        let Some(win) = chat.window(&self.editor) else { return Ok(()) };
        let (line, _) = self.editor.cursor(win)?;
        match chat.fold_at(&self.editor, line - 1)? {
            Some(Fold::Entry(entry)) => session.toggle(entry),
            Some(Fold::Run(run)) => {
                let open = chat.toggle_run(run.clone());
                // What was opened in it is folded along with it.
                for id in run.filter(|_| !open).map(EntryId) {
                    if session.entry(id).is_some_and(|entry| entry.open) {
                        session.toggle(id);
                    }
                }
            }
            None => {}
        }
        self.after_change(key)?;
        self.frame_due()
    }

    /// To the next or previous entry, as `]]` and `[[` go through sections.
    pub(super) fn step(&mut self, key: SessionKey, forward: bool) -> Result<()> {
        let count: usize = self.editor.module("v")?.get("count1")?;
        let Some(entry) = self.entry_under_cursor(key)? else { return Ok(()) };
        let Some(chat) = self.chats.get(&key) else { return Ok(()) };
        let Some(win) = chat.window(&self.editor) else { return Ok(()) };
        let shown = chat.shown();
        let here = shown.partition_point(|index| *index < entry.0);
        let target = if forward { (here + count).min(shown.len() - 1) } else { here.saturating_sub(count) };
        let target = shown[target];
        let row = chat.start_row(&self.editor, EntryId(target))?;
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
        let Some(win) = follow::code_window(&self.editor)? else { return Ok(()) };
        let buf = follow::load(&self.editor, &path)?;
        self.editor.set_current_win(win)?;
        self.editor.command("normal! m'")?;
        self.editor.set_win_buf(win, buf)?;
        if let Some(line) = line.filter(|line| *line > 0) {
            let last = self.editor.line_count(buf)?;
            self.editor.set_cursor(win, (line as usize).min(last), 0)?;
        }
        Ok(())
    }
}

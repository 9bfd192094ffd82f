//! The call that the user is asked about, where no window for files can show its changes: it is opened in the
//! transcript for as long as the question stands, and brought into sight. Which call that is, is left to the router.

use mlua::Result;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::session::question_queue::Sight;
use crate::nvim::chat::Chats;
use crate::nvim::context::Context;
use crate::nvim::editor::Win;
use crate::nvim::events::EditorEvent;

impl Chats {
    /// Has this call be open, and one that was opened for an earlier question folded again.
    pub fn unfold_asked(&mut self, cx: &mut Context, call: Option<(SessionKey, EntryId)>) {
        if self.unfolded == call {
            return;
        }
        self.go_back_to_end(cx);
        let before = self.unfolded.take().filter(|_| std::mem::take(&mut self.has_unfolded));
        let mut any = false;
        for ((key, entry), is_open) in
            before.map(|call| (call, true)).into_iter().chain(call.map(|call| (call, false)))
        {
            let Some(session) = cx.sessions.get_mut(&key) else { continue };
            // The user may have done it already.
            if session.entry(entry).is_some_and(|entry| entry.open == is_open) {
                session.toggle(entry);
                cx.raise(EditorEvent::SessionChanged(key));
                (self.has_unfolded, any) = (!is_open, true);
            }
        }
        if any {
            cx.raise(EditorEvent::DrawingWanted);
        }
        self.unfolded = call;
    }

    /// Whether a call can be seen from its first line to its last while so many rows at the bottom of the screen are
    /// covered. The transcript is scrolled for it: so that all can be seen, or else read from the first line on.
    pub fn sight_of(
        &mut self,
        cx: &Context,
        (key, entry): (SessionKey, EntryId),
        covered: usize,
    ) -> Result<Sight> {
        let win = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor));
        let (Some(chat), Some(win)) = (self.open.get(&key), win) else { return Ok(Sight::Part) };
        let (first, end) = (chat.head_row(&cx.editor, entry)?, chat.end_row(&cx.editor, entry)?);
        let last = end.saturating_sub(1);
        let needed: usize = cx.editor.helper("rows_of_lines", (win, first, last))?;
        let room: usize = cx.editor.helper("rows_in_sight", (win, covered))?;
        if needed > room {
            self.read_from(cx, win, first)?;
            return Ok(Sight::Part);
        }
        let seen: usize = cx.editor.helper("first_line_in_sight", win)?;
        let rows = |from: usize| -> Result<usize> { cx.editor.helper("rows_of_lines", (win, from, last)) };
        if seen <= first && rows(seen)? <= room {
            return Ok(Sight::Whole);
        }
        cx.editor.helper::<()>("scroll_to", (win, first))?;
        let seen: usize = cx.editor.helper("first_line_in_sight", win)?;
        Ok(if seen <= first && rows(seen)? <= room { Sight::Whole } else { Sight::Part })
    }

    /// The user has closed the page of what they are asked about, and Neovim may have put them into the chat for it.
    pub fn proposal_put_away(&mut self) {
        self.is_put_away = true;
    }

    /// Whoever came to the end of a chat by that is on the call: another question may stand at the end, and a command
    /// would answer that one.
    pub fn enter_put_away(&mut self, cx: &Context, call: Option<(SessionKey, EntryId)>) -> Result<()> {
        let Some((key, entry)) = call.filter(|_| std::mem::take(&mut self.is_put_away)) else {
            return Ok(());
        };
        let win = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor));
        let (Some(chat), Some(win)) = (self.open.get(&key), win) else { return Ok(()) };
        let last = cx.editor.line_count(cx.editor.win_buf(win)?)?;
        if cx.editor.current_win()? != win || cx.editor.cursor(win)?.0 != last {
            return Ok(());
        }
        let line = chat.head_row(&cx.editor, entry)? + 1;
        self.read_from = Some(line);
        cx.editor.set_cursor(win, line, 0)
    }

    /// Takes a transcript that stands at its end to a row, once. Who reads in it is left where they are.
    fn read_from(&mut self, cx: &Context, win: Win, row: usize) -> Result<()> {
        let last = cx.editor.line_count(cx.editor.win_buf(win)?)?;
        let is_at_end = cx.editor.cursor(win)?.0 == last;
        if self.read_from.is_some() || !is_at_end || cx.editor.current_win()? == win {
            return Ok(());
        }
        self.read_from = Some(row + 1);
        cx.editor.set_cursor(win, row + 1, 0)?;
        cx.editor.helper("scroll_to", (win, row))
    }

    /// The transcript goes on with what comes, unless somebody has begun to read in it.
    fn go_back_to_end(&mut self, cx: &Context) {
        let (Some(line), Some((key, _))) = (self.read_from.take(), self.unfolded) else { return };
        let Some(win) = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor)) else { return };
        let go = || -> Result<()> {
            if cx.editor.cursor(win)?.0 != line {
                return Ok(());
            }
            let last = cx.editor.line_count(cx.editor.win_buf(win)?)?;
            cx.editor.set_cursor(win, last, 0)
        };
        cx.editor.notify_error(go());
    }
}

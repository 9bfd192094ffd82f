//! Moving through the transcript, and from it to what it is about.

use mlua::{Result, Table};

use crate::core::ids::{EntryId, SessionKey, TerminalId};
use crate::core::session::entry::{Body, Entry};
use crate::core::transcript::clicks::{Clicked, Meaning};
use crate::core::transcript::reading::reference_at;
use crate::nvim::chat::Chats;
use crate::nvim::chat::canvas::Fold;
use crate::nvim::chat::window_events::leave_insert_mode;
use crate::nvim::context::Context;
use crate::nvim::events::EditorEvent;
use crate::nvim::keys::last_input::clicked_from;

impl Chats {
    /// The chat whose transcript the user is in, and the entry that the cursor is on.
    pub fn here(&self, cx: &Context) -> Result<Option<(SessionKey, Option<EntryId>)>> {
        let buf = cx.editor.current_buf()?;
        let Some(key) = cx.chat_of_transcript(buf) else { return Ok(None) };
        Ok(Some((key, self.entry_under_cursor(cx, key)?)))
    }

    /// The entry that the cursor is on, if it is in a transcript.
    pub fn entry_here(&self, cx: &Context) -> Result<Option<(SessionKey, EntryId)>> {
        Ok(self.here(cx)?.and_then(|(key, entry)| Some((key, entry?))))
    }

    pub fn entry_under_cursor(&self, cx: &Context, key: SessionKey) -> Result<Option<EntryId>> {
        let Some(chat) = self.open.get(&key) else { return Ok(None) };
        let Some(win) = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor)) else { return Ok(None) };
        let (line, _) = cx.editor.cursor(win)?;
        chat.entry_at(&cx.editor, line - 1)
    }

    /// Opens or folds what stands under the cursor.
    pub fn toggle_fold(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let (Some(chat), Some(session)) = (self.open.get_mut(&key), cx.sessions.get_mut(&key)) else {
            return Ok(());
        };
        let Some(win) = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor)) else { return Ok(()) };
        let (line, _) = cx.editor.cursor(win)?;
        match chat.fold_at(&cx.editor, line - 1)? {
            Some(Fold::Entry(entry)) => {
                session.toggle(entry);
                let is_open = session.entry(entry).is_some_and(|entry| entry.open);
                self.opened = is_open.then_some((key, entry, entry));
            }
            Some(Fold::Run(run)) => {
                let open = chat.toggle_run(run.clone());
                let last = EntryId(run.end.saturating_sub(1));
                self.opened = open.then_some((key, EntryId(run.start), last));
                // What was opened in it is folded along with it.
                for id in run.filter(|_| !open).map(EntryId) {
                    if session.entry(id).is_some_and(|entry| entry.open) {
                        session.toggle(id);
                    }
                }
            }
            None => {}
        }
        cx.raise(EditorEvent::SessionChanged(key));
        cx.raise(EditorEvent::FrameDue);
        Ok(())
    }

    /// What the user has opened is brought into sight once it is drawn, as far as its first line stays there.
    pub(super) fn show_opened(&mut self, cx: &Context) -> Result<()> {
        let open = &self.open;
        let is_drawn = |(key, ..): &mut (SessionKey, EntryId, EntryId)| {
            open.get(key).is_none_or(|chat| !chat.has_waiting())
        };
        let Some((key, first, last)) = self.opened.take_if(is_drawn) else { return Ok(()) };
        let win = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor));
        let (Some(chat), Some(win)) = (self.open.get(&key), win) else { return Ok(()) };
        let (first, end) = (chat.head_row(&cx.editor, first)?, chat.end_row(&cx.editor, last)?);
        cx.editor.helper("show_lines", (win, first, end.saturating_sub(1)))
    }

    /// The mouse was clicked: what the line under it is about is done to it, if it is about something. Neovim
    /// has moved the cursor there already.
    pub fn click(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        // There is nothing to type here for who has been typing into the prompt.
        leave_insert_mode(cx)?;
        let Some(chat) = self.open.get(&key) else { return Ok(()) };
        let Some(win) = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor)) else { return Ok(()) };
        // Who was elsewhere wanted to come here, no more. The prompt belongs to the chat.
        if !clicked_from().is_some_and(|buf| buf == chat.transcript || buf == chat.prompt) {
            return Ok(());
        }
        let mouse: Table = cx.editor.func("getmousepos", ())?;
        let (clicked, line, column): (i64, usize, usize) =
            (mouse.get("winid")?, mouse.get("line")?, mouse.get("column")?);
        let (here, _) = cx.editor.cursor(win)?;
        // Beside the text nothing is meant, and a bar or a border is no line.
        if clicked != win.0 || line == 0 || line != here {
            return Ok(());
        }
        let row = line - 1;
        let text = cx.editor.lines(chat.transcript, row as i64, row as i64 + 1)?;
        let text = text.first().map(String::as_str).unwrap_or_default();
        if text.trim().is_empty() || column > text.len() {
            return Ok(());
        }
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let Some(Fold::Entry(entry)) = chat.fold_at(&cx.editor, row)? else {
            return self.toggle_fold(cx, key);
        };
        let asks = session.asks().iter().any(|open| open.entry == entry);
        let tail = |terminal: &TerminalId| cx.tails.get(key, terminal);
        if asks && let Some(number) = chat.answer_at(&cx.editor, session, &tail, (row, column - 1))? {
            cx.raise(EditorEvent::AnswerChosen { session: key, entry, number });
            return Ok(());
        }
        let leads = chat.target_at(&cx.editor, session, &tail, row)?.is_some()
            || chat.picture_at(&cx.editor, session, &tail, row)?.is_some();
        let named = reference_at(text, column - 1).map(|named| session.place.cwd.join(named.path));
        let folds = session.entry(entry).is_some_and(|entry| {
            matches!(
                entry.body,
                Body::Tool(_)
                    | Body::Thought { .. }
                    | Body::Compaction(_)
                    | Body::Document(_)
                    | Body::Written(_)
                    | Body::Subagent(_)
                    | Body::Relayed(_)
            )
        });
        let folds = folds && row == chat.head_row(&cx.editor, entry)?;
        match named {
            Some(named) if !asks && !leads => {
                cx.look_first(&named, move |this: &mut Self, cx, look| {
                    this.clicked(cx, key, Clicked { asks, leads: look.finds_file(), folds })
                });
                Ok(())
            }
            _ => self.clicked(cx, key, Clicked { asks, leads, folds }),
        }
    }

    fn clicked(&mut self, cx: &mut Context, key: SessionKey, clicked: Clicked) -> Result<()> {
        match clicked.meaning() {
            Meaning::GoTo => {
                cx.raise(EditorEvent::EntryChosen(key));
                Ok(())
            }
            Meaning::Fold => self.toggle_fold(cx, key),
            Meaning::Nothing => Ok(()),
        }
    }

    /// To the next or previous of the entries that are meant, as `]]` and `[[` go through sections.
    pub fn step(
        &self,
        cx: &Context,
        key: SessionKey,
        forward: bool,
        meant: fn(&Entry) -> bool,
    ) -> Result<()> {
        let count = cx.editor.count()?;
        let Some(here) = self.entry_under_cursor(cx, key)? else { return Ok(()) };
        let (Some(chat), Some(session)) = (self.open.get(&key), cx.sessions.get(&key)) else {
            return Ok(());
        };
        let Some(win) = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor)) else { return Ok(()) };
        let shown = chat.shown();
        let fits = |index: &&usize| session.entry(EntryId(**index)).is_some_and(meant);
        let found: Vec<usize> = if forward {
            let from = shown.partition_point(|index| *index <= here.0);
            shown[from..].iter().filter(fits).take(count).copied().collect()
        } else {
            let to = shown.partition_point(|index| *index < here.0);
            shown[..to].iter().rev().filter(fits).take(count).copied().collect()
        };
        // Where there are fewer, the last one is as far as it goes.
        let Some(target) = found.last() else { return Ok(()) };
        let row = chat.head_row(&cx.editor, EntryId(*target))?;
        let count = cx.editor.line_count(chat.transcript)?;
        cx.editor.set_cursor(win, (row + 1).min(count), 0)
    }
}

pub fn is_call(entry: &Entry) -> bool {
    matches!(entry.body, Body::Tool(_) | Body::Subagent(_) | Body::Elicitation(_) | Body::Written(_))
}

pub fn has_change(entry: &Entry) -> bool {
    matches!(entry.body, Body::Written(_)) || entry.tool().is_some_and(|call| call.diffs().next().is_some())
}

//! What the user does to windows, as far as chats have to do with it: closing one of a chat's two,
//! or the last one that is no chat's.

use std::time::Duration;

use mlua::{Result, Value};

use crate::core::ids::SessionKey;
use crate::core::quit::{Quit, Shows, Step};
use crate::core::session::{Phase, Session};
use crate::nvim::chat::Chats;
use crate::nvim::chat::windows::Left;
use crate::nvim::context::{ChatBuffers, Context};
use crate::nvim::editor::code_window::split as split_off;
use crate::nvim::editor::{Buf, Editor, Level, Win};

impl Chats {
    /// The text in a session's prompt has changed.
    pub fn fit_prompt(&mut self, cx: &Context, key: SessionKey) -> Result<()> {
        cx.chats.get(&key).map_or(Ok(()), |chat| self.windows.fit_prompt(&cx.editor, chat))
    }

    /// The user is in a window that was just made.
    pub fn window_opened(&mut self, cx: &Context) -> Result<()> {
        let win = cx.editor.current_win()?;
        // What floats moves no other window.
        if cx.editor.is_floating(win) {
            return Ok(());
        }
        self.windows.moved_by_others();
        self.windows.note_split(&cx.editor, win)?;
        cx.editor.helper("keep_on_screen", ())
    }

    /// The screen has another size.
    pub fn windows_moved(&mut self) {
        self.windows.moved_by_others();
    }

    /// The user is in another window. A chat that floats over it goes: what is behind it could not be seen.
    pub fn window_entered(&self, cx: &Context) -> Result<()> {
        if !self.windows.may_float() {
            return Ok(());
        }
        // Not now: many go to a window only to come back.
        cx.later(Duration::ZERO, |this: &mut Self, cx| {
            let over = this.windows.floats_over_current(&cx.editor)?;
            let Some(chat) = over.and_then(|key| cx.chats.get(&key)) else { return Ok(()) };
            this.windows.hide(&cx.editor, chat)
        })
    }

    /// The transcript of a chat was shown in a window: it is the one at hand.
    pub fn transcript_shown(&mut self, cx: &mut Context, buf: Buf) {
        if let Some(key) = cx.chat_of_transcript(buf) {
            cx.current = Some(key);
            self.redraw_bar(cx, key);
        }
    }

    /// A buffer was shown in a window. In one of a chat's it does not stay, nor does a file among them.
    pub fn buffer_shown(&mut self, cx: &Context, buf: Buf) -> Result<()> {
        if let Some(chat) = cx.chats.values().find(|chat| chat.contains(buf)) {
            return match self.windows.is_torn(&cx.editor, chat, buf) {
                true => self.join(cx, chat.session, buf),
                false => Ok(()),
            };
        }
        let is_split = self.windows.split_for(&cx.editor, buf).is_some();
        if !is_split && self.windows.taken_by(&cx.editor, buf).is_none() {
            return Ok(());
        }
        // Not now: who opens it is in the middle of that, and goes to a line next.
        cx.later(Duration::ZERO, move |this: &mut Self, cx| {
            if let Some(win) = this.windows.split_for(&cx.editor, buf) {
                this.windows.move_out(&cx.editor, win, &cx.config.window)?;
                return leave_insert_mode(cx);
            }
            let Some(taken) = this.windows.taken_by(&cx.editor, buf) else { return Ok(()) };
            this.windows.take_back(&cx.editor, taken, cx.chats.get(&taken.session))?;
            leave_insert_mode(cx)?;
            this.redraw_bar(cx, taken.session);
            Ok(())
        })
    }

    /// Shows the other half of a chat as well of which one was shown in the windows of another, or in its other window.
    fn join(&self, cx: &Context, key: SessionKey, buf: Buf) -> Result<()> {
        // Not now: the plugin's own change of both is half done.
        cx.later(Duration::ZERO, move |this: &mut Self, cx| {
            let Some(chat) = cx.chats.get(&key) else { return Ok(()) };
            let chats: Vec<&ChatBuffers> = cx.chats.values().collect();
            this.windows.join(&cx.editor, chat, buf, &chats)?;
            this.redraw_bar(cx, key);
            Ok(())
        })
    }

    /// A window is about to be closed.
    pub fn window_closing(&mut self, cx: &mut Context, win: Win) -> Result<()> {
        if !cx.editor.is_floating(win) {
            self.windows.moved_by_others();
        }
        let chats: Vec<&ChatBuffers> = cx.chats.values().collect();
        match self.windows.closing(&cx.editor, win, &chats) {
            // Not now: Neovim is in the middle of it.
            Some(other) => {
                let held = cx.editor.hold_terminals()?;
                cx.later(Duration::ZERO, move |this: &mut Self, cx| {
                    let closed = this.half_closed(cx, win, other);
                    cx.editor.release_terminals(held)?;
                    closed
                })
            }
            None => Ok(()),
        }
    }

    /// One of a chat's two windows was closed: so is the other, unless there is nothing else to see.
    fn half_closed(&mut self, cx: &mut Context, win: Win, other: Win) -> Result<()> {
        match self.windows.closed(&cx.editor, win, other) {
            Left::Nothing => {}
            Left::Close(other) => {
                let buf = cx.editor.win_buf(other)?;
                let closed = cx.chats.values().find(|chat| chat.contains(buf)).map(|chat| chat.session);
                cx.editor.close_win(other)?;
                closed.into_iter().try_for_each(|key| self.hide_plan(cx, key))?;
            }
            Left::Mend(other) => return self.mend(cx, other),
        }
        leave_insert_mode(cx)
    }

    /// Completes the chat of which only one window is left.
    fn mend(&mut self, cx: &mut Context, left: Win) -> Result<()> {
        let buf = cx.editor.win_buf(left)?;
        let Some(chat) = cx.chats.values().find(|chat| chat.contains(buf)) else { return Ok(()) };
        if [chat.transcript, chat.prompt].iter().any(|buf| !cx.editor.buf_is_loaded(*buf)) {
            // It was `:bdelete` or the like: the user wants the chat to go, as with `:quit`.
            self.windows.hide(&cx.editor, chat)?;
            return leave_insert_mode(cx);
        }
        let chats: Vec<&ChatBuffers> = cx.chats.values().collect();
        self.windows.place(&cx.editor, chat, &chats, &cx.config.window)?;
        let key = chat.session;
        self.redraw_bar(cx, key);
        Ok(())
    }

    /// `:quit` and the like, before they are carried out: Neovim closes the window next, or leaves with the last one.
    pub fn quitting(&mut self, cx: &mut Context) -> Result<()> {
        let win = cx.editor.current_win()?;
        if cx.editor.is_floating(win) {
            return Ok(());
        }
        let others = self.windows.only_beside(&cx.editor, win)?;
        if others.is_empty() {
            return self.quitting_alone(cx, win);
        }
        let busy = busy_session(cx);
        let hidden = hidden_file(&cx.editor)?;
        let quit = Quit {
            shows: self.windows.shows(&cx.editor, win),
            last_tab: cx.editor.api::<Vec<i64>>("nvim_list_tabpages", ())?.len() == 1,
            has_hidden_file: hidden.is_some(),
            busy: busy.is_some() && busy != self.told_busy,
        };
        match (quit.step(), hidden) {
            (Step::OnlyWindow, _) => Ok(()),
            (Step::BackToFile, Some(file)) => {
                // Closing the window of a chat closes the other one as well.
                let shown = split_off(&cx.editor, file);
                shown.map(drop)
            }
            (Step::Refuse, _) => {
                self.tell_busy(cx, busy);
                if quit.shows == Shows::Chat { Ok(()) } else { self.keep_in_window(cx, win) }
            }
            (Step::ChatsToo | Step::BackToFile, _) => self.make_way(cx, win, &others),
        }
    }

    /// The same in a window beside which no chat stands: an agent may be at work whose chat is hidden.
    fn quitting_alone(&mut self, cx: &mut Context, win: Win) -> Result<()> {
        let busy = busy_session(cx).filter(|busy| Some(busy) != self.told_busy.as_ref());
        let tabs: Vec<i64> = cx.editor.api("nvim_list_tabpages", ())?;
        if busy.is_none() || tabs.len() > 1 || !cx.editor.normal_wins_beside(win)?.is_empty() {
            return Ok(());
        }
        self.tell_busy(cx, busy);
        self.keep_in_window(cx, win)
    }

    /// Neovim would be left while an agent is at work.
    fn tell_busy(&mut self, cx: &mut Context, busy: Option<(SessionKey, Phase)>) {
        if let Some(session) = busy.as_ref().and_then(|(key, _)| cx.sessions.get(key)) {
            let text = format!("{} is still at work: :quit once more, or :qall, ends it", session.name());
            cx.notify(text, Level::Warn);
        }
        self.told_busy = busy;
    }

    /// The window is closed next; a new one has what it shows.
    fn keep_in_window(&mut self, cx: &mut Context, win: Win) -> Result<()> {
        let config =
            cx.editor.table([("split", cx.editor.string("above")?), ("win", Value::Integer(win.0))])?;
        let buf = cx.editor.win_buf(win)?;
        let Ok(kept) = cx.editor.open_win(buf, false, config) else {
            // There is no room: the chat stays at least.
            return Ok(());
        };
        cx.later(Duration::ZERO, move |_: &mut Self, cx| {
            if cx.editor.win_is_valid(win) {
                // It was not closed.
                return if cx.editor.win_is_valid(kept) { cx.editor.close_win(kept) } else { Ok(()) };
            }
            if cx.editor.win_is_valid(kept) { cx.editor.set_current_win(kept) } else { Ok(()) }
        })
    }

    /// The chats go along with a window. Unsaved edits keep Neovim; they are back then.
    fn make_way(&mut self, cx: &mut Context, win: Win, others: &[Win]) -> Result<()> {
        let shown = others.iter().find_map(|other| {
            let buf = cx.editor.win_buf(*other).ok()?;
            cx.chats.values().find(|chat| chat.contains(buf)).map(|chat| chat.session)
        });
        let chats: Vec<&ChatBuffers> = cx.chats.values().collect();
        self.windows.make_way(&cx.editor, others, &chats)?;
        let Some(key) = shown else { return Ok(()) };
        cx.later(Duration::ZERO, move |this: &mut Self, cx| {
            if !cx.editor.win_is_valid(win) {
                return Ok(());
            }
            let Some(chat) = cx.chats.get(&key) else { return Ok(()) };
            let chats: Vec<&ChatBuffers> = cx.chats.values().collect();
            this.windows.place(&cx.editor, chat, &chats, &cx.config.window)?;
            cx.editor.set_current_win(win)?;
            this.redraw_bar(cx, key);
            Ok(())
        })
    }
}

/// A session whose agent does something, or waits for an answer, and since when.
fn busy_session(cx: &Context) -> Option<(SessionKey, Phase)> {
    let busy = |session: &&Session| session.is_working() || session.waits_for_user();
    cx.sessions.values().find(busy).map(|session| (session.key, session.phase.clone()))
}

/// The file that the user saw last, of those that no window of the tab page shows.
fn hidden_file(editor: &Editor) -> Result<Option<Buf>> {
    editor.helper("hidden_file", ())
}

/// Whoever typed into a prompt that is gone does not type into a file.
pub fn leave_insert_mode(cx: &Context) -> Result<()> {
    if cx.editor.mode().0.starts_with('i') { cx.editor.command("stopinsert") } else { Ok(()) }
}

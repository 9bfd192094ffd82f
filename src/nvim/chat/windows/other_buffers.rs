//! Other buffers in the windows of a chat. One of another chat's brings its other half with it. A file that the user or a
//! plugin opens while the cursor is there goes to a window for files, and the chat is shown again. 'winfixbuf' would only
//! refuse it. A file for which a chat's window was split goes beside such a window. Which one that is, is left to
//! `code_window`.

use mlua::{Result, Table};

use crate::config::{Layout, WindowOptions};
use crate::core::ids::SessionKey;
use crate::nvim::chat::windows::sizes::Sized;
use crate::nvim::chat::windows::{Pair, Windows, layout};
use crate::nvim::context::ChatBuffers;
use crate::nvim::editor::code_window::{file_window_but, previous, split};
use crate::nvim::editor::{Buf, Editor, Win};

/// A window of a chat that shows something else.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub win: Win,
    pub session: SessionKey,
}

/// A split of a chat's window with fewer columns was not meant.
const LEAST_COLUMNS: u16 = 5;

impl Windows {
    /// The window of a chat in which a buffer was shown that is none of a chat's.
    pub fn taken_by(&self, editor: &Editor, buf: Buf) -> Option<Taken> {
        // Those of a saved session stand for a chat.
        if editor.buf_name(buf).starts_with("acp://") {
            return None;
        }
        let shows = |win: Win| editor.win_buf(win).is_ok_and(|shown| shown == buf);
        let all = self.pairs.iter().flat_map(|pair| {
            [pair.sized.transcript, pair.sized.prompt].map(|win| Taken { win, session: pair.session })
        });
        all.into_iter().find(|taken| shows(taken.win))
    }

    /// Shows the buffer in a window for files and goes there; the chat has its window again.
    pub fn take_back(&mut self, editor: &Editor, taken: Taken, chat: Option<&ChatBuffers>) -> Result<()> {
        let Some(at) = self.pairs.iter().position(|pair| pair.has(taken.win)) else { return Ok(()) };
        let sized = self.pairs[at].sized.clone();
        let Ok(buf) = editor.win_buf(taken.win) else { return Ok(()) };
        if !self.pairs[at].is_whole(editor) {
            return Ok(());
        }
        let both = [sized.transcript, sized.prompt];
        let file_win = file_window_but(editor, &both)?;
        let other = self.pairs[at].other(taken.win);
        let Some(chat) =
            chat.filter(|chat| editor.buf_is_loaded(chat.transcript) && editor.buf_is_loaded(chat.prompt))
        else {
            // The chat was deleted, and something else was put in its place.
            self.pairs.remove(at);
            let gone: &[Win] = if file_win.is_some() { &[taken.win, other] } else { &[other] };
            return close(editor, gone);
        };
        if chat.contains(buf) {
            return Ok(());
        }
        if file_win.is_none() && sized.layout == Layout::Current {
            // The chat was shown in place of what the user looked at; now this is.
            self.pairs.remove(at);
            return close(editor, &[other]);
        }
        let was_here = editor.current_win()? == taken.win;
        let view: Table = editor.helper("view_of", taken.win)?;
        // Before the chat is back: some buffers are gone once no window shows them ('bufhidden').
        let win = match file_win {
            Some(win) if editor.set_win_buf(win, buf).is_ok() => win,
            // It must not be left with unsaved edits.
            _ => split(editor, buf)?,
        };
        let own = if taken.win == sized.prompt { chat.prompt } else { chat.transcript };
        editor.set_win_buf(taken.win, own)?;
        layout::dress(editor, sized.transcript, sized.prompt)?;
        editor.helper::<()>("set_view", (win, view))?;
        if was_here {
            editor.set_current_win(win)?;
        }
        if was_here && editor.is_floating(taken.win) {
            // It would stand over the file.
            return self.hide(editor, chat);
        }
        Ok(())
    }

    /// Whether a chat's buffer stands in a pair of windows without the other one, as after `:buffer`.
    pub fn is_torn(&self, editor: &Editor, chat: &ChatBuffers, buf: Buf) -> bool {
        self.torn(editor, chat, buf).is_some()
    }

    /// The pair, and its window in which the buffer stands.
    fn torn(&self, editor: &Editor, chat: &ChatBuffers, buf: Buf) -> Option<(usize, Win)> {
        let shown = |win: Win| editor.win_buf(win).ok();
        let win_of = |pair: &Pair| {
            let Sized { transcript, prompt, .. } = pair.sized;
            let (above, below) = (shown(transcript)?, shown(prompt)?);
            let win = if below == buf { prompt } else { transcript };
            let is_torn = (above, below) != (chat.transcript, chat.prompt);
            (is_torn && (above == buf || below == buf)).then_some(win)
        };
        self.pairs.iter().enumerate().find_map(|(at, pair)| Some((at, win_of(pair)?)))
    }

    /// Shows both buffers of the chat in such a pair, each in its own window.
    pub fn join(
        &mut self,
        editor: &Editor,
        chat: &ChatBuffers,
        buf: Buf,
        chats: &[&ChatBuffers],
    ) -> Result<()> {
        let Some((at, win)) = self.torn(editor, chat, buf) else { return Ok(()) };
        if !editor.buf_is_loaded(chat.transcript) || !editor.buf_is_loaded(chat.prompt) {
            return Ok(());
        }
        let Sized { transcript, prompt, .. } = self.pairs[at].sized;
        let before = (editor.win_buf(transcript)?, editor.win_buf(prompt)?);
        let was_here = editor.current_win()? == win;
        for (win, shown) in [(transcript, before.0), (prompt, before.1)] {
            let is_replaced = |one: &&&ChatBuffers| one.session != chat.session && one.contains(shown);
            if let Some(replaced) = chats.iter().find(is_replaced) {
                self.remember_win(editor, replaced, win);
            }
        }
        self.pairs[at].session = chat.session;
        if before.0 != chat.transcript {
            editor.set_win_buf(transcript, chat.transcript)?;
            self.restore_transcript(editor, chat, transcript)?;
        }
        if before.1 != chat.prompt {
            editor.set_win_buf(prompt, chat.prompt)?;
            self.restore_prompt(editor, chat, prompt)?;
        }
        layout::dress(editor, transcript, prompt)?;
        if was_here {
            editor.set_current_win(if buf == chat.prompt { prompt } else { transcript })?;
        }
        Ok(())
    }

    fn is_in_pair(&self, win: Win) -> bool {
        self.pairs.iter().any(|pair| pair.has(win))
    }

    /// A window has come, and the user is in it.
    pub fn note_split(&mut self, editor: &Editor, win: Win) -> Result<()> {
        self.split_off.retain(|known| editor.win_is_valid(*known));
        if previous(editor)?.is_some_and(|from| self.is_in_pair(from)) && !self.is_in_pair(win) {
            self.split_off.push(win);
            self.unshared.push(win);
        }
        Ok(())
    }

    /// A chat's window that was split without a file has another one beside it, which shows the same, or a terminal. The
    /// chat has its width again by then, which has left one of the two next to nothing: both have half.
    pub fn share_with_split_off(&mut self, editor: &Editor) -> Result<()> {
        let new = std::mem::take(&mut self.unshared);
        let here = editor.tab_wins()?;
        for pair in self.pairs.iter().filter(|pair| pair.is_in(&here)) {
            let both = [pair.sized.transcript, pair.sized.prompt];
            for (own, other) in
                both.iter().flat_map(|own| self.split_off.iter().map(move |other| (*own, *other)))
            {
                let is_beside = here.contains(&other)
                    && editor.win_is_valid(own)
                    && !self.is_in_pair(other)
                    && editor.win_area(other)?.row == editor.win_area(own)?.row;
                if !is_beside || !new.contains(&other) && editor.win_size(other)?.0 >= LEAST_COLUMNS {
                    continue;
                }
                let place: Option<String> = editor.helper("place_in_chat", (both[0], both[1], other))?;
                if place.as_deref() == Some("row") {
                    editor.helper::<()>("halve", (other, own, true))?;
                }
            }
        }
        Ok(())
    }

    /// The window that was split off one of a chat's and shows this file.
    pub fn split_for(&self, editor: &Editor, buf: Buf) -> Option<Win> {
        let shows = |win: Win| editor.win_buf(win).is_ok_and(|shown| shown == buf);
        // One that has become a chat's own since is its prompt, or its transcript.
        let found = self.split_off.iter().copied().find(|win| shows(*win) && !self.is_in_pair(*win))?;
        let is_file = editor.buf_option::<String>(buf, "buftype").is_ok_and(|kind| kind.is_empty());
        is_file.then_some(found)
    }

    /// Takes such a window out of the chat, to where files are.
    pub fn move_out(&mut self, editor: &Editor, win: Win, options: &WindowOptions) -> Result<()> {
        self.split_off.retain(|known| *known != win);
        let here = editor.tab_wins()?;
        let Some(pair) = self.pairs.iter().find(|pair| pair.is_in(&here)) else { return Ok(()) };
        let both = [pair.sized.transcript, pair.sized.prompt];
        let place: Option<String> = editor.helper("place_in_chat", (both[0], both[1], win))?;
        let Some(place) = place else { return Ok(()) };
        let others = [both[0], both[1], win];
        let target = file_window_but(editor, &others)?;
        self.moved_by_others();
        let is_beside = place == "row";
        editor.helper::<()>("move_window", (win, target, is_beside))?;
        // The chat has its own again first.
        self.resized(editor, options)?;
        target.map_or(Ok(()), |target| editor.helper("halve", (win, target, is_beside)))
    }
}

fn close(editor: &Editor, wins: &[Win]) -> Result<()> {
    wins.iter().filter(|win| editor.win_is_valid(**win)).try_for_each(|win| editor.close_win(*win))
}

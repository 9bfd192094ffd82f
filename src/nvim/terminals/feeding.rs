//! The windows of terminals are given the output: piece by piece, when their size has settled, and once more where
//! Neovim has cut the lines of a command that is over.

use std::time::Duration;

use mlua::Result;

use crate::config::Pane;
use crate::core::ids::Moment;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::{Buf, Editor};
use crate::nvim::keys::bind_pane;
use crate::nvim::terminals::window::size;
use crate::nvim::terminals::{Key, Terminal, Terminals, make_buf};

/// Between two pieces of a terminal's output, of which four are what comes in a frame.
const PACE: Duration = Duration::from_millis(4);

/// How long after its size a terminal is given output: Neovim, before 0.12, loses rows of what comes between a new size
/// and the next time that it draws the terminal, 10 ms later.
const SETTLE: Duration = Duration::from_millis(20);

/// How long after its window was resized a terminal is given its output anew: while a border is dragged, not for each
/// column.
const REFIT_DELAY: Duration = Duration::from_millis(100);

impl Terminal {
    /// Whether its window has had this size for long enough to be given output.
    fn is_settled(&mut self, size: (u16, u16), now: Moment) -> bool {
        let since = match self.window {
            Some((known, since)) if known == size => since,
            _ => now,
        };
        self.window = Some((size, since));
        Duration::from_millis(now.since(since)) >= SETTLE
    }

    /// Whether its buffer was closed before a window has shown it, so that it can't be given anything.
    fn is_closed_unseen(&self) -> bool {
        self.is_closed && self.shown.is_unseen()
    }
}

impl Terminals {
    /// Gives windows what they lack of their terminals' output: a piece now, the next ones later.
    pub fn feed(&mut self, cx: &Context) -> Result<()> {
        if self.feeding {
            return Ok(());
        }
        let wait = self.feed_once(&cx.editor, cx.now())?;
        self.close_channels(&cx.editor)?;
        let Some(wait) = wait else { return Ok(()) };
        self.feeding = true;
        cx.later(wait, |terminals: &mut Self, cx| {
            terminals.feeding = false;
            terminals.feed(cx)
        })
    }

    /// Gives each terminal that a window shows the next piece of what it lacks: one piece is as much as a frame has
    /// time for. Where there is more, says how long to wait for that.
    fn feed_once(&mut self, editor: &Editor, now: Moment) -> Result<Option<Duration>> {
        let mut wait = None;
        for terminal in self.open.values_mut() {
            if terminal.is_closed || !terminal.shown.backlog().has_more() {
                continue;
            }
            // One that no window shows waits.
            let Some(size) = size(editor, terminal) else { continue };
            if !terminal.is_settled(size, now) {
                wait = wait.or(Some(SETTLE));
                continue;
            }
            let backlog = terminal.shown.backlog();
            let (piece, lost) = backlog.next_piece();
            if lost > 0 {
                let note = "\x1b[0m\x1b[2m\u{2026} earlier output was not shown \u{2026}\x1b[0m\r\n";
                editor.api::<()>("nvim_chan_send", (terminal.channel, note))?;
            }
            let bytes = editor.lua.create_string(piece)?;
            editor.api::<()>("nvim_chan_send", (terminal.channel, bytes))?;
            if backlog.has_more() {
                wait = Some(PACE);
            }
        }
        Ok(wait)
    }

    /// Closes the channels of terminals that have been given all that a command wrote which is over: until then Neovim
    /// takes them for running, and refuses to delete their buffers (E89). So it does where no window has shown them. Not
    /// while somebody is in terminal mode there: the next key would have Neovim wipe out the buffer.
    pub(super) fn close_channels(&mut self, editor: &Editor) -> Result<()> {
        let typed_in = Some(editor.current_buf()?).filter(|_| editor.mode().0 == "t");
        for terminal in self.open.values_mut() {
            let is_open = !terminal.is_closed && editor.buf_is_loaded(terminal.buf);
            let is_unseen = terminal.shown.is_unseen() && editor.wins_of(terminal.buf).is_empty();
            if !is_open || !is_unseen && !terminal.shown.is_fed() {
                continue;
            }
            if typed_in == Some(terminal.buf) {
                let again = editor.lua.create_function(|_, ()| {
                    context::run(|terminals: &mut Self, cx| terminals.close_channels(&cx.editor));
                    Ok(())
                })?;
                editor.helper::<()>("after_terminal_mode", (terminal.buf, again))?;
                continue;
            }
            terminal.is_closed = true;
            editor.helper::<()>("close_terminal", (terminal.buf, terminal.channel))?;
        }
        Ok(())
    }

    /// Windows that lack the ends of lines, because they were narrower for a while, get these back.
    pub(super) fn refit_soon(&mut self, cx: &Context) -> Result<()> {
        if !self.lack_lines(&cx.editor)? || std::mem::replace(&mut self.refitting, true) {
            return Ok(());
        }
        cx.later(REFIT_DELAY, |terminals: &mut Self, cx| {
            terminals.refitting = false;
            terminals.refit(cx)
        })
    }

    fn refit(&mut self, cx: &mut Context) -> Result<()> {
        let here = cx.editor.current_buf()?;
        let is_busy = !matches!(cx.editor.mode().0.as_str(), "n" | "nt");
        // What the user is about to do in a window is not disturbed.
        let lacks = |terminal: &Terminal| {
            terminal.shown.wants_refit()
                && !(is_busy && terminal.buf == here)
                && !cx.editor.wins_of(terminal.buf).is_empty()
        };
        let keys: Vec<Key> =
            self.open.iter().filter(|(_, each)| lacks(each)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.replace_buf(&cx.editor, &key)?;
            if let Some(terminal) = self.open.get(&key) {
                bind_pane(&cx.editor, &cx.config.keys, Pane::Terminal, terminal.buf)?;
            }
        }
        self.update_bars(cx)?;
        self.feed(cx)
    }

    /// What was closed before a window has shown it is shown in a new buffer, once one does.
    pub(super) fn renew_unseen(&self, cx: &Context, buf: Buf) -> Result<()> {
        let found = self.open.iter().find(|(_, terminal)| terminal.buf == buf && terminal.is_closed_unseen());
        let Some(key) = found.map(|(key, _)| key.clone()) else { return Ok(()) };
        // Not now: Neovim is in the middle of showing the buffer.
        cx.later(Duration::ZERO, move |terminals: &mut Self, cx| {
            if !terminals.get(&key).is_some_and(Terminal::is_closed_unseen) {
                return Ok(());
            }
            terminals.replace_buf(&cx.editor, &key)?;
            if let Some(terminal) = terminals.get(&key) {
                bind_pane(&cx.editor, &cx.config.keys, Pane::Terminal, terminal.buf)?;
            }
            terminals.update_bars(cx)?;
            terminals.feed(cx)
        })
    }

    /// Has the windows of a terminal show another buffer, which is given all of the output anew.
    fn replace_buf(&mut self, editor: &Editor, key: &Key) -> Result<()> {
        let Some(terminal) = self.open.get_mut(key) else { return Ok(()) };
        let old = terminal.buf;
        (terminal.buf, terminal.channel) = make_buf(editor, key)?;
        editor.helper::<()>("replace_terminal", (old, terminal.buf))?;
        editor.delete_buf(old)?;
        terminal.begin_again(editor)
    }
}

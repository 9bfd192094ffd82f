//! When chats and their bars are drawn: one frame at a time, each within its budget.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::{Function, Result, Table};

use crate::core::ids::{EntryId, SessionKey, TerminalId};
use crate::core::session::Session;
use crate::core::transcript::{Hints, Style};
use crate::nvim::chat::canvas::Chat;
use crate::nvim::chat::drawing::Scene;
use crate::nvim::chat::windows::margin;
use crate::nvim::chat::{Chats, TICK, winbar};
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::events::EditorEvent;

/// One frame draws for at most this long, then the editor has its turn for as long again.
const BUDGET: Duration = Duration::from_millis(4);

/// What came in and what is drawn of it hold the editor for this long together, but for what has to be
/// drawn so that it goes on at all.
const SLICE: Duration = Duration::from_millis(6);
const MIN_DRAWING_TIME: Duration = Duration::from_millis(2);

impl Chats {
    /// Notes what changed, so that the next frame draws it.
    pub fn touch(&mut self, cx: &Context, key: SessionKey, entries: BTreeSet<EntryId>) {
        if let (Some(session), Some(chat)) = (cx.sessions.get(&key), self.open.get_mut(&key)) {
            chat.touch(session, entries, &|terminal: &TerminalId| cx.tails.get(key, terminal));
        }
    }

    /// Nothing more comes for a while: what streamed gets its last look.
    pub fn settle(&mut self, cx: &Context, key: SessionKey) -> Result<()> {
        self.draw(cx, MIN_DRAWING_TIME)?;
        match self.open.get_mut(&key) {
            Some(chat) if !chat.has_waiting() => chat.settle(&cx.editor, &self.highlight),
            _ => Ok(()),
        }
    }

    /// Draws now when a frame is due, else sees to it that it comes. The editor has been held for a while
    /// already.
    pub fn frame_due(&mut self, cx: &Context, held: Duration) -> Result<()> {
        if !self.open.values().any(Chat::has_waiting) {
            return Ok(());
        }
        if !self.frames.is_due() {
            return self.frames.wait();
        }
        self.draw(cx, SLICE.saturating_sub(held).clamp(MIN_DRAWING_TIME, BUDGET))?;
        cx.editor.flush();
        let waits = |chat: &&Chat| chat.has_waiting();
        let Some(chat) = self.open.values().find(waits) else { return Ok(()) };
        if chat.is_far_behind() || cx.sessions.get(&chat.session).is_some_and(Session::is_replaying) {
            // Nobody reads along: what is left is drawn as soon as keys and the screen had their turn.
            self.frames.drawn_in_part(Duration::ZERO)?;
            self.mailbox.wake_again();
            return Ok(());
        }
        self.frames.drawn_in_part(BUDGET)?;
        self.frames.wait()
    }

    /// Has what is known on the screen before something that holds the editor, such as a picker.
    pub fn draw_now(&mut self, cx: &Context) -> Result<()> {
        // What is asked about has to be there, on a busy machine as well.
        self.draw(cx, 8 * BUDGET)?;
        cx.editor.command("redraw")
    }

    pub fn draw(&mut self, cx: &Context, budget: Duration) -> Result<()> {
        let until = Instant::now() + budget;
        let style = style(cx);
        for (key, chat) in &mut self.open {
            if !chat.has_waiting() {
                continue;
            }
            let Some(session) = cx.sessions.get(key) else { continue };
            let tail = |terminal: &TerminalId| cx.tails.get(*key, terminal);
            let before = cx.editor.line_count(chat.transcript).unwrap_or_default();
            chat.draw(&cx.editor, &self.highlight, &Scene { session, style: &style, tails: &tail }, until)?;
            if cx.editor.line_count(chat.transcript).is_ok_and(|lines| lines < before) {
                fill(&cx.editor, chat.transcript)?;
            }
        }
        self.show_opened(cx)?;
        self.frames.drawn()?;
        // The frame that was waited for is not only for drawing: what came in meanwhile is taken then.
        if self.mailbox.is_empty() { Ok(()) } else { self.frames.wait() }
    }

    /// Highlight groups have other colours now.
    pub fn colours_changed(&self, cx: &Context) -> Result<()> {
        let chats = cx.chats.values().flat_map(|chat| [chat.transcript, chat.prompt]);
        let bufs = chats.chain(self.pinned.as_ref().map(|pinned| pinned.buf));
        bufs.flat_map(|buf| cx.editor.wins_of(buf)).try_for_each(|win| margin::renew(&cx.editor, win))
    }

    /// Windows may have other sizes now.
    pub fn resized(&mut self, cx: &Context) -> Result<()> {
        self.windows.resized(&cx.editor, &cx.config.window)?;
        for (key, chat) in &mut self.open {
            if let (Some(session), Some(bufs)) = (cx.sessions.get(key), cx.chats.get(key)) {
                chat.fit(&cx.editor, bufs.window(&cx.editor), session);
                fill(&cx.editor, chat.transcript)?;
            }
        }
        self.fit_plan(cx, false)
    }

    /// `location` is where the agent is, if that is to be told.
    pub fn update_bar(&mut self, cx: &Context, key: SessionKey, location: Option<&str>) -> Result<()> {
        let now = cx.now();
        let (Some(session), Some(chat)) = (cx.sessions.get(&key), cx.chats.get(&key)) else {
            return Ok(());
        };
        let narrowest = |wins: &[Win]| {
            let widths =
                wins.iter().filter_map(|win| cx.editor.win_size(*win).ok()).map(|(columns, _)| columns);
            widths.min().map_or(80, usize::from)
        };
        let [wins, prompts] = [chat.transcript, chat.prompt].map(|buf| cx.editor.wins_of(buf));
        let bar = winbar::transcript(session, now, narrowest(&wins), (location, cx.config.icons));
        let hints = winbar::prompt(session, &cx.config.keys, narrowest(&prompts));
        let both = format!("{bar}\n{hints}");
        let lacks = cx.editor.lacks_bar(&wins)? || cx.editor.lacks_bar(&prompts)?;
        if (lacks || self.bars.get(&key) != Some(&both)) && !wins.is_empty() {
            cx.editor.set_bars(&wins, &bar)?;
            cx.editor.set_bars(&prompts, &hints)?;
            self.bars.insert(key, both);
        }
        Ok(())
    }

    /// The windows of a chat are new ones, without bars.
    pub fn redraw_bar(&mut self, cx: &mut Context, key: SessionKey) {
        self.bars.remove(&key);
        cx.raise(EditorEvent::BarOutdated(key));
    }

    /// Has the clock run while there is time that moves on, in the bars of chats or of terminals.
    pub fn keep_time(&mut self, cx: &Context, is_terminal_watched: bool) -> Result<()> {
        let is_busy = cx.sessions.values().any(Session::is_under_way) || is_terminal_watched;
        if is_busy == self.is_ticking {
            return Ok(());
        }
        self.is_ticking = is_busy;
        if is_busy { self.tick.every(TICK) } else { self.tick.stop() }
    }
}

/// Leaves no blank rows below the last line of a transcript while lines of it are hidden above.
fn fill(editor: &Editor, transcript: Buf) -> Result<()> {
    editor.wins_of(transcript).into_iter().try_for_each(|win| editor.helper("fill", win))
}

/// How the user wants things drawn.
pub fn style(cx: &Context) -> Style {
    let ahead = || -> Result<i64> {
        let os: Table = cx.editor.lua.globals().get("os")?;
        let zone: String = os.get::<Function>("date")?.call("%z")?;
        let number: i64 = zone.parse().unwrap_or_default();
        Ok(number / 100 * 60 + number % 100)
    };
    let clock = cx.config.timestamps.then(|| ahead().unwrap_or_default());
    Style { icons: cx.config.icons, width: 80, clock, hints: hints(cx) }
}

/// The keys that lines name, as they are bound.
fn hints(cx: &Context) -> Rc<Hints> {
    let key = |names: &[&str]| {
        let bound = names.iter().find_map(|name| cx.config.keys.get(name).last());
        bound.cloned().unwrap_or_default()
    };
    Rc::new(Hints {
        send: key(&["send_insert", "send"]),
        cancel: key(&["cancel"]),
        help: key(&["help"]),
        restart: key(&["restart"]),
        toggle: cx.config.keys.get("toggle").first().cloned().unwrap_or_default(),
        details: key(&["details"]),
        go_to: key(&["go_to"]),
        replay_next: cx.config.keys.get("replay_next").first().cloned().unwrap_or_default(),
        answers: cx.config.keys.get("answer").to_vec(),
    })
}

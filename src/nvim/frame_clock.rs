//! The pace of drawing: chats are drawn at most once in a frame, and text that comes in between waits
//! for the next one. Waking Neovim costs more than appending a few words, so nothing runs for text
//! until its frame is due. What is drawn then is left to others.

use std::cell::Cell;
use std::time::{Duration, Instant};

use mlua::{Function, Lua, Result};

use crate::nvim::editor::timer::Timer;

/// Chats are drawn at most this often. With what it takes to get there, text is on the screen within one
/// frame of a screen that shows sixty a second; more often would be a redraw more that nobody sees.
const FRAME: Duration = Duration::from_millis(14);
/// libuv's clock has whole milliseconds: its timers may be early by one.
const GRAIN: Duration = Duration::from_millis(1);

pub struct Frames {
    timer: Timer,
    /// The timer runs.
    armed: Cell<bool>,
    /// When the next frame may be drawn.
    next: Cell<Option<Instant>>,
}

impl Frames {
    /// `frame` runs in Neovim's main loop when a frame is due that was waited for.
    pub fn new(lua: &Lua, frame: Function) -> Result<Self> {
        Ok(Self { timer: Timer::new(lua, frame)?, armed: Cell::new(false), next: Cell::new(None) })
    }

    pub fn is_due(&self) -> bool {
        self.left() < GRAIN
    }

    /// Comes back when the next frame is due. Touches nothing but a timer, so that a libuv callback may
    /// call it.
    pub fn wait(&self) -> Result<()> {
        self.armed.set(true);
        self.timer.once(self.left())
    }

    /// A frame was drawn; the next is a frame away.
    pub fn drawn(&self) -> Result<()> {
        self.drawn_in_part(FRAME)
    }

    /// A frame was drawn, but not to its end: the rest comes after `pause`.
    pub fn drawn_in_part(&self, pause: Duration) -> Result<()> {
        self.next.set(Some(Instant::now() + pause));
        if self.armed.replace(false) { self.timer.stop() } else { Ok(()) }
    }

    fn left(&self) -> Duration {
        self.next.get().map_or(Duration::ZERO, |next| next.saturating_duration_since(Instant::now()))
    }
}

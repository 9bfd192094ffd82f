//! When the user typed last, and where they were when they clicked. It is heard by `keys`.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::nvim::editor::Buf;

thread_local! {
    static LAST_KEY: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The buffer that the user was in when the mouse was pressed.
    static PRESSED_FROM: Cell<Option<Buf>> = const { Cell::new(None) };
}

pub fn key_typed() {
    LAST_KEY.set(Some(Instant::now()));
}

pub fn mouse_pressed(from: Option<Buf>) {
    PRESSED_FROM.set(from);
}

/// Where the user was before the last click, which may have brought them elsewhere.
pub fn clicked_from() -> Option<Buf> {
    PRESSED_FROM.get()
}

/// For how long no key has been typed.
pub fn quiet_for() -> Duration {
    LAST_KEY.get().map_or(Duration::MAX, |at| at.elapsed())
}

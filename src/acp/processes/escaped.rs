//! Processes that left the group of the agent or command they come from: daemons, and whatever was started
//! with `setsid`. They are known by a mark in the environment that they inherited, or were noted
//! while they still had their parents. Which of them are to end,
//! and when, is the callers' business.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use self::unix::{begun, below, end, end_all, live, now, signal, wait_for_one};

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use self::windows::{begun, below, end, end_all, live, now, signal, wait_for_one};

mod mark;
pub use mark::{Mark, Noted, Origin, Span, unmark};

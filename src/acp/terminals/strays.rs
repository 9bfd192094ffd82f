//! Processes that left their command's group: daemons, and whatever was started with `setsid`. Which of
//! them are to end, and when, is the callers' business.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::{end, signal};

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::{end, signal};

/// The variable that every command has, and what it starts inherits.
pub const VARIABLE: &str = "ACP_TERMINAL";

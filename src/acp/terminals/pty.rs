//! Terminals for programs: opening one, starting a program on it, waiting for what it writes, and
//! ending all that runs on it. One file for each system, with the same functions.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

#[cfg(any(windows, test))]
mod conpty_handshake;

/// What may be done with a terminal without waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    pub woken: bool,
    /// There is something to read, be it the end.
    pub readable: bool,
    pub writable: bool,
}

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

mod ready;

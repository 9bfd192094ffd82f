//! What the operating systems do differently, each idea behind one set of functions: files and their
//! rights, how a process ended, all that a program has started. The rest of the crate reads without
//! a thought of the system; terminals have their own pair of files in `acp/terminals/pty/`.

#[cfg(any(windows, test))]
pub mod cmd;
pub mod confine;
pub mod paths;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::{files, group, memory, pipes, program};

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::{files, group, memory, pipes, program};

/// What a group of processes is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// To end in good order, as far as the system has a word for that.
    Terminate,
    Kill,
}

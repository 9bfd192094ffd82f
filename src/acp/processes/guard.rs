//! Sees to it that nothing outlives a Neovim that was killed, by what the system has for it.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use self::unix::Guard;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use self::windows::Guard;

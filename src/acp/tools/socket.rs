//! Where bridges come in: a Unix socket that only the user may open, or a named pipe. Who may stay is decided by the
//! token, not here.

mod port;
pub use self::port::Port;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use self::unix::listen;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use self::windows::listen;

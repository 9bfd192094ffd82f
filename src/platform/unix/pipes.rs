//! Pipes from other programs, beyond what the standard library says of them.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether nothing waits to be read, and the other end is open.
pub fn is_quiet(pipe: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(pipe, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut fds, Some(&at_once)), Ok(0))
}

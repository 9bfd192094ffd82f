//! Pseudo-terminals of Unix: opening one, starting a program on it as the leader of a session of its own,
//! and the few questions that only the system can answer. All `unsafe` code of the terminals is in
//! this file and its twin.
//!
//! A crate that spawns as well would close the pipe through which the standard library reports why
//! a program could not be executed, name signals by translated texts, and type an end-of-file into
//! the program when its writer is dropped.

use std::ffi::{CStr, OsStr};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Result, Write as _};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;
use std::task::Wake;
use std::time::Duration;

use super::ready::Ready;
use crate::core::message::Exit;
use crate::platform::Signal;
use crate::platform::group::Group;

/// Our side of a terminal.
pub type Ours = File;
/// A program that was started on a terminal.
pub type Program = Child;

/// Our side of a terminal, never blocking, and the program's side.
pub struct Pty {
    pub ours: Ours,
    pub theirs: File,
}

/// Opens a pseudo-terminal. Neither side is inherited by other programs that are started at the
/// same moment: one that held ours would keep the terminal alive, one that held theirs its end.
pub fn open(rows: u16, columns: u16, _bell: &Arc<Notifier>) -> Result<Pty> {
    // SAFETY: takes and returns numbers; the descriptor is new, so nothing else owns it.
    let ours = unsafe {
        let fd = check(libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC))?;
        OwnedFd::from_raw_fd(fd)
    };
    // SAFETY: the descriptor is open; these only take it.
    unsafe {
        check(libc::grantpt(ours.as_raw_fd()))?;
        check(libc::unlockpt(ours.as_raw_fd()))?;
        let flags = check(libc::fcntl(ours.as_raw_fd(), libc::F_GETFL))?;
        check(libc::fcntl(ours.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK))?;
    }
    let ours = File::from(ours);
    let theirs =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(their_name(&ours)?)?;
    erase_whole_characters(&theirs)?;
    resize(&ours, rows, columns)?;
    Ok(Pty { ours, theirs })
}

/// Starts the program as the leader of a new session, and so of a new process group, whose
/// terminal this is. An error is the reason why the program cannot be executed.
pub fn spawn(theirs: File, mut command: Command) -> Result<(Program, Group)> {
    command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
    // SAFETY: between fork and exec only calls are made that are safe in a signal handler.
    unsafe {
        command.pre_exec(|| {
            check(libc::setsid())?;
            check(libc::ioctl(0, libc::TIOCSCTTY as _, 0))?;
            // A signal that Neovim ignores would be ignored by the program, too.
            for signal in 1..32 {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    let child = command.spawn()?;
    let group = Group::of(child.id());
    Ok((child, group))
}

/// The program is told with SIGWINCH.
pub fn resize(ours: &File, rows: u16, columns: u16) -> Result<()> {
    let size = libc::winsize { ws_row: rows.max(1), ws_col: columns.max(1), ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open, and the struct is what this request reads.
    check(unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCSWINSZ, &size) }).map(drop)
}

/// Tells all processes of a group to end. The caller knows that the group's number is not someone
/// else's by now.
pub fn signal(group: &Group, signal: Signal, _ours: Option<&Ours>) {
    let signals: &[libc::c_int] = match signal {
        // One that is stopped hears nothing before it goes on.
        Signal::Terminate => &[libc::SIGTERM, libc::SIGCONT],
        Signal::Kill => &[libc::SIGKILL],
    };
    for &signal in signals {
        // SAFETY: takes numbers only. That nobody is left to take the signal is fine.
        unsafe { libc::kill(-group.id(), signal) };
    }
}

/// Nobody is left to write to the terminal; what was written can be read all the same.
pub fn all_gone(_ours: &Arc<Ours>) {}

/// Whether any process of the group is left.
pub fn is_left(group: &Group) -> bool {
    // SAFETY: takes numbers only.
    check(unsafe { libc::kill(-group.id(), 0) })
        .map_or_else(|error| error.raw_os_error() != Some(libc::ESRCH), |_| true)
}

/// The group that reads what is typed: a shell's job, where the shell gives jobs groups.
pub fn foreground_group(ours: &Ours) -> Option<Group> {
    // SAFETY: the descriptor is open.
    check(unsafe { libc::tcgetpgrp(ours.as_raw_fd()) })
        .ok()
        .filter(|group| *group > 1)
        .map(|group| Group::of(group.cast_unsigned()))
}

/// Whether a group is a job of the shell that leads the other group: their session has its number.
pub fn is_job_of(job: &Group, group: &Group) -> bool {
    // SAFETY: takes and returns numbers.
    job != group && check(unsafe { libc::getsid(job.id()) }).ok() == Some(group.id())
}

/// Waits until a child has ended, and leaves it in the table of processes, so that its number
/// stays its own.
pub fn wait_for_end(group: &Group) {
    let child = group.id();
    let mut ended = std::mem::MaybeUninit::<libc::siginfo_t>::uninit();
    loop {
        // SAFETY: the struct is ours to be written to, and not read.
        let waited = unsafe {
            libc::waitid(libc::P_PID, child as _, ended.as_mut_ptr(), libc::WEXITED | libc::WNOWAIT)
        };
        if check(waited).is_ok_and(|_| true)
            || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted
        {
            return;
        }
    }
}

/// How a program that has ended did so.
pub fn take_status(program: &mut Program, group: &Group) -> Result<Exit> {
    program.wait().map(|status| group.exit(status))
}

/// Wakes a terminal's thread out of its `poll`.
pub struct Notifier(UnixStream);

/// The other end of a notifier.
pub struct Listener(UnixStream);

impl Notifier {
    pub fn with_listener() -> Result<(Arc<Self>, Listener)> {
        let (notifier, listener) = UnixStream::pair()?;
        notifier.set_nonblocking(true)?;
        listener.set_nonblocking(true)?;
        Ok((Arc::new(Self(notifier)), Listener(listener)))
    }

    pub fn notify(&self) {
        // One that is full has rung, and one whose listener is gone need not ring.
        let _ = (&self.0).write(&[0]);
    }
}

impl Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}

impl Listener {
    pub fn drain(&self) {
        while (&self.0).read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
    }
}

/// Waits until the notifier has rung or `ours` can be read (and written, if `write`), at most for `time`.
pub fn poll(notifier: &Listener, ours: Option<&Ours>, write: bool, time: Option<Duration>) -> Ready {
    let mut fds = [
        libc::pollfd { fd: notifier.0.as_raw_fd(), events: libc::POLLIN, revents: 0 },
        libc::pollfd {
            // A negative descriptor is left out.
            fd: ours.map_or(-1, AsRawFd::as_raw_fd),
            events: if write { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN },
            revents: 0,
        },
    ];
    // Rounded up, or the rest of a millisecond would be spent polling.
    let time = time.map_or(-1, |time| i32::try_from(time.as_micros().div_ceil(1000)).unwrap_or(i32::MAX));
    // SAFETY: the pointer and the length are those of the array. A failure (a signal) leaves no
    // descriptor ready, and the caller comes again.
    unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as _, time) };
    let ended = libc::POLLHUP | libc::POLLERR | libc::POLLNVAL;
    Ready {
        woken: fds[0].revents != 0,
        readable: fds[1].revents & (libc::POLLIN | ended) != 0,
        writable: fds[1].revents & libc::POLLOUT != 0,
    }
}

/// Lets the line editor of the system take back a whole character and not one byte of it.
fn erase_whole_characters(theirs: &File) -> Result<()> {
    let mut modes = std::mem::MaybeUninit::<libc::termios>::uninit();
    // SAFETY: the first call fills the struct or fails, and the second reads it.
    unsafe {
        check(libc::tcgetattr(theirs.as_raw_fd(), modes.as_mut_ptr()))?;
        let mut modes = modes.assume_init();
        modes.c_iflag |= libc::IUTF8;
        check(libc::tcsetattr(theirs.as_raw_fd(), libc::TCSANOW, &modes)).map(drop)
    }
}

#[cfg(target_os = "linux")]
fn their_name(ours: &File) -> Result<PathBuf> {
    let mut name = [0; 128];
    // SAFETY: the pointer and the length are those of the array.
    let error = unsafe { libc::ptsname_r(ours.as_raw_fd(), name.as_mut_ptr(), name.len()) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: the call above has written a string that ends with a NUL.
    Ok(path(unsafe { CStr::from_ptr(name.as_ptr()) }))
}

#[cfg(not(target_os = "linux"))]
fn their_name(ours: &File) -> Result<PathBuf> {
    use std::sync::{Mutex, PoisonError};
    /// The system's answer lies in a place that all threads share.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the answer is read before the lock is given up.
    unsafe {
        let name = libc::ptsname(ours.as_raw_fd());
        if name.is_null() { Err(io::Error::last_os_error()) } else { Ok(path(CStr::from_ptr(name))) }
    }
}

fn path(name: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

fn check(returned: libc::c_int) -> Result<libc::c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

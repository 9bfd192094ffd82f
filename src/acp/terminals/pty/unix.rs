//! Pseudo-terminals of Unix: opening one, starting a program on it as the leader of a session of its own,
//! and the few questions that only the system can answer. The only
//! `unsafe` code is what runs between fork and exec.
//!
//! A crate that spawns as well would close the pipe through which the standard library reports why
//! a program could not be executed, name signals by translated texts, and type an end-of-file into
//! the program when its writer is dropped.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Result, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;
use std::task::Wake;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions};
use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{InputModes, OptionalActions, Winsize};

use super::ready::Ready;
use crate::core::message::Exit;
use crate::platform::Signal;
use crate::platform::confine::Confinement;
use crate::platform::group::Group;

/// Our side of a terminal.
pub type Ours = File;
/// A program's side of one.
pub type Theirs = File;
/// A program that was started on a terminal.
pub type Program = Child;

/// Our side of a terminal, never blocking, and the program's side.
pub struct Pty {
    pub ours: Ours,
    pub theirs: Theirs,
}

/// Opens a pseudo-terminal. Neither side is inherited by other programs that are started at the
/// same moment: one that held ours would keep the terminal alive, one that held theirs its end.
pub fn open(rows: u16, columns: u16, _bell: &Arc<Notifier>) -> Result<Pty> {
    // Not every system's list of flags has this one.
    let close_on_exec = OpenptFlags::from_bits_retain(libc::O_CLOEXEC.cast_unsigned());
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | close_on_exec)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
    let ours = File::from(ours);
    let theirs =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(their_name(&ours)?)?;
    erase_whole_characters(&theirs)?;
    resize(&ours, rows, columns)?;
    Ok(Pty { ours, theirs })
}

/// What is confined may open its terminal by name.
pub fn allow(theirs: &Theirs, confinement: &Confinement) -> Result<()> {
    confinement.allow_terminal(theirs)
}

/// Starts the program as the leader of a new session, and so of a new process group, whose
/// terminal this is. An error is the reason why the program cannot be executed.
pub fn spawn(theirs: Theirs, mut command: Command) -> Result<(Program, Group)> {
    command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
    // SAFETY: between fork and exec only calls are made that are safe in a signal handler.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
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
    let size = Winsize { ws_row: rows.max(1), ws_col: columns.max(1), ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(ours, size)?)
}

/// Tells all processes of a group to end. The caller knows that the group's number is not someone
/// else's by now.
pub fn signal(group: &Group, signal: Signal, _ours: Option<&Ours>) {
    use rustix::process::Signal as S;
    let signals: &[S] = match signal {
        // One that is stopped hears nothing before it goes on.
        Signal::Terminate => &[S::TERM, S::CONT],
        Signal::Kill => &[S::KILL],
    };
    for signal in signals {
        if let Some(group) = Pid::from_raw(group.id()) {
            // That nobody is left to take the signal is fine.
            let _ = rustix::process::kill_process_group(group, *signal);
        }
    }
}

/// Nobody is left to write to the terminal; what was written can be read all the same.
pub fn all_gone(_ours: &Arc<Ours>) {}

/// Whether any process of the group is left.
pub fn is_left(group: &Group) -> bool {
    let Some(group) = Pid::from_raw(group.id()) else { return false };
    rustix::process::test_kill_process_group(group) != Err(Errno::SRCH)
}

/// The group that reads what is typed: a shell's job, where the shell gives jobs groups.
pub fn foreground_group(ours: &Ours) -> Option<Group> {
    let group = rustix::termios::tcgetpgrp(ours).ok()?.as_raw_pid();
    (group > 1).then(|| Group::of(group.cast_unsigned()))
}

/// Whether a group is a job of the shell that leads the other group: their session has its number.
pub fn is_job_of(job: &Group, group: &Group) -> bool {
    let session = Pid::from_raw(job.id()).and_then(|job| rustix::process::getsid(Some(job)).ok());
    job != group && session.is_some_and(|session| session.as_raw_pid() == group.id())
}

/// Waits until a child has ended, and leaves it in the table of processes, so that its number
/// stays its own.
pub fn wait_for_end(group: &Group) {
    let Some(child) = Pid::from_raw(group.id()) else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while rustix::process::waitid(WaitId::Pid(child), options).is_err_and(|error| error == Errno::INTR) {}
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
    let mut wanted = PollFlags::IN;
    wanted.set(PollFlags::OUT, write);
    let mut fds = vec![PollFd::new(&notifier.0, PollFlags::IN)];
    fds.extend(ours.map(|ours| PollFd::new(ours, wanted)));
    // One that is too long for the system may as well have no end.
    let time = time.and_then(|time| Timespec::try_from(time).ok());
    // A failure (a signal) leaves no descriptor ready, and the caller comes again.
    let _ = rustix::event::poll(&mut fds, time.as_ref());
    let said = fds.get(1).map_or(PollFlags::empty(), PollFd::revents);
    let ended = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    Ready {
        woken: !fds[0].revents().is_empty(),
        readable: said.intersects(PollFlags::IN | ended),
        writable: said.contains(PollFlags::OUT),
    }
}

/// Lets the line editor of the system take back a whole character and not one byte of it.
fn erase_whole_characters(theirs: &File) -> Result<()> {
    let mut modes = rustix::termios::tcgetattr(theirs)?;
    modes.input_modes |= InputModes::IUTF8;
    Ok(rustix::termios::tcsetattr(theirs, OptionalActions::Now, &modes)?)
}

fn their_name(ours: &File) -> Result<PathBuf> {
    let name = rustix::pty::ptsname(ours, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(name.as_bytes())))
}

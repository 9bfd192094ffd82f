//! All that a program has started, as a process group, of which it is the leader.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};

use super::exit;
use crate::core::message::Exit;
use crate::platform::Signal;

/// A signal asks all of a group to end.
pub const CAN_ASK: bool = true;

/// Whoever leaves the group (`setsid`) is not in it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group(i32);

impl Group {
    /// Starts a program as the leader of a group of its own.
    pub fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let child = command.process_group(0).spawn()?;
        let group = Self(child.id().cast_signed());
        Ok((child, group))
    }

    /// One whose leader was started elsewhere.
    pub fn of(leader: u32) -> Self {
        Self(leader.cast_signed())
    }

    /// How its leader ended.
    pub fn exit(&self, status: ExitStatus) -> Exit {
        exit::exit(status)
    }

    /// The group's number, which is that of its leader.
    pub fn id(&self) -> i32 {
        self.0
    }

    pub fn signal(&self, signal: Signal) {
        send(
            self.0,
            match signal {
                Signal::Terminate => libc::SIGTERM,
                Signal::Kill => libc::SIGKILL,
            },
        );
    }

    /// Whether anything of the group still runs. In a container whose first process does not care for
    /// orphans, the dead stay in the table of processes, and signals reach them like the living.
    pub fn lives(&self) -> bool {
        if !send(self.0, 0) {
            return false;
        }
        let Ok(processes) = std::fs::read_dir("/proc") else { return true };
        let mut listed = false;
        let lives = processes.flatten().any(|process| {
            let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else { return false };
            listed = true;
            // "pid (name) state parent group …", and the name may hold anything.
            let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
            let state = fields.next();
            fields.nth(1).is_some_and(|of| of.parse() == Ok(self.0)) && !matches!(state, Some("Z" | "X"))
        });
        // Where /proc is something else, or nothing, the signal's word counts.
        lives || !listed
    }
}

/// Sends a signal to a process group, or with 0 none. Says whether there is such a group.
fn send(group: i32, signal: libc::c_int) -> bool {
    // SAFETY: `kill` takes plain numbers and touches no memory of ours.
    unsafe { libc::kill(-group, signal) == 0 }
}

/// Whether there is a process of this number; nothing is sent to it.
pub fn process_lives(process: u32) -> bool {
    let Ok(process) = i32::try_from(process) else { return false };
    // SAFETY: no memory is involved; 0 is no signal but the question.
    let answer = unsafe { libc::kill(process, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// The group that a process is in.
pub fn group_of(process: i32) -> Option<i32> {
    // SAFETY: takes and returns numbers.
    let group = unsafe { libc::getpgid(process) };
    (group != -1).then_some(group)
}

/// The time since the system was started, in the ticks in which /proc tells the starts of processes.
pub fn ticks() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the struct is ours to be written to.
        let (told, each) = unsafe {
            (libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time), libc::sysconf(libc::_SC_CLK_TCK))
        };
        if told == 0 && each > 0 {
            let nanoseconds = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
            return u64::try_from(nanoseconds * i128::from(each) / 1_000_000_000).unwrap_or_default();
        }
    }
    0
}

/// Blocks until one of these processes has ended, unless `are_meant` says that they are others by now, or
/// the system cannot tell.
pub fn wait_for_any(processes: &[i32], are_meant: impl FnOnce() -> bool) {
    #[cfg(target_os = "linux")]
    {
        let hold = |process: &i32| {
            // SAFETY: takes numbers, and a descriptor that it gives is new.
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, *process, 0) };
            // SAFETY: the same.
            i32::try_from(fd).ok().filter(|fd| *fd >= 0).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
        };
        let Some(held) = processes.iter().map(hold).collect::<Option<Vec<_>>>() else { return };
        let wait = |fd: &OwnedFd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut waits: Vec<_> = held.iter().map(wait).collect();
        if are_meant() {
            // SAFETY: the pointer and the length are those of the list.
            unsafe { libc::poll(waits.as_mut_ptr(), waits.len() as _, -1) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (processes, are_meant);
}

/// Signals a single process that is no child of ours, if `is_meant` says so; never a stranger that got
/// its number meanwhile, where the system can hold on to a process.
pub fn signal_if(process: i32, signal: Signal, is_meant: impl FnOnce() -> bool) -> bool {
    let signal = match signal {
        Signal::Terminate => libc::SIGTERM,
        Signal::Kill => libc::SIGKILL,
    };
    #[cfg(target_os = "linux")]
    {
        // SAFETY: takes numbers, and a descriptor that it gives is new.
        let held = unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, process, 0);
            i32::try_from(fd).ok().filter(|fd| *fd >= 0).map(|fd| OwnedFd::from_raw_fd(fd))
        };
        if let Some(held) = held {
            // SAFETY: the descriptor is open, and no further facts are passed.
            return is_meant()
                && unsafe {
                    let none = std::ptr::null::<libc::siginfo_t>();
                    libc::syscall(libc::SYS_pidfd_send_signal, held.as_raw_fd(), signal, none, 0)
                } == 0;
        }
    }
    // SAFETY: takes numbers only.
    is_meant() && unsafe { libc::kill(process, signal) } == 0
}

//! All that a program has started, as a process group, of which it is the leader.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};

#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{self, Pid};

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

    /// The process that it began with.
    pub fn process(&self) -> Option<u32> {
        u32::try_from(self.0).ok()
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.0) {
            // That nobody is left to take it is fine.
            let _ = process::kill_process_group(group, signal_of(signal));
        }
    }

    /// Whether anything of the group still runs. In a container whose first process does not care for
    /// orphans, the dead stay in the table of processes, and signals reach them like the living.
    pub fn lives(&self) -> bool {
        if Pid::from_raw(self.0).is_none_or(|group| process::test_kill_process_group(group).is_err()) {
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

fn signal_of(signal: Signal) -> process::Signal {
    match signal {
        Signal::Terminate => process::Signal::TERM,
        Signal::Kill => process::Signal::KILL,
    }
}

/// Whether there is a process of this number; nothing is sent to it.
pub fn process_lives(process: u32) -> bool {
    let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return false };
    matches!(process::test_kill_process(process), Ok(()) | Err(Errno::PERM))
}

/// The group that a process is in.
pub fn group_of(process: i32) -> Option<i32> {
    process::getpgid(Pid::from_raw(process)).ok().map(Pid::as_raw_pid)
}

/// The time since the system was started, in the ticks in which /proc tells the starts of processes.
pub fn ticks() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let nanoseconds = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
        let each = i128::from(rustix::param::clock_ticks_per_second());
        u64::try_from(nanoseconds * each / 1_000_000_000).unwrap_or_default()
    }
    #[cfg(not(target_os = "linux"))]
    0
}

/// Blocks until one of these processes has ended, unless `are_meant` says that they are others by now, or
/// the system cannot tell.
pub fn wait_for_any(processes: &[i32], are_meant: impl FnOnce() -> bool) {
    #[cfg(target_os = "linux")]
    {
        let hold =
            |process: &i32| process::pidfd_open(Pid::from_raw(*process)?, process::PidfdFlags::empty()).ok();
        let Some(held) = processes.iter().map(hold).collect::<Option<Vec<_>>>() else { return };
        let mut waits: Vec<_> = held.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        if are_meant() {
            // A failure is as good as an end: the caller looks again.
            let _ = poll(&mut waits, None);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (processes, are_meant);
}

/// Signals a single process that is no child of ours, if `is_meant` says so; never a stranger that got
/// its number meanwhile, where the system can hold on to a process.
pub fn signal_if(process: i32, signal: Signal, is_meant: impl FnOnce() -> bool) -> bool {
    let Some(process) = Pid::from_raw(process) else { return false };
    #[cfg(target_os = "linux")]
    if let Ok(held) = process::pidfd_open(process, process::PidfdFlags::empty()) {
        return is_meant() && process::pidfd_send_signal(held, signal_of(signal)).is_ok();
    }
    is_meant() && process::kill_process(process, signal_of(signal)).is_ok()
}

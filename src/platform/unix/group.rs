//! All that a program has started, as a process group, of which it is the leader.

use std::io;
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

//! Processes that a test wants to be gone, found by an environment variable that they inherited, so
//! that one which left its parent and its process group is found as well.

use std::time::Instant;

use super::{DEADLINE, RECHECK};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// Its arguments, joined by blanks.
    pub command: String,
}

impl Process {
    /// Ends it at once, whatever it thinks of that.
    pub fn kill(&self) {
        let pid = i32::try_from(self.pid).expect("process ids are small");
        // SAFETY: takes two numbers; that the process may be gone already is part of the deal.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

/// Every running process of this user whose environment has this entry, written `NAME=value`.
#[cfg(target_os = "linux")]
pub fn processes_with_env(entry: &str) -> Vec<Process> {
    let folders = std::fs::read_dir("/proc").expect("/proc on Linux").flatten();
    folders
        .filter_map(|folder| {
            let pid = folder.file_name().to_str()?.parse().ok()?;
            // A process may end at any moment; another user's is not ours. An ended one that
            // nobody has waited for has no environment any more.
            let environment = std::fs::read(folder.path().join("environ")).ok()?;
            environment.split(|&byte| byte == 0).find(|&one| one == entry.as_bytes())?;
            let command = std::fs::read(folder.path().join("cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned();
            Some(Process { pid, command })
        })
        .collect()
}

/// Every running process of this user whose environment has this entry, written `NAME=value`.
#[cfg(not(target_os = "linux"))]
pub fn processes_with_env(entry: &str) -> Vec<Process> {
    let list = std::process::Command::new("ps").args(["-xEww", "-o", "pid=,command="]).output();
    let list = String::from_utf8_lossy(&list.expect("ps").stdout).into_owned();
    let marked = list.lines().filter(|line| line.split(' ').any(|word| word == entry));
    marked
        .filter_map(|line| {
            let (pid, command) = line.trim_start().split_once(' ')?;
            Some(Process { pid: pid.parse().ok()?, command: command.to_owned() })
        })
        .collect()
}

/// Waits until a condition holds that no redraw announces, such as a process' end.
#[track_caller]
pub fn wait_for(mut condition: impl FnMut() -> bool, what: &str) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited {DEADLINE:?} for {what}");
        std::thread::sleep(RECHECK);
    }
}

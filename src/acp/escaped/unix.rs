//! What has escaped on Unix: found in /proc, where the system has it.

use std::thread;
use std::time::Duration;

use super::{Mark, Noted};
use crate::platform::Signal;
use crate::platform::group::{Group, group_of, signal_if};

/// Asks those with the mark to end, and kills what is left after the `grace`. Members of `groups` are left
/// alone: they are asked as such. Returns at once.
pub fn end(mark: Mark, groups: Vec<Group>, grace: Duration) {
    let work = move || {
        if signal(&mark, &[], &groups, Signal::Terminate) > 0 {
            thread::sleep(grace);
            signal(&mark, &[], &groups, Signal::Kill);
        }
    };
    // Without a thread they live until Neovim ends, where there is another look at them.
    let _ = thread::Builder::new().name("acp-escaped".into()).spawn(work);
}

/// Signals those with the mark or among the `noted`, and says how many there were. Members of `groups` are
/// left alone.
pub fn signal(mark: &Mark, noted: &[Noted], groups: &[Group], signal: Signal) -> usize {
    let start = mark.entry();
    let is_meant = |process| {
        (has(process, start.as_bytes()) || is_noted(process, noted))
            && !group_of(process).is_some_and(|group| groups.iter().any(|of| of.id() == group))
    };
    processes().filter(|process| signal_if(*process, signal, || is_meant(*process))).count()
}

/// Whether any process with the mark, or of the `noted`, still runs.
pub fn live(mark: &Mark, noted: &[Noted]) -> bool {
    let start = mark.entry();
    processes().any(|process| has(process, start.as_bytes()) || is_noted(process, noted))
}

/// All that a process has started that still has its parents.
pub fn below(process: u32) -> Vec<Noted> {
    let all: Vec<_> = processes().filter_map(|process| Some((process, stat(process)?))).collect();
    let mut noted = Vec::new();
    let mut parents = vec![process.cast_signed()];
    while let Some(parent) = parents.pop() {
        for (process, stat) in all.iter().filter(|(_, stat)| stat.parent == parent) {
            noted.push(Noted { process: *process, start: stat.start });
            parents.push(*process);
        }
    }
    noted
}

fn is_noted(process: i32, noted: &[Noted]) -> bool {
    noted
        .iter()
        .any(|one| one.process == process && stat(process).is_some_and(|stat| stat.start == one.start))
}

struct Stat {
    parent: i32,
    /// When the process was started, in ticks since the system was.
    start: u64,
}

/// None for a process that has ended, also if nobody has waited for it yet.
fn stat(process: i32) -> Option<Stat> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // "pid (name) state parent …", and the name may hold anything.
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Stat { parent, start })
}

/// The numbers of all processes, where the system has them as folders.
fn processes() -> impl Iterator<Item = i32> {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(move |process: &u32| *process != own)
        .filter_map(|process| i32::try_from(process).ok())
}

/// Whether a variable of the process's begins so. The environments of other users' processes cannot be
/// read, and those of ended ones are empty.
fn has(process: i32, start: &[u8]) -> bool {
    let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(start))
}

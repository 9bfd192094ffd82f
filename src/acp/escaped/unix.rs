//! What has escaped on Unix: found in /proc, where the system has it.

use std::thread;
use std::time::Duration;

use super::Mark;
use crate::platform::Signal;
use crate::platform::group::{Group, group_of, signal_if};

/// Asks those with the mark to end, and kills what is left after the `grace`. Members of `groups` are left
/// alone: they are asked as such. Returns at once.
pub fn end(mark: Mark, groups: Vec<Group>, grace: Duration) {
    let work = move || {
        if signal(&mark, &groups, Signal::Terminate) > 0 {
            thread::sleep(grace);
            signal(&mark, &groups, Signal::Kill);
        }
    };
    // Without a thread they live until Neovim ends, where there is another look at them.
    let _ = thread::Builder::new().name("acp-escaped".into()).spawn(work);
}

/// Signals those with the mark, and says how many there were.
pub fn signal(mark: &Mark, groups: &[Group], signal: Signal) -> usize {
    let start = mark.entry();
    let escaped =
        processes().filter(|process| signal_if(*process, signal, || is_meant(*process, &start, groups)));
    escaped.count()
}

/// Whether any process with the mark still runs.
pub fn live(mark: &Mark) -> bool {
    let start = mark.entry();
    processes().any(|process| has(process, start.as_bytes()))
}

fn is_meant(process: i32, start: &str, groups: &[Group]) -> bool {
    has(process, start.as_bytes())
        && !group_of(process).is_some_and(|group| groups.iter().any(|of| of.id() == group))
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

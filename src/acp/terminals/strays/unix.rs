//! Strays on Unix: known by the environment that they inherited, which tells the terminal they come from.

use std::thread;
use std::time::Duration;

use super::VARIABLE;
use crate::acp::terminals::pty;
use crate::platform::Signal;
use crate::platform::group::Group;

/// Asks those whose mark begins with `mark` to end, and kills what is left after the `grace`. Members of
/// `groups` are left alone: they are asked as such. Returns at once.
pub fn end(mark: String, groups: Vec<Group>, grace: Duration) {
    let work = move || {
        if signal(&mark, &groups, Signal::Terminate) > 0 {
            thread::sleep(grace);
            signal(&mark, &groups, Signal::Kill);
        }
    };
    // Without a thread they live until Neovim ends, where there is another look at them.
    let _ = thread::Builder::new().name("acp-strays".into()).spawn(work);
}

/// Signals those whose mark begins with `mark`, and says how many there were.
pub fn signal(mark: &str, groups: &[Group], signal: Signal) -> usize {
    let start = format!("{VARIABLE}={mark}");
    let strays = processes().filter(|process| {
        pty::signal_if(*process, signal, || {
            has(*process, start.as_bytes())
                && !pty::group_of(*process).is_some_and(|group| groups.iter().any(|of| of.id() == group))
        })
    });
    strays.count()
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

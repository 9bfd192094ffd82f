//! What has escaped on Unix: found in /proc, where the system has it.

use std::thread;
use std::time::{Duration, Instant};

use super::mark::{Mark, Noted, Origin, Span};
use crate::core::message::LeftCommand;
use crate::core::text::one_line;
use crate::platform::Signal;
use crate::platform::group::{Group, group_of, signal_if, ticks, wait_for_any};

/// How long the system may take to end what was killed.
const KILLED: Duration = Duration::from_secs(1);

/// Asks those with the mark and those `below` a keeper to end, and kills what is left after the `grace`. Members of
/// `groups` are left alone: they are asked as such. Returns at once.
pub fn end(mark: Mark, groups: Vec<Group>, grace: Duration, below: impl Fn() -> Vec<Noted> + Send + 'static) {
    let work = move || {
        if signal(&mark, &below(), &groups, Signal::Terminate) > 0 {
            thread::sleep(grace);
            signal(&mark, &below(), &groups, Signal::Kill);
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

/// The present time, as the starts of processes are told.
pub fn now() -> u64 {
    ticks()
}

/// The commands that an agent has started at these times and that still run; not what they have started
/// in turn.
pub fn begun(origin: &Origin, when: &[Span]) -> Vec<LeftCommand> {
    let entry = origin.mark.entry();
    let mut found = below(origin.process);
    for process in processes().filter(|process| process.cast_unsigned() != origin.process) {
        let is_new = found.iter().all(|noted| noted.process != process);
        if is_new
            && has(process, entry.as_bytes())
            && let Some(stat) = stat(process)
        {
            found.push(Noted { process, start: stat.start });
        }
    }
    found.retain(|noted| when.iter().any(|span| span.contains(&noted.start)));
    let is_one = |process: i32| found.iter().any(|noted| noted.process == process);
    let first = found.iter().filter(|noted| stat(noted.process).is_some_and(|stat| !is_one(stat.parent)));
    let command = |noted: &Noted| {
        let line = line(noted.process)?;
        Some(LeftCommand { process: noted.process, start: noted.start, line })
    };
    first.filter_map(command).collect()
}

/// A process's command line, or its name if it has none.
fn line(process: i32) -> Option<String> {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let line = one_line(String::from_utf8_lossy(&line).replace('\0', " ").trim());
    if !line.is_empty() {
        return Some(line);
    }
    Some(std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?.trim().to_owned())
}

/// Blocks until one of them has ended, or at once where the system cannot tell.
pub fn wait_for_one(commands: &[LeftCommand]) {
    let processes: Vec<i32> = commands.iter().map(|command| command.process).collect();
    let runs = |command: &LeftCommand| is_noted(command.process, &[noted(command)]);
    // Once they are held, their numbers are nobody else's.
    wait_for_any(&processes, || commands.iter().all(runs));
}

/// Asks these and all that they have started to end, and kills what is left after the `grace`. Returns
/// those of these that run all the same, when that is done.
pub fn end_all(commands: Vec<LeftCommand>, grace: Duration) -> Vec<LeftCommand> {
    let mut noted: Vec<Noted> = commands.iter().map(noted).collect();
    let below_them: Vec<Noted> = noted
        .iter()
        .filter(|one| is_noted(one.process, &[**one]))
        .flat_map(|one| below(one.process.cast_unsigned()))
        .collect();
    noted.extend(below_them);
    let tell = |signal| {
        let told =
            noted.iter().filter(|one| signal_if(one.process, signal, || is_noted(one.process, &[**one])));
        told.count()
    };
    let wait = |grace| {
        let until = Instant::now() + grace;
        while Instant::now() < until && noted.iter().any(|one| is_noted(one.process, &[*one])) {
            thread::sleep(Duration::from_millis(20));
        }
    };
    if tell(Signal::Terminate) > 0 {
        wait(grace);
        if tell(Signal::Kill) > 0 {
            wait(KILLED);
        }
    }
    commands.into_iter().filter(|command| is_noted(command.process, &[self::noted(command)])).collect()
}

fn noted(command: &LeftCommand) -> Noted {
    Noted { process: command.process, start: command.start }
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

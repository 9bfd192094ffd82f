//! What sessions have used up, on the disk: a folder with a file for each 30 days, to which lines are only ever
//! appended. A lock on a file of its own keeps Neovims apart while one writes. What the lines say, and how they are
//! added up, is `core::store::usage`'s part.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::acp::files::disk;
use crate::acp::worker::{Serve, Service};
use crate::core::message::Event;
use crate::core::message::spent::Told;
use crate::core::store::usage::{Adding, Line, Reply, Request, joined};
use crate::mailbox::Mailbox;
use crate::platform::files::{create_private_folder, private, wait_lock};

const LOCK: &str = "usage.lock";

/// The milliseconds that a file is for.
const PERIOD: u64 = 30 * 86_400_000;

/// Files that are kept: more than a year.
const MAX_FILES: usize = 14;

/// A file of more bytes is written anew with fewer lines.
const LARGE: u64 = 2 << 20;

/// The handle to the list; what is asked for is about the folder that it is in.
pub type UsageLog = Service<Log>;

pub struct Log {
    mailbox: Arc<Mailbox>,
    /// It was said already that something can't be kept.
    told: bool,
}

impl Service<Log> {
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Self::named("acp-usage", move || Log { mailbox: mailbox.clone(), told: false })
    }
}

impl Serve for Log {
    type Request = Request;

    fn serve(&mut self, folder: &Path, request: Request) {
        handle(&self.mailbox, folder, request, &mut self.told);
    }

    fn refuse(&mut self, folder: &Path, request: Request, why: &io::Error) {
        failed(&self.mailbox, &request, folder, why, &mut self.told);
    }
}

fn handle(mailbox: &Mailbox, folder: &Path, request: Request, told: &mut bool) {
    let done = match &request {
        Request::Keep(line) => keep(folder, line).map(|()| None),
        Request::Last { job, agent, session } => {
            last(folder, agent, session).map(|told| Some((*job, Reply::Last(told))))
        }
        Request::Sum { job, spans, session } => {
            let mut adding = Adding::new(*spans, session.clone());
            let done = files(folder).and_then(|files| {
                files.iter().try_for_each(|(_, path)| {
                    read(path, |line| match line {
                        Some(line) => adding.add(&line),
                        None => adding.broken(),
                    })
                })
            });
            done.map(|()| Some((*job, Reply::Sums(Box::new(adding.sums())))))
        }
    };
    match done {
        Ok(None) => {}
        Ok(Some((job, reply))) => mailbox.post(Event::UsageRead { job, reply: Ok(reply) }),
        Err(error) => failed(mailbox, &request, folder, &error, told),
    }
}

/// What cannot be kept is told of once; the reason will be the same next time.
fn failed(mailbox: &Mailbox, request: &Request, folder: &Path, error: &io::Error, told: &mut bool) {
    let folder = folder.display();
    match request {
        Request::Last { job, .. } | Request::Sum { job, .. } => {
            let why = format!("couldn't read what was used up in {folder}: {error}");
            mailbox.post(Event::UsageRead { job: *job, reply: Err(why) });
        }
        Request::Keep(_) if *told => {}
        Request::Keep(_) => {
            *told = true;
            let text = format!(
                "couldn't keep what was used up in {folder}: {error}; setup{{ record = false }} does without"
            );
            mailbox.post(Event::RecordFailed { text });
        }
    }
}

fn keep(folder: &Path, line: &Line) -> io::Result<()> {
    create_private_folder(folder)?;
    let held = lock(folder)?;
    wait_lock(&held)?;
    let path = folder.join(format!("{}.jsonl", line.at / PERIOD));
    let is_new = !path.exists();
    let mut text = Vec::new();
    write_line(&mut text, line)?;
    let mut file = private().create(true).append(true).read(true).open(&path)?;
    disk::append_lines(&mut file, &text)?;
    let length = file.metadata()?.len();
    // Windows replaces no file that is open.
    drop(file);
    if is_new {
        make_room(folder)?;
    } else if length > LARGE {
        shorten(&path, line.at)?;
    }
    Ok(())
}

fn lock(folder: &Path) -> io::Result<File> {
    private().read(true).write(true).create(true).truncate(false).open(folder.join(LOCK))
}

fn write_line(text: &mut Vec<u8>, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *text, line)?;
    text.push(b'\n');
    Ok(())
}

/// Writes a file anew with fewer lines; the new one is there wholly or not at all.
fn shorten(path: &Path, now: u64) -> io::Result<()> {
    let mut lines = Vec::new();
    read(path, |line| lines.extend(line))?;
    let write = |lines: &[Line]| -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        lines.iter().try_for_each(|line| write_line(&mut text, line))?;
        Ok(text)
    };
    let mut lines = joined(lines, now, false);
    let mut text = write(&lines)?;
    if text.len() as u64 > LARGE / 2 {
        lines = joined(lines, now, true);
        text = write(&lines)?;
    }
    if text.len() as u64 > LARGE {
        // More than that in one day was written by no person.
        lines = joined(lines, u64::MAX, true);
        text = write(&lines)?;
    }
    disk::replace_private(path, &text)
}

/// The files there are, oldest first, with what they are for.
fn files(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let period = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        if let Some(period) = period.filter(|_| path.extension().is_some_and(|it| it == "jsonl")) {
            files.push((period, path));
        }
    }
    files.sort();
    Ok(files)
}

fn make_room(folder: &Path) -> io::Result<()> {
    let files = files(folder)?;
    for (_, path) in files.iter().take(files.len().saturating_sub(MAX_FILES)) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Gives each line of a file; none for one that can't be read.
fn read(path: &Path, mut take: impl FnMut(Option<Line>)) -> io::Result<()> {
    let bytes = match fs::read(path) {
        // Another Neovim has just removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        bytes => bytes?,
    };
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        take(serde_json::from_slice(line).ok());
    }
    Ok(())
}

/// What a session told last.
fn last(folder: &Path, agent: &str, session: &str) -> io::Result<Option<Told>> {
    for (_, path) in files(folder)?.into_iter().rev() {
        let mut found = None;
        read(&path, |line| {
            if let Some(line) = line.filter(|line| line.agent == agent && line.session == session) {
                found = Some(line.told);
            }
        })?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::thread;

    use super::*;
    use crate::core::message::Cost;
    use crate::core::message::spent::Spent;
    use crate::core::store::usage::{Spans, Sums};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("acp-usage-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            Self(folder)
        }

        fn sums(&self) -> Sums {
            let mut adding = Adding::new(Spans { today: 0, month: 0, last_month: 0 }, None);
            for (_, path) in files(&self.0).expect("files") {
                read(&path, |line| match line {
                    Some(line) => adding.add(&line),
                    None => adding.broken(),
                })
                .expect("a file");
            }
            adding.sums()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn line(at: u64, session: &str) -> Line {
        let costs = vec![Cost { amount: 0.25, currency: "USD".into() }];
        let spent = Spent { costs: costs.clone(), turns: 1, ..Spent::default() };
        Line {
            at,
            agent: "claude".into(),
            session: session.into(),
            spent,
            told: Told { costs, tokens: None },
        }
    }

    #[test]
    fn two_neovims_that_write_at_once_lose_nothing_though_the_file_is_made_shorter() {
        let folder = Folder::new("two");
        let session = "x".repeat(60_000);
        thread::scope(|scope| {
            for who in 0..4_u64 {
                let (folder, session) = (&folder.0, &session);
                scope.spawn(move || {
                    for number in 0..30 {
                        keep(folder, &line(number * 86_400_000 / 2 + who, session)).expect("to keep");
                    }
                });
            }
        });
        let sum = &folder.sums().today["claude"];
        assert_eq!((sum.spent.turns, sum.spent.costs[0].amount), (120, 30.0));
        let sizes =
            files(&folder.0).expect("files").into_iter().map(|(_, path)| path.metadata().expect("it").len());
        assert!(sizes.max().expect("a file") < LARGE + 100_000);
    }

    #[test]
    fn what_a_session_told_last_is_found_again_in_an_older_file() {
        let folder = Folder::new("last");
        assert_eq!(last(&folder.0, "claude", "a").expect("no folder yet"), None);
        keep(&folder.0, &line(1, "a")).expect("to keep");
        let mut later = line(PERIOD + 1, "a");
        later.told.costs[0].amount = 7.0;
        keep(&folder.0, &later).expect("to keep");
        keep(&folder.0, &line(2 * PERIOD, "b")).expect("to keep");
        assert_eq!(last(&folder.0, "claude", "a").expect("to be read"), Some(later.told));
        assert_eq!(last(&folder.0, "codex", "a").expect("to be read"), None);
    }

    #[test]
    fn a_broken_line_costs_itself_alone_and_is_counted() {
        let folder = Folder::new("broken");
        keep(&folder.0, &line(1, "a")).expect("to keep");
        let mut file = fs::OpenOptions::new().append(true).open(folder.0.join("0.jsonl")).expect("the file");
        file.write_all(b"{\"at\":2,\"agent\":\"cl\n\xff\xfe\0\n[]\n{\"at\":3").expect("to write");
        keep(&folder.0, &line(4, "a")).expect("to keep");
        let sums = folder.sums();
        assert_eq!((sums.today["claude"].spent.turns, sums.broken), (2, 4));
    }

    #[test]
    fn of_too_many_files_the_oldest_go_and_they_are_private() {
        let folder = Folder::new("many");
        for period in 0..MAX_FILES as u64 + 3 {
            keep(&folder.0, &line(period * PERIOD, "a")).expect("to keep");
        }
        let files = files(&folder.0).expect("files");
        assert_eq!((files.len(), files[0].0), (MAX_FILES, 3));
        #[cfg(unix)]
        for (_, path) in files {
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&path.metadata().expect("a file").permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}

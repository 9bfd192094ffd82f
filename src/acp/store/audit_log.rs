//! The record of what agents asked for and did, on the disk: a folder of files to which lines are only ever appended, each
//! begun anew when the last one is large or old, and deleted when there are too many. A lock on a file of its own keeps
//! Neovims apart while one writes. What a line says is `core::audit`'s part, when one is written that of `acp::audit`.

use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::acp::files::disk;
use crate::acp::worker::{Serve, Service};
use crate::core::audit::filter::Filter;
use crate::core::audit::{Line, Read, Reply, Request};
use crate::core::ids::JobId;
use crate::core::message::Event;
use crate::mailbox::Mailbox;
use crate::platform::files::{create_private_folder, private, wait_lock};

const LOCK: &str = "audit.lock";

/// Lines that are appended in one go at the most.
const TOGETHER: usize = 256;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// After so many bytes, or milliseconds, a file is followed by another one.
    pub size: u64,
    pub span: u64,
    /// Files that are kept, and for how many milliseconds.
    pub files: usize,
    pub age: u64,
    /// The most lines that a page gets.
    pub shown: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        const DAY: u64 = 86_400_000;
        Self { size: 2 << 20, span: 7 * DAY, files: 16, age: 90 * DAY, shown: 5000 }
    }
}

/// What is asked of the record.
pub enum AuditRequest {
    /// With what must not stand in it.
    Keep(Box<Line>, Arc<[String]>),
    Asked(Request),
}

/// The handle to the record; what is asked for is about the folder that it is in.
pub type AuditLog = Service<Log>;

pub struct Log {
    mailbox: Arc<Mailbox>,
    bounds: Bounds,
    /// Lines that came close together, and are appended in one go.
    kept: Vec<Line>,
    /// The folder that they go into, and what must not stand in them.
    goes_to: Option<(PathBuf, Arc<[String]>)>,
    /// It was said already that something can't be kept.
    told: bool,
}

impl Service<Log> {
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Self::bounded(mailbox, Bounds::default())
    }

    fn bounded(mailbox: Arc<Mailbox>, bounds: Bounds) -> Self {
        Self::named("acp-audit", move || Log {
            mailbox: mailbox.clone(),
            bounds,
            kept: Vec::new(),
            goes_to: None,
            told: false,
        })
    }
}

impl Serve for Log {
    /// A file is opened and locked once for all that an agent does in this time. Only if Neovim is killed is that lost.
    const GATHERS: Duration = Duration::from_millis(20);

    type Request = AuditRequest;

    fn serve(&mut self, folder: &Path, request: AuditRequest) {
        match request {
            AuditRequest::Keep(line, secrets) => {
                let is_same = |(to, hidden): &(PathBuf, Arc<[String]>)| to == folder && *hidden == secrets;
                if self.kept.len() >= TOGETHER || !self.goes_to.as_ref().is_some_and(is_same) {
                    self.append();
                    self.goes_to = Some((folder.to_owned(), secrets));
                }
                self.kept.push(*line);
            }
            AuditRequest::Asked(request) => {
                self.append();
                let (job, reply) = answer(folder, request, self.bounds.shown);
                self.mailbox.post(Event::AuditRead { job, reply });
            }
        }
    }

    fn pause(&mut self) {
        self.append();
    }

    fn refuse(&mut self, folder: &Path, request: AuditRequest, why: &io::Error) {
        match request {
            AuditRequest::Keep(..) => self.not_kept(folder, why),
            AuditRequest::Asked(Request::Read { job, .. } | Request::Export { job, .. }) => {
                let reply = Err(format!("couldn't read the record: {why}"));
                self.mailbox.post(Event::AuditRead { job, reply });
            }
        }
    }
}

impl Log {
    /// Appends what was kept until now.
    fn append(&mut self) {
        let lines = std::mem::take(&mut self.kept);
        let Some((folder, secrets)) = self.goes_to.take().filter(|_| !lines.is_empty()) else { return };
        if let Err(error) = keep(&folder, lines, &secrets, self.bounds) {
            self.not_kept(&folder, &error);
        }
    }

    /// The reason will be the same next time, so it is told of once.
    fn not_kept(&mut self, folder: &Path, error: &io::Error) {
        if !std::mem::replace(&mut self.told, true) {
            let folder = folder.display();
            let text = format!(
                "couldn't record what agents do in {folder}: {error}; setup{{ audit = false }} does without"
            );
            self.mailbox.post(Event::RecordFailed { text });
        }
    }
}

/// Appends lines, of which there are some.
fn keep(folder: &Path, lines: Vec<Line>, secrets: &[String], bounds: Bounds) -> io::Result<()> {
    let now = lines.first().map_or(0, |line| line.at);
    let mut scrubber = Line::scrubber(secrets);
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.written(&mut scrubber));
        text.push('\n');
    }
    create_private_folder(folder)?;
    let held = private().read(true).write(true).create(true).truncate(false).open(folder.join(LOCK))?;
    wait_lock(&held)?;
    let all = files(folder)?;
    let last = all.last();
    let goes_on = last.filter(|(begun, path)| {
        let is_small = fs::metadata(path).is_ok_and(|its| its.len() < bounds.size);
        // A clock that was set back begins no file before the last one.
        is_small && now.saturating_sub(*begun) < bounds.span
    });
    let path = match goes_on {
        Some((_, path)) => path.clone(),
        None => {
            let begun = last.map_or(now, |(begun, _)| now.max(begun + 1));
            make_room(&all, begun, bounds)?;
            folder.join(format!("{begun}.jsonl"))
        }
    };
    let mut file = private().create(true).append(true).read(true).open(&path)?;
    disk::append_lines(&mut file, text.as_bytes())
}

/// Deletes what is too old or too much, before another file begins.
fn make_room(all: &[(u64, PathBuf)], now: u64, bounds: Bounds) -> io::Result<()> {
    let too_many = (all.len() + 1).saturating_sub(bounds.files);
    for (at, (begun, path)) in all.iter().enumerate() {
        // What is in it is older than the beginning of the next one, and than its own time.
        let next = all.get(at + 1).map_or(now, |(begun, _)| *begun);
        let last = next.min(begun + bounds.span);
        if at < too_many || now.saturating_sub(last) > bounds.age {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// The files there are, oldest first, with when they were begun.
fn files(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let begun = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        if let Some(begun) = begun.filter(|_| path.extension().is_some_and(|it| it == "jsonl")) {
            files.push((begun, path));
        }
    }
    files.sort();
    Ok(files)
}

fn answer(folder: &Path, request: Request, shown: usize) -> (JobId, Result<Reply, String>) {
    match request {
        Request::Read { job, filter } => {
            let read = read(folder, &filter, shown).map(|read| Reply::Read(Box::new(read)));
            (job, read.map_err(|why| format!("couldn't read the record in {}: {why}", folder.display())))
        }
        Request::Export { job, filter, path } => {
            let done = export(folder, &filter, &path);
            let failed = |why: io::Error| match why.kind() {
                io::ErrorKind::AlreadyExists => {
                    format!("{} exists already; name another file", path.display())
                }
                _ => format!("couldn't save the record to {}: {why}", path.display()),
            };
            let reply = done.map_err(failed);
            (job, reply.map(|(lines, broken)| Reply::Exported { path, lines, broken }))
        }
    }
}

/// The last lines that pass.
pub fn read(folder: &Path, filter: &Filter, most: usize) -> io::Result<Read> {
    let mut read = Read::default();
    let mut lines = VecDeque::new();
    each(folder, |_, line| {
        let Some(line) = line else {
            read.broken += 1;
            return Ok(());
        };
        read.all += 1;
        if filter.passes(&line) {
            read.passing += 1;
            if lines.len() == most {
                lines.pop_front();
            }
            lines.push_back(line);
        }
        Ok(())
    })?;
    read.lines = lines.into();
    Ok(read)
}

/// Writes the lines that pass as they are. A file that could not be written wholly is taken away again.
fn export(folder: &Path, filter: &Filter, path: &Path) -> io::Result<(usize, usize)> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut out = io::BufWriter::new(file);
    let (mut count, mut broken) = (0, 0);
    let done = each(folder, |bytes, line| {
        match line {
            None => broken += 1,
            Some(line) if filter.passes(&line) => {
                count += 1;
                out.write_all(bytes)?;
                out.write_all(b"\n")?;
            }
            Some(_) => {}
        }
        Ok(())
    });
    match done.and_then(|()| out.flush()) {
        Ok(()) => Ok((count, broken)),
        Err(error) => {
            drop(out);
            // What is told is why it failed.
            let _ = fs::remove_file(path);
            Err(error)
        }
    }
}

/// Gives each line, oldest first, as it stands and as one can use it; without the latter where it can't be read.
fn each(folder: &Path, mut take: impl FnMut(&[u8], Option<Line>) -> io::Result<()>) -> io::Result<()> {
    for (_, path) in files(folder)? {
        let bytes = match fs::read(path) {
            // Another Neovim has just removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            bytes => bytes?,
        };
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            take(line, serde_json::from_slice(line).ok())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::core::audit::What;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("acp-audit-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            Self(folder)
        }

        fn keep(&self, line: Line, bounds: Bounds) {
            keep(&self.0, vec![line], &[], bounds).expect("a line that can be kept");
        }

        fn read(&self, filter: &str, most: usize) -> Read {
            read(&self.0, &Filter::read(filter), most).expect("a record")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn line(at: u64, agent: &str) -> Line {
        Line { at, agent: agent.into(), what: What::Write, ..Line::default() }
    }

    #[test]
    fn lines_are_kept_in_order_and_the_last_ones_are_read() {
        let folder = Folder::new("order");
        for at in 0..10 {
            folder.keep(line(at, if at % 2 == 0 { "even" } else { "odd" }), Bounds::default());
        }
        let read = folder.read("agent:odd", 2);
        assert_eq!(read.lines.iter().map(|line| line.at).collect::<Vec<_>>(), [7, 9]);
        assert_eq!((read.all, read.passing, read.broken), (10, 5, 0));
    }

    #[test]
    fn what_comes_close_together_is_kept_in_order_each_without_its_own_secrets() {
        let folder = Folder::new("together");
        let log = AuditLog::new(Mailbox::new(|_| {}));
        let secrets: [Arc<[String]>; 2] = [Arc::new(["of-one".into()]), Arc::new(["of-two".into()])];
        for at in 0..3 * TOGETHER as u64 {
            let hidden = secrets[usize::from(at >= TOGETHER as u64 + 9)].clone();
            let line = Line { error: Some("of-one of-two".into()), ..line(at, "a") };
            log.request(folder.0.clone(), AuditRequest::Keep(Box::new(line), hidden));
        }
        log.finish();
        let read = folder.read("", 1000);
        assert!(read.lines.iter().map(|line| line.at).eq(0..3 * TOGETHER as u64), "{read:?}");
        let hides = |word: &str| {
            read.lines.iter().position(|line| !line.error.as_ref().is_some_and(|text| text.contains(word)))
        };
        assert_eq!((hides("of-one"), hides("of-two")), (Some(0), Some(TOGETHER + 9)));
    }

    #[test]
    fn damaged_lines_are_left_out_and_counted_and_what_follows_them_is_kept() {
        let folder = Folder::new("damaged");
        folder.keep(line(1, "a"), Bounds::default());
        let (_, path) = files(&folder.0).expect("files").remove(0);
        let whole = fs::read(&path).expect("a file");
        fs::write(&path, [&whole[..], b"\xff{\n", &whole[..whole.len() / 2]].concat()).expect("a file");
        folder.keep(line(2, "a"), Bounds::default());
        let read = folder.read("", 9);
        assert_eq!(read.lines.iter().map(|line| line.at).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((read.all, read.broken), (2, 2));
    }

    #[test]
    fn the_record_is_bounded_by_size_by_number_and_by_age() {
        let folder = Folder::new("bounded");
        let bounds = Bounds { size: 300, span: 1000, files: 3, age: 5000, shown: 9 };
        for at in 0..100 {
            folder.keep(line(at, "a"), bounds);
        }
        let sizes = |folder: &Folder| {
            let files = files(&folder.0).expect("files");
            files.iter().map(|(_, path)| fs::metadata(path).expect("a file").len()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&folder).len(), 3);
        assert!(sizes(&folder).iter().all(|size| *size < 500), "{:?}", sizes(&folder));
        assert_eq!(folder.read("", 9).lines.last().expect("a line").at, 99);
        folder.keep(line(20_000, "a"), bounds);
        let left = folder.read("", 9);
        assert!(left.lines.iter().all(|line| line.at > 90), "{left:?}");
        folder.keep(line(40_000, "a"), bounds);
        assert_eq!(folder.read("", 9).lines.len(), 1, "the rest is too old");
        // The clock is set back.
        folder.keep(line(10, "a"), bounds);
        assert_eq!(folder.read("", 9).lines.len(), 2);
    }

    #[test]
    fn two_neovims_that_write_at_once_lose_nothing() {
        let folder = Folder::new("two");
        let bounds = Bounds { size: 4000, files: 1000, ..Bounds::default() };
        let writers = ["a", "b"].map(|agent| {
            let folder = folder.0.clone();
            thread::spawn(move || {
                for at in 0..200 {
                    let lines = vec![line(at, agent)];
                    keep(&folder, lines, &[], bounds).expect("a line that can be kept");
                }
            })
        });
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        let read = folder.read("", 1000);
        assert_eq!((read.all, read.broken), (400, 0));
        for agent in ["a", "b"] {
            let its: Vec<u64> =
                read.lines.iter().filter(|line| line.agent == agent).map(|line| line.at).collect();
            assert_eq!(its, (0..200).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_passes_is_exported_and_no_file_is_overwritten() {
        let folder = Folder::new("export");
        for at in 0..4 {
            folder.keep(line(at, if at < 3 { "a" } else { "b" }), Bounds::default());
        }
        let path = folder.0.join("out.json");
        let export = |typed: &str| {
            let request = Request::Export { job: JobId(1), filter: Filter::read(typed), path: path.clone() };
            answer(&folder.0, request, 9).1
        };
        assert_eq!(export("agent:a"), Ok(Reply::Exported { path: path.clone(), lines: 3, broken: 0 }));
        assert_eq!(fs::read_to_string(&path).expect("a file").lines().count(), 3);
        assert!(export("").is_err_and(|why| why.contains("exists already")));
    }

    #[test]
    fn a_record_that_cannot_be_written_is_told_of_once() {
        let folder = Folder::new("file");
        fs::write(&folder.0, "").expect("a file in the way");
        let mailbox = Mailbox::new(|_| {});
        let log = AuditLog::new(mailbox.clone());
        for at in 0..3 {
            log.request(folder.0.clone(), AuditRequest::Keep(Box::new(line(at, "a")), Arc::new([])));
        }
        log.finish();
        let told =
            std::iter::from_fn(|| mailbox.take()).filter(|event| matches!(event, Event::RecordFailed { .. }));
        assert_eq!(told.count(), 1);
        fs::remove_file(&folder.0).expect("a file");
    }
}

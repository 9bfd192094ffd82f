//! Checkpoints on the disk: for each project a folder with a journal for each turn, and the texts that
//! journals name, each once. A thread of its own does it, in the order in which it was asked for, and
//! under a lock, so that several Neovims lose nothing of each other's. What the lines say is
//! `core::store::checkpoint`'s word.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::acp::files::disk;
use crate::acp::files::disks::{Disks, PATIENCE};
use crate::acp::files::index::FolderIndexes;
use crate::acp::files::restore::{self, held, set_mode};
use crate::acp::store::undoing::Undoing;
use crate::acp::wire::ring::now;
use crate::acp::worker::Worker;
use crate::core::changes::blame::{self, Step};
use crate::core::ids::JobId;
use crate::core::message::{Event, FileDiff, Severity};
use crate::core::store::checkpoint::{
    Attributed, CheckpointRequest as Request, Fact, Fetched, Head, Held, Last, Limits, Line, Loaded,
    MAX_FILE_BYTES, Mode, Planned, Reply, Saved, Stored, Touched, Turn, TurnKey, before_diffs, counts, edits,
    hunks,
};
use crate::mailbox::Mailbox;
use crate::platform::files::{
    bytes_of_path, create_private_folder, is_pipe, path_of_bytes, private, wait_lock,
};

/// After so many bytes of texts it is seen to that there are not too many.
const PRUNE_AFTER: u64 = 16 << 20;

const TEXTS: &str = "texts";
const JOURNAL: &str = "jsonl";

/// The handle to the checkpoints. Cheap to clone.
#[derive(Clone)]
pub struct Checkpoints {
    mailbox: Arc<Mailbox>,
    disks: Disks,
    folder_indexes: FolderIndexes,
    worker: Worker<(PathBuf, Limits, Request)>,
}

impl Checkpoints {
    pub fn new(mailbox: Arc<Mailbox>, disks: Disks, folder_indexes: FolderIndexes) -> Self {
        Self { mailbox, disks, folder_indexes, worker: Worker::new("acp-checkpoints") }
    }

    /// Changes or reads the checkpoints in this folder.
    pub fn request(&self, folder: PathBuf, limits: Limits, request: Request) {
        if !self.worker.is_running() && matches!(request, Request::Unlook { .. } | Request::Finish { .. }) {
            // Nothing is kept yet.
            return;
        }
        let writer = || CheckpointWriter {
            folder_indexes: Some(self.folder_indexes.clone()),
            ..CheckpointWriter::new(self.mailbox.clone(), self.disks.clone())
        };
        let started = self.worker.start(|_| {
            let mut writer = writer();
            move |queue| {
                for (folder, limits, request) in queue {
                    writer.handle(&folder, limits, request);
                }
            }
        });
        match started {
            Ok(()) => self.worker.send((folder, limits, request)),
            Err(error) => writer().failed(&folder, &request, &error),
        }
    }

    /// Waits until all is on the disk.
    pub fn finish(&self) {
        self.worker.finish();
    }
}

struct CheckpointWriter {
    mailbox: Arc<Mailbox>,
    disks: Disks,
    /// Whom it concerns that files are written here.
    folder_indexes: Option<FolderIndexes>,
    /// What the turns of this Neovim that are not over did to files.
    turns: HashMap<(TurnKey, PathBuf), TurnBaseline>,
    /// What files held when calls that are about them began.
    looked: HashMap<(TurnKey, PathBuf), Looked>,
    /// Bytes of texts since the last look at the size; nobody looked yet.
    written: Option<u64>,
    told: bool,
}

/// What a file held when a turn began, and what the turn last made of it.
struct TurnBaseline {
    stored: Stored,
    before: Held,
    after: Stored,
}

/// What a file held when the first of some calls began, and those of them that may still change it.
struct Looked {
    held: Held,
    entries: HashSet<usize>,
}

/// A change to be recorded.
struct Adding<'a> {
    turn: TurnKey,
    head: &'a Head,
    at: u64,
    path: &'a Path,
    call: Option<&'a str>,
    before: &'a Held,
    after: &'a Held,
    /// What the file holds, where what is there before are unsaved edits.
    saved: Option<&'a Held>,
}

impl CheckpointWriter {
    fn new(mailbox: Arc<Mailbox>, disks: Disks) -> Self {
        Self {
            mailbox,
            disks,
            folder_indexes: None,
            turns: HashMap::new(),
            looked: HashMap::new(),
            written: None,
            told: false,
        }
    }

    fn handle(&mut self, folder: &Path, limits: Limits, request: Request) {
        let done = match &request {
            Request::Add { turn, head, at, path, call, before, after, saved } => {
                let (call, saved) = (call.as_deref(), saved.as_ref());
                let adding = Adding { turn: *turn, head, at: *at, path, call, before, after, saved };
                let done = self.add(folder, &adding);
                done.and_then(|()| self.make_room(folder, limits))
            }
            Request::Look { turn, path, entry } => {
                let look = || Looked { held: in_time(&self.disks, path), entries: HashSet::new() };
                let looked = self.looked.entry((*turn, path.clone())).or_insert_with(look);
                looked.entries.insert(*entry);
                Ok(())
            }
            Request::Unlook { turn, path, entry } => {
                let key = (*turn, path.clone());
                if let Some(looked) = self.looked.get_mut(&key) {
                    looked.entries.remove(entry);
                    if looked.entries.is_empty() {
                        self.looked.remove(&key);
                    }
                }
                Ok(())
            }
            Request::Attribute { turn, cwd, at, told } => self.attribute(folder, (*turn, cwd), *at, told),
            Request::Finish { turn } => {
                self.turns.retain(|(of, _), _| of != turn);
                self.looked.retain(|(of, _), _| of != turn);
                Ok(())
            }
            Request::Settle { turn, head, at, path, call, diffs } => {
                match self.before_call(*turn, path, diffs) {
                    Some((before, after)) => {
                        let (call, before, after) = (call.as_deref(), &before, &after);
                        let (turn, at, saved) = (*turn, *at, None);
                        let adding = Adding { turn, head, at, path, call, before, after, saved };
                        let done = self.add(folder, &adding);
                        done.and_then(|()| self.make_room(folder, limits))
                    }
                    None => Ok(()),
                }
            }
            Request::List { job, cwd } => list(&folder.join(project(cwd))).map(|(turns, broken)| {
                self.reply(*job, Reply::Listed { turns, broken });
            }),
            Request::Fetch { job, cwd, since, files } => {
                let texts = folder.join(project(cwd)).join(TEXTS);
                let undoing = Undoing::new(&self.disks, cwd, *since).knowing(self.folder_indexes.as_ref());
                let files = fetch(&self.disks, &texts, &undoing, files);
                self.reply(*job, Reply::Fetched(files));
                Ok(())
            }
            Request::Blame { job, path, text, row } => steps(folder, path).map(|steps| {
                self.reply(*job, Reply::Blamed(blame::author(&steps, text, *row)));
            }),
            Request::SetMode { job, path, mode } => {
                self.reply(*job, Reply::Put(self.set_mode(path, *mode)));
                Ok(())
            }
            Request::Put { job, turn, head, at, since, path, seen, target } => {
                // First the record: what is not recorded could not be undone.
                let (turn, at, call, saved) = (*turn, *at, None, None);
                let adding = Adding { turn, head, at, path, call, before: seen, after: target, saved };
                let done = self.add(folder, &adding).map_err(|error| {
                    format!("its checkpoint couldn't be written in {}: {error}", folder.display())
                });
                let undoing =
                    Undoing::new(&self.disks, &head.cwd, *since).knowing(self.folder_indexes.as_ref());
                let done = done.and_then(|()| self.put(&undoing, path, (seen, target)));
                if done.is_err() {
                    // What did not come about is no change; if this fails, an empty one stays.
                    let _ = self.add(folder, &Adding { after: seen, ..adding });
                }
                self.reply(*job, Reply::Put(done));
                Ok(())
            }
        };
        if let Err(error) = done {
            self.failed(folder, &request, &error);
        }
    }

    /// What a file held before a call that is over, as far as that is known, and what it holds now, if that is something
    /// else.
    fn before_call(&mut self, turn: TurnKey, path: &Path, diffs: &[FileDiff]) -> Option<(Held, Held)> {
        let looked = self.looked.remove(&(turn, path.to_owned())).map(|looked| looked.held);
        if looked.is_none() && diffs.is_empty() {
            // Nothing is known of what was there before, as with calls that read.
            return None;
        }
        let now = in_time(&self.disks, path);
        let looked = looked.filter(|before| !before.matches(&now));
        Some((looked.or_else(|| before_diffs(&now, diffs))?, now))
    }

    fn set_mode(&self, path: &Path, mode: Mode) -> Result<(), String> {
        let file = path.to_owned();
        let set = || self.disks.soon(path, PATIENCE, move || set_mode(&file, mode));
        self.as_our_own(path, || match set() {
            Some(done) => done.map_err(|error| format!("its permissions: {error}")),
            None => Err("its permissions: its disk does not answer".to_owned()),
        })
    }

    fn put(&self, undoing: &Undoing, path: &Path, sides: (&Held, &Held)) -> Result<(), String> {
        self.as_our_own(path, || put(&self.disks, undoing, path, sides))
    }

    /// Writes a file for the user, which is no news.
    fn as_our_own(&self, path: &Path, write: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        if let Some(indexes) = &self.folder_indexes {
            indexes.writing(path);
        }
        let done = write();
        if let Some(indexes) = &self.folder_indexes {
            indexes.wrote(path, done.is_ok());
        }
        done
    }

    fn reply(&self, job: JobId, reply: Reply) {
        self.mailbox.post(Event::Checkpointed { job, reply });
    }

    /// What cannot be kept is told of once; the reason will be the same next time.
    fn failed(&mut self, folder: &Path, request: &Request, error: &io::Error) {
        let folder = folder.display();
        match request {
            Request::List { job, .. }
            | Request::Fetch { job, .. }
            | Request::Blame { job, .. }
            | Request::SetMode { job, .. }
            | Request::Put { job, .. } => {
                self.reply(*job, Reply::Failed(format!("{folder}: {error}")));
            }
            _ if self.told => {}
            _ => {
                self.told = true;
                let text = format!(
                    "couldn't keep a checkpoint in {folder}: {error}; changes can't be restored from there. \
                     setup{{ checkpoints = {{ enabled = false }} }} does without"
                );
                self.mailbox.post(Event::Advised { severity: Severity::Warning, text });
            }
        }
    }

    fn add(&mut self, folder: &Path, adding: &Adding) -> io::Result<()> {
        let Adding { turn, head, at, path, call, before, after, saved } = *adding;
        let project = folder.join(project(&head.cwd));
        create_private_folder(&project.join(TEXTS))?;
        let _lock = lock(folder)?;
        let key = (turn, path.to_owned());
        let file = project.join(journal(turn));
        // One that was taken away to make room begins anew.
        let new = !file.exists();
        let again = self.turns.get(&key).filter(|_| new).map(|baseline| baseline.before.clone());
        let again = again.map(|before| self.keep(&project, &before)).transpose()?;
        let found = self.keep(&project, before)?;
        let stored_after = self.keep(&project, after)?;
        let saved = saved.map(|saved| self.keep(&project, saved)).transpose()?;
        // A change may be told by its call, and by who watches the disk.
        let is_told = |baseline: &TurnBaseline| baseline.after.matches(&stored_after);
        if !new && stored_after != Stored::Unknown && self.turns.get(&key).is_some_and(is_told) {
            return Ok(());
        }
        let baseline = self.turns.entry(key).or_insert_with(|| TurnBaseline {
            stored: found.clone(),
            before: before.clone(),
            after: found.clone(),
        });
        baseline.stored = again.unwrap_or_else(|| baseline.stored.clone());
        let (added, removed) = counts(&baseline.before, after);
        let found = (!found.matches(&baseline.after)).then_some(found);
        let change = Touched {
            path: path.to_owned(),
            before: baseline.stored.clone(),
            after: stored_after.clone(),
            added,
            removed,
            last: Last { call: call.map(str::to_owned), found, saved },
        };
        let mut text = Vec::new();
        if new {
            write_line(&mut text, &Line { at: turn.at, fact: Fact::Turn(head.clone()) })?;
        }
        write_line(&mut text, &Line { at, fact: Fact::Change(change) })?;
        let mut file = private().create(true).append(true).read(true).open(&file)?;
        disk::append_lines(&mut file, &text)?;
        baseline.after = stored_after;
        Ok(())
    }

    fn attribute(
        &mut self,
        folder: &Path,
        (turn, cwd): (TurnKey, &Path),
        at: u64,
        told: &Attributed,
    ) -> io::Result<()> {
        let file = folder.join(project(cwd)).join(journal(turn));
        if !file.exists() {
            return Ok(());
        }
        let _lock = lock(folder)?;
        let mut text = Vec::new();
        write_line(&mut text, &Line { at, fact: Fact::Attributed(told.clone()) })?;
        let mut file = private().append(true).read(true).open(&file)?;
        disk::append_lines(&mut file, &text)?;
        if told.is_another {
            // What the turn does to the file from now on begins with what it finds.
            self.turns.remove(&(turn, told.path.clone()));
        }
        Ok(())
    }

    /// Keeps what a path held, unless it is too much.
    fn keep(&mut self, project: &Path, held: &Held) -> io::Result<Stored> {
        let keep = |this: &mut Self, bytes: &[u8]| match bytes.len() <= MAX_FILE_BYTES {
            true => this.keep_bytes(project, bytes),
            false => Ok(None),
        };
        let stored = match held {
            Held::Absent => Some(Stored::Absent),
            Held::Link(target) => keep(self, &bytes_of_path(target))?.map(Stored::Link),
            held => match held.bytes() {
                Some(bytes) => keep(self, bytes)?.map(|name| Stored::file(name, held.mode())),
                None => None,
            },
        };
        Ok(stored.unwrap_or(Stored::Unknown))
    }

    /// Keeps bytes once, and gives the name that they go by; nothing where others have it.
    fn keep_bytes(&mut self, project: &Path, content: &[u8]) -> io::Result<Option<String>> {
        let name = name_of(content);
        let path = project.join(TEXTS).join(&name);
        match fs::read(&path) {
            Ok(bytes) if bytes == content => return Ok(Some(name)),
            // Other bytes of the same name, which is less likely than a broken disk.
            Ok(bytes) if name_of(&bytes) == name => return Ok(None),
            // What is damaged is replaced.
            _ => {}
        }
        disk::replace_private(&path, content)?;
        self.written = self.written.map(|written| written + content.len() as u64);
        Ok(Some(name))
    }

    fn make_room(&mut self, folder: &Path, limits: Limits) -> io::Result<()> {
        if self.written.is_some_and(|written| written < PRUNE_AFTER.min(limits.bytes / 4)) {
            return Ok(());
        }
        self.written = Some(0);
        // What a turn that is over began with is not asked for again; one that runs is recorded anew.
        if self.turns.len() > 1000 {
            self.turns.clear();
        }
        prune(folder, limits, now())
    }
}

/// Takes away what is too old, then the oldest of what is too much, and texts that nothing names.
fn prune(folder: &Path, limits: Limits, now: u64) -> io::Result<()> {
    struct Kept {
        project: PathBuf,
        file: PathBuf,
        at: u64,
        size: u64,
        texts: HashSet<String>,
    }
    let _lock = lock(folder)?;
    let mut turns: Vec<Kept> = Vec::new();
    let mut sizes: HashMap<(PathBuf, String), u64> = HashMap::new();
    for project in fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path()) {
        for file in journals(&project)? {
            let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let at = stem.split('-').next().and_then(|at| at.parse().ok()).unwrap_or(0);
            let turn = Turn::read(&stem, &text);
            let texts = turn.map(|(turn, _)| turn.texts().map(str::to_owned).collect());
            turns.push(Kept {
                project: project.clone(),
                file,
                at,
                size: text.len() as u64,
                texts: texts.unwrap_or_default(),
            });
        }
        let Ok(texts) = fs::read_dir(project.join(TEXTS)) else { continue };
        for entry in texts.filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            sizes.insert((project.clone(), name), entry.metadata()?.len());
        }
    }
    turns.sort_by_key(|turn| std::cmp::Reverse(turn.at));
    let mut named: HashSet<(PathBuf, String)> = HashSet::new();
    let mut bytes = 0;
    let mut full = false;
    for turn in turns {
        let of = |name: &String| (turn.project.clone(), name.clone());
        let new: Vec<_> = turn.texts.iter().map(of).filter(|text| !named.contains(text)).collect();
        let size = turn.size + new.iter().filter_map(|text| sizes.get(text)).sum::<u64>();
        full |= bytes + size > limits.bytes;
        if full || turn.at + limits.age < now {
            remove(&turn.file)?;
            continue;
        }
        bytes += size;
        named.extend(new);
    }
    for (project, name) in sizes.into_keys() {
        if !named.contains(&(project.clone(), name.clone())) {
            remove(&project.join(TEXTS).join(name))?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn journals(project: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(project) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries?,
    };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|extension| extension == JOURNAL)).collect())
}

/// All turns of a project, the newest first, and of how many not all could be read.
/// The name of a turn's journal.
fn journal(turn: TurnKey) -> String {
    format!("{:013}-{}-{}.{JOURNAL}", turn.at, std::process::id(), turn.number)
}

fn list(project: &Path) -> io::Result<(Vec<Turn>, usize)> {
    let mut turns = Vec::new();
    let mut broken = 0;
    for file in journals(project)? {
        let text = match fs::read(&file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            // Another Neovim has just taken it away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => String::new(),
        };
        match Turn::read(&file.file_stem().unwrap_or_default().to_string_lossy(), &text) {
            Some((turn, whole)) => {
                broken += usize::from(!whole);
                turns.push(turn);
            }
            None => broken += 1,
        }
    }
    turns.sort_by(|a, b| b.id.cmp(&a.id));
    Ok((turns, broken))
}

/// All that is recorded of a file, in any project that it is in, the oldest first.
fn steps(folder: &Path, path: &Path) -> io::Result<Vec<Step>> {
    let mut steps = Vec::new();
    for project in path.ancestors().skip(1).map(|cwd| folder.join(project(cwd))) {
        let (turns, _) = list(&project)?;
        let texts = project.join(TEXTS);
        // A text that can't be read is as good as unknown.
        let held = |stored: &Stored| held_of(&texts, stored).unwrap_or(Held::Unknown);
        for turn in &turns {
            for step in turn.steps.iter().filter(|step| step.path == path) {
                steps.push(Step {
                    head: turn.head.clone(),
                    at: step.at,
                    call: step.call.clone(),
                    before: held(&step.before),
                    after: held(&step.after),
                });
            }
        }
    }
    steps.sort_by_key(|step| step.at);
    Ok(steps)
}

/// Looks at files that are to be put back, and at what it takes.
fn fetch(
    disks: &Disks,
    texts: &Path,
    undoing: &Undoing,
    files: &[(Planned, Option<Loaded>)],
) -> Vec<Fetched> {
    let going = files.iter().map(|(planned, _)| planned).filter(|planned| planned.target == Stored::Absent);
    let going: Vec<PathBuf> = going.map(|planned| planned.path.clone()).collect();
    let folders = undoing.going_folders(disks, going);
    let all = files.iter().map(|(planned, _)| planned.path.clone()).collect();
    let mut repositories = undoing.repositories(disks, all);
    let one = |(planned, loaded): &(Planned, Option<Loaded>)| {
        let fetched = fetch_one(disks, texts, (undoing, &folders), (planned, loaded.as_ref()));
        Fetched { repository: repositories.remove(&fetched.path), ..fetched }
    };
    files.iter().map(one).collect()
}

fn fetch_one(
    disks: &Disks,
    texts: &Path,
    (undoing, going_folders): (&Undoing, &BTreeSet<PathBuf>),
    (planned, loaded): (&Planned, Option<&Loaded>),
) -> Fetched {
    let path = planned.path.clone();
    let target = match &planned.target {
        Stored::Unknown => Err("what was there before was too large to be kept, or no file".to_owned()),
        stored => held_of(texts, stored),
    };
    let edits = match (loaded, &target) {
        (Some(loaded), Ok(target)) => edits(loaded, target),
        _ => Vec::new(),
    };
    let expected = held_of(texts, &planned.expected).ok();
    // A text that can't be read is as good as saved.
    let saved = planned.saved.as_ref().and_then(|saved| held_of(texts, saved).ok());
    let saved = saved.zip(target.as_ref().ok()).and_then(|(held, target)| Saved::of(held, loaded, target));
    let disk = match going_folders.contains(&path) {
        // What is in it goes, and it goes along.
        true => Held::Absent,
        false => undoing.held_in_time(disks, &path),
    };
    let hunks = match (loaded, &target) {
        (Some(loaded), Ok(target)) => hunks(&Held::text(format!("{}\n", loaded.text)), target),
        (None, Ok(target)) => hunks(&disk, target),
        (_, Err(_)) => Vec::new(),
    };
    let folder = match (&target, &disk) {
        (Ok(Held::Absent), Held::Absent) | (Err(_), _) => None,
        (Ok(Held::Absent), _) => path
            .ancestors()
            .skip(1)
            .take_while(|above| going_folders.contains(*above))
            .last()
            .map(Path::to_owned),
        (Ok(_), Held::Absent) => undoing.missing_folder(disks, &path),
        (Ok(_), _) => None,
    };
    let place = path.clone();
    let find_pipe = move || fs::symlink_metadata(place).is_ok_and(|found| is_pipe(found.file_type()));
    let is_pipe = loaded.is_some() && disks.soon(&path, PATIENCE, find_pipe).unwrap_or_default();
    Fetched { path, target, expected, disk, is_pipe, folder, repository: None, edits, hunks, saved }
}

fn held_of(texts: &Path, stored: &Stored) -> Result<Held, String> {
    let name = match stored {
        Stored::Absent => return Ok(Held::Absent),
        Stored::Unknown => return Ok(Held::Unknown),
        Stored::Text(name) | Stored::File { name, .. } | Stored::Link(name) => name,
    };
    let path = texts.join(name);
    let broken = |why: &str| format!("the checkpoint's text {} {why}", path.display());
    let bytes = fs::read(&path).map_err(|error| broken(&format!("can't be read ({error})")))?;
    if name_of(&bytes) != *name {
        return Err(broken("is damaged"));
    }
    Ok(match stored {
        Stored::Link(_) => Held::Link(path_of_bytes(&bytes)),
        stored => Held::of_bytes(bytes, stored.mode()),
    })
}

/// What a file holds now, and nothing of one whose disk does not answer: it would hold up all others.
fn in_time(disks: &Disks, path: &Path) -> Held {
    let file = path.to_owned();
    disks.soon(path, PATIENCE, move || held(&file)).unwrap_or(Held::Unknown)
}

fn put(disks: &Disks, undoing: &Undoing, path: &Path, (seen, target): (&Held, &Held)) -> Result<(), String> {
    if !undoing.held_in_time(disks, path).matches(seen) {
        return Err("it was changed just now; try again".to_owned());
    }
    if let Some(link) = undoing.link_above(path).filter(|_| *target != Held::Absent) {
        return Err(format!("its folder {} is a link now; remove the link first", link.display()));
    }
    restore::put(path, *seen != Held::Absent, target)?;
    if *target == Held::Absent {
        undoing.remove_folders(path);
    }
    Ok(())
}

fn write_line(text: &mut Vec<u8>, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *text, line)?;
    text.push(b'\n');
    Ok(())
}

/// Holds off the other Neovims until it is dropped.
fn lock(folder: &Path) -> io::Result<File> {
    let file = private().create(true).write(true).truncate(false).open(folder.join("lock"))?;
    wait_lock(&file)?;
    Ok(file)
}

/// The folder of a project: readable, and not the same for two.
fn project(cwd: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String =
        cwd.file_name().unwrap_or_default().to_string_lossy().chars().take(40).map(plain).collect();
    format!("{name}-{}", name_of(cwd.as_os_str().as_encoded_bytes()))
}

/// FNV-1a: the standard library's hashes differ between versions. Texts of one name are compared
/// before one stands for the other, so it need not withstand an attack.
fn name_of(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    format!("{hash:032x}")
}

#[cfg(test)]
#[path = "checkpoints_tests.rs"]
mod tests;

//! Looks after the folders of one or several sessions, on a thread of its own: walks them once, has the system watch
//! them, looks at what was touched, and tells what has become different and who did it. What files held before is
//! `before`'s, who is asked when a change is judged is `core::changes::attribution`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use super::before::{Before, Sides};
use super::common::Common;
use super::folder_watch::{FolderWatch, Listener};
use super::git;
use super::git_folder;
use super::pending::{Pending, Touched, is_swap_file};
use super::report::{BATCH, Report, put_away};
use super::walk::{self, Walked, Ways};
use super::written::Written;
use crate::acp::mutex::lock;
use crate::core::changes::attribution::verdicts::{Verdict, Verdicts};
use crate::core::changes::attribution::{COARSE, Judgement};
use crate::core::changes::folder_index::{Difference, FileKind, FileState, FolderIndex};
use crate::core::changes::half_written::Millis;
use crate::core::message::{Cause, ChangedFile, Event};

/// A file is at rest when nothing has happened to it for so long.
const REST: Millis = 500;

/// It is not looked more often than this at what comes to rest.
const MIN_INTERVAL_MS: Millis = 200;

/// One that is still open for writing is looked at all the same after this.
const MAX_WAIT_MS: Millis = 10_000;

/// More folders are not watched: other programs of the user's need some of the system's, too.
const FOLDERS: usize = 65_536;

/// New folders may have newer ones in them; so often it is looked for those at once.
const ROUNDS: usize = 8;

pub enum Message {
    /// Something was touched.
    Touched,
    /// An agent said what a change may wait for.
    Said,
    /// A call, a command or a turn has ended or is about to, or a prompt to be sent: at this time.
    Check(Millis, oneshot::Sender<()>),
    /// The editor has saved a file.
    Saved(PathBuf, Written),
    /// This client writes a file.
    Writing(PathBuf),
    /// It has, or it could not.
    Wrote(PathBuf, Option<Written>),
    Stop,
}

pub struct Worker {
    number: u64,
    common: Arc<Common>,
    roots: Vec<PathBuf>,
    index: FolderIndex,
    watch: Option<Arc<FolderWatch>>,
    /// All folders are watched, so what was not touched is the same.
    is_complete: Arc<AtomicBool>,
    before: Before,
    pending: Pending,
    /// What was told of whose changes it were, as long as more may be learned of it.
    verdicts: Verdicts,
    writing: HashMap<PathBuf, u32>,
    /// Files that are ignored, and that git keeps all the same.
    kept: HashSet<PathBuf>,
    /// Folders in which a git repository begins.
    repositories: BTreeSet<PathBuf>,
    /// When to look at what has come to rest.
    due: Option<Millis>,
    /// When all was looked at last.
    looked: Millis,
    /// A message that something was touched is on its way.
    told: Arc<AtomicBool>,
    /// A folder that is looked after went. Should it come again, nobody says so.
    is_root_gone: bool,
    /// There are too many files.
    given_up: bool,
    most_folders: usize,
    /// Folders of Neovim's own, which are nobody's project.
    own: Vec<PathBuf>,
}

impl Worker {
    pub fn new(
        number: u64,
        common: Arc<Common>,
        roots: Vec<PathBuf>,
        tell: Sender<Message>,
    ) -> (Self, Option<Arc<FolderWatch>>) {
        let told = Arc::new(AtomicBool::new(false));
        let watch = start_watch(&common, roots.clone(), told.clone(), tell);
        Self::with_watch(number, common, roots, (watch, told))
    }

    fn with_watch(
        number: u64,
        common: Arc<Common>,
        roots: Vec<PathBuf>,
        (watch, told): (std::io::Result<Option<Arc<FolderWatch>>>, Arc<AtomicBool>),
    ) -> (Self, Option<Arc<FolderWatch>>) {
        let watch = watch.unwrap_or_else(|error| {
            roots.iter().for_each(|root| common.is_unwatched(root, root, &error));
            None
        });
        let before = Before::new(lock(&common.cache).clone());
        let worker = Self {
            number,
            roots,
            index: FolderIndex::default(),
            watch: watch.clone(),
            is_complete: Arc::new(AtomicBool::new(watch.is_some())),
            before,
            pending: Pending::default(),
            verdicts: Verdicts::default(),
            writing: HashMap::new(),
            kept: HashSet::new(),
            repositories: BTreeSet::new(),
            due: None,
            looked: common.now(),
            told,
            is_root_gone: false,
            given_up: false,
            most_folders: FOLDERS,
            own: Vec::new(),
            common,
        };
        (worker, watch)
    }

    /// All files are looked at from now on; for tests and benchmarks.
    pub fn stop_watching(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.stop();
        }
        self.is_complete.store(false, Ordering::Relaxed);
    }

    pub fn run(mut self, messages: &Receiver<Message>, ready: &watch::Sender<bool>) {
        self.build();
        ready.send_replace(true);
        loop {
            let message = match self.due {
                Some(due) => {
                    let left = due.saturating_sub(self.common.now());
                    messages.recv_timeout(Duration::from_millis(left))
                }
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => self.check(None),
            }
        }
        if let Some(watch) = &self.watch {
            watch.stop();
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Touched => {
                self.take_in();
                self.arm();
            }
            Message::Said => self.check(None),
            Message::Check(at, done) => {
                self.check(Some(at));
                // Whoever asked may have given up.
                let _ = done.send(());
            }
            Message::Saved(path, saved) => {
                self.take_in();
                self.wrote(path, saved);
                self.arm();
            }
            Message::Writing(path) => *self.writing.entry(path).or_default() += 1,
            Message::Wrote(path, written) => {
                self.take_in();
                if let Some(count) = self.writing.get_mut(&path) {
                    *count -= 1;
                    if *count == 0 {
                        self.writing.remove(&path);
                    }
                }
                if let Some(written) = written {
                    self.wrote(path, written);
                }
                self.arm();
            }
            Message::Stop => {}
        }
    }

    /// What this client or the editor wrote is known to all whom it concerns; what somebody else has made of it since is
    /// not.
    fn wrote(&mut self, path: PathBuf, written: Written) {
        let Written { state, text, at } = written;
        let now = walk::look(&path);
        let is_same = match (now, state) {
            (Some(now), Some(state)) => !now.differs(&state),
            (now, state) => now.is_none() && state.is_none(),
        };
        let touched = self.pending.files.remove(&path);
        self.verdicts.forget(&path);
        // Of one that is gone it can't be said any more whether it is ignored.
        let is_known = now.is_none()
            || self.index.get(&path).is_some()
            || touched.as_ref().is_some_and(|touched| touched.is_listed)
            || self.is_listed(&path);
        if !is_known {
            return;
        }
        self.index.set(&path, state);
        self.before.forget(&path);
        if let Some((state, text)) = state.zip(text) {
            self.before.keep(&path, state, &text);
        }
        if !is_same {
            let touched = touched.filter(|touched| touched.times.last > at);
            let touched = touched.unwrap_or_else(|| Touched::at(self.common.now()));
            let last = touched.times.last;
            let times = (touched.times.first.max(at).min(last), last).into();
            self.pending.add(path, Touched { times, is_listed: true, ..touched });
        }
    }

    fn is_listed(&self, path: &Path) -> bool {
        let Some((folder, name)) = path.parent().zip(path.file_name()) else { return false };
        walk::names_in(folder).contains(name)
    }

    // Building.

    /// Gives how long it took until all files were known, without what they hold.
    pub fn build(&mut self) -> Duration {
        let began = Instant::now();
        let mut repositories = BTreeSet::new();
        self.own = self.common.own_below(&self.roots);
        for root in self.roots.clone() {
            let walked = self.walk(&root);
            if walked.too_many {
                self.common.log.note(&format!(
                    "{} has more than {} files: changes there are not noticed",
                    root.display(),
                    self.common.most_files
                ));
                self.common.mailbox.post(Event::FolderUnwatched {
                    folder: root,
                    why: format!("it has more than {} files", self.common.most_files),
                    is_looked_at: false,
                });
                self.given_up = true;
                return began.elapsed();
            }
            for (path, state) in walked.files {
                self.index.set(&path, Some(state));
            }
            repositories.extend(walked.repositories);
            // The folder may lie in a repository.
            repositories.insert(root);
        }
        self.keep_ignored(&repositories);
        self.repositories.clone_from(&repositories);
        for folder in self.git_folders() {
            self.watch_folder(&folder);
            for (path, state) in git_folder::files(&folder) {
                self.index.set(&path, Some(state));
            }
        }
        self.looked = self.common.now();
        let walked = began.elapsed();
        self.before.learn(&repositories, &self.index);
        self.common.log.note(&format!(
            "{} files in {} folders are looked after: walked in {} ms, texts known in {} ms",
            self.index.len(),
            self.watch.as_ref().map_or(0, |watch| watch.folders()),
            walked.as_millis(),
            began.elapsed().as_millis()
        ));
        walked
    }

    /// What git keeps is the project's, whatever is ignored otherwise.
    fn keep_ignored(&mut self, repositories: &BTreeSet<PathBuf>) {
        self.kept = repositories.iter().flat_map(|folder| git::kept_though_ignored(folder)).collect();
        for path in &self.kept {
            let Some(state) =
                walk::look(path).filter(|_| self.roots.iter().any(|root| path.starts_with(root)))
            else {
                continue;
            };
            self.index.set(path, Some(state));
            path.parent().into_iter().for_each(|folder| self.watch_folder(folder));
        }
    }

    fn watch_folder(&self, folder: &Path) {
        if let Some(watch) = &self.watch
            && let Err(error) = watch.watch(folder)
        {
            self.common.log.note(&format!("couldn't watch {}: {error}", folder.display()));
        }
    }

    /// What of the repositories' own folders is looked after.
    fn git_folders(&self) -> Vec<PathBuf> {
        let own = |folder: &PathBuf| self.own.iter().any(|own| folder.starts_with(own));
        let repositories = self.repositories.iter().filter(|folder| !own(folder));
        repositories.flat_map(|folder| git_folder::folders(folder)).collect()
    }

    /// Walks a folder that is not ignored, and has all in it watched.
    fn walk(&self, folder: &Path) -> Walked {
        let failed = Arc::new(Mutex::new(None));
        let (watch, is_complete, theirs) = (self.watch.clone(), self.is_complete.clone(), failed.clone());
        let most = self.most_folders;
        if self.own.iter().any(|own| folder.starts_with(own)) {
            return Walked::default();
        }
        let walked = walk::walk(folder, self.own.clone(), self.common.most_files, move |folder| {
            let Some(watch) = watch.as_ref().filter(|_| is_complete.load(Ordering::Relaxed)) else { return };
            let watched = match watch.folders() < most {
                true => watch.watch(folder),
                false => Err(std::io::Error::other(format!("it has more than {most} folders"))),
            };
            if let Err(error) = watched
                && !is_gone(&error)
            {
                is_complete.store(false, Ordering::Relaxed);
                lock(&theirs).get_or_insert((folder.to_owned(), error));
            }
        });
        if let Some((folder, error)) = lock(&failed).take() {
            let root = self.roots.iter().find(|root| folder.starts_with(root)).unwrap_or(&folder);
            self.common.is_unwatched(root, &folder, &error);
        }
        walked
    }

    // What was touched.

    /// Takes what the system has said until now, and follows folders that came or went.
    fn take_in(&mut self) {
        self.told.store(false, Ordering::Release);
        let Some(watch) = self.watch.clone() else { return };
        for _ in 0..ROUNDS {
            self.pending.join(watch.take());
            if self.given_up {
                self.pending = Pending::default();
                return;
            }
            let folders = std::mem::take(&mut self.pending.folders);
            let rules = std::mem::take(&mut self.pending.rules);
            if folders.is_empty() && rules.is_empty() {
                return;
            }
            for (folder, since) in folders {
                if git_folder::is_in(&folder) {
                    self.watch_folder(&folder);
                    self.came(git_folder::files(&folder), since);
                } else if self.is_listed(&folder) {
                    self.folder_came(&folder, since);
                }
            }
            for folder in rules {
                self.rules_changed(&folder);
            }
        }
    }

    fn folder_came(&mut self, folder: &Path, since: Millis) {
        let files = self.walk(folder).files;
        self.came(files, since);
    }

    fn came(&mut self, files: Vec<(PathBuf, FileState)>, since: Millis) {
        for (path, _) in files {
            // What is done to it from now on has its own events.
            self.pending.add(path, Touched { is_listed: true, ..Touched::at(since) });
        }
    }

    /// What is ignored in a folder is something else than before: that alone is no change of any file.
    fn rules_changed(&mut self, folder: &Path) {
        let walked = self.walk(folder);
        if let Some(watch) = &self.watch {
            let of_git = self.git_folders();
            watch.keep_only(folder, &walked.folders.iter().chain(&of_git).map(PathBuf::as_path).collect());
        }
        // What was done before the walk has come to its end may be in its list: it has its own events.
        if let Some(watch) = &self.watch {
            self.pending.join(watch.take());
        }
        let listed: BTreeMap<PathBuf, FileState> = walked.files.into_iter().collect();
        let known: Vec<PathBuf> = self.index.below(folder).collect();
        let is_kept = |path: &PathBuf| self.kept.contains(path) || git_folder::is_run_later(path);
        let ignored: Vec<&PathBuf> =
            known.iter().filter(|path| !listed.contains_key(*path) && !is_kept(path)).collect();
        for path in ignored {
            if walk::look(path).is_some() {
                self.index.set(path, None);
                self.before.forget(path);
                self.pending.files.remove(path);
            }
        }
        for (path, state) in listed {
            if self.index.get(&path).is_none() && !self.pending.has(&path) {
                self.index.set(&path, Some(state));
                self.before.copy(&path, state);
            }
        }
    }

    /// Looks at all files: what is another one counts as touched.
    fn look_at_all(&mut self, end: Option<Millis>) {
        let last = self.looked;
        let now = self.common.now().min(end.unwrap_or(Millis::MAX)).max(last);
        let mut found = HashSet::new();
        let of_git: Vec<_> = self.git_folders().iter().flat_map(|folder| git_folder::files(folder)).collect();
        let walks: Vec<_> = self.roots.iter().map(|root| self.walk(root).files).chain([of_git]).collect();
        for files in walks {
            for (path, state) in files {
                if self.index.get(&path).is_none_or(|known| known.differs(&state)) {
                    let touched = match self.common.at_time(state.changed) {
                        // This look may come late: what was changed since is looked at next time.
                        Some(at) if at > now + COARSE => Touched::between(at, at),
                        Some(at) if at >= last => {
                            let later = (at + COARSE).min(now);
                            Touched::between(at.min(now), later)
                        }
                        // It came with its times, whenever that was.
                        Some(_) | None => Touched::between(last, now),
                    };
                    self.pending.add(path.clone(), Touched { is_listed: true, ..touched });
                }
                found.insert(path);
            }
        }
        let gone: Vec<PathBuf> =
            self.index.files().map(|(path, _)| path).filter(|path| !found.contains(path)).collect();
        for path in gone {
            self.pending.add(path, Touched::between(last, now));
        }
        self.looked = now;
    }

    // Looking.

    /// Looks at what has come to rest; if something ends, at all that was touched until then and that nobody else may be
    /// writing.
    pub fn check(&mut self, end: Option<Millis>) {
        if self.given_up {
            return;
        }
        self.take_in();
        let is_complete = self.is_complete.load(Ordering::Relaxed);
        if std::mem::take(&mut self.pending.lost) {
            self.common.log.note("events of the file system were lost: all files are looked at");
            self.look_at_all(end);
        } else if end.is_some() && (!is_complete || self.is_root_gone) {
            self.is_root_gone = !self.roots.iter().all(|root| root.is_dir());
            self.look_at_all(end);
        }
        self.revise();
        self.ask_the_files();
        let judged = self.judged(end);
        if !judged.is_empty() {
            self.look(judged);
        }
        self.arm();
    }

    /// Tells of changes that were told as somebody else's than is known by now.
    fn revise(&mut self) {
        let revised = self.verdicts.revise(&lock(&self.common.activities));
        let mut report = Report::new(self.common.clone());
        revised.into_iter().for_each(|(cause, file)| report.add(cause, file));
        report.post();
    }

    /// More may be learned of whose change it was. Gives the number by which its texts are kept, if they are.
    fn remember(&mut self, cause: &Cause, touched: Option<&Touched>, mut file: ChangedFile) -> Option<u64> {
        let Some(touched) = touched else {
            self.verdicts.forget(&file.path);
            return None;
        };
        if *cause != Cause::Outside && !self.verdicts.has_room(file.before.size() + file.after.size()) {
            put_away(&self.common, &mut file);
        }
        let (times, holder) = (touched.times, touched.holder.clone());
        let number = file.later;
        self.verdicts.add(Verdict { file, times, holder, cause: cause.clone() });
        number
    }

    /// What the user would be held to have changed may have been changed just before, and only be heard of now.
    fn ask_the_files(&mut self) {
        let activities = lock(&self.common.activities);
        let is_doubtful = |path: &Path, touched: &Touched| {
            let times = touched.times;
            times.written.is_none() && activities.is_users(times) && !activities.running(path).is_empty()
        };
        let pending = self.pending.files.iter().filter(|(path, touched)| is_doubtful(path, touched));
        let paths: Vec<PathBuf> = pending.map(|(path, _)| path.clone()).collect();
        drop(activities);
        for path in paths {
            if let Some(touched) = self.pending.files.get_mut(&path) {
                let state = fs::symlink_metadata(&path).ok();
                touched.times.written = self.common.written(&path, state.as_ref());
            }
        }
    }

    /// What can be told now, and who did it.
    fn judged(&mut self, end: Option<Millis>) -> HashMap<PathBuf, (Touched, Cause)> {
        let now = self.common.now();
        let activities = lock(&self.common.activities);
        let mut judged = HashMap::new();
        for (path, touched) in &self.pending.files {
            let rests = now.saturating_sub(touched.times.last);
            let may_be_half = touched.is_open && activities.running(path).len() > 1;
            let is_due = if end.is_some_and(|end| touched.times.last <= end) && !may_be_half {
                true
            } else {
                rests >= if touched.is_open { MAX_WAIT_MS } else { REST }
            };
            if !is_due || self.writing.contains_key(path) {
                continue;
            }
            if let Judgement::By(cause) = activities.judge(path, touched.times, touched.holder.as_ref()) {
                judged.insert(path.clone(), (touched.clone(), cause));
            }
        }
        drop(activities);
        for path in judged.keys() {
            self.pending.files.remove(path);
        }
        judged
    }

    fn look(&mut self, mut judged: HashMap<PathBuf, (Touched, Cause)>) {
        let mut files: BTreeMap<PathBuf, Option<FileState>> = BTreeMap::new();
        let mut lists: HashMap<PathBuf, BTreeSet<std::ffi::OsString>> = HashMap::new();
        let mut below = Vec::new();
        let mut ways = Ways::new(&self.roots);
        for (path, (touched, cause)) in &judged {
            if self.pending.gone.remove(path) {
                for file in self.index.below(path) {
                    files.insert(file.clone(), ways.look(&file));
                    below.push((file, (touched.clone(), cause.clone())));
                }
                self.is_root_gone |= self.roots.contains(path);
            }
            let state = ways.look(path);
            let is_new = state.is_some() && self.index.get(path).is_none();
            if is_new && !touched.is_listed && !git_folder::is_run_later(path) {
                let Some((folder, name)) = path.parent().zip(path.file_name()) else { continue };
                if !lists.contains_key(folder) {
                    lists.insert(folder.to_owned(), walk::names_in(folder));
                }
                if is_swap_file(path) || !lists[folder].contains(name) {
                    continue;
                }
            }
            files.insert(path.clone(), state);
        }
        for (file, how) in below {
            judged.entry(file).or_insert(how);
        }
        self.add_other_names(&mut files, &mut judged);
        let states: HashMap<PathBuf, FileState> =
            files.iter().filter_map(|(path, state)| Some((path.clone(), (*state)?))).collect();
        let differences = self.index.update(files);
        if !differences.is_empty() {
            self.report(differences, &states, &judged);
        }
    }

    /// Who writes a file by one of its names writes it by all, and the system tells only of the one.
    fn add_other_names(
        &self,
        files: &mut BTreeMap<PathBuf, Option<FileState>>,
        judged: &mut HashMap<PathBuf, (Touched, Cause)>,
    ) {
        let mut shared: HashMap<u64, PathBuf> = HashMap::new();
        for (path, state) in files.iter() {
            let Some(state) = state.filter(|state| state.kind == FileKind::File) else { continue };
            let is_changed = self.index.get(path).is_some_and(|known| known.differs(&state));
            if is_changed && walk::has_other_names(path) {
                shared.insert(state.inode, path.clone());
            }
        }
        if shared.is_empty() {
            return;
        }
        for (other, known) in self.index.files() {
            let Some(path) = shared.get(&known.inode).filter(|_| !files.contains_key(&other)) else {
                continue;
            };
            // Its inode may be another file's on another disk, or by now.
            let state = walk::look(&other).filter(|state| state.inode == known.inode);
            if let Some((state, how)) = state.zip(judged.get(path).cloned()) {
                judged.insert(other.clone(), how);
                files.insert(other, Some(state));
            }
        }
    }

    fn report(
        &mut self,
        differences: Vec<(Difference, Option<FileState>)>,
        states: &HashMap<PathBuf, FileState>,
        judged: &HashMap<PathBuf, (Touched, Cause)>,
    ) {
        let mut report = Report::new(self.common.clone());
        for batch in differences.chunks(BATCH) {
            let sides = self.before.sides(batch, states);
            for mut side in sides {
                if side.is_moving {
                    self.defer(&side, judged);
                    continue;
                }
                if side.is_same || !self.common.is_told_by(&side.file.path, self.number) {
                    continue;
                }
                let known = judged.get(&side.file.path);
                let cause = known.map_or(Cause::Outside, |(_, cause)| cause.clone());
                side.file.later = self.remember(&cause, known.map(|(touched, _)| touched), side.file.clone());
                report.add(cause, side.file);
            }
        }
        report.post();
    }

    /// Somebody writes the file at this moment: it is looked at again, as what it was before.
    fn defer(&mut self, side: &Sides, judged: &HashMap<PathBuf, (Touched, Cause)>) {
        let path = &side.file.path;
        let now = self.common.now();
        let touched = judged.get(path).map_or(Touched::at(now), |(touched, _)| Touched {
            times: (touched.times.first, now).into(),
            is_listed: true,
            ..touched.clone()
        });
        if let Some(from) = &side.file.renamed_from {
            self.index.set(path, None);
            self.index.set(from, side.was);
            self.pending.add(from.clone(), touched.clone());
        } else {
            self.index.set(path, side.was);
        }
        self.pending.add(path.clone(), touched);
    }

    /// Says when to look again.
    fn arm(&mut self) {
        let now = self.common.now();
        let activities = lock(&self.common.activities);
        let mut waits = false;
        let due = self.pending.files.iter().filter_map(|(path, touched)| {
            let due = touched.times.last + if touched.is_open { MAX_WAIT_MS } else { REST };
            if due > now {
                return Some(due);
            }
            // It is at rest, and could have been judged but for this.
            let is_written = self.writing.contains_key(path);
            waits |= !is_written && activities.is_at_work(path);
            (!is_written && !activities.is_at_work(path)).then_some(now + REST)
        });
        // What comes to rest one after the other is told of together.
        self.due = due.min().map(|due| due.max(now + MIN_INTERVAL_MS));
        drop(activities);
        self.common.wait_for_word(waits);
    }
}

/// A folder that is gone, or may not be listed, has no files to look after.
fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}

fn start_watch(
    common: &Arc<Common>,
    roots: Vec<PathBuf>,
    told: Arc<AtomicBool>,
    tell: Sender<Message>,
) -> std::io::Result<Option<Arc<FolderWatch>>> {
    let (clock, holders) = (common.clone(), common.clone());
    let listener = Listener {
        roots,
        news: Box::new(move || {
            if !told.swap(true, Ordering::AcqRel) {
                // Nobody listens any more when the worker is ending.
                let _ = tell.send(Message::Touched);
            }
        }),
        holder: Box::new(move |path| {
            let is_left = holders.holders.is_anything_left();
            let activities = lock(&holders.activities);
            let is_contested =
                activities.is_contested(path) || is_left && !activities.running(path).is_empty();
            drop(activities);
            if is_contested { holders.holders.of(path) } else { None }
        }),
    };
    FolderWatch::start(Box::new(move || clock.now()), listener)
}

#[cfg(test)]
mod tests;

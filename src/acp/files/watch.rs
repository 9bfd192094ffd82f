//! Files that sessions have touched, watched on the disk: one that others changed is told of, once,
//! when its content is another one and whole. What an agent writes through this client is no news. The
//! thread that watches begins with the first file and ends with the background. When a text is whole is for
//! `core::changes::half_written` to say; what a change means for a buffer is the editor's side's business.

mod event_filter;
pub(crate) mod fingerprint;
mod seen;

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use notify::{Config, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::futures::Notified;

use self::event_filter::{ChangedPath, concerns_content};
use self::fingerprint::Fingerprint;
use self::seen::Seen;
use super::disks::{Disks, PATIENCE};
use super::index::{FolderIndexes, Sighting};
use crate::acp::mutex::lock;
use crate::acp::wire::log::WireLog;
use crate::acp::worker::Worker;
use crate::core::changes::half_written::Input;
use crate::core::ids::SessionKey;
use crate::core::maps::{FastMap, FastSet};
use crate::core::message::{Event, FileChange, Stamp};
use crate::mailbox::Mailbox;
use crate::platform::files;
use crate::platform::paths::{Resolver, resolve_file};

pub use self::seen::Edit;

/// What the system says is taken in when it said nothing for this long: it says much at once.
const QUIET: Duration = Duration::from_millis(60);

/// But no later than this after the first word.
const LATEST: Duration = Duration::from_millis(400);

/// So many messages are taken together at the most: of the files in them each folder is asked about once.
const TOGETHER: usize = 64;

/// Of more files the one touched longest ago is given up.
const MAX_FILES: usize = 4096;

/// The background's side of the thread that watches.
pub struct Watch {
    mailbox: Arc<Mailbox>,
    log: WireLog,
    seen: Arc<Seen>,
    disks: Disks,
    folder_indexes: FolderIndexes,
    worker: Worker<Message>,
    /// The log says once that there is no thread.
    said: AtomicBool,
}

enum Message {
    /// By a name whose links are not resolved.
    Named {
        session: SessionKey,
        path: PathBuf,
        edit: Option<Edit>,
    },
    /// `content` is what the file held when the session touched it, if that is known.
    Touched {
        session: SessionKey,
        path: PathBuf,
        content: Option<u64>,
    },
    Ended(SessionKey),
    Closed(SessionKey),
    Writing(PathBuf),
    /// Without a content nothing was written.
    Wrote {
        path: PathBuf,
        content: Option<u64>,
    },
    /// The system said something that concerns a file.
    SystemEvent,
    /// Somebody else looked at the file. `news` says that it is another whole one.
    Looked {
        path: PathBuf,
        news: bool,
    },
    Stop,
}

impl Watch {
    pub fn new(mailbox: Arc<Mailbox>, log: WireLog, disks: Disks, folder_indexes: FolderIndexes) -> Self {
        Self {
            folder_indexes,
            mailbox,
            log,
            disks,
            seen: Arc::default(),
            worker: Worker::new("acp-watch"),
            said: AtomicBool::new(false),
        }
    }

    /// As [`Self::touched`], of a file whose links are still to be resolved.
    pub fn named(&self, session: SessionKey, path: PathBuf) {
        self.begin();
        self.seen.begin(&path);
        self.tell(Message::Named { session, path, edit: None });
    }

    /// A tool call that edits the file is under way, and has announced these changes so far; or, without any,
    /// it is over. The path's links may still have to be resolved.
    pub fn edited(&self, session: SessionKey, path: PathBuf, edit: Edit) {
        self.begin();
        // At once: what is asked for next is to know of it.
        self.seen.edit(&path, edit.clone());
        self.tell(Message::Named { session, path, edit: Some(edit) });
    }

    /// The editor has read or saved the file in this state.
    pub fn held(&self, path: &Path, stamp: Stamp) {
        self.seen.held(path, stamp);
        self.tell(Message::Looked { path: path.to_owned(), news: false });
    }

    /// The editor has saved the file in this state.
    pub fn saved(&self, path: &Path, stamp: Stamp) {
        self.folder_indexes.saved(path, stamp);
    }

    /// Somebody has read the file, in this state; or there is none. Says whether that is a whole text. If not,
    /// it is told once there is one: by `FileChanged`, and by [`Self::news`].
    pub fn is_whole(&self, path: &Path, read: Option<(&[u8], Stamp)>) -> bool {
        let fingerprint = read.map(|(bytes, stamp)| Fingerprint::of(bytes, stamp));
        let Some((is_whole, news)) = self.seen.ask(path, fingerprint, read.map(|(bytes, _)| bytes)) else {
            // No session has to do with it.
            return true;
        };
        self.tell(Message::Looked { path: path.to_owned(), news });
        is_whole || !self.is_alive()
    }

    /// The last whole text of a file that is being written, if it is known, and its state then.
    pub fn before(&self, path: &Path) -> Option<(Stamp, Arc<[u8]>)> {
        self.seen.before(path)
    }

    /// Whether the file may hold half of a text.
    pub fn is_half_written(&self, path: &Path) -> bool {
        let path = &resolve_file(path);
        if !self.seen.has(path) {
            return false;
        }
        let (fingerprint, bytes) = self.seen.look(path);
        let Some((_, news)) = self.seen.ask(path, fingerprint, bytes.as_deref()) else { return false };
        self.tell(Message::Looked { path: path.to_owned(), news });
        self.seen.is_half_written(path) && self.is_alive()
    }

    /// Comes when some file has been looked at; what came before this call does not count.
    pub fn news(&self) -> Notified<'_> {
        self.seen.news.notified()
    }

    /// The file is the session's business from now on. `content` is the [`hash`] of what it held.
    pub fn touched(&self, session: SessionKey, path: PathBuf, content: Option<u64>) {
        self.begin();
        self.seen.begin(&path);
        self.tell(Message::Touched { session, path, content });
    }

    /// The session is over, and with it its interest in any file.
    pub fn ended(&self, session: SessionKey) {
        self.tell(Message::Ended(session));
    }

    /// The session will never be there again; whoever still names files for it comes too late.
    pub fn closed(&self, session: SessionKey) {
        self.tell(Message::Closed(session));
    }

    /// What happens to the file until [`Writing::done`] is this client's doing.
    pub fn writing(&self, path: &Path) -> Writing<'_> {
        self.tell(Message::Writing(path.to_owned()));
        self.folder_indexes.writing(path);
        Writing { watch: self, path: path.to_owned(), content: None }
    }

    fn begin(&self) {
        let started = self.worker.start(|sender| {
            let watcher = Watcher::new(self, sender.clone());
            move |queue| watcher.run(&queue)
        });
        if let Err(error) = &started
            && !self.said.swap(true, Ordering::Relaxed)
        {
            self.log.note(&format!("changes of files by others are not noticed: no thread: {error}"));
        }
    }

    fn is_alive(&self) -> bool {
        self.worker.is_running()
    }

    fn tell(&self, message: Message) {
        self.worker.send(message);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tell(Message::Stop);
    }
}

/// A write of ours under way; over when it is dropped.
pub struct Writing<'a> {
    watch: &'a Watch,
    path: PathBuf,
    content: Option<u64>,
}

impl Writing<'_> {
    pub fn done(mut self, content: u64) {
        self.content = Some(content);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        self.watch.folder_indexes.wrote(&path, self.content.is_some());
        self.watch.tell(Message::Wrote { path, content: self.content });
    }
}

struct Watcher {
    mailbox: Arc<Mailbox>,
    log: WireLog,
    disks: Disks,
    folder_indexes: FolderIndexes,
    tell: Sender<Message>,
    /// What the files are known to hold.
    seen: Arc<Seen>,
    /// Only there while there is something to watch.
    system: Option<RecommendedWatcher>,
    files: FastMap<PathBuf, Watched>,
    /// The folders that the system watches, with the files it does so for.
    folders: FastMap<PathBuf, FastSet<PathBuf>>,
    /// Files being written by this client; one may be written twice at once.
    writing: FastMap<PathBuf, u32>,
    /// Sessions that are over for good; a read of theirs may still be under way.
    closed: BTreeSet<SessionKey>,
    /// Since when the system has said something that was not taken in.
    since: Option<Instant>,
    touches: u64,
    /// The log says once that not everything can be watched.
    said: bool,
}

/// A session has to do with a file.
struct Touch {
    session: SessionKey,
    path: PathBuf,
    named: Option<Named>,
    content: Option<u64>,
}

/// The links of a file's name are still to be resolved.
struct Named {
    edit: Option<Edit>,
}

/// What the disk says of a path.
struct Place {
    /// Without links, if they were to be resolved.
    target: PathBuf,
    is_there: bool,
    /// It is there, and no file.
    is_special: bool,
}

struct Watched {
    sessions: BTreeSet<SessionKey>,
    /// Through which folder the system watches it, if it does.
    folder: Option<PathBuf>,
    /// What the system last called it.
    renamed: Option<PathBuf>,
    /// When the system last said something of it.
    heard: Option<Instant>,
    touched: u64,
}

impl Watcher {
    fn new(watch: &Watch, tell: Sender<Message>) -> Self {
        Self {
            mailbox: watch.mailbox.clone(),
            log: watch.log.clone(),
            disks: watch.disks.clone(),
            folder_indexes: watch.folder_indexes.clone(),
            tell,
            seen: watch.seen.clone(),
            system: None,
            files: FastMap::default(),
            folders: FastMap::default(),
            writing: FastMap::default(),
            closed: BTreeSet::new(),
            since: None,
            touches: 0,
            said: false,
        }
    }

    fn run(mut self, told: &Receiver<Message>) {
        loop {
            let message = match self.due() {
                Some(due) => told.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(message) => {
                    let more = told.try_iter().take(TOGETHER - 1);
                    if self.take_all(std::iter::once(message).chain(more)).is_break() {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.look(),
            }
        }
    }

    /// Takes messages in, in their order; an agent may name many files at once.
    fn take_all(&mut self, messages: impl Iterator<Item = Message>) -> ControlFlow<()> {
        let mut touches = Vec::new();
        for message in messages {
            match message {
                Message::Touched { session, path, content } => {
                    touches.push(Touch { session, path, named: None, content });
                }
                Message::Named { session, path, edit } => {
                    touches.push(Touch { session, path, named: Some(Named { edit }), content: None });
                }
                message => {
                    self.touch_all(std::mem::take(&mut touches));
                    if matches!(message, Message::Stop) {
                        return ControlFlow::Break(());
                    }
                    self.take(message);
                }
            }
        }
        self.touch_all(touches);
        ControlFlow::Continue(())
    }

    fn touch_all(&mut self, touches: Vec<Touch>) {
        let places = self.places_of(&touches);
        for (touch, place) in touches.into_iter().zip(places) {
            match place {
                Some(place) => self.touch(touch, place),
                None => self.leave_alone(&touch.path),
            }
        }
    }

    /// What the disks say of these files, as far as they answer. One that doesn't would hold up the watching of all
    /// others; its files are watched once an agent reads, writes or edits them again.
    fn places_of(&self, touches: &[Touch]) -> Vec<Option<Place>> {
        let paths: Vec<&Path> = touches.iter().map(|touch| &*touch.path).collect();
        by_folder(&paths, |indexes| self.ask(indexes.iter().map(|index| &touches[*index])))
    }

    fn ask<'a>(&self, touches: impl Iterator<Item = &'a Touch>) -> Option<Vec<Place>> {
        let paths: Vec<(PathBuf, bool)> =
            touches.map(|touch| (touch.path.clone(), touch.named.is_some())).collect();
        let (first, _) = paths.first()?.clone();
        self.disks.soon(&first, PATIENCE, move || {
            let mut resolver = Resolver::default();
            let mut place = |(path, is_named): (PathBuf, bool)| {
                let (target, metadata) = match is_named {
                    true => resolver.look(&path),
                    false => {
                        let metadata = std::fs::metadata(&path).ok();
                        (path, metadata)
                    }
                };
                let is_special = metadata.as_ref().is_some_and(|metadata| !metadata.is_file());
                Place { target, is_there: metadata.is_some(), is_special }
            };
            paths.into_iter().map(&mut place).collect()
        })
    }

    /// Whether the file's disk answers.
    fn answers(&self, path: &Path) -> bool {
        let file = path.to_owned();
        self.disks.soon(path, PATIENCE, move || drop(std::fs::metadata(file))).is_some()
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Ended(session) => self.leave(session),
            Message::Closed(session) => {
                self.closed.insert(session);
                self.leave(session);
            }
            Message::Writing(path) => *self.writing.entry(path).or_default() += 1,
            Message::Wrote { path, content } => self.wrote(path, content),
            Message::SystemEvent => {
                self.since.get_or_insert_with(Instant::now);
            }
            Message::Looked { path, news } => {
                if news {
                    self.news(&path);
                }
            }
            // These have been seen to by `take_all`.
            Message::Touched { .. } | Message::Named { .. } | Message::Stop => {}
        }
    }

    fn touch(&mut self, touch: Touch, place: Place) {
        let Touch { session, path, named, content } = touch;
        if place.target != path {
            if let Some(edit) = named.and_then(|named| named.edit) {
                self.seen.edit(&place.target, edit);
            }
            if !self.files.contains_key(&path) {
                self.seen.forget(&path);
            }
        }
        self.touched(session, place, content);
    }

    /// What is not watched has no state: nothing would ever be told of it.
    fn leave_alone(&self, path: &Path) {
        if !self.files.contains_key(path) {
            self.seen.forget(path);
        }
    }

    /// The disk has just said what the file is, so it answers.
    fn touched(&mut self, session: SessionKey, place: Place, content: Option<u64>) {
        let Place { target: path, is_there, is_special } = place;
        if self.closed.contains(&session) {
            // A call of its that edits the file is over, too.
            self.seen.left(session);
            return self.leave_alone(&path);
        }
        self.touches += 1;
        if let Some(watched) = self.files.get_mut(&path) {
            // What it is known as stays: the editor has heard of no other content.
            watched.sessions.insert(session);
            watched.touched = self.touches;
            return;
        }
        if is_special {
            // In /dev all programs of the machine are busy.
            return self.seen.forget(&path);
        }
        if self.files.len() >= MAX_FILES
            && let Some(oldest) =
                self.files.iter().min_by_key(|(_, watched)| watched.touched).map(|(path, _)| path.clone())
        {
            self.forget(&oldest);
        }
        let watched = Watched {
            sessions: BTreeSet::from([session]),
            folder: None,
            renamed: None,
            heard: None,
            touched: self.touches,
        };
        self.files.insert(path.clone(), watched);
        self.seen.begin(&path);
        match is_there {
            // So is its folder, about which nobody has to ask then: an agent may name thousands of files.
            true => self.arm_by(&path, path.parent()),
            false => self.arm(&path),
        }
        // Only now: what happens from here on is told by the system.
        self.learn(&path, content);
        if self.writing.contains_key(&path) {
            return self.defer(&path);
        }
        self.look_now(&path);
    }

    /// The file's content is known to the editor's side; it may have become another one already.
    fn learn(&self, path: &Path, content: Option<u64>) {
        if content.is_some() {
            self.seen.hear(path, Input::Known(content), Instant::now());
        }
    }

    fn wrote(&mut self, path: PathBuf, content: Option<u64>) {
        if let Some(count) = self.writing.get_mut(&path) {
            *count -= 1;
            if *count == 0 {
                self.writing.remove(&path);
            }
        }
        if self.files.contains_key(&path) {
            if content.is_some() && self.answers(&path) {
                // Its folder may be one of those that the write created.
                self.arm(&path);
            }
            self.learn(&path, content);
            self.look_at(&path);
        }
    }

    fn leave(&mut self, session: SessionKey) {
        let mut over = Vec::new();
        self.seen.left(session);
        for (path, watched) in &mut self.files {
            watched.sessions.remove(&session);
            if watched.sessions.is_empty() {
                over.push(path.clone());
            }
        }
        // What is being written is still to be told of.
        over.iter().for_each(|path| self.let_go(path));
    }

    fn forget(&mut self, path: &Path) {
        self.disarm(path);
        self.files.remove(path);
        self.seen.forget(path);
        if self.files.is_empty() {
            self.system = None;
            self.folders.clear();
        }
    }

    // The system.

    /// Has the system watch the folder that the file is in, or the nearest above it that is there.
    fn arm(&mut self, path: &Path) {
        if !self.files.contains_key(path) {
            return;
        }
        let above = path.ancestors().skip(1).find(|folder| folder.is_dir());
        self.arm_by(path, above);
    }

    fn arm_by(&mut self, path: &Path, above: Option<&Path>) {
        let Some(watched) = self.files.get(path) else { return };
        if watched.folder.as_deref() == above {
            return;
        }
        self.disarm(path);
        let Some(folder) = above.map(Path::to_owned) else { return };
        lock(&self.seen.filter).watch(path, &folder);
        let armed = self.folders.contains_key(&folder) || self.watch(&folder);
        if armed && let Some(watched) = self.files.get_mut(path) {
            self.folders.entry(folder.clone()).or_default().insert(path.to_owned());
            watched.folder = Some(folder);
        } else {
            lock(&self.seen.filter).unwatch(path, &folder);
        }
    }

    fn disarm(&mut self, path: &Path) {
        let Some(folder) = self.files.get_mut(path).and_then(|watched| watched.folder.take()) else { return };
        lock(&self.seen.filter).unwatch(path, &folder);
        let Some(files) = self.folders.get_mut(&folder) else { return };
        files.remove(path);
        if files.is_empty() {
            self.folders.remove(&folder);
            if let Some(system) = &mut self.system {
                // The system gives up a folder that is gone by itself.
                let _ = system.unwatch(&folder);
            }
        }
    }

    fn watch(&mut self, folder: &Path) -> bool {
        let watched = self.system().and_then(|system| system.watch(folder, RecursiveMode::NonRecursive));
        if let Err(error) = &watched
            && !std::mem::replace(&mut self.said, true)
        {
            self.log.note(&format!(
                "couldn't watch {} ({}): what other programs change there is only noticed when it is used",
                folder.display(),
                reason(error)
            ));
        }
        watched.is_ok()
    }

    fn system(&mut self) -> notify::Result<&mut RecommendedWatcher> {
        if self.system.is_none() {
            let (seen, tell) = (self.seen.clone(), self.tell.clone());
            let take_in = move |event| {
                if concerns_content(&event) && lock(&seen.filter).take_in(event) {
                    // Nobody listens any more when the thread is ending.
                    let _ = tell.send(Message::SystemEvent);
                }
            };
            // Each file that this client reads would be told of, too.
            let kinds = EventKindMask::CORE | EventKindMask::ACCESS_CLOSE;
            self.system = Some(RecommendedWatcher::new(take_in, Config::default().with_event_kinds(kinds))?);
        }
        self.system.as_mut().ok_or_else(|| notify::Error::generic("no watcher"))
    }

    // What became of the files.

    /// When to take in what the system said.
    fn due_to_hear(&self) -> Option<Instant> {
        let since = self.since?;
        let last = lock(&self.seen.filter).last().map_or(since, |last| last.max(since));
        Some((last + QUIET).min(since + LATEST))
    }

    /// When there is something to do.
    fn due(&self) -> Option<Instant> {
        self.due_to_hear().into_iter().chain(self.seen.due()).min()
    }

    fn look(&mut self) {
        if self.due_to_hear().is_some_and(|due| due <= Instant::now()) {
            self.since = None;
            let told = lock(&self.seen.filter).drain();
            for (path, changed_path) in told {
                self.changed_path(&path, changed_path);
            }
        }
        self.look_at_all(&self.seen.all_due());
    }

    /// The same as to look at each: of the files in a folder it is asked once whether their disk answers.
    fn look_at_all(&mut self, paths: &[PathBuf]) {
        let each: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let answers = by_folder(&each, |indexes| {
            let files: Vec<PathBuf> = indexes.iter().map(|index| paths[*index].clone()).collect();
            let first = files.first()?.clone();
            self.disks.soon(&first, PATIENCE, move || {
                files.iter().map(|file| drop(std::fs::metadata(file))).collect::<Vec<()>>()
            })
        });
        for (path, answer) in paths.iter().zip(answers) {
            match answer {
                Some(()) if !self.writing.contains_key(path) => self.look_now(path),
                _ => self.defer(path),
            }
        }
    }

    fn changed_path(&mut self, path: &Path, changed_path: ChangedPath) {
        if changed_path.folder && self.answers(path) {
            // What is watched may be another folder than the one that has the name now.
            self.disarm(path);
            self.arm(path);
        }
        if let Some(watched) = self.files.get_mut(path) {
            watched.renamed = changed_path.renamed.or(watched.renamed.take());
            watched.heard = Some(changed_path.at);
        }
        self.seen.hear(path, changed_path.said, changed_path.at);
    }

    fn look_at(&mut self, path: &Path) {
        match self.writing.contains_key(path) || !self.answers(path) {
            true => self.defer(path),
            false => self.look_now(path),
        }
    }

    /// It is looked at when our own write is done, or when a session has to do with it again.
    fn defer(&mut self, path: &Path) {
        self.seen.defer(path);
        self.let_go(path);
    }

    fn look_now(&mut self, path: &Path) {
        let (fingerprint, bytes) = self.seen.look(path);
        if self.seen.looked(path, fingerprint, bytes.as_deref()) {
            self.news(path);
        }
        self.let_go(path);
    }

    /// Gives up a file that no session has to do with, unless something is still to be told of it.
    fn let_go(&mut self, path: &Path) {
        let is_left = self.files.get(path).is_some_and(|watched| watched.sessions.is_empty());
        if is_left && !self.writing.contains_key(path) && !self.seen.is_due(path) {
            self.forget(path);
        }
    }

    /// The file has another content, and it is a whole one.
    fn news(&mut self, path: &Path) {
        let Some(watched) = self.files.get_mut(path) else { return };
        let renamed = watched.renamed.take();
        let sighting = Sighting { heard: watched.heard.take(), stamp: self.seen.last_stamp(path) };
        let sessions = watched.sessions.clone();
        let kind = match self.seen.is_missing(path) {
            false => FileChange::Changed,
            true => match renamed.filter(|to| to.is_file()) {
                Some(to) => FileChange::Renamed(to),
                None => FileChange::Gone,
            },
        };
        if let FileChange::Renamed(to) = &kind {
            // Where it is now, it is the same sessions' business.
            for session in sessions {
                self.touched(session, Place { target: to.clone(), is_there: false, is_special: false }, None);
            }
        }
        let cause = self.folder_indexes.cause_of(path, sighting);
        self.mailbox.post(Event::FileChanged { path: path.to_owned(), kind, cause });
    }
}

/// Asks about the paths of a folder together, or about each alone where that fails: it may be one of them that hangs.
/// `ask` gets their places among the paths.
fn by_folder<T>(paths: &[&Path], ask: impl Fn(&[usize]) -> Option<Vec<T>>) -> Vec<Option<T>> {
    let mut folders: BTreeMap<Option<&Path>, Vec<usize>> = BTreeMap::new();
    for (index, path) in paths.iter().enumerate() {
        folders.entry(path.parent()).or_default().push(index);
    }
    let mut found: Vec<Option<T>> = paths.iter().map(|_| None).collect();
    for indexes in folders.into_values() {
        let together = match ask(&indexes) {
            Some(places) => places.into_iter().map(Some).collect(),
            None if indexes.len() == 1 => continue,
            None => indexes.iter().map(|index| ask(&[*index])?.pop()).collect::<Vec<_>>(),
        };
        indexes.iter().zip(together).for_each(|(index, place)| found[*index] = place);
    }
    found
}

fn reason(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => "the limit fs.inotify.max_user_watches is reached".to_owned(),
        notify::ErrorKind::Io(error) if error.kind() == ErrorKind::PermissionDenied => {
            "permission denied".to_owned()
        }
        notify::ErrorKind::Io(error) => {
            files::watch_limit(error).map_or_else(|| error.to_string(), str::to_owned)
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn watcher(disks: Disks) -> Watcher {
        let (mailbox, log) = (Mailbox::new(|_| {}), WireLog::start(None));
        let indexes = FolderIndexes::new(mailbox.clone(), log.clone(), disks.clone(), PATIENCE, 1000);
        let watch = Watch::new(mailbox, log, disks, indexes);
        Watcher::new(&watch, mpsc::channel().0)
    }

    fn take(watcher: &mut Watcher, messages: Vec<Message>) {
        assert!(watcher.take_all(messages.into_iter()).is_continue());
    }

    #[test]
    fn files_of_one_folder_are_asked_about_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let real = crate::platform::paths::canonicalize(folder.path()).expect("it is there");
        let paths: Vec<PathBuf> = (0..TOGETHER).map(|number| real.join(number.to_string())).collect();
        paths.iter().for_each(|path| std::fs::write(path, "text").expect("a file"));
        let disks = Disks::for_tests();
        let mut watcher = watcher(disks.clone());
        let (session, other) = (SessionKey(1), SessionKey(2));
        let named = |path: &PathBuf| Message::Named { session, path: path.clone(), edit: None };
        take(&mut watcher, paths.iter().map(named).collect());
        assert_eq!(disks.begun(), 1);
        assert_eq!(watcher.files.len(), TOGETHER);
        let seen = |path: &PathBuf| watcher.seen.last_stamp(path).is_some_and(|stamp| stamp.size == 4);
        assert!(paths.iter().all(seen), "each was read");

        paths.iter().for_each(|path| std::fs::write(path, "another").expect("a file"));
        watcher.look_at_all(&paths);
        assert_eq!(disks.begun(), 2, "all were asked about once more");
        let seen = |path: &PathBuf| watcher.seen.last_stamp(path).is_some_and(|stamp| stamp.size == 7);
        assert!(paths.iter().all(seen), "each was read again");

        std::fs::create_dir(real.join("below")).expect("a folder");
        let elsewhere = real.join("below/new");
        let touched = Message::Touched { session: other, path: paths[0].clone(), content: None };
        let folder = Message::Named { session: other, path: real.join("below"), edit: None };
        take(&mut watcher, vec![named(&elsewhere), touched, folder, Message::Ended(session)]);
        assert_eq!(disks.begun(), 4, "there are two folders");
        let sessions: BTreeSet<SessionKey> =
            watcher.files.values().flat_map(|watched| watched.sessions.iter().copied()).collect();
        assert_eq!(sessions, BTreeSet::from([other]), "the message behind them was taken after them");
        assert_eq!(watcher.files[&paths[0]].sessions, sessions);
        assert!(watcher.files.contains_key(&elsewhere) && !watcher.files.contains_key(&real.join("below")));
    }

    #[test]
    fn of_files_that_cannot_be_asked_about_together_each_is_asked_about_alone() {
        let paths = ["/a/1", "/b/1", "/a/hangs", "/a/2", "/"].map(Path::new);
        let asked = std::cell::RefCell::new(Vec::new());
        let found = by_folder(&paths, |indexes| {
            asked.borrow_mut().push(indexes.to_vec());
            (!indexes.contains(&2)).then(|| indexes.to_vec())
        });
        assert_eq!(found, [Some(0), Some(1), None, Some(3), Some(4)]);
        let mut asked = asked.into_inner();
        asked.sort();
        assert_eq!(asked, [vec![0], vec![0, 2, 3], vec![1], vec![2], vec![3], vec![4]]);
    }
}

//! Files that sessions have touched, watched on the disk: one that others changed is told of, once,
//! when its content is another one. What an agent writes through this client is no news. The thread
//! that watches begins with the first file and ends with the background; what a change means for a
//! buffer is the editor's side's business.

mod fingerprint;
mod stir;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use self::fingerprint::Fingerprint;
pub use self::fingerprint::hash;
use self::stir::{Stir, Suspect};
use super::files::real;
use super::wire_log::WireLog;
use crate::core::message::{Event, FileChange, SessionKey};
use crate::mailbox::Mailbox;
use crate::platform::files;

/// A file is looked at when nothing was said of any for this long: many programs write in pieces.
const QUIET: Duration = Duration::from_millis(60);

/// But no later than this after the first word.
const LATEST: Duration = Duration::from_millis(400);

/// How long a file may be away: many programs save by moving the old one out of the way.
const AWAY: Duration = Duration::from_millis(150);

/// Of more files the one touched longest ago is given up.
const MOST: usize = 4096;

/// The background's side of the thread that watches.
pub struct Watch {
    mailbox: Arc<Mailbox>,
    log: WireLog,
    tell: OnceLock<Option<Sender<Message>>>,
}

enum Message {
    /// By a name whose links are not resolved.
    Named {
        session: SessionKey,
        path: PathBuf,
    },
    /// `content` is what the file held when the session touched it, if that is known.
    Touched {
        session: SessionKey,
        path: PathBuf,
        content: Option<u64>,
    },
    Left {
        session: SessionKey,
        path: PathBuf,
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
    Stirred,
    Stop,
}

impl Watch {
    pub fn new(mailbox: Arc<Mailbox>, log: WireLog) -> Self {
        Self { mailbox, log, tell: OnceLock::new() }
    }

    /// As [`Self::touched`], of a file whose links are still to be resolved.
    pub fn named(&self, session: SessionKey, path: PathBuf) {
        self.begin();
        self.tell(Message::Named { session, path });
    }

    /// The file is the session's business from now on. `content` is the [`hash`] of what it held.
    pub fn touched(&self, session: SessionKey, path: PathBuf, content: Option<u64>) {
        self.begin();
        self.tell(Message::Touched { session, path, content });
    }

    pub fn left(&self, session: SessionKey, path: PathBuf) {
        self.tell(Message::Left { session, path });
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
        Writing { watch: self, path: path.to_owned(), content: None }
    }

    fn begin(&self) {
        self.tell.get_or_init(|| {
            let (tell, told) = mpsc::channel();
            let watcher = Watcher::new(self.mailbox.clone(), self.log.clone(), tell.clone());
            let started = thread::Builder::new().name("acp-watch".into()).spawn(move || watcher.run(&told));
            if let Err(error) = &started {
                self.log.note(&format!("changes of files by others are not noticed: no thread: {error}"));
            }
            started.is_ok().then_some(tell)
        });
    }

    fn tell(&self, message: Message) {
        if let Some(Some(tell)) = self.tell.get() {
            // A thread that is gone watches nothing; why is in the log of the panic hook.
            let _ = tell.send(message);
        }
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
        self.watch.tell(Message::Wrote { path, content: self.content });
    }
}

struct Watcher {
    mailbox: Arc<Mailbox>,
    log: WireLog,
    tell: Sender<Message>,
    stir: Arc<Mutex<Stir>>,
    /// Only there while there is something to watch.
    system: Option<RecommendedWatcher>,
    files: HashMap<PathBuf, Watched>,
    /// The folders that the system watches, with the files it does so for.
    folders: HashMap<PathBuf, HashSet<PathBuf>>,
    /// Files being written by this client; one may be written twice at once.
    writing: HashMap<PathBuf, u32>,
    /// Sessions that are over for good; a read of theirs may still be under way.
    closed: BTreeSet<SessionKey>,
    /// What is to be looked at, and since when.
    suspects: HashMap<PathBuf, Suspect>,
    since: Option<Instant>,
    touches: u64,
    /// The log says once that not everything can be watched.
    said: bool,
}

struct Watched {
    sessions: BTreeSet<SessionKey>,
    /// `None` while there is no such file.
    known: Option<Fingerprint>,
    /// Through which folder the system watches it, if it does.
    folder: Option<PathBuf>,
    away_since: Option<Instant>,
    touched: u64,
}

impl Watcher {
    fn new(mailbox: Arc<Mailbox>, log: WireLog, tell: Sender<Message>) -> Self {
        Self {
            mailbox,
            log,
            tell,
            stir: Arc::default(),
            system: None,
            files: HashMap::new(),
            folders: HashMap::new(),
            writing: HashMap::new(),
            closed: BTreeSet::new(),
            suspects: HashMap::new(),
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
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => self.look(),
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Touched { session, path, content } => self.touched(session, path, content),
            Message::Named { session, path } => self.touched(session, real(&path), None),
            Message::Left { session, path } => {
                let path = real(&path);
                self.leave(session, |file| *file == path);
            }
            Message::Ended(session) => self.leave(session, |_| true),
            Message::Closed(session) => {
                self.closed.insert(session);
                self.leave(session, |_| true);
            }
            Message::Writing(path) => *self.writing.entry(path).or_default() += 1,
            Message::Wrote { path, content } => self.wrote(path, content),
            Message::Stirred => {
                self.since.get_or_insert_with(Instant::now);
            }
            Message::Stop => {}
        }
    }

    fn touched(&mut self, session: SessionKey, path: PathBuf, content: Option<u64>) {
        if self.closed.contains(&session) {
            return;
        }
        self.touches += 1;
        if let Some(watched) = self.files.get_mut(&path) {
            // What it is known as stays: the editor has heard of no other content.
            watched.sessions.insert(session);
            watched.touched = self.touches;
            return;
        }
        if path.is_dir() {
            return;
        }
        if self.files.len() >= MOST
            && let Some(oldest) =
                self.files.iter().min_by_key(|(_, watched)| watched.touched).map(|(path, _)| path.clone())
        {
            self.forget(&oldest);
        }
        let watched = Watched {
            sessions: BTreeSet::from([session]),
            known: None,
            folder: None,
            away_since: None,
            touched: self.touches,
        };
        self.files.insert(path.clone(), watched);
        self.arm(&path);
        // Only now: what happens from here on is told by the system.
        self.learn(path, content);
    }

    /// The file's content is known to the editor's side; it may have become another one already.
    fn learn(&mut self, path: PathBuf, content: Option<u64>) {
        let Some(watched) = self.files.get_mut(&path) else { return };
        let now = Fingerprint::look(&path, watched.known);
        match content {
            Some(content) if now.is_none_or(|now| now.content != content) => {
                watched.known = Some(Fingerprint::of_content(content));
                self.suspect(path, Suspect::default());
            }
            _ => watched.known = now,
        }
    }

    fn wrote(&mut self, path: PathBuf, content: Option<u64>) {
        if let Some(count) = self.writing.get_mut(&path) {
            *count -= 1;
            if *count == 0 {
                self.writing.remove(&path);
            }
        }
        if content.is_some() {
            // Its folder may be one of those that the write created.
            self.arm(&path);
            self.learn(path, content);
        }
    }

    fn leave(&mut self, session: SessionKey, which: impl Fn(&PathBuf) -> bool) {
        let mut over = Vec::new();
        for (path, watched) in self.files.iter_mut().filter(|(path, _)| which(path)) {
            watched.sessions.remove(&session);
            if watched.sessions.is_empty() {
                over.push(path.clone());
            }
        }
        over.iter().for_each(|path| self.forget(path));
    }

    fn forget(&mut self, path: &Path) {
        self.disarm(path);
        self.files.remove(path);
        self.suspects.remove(path);
        if self.files.is_empty() {
            self.system = None;
            self.folders.clear();
        }
    }

    // The system.

    /// Has the system watch the folder that the file is in, or the nearest above it that is there.
    fn arm(&mut self, path: &Path) {
        let Some(watched) = self.files.get(path) else { return };
        let above = path.ancestors().skip(1).find(|folder| folder.is_dir());
        if watched.folder.as_deref() == above {
            return;
        }
        self.disarm(path);
        let Some(folder) = above.map(Path::to_owned) else { return };
        lock(&self.stir).watch(path, &folder);
        let armed = self.folders.contains_key(&folder) || self.watch(&folder);
        if armed && let Some(watched) = self.files.get_mut(path) {
            self.folders.entry(folder.clone()).or_default().insert(path.to_owned());
            watched.folder = Some(folder);
        } else {
            lock(&self.stir).unwatch(path, &folder);
        }
    }

    fn disarm(&mut self, path: &Path) {
        let Some(folder) = self.files.get_mut(path).and_then(|watched| watched.folder.take()) else { return };
        lock(&self.stir).unwatch(path, &folder);
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
            let (stir, tell) = (self.stir.clone(), self.tell.clone());
            let take_in = move |event| {
                if lock(&stir).take_in(event) {
                    // Nobody listens any more when the thread is ending.
                    let _ = tell.send(Message::Stirred);
                }
            };
            self.system = Some(notify::recommended_watcher(take_in)?);
        }
        self.system.as_mut().ok_or_else(|| notify::Error::generic("no watcher"))
    }

    // What became of the files.

    fn suspect(&mut self, path: PathBuf, suspect: Suspect) {
        let known = self.suspects.entry(path).or_default();
        known.folder |= suspect.folder;
        known.renamed = suspect.renamed.or(known.renamed.take());
        self.since.get_or_insert_with(Instant::now);
    }

    /// When to look at the files of which something was said.
    fn due(&self) -> Option<Instant> {
        let since = self.since?;
        let last = lock(&self.stir).last().map_or(since, |last| last.max(since));
        Some((last + QUIET).min(since + LATEST))
    }

    fn look(&mut self) {
        self.since = None;
        let told = lock(&self.stir).drain();
        for (path, suspect) in told {
            self.suspect(path, suspect);
        }
        self.since = None;
        for (path, suspect) in std::mem::take(&mut self.suspects) {
            self.look_at(path, suspect);
        }
    }

    fn look_at(&mut self, path: PathBuf, suspect: Suspect) {
        if self.writing.contains_key(&path) {
            return self.suspect(path, suspect);
        }
        if suspect.folder {
            // What is watched may be another folder than the one that has the name now.
            self.disarm(&path);
            self.arm(&path);
        }
        let Some(watched) = self.files.get_mut(&path) else { return };
        let now = Fingerprint::look(&path, watched.known);
        let away_since = watched.away_since.take();
        let kind = match (watched.known, now) {
            (None, None) => return,
            (Some(known), Some(now)) if known.content == now.content => {
                watched.known = Some(now);
                return;
            }
            (_, Some(_)) => FileChange::Changed,
            (Some(_), None) => {
                let since = away_since.unwrap_or_else(Instant::now);
                if since.elapsed() < AWAY {
                    watched.away_since = Some(since);
                    return self.suspect(path, suspect);
                }
                match suspect.renamed.filter(|to| to.is_file()) {
                    Some(to) => FileChange::Renamed(to),
                    None => FileChange::Gone,
                }
            }
        };
        watched.known = now;
        if let FileChange::Renamed(to) = &kind {
            // Where it is now, it is the same sessions' business.
            for session in watched.sessions.clone() {
                self.touched(session, to.clone(), None);
            }
        }
        self.mailbox.post(Event::FileChanged { path, kind });
    }
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

fn lock(stir: &Mutex<Stir>) -> MutexGuard<'_, Stir> {
    // What is kept there is looked at again on the disk, so half of it does no harm.
    stir.lock().unwrap_or_else(PoisonError::into_inner)
}

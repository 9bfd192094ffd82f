//! What the watched files are known to hold, for the thread that watches and for all who read one of them
//! meanwhile: each goes through the file's state machine. Whom it is told to is left to `watch`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

use super::event_filter::EventFilter;
use super::fingerprint::{Fingerprint, by_stamp};
use crate::acp::mutex::lock;
use crate::core::changes::half_written::{self, Input, Millis, Shape, Tracker};
use crate::core::ids::SessionKey;
use crate::core::maps::FastMap;
use crate::core::message::{FileDiff, Stamp};

/// Of a larger file it is not told whether it is the beginning of what was there before.
const MAX_COMPARED_BYTES: u64 = 1 << 20;

/// What is kept of a file's last text while no call edits it is no larger.
const SMALL: usize = 64 << 10;

/// The clock begins here, so that there is a time at which an older file was written.
const START: Millis = 24 * 60 * 60 * 1000;

/// A call that edits a file, by its number in its session.
type CallKey = (SessionKey, u64);

/// What a call that edits a file has announced so far; nothing says that it is over.
#[derive(Clone)]
pub struct Edit {
    pub call: CallKey,
    pub diffs: Option<Vec<FileDiff>>,
    /// How many bytes the editor's text has, if it is known.
    pub size: Option<u64>,
}

pub struct Seen {
    began: Instant,
    /// What the system said that was not taken in yet.
    pub filter: Mutex<EventFilter>,
    files: Mutex<Files>,
    /// Some file has been looked at.
    pub news: Notify,
}

/// The files, and those of them that are to be looked at: an agent may touch thousands, and what is due is asked after
/// each of them.
#[derive(Default)]
struct Files {
    all: FastMap<PathBuf, File>,
    due: BTreeSet<(Millis, PathBuf)>,
}

#[derive(Default)]
struct File {
    tracker: Tracker,
    last: Option<(Fingerprint, Shape)>,
    /// The state in which the editor has read or saved it.
    held: Option<Stamp>,
    /// The calls that edit it, and those that did last.
    calls: Vec<Call>,
    /// The last whole text, and the one that was seen last, while there are calls.
    before: Option<Bytes>,
    recent: Option<Bytes>,
    /// How many bytes the editor had when a call began, for as long as there is no text to compare with.
    size: Option<u64>,
}

/// A content, and what stands for it.
type Bytes = (Fingerprint, Arc<[u8]>);

struct Call {
    key: CallKey,
    diffs: Vec<FileDiff>,
    over: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self { began: Instant::now(), filter: Mutex::default(), files: Mutex::default(), news: Notify::new() }
    }
}

impl Seen {
    fn at(&self, time: Instant) -> Millis {
        // Older than everything is as good as the beginning.
        let since = time.saturating_duration_since(self.began);
        START.saturating_add(Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX))
    }

    fn now(&self) -> Millis {
        self.at(Instant::now())
    }

    /// The file is a session's business from now on.
    pub fn begin(&self, path: &Path) {
        lock(&self.files).begin(path);
    }

    pub fn has(&self, path: &Path) -> bool {
        lock(&self.files).all.contains_key(path)
    }

    pub fn forget(&self, path: &Path) {
        lock(&self.files).forget(path);
        self.news.notify_waiters();
    }

    pub fn edit(&self, path: &Path, edit: Edit) {
        let now = self.now();
        let mut files = lock(&self.files);
        files.begin(path);
        files.change(path, |file| file.edit(now, edit));
    }

    /// The session has nothing to do with any file any more.
    pub fn left(&self, session: SessionKey) {
        let now = self.now();
        lock(&self.files).change_all(|file| file.end(now, |call| call.0 == session));
    }

    /// The editor has read or saved the file in this state.
    pub fn held(&self, path: &Path, stamp: Stamp) {
        let now = self.now();
        lock(&self.files).change(path, |file| {
            file.held = Some(stamp);
            if let Some((found, _)) = file.last.filter(|(found, _)| found.stamp == stamp) {
                file.tracker.step(now, Input::Known(Some(found.content)));
                file.remember();
            }
            file.tracker.step(now, Input::Uncertain);
        });
        self.news.notify_waiters();
    }

    pub fn hear(&self, path: &Path, said: Input, at: Instant) {
        lock(&self.files).change(path, |file| file.tracker.step(self.at(at), said));
    }

    /// When the next file is to be looked at.
    pub fn due(&self) -> Option<Instant> {
        let due = lock(&self.files).due.first()?.0;
        Some(self.began + Duration::from_millis(due.saturating_sub(START)))
    }

    pub fn all_due(&self) -> Vec<PathBuf> {
        let now = self.now();
        lock(&self.files)
            .due
            .iter()
            .take_while(|(due, _)| *due <= now)
            .map(|(_, path)| path.clone())
            .collect()
    }

    pub fn defer(&self, path: &Path) {
        lock(&self.files).change(path, |file| file.tracker.defer());
    }

    /// Whether the file is to be looked at once more.
    pub fn is_due(&self, path: &Path) -> bool {
        lock(&self.files).all.get(path).is_some_and(|file| file.tracker.due().is_some())
    }

    pub fn is_half_written(&self, path: &Path) -> bool {
        lock(&self.files).all.get(path).is_some_and(|file| file.tracker.is_half_written())
    }

    /// Whether there was no file when it was last whole.
    pub fn is_missing(&self, path: &Path) -> bool {
        lock(&self.files).all.get(path).is_some_and(|file| file.tracker.known() == Some(None))
    }

    /// The state in which the file was seen last.
    pub fn last_stamp(&self, path: &Path) -> Option<Stamp> {
        lock(&self.files).all.get(path)?.last.map(|(found, _)| found.stamp)
    }

    /// The last whole text of a file that calls edit, and the state in which it was seen.
    pub fn before(&self, path: &Path) -> Option<(Stamp, Arc<[u8]>)> {
        let files = lock(&self.files);
        let (found, bytes) = files.all.get(path)?.before()?;
        Some((found.stamp, bytes.clone()))
    }

    /// Looks at the disk. The bytes are there where they are of use and were read.
    pub fn look(&self, path: &Path) -> (Option<Fingerprint>, Option<Vec<u8>>) {
        let (known, keeps) = match lock(&self.files).all.get(path) {
            Some(file) => (file.last.map(|(fingerprint, _)| fingerprint), !file.calls.is_empty()),
            None => (None, false),
        };
        let mut bytes = None;
        let fingerprint = Fingerprint::look(path, known, keeps.then_some((&mut bytes, MAX_COMPARED_BYTES)));
        (fingerprint, bytes)
    }

    /// What a look has found. Says whether that is news: another whole content.
    pub fn looked(&self, path: &Path, found: Option<Fingerprint>, bytes: Option<&[u8]>) -> bool {
        let now = self.now();
        let news = lock(&self.files).change(path, |file| file.looked(now, found, bytes)).unwrap_or(false);
        self.news.notify_waiters();
        news
    }

    /// The same for one who needs a whole text: says whether it is one, and then whether that is news. Nothing
    /// for a file that is no session's business.
    pub fn ask(&self, path: &Path, found: Option<Fingerprint>, bytes: Option<&[u8]>) -> Option<(bool, bool)> {
        let said = lock(&self.filter).said_of(path);
        let now = self.now();
        let (known, (is_whole, is_known, news)) = lock(&self.files).change(path, |file| {
            if let Some((said, at)) = said {
                file.tracker.step(self.at(at), said);
            }
            let known = file.tracker.known();
            let news = file.looked(now, found, bytes);
            let is_known = file.tracker.known();
            (known, (file.tracker.is_whole(found.map(|found| found.content)), is_known, news))
        })?;
        if is_known != known {
            // Others may wait for just this.
            self.news.notify_waiters();
        }
        Some((is_whole, news))
    }
}

impl Files {
    fn begin(&mut self, path: &Path) {
        if !self.all.contains_key(path) {
            self.all.insert(path.to_owned(), File::default());
        }
    }

    fn forget(&mut self, path: &Path) {
        let due = self.all.remove(path).and_then(|file| file.tracker.due());
        if let Some(due) = due {
            self.due.remove(&(due, path.to_owned()));
        }
    }

    /// Whatever happens to a file goes through here, or it would not be known when it is due.
    fn change<R>(&mut self, path: &Path, change: impl FnOnce(&mut File) -> R) -> Option<R> {
        let file = self.all.get_mut(path)?;
        let before = file.tracker.due();
        let done = change(file);
        let after = file.tracker.due();
        if before != after {
            if let Some(due) = before {
                self.due.remove(&(due, path.to_owned()));
            }
            self.due.extend(after.map(|due| (due, path.to_owned())));
        }
        Some(done)
    }

    fn change_all(&mut self, change: impl Fn(&mut File)) {
        let paths: Vec<PathBuf> = self.all.keys().cloned().collect();
        for path in paths {
            self.change(&path, &change);
        }
    }
}

impl File {
    fn edit(&mut self, now: Millis, edit: Edit) {
        let Some(diffs) = edit.diffs else { return self.end(now, |call| call == edit.call) };
        if !self.tracker.is_in_call() {
            self.calls.clear();
        }
        match self.calls.iter_mut().find(|call| call.key == edit.call) {
            Some(call) => call.diffs = diffs,
            None => self.calls.push(Call { key: edit.call, diffs, over: false }),
        }
        self.size = edit.size;
        // What it is like beside what was announced is to be seen anew.
        self.last = None;
        self.tracker.step(now, Input::CallBegan);
    }

    fn end(&mut self, now: Millis, which: impl Fn(CallKey) -> bool) {
        self.calls.iter_mut().filter(|call| which(call.key)).for_each(|call| call.over = true);
        if self.tracker.is_in_call() && self.calls.iter().all(|call| call.over) {
            self.tracker.step(now, Input::CallEnded);
        }
    }

    fn looked(&mut self, now: Millis, found: Option<Fingerprint>, bytes: Option<&[u8]>) -> bool {
        let shape = match (found, self.last) {
            (Some(found), Some((last, shape))) if last == found => shape,
            (Some(found), _) => self.shape(found, bytes),
            (None, _) => Shape::Plain,
        };
        self.last = found.map(|found| (found, shape));
        let seen = half_written::Seen {
            content: found.map(|found| found.content),
            shape,
            stamp: found.map_or(0, |found| by_stamp(found.stamp)),
            age: found.map_or(0, |found| age(found.stamp)),
        };
        if let Some(found) = found.filter(|found| self.held == Some(found.stamp)) {
            // Whole or not, the editor has it.
            self.tracker.step(now, Input::Known(Some(found.content)));
        }
        let news = self.tracker.step(now, Input::Looked(seen));
        if let (Some(found), Some(bytes), false) = (found, bytes, self.calls.is_empty())
            && bytes.len() as u64 <= MAX_COMPARED_BYTES
        {
            self.recent = Some((found, bytes.into()));
        }
        self.remember();
        if self.tracker.is_at_rest() && !self.tracker.is_in_call() {
            self.settle();
        }
        news
    }

    /// Nothing is left to be compared. A text that is not large stays: the next call may begin by cutting it.
    fn settle(&mut self) {
        self.calls = Vec::new();
        self.recent = None;
        self.before.take_if(|(_, bytes)| bytes.len() > SMALL);
    }

    /// What was seen last may be whole now.
    fn remember(&mut self) {
        let known = self.tracker.known();
        if let Some(whole) = self.recent.take_if(|(found, _)| known == Some(Some(found.content))) {
            self.before = Some(whole);
        }
    }

    fn shape(&self, found: Fingerprint, bytes: Option<&[u8]>) -> Shape {
        let before = self.before().map(|(_, bytes)| &**bytes);
        // The writer may have begun before anybody looked.
        let is_shorter = before.is_none() && self.size.is_some_and(|size| found.stamp.size < size);
        let unknown = if is_shorter || found.stamp.size == 0 { Shape::Cut } else { Shape::Plain };
        let Some(bytes) = bytes.filter(|bytes| bytes.len() as u64 <= MAX_COMPARED_BYTES) else {
            return unknown;
        };
        let announced: Vec<FileDiff> = self.calls.iter().flat_map(|call| call.diffs.clone()).collect();
        match half_written::shape(bytes, before, &announced) {
            Shape::Plain => unknown,
            shape => shape,
        }
    }

    /// The last whole text.
    fn before(&self) -> Option<&Bytes> {
        let known = self.tracker.known();
        self.before.as_ref().filter(|(found, _)| known == Some(Some(found.content)))
    }
}

/// How long ago the file was written, by its own time.
fn age(stamp: Stamp) -> Millis {
    let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else { return 0 };
    let (seconds, nanos) = stamp.written;
    let written = i128::from(seconds) * 1000 + i128::from(nanos) / 1_000_000;
    let now = i128::try_from(now.as_millis()).unwrap_or(i128::MAX);
    Millis::try_from(now - written).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(seen: &Seen) -> Vec<PathBuf> {
        lock(&seen.files).due.iter().map(|(_, path)| path.clone()).collect()
    }

    #[test]
    fn what_is_due_is_what_the_files_say_whatever_happens_to_them() {
        let seen = Seen::default();
        let (a, b, session) = (Path::new("/a"), Path::new("/b"), SessionKey(1));
        let check = |about: &str, expected: &[&Path]| {
            let files = lock(&seen.files);
            let mut due: Vec<(Millis, PathBuf)> = files
                .all
                .iter()
                .filter_map(|(path, file)| Some((file.tracker.due()?, path.clone())))
                .collect();
            due.sort();
            assert_eq!(files.due.iter().cloned().collect::<Vec<_>>(), due, "{about}");
            drop(files);
            let mut paths = paths(&seen);
            paths.sort();
            assert_eq!(paths, expected, "{about}");
        };
        seen.begin(a);
        seen.begin(b);
        check("files that nothing was heard of", &[]);
        assert_eq!(seen.due(), None);
        seen.hear(a, Input::Uncertain, Instant::now());
        check("something may have happened to a", &[a]);
        assert!(seen.due().is_some());
        let edit = |diffs| Edit { call: (session, 1), diffs, size: None };
        seen.edit(b, edit(Some(Vec::new())));
        check("a call edits b", &[a]);
        seen.left(session);
        check("the session is over, and with it the call", &[a, b]);
        seen.defer(a);
        check("a can't be looked at", &[b]);
        seen.looked(b, None, None);
        seen.hear(b, Input::Known(None), Instant::now());
        check("b was looked at", &[]);
        seen.hear(a, Input::Touched, Instant::now());
        seen.hear(b, Input::Closed, Instant::now());
        seen.hear(b, Input::Uncertain, Instant::now());
        check("both are written", &[a, b]);
        seen.forget(a);
        seen.ask(b, None, None);
        seen.hear(b, Input::Known(None), Instant::now());
        check("a is forgotten, b asked for", &[]);
        seen.edit(a, edit(Some(Vec::new())));
        seen.edit(a, edit(None));
        check("a call was quick", &[a]);
        let stamp = Stamp { size: 1, written: (1, 1), inode: 1 };
        seen.looked(a, None, None);
        seen.held(a, stamp);
        check("the editor has saved a", &[a]);
    }
}

//! What the watched files are known to hold, for the thread that watches and for all who read one of them
//! meanwhile: each goes through the file's state machine. Whom it is told to is left to `watch`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

use super::event_filter::EventFilter;
use super::fingerprint::{Fingerprint, by_stamp};
use crate::acp::mutex::lock;
use crate::core::changes::half_written::{self, Input, Millis, Shape, Tracker};
use crate::core::ids::SessionKey;
use crate::core::message::{FileDiff, Stamp};

/// Of a larger file it is not told whether it is the beginning of what was there before.
const LARGEST: u64 = 1 << 20;

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
    files: Mutex<HashMap<PathBuf, File>>,
    /// Some file has been looked at.
    pub news: Notify,
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
        let mut files = lock(&self.files);
        if !files.contains_key(path) {
            files.insert(path.to_owned(), File::default());
        }
    }

    pub fn has(&self, path: &Path) -> bool {
        lock(&self.files).contains_key(path)
    }

    pub fn forget(&self, path: &Path) {
        lock(&self.files).remove(path);
        self.news.notify_waiters();
    }

    pub fn edit(&self, path: &Path, edit: Edit) {
        let now = self.now();
        lock(&self.files).entry(path.to_owned()).or_default().edit(now, edit);
    }

    /// The session has nothing to do with any file any more.
    pub fn left(&self, session: SessionKey) {
        let now = self.now();
        for file in lock(&self.files).values_mut() {
            file.end(now, |call| call.0 == session);
        }
    }

    /// The editor has read or saved the file in this state.
    pub fn held(&self, path: &Path, stamp: Stamp) {
        let now = self.now();
        if let Some(file) = lock(&self.files).get_mut(path) {
            file.held = Some(stamp);
            if let Some((found, _)) = file.last.filter(|(found, _)| found.stamp == stamp) {
                file.tracker.step(now, Input::Known(Some(found.content)));
                file.remember();
            }
            file.tracker.step(now, Input::Uncertain);
        }
        self.news.notify_waiters();
    }

    pub fn hear(&self, path: &Path, said: Input, at: Instant) {
        if let Some(file) = lock(&self.files).get_mut(path) {
            file.tracker.step(self.at(at), said);
        }
    }

    /// When the next file is to be looked at.
    pub fn due(&self) -> Option<Instant> {
        let due = lock(&self.files).values().filter_map(|file| file.tracker.due()).min()?;
        Some(self.began + Duration::from_millis(due.saturating_sub(START)))
    }

    pub fn all_due(&self) -> Vec<PathBuf> {
        let now = self.now();
        let files = lock(&self.files);
        let due = files.iter().filter(|(_, file)| file.tracker.due().is_some_and(|due| due <= now));
        due.map(|(path, _)| path.clone()).collect()
    }

    pub fn put_off(&self, path: &Path) {
        if let Some(file) = lock(&self.files).get_mut(path) {
            file.tracker.put_off();
        }
    }

    /// Whether the file is to be looked at once more.
    pub fn is_due(&self, path: &Path) -> bool {
        lock(&self.files).get(path).is_some_and(|file| file.tracker.due().is_some())
    }

    pub fn is_half_written(&self, path: &Path) -> bool {
        lock(&self.files).get(path).is_some_and(|file| file.tracker.is_half_written())
    }

    /// Whether there was no file when it was last whole.
    pub fn is_missing(&self, path: &Path) -> bool {
        lock(&self.files).get(path).is_some_and(|file| file.tracker.known() == Some(None))
    }

    /// The state in which the file was seen last.
    pub fn last_stamp(&self, path: &Path) -> Option<Stamp> {
        lock(&self.files).get(path)?.last.map(|(found, _)| found.stamp)
    }

    /// The last whole text of a file that calls edit, and the state in which it was seen.
    pub fn before(&self, path: &Path) -> Option<(Stamp, Arc<[u8]>)> {
        let files = lock(&self.files);
        let (found, bytes) = files.get(path)?.before()?;
        Some((found.stamp, bytes.clone()))
    }

    /// Looks at the disk. The bytes are there where they are of use and were read.
    pub fn look(&self, path: &Path) -> (Option<Fingerprint>, Option<Vec<u8>>) {
        let (known, keeps) = match lock(&self.files).get(path) {
            Some(file) => (file.last.map(|(fingerprint, _)| fingerprint), !file.calls.is_empty()),
            None => (None, false),
        };
        let mut bytes = None;
        let fingerprint = Fingerprint::look(path, known, keeps.then_some((&mut bytes, LARGEST)));
        (fingerprint, bytes)
    }

    /// What a look has found. Says whether that is news: another whole content.
    pub fn looked(&self, path: &Path, found: Option<Fingerprint>, bytes: Option<&[u8]>) -> bool {
        let now = self.now();
        let news = lock(&self.files).get_mut(path).is_some_and(|file| file.looked(now, found, bytes));
        self.news.notify_waiters();
        news
    }

    /// The same for one who needs a whole text: says whether it is one, and then whether that is news. Nothing
    /// for a file that is no session's business.
    pub fn ask(&self, path: &Path, found: Option<Fingerprint>, bytes: Option<&[u8]>) -> Option<(bool, bool)> {
        let said = lock(&self.filter).said_of(path);
        let now = self.now();
        let mut files = lock(&self.files);
        let file = files.get_mut(path)?;
        if let Some((said, at)) = said {
            file.tracker.step(self.at(at), said);
        }
        let known = file.tracker.known();
        let news = file.looked(now, found, bytes);
        if file.tracker.known() != known {
            // Others may wait for just this.
            self.news.notify_waiters();
        }
        Some((file.tracker.is_whole(found.map(|found| found.content)), news))
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
            && bytes.len() as u64 <= LARGEST
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
        let Some(bytes) = bytes.filter(|bytes| bytes.len() as u64 <= LARGEST) else { return unknown };
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

//! Files that buffers hold: which ones they are, what agents know of them, what is being done to them.
//! How a buffer is read and edited is in `reading` and `applying`; in what order things happen is in
//! `files::engine` and its neighbours. Files without a buffer are the background's.

pub mod after_apply;
pub mod conflicts;
pub mod engine;
pub mod missing;
pub mod names;
pub mod times;
pub mod watching;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};

use crate::core::changes::reconcile::Pick;
use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::core::message::{OnDisk, Stamp};
use crate::core::text::Text;
use crate::nvim::buffers::Buffers;
use crate::nvim::buffers::texts::Snapshot;
use crate::nvim::editor::Buf;

#[derive(Default)]
pub struct Files {
    /// What each agent last saw of a file, as its text with `\n` for line ends.
    seen: HashMap<(SessionKey, PathBuf), Seen>,
    /// The states of files that agents have read on the disk, by themselves.
    looked: HashMap<(SessionKey, PathBuf), Look>,
    queues: HashMap<PathBuf, Queue>,
    to_rename: BTreeSet<Buf>,
}

struct Seen {
    text: Text,
    /// What the disk was then.
    stamp: Option<Stamp>,
}

/// An agent's own look at a file.
struct Look {
    stamp: Stamp,
    /// It is over, and the file was in the same state all the while.
    done: bool,
}

/// What is to be done with a file; one after the other, or a read would miss the write before it.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Task>,
    busy: bool,
    /// The task under way has begun to edit the buffer.
    editing: bool,
}

#[derive(Clone, Debug)]
pub enum Task {
    /// An agent reads. `line` is 1-based.
    Read { session: SessionKey, ask: AskId, line: Option<u32>, limit: Option<u32>, checked: bool },
    /// An agent writes.
    Write { session: SessionKey, ask: AskId, content: Text, checked: bool },
    /// The file was written by somebody else, most likely by the session's agent.
    Take { session: Option<SessionKey>, call: Option<EntryId> },
    /// The buffer got its first unsaved edit: what is on the disk is what it began with.
    Remember,
}

/// A task under way.
pub struct FileJob {
    pub path: PathBuf,
    pub buf: Buf,
    pub task: Task,
    /// It has overtaken those that wait.
    pub aside: bool,
    pub disk: OnDisk,
    /// The file's state when the sides were reconciled; none while there was no such file.
    pub now: Option<Stamp>,
    pub ours: Snapshot,
    /// The last text of the buffer without unsaved edits, if it was seen in this state.
    pub clean: Option<Text>,
    /// How often it was begun again because the user typed meanwhile.
    pub tries: u32,
    /// How often it was put off because the user was in the middle of something.
    pub waits: u32,
    pub picks: Vec<Pick>,
    pub rest: Option<Pick>,
    /// What the first edits led to, and what all of them were to lead to, when the user typed in between.
    pub half: Option<(Text, Text)>,
    /// The first edits are in.
    pub begun: bool,
    /// What the buffer held before them, and that this was saved.
    pub before: Text,
    pub lines_before: usize,
    pub was_clean: bool,
}

/// What is in the buffer once all edits are.
pub struct Landing {
    pub text: Text,
    pub is_theirs: bool,
    /// What the edits touched: 0-based rows of the new text, the last one excluded.
    pub ranges: Vec<(usize, usize)>,
}

impl Task {
    pub fn is_take(&self) -> bool {
        matches!(self, Self::Take { .. })
    }

    /// The same, to be done whatever the disk holds. `None` for what is done so already.
    pub fn checked(&self) -> Option<Self> {
        match self.clone() {
            Self::Read { session, ask, line, limit, checked: false } => {
                Some(Self::Read { session, ask, line, limit, checked: true })
            }
            Self::Write { session, ask, content, checked: false } => {
                Some(Self::Write { session, ask, content, checked: true })
            }
            _ => None,
        }
    }
}

impl FileJob {
    pub fn new(path: PathBuf, buf: Buf, task: Task) -> Self {
        Self {
            path,
            buf,
            task,
            aside: false,
            disk: OnDisk::Same,
            now: None,
            ours: Snapshot { tick: 0, text: Text::default() },
            clean: None,
            tries: 0,
            waits: 0,
            picks: Vec::new(),
            rest: None,
            half: None,
            begun: false,
            before: Text::default(),
            lines_before: 0,
            was_clean: false,
        }
    }

    pub fn session(&self) -> Option<SessionKey> {
        match &self.task {
            Task::Read { session, .. } | Task::Write { session, .. } => Some(*session),
            Task::Take { session, .. } => *session,
            Task::Remember => None,
        }
    }
}

impl Files {
    /// The file of a buffer is called something else than was thought; gives what it was called so far.
    /// Nothing is done while it is at work under that name: what ends its queue has it done.
    pub fn rename(&mut self, buffers: &mut Buffers, buf: Buf, path: &Path) -> Option<PathBuf> {
        let old = buffers.name_of(buf).filter(|old| *old != path)?.to_owned();
        if self.queues.contains_key(&old) {
            self.to_rename.insert(buf);
            return None;
        }
        if !buffers.rename(&old, path) {
            return None;
        }
        for (session, _) in self.seen.keys().filter(|(_, seen)| *seen == old).cloned().collect::<Vec<_>>() {
            if let Some(text) = self.seen.remove(&(session, old.clone())) {
                self.seen.entry((session, path.to_owned())).or_insert(text);
            }
        }
        Some(old)
    }

    /// A buffer that has waited for its queue's end to be renamed.
    pub fn take_renamed(&mut self, buffers: &Buffers, path: &Path) -> Option<Buf> {
        let buf = self.to_rename.iter().copied().find(|buf| buffers.name_of(*buf) == Some(path))?;
        self.to_rename.remove(&buf);
        Some(buf)
    }

    // What is to be done.

    /// Puts a task behind those that wait. Says whether it can begin now.
    pub fn push(&mut self, path: &Path, task: Task) -> bool {
        let queue = self.queues.entry(path.to_owned()).or_default();
        let is_take = |task: &Task| matches!(task, Task::Take { .. } | Task::Remember);
        // A file that is about to be looked at need not be looked at twice.
        if !(is_take(&task) && queue.waiting.back().is_some_and(|last| same_kind(last, &task))) {
            queue.waiting.push_back(task);
        }
        !queue.busy
    }

    /// Puts a task before all others, and the one under way behind it.
    pub fn push_front(&mut self, path: &Path, task: Task) {
        self.queues.entry(path.to_owned()).or_default().waiting.push_front(task);
    }

    /// The next task, if none is under way.
    pub fn begin(&mut self, path: &Path) -> Option<Task> {
        let queue = self.queues.get_mut(path)?;
        if queue.busy {
            return None;
        }
        let Some(task) = queue.waiting.pop_front() else {
            self.queues.remove(path);
            return None;
        };
        queue.busy = true;
        Some(task)
    }

    /// The task under way is done, or waits for the user.
    pub fn ended(&mut self, path: &Path) {
        if let Some(queue) = self.queues.get_mut(path) {
            (queue.busy, queue.editing) = (false, false);
        }
    }

    /// The task under way edits the buffer; or it stops doing so, since the user has changed it.
    pub fn set_editing(&mut self, path: &Path, editing: bool) {
        if let Some(queue) = self.queues.get_mut(path) {
            queue.editing = editing;
        }
    }

    pub fn is_being_edited(&self, path: &Path) -> bool {
        self.queues.get(path).is_some_and(|queue| queue.editing)
    }

    // What agents know.

    pub fn seen(&self, session: SessionKey, path: &Path) -> Option<Text> {
        self.seen.get(&(session, path.to_owned())).map(|seen| seen.text.clone())
    }

    pub fn see(&mut self, buffers: &Buffers, session: SessionKey, path: &Path, text: Text) {
        let key = (session, path.to_owned());
        self.looked.remove(&key);
        self.seen.insert(key, Seen { text, stamp: buffers.stamp_of(path) });
    }

    /// Whether the disk holds another text than when the agent last saw the file through the editor.
    pub fn is_older_than_disk(&self, buffers: &Buffers, session: SessionKey, path: &Path) -> bool {
        let seen = self.seen.get(&(session, path.to_owned()));
        seen.is_some_and(|seen| seen.stamp != buffers.stamp_of(path))
    }

    /// A call reads the file on the disk, or has done so.
    pub fn look(&mut self, buffers: &Buffers, session: SessionKey, path: &Path, done: bool) {
        let key = (session, path.to_owned());
        match (buffers.stamp_of(path), self.looked.get_mut(&key)) {
            (Some(now), Some(look)) if done && look.stamp == now => look.done = true,
            (Some(now), _) if !done => drop(self.looked.insert(key, Look { stamp: now, done })),
            _ => drop(self.looked.remove(&key)),
        }
    }

    /// Whether the agent has read by itself what the disk holds, as far as the buffer knows.
    pub fn has_looked(&self, buffers: &Buffers, session: SessionKey, path: &Path) -> bool {
        let look = self.looked.get(&(session, path.to_owned()));
        look.is_some_and(|look| look.done && Some(look.stamp) == buffers.stamp_of(path))
    }

    /// The sessions whose agents have read or written a file.
    pub fn readers_of<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = SessionKey> + 'a {
        self.seen.keys().filter(move |(_, known)| known == path).map(|(session, _)| *session)
    }

    /// A session is over.
    pub fn forget(&mut self, session: SessionKey) {
        self.seen.retain(|(key, _), _| *key != session);
        self.looked.retain(|(key, _), _| *key != session);
    }
}

fn same_kind(a: &Task, b: &Task) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

//! Files that buffers hold: which ones they are, what agents know of them, what is being done to them.
//! How a buffer is read and edited is in `reading` and `applying`; in what order things happen is in
//! `files::engine` and its neighbours. Files without a buffer are the background's.

pub mod after_apply;
pub mod conflicts;
pub mod engine;
pub mod job;
pub mod missing;
pub mod names;
pub mod times;
pub mod watching;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};

use crate::core::ids::SessionKey;
use crate::core::message::Stamp;
use crate::core::text::Text;
use crate::nvim::buffers::Buffers;
use crate::nvim::editor::Buf;
pub use crate::nvim::files::job::Task;
use crate::nvim::files::job::Waiting;
use crate::nvim::files::watching::Watching;

#[derive(Default)]
pub struct Files {
    /// What each agent last saw of a file, as its text with `\n` for line ends.
    seen: HashMap<(SessionKey, PathBuf), Seen>,
    /// The states of files that agents have read on the disk, by themselves.
    looked: HashMap<(SessionKey, PathBuf), Look>,
    queues: HashMap<PathBuf, Queue>,
    to_rename: BTreeSet<Buf>,
    pub watching: Watching,
    /// The conflicts that wait for the user, oldest first.
    conflicts: Vec<Waiting>,
    /// How many there were.
    conflict_count: u64,
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

//! Files that buffers hold: which ones they are, what agents know of them, what is being done to them.
//! How a buffer is read and edited is in `reading` and `applying`; in what order things happen is in
//! `files::engine` and its neighbours. Files without a buffer are the background's.

pub mod after_apply;
pub mod applying;
pub mod conflicts;
pub mod engine;
pub mod missing;
pub mod names;
pub mod times;
pub mod watching;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};

use mlua::{Result, Value};

use crate::core::changes::reconcile::Pick;
use crate::core::changes::text_edits::TextEdit;
use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::core::message::{OnDisk, Stamp};
use crate::core::text::Text;
use crate::nvim::buffers::Buffers;
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::buffers::reading::Snapshot;
use crate::nvim::editor::first_line;
use crate::nvim::editor::{Buf, Editor};

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

    /// Applies edits of the user's own making at once, and saves where nothing was unsaved before.
    pub fn write(
        &self,
        editor: &Editor,
        buf: Buf,
        edits: &[TextEdit],
        content: &Content,
    ) -> std::result::Result<(), String> {
        let was_modified = is_modified(editor, buf);
        let apply = || -> Result<()> {
            edits.iter().try_for_each(|edit| applying::apply(editor, buf, edit))?;
            if editor.buf_option::<bool>(buf, "endofline")? != content.ends_with_newline {
                editor.set_buf_option(buf, "endofline", content.ends_with_newline)?;
            }
            if !content.ends_with_newline && editor.buf_option::<bool>(buf, "fixendofline")? {
                // Saving would add the line break that the text does not have.
                editor.set_buf_option(buf, "fixendofline", false)?;
            }
            Ok(())
        };
        apply().map_err(|error| first_line(&error))?;
        if was_modified { Ok(()) } else { save(editor, buf, false) }
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

/// A text that is to be in a buffer, as to its end.
pub struct Content {
    pub ends_with_newline: bool,
}

fn same_kind(a: &Task, b: &Task) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// Saves a buffer whose text is the agent's; `with_autocmds` lets formatters change it first.
pub fn save(editor: &Editor, buf: Buf, with_autocmds: bool) -> std::result::Result<(), String> {
    let name = editor.buf_name(buf);
    // The ! below is for the time of the file, not for what its permissions forbid: Neovim would change
    // them for it. It looks at them itself whenever it saves.
    let is_protected = editor.func::<i64>("filewritable", name.as_str()).is_ok_and(|can| can == 0);
    if is_protected && editor.func::<i64>("filereadable", name.as_str()).is_ok_and(|can| can == 1) {
        return Err("permission denied; make the file writable".to_owned());
    }
    if let Some(folder) = Path::new(&name).parent()
        // On this thread, as the write is that follows.
        && !folder.exists()
    {
        // When this fails the write below says why.
        let _ = std::fs::create_dir_all(folder);
    }
    // Neovim would empty the file first, or go on without a backup for the ! below.
    check_room(editor, buf, Path::new(&name))?;
    // The time of the file was compared by us; for Neovim to do it, it would ask.
    let command = if with_autocmds { "silent keepalt write!" } else { "silent keepalt noautocmd write!" };
    editor.command_in(buf, command).map_err(|error| first_line(&error))?;
    if !with_autocmds {
        let announce = || -> Result<()> {
            let options =
                editor.table([("buffer", Value::Integer(buf.0)), ("modeline", Value::Boolean(false))])?;
            editor.api("nvim_exec_autocmds", ("BufWritePost", options))
        };
        // A failing autocommand of somebody else's does not undo the save.
        let _ = announce();
    }
    Ok(())
}

/// Whether the disk has room for a buffer's text beside the one that it has.
fn check_room(editor: &Editor, buf: Buf, name: &Path) -> std::result::Result<(), String> {
    let look = || -> Result<(String, u64)> {
        let kind: String = editor.buf_option(buf, "buftype")?;
        let lines = editor.line_count(buf)?;
        let bytes = editor.byte_count(buf, lines) + lines + 4;
        let encoding: String = editor.buf_option(buf, "fileencoding")?;
        let width = match &*encoding {
            wide if wide.starts_with("ucs-4") || wide.starts_with("utf-32") => 4,
            wide if wide.starts_with("ucs-2") || wide.starts_with("utf-16") => 2,
            _ => 1,
        };
        Ok((kind, bytes as u64 * width))
    };
    let (kind, bytes) = look().map_err(|error| first_line(&error))?;
    let path = canonical(name);
    match path.parent() {
        Some(folder) if kind.is_empty() => crate::platform::files::check_room(folder, bytes)
            .map_err(|why| format!("{why}, so nothing was written; make room")),
        _ => Ok(()),
    }
}

//! What is to be done with a file that a buffer holds, and how far that is. Who does it is left to `engine`.

use std::path::PathBuf;

use crate::core::changes::conflict::Conflict;
use crate::core::changes::reconcile::Pick;
use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::core::message::{OnDisk, Stamp};
use crate::core::text::Text;
use crate::nvim::buffers::texts::Snapshot;
use crate::nvim::editor::Buf;

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

/// A task that waits for the user to decide about lines.
pub struct Waiting {
    /// A question of our own: no agent knows of it.
    pub ask: AskId,
    pub session: SessionKey,
    pub job: Box<FileJob>,
    pub conflict: Conflict,
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

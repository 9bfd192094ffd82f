//! A task under way, with the buffer that it is about. How far it is, is the core's to say; who does what it says is
//! left to `engine`.

use std::path::PathBuf;

use crate::core::changes::conflict::Conflict;
use crate::core::changes::file_job::FileJob;
use crate::core::changes::file_task::Task;
use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::nvim::editor::Buf;
use crate::nvim::files::conflict_view::{Lent, Scrolled};
use crate::nvim::files::earlier::EarlierQuestion;

pub struct Job {
    pub path: PathBuf,
    pub buf: Buf,
    /// It has overtaken those that wait.
    pub aside: bool,
    /// What the user has decided about lines that they and the agent had changed.
    pub decided: Option<String>,
    /// The question that was asked before the disk changed again.
    pub earlier: Option<EarlierQuestion>,
    pub state: FileJob,
}

impl Job {
    pub fn new(path: PathBuf, buf: Buf, task: Task) -> Self {
        Self { path, buf, aside: false, decided: None, earlier: None, state: FileJob::new(task) }
    }

    pub fn task(&self) -> &Task {
        self.state.task()
    }

    pub fn session(&self) -> Option<SessionKey> {
        self.task().session()
    }
}

/// A task that waits for the user to decide about lines.
pub struct Waiting {
    /// A question of our own: no agent knows of it.
    pub ask: AskId,
    pub session: SessionKey,
    pub job: Box<Job>,
    pub conflict: Conflict,
    pub asked: Asked,
    /// The line in the chat that says that it waits.
    pub line: Option<EntryId>,
    /// The window that was scrolled for it.
    pub scrolled: Option<Scrolled>,
    /// The window that shows the file for it.
    pub lent: Option<Lent>,
}

/// How far a question has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    NotYet,
    /// A picker shows it.
    Now,
    /// The user closed the picker without an answer.
    PutOff,
}

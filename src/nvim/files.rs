//! Files that buffers hold: which ones they are, what agents know of them, what is being done to them.
//! How a buffer is read and edited is in `buffers`; in what order things happen is decided by
//! `core::changes::file_job`. Files without a buffer are the background's.

pub mod after_apply;
pub mod calls;
pub mod conflict_view;
pub mod conflicts;
pub mod earlier;
pub mod engine;
pub mod job;
pub mod missing;
pub mod names;
pub mod on_disk;
pub mod own_saves;
pub mod reports;
pub mod telling;
pub mod times;
pub mod user_acts;
pub mod watching;
pub mod whose;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::core::changes::agent_views::AgentViews;
use crate::core::changes::file_task::Queues;
pub use crate::core::changes::file_task::Task;
use crate::nvim::buffers::Buffers;
use crate::nvim::editor::Buf;
use crate::nvim::files::earlier::EarlierQuestions;
use crate::nvim::files::job::Waiting;
use crate::nvim::files::on_disk::OnDisk;
use crate::nvim::files::own_saves::OwnSaves;
use crate::nvim::files::watching::Watching;

#[derive(Default)]
pub struct Files {
    pub views: AgentViews,
    queues: Queues,
    to_rename: BTreeSet<Buf>,
    pub watching: Watching,
    pub on_disk: OnDisk,
    own_saves: OwnSaves,
    /// Buffers that a `:write` was refused in, with the `b:changedtick` of then, until it is known what the disk holds.
    refused_writes: HashMap<Buf, u64>,
    /// The user has Neovim do something right now.
    user_acts: bool,
    /// The marks of files that are gone are drawn anew in a moment.
    marks_scheduled: bool,
    /// The conflicts that wait for the user, oldest first.
    conflicts: Vec<Waiting>,
    /// How many there were.
    conflict_count: u64,
    /// What stays of questions about files that are being written.
    earlier: EarlierQuestions,
}

impl Files {
    /// The file of a buffer is called something else than was thought; gives what it was called so far.
    /// Nothing is done while it is at work under that name: what ends its queue has it done.
    fn rename(&mut self, buffers: &mut Buffers, buf: Buf, path: &Path) -> Option<PathBuf> {
        let old = buffers.name_of(buf).filter(|old| *old != path)?.to_owned();
        if self.queues.is_busy(&old) {
            self.to_rename.insert(buf);
            return None;
        }
        if !buffers.rename(&old, path) {
            return None;
        }
        self.views.rename(&old, path);
        Some(old)
    }

    /// A buffer that has waited for its queue's end to be renamed.
    fn take_renamed(&mut self, buffers: &Buffers, path: &Path) -> Option<Buf> {
        let buf = self.to_rename.iter().copied().find(|buf| buffers.name_of(*buf) == Some(path))?;
        self.to_rename.remove(&buf);
        Some(buf)
    }

    /// Whether edits are on their way into a file's buffer.
    pub fn is_being_edited(&self, path: &Path) -> bool {
        self.queues.is_being_edited(path)
    }
}

//! What the background reports of files that changed on the disk, as far as it is not told to the other features yet,
//! and what has been told. How it is gone through is in `reports`.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use crate::core::changes::told::Told;
use crate::core::changes::writers::Writers;
use crate::core::message::ChangedFile;
use crate::core::store::checkpoint::Held;
use crate::nvim::events::Renamed;

#[derive(Default)]
pub struct OnDisk {
    pub told: Told,
    /// What is still to be gone through, in order.
    pub waiting: VecDeque<Report>,
    /// The next ones will be gone through in a moment.
    pub is_scheduled: bool,
    /// What is told once a file's buffer has taken it.
    pub in_buffers: HashMap<PathBuf, Report>,
}

/// A file that has become another one.
pub struct Report {
    pub writers: Writers,
    pub file: ChangedFile,
    pub renamed: Option<Renamed>,
}

impl OnDisk {
    /// Whether a file that a buffer has just taken is a new one.
    pub fn is_new(&self, path: &Path) -> bool {
        self.in_buffers.get(path).is_some_and(|report| report.file.before == Held::Absent)
    }
}

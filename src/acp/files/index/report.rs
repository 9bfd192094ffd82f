//! What is told of changes at one time: by who did them, and no more text at once than the editor's side can take in.
//! The texts of the rest stay here until they are asked for.

use std::sync::Arc;

use super::common::Common;
use crate::acp::mutex::lock;
use crate::core::changes::folder_index::join_renames;
use crate::core::message::{Cause, ChangedFile, Event};
use crate::core::store::checkpoint::Held;

/// So many files are read at once.
pub const BATCH: usize = 256;

/// The texts of one report have no more bytes together.
const TEXTS: usize = 1 << 20;

/// One event has no more files.
const FILES: usize = 1000;

pub struct Report {
    common: Arc<Common>,
    bytes: usize,
    causes: Vec<(Cause, Vec<ChangedFile>)>,
}

impl Report {
    pub fn new(common: Arc<Common>) -> Self {
        Self { common, bytes: 0, causes: Vec::new() }
    }

    pub fn add(&mut self, cause: Cause, mut file: ChangedFile) {
        let bytes = file.before.size() + file.after.size();
        if self.bytes + bytes > TEXTS {
            file.later = Some(lock(&self.common.later).add(&file.before, &file.after));
            for side in [&mut file.before, &mut file.after] {
                if side.bytes().is_some() {
                    *side = Held::Unknown;
                }
            }
        } else {
            self.bytes += bytes;
        }
        match self.causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, files)) => files.push(file),
            None => self.causes.push((cause, vec![file])),
        }
    }

    pub fn post(self) {
        for (cause, files) in self.causes {
            let mut files = join_renames(files);
            files.sort_by(|one, other| one.path.cmp(&other.path));
            let mut files = files.into_iter().peekable();
            while files.peek().is_some() {
                let files = files.by_ref().take(FILES).collect();
                self.common.mailbox.post(Event::FilesChanged { cause: cause.clone(), files });
            }
        }
    }
}

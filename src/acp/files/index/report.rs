//! What is told of changes at one time: by who did them, and no more text at once than the editor's side can take in.
//! The texts of the rest stay here until they are asked for.

use std::sync::Arc;

use super::common::{ALLOWANCE, Common};
use crate::acp::mutex::lock;
use crate::core::changes::folder_index::join_renames;
use crate::core::message::{Cause, ChangedFile, Event};
use crate::core::store::checkpoint::Held;

/// So many files are read at once.
pub const BATCH: usize = 256;

/// One event has no more files.
const FILES: usize = 1000;

pub struct Report {
    common: Arc<Common>,
    causes: Vec<(Cause, Vec<ChangedFile>)>,
    /// The bytes of texts in it. However long it takes to make, it is told at once.
    told: usize,
}

impl Report {
    pub fn new(common: Arc<Common>) -> Self {
        Self { common, causes: Vec::new(), told: 0 }
    }

    pub fn add(&mut self, cause: Cause, mut file: ChangedFile) {
        lock(&self.common.allowed).changed(&cause, &file.path);
        let bytes = file.before.size() + file.after.size();
        if bytes > 0 && (self.told + bytes > ALLOWANCE || !self.common.may_tell(bytes)) {
            put_away(&self.common, &mut file);
        } else {
            self.told += bytes;
            // It needs not be asked for.
            file.later = file.later.filter(|_| bytes == 0);
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

/// Has a change's texts stay here until they are asked for. Those that are here already stay what they are.
pub fn put_away(common: &Common, file: &mut ChangedFile) {
    file.later.get_or_insert_with(|| lock(&common.later).add(&file.before, &file.after));
    for side in [&mut file.before, &mut file.after] {
        if side.bytes().is_some() {
            *side = Held::Unknown;
        }
    }
}

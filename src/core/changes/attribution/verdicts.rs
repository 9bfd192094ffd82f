//! Who was said to have changed which file, as long as an agent may say more of it. Agents tell of a call in pieces, before
//! or after it has done its work: whatever order that comes in with what is seen of files, the same is said in the end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{Activities, Holder, Judgement, Millis, Times};
use crate::core::message::{Cause, ChangedFile};

/// The older half goes when there are more.
const MAX_VERDICTS: usize = 4096;

/// Their texts have no more bytes together.
const BYTES: usize = 1 << 20;

/// A change that was told.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub file: ChangedFile,
    pub times: Times,
    /// Of whom a process was seen with the file.
    pub holder: Option<Holder>,
    pub cause: Cause,
}

#[derive(Debug, Default)]
pub struct Verdicts {
    /// The last of each file.
    all: HashMap<PathBuf, Verdict>,
    bytes: usize,
    /// How many things were learned when they were looked at.
    learned: u64,
}

impl Verdicts {
    pub fn add(&mut self, verdict: Verdict) {
        // Nobody's change needs no telling, so there is nothing to be told otherwise.
        self.forget(&verdict.file.path);
        if verdict.cause == Cause::Outside {
            return;
        }
        if self.all.len() == MAX_VERDICTS {
            let mut times: Vec<Millis> = self.all.values().map(|known| known.times.last).collect();
            let (_, middle, _) = times.select_nth_unstable(MAX_VERDICTS / 2);
            let middle = *middle;
            self.retain(|known| known.times.last > middle);
        }
        self.bytes += size(&verdict);
        self.all.insert(verdict.file.path.clone(), verdict);
    }

    /// Whether texts of so many bytes would still be kept here.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.bytes + bytes <= BYTES
    }

    fn retain(&mut self, keep: impl Fn(&Verdict) -> bool) {
        self.all.retain(|_, known| keep(known));
        self.bytes = self.all.values().map(size).sum();
    }

    /// The file holds something else by now.
    pub fn forget(&mut self, path: &Path) {
        if let Some(known) = self.all.remove(path) {
            self.bytes -= size(&known);
        }
    }

    /// Judges again what may be judged otherwise by now, and gives what is.
    pub fn revise(&mut self, activities: &Activities) -> Vec<(Cause, ChangedFile)> {
        let Some(since) = activities.learned_since(self.learned) else { return Vec::new() };
        self.learned = activities.learned();
        self.retain(|known| !activities.is_final(&known.file.path, known.times.last));
        let mut revised = Vec::new();
        for known in self.all.values_mut().filter(|known| known.times.last >= since) {
            let judgement = activities.judge(&known.file.path, known.times, known.holder.as_ref());
            if let Judgement::By(cause) = judgement
                && cause != known.cause
                && cause != Cause::Outside
            {
                known.cause = cause.clone();
                revised.push((cause, ChangedFile { is_told: true, ..known.file.clone() }));
            }
        }
        revised
    }
}

fn size(verdict: &Verdict) -> usize {
    verdict.file.before.size() + verdict.file.after.size()
}

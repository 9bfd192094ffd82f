//! What the user has decided lately, as files were before it: that is what taking a decision back goes by. How it is
//! taken back is left to `taking_back`.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::core::changes::file_review::FileReview;
use crate::core::changes::hunk_history::TextPrint;
use crate::core::changes::unknown_change::UnknownChange;
use crate::core::store::checkpoint::Held;
use crate::nvim::buffers::saving::Content;

/// More decisions, and decisions about more files than that, are not remembered.
const MAX: usize = 50;
const MAX_FILES: usize = 2000;

#[derive(Default)]
pub struct Decisions {
    /// The last one is the latest.
    all: Vec<Decision>,
    /// What files on the disk held, byte for byte, until they were put back last.
    replaced: HashMap<PathBuf, Held>,
    /// So many files are being put back on the disk; what they held until then is told when that is done.
    putting_back: usize,
    /// How often the user wanted a decision taken back meanwhile.
    wanted: usize,
}

/// What was decided at once.
#[derive(Default)]
pub struct Decision {
    pub files: Vec<Decided>,
    /// Files without hunks that were kept.
    pub unknown: Vec<(PathBuf, UnknownChange)>,
    /// How many hunks were kept and undone.
    pub hunks: (usize, usize),
}

/// A file before a decision, and what tells its text after that.
pub struct Decided {
    pub path: PathBuf,
    pub was: Box<FileReview>,
    pub after: Option<TextPrint>,
    /// What else its buffer had before, beside the lines.
    pub content: Option<Content>,
}

impl Decisions {
    pub fn add(&mut self, decision: Decision) {
        if decision.files.is_empty() && decision.unknown.is_empty() {
            return;
        }
        self.all.push(decision);
        let count = |all: &[Decision]| all.iter().map(|one| one.files.len()).sum::<usize>();
        while self.all.len() > MAX || self.all.len() > 1 && count(&self.all) > MAX_FILES {
            self.all.remove(0);
        }
        let files = self.all.iter().flat_map(|decision| &decision.files);
        let known: HashSet<&Path> = files.map(|decided| &*decided.path).collect();
        self.replaced.retain(|path, _| known.contains(&**path));
    }

    /// A file was put back on the disk, which held this until then.
    pub fn note_replaced(&mut self, path: &Path, held: Held) {
        self.replaced.insert(path.to_owned(), held);
    }

    /// What a file held before it was put back last.
    pub fn take_replaced(&mut self, path: &Path) -> Option<Held> {
        self.replaced.remove(path)
    }

    pub fn begin_to_put_back(&mut self) {
        self.putting_back += 1;
    }

    pub fn end_to_put_back(&mut self) {
        self.putting_back = self.putting_back.saturating_sub(1);
    }

    /// The user wants the last decision taken back. Says whether that has to wait for files that are being put back.
    pub fn want_back(&mut self) -> bool {
        let waits = self.putting_back > 0;
        self.wanted += usize::from(waits);
        waits
    }

    /// Whether there is such a wish that need not wait any more; it counts as fulfilled.
    pub fn take_wish(&mut self) -> bool {
        let is_due = self.wanted > 0 && self.putting_back == 0;
        self.wanted -= usize::from(is_due);
        is_due
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn take_last(&mut self) -> Option<Decision> {
        self.all.pop()
    }

    /// The decisions about a file that changed nothing in it, the latest first.
    pub fn kept<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a FileReview> {
        let files = self.all.iter().rev().flat_map(|decision| &decision.files);
        let of_file = files.filter(move |decided| decided.path == path);
        of_file.filter(|decided| decided.after == decided.was.text_identity()).map(|decided| &*decided.was)
    }
}

/// A file's text, if there is a file.
pub fn text_of(file: &FileReview) -> Option<String> {
    file.is_there.then(|| file.current())
}

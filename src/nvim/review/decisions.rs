//! What the user has decided lately, as files were before it: that is what taking a decision back goes by. How it is
//! taken back is left to `taking_back`.

use std::path::PathBuf;

use crate::core::changes::file_review::FileReview;
use crate::core::changes::unknown_change::UnknownChange;

/// More decisions, and decisions about more files than that, are not remembered.
const MAX: usize = 50;
const MAX_FILES: usize = 2000;

/// The last one is the latest.
#[derive(Default)]
pub struct Decisions(Vec<Decision>);

/// What was decided at once.
#[derive(Default)]
pub struct Decision {
    pub files: Vec<Decided>,
    /// Files without hunks that were kept.
    pub unknown: Vec<(PathBuf, UnknownChange)>,
    /// How many hunks were kept and undone.
    pub hunks: (usize, usize),
}

/// A file before a decision, and its text after that.
pub struct Decided {
    pub path: PathBuf,
    pub was: Box<FileReview>,
    pub after: Option<String>,
}

impl Decisions {
    pub fn add(&mut self, decision: Decision) {
        if decision.files.is_empty() && decision.unknown.is_empty() {
            return;
        }
        self.0.push(decision);
        let count = |all: &[Decision]| all.iter().map(|one| one.files.len()).sum::<usize>();
        while self.0.len() > MAX || self.0.len() > 1 && count(&self.0) > MAX_FILES {
            self.0.remove(0);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take_last(&mut self) -> Option<Decision> {
        self.0.pop()
    }

    /// The decisions about a file that changed nothing in it, the latest first.
    pub fn kept<'a>(&'a self, path: &'a std::path::Path) -> impl Iterator<Item = &'a FileReview> {
        let files = self.0.iter().rev().flat_map(|decision| &decision.files);
        let of_file = files.filter(move |decided| decided.path == path);
        of_file.filter(|decided| decided.after == text_of(&decided.was)).map(|decided| &*decided.was)
    }
}

/// A file's text, if there is a file.
pub fn text_of(file: &FileReview) -> Option<String> {
    file.is_there.then(|| file.current())
}

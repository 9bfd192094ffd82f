//! What calls said they did to files that no buffer holds, kept until somebody looks at those files.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::core::ids::OriginId;
use crate::core::message::FileDiff;

/// At most this many diffs are kept.
const MAX_DIFFS: usize = 500;

/// Oldest first.
#[derive(Default)]
pub struct Reported(VecDeque<(PathBuf, OriginId, FileDiff)>);

impl Reported {
    pub fn add(&mut self, path: PathBuf, origin: OriginId, diff: FileDiff) {
        self.0.push_back((path, origin, diff));
        if self.0.len() > MAX_DIFFS {
            self.0.pop_front();
        }
    }

    /// The files that something was said of.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        self.0.iter().map(|(path, ..)| path.clone()).collect()
    }

    /// The same of those whose origin fits.
    pub fn files_of(&self, fits: impl Fn(OriginId) -> bool) -> BTreeSet<PathBuf> {
        self.0.iter().filter(|(_, origin, _)| fits(*origin)).map(|(path, ..)| path.clone()).collect()
    }

    /// What was said of a file, which is given out once.
    pub fn take(&mut self, path: &Path) -> Vec<(OriginId, FileDiff)> {
        let (taken, left): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.0).into_iter().partition(|(of, ..)| of == path);
        self.0 = left;
        taken.into_iter().map(|(_, origin, diff)| (origin, diff)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(text: &str) -> FileDiff {
        FileDiff { path: "a".into(), old_text: None, new_text: text.into() }
    }

    fn texts(taken: Vec<(OriginId, FileDiff)>) -> Vec<String> {
        taken.into_iter().map(|(_, diff)| diff.new_text.to_string()).collect()
    }

    #[test]
    fn what_was_said_of_a_file_is_given_out_once_and_in_order() {
        let mut reported = Reported::default();
        for (path, text) in [("/a", "1"), ("/b", "2"), ("/a", "3")] {
            reported.add(path.into(), OriginId(0), diff(text));
        }
        assert_eq!(reported.files(), ["/a", "/b"].map(PathBuf::from).into());
        assert_eq!(reported.files_of(|origin| origin == OriginId(1)), [].into());
        assert_eq!(texts(reported.take(Path::new("/a"))), ["1", "3"]);
        assert_eq!(texts(reported.take(Path::new("/a"))), [""; 0]);
        assert_eq!(texts(reported.take(Path::new("/b"))), ["2"]);
    }

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let mut reported = Reported::default();
        for at in 0..=MAX_DIFFS {
            reported.add("/a".into(), OriginId(0), diff(&at.to_string()));
        }
        let all = texts(reported.take(Path::new("/a")));
        assert_eq!((all.len(), all[0].as_str()), (MAX_DIFFS, "1"));
    }
}

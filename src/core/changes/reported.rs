//! What calls said they did to files that no buffer holds, kept until somebody looks at those files.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::core::ids::OriginId;
use crate::core::message::FileDiff;

/// At most this many diffs are kept, and of their texts so many bytes: they stay when their chat is closed.
const MAX_DIFFS: usize = 500;
const MAX_BYTES: usize = 8 << 20;

/// Oldest first.
#[derive(Default)]
pub struct Reported {
    diffs: VecDeque<(PathBuf, OriginId, FileDiff)>,
    /// Of all their texts.
    bytes: usize,
}

impl Reported {
    pub fn add(&mut self, path: PathBuf, origin: OriginId, diff: FileDiff) {
        self.bytes += bytes_of(&diff);
        self.diffs.push_back((path, origin, diff));
        while self.diffs.len() > MAX_DIFFS || self.bytes > MAX_BYTES {
            let Some((_, _, oldest)) = self.diffs.pop_front() else { break };
            self.bytes -= bytes_of(&oldest);
        }
    }

    /// The files that something was said of.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        self.diffs.iter().map(|(path, ..)| path.clone()).collect()
    }

    /// The same of those whose origin fits.
    pub fn files_of(&self, fits: impl Fn(OriginId) -> bool) -> BTreeSet<PathBuf> {
        self.diffs.iter().filter(|(_, origin, _)| fits(*origin)).map(|(path, ..)| path.clone()).collect()
    }

    /// What was said of a file, which is given out once.
    pub fn take(&mut self, path: &Path) -> Vec<(OriginId, FileDiff)> {
        let (taken, left): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.diffs).into_iter().partition(|(of, ..)| of == path);
        self.diffs = left;
        self.bytes -= taken.iter().map(|(.., diff)| bytes_of(diff)).sum::<usize>();
        taken.into_iter().map(|(_, origin, diff)| (origin, diff)).collect()
    }
}

fn bytes_of(diff: &FileDiff) -> usize {
    diff.old_text.as_ref().map_or(0, |text| text.len()) + diff.new_text.len()
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

    #[test]
    fn the_oldest_go_when_their_texts_are_too_large_and_one_that_is_too_large_by_itself_is_not_kept() {
        let mut reported = Reported::default();
        let third = "x".repeat(MAX_BYTES / 3);
        for path in ["/a", "/b", "/c", "/d"] {
            reported.add(path.into(), OriginId(0), diff(&third));
        }
        assert_eq!(reported.files(), ["/b", "/c", "/d"].map(PathBuf::from).into());
        // What was given out makes room.
        assert_eq!(reported.take(Path::new("/c")).len(), 1);
        reported.add("/e".into(), OriginId(0), diff(&third));
        assert_eq!(reported.files(), ["/b", "/d", "/e"].map(PathBuf::from).into());
        reported.add("/f".into(), OriginId(0), diff(&"x".repeat(MAX_BYTES + 1)));
        assert_eq!((reported.files().len(), reported.bytes), (0, 0));
    }
}

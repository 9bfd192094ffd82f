//! Which files were looked at in a turn before a call changes them. Agents make thousands of calls that only read: what is
//! known of none of them before can't be recorded, so the record is not told that they are over.

use std::path::{Path, PathBuf};

use super::checkpoint::TurnKey;
use crate::core::maps::{FastMap, FastSet};

#[derive(Debug, Default)]
pub struct LookedFiles(FastMap<TurnKey, FastSet<PathBuf>>);

impl LookedFiles {
    /// The record is told to look at a file.
    pub fn add(&mut self, turn: TurnKey, path: PathBuf) {
        self.0.entry(turn).or_default().insert(path);
    }

    /// A call that is about the file is over. Says whether it was looked at before, which counts for the first such call.
    pub fn is_over(&mut self, turn: TurnKey, path: &Path) -> bool {
        self.0.get_mut(&turn).is_some_and(|paths| paths.remove(path))
    }

    /// The turn is over.
    pub fn forget(&mut self, turn: TurnKey) {
        self.0.remove(&turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_looked_at_counts_once_in_its_turn() {
        let turn = |number| TurnKey { at: 1, number };
        let mut looked = LookedFiles::default();
        assert!(!looked.is_over(turn(1), Path::new("/a")));
        looked.add(turn(1), "/a".into());
        looked.add(turn(1), "/a".into());
        looked.add(turn(2), "/b".into());
        assert!(!looked.is_over(turn(2), Path::new("/a")), "it was another turn");
        assert!(looked.is_over(turn(1), Path::new("/a")));
        assert!(!looked.is_over(turn(1), Path::new("/a")));
        looked.forget(turn(2));
        assert!(!looked.is_over(turn(2), Path::new("/b")));
    }
}

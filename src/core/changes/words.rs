//! The changed words in the lines of a hunk. Which lines belong together is left to `diff`.

use std::collections::HashMap;
use std::ops::Range;

use crate::core::changes::diff::{self, Hunk};

/// The changed words in a hunk's lines, by their numbers in it.
#[derive(Default)]
pub struct Words {
    removed: HashMap<usize, Vec<Range<usize>>>,
    added: HashMap<usize, Vec<Range<usize>>>,
}

impl Words {
    pub fn of(hunk: &Hunk) -> Self {
        Self::where_shown(hunk, |_, _| true)
    }

    /// Of the pairs of a removed and an added line that are shown.
    pub fn where_shown(hunk: &Hunk, is_shown: impl Fn(usize, usize) -> bool) -> Self {
        let mut words = Self::default();
        for (old, new) in diff::pairs(hunk).into_iter().filter(|(old, new)| is_shown(*old, *new)) {
            let (removed, added) = diff::words(&hunk.removed[old], &hunk.added[new]);
            words.removed.insert(old, removed);
            words.added.insert(new, added);
        }
        words
    }

    pub fn removed(&self, line: usize) -> &[Range<usize>] {
        self.removed.get(&line).map_or(&[], Vec::as_slice)
    }

    pub fn added(&self, line: usize) -> &[Range<usize>] {
        self.added.get(&line).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_belong_together_have_their_changed_words_marked() {
        let line = |line: &str| vec![line.to_owned()];
        let hunk = Hunk { row: 0, removed: line("let a = 1;"), added: line("let a = 22;") };
        let words = Words::of(&hunk);
        let marked = |ranges: &[Range<usize>], line: &str| -> Vec<String> {
            ranges.iter().map(|range| line[range.clone()].to_owned()).collect()
        };
        assert_eq!(marked(words.removed(0), "let a = 1;"), ["1"]);
        assert_eq!(marked(words.added(0), "let a = 22;"), ["22"]);
        assert!(words.added(1).is_empty());
    }

    #[test]
    fn a_line_that_is_only_added_has_no_changed_words() {
        let hunk = Hunk { row: 0, removed: Vec::new(), added: vec!["new".to_owned()] };
        assert!(Words::of(&hunk).added(0).is_empty());
    }
}

//! The hunks that a review had at earlier texts of its file. When Neovim's undo, redo or `:earlier` brings such a
//! text back, the hunks that stood in it are back, too, whatever took them away. Which changes are remembered is left
//! to `file_review`.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hash};
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::core::changes::authors::Authors;
use crate::core::ids::OriginId;

/// Earlier texts beyond these numbers are forgotten, the oldest first.
const MAX_TEXTS: usize = 200;
const MAX_LINES: usize = 100_000;

/// A text, without its lines: told by all pairs of neighbouring lines, which can be brought up to date by what a
/// splice changes alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPrint {
    pairs: u64,
    lines: usize,
}

/// A hunk in an earlier text: its rows there, and what they replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierHunk {
    pub rows: Range<usize>,
    pub base: Vec<String>,
    pub mixed: bool,
    /// Who wrote its lines.
    pub authors: Authors,
    /// Of its lines on both sides.
    pub print: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierText {
    print: TextPrint,
    pub hunks: Vec<EarlierHunk>,
    /// What was kept since, of hunks that were not the same in this text.
    #[serde(default)]
    pub kept: Vec<Arc<KeptLines>>,
    /// An agent had made the file.
    #[serde(default)]
    pub is_new: bool,
}

/// Lines that the user has decided to keep, and the row at which they stood then.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLines {
    pub row: usize,
    pub lines: Vec<String>,
}

/// The earlier texts of a file, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkHistory {
    texts: VecDeque<EarlierText>,
}

impl TextPrint {
    pub fn of<T: AsRef<str>>(lines: &[T]) -> Self {
        let mut print = Self::default();
        print.add(lines, 0..lines.len());
        print
    }

    /// What it becomes when rows are replaced by other lines.
    pub fn spliced<T: AsRef<str>>(self, text: &[T], rows: &Range<usize>, lines: &[String]) -> Self {
        let line = |row: usize| text.get(row).map(AsRef::as_ref);
        let mut around: Vec<Option<&str>> = vec![rows.start.checked_sub(1).and_then(line)];
        around.extend(lines.iter().map(|line| Some(line.as_str())));
        around.push(line(rows.end));
        let new = around.windows(2).map(|pair| print_of(&(pair[0], pair[1]))).fold(0, u64::wrapping_add);
        let pairs = self.pairs.wrapping_sub(pairs(text, rows.clone())).wrapping_add(new);
        Self { pairs, lines: self.lines - rows.len() + lines.len() }
    }

    /// Rows of a text are about to be replaced.
    pub fn remove<T: AsRef<str>>(&mut self, lines: &[T], rows: Range<usize>) {
        self.lines -= rows.len();
        self.pairs = self.pairs.wrapping_sub(pairs(lines, rows));
    }

    /// Rows of a text have come in place of others.
    pub fn add<T: AsRef<str>>(&mut self, lines: &[T], rows: Range<usize>) {
        self.lines += rows.len();
        self.pairs = self.pairs.wrapping_add(pairs(lines, rows));
    }
}

/// Of rows and of what is next to them. Each pair counts once, so that their order does not matter.
fn pairs<T: AsRef<str>>(lines: &[T], rows: Range<usize>) -> u64 {
    let line = |row: Option<usize>| row.and_then(|row| lines.get(row)).map(AsRef::as_ref);
    (rows.start..=rows.end)
        .map(|row| print_of(&(line(row.checked_sub(1)), line(Some(row)))))
        .fold(0, u64::wrapping_add)
}

/// Tells values from each other; two that are the same have the same one.
pub fn print_of(value: &impl Hash) -> u64 {
    foldhash::quality::FixedState::default().hash_one(value)
}

impl EarlierText {
    /// In lines that it holds.
    fn size(&self) -> usize {
        let hunks = self.hunks.iter().map(|hunk| hunk.base.len() + hunk.rows.len() + 1);
        let kept = self.kept.iter().map(|kept| kept.lines.len());
        hunks.chain(kept).sum()
    }
}

impl HunkHistory {
    /// A text is about to change that had these hunks.
    pub fn remember(&mut self, print: TextPrint, hunks: Vec<EarlierHunk>, is_new: bool) {
        self.texts.retain(|text| text.print != print);
        let text = EarlierText { print, hunks, kept: Vec::new(), is_new };
        if text.size() > MAX_LINES {
            return;
        }
        self.texts.push_back(text);
        let mut lines = 0;
        let mut fits = |text: &EarlierText| {
            lines += text.size();
            lines <= MAX_LINES
        };
        let kept = self.texts.iter().rev().take(MAX_TEXTS).take_while(|text| fits(text)).count();
        self.texts.drain(..self.texts.len() - kept);
    }

    /// What a text had that is back.
    pub fn find(&self, print: TextPrint) -> Option<&EarlierText> {
        self.texts.iter().rev().find(|text| text.print == print)
    }

    /// The user has decided to keep a hunk, or lines of it: they do not come back as something to decide. In another
    /// text they may stand at other rows, and be a part of a larger hunk. `print` is that of a whole hunk.
    pub fn keep(&mut self, print: Option<u64>, kept: KeptLines) {
        let kept = Arc::new(kept);
        for text in &mut self.texts {
            let same = text.hunks.iter().enumerate().filter(|(_, hunk)| print == Some(hunk.print));
            if let Some((at, _)) = same.min_by_key(|(_, hunk)| hunk.rows.start.abs_diff(kept.row)) {
                text.hunks.remove(at);
            } else if !kept.lines.is_empty()
                && text.hunks.iter().any(|hunk| hunk.rows.len() >= kept.lines.len())
            {
                text.kept.push(kept.clone());
            }
        }
    }

    /// What was behind lines is known to be something else.
    pub fn attribute(&mut self, from: OriginId, to: OriginId) {
        for hunk in self.texts.iter_mut().flat_map(|text| &mut text.hunks) {
            hunk.authors.attribute(0..hunk.rows.len(), from, to);
        }
    }

    /// What is known of a text is wrong.
    pub fn forget(&mut self, print: TextPrint) {
        self.texts.retain(|text| text.print != print);
    }

    pub fn clear(&mut self) {
        self.texts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn hunk(row: usize, base: usize) -> EarlierHunk {
        EarlierHunk {
            rows: row..row + 1,
            base: vec!["x".to_owned(); base],
            mixed: false,
            authors: Authors::nobody(1),
            print: base as u64,
        }
    }

    #[test]
    fn a_print_is_the_same_however_its_text_came_about() {
        let mut text = lines("a b c d");
        let mut print = TextPrint::of(&text);
        print.remove(&text, 1..3);
        text.splice(1..3, lines("x b c c"));
        print.add(&text, 1..5);
        assert_eq!(print, TextPrint::of(&lines("a x b c c d")));
        print.remove(&text, 0..6);
        print.add(&lines("c"), 0..1);
        assert_eq!(print, TextPrint::of(&lines("c")));
        assert_ne!(TextPrint::of(&lines("a b")), TextPrint::of(&lines("b a")));
        assert_ne!(TextPrint::of(&lines("a b")), TextPrint::of(&lines("a b b")));
    }

    #[test]
    fn a_hunk_that_is_kept_is_kept_at_its_nearest_place_in_every_earlier_text() {
        let mut history = HunkHistory::default();
        let print = TextPrint::of(&lines("a b"));
        history.remember(print, vec![hunk(0, 2), hunk(5, 1), hunk(9, 2)], false);
        history.keep(Some(2), KeptLines { row: 7, lines: Vec::new() });
        let found = history.find(print).expect("the text");
        assert_eq!((&found.hunks[..], &found.kept[..]), (&[hunk(0, 2), hunk(5, 1)][..], &[][..]));
    }

    #[test]
    fn old_texts_are_forgotten_and_so_is_one_with_too_many_lines() {
        let mut history = HunkHistory::default();
        let text = |number: usize| TextPrint { pairs: number as u64, lines: 1 };
        (0..300).for_each(|number| history.remember(text(number), vec![hunk(0, 1)], false));
        assert!(history.find(text(99)).is_none() && history.find(text(100)).is_some());
        history.remember(text(1), vec![hunk(0, MAX_LINES - 20)], false);
        assert!(history.find(text(297)).is_some() && history.find(text(100)).is_none());
        history.remember(text(2), vec![hunk(0, MAX_LINES)], false);
        assert!(history.find(text(2)).is_none() && history.find(text(1)).is_some());
    }
}

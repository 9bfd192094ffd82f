//! A list of files and hunks as the lines of a page: what each line is about, how it folds, what colours it. Which
//! hunks, and what is said of them, is left to `review_page` and `restore_page`.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::core::changes::diff::Hunk;
use crate::core::changes::review_edits::{ADDED, Part, REMOVED};
use crate::core::changes::words::Words;

#[derive(Clone, Debug, PartialEq)]
pub enum About {
    Nothing,
    File(PathBuf),
    Hunk {
        path: PathBuf,
        hunk: Hunk,
        /// The row of the file that the line stands for.
        row: usize,
    },
    /// A comment of the user's, by when it was begun.
    Comment(u64),
}

/// What selected lines of a page mean.
#[derive(Clone, Debug, PartialEq)]
pub enum Selected {
    File(PathBuf),
    Hunk(PathBuf, Hunk),
    /// Some of the lines that a hunk removed, and of those that it added.
    Part(PathBuf, Hunk, [Range<usize>; 2]),
}

#[derive(Default)]
pub struct Page {
    pub lines: Vec<String>,
    /// What each line is about.
    pub rows: Vec<About>,
    /// The same lines as an edited page is read by.
    pub parts: Vec<Part>,
    /// The hunks, by their numbers in `parts`.
    pub hunks: Vec<(PathBuf, Hunk)>,
    pub folds: Vec<&'static str>,
    /// What colours whole lines.
    pub marks: Vec<(usize, &'static str)>,
    pub words: Vec<(usize, Vec<Range<usize>>, &'static str)>,
    /// Lines of code, by the row they begin at.
    pub code: Vec<(usize, PathBuf, Vec<String>)>,
}

impl Page {
    pub fn add(&mut self, text: String, about: About, fold: &'static str, group: &'static str) {
        // A file's name may have line breaks, a line of a buffer may not.
        let text = if text.contains('\n') { text.replace('\n', "\u{2424}") } else { text };
        self.parts.push(Part::Fixed(text.clone()));
        self.line(text, about, fold, group);
    }

    fn line(&mut self, text: String, about: About, fold: &'static str, group: &'static str) {
        if !group.is_empty() {
            self.marks.push((self.lines.len(), group));
        }
        self.lines.push(text);
        self.rows.push(about);
        self.folds.push(fold);
    }

    /// What the lines at these rows are about, from the last one up. A hunk of which not all lines are selected is meant
    /// in part, unless its head is selected, too.
    pub fn selected(&self, rows: &Range<usize>) -> Vec<Selected> {
        let mut all: Vec<Selected> = Vec::new();
        let mut row = 0;
        while row < self.rows.len() {
            let about = &self.rows[row];
            let count = self.rows[row..].iter().take_while(|other| is_same(about, other)).count().max(1);
            let (start, end) = (rows.start.max(row), rows.end.min(row + count));
            match about {
                _ if start >= end => {}
                About::File(path) => all.push(Selected::File(path.clone())),
                About::Hunk { path, hunk, .. } => {
                    let is_whole = start == row || (start, end) == (row + 1, row + count);
                    all.push(match is_whole {
                        true => Selected::Hunk(path.clone(), hunk.clone()),
                        false => Selected::Part(path.clone(), hunk.clone(), self.part(row + 1, start..end)),
                    });
                }
                About::Comment(_) | About::Nothing => {}
            }
            row += count;
        }
        // What is in a file that is meant as a whole is meant with it.
        let files: Vec<PathBuf> = all
            .iter()
            .filter_map(|one| match one {
                Selected::File(path) => Some(path.clone()),
                _ => None,
            })
            .collect();
        all.retain(|one| match one {
            Selected::File(_) => true,
            Selected::Hunk(path, _) | Selected::Part(path, ..) => !files.contains(path),
        });
        all.reverse();
        all
    }

    /// Which of the removed and the added lines, which begin at `first`, are at these rows.
    fn part(&self, first: usize, rows: Range<usize>) -> [Range<usize>; 2] {
        let count = self.lines[first..].iter().take_while(|line| line.starts_with(REMOVED)).count();
        let within = |start: usize, end: usize| {
            let (from, to) = (rows.start.clamp(start, end), rows.end.clamp(start, end));
            from - start..to - start
        };
        let added = first + count;
        let removed = within(first, added);
        match removed.is_empty() {
            true => {
                let part = within(added, rows.end.max(added));
                // Where nothing that was removed is meant, the lines go where they stand.
                let at = part.start.min(count);
                [at..at, part]
            }
            false => [removed, within(added, rows.end.max(added))],
        }
    }

    /// A hunk with its lines, below what is said of it. `was` and `is` say on which sides there is a file:
    /// one that is not there has no lines, not even an empty one.
    pub fn hunk(&mut self, path: &Path, whole: &Hunk, head: String, (was, is): (bool, bool)) {
        let hunk = &visible(whole, (was, is));
        let about = |row: usize| About::Hunk { path: path.to_owned(), hunk: whole.clone(), row };
        self.add(head, about(hunk.row), ">2", "AcpMeta");
        let words = Words::of(hunk);
        let side = |page: &mut Self, lines: &[String], words: &dyn Fn(usize) -> Vec<Range<usize>>, group| {
            page.code.push((page.lines.len(), path.to_owned(), lines.to_vec()));
            page.words.extend((0..lines.len()).map(|at| (page.lines.len() + at, words(at), group)));
        };
        side(self, &hunk.removed, &|at| words.removed(at).to_vec(), "AcpDiffDeleteWord");
        for line in &hunk.removed {
            self.add(format!("{REMOVED}{}", shown(line)), about(hunk.row), "2", "AcpDiffDelete");
        }
        side(self, &hunk.added, &|at| words.added(at).to_vec(), "AcpDiffAddWord");
        let added: Vec<String> = hunk.added.iter().map(|line| shown(line)).collect();
        for (at, line) in added.iter().enumerate() {
            self.line(format!("{ADDED}{line}"), about(hunk.row + at), "2", "AcpDiffAdd");
        }
        self.parts.push(Part::Added(self.hunks.len(), added));
        self.hunks.push((path.to_owned(), whole.clone()));
    }
}

fn is_same(one: &About, other: &About) -> bool {
    match (one, other) {
        (About::Hunk { path, hunk, .. }, About::Hunk { path: of, hunk: that, .. }) => {
            path == of && hunk == that
        }
        _ => false,
    }
}

/// A hunk without the empty line that stands for a file that is not there.
pub fn visible(hunk: &Hunk, (was, is): (bool, bool)) -> Hunk {
    let lines = |lines: &[String], there: bool| match lines {
        [line] if line.is_empty() && !there => Vec::new(),
        lines => lines.to_vec(),
    };
    Hunk { row: hunk.row, removed: lines(&hunk.removed, was), added: lines(&hunk.added, is) }
}

/// A buffer's line holds no line break; what else is no text is left to Neovim to show, also a carriage return: it may
/// be all that differs.
pub fn shown(line: &str) -> String {
    line.replace('\n', " ")
}

pub fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(removed: &[&str], added: &[&str]) -> Hunk {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Hunk { row: 4, removed: lines(removed), added: lines(added) }
    }

    #[test]
    fn each_line_knows_the_row_that_it_stands_for() {
        let mut page = Page::default();
        page.hunk(Path::new("/a"), &hunk(&["x"], &["1", "2"]), "head".into(), (true, true));
        assert_eq!(page.lines, ["head", "  - x", "  + 1", "  + 2"]);
        let rows: Vec<usize> = page
            .rows
            .iter()
            .map(|about| match about {
                About::Hunk { row, .. } => *row,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(rows, [4, 4, 4, 5]);
        assert_eq!(page.folds, [">2", "2", "2", "2"]);
    }

    #[test]
    fn selected_lines_mean_a_hunk_or_some_lines_of_it() {
        let mut page = Page::default();
        page.add("a".into(), About::File("/a".into()), ">1", "");
        let whole = hunk(&["x", "y"], &["1", "2"]);
        page.hunk(Path::new("/a"), &whole, "head".into(), (true, true));
        let path = || PathBuf::from("/a");
        assert_eq!(page.selected(&(0..3)), [Selected::File(path())]);
        for rows in [1..2, 2..6, 1..4] {
            assert_eq!(page.selected(&rows), [Selected::Hunk(path(), whole.clone())], "{rows:?}");
        }
        let part = |rows: Range<usize>| match page.selected(&rows).as_slice() {
            [Selected::Part(_, _, part)] => part.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(part(2..3), [0..1, 0..0]);
        assert_eq!(part(3..5), [1..2, 0..1]);
        assert_eq!(part(5..6), [1..1, 1..2]);
    }

    #[test]
    fn a_file_that_is_not_there_has_no_lines_on_that_side() {
        let new = hunk(&[""], &["a"]);
        assert_eq!(visible(&new, (false, true)).removed, Vec::<String>::new());
        assert_eq!(visible(&new, (true, true)), new);
        assert_eq!(visible(&hunk(&["a"], &[""]), (true, false)).added, Vec::<String>::new());
        // More than the one empty line is no sign of a file that is not there.
        assert_eq!(visible(&hunk(&["", ""], &[]), (false, true)).removed.len(), 2);
    }

    #[test]
    fn a_line_break_in_a_line_does_not_break_the_page() {
        let mut page = Page::default();
        page.hunk(Path::new("/a"), &hunk(&[], &["a\nb\r"]), "head".into(), (true, true));
        assert_eq!(page.lines, ["head", "  + a b\r"]);
    }

    #[test]
    fn what_is_about_nothing_is_not_coloured_without_a_group() {
        let mut page = Page::default();
        page.add("title".into(), About::Nothing, "0", "AcpWinbar");
        page.add(String::new(), About::Nothing, "0", "");
        assert_eq!(page.marks, [(0, "AcpWinbar")]);
        assert_eq!((plural(1, "hunk"), plural(0, "hunk")), ("hunk".into(), "hunks".into()));
    }
}

//! A list of files and hunks as the lines of a page: what each line is about, how it folds, what colours it. Which
//! hunks, and what is said of them, is left to `review_page` and `restore_page`.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::core::changes::diff::Hunk;
use crate::core::changes::hunk_history::print_of;
use crate::core::changes::review_edits::{ADDED, Part, REMOVED};
use crate::core::changes::text_edits::same_ends;
use crate::core::changes::words::Words;

#[derive(Clone, Debug, PartialEq)]
pub enum About {
    Nothing,
    File(PathBuf),
    Hunk {
        path: PathBuf,
        /// Shared: each of its lines is about it.
        hunk: Arc<Hunk>,
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
    Hunk(PathBuf, Arc<Hunk>),
    /// Some of the lines that a hunk removed, and of those that it added.
    Part(PathBuf, Arc<Hunk>, [Range<usize>; 2]),
}

/// Of the lines that a hunk removed, and of those that it added, no more are shown; where the page is long already,
/// fewer. Who wants to see the rest goes to the file.
pub const MAX_HUNK_LINES: usize = 1000;
const MAX_PAGE_LINES: usize = 4000;
const MIN_HUNK_LINES: usize = 10;

/// A hunk on a page.
pub struct Listed {
    pub path: PathBuf,
    pub hunk: Arc<Hunk>,
    /// The line of the page that says where it is; its lines follow.
    head: usize,
    removed: Side,
    added: Side,
}

/// The lines of one side: how many there are, and how many of them are shown. The rest has a line of its own.
#[derive(Clone, Copy)]
struct Side {
    first: usize,
    shown: usize,
    count: usize,
}

impl Side {
    fn end(self) -> usize {
        self.first + self.shown + usize::from(self.shown < self.count)
    }

    /// Which of its lines are at these rows of the page.
    fn at(self, rows: &Range<usize>) -> Range<usize> {
        let line = |row: usize| match row.saturating_sub(self.first) {
            line if line > self.shown => self.count,
            line => line,
        };
        let start = if rows.start >= self.end() { self.count } else { line(rows.start) };
        start..line(rows.end).max(start)
    }
}

impl Listed {
    /// The row of the page that says where it is.
    pub fn head(&self) -> usize {
        self.head
    }

    /// The added lines that are not shown.
    pub fn rest(&self) -> &[String] {
        self.hunk.added.get(self.added.shown..).unwrap_or_default()
    }

    /// Which of the removed and of the added lines are at these rows of the page.
    fn part(&self, rows: &Range<usize>) -> [Range<usize>; 2] {
        let (removed, added) = (self.removed.at(rows), self.added.at(rows));
        match removed.is_empty() {
            true => {
                // Where nothing that was removed is meant, the lines go where they stand.
                let at = added.start.min(self.removed.count);
                [at..at, added]
            }
            false => [removed, added],
        }
    }
}

#[derive(Default)]
pub struct Page {
    pub lines: Vec<String>,
    /// What each line is about.
    pub rows: Vec<About>,
    /// The same lines as an edited page is read by.
    pub parts: Vec<Part>,
    /// The hunks, by their numbers in `parts`.
    pub hunks: Vec<Listed>,
    pub folds: Vec<&'static str>,
    /// What colours whole lines.
    pub marks: Vec<(usize, &'static str)>,
    /// Lines of code, from the top down.
    pub code: Vec<Code>,
    /// See [`Page::keys`].
    keys: OnceCell<Vec<u64>>,
}

/// So many lines of code are coloured in one go: what comes next of a long hunk is another piece.
const PIECE: usize = 100;

/// Lines of code on a page that are coloured in one go.
pub struct Code {
    pub path: PathBuf,
    lines: CodeLines,
}

enum CodeLines {
    /// Lines around hunks, from a row of the page on.
    Around(usize, Vec<String>),
    /// Some of the lines of a hunk.
    Hunk { hunk: Arc<Hunk>, removed: Run, added: Run },
}

/// Some lines of one side of a hunk, from a row of the page on.
struct Run {
    row: usize,
    lines: Range<usize>,
}

/// Lines of code that follow each other, with the words in them that were changed.
pub struct Coded<'a> {
    pub row: usize,
    pub lines: &'a [String],
    /// Of each of these lines; none where nothing is marked.
    pub words: Vec<Vec<Range<usize>>>,
    pub group: &'static str,
}

impl Code {
    /// The rows of the page between its first and its last line.
    pub fn rows(&self) -> Range<usize> {
        match &self.lines {
            CodeLines::Around(row, lines) => *row..row + lines.len(),
            CodeLines::Hunk { removed, added, .. } => {
                let [removed, added] = [removed, added].map(|run| run.row..run.row + run.lines.len());
                match (removed.is_empty(), added.is_empty()) {
                    (true, _) => added,
                    (_, true) => removed,
                    _ => removed.start..added.end,
                }
            }
        }
    }

    /// Which words were changed is worked out here, since it takes longer than all the rest of a page.
    pub fn coded(&self) -> Vec<Coded<'_>> {
        match &self.lines {
            CodeLines::Around(row, lines) => vec![Coded { row: *row, lines, words: Vec::new(), group: "" }],
            CodeLines::Hunk { hunk, removed, added } => {
                let (gone, come) = (&removed.lines, &added.lines);
                let words = Words::where_shown(hunk, |old, new| gone.contains(&old) || come.contains(&new));
                vec![
                    Coded {
                        row: removed.row,
                        lines: &hunk.removed[gone.clone()],
                        words: gone.clone().map(|at| words.removed(at).to_vec()).collect(),
                        group: "AcpDiffDeleteWord",
                    },
                    Coded {
                        row: added.row,
                        lines: &hunk.added[come.clone()],
                        words: come.clone().map(|at| words.added(at).to_vec()).collect(),
                        group: "AcpDiffAddWord",
                    },
                ]
            }
        }
    }
}

impl Page {
    /// These rows with the rest of the hunks that they are of.
    pub fn whole_hunks(&self, rows: &Range<usize>) -> Range<usize> {
        let begins = |row: usize| self.folds.get(row).is_none_or(|fold| !fold.starts_with(['2', '1']));
        let (mut start, mut end) = (rows.start.min(self.lines.len()), rows.end.min(self.lines.len()));
        while start > 0 && !begins(start) {
            start -= 1;
        }
        while !begins(end) {
            end += 1;
        }
        start..end
    }

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

    /// What tells a line from those of another page: what it is about where it begins a fold, else what it says. The
    /// title and the hints below it are always the same lines.
    fn keys(&self) -> &[u64] {
        let key = |row: usize| match &self.rows[row] {
            About::Nothing if row < 2 => print_of(&(0, row)),
            About::File(path) if self.folds[row] == ">1" => print_of(&(1, path)),
            About::Hunk { path, hunk, .. } if self.folds[row] == ">2" => {
                let sides =
                    [&hunk.removed, &hunk.added].map(|lines| &lines[..lines.len().min(MAX_HUNK_LINES)]);
                print_of(&(2, path, sides, hunk.removed.len(), hunk.added.len()))
            }
            _ => print_of(&(3, &self.lines[row])),
        };
        self.keys.get_or_init(|| (0..self.lines.len()).map(key).collect())
    }

    /// What stands for the lines of a fold that is closed: the row where it begins, the text, its colour. One of a single
    /// line is never closed.
    pub fn closed(&self) -> Vec<(usize, String, &'static str)> {
        let goes_on = |level: &str, next: &&str| match next.strip_prefix('>') {
            Some(inner) => inner > level,
            None => *next >= level,
        };
        let head = |row: &usize| {
            let (level, next) = (self.folds[*row].strip_prefix('>'), self.folds.get(row + 1));
            level.is_some_and(|level| next.is_some_and(|next| goes_on(level, next)))
        };
        let text = |row: usize| {
            let line = &self.lines[row];
            let (text, group) = match self.hunks.binary_search_by_key(&row, |listed| listed.head) {
                Ok(at) => {
                    let Listed { removed, added, .. } = &self.hunks[at];
                    (format!("{line} \u{b7} +{} -{}", added.count, removed.count), "AcpMeta")
                }
                Err(_) => (line.clone(), if self.folds[row] == ">1" { "AcpTool" } else { "AcpMeta" }),
            };
            (row, text, group)
        };
        (0..self.folds.len()).filter(head).map(text).collect()
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
                About::File(path) => {
                    // More than one line may be about it.
                    let file = Selected::File(path.clone());
                    if !all.contains(&file) {
                        all.push(file);
                    }
                }
                About::Hunk { path, hunk, .. } => {
                    let is_whole = start == row || (start, end) == (row + 1, row + count);
                    all.push(match is_whole {
                        true => Selected::Hunk(path.clone(), hunk.clone()),
                        false => match self.hunks.iter().find(|listed| listed.head == row) {
                            Some(listed) => {
                                Selected::Part(path.clone(), hunk.clone(), listed.part(&(start..end)))
                            }
                            None => Selected::Hunk(path.clone(), hunk.clone()),
                        },
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

    /// A hunk with its lines, below what is said of it. `was` and `is` say on which sides there is a file:
    /// one that is not there has no lines, not even an empty one.
    pub fn hunk(&mut self, path: &Path, hunk: &Arc<Hunk>, head: String, there: (bool, bool)) {
        let about = |row: usize| About::Hunk { path: path.to_owned(), hunk: hunk.clone(), row };
        let (removed, added) = sides(hunk, there);
        let head_at = self.lines.len();
        self.add(head, about(hunk.row), ">2", "AcpMeta");
        let gone = self.side(removed.len());
        for line in &removed[..gone.shown] {
            self.add(format!("{REMOVED}{}", shown(line)), about(hunk.row), "2", "AcpDiffDelete");
        }
        self.rest(gone, about(hunk.row));
        let come = self.side(added.len());
        let texts: Vec<String> = added[..come.shown].iter().map(|line| shown(line)).collect();
        for (at, line) in texts.iter().enumerate() {
            self.line(format!("{ADDED}{line}"), about(hunk.row + at), "2", "AcpDiffAdd");
        }
        self.parts.push(Part::Added(self.hunks.len(), texts));
        self.rest(come, about(hunk.row + come.shown));
        self.code_of(path, hunk, [(gone.first, gone.shown), (come.first, come.shown)]);
        let (path, hunk) = (path.to_owned(), hunk.clone());
        self.hunks.push(Listed { path, hunk, head: head_at, removed: gone, added: come });
    }

    /// Lines around hunks, which follow.
    pub fn code_around(&mut self, path: &Path, lines: Vec<String>) {
        let lines = CodeLines::Around(self.lines.len(), lines);
        self.code.push(Code { path: path.to_owned(), lines });
    }

    /// The lines of a hunk that are shown: of each side the row at which they begin, and how many there are.
    pub fn code_of(&mut self, path: &Path, hunk: &Arc<Hunk>, [removed, added]: [(usize, usize); 2]) {
        for start in (0..removed.1.max(added.1)).step_by(PIECE) {
            let run = |(row, count): (usize, usize)| {
                let lines = start.min(count)..(start + PIECE).min(count);
                Run { row: row + lines.start, lines }
            };
            let lines = CodeLines::Hunk { hunk: hunk.clone(), removed: run(removed), added: run(added) };
            self.code.push(Code { path: path.to_owned(), lines });
        }
    }

    /// How many lines of a side there is room for; they are to follow.
    fn side(&self, count: usize) -> Side {
        let first = self.lines.len();
        let room = MAX_PAGE_LINES.saturating_sub(first).clamp(MIN_HUNK_LINES, MAX_HUNK_LINES);
        // A line that says how many more there are takes as much room as one of them.
        let shown = if count <= room + 1 { count } else { room };
        Side { first, shown, count }
    }

    fn rest(&mut self, side: Side, about: About) {
        let more = side.count - side.shown;
        if more > 0 {
            self.add(format!("    \u{2026} {more} more {}", plural(more, "line")), about, "2", "AcpMeta");
        }
    }
}

/// What of a page differs in more lines than this, one side times the other, is not compared.
const MOST_COMPARED: usize = 1 << 22;

/// Lines of a page that take the place of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The rows that they replace, when all steps before are done.
    pub rows: Range<usize>,
    /// Which lines of the new page.
    pub lines: Range<usize>,
    /// A line about the same: its text alone is another one, so that the fold that begins there stays as it is.
    pub is_text: bool,
}

/// What makes one page of another, from the top down. What is on both is not touched: its folds stay open or closed.
pub fn steps(old: &Page, new: &Page) -> Vec<Step> {
    let (before, after) = (old.keys(), new.keys());
    let (first, last) = same_ends(before, after, |one, other| one == other);
    let (rows, lines) = (first..before.len() - last, first..after.len() - last);
    let mut all = Vec::new();
    let texts = |rows: Range<usize>, lines: Range<usize>| {
        let changed = rows.zip(lines).filter(|(old_row, line)| old.lines[*old_row] != new.lines[*line]);
        changed.map(|(_, line)| Step { rows: line..line + 1, lines: line..line + 1, is_text: true }).collect()
    };
    all.extend::<Vec<Step>>(texts(0..first, 0..first));
    for (gone, come) in by_file((old, rows), (new, lines)) {
        for op in compared(&before[gone.clone()], &after[come.clone()]) {
            let (rows, lines) = (op.old_range(), op.new_range());
            let rows = rows.start + gone.start..rows.end + gone.start;
            let lines = lines.start + come.start..lines.end + come.start;
            match op {
                DiffOp::Equal { .. } => all.extend(texts(rows, lines)),
                _ => all.push(Step { rows: lines.start..lines.start + rows.len(), lines, is_text: false }),
            }
        }
    }
    all.extend(texts(before.len() - last..before.len(), after.len() - last..after.len()));
    all
}

fn compared(gone: &[u64], come: &[u64]) -> Vec<DiffOp> {
    match gone.len() * come.len() {
        0..=MOST_COMPARED => capture_diff_slices(Algorithm::Myers, gone, come),
        _ => vec![DiffOp::Replace { old_index: 0, old_len: gone.len(), new_index: 0, new_len: come.len() }],
    }
}

/// Rows of two pages in pieces that are about the same: each begins with the line of a file that is on both. To compare
/// pages of many files as a whole would take far longer.
fn by_file(
    (old, rows): (&Page, Range<usize>),
    (new, lines): (&Page, Range<usize>),
) -> Vec<(Range<usize>, Range<usize>)> {
    fn head(page: &Page, row: usize) -> Option<&Path> {
        match &page.rows[row] {
            About::File(path) if page.folds[row] == ">1" => Some(path),
            _ => None,
        }
    }
    let on_new: HashMap<&Path, usize> =
        lines.clone().filter_map(|line| Some((head(new, line)?, line))).collect();
    let mut pieces = Vec::new();
    let (mut row, mut line) = (rows.start, lines.start);
    for at in rows.clone() {
        let found = head(old, at).and_then(|path| on_new.get(path));
        if let Some(same) = found.filter(|same| **same >= line) {
            pieces.push((row..at, line..*same));
            (row, line) = (at, *same);
        }
    }
    pieces.push((row..rows.end, line..lines.end));
    pieces
}

fn is_same(one: &About, other: &About) -> bool {
    match (one, other) {
        (About::Hunk { path, hunk, .. }, About::Hunk { path: of, hunk: that, .. }) => {
            Arc::ptr_eq(hunk, that) && path == of
        }
        _ => false,
    }
}

/// What a hunk removed and what it added, without the empty line that stands for a file that is not there.
pub fn sides(hunk: &Hunk, (was, is): (bool, bool)) -> (&[String], &[String]) {
    fn lines(lines: &[String], is_there: bool) -> &[String] {
        match lines {
            [line] if line.is_empty() && !is_there => &[],
            lines => lines,
        }
    }
    (lines(&hunk.removed, was), lines(&hunk.added, is))
}

/// How many lines hunks have added and removed, without that line.
pub fn visible_counts<'h>(hunks: impl IntoIterator<Item = &'h Hunk>, there: (bool, bool)) -> (usize, usize) {
    let sizes = hunks.into_iter().map(|hunk| sides(hunk, there));
    sizes.fold((0, 0), |(added, removed), (gone, come)| (added + come.len(), removed + gone.len()))
}

/// A hunk without the empty line that stands for a file that is not there.
pub fn visible(mut hunk: Hunk, there: (bool, bool)) -> Hunk {
    let (removed, added) = sides(&hunk, there);
    let (removed, added) = (removed.len(), added.len());
    hunk.removed.truncate(removed);
    hunk.added.truncate(added);
    hunk
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

    fn hunk(removed: &[&str], added: &[&str]) -> Arc<Hunk> {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Arc::new(Hunk { row: 4, removed: lines(removed), added: lines(added) })
    }

    /// A hunk that removed and added so many lines.
    fn long(removed: usize, added: usize) -> Arc<Hunk> {
        let lines = |sign, count| (0..count).map(|at| format!("line {at} {sign}")).collect();
        Arc::new(Hunk { row: 0, removed: lines('r', removed), added: lines('a', added) })
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
        assert_eq!(page.closed(), [(0, "head \u{b7} +2 -1".to_owned(), "AcpMeta")]);
    }

    /// A page of files, each with hunks that are told apart by what they add.
    fn page(title: &str, files: &[(&str, &[&str])]) -> Page {
        let mut page = Page::default();
        page.add(title.into(), About::Nothing, "0", "");
        for (name, hunks) in files {
            page.add(format!("{name}  {} hunks", hunks.len()), About::File(name.into()), ">1", "");
            for (at, added) in hunks.iter().enumerate() {
                page.hunk(Path::new(name), &hunk(&["x"], &[added]), format!("@@ {at}"), (true, true));
            }
        }
        page
    }

    fn apply(old: &Page, new: &Page) -> (Vec<String>, Vec<Step>) {
        let (mut lines, steps) = (old.lines.clone(), steps(old, new));
        for step in &steps {
            lines.splice(step.rows.clone(), new.lines[step.lines.clone()].to_vec());
        }
        (lines, steps)
    }

    #[test]
    fn a_page_that_lost_a_hunk_is_touched_nowhere_else() {
        let old = page("2 files", &[("a", &["1", "2"]), ("b", &["1"])]);
        let new = page("2 files, 1 kept", &[("a", &["2"]), ("b", &["1"])]);
        let (lines, steps) = apply(&old, &new);
        assert_eq!(lines, new.lines);
        let text = |row| Step { rows: row..row + 1, lines: row..row + 1, is_text: true };
        // The title and the file's head, the hunk itself, the head of the next one, which has another number now.
        let gone = Step { rows: 2..5, lines: 2..2, is_text: false };
        assert_eq!(steps, [text(0), text(1), gone, text(2)]);
        let without = page("1 file", &[("b", &["1"])]);
        let (lines, steps) = apply(&old, &without);
        assert_eq!(lines, without.lines);
        assert_eq!(steps.iter().filter(|step| !step.is_text).count(), 1, "{steps:?}");
    }

    #[test]
    fn any_page_becomes_any_other() {
        let pages = [
            Page::default(),
            page("t", &[]),
            page("t", &[("a", &["1", "2", "3"]), ("b", &["1"]), ("c", &["4", "1"])]),
            page("u", &[("b", &["1", "2"]), ("c", &["1"]), ("d", &["1"])]),
            page("u", &[("a", &["3", "1"]), ("c", &["4"])]),
        ];
        for old in &pages {
            for new in &pages {
                assert_eq!(apply(old, new).0, new.lines);
            }
        }
    }

    #[test]
    fn selected_lines_mean_a_hunk_or_some_lines_of_it() {
        let mut page = Page::default();
        page.add("a".into(), About::File("/a".into()), ">1", "");
        let whole = hunk(&["x", "y"], &["1", "2"]);
        page.hunk(Path::new("/a"), &whole, "head".into(), (true, true));
        let path = || PathBuf::from("/a");
        assert_eq!(page.selected(&(0..3)), [Selected::File(path())]);
        page.add("one more change".into(), About::File("/a".into()), "2", "");
        assert_eq!(page.selected(&(0..7)), [Selected::File(path())], "once, though two lines are about it");
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
        let visible = |hunk: &Arc<Hunk>, there| visible(Hunk::clone(hunk), there);
        assert_eq!(visible(&new, (false, true)).removed, Vec::<String>::new());
        assert_eq!(visible(&new, (true, true)), *new);
        assert_eq!(visible(&hunk(&["a"], &[""]), (true, false)).added, Vec::<String>::new());
        // More than the one empty line is no sign of a file that is not there.
        assert_eq!(visible(&hunk(&["", ""], &[]), (false, true)).removed.len(), 2);
    }

    #[test]
    fn pieces_of_code_stand_where_their_lines_are() {
        let mut page = Page::default();
        page.add("a".into(), About::File("/a".into()), ">1", "");
        page.code_around(Path::new("/a"), vec!["before".into()]);
        page.add("    before".into(), About::Nothing, "2", "");
        page.hunk(Path::new("/a"), &long(250, 130), "head".into(), (true, true));
        page.hunk(Path::new("/a"), &hunk(&["let a = 1;"], &["let a = 2;", "more"]), "h".into(), (true, true));
        let rows: Vec<Range<usize>> = page.code.iter().map(Code::rows).collect();
        assert_eq!(rows, [1..2, 3..353, 103..383, 203..253, 384..387]);
        for code in &page.code {
            for coded in code.coded() {
                let shown = &page.lines[coded.row..coded.row + coded.lines.len()];
                assert!(
                    shown.iter().zip(coded.lines).all(|(shown, line)| shown.ends_with(line)),
                    "{shown:?}"
                );
            }
        }
        let coded = page.code[4].coded();
        let words: Vec<_> = coded.iter().map(|coded| (coded.row, coded.words.clone())).collect();
        assert_eq!(words, [(384, vec![vec![8..9]]), (385, vec![vec![8..9], vec![]])]);
    }

    #[test]
    fn rows_are_of_hunks_that_begin_and_end_somewhere() {
        let mut page = Page::default();
        page.add("title".into(), About::Nothing, "0", "");
        page.add("a".into(), About::File("/a".into()), ">1", "");
        page.hunk(Path::new("/a"), &hunk(&["x"], &["y"]), "first".into(), (true, true));
        page.hunk(Path::new("/a"), &hunk(&["v"], &["w"]), "last".into(), (true, true));
        assert_eq!(page.whole_hunks(&(0..1)), 0..1);
        assert_eq!(page.whole_hunks(&(3..4)), 2..5);
        assert_eq!(page.whole_hunks(&(5..5)), 5..5, "nothing between two hunks");
        assert_eq!(page.whole_hunks(&(6..7)), 5..8);
        assert_eq!(page.whole_hunks(&(8..9)), 8..8);
    }

    #[test]
    fn a_page_costs_what_it_shows_however_long_a_hunk_is() {
        let hunk = long(30_000, 30_000);
        let mut page = Page::default();
        page.hunk(Path::new("/a"), &hunk, "head".into(), (true, true));
        assert_eq!(page.lines.len(), 2 * MAX_HUNK_LINES + 3);
        assert_eq!(page.lines[MAX_HUNK_LINES + 1], "    \u{2026} 29000 more lines");
        // Each line has the hunk, and none has a hunk of its own.
        assert_eq!(Arc::strong_count(&hunk), page.lines.len() + page.code.len() + 2);
        let coded: Vec<Coded> = page.code.iter().flat_map(Code::coded).collect();
        let lines: usize = coded.iter().map(|coded| coded.lines.len()).sum();
        let marked = coded.iter().flat_map(|coded| &coded.words).filter(|words| !words.is_empty()).count();
        assert_eq!((lines, marked), (2 * MAX_HUNK_LINES, 2 * MAX_HUNK_LINES));
        assert!(page.code.iter().all(|code| code.coded().iter().all(|coded| coded.lines.len() <= PIECE)));
        for _ in 0..100 {
            page.hunk(Path::new("/b"), &hunk, "head".into(), (true, true));
        }
        let most = MAX_PAGE_LINES + 2 * MAX_HUNK_LINES + 101 * (2 * MIN_HUNK_LINES + 3);
        assert!(page.lines.len() <= most, "{}", page.lines.len());
    }

    #[test]
    fn the_line_that_stands_for_more_lines_means_them_all() {
        let mut page = Page::default();
        let whole = long(3000, 2000);
        page.hunk(Path::new("/a"), &whole, "head".into(), (true, true));
        let part = |rows: Range<usize>| match page.selected(&rows).as_slice() {
            [Selected::Part(_, _, part)] => part.clone(),
            other => panic!("{other:?}"),
        };
        let (removed, added) = (1 + MAX_HUNK_LINES, 2 + 2 * MAX_HUNK_LINES);
        assert_eq!(part(removed - 1..removed + 1), [MAX_HUNK_LINES - 1..3000, 0..0]);
        assert_eq!(part(removed..removed + 3), [MAX_HUNK_LINES..3000, 0..2]);
        assert_eq!(part(removed + 1..removed + 2), [0..0, 0..1]);
        assert_eq!(part(added..added + 1), [MAX_HUNK_LINES..MAX_HUNK_LINES, MAX_HUNK_LINES..2000]);
        let path = PathBuf::from("/a");
        assert_eq!(page.selected(&(1..added + 1)), [Selected::Hunk(path, whole.clone())]);
        assert_eq!(page.hunks[0].rest(), &whole.added[MAX_HUNK_LINES..]);
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

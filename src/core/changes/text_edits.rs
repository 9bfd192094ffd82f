//! The smallest sensible set of edits that turns one text into another, in the form that
//! `nvim_buf_set_text` takes, so that marks, folds and extmarks in unchanged text stay. Applying them to
//! a buffer is left to the editor's side.
//!
//! A text here is what a buffer holds: its lines joined by `\n`, **without** the newline that ends the
//! file (that one is the buffer's `'endofline'`). So `""` is the buffer with one empty line, `"a\n"` has
//! two lines, and a text of `n` line breaks always has rows `0..=n`. A `\r` is a character like any
//! other.

use std::hash::Hash;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Replace the text from `start` to `end` by `lines`. Rows are 0-based, columns are 0-based bytes
/// (`:help nvim_buf_set_text()`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextEdit {
    pub start: (usize, usize),
    pub end: (usize, usize),
    /// Joined by line breaks; `[""]` deletes.
    pub lines: Vec<String>,
}

impl TextEdit {
    /// The same edit in the shape of `nvim_buf_set_lines`, if it is one of [`edits`] that adds or
    /// removes whole lines. `nvim_buf_set_text` gives the same text, but when the number of lines
    /// changes it forgets the marks (`:help mark`) of the rows it starts and ends on; setting lines
    /// does not. `None` for an edit within one line, which `nvim_buf_set_text` does without harm.
    pub fn whole_lines(&self) -> Option<(Range<usize>, &[String])> {
        let (first, last) = (self.start.0, self.end.0);
        match &*self.lines {
            [] => None,
            [_] if first == last => None,
            [lines @ .., end] if self.start.1 == 0 && self.end.1 == 0 && end.is_empty() => {
                Some((first..last, lines))
            }
            [_, lines @ ..] => Some((first + 1..last + 1, lines)),
        }
    }
}

/// The edits that turn `old` into `new`, the last one first, so that applying them one after the
/// other moves no text that a later one speaks of.
///
/// There are two kinds: within one line, with the common start and end of the line left alone, and
/// whole lines that come or go. A line that was changed beyond recognition still keeps its row, and
/// so its marks, as long as there is a new line to stand there. Where that would take more than
/// [`MAX_FAST_EDITS`] edits, changed blocks are replaced as a whole, and if even those are too many, all
/// between the first and the last change.
pub fn edits(old: &str, new: &str) -> Vec<TextEdit> {
    let old: Vec<&str> = old.split('\n').collect();
    let new: Vec<&str> = new.split('\n').collect();
    let changes = changes(&old, &new);
    changes.into_iter().rev().map(|change| change.edit(&old, &new)).collect()
}

/// The same edits, none of which puts in more than so many lines where it is one of whole lines; the last one is still
/// the first.
pub fn in_pieces(edits: Vec<TextEdit>, most: usize) -> Vec<TextEdit> {
    edits.into_iter().flat_map(|edit| pieces(edit, most.max(1))).collect()
}

fn pieces(edit: TextEdit, most: usize) -> Vec<TextEdit> {
    let Some((rows, lines)) = edit.whole_lines().filter(|(_, lines)| lines.len() > most) else {
        return vec![edit];
    };
    let TextEdit { start, end, lines: all } = &edit;
    // Lines keep their rows as long as there are new ones to stand there; what is more comes behind.
    let (standing, more) = lines.split_at(rows.len().min(lines.len()));
    let mut pieces = Vec::new();
    if lines.len() == all.len() - 1 && all[..lines.len()] == *lines && start.1 == 0 && end.1 == 0 {
        let piece = |rows: Range<usize>, lines: &[String]| TextEdit {
            start: (rows.start, 0),
            end: (rows.end, 0),
            lines: lines.iter().cloned().chain([String::new()]).collect(),
        };
        if rows.len() > standing.len() {
            pieces.push(piece(rows.start + standing.len()..rows.end, &[]));
        }
        pieces.extend(more.chunks(most).rev().map(|lines| piece(rows.end..rows.end, lines)));
        let chunks = standing.chunks(most).enumerate().rev();
        pieces.extend(chunks.map(|(at, lines)| {
            let first = rows.start + at * most;
            piece(first..first + lines.len(), lines)
        }));
    } else {
        // Behind the end of a line, mostly the text's last.
        let behind = |start, lines: &[String], first: &String| TextEdit {
            start,
            end: *end,
            lines: std::iter::once(first).chain(lines).cloned().collect(),
        };
        let (first, more) = lines.split_at(rows.len().max(most).min(lines.len()));
        let empty = String::new();
        pieces.extend(more.chunks(most).rev().map(|lines| behind(*end, lines, &empty)));
        pieces.push(behind(*start, first, &all[0]));
    }
    pieces
}

/// The text after the edits, which are to be those of [`edits`] or at least ordered like them: the
/// last one first, none overlapping another. Places outside of the text are moved to its nearest end.
pub fn apply(text: &str, edits: &[TextEdit]) -> String {
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let offset = |(row, column): (usize, usize)| {
        let Some(&start) = starts.get(row) else { return text.len() };
        let end = starts.get(row + 1).map_or(text.len(), |next| next - 1);
        floor_boundary(text, (start + column).min(end))
    };
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for edit in edits.iter().rev() {
        let start = offset(edit.start).max(done);
        out.push_str(&text[done..start]);
        out.push_str(&edit.lines.join("\n"));
        done = offset(edit.end).max(start);
    }
    out.push_str(&text[done..]);
    out
}

/// More edits than this take the editor longer than a user should wait for. One costs about 10 µs.
pub const MAX_FAST_EDITS: usize = 5_000;

/// How many pairs of lines may be compared while looking for those that match well, in one call and
/// in one block.
const ALIGNED: usize = 1_000_000;
pub(crate) const ALIGNED_BLOCK: usize = 10_000;

/// How alike two lines must be, in thousandths, to be seen as one line that changed.
pub(crate) const ALIKE: u32 = 500;

/// What a computation may cost, in steps rather than in time, so that the same input always has the
/// same result.
struct Budget(usize);

impl Budget {
    fn spend(&mut self, steps: usize) -> bool {
        let enough = steps <= self.0;
        if enough {
            self.0 -= steps;
        }
        enough
    }
}

fn changed(ops: &[DiffOp]) -> impl Iterator<Item = &DiffOp> {
    ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }))
}

/// Lines `old` of one text that become lines `new` of another: one line that becomes one, or more
/// that come or go or are replaced as a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// What [`edits`] gives, by whole lines and from the top down. Neither text is without a line.
pub(crate) fn changes<T: AsRef<str> + Eq + Hash>(old: &[T], new: &[T]) -> Vec<Change> {
    let ops = capture_diff_slices(Algorithm::Myers, old, new);
    let blocks: Vec<Change> =
        changed(&ops).map(|op| Change { old: op.old_range(), new: op.new_range() }).collect();
    let mut budget = Budget(ALIGNED);
    let mut changes = Vec::new();
    for block in &blocks {
        fine(&mut changes, block, old, new, &mut budget);
        if changes.len() > MAX_FAST_EDITS {
            return coarse(blocks, old.len());
        }
    }
    // A line diff that bounds its search may leave equal lines in a block.
    changes.retain(|change| old[change.old.clone()] != new[change.new.clone()]);
    changes
}

/// The blocks as they are, or one for all of them.
fn coarse(mut blocks: Vec<Change>, rows: usize) -> Vec<Change> {
    if blocks.len() > MAX_FAST_EDITS
        && let (Some(first), Some(last)) = (blocks.first(), blocks.last())
    {
        blocks = vec![Change { old: first.old.start..last.old.end, new: first.new.start..last.new.end }];
    }
    match &*blocks {
        // The first row stays as a row, so that the rest can be told from what is before it.
        [Change { old, new }] if *old == (0..rows) => vec![
            Change { old: 0..1, new: new.start..new.start + 1 },
            Change { old: 1..old.end, new: new.start + 1..new.end },
        ],
        _ => blocks,
    }
}

/// Cuts a block into changes of single lines as far as possible.
fn fine<T: AsRef<str>>(changes: &mut Vec<Change>, block: &Change, old: &[T], new: &[T], budget: &mut Budget) {
    let steps = block.old.len().saturating_mul(block.new.len());
    let pairs = if steps <= ALIGNED_BLOCK && budget.spend(steps) {
        align(&old[block.old.clone()], &new[block.new.clone()])
    } else {
        Vec::new()
    };
    let pairs = pairs.into_iter().map(|(i, j)| (block.old.start + i, block.new.start + j));
    let (mut row, mut line) = (block.old.start, block.new.start);
    for (i, j) in pairs.chain([(block.old.end, block.new.end)]) {
        // Lines without a likeness: each takes the place of one while there are any, the rest come or
        // go.
        while row < i && line < j {
            changes.push(Change { old: row..row + 1, new: line..line + 1 });
            (row, line) = (row + 1, line + 1);
        }
        if row < i || line < j {
            changes.push(Change { old: row..i, new: line..j });
        }
        if i < block.old.end && j < block.new.end {
            changes.push(Change { old: i..i + 1, new: j..j + 1 });
        }
        (row, line) = (i + 1, j + 1);
    }
}

impl Change {
    fn edit<T: AsRef<str>>(self, old: &[T], new: &[T]) -> TextEdit {
        if let (1, 1) = (self.old.len(), self.new.len()) {
            let row = self.old.start;
            let (from, to) = (old[row].as_ref(), new[self.new.start].as_ref());
            let (prefix, suffix) = common_ends(from, to);
            return TextEdit {
                start: (row, prefix),
                end: (row, from.len() - suffix),
                lines: vec![to[prefix..to.len() - suffix].to_owned()],
            };
        }
        let mut lines: Vec<String> = new[self.new].iter().map(|line| line.as_ref().to_owned()).collect();
        let last = old.len() - 1;
        let end_of = |row: usize| (row, old[row].as_ref().len());
        // A line is taken with the line break after it; at the end of the text, where there is none,
        // with the one before it.
        let (start, end) = if self.old.end <= last {
            lines.push(String::new());
            ((self.old.start, 0), (self.old.end, 0))
        } else {
            lines.insert(0, String::new());
            (end_of(self.old.start - 1), end_of(last))
        };
        TextEdit { start, end, lines }
    }
}

/// Which of the old lines became which of the new ones, as far as they are alike: pairs of indices,
/// both rising. Takes `old.len() * new.len()` steps.
pub(crate) fn align<T: AsRef<str>>(old: &[T], new: &[T]) -> Vec<(usize, usize)> {
    // best[i][j] is the greatest sum of likenesses of old[i..] and new[j..].
    let width = new.len() + 1;
    let mut best = vec![0u32; (old.len() + 1) * width];
    let mut alike = vec![0u32; old.len() * new.len()];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let likeness = likeness(old[i].as_ref(), new[j].as_ref());
            alike[i * new.len() + j] = likeness;
            let paired = if likeness >= ALIKE { likeness + best[(i + 1) * width + j + 1] } else { 0 };
            best[i * width + j] = paired.max(best[(i + 1) * width + j]).max(best[i * width + j + 1]);
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        let likeness = alike[i * new.len() + j];
        let here = best[i * width + j];
        if likeness >= ALIKE && here == likeness + best[(i + 1) * width + j + 1] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if here == best[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// How much of two lines is the same at their starts and ends, in thousandths; indentation aside.
pub(crate) fn likeness(a: &str, b: &str) -> u32 {
    let (a, b) = (a.trim(), b.trim());
    let total = a.len() + b.len();
    if total == 0 {
        return 1000;
    }
    let (prefix, suffix) = common_ends(a, b);
    u32::try_from((prefix + suffix) * 2000 / total).unwrap_or(0)
}

/// How many items two lists have in common at their beginnings, and how many of the rest at their ends.
pub fn same_ends<A, B>(old: &[A], new: &[B], is_same: impl Fn(&A, &B) -> bool) -> (usize, usize) {
    let both = |(old, new): &(&A, &B)| is_same(old, new);
    let first = old.iter().zip(new).take_while(both).count();
    let rest = old[first..].iter().rev().zip(new[first..].iter().rev());
    (first, rest.take_while(both).count())
}

/// The lengths in bytes of the common start and the common end of two texts. They cut no character
/// and together are no longer than the shorter text.
pub(crate) fn common_ends(a: &str, b: &str) -> (usize, usize) {
    let prefix = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let prefix = floor_boundary(a, prefix);
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let mut suffix = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
    while !a.is_char_boundary(a.len() - suffix) {
        suffix -= 1;
    }
    (prefix, suffix)
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What Neovim does with one `nvim_buf_set_text`, written as plainly as possible and with its
    /// complaints, so that [`apply`] is not its own witness.
    fn set_text(lines: &mut Vec<String>, edit: &TextEdit) {
        let (start, end) = (edit.start, edit.end);
        assert!(start <= end, "start after end: {edit:?}");
        assert!(end.0 < lines.len(), "row out of range: {edit:?}");
        assert!(!edit.lines.is_empty() && edit.lines.iter().all(|line| !line.contains('\n')), "{edit:?}");
        let before = lines[start.0][..start.1].to_owned();
        let after = lines[end.0][end.1..].to_owned();
        let middle = format!("{before}{}{after}", edit.lines.join("\n"));
        lines.splice(start.0..=end.0, middle.split('\n').map(str::to_owned));
    }

    fn lines(text: &str) -> Vec<String> {
        text.split('\n').map(str::to_owned).collect()
    }

    fn check(old: &str, new: &str) -> Vec<TextEdit> {
        let edits = edits(old, new);
        let (mut by_text, mut by_lines) = (lines(old), lines(old));
        for edit in &edits {
            set_text(&mut by_text, edit);
            match edit.whole_lines() {
                Some((rows, new)) => drop(by_lines.splice(rows, new.iter().cloned())),
                None => set_text(&mut by_lines, edit),
            }
        }
        assert_eq!(by_text, lines(new), "{old:?} to {new:?} by {edits:?}");
        assert_eq!(by_lines, lines(new), "{old:?} to {new:?} by whole lines of {edits:?}");
        assert_eq!(apply(old, &edits), new, "{old:?} to {new:?} by {edits:?}");
        for pair in edits.windows(2) {
            assert!(pair[1].end <= pair[0].start, "not bottom up: {edits:?}");
        }
        edits
    }

    /// `row:from-to=text` for each edit, with `/` for line breaks.
    fn show(edits: &[TextEdit]) -> Vec<String> {
        let show = |edit: &TextEdit| {
            let (start, end) = (edit.start, edit.end);
            format!("{}:{}-{}:{} {:?}", start.0, start.1, end.0, end.1, edit.lines.join("/"))
        };
        edits.iter().map(show).collect()
    }

    #[test]
    fn equal_texts_need_no_edit() {
        for text in ["", "\n", "a", "a\nb\n", "\u{e4}\r\n"] {
            assert_eq!(check(text, text), []);
        }
    }

    #[test]
    fn a_word_in_a_line_is_all_that_is_touched() {
        assert_eq!(
            show(&check("fn one() {\n    two(3)\n}", "fn one() {\n    two(45)\n}")),
            [r#"1:8-1:9 "45""#]
        );
    }

    #[test]
    fn a_multibyte_character_is_not_cut() {
        // Both are two bytes long and share the first one (the second pair: the last one).
        assert_eq!(show(&check("x\u{e4}y", "x\u{e5}y")), ["0:1-0:3 \"\u{e5}\""]);
        assert_eq!(show(&check("x\u{e9}y", "x\u{169}y")), ["0:1-0:3 \"\u{169}\""]);
        assert_eq!(show(&check("x\u{e4}", "x\u{e4}\u{e4}")), ["0:3-0:3 \"\u{e4}\""]);
    }

    #[test]
    fn lines_come_before_the_first_and_after_the_last() {
        assert_eq!(show(&check("b", "a\nb")), [r#"0:0-0:0 "a/""#]);
        assert_eq!(show(&check("b", "b\nc")), [r#"0:1-0:1 "/c""#]);
        assert_eq!(show(&check("b", "a\nb\nc")), [r#"0:1-0:1 "/c""#, r#"0:0-0:0 "a/""#]);
        assert_eq!(show(&check("a\n\u{e4}", "a\n\u{e4}\nc")), [r#"1:2-1:2 "/c""#]);
    }

    #[test]
    fn lines_go_from_the_start_the_middle_and_the_end() {
        assert_eq!(show(&check("a\nb\nc", "b\nc")), [r#"0:0-1:0 """#]);
        assert_eq!(show(&check("a\nb\nc", "a\nc")), [r#"1:0-2:0 """#]);
        assert_eq!(show(&check("a\nb\nc", "a")), [r#"0:1-2:1 """#]);
    }

    #[test]
    fn everything_gone_leaves_one_empty_line() {
        assert_eq!(show(&check("a", "")), [r#"0:0-0:1 """#]);
        check("a\nb", "");
        check("\n\n", "");
        check("", "\n\n");
        check("", "a\nb");
    }

    #[test]
    fn an_empty_last_line_may_come_and_go() {
        check("a", "a\n");
        check("a\n", "a");
        check("a\n", "\na");
        check("\n\na\n", "a");
    }

    #[test]
    fn lines_that_changed_a_little_are_recognized_among_new_ones() {
        let old = "let a = first(1);\nlet b = second(2);";
        let new = "// a comment\nlet a = first(10);\n// another\nlet b = second(20);";
        assert_eq!(
            show(&check(old, new)),
            [
                r#"1:16-1:16 "0""#,
                r#"1:0-1:0 "// another/""#,
                r#"0:15-0:15 "0""#,
                r#"0:0-0:0 "// a comment/""#
            ]
        );
    }

    #[test]
    fn lines_without_likeness_keep_their_rows() {
        let edits = check("top\none\ntwo\nend", "top\nxyz\nend");
        assert_eq!(show(&edits), [r#"2:0-3:0 """#, r#"1:0-1:3 "xyz""#]);
        assert_eq!(edits[0].whole_lines(), Some((2..3, &[][..])));
        assert_eq!(edits[1].whole_lines(), None);
    }

    #[test]
    fn an_edit_of_many_lines_falls_into_pieces_from_the_end() {
        let (old, new) = ("top\na\nb\nend", "top\n1\n2\n3\n4\n5\nend");
        let whole = TextEdit {
            start: (1, 0),
            end: (3, 0),
            lines: ["1", "2", "3", "4", "5", ""].map(str::to_owned).into(),
        };
        let pieces = in_pieces(vec![whole], 2);
        assert_eq!(apply(old, &pieces), new);
        let rows: Vec<_> = pieces.iter().filter_map(|edit| edit.whole_lines()).collect();
        let lines = |all: &[&str]| all.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
        assert_eq!(
            rows.iter().map(|(rows, lines)| (rows.clone(), lines.to_vec())).collect::<Vec<_>>(),
            [(3..3, lines(&["5"])), (3..3, lines(&["3", "4"])), (1..3, lines(&["1", "2"]))]
        );
        let behind = in_pieces(edits("x", "x\n1\n2\n3"), 2);
        assert_eq!((behind.len(), apply("x", &behind)), (2, "x\n1\n2\n3".to_owned()));
    }

    #[test]
    fn two_lists_share_no_item_at_both_ends() {
        let ends = |old: &str, new: &str| same_ends(old.as_bytes(), new.as_bytes(), |old, new| old == new);
        assert_eq!([ends("abcd", "abxd"), ends("aa", "aaa"), ends("", "a")], [(2, 1), (2, 0), (0, 0)]);
        assert_eq!([ends("ab", "ab"), ends("abc", "xbc")], [(2, 0), (0, 2)]);
    }

    #[test]
    fn whole_lines_are_told_apart_from_the_line_before_them() {
        let whole_lines = |old, new| {
            let edits = check(old, new);
            edits[0].whole_lines().map(|(rows, lines)| (rows, lines.to_vec()))
        };
        assert_eq!(whole_lines("a\n", "a\n\nb"), Some((2..2, vec!["b".into()])));
        assert_eq!(whole_lines("\nb\nc", "x"), Some((1..3, vec![])));
        assert_eq!(whole_lines("b", "a\nb"), Some((0..0, vec!["a".into()])));
    }

    #[test]
    fn reindenting_touches_only_the_indentation() {
        assert_eq!(show(&check("a(b)\nc(d)", "  a(b)\n  c(d)")), [r#"1:0-1:0 "  ""#, r#"0:0-0:0 "  ""#]);
    }

    #[test]
    fn very_long_lines_are_cut_to_their_change() {
        let old = format!("{}X{}", "a".repeat(200_000), "b".repeat(200_000));
        let edits = check(&old, &old.replace('X', "YZ"));
        assert_eq!(show(&edits), [r#"0:200000-0:200001 "YZ""#]);
    }

    #[test]
    fn too_many_changed_lines_are_replaced_as_a_block() {
        let text = |word: &str| {
            let lines: Vec<String> = (0..MAX_FAST_EDITS * 2).map(|n| format!("{word} {n}")).collect();
            lines.join("\n")
        };
        let (old, new) = (text("one"), text("two"));
        let edits = check(&format!("top\n{old}\nend"), &format!("top\n{new}\nend"));
        assert_eq!(edits.len(), 1);
        assert_eq!(edits[0].start, (1, 0));
        assert_eq!(check(&old, &new).len(), 2);
    }

    #[test]
    fn too_many_blocks_are_replaced_as_one() {
        let text = |word: &str| {
            let lines: Vec<String> = (0..=MAX_FAST_EDITS).map(|n| format!("{word} {n}\nsame {n}")).collect();
            format!("top\n{}\nend", lines.join("\n"))
        };
        assert_eq!(check(&text("one"), &text("two")).len(), 1);
    }

    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            6 => prop::sample::select(vec!["", "a", "b", "ab", "ba", "}", "    }", "aab", "\r", "a\r"])
                .prop_map(str::to_owned),
            2 => "[ab\u{e4}\u{e5}\u{1f600}\u{301} ]{0,6}",
            1 => "\\PC{0,12}",
        ]
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(line(), 1..24).prop_map(|lines| lines.join("\n"))
    }

    /// A text and the same with some lines removed, doubled, replaced or changed within.
    fn mutated() -> impl Strategy<Value = (String, String)> {
        let change = (any::<prop::sample::Index>(), 0..4u8, line());
        (prop::collection::vec(line(), 1..40), prop::collection::vec(change, 0..6)).prop_map(
            |(old, changes)| {
                let mut new = old.clone();
                for (at, kind, line) in changes {
                    if new.is_empty() {
                        new.push(line);
                        continue;
                    }
                    let at = at.index(new.len());
                    match kind {
                        0 => drop(new.remove(at)),
                        1 => new.insert(at, line),
                        2 => new[at] = line,
                        _ => new[at].push_str(&line),
                    }
                }
                (old.join("\n"), new.join("\n"))
            },
        )
    }

    proptest! {
        #[test]
        fn edits_turn_any_text_into_any_other(old in text(), new in text()) {
            check(&old, &new);
        }

        #[test]
        fn edits_of_a_mutated_text_lead_to_it((old, new) in mutated()) {
            check(&old, &new);
            check(&new, &old);
        }

        #[test]
        fn edits_stay_out_of_the_lines_that_a_line_diff_calls_equal((old, new) in mutated()) {
            let old_lines: Vec<&str> = old.split('\n').collect();
            let new_lines: Vec<&str> = new.split('\n').collect();
            let ops = capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines);
            let edits = edits(&old, &new);
            let most: usize = changed(&ops).map(|op| op.old_range().len() + op.new_range().len()).sum();
            prop_assert!(edits.len() <= most, "{} edits for {most} lines: {edits:?}", edits.len());
            let end = (old_lines.len() - 1, old_lines.last().map_or(0, |line| line.len()));
            for edit in &edits {
                let is_behind_all = edit.start == end && edit.end == end && edit.lines[0].is_empty();
                let rows = match edit.whole_lines() {
                    // After an empty last line is no other place than before it.
                    _ if is_behind_all => old_lines.len()..old_lines.len(),
                    Some((rows, _)) => rows,
                    None => edit.start.0..edit.start.0 + 1,
                };
                let allowed = |op: &DiffOp| op.old_range().start <= rows.start && rows.end <= op.old_range().end;
                // Among empty lines it cannot be told which one came or went.
                let blank = edit.lines.iter().all(String::is_empty);
                prop_assert!(blank || changed(&ops).any(allowed), "{edit:?} outside of {ops:?}");
            }
        }

        #[test]
        fn pieces_lead_to_the_same_text_as_neovim_does_them(old in text(), new in text(), most in 1..4usize, blocks in any::<bool>()) {
            let (old, new) = if blocks { [old, new].map(|text| format!("{text}\nend")).into() } else { (old, new) };
            let whole = match blocks {
                true => vec![TextEdit {
                    start: (0, 0),
                    end: (old.matches('\n').count(), 0),
                    lines: new.trim_end_matches("end").split('\n').map(str::to_owned).collect(),
                }],
                false => edits(&old, &new),
            };
            let pieces = in_pieces(whole, most);
            prop_assert_eq!(&apply(&old, &pieces), &new);
            // One after the other, in the shape in which the editor gets them.
            let mut lines: Vec<String> = old.split('\n').map(str::to_owned).collect();
            for edit in &pieces {
                match edit.whole_lines() {
                    Some((rows, new)) => drop(lines.splice(rows, new.to_vec())),
                    None => {
                        let text = apply(&lines.join("\n"), std::slice::from_ref(edit));
                        lines = text.split('\n').map(str::to_owned).collect();
                    }
                }
            }
            prop_assert_eq!(lines.join("\n"), new);
            prop_assert!(pieces.iter().filter_map(TextEdit::whole_lines).all(|(rows, lines)| lines.len() <= most.max(rows.len())));
        }

        #[test]
        fn apply_never_panics(text in text(), places in prop::collection::vec((0..9usize, 0..9usize, 0..9usize, 0..9usize), 0..4)) {
            let edits: Vec<TextEdit> = places
                .into_iter()
                .map(|(a, b, c, d)| TextEdit { start: (a, b), end: (c, d), lines: vec!["x".into()] })
                .collect();
            apply(&text, &edits);
        }
    }

    /// Prints what the dear cases cost: `cargo test --lib core::changes -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement"]
    fn cost() {
        let numbered = |word: &str, count: usize| -> Vec<String> {
            (0..count).map(|n| format!("    {word} line {n}")).collect()
        };
        let time = |name: &str, old: &[String], new: &[String]| {
            let (old, new) = (old.join("\n"), new.join("\n"));
            let start = std::time::Instant::now();
            let edits = edits(&old, &new);
            println!("{name}: {} edits in {:?}", edits.len(), start.elapsed());
            assert_eq!(apply(&old, &edits), new);
        };
        let old = numbered("old", 100_000);
        let mut hunks = old.clone();
        hunks.iter_mut().step_by(100).for_each(|line| line.push('!'));
        time("100,000 lines, 1,000 changed", &old, &hunks);
        time("100,000 lines, nothing in common", &old, &numbered("new", 100_000));
        let reversed: Vec<String> = old.iter().rev().cloned().collect();
        time("100,000 lines reversed", &old, &reversed);
        let mut seed = 1u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let shuffled: Vec<String> = {
            let mut lines = old.clone();
            (1..lines.len()).rev().for_each(|i| lines.swap(i, random(i as u64 + 1) as usize));
            lines
        };
        time("100,000 lines shuffled", &old, &shuffled);
        for words in [2, 10, 300] {
            let mut few = || -> Vec<String> { (0..100_000).map(|_| format!("w{}", random(words))).collect() };
            let (a, b) = (few(), few());
            time(&format!("100,000 random lines of {words}"), &a, &b);
        }
    }
}

//! Three-way merge by lines: combines what two sides made of one text, and leaves open the places where
//! both changed the same lines. Asking the user about those is left to others.
//!
//! Git calls changes of neighbouring lines a conflict, too. Here they are merged where that can mean one thing only
//! (see `side_by_side`): people type right beside what an agent writes all the time.
//!
//! Line endings and the newline at the end of the file are not part of the lines. Each is merged
//! separately, and the side that changed it wins, so an agent that writes LF into a CRLF file, or omits
//! the last newline, does not conflict with every line of the user's. A file with mixed line endings
//! keeps each `\r` as a part of its line.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use similar::{MergeResolution, TextMerge};

use crate::core::changes::text_edits::{Change, changes, same_ends};

/// What came of a merge, from the top down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    pub chunks: Vec<Chunk>,
    crlf: bool,
    /// The last line is ended, too.
    ended: bool,
}

/// A run of whole lines, without line ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Chunk {
    /// At most one side changed it, or both alike.
    Clean(Vec<String>),
    Conflict(Conflict),
}

/// Lines that both sides changed, each in its own way, or changes with no unchanged line between them that could
/// follow each other in more than one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// Where its lines begin among those of `ours`, from 0.
    pub row: usize,
    pub base: Vec<String>,
    pub ours: Vec<String>,
    pub theirs: Vec<String>,
}

impl Conflict {
    /// Whether no line was changed by both sides: what they changed only touches.
    pub fn is_apart(&self) -> bool {
        let [ours, theirs] = [&self.ours, &self.theirs].map(|side| changes(&self.base, side));
        !ours.iter().any(|one| theirs.iter().any(|other| meets(&one.old, &other.old)))
    }
}

/// Whether two changes of the same text, told by its lines, are of the same lines or of the same place.
fn meets(one: &Range<usize>, other: &Range<usize>) -> bool {
    let within = |point: &Range<usize>, all: &Range<usize>| all.start < point.start && point.start < all.end;
    match one.is_empty() || other.is_empty() {
        // Lines that come to the same place, or into lines that the other side changed.
        true => one == other || within(one, other) || within(other, one),
        false => one.start < other.end && other.start < one.end,
    }
}

/// What both sides made of neighbouring lines, if they can only follow each other in one way: neither side deleted
/// lines right beside what the other changed, and new lines beside a changed one are beside as many as were there.
/// Lines that could as well have been put elsewhere, as a `}` after a `}`, are not placed by guessing.
fn side_by_side(base: &[&str], ours: &[&str], theirs: &[&str]) -> Option<Vec<String>> {
    if base.is_empty() || ours.is_empty() || theirs.is_empty() {
        return None;
    }
    let sides = [ours, theirs];
    let [ours, theirs] = sides.map(|side| changes(base, side));
    let is_clear = |one: &Change, other: &Change| {
        let touch = one.old.start <= other.old.end && other.old.start <= one.old.end;
        !meets(&one.old, &other.old)
            && (!touch || is_placed(one, other, base, sides[0]) && is_placed(other, one, base, sides[1]))
    };
    if !ours.iter().all(|one| theirs.iter().all(|other| is_clear(one, other))) {
        return None;
    }
    let of_side = |side: usize, changes: Vec<Change>| changes.into_iter().map(move |change| (side, change));
    let mut all: Vec<(usize, Change)> = of_side(0, ours).chain(of_side(1, theirs)).collect();
    all.sort_by_key(|(_, change)| (change.old.start, change.old.end));
    let mut lines = Vec::new();
    let mut row = 0;
    for (side, change) in all {
        lines.extend(owned(&base[row..change.old.start]));
        lines.extend(owned(&sides[side][change.new]));
        row = change.old.end;
    }
    lines.extend(owned(&base[row..]));
    Some(lines)
}

/// Whether a side's change has one place only beside a change of the other side that touches it.
fn is_placed(change: &Change, other: &Change, base: &[&str], side: &[&str]) -> bool {
    if !change.old.is_empty() {
        return change.new.len() >= change.old.len();
    }
    let new = &side[change.new.clone()];
    let above = change.old.start.checked_sub(1).and_then(|row| base.get(row));
    let slides = new.first() == base.get(change.old.start) || new.last() == above;
    other.new.len() == other.old.len() && !slides
}

/// What to put in the place of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side<'a> {
    Ours,
    Theirs,
    /// Both, between the markers that version control uses, with these names on them.
    Markers {
        ours: &'a str,
        theirs: &'a str,
    },
}

/// Merges what `ours` and `theirs` made of `base`.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Merge {
    let texts = [base, ours, theirs];
    let ends = texts.map(LineEnd::of);
    let crlf = ends.iter().all(|end| *end != Some(LineEnd::Mixed))
        && merged(ends.map(|end| end.map(|end| end == LineEnd::Crlf)), false);
    let ended = merged(texts.map(|text| (!text.is_empty()).then(|| text.ends_with('\n'))), true);
    let uniform = !ends.contains(&Some(LineEnd::Mixed));
    let [base, ours, theirs] = texts.map(|text| lines(text, uniform));
    let regions = regions(&base, &ours, &theirs);

    let mut chunks = Vec::new();
    for (resolution, [in_base, in_ours, in_theirs]) in regions {
        match resolution {
            MergeResolution::Conflict => {
                let row = in_ours.start;
                let (base, ours, theirs) = (&base[in_base], &ours[in_ours], &theirs[in_theirs]);
                match side_by_side(base, ours, theirs) {
                    Some(lines) => clean(&mut chunks, lines),
                    None => conflict(&mut chunks, row, base, ours, theirs),
                }
            }
            MergeResolution::Theirs => clean(&mut chunks, owned(&theirs[in_theirs])),
            _ => clean(&mut chunks, owned(&ours[in_ours])),
        }
    }
    Merge { chunks, crlf, ended }
}

/// The lines that two texts share: a base for those whose common one is unknown, from which neither
/// side has deleted anything.
pub fn shared(ours: &str, theirs: &str) -> String {
    let [a, b] = [ours, theirs].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &a, &b);
    let equal = ops.iter().filter(|op| matches!(op, similar::DiffOp::Equal { .. }));
    equal.flat_map(|op| a[op.old_range()].iter().copied()).collect()
}

impl Merge {
    /// The merged text, if there is no conflict.
    pub fn clean(&self) -> Option<String> {
        (self.conflicts().next().is_none()).then(|| self.resolve(Side::Ours))
    }

    pub fn conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.chunks.iter().filter_map(|chunk| match chunk {
            Chunk::Clean(_) => None,
            Chunk::Conflict(conflict) => Some(conflict),
        })
    }

    /// The merged text with the same choice for each conflict.
    pub fn resolve(&self, side: Side) -> String {
        self.resolve_each(|_| side)
    }

    /// The merged text with a choice for each conflict, asked for from the top down.
    pub fn resolve_each<'a>(&self, mut choose: impl FnMut(&Conflict) -> Side<'a>) -> String {
        let end = if self.crlf { "\r\n" } else { "\n" };
        let mut text = String::new();
        let mut put = |parts: &[&str]| {
            parts.iter().for_each(|part| text.push_str(part));
            text.push_str(end);
        };
        for chunk in &self.chunks {
            let (conflict, side) = match chunk {
                Chunk::Clean(lines) => {
                    lines.iter().for_each(|line| put(&[line]));
                    continue;
                }
                Chunk::Conflict(conflict) => (conflict, choose(conflict)),
            };
            match side {
                Side::Ours => conflict.ours.iter().for_each(|line| put(&[line])),
                Side::Theirs => conflict.theirs.iter().for_each(|line| put(&[line])),
                Side::Markers { ours, theirs } => {
                    put(&["<<<<<<< ", ours]);
                    conflict.ours.iter().for_each(|line| put(&[line]));
                    put(&["======="]);
                    conflict.theirs.iter().for_each(|line| put(&[line]));
                    put(&[">>>>>>> ", theirs]);
                }
            }
        }
        // An empty last line is only there with its end, and is none of the side's that dropped the end.
        if !self.ended
            && let Some(rest) =
                text.strip_suffix(end).filter(|rest| !rest.is_empty() && !rest.ends_with('\n'))
        {
            text.truncate(rest.len());
        }
        text
    }
}

/// How all of a text's lines end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Lf,
    Crlf,
    Mixed,
}

impl LineEnd {
    /// `None` where no line is ended.
    fn of(text: &str) -> Option<Self> {
        let (all, crlf) = (text.matches('\n').count(), text.matches("\r\n").count());
        match (all, crlf) {
            (0, _) => None,
            (_, 0) => Some(Self::Lf),
            _ if all == crlf => Some(Self::Crlf),
            _ => Some(Self::Mixed),
        }
    }
}

/// The three-way merge of something with two values, that a text may not show at all. With two
/// values, two sides that both differ from the base agree. `favoured` decides where nothing is shown,
/// and where the sides differ and the base does not show which of them is new.
fn merged([base, ours, theirs]: [Option<bool>; 3], favoured: bool) -> bool {
    let base = base.unwrap_or(match (ours, theirs) {
        (Some(ours), Some(theirs)) if ours != theirs => !favoured,
        (Some(side), _) | (_, Some(side)) => side,
        (None, None) => favoured,
    });
    let (ours, theirs) = (ours.unwrap_or(base), theirs.unwrap_or(base));
    if ours == base { theirs } else { ours }
}

fn lines(text: &str, uniform: bool) -> Vec<&str> {
    let line = |line: &'_ str| -> usize {
        let end = usize::from(uniform && line.ends_with("\r\n")) + usize::from(line.ends_with('\n'));
        line.len() - end
    };
    text.split_inclusive('\n').map(|whole| &whole[..line(whole)]).collect()
}

/// The runs of lines that the three texts are made of, in each of them.
pub fn regions(base: &[&str], ours: &[&str], theirs: &[&str]) -> Vec<(MergeResolution, [Range<usize>; 3])> {
    // The crate ends lines at a lone `\r`, too, and gives nothing but their numbers. So it is given a
    // number for each line.
    let mut numbers = HashMap::new();
    let [base, ours, theirs] = [base, ours, theirs].map(|lines| {
        let mut text = String::with_capacity(lines.len() * 4);
        for line in lines {
            let next = numbers.len();
            push_number(&mut text, *numbers.entry(*line).or_insert(next));
            text.push('\n');
        }
        text
    });
    let merge = TextMerge::from_lines(&base, &ours, &theirs);
    let region = |region: &similar::MergeRegion| {
        (region.resolution(), [region.base_range(), region.ours_range(), region.theirs_range()])
    };
    merge.regions().iter().map(region).collect()
}

/// A number in digits that are letters and signs: short, since there is one for each line.
fn push_number(text: &mut String, mut number: usize) {
    const DIGITS: usize = 90;
    loop {
        text.push(char::from(b'!' + (number % DIGITS) as u8));
        number /= DIGITS;
        if number == 0 {
            return;
        }
    }
}

fn clean(chunks: &mut Vec<Chunk>, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    if let Some(Chunk::Clean(last)) = chunks.last_mut() {
        last.extend(lines);
    } else {
        chunks.push(Chunk::Clean(lines));
    }
}

/// Adds a conflict; what both sides begin and end with alike is none.
fn conflict(chunks: &mut Vec<Chunk>, row: usize, base: &[&str], ours: &[&str], theirs: &[&str]) {
    let (head, tail) = same_ends(ours, theirs, |one, other| one == other);
    let (ours_left, theirs_left) = (&ours[head..], &theirs[head..]);
    clean(chunks, owned(&ours[..head]));
    chunks.push(Chunk::Conflict(Conflict {
        row: row + head,
        base: owned(base),
        ours: owned(&ours_left[..ours_left.len() - tail]),
        theirs: owned(&theirs_left[..theirs_left.len() - tail]),
    }));
    clean(chunks, owned(&ours_left[ours_left.len() - tail..]));
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clean_merge(base: &str, ours: &str, theirs: &str) -> String {
        merge(base, ours, theirs).clean().expect("no conflict")
    }

    fn markers(merge: &Merge) -> String {
        merge.resolve(Side::Markers { ours: "mine", theirs: "agent" })
    }

    #[test]
    fn changes_of_different_lines_are_both_kept() {
        assert_eq!(clean_merge("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"), "A\nb\nC\n");
        assert_eq!(clean_merge("a\nb\nc\n", "a\nc\n", "a\nb\nc\nd\n"), "a\nc\nd\n");
    }

    #[test]
    fn changes_of_the_same_line_are_a_conflict() {
        let merge = merge("a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc\n");
        assert_eq!(merge.clean(), None);
        assert_eq!(merge.resolve(Side::Ours), "a\nours\nc\n");
        assert_eq!(merge.resolve(Side::Theirs), "a\ntheirs\nc\n");
        assert_eq!(markers(&merge), "a\n<<<<<<< mine\nours\n=======\ntheirs\n>>>>>>> agent\nc\n");
        assert_eq!(merge.conflicts().next().map(|conflict| &*conflict.base), Some(&["b".to_owned()][..]));
    }

    /// Base, ours, theirs, and the merged lines, if there is no conflict.
    #[test]
    fn neighbouring_changes_are_merged_where_it_can_mean_one_thing_only() {
        let table = [
            ("changed lines beside each other", "a b", "A b", "a B", Some("A B")),
            ("changed lines on both sides of one", "a b c", "a B c", "A b C", Some("A B C")),
            ("a changed line that grew, beside one", "a b", "A1 A2 b", "a B", Some("A1 A2 B")),
            ("a new line above a changed one", "a b", "a x b", "a B", Some("a x B")),
            ("a new line below a changed one", "a b c", "a b x c", "a B c", Some("a B x c")),
            ("new lines on both sides of a changed one", "a b c", "a x b y c", "a B c", Some("a x B y c")),
            ("new lines at the end, below a changed one", "a", "a x y", "A", Some("A x y")),
            ("new lines at the same place", "a", "a x", "a y", None),
            ("new lines below one that became several", "a z", "a x z", "A1 A2 z", None),
            ("a deleted line beside a changed one", "a b", "b", "a B", None),
            ("deleted lines beside each other", "a b c", "b c", "a c", None),
            ("a deleted line, and a new one there", "a b", "b", "a x b", None),
            ("a new line that may be above or below", "} z", "} } z", "}; z", None),
            ("the same line", "a b", "A b", "X B", None),
            ("a line beside, and the same one", "a b c", "A B c", "a X C", None),
        ];
        let text = |words: &str| words.replace(' ', "\n") + "\n";
        for (what, base, ours, theirs, merged) in table {
            let [base, ours, theirs] = [base, ours, theirs].map(text);
            assert_eq!(merge(&base, &ours, &theirs).clean(), merged.map(text), "{what}");
            assert_eq!(merge(&base, &theirs, &ours).clean(), merged.map(text), "{what}, the sides swapped");
        }
    }

    #[test]
    fn changes_that_only_touch_are_told_from_those_of_the_same_lines() {
        let is_apart = |base: &str, ours: &str, theirs: &str| {
            merge(base, ours, theirs).conflicts().next().map(Conflict::is_apart)
        };
        assert_eq!(is_apart("a\nb\n", "b\n", "a\nB\n"), Some(true));
        assert_eq!(is_apart("}\nz\n", "}\n}\nz\n", "};\nz\n"), Some(true));
        assert_eq!(is_apart("a\nb\n", "a\nours\n", "a\ntheirs\n"), Some(false));
        assert_eq!(is_apart("a\n", "a\nours\n", "a\ntheirs\n"), Some(false));
        assert_eq!(is_apart("a\nb\nc\n", "A\nB\nc\n", "a\nX\nC\n"), Some(false));
    }

    #[test]
    fn a_deleted_line_that_the_other_side_changed_is_a_conflict() {
        let merge = merge("a\nb\nc\n", "a\nc\n", "a\nB\nc\n");
        assert_eq!(markers(&merge), "a\n<<<<<<< mine\n=======\nB\n>>>>>>> agent\nc\n");
    }

    #[test]
    fn the_same_change_on_both_sides_is_none() {
        assert_eq!(clean_merge("a\nb\n", "a\nB\n", "a\nB\n"), "a\nB\n");
    }

    #[test]
    fn a_deletion_among_equal_lines_is_not_dropped() {
        let base = "c\nb\nb\nb\nb\nb\nb\n";
        assert_eq!(clean_merge(base, "c\nb\nb\nb\na\nb\nb\n", "c\nb\nb\nb\nb\nb\n"), "c\nb\nb\nb\na\nb\n");
    }

    #[test]
    fn a_conflict_leaves_out_what_both_sides_agree_on() {
        let merge = merge("a\nz\n", "a\n// both\nours\nend\nz\n", "a\n// both\ntheirs\nend\nz\n");
        assert_eq!(
            markers(&merge),
            "a\n// both\n<<<<<<< mine\nours\n=======\ntheirs\n>>>>>>> agent\nend\nz\n"
        );
    }

    #[test]
    fn each_conflict_may_have_its_own_answer() {
        let merge = merge("a\nb\nc\n", "a1\nb\nc1\n", "a2\nb\nc2\n");
        let mut sides = [Side::Ours, Side::Theirs].into_iter();
        assert_eq!(merge.resolve_each(|_| sides.next().expect("two conflicts")), "a1\nb\nc2\n");
    }

    #[test]
    fn the_last_newline_is_merged_by_itself() {
        assert_eq!(clean_merge("a\n", "a", "a\nb\n"), "a\nb");
        assert_eq!(clean_merge("a\n", "a\nb\n", "a"), "a\nb");
        assert_eq!(clean_merge("a", "a\n", "A"), "A\n");
        assert_eq!(clean_merge("a\n", "", "a\n"), "");
        assert_eq!(clean_merge("", "a", ""), "a");
    }

    #[test]
    fn the_line_ends_are_merged_by_themselves() {
        assert_eq!(clean_merge("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\nb\nC\n"), "A\nb\nC\n");
        assert_eq!(clean_merge("a\nb\nc\n", "A\nb\nc\n", "a\r\nb\r\nC\r\n"), "A\r\nb\r\nC\r\n");
        assert_eq!(clean_merge("a\r\nb\r\n", "a\r\nb\r\n", ""), "");
        assert_eq!(
            markers(&merge("a\r\n", "b\r\n", "c\r\n")),
            "<<<<<<< mine\r\nb\r\n=======\r\nc\r\n>>>>>>> agent\r\n"
        );
    }

    #[test]
    fn mixed_line_ends_stay_as_they_are() {
        assert_eq!(clean_merge("a\r\nb\nc\r\n", "A\r\nb\nc\r\n", "a\r\nb\nC\r\n"), "A\r\nb\nC\r\n");
    }

    #[test]
    fn a_lone_carriage_return_ends_no_line() {
        let merge = merge("a\rb\nz\n", "a\rB\nz\n", "A\rb\nz\n");
        assert_eq!(markers(&merge), "<<<<<<< mine\na\rB\n=======\nA\rb\n>>>>>>> agent\nz\n");
    }

    #[test]
    fn markers_in_the_texts_are_lines_like_others() {
        let base = "<<<<<<< x\na\n=======\nb\n>>>>>>> y\nc\nd\n";
        assert_eq!(
            clean_merge(base, &base.replace('a', "A"), &base.replace('d', "D")),
            base.replace('a', "A").replace('d', "D")
        );
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec!["a", "b", "c", "", "d\r"]);
        let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
        let tail = prop::sample::select(vec!["", "", "a", "x"]);
        let mixed =
            (prop::collection::vec((line.clone(), end), 0..8), tail.clone()).prop_map(|(lines, tail)| {
                lines.iter().map(|(line, end)| format!("{line}{end}")).collect::<String>() + tail
            });
        let crlf = (prop::collection::vec(line, 0..8), tail).prop_map(|(lines, tail)| {
            lines.iter().map(|line| format!("{line}\r\n")).collect::<String>() + tail
        });
        prop_oneof![3 => "([abc]?\n){0,8}[ax]?", 1 => mixed, 1 => crlf]
    }

    /// A side's lines, each a copy of the base's, gone, changed, or with a new one before it. New lines
    /// are told by `name`.
    fn side(base: &[String], changes: &[u8], name: &str) -> Vec<String> {
        let change = |(at, line): (usize, &String)| match changes.get(at) {
            Some(0) => vec![],
            Some(1) => vec![format!("{name} {at}")],
            Some(2) => vec![format!("{name} {at}"), line.clone()],
            _ => vec![line.clone()],
        };
        base.iter().enumerate().flat_map(change).collect()
    }

    #[test]
    fn an_empty_line_at_the_end_survives_a_side_without_a_last_newline() {
        let merged = merge("a\n", "a\n\n", "b\na\na");
        let both = merged.resolve(Side::Markers { ours: "o", theirs: "t" });
        assert!(both.lines().any(str::is_empty), "{both:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

        #[test]
        fn one_side_alone_wins(base in text(), side in text()) {
            prop_assert_eq!(clean_merge(&base, &base, &side), &*side);
            prop_assert_eq!(clean_merge(&base, &side, &base), &*side);
            prop_assert_eq!(clean_merge(&base, &side, &side), &*side);
        }

        #[test]
        fn a_conflict_says_where_its_lines_stand_in_ours(base in text(), ours in text(), theirs in text()) {
            let uniform = [&base, &ours, &theirs].iter().all(|text| LineEnd::of(text) != Some(LineEnd::Mixed));
            let rows = lines(&ours, uniform);
            for conflict in merge(&base, &ours, &theirs).conflicts() {
                prop_assert_eq!(&conflict.ours, &rows[conflict.row..conflict.row + conflict.ours.len()]);
            }
        }

        #[test]
        fn what_two_texts_share_is_in_both(ours in text(), theirs in text()) {
            let shared = shared(&ours, &theirs);
            let merged = merge(&shared, &ours, &theirs);
            let both = merged.resolve(Side::Markers { ours: "o", theirs: "t" });
            // Nothing is deleted of either side.
            for line in ours.lines().chain(theirs.lines()) {
                let line = line.trim_end_matches('\r');
                prop_assert!(both.lines().any(|kept| kept.trim_end_matches('\r') == line), "{line:?} is lost in {both:?}");
            }
        }

        #[test]
        fn swapping_the_sides_mirrors_the_merge(base in text(), ours in text(), theirs in text()) {
            let (mut merged, mut mirrored) = (merge(&base, &ours, &theirs), merge(&base, &theirs, &ours));
            for chunk in &mut mirrored.chunks {
                if let Chunk::Conflict(conflict) = chunk {
                    std::mem::swap(&mut conflict.ours, &mut conflict.theirs);
                    conflict.row = 0;
                }
            }
            for chunk in &mut merged.chunks {
                if let Chunk::Conflict(conflict) = chunk {
                    conflict.row = 0;
                }
            }
            prop_assert_eq!(merged, mirrored);
        }

        /// The crate's regions have no gap and no overlap in any of the three texts, and hold what they
        /// say. All else follows from this.
        #[test]
        fn regions_tile_the_three_texts(base in text(), ours in text(), theirs in text()) {
            let texts = [&base, &ours, &theirs].map(|text| lines(text, false));
            let mut ends = [0; 3];
            for (resolution, ranges) in regions(&texts[0], &texts[1], &texts[2]) {
                for (end, range) in ends.iter_mut().zip(&ranges) {
                    prop_assert_eq!(*end, range.start);
                    *end = range.end;
                }
                let [base, ours, theirs] = [0, 1, 2].map(|at| &texts[at][ranges[at].clone()]);
                match resolution {
                    MergeResolution::Unchanged => prop_assert!(base == ours && base == theirs),
                    MergeResolution::Ours => prop_assert!(base == theirs && base != ours),
                    MergeResolution::Theirs => prop_assert!(base == ours && base != theirs),
                    MergeResolution::Both => prop_assert!(ours == theirs),
                    _ => prop_assert!(ours != theirs),
                }
            }
            prop_assert_eq!(ends, [0, 1, 2].map(|at| texts[at].len()));
        }

        #[test]
        fn every_line_a_side_wrote_is_in_the_merge(
            count in 0..12usize,
            ours in prop::collection::vec(0..8u8, 12),
            theirs in prop::collection::vec(0..8u8, 12),
        ) {
            let base: Vec<String> = (0..count).map(|n| format!("base {n}")).collect();
            let ours = side(&base, &ours, "ours");
            let theirs = side(&base, &theirs, "theirs");
            let merge = merge(&base.join("\n"), &ours.join("\n"), &theirs.join("\n"));
            let mut kept = [Vec::new(), Vec::new()];
            for chunk in &merge.chunks {
                match chunk {
                    Chunk::Clean(lines) => kept.iter_mut().for_each(|kept| kept.extend(lines)),
                    Chunk::Conflict(conflict) => {
                        kept[0].extend(&conflict.ours);
                        kept[1].extend(&conflict.theirs);
                    }
                }
            }
            for (side, name, other, kept) in [(&ours, "ours", "theirs", &kept[0]), (&theirs, "theirs", "ours", &kept[1])] {
                let own = |line: &&String| line.starts_with(name);
                prop_assert_eq!(side.iter().filter(own).collect::<Vec<_>>(), kept.iter().copied().filter(|line| own(line)).collect::<Vec<_>>());
                // What a side deleted is gone, and what is left of the base is in its order.
                let from_base = kept.iter().filter(|line| !line.starts_with(name) && !line.starts_with(other));
                prop_assert!(from_base.clone().all(|line| side.contains(line)), "{kept:?} against {side:?}");
            }
        }
    }

    /// Prints what the dear cases cost: `cargo test --lib core::merge -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement"]
    fn cost() {
        let base: Vec<String> = (0..100_000).map(|n| format!("    line {n}")).collect();
        for hunks in [1_000, 10_000] {
            let (mut ours, mut theirs) = (base.clone(), base.clone());
            ours.iter_mut().step_by(100_000 / hunks).for_each(|line| line.push_str(" ours"));
            theirs.iter_mut().skip(5).step_by(100_000 / hunks).for_each(|line| line.push_str(" theirs"));
            let (base, ours, theirs) = (base.join("\n"), ours.join("\n"), theirs.join("\n"));
            let start = std::time::Instant::now();
            let merge = merge(&base, &ours, &theirs);
            println!("100,000 lines, {hunks} hunks on each side: {:?}", start.elapsed());
            assert_eq!(merge.conflicts().count(), 0);
        }
    }
}

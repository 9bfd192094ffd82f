//! Locates a tool call's diffs in a file's current text, as hunks that can be drawn. Drawing them is left
//! to the editor's side.
//!
//! Nothing on the wire tells whether a diff covers the whole file, the file without its last newline, a
//! fragment that may begin and end in the middle of a line, or a few lines with context; nor whether it
//! has been applied yet. So the text decides. Lines are compared without the `\r` of a CRLF, and hunks
//! contain none. Rows are those of the text's lines; a final newline ends the last line and does not
//! start another.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::core::changes::text_edits::{self, ALIGNED_BLOCK, ALIKE, common_ends, likeness};
use crate::core::message::call::FileDiff;

/// One diff placed in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// From the top down, without context; none where the diff changes nothing but line ends.
    pub hunks: Vec<Arc<Hunk>>,
    pub state: PlacedState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlacedState {
    /// The text still holds the old lines.
    Proposed,
    /// The text holds the new lines already.
    Applied,
    /// Neither was found: the hunks show the agent's own old text at the best guess of a line.
    Unmatched,
}

/// Lines that go and lines that come, at a 0-based row of the present text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// First row of the present text that the hunk is about. When the lines it is about are none
    /// (a pure insertion into a text that is still old, a pure deletion in one that is new), the row
    /// before which they go or went; that may be the row after the last.
    pub row: usize,
    pub removed: Vec<String>,
    pub added: Vec<String>,
}

impl Hunk {
    /// Whether it is the same change, wherever it stands.
    pub fn has_lines_of(&self, other: &Self) -> bool {
        self.added == other.added && self.removed == other.removed
    }
}

/// Places each diff in the text, in the order given.
///
/// - A diff with no old text is a whole file: it is applied if the text is the new one or has it as a
///   run of whole lines; else proposed, as the hunks that lead from the present text to the new one.
/// - A text found at several places: one that no earlier diff of the list stands at, then one that
///   begins and ends with whole lines, then the first. (`replace_all` does not cross the wire; a diff
///   that was made so is shown once.)
/// - Both texts are there: proposed, as long as the old one is anywhere outside of the new one. So
///   `beta` to `beta two` is applied when each `beta` is part of a `beta two`.
/// - Neither is there as a whole, since someone else edited nearby: still proposed (or applied) if
///   each hunk's own lines stand as they were beside a line of their context.
/// - A new text without a letter or digit proves nothing: its presence alone never means applied.
pub fn place(text: &str, diffs: &[FileDiff]) -> Vec<Placed> {
    let text = ended(unix(text));
    let text = Text::new(&text);
    let mut taken = Vec::new();
    diffs.iter().map(|diff| place_one(&text, diff, &mut taken)).collect()
}

/// How many lines the hunks add and remove.
pub fn counts(hunks: &[Hunk]) -> (usize, usize) {
    hunks
        .iter()
        .fold((0, 0), |(added, removed), hunk| (added + hunk.added.len(), removed + hunk.removed.len()))
}

/// Which removed line became which added one, both rising: the pairs worth asking [`words`] about.
pub fn pairs(hunk: &Hunk) -> Vec<(usize, usize)> {
    let (removed, added) = (hunk.removed.len(), hunk.added.len());
    match removed.saturating_mul(added) {
        0 => Vec::new(),
        1..=ALIGNED_BLOCK => text_edits::align(&hunk.removed, &hunk.added),
        _ if removed == added => (0..removed).map(|at| (at, at)).collect(),
        _ => Vec::new(),
    }
}

/// The changed parts of a line that became another, in bytes, by whole words. Both are empty when the
/// lines have so little in common that pointing at the rest would point at everything.
pub fn words(removed: &str, added: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    let mut kept = 0;
    if removed.len().max(added.len()) > MAX_WORD_DIFF_BYTES {
        let (prefix, suffix) = common_ends(removed, added);
        push(&mut gone, removed, prefix..removed.len() - suffix);
        push(&mut come, added, prefix..added.len() - suffix);
        kept = visible(&removed[..prefix]) + visible(&removed[removed.len() - suffix..]);
    } else {
        let (old, new) = (tokens(removed), tokens(added));
        let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
        let bytes = |tokens: &[&str], range: Range<usize>| {
            let start: usize = tokens[..range.start].iter().map(|token| token.len()).sum();
            start..start + tokens[range].iter().map(|token| token.len()).sum::<usize>()
        };
        for op in &ops {
            let (from, to) = (bytes(&old, op.old_range()), bytes(&new, op.new_range()));
            if matches!(op, DiffOp::Equal { .. }) {
                kept += visible(&removed[from]);
            } else {
                push(&mut gone, removed, from);
                push(&mut come, added, to);
            }
        }
    }
    let most = visible(removed).max(visible(added));
    if kept * 10 < most * 3 { (Vec::new(), Vec::new()) } else { (gone, come) }
}

/// Lines longer than this, in bytes, are not cut into words.
const MAX_WORD_DIFF_BYTES: usize = 2_000;

/// How many places a text may be found at before the rest does not matter.
const PLACES: usize = 1_000;

/// The present text: LF only, each line ended.
struct Text<'a> {
    text: &'a str,
    lines: Vec<&'a str>,
    /// Where each line starts, in bytes.
    starts: Vec<usize>,
    /// The rows of each line that says something; made when first asked for.
    rows: OnceCell<HashMap<&'a str, Vec<usize>>>,
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
        let lines = lines(text);
        let starts = lines.iter().scan(0, |next, line| Some(mem::replace(next, *next + line.len() + 1)));
        Self { text, starts: starts.collect(), lines, rows: OnceCell::new() }
    }

    fn rows(&self, line: &str) -> &[usize] {
        let rows = self.rows.get_or_init(|| {
            let mut rows: HashMap<&str, Vec<usize>> = HashMap::new();
            for (row, line) in self.lines.iter().enumerate().filter(|(_, line)| says_something(line)) {
                rows.entry(line).or_default().push(row);
            }
            rows
        });
        rows.get(line).map_or(&[], Vec::as_slice)
    }

    fn row(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Where `part` is, from the top down; places may overlap.
    fn find(&self, part: &str) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(at) = self.text[from..].find(part) {
            let start = from + at;
            places.push(start..start + part.len());
            from = start + self.text[start..].chars().next().map_or(1, char::len_utf8);
            if part.is_empty() || places.len() == PLACES || from >= self.text.len() {
                break;
            }
        }
        places
    }

    /// Whether a place begins and ends with whole lines.
    fn is_lines(&self, place: &Range<usize>) -> bool {
        let begins = |at: usize| at == 0 || self.text[..at].ends_with('\n');
        begins(place.start) && (begins(place.end) || self.text[place.end..].starts_with('\n'))
    }

    /// What stood or will stand in the whole lines around `place` once `other` is in it: the first
    /// row, the lines as they are and the lines with `other`.
    fn widen(&self, place: &Range<usize>, other: &str) -> (usize, &str, String) {
        let row = self.row(place.start);
        let start = self.starts[row];
        let mut with = self.text[start..place.start].to_owned() + other;
        // To the end of the next line if the place ends with a line break: it may be gone afterwards.
        let end = self.text[place.end..].find('\n').map_or(self.text.len(), |at| place.end + at + 1);
        with.push_str(&self.text[place.end..end]);
        (row, &self.text[start..end], ended(with))
    }
}

fn place_one(text: &Text, diff: &FileDiff, taken: &mut Vec<Range<usize>>) -> Placed {
    let old = unix(diff.old_text.as_deref().unwrap_or_default());
    let new = unix(&diff.new_text);
    let present = body(text.text);
    if present == body(&new) {
        return Placed { hunks: hunks(0, &old, &new, PlacedState::Applied), state: PlacedState::Applied };
    }
    if present == body(&old) {
        return Placed { hunks: hunks(0, &old, &new, PlacedState::Proposed), state: PlacedState::Proposed };
    }
    if old.is_empty() {
        return place_file(text, &new);
    }
    place_part(text, &old, &new, taken)
        .or_else(|| place_by_lines(text, &old, &new))
        .unwrap_or_else(|| guess(text, &old, &new))
}

/// A whole file that the text is not.
fn place_file(text: &Text, new: &str) -> Placed {
    let lines = ended(new.to_owned());
    let place = says_something(new)
        .then(|| text.find(&lines).into_iter().find(|place| text.is_lines(place)))
        .flatten();
    match place {
        Some(place) => Placed {
            hunks: hunks(text.row(place.start), "", &lines, PlacedState::Applied),
            state: PlacedState::Applied,
        },
        None => {
            Placed { hunks: hunks(0, text.text, &lines, PlacedState::Proposed), state: PlacedState::Proposed }
        }
    }
}

/// A part of the file whose old or new text is there letter by letter.
fn place_part(text: &Text, old: &str, new: &str, taken: &mut Vec<Range<usize>>) -> Option<Placed> {
    let news = if says_something(new) { text.find(new) } else { Vec::new() };
    let within = |part: &Range<usize>| {
        let next = news.partition_point(|whole| whole.start <= part.start);
        // All are equally long, so the last one to begin before it is the one to reach furthest.
        next.checked_sub(1).is_some_and(|at| part.end <= news[at].end)
    };
    let mut olds = text.find(old);
    // Also where both are the same, up to line ends: nothing is left to do.
    olds.retain(|part| !within(part));
    let lined = |places: &[Range<usize>]| -> Vec<Range<usize>> {
        places.iter().filter(|place| text.is_lines(place)).cloned().collect()
    };
    let (lined_olds, lined_news) = (lined(&olds), lined(&news));
    // Texts that both end with a line break are whole lines, unless nothing else can be found.
    let by_lines = old.ends_with('\n') && (new.is_empty() || new.ends_with('\n'));
    let (state, places) = match () {
        () if !lined_olds.is_empty() => (PlacedState::Proposed, lined_olds),
        () if by_lines && !lined_news.is_empty() => (PlacedState::Applied, lined_news),
        () if !olds.is_empty() => (PlacedState::Proposed, olds),
        () if !lined_news.is_empty() => (PlacedState::Applied, lined_news),
        () => (PlacedState::Applied, news),
    };
    let free = |place: &&Range<usize>| {
        taken.iter().all(|other| place.end <= other.start || other.end <= place.start)
    };
    let place = places.iter().find(free).or(places.first())?.clone();
    taken.push(place.clone());
    let (row, present, other) = text.widen(&place, if state == PlacedState::Proposed { new } else { old });
    let hunks = match state {
        PlacedState::Proposed => hunks(row, present, &other, state),
        _ => hunks(row, &other, present, state),
    };
    Some(Placed { hunks, state })
}

/// A part or a whole whose lines are there, though not all in one piece.
fn place_by_lines(text: &Text, old: &str, new: &str) -> Option<Placed> {
    let (old, new) = (lines(old), lines(new));
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let find = |side: &[&str], range: fn(&DiffOp) -> Range<usize>| {
        maps(text, side).into_iter().find_map(|map| {
            let rows: Option<Vec<usize>> =
                changed(&ops).map(|op| map.stands(range(op), text.lines.len())).collect();
            rows.filter(|_| map.is_telling(side))
        })
    };
    let (state, rows) = if let Some(rows) = find(&old, |op| op.old_range()) {
        (PlacedState::Proposed, rows)
    } else {
        (PlacedState::Applied, find(&new, |op| op.new_range())?)
    };
    let hunks = changed(&ops).zip(rows).map(|(op, row)| Arc::new(hunk(row, op, &old, &new))).collect();
    Some(Placed { hunks, state })
}

/// Where the hunks would be if the lines nearest to them are any sign. Where no line is the same, the
/// line most like the first one that goes is taken for it.
fn guess(text: &Text, old: &str, new: &str) -> Placed {
    let (old, new) = (lines(old), lines(new));
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let map = neighbourhood(text, &old).map(|near| Map::new(&old, &text.lines, near));
    let like = || {
        let line = changed(&ops).flat_map(|op| op.old_range()).find(|line| says_something(old[*line]))?;
        Some((line, most_like(old[line], &text.lines)?))
    };
    let like = if map.is_none() { like() } else { None };
    let mut least = 0;
    let hunks = changed(&ops).map(|op| {
        let first = op.old_range().start;
        let row = match (&map, like) {
            (Some(map), _) => map.near(op.old_range()).unwrap_or(first),
            (None, Some((line, row))) => (row + first).saturating_sub(line),
            (None, None) => first,
        };
        least = row.clamp(least, text.lines.len().max(least));
        Arc::new(hunk(least, op, &old, &new))
    });
    Placed { hunks: hunks.collect(), state: PlacedState::Unmatched }
}

/// Which row of the present text each line of another is.
struct Map(Vec<Option<usize>>);

/// How the lines of `side` stand in the text: among all of its lines and in the neighbourhood where
/// most of them are. None where no line that says something is there.
fn maps(text: &Text, side: &[&str]) -> Vec<Map> {
    let all = 0..text.lines.len();
    let near = neighbourhood(text, side);
    let all = near.is_some().then(|| all.clone()).filter(|all| near.as_ref() != Some(all));
    all.into_iter().chain(near).map(|range| Map::new(side, &text.lines, range)).collect()
}

impl Map {
    fn new(side: &[&str], present: &[&str], range: Range<usize>) -> Self {
        let mut map = vec![None; side.len()];
        for op in capture_diff_slices(Algorithm::Myers, side, &present[range.clone()]) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                (0..len).for_each(|at| map[old_index + at] = Some(range.start + new_index + at));
            }
        }
        Self(map)
    }

    fn get(&self, line: usize) -> Option<usize> {
        self.0.get(line).copied().flatten()
    }

    /// Whether at least half of the lines that say something are there.
    fn is_telling(&self, side: &[&str]) -> bool {
        let telling = || side.iter().zip(&self.0).filter(|(line, _)| says_something(line));
        let there = telling().filter(|(_, row)| row.is_some()).count();
        there > 0 && there * 2 >= telling().count()
    }

    /// The row at which these lines stand together, next to their context. Where there are no lines,
    /// the context must stand together on both sides.
    fn stands(&self, range: Range<usize>, rows: usize) -> Option<usize> {
        let before = range.start.checked_sub(1).map(|line| self.get(line));
        let after = (range.end < self.0.len()).then(|| self.get(range.end));
        let row = match self.get(range.start).filter(|_| !range.is_empty()) {
            Some(row) => row,
            None if range.is_empty() => match (before, after) {
                (Some(before), _) => before? + 1,
                (None, Some(after)) => after?,
                (None, None) => return None,
            },
            None => return None,
        };
        let end = row + range.len();
        if !range.clone().zip(row..end).all(|(line, row)| self.get(line) == Some(row)) {
            return None;
        }
        let above = before.map_or(row == 0, |before| before.is_some_and(|before| before + 1 == row));
        let below = after.map_or(end == rows, |after| after == Some(end));
        let stands = if range.is_empty() { above && below } else { above || below };
        stands.then_some(row)
    }

    /// The row of these lines, reckoned from the nearest line that is there.
    fn near(&self, range: Range<usize>) -> Option<usize> {
        let within = range.clone().find_map(|line| Some(self.get(line)?.saturating_sub(line - range.start)));
        let above = || (0..range.start).rev().find_map(|line| Some((self.get(line)?, range.start - line)));
        let below = || (range.end..self.0.len()).find_map(|line| Some((self.get(line)?, line - range.end)));
        within.or_else(|| match (above(), below()) {
            (Some((row, up)), Some((_, down))) if up <= down => Some(row + up),
            (_, Some((row, down))) => Some(row.saturating_sub(down + range.len())),
            (Some((row, up)), None) => Some(row + up),
            (None, None) => None,
        })
    }
}

/// The rows around the place that most lines of `side` speak for, the rarer ones louder.
fn neighbourhood(text: &Text, side: &[&str]) -> Option<Range<usize>> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    side.iter().for_each(|line| *counts.entry(line).or_default() += 1);
    // A vote is for the row of the side's first line, plus the side's length lest it be negative.
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in side.iter().enumerate() {
        let rows = text.rows(line);
        let voices = rows.len() * counts[line];
        if voices <= 100 {
            rows.iter().for_each(|row| *votes.entry(side.len() + row - at).or_default() += 1_000 / voices);
        }
    }
    let (vote, _) = votes.into_iter().max_by_key(|(vote, voices)| (*voices, Reverse(*vote)))?;
    let margin = 10 + side.len() / 2;
    Some(vote.saturating_sub(side.len() + margin)..(vote + margin).min(text.lines.len()))
}

/// The row of the line that is most like another.
fn most_like(line: &str, lines: &[&str]) -> Option<usize> {
    let alike = lines.iter().enumerate().map(|(row, other)| (likeness(line, other), Reverse(row)));
    alike.max().filter(|(alike, _)| *alike >= ALIKE).map(|(_, Reverse(row))| row)
}

/// What changes between two runs of whole lines, the present one of which begins at `row`.
fn hunks(row: usize, old: &str, new: &str, state: PlacedState) -> Vec<Arc<Hunk>> {
    let (old, new) = (lines(old), lines(new));
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let at = |op: &DiffOp| match state {
        PlacedState::Applied => op.new_range().start,
        PlacedState::Proposed | PlacedState::Unmatched => op.old_range().start,
    };
    changed(&ops).map(|op| Arc::new(hunk(row + at(op), op, &old, &new))).collect()
}

fn hunk(row: usize, op: &DiffOp, old: &[&str], new: &[&str]) -> Hunk {
    let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
    Hunk { row, removed: owned(&old[op.old_range()]), added: owned(&new[op.new_range()]) }
}

fn changed(ops: &[DiffOp]) -> impl Iterator<Item = &DiffOp> {
    ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }))
}

fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// A file's text without the newline at its end, which some agents leave out.
fn body(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

fn lines(text: &str) -> Vec<&str> {
    text.split_terminator('\n').collect()
}

fn says_something(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// Words, runs of white space, and all else character by character.
fn tokens(line: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum Kind {
        Word,
        Space,
        Other,
    }
    let kind = |c: char| match c {
        '_' => Kind::Word,
        c if c.is_alphanumeric() => Kind::Word,
        c if c.is_whitespace() => Kind::Space,
        _ => Kind::Other,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut last = Kind::Other;
    for (at, c) in line.char_indices() {
        let this = kind(c);
        if at > start && (this != last || this == Kind::Other) {
            tokens.push(&line[start..at]);
            start = at;
        }
        last = this;
    }
    if start < line.len() {
        tokens.push(&line[start..]);
    }
    tokens
}

fn visible(text: &str) -> usize {
    text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count()
}

/// Adds a changed part of a line; one that only white space keeps from the last one lengthens that.
fn push(ranges: &mut Vec<Range<usize>>, line: &str, range: Range<usize>) {
    match ranges.last_mut() {
        _ if range.is_empty() => {}
        Some(last) if visible(&line[last.end..range.start]) == 0 => last.end = range.end,
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests;

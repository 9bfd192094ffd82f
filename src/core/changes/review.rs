//! What an agent changed in a file, hunk by hunk, until the user has kept or undone each hunk. A review
//! compares the current text with a base: the text as it would be if the agent had done nothing. What the
//! user types in the meantime goes into the base, too, so it is neither shown as the agent's nor lost
//! when a hunk is undone. Showing hunks and changing buffers is left to the editor's side.
//!
//! Texts are as in [`super::text_edits`]: lines joined by `\n`, without the newline that ends the file.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::core::changes::authors::Authors;
use crate::core::changes::diff::Hunk;
use crate::core::changes::hunk_history::{EarlierHunk, TextPrint, print_of};
use crate::core::changes::text_edits::{self, Change, TextEdit, same_ends};

/// A line of a text; copies of a review share those that have not changed.
pub type Line = Arc<str>;

/// One file under review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Never without a line; nor is `current`. A copy of the review shares them until one of the two changes.
    base: Arc<Vec<Line>>,
    current: Arc<Vec<Line>>,
    /// The runs of lines in which the two differ, from the top down, none touching another.
    spans: Vec<Span>,
    /// Of `current`.
    print: TextPrint,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Span {
    base: Range<usize>,
    current: Range<usize>,
    /// The user has changed it since, too.
    mixed: bool,
}

/// Some lines of a hunk: which of those that it removed, and which of those that it added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub hunk: usize,
    pub removed: Range<usize>,
    pub added: Range<usize>,
}

/// A few lines that replace others: rows of the text before, and what stands there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    pub rows: Range<usize>,
    pub lines: Vec<String>,
}

impl From<Splice> for TextEdit {
    /// In the shape of whole lines, see [`TextEdit::whole_lines`].
    fn from(Splice { rows, mut lines }: Splice) -> Self {
        lines.push(String::new());
        Self { start: (rows.start, 0), end: (rows.end, 0), lines }
    }
}

impl Review {
    /// A review of what the agent made of `base`.
    pub fn new(base: &str, current: &str) -> Self {
        let current_lines = split(current);
        let print = TextPrint::of(&current_lines);
        let mut review =
            Self { base: Arc::new(split(base)), current: Arc::new(current_lines), spans: Vec::new(), print };
        if base != current {
            review.compare();
        }
        review
    }

    /// The text with every hunk undone.
    pub fn base(&self) -> String {
        self.base.join("\n")
    }

    /// The lines of the text with every hunk undone.
    pub fn base_lines(&self) -> &[Line] {
        &self.base
    }

    /// The text with every hunk kept.
    pub fn current(&self) -> String {
        self.current.join("\n")
    }

    /// Nothing is left to decide.
    pub fn is_settled(&self) -> bool {
        self.spans.is_empty()
    }

    /// What the agent changed, from the top down; rows are those of the present text.
    pub fn hunks(&self) -> Vec<Hunk> {
        let hunk = |span: &Span| Hunk {
            row: span.current.start,
            removed: owned(&self.base[span.base.clone()]),
            added: owned(&self.current[span.current.clone()]),
        };
        self.spans.iter().map(hunk).collect()
    }

    /// The number of a hunk that is still the same.
    pub fn find(&self, hunk: &Hunk) -> Option<usize> {
        let is_it = |span: &Span| {
            span.current.start == hunk.row
                && is_same_text(&self.base[span.base.clone()], &hunk.removed)
                && is_same_text(&self.current[span.current.clone()], &hunk.added)
        };
        self.spans.iter().position(is_it)
    }

    /// How many hunks there are.
    pub fn hunk_count(&self) -> usize {
        self.spans.len()
    }

    /// The number of the hunk at a row of the present text. One that only removed lines is at the row
    /// after them, or at the last row if there is none.
    pub fn at_row(&self, row: usize) -> Option<usize> {
        let last = self.current.len() - 1;
        self.spans.iter().position(|span| {
            span.current.contains(&row) || (span.current.is_empty() && row == span.current.start.min(last))
        })
    }

    /// Whether the user has changed a hunk since the agent made it.
    pub fn is_mixed(&self, hunk: usize) -> bool {
        self.spans.get(hunk).is_some_and(|span| span.mixed)
    }

    /// The rows of the present text that the hunk's lines stand at.
    pub fn rows(&self, hunk: usize) -> Option<Range<usize>> {
        self.spans.get(hunk).map(|span| span.current.clone())
    }

    /// The number of lines that are there now.
    pub fn line_count(&self) -> usize {
        self.current.len()
    }

    /// Lines of the present text.
    pub fn lines(&self, rows: Range<usize>) -> &[Line] {
        &self.current[rows]
    }

    /// What leads from the present text to another, as one splice; `None` when they are the same.
    pub fn difference(&self, text: &str) -> Option<Splice> {
        let lines: Vec<&str> = text.split('\n').collect();
        let (first, last) = same_ends(&self.current, &lines, |old, new| **old == **new);
        if first == self.current.len() && first == lines.len() {
            return None;
        }
        let lines = lines[first..lines.len() - last].iter().map(|line| (*line).to_owned()).collect();
        Some(Splice { rows: first..self.current.len() - last, lines })
    }

    /// The agent changed the text.
    pub fn agent_wrote(&mut self, text: &str) {
        if let Some(splice) = self.difference(text) {
            self.agent_spliced(splice);
        }
    }

    /// The user changed the text. What they did to lines that are the agent's, or between two of them,
    /// becomes a part of that hunk; all else is in the base from now on.
    pub fn user_wrote(&mut self, text: &str) {
        if let Some(splice) = self.difference(text) {
            self.user_spliced(splice);
        }
    }

    /// The agent changed lines. Costs what the lines and the hunks at them cost, not what the text does.
    pub fn agent_spliced(&mut self, splice: Splice) {
        let window = self.window(&splice.rows);
        self.splice(splice, window);
    }

    /// The user changed lines; see [`Self::user_wrote`].
    pub fn user_spliced(&mut self, splice: Splice) {
        let window = self.window(&splice.rows);
        if self.puts_back(&splice) {
            return self.splice(splice, window);
        }
        let changes = self.changes(&splice);
        let touched = changes.iter().any(|change| self.is_agents(&change.old));
        let for_base = self.for_base(&changes);
        let before = self.base.len();
        let had_no_line = self.has_no_line() && !self.is_settled();
        let base = Arc::make_mut(&mut self.base);
        // The line that stands for none makes room for the first ones.
        let mut stand_in = 0;
        for (rows, lines) in for_base.iter().rev() {
            let first = splice.rows.start;
            let new = shared(&splice.lines[lines.start - first..lines.end - first]);
            stand_in += if rows.start == 0 { new.len() } else { 0 };
            base.splice(rows.clone(), new);
        }
        if had_no_line && base.len() > 1 {
            base.remove(stand_in);
        }
        let has_no_line = base.is_empty() || for_base.is_empty() && had_no_line;
        if base.is_empty() {
            base.push(Line::default());
        }
        let grown = self.base.len() as isize - before as isize;
        self.splice_with(splice, window, (grown, touched), has_no_line);
    }

    /// Takes a hunk over for good. A number that no hunk has does nothing.
    pub fn keep(&mut self, hunk: usize) {
        let Some(span) = self.take(hunk, |span| &mut span.base, |span| span.current.len()) else { return };
        Arc::make_mut(&mut self.base).splice(span.base, self.current[span.current].iter().cloned());
    }

    /// Puts back what was there before a hunk, and gives what does so in the present text. A number that
    /// no hunk has does nothing.
    pub fn undo(&mut self, hunk: usize) -> Option<Splice> {
        let span = self.take(hunk, |span| &mut span.current, |span| span.base.len())?;
        let splice = Splice { rows: span.current, lines: owned(&self.base[span.base]) };
        self.put(splice.rows.clone(), splice.lines.clone());
        Some(splice)
    }

    /// The present text, to be known again.
    pub fn text_print(&self) -> TextPrint {
        self.print
    }

    /// A hunk and what is to be known of it when the present text is an earlier one. Who wrote its lines is added by
    /// the caller.
    pub fn earlier_hunk(&self, hunk: usize, authors: &Authors) -> Option<EarlierHunk> {
        let span = self.spans.get(hunk)?;
        let (base, rows) = (owned(&self.base[span.base.clone()]), span.current.clone());
        let (print, authors) = (self.hunk_print(hunk)?, authors.part(rows.clone()));
        Some(EarlierHunk { rows, base, mixed: span.mixed, authors, print })
    }

    /// Tells hunks with the same lines on both sides.
    pub fn hunk_print(&self, hunk: usize) -> Option<u64> {
        let span = self.spans.get(hunk)?;
        Some(print_of(&(&self.base[span.base.clone()], &self.current[span.current.clone()])))
    }

    /// The text that a splice of the present one makes.
    pub fn print_after(&self, splice: &Splice) -> TextPrint {
        self.print.spliced(&self.current, &splice.rows, &splice.lines)
    }

    /// Whether rows are a part of a hunk that has others as well.
    pub fn is_within_hunk(&self, rows: &Range<usize>) -> bool {
        self.span_before(rows.start)
            .is_some_and(|span| rows.end <= span.current.end && rows.len() < span.current.len())
    }

    /// Whether there are hunks at rows of the present text, or next to them.
    pub fn has_hunks_near(&self, rows: &Range<usize>) -> bool {
        !self.window(rows).spans.is_empty()
    }

    /// The present text had these hunks before: all else in it is the user's. Says whether it was that text.
    pub fn restore(&mut self, hunks: &[EarlierHunk]) -> bool {
        let is_same = |(span, hunk): (&Span, &EarlierHunk)| {
            span.current == hunk.rows && is_same_text(&self.base[span.base.clone()], &hunk.base)
        };
        if self.spans.len() == hunks.len() && self.spans.iter().zip(hunks).all(is_same) {
            self.spans.iter_mut().zip(hunks).for_each(|(span, hunk)| span.mixed = hunk.mixed);
            return true;
        }
        let (mut base, mut spans, mut done) = (Vec::with_capacity(self.base.len()), Vec::new(), 0);
        for hunk in hunks {
            // Two texts may have the same print, if that is unlikely.
            let Some(before) = self.current.get(done..hunk.rows.start) else { return false };
            let Some(added) = self.current.get(hunk.rows.clone()) else { return false };
            if print_of(&(&hunk.base[..], added)) != hunk.print {
                return false;
            }
            base.extend_from_slice(before);
            let first = base.len();
            base.extend(shared(&hunk.base));
            spans.push(Span { base: first..base.len(), current: hunk.rows.clone(), mixed: hunk.mixed });
            done = hunk.rows.end;
        }
        base.extend_from_slice(&self.current[done..]);
        (self.base, self.spans) = (Arc::new(base), spans);
        true
    }

    /// Rows of the present text are the agent's from now on, who put them in the place of other lines. Says whether
    /// that can be: not where they are at a hunk already.
    pub fn claim(&mut self, rows: Range<usize>, removed: &[String], mixed: bool) -> bool {
        let meets = |span: &Span| span.current.start <= rows.end && rows.start <= span.current.end;
        let is_there = rows.start <= rows.end && rows.end <= self.current.len();
        if !is_there || self.spans.iter().any(meets) || is_same_text(&self.current[rows.clone()], removed) {
            return false;
        }
        let at = self.spans.partition_point(|span| span.current.end < rows.start);
        let start = match at.checked_sub(1).map(|before| &self.spans[before]) {
            Some(before) => rows.start - before.current.end + before.base.end,
            None => rows.start,
        };
        let end = start + removed.len();
        for later in &mut self.spans[at..] {
            let range = &mut later.base;
            *range = range.start + removed.len() - rows.len()..range.end + removed.len() - rows.len();
        }
        Arc::make_mut(&mut self.base).splice(start..start + rows.len(), shared(removed));
        if self.base.is_empty() {
            // A text is never without a line, so this is a hunk that has made the first one.
            Arc::make_mut(&mut self.base).push(Line::default());
            return self.claimed(at, Span { base: 0..1, current: rows, mixed });
        }
        self.claimed(at, Span { base: start..end, current: rows, mixed })
    }

    fn claimed(&mut self, at: usize, span: Span) -> bool {
        self.spans.insert(at, span);
        true
    }

    /// The part of a hunk whose added lines are at these rows. Lines go in pairs, one that was removed with one that was
    /// added; what is left over on one side goes with the last.
    pub fn part_at(&self, hunk: usize, rows: &Range<usize>) -> Option<Part> {
        let span = self.spans.get(hunk)?;
        let (start, end) = (rows.start.max(span.current.start), rows.end.min(span.current.end));
        if start >= end || (start, end) == (span.current.start, span.current.end) {
            return None;
        }
        let added = start - span.current.start..end - span.current.start;
        let count = span.base.len();
        let last = if end == span.current.end { count } else { added.end.min(count) };
        Some(Part { hunk, removed: added.start.min(count)..last, added })
    }

    /// Takes some lines of a hunk over for good; the rest of it stays.
    pub fn keep_part(&mut self, part: &Part) {
        let Some((span, base, current)) = self.find_part(part) else { return };
        let base = if self.has_no_line() { 0..1 } else { base };
        let lines = self.current[current.clone()].to_vec();
        let grown = lines.len() as isize - base.len() as isize;
        let kept = base.start..base.start + lines.len();
        Arc::make_mut(&mut self.base).splice(base, lines);
        let whole = Span { base: longer(&span.base, grown), ..span };
        let rest = self.compared_around(&whole, (&kept, &current));
        self.replace_span(part.hunk, rest, (grown, 0));
    }

    /// Takes lines over for good that stand in a hunk, as near to this row as there are such.
    pub fn keep_lines(&mut self, row: usize, lines: &[String]) {
        let found = self.spans.iter().enumerate().flat_map(|(hunk, span)| {
            let rows = span.current.clone();
            let starts = rows.start..(rows.end + 1).saturating_sub(lines.len());
            starts.map(move |start| (hunk, start..start + lines.len()))
        });
        let same = found.filter(|(_, rows)| is_same_text(&self.current[rows.clone()], lines));
        let Some((hunk, rows)) = same.min_by_key(|(_, rows)| rows.start.abs_diff(row)) else { return };
        match self.part_at(hunk, &rows) {
            Some(part) => self.keep_part(&part),
            None => self.keep(hunk),
        }
    }

    /// Puts back what some lines of a hunk replaced, and gives what does so in the present text.
    pub fn undo_part(&mut self, part: &Part) -> Option<Splice> {
        let (span, base, current) = self.find_part(part)?;
        let has_no_line = self.has_no_line();
        let lines = if has_no_line { Vec::new() } else { owned(&self.base[base.clone()]) };
        let splice = Splice { rows: current, lines };
        // A text is never without a line.
        let new = self.put(splice.rows.clone(), splice.lines.clone());
        let grown = new.len() as isize - splice.rows.len() as isize;
        let whole = Span { current: longer(&span.current, grown), ..span };
        let rest = match has_no_line {
            true => self.compared(whole.base, whole.current, true),
            false => self.compared_around(&whole, (&base, &new)),
        };
        let rest = rest.into_iter().map(|new| Span { mixed: whole.mixed, ..new }).collect();
        self.replace_span(part.hunk, rest, (0, grown));
        Some(splice)
    }

    /// A part's rows on both sides.
    fn find_part(&self, part: &Part) -> Option<(Span, Range<usize>, Range<usize>)> {
        let span = self.spans.get(part.hunk)?.clone();
        let within = |all: &Range<usize>, part: &Range<usize>| {
            let found = all.start + part.start..all.start + part.end;
            (part.start <= part.end && found.end <= all.end).then_some(found)
        };
        let (base, current) = (within(&span.base, &part.removed)?, within(&span.current, &part.added)?);
        Some((span, base, current))
    }

    /// What still differs in a span of which these rows are the same on both sides by now. They are not compared: lines
    /// that are like them stand for themselves.
    fn compared_around(&self, whole: &Span, (base, current): (&Range<usize>, &Range<usize>)) -> Vec<Span> {
        let above = (whole.base.start..base.start, whole.current.start..current.start);
        let below = (base.end..whole.base.end, current.end..whole.current.end);
        let mut spans: Vec<Span> = Vec::new();
        for span in [above, below].into_iter().flat_map(|(base, current)| self.compared(base, current, false))
        {
            add_span(&mut spans, span.base, span.current);
        }
        spans.iter_mut().for_each(|span| span.mixed = whole.mixed);
        spans
    }

    /// Others stand in a span's place, of which the two sides have got longer by so many lines.
    fn replace_span(&mut self, hunk: usize, spans: Vec<Span>, (of_base, of_current): (isize, isize)) {
        let after = hunk + spans.len();
        self.spans.splice(hunk..=hunk, spans);
        let moved = |range: &Range<usize>, by: isize| {
            range.start.saturating_add_signed(by)..range.end.saturating_add_signed(by)
        };
        for later in &mut self.spans[after..] {
            later.base = moved(&later.base, of_base);
            later.current = moved(&later.current, of_current);
        }
        if self.base.is_empty() {
            Arc::make_mut(&mut self.base).push(Line::default());
        }
    }

    pub fn keep_all(&mut self) {
        self.base.clone_from(&self.current);
        self.spans.clear();
    }

    /// What a splice changes line by line; rows are those of the text.
    pub(crate) fn changes(&self, splice: &Splice) -> Vec<Change> {
        let Splice { rows, lines } = splice;
        let start = rows.start;
        if rows.is_empty() || lines.is_empty() {
            return vec![Change { old: rows.clone(), new: start..start + lines.len() }];
        }
        let old: Vec<&str> = texts(&self.current[rows.clone()]).collect();
        let new: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut changes = text_edits::changes(&old, &new);
        for Change { old, new } in &mut changes {
            *old = old.start + start..old.end + start;
            *new = new.start + start..new.end + start;
        }
        changes
    }

    /// The spans at and around rows of the present text, and the part of the two texts that is to be
    /// compared anew when these rows change: it ends in lines that are the same on both sides, where
    /// there are any.
    fn window(&self, rows: &Range<usize>) -> Window {
        let mut start = rows.start.saturating_sub(1);
        let mut end = (rows.end + 1).min(self.current.len());
        let first = self.spans.partition_point(|span| span.current.end < start);
        let last = self.spans.partition_point(|span| span.current.start <= end).max(first);
        if let Some(span) = self.spans[first..last].first() {
            start = start.min(span.current.start);
        }
        if let Some(span) = self.spans[first..last].last() {
            end = end.max(span.current.end);
        }
        let base_start = match first.checked_sub(1).map(|at| &self.spans[at]) {
            Some(before) => start - before.current.end + before.base.end,
            None => start,
        };
        let base_end = match self.spans.get(last) {
            Some(after) => after.base.start - (after.current.start - end),
            None => self.base.len() - (self.current.len() - end),
        };
        Window { spans: first..last, base: base_start..base_end, current: start..end }
    }

    /// The base stays as it is.
    fn splice(&mut self, splice: Splice, window: Window) {
        let has_no_line = self.has_no_line();
        self.splice_with(splice, window, (0, false), has_no_line);
    }

    fn splice_with(
        &mut self,
        splice: Splice,
        window: Window,
        (grown, touched): (isize, bool),
        has_no_line: bool,
    ) {
        let new = self.put(splice.rows.clone(), splice.lines);
        let longer = new.len() as isize - splice.rows.len() as isize;
        let base = window.base.start..window.base.end.saturating_add_signed(grown);
        let current = window.current.start..window.current.end.saturating_add_signed(longer);
        let was_mixed: Vec<Range<usize>> = self.spans[window.spans.clone()]
            .iter()
            .filter(|span| span.mixed)
            .map(|span| span.base.clone())
            .collect();
        let mut spans = self.compared(base, current, has_no_line);
        for span in &mut spans {
            let meets =
                |one: &Range<usize>, other: &Range<usize>| one.start <= other.end && other.start <= one.end;
            span.mixed = touched && meets(&new, &span.current)
                || was_mixed.iter().any(|other| meets(other, &span.base));
        }
        let after = window.spans.start + spans.len();
        self.spans.splice(window.spans, spans);
        let moved = |range: &Range<usize>, by: isize| {
            range.start.saturating_add_signed(by)..range.end.saturating_add_signed(by)
        };
        for span in &mut self.spans[after..] {
            span.base = moved(&span.base, grown);
            span.current = moved(&span.current, longer);
        }
    }

    /// Puts lines into the present text in place of others; gives their rows.
    fn put(&mut self, rows: Range<usize>, mut lines: Vec<String>) -> Range<usize> {
        if lines.is_empty() && rows.len() == self.current.len() {
            lines.push(String::new());
        }
        let new = rows.start..rows.start + lines.len();
        self.print.remove(&self.current, rows.clone());
        Arc::make_mut(&mut self.current).splice(rows, shared(&lines));
        self.print.add(&self.current, new.clone());
        new
    }

    /// Whether the base is without a line, for which an empty one stands: one that belongs to a hunk, or the whole of a
    /// text without hunks.
    fn has_no_line(&self) -> bool {
        let is_empty = matches!(&self.base[..], [line] if line.is_empty());
        is_empty && self.spans.first().is_none_or(|span| span.base == (0..1))
    }

    /// The runs of lines in which parts of the two texts differ. A base without a line has none of the empty lines of
    /// the other text.
    fn compared(&self, base: Range<usize>, current: Range<usize>, has_no_line: bool) -> Vec<Span> {
        if has_no_line && base == (0..1) && current.len() > 1 {
            return vec![Span { base, current, mixed: false }];
        }
        let ops =
            capture_diff_slices(Algorithm::Myers, &self.base[base.clone()], &self.current[current.clone()]);
        let mut spans: Vec<Span> = Vec::new();
        for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
            let (from, to) = (op.old_range(), op.new_range());
            let from = from.start + base.start..from.end + base.start;
            let to = to.start + current.start..to.end + current.start;
            add_span(&mut spans, from, to);
        }
        spans
    }

    fn compare(&mut self) {
        let all = (0..self.base.len(), 0..self.current.len());
        self.spans = self.compared(all.0, all.1, self.has_no_line());
    }

    /// Whether a splice brings the base's lines back in place of all hunks that it touches, as `u` does.
    fn puts_back(&self, splice: &Splice) -> bool {
        let Splice { rows, lines } = splice;
        let first = self.spans.partition_point(|span| span.current.end < rows.start);
        let last = self.spans.partition_point(|span| span.current.start <= rows.end).max(first);
        let touched = &self.spans[first..last];
        let (Some(from), Some(to)) = (touched.first(), touched.last()) else { return false };
        let (start, end) = (rows.start.min(from.current.start), rows.end.max(to.current.end));
        let base = from.base.start - (from.current.start - start)..to.base.end + (end - to.current.end);
        let [above, below] = [start..rows.start, rows.end..end].map(|rows| texts(&self.current[rows]));
        texts(&self.base[base]).eq(above.chain(lines.iter().map(String::as_str)).chain(below))
    }

    /// Whether rows are the agent's, some of them at least, or lie within what is.
    fn is_agents(&self, rows: &Range<usize>) -> bool {
        let within = rows.is_empty() && self.base_before(rows.start).is_none();
        within || rows.clone().any(|row| self.base_row(row).is_none())
    }

    /// Takes a span out, before one side of it gets as many lines as `len` says.
    fn take(
        &mut self,
        hunk: usize,
        side: fn(&mut Span) -> &mut Range<usize>,
        len: fn(&Span) -> usize,
    ) -> Option<Span> {
        if hunk >= self.spans.len() {
            return None;
        }
        let mut span = self.spans.remove(hunk);
        let (old, new) = (side(&mut span).len(), len(&span));
        for later in &mut self.spans[hunk..] {
            let range = side(later);
            *range = range.start + new - old..range.end + new - old;
        }
        Some(span)
    }

    /// What changes of the present text are to the base: rows of it that become lines of the new text,
    /// from the top down.
    fn for_base(&self, changes: &[Change]) -> Vec<(Range<usize>, Range<usize>)> {
        let mut found = Vec::new();
        for Change { old, new } in changes {
            if let (1, 1) = (old.len(), new.len()) {
                found.extend(self.base_row(old.start).map(|row| (row..row + 1, new.clone())));
                continue;
            }
            if let Some(row) = self.base_before(old.start).filter(|_| !new.is_empty()) {
                found.push((row..row, new.clone()));
            }
            let gone = old.clone().filter_map(|row| self.base_row(row));
            found.extend(gone.map(|row| (row..row + 1, new.end..new.end)));
        }
        found
    }

    /// The last span that begins at or above a row.
    fn span_before(&self, row: usize) -> Option<&Span> {
        let next = self.spans.partition_point(|span| span.current.start <= row);
        next.checked_sub(1).map(|at| &self.spans[at])
    }

    /// The row of the base that a row of the present text is; `None` if it is the agent's.
    fn base_row(&self, row: usize) -> Option<usize> {
        match self.span_before(row) {
            Some(span) if row < span.current.end => None,
            Some(span) => Some(row - span.current.end + span.base.end),
            None => Some(row),
        }
    }

    /// The row of the base before which lines are to go that go before a row of the present text;
    /// `None` between two lines of the agent's.
    fn base_before(&self, row: usize) -> Option<usize> {
        match self.span_before(row) {
            Some(span) if row == span.current.start && !span.current.is_empty() => Some(span.base.start),
            _ => self.base_row(row),
        }
    }
}

/// Which part of a review a change is about.
struct Window {
    spans: Range<usize>,
    base: Range<usize>,
    current: Range<usize>,
}

fn longer(range: &Range<usize>, by: isize) -> Range<usize> {
    range.start..range.end.saturating_add_signed(by)
}

/// Adds a span below others; one that begins where the last ends is a part of it.
fn add_span(spans: &mut Vec<Span>, base: Range<usize>, current: Range<usize>) {
    match spans.last_mut() {
        Some(last) if last.base.end == base.start && last.current.end == current.start => {
            (last.base.end, last.current.end) = (base.end, current.end);
        }
        _ => spans.push(Span { base, current, mixed: false }),
    }
}

fn split(text: &str) -> Vec<Line> {
    text.split('\n').map(Line::from).collect()
}

pub fn texts(lines: &[Line]) -> impl Iterator<Item = &str> {
    lines.iter().map(|line| &**line)
}

pub fn owned(lines: &[Line]) -> Vec<String> {
    texts(lines).map(str::to_owned).collect()
}

fn is_same_text(lines: &[Line], others: &[String]) -> bool {
    texts(lines).eq(others.iter().map(String::as_str))
}

fn shared(lines: &[String]) -> impl ExactSizeIterator<Item = Line> {
    lines.iter().map(|line| Line::from(line.as_str()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    /// `row -removed|lines +added|lines` for each hunk.
    fn show(review: &Review) -> Vec<String> {
        let part = |sign: char, lines: &[String]| match lines {
            [] => String::new(),
            lines => format!(" {sign}{}", lines.join("|")),
        };
        let show =
            |hunk: &Hunk| format!("{}{}{}", hunk.row, part('-', &hunk.removed), part('+', &hunk.added));
        review.hunks().iter().map(show).collect()
    }

    #[test]
    fn a_text_without_lines_is_no_empty_line_of_the_new_one() {
        let mut review = Review::new("", "a\n\nb");
        assert_eq!(show(&review), ["0 - +a||b"]);
        review.agent_wrote("a\n\nc\n\nd");
        assert_eq!(show(&review), ["0 - +a||c||d"]);
        assert_eq!(review.hunks()[0].removed, [""]);
        undo(&mut review, 0);
        assert_eq!((review.current().as_str(), review.is_settled()), ("", true));
    }

    #[test]
    fn what_the_user_adds_to_a_new_file_is_beside_all_that_the_agent_wrote() {
        for (text, hunk, undone) in [
            ("a\n\nb\nmine", "0 +a||b", "mine"),
            ("mine\na\n\nb", "1 +a||b", "mine"),
            ("a\n\nb\n\nmine", "0 +a||b", "\nmine"),
            ("a\n\nb\n", "0 +a||b", ""),
            ("\na\n\nb", "1 +a||b", ""),
        ] {
            let mut review = Review::new("", "a\n\nb");
            review.user_wrote(text);
            assert_eq!(show(&review), [hunk]);
            review.user_wrote("a\n\nb");
            assert_eq!(show(&review), ["0 - +a||b"], "without it, all is as it was");
            review.user_wrote(text);
            undo(&mut review, 0);
            assert_eq!((review.current().as_str(), review.is_settled()), (undone, true));
        }
        let mut review = Review::new("", "a\n\nb");
        review.user_wrote("mine\na\n\nb");
        review.user_wrote("mine\na\n\nb\nmore");
        assert_eq!(show(&review), ["1 +a||b"]);
        undo(&mut review, 0);
        assert_eq!(review.current(), "mine\nmore");
    }

    #[test]
    fn a_part_of_a_new_file_leaves_no_empty_line() {
        let part = Part { hunk: 0, removed: 0..1, added: 0..1 };
        let middle = Part { hunk: 0, removed: 1..1, added: 1..2 };
        for (part, kept, undone) in [(part, "a", "\nb"), (middle, "", "a\nb")] {
            let mut review = Review::new("", "a\n\nb");
            review.keep_part(&part);
            assert_eq!(review.base(), kept);
            let mut review = Review::new("", "a\n\nb");
            review.undo_part(&part);
            assert_eq!((review.current().as_str(), review.hunk_count()), (undone, 1));
        }
    }

    fn undo(review: &mut Review, hunk: usize) {
        let mut lines: Vec<String> = review.current().split('\n').map(str::to_owned).collect();
        let splice = review.undo(hunk).expect("a hunk of this number");
        lines.splice(splice.rows, splice.lines);
        if lines.is_empty() {
            lines.push(String::new());
        }
        assert_eq!(lines.join("\n"), review.current());
    }

    fn undo_all(review: &mut Review) {
        (0..review.hunks().len()).rev().for_each(|hunk| undo(review, hunk));
        assert!(review.is_settled());
    }

    #[test]
    fn hunks_are_kept_and_undone_one_by_one() {
        let mut review = Review::new("a\nb\nc\nd\ne", "A\nb\nc\nnew\nd");
        assert_eq!(show(&review), ["0 -a +A", "3 +new", "5 -e"]);
        undo(&mut review, 1);
        assert_eq!(show(&review), ["0 -a +A", "4 -e"]);
        review.keep(1);
        assert_eq!(show(&review), ["0 -a +A"]);
        undo(&mut review, 0);
        assert!(review.is_settled());
        assert_eq!((review.base(), review.current()), ("a\nb\nc\nd".into(), "a\nb\nc\nd".into()));
    }

    #[test]
    fn a_hunk_that_the_user_puts_back_is_settled_however_many_lines_it_had() {
        let mut review = Review::new("a\nb\nc\nd\ne", "a\nB\nd\nE\nE2");
        // In one step, as other plugins reset a hunk.
        review.user_spliced(Splice { rows: 1..2, lines: vec!["b".into(), "c".into()] });
        assert_eq!(show(&review), ["4 -e +E|E2"]);
        // The whole text, told by what differs.
        review.user_wrote("a\nb\nc\nd\ne");
        assert!(review.is_settled());
        assert_eq!(review.base(), "a\nb\nc\nd\ne");
    }

    #[test]
    fn a_hunk_that_is_not_there_is_neither_kept_nor_undone() {
        let mut review = Review::new("a", "b");
        let before = review.clone();
        review.keep(1);
        assert_eq!(review.undo(7), None);
        assert_eq!(review, before);
    }

    #[test]
    fn a_hunk_is_found_at_its_rows() {
        let review = Review::new("a\nb\nc\nd", "A\nA2\nb\nc");
        assert_eq!(show(&review), ["0 -a +A|A2", "4 -d"]);
        assert_eq!([0, 1, 2, 3].map(|row| review.at_row(row)), [Some(0), Some(0), None, Some(1)]);
    }

    #[test]
    fn a_new_file_is_undone_to_an_empty_one() {
        let mut review = Review::new("", "salve\nmunde");
        assert_eq!(show(&review), ["0 - +salve|munde"]);
        undo(&mut review, 0);
        assert_eq!(review.current(), "");
    }

    #[test]
    fn what_the_user_types_elsewhere_is_no_hunk_and_is_not_undone() {
        let mut review = Review::new("a\nb\nc\nd", "a\nB\nc\nd");
        review.user_wrote("first\na\nB\nc\nd, mine");
        assert_eq!(show(&review), ["2 -b +B"]);
        undo(&mut review, 0);
        assert_eq!(review.current(), "first\na\nb\nc\nd, mine");
    }

    #[test]
    fn what_the_user_types_next_to_a_hunk_is_not_undone() {
        for text in ["a\nmine\nB\nc", "a\nB\nmine\nc", "mine\na\nB\nc", "a\nB\nc\nmine"] {
            let mut review = Review::new("a\nb\nc", "a\nB\nc");
            review.user_wrote(text);
            assert_eq!(review.hunks().len(), 1, "{text:?}");
            undo(&mut review, 0);
            assert_eq!(review.current(), text.replace('B', "b"));
        }
    }

    #[test]
    fn lines_that_the_user_deletes_elsewhere_stay_deleted() {
        let mut review = Review::new("a\nb\nc\nd", "a\nB\nc\nd");
        review.user_wrote("B\nd");
        undo(&mut review, 0);
        assert_eq!(review.current(), "b\nd");
    }

    #[test]
    fn what_the_user_changes_within_a_hunk_is_part_of_it() {
        let mut review = Review::new("a\nb\nc", "a\nB one\nB two\nc");
        review.user_wrote("a\nB one\nmine\nB two, too\nc");
        assert_eq!(show(&review), ["1 -b +B one|mine|B two, too"]);
        undo(&mut review, 0);
        assert_eq!(review.current(), "a\nb\nc");
    }

    #[test]
    fn a_hunk_that_the_user_takes_back_by_hand_is_gone() {
        let mut review = Review::new("a\nb\nc", "a\nB\nc");
        review.user_wrote("a\nb\nc");
        assert!(review.is_settled());
    }

    #[test]
    fn a_hunk_is_mixed_once_the_user_has_changed_its_lines() {
        let mut review = Review::new("a\nb\nc\nd\ne", "a\nB\nc\nD\ne");
        review.user_wrote("mine\na\nB\nc\nD\ne");
        assert_eq!([0, 1].map(|hunk| review.is_mixed(hunk)), [false, false]);
        review.user_wrote("mine\na\nB\nc\nD too\ne");
        assert_eq!([0, 1].map(|hunk| review.is_mixed(hunk)), [false, true]);
        review.agent_wrote("mine\nA\nB\nc\nD too\nE");
        assert_eq!([0, 1].map(|hunk| review.is_mixed(hunk)), [false, true]);
    }

    #[test]
    fn the_user_may_delete_all_but_the_agents_lines() {
        let mut review = Review::new("a", "a\nnew");
        review.user_wrote("new");
        assert_eq!((review.base(), show(&review)), (String::new(), vec!["0 - +new".into()]));
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "", "ab"]), 1..14)
            .prop_map(|lines| lines.join("\n"))
    }

    /// What became of one line: gone, changed, or with a new one before or after it; by whom is told by
    /// the name in it.
    fn became(line: &str, name: &str, change: u8) -> Vec<String> {
        match change {
            0 => vec![],
            1 => vec![format!("{name} changed {line}")],
            2 => vec![format!("{name} before {line}"), line.to_owned()],
            _ => vec![line.to_owned(), format!("{name} after {line}")],
        }
    }

    fn check(review: &Review) {
        let (mut base, mut current) = (0, 0);
        for (at, span) in review.spans.iter().enumerate() {
            assert!(at == 0 || span.base.start > base, "spans touch: {review:?}");
            assert_eq!(review.base[base..span.base.start], review.current[current..span.current.start]);
            assert_ne!(review.base[span.base.clone()], review.current[span.current.clone()]);
            (base, current) = (span.base.end, span.current.end);
        }
        assert_eq!(review.base[base..], review.current[current..]);
        assert!(!review.base.is_empty() && !review.current.is_empty());
    }

    #[test]
    fn some_lines_of_a_hunk_are_kept_and_others_undone() {
        let mut review = Review::new("a\nb\nc\nd", "A\nB\nC\nd\ne");
        let part = review.part_at(0, &(1..2)).expect("a part");
        review.keep_part(&part);
        check(&review);
        assert_eq!(review.base(), "a\nB\nc\nd");
        assert_eq!(review.part_at(0, &(0..9)), None, "all of it is no part");
        let mut review = Review::new("a\nd", "A\nB\nC\nd");
        let part = review.part_at(0, &(1..3)).expect("a part");
        let splice = review.undo_part(&part).expect("it is there");
        check(&review);
        assert_eq!((splice.rows, splice.lines.len()), (1..3, 0));
        assert_eq!((review.current(), review.base()), ("A\nd".to_owned(), "a\nd".to_owned()));
        let removed = Part { hunk: 0, removed: 0..1, added: 0..0 };
        let mut review = Review::new("a\nb\nc", "X\nc");
        review.keep_part(&removed);
        check(&review);
        assert_eq!(review.base(), "b\nc");
    }

    #[test]
    fn of_lines_that_are_alike_those_are_decided_about_that_are_meant() {
        for (row, left) in [(1, "2 +"), (2, "1 +")] {
            let mut review = Review::new("a\nb", "a\n\n\nb");
            let part = review.part_at(0, &(row..row + 1)).expect("a part");
            review.keep_part(&part);
            check(&review);
            assert_eq!(show(&review), [left], "row {row} is kept");
        }
        let mut review = Review::new("a\nb", "a\n\nx\n\nb");
        let part = review.part_at(0, &(2..4)).expect("a part");
        review.undo_part(&part);
        assert_eq!((show(&review), review.current().as_str()), (vec!["1 +".to_owned()], "a\n\nb"));
    }

    proptest! {
        #[test]
        fn parts_that_are_kept_and_undone_leave_a_review_of_the_rest(
            base in text(),
            current in text(),
            parts in prop::collection::vec((any::<Index>(), 0..6usize, 1..4usize, any::<bool>()), 6),
        ) {
            let mut review = Review::new(&base, &current);
            for (index, first, count, keep) in parts {
                if review.is_settled() {
                    break;
                }
                let hunk = index.index(review.hunks().len());
                let start = review.rows(hunk).map_or(0, |rows| rows.start) + first;
                let Some(part) = review.part_at(hunk, &(start..start + count)) else { continue };
                let (before, other) = (review.current(), review.base());
                if keep {
                    review.keep_part(&part);
                    prop_assert_eq!(review.current(), before);
                } else {
                    review.undo_part(&part);
                    prop_assert_eq!(review.base(), other);
                }
                check(&review);
            }
        }

        #[test]
        fn keeping_all_one_by_one_keeps_the_present_text(base in text(), current in text(), order in prop::collection::vec(any::<Index>(), 14)) {
            let mut review = Review::new(&base, &current);
            for index in order {
                if !review.is_settled() {
                    review.keep(index.index(review.hunks().len()));
                    check(&review);
                }
            }
            prop_assert_eq!((review.base(), review.current()), (current.clone(), current));
            prop_assert!(review.is_settled());
        }

        #[test]
        fn undoing_all_one_by_one_brings_the_base_back(base in text(), current in text(), order in prop::collection::vec(any::<Index>(), 14)) {
            let mut review = Review::new(&base, &current);
            for index in order {
                if !review.is_settled() {
                    let hunk = index.index(review.hunks().len());
                    undo(&mut review, hunk);
                    check(&review);
                }
            }
            prop_assert_eq!((review.base(), review.current()), (base.clone(), base));
            prop_assert!(review.is_settled());
        }

        #[test]
        fn any_answers_in_any_order_give_whole_hunks(
            base in text(),
            current in text(),
            answers in prop::collection::vec(any::<bool>(), 14),
            order in prop::collection::vec(any::<Index>(), 14),
        ) {
            let mut review = Review::new(&base, &current);
            let mut expected = Vec::new();
            let mut done = 0;
            for (span, keep) in review.spans.iter().zip(&answers) {
                expected.extend_from_slice(&review.base[done..span.base.start]);
                expected.extend_from_slice(if *keep { &review.current[span.current.clone()] } else { &review.base[span.base.clone()] });
                done = span.base.end;
            }
            expected.extend_from_slice(&review.base[done..]);

            let mut open: Vec<bool> = answers[..review.spans.len()].to_vec();
            for index in order.iter().take(open.len()) {
                let hunk = index.index(open.len());
                if open.remove(hunk) { review.keep(hunk) } else { undo(&mut review, hunk) }
                check(&review);
            }
            prop_assert_eq!(review.base(), expected.join("\n"));
            prop_assert_eq!(review.current(), expected.join("\n"));
        }

        #[test]
        fn all_at_once_is_the_same_as_one_by_one(base in text(), current in text()) {
            let mut review = Review::new(&base, &current);
            let mut other = review.clone();
            undo_all(&mut other);
            prop_assert_eq!(other.current(), &*base);
            review.keep_all();
            prop_assert_eq!((review.base(), review.is_settled()), (current, true));
        }

        #[test]
        fn without_an_agent_there_is_nothing_to_review(old in text(), new in text()) {
            let mut review = Review::new(&old, &old);
            review.user_wrote(&new);
            prop_assert_eq!((review.base(), review.current(), review.is_settled()), (new.clone(), new, true));
        }

        #[test]
        fn any_history_leaves_a_review_in_order(base in text(), texts in prop::collection::vec((any::<bool>(), text()), 0..5)) {
            let mut review = Review::new(&base, &base);
            for (user, text) in texts {
                if user { review.user_wrote(&text) } else { review.agent_wrote(&text) }
                prop_assert_eq!(review.difference(&text), None);
                prop_assert_eq!(review.current(), text);
                check(&review);
            }
        }

        /// As long as the two change different lines, only the agent's changes are shown and undone.
        #[test]
        fn a_users_lines_survive_the_undoing_of_all(changes in prop::collection::vec((0..4usize, 0..4u8), 1..16)) {
            let text = |names: [Option<&str>; 4]| -> String {
                let lines = changes.iter().enumerate().flat_map(|(at, (who, change))| {
                    let line = format!("line {at}");
                    match names[*who] {
                        Some(name) => became(&line, name, *change),
                        None => vec![line],
                    }
                });
                // The last line stays, so that no text is without one.
                lines.chain(["end".to_owned()]).collect::<Vec<_>>().join("\n")
            };
            let mut review = Review::new(&text([None; 4]), &text([Some("agent"), None, None, None]));
            review.user_wrote(&text([Some("agent"), Some("user"), None, None]));
            check(&review);
            let shown: Vec<String> = review.hunks().into_iter().flat_map(|hunk| [hunk.removed, hunk.added].concat()).collect();
            prop_assert!(shown.iter().all(|line| !line.starts_with("user")), "{shown:?}");
            undo_all(&mut review);
            // Lines written where others are gone may come to stand before or after those.
            let sorted = |text: String| {
                let mut lines = split(&text);
                lines.sort();
                lines
            };
            prop_assert_eq!(sorted(review.current()), sorted(text([None, Some("user"), None, None])));
        }
    }
}

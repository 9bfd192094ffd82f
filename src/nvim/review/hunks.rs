//! The hunks of one file, drawn in its buffer: removed lines as virtual lines above, added ones
//! marked, a sign at each. Those around what changed stay as they are, and many are drawn in slices,
//! the visible ones first.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use mlua::{Result, Value};

use crate::core::changes::diff::{Hunk, pairs};
use crate::core::changes::file_review::FileReview;
use crate::core::changes::hunk_page::visible;
use crate::core::changes::proposal::rows_unproposed;
use crate::core::changes::text_edits::same_ends;
use crate::core::changes::words::Words;
use crate::nvim::diff_view::appearance::{Appearance, Shape};
use crate::nvim::diff_view::marks::{
    MAX_VIRTUAL_LINES, SignedLines, forget_above_first_line, line, push, seen, show_above_first_line,
    virtual_lines, words_in,
};
use crate::nvim::editor::{Buf, Editor};

/// What is drawn in a buffer.
#[derive(Default)]
pub struct Drawn {
    hunks: Vec<DrawnHunk>,
    /// How many lines the text had that they stand in.
    lines: usize,
    /// Marks of hunks that are drawn anew or gone, and that wait to be removed.
    stale: Vec<Range<i64>>,
    next_id: i64,
    /// What the colours of code have cost.
    spent: Duration,
    /// What the buffer looked like.
    shape: Option<Shape>,
    /// Only bars are drawn, since the file shows what is proposed.
    has_bars: bool,
}

/// What the colours of one file may cost in all; beyond, lines that are gone are plain.
const COLOUR_BUDGET: Duration = Duration::from_millis(200);

/// So many added lines of a hunk are drawn before the clock is looked at again.
const PIECE: usize = 200;

/// Behind the end of any line.
const MAX_COLUMN: usize = i32::MAX as usize;

/// More marks than this are not removed at once.
const MANY_MARKS: usize = 1000;

/// What has to be known once to draw hunks.
struct Scene<'a> {
    /// Of the buffer.
    lines: usize,
    /// The rows that are on the screen.
    seen: &'a [Range<usize>],
    appearance: &'a Appearance,
}

struct DrawnHunk {
    hunk: Hunk,
    mixed: bool,
    /// Its extmarks.
    marks: Vec<Range<i64>>,
    /// What it removed is drawn.
    is_begun: bool,
    /// The pieces of its added lines that are not drawn yet, the first one last.
    left: Vec<Range<usize>>,
}

impl DrawnHunk {
    fn new(hunk: Hunk, mixed: bool) -> Self {
        let mut new = Self { hunk, mixed, marks: Vec::new(), is_begun: false, left: Vec::new() };
        new.waits();
        new
    }

    fn is_drawn(&self) -> bool {
        self.is_begun && self.left.is_empty()
    }

    /// Takes the next piece that is to be drawn; of those in view, if only these are wanted.
    fn next(&mut self, in_view: Option<&[Range<usize>]>) -> Option<Range<usize>> {
        let Some(seen) = in_view else {
            return match (self.left.pop(), self.is_begun) {
                (None, false) => Some(0..0),
                (next, _) => next,
            };
        };
        let meets = |first: usize, end: usize| seen.iter().any(|rows| first < rows.end && rows.start < end);
        let (row, len) = (self.hunk.row, self.hunk.added.len());
        let at = self.left.iter().rposition(|piece| meets(row + piece.start, row + piece.end));
        match at {
            Some(at) => Some(self.left.remove(at)),
            // Lines that went stand above the first one.
            None if !self.is_begun && meets(row, row + 1) && len == 0 => Some(0..0),
            None => None,
        }
    }

    fn ids(&self) -> impl Iterator<Item = i64> {
        self.marks.iter().cloned().flatten()
    }

    fn count(&self) -> usize {
        self.marks.iter().map(|ids| (ids.end - ids.start) as usize).sum()
    }

    fn has(&self, id: i64) -> bool {
        self.marks.iter().any(|ids| ids.contains(&id))
    }

    fn sign(&self) -> &'static str {
        if self.mixed { "~" } else { "+" }
    }

    /// The few lines of `new` in which a hunk that is drawn differs from it; `None` where more is to be done than to
    /// mark these.
    fn retyped(&self, new: &Self) -> Option<Range<usize>> {
        // In what replaces something, other words may have changed.
        let is_alike = self.mixed == new.mixed && self.hunk.removed == new.hunk.removed;
        // Where lines before it were kept, their marks stand where it no longer is.
        let stands = self.hunk.row == new.hunk.row;
        let is_ready = self.is_drawn() && is_alike && stands && self.marks.len() <= MANY_MARKS;
        if !is_ready || has_pairs(&self.hunk) || has_pairs(&new.hunk) {
            return None;
        }
        let has_removed = !self.hunk.removed.is_empty();
        let (old, new) = (&self.hunk.added, &new.hunk.added);
        let (first, last) = same_ends(old, new, |old, new| old == new);
        let (gone, come) = (old.len() - last - first, new.len() - last - first);
        // What it removed is drawn at its first line, and would go with that.
        let is_apart = !has_removed || first > 1;
        (is_apart && gone.max(come) <= PIECE).then(|| first..first + come)
    }

    /// All of it is to be drawn.
    fn waits(&mut self) {
        let count = self.hunk.added.len();
        self.marks.clear();
        self.is_begun = false;
        self.left = (0..count).step_by(PIECE).rev().map(|at| at..(at + PIECE).min(count)).collect();
    }
}

impl Drawn {
    /// Takes in what the hunks are now. Those that are still the same stay as they are, since their
    /// marks have moved along with the text.
    pub fn update(&mut self, editor: &Editor, buf: Buf, file: &FileReview) -> Result<()> {
        if self.has_bars {
            self.clear(editor, buf)?;
        }
        let sides = (file.was_there, file.is_there);
        let new: Vec<DrawnHunk> = file
            .hunks()
            .into_iter()
            .enumerate()
            .map(|(at, hunk)| (at, visible(hunk, sides)))
            .map(|(at, hunk)| DrawnHunk::new(hunk, file.is_mixed(at)))
            .collect();
        // Where some came or went, those that are alike are told by their rows: above what has changed in the text they
        // have the same, below it all have moved as far.
        let moved =
            file.line_count() as isize - std::mem::replace(&mut self.lines, file.line_count()) as isize;
        let are_as_many = self.hunks.len() == new.len();
        let stands =
            |a: &Hunk, b: &Hunk| are_as_many || [0, moved].contains(&(b.row as isize - a.row as isize));
        let same = |a: &DrawnHunk, b: &DrawnHunk| {
            a.mixed == b.mixed && a.hunk.has_lines_of(&b.hunk) && stands(&a.hunk, &b.hunk)
        };
        let (first, last) = same_ends(&self.hunks, &new, same);
        let ns = namespace(editor)?;
        let (gone, come) = (first..self.hunks.len() - last, first..new.len() - last);
        let rows: Vec<usize> = new.iter().map(|hunk| hunk.hunk.row).collect();
        let retyped = match (&self.hunks[gone.clone()], &new[come.clone()]) {
            ([old], [new]) => old.retyped(new),
            _ => None,
        };
        let mut come = new.into_iter().skip(come.start).take(come.len());
        if retyped.is_some() {
            self.hunks[first].hunk.added = come.next().map(|new| new.hunk.added).unwrap_or_default();
        } else {
            let gone: Vec<DrawnHunk> = self.hunks.splice(gone, come).collect();
            self.discard(editor, (buf, ns), &gone)?;
        }
        for (hunk, row) in self.hunks.iter_mut().zip(rows) {
            hunk.hunk.row = row;
        }
        if let Some(lines) = retyped {
            self.redraw_lines(editor, (buf, ns), first, &lines)?;
        }
        if file.has_hunks_back { self.remove_misplaced(editor, buf, ns) } else { Ok(()) }
    }

    /// Marks some lines of a hunk that removed none anew, with those beside them: marks of lines that went are there.
    fn redraw_lines(
        &mut self,
        editor: &Editor,
        (buf, ns): (Buf, i64),
        at: usize,
        lines: &Range<usize>,
    ) -> Result<()> {
        let end = editor.line_count(buf)?;
        let drawn = &self.hunks[at];
        let before = lines.start.saturating_sub(1);
        // The marks of last lines that went stand past the end.
        let [first, last] = [before, lines.end].map(|line| (drawn.hunk.row + line).min(end));
        let lines = before..(lines.end + 1).min(drawn.hunk.added.len());
        remove_found(editor, (buf, ns), ([first, 0], [last, 0]), |id| drawn.has(id))?;
        let rows = (drawn.hunk.row + lines.start).min(end)..(drawn.hunk.row + lines.end).min(end);
        self.paint_lines(editor, (buf, ns), at, &rows)
    }

    /// Marks rows as a hunk's lines.
    fn paint_lines(
        &mut self,
        editor: &Editor,
        (buf, ns): (Buf, i64),
        at: usize,
        rows: &Range<usize>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let first = self.next_id + 1;
        let options = line(editor, "AcpDiffAdd", self.hunks[at].sign())?;
        editor.helper::<()>("paint_lines", (buf, ns, rows.start, rows.end, first, options))?;
        self.next_id += rows.len() as i64;
        self.hunks[at].marks.push(first..self.next_id + 1);
        Ok(())
    }

    /// Paints marks that are of a hunk.
    fn paint(&mut self, editor: &Editor, (buf, ns): (Buf, i64), at: usize, marks: mlua::Table) -> Result<()> {
        if marks.raw_len() == 0 {
            return Ok(());
        }
        let first = self.next_id + 1;
        for (id, options) in (first..).zip((3..=marks.raw_len()).step_by(3)) {
            let options: mlua::Table = marks.raw_get(options)?;
            options.raw_set("id", id)?;
            self.next_id = id;
        }
        editor.paint(buf, ns, marks)?;
        self.hunks[at].marks.push(first..self.next_id + 1);
        Ok(())
    }

    /// Removes the marks of hunks; those of long ones later, some at a time.
    fn discard(&mut self, editor: &Editor, (buf, ns): (Buf, i64), gone: &[DrawnHunk]) -> Result<()> {
        if gone.iter().map(DrawnHunk::count).sum::<usize>() > MANY_MARKS {
            self.stale.extend(gone.iter().flat_map(|old| old.marks.iter().cloned()));
            return Ok(());
        }
        gone.iter().try_for_each(|old| remove(editor, buf, ns, old))
    }

    /// Removes what waits to be at these rows, where something else is about to be drawn.
    fn remove_stale_at(&mut self, editor: &Editor, (buf, ns): (Buf, i64), rows: &Range<usize>) -> Result<()> {
        if self.stale.is_empty() {
            return Ok(());
        }
        let last = rows.end.max(rows.start + 1) - 1;
        let is_stale = |id| self.stale.iter().any(|ids| ids.contains(&id));
        remove_found(editor, (buf, ns), ([rows.start, 0], [last, MAX_COLUMN]), is_stale)
    }

    /// Removes what waits to be, until the time is over.
    fn remove_stale(&mut self, editor: &Editor, (buf, ns): (Buf, i64), until: Instant) -> Result<()> {
        while Instant::now() < until
            && let Some(ids) = self.stale.last_mut()
        {
            let first = ids.start.max(ids.end - PIECE as i64);
            editor.helper::<()>("unpaint", (buf, ns, first, ids.end))?;
            ids.end = first;
            if ids.is_empty() {
                self.stale.pop();
            }
        }
        Ok(())
    }

    /// What went and came back between two drawings has taken marks to other rows.
    fn remove_misplaced(&mut self, editor: &Editor, buf: Buf, ns: i64) -> Result<()> {
        let lines = editor.line_count(buf)?;
        // Each is an id, a row and a column.
        let found: Vec<[usize; 3]> =
            editor.api("nvim_buf_get_extmarks", (buf, ns, 0, -1, editor.lua.create_table()?))?;
        let rows: HashMap<usize, usize> = found.into_iter().map(|[id, row, _]| (id, row)).collect();
        for drawn in self.hunks.iter_mut().filter(|drawn| drawn.is_begun) {
            let count = drawn.hunk.added.len();
            let stand: Vec<Option<usize>> =
                drawn.ids().map(|id| rows.get(&usize::try_from(id).ok()?).copied()).collect();
            let first = drawn.hunk.row.min(lines - 1);
            let last = (drawn.hunk.row + count).clamp(first + 1, lines) - 1;
            let is_in_place =
                stand.iter().min() == Some(&Some(first)) && stand.iter().max() == Some(&Some(last));
            if !drawn.is_drawn() || !is_in_place {
                remove(editor, buf, ns, drawn)?;
                drawn.waits();
            }
        }
        Ok(())
    }

    /// Whether lines that are gone are drawn above the first one.
    pub fn is_above_first_line(&self) -> bool {
        self.hunks.first().is_some_and(|drawn| drawn.hunk.row == 0 && drawn.is_begun)
    }

    /// There is more to draw, or to remove.
    pub fn is_waiting(&self) -> bool {
        !self.stale.is_empty() || self.hunks.iter().any(|hunk| !hunk.is_drawn())
    }

    /// Draws what waits for it, until the time is over.
    pub fn draw(&mut self, editor: &Editor, buf: Buf, until: Instant) -> Result<()> {
        let ns = namespace(editor)?;
        let lines = editor.line_count(buf)?;
        let seen = seen(editor, buf);
        let before = COLOUR_BUDGET.saturating_sub(self.spent);
        let appearance = Appearance::of(editor, buf, before);
        if self.shape.is_none() {
            // Neovim unloads a buffer for `:edit!`, and its marks stay all the same.
            editor.clear_namespace(buf, ns, 0, -1)?;
        }
        if self.shape.as_ref() != Some(&appearance.shape) {
            let hunks = std::mem::take(&mut self.hunks);
            self.discard(editor, (buf, ns), &hunks)?;
            self.hunks = hunks;
            self.hunks.iter_mut().for_each(DrawnHunk::waits);
            self.shape = Some(appearance.shape.clone());
        }
        let scene = Scene { lines, seen: &seen, appearance: &appearance };
        let drawn = self.draw_waiting(editor, (buf, ns), &scene, until);
        self.spent += before.saturating_sub(appearance.left());
        drawn?;
        self.remove_stale(editor, (buf, ns), until)
    }

    fn draw_waiting(&mut self, editor: &Editor, at: (Buf, i64), scene: &Scene, until: Instant) -> Result<()> {
        for in_view in [Some(scene.seen), None] {
            for hunk in 0..self.hunks.len() {
                while Instant::now() < until
                    && let Some(piece) = self.hunks[hunk].next(in_view)
                {
                    self.draw_piece(editor, at, (hunk, piece), scene)?;
                }
            }
        }
        Ok(())
    }

    /// Draws some of a hunk's lines, and with the first of them what it removed.
    fn draw_piece(
        &mut self,
        editor: &Editor,
        (buf, ns): (Buf, i64),
        (at, piece): (usize, Range<usize>),
        &Scene { lines, appearance, .. }: &Scene,
    ) -> Result<()> {
        let start = self.hunks[at].hunk.row;
        let rows = (start + piece.start).min(lines)..(start + piece.end).min(lines);
        self.remove_stale_at(editor, (buf, ns), &rows)?;
        let DrawnHunk { hunk, mixed, is_begun, .. } = &self.hunks[at];
        let is_first = !is_begun;
        let is_shown = |old: usize, new: usize| piece.contains(&new) || is_first && old < MAX_VIRTUAL_LINES;
        let words = Words::where_shown(hunk, is_shown);
        let marks = editor.lua.create_table()?;
        for (row, at) in rows.clone().zip(piece.clone()) {
            words_in(editor, &marks, row, words.added(at), "AcpDiffAddWord")?;
        }
        let (row, above) = if hunk.row < lines { (hunk.row, true) } else { (lines - 1, false) };
        // An empty file has no line, either.
        let is_new = hunk.removed.len() == 1 && hunk.removed[0].is_empty() && hunk.added.len() >= lines;
        if is_first && !hunk.removed.is_empty() && !is_new {
            let options = virtual_lines(editor, appearance, &SignedLines::removed(hunk, &words), above)?;
            if hunk.added.is_empty() {
                options.raw_set("sign_text", if *mixed { "~" } else { "-" })?;
                options.raw_set("sign_hl_group", "AcpDiffDeleteSign")?;
            }
            push(&marks, row, 0, options)?;
        }
        self.paint_lines(editor, (buf, ns), at, &rows)?;
        self.paint(editor, (buf, ns), at, marks)?;
        if is_first && row == 0 && above {
            show_above_first_line(editor, buf);
        }
        self.hunks[at].is_begun = true;
        Ok(())
    }

    /// Has bars alone beside the hunks, while the file shows what is proposed: as another diff in the same text they
    /// would be taken for that. Rows that would change have none.
    pub fn draw_bars(
        &mut self,
        editor: &Editor,
        buf: Buf,
        (file, proposed): (&FileReview, &[Range<usize>]),
    ) -> Result<()> {
        self.clear(editor, buf)?;
        self.has_bars = true;
        let marks = editor.lua.create_table()?;
        for rows in rows_unproposed(&file.hunks(), proposed, editor.line_count(buf)?) {
            let options = editor.table([
                ("end_row", Value::Integer(rows.end as i64 - 1)),
                ("sign_text", editor.string("|")?),
                ("sign_hl_group", editor.string("AcpMeta")?),
                ("strict", Value::Boolean(false)),
            ])?;
            push(&marks, rows.start, 0, options)?;
        }
        editor.paint(buf, namespace(editor)?, marks)
    }

    /// Takes all of it away.
    pub fn clear(&mut self, editor: &Editor, buf: Buf) -> Result<()> {
        self.has_bars = false;
        self.hunks.clear();
        self.stale.clear();
        self.spent = Duration::ZERO;
        if editor.buf_is_valid(buf) {
            editor.clear_namespace(buf, namespace(editor)?, 0, -1)?;
            forget_above_first_line(editor, buf);
        }
        Ok(())
    }
}

/// Whether some of its lines are marked by words, each beside the one that it replaces.
fn has_pairs(hunk: &Hunk) -> bool {
    !pairs(hunk).is_empty()
}

/// Removes those of the marks between two places, each a row and a column, that are meant.
fn remove_found(
    editor: &Editor,
    (buf, ns): (Buf, i64),
    (first, last): ([usize; 2], [usize; 2]),
    is_meant: impl Fn(i64) -> bool,
) -> Result<()> {
    let place = |at: [usize; 2]| editor.lua.create_sequence_from(at);
    let range = (buf, ns, place(first)?, place(last)?, editor.lua.create_table()?);
    let found: Vec<[i64; 3]> = editor.api("nvim_buf_get_extmarks", range)?;
    for id in found.into_iter().map(|[id, ..]| id).filter(|id| is_meant(*id)) {
        editor.api::<bool>("nvim_buf_del_extmark", (buf, ns, id))?;
    }
    Ok(())
}

fn remove(editor: &Editor, buf: Buf, ns: i64, drawn: &DrawnHunk) -> Result<()> {
    for id in drawn.ids() {
        editor.api::<bool>("nvim_buf_del_extmark", (buf, ns, id))?;
    }
    Ok(())
}

fn namespace(editor: &Editor) -> Result<i64> {
    editor.namespace("acp.review")
}

//! The hunks of one file, drawn in its buffer: removed lines as virtual lines above, added ones
//! marked, a sign at each. Those around what changed stay as they are, and many are drawn in slices,
//! the visible ones first.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use mlua::Result;

use crate::core::changes::diff::Hunk;
use crate::core::changes::file_review::FileReview;
use crate::core::changes::hunk_page::visible;
use crate::core::changes::text_edits::same_ends;
use crate::core::changes::words::Words;
use crate::nvim::diff_view::appearance::{Appearance, Shape};
use crate::nvim::diff_view::marks::{
    MAX_VIRTUAL_LINES, forget_above_first_line, line, push, seen, show_above_first_line, virtual_lines,
    words_in,
};
use crate::nvim::editor::{Buf, Editor};

/// What is drawn in a buffer.
#[derive(Default)]
pub struct Drawn {
    hunks: Vec<DrawnHunk>,
    next_id: i64,
    /// What the colours of code have cost.
    spent: Duration,
    /// What the buffer looked like.
    shape: Option<Shape>,
}

/// What the colours of one file may cost in all; beyond, lines that are gone are plain.
const COLOUR_BUDGET: Duration = Duration::from_millis(200);

/// So many added lines of a hunk are drawn before the clock is looked at again.
const PIECE: usize = 200;

/// More marks than this are not removed one by one.
const MANY_MARKS: usize = 1000;

struct DrawnHunk {
    hunk: Hunk,
    mixed: bool,
    /// Its extmarks.
    marks: Vec<Range<i64>>,
    /// So many of its added lines are drawn, and what it removed; none while all of it waits.
    lines: Option<usize>,
}

impl DrawnHunk {
    fn is_drawn(&self) -> bool {
        self.lines.is_some_and(|lines| lines >= self.hunk.added.len())
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
        let is_alike = self.is_drawn() && self.mixed == new.mixed;
        if !is_alike || self.hunk.removed.len() + new.hunk.removed.len() > 0 || self.marks.len() > MANY_MARKS
        {
            return None;
        }
        let (old, new) = (&self.hunk.added, &new.hunk.added);
        let (first, last) = same_ends(old, new, |old, new| old == new);
        let (gone, come) = (old.len() - last - first, new.len() - last - first);
        (gone.max(come) <= PIECE).then(|| first..first + come)
    }

    fn waits(&mut self) {
        self.marks.clear();
        self.lines = None;
    }
}

impl Drawn {
    /// Takes in what the hunks are now. Those that are still the same stay as they are, since their
    /// marks have moved along with the text.
    pub fn update(&mut self, editor: &Editor, buf: Buf, file: &FileReview) -> Result<()> {
        let sides = (file.was_there, file.is_there);
        let new: Vec<DrawnHunk> = file
            .hunks()
            .into_iter()
            .enumerate()
            .map(|(at, hunk)| (at, visible(hunk, sides)))
            .map(|(at, hunk)| DrawnHunk { hunk, mixed: file.is_mixed(at), marks: Vec::new(), lines: None })
            .collect();
        let same = |a: &DrawnHunk, b: &DrawnHunk| {
            a.mixed == b.mixed && a.hunk.added == b.hunk.added && a.hunk.removed == b.hunk.removed
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
            let added = come.next().map(|new| new.hunk.added).unwrap_or_default();
            self.hunks[first].lines = Some(added.len());
            self.hunks[first].hunk.added = added;
        } else {
            if self.hunks[gone.clone()].iter().map(DrawnHunk::count).sum::<usize>() > MANY_MARKS {
                self.remove_all(editor, buf, ns)?;
            }
            for old in &self.hunks[gone.clone()] {
                remove(editor, buf, ns, old)?;
            }
            self.hunks.splice(gone, come);
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
        let last_row = editor.line_count(buf)? - 1;
        let drawn = &self.hunks[at];
        let before = lines.start.saturating_sub(1);
        let [first, last] = [before, lines.end].map(|line| (drawn.hunk.row + line).min(last_row));
        let lines = before..(lines.end + 1).min(drawn.hunk.added.len());
        let place = |row: usize| editor.lua.create_sequence_from([row, 0]);
        let range = (buf, ns, place(first)?, place(last)?, editor.lua.create_table()?);
        let found: Vec<[i64; 3]> = editor.api("nvim_buf_get_extmarks", range)?;
        for id in found.into_iter().map(|[id, ..]| id).filter(|id| drawn.has(*id)) {
            editor.api::<bool>("nvim_buf_del_extmark", (buf, ns, id))?;
        }
        let marks = editor.lua.create_table()?;
        let rows = lines.map(|line| drawn.hunk.row + line).filter(|row| *row <= last_row);
        for row in rows {
            push(&marks, row, 0, line(editor, "AcpDiffAdd", drawn.sign())?)?;
        }
        self.paint(editor, (buf, ns), at, marks)
    }

    /// Paints marks that are of a hunk.
    fn paint(&mut self, editor: &Editor, (buf, ns): (Buf, i64), at: usize, marks: mlua::Table) -> Result<()> {
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

    fn remove_all(&mut self, editor: &Editor, buf: Buf, ns: i64) -> Result<()> {
        self.hunks.iter_mut().for_each(DrawnHunk::waits);
        editor.clear_namespace(buf, ns, 0, -1)
    }

    /// What went and came back between two drawings has taken marks to other rows.
    fn remove_misplaced(&mut self, editor: &Editor, buf: Buf, ns: i64) -> Result<()> {
        let lines = editor.line_count(buf)?;
        // Each is an id, a row and a column.
        let found: Vec<[usize; 3]> =
            editor.api("nvim_buf_get_extmarks", (buf, ns, 0, -1, editor.lua.create_table()?))?;
        let rows: HashMap<usize, usize> = found.into_iter().map(|[id, row, _]| (id, row)).collect();
        for drawn in &mut self.hunks {
            let Some(count) = drawn.lines else { continue };
            let stand: Vec<Option<usize>> =
                drawn.ids().map(|id| rows.get(&usize::try_from(id).ok()?).copied()).collect();
            let first = drawn.hunk.row.min(lines - 1);
            let last = (drawn.hunk.row + count).clamp(first + 1, lines) - 1;
            if stand.iter().min() != Some(&Some(first)) || stand.iter().max() != Some(&Some(last)) {
                remove(editor, buf, ns, drawn)?;
                drawn.waits();
            }
        }
        Ok(())
    }

    /// Whether lines that are gone are drawn above the first one.
    pub fn is_above_first_line(&self) -> bool {
        self.hunks.first().is_some_and(|drawn| drawn.hunk.row == 0 && drawn.lines.is_some())
    }

    /// There is more to draw.
    pub fn is_waiting(&self) -> bool {
        self.hunks.iter().any(|hunk| !hunk.is_drawn())
    }

    /// Draws what waits for it, until the time is over.
    pub fn draw(&mut self, editor: &Editor, buf: Buf, until: Instant) -> Result<()> {
        let ns = namespace(editor)?;
        let lines = editor.line_count(buf)?;
        let seen = seen(editor, buf);
        let before = COLOUR_BUDGET.saturating_sub(self.spent);
        let appearance = Appearance::of(editor, buf, before);
        if self.shape.as_ref() != Some(&appearance.shape) {
            self.remove_all(editor, buf, ns)?;
            self.shape = Some(appearance.shape.clone());
        }
        let drawn = self.draw_waiting(editor, buf, ns, lines, &seen, &appearance, until);
        self.spent += before.saturating_sub(appearance.left());
        drawn
    }

    #[expect(clippy::too_many_arguments, reason = "what a draw has found out once")]
    fn draw_waiting(
        &mut self,
        editor: &Editor,
        buf: Buf,
        ns: i64,
        lines: usize,
        seen: &[Range<usize>],
        appearance: &Appearance,
        until: Instant,
    ) -> Result<()> {
        let visible = |hunk: &Hunk| {
            seen.iter().any(|rows| hunk.row < rows.end && rows.start <= hunk.row + hunk.added.len())
        };
        for only_visible in [true, false] {
            for at in 0..self.hunks.len() {
                if only_visible && !visible(&self.hunks[at].hunk) {
                    continue;
                }
                while !self.hunks[at].is_drawn() {
                    if Instant::now() >= until {
                        return Ok(());
                    }
                    self.draw_one(editor, buf, ns, at, lines, appearance)?;
                }
            }
        }
        Ok(())
    }

    /// Draws what a hunk removed and its first lines, or some more of its lines.
    fn draw_one(
        &mut self,
        editor: &Editor,
        buf: Buf,
        ns: i64,
        at: usize,
        lines: usize,
        appearance: &Appearance,
    ) -> Result<()> {
        let drawn = &self.hunks[at];
        let DrawnHunk { hunk, mixed, lines: done, .. } = drawn;
        let (is_first, from) = (done.is_none(), done.unwrap_or(0));
        let piece = from..(from + PIECE).min(hunk.added.len());
        let is_shown = |old: usize, new: usize| piece.contains(&new) || is_first && old < MAX_VIRTUAL_LINES;
        let words = Words::where_shown(hunk, is_shown);
        let marks = editor.lua.create_table()?;
        for (at, row) in piece.clone().map(|at| (at, hunk.row + at)).filter(|(_, row)| *row < lines) {
            push(&marks, row, 0, line(editor, "AcpDiffAdd", drawn.sign())?)?;
            words_in(editor, &marks, row, words.added(at), "AcpDiffAddWord")?;
        }
        let (row, above) = if hunk.row < lines { (hunk.row, true) } else { (lines - 1, false) };
        // An empty file has no line, either.
        let is_new = hunk.removed.len() == 1 && hunk.removed[0].is_empty() && hunk.added.len() >= lines;
        if is_first && !hunk.removed.is_empty() && !is_new {
            let options =
                virtual_lines(editor, appearance, &hunk.removed, '-', &|at| words.removed(at), above)?;
            if hunk.added.is_empty() {
                options.raw_set("sign_text", if *mixed { "~" } else { "-" })?;
                options.raw_set("sign_hl_group", "AcpDiffDelete")?;
            }
            push(&marks, row, 0, options)?;
        }
        self.paint(editor, (buf, ns), at, marks)?;
        if is_first && row == 0 && above {
            show_above_first_line(editor, buf);
        }
        self.hunks[at].lines = Some(piece.end);
        Ok(())
    }

    /// Takes all of it away.
    pub fn clear(&mut self, editor: &Editor, buf: Buf) -> Result<()> {
        self.hunks.clear();
        self.spent = Duration::ZERO;
        if editor.buf_is_valid(buf) {
            editor.clear_namespace(buf, namespace(editor)?, 0, -1)?;
            forget_above_first_line(editor, buf);
        }
        Ok(())
    }
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

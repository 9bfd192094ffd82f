//! How entries get into a transcript's buffer. Each owns a region that begins at an extmark; only
//! touched regions are edited, and text that streams is appended. An entry that is gathered under
//! another's line has no region while that is so. What an entry looks like is `core::transcript`'s word.

pub mod append_batch;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use mlua::{Result, Table, Value};

use crate::core::changes::text_edits::same_ends;
use crate::core::ids::EntryId;
use crate::core::message::Picture;
use crate::core::session::Session;
use crate::core::session::entry::{Body, Entry};
use crate::core::text::visible::{Visible, is_plain};
use crate::core::transcript::bounds::broken_lines;
use crate::core::transcript::groups::{Place, role_in};
use crate::core::transcript::subagents::draw_tree;
use crate::core::transcript::{Drawing, Standing, Style, Tally, Target, UNPRINTABLE, draw, draw_standing};
use crate::nvim::chat::canvas::{Canvas, Chat, Fold, Region, Tails};
use crate::nvim::chat::drawing::append_batch::{Arrivals, push, push_right};
use crate::nvim::chat::highlight::Highlight;
use crate::nvim::chat::images;
use crate::nvim::editor::{Editor, Win};

/// At most this much of an entry's new text is appended in one edit, so that a burst is drawn in
/// pieces that fit into a frame.
const PIECE: usize = 16 << 10;

/// Extmarks have 4096 of themselves.
const ABOVE_MARKDOWN: i64 = 5000;

/// Entries; a window shows fewer.
const FAR_BEHIND: usize = 100;

/// What a chat is drawn from, and how.
pub struct Scene<'a> {
    pub session: &'a Session,
    pub style: &'a Style,
    pub tails: Tails<'a>,
}

impl Chat {
    pub fn has_waiting(&self) -> bool {
        !self.canvas.waiting.is_empty()
    }

    /// More waits than anybody reads as it comes.
    pub fn is_far_behind(&self) -> bool {
        self.canvas.waiting.len() > FAR_BEHIND
    }

    /// Notes what to draw at the next frame.
    pub fn touch(&mut self, session: &Session, entries: BTreeSet<EntryId>, tails: Tails) {
        let canvas = &mut self.canvas;
        let note = |canvas: &mut Canvas, index: usize| {
            let Some(entry) = session.entry(EntryId(index)) else { return };
            if entry.parent.is_some() {
                canvas.homes.insert(EntryId(index), session.outermost(EntryId(index)));
            }
            let others = canvas.groups.note(index, role_in(session, EntryId(index), tails));
            canvas.waiting.extend(others.into_iter().map(EntryId));
        };
        for id in entries {
            while canvas.groups.noted() < id.0 {
                note(canvas, canvas.groups.noted());
            }
            note(canvas, id.0);
            canvas.waiting.insert(id);
            canvas.waiting.extend(canvas.homes.get(&id));
            canvas.counted.take_if(|(run, _)| run.contains(&id.0));
        }
    }

    /// The window may have another width: what is cut to it is cut anew.
    pub fn fit(&mut self, editor: &Editor, win: Option<Win>, session: &Session) {
        let width = win.and_then(|win| editor.win_size(win).ok()).map(|(columns, _)| usize::from(columns));
        if width.is_none() || self.canvas.width.is_none() || width == self.canvas.width {
            return;
        }
        let cut = |body: &Body| {
            matches!(body, Body::Tool(_) | Body::Subagent(_) | Body::Elicitation(_) | Body::Written(_))
        };
        let shown = self.canvas.shown.iter().copied().map(EntryId);
        let cut = shown.filter(|id| session.entry(*id).is_some_and(|entry| cut(&entry.body)));
        self.canvas.waiting.extend(cut);
    }

    /// Draws what is waiting until `until`; what is left then stays waiting.
    pub fn draw(
        &mut self,
        editor: &Editor,
        highlight: &Highlight,
        scene: &Scene,
        until: Instant,
    ) -> Result<()> {
        if self.canvas.waiting.is_empty() {
            return Ok(());
        }
        let Some(unlocked) = editor.unlock(self.transcript)? else {
            // The user wiped it; a chat that is shown again is drawn anew.
            self.canvas.waiting.clear();
            return Ok(());
        };
        let width = unlocked.width.unwrap_or(80).into();
        self.canvas.width = Some(width);
        self.canvas.hints = scene.style.hints.clone();
        self.canvas.icons = scene.style.icons;
        let style = Style { width, ..scene.style.clone() };
        let drawn = self.draw_waiting(editor, highlight, &Scene { style: &style, ..*scene }, until);
        let locked = editor.lock(self.transcript, unlocked);
        drawn.and(locked)
    }

    fn draw_waiting(
        &mut self,
        editor: &Editor,
        highlight: &Highlight,
        scene: &Scene,
        until: Instant,
    ) -> Result<()> {
        while let Some(id) = self.canvas.waiting.first().copied() {
            let Some(entry) = scene.session.entry(id) else {
                self.canvas.waiting.remove(&id);
                continue;
            };
            if id.0 >= self.canvas.drawn.len() {
                self.arrive(editor, highlight, scene, until)?;
            } else {
                let whole = if entry.stream().is_some() {
                    self.append(editor, highlight, id, entry)?
                } else {
                    self.canvas.count(scene.session, id);
                    let drawing = self.look(scene, id);
                    self.put(editor, highlight, id, drawing)?;
                    true
                };
                if whole {
                    self.canvas.waiting.remove(&id);
                }
            }
            if Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }

    /// Draws the entries that come next, as many of them as fit into one edit. Regions are made in order,
    /// those of entries that nobody has touched yet, too.
    fn arrive(
        &mut self,
        editor: &Editor,
        highlight: &Highlight,
        scene: &Scene,
        until: Instant,
    ) -> Result<()> {
        let Scene { session, .. } = *scene;
        let first = self.canvas.drawn.len();
        let entries = session.entries();
        // What stands under another entry has no rows of its own, so what streams above goes on.
        if entries[first..].iter().any(|entry| entry.parent.is_none())
            && let Some(previous) = entry_before(session, EntryId(first))
        {
            self.finish(editor, highlight, previous.0)?;
        }
        let row = if self.canvas.shown.is_empty() { 0 } else { editor.line_count(self.transcript)? };
        let mut arrivals = Arrivals::at(self.transcript, row);
        let mut regions = Vec::new();
        let mut framed = Vec::new();
        for (index, entry) in entries.iter().enumerate().skip(first) {
            // What may go on growing is coloured as it does.
            let grows = |text: &str| session.newest() == Some(EntryId(index)) || text.len() > PIECE;
            if entry.stream().is_some_and(grows) {
                break;
            }
            self.canvas.count(session, EntryId(index));
            let drawing = self.look(scene, EntryId(index));
            arrivals.add(index, &drawing);
            if !drawing.pictures.is_empty() {
                framed.push((EntryId(index), drawing.lines.len(), drawing.pictures));
            }
            regions.push(match entry.stream() {
                Some(text) => Region {
                    streamed: ready(text).len(),
                    column: broken_lines(ready(text), 0, None).last().map_or(0, str::len),
                    ..Region::empty()
                },
                None => Region { lines: drawing.lines, inner: drawing.inner, ..Region::empty() },
            });
            if arrivals.bytes() >= PIECE || Instant::now() >= until {
                break;
            }
        }
        if regions.is_empty() {
            let id = EntryId(first);
            let Some(entry) = session.entry(id) else { return Ok(()) };
            if self.begin_stream(editor, highlight, scene, entry)? {
                self.canvas.waiting.remove(&id);
            } else {
                self.canvas.waiting.insert(id);
            }
            return Ok(());
        }
        let starts = arrivals.put(editor, highlight, &self.canvas)?;
        for index in first..first + regions.len() {
            self.canvas.waiting.remove(&EntryId(index));
        }
        self.canvas.drawn.extend(regions);
        for (index, start) in starts {
            self.canvas.drawn[index].start = Some(start);
            self.canvas.shown.push(index);
        }
        for (id, rows, pictures) in framed {
            let start = self.start_row(editor, id)?;
            self.picture(editor, id, start..start + rows, &pictures);
        }
        Ok(())
    }

    /// What an entry looks like where it stands.
    fn look(&self, scene: &Scene, id: EntryId) -> Drawing {
        let Scene { session, style, tails } = *scene;
        let Some(entry) = session.entry(id).filter(|entry| entry.parent.is_none()) else {
            return Drawing::default();
        };
        let before = entry_before(session, id);
        if !session.inner(id).is_empty() || entry.subagent().is_some() {
            return draw_tree(session, (before, id), style, tails);
        }
        let before = before.and_then(|before| session.entry(before));
        let groups = &self.canvas.groups;
        let Some(run) = groups.run(id.0) else {
            return draw_standing(before, entry, Standing::Alone, style, tails);
        };
        let open = groups.is_open(&run);
        if groups.place(id.0) != Place::Leads {
            return draw_standing(before, entry, Standing::Within { open }, style, tails);
        }
        let anew;
        let tally = match &self.canvas.counted {
            Some((counted, tally)) if *counted == run => tally,
            _ => {
                anew = Tally::of(session.entries()[run].iter().filter(|entry| entry.parent.is_none()));
                &anew
            }
        };
        draw_standing(before, entry, Standing::Leads { run: tally, open }, style, tails)
    }

    /// Has an entry's region hold what it looks like now.
    fn put(&mut self, editor: &Editor, highlight: &Highlight, id: EntryId, drawing: Drawing) -> Result<()> {
        match (self.canvas.drawn[id.0].start.is_some(), drawing.lines.is_empty()) {
            (false, true) => Ok(()),
            (false, false) => self.insert(editor, highlight, id, drawing),
            (true, true) => self.remove(editor, id),
            (true, false) => self.replace(editor, highlight, id, drawing),
        }
    }

    /// Begins the region of the next entry, which streams, at the end. Says whether all of it is there.
    fn begin_stream(
        &mut self,
        editor: &Editor,
        highlight: &Highlight,
        scene: &Scene,
        entry: &Entry,
    ) -> Result<bool> {
        let id = EntryId(self.canvas.drawn.len());
        let before = entry_before(scene.session, id).and_then(|before| scene.session.entry(before));
        // The text itself comes by `append`, piece by piece.
        let empty = Entry {
            at: entry.at,
            clock: entry.clock,
            parent: None,
            body: Body::Message { text: String::new() },
            open: entry.open,
            refused: false,
        };
        let drawing = draw(before, &empty, scene.style, &|_| None);
        self.canvas.drawn.push(Region::empty());
        let row = self.make_room(editor, id, &drawing.lines)?;
        let first = drawing.markdown.map_or(0, |rows| rows.start);
        highlight.open(self.transcript, id.0, row + first);
        self.canvas.drawn[id.0].colouring = true;
        self.append(editor, highlight, id, entry)
    }

    /// Gives rows to an entry that had none. No line break between two other regions is touched.
    fn insert(
        &mut self,
        editor: &Editor,
        highlight: &Highlight,
        id: EntryId,
        mut drawing: Drawing,
    ) -> Result<()> {
        let row = self.make_room(editor, id, &drawing.lines)?;
        self.canvas.drawn[id.0].inner = std::mem::take(&mut drawing.inner);
        self.colour_markdown(highlight, id, row, &drawing);
        self.mark(editor, row, &drawing)?;
        self.picture(editor, id, row..row + drawing.lines.len(), &drawing.pictures);
        self.canvas.drawn[id.0].lines = std::mem::take(&mut drawing.lines);
        Ok(())
    }

    /// Has the images of an entry drawn in place, if something can do that.
    fn picture(&mut self, editor: &Editor, id: EntryId, rows: Range<usize>, pictures: &[(usize, Picture)]) {
        let had = std::mem::replace(&mut self.canvas.drawn[id.0].pictures, !pictures.is_empty());
        if had || !pictures.is_empty() {
            images::place(editor, self.transcript, rows, pictures);
        }
    }

    /// Puts an entry's lines behind those of the one shown before it. Gives their first row.
    fn make_room(&mut self, editor: &Editor, id: EntryId, lines: &[String]) -> Result<usize> {
        let at = self.canvas.shown.partition_point(|shown| *shown < id.0);
        let row = match at.checked_sub(1) {
            None if self.canvas.shown.is_empty() => {
                editor.set_text(self.transcript, (0, 0), (0, 0), lines)?;
                0
            }
            None => {
                let mut lines = lines.to_vec();
                lines.push(String::new());
                editor.set_text(self.transcript, (0, 0), (0, 0), &lines)?;
                0
            }
            Some(before) => {
                let row = self.end_row(editor, EntryId(self.canvas.shown[before]))?;
                let position = if at == self.canvas.shown.len() {
                    (-1, -1)
                } else {
                    (row as i64 - 1, editor.line_len(self.transcript, row - 1)? as i64)
                };
                let mut all = vec![String::new()];
                all.extend_from_slice(lines);
                editor.set_text(self.transcript, position, position, &all)?;
                row
            }
        };
        let options = editor.table([("right_gravity", Value::Boolean(false))])?;
        let start = editor.set_extmark(self.transcript, self.canvas.regions, (row, 0), options)?;
        self.canvas.drawn[id.0].start = Some(start);
        self.canvas.shown.insert(at, id.0);
        Ok(row)
    }

    /// Takes an entry's rows away, with the line break before them.
    fn remove(&mut self, editor: &Editor, id: EntryId) -> Result<()> {
        let (start, end) = (self.start_row(editor, id)?, self.end_row(editor, id)?);
        let region = &mut self.canvas.drawn[id.0];
        let Some(mark) = region.start.take() else { return Ok(()) };
        let lines = std::mem::take(&mut region.lines);
        region.inner.clear();
        self.canvas.shown.retain(|shown| *shown != id.0);
        editor.clear_namespace(self.transcript, self.canvas.marks, start as i64, end as i64)?;
        editor.api::<bool>("nvim_buf_del_extmark", (self.transcript, self.canvas.regions, mark))?;
        let Some(before) = start.checked_sub(1) else {
            // Nothing stands before the first entry, which is never part of a run.
            return Ok(());
        };
        let from = (before as i64, editor.line_len(self.transcript, before)? as i64);
        let to = (end as i64 - 1, lines.last().map_or(0, String::len) as i64);
        editor.set_text(self.transcript, from, to, &[""])
    }

    /// Appends what a stream has grown by. Says whether all of it is there.
    fn append(&mut self, editor: &Editor, highlight: &Highlight, id: EntryId, entry: &Entry) -> Result<bool> {
        let text = entry.stream().unwrap_or_default();
        let region = &self.canvas.drawn[id.0];
        let ready = ready(text);
        let Some(new) = ready.get(region.streamed..).filter(|new| !new.is_empty()) else {
            return Ok(true);
        };
        let end = (0..=PIECE.min(new.len())).rev().find(|end| new.is_char_boundary(*end)).unwrap_or_default();
        let piece = &new[..end];
        // Half of a line end waits for its other half.
        let piece = piece.strip_suffix('\r').filter(|rest| !rest.is_empty()).unwrap_or(piece);
        let said = &ready[..region.streamed];
        let broken: Vec<&str> = broken_lines(piece, region.column, said.chars().next_back()).collect();
        let grown = match &broken[..] {
            [only] => region.column + only.len(),
            lines => lines.last().map_or(0, |line| line.len()),
        };
        let same_line = said.get(said.len().saturating_sub(region.column)..).unwrap_or_default();
        let (lines, looks) = as_seen(&broken, same_line);
        let end = self.end_row(editor, id)?;
        let column = match looks.is_empty() {
            true => 0,
            false => editor.line_len(self.transcript, end - 1)?,
        };
        let position = if self.canvas.shown.last() == Some(&id.0) {
            (-1, -1)
        } else {
            (end as i64 - 1, editor.line_len(self.transcript, end - 1)? as i64)
        };
        editor.set_text(self.transcript, position, position, &lines)?;
        self.mark_looks(editor, &looks, (end - 1, column))?;
        let region = &mut self.canvas.drawn[id.0];
        region.streamed += piece.len();
        region.column = grown;
        if region.colouring {
            highlight.grew(self.transcript, id.0, end + lines.len() - 1);
        }
        Ok(region.streamed >= ready.len())
    }

    /// Colours what was given a look in lines of which the first was put at a position.
    fn mark_looks(&self, editor: &Editor, looks: &[Look], (first, column): (usize, usize)) -> Result<()> {
        if looks.is_empty() {
            return Ok(());
        }
        let list = editor.lua.create_table()?;
        for (row, look) in looks {
            let before = if *row == 0 { column } else { 0 };
            let options = editor.table([
                ("end_col", Value::Integer((before + look.end) as i64)),
                ("hl_group", editor.string(UNPRINTABLE)?),
                ("priority", Value::Integer(ABOVE_MARKDOWN)),
            ])?;
            push(&list, first + row, before + look.start, options)?;
        }
        editor.paint(self.transcript, self.canvas.marks, list)
    }

    /// Replaces the lines of a region that differ.
    fn replace(
        &mut self,
        editor: &Editor,
        highlight: &Highlight,
        id: EntryId,
        drawing: Drawing,
    ) -> Result<()> {
        if drawing.markdown.is_some() {
            highlight.drop(self.transcript, id.0);
        }
        let start = self.start_row(editor, id)?;
        let old = std::mem::take(&mut self.canvas.drawn[id.0].lines);
        self.replace_rows(editor, start, &old, &drawing.lines)?;
        let (from, to) = (start as i64, (start + drawing.lines.len()) as i64);
        editor.clear_namespace(self.transcript, self.canvas.marks, from, to)?;
        self.colour_markdown(highlight, id, start, &drawing);
        self.mark(editor, start, &drawing)?;
        self.picture(editor, id, start..start + drawing.lines.len(), &drawing.pictures);
        let region = &mut self.canvas.drawn[id.0];
        (region.lines, region.inner) = (drawing.lines, drawing.inner);
        Ok(())
    }

    /// Turns a region's lines that differ into the new ones without touching the line break at its end, since
    /// the next region's extmark stands right behind it.
    fn replace_rows(&self, editor: &Editor, start: usize, old: &[String], new: &[String]) -> Result<()> {
        let (head, foot) = same_ends(old, new, |old, new| old == new);
        let (rows, new) = (head..old.len() - foot, &new[head..new.len() - foot]);
        let at = |row: usize| (start + row) as i64;
        let len = |row: usize| old[row].len() as i64;
        if rows.is_empty() && new.is_empty() {
            return Ok(());
        }
        if rows.is_empty() {
            let mut lines = new.to_vec();
            if rows.start == 0 {
                lines.push(String::new());
                return editor.set_text(self.transcript, (at(0), 0), (at(0), 0), &lines);
            }
            lines.insert(0, String::new());
            let position = (at(rows.start - 1), len(rows.start - 1));
            return editor.set_text(self.transcript, position, position, &lines);
        }
        let end = (at(rows.end - 1), len(rows.end - 1));
        if !new.is_empty() {
            return editor.set_text(self.transcript, (at(rows.start), 0), end, new);
        }
        if rows.start > 0 {
            let begin = (at(rows.start - 1), len(rows.start - 1));
            return editor.set_text(self.transcript, begin, end, &[""]);
        }
        editor.set_text(self.transcript, (at(0), 0), (at(rows.end), 0), &[""])
    }

    /// Has the Markdown of a drawing that was put at a row coloured.
    fn colour_markdown(&self, highlight: &Highlight, id: EntryId, start: usize, drawing: &Drawing) {
        let Some(rows) = &drawing.markdown else { return };
        match drawing.is_typed {
            true => highlight.open_as_typed(self.transcript, id.0, start + rows.start),
            false => highlight.open(self.transcript, id.0, start + rows.start),
        }
        highlight.close(self.transcript, id.0, start + rows.end);
    }

    /// Puts a drawing's own marks on the rows that it was put at.
    fn mark(&self, editor: &Editor, start: usize, drawing: &Drawing) -> Result<()> {
        let list = editor.lua.create_table()?;
        for mark in &drawing.marks {
            let options = editor.table([
                ("end_col", Value::Integer(mark.end as i64)),
                ("hl_group", editor.string(mark.group)?),
            ])?;
            if mark.group == UNPRINTABLE {
                options.set("priority", ABOVE_MARKDOWN)?;
            }
            push(&list, start + mark.row, mark.start, options)?;
        }
        for (row, text) in &drawing.right {
            push_right(editor, &list, start + row, text)?;
        }
        for (row, group) in &drawing.frames {
            let bars: (Table, Option<Table>) =
                editor.helper("bar", (self.canvas.bar(), *group, drawing.may_wrap(*row)))?;
            push(&list, start + row, 0, bars.0)?;
            bars.1.map_or(Ok(()), |rest| push(&list, start + row, 0, rest))?;
        }
        editor.paint(self.transcript, self.canvas.marks, list)
    }

    /// A region that nothing follows any more is coloured to its end.
    pub fn finish(&mut self, editor: &Editor, highlight: &Highlight, index: usize) -> Result<()> {
        if self.canvas.drawn.get(index).is_some_and(|region| region.colouring) {
            let end = self.end_row(editor, EntryId(index))?;
            highlight.close(self.transcript, index, end);
            self.canvas.drawn[index].colouring = false;
        }
        Ok(())
    }

    /// The last region is complete: the turn is over.
    pub fn settle(&mut self, editor: &Editor, highlight: &Highlight) -> Result<()> {
        match self.canvas.shown.last().copied() {
            Some(last) => self.finish(editor, highlight, last),
            None => Ok(()),
        }
    }

    // Rows and entries.

    /// The region that shows an entry, and its rows in there where that is another one's.
    fn place_of(&self, id: EntryId) -> (EntryId, Option<Range<usize>>) {
        let Some(home) = self.canvas.homes.get(&id).copied() else { return (id, None) };
        let inner = self.canvas.drawn.get(home.0).map_or(&[][..], |region| &region.inner);
        // What is folded has the rows of that which holds it.
        let rows = inner.iter().find(|(_, inner)| *inner == id).map(|(rows, _)| rows.clone());
        (home, rows.or(Some(0..0)))
    }

    /// The 0-based first row of an entry that has rows.
    pub fn start_row(&self, editor: &Editor, id: EntryId) -> Result<usize> {
        let (id, within) = self.place_of(id);
        let start = self.canvas.drawn.get(id.0).and_then(|region| region.start);
        let start = start.ok_or_else(|| mlua::Error::runtime("no such entry is drawn"))?;
        let row = editor
            .extmark_row(self.transcript, self.canvas.regions, start)?
            .ok_or_else(|| mlua::Error::runtime("an entry's mark is gone"))?;
        Ok(row + within.map_or(0, |rows| rows.start))
    }

    /// The row after an entry's last.
    pub fn end_row(&self, editor: &Editor, id: EntryId) -> Result<usize> {
        if let (home, Some(rows)) = self.place_of(id) {
            return Ok(self.start_row(editor, home)? + rows.end);
        }
        let next = self.canvas.shown.partition_point(|shown| *shown <= id.0);
        match self.canvas.shown.get(next) {
            Some(next) => self.start_row(editor, EntryId(*next)),
            None => editor.line_count(self.transcript),
        }
    }

    /// The first row of an entry that is not the blank line that sets it off.
    pub fn head_row(&self, editor: &Editor, id: EntryId) -> Result<usize> {
        let row = self.start_row(editor, id)?;
        let lines = editor.lines(self.transcript, row as i64, row as i64 + 1)?;
        Ok(row + usize::from(id.0 > 0 && lines.first().is_some_and(String::is_empty)))
    }

    /// The place in a file that a 0-based row is about.
    pub fn target_at(
        &self,
        editor: &Editor,
        session: &Session,
        tails: Tails,
        row: usize,
    ) -> Result<Option<Target>> {
        let Some(id) = self.region_at(editor, row)? else { return Ok(None) };
        let leads = |entry: &Entry| entry.tool().is_some() || entry.subagent().is_some();
        if !session.entry(id).is_some_and(leads) {
            return Ok(None);
        }
        let hints = self.canvas.hints.clone();
        let style = Style { icons: true, width: self.canvas.width.unwrap_or(80), clock: None, hints };
        let row = row - self.start_row(editor, id)?;
        let drawing = self.look(&Scene { session, style: &style, tails }, id);
        Ok(drawing.targets.into_iter().find(|target| target.row == row))
    }

    /// Which answer to a question stands at a 0-based row and byte, from 1.
    pub fn answer_at(
        &self,
        editor: &Editor,
        session: &Session,
        tails: Tails,
        (row, column): (usize, usize),
    ) -> Result<Option<usize>> {
        let Some(id) = self.region_at(editor, row)? else { return Ok(None) };
        let hints = self.canvas.hints.clone();
        let style = Style { icons: true, width: self.canvas.width.unwrap_or(80), clock: None, hints };
        let row = row - self.start_row(editor, id)?;
        let drawing = self.look(&Scene { session, style: &style, tails }, id);
        let mut answers = drawing.answers.into_iter();
        let there = answers.find(|span| span.row == row && (span.start..span.end).contains(&column));
        Ok(there.map(|span| span.number))
    }

    /// The image that a 0-based row stands for.
    pub fn picture_at(
        &self,
        editor: &Editor,
        session: &Session,
        tails: Tails,
        row: usize,
    ) -> Result<Option<Picture>> {
        let Some(id) = self.region_at(editor, row)? else { return Ok(None) };
        let has_any =
            |entry: &Entry| matches!(entry.body, Body::Tool(_) | Body::Subagent(_) | Body::Picture(_));
        if !session.entry(id).is_some_and(has_any) {
            return Ok(None);
        }
        let style =
            Style { icons: true, width: self.canvas.width.unwrap_or(80), clock: None, hints: Rc::default() };
        let row = row - self.start_row(editor, id)?;
        let drawing = self.look(&Scene { session, style: &style, tails }, id);
        Ok(drawing.pictures.into_iter().find(|(at, _)| *at == row).map(|(_, picture)| picture))
    }

    /// The entries that have rows, in order.
    pub fn shown(&self) -> &[usize] {
        &self.canvas.shown
    }

    /// The entry at a 0-based row: of those in a tree the innermost.
    pub fn entry_at(&self, editor: &Editor, row: usize) -> Result<Option<EntryId>> {
        let Some(id) = self.region_at(editor, row)? else { return Ok(None) };
        let Some(region) = self.canvas.drawn.get(id.0).filter(|region| !region.inner.is_empty()) else {
            return Ok(Some(id));
        };
        let row = row - self.start_row(editor, id)?;
        let inner = region.inner.iter().rev().find(|(rows, _)| rows.contains(&row));
        Ok(Some(inner.map_or(id, |(_, inner)| *inner)))
    }

    /// The entry whose region a 0-based row is in.
    fn region_at(&self, editor: &Editor, row: usize) -> Result<Option<EntryId>> {
        let shown = &self.canvas.shown;
        let (mut low, mut high) = (0, shown.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.start_row(editor, EntryId(shown[middle]))? <= row {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low.checked_sub(1).map(|at| EntryId(shown[at])))
    }

    /// What there is to open or fold at a 0-based row.
    pub fn fold_at(&self, editor: &Editor, row: usize) -> Result<Option<Fold>> {
        let Some(id) = self.entry_at(editor, row)? else { return Ok(None) };
        if self.canvas.groups.place(id.0) == Place::Leads {
            let gap = self.canvas.drawn[id.0].lines.first().is_some_and(String::is_empty);
            let head = self.start_row(editor, id)? + usize::from(gap);
            if row <= head {
                return Ok(self.canvas.groups.run(id.0).map(Fold::Run));
            }
        }
        Ok(Some(Fold::Entry(id)))
    }

    /// Shows the calls of a run, or gathers them again. Says whether they are shown now.
    pub fn toggle_run(&mut self, run: Range<usize>) -> bool {
        self.canvas.groups.toggle(&run);
        let open = self.canvas.groups.is_open(&run);
        self.canvas.waiting.extend(run.map(EntryId));
        open
    }
}

/// The entry that is drawn above another: what stands under one is drawn with it.
fn entry_before(session: &Session, id: EntryId) -> Option<EntryId> {
    let is_own = |id: &EntryId| session.entry(*id).is_some_and(|entry| entry.parent.is_none());
    (0..id.0).rev().map(EntryId).find(is_own)
}

/// What of a stream's text is drawn. Line breaks at the end wait for what follows them: agents often end a
/// message with some, and what comes next is set off by a blank line anyway.
fn ready(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

/// Where a character was given a look: which of some lines, and its bytes there.
type Look = (usize, Range<usize>);

/// Lines as they can be seen, and where in them characters were given a look. `before` is
/// what the first of them begins with already.
fn as_seen<'t>(lines: &[&'t str], before: &str) -> (Vec<Cow<'t, str>>, Vec<Look>) {
    let mut marks = Vec::new();
    let mut see = |(row, line): (usize, &&'t str)| {
        if is_plain(line) {
            return Cow::Borrowed(*line);
        }
        let (seen, looks) = Visible::after(if row == 0 { before } else { "" }).read(line);
        marks.extend(looks.into_iter().map(|look| (row, look)));
        Cow::Owned(seen)
    };
    let seen = lines.iter().enumerate().map(&mut see).collect();
    (seen, marks)
}

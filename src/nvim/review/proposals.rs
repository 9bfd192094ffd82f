//! The changes that an open tool call proposes, as virtual text in the file itself: the lines that
//! are to go are marked, the new ones stand below them. They go when the call is over. Where they
//! belong is worked out in the background (`core::changes::diff`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{Result, Table, Value};

use crate::core::changes::diff::{Hunk, Placed, PlacedState};
use crate::core::changes::words::Words;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::text::visible::visible_line;
use crate::nvim::diff_view::appearance::{Appearance, Shape, cells};
use crate::nvim::diff_view::marks::{
    SignedLines, forget_above_first_line, line, push, seen, show_above_first_line, virtual_lines, words_in,
};
use crate::nvim::editor::autocommands::Group;
use crate::nvim::editor::{Buf, Editor, Win};

/// A tool call of a session.
pub type Call = (SessionKey, EntryId);

#[derive(Default)]
pub struct Proposals {
    /// The buffers in which a call's changes are drawn, each in a namespace of the call's own.
    drawn: HashMap<Call, Vec<Buf>>,
    /// Where they stood there last, and the last row that the text had then.
    stood: HashMap<(Call, Buf), (Vec<Placed>, usize)>,
    labels: HashMap<(Call, Buf), Label>,
    /// What these buffers looked like when something was drawn in them last.
    shapes: HashMap<Buf, Shape>,
    /// What is still to be drawn.
    waiting: Vec<Waiting>,
    /// It is gone on with in a while.
    pub drawing: bool,
    /// The user has changed these; what is drawn in them is placed anew in a while.
    pub changed: HashSet<Buf>,
}

/// What a call proposes for a buffer.
pub struct Proposed {
    pub placed: Vec<Placed>,
    /// What of it is made already is shown among what is left to decide.
    pub made_shown: bool,
    /// Says beside the first of it that it is not made yet, and how that is answered.
    pub label: (String, &'static str),
}

/// What stands beside the first hunk of a call's that is not made yet.
struct Label {
    /// What it is, and how that is answered.
    text: (String, &'static str),
    row: usize,
    mark: Option<i64>,
}

struct Waiting {
    call: Call,
    buf: Buf,
    /// `b:changedtick` of the text that the hunks are placed in.
    tick: u64,
    /// The next one is the last.
    hunks: Vec<(PlacedState, Arc<Hunk>)>,
    /// What is left for the colours of code.
    colours: Duration,
}

impl Proposals {
    pub fn is_drawn(&self, call: Call) -> bool {
        self.drawn.contains_key(&call)
    }

    pub fn is_drawn_in(&self, call: Call, buf: Buf) -> bool {
        self.drawn.get(&call).is_some_and(|bufs| bufs.contains(&buf))
    }

    pub fn is_any_drawn_in(&self, buf: Buf) -> bool {
        self.drawn.values().flatten().any(|other| *other == buf)
    }

    pub fn is_any_drawn(&self) -> bool {
        !self.drawn.is_empty()
    }

    /// The calls whose changes are drawn, and where.
    pub fn all_drawn(&self) -> Vec<(Call, Vec<Buf>)> {
        self.drawn.iter().map(|(call, bufs)| (*call, bufs.clone())).collect()
    }

    /// Says beside the first hunk of a call that is not made yet what it is: made changes look alike. Where the line leaves
    /// no room for that in its window, it stands above; gives that line then.
    pub fn place_label(&mut self, editor: &Editor, call: Call, buf: Buf) -> Result<Option<usize>> {
        match self.labels.get_mut(&(call, buf)) {
            Some(label) => label.place(editor, (buf, namespace(editor, call)?)),
            None => Ok(None),
        }
    }

    /// Has a call's changes drawn in a buffer, in the place of those that are.
    pub fn begin(
        &mut self,
        editor: &Editor,
        call: Call,
        (buf, tick): (Buf, u64),
        Proposed { placed, made_shown, label }: Proposed,
    ) -> Result<()> {
        let ns = namespace(editor, call)?;
        editor.clear_namespace(buf, ns, 0, -1)?;
        let (mut before, last) = self.stood.remove(&(call, buf)).unwrap_or_default();
        let anchors = anchors(editor, call)?;
        follow(editor, (buf, anchors), (&mut before, last))?;
        let placed: Vec<Placed> = where_it_stood(placed, &before);
        let last = anchor(editor, (buf, anchors), &placed)?;
        self.stood.insert((call, buf), (placed.clone(), last));
        // What is made already shows among the hunks of the file.
        let wanted = |placed: &Placed| !(made_shown && placed.state == PlacedState::Applied);
        let mut hunks: Vec<(PlacedState, Arc<Hunk>)> = placed
            .into_iter()
            .filter(wanted)
            .flat_map(|placed| placed.hunks.into_iter().map(move |hunk| (placed.state, hunk)))
            .collect();
        let seen = seen(editor, buf);
        let is_seen = |hunk: &Hunk| {
            let end = hunk.row + hunk.removed.len().max(hunk.added.len());
            seen.iter().any(|rows| hunk.row < rows.end && rows.start <= end)
        };
        hunks.sort_by_cached_key(|(_, hunk)| (is_seen(hunk), std::cmp::Reverse(hunk.row)));
        self.labels.remove(&(call, buf));
        if let Some(row) = row_of_label(&hunks) {
            self.labels.insert((call, buf), Label { text: label, row, mark: None });
        }
        self.place_label(editor, call, buf)?;
        self.forget(call, buf);
        self.waiting.push(Waiting { call, buf, tick, hunks, colours: COLOUR_BUDGET });
        let bufs = self.drawn.entry(call).or_default();
        if !bufs.contains(&buf) {
            bufs.push(buf);
        }
        Ok(())
    }

    /// Draws what waits for it, visible hunks first, until the time is over. Gives the calls whose hunks
    /// belong elsewhere by now, since the user has changed the text.
    pub fn draw(&mut self, editor: &Editor, until: Instant) -> Result<Vec<Call>> {
        let mut moved = Vec::new();
        while let Some(mut waiting) = self.waiting.pop() {
            if !editor.buf_is_loaded(waiting.buf) {
                continue;
            }
            if editor.changedtick(waiting.buf)? != waiting.tick {
                moved.push(waiting.call);
                continue;
            }
            let (ns, lines) = (namespace(editor, waiting.call)?, editor.line_count(waiting.buf)?);
            let appearance = Appearance::of(editor, waiting.buf, waiting.colours);
            self.shapes.insert(waiting.buf, appearance.shape.clone());
            while let Some((state, hunk)) = waiting.hunks.pop() {
                editor.paint(waiting.buf, ns, marks_of(editor, &appearance, lines, state, &hunk)?)?;
                // Also the label of what is added below the first line.
                if hunk.row <= 1 {
                    show_above_first_line(editor, waiting.buf);
                }
                if Instant::now() >= until && !waiting.hunks.is_empty() {
                    waiting.colours = appearance.left();
                    self.waiting.push(waiting);
                    return Ok(moved);
                }
            }
        }
        Ok(moved)
    }

    /// The buffers that look otherwise than when something was drawn in them: virtual lines are not wrapped by Neovim.
    pub fn outdated_looks(&self, editor: &Editor) -> Vec<Buf> {
        let looks_otherwise = |buf: &Buf| {
            let before = self.shapes.get(buf);
            before.is_some_and(|before| Appearance::of(editor, *buf, Duration::ZERO).shape != *before)
        };
        let drawn: HashSet<Buf> = self.drawn.values().flatten().copied().collect();
        let shown = drawn.into_iter().filter(|buf| !editor.wins_of(*buf).is_empty());
        shown.filter(looks_otherwise).collect()
    }

    pub fn has_more(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn forget(&mut self, call: Call, buf: Buf) {
        self.waiting.retain(|waiting| waiting.call != call || waiting.buf != buf);
    }

    pub fn clear(&mut self, editor: &Editor, call: Call) -> Result<()> {
        let Some(bufs) = self.drawn.remove(&call) else { return Ok(()) };
        self.waiting.retain(|waiting| waiting.call != call);
        self.stood.retain(|(other, _), _| *other != call);
        self.labels.retain(|(other, _), _| *other != call);
        let (ns, anchors) = (namespace(editor, call)?, anchors(editor, call)?);
        for buf in bufs {
            if editor.buf_is_valid(buf) {
                editor.clear_namespace(buf, ns, 0, -1)?;
                editor.clear_namespace(buf, anchors, 0, -1)?;
                forget_above_first_line(editor, buf);
            }
            if !self.is_any_drawn_in(buf) {
                self.shapes.remove(&buf);
                changes_of(editor, buf)?;
            }
        }
        Ok(())
    }

    /// The same for all calls in one buffer.
    pub fn clear_in(&mut self, editor: &Editor, buf: Buf) -> Result<()> {
        if !self.is_any_drawn_in(buf) {
            return Ok(());
        }
        self.waiting.retain(|waiting| waiting.buf != buf);
        self.stood.retain(|(_, other), _| *other != buf);
        self.labels.retain(|(_, other), _| *other != buf);
        for (call, bufs) in self.drawn.iter_mut().filter(|(_, bufs)| bufs.contains(&buf)) {
            bufs.retain(|other| *other != buf);
            editor.clear_namespace(buf, namespace(editor, *call)?, 0, -1)?;
            editor.clear_namespace(buf, anchors(editor, *call)?, 0, -1)?;
        }
        // A call that is drawn nowhere is not drawn again when its file is written.
        self.drawn.retain(|_, bufs| !bufs.is_empty());
        forget_above_first_line(editor, buf);
        changes_of(editor, buf).map(drop)
    }

    pub fn clear_session(&mut self, editor: &Editor, session: SessionKey) -> Result<()> {
        let calls: Vec<_> = self.drawn.keys().filter(|call| call.0 == session).copied().collect();
        for call in calls {
            self.clear(editor, call)?;
        }
        Ok(())
    }
}

/// Of a diff that the text does not hold any more nobody knows where it belongs, but for where it stood before.
fn where_it_stood(mut placed: Vec<Placed>, before: &[Placed]) -> Vec<Placed> {
    for (now, before) in placed.iter_mut().zip(before) {
        if now.state == PlacedState::Unmatched && before.state != PlacedState::Applied {
            now.hunks.clone_from(&before.hunks);
        }
    }
    placed
}

/// Marks that go along with the text, one for each hunk: it may have to be known where one would be now.
fn anchors(editor: &Editor, (session, entry): Call) -> Result<i64> {
    editor.namespace(&format!("acp.anchors.{}.{}", session.0, entry.0))
}

/// Sets them; gives the text's last row, which stands for those after it.
fn anchor(editor: &Editor, (buf, ns): (Buf, i64), placed: &[Placed]) -> Result<usize> {
    let last = editor.line_count(buf)? - 1;
    let hunks = placed.iter().flat_map(|placed| &placed.hunks);
    let rows: Vec<usize> = hunks.map(|hunk| hunk.row.min(last)).collect();
    editor.helper::<()>("anchor", (buf, ns, rows))?;
    Ok(last)
}

/// Has hunks be where their marks have come to.
fn follow(editor: &Editor, (buf, ns): (Buf, i64), (placed, last): (&mut [Placed], usize)) -> Result<()> {
    let rows: Vec<usize> = editor.helper("anchored", (buf, ns))?;
    let hunks = placed.iter_mut().flat_map(|placed| &mut placed.hunks);
    for (hunk, row) in hunks.zip(rows) {
        let row = row + hunk.row.saturating_sub(last);
        *hunk = Arc::new(Hunk { row, ..Hunk::clone(hunk) });
    }
    Ok(())
}

/// What hears of the user's changes in a buffer; made again, it hears of none.
pub fn changes_of(editor: &Editor, buf: Buf) -> Result<Group<'_>> {
    Group::new(editor, &format!("acp.proposals.{}", buf.0))
}

/// The cells of the sign that a line gets.
const SIGN: usize = 2;

/// What the colours of one call's changes in a file may cost.
const COLOUR_BUDGET: Duration = Duration::from_millis(30);

fn namespace(editor: &Editor, call: Call) -> Result<i64> {
    editor.namespace(&format!("acp.diff.{}.{}", call.0.0, call.1.0))
}

/// Where the first hunk begins that is not made yet.
fn row_of_label(hunks: &[(PlacedState, Arc<Hunk>)]) -> Option<usize> {
    let proposed = hunks.iter().filter(|(state, _)| *state == PlacedState::Proposed).map(|(_, hunk)| hunk);
    let first = proposed.min_by_key(|hunk| hunk.row)?;
    // Lines that are added alone stand below the one before.
    Some(if first.removed.is_empty() { first.row.saturating_sub(1) } else { first.row })
}

impl Label {
    fn place(&mut self, editor: &Editor, (buf, ns): (Buf, i64)) -> Result<Option<usize>> {
        let row = self.row.min(editor.line_count(buf)? - 1);
        let label = visible_line(&self.text.0);
        let whole = format!("{label}{}", self.text.1);
        let appearance = Appearance::of(editor, buf, Duration::ZERO);
        let room = room_behind(editor, &appearance, buf, row)?;
        let fits = |text: &&String| room.is_none_or(|room| cells(editor, text) <= room);
        let text = [&whole, &label].into_iter().find(fits);
        let chunks = |text: &str| -> Result<Table> {
            let chunk = [editor.string(text)?, editor.string("AcpToolWaiting")?];
            editor.lua.create_sequence_from([editor.lua.create_sequence_from(chunk)?])
        };
        let options = match text {
            Some(text) => editor.table([
                ("virt_text", Value::Table(chunks(text)?)),
                ("virt_text_pos", editor.string("eol")?),
                ("hl_mode", editor.string("combine")?),
            ])?,
            None => {
                let margin = appearance.margin(' ');
                let line = chunks(&format!("{}{whole}", margin.as_deref().unwrap_or_default()))?;
                editor.table([
                    ("virt_lines", Value::Table(editor.lua.create_sequence_from([line])?)),
                    ("virt_lines_above", Value::Boolean(true)),
                    ("virt_lines_leftcol", Value::Boolean(margin.is_some())),
                ])?
            }
        };
        if let Some(mark) = self.mark {
            options.set("id", mark)?;
        }
        self.mark = Some(editor.set_extmark(buf, ns, (row, 0), options)?);
        Ok(text.is_none().then_some(row))
    }
}

/// The cells that are free behind the text of a line, without a blank; nothing where no window shows it.
fn room_behind(editor: &Editor, appearance: &Appearance, buf: Buf, row: usize) -> Result<Option<usize>> {
    let width = |win: &Win| editor.win_size(*win).map_or(u16::MAX, |(columns, _)| columns);
    let Some(win) = editor.wins_of(buf).into_iter().min_by_key(width) else { return Ok(None) };
    let (taken, breaks_early): (usize, bool) = editor.helper("cells_of_line", (win, row))?;
    let free = match appearance.room().filter(|room| *room > 0) {
        // Only Neovim knows where its last row ends.
        Some(room) if taken > room && breaks_early => 0,
        Some(room) => taken.max(1).next_multiple_of(room) - taken,
        None => {
            let cut: Option<usize> = editor.helper("cuts_lines_at", win)?;
            cut.unwrap_or_default().saturating_sub(SIGN + taken)
        }
    };
    Ok(Some(free.saturating_sub(1)))
}

/// The marks that show a hunk in a buffer of so many lines.
fn marks_of(
    editor: &Editor,
    appearance: &Appearance,
    lines: usize,
    state: PlacedState,
    hunk: &Hunk,
) -> Result<Table> {
    let marks = editor.lua.create_table()?;
    match state {
        PlacedState::Proposed => proposed(editor, appearance, &marks, hunk, lines)?,
        PlacedState::Applied => applied(editor, appearance, &marks, hunk, lines)?,
        PlacedState::Unmatched => adrift(editor, appearance, &marks, hunk, lines)?,
    }
    Ok(marks)
}

/// The buffer holds the old lines: they are marked as going, the new ones stand below them.
fn proposed(
    editor: &Editor,
    appearance: &Appearance,
    marks: &Table,
    hunk: &Hunk,
    lines: usize,
) -> Result<()> {
    let words = Words::of(hunk);
    for (at, row) in (hunk.row..(hunk.row + hunk.removed.len()).min(lines)).enumerate() {
        push(marks, row, 0, line(editor, "AcpDiffDelete", "-")?)?;
        words_in(editor, marks, row, words.removed(at), "AcpDiffDeleteWord")?;
    }
    if hunk.added.is_empty() {
        return Ok(());
    }
    let after = hunk.row + hunk.removed.len();
    let (row, above) = if after == 0 { (0, true) } else { ((after - 1).min(lines - 1), false) };
    push(marks, row, 0, virtual_lines(editor, appearance, &SignedLines::added(hunk, &words), above)?)
}

/// The buffer holds the new lines: they are marked, the old ones stand above them.
fn applied(editor: &Editor, appearance: &Appearance, marks: &Table, hunk: &Hunk, lines: usize) -> Result<()> {
    let words = Words::of(hunk);
    for (at, row) in (hunk.row..(hunk.row + hunk.added.len()).min(lines)).enumerate() {
        push(marks, row, 0, line(editor, "AcpDiffAdd", "+")?)?;
        words_in(editor, marks, row, words.added(at), "AcpDiffAddWord")?;
    }
    if hunk.removed.is_empty() {
        return Ok(());
    }
    let (row, above) = if hunk.row < lines { (hunk.row, true) } else { (lines - 1, false) };
    push(marks, row, 0, virtual_lines(editor, appearance, &SignedLines::removed(hunk, &words), above)?)
}

/// The text has moved on: the agent's own view of it, above the best guess of a line.
fn adrift(editor: &Editor, appearance: &Appearance, marks: &Table, hunk: &Hunk, lines: usize) -> Result<()> {
    let row = hunk.row.min(lines - 1);
    let words = Words::of(hunk);
    let note = ["the file has changed since the agent read it; its own view of the change:".to_owned()];
    // One mark: Neovim does not say in which order it shows the lines of several.
    let all = virtual_lines(editor, appearance, &SignedLines::new('?', &note), true)?;
    let lines: Table = all.get("virt_lines")?;
    let removed = virtual_lines(editor, appearance, &SignedLines::removed(hunk, &words), true)?;
    let added = virtual_lines(editor, appearance, &SignedLines::added(hunk, &words), true)?;
    for part in [removed, added] {
        for line in part.get::<Table>("virt_lines")?.sequence_values::<Table>() {
            lines.raw_push(line?)?;
        }
    }
    push(marks, row, 0, all)?;
    Ok(())
}

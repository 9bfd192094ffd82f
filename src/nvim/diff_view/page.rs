//! A page that lists hunks, put into a buffer: its lines, folds and colours, with those of the code's language. What
//! is on the page is left to `core::changes::hunk_page`.

use std::any::Any;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use mlua::{Function, Result, Table, Value};

use crate::config::Keys;
use crate::core::changes::hunk_page::{Code, Page, Step, steps};
use crate::core::changes::page_cursor::row_of_next;
use crate::core::changes::review_edits::ADDED;
use crate::nvim::context::Context;
use crate::nvim::diff_view::appearance::Appearance;
use crate::nvim::diff_view::marks::{push, seen, words_in};
use crate::nvim::editor::{Buf, Editor, Win};

/// What the colours of code on a page may cost in all; beyond, it is plain.
const COLOUR_BUDGET: Duration = Duration::from_millis(200);

/// What is painted in one go, and how long the editor has its turn then.
const BUDGET: Duration = Duration::from_millis(3);
const PAUSE: Duration = Duration::from_millis(15);

/// So many marked lines are painted before the clock is looked at again.
const MARKS: usize = 50;

/// A page as it stands in a buffer. It is painted in slices, what is on the screen first.
#[derive(Default)]
pub struct PageView {
    pub page: Page,
    /// What is to be painted; the next one is the last.
    left: Vec<Piece>,
    /// What the colours of code may still cost.
    colours: Duration,
    /// It is gone on with after a pause.
    is_awaited: bool,
}

/// Has the rest of a feature's page painted in slices; `view` finds the page and its buffer, as long as there is one.
pub fn paint_later<F: Any>(
    cx: &mut Context,
    feature: &mut F,
    view: fn(&mut F) -> Option<(&mut PageView, Buf)>,
) -> Result<()> {
    let waits = view(feature)
        .is_some_and(|(view, _)| !view.left.is_empty() && !std::mem::replace(&mut view.is_awaited, true));
    if !waits {
        return Ok(());
    }
    cx.later(PAUSE, move |feature: &mut F, cx| {
        if let Some((view, buf)) = view(feature) {
            view.is_awaited = false;
            view.paint(&cx.editor, buf, Instant::now() + BUDGET)?;
        }
        paint_later(cx, feature, view)
    })
}

enum Piece {
    /// Some of the page's marks, by their numbers.
    Marks(Range<usize>),
    /// Lines of code, by their number.
    Code(usize),
}

/// The cells that a line of a page has in the narrowest window that shows it.
pub fn text_width(editor: &Editor, buf: Buf) -> usize {
    let width = |win: Win| -> Result<u16> {
        let told: Vec<Table> = editor.func("getwininfo", win.0)?;
        let offset: u16 = told.first().map_or(Ok(0), |told| told.get("textoff"))?;
        Ok(editor.win_size(win)?.0.saturating_sub(offset))
    };
    let wins = editor.wins_of(buf).into_iter().filter_map(|win| width(win).ok());
    wins.min().unwrap_or_else(|| editor.size().0).into()
}

impl PageView {
    /// Puts another page into the buffer that holds this one. What is on both stays, and with it the folds that the user
    /// has opened and closed.
    pub fn put(&mut self, page: Page, editor: &Editor, buf: Buf) -> Result<()> {
        let until = Instant::now() + BUDGET;
        let before = std::mem::replace(&mut self.page, page);
        let count = editor.line_count(buf)?;
        let steps = match before.lines.len() == count && !before.lines.is_empty() {
            true => steps(&before, &self.page),
            false => vec![Step { rows: 0..count, lines: 0..self.page.lines.len(), is_text: false }],
        };
        if steps.is_empty() {
            // It is painted already, or waits to be.
            return Ok(());
        }
        let cursors = self.cursors_after(&before, editor, buf)?;
        self.replace(editor, buf, &steps)?;
        cursors.into_iter().try_for_each(|(win, row)| editor.set_cursor(win, row + 1, 0))?;
        // What was not painted yet is not known by its rows any more.
        let outdated: Vec<Range<usize>> = match self.left.is_empty() {
            true => steps.iter().map(|step| self.outdated(step)).collect(),
            false => std::iter::once(0..self.page.lines.len()).collect(),
        };
        let ns = namespace(editor)?;
        for rows in &outdated {
            editor.clear_namespace(buf, ns, rows.start as i64, rows.end as i64)?;
        }
        self.left = self.pieces(&outdated, &seen(editor, buf));
        self.colours = COLOUR_BUDGET;
        self.paint(editor, buf, until)
    }

    /// The windows whose cursors are on what this page does not have any more, with the rows that they go to.
    fn cursors_after(&self, before: &Page, editor: &Editor, buf: Buf) -> Result<Vec<(Win, usize)>> {
        let mut all = Vec::new();
        for win in editor.wins_of(buf) {
            let row = editor.cursor(win)?.0 - 1;
            all.extend(row_of_next(before, &self.page, row).map(|next| (win, next)));
        }
        Ok(all)
    }

    /// The rows that have to be painted after a step. Of a hunk in part other words may be the changed ones.
    fn outdated(&self, step: &Step) -> Range<usize> {
        if step.is_text { step.lines.clone() } else { self.page.whole_hunks(&step.lines) }
    }

    fn replace(&self, editor: &Editor, buf: Buf, steps: &[Step]) -> Result<()> {
        let ns = namespace(editor)?;
        let modifiable: bool = editor.buf_option(buf, "modifiable")?;
        // Not for `u`: what it would bring back is no page.
        let levels: i64 = editor.buf_option(buf, "undolevels")?;
        editor.set_buf_option(buf, "undolevels", -1)?;
        editor.set_buf_option(buf, "modifiable", true)?;
        // Neovim asks for folds while lines change: above each that does, all are new ones already.
        tell_folds(&self.page, editor, buf)?;
        for Step { rows, lines, is_text } in steps {
            let row = rows.start as i64;
            let lines = &self.page.lines[lines.clone()];
            if *is_text {
                editor.set_text(buf, (row, 0), (row, -1), lines)?;
            } else {
                // Marks of lines that go would stand at the next one.
                editor.clear_namespace(buf, ns, row, rows.end as i64)?;
                editor.set_lines(buf, rows.clone(), lines)?;
            }
        }
        // Where lines went Neovim asks about those that changed only, and a fold can end too early; in insert mode about none.
        let is_inserting = editor.mode().0.starts_with(['i', 'R']);
        if steps.iter().any(|step| step.rows.len() > step.lines.len() || is_inserting && !step.is_text) {
            editor.helper::<()>("update_folds", buf)?;
        }
        if steps.iter().any(|step| !step.is_text) {
            for win in editor.wins_of(buf) {
                editor.helper::<()>("fill_window", win)?;
            }
        }
        editor.set_buf_option(buf, "undolevels", levels)?;
        editor.set_buf_option(buf, "modified", false)?;
        editor.set_buf_option(buf, "modifiable", modifiable)
    }

    /// What is to be painted in these rows, the last first: marks before colours, each from the top down, and before
    /// both what is on the screen.
    fn pieces(&self, rows: &[Range<usize>], seen: &[Range<usize>]) -> Vec<Piece> {
        let meets = |one: &Range<usize>, all: &[Range<usize>]| {
            all.iter().any(|other| one.start < other.end && other.start < one.end)
        };
        let mut pieces: Vec<(bool, bool, usize, Piece)> = Vec::new();
        let row_of = |at: usize| self.page.marks[at].0;
        for rows in rows {
            let first = self.page.marks.partition_point(|(row, _)| *row < rows.start);
            let end = self.page.marks.partition_point(|(row, _)| *row < rows.end);
            for start in (first..end).step_by(MARKS) {
                let numbers = start..(start + MARKS).min(end);
                let span = row_of(numbers.start)..row_of(numbers.end - 1) + 1;
                pieces.push((!meets(&span, seen), false, span.start, Piece::Marks(numbers)));
            }
        }
        for (number, code) in self.page.code.iter().enumerate() {
            let span = code.rows();
            if meets(&span, rows) {
                pieces.push((!meets(&span, seen), true, span.start, Piece::Code(number)));
            }
        }
        pieces.sort_by_key(|(is_hidden, is_code, row, _)| std::cmp::Reverse((*is_hidden, *is_code, *row)));
        pieces.into_iter().map(|(.., piece)| piece).collect()
    }

    /// Paints what is left until the time is over, the next piece in any case.
    fn paint(&mut self, editor: &Editor, buf: Buf, until: Instant) -> Result<()> {
        if !editor.buf_is_loaded(buf) {
            self.left.clear();
        }
        let ns = namespace(editor)?;
        while let Some(piece) = self.left.pop() {
            let marks = editor.lua.create_table()?;
            match piece {
                Piece::Marks(numbers) => {
                    for (row, group) in &self.page.marks[numbers] {
                        push(&marks, *row, 0, line_mark(editor, &self.page.lines[*row], group)?)?;
                    }
                }
                Piece::Code(number) => {
                    self.colours = colour(editor, &marks, &self.page.code[number], self.colours)?;
                }
            }
            editor.paint(buf, ns, marks)?;
            if Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }
}

/// The levels of folds by lines, and what is shown of those that are closed, for `page_window`'s options.
fn tell_folds(page: &Page, editor: &Editor, buf: Buf) -> Result<()> {
    let closed = editor.lua.create_table()?;
    for (row, text, group) in page.closed() {
        let chunk = editor.lua.create_sequence_from([text.as_str(), group])?;
        closed.raw_set((row + 1).to_string(), editor.lua.create_sequence_from([chunk])?)?;
    }
    editor.api::<()>("nvim_buf_set_var", (buf, "acp_closed_folds", closed))?;
    editor.api::<()>("nvim_buf_set_var", (buf, "acp_folds", page.folds.clone()))
}

/// The words that were changed in lines of code, and the colours of its language. Gives what the latter may still cost.
fn colour(editor: &Editor, marks: &Table, code: &Code, colours: Duration) -> Result<Duration> {
    let shift = ADDED.len();
    let appearance = Appearance::of_filetype(filetype(editor, &code.path), colours);
    for coded in code.coded() {
        for (row, words) in (coded.row..).zip(&coded.words) {
            let words: Vec<Range<usize>> =
                words.iter().map(|range| range.start + shift..range.end + shift).collect();
            words_in(editor, marks, row, &words, coded.group)?;
        }
        for (row, line) in (coded.row..).zip(appearance.colours(editor, coded.lines).iter()) {
            for (range, group) in line {
                let options = editor.table([
                    ("end_col", Value::Integer((range.end + shift) as i64)),
                    ("hl_group", Value::Integer(*group)),
                    // Below the changed words.
                    ("priority", Value::Integer(4000)),
                    ("strict", Value::Boolean(false)),
                ])?;
                push(marks, row, range.start + shift, options)?;
            }
        }
    }
    Ok(appearance.left())
}

fn namespace(editor: &Editor) -> Result<i64> {
    editor.namespace("acp.panel")
}

/// What Neovim takes a file of this name for.
fn filetype(editor: &Editor, path: &Path) -> String {
    let find = || -> Result<Option<String>> {
        let require: Function = editor.lua.globals().get("require")?;
        let module: Table = require.call("acp.highlight.code")?;
        module.get::<Function>("filetype")?.call(path.to_string_lossy().into_owned())
    };
    find().ok().flatten().unwrap_or_default()
}

fn line_mark(editor: &Editor, text: &str, group: &str) -> Result<Table> {
    if matches!(group, "AcpDiffAdd" | "AcpDiffDelete") {
        return editor.table([("line_hl_group", editor.string(group)?)]);
    }
    editor.table([("end_col", Value::Integer(text.len() as i64)), ("hl_group", editor.string(group)?)])
}

/// Says that a page has nothing more to do, and with which keys one takes something back, or closes it.
pub fn nothing_left(what: &str, keys: &Keys, can_take_back: bool) -> String {
    let back = [("review_take_back", "takes back")];
    let close = [("review_close", "closes this")];
    let hints: Vec<_> = back.into_iter().filter(|_| can_take_back).chain(close).collect();
    let hints = keys.line(&hints);
    if hints.is_empty() { what.to_owned() } else { format!("{what} \u{b7} {hints}") }
}

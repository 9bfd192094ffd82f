//! A page that lists hunks, put into a buffer: its lines, folds and colours, with those of the code's language. What
//! is on the page is left to `core::changes::hunk_page`, and to go on after a pause to whose page it is.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use mlua::{Function, Result, Table, Value};

use crate::config::Keys;
use crate::core::changes::hunk_page::{Code, Page, replaced_rows};
use crate::core::changes::review_edits::ADDED;
use crate::nvim::diff_view::appearance::Appearance;
use crate::nvim::diff_view::marks::{push, seen, words_in};
use crate::nvim::editor::{Buf, Editor};

/// What the colours of code on a page may cost in all; beyond, it is plain.
const COLOUR_BUDGET: Duration = Duration::from_millis(200);

/// What is painted in one go, and how long the editor has its turn then.
const BUDGET: Duration = Duration::from_millis(3);
pub const PAUSE: Duration = Duration::from_millis(15);

/// So many marked lines are painted before the clock is looked at again.
const MARKS: usize = 200;

/// More places are not replaced one by one.
const PLACES: usize = 64;

/// A page as it stands in a buffer. It is painted in slices, what is on the screen first.
#[derive(Default)]
pub struct PageView {
    pub page: Page,
    /// What is to be painted; the next one is the last.
    left: Vec<Piece>,
    /// What the colours of code may still cost.
    colours: Duration,
    /// Somebody goes on with it in a while.
    is_awaited: bool,
}

enum Piece {
    /// Some of the page's marks, by their numbers.
    Marks(Range<usize>),
    /// Lines of code, by their number.
    Code(usize),
}

impl PageView {
    /// Puts another page into the buffer that holds this one: lines that stay are not touched.
    pub fn put(&mut self, page: Page, editor: &Editor, buf: Buf) -> Result<()> {
        let before = std::mem::replace(&mut self.page, page);
        let is_known = editor.line_count(buf)? == before.lines.len() && !before.lines.is_empty();
        let mut replaced = match is_known {
            true => replaced_rows(&before.lines, &self.page.lines),
            false => vec![(0..editor.line_count(buf)?, 0..self.page.lines.len())],
        };
        if replaced.len() > PLACES
            && let (Some(first), Some(last)) = (replaced.first(), replaced.last())
        {
            replaced = vec![(first.0.start..last.0.end, first.1.start..last.1.end)];
        }
        if !replaced.is_empty() {
            self.replace(editor, buf, &replaced)?;
        }
        // What was not painted yet is not known by its rows any more.
        let is_painted = self.left.is_empty();
        let outdated: Vec<Range<usize>> = match is_painted {
            true => replaced.iter().map(|(_, now)| self.page.whole_hunks(now)).collect(),
            false => std::iter::once(0..self.page.lines.len()).collect(),
        };
        let ns = namespace(editor)?;
        for rows in &outdated {
            editor.clear_namespace(buf, ns, rows.start as i64, rows.end as i64)?;
        }
        self.left = self.pieces(&outdated, &seen(editor, buf));
        self.colours = COLOUR_BUDGET;
        self.paint(editor, buf)
    }

    fn replace(&self, editor: &Editor, buf: Buf, replaced: &[(Range<usize>, Range<usize>)]) -> Result<()> {
        let ns = namespace(editor)?;
        let modifiable: bool = editor.buf_option(buf, "modifiable")?;
        // Not for `u`: what it would bring back is no page.
        let levels: i64 = editor.buf_option(buf, "undolevels")?;
        editor.set_buf_option(buf, "undolevels", -1)?;
        editor.set_buf_option(buf, "modifiable", true)?;
        for (old, now) in replaced.iter().rev() {
            editor.clear_namespace(buf, ns, old.start as i64, old.end as i64)?;
            editor.set_lines(buf, old.clone(), &self.page.lines[now.clone()])?;
        }
        for win in editor.wins_of(buf) {
            editor.helper::<()>("fill_window", win)?;
        }
        editor.set_buf_option(buf, "undolevels", levels)?;
        editor.set_buf_option(buf, "modified", false)?;
        editor.set_buf_option(buf, "modifiable", modifiable)?;
        editor.api::<()>("nvim_buf_set_var", (buf, "acp_folds", self.page.folds.clone()))
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

    /// Paints what is left, as far as the time goes.
    pub fn paint(&mut self, editor: &Editor, buf: Buf) -> Result<()> {
        if !editor.buf_is_loaded(buf) {
            self.left.clear();
        }
        let until = Instant::now() + BUDGET;
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

    /// Whether it is to be gone on with after a pause, and nobody does so yet.
    pub fn begins_to_wait(&mut self) -> bool {
        !self.left.is_empty() && !std::mem::replace(&mut self.is_awaited, true)
    }

    /// The pause is over.
    pub fn go_on(&mut self, editor: &Editor, buf: Buf) -> Result<()> {
        self.is_awaited = false;
        self.paint(editor, buf)
    }
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

/// Says that a page has nothing more to do, and which key closes it.
pub fn nothing_left(what: &str, keys: &Keys) -> String {
    let close = keys.line(&[("review_close", "closes this")]);
    if close.is_empty() { what.to_owned() } else { format!("{what} \u{b7} {close}") }
}

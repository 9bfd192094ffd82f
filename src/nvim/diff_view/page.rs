//! A list of files and hunks as the lines of a buffer: what each line is about, how it folds, how it looks,
//! in the colours of the code's language. Which hunks, and what is said of them, is left to `panel` and
//! `preview`.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mlua::{Function, Result, Table, Value};

use crate::config::Keys;
use crate::core::changes::diff::Hunk;
use crate::core::changes::review_edits::{ADDED, Part, REMOVED};
use crate::nvim::diff_view::appearance::Appearance;
use crate::nvim::diff_view::marks::{Words, push, words_in};
use crate::nvim::editor::{Buf, Editor};

/// What the colours of a page may cost; beyond, code is plain.
const COLOURS: Duration = Duration::from_millis(40);

#[derive(Clone, Debug, PartialEq)]
pub enum About {
    Nothing,
    File(PathBuf),
    Hunk {
        path: PathBuf,
        hunk: Hunk,
        /// The row of the file that the line stands for.
        row: usize,
    },
}

#[derive(Default)]
pub struct Page {
    pub lines: Vec<String>,
    /// What each line is about.
    pub rows: Vec<About>,
    /// The same lines as an edited page is read by.
    pub parts: Vec<Part>,
    /// The hunks, by their numbers in `parts`.
    pub hunks: Vec<(PathBuf, Hunk)>,
    folds: Vec<&'static str>,
    marks: Vec<(usize, &'static str)>,
    words: Vec<(usize, Vec<Range<usize>>, &'static str)>,
    code: Vec<(usize, PathBuf, Vec<String>)>,
}

impl Page {
    pub fn add(&mut self, text: String, about: About, fold: &'static str, group: &'static str) {
        self.parts.push(Part::Fixed(text.clone()));
        self.line(text, about, fold, group);
    }

    fn line(&mut self, text: String, about: About, fold: &'static str, group: &'static str) {
        if !group.is_empty() {
            self.marks.push((self.lines.len(), group));
        }
        self.lines.push(text);
        self.rows.push(about);
        self.folds.push(fold);
    }

    /// A hunk with its lines, below what is said of it. `was` and `is` say on which sides there is a file:
    /// one that is not there has no lines, not even an empty one.
    pub fn hunk(&mut self, path: &Path, whole: &Hunk, head: String, (was, is): (bool, bool)) {
        let hunk = &visible(whole, (was, is));
        let about = |row: usize| About::Hunk { path: path.to_owned(), hunk: whole.clone(), row };
        self.add(head, about(hunk.row), ">2", "AcpMeta");
        let words = Words::of(hunk);
        let side = |page: &mut Self, lines: &[String], words: &dyn Fn(usize) -> Vec<Range<usize>>, group| {
            page.code.push((page.lines.len(), path.to_owned(), lines.to_vec()));
            page.words.extend((0..lines.len()).map(|at| (page.lines.len() + at, words(at), group)));
        };
        side(self, &hunk.removed, &|at| words.removed(at).to_vec(), "AcpDiffDeleteWord");
        for line in &hunk.removed {
            self.add(format!("{REMOVED}{}", shown(line)), about(hunk.row), "2", "AcpDiffDelete");
        }
        side(self, &hunk.added, &|at| words.added(at).to_vec(), "AcpDiffAddWord");
        let added: Vec<String> = hunk.added.iter().map(|line| shown(line)).collect();
        for (at, line) in added.iter().enumerate() {
            self.line(format!("{ADDED}{line}"), about(hunk.row + at), "2", "AcpDiffAdd");
        }
        self.parts.push(Part::Added(self.hunks.len(), added));
        self.hunks.push((path.to_owned(), whole.clone()));
    }

    /// Puts the page into a buffer that held other lines, from the first that differs on.
    pub fn put(&self, editor: &Editor, buf: Buf, before: &[String]) -> Result<()> {
        let first = before.iter().zip(&self.lines).take_while(|(old, new)| old == new).count();
        let last = editor.line_count(buf)?.max(first);
        let modifiable: bool = editor.buf_option(buf, "modifiable")?;
        // Not for `u`: what it would bring back is no page.
        let levels: i64 = editor.buf_option(buf, "undolevels")?;
        editor.set_buf_option(buf, "undolevels", -1)?;
        editor.set_buf_option(buf, "modifiable", true)?;
        editor.set_lines(buf, first..last, &self.lines[first..])?;
        editor.set_buf_option(buf, "undolevels", levels)?;
        editor.set_buf_option(buf, "modified", false)?;
        editor.set_buf_option(buf, "modifiable", modifiable)?;
        editor.api::<()>("nvim_buf_set_var", (buf, "acp_folds", self.folds.clone()))?;
        self.paint(editor, buf)
    }

    fn paint(&self, editor: &Editor, buf: Buf) -> Result<()> {
        let ns = editor.namespace("acp.panel")?;
        editor.clear_namespace(buf, ns, 0, -1)?;
        let marks = editor.lua.create_table()?;
        for (row, group) in &self.marks {
            push(&marks, *row, 0, line_mark(editor, &self.lines[*row], group)?)?;
        }
        let shift = ADDED.len();
        for (row, words, group) in &self.words {
            let words: Vec<Range<usize>> =
                words.iter().map(|range| range.start + shift..range.end + shift).collect();
            words_in(editor, &marks, *row, &words, group)?;
        }
        let mut left = COLOURS;
        for (first, path, lines) in &self.code {
            let appearance = Appearance::of_filetype(filetype(editor, path), left);
            for (at, line) in appearance.colours(editor, lines).iter().enumerate() {
                for (range, group) in line {
                    let options = editor.table([
                        ("end_col", Value::Integer((range.end + shift) as i64)),
                        ("hl_group", Value::Integer(*group)),
                        // Below the changed words.
                        ("priority", Value::Integer(4000)),
                        ("strict", Value::Boolean(false)),
                    ])?;
                    push(&marks, first + at, range.start + shift, options)?;
                }
            }
            left = appearance.left();
        }
        editor.paint(buf, ns, marks)
    }
}

/// A hunk without the empty line that stands for a file that is not there.
pub fn visible(hunk: &Hunk, (was, is): (bool, bool)) -> Hunk {
    let lines = |lines: &[String], there: bool| match lines {
        [line] if line.is_empty() && !there => Vec::new(),
        lines => lines.to_vec(),
    };
    Hunk { row: hunk.row, removed: lines(&hunk.removed, was), added: lines(&hunk.added, is) }
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

/// A buffer's line holds no line break; what else is no text is left to Neovim to show.
pub fn shown(line: &str) -> String {
    line.replace(['\n', '\r'], " ")
}

/// Says that a page has nothing more to do, and which key closes it.
pub fn nothing_left(what: &str, keys: &Keys) -> String {
    let close = keys.line(&[("review_close", "closes this")]);
    if close.is_empty() { what.to_owned() } else { format!("{what} \u{b7} {close}") }
}

pub fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

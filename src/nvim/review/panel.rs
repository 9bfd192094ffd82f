//! The review of all that is left to decide as one buffer: files, their hunks, comments on them. This
//! file makes its lines and says what each is about; what its keys do is left to `actions`.

use std::path::{Path, PathBuf};

use mlua::{Result, Table, Value};

use super::Reviews;
use super::marks::{Words, push, words_in};
use crate::core::diff::{Hunk, counts};
use crate::nvim::actions::Scope;
use crate::nvim::editor::{Buf, Editor};

pub struct Panel {
    pub buf: Buf,
    pub scope: Scope,
    /// Where relative paths begin.
    pub root: PathBuf,
    /// What each line is about.
    pub rows: Vec<About>,
    lines: Vec<String>,
}

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

/// What the user has to say of a hunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    pub path: PathBuf,
    pub hunk: Hunk,
    pub text: String,
}

/// Lines, what they are about, how they fold, and how they look.
#[derive(Default)]
struct Page {
    lines: Vec<String>,
    rows: Vec<About>,
    folds: Vec<&'static str>,
    marks: Vec<(usize, &'static str)>,
}

impl Page {
    fn add(&mut self, text: String, about: About, fold: &'static str, group: &'static str) {
        if !group.is_empty() {
            self.marks.push((self.lines.len(), group));
        }
        self.lines.push(text);
        self.rows.push(about);
        self.folds.push(fold);
    }
}

impl Panel {
    pub fn new(buf: Buf, scope: Scope, root: PathBuf) -> Self {
        Self { buf, scope, root, rows: Vec::new(), lines: Vec::new() }
    }

    /// Draws the buffer anew where it has changed.
    pub fn draw(&mut self, editor: &Editor, reviews: &Reviews) -> Result<()> {
        let mut page = Page::default();
        let mut words: Vec<(usize, Words, usize)> = Vec::new();
        let mut files = 0;
        let mut hunks = 0;
        let mut body = Page::default();
        for (path, _, file) in reviews.open() {
            let meant = reviews.meant(&self.scope, path, file);
            if meant.is_empty() {
                continue;
            }
            let all = file.hunks();
            let of_file: Vec<Hunk> = meant.iter().map(|at| all[*at].clone()).collect();
            files += 1;
            hunks += of_file.len();
            let (added, removed) = counts(&of_file);
            let state = match (file.was_there, file.is_there) {
                (false, true) => " · new file",
                (true, false) => " · deleted",
                _ => "",
            };
            let count =
                if of_file.len() == 1 { "1 hunk".to_owned() } else { format!("{} hunks", of_file.len()) };
            let head = format!("{}  {count} · +{added} -{removed}{state}", self.name(path));
            body.add(head, About::File(path.to_owned()), ">1", "AcpTool");
            for (at, hunk) in meant.iter().zip(of_file) {
                let about = |row: usize| About::Hunk { path: path.to_owned(), hunk: hunk.clone(), row };
                let origin = file.origins(*at).iter().next_back().and_then(|origin| reviews.of(*origin));
                let by =
                    origin.map(|origin| format!("  {}: {}", origin.agent, origin.title)).unwrap_or_default();
                let mixed = if file.is_mixed(*at) { "  (with your edits)" } else { "" };
                let head = format!("  @@ {}{by}{mixed}", hunk.row + 1);
                body.add(head, about(hunk.row), ">2", "AcpMeta");
                words.push((body.lines.len(), Words::of(&hunk), hunk.removed.len()));
                for line in &hunk.removed {
                    body.add(format!("  - {}", shown(line)), about(hunk.row), "2", "AcpDiffDelete");
                }
                for (at, line) in hunk.added.iter().enumerate() {
                    body.add(format!("  + {}", shown(line)), about(hunk.row + at), "2", "AcpDiffAdd");
                }
                let comments =
                    reviews.comments.iter().filter(|comment| comment.path == path && comment.hunk == hunk);
                for comment in comments {
                    body.add(format!("  \u{270e} {}", comment.text), about(hunk.row), "2", "AcpUser");
                }
            }
        }
        let (kept, undone) = reviews.decided;
        let mut title =
            format!("Review: {files} {} · {hunks} {}", plural(files, "file"), plural(hunks, "hunk"));
        for (count, what) in [(kept, "kept"), (undone, "undone"), (reviews.comments.len(), "commented")] {
            if count > 0 {
                title.push_str(&format!(" · {count} {what}"));
            }
        }
        page.add(title, About::Nothing, "0", "AcpWinbar");
        let hint = match hunks {
            0 => "Nothing is left to decide · q closes this",
            _ => {
                "a keep · x undo · A keep all · X undo all · c comment · s send comments · <CR> go · q close"
            }
        };
        page.add(hint.to_owned(), About::Nothing, "0", "AcpMeta");
        page.add(String::new(), About::Nothing, "0", "");
        let offset = page.lines.len();
        page.marks.extend(body.marks.iter().map(|(row, group)| (row + offset, *group)));
        page.lines.append(&mut body.lines);
        page.rows.append(&mut body.rows);
        page.folds.append(&mut body.folds);
        self.rows = std::mem::take(&mut page.rows);
        if page.lines == self.lines || !editor.buf_is_loaded(self.buf) {
            return Ok(());
        }
        let same = |a: &&String, b: &&String| a == b;
        let first = self.lines.iter().zip(&page.lines).take_while(|(a, b)| same(a, b)).count();
        let last = (self.lines.len().max(1)).max(first);
        editor.set_buf_option(self.buf, "modifiable", true)?;
        editor.set_lines(self.buf, first..last, &page.lines[first..])?;
        editor.set_buf_option(self.buf, "modifiable", false)?;
        editor.api::<()>("nvim_buf_set_var", (self.buf, "acp_folds", page.folds.clone()))?;
        let ns = editor.namespace("acp.panel")?;
        editor.clear_namespace(self.buf, ns, 0, -1)?;
        let marks = editor.lua.create_table()?;
        for (row, group) in &page.marks {
            push(&marks, *row, 0, line_mark(editor, &page.lines[*row], group)?)?;
        }
        for (start, words, removed) in &words {
            let shift = |ranges: &[std::ops::Range<usize>]| -> Vec<std::ops::Range<usize>> {
                ranges.iter().map(|range| range.start + 4..range.end + 4).collect()
            };
            let last = page.lines.len() - offset;
            for row in *start..last {
                let at = row - start;
                let (ranges, group) = match at.checked_sub(*removed) {
                    None => (words.removed(at), "AcpDiffDeleteWord"),
                    Some(at) => (words.added(at), "AcpDiffAddWord"),
                };
                if matches!(&self.rows[row + offset], About::Hunk { .. }) && !ranges.is_empty() {
                    words_in(editor, &marks, row + offset, &shift(ranges), group)?;
                }
                if page.folds[row + offset] != "2" {
                    break;
                }
            }
        }
        editor.paint(self.buf, ns, marks)?;
        self.lines = page.lines;
        Ok(())
    }

    pub fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

fn line_mark(editor: &Editor, text: &str, group: &str) -> Result<Table> {
    if matches!(group, "AcpDiffAdd" | "AcpDiffDelete") {
        return editor.table([("line_hl_group", editor.string(group)?)]);
    }
    editor.table([("end_col", Value::Integer(text.len() as i64)), ("hl_group", editor.string(group)?)])
}

/// A buffer's line holds no line break; what else is no text is left to Neovim to show.
fn shown(line: &str) -> String {
    line.replace(['\n', '\r'], " ")
}

pub fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

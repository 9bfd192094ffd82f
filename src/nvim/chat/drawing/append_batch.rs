//! New entries that follow each other at the end of a transcript, put there by one edit. For an edit and
//! marks of their own each would cross between Rust and Neovim some eight times, which costs more than
//! all else. Which entries those are, and what becomes of them later, is left to `drawing`.

use mlua::{Result, Table, Value};

use crate::core::transcript::Drawing;
use crate::nvim::chat::canvas::Canvas;
use crate::nvim::chat::highlight::Highlight;
use crate::nvim::editor::{Buf, Editor};

/// Lines on their way to the end of a buffer, and what marks them.
pub struct Arrivals {
    buf: Buf,
    /// The row that the first line gets.
    row: usize,
    /// The first one goes on what stands in the buffer's last line.
    lines: Vec<String>,
    bytes: usize,
    /// The entries with rows, and where each begins.
    entries: Vec<usize>,
    starts: Vec<usize>,
    /// Row, first column and column after the last of each span that has a colour.
    spans: Vec<usize>,
    groups: Vec<&'static str>,
    right: Vec<(usize, String)>,
    /// The rows with a bar in the margin, and what colours it.
    frames: Vec<usize>,
    frame_groups: Vec<&'static str>,
    frame_wraps: Vec<bool>,
    /// Entry, first row and row after the last of each region of Markdown.
    markdown: Vec<usize>,
    /// Those of them that are the user's words.
    typed: Vec<usize>,
}

impl Arrivals {
    /// `row` is where the buffer ends; nothing stands in it when that is 0.
    pub fn at(buf: Buf, row: usize) -> Self {
        let lines = if row == 0 { Vec::new() } else { vec![String::new()] };
        Self {
            buf,
            row: row - lines.len(),
            lines,
            bytes: 0,
            entries: Vec::new(),
            starts: Vec::new(),
            spans: Vec::new(),
            groups: Vec::new(),
            right: Vec::new(),
            frames: Vec::new(),
            frame_groups: Vec::new(),
            frame_wraps: Vec::new(),
            markdown: Vec::new(),
            typed: Vec::new(),
        }
    }

    /// How much text there is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an entry's lines; an entry without lines leaves nothing.
    pub fn add(&mut self, entry: usize, drawing: &Drawing) {
        if drawing.lines.is_empty() {
            return;
        }
        let start = self.row + self.lines.len();
        self.entries.push(entry);
        self.starts.push(start);
        for mark in &drawing.marks {
            self.spans.extend([start + mark.row, mark.start, mark.end]);
            self.groups.push(mark.group);
        }
        self.right.extend(drawing.right.iter().map(|(row, text)| (start + row, text.clone())));
        for (row, group) in &drawing.frames {
            self.frames.push(start + row);
            self.frame_groups.push(group);
            self.frame_wraps.push(drawing.may_wrap(*row));
        }
        if let Some(rows) = &drawing.markdown
            && drawing.lines[rows.clone()].iter().any(|line| !line.is_empty())
        {
            self.markdown.extend([entry, start + rows.start, start + rows.end]);
            self.typed.extend(drawing.is_typed.then_some(entry));
        }
        self.bytes += drawing.lines.iter().map(|line| line.len() + 1).sum::<usize>();
        self.lines.extend(drawing.lines.iter().cloned());
    }

    /// Puts all of it into the buffer. Gives the entries that have rows now, each with the extmark at its
    /// first one.
    pub fn put(self, editor: &Editor, highlight: &Highlight, canvas: &Canvas) -> Result<Vec<(usize, i64)>> {
        if self.entries.is_empty() {
            return Ok(Vec::new());
        }
        let lines = editor.lua.create_sequence_from(self.lines)?;
        let starts = editor.lua.create_sequence_from(self.starts)?;
        let spans = editor.lua.create_sequence_from(self.spans)?;
        let groups = editor.lua.create_sequence_from(self.groups)?;
        let frames = (editor.lua.create_sequence_from(self.frames)?, self.frame_groups, self.frame_wraps);
        let (regions, marks, bar) = (canvas.regions, canvas.marks, canvas.bar());
        let ids: Vec<i64> = editor.helper(
            "extend",
            (self.buf, lines, regions, starts, marks, spans, groups, frames.0, frames.1, frames.2, bar),
        )?;
        if !self.right.is_empty() {
            let list = editor.lua.create_table()?;
            self.right.iter().try_for_each(|(row, text)| push_right(editor, &list, *row, text))?;
            editor.paint(self.buf, marks, list)?;
        }
        if !self.markdown.is_empty() {
            highlight.add(self.buf, self.markdown, self.typed);
        }
        Ok(self.entries.into_iter().zip(ids).collect())
    }
}

/// Adds a text at the right edge of a row to marks that are to be painted.
pub fn push_right(editor: &Editor, list: &Table, row: usize, text: &str) -> Result<()> {
    let chunk = editor.lua.create_sequence_from([
        editor.lua.create_string(format!("{text} "))?,
        editor.lua.create_string("AcpMeta")?,
    ])?;
    let options = editor.table([
        ("virt_text", Value::Table(editor.lua.create_sequence_from([chunk])?)),
        ("virt_text_pos", editor.string("right_align")?),
        ("hl_mode", editor.string("combine")?),
    ])?;
    push(list, row, 0, options)
}

pub fn push(list: &Table, row: usize, column: usize, options: Table) -> Result<()> {
    list.raw_push(row)?;
    list.raw_push(column)?;
    list.raw_push(options)
}

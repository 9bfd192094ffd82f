//! A buffer's whole text, read some hundred lines at a time, so that the longest one does not hold the
//! editor. When the buffer is changed in between, reading begins again. What the text is for is left to
//! others.

use std::time::{Duration, Instant};

use mlua::Result;

use crate::nvim::buffers::texts::{Snapshot, Texts};
use crate::nvim::editor::{Buf, Editor};

/// How long one piece of work on a buffer may hold the editor.
pub const SLICE: Duration = Duration::from_millis(4);

/// Lines and bytes that are read in far less than that.
const LINES: usize = 500;
const BYTES: usize = 512 << 10;

/// After so many beginnings it is read while the user waits, or one who goes on typing would be waited for.
const TRIES: u32 = 20;

/// A snapshot that is being made.
pub struct Reading {
    buf: Buf,
    tick: u64,
    row: usize,
    /// How much of a long line was read already, and the part of a character that it was read to.
    column: usize,
    cut: Vec<u8>,
    text: String,
    begun: u32,
    /// It begins again as often as the user types.
    is_patient: bool,
}

impl Reading {
    pub fn of(buf: Buf) -> Self {
        Self {
            buf,
            tick: 0,
            row: 0,
            column: 0,
            cut: Vec::new(),
            text: String::new(),
            begun: 0,
            is_patient: false,
        }
    }

    /// For what is never more urgent than the user's keys.
    pub fn patiently(buf: Buf) -> Self {
        Self { is_patient: true, ..Self::of(buf) }
    }

    /// Reads on. `None` when there is more to read; another time.
    pub fn go_on(&mut self, editor: &Editor, texts: &mut Texts) -> Result<Option<Snapshot>> {
        if let Some(known) = texts.find(editor, self.buf)? {
            return Ok(Some(known));
        }
        let tick = editor.changedtick(self.buf)?;
        let count = editor.line_count(self.buf)?;
        if tick != self.tick {
            self.begin(tick, editor.byte_count(self.buf, count));
        }
        let start = Instant::now();
        while self.row < count {
            if start.elapsed() > SLICE && (self.is_patient || self.begun < TRIES) {
                return Ok(None);
            }
            let mut end = count.min(self.row + LINES);
            let begin = editor.byte_count(self.buf, self.row);
            let mut bytes = editor.byte_count(self.buf, end).saturating_sub(begin);
            while bytes > BYTES && end > self.row + 1 {
                end = self.row + (end - self.row) / 2;
                bytes = editor.byte_count(self.buf, end).saturating_sub(begin);
            }
            if bytes > BYTES {
                self.read_long_line(editor, bytes - 1)?;
                continue;
            }
            if self.row > 0 {
                self.text.push('\n');
            }
            editor.push_lines(self.buf, self.row..end, &mut self.text)?;
            self.row = end;
        }
        let ended: bool = editor.buf_option(self.buf, "endofline")?;
        let is_empty = count == 1 && self.text.is_empty();
        if ended && !is_empty {
            self.text.push('\n');
        }
        let snapshot = Snapshot { tick, text: std::mem::take(&mut self.text).into() };
        texts.keep(self.buf, ended, &snapshot);
        Ok(Some(snapshot))
    }

    /// Reads on in the first line that is left, which has so many bytes.
    fn read_long_line(&mut self, editor: &Editor, length: usize) -> Result<()> {
        if self.column == 0 && self.row > 0 {
            self.text.push('\n');
        }
        let end = length.min(self.column + BYTES);
        let piece = editor.part_of_line(self.buf, self.row, self.column..end)?;
        // A character may be cut in two.
        self.cut.extend_from_slice(&piece.as_bytes());
        let whole = match std::str::from_utf8(&self.cut) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() && end < length => error.valid_up_to(),
            Err(_) => return Err(mlua::Error::runtime("it is not UTF-8 text")),
        };
        self.text.push_str(std::str::from_utf8(&self.cut[..whole]).unwrap_or_default());
        self.cut.drain(..whole);
        self.column = end;
        if end == length {
            (self.row, self.column) = (self.row + 1, 0);
        }
        Ok(())
    }

    fn begin(&mut self, tick: u64, bytes: usize) {
        // Room for all of it: a text that grows would be copied again and again.
        (self.tick, self.row, self.text) = (tick, 0, String::with_capacity(bytes));
        (self.column, self.cut) = (0, Vec::new());
        self.begun += 1;
    }
}

//! A buffer's whole text, read some hundred lines at a time, so that the longest one does not hold the
//! editor. When the buffer is changed in between, reading begins again. What the text is for is left to
//! others.

use std::time::{Duration, Instant};

use mlua::Result;

use super::texts::Texts;
use crate::core::text::Text;
use crate::nvim::editor::{Buf, Editor};

/// How long one piece of work on a buffer may hold the editor.
pub const SLICE: Duration = Duration::from_millis(4);

/// Lines that are read in far less than that.
const LINES: usize = 500;

/// After so many beginnings it is read while the user waits, or one who goes on typing would be waited for.
const TRIES: u32 = 20;

/// A buffer as it was at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// `b:changedtick`: when it is another one later, the buffer was changed meanwhile.
    pub tick: u64,
    /// As its file would hold it, with `\n` for every line end that 'fileformat' writes in another way.
    pub text: Text,
}

/// A snapshot that is being made.
pub struct Reading {
    buf: Buf,
    tick: u64,
    row: usize,
    text: String,
    begun: u32,
}

impl Reading {
    pub fn of(buf: Buf) -> Self {
        Self { buf, tick: 0, row: 0, text: String::new(), begun: 0 }
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
            if start.elapsed() > SLICE && self.begun < TRIES {
                return Ok(None);
            }
            let end = count.min(self.row + LINES);
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

    fn begin(&mut self, tick: u64, bytes: usize) {
        // Room for all of it: a text that grows would be copied again and again.
        (self.tick, self.row, self.text) = (tick, 0, String::with_capacity(bytes));
        self.begun += 1;
    }
}

/// What an agent gets of a text: 'fileformat' decides about its line ends.
pub fn as_file(text: &Text, fileformat: &str) -> Text {
    match fileformat {
        "dos" => text.replace('\n', "\r\n").into(),
        "mac" => text.replace('\n', "\r").into(),
        _ => text.clone(),
    }
}

/// The other way round.
pub fn as_lines(text: &Text, fileformat: &str) -> Text {
    match fileformat {
        "dos" => text.replace("\r\n", "\n").into(),
        "mac" => text.replace('\r', "\n").into(),
        _ => text.clone(),
    }
}

//! A buffer's whole text, read a few thousand lines at a time, so that the longest one does not hold the
//! editor. When the buffer is changed in between, reading begins again. What the text is for is left to
//! others.

use std::time::{Duration, Instant};

use mlua::Result;

use crate::nvim::editor::{Buf, Editor};

/// How long one piece of work on a buffer may hold the editor.
pub const SLICE: Duration = Duration::from_millis(4);

/// Lines that are read in far less than that.
const LINES: usize = 2_000;

/// A buffer as it was at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// `b:changedtick`: when it is another one later, the buffer was changed meanwhile.
    pub tick: u64,
    /// As its file would hold it, with `\n` for every line end that 'fileformat' writes in another way.
    pub text: String,
}

/// A snapshot that is being made.
pub struct Reading {
    buf: Buf,
    tick: u64,
    row: usize,
    text: Vec<u8>,
}

impl Reading {
    pub fn of(buf: Buf) -> Self {
        Self { buf, tick: 0, row: 0, text: Vec::new() }
    }

    /// Reads on. `None` when there is more to read; another time.
    pub fn go_on(&mut self, editor: &Editor) -> Result<Option<Snapshot>> {
        let tick = editor.changedtick(self.buf)?;
        if tick != self.tick {
            *self = Self { buf: self.buf, tick, row: 0, text: Vec::new() };
        }
        let count = editor.line_count(self.buf)?;
        let start = Instant::now();
        while self.row < count {
            if start.elapsed() > SLICE {
                return Ok(None);
            }
            let end = count.min(self.row + LINES);
            let piece: mlua::LuaString = editor.helper("slice", (self.buf, self.row, end))?;
            if self.row > 0 {
                self.text.push(b'\n');
            }
            self.text.extend_from_slice(&piece.as_bytes());
            self.row = end;
        }
        let ended: bool = editor.buf_option(self.buf, "endofline")?;
        let is_empty = count == 1 && self.text.is_empty();
        if ended && !is_empty {
            self.text.push(b'\n');
        }
        let text = String::from_utf8(std::mem::take(&mut self.text));
        let text = text.map_err(|_| mlua::Error::runtime("it is not UTF-8 text"))?;
        Ok(Some(Snapshot { tick, text }))
    }
}

/// What an agent gets of a text: 'fileformat' decides about its line ends.
pub fn as_file(text: &str, fileformat: &str) -> String {
    match fileformat {
        "dos" => text.replace('\n', "\r\n"),
        "mac" => text.replace('\n', "\r"),
        _ => text.to_owned(),
    }
}

/// The other way round.
pub fn as_lines(text: &str, fileformat: &str) -> String {
    match fileformat {
        "dos" => text.replace("\r\n", "\n"),
        "mac" => text.replace('\r', "\n"),
        _ => text.to_owned(),
    }
}

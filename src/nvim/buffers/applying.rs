//! Edits on their way into a buffer: some at a time, so that many do not hold the editor, and as one
//! undo step as long as the user does not type in between. Where the edits come from, and what to do
//! when the user did, is left to others.

use std::time::Instant;

use mlua::Result;

use crate::core::changes::reconcile::body;
use crate::core::changes::text_edits::{self, TextEdit};
use crate::nvim::buffers::reading::SLICE;
use crate::nvim::editor::{Buf, Editor};

/// Edits are measured in batches: looking at the clock costs, too. So many lines end one.
const BATCH: usize = 25;
const BATCH_LINES: usize = 200;

pub struct Applying {
    buf: Buf,
    edits: Vec<TextEdit>,
    /// So many of them are in.
    done: usize,
    /// The file is to be empty, which is less than one empty line.
    clear: bool,
    /// `b:changedtick` after the last edit.
    tick: u64,
    begun: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Done,
    /// There are more; another time.
    More,
    /// The buffer was changed by somebody else: the rest does not fit any more.
    Overtaken,
}

impl Applying {
    /// `tick` is that of the text that the edits are for.
    pub fn new(buf: Buf, edits: Vec<TextEdit>, text: &str, tick: u64) -> Self {
        Self { buf, edits, done: 0, clear: text.is_empty(), tick, begun: false }
    }

    fn left(&self) -> usize {
        self.edits.len() - self.done
    }

    /// What the text was after the last edit that is in.
    pub fn so_far(&self, before: &str) -> String {
        let ended = if before.ends_with('\n') { "\n" } else { "" };
        text_edits::apply(body(before), &self.edits[..self.done]) + ended
    }

    pub fn go_on(&mut self, editor: &Editor) -> Result<Progress> {
        if editor.changedtick(self.buf)? != self.tick {
            return Ok(Progress::Overtaken);
        }
        let start = Instant::now();
        if self.left() == 0 {
            return Ok(Progress::Done);
        }
        if std::mem::replace(&mut self.begun, true) {
            editor.helper::<()>("join_undo", self.buf)?;
        } else {
            editor.helper::<()>("break_undo", (self.buf, true))?;
        }
        let ns = editor.namespace("acp.selection")?;
        let pin: Option<i64> = editor.helper("pin_selection", (self.buf, ns))?;
        if self.clear {
            self.done = self.edits.len();
            editor.set_lines(self.buf, 0..editor.line_count(self.buf)?, &[] as &[&str])?;
        }
        while self.left() > 0 && start.elapsed() < SLICE {
            let mut lines = 0;
            for edit in self.edits.iter().skip(self.done).take(BATCH) {
                apply(editor, self.buf, edit)?;
                self.done += 1;
                lines += edit.lines.len();
                if lines > BATCH_LINES {
                    break;
                }
            }
        }
        if let Some(pin) = pin {
            editor.helper::<()>("unpin_selection", (self.buf, ns, pin))?;
        }
        editor.helper::<()>("break_undo", (self.buf, false))?;
        self.tick = editor.changedtick(self.buf)?;
        Ok(if self.left() > 0 { Progress::More } else { Progress::Done })
    }
}

pub fn apply(editor: &Editor, buf: Buf, edit: &TextEdit) -> Result<()> {
    let at = |(row, column): (usize, usize)| (row as i64, column as i64);
    match edit.whole_lines() {
        // Marks on the lines around stay where they are only so.
        Some((rows, lines)) => editor.set_lines(buf, rows, lines),
        None => editor.set_text(buf, at(edit.start), at(edit.end), &edit.lines),
    }
}

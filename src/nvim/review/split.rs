//! A changed file side by side with what it was, or with what it is to become: two windows in Neovim's own
//! diff mode. The file's window is the user's, and gets back what it had; the other one and its buffer are
//! ours. Which file is shown, and when, is left to `review::splits`.

use std::path::PathBuf;

use mlua::{Result, Table, Value};

use crate::core::changes::text_edits::same_ends;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::review::proposals::Call;
use crate::nvim::review::stage::Lent;

/// Narrower windows stand one above the other.
const MIN_COLUMNS: u16 = 40;

/// What stands beside the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitContent {
    /// The text without what agents did to it.
    Before,
    /// What an open call wants to make of it.
    Proposed(Call),
}

/// What is to be shown beside each other.
pub struct Shown<'a> {
    pub path: PathBuf,
    /// What the file is called.
    pub name: &'a str,
    /// What stands over the other text.
    pub title: &'a str,
    pub content: SplitContent,
}

pub struct Split {
    pub path: PathBuf,
    pub content: SplitContent,
    pub win: Win,
    pub buf: Buf,
    pub other: Win,
    scratch: Buf,
    lines: Vec<String>,
    /// What the file's window had.
    before: Table,
    /// What the window showed, where that was another file.
    pub lent: Option<Lent>,
}

impl Split {
    /// Opens it without moving the cursor.
    pub fn open(editor: &Editor, shown: Shown, (win, buf): (Win, Buf), lines: Vec<String>) -> Result<Self> {
        let Shown { path, name, title, content } = shown;
        let old = content == SplitContent::Before;
        let (columns, _) = editor.win_size(win)?;
        let split = match (columns > 2 * MIN_COLUMNS, old) {
            (true, true) => "left",
            (true, false) => "right",
            (false, true) => "above",
            (false, false) => "below",
        };
        let kind = if old { "before" } else { "proposed" };
        let shown = if is_nothing(&lines) { Vec::new() } else { lines.clone() };
        let scratch: Buf = editor.helper("twin", (buf, format!("acp://{kind}/{name}"), shown))?;
        let config = editor.table([("split", editor.string(split)?), ("win", Value::Integer(win.0))])?;
        let other = editor.open_win(scratch, false, config)?;
        editor.helper::<Table>("begin_diff", (other, bar(title)))?;
        let before: Table = editor.helper("begin_diff", (win, bar(&format!("{name}: as it is"))))?;
        // The folds of windows that the user is not in come late otherwise.
        editor.helper::<()>("in_window", (win, "diffupdate"))?;
        Ok(Self { path, content, win, buf, other, scratch, lines, before, lent: None })
    }

    /// What stands beside the file is another text now.
    pub fn update<T: AsRef<str>>(&mut self, editor: &Editor, lines: &[T]) -> Result<()> {
        let (first, last) = same_ends(&self.lines, lines, |old, new| old == new.as_ref());
        let is_same = first == self.lines.len() && first == lines.len();
        if is_same || !editor.buf_is_loaded(self.scratch) {
            return Ok(());
        }
        editor.set_buf_option(self.scratch, "modifiable", true)?;
        let new = lines[first..lines.len() - last].iter().map(|line| line.as_ref().to_owned());
        let (old, new): (_, Vec<String>) = (first..self.lines.len() - last, new.collect());
        match is_nothing(lines) {
            true => editor.set_lines(self.scratch, 0..self.lines.len(), &[] as &[&str])?,
            false => editor.set_lines(self.scratch, old.clone(), &new)?,
        }
        editor.set_buf_option(self.scratch, "modifiable", false)?;
        self.lines.splice(old, new);
        editor.helper("in_window", (self.other, "diffupdate"))
    }

    /// Whether both windows are still there and show what they did.
    pub fn is_whole(&self, editor: &Editor) -> bool {
        let shows =
            |win, buf| editor.win_is_valid(win) && editor.win_buf(win).is_ok_and(|shown| shown == buf);
        shows(self.win, self.buf) && shows(self.other, self.scratch)
    }

    pub fn scratch(&self) -> Buf {
        self.scratch
    }

    /// Puts the window that is ours away, and has the file's be as it was.
    pub fn close(self, editor: &Editor) -> Result<()> {
        if editor.win_is_valid(self.win) {
            editor.helper::<()>("end_diff", (self.win, self.before))?;
        }
        if editor.win_is_valid(self.other) && editor.win_buf(self.other)? == self.scratch {
            let alone = editor.normal_wins_beside(self.other)?.is_empty();
            match alone && editor.api::<Table>("nvim_list_tabpages", ())?.raw_len() == 1 {
                // The last window of all can't be closed.
                true => editor.set_win_buf(self.other, self.buf)?,
                false => editor.close_win(self.other)?,
            }
        }
        if editor.buf_is_valid(self.scratch) { editor.delete_buf(self.scratch) } else { Ok(()) }
    }
}

/// Whether these are the lines of an empty text. A buffer that was given one empty line would have it compared.
pub fn is_nothing<T: AsRef<str>>(lines: &[T]) -> bool {
    matches!(lines, [only] if only.as_ref().is_empty())
}

fn bar(title: &str) -> String {
    format!("%#AcpWinbar# {}%<", title.replace('%', "%%"))
}

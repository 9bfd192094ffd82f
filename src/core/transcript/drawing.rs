//! An entry as lines of text with their highlights: what every part of a transcript is drawn into. What
//! an entry looks like is left to those parts.

use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

use super::bounds::{self, LONGEST_LINE, MOST_BYTES, MOST_ROWS};
use super::hints::Hints;
use super::wording::grouped;
use crate::core::ids::EntryId;
use crate::core::message::Picture;
use crate::core::message::image;
use crate::core::terminal::screen::Span;
use crate::core::text::visible::{self, Visible};
use crate::core::text::{cells, cut};

/// How to draw.
#[derive(Clone, Debug)]
pub struct Style {
    pub icons: bool,
    /// The width of the window in cells; titles are cut to it.
    pub width: usize,
    /// Minutes that the clock on the wall is ahead of UTC, where times are to be shown.
    pub clock: Option<i64>,
    /// The keys that lines name.
    pub hints: Rc<Hints>,
}

impl Style {
    /// `14:02`, for a moment in milliseconds since 1970.
    pub(super) fn clock(&self, at: u64) -> Option<String> {
        let minutes = i64::try_from(at / 60_000).ok()? + self.clock?;
        Some(format!("{:02}:{:02}", minutes.rem_euclid(24 * 60) / 60, minutes.rem_euclid(60)))
    }

    pub(super) fn narrower(&self, cells: usize) -> Self {
        Self { width: self.width.saturating_sub(cells), ..self.clone() }
    }
}

/// A terminal as a tool call shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// The last lines, oldest first.
    pub lines: Vec<String>,
    /// What colours each line; none where this is shorter.
    pub spans: Vec<Vec<Span>>,
    /// How many lines there are in all.
    pub total: usize,
    pub running: bool,
    pub failed: bool,
    /// For how many milliseconds the command ran, once it has ended.
    pub took: Option<u64>,
}

/// An entry as text and what colours it. Rows are 0-based and count from the entry's first line,
/// columns are 0-based bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// Empty only for what is gathered under the line of another entry.
    pub lines: Vec<String>,
    pub marks: Vec<Mark>,
    /// Virtual text at the right edge.
    pub right: Vec<(usize, String)>,
    /// The rows that the plugin says, and what colours the bar in the margin before them. No text reaches the
    /// margin, so what an agent says is never taken for one of these.
    pub frames: Vec<(usize, &'static str)>,
    /// Where rows lead to.
    pub targets: Vec<Target>,
    /// Where the answers to a question stand.
    pub answers: Vec<AnswerSpan>,
    /// The rows that stand for images.
    pub pictures: Vec<(usize, Picture)>,
    /// The rows of the entries that stand under this one, and of this one itself where there are any; what is
    /// deeper in the tree comes later.
    pub inner: Vec<(Range<usize>, EntryId)>,
    /// The rows that are Markdown.
    pub markdown: Option<Range<usize>>,
    /// They are the user's, who wants to see what they typed.
    pub is_typed: bool,
}

/// The bytes of a row in which an answer stands, with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerSpan {
    pub row: usize,
    pub start: usize,
    pub end: usize,
    /// Which of the answers it is, from 1.
    pub number: usize,
}

/// The place in a file that a row is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub row: usize,
    pub path: PathBuf,
    /// 1-based.
    pub line: Option<u32>,
    /// What stands there. An agent may have told a part of the file only, so the line's number may count
    /// from somewhere else.
    pub text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub row: usize,
    pub start: usize,
    pub end: usize,
    pub group: &'static str,
}

impl Drawing {
    pub(super) fn line(&mut self, text: impl Into<String>, group: Option<&'static str>) -> &mut Self {
        let text = text.into();
        if let Some(group) = group
            && !text.is_empty()
        {
            self.marks.push(Mark { row: self.lines.len(), start: 0, end: text.len(), group });
        }
        self.lines.push(text);
        self
    }

    /// The last line is the plugin's word.
    pub(super) fn framed(&mut self, group: &'static str) {
        self.frames.extend(self.lines.len().checked_sub(1).map(|row| (row, group)));
    }

    /// A line of the plugin's own about what it shows, or how to see more of it.
    pub(super) fn hint(&mut self, text: String) {
        self.line(text, Some("AcpMeta")).framed("AcpMeta");
    }

    /// Whether a text has room at the right edge of a row, and does not stand over what the row says.
    pub(super) fn has_room_beside(&self, row: usize, text: &str, style: &Style) -> bool {
        cells(&self.lines[row]) + cells(text) + 2 <= style.width
    }

    /// Whether a row is so long that a window may break it. Windows come and go, so none is asked.
    pub fn may_wrap(&self, row: usize) -> bool {
        self.lines.get(row).is_some_and(|line| line.len() > MAX_SHORT_LINE_BYTES)
    }

    /// Puts another drawing under this one.
    pub(super) fn under(&mut self, other: Self) {
        let rows = self.lines.len();
        self.lines.extend(other.lines);
        self.marks.extend(other.marks.into_iter().map(|mark| Mark { row: mark.row + rows, ..mark }));
        self.right.extend(other.right.into_iter().map(|(row, text)| (row + rows, text)));
        self.frames.extend(other.frames.into_iter().map(|(row, group)| (row + rows, group)));
        self.pictures.extend(other.pictures.into_iter().map(|(row, picture)| (row + rows, picture)));
        self.inner.extend(other.inner.into_iter().map(|(at, id)| (at.start + rows..at.end + rows, id)));
        self.answers
            .extend(other.answers.into_iter().map(|span| AnswerSpan { row: span.row + rows, ..span }));
        self.targets
            .extend(other.targets.into_iter().map(|target| Target { row: target.row + rows, ..target }));
    }

    pub(super) fn picture(&mut self, picture: &Picture, indent: &str) {
        self.pictures.push((self.lines.len(), picture.clone()));
        self.line(format!("{indent}{}", image::label(picture)), Some("AcpMeta")).framed("AcpMeta");
    }

    /// Gives a look to what has none: nothing in a drawing is hidden.
    pub fn show_all(&mut self) {
        for (row, line) in self.lines.iter_mut().enumerate() {
            if visible::is_plain(line) {
                continue;
            }
            let (seen, looks) = Visible::default().read(line);
            let moved = places(line, &seen, &looks);
            for mark in self.marks.iter_mut().filter(|mark| mark.row == row) {
                (mark.start, mark.end) = (moved(mark.start), moved(mark.end));
            }
            for span in self.answers.iter_mut().filter(|span| span.row == row) {
                (span.start, span.end) = (moved(span.start), moved(span.end));
            }
            drop(moved);
            self.marks.extend(looks.into_iter().map(|look| Mark {
                row,
                start: look.start,
                end: look.end,
                group: UNPRINTABLE,
            }));
            *line = seen;
        }
        for (_, text) in &mut self.right {
            if !visible::is_plain(text) {
                *text = visible::visible_line(text);
            }
        }
    }

    /// As much of a text as stands in a transcript, each line behind an indent. Gives how many more lines it
    /// has.
    pub(super) fn beginning(&mut self, text: &str, indent: &str, group: Option<&'static str>) -> usize {
        let (lines, more) = bounds::beginning(text, MOST_ROWS, MOST_BYTES);
        for line in lines {
            self.line(if line.is_empty() { String::new() } else { format!("{indent}{line}") }, group);
        }
        more
    }

    /// Says that there are more lines, and how to see them.
    pub(super) fn left_out(&mut self, more: usize, indent: &str, hints: &Hints) {
        if more > 0 {
            let lines = if more == 1 { "line" } else { "lines" };
            self.hint(format!("{indent}({} more {lines}{})", grouped(more as u64), hints.all_of_it()));
        }
    }

    /// Sees to it that each line can be one of a buffer, that Neovim need not draw one without end, and that nothing
    /// is hidden.
    pub(super) fn bounded(mut self) -> Self {
        for line in &mut self.lines {
            // A name or a path of the agent's may have them; a line of a buffer may not.
            if line.contains('\n') {
                *line = line.replace('\n', " ");
            }
            if line.len() > LONGEST_LINE {
                line.truncate(cut(line, LONGEST_LINE - '…'.len_utf8()).len());
                line.push('…');
            }
        }
        let lines = &self.lines;
        for mark in &mut self.marks {
            let line = &lines[mark.row];
            let within = |at: usize| if line.is_char_boundary(at) { at } else { line.len() };
            (mark.start, mark.end) = (within(mark.start), within(mark.end));
        }
        for span in &mut self.answers {
            let line = &lines[span.row];
            (span.start, span.end) = (span.start.min(line.len()), span.end.min(line.len()));
        }
        self.show_all();
        self
    }
}

/// A line of no more bytes fits into any window that a chat is read in.
const MAX_SHORT_LINE_BYTES: usize = 16;

/// Colours the looks of what has none. What is yanked finds the characters by it.
pub const UNPRINTABLE: &str = "AcpUnprintable";

/// Where the bytes of a line are once its hidden characters have their looks.
fn places(line: &str, seen: &str, looks: &[Range<usize>]) -> impl Fn(usize) -> usize + use<> {
    let mut moves = Vec::new();
    let (mut from, mut to) = (0, 0);
    for look in looks {
        // Up to a look both texts are the same.
        from += look.start - to;
        let width = line[from..].chars().next().map_or(0, char::len_utf8);
        from += width;
        to = look.end;
        moves.push((from, to));
    }
    let end = seen.len();
    move |at| {
        let before = moves.partition_point(|(from, _)| *from <= at);
        let (from, to) = before.checked_sub(1).map_or((0, 0), |before| moves[before]);
        (to + (at - from)).min(end)
    }
}

//! What an entry looks like as lines. A pure function of the entry, of the one before it, and of a
//! few options; putting the lines into a buffer is left to the editor's side. Screens say the same
//! with icons off: words come first.

pub mod bounds;
mod call;
mod choices;
mod coloured;
pub mod details;
mod elicitation;
mod greeting;
pub mod groups;
mod hints;
pub mod patch;
pub mod reading;
mod summary;

use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

pub use hints::Hints;

pub use self::summary::Tally;

use self::bounds::{LONGEST_LINE, MOST_BYTES, MOST_ROWS, broken_lines};
use crate::core::entry::{Body, Entry};
use crate::core::image;
use crate::core::message::{
    Cost, Failure, FailureKind, Picture, PlanItem, PlanStatus, Severity, StopReason, TerminalId, TurnUsage,
};
use crate::core::screen::Span;
use crate::core::text::{cut, one_line};
use crate::core::tool_call::Status;
use crate::core::visible::{self, Visible};

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
    fn clock(&self, at: u64) -> Option<String> {
        let minutes = i64::try_from(at / 60_000).ok()? + self.clock?;
        Some(format!("{:02}:{:02}", minutes.rem_euclid(24 * 60) / 60, minutes.rem_euclid(60)))
    }

    fn narrower(&self, cells: usize) -> Self {
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
    /// The rows that stand for images.
    pub pictures: Vec<(usize, Picture)>,
    /// The rows that are Markdown.
    pub markdown: Option<Range<usize>>,
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
    fn line(&mut self, text: impl Into<String>, group: Option<&'static str>) -> &mut Self {
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
    fn framed(&mut self, group: &'static str) {
        self.frames.extend(self.lines.len().checked_sub(1).map(|row| (row, group)));
    }

    /// A line of the plugin's own about what it shows, or how to see more of it.
    fn hint(&mut self, text: String) {
        self.line(text, Some("AcpMeta")).framed("AcpMeta");
    }

    /// Whether a row is so long that a window may break it. Windows come and go, so none is asked.
    pub fn may_wrap(&self, row: usize) -> bool {
        self.lines.get(row).is_some_and(|line| line.len() > SHORT)
    }

    /// Puts another drawing under this one.
    fn under(&mut self, other: Self) {
        let rows = self.lines.len();
        self.lines.extend(other.lines);
        self.marks.extend(other.marks.into_iter().map(|mark| Mark { row: mark.row + rows, ..mark }));
        self.right.extend(other.right.into_iter().map(|(row, text)| (row + rows, text)));
        self.frames.extend(other.frames.into_iter().map(|(row, group)| (row + rows, group)));
        self.pictures.extend(other.pictures.into_iter().map(|(row, picture)| (row + rows, picture)));
        self.targets
            .extend(other.targets.into_iter().map(|target| Target { row: target.row + rows, ..target }));
    }

    fn picture(&mut self, picture: &Picture, indent: &str) {
        self.pictures.push((self.lines.len(), picture.clone()));
        self.line(format!("{indent}{}", image::label(picture)), Some("AcpMeta"));
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
    fn beginning(&mut self, text: &str, indent: &str, group: Option<&'static str>) -> usize {
        let (lines, more) = bounds::beginning(text, MOST_ROWS, MOST_BYTES);
        for line in lines {
            self.line(if line.is_empty() { String::new() } else { format!("{indent}{line}") }, group);
        }
        more
    }

    /// Says that there are more lines, and how to see them.
    fn left_out(&mut self, more: usize, indent: &str, hints: &Hints) {
        if more > 0 {
            let lines = if more == 1 { "line" } else { "lines" };
            self.hint(format!("{indent}({} more {lines}{})", grouped(more as u64), hints.all_of_it()));
        }
    }

    /// Sees to it that each line can be one of a buffer, that Neovim need not draw one without end, and that nothing
    /// is hidden.
    fn bounded(mut self) -> Self {
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
        self.show_all();
        self
    }
}

/// A line of no more bytes fits into any window that a chat is read in.
const SHORT: usize = 30;

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

/// The lines of a text from an agent: without line ends, so that each is one line of a buffer.
pub fn clean_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// Whether a blank line stands between an entry and the one before it.
fn gap(before: Option<&Body>, body: &Body) -> bool {
    !matches!(
        (before, body),
        (None | Some(Body::Speaker(_)), _)
            | (
                Some(Body::Tool(_) | Body::Thought { .. } | Body::Elicitation(_)),
                Body::Tool(_) | Body::Thought { .. } | Body::Elicitation(_)
            )
    )
}

/// How an entry stands to the calls around it; see [`groups`].
#[derive(Clone, Copy, Debug, Default)]
pub enum Standing<'a> {
    #[default]
    Alone,
    /// It is the first of those that were counted, which have a line of their own above it.
    Leads { run: &'a Tally, open: bool },
    /// It is shown when its run is open, or when it is open itself.
    Within { open: bool },
}

/// An entry among others. It draws nothing at all when it is part of a run that is not open.
pub fn draw_standing(
    before: Option<&Entry>,
    entry: &Entry,
    standing: Standing,
    style: &Style,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
) -> Drawing {
    let own = |open: bool| match open || entry.open {
        // Nothing sets the calls of a run off.
        true => indented(draw(Some(entry), entry, &style.narrower(INDENT), tail)),
        false => Drawing::default(),
    };
    match standing {
        Standing::Alone => draw(before, entry, style, tail),
        Standing::Within { open } => own(open),
        Standing::Leads { run, open } => {
            let mut drawing = Drawing::default();
            if gap(before.map(|entry| &entry.body), &entry.body) {
                drawing.line("", None);
            }
            summary::draw(&mut drawing, run, style);
            drawing.under(own(open));
            drawing
        }
    }
}

/// How far the calls of a run stand under its line.
const INDENT: usize = 2;

fn indented(mut drawing: Drawing) -> Drawing {
    for line in drawing.lines.iter_mut().filter(|line| !line.is_empty()) {
        line.insert_str(0, &" ".repeat(INDENT));
    }
    for mark in &mut drawing.marks {
        mark.start += INDENT;
        mark.end += INDENT;
    }
    drawing
}

/// Where an entry's own lines begin: after the blank line that sets it off, if there is one.
pub fn draw(
    before: Option<&Entry>,
    entry: &Entry,
    style: &Style,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
) -> Drawing {
    let mut drawing = Drawing::default();
    if gap(before.map(|entry| &entry.body), &entry.body) {
        drawing.line("", None);
    }
    match &entry.body {
        Body::Greeting(greeting) => {
            let first = drawing.lines.len();
            greeting::draw(&mut drawing, greeting, &style.hints);
            let group = drawing.marks.iter().find(|mark| mark.row == first).map(|mark| mark.group);
            drawing.frames.push((first, group.unwrap_or("AcpAgent")));
        }
        Body::User { text, attachments } => {
            let refused = entry.refused.then(|| "refused, no longer in the context".to_owned());
            let facts: Vec<String> = refused.into_iter().chain(style.clock(entry.at.0)).collect();
            if !facts.is_empty() {
                drawing.right.push((drawing.lines.len(), facts.join(" · ")));
            }
            drawing.line("You", Some("AcpUser")).framed("AcpUser");
            let first = drawing.lines.len();
            let more = drawing.beginning(text.trim_end(), "", entry.refused.then_some("AcpMeta"));
            drawing.markdown = Some(first..drawing.lines.len());
            drawing.left_out(more, "", &style.hints);
            for attachment in attachments {
                drawing.line(format!("+ {attachment}"), Some("AcpMeta"));
            }
        }
        Body::Speaker(name) => {
            drawing.line(one_line(name), Some("AcpAgent")).framed("AcpAgent");
        }
        Body::Message { text } => {
            let first = drawing.lines.len();
            let text = text.trim_end_matches(['\n', '\r']);
            drawing.lines.extend(broken_lines(text, 0, None).map(str::to_owned));
            drawing.markdown = Some(first..drawing.lines.len());
        }
        Body::Thought { text, ended } => draw_thought(&mut drawing, entry, text, ended.is_some(), style),
        Body::Picture(picture) => drawing.picture(picture, ""),
        Body::Tool(call) => call::draw(&mut drawing, call, entry.open, style, tail),
        Body::Elicitation(asked) => elicitation::draw(&mut drawing, asked, entry.open, style),
        Body::Plan(items) => draw_plan(&mut drawing, items, style),
        Body::Notice { severity, text } => {
            let (word, group) = match severity {
                Severity::Info => ("Note: ", "AcpMeta"),
                Severity::Warning => ("Warning: ", "AcpToolWaiting"),
                Severity::Error => ("Error: ", "AcpError"),
            };
            let (lines, more) = bounds::beginning(text, MOST_ROWS, MOST_BYTES);
            let mut lines = lines.into_iter();
            drawing.line(format!("{word}{}", lines.next().unwrap_or_default()), Some(group)).framed(group);
            for line in lines {
                drawing.line(line, Some("AcpMeta")).framed(group);
            }
            drawing.left_out(more, "", &style.hints);
        }
        Body::Compaction { status, summary, error } => {
            let text = match (status.as_str(), error) {
                (_, Some(error)) => format!("Could not make the conversation shorter: {error}"),
                ("completed", None) => "The agent made the conversation shorter".to_owned(),
                ("failed" | "cancelled", None) => format!("Making the conversation shorter: {status}"),
                _ => "The agent is making the conversation shorter …".to_owned(),
            };
            drawing.line(text, Some("AcpMeta")).framed("AcpMeta");
            if entry.open && !summary.is_empty() {
                let more = drawing.beginning(summary, "  ", Some("AcpThought"));
                drawing.left_out(more, "  ", &style.hints);
            }
        }
        Body::Stop { reason, silent, took, usage, cost } => {
            if let Some(clock) = style.clock(entry.at.0) {
                drawing.right.push((drawing.lines.len(), clock));
            }
            draw_stop(&mut drawing, reason, *silent, *took, usage.as_ref(), cost.as_ref());
        }
        Body::TurnFailed(failure) => {
            let text = format!("The turn failed: {}", readable(&failure.message));
            drawing.line(text, Some("AcpError")).framed("AcpError");
            drawing.line(advice(failure, &style.hints), Some("AcpMeta")).framed("AcpError");
        }
    }
    drawing.bounded()
}

fn draw_thought(drawing: &mut Drawing, entry: &Entry, text: &str, over: bool, style: &Style) {
    let fold = match (style.icons, entry.open) {
        (true, false) => "▸ ",
        (true, true) => "▾ ",
        (false, false) => "+ ",
        (false, true) => "- ",
    };
    let ended = match &entry.body {
        Body::Thought { ended: Some(ended), .. } => ended.since(entry.at),
        _ => 0,
    };
    let line = match (over, ended) {
        (false, _) => format!("{fold}thinking …"),
        (true, 0..1000) => format!("{fold}thought"),
        (true, ms) => format!("{fold}thought for {}", seconds(ms)),
    };
    drawing.line(line, Some("AcpThought")).framed("AcpThought");
    if entry.open {
        let more = drawing.beginning(text.trim_end(), "  ", Some("AcpThought"));
        drawing.left_out(more, "  ", &style.hints);
    }
}

/// The mark and the highlight group of a status.
pub fn status_mark(status: Status, icons: bool) -> (&'static str, &'static str) {
    let (icon, word, group) = match status {
        Status::Pending => ("○", "[ ]", "AcpToolPending"),
        Status::Waiting => ("●", "[?]", "AcpToolWaiting"),
        Status::Running => ("◐", "[~]", "AcpToolRunning"),
        Status::Done => ("✓", "[x]", "AcpToolDone"),
        Status::Failed => ("✗", "[!]", "AcpToolFailed"),
        Status::Rejected | Status::Cancelled => ("⊘", "[-]", "AcpToolCancelled"),
        Status::Unreported => ("◌", "[.]", "AcpToolCancelled"),
    };
    (if icons { icon } else { word }, group)
}

/// A plan by itself.
pub fn plan(items: &[PlanItem], style: &Style) -> Drawing {
    let mut drawing = Drawing::default();
    draw_plan(&mut drawing, items, style);
    drawing.show_all();
    drawing
}

/// How many items of a plan are done: `2/5`.
pub fn progress(items: &[PlanItem]) -> String {
    let done = items.iter().filter(|item| item.status == PlanStatus::Completed).count();
    format!("{done}/{}", items.len())
}

fn draw_plan(drawing: &mut Drawing, items: &[PlanItem], style: &Style) {
    drawing.line(format!("Plan {}", progress(items)), Some("AcpPlan")).framed("AcpPlan");
    let shown = in_view(items);
    if shown.start > 0 {
        drawing.hint(format!("    {} before these", grouped(shown.start as u64)));
    }
    for item in &items[shown.clone()] {
        let (icon, word, group) = match item.status {
            PlanStatus::Pending => ("○", "[ ]", "AcpToolPending"),
            PlanStatus::InProgress => ("●", "[~]", "AcpToolRunning"),
            PlanStatus::Completed => ("✓", "[x]", "AcpToolDone"),
        };
        let mark = if style.icons { icon } else { word };
        let row = drawing.lines.len();
        drawing.marks.push(Mark { row, start: 2, end: 2 + mark.len(), group });
        drawing.lines.push(format!("  {mark} {}", one_line(cut(&item.content, LONGEST_LINE))));
    }
    if shown.end < items.len() {
        let more = grouped((items.len() - shown.end) as u64);
        drawing.hint(format!("    and {more} more{}", style.hints.all_of_it()));
    }
}

/// Of a plan at most so many steps are shown.
const MOST_STEPS: usize = 50;

/// The steps of a plan that are shown: all of them, or those around the first that is not done.
fn in_view(items: &[PlanItem]) -> Range<usize> {
    if items.len() <= MOST_STEPS {
        return 0..items.len();
    }
    let now = items.iter().position(|item| item.status != PlanStatus::Completed);
    let first = now.unwrap_or(items.len()).saturating_sub(MOST_STEPS / 10).min(items.len() - MOST_STEPS);
    first..first + MOST_STEPS
}

fn draw_stop(
    drawing: &mut Drawing,
    reason: &StopReason,
    silent: bool,
    took: u64,
    usage: Option<&TurnUsage>,
    cost: Option<&Cost>,
) {
    let mut facts = vec![seconds(took)];
    if let Some(usage) = usage
        && usage.total > 0
    {
        facts.push(format!("{} tokens", grouped(usage.total)));
    }
    facts.extend(cost.map(price));
    let facts = facts.join(" · ");
    let (text, group) = match reason {
        StopReason::EndTurn if silent => ("The agent ended without an answer".to_owned(), "AcpToolWaiting"),
        StopReason::EndTurn => ("Done".to_owned(), "AcpMeta"),
        StopReason::Cancelled => ("Cancelled".to_owned(), "AcpToolCancelled"),
        StopReason::MaxTokens => {
            ("Stopped: the answer reached its limit of tokens; ask to continue".to_owned(), "AcpToolWaiting")
        }
        StopReason::MaxTurnRequests => {
            ("Stopped: the turn reached its limit of requests; ask to continue".to_owned(), "AcpToolWaiting")
        }
        StopReason::Refusal => (
            "The agent refused; this prompt and all after it are not part of the next one's context"
                .to_owned(),
            "AcpToolWaiting",
        ),
        StopReason::Other(word) if word.is_empty() => ("Ended without a reason".to_owned(), "AcpToolWaiting"),
        StopReason::Other(word) => (format!("Ended: {}", one_line(word)), "AcpToolWaiting"),
    };
    drawing.line(format!("{text} · {facts}"), Some(group)).framed(group);
}

/// `$0.12`, `0.12 EUR`; less than a cent is not rounded away.
pub fn price(cost: &Cost) -> String {
    let digits = if cost.amount > 0.0 && cost.amount < 0.01 { 4 } else { 2 };
    match cost.currency.as_str() {
        "USD" => format!("${:.digits$}", cost.amount),
        currency => format!("{:.digits$} {}", cost.amount, one_line(currency)),
    }
}

/// No more of a failure's message is read.
const MOST_MESSAGE: usize = 16 << 10;

/// A failure's message on one line. Many agents pass on the JSON that a model's service answered; what
/// there is to read in it is its message.
pub fn readable(message: &str) -> String {
    let message = cut(message, MOST_MESSAGE);
    let said = message.find('{').and_then(|at| {
        let json: serde_json::Value = serde_json::from_str(&message[at..]).ok()?;
        let said = json["error"]["message"].as_str().or(json["message"].as_str())?;
        Some(format!("{}{said}", &message[..at]))
    });
    one_line(said.as_deref().unwrap_or(message))
}

/// What to do after a failure.
pub fn advice(failure: &Failure, hints: &Hints) -> String {
    let restart = hints.restart();
    match failure.kind {
        FailureKind::AuthRequired => ":Acp login logs in; then the prompt is sent again by itself".into(),
        FailureKind::Disconnected => format!("{restart} starts the agent again"),
        FailureKind::Busy => "Wait a little, then send the prompt again".into(),
        FailureKind::Timeout => format!("Send the prompt again, or {restart} starts the agent again"),
        _ => "The session goes on: send the prompt again, or :Acp log shows the messages".into(),
    }
}

/// `850 ms`, `1.2 s`, `42 s`, `3:07`.
pub fn seconds(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        10_000..60_000 => format!("{} s", ms / 1000),
        _ => format!("{}:{:02}", ms / 60_000, ms / 1000 % 60),
    }
}

/// `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Cuts a text to `width` characters, in the middle, since both ends of a path tell most.
pub fn cut_middle(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width || width < 3 {
        // There is no room for both ends.
        return cut_end(text, width);
    }
    let head = (width - 1) / 2;
    let tail = width - 1 - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}…{end}")
}

/// Cuts a text to `width` characters, at its end.
pub fn cut_end(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some(_) if width == 0 => String::new(),
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;

#[cfg(test)]
mod group_tests;

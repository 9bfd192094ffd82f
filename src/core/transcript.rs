//! What an entry looks like as lines: a pure function of the entry, the one before it, and a few options.
//! Putting the lines into a buffer is left to the editor's side. With icons off, the same is said in
//! words.

mod ansi_spans;
pub mod bounds;
mod call;
mod choices;
pub mod clicks;
mod compaction;
pub mod details;
mod document;
mod drawing;
mod elicitation;
pub mod export;
mod greeting;
pub mod groups;
mod hints;
mod last_words;
pub mod patch;
pub mod reading;
pub mod rules;
mod shell_lines;
pub mod subagents;
mod summary;
mod wording;
mod written;

use std::ops::Range;

pub use drawing::{Drawing, Mark, Style, Tail, Target, UNPRINTABLE};
pub use hints::Hints;
pub use summary::Tally;
pub use wording::{grouped, price, readable, running_time, seconds, status_mark, what_next};

use self::bounds::{LONGEST_LINE, MOST_BYTES, MOST_ROWS, broken_lines};
use crate::core::ids::TerminalId;
use crate::core::message::{Cost, Failure, PlanItem, PlanStatus, Severity, StopReason, Tokens};
use crate::core::session::entry::{Body, Entry, Then};
use crate::core::text::{cells, cut, one_line, without_ticks};

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
                Some(
                    Body::Tool(_)
                        | Body::Thought { .. }
                        | Body::Elicitation(_)
                        | Body::Written(_)
                        | Body::Subagent(_)
                ),
                Body::Tool(_)
                    | Body::Thought { .. }
                    | Body::Elicitation(_)
                    | Body::Written(_)
                    | Body::Subagent(_)
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
    for span in &mut drawing.answers {
        span.start += INDENT;
        span.end += INDENT;
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
    if matches!(&entry.body, Body::Written(written) if written.files.is_empty()) {
        // It turned out to be somebody else's work.
        return drawing;
    }
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
            let facts: Vec<String> =
                refused.into_iter().chain(entry.clock.and_then(|at| style.clock(at))).collect();
            if !facts.is_empty() {
                drawing.right.push((drawing.lines.len(), facts.join(" · ")));
            }
            drawing.line("You", Some("AcpUser")).framed("AcpUser");
            let first = drawing.lines.len();
            let more = drawing.beginning(text.trim_end(), "", entry.refused.then_some("AcpMeta"));
            (drawing.markdown, drawing.is_typed) = (Some(first..drawing.lines.len()), true);
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
        Body::Subagent(subagent) => {
            subagents::heading(&mut drawing, subagent, &subagents::Doing::default(), style);
        }
        Body::Relayed(relayed) => subagents::relayed(&mut drawing, relayed, entry.open, style),
        Body::Elicitation(asked) => elicitation::draw(&mut drawing, asked, entry.open, style),
        Body::Plan(items) => draw_plan(&mut drawing, items, style),
        Body::Document(document) => document::draw(&mut drawing, document, entry.open, style),
        Body::Written(written) => written::draw(&mut drawing, written, entry.open, style),
        Body::Notice { severity, text, times } => {
            let (word, group) = match severity {
                Severity::Info => ("Note: ", "AcpMeta"),
                Severity::Warning => ("Warning: ", "AcpToolWaiting"),
                Severity::Error => ("Error: ", "AcpError"),
            };
            let (lines, more) = bounds::beginning(text, MOST_ROWS, MOST_BYTES);
            let mut lines = lines.into_iter();
            let often = if *times > 1 { format!(" ({times} times)") } else { String::new() };
            let line = format!("{word}{}{often}", lines.next().unwrap_or_default());
            drawing.line(line, Some(group)).framed(group);
            for line in lines {
                drawing.line(line, Some("AcpMeta")).framed(group);
            }
            drawing.left_out(more, "", &style.hints);
        }
        Body::Compaction(told) => compaction::draw(&mut drawing, told, entry.open, style),
        Body::Stop { reason, silent, took, tokens, cost } => {
            let row = drawing.lines.len();
            let used = used(*took, tokens.as_ref(), cost.as_ref());
            draw_stop(&mut drawing, (reason, *silent), &used, style.width);
            let clock = entry.clock.and_then(|at| style.clock(at));
            let clock = clock.filter(|clock| drawing.has_room_beside(row, clock, style));
            drawing.right.extend(clock.map(|clock| (row, clock)));
        }
        Body::TurnFailed(failure, then) => draw_failure(&mut drawing, failure, *then, style),
    }
    drawing.bounded()
}

/// So much of what a failed turn says stands in the chat.
const FAILURE_LINES: usize = 12;

fn draw_failure(drawing: &mut Drawing, failure: &Failure, then: Then, style: &Style) {
    let said = wording::readable_lines(&failure.message);
    let (lines, more) = bounds::beginning(&said, FAILURE_LINES, MOST_BYTES);
    for (row, line) in lines.into_iter().enumerate() {
        let text = if row == 0 { format!("The turn failed: {line}") } else { format!("  {line}") };
        drawing.line(text.trim_end(), Some("AcpError")).framed("AcpError");
    }
    drawing.left_out(more, "  ", &style.hints);
    drawing.line(what_next(failure, then, &style.hints), Some("AcpMeta")).framed("AcpError");
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

/// A plan by itself.
pub fn plan(plan: Option<&Entry>, style: &Style) -> Drawing {
    let mut drawing = Drawing::default();
    match plan.map(|entry| &entry.body) {
        Some(Body::Plan(items)) => draw_plan(&mut drawing, items, style),
        Some(Body::Document(document)) => document::draw(&mut drawing, document, true, style),
        _ => draw_plan(&mut drawing, &[], style),
    }
    drawing.bounded()
}

/// The row of the step that a drawn plan has come to: the first that is at work, else the first that is not done. Of a
/// text it is the first step that is not ticked off, else where it says more than headings do.
pub fn plan_row(plan: Option<&Entry>, drawing: &Drawing) -> usize {
    let items = match plan.map(|entry| &entry.body) {
        Some(Body::Plan(items)) => items,
        Some(Body::Document(_)) => return document::row_at_hand(drawing),
        _ => return 0,
    };
    let working = items.iter().position(|item| item.status == PlanStatus::InProgress);
    let left = || items.iter().position(|item| item.status != PlanStatus::Completed);
    let Some(step) = working.or_else(left) else { return 0 };
    let shown = in_view(items);
    // The title, and what says that there are steps before these.
    let above = 1 + usize::from(shown.start > 0);
    (above + step.saturating_sub(shown.start)).min(drawing.lines.len().saturating_sub(1))
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
        drawing
            .lines
            .push(format!("  {mark} {}", without_ticks(&one_line(cut(&item.content, LONGEST_LINE)))));
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

/// What a turn has used up.
fn used(took: u64, tokens: Option<&Tokens>, cost: Option<&Cost>) -> Vec<String> {
    let mut facts = vec![seconds(took)];
    if let Some(tokens) = tokens
        && tokens.total > 0
    {
        facts.push(format!("{} tokens", grouped(tokens.total)));
    }
    facts.extend(cost.map(price));
    facts
}

/// How a turn ended, in a sentence, and its group.
fn ending(reason: &StopReason, silent: bool) -> (String, &'static str) {
    match reason {
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
    }
}

/// Where it does not fit in one line, it is broken between what was used.
fn draw_stop(drawing: &mut Drawing, (reason, silent): (&StopReason, bool), used: &[String], width: usize) {
    let (text, group) = ending(reason, silent);
    let mut lines = vec![text];
    for fact in used {
        match lines.last_mut().filter(|line| cells(line) + 3 + cells(fact) <= width) {
            Some(line) => *line = format!("{line} · {fact}"),
            None => lines.push(fact.clone()),
        }
    }
    for line in lines {
        drawing.line(line, Some(group)).framed(group);
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod group_tests;

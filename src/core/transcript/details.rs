//! Everything known about an entry, for a user who wants to read it in full: a call's facts, its input,
//! its output. As Markdown, since that is what most of it is.

use serde_json::Value;

use super::bounds::{MOST_BYTES, MOST_ROWS, beginning};
use super::call::{tails_not_shown, time};
use super::drawing::{Drawing, Mark, Tail};
use super::patch::Patch;
use super::wording::{grouped, seconds};
use super::{MOST_STEPS, compaction, document, export, progress, rules, subagents, written};
use crate::core::ids::{EntryId, TerminalId};
use crate::core::message::{Content, FileDiff, PlanStatus, ResourceBody, ToolContent};
use crate::core::session::entry::{Body, Entry, Greeting};
use crate::core::session::tool_call::{Status, ToolCall, kind_word};
use crate::core::session::{Session, as_markdown};
use crate::core::text::fitting::cut_end;
use crate::core::text::{cut, one_line};

/// Of one text at most this many lines and bytes are shown; no one reads more, and the editor takes them all
/// at once.
const LINES: usize = 5000;
const BYTES: usize = 256 << 10;
/// A longer title stands below the heading in full.
const TITLE: usize = 200;

/// The page, or `None` where the transcript says all of it already. What comes and what goes in a diff has
/// its colours; the rest is Markdown.
pub fn details(
    session: &Session,
    id: EntryId,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
) -> Option<Drawing> {
    let mut page = Page::default();
    let entry = session.entry(id)?;
    let has_more = page.entry(entry, tail) || page.tools(session, entry);
    if !has_more && session.inner(id).is_empty() {
        return None;
    }
    let inner = export::inner(session, id, tail);
    if !inner.trim().is_empty() {
        page.section("What it said and did");
        page.text(inner.trim_end());
    }
    Some(page.drawing())
}

#[cfg(test)]
pub fn of_entry(entry: &Entry) -> Option<Drawing> {
    let mut page = Page::default();
    page.entry(entry, &|_| None).then(|| page.drawing())
}

impl Page {
    /// What the top of a chat leaves unsaid: which of the editor's tools the agent was given, and what it may reach.
    fn tools(&mut self, session: &Session, entry: &Entry) -> bool {
        let Body::Greeting(Greeting::Ready { title, version, .. }) = &entry.body else { return false };
        if session.tools.is_empty() && session.sandbox.is_none() {
            return false;
        }
        let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        self.line(format!("# {}", cut_end(&format!("{title}{version}"), TITLE)));
        if let Some(reaches) = &session.sandbox {
            self.line(format!("In a sandbox: it {reaches}"));
        }
        if !session.tools.is_empty() {
            self.line(format!("Tools of Neovim that it was given: {}", session.tools.join(", ")));
        }
        true
    }

    /// Says whether there is more to say of an entry than the transcript does.
    fn entry(&mut self, entry: &Entry, tail: &dyn Fn(&TerminalId) -> Option<Tail>) -> bool {
        let page = self;
        match &entry.body {
            Body::Tool(call) => call_details(page, call, tail),
            Body::Subagent(subagent) => {
                page.line(format!("# {}", cut_end(subagent.name(), TITLE)));
                page.line(subagents::in_words(subagent));
                if let Some(why) = subagent.failure() {
                    page.section("Why it failed");
                    page.text(why);
                }
            }
            Body::Relayed(relayed) => {
                page.line(format!("# {}", subagents::between(relayed)));
                page.text(relayed.text.trim());
            }
            Body::Thought { text, .. } => {
                page.line("# Thought");
                page.text(text.trim());
            }
            Body::Compaction(told) => {
                let mut parts = compaction::parts(told).into_iter();
                page.line(format!("# {}", parts.next().unwrap_or_default().trim_end_matches('.')));
                parts.for_each(|part| page.text(&part));
            }
            Body::User { text, .. } if beginning(text.trim_end(), MOST_ROWS, MOST_BYTES).1 > 0 => {
                page.line("# You");
                page.text(text.trim_end());
            }
            Body::Written(written) if written.files.len() > 1 => {
                page.line(format!("# {} files were written {}", written.files.len(), written.road.words()));
                for file in written.files.iter().take(LINES) {
                    let counts =
                        written::counted([file]).map(|counts| format!(" · {counts}")).unwrap_or_default();
                    page.line(format!("- {}{counts}", written::named(file)));
                }
                page.left_out(written.files.len().saturating_sub(LINES));
            }
            Body::Notice { text, .. } if beginning(text, MOST_ROWS, MOST_BYTES).1 > 0 => {
                page.line("# Note");
                page.text(text);
            }
            Body::Elicitation(asked) if beginning(asked.message.trim(), MOST_ROWS, MOST_BYTES).1 > 0 => {
                page.line(format!("# {} asks", one_line(&asked.asker)));
                page.text(asked.message.trim());
            }
            Body::Document(document) if document::text(document).is_some() => {
                page.line(format!("# {}", document::in_words(document)));
                page.text(document::text(document).unwrap_or_default());
            }
            Body::Plan(items) if items.len() > MOST_STEPS => {
                page.line(format!("# Plan {}", progress(items)));
                for item in items.iter().take(LINES) {
                    let mark = match item.status {
                        PlanStatus::Pending => " ",
                        PlanStatus::InProgress => "~",
                        PlanStatus::Completed => "x",
                    };
                    page.line(format!("- [{mark}] {}", one_line(cut(&item.content, 200))));
                }
                page.left_out(items.len().saturating_sub(LINES));
            }
            Body::Greeting(Greeting::Failed { name, stderr, .. } | Greeting::Gone { name, stderr, .. })
                if !stderr.is_empty() =>
            {
                page.line(format!("# The last words of {}", one_line(name)));
                page.fenced("", &stderr.join("\n"));
            }
            Body::TurnFailed(failure, _) => {
                page.line("# The turn failed");
                page.text(&failure.message);
                if let Some(details) = &failure.details {
                    page.section("Details");
                    page.text(details);
                }
            }
            _ => return false,
        }
        true
    }
}

#[derive(Default)]
struct Page {
    lines: Vec<String>,
}

impl Page {
    fn drawing(self) -> Drawing {
        let mut patch = Patch::default();
        let colour = |(row, line): (usize, &String)| {
            Some(Mark { row, start: 0, end: line.len(), group: patch.group(line)? })
        };
        let marks = self.lines.iter().enumerate().filter_map(colour).collect();
        let mut drawing = Drawing { lines: self.lines, marks, ..Drawing::default() };
        drawing.show_all();
        drawing
    }

    fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn section(&mut self, title: &str) {
        self.line("");
        self.line(format!("## {title}"));
    }

    fn text(&mut self, text: &str) {
        let (lines, more) = beginning(text, LINES, BYTES);
        self.lines.extend(lines.into_iter().map(str::to_owned));
        self.left_out(more);
    }

    fn left_out(&mut self, more: usize) {
        if more > 0 {
            self.line(format!("({} more lines; :Acp export writes them down)", grouped(more as u64)));
        }
    }

    fn fenced(&mut self, language: &str, text: &str) {
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        self.line(format!("{fence}{language}"));
        self.text(text.trim_end_matches('\n'));
        self.line(fence);
    }

    fn tail(&mut self, tail: Option<&Tail>) {
        let Some(tail) = tail.filter(|tail| !tail.lines.is_empty()) else { return };
        let before = tail.total.saturating_sub(tail.lines.len());
        if before > 0 {
            self.line(format!("Its last lines, after {before} others:"));
        }
        self.fenced("", &tail.lines.join("\n"));
    }

    fn diff(&mut self, call: &ToolCall, diff: &FileDiff) {
        let path = call.relative(&diff.path).display().to_string();
        let old = diff.old_text.as_deref().unwrap_or_default();
        self.fenced("diff", &unified(old, &diff.new_text, &path));
    }

    fn json(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.fenced("", text),
            // It was read from JSON, so it can be written as such.
            value => self.fenced("json", &format!("{value:#}")),
        }
    }
}

fn call_details(page: &mut Page, call: &ToolCall, tail: &dyn Fn(&TerminalId) -> Option<Tail>) {
    let headline = call.headline();
    page.line(format!("# {}", cut_end(&headline, TITLE)));
    let status = match call.status {
        Status::Pending => "pending",
        Status::Waiting => "waits for you",
        Status::Running => "running",
        Status::Done if call.was_rejected => "rejected; the agent says that it is completed",
        Status::Done => "done",
        Status::Failed => "failed",
        Status::Rejected => "rejected",
        Status::Cancelled => "cancelled",
        Status::Stopping => "stopping",
        Status::Unreported => "its turn ended without a result",
    };
    let mut facts = vec![kind_word(call.kind).to_owned(), status.to_owned()];
    facts.extend(call.exit_words());
    facts.extend(time(call, tail).map(seconds));
    facts.extend(call.name.as_ref().map(|name| format!("tool {name}")));
    facts.extend((!call.is_command_alone).then(|| format!("id {}", call.id.0)));
    page.line(facts.join(" · "));
    if let Some(answer) = &call.answer {
        page.line(format!("You answered: {}", one_line(&answer.label)));
    }
    for words in call.conflict_words() {
        page.line(one_line(&words));
    }
    if headline.chars().nth(TITLE).is_some() && !call.title.contains(&headline) {
        page.text(&headline);
    }
    if !call.title.is_empty() && (call.title != headline || headline.chars().nth(TITLE).is_some()) {
        page.section("Title");
        page.text(&call.title);
    }
    let places = call.places();
    if !places.is_empty() {
        page.section("Places");
        for location in places.iter().take(LINES) {
            let line = location.line.map(|line| format!(":{line}")).unwrap_or_default();
            page.line(format!("- {}{line}", call.relative(&location.path).display()));
        }
    }
    let ruling = rules::in_words(call);
    if !ruling.is_empty() {
        page.section("What your rules say");
        ruling.into_iter().for_each(|line| page.line(line));
    }
    if let Some(input) = call.raw_input.as_ref().filter(|_| !call.is_command_alone) {
        page.section("Input");
        page.json(input);
    }
    if !call.content.is_empty() || !call.input_diffs().is_empty() {
        page.section("Content");
    }
    call.input_diffs().iter().for_each(|diff| page.diff(call, diff));
    for content in &call.content {
        match content {
            ToolContent::Content(Content::Resource { body: ResourceBody::Text(text), .. }) => {
                page.fenced("", text);
            }
            ToolContent::Content(content) => page.text(&as_markdown(content)),
            ToolContent::Diff(diff) => page.diff(call, diff),
            ToolContent::Terminal(terminal) => {
                page.line("(a terminal)");
                page.tail(tail(terminal).as_ref());
            }
        }
    }
    for tail in tails_not_shown(call, tail) {
        page.section("Terminal");
        page.tail(Some(&tail));
    }
    if let Some(output) = &call.raw_output {
        page.section("Output");
        page.json(output);
    }
}

fn unified(old: &str, new: &str, path: &str) -> String {
    if old.len() + new.len() > super::call::COMPARED {
        return new.to_owned();
    }
    similar::TextDiff::from_lines(old, new).unified_diff().header(path, path).to_string()
}

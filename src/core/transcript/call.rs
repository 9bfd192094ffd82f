//! What one tool call looks like: a line with its mark, what it does, what it is about and what it cost,
//! and below it what the user should see now or has opened. Collapsed calls are left to `summary`.

use std::path::Path;

use super::bounds::beginning;
use super::drawing::{Drawing, Mark, Style, Tail, Target};
use super::patch::{ADDED, Patch, REMOVED};
use super::wording::{seconds, status_mark};
use super::{ansi_spans, choices, clean_lines, rules};
use crate::core::ids::TerminalId;
use crate::core::message::{Content, FileDiff, Location, ResourceBody, ToolContent, ToolKind};
use crate::core::session::as_markdown;
use crate::core::session::tool_call::{ASKED, Status, ToolCall, lines_of};
use crate::core::terminal::screen::Screen;
use crate::core::text::fitting::cut_middle;
use crate::core::text::{cells, one_line};

pub fn draw(
    drawing: &mut Drawing,
    call: &ToolCall,
    open: bool,
    style: &Style,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
) {
    let status = call.shown_status();
    let (mark, group) = status_mark(status, style.icons);
    let row = drawing.lines.len();
    let whole = call.headline();
    let room = style.width.saturating_sub(mark.chars().count() + 3);
    // The title has half of the line at least, or what it needs of that.
    let facts =
        tool_facts(call, time(call, tail), room.saturating_sub(whole.chars().count().min(room / 2) + 2));
    let taken = facts.as_ref().map_or(0, |facts| cells(facts) + 2);
    let title = cut_middle(&whole, room.saturating_sub(taken).max(SHORTEST_TITLE));
    drawing.marks.push(Mark { row, start: 0, end: mark.len(), group });
    let is_loud = matches!(status, Status::Waiting | Status::Failed);
    drawing.marks.push(Mark {
        row,
        start: mark.len() + 1,
        end: mark.len() + 1 + title.len(),
        group: if is_loud { group } else { "AcpTool" },
    });
    drawing.lines.push(format!("{mark} {title}"));
    drawing.framed(if is_loud { group } else { "AcpMeta" });
    if let Some(right) = facts {
        drawing.right.push((row, right));
    }
    if call.waits_at_limit() {
        rules::draw_held(drawing, call);
    } else if call.status == Status::Waiting || !call.choices.is_empty() {
        if call.is_long {
            // Before what is long.
            drawing.hint(format!("    {}", style.hints.long_question()));
        }
        if title != whole {
            // Nobody should allow what they cannot read to its end.
            let more = match call.command() {
                Some(_) => drawing.command(&whole, style.width),
                None => drawing.beginning(&whole, "    ", None),
            };
            drawing.left_out(more, "    ", &style.hints);
        }
        if !open {
            draw_asked(drawing, call, style);
        }
        rules::draw_asked(drawing, call);
        let what = match call.kind {
            ToolKind::Edit => "Allow this edit?",
            ToolKind::Execute => "Allow this command?",
            ToolKind::Delete => "Allow this deletion?",
            _ => "Allow this?",
        };
        choices::draw(drawing, what, &call.choices, ":Acp allow   :Acp reject", style);
    }
    rules::draw_decided(drawing, call, open);
    let any = draw_content(drawing, call, open, style, tail);
    if open {
        draw_rest(drawing, call, any, style);
    }
}

/// Of a title so many cells are shown, also beside facts that leave it less room.
const SHORTEST_TITLE: usize = 4;

/// What the call has to show, as far as it is open; whether that is anything.
fn draw_content(
    drawing: &mut Drawing,
    call: &ToolCall,
    open: bool,
    style: &Style,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
) -> bool {
    let failed = call.shown_status() == Status::Failed;
    // Agents that run commands without a terminal show what they put out as the call's text.
    let live = call.kind == ToolKind::Execute && matches!(call.status, Status::Pending | Status::Running);
    let (mut any, mut said) = (false, false);
    for content in &call.content {
        match content {
            ToolContent::Content(Content::Text(text)) if live && !open => {
                draw_tail(drawing, &live_tail(text), false, &style.hints.lines());
                any = true;
            }
            ToolContent::Content(Content::Picture(picture)) => {
                drawing.picture(picture, "    ");
                any = true;
            }
            ToolContent::Content(content) if open || failed => {
                let text = match content {
                    Content::Resource { body: ResourceBody::Text(text), .. } => text.clone(),
                    other => as_markdown(other),
                };
                draw_output(drawing, &text, open, style);
                said = true;
                any = true;
            }
            ToolContent::Diff(diff) if open => {
                draw_diff(drawing, call.relative(&diff.path), diff, style);
                any = true;
            }
            ToolContent::Terminal(terminal) => {
                if let Some(mut tail) = tail(terminal) {
                    // Nobody may have said how the command itself ended.
                    tail.failed |= failed && !tail.running;
                    draw_tail(drawing, &tail, open, &style.hints.terminal());
                    said |= !tail.lines.is_empty();
                    any = true;
                }
            }
            ToolContent::Content(_) | ToolContent::Diff(_) => {}
        }
    }
    for mut tail in tails_not_shown(call, tail) {
        tail.failed |= failed && !tail.running;
        draw_tail(drawing, &tail, open, &style.hints.terminal());
        said |= !tail.lines.is_empty();
        any = true;
    }
    if open {
        for diff in call.input_diffs() {
            draw_diff(drawing, call.relative(&diff.path), diff, style);
            any = true;
        }
    }
    let output = match (failed && !said, open && !any) {
        (true, _) => call.reason(),
        (false, true) => call.output(),
        (false, false) => None,
    };
    if let Some(output) = output {
        draw_output(drawing, &output, open, style);
        any = true;
    }
    any
}

/// The last lines of the terminals that a call's content does not show, or shows no more, unless its text has them.
pub(super) fn tails_not_shown(call: &ToolCall, tail: &dyn Fn(&TerminalId) -> Option<Tail>) -> Vec<Tail> {
    let has = |tail: &Tail| {
        let lines = tail.lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        let last: Vec<&str> = lines.rev().take(LIVE_LINES).collect();
        let says = |content: &ToolContent| match content {
            ToolContent::Content(Content::Text(text)) => {
                let from = (text.len().saturating_sub(OUTPUT)..).find(|at| text.is_char_boundary(*at));
                let end = &text[from.unwrap_or(0)..];
                last.iter().all(|line| end.contains(line))
            }
            _ => false,
        };
        call.content.iter().any(says)
    };
    call.terminals_not_shown().filter_map(tail).filter(|tail| tail.running || !has(tail)).collect()
}

/// What is asked about, where neither the title nor a diff shows it: it is to be read without a key.
fn draw_asked(drawing: &mut Drawing, call: &ToolCall, style: &Style) {
    call.asked_texts().into_iter().for_each(|text| draw_output(drawing, text, false, style));
    let lines = call.asked_input();
    if !lines.is_empty() {
        draw_lines(drawing, &lines.join("\n"), ASKED, &style.hints.open(), Patch::default());
    }
}

/// What only an opened call shows: its input, if it has nothing else, and its locations.
fn draw_rest(drawing: &mut Drawing, call: &ToolCall, any: bool, style: &Style) {
    if !any && let Some(input) = &call.raw_input {
        draw_lines(drawing, &pretty(input), SHOWN, &style.hints.all_of_it(), Patch::default());
    }
    // A diff has its path above it, and goes to its lines.
    let files: Vec<&Path> = call.diffs().map(|diff| &*diff.path).collect();
    let places: Vec<Location> = call.places();
    let is_new =
        |place: &&Location| !files.iter().any(|file| call.root.join(file) == call.root.join(&place.path));
    let places: Vec<&Location> = places.iter().filter(is_new).collect();
    for location in places.iter().take(PLACES) {
        let line = location.line.map(|line| format!(":{line}")).unwrap_or_default();
        let path = call.relative(&location.path).display();
        drawing.targets.push(Target {
            row: drawing.lines.len(),
            path: location.path.clone(),
            line: location.line,
            text: None,
        });
        drawing.line(format!("    {path}{line}"), Some("AcpMeta"));
    }
    drawing.left_out(places.len().saturating_sub(PLACES), "    ", &style.hints);
}

/// What a call put out as text: its beginning, unless the user opened it.
fn draw_output(drawing: &mut Drawing, text: &str, open: bool, style: &Style) {
    let whole = text.trim_end().trim_start_matches(['\r', '\n']);
    let text = without_fence(whole);
    let (limit, more) = if open { (SHOWN, style.hints.all_of_it()) } else { (5, style.hints.open()) };
    if text.contains('\u{1b}') {
        return draw_coloured(drawing, text, limit, &more);
    }
    let mut patch = Patch::default();
    if text.len() < whole.len() {
        // Its first line may say that it is a diff.
        let _ = patch.group(whole.lines().next().unwrap_or_default());
    }
    draw_lines(drawing, text, limit, &more, patch);
}

/// The most of a text whose colours are looked for.
const COLOURED: usize = 64 << 10;

/// The beginning of a text that a command has put out in colours.
fn draw_coloured(drawing: &mut Drawing, text: &str, limit: usize, more: &str) {
    let end = (0..=COLOURED.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let mut screen = Screen::new(SHOWN);
    screen.feed(text[..end].replace('\n', "\r\n").as_bytes());
    let lines = screen.tail(SHOWN);
    let count = clean_lines(text).count().max(lines.len());
    let limit = if count == limit + 1 { count } else { limit };
    for line in lines.iter().take(limit) {
        ansi_spans::draw(drawing, &line.text, &line.spans);
    }
    let shown = lines.len().min(limit);
    if count > shown {
        drawing.hint(format!("    ({} more lines{more})", count - shown));
    }
}

fn draw_lines(drawing: &mut Drawing, text: &str, limit: usize, more: &str, mut patch: Patch) {
    // One line is not hidden behind another that says so.
    let (lines, left) = match beginning(text, limit, OUTPUT) {
        (_, 1) => beginning(text, limit + 1, OUTPUT),
        shown => shown,
    };
    for line in lines {
        let group = patch.group(line).unwrap_or("AcpMeta");
        drawing.line(format!("    {line}"), Some(group));
    }
    if left > 0 {
        drawing.hint(format!("    ({left} more lines{more})"));
    }
}

/// The inside of a text that is one fenced block of Markdown: a call's output is shown as it is.
pub(super) fn without_fence(text: &str) -> &str {
    let fence = &text[..text.len() - text.trim_start_matches('`').len()];
    let inside = text.split_once('\n').and_then(|(_, rest)| rest.strip_suffix(fence)?.strip_suffix('\n'));
    match inside {
        Some(inside) if fence.len() >= 3 && !inside.lines().any(|line| line.starts_with(fence)) => inside,
        _ => text,
    }
}

/// How many of the last lines stand under a command that runs.
const LIVE_LINES: usize = 3;
/// How much of the end of a text is looked at for them.
pub(super) const LIVE_TEXT: usize = 4096;

/// What a command has put out so far, where that comes as text, in a block of code or not.
fn live_tail(text: &str) -> Tail {
    let mut text = text.trim_end();
    if text.starts_with("```") {
        text = text.split_once('\n').map_or("", |(_, inside)| inside);
        text = text.strip_suffix("```").unwrap_or(text).trim_end();
    }
    let end = (text.len().saturating_sub(LIVE_TEXT)..=text.len()).find(|at| text.is_char_boundary(*at));
    let mut screen = Screen::new(LIVE_LINES);
    // A terminal's line feed alone leaves the column as it is.
    screen.feed(text[end.unwrap_or(0)..].replace('\n', "\r\n").as_bytes());
    let (lines, spans) = screen.tail(LIVE_LINES).into_iter().map(|line| (line.text, line.spans)).unzip();
    Tail {
        lines,
        spans,
        total: text.lines().count().max(screen.count()),
        running: true,
        failed: false,
        took: None,
    }
}

fn draw_tail(drawing: &mut Drawing, tail: &Tail, open: bool, more: &str) {
    let shown = match (open, tail.running, tail.failed) {
        (true, ..) => tail.lines.len(),
        (false, true, _) => LIVE_LINES,
        (false, false, true) => 5,
        (false, false, false) => 0,
    };
    let from = tail.lines.len().saturating_sub(shown);
    for (index, line) in tail.lines.iter().enumerate().skip(from) {
        ansi_spans::draw(drawing, line, tail.spans.get(index).map_or(&[], Vec::as_slice));
    }
    let hidden = tail.total.saturating_sub(tail.lines.len() - from);
    if hidden > 0 && shown > 0 {
        drawing.hint(format!("    ({} lines in all{more})", tail.total));
    }
}

/// Bigger files are not compared on the editor's thread, which is in the middle of drawing.
pub(super) const COMPARED: usize = crate::core::session::tool_call::COMPARED;
/// More lines or bytes of one thing are not put under a call; `K` shows all of it.
const SHOWN: usize = 1000;
const OUTPUT: usize = 64 << 10;
/// Of the places that a call names.
const PLACES: usize = 100;

fn draw_diff(drawing: &mut Drawing, path: &Path, diff: &FileDiff, style: &Style) {
    let target = |row, line: usize, text: Option<&str>| Target {
        row,
        path: diff.path.clone(),
        line: u32::try_from(line + 1).ok(),
        text: text.map(str::to_owned),
    };
    drawing.targets.push(target(drawing.lines.len(), 0, None));
    drawing.line(format!("    {}", path.display()), Some("AcpMeta"));
    let old = diff.old_text.as_deref().unwrap_or_default();
    if old.len() + diff.new_text.len() > COMPARED {
        drawing.hint(format!("    (too big to compare in here{})", style.hints.all_of_it()));
        return;
    }
    let first = drawing.lines.len();
    let (old, new) = (lines_of(old), lines_of(&diff.new_text));
    let changes = similar::TextDiff::from_slices(&old, &new);
    let groups = changes.grouped_ops(1);
    for (number, group) in groups.iter().enumerate() {
        if number > 0 {
            drawing.line("      …", Some("AcpMeta"));
        }
        let mut new = 0;
        for change in group.iter().flat_map(|op| changes.iter_changes(op)) {
            let (sign, group) = match change.tag() {
                similar::ChangeTag::Delete => ("-", REMOVED),
                similar::ChangeTag::Insert => ("+", ADDED),
                similar::ChangeTag::Equal => (" ", "AcpMeta"),
            };
            if drawing.lines.len() - first >= SHOWN {
                let more = style.hints.all_of_it();
                drawing.hint(format!("    (more than can be shown in here{more})"));
                return;
            }
            new = change.new_index().map_or(new, |index| index + 1);
            let line = change.value().trim_end_matches(['\n', '\r']);
            let at = change.new_index().unwrap_or(new);
            drawing.targets.push(target(drawing.lines.len(), at, Some(line)));
            drawing.line(format!("    {sign} {line}"), Some(group));
        }
    }
}

/// How long it took, once it is over: the time of its one command is what the bar above that says, too.
pub(super) fn time(call: &ToolCall, tail: &dyn Fn(&TerminalId) -> Option<Tail>) -> Option<u64> {
    let took = call.took()?;
    let mut terminals = call.terminals();
    let only = terminals.next().filter(|_| terminals.next().is_none());
    Some(only.and_then(tail).and_then(|tail| tail.took).unwrap_or(took))
}

/// Counts and time, at the right edge. What has no room is left out: first a file's name, then the time, then what it
/// changed; how it ended stays.
fn tool_facts(call: &ToolCall, time: Option<u64>, room: usize) -> Option<String> {
    let time = time.filter(|time| *time >= 1000).map(seconds);
    let changed = call.changed_words().map(|words| one_line(&words));
    let counted = changed.is_some().then(|| match call.changed.len() {
        1 => "1 file".to_owned(),
        files => format!("{files} files"),
    });
    let variants = [(&changed, &time), (&counted, &time), (&counted, &None), (&None, &None)];
    let mut variants = variants.map(|(changed, time)| facts_with(call, changed.as_deref(), time.as_deref()));
    let fitting = variants.iter().position(|facts| facts.chars().count() <= room);
    let facts = std::mem::take(&mut variants[fitting.unwrap_or(variants.len() - 1)]);
    (!facts.is_empty()).then_some(facts)
}

fn facts_with(call: &ToolCall, changed: Option<&str>, time: Option<&str>) -> String {
    let mut facts = Vec::new();
    let (added, removed) = call.counted.unwrap_or_default();
    if added + removed > 0 && !call.is_kept_out() {
        facts.push(format!("+{added} -{removed}"));
    }
    facts.extend(changed.map(str::to_owned));
    match call.status {
        Status::Rejected => facts.push("rejected".into()),
        Status::Cancelled => facts.push("cancelled".into()),
        Status::Stopping => facts.push("stopping".into()),
        Status::Failed => facts.push(call.exit_words().unwrap_or_else(|| "failed".into())),
        Status::Unreported => facts.push("no result".into()),
        Status::Done if call.was_rejected => facts.push("rejected".into()),
        Status::Done => facts.extend(call.exit_words()),
        Status::Pending | Status::Waiting | Status::Running => {}
    }
    facts.extend(time.map(str::to_owned));
    facts.join(" · ")
}

pub(super) fn pretty(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    }
}

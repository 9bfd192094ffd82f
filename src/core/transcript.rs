//! What an entry looks like as lines. A pure function of the entry, of the one before it, and of a
//! few options; putting the lines into a buffer is left to the editor's side. Screens say the same
//! with icons off: words come first.

mod coloured;
mod elicitation;

use std::ops::Range;
use std::path::Path;

use crate::core::entry::{Body, Entry, Greeting};
use crate::core::message::{
    AuthKind, Content, Failure, FailureKind, FileDiff, PlanItem, PlanStatus, ResourceBody, Severity,
    StopReason, TerminalId, ToolContent, ToolKind, TurnUsage,
};
use crate::core::screen::{Screen, Span};
use crate::core::session::as_markdown;
use crate::core::text::one_line;
use crate::core::tool_call::{Status, ToolCall, kind_word};

/// How to draw.
#[derive(Clone, Debug)]
pub struct Style {
    pub icons: bool,
    /// The width of the window in cells; titles are cut to it.
    pub width: usize,
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
    /// Never empty.
    pub lines: Vec<String>,
    pub marks: Vec<Mark>,
    /// Virtual text at the right edge.
    pub right: Vec<(usize, String)>,
    /// The rows that are Markdown.
    pub markdown: Option<Range<usize>>,
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

    fn indented(&mut self, text: &str, indent: &str, group: Option<&'static str>) {
        for line in clean_lines(text) {
            self.line(if line.is_empty() { String::new() } else { format!("{indent}{line}") }, group);
        }
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
        Body::Greeting(greeting) => draw_greeting(&mut drawing, greeting),
        Body::User { text, attachments } => {
            if entry.refused {
                drawing.right.push((drawing.lines.len(), "refused, no longer in the context".to_owned()));
            }
            drawing.line("You", Some("AcpUser"));
            drawing.markdown = Some(drawing.lines.len()..drawing.lines.len());
            for line in clean_lines(text.trim_end()) {
                drawing.line(line, entry.refused.then_some("AcpMeta"));
            }
            drawing.markdown = drawing.markdown.map(|rows| rows.start..drawing.lines.len());
            for attachment in attachments {
                drawing.line(format!("+ {attachment}"), Some("AcpMeta"));
            }
        }
        Body::Speaker(name) => {
            drawing.line(name.clone(), Some("AcpAgent"));
        }
        Body::Message { text } => {
            let first = drawing.lines.len();
            drawing.lines.extend(clean_lines(text.trim_end_matches(['\n', '\r'])).map(str::to_owned));
            drawing.markdown = Some(first..drawing.lines.len());
        }
        Body::Thought { text, ended } => draw_thought(&mut drawing, entry, text, ended.is_some(), style),
        Body::Tool(call) => draw_tool(&mut drawing, call, entry.open, style, tail),
        Body::Elicitation(asked) => elicitation::draw(&mut drawing, asked, entry.open, style),
        Body::Plan(items) => draw_plan(&mut drawing, items, style),
        Body::Notice { severity, text } => {
            let (word, group) = match severity {
                Severity::Info => ("Note: ", "AcpMeta"),
                Severity::Warning => ("Warning: ", "AcpToolWaiting"),
                Severity::Error => ("Error: ", "AcpError"),
            };
            let mut lines = clean_lines(text);
            drawing.line(format!("{word}{}", lines.next().unwrap_or_default()), Some(group));
            for line in lines {
                drawing.line(line, Some("AcpMeta"));
            }
        }
        Body::Compaction { status, summary, error } => {
            let text = match (status.as_str(), error) {
                (_, Some(error)) => format!("Could not make the conversation shorter: {error}"),
                ("completed", None) => "The agent made the conversation shorter".to_owned(),
                ("failed" | "cancelled", None) => format!("Making the conversation shorter: {status}"),
                _ => "The agent is making the conversation shorter …".to_owned(),
            };
            drawing.line(text, Some("AcpMeta"));
            if entry.open && !summary.is_empty() {
                drawing.indented(summary, "  ", Some("AcpThought"));
            }
        }
        Body::Stop { reason, silent, took, usage } => {
            draw_stop(&mut drawing, reason, *silent, *took, usage.as_ref());
        }
        Body::TurnFailed(failure) => {
            drawing.line(format!("The turn failed: {}", readable(&failure.message)), Some("AcpError"));
            drawing.line(advice(failure), Some("AcpMeta"));
        }
    }
    for line in &mut drawing.lines {
        // A name or a path of the agent's may have them; a line of a buffer may not.
        if line.contains('\n') {
            *line = line.replace('\n', " ");
        }
    }
    drawing
}

fn draw_greeting(drawing: &mut Drawing, greeting: &Greeting) {
    match greeting {
        Greeting::Connecting { name, command } => {
            drawing.line(format!("Starting {name} …"), Some("AcpAgent"));
            drawing.line(command.clone(), Some("AcpMeta"));
            if command.starts_with("npx ") {
                drawing.line("The first start downloads the agent and may take a minute.", Some("AcpMeta"));
            }
            drawing.line("You can type already; <C-c> stops it.", Some("AcpMeta"));
        }
        Greeting::Opening { title } => {
            drawing.line(format!("{title} is opening a session …"), Some("AcpAgent"));
            drawing.line("You can type already; <C-c> stops it.", Some("AcpMeta"));
        }
        Greeting::Ready { title, version } => {
            let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
            drawing.line(format!("{title}{version}"), Some("AcpAgent"));
            drawing.line(
                "Ask for a change, ask about the code, or type / and <C-x><C-o> for its commands.",
                Some("AcpMeta"),
            );
            drawing.line("<C-s> or <CR> sends · <C-c> stops · g? shows all keys", Some("AcpMeta"));
        }
        Greeting::LoginNeeded { title, methods, message } => {
            drawing.line(format!("{title} wants you to log in"), Some("AcpToolWaiting"));
            if !message.is_empty() {
                drawing.line(one_line(message), Some("AcpMeta"));
            }
            for method in methods {
                let how = match &method.kind {
                    AuthKind::Agent => "",
                    AuthKind::Terminal { .. } => " (in a terminal)",
                    AuthKind::Unsupported(_) => " (this client cannot do it)",
                };
                let description = method
                    .description
                    .as_ref()
                    .map(|text| format!(": {}", one_line(text)))
                    .unwrap_or_default();
                drawing.line(format!("  {}{how}{description}", one_line(&method.name)), None);
            }
            drawing.line(
                ":Acp login starts it · or log in with the agent's own program, then press R",
                Some("AcpMeta"),
            );
        }
        Greeting::Failed { name, failure, stderr } => {
            let text = match failure.kind {
                FailureKind::Spawn => one_line(&failure.message),
                _ => format!("couldn't start {name}: {}", one_line(&failure.message)),
            };
            drawing.line(capitalized(&text), Some("AcpError"));
            draw_stderr(drawing, stderr);
            drawing.line(
                "R starts it again · :Acp log shows the messages · :checkhealth acp looks for causes",
                Some("AcpMeta"),
            );
        }
        Greeting::Stopped { name } => {
            drawing.line(format!("Starting {name} was stopped"), Some("AcpMeta"));
            drawing.line("R starts it again", Some("AcpMeta"));
        }
        Greeting::Gone { name, what, stderr, expected } => {
            let group = if *expected { "AcpMeta" } else { "AcpError" };
            drawing.line(format!("{name} {}", one_line(what)), Some(group));
            if !expected {
                draw_stderr(drawing, stderr);
            }
            drawing.line("R starts it again with a new session; what stands here stays", Some("AcpMeta"));
        }
    }
}

fn draw_stderr(drawing: &mut Drawing, stderr: &[String]) {
    if stderr.is_empty() {
        return;
    }
    drawing.line("Its last words:", Some("AcpMeta"));
    for line in stderr {
        drawing.line(format!("  {}", line.trim_end()), Some("AcpMeta"));
    }
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
    drawing.line(line, Some("AcpThought"));
    if entry.open {
        drawing.indented(text.trim_end(), "  ", Some("AcpThought"));
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
    };
    (if icons { icon } else { word }, group)
}

fn draw_tool(
    drawing: &mut Drawing,
    call: &ToolCall,
    open: bool,
    style: &Style,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
) {
    let (mark, group) = status_mark(call.status, style.icons);
    let row = drawing.lines.len();
    let facts = tool_facts(call);
    let room = facts.as_ref().map_or(0, |facts| facts.chars().count() + 2) + mark.chars().count() + 3;
    let whole = titled(call);
    let title = cut_middle(&whole, style.width.saturating_sub(room).max(12));
    drawing.marks.push(Mark { row, start: 0, end: mark.len(), group });
    if call.status == Status::Waiting || call.status == Status::Failed {
        drawing.marks.push(Mark { row, start: mark.len() + 1, end: mark.len() + 1 + title.len(), group });
    } else {
        drawing.marks.push(Mark {
            row,
            start: mark.len() + 1,
            end: mark.len() + 1 + title.len(),
            group: "AcpTool",
        });
    }
    drawing.lines.push(format!("{mark} {title}"));
    if let Some(right) = facts {
        drawing.right.push((row, right));
    }
    if call.status == Status::Waiting {
        if title != whole {
            // Nobody should allow what they cannot read to its end.
            drawing.line(format!("    {whole}"), None);
        }
        let what = match call.kind {
            ToolKind::Edit => "Allow this edit?",
            ToolKind::Execute => "Allow this command?",
            ToolKind::Delete => "Allow this deletion?",
            _ => "Allow this?",
        };
        drawing.line(format!("    {what}   :Acp allow   :Acp reject"), Some("AcpToolWaiting"));
    }
    let failed = call.status == Status::Failed;
    // Agents that run commands without a terminal show what they put out as the call's text.
    let live = call.kind == ToolKind::Execute && matches!(call.status, Status::Pending | Status::Running);
    let (mut any, mut said) = (false, false);
    for content in &call.content {
        match content {
            ToolContent::Content(Content::Text(text)) if live && !open => {
                draw_tail(drawing, &live_tail(text), false, "<Tab> shows them");
                any = true;
            }
            ToolContent::Content(content) if open || failed => {
                let text = match content {
                    Content::Resource { body: ResourceBody::Text(text), .. } => text.clone(),
                    other => as_markdown(other),
                };
                draw_output(drawing, &text, open);
                said = true;
                any = true;
            }
            ToolContent::Diff(diff) if open => {
                draw_diff(drawing, call.relative(&diff.path), diff);
                any = true;
            }
            ToolContent::Terminal(terminal) => {
                if let Some(tail) = tail(terminal) {
                    draw_tail(drawing, &tail, open, "<CR> shows the terminal");
                    any = true;
                }
            }
            ToolContent::Content(_) | ToolContent::Diff(_) => {}
        }
    }
    if failed
        && !said
        && let Some(reason) = call.reason()
    {
        draw_output(drawing, reason, open);
    }
    if open {
        if !any && let Some(input) = &call.raw_input {
            drawing.indented(&pretty(input), "    ", Some("AcpMeta"));
        }
        for location in &call.locations {
            let line = location.line.map(|line| format!(":{line}")).unwrap_or_default();
            let path = call.relative(&location.path).display();
            drawing.line(format!("    {path}{line}"), Some("AcpMeta"));
        }
    }
}

/// What a call put out as text: its beginning, unless the user opened it.
fn draw_output(drawing: &mut Drawing, text: &str, open: bool) {
    let text = without_fence(text.trim_end().trim_start_matches(['\r', '\n']));
    let lines: Vec<&str> = clean_lines(text).collect();
    // One line is not hidden behind another that says so.
    let limit = if open || lines.len() == 6 { usize::MAX } else { 5 };
    for line in lines.iter().take(limit) {
        drawing.line(format!("    {line}"), Some("AcpMeta"));
    }
    if lines.len() > limit {
        drawing.line(format!("    ({} more lines, <Tab>)", lines.len() - limit), Some("AcpMeta"));
    }
}

/// The inside of a text that is one fenced block of Markdown: a call's output is shown as it is.
fn without_fence(text: &str) -> &str {
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
const LIVE_TEXT: usize = 4096;

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
    Tail { lines, spans, total: text.lines().count().max(screen.count()), running: true, failed: false }
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
        coloured::draw(drawing, line, tail.spans.get(index).map_or(&[], Vec::as_slice));
    }
    let hidden = tail.total.saturating_sub(tail.lines.len() - from);
    if hidden > 0 && shown > 0 {
        drawing.line(format!("    ({} lines in all, {more})", tail.total), Some("AcpMeta"));
    }
}

fn draw_diff(drawing: &mut Drawing, path: &Path, diff: &FileDiff) {
    drawing.line(format!("    {}", path.display()), Some("AcpMeta"));
    let old = diff.old_text.as_deref().unwrap_or_default();
    let changes = similar::TextDiff::from_lines(old, diff.new_text.as_str());
    for group in changes.grouped_ops(1) {
        for op in group {
            for change in changes.iter_changes(&op) {
                let (sign, group) = match change.tag() {
                    similar::ChangeTag::Delete => ("-", "AcpDiffDelete"),
                    similar::ChangeTag::Insert => ("+", "AcpDiffAdd"),
                    similar::ChangeTag::Equal => (" ", "AcpMeta"),
                };
                let line = change.value().trim_end_matches(['\n', '\r']);
                drawing.line(format!("    {sign} {line}"), Some(group));
            }
        }
    }
}

/// Counts and time, at the right edge.
fn tool_facts(call: &ToolCall) -> Option<String> {
    let mut facts = Vec::new();
    let (added, removed) = call.diffs().map(count_lines).fold((0, 0), |(a, r), (x, y)| (a + x, r + y));
    if added + removed > 0 {
        facts.push(format!("+{added} -{removed}"));
    }
    match call.status {
        Status::Rejected => facts.push("rejected".into()),
        Status::Cancelled => facts.push("cancelled".into()),
        Status::Failed => facts.push("failed".into()),
        _ => {}
    }
    if let Some(ended) = call.ended
        && ended.since(call.started) >= 1000
    {
        facts.push(seconds(ended.since(call.started)));
    }
    (!facts.is_empty()).then(|| facts.join(" · "))
}

/// Lines that come and lines that go.
pub fn count_lines(diff: &FileDiff) -> (usize, usize) {
    let old = diff.old_text.as_deref().unwrap_or_default();
    if old.len() + diff.new_text.len() > 200_000 {
        // Counting is a courtesy; a big file is not compared on the editor's thread for it.
        return (0, 0);
    }
    let changes = similar::TextDiff::from_lines(old, diff.new_text.as_str());
    changes.iter_all_changes().fold((0, 0), |(added, removed), change| match change.tag() {
        similar::ChangeTag::Insert => (added + 1, removed),
        similar::ChangeTag::Delete => (added, removed + 1),
        similar::ChangeTag::Equal => (added, removed),
    })
}

/// Verb first: agents' titles may be a bare path or a bare command.
fn titled(call: &ToolCall) -> String {
    let title = call.headline();
    let verb = kind_word(call.kind);
    let starts_with_verb = title
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .is_some_and(|first| first.eq_ignore_ascii_case(verb.split(' ').next().unwrap_or(verb)));
    let names_a_deed = title.split_whitespace().next().is_some_and(|word| {
        let word = word.trim_end_matches(':');
        word.chars().next().is_some_and(char::is_uppercase) && word.chars().all(char::is_alphabetic)
    });
    if starts_with_verb || names_a_deed || call.kind == ToolKind::Other {
        title
    } else {
        format!("{verb} {title}")
    }
}

fn draw_plan(drawing: &mut Drawing, items: &[PlanItem], style: &Style) {
    let done = items.iter().filter(|item| item.status == PlanStatus::Completed).count();
    drawing.line(format!("Plan {done}/{}", items.len()), Some("AcpPlan"));
    for item in items {
        let (icon, word, group) = match item.status {
            PlanStatus::Pending => ("○", "[ ]", "AcpToolPending"),
            PlanStatus::InProgress => ("●", "[~]", "AcpToolRunning"),
            PlanStatus::Completed => ("✓", "[x]", "AcpToolDone"),
        };
        let mark = if style.icons { icon } else { word };
        let row = drawing.lines.len();
        drawing.marks.push(Mark { row, start: 2, end: 2 + mark.len(), group });
        drawing.lines.push(format!("  {mark} {}", one_line(&item.content)));
    }
}

fn draw_stop(drawing: &mut Drawing, reason: &StopReason, silent: bool, took: u64, usage: Option<&TurnUsage>) {
    let mut facts = vec![seconds(took)];
    if let Some(usage) = usage
        && usage.total > 0
    {
        facts.push(format!("{} tokens", grouped(usage.total)));
    }
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
    drawing.line(format!("{text} · {facts}"), Some(group));
}

/// A failure's message on one line. Many agents pass on the JSON that a model's service answered; what
/// there is to read in it is its message.
pub fn readable(message: &str) -> String {
    let said = message.find('{').and_then(|at| {
        let json: serde_json::Value = serde_json::from_str(&message[at..]).ok()?;
        let said = json["error"]["message"].as_str().or(json["message"].as_str())?;
        Some(format!("{}{said}", &message[..at]))
    });
    one_line(said.as_deref().unwrap_or(message))
}

/// What to do after a failure.
pub fn advice(failure: &Failure) -> String {
    match failure.kind {
        FailureKind::AuthRequired => ":Acp login logs in; then the prompt is sent again by itself".into(),
        FailureKind::Disconnected => "R starts the agent again".into(),
        FailureKind::Busy => "Wait a little, then send the prompt again".into(),
        FailureKind::Timeout => "Send the prompt again, or R starts the agent again".into(),
        _ => "The session goes on: send the prompt again, or :Acp log shows the messages".into(),
    }
}

fn pretty(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
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
        return text.to_owned();
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
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;

//! What works for a session, as a tree: a line for a subagent with its state, and what it says and does under it
//! when that is open. Folded, only what waits for the user is shown. What is in the tree is the session's word.

use super::drawing::{Drawing, Mark, Style, Tail};
use super::groups::{Role, role};
use super::summary::{self, Tally};
use super::wording::{grouped, price, seconds, status_mark};
use super::{INDENT, draw, indented};
use crate::core::ids::{EntryId, TerminalId};
use crate::core::message::{StopReason, SubagentState};
use crate::core::session::Session;
use crate::core::session::entry::{Body, Entry, Verdict};
use crate::core::session::subagent::{Relayed, Subagent};
use crate::core::session::tool_call::Status;
use crate::core::text::fitting::{cut_end, cut_middle};
use crate::core::text::one_line;

/// Of what a subagent has done the last part is shown in the chat.
const MOST_INNER: usize = 200;

/// So much of what one session said to another is shown until it is opened, and of why a subagent failed.
const FEW_LINES: usize = 4;

/// What it does now is looked for among its last entries.
const RECENT: usize = 50;

/// A tree in a tree is drawn down to here; nobody reads along deeper down.
const DEEPEST: usize = 8;

/// An entry with what stands under it. `before` is the one before it at its own place in the tree.
pub fn draw_tree(
    session: &Session,
    (before, id): (Option<EntryId>, EntryId),
    style: &Style,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
) -> Drawing {
    level(session, (before, id), style, tail, 0)
}

fn level(
    session: &Session,
    (before, id): (Option<EntryId>, EntryId),
    style: &Style,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
    depth: usize,
) -> Drawing {
    let Some(entry) = session.entry(id) else { return Drawing::default() };
    let before = before.and_then(|before| session.entry(before));
    let mut drawing = match &entry.body {
        Body::Subagent(subagent) => {
            let mut drawing = Drawing::default();
            if super::gap(before.map(|entry| &entry.body), &entry.body) {
                drawing.line("", None);
            }
            heading(&mut drawing, subagent, &Doing::of(session, id), style);
            drawing.bounded()
        }
        _ => draw(before, entry, style, tail),
    };
    let rows = drawing.lines.len();
    let inner = session.inner(id);
    if entry.tool().is_some() {
        say_calls(&mut drawing, count_calls(session, inner), style);
    }
    if depth < DEEPEST && !inner.is_empty() {
        let style = style.narrower(INDENT);
        let under = match entry.open {
            true => opened(session, inner, &style, tail, depth + 1),
            false => waiting(session, inner, &style, tail, depth + 1),
        };
        drawing.under(indented(under));
    }
    if rows < drawing.lines.len() || depth > 0 {
        drawing.inner.insert(0, (0..drawing.lines.len(), id));
    }
    drawing
}

/// How much a subagent has done that is told of as a call, in the call's line.
fn say_calls(drawing: &mut Drawing, calls: usize, style: &Style) {
    let (Some(calls), Some(row)) =
        (calls_in_words(calls), drawing.lines.iter().position(|line| !line.is_empty()))
    else {
        return;
    };
    let at = drawing.right.iter().position(|(beside, _)| *beside == row);
    let facts = at.map_or_else(|| calls.clone(), |at| format!("{calls} · {}", drawing.right[at].1));
    if drawing.has_room_beside(row, &facts, style) {
        match at {
            Some(at) => drawing.right[at].1 = facts,
            None => drawing.right.push((row, facts)),
        }
    }
}

fn count_calls(session: &Session, inner: &[EntryId]) -> usize {
    inner.iter().filter(|id| session.entry(**id).is_some_and(|entry| entry.tool().is_some())).count()
}

fn calls_in_words(calls: usize) -> Option<String> {
    match calls {
        0 => None,
        1 => Some("1 call".to_owned()),
        calls => Some(format!("{} calls", grouped(calls as u64))),
    }
}

/// What a subagent has said and done.
fn opened(
    session: &Session,
    inner: &[EntryId],
    style: &Style,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
    depth: usize,
) -> Drawing {
    let mut drawing = Drawing::default();
    let left_out = inner.len().saturating_sub(MOST_INNER);
    if left_out > 0 {
        drawing.hint(format!("({} before these{})", grouped(left_out as u64), style.hints.all_of_it()));
    }
    let shown = &inner[left_out..];
    let entry = |at: usize| shown.get(at).and_then(|id: &EntryId| session.entry(*id));
    let mut at = 0;
    while let Some(id) = shown.get(at) {
        let before = at.checked_sub(1).map(|before| shown[before]);
        let run = run_at(session, &shown[at..], tail);
        if run > 1 && entry(at).is_some_and(|entry| !entry.open) {
            let entries: Vec<&Entry> = (at..at + run).filter_map(entry).collect();
            let mut line = Drawing::default();
            summary::draw(&mut line, &Tally::of(entries.iter().copied()), style);
            line.inner.push((0..line.lines.len(), *id));
            drawing.under(line);
            at += run;
        } else {
            drawing.under(level(session, (before, *id), style, tail, depth));
            at += 1;
        }
    }
    drawing
}

/// How many entries from here on are calls that are done and have nothing to report.
fn run_at(session: &Session, entries: &[EntryId], tail: &dyn Fn(&TerminalId) -> Option<Tail>) -> usize {
    let role = |id: &EntryId| match session.entry(*id) {
        Some(entry) if session.inner(*id).is_empty() => role(entry, tail),
        _ => Role::Apart,
    };
    if entries.first().map(role) != Some(Role::Quiet) {
        return 0;
    }
    let roles: Vec<Role> = entries.iter().map(role).take_while(|role| *role != Role::Apart).collect();
    roles.iter().rposition(|role| *role == Role::Quiet).map_or(0, |last| last + 1)
}

/// What needs the user, also where nobody has opened it.
fn waiting(
    session: &Session,
    inner: &[EntryId],
    style: &Style,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
    depth: usize,
) -> Drawing {
    let mut drawing = Drawing::default();
    for id in inner.iter().copied().filter(|id| waits(session, *id, depth)) {
        drawing.under(level(session, (Some(id), id), style, tail, depth));
    }
    drawing
}

fn waits(session: &Session, id: EntryId, depth: usize) -> bool {
    let asks = session.entry(id).is_some_and(|entry| match &entry.body {
        Body::Tool(call) => call.status == Status::Waiting || !call.choices.is_empty(),
        Body::Elicitation(asked) => asked.verdict == Verdict::Open,
        _ => false,
    });
    asks || depth < DEEPEST && session.inner(id).iter().any(|id| waits(session, *id, depth + 1))
}

/// What a subagent does, for its line.
#[derive(Default)]
pub(super) struct Doing {
    now: Option<String>,
    calls: usize,
}

impl Doing {
    fn of(session: &Session, id: EntryId) -> Self {
        let inner = session.inner(id);
        let now = |id: &EntryId| match &session.entry(*id)?.body {
            Body::Tool(call) if !call.status.is_over() => Some(call.headline()),
            Body::Subagent(subagent) if subagent.is_working() => Some(subagent.name().to_owned()),
            _ => None,
        };
        Self { now: inner.iter().rev().take(RECENT).find_map(now), calls: count_calls(session, inner) }
    }
}

/// A subagent's line, and why it failed.
pub(super) fn heading(drawing: &mut Drawing, subagent: &Subagent, doing: &Doing, style: &Style) {
    let (status, word) = state(subagent);
    let (mark, group) = status_mark(status, style.icons);
    let role = subagent.role.as_deref().filter(|role| *role != subagent.name());
    let mut text = subagent.name().to_owned();
    text.extend(role.map(|role| format!(" ({role})")));
    if let Some(now) = doing.now.as_deref().filter(|_| subagent.is_working()) {
        text.push_str(&format!(" · {}", one_line(now)));
    }
    let facts = facts(subagent, word, doing);
    let room = style.width.saturating_sub(mark.chars().count() + 3 + facts.chars().count() + 2);
    let text = cut_end(&text, room.max(12));
    let row = drawing.lines.len();
    let start = mark.len() + 1;
    let is_loud = matches!(status, Status::Waiting | Status::Failed);
    drawing.marks.push(Mark { row, start: 0, end: mark.len(), group });
    drawing.marks.push(Mark {
        row,
        start,
        end: start + text.len(),
        group: if is_loud { group } else { "AcpTool" },
    });
    drawing.lines.push(format!("{mark} {text}"));
    drawing.framed(if is_loud { group } else { "AcpMeta" });
    if !facts.is_empty() {
        drawing.right.push((row, facts));
    }
    for line in subagent.failure().unwrap_or_default().lines().take(FEW_LINES) {
        drawing.line(format!("    {}", line.trim_end()), Some("AcpError"));
    }
}

/// How a subagent is: as a call's status, and in words where the mark doesn't say it all.
fn state(subagent: &Subagent) -> (Status, Option<String>) {
    let (status, word) = match &subagent.state {
        Some(SubagentState::Running) if subagent.cancelling => (Status::Running, Some("stopping")),
        Some(SubagentState::Running) => (Status::Running, None),
        Some(SubagentState::RequiresAction) => (Status::Waiting, Some("waits for you")),
        Some(SubagentState::Idle { .. }) if subagent.failure().is_some() => (Status::Failed, Some("failed")),
        Some(SubagentState::Idle { reason, .. }) => match reason {
            None | Some(StopReason::EndTurn) => (Status::Done, None),
            Some(StopReason::Cancelled) => (Status::Cancelled, Some("cancelled")),
            Some(StopReason::Refusal) => (Status::Failed, Some("refused")),
            Some(StopReason::MaxTokens) => (Status::Failed, Some("out of tokens")),
            Some(StopReason::MaxTurnRequests) => (Status::Failed, Some("out of requests")),
            Some(StopReason::Other(word)) => (Status::Unreported, Some(word.as_str())),
        },
        Some(SubagentState::Other(word)) => (Status::Unreported, Some(word.as_str())),
        Some(SubagentState::Unknown) | None => (Status::Unreported, Some("state unknown")),
    };
    (status, word.map(|word| cut_middle(&one_line(word), 40)))
}

/// What its line says, for a page of its own.
pub(super) fn in_words(subagent: &Subagent) -> String {
    let (status, word) = state(subagent);
    let word = word.or_else(|| {
        let plain = if status == Status::Running { "at work" } else { "done" };
        Some(plain.to_owned())
    });
    let role = subagent.role.clone().filter(|role| role != subagent.name());
    let facts = facts(subagent, word, &Doing::default());
    role.into_iter().chain([facts]).collect::<Vec<_>>().join(" · ")
}

/// The mark of how it ended, for a text without icons of its own.
pub(super) fn ended(subagent: &Subagent) -> &'static str {
    match state(subagent).0 {
        Status::Done => "✓",
        Status::Failed => "✗ failed:",
        Status::Cancelled => "⊘ cancelled:",
        Status::Unreported => "◌ state unknown:",
        _ => "…",
    }
}

fn facts(subagent: &Subagent, word: Option<String>, doing: &Doing) -> String {
    let calls = calls_in_words(doing.calls);
    let time = Some(subagent.took).filter(|took| *took >= 1000).map(seconds);
    let cost = subagent.cost.as_ref().map(price);
    let tokens = subagent.used.filter(|used| *used > 0 && cost.is_none());
    let tokens = tokens.map(|used| format!("{} tokens", grouped(used)));
    let facts = [word, calls, tokens, cost, time];
    facts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// What one session said to another.
pub(super) fn relayed(drawing: &mut Drawing, relayed: &Relayed, open: bool, style: &Style) {
    drawing.line(between(relayed), Some("AcpMeta")).framed("AcpMeta");
    let text = relayed.text.trim();
    if open {
        let more = drawing.beginning(text, "  ", None);
        return drawing.left_out(more, "  ", &style.hints);
    }
    let (lines, more) = super::bounds::beginning(text, FEW_LINES, super::bounds::MOST_BYTES);
    for line in lines {
        drawing.line(if line.is_empty() { String::new() } else { format!("  {line}") }, None);
    }
    if more > 0 {
        let lines = if more == 1 { "line" } else { "lines" };
        drawing.hint(format!("  ({} more {lines}{})", grouped(more as u64), style.hints.open()));
    }
}

/// Who said it to whom.
pub fn between(relayed: &Relayed) -> String {
    let name = |name: &String| cut_middle(&one_line(name), 60);
    match (relayed.from.as_ref().map(name), relayed.to.as_ref().map(name)) {
        (Some(from), Some(to)) => format!("{from} to {to}:"),
        (Some(from), None) => format!("{from}:"),
        (None, Some(to)) => format!("To {to}:"),
        (None, None) => "A message from outside:".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{Moment, SessionKey, SubagentId, ToolCallId};
    use crate::core::message::{
        Branch, Content, Cost, Opened, Place, SubagentPatch, ToolCallPatch, Update, WireStatus,
    };
    use crate::core::session::AgentRun;

    fn line(state: Option<SubagentState>, change: impl Fn(&mut Subagent)) -> String {
        let mut subagent = Subagent::new(SubagentId("a".into()));
        let patch = |state| SubagentPatch {
            title: Some(Some("Look".into())),
            description: Some(Some("worker".into())),
            state: Some(state),
            ..SubagentPatch::new("a")
        };
        subagent.patch(patch(Some(SubagentState::Running)), Moment(0));
        subagent.patch(patch(state), Moment(2500));
        change(&mut subagent);
        let mut drawing = Drawing::default();
        let style = Style { icons: true, width: 80, clock: None, hints: Default::default() };
        heading(&mut drawing, &subagent, &Doing::default(), &style);
        let right = drawing.right.iter().map(|(_, text)| text.as_str()).collect::<String>();
        format!("{} | {right}", drawing.lines.join(" / "))
    }

    #[test]
    fn a_call_that_is_a_subagents_says_how_much_that_did() {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("go".into())], Moment(0));
        let told = |id: &str, status, at| {
            let patch = ToolCallPatch {
                title: Some(format!("Call {id}")),
                status: Some(status),
                ..ToolCallPatch::new(id)
            };
            (Update::ToolCall(Box::new(patch)), Moment(at))
        };
        let branch = Branch::Call(ToolCallId("all".into()));
        let line = |session: &Session, width| {
            let found = session.entries().iter().position(|entry| entry.tool().is_some()).map(EntryId);
            let style = Style { icons: true, width, clock: None, hints: Default::default() };
            let drawing = draw_tree(session, (None, found.expect("a call")), &style, &|_| None);
            drawing.right.iter().map(|(row, text)| format!("{row}: {text}")).collect::<Vec<_>>()
        };
        let (update, at) = told("all", WireStatus::InProgress, 0);
        session.apply(update, at);
        assert!(line(&session, 80).is_empty());
        for (id, expected) in [("one", "1 call"), ("two", "2 calls")] {
            let (update, at) = told(id, WireStatus::Completed, 0);
            session.within(Some(&branch), |session| session.apply(update, at));
            assert!(line(&session, 80)[0].ends_with(expected), "{:?}", line(&session, 80));
        }
        let (update, at) = told("all", WireStatus::Completed, 1500);
        session.apply(update, at);
        assert!(line(&session, 80)[0].ends_with(": 2 calls · 1.5 s"), "{:?}", line(&session, 80));
        // Where there is no room, the title and the time are what stays.
        assert!(line(&session, 22)[0].ends_with(": 1.5 s"), "{:?}", line(&session, 22));
    }

    #[test]
    fn a_line_says_how_a_subagent_is() {
        let idle = |word: &str, error: Option<&str>| {
            let reason = match word {
                "end_turn" => StopReason::EndTurn,
                "cancelled" => StopReason::Cancelled,
                other => StopReason::Other(other.into()),
            };
            Some(SubagentState::Idle { reason: Some(reason), error: error.map(str::to_owned), usage: None })
        };
        let lines = [
            line(Some(SubagentState::Running), |_| {}),
            line(Some(SubagentState::RequiresAction), |_| {}),
            line(idle("end_turn", None), |_| {}),
            line(Some(SubagentState::Idle { reason: None, error: None, usage: None }), |_| {}),
            line(idle("cancelled", None), |_| {}),
            line(idle("error", Some("overloaded\nby far")), |_| {}),
            line(idle("end_turn", Some("")), |_| {}),
            line(Some(SubagentState::Unknown), |_| {}),
            line(None, |_| {}),
            line(Some(SubagentState::Other("paused".into())), |_| {}),
            line(idle("end_turn", None), |subagent| subagent.used = Some(12_345)),
            line(idle("end_turn", None), |subagent| {
                subagent.used = Some(12_345);
                subagent.cost = Some(Cost { amount: 0.25, currency: "USD".into() });
            }),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        ◐ Look (worker) | 2.5 s
        ● Look (worker) | waits for you · 2.5 s
        ✓ Look (worker) | 2.5 s
        ✓ Look (worker) | 2.5 s
        ⊘ Look (worker) | cancelled · 2.5 s
        ✗ Look (worker) /     overloaded /     by far | failed · 2.5 s
        ✗ Look (worker) /     the agent doesn't say why | failed · 2.5 s
        ◌ Look (worker) | state unknown · 2.5 s
        ◌ Look (worker) | state unknown · 2.5 s
        ◌ Look (worker) | paused · 2.5 s
        ✓ Look (worker) | 12,345 tokens · 2.5 s
        ✓ Look (worker) | $0.25 · 2.5 s
        ");
    }
}

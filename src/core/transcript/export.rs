//! A conversation as one Markdown text that can be saved and sent to others: prompts, answers, thoughts,
//! complete tool calls, plans. Nothing in it is folded or cut. Where it is written is left to the
//! editor's side.

mod contained;

use std::fmt::Write as _;
use std::ops::Range;

use similar::TextDiff;

use self::contained::contained;
use crate::core::ids::{EntryId, TerminalId};
use crate::core::message::image;
use crate::core::message::{Access, FileDiff, PlanItem, PlanStatus, ToolContent};
use crate::core::session::entry::{Body, Entry, Subject};
use crate::core::session::subagent::Subagent;
use crate::core::session::tool_call::{Status, ToolCall};
use crate::core::session::written_files::{Written, WrittenFile};
use crate::core::session::{Session, as_markdown};
use crate::core::text::one_line;
use crate::core::transcript::Tail;
use crate::core::transcript::call::tails_not_shown;
use crate::core::transcript::{compaction, document, elicitation, ending, subagents, used, written};

/// These entries of a session. All of them get a heading.
pub fn markdown(
    session: &Session,
    entries: Range<usize>,
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
) -> String {
    let mut out = String::new();
    if entries == (0..session.entries().len()) {
        let title = session.title.clone().or_else(|| session.first_prompt().map(one_line));
        let title = title.unwrap_or_else(|| "An empty session".to_owned());
        // A writing to a text cannot fail.
        let _ = writeln!(out, "# {}\n", one_line(&title));
        let _ = writeln!(out, "With {}, in `{}`.\n", session.name(), session.place.cwd.display());
    }
    let names = names(session);
    for id in entries.map(EntryId) {
        if session.entry(id).is_some_and(|entry| entry.parent.is_none()) {
            write_tree(&mut out, session, id, &names, tail);
        }
    }
    let mut out = out.trim_end().to_owned();
    out.push('\n');
    out
}

/// What stands under an entry.
pub fn inner(session: &Session, id: EntryId, tail: &dyn Fn(&TerminalId) -> Option<Tail>) -> String {
    let (mut out, names) = (String::new(), names(session));
    for id in session.inner(id) {
        write_tree(&mut out, session, *id, &names, tail);
    }
    out
}

/// Who speaks: what an agent says can't look like one of these headings.
fn names(session: &Session) -> Vec<&str> {
    let mut names = vec!["You"];
    names.extend(session.entries().iter().filter_map(|entry| match &entry.body {
        Body::Speaker(name) => Some(name.as_str()),
        _ => None,
    }));
    names.sort_unstable();
    names.dedup();
    names
}

/// An entry, and what stands under it as a quotation: it is no part of what the agent itself said.
fn write_tree(
    out: &mut String,
    session: &Session,
    id: EntryId,
    names: &[&str],
    tail: &dyn Fn(&TerminalId) -> Option<Tail>,
) {
    let Some(entry) = session.entry(id) else { return };
    write(out, entry, names, tail);
    let mut inner = String::new();
    session.inner(id).iter().for_each(|id| write_tree(&mut inner, session, *id, names, tail));
    if !inner.trim().is_empty() {
        out.push_str(&quoted(&inner));
        out.push_str("\n\n");
    }
}

fn subagent(subagent: &Subagent) -> String {
    let role = subagent.role.as_deref().filter(|role| *role != subagent.name());
    let role = role.map(|role| format!(" ({})", role.replace('*', "\\*"))).unwrap_or_default();
    let (mark, why) = match (subagents::ended(subagent), subagent.failure()) {
        (_, Some(why)) => ("✗ failed:", format!("\n\n{}", quoted(why))),
        (mark, None) => (mark, String::new()),
    };
    format!("**{mark} {}{role}**{why}", subagent.name().replace('*', "\\*"))
}

fn write(out: &mut String, entry: &Entry, names: &[&str], tail: &dyn Fn(&TerminalId) -> Option<Tail>) {
    let text = match &entry.body {
        Body::Greeting(_) => return,
        Body::User { text, attachments } => {
            let mut said = format!("## You\n\n{}", text.trim_end());
            for attachment in attachments {
                said.push_str(&format!("\n\n+ {attachment}"));
            }
            if entry.refused {
                said.push_str("\n\n> The agent refused this, and does not know of it any more.");
            }
            said
        }
        Body::Speaker(name) => format!("## {}", one_line(name)),
        Body::Message { text } => contained(text.trim_end(), names),
        Body::Thought { text, .. } => {
            format!(
                "<details>\n<summary>Thought</summary>\n\n{}\n\n</details>",
                contained(text.trim(), names)
            )
        }
        Body::Picture(picture) => quoted(&image::label(picture)),
        Body::Tool(call) => tool(call, names, tail),
        Body::Subagent(told) => subagent(told),
        Body::Relayed(relayed) => {
            format!("*{}*\n\n{}", subagents::between(relayed), contained(relayed.text.trim(), names))
        }
        Body::Elicitation(asked) => {
            let what = match &asked.subject {
                Subject::Form(_) => "asked",
                Subject::Page(_) => "wanted a page opened",
                Subject::Limit => "",
                Subject::Outside { command: Some(_), .. } => "asked to run a command in",
                Subject::Outside { access: Access::Read, .. } => "asked to read",
                Subject::Outside { access: Access::Wrote, .. } => "asked to write",
            };
            let asks = match &asked.subject {
                Subject::Limit => format!("{} {}", asked.asker, asked.message),
                _ => format!("{} {what}: {}", asked.asker, asked.message),
            };
            // Each of them a paragraph, or a renderer would make one of them.
            quoted(&[vec![asks], elicitation::in_words(asked)].concat().join("\n\n"))
        }
        Body::Plan(items) => plan(items),
        Body::Document(document) => {
            let text = document::text(document).map(|text| contained(text, names)).unwrap_or_default();
            format!("**{}**\n\n{text}", document::in_words(document).replace('*', "\\*"))
        }
        Body::Written(written) => list_of(written),
        Body::Notice { text, .. } => quoted(text),
        Body::Compaction(told) => quoted(&compaction::parts(told).join("\n\n")),
        Body::Stop { reason, silent, took, tokens, cost } => {
            let used = used(*took, tokens.as_ref(), cost.as_ref());
            quoted(&[vec![ending(reason, *silent).0], used].concat().join(" \u{b7} "))
        }
        Body::TurnFailed(failure, _) => quoted(&format!("Failed: {}", failure.message)),
    };
    if !text.trim().is_empty() {
        out.push_str(text.trim_end());
        out.push_str("\n\n");
    }
}

fn list_of(written: &Written) -> String {
    let line = |file: &WrittenFile| {
        let counts = written::counted([file]).map(|counts| format!(" ({counts})")).unwrap_or_default();
        format!("**✓ {} {}**{counts}", written::named(file).replace('*', "\\*"), written.road.words())
    };
    written.files.iter().map(line).collect::<Vec<_>>().join("\n\n")
}

fn quoted(text: &str) -> String {
    let lines = text.trim().lines().map(|line| format!("> {line}"));
    lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn plan(items: &[PlanItem]) -> String {
    let mut text = String::from("**Plan**\n");
    for item in items {
        let mark = if item.status == PlanStatus::Completed { "x" } else { " " };
        let now = if item.status == PlanStatus::InProgress { " (in progress)" } else { "" };
        text.push_str(&format!(
            "\n- [{mark}] {}{now}",
            item.content.split_whitespace().collect::<Vec<_>>().join(" ")
        ));
    }
    text
}

fn tool(call: &ToolCall, names: &[&str], tail: &dyn Fn(&TerminalId) -> Option<Tail>) -> String {
    let mark = match call.shown_status() {
        Status::Done => "✓",
        Status::Failed => "✗ failed:",
        Status::Rejected => "⊘ rejected:",
        Status::Cancelled => "⊘ cancelled:",
        Status::Stopping => "◌ stopping:",
        Status::Unreported => "◌ no result:",
        Status::Pending | Status::Waiting | Status::Running => "…",
    };
    let mut text = format!("**{mark} {}**", call.headline().replace('*', "\\*"));
    if let Some(exit) = call.exit_words() {
        text.push_str(&format!(" ({exit})"));
    }
    if let Some(words) = call.unasked_words() {
        text.push_str(&format!("\n\n*{}*", words.replace('*', "\\*")));
    }
    for content in &call.content {
        let part = match content {
            ToolContent::Content(content) => contained(&as_markdown(content), names),
            ToolContent::Diff(diff) => fenced("diff", &unified(diff)),
            ToolContent::Terminal(terminal) => match tail(terminal) {
                Some(tail) => output(&tail),
                None => continue,
            },
        };
        text.push_str("\n\n");
        text.push_str(part.trim_end());
    }
    for tail in tails_not_shown(call, tail) {
        text.push_str("\n\n");
        text.push_str(&output(&tail));
    }
    let edits = call.input_diffs().iter().map(|diff| fenced("diff", &unified(diff)));
    // What came of an edit is its diff, unless it failed.
    let output = match call.input_diffs().is_empty() || call.status == Status::Failed {
        true => call.output(),
        false => None,
    };
    for part in edits.chain(output.map(|output| fenced("text", &output))) {
        text.push_str("\n\n");
        text.push_str(part.trim_end());
    }
    text
}

fn output(tail: &Tail) -> String {
    let left_out = tail.total.saturating_sub(tail.lines.len());
    let head = if left_out > 0 { format!("… {left_out} earlier lines\n") } else { String::new() };
    fenced("text", &format!("{head}{}", tail.lines.join("\n")))
}

fn unified(diff: &FileDiff) -> String {
    let path = diff.path.display().to_string();
    let old = diff.old_text.as_deref().unwrap_or_default();
    let before = if diff.old_text.is_some() { path.as_str() } else { "/dev/null" };
    TextDiff::from_lines(old, &*diff.new_text).unified_diff().header(before, &path).to_string()
}

/// A block of code whose fence is longer than any in it.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::SessionKey;
    use crate::core::ids::{AskId, Moment};
    use crate::core::message::{
        Content, Opened, Place, Priority, Role, StopReason, ToolCallPatch, ToolKind, TurnEnd, Update,
        WireStatus,
    };
    use crate::core::session::AgentRun;

    fn talked() -> Session {
        let now = Moment(0);
        let place = Place { cwd: "/src/shop".into(), ..Place::default() };
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, place, now);
        session.opened(Opened::default(), now);
        session.prompt(vec![Content::Text("Fix the login\nplease".into())], now);
        let said =
            |role, text: &str| Update::Message { role, message: None, content: Content::Text(text.into()) };
        session.apply(said(Role::Thought, "Hm."), now);
        session.apply(said(Role::Agent, "I **look**.\n"), now);
        let item =
            |content: &str, status| PlanItem { content: content.into(), priority: Priority::Low, status };
        session.apply(
            Update::Plan(vec![
                item("look", PlanStatus::Completed),
                item("fix", PlanStatus::InProgress),
                item("test", PlanStatus::Pending),
            ]),
            now,
        );
        let mut edit = ToolCallPatch::new("1");
        edit.title = Some("Edit login.rs".into());
        edit.kind = Some(ToolKind::Edit);
        edit.status = Some(WireStatus::Completed);
        edit.content = Some(vec![ToolContent::Diff(FileDiff {
            path: "login.rs".into(),
            old_text: Some("a\n```\nb\n".into()),
            new_text: "a\n```\nc\n".into(),
        })]);
        session.apply(Update::ToolCall(Box::new(edit)), now);
        let mut run = ToolCallPatch::new("2");
        run.title = Some("cargo test".into());
        run.status = Some(WireStatus::Failed);
        run.content = Some(vec![ToolContent::Terminal(TerminalId("t".into()))]);
        session.apply(Update::ToolCall(Box::new(run)), now);
        session.turn_ended(TurnEnd::Stopped { reason: StopReason::MaxTokens, usage: None }, now);
        session
    }

    fn tail(_: &TerminalId) -> Option<Tail> {
        Some(Tail {
            lines: vec!["1 failed".into()],
            total: 3,
            running: false,
            failed: true,
            took: None,
            spans: Vec::new(),
        })
    }

    #[test]
    fn all_that_was_said_and_done_is_in_it() {
        let session = talked();
        insta::assert_snapshot!(markdown(&session, 0..session.entries().len(), &tail));
    }

    #[test]
    fn what_only_input_and_output_say_is_in_it() {
        let mut session = talked();
        let mut bare = |title: &str, input: serde_json::Value, output: serde_json::Value| {
            let patch = ToolCallPatch {
                title: Some(title.into()),
                kind: Some(if title.starts_with("editor") { ToolKind::Edit } else { ToolKind::Execute }),
                status: Some(WireStatus::Completed),
                raw_input: Some(input),
                raw_output: Some(output),
                ..ToolCallPatch::new(title)
            };
            session.apply(Update::ToolCall(Box::new(patch)), Moment(0));
            markdown(&session, session.entries().len() - 1..session.entries().len(), &tail)
        };
        let edit = serde_json::json!({"path": "n", "old_text": "a\n", "new_text": "b\n"});
        let edited = bare("editor: {\"path\":\"n\"}", edit, serde_json::json!({"result": "Edited n"}));
        assert_eq!(edited, "**✓ edit n**\n\n```diff\n--- n\n+++ n\n@@ -1 +1 @@\n-a\n+b\n```\n");
        let ran = bare(
            "run_commands: ls",
            serde_json::json!({"commands": ["ls"]}),
            serde_json::json!([{"result": "n"}]),
        );
        assert_eq!(ran, "**✓ run ls**\n\n```text\nn\n```\n");
    }

    #[test]
    fn what_was_asked_and_how_a_turn_ended_are_in_it() {
        let mut session = talked();
        let now = Moment(0);
        session.prompt(vec![Content::Text("Paint it".into())], now);
        let from = session.entries().len();
        let schema = serde_json::json!({
            "properties": {
                "name": { "type": "string", "title": "Name", "description": "on the door" },
                "size": { "type": "integer", "title": "Size" },
            },
            "required": ["name"],
        });
        session.asked_to_fill(AskId(1), "A few questions".into(), &schema, now);
        session.fill(AskId(1), 0, Some("secret".into())).expect("a fit");
        session.accept(AskId(1), now);
        session.asked_to_fill(AskId(2), "More?".into(), &schema, now);
        session.decline(AskId(2), now);
        session.asked_to_open(AskId(3), "Log in".into(), "https://example.com/login", now);
        session.turn_ended(TurnEnd::Stopped { reason: StopReason::Cancelled, usage: None }, now);
        insta::assert_snapshot!(markdown(&session, from..session.entries().len(), &tail), @r"
        ## demo

        > demo asked: A few questions
        >
        > - Name (needed) — on the door
        > - Size — a whole number
        >
        > answered: Name

        > demo asked: More?
        >
        > - Name (needed) — on the door
        > - Size — a whole number
        >
        > declined

        > demo wanted a page opened: Log in
        >
        > https://example.com/login
        >
        > not answered yet

        > Cancelled · 0 ms
        ");
    }

    #[test]
    fn a_part_has_no_heading_and_what_does_not_exist_is_left_out() {
        let session = talked();
        let asked = session.entries().iter().position(|entry| matches!(entry.body, Body::User { .. }));
        let asked = asked.expect("a prompt");
        assert_eq!(markdown(&session, asked..asked + 1, &tail), "## You\n\nFix the login\nplease\n");
        assert_eq!(markdown(&session, 90..99, &tail), "\n");
    }
}

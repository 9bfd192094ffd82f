use std::path::Path;

use insta::assert_snapshot;

use super::call::{LIVE_TEXT, without_fence};
use super::*;
use crate::core::ids::{AskId, EntryId, Moment, SessionKey, TerminalId};
use crate::core::message::{
    Access, AgentInfo, AskReason, Command, Content, Counts, Exit, FileDiff, Location, Opened, PermissionKind,
    PermissionOption, Place, Priority, Role, Tokens, ToolCallPatch, ToolContent, ToolKind, TurnEnd,
    TurnUsage, Update, WireStatus,
};
use crate::core::message::{Failure, FailureKind};
use crate::core::rules::Decision;
use crate::core::session::outside::OutsideUse;
use crate::core::session::written::Write;
use crate::core::session::written_files::{FileChangeKind, Road};
use crate::core::session::{AgentRun, Session};
use crate::core::text::fitting::{cut_end, cut_middle};
use crate::core::text::{cells, visible};

fn style(icons: bool) -> Style {
    Style { icons, width: 80, clock: None, hints: Default::default() }
}

/// A session's whole transcript as text, with what stands at the right edge behind a bar.
fn shown(session: &Session, style: &Style) -> String {
    let mut lines = Vec::new();
    let mut before = None;
    for entry in session.entries() {
        let drawing = draw(before, entry, style, &|_| {
            Some(Tail {
                spans: Vec::new(),
                lines: vec!["test a ... ok".into(), "1 passed".into()],
                total: 2,
                running: true,
                failed: false,
                took: None,
            })
        });
        for (row, line) in drawing.lines.iter().enumerate() {
            match drawing.right.iter().find(|(at, _)| *at == row) {
                Some((_, right)) => lines.push(format!("{line} | {right}")),
                None => lines.push(line.clone()),
            }
        }
        before = Some(entry);
    }
    lines.join("\n")
}

fn text(role: Role, text: &str) -> Update {
    Update::Message { role, message: None, content: Content::Text(text.into()) }
}

fn tour() -> Session {
    let mut session = Session::new(
        SessionKey(1),
        AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO },
        Place::default(),
        Moment(0),
    );
    session.connected(AgentInfo {
        title: Some("Demo agent".into()),
        version: Some("1.0".into()),
        ..AgentInfo::default()
    });
    session.opened(Opened::default(), Moment(0));
    let sent = session.prompt(vec![Content::Text("Fix the race\nplease".into())], Moment(0));
    assert!(matches!(sent[..], [Command::Prompt { .. }]));
    session.apply(text(Role::Thought, "Let me see.\nHm."), Moment(0));
    let item = |content: &str, status| PlanItem { content: content.into(), priority: Priority::High, status };
    session.apply(
        Update::Plan(vec![item("reproduce", PlanStatus::Completed), item("fix", PlanStatus::InProgress)]),
        Moment(6000),
    );
    session.apply(text(Role::Agent, "I will **read** it.\n"), Moment(6000));
    session.apply(
        Update::ToolCall(Box::new(ToolCallPatch {
            title: Some("src/auth.rs".into()),
            kind: Some(ToolKind::Read),
            status: Some(WireStatus::Completed),
            locations: Some(vec![Location { path: "/p/src/auth.rs".into(), line: Some(40) }]),
            ..ToolCallPatch::new("1")
        })),
        Moment(6100),
    );
    session.apply(
        Update::ToolCall(Box::new(ToolCallPatch {
            title: Some("cargo test".into()),
            kind: Some(ToolKind::Execute),
            status: Some(WireStatus::InProgress),
            content: Some(vec![ToolContent::Terminal(TerminalId("t".into()))]),
            ..ToolCallPatch::new("2")
        })),
        Moment(6200),
    );
    session.asked(
        AskId(1),
        ToolCallPatch {
            title: Some("Edit src/auth.rs".into()),
            kind: Some(ToolKind::Edit),
            content: Some(vec![ToolContent::Diff(FileDiff {
                path: "/p/src/auth.rs".into(),
                old_text: Some("a\nb\n".into()),
                new_text: "a\nc\nd\n".into(),
            })]),
            ..ToolCallPatch::new("3")
        },
        vec![PermissionOption { id: "y".into(), name: "Yes".into(), kind: PermissionKind::AllowOnce }],
        Moment(6300),
    );
    session
}

#[test]
fn a_turn_at_work_reads_at_a_glance() {
    assert_snapshot!(shown(&tour(), &style(true)));
}

#[test]
fn without_icons_the_same_is_said_in_words() {
    let mut session = tour();
    session.answer(AskId(1), "y", Moment(6400));
    session.apply(
        Update::ToolCall(Box::new(ToolCallPatch {
            status: Some(WireStatus::Failed),
            ..ToolCallPatch::new("3")
        })),
        Moment(8400),
    );
    session.turn_ended(
        TurnEnd::Stopped {
            reason: StopReason::EndTurn,
            usage: Some(TurnUsage {
                tokens: Tokens { total: 12_345, input: 1, output: 2, ..Tokens::default() },
                counts: Counts::Turn,
            }),
        },
        Moment(9000),
    );
    assert_snapshot!(shown(&session, &style(false)));
}

/// A call as it is drawn, for an agent that says the rest in its input and output.
fn bare_call(patch: ToolCallPatch, asks: bool, open: bool) -> String {
    let place = Place { cwd: "/p".into(), ..Place::default() };
    let mut session = Session::new(SessionKey(1), AgentRun::DEMO, place, Moment(0));
    session.opened(Opened::default(), Moment(0));
    let option = PermissionOption { id: "y".into(), name: "Yes".into(), kind: PermissionKind::AllowOnce };
    match asks {
        true => drop(session.asked(AskId(1), patch, vec![option], Moment(0))),
        false => session.apply(Update::ToolCall(Box::new(patch)), Moment(0)),
    }
    let at = session.entries().iter().position(|entry| entry.tool().is_some()).expect("a call");
    if open {
        session.toggle(crate::core::ids::EntryId(at));
    }
    draw(None, &session.entries()[at], &style(true), &|_| None).lines.join("\n")
}

#[test]
fn a_question_that_only_the_input_has_is_read_without_a_key() {
    let question = ToolCallPatch {
        title: Some(r#"ask_question: {"question":"Which colour?","options":["Red","Blue"]}"#.into()),
        raw_input: Some(serde_json::json!({"question": "Which colour?", "options": ["Red", "Blue"]})),
        ..ToolCallPatch::new("1")
    };
    assert_eq!(bare_call(question, true, false), "● Which colour? Red, Blue\n    Allow this?   1 Yes");
    let tool = ToolCallPatch {
        title: Some("Create a ticket".into()),
        raw_input: Some(serde_json::json!({"subject": "It fails", "labels": ["bug", "ui"], "urgent": true})),
        ..ToolCallPatch::new("1")
    };
    assert_eq!(
        bare_call(tool, true, false),
        "● Create a ticket\n    subject: It fails\n    labels: bug, ui\n    urgent: yes\n    Allow this?   1 Yes"
    );
    let plan = ToolCallPatch {
        title: Some("Approve Plan".into()),
        kind: Some(ToolKind::SwitchMode),
        content: Some(vec![ToolContent::Content(Content::Text("1. Look\n2. Fix".into()))]),
        ..ToolCallPatch::new("1")
    };
    assert_eq!(
        bare_call(plan, true, false),
        "● Approve Plan\n    1. Look\n    2. Fix\n    Allow this?   1 Yes"
    );
}

#[test]
fn whatever_kind_a_call_has_what_only_its_input_says_is_read_without_a_key() {
    let asks = |title: &str, kind: ToolKind, input: serde_json::Value| {
        let call = ToolCallPatch {
            title: Some(title.into()),
            kind: Some(kind),
            raw_input: Some(input),
            ..ToolCallPatch::new("1")
        };
        bare_call(call, true, false)
    };
    let code = serde_json::json!({"code": "import os\nos.remove('a')\n", "timeout": 5});
    assert_eq!(
        asks("Run Python", ToolKind::Execute, code),
        "● Run Python\n    code:\n      import os\n      os.remove('a')\n    timeout: 5\n    Allow this command?   1 Yes"
    );
    let edit = serde_json::json!({"file": "notes.txt", "instructions": "Drop the second part"});
    assert_eq!(
        asks("Edit notes.txt", ToolKind::Edit, edit),
        "● Edit notes.txt\n    instructions: Drop the second part\n    Allow this edit?   1 Yes"
    );
    let objects = serde_json::json!({"ids": ["db/users", "db/orders"], "force": true});
    assert_eq!(
        asks("Drop tables", ToolKind::Delete, objects),
        "● Drop tables\n    ids: db/users, db/orders\n    force: yes\n    Allow this deletion?   1 Yes"
    );
    // What the title says is not said twice.
    let known = [
        ("ls -l", ToolKind::Execute, serde_json::json!({"command": "ls -l", "timeout": 5})),
        ("Delete notes.txt", ToolKind::Delete, serde_json::json!({"path": "/p/notes.txt"})),
        ("Read notes.txt", ToolKind::Read, serde_json::json!({"path": "notes.txt", "offset": 3})),
    ];
    for (title, kind, input) in known {
        let shown = asks(title, kind, input);
        assert_eq!(shown.lines().count(), 2, "{shown}");
    }
}

#[test]
fn an_edit_that_only_the_input_has_shows_its_diff_and_its_file_once() {
    let mut edit = ToolCallPatch {
        title: Some(r#"editor: {"path":"notes.txt","new_text":"B","old_text":"b"}"#.into()),
        kind: Some(ToolKind::Edit),
        raw_input: Some(serde_json::json!({"path": "notes.txt", "new_text": "B", "old_text": "b"})),
        ..ToolCallPatch::new("1")
    };
    assert_eq!(bare_call(edit.clone(), true, false), "● edit notes.txt\n    Allow this edit?   1 Yes");
    edit.status = Some(WireStatus::Completed);
    edit.raw_output =
        Some(serde_json::json!({"query": "edit:notes.txt", "result": "Edited", "success": true}));
    edit.locations = Some(vec![Location { path: "/p/notes.txt".into(), line: None }]);
    assert_eq!(bare_call(edit, false, true), "✓ edit notes.txt\n    notes.txt\n    - b\n    + B");
}

#[test]
fn output_that_is_only_raw_is_shown_as_text() {
    let mut read = ToolCallPatch {
        title: Some(r#"read_files: {"files":[{"path":"notes.txt"}]}"#.into()),
        kind: Some(ToolKind::Read),
        status: Some(WireStatus::Completed),
        raw_input: Some(serde_json::json!({"files": [{"path": "notes.txt"}]})),
        raw_output: Some(serde_json::json!([{"query": "notes.txt", "result": "1 | alpha", "success": true}])),
        ..ToolCallPatch::new("1")
    };
    assert_eq!(bare_call(read.clone(), false, true), "✓ read notes.txt\n    1 | alpha\n    notes.txt");
    read.status = Some(WireStatus::Failed);
    read.raw_output = Some(serde_json::json!({"error": "no such file"}));
    assert_eq!(bare_call(read, false, false), "✗ read notes.txt\n    no such file");
}

#[test]
fn an_opened_call_shows_its_diff() {
    let mut session = tour();
    let edit = session.asks()[0].entry;
    session.toggle(edit);
    let before = session.entry(crate::core::ids::EntryId(edit.0 - 1)).cloned();
    let entry = session.entry(edit).cloned().expect("an entry");
    let drawing = draw(before.as_ref(), &entry, &style(true), &|_| None);
    assert_snapshot!(drawing.lines.join("\n"), @r"
    ● Edit src/auth.rs
        Allow this edit?   1 Yes
        /p/src/auth.rs
          a
        - b
        + c
        + d
    ");
}

#[test]
fn a_long_command_that_waits_is_shown_to_its_end() {
    let mut session = tour();
    let command = format!("cargo test {} && rm -r build && cargo build", "--exclude slow ".repeat(6).trim());
    let call = ToolCallPatch {
        title: Some("Build".into()),
        kind: Some(ToolKind::Execute),
        raw_input: Some(serde_json::json!({ "command": command })),
        ..ToolCallPatch::new("4")
    };
    let yes = PermissionOption { id: "y".into(), name: "Yes".into(), kind: PermissionKind::AllowOnce };
    session.asked(AskId(2), call, vec![yes], Moment(6400));
    let entry = session.entry(session.asks()[1].entry).expect("an entry");
    let drawing = draw(Some(entry), entry, &style(true), &|_| None);
    assert!(drawing.lines[0].contains('…'), "{drawing:?}");
    let until = drawing.lines.iter().position(|line| line.contains("Allow")).expect("the answers");
    let lines: Vec<&str> = drawing.lines[1..until].iter().map(|line| line.trim()).collect();
    assert_eq!(lines.join("\n").replace(" \\\n", " "), format!("Build: {command}"));
    assert!(lines.len() > 1 && lines.iter().all(|line| line.len() < 80), "{lines:?}");
}

#[test]
fn a_call_that_failed_says_why_however_the_agent_tells_it() {
    let mut session = tour();
    let mut shown = |output: serde_json::Value, content: Option<&str>| {
        let content = content.map(|text| vec![ToolContent::Content(Content::Text(text.into()))]);
        let patch = ToolCallPatch {
            title: Some("Write a".into()),
            status: Some(WireStatus::Failed),
            raw_output: Some(output),
            content,
            ..ToolCallPatch::new("4")
        };
        session.apply(Update::ToolCall(Box::new(patch)), Moment(6400));
        draw(None, session.entries().last().expect("an entry"), &style(true), &|_| None).lines.join("\n")
    };
    let json = serde_json::json!({ "message": "no such folder", "code": "failure" });
    assert_eq!(shown(json.clone(), None), "✗ Write a\n    no such folder");
    assert_eq!(shown("disk full\n".into(), None), "✗ Write a\n    disk full");
    assert_eq!(shown(serde_json::json!({ "code": 1 }), None), "✗ Write a");
    assert_eq!(shown(json, Some("told here")), "✗ Write a\n    told here");
}

#[test]
fn output_of_a_failed_call_is_shown_without_its_fence() {
    assert_eq!(without_fence("```\nExit code 3\nout\n```"), "Exit code 3\nout");
    assert_eq!(without_fence("````sh\n```\n````"), "```");
    for whole in ["out", "```\na\n```\ntext\n```\nb\n```", "```\nno end", "```", "``", "", "`a`\n`b`"] {
        assert_eq!(without_fence(whole), whole);
    }
}

#[test]
fn of_json_in_a_failure_its_message_is_read() {
    let service = r#"API Error: 400 {"error": {"message": "too long", "code": 400}, "type": "error"}"#;
    assert_eq!(readable(service), "API Error: 400 too long");
    assert_eq!(readable(r#"{"message": "no\nquota"}"#), "no quota");
    for whole in ["gone {", r#"odd {"a": 1}"#, r#"{"message": "a"} and more"#, "plain"] {
        assert_eq!(readable(whole), whole);
    }
}

#[test]
fn a_command_whose_output_is_text_shows_the_last_lines_while_it_runs() {
    let mut session = tour();
    let mut shown = |status, text: &str| {
        let patch = ToolCallPatch {
            title: Some("make".into()),
            kind: Some(ToolKind::Execute),
            status: Some(status),
            content: Some(vec![ToolContent::Content(Content::Text(text.into()))]),
            ..ToolCallPatch::new("4")
        };
        session.apply(Update::ToolCall(Box::new(patch)), Moment(6400));
        let entry = session.entries().last().expect("an entry");
        draw(None, entry, &style(true), &|_| None).lines.join("\n")
    };
    assert_eq!(shown(WireStatus::Pending, "one\n"), "○ run make\n    one");
    assert_snapshot!(shown(WireStatus::InProgress, "1\n2\n\u{1b}[31m3\u{1b}[0m\n4\n10%\r99%\n"), @r"
    ◐ run make
        3
        4
        99%
        (5 lines in all, <Tab> shows them)
    ");
    assert_eq!(shown(WireStatus::InProgress, "```sh\nlate\n```\n"), "◐ run make\n    late");
    assert_eq!(shown(WireStatus::InProgress, "```sh\n"), "◐ run make");
    let long = format!("{}\nend", "é".repeat(LIVE_TEXT));
    assert!(shown(WireStatus::InProgress, &long).ends_with("\n    end"));
    assert_eq!(shown(WireStatus::Completed, "all of it"), "✓ run make");
}

#[test]
fn long_titles_are_cut_in_the_middle_and_times_are_short() {
    assert_eq!(cut_middle("src/a/very/long/path/to/file.rs", 15), "src/a/v…file.rs");
    assert_eq!(cut_middle("short", 15), "short");
    assert_eq!([cut_end("short", 5), cut_end("short", 4), cut_end("short", 0)], ["short", "sho…", ""]);
    let times = [850, 1250, 42_000, 187_000].map(seconds);
    assert_eq!(times, ["850 ms", "1.2 s", "42 s", "3:07"]);
    assert_eq!([7, 1234, 1_234_567].map(grouped), ["7", "1,234", "1,234,567"]);
}

#[test]
fn the_end_of_a_turn_is_broken_between_what_was_used_and_never_within() {
    let lines = |width| {
        let mut drawing = Drawing::default();
        let used = ["7 ms", "1,234 tokens", "$0.01"].map(str::to_owned);
        draw_stop(&mut drawing, (&StopReason::EndTurn, false), &used, width);
        assert_eq!(drawing.frames.len(), drawing.lines.len());
        drawing.lines
    };
    assert_eq!(lines(34), ["Done · 7 ms · 1,234 tokens · $0.01"]);
    assert_eq!(lines(33), ["Done · 7 ms · 1,234 tokens", "$0.01"]);
    assert_eq!(lines(20), ["Done · 7 ms", "1,234 tokens · $0.01"]);
}

#[test]
fn each_stop_reason_has_a_sentence_of_its_own() {
    let line = |reason: StopReason, silent| {
        let mut drawing = Drawing::default();
        draw_stop(&mut drawing, (&reason, silent), &used(1000, None, None), 200);
        drawing.lines.remove(0)
    };
    let all = [
        line(StopReason::EndTurn, false),
        line(StopReason::EndTurn, true),
        line(StopReason::Cancelled, false),
        line(StopReason::MaxTokens, false),
        line(StopReason::MaxTurnRequests, false),
        line(StopReason::Refusal, false),
        line(StopReason::Other("pause".into()), false),
        line(StopReason::Other(String::new()), false),
    ];
    assert_snapshot!(all.join("\n"), @r"
    Done · 1.0 s
    The agent ended without an answer · 1.0 s
    Cancelled · 1.0 s
    Stopped: the answer reached its limit of tokens; ask to continue · 1.0 s
    Stopped: the turn reached its limit of requests; ask to continue · 1.0 s
    The agent refused; this prompt and all after it are not part of the next one's context · 1.0 s
    Ended: pause · 1.0 s
    Ended without a reason · 1.0 s
    ");
}

fn asking() -> Session {
    let mut session = Session::new(
        SessionKey(1),
        AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO },
        Place::default(),
        Moment(0),
    );
    session.opened(Opened::default(), Moment(0));
    session.prompt(vec![Content::Text("go".into())], Moment(0));
    let schema = serde_json::json!({
        "description": "For the door.",
        "properties": {
            "colour": { "type": "string", "title": "Colour", "enum": ["red", "blue"] },
            "words": { "type": "string", "description": "on\nit", "maxLength": 9 },
            "when": { "type": "date" },
        },
        "required": ["colour"],
    });
    session.asked_to_fill(AskId(1), "Which colour?\nThere are two.".into(), &schema, Moment(1));
    session.asked_to_open(AskId(2), String::new(), "http://example.com/login", Moment(1));
    session
}

/// What stands under the agent's name.
fn asked(session: &Session, style: &Style) -> String {
    shown(session, style).rsplit_once("\n\n").expect("a blank line").1.to_owned()
}

#[test]
fn what_the_agent_wants_to_know_is_shown_in_full_while_it_waits() {
    assert_snapshot!(asked(&asking(), &style(true)), @r#"
    demo
    ● demo asks: Which colour?
        There are two.
        For the door.
        Colour (needed) — red · blue
        words — on it — at most 9 characters
        when — of the type "date", which can't be filled in here
        Answer?   <CR> or :Acp answer [decline|cancel]
    ● demo asks you to open a page
        http://example.com/login
        Host: example.com
        Warning: the connection is not encrypted, so others may read and change what is sent
        Open it?   <CR> or :Acp answer [decline|cancel]
    "#);
}

#[test]
fn what_the_user_did_about_it_takes_a_line_or_two() {
    let mut session = asking();
    session.fill(AskId(1), 0, Some("red".into())).expect("a fit");
    session.accept(AskId(1), Moment(0));
    session.accept(AskId(2), Moment(0));
    assert_snapshot!(asked(&session, &style(false)), @r"
    demo
    [x] demo asked: Which colour?
        answered: Colour
    [x] demo asked you to open a page
        you agreed to open example.com
    ");
    let mut session = asking();
    session.decline(AskId(1), Moment(0));
    session.withdrawn(AskId(2), Moment(2));
    assert_snapshot!(asked(&session, &style(true)), @r"
    demo
    ⊘ demo asked: Which colour? | declined
    ⊘ demo asked you to open a page | taken back
    ");
}

#[test]
fn what_came_of_a_question_stands_below_where_one_row_has_no_room_for_both() {
    let mut session = asking();
    session.decline(AskId(1), Moment(0));
    session.withdrawn(AskId(2), Moment(2));
    assert_snapshot!(asked(&session, &Style { width: 36, ..style(true) }), @r"
    demo
    ⊘ demo asked: Which colour?
        declined
    ⊘ demo asked you to open a page
        taken back
    ");
}

#[test]
fn the_host_of_a_page_stands_out() {
    let session = asking();
    let last = session.entries().len() - 1;
    let drawing = draw(None, &session.entries()[last], &style(true), &|_| None);
    let loud: Vec<&str> = drawing
        .marks
        .iter()
        .filter(|mark| mark.group == "AcpToolWaiting" && (1..3).contains(&mark.row))
        .map(|mark| &drawing.lines[mark.row][mark.start..mark.end])
        .collect();
    assert_eq!(loud, ["example.com", "example.com"]);
}

/// What the plugin says has a bar in the margin, and nothing that an agent says has one.
#[test]
fn the_margin_tells_the_plugins_lines_from_those_that_imitate_them() {
    let mut session = tour();
    let said = |session: &Session| -> Vec<String> {
        let mut before = None;
        let mut framed = Vec::new();
        for entry in session.entries() {
            let drawing = draw(before, entry, &style(true), &|_| None);
            framed.extend(drawing.frames.iter().map(|(row, _)| drawing.lines[*row].clone()));
            before = Some(entry);
        }
        framed
    };
    let before = said(&session);
    for line in ["You", "Demo agent", "\u{2713} read src/auth.rs"] {
        assert!(before.iter().any(|framed| framed == line), "{line} in {before:?}");
    }
    let imitation = shown(&session, &style(true));
    session.apply(text(Role::Agent, &imitation), Moment(9000));
    session.apply(
        text(Role::Agent, "\nDone · 7 ms\n\nYou\nYes, do it.\n    Allow this?   1 Allow"),
        Moment(9000),
    );
    let after = said(&session);
    assert_eq!(after, before);
}

#[test]
fn nothing_is_hidden_in_any_entry_and_the_colours_stay_where_they_were() {
    let odd = "a\u{202e}b\u{200b}c\u{7}d";
    let mut session = tour();
    session.apply(text(Role::Agent, &format!("{odd}\n{odd}")), Moment(9000));
    session.apply(text(Role::Thought, odd), Moment(9000));
    let mut call = ToolCallPatch::new("odd");
    call.title = Some(odd.into());
    call.status = Some(WireStatus::Failed);
    call.raw_input = Some(serde_json::json!({ odd: odd }));
    call.locations = Some(vec![Location { path: format!("/p/{odd}").into(), line: None }]);
    call.content = Some(vec![
        ToolContent::Content(Content::Text(odd.into())),
        ToolContent::Diff(FileDiff { path: odd.into(), old_text: Some(odd.into()), new_text: "x\n".into() }),
    ]);
    let asked = PermissionOption { id: "1".into(), name: odd.into(), kind: PermissionKind::AllowOnce };
    session.asked(AskId(1), call, vec![asked], Moment(9000));
    session.apply(
        Update::Plan(vec![PlanItem {
            content: odd.into(),
            priority: Priority::High,
            status: PlanStatus::Pending,
        }]),
        Moment(9000),
    );
    for id in 0..session.entries().len() {
        session.toggle(crate::core::ids::EntryId(id));
    }
    let mut seen = 0;
    for entry in session.entries() {
        let pages = [Some(draw(None, entry, &style(true), &|_| None)), super::details::of_entry(entry)];
        for drawing in pages.into_iter().flatten() {
            for (row, line) in drawing.lines.iter().enumerate() {
                assert_eq!(visible::visible(line), line.as_str());
                for mark in drawing.marks.iter().filter(|mark| mark.row == row) {
                    let marked = &line[mark.start..mark.end];
                    if mark.group == UNPRINTABLE {
                        seen += 1;
                        assert!(["<202e>", "<200b>", "^G"].contains(&marked), "{marked}");
                    }
                }
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn what_is_cut_fits_however_narrow_the_window_is() {
    for width in 0..6 {
        for cut in [cut_middle("src/a/very/long/path.rs", width), cut_end("a title", width)] {
            assert_eq!(cut.chars().count(), width, "{cut:?}");
        }
    }
    assert_eq!(cut_middle("ab", 2), "ab");
}

#[test]
fn whatever_an_agent_sends_is_so_many_lines_of_such_a_length_at_most() {
    let long = "a word ".repeat(200_000);
    let many = "a line\n".repeat(200_000);
    let place = |number| Location { path: format!("/p/{number}").into(), line: Some(number) };
    for text in [&long, &many] {
        let call = |status| {
            let mut call = crate::core::session::tool_call::ToolCall::new(
                crate::core::ids::ToolCallId("1".into()),
                Moment(0),
            );
            let patch = ToolCallPatch {
                title: Some(text.clone()),
                kind: Some(ToolKind::Execute),
                status: Some(status),
                content: Some(vec![ToolContent::Content(Content::Text(text.as_str().into()))]),
                locations: Some((0..100_000).map(place).collect()),
                raw_input: Some(serde_json::json!({ "command": text })),
                ..ToolCallPatch::new("1")
            };
            call.patch(patch, Moment(0));
            Body::Tool(Box::new(call))
        };
        let mut waiting = call(WireStatus::Pending);
        if let Body::Tool(call) = &mut waiting {
            call.advance(&crate::core::session::tool_call::Cause::Asked, Moment(0));
        }
        let item =
            |_| PlanItem { content: text.clone(), priority: Priority::Low, status: PlanStatus::Pending };
        let bodies = [
            Body::User { text: text.as_str().into(), attachments: Vec::new() },
            Body::Thought { text: text.clone(), ended: None },
            call(WireStatus::Completed),
            call(WireStatus::Failed),
            waiting,
            Body::Plan((0..100).map(item).collect()),
            Body::Notice { severity: Severity::Error, text: text.clone(), times: 1 },
            Body::Compaction(crate::core::session::entry::Compaction {
                status: "completed".into(),
                summary: text.clone(),
                error: None,
            }),
            Body::TurnFailed(
                Failure { kind: FailureKind::Agent, message: text.clone(), details: None },
                Then::Nothing,
            ),
        ];
        for body in bodies {
            let entry =
                Entry { at: Moment(0), clock: Some(0), parent: None, body, open: true, refused: false };
            let drawing = draw(None, &entry, &style(true), &|_| None);
            let longest = drawing.lines.iter().map(String::len).max().unwrap_or_default();
            let what = format!("{:.30?}", entry.body);
            assert!(longest <= LONGEST_LINE, "{what}: {longest} bytes");
            assert!(drawing.lines.len() <= 1700, "{what}: {} lines", drawing.lines.len());
            let page = super::details::of_entry(&entry);
            if let Some(page) = page {
                assert!(page.lines.len() <= 25_000, "{what}: {} lines", page.lines.len());
            }
        }
    }
}

/// The last entry alone, opened or not.
fn last(session: &Session, open: bool, tail: &dyn Fn(&TerminalId) -> Option<Tail>) -> String {
    let mut entry = session.entries().last().cloned().expect("an entry");
    entry.open = open;
    let drawing = draw(None, &entry, &style(true), tail);
    let right = |row| drawing.right.iter().find(|(at, _)| *at == row).map(|(_, right)| format!(" | {right}"));
    let lines = drawing.lines.iter().enumerate();
    lines.map(|(row, line)| format!("{line}{}\n", right(row).unwrap_or_default())).collect()
}

#[test]
fn a_failed_turn_keeps_the_lines_of_what_it_says() {
    let mut session = tour();
    let message = format!("it is not allowed:\n- a\n- b\n{}", "- more\n".repeat(20));
    let failure = Failure { kind: FailureKind::Agent, message, details: None };
    session.turn_ended(TurnEnd::Failed(failure), Moment(9000));
    let shown = last(&session, false, &|_| None);
    assert!(shown.starts_with("The turn failed: it is not allowed:\n  - a\n  - b\n  - more\n"), "{shown}");
    assert!(shown.contains("  (11 more lines, K shows all of it)\nThe session goes on"), "{shown}");
}

#[test]
fn a_rejected_call_that_the_agent_calls_completed_is_shown_as_rejected() {
    let mut session = tour();
    let option = PermissionOption { id: "n".into(), name: "No".into(), kind: PermissionKind::RejectOnce };
    let patch = ToolCallPatch {
        title: Some("make all".into()),
        kind: Some(ToolKind::Execute),
        ..ToolCallPatch::new("4")
    };
    session.asked(AskId(2), patch, vec![option], Moment(6400));
    session.answer(AskId(2), "n", Moment(6500));
    assert_eq!(last(&session, false, &|_| None), "⊘ run make all | rejected\n");
    let status = Some(WireStatus::Completed);
    session
        .apply(Update::ToolCall(Box::new(ToolCallPatch { status, ..ToolCallPatch::new("4") })), Moment(6600));
    assert_eq!(
        last(&session, false, &|_| None),
        "⊘ run make all | rejected\n    It was rejected; the agent says that it is completed.\n"
    );
    let told = export::markdown(&session, 0..session.entries().len(), &|_| None);
    assert!(told.contains("⊘ rejected: run make all"), "{told}");
}

/// A finished command whose last update has replaced its terminal.
fn ran(content: Vec<ToolContent>, exit: Exit) -> Session {
    let mut session = tour();
    let id = TerminalId("u".into());
    let run = |content| {
        let patch = ToolCallPatch {
            title: Some("make".into()),
            kind: Some(ToolKind::Execute),
            status: Some(WireStatus::Completed),
            content: Some(content),
            ..ToolCallPatch::new("9")
        };
        Update::ToolCall(Box::new(patch))
    };
    session.apply(run(vec![ToolContent::Terminal(id.clone())]), Moment(6300));
    session.apply(run(content), Moment(6300));
    session.command_ended(&id, &exit, Moment(2));
    session
}

fn output(_: &TerminalId) -> Option<Tail> {
    let lines = vec!["one".into(), "two".into()];
    Some(Tail { lines, total: 2, ..Tail::default() })
}

#[test]
fn a_replaced_terminal_is_shown_unless_the_text_says_the_same() {
    let exit = |code| Exit { code: Some(code), signal: None };
    let text = |text: &str| vec![ToolContent::Content(Content::Text(text.into()))];
    assert_snapshot!(last(&ran(text("All went well."), exit(0)), true, &output), @r"
    ✓ run make
        All went well.
        one
        two
    ");
    assert_snapshot!(last(&ran(text("one\ntwo\n"), exit(2)), true, &output), @r"
    ✗ run make | exit 2
        one
        two
    ");
    assert_snapshot!(last(&ran(Vec::new(), exit(0)), false, &output), @"✓ run make");
}

#[test]
fn files_written_without_a_call_have_a_line_each_and_many_have_one_together() {
    let mut session = tour();
    let mut write = |number: usize| {
        let (before, after) = (Some("1\n".into()), Some("2\n3\n".into()));
        let name = format!("src/{number}.rs");
        let kind = if number == 2 { FileChangeKind::Created } else { FileChangeKind::Changed };
        let write = Write { name: name.clone(), kind, before, after, ..Write::default() };
        session.wrote(Path::new(&name), Road::Editor, write, Moment(7000));
        (last(&session, false, &|_| None), last(&session, true, &|_| None))
    };
    write(1);
    assert_snapshot!(write(2).0, @r"
    ✓ wrote src/1.rs through the editor | +2 -1
    ✓ created src/2.rs through the editor | +2 -0
    ");
    write(3);
    let (closed, open) = write(4);
    assert_snapshot!(closed, @"✓ wrote 4 files through the editor | +8 -3");
    assert_snapshot!(open, @r"
    ✓ wrote 4 files through the editor | +8 -3
        src/1.rs | +2 -1
        src/2.rs | +2 -0
        src/3.rs | +2 -1
        src/4.rs | +2 -1
    ");
}

#[test]
fn files_deleted_or_renamed_without_a_call_have_lines_too() {
    let mut session = tour();
    let mut write = |name: &str, kind: FileChangeKind| {
        let text = || Some("1\n2\n".into());
        let write = Write { name: name.into(), kind, before: text(), after: text(), ..Write::default() };
        session.wrote(Path::new(name), Road::Disk, write, Moment(7000));
        (last(&session, false, &|_| None), last(&session, true, &|_| None))
    };
    write("notes.txt", FileChangeKind::Changed);
    write("notes.txt", FileChangeKind::Deleted);
    let renamed = FileChangeKind::Renamed("src/old.rs".into());
    assert_snapshot!(write("src/new.rs", renamed.clone()).0, @r"
    ✓ deleted notes.txt on the disk | +0 -2
    ✓ renamed src/old.rs to src/new.rs on the disk
    ");
    assert_snapshot!(write("src/new.rs", FileChangeKind::Changed).0, @r"
    ✓ deleted notes.txt on the disk | +0 -2
    ✓ renamed src/old.rs to src/new.rs on the disk
    ");
    write("a.txt", FileChangeKind::Deleted);
    assert_snapshot!(write("b.txt", FileChangeKind::Created).1, @r"
    ✓ changed 4 files on the disk
        deleted notes.txt | +0 -2
        renamed src/old.rs to src/new.rs
        deleted a.txt | +0 -2
        b.txt | +2 -0
    ");
    let all = |kinds: [FileChangeKind; 4]| {
        let mut session = tour();
        for (number, kind) in kinds.into_iter().enumerate() {
            let write = Write { name: format!("{number}"), kind, ..Write::default() };
            session.wrote(Path::new(&format!("/{number}")), Road::Disk, write, Moment(8000));
        }
        last(&session, false, &|_| None)
    };
    assert_snapshot!(all([const { FileChangeKind::Deleted }; 4]), @"✓ deleted 4 files on the disk");
    assert_snapshot!(all(std::array::from_fn(|_| renamed.clone())), @"✓ renamed 4 files on the disk");
}

#[test]
fn a_title_and_what_stands_at_the_right_never_touch() {
    let call = |title: &str, status, took| {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        let patch = ToolCallPatch {
            title: Some(title.into()),
            kind: Some(ToolKind::Execute),
            ..ToolCallPatch::new("narrow")
        };
        session.apply(Update::ToolCall(Box::new(patch)), Moment(0));
        let entry = EntryId(session.entries().len() - 1);
        session.call_changed(entry, Path::new("some/long/folder/notes.txt"));
        let patch = ToolCallPatch { status: Some(status), ..ToolCallPatch::new("narrow") };
        session.apply(Update::ToolCall(Box::new(patch)), Moment(took));
        session
    };
    let line = |session: &Session, width| {
        let style = Style { width, ..style(true) };
        let drawing = draw(None, session.entries().last().expect("a call"), &style, &|_| None);
        let right = drawing.right.first().map_or("", |(_, right)| right);
        (drawing.lines[0].clone(), right.to_owned())
    };
    let session = call("sed -i s/beta/BETA/ src/b.txt notes.txt; exit 3", WireStatus::Failed, 2000);
    let (left, right) = line(&session, 38);
    assert_eq!((left.as_str(), right.as_str()), ("✗ run sed …; exit 3", "1 file · failed"));
    assert_eq!(line(&session, 120).1, "changed some/long/folder/notes.txt · failed · 2.0 s");
    let short = call("ls", WireStatus::Completed, 0);
    assert_eq!(line(&short, 60).1, "changed some/long/folder/notes.txt");
    for width in 30..120 {
        for session in [&session, &short] {
            let (left, right) = line(session, width);
            let cells = left.chars().count() + right.chars().count();
            assert!(cells + 2 <= width, "{width}: {left:?} {right:?}");
        }
    }
}

#[test]
fn what_came_of_a_question_about_a_command_does_not_stand_on_it() {
    let mut session = tour();
    session.prompt(vec![Content::Text("x".into())], Moment(0));
    let usage = OutsideUse {
        path: "/home/me/project".into(),
        target: "/home/me/project".into(),
        access: Access::Wrote,
        why: AskReason::Rule("ask **".into()),
        command: Some("env LD_PRELOAD= sh -c 'rm a.txt; mv b.txt c.txt'".into()),
        judgement: None,
    };
    session.asked_outside(AskId(7), usage, Moment(0));
    session.answer(AskId(7), "once", Moment(1));
    for width in 30..120 {
        let style = Style { width, ..style(true) };
        let drawing = draw(None, session.entries().last().expect("a question"), &style, &|_| None);
        let (left, right) = (&drawing.lines[0], &drawing.right[0].1);
        assert!(left.chars().count() + right.len() + 2 <= width, "{width}: {left:?} {right:?}");
    }
}

#[test]
fn what_stands_at_the_right_edge_never_stands_over_the_text() {
    use crate::core::rules::unasked::Unasked;
    use crate::core::session::budget::Word;
    use crate::core::session::entry::{Elicitation, Subject, Verdict};
    use crate::core::session::written_files::{Written, WrittenFile};
    use crate::core::store::allowlist::Choice;

    let long = "a word and another ".repeat(12);
    let asked = |subject, verdict| {
        Body::Elicitation(Box::new(Elicitation {
            asker: "Claude".into(),
            message: long.clone(),
            subject,
            verdict,
            choices: Vec::new(),
            is_long: false,
        }))
    };
    let file = |number| WrittenFile {
        path: format!("/p/{number}").into(),
        name: format!("{long}{number}"),
        kind: FileChangeKind::Changed,
        times: 1,
        counted: Some((1234, 567)),
        unasked: Some(Box::new(Unasked { decision: Decision::Ask, rule: "one".into(), of_asked: None })),
    };
    let written =
        |count| Body::Written(Box::new(Written { road: Road::Disk, files: (0..count).map(file).collect() }));
    let outside = || Subject::Outside {
        access: Access::Wrote,
        folders: vec!["/p".into()],
        why: AskReason::OutsideFolders,
        command: None,
        judgement: None,
    };
    let limits = Word::ALL.map(|word| asked(Subject::Limit, Verdict::Limited(word)));
    let choices = [Choice::Always, Choice::Never].map(|choice| asked(outside(), Verdict::Chosen(choice)));
    let stop = StopReason::Refusal;
    let stop = Body::Stop { reason: stop, silent: false, took: 1000, tokens: None, cost: None };
    let others = [written(1), written(9), asked(Subject::Limit, Verdict::Withdrawn), stop];
    for body in limits.into_iter().chain(choices).chain(others) {
        for (width, open) in (40..160).flat_map(|width| [(width, false), (width, true)]) {
            let style = Style { width, clock: Some(0), ..style(true) };
            let entry = Entry {
                at: Moment(0),
                clock: Some(0),
                parent: None,
                body: body.clone(),
                open,
                refused: false,
            };
            let drawing = draw(None, &entry, &style, &|_| None);
            for (row, right) in &drawing.right {
                let (left, right) = (cells(&drawing.lines[*row]), cells(right));
                assert!(left + right + 2 <= width, "{width} {open}: {:?}", drawing.lines[*row]);
            }
        }
    }
}

#[test]
fn a_call_took_as_long_in_its_line_as_in_its_details() {
    let mut session = tour();
    session.apply(
        Update::ToolCall(Box::new(ToolCallPatch {
            status: Some(WireStatus::Completed),
            ..ToolCallPatch::new("2")
        })),
        Moment(20_200),
    );
    let tail = |took| {
        move |_: &TerminalId| {
            let lines = vec!["1 passed".to_owned()];
            Some(Tail { spans: Vec::new(), lines, total: 1, running: false, failed: false, took })
        }
    };
    for (took, expected) in [(Some(5300), "5.3 s"), (None, "14 s")] {
        let is_it = |entry: &Entry| entry.tool().is_some_and(|call| call.id.0 == "2");
        let at = session.entries().iter().position(is_it).expect("the call");
        let line = draw(None, &session.entries()[at], &style(true), &tail(took));
        assert_eq!(line.right.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), [expected]);
        let page = super::details::details(&session, EntryId(at), &tail(took)).expect("a page");
        assert!(page.lines[1].contains(&format!(" \u{b7} {expected}")), "{:?}", page.lines);
    }
}

#[test]
fn the_name_of_a_tool_stands_beside_what_it_does() {
    let mut session = tour();
    let title = Some("Look around".to_owned());
    let name = Some("list_folder".to_owned());
    let told = ToolCallPatch { title, name, ..ToolCallPatch::new("named") };
    session.apply(Update::ToolCall(Box::new(told)), Moment(1));
    let entry = session.entries().iter().rfind(|entry| entry.tool().is_some()).expect("the call");
    let page = super::details::of_entry(entry).expect("a page");
    assert!(page.lines.iter().any(|line| line.contains("tool list_folder")), "{:?}", page.lines);
}

//! Turns: what is sent, what streams in, how they end, and how they are cancelled.

use std::time::Duration;

use acp_nvim::acp::Settings;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

fn failure(end: TurnEnd) -> Failure {
    match end {
        TurnEnd::Failed(failure) => failure,
        TurnEnd::Stopped { reason, .. } => panic!("the turn ended: {reason:?}"),
    }
}

fn everything() -> Vec<Content> {
    let resource =
        |uri: &str, body| Content::Resource { uri: uri.into(), mime: Some("text/x-rust".into()), body };
    vec![
        Content::Text("look".into()),
        Content::Image {
            data: "AAAA".into(),
            mime: "image/png".into(),
            uri: Some("file:///a%20b.png".into()),
        },
        Content::Image { data: "AAAA".into(), mime: "image/png".into(), uri: None },
        Content::Audio { data: "AAAA".into(), mime: "audio/wav".into() },
        Content::Link {
            uri: "file:///c.rs".into(),
            name: "c.rs".into(),
            title: None,
            mime: None,
            size: Some(3),
        },
        resource("file:///d.rs", ResourceBody::Text("fn d() {}".into())),
        resource("nvim://quickfix", ResourceBody::Text("e.rs:1".into())),
        resource("file:///f.bin", ResourceBody::Blob("AA==".into())),
        Content::Unknown { kind: "video".into() },
    ]
}

fn sent(can: &Value) -> Value {
    let mut test = Test::new();
    test.open_with(
        &json!({"agentCapabilities": {"promptCapabilities": can}}),
        &[expect("session/prompt"), end_turn()],
    );
    test.send(Command::Prompt { session: SESSION, content: everything() });
    test.stop_reason();
    test.finish().params("session/prompt")["prompt"].clone()
}

#[test]
fn a_prompt_has_only_what_the_agent_takes() {
    assert_eq!(
        sent(&json!({})),
        json!([
            {"type": "text", "text": "look"},
            {"type": "resource_link", "uri": "file:///a%20b.png", "name": "a%20b.png", "mimeType": "image/png"},
            {"type": "text", "text": "[an image (image/png) that you can't take]"},
            {"type": "text", "text": "[a recording (audio/wav) that you can't take]"},
            {"type": "resource_link", "uri": "file:///c.rs", "name": "c.rs", "size": 3},
            {"type": "resource_link", "uri": "file:///d.rs", "name": "d.rs", "mimeType": "text/x-rust"},
            {"type": "text", "text": "nvim://quickfix\n\ne.rs:1"},
            {"type": "resource_link", "uri": "file:///f.bin", "name": "f.bin", "mimeType": "text/x-rust"},
        ])
    );
}

#[test]
fn a_prompt_has_all_that_the_agent_takes() {
    let sent = sent(&json!({"image": true, "audio": true, "embeddedContext": true}));
    let kinds: Vec<&str> =
        sent.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["text", "image", "image", "audio", "resource_link", "resource", "resource", "resource"]
    );
    assert_eq!(
        sent[5],
        json!({"type": "resource", "resource": {"uri": "file:///d.rs", "mimeType": "text/x-rust", "text": "fn d() {}"}})
    );
    assert_eq!(sent[7]["resource"]["blob"], "AA==");
}

#[test]
fn a_path_is_sent_as_the_uri_of_its_file() {
    let mut test = Test::new();
    test.open_with(
        &json!({"agentCapabilities": {"promptCapabilities": {"embeddedContext": true}}}),
        &[expect("session/prompt"), end_turn()],
    );
    let link =
        |uri: &str| Content::Link { uri: uri.into(), name: "n".into(), title: None, mime: None, size: None };
    let content = vec![
        link("/a b/c#d?e%f.rs"),
        link("/\u{e9}/\u{1F600}~[x].md"),
        link("file:///a%20b"),
        link("nvim://quickfix"),
        Content::Resource { uri: "/a b".into(), mime: None, body: ResourceBody::Text("t".into()) },
    ];
    test.send(Command::Prompt { session: SESSION, content });
    test.stop_reason();
    let received = test.finish();
    let sent = &received.params("session/prompt")["prompt"];
    let uris: Vec<&str> = (0..4).map(|at| sent[at]["uri"].as_str().unwrap()).collect();
    assert_eq!(
        uris,
        [
            "file:///a%20b/c%23d%3Fe%25f.rs",
            "file:///%C3%A9/%F0%9F%98%80~%5Bx%5D.md",
            "file:///a%20b",
            "nvim://quickfix",
        ]
    );
    assert_eq!(sent[4]["resource"]["uri"], "file:///a%20b");
}

#[test]
fn a_turn_ends_with_its_answer_and_not_before() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        update(&chunk("done")),
        permission(7, "gate"),
        json!({"answer": 7}),
        // The last words and the answer come in one piece, and in this order.
        json!({"send": [
            {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": chunk("!")}},
            {"jsonrpc": "2.0", "id": "$session/prompt", "result": {"stopReason": "end_turn"}},
        ]}),
    ]);
    test.prompt("x");
    let (ask, _) = test.question();
    assert!(!test.events().iter().any(|event| matches!(event, Event::TurnEnded { .. })));
    test.answer(ask, Answer::Selected("no".into()));
    test.stop_reason();
    let events = test.events();
    let at = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted).unwrap();
    let last_word = at(&|event| matches!(event, Event::Updated { update, .. } if text(update) == Some("!")));
    assert!(last_word < at(&|event| matches!(event, Event::TurnEnded { .. })));
}

#[test]
fn a_turn_ends_for_each_reason_there_is_and_for_any_other() {
    let reasons = [
        (json!({"stopReason": "end_turn"}), StopReason::EndTurn),
        (json!({"stopReason": "max_tokens"}), StopReason::MaxTokens),
        (json!({"stopReason": "max_turn_requests"}), StopReason::MaxTurnRequests),
        (json!({"stopReason": "refusal"}), StopReason::Refusal),
        (json!({"stopReason": "cancelled"}), StopReason::Cancelled),
        (json!({"stopReason": "error"}), StopReason::Other("error".into())),
        (json!({}), StopReason::Other(String::new())),
        (json!(null), StopReason::Other(String::new())),
    ];
    let steps: Vec<Value> = reasons
        .iter()
        .flat_map(|(answer, _)| [expect("session/prompt"), answer_to("session/prompt", answer)])
        .collect();
    let mut test = Test::new();
    test.open(&steps);
    for (_, reason) in reasons {
        test.prompt("x");
        assert_eq!(test.stop_reason(), reason);
    }
}

#[test]
fn a_turn_tells_its_tokens_where_the_agent_does() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        answer_to("session/prompt", &json!({"stopReason": "end_turn", "usage": {"totalTokens": 12, "inputTokens": 10, "outputTokens": 2}})),
    ]);
    test.prompt("x");
    let tokens = Tokens { total: 12, input: 10, output: 2, ..Tokens::default() };
    let usage = Some(TurnUsage { tokens, counts: Counts::Session });
    assert_eq!(test.turn_end(), TurnEnd::Stopped { reason: StopReason::EndTurn, usage });
}

#[test]
fn a_turn_may_take_as_long_as_it_takes() {
    // All limits of time that there are are over long before the turn.
    let settings = Settings {
        initialize_timeout: Duration::from_secs(3),
        request_timeout: Duration::from_secs(1),
        ..Settings::default()
    };
    let mut test = Test::with(settings);
    test.open(&[expect("session/prompt"), json!({"pause": 4}), end_turn()]);
    test.prompt("x");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
}

#[test]
fn an_error_ends_the_turn_and_the_session_goes_on() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        fail("session/prompt", &json!({"code": -32603, "message": "overloaded"})),
        expect("session/prompt"),
        end_turn(),
    ]);
    test.prompt("x");
    assert_eq!(failure(test.turn_end()).message, "overloaded");
    test.prompt("y");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
}

#[test]
fn a_second_prompt_waits_for_the_end_of_the_first() {
    let mut test = Test::new();
    test.open(&[
        json!({"expect": "session/prompt", "as": "one"}),
        permission(7, "gate"),
        json!({"answer": 7}),
        answer_to("one", &json!({"stopReason": "max_tokens"})),
        json!({"expect": "session/prompt", "as": "two"}),
        answer_to("two", &json!({"stopReason": "end_turn"})),
    ]);
    test.prompt("one");
    test.prompt("two");
    let (ask, _) = test.question();
    assert_eq!(test.received().methods(), ["initialize", "session/new", "session/prompt"]);
    test.answer(ask, Answer::Selected("yes".into()));
    assert_eq!(test.stop_reason(), StopReason::MaxTokens);
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn each_kind_of_update_arrives_in_order() {
    let mut test = Test::new();
    let updates = [
        json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "u"}, "messageId": "m0"}),
        json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "t"}}),
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"}, "messageId": "m1"}),
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "b"}, "messageId": "m2"}),
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "video", "url": "x"}}),
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "@@not base64@@", "mimeType": "image/png"}}),
        json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "T", "kind": "dance", "status": "awaiting_permission", "name": "tool",
               "content": [{"type": "text", "text": "raw"}], "locations": [{"path": "/a", "line": 0}], "rawInput": "text"}),
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "cancelled"}),
        json!({"sessionUpdate": "plan", "entries": [{"content": "p", "priority": "zz", "status": "cancelled"}]}),
        json!({"sessionUpdate": "available_commands_update", "availableCommands": []}),
        json!({"sessionUpdate": "current_mode_update", "modeId": "ask"}),
        json!({"sessionUpdate": "config_option_update", "configOptions": []}),
        json!({"sessionUpdate": "session_info_update", "title": null}),
        json!({"sessionUpdate": "usage_update", "used": 1, "size": 0}),
        json!({"sessionUpdate": "notice", "severity": "_x", "title": "n"}),
        json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "k", "content": {"type": "text", "text": "s"}}),
        json!({"sessionUpdate": "compaction_update", "compactionId": "k", "status": "completed"}),
        json!({"sessionUpdate": "future_thing", "x": 1}),
        json!({"sessionUpdate": "agent_message_chunk", "content": "bare"}),
    ];
    let mut steps = vec![expect("session/prompt")];
    steps.extend(updates.iter().map(update));
    steps.push(end_turn());
    test.open(&steps);
    test.prompt("x");
    test.stop_reason();
    let message = |role, message: Option<&str>, content| Update::Message {
        role,
        message: message.map(Into::into),
        content,
    };
    let words = |text: &str| Content::Text(text.into());
    let call = ToolCallPatch {
        title: Some("T".into()),
        name: Some("tool".into()),
        kind: Some(ToolKind::Other),
        status: Some(WireStatus::Other("awaiting_permission".into())),
        content: Some(vec![ToolContent::Content(words("raw"))]),
        locations: Some(vec![Location { path: "/a".into(), line: Some(1) }]),
        raw_input: Some(json!("text")),
        ..ToolCallPatch::new("c")
    };
    let cancelled =
        ToolCallPatch { status: Some(WireStatus::Other("cancelled".into())), ..ToolCallPatch::new("c") };
    assert_eq!(
        test.updates(),
        [
            message(Role::User, Some("m0"), words("u")),
            message(Role::Thought, None, words("t")),
            message(Role::Agent, Some("m1"), words("a")),
            message(Role::Agent, Some("m2"), words("b")),
            message(Role::Agent, None, Content::Unknown { kind: "video".into() }),
            message(
                Role::Agent,
                None,
                Content::Picture(Box::new(Picture {
                    format: "PNG".into(),
                    size: None,
                    bytes: Some(9),
                    place: PicturePlace::Nowhere("it is not valid Base64".into()),
                }))
            ),
            Update::ToolCall(Box::new(call)),
            Update::ToolCall(Box::new(cancelled)),
            Update::Plan(vec![PlanItem {
                content: "p".into(),
                priority: Priority::Medium,
                status: PlanStatus::Pending
            }]),
            Update::Commands(vec![]),
            Update::Mode("ask".into()),
            Update::Options(vec![]),
            Update::Info { title: Some(None), updated_at: None },
            Update::Usage { used: 1, size: 0, cost: None },
            Update::Notice { severity: Severity::Info, title: "n".into(), description: None },
            Update::CompactionSummary { id: "k".into(), text: "s".into() },
            Update::Compaction {
                id: "k".into(),
                status: Some("completed".into()),
                summary: None,
                error: None
            },
            Update::Unknown { kind: "future_thing".into() },
            message(Role::Agent, None, words("bare")),
        ]
    );
    assert_eq!(test.finish().methods(), ["initialize", "session/new", "session/prompt"]);
}

#[test]
fn what_is_nested_beyond_reason_costs_no_more_than_itself() {
    let mut test = Test::new();
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    test.open(&[
        expect("session/prompt"),
        json!({"raw": format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"sessionId\":\"s1\",\"update\":{{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"T\",\"rawInput\":{deep}}}}}}}\n"
        )}),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    let [Update::ToolCall(call)] = &test.updates()[..] else { panic!("no tool call") };
    assert_eq!(call.title.as_deref(), Some("T"));
}

#[test]
fn fifty_thousand_chunks_arrive_whole() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        json!({"repeat": 50_000, "send": {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": chunk("word # ")}}}),
        end_turn(),
    ]);
    test.prompt("x");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    let said: String = test.updates().iter().filter_map(text).collect();
    let expected: String = (0..50_000).map(|number| format!("word {number} ")).collect();
    assert_eq!(said, expected);
}

/// Counts what the agent wrote, which only Linux tells.
#[test]
#[cfg(target_os = "linux")]
fn an_agent_that_is_faster_than_the_editor_is_held_back() {
    const MUCH: usize = 64 << 20;
    let mut test = Test::new();
    let chunk = chunk(&"x".repeat(1 << 20));
    let flood =
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": chunk}});
    test.open(&[expect("session/prompt"), json!({"repeat": MUCH >> 20, "send": flood}), end_turn()]);
    let agent = test.wait("Started", |event| match event {
        Event::Started { pid, .. } => Some(*pid),
        _ => None,
    });
    let written = || -> usize {
        let io = std::fs::read_to_string(format!("/proc/{agent}/io")).unwrap();
        let line = io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
        line.parse().unwrap()
    };
    test.prompt("x");
    // Nobody takes the events, so the agent's writing comes to a halt.
    let (mut last, mut still) = (0, 0);
    wait_for("a halt", || {
        let now = written();
        still = if now == last && now > 1 << 20 { still + 1 } else { 0 };
        last = now;
        still > 60
    });
    assert!(last < 16 << 20, "it wrote {last} bytes into a full mailbox");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    let said: usize = test.updates().iter().filter_map(text).map(str::len).sum();
    assert_eq!(said, MUCH);
}

#[test]
fn an_agent_that_is_held_back_can_be_ended() {
    let mut test = Test::new();
    let chunk = chunk(&"x".repeat(1 << 20));
    let flood =
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": chunk}});
    test.open(&[json!({"repeat": 64, "send": flood}), json!({"pause": 600})]);
    // Nobody takes the events, and yet everybody is gone.
    assert!(test.background.shut_down(Duration::from_secs(5)));
}

#[test]
fn cancelling_answers_what_is_open_and_waits_for_the_agent() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        permission(7, "c1"),
        permission(8, "c2"),
        request(9, "elicitation/create", &json!({"sessionId": "s1", "mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {}}})),
        expect("session/cancel"),
        json!({"answer": 7}),
        json!({"answer": 8}),
        json!({"answer": 9}),
        // What comes late is still taken, and a question that crosses the cancelling is answered at once.
        update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"})),
        permission(10, "c3"),
        json!({"answer": 10}),
        answer_to("session/prompt", &json!({"stopReason": "cancelled"})),
        expect("session/prompt"),
        end_turn(),
    ]);
    test.prompt("x");
    let asks = [test.question().0, test.question().0, test.question().0];
    test.send(Command::Cancel { session: SESSION });
    test.send(Command::Cancel { session: SESSION });
    assert_eq!(test.stop_reason(), StopReason::Cancelled);
    // An answer that comes too late does nothing, and cancelling nothing is harmless.
    test.answer(asks[0], Answer::Selected("yes".into()));
    test.send(Command::Cancel { session: SESSION });
    test.prompt("y");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    let events = test.events();
    for ask in asks {
        assert!(events.contains(&Event::Withdrawn { session: SESSION, ask }));
    }
    assert_eq!(test.updates().len(), 1);
    let received = test.finish();
    assert_eq!(received.params("session/cancel"), &json!({"sessionId": "s1"}));
    for id in [7, 8, 10] {
        assert_eq!(received.result(id), &json!({"outcome": {"outcome": "cancelled"}}));
    }
    assert_eq!(received.result(9), &json!({"action": "cancel"}));
}

#[test]
fn an_error_after_cancelling_is_the_cancelling() {
    for answer in [
        fail("session/prompt", &json!({"code": -32603, "message": "AbortError: aborted"})),
        answer_to("session/prompt", &json!({})),
        answer_to("session/prompt", &json!(null)),
    ] {
        let mut test = Test::new();
        test.open(&[expect("session/prompt"), expect("session/cancel"), answer]);
        test.prompt("x");
        test.send(Command::Cancel { session: SESSION });
        assert_eq!(test.stop_reason(), StopReason::Cancelled);
    }
}

#[test]
fn an_agent_that_ignores_cancelling_can_be_ended() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        expect("session/cancel"),
        update(&chunk("still here")),
        json!({"pause": 600}),
    ]);
    test.prompt("x");
    test.send(Command::Cancel { session: SESSION });
    test.wait("the late words", |event| matches!(event, Event::Updated { .. }).then_some(()));
    assert!(!test.events().iter().any(|event| matches!(event, Event::TurnEnded { .. })));
    test.send(Command::Disconnect { agent: AGENT });
    assert_eq!(failure(test.turn_end()).kind, FailureKind::Disconnected);
    assert!(test.exited().expected);
}

#[test]
fn cancelling_ends_the_prompts_that_wait_too() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        expect("session/cancel"),
        answer_to("session/prompt", &json!({"stopReason": "cancelled"})),
    ]);
    test.prompt("one");
    test.prompt("two");
    test.send(Command::Cancel { session: SESSION });
    assert_eq!(test.stop_reason(), StopReason::Cancelled);
    assert_eq!(test.stop_reason(), StopReason::Cancelled);
    assert_eq!(test.finish().all("session/prompt").len(), 1);
}

#[test]
fn a_running_turn_can_be_steered_where_that_is_declared() {
    let mut test = Test::new();
    let answers = [
        (json!({"outcome": "injected"}), "Injected"),
        (json!({"outcome": "startedNewTurn"}), "StartedNewTurn"),
        (json!({"outcome": "promptRequired", "reason": "noRunningTurn"}), "NotTaken"),
        (json!({"outcome": "failed", "reason": "too many"}), "NotTaken: too many"),
        (json!({}), "NotTaken: the agent didn't take it"),
        (json!(null), "NotTaken: the agent didn't take it"),
    ];
    let mut steps = vec![expect("session/prompt")];
    for (answer, _) in &answers {
        steps.extend([expect("_session/steering"), answer_to("_session/steering", answer)]);
    }
    steps.extend([
        expect("_session/steering"),
        fail("_session/steering", &json!({"code": -32603, "message": "broken"})),
        end_turn(),
    ]);
    test.open_with(&steerable(), &steps);
    test.prompt("x");
    for number in 0..=answers.len() {
        test.send(steer(&number.to_string()));
    }
    test.stop_reason();
    let expected = answers.iter().map(|(_, outcome)| *outcome).chain(["NotTaken: broken"]);
    for (number, outcome) in expected.enumerate() {
        assert_eq!(steered(&mut test), (number.to_string(), outcome.to_owned()));
    }
    let received = test.finish();
    let steered = received.all("_session/steering");
    assert_eq!(steered.len(), answers.len() + 1);
    assert_eq!(
        steered[0],
        &json!({"sessionId": "s1", "prompt": [{"type": "text", "text": "0"}], "_meta": {"steering": {"idleBehavior": "promptRequired"}}})
    );
}

#[test]
fn an_agent_is_steered_only_where_it_said_so_and_while_a_turn_runs() {
    let mut test = Test::new();
    test.open(&[expect("session/prompt"), end_turn()]);
    test.prompt("x");
    test.send(steer("left"));
    let not_offered = "NotTaken: agent doesn't offer to be steered";
    assert_eq!(steered(&mut test), ("left".into(), not_offered.into()));
    test.stop_reason();
    assert_eq!(test.finish().methods(), ["initialize", "session/new", "session/prompt"]);

    let mut test = Test::new();
    test.open_with(&steerable(), &[expect("session/prompt"), end_turn(), expect("session/prompt")]);
    test.prompt("x");
    test.stop_reason();
    test.send(steer("too late"));
    assert_eq!(steered(&mut test), ("too late".into(), "NotTaken".into()));
    test.prompt("y");
    test.send(Command::Cancel { session: SESSION });
    test.send(steer("cancelled"));
    assert_eq!(steered(&mut test), ("cancelled".into(), "NotTaken".into()));
    assert!(test.finish().all("_session/steering").is_empty());
}

#[test]
fn what_an_agent_leaves_unanswered_comes_back_when_it_ends() {
    let mut test = Test::new();
    let steps = [expect("session/prompt"), expect("_session/steering"), json!({"exit": 3})];
    test.open_with(&steerable(), &steps);
    test.prompt("x");
    test.send(steer("left"));
    let (content, outcome) = steered(&mut test);
    assert!(content == "left" && outcome.starts_with("NotTaken: "), "{outcome}");
    test.exited();
    test.send(steer("right"));
    let (content, outcome) = steered(&mut test);
    assert!(content == "right" && outcome.starts_with("NotTaken: "), "{outcome}");
}

#[test]
fn a_turn_that_the_agent_began_by_itself_can_be_cancelled() {
    let mut test = Test::new();
    let answer = json!({"outcome": "startedNewTurn"});
    test.open_with(
        &steerable(),
        &[
            expect("session/prompt"),
            expect("_session/steering"),
            end_turn(),
            answer_to("_session/steering", &answer),
        ],
    );
    test.prompt("x");
    test.send(steer("left"));
    assert_eq!(steered(&mut test).1, "StartedNewTurn");
    test.send(Command::Cancel { session: SESSION });
    test.send(Command::Cancel { session: SESSION });
    test.wait_received("the turn to be cancelled", |received| !received.all("session/cancel").is_empty());
    assert_eq!(test.finish().all("session/cancel").len(), 1);
}

fn steerable() -> Value {
    json!({"_meta": {"steering": {"supported": true}}})
}

fn steer(text: &str) -> Command {
    Command::Steer { session: SESSION, content: vec![Content::Text(text.into())] }
}

/// What became of the next one that was sent, and which it was.
fn steered(test: &mut Test) -> (String, String) {
    test.wait("Steered", |event| match event {
        Event::Steered { content, outcome, .. } => {
            let [Content::Text(text)] = &content[..] else { panic!("{content:?}") };
            let outcome = match outcome {
                Steering::Injected => "Injected".into(),
                Steering::StartedNewTurn => "StartedNewTurn".into(),
                Steering::NotTaken(None) => "NotTaken".into(),
                Steering::NotTaken(Some(failure)) => format!("NotTaken: {}", failure.message),
            };
            Some((text.to_string(), outcome))
        }
        _ => None,
    })
}

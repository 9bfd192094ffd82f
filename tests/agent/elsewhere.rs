//! Agents whose machine calls the project something else: each side gets paths in its own words, whatever starts
//! the agent and whatever carries its messages.

use acp_nvim::core::message::*;
use acp_nvim::core::text::elsewhere::PathRules;
use serde_json::{Value, json};

use super::support::*;

/// What the agent's machine calls the project.
const THERE: &str = "/srv/shop";

/// An agent with a session open in a project that it calls [`THERE`].
fn open(test: &mut Test, steps: &[Value]) {
    let mut all = vec![
        expect("initialize"),
        answer_to("initialize", &json!({"protocolVersion": 1})),
        expect("session/new"),
        answer_to("session/new", &json!({"sessionId": "s1"})),
        expect("session/prompt"),
    ];
    all.extend_from_slice(steps);
    let mut launch = test.launch("agent", &all);
    let here = test.project();
    launch.paths = PathRules::new([(THERE, here.to_str().expect("a text"))]);
    test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
    test.send(test.open_command(SESSION));
    test.opened();
}

fn a_turn(mut test: Test) {
    let path = test.file("notes.txt", "alpha\n");
    let uri = |root: &str| format!("file://{root}/notes.txt");
    let here = test.project().to_str().expect("a text").to_owned();
    open(
        &mut test,
        &[
            update(&json!({
                "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit", "kind": "edit",
                "locations": [{"path": "/srv/shop/notes.txt"}, {"path": "/etc/hosts"}],
                "content": [{"type": "diff", "path": "/srv/shop/notes.txt", "oldText": "alpha\n", "newText": "beta\n"}],
            })),
            request(8, "fs/read_text_file", &json!({"sessionId": "s1", "path": "/srv/shop/notes.txt"})),
            json!({"answer": 8}),
            request(9, "fs/read_text_file", &json!({"sessionId": "s1", "path": "/etc/hosts"})),
            json!({"answer": 9}),
            request(
                10,
                "fs/write_text_file",
                &json!({"sessionId": "s1", "path": "/srv/shop/new.txt", "content": "n"}),
            ),
            json!({"answer": 10}),
            end_turn(),
        ],
    );
    let link =
        Content::Link { uri: uri(&here), name: "notes.txt".into(), title: None, mime: None, size: None };
    test.send(Command::Prompt { session: SESSION, content: vec![link] });
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    let call = test.updates().into_iter().find_map(|update| match update {
        Update::ToolCall(patch) => Some(patch),
        _ => None,
    });
    let call = format!("{:?}", call.expect("a call"));
    let shown = path.to_str().expect("a text");
    assert!(call.contains(shown) && !call.contains(THERE) && !call.contains("/etc/hosts"), "{call}");
    assert_eq!(std::fs::read_to_string(test.path("new.txt")).expect("written"), "n");
    let received = test.finish();
    assert_eq!(received.params("session/new")["cwd"], THERE);
    assert_eq!(received.params("session/prompt")["prompt"][0]["uri"], uri(THERE));
    assert_eq!(received.result(8), &json!({"content": "alpha\n"}));
    let (code, message) = received.error(9);
    assert!(code == -32602 && message.contains("agents.agent.paths"), "{code} {message}");
}

#[test]
fn a_turn_with_an_agent_that_a_command_starts_elsewhere() {
    a_turn(Test::new());
}

#[test]
fn a_turn_with_an_agent_at_an_address() {
    a_turn(Test::new().carried_over("ws"));
    a_turn(Test::new().carried_over("http"));
}

#[test]
fn a_command_runs_in_the_folder_of_this_machine() {
    let mut test = Test::new();
    let create =
        json!({"sessionId": "s1", "command": "cat", "args": ["/srv/shop/sub/a"], "cwd": "/srv/shop/sub"});
    test.file("sub/a", "of here");
    open(&mut test, &[request(7, "terminal/create", &create), json!({"answer": 7}), end_turn()]);
    test.prompt("x");
    test.stop_reason();
    let cwd = test.wait("TerminalStarted", |event| match event {
        Event::TerminalStarted { cwd, .. } => Some(cwd.clone()),
        _ => None,
    });
    assert_eq!(cwd, test.path("sub"));
    test.wait("its output", |event| match event {
        Event::TerminalGrew { bytes, .. } => String::from_utf8_lossy(bytes).contains("of here").then_some(()),
        _ => None,
    });
    test.finish();
}

#[test]
fn what_is_declined_is_not_offered_and_not_served() {
    let mut test = Test::new();
    let mut launch = test.launch(
        "agent",
        &[
            expect("initialize"),
            answer_to("initialize", &json!({"protocolVersion": 1})),
            expect("session/new"),
            answer_to("session/new", &json!({"sessionId": "s1"})),
            request(7, "terminal/create", &json!({"sessionId": "s1", "command": "true"})),
            request(8, "fs/read_text_file", &json!({"sessionId": "s1", "path": "/a"})),
        ],
    );
    (launch.without_files, launch.without_terminals) = (true, true);
    test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
    test.send(test.open_command(SESSION));
    test.opened();
    test.wait_received("answers", |received| {
        [7, 8].iter().all(|id| !received.answers(&json!(id)).is_empty())
    });
    let received = test.finish();
    let can = &received.params("initialize")["clientCapabilities"];
    assert_eq!(
        (&can["fs"], &can["terminal"]),
        (&json!({"readTextFile": false, "writeTextFile": false}), &json!(false))
    );
    assert_eq!((received.error(7).0, received.error(8).0), (-32601, -32601));
}

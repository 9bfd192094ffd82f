//! Files and commands that the agent uses through the client.

use acp_nvim::core::ids::*;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

fn read(id: i64, path: &std::path::Path) -> Value {
    request(id, "fs/read_text_file", &json!({"sessionId": "s1", "path": path}))
}

fn write(id: i64, path: &std::path::Path, content: &str) -> Value {
    request(id, "fs/write_text_file", &json!({"sessionId": "s1", "path": path, "content": content}))
}

/// A session in which the agent sends these one after the other and waits for each answer.
fn asked(test: &mut Test, answer: &Value, requests: &[Value]) {
    let mut steps = vec![expect("session/prompt")];
    for request in requests {
        steps.extend([request.clone(), json!({"answer": request["send"]["id"]})]);
    }
    steps.push(end_turn());
    test.open_with(answer, &steps);
    test.prompt("x");
}

#[test]
fn a_file_that_no_buffer_holds_is_served_from_the_disk() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one\r\ntwo\nthree");
    let new = test.path("new/folder/b.txt");
    let part = |id: i64, line: Value, limit: Value| {
        request(
            id,
            "fs/read_text_file",
            &json!({"sessionId": "s1", "path": path, "line": line, "limit": limit}),
        )
    };
    asked(
        &mut test,
        &json!({}),
        &[
            read(5, &path),
            part(6, json!(2), json!(1)),
            part(7, json!(0), json!(1)),
            part(8, json!(9), json!(null)),
            write(9, &new, "x\r\ny"),
            read(10, &new),
        ],
    );
    test.stop_reason();
    let served: Vec<Access> = test
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::FileServed { access, .. } => Some(*access),
            _ => None,
        })
        .collect();
    assert_eq!(served, [Access::Read, Access::Read, Access::Read, Access::Read, Access::Wrote, Access::Read]);
    assert_eq!(std::fs::read_to_string(new).unwrap(), "x\r\ny");
    let received = test.finish();
    for (id, content) in [(5, "one\r\ntwo\nthree"), (6, "two\n"), (7, "one\r\n"), (8, ""), (10, "x\r\ny")] {
        assert_eq!(received.result(id), &json!({ "content": content }));
    }
    assert_eq!(received.result(9), &json!({}));
}

#[test]
fn a_file_in_a_buffer_is_asked_of_the_editor() {
    let mut test = Test::new();
    let path = test.file("a.txt", "on the disk");
    let link = test.path("link.txt");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let new = test.path("not written yet.txt");
    test.send(Command::FileLoaded { path: link.clone() });
    test.send(Command::FileLoaded { path: new.clone() });
    asked(
        &mut test,
        &json!({}),
        &[
            request(5, "fs/read_text_file", &json!({"sessionId": "s1", "path": path, "line": 2, "limit": 3})),
            write(6, &path, "new text"),
            write(7, &path, "newer text"),
            read(8, &new),
            read(9, &new),
        ],
    );
    // The editor gets the name that it gave.
    let (ask, question) = test.question();
    assert_eq!(question, Question::Read { path: link.clone(), line: Some(2), limit: Some(3) });
    test.answer(ask, Answer::Text("in the buffer".into()));
    let (ask, question) = test.question();
    assert_eq!(question, Question::Write { path: link.clone(), content: "new text".into() });
    test.answer(ask, Answer::Done { decided: None });
    let (ask, _) = test.question();
    test.answer(ask, Answer::Refused("the user changed the same lines; read the file again".into()));
    let (ask, question) = test.question();
    assert_eq!(question, Question::Read { path: new, line: None, limit: None });
    test.answer(ask, Answer::Text("unsaved".into()));
    let (ask, _) = test.question();
    test.answer(ask, Answer::Cancelled);
    test.stop_reason();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "on the disk");
    let received = test.finish();
    assert_eq!(received.result(5), &json!({"content": "in the buffer"}));
    assert_eq!(received.result(6), &json!({}));
    assert_eq!(received.error(7), (-32603, "the user changed the same lines; read the file again"));
    assert_eq!(received.result(8), &json!({"content": "unsaved"}));
    assert_eq!(received.error(9).0, -32800);
}

#[test]
fn a_file_that_was_unloaded_is_served_from_the_disk_again() {
    let mut test = Test::new();
    let path = test.file("a.txt", "on the disk");
    test.send(Command::FileLoaded { path: path.clone() });
    test.send(Command::FileUnloaded { path: path.clone() });
    asked(&mut test, &json!({}), &[read(5, &path)]);
    test.stop_reason();
    assert_eq!(test.finish().result(5), &json!({"content": "on the disk"}));
}

#[test]
fn a_file_outside_of_the_sessions_folders_is_refused_and_told() {
    let mut test = Test::new();
    let outside = test.folder.join("secret.txt");
    std::fs::write(&outside, "secret").unwrap();
    std::fs::create_dir(test.folder.join("project2")).unwrap();
    let sibling = test.folder.join("project2/a.txt");
    std::fs::write(&sibling, "secret").unwrap();
    let link = test.path("link.txt");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let up = test.path("../secret.txt");
    let nowhere = test.folder.join("nowhere/new.txt");
    test.send(Command::FileLoaded { path: outside.clone() });
    asked(
        &mut test,
        &json!({}),
        &[
            read(5, &outside),
            read(6, &sibling),
            read(7, &link),
            read(8, &up),
            write(9, &link, "stolen"),
            write(10, &nowhere, "x"),
        ],
    );
    test.stop_reason();
    let notes = test.events().iter().filter(|event| matches!(event, Event::Noted { .. })).count();
    assert_eq!(notes, 6);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "secret");
    let received = test.finish();
    for id in 5..=10 {
        let (code, message) = received.error(id);
        assert_eq!(code, -32602);
        assert!(
            message.contains("outside of the session's folders") && message.contains("ask the user"),
            "{message}"
        );
    }
}

#[test]
fn further_folders_are_the_sessions_too() {
    let mut test = Test::new();
    let other = test.folder.join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("a.txt"), "there").unwrap();
    test.connect(&[
        expect("session/new"),
        answer_to("session/new", &json!({"sessionId": "s1"})),
        expect("session/prompt"),
        read(5, &other.join("a.txt")),
        json!({"answer": 5}),
        end_turn(),
    ]);
    let place = Place { cwd: test.project(), additional: vec![other], ..Place::default() };
    test.send(Command::Open { agent: AGENT, session: SESSION, place });
    test.opened();
    test.prompt("x");
    test.stop_reason();
    assert_eq!(test.finish().result(5), &json!({"content": "there"}));
}

#[test]
fn a_missing_file_is_an_error_except_for_an_agent_that_stumbles_over_it() {
    let mut test = Test::new();
    let path = test.path("missing.txt");
    asked(&mut test, &json!({"agentInfo": {"name": "x", "version": "1"}}), &[read(5, &path)]);
    test.stop_reason();
    let received = test.finish();
    assert_eq!(received.error(5).0, -32002);
    let answer = &received.answers(&json!(5))[0]["error"];
    assert_eq!(answer["data"], json!({ "path": path }));

    let mut test = Test::new();
    let path = test.path("missing.txt");
    asked(&mut test, &json!({"agentInfo": {"name": "gemini-cli", "version": "1"}}), &[read(5, &path)]);
    test.stop_reason();
    assert_eq!(test.finish().result(5), &json!({"content": ""}));
}

#[test]
fn a_file_that_is_no_text_is_an_error() {
    let mut test = Test::new();
    let path = test.path("a.bin");
    std::fs::write(&path, [0xff, 0xfe, 0x00, 0x80, 0x81]).unwrap();
    asked(&mut test, &json!({}), &[read(5, &path)]);
    test.stop_reason();
    assert_eq!(test.finish().error(5).0, -32603);
}

#[test]
fn a_path_that_is_not_absolute_is_refused() {
    let mut test = Test::new();
    let paths = ["src/a", "~/a", "file:///a", ""];
    let requests: Vec<Value> = (5..).zip(paths).map(|(id, path)| read(id, path.as_ref())).collect();
    asked(&mut test, &json!({}), &requests);
    test.stop_reason();
    let received = test.finish();
    for (id, _) in (5..).zip(paths) {
        let (code, message) = received.error(id);
        assert_eq!(code, -32602);
        assert!(message.contains("`path` must be an absolute path"), "{message}");
    }
}

#[test]
fn a_read_that_waits_for_the_editor_is_answered_at_the_end() {
    let mut test = Test::new();
    let path = test.file("a.txt", "a");
    test.send(Command::FileLoaded { path: path.clone() });
    test.open(&[read(5, &path), permission(6, "c"), json!({"answer": 5}), json!({"answer": 6})]);
    test.question();
    test.question();
    let received = test.finish();
    assert_eq!(received.error(5).0, -32800);
    assert_eq!(received.result(6), &json!({"outcome": {"outcome": "cancelled"}}));
}

#[test]
fn reads_and_writes_of_one_file_keep_their_order() {
    let mut test = Test::new();
    let path = test.path("a.txt");
    let mut steps = vec![expect("session/prompt")];
    for number in 0..20 {
        steps.extend([write(2 * number, &path, &format!("{number}")), read(2 * number + 1, &path)]);
    }
    steps.extend([json!({"answer": 39}), end_turn()]);
    test.open(&steps);
    test.prompt("x");
    test.stop_reason();
    let received = test.finish();
    for number in 0..20 {
        assert_eq!(received.result(2 * number + 1), &json!({"content": number.to_string()}));
    }
}

#[test]
fn a_command_runs_and_its_output_is_read() {
    let mut test = Test::new();
    let terminal =
        |id: i64, method: &str| request(id, method, &json!({"sessionId": "s1", "terminalId": "terminal-1"}));
    asked(
        &mut test,
        &json!({}),
        &[
            request(
                5,
                "terminal/create",
                &json!({"sessionId": "s1", "command": "printf '%s' \"$WORD\"; pwd; exit 3", "env": [{"name": "WORD", "value": "hi "}]}),
            ),
            terminal(6, "terminal/wait_for_exit"),
            terminal(7, "terminal/output"),
            terminal(8, "terminal/release"),
            terminal(9, "terminal/output"),
            terminal(10, "terminal/wait_for_exit"),
            request(
                11,
                "terminal/create",
                &json!({"sessionId": "s1", "command": "no-such-program", "args": ["-x"]}),
            ),
            request(12, "terminal/create", &json!({"sessionId": "s1", "command": "ls", "cwd": "relative"})),
        ],
    );
    test.stop_reason();
    let project = test.project();
    let received = test.finish();
    assert_eq!(received.result(5), &json!({"terminalId": "terminal-1"}));
    assert_eq!(received.result(6), &json!({"exitCode": 3}));
    assert_eq!(
        received.result(7),
        &json!({"output": format!("hi {}\n", project.display()), "truncated": false, "exitStatus": {"exitCode": 3}})
    );
    assert_eq!(received.result(8), &json!({}));
    assert_eq!(received.error(9).0, -32002);
    assert_eq!(received.error(10).0, -32002);
    let (code, message) = received.error(11);
    assert_eq!(code, -32602);
    assert!(message.starts_with("couldn't run the command: no such program"), "{message}");
    assert_eq!(received.error(12).0, -32602);
}

#[test]
fn waiting_for_a_command_can_be_taken_back() {
    let mut test = Test::new();
    let terminal =
        |id: i64, method: &str| request(id, method, &json!({"sessionId": "s1", "terminalId": "terminal-1"}));
    test.open(&[
        expect("session/prompt"),
        request(5, "terminal/create", &json!({"sessionId": "s1", "command": "sleep 600"})),
        json!({"answer": 5}),
        terminal(6, "terminal/wait_for_exit"),
        terminal(7, "terminal/wait_for_exit"),
        notify("$/cancel_request", &json!({"requestId": 6})),
        json!({"answer": 6}),
        terminal(8, "terminal/kill"),
        json!({"answer": 7}),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    let received = test.finish();
    assert_eq!(received.error(6).0, -32800);
    assert_eq!(received.result(7), &json!({"signal": "SIGTERM"}));
    assert_eq!(received.result(8), &json!({}));
}

#[test]
fn a_cancelled_turn_takes_its_commands_with_it() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        request(5, "terminal/create", &json!({"sessionId": "s1", "command": "sleep 600"})),
        json!({"answer": 5}),
        expect("session/cancel"),
        answer_to("session/prompt", &json!({"stopReason": "cancelled"})),
        request(6, "terminal/wait_for_exit", &json!({"sessionId": "s1", "terminalId": "terminal-1"})),
        json!({"answer": 6}),
        json!({"exit": 0}),
    ]);
    test.prompt("x");
    test.wait("TerminalStarted", |event| matches!(event, Event::TerminalStarted { .. }).then_some(()));
    test.send(Command::Cancel { session: SESSION });
    test.stop_reason();
    test.exited();
    assert_eq!(test.received().result(6), &json!({"signal": "SIGTERM"}));
}

#[test]
fn a_command_that_waits_for_input_does_not_keep_a_turn_from_being_stopped() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        request(5, "terminal/create", &json!({"sessionId": "s1", "command": "read line"})),
        json!({"answer": 5}),
        request(6, "terminal/wait_for_exit", &json!({"sessionId": "s1", "terminalId": "terminal-1"})),
        expect("session/cancel"),
        // One that was about to start when the turn was stopped is no other.
        request(7, "terminal/create", &json!({"sessionId": "s1", "command": "read line"})),
        json!({"answer": 7}),
        request(8, "terminal/wait_for_exit", &json!({"sessionId": "s1", "terminalId": "terminal-2"})),
        json!({"answer": 6}),
        json!({"answer": 8}),
        answer_to("session/prompt", &json!({"stopReason": "end_turn"})),
        json!({"exit": 0}),
    ]);
    test.prompt("x");
    test.wait("TerminalStarted", |event| matches!(event, Event::TerminalStarted { .. }).then_some(()));
    test.send(Command::Cancel { session: SESSION });
    test.exited();
    let received = test.received();
    assert!(received.result(6)["signal"].is_string() || received.result(6)["exitCode"] != 0);
    assert!(received.result(8)["signal"].is_string() || received.result(8)["exitCode"] != 0);
}

#[test]
fn commands_that_a_turn_leaves_are_ended_however_the_agent_says_that_it_stopped() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        request(5, "terminal/create", &json!({"sessionId": "s1", "command": "read line"})),
        json!({"answer": 5}),
        expect("session/cancel"),
        answer_to("session/prompt", &json!({"stopReason": "end_turn"})),
        request(6, "terminal/wait_for_exit", &json!({"sessionId": "s1", "terminalId": "terminal-1"})),
        json!({"answer": 6}),
        json!({"exit": 0}),
    ]);
    test.prompt("x");
    test.wait("TerminalStarted", |event| matches!(event, Event::TerminalStarted { .. }).then_some(()));
    test.send(Command::Cancel { session: SESSION });
    test.exited();
    assert!(test.received().result(6)["signal"].is_string());
}

#[test]
fn commands_end_with_their_agent() {
    let mut test = Test::new();
    let mark = test.path("pid");
    test.open(&[
        request(5, "terminal/create", &json!({"sessionId": "s1", "command": format!("echo $$ > {}.new && mv {}.new {}; sleep 600", mark.display(), mark.display(), mark.display())})),
        json!({"answer": 5}),
        json!({"stop_reading": true}),
        expect("session/prompt"),
        json!({"exit": 0}),
    ]);
    wait_for("the command", || mark.exists());
    test.prompt("x");
    // It stopped reading, so it needs an end from outside.
    test.send(Command::Disconnect { agent: AGENT });
    test.exited();
    test.wait("TerminalEnded", |event| matches!(event, Event::TerminalEnded { .. }).then_some(()));
}

#[test]
fn output_of_commands_that_the_agent_runs_itself_is_shown() {
    let mut test = Test::new();
    let call = |fields: Value| {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t"});
        for (key, value) in fields.as_object().unwrap() {
            update[key] = value.clone();
        }
        super::support::update(&update)
    };
    test.open(&[
        expect("session/prompt"),
        call(json!({"sessionUpdate": "tool_call", "title": "ls", "content": [{"type": "terminal", "terminalId": "t"}], "_meta": {"terminal_info": {"terminal_id": "t"}}})),
        call(json!({"_meta": {"terminal_output_delta": {"terminal_id": "t", "data": "a\nb"}}})),
        call(json!({"_meta": {"terminal_output": {"terminal_id": "t", "data": "\n"}}})),
        call(json!({"status": "completed", "_meta": {"terminal_exit": {"terminal_id": "t", "exit_code": 0, "signal": null}}})),
        call(json!({"toolCallId": "u", "_meta": {"terminal_output": {"terminal_id": "u", "data": "of no terminal"}}})),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    let project = test.project();
    let events = test.events();
    let started: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::TerminalStarted { terminal, command, cwd, typing, .. } => {
                Some((terminal.clone(), command.clone(), cwd.clone(), *typing))
            }
            _ => None,
        })
        .collect();
    let [(terminal, command, cwd, typing)] = &started[..] else { panic!("{started:?}") };
    assert_eq!((command.as_str(), cwd, *typing), ("ls", &project, false));
    let output: Vec<u8> = events
        .iter()
        .filter_map(|event| match event {
            Event::TerminalGrew { terminal: grown, bytes, .. } => {
                assert_eq!(grown, terminal);
                Some(bytes.clone())
            }
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(output, b"a\r\nb\r\n");
    let updates = test.updates();
    let Update::ToolCall(first) = &updates[0] else { panic!("{updates:?}") };
    assert_eq!(first.content, Some(vec![ToolContent::Terminal(terminal.clone())]), "the call shows it");
    let content = Some(vec![ToolContent::Content(Content::Text("of no terminal".into()))]);
    let patch = ToolCallPatch { content, ..ToolCallPatch::new("u") };
    assert_eq!(updates.last(), Some(&Update::ToolCall(Box::new(patch))));
    let end = Event::TerminalEnded {
        session: SESSION,
        terminal: terminal.clone(),
        exit: Exit { code: Some(0), signal: None },
    };
    assert!(events.contains(&end));
}

#[test]
fn commands_whose_end_an_agent_does_not_tell_end_with_their_turn_or_their_agent() {
    let runs = |id: &str| {
        super::support::update(&json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": id, "status": "in_progress",
            "content": [{"type": "terminal", "terminalId": id}], "_meta": {"terminal_info": {"terminal_id": id}},
        }))
    };
    let mut test = Test::new();
    test.open(&[expect("session/prompt"), runs("a"), end_turn(), runs("b"), json!({"exit": 0})]);
    test.prompt("x");
    test.exited();
    let told: Vec<_> = test
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::TerminalStarted { command, .. } => Some(command),
            Event::TerminalEnded { exit, .. } => Some(format!("ended {exit:?}")),
            Event::TurnEnded { .. } => Some("turn".into()),
            Event::Exited { .. } => Some("exited".into()),
            _ => None,
        })
        .collect();
    let ended = format!("ended {:?}", Exit::default());
    assert_eq!(told, ["a", &ended, "turn", "b", &ended, "exited"]);
}

#[test]
fn a_command_that_runs_here_is_not_told_twice() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        request(5, "terminal/create", &json!({"sessionId": "s1", "command": "echo", "args": ["once"]})),
        json!({"answer": 5}),
        request(6, "terminal/wait_for_exit", &json!({"sessionId": "s1", "terminalId": "terminal-1"})),
        json!({"answer": 6}),
        super::support::update(&json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
            "content": [{"type": "terminal", "terminalId": "terminal-1"}],
            "_meta": {
                "terminal_output": {"terminal_id": "terminal-1", "data": "once\n"},
                "terminal_exit": {"terminal_id": "terminal-1", "exit_code": 0},
            },
        })),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    test.wait("TerminalEnded", |event| matches!(event, Event::TerminalEnded { .. }).then_some(()));
    let events = test.events();
    let count = |wanted: fn(&Event) -> bool| events.iter().filter(|event| wanted(event)).count();
    assert_eq!(count(|event| matches!(event, Event::TerminalStarted { .. })), 1);
    assert_eq!(count(|event| matches!(event, Event::TerminalEnded { .. })), 1);
    let mut output = Vec::new();
    for event in &events {
        if let Event::TerminalGrew { bytes, .. } = event {
            output.extend_from_slice(bytes);
        }
    }
    assert_eq!(output, b"once\r\n");
    let shown = test.updates().into_iter().find_map(|update| match update {
        Update::ToolCall(call) => call.content,
        _ => None,
    });
    assert_eq!(shown, Some(vec![ToolContent::Terminal(TerminalId("terminal-1".into()))]));
}

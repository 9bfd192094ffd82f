//! Lines, bytes and noise: what goes through the pipes, whatever it means.

use std::time::{Duration, Instant};

use acp_nvim::acp::Settings;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

fn said(test: &mut Test) -> String {
    test.updates().iter().filter_map(text).collect()
}

#[test]
fn text_of_any_script_arrives_unchanged() {
    let mut test = Test::new();
    let words = "héllo 世界 \u{1F469}\u{200D}\u{1F4BB} \u{0}\u{2028}\"\\";
    test.open(&[
        expect("session/prompt"),
        update(&json!({"sessionUpdate": "agent_message_chunk", "content": "$session/prompt.prompt.0"})),
        end_turn(),
    ]);
    test.prompt(words);
    test.stop_reason();
    assert_eq!(said(&mut test), words);
    assert_eq!(test.finish().params("session/prompt")["prompt"][0]["text"], words);
}

#[test]
fn a_message_is_one_line_whatever_is_in_it() {
    let mut test = Test::new();
    test.open(&[expect("session/prompt"), end_turn()]);
    test.prompt("one\ntwo\r\nthree\n");
    test.stop_reason();
    let received = test.finish();
    assert_eq!(received.methods(), ["initialize", "session/new", "session/prompt"]);
}

#[test]
fn what_stands_on_stderr_is_never_a_message() {
    let mut test = Test::new();
    let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": chunk("no")}});
    test.open(&[
        json!({"stderr": format!("{line}\n\u{1b}[31mred\u{1b}[0m\n")}),
        expect("session/prompt"),
        end_turn(),
        json!({"exit": 0}),
    ]);
    test.prompt("x");
    test.stop_reason();
    let ending = test.exited();
    assert_eq!(ending.stderr, [line.to_string(), "red".into()]);
    assert_eq!(test.updates(), []);
}

#[test]
fn noise_around_the_messages_is_skipped() {
    let mut test = Test::new();
    test.start(&[
        json!({"raw": "Welcome to the agent!\n\n\u{1b}]0;title\u{7}\r\n42\n{\"level\":30,\"msg\":\"log\"}\n"}),
        expect("initialize"),
        json!({"raw": "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}\r\n"}),
        expect("session/new"),
        json!({"raw": "{\"jsonrpc\":\"2.0\",\"id\":2,"}),
        json!({"raw": "\"result\":{\"sessionId\":\"s1\"}}\n"}),
    ]);
    test.send(test.open_command(SESSION));
    assert_eq!(test.opened().acp_id, "s1");
    let noted = test.wait("a note", |event| match event {
        Event::Noted { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert!(noted.contains("Welcome to the agent!"), "{noted}");
    // It is said once, and the agent is told nothing.
    let notes = test.events().into_iter().filter(|event| matches!(event, Event::Noted { .. })).count();
    assert_eq!(notes, 1);
    assert_eq!(test.finish().methods(), ["initialize", "session/new"]);
}

#[test]
fn messages_are_put_together_from_single_bytes_and_taken_apart_from_one_write() {
    let mut test = Test::new();
    let message = |text: &str| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": chunk(text)}});
    let fifty: Vec<Value> = (0..50).map(|number| message(&format!("{number},"))).collect();
    test.open(&[
        expect("session/prompt"),
        json!({"trickle": message("é\u{1F600};")}),
        json!({"send": fifty}),
        // The last message has no line end.
        json!({"raw": "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}"}),
        json!({"close_stdout": true}),
    ]);
    test.prompt("x");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    let expected: String = (0..50).map(|number| format!("{number},")).collect();
    assert_eq!(said(&mut test), format!("é\u{1F600};{expected}"));
}

#[test]
fn a_message_without_end_ends_the_conversation() {
    let mut test = Test::with(Settings { message_limit: 1 << 20, ..Settings::default() });
    test.open(&[expect("session/prompt"), json!({"flood": 64 << 20})]);
    test.prompt("x");
    let TurnEnd::Failed(failure) = test.turn_end() else { panic!("the turn didn't fail") };
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::Protocol, "it sent a message of more than 1 MiB, which is the limit")
    );
    assert_eq!(test.exited().failure, Some(failure));
}

#[test]
fn both_sides_may_write_much_at_once() {
    let mut test = Test::new();
    let much = "x".repeat(1000);
    test.open(&[
        json!({"stop_reading": true}),
        json!({"repeat": 20_000, "send": {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": chunk(&much)}}}),
        json!({"read_again": true}),
        expect("session/prompt"),
        end_turn(),
    ]);
    test.prompt(&"y".repeat(5 << 20));
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    assert_eq!(said(&mut test).len(), 20_000_000);
    assert_eq!(
        test.finish().params("session/prompt")["prompt"][0]["text"].as_str().map(str::len),
        Some(5 << 20)
    );
}

#[test]
fn the_framing_of_a_language_server_is_named() {
    let mut test = Test::new();
    test.start(&[
        expect("initialize"),
        json!({"raw": "Content-Length: 52\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}"}),
    ]);
    let failure = test.exited().failure.expect("a failure");
    assert_eq!(failure.kind, FailureKind::Framing);
    assert!(failure.message.contains("Content-Length"), "{}", failure.message);
}

#[test]
fn an_agent_that_dies_in_a_turn_says_so_once_to_each_who_waits() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        expect("session/set_mode"),
        permission(7, "c1"),
        json!({"stderr": "panic: out of cheese\n"}),
        json!({"exit": 3}),
    ]);
    test.prompt("x");
    test.send(Command::SetMode { session: SESSION, mode: "ask".into() });
    let (ask, _) = test.question();
    let ending = test.exited();
    assert_eq!(ending.exit, Some(Exit { code: Some(3), signal: None }));
    assert_eq!(ending.stderr, ["panic: out of cheese"]);
    assert_eq!((ending.failure, ending.expected), (None, false));
    let TurnEnd::Failed(failure) = test.turn_end() else { panic!("the turn didn't fail") };
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::Disconnected, "agent ended with exit code 3")
    );
    assert_eq!(failure.details.as_deref(), Some("panic: out of cheese"));
    assert_eq!(test.failed().0, "change the mode");
    assert!(test.events().contains(&Event::Withdrawn { session: SESSION, ask }));
    assert!(matches!(test.events().last(), Some(Event::Exited { .. })), "nothing comes after the end");
    // An answer after the end hurts nobody.
    test.answer(ask, Answer::Selected("yes".into()));
    assert_eq!(test.received().answers(&json!(7)), Vec::<&Value>::new());
}

#[test]
fn an_agent_killed_by_a_signal_is_known_by_its_name() {
    let mut test = Test::new();
    test.open(&[expect("session/prompt"), json!({"spawn": "kill -KILL $PPID"}), json!({"pause": 60})]);
    test.prompt("x");
    assert_eq!(test.exited().exit, Some(Exit { code: None, signal: Some("SIGKILL".into()) }));
}

#[test]
fn an_agent_that_closes_its_output_but_lives_on_is_ended() {
    let mut test = Test::new();
    test.open(&[expect("session/prompt"), json!({"close_stdout": true}), json!({"pause": 60})]);
    test.prompt("x");
    let TurnEnd::Failed(failure) = test.turn_end() else { panic!("the turn didn't fail") };
    assert_eq!(failure.message, "agent closed its output");
    test.exited();
    assert!(test.background.shut_down(Duration::from_secs(5)));
}

#[test]
fn what_an_agent_started_does_not_outlive_it() {
    let mut test = Test::new();
    // The agent ignores the end of its input and the request to go; its child ignores the request, too.
    test.open(&[
        json!({"ignore_term": true}),
        json!({"spawn": "trap '' TERM; sleep 600 & wait; sleep 600"}),
        json!({"pause": 600}),
    ]);
    let child = child(&test);
    assert!(alive(child));
    let begun = Instant::now();
    test.send(Command::Disconnect { agent: AGENT });
    let ending = test.exited();
    assert!(ending.expected);
    assert_eq!(ending.exit, Some(Exit { code: None, signal: Some("SIGKILL".into()) }));
    assert!(!alive(child), "the agent's child lives on");
    assert!(begun.elapsed() < Duration::from_secs(8));
}

#[test]
fn neovims_end_does_not_wait_for_the_slow() {
    let mut test = Test::new();
    test.open(&[
        json!({"ignore_term": true}),
        json!({"spawn": "trap '' TERM; sleep 600"}),
        json!({"pause": 600}),
    ]);
    let child = child(&test);
    let begun = Instant::now();
    assert!(test.background.shut_down(Duration::from_secs(1)), "not gone in time");
    assert!(begun.elapsed() < Duration::from_millis(1500));
    assert!(!alive(child), "the agent's child lives on");
}

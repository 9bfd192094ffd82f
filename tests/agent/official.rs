//! Conversations through the server that comes with the protocol's own crates: what this client takes for the protocol is
//! what others take for it.

use acp_nvim::core::message::*;
use serde_json::json;

use super::remote::{the_same_over_a_websocket, the_same_over_http};
use super::support::*;

fn for_each(mut run: impl FnMut(Test)) {
    for scheme in ["official-ws", "official-http"] {
        run(Test::new().carried_over(scheme));
    }
}

#[test]
fn a_turn_with_text_a_file_and_a_question() {
    for_each(|mut test| {
        let path = test.file("notes.txt", "alpha\nbeta\n");
        test.open(&[
            expect("session/prompt"),
            update(&chunk("Hel")),
            update(&chunk("lo")),
            permission(7, "c1"),
            json!({"answer": 7}),
            request(8, "fs/read_text_file", &json!({"sessionId": "s1", "path": path, "line": 2, "limit": 1})),
            json!({"answer": 8}),
            end_turn(),
        ]);
        test.prompt("Hi");
        let (ask, _) = test.question();
        test.answer(ask, Answer::Selected("yes".into()));
        assert_eq!(test.stop_reason(), StopReason::EndTurn);
        let said: String = test.updates().iter().filter_map(text).collect();
        assert_eq!(said, "Hello");
        let received = test.finish();
        assert_eq!(received.methods(), ["initialize", "session/new", "session/prompt"]);
        assert_eq!(received.result(8), &json!({"content": "beta\n"}));
    });
}

#[test]
fn a_turn_is_cancelled_while_it_asks() {
    for_each(|mut test| {
        test.open(&[
            expect("session/prompt"),
            permission(7, "c1"),
            expect("session/cancel"),
            json!({"answer": 7}),
            answer_to("session/prompt", &json!({"stopReason": "cancelled"})),
        ]);
        test.prompt("Hi");
        test.question();
        test.send(Command::Cancel { session: SESSION });
        assert_eq!(test.stop_reason(), StopReason::Cancelled);
        assert_eq!(test.finish().result(7), &json!({"outcome": {"outcome": "cancelled"}}));
    });
}

#[test]
fn a_stored_session_says_what_it_holds_before_it_is_open() {
    for_each(|mut test| {
        let able = json!({ "agentCapabilities": { "loadSession": true } });
        test.connect_with(
            &able,
            &[expect("session/load"), update(&chunk("before")), answer_to("session/load", &json!({}))],
        );
        let (place, acp_id) = (test.place(), "s1".to_owned());
        test.send(Command::Load { agent: AGENT, session: SESSION, place, acp_id, how: Reopen::Load });
        test.opened();
        let said: String = test.updates().iter().filter_map(text).collect();
        assert_eq!(said, "before");
    });
}

/// When a connection ends, this server ends the agent at once, with what it has not passed on to it.
const AT_THE_END: [&str; 5] = [
    "a_form_that_belongs_to_a_request_of_ours_is_over_with_it",
    "a_question_that_the_turn_leaves_open_is_over_with_it",
    "a_read_that_waits_for_the_editor_is_answered_at_the_end",
    "reads_that_are_still_queued_are_answered_when_the_agent_is_ended",
    "what_waits_is_answered_when_the_agent_is_ended",
];

#[test]
fn conversations_are_the_same_over_the_official_websocket() {
    the_same_over_a_websocket("official-ws", &AT_THE_END);
}

#[test]
fn conversations_are_the_same_over_official_http() {
    the_same_over_http("official-http", &AT_THE_END);
}

//! Conversations through the server that comes with the protocol's own crates: what this client takes for the protocol is
//! what others take for it.

use acp_nvim::core::message::*;
use serde_json::json;

use super::remote::{converse_with_files_and_questions, said, the_same_over_a_websocket, the_same_over_http};
use super::support::*;

fn for_each(run: impl FnMut(&'static str)) {
    ["official-ws", "official-http"].into_iter().for_each(run);
}

#[test]
fn a_turn_with_text_a_file_and_a_question() {
    for_each(converse_with_files_and_questions);
}

#[test]
fn a_turn_is_cancelled_while_it_asks() {
    for_each(|scheme| {
        let mut test = Test::new().carried_over(scheme);
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
    for_each(|scheme| {
        let mut test = Test::new().carried_over(scheme);
        let able = json!({ "agentCapabilities": { "loadSession": true } });
        test.connect_with(
            &able,
            &[expect("session/load"), update(&chunk("before")), answer_to("session/load", &json!({}))],
        );
        let (place, acp_id) = (test.place(), "s1".to_owned());
        test.send(Command::Load { agent: AGENT, session: SESSION, place, acp_id, how: Reopen::Load });
        test.opened();
        assert_eq!(said(&mut test), "before");
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

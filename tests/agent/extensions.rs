//! Methods beyond the protocol: refused or passed over, unless the user serves them.

use acp_nvim::core::ids::*;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

fn serve(test: &Test, requests: &[&str], notifications: &[&str]) {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    test.send(Command::Handle { requests: names(requests), notifications: names(notifications) });
}

fn called(test: &mut Test) -> (Option<SessionKey>, AskId, String, Value) {
    test.wait("Called", |event| match event {
        Event::Called { session, ask, method, params, .. } => {
            Some((*session, *ask, method.clone(), params.clone()))
        }
        _ => None,
    })
}

#[test]
fn a_method_that_the_user_serves_is_asked_of_the_editor_and_no_other() {
    let mut test = Test::new();
    serve(&test, &["_vendor/x", "fs/read_text_file"], &["_vendor/told"]);
    test.open(&[
        expect("session/prompt"),
        request(5, "_vendor/x", &json!({"sessionId": "s1", "a": [1, null]})),
        json!({"answer": 5}),
        request(6, "_vendor/x", &json!({"sessionId": "other"})),
        json!({"answer": 6}),
        json!({"send": {"jsonrpc": "2.0", "id": 7, "method": "_vendor/x"}}),
        json!({"answer": 7}),
        request(8, "_vendor/y", &json!({})),
        request(9, "_vendor/told", &json!({})),
        json!({"answer": 9}),
        end_turn(),
    ]);
    test.prompt("x");
    let (session, ask, method, params) = called(&mut test);
    assert_eq!((session, method.as_str()), (Some(SESSION), "_vendor/x"));
    assert_eq!(params, json!({"sessionId": "s1", "a": [1, null]}));
    test.answer(ask, Answer::Returned(json!({"b": 2})));
    test.answer(ask, Answer::Returned(json!("again")));
    let (session, ask, ..) = called(&mut test);
    assert_eq!(session, None);
    test.answer(ask, Answer::Refused("the handler failed: boom".into()));
    let (session, ask, _, params) = called(&mut test);
    assert_eq!((session, params), (None, Value::Null));
    test.answer(ask, Answer::Returned(Value::Null));
    test.stop_reason();
    let received = test.finish();
    assert_eq!(received.result(5), &json!({"b": 2}));
    assert_eq!(received.error(6), (-32603, "the handler failed: boom"));
    assert_eq!(received.result(7), &Value::Null);
    assert_eq!(received.error(8), (-32601, "method not found: _vendor/y"));
    assert_eq!(received.error(9), (-32601, "method not found: _vendor/told"));
}

#[test]
fn what_the_user_no_longer_serves_is_refused_again() {
    let mut test = Test::new();
    serve(&test, &["_x"], &["_x"]);
    serve(&test, &["_y"], &[]);
    test.open(&[
        expect("session/prompt"),
        notify("_x", &json!({})),
        request(5, "_x", &json!({})),
        json!({"answer": 5}),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    let events = test.events();
    assert!(!events.iter().any(|event| matches!(event, Event::Called { .. } | Event::Told { .. })));
    assert_eq!(test.finish().error(5).0, -32601);
}

#[test]
fn a_notification_that_the_user_listens_to_is_passed_on_in_its_order() {
    let mut test = Test::new();
    serve(&test, &[], &["_told"]);
    test.open(&[
        expect("session/prompt"),
        notify("_told", &json!({"sessionId": "s1", "n": 1})),
        update(&chunk("between")),
        notify("_told", &json!({"n": 2})),
        notify("_other", &json!({})),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    let events = test.events();
    let order: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Told { session, method, params, .. } => {
                Some(format!("{method} {} {session:?}", params["n"]))
            }
            Event::Updated { .. } => Some("update".into()),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["_told 1 Some(SessionKey(1))", "update", "_told 2 None"]);
}

#[test]
fn a_call_that_nobody_has_answered_is_over_with_the_session_or_taken_back() {
    let mut test = Test::new();
    serve(&test, &["_x"], &[]);
    test.open(&[
        expect("session/prompt"),
        request(5, "_x", &json!({"sessionId": "s1"})),
        notify("$/cancel_request", &json!({"requestId": 5})),
        json!({"answer": 5}),
        request(6, "_x", &json!({"sessionId": "s1"})),
        end_turn(),
        json!({"answer": 6}),
    ]);
    test.prompt("x");
    called(&mut test);
    called(&mut test);
    test.stop_reason();
    // It is none of those that the user decides on, so the turn's end does not end it.
    assert!(test.received().answers(&json!(6)).is_empty());
    test.send(Command::Close { session: SESSION });
    test.wait_received("the second answer", |received| !received.answers(&json!(6)).is_empty());
    assert!(!test.events().iter().any(|event| matches!(event, Event::Withdrawn { .. })));
    let received = test.finish();
    assert_eq!((received.error(5).0, received.error(6).0), (-32800, -32800));
}

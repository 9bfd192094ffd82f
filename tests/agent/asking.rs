//! What the agent asks of the user: permission, and the values of a form.

use acp_nvim::core::ids::*;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

fn ask(id: i64, fields: Value) -> Value {
    let mut params = json!({"sessionId": "s1", "toolCall": {"toolCallId": "c"}, "options": []});
    for (key, value) in fields.as_object().unwrap() {
        params[key] = value.clone();
    }
    request(id, "session/request_permission", &params)
}

fn form(id: i64, fields: Value) -> Value {
    let mut params = json!({"mode": "form", "sessionId": "s1", "message": "Which?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "date"}}}});
    for (key, value) in fields.as_object().unwrap() {
        params[key] = value.clone();
    }
    request(id, "elicitation/create", &params)
}

#[test]
fn a_question_for_permission_carries_what_the_agent_said() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        ask(7, json!({
            "toolCall": {"toolCallId": "c", "title": "Edit", "kind": "edit", "content": [{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}]},
            "options": [
                {"optionId": "3", "name": "Nope", "kind": "reject_once"},
                {"optionId": "1", "name": "Sure, for this session", "kind": "allow_session"},
                {"optionId": "2", "name": "Yes", "kind": "allow_once"},
            ],
        })),
        json!({"answer": 7}),
        end_turn(),
    ]);
    test.prompt("x");
    let (ask, question) = test.question();
    let Question::Permission { call, options } = question else { panic!("another question") };
    let diff = FileDiff { path: "/a".into(), old_text: Some("x".into()), new_text: "y".into() };
    assert_eq!(call.content, Some(vec![ToolContent::Diff(diff)]));
    assert_eq!((call.title.as_deref(), call.kind), (Some("Edit"), Some(ToolKind::Edit)));
    let option = |id: &str, name: &str, kind| PermissionOption { id: id.into(), name: name.into(), kind };
    assert_eq!(
        options,
        [
            option("3", "Nope", PermissionKind::RejectOnce),
            option("1", "Sure, for this session", PermissionKind::Other("allow_session".into())),
            option("2", "Yes", PermissionKind::AllowOnce),
        ]
    );
    test.answer(ask, Answer::Selected("1".into()));
    // A second answer changes nothing.
    test.answer(ask, Answer::Selected("2".into()));
    test.stop_reason();
    assert_eq!(test.finish().result(7), &json!({"outcome": {"outcome": "selected", "optionId": "1"}}));
}

#[test]
fn questions_may_be_answered_in_any_order() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        permission(7, "a"),
        permission(8, "b"),
        permission(9, "c"),
        json!({"answer": 9}),
        json!({"answer": 7}),
        json!({"answer": 8}),
        end_turn(),
    ]);
    test.prompt("x");
    let asks = [test.question().0, test.question().0, test.question().0];
    for (ask, option) in [(asks[2], "yes"), (asks[0], "no"), (asks[1], "yes")] {
        test.answer(ask, Answer::Selected(option.into()));
    }
    test.stop_reason();
    let received = test.finish();
    for (id, option) in [(7, "no"), (8, "yes"), (9, "yes")] {
        assert_eq!(received.result(id)["outcome"]["optionId"], option);
    }
}

#[test]
fn an_answer_that_was_not_offered_is_never_sent() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        permission(7, "a"),
        json!({"answer": 7}),
        permission(8, "b"),
        json!({"answer": 8}),
        end_turn(),
    ]);
    test.prompt("x");
    let (ask, _) = test.question();
    test.answer(ask, Answer::Selected("whatever".into()));
    let (ask, _) = test.question();
    test.answer(ask, Answer::Text("whatever".into()));
    test.stop_reason();
    let received = test.finish();
    assert_eq!(received.error(7), (-32603, "internal error"));
    assert_eq!(received.error(8), (-32603, "internal error"));
}

#[test]
fn a_question_without_answers_is_cancelled_and_told() {
    let mut test = Test::new();
    test.open(&[expect("session/prompt"), ask(7, json!({})), json!({"answer": 7}), end_turn()]);
    test.prompt("x");
    test.stop_reason();
    test.wait("a note", |event| {
        matches!(event, Event::Noted { severity: Severity::Warning, .. }).then_some(())
    });
    assert_eq!(test.finish().result(7), &json!({"outcome": {"outcome": "cancelled"}}));
}

#[test]
fn permission_may_be_asked_when_no_turn_runs() {
    let mut test = Test::new();
    test.open(&[
        permission(7, "a"),
        expect("session/prompt"),
        end_turn(),
        json!({"answer": 7}),
        json!({"exit": 0}),
    ]);
    let (ask, _) = test.question();
    test.prompt("x");
    test.stop_reason();
    // It belongs to no turn, so none ends it.
    assert!(!test.events().contains(&Event::Withdrawn { session: SESSION, ask }));
    test.answer(ask, Answer::Selected("yes".into()));
    test.exited();
    assert_eq!(test.received().result(7)["outcome"]["optionId"], "yes");
}

#[test]
fn a_question_that_the_turn_leaves_open_is_over_with_it() {
    let mut test = Test::new();
    test.open(&[expect("session/prompt"), permission(7, "a"), end_turn(), json!({"answer": 7})]);
    test.prompt("x");
    let (ask, _) = test.question();
    test.stop_reason();
    test.wait("Withdrawn", |event| (*event == Event::Withdrawn { session: SESSION, ask }).then_some(()));
    assert_eq!(test.finish().result(7), &json!({"outcome": {"outcome": "cancelled"}}));
}

#[test]
fn an_agent_may_take_its_question_back() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        permission(7, "a"),
        permission(8, "b"),
        form(9, json!({})),
        notify("$/cancel_request", &json!({"requestId": 7})),
        notify("$/cancel_request", &json!({"requestId": 9})),
        notify("$/cancel_request", &json!({"requestId": "nothing"})),
        json!({"answer": 7}),
        json!({"answer": 9}),
        json!({"answer": 8}),
        end_turn(),
    ]);
    test.prompt("x");
    let asks = [test.question().0, test.question().0, test.question().0];
    for ask in [asks[0], asks[2]] {
        test.wait("Withdrawn", |event| (*event == Event::Withdrawn { session: SESSION, ask }).then_some(()));
    }
    test.answer(asks[1], Answer::Selected("yes".into()));
    test.stop_reason();
    let received = test.finish();
    assert_eq!(received.result(7), &json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(received.result(8)["outcome"]["optionId"], "yes");
    assert_eq!(received.result(9), &json!({"action": "cancel"}));
}

#[test]
fn a_form_is_answered_by_its_values_or_not_at_all() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        form(7, json!({"toolCallId": "c"})),
        form(8, json!({})),
        form(9, json!({})),
        form(10, json!({})),
        json!({"answer": 10}),
        end_turn(),
    ]);
    test.prompt("x");
    let (ask, question) = test.question();
    let schema = json!({"type": "object", "properties": {"a": {"type": "date"}}});
    assert_eq!(
        question,
        Question::Form { message: "Which?".into(), schema, call: Some(ToolCallId("c".into())) }
    );
    test.answer(ask, Answer::Accepted(json!({"a": "x", "b": 1, "c": 1.5, "d": true, "e": ["x"], "f": null})));
    for answer in [Answer::Declined, Answer::Cancelled, Answer::Accepted(json!({"a": {"nested": 1}}))] {
        let (ask, _) = test.question();
        test.answer(ask, answer);
    }
    test.stop_reason();
    let received = test.finish();
    assert_eq!(
        received.result(7),
        &json!({"action": "accept", "content": {"a": "x", "b": 1, "c": 1.5, "d": true, "e": ["x"]}})
    );
    assert_eq!(received.result(8), &json!({"action": "decline"}));
    assert_eq!(received.result(9), &json!({"action": "cancel"}));
    assert_eq!(received.error(10).0, -32603);
}

#[test]
fn an_address_is_shown_to_the_user_and_opened_by_nobody_else() {
    let mut test = Test::new();
    let url =
        |id: i64, url: &str| form(id, json!({"mode": "url", "url": url, "elicitationId": format!("e{id}")}));
    test.open(&[
        expect("session/prompt"),
        url(7, "https://xn--80ak6aa92e.com/login?x=1"),
        json!({"answer": 7}),
        notify("elicitation/complete", &json!({"elicitationId": "e7"})),
        notify("elicitation/complete", &json!({"elicitationId": "stray"})),
        notify("elicitation/complete", &json!({})),
        url(8, "file:///etc/passwd"),
        json!({"answer": 8}),
        url(9, "https://a.b"),
        notify("elicitation/complete", &json!({"elicitationId": "e9"})),
        json!({"answer": 9}),
        notify("elicitation/complete", &json!({"elicitationId": "e10"})),
        url(10, "https://a.b"),
        json!({"answer": 10}),
        end_turn(),
    ]);
    test.prompt("x");
    let (ask, question) = test.question();
    assert_eq!(
        question,
        Question::Url {
            message: "Which?".into(),
            url: "https://xn--80ak6aa92e.com/login?x=1".into(),
            elicitation: "e7".into()
        }
    );
    test.answer(ask, Answer::Accepted(json!(null)));
    let (ask, _) = test.question();
    test.wait("Withdrawn", |event| (*event == Event::Withdrawn { session: SESSION, ask }).then_some(()));
    // What was done before it was asked about is over at once.
    let (ask, _) = test.question();
    test.wait("Withdrawn", |event| (*event == Event::Withdrawn { session: SESSION, ask }).then_some(()));
    test.stop_reason();
    let received = test.finish();
    assert_eq!(received.result(7), &json!({"action": "accept"}));
    assert_eq!(received.error(8).0, -32602);
    assert_eq!(received.result(9), &json!({"action": "cancel"}));
    assert_eq!(received.result(10), &json!({"action": "cancel"}));
}

#[test]
fn a_form_of_an_unknown_kind_is_refused() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        form(7, json!({"mode": "voice"})),
        form(8, json!({"mode": null})),
        form(9, json!({"sessionId": null, "requestId": 99})),
        json!({"answer": 9}),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    let received = test.finish();
    for id in 7..=9 {
        assert_eq!(received.error(id).0, -32602);
    }
}

#[test]
fn a_form_may_belong_to_a_request_of_ours() {
    let mut test = Test::new();
    test.connect(&[
        expect("session/new"),
        form(7, json!({"sessionId": null, "requestId": "$session/new"})),
        json!({"answer": 7}),
        answer_to("session/new", &json!({"sessionId": "s1"})),
    ]);
    test.send(test.open_command(SESSION));
    let (ask, _) = test.question();
    test.answer(ask, Answer::Declined);
    test.opened();
    assert_eq!(test.finish().result(7), &json!({"action": "decline"}));
}

#[test]
fn a_login_may_open_a_page_before_there_is_a_session() {
    let mut test = Test::new();
    test.connect_with(
        &json!({"protocolVersion": 1, "authMethods": [{"id": "web", "name": "Web"}]}),
        &[
            expect("session/new"),
            fail("session/new", &json!({"code": -32000, "message": "log in first"})),
            expect("authenticate"),
            form(7, json!({"sessionId": null, "requestId": "$authenticate", "mode": "url", "url": "https://a.b/", "elicitationId": "e"})),
            json!({"answer": 7}),
            answer_to("authenticate", &json!({})),
        ],
    );
    test.send(test.open_command(SESSION));
    test.open_failed();
    test.send(Command::Login { agent: AGENT, method: "web".into() });
    let (ask, question) = test.question();
    assert!(matches!(question, Question::Url { url, .. } if url == "https://a.b/"));
    test.answer(ask, Answer::Accepted(Value::Null));
    test.wait("LoggedIn", |event| matches!(event, Event::LoggedIn { .. }).then_some(()));
    assert_eq!(test.finish().result(7), &json!({"action": "accept"}));
}

#[test]
fn a_form_that_belongs_to_a_request_of_ours_is_over_with_it() {
    let mut test = Test::new();
    test.connect(&[
        expect("session/new"),
        form(7, json!({"sessionId": null, "requestId": "$session/new"})),
        fail("session/new", &json!({"code": -32603, "message": "too late"})),
        json!({"answer": 7}),
    ]);
    test.send(test.open_command(SESSION));
    let (ask, _) = test.question();
    test.wait("Withdrawn", |event| (*event == Event::Withdrawn { session: SESSION, ask }).then_some(()));
    test.open_failed();
    assert_eq!(test.finish().result(7), &json!({"action": "cancel"}));
}

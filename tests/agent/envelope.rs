//! Requests, answers and ids: each of the agent's requests has exactly one answer, and each answer
//! finds its request.

use acp_nvim::acp::Settings;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

const INVALID_PARAMS: i64 = -32602;
const METHOD_NOT_FOUND: i64 = -32601;

/// A turn in which the agent does these steps; returns when it is over.
fn turn(test: &mut Test, steps: &[Value]) {
    let mut all = vec![expect("session/prompt")];
    all.extend_from_slice(steps);
    all.push(end_turn());
    test.open(&all);
    test.prompt("x");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
}

#[test]
fn an_id_goes_back_as_it_came() {
    let mut test = Test::new();
    let path = test.file("a.txt", "a");
    let ids = [
        json!(0),
        json!(-1),
        json!("a"),
        json!(""),
        json!(9_007_199_254_740_993_i64),
        json!(9_223_372_036_854_775_808_u64),
        json!(null),
    ];
    let mut steps = Vec::new();
    for id in &ids {
        steps.push(request(id.clone(), "fs/read_text_file", &json!({"sessionId": "s1", "path": path})));
        steps.push(json!({ "answer": id }));
    }
    turn(&mut test, &steps);
    let received = test.finish();
    for id in ids {
        assert_eq!(received.result(id), &json!({"content": "a"}));
    }
}

#[test]
fn ids_of_both_sides_may_be_equal() {
    let mut test = Test::new();
    let path = test.file("a.txt", "a");
    // The prompt's id is 3.
    let read = |id| request(id, "fs/read_text_file", &json!({"sessionId": "s1", "path": path}));
    turn(&mut test, &[read(1), read(3), json!({"answer": 1}), json!({"answer": 3})]);
    let received = test.finish();
    assert_eq!(received.0.iter().filter(|message| message["id"] == 3).count(), 2);
    assert_eq!(received.result(3), &json!({"content": "a"}));
}

#[test]
fn a_request_has_one_answer_and_a_notification_none() {
    let mut test = Test::new();
    turn(
        &mut test,
        &[
            notify("session/update", &json!({"sessionId": 5})),
            notify("session/update", &json!([])),
            notify("fs/read_text_file", &json!({"path": 1})),
            notify("$/cancel_request", &json!({})),
            notify("$/progress", &json!(null)),
            notify("_vendor/x", &json!({"a": 1})),
            notify("foo", &json!("x")),
            request(5, "foo/bar", &json!({})),
            json!({"answer": 5}),
        ],
    );
    let received = test.finish();
    assert_eq!(received.0.iter().filter(|message| message.get("method").is_none()).count(), 1);
}

#[test]
fn an_unknown_method_is_refused() {
    let mut test = Test::new();
    turn(
        &mut test,
        &[
            request(5, "_x/y", &json!({})),
            request(6, "foo/bar", &json!({})),
            json!({"send": {"jsonrpc": "2.0", "id": 7, "method": "_x", "params": null}}),
            json!({"send": {"jsonrpc": "2.0", "id": 8, "method": "_x"}}),
            json!({"send": {"jsonrpc": "2.0", "id": 9, "method": 5}}),
            json!({"answer": 9}),
        ],
    );
    let received = test.finish();
    for (id, method) in [(5, "_x/y"), (6, "foo/bar"), (7, "_x"), (8, "_x")] {
        assert_eq!(received.error(id), (METHOD_NOT_FOUND, format!("method not found: {method}").as_str()));
    }
    assert_eq!(received.error(9).0, -32600);
}

#[test]
fn what_is_not_offered_is_refused() {
    let mut test =
        Test::with(Settings { can_read: false, can_write: false, can_run: false, ..Settings::default() });
    let path = test.file("a.txt", "a");
    turn(
        &mut test,
        &[
            request(5, "fs/read_text_file", &json!({"sessionId": "s1", "path": path})),
            request(6, "fs/write_text_file", &json!({"sessionId": "s1", "path": path, "content": "b"})),
            request(7, "terminal/create", &json!({"sessionId": "s1", "command": "ls"})),
            request(8, "terminal/output", &json!({"sessionId": "s1", "terminalId": "t"})),
            json!({"answer": 8}),
        ],
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a");
    let received = test.finish();
    let capabilities = &received.params("initialize")["clientCapabilities"];
    assert_eq!(capabilities["fs"], json!({"readTextFile": false, "writeTextFile": false}));
    assert_eq!(capabilities["terminal"], false);
    for id in 5..=8 {
        assert_eq!(received.error(id).0, METHOD_NOT_FOUND);
    }
}

#[test]
fn a_malformed_request_is_refused_and_its_field_named() {
    let mut test = Test::new();
    turn(
        &mut test,
        &[
            request(5, "fs/read_text_file", &json!({"sessionId": "s1", "path": 1})),
            json!({"send": {"jsonrpc": "2.0", "id": 6, "method": "fs/read_text_file"}}),
            request(7, "fs/read_text_file", &json!([])),
            request(
                8,
                "session/request_permission",
                &json!({"sessionId": "s1", "toolCall": {}, "options": []}),
            ),
            json!({"answer": 8}),
        ],
    );
    let received = test.finish();
    for (id, field) in [(5, "path"), (6, "sessionId"), (7, "params"), (8, "toolCall.toolCallId")] {
        let (code, message) = received.error(id);
        assert_eq!(code, INVALID_PARAMS);
        assert!(message.contains(&format!("`{field}`")), "{message}");
    }
}

#[test]
fn requests_are_served_while_ours_wait_and_answers_come_in_any_order() {
    let mut test = Test::new();
    let path = test.file("a.txt", "a");
    let read = |id| request(id, "fs/read_text_file", &json!({"sessionId": "s1", "path": path}));
    test.open(&[
        expect("session/prompt"),
        expect("session/set_mode"),
        read(20),
        read(21),
        read(22),
        answer_to("session/set_mode", &json!({})),
        json!({"answer": 22}),
        end_turn(),
    ]);
    test.prompt("x");
    test.send(Command::SetMode { session: SESSION, mode: "ask".into() });
    let chosen = test.wait("Chosen", |event| match event {
        Event::Chosen { chosen, .. } => Some(chosen.clone()),
        _ => None,
    });
    assert_eq!(chosen, Chosen::Mode("ask".into()));
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    let received = test.finish();
    for id in 20..=22 {
        assert_eq!(received.result(id), &json!({"content": "a"}));
    }
}

#[test]
fn a_batch_is_passed_over() {
    let mut test = Test::new();
    turn(
        &mut test,
        &[
            json!({"raw": "[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"foo\"}]\n[]\n"}),
            update(&chunk("after")),
        ],
    );
    assert_eq!(test.updates().len(), 1);
    assert!(test.finish().answers(&json!(5)).is_empty());
}

#[test]
fn an_error_beside_a_null_result_is_an_error() {
    let mut test = Test::new();
    test.connect(&[
        expect("session/new"),
        json!({"send": {"jsonrpc": "2.0", "id": "$session/new", "result": null, "error": {"code": -32603, "message": "no room."}}}),
    ]);
    test.send(test.open_command(SESSION));
    let failure = test.open_failed();
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Internal, "no room"));
}

#[test]
fn a_stray_answer_is_dropped_and_so_is_a_second_one() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        json!({"send": {"jsonrpc": "2.0", "id": 99, "result": {}}}),
        json!({"send": {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}}}),
        json!({"send": {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "parse error"}}}),
        end_turn(),
        answer_to("session/prompt", &json!({"stopReason": "refusal"})),
        expect("session/set_mode"),
        answer_to("session/set_mode", &json!({})),
    ]);
    test.prompt("x");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    test.send(Command::SetMode { session: SESSION, mode: "ask".into() });
    test.wait("Chosen", |event| matches!(event, Event::Chosen { .. }).then_some(()));
    let ends = test.events().into_iter().filter(|event| matches!(event, Event::TurnEnded { .. })).count();
    assert_eq!(ends, 1);
}

#[test]
fn an_error_of_an_unknown_code_shows_its_message_and_keeps_its_data() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        fail("session/prompt", &json!({"code": -32042, "message": "out of luck", "data": {"a": {"b": [1]}}})),
    ]);
    test.prompt("x");
    let TurnEnd::Failed(failure) = test.turn_end() else { panic!("the turn didn't fail") };
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Agent, "out of luck"));
    assert!(failure.details.unwrap().contains(r#"{"a":{"b":[1]}}"#));
}

#[test]
fn an_error_says_what_can_be_done_about_it() {
    let mut test = Test::new();
    let errors = [
        (
            json!({"code": -32000, "message": "log in", "data": {"authMethods": [{"id": "x"}]}}),
            FailureKind::AuthRequired,
            "log in",
        ),
        (json!({"code": -32002, "message": "gone"}), FailureKind::NotFound, "gone"),
        (
            json!({"code": -32005, "message": "slow down", "data": {"reason": "rate_limited", "retryAfter": 2}}),
            FailureKind::RateLimited(Some(2000)),
            "slow down: rate_limited; try again in 2 s",
        ),
        (json!({"code": -32800, "message": "cancelled"}), FailureKind::Cancelled, "cancelled"),
        (
            json!({"code": "-32603", "message": "Internal error", "data": {"details": "mock"}}),
            FailureKind::Internal,
            "Internal error: mock",
        ),
        (json!("just words"), FailureKind::Internal, "just words"),
    ];
    let steps: Vec<Value> = errors
        .iter()
        .flat_map(|(error, ..)| [expect("session/prompt"), fail("session/prompt", error)])
        .collect();
    test.open(&steps);
    for (_, kind, message) in errors {
        test.prompt("x");
        let TurnEnd::Failed(failure) = test.turn_end() else { panic!("the turn didn't fail") };
        assert_eq!((failure.kind, failure.message.as_str()), (kind, message));
        if kind == FailureKind::AuthRequired {
            assert!(
                failure.details.unwrap().contains("authMethods"),
                "the ways to log in are in no other place"
            );
        }
    }
}

#[test]
fn unknown_fields_and_foreign_meta_are_passed_over() {
    let mut test = Test::new();
    let path = test.file("a.txt", "a");
    let metas = [json!(null), json!(1), json!("x"), json!([1]), json!({"traceparent": 5})];
    let mut steps = Vec::new();
    for (id, meta) in metas.iter().enumerate() {
        steps.push(request(
            id,
            "fs/read_text_file",
            &json!({"sessionId": "s1", "path": path, "_meta": meta, "zzz": {"a": [1]}}),
        ));
        steps.push(update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "t", "zzz": 1, "_meta": meta}, "_meta": meta, "zzz": 1})));
    }
    steps.push(json!({"answer": metas.len() - 1}));
    turn(&mut test, &steps);
    let said: String = test.updates().iter().filter_map(text).collect();
    assert_eq!(said, "ttttt");
    let received = test.finish();
    for id in 0..metas.len() {
        assert_eq!(received.result(id), &json!({"content": "a"}));
    }
}

#[test]
fn what_the_protocol_does_not_allow_is_found_in_what_an_agent_was_sent() {
    let script = |version: u64| {
        json!([{ "reply": "initialize", "result": { "protocolVersion": version } },
            { "send": { "id": "q", "method": "fs/read_text_file" } }])
    };
    let client = json!({ "name": "n", "version": "1" });
    let first = json!({ "protocolVersion": 1, "clientCapabilities": {}, "clientInfo": client });
    let second = json!({ "protocolVersion": 2, "capabilities": {}, "info": client });
    let sent = |method: &str, params: Value| json!({ "id": 1, "method": method, "params": params });
    for (version, initialize, message, is_allowed) in [
        (1, &first, sent("session/archive", json!({ "sessionId": "s" })), true),
        (1, &first, sent("session/archive", json!({ "session": "s" })), false),
        (1, &first, sent("session/list", json!({ "archived": "only" })), true),
        (1, &first, sent("session/list", json!({ "archived": 1 })), false),
        (1, &first, sent("session/unheard_of", json!({})), false),
        (1, &first, json!({ "id": "q", "result": { "content": "x" } }), true),
        (1, &first, json!({ "id": "q", "result": { "text": "x" } }), false),
        (1, &first, json!({ "id": "other", "result": {} }), false),
        (2, &second, sent("session/resume", json!({ "sessionId": "s", "cwd": "/p" })), true),
        (2, &second, sent("session/load", json!({ "sessionId": "s", "cwd": "/p" })), false),
        (1, &second, sent("session/set_mode", json!({ "sessionId": "s", "modeId": "m" })), true),
    ] {
        let record = [sent("initialize", initialize.clone()), message];
        let checked = std::panic::catch_unwind(|| super::schema::check_all(&record, &script(version)));
        assert_eq!(checked.is_ok(), is_allowed, "{}", record[1]);
    }
}

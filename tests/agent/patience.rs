//! Requests that wait for an agent: what is said when it takes too long, and when it wants a login first.

use std::time::Duration;

use acp_nvim::acp::Settings;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

/// An agent that can do all of this, and stores sessions.
fn able() -> Value {
    json!({
        "agentCapabilities": {
            "loadSession": true,
            "sessionCapabilities": { "list": {}, "delete": {}, "close": {} },
        },
        "authMethods": [{ "id": "key", "name": "Key" }],
    })
}

/// Requests that the user waits for, with the agent's methods and what they are called when they fail.
fn requests() -> Vec<(&'static str, &'static str, Command)> {
    let value = OptionValue::Value("v".into());
    vec![
        ("session/set_mode", "change the mode", Command::SetMode { session: SESSION, mode: "m".into() }),
        ("session/set_model", "change the model", Command::SetModel { session: SESSION, model: "m".into() }),
        (
            "session/set_config_option",
            "change the option",
            Command::SetOption { session: SESSION, option: "o".into(), value },
        ),
        (
            "session/list",
            "list sessions",
            Command::List { agent: AGENT, cwd: None, cursor: None, archived: false },
        ),
        ("session/delete", "delete the session", Command::Delete { agent: AGENT, acp_id: "s".into() }),
        ("session/close", "close the session", Command::Close { session: SESSION }),
    ]
}

fn with_timeout(request: u64) -> Test {
    Test::with(Settings { request_timeout: Duration::from_millis(request), ..Settings::default() })
}

#[test]
fn a_request_without_an_answer_is_said_to_have_none_once() {
    let mut test = with_timeout(200);
    let all = requests();
    let steps: Vec<Value> = all.iter().map(|(method, ..)| expect(method)).collect();
    test.open_with(&able(), &steps);
    for (method, what, command) in all {
        test.send(command);
        let (said, failure) = test.failed();
        assert_eq!((said.as_str(), failure.kind), (what, FailureKind::Timeout), "{method}");
        assert!(failure.message.starts_with("it didn't answer within 200 ms"), "{failure:?}");
    }
    test.send(Command::Disconnect { agent: AGENT });
    test.exited();
    let failed = |event: &&Event| matches!(event, Event::RequestFailed { .. });
    assert_eq!(test.events().iter().filter(failed).count(), requests().len(), "each is told once");
}

#[test]
fn an_answer_that_comes_after_its_deadline_counts_but_opens_no_list() {
    let mut test = with_timeout(200);
    test.open_with(
        &able(),
        &[
            expect("session/list"),
            expect("session/set_mode"),
            expect("session/prompt"),
            answer_to("session/list", &json!({"sessions": []})),
            answer_to("session/set_mode", &json!({})),
            end_turn(),
        ],
    );
    test.send(Command::List { agent: AGENT, cwd: None, cursor: None, archived: false });
    test.failed();
    test.send(Command::SetMode { session: SESSION, mode: "late".into() });
    test.failed();
    test.prompt("x");
    test.stop_reason();
    let events = test.events();
    let late = Chosen::Mode("late".into());
    assert!(events.iter().any(|event| matches!(event, Event::Chosen { chosen, .. } if *chosen == late)));
    assert!(!events.iter().any(|event| matches!(event, Event::Listed { .. })));
}

#[test]
fn a_session_that_is_loaded_in_silence_for_too_long_is_given_up() {
    let mut test = Test::with(Settings {
        request_timeout: Duration::from_millis(200),
        // Python starts in this time, too.
        initialize_timeout: Duration::from_secs(5),
        ..Settings::default()
    });
    test.connect_with(&able(), &[expect("session/load"), expect("$/cancel_request")]);
    let (place, acp_id) = (test.place(), "old".to_owned());
    test.send(Command::Load { agent: AGENT, session: SESSION, place, acp_id, how: Reopen::Load });
    let failure = test.open_failed();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.starts_with("it didn't answer within 5 s"), "{failure:?}");
}

#[test]
fn a_session_that_is_not_opened_in_time_is_given_up_and_closed_when_it_comes_late() {
    let mut test = Test::with(Settings {
        request_timeout: Duration::from_millis(200),
        initialize_timeout: Duration::from_secs(5),
        ..Settings::default()
    });
    let late = answer_to("session/new", &json!({"sessionId": "late"}));
    test.connect_with(
        &able(),
        &[expect("session/new"), expect("$/cancel_request"), late, expect("session/close")],
    );
    test.send(test.open_command(SESSION));
    let failure = test.open_failed();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.starts_with("it didn't answer within 5 s"), "{failure:?}");
    test.wait_received("the late session to be closed", |received| !received.all("session/close").is_empty());
}

#[test]
fn what_needs_a_login_is_given_back_to_be_done_again() {
    let mut test = Test::new();
    let all = requests();
    let refused = json!({"code": -32000, "message": "log in first"});
    let steps = all.iter().flat_map(|(method, ..)| [expect(method), fail(method, &refused)]);
    let mut steps: Vec<Value> = steps.collect();
    steps.extend([json!({ "expect": "session/close", "as": "again" }), answer_to("again", &json!({}))]);
    test.open_with(&able(), &steps);
    for (method, wanted, command) in all {
        test.send(command.clone());
        let (what, failure, again) = test.wait("RequestFailed", |event| match event {
            Event::RequestFailed { what, failure, again, .. } => {
                Some((what.clone(), failure.clone(), again.clone()))
            }
            _ => None,
        });
        assert_eq!((what.as_str(), failure.kind), (wanted, FailureKind::AuthRequired), "{method}");
        let wanted = match command {
            // Nobody but the agent knows the session any more.
            Command::Close { .. } => Some(Again::Close { acp_id: "s1".into() }),
            command => Again::of(&command),
        };
        assert_eq!(again, wanted, "{method}");
    }
    test.send(Again::Close { acp_id: "s1".into() }.command(AGENT, SESSION));
    test.wait_received("the session to be closed", |received| received.all("session/close").len() == 2);
    assert_eq!(test.finish().all("session/close")[1], &json!({"sessionId": "s1"}));
}

//! Opening, loading, listing and closing sessions, and logging in for it.

use acp_nvim::core::ids::*;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

fn capabilities(can: &Value) -> Value {
    json!({ "agentCapabilities": can })
}

/// What can be done with stored sessions.
fn storage() -> Value {
    capabilities(
        &json!({"loadSession": true, "sessionCapabilities": {"list": {}, "delete": {}, "close": {}, "resume": {}}}),
    )
}

fn load(test: &Test, acp_id: &str) {
    test.send(Command::Load {
        agent: AGENT,
        session: SESSION,
        place: test.place(),
        acp_id: acp_id.into(),
        how: acp_nvim::core::message::Reopen::Load,
    });
}

#[test]
fn a_new_session_says_where_it_works() {
    let mut test = Test::new();
    test.open(&[]);
    let project = test.project();
    assert_eq!(test.finish().params("session/new"), &json!({"cwd": project, "mcpServers": []}));
}

#[test]
fn the_sessions_folder_counts_wherever_the_agent_was_started() {
    let mut test = Test::new();
    let place = test.folder.join("elsewhere");
    std::fs::create_dir(&place).unwrap();
    test.connect(&[expect("session/new"), answer_to("session/new", &json!({"sessionId": "s1"}))]);
    test.send(Command::Open {
        agent: AGENT,
        session: SESSION,
        place: Place { cwd: place.clone(), ..Place::default() },
    });
    test.opened();
    assert_eq!(test.finish().params("session/new")["cwd"], json!(place));
}

#[test]
fn a_folder_whose_name_is_no_text_cannot_be_told() {
    let mut test = Test::new();
    test.connect(&[]);
    let odd: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(b"/tmp/\xff".to_vec());
    let place = Place { cwd: odd.into(), ..Place::default() };
    test.send(Command::Open { agent: AGENT, session: SESSION, place });
    assert!(test.open_failed().message.starts_with("the request can't be written"));
    assert_eq!(test.finish().methods(), ["initialize"]);
}

#[test]
fn a_sessions_name_is_the_agents_business() {
    let mut test = Test::new();
    let name = "a b/../\"c\"\n\u{1F600}";
    test.connect(&[
        expect("session/new"),
        answer_to("session/new", &json!({ "sessionId": name })),
        expect("session/prompt"),
        notify("session/update", &json!({"sessionId": name, "update": chunk("hi")})),
        end_turn(),
    ]);
    test.send(test.open_command(SESSION));
    assert_eq!(test.opened().acp_id, name);
    test.prompt("x");
    test.stop_reason();
    assert_eq!(test.updates().len(), 1);
    assert_eq!(test.finish().params("session/prompt")["sessionId"], name);
}

#[test]
fn two_sessions_of_one_agent_do_not_mix() {
    let mut test = Test::new();
    let to = |session: &str, text: &str| {
        notify("session/update", &json!({"sessionId": session, "update": chunk(text)}))
    };
    test.connect(&[
        json!({"expect": "session/new", "as": "one"}),
        answer_to("one", &json!({"sessionId": "a"})),
        json!({"expect": "session/new", "as": "two"}),
        answer_to("two", &json!({"sessionId": "b"})),
        json!({"expect": "session/prompt", "as": "p"}),
        to("a", "1"),
        to("b", "2"),
        to("a", "3"),
        to("c", "nobody's"),
        answer_to("p", &json!({"stopReason": "end_turn"})),
    ]);
    let other = SessionKey(2);
    test.send(test.open_command(SESSION));
    test.opened();
    test.send(test.open_command(other));
    test.opened();
    test.prompt("x");
    test.stop_reason();
    let of = |test: &mut Test, key| -> String {
        let text = |event: &Event| match event {
            Event::Updated { session, update } if *session == key => text(update).map(str::to_owned),
            _ => None,
        };
        test.events().iter().filter_map(text).collect()
    };
    assert_eq!((of(&mut test, SESSION), of(&mut test, other)), ("13".into(), "2".into()));
}

#[test]
fn what_comes_before_a_session_has_its_name_is_kept_for_it() {
    let mut test = Test::new();
    let path = test.file("a.txt", "a");
    test.connect(&[
        expect("session/new"),
        update(&json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "plan", "description": "d"}]})),
        request(5, "fs/read_text_file", &json!({"sessionId": "s1", "path": path})),
        request(6, "fs/read_text_file", &json!({"sessionId": "other", "path": path})),
        answer_to("session/new", &json!({"sessionId": "s1"})),
        json!({"answer": 5}),
        json!({"answer": 6}),
        json!({"exit": 0}),
    ]);
    test.send(test.open_command(SESSION));
    test.opened();
    test.exited();
    let events = test.events();
    let opened = events.iter().position(|event| matches!(event, Event::Opened { .. })).unwrap();
    let updated =
        events.iter().position(|event| matches!(event, Event::Updated { .. })).expect("the commands");
    assert!(opened < updated);
    let received = test.received();
    assert_eq!(received.result(5), &json!({"content": "a"}));
    assert_eq!(received.error(6).0, -32002);
}

#[test]
fn what_is_for_no_session_is_dropped_or_refused() {
    let mut test = Test::new();
    let path = test.file("a.txt", "a");
    test.open(&[
        notify("session/update", &json!({"sessionId": "wrong", "update": chunk("no")})),
        notify("session/update", &json!({"update": chunk("no")})),
        request(5, "fs/read_text_file", &json!({"sessionId": "wrong", "path": path})),
        request(6, "fs/read_text_file", &json!({"path": path})),
        json!({"answer": 6}),
        json!({"exit": 0}),
    ]);
    test.exited();
    assert_eq!(test.updates(), []);
    let received = test.received();
    assert_eq!(received.error(5).0, -32002);
    assert_eq!(received.error(6).0, -32602);
}

#[test]
fn updates_are_taken_when_no_turn_runs() {
    let mut test = Test::new();
    test.open(&[
        update(&chunk("before")),
        expect("session/prompt"),
        end_turn(),
        update(&chunk("after")),
        update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"})),
        json!({"exit": 0}),
    ]);
    test.prompt("x");
    test.exited();
    assert_eq!(test.updates().len(), 3);
}

#[test]
fn modes_models_and_options_come_with_the_session() {
    let mut test = Test::new();
    test.connect(&[
        expect("session/new"),
        answer_to("session/new", &json!({
            "sessionId": "s1",
            "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "https://x/code", "name": "Code", "description": "d"}]},
            "models": {"currentModelId": "m1", "availableModels": [{"modelId": "m1", "name": "M"}]},
            "configOptions": [{"id": "fast", "name": "Fast", "type": "boolean", "currentValue": false, "category": "zzz"}],
        })),
        expect("session/set_mode"),
        answer_to("session/set_mode", &json!({})),
        expect("session/set_model"),
        answer_to("session/set_model", &json!({})),
        expect("session/set_config_option"),
        answer_to("session/set_config_option", &json!({"configOptions": []})),
    ]);
    test.send(test.open_command(SESSION));
    let opened = test.opened();
    let named = |id: &str, name: &str, description: Option<&str>| Named {
        id: id.into(),
        name: name.into(),
        description: description.map(Into::into),
    };
    assert_eq!(
        opened.modes,
        Some(Modes {
            current: "ask".into(),
            available: vec![named("ask", "Ask", None), named("https://x/code", "Code", Some("d"))]
        })
    );
    assert_eq!(opened.models, Some(Models { current: "m1".into(), available: vec![named("m1", "M", None)] }));
    assert_eq!(opened.options[0].kind, OptionKind::Toggle { current: false });
    assert_eq!(opened.options[0].category.as_deref(), Some("zzz"));
    test.send(Command::SetMode { session: SESSION, mode: "https://x/code".into() });
    test.send(Command::SetModel { session: SESSION, model: "m1".into() });
    test.send(Command::SetOption {
        session: SESSION,
        option: "fast".into(),
        value: OptionValue::Toggle(true),
    });
    let mut chosen = || {
        test.wait("Chosen", |event| match event {
            Event::Chosen { chosen, .. } => Some(chosen.clone()),
            _ => None,
        })
    };
    assert_eq!(chosen(), Chosen::Mode("https://x/code".into()));
    assert_eq!(chosen(), Chosen::Model("m1".into()));
    assert_eq!(chosen(), Chosen::Options(vec![]));
    let received = test.finish();
    assert_eq!(
        received.params("session/set_config_option"),
        &json!({"sessionId": "s1", "configId": "fast", "type": "boolean", "value": true})
    );
    assert_eq!(received.params("session/set_model"), &json!({"sessionId": "s1", "modelId": "m1"}));
}

#[test]
fn a_choice_that_is_confirmed_without_the_list_is_a_choice() {
    let mut test = Test::new();
    test.connect(&[
        expect("session/new"),
        answer_to("session/new", &json!({"sessionId": "s1", "configOptions": [
            {"id": "model", "name": "Model", "type": "select", "currentValue": "a", "options": [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]},
        ]})),
        json!({"expect": "session/set_config_option", "as": "one"}),
        answer_to("one", &json!(null)),
        json!({"expect": "session/set_config_option", "as": "two"}),
        fail("two", &json!({"code": -32602, "message": "no such value"})),
    ]);
    test.send(test.open_command(SESSION));
    test.opened();
    let choose = |value: &str| Command::SetOption {
        session: SESSION,
        option: "model".into(),
        value: OptionValue::Value(value.into()),
    };
    test.send(choose("b"));
    let options = test.wait("Chosen", |event| match event {
        Event::Chosen { chosen: Chosen::Options(options), .. } => Some(options.clone()),
        _ => None,
    });
    assert!(matches!(&options[0].kind, OptionKind::Select { current, .. } if current == "b"));
    test.send(choose("c"));
    let (what, failure) = test.failed();
    assert_eq!((what.as_str(), failure.message.as_str()), ("change the option", "no such value"));
}

#[test]
fn a_session_is_loaded_with_all_that_was_said_in_it() {
    let mut test = Test::new();
    let said: Vec<Value> = (0..20).map(|number| update(&chunk(&format!("{number} ")))).collect();
    let mut steps = vec![expect("session/load")];
    steps.extend(said);
    steps.extend([answer_to("session/load", &json!(null)), expect("session/prompt"), end_turn()]);
    test.connect_with(&storage(), &steps);
    load(&test, "old");
    // The agent's updates name the session that it was asked for.
    assert_eq!(test.opened().acp_id, "old");
    test.prompt("x");
    test.stop_reason();
    let project = test.project();
    assert_eq!(
        test.finish().params("session/load"),
        &json!({"sessionId": "old", "cwd": project, "mcpServers": []})
    );
}

#[test]
fn what_is_replayed_comes_before_the_session_is_open() {
    let mut test = Test::new();
    test.connect_with(&storage(), &[
        expect("session/load"),
        notify("session/update", &json!({"sessionId": "old", "update": {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hi"}}})),
        answer_to("session/load", &json!({"modes": {"currentModeId": "m", "availableModes": []}})),
    ]);
    load(&test, "old");
    assert_eq!(test.opened().modes.unwrap().current, "m");
    let kinds: Vec<bool> = test
        .events()
        .iter()
        .filter(|event| matches!(event, Event::Updated { .. } | Event::Opened { .. }))
        .map(|event| matches!(event, Event::Updated { .. }))
        .collect();
    assert_eq!(kinds, [true, false]);
}

#[test]
fn a_prompt_waits_until_the_session_is_loaded() {
    let mut test = Test::new();
    test.connect_with(
        &storage(),
        &[
            expect("session/load"),
            permission(7, "gate"),
            json!({"answer": 7}),
            answer_to("session/load", &json!({})),
            expect("session/prompt"),
            end_turn(),
        ],
    );
    load(&test, "s1");
    test.prompt("x");
    let (ask, _) = test.question();
    assert_eq!(test.received().methods(), ["initialize", "session/load"]);
    test.answer(ask, Answer::Selected("yes".into()));
    assert_eq!(test.stop_reason(), StopReason::EndTurn);

    let mut test = Test::new();
    test.connect_with(&storage(), &[expect("session/load"), json!({"exit": 1})]);
    load(&test, "s1");
    test.prompt("x");
    assert!(matches!(test.turn_end(), TurnEnd::Failed(_)));
    test.open_failed();
}

#[test]
fn a_session_is_resumed_where_it_cannot_be_loaded() {
    let mut test = Test::new();
    let can = capabilities(&json!({"sessionCapabilities": {"resume": {}}}));
    test.connect_with(&can, &[expect("session/resume"), answer_to("session/resume", &json!({}))]);
    load(&test, "old");
    assert_eq!(test.opened().acp_id, "old");
    assert_eq!(test.finish().params("session/resume")["sessionId"], "old");
}

#[test]
fn a_session_that_is_gone_is_said_to_be() {
    let mut test = Test::new();
    test.connect_with(
        &storage(),
        &[
            expect("session/load"),
            fail("session/load", &json!({"code": -32002, "message": "Resource not found"})),
        ],
    );
    load(&test, "old");
    assert_eq!(test.open_failed().kind, FailureKind::NotFound);
    test.prompt("x");
    assert!(matches!(test.turn_end(), TurnEnd::Failed(Failure { kind: FailureKind::NotFound, .. })));
}

#[test]
fn a_list_is_turned_page_by_page_and_cursors_are_not_looked_into() {
    let mut test = Test::new();
    let page = |id: &str, cursor: Value| json!({"sessions": [{"sessionId": id, "cwd": "/p", "updatedAt": "2026-01-01"}], "nextCursor": cursor});
    test.connect_with(
        &storage(),
        &[
            json!({"expect": "session/list", "as": "one"}),
            answer_to("one", &page("a", json!("==\"\n\u{1F600}"))),
            json!({"expect": "session/list", "as": "two"}),
            answer_to("two", &page("b", json!(""))),
            json!({"expect": "session/list", "as": "three"}),
            answer_to("three", &page("c", json!(null))),
        ],
    );
    let mut cursor = None;
    let mut names = Vec::new();
    loop {
        test.send(Command::List { agent: AGENT, cwd: Some(test.project()), cursor, archived: false });
        let (sessions, next) = test.wait("Listed", |event| match event {
            Event::Listed { sessions, next_cursor, .. } => Some((sessions.clone(), next_cursor.clone())),
            _ => None,
        });
        names.extend(sessions.into_iter().map(|session| session.acp_id));
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(names, ["a", "b", "c"]);
    let project = test.project();
    let received = test.finish();
    assert_eq!(
        received.all("session/list"),
        [
            &json!({"cwd": project}),
            &json!({"cwd": project, "cursor": "==\"\n\u{1F600}"}),
            &json!({"cwd": project, "cursor": ""}),
        ]
    );
}

#[test]
fn what_a_list_says_of_folders_is_not_sent_back() {
    let mut test = Test::new();
    let can = json!({"agentCapabilities": {"loadSession": true,
        "sessionCapabilities": {"list": {}, "additionalDirectories": {}}}});
    let listed = |folders: Value| json!({"sessions": [{"sessionId": "old", "cwd": "/p", "additionalDirectories": folders}]});
    test.connect_with(
        &can,
        &[
            json!({"expect": "session/list", "as": "first"}),
            answer_to("first", &listed(json!(["/a", "/b"]))),
            json!({"expect": "session/list", "as": "second"}),
            answer_to("second", &listed(Value::Null)),
            expect("session/load"),
            answer_to("session/load", &Value::Null),
        ],
    );
    let was_listed = |event: &Event| matches!(event, Event::Listed { .. }).then_some(());
    for _ in 0..2 {
        test.send(Command::List { agent: AGENT, cwd: None, cursor: None, archived: false });
        test.wait("Listed", was_listed);
    }
    let place = Place { additional: vec!["/c".into()], ..test.place() };
    let acp_id = "old".to_owned();
    test.send(Command::Load { agent: AGENT, session: SESSION, place, acp_id, how: Reopen::Load });
    test.opened();
    assert_eq!(test.finish().params("session/load")["additionalDirectories"], json!(["/c"]));
}

#[test]
fn a_session_may_be_deleted_twice() {
    let mut test = Test::new();
    test.connect_with(
        &storage(),
        &[
            json!({"expect": "session/delete", "as": "one"}),
            answer_to("one", &json!({})),
            json!({"expect": "session/delete", "as": "two"}),
            answer_to("two", &json!({})),
            json!({"exit": 0}),
        ],
    );
    for _ in 0..2 {
        test.send(Command::Delete { agent: AGENT, acp_id: "s".into() });
    }
    test.exited();
    assert!(!test.events().iter().any(|event| matches!(event, Event::RequestFailed { .. })));
}

#[test]
fn closing_a_session_ends_what_is_open_in_it() {
    let mut test = Test::new();
    test.open_with(
        &storage(),
        &[
            expect("session/prompt"),
            permission(7, "c1"),
            json!({"answer": 7}),
            expect("session/close"),
            answer_to("session/close", &json!({})),
            answer_to("session/prompt", &json!({"stopReason": "cancelled"})),
            update(&chunk("late")),
            json!({"exit": 0}),
        ],
    );
    test.prompt("x");
    let (ask, _) = test.question();
    test.send(Command::Close { session: SESSION });
    test.exited();
    assert!(test.events().contains(&Event::Withdrawn { session: SESSION, ask }));
    assert_eq!(test.updates(), []);
    let received = test.received();
    assert_eq!(received.result(7), &json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(received.params("session/close"), &json!({"sessionId": "s1"}));
}

#[test]
fn closing_where_that_is_not_offered_cancels_the_turn() {
    let mut test = Test::new();
    test.open(&[expect("session/prompt"), expect("session/cancel"), json!({"exit": 0})]);
    test.prompt("x");
    test.send(Command::Close { session: SESSION });
    test.exited();
    assert_eq!(test.received().methods(), ["initialize", "session/new", "session/prompt", "session/cancel"]);
}

#[test]
fn opening_can_be_given_up() {
    let mut test = Test::new();
    test.connect_with(
        &storage(),
        &[
            expect("session/new"),
            json!({"expect": "$/cancel_request", "as": "cancel"}),
            // It may ignore that, and the session that comes is closed then.
            answer_to("session/new", &json!({"sessionId": "s1"})),
            expect("session/close"),
            answer_to("session/close", &json!({})),
            json!({"exit": 0}),
        ],
    );
    test.send(test.open_command(SESSION));
    test.wait_received("session/new", |received| received.methods().contains(&"session/new"));
    test.send(Command::Close { session: SESSION });
    assert_eq!(test.open_failed().kind, FailureKind::Cancelled);
    test.exited();
    assert!(!test.events().iter().any(|event| matches!(event, Event::Opened { .. })));
    let received = test.received();
    assert_eq!(received.params("$/cancel_request"), &json!({"requestId": 2}));
    assert_eq!(received.params("session/close"), &json!({"sessionId": "s1"}));
}

#[test]
fn a_session_without_a_name_is_no_session() {
    for answer in [json!({}), json!(null), json!({"sessionId": null})] {
        let mut test = Test::new();
        test.connect(&[expect("session/new"), answer_to("session/new", &answer)]);
        test.send(test.open_command(SESSION));
        assert_eq!(test.open_failed().kind, FailureKind::Protocol);
    }
}

#[test]
fn further_folders_are_sent_where_they_are_taken_and_each_once() {
    let folders = |test: &Test| Place {
        cwd: test.project(),
        additional: vec!["/a".into(), test.project(), "relative".into(), "/b".into(), "/a".into()],
        ..Place::default()
    };
    let mut can = storage();
    can["agentCapabilities"]["sessionCapabilities"]["additionalDirectories"] = json!({});
    let mut test = Test::new();
    test.connect_with(
        &can,
        &[
            expect("session/new"),
            answer_to("session/new", &json!({"sessionId": "s1"})),
            expect("session/load"),
            answer_to("session/load", &json!({})),
            expect("session/resume"),
            answer_to("session/resume", &json!({})),
        ],
    );
    test.send(Command::Open { agent: AGENT, session: SESSION, place: folders(&test) });
    test.opened();
    test.send(Command::Load {
        agent: AGENT,
        session: SessionKey(2),
        place: folders(&test),
        acp_id: "old".into(),
        how: acp_nvim::core::message::Reopen::Load,
    });
    test.opened();
    test.send(Command::Load {
        agent: AGENT,
        session: SessionKey(3),
        place: folders(&test),
        acp_id: "older".into(),
        how: acp_nvim::core::message::Reopen::Resume,
    });
    test.opened();
    let received = test.finish();
    for method in ["session/new", "session/load", "session/resume"] {
        assert_eq!(received.params(method)["additionalDirectories"], json!(["/a", "/b"]), "{method}");
    }

    let mut test = Test::new();
    test.connect(&[expect("session/new"), answer_to("session/new", &json!({"sessionId": "s1"}))]);
    test.send(Command::Open { agent: AGENT, session: SESSION, place: folders(&test) });
    test.opened();
    test.wait("a note", |event| matches!(event, Event::Noted { .. }).then_some(()));
    assert_eq!(test.finish().params("session/new").get("additionalDirectories"), None);
}

#[test]
fn mcp_servers_are_sent_as_far_as_the_agent_can_reach_them() {
    let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let place = |test: &Test| Place {
        mcp_servers: vec![
            McpServer::Stdio { name: "local".into(), command: "/bin/mcp".into(), args: vec![], env: vec![] },
            McpServer::Stdio {
                name: "more".into(),
                command: "/bin/mcp".into(),
                args: vec!["-x".into()],
                env: pair("K", "v"),
            },
            McpServer::Http {
                name: "web".into(),
                url: "https://a".into(),
                headers: pair("Authorization", "Bearer b"),
            },
            McpServer::Sse { name: "old".into(), url: "https://b".into(), headers: vec![] },
        ],
        ..test.place()
    };
    let local = json!({"name": "local", "command": "/bin/mcp", "args": [], "env": []});
    let more =
        json!({"name": "more", "command": "/bin/mcp", "args": ["-x"], "env": [{"name": "K", "value": "v"}]});
    let web = json!({"type": "http", "name": "web", "url": "https://a", "headers": [{"name": "Authorization", "value": "Bearer b"}]});
    for (can, servers, left_out) in [
        (json!({}), json!([local, more]), 2),
        (json!({"mcpCapabilities": {"http": true}}), json!([local, more, web]), 1),
    ] {
        let mut test = Test::new();
        test.connect_with(
            &capabilities(&can),
            &[expect("session/new"), answer_to("session/new", &json!({"sessionId": "s1"}))],
        );
        test.send(Command::Open { agent: AGENT, session: SESSION, place: place(&test) });
        test.opened();
        let notes = test.events().iter().filter(|event| matches!(event, Event::Noted { .. })).count();
        assert_eq!(notes, left_out);
        assert_eq!(test.finish().params("session/new")["mcpServers"], servers);
    }
}

#[test]
fn after_logging_in_a_session_can_be_opened() {
    let mut test = Test::new();
    let methods = json!({"authMethods": [
        {"id": "key", "name": "Key"},
        {"id": "term", "name": "Terminal", "type": "terminal", "args": ["login"]},
        {"id": "env", "name": "Env", "type": "env_var"},
    ]});
    let info = test.connect_with(
        &methods,
        &[
            json!({"expect": "session/new", "as": "one"}),
            fail("one", &json!({"code": -32000, "message": "Authentication required"})),
            expect("authenticate"),
            answer_to("authenticate", &json!({})),
            json!({"expect": "session/new", "as": "two"}),
            answer_to("two", &json!({"sessionId": "s1"})),
            expect("session/prompt"),
            fail("session/prompt", &json!({"code": -32000, "message": "session expired"})),
        ],
    );
    assert_eq!(info.auth_methods.len(), 3);
    test.send(test.open_command(SESSION));
    assert_eq!(test.open_failed().kind, FailureKind::AuthRequired);
    // These run elsewhere, or not at all.
    for method in ["term", "env", "none"] {
        test.send(Command::Login { agent: AGENT, method: method.into() });
        assert_eq!(test.failed().0, "log in");
    }
    test.send(Command::Login { agent: AGENT, method: "key".into() });
    test.wait("LoggedIn", |event| matches!(event, Event::LoggedIn { .. }).then_some(()));
    test.send(test.open_command(SESSION));
    test.opened();
    test.prompt("x");
    assert!(matches!(test.turn_end(), TurnEnd::Failed(Failure { kind: FailureKind::AuthRequired, .. })));
    assert_eq!(test.finish().all("authenticate"), [&json!({"methodId": "key"})]);
}

#[test]
fn a_way_to_log_in_may_be_told_by_the_error_that_demands_it() {
    let mut test = Test::new();
    let error = json!({"code": -32000, "message": "Authentication required", "data": {"authMethods": [{"id": "key", "name": "Key"}]}});
    test.connect(&[
        json!({"expect": "session/new", "as": "one"}),
        fail("one", &error),
        json!({"expect": "session/new", "as": "two"}),
        fail("two", &error),
        expect("authenticate"),
        answer_to("authenticate", &json!({})),
    ]);
    test.send(test.open_command(SESSION));
    test.open_failed();
    test.send(test.open_command(SESSION));
    test.open_failed();
    // It is told once, and before the failure that it helps with.
    let connected = |event: &Event| match event {
        Event::Connected { info, .. } => Some(info.auth_methods.len()),
        _ => None,
    };
    let methods: Vec<usize> = test.events().iter().filter_map(connected).collect();
    assert_eq!(methods, [0, 1]);
    let events = test.events();
    let at = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted).unwrap();
    assert!(
        at(&|event| connected(event) == Some(1)) < at(&|event| matches!(event, Event::OpenFailed { .. }))
    );
    test.send(Command::Login { agent: AGENT, method: "key".into() });
    test.wait("LoggedIn", |event| matches!(event, Event::LoggedIn { .. }).then_some(()));
}

#[test]
fn logging_out_is_asked_for_where_it_is_offered() {
    let mut test = Test::new();
    let can = capabilities(&json!({"auth": {"logout": {}}}));
    test.connect_with(&can, &[expect("logout"), answer_to("logout", &json!({}))]);
    test.send(Command::Logout { agent: AGENT });
    test.wait("LoggedOut", |event| matches!(event, Event::LoggedOut { .. }).then_some(()));
    assert_eq!(test.finish().params("logout"), &json!({}));
}

#[test]
fn what_an_agent_has_open_is_asked_where_that_is_offered_and_unknown_words_are_saved() {
    let mut test = Test::new();
    let can = capabilities(&json!({"sessionCapabilities": {"list": {}, "status": {}}}));
    let answers = [
        ("open", json!({"result": {"status": "open"}})),
        ("saved", json!({"result": {"status": "saved"}})),
        ("odd", json!({"result": {"status": "frozen"}})),
        ("none", json!({"result": {}})),
        (
            "gone",
            json!({"error": {"code": -32002, "message": "Resource not found", "data": {"sessionId": "gone"}}}),
        ),
        ("login", json!({"error": {"code": -32000, "message": "Authentication required"}})),
        ("broken", json!({"error": {"code": -32603, "message": "no"}})),
    ];
    let steps = answers.iter().flat_map(|(id, answer)| {
        let reply = match &answer["error"] {
            Value::Null => answer_to(id, &answer["result"]),
            error => fail(id, error),
        };
        [json!({"expect": "session/status", "as": id}), reply]
    });
    test.connect_with(&can, &steps.collect::<Vec<_>>());
    let acp_ids = answers.iter().map(|(id, _)| (*id).to_owned()).collect();
    test.send(Command::AskStatus { agent: AGENT, acp_ids });
    for (id, expected) in [
        ("open", StoredState::Open),
        ("saved", StoredState::Saved),
        ("odd", StoredState::Saved),
        ("none", StoredState::Saved),
        ("gone", StoredState::Gone),
        ("login", StoredState::Saved),
        ("broken", StoredState::Saved),
    ] {
        let (told, state) = test.wait("StatusTold", |event| match event {
            Event::StatusTold { acp_id, state, .. } => Some((acp_id.clone(), *state)),
            _ => None,
        });
        assert_eq!((told.as_str(), state), (id, expected));
    }
    assert!(!test.events().iter().any(|event| matches!(event, Event::RequestFailed { .. })));
    assert_eq!(test.finish().all("session/status")[0], &json!({"sessionId": "open"}));
}

#[test]
fn an_agent_that_can_not_tell_what_it_has_open_is_not_asked() {
    let mut test = Test::new();
    let can = capabilities(&json!({"sessionCapabilities": {"list": {}, "status": false}}));
    let list = answer_to("session/list", &json!({"sessions": []}));
    test.connect_with(&can, &[expect("session/list"), list]);
    test.send(Command::AskStatus { agent: AGENT, acp_ids: vec!["a".into()] });
    test.send(Command::List { agent: AGENT, cwd: None, cursor: None, archived: false });
    test.wait("Listed", |event| matches!(event, Event::Listed { .. }).then_some(()));
    assert!(test.finish().all("session/status").is_empty());
}

#[test]
fn after_a_logout_the_open_session_wants_a_login_and_then_goes_on() {
    let mut test = Test::new();
    let can = json!({
        "agentCapabilities": {"auth": {"logout": {}}},
        "authMethods": [{"id": "key", "name": "Key"}],
    });
    test.connect_with(
        &can,
        &[
            expect("session/new"),
            answer_to("session/new", &json!({"sessionId": "s1"})),
            expect("logout"),
            answer_to("logout", &json!({})),
            json!({"expect": "session/prompt", "as": "first"}),
            fail("first", &json!({"code": -32000, "message": "Authentication required"})),
            expect("authenticate"),
            answer_to("authenticate", &json!({})),
            json!({"expect": "session/prompt", "as": "second"}),
            answer_to("second", &json!({"stopReason": "end_turn"})),
        ],
    );
    test.send(test.open_command(SESSION));
    test.opened();
    test.send(Command::Logout { agent: AGENT });
    test.wait("LoggedOut", |event| matches!(event, Event::LoggedOut { .. }).then_some(()));
    test.prompt("x");
    assert!(matches!(test.turn_end(), TurnEnd::Failed(Failure { kind: FailureKind::AuthRequired, .. })));
    test.send(Command::Login { agent: AGENT, method: "key".into() });
    test.wait("LoggedIn", |event| matches!(event, Event::LoggedIn { .. }).then_some(()));
    test.prompt("x");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    let methods = ["initialize", "session/new", "logout", "session/prompt", "authenticate", "session/prompt"];
    assert_eq!(test.finish().methods(), methods);
}

#[test]
fn whether_it_is_logged_in_is_asked_where_that_is_offered() {
    let mut test = Test::new();
    let can = capabilities(&json!({"auth": {"status": {}, "logout": {}}}));
    let accounts = json!([{"label": "Max", "active": true, "email": "a@b"}, {"label": "Key"}]);
    test.connect_with(
        &can,
        &[
            json!({"expect": "auth/status", "as": "first"}),
            answer_to("first", &json!({"state": "authenticated", "accounts": accounts})),
            expect("logout"),
            answer_to("logout", &json!({})),
            json!({"expect": "auth/status", "as": "second"}),
            // It is never a reason to ask for a login.
            fail("second", &json!({"code": -32000, "message": "Authentication required"})),
            expect("session/new"),
            answer_to("session/new", &json!({"sessionId": "s1"})),
        ],
    );
    assert_eq!(test.auth_status().words().as_deref(), Some("logged in with Max (a@b)"));
    test.send(Command::Logout { agent: AGENT });
    test.wait("LoggedOut", |event| matches!(event, Event::LoggedOut { .. }).then_some(()));
    test.send(test.open_command(SESSION));
    test.opened();
    assert!(!test.events().iter().any(|event| matches!(event, Event::RequestFailed { .. })));
    assert_eq!(test.finish().all("auth/status"), [&json!({}), &json!({})]);
}

#[test]
fn a_state_of_the_login_is_read_at_any_time_in_either_form() {
    let mut test = Test::new();
    let tells = |method: &str, params: Value| json!({"send": {"method": method, "params": params}});
    test.connect(&[
        tells("_auth/status_update", json!({"authStatus": {"kind": "api_key", "label": "Key"}})),
        expect("session/new"),
        tells("auth/status_update", json!({"state": "not_required"})),
        answer_to("session/new", &json!({"sessionId": "s1"})),
        tells("_auth/status_update", json!({"authStatus": {"kind": "none"}})),
        tells("auth/status_update", json!({"state": "frozen", "accounts": "none"})),
    ]);
    assert_eq!(test.auth_status().words().as_deref(), Some("logged in with Key"));
    test.send(test.open_command(SESSION));
    test.opened();
    for words in [Some("no login needed"), Some("not logged in"), None] {
        assert_eq!(test.auth_status().words().as_deref(), words);
    }
    assert!(test.finish().all("auth/status").is_empty(), "it is offered by nobody");
}

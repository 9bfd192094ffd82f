//! The user's own system prompt: sent only where the agent takes it, again whenever a session is taken up, and
//! left out with a word where the agent refuses it.

use acp_nvim::core::ids::*;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

fn place(test: &Test, text: &str, replaces: bool) -> Place {
    let system_prompt = Some(SystemPrompt { text: text.into(), file: None, replaces });
    Place { system_prompt, ..test.place() }
}

/// What is sent to an agent with this capability, and what the user is told.
fn sent(capability: &Value, text: &str, replaces: bool) -> (Value, Vec<String>) {
    let mut test = Test::new();
    let can = json!({"agentCapabilities": {"sessionCapabilities": {"systemPrompt": capability}}});
    let new = [expect("session/new"), answer_to("session/new", &json!({"sessionId": "s1"}))];
    test.connect_with(&can, &new);
    let place = place(&test, text, replaces);
    test.send(Command::Open { agent: AGENT, session: SESSION, place });
    test.opened();
    let notes = notes(&mut test);
    (test.finish().params("session/new")["systemPrompt"].clone(), notes)
}

fn notes(test: &mut Test) -> Vec<String> {
    let note = |event| match event {
        Event::Noted { text, .. } => Some(text),
        _ => None,
    };
    test.events().into_iter().filter_map(note).collect()
}

#[test]
fn a_system_prompt_is_sent_as_the_agent_takes_it_and_no_further() {
    let prompt = |mode: &str| json!({"mode": mode, "content": [{"type": "text", "text": "Be brief."}]});
    let (append, both) = (json!({}), json!({"mode": {"override": {}}}));
    for (capability, replaces, expected, told) in [
        (&Value::Null, false, Value::Null, "takes no system prompt"),
        (&Value::Null, true, Value::Null, "takes no system prompt"),
        (&append, false, prompt("append"), ""),
        (&append, true, prompt("append"), "keeps its own system prompt"),
        (&both, false, prompt("append"), ""),
        (&both, true, prompt("override"), ""),
    ] {
        let (sent, notes) = sent(capability, "Be brief.", replaces);
        assert_eq!(sent, expected, "{capability} {replaces}");
        match told {
            "" => assert_eq!(notes, [""; 0]),
            told => assert!(notes.len() == 1 && notes[0].contains(told), "{notes:?}"),
        }
    }
    assert_eq!(sent(&both, " \n", true).0, Value::Null, "an empty one is none");
}

#[test]
fn a_project_adds_a_file_to_it_and_one_that_is_not_there_costs_no_session() {
    let mut test = Test::new();
    let can = json!({"agentCapabilities": {"sessionCapabilities": {"systemPrompt": {}}}});
    let new = |name: &str, id: &str| {
        [json!({"expect": "session/new", "as": name}), answer_to(name, &json!({ "sessionId": id }))]
    };
    test.connect_with(&can, &[new("one", "s1"), new("two", "s2")].concat());
    let file = test.file("docs/agents.md", "Run make.\n");
    for (session, file) in [(SESSION, file), (SessionKey(2), test.path("gone.md"))] {
        let mut place = place(&test, "Be brief.", false);
        place.system_prompt.as_mut().unwrap().file = Some(file);
        test.send(Command::Open { agent: AGENT, session, place });
        test.opened();
    }
    let notes = notes(&mut test);
    assert!(notes.len() == 1 && notes[0].contains("couldn't read the system prompt in "), "{notes:?}");
    let received = test.finish();
    let texts: Vec<&Value> = received
        .all("session/new")
        .iter()
        .map(|params| &params["systemPrompt"]["content"][0]["text"])
        .collect();
    assert_eq!(texts, ["Be brief.\n\nRun make.", "Be brief."]);
}

#[test]
fn a_session_that_is_taken_up_is_told_again() {
    let mut test = Test::new();
    let can = json!({"agentCapabilities": {"loadSession": true,
        "sessionCapabilities": {"systemPrompt": {}, "resume": {}, "fork": {}}}});
    let take_up = |method: &str| [expect(method), answer_to(method, &json!({"sessionId": "forked"}))];
    let methods = ["session/load", "session/resume", "session/fork"];
    test.connect_with(&can, &methods.map(take_up).concat());
    let ways = [Reopen::Load, Reopen::Resume, Reopen::Fork];
    for (session, how) in (1..).map(SessionKey).zip(ways) {
        let place = place(&test, "Be brief.", false);
        test.send(Command::Load { agent: AGENT, session, place, acp_id: format!("s{}", session.0), how });
        test.opened();
    }
    let received = test.finish();
    for method in methods {
        let prompt = json!({"mode": "append", "content": [{"type": "text", "text": "Be brief."}]});
        assert_eq!(received.params(method)["systemPrompt"], prompt, "{method}");
    }
}

#[test]
fn an_agent_that_refuses_the_prompt_has_a_session_without_it() {
    let mut test = Test::new();
    let can =
        json!({"agentCapabilities": {"loadSession": true, "sessionCapabilities": {"systemPrompt": {}}}});
    let refusal =
        json!({"code": -32602, "message": "Invalid params", "data": {"systemPrompt": {"mode": "no"}}});
    let refused = |method: &str, name: &str| [json!({"expect": method, "as": name}), fail(name, &refusal)];
    let steps = [
        &refused("session/new", "one")[..],
        &[expect("session/new"), answer_to("session/new", &json!({"sessionId": "s1"}))],
        &refused("session/load", "two"),
        &[expect("session/load"), answer_to("session/load", &json!({}))],
    ];
    test.connect_with(&can, &steps.concat());
    let new = place(&test, "Be brief.", false);
    test.send(Command::Open { agent: AGENT, session: SESSION, place: new.clone() });
    test.opened();
    let acp_id = "s0".to_owned();
    let session = SessionKey(2);
    test.send(Command::Load { agent: AGENT, session, place: new, acp_id, how: Reopen::Load });
    test.opened();
    let notes = notes(&mut test);
    assert!(
        notes.len() == 2 && notes.iter().all(|note| note.contains("refuses your system prompt")),
        "{notes:?}"
    );
    let received = test.finish();
    for method in ["session/new", "session/load"] {
        let has: Vec<bool> =
            received.all(method).iter().map(|params| params.get("systemPrompt").is_some()).collect();
        assert_eq!(has, [true, false], "{method}");
    }
}

#[test]
fn another_refusal_is_no_reason_to_leave_the_prompt_out() {
    let mut test = Test::new();
    let can = json!({"agentCapabilities": {"sessionCapabilities": {"systemPrompt": {}}}});
    let refusal = json!({"code": -32602, "message": "cwd must be absolute"});
    test.connect_with(&can, &[expect("session/new"), fail("session/new", &refusal)]);
    let place = place(&test, "Be brief.", false);
    test.send(Command::Open { agent: AGENT, session: SESSION, place });
    assert!(test.open_failed().message.contains("cwd"));
    assert_eq!(test.finish().all("session/new").len(), 1);
}

//! Sessions of subagents: what they say and ask is told as a part of the session that they work for, and
//! nothing but answers and an allowed cancel is ever sent to them.

use acp_nvim::core::ids::*;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

/// An update of the session that the agent calls so.
fn told(session: &str, update: Value) -> Value {
    notify("session/update", &json!({"sessionId": session, "update": update}))
}

fn subagent(session: &str, fields: &Value) -> Value {
    let mut update = json!({"sessionUpdate": "subagent_update", "sessionId": "k1"});
    for (key, value) in fields.as_object().unwrap() {
        update[key] = value.clone();
    }
    told(session, update)
}

fn announced() -> Value {
    let state = json!({"state": "running"});
    subagent("s1", &json!({"title": "Edit the notes", "capabilities": {"cancel": {}}, "state": state}))
}

fn idle(reason: &str) -> Value {
    subagent("s1", &json!({"state": {"state": "idle", "stopReason": reason}}))
}

fn of_subagent(id: &str, mut request: Value) -> Value {
    request["send"]["params"]["sessionId"] = id.into();
    request
}

fn branch(id: &str) -> Branch {
    Branch::Subagent(SubagentId(id.into()))
}

fn call(id: &str) -> Value {
    json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "Read", "status": "pending"})
}

/// What is told of subagents' sessions.
fn within(test: &mut Test) -> Vec<(Branch, Update)> {
    let within = |update| match update {
        Update::Within { branch, update } => Some((branch, *update)),
        _ => None,
    };
    test.updates().into_iter().filter_map(within).collect()
}

fn cancels(received: &Received) -> Vec<&str> {
    received.all("session/cancel").iter().map(|params| params["sessionId"].as_str().unwrap()).collect()
}

#[test]
fn a_subagent_that_asks_for_permission_is_answered() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        announced(),
        of_subagent("k1", permission(7, "c")),
        json!({"answer": 7}),
        end_turn(),
    ]);
    test.prompt("x");
    let (asked, ask, question) = test.wait("Asked", |event| match event {
        Event::Asked { branch, ask, question, .. } => Some((branch.clone(), *ask, question.clone())),
        _ => None,
    });
    assert_eq!(asked, Some(branch("k1")));
    let Question::Permission { call, .. } = question else { panic!("another question") };
    assert_eq!(
        (call.id.as_told(), call.id == ToolCallId("c".into())),
        ("c", false),
        "the session may have a c"
    );
    test.answer(ask, Answer::Selected("yes".into()));
    test.stop_reason();
    assert_eq!(test.finish().result(7)["outcome"]["optionId"], "yes");
}

#[test]
fn what_a_subagent_says_is_not_said_by_its_session() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        announced(),
        update(&chunk("from the parent")),
        told("k1", chunk("from the child")),
        update(&call("c")),
        told("k1", call("c")),
        // One that works for the subagent.
        told(
            "k1",
            json!({"sessionUpdate": "subagent_update", "sessionId": "k1:subagent:b/..", "title": "Deeper"}),
        ),
        told("k1:subagent:b/..", chunk("from deep down")),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    let updates = test.updates();
    let own: Vec<&str> = updates.iter().filter_map(text).collect();
    assert_eq!(own, ["from the parent"]);
    let within = within(&mut test);
    let said: Vec<(&Branch, &str)> =
        within.iter().filter_map(|(branch, update)| Some((branch, text(update)?))).collect();
    assert_eq!(said, [(&branch("k1"), "from the child"), (&branch("k1:subagent:b/.."), "from deep down")]);
    let ids: Vec<&ToolCallId> = updates
        .iter()
        .chain(within.iter().map(|(_, update)| update))
        .filter_map(|update| match update {
            Update::ToolCall(call) => Some(&call.id),
            _ => None,
        })
        .collect();
    assert!(ids.len() == 2 && ids[0] != ids[1] && ids[0].as_told() == ids[1].as_told(), "{ids:?}");
    let nested = |(branch, update): &(Branch, Update)| {
        *branch == self::branch("k1")
            && matches!(update, Update::Subagent(patch) if patch.id.0 == "k1:subagent:b/..")
    };
    assert!(within.iter().any(nested), "{within:?}");
    test.finish();
}

#[test]
fn what_comes_before_the_announcement_is_shown_after_it_and_what_is_never_announced_is_not() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        told("k1", chunk("early")),
        told("nobody", chunk("never")),
        announced(),
        told("k1", chunk(" and late")),
        of_subagent("nobody", permission(7, "c")),
        json!({"answer": 7}),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    let said: String = within(&mut test).iter().filter_map(|(_, update)| text(update)).collect();
    assert_eq!(said, "early and late");
    assert!(test.updates().iter().all(|update| text(update).is_none()));
    assert_eq!(test.finish().error(7).0, -32002);
}

#[test]
fn a_subagent_is_cancelled_by_itself_only_while_that_is_offered() {
    let mut test = Test::new();
    let offers = |can: Value| subagent("s1", &json!({ "capabilities": can }));
    test.open(&[
        expect("session/prompt"),
        offers(json!({})),
        update(&chunk("1")),
        expect("session/set_mode"),
        offers(json!({"cancel": {}})),
        update(&chunk("2")),
        expect("session/cancel"),
        offers(json!({"cancel": null})),
        update(&chunk("3")),
        end_turn(),
    ]);
    test.prompt("x");
    let cancel = || Command::CancelSubagent { session: SESSION, subagent: SubagentId("k1".into()) };
    let said = |test: &mut Test, what: &'static str| {
        test.wait("a chunk", |event| match event {
            Event::Updated { update, .. } if text(update) == Some(what) => Some(()),
            _ => None,
        });
    };
    said(&mut test, "1");
    test.send(cancel());
    test.send(Command::SetMode { session: SESSION, mode: "m".into() });
    said(&mut test, "2");
    test.send(cancel());
    said(&mut test, "3");
    test.stop_reason();
    test.send(cancel());
    test.send(Command::CancelSubagent { session: SESSION, subagent: SubagentId("nobody".into()) });
    assert_eq!(cancels(&test.finish()), ["k1"]);
}

#[test]
fn cancelling_the_turn_leaves_a_subagents_question_to_the_agent() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        announced(),
        permission(6, "c"),
        of_subagent("k1", permission(7, "c")),
        of_subagent("k1", permission(8, "d")),
        json!({"answer": 6}),
        expect("session/cancel"),
        of_subagent("k1", permission(9, "e")),
        update(&chunk("asked")),
        notify("$/cancel_request", &json!({"requestId": 7})),
        json!({"answer": 7}),
        answer_to("session/prompt", &json!({"stopReason": "cancelled"})),
        idle("cancelled"),
        json!({"answer": 8}),
        json!({"answer": 9}),
    ]);
    test.prompt("x");
    let asks = [test.question().0, test.question().0, test.question().0];
    test.send(Command::Cancel { session: SESSION });
    let late = test.question().0;
    assert_eq!(test.stop_reason(), StopReason::Cancelled);
    for ask in [asks[0], asks[1], asks[2], late] {
        test.wait("Withdrawn", |event| match event {
            Event::Withdrawn { ask: gone, .. } if *gone == ask => Some(()),
            _ => None,
        });
    }
    test.wait_received("all answers", |received| (6..=9).all(|id| !received.answers(&json!(id)).is_empty()));
    let received = test.finish();
    for id in 6..=9 {
        assert_eq!(received.result(id), &json!({"outcome": {"outcome": "cancelled"}}), "{id}");
    }
    assert_eq!(cancels(&received), ["s1"]);
}

#[test]
fn a_subagent_reads_and_runs_where_it_works() {
    let mut test = Test::new();
    let (here, there) = (test.file("a.txt", "here"), test.file("tree/a.txt", "there"));
    let tree = test.path("tree");
    let read = |id: i64, path: &std::path::Path| {
        of_subagent("k1", request(id, "fs/read_text_file", &json!({"sessionId": "", "path": path})))
    };
    let run = |id: i64| {
        of_subagent("k1", request(id, "terminal/create", &json!({"sessionId": "", "command": "pwd > where"})))
    };
    test.open(&[
        expect("session/prompt"),
        subagent("s1", &json!({"cwd": tree, "state": {"state": "running"}})),
        read(5, &there),
        json!({"answer": 5}),
        read(6, &here),
        run(7),
        json!({"answer": 7}),
        json!({"answer": 6}),
        subagent("s1", &json!({"cwd": null})),
        read(8, &here),
        json!({"answer": 8}),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    wait_for("the command", || {
        std::fs::read_to_string(tree.join("where")).is_ok_and(|text| text.ends_with('\n'))
    });
    assert_eq!(std::fs::read_to_string(tree.join("where")).unwrap().trim_end(), tree.to_str().unwrap());
    let received = test.finish();
    assert_eq!(received.result(5)["content"], "there");
    assert_eq!(received.result(8)["content"], "here");
    assert_eq!(received.error(6).0, -32602, "it is outside of where it works");
}

#[test]
fn the_older_form_names_the_call_that_started_it() {
    let mut test = Test::new();
    let meta = json!({"claudeCode": {"parentToolUseId": "agent"}});
    let with = |mut update: Value| {
        update["_meta"] = meta.clone();
        update
    };
    test.open(&[
        expect("session/prompt"),
        update(&call("agent")),
        update(&with(call("c"))),
        update(&with(chunk("below"))),
        update(&chunk("above")),
        announced(),
        // In a session of its own it says nothing new.
        told("k1", with(chunk("in its own"))),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    let said: Vec<(Branch, String)> = within(&mut test)
        .into_iter()
        .filter_map(|(branch, update)| Some((branch, text(&update)?.to_owned())))
        .collect();
    let agent = Branch::Call(ToolCallId("agent".into()));
    assert_eq!(said, [(agent.clone(), "below".to_owned()), (branch("k1"), "in its own".to_owned())]);
    let calls: Vec<Branch> = within(&mut test)
        .into_iter()
        .filter_map(|(branch, update)| matches!(update, Update::ToolCall(_)).then_some(branch))
        .collect();
    assert_eq!(calls, [agent]);
    let own: Vec<String> = test.updates().iter().filter_map(text).map(str::to_owned).collect();
    assert_eq!(own, ["above"]);
    test.finish();
}

#[test]
fn a_subagent_cannot_pose_as_a_session_of_the_users() {
    let mut test = Test::new();
    test.open(&[
        expect("session/prompt"),
        told("s1", json!({"sessionUpdate": "subagent_update", "sessionId": "s1", "title": "Me"})),
        update(&chunk("still me")),
        end_turn(),
    ]);
    test.prompt("x");
    test.stop_reason();
    assert_eq!(test.updates().iter().filter_map(text).collect::<String>(), "still me");
    test.finish();
}

#[test]
fn what_makes_no_sense_about_subagents_harms_nothing() {
    let odd = [
        json!({"sessionUpdate": "subagent_update"}),
        json!({"sessionUpdate": "subagent_update", "sessionId": 7, "title": []}),
        json!({"sessionUpdate": "subagent_update", "sessionId": "s1", "title": "The session itself"}),
        json!({"sessionUpdate": "subagent_update", "sessionId": "k1", "state": "running", "capabilities": 3}),
        json!({"sessionUpdate": "session_message"}),
        json!({"sessionUpdate": "session_message", "messageId": "m", "recipientSessionId": "nobody", "content": 7}),
        json!({"sessionUpdate": "session_message_chunk", "messageId": "m"}),
        json!({"sessionUpdate": "session_message_chunk", "messageId": 7, "content": {"type": "text", "text": "x"}}),
    ];
    let mut steps = vec![expect("session/prompt")];
    steps.extend(odd.iter().map(update));
    steps.extend([update(&chunk("still here")), end_turn()]);
    let mut test = Test::new();
    test.open(&steps);
    test.prompt("x");
    test.stop_reason();
    let updates = test.updates();
    let own: Vec<&str> = updates.iter().filter_map(text).collect();
    assert_eq!(own, ["still here"]);
    test.finish();
}

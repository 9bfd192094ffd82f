//! Each method and update of version 2, in both directions. What is sent is judged by the types of the second version,
//! what comes out for the conversation by those of the first.

use std::collections::HashMap;

use agent_client_protocol_schema::{v1, v2};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;
use crate::acp::wire::rpc;

/// A session with Claude that reads, edits, runs, has a subagent, is stopped and is loaded.
const RECORDED: &str = "tests/data/claude-agent-acp101-v2.jsonl";

fn read(message: &Value) -> Message {
    rpc::read(&message.to_string()).expect("a message")
}

/// What the conversation gets: the params of requests and notifications, results, and errors.
fn taken(v2: &mut V2, message: &Value) -> Vec<Value> {
    let Converted { messages, refused } = v2.incoming(read(message));
    assert!(refused.is_none(), "{refused:?}");
    let value = |message| match message {
        Message::Request { params, .. } | Message::Notification { params, .. } => params,
        Message::Response { result: Ok(result), id } => json!({ "id": id.to_string(), "result": result }),
        Message::Response { result: Err(error), id } => {
            json!({ "id": id.to_string(), "code": error.code, "message": error.message })
        }
        Message::Malformed { .. } => Value::Null,
    };
    messages.into_iter().map(value).collect()
}

fn is<T: DeserializeOwned>(value: &Value) {
    if let Err(error) = serde_json::from_value::<T>(value.clone()) {
        panic!("{error}: {value}");
    }
}

/// Nothing in it is unknown to the type.
fn is_exactly<T: DeserializeOwned + Serialize>(value: &Value) {
    let typed: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    assert_eq!(&serde_json::to_value(typed).expect("JSON"), value);
}

fn ask() -> Value {
    json!({
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": { "readTextFile": true, "writeTextFile": true },
            "terminal": true,
            "auth": { "terminal": true },
            "elicitation": { "form": {} },
        },
        "clientInfo": { "name": "acp.nvim", "version": "1" },
    })
}

/// A connection that has agreed on version 2, with this in the agent's capabilities.
fn agreed_with(capabilities: &Value) -> (V2, Value) {
    let mut v2 = V2::default();
    v2.request(0, "initialize", ask());
    let result = json!({
        "protocolVersion": 2, "info": { "name": "a", "version": "1" }, "capabilities": capabilities,
    });
    let mut taken = taken(&mut v2, &json!({ "id": 0, "result": result }));
    (v2, taken.remove(0)["result"].take())
}

fn agreed() -> V2 {
    let (mut v2, _) = agreed_with(&json!({ "session": {} }));
    v2.request(1, "session/new", json!({ "cwd": "/p", "mcpServers": [] }));
    taken(&mut v2, &json!({ "id": 1, "result": { "sessionId": "s" } }));
    v2
}

fn update(update: Value) -> Value {
    json!({ "method": "session/update", "params": { "sessionId": "s", "update": update } })
}

/// What an update becomes; each of it is one of the first version's.
fn updates(v2: &mut V2, told: Value) -> Vec<Value> {
    let taken = taken(v2, &update(told));
    taken
        .into_iter()
        .map(|mut params| {
            is::<v1::SessionNotification>(&params);
            params["update"].take()
        })
        .collect()
}

#[test]
fn the_second_version_is_asked_for_and_the_first_stands_beside_it() {
    let mut v2 = V2::default();
    let (method, sent) = v2.request(0, "initialize", ask());
    assert_eq!((method.as_str(), &sent["protocolVersion"]), ("initialize", &json!(2)));
    assert_eq!(sent["info"], json!({ "name": "acp.nvim", "version": "1" }));
    assert_eq!(sent["capabilities"], json!({ "auth": { "terminal": {} }, "elicitation": { "form": {} } }));
    assert_eq!(sent["clientCapabilities"], ask()["clientCapabilities"]);
    is::<v2::InitializeRequest>(&sent);
}

#[test]
fn what_the_agent_can_do_is_said_as_in_the_first_version() {
    let (v2, result) = agreed_with(&json!({
        "session": {
            "prompt": { "image": {}, "audio": null },
            "mcp": { "stdio": {}, "http": {} },
            "delete": {}, "fork": {}, "title": {}, "status": {}, "archive": {},
            "systemPrompt": { "mode": { "override": {} } },
        },
        "auth": { "status": {} },
        "providers": {},
    }));
    assert!(!v2.fell_back());
    is::<v1::InitializeResponse>(&result);
    let can = crate::acp::wire::from_acp::connected(&result).expect("version 1").can;
    assert!(can.load && can.list && can.resume && can.close && can.delete && can.fork);
    assert!(can.image && !can.audio && !can.embedded_context && can.mcp_http && !can.mcp_sse);
    assert!(can.system_prompt && can.system_prompt_override && !can.additional_directories && !can.logout);
}

#[test]
fn a_login_has_another_name_for_its_id() {
    let mut v2 = V2::default();
    v2.request(0, "initialize", ask());
    let methods = json!([
        { "type": "agent", "methodId": "a", "name": "A" },
        { "type": "terminal", "methodId": "t", "name": "T", "args": ["login"], "env": [{ "name": "X", "value": "1" }] },
    ]);
    let result = json!({
        "protocolVersion": 2, "info": { "name": "a", "version": "1" }, "capabilities": { "session": {} },
        "authMethods": methods,
    });
    let result = taken(&mut v2, &json!({ "id": 0, "result": result })).remove(0)["result"].take();
    let info = crate::acp::wire::from_acp::connected(&result).expect("version 1");
    let ids: Vec<&str> = info.auth_methods.iter().map(|method| method.id.as_str()).collect();
    assert_eq!((ids.as_slice(), info.can.logout), (["a", "t"].as_slice(), true));
    let (method, params) = v2.request(1, "authenticate", json!({ "methodId": "a" }));
    assert_eq!(method, "auth/login");
    is_exactly::<v2::LoginAuthRequest>(&params);
    assert_eq!(v2.request(2, "logout", json!({})).0, "auth/logout");
}

#[test]
fn an_agent_of_the_first_version_is_spoken_to_in_that() {
    let mut v2 = V2::default();
    v2.request(0, "initialize", ask());
    let result = json!({ "protocolVersion": 1, "agentCapabilities": { "loadSession": true } });
    let answered = taken(&mut v2, &json!({ "id": 0, "result": result.clone() }));
    assert_eq!(answered, [json!({ "id": "0", "result": result })]);
    assert!(v2.fell_back());
    let load = json!({ "sessionId": "s", "cwd": "/p", "mcpServers": [] });
    assert_eq!(v2.request(1, "session/load", load.clone()), ("session/load".to_owned(), load));
    v2.request(2, "session/prompt", json!({ "sessionId": "s", "prompt": [] }));
    let ended = taken(&mut v2, &json!({ "id": 2, "result": { "stopReason": "end_turn" } }));
    assert_eq!(ended, [json!({ "id": "2", "result": { "stopReason": "end_turn" } })]);
}

#[test]
fn an_agent_without_a_common_version_says_which_it_has() {
    let mut v2 = V2::default();
    v2.request(0, "initialize", ask());
    let data = json!({ "requested": 2, "supported": [3, 4] });
    let error = json!({ "code": -32022, "message": "Unsupported protocol version", "data": data });
    let said = taken(&mut v2, &json!({ "id": 0, "error": error })).remove(0);
    let expected = "it speaks version 3, 4 of the protocol, not 2; take `protocol` out of its options";
    assert_eq!(said["message"], expected);
    let mut v2 = V2::default();
    v2.request(0, "initialize", ask());
    let result = json!({ "protocolVersion": 2, "info": { "name": "a", "version": "1" }, "capabilities": {} });
    let said = taken(&mut v2, &json!({ "id": 0, "result": result })).remove(0);
    assert_eq!(said["message"], "it has no sessions in version 2 of the protocol");
}

#[test]
fn each_request_of_ours_is_one_of_the_second_version() {
    // What is empty need not be written.
    let pair = json!([{ "name": "A", "value": "b" }]);
    let stdio = json!({ "name": "n", "command": "/bin/n", "args": ["-x"], "env": pair });
    let http = json!({ "type": "http", "name": "h", "url": "https://x", "headers": pair });
    let open = json!({ "sessionId": "s", "cwd": "/p", "mcpServers": [stdio, http] });
    let new = json!({ "cwd": "/p", "mcpServers": [stdio, http] });
    let mut v2 = agreed();
    let mut sent = |method: &str, params: Value| v2.request(7, method, params);
    let (method, params) = sent("session/new", new);
    assert_eq!((method.as_str(), &params["mcpServers"][0]["type"]), ("session/new", &json!("stdio")));
    is_exactly::<v2::NewSessionRequest>(&params);
    let (method, params) = sent("session/load", open.clone());
    assert_eq!((method.as_str(), &params["replayFrom"]), ("session/resume", &json!({ "type": "start" })));
    is_exactly::<v2::ResumeSessionRequest>(&params);
    let (method, params) = sent("session/resume", open.clone());
    assert_eq!((method.as_str(), params.get("replayFrom")), ("session/resume", None));
    is_exactly::<v2::ResumeSessionRequest>(&params);
    let (method, params) = sent("session/fork", open);
    assert_eq!(method, "session/fork");
    is_exactly::<v2::ForkSessionRequest>(&params);
    for (value, expected) in [
        (json!({ "value": "x" }), json!({ "type": "id", "value": "x" })),
        (json!({ "type": "boolean", "value": true }), json!({ "type": "boolean", "value": true })),
    ] {
        let mut params = json!({ "sessionId": "s", "configId": "o" });
        params.as_object_mut().expect("an object").extend(value.as_object().expect("an object").clone());
        let (_, params) = sent("session/set_config_option", params);
        assert_eq!((&params["type"], &params["value"]), (&expected["type"], &expected["value"]));
        is_exactly::<v2::SetSessionConfigOptionRequest>(&params);
    }
    let (method, params) = sent("session/set_mode", json!({ "sessionId": "s", "modeId": "plan" }));
    assert_eq!(method, "session/set_config_option");
    assert_eq!((&params["configId"], &params["value"]), (&json!("mode"), &json!("plan")));
    is_exactly::<v2::SetSessionConfigOptionRequest>(&params);
    let text = json!([{ "type": "text", "text": "hello" }]);
    let (_, params) = sent("session/prompt", json!({ "sessionId": "s", "prompt": text }));
    is_exactly::<v2::PromptRequest>(&params);
    for method in ["session/list", "session/delete", "session/close", "_session/steering"] {
        let params = json!({ "sessionId": "s" });
        assert_eq!(sent(method, params.clone()), (method.to_owned(), params));
    }
}

fn prompted(v2: &mut V2) {
    v2.request(5, "session/prompt", json!({ "sessionId": "s", "prompt": [] }));
}

fn state(state: &str) -> Value {
    json!({ "sessionUpdate": "state_update", "state": state, "background": [] })
}

fn idle(reason: &str) -> Value {
    json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": reason })
}

#[test]
fn a_prompt_is_answered_when_the_session_is_idle() {
    let mut v2 = agreed();
    prompted(&mut v2);
    assert!(taken(&mut v2, &json!({ "id": 5, "result": { "messageId": "m" } })).is_empty());
    for told in [state("running"), state("requires_action"), state("running")] {
        assert!(taken(&mut v2, &update(told)).is_empty());
    }
    let mut over = idle("end_turn");
    over["usage"] = json!({ "totalTokens": 3, "inputTokens": 1, "outputTokens": 2 });
    over["_meta"] = json!({ "quota": 1 });
    let answered = taken(&mut v2, &update(over.clone()));
    let result = json!({ "stopReason": "end_turn", "usage": over["usage"], "_meta": over["_meta"] });
    assert_eq!(answered, [json!({ "id": "5", "result": result })]);
    is::<v1::PromptResponse>(&answered[0]["result"]);
    // It is over once.
    assert!(taken(&mut v2, &update(idle("end_turn"))).is_empty());
}

#[test]
fn a_state_that_is_only_repeated_ends_no_turn() {
    let mut v2 = agreed();
    taken(&mut v2, &update(idle("end_turn")));
    prompted(&mut v2);
    taken(&mut v2, &json!({ "id": 5, "result": { "messageId": "m" } }));
    assert!(taken(&mut v2, &update(idle("end_turn"))).is_empty());
    taken(&mut v2, &update(state("running")));
    assert_eq!(taken(&mut v2, &update(idle("refusal"))).len(), 1);
}

#[test]
fn a_turn_may_be_over_before_its_prompt_is_answered() {
    let mut v2 = agreed();
    prompted(&mut v2);
    taken(&mut v2, &update(state("running")));
    assert!(taken(&mut v2, &update(idle("end_turn"))).is_empty());
    let answered = taken(&mut v2, &json!({ "id": 5, "result": { "messageId": "m" } }));
    assert_eq!(answered, [json!({ "id": "5", "result": { "stopReason": "end_turn" } })]);
}

#[test]
fn a_turn_ends_with_an_error_with_none_or_with_its_session() {
    let mut v2 = agreed();
    let mut end = |over: Value| {
        prompted(&mut v2);
        taken(&mut v2, &json!({ "id": 5, "result": { "messageId": "m" } }));
        taken(&mut v2, &update(state("running")));
        taken(&mut v2, &update(over)).remove(0)
    };
    let mut error = idle("error");
    error["error"] = json!({ "code": -32603, "message": "no luck" });
    assert_eq!(end(error), json!({ "id": "5", "code": -32603, "message": "no luck" }));
    assert_eq!(end(idle("error"))["code"], -32603);
    assert_eq!(end(state("idle")), json!({ "id": "5", "result": {} }));
    prompted(&mut v2);
    let refused = taken(&mut v2, &json!({ "id": 5, "error": { "code": -32000, "message": "log in" } }));
    assert_eq!(refused, [json!({ "id": "5", "code": -32000, "message": "log in" })]);
    prompted(&mut v2);
    v2.request(6, "session/close", json!({ "sessionId": "s" }));
    let closed = taken(&mut v2, &json!({ "id": 6, "result": {} }));
    assert_eq!(closed[1], json!({ "id": "5", "result": { "stopReason": "cancelled" } }));
    // What comes late is for nobody.
    assert!(taken(&mut v2, &update(idle("end_turn"))).is_empty());
}

fn whole(kind: &str, id: &str, content: Value) -> Value {
    json!({ "sessionUpdate": kind, "messageId": id, "content": content })
}

fn words(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn texts(v2: &mut V2, told: Value) -> Vec<(String, String, String)> {
    let chunk = |update: Value| {
        let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (part(&update["sessionUpdate"]), part(&update["messageId"]), part(&update["content"]["text"]))
    };
    updates(v2, told).into_iter().map(chunk).collect()
}

#[test]
fn a_message_that_is_told_as_a_whole_is_told_by_what_is_new_of_it() {
    let mut v2 = agreed();
    let mut texts = |kind: &str, content: Value| texts(&mut v2, whole(kind, "m", content));
    let chunk =
        |id: &str, text: &str| vec![("agent_message_chunk".to_owned(), id.to_owned(), text.to_owned())];
    assert_eq!(texts("agent_message", json!([])), []);
    assert_eq!(texts("agent_message_chunk", words("Hel")), chunk("m", "Hel"));
    assert_eq!(texts("agent_message", json!([words("Hel"), words("lo")])), chunk("m", "lo"));
    assert_eq!(texts("agent_message", json!([words("Hello")])), []);
    assert_eq!(texts("agent_message", json!([words("Bye")])), chunk("m~1", "Bye"));
    assert_eq!(texts("agent_message_chunk", words("!")), chunk("m~1", "!"));
    assert_eq!(texts("agent_message", Value::Null), []);
    assert_eq!(texts("agent_message_chunk", words("Anew")), chunk("m~2", "Anew"));
    // The same id is another message where another one speaks.
    let thought = texts("agent_thought", json!([words("Hm")]));
    assert_eq!(thought, [("agent_thought_chunk".into(), "m".into(), "Hm".into())]);
    let asked = texts("user_message", json!([words("Go")]));
    assert_eq!(asked, [("user_message_chunk".into(), "m".into(), "Go".into())]);
}

#[test]
fn a_call_is_told_as_a_whole_or_by_a_part_that_is_added() {
    let mut v2 = agreed();
    let part = |text: &str| json!({ "type": "content", "content": words(text) });
    let call = |mut fields: Value| {
        (fields["sessionUpdate"], fields["toolCallId"]) = ("tool_call_update".into(), "c".into());
        fields
    };
    let told = updates(&mut v2, call(json!({ "title": "T", "kind": "read", "content": [part("a")] })));
    assert_eq!(told[0]["content"], json!([part("a")]));
    let chunk =
        json!({ "sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": part("b") });
    let told = updates(&mut v2, chunk);
    assert_eq!(told[0]["content"], json!([part("a"), part("b")]));
    let told = updates(&mut v2, call(json!({ "content": null, "locations": null, "status": "paused" })));
    assert_eq!((&told[0]["content"], &told[0]["locations"]), (&json!([]), &json!([])));
    assert!(told[0].get("status").is_none(), "{}", told[0]);
    let diff = json!({
        "type": "diff",
        "changes": [{ "operation": "modify", "path": "/p/x" }],
        "patch": { "format": "git_patch", "text": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" },
    });
    let told = updates(&mut v2, call(json!({ "content": [diff] })));
    let expected = json!([{ "type": "diff", "path": "/p/x", "oldText": "a\n", "newText": "b\n" }]);
    assert_eq!(told[0]["content"], expected);
}

#[test]
fn a_command_of_the_agents_is_told_within_the_call_that_shows_it() {
    let mut v2 = agreed();
    let terminal = |mut fields: Value| {
        (fields["sessionUpdate"], fields["terminalId"]) = ("terminal_update".into(), "t".into());
        fields
    };
    let chunk =
        |data: &str| json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": data });
    // Before a call shows it, it waits.
    assert!(updates(&mut v2, terminal(json!({ "command": "make", "cwd": "/p" }))).is_empty());
    assert!(updates(&mut v2, chunk("b3V0")).is_empty());
    let call = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "Build",
        "content": [{ "type": "terminal", "terminalId": "t" }],
    });
    let told = updates(&mut v2, call);
    let metas: Vec<&Value> = told.iter().map(|update| &update["_meta"]).collect();
    assert_eq!(metas[0]["terminal_info"], json!({ "terminal_id": "t", "cwd": "/p" }));
    assert_eq!(metas[1]["terminal_output_delta"], json!({ "terminal_id": "t", "data": "out" }));
    assert_eq!((&told[2]["title"], &told[2]["rawInput"]["command"]), (&json!("Build"), &json!("make")));
    // A character may come in two pieces: e2 82, ac.
    assert!(updates(&mut v2, chunk("4oI=")).is_empty());
    let told = updates(&mut v2, chunk("rA=="));
    assert_eq!(told[0]["_meta"]["terminal_output_delta"]["data"], "\u{20ac}");
    let told = updates(&mut v2, terminal(json!({ "output": { "data": "YWxs" } })));
    assert_eq!(told[0]["_meta"]["terminal_output"]["data"], "all");
    let told = updates(&mut v2, terminal(json!({ "exitStatus": { "exitCode": 3 } })));
    let exit = json!({ "terminal_id": "t", "exit_code": 3, "signal": null });
    assert_eq!((told.len(), &told[0]["_meta"]["terminal_exit"]), (1, &exit));
}

#[test]
fn options_and_commands_have_other_names() {
    let mut v2 = agreed();
    let options = json!([{
        "configId": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": "a",
        "options": [{ "groupId": "g", "name": "G", "options": [{ "value": "a", "name": "A" }] }],
    }]);
    let told = json!({ "sessionUpdate": "config_option_update", "configOptions": options });
    let told = updates(&mut v2, told);
    let option = &told[0]["configOptions"][0];
    assert_eq!((&option["id"], &option["options"][0]["group"]), (&json!("mode"), &json!("g")));
    let commands = json!([
        { "type": "command", "name": "go", "description": "Go", "input": { "type": "text", "hint": "where" } },
        { "type": "_button", "name": "x", "description": "X" },
    ]);
    let told = json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands });
    let told = updates(&mut v2, told);
    assert_eq!(told[0]["availableCommands"].as_array().map(Vec::len), Some(1));
    // They are in what opens a session, too.
    for (id, method) in [(8, "session/new"), (9, "session/load"), (10, "session/fork")] {
        v2.request(id, method, json!({ "sessionId": "s", "cwd": "/p" }));
        let result = json!({ "sessionId": "s", "configOptions": options, "availableCommands": commands });
        let taken = taken(&mut v2, &json!({ "id": id, "result": result }));
        assert_eq!(taken[0]["result"]["configOptions"][0]["id"], "mode", "{method}");
        assert_eq!(taken[1]["update"]["sessionUpdate"], "available_commands_update", "{method}");
    }
}

#[test]
fn updates_that_are_the_same_in_both_stay_as_they_are() {
    let mut v2 = agreed();
    for told in [
        json!({ "sessionUpdate": "plan_update", "plan": { "type": "markdown", "planId": "p", "content": "# A" } }),
        json!({ "sessionUpdate": "plan_removed", "planId": "p" }),
        json!({ "sessionUpdate": "session_info_update", "title": "T" }),
        json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2 }),
        json!({ "sessionUpdate": "subagent_update", "sessionId": "child", "state": { "state": "running" } }),
        json!({ "sessionUpdate": "session_message", "messageId": "m", "content": [words("x")] }),
        json!({ "sessionUpdate": "_vendor", "x": 1 }),
    ] {
        assert_eq!(taken(&mut v2, &update(told.clone()))[0]["update"], told);
    }
}

#[test]
fn a_question_for_permission_is_about_a_call_whatever_it_is_about() {
    let mut v2 = agreed();
    let mut asked = |subject: Value, description: Value| {
        let options = json!([{ "optionId": "y", "name": "Yes", "kind": "allow_once" }]);
        let params = json!({
            "sessionId": "s", "title": "May I?", "description": description, "subject": subject, "options": options,
        });
        is::<v2::RequestPermissionRequest>(&params);
        let message = json!({ "id": 3, "method": "session/request_permission", "params": params });
        let mut params = taken(&mut v2, &message).remove(0);
        is::<v1::RequestPermissionRequest>(&params);
        params["toolCall"].take()
    };
    let call = json!({ "toolCallId": "c", "title": "Edit x", "content": [{
        "type": "diff", "changes": [{ "operation": "delete", "path": "/p/x" }], "patch": null,
    }] });
    let asked_of_call = asked(json!({ "type": "tool_call", "toolCall": call }), json!("Since it is old"));
    assert_eq!((&asked_of_call["toolCallId"], &asked_of_call["title"]), (&json!("c"), &json!("Edit x")));
    assert_eq!(asked_of_call["content"][0]["content"]["text"], "Since it is old");
    assert_eq!(asked_of_call["content"][1]["content"]["text"], "Deleted /p/x");
    let command = asked(json!({ "type": "command", "command": "make", "cwd": "/p" }), Value::Null);
    assert_eq!((&command["kind"], &command["title"]), (&json!("execute"), &json!("May I?")));
    assert_eq!(command["rawInput"], json!({ "command": "make", "cwd": "/p" }));
    let (first, other) = (command["toolCallId"].clone(), asked(json!({ "type": "_x" }), Value::Null));
    assert_ne!(first, other["toolCallId"]);
    assert_eq!((&other["kind"], &other["title"]), (&json!("other"), &json!("May I?")));
    assert_eq!(asked(Value::Null, Value::Null)["title"], "May I?");
}

#[test]
fn all_that_an_agent_has_said_is_of_the_first_version_afterwards() {
    let mut v2 = V2::default();
    let mut asked: HashMap<i64, String> = HashMap::new();
    let (mut ends, mut loaded) = (Vec::new(), 0);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDED);
    for line in std::fs::read_to_string(path).expect("the recording").lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let message = &record["msg"];
        if !message.is_object() {
            continue;
        }
        if record["dir"] == "client->agent" {
            // As this client would have asked for the same.
            let (Some(id), Some(method)) = (message["id"].as_i64(), message["method"].as_str()) else {
                continue;
            };
            let ours = match method {
                "session/resume" => "session/load",
                method => method,
            };
            asked.insert(id, ours.to_owned());
            v2.request(id, ours, if ours == "initialize" { ask() } else { message["params"].clone() });
            continue;
        }
        for message in v2.incoming(read(message)).messages {
            match message {
                Message::Notification { method, params } if method == "session/update" => {
                    is::<v1::SessionNotification>(&params);
                    let facts = crate::acp::wire::from_acp::update(&params["update"]);
                    let unknown =
                        |fact: &crate::acp::wire::from_acp::Fact| format!("{fact:?}").contains("Unknown");
                    assert!(!facts.iter().any(unknown), "{params}");
                }
                Message::Request { params, .. } => is::<v1::RequestPermissionRequest>(&params),
                Message::Response { id, result } => {
                    let id: i64 = serde_json::from_str(&id.to_string()).expect("ours");
                    match asked[&id].as_str() {
                        "session/prompt" => ends.push(result.expect("an end")["stopReason"].clone()),
                        "session/load" => loaded += 1,
                        "initialize" => is::<v1::InitializeResponse>(&result.expect("agreed")),
                        _ => {}
                    }
                }
                Message::Notification { .. } | Message::Malformed { .. } => {}
            }
        }
    }
    assert_eq!((ends, loaded), (vec![json!("end_turn"), json!("cancelled")], 1));
}

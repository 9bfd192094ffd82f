//! Every method, field, update, status, block and error code of the dialect, in both directions. What comes out
//! for the conversation is judged by the types of the official schema.

use agent_client_protocol_schema::v1;
use serde::de::DeserializeOwned;

use std::path::Path;

use super::*;
use crate::acp::wire::{from_acp, rpc};
use crate::core::message::FailureKind;

fn draft() -> Draft {
    let mut draft = Draft::new(5);
    draft.exists = |path| path.starts_with("/p/there") || path == Path::new("/p");
    draft
}

fn read(message: &Value) -> Message {
    rpc::read(&message.to_string()).expect("a message")
}

/// What the conversation gets: the params of requests and notifications, and results.
fn taken(draft: &mut Draft, message: &Value) -> Vec<Value> {
    let Converted { messages, refused } = draft.incoming(read(message));
    assert!(refused.is_none(), "{refused:?}");
    let value = |message| match message {
        Message::Request { params, .. } | Message::Notification { params, .. } => params,
        Message::Response { result: Ok(result), .. } => result,
        Message::Response { result: Err(error), .. } => {
            json!({ "code": error.code, "message": error.message, "data": error.data })
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

/// A session that is open and, if so, has a turn.
fn session(draft: &mut Draft, name: &str, in_turn: bool) {
    draft.request(1, "session/new", json!({ "cwd": "/p", "mcpServers": [] }));
    taken(draft, &json!({ "id": 1, "result": { "sessionId": name, "createdAt": "2026-02-04T10:30:00Z" } }));
    if in_turn {
        draft.request(2, "session/prompt", json!({ "sessionId": name, "prompt": [] }));
    }
}

fn initialized(draft: &mut Draft, capabilities: &Value) -> Value {
    let client = json!({ "protocolVersion": 1, "clientCapabilities": { "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true } });
    draft.request(0, "initialize", client);
    let result = json!({ "protocolVersion": 1, "agentInfo": { "name": "A", "version": "1" }, "capabilities": capabilities });
    taken(draft, &json!({ "id": 0, "result": result })).remove(0)
}

/// What an update becomes.
fn update_of(kind: &str, data: &Value) -> Value {
    let mut draft = draft();
    let params = json!({ "sessionId": "s", "type": kind, "data": data, "timestamp": "2026-02-04T10:30:00Z" });
    let message = json!({ "method": "session/update", "params": params });
    let mut taken = taken(&mut draft, &message);
    for params in &taken {
        is::<v1::SessionNotification>(params);
    }
    // Most calls and plans are not converted, but read at once.
    if let Some(told) = self::draft().quick(&message.to_string()) {
        assert_eq!(told.facts(), from_acp::update(&taken[0]["update"]), "{message}");
    }
    taken.remove(0)["update"].take()
}

#[test]
fn every_example_of_the_document_is_of_the_official_protocol_afterwards() {
    let mut draft = draft();
    session(&mut draft, "sess_abc123", true);
    for line in EXAMPLES.lines() {
        let message: Value = serde_json::from_str(line).expect("JSON");
        for params in taken(&mut draft, &message) {
            match message["method"].as_str() {
                Some("session/update") => {
                    is::<v1::SessionNotification>(&params);
                    let kind = &params["update"]["sessionUpdate"];
                    assert!(
                        !matches!(
                            crate::acp::wire::from_acp::update(&params["update"])[..],
                            [crate::acp::wire::from_acp::Fact::Update(
                                crate::core::message::Update::Unknown { .. }
                            )]
                        ),
                        "{kind}: {line}"
                    );
                }
                Some("session/request_permission") => is::<v1::RequestPermissionRequest>(&params),
                Some("fs/read_text_file") => is::<v1::ReadTextFileRequest>(&params),
                Some("fs/write_text_file") => is::<v1::WriteTextFileRequest>(&params),
                _ => assert_eq!(params, message["params"], "a method of its own stays as it is"),
            }
        }
    }
    assert_eq!(EXAMPLES.lines().count(), 27);
}

#[test]
fn initialize_says_in_both_forms_what_this_client_can_and_reads_what_the_agent_can() {
    let mut draft = draft();
    let sent = draft.request(0, "initialize", json!({
        "protocolVersion": 1, "clientInfo": { "name": "acp.nvim", "version": "1" },
        "clientCapabilities": { "fs": { "readTextFile": true, "writeTextFile": false }, "terminal": true },
    }));
    assert_eq!(
        sent["capabilities"],
        json!({
            "fs": { "read": true, "write": false, "watch": false },
            "terminal": { "create": true, "interactive": false, "maxConcurrent": 5 },
            "ui": { "permissionDialogs": true, "diffViewer": true, "codeNavigation": true },
        })
    );
    assert_eq!(sent["clientCapabilities"]["terminal"], true);
    let result = initialized(
        &mut draft,
        &json!({
            "loadSession": true,
            "mcpCapabilities": { "servers": true, "transport": ["stdio", "http"] },
            "promptCapabilities": { "streaming": true, "cancellation": true, "attachments": true },
            "sessionCapabilities": { "modes": ["default", "plan"], "configOptions": ["autoApprove"], "persistence": true },
            "_custom": { "codeAnalysis": true },
        }),
    );
    is::<v1::InitializeResponse>(&result);
    assert_eq!(
        result["agentCapabilities"],
        json!({
            "loadSession": true,
            "sessionCapabilities": { "systemPrompt": {} },
            "mcpCapabilities": { "http": true, "sse": false },
            "promptCapabilities": { "image": true, "audio": true, "embeddedContext": true },
            "_meta": { "codeAnalysis": true },
        })
    );
    assert_eq!(result["agentInfo"]["name"], "A");
}

#[test]
fn what_an_agent_requires_and_does_not_get_is_named() {
    for (required, lacks) in
        [(json!({ "fs": { "read": true } }), None), (json!({ "fs": { "watch": true } }), Some("fs.watch"))]
    {
        let mut draft = draft();
        draft.request(0, "initialize", json!({ "clientCapabilities": { "fs": { "readTextFile": true } } }));
        let result =
            json!({ "protocolVersion": 1, "capabilities": {}, "requiredClientCapabilities": required });
        let answer = taken(&mut draft, &json!({ "id": 0, "result": result })).remove(0);
        let message = answer["message"].as_str();
        assert_eq!(message.map(|text| text.contains(lacks.unwrap_or("?"))), lacks.map(|_| true), "{answer}");
    }
}

#[test]
fn an_agent_of_the_official_protocol_is_told_from_one_of_the_dialect() {
    let mut draft = draft();
    draft.request(0, "initialize", json!({}));
    let answer =
        taken(&mut draft, &json!({ "id": 0, "result": { "protocolVersion": 1, "agentCapabilities": {} } }));
    assert!(
        answer[0]["message"].as_str().is_some_and(|text| text.contains("official protocol")),
        "{answer:?}"
    );
}

#[test]
fn requests_of_ours_are_in_the_dialects_fields() {
    let mut draft = draft();
    initialized(
        &mut draft,
        &json!({ "mcpCapabilities": { "servers": true, "transport": ["stdio", "http"] } }),
    );
    let stdio =
        json!({ "name": "f", "command": "m", "args": ["/p"], "env": [{ "name": "DEBUG", "value": "1" }] });
    let http = json!({ "type": "http", "name": "g", "url": "https://h", "headers": [{ "name": "A", "value": "b" }] });
    let sse = json!({ "type": "sse", "name": "e", "url": "https://h", "headers": [] });
    for (method, ours, theirs) in [
        ("authenticate", json!({ "methodId": "api_key" }), json!({ "method": "api_key", "credentials": {} })),
        (
            "session/new",
            json!({ "cwd": "/p", "mcpServers": [stdio, http, sse], "additionalDirectories": ["/q"],
                "systemPrompt": { "mode": "append", "content": [{ "type": "text", "text": "Be brief." }] } }),
            json!({ "workingDirectory": "/p", "systemPrompt": "Be brief.", "mcpServers": [
                { "name": "f", "transport": { "type": "stdio", "command": "m", "args": ["/p"], "env": { "DEBUG": "1" } } },
                { "name": "g", "transport": { "type": "http", "url": "https://h", "headers": { "A": "b" } } },
            ] }),
        ),
        (
            "session/load",
            json!({ "sessionId": "s", "cwd": "/p", "mcpServers": [] }),
            json!({ "sessionId": "s" }),
        ),
        (
            "session/set_mode",
            json!({ "sessionId": "s", "modeId": "plan" }),
            json!({ "sessionId": "s", "mode": "plan" }),
        ),
        (
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "k", "type": "boolean", "value": true }),
            json!({ "sessionId": "s", "key": "k", "value": true }),
        ),
        ("_own/method", json!({ "a": 1 }), json!({ "a": 1 })),
    ] {
        assert_eq!(draft.request(9, method, ours), theirs, "{method}");
    }
    assert_eq!(
        draft.notification("session/cancel", json!({ "sessionId": "s" })),
        Some(json!({ "sessionId": "s", "reason": "user_requested" }))
    );
    assert_eq!(draft.notification("$/cancel_request", json!({ "requestId": 9 })), None);
}

#[test]
fn servers_that_the_agent_cannot_reach_are_named() {
    for (capabilities, left_out) in [
        (json!({ "mcpCapabilities": { "servers": false, "transport": ["stdio"] } }), ": f, a"),
        (json!({ "mcpCapabilities": { "servers": true, "transport": ["http"] } }), ": f, a"),
        (json!({ "mcpCapabilities": { "servers": true, "transport": ["stdio"] } }), ": a"),
        (json!({}), ": a"),
    ] {
        let mut draft = draft();
        initialized(&mut draft, &capabilities);
        let server = json!({ "name": "f", "command": "m", "args": [], "env": [] });
        let over_acp = json!({ "type": "acp", "name": "a", "serverId": "1" });
        let sent = draft.request(1, "session/new", json!({ "cwd": "/p", "mcpServers": [server, over_acp] }));
        let kinds =
            sent["mcpServers"].as_array().expect("a list").iter().map(|one| &one["transport"]["type"]);
        assert_eq!(kinds.collect::<Vec<_>>(), vec!["stdio"; usize::from(left_out == ": a")]);
        let all = taken(&mut draft, &json!({ "id": 1, "result": { "sessionId": "s" } }));
        let notice = all.iter().find(|value| value["update"]["sessionUpdate"] == "notice").expect("a notice");
        let told = notice["update"]["title"].as_str().expect("a text");
        assert!(told.ends_with(left_out), "{told}");
    }
}

#[test]
fn blocks_of_a_prompt_are_in_the_dialects_form_and_come_back_the_same() {
    for (official, dialect) in [
        (json!({ "type": "text", "text": "t" }), json!({ "type": "text", "text": "t" })),
        (
            json!({ "type": "image", "mimeType": "image/png", "data": "aWJ=" }),
            json!({ "type": "image", "source": { "type": "base64", "mediaType": "image/png", "data": "aWJ=" } }),
        ),
        (
            json!({ "type": "audio", "mimeType": "audio/wav", "data": "aWJ=" }),
            json!({ "type": "audio", "source": { "type": "base64", "mediaType": "audio/wav", "data": "aWJ=" } }),
        ),
        (
            json!({ "type": "resource", "resource": { "uri": "file:///p/a.ts", "mimeType": "text/typescript", "text": "x" } }),
            json!({ "type": "resource", "uri": "file:///p/a.ts", "mimeType": "text/typescript", "content": "x", "title": "a.ts" }),
        ),
    ] {
        let sent = draft().request(
            1,
            "session/prompt",
            json!({ "sessionId": "s", "prompt": [official.clone()], "_meta": { "a": 1 } }),
        );
        assert_eq!(sent, json!({ "sessionId": "s", "content": [dialect.clone()], "_meta": { "a": 1 } }));
        assert_eq!(update_of("agent_message_chunk", &json!({ "content": dialect }))["content"], official);
    }
    let prompt = |block: Value| {
        let mut sent = draft().request(1, "session/prompt", json!({ "sessionId": "s", "prompt": [block] }));
        assert_eq!(
            sent.get("attachments"),
            None,
            "files are links in the content, whose form the document has"
        );
        sent["content"][0].take()
    };
    let link = json!({ "type": "resource_link", "uri": "file:///p/a", "name": "a", "size": 3 });
    assert_eq!(prompt(link), json!({ "type": "resource_link", "uri": "file:///p/a", "title": "a" }));
    let blob = json!({ "type": "resource", "resource": { "uri": "file:///p/b", "blob": "aWJ=" } });
    assert_eq!(prompt(blob), json!({ "type": "resource_link", "uri": "file:///p/b", "title": "b" }));
    let address = json!({ "type": "image", "source": { "type": "url", "mediaType": "image/png", "url": "https://h/i.png" } });
    let shown = json!({ "type": "resource_link", "name": "i.png", "uri": "https://h/i.png", "mimeType": "image/png" });
    let blocks = json!({ "content": [address, "and a text"] });
    assert_eq!(update_of("agent_message_chunk", &blocks)["content"], shown);
}

#[test]
fn a_session_opens_with_its_modes_and_options() {
    let mut draft = draft();
    initialized(
        &mut draft,
        &json!({ "sessionCapabilities": { "modes": ["default", "plan"] }, "promptCapabilities": { "cancellation": false } }),
    );
    draft.request(1, "session/new", json!({ "cwd": "/p", "mcpServers": [], "initialMode": "Plan" }));
    let all = taken(
        &mut draft,
        &json!({ "id": 1, "result": { "sessionId": "s", "createdAt": "2026-02-04T10:30:00Z" } }),
    );
    is::<v1::NewSessionResponse>(&all[0]);
    assert_eq!(all[0]["modes"]["currentModeId"], "plan");
    assert_eq!(all[0]["modes"]["availableModes"][1], json!({ "id": "plan", "name": "plan" }));
    assert_eq!(
        all[1]["update"],
        json!({ "sessionUpdate": "session_info_update", "updatedAt": "2026-02-04T10:30:00Z" })
    );
    assert!(
        all[2]["update"]["title"].as_str().is_some_and(|text| text.contains("can't stop a turn")),
        "{all:?}"
    );

    draft.request(5, "session/new", json!({ "cwd": "/p", "mcpServers": [] }));
    let plain = taken(&mut draft, &json!({ "id": 5, "result": { "sessionId": "u" } })).remove(0);
    assert_eq!(plain["modes"]["currentModeId"], "default", "it began without a request");

    draft.request(2, "session/load", json!({ "sessionId": "t", "cwd": "/p", "mcpServers": [] }));
    let result = json!({ "sessionId": "t", "workingDirectory": "/other", "mode": "code", "messageCount": 4,
        "configOptions": { "autoApprove": false, "maxTokens": 4096, "model": "large" } });
    let all = taken(&mut draft, &json!({ "id": 2, "result": result }));
    is::<v1::LoadSessionResponse>(&all[0]);
    assert_eq!(all[0]["modes"]["currentModeId"], "code", "a mode that was not announced");
    assert_eq!(all[0]["modes"]["availableModes"].as_array().map(Vec::len), Some(3));
    let options = &all[0]["configOptions"];
    assert_eq!(
        options[0],
        json!({ "id": "autoApprove", "name": "autoApprove", "type": "boolean", "currentValue": false })
    );
    assert_eq!((&options[1]["type"], &options[1]["currentValue"]), (&json!("select"), &json!("4096")));
    assert!(all[1]["update"]["title"].as_str().is_some_and(|text| text.contains("/other")), "{all:?}");

    // A number goes back as a number, and what the agent says it became is what is shown.
    let sent = draft.request(
        3,
        "session/set_config_option",
        json!({ "sessionId": "t", "configId": "maxTokens", "value": "8192" }),
    );
    assert_eq!(sent["value"], 8192);
    let result = json!({ "key": "maxTokens", "previousValue": 4096, "currentValue": 8000 });
    let answer = taken(&mut draft, &json!({ "id": 3, "result": result })).remove(0);
    is::<v1::SetSessionConfigOptionResponse>(&answer);
    assert_eq!(answer["configOptions"][1]["currentValue"], "8000");

    draft.request(4, "session/set_mode", json!({ "sessionId": "t", "modeId": "plan" }));
    let all = taken(
        &mut draft,
        &json!({ "id": 4, "result": { "previousMode": "code", "currentMode": "default" } }),
    );
    assert_eq!(all[1]["update"]["currentModeId"], "default", "not what was asked for");
}

#[test]
fn a_new_session_begins_with_what_the_agent_offers_of_what_is_wanted() {
    let offers = json!({ "sessionCapabilities": {
        "modes": ["default", "plan"], "configOptions": ["autoApprove", "maxTokens", "model"],
    } });
    let wanted = json!({ "cwd": "/p", "mcpServers": [], "initialMode": "PLAN", "configOptions": {
        "autoapprove": "true", "maxTokens": "4096", "model": "large", "colour": "red",
    } });
    let sent = json!({ "workingDirectory": "/p", "mcpServers": [], "initialMode": "plan", "configOptions": {
        "autoApprove": true, "maxTokens": 4096, "model": "large",
    } });
    let mut draft = draft();
    initialized(&mut draft, &offers);
    assert_eq!(draft.request(1, "session/new", wanted.clone()), sent);
    let opened = taken(&mut draft, &json!({ "id": 1, "result": { "sessionId": "s" } })).remove(0);
    is::<v1::NewSessionResponse>(&opened);
    assert_eq!(opened["modes"]["currentModeId"], "plan");
    let options: Vec<_> = opened["configOptions"].as_array().into_iter().flatten().collect();
    let values: Vec<_> = options.iter().map(|option| &option["currentValue"]).collect();
    assert_eq!(values, [&json!(true), &json!("4096"), &json!("large")]);

    initialized(&mut draft, &json!({}));
    let plain = json!({ "workingDirectory": "/p", "mcpServers": [] });
    assert_eq!(draft.request(1, "session/new", wanted), plain, "it offers nothing");
}

#[test]
fn how_a_turn_ends_is_told() {
    for (reason, ends) in [("end_turn", true), ("cancelled", true), ("max_tokens", true), ("error", false)] {
        let mut draft = draft();
        session(&mut draft, "s", true);
        let result = json!({ "stopReason": reason, "usage": { "inputTokens": 3, "outputTokens": 4 } });
        let answer = taken(&mut draft, &json!({ "id": 2, "result": result })).remove(0);
        assert_eq!(answer["stopReason"] == *reason, ends, "{answer}");
        assert!(!draft.sessions["s"].in_turn);
    }
}

#[test]
fn a_login_that_fails_says_why() {
    for (result, fails) in [
        (json!({ "success": true, "expiresAt": "2027-01-01T00:00:00Z" }), false),
        (json!({ "success": false, "error": "no key" }), true),
    ] {
        let mut draft = draft();
        draft.request(1, "authenticate", json!({ "methodId": "api_key" }));
        let answer = taken(&mut draft, &json!({ "id": 1, "result": result })).remove(0);
        assert_eq!(answer["message"].as_str().is_some_and(|text| text.contains("no key")), fails, "{answer}");
    }
}

#[test]
fn permission_is_asked_by_operation_and_given_by_scope() {
    for (operation, kind) in [
        ("file_read", "read"),
        ("file_write", "edit"),
        ("file_delete", "delete"),
        ("terminal_execute", "execute"),
        ("network_access", "fetch"),
        ("mcp_tool", "other"),
        ("something_else", "other"),
    ] {
        for (choice, answer) in [
            (Some("once"), json!({ "granted": true, "remember": false, "scope": "once" })),
            (Some("session"), json!({ "granted": true, "remember": true, "scope": "session" })),
            (Some("workspace"), json!({ "granted": true, "remember": true, "scope": "workspace" })),
            (Some("always"), json!({ "granted": true, "remember": true, "scope": "always" })),
            (Some("reject"), json!({ "granted": false, "remember": false, "scope": "once" })),
            (None, json!({ "granted": false, "remember": false, "scope": "once" })),
        ] {
            let mut draft = draft();
            session(&mut draft, "s", true);
            let params =
                json!({ "sessionId": "s", "operation": operation, "resource": "src/a", "reason": "since" });
            let asked = taken(
                &mut draft,
                &json!({ "id": "q", "method": "session/request_permission", "params": params }),
            )
            .remove(0);
            is::<v1::RequestPermissionRequest>(&asked);
            let call = &asked["toolCall"];
            assert_eq!(call["kind"], kind);
            assert_eq!(call["title"], format!("{}: src/a", operation.replace('_', " ")));
            assert_eq!(call["content"][0]["content"]["text"], "since");
            assert_eq!(
                call["locations"][0]["path"],
                if operation.starts_with("file") { json!("/p/src/a") } else { Value::Null }
            );
            let outcome = match choice {
                Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option } }),
                None => json!({ "outcome": { "outcome": "cancelled" } }),
            };
            assert_eq!(draft.result(&RequestId::of(&json!("q")).expect("an id"), outcome), answer);
        }
    }
}

#[test]
fn a_question_about_a_call_that_is_shown_keeps_its_words() {
    let mut draft = draft();
    session(&mut draft, "s", true);
    let call = json!({ "sessionId": "s", "type": "tool_call", "data": { "id": "c", "tool": "fs/write_text_file", "input": { "path": "/p/a" } } });
    taken(&mut draft, &json!({ "method": "session/update", "params": call }));
    let params =
        json!({ "sessionId": "s", "operation": "file_write", "resource": "/p/a", "toolCallId": "c" });
    let asked =
        taken(&mut draft, &json!({ "id": 7, "method": "session/request_permission", "params": params }))
            .remove(0);
    assert_eq!(asked["toolCall"], json!({ "toolCallId": "c", "status": "pending" }));
}

fn ask(draft: &mut Draft, method: &str, params: Value) -> Result<Value, i64> {
    let Converted { mut messages, refused } =
        draft.incoming(read(&json!({ "id": 7, "method": method, "params": params })));
    match (messages.pop(), refused) {
        (Some(Message::Request { params, .. }), None) => Ok(params),
        (None, Some((_, error))) => Err(error.code),
        other => panic!("{other:?}"),
    }
}

fn answer(draft: &mut Draft, result: Value) -> Value {
    draft.result(&RequestId::own(7), result)
}

#[test]
fn files_are_read_and_written_in_the_session_at_work() {
    let mut draft = draft();
    session(&mut draft, "s", true);
    for (theirs, ours) in [
        (json!({ "path": "/p/a" }), json!({ "sessionId": "s", "path": "/p/a" })),
        (json!({ "path": "src/a", "encoding": "UTF-8" }), json!({ "sessionId": "s", "path": "/p/src/a" })),
        (
            json!({ "path": "/p/a", "startLine": 3, "endLine": 5 }),
            json!({ "sessionId": "s", "path": "/p/a", "line": 3, "limit": 3 }),
        ),
        (json!({ "path": "/p/a", "endLine": 5 }), json!({ "sessionId": "s", "path": "/p/a", "limit": 5 })),
        (json!({ "path": "/p/a", "startLine": 3 }), json!({ "sessionId": "s", "path": "/p/a", "line": 3 })),
        (json!({ "sessionId": "other", "path": "/p/a" }), json!({ "sessionId": "other", "path": "/p/a" })),
    ] {
        let whole = theirs.get("startLine").or(theirs.get("endLine")).is_none();
        let params = ask(&mut draft, "fs/read_text_file", theirs).expect("served");
        is::<v1::ReadTextFileRequest>(&params);
        assert_eq!(params, ours);
        let lines = if whole { json!(2) } else { Value::Null };
        let read = answer(&mut draft, json!({ "content": "a\nb\n" }));
        assert_eq!(
            (&read["content"], &read["encoding"], &read["totalLines"]),
            (&json!("a\nb\n"), &json!("utf-8"), &lines)
        );
    }
    assert_eq!(
        ask(&mut draft, "fs/read_text_file", json!({ "path": "/p/a", "encoding": "latin1" })),
        Err(-32602)
    );

    for (theirs, created) in [
        (json!({ "path": "/p/there/a", "content": "h\u{e9}" }), Ok(false)),
        (json!({ "path": "/p/new", "content": "h\u{e9}", "overwrite": false }), Ok(true)),
        (json!({ "path": "/p/there/a", "content": "", "overwrite": false }), Err(-32005)),
        (json!({ "path": "/p/no/a", "content": "h\u{e9}", "createDirectories": true }), Ok(true)),
        (json!({ "path": "/p/no/a", "content": "", "createDirectories": false }), Err(-32005)),
        (json!({ "path": "/p/a", "content": "", "encoding": "latin1" }), Err(-32602)),
    ] {
        match ask(&mut draft, "fs/write_text_file", theirs.clone()) {
            Ok(params) => {
                is::<v1::WriteTextFileRequest>(&params);
                assert_eq!(
                    answer(&mut draft, json!({})),
                    json!({ "bytesWritten": 3, "created": created.expect("not served") })
                );
            }
            Err(code) => assert_eq!(Err(code), created.map(|_| ()), "{theirs}"),
        }
    }
}

#[test]
fn a_request_without_a_session_is_refused_where_two_are_at_work() {
    let mut draft = draft();
    assert_eq!(ask(&mut draft, "fs/read_text_file", json!({ "path": "/p/a" })), Err(-32006));
    session(&mut draft, "s", false);
    assert!(ask(&mut draft, "fs/read_text_file", json!({ "path": "/p/a" })).is_ok(), "the only one");
    session(&mut draft, "t", true);
    assert_eq!(
        ask(&mut draft, "terminal/create", json!({ "command": "ls" })).expect("served")["sessionId"],
        "t"
    );
    draft.request(3, "session/prompt", json!({ "sessionId": "s", "prompt": [] }));
    assert_eq!(ask(&mut draft, "terminal/create", json!({ "command": "ls" })), Err(-32006));
}

#[test]
fn commands_run_and_end_as_the_dialect_has_it() {
    let mut draft = draft();
    session(&mut draft, "s", true);
    let params = ask(
        &mut draft,
        "terminal/create",
        json!({ "command": "make", "args": ["all"], "cwd": "src", "env": { "A": "1" }, "timeout": 0 }),
    );
    let params = params.expect("served");
    assert_eq!((&params["cwd"], &params["_meta"]["acp.nvim/timeoutMs"]), (&json!("/p/src"), &json!(0)));
    assert!(crate::acp::wire::from_acp::request("terminal/create", &params).is_ok(), "{params}");
    assert_eq!(answer(&mut draft, json!({ "terminalId": "t" })), json!({ "terminalId": "t" }));

    for (asked, exit, told) in [
        (json!({}), json!({ "exitCode": 2, "signal": null }), json!({ "exitCode": 2 })),
        (
            json!({}),
            json!({ "exitCode": null, "signal": "SIGTERM" }),
            json!({ "exitCode": -1, "signal": "SIGTERM", "timedOut": true }),
        ),
        (
            json!({ "timeout": 10 }),
            json!({ "exitCode": null, "signal": null }),
            json!({ "exitCode": -1, "timedOut": true }),
        ),
        (json!({ "timeout": 10 }), json!({ "exitCode": 0, "signal": null }), json!({ "exitCode": 0 })),
    ] {
        let params =
            ask(&mut draft, "terminal/wait_for_exit", with(asked, "terminalId", "t".into())).expect("served");
        assert!(crate::acp::wire::from_acp::request("terminal/wait_for_exit", &params).is_ok(), "{params}");
        assert_eq!(answer(&mut draft, exit), told);
    }
    for (asked, force) in [
        (json!({}), Ok(false)),
        (json!({ "signal": "SIGTERM" }), Ok(false)),
        (json!({ "force": true }), Ok(true)),
        (json!({ "signal": "SIGKILL" }), Ok(true)),
        (json!({ "signal": "SIGUSR1" }), Err(-32602)),
    ] {
        let params = ask(&mut draft, "terminal/kill", with(asked, "terminalId", "t".into()));
        assert_eq!(params.map(|params| params["_meta"]["acp.nvim/force"] == true), force);
        if force.is_ok() {
            assert_eq!(answer(&mut draft, json!({})), json!({ "killed": true }));
        }
    }
    let pulled = json!({ "output": "x", "truncated": false });
    ask(&mut draft, "terminal/output", json!({ "terminalId": "t" })).expect("served");
    assert_eq!(answer(&mut draft, pulled.clone()), pulled);
    ask(&mut draft, "terminal/release", json!({ "terminalId": "t" })).expect("served");
    assert_eq!(answer(&mut draft, json!({})), json!({ "released": true }));
    let pushed = json!({ "terminalId": "t", "data": "x", "stream": "stdout" });
    assert_eq!(draft.notification("terminal/output", pushed.clone()), Some(pushed));
}

fn text_of(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

fn are_told_as(updates: impl IntoIterator<Item = (&'static str, Value, Value)>) {
    for (kind, data, update) in updates {
        assert_eq!(update_of(kind, &data), update, "{kind}");
    }
}

#[test]
fn each_update_becomes_one_of_the_official_protocol() {
    are_told_as([
        (
            "plan",
            json!({ "planId": "p", "steps": [{ "id": "1", "description": "Read", "status": "completed" }] }),
            json!({ "sessionUpdate": "plan_update", "plan": { "type": "items", "planId": "p",
                "entries": [{ "content": "Read", "priority": "medium", "status": "completed" }] } }),
        ),
        (
            "plan",
            json!({ "steps": [{ "id": "1", "description": "Read", "status": "completed" }] }),
            json!({ "sessionUpdate": "plan", "entries": [{ "content": "Read", "priority": "medium", "status": "completed" }] }),
        ),
        (
            "agent_message_chunk",
            json!({ "content": "Hello", "index": 0, "final": true }),
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "Hello" } }),
        ),
        (
            "user_message_chunk",
            json!({ "content": "Hello", "index": 0 }),
            json!({ "sessionUpdate": "user_message_chunk", "content": { "type": "text", "text": "Hello" } }),
        ),
        (
            "thought_message_chunk",
            json!({ "content": "Hm", "index": 0, "visible": true }),
            json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "Hm" } }),
        ),
        (
            "available_commands",
            json!({ "commands": [{ "name": "help", "description": "d" }] }),
            json!({ "sessionUpdate": "available_commands_update", "availableCommands": [{ "name": "help", "description": "d" }] }),
        ),
        (
            "current_mode_update",
            json!({ "previousMode": "a", "currentMode": "plan" }),
            json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" }),
        ),
        (
            "config_option_update",
            json!({ "key": "autoApprove", "previousValue": false, "currentValue": true, "source": "user" }),
            json!({ "sessionUpdate": "config_option_update", "configOptions": [
                { "id": "autoApprove", "name": "autoApprove", "type": "boolean", "currentValue": true }] }),
        ),
    ]);
}

#[test]
fn a_prompt_that_is_told_again_keeps_the_time_at_which_it_was_sent() {
    let told = |kind: &str, timestamp: Value, meta: Value| {
        let mut draft = under_way();
        let params = json!({ "sessionId": "sess_abc123", "timestamp": timestamp, "type": kind, "_meta": meta,
            "data": { "content": "Hello" } });
        let message = json!({ "method": "session/update", "params": params });
        assert!(
            kind != "user_message_chunk"
                || crate::acp::wire::from_acp::Chunk::read_draft(&message.to_string()).is_none()
        );
        let params = taken(&mut draft, &message).remove(0);
        is::<v1::SessionNotification>(&params);
        (from_acp::said_at(&params), params["_meta"]["trace"] == "t", draft.left_out())
    };
    let (time, none) = (json!("2026-02-04T10:30:00Z"), Vec::<String>::new());
    let at = Some(1_770_201_000_000);
    assert_eq!(told("user_message_chunk", time.clone(), json!({ "trace": "t" })), (at, true, none.clone()));
    assert_eq!(told("user_message_chunk", time.clone(), Value::Null), (at, false, none.clone()));
    assert_eq!(told("user_message_chunk", json!("soon"), Value::Null), (None, false, none));
    let left_out = vec!["session/update.timestamp".to_owned()];
    assert_eq!(told("agent_message_chunk", time, Value::Null), (None, false, left_out));
}

/// What the document shows of a future, and what it names and gives no form.
#[test]
fn words_that_the_document_only_mentions_do_no_harm() {
    let mut draft = under_way();
    let method = json!({ "id": 7, "method": "_mcp/request", "params": { "serverName": "remote-tool",
        "mcpMethod": "tools/call", "mcpParams": { "name": "search", "arguments": { "query": "..." } } } });
    assert_eq!(taken(&mut draft, &method), [method["params"].clone()], "a method of its own stays as it is");
    let meta =
        json!({ "clientVersion": "2.0.0", "experimentalFeature": true, "customTracingId": "trace_xyz" });
    let prompt = json!({ "sessionId": "sess_abc123", "prompt": [], "_meta": meta });
    assert_eq!(draft.request(9, "session/prompt", prompt)["_meta"], meta);
    let own = json!({ "_custom": { "aiPairProgramming": { "enabled": true, "modes": ["driver"] } },
        "sessionCapabilities": { "modes": ["architect", "ask"] } });
    let result = initialized(&mut draft, &own);
    assert_eq!(result["agentCapabilities"]["_meta"]["aiPairProgramming"]["enabled"], true);
    let new =
        draft.request(4, "session/new", json!({ "cwd": "/p", "mcpServers": [], "initialMode": "architect" }));
    assert_eq!(new["initialMode"], "architect");

    // A process has no number for a machine elsewhere, and what is pushed is no request: nothing is received for it.
    ask(&mut draft, "terminal/create", json!({ "command": "ls" })).expect("served");
    assert_eq!(answer(&mut draft, json!({ "terminalId": "t" })).get("pid"), None);
    let stray = json!({ "id": 99, "result": { "received": true } });
    assert_eq!(taken(&mut draft, &stray), [json!({ "received": true })], "an answer to nothing is nobody's");
    for method in ["api_key", "oauth2", "custom"] {
        let sent = draft.request(5, "authenticate", json!({ "methodId": method }));
        assert_eq!(sent, json!({ "method": method, "credentials": {} }));
    }
    let error = json!({ "id": 5, "error": { "code": -32000, "message": "Session not found",
        "data": { "sessionId": "sess_invalid", "suggestion": "Create a new session with session/new" } } });
    let told = taken(&mut draft, &error).remove(0);
    assert_eq!((&told["code"], &told["data"]["sessionId"]), (&json!(-32002), &json!("sess_invalid")));
}

#[test]
fn a_thought_that_is_not_to_be_seen_is_only_named_in_the_log() {
    let mut draft = under_way();
    let data = json!({ "content": "Hm", "index": 0, "visible": false });
    let params = json!({ "sessionId": "sess_abc123", "type": "thought_message_chunk", "data": data });
    assert!(taken(&mut draft, &json!({ "method": "session/update", "params": params })).is_empty());
    let left_out = draft.left_out();
    assert!(left_out.contains(&"thought_message_chunk.content".to_owned()), "{left_out:?}");
}

#[test]
fn calls_are_told_with_their_tool_status_output_and_place() {
    let text = text_of;
    are_told_as([
        (
            "tool_call",
            json!({ "id": "c", "tool": "fs/write_text_file", "input": { "path": "/p/a", "content": "x" }, "status": "pending", "requiresPermission": true }),
            json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "status": "pending", "title": "/p/a", "name": "fs/write_text_file",
                "kind": "edit", "locations": [{ "path": "/p/a" }], "rawInput": { "path": "/p/a", "content": "x" } }),
        ),
        (
            "tool_call",
            json!({ "id": "c", "tool": "terminal/create", "input": { "command": "make" },
                "location": { "path": "/p/a", "line": 42, "column": 5, "endLine": 55, "endColumn": 2 } }),
            json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "make", "name": "terminal/create", "kind": "execute",
                "locations": [{ "path": "/p/a", "line": 42 }], "rawInput": { "command": "make" } }),
        ),
        (
            "tool_call_update",
            json!({ "id": "c", "status": "completed", "output": { "type": "text", "text": "out" }, "duration": 45 }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "content": [text("out")],
                "_meta": { "acp.nvim/durationMs": 45 }, "rawOutput": { "type": "text", "text": "out" } }),
        ),
        (
            "tool_call_update",
            json!({ "id": "c", "status": "failed", "error": "no such file" }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed", "content": [text("no such file")] }),
        ),
        (
            "tool_call_update",
            json!({ "id": "c", "output": { "type": "diff", "path": "/p/a", "hunks": [{ "oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2,
                "content": "@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file" }] } }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "locations": [{ "path": "/p/a", "line": 1 }],
                "content": [{ "type": "diff", "path": "/p/a", "oldText": "one\ntwo\n", "newText": "one\n2\n" }] }),
        ),
        (
            "tool_call_update",
            json!({ "id": "c", "output": { "type": "diff", "path": "/p/a", "hunks": [{ "content": "+a\r\n\u{e9}b\n" }] } }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [text("+a\r\n\u{e9}b\n")] }),
        ),
        (
            "tool_call_update",
            json!({ "id": "c", "output": { "type": "diff", "path": "/p/a", "hunks": [{ "content": "..." }] } }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [text("...")] }),
        ),
        (
            "tool_call_update",
            json!({ "id": "c", "output": { "type": "terminal", "terminalId": "t", "command": "make", "exitCode": 0, "stdout": "ok\n", "stderr": "" } }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [text("$ make\nok\n")],
                "rawOutput": { "type": "terminal", "terminalId": "t", "command": "make", "exitCode": 0, "stdout": "ok\n", "stderr": "" } }),
        ),
    ]);
    for (theirs, ours) in [
        ("pending", "pending"),
        ("awaiting_permission", "pending"),
        ("in_progress", "in_progress"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("denied", "failed"),
        ("cancelled", "failed"),
    ] {
        assert_eq!(update_of("tool_call_update", &json!({ "id": "c", "status": theirs }))["status"], ours);
    }
    let denied = update_of("tool_call_update", &json!({ "id": "c", "status": "denied" }));
    assert_eq!(denied["content"], json!([text("permission denied")]));
}

#[test]
fn the_reason_of_a_change_of_mode_is_told_and_what_ran_here_is_not_printed_twice() {
    let mut draft = draft();
    session(&mut draft, "s", true);
    let params = json!({ "sessionId": "s", "type": "current_mode_update", "data": { "currentMode": "plan", "reason": "A large task" } });
    let all = taken(&mut draft, &json!({ "method": "session/update", "params": params }));
    assert_eq!(
        (&all[1]["update"]["sessionUpdate"], &all[1]["update"]["title"]),
        (&json!("notice"), &json!("A large task"))
    );

    ask(&mut draft, "terminal/create", json!({ "command": "make" })).expect("served");
    answer(&mut draft, json!({ "terminalId": "t" }));
    let output = json!({ "type": "terminal", "terminalId": "t", "command": "make", "stdout": "ok" });
    let params =
        json!({ "sessionId": "s", "type": "tool_call_update", "data": { "id": "c", "output": output } });
    let all = taken(&mut draft, &json!({ "method": "session/update", "params": params }));
    assert_eq!(all[0]["update"]["content"], json!([{ "type": "terminal", "terminalId": "t" }]));
}

/// An error as it is on the wire.
#[derive(serde::Deserialize)]
struct Sent {
    code: i64,
    message: String,
    data: Option<Value>,
}

#[test]
fn error_codes_are_translated_by_the_dialect() {
    for (theirs, ours) in [
        (-32000, -32002),
        (-32001, -32000),
        (-32002, -32603),
        (-32003, -32800),
        (-32004, -32603),
        (-32005, -32603),
        (-32006, -32600),
        (-32007, -32601),
        (-32008, -32008),
        (-32009, -32009),
        (-32601, -32601),
        (-32700, -32700),
        (-32603, -32603),
    ] {
        let mut draft = draft();
        draft.request(1, "session/prompt", json!({ "sessionId": "s", "prompt": [] }));
        let error =
            taken(&mut draft, &json!({ "id": 1, "error": { "code": theirs, "message": "m" } })).remove(0);
        assert_eq!(error["code"], ours, "{theirs}");
        let reason = match theirs {
            -32002 => json!("permission denied"),
            -32004 => json!("resource not found"),
            -32005 => json!("access to a resource denied"),
            -32008 => json!("rate limited"),
            -32009 => json!("timeout"),
            _ => Value::Null,
        };
        assert_eq!(error["data"]["reason"], reason);
    }
    let kind = |code, data| {
        let mut draft = draft();
        draft.request(1, "session/prompt", json!({ "sessionId": "s", "prompt": [] }));
        let error = json!({ "code": code, "message": "m", "data": data });
        let error = taken(&mut draft, &json!({ "id": 1, "error": error })).remove(0).clone();
        let Sent { code, message, data } = serde_json::from_value(error).expect("an error");
        let failure = from_acp::failure(RpcError { code, message, data });
        (failure.kind, failure.message)
    };
    for (code, data, expected, said) in [
        (-32000, Value::Null, FailureKind::NotFound, "session not found: m"),
        (-32002, Value::Null, FailureKind::Denied, "permission denied: m"),
        (-32002, json!({ "reason": "outside" }), FailureKind::Denied, "permission denied: m: outside"),
        (-32004, json!("a.rs"), FailureKind::Agent, "resource not found: m: a.rs"),
        (
            -32008,
            json!({ "retryAfter": 3 }),
            FailureKind::RateLimited(Some(3000)),
            "m: rate limited; try again in 3 s",
        ),
        (-32008, json!({ "reason": "tokens" }), FailureKind::RateLimited(None), "m: tokens"),
        (-32009, Value::Null, FailureKind::Timeout, "m: timeout"),
        (-32603, Value::Null, FailureKind::Internal, "m"),
    ] {
        assert_eq!(kind(code, data.clone()), (expected, said.to_owned()), "{code} {data}");
    }
    let file = ("fs/read_text_file", json!({ "path": "/p/a" }));
    let terminal = ("terminal/kill", json!({ "terminalId": "t" }));
    for ((method, params), ours, theirs) in [
        (&file, RpcError::new(-32002, "m"), -32004),
        (&file, RpcError::new(-32002, "m").with_data(json!({ "sessionId": "s" })), -32000),
        (&file, RpcError::new(-32603, "m"), -32005),
        (&file, RpcError::new(-32602, "m"), -32602),
        (&file, RpcError::new(-32601, "m"), -32007),
        (&terminal, RpcError::new(-32800, "m"), -32003),
        (&terminal, RpcError::new(-32603, "m"), -32603),
        (&("_own/x", json!({})), RpcError::new(-32601, "m"), -32601),
    ] {
        let mut draft = draft();
        session(&mut draft, "s", true);
        ask(&mut draft, method, params.clone()).expect("served");
        assert_eq!(draft.error(&RequestId::own(7), ours).code, theirs, "{method}");
    }
}

#[test]
fn what_an_error_suggests_is_a_part_of_its_message() {
    for (code, suggestion, said) in [
        (-32000, "Create a new session", "session not found: m. Create a new session"),
        (-32603, "Wait", "m. Wait"),
        (-32603, " ", "m"),
    ] {
        let mut draft = draft();
        draft.request(1, "session/prompt", json!({ "sessionId": "s", "prompt": [] }));
        let error = json!({ "code": code, "message": "m", "data": { "suggestion": suggestion } });
        let error = taken(&mut draft, &json!({ "id": 1, "error": error })).remove(0);
        assert_eq!(error["message"], said);
    }
}

/// What an agent or this client is told of a message, and which fields are told as left out.
type Told = (Value, Vec<String>);

/// A conversation in which much goes on: a session with a turn, a terminal, and a file that is there.
fn under_way() -> Draft {
    let mut draft = draft();
    initialized(
        &mut draft,
        &json!({ "mcpCapabilities": { "transport": ["stdio", "http"] }, "sessionCapabilities": { "modes": ["default", "plan", "planx"], "configOptions": ["model", "modelx"] } }),
    );
    for name in ["sess_abc123", "sess_a1b2c3d4"] {
        session(&mut draft, name, name == "sess_abc123");
    }
    draft.left_out();
    draft
}

/// What comes of a message of the agent's.
fn from_agent(message: &Value) -> Told {
    let mut draft = under_way();
    let Converted { messages, refused } = draft.incoming(read(message));
    let refused = refused.map(|(_, error)| json!({ "code": error.code, "message": error.message }));
    let converted: Vec<String> = messages.iter().map(|message| format!("{message:?}")).collect();
    let left_out = draft.left_out();
    (json!([converted, refused, later(&mut draft)]), left_out)
}

/// What a message makes of those that come after it.
fn later(draft: &mut Draft) -> Value {
    let server = |kind: &str| json!({ "type": kind, "name": kind, "url": "u" });
    let servers = ["stdio", "http", "sse"].map(server);
    let options = json!({ "model": "large" });
    let new = json!({ "cwd": "/p", "mcpServers": servers, "initialMode": "plan", "configOptions": options });
    let sent = draft.request(6, "session/new", new);
    let opened = taken(draft, &json!({ "id": 6, "result": { "sessionId": "later" } }));
    let chunks = ["sess_abc123", "sess_a1b2c3d4"].map(|session| {
        let params =
            json!({ "sessionId": session, "type": "agent_message_chunk", "data": { "content": "x" } });
        taken(draft, &json!({ "method": "session/update", "params": params }))
    });
    json!([sent, opened, chunks])
}

/// What comes of an answer to a request of ours.
fn answered((method, params): (&str, &Value), message: &Value) -> Told {
    let mut draft = under_way();
    draft.request(5, method, params.clone());
    draft.left_out();
    let converted: Vec<String> =
        draft.incoming(read(message)).messages.iter().map(|message| format!("{message:?}")).collect();
    let left_out = draft.left_out();
    (json!([converted, later(&mut draft)]), left_out)
}

/// Each value in a message, by the way that leads to it.
fn leaves(value: &Value, way: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| leaves(value, &format!("{way}/{name}"), found))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| leaves(value, &format!("{way}/{at}"), found))
        }
        _ => found.push(way.to_owned()),
    }
}

/// Says which values of a message make no difference to what comes of it, and are not told as left out.
fn lost(message: &Value, told: &dyn Fn(&Value) -> Told) -> Vec<String> {
    let mut ways = Vec::new();
    leaves(message, "", &mut ways);
    let before = told(message);
    ways.retain(|way| {
        let mut changed = message.clone();
        let leaf = changed.pointer_mut(way).expect("a value");
        *leaf = match leaf.take() {
            Value::String(text) => format!("{text}x").into(),
            Value::Number(number) => (number.as_i64().expect("a whole number") + 1).into(),
            Value::Bool(value) => (!value).into(),
            other => panic!("no example has {other}"),
        };
        let is_told = |part: &str| before.1.iter().any(|field| field.rsplit('.').next() == Some(part));
        told(&changed) == before && !way.split('/').any(is_told)
    });
    // The version of JSON-RPC is no part of what is converted.
    ways.retain(|way| way != "/jsonrpc");
    ways
}

/// What agents ask beside the document's examples, with each field that it lists.
fn requests_of_agents() -> Vec<Value> {
    let request = |method: &str, params: Value| json!({ "id": "q", "method": method, "params": params });
    vec![
        request(
            "fs/read_text_file",
            json!({ "path": "a", "encoding": "utf-8", "startLine": 2, "endLine": 4 }),
        ),
        request(
            "fs/write_text_file",
            json!({ "path": "/p/there/a", "content": "x", "encoding": "utf-8", "overwrite": true }),
        ),
        request(
            "fs/write_text_file",
            json!({ "path": "/p/not/a", "content": "x", "createDirectories": true }),
        ),
        request(
            "terminal/create",
            json!({ "command": "make", "args": ["all"], "cwd": "sub", "env": { "A": "1" }, "timeout": 5 }),
        ),
        request("terminal/wait_for_exit", json!({ "terminalId": "t", "timeout": 5 })),
        request("terminal/kill", json!({ "terminalId": "t", "signal": "SIGTERM" })),
        request("terminal/kill", json!({ "terminalId": "t", "force": true })),
        request("terminal/release", json!({ "terminalId": "t" })),
        json!({ "method": "session/update", "params": { "sessionId": "sess_abc123", "type": "agent_message_chunk",
            "timestamp": "2026-02-04T10:30:00Z", "_meta": { "trace": "t" }, "data": { "_meta": { "own": 1 }, "content": [
                { "type": "image", "source": { "type": "base64", "mediaType": "image/png", "data": "aWJ=" } },
                { "type": "image", "source": { "type": "url", "mediaType": "image/png", "url": "https://h/i.png" } },
                { "type": "resource", "uri": "file:///p/a", "mimeType": "text/x", "title": "a", "content": "x" },
                { "type": "resource_link", "uri": "file:///p/a", "mimeType": "text/x", "title": "a" },
            ] } } }),
    ]
}

#[test]
fn no_field_of_an_agents_message_is_lost_in_silence() {
    let examples = EXAMPLES.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    for message in examples.chain(requests_of_agents()) {
        let mut lost = lost(&message, &from_agent);
        // Which it is, the data or the address says.
        lost.retain(|way| !way.ends_with("/source/type"));
        assert!(lost.is_empty(), "{lost:?} of {message}");
    }
}

#[test]
fn no_field_of_an_agents_answer_is_lost_in_silence() {
    let new = json!({ "cwd": "/p", "mcpServers": [] });
    let load = json!({ "sessionId": "sess_abc123", "cwd": "/p", "mcpServers": [] });
    let prompt = json!({ "sessionId": "sess_abc123", "prompt": [] });
    for (method, params, result) in [
        (
            "initialize",
            json!({ "clientCapabilities": { "fs": { "readTextFile": true } } }),
            json!({ "protocolVersion": 1, "agentInfo": { "name": "A", "version": "1" },
                "requiredClientCapabilities": { "fs": { "read": true } },
                "capabilities": { "loadSession": true,
                    "mcpCapabilities": { "servers": true, "transport": ["stdio", "http", "sse"] },
                    "promptCapabilities": { "streaming": true, "cancellation": true, "attachments": true },
                    "sessionCapabilities": { "modes": ["default", "plan"], "configOptions": ["model"], "persistence": true },
                    "_custom": { "codeAnalysis": true } } }),
        ),
        ("authenticate", json!({ "methodId": "k" }), json!({ "success": true, "expiresAt": "2027" })),
        ("session/new", new, json!({ "sessionId": "s", "createdAt": "2026-02-04T10:30:00Z" })),
        (
            "session/load",
            load,
            json!({ "sessionId": "sess_abc123", "workingDirectory": "/q", "mode": "code", "messageCount": 4,
                "configOptions": { "autoApprove": false, "maxTokens": 4096, "model": "large" } }),
        ),
        (
            "session/prompt",
            prompt,
            json!({ "stopReason": "end_turn", "usage": { "inputTokens": 3, "outputTokens": 4 } }),
        ),
        (
            "session/set_mode",
            json!({ "sessionId": "sess_abc123", "modeId": "plan" }),
            json!({ "previousMode": "a", "currentMode": "b" }),
        ),
        (
            "session/set_config_option",
            json!({ "sessionId": "sess_abc123", "configId": "k", "value": "v" }),
            json!({ "key": "k", "previousValue": 1, "currentValue": 2 }),
        ),
    ] {
        let message = json!({ "id": 5, "result": result });
        let mut lost = lost(&message, &|message| answered((method, &params), message));
        lost.retain(|way| way != "/id");
        assert!(lost.is_empty(), "{lost:?} of {message}");
    }
}

#[test]
fn no_field_of_ours_is_lost_in_silence() {
    let servers = json!([
        { "name": "f", "command": "m", "args": ["/p"], "env": [{ "name": "DEBUG", "value": "1" }] },
        { "type": "http", "name": "g", "url": "https://h", "headers": [{ "name": "A", "value": "b" }] },
    ]);
    let prompt = json!([
        { "type": "text", "text": "t", "annotations": { "priority": 1 } },
        { "type": "image", "mimeType": "image/png", "data": "aWJ=", "uri": "file:///p/i.png" },
        { "type": "audio", "mimeType": "audio/wav", "data": "aWJ=" },
        { "type": "resource", "resource": { "uri": "file:///p/a.ts", "mimeType": "text/x", "text": "x" } },
        { "type": "resource", "resource": { "uri": "file:///p/b", "mimeType": "text/x", "blob": "aWJ=" } },
        { "type": "resource_link", "uri": "file:///p/a", "name": "a", "size": 3, "mimeType": "text/x", "description": "d" },
        { "type": "resource_link", "uri": "file:///p/a", "name": "a", "title": "The a" },
    ]);
    let system_prompt = json!({ "mode": "append", "content": [{ "type": "text", "text": "Be brief." }] });
    for (method, params) in [
        ("authenticate", json!({ "methodId": "api_key", "_meta": { "a": 1 } })),
        (
            "session/new",
            json!({ "cwd": "/p", "mcpServers": servers, "additionalDirectories": ["/q"], "systemPrompt": system_prompt, "_meta": { "a": 1 },
                "initialMode": "plan", "configOptions": { "model": "large" } }),
        ),
        (
            "session/load",
            json!({ "sessionId": "s", "cwd": "/p", "mcpServers": servers, "additionalDirectories": ["/q"], "systemPrompt": system_prompt }),
        ),
        ("session/prompt", json!({ "sessionId": "sess_abc123", "prompt": prompt, "_meta": { "a": 1 } })),
        ("session/set_mode", json!({ "sessionId": "s", "modeId": "plan" })),
        (
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "k", "type": "id", "value": "v" }),
        ),
    ] {
        let told = |params: &Value| {
            let mut draft = under_way();
            (draft.request(9, method, params.clone()), draft.left_out())
        };
        let mut lost = lost(&params, &told);
        // There is one mode, since another is not offered; the agent's folder is held against the one
        // that is loaded; and what kind of value it is, the value says.
        lost.retain(|way| !["/systemPrompt/mode", "/cwd", "/type"].contains(&way.as_str()));
        assert!(lost.is_empty(), "{method}: {lost:?}");
    }
}

#[test]
fn what_is_left_out_is_told_once_and_not_without_end() {
    let mut draft = under_way();
    let tell = |draft: &mut Draft, data: Value| {
        let params = json!({ "sessionId": "sess_abc123", "type": "plan", "data": data });
        taken(draft, &json!({ "method": "session/update", "params": params }));
        draft.left_out()
    };
    let step =
        json!({ "steps": [{ "id": "1", "description": "Read" }, { "id": "2", "description": "Write" }] });
    assert_eq!(tell(&mut draft, step.clone()), ["plan.steps.id"]);
    assert!(tell(&mut draft, step).is_empty());
    let told: usize = (0..1000).map(|at| tell(&mut draft, json!({ format!("own-{at}"): 1 })).len()).sum();
    assert!(told < 300, "{told}");
}

#[test]
fn a_message_that_is_over_is_not_continued() {
    let mut draft = under_way();
    let mut say = |text: &str, is_last: bool| {
        let data = json!({ "content": text, "index": 0, "final": is_last });
        let params = json!({ "sessionId": "sess_abc123", "type": "agent_message_chunk", "data": data });
        let told = taken(&mut draft, &json!({ "method": "session/update", "params": params })).remove(0);
        told["update"]["messageId"].clone()
    };
    let ids = [say("a", false), say("b", true), say("c", false), say("d", true), say("e", true)];
    assert_eq!(ids[0], ids[1]);
    assert_eq!(ids[2], ids[3]);
    assert_ne!(ids[1], ids[2]);
    assert_ne!(ids[3], ids[4]);
}

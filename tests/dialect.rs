//! Agents that speak the draft dialect: that this is found out and offered, and a turn in it, from the prompt to
//! the undo, with what the agent is sent.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};
use support::process::wait_for;
use support::script::{Scripted, answered};

fn opened(capabilities: Value) -> Vec<Value> {
    vec![
        json!({ "expect": "initialize" }),
        json!({ "reply": "initialize", "result": {
            "protocolVersion": 1, "agentInfo": { "name": "fake", "version": "1.0" }, "capabilities": capabilities,
        } }),
        json!({ "expect": "session/new", "params": { "workingDirectory": "$PROJECT" } }),
        json!({ "reply": "session/new", "result": { "sessionId": "s1", "createdAt": "2026-02-04T10:30:00Z" } }),
    ]
}

fn tells(kind: &str, data: Value) -> Value {
    json!({ "send": { "method": "session/update", "params": { "sessionId": "s1", "type": kind, "data": data } } })
}

fn asks(id: &str, method: &str, params: Value) -> [Value; 2] {
    [json!({ "send": { "id": id, "method": method, "params": params } }), answered(id)]
}

fn says(text: &str) -> Value {
    tells("agent_message_chunk", json!({ "content": text, "index": 0 }))
}

fn prompt() -> Value {
    json!({ "expect": "session/prompt", "params": { "sessionId": "s1" } })
}

fn ends(reason: &str) -> Value {
    json!({ "reply": "session/prompt", "result": { "stopReason": reason, "usage": { "inputTokens": 3, "outputTokens": 4 } } })
}

/// A chat with an agent that speaks the dialect, as the user has said.
fn chat(files: &[(&str, &str)], steps: Vec<Value>) -> Scripted {
    let mut chat = Scripted::new(files, steps);
    chat.configure("agents = { fake = { dialect = 'draft' } }");
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("fake 1.0");
    chat
}

/// What the agent was answered to a request of its own.
fn answer(chat: &Scripted, id: &str) -> Value {
    chat.record().into_iter().find(|line| line["id"] == *id).expect("an answer")["result"].take()
}

#[test]
fn an_agent_that_speaks_the_dialect_is_found_out_and_starting_it_again_speaks_with_it() {
    let steps = [opened(json!({})), vec![prompt(), says("Understood."), ends("end_turn")]].concat();
    let mut chat = Scripted::new(&[], steps);
    chat.nvim.command("AcpChat");
    chat.wait_for("speaks a draft dialect of the protocol");
    chat.wait_for("dialect = \"draft\"");
    assert_eq!(chat.transcript().matches("speaks a draft dialect").count(), 1, "{}", chat.transcript());
    chat.nvim.command("Acp restart");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "a session with it",
    );
    chat.nvim.input("hello<C-s>");
    chat.wait_for("Understood.");
    assert!(!chat.transcript().contains("speaks a draft dialect"), "{}", chat.transcript());
}

#[test]
fn who_has_said_what_the_agent_speaks_is_not_asked() {
    let mut chat = Scripted::new(
        &[],
        vec![
            json!({ "expect": "initialize" }),
            json!({ "reply": "initialize", "result": { "protocolVersion": 1, "capabilities": {} } }),
            json!({ "expect": "session/new", "params": { "cwd": "$PROJECT" } }),
            json!({ "reply": "session/new", "result": { "sessionId": "s1" } }),
        ],
    );
    chat.configure("agents = { fake = { dialect = 'official' } }");
    chat.nvim.command("AcpChat");
    wait_for(|| chat.record().iter().any(|line| line["method"] == "session/new"), "a session");
    assert!(!chat.transcript().contains("draft dialect"), "{}", chat.transcript());
}

#[test]
fn a_new_session_begins_with_what_the_user_wants_of_it() {
    let capabilities = json!({ "sessionCapabilities": {
        "modes": ["default", "plan"], "configOptions": ["autoApprove", "maxTokens", "model"],
    } });
    let mut chat = Scripted::new(&[], opened(capabilities));
    chat.configure(
        "agents = { fake = { dialect = 'draft', mode = 'plan', model = 'large',
           options = { autoApprove = false, maxTokens = 4096, colour = 'red' } } }",
    );
    chat.nvim.command("AcpChat");
    chat.wait_for("offers no option \"colour\"");
    let session = chat.got("session/new");
    assert_eq!(session["params"]["initialMode"], "plan");
    let options = json!({ "autoApprove": false, "maxTokens": 4096, "model": "large" });
    assert_eq!(session["params"]["configOptions"], options);
    let methods = ["initialize", "session/new"];
    let record = chat.record();
    assert_eq!(
        record.iter().map(|line| &line["method"]).collect::<Vec<_>>(),
        methods,
        "nothing is set later"
    );
    let chosen = "local at = require('acp').status().sessions[1] return { at.mode, at.model }";
    assert_eq!(chat.nvim.exec_lua(chosen, []).to_string(), r#"["plan", "large"]"#);
    assert_eq!(chat.transcript().matches("left out").count(), 1, "{}", chat.transcript());
}

#[test]
fn a_turn_in_the_dialect_reads_unsaved_text_asks_writes_and_runs() {
    let write = json!({ "path": "a.txt", "content": "one\nTWO\nmine\n" });
    let steps = [
        opened(json!({ "sessionCapabilities": { "modes": ["default", "plan"] } })),
        vec![prompt(), tells("thought_message_chunk", json!({ "content": "I look at it.", "visible": true }))],
        vec![tells("plan", json!({ "planId": "p", "steps": [{ "id": "1", "description": "Change it", "status": "pending" }] }))],
        asks("r", "fs/read_text_file", json!({ "path": "a.txt" })).into(),
        vec![tells("tool_call", json!({ "id": "c", "tool": "fs/write_text_file", "input": { "path": "$PROJECT/a.txt" }, "status": "pending", "requiresPermission": true }))],
        asks("q", "session/request_permission", json!({ "sessionId": "s1", "operation": "file_write", "resource": "$PROJECT/a.txt", "reason": "To shout", "toolCallId": "c" })).into(),
        asks("w", "fs/write_text_file", write).into(),
        vec![tells("tool_call_update", json!({ "id": "c", "status": "completed", "output": { "type": "text", "text": "Written" } }))],
        vec![
            json!({ "send": { "id": "t", "method": "terminal/create", "params": { "command": "sh", "args": ["-c", "echo $WORD; exit 3"], "env": { "WORD": "printed" } } } }),
            json!({ "expect_reply": "t", "to": "t", "save": { "terminal": "/result/terminalId" } }),
        ],
        asks("e", "terminal/wait_for_exit", json!({ "terminalId": "${terminal}" })).into(),
        asks("x", "terminal/release", json!({ "terminalId": "${terminal}" })).into(),
        vec![tells("current_mode_update", json!({ "previousMode": "default", "currentMode": "plan", "reason": "To think" }))],
        vec![says("All done."), ends("end_turn")],
    ]
    .concat();
    let mut chat = chat(&[("a.txt", "one\ntwo\n")], steps);
    chat.nvim.command("wincmd p | edit a.txt");
    chat.nvim.exec_lua("vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'mine' })", []);
    chat.nvim.command("AcpChat");
    chat.nvim.input("change it<C-s>");
    chat.nvim.wait_for_screen("fake wants to edit a.txt");
    chat.nvim.input("2<CR>");
    chat.wait_for("All done.");
    chat.wait_for("To think");

    assert_eq!(answer(&chat, "r")["content"], "one\ntwo\nmine\n", "with what is not saved");
    assert_eq!(answer(&chat, "q"), json!({ "granted": true, "remember": true, "scope": "session" }));
    assert_eq!(answer(&chat, "w"), json!({ "bytesWritten": 13, "created": false }));
    assert_eq!(answer(&chat, "e"), json!({ "exitCode": 3 }));
    assert_eq!(answer(&chat, "x"), json!({ "released": true }));
    let record = chat.record();
    let of_method = |method: &str| record.iter().position(|line| line["method"] == *method);
    let pushed = of_method("terminal/output").expect("output");
    assert_eq!(record[pushed]["params"]["data"], "printed\n");
    let exit = record.iter().position(|line| line["id"] == "e").expect("an exit");
    assert!(pushed < exit, "all that was printed comes before the end");
    let prompt = &record[of_method("session/prompt").expect("a prompt")];
    assert_eq!(prompt["params"]["content"][0]["text"], "change it");
    assert_eq!(
        chat.nvim.exec_lua("return require('acp').status().sessions[1].mode", []).as_str(),
        Some("plan")
    );
    let lines = "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, false), ' ')";
    assert_eq!(chat.nvim.exec_lua(lines, []).as_str(), Some("one TWO mine"));
}

#[test]
fn a_command_that_the_agent_limits_is_ended_and_the_agent_told() {
    let steps = [
        opened(json!({})),
        vec![prompt(), json!({ "send": { "id": "t", "method": "terminal/create", "params": { "command": "sleep", "args": ["1010"], "timeout": 50 } } })],
        vec![json!({ "expect_reply": "t", "to": "t", "save": { "terminal": "/result/terminalId" } })],
        asks("e", "terminal/wait_for_exit", json!({ "terminalId": "${terminal}" })).into(),
        vec![json!({ "send": { "id": "u", "method": "terminal/create", "params": { "command": "sleep", "args": ["1011"] } } })],
        vec![json!({ "expect_reply": "u", "to": "u", "save": { "other": "/result/terminalId" } })],
        asks("f", "terminal/wait_for_exit", json!({ "terminalId": "${other}", "timeout": 20 })).into(),
        asks("k", "terminal/kill", json!({ "terminalId": "${other}", "force": true })).into(),
        vec![says("All done."), ends("end_turn")],
    ]
    .concat();
    let mut chat = chat(&[], steps);
    chat.nvim.input("go<C-s>");
    chat.wait_for("All done.");
    assert_eq!(answer(&chat, "e")["timedOut"], true, "{}", answer(&chat, "e"));
    assert_eq!(answer(&chat, "f"), json!({ "exitCode": -1, "timedOut": true }), "the command runs on");
    assert_eq!(answer(&chat, "k"), json!({ "killed": true }));
}

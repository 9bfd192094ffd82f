//! The steps of the pictures' agent, for the demo agent's `--script`. The sample project is what it reads
//! and changes, and its commands are really run.

use serde_json::{Value, json};

use crate::support::script::{answered, asks, awaits, update};

pub const RETRY: &str = include_str!("project/src/retry.lua");
pub const RETRY_TEST: &str = include_str!("project/tests/retry_test.lua");

pub const COMMAND: &[&str] = &["nvim", "-l", "tests/retry_test.lua"];

/// `src/retry.lua` as the agent wants it: it raises the last error, and pauses are limited.
pub fn retry_fixed() -> String {
    let limited = RETRY.replace("return 100 * 2 ^ n", "return math.min(100 * 2 ^ n, 5000)");
    let raised = "    if n == attempts then\n      error(result, 0)\n    end\n    vim.wait";
    limited.replace("    vim.wait", raised).replace("  error(\"gave up\")\n", "")
}

/// `tests/retry_test.lua` with a test for each of the two.
pub fn retry_test_extended() -> String {
    let added = r#"check.that("raises the last error", function()
  local _, problem = pcall(retry.call, function()
    error("no network", 0)
  end, 1)
  assert(problem == "no network", problem)
end)

check.that("never waits longer than 5 s", function()
  assert(retry.pause(20) == 5000)
end)

check.done()"#;
    RETRY_TEST.replace("check.done()", added)
}

/// The agent waits until the stage gives its cue.
pub fn cue() -> Value {
    json!({ "cue": "$PROJECT/.agent/cues" })
}

/// The agent starts and opens a session.
pub fn opened() -> Vec<Value> {
    let modes = json!({ "currentModeId": "ask", "availableModes": [
        { "id": "ask", "name": "ask" }, { "id": "auto", "name": "auto" },
    ] });
    vec![
        json!({ "expect": "initialize" }),
        json!({ "reply": "initialize", "result": {
            "protocolVersion": 1,
            "agentInfo": { "name": "demo", "title": "Demo", "version": "1.0" },
        } }),
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s1", "modes": modes } }),
    ]
}

pub fn titled(title: &str) -> Value {
    update(json!({ "sessionUpdate": "session_info_update", "title": title }))
}

pub fn thinks(text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    update(json!({ "sessionUpdate": "agent_thought_chunk", "content": content }))
}

/// How much of the context is in use, and what it has cost so far.
pub fn used(tokens: u64, dollars: f64) -> Value {
    let cost = json!({ "amount": dollars, "currency": "USD" });
    update(json!({ "sessionUpdate": "usage_update", "used": tokens, "size": 200_000, "cost": cost }))
}

/// A plan of which the first `done` entries are completed and the next one is in progress.
pub fn plans(entries: &[&str], done: usize) -> Value {
    let status = |at: usize| match at.cmp(&done) {
        std::cmp::Ordering::Less => "completed",
        std::cmp::Ordering::Equal => "in_progress",
        std::cmp::Ordering::Greater => "pending",
    };
    let entry =
        |(at, text): (usize, &&str)| json!({ "content": text, "priority": "high", "status": status(at) });
    let entries: Vec<_> = entries.iter().enumerate().map(entry).collect();
    update(json!({ "sessionUpdate": "plan", "entries": entries }))
}

/// A tool call begins.
pub fn begins(id: &str, kind: &str, title: &str, status: &str) -> Value {
    update(
        json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "status": status }),
    )
}

/// A tool call is updated; `more` is merged into the update.
pub fn goes_on(id: &str, status: &str, mut more: Value) -> Value {
    more["sessionUpdate"] = "tool_call_update".into();
    more["toolCallId"] = id.into();
    more["status"] = status.into();
    update(more)
}

/// Reads a file through the editor.
pub fn reads(id: &str, path: &str, line: u32) -> Vec<Value> {
    let location = json!({ "locations": [{ "path": format!("$PROJECT/{path}"), "line": line }] });
    let mut steps = vec![begins(id, "read", path, "pending"), goes_on(id, "in_progress", location)];
    steps.extend(awaits(id, "fs/read_text_file", json!({ "path": format!("$PROJECT/{path}") })));
    steps.push(goes_on(id, "completed", json!({})));
    steps
}

/// A tool call with a diff; permission is a step of its own.
pub fn proposes(id: &str, path: &str, line: u32, old: &str, new: &str) -> Vec<Value> {
    let path_in_project = format!("$PROJECT/{path}");
    let more = json!({
        "content": [{ "type": "diff", "path": path_in_project, "oldText": old, "newText": new }],
        "locations": [{ "path": path_in_project, "line": line }],
    });
    vec![begins(id, "edit", path, "pending"), goes_on(id, "pending", more)]
}

/// The agent asks for permission, and waits for the answer.
pub fn permission(id: &str) -> Vec<Value> {
    let options = json!([
        { "optionId": "allow", "name": "Allow", "kind": "allow_once" },
        { "optionId": "always", "name": "Always", "kind": "allow_always" },
        { "optionId": "reject", "name": "Reject", "kind": "reject_once" },
    ]);
    let question = format!("permission-{id}");
    let params = json!({ "toolCall": { "toolCallId": id }, "options": options });
    vec![asks(&question, "session/request_permission", params), answered(&question)]
}

/// Writes a file through the editor, and ends the tool call.
pub fn writes(id: &str, path: &str, new: &str) -> Vec<Value> {
    let params = json!({ "path": format!("$PROJECT/{path}"), "content": new });
    let mut steps = vec![goes_on(id, "in_progress", json!({}))];
    steps.extend(awaits(&format!("write-{id}"), "fs/write_text_file", params));
    steps.push(goes_on(id, "completed", json!({})));
    steps
}

/// Starts a command in one of the editor's terminals.
pub fn runs(id: &str, command: &[&str]) -> Vec<Value> {
    let line = command.join(" ");
    let create = json!({ "command": command[0], "args": command[1..], "cwd": "$PROJECT" });
    let reply = format!("create-{id}");
    let terminal = format!("${{terminal-{id}}}");
    vec![
        begins(id, "execute", &line, "pending"),
        asks(&reply, "terminal/create", create),
        json!({ "expect_reply": reply, "save": { format!("terminal-{id}"): "/terminalId" } }),
        goes_on(id, "in_progress", json!({ "content": [{ "type": "terminal", "terminalId": terminal }] })),
    ]
}

/// Waits for a command's end, and ends the tool call.
pub fn sees_the_end_of(id: &str, status: &str) -> Vec<Value> {
    let terminal = json!({ "terminalId": format!("${{terminal-{id}}}") });
    let mut steps = awaits(&format!("wait-{id}"), "terminal/wait_for_exit", terminal.clone()).to_vec();
    steps.extend(awaits(&format!("release-{id}"), "terminal/release", terminal));
    steps.push(goes_on(id, status, json!({})));
    steps
}

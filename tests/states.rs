//! What a chat looks like in each state that it can be in, beside a turn at work: while it starts, while
//! text streams, when a login is needed, when its agent is gone, when it was taken up again, without
//! icons and before either background.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};
use support::script::{Scripted, opened, prompt, says, update};

/// The screen without what differs from run to run.
fn looks(chat: &mut Scripted, name: &str) {
    let digits = |word: &str| word.chars().all(|char| char.is_ascii_digit() || ".:".contains(char));
    let masked = |line: &str| {
        if line.ends_with("/sleep 600") {
            return "(command)".to_owned();
        }
        let words: Vec<&str> = line.split(' ').collect();
        let clock = |at: usize| {
            let unit = words.get(at + 1).is_some_and(|unit| ["s", "ms"].contains(unit));
            !words[at].is_empty() && digits(words[at]) && (words[at].contains(':') || unit)
        };
        let words = (0..words.len()).map(|at| if clock(at) { "(time)" } else { words[at] });
        words.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    };
    let screen = chat.nvim.screen().lines().map(masked).collect::<Vec<_>>().join("\n");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("screens/states");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, screen));
}

/// A chat that is all there is to see.
fn alone(steps: Vec<Value>, options: &Value) -> Scripted {
    let mut chat = Scripted::sized(&[], steps, 80, 24);
    let file = |name: &str| chat.project.file(name).to_str().expect("a path in UTF-8").to_owned();
    let mut all = json!({
        "agents": { "fake": {
            "command": support::demo_agent(),
            "args": ["--script", file(".agent/script.json"), "--record", file(".agent/record.jsonl")],
        } },
        "default_agent": "fake",
        "window": { "layout": "current" },
    });
    for (key, value) in options.as_object().expect("a table") {
        all[key] = value.clone();
    }
    chat.nvim.exec_lua("require('acp').setup(vim.json.decode(...))", [all.to_string().into()]);
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.nvim.command("set laststatus=0");
    chat
}

fn initialized(capabilities: Value, methods: Value) -> [Value; 2] {
    let answer = json!({
        "protocolVersion": 1,
        "agentInfo": { "name": "fake", "title": "Fake", "version": "1.0" },
        "agentCapabilities": capabilities,
        "authMethods": methods,
    });
    [json!({ "expect": "initialize" }), json!({ "reply": "initialize", "result": answer })]
}

fn working(parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all = opened();
    all.push(prompt());
    all.extend(parts);
    all
}

fn call(id: &str, kind: &str, title: &str, status: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind,
        "status": status }))
}

#[test]
fn an_agent_that_starts() {
    // A program that never says anything.
    let agents = json!({ "fake": { "command": "sleep", "args": ["600"] } });
    let mut chat = alone(Vec::new(), &json!({ "agents": agents }));
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("You can type already");
    chat.nvim.wait_for_screen("starting");
    chat.nvim.wait_for_screen("-- INSERT --");
    looks(&mut chat, "starting");
}

#[test]
fn an_answer_that_streams() {
    let mut chat = alone(working([says("# A plan\n\nFirst I look at `lock`, then")]), &json!({}));
    chat.chat();
    chat.send("Fix it");
    chat.nvim.wait_for_screen("then");
    chat.nvim.wait_for_screen("working");
    looks(&mut chat, "streaming");
}

#[test]
fn a_login_that_is_needed() {
    let methods = json!([
        { "id": "key", "name": "With a key", "description": "from your account" },
        { "id": "page", "name": "In the browser" },
    ]);
    let mut steps = initialized(json!({}), methods).to_vec();
    steps.extend([
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "error": { "code": -32000, "message": "Authentication required" } }),
    ]);
    let mut chat = alone(steps, &json!({}));
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("In the browser");
    chat.nvim.wait_for_screen("login");
    looks(&mut chat, "login");
}

#[test]
fn an_agent_that_dies_at_work() {
    let dies = [says("I look"), json!({ "stderr": "out of memory" }), json!({ "exit": 3 })];
    let mut chat = alone(working(dies), &json!({}));
    chat.chat();
    chat.send("Fix it");
    chat.nvim.wait_for_screen("out of memory");
    chat.nvim.wait_for_screen("ended");
    looks(&mut chat, "gone");
}

#[test]
fn a_session_that_was_taken_up() {
    let said = |kind: &str, text: &str| {
        json!({ "send": { "method": "session/update", "params": { "sessionId": "old", "update": {
            "sessionUpdate": kind, "content": { "type": "text", "text": text } } } } })
    };
    let mut steps =
        initialized(json!({ "loadSession": true, "sessionCapabilities": { "list": {} } }), json!([]))
            .to_vec();
    steps.extend([
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s1" } }),
        json!({ "expect": "session/list" }),
        json!({ "reply": "session/list", "result": { "sessions": [
            { "sessionId": "old", "cwd": "$PROJECT", "title": "About tea" }] } }),
        json!({ "expect": "session/load" }),
        said("user_message_chunk", "How long does it draw?"),
        said("agent_message_chunk", "Three minutes."),
        // Nobody ever said what became of it.
        json!({ "send": { "method": "session/update", "params": { "sessionId": "old", "update": {
            "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Boil water", "kind": "other",
            "status": "in_progress" } } } }),
        json!({ "reply": "session/load", "result": null }),
    ]);
    let mut chat = alone(steps, &json!({}));
    chat.chat();
    chat.nvim.exec_lua("vim.ui.select = function(items, _, choose) choose(items[2], 2) end", []);
    chat.nvim.command("Acp sessions");
    chat.nvim.wait_for_screen("no result");
    chat.nvim.wait_for_screen("ready");
    looks(&mut chat, "taken-up");
}

fn everything() -> Vec<Value> {
    let plan = json!({ "sessionUpdate": "plan", "entries": [
        { "content": "look", "priority": "high", "status": "completed" },
        { "content": "act", "priority": "high", "status": "in_progress" },
        { "content": "test", "priority": "low", "status": "pending" },
    ] });
    let thought =
        json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "Hm." } });
    working([
        update(thought),
        update(plan),
        call("1", "read", "a.rs", "completed"),
        call("2", "edit", "b.rs", "failed"),
        call("3", "execute", "make", "in_progress"),
        call("4", "search", "tea", "pending"),
        says("There **it** is."),
    ])
}

#[test]
fn without_icons_a_screen_says_the_same_in_words() {
    let mut chat = alone(everything(), &json!({ "icons": false }));
    chat.chat();
    chat.send("Fix it");
    chat.nvim.wait_for_screen("There it is.");
    chat.nvim.wait_for_screen("working");
    looks(&mut chat, "without-icons");
}

#[test]
fn before_either_background_each_thing_has_the_same_meaning_in_colours_of_its_own() {
    let mut chat = alone(everything(), &json!({}));
    chat.chat();
    chat.send("Fix it");
    chat.nvim.wait_for_screen("There it is.");
    let things = ["Plan", "✓ read", "✗ edit", "◐ run", "○ search", "▸ thought"];
    let colour = "return vim.api.nvim_get_hl(0, { name = 'AcpToolDone', link = false }).fg";
    let mut seen = Vec::new();
    for background in ["dark", "light"] {
        chat.nvim.command(&format!("set background={background}"));
        let groups: Vec<String> = things.iter().map(|thing| chat.nvim.groups_of(thing).join("+")).collect();
        let expected = ["Title", "DiagnosticOk", "DiagnosticError", "DiagnosticInfo", "Comment", "Comment"];
        assert_eq!(groups, expected, "{background}");
        seen.push(chat.nvim.exec_lua(colour, []));
    }
    assert_ne!(seen[0], seen[1]);
}

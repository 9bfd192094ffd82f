//! The transcript as a place to read and to move in: how calls gather and open, where keys lead, and
//! that nothing moves under a reader.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};
use support::script::{Scripted, asks, ends, opened, prompt, says, update};

fn steps(parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all = opened();
    all.extend(parts);
    all
}

/// A tool call in a status.
fn call(id: &str, kind: &str, title: &str, status: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind,
        "status": status }))
}

fn becomes(id: &str, status: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status }))
}

/// The agent waits until the user allows something.
fn gate(id: &str) -> [Value; 2] {
    let ask = asks(
        id,
        "session/request_permission",
        json!({
            "toolCall": { "toolCallId": format!("gate-{id}"), "title": format!("Gate {id}"), "kind": "execute" },
            "options": [{ "optionId": "a", "name": "Allow", "kind": "allow_once" }],
        }),
    );
    [ask, json!({ "expect_reply": id, "to": id })]
}

/// Goes to the transcript and there to the first line that holds a text.
fn go(chat: &mut Scripted, text: &str) {
    let code = "local text = ...
                local chat = require('acp').status().sessions[1]
                vim.cmd.stopinsert()
                vim.api.nvim_set_current_win(vim.fn.bufwinid(chat.buffer))
                for row, line in ipairs(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false)) do
                  if line:find(text, 1, true) then
                    vim.api.nvim_win_set_cursor(0, { row, 0 })
                    return row
                  end
                end";
    let row = chat.nvim.exec_lua(code, [text.into()]);
    assert!(row.as_u64().is_some(), "{text:?} is not in the transcript");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
}

/// The transcript under the agent's name.
fn answer(chat: &mut Scripted) -> String {
    let text = chat.transcript();
    let (_, answer) = text.split_once("\n\nFake\n").expect("an answer");
    answer.to_owned()
}

#[test]
fn calls_gather_under_a_line_that_opens_to_them_and_they_to_their_bodies() {
    let output = json!([{ "type": "content", "content": { "type": "text", "text": "beta" } }]);
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            says("Looking."),
            call("1", "read", "src/a.rs", "in_progress"),
            call("2", "search", "beta", "in_progress"),
            becomes("2", "completed"),
            update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed",
                "content": output })),
            call("3", "execute", "make", "completed"),
            call("4", "edit", "src/a.rs", "completed"),
            call("5", "read", "src/b.rs", "completed"),
            says("Found."),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("look");
    chat.wait_for("Done");
    let folded =
        "Looking.\n\n✓ read once, searched once, ran a command\n✓ edit src/a.rs\n✓ read src/b.rs\n\nFound.";
    assert!(answer(&mut chat).starts_with(folded), "{}", answer(&mut chat));

    go(&mut chat, "read once");
    chat.nvim.input("<Tab>");
    chat.wait_for("ran a command\n  ✓ read src/a.rs\n  ✓ search beta\n  ✓ run make\n✓ edit src/a.rs");
    chat.nvim.input("j<Tab>");
    chat.wait_for("  ✓ read src/a.rs\n      beta\n  ✓ search beta");
    // Entries are gone through one by one while they are shown.
    chat.nvim.input("]]");
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua("return vim.fn.getline('.')", []) == "  ✓ search beta".into(), "]]");
    go(&mut chat, "read once");
    chat.nvim.input("za");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("search beta"), "the run to fold");
    assert!(answer(&mut chat).starts_with(folded), "{}", answer(&mut chat));
    chat.nvim.input("]]");
    let line = chat.nvim.exec_lua("return vim.fn.getline('.')", []);
    assert_eq!(line, "✓ edit src/a.rs".into());
}

#[test]
fn a_reader_above_stays_where_they_are_while_calls_gather() {
    let lines: String = (1..=60).map(|line| format!("line {line}\n")).collect();
    let mut parts =
        vec![prompt(), call("1", "read", "a", "in_progress"), call("2", "read", "b", "in_progress")];
    parts.extend([says(&format!("```\n{lines}```\n"))]);
    parts.extend(gate("go"));
    parts.extend([becomes("1", "completed"), becomes("2", "completed"), call("3", "read", "c", "completed")]);
    parts.extend([call("4", "read", "d", "completed"), says("The end."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps(parts));
    // Nobody is asked; the gate opens by command.
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.chat();
    chat.send("look");
    chat.wait_for("Gate go");
    go(&mut chat, "line 30");
    chat.nvim.input("zt5j");
    let place = "local view = vim.fn.winsaveview()
                 return vim.fn.getline(view.lnum) .. ' under ' .. vim.fn.getline(view.topline)";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(place, []) == "line 35 under line 30".into(), "the view");
    chat.nvim.command("Acp allow a");
    chat.wait_for("Done");
    let text = answer(&mut chat);
    assert!(text.starts_with("✓ read twice\n\n```\nline 1\n"), "{text}");
    assert!(text.contains("✓ read twice\n\nThe end."), "{text}");
    assert_eq!(chat.nvim.exec_lua(place, []), "line 35 under line 30".into());
}

//! Subagents in the chat: a line for each with what it does, opened to all of it, asked for in its name, stopped
//! alone; its places are followed and its changes are its own.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};
use support::screens::{assert_looks, timeless};
use support::script::{Scripted, answered, ends, initialized, permission, prompt, says, steps, update};

/// An update of a subagent's own session.
fn within(id: &str, update: Value) -> Value {
    let params = json!({ "sessionId": id, "update": update });
    json!({ "send": { "method": "session/update", "params": params } })
}

fn subagent(id: &str, mut fields: Value) -> Value {
    fields["sessionUpdate"] = "subagent_update".into();
    fields["sessionId"] = id.into();
    update(fields)
}

fn begins(id: &str, title: &str) -> Value {
    let (can, state) = (json!({ "cancel": {} }), json!({ "state": "running" }));
    subagent(id, json!({ "title": title, "description": "worker", "capabilities": can, "state": state }))
}

fn is_done(id: &str, reason: &str) -> Value {
    subagent(id, json!({ "state": { "state": "idle", "stopReason": reason } }))
}

fn chunk(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

fn call(id: &str, kind: &str, title: &str, status: &str) -> Value {
    json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "status": status })
}

fn told(from: &str, to: &str, text: &str) -> Value {
    let content = json!([{ "type": "text", "text": text }]);
    json!({ "sessionUpdate": "session_message", "messageId": format!("{from}-{to}"), "senderSessionId": from,
        "recipientSessionId": to, "content": content })
}

/// The subagent of this id asks for permission to edit a file of the project.
fn asks_to_edit(id: &str, request: &str, new: &str) -> Value {
    let diff = json!([{ "type": "diff", "path": "$PROJECT/notes.txt", "oldText": "beta", "newText": new }]);
    let call = json!({ "toolCallId": "e", "title": "Edit notes.txt", "kind": "edit", "content": diff });
    let mut asks = permission(request, call);
    asks["send"]["params"]["sessionId"] = id.into();
    asks
}

#[test]
fn a_subagent_is_one_line_that_opens_to_what_it_was_told_and_did() {
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            says("Two will look."),
            begins("a", "Look at the tests"),
            begins("b", "Look at the docs"),
            update(told("s1", "a", "Read all tests.\nSay what is missing.")),
            within("a", call("1", "read", "tests/a.rs", "completed")),
            within("b", call("1", "read", "doc/a.txt", "completed")),
            within("a", call("2", "read", "tests/b.rs", "completed")),
            within("a", chunk("Two tests, ")),
            within("b", call("2", "execute", "make docs", "failed")),
            within("a", chunk("none missing.")),
            is_done("a", "end_turn"),
            subagent(
                "b",
                json!({ "state": { "state": "idle", "stopReason": "error",
                "error": { "code": 1, "message": "the model is overloaded" } } }),
            ),
            update(told("a", "s1", "Nothing is missing.")),
            says("All is well."),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("look");
    chat.nvim.wait_for_screen("Done ·");
    chat.go_to("Look at the tests");
    assert_looks("subagents/folded", &timeless(&chat.nvim.screen()));
    chat.nvim.input("<Tab>");
    chat.nvim.wait_for_screen("Look at the tests to Fake");
    assert_looks("subagents/open", &timeless(&chat.nvim.screen()));
    // What stands under it is opened as anything else, and folded with it.
    chat.go_to("read twice");
    chat.nvim.input("<Tab>");
    chat.wait_for("read tests/b.rs");
    chat.go_to("Look at the tests");
    chat.nvim.input("K");
    chat.nvim.wait_for_screen("What it said and did");
    assert_looks("subagents/details", &timeless(&chat.nvim.screen()));
    chat.nvim.input("q");
    chat.go_to("Look at the tests");
    chat.nvim.input("<Tab>");
    let gone = |nvim: &mut support::Nvim| !nvim.screen().contains("none missing");
    chat.nvim.wait_until(gone, "what it said to be folded");
}

#[test]
fn a_subagents_question_is_asked_in_its_name_and_its_change_is_followed_and_its_own() {
    let places = json!([{ "path": "$PROJECT/notes.txt", "line": 2 }]);
    let mut chat = Scripted::new(
        &[("notes.txt", "alpha\nbeta\ngamma\n")],
        steps([
            prompt(),
            begins("a", "Edit the notes"),
            subagent("a", json!({ "state": { "state": "requires_action" } })),
            asks_to_edit("a", "p", "BETA"),
            answered("p"),
            subagent("a", json!({ "state": { "state": "running" } })),
            json!({ "send": { "id": "w", "method": "fs/write_text_file", "params": { "sessionId": "a",
                "path": "$PROJECT/notes.txt", "content": "alpha\nBETA\ngamma\n" } } }),
            answered("w"),
            within(
                "a",
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": "e", "status": "completed",
                "locations": places }),
            ),
            is_done("a", "end_turn"),
            ends("end_turn"),
        ]),
    );
    chat.configure("follow = true");
    chat.nvim.command("edit notes.txt");
    chat.chat();
    chat.send("edit");
    chat.nvim.wait_for_screen("Edit the notes wants to");
    chat.nvim.input("1<CR>");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
    chat.wait_for("Done");
    chat.nvim.wait_for_screen("BETA");
    chat.nvim.wait_for_screen("Done ·");
    assert_looks("subagents/edited", &timeless(&chat.nvim.screen()));
    let code = "local list = {}
                for _, each in ipairs(vim.fn.getqflist()) do list[#list + 1] = each.text end
                return table.concat(list, '\\n')";
    chat.nvim.command("Acp review!");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(code, []).as_str().is_some_and(|text| text.contains("Edit notes.txt")),
        "the hunk to be the call's",
    );
}

#[test]
fn one_subagent_is_stopped_alone_and_only_where_that_is_offered() {
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            begins("a", "First"),
            begins("b", "Second"),
            subagent("b", json!({ "capabilities": {} })),
            json!({ "expect": "session/cancel" }),
            is_done("a", "cancelled"),
            is_done("b", "end_turn"),
            says("The other went on."),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("work");
    chat.wait_for("Second");
    chat.go_to("Second");
    chat.nvim.input("X");
    chat.go_to("First");
    chat.nvim.input("X");
    assert_eq!(chat.got("session/cancel")["params"]["sessionId"], "a");
    chat.wait_for("The other went on.");
    chat.wait_for("Done");
    let text = chat.transcript();
    assert!(text.contains("⊘ First (worker)") && text.contains("✓ Second (worker)"), "{text}");
    let cancels = chat.record().iter().filter(|message| message["method"] == "session/cancel").count();
    assert_eq!(cancels, 1);
    chat.nvim.command("Acp cancel subagent");
    chat.nvim.wait_for_screen("no subagent is at work");
}

#[test]
fn no_command_on_a_subagents_line_or_page_is_sent_to_it() {
    let capabilities =
        json!({ "sessionCapabilities": { "fork": {}, "archive": {}, "close": {}, "delete": {} } });
    let named = |id: &str| json!({ "id": id, "name": id, "value": id });
    let effort = json!({ "id": "effort", "name": "Effort", "type": "select", "currentValue": "low",
        "options": [named("low"), named("high")] });
    let answer = json!({ "sessionId": "s1", "configOptions": [effort],
        "modes": { "currentModeId": "ask", "availableModes": [named("ask"), named("plan")] } });
    let set = |method: &str, answer: Value| {
        [json!({ "expect": method }), json!({ "reply": method, "result": answer })]
    };
    let mut chat = Scripted::new(
        &[],
        [
            initialized(capabilities, json!([])),
            vec![json!({ "expect": "session/new" }), json!({ "reply": "session/new", "result": answer })],
            vec![prompt(), begins("a", "First"), within("a", chunk("busy"))],
            set("session/set_mode", json!({})).into(),
            vec![json!({ "expect": "session/cancel" }), is_done("a", "cancelled"), ends("cancelled")],
        ]
        .concat(),
    );
    chat.chat();
    chat.send("work");
    chat.wait_for("First");
    let commands = [
        "mode plan",
        "config effort high",
        "model",
        "rename Other",
        "send more",
        "fork",
        "archive",
        "export",
        "keep",
        "undo",
        "usage",
        "plan",
        "paste",
        "queue",
    ];
    chat.nvim.exec_lua("vim.ui.select = function() end vim.ui.input = function() end", []);
    let run = "for _, command in ipairs({ ... }) do pcall(vim.cmd, 'silent! Acp ' .. command) end";
    for keys in ["", "K"] {
        chat.nvim.command("Acp sessions 1");
        chat.go_to("First");
        chat.nvim.input(keys);
        let is_page = "return vim.fn.bufnr() ~= require('acp').status().sessions[1].buffer";
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua(is_page, []).as_bool() == Some(!keys.is_empty()),
            "the line or its page",
        );
        chat.nvim.exec_lua(run, commands.map(Into::into));
    }
    chat.got("session/set_mode");
    chat.nvim.command("Acp cancel");
    chat.got("session/cancel");
    let to_subagent: Vec<Value> =
        chat.record().into_iter().filter(|message| message["params"]["sessionId"] == "a").collect();
    assert_eq!(to_subagent, Vec::<Value>::new());
}

#[test]
fn the_parents_answer_goes_on_in_one_piece_while_a_subagent_works() {
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            says("One **sen"),
            begins("a", "Work"),
            within("a", chunk("busy")),
            says("tence**."),
            within("a", chunk(" bee")),
            says(" And another."),
            is_done("a", "end_turn"),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    let text = chat.transcript();
    assert!(text.contains("Fake\nOne **sen\n") && text.contains("\ntence**. And another.\n"), "{text}");
}

#[test]
fn a_subagents_id_may_be_anything_and_leads_nowhere() {
    let id = format!("a:subagent:b/../../{}%\u{e9} \"'", "x".repeat(80));
    let id = id.as_str();
    let mut chat = Scripted::new(
        &[("notes.txt", "alpha\nbeta\n")],
        steps([
            prompt(),
            begins(id, "An odd one"),
            within(id, call("1", "read", "notes.txt", "completed")),
            asks_to_edit(id, "p", "BETA"),
            answered("p"),
            within(id, chunk("said by it")),
            json!({ "expect": "session/cancel" }),
            is_done(id, "cancelled"),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("work");
    chat.nvim.wait_for_screen("An odd one wants to");
    chat.nvim.input("1<CR>");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
    chat.go_to("An odd one");
    chat.nvim.input("K");
    chat.nvim.wait_for_screen("What it said and did");
    let names =
        "return table.concat(vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs()), '\\n')";
    let names = chat.nvim.exec_lua(names, []).as_str().expect("a text").to_owned();
    assert!(!names.contains("subagent:") && !names.contains(".."), "{names}");
    chat.nvim.input("q");
    chat.go_to("An odd one");
    chat.nvim.input("X");
    assert_eq!(chat.got("session/cancel")["params"]["sessionId"], id);
    chat.nvim.wait_for_screen("Done ·");
    let mut files: Vec<_> = std::fs::read_dir(chat.project.path())
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    files.sort();
    assert_eq!(files, [".agent", "notes.txt"]);
}

#[test]
fn a_call_that_points_to_a_subagent_names_it_and_to_any_other_session_is_a_placeholder() {
    let points = |call: &str, id: &str| {
        update(
            json!({ "sessionUpdate": "tool_call", "toolCallId": call, "title": format!("Start {call}"), "kind": "think",
            "status": "failed", "content": [{ "type": "session", "sessionId": id }] }),
        )
    };
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            begins("k1", "Read the docs"),
            points("known", "k1"),
            points("strange", "k2"),
            update(
                json!({ "sessionUpdate": "tool_call", "toolCallId": "odd", "title": "Start odd", "kind": "think",
                "status": "failed", "content": [{ "type": "session", "sessionId": 7 }] }),
            ),
            is_done("k1", "end_turn"),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("work");
    chat.nvim.wait_for_screen("Done ·");
    let text = chat.transcript();
    let shown: Vec<&str> =
        text.lines().filter(|line| line.contains("subagent:") || line.contains("[session")).collect();
    let shown: Vec<&str> = shown.iter().map(|line| line.trim()).collect();
    let strange = "[session: this client cannot show it]";
    assert_eq!(shown, ["subagent: Read the docs", strange, strange], "{text}");
}

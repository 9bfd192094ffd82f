//! What the protocol asks of a client and only the editor shows: how things look, what is chosen, and
//! what a user is told. The agents are scripted; the Neovim, the processes and the pipes are real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::time::Duration;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, answered, asks, awaits, ends, opened_with, prompt, says, steps, update};

fn permission(id: &str, call: Value, options: Value) -> Value {
    asks(id, "session/request_permission", json!({ "toolCall": call, "options": options }))
}

fn chosen(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

fn fails(code: i64, message: &str, data: Value) -> Value {
    json!({ "reply": "session/prompt", "error": { "code": code, "message": message, "data": data } })
}

/// Pickers stay open: what they offer is in `seen`, and `choose(n, number)` answers the nth of them.
fn hold_pickers(nvim: &mut Nvim) {
    nvim.exec_lua(
        "_G.seen, _G.held = {}, {}
         vim.ui.select = function(items, options, choose)
           table.insert(_G.seen, { items = items, prompt = options.prompt })
           table.insert(_G.held, { items = items, choose = choose })
         end
         _G.choose = function(n, number)
           local held = _G.held[n]
           if number == 0 then held.choose(nil, nil) else held.choose(held.items[number], number) end
         end",
        [],
    );
}

/// What the nth picker, from 1, offers, once it is open.
fn picker(nvim: &mut Nvim, n: u64) -> Vec<String> {
    let code = "local seen = _G.seen[...] return seen and seen.items or vim.NIL";
    let mut items = Vec::new();
    nvim.wait_until(
        |nvim| match nvim.exec_lua(code, [n.into()]).as_array() {
            Some(list) => {
                items = list.iter().map(|item| item.as_str().expect("a text").to_owned()).collect();
                true
            }
            None => false,
        },
        "a picker",
    );
    items
}

/// Answers the nth picker by the number of an item, or closes it without a choice.
fn choose(nvim: &mut Nvim, n: u64, number: Option<u64>) {
    nvim.exec_lua("_G.choose(...)", [n.into(), number.unwrap_or(0).into()]);
}

/// What `require("acp").status()` says of the only session.
fn status(nvim: &mut Nvim, field: &str) -> Option<String> {
    let code = "local value = require('acp').status().sessions[1][...]
                return value ~= nil and value ~= vim.NIL and tostring(value) or vim.NIL";
    nvim.exec_lua(code, [field.into()]).as_str().map(str::to_owned)
}

fn status_of_agent(nvim: &mut Nvim, field: &str) -> String {
    let code = "return tostring(require('acp').status().agents[1][...])";
    nvim.exec_lua(code, [field.into()]).as_str().expect("a text").to_owned()
}

fn wait_status(nvim: &mut Nvim, field: &str, value: &str) {
    nvim.wait_until(
        |nvim| status(nvim, field).as_deref() == Some(value),
        &format!("{field} to be {value:?}"),
    );
}

/// What stands at the right edge of the transcript's lines, top down.
fn right_edge(chat: &mut Scripted) -> String {
    let code = "local buf = require('acp').status().sessions[1].buffer
                local texts = {}
                for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })) do
                  for _, chunk in ipairs(mark[4].virt_text or {}) do
                    table.insert(texts, mark[2] .. ' ' .. chunk[1])
                  end
                end
                return table.concat(texts, '\\n')";
    chat.nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

fn select(id: &str, category: Value, current: &str, values: &[&str]) -> Value {
    let values: Vec<Value> =
        values.iter().map(|value| json!({ "value": value, "name": format!("The {value}") })).collect();
    json!({ "id": id, "name": format!("Set {id}"), "category": category, "type": "select",
        "currentValue": current, "options": values })
}

// What is shown.

#[test]
fn a_refused_prompt_is_marked_as_out_of_the_context() {
    let mut chat = Scripted::new(
        &[],
        steps([prompt(), says("Fine."), ends("end_turn"), prompt(), says("No."), ends("refusal")]),
    );
    chat.chat();
    chat.send("good words");
    chat.wait_for("Done");
    assert!(!right_edge(&mut chat).contains("no longer in the context"));
    chat.send("bad words");
    chat.wait_for("The agent refused");
    let row = chat.transcript().lines().position(|line| line == "bad words").expect("the prompt") - 1;
    let edge = right_edge(&mut chat);
    assert!(edge.contains(&format!("{row} refused, no longer in the context")), "{edge}");
    assert_eq!(edge.matches("refused").count(), 1, "{edge}");
}

#[test]
fn what_is_no_text_is_a_line_that_names_it() {
    let block =
        |content: Value| update(json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            says("before "),
            block(json!({ "type": "image", "mimeType": "image/png", "data": "%%% no base64 %%%" })),
            block(json!({ "type": "audio", "mimeType": "audio/wav", "data": "A".repeat(4096) })),
            block(json!({ "type": "video", "data": "AAAA" })),
            block(json!({ "type": "resource_link", "name": "notes", "uri": "file:///notes.md" })),
            block(json!({ "type": "text", "text": " after",
                "annotations": { "audience": ["assistant"], "priority": 0.1, "lastModified": 7 } })),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    let text = chat.transcript();
    let image = "before \n\nimage \u{b7} PNG \u{b7} 12 bytes (not shown: it is not valid Base64)\n\n";
    assert!(text.contains(image), "{text}");
    let expected = "[audio: audio/wav, 3 kB]\
                    [video: this client cannot show it][notes](file:///notes.md) after";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn each_kind_of_call_reads_as_what_it_does_and_each_status_as_how_far_it_is() {
    let kinds = [
        ("read", "Read"),
        ("edit", "Edit"),
        ("delete", "Delete"),
        ("move", "Move"),
        ("search", "Search"),
        ("execute", "Run"),
        ("think", "Think"),
        ("fetch", "Fetch"),
        ("switch_mode", "Switch mode"),
        ("other", ""),
        ("juggle", ""),
    ];
    let statuses = [
        (json!("pending"), "○"),
        (json!("in_progress"), "◐"),
        (json!("completed"), "✓"),
        (json!("failed"), "✗"),
        (json!("denied"), "⊘"),
        (json!("cancelled"), "⊘"),
        (json!("awaiting_permission"), "○"),
        (Value::Null, "○"),
    ];
    let call = |id: String, kind: Value, status: Value| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("thing-{id}"),
            "kind": kind, "status": status }))
    };
    let mut all = vec![prompt()];
    // Words between them, so that none of them gather.
    all.extend(
        kinds
            .iter()
            .flat_map(|(kind, _)| [call((*kind).to_owned(), json!(kind), json!("completed")), says("Next.")]),
    );
    all.extend(
        (0..)
            .zip(&statuses)
            .map(|(number, (status, _))| call(number.to_string(), json!("other"), status.clone())),
    );
    all.push(says("All told."));
    let mut chat = Scripted::sized(&[], steps(all), 100, 45);
    chat.chat();
    chat.send("go");
    chat.wait_for("All told.");
    let text = chat.transcript();
    for (kind, verb) in kinds {
        let line = text.lines().find(|line| line.ends_with(&format!("thing-{kind}"))).expect(kind);
        assert_eq!(line.to_lowercase(), format!("✓ {} thing-{kind}", verb.to_lowercase()).replace("  ", " "));
    }
    for (number, (status, mark)) in statuses.iter().enumerate() {
        assert!(text.contains(&format!("{mark} thing-{number}")), "{status} in:\n{text}");
    }
}

#[test]
fn context_cost_and_title_are_shown_as_told_however_odd() {
    let usage = |used: Value, size: u64, cost: Value| {
        update(json!({ "sessionUpdate": "usage_update", "used": used, "size": size, "cost": cost }))
    };
    let title = format!("A very\nlong {} title", "long ".repeat(150));
    let mut chat = Scripted::sized(
        &[],
        steps([
            prompt(),
            usage(json!(5), 0, Value::Null),
            says("None."),
            ends("end_turn"),
            prompt(),
            usage(json!(50), 100, json!({ "amount": 1.5, "currency": "USD" })),
            update(json!({ "sessionUpdate": "session_info_update", "title": title })),
            says("Half."),
            ends("end_turn"),
            prompt(),
            usage(json!(130), 100, json!({ "amount": 20, "currency": "XTS" })),
            update(json!({ "sessionUpdate": "session_info_update", "title": null })),
            says("Over."),
            json!({ "reply": "session/prompt", "result": { "stopReason": "end_turn",
                "usage": { "inputTokens": 1000, "outputTokens": 234, "totalTokens": 1234 } } }),
        ]),
        200,
        30,
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("None.");
    assert!(!chat.nvim.screen().contains("ctx"), "{}", chat.nvim.screen());
    assert_eq!(status(&mut chat.nvim, "context"), None);
    chat.send("go");
    chat.nvim.wait_for_screen("ctx 50% · $1.50");
    chat.nvim.wait_for_screen("A very long");
    assert!(chat.nvim.screen().contains("long title"), "both ends of it: {}", chat.nvim.screen());
    chat.send("go");
    chat.nvim.wait_for_screen("ctx 130% · 20.00 XTS");
    chat.wait_for("1,234 tokens");
    assert_eq!(status(&mut chat.nvim, "title"), None);
}

// Questions.

#[test]
fn what_is_chosen_for_the_user_goes_by_kind_and_neither_by_name_nor_by_place() {
    let options = json!([
        { "optionId": "1", "name": "Deny", "kind": "allow_always" },
        { "optionId": "2", "name": "Allow", "kind": "reject_always" },
        { "optionId": "3", "name": "Yes!", "kind": "allow_session" },
        { "optionId": "4", "name": "No way", "kind": "allow_once" },
        { "optionId": "5", "name": "Allow once", "kind": "reject_once" },
    ]);
    let unknown = json!([
        { "optionId": "s", "name": "Allow for this session", "kind": "allow_session" },
        { "optionId": "n", "name": "Allow", "kind": 7 },
        { "optionId": "m", "name": "Maybe" },
    ]);
    let call = |id: &str| json!({ "toolCallId": id, "title": format!("Edit {id}"), "kind": "edit" });
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            permission("p", call("one"), options.clone()),
            answered("p"),
            permission("q", call("two"), options),
            answered("q"),
            permission("r", call("three"), unknown),
            answered("r"),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    hold_pickers(&mut chat.nvim);
    chat.send("go");
    assert_eq!(
        picker(&mut chat.nvim, 1),
        [
            "allow always: Deny",
            "reject always: Allow",
            "unknown effect \"allow_session\": Yes!",
            "allow once: No way",
            "reject once: Allow once"
        ]
    );
    chat.decide("allow");
    assert_eq!(chat.answer("p")["result"], chosen("4"));
    chat.wait_for("Edit two");
    chat.nvim.wait_until(|nvim| picker(nvim, 2).len() == 5, "the second question");
    chat.decide("reject");
    assert_eq!(chat.answer("q")["result"], chosen("5"));
    assert_eq!(
        picker(&mut chat.nvim, 3),
        [
            "unknown effect \"allow_session\": Allow for this session",
            "unknown effect: Allow",
            "unknown effect: Maybe"
        ]
    );
    chat.decide("allow");
    // It is shown once more, since nothing of the kind is offered.
    assert_eq!(picker(&mut chat.nvim, 4).len(), 3);
    assert!(!chat.record().iter().any(|line| line["id"] == "r"), "nothing was chosen");
    choose(&mut chat.nvim, 4, Some(1));
    assert_eq!(chat.answer("r")["result"], chosen("s"));
}

#[test]
fn questions_stand_in_line_and_one_that_is_put_off_stays_open() {
    let options = json!([{ "optionId": "a", "name": "Allow", "kind": "allow_once" }]);
    let call = |id: &str| json!({ "toolCallId": id, "title": format!("Edit {id}"), "kind": "edit" });
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            permission("p", call("one"), options.clone()),
            permission("q", call("two"), options.clone()),
            permission("r", call("three"), options),
            answered("r"),
            says("The third first."),
            answered("p"),
            answered("q"),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    hold_pickers(&mut chat.nvim);
    chat.send("go");
    // Neither of the first two can be rejected once: closing the picker decides nothing.
    for number in [1, 2] {
        picker(&mut chat.nvim, number);
        choose(&mut chat.nvim, number, None);
    }
    picker(&mut chat.nvim, 3);
    choose(&mut chat.nvim, 3, Some(1));
    chat.wait_for("The third first.");
    let answered = |chat: &Scripted| chat.record().iter().filter(|line| line.get("result").is_some()).count();
    assert_eq!(answered(&chat), 1);
    assert_eq!(status(&mut chat.nvim, "state").as_deref(), Some("waiting"));
    // The third was the one that was seen last.
    chat.decide("allow");
    picker(&mut chat.nvim, 4);
    choose(&mut chat.nvim, 4, Some(1));
    assert_eq!(chat.answer("p")["result"], chosen("a"));
    chat.decide("allow");
    assert_eq!(chat.answer("q")["result"], chosen("a"));
    chat.wait_for("Done");
    let prompts = chat.nvim.exec_lua("return vim.inspect(_G.seen)", []);
    assert!(prompts.as_str().expect("a text").contains("Fake wants to edit two"), "{prompts}");
}

#[test]
fn permission_is_asked_for_when_no_turn_runs_too() {
    let options = json!([{ "optionId": "a", "name": "Allow", "kind": "allow_once" }]);
    let mut chat = Scripted::new(
        &[],
        steps([
            permission("p", json!({ "toolCallId": "1", "title": "Tidy up", "kind": "delete" }), options),
            answered("p"),
            says("Tidy."),
        ]),
    );
    hold_pickers(&mut chat.nvim);
    chat.chat();
    picker(&mut chat.nvim, 1);
    assert!(chat.transcript().contains("Allow this deletion?"), "{}", chat.transcript());
    choose(&mut chat.nvim, 1, Some(1));
    assert_eq!(chat.answer("p")["result"], chosen("a"));
    chat.wait_for("Tidy.");
}

// Stopping.

#[test]
fn what_comes_after_a_cancel_is_shown_and_an_error_is_no_failure() {
    let call = |status: &str| {
        update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "title": "Write a.txt",
            "status": status }))
    };
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            call("in_progress"),
            says("At work."),
            json!({ "expect": "session/cancel" }),
            says("Not quite."),
            call("completed"),
            fails(-32603, "The operation was aborted", Value::Null),
            prompt(),
            says("Again."),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("At work.");
    chat.nvim.command("Acp cancel");
    chat.wait_for("Cancelled · ");
    let text = chat.transcript();
    assert!(text.contains("Not quite.") && text.contains("✓ Write a.txt"), "{text}");
    assert!(!text.contains("aborted") && !text.contains("failed"), "{text}");
    chat.send("go");
    chat.wait_for("Again.");
}

#[test]
fn an_agent_that_does_not_stop_can_be_ended_and_started_again() {
    let mut chat = Scripted::new(&[], steps([prompt(), says("Going on for ever.")]));
    chat.chat();
    chat.send("go");
    chat.wait_for("Going on for ever.");
    chat.nvim.command("Acp cancel");
    chat.nvim.wait_for_screen("stopping");
    chat.nvim.wait_within(
        Duration::from_secs(25),
        |nvim| nvim.screen().contains("Fake did not stop within 10 s"),
        "the offer to end it",
    );
    chat.nvim.input("<Esc><C-w>kR");
    wait_status(&mut chat.nvim, "state", "idle");
    assert!(chat.transcript().contains("Going on for ever."), "{}", chat.transcript());
    let agents =
        |nvim: &Nvim| nvim.processes().iter().filter(|process| process.command.contains("--script")).count();
    chat.nvim.wait_until(|nvim| agents(nvim) == 1, "the old agent to be gone");
}

// Choices.

#[test]
fn a_mode_that_is_not_listed_is_shown_as_it_is_and_never_asked_for() {
    let modes = json!({ "modes": { "currentModeId": "ask", "availableModes": [
        { "id": "ask", "name": "Ask first" }, { "id": "auto", "name": "Go ahead" },
    ] } });
    let mut all = opened_with(modes);
    all.extend([
        prompt(),
        update(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "https://modes/secret" })),
        says("Changed."),
        json!({ "expect": "session/set_mode" }),
        json!({ "reply": "session/set_mode", "result": {} }),
        ends("end_turn"),
    ]);
    let mut chat = Scripted::new(&[], all);
    chat.chat();
    chat.nvim.listen();
    chat.send("go");
    chat.wait_for("Changed.");
    wait_status(&mut chat.nvim, "mode", "https://modes/secret");
    chat.nvim.command("Acp mode nonsense");
    let said = chat.nvim.exec_lua("return table.concat(_G.said, '; ')", []);
    assert!(said.as_str().expect("a text").contains("the agent has no mode \"nonsense\"; it has "), "{said}");
    chat.nvim.command("Acp mode auto");
    assert_eq!(chat.got("session/set_mode")["params"]["modeId"], "auto", "in the middle of a turn");
    wait_status(&mut chat.nvim, "mode", "Go ahead");
    let asked = chat.record().iter().filter(|line| line["method"] == "session/set_mode").count();
    assert_eq!(asked, 1);
}

#[test]
fn options_stand_in_the_agents_order_and_a_models_own_next_to_it() {
    let grouped = json!({ "id": "tools", "name": "Set tools", "category": null, "type": "select",
        "currentValue": "x", "options": [
            { "group": "g", "name": "G", "options": [{ "value": "x", "name": "The x" }] },
            { "group": "h", "name": "H", "options": [{ "value": "y", "name": "The y" }] },
        ] });
    let answer = json!({
        "modes": { "currentModeId": "old", "availableModes": [{ "id": "old", "name": "Old mode" }] },
        "configOptions": [
            select("zoo", json!("zzz"), "a", &["a", "b"]),
            select("mode", json!("mode"), "new", &["new", "newer"]),
            select("model", json!("model"), "big", &["big", "small"]),
            json!({ "id": "loud", "name": "Set loud", "category": "_own", "type": "boolean", "currentValue": false }),
            json!({ "id": "slide", "name": "Set slide", "type": "slider", "currentValue": 3 }),
            grouped,
            select("effort", json!("model_config"), "low", &["low", "high"]),
        ],
    });
    let mut all = opened_with(answer);
    all.extend([
        json!({ "expect": "session/set_config_option" }),
        json!({ "reply": "session/set_config_option", "result": { "configOptions": [
            select("model", json!("model"), "small", &["big", "small"]),
            select("effort", json!("model_config"), "none", &["none"]),
        ] } }),
        json!({ "expect": "session/set_config_option", "as": "second" }),
        json!({ "reply": "second", "error": { "code": -32602, "message": "No such value" } }),
    ]);
    let mut chat = Scripted::new(&[], all);
    chat.chat();
    hold_pickers(&mut chat.nvim);
    chat.nvim.command("Acp config");
    assert_eq!(
        picker(&mut chat.nvim, 1),
        [
            "Set zoo: The a",
            "Set mode: The new",
            "Set model: The big",
            "Set effort: The low",
            "Set loud: off",
            "Set tools: The x"
        ]
    );
    // The options stand for the modes of old.
    chat.nvim.command("Acp mode");
    assert_eq!(picker(&mut chat.nvim, 2), ["The new (now)", "The newer"]);
    chat.nvim.command("Acp config tools");
    assert_eq!(picker(&mut chat.nvim, 3), ["The x (now)", "The y"]);
    chat.nvim.command("Acp model small");
    assert_eq!(
        chat.got("session/set_config_option")["params"],
        json!({ "sessionId": "s1", "configId": "model", "value": "small" })
    );
    wait_status(&mut chat.nvim, "model", "The small");
    // What the agent answers is all there is from then on.
    chat.nvim.command("Acp config");
    assert_eq!(picker(&mut chat.nvim, 4), ["Set model: The small", "Set effort: The none"]);
    chat.nvim.command("Acp model big");
    chat.wait_for("No such value");
    assert_eq!(status(&mut chat.nvim, "model").as_deref(), Some("The small"), "a refused choice is none");
}

#[test]
fn a_slash_command_is_sent_as_it_was_typed() {
    let mut chat = Scripted::new(
        &[],
        steps([
            update(json!({ "sessionUpdate": "available_commands_update", "availableCommands": [
                { "name": "web", "description": "Search", "input": { "hint": "words" } } ] })),
            prompt(),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("/web agent client protocol");
    let sent = &chat.got("session/prompt")["params"]["prompt"];
    assert_eq!(*sent, json!([{ "type": "text", "text": "/web agent client protocol" }]));
}

#[test]
fn what_the_user_switches_off_is_neither_offered_nor_served() {
    let path = json!({ "path": "$PROJECT/a.txt" });
    let mut all = vec![prompt()];
    all.extend(awaits("read", "fs/read_text_file", path));
    all.extend(awaits("write", "fs/write_text_file", json!({ "path": "$PROJECT/a.txt", "content": "b" })));
    all.extend(awaits("run", "terminal/create", json!({ "command": "true" })));
    all.push(ends("end_turn"));
    let mut chat = Scripted::new(&[("a.txt", "a")], steps(all));
    chat.configure("files = { reads = false, writes = false }, terminal = { enabled = false }");
    chat.chat();
    chat.send("go");
    let offered = chat.got("initialize")["params"]["clientCapabilities"].clone();
    assert_eq!(offered["fs"], json!({ "readTextFile": false, "writeTextFile": false }));
    assert_eq!(offered["terminal"], false);
    for id in ["read", "write", "run"] {
        assert_eq!(chat.answer(id)["error"]["code"], -32601, "{id}");
    }
}

// What goes wrong.

#[test]
fn each_error_ends_its_turn_and_says_what_to_do() {
    let errors = [
        (-32700, "Parse error", Value::Null, "send the prompt again"),
        (-32600, "Invalid request", Value::Null, "send the prompt again"),
        (-32601, "Method not found", Value::Null, "send the prompt again"),
        (-32602, "Invalid params", json!("prompt[0] is wrong"), "prompt[0] is wrong"),
        (-32603, "Internal error", json!({ "details": "model overloaded" }), "model overloaded"),
        (-32002, "Resource not found", json!({ "uri": "x" }), "send the prompt again"),
        (-32050, "Slow down", json!({ "reason": "rate_limited", "retryAfter": 2 }), "try again in 2 s"),
        (-32042, "Strange", json!({ "a": [{ "b": {} }] }), "send the prompt again"),
        (4711, "Unheard of", Value::Null, "send the prompt again"),
    ];
    let mut all = Vec::new();
    for (code, message, data, _) in &errors {
        all.extend([prompt(), fails(*code, message, data.clone())]);
    }
    all.extend([
        prompt(),
        json!({ "reply": "session/prompt", "error": { "code": -32800, "message": "Cancelled" } }),
    ]);
    all.extend([prompt(), says("At last."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps(all));
    chat.configure("recovery = { again = false }");
    chat.chat();
    for (_, message, _, words) in &errors {
        chat.send("go");
        chat.wait_for(&format!("The turn failed: {message}"));
        wait_status(&mut chat.nvim, "state", "idle");
        let text = chat.transcript();
        let last = text.rfind("The turn failed").expect("just seen");
        assert!(text[last..].contains(words), "{words:?} is missing in:\n{}", &text[last..]);
    }
    assert!(chat.transcript().contains("Wait a little, then send the prompt again"));
    chat.send("go");
    wait_status(&mut chat.nvim, "state", "idle");
    chat.send("go");
    chat.wait_for("At last.");
}

#[test]
fn nothing_that_an_agent_says_is_run_or_breaks_the_screen() {
    let evil = "\u{1b}]52;c;cHduZWQ=\u{7}\u{1b}[2J\u{0}\u{9b}31m%{execute('let g:pwned = 1')}%#Error#\
                %@Pwned@\nvim: set textwidth=7 fdm=expr fde=execute('let\\ g\\:pwned=1'):\n:!touch pwned\n\
                <script>[x](vim:lua%20os.exit())\r\n";
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": evil, "title": evil, "name": evil,
        "kind": evil, "status": "failed", "rawInput": { evil: evil },
        "locations": [{ "path": format!("/tmp/{evil}"), "line": 1 }],
        "content": [
            { "type": "content", "content": { "type": "text", "text": evil } },
            { "type": "content", "content": { "type": "resource_link", "uri": evil, "name": evil, "title": evil } },
            { "type": "diff", "path": format!("/tmp/{evil}"), "oldText": evil, "newText": "x" },
            { "type": "terminal", "terminalId": evil },
        ] });
    let all = vec![
        json!({ "expect": "initialize" }),
        json!({ "reply": "initialize", "result": { "protocolVersion": 1,
            "agentInfo": { "name": "fake", "title": format!("Fake {evil}"), "version": evil } } }),
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s1",
            "modes": { "currentModeId": evil, "availableModes": [{ "id": evil, "name": evil }] },
            "configOptions": [{ "id": evil, "name": evil, "category": "model", "type": "select",
                "currentValue": evil, "options": [{ "value": evil, "name": evil }] }] } }),
        prompt(),
        update(json!({ "sessionUpdate": "session_info_update", "title": evil })),
        update(json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2,
            "cost": { "amount": 1, "currency": evil } })),
        update(json!({ "sessionUpdate": "plan", "entries": [
            { "content": evil, "priority": "high", "status": "pending" } ] })),
        update(
            json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": evil } }),
        ),
        says(evil),
        update(call),
        update(json!({ "sessionUpdate": "notice", "severity": "error", "title": evil, "description": evil })),
        update(json!({ "sessionUpdate": "compaction_update", "compactionId": evil, "status": "failed",
            "summary": evil, "error": evil })),
        permission(
            "p",
            json!({ "toolCallId": "2", "title": evil }),
            json!([{ "optionId": evil, "name": evil, "kind": "allow_once" }]),
        ),
        answered("p"),
        says("Still here."),
        json!({ "reply": "session/prompt", "error": { "code": -32603, "message": evil, "data": { "details": evil } } }),
    ];
    let mut chat = Scripted::sized(&[], all, 120, 60);
    hold_pickers(&mut chat.nvim);
    chat.nvim.listen();
    chat.nvim.command("AcpChat");
    wait_status(&mut chat.nvim, "state", "idle");
    chat.send("go");
    picker(&mut chat.nvim, 1);
    choose(&mut chat.nvim, 1, Some(1));
    chat.wait_for("Still here.");
    chat.wait_for("The turn failed");
    // Everything folded is opened, so that it is drawn, too.
    chat.nvim.input("<Esc><C-w>k");
    let lines = chat.transcript().lines().count();
    for line in 1..=lines.min(120) {
        chat.nvim.input(&format!("{line}G<Tab>"));
    }
    chat.nvim.input("gg:let g:looked = 1<CR>");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.g.looked", []).as_u64() == Some(1),
        "all keys to be typed",
    );
    let state = "return vim.inspect({ vim.g.pwned or 'safe', vim.bo.textwidth, vim.wo.foldmethod })";
    let state = chat.nvim.exec_lua(state, []);
    assert_eq!(state.as_str().expect("a text"), "{ \"safe\", 0, \"manual\" }");
    let said = chat.nvim.exec_lua("return table.concat(_G.said, '; ')", []);
    assert_eq!(said.as_str().expect("a text"), "", "something went wrong on the way");
    assert!(!chat.project.file("pwned").exists());
    let messages = chat.nvim.messages();
    assert!(!messages.contains("E5") && !messages.contains("rror"), "{messages}");
    let screen = chat.nvim.screen();
    assert!(!screen.contains(['\u{1b}', '\u{7}', '\u{9b}', '\0']), "{screen:?}");
}

#[test]
fn embedded_resources_are_shown_as_text_or_as_what_they_are() {
    let block =
        |content: Value| update(json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    let text =
        json!({ "type": "resource", "resource": { "uri": "file:///p/notes.md", "text": "one\ntwo\n" } });
    let blob = json!({ "type": "resource", "resource": { "uri": "file:///p/data", "mimeType": "application/zip", "blob": "QUJD" } });
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Look", "kind": "other", "status": "failed",
        "content": [{ "type": "content", "content": text }, { "type": "content", "content": blob }] });
    let script = steps([prompt(), block(text.clone()), block(blob.clone()), update(call), ends("end_turn")]);
    let mut chat = Scripted::new(&[], script);
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    let shown = chat.transcript();
    let said = "[file:///p/notes.md](file:///p/notes.md) (2 lines)[resource: application/zip, 3 bytes](file:///p/data)";
    assert!(shown.contains(said), "{shown}");
    let of_call = shown.split("Look").nth(1).expect("the call");
    assert!(of_call.contains("one\n") && of_call.contains("two\n"), "{shown}");
    assert!(of_call.contains("application/zip, 3 bytes") && !of_call.contains("QUJD"), "{shown}");
}

#[test]
fn the_sessions_folder_is_absolute_wherever_the_agent_is_started() {
    let mut chat = Scripted::new(&[("sub/a.txt", "")], opened_with(json!({})));
    chat.configure("agents = { fake = { cwd = 'sub' } }, additional_directories = { 'lib' }");
    chat.nvim.command("cd sub | cd ..");
    chat.chat();
    let cwd = chat.got("session/new")["params"]["cwd"].clone();
    assert_eq!(cwd, json!(chat.project.path()));
    let pid = status_of_agent(&mut chat.nvim, "pid");
    let works_in = std::fs::read_link(format!("/proc/{pid}/cwd"));
    if cfg!(target_os = "linux") {
        assert_eq!(works_in.expect("its folder"), chat.project.file("sub"));
    }
}

#[test]
fn what_is_not_encrypted_is_reached_on_this_machine_alone() {
    let mut chat = Scripted::new(&[], opened_with(json!({})));
    let listener = std::net::TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    for (host, refused) in
        [("0.0.0.0", true), ("10.1.2.3", true), ("127.0.0.1.example.org", true), ("127.0.0.1", false)]
    {
        for scheme in ["http", "ws"] {
            chat.nvim.exec_lua("vim.cmd.messages('clear')", []);
            chat.configure(&format!("agents = {{ far = {{ url = '{scheme}://{host}:{port}/acp' }} }}"));
            chat.nvim.command("silent! AcpChat! far");
            let told = |nvim: &mut Nvim| nvim.messages().contains("is not encrypted");
            if refused {
                chat.nvim.wait_until(told, "the reason");
            } else {
                listener.accept().expect("it is connected to");
                assert!(!told(&mut chat.nvim), "{scheme}://{host}");
            }
        }
    }
    listener.set_nonblocking(true).expect("a socket");
    // Attempts to connect again may come; none comes from an address that is refused.
    while let Ok((_, from)) = listener.accept() {
        assert!(from.ip().is_loopback(), "{from}");
    }
}

#[test]
fn a_call_that_is_first_told_of_by_its_question_is_shown_and_decided() {
    let call = json!({ "toolCallId": "hidden", "title": "Edit files", "kind": "edit", "content": [
        { "type": "diff", "path": "$PROJECT/notes.txt", "oldText": "alpha\n", "newText": "ALPHA\n" }] });
    let options = json!([{ "optionId": "a", "name": "Allow", "kind": "allow_once" }, { "optionId": "r", "name": "Reject", "kind": "reject_once" }]);
    let script =
        steps([prompt(), permission("p", call, options), answered("p"), says("After it."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("notes.txt", "alpha\n")], script);
    chat.chat();
    chat.send("go");
    chat.decide("reject");
    assert_eq!(chat.answer("p")["result"], chosen("r"));
    chat.wait_for("After it.");
    chat.wait_for("Done");
    let text = chat.transcript();
    assert_eq!(text.matches("notes.txt").count(), 1, "{text}");
    assert!(text.find("notes.txt") < text.find("After it."), "{text}");
}

#[test]
fn notices_before_a_session_is_open_and_of_any_length_are_plain_lines() {
    let long = format!("{} **bold** [x](https://h) <b>", "word ".repeat(100));
    let notice = |title: &str, severity: &str| {
        update(json!({ "sessionUpdate": "notice", "severity": severity, "title": title }))
    };
    let script = vec![
        json!({ "expect": "initialize" }),
        json!({ "reply": "initialize", "result": { "protocolVersion": 1, "agentInfo": { "name": "fake", "title": "Fake", "version": "1.0" } } }),
        json!({ "expect": "session/new" }),
        // Before the session has a name.
        notice("Early", "warning"),
        notice(&long, "error"),
        notice("# No heading\n| a | b |", "info"),
        notice("Odd", "catastrophe"),
        json!({ "reply": "session/new", "result": { "sessionId": "s1" } }),
        prompt(),
        says("Here."),
        ends("end_turn"),
    ];
    let mut chat = Scripted::sized(&[], script, 80, 24);
    chat.nvim.command("AcpChat");
    chat.wait_for("Odd");
    chat.send("go");
    chat.wait_for("Done");
    let text = chat.transcript();
    for title in ["Early", "**bold** [x](https://h) <b>", "# No heading", "| a | b |", "Odd"] {
        assert_eq!(text.matches(title).count(), 1, "{title} in {text}");
    }
    assert!(text.find("Odd") < text.find("Here."), "{text}");
    let groups = chat.nvim.exec_lua(
        "local buf = require('acp').status().sessions[1].buffer
         local heads = {}
         for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
           if line:find('No heading', 1, true) then
             for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, { row - 1, 0 }, { row - 1, -1 }, { details = true })) do
               heads[#heads + 1] = tostring(mark[4].hl_group)
             end
           end
         end
         return table.concat(heads, ' ')",
        [],
    );
    assert!(!groups.as_str().expect("a text").contains("markup.heading"), "{groups}");
}

#[test]
fn calls_of_the_editors_tools_and_questions_about_them_are_in_words() {
    let args = json!({ "file": "a.rs", "line": 5, "symbol": "login" });
    let call = |id: &str, title: &str, input: Value| {
        update(
            json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "other", "status": "completed",
            "rawInput": input }),
        )
    };
    let rename = json!({ "file": "a.rs", "line": 5, "symbol": "login", "new_name": "log_in" });
    let question =
        json!({ "toolCallId": "3", "title": "mcp__neovim__rename", "kind": "edit", "rawInput": rename });
    let options = json!([{ "optionId": "a", "name": "Allow", "kind": "allow_once" }]);
    let script = steps([
        prompt(),
        call("1", "mcp__neovim__references", args.clone()),
        update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1",
            "content": [{ "type": "content", "content": { "type": "text", "text": "12 places for `login`\na.rs:5:1" } }] })),
        says("Then"),
        call(
            "2",
            "Tool: neovim/diagnostics",
            json!({ "server": "neovim", "tool": "diagnostics", "arguments": {} }),
        ),
        says("And"),
        call("4", "mcp__neovim__buffers", json!({ "command": "rm -rf /" })),
        permission("p", question, options),
        answered("p"),
        ends("end_turn"),
    ]);
    let mut chat = Scripted::new(&[], script);
    hold_pickers(&mut chat.nvim);
    chat.chat();
    chat.send("go");
    picker(&mut chat.nvim, 1);
    let prompt = chat.nvim.exec_lua("return _G.seen[1].prompt", []);
    assert!(prompt.as_str().expect("a text").contains("wants to rename `login` to `log_in`"), "{prompt}");
    choose(&mut chat.nvim, 1, Some(1));
    chat.wait_for("Done");
    let text = chat.transcript();
    for words in
        ["look up references to `login`: 12 places", "look up diagnostics", "rename `login` to `log_in`"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.contains("rm -rf /") && !text.contains("open files"), "{text}");
}

#[test]
fn the_mode_that_a_session_begins_in_is_shown_before_the_first_prompt() {
    let modes = json!({ "modes": { "currentModeId": "auto", "availableModes": [
        { "id": "default", "name": "Always ask" }, { "id": "auto", "name": "Automatic" }] } });
    let mut chat = Scripted::new(&[], opened_with(modes));
    chat.chat();
    chat.nvim.wait_for_screen("Automatic");
    assert_eq!(status(&mut chat.nvim, "state").as_deref(), Some("idle"));
    assert!(chat.record().iter().all(|message| message["method"] != "session/prompt"));
}

#[test]
fn the_help_says_that_folders_are_no_sandbox() {
    let help = include_str!("../doc/acp.txt");
    assert!(help.contains("It is no sandbox by itself."));
}

//! What agents do beyond the protocol, in a real Neovim: they run commands themselves and show them
//! all the same, let their turns be steered, and call methods that a user's Lua may serve.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, asks, ends, opened_with, prompt, says, update};

/// A session whose agent plays these steps. It has a mode to wait for; see [`pause`].
fn steps(parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mode = |id: &str| json!({ "id": id, "name": id });
    let modes = json!({ "currentModeId": "ask", "availableModes": [mode("ask"), mode("go")] });
    let mut all = opened_with(json!({ "modes": modes }));
    for part in parts {
        match part {
            Value::Array(parts) => all.extend(parts),
            part => all.push(part),
        }
    }
    all
}

/// Holds the agent until [`go_on`].
fn pause() -> Value {
    json!([{ "expect": "session/set_mode" }, { "reply": "session/set_mode", "result": {} }])
}

fn go_on(nvim: &mut Nvim) {
    nvim.command("Acp mode go");
}

// Commands that the agent runs itself.

/// An update of the tool call `c`.
fn call(fields: Value) -> Value {
    let mut all = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c" });
    for (key, value) in fields.as_object().expect("an object") {
        all[key] = value.clone();
    }
    update(all)
}

fn runs(command: &str) -> Value {
    call(json!({
        "sessionUpdate": "tool_call", "title": command, "kind": "execute", "status": "in_progress",
        "content": [{ "type": "terminal", "terminalId": "c" }],
        "_meta": { "terminal_info": { "terminal_id": "c" } },
    }))
}

fn output(text: &str) -> Value {
    call(json!({ "_meta": { "terminal_output": { "terminal_id": "c", "data": text } } }))
}

fn over(code: u8) -> Value {
    let status = if code == 0 { "completed" } else { "failed" };
    call(json!({ "status": status, "_meta": { "terminal_exit": { "terminal_id": "c", "exit_code": code } } }))
}

/// The texts of all terminals, in the order they were made.
fn terminals(nvim: &mut Nvim) -> Vec<String> {
    let code = "
        local texts = {}
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          if vim.bo[buf].filetype == 'acp-terminal' then
            local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
            table.insert(texts, vim.trim(table.concat(lines, '\\n')))
          end
        end
        return texts";
    let texts = nvim.exec_lua(code, []);
    let texts = texts.as_array().expect("a list");
    texts.iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
}

#[test]
fn a_command_that_the_agent_runs_itself_is_seen_while_it_runs() {
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            runs("make"),
            output("one\n\u{1b}[32mtwo\u{1b}[0m\n"),
            pause(),
            output("three\n"),
            over(3),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("build it");
    chat.wait_for("◐ run make\n    one\n    two");
    chat.nvim.input("<Esc><C-w>k");
    chat.nvim.exec_lua("vim.fn.search('run make', 'bw')", []);
    chat.nvim.input("<CR>");
    chat.nvim.wait_until(|nvim| terminals(nvim) == ["one\ntwo"], "the output in a terminal");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.bo.filetype", []) == "acp-terminal".into(),
        "the cursor in the terminal",
    );
    go_on(&mut chat.nvim);
    chat.nvim.wait_until(
        |nvim| terminals(nvim) == ["one\ntwo\nthree\n\n[The command ended with exit code 3]"],
        "the end of the command",
    );
    chat.wait_for("✗ run make\n    one\n    two\n    three");
}

#[test]
fn typing_into_a_command_of_the_agents_own_says_once_that_it_is_in_vain() {
    // The command asks the terminal what it is, which nobody types an answer to.
    let asks = output("\u{1b}[c\u{1b}[6nname? ");
    let mut chat = Scripted::new(&[], steps([prompt(), runs("ask"), asks, pause(), ends("end_turn")]));
    chat.chat();
    chat.send("ask me");
    chat.wait_for("name?");
    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua(
        "_G.told = {}
         vim.notify = function(text) table.insert(_G.told, text) end
         vim.cmd('Acp terminals')",
        [],
    );
    chat.nvim.wait_until(|nvim| terminals(nvim) == ["name?"], "the output in a terminal");
    // That the turn ends in another mode is told, too.
    let told = |nvim: &mut Nvim| {
        let told = "return table.concat(vim.tbl_filter(function(text)
                      return not text:find('acp: mode')
                    end, _G.told), '|')";
        nvim.exec_lua(told, [])
    };
    assert_eq!(told(&mut chat.nvim), "".into());
    chat.nvim.input("ime<CR>again");
    let text = "acp: Fake runs this command itself: what you type does not reach it";
    chat.nvim.wait_until(|nvim| told(nvim) != "".into(), "to be told");
    go_on(&mut chat.nvim);
    chat.wait_for("Done");
    assert_eq!(told(&mut chat.nvim), text.into());
}

#[test]
fn a_name_that_the_agent_uses_again_is_another_terminal() {
    let turn = |text: &str| vec![prompt(), runs("make"), output(text), over(0), ends("end_turn")];
    let mut chat = Scripted::new(&[], steps([turn("old\n"), turn("new\n")].concat()));
    chat.chat();
    chat.send("first");
    chat.wait_for("Done");
    chat.send("second");
    chat.nvim.wait_until(|nvim| terminals(nvim).len() == 2, "a terminal for each");
    chat.nvim.input("<Esc>");
    // The first call still leads to the first terminal.
    chat.nvim.exec_lua(
        "vim.fn.win_gotoid(vim.fn.bufwinid(require('acp').status().sessions[1].buffer))
         vim.fn.cursor(1, 1)
         vim.fn.search('run make')",
        [],
    );
    chat.nvim.input("<CR>");
    chat.nvim.wait_until(
        |nvim| terminals(nvim).iter().any(|text| text == "old\n\n[The command ended with exit code 0]"),
        "the first terminal's text",
    );
}

#[test]
fn a_command_that_streams_its_output_as_text_shows_the_end_of_it() {
    let text = |text: &str| json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            call(
                json!({ "sessionUpdate": "tool_call", "title": "make", "kind": "execute", "status": "pending" }),
            ),
            call(json!({ "status": "in_progress", "content": text("1\n2\n") })),
            call(json!({ "content": text("1\n2\n3\n4\n") })),
            pause(),
            call(json!({ "status": "completed", "content": text("1\n2\n3\n4\n5\n") })),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("build it");
    chat.wait_for("◐ run make\n    2\n    3\n    4\n    (4 lines in all, <CR> shows the terminal)");
    go_on(&mut chat.nvim);
    chat.wait_for("✓ run make\n\nDone");
}

// Steering.

/// The same for an agent that says it can be steered.
fn steerable(parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all = steps(parts);
    all[1]["result"]["_meta"] = json!({ "steering": { "supported": true } });
    all
}

fn steered(outcome: &str) -> Value {
    json!([{ "expect": "_session/steering" }, { "reply": "_session/steering", "result": { "outcome": outcome } }])
}

#[test]
fn a_running_turn_is_steered_by_a_key_and_by_a_command() {
    let mut chat = Scripted::new(
        &[],
        steerable([
            prompt(),
            says("Going right."),
            pause(),
            steered("injected"),
            says("Left it is."),
            steered("injected"),
            says("Faster."),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("Going right.");
    chat.nvim.wait_for_screen("<C-x><C-s> steer");
    chat.nvim.input("go left<C-x><C-s>");
    // What the agent has not taken yet is not said yet.
    chat.nvim.wait_for_screen("steering …");
    assert!(!chat.transcript().contains("go left"), "{}", chat.transcript());
    go_on(&mut chat.nvim);
    chat.wait_for("Fake\nGoing right.\n\nYou\ngo left\n\nFake\nLeft it is.");
    assert_eq!(
        chat.got("_session/steering")["params"]["prompt"],
        json!([{ "type": "text", "text": "go left" }])
    );
    chat.nvim.command("Acp send! and faster");
    chat.wait_for("You\nand faster\n\nFake\nFaster.\n\nDone");
    let prompts = chat.record().into_iter().filter(|message| message["method"] == "session/prompt");
    assert_eq!(prompts.count(), 1);
}

#[test]
fn what_the_agent_does_not_take_into_its_turn_is_its_next_prompt() {
    let mut chat = Scripted::new(
        &[],
        steerable([
            prompt(),
            steered("failed"),
            pause(),
            ends("end_turn"),
            prompt(),
            says("Left it is."),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("go");
    chat.got("session/prompt");
    chat.nvim.command("Acp send! go left");
    chat.wait_for("Warning: Couldn't steer the turn: the agent didn't take it; the prompt waits in line.");
    chat.nvim.wait_for_screen("1 waiting");
    go_on(&mut chat.nvim);
    chat.wait_for("You\ngo left\n\nFake\nLeft it is.\n\nDone");
}

#[test]
fn an_agent_that_cannot_be_steered_is_not_tried_and_the_prompt_waits() {
    let mut chat = Scripted::new(
        &[],
        steps([prompt(), pause(), ends("end_turn"), prompt(), says("Left it is."), ends("end_turn")]),
    );
    chat.chat();
    chat.send("go");
    chat.got("session/prompt");
    chat.nvim.input("go left<C-x><C-s>");
    chat.nvim.wait_for_screen("1 waiting");
    let told = chat.nvim.messages();
    assert!(told.contains("Fake can't be steered: the prompt waits in line"), "{told}");
    assert!(!chat.nvim.screen().contains("<C-x><C-s>"));
    go_on(&mut chat.nvim);
    chat.wait_for("You\ngo left\n\nFake\nLeft it is.\n\nDone");
    assert!(chat.record().iter().all(|message| message["method"] != "_session/steering"));
}

// Methods beyond the protocol.

fn calls(id: &str, method: &str, params: Value) -> Value {
    json!([asks(id, method, params), { "expect_reply": id, "to": id }])
}

#[test]
fn a_method_that_nobody_serves_is_refused_and_a_notification_passed_over() {
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            json!({ "send": { "method": "_vendor/told", "params": {} } }),
            calls("1", "_vendor/x", json!({})),
            says("Well then."),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("Well then.");
    assert_eq!(chat.answer("1")["error"]["code"], -32601);
}

#[test]
fn lua_answers_the_requests_that_it_serves() {
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            calls("1", "_vendor/x", json!({ "n": 20, "none": null, "list": ["a"] })),
            calls("2", "_vendor/nothing", json!({})),
            calls("3", "_vendor/broken", json!({})),
            calls("4", "_vendor/odd", json!({})),
            calls("5", "_vendor/empty", json!({})),
            calls("6", "_vendor/late", json!({})),
            calls("7", "_vendor/gone", json!({})),
            json!({ "send": { "method": "_vendor/told", "params": { "sessionId": "s1", "text": "psst" } } }),
            says("Thanks."),
            ends("end_turn"),
        ]),
    );
    // Before anything is loaded, as in a user's configuration.
    chat.nvim.exec_lua(
        "local acp = require('acp')
         _G.got, _G.noted = {}, {}
         vim.notify = function(text) table.insert(_G.noted, text) end
         acp.on_request('_vendor/x', function(params, session)
           table.insert(_G.got, { params, session, acp.status().sessions[1].state })
           return { n = params.n + 1, list = params.list, none = vim.NIL }
         end)
         acp.on_request('_vendor/nothing', function() end)
         acp.on_request('_vendor/broken', function() error('no such thing') end)
         acp.on_request('_vendor/odd', function() return function() end end)
         acp.on_request('_vendor/empty', function() return vim.empty_dict() end)
         acp.on_request('_vendor/gone', function() return 1 end)
         acp.on_notification('_vendor/told', function(params, session)
           table.insert(_G.got, { params.text, session })
         end)",
        [],
    );
    chat.chat();
    chat.nvim.exec_lua(
        "require('acp').on_request('_vendor/late', function() return { 'late', true } end)
         require('acp').on_request('_vendor/gone', nil)",
        [],
    );
    chat.send("go");
    chat.wait_for("Thanks.");
    assert_eq!(chat.answer("1")["result"], json!({ "n": 21, "list": ["a"], "none": null }));
    assert_eq!(chat.answer("2")["result"], Value::Null);
    assert!(chat.answer("2").get("result").is_some());
    assert_eq!(
        chat.answer("3")["error"],
        json!({ "code": -32603, "message": "the handler failed: no such thing" })
    );
    assert_eq!(chat.answer("4")["error"]["code"], -32603);
    assert_eq!(chat.answer("5")["result"], json!({}));
    assert_eq!(chat.answer("6")["result"], json!(["late", true]));
    assert_eq!(chat.answer("7")["error"]["code"], -32601);
    let got = chat.nvim.exec_lua("return vim.json.encode(_G.got)", []);
    let got: Value = serde_json::from_str(got.as_str().expect("a text")).expect("JSON");
    let params = json!({ "sessionId": "s1", "n": 20, "list": ["a"] });
    assert_eq!(got, json!([[params, 1, "working"], ["psst", 1]]));
    let noted = chat.nvim.exec_lua("return table.concat(_G.noted, '|')", []).to_string();
    assert!(
        noted.contains("the handler for _vendor/broken failed: ") && noted.contains("no such thing"),
        "{noted}"
    );
}

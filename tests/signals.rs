//! What is told outside of the chat: events and their order, the answers that Lua asks for, the status
//! line, notifications and the bell, exports.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::json;

use support::Nvim;
use support::script::{Scripted, asks, ends, opened, prompt, says, steps, update};

fn listen(nvim: &mut Nvim) {
    nvim.exec_lua(
        "_G.heard, _G.said = {}, {}
         for _, event in ipairs(require('acp').events) do
           require('acp').on(event, function(data)
             local more = data.status or data.state or data.mode or data.turn or ''
             table.insert(_G.heard, vim.trim(event:sub(4) .. ' ' .. tostring(more)))
           end)
         end
         vim.notify = function(text) table.insert(_G.said, text) end",
        [],
    );
}

fn heard(nvim: &mut Nvim) -> Vec<String> {
    let heard = nvim.exec_lua("return _G.heard", []);
    heard.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

fn said(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return vim.inspect(_G.said)", []).as_str().expect("a text").to_owned()
}

#[test]
fn events_come_in_the_order_in_which_things_happen() {
    let mut steps = opened();
    let call = |status: &str| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Run it", "kind": "execute",
            "status": status }))
    };
    steps.extend([prompt(), call("pending")]);
    steps.push(asks(
        "p1",
        "session/request_permission",
        json!({ "toolCall": { "toolCallId": "c" }, "options": [
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" }] }),
    ));
    steps.extend([json!({ "expect_reply": "p1" }), call("completed"), says("Ran."), ends("end_turn")]);
    steps.extend([prompt(), says("Again."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps);
    listen(&mut chat.nvim);
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.chat();
    chat.send("one");
    chat.nvim.wait_for_screen("waiting for you");
    chat.send("two");
    chat.nvim.exec_lua("require('acp').answer('allow')", []);
    chat.wait_for("Again.");
    chat.nvim.wait_until(|nvim| heard(nvim).contains(&"TurnEnded 2".to_owned()), "the second end");
    let heard = heard(&mut chat.nvim);
    assert_eq!(
        heard,
        [
            "StateChanged starting",
            "Opened",
            "StateChanged idle",
            "TurnStarted 1",
            "PromptSent",
            "StateChanged working",
            "ToolCall pending",
            "PermissionAsked",
            "ToolCall waiting",
            "StateChanged waiting",
            "PermissionAnswered",
            "ToolCall running",
            "StateChanged working",
            "ToolCall done",
            "TurnEnded 1",
            "TurnStarted 2",
            "TurnEnded 2",
            "StateChanged idle",
        ]
    );
}

#[test]
fn lua_gets_the_answer_to_its_own_question() {
    let mut steps = opened();
    for answer in ["First.", "Second.", "Third."] {
        steps.extend([prompt(), says(answer), ends("end_turn")]);
    }
    let mut chat = Scripted::new(&[], steps);
    chat.chat();
    let code = "_G.answers = {}
        local acp = require('acp')
        acp.send('one')
        acp.ask('two', {}, function(text, err) table.insert(_G.answers, text or err) end)
        local off = acp.ask('three', {}, function(text) table.insert(_G.answers, 'unwanted') end)
        off()
        return { acp.ask('x', { session = 99 }, print) }";
    let refused = chat.nvim.exec_lua(code, []);
    assert!(refused.to_string().contains("there is no session 99"), "{refused}");
    chat.wait_for("Third.");
    let code = "return table.concat(_G.answers, ',')";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(code, []).as_str() == Some("Second."), "the answer");
    let raised = chat.nvim.try_lua("require('acp').send(5)", []).expect_err("a wrong call to fail");
    assert!(raised.contains("the prompt should be a string, not a number"), "{raised}");
}

#[test]
fn the_end_of_a_turn_tells_what_was_said_to_all_kinds_of_listeners() {
    for pattern in ["AcpTurnEnded", "Acp*", "Acp{Turn,State}[A-Z]*", "*"] {
        let mut steps = opened();
        steps.extend([prompt(), says("Said, and "), says("done."), ends("end_turn")]);
        let mut chat = Scripted::new(&[], steps);
        chat.chat();
        chat.nvim.exec_lua(
            "vim.api.nvim_create_autocmd('User', { pattern = ..., callback = function(args)
               _G.text = args.match == 'AcpTurnEnded' and args.data.text or _G.text
             end })",
            [pattern.into()],
        );
        chat.send("go");
        let told = |nvim: &mut Nvim| nvim.exec_lua("return _G.text", []).as_str() == Some("Said, and done.");
        chat.nvim.wait_until(told, pattern);
    }
}

#[test]
fn a_status_line_is_never_empty_while_the_plugin_draws() {
    let mut steps = opened();
    steps.extend([prompt(), says("Done with it."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps);
    chat.chat();
    chat.nvim.exec_lua(
        "_G.seen = {}
         function _G.line() local text = require('acp').statusline(); _G.seen[text] = true; return text end
         vim.o.laststatus = 3
         vim.o.statusline = '%{v:lua.line()}'",
        [],
    );
    chat.nvim.wait_for_screen("Fake");
    chat.send("go");
    chat.wait_for("Done with it.");
    chat.nvim.command("Acp toggle");
    chat.nvim.command("Acp toggle");
    let seen = chat.nvim.exec_lua("return vim.inspect(vim.tbl_keys(_G.seen))", []);
    let seen = seen.as_str().expect("a text");
    assert!(!seen.contains("\"\""), "{seen}");
    assert!(seen.contains("Fake"), "{seen}");
}

#[test]
fn who_looks_at_another_program_is_told_and_rung_for() {
    let mut steps = opened();
    for answer in ["One.", "Two.", "Three."] {
        steps.extend([prompt(), says(answer), ends("end_turn")]);
    }
    let mut chat = Scripted::new(&[], steps);
    chat.configure("bell = true");
    listen(&mut chat.nvim);
    chat.chat();
    chat.send("one");
    chat.wait_for("One.");
    chat.nvim.wait_until(|nvim| heard(nvim).contains(&"TurnEnded 1".to_owned()), "the end");
    assert_eq!(said(&mut chat.nvim), "{}");
    chat.nvim.command("doautocmd FocusLost");
    chat.send("two");
    chat.nvim.wait_until(|nvim| said(nvim).contains("Fake is done"), "to be told");
    chat.nvim.wait_until(|nvim| nvim.grid().bells > 0, "the bell");
    chat.nvim.input("still typing");
    chat.nvim.wait_for_screen("still typing");
    chat.nvim.input("<C-u>");
    chat.nvim.command("doautocmd FocusGained");
    chat.send("three");
    chat.nvim.wait_until(|nvim| heard(nvim).contains(&"TurnEnded 3".to_owned()), "the end");
    assert_eq!(said(&mut chat.nvim).matches("is done").count(), 1);
}

#[test]
fn of_several_sessions_of_one_agent_a_message_names_the_one_that_it_is_about() {
    let mut steps = opened();
    steps.extend([
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s2" } }),
        prompt(),
        says("Welcome."),
        ends("end_turn"),
    ]);
    let mut chat = Scripted::new(&[], steps);
    listen(&mut chat.nvim);
    chat.chat();
    chat.second_chat();
    chat.nvim.command("Acp rename Second one");
    chat.nvim.command("doautocmd FocusLost");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.nvim.wait_until(|nvim| said(nvim).contains("Fake (Second one) is done"), "to be told");
}

#[test]
fn a_hidden_turn_that_the_user_stopped_is_not_said_to_be_done() {
    let mut chat = Scripted::new(
        &[],
        steps([prompt(), says("Going on."), json!({ "expect": "session/cancel" }), ends("cancelled")]),
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("Going on.");
    chat.nvim.listen();
    chat.nvim.command("AcpChat");
    chat.nvim.command("Acp toggle");
    chat.nvim.command("Acp cancel");
    let said = |nvim: &mut Nvim| nvim.exec_lua("return table.concat(_G.said)", []);
    chat.nvim.wait_until(|nvim| said(nvim).as_str() == Some("acp: Fake was stopped"), "to be told");
}

#[test]
fn a_conversation_is_exported_into_a_buffer_a_file_and_in_part() {
    let mut steps = opened();
    steps.extend([prompt(), says("It is **so**."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps);
    listen(&mut chat.nvim);
    chat.chat();
    chat.send("Why?");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp export");
    let text = chat.nvim.buffer_text(0);
    assert!(text.starts_with("# Why?\n\nWith Fake, in `"), "{text}");
    assert!(text.contains("## You\n\nWhy?\n\n## Fake\n\nIt is **so**.\n\n> Done \u{b7} "), "{text}");
    assert_eq!(chat.nvim.exec_lua("return vim.bo.filetype", []).as_str(), Some("markdown"));
    assert_eq!(chat.nvim.exec_lua("return vim.bo.modified", []).as_bool(), Some(false));
    assert_eq!(chat.nvim.exec_lua("return vim.fn.bufname()", []).as_str(), Some("fake chat.md"));
    chat.nvim.command("silent write");
    assert_eq!(chat.project.read("fake chat.md"), format!("{text}\n"));
    chat.nvim.command("tabclose");
    chat.nvim.command("Acp export");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.bufname()", []).as_str(), Some("fake chat 2.md"));
    chat.nvim.command("tabclose");
    chat.nvim.command("Acp export talk.md");
    chat.nvim.wait_until(|nvim| said(nvim).contains("exported to"), "to be told");
    assert_eq!(chat.project.read("talk.md"), format!("{text}\n"));
    chat.nvim.command("Acp export talk.md");
    chat.nvim.wait_until(|nvim| said(nvim).contains("exists; :Acp! export overwrites it"), "a refusal");
    chat.nvim.exec_lua(
        "local buffer = require('acp').status().sessions[1].buffer
         local first = vim.fn.search and 1
         for number, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
           if line == 'You' then first = number end
         end
         require('acp').export('talk.md', { force = true, range = { buffer = buffer, first = first, last = first } })",
        [],
    );
    assert_eq!(chat.project.read("talk.md"), "## You\n\nWhy?\n");
}

#[test]
fn an_exported_conversation_is_coloured_in_slices_whoever_wants_it_coloured() {
    // Code that no parser likes: as a whole, and by Neovim's own highlighter, it takes seconds.
    let fence = format!("```lua\n{}```\n\n*After* it.", "local s = [==[ x ]] \"y\n".repeat(1400));
    let mut steps = opened();
    steps.extend([prompt(), says(&fence), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps);
    chat.nvim.command("autocmd FileType markdown lua vim.treesitter.start()");
    chat.chat();
    chat.send("Why?");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp export");
    let own = "return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil";
    assert_eq!(chat.nvim.exec_lua(own, []).as_bool(), Some(false));
    assert_eq!(chat.nvim.exec_lua("return vim.bo.filetype", []).as_str(), Some("markdown"));
    chat.nvim.input("G");
    chat.nvim.wait_for_screen("After");
    chat.nvim.wait_until(
        |nvim| nvim.groups_of("After").iter().any(|group| group.contains("markup.italic")),
        "colours",
    );
}

#[test]
fn a_chat_closed_in_mid_turn_tells_the_end_of_its_calls_and_of_its_turn() {
    let mut steps = opened();
    let call = update(json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Run it",
        "kind": "execute", "status": "in_progress" }));
    steps.extend([prompt(), says("So far."), call, json!({ "wait_eof": true })]);
    let mut chat = Scripted::new(&[], steps);
    listen(&mut chat.nvim);
    chat.nvim.exec_lua(
        "require('acp').on('AcpTurnEnded', function(data) _G.ended = data.stop_reason .. ': ' .. data.text end)",
        [],
    );
    chat.chat();
    chat.send("go");
    chat.nvim.wait_until(|nvim| heard(nvim).contains(&"ToolCall running".to_owned()), "the call");
    chat.nvim.command("Acp close");
    chat.nvim.wait_until(|nvim| heard(nvim).contains(&"Closed".to_owned()), "the end");
    let heard = heard(&mut chat.nvim);
    assert!(
        heard.ends_with(&["ToolCall cancelled".into(), "TurnEnded 1".into(), "Closed".into()]),
        "{heard:?}"
    );
    let ended = chat.nvim.exec_lua("return _G.ended", []);
    assert_eq!(ended.as_str(), Some("cancelled: So far."));
}

#[test]
fn an_agent_that_ends_says_why_to_those_who_listen() {
    let mut steps = opened();
    steps.extend([prompt(), json!({ "stderr": "out of luck\n" }), json!({ "exit": 3 })]);
    let mut chat = Scripted::new(&[], steps);
    chat.nvim.exec_lua("require('acp').on('AcpFailed', function(data) _G.failed = data end)", []);
    chat.chat();
    chat.send("go");
    chat.nvim.wait_until(|nvim| !nvim.exec_lua("return _G.failed", []).is_nil(), "the event");
    let failed = chat.nvim.exec_lua("return _G.failed.message .. '; ' .. _G.failed.stderr[1]", []);
    assert_eq!(failed.as_str(), Some("Fake ended with exit code 3; out of luck"));
}

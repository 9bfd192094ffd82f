//! A session that is left alone: rules decide what its agent asks, and what they leave open waits without a picker or is
//! rejected; when a turn ends the chat says what came of it. The agents are scripted; the Neovim is real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::script::{Scripted, answered, awaits, ends, permission, prompt, runs, steps, update};

const RULES: &str = r#"permission = { rules = {
    { decision = "allow", command = "make **" },
    { decision = "reject", command = "git push **", reason = "nothing is pushed from here" },
} }"#;

/// Asks for permission to run a line, and goes on as it is answered.
fn asks_to_run(id: &str, line: &str) -> Vec<Value> {
    let call = json!({ "toolCallId": id, "title": line, "kind": "execute", "rawInput": { "command": line } });
    let mut announced = call.clone();
    announced["sessionUpdate"] = "tool_call".into();
    vec![update(announced), permission(&format!("p-{id}"), call), answered(&format!("p-{id}"))]
}

fn completed(id: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed" }))
}

fn chat(parts: Vec<Value>, options: &str) -> Scripted {
    let turn = [prompt()].into_iter().chain(parts).chain([ends("end_turn")]);
    let mut chat = Scripted::sized(&[("a.txt", "a\n")], steps(turn), 100, 40);
    chat.configure(options);
    chat.chat();
    chat
}

fn option(answer: &Value) -> &str {
    answer["result"]["outcome"]["optionId"].as_str().unwrap_or_default()
}

fn all_kinds_of_questions() -> Vec<Value> {
    let schema = json!({ "type": "object", "properties": { "who": { "type": "string" } } });
    let form = json!({ "mode": "form", "message": "Who is it for?", "requestedSchema": schema });
    let mut parts = asks_to_run("allowed", "make all");
    parts.push(completed("allowed"));
    parts.extend(asks_to_run("rejected", "git push origin"));
    parts.extend(asks_to_run("open", "curl example.org"));
    parts.extend(awaits("read", "fs/read_text_file", json!({ "path": "/etc/hostname" })));
    parts.extend(awaits("form", "elicitation/create", form));
    parts.extend(runs("ran", "echo hello"));
    parts
}

#[test]
fn what_rules_leave_open_is_rejected_and_the_turn_is_summed_up() {
    let options = format!("{RULES}, auto = {{ questions = 'reject', reason = 'ask me later' }}");
    let mut chat = chat(all_kinds_of_questions(), &options);
    chat.nvim.exec_lua("require('acp').on('AcpTurnEnded', function(data) _G.ended = data.auto end)", []);
    chat.nvim.command("Acp auto");
    chat.nvim.wait_for_screen("auto: rejects");
    chat.send("go");
    chat.wait_for("While left alone: 2 calls done · 2 commands · 1 allowed by rules");
    assert_eq!(option(&chat.answer("p-allowed")), "a");
    assert_eq!(option(&chat.answer("p-rejected")), "r");
    assert_eq!(option(&chat.answer("p-open")), "r");
    let refused = chat.answer("read")["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(refused.contains("the user is not there to be asked (ask me later (it is outside"), "{refused}");
    assert_eq!(chat.answer("form")["result"]["action"], "decline");
    let text = chat.transcript();
    for line in [
        "Rejected by a rule: reject command git push **",
        "Rejected by :Acp auto: ask me later (no rule is about it)",
        "Refused (4):",
        "run git push origin: reject command git push **",
        "run curl example.org: ask me later (no rule is about it)",
        "/etc/hostname: it is outside of the session's folders",
        "Who is it for?",
    ] {
        assert!(text.contains(line), "{line:?} in:\n{text}");
    }
    assert!(text.find("Refused (4):") < text.rfind("Done"), "{text}");
    let ended = chat.nvim.exec_lua("return { _G.ended.done, _G.ended.allowed, #_G.ended.refused }", []);
    assert_eq!(ended.to_string(), "[2, 1, 4]");
    // And the record knows who it was.
    chat.nvim.stop_insert();
    chat.nvim.command("Acp audit");
    chat.nvim.wait_for_screen("rejected by :Acp auto");
    chat.nvim.wait_for_screen("rejected by rule reject command git");
}

#[test]
fn what_rules_leave_open_waits_without_a_picker_and_can_be_answered_where_it_stands() {
    let parts =
        [asks_to_run("one", "make all"), asks_to_run("two", "curl a"), asks_to_run("three", "curl b")];
    // A picker would open at once.
    let mut chat = chat(parts.concat(), &RULES.replacen('{', "{ open = 'always',", 1));
    chat.nvim.command("Acp auto");
    chat.nvim.wait_for_screen("auto: waits");
    chat.nvim.exec_lua("_G.pickers = 0 vim.ui.select = function() _G.pickers = _G.pickers + 1 end", []);
    chat.send("go");
    assert_eq!(option(&chat.answer("p-one")), "a");
    chat.nvim.wait_for_screen("Allow this command?");
    chat.nvim.wait_for_screen("waiting for you");
    chat.nvim.stop_insert();
    chat.go_to("curl a");
    // A key that is on its way when the question comes is a count; this one comes later.
    chat.nvim.wait_until(
        |nvim| {
            nvim.input("<Esc>1");
            nvim.screen().contains("run curl b")
        },
        "the key to answer",
    );
    chat.nvim.input("<Esc>");
    assert_eq!(option(&chat.answer("p-two")), "a");
    assert_eq!(chat.nvim.exec_lua("return _G.pickers", []).as_i64(), Some(0));
    // The next one asks as ever once the user is back.
    chat.nvim.command("Acp auto off");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.pickers", []).as_i64() == Some(1), "a picker");
    assert!(!chat.nvim.screen().contains("auto:"), "{}", chat.nvim.screen());
}

#[test]
fn a_question_that_is_left_alone_is_opened_by_who_wants_to_answer() {
    let mut chat = chat(asks_to_run("one", "curl a"), RULES);
    chat.nvim.command("Acp auto wait");
    chat.send("go");
    chat.nvim.wait_for_screen("Allow this command?");
    chat.nvim.stop_insert();
    chat.nvim.exec_lua("vim.ui.select = function(items, _, choose) choose(items[3], 3) end", []);
    chat.nvim.command("Acp answer");
    assert_eq!(option(&chat.answer("p-one")), "r");
    chat.wait_for("run curl a: by you");
}

#[test]
fn a_change_that_is_left_alone_takes_no_window_until_somebody_wants_to_answer() {
    let diff =
        json!({ "type": "diff", "path": "$PROJECT/new.txt", "oldText": null, "newText": "one\ntwo\n" });
    let call = json!({ "toolCallId": "c1", "title": "Write new.txt", "kind": "edit", "content": [diff] });
    let mut chat = chat(vec![permission("p", call), answered("p")], "permission = { open = 'always' }");
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.nvim.command("Acp auto");
    chat.send("go");
    chat.wait_for("Allow this edit?");
    let shown = "return vim.iter(vim.api.nvim_list_wins()):any(function(win)
        return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)):find('new.txt', 1, true) ~= nil
      end)";
    assert_eq!(chat.nvim.exec_lua(shown, []).as_bool(), Some(false), "{}", chat.nvim.screen());
    chat.nvim.stop_insert();
    chat.nvim.command("Acp answer");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(shown, []).as_bool() == Some(true), "what it is about");
}

#[test]
fn what_waits_is_rejected_when_nothing_is_to_wait_any_more() {
    let mut chat =
        chat(asks_to_run("one", "curl a"), &format!("{RULES}, limits = {{ turn = {{ commands = 9 }} }}"));
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.send("go");
    chat.nvim.wait_for_screen("Allow this command?");
    chat.nvim.stop_insert();
    chat.nvim.exec_lua("assert(require('acp').auto('reject') == nil)", []);
    assert_eq!(option(&chat.answer("p-one")), "r");
    chat.wait_for("run curl a: no rule is about it");
    let auto = "return require('acp').status().sessions[1].auto";
    assert_eq!(chat.nvim.exec_lua(auto, []).as_str(), Some("reject"));
    chat.nvim.exec_lua("require('acp').auto(false)", []);
    assert!(chat.nvim.exec_lua(auto, []).is_nil());
}

#[test]
fn a_limit_holds_a_session_that_is_left_alone() {
    let parts = [asks_to_run("one", "make a"), asks_to_run("two", "make b")].concat();
    let mut chat = chat(parts, &format!("{RULES}, limits = {{ turn = {{ commands = 1 }} }}"));
    chat.nvim.command("Acp auto reject");
    chat.send("go");
    chat.wait_for("wants to run more than 1 command in this turn, your limit");
    chat.nvim.stop_insert();
    chat.nvim.wait_for_screen("1 Continue");
    chat.decide("allow");
    assert_eq!(option(&chat.answer("p-two")), "a");
    chat.wait_for("2 allowed by rules");
}

#[test]
fn a_wrong_word_and_a_missing_session_say_what_to_do() {
    let mut chat = chat(Vec::new(), "");
    let told = chat.nvim.exec_lua("return select(2, require('acp').auto('always'))", []);
    assert_eq!(told.as_str(), Some(":Acp auto takes wait, reject or off, not \"always\""));
    // It says what is missing for that.
    chat.nvim.stop_insert();
    chat.nvim.command("Acp auto");
    chat.wait_for("Left alone from here on. Your options and rules allow");
    chat.nvim.wait_for_screen("Fake: rules decide, the rest waits");
}

//! What the user has said of an agent once and for all: its title, which is shown everywhere, and what is remembered
//! for a project. The agents are scripted; the Neovims and the files are real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::path::PathBuf;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, ends, initialized, opened, permission, prompt, runs, says};

fn options(model: &str, fast: bool) -> Value {
    json!([
        { "id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": model,
            "options": [{ "value": "haiku", "name": "Haiku" }, { "value": "opus", "name": "Opus" }] },
        { "id": "fast", "name": "Fast", "type": "boolean", "currentValue": fast },
    ])
}

fn opens(id: &str) -> Vec<Value> {
    vec![
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": id, "configOptions": options("haiku", false) } }),
    ]
}

fn takes(id: &str, option: &str, value: Value, now: Value) -> Vec<Value> {
    vec![
        json!({ "expect": "session/set_config_option",
            "params": { "sessionId": id, "configId": option, "value": value } }),
        json!({ "reply": "session/set_config_option", "result": { "configOptions": now } }),
    ]
}

fn all(groups: impl IntoIterator<Item = Vec<Value>>) -> Vec<Value> {
    groups.into_iter().flatten().collect()
}

fn said(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return table.concat(_G.said, '\\n')", []).as_str().expect("a text").to_owned()
}

fn wait_said(nvim: &mut Nvim, text: &str) {
    nvim.wait_until(|nvim| said(nvim).contains(text), &format!("to be told {text:?}"));
}

fn model(nvim: &mut Nvim) -> String {
    let model = nvim.exec_lua("return require('acp').status().sessions[1].model", []);
    model.as_str().unwrap_or_default().to_owned()
}

/// Lets a test answer pickers with the item of this number, and keeps all items.
fn pick(nvim: &mut Nvim, number: u64) {
    nvim.exec_lua(
        "local number = ...
         _G.items = {}
         vim.ui.select = function(items, options, choose)
           table.insert(_G.items, options.prompt)
           vim.list_extend(_G.items, items)
           if number > 0 then choose(items[number], number) end
         end",
        [number.into()],
    );
}

fn items(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return table.concat(vim.tbl_map(tostring, _G.items), '\\n')", [])
        .as_str()
        .expect("a text")
        .to_owned()
}

fn file(nvim: &Nvim) -> PathBuf {
    nvim.home().join("state/nvim/acp/choices.json")
}

#[test]
fn a_model_is_remembered_for_the_project_in_every_neovim_until_it_is_forgotten() {
    let steps = all([
        initialized(json!({}), json!([])),
        opens("s1"),
        takes("s1", "model", json!("opus"), options("opus", false)),
        takes("s1", "fast", json!(true), options("opus", true)),
        opens("s2"),
        takes("s2", "model", json!("opus"), options("opus", false)),
        takes("s2", "fast", json!(true), options("opus", true)),
    ]);
    let mut first = Scripted::new(&[], steps);
    first.nvim.listen();
    first.chat();
    first.nvim.stop_insert();
    first.nvim.command("Acp model opus!");
    wait_said(&mut first.nvim, "Fake begins with model opus in this project");
    first.nvim.command("Acp config! fast on");
    wait_said(&mut first.nvim, "option fast true");
    first.nvim.command("AcpChat!");
    first.nvim.wait_until(|nvim| model(nvim) == "Opus", "the second session to begin with it");

    // In another Neovim, in this project and elsewhere.
    let state = first.nvim.home().join("state").to_string_lossy().into_owned();
    let here = all([
        initialized(json!({}), json!([])),
        opens("s1"),
        takes("s1", "model", json!("opus"), options("opus", false)),
        takes("s1", "fast", json!(true), options("opus", true)),
    ]);
    let beside = |steps| {
        let state = state.clone();
        Scripted::with_env(&[], steps, |_| vec![("XDG_STATE_HOME".into(), state)])
    };
    let mut second = beside(here);
    second.nvim.listen();
    second.nvim.command(&format!("cd {}", first.project.path().display()));
    second.chat();
    second.nvim.wait_until(|nvim| model(nvim) == "Opus", "the model to be set");
    second.nvim.stop_insert();
    pick(&mut second.nvim, 1);
    second.nvim.command("Acp remembered");
    wait_said(&mut second.nvim, "model of Fake is forgotten");
    let items = items(&mut second.nvim);
    assert!(
        items.contains("Fake: model opus · this project\nFake: option fast true · this project"),
        "{items}"
    );
    let path = file(&first.nvim);
    first.nvim.wait_until(
        |_| std::fs::read_to_string(&path).is_ok_and(|text| !text.contains("opus") && text.contains("fast")),
        "it to be forgotten on the disk",
    );
    let elsewhere = [initialized(json!({}), json!([])), opens("s1"), vec![prompt(), ends("end_turn")]];
    let mut third = beside(all(elsewhere));
    third.chat();
    third.send("hello");
    third.wait_for("ended without an answer");
    assert_eq!(model(&mut third.nvim), "Haiku");
    let asked = third.record().iter().any(|message| message["method"] == "session/set_config_option");
    assert!(!asked, "another project begins as the agent does");
}

#[test]
fn what_is_forgotten_by_neovims_own_picker_is_said_once() {
    let steps = all([
        initialized(json!({}), json!([])),
        opens("s1"),
        takes("s1", "model", json!("opus"), options("opus", false)),
    ]);
    let mut chat = Scripted::sized(&[], steps, 80, 24);
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.input(":Acp model opus!<CR>");
    chat.nvim.wait_for_screen("begins with model opus");
    chat.nvim.input(":Acp remembered<CR>");
    chat.nvim.wait_for_screen("Type number");
    chat.nvim.input("1<CR>");
    let text = "model of Fake is forgotten";
    let told = |nvim: &mut Nvim| nvim.screen().lines().last().is_some_and(|row| row.contains(text));
    chat.nvim.wait_until(told, "it in the last line");
    assert_eq!(chat.nvim.screen().matches(text).count(), 1, "{}", chat.nvim.screen());
}

#[test]
fn what_the_agent_refuses_is_not_remembered_and_a_broken_file_is_said() {
    let refused = json!({ "reply": "session/set_config_option",
        "error": { "code": -32602, "message": "not with your plan" } });
    let steps = all([
        initialized(json!({}), json!([])),
        opens("s1"),
        vec![json!({ "expect": "session/set_config_option" }), refused],
        takes("s1", "model", json!("opus"), options("opus", false)),
    ]);
    let mut chat = Scripted::new(&[], steps);
    std::fs::create_dir_all(file(&chat.nvim).parent().expect("a folder")).expect("a folder");
    std::fs::write(file(&chat.nvim), "{ broken").expect("a file");
    chat.nvim.listen();
    chat.chat();
    wait_said(&mut chat.nvim, "couldn't read what is remembered for projects");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp model! opus");
    chat.wait_for("not with your plan");
    // Without a ! it is for this session alone.
    chat.nvim.command("Acp model opus");
    chat.nvim.wait_until(|nvim| model(nvim) == "Opus", "the model to be set");
    assert_eq!(std::fs::read_to_string(file(&chat.nvim)).expect("a file"), "{ broken");
    chat.nvim.command("Acp model opus!");
    wait_said(&mut chat.nvim, "was broken");
    let text = std::fs::read_to_string(file(&chat.nvim)).expect("a file");
    assert!(text.contains("\"opus\""), "{text}");
    let told = chat.nvim.exec_lua("return tostring(select(2, pcall(vim.cmd, 'Acp model gpt!')))", []);
    let told = format!("{told} {}", said(&mut chat.nvim));
    assert!(told.contains("the agent has no model \"gpt!\"; it has "), "{told}");
}

#[test]
fn the_title_that_the_user_has_given_is_what_is_shown_everywhere() {
    let call = json!({ "toolCallId": "p", "title": "Delete all", "kind": "delete" });
    let steps = all([
        opened(),
        vec![
            prompt(),
            json!({ "raw": "noise\n" }),
            permission("ask", call),
            json!({ "expect_reply": "ask", "to": "ask" }),
        ],
        runs("r", "echo hello"),
        vec![says("Words."), ends("end_turn"), prompt(), json!({ "stderr": "oh no" }), json!({ "exit": 3 })],
    ]);
    let mut chat = Scripted::new(&[("a.txt", "a\n")], steps);
    chat.configure("agents = { fake = { title = 'Bob' } }");
    chat.nvim.listen();
    pick(&mut chat.nvim, 1);
    let mut shown = Vec::new();
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("Bob 1.0");
    shown.push(chat.nvim.screen());
    chat.send("go");
    chat.wait_for("Words.");
    chat.wait_for("Done");
    shown.push(chat.nvim.screen());
    chat.nvim.stop_insert();
    for command in [
        "Acp logout",
        "Acp login",
        "Acp sessions",
        "Acp delete",
        "Acp checkpoints",
        "Acp model",
        "Acp send! now",
    ] {
        // Some of them say that there is nothing to do, in the agent's name.
        chat.nvim.exec_lua("vim.cmd((...))", [command.into()]);
    }
    chat.nvim.command("Acp usage");
    chat.nvim.wait_for_screen("Usage, as agents tell it");
    shown.push(chat.nvim.buffer_text(0));
    chat.nvim.input("q");
    chat.wait_for("oh no");
    shown.push(chat.transcript());
    shown.push(chat.nvim.screen());
    chat.nvim.command("Acp export");
    shown.push(chat.nvim.buffer_text(0));
    chat.nvim.command("tabclose!");
    let line = chat.nvim.exec_lua("return require('acp').statusline()", []);
    shown.push(line.as_str().unwrap_or_default().to_owned());
    chat.nvim.command("checkhealth acp");
    let health = chat.nvim.buffer_text(0);
    shown.extend(health.lines().filter(|line| line.contains("runs as process")).map(str::to_owned));
    shown.push(items(&mut chat.nvim));
    shown.push(said(&mut chat.nvim));
    let all = shown.join("\n-----\n");
    assert!(all.contains("Bob: ") && all.contains("Bob"), "{all}");
    for line in all.lines() {
        assert!(!line.to_lowercase().contains("fake"), "{line:?} in {all}");
    }
}

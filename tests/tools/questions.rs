//! Questions that agents put to the user by a tool: answered with a picker, taken away when nobody waits for the answer
//! any more.

use serde_json::{Value, json};

use crate::client::Client;
use crate::support::Nvim;
use crate::support::script::{Scripted, ends, prompt, steps};

/// Pickers wait until they are answered by `_G.choose`.
const PICKERS: &str = "_G.asked = {}
    vim.ui.select = function(items, options, choose)
      table.insert(_G.asked, { items = items, prompt = options.prompt })
      _G.choose = function(index) choose(items[index], index) end
    end";

fn asking(parts: Vec<Value>) -> (Scripted, Client) {
    let mut chat = Scripted::new(&[], steps(parts));
    chat.chat();
    chat.nvim.exec_lua(PICKERS, []);
    let client = Client::of(&mut chat);
    (chat, client)
}

fn question(text: &str) -> Value {
    json!({ "question": text, "choices": ["this", "that"] })
}

/// Waits for the picker of this number.
fn picker(nvim: &mut Nvim, number: u64) -> Value {
    nvim.wait_until(|nvim| nvim.exec_lua("return #_G.asked", []) == number.into(), "a picker");
    let asked = nvim.exec_lua("return vim.json.encode(_G.asked[#_G.asked])", []);
    serde_json::from_str(asked.as_str().expect("a text")).expect("JSON")
}

fn choose(nvim: &mut Nvim, index: u64) {
    nvim.exec_lua("_G.choose(...)", [index.into()]);
}

/// Waits until no question waits for the user.
fn nothing_waits(chat: &mut Scripted) {
    let code = "return require('acp').status().sessions[1].state";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(code, []) != "waiting".into(), "no question to wait");
}

#[test]
fn the_answer_is_what_the_user_picks() {
    let (mut chat, mut client) = asking(Vec::new());
    let call = client.begin_call("ask_user", question("Which one?"));
    let asked = picker(&mut chat.nvim, 1);
    assert_eq!(asked["prompt"], "Fake asks: Which one?");
    assert_eq!(asked["items"], json!(["this", "that", "Decline or cancel …"]));
    choose(&mut chat.nvim, 2);
    assert_eq!(client.answer(call), ("that".to_owned(), false));
    chat.wait_for("Fake asked: Which one?");
    nothing_waits(&mut chat);

    let call = client.begin_call("ask_user", question("Again?"));
    picker(&mut chat.nvim, 2);
    chat.nvim.command("Acp answer decline");
    assert_eq!(client.answer(call), ("the user declined to answer".to_owned(), true));
    let none = json!({ "question": "Which?", "choices": [] });
    assert_eq!(client.fails("ask_user", none), "choices: expected at least 1 items");
}

#[test]
fn of_two_questions_at_once_each_has_its_own_answer() {
    let (mut chat, mut client) = asking(Vec::new());
    let first = client.begin_call("ask_user", question("First?"));
    let second = client.begin_call("ask_user", question("Second?"));
    assert!(picker(&mut chat.nvim, 1)["prompt"].to_string().contains("First?"));
    choose(&mut chat.nvim, 1);
    assert_eq!(client.answer(first), ("this".to_owned(), false));
    assert!(picker(&mut chat.nvim, 2)["prompt"].to_string().contains("Second?"));
    choose(&mut chat.nvim, 2);
    assert_eq!(client.answer(second), ("that".to_owned(), false));
}

#[test]
fn a_question_that_nobody_waits_for_any_more_goes_and_the_next_comes() {
    let (mut chat, mut client) = asking(Vec::new());
    let first = client.begin_call("ask_user", question("First?"));
    picker(&mut chat.nvim, 1);
    client.tell("notifications/cancelled", json!({ "requestId": first }));
    nothing_waits(&mut chat);
    // What the user picks now answers nothing.
    choose(&mut chat.nvim, 1);
    let second = client.begin_call("ask_user", question("Second?"));
    picker(&mut chat.nvim, 2);
    choose(&mut chat.nvim, 2);
    assert_eq!(client.answer(second), ("that".to_owned(), false));

    client.begin_call("ask_user", question("Third?"));
    picker(&mut chat.nvim, 3);
    client.bridge.kill().expect("the bridge to be killed");
    nothing_waits(&mut chat);
}

#[test]
fn a_question_ends_with_the_turn_that_it_was_asked_in() {
    let (mut chat, mut client) =
        asking(vec![prompt(), json!({ "expect": "session/cancel" }), ends("cancelled")]);
    chat.send("go");
    chat.got("session/prompt");
    let call = client.begin_call("ask_user", question("Which one?"));
    picker(&mut chat.nvim, 1);
    chat.nvim.command("Acp cancel");
    assert_eq!(client.answer(call), ("the user gave no answer".to_owned(), true));
    chat.got("session/cancel");
    nothing_waits(&mut chat);
}

#[test]
fn a_question_ends_with_the_agent() {
    let (mut chat, mut client) = asking(vec![prompt(), json!({ "expect": "session/cancel" })]);
    chat.send("go");
    chat.got("session/prompt");
    client.begin_call("ask_user", question("Which one?"));
    picker(&mut chat.nvim, 1);
    let code = "vim.uv.kill(require('acp').status().agents[1].pid, 'sigkill')";
    chat.nvim.exec_lua(code, []);
    nothing_waits(&mut chat);
    chat.wait_for("Fake was ended by SIGKILL");
}

#[test]
fn a_client_that_wants_to_know_is_told_that_a_call_is_still_at_work() {
    let (mut chat, mut client) = asking(Vec::new());
    let asked =
        json!({ "name": "ask_user", "arguments": question("Which one?"), "_meta": { "progressToken": "p" } });
    let call = client.begin("tools/call", asked);
    picker(&mut chat.nvim, 1);
    let mut last = 0.0;
    for _ in 0..2 {
        let told = client.next();
        assert_eq!(
            (&told["method"], &told["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p"))
        );
        let now = told["params"]["progress"].as_f64().expect("a number");
        assert!(now > last, "{told}");
        last = now;
    }
    choose(&mut chat.nvim, 1);
    assert_eq!(client.answer(call), ("this".to_owned(), false));
    // Of one that wants to know nothing, and of one that is over, nothing is told.
    let call = client.begin_call("ask_user", question("And now?"));
    picker(&mut chat.nvim, 2);
    choose(&mut chat.nvim, 2);
    assert_eq!(client.next()["id"], call);
}

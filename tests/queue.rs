//! Prompts that wait, in the list that has keys of its own: how it looks, that each can be edited, moved,
//! removed and sent, and that it follows the line.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::screens::{assert_looks, timeless};
use support::script::{Scripted, ends, opened, prompt, says, steps};

/// A chat at work in which these prompts wait.
fn waiting(prompts: &[&str], then: impl IntoIterator<Item = Value>, columns: u16) -> Scripted {
    let mut steps = opened();
    steps.extend([prompt(), says("At it.")]);
    steps.extend(then);
    let mut chat = Scripted::sized(&[], steps, columns, 24);
    chat.chat();
    chat.send("go");
    chat.wait_for("At it.");
    for (at, text) in prompts.iter().enumerate() {
        chat.send(text);
        chat.nvim.wait_for_screen(&format!("{} waiting", at + 1));
    }
    chat
}

fn filetype(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return vim.bo.filetype", []).as_str().unwrap_or_default().to_owned()
}

fn open(chat: &mut Scripted) {
    chat.nvim.input("<C-q>");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-queue", "the list");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
}

fn list(nvim: &mut Nvim) -> String {
    nvim.buffer_text(0)
}

#[test]
fn prompts_that_wait_are_moved_removed_and_edited_where_they_stand() {
    let then = [json!({ "expect": "session/cancel" }), ends("cancelled"), prompt(), says("Now two.")];
    let mut chat = waiting(&["one", "two", "three", "four"], then, 100);
    open(&mut chat);
    assert_eq!(list(&mut chat.nvim), " 1 one\n 2 two\n 3 three\n 4 four");
    chat.nvim.input("J");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 two\n 2 one\n 3 three\n 4 four", "one to be moved down");
    // The cursor has gone along.
    chat.nvim.input("dd");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 two\n 2 three\n 3 four", "one to be removed");
    chat.nvim.input("jK");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 two\n 2 four\n 3 three", "four to be moved up");
    // At either end nothing happens.
    chat.nvim.input("ggKGJ");
    chat.nvim.input("2G<CR>");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-prompt", "the prompt");
    chat.nvim.wait_until(|nvim| list(nvim) == "four", "four to be edited");
    chat.nvim.wait_for_screen("2 waiting (<C-q>)");
    chat.nvim.command("Acp cancel");
    chat.nvim.wait_for_screen("2 held (<C-q>)");
    open(&mut chat);
    chat.nvim.input("s");
    chat.wait_for("Now two.");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 (held) three", "what is left");
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-prompt", "the prompt");
    assert_eq!(chat.got("session/prompt")["params"]["prompt"][0]["text"], "two");
    assert_eq!(list(&mut chat.nvim), "four", "what is being typed stays");
    assert_eq!(chat.nvim.messages().trim(), "");
}

#[test]
fn the_list_follows_the_line_and_goes_when_nothing_waits_or_it_is_left() {
    let then = [json!({ "expect": "session/cancel" }), ends("cancelled"), prompt(), says("Now one.")];
    let mut chat = waiting(&["one", "two"], then, 100);
    open(&mut chat);
    chat.nvim.command("Acp cancel");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 (held) one\n 2 (held) two", "both to be held");
    chat.nvim.input("s");
    chat.wait_for("Now one.");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 (held) two", "what is left");
    chat.nvim.input("x");
    chat.nvim.wait_until(|nvim| list(nvim) == " nothing waits any more", "an empty list");
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-prompt", "the prompt");
    chat.nvim.listen();
    chat.nvim.input("<C-q>");
    let said = "return _G.said[1] or ''";
    let told = |nvim: &mut Nvim| {
        nvim.exec_lua(said, []).as_str().is_some_and(|text| text.contains("no prompt is queued"))
    };
    chat.nvim.wait_until(told, "that nothing waits");

    chat.nvim.input("i");
    chat.send("three");
    chat.nvim.wait_for_screen("1 waiting");
    open(&mut chat);
    chat.nvim.input("<C-w>w");
    let floats = "return #vim.tbl_filter(function(win)
                    return vim.api.nvim_win_get_config(win).relative ~= ''
                  end, vim.api.nvim_list_wins())";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(floats, []).as_u64() == Some(0), "the list to be gone");
    assert!(chat.nvim.screen().contains("waiting: three"));
}

#[test]
fn what_was_removed_comes_back_to_where_it_stood() {
    let mut chat = waiting(&["one", "two", "three"], [], 80);
    open(&mut chat);
    chat.nvim.input("jdd");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 one\n 2 three", "two to be removed");
    chat.nvim.wait_for_screen("u bring back");
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 one\n 2 two\n 3 three", "two to be back");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('.')", []), 2.into(), "the cursor is on it");
    assert!(!chat.nvim.screen().contains("u bring back"), "{}", chat.nvim.screen());
    chat.nvim.input("ggxxx");
    chat.nvim.wait_until(|nvim| list(nvim) == " nothing waits any more", "all to be removed");
    chat.nvim.listen();
    chat.nvim.input("x");
    let told = |nvim: &mut Nvim| {
        let said = nvim.exec_lua("return table.concat(_G.said, ' ')", []);
        said.as_str().is_some_and(|said| said.contains("no prompt is queued any more"))
    };
    chat.nvim.wait_until(told, "that there is none");
    chat.nvim.input("uu");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 two\n 2 three", "two of them to be back");
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 one\n 2 two\n 3 three", "all to be back");
    chat.nvim.input("q");
    chat.nvim.wait_for_screen("3 waiting");
}

#[test]
fn what_is_brought_back_when_the_turn_is_over_waits_for_the_user() {
    let then = [json!({ "expect": "session/cancel" }), ends("cancelled"), prompt(), says("Now one.")];
    let mut chat = waiting(&["one"], then, 100);
    open(&mut chat);
    chat.nvim.input("x");
    chat.nvim.wait_until(|nvim| list(nvim) == " nothing waits any more", "it to be removed");
    chat.nvim.command("Acp cancel");
    chat.wait_for("Cancelled");
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| list(nvim) == " 1 (held) one", "it to be back");
    chat.nvim.input("s");
    chat.wait_for("Now one.");
}

#[test]
fn stopping_the_turn_leaves_the_queue_until_the_user_sends_it() {
    let then = [
        json!({ "expect": "session/cancel" }),
        ends("cancelled"),
        prompt(),
        says("Now three."),
        ends("end_turn"),
        prompt(),
        says("Now one."),
        ends("end_turn"),
        prompt(),
        says("Now two."),
    ];
    let mut chat = waiting(&["one", "two"], then, 100);
    chat.nvim.wait_for_screen("<C-c> stop");
    chat.nvim.input("<C-c>");
    chat.wait_for("Cancelled");
    chat.nvim.wait_for_screen("2 held (<C-q>)");
    chat.nvim.wait_for_screen("held: one");
    chat.nvim.wait_for_screen("<CR> or <C-s> sends what is held");
    chat.nvim.input("three");
    chat.nvim.wait_for_screen("empty, <CR> or <C-s> sends these");
    assert_looks("states/queue-held-100x24", &timeless(&chat.nvim.screen()));
    // What is said now goes at once, and does not bring the others along.
    chat.nvim.input("<C-s>");
    chat.wait_for("Now three.");
    chat.nvim.wait_for_screen("<CR> or <C-s> sends what is held");
    assert!(!chat.transcript().contains("Now one."));
    chat.nvim.input("<C-s>");
    chat.wait_for("Now two.");
    assert!(!chat.nvim.screen().contains("held"));
    assert_eq!(chat.nvim.messages().trim(), "");
}

#[test]
fn what_starts_an_agent_again_is_said_as_the_users_key_for_it() {
    for (key, told) in [("'gR'", "gR in the chat"), ("false", ":Acp restart")] {
        let mut chat = Scripted::new(&[], steps([prompt(), json!({ "exit": 3 })]));
        chat.configure(&format!("keys = {{ restart = {key} }}"));
        chat.chat();
        chat.send("go");
        chat.wait_for("exit code 3");
        chat.send("more");
        chat.nvim.wait_for_screen(&format!("the agent is gone, your prompt stays; {told} starts it"));
    }
}

#[test]
fn what_waits_for_an_agent_that_has_ended_says_how_to_start_it_until_it_is() {
    let then = [json!({ "expect": "session/cancel" }), ends("cancelled"), json!({ "exit": 3 })];
    let mut chat = waiting(&["one"], then, 80);
    chat.nvim.wait_for_screen("<C-c> stop");
    chat.nvim.input("<C-c>");
    chat.wait_for("exit code 3");
    chat.nvim.wait_for_screen("R in the chat starts it again");
    assert!(!chat.nvim.screen().contains("sends what is held"), "{}", chat.nvim.screen());
    chat.nvim.input("<C-s>");
    chat.nvim.wait_for_screen("the agent is gone");
    assert!(!chat.nvim.screen().contains("..."), "nothing is cut: {}", chat.nvim.screen());
    assert!(chat.nvim.screen().contains("held: one"), "{}", chat.nvim.screen());
    assert!(chat.transcript().contains("starts it again"), "{}", chat.transcript());
    chat.nvim.command("Acp restart");
    chat.wait_for("Fake 1.0\n");
    chat.nvim.wait_until(
        |nvim| !nvim.screen().contains("starts it again"),
        "nothing to say that it has to be started",
    );
    chat.nvim.wait_for_screen("<CR> or <C-s> sends what is held");
    assert!(!chat.transcript().contains("starts it again"), "{}", chat.transcript());
}

#[test]
fn the_list_stands_over_the_prompt() {
    let long = "and then make sure that the test for two logins at the same time is part of the whole";
    for (columns, name) in [(80, "queue-80x24"), (200, "queue-200x24")] {
        let mut chat = waiting(&["one", long, "three"], [], columns);
        open(&mut chat);
        chat.nvim.wait_for_screen("Waiting prompts");
        assert_looks(&format!("states/{name}"), &timeless(&chat.nvim.screen()));
    }
}

/// Which prompts wait, as the list says.
fn listed(chat: &mut Scripted) -> String {
    open(chat);
    let all = list(&mut chat.nvim);
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-prompt", "the prompt");
    all
}

#[test]
fn a_prompt_that_was_edited_goes_back_to_its_place_in_the_line() {
    let mut chat = waiting(&["one", "two", "three"], [], 100);
    open(&mut chat);
    chat.nvim.input("j<CR>");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-prompt" && list(nvim) == "two", "two to be edited");
    chat.nvim.wait_for_screen("the prompt goes back to place 2 of 3");
    // It may be another text altogether.
    chat.nvim.input("<C-u>new<C-s>");
    chat.nvim.wait_for_screen("waiting: new");
    chat.nvim.stop_insert();
    assert_eq!(listed(&mut chat), " 1 one\n 2 new\n 3 three");
    assert!(!chat.nvim.screen().contains("goes back to place"), "{}", chat.nvim.screen());
    // What is typed next is a prompt like any other.
    chat.nvim.input("i");
    chat.send("four");
    chat.nvim.wait_for_screen("4 waiting");
    chat.nvim.stop_insert();
    assert_eq!(listed(&mut chat), " 1 one\n 2 new\n 3 three\n 4 four");
    assert_eq!(chat.nvim.messages().trim(), "");
}

#[test]
fn the_last_prompt_that_is_taken_back_keeps_its_place_before_those_that_come_meanwhile() {
    let mut chat = waiting(&["one", "two"], [], 100);
    chat.nvim.input("<Up>");
    chat.nvim.wait_until(|nvim| list(nvim) == "two", "two to be edited");
    chat.nvim.exec_lua("require('acp').send('three')", []);
    chat.nvim.wait_for_screen("the prompt goes back to place 2 of 3");
    chat.nvim.input("<End>!<C-s>");
    chat.nvim.wait_for_screen("waiting: two!");
    chat.nvim.stop_insert();
    assert_eq!(listed(&mut chat), " 1 one\n 2 two!\n 3 three");
}

#[test]
fn a_prompt_that_is_cleared_after_it_was_taken_out_of_the_line_is_told_where_it_is() {
    for keys in ["<Esc>dd", "<C-u><Esc>"] {
        let mut chat = waiting(&["one", "two", "three"], [], 100);
        chat.nvim.listen();
        open(&mut chat);
        chat.nvim.input("j<CR>");
        chat.nvim
            .wait_until(|nvim| filetype(nvim) == "acp-prompt" && list(nvim) == "two", "two to be edited");
        chat.nvim.input(keys);
        let told = "return table.concat(_G.said, ' ')";
        chat.nvim.wait_until(
            |nvim| {
                let said = nvim.exec_lua(told, []);
                said.as_str().is_some_and(|said| said.contains("no longer queued; <C-p> in the prompt"))
            },
            "where it is",
        );
        chat.nvim.input("ifour<C-s>");
        chat.nvim.wait_for_screen("waiting: four");
        chat.nvim.stop_insert();
        assert_eq!(listed(&mut chat), " 1 one\n 2 three\n 3 four");
        chat.nvim.input("<C-p><C-p><C-p>");
        chat.nvim.wait_until(|nvim| list(nvim) == "two", "two to be in the history");
    }
}

#[test]
fn what_became_of_a_prompt_or_a_cancel_is_said_where_the_chat_does_not_show_it() {
    let told = |nvim: &mut Nvim| {
        nvim.exec_lua("return table.concat(_G.said, '\\n')", []).as_str().unwrap_or_default().to_owned()
    };
    let wait_told = |nvim: &mut Nvim, text: &str| {
        nvim.wait_until(|nvim| told(nvim).contains(text), &format!("to be told {text:?}"));
    };
    let mut chat = waiting(&["one"], [json!({ "expect": "session/cancel" }), ends("cancelled")], 100);
    chat.nvim.listen();
    // The bar of the chat shows it.
    chat.nvim.command("Acp send two");
    chat.nvim.wait_for_screen("2 waiting");
    assert_eq!(told(&mut chat.nvim), "");
    chat.nvim.command("Acp toggle");
    chat.nvim.command("Acp send three");
    wait_told(&mut chat.nvim, "queued: it goes when the turn is over; :Acp queue");
    chat.nvim.command("Acp cancel");
    wait_told(&mut chat.nvim, "3 queued prompts are held; :Acp queue");
    let idle = |nvim: &mut Nvim| {
        nvim.exec_lua("return require('acp').status().sessions[1].state", []) == "idle".into()
    };
    chat.nvim.wait_until(idle, "the turn to be over");
    chat.nvim.command("Acp cancel");
    wait_told(&mut chat.nvim, "nothing is running");
}

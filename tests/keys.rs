//! The keys as a user has them: what the chat's lines and bars name when some are mapped otherwise or
//! switched off, and the mouse.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, answered, ends, permission, prompt, runs, says, steps, update, writes};

/// A chat whose user has these keys.
fn with_keys(files: &[(&str, &str)], steps: Vec<Value>, keys: &Value) -> Scripted {
    let mut chat = Scripted::new(files, steps);
    chat.configure(&format!("keys = vim.json.decode([[{keys}]])"));
    chat
}

/// An agent that ends in the middle of its first turn.
fn dying() -> Vec<Value> {
    steps([prompt(), says("I look"), json!({ "exit": 3 })])
}

#[test]
fn the_keys_that_are_named_are_those_that_are_mapped() {
    let keys = json!({
        "send_insert": "<C-g>", "cancel": "<C-q>", "help": false, "restart": "<F5>", "steer": false,
    });
    let mut chat = with_keys(&[], dying(), &keys);
    chat.chat();
    chat.nvim.wait_for_screen("<C-g> sends \u{b7} <C-q> stops \u{b7} :Acp keys");
    chat.nvim.wait_for_screen(" <C-g> send");
    assert!(!chat.nvim.screen().contains("g? keys"));
    chat.nvim.input("go<C-g>");
    chat.nvim.wait_for_screen("<F5> starts it again with a new session");
}

#[test]
fn without_its_keys_a_chat_names_the_commands() {
    let off = ["send", "send_insert", "cancel", "help", "restart", "toggle", "details", "go_to"];
    let keys: Value = off.iter().map(|name| ((*name).to_owned(), Value::Bool(false))).collect();
    let mut chat = with_keys(&[], dying(), &keys);
    chat.chat();
    chat.nvim.wait_for_screen(" :Acp keys");
    assert!(!chat.nvim.screen().contains("sends"));
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.nvim.wait_for_screen(":Acp restart starts it again");
}

#[test]
fn the_review_names_its_keys_as_they_are_mapped() {
    let steps =
        steps([prompt()].into_iter().chain(writes("a.txt", "2\n")).chain([says("Well."), ends("end_turn")]));
    let keys = json!({ "review_keep": "<F2>", "review_undo_all": false, "review_close": "<Esc>" });
    let mut chat = with_keys(&[("a.txt", "one\n")], steps, &keys);
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.nvim.command("stopinsert | Acp review");
    let all = "<F2> keep · gx undo · u take back · gc comment · gs send · <CR> go · g? keys";
    chat.nvim.wait_for_screen(all);
    chat.nvim.input("<F2>");
    chat.nvim.wait_for_screen("Nothing is left to decide · u takes back · <Esc> closes this");
}

/// Clicks on the first cell of a text that is on the screen.
fn click(nvim: &mut Nvim, text: &str) {
    nvim.wait_for_screen(text);
    let screen = nvim.screen();
    let found = screen.lines().enumerate().find(|(_, line)| line.contains(text));
    let (row, line) = found.unwrap_or_else(|| panic!("{text:?} is not on the screen:\n{screen}"));
    let column = line.split_once(text).map_or(0, |(before, _)| before.chars().count());
    for action in ["press", "release"] {
        let args: Vec<rmpv::Value> =
            vec!["left".into(), action.into(), "".into(), 0.into(), row.into(), column.into()];
        nvim.request("nvim_input_mouse", args).expect("a click");
    }
}

fn clickable() -> Vec<Value> {
    let edit = json!({
        "sessionUpdate": "tool_call", "toolCallId": "1", "title": "edit a.txt", "kind": "edit",
        "status": "completed",
        "content": [{ "type": "diff", "path": "$PROJECT/a.txt", "oldText": "one\ntwo\n", "newText": "one\n2\n" }],
    });
    let read = |id: &str| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("Read {id}.rs"),
            "kind": "read", "status": "completed" }))
    };
    steps([prompt(), update(edit), read("x"), read("y"), says("See a.txt:2 there."), ends("end_turn")])
}

/// A chat that is clicked in, after a turn; see [`clickable`].
fn clicked(text: &str, keys: &Value) -> Scripted {
    let mut chat = with_keys(&[("a.txt", text)], clickable(), keys);
    chat.nvim.command("set mouse=a");
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.nvim.input("<Esc>");
    chat
}

#[test]
fn a_click_opens_what_is_folded_and_goes_where_a_line_leads() {
    let mut chat = clicked("one\n2\nthree\n", &json!({}));
    click(&mut chat.nvim, "edit a.txt");
    chat.nvim.wait_for_screen("    + 2");
    // A line of what it opened to leads to the file.
    click(&mut chat.nvim, "    + 2");
    let place = "return ('%s:%d'):format(vim.fn.expand('%:t'), vim.fn.line('.'))";
    let at = |nvim: &mut Nvim| nvim.exec_lua(place, []).as_str().unwrap_or_default().to_owned();
    chat.nvim.wait_until(|nvim| at(nvim) == "a.txt:2", "the line in the file");
    chat.nvim.command("wincmd p");
    click(&mut chat.nvim, "edit a.txt");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("    + 2"), "the call to be folded");
    click(&mut chat.nvim, "read twice");
    chat.nvim.wait_for_screen("Read x.rs");
    click(&mut chat.nvim, "a.txt:2 there");
    chat.nvim.wait_until(|nvim| at(nvim) == "a.txt:2", "the line in the file again");
    // Words lead nowhere, and nothing is said of it.
    chat.nvim.command("wincmd p");
    click(&mut chat.nvim, "Fake 1.0");
    let line = "return vim.api.nvim_get_current_line()";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(line, []) == "Fake 1.0".into(), "the line in the chat");
    assert_eq!(chat.nvim.messages(), "");
}

#[test]
fn a_click_that_comes_from_another_window_only_goes_to_the_chat() {
    let mut chat = clicked("one\n2\nthree\n", &json!({}));
    chat.nvim.command("wincmd h | edit a.txt");
    click(&mut chat.nvim, "edit a.txt");
    let here = "return vim.bo.filetype .. ' ' .. vim.api.nvim_get_current_line()";
    let on_the_call = |nvim: &mut Nvim| {
        nvim.exec_lua(here, [])
            .as_str()
            .is_some_and(|text| text.starts_with("acp ") && text.ends_with("edit a.txt"))
    };
    chat.nvim.wait_until(on_the_call, "the cursor where it was clicked");
    // What the click would have opened would be there by now: the second one comes after it.
    click(&mut chat.nvim, "read twice");
    chat.nvim.wait_for_screen("Read x.rs");
    assert!(!chat.nvim.screen().contains("    + 2"), "{}", chat.nvim.screen());
    // From the prompt, which belongs to it, one click is enough.
    chat.nvim.command("wincmd j");
    click(&mut chat.nvim, "edit a.txt");
    chat.nvim.wait_for_screen("    + 2");
}

#[test]
fn a_click_can_be_switched_off() {
    let mut chat = clicked("one\n2\n", &json!({ "click": "<2-LeftMouse>" }));
    click(&mut chat.nvim, "edit a.txt");
    // Once more than the time for two clicks later, so that these are two.
    chat.nvim.command("set mousetime=0");
    assert!(!chat.nvim.screen().contains("    + 2"));
    let here = "return vim.api.nvim_get_current_line()";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(here, []).as_str().is_some_and(|line| line.contains("edit a.txt")),
        "the cursor where it was clicked",
    );
    assert!(!chat.nvim.screen().contains("    + 2"));
    chat.nvim.command("set mousetime=5000");
    click(&mut chat.nvim, "edit a.txt");
    click(&mut chat.nvim, "edit a.txt");
    chat.nvim.wait_for_screen("    + 2");
}

#[test]
fn an_interrupt_in_neovims_own_picker_stops_the_turn_and_shows_no_stack() {
    let steps = steps([
        prompt(),
        permission("p", json!({ "toolCallId": "1", "title": "Do it", "kind": "execute" })),
        json!({ "expect": "session/cancel" }),
        ends("cancelled"),
    ]);
    let mut chat = with_keys(&[], steps, &json!({}));
    chat.chat();
    chat.send("go");
    chat.wait_for("Allow this command?");
    chat.nvim.input("<Esc>");
    chat.nvim.wait_for_screen("Type number and <Enter>");
    chat.nvim.input("<C-c>");
    chat.wait_for("Cancelled");
    let messages = chat.nvim.exec_lua("return vim.fn.execute('messages')", []);
    let messages = messages.as_str().unwrap_or_default();
    assert!(!messages.contains("stack traceback") && !messages.contains("picker failed"), "{messages}");
}

#[test]
fn a_macro_that_is_recorded_in_the_chat_is_ended_by_its_key_which_hides_nothing() {
    let mut chat = Scripted::new(&[], steps([]));
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.input("qa<C-w>k");
    let recording = "return vim.fn.reg_recording()";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(recording, []) == "a".into(), "a macro that is recorded");
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(recording, []) == "".into(), "the end of the macro");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.getreg('a')", []), "\u{17}k".into());
    assert!(chat.nvim.screen().contains("acp://fake chat"), "{}", chat.nvim.screen());
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("acp://fake chat"), "the chat to be hidden");
}

#[test]
fn a_small_page_says_its_keys_and_stays() {
    let mut chat = Scripted::new(&[], steps([prompt()]));
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("Acp usage");
    chat.nvim.wait_for_screen("Usage, as agents tell it");
    chat.nvim.input("g?");
    chat.nvim.wait_for_screen("q or <Esc> closes this page");
    assert!(chat.nvim.screen().contains("Usage, as agents tell it"));
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("Usage, as agents"), "the page to close");
}

#[test]
fn a_page_of_keys_that_is_longer_than_the_screen_says_how_to_see_the_rest() {
    let mut chat = Scripted::sized(&[], steps([prompt()]), 60, 14);
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("ready");
    chat.nvim.input("<Esc>g?");
    chat.nvim.wait_for_screen("g? all keys");
    assert!(!chat.nvim.screen().contains("scroll"), "all of it is there:\n{}", chat.nvim.screen());
    chat.nvim.input("g?");
    chat.nvim.wait_for_screen("j, k and <C-d> scroll \u{b7} q closes");
    chat.nvim.input("G");
    chat.nvim.wait_for_screen(":help acp");
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("scroll"), "the page to close");
}

/// A chat whose agent asks one question, which has no picker, with the mouse on.
fn asked_with_mouse(options: &[(&str, &str)]) -> Scripted {
    let call = json!({ "toolCallId": "1", "title": "Do it", "kind": "execute" });
    let mut ask = permission("p", call);
    ask["send"]["params"]["options"] = options
        .iter()
        .map(|(id, name)| json!({ "optionId": id, "name": name, "kind": "allow_once" }))
        .collect();
    let mut chat =
        Scripted::new(&[], steps([prompt(), ask, answered("p"), says("Answered."), ends("end_turn")]));
    chat.nvim.command("set mouse=a");
    chat.nvim.exec_lua(
        "_G.pickers = 0
         vim.ui.select = function(_, _, choose)
           _G.pickers = _G.pickers + 1
           vim.schedule(choose)
         end",
        [],
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("1 ");
    chat.nvim.stop_insert();
    chat.nvim.wait_for_screen("waiting for you");
    chat
}

#[test]
fn a_click_on_an_answer_gives_it_as_its_key_would() {
    // What an agent calls one answer may look like another.
    let options = [("a", "Left"), ("b", "Right 3 allow once: Other"), ("c", "Other")];
    for (text, expected) in [("2 allow", "b"), ("3 allow", "b"), ("Left", "a")] {
        let mut chat = asked_with_mouse(&options);
        chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.pickers", []) == 1.into(), "a picker");
        click(&mut chat.nvim, text);
        assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], expected, "{text}");
        chat.wait_for("Answered.");
    }
}

#[test]
fn a_click_on_an_answer_counts_while_one_types_into_the_prompt_too() {
    let mut chat = asked_with_mouse(&[("a", "Left"), ("b", "Right")]);
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.pickers", []) == 1.into(), "a picker");
    go_to_window(&mut chat.nvim, "acp-prompt");
    chat.nvim.input("ione more");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "to be typing");
    click(&mut chat.nvim, "2 allow");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "b");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "not to be typing");
}

#[test]
fn a_click_beside_the_answers_and_one_on_the_state_in_the_bar_open_the_question() {
    for text in ["Allow this command?", "waiting for you"] {
        let mut chat = asked_with_mouse(&[("a", "Left"), ("b", "Right")]);
        let pickers =
            |nvim: &mut Nvim, count: u64| nvim.exec_lua("return _G.pickers", []).as_u64() == Some(count);
        chat.nvim.wait_until(|nvim| pickers(nvim, 1), "a picker");
        click(&mut chat.nvim, text);
        chat.nvim.wait_until(|nvim| pickers(nvim, 2), "another one");
        assert!(!chat.record().iter().any(|line| line["id"] == "p"), "it is open");
    }
}

/// An agent that has changed a file and run a command, asks for a file that is new, and has two prompts waiting.
fn with_all_windows() -> Scripted {
    let diff = json!([{ "type": "diff", "path": "$PROJECT/b.txt", "oldText": null, "newText": "more\nthan\ntwo\n" }]);
    let call = json!({ "toolCallId": "e", "title": "Make b.txt", "kind": "edit", "content": diff });
    let turn = [prompt()].into_iter().chain(writes("a.txt", "2\n")).chain(runs("c", "echo hi"));
    let turn = turn.chain([says("Well."), permission("p", call)]);
    let mut chat = Scripted::sized(&[("a.txt", "one\n")], steps(turn), 120, 40);
    chat.configure("permission = { rules = { { decision = 'allow', command = 'echo **' } } }");
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("go");
    chat.wait_for("Allow this edit?");
    chat.send("one");
    chat.nvim.wait_for_screen("1 waiting");
    chat.send("two");
    chat.nvim.wait_for_screen("2 waiting");
    chat.nvim.stop_insert();
    chat
}

/// Goes to the window that shows a buffer of this type, once there is one.
fn go_to_window(nvim: &mut Nvim, filetype: &str) {
    let go = "for _, win in ipairs(vim.api.nvim_list_wins()) do
                if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == ... then
                  vim.api.nvim_set_current_win(win)
                  return true
                end
              end";
    nvim.wait_until(|nvim| nvim.exec_lua(go, [filetype.into()]).as_bool() == Some(true), filetype);
}

#[test]
fn each_window_says_what_can_be_done_in_it_and_is_there_afterwards() {
    const TABLE: &str = "all keys \u{b7} :Acp lists the commands";
    let mut chat = with_all_windows();
    for (command, filetype, word) in [
        ("", "acp-prompt", "add context"),
        ("", "acp", "open or fold"),
        ("", "acp-proposal", "open the question"),
        ("Acp terminal", "acp-terminal", "go to the file"),
        ("Acp review", "acp-review", "take back a decision"),
        ("Acp agents", "acp-agents", "fetch the registry"),
        ("Acp inspect", "acp-messages", "request or answer"),
        ("Acp audit", "acp-audit", "rejected or failed only"),
        ("Acp permissions", "acp-permissions", "bring back"),
        ("edit a.txt | Acp comment", "acp-comment", "keep as a draft"),
        ("<C-q>", "acp-queue", "bring back"),
    ] {
        match command {
            "" => go_to_window(&mut chat.nvim, filetype),
            "<C-q>" => {
                go_to_window(&mut chat.nvim, "acp-prompt");
                chat.nvim.input(command);
            }
            command => chat.nvim.command(command),
        }
        let here = |nvim: &mut Nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() == Some(filetype);
        chat.nvim.wait_until(here, &format!("to be in {filetype}"));
        chat.nvim.stop_insert();
        chat.nvim.input("g?");
        chat.nvim.wait_for_screen(TABLE);
        assert!(chat.nvim.screen().contains(word), "{filetype}:\n{}", chat.nvim.screen());
        chat.nvim.input("q");
        chat.nvim.wait_until(here, &format!("to be in {filetype} again"));
        chat.nvim.wait_until(|nvim| !nvim.screen().contains(TABLE), "the table to be gone");
    }
}

#[test]
fn in_a_file_that_an_agent_has_changed_the_keys_are_those_for_changes() {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\nTWO\n"));
    all.push(ends("end_turn"));
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], steps(all));
    chat.change_beside("a.txt");
    chat.nvim.wait_for_screen("- two");
    chat.nvim.command("Acp keys");
    chat.nvim.wait_for_screen(":Acp keep");
    let screen = chat.nvim.screen();
    assert!(screen.contains("]c") && !screen.contains("In the queue"), "{screen}");
}

#[test]
fn the_page_of_commands_says_its_keys() {
    let mut chat = Scripted::new(&[], steps([prompt()]));
    chat.nvim.command("Acp");
    chat.nvim.wait_for_screen("<CR> runs it");
    chat.nvim.input("g?");
    chat.nvim.wait_for_screen("<Tab> and <S-Tab> move");
    assert!(chat.nvim.screen().contains("<CR> runs it"), "{}", chat.nvim.screen());
}

//! Files that buffers hold, written by agents while the user works in them: through the client, and on
//! the disk behind Neovim's back. What the user typed, where marks and folds stand, what undo brings
//! back and what Neovim asks is what counts here.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, answered, asks, ends, opened, permission, prompt, says, update};

/// A turn with these steps for each of the lists.
fn turns<const N: usize>(turns: [Vec<Value>; N]) -> Vec<Value> {
    let mut all = opened();
    for steps in turns {
        all.push(prompt());
        all.extend(steps);
        all.extend([says("Well."), ends("end_turn")]);
    }
    all
}

fn read(id: &str, path: &str) -> Vec<Value> {
    vec![asks(id, "fs/read_text_file", json!({ "path": format!("$PROJECT/{path}") })), answered(id)]
}

fn write(id: &str, path: &str, content: &str) -> Vec<Value> {
    vec![
        asks(id, "fs/write_text_file", json!({ "path": format!("$PROJECT/{path}"), "content": content })),
        json!({ "expect_reply": id, "to": id, "timeout_ms": 60_000 }),
    ]
}

/// A call that has changed a file without the client's help.
fn edited(path: &str) -> Vec<Value> {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "edit", "title": "Edit", "kind": "edit",
        "status": "in_progress", "locations": [{ "path": format!("$PROJECT/{path}") }] });
    let done = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "edit", "status": "completed" });
    vec![update(call), update(done)]
}

/// Runs a turn to its end.
fn turn(chat: &mut Scripted, number: usize) {
    chat.nvim.command("AcpChat");
    chat.nvim.command("startinsert");
    chat.send("go");
    let done = "local chat = require('acp').status().sessions[1]
                local all = table.concat(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false), '\\n')
                return select(2, all:gsub('Done · ', ''))";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(done, []).as_u64() == Some(number as u64),
        &format!("turn {number} to end"),
    );
}

/// Opens a file in the first window and gives its buffer.
fn open(nvim: &mut Nvim, path: &str) -> u64 {
    nvim.command(&format!("edit {path}"));
    nvim.exec_lua("return vim.api.nvim_get_current_buf()", []).as_u64().expect("a number")
}

fn modified(nvim: &mut Nvim, buf: u64) -> bool {
    nvim.exec_lua("return vim.bo[...].modified", [buf.into()]).as_bool().expect("true or false")
}

/// Has the window with the buffer be the current one, in normal mode.
fn go_to(nvim: &mut Nvim, buf: u64) {
    nvim.input("<Esc>");
    nvim.exec_lua(
        "vim.cmd.stopinsert() vim.api.nvim_set_current_win(vim.fn.win_findbuf(...)[1])",
        [buf.into()],
    );
    nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
}

/// Lets pickers be answered from here: what was offered is kept, and chosen by its number.
fn catch_pickers(nvim: &mut Nvim) {
    nvim.exec_lua(
        "_G.seen = {}
         vim.ui.select = function(items, options, choose)
           table.insert(_G.seen, options.prompt .. ': ' .. table.concat(items, ', '))
           _G.choose = function(number) choose(items[number], number) end
         end",
        [],
    );
}

/// The user changes a line that the agent is about to write, too.
fn change_and_send(chat: &mut Scripted, buf: u64) {
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ccmine<Esc>");
    chat.nvim.command("AcpChat");
    chat.nvim.command("startinsert");
    chat.send("go");
    // A conflict comes of what the user has typed: it does not open while they type on.
    chat.nvim.stop_insert();
}

/// The user has `a.txt` open, and the agent's first turn is over; pickers from now on are the test's.
fn begun(chat: &mut Scripted) -> u64 {
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    catch_pickers(&mut chat.nvim);
    turn(chat, 1);
    buf
}

/// The same after a second turn, before which the user has changed the first line and not saved it.
fn with_unsaved_edits(chat: &mut Scripted) -> u64 {
    let buf = begun(chat);
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ccmine<Esc>");
    chat.nvim.wait_until(|nvim| modified(nvim, buf), "unsaved edits");
    turn(chat, 2);
    buf
}

fn wait_for_picker(nvim: &mut Nvim) -> String {
    nvim.wait_until(|nvim| nvim.exec_lua("return #_G.seen", []).as_u64() > Some(0), "a picker");
    nvim.exec_lua("return table.remove(_G.seen)", []).as_str().expect("a text").to_owned()
}

// An agent reads through the client.

#[test]
fn each_read_is_of_what_the_buffer_holds_now() {
    let ids = ["typed", "again", "noeol", "undone", "written", "swapped"];
    let reads = |id| match id {
        "written" => [write("w", "a.txt", "ONE\nTWO\n"), read(id, "a.txt")].concat(),
        _ => read(id, "a.txt"),
    };
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], turns(ids.map(reads)));
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    let between = [
        "vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'ONE' })",
        "",
        "vim.bo.fixendofline, vim.bo.endofline = false, false",
        "vim.cmd.undo()",
        "vim.bo.endofline = true",
        "vim.cmd('silent 2move 0')",
    ];
    let texts = ["ONE\ntwo\n", "ONE\ntwo\n", "ONE\ntwo", "one\ntwo", "ONE\nTWO\n", "TWO\nONE\n"];
    for (number, ((id, code), text)) in ids.into_iter().zip(between).zip(texts).enumerate() {
        go_to(&mut chat.nvim, buf);
        chat.nvim.exec_lua(code, []);
        turn(&mut chat, number + 1);
        assert_eq!(chat.answer(id)["result"]["content"], text, "{id}");
    }
}

// An agent writes through the client.

#[test]
fn what_the_user_typed_since_the_agent_read_the_file_stays() {
    let steps = turns([read("r", "a.txt"), write("w", "a.txt", "one\ntwo\nTHREE\n")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\n")], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ggcwONE<Esc>");
    turn(&mut chat, 2);
    assert_eq!(chat.answer("w")["result"], json!({}));
    assert_eq!(chat.nvim.buffer_text(buf), "ONE\ntwo\nTHREE");
    assert!(modified(&mut chat.nvim, buf));
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\nthree\n");
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("u");
    chat.nvim
        .wait_until(|nvim| nvim.buffer_text(buf) == "ONE\ntwo\nthree", "the agent's change to be undone");
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == "one\ntwo\nthree", "the user's change to be undone");
}

#[test]
fn an_agent_that_writes_again_without_reading_does_not_drop_what_was_merged() {
    let steps = turns([
        read("r", "a.txt"),
        write("w1", "a.txt", "one\ntwo\nTHREE\n"),
        write("w2", "a.txt", "one\ntwo\nTHREE\nfour\n"),
    ]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\n")], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ggcwONE<Esc>");
    turn(&mut chat, 2);
    turn(&mut chat, 3);
    assert_eq!(chat.nvim.buffer_text(buf), "ONE\ntwo\nTHREE\nfour");
}

/// Has the user put a line back that the agent has changed, and save.
fn put_back(chat: &mut Scripted, buf: u64) {
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("2Gcctwo<Esc>:silent write<CR>");
    let path = chat.project.file("a.txt");
    chat.nvim.wait_until(
        |_| std::fs::read_to_string(&path).is_ok_and(|text| text == "one\ntwo\nthree\nfour\n"),
        "the line to be put back and saved",
    );
}

#[test]
fn an_agent_that_has_read_the_disk_by_itself_meets_no_conflict() {
    // It writes beside the line that the user has put back, and the line itself after it said that it has read it.
    let reads = |status: &str| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": "read", "title": "Read", "kind": "read",
            "status": status, "locations": [{ "path": "$PROJECT/a.txt" }] }))
    };
    let steps = turns([
        write("w1", "a.txt", "one\nTWO\nthree\nfour\n"),
        write("w2", "a.txt", "one\ntwo\nTHREE\nfour\n"),
        write("w3", "a.txt", "one\nTWO\nTHREE\nfour\n"),
        [vec![reads("in_progress"), reads("completed")], write("w4", "a.txt", "one\nTwo\nthree\nfour\n")]
            .concat(),
    ]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\nfour\n")], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    put_back(&mut chat, buf);
    turn(&mut chat, 2);
    assert_eq!(chat.answer("w2")["result"], json!({}));
    assert_eq!(chat.nvim.buffer_text(buf), "one\ntwo\nTHREE\nfour");
    turn(&mut chat, 3);
    assert_eq!(chat.nvim.buffer_text(buf), "one\nTWO\nTHREE\nfour");
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("3Gccthree<Esc>");
    put_back(&mut chat, buf);
    turn(&mut chat, 4);
    assert_eq!(chat.answer("w4")["result"], json!({}));
    assert_eq!(chat.nvim.buffer_text(buf), "one\nTwo\nthree\nfour");
    assert_eq!(chat.project.read("a.txt"), "one\nTwo\nthree\nfour\n");
}

#[test]
fn what_changed_on_the_disk_before_the_chat_began_is_kept_or_seen_to_go() {
    let steps = turns([write("w", "a.txt", "ONE\ntwo\nthree\n")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\n")], steps);
    open(&mut chat.nvim, "a.txt");
    // Nothing has Neovim look at the file.
    chat.project.write("a.txt", "one\ntwo\nthree\nfour\n");
    chat.chat();
    turn(&mut chat, 1);
    chat.nvim.stop_insert();
    chat.nvim.command("Acp undo! all");
    chat.nvim.wait_until(|_| chat.project.read("a.txt") == "one\ntwo\nthree\nfour\n", "the text of before");
}

#[test]
fn what_an_agent_wrote_on_the_disk_it_may_take_back_through_the_editor() {
    let path = json!([{ "path": "$PROJECT/a.txt" }]);
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "edit", "title": "Edit", "kind": "edit",
        "status": "in_progress", "locations": path });
    let done = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "edit", "status": "completed" });
    let asks = permission("p", json!({ "toolCallId": "other", "title": "Other", "kind": "other" }));
    let steps = turns([
        write("w1", "a.txt", "one\ntwo\nthree\n"),
        vec![update(call), asks, answered("p"), update(done)],
        write("w2", "a.txt", "one\ntwo\nthree\n"),
    ]);
    let mut chat = Scripted::new(&[("a.txt", "one\n")], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    catch_pickers(&mut chat.nvim);
    chat.nvim.exec_lua("require('acp').send('go')", []);
    wait_for_picker(&mut chat.nvim);
    chat.project.write("a.txt", "one\nTWO\nthree\n");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == "one\nTWO\nthree", "what is on the disk");
    chat.nvim.exec_lua("_G.choose(1)", []);
    chat.wait_for("Well.");
    turn(&mut chat, 3);
    assert_eq!(chat.nvim.buffer_text(buf), "one\ntwo\nthree");
}

#[test]
fn an_agent_has_not_seen_a_file_that_was_taken_away_and_put_back_while_it_worked() {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "edit", "title": "Edit", "kind": "edit",
        "status": "in_progress", "locations": [{ "path": "$PROJECT/a.txt" }] });
    let asks = |id| {
        let call = json!({ "toolCallId": id, "title": "Other", "kind": "other" });
        vec![permission(id, call), answered(id)]
    };
    let written = write("w", "a.txt", "theirs\ntwo\n");
    let steps = turns([
        vec![],
        read("r", "a.txt"),
        [asks("before"), vec![update(call)], asks("while"), written].concat(),
    ]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], steps);
    let buf = with_unsaved_edits(&mut chat);
    assert_eq!(chat.answer("r")["result"]["content"], "mine\ntwo\n");
    chat.nvim.stop_insert();
    chat.nvim.exec_lua("require('acp').send('go')", []);
    wait_for_picker(&mut chat.nvim);
    std::fs::remove_file(chat.project.file("a.txt")).expect("a file");
    chat.nvim.wait_for_screen("deleted on the disk");
    chat.nvim.exec_lua("_G.choose(1)", []);
    wait_for_picker(&mut chat.nvim);
    chat.project.write("a.txt", "one\ntwo\n");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("deleted on the disk"), "the mark to go");
    chat.nvim.exec_lua("_G.choose(1)", []);
    chat.nvim
        .wait_until(|nvim| nvim.buffer_text(buf) == "theirs\ntwo", "what the agent made of the user's line");
    assert_eq!(chat.answer("w")["result"], json!({}));
}

#[test]
fn what_the_user_has_saved_is_not_dropped_by_an_agent_that_writes_its_own_text_again() {
    let steps = turns([
        write("w1", "a.txt", "one\nTWO\nthree\nfour\n"),
        write("w2", "a.txt", "one\nTWO\nthree\nFOUR\n"),
    ]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\nfour\n")], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    put_back(&mut chat, buf);
    turn(&mut chat, 2);
    assert_eq!(chat.answer("w2")["result"], json!({}));
    assert_eq!(chat.nvim.buffer_text(buf), "one\ntwo\nthree\nFOUR");
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\nthree\nFOUR\n");
}

#[test]
fn a_file_that_the_plugin_opens_has_the_name_that_edit_would_give_it() {
    // One that could be taken for an address stays whole.
    for (path, wanted) in [("src/b.txt", "src/b.txt"), ("src/a:b.txt", "/.../a:b.txt")] {
        let mut chat = Scripted::new(&[(path, "one\n")], turns([write("w", path, "new\n")]));
        chat.chat();
        turn(&mut chat, 1);
        chat.nvim.command("Acp diff");
        let names = "local names = vim.tbl_map(vim.fn.bufname, vim.api.nvim_list_bufs())
            names = vim.tbl_filter(function(name) return name:find('^[^a].*b.txt$') end, names)
            return table.concat(vim.tbl_map(function(name) return (name:gsub('^/.*/', '/.../')) end, names), ' ')";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(names, []) == wanted.into(), wanted);
    }
}

#[test]
fn lines_that_both_changed_are_shown_and_decided_by_the_user() {
    for (number, expected, told) in [
        (1, "agent's\ntwo", "you took Fake's in 1 place"),
        (2, "mine\ntwo", "you kept yours in 1 place"),
        (
            3,
            "<<<<<<< mine\nmine\n=======\nagent's\n>>>>>>> Fake\ntwo",
            "you have both, with conflict markers, in 1 place",
        ),
    ] {
        let steps = turns([read("r", "a.txt"), write("w", "a.txt", "agent's\ntwo\n")]);
        let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], steps);
        let buf = begun(&mut chat);
        change_and_send(&mut chat, buf);
        let offered = wait_for_picker(&mut chat.nvim);
        assert!(offered.contains("a.txt") && offered.contains("Take Fake's, Keep mine"), "{offered}");
        chat.nvim.wait_for_screen("╭ Fake's");
        let screen = chat.nvim.screen();
        let left: Vec<&str> =
            screen.lines().take(5).map(|line| line.split('│').next().unwrap_or("").trim()).collect();
        assert_eq!(left, ["mine ← yours", "╭ Fake's", "+ agent's", "╰", "two"]);
        assert_eq!(chat.nvim.buffer_text(buf), "mine\ntwo", "nothing is changed before it is decided");
        chat.nvim.exec_lua("_G.choose(...)", [number.into()]);
        assert_eq!(chat.answer("w")["result"], json!({}));
        assert_eq!(chat.nvim.buffer_text(buf), expected);
        chat.nvim.wait_until(|nvim| !nvim.screen().contains("╭ Fake's"), "the other side to be put away");
        chat.wait_for(&format!("a.txt: {told}"));
        let is_in_buffer = chat.transcript().contains("the agent's change is in the buffer, not saved yet");
        assert_eq!(is_in_buffer, number != 2, "{}", chat.transcript());
        assert!(!chat.transcript().contains("waits for you"), "{}", chat.transcript());
        // The record says what was decided, and not only that it was allowed.
        chat.nvim.command("stopinsert | Acp audit");
        chat.nvim.wait_for_screen(told);
    }
}

#[test]
fn a_place_that_is_asked_about_is_on_the_screen_and_the_window_shows_afterwards_what_it_did() {
    let text = |lines: [&str; 2]| -> String {
        let line = |number: usize| match number {
            60 => format!("{}\n", lines[0]),
            150 => format!("{}\n", lines[1]),
            _ => format!("line {number}\n"),
        };
        (1..=200).map(line).collect()
    };
    let (old, new) = (text(["line 60", "line 150"]), text(["agent's 60", "agent's 150"]));
    for is_own in [true, false] {
        let steps = turns([read("r", "a.txt"), write("w", "a.txt", &new)]);
        let mut chat = Scripted::sized(&[("a.txt", &old)], steps, 80, 24);
        let buf = open(&mut chat.nvim, "a.txt");
        chat.chat();
        if !is_own {
            catch_pickers(&mut chat.nvim);
        }
        turn(&mut chat, 1);
        go_to(&mut chat.nvim, buf);
        // One of them in a fold.
        chat.nvim.input("60Gccmine 60<Esc>150Gccmine 150<Esc>:148,152fold<CR>10Gzt");
        let view = "return vim.inspect(vim.api.nvim_win_call(vim.fn.bufwinid('a.txt'), vim.fn.winsaveview))";
        let before = chat.nvim.exec_lua(view, []);
        chat.nvim.command("AcpChat");
        chat.nvim.command("startinsert");
        chat.send("go");
        chat.nvim.stop_insert();
        let sees = |nvim: &mut Nvim, number: usize| {
            let screen = nvim.screen();
            [format!("mine {number}"), format!("agent's {number}")].iter().all(|text| screen.contains(text))
        };
        chat.nvim.wait_until(|nvim| sees(nvim, 60), "the first place");
        if is_own {
            chat.nvim.wait_for_screen("4: One by one");
            assert!(sees(&mut chat.nvim, 60), "{}", chat.nvim.screen());
            chat.nvim.input("4<CR>");
            chat.nvim.wait_for_screen("(1 of 2)");
            assert!(sees(&mut chat.nvim, 60), "{}", chat.nvim.screen());
            chat.nvim.input("1<CR>");
            chat.nvim.wait_for_screen("(2 of 2)");
            chat.nvim.wait_until(|nvim| sees(nvim, 150), "the second place");
            chat.nvim.input("2<CR>");
        } else {
            wait_for_picker(&mut chat.nvim);
            chat.nvim.exec_lua("_G.choose(4)", []);
            wait_for_picker(&mut chat.nvim);
            chat.nvim.exec_lua("_G.choose(1)", []);
            wait_for_picker(&mut chat.nvim);
            chat.nvim.wait_until(|nvim| sees(nvim, 150), "the second place");
            chat.nvim.exec_lua("_G.choose(2)", []);
        }
        assert_eq!(chat.answer("w")["result"], json!({}));
        let mine = chat.nvim.buffer_text(buf);
        assert!(mine.contains("agent's 60") && mine.contains("mine 150"), "{mine}");
        chat.nvim.wait_until(|nvim| nvim.exec_lua(view, []) == before, "what the window showed");
    }
}

#[test]
fn a_long_line_of_the_other_side_can_be_read_to_its_end() {
    let long: String = (1..=20).map(|number| format!("word{number} ")).collect();
    let steps = turns([read("r", "a.txt"), write("w", "a.txt", &format!("{long}end\ntwo\n"))]);
    let mut chat = Scripted::sized(&[("a.txt", "one\ntwo\n")], steps, 80, 24);
    let buf = begun(&mut chat);
    change_and_send(&mut chat, buf);
    wait_for_picker(&mut chat.nvim);
    let words = |nvim: &mut Nvim| {
        let rows: Vec<String> =
            nvim.screen().lines().map(|row| row.split('│').next().unwrap_or("").trim().to_owned()).collect();
        rows.concat().replace(' ', "")
    };
    let all = format!("{long}end").replace(' ', "");
    chat.nvim.wait_until(|nvim| words(nvim).contains(&all), "all of the line");
}

#[test]
fn a_window_that_shows_a_conflict_shows_afterwards_what_the_user_had_in_it() {
    for (works_in_it, wanted) in [(false, "b.txt"), (true, "a.txt")] {
        let steps = turns([read("r", "a.txt"), write("w", "a.txt", "agent's\ntwo\n")]);
        let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n"), ("b.txt", "other\n")], steps);
        let buf = begun(&mut chat);
        go_to(&mut chat.nvim, buf);
        chat.nvim.input("ccmine<Esc>:edit b.txt<CR>");
        chat.nvim.exec_lua("require('acp').send('go')", []);
        wait_for_picker(&mut chat.nvim);
        chat.nvim.wait_for_screen("╭ Fake's");
        let name = "return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(vim.fn.win_getid(1))))";
        assert_eq!(chat.nvim.exec_lua(name, []), "a.txt".into());
        if works_in_it {
            chat.nvim.exec_lua("vim.api.nvim_set_current_win(vim.fn.win_getid(1))", []);
            chat.nvim.input("Gomore<Esc>");
            chat.nvim.wait_for_screen("more");
        }
        chat.nvim.exec_lua("_G.choose(2)", []);
        assert_eq!(chat.answer("w")["result"], json!({}));
        chat.nvim.wait_until(|nvim| nvim.exec_lua(name, []) == wanted.into(), wanted);
    }
}

#[test]
fn a_conflict_stands_alone_in_the_file_also_where_its_change_was_proposed_before() {
    let call = json!({ "toolCallId": "c", "title": "Edit a.txt", "kind": "edit", "status": "pending", "content": [
        { "type": "diff", "path": "$PROJECT/a.txt", "oldText": "one\n", "newText": "agent's\n" },
    ] });
    let begins = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress" });
    let proposed = vec![permission("p", call), answered("p"), update(begins)];
    let steps = turns([read("r", "a.txt"), [proposed, write("w", "a.txt", "agent's\ntwo\n")].concat()]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    catch_pickers(&mut chat.nvim);
    change_and_send(&mut chat, buf);
    let note = "the file has changed since";
    chat.nvim.wait_for_screen(note);
    chat.nvim.command("Acp allow");
    chat.nvim.wait_for_screen("╭ Fake's");
    assert!(!chat.nvim.screen().contains(note), "{}", chat.nvim.screen());
    // Nor does it come back while they decide.
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("Gomore<Esc>");
    chat.nvim.wait_for_screen("more");
    let asked = "return #vim.tbl_filter(function(text) return text:find('Keep mine') end, _G.seen)";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(asked, []).as_u64() == Some(1), "the question");
    chat.nvim.exec_lua("_G.choose(2)", []);
    assert_eq!(chat.answer("w")["result"], json!({}));
    assert!(!chat.nvim.screen().contains(note), "{}", chat.nvim.screen());
}

#[test]
fn a_conflict_that_is_refused_or_cancelled_refuses_the_write_and_one_that_is_closed_waits() {
    for cancels in [false, true] {
        let mut steps = opened();
        steps.push(prompt());
        steps.extend(read("r", "a.txt"));
        steps.extend([says("Well."), ends("end_turn"), prompt()]);
        steps.extend(write("w", "a.txt", "agent's\n"));
        steps.push(ends("cancelled"));
        let mut chat = Scripted::new(&[("a.txt", "one\n")], steps);
        let buf = begun(&mut chat);
        change_and_send(&mut chat, buf);
        wait_for_picker(&mut chat.nvim);
        if cancels {
            chat.nvim.command("Acp cancel");
        } else {
            chat.nvim.exec_lua("_G.choose(nil)", []);
            assert!(!chat.record().iter().any(|line| line["id"] == "w"), "closing it is no answer");
            // Until then everything says that the agent waits, and the chat how to answer.
            chat.nvim.wait_for_screen("waiting for you");
            let state = "return require('acp').status().sessions[1].state";
            assert_eq!(chat.nvim.exec_lua(state, []).as_str(), Some("waiting"));
            let told = chat.transcript();
            assert!(told.contains("a.txt waits for you:") && told.contains(":Acp answer"), "{told}");
            chat.nvim.wait_for_screen("acp: left open");
            assert_eq!(chat.nvim.screen().matches("left open").count(), 1, "{}", chat.nvim.screen());
            chat.nvim.command("Acp answer");
            let picker = wait_for_picker(&mut chat.nvim);
            assert!(picker.ends_with("Refuse the write"), "{picker}");
            chat.nvim.exec_lua("_G.choose(4)", []);
            chat.nvim.wait_until(|nvim| !nvim.screen().contains("waiting for you"), "the agent to go on");
        }
        let error = chat.answer("w")["error"]["message"].to_string();
        assert!(error.contains("read it again"), "{error}");
        assert_eq!(chat.nvim.buffer_text(buf), "mine");
        chat.wait_for(match cancels {
            true => "a.txt: Fake's write was refused, since you and it changed the same lines",
            false => "a.txt: you refused Fake's write, since you and it changed the same lines",
        });
        assert!(!chat.transcript().contains("waits for you:"), "{}", chat.transcript());
        chat.nvim.stop_insert();
        chat.nvim.command("Acp audit write by:person");
        if cancels {
            chat.nvim.wait_for_screen("Nothing in the record passes the filter.");
        } else {
            chat.nvim.wait_for_screen("you refused the write");
            chat.nvim.command("Acp audit write is:rejected");
            chat.nvim.wait_for_screen("you refused the write");
            chat.nvim.input("GK");
            chat.nvim.wait_for_screen("verdict   you refused the write");
        }
    }
}

#[test]
fn a_conflict_is_refused_or_marked_without_a_question_when_the_options_say_so() {
    for (option, expected) in
        [("refuse", "mine\ntwo"), ("markers", "<<<<<<< mine\nmine\n=======\nagent's\n>>>>>>> Fake\ntwo")]
    {
        let steps = turns([read("r", "a.txt"), write("w", "a.txt", "agent's\ntwo\n")]);
        let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], steps);
        let buf = open(&mut chat.nvim, "a.txt");
        chat.configure(&format!("files = {{ conflict = '{option}' }}"));
        chat.chat();
        turn(&mut chat, 1);
        go_to(&mut chat.nvim, buf);
        chat.nvim.input("ccmine<Esc>");
        turn(&mut chat, 2);
        assert_eq!(chat.nvim.buffer_text(buf), expected);
        assert_eq!(chat.answer("w")["error"].is_null(), option == "markers");
    }
}

/// Gives options under `files`, beside the agent.
// An agent writes the disk itself.

#[test]
fn a_clean_buffer_takes_the_disk_and_keeps_marks_folds_and_undo() {
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    let mut chat = Scripted::new(&[("a.txt", &lines)], turns([vec![], edited("a.txt")]));
    let buf = open(&mut chat.nvim, "a.txt");
    chat.nvim.command("set foldmethod=manual | 20,25fold | normal! 30Gma");
    chat.nvim.exec_lua(
        "local ns = vim.api.nvim_create_namespace('test')
         _G.mark = vim.api.nvim_buf_set_extmark(0, ns, 34, 2, {})",
        [],
    );
    chat.chat();
    turn(&mut chat, 1);
    chat.project
        .write("a.txt", &lines.replace("line 5\n", "line 5\nnew\n").replace("line 38\n", "LINE 38\n"));
    turn(&mut chat, 2);
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf).contains("LINE 38"), "the buffer to be fresh");
    assert!(!modified(&mut chat.nvim, buf));
    go_to(&mut chat.nvim, buf);
    let state = "local ns = vim.api.nvim_create_namespace('test')
        return table.concat({ vim.fn.line(\"'a\"), vim.fn.foldclosed(22), vim.fn.foldclosedend(22),
          vim.api.nvim_buf_get_extmark_by_id(0, ns, _G.mark, {})[1] }, ' ')";
    assert_eq!(chat.nvim.exec_lua(state, []).as_str(), Some("31 21 26 35"));
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == lines.trim_end(), "one undo to bring it all back");
    assert!(modified(&mut chat.nvim, buf), "it is no longer what the disk holds");
    chat.nvim.input("<C-r>");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf).contains("LINE 38"), "redo");
    assert!(!modified(&mut chat.nvim, buf));
    chat.nvim.command("checktime");
    chat.nvim.input("x");
    chat.nvim.command("write");
    assert!(!chat.nvim.mode().blocking);
    assert!(chat.project.read("a.txt").starts_with("line 1\nine 2") || !modified(&mut chat.nvim, buf));
}

#[test]
fn what_the_disk_held_before_the_user_saved_is_not_taken() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], turns([edited("a.txt"), read("r", "a.txt")]));
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    // The user saves while the disk is being looked at, as slowly as an editor can.
    chat.nvim.exec_lua(
        "local buf = ...
         vim.api.nvim_create_autocmd('User', { pattern = 'AcpToolCall', callback = function(args)
           if args.data.status == 'done' and not _G.saved then
             _G.saved = true
             vim.uv.sleep(300)
             vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'mine' })
             vim.api.nvim_buf_call(buf, function() vim.cmd('silent noautocmd write!') end)
           end
         end })",
        [buf.into()],
    );
    chat.project.write("a.txt", "two\n");
    turn(&mut chat, 1);
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.saved", []).is_bool(), "the user to save");
    // A read comes after all that is to be done with the file.
    turn(&mut chat, 2);
    assert_eq!(chat.answer("r")["result"]["content"], "mine\n");
    assert_eq!(chat.nvim.buffer_text(buf), "mine");
    assert_eq!(chat.project.read("a.txt"), "mine\n");
    // The text from before may be taken first, when the prompt goes out; never after the user's own.
    let last = "vim.api.nvim_buf_call(..., function() vim.cmd('silent undo') end)
                return vim.api.nvim_buf_get_lines(..., 0, -1, false)[1]";
    let before = chat.nvim.exec_lua(last, [buf.into()]);
    assert!(before == "one".into() || before == "two".into(), "the user's change was the last: {before}");
}

#[test]
fn unsaved_edits_survive_what_an_agent_writes_to_the_disk() {
    let mut chat = Scripted::new(
        &[("a.txt", "one\ntwo\nthree\n")],
        turns([vec![], read("r", "a.txt"), edited("a.txt")]),
    );
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ccmine<Esc>");
    chat.nvim.wait_until(|nvim| modified(nvim, buf), "unsaved edits");
    // What is read comes after what the edits began with is known.
    turn(&mut chat, 2);
    assert_eq!(chat.answer("r")["result"]["content"], "mine\ntwo\nthree\n");
    chat.project.write("a.txt", "one\ntwo\nTHREE and more\n");
    turn(&mut chat, 3);
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == "mine\ntwo\nTHREE and more", "both changes");
    assert!(modified(&mut chat.nvim, buf));
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\nTHREE and more\n");
    go_to(&mut chat.nvim, buf);
    chat.nvim.command("write");
    assert!(!chat.nvim.mode().blocking, "no question about the file's time");
    assert_eq!(chat.project.read("a.txt"), "mine\ntwo\nTHREE and more\n");
    assert!(!modified(&mut chat.nvim, buf));
}

/// An edit of the user's that is not saved, and another one on the disk, which the user is asked about.
fn conflict_with_the_disk() -> (Scripted, u64) {
    let last = [edited("a.txt"), read("r4", "a.txt")].concat();
    let script = turns([vec![], read("r", "a.txt"), edited("a.txt"), last]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], script);
    let buf = with_unsaved_edits(&mut chat);
    chat.project.write("a.txt", "agent's\ntwo\nthree\n");
    turn(&mut chat, 3);
    chat.nvim.stop_insert();
    let offered = wait_for_picker(&mut chat.nvim);
    assert!(offered.contains("Take what is on the disk, Keep mine"), "{offered}");
    (chat, buf)
}

#[test]
fn a_conflict_with_the_disk_ends_with_a_command_that_settles_it() {
    for (command, lines, told) in [
        ("write!", "mine\ntwo", "a.txt: you wrote yours into the file"),
        ("edit!", "agent's\ntwo\nthree", "a.txt: you took what is on the disk"),
    ] {
        let (mut chat, buf) = conflict_with_the_disk();
        chat.nvim.exec_lua("_G.choose(nil)", []);
        go_to(&mut chat.nvim, buf);
        chat.nvim.wait_for_screen("what is on the disk");
        chat.nvim.command(command);
        chat.wait_for(told);
        chat.nvim.wait_until(|nvim| !nvim.screen().contains("\u{2190} yours"), "the marks to go");
        assert_eq!(chat.nvim.buffer_text(buf), lines);
        assert_eq!(chat.project.read("a.txt"), format!("{lines}\n"));
        let answer = chat.nvim.exec_lua("return select(2, require('acp').call('answer'))", []);
        assert!(answer.as_str().unwrap_or_default().contains("nothing waits"), "{command}: {answer}");
        assert!(!modified(&mut chat.nvim, buf));
    }
}

#[test]
fn a_call_of_whose_change_the_user_took_nothing_says_so() {
    for (choice, kept) in [(2, true), (1, false)] {
        let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "edit", "title": "Edit a.txt", "kind": "edit",
            "status": "in_progress", "content": [
                { "type": "diff", "path": "$PROJECT/a.txt", "oldText": "one\n", "newText": "agent's\n" },
            ] });
        let done =
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "edit", "status": "completed" });
        let script = turns([vec![], read("r", "a.txt"), vec![update(call), update(done)]]);
        let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], script);
        let buf = begun(&mut chat);
        go_to(&mut chat.nvim, buf);
        chat.nvim.input("ccmine<Esc>");
        chat.nvim.wait_until(|nvim| modified(nvim, buf), "unsaved edits");
        turn(&mut chat, 2);
        chat.project.write("a.txt", "agent's\ntwo\n");
        turn(&mut chat, 3);
        chat.nvim.stop_insert();
        let offered = wait_for_picker(&mut chat.nvim);
        assert!(offered.contains("Take what is on the disk, Keep mine"), "{offered}");
        chat.nvim.wait_for_screen("+1 -1");
        chat.nvim.exec_lua(&format!("_G.choose({choice})"), []);
        if kept {
            chat.wait_for("✓ Edit a.txt\n    You kept yours in 1 place\n");
            chat.nvim.wait_for_screen("You kept yours in 1 place");
            assert!(!chat.nvim.screen().contains("+1 -1"), "{}", chat.nvim.screen());
        } else {
            chat.wait_for("✓ Edit a.txt\n    You took what is on the disk in 1 place\n");
            assert!(chat.nvim.screen().contains("+1 -1"), "{}", chat.nvim.screen());
        }
    }
}

#[test]
fn a_call_says_whatever_was_decided_about_its_lines() {
    const NEW: &str = "agent's\ntwo\nthree\nagent's four\n";
    let one_by_one = "You took THEIRS in 1 place and have both, with conflict markers, in 1 place";
    for by_disk in [true, false] {
        for (choices, words) in [
            (&[3][..], "You have both, with conflict markers, in 2 places"),
            (&[4, 1, 3], one_by_one),
            (&[4, 2, 2], "You kept yours in 2 places"),
        ] {
            let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "edit", "title": "Edit a.txt",
                "kind": "edit", "status": "in_progress", "content": [{ "type": "diff", "path": "$PROJECT/a.txt",
                    "oldText": "one\ntwo\nthree\nfour\n", "newText": NEW }] });
            let done =
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": "edit", "status": "completed" });
            let mut last = vec![update(call)];
            if !by_disk {
                last.extend(write("w", "a.txt", NEW));
            }
            last.push(update(done));
            let script = turns([vec![], read("r", "a.txt"), last]);
            let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\nfour\n")], script);
            let buf = begun(&mut chat);
            if !by_disk {
                // The agent knows the text as it was before that of the user's.
                turn(&mut chat, 2);
            }
            go_to(&mut chat.nvim, buf);
            chat.nvim.input("ccmine<Esc>Gccmy four<Esc>");
            chat.nvim.wait_until(|nvim| modified(nvim, buf), "unsaved edits");
            if by_disk {
                turn(&mut chat, 2);
                chat.project.write("a.txt", NEW);
            }
            chat.nvim.stop_insert();
            chat.nvim.exec_lua("require('acp').send('go')", []);
            for choice in choices {
                wait_for_picker(&mut chat.nvim);
                chat.nvim.exec_lua(&format!("_G.choose({choice})"), []);
            }
            let theirs = if by_disk { "what is on the disk" } else { "Fake's" };
            chat.wait_for(&format!("\u{2713} Edit a.txt\n    {}\n", words.replace("THEIRS", theirs)));
        }
    }
}

#[test]
fn who_puts_a_conflict_with_the_disk_off_is_asked_again_when_they_write() {
    let (mut chat, buf) = conflict_with_the_disk();
    chat.nvim.exec_lua("_G.choose(4)", []);
    chat.wait_for("your text stays in the buffer");
    // As programs write files that replace others: more than one thing is told of it.
    std::fs::remove_file(chat.project.file("a.txt")).expect("a file");
    chat.project.write("a.txt", "agent's\ntwo\nthree\n");
    turn(&mut chat, 4);
    assert_eq!(chat.answer("r4")["result"]["content"], "mine\ntwo\n");
    assert_eq!(chat.nvim.exec_lua("return #_G.seen", []), 0.into(), "asked again for nothing");
    go_to(&mut chat.nvim, buf);
    chat.nvim.command("silent! write");
    wait_for_picker(&mut chat.nvim);
    assert_eq!(chat.project.read("a.txt"), "agent's\ntwo\nthree\n");
    chat.nvim.exec_lua("_G.choose(1)", []);
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == "agent's\ntwo\nthree", "the disk's text");
}

#[test]
fn a_decision_about_the_disk_is_about_the_lines_that_were_shown() {
    let (mut chat, buf) = conflict_with_the_disk();
    chat.project.write("a.txt", "another\ntwo\n");
    chat.nvim.exec_lua("_G.choose(1)", []);
    let asked_again = wait_for_picker(&mut chat.nvim);
    assert!(asked_again.starts_with("a.txt, changed meanwhile: you and the disk changed"), "{asked_again}");
    assert_eq!(chat.nvim.buffer_text(buf), "mine\ntwo");
    let asked = "you and the disk changed the same lines (1 place)";
    chat.wait_for(&format!("a.txt has changed meanwhile, and waits for you again: {asked}; :Acp answer"));
    let text = chat.transcript();
    assert!(!text.contains("you took"), "{text}");
    go_to(&mut chat.nvim, buf);
    chat.nvim.wait_for_screen("+ another");
    chat.nvim.exec_lua("_G.choose(1)", []);
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == "another\ntwo", "what was shown");
}

#[test]
fn a_conflict_that_waits_shows_what_the_disk_holds_by_then() {
    let (mut chat, buf) = conflict_with_the_disk();
    chat.nvim.exec_lua("_G.choose(nil)", []);
    go_to(&mut chat.nvim, buf);
    chat.nvim.wait_for_screen("+ agent's");
    chat.project.write("a.txt", "another\ntwo\n");
    chat.nvim.wait_for_screen("+ another");
    assert!(!chat.nvim.screen().contains("+ agent's"), "{}", chat.nvim.screen());
    assert_eq!(chat.nvim.exec_lua("return #_G.seen", []), 0.into(), "asked again, though it was put off");
    chat.nvim.command("Acp answer");
    let asked = wait_for_picker(&mut chat.nvim);
    assert!(asked.starts_with("a.txt, changed meanwhile: you"), "{asked}");
    chat.nvim.exec_lua("_G.choose(1)", []);
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == "another\ntwo", "what was shown");
}

#[test]
fn a_conflict_is_over_when_the_disk_has_its_old_lines_again() {
    let (mut chat, buf) = conflict_with_the_disk();
    chat.nvim.exec_lua("_G.choose(nil)", []);
    go_to(&mut chat.nvim, buf);
    chat.nvim.wait_for_screen("what is on the disk");
    chat.project.write("a.txt", "one\ntwo\n");
    chat.wait_for("a.txt: nothing is left to decide, since the disk has changed again");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("\u{2190} yours"), "the marks to go");
    assert_eq!(chat.nvim.buffer_text(buf), "mine\ntwo");
    chat.nvim.command("silent write");
    assert_eq!(chat.project.read("a.txt"), "mine\ntwo\n");
}

#[test]
fn markers_name_the_disk_where_lines_of_it_are_taken() {
    let (mut chat, buf) = conflict_with_the_disk();
    chat.nvim.exec_lua("_G.choose(3)", []);
    let marked = "<<<<<<< mine\nmine\n=======\nagent's\n>>>>>>> disk\ntwo\nthree";
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == marked, "the markers");
}

#[test]
fn a_conflict_with_the_disk_is_decided_by_the_user() {
    let (mut chat, buf) = conflict_with_the_disk();
    chat.nvim.exec_lua("_G.choose(2)", []);
    chat.nvim
        .wait_until(|nvim| nvim.buffer_text(buf) == "mine\ntwo\nthree", "mine, and what does not collide");
    go_to(&mut chat.nvim, buf);
    chat.nvim.command("write");
    assert!(!chat.nvim.mode().blocking);
    assert_eq!(chat.project.read("a.txt"), "mine\ntwo\nthree\n");
}

#[test]
fn the_buffer_of_a_deleted_file_keeps_its_text_and_says_so() {
    let (mut chat, buf) = deleted();
    assert_eq!(chat.nvim.buffer_text(buf), "one");
    assert!(modified(&mut chat.nvim, buf));
    assert!(!chat.nvim.mode().blocking);
    go_to(&mut chat.nvim, buf);
    chat.nvim.command("write ++p");
    assert_eq!(chat.project.read("lib/a.txt"), "one\n");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("deleted on the disk"), "the note to go");
    let settled = chat.nvim.exec_lua("return select(2, require('acp').call('settle'))", []);
    let settled = settled.as_str().unwrap_or_default();
    assert!(settled.contains("nothing to settle"), "{settled}");
}

#[test]
fn a_file_that_comes_back_is_what_its_buffer_holds_unless_the_user_has_typed() {
    for (typed, expected) in [(None, "two"), (Some("mine"), "mine\ntwo")] {
        let (mut chat, buf) = deleted();
        if let Some(line) = typed {
            chat.nvim.exec_lua("vim.fn.appendbufline(..., 0, 'mine')", [buf.into()]);
            assert_eq!(chat.nvim.buffer_text(buf), format!("{line}\none"));
        }
        std::fs::create_dir(chat.project.file("lib")).expect("a folder");
        std::fs::write(chat.project.file("lib/a.txt"), "two\n").expect("a file");
        chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == expected, "the text of the file");
        chat.nvim.wait_until(|nvim| modified(nvim, buf) == typed.is_some(), "what is not saved");
        chat.nvim.wait_until(|nvim| !nvim.screen().contains("deleted on the disk"), "the mark to go");
    }
}

/// It comes back while Neovim is told that it is gone, and the user's `:write` is faster than any report of that.
#[test]
fn a_write_does_not_overwrite_a_file_that_has_just_come_back() {
    let (mut chat, buf) = chat_before_deletion();
    chat.nvim.exec_lua(
        "local buf = ...
         local name = vim.api.nvim_buf_get_name(buf)
         vim.api.nvim_create_autocmd('FileAppendCmd', { pattern = name, callback = function()
           if vim.uv.fs_stat(name) then return end
           vim.fn.mkdir(vim.fs.dirname(name), 'p')
           vim.fn.writefile({ 'other' }, name)
           vim.schedule(function()
             vim.api.nvim_buf_call(buf, function() vim.cmd('silent! write') end)
             _G.has_written = true
           end)
         end })",
        [buf.into()],
    );
    std::fs::remove_dir_all(chat.project.file("lib")).expect("a folder");
    turn(&mut chat, 2);
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua("return _G.has_written == true", []) == true.into(), "the write");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == "other", "the text of the file");
    assert_eq!(chat.project.read("lib/a.txt"), "other\n");
    assert!(!modified(&mut chat.nvim, buf));
}

/// A chat whose agent has deleted a file that is open.
fn deleted() -> (Scripted, u64) {
    let (mut chat, buf) = chat_before_deletion();
    std::fs::remove_dir_all(chat.project.file("lib")).expect("a folder");
    turn(&mut chat, 2);
    chat.nvim.wait_for_screen("deleted on the disk");
    chat.wait_for("lib/a.txt is gone from the disk");
    (chat, buf)
}

/// A chat whose agent has read a file that is open.
fn chat_before_deletion() -> (Scripted, u64) {
    let mut chat =
        Scripted::new(&[("lib/a.txt", "one\n")], turns([read("r", "lib/a.txt"), edited("lib/a.txt")]));
    let buf = open(&mut chat.nvim, "lib/a.txt");
    catch_pickers(&mut chat.nvim);
    chat.chat();
    turn(&mut chat, 1);
    (chat, buf)
}

/// Asks what becomes of the file, and takes the choice that begins so.
fn settle(chat: &mut Scripted, buf: u64, choice: &str) {
    go_to(&mut chat.nvim, buf);
    chat.nvim.command("Acp settle");
    let offered = wait_for_picker(&mut chat.nvim);
    let (_, items) = offered.split_once(": ").expect("a list of choices");
    let at = items.split(", ").position(|item| item.starts_with(choice));
    let at = at.unwrap_or_else(|| panic!("no {choice:?} among {items:?}")) + 1;
    chat.nvim.exec_lua("_G.choose(...)", [at.into()]);
}

#[test]
fn the_only_text_of_a_deleted_file_counts_as_unsaved_also_after_an_undo() {
    let (mut chat, buf) = deleted();
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("Ax<Esc>");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == "onex", "the user's edit");
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == "one", "the text as it was saved last");
    // Neovim takes it for saved.
    chat.nvim.wait_until(|nvim| modified(nvim, buf), "the buffer to count as unsaved");
    // Nor where Neovim has had no moment to notice.
    let leave = "vim.cmd.normal({ 'Ax', bang = true }) vim.cmd('silent undo')
                 return tostring(select(2, pcall(vim.cmd, 'silent qall')))";
    let said = chat.nvim.exec_lua(leave, []);
    assert!(said.as_str().is_some_and(|said| said.contains("E37") || said.contains("E162")), "{said}");
}

#[test]
fn a_deleted_file_is_written_back_with_its_folder_on_request() {
    let (mut chat, buf) = deleted();
    settle(&mut chat, buf, "Write lib/a.txt back");
    chat.nvim.wait_until(|nvim| !modified(nvim, buf), "the file to be written");
    assert_eq!(chat.project.read("lib/a.txt"), "one\n");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("deleted on the disk"), "the mark to go");
}

#[test]
fn the_buffer_of_a_deleted_file_is_dropped_on_request_and_its_window_stays() {
    let (mut chat, buf) = deleted();
    let windows = chat.nvim.exec_lua("return vim.fn.winnr('$')", []);
    settle(&mut chat, buf, "Drop the buffer");
    let is_there = "return vim.api.nvim_buf_is_valid(...)";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(is_there, [buf.into()]).as_bool() == Some(false),
        "the buffer to go",
    );
    assert_eq!(chat.nvim.exec_lua("return vim.fn.winnr('$')", []), windows);
}

#[test]
fn the_window_of_a_renamed_file_goes_on_with_the_new_one() {
    let text = "one\ntwo\nthree\n";
    let mut chat = Scripted::new(&[("a.txt", text)], turns([read("r", "a.txt"), edited("a.txt")]));
    let buf = open(&mut chat.nvim, "a.txt");
    catch_pickers(&mut chat.nvim);
    chat.chat();
    turn(&mut chat, 1);
    go_to(&mut chat.nvim, buf);
    chat.nvim.command("normal! 2Gl");
    std::fs::rename(chat.project.file("a.txt"), chat.project.file("b.txt")).expect("a file");
    chat.nvim.wait_for_screen("renamed to b.txt");
    settle(&mut chat, buf, "Open b.txt");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.expand('%:t')", []).as_str() == Some("b.txt"),
        "the new file",
    );
    assert_eq!(
        chat.nvim.exec_lua("return table.concat(vim.api.nvim_win_get_cursor(0), ':')", []).as_str(),
        Some("2:1")
    );
    assert_eq!(chat.nvim.buffer_text(buf), text.trim_end());
}

// What the user is in the middle of.

#[test]
fn a_write_while_the_user_types_elsewhere_in_the_file_is_undone_by_itself() {
    let steps = turns([write("w", "a.txt", "one\ntwo\nthree\nFOUR\n")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\nfour\n")], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ggA 1");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf).starts_with("one 1"), "the first words");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    assert_eq!(chat.answer("w")["result"], json!({}));
    assert_eq!(chat.nvim.buffer_text(buf), "one 1\ntwo\nthree\nFOUR");
    assert_eq!(chat.nvim.mode().name, "i");
    chat.nvim.input(" 2<CR>more<Esc>");
    chat.nvim.wait_until(
        |nvim| nvim.buffer_text(buf) == "one 1 2\nmore\ntwo\nthree\nFOUR",
        "typing to go on where it was",
    );
    // Whatever the steps, undo gives back what was, and redo what came of it.
    chat.nvim.input("10u");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) == "one\ntwo\nthree\nfour", "everything to be undone");
    chat.nvim.input("10<C-r>");
    chat.nvim.wait_until(
        |nvim| nvim.buffer_text(buf) == "one 1 2\nmore\ntwo\nthree\nFOUR",
        "everything to be redone",
    );
}

#[test]
fn two_windows_a_selection_and_a_recording_are_left_alone_by_a_write() {
    let lines: String = (1..=100).map(|line| format!("line {line}\n")).collect();
    let new = lines.replacen("line 1\n", "line 1\nnew\n", 1);
    let mut chat = Scripted::new(&[("a.txt", &lines)], turns([write("w", "a.txt", &new)]));
    let buf = open(&mut chat.nvim, "a.txt");
    chat.nvim.command("split | normal! 90Gzt");
    chat.chat();
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("50Gqqvjj");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "v", "visual mode");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    assert_eq!(chat.answer("w")["result"], json!({}));
    assert_eq!(chat.nvim.mode().name, "v");
    let state = "return table.concat({ vim.fn.line('v'), vim.fn.line('.'), vim.fn.reg_recording() }, ' ')";
    assert_eq!(chat.nvim.exec_lua(state, []).as_str(), Some("51 53 q"));
    assert_eq!(chat.project.read("a.txt"), new);
    chat.nvim.input("<Esc>q");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.getreg('q')", []).as_str() == Some("vjj\u{1b}"),
        "the recording to hold what was typed",
    );
}

#[test]
fn a_write_at_a_prompt_of_neovims_is_done_when_the_prompt_is_over() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], turns([write("w", "a.txt", "two\n")]));
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    go_to(&mut chat.nvim, buf);
    chat.nvim
        .exec_lua("vim.schedule(function() require('acp').send('go') vim.cmd('echo \"a\\nb\\nc\"') end)", []);
    chat.nvim.wait_until(|nvim| nvim.mode().blocking, "a hit-enter prompt");
    chat.nvim.input("<CR>");
    assert_eq!(chat.answer("w")["result"], json!({}));
    assert_eq!(chat.nvim.buffer_text(buf), "two");
}

#[test]
fn a_write_while_a_picker_is_open_is_done_when_it_is_over_and_the_choice_is_kept() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], turns([write("w", "a.txt", "two\n")]));
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    go_to(&mut chat.nvim, buf);
    chat.nvim.exec_lua(
        "vim.schedule(function()
           require('acp').send('go')
           vim.ui.select({ 'first', 'second' }, {}, function(item) _G.chosen = item end)
         end)",
        [],
    );
    chat.nvim.wait_until(|nvim| nvim.screen().contains("2: second"), "the picker");
    chat.nvim.input("2<CR>");
    assert_eq!(chat.answer("w")["result"], json!({}));
    assert_eq!(chat.nvim.buffer_text(buf), "two");
    assert_eq!(chat.nvim.exec_lua("return _G.chosen", []).as_str(), Some("second"));
}

#[test]
fn a_buffer_that_is_wiped_before_the_decision_is_answered() {
    let steps = turns([read("r", "a.txt"), write("w", "a.txt", "agent's\n")]);
    let mut chat = Scripted::new(&[("a.txt", "one\n")], steps);
    let buf = begun(&mut chat);
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ccmine<Esc>");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    wait_for_picker(&mut chat.nvim);
    chat.nvim.command("bwipeout! a.txt");
    chat.nvim.exec_lua("_G.choose(1)", []);
    let error = chat.answer("w")["error"]["message"].to_string();
    assert!(error.contains("was just closed; try again"), "{error}");
}

// Saving.

#[test]
fn what_cannot_be_saved_is_an_error_and_the_text_is_kept() {
    let steps = turns([write("w", "a.txt", "two\n")]);
    let mut chat = Scripted::new(&[("a.txt", "one\n")], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.nvim.command("set readonly");
    chat.chat();
    turn(&mut chat, 1);
    let error = chat.answer("w")["error"]["message"].to_string();
    assert!(error.contains("'readonly' in Neovim"), "{error}");
    assert_eq!((chat.nvim.buffer_text(buf), chat.project.read("a.txt")), ("one".into(), "one\n".into()));
}

/// Runs with what root may do taken away from all that it starts, so that permissions count for
/// whoever runs the tests.
#[cfg(target_os = "linux")]
fn without_privileges(test: impl FnOnce() + Send + 'static) {
    const OVERRIDE_PERMISSIONS: [libc::c_ulong; 3] = [1, 2, 3];
    let run = move || {
        for capability in OVERRIDE_PERMISSIONS {
            // SAFETY: it changes nothing but what the children of this thread may be given. Whoever is
            // not root is refused, and has none of them.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        }
        test();
    };
    if let Err(panic) = std::thread::spawn(run).join() {
        std::panic::resume_unwind(panic);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_permissions_forbid_to_save_is_an_error_and_loses_nothing() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;
    without_privileges(|| {
        let steps = turns([write("w", "in/a.txt", "two\n"), write("w2", "in/a.txt", "three\n")]);
        let mut chat = Scripted::new(&[("in/a.txt", "one\n")], steps);
        let buf = open(&mut chat.nvim, "in/a.txt");
        let (file, folder) = (chat.project.file("in/a.txt"), chat.project.file("in"));
        let allow = |modes: [u32; 2]| {
            set_permissions(&folder, Permissions::from_mode(0o700)).expect("a folder of ours");
            set_permissions(&file, Permissions::from_mode(modes[0])).expect("a file of ours");
            set_permissions(&folder, Permissions::from_mode(modes[1])).expect("a folder of ours");
        };
        // After it was opened: what is open and protected is 'readonly' already.
        allow([0o444, 0o555]);
        chat.chat();
        turn(&mut chat, 1);
        let error = chat.answer("w")["error"]["message"].to_string();
        assert!(error.contains("could not be saved: permission denied"), "{error}");
        assert_eq!(
            (chat.nvim.buffer_text(buf), chat.project.read("in/a.txt")),
            ("two".into(), "one\n".into())
        );
        assert_eq!(chat.nvim.exec_lua("return vim.bo[...].modified", [buf.into()]), true.into());
        chat.nvim.wait_for_screen("in/a.txt holds the agent's change");
        // Once it is allowed, the user can save it, and so can the agent.
        allow([0o644, 0o755]);
        chat.nvim.exec_lua("vim.api.nvim_buf_call(..., function() vim.cmd.write() end)", [buf.into()]);
        assert_eq!(chat.project.read("in/a.txt"), "two\n");
        turn(&mut chat, 2);
        assert_eq!(chat.answer("w2")["result"], json!({}));
        assert_eq!(chat.project.read("in/a.txt"), "three\n");
    });
}

#[test]
fn what_somebody_else_wrote_meanwhile_is_merged_and_not_overwritten() {
    let steps = turns([read("r", "a.txt"), write("w", "a.txt", "one\ntwo\nTHREE\n"), read("r2", "a.txt")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\n")], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.nvim.command("set noautoread");
    chat.chat();
    turn(&mut chat, 1);
    chat.project.write("a.txt", "ONE\ntwo\nthree\n");
    turn(&mut chat, 2);
    assert_eq!(chat.answer("w")["result"], json!({}));
    assert_eq!(chat.project.read("a.txt"), "ONE\ntwo\nTHREE\n");
    assert_eq!(chat.nvim.buffer_text(buf), "ONE\ntwo\nTHREE");
    chat.project.write("a.txt", "from elsewhere\n");
    turn(&mut chat, 3);
    assert_eq!(
        chat.answer("r2")["result"]["content"],
        "from elsewhere\n",
        "a clean buffer is fresh when read"
    );
    assert!(!chat.nvim.mode().blocking);
}

#[test]
fn a_formatter_may_change_what_is_saved_when_the_option_says_so() {
    let steps = turns([write("w", "a.txt", "one\ntwo  \n"), write("w2", "a.txt", "one\ntwo  \nthree\n")]);
    let mut chat = Scripted::new(&[("a.txt", "one\n")], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.nvim.command("autocmd BufWritePre * %s/ *$//e");
    chat.configure("files = { format_on_save = true }");
    chat.chat();
    turn(&mut chat, 1);
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\n");
    turn(&mut chat, 2);
    assert_eq!(chat.nvim.buffer_text(buf), "one\ntwo\nthree");
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn every_encoding_and_line_end_goes_through_a_buffer_unchanged() {
    let mut steps = opened();
    let mut files = Vec::new();
    let encodings = ["utf-8", "latin1", "utf-16le"];
    for encoding in encodings {
        for format in ["unix", "dos"] {
            for bomb in [false, true] {
                for ended in [false, true] {
                    if bomb && encoding == "latin1" {
                        continue;
                    }
                    files.push((encoding, format, bomb, ended));
                }
            }
        }
    }
    let bytes = |text: &str, encoding: &str, bomb: bool| -> Vec<u8> {
        let text = if bomb { format!("\u{feff}{text}") } else { text.to_owned() };
        match encoding {
            "utf-8" => text.into_bytes(),
            "latin1" => text.chars().map(|char| u8::try_from(u32::from(char)).expect("latin1")).collect(),
            _ => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        }
    };
    let text = |words: [&str; 3], format: &str, ended: bool| {
        let end = if format == "dos" { "\r\n" } else { "\n" };
        words.join(end) + if ended { end } else { "" }
    };
    steps.push(prompt());
    for (number, (_, format, _, ended)) in files.iter().enumerate() {
        let name = format!("{number}.txt");
        steps.extend(read(&format!("r{number}"), &name));
        steps.extend(write(&format!("w{number}"), &name, &text(["\u{e4}", "zwei", "drei"], format, *ended)));
        steps.extend(read(&format!("again{number}"), &name));
    }
    steps.extend([says("Well."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps);
    for (number, (encoding, format, bomb, ended)) in files.iter().enumerate() {
        let path = chat.project.file(&format!("{number}.txt"));
        let content = bytes(&text(["\u{e4}", "two", "drei"], format, *ended), encoding, *bomb);
        std::fs::write(&path, content).expect("a file");
        chat.nvim.command(&format!("edit ++enc={encoding} {number}.txt | set nomodified"));
    }
    chat.chat();
    turn(&mut chat, 1);
    for (number, case) in files.iter().enumerate() {
        let (encoding, format, bomb, ended) = *case;
        let content = |answer: Value| answer["result"]["content"].as_str().unwrap_or_default().to_owned();
        let read = content(chat.answer(&format!("r{number}")));
        assert_eq!(read, text(["\u{e4}", "two", "drei"], format, ended), "{case:?}");
        let expected = text(["\u{e4}", "zwei", "drei"], format, ended);
        assert_eq!(content(chat.answer(&format!("again{number}"))), expected, "{case:?}");
        let on_disk = std::fs::read(chat.project.file(&format!("{number}.txt"))).expect("a file");
        assert_eq!(on_disk, bytes(&expected, encoding, bomb), "{case:?}");
    }
}

#[test]
fn a_character_that_the_encoding_lacks_is_refused_before_anything_is_changed() {
    let steps = turns([write("w", "a.txt", "\u{20ac}\n")]);
    let mut chat = Scripted::new(&[], steps);
    std::fs::write(chat.project.file("a.txt"), b"\xe4\n").expect("a file");
    chat.nvim.command("set fileencodings=latin1");
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    let error = chat.answer("w")["error"]["message"].to_string();
    assert!(error.contains("latin1, which has no"), "{error}");
    assert_eq!(chat.nvim.buffer_text(buf), "\u{e4}");
}

// Before a prompt, and after.

#[test]
fn unsaved_edits_are_mentioned_once_with_their_differences() {
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], turns([vec![], vec![], vec![]]));
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ccmine<Esc>");
    chat.nvim.wait_until(|nvim| modified(nvim, buf), "unsaved edits");
    turn(&mut chat, 1);
    let sent = |chat: &mut Scripted| chat.got("session/prompt")["params"]["prompt"].clone();
    let prompt = sent(&mut chat);
    assert_eq!(prompt[0]["text"], "go");
    let told = prompt[1]["text"].as_str().unwrap_or_default().to_owned();
    assert!(told.contains("a.txt"), "{prompt}");
    chat.wait_for("Fake is told about unsaved edits in a.txt");
    turn(&mut chat, 2);
    assert_eq!(sent(&mut chat).as_array().map(Vec::len), Some(1), "nothing new to tell");
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("Gccmine, too<Esc>");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf).ends_with("too"), "more unsaved edits");
    turn(&mut chat, 3);
    let prompt = sent(&mut chat);
    let told = prompt[1]["text"].as_str().unwrap_or_default();
    assert!(told.contains("-one\n-two\n+mine\n+mine, too\n"), "{prompt}");
}

#[test]
fn unsaved_edits_are_saved_before_a_prompt_when_the_option_says_so() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], turns([vec![]]));
    chat.configure("files = { unsaved = 'save' }");
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ccmine<Esc>");
    chat.nvim.wait_until(|nvim| modified(nvim, buf), "unsaved edits");
    turn(&mut chat, 1);
    assert_eq!(chat.project.read("a.txt"), "mine\n");
    assert_eq!(chat.got("session/prompt")["params"]["prompt"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_was_changed_is_listed_told_of_and_put_into_the_quickfix_list() {
    let steps = turns([write("w", "a.txt", "one\n2\nthree\n"), write("w2", "new.txt", "x\ny\n")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\n")], steps);
    chat.nvim.exec_lua(
        "_G.told = {}
         vim.api.nvim_create_autocmd('User', { pattern = 'AcpFileChanged', callback = function(event)
           table.insert(_G.told, event.data)
         end })",
        [],
    );
    open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    turn(&mut chat, 2);
    let told = chat.nvim.exec_lua("return vim.json.encode(_G.told)", []);
    let told: Value = serde_json::from_str(told.as_str().expect("a text")).expect("JSON");
    assert_eq!(told[0]["ranges"], json!([[2, 2]]));
    assert_eq!((&told[0]["saved"], &told[0]["session"]), (&json!(true), &json!(1)));
    catch_pickers(&mut chat.nvim);
    chat.nvim.command("Acp changes");
    let offered = wait_for_picker(&mut chat.nvim);
    assert!(offered.contains("a.txt 1 hunk · +1 -1"), "{offered}");
    assert!(offered.contains("new.txt 1 hunk · +2 -0 · new file"), "{offered}");
    chat.nvim.command("Acp changes quickfix");
    let lines = "return vim.tbl_map(function(item) return vim.fn.bufname(item.bufnr):match('[^/]*$') .. ':' .. item.lnum end, vim.fn.getqflist())";
    let list = chat.nvim.exec_lua(&format!("return table.concat((function() {lines} end)(), ' ')"), []);
    assert_eq!(list.as_str(), Some("a.txt:2 new.txt:1"));
}

/// Prints how long the editor stands still: `cargo test --test files -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn a_large_file_with_many_changes_does_not_hold_the_editor() {
    let lines: Vec<String> = (0..100_000).map(|line| format!("    let value_{line} = {line};\n")).collect();
    let changed: String = lines
        .iter()
        .enumerate()
        .map(|(at, line)| if at % 100 == 50 { line.replace("let", "const") } else { line.clone() })
        .collect();
    let steps = turns([read("r", "a.txt"), write("w", "a.txt", &changed)]);
    let mut chat = Scripted::new(&[("a.txt", &lines.concat())], steps);
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ccmine<Esc>");
    chat.nvim.wait_until(|nvim| modified(nvim, buf), "unsaved edits");
    chat.nvim.exec_lua(
        "_G.worst, _G.last = 0, vim.uv.hrtime()
         _G.timer = vim.uv.new_timer()
         _G.timer:start(0, 1, function()
           local now = vim.uv.hrtime()
           _G.worst = math.max(_G.worst, (now - _G.last) / 1e6)
           _G.last = now
         end)",
        [],
    );
    let start = std::time::Instant::now();
    chat.nvim.exec_lua("require('acp').send('go')", []);
    let is_in = "return vim.api.nvim_buf_get_lines(..., 50, 51, true)[1]:find('const') ~= nil";
    chat.nvim.wait_within(
        std::time::Duration::from_secs(60),
        |nvim| nvim.exec_lua(is_in, [buf.into()]).as_bool() == Some(true),
        "the write",
    );
    println!("100,000 lines, 1,000 hunks: {:?}", start.elapsed());
    println!("worst stall: {:.1} ms", chat.nvim.exec_lua("return _G.worst", []).as_f64().unwrap_or_default());
    assert!(chat.nvim.buffer_text(buf).starts_with("    mine\n"));
    chat.wait_for("a.txt had unsaved edits");
}

#[test]
fn a_write_without_a_question_leaves_a_line_and_is_an_answer() {
    let mut parts = opened();
    parts.push(prompt());
    parts.extend(write("w1", "a.txt", "one\nTWO\n"));
    parts.extend(write("w2", "new.txt", "1\n2\n"));
    parts.push(ends("end_turn"));
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], parts);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    let transcript = chat.transcript();
    assert!(
        transcript.contains("✓ wrote a.txt through the editor\n✓ created new.txt through the editor\n"),
        "{transcript}"
    );
    assert!(!transcript.contains("without an answer"), "{transcript}");
    // How much is at the right edge.
    let screen = chat.nvim.screen();
    let line = |part: &str| screen.lines().find(|line| line.contains(part)).unwrap_or_default().to_owned();
    assert!(line("wrote a.txt").contains("+1 -1") && line("created new.txt").contains("+2 -0"), "{screen}");
}

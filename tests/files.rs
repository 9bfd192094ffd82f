//! Files that buffers hold, written by agents while the user works in them: through the client, and on
//! the disk behind Neovim's back. What the user typed, where marks and folds stand, what undo brings
//! back and what Neovim asks is what counts here.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, asks, ends, opened, prompt, says, update};

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
    vec![
        asks(id, "fs/read_text_file", json!({ "path": format!("$PROJECT/{path}") })),
        json!({ "expect_reply": id, "to": id }),
    ]
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

fn wait_for_picker(nvim: &mut Nvim) -> String {
    nvim.wait_until(|nvim| nvim.exec_lua("return #_G.seen", []).as_u64() > Some(0), "a picker");
    nvim.exec_lua("return table.remove(_G.seen)", []).as_str().expect("a text").to_owned()
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

#[test]
fn lines_that_both_changed_are_shown_and_decided_by_the_user() {
    for (number, expected) in [
        (1, "agent's\ntwo"),
        (2, "mine\ntwo"),
        (3, "<<<<<<< mine\nmine\n=======\nagent's\n>>>>>>> Fake\ntwo"),
    ] {
        let steps = turns([read("r", "a.txt"), write("w", "a.txt", "agent's\ntwo\n")]);
        let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], steps);
        let buf = open(&mut chat.nvim, "a.txt");
        chat.chat();
        catch_pickers(&mut chat.nvim);
        turn(&mut chat, 1);
        go_to(&mut chat.nvim, buf);
        chat.nvim.input("ccmine<Esc>");
        chat.nvim.command("AcpChat");
        chat.nvim.command("startinsert");
        chat.send("go");
        let offered = wait_for_picker(&mut chat.nvim);
        assert!(offered.contains("a.txt") && offered.contains("Take Fake's, Keep mine"), "{offered}");
        chat.nvim.wait_for_screen("╭ Fake's");
        let screen = chat.nvim.screen();
        let left: Vec<&str> =
            screen.lines().take(4).map(|line| line.split('│').next().unwrap_or("").trim()).collect();
        assert_eq!(left, ["mine", "╭ Fake's", "agent's", "two"]);
        assert_eq!(chat.nvim.buffer_text(buf), "mine\ntwo", "nothing is changed before it is decided");
        chat.nvim.exec_lua("_G.choose(...)", [number.into()]);
        assert_eq!(chat.answer("w")["result"], json!({}));
        assert_eq!(chat.nvim.buffer_text(buf), expected);
        chat.nvim.wait_until(|nvim| !nvim.screen().contains("╭ Fake's"), "the other side to be put away");
    }
}

#[test]
fn a_conflict_that_is_dismissed_or_cancelled_refuses_the_write() {
    for cancels in [false, true] {
        let mut steps = opened();
        steps.push(prompt());
        steps.extend(read("r", "a.txt"));
        steps.extend([says("Well."), ends("end_turn"), prompt()]);
        steps.extend(write("w", "a.txt", "agent's\n"));
        steps.push(ends("cancelled"));
        let mut chat = Scripted::new(&[("a.txt", "one\n")], steps);
        let buf = open(&mut chat.nvim, "a.txt");
        chat.chat();
        catch_pickers(&mut chat.nvim);
        turn(&mut chat, 1);
        go_to(&mut chat.nvim, buf);
        chat.nvim.input("ccmine<Esc>");
        chat.nvim.command("AcpChat");
        chat.nvim.command("startinsert");
        chat.send("go");
        wait_for_picker(&mut chat.nvim);
        if cancels {
            chat.nvim.command("Acp cancel");
        } else {
            chat.nvim.exec_lua("_G.choose(nil)", []);
        }
        let error = chat.answer("w")["error"]["message"].to_string();
        assert!(error.contains("read it again"), "{error}");
        assert_eq!(chat.nvim.buffer_text(buf), "mine");
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
        set_files(&mut chat, &format!("{{ conflict = '{option}' }}"));
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
fn set_files(chat: &mut Scripted, files: &str) {
    let script = chat.project.file(".agent/script.json");
    let record = chat.project.file(".agent/record.jsonl");
    let path = |path: &std::path::Path| path.to_str().expect("a path in UTF-8").to_owned();
    let code = format!(
        "local command, script, record = ...
         require('acp').setup({{
           agents = {{ fake = {{ command = command, args = {{ '--script', script, '--record', record }} }} }},
           default_agent = 'fake',
           files = {files},
         }})"
    );
    let demo = path(support::demo_agent());
    chat.nvim.exec_lua(&code, [demo.into(), path(&script).into(), path(&record).into()]);
}

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

#[test]
fn a_conflict_with_the_disk_is_decided_by_the_user() {
    let mut chat =
        Scripted::new(&[("a.txt", "one\ntwo\n")], turns([vec![], read("r", "a.txt"), edited("a.txt")]));
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    catch_pickers(&mut chat.nvim);
    turn(&mut chat, 1);
    go_to(&mut chat.nvim, buf);
    chat.nvim.input("ccmine<Esc>");
    chat.nvim.wait_until(|nvim| modified(nvim, buf), "unsaved edits");
    turn(&mut chat, 2);
    chat.project.write("a.txt", "agent's\ntwo\nthree\n");
    turn(&mut chat, 3);
    let offered = wait_for_picker(&mut chat.nvim);
    assert!(offered.contains("Take what is on the disk, Keep mine"), "{offered}");
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
    let mut chat = Scripted::new(&[("a.txt", "one\n")], turns([read("r", "a.txt"), edited("a.txt")]));
    let buf = open(&mut chat.nvim, "a.txt");
    chat.chat();
    turn(&mut chat, 1);
    std::fs::remove_file(chat.project.file("a.txt")).expect("a file");
    turn(&mut chat, 2);
    chat.nvim.wait_for_screen("deleted on the disk");
    chat.wait_for("a.txt is gone from the disk");
    assert_eq!(chat.nvim.buffer_text(buf), "one");
    assert!(modified(&mut chat.nvim, buf));
    assert!(!chat.nvim.mode().blocking);
    go_to(&mut chat.nvim, buf);
    chat.nvim.command("write");
    assert_eq!(chat.project.read("a.txt"), "one\n");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("deleted on the disk"), "the note to go");
}

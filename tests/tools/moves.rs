//! Files that language servers want created, renamed and deleted: done as changes of the agent's, and undone as such.

use serde_json::json;

use crate::client::Client;
use crate::support::process::wait_for;
use crate::support::script::{Scripted, steps};
use crate::{CODE, changing, text};

fn rename(client: &mut Client, name: &str) -> (String, bool) {
    client.call("rename", json!({ "file": "a.lua", "line": 6, "symbol": "login", "new_name": name }))
}

fn act(client: &mut Client, title: &str) -> (String, bool) {
    client.call("code_action", json!({ "file": "b.lua", "line": 1, "apply": title }))
}

/// Waits until a file is there or not.
fn wait(chat: &mut Scripted, file: &str, is_there: bool) {
    let path = chat.project.file(file);
    chat.nvim.wait_until(|_| path.exists() == is_there, &format!("{file} to be there: {is_there}"));
}

/// Waits until the review shows these, and undoes all. What the disk tells comes a little later than the answer, and
/// where nothing is to be decided yet there is no review.
fn undo(chat: &mut Scripted, shown: &[&str]) {
    let code = "vim.cmd('silent! Acp review')
        return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')";
    for text in shown {
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua(code, []).as_str().is_some_and(|review| review.contains(text)),
            &format!("the review to show {text}"),
        );
    }
    chat.nvim.command("Acp undo! all");
}

#[test]
fn a_symbol_is_renamed_with_a_file_and_both_are_undone() {
    let (mut chat, mut client) = changing();
    let before = text(&mut chat.nvim, "a.lua");
    let (answer, failed) = rename(&mut client, "moved");
    let expected = "2 changed files for `login`\na.lua: 3 edits\nmoved.lua: renamed from b.lua, 1 edit";
    assert_eq!((answer.as_str(), failed), (expected, false));
    assert_eq!(chat.project.read("moved.lua"), "moved()\n");
    wait(&mut chat, "b.lua", false);
    assert_eq!(text(&mut chat.nvim, "a.lua"), before.replace("login", "moved"));
    undo(&mut chat, &["a.lua  ", "b.lua", "moved.lua"]);
    wait(&mut chat, "b.lua", true);
    wait(&mut chat, "moved.lua", false);
    assert_eq!(chat.project.read("b.lua"), "login()\n");
    chat.nvim.wait_until(|nvim| text(nvim, "a.lua") == before, "the text to be back");
}

#[test]
fn a_file_is_created_by_an_action_and_goes_when_it_is_undone() {
    let (mut chat, mut client) = changing();
    let (answer, failed) = act(&mut client, "Make another");
    assert_eq!((answer.as_str(), failed), ("1 changed file\ndeep/c.lua: created", false));
    assert_eq!(chat.project.read("deep/c.lua"), "new\n");
    let (again, failed) = act(&mut client, "Make another");
    assert_eq!((again.as_str(), failed), ("deep/c.lua is there already", true));
    undo(&mut chat, &["deep/c.lua  1 hunk · +1 -0 · new file"]);
    wait(&mut chat, "deep/c.lua", false);
}

#[test]
fn a_file_is_deleted_by_an_action_and_comes_back_when_it_is_undone() {
    let (mut chat, mut client) = changing();
    let (answer, failed) = act(&mut client, "Remove all");
    assert!(failed && answer.contains("is a folder, and only files are changed here"), "{answer}");
    assert_eq!(chat.project.read("b.lua"), "login()\n");
    let (answer, failed) = act(&mut client, "Remove it");
    assert_eq!((answer.as_str(), failed), ("1 changed file\nb.lua: deleted", false));
    wait(&mut chat, "b.lua", false);
    undo(&mut chat, &["b.lua  1 hunk · +0 -1 · deleted"]);
    wait(&mut chat, "b.lua", true);
    assert_eq!(chat.project.read("b.lua"), "login()\n");
}

#[test]
fn a_file_that_is_there_is_not_created_and_nothing_else_is_changed() {
    let (mut chat, mut client) = changing();
    let (answer, failed) = rename(&mut client, "created");
    assert_eq!((answer.as_str(), failed), ("1 changed file for `login`\nnew.lua: created", false));
    let (answer, failed) = rename(&mut client, "created");
    assert_eq!((answer.as_str(), failed), ("new.lua is there already", true));
    assert_eq!(text(&mut chat.nvim, "a.lua"), format!("-- mine\n{}", CODE.trim_end()));
}

#[test]
fn places_behind_characters_of_several_bytes_are_found() {
    let (mut chat, mut client) = changing();
    let code = "vim.api.nvim_buf_set_lines(0, 0, 1, false, { \"s = '😀é' .. login() -- ü\" })";
    chat.nvim.exec_lua(code, []);
    let place = json!({ "file": "a.lua", "line": 1, "symbol": "login", "new_name": "größe😀" });
    let answer = client.gives("rename", place);
    assert_eq!(answer, "2 changed files for `login`\na.lua: 4 edits\nb.lua: 1 edit");
    let renamed = format!("s = '😀é' .. größe😀() -- ü\n{}", CODE.trim_end().replace("login", "größe😀"));
    assert_eq!(text(&mut chat.nvim, "a.lua"), renamed);
    let edit = json!({ "file": "a.lua", "old": "😀é", "new": "ö" });
    assert_eq!(client.gives("edit_buffer", edit), "1 changed file for a.lua\na.lua: 1 edit");
    assert!(text(&mut chat.nvim, "a.lua").starts_with("s = 'ö' .. größe😀() -- ü\n"));
}

#[test]
fn what_a_server_says_of_a_text_that_the_user_has_changed_meanwhile_is_not_done() {
    let (mut chat, mut client) = changing();
    let place = json!({ "file": "a.lua", "line": 6, "symbol": "login", "new_name": "later" });
    let call = client.begin_call("rename", place);
    let asked = chat.project.file("asked");
    wait_for(|| asked.exists(), "the server to be asked");
    chat.nvim.exec_lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { '-- typed' })", []);
    assert_eq!(client.answer(call), ("a.lua was changed meanwhile; ask again".to_owned(), true));
    assert_eq!(text(&mut chat.nvim, "a.lua"), format!("-- typed\n-- mine\n{}", CODE.trim_end()));
    assert_eq!(chat.project.read("b.lua"), "login()\n");
}

#[test]
fn what_a_tool_has_changed_is_undone_and_kept_as_a_hunk() {
    let (mut chat, mut client) = changing();
    let edit = || json!({ "file": "a.lua", "old": "-- mine", "new": "yours" });
    let before = text(&mut chat.nvim, "a.lua");
    client.gives("edit_buffer", edit());
    assert_eq!(text(&mut chat.nvim, "a.lua"), before.replace("-- mine", "yours"));
    chat.nvim.exec_lua("vim.fn.win_gotoid(vim.fn.bufwinid('a.lua')) vim.cmd('1')", []);
    chat.nvim.command("Acp undo");
    chat.nvim.wait_until(|nvim| text(nvim, "a.lua") == before, "the hunk to be undone");
    client.gives("edit_buffer", edit());
    chat.nvim.command("Acp keep");
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("nothing is left to decide");
    assert_eq!(text(&mut chat.nvim, "a.lua"), before.replace("-- mine", "yours"));
}

#[test]
fn a_place_is_shown_to_those_who_follow_and_takes_no_window_of_theirs() {
    let mut chat = Scripted::new(&[("a.lua", CODE), ("b.lua", "login()\n")], steps([]));
    chat.configure("follow = true");
    chat.chat();
    let here = chat.nvim.exec_lua("return vim.api.nvim_get_current_win()", []);
    let mut client = Client::of(&mut chat);
    client.gives("open_place", json!({ "file": "a.lua", "line": 6 }));
    let code = "local win = vim.fn.bufwinid('a.lua')
        return win > 0 and vim.api.nvim_win_get_cursor(win)[1] or 0";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(code, []) == 6.into(), "the place to be shown");
    assert_eq!(chat.nvim.exec_lua("return vim.api.nvim_get_current_win()", []), here);
    assert_eq!(client.fails("open_place", json!({ "file": "a.lua", "line": 99 })), "a.lua has 7 lines");
    assert!(client.fails("open_place", json!({ "file": "/etc/passwd", "line": 1 })).contains("outside"));
}

//! Judging what agents changed: hunks in files after the fact, kept and undone by keys, reviewed,
//! commented, restored; in a real Neovim, against scripted agents.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};
use support::script::{Scripted, asks, ends, opened, prompt, says};

fn steps(more: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut steps = opened();
    steps.extend(more);
    steps
}

/// The agent writes a file through the client.
fn writes(path: &str, content: &str) -> [Value; 2] {
    [
        asks("w", "fs/write_text_file", json!({ "path": format!("$PROJECT/{path}"), "content": content })),
        json!({ "expect_reply": "w", "to": "w" }),
    ]
}

/// A file `a.txt` of five lines in which an agent has changed the second and added one at the end.
fn written() -> Scripted {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\nTWO\nthree\nfour\nfive\nsix\n"));
    all.extend([says("Changed."), ends("end_turn"), prompt(), says("Heard."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\nfour\nfive\n")], steps(all));
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.command("stopinsert | wincmd h");
    chat.nvim.wait_for_screen("- two");
    chat
}

#[test]
fn a_hunk_is_undone_by_a_command_in_one_step_and_comes_back_with_u() {
    let mut chat = written();
    assert!(chat.nvim.groups_of("TWO").contains(&"DiffAdd".to_owned()));
    chat.nvim.input("gg]c");
    chat.nvim.command("Acp undo");
    assert_eq!(chat.nvim.buffer_text(0), "one\ntwo\nthree\nfour\nfive\nsix");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunk to go");
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\nthree\nfour\nfive\nsix\n", "it is saved as it was");
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("- two");
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nthree\nfour\nfive\nsix");
    chat.nvim.input("<C-r>");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunk to go again");
}

#[test]
fn a_hunk_is_kept_and_the_keys_go_on_to_the_next() {
    let mut chat = written();
    chat.nvim.input("gg]c");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('.')", []), 2.into());
    chat.nvim.command("Acp keep");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunk to go");
    chat.nvim.input("]c");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('.')", []), 6.into());
    chat.nvim.command("Acp undo file");
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nthree\nfour\nfive");
    chat.nvim.input(":Acp undo<CR>");
    chat.nvim.wait_for_screen("no agent has changed anything here");
}

#[test]
fn what_the_user_types_is_no_hunk_and_survives_the_undoing() {
    let mut chat = written();
    chat.nvim.input("ggOmine<Esc>Gomine, too<Esc>3GA!<Esc>");
    chat.nvim.input(":Acp undo 1<CR>");
    chat.nvim.wait_for_screen("it takes hunk, file");
    chat.nvim.input("5GAby me<Esc>");
    assert_eq!(chat.nvim.buffer_text(0), "mine\none\nTWO!\nthree\nfourby me\nfive\nsix\nmine, too");
    chat.nvim.exec_lua(
        "vim.ui.select = function(items, options, answer) _G.asked = { options.prompt, items }; answer(items[2], 2) end",
        [],
    );
    chat.nvim.command("Acp undo file");
    assert_eq!(
        chat.nvim.exec_lua("return _G.asked[1]", []).as_str(),
        Some("You have changed 1 of these 2 hunks, too")
    );
    assert_eq!(chat.nvim.buffer_text(0), "mine\none\nTWO!\nthree\nfourby me\nfive\nmine, too");
    assert_eq!(
        chat.project.read("a.txt"),
        "one\nTWO\nthree\nfour\nfive\nsix\n",
        "unsaved edits stay unsaved"
    );
}

//! Files put back to how they were before a turn: from buffers and on the disk, undone again, after a
//! restart of Neovim; in a real Neovim, against scripted agents.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};
use support::script::{Scripted, asks, ends, opened, prompt, says};

/// The agent writes a file through the client.
fn writes(path: &str, content: &str) -> [Value; 2] {
    [
        asks("w", "fs/write_text_file", json!({ "path": format!("$PROJECT/{path}"), "content": content })),
        json!({ "expect_reply": "w", "to": "w" }),
    ]
}

/// Two turns: one changes a loaded file, an ignored one and makes a third, the next changes the first
/// again.
fn two_turns() -> Scripted {
    let mut all = opened();
    all.push(prompt());
    all.extend(writes("a.txt", "one\nTWO\nthree\n"));
    all.extend(writes("ignored.log", "b\r\nnoise"));
    all.extend(writes("deep/new.txt", "fresh\n"));
    all.extend([says("First."), ends("end_turn"), prompt()]);
    all.extend(writes("a.txt", "one\nTWO\nTHREE\n"));
    all.extend([says("Second."), ends("end_turn"), prompt(), says("Heard."), ends("end_turn")]);
    let files = [("a.txt", "one\ntwo\nthree\n"), ("ignored.log", "a\r\nb"), (".gitignore", "*.log\n")];
    let mut chat = Scripted::new(&files, all);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("Change two");
    chat.wait_for("First.");
    chat.wait_for("Done");
    chat.send("Change three");
    chat.wait_for("Second.");
    chat.nvim.command("stopinsert | wincmd h");
    chat.nvim.wait_for_screen("- three");
    answer_by_hand(&mut chat.nvim);
    chat
}

/// Pickers and notifications are kept, and answered by `choose`.
fn answer_by_hand(nvim: &mut support::Nvim) {
    nvim.exec_lua(
        "_G.told = {}
         vim.notify = function(text) table.insert(_G.told, text) end
         vim.ui.select = function(items, options, answer)
           _G.picker = { prompt = options.prompt, items = items, answer = answer }
         end",
        [],
    );
}

/// The picker that is open: its prompt and items, a line each.
fn picker(chat: &mut Scripted) -> String {
    let shown = "return _G.picker and table.concat({ _G.picker.prompt, unpack(_G.picker.items) }, '\\n')";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(shown, []).as_str().is_some(), "a picker");
    let shown = chat.nvim.exec_lua(shown, []);
    let text = shown.as_str().expect("a text").to_owned();
    let timeless = |line: &str| match line.as_bytes() {
        [b'0'..=b'2', b'0'..=b'9', b':', ..] => format!("HH:MM{}\n", &line[5..]),
        _ => format!("{line}\n"),
    };
    text.lines().map(timeless).collect()
}

fn choose(chat: &mut Scripted, index: usize) {
    chat.nvim
        .exec_lua(&format!("local p = _G.picker; _G.picker = nil; p.answer(p.items[{index}], {index})"), []);
}

fn wait_told(chat: &mut Scripted, text: &str) {
    let told = "return table.concat(_G.told, '\\n')";
    let mut all = String::new();
    chat.nvim.wait_until(
        |nvim| {
            all = nvim.exec_lua(told, []).as_str().unwrap_or_default().to_owned();
            all.contains(text)
        },
        &format!("to be told {text:?}"),
    );
}

#[test]
fn all_files_are_put_back_to_before_a_turn_and_that_is_undone_again() {
    let mut chat = two_turns();
    chat.nvim.command("Acp checkpoints");
    insta::assert_snapshot!(picker(&mut chat), @r"
    Put files back to how they were before
    HH:MM · Change three · 1 file +1 -1
    HH:MM · Change two · 3 files +4 -3
    ");
    choose(&mut chat, 2);
    insta::assert_snapshot!(picker(&mut chat), @r#"
    Before "Change two"
    All 3 files
    a.txt
    ignored.log
    deep/new.txt (was not there: is removed)
    "#);
    choose(&mut chat, 1);
    wait_told(&mut chat, "restored 3 files to before \"Change two\"");
    assert_eq!(chat.nvim.buffer_text(0), "one\ntwo\nthree");
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\nthree\n", "it is saved as it was");
    assert_eq!(chat.project.read("ignored.log"), "a\r\nb", "byte for byte");
    assert!(!chat.project.file("deep/new.txt").exists());
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunks to go");
    chat.nvim.input("u");
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nTHREE", "it is one step");
    chat.nvim.input("<C-r>:write<CR>");
    chat.nvim.command("Acp checkpoints");
    insta::assert_snapshot!(picker(&mut chat), @r"
    Put files back to how they were before
    HH:MM · Restored to before: Change two · 3 files +4 -5
    HH:MM · Change three · 1 file +1 -1
    HH:MM · Change two · 3 files +4 -3
    ");
    choose(&mut chat, 1);
    insta::assert_snapshot!(picker(&mut chat), @r#"
    Undo "Restored to before: Change two"
    All 3 files
    a.txt
    ignored.log
    deep/new.txt (comes back)
    "#);
    choose(&mut chat, 1);
    wait_told(&mut chat, "restored 3 files to before \"Restored to before: Change two\"");
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nTHREE");
    assert_eq!(chat.project.read("ignored.log"), "b\r\nnoise");
    assert_eq!(chat.project.read("deep/new.txt"), "fresh\n");
}

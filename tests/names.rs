//! Names that are more than the name of a file in the project: addresses that wake other plugins, characters
//! that Neovim expands, line breaks, places outside, and files with a second name elsewhere.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use rmpv::Value as Lua;
use serde_json::{Value, json};

use support::Nvim;
use support::project::TempProject;
use support::script::{Scripted, answered, asks, ends, permission, prompt, says, steps, update};

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";

/// A tool call that has been at a place.
fn visited(id: &str, path: &str) -> Value {
    update(
        json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("Look {id}"), "kind": "read",
        "status": "completed", "locations": [{ "path": path, "line": 1 }] }),
    )
}

fn loaded(nvim: &mut Nvim) -> Vec<String> {
    let code = "local names = {}
                for _, buf in ipairs(vim.api.nvim_list_bufs()) do
                  local name = vim.api.nvim_buf_get_name(buf)
                  if name ~= '' and not name:find('^acp://') then names[#names + 1] = name end
                end
                return names";
    let names = nvim.exec_lua(code, []);
    names.as_array().into_iter().flatten().filter_map(|name| name.as_str()).map(str::to_owned).collect()
}

// Names that mean something else to an editor.

const STRANGE: &[&str] = &[
    "term://touch woken",
    "scp://host/a.txt",
    "http://127.0.0.1:1/a",
    "zipfile:/x.zip::a.txt",
    "zipfile:there.txt",
    "tarfile::/x.tar::a",
    "fugitive:///x//0/a",
    "oil:///",
    "man://ls",
    "$PROJECT/term:/sh",
    "$PROJECT/a://b",
    "`touch woken`",
    "*",
    "$HOME",
    "%",
    "#",
    "~",
];

#[test]
fn no_name_that_an_agent_gives_wakes_another_plugin_or_is_expanded() {
    let mut parts = vec![prompt()];
    for (number, name) in STRANGE.iter().enumerate() {
        let id = number.to_string();
        parts.push(visited(&id, name));
        let diff = json!({ "toolCallId": format!("d{id}"), "title": format!("Edit {id}"), "kind": "edit",
            "status": "pending",
            "content": [{ "type": "diff", "path": name, "oldText": null, "newText": "new\n" }] });
        parts.push(permission(&format!("p{id}"), diff));
        parts.push(answered(&format!("p{id}")));
        parts.push(asks(&format!("r{id}"), READ, json!({ "path": format!("$PROJECT/{name}") })));
        parts.push(answered(&format!("r{id}")));
        parts.push(visited(&format!("again{id}"), name));
    }
    parts.extend([says("That was all."), ends("end_turn")]);
    let files = [("a.txt", "one\n"), ("zipfile:there.txt", "text\n"), ("*", "star\n"), ("%", "percent\n")];
    let mut chat = Scripted::new(&files, steps(parts));
    chat.configure("follow = { enabled = true }");
    chat.nvim.exec_lua(
        "_G.woken = {}
         vim.api.nvim_create_autocmd({ 'BufReadCmd', 'FileReadCmd' }, {
           pattern = { '*://*', 'zipfile:*', 'tarfile::*', 'term:*' },
           callback = function(event) table.insert(_G.woken, event.file) end,
         })
         vim.ui.select = function(items, _, choose) vim.schedule(function() choose(items[1], 1) end) end",
        [],
    );
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("go");
    let answer = "require('acp').answer('allow')";
    for number in 0..STRANGE.len() {
        chat.wait_for(&format!("Edit {number}"));
        let asked = "local asks = require('acp').status().sessions[1]; return asks and asks.state";
        chat.nvim.wait_until(
            |nvim| {
                let _ = nvim.try_lua(&format!("pcall(function() {answer} end)"), []);
                nvim.exec_lua(asked, []).as_str() != Some("asking")
            },
            "the answer",
        );
    }
    chat.wait_for("That was all.");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp locations session");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.getqflist({ size = 0 }).size", []).as_u64() > Some(0),
        "the list",
    );
    assert_eq!(chat.nvim.exec_lua("return _G.woken", []), Lua::Array(vec![]));
    for name in loaded(&mut chat.nvim) {
        let name = name.replace(&*chat.project.path().to_string_lossy(), "");
        assert!(!name.contains("://") && !name.starts_with("zipfile:"), "{name} is a buffer");
    }
    assert!(!chat.project.file("woken").exists());
    let jobs = chat.nvim.exec_lua(
        "local jobs = {}
         for _, channel in ipairs(vim.api.nvim_list_chans()) do
           if channel.mode == 'terminal' then jobs[#jobs + 1] = channel.id end
         end
         return #jobs",
        [],
    );
    assert_eq!(jobs.as_u64(), Some(0));
}

#[test]
fn a_file_whose_name_looks_like_an_address_is_opened_as_the_file_that_it_is() {
    let parts = vec![prompt(), visited("1", "zipfile:there.txt"), says("Done."), ends("end_turn")];
    let mut chat = Scripted::new(&[("zipfile:there.txt", "the text\n")], steps(parts));
    chat.nvim.exec_lua(
        "vim.api.nvim_create_autocmd('BufReadCmd', { pattern = 'zipfile:*', callback = function() _G.woken = 1 end })",
        [],
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("Done.");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd k");
    chat.nvim.exec_lua("vim.fn.search('Look 1', 'w')", []);
    chat.nvim.input("gd");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0).contains("the text"), "the file");
    assert!(chat.nvim.exec_lua("return _G.woken", []).is_nil());
}

#[test]
fn a_file_whose_name_has_a_line_break_is_its_open_buffer() {
    let name = "a\nb.txt";
    let path = format!("$PROJECT/{name}");
    let mut parts = vec![prompt(), asks("r", READ, json!({ "path": path })), answered("r")];
    parts.push(asks("w", WRITE, json!({ "path": path, "content": "one\nTWO\nthree\nmine\n" })));
    parts.extend([answered("w"), says("Written."), ends("end_turn")]);
    let mut chat = Scripted::new(&[(name, "one\ntwo\nthree\n")], steps(parts));
    let file = chat.project.file(name);
    chat.nvim.exec_lua(
        "local buf = vim.fn.bufadd(...)
         vim.fn.bufload(buf)
         vim.bo[buf].buflisted = true
         vim.api.nvim_win_set_buf(0, buf)
         vim.api.nvim_buf_set_lines(buf, 3, 3, true, { 'mine' })",
        [file.to_str().expect("a path in UTF-8").into()],
    );
    let buf = chat.nvim.exec_lua("return vim.api.nvim_get_current_buf()", []).as_u64().expect("a buffer");
    chat.chat();
    chat.send("go");
    chat.wait_for("Written.");
    assert_eq!(chat.answer("r")["result"]["content"], "one\ntwo\nthree\nmine\n");
    assert_eq!(chat.nvim.buffer_text(buf), "one\nTWO\nthree\nmine");
}

// Outside of the project.

#[test]
fn a_place_outside_is_not_opened_unasked_but_listed_and_a_key_away() {
    let other = TempProject::new(&[("far.txt", "theirs\n")]);
    let far = other.file("far.txt");
    let path = far.to_str().expect("a path in UTF-8").to_owned();
    let parts = vec![
        prompt(),
        visited("1", &path),
        visited("2", "$PROJECT/link.txt"),
        visited("3", "$PROJECT/b.txt"),
        says("Done."),
        ends("end_turn"),
    ];
    let mut chat = Scripted::new(&[("a.txt", "one\n"), ("b.txt", "two\n")], steps(parts));
    std::os::unix::fs::symlink(&far, chat.project.file("link.txt")).expect("a link");
    chat.configure("follow = { enabled = true }");
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("go");
    chat.wait_for("Done.");
    chat.wait_for("outside the session's folders");
    let transcript = chat.transcript();
    assert_eq!(transcript.matches("outside the session's folders").count(), 1, "{transcript}");
    let names = loaded(&mut chat.nvim);
    assert!(!names.iter().any(|name| name.ends_with("far.txt") || name.ends_with("link.txt")), "{names:?}");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp locations session");
    let listed =
        "return vim.tbl_map(function(item) return vim.fn.bufname(item.bufnr) end, vim.fn.getqflist())";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(listed, []).to_string().contains("far.txt"),
        "the place to be listed",
    );
    chat.nvim.input("gg<CR>");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0).contains("theirs"), "the file");
}

/// What was asked, and the first answer given to each question.
fn say_yes(nvim: &mut Nvim, choice: u64) {
    nvim.exec_lua(
        "local number = ...
         _G.asked = {}
         vim.ui.select = function(items, options, choose)
           table.insert(_G.asked, options.prompt .. ' ' .. table.concat(items, '; '))
           vim.schedule(function() choose(items[number], number) end)
         end",
        [choice.into()],
    );
}

#[test]
fn a_write_to_a_file_with_a_name_outside_the_project_is_asked_about() {
    let other = TempProject::new(&[("far.txt", "theirs\n")]);
    let write = |id: &str, name: &str| {
        [
            asks(id, WRITE, json!({ "path": format!("$PROJECT/{name}"), "content": format!("{id}\n") })),
            answered(id),
        ]
    };
    let mut parts = vec![prompt()];
    // Both names of this one are in the project.
    parts.extend(write("inside", "one.txt"));
    parts.extend(write("leaves", "far.txt"));
    parts.extend([says("Done."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("one.txt", "one\n")], steps(parts));
    let link = |from: &std::path::Path, to: &str| {
        std::fs::hard_link(from, chat.project.file(to)).expect("a hard link");
    };
    link(&chat.project.file("one.txt"), "two.txt");
    link(&other.file("far.txt"), "far.txt");
    say_yes(&mut chat.nvim, 4);
    chat.chat();
    chat.send("go");
    chat.wait_for("Done.");
    assert!(chat.answer("inside")["error"].is_null());
    assert_eq!(chat.project.read("two.txt"), "inside\n");
    assert!(chat.answer("leaves")["error"].is_object());
    assert_eq!(other.read("far.txt"), "theirs\n");
    let asked = chat.nvim.exec_lua("return #_G.asked", []);
    assert_eq!(asked.as_u64(), Some(1));
}

#[test]
fn of_files_in_an_ignored_folder_with_names_elsewhere_the_user_is_asked_once() {
    let store = TempProject::new(&[("a.js", "a\n"), ("b.js", "b\n")]);
    let mut parts = vec![prompt()];
    for id in ["a", "b"] {
        let path = format!("$PROJECT/node_modules/{id}/{id}.js");
        parts.push(asks(id, WRITE, json!({ "path": path, "content": "new\n" })));
        parts.push(answered(id));
    }
    parts.extend([says("Done."), ends("end_turn")]);
    let files = [
        (".gitignore", "node_modules\n"),
        ("node_modules/a/x", ""),
        ("node_modules/b/x", ""),
        (".git/x", ""),
    ];
    let mut chat = Scripted::new(&files, steps(parts));
    for id in ["a", "b"] {
        let to = chat.project.file(&format!("node_modules/{id}/{id}.js"));
        std::fs::hard_link(store.file(&format!("{id}.js")), to).expect("a hard link");
    }
    say_yes(&mut chat.nvim, 2);
    chat.chat();
    chat.send("go");
    chat.wait_for("Done.");
    assert_eq!(store.read("b.js"), "new\n");
    let asked = chat.nvim.exec_lua("return _G.asked", []);
    assert_eq!(asked.as_array().map(Vec::len), Some(1), "{asked}");
    assert!(asked.to_string().contains("node_modules"), "{asked}");
}

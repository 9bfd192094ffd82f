//! A disk that does not answer: whatever an agent names, reads, writes or proposes there, keys go on being
//! answered, and so are the agent's other requests. The disk is a folder of the project; a library that is
//! loaded into Neovim before all others has each call that leads there wait.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, answered, asks, ends, permission, prompt, says, steps, update};

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";

/// The library, compiled once.
fn shim() -> &'static PathBuf {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let library =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("dead_disk-{}.so", std::process::id()));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dead_disk/shim.c");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut compile = Command::new(compiler);
        compile.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
        assert!(compile.status().expect("a C compiler").success());
        library
    })
}

/// A project whose folder `net` is on a disk that answers from [`Disk::revive`] until [`Disk::die`].
struct Disk {
    alive: PathBuf,
}

impl Disk {
    fn die(&self) {
        std::fs::remove_file(&self.alive).expect("a disk that answers");
    }

    fn revive(&self) {
        std::fs::write(&self.alive, "").expect("a file");
    }
}

fn on_dead_disk(parts: Vec<Value>) -> (Scripted, Disk) {
    let files = [("a.txt", "one\ntwo\n"), ("net/b.txt", "far\n"), ("net/c.txt", "away\n")];
    let chat = Scripted::with_env(&files, steps(parts), |project| {
        let path = |name: &str| project.file(name).to_str().expect("a path in UTF-8").to_owned();
        vec![
            ("ACP_DEAD_FOLDER".to_owned(), path("net")),
            ("ACP_DEAD_ALIVE".to_owned(), path(".agent/alive")),
            ("LD_PRELOAD".to_owned(), shim().to_str().expect("a path in UTF-8").to_owned()),
        ]
    });
    let disk = Disk { alive: chat.project.file(".agent/alive") };
    (chat, disk)
}

/// Types into the buffer that the user is in, and waits until it is there.
#[track_caller]
fn keys_are_answered(nvim: &mut Nvim, round: usize) {
    let word = format!("typed{round}");
    nvim.input(&format!("o{word}<Esc>"));
    nvim.wait_until(|nvim| nvim.buffer_text(0).contains(&word), "the keys");
}

fn call(id: &str, kind: &str, path: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("{kind} {path}"),
        "kind": kind, "status": "in_progress", "locations": [{ "path": format!("$PROJECT/{path}"), "line": 1 }] }))
}

fn edit(id: &str, path: &str) -> Value {
    json!({ "toolCallId": id, "title": format!("Edit {path}"), "kind": "edit", "status": "pending",
        "content": [{ "type": "diff", "path": format!("$PROJECT/{path}"), "oldText": "far", "newText": "near" }] })
}

fn done(id: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed" }))
}

/// An agent that has to do with the dead disk in every way there is, and then with a file elsewhere.
fn everything() -> Vec<Value> {
    let path = |name: &str| format!("$PROJECT/{name}");
    let mut diff = edit("3", "net/b.txt");
    diff["sessionUpdate"] = "tool_call".into();
    vec![
        prompt(),
        call("1", "read", "net/b.txt"),
        asks("r1", READ, json!({ "path": path("net/b.txt") })),
        asks("w1", WRITE, json!({ "path": path("net/new/n.txt"), "content": "new\n" })),
        call("2", "edit", "net/c.txt"),
        asks("r2", READ, json!({ "path": path("net/c.txt") })),
        asks("t1", "terminal/create", json!({ "command": "true", "cwd": path("net") })),
        update(diff),
        done("3"),
        permission("p1", edit("4", "net/c.txt")),
        asks("r3", READ, json!({ "path": path("a.txt") })),
        answered("r3"),
        asks("w3", WRITE, json!({ "path": path("other.txt"), "content": "there\n" })),
        answered("w3"),
        says("The other files work."),
    ]
}

#[test]
fn a_disk_that_does_not_answer_holds_no_key_and_goes_on_where_it_was() {
    let mut parts = everything();
    parts.extend(["p1", "r1", "w1", "r2", "t1"].map(answered));
    parts.extend([done("1"), done("2"), says("All answered."), ends("end_turn")]);
    let (mut chat, disk) = on_dead_disk(parts);
    // A picker would take the keys; the answer comes later.
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.nvim.command("edit a.txt");
    chat.nvim.command("Acp follow on");
    chat.chat();
    chat.send("Go");
    chat.wait_for("The other files work.");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd t | edit! other.md");
    for round in 0..20 {
        keys_are_answered(&mut chat.nvim, round);
    }
    chat.nvim.command("Acp locations");
    chat.nvim.wait_for_screen("its disk does not answer");
    chat.nvim.command("cclose | Acp diff");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.bufexists('acp://before/other.txt')", []).as_u64() == Some(1),
        "the diff of the file elsewhere",
    );
    chat.nvim.command("Acp review");
    chat.nvim.command("tabnew");
    keys_are_answered(&mut chat.nvim, 20);
    let list = "return vim.tbl_map(function(item) return item.text end, vim.fn.getqflist())";
    let listed = chat.nvim.exec_lua(list, []).to_string();
    assert!(listed.contains("its disk does not answer"), "{listed}");
    chat.nvim.exec_lua("require('acp').answer('allow')", []);
    disk.revive();
    chat.wait_for("All answered.");
    let result = |answer: &Value| answer["result"]["content"].as_str().map(str::to_owned);
    assert_eq!(result(&chat.answer("r1")).as_deref(), Some("far\n"));
    assert_eq!(result(&chat.answer("r2")).as_deref(), Some("away\n"));
    assert!(chat.answer("t1")["result"]["terminalId"].is_string());
    let written = std::fs::read_to_string(chat.project.file("net/new/n.txt"));
    assert_eq!(written.expect("the file"), "new\n");
}

#[test]
fn a_turn_on_a_dead_disk_can_be_cancelled_and_neovim_leaves() {
    let mut parts = everything();
    parts.push(json!({ "expect": "session/cancel" }));
    parts.extend(["p1", "r1", "w1", "r2"].map(answered));
    parts.push(ends("cancelled"));
    let (mut chat, _disk) = on_dead_disk(parts);
    chat.nvim.command("Acp follow on");
    chat.chat();
    chat.send("Go");
    chat.wait_for("The other files work.");
    chat.nvim.command("Acp cancel");
    chat.wait_for("ancelled");
    for id in ["r1", "w1", "r2"] {
        assert!(chat.answer(id)["error"].is_object(), "{id}");
    }
    let begin = std::time::Instant::now();
    chat.nvim.quit();
    eprintln!("left in {:?}", begin.elapsed());
    assert!(!chat.project.file("net/new/n.txt").exists());
}

/// Keys that write the text that the user is in, the one of `a.txt`.
struct Writing {
    keys: &'static str,
    /// What holds the text afterwards.
    file: &'static str,
}

const fn writing(keys: &'static str) -> Writing {
    Writing { keys, file: "a.txt" }
}

const WRITINGS: &[Writing] = &[
    writing(":write<CR>"),
    writing(":w!<CR>"),
    writing(":w a.txt<CR>"),
    writing(":silent lockmarks update<CR>"),
    writing(":let g:x = 1 | write<CR>"),
    writing(":wq<CR>"),
    writing(":x<CR>"),
    writing(":exit<CR>"),
    writing("ZZ"),
    writing(":wnext<CR>"),
    writing(":wNext<CR>"),
    writing(":wprevious<CR>"),
    writing("<Cmd>write<CR>"),
    writing(":1,2windo update<CR>"),
    writing(":lua vim.cmd.write()<CR>"),
    writing(":saveas! a.txt<CR>"),
    writing("<C-w>o:set nohidden autowrite<CR>:next<CR>:set hidden noautowrite<CR>"),
    Writing { keys: ":w copy.txt<CR>", file: "copy.txt" },
    Writing { keys: ":w >> appended.txt<CR>", file: "appended.txt" },
];

/// Neovim itself looks at all buffers after a shell's command, so `:write !` is not one of them.
#[test]
fn a_write_looks_at_no_disk_but_the_one_that_it_writes_to() {
    let (mut chat, disk) = on_dead_disk(vec![]);
    disk.revive();
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.exec_lua(
        "vim.cmd('silent! only!') vim.o.hidden, vim.o.switchbuf = true, 'useopen'
         for _, name in ipairs({ 'net/b.txt', 'net/c.txt' }) do
           vim.cmd.edit(name)
           vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'unsaved' })
         end",
        [],
    );
    chat.nvim.command("args other.txt a.txt another.txt");
    for (at, writing) in WRITINGS.iter().enumerate() {
        let Writing { keys, file } = writing;
        let word = format!("typed{at}");
        chat.project.write("appended.txt", "");
        // Windows with the unsaved file of the disk, with one of a.txt more than is closed.
        chat.nvim.exec_lua(
            "vim.cmd('silent! only! | 2argument! | edit! | botright split net/c.txt | wincmd p | split')
             vim.api.nvim_buf_set_lines(0, -1, -1, false, { ... })",
            [word.as_str().into()],
        );
        disk.die();
        chat.nvim.input(keys);
        let path = chat.project.file(file);
        let ending = format!("\n{word}\n");
        chat.nvim
            .wait_until(|_| std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with(&ending)), keys);
        disk.revive();
        chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
    }
    // What was not written is not lost.
    let kept = "return vim.tbl_map(function(name) return vim.bo[vim.fn.bufnr(name)].modified end, { ... })";
    let kept = chat.nvim.exec_lua(kept, ["net/b.txt".into(), "net/c.txt".into()]);
    assert_eq!(kept, rmpv::Value::Array(vec![true.into(), true.into()]));
    // It can be brought to safety.
    chat.nvim.command("silent! only! | buffer net/c.txt");
    disk.die();
    let rescued = chat.project.file("rescued.txt");
    chat.nvim.input(&format!(":write {}<CR>", rescued.display()));
    chat.nvim.wait_until(
        |_| std::fs::read_to_string(&rescued).is_ok_and(|text| text == "away\nunsaved\n"),
        "the text of the dead disk",
    );
    disk.revive();
}

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

/// A project whose folder `net` is on a disk that answers once [`Disk::revive`] was called.
struct Disk {
    alive: PathBuf,
}

impl Disk {
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

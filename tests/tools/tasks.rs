//! Commands that agents run by a tool: what they read of them, what the user sees, and that nothing of them is left
//! behind.

use std::path::Path;

use serde_json::json;

use crate::client::Client;
use crate::support::Nvim;
use crate::support::process::wait_for;
use crate::support::script::{Scripted, ends, prompt, steps};

fn running(parts: Vec<serde_json::Value>) -> (Scripted, Client) {
    let mut chat = Scripted::new(&[], steps(parts));
    chat.configure("follow = false");
    chat.chat();
    let client = Client::of(&mut chat);
    (chat, client)
}

/// Begins a command that goes on until it is ended, and gives its process.
fn endless(chat: &mut Scripted, client: &mut Client) -> (i64, u32) {
    let call =
        client.begin_call("run_task", json!({ "command": "echo $$ > pid.tmp; mv pid.tmp pid; sleep 1000" }));
    let file = chat.project.file("pid");
    wait_for(|| file.exists(), "the command to begin");
    let pid = chat.project.read("pid").trim().parse().expect("a process");
    std::fs::remove_file(&file).expect("the file to go");
    assert!(is_alive(pid));
    (call, pid)
}

fn is_alive(pid: u32) -> bool {
    let state = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    state.is_ok_and(|state| !state.contains(") Z "))
}

fn terminals(nvim: &mut Nvim) -> u64 {
    let code = "return #vim.tbl_filter(function(buf) return vim.bo[buf].buftype == 'terminal' end,
        vim.api.nvim_list_bufs())";
    nvim.exec_lua(code, []).as_u64().expect("a number")
}

#[test]
fn a_command_gives_its_end_and_the_end_of_its_output_and_is_seen() {
    let (mut chat, mut client) = running(Vec::new());
    let line = "printf '\\033[31mred\\033[0m\\n'; pwd; exit 3";
    let answer = client.gives("run_task", json!({ "command": line }));
    let cwd = chat.project.path().canonicalize().expect("a folder");
    assert_eq!(answer, format!("exit code 3\nred\n{}", cwd.display()));
    chat.nvim.wait_until(|nvim| terminals(nvim) == 1, "a terminal of it");
    assert_eq!(client.gives("run_task", json!({ "command": "true" })), "exit code 0, no output");
    let much = client.gives("run_task", json!({ "command": "yes line | head -n 100000; echo last" }));
    assert!(much.starts_with("exit code 0 (only the last 30000 bytes of the output)\n"), "{:.80}", much);
    assert!(much.ends_with("line\nlast") && much.len() < 31_000);
    let answer = client.gives("run_task", json!({ "command": "sleep 1000", "timeout": 1 }));
    assert!(answer.starts_with("ended by ") && answer.contains("[ended after 1 s"), "{answer}");
    assert!(client.fails("run_task", json!({ "command": "nosuchprogram" })).contains("nosuchprogram"));
    assert!(client.fails("run_task", json!({ "command": "true", "folder": "none" })).contains("none"));
}

#[test]
fn a_command_ends_with_the_call_the_bridge_and_the_agent() {
    let (mut chat, mut client) = running(Vec::new());
    let (call, pid) = endless(&mut chat, &mut client);
    client.tell("notifications/cancelled", json!({ "requestId": call }));
    wait_for(|| !is_alive(pid), "the command to end with its call");

    let (_, pid) = endless(&mut chat, &mut client);
    client.bridge.kill().expect("the bridge to be killed");
    wait_for(|| !is_alive(pid), "the command to end with the bridge");

    let mut client = Client::of(&mut chat);
    let (_, pid) = endless(&mut chat, &mut client);
    let code = "vim.uv.kill(require('acp').status().agents[1].pid, 'sigkill')";
    chat.nvim.exec_lua(code, []);
    wait_for(|| !is_alive(pid), "the command to end with the agent");
}

#[test]
fn a_command_ends_with_its_turn_and_with_neovim() {
    let (mut chat, mut client) =
        running(vec![prompt(), json!({ "expect": "session/cancel" }), ends("cancelled")]);
    chat.send("go");
    chat.got("session/prompt");
    let (call, pid) = endless(&mut chat, &mut client);
    chat.nvim.command("Acp cancel");
    let (text, failed) = client.answer(call);
    assert!(!failed && text.starts_with("ended"), "{text}");
    wait_for(|| !is_alive(pid), "the command to end with its turn");

    let (_, pid) = endless(&mut chat, &mut client);
    chat.nvim.kill9();
    wait_for(|| !is_alive(pid), "the command to end with Neovim");
}

#[test]
fn where_a_command_may_run_is_the_users_to_say() {
    let mut chat = Scripted::new(&[], steps([]));
    chat.configure("follow = false, files = { outside = 'refuse' }");
    chat.chat();
    let mut client = Client::of(&mut chat);
    let refused = client.fails("run_task", json!({ "command": "touch made", "folder": "/tmp" }));
    assert!(refused.contains("did not allow it in /tmp"), "{refused}");
}

#[test]
fn a_command_has_a_line_in_the_chat_that_leads_to_its_terminal() {
    let (mut chat, mut client) = running(Vec::new());
    assert!(client.gives("run_task", json!({ "command": "echo by a tool; false" })).contains("by a tool"));
    chat.wait_for("echo by a tool; false");
    chat.go_to("echo by a tool; false");
    chat.nvim.input("<CR>");
    let here = "return vim.bo.filetype";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(here, []) == "acp-terminal".into(), "the terminal");
}

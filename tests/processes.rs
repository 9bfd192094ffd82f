//! Nothing that an agent has started outlives it or Neovim, however either of them ends, and leaving
//! Neovim doesn't wait for it. The processes are real, and found by an environment variable of the test's.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use support::process::wait_for;
use support::script::{Scripted, prompt, says, steps};

/// Longer than leaving takes on a busy machine, and less than a single grace of an agent's.
const QUICK: Duration = Duration::from_millis(240);

/// What escapes its agent: by `setsid`, by a double fork, and deaf to requests.
fn escaping() -> [Value; 3] {
    let shell = |line: &str| json!({ "spawn": ["sh", "-c", line] });
    [
        shell("exec setsid sleep 1001"),
        shell("(setsid sleep 1002 &) &"),
        shell("trap '' TERM HUP INT; exec setsid sleep 1003"),
    ]
}

fn sleeping(chat: &Scripted) -> Vec<String> {
    let processes = chat.nvim.processes().into_iter();
    let commands = processes.map(|process| process.command);
    commands.filter(|command| command.starts_with("sleep 100")).collect()
}

/// A chat whose agent has started all that, and plays these steps before and after.
fn busy(before: &[Value], after: &[Value]) -> Scripted {
    let mut parts = before.to_vec();
    parts.extend([prompt()]);
    parts.extend(escaping());
    parts.extend([says("All is running.")]);
    parts.extend_from_slice(after);
    let mut chat = Scripted::new(&[], steps(parts));
    chat.chat();
    chat.send("go");
    chat.wait_for("All is running.");
    wait_for(|| sleeping(&chat).len() == 3, "all that the agent starts");
    chat
}

#[track_caller]
fn wait_until_alone(chat: &Scripted) {
    let began = Instant::now();
    wait_for(
        || chat.nvim.processes().is_empty() || began.elapsed() > Duration::from_secs(3),
        "all to be gone",
    );
    assert_eq!(chat.nvim.processes(), [], "something was left behind");
}

#[track_caller]
fn quit(chat: &mut Scripted) {
    let began = Instant::now();
    chat.nvim.quit();
    let took = began.elapsed();
    assert!(took < QUICK, "leaving took {took:?}");
}

#[test]
fn stopping_an_agent_ends_what_escaped_it() {
    let mut chat = busy(&[], &[]);
    chat.nvim.command("Acp stop");
    wait_for(|| sleeping(&chat).is_empty(), "what escaped to be gone");
}

#[test]
fn stopping_an_agent_that_ignores_the_request_ends_what_escaped_it() {
    let mut chat = busy(&[json!({ "ignore_term": true })], &[json!({ "delay_ms": 600_000 })]);
    chat.nvim.command("Acp stop");
    wait_for(|| sleeping(&chat).is_empty(), "what escaped to be gone");
    let agent = || chat.nvim.processes().iter().any(|process| process.command.contains("acp-demo-agent"));
    wait_for(|| !agent(), "the agent to be gone");
}

#[test]
fn leaving_neovim_ends_what_escaped_and_does_not_wait_for_it() {
    let mut chat = busy(&[], &[]);
    quit(&mut chat);
    wait_until_alone(&chat);
}

#[test]
fn leaving_neovim_ends_an_agent_that_ignores_the_request_and_does_not_wait_for_it() {
    let mut chat = busy(&[json!({ "ignore_term": true })], &[json!({ "delay_ms": 600_000 })]);
    quit(&mut chat);
    wait_until_alone(&chat);
}

#[test]
fn killing_neovim_ends_what_escaped_its_agent() {
    let mut chat = busy(&[], &[]);
    chat.nvim.kill9();
    wait_until_alone(&chat);
}

#[test]
fn however_neovim_ends_nothing_is_left() {
    for signal in [libc::SIGSEGV, libc::SIGABRT, libc::SIGTERM, libc::SIGHUP] {
        let mut chat = busy(&[], &[]);
        send(signal, chat.nvim.pid());
        chat.nvim.wait_for_end();
        wait_until_alone(&chat);
    }
}

#[test]
fn a_guard_that_is_killed_is_replaced() {
    let mut chat = busy(&[], &[]);
    let first = guard(&chat).expect("a guard");
    send(libc::SIGKILL, first);
    wait_for(|| guard(&chat).is_some_and(|now| now != first), "another guard");
    chat.nvim.kill9();
    wait_until_alone(&chat);
}

#[test]
fn the_guard_is_out_of_reach_of_what_ends_neovims_group_and_terminal() {
    let chat = busy(&[], &[]);
    let guard = guard(&chat).expect("a guard").cast_signed();
    // SAFETY: it only asks for a number.
    assert_eq!(unsafe { libc::getsid(guard) }, guard);
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGQUIT] {
        send(signal, guard.cast_unsigned());
    }
    let mut chat = chat;
    chat.nvim.kill9();
    wait_until_alone(&chat);
}

fn guard(chat: &Scripted) -> Option<u32> {
    let processes = chat.nvim.processes().into_iter();
    processes.filter(|process| process.command.starts_with("/bin/sh -c")).map(|process| process.pid).next()
}

fn send(signal: i32, process: u32) {
    // SAFETY: takes two numbers, of which one is a process of this test.
    assert_eq!(unsafe { libc::kill(process.cast_signed(), signal) }, 0);
}

#[test]
fn what_cleared_its_environment_ends_with_its_agent_and_when_neovim_leaves() {
    for end in [stop, quit] {
        // Of this test alone: nothing else tells it from others.
        let time = format!("2001.{}", std::process::id());
        let command = format!("sleep {time}");
        let mut chat = busy(&[json!({ "spawn": ["env", "-i", "setsid", "sleep", time] })], &[]);
        wait_for(|| runs(&command), "it to start");
        end(&mut chat);
        wait_for(|| !runs(&command), "it to be gone");
    }
}

fn stop(chat: &mut Scripted) {
    chat.nvim.command("Acp stop");
}

/// Whether a process of this command line runs, whatever its environment is.
fn runs(command: &str) -> bool {
    let folders = std::fs::read_dir("/proc").expect("/proc on Linux").flatten();
    folders
        .filter_map(|folder| std::fs::read(folder.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ") == command)
}

/// An agent that needs a moment to clean up, and leaves a file when it has.
fn cleaning() -> Scripted {
    let steps = [
        json!({ "wait_eof": true }),
        json!({ "delay_ms": 300 }),
        json!({ "spawn": ["touch", "cleaned"] }),
        json!({ "delay_ms": 20 }),
    ];
    // As agents do that are asked to end while they do so already.
    busy(&[json!({ "ignore_term": true })], &steps)
}

#[test]
fn an_agent_cleans_up_when_it_is_stopped() {
    let mut chat = cleaning();
    chat.nvim.command("Acp stop");
    wait_for(|| chat.project.file("cleaned").exists(), "the agent to clean up");
    wait_for(|| sleeping(&chat).is_empty(), "what escaped to be gone");
}

#[test]
fn an_agent_cleans_up_when_neovim_leaves() {
    let mut chat = cleaning();
    quit(&mut chat);
    wait_until_alone(&chat);
    assert!(chat.project.file("cleaned").exists(), "it was given no time");
}

#[test]
fn an_agent_cleans_up_when_neovim_is_killed() {
    let mut chat = cleaning();
    chat.nvim.kill9();
    wait_until_alone(&chat);
    assert!(chat.project.file("cleaned").exists(), "it was given no time");
}

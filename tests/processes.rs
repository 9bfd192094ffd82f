//! Nothing that an agent has started outlives it or Neovim, however either of them ends, and leaving
//! Neovim doesn't wait for it. The processes are real, and found by an environment variable of the test's.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use support::process::{Process, wait_for};
use support::project::TempProject;
use support::script::{Scripted, asks, prompt, says, steps};
use support::{Options, demo_agent, unique};

/// Longer than leaving takes on a busy machine, where it is 40 to 60 ms, and less than the deaf take to be
/// killed: it tells who has waited for them.
const QUICK: Duration = Duration::from_millis(700);

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

#[test]
fn an_agent_whose_keeper_was_killed_is_ended_with_all_that_it_started() {
    for end in [stop as fn(&mut Scripted), kill9] {
        let mut chat = busy(&[], &[]);
        send(libc::SIGKILL, keeper(&chat).expect("a keeper"));
        end(&mut chat);
        wait_for(|| sleeping(&chat).is_empty(), "what escaped to be gone");
    }
}

#[test]
fn an_agent_whose_keeper_was_killed_is_said_to_be_gone() {
    let mut chat = busy(&[], &[]);
    send(libc::SIGKILL, keeper(&chat).expect("a keeper"));
    chat.wait_for("R starts it again");
    wait_for(|| sleeping(&chat).is_empty(), "what escaped to be gone");
}

#[test]
fn a_keeper_ends_with_its_agent_and_holds_none_of_its_pipes() {
    let mut chat = Scripted::new(&[], steps([prompt(), json!({ "exit": 3 })]));
    chat.chat();
    let keeper = keeper(&chat).expect("a keeper");
    for pipe in 0..3 {
        let file = std::fs::read_link(format!("/proc/{keeper}/fd/{pipe}")).expect("a descriptor");
        assert_eq!(file.to_str(), Some("/dev/null"));
    }
    chat.send("go");
    chat.wait_for("ended with exit code 3");
    wait_for(|| self::keeper(&chat).is_none(), "the keeper to be gone");
}

fn kill9(chat: &mut Scripted) {
    chat.nvim.kill9();
}

fn keeper(chat: &Scripted) -> Option<u32> {
    let processes = chat.nvim.processes().into_iter();
    processes.filter(|process| process.command.starts_with("acp-keeper")).map(|process| process.pid).next()
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
    all_processes().iter().any(|process| process.command == command)
}

/// All processes there are, whatever their environments.
fn all_processes() -> Vec<Process> {
    let folders = std::fs::read_dir("/proc").expect("/proc on Linux").flatten();
    let process = |folder: std::fs::DirEntry| {
        let pid = folder.file_name().to_str()?.parse().ok()?;
        // One that has ended has none, as those inside the kernel.
        let line = std::fs::read(folder.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ");
        Some(Process { pid, command })
    };
    folders.filter_map(process).collect()
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

// All ways in which Neovim ends, and all that may be left.

/// How long what is left may take to go.
const LEFT: Duration = Duration::from_secs(3);

/// Sleepers of one test, told from all others by how long they sleep.
struct Sleepers(String);

impl Sleepers {
    const KINDS: [&str; 13] = [
        "a terminal's child",
        "a terminal's daemon",
        "a terminal's child that ignores TERM",
        "an agent's child",
        "an agent's daemon",
        "an agent's daemon that ignores TERM",
        "an agent's child without an environment",
        "an agent's daemon without an environment",
        "an agent's daemon without an environment that ignores TERM",
        "a terminal's child without an environment",
        "a terminal's session without an environment",
        "a terminal's daemon without an environment",
        "a terminal's daemon without an environment that ignores TERM",
    ];

    fn new() -> Self {
        let unique: String = unique().chars().filter(char::is_ascii_digit).collect();
        Self(unique)
    }

    /// A command line that sleeps, as the kind of this number.
    fn line(&self, kind: usize) -> String {
        format!("sleep 300{kind}.{}", self.0)
    }

    /// What an agent does to have one of each kind.
    fn steps(&self) -> Vec<Value> {
        let line = |kind| self.line(kind);
        let terminal = [
            format!("{} &", line(0)),
            format!("(setsid {} &) &", line(1)),
            format!("(trap '' TERM HUP INT; exec {}) &", line(2)),
            format!("env -i {} &", line(9)),
            format!("setsid env -i {} &", line(10)),
            format!("(env -i setsid sh -c '(exec {}) & exit' &) &", line(11)),
            format!("(trap '' TERM HUP INT; (setsid env -i {} &) &) &", line(12)),
            "wait".to_owned(),
        ]
        .join(" ");
        let shell = |line: String| json!({ "spawn": ["sh", "-c", line] });
        vec![
            asks("t", "terminal/create", json!({ "command": "sh", "args": ["-c", terminal] })),
            shell(format!("exec {}", line(3))),
            shell(format!("(setsid {} &) &", line(4))),
            shell(format!("trap '' TERM HUP INT; (setsid {} &) &", line(5))),
            shell(format!("exec env -i {}", line(6))),
            shell(format!("(setsid env -i {} &) &", line(7))),
            shell(format!("trap '' TERM HUP INT; (setsid env -i {} &) &", line(8))),
        ]
    }

    /// The kinds that are still there.
    fn left(&self) -> Vec<&'static str> {
        let all = all_processes();
        let runs = |kind| all.iter().any(|process| process.command == self.line(kind));
        let kinds = Self::KINDS.iter().enumerate();
        kinds.filter(|(kind, _)| runs(*kind)).map(|(_, what)| *what).collect()
    }

    #[track_caller]
    fn wait_until_all_are_there(&self) {
        wait_for(|| self.left().len() == Self::KINDS.len(), "one of each kind");
    }

    #[track_caller]
    fn wait_until_none_is_left(&self) {
        let began = Instant::now();
        wait_for(|| self.left().is_empty() || began.elapsed() > LEFT, "all to be gone");
        assert_eq!(self.left(), [""; 0], "something was left behind");
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        // What a failed test left behind.
        let ours = |process: &&Process| (0..Self::KINDS.len()).any(|kind| process.command == self.line(kind));
        all_processes().iter().filter(ours).for_each(Process::kill);
    }
}

/// A chat whose agent, and a terminal of its, have started all that.
fn with_all_kinds(sleepers: &Sleepers) -> Scripted {
    let mut parts = vec![prompt()];
    parts.extend(sleepers.steps());
    let mut chat = Scripted::new(&[], steps(parts));
    chat.chat();
    chat.send("go");
    sleepers.wait_until_all_are_there();
    chat
}

#[track_caller]
fn nothing_is_left_after(end: impl FnOnce(&mut Scripted)) {
    let sleepers = Sleepers::new();
    let mut chat = with_all_kinds(&sleepers);
    end(&mut chat);
    sleepers.wait_until_none_is_left();
    wait_until_alone(&chat);
}

fn by_signal(signal: i32) -> impl FnOnce(&mut Scripted) {
    move |chat| {
        send(signal, chat.nvim.pid());
        chat.nvim.wait_for_end();
    }
}

#[test]
fn nothing_is_left_after_sigkill() {
    nothing_is_left_after(by_signal(libc::SIGKILL));
}

#[test]
fn nothing_is_left_after_sigsegv() {
    nothing_is_left_after(by_signal(libc::SIGSEGV));
}

#[test]
fn nothing_is_left_after_sigabrt() {
    nothing_is_left_after(by_signal(libc::SIGABRT));
}

#[test]
fn nothing_is_left_after_sigterm() {
    nothing_is_left_after(by_signal(libc::SIGTERM));
}

#[test]
fn nothing_is_left_after_sighup() {
    nothing_is_left_after(by_signal(libc::SIGHUP));
}

#[test]
fn nothing_is_left_after_qall() {
    nothing_is_left_after(quit);
}

#[test]
fn nothing_is_left_after_cquit() {
    nothing_is_left_after(|chat| {
        chat.nvim.input("<C-\\><C-n>:cq<CR>");
        chat.nvim.wait_for_end();
    });
}

#[test]
fn nothing_is_left_after_the_pipe_to_neovim_was_closed() {
    nothing_is_left_after(|chat| {
        chat.nvim.hang_up();
    });
}

#[test]
fn nothing_is_left_when_the_guard_was_killed_before() {
    nothing_is_left_after(|chat| {
        let first = guard(chat).expect("a guard");
        send(libc::SIGKILL, first);
        wait_for(|| guard(chat).is_some_and(|now| now != first), "another guard");
        chat.nvim.kill9();
    });
}

#[test]
fn nothing_is_left_when_the_keepers_were_killed_before_but_what_nobody_can_know() {
    let sleepers = Sleepers::new();
    let mut chat = with_all_kinds(&sleepers);
    let keepers = || {
        let processes = chat.nvim.processes().into_iter();
        processes.filter(|process| process.command.starts_with("acp-keeper")).collect::<Vec<_>>()
    };
    assert_eq!(keepers().len(), 2, "the agent's and the command's");
    keepers().iter().for_each(|keeper| send(libc::SIGKILL, keeper.pid));
    // The command is ended at once, since nobody looks after it any more.
    let known = |kind: &&&str| !kind.contains("without an environment");
    wait_for(|| !sleepers.left().iter().any(|kind| known(&kind)), "what has a mark to be gone");
    chat.nvim.kill9();
    wait_until_alone(&chat);
}

#[test]
fn nothing_is_left_after_the_terminal_was_closed() {
    let sleepers = Sleepers::new();
    let (project, home) = (TempProject::new(&[]), TempProject::new(&[]));
    let mut parts = vec![prompt()];
    parts.extend(sleepers.steps());
    parts.push(json!({ "wait_eof": true }));
    project.write(".agent/script.json", &Value::Array(steps(parts)).to_string());
    let start = format!(
        "require('acp').setup({{ default_agent = 'fake', agents = {{
           fake = {{ command = '{}', args = {{ '--script', '.agent/script.json' }} }} }} }})
         vim.api.nvim_create_autocmd('User', {{ pattern = 'AcpOpened', callback = function()
           vim.schedule(function() require('acp').send('go') end)
         end }})
         vim.cmd.AcpChat()",
        demo_agent().display()
    );
    project.write(".agent/start.lua", &start);
    let options = Options {
        cwd: Some(project.path().to_owned()),
        args: vec!["-c".into(), "luafile .agent/start.lua".into()],
        ..Options::default()
    };
    let mark = format!("ACP_TEST_MARK={}", unique());
    let (terminal, mut neovim) = in_terminal(support::command(&[], &options, &home, &mark));
    // Nobody answers what Neovim asks its terminal, but somebody must read what it draws.
    let reader = terminal.try_clone().expect("another descriptor");
    let reading = std::thread::spawn(move || std::io::copy(&mut { reader }, &mut std::io::sink()));
    sleepers.wait_until_all_are_there();
    // The window is closed: all who have the terminal are told, and then nobody holds its other end.
    send(libc::SIGHUP, neovim.id());
    drop(terminal);
    neovim.wait().expect("a child of ours");
    drop(reading);
    sleepers.wait_until_none_is_left();
    let left = || support::process::processes_with_env(&mark);
    wait_for(|| left().is_empty(), "all to be gone");
}

/// Starts a program on a terminal of its own, as its session's leader.
fn in_terminal(mut command: std::process::Command) -> (File, Child) {
    let (mut ours, mut theirs) = (0, 0);
    let size = libc::winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    let null = std::ptr::null_mut();
    // SAFETY: the two numbers are ours to be written to; no name is wanted, and the modes are the usual ones.
    assert_eq!(unsafe { libc::openpty(&mut ours, &mut theirs, null, null.cast(), &size) }, 0);
    // SAFETY: both are new, so that nobody else owns them.
    let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    // SAFETY: takes numbers only.
    unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    let theirs = File::from(theirs);
    let stdio = || Stdio::from(theirs.try_clone().expect("another descriptor"));
    command.stdin(stdio()).stdout(stdio()).stderr(stdio());
    // SAFETY: between fork and exec only calls are made that are safe in a signal handler.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY as _, 0);
            Ok(())
        });
    }
    let child = command.spawn().expect("Neovim to start");
    (File::from(ours), child)
}

// What goes on after its turn.

/// A chat in which a turn was stopped whose agent has left these commands running, and these sleepers in them.
fn stopped(commands: &[Value], sleepers: &[&str]) -> Scripted {
    let mut parts = vec![json!({ "spawn": ["sleep", "1009"] }), prompt()];
    parts.extend_from_slice(commands);
    parts.extend([says("Running."), json!({ "expect": "session/cancel" })]);
    parts.push(json!({ "reply": "session/prompt", "result": { "stopReason": "cancelled" } }));
    let mut chat = Scripted::new(&[], steps(parts));
    chat.chat();
    wait_for(|| sleeping(&chat) == ["sleep 1009"], "what the agent starts before the turn");
    // Starts of processes are told in hundredths of a second.
    let before = std::time::Instant::now();
    wait_for(|| before.elapsed().as_millis() > 20, "another time than that");
    chat.send("go");
    chat.wait_for("Running.");
    // A shell is another command before it has become what it runs.
    let is_there = |sleeper: &&str| sleeping(&chat).iter().any(|running| running == sleeper);
    wait_for(|| sleepers.iter().all(is_there), "the commands to be what they will be");
    chat.nvim.command("Acp cancel");
    chat
}

fn left(chat: &mut Scripted) -> Vec<String> {
    let left = chat.nvim.exec_lua("return require('acp').status().sessions[1].left", []);
    let left = left.as_array().into_iter().flatten();
    left.filter_map(|line| line.as_str().map(str::to_owned)).collect()
}

#[test]
fn a_command_that_goes_on_after_its_turn_was_stopped_is_named_and_ended_by_a_key() {
    let commands = [
        json!({ "spawn": ["sh", "-c", "sleep 1004 & wait"] }),
        json!({ "spawn": ["sh", "-c", "exec setsid sleep 1005"] }),
    ];
    let mut chat = stopped(&commands, &["sleep 1004", "sleep 1005"]);
    chat.wait_for("The turn was stopped, but this goes on:");
    chat.wait_for(
        "sh -c sleep 1004 & wait\nsleep 1005\nX in the transcript ends it, :Acp terminal kill anywhere",
    );
    assert_eq!(left(&mut chat), ["sh -c sleep 1004 & wait", "sleep 1005"], "and not what ran before");
    chat.nvim.wait_for_screen("2 still running");
    chat.nvim.input("<Esc><C-w>kX");
    wait_for(|| sleeping(&chat) == ["sleep 1009"], "what went on to be gone");
    wait_for(|| left(&mut chat).is_empty(), "it to be told of no more");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("still running"), "the winbar to say so");
    chat.wait_for("this went on:\nsh -c sleep 1004 & wait · ended by you\nsleep 1005 · ended by you");
    // The shell's own child counts by itself where it was seen when its shell was gone already.
    chat.nvim.wait_until(
        |nvim| nvim.messages().contains("ended sh -c sleep 1004 & wait and "),
        "a word about those that were ended",
    );
    chat.nvim.input("X");
    chat.nvim.wait_until(|nvim| nvim.messages().contains("no command is still running"), "a word about it");
}

#[test]
fn a_command_that_ends_by_itself_after_its_turn_is_told_of_no_more() {
    let mut chat = stopped(&[json!({ "spawn": ["sleep", "1006"] })], &["sleep 1006"]);
    wait_for(|| left(&mut chat) == ["sleep 1006"], "it to be named");
    let sleeper = chat.nvim.processes().into_iter().find(|process| process.command == "sleep 1006");
    send(libc::SIGKILL, sleeper.expect("the command").pid);
    wait_for(|| left(&mut chat).is_empty(), "it to be told of no more");
    chat.wait_for("this went on:\nsleep 1006 · ended by itself");
    assert!(!chat.transcript().contains("X in the transcript"), "nothing is left to be ended");
}

#[test]
fn what_goes_on_without_a_terminal_is_ended_by_the_command_that_ends_terminals() {
    let command = json!({ "spawn": ["sh", "-c", "trap '' TERM; sleep 1007 & wait; wait"] });
    let mut chat = stopped(&[command], &["sleep 1007"]);
    wait_for(|| left(&mut chat).len() == 1, "it to be named");
    chat.nvim.command("Acp terminal kill");
    wait_for(|| sleeping(&chat) == ["sleep 1009"], "what went on to be gone");
}

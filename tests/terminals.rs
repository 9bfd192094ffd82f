//! The terminals with real processes. The clock is a deadline only: each test waits for what it is
//! about, and fails when that does not come.

#![expect(clippy::unwrap_used, reason = "a test's helpers may panic like the test itself")]

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use acp_nvim::acp::processes::guard::Guard;
use acp_nvim::acp::terminals::{Limits, TerminalError, TerminalSpec, Terminals};
use acp_nvim::core::ids::{SessionKey, TerminalId};
use acp_nvim::core::message::{Event, Exit};
use acp_nvim::mailbox::Mailbox;

const S: SessionKey = SessionKey(1);
const DEADLINE: Duration = Duration::from_secs(120);

/// Terminals and an editor that reads its mail.
struct Stage {
    terminals: Terminals,
    mailbox: Arc<Mailbox>,
    wakes: Receiver<()>,
    events: Vec<Event>,
}

impl Stage {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        let (wake, wakes) = channel();
        let mailbox = Mailbox::new(move |_| {
            let _ = wake.send(());
        });
        let terminals =
            Terminals::new(mailbox.clone(), Guard::start()).with_limits(limits).with_keeper(keeper());
        Self { terminals, mailbox, wakes, events: Vec::new() }
    }

    fn run(&self, script: &str) -> TerminalId {
        self.terminals.create(S, sh(script)).unwrap()
    }

    fn text(&self, id: &TerminalId) -> String {
        self.terminals.output(S, id).unwrap().text
    }

    fn wait(&self, id: &TerminalId) -> Exit {
        block_on(self.terminals.wait(S, id).unwrap())
    }

    /// Waits until the record holds `part`, and gives all of it.
    fn until_text(&self, id: &TerminalId, part: &str) -> String {
        until(part, || Some(self.text(id)).filter(|text| text.contains(part)))
    }

    /// Reads the mail until the terminal's end is in it.
    fn until_ended(&mut self, id: &TerminalId) -> Exit {
        let deadline = Instant::now() + DEADLINE;
        loop {
            while let Some(event) = self.mailbox.take() {
                self.events.push(event);
            }
            let ended = self.events.iter().find_map(|event| match event {
                Event::TerminalEnded { terminal, exit, .. } if terminal == id => Some(exit.clone()),
                _ => None,
            });
            if let Some(exit) = ended {
                return exit;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.wakes.recv_timeout(left).expect("the terminal's end");
        }
    }

    /// What the editor was shown so far, as (bytes, skipped) of each event.
    fn shown(&self, id: &TerminalId) -> Vec<(&[u8], usize)> {
        let of_terminal = self.events.iter().filter_map(|event| match event {
            Event::TerminalGrew { terminal, bytes, skipped, .. } if terminal == id => {
                Some((bytes.as_slice(), skipped.bytes))
            }
            _ => None,
        });
        of_terminal.collect()
    }

    fn shown_text(&self, id: &TerminalId) -> String {
        let bytes: Vec<&[u8]> = self.shown(id).into_iter().map(|(bytes, _)| bytes).collect();
        String::from_utf8_lossy(&bytes.concat()).into_owned()
    }
}

/// The program that adopts what commands leave behind. `terminals_unkept` runs these tests without.
fn keeper() -> Option<PathBuf> {
    let is_kept = cfg!(target_os = "linux") && env!("CARGO_CRATE_NAME") == "terminals";
    is_kept.then(|| env!("CARGO_BIN_EXE_acp-demo-agent").into())
}

fn sh(script: &str) -> TerminalSpec {
    spec("/bin/sh", &["-c", script])
}

fn spec(command: &str, args: &[&str]) -> TerminalSpec {
    TerminalSpec {
        command: command.into(),
        args: args.iter().map(|&arg| arg.into()).collect(),
        env: Vec::new(),
        cwd: "/".into(),
        output_limit: None,
        timeout: None,
    }
}

fn code(code: u32) -> Exit {
    Exit { code: Some(code), signal: None }
}

fn signal(name: &str) -> Exit {
    Exit { code: None, signal: Some(name.into()) }
}

/// Asks again and again, yielding in between, until there is an answer.
fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what:?}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(DEADLINE, future).await.expect("an answer in time") })
}

/// The number after `name` in a text.
fn number(text: &str, name: &str) -> u32 {
    let at = text.find(name).unwrap() + name.len();
    let digits: String = text[at..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Neither running nor waiting in the table of processes for someone to take its status. One whose
/// parent is gone may wait there for a system that has no one to take it.
fn is_gone(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
    let (state, parent) = (fields[0], fields[1].parse::<u32>().unwrap());
    state == "Z" && parent != std::process::id()
}

fn until_gone(pid: u32) {
    until(&format!("the end of process {pid}"), || is_gone(pid).then_some(()));
}

/// Runs the test of this name in a process of its own, where no other test spoils a measure. True
/// in that process.
fn is_alone(test: &str) -> bool {
    if std::env::var_os("ACP_TEST_ALONE").is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let module = module_path!().split_once("::").map(|(_, module)| format!("{module}::"));
    let output = command
        .args(["--exact", &(module.unwrap_or_default() + test)])
        .env("ACP_TEST_ALONE", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

/// A folder of the test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("acp-terminals-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_record_is_plain_while_the_display_has_colours_and_cursor_movement() {
    let mut stage = Stage::new();
    let id = stage.run(r"printf '\033[31mred\033[0m\n10%%\r100%%\n\033[1Gend'");
    assert_eq!(stage.until_ended(&id), code(0));
    let output = stage.terminals.output(S, &id).unwrap();
    assert_eq!(output.text, "red\n100%\nend");
    assert!(!output.truncated);
    assert_eq!(stage.shown_text(&id), "\x1b[31mred\x1b[0m\r\n10%\r100%\r\n\x1b[1Gend");
}

#[test]
fn a_terminal_starts_before_it_grows_and_ends_after_its_last_bytes() {
    let mut stage = Stage::new();
    let id = stage.run("for n in 1 2 3 4 5; do echo $n; done; printf last");
    stage.until_ended(&id);
    let [
        Event::TerminalStarted { session, terminal, command, cwd, typing: true },
        grew @ ..,
        Event::TerminalEnded { .. },
    ] = stage.events.as_slice()
    else {
        panic!("{:?}", stage.events);
    };
    assert_eq!((*session, terminal, cwd.as_path()), (S, &id, Path::new("/")));
    assert_eq!(command, "/bin/sh -c 'for n in 1 2 3 4 5; do echo $n; done; printf last'");
    assert!(grew.iter().all(|event| matches!(event, Event::TerminalGrew { .. })));
    assert!(stage.shown_text(&id).ends_with("5\r\nlast"));
}

#[test]
fn a_command_that_takes_long_is_answered_at_once_and_has_no_exit_yet() {
    let stage = Stage::new();
    let asked = Instant::now();
    let id = stage.run("echo started; sleep 100");
    assert!(asked.elapsed() < Duration::from_secs(2));
    stage.until_text(&id, "started");
    assert_eq!(stage.terminals.output(S, &id).unwrap().exit, None);
}

#[test]
fn an_exit_code_is_told_with_the_whole_output() {
    let stage = Stage::new();
    let id = stage.run("seq 1 5000; exit 3");
    assert_eq!(stage.wait(&id), code(3));
    let output = stage.terminals.output(S, &id).unwrap();
    assert_eq!(output.exit, Some(code(3)));
    let expected: String = (1..=5000).map(|n| format!("{n}\n")).collect();
    assert_eq!(output.text, expected);
}

#[test]
fn a_death_by_signal_has_the_signals_name_and_no_code() {
    let stage = Stage::new();
    for name in ["SIGKILL", "SIGTERM", "SIGINT", "SIGSEGV", "SIGHUP"] {
        let id = stage.run(&format!("kill -{} $$", &name[3..]));
        assert_eq!(stage.wait(&id), signal(name));
    }
}

#[test]
fn kill_ends_a_shell_and_its_background_child() {
    let mut stage = Stage::new();
    let id = stage.run("sleep 1000 & echo shell=$$ child=$! ; wait");
    let text = stage.until_text(&id, "child=");
    stage.terminals.kill(S, &id).unwrap();
    assert_eq!(stage.wait(&id), signal("SIGTERM"));
    until_gone(number(&text, "shell="));
    until_gone(number(&text, "child="));
    // The terminal stays readable, and to kill it again does no harm.
    stage.terminals.kill(S, &id).unwrap();
    assert_eq!(stage.text(&id), text);
    assert_eq!(stage.until_ended(&id), signal("SIGTERM"));
}

#[test]
fn kill_ends_a_background_child_that_ignores_it_while_its_shell_does_not() {
    let stage = Stage::new();
    let id = stage.run("(trap '' TERM HUP; echo ready; while :; do sleep 0.1; done) & echo child=$!. ; wait");
    stage.until_text(&id, "ready");
    let text = stage.until_text(&id, ".");
    stage.terminals.kill(S, &id).unwrap();
    assert_eq!(stage.wait(&id), signal("SIGTERM"));
    until_gone(number(&text, "child="));
}

#[test]
fn kill_reaches_the_job_of_a_shell_that_gives_jobs_groups_of_their_own() {
    // The end of the shell sends a SIGHUP anyway, so that is ignored; then the rest, too.
    for ignored in ["HUP", "HUP TERM"] {
        let stage = Stage::new();
        let job = format!("trap \"\" {ignored}; echo job=$$.; while :; do sleep 0.1; done");
        let id = stage.run(&format!("set -m; sh -c '{job}'"));
        let text = stage.until_text(&id, ".");
        stage.terminals.kill(S, &id).unwrap();
        stage.wait(&id);
        until_gone(number(&text, "job="));
    }
}

#[test]
fn a_command_that_ignores_the_request_to_end_is_killed() {
    let stage = Stage::new();
    let id = stage.run("trap '' TERM; echo pid=$$.; while :; do sleep 0.1; done");
    let text = stage.until_text(&id, ".");
    let asked = Instant::now();
    stage.terminals.kill(S, &id).unwrap();
    assert_eq!(stage.wait(&id), signal("SIGKILL"));
    assert!(asked.elapsed() >= Duration::from_secs(2));
    until_gone(number(&text, "pid="));
}

#[test]
fn a_stopped_command_can_be_ended() {
    let stage = Stage::new();
    let id = stage.run("echo ready; kill -STOP $$");
    stage.until_text(&id, "ready");
    stage.terminals.kill(S, &id).unwrap();
    assert_eq!(stage.wait(&id), signal("SIGTERM"));
}

#[test]
fn release_ends_the_command_answers_who_waits_and_forgets_the_id() {
    let mut stage = Stage::new();
    let id = stage.run("echo pid=$$.; exec sleep 1000");
    let text = stage.until_text(&id, ".");
    let waiting = stage.terminals.wait(S, &id).unwrap();
    stage.terminals.release(S, &id).unwrap();
    assert_eq!(block_on(waiting), signal("SIGTERM"));
    let error = stage.terminals.output(S, &id).unwrap_err();
    assert_eq!(error.to_string(), format!("the terminal {:?} was released; create a new one", id.0));
    assert!(matches!(stage.terminals.release(S, &id), Err(TerminalError::Released(_))));
    until_gone(number(&text, "pid="));
    assert_eq!(stage.until_ended(&id), signal("SIGTERM"));
}

#[test]
fn a_terminal_belongs_to_its_session() {
    let stage = Stage::new();
    let id = stage.run("sleep 1000");
    let error = stage.terminals.kill(SessionKey(2), &id).unwrap_err();
    assert_eq!(error.to_string(), format!("this session has no terminal {:?}; create one first", id.0));
    let unknown = TerminalId("nonsense".into());
    assert!(matches!(stage.terminals.output(S, &unknown), Err(TerminalError::Unknown(_))));
}

#[test]
fn three_waiters_get_the_same_answer_and_a_late_one_gets_it_at_once() {
    let stage = Stage::new();
    let id = stage.run("read line; exit 7");
    let waiters = [(); 3].map(|()| stage.terminals.wait(S, &id).unwrap());
    stage.terminals.type_bytes(S, &id, b"go\n");
    for waiter in waiters {
        assert_eq!(block_on(waiter), code(7));
    }
    let mut late = pin!(stage.terminals.wait(S, &id).unwrap());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert_eq!(late.as_mut().poll(&mut context), std::task::Poll::Ready(code(7)));
}

#[test]
fn what_is_typed_reaches_the_program() {
    let mut stage = Stage::new();
    let id = stage.terminals.create(S, spec("cat", &[])).unwrap();
    stage.terminals.type_bytes(S, &id, "gr\u{fc}n\n".as_bytes());
    // Once as the terminal's echo, once from the program.
    stage.until_text(&id, "gr\u{fc}n\ngr\u{fc}n\n");
    stage.terminals.type_bytes(S, &id, b"\x04");
    assert_eq!(stage.until_ended(&id), code(0));
}

#[test]
fn much_that_is_typed_arrives_whole() {
    let stage = Stage::new();
    let id = stage.run("stty -echo -icanon; echo ready; head -c 500000 | wc -c");
    stage.until_text(&id, "ready");
    stage.terminals.type_bytes(S, &id, &[b'x'; 500_000]);
    stage.wait(&id);
    assert!(stage.text(&id).contains("500000"));
}

#[test]
fn ctrl_c_interrupts_the_program() {
    let stage = Stage::new();
    let id = stage.run("echo ready; exec sleep 1000");
    stage.until_text(&id, "ready");
    stage.terminals.type_bytes(S, &id, b"\x03");
    assert_eq!(stage.wait(&id), signal("SIGINT"));
}

#[test]
fn the_program_sees_the_terminals_size_and_each_new_one() {
    let stage = Stage::new();
    let id = stage.run("stty size; read line; stty size");
    stage.until_text(&id, "24 80\n");
    stage.terminals.resize(S, &id, 50, 132);
    stage.terminals.type_bytes(S, &id, b"\n");
    stage.wait(&id);
    stage.until_text(&id, "50 132\n");
}

/// Starts what has left its command's process group and session, and says its number.
const ASTRAY: &str = "setsid sh -c 'trap \"\" HUP; (sleep 1000 & echo stray=$!.)' & ";

#[test]
#[cfg(target_os = "linux")]
fn kill_reaches_a_daemon_that_has_left_the_group() {
    let stage = Stage::new();
    let id = stage.run(&format!("{ASTRAY} wait; sleep 1000"));
    let stray = number(&stage.until_text(&id, "."), "stray=");
    let other = stage.run(&format!("{ASTRAY} wait; sleep 1000"));
    let others = number(&stage.until_text(&other, "."), "stray=");
    stage.terminals.kill(S, &id).unwrap();
    assert_eq!(stage.wait(&id), signal("SIGTERM"));
    until_gone(stray);
    assert!(!is_gone(others));
}

#[test]
#[cfg(target_os = "linux")]
fn a_daemon_lives_until_its_session_ends_though_its_command_is_over() {
    let stage = Stage::new();
    let id = stage.run(&format!("{ASTRAY} wait"));
    assert_eq!(stage.wait(&id), code(0));
    let stray = number(&stage.text(&id), "stray=");
    stage.terminals.release(S, &id).unwrap();
    stage.terminals.end_session(SessionKey(11));
    assert!(!is_gone(stray));
    stage.terminals.end_session(S);
    until_gone(stray);
}

#[test]
#[cfg(target_os = "linux")]
fn the_end_of_all_ends_daemons_too_also_those_that_ignore_the_request() {
    let stage = Stage::new();
    let deaf = "setsid sh -c 'trap \"\" HUP TERM; (sleep 1000 & echo stray=$!.)' & wait";
    let ids = [deaf, &format!("{ASTRAY} wait")].map(|script| stage.run(script));
    let strays = ids.map(|id| number(&stage.until_text(&id, "."), "stray="));
    stage.terminals.end_all();
    strays.into_iter().for_each(until_gone);
}

/// Starts a daemon that has cleared its environment and left its parents, too, so that nothing but its keeper knows it.
const UNKNOWN: &str = r#"env -i setsid sh -c '(sh -c "echo stray=\$\$.; exec sleep 1000" &)'; "#;

#[test]
#[cfg(target_os = "linux")]
fn kill_reaches_a_daemon_without_an_environment() {
    if keeper().is_none() {
        return;
    }
    for grace in [Duration::ZERO, Duration::from_millis(300)] {
        let stage = Stage::new();
        let id = stage.run(&format!("{UNKNOWN} sleep 1000"));
        let stray = number(&stage.until_text(&id, "."), "stray=");
        let other = stage.run(&format!("{UNKNOWN} sleep 1000"));
        let others = number(&stage.until_text(&other, "."), "stray=");
        stage.terminals.kill_within(S, &id, grace).unwrap();
        until_gone(stray);
        assert!(!is_gone(others));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_daemon_without_an_environment_lives_until_its_session_ends_though_its_command_is_over() {
    if keeper().is_none() {
        return;
    }
    for end in [|stage: &Stage| stage.terminals.end_session(S), |stage: &Stage| stage.terminals.end_all()] {
        let stage = Stage::new();
        let id = stage.run(UNKNOWN);
        assert_eq!(stage.wait(&id), code(0));
        let stray = number(&stage.text(&id), "stray=");
        stage.terminals.release(S, &id).unwrap();
        stage.terminals.end_session(SessionKey(11));
        assert!(!is_gone(stray));
        end(&stage);
        until_gone(stray);
    }
}

/// It starts when its command has been asked to end already.
#[test]
#[cfg(target_os = "linux")]
fn a_daemon_that_a_command_starts_at_its_end_ends_with_the_session() {
    if keeper().is_none() {
        return;
    }
    let (stage, folder) = (Stage::new(), Folder::new("at-its-end"));
    let file = folder.0.join("stray");
    let last = format!("last() {{ trap '' TERM; {{ {UNKNOWN} }} >{}; exit 3; }}", file.display());
    let id = stage.run(&format!("{last}; trap last TERM; echo ready; sleep 1000 & wait"));
    stage.until_text(&id, "ready");
    let waiting = stage.terminals.wait(S, &id).unwrap();
    stage.terminals.end_session(S);
    assert_eq!(block_on(waiting), code(3));
    let said = || fs::read_to_string(&file).ok().filter(|text| text.ends_with(".\n"));
    until_gone(number(&until("the daemon", said), "stray="));
}

#[test]
fn a_command_that_runs_too_long_is_ended_and_its_output_says_why() {
    let time = Some(Duration::from_millis(300));
    let mut stage = Stage::with(Limits { time, ..Limits::default() });
    let id = stage.run("printf begun; exec sleep 1000");
    let quick = stage.run("printf done");
    assert_eq!(stage.wait(&quick), code(0));
    assert_eq!(stage.wait(&id), signal("SIGTERM"));
    let why = "[ended after 0.3 s, the user's limit for a command (terminal.timeout)]";
    assert_eq!(stage.text(&id), format!("begun\n{why}\n"));
    assert_eq!(stage.text(&quick), "done");
    stage.until_ended(&id);
    assert!(stage.shown_text(&id).contains(why));
}

#[test]
fn what_is_typed_at_a_password_prompt_is_not_recorded() {
    let stage = Stage::new();
    let id = stage
        .run("stty -echo; printf 'Password: '; read p; stty echo; echo; test \"$p\" = secret && echo in");
    stage.until_text(&id, "Password: ");
    stage.terminals.type_bytes(S, &id, b"secret\n");
    assert_eq!(stage.wait(&id), code(0));
    assert_eq!(stage.text(&id), "Password: \nin\n");
}

#[test]
fn a_storm_of_resizes_ends_at_the_last_size() {
    let stage = Stage::new();
    let id =
        stage.run("trap 'stty size' WINCH; echo ready; while ! read line; do :; done; echo at $(stty size)");
    stage.until_text(&id, "ready");
    for n in 0..500 {
        stage.terminals.resize(S, &id, 10 + n % 50, 40 + n % 90);
    }
    stage.terminals.resize(S, &id, 33, 77);
    // The signals come in their own time; the shell may leave its loop only once.
    until("the last size", || {
        stage.terminals.type_bytes(S, &id, b"\n");
        stage.text(&id).contains("at 33 77").then_some(())
    });
}

#[test]
fn output_is_answered_in_the_middle_of_a_flood() {
    let stage = Stage::new();
    let id = stage.run("yes 'a line of the flood'");
    stage.until_text(&id, "flood");
    let slowest = (0..100).map(|_| {
        let asked = Instant::now();
        assert!(!stage.text(&id).is_empty());
        asked.elapsed()
    });
    let mut times: Vec<Duration> = slowest.collect();
    times.sort_unstable();
    // The middle one: a busy machine may hold up some.
    assert!(times[50] < Duration::from_millis(250), "{:?}", times[50]);
    stage.terminals.kill(S, &id).unwrap();
    assert_eq!(stage.wait(&id), signal("SIGTERM"));
}

#[test]
fn environment_and_folder_are_as_asked_for() {
    let folder = Folder::new("environment");
    let stage = Stage::new();
    let script = "pwd; echo $A:$TERM:$PAGER:$GIT_PAGER:$COLORTERM:$COLUMNS:${HOME:+home}; tty -s && echo tty";
    let env = vec![("A".into(), "b c".into()), ("PAGER".into(), "mine".into())];
    let id = stage.terminals.create(S, TerminalSpec { env, cwd: folder.0.clone(), ..sh(script) }).unwrap();
    stage.wait(&id);
    let home = if std::env::var_os("HOME").is_some() { "home" } else { "" };
    let expected = format!("{}\nb c:xterm-256color:mine:cat:truecolor::{home}\ntty\n", folder.0.display());
    assert_eq!(stage.text(&id), expected);
}

#[test]
fn a_line_of_shell_code_as_the_command_runs_in_a_shell() {
    let stage = Stage::new();
    let id = stage.terminals.create(S, spec("echo one | cat && echo two", &[])).unwrap();
    assert_eq!(stage.wait(&id), code(0));
    assert_eq!(stage.text(&id), "one\ntwo\n");
}

#[test]
fn a_command_that_cannot_start_is_an_error_and_leaves_nothing() {
    let folder = Folder::new("start");
    let stage = Stage::with(Limits { at_once: 1, ..Limits::default() });
    // Written by another process: a file that this one has open for writing, and a test beside this
    // one may be just starting a program that has, cannot be executed.
    let script = folder.0.join("script");
    let write = format!("echo '#!/no/such/interpreter' > {0}; chmod +x {0}", script.display());
    assert!(Command::new("sh").args(["-c", &write]).status().unwrap().success());
    let error = stage.terminals.create(S, spec(script.to_str().unwrap(), &[])).unwrap_err();
    let reason = "No such file or directory (os error 2)";
    assert_eq!(error.to_string(), format!("the system can't start \"{}\": {reason}", script.display()));

    let error = stage.terminals.create(S, spec("./script", &[])).unwrap_err();
    assert_eq!(error.to_string(), "no such file /./script; check the path");
    assert!(matches!(
        stage.terminals.create(S, spec("no-such-program", &[])),
        Err(TerminalError::NoProgram(_))
    ));
    assert!(stage.mailbox.is_empty());
    // None of them counts.
    let id = stage.run("exit 0");
    stage.wait(&id);
}

#[test]
fn limits_cut_the_start_at_a_character() {
    let stage = Stage::with(Limits { output: 6, ..Limits::default() });
    let cases = [
        (Some(0), "", true),
        (Some(1), "", true),
        (Some(2), "", true),
        (Some(3), "\u{20ac}", true),
        (Some(5), "\u{e9}\u{20ac}", true),
        (Some(6), "a\u{e9}\u{20ac}", false),
        (Some(u64::MAX), "a\u{e9}\u{20ac}", false),
        (None, "a\u{e9}\u{20ac}", false),
    ];
    for (output_limit, text, truncated) in cases {
        let spec = TerminalSpec { output_limit, ..sh("printf 'a\u{e9}\u{20ac}'") };
        let id = stage.terminals.create(S, spec).unwrap();
        stage.wait(&id);
        let output = stage.terminals.output(S, &id).unwrap();
        assert_eq!((output.text.as_str(), output.truncated), (text, truncated), "{output_limit:?}");
    }
    let id = stage.run("printf 1234567");
    stage.wait(&id);
    assert_eq!(stage.text(&id), "234567");
}

#[test]
fn bytes_that_are_no_text_and_sequences_do_no_harm() {
    let stage = Stage::new();
    let id = stage.run(r"printf 'a\377b\033]52;c;aGk=\007c\033]0;open\nd\000e\342\202'");
    stage.wait(&id);
    assert_eq!(stage.text(&id), "a\u{fffd}bc\nde\u{fffd}");
}

#[test]
fn a_flood_is_bounded_in_memory_and_events_and_exact_at_its_end() {
    const SIZE: usize = 100_000_000;
    if !is_alone("a_flood_is_bounded_in_memory_and_events_and_exact_at_its_end") {
        return;
    }
    let mut stage = Stage::new();
    let before = memory();
    let started = Instant::now();
    let id = stage.run(&format!("yes 'a line of the flood' | head -c {SIZE}; printf '\\nthe end'"));
    stage.until_ended(&id);
    let frames = started.elapsed().as_millis() / 16 + 2;
    let grown = memory().saturating_sub(before);
    // The events are kept by this test.
    let kept: usize = stage.shown(&id).iter().map(|(bytes, _)| bytes.len()).sum();
    let lines: usize = stage.events.iter().map(lines_size).sum();
    // Of short texts, an allocator takes half as much again.
    assert!(
        grown < (8 << 20) + kept + lines * 3 / 2,
        "{grown} bytes more, {kept} and {lines} of them events"
    );

    let shown = stage.shown(&id);
    assert!(shown.len() as u128 <= frames, "{} events in {frames} frames", shown.len());
    assert!(shown.iter().any(|(_, skipped)| *skipped > 0));
    let skipped: usize = shown.iter().map(|(_, skipped)| skipped).sum();
    let lines = SIZE / "a line of the flood\n".len();
    assert_eq!(kept + skipped, SIZE + lines + "\r\nthe end".len());
    assert!(stage.shown_text(&id).ends_with("\r\na line of the flood\r\n\r\nthe end"));

    let output = stage.terminals.output(S, &id).unwrap();
    let tail = "a line of the flood\n".repeat((1 << 20) / 20 + 1) + "\nthe end";
    assert!(output.truncated);
    assert!(output.text == tail[tail.len() - (1 << 20)..]);
}

/// What the lines of an event take.
fn lines_size(event: &Event) -> usize {
    match event {
        Event::TerminalGrew { lines, .. } => lines.size(),
        _ => 0,
    }
}

/// What this process has in memory, in bytes.
fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    number(&status.replace([' ', '\t'], ""), "VmRSS:") as usize * 1024
}

#[test]
fn an_editor_that_does_not_read_is_not_flooded_and_the_command_goes_on() {
    let mut stage = Stage::new();
    let id = stage.run("yes 'a line of the flood' | head -c 20000000; echo; echo done");
    assert_eq!(stage.wait(&id), code(0));
    assert!(stage.text(&id).ends_with("\ndone\n"));
    stage.until_ended(&id);
    let shown: usize = stage.shown(&id).iter().map(|(bytes, _)| bytes.len()).sum();
    assert!(shown < 8 << 20);
    assert!(stage.shown_text(&id).ends_with("done\r\n"));
}

#[test]
fn a_hundred_terminals_run_at_once() {
    let mut stage = Stage::with(Limits { at_once: 100, ..Limits::default() });
    let ids: Vec<TerminalId> =
        (0..100).map(|n| stage.run(&format!("read line; echo {n}; exit {n}"))).collect();
    let refused = stage.terminals.create(S, sh("true")).unwrap_err().to_string();
    assert_eq!(
        refused,
        "100 commands run already, which is the user's limit (terminal.limit); wait for one or kill one first"
    );
    for id in &ids {
        stage.terminals.type_bytes(S, id, b"\n");
    }
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(stage.wait(id), code(n as u32));
        assert_eq!(stage.text(id), format!("\n{n}\n"));
        stage.until_ended(id);
    }
    // Ended ones do not count, though nobody has released them.
    stage.run("true");
}

#[test]
fn a_child_left_behind_delays_the_exit_only_a_little_and_lives_until_the_session_ends() {
    let mut stage = Stage::new();
    let id = stage.run("trap '' HUP; sleep 1000 & echo child=$!.; exit 5");
    let waited = Instant::now();
    assert_eq!(stage.wait(&id), code(5));
    assert!(waited.elapsed() < Duration::from_secs(5));
    assert_eq!(stage.until_ended(&id), code(5));
    let child = number(&stage.text(&id), "child=");
    stage.terminals.release(S, &id).unwrap();
    assert!(!is_gone(child));
    stage.terminals.end_session(S);
    until_gone(child);
}

#[test]
fn what_a_child_left_behind_writes_is_recorded_but_not_shown_after_the_end() {
    let folder = Folder::new("left");
    let mut stage = Stage::new();
    let script = "trap '' HUP; (while [ ! -e go ]; do sleep 0.05; done; echo later) & echo now";
    let id = stage.terminals.create(S, TerminalSpec { cwd: folder.0.clone(), ..sh(script) }).unwrap();
    stage.until_ended(&id);
    assert_eq!(stage.text(&id), "now\n");
    fs::write(folder.0.join("go"), "").unwrap();
    stage.until_text(&id, "later");
    assert_eq!(stage.shown_text(&id), "now\r\n");
    assert!(stage.mailbox.is_empty());
}

#[test]
fn a_command_that_closes_its_terminal_runs_on() {
    let folder = Folder::new("closed");
    let stage = Stage::new();
    let script = "exec >/dev/null 2>&1 </dev/null; echo > closed
        until [ -e go ]; do sleep 0.05; done; echo back >/dev/tty
        until [ -e on ]; do sleep 0.05; done; echo again >/dev/tty; exit 4";
    let id = stage.terminals.create(S, TerminalSpec { cwd: folder.0.clone(), ..sh(script) }).unwrap();
    until("the closed terminal", || folder.0.join("closed").exists().then_some(()));
    fs::write(folder.0.join("go"), "").unwrap();
    stage.until_text(&id, "back\n");
    fs::write(folder.0.join("on"), "").unwrap();
    assert_eq!(stage.wait(&id), code(4));
    assert_eq!(stage.text(&id), "back\nagain\n");
}

#[test]
fn the_end_of_a_session_ends_its_commands_and_no_others() {
    let stage = Stage::new();
    let ours = stage.run("echo pid=$$.; exec sleep 1000");
    let theirs = stage.terminals.create(SessionKey(2), sh("echo pid=$$.; exec sleep 1000")).unwrap();
    let pid = number(&stage.until_text(&ours, "."), "pid=");
    let waiting = stage.terminals.wait(S, &ours).unwrap();
    stage.terminals.end_session(S);
    assert_eq!(block_on(waiting), signal("SIGTERM"));
    until_gone(pid);
    assert!(matches!(stage.terminals.output(S, &ours), Err(TerminalError::Unknown(_))));
    assert_eq!(stage.terminals.output(SessionKey(2), &theirs).unwrap().exit, None);
}

#[test]
fn the_end_of_all_is_quick_and_leaves_nothing() {
    let stage = Stage::new();
    let scripts = [
        "echo pid=$$.; exec sleep 1000",
        "trap '' TERM HUP; echo pid=$$.; while :; do sleep 0.1; done",
        "trap '' TERM HUP; sleep 1000 & echo pid=$!.; wait",
        "trap '' TERM HUP; sleep 1000 & echo pid=$!.",
    ];
    let ids = scripts.map(|script| stage.run(script));
    let pids = ids.each_ref().map(|id| number(&stage.until_text(id, "."), "pid="));
    let waiting = ids.each_ref().map(|id| stage.terminals.wait(S, id).unwrap());
    let asked = Instant::now();
    stage.terminals.end_all();
    // Those that ignore the request are not given the two seconds of a single kill.
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    for waiting in waiting {
        block_on(waiting);
    }
    for pid in pids {
        until_gone(pid);
    }
    assert!(matches!(stage.terminals.create(S, sh("true")), Err(TerminalError::Leaving)));
}

#[test]
fn when_all_end_as_asked_the_end_of_all_does_not_wait_out_its_time() {
    // Once is enough: a busy machine may take its own time.
    let is_quick = (0..20).any(|_| {
        let stage = Stage::new();
        let id = stage.run("echo ready; exec sleep 1000");
        stage.until_text(&id, "ready");
        let asked = Instant::now();
        stage.terminals.end_all();
        asked.elapsed() < Duration::from_millis(90)
    });
    assert!(is_quick);
}

#[test]
fn terminals_can_be_used_from_any_thread() {
    fn is_shared<T: Send + Sync + 'static>(_: &T) {}
    let stage = Stage::new();
    is_shared(&stage.terminals);
    let id = stage.run("exit 2");
    let waiting = stage.terminals.wait(S, &id).unwrap();
    is_shared(&id);
    let exit = std::thread::spawn(move || block_on(waiting)).join().unwrap();
    assert_eq!(exit, code(2));
}

#[test]
#[cfg(target_os = "linux")]
fn an_ended_terminal_that_nobody_releases_holds_no_descriptor_and_no_thread() {
    if !is_alone("an_ended_terminal_that_nobody_releases_holds_no_descriptor_and_no_thread") {
        return;
    }
    let count = |what: &str| fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    let mut stage = Stage::new();
    let (descriptors, threads) = (count("fd"), count("task"));
    for _ in 0..10 {
        let id = stage.run("echo text");
        stage.until_ended(&id);
    }
    // The guard may have started meanwhile.
    until("descriptors and threads as before", || {
        (count("fd") < descriptors + 5 && count("task") < threads + 5).then_some(())
    });
}

/// How often the threads of a terminal were woken, by their numbers.
#[cfg(target_os = "linux")]
fn wakes() -> std::collections::BTreeMap<String, String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let of_terminals = tasks.filter(|task| {
        let name = fs::read_to_string(task.join("comm")).unwrap_or_default();
        ["acp-terminal", "acp-wait"].contains(&name.trim())
    });
    let counted = of_terminals.map(|task| {
        let status = fs::read_to_string(task.join("status")).unwrap();
        let count = status.lines().find(|line| line.starts_with("voluntary")).unwrap().to_owned();
        (task.display().to_string(), count)
    });
    counted.collect()
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_wakes_while_nothing_happens() {
    if !is_alone("nothing_wakes_while_nothing_happens") {
        return;
    }
    let mut stage = Stage::new();
    let idle = stage.run("echo ready; exec sleep 1000");
    stage.until_text(&idle, "ready");
    // All that can still be on its way has come when this one is through.
    let other = stage.run("sleep 0.3");
    stage.until_ended(&other);
    let before = until("two threads", || Some(wakes()).filter(|wakes| wakes.len() == 2));
    let clock = stage.run("sleep 1");
    stage.until_ended(&clock);
    let after = until("two threads", || Some(wakes()).filter(|wakes| wakes.len() == 2));
    assert_eq!(before, after);
}

#[test]
fn output_is_whole_though_the_end_may_be_known_before_the_last_bytes_come() {
    let stage = Stage::new();
    let script = "trap '' HUP; sleep 1000 & printf '%03999d.' 7; kill -9 $$";
    let ids: Vec<TerminalId> = (0..30).map(|_| stage.run(script)).collect();
    for id in ids {
        assert_eq!(stage.wait(&id), signal("SIGKILL"));
        let text = stage.text(&id);
        assert!(text.len() == 4000 && text.ends_with("7."), "{} bytes", text.len());
    }
}

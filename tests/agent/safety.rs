//! What must hold when things go wrong outside: Neovim is killed, a secret is in the environment.

use std::io::{BufRead, BufReader};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use acp_nvim::acp::Settings;
use acp_nvim::core::ids::*;
use acp_nvim::core::message::*;
use acp_nvim::core::store::allowlist::Rules;
use serde_json::{Value, json};

use super::support::*;

/// Set where the test binary is run as the one that is to be killed; without it nothing would end it.
const VICTIM: &str = "ACP_TEST_VICTIM";

/// Stands for Neovim in the test below, which kills it.
#[test]
#[ignore = "run by the test that kills it"]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let mut test = Test::new();
    test.open(&[
        json!({"ignore_term": true}),
        json!({"spawn": "trap '' TERM HUP; sleep 600"}),
        request(5, "terminal/create", &json!({"sessionId": "s1", "command": "trap '' TERM HUP; sleep 600"})),
        json!({"answer": 5}),
        permission(6, "c"),
        json!({"pause": 600}),
    ]);
    test.question();
    let agent = test.wait("Started", |event| match event {
        Event::Started { pid, .. } => Some(*pid),
        _ => None,
    });
    println!("\nagent {agent} child {} folder {}", child(&test), test.folder.display());
    std::thread::park();
}

#[test]
fn a_killed_neovim_leaves_nothing_behind() {
    let mut neovim = Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "agent::safety::victim", "--ignored", "--nocapture"])
        .env(VICTIM, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(neovim.stdout.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with("agent ")).expect("its agent is up");
    let words: Vec<&str> = line.split(' ').collect();
    let pids: Vec<i32> = [words[1], words[3]].map(|pid| pid.parse().unwrap()).into();
    let folder = std::path::PathBuf::from(words[5]);
    let commands = commands_in(&folder);
    assert_eq!(commands.len(), 1, "the agent's command runs");
    neovim.kill().unwrap();
    neovim.wait().unwrap();
    for pid in pids.into_iter().chain(commands) {
        wait_for("the end of all that ran", || !alive(pid));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The processes that lead a session and work in the project's folder: the commands of its agent.
fn commands_in(folder: &std::path::Path) -> Vec<i32> {
    let project = folder.join("project");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let leads = |pid: &i32| {
        let in_project = std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == project);
        // SAFETY: it only asks for a number.
        in_project && unsafe { libc::getsid(*pid) } == *pid
    };
    processes.filter_map(|process| process.file_name().to_str()?.parse().ok()).filter(leads).collect()
}

#[test]
fn the_log_has_both_directions_and_no_secrets() {
    let folder = std::env::temp_dir().join(format!("acp-log-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let log = folder.join("wire.jsonl");
    let mut test = Test::with(Settings { log: Some(log.clone()), ..Settings::default() });
    let mut launch = test.launch(
        "agent",
        &[
            expect("initialize"),
            answer_to(
                "initialize",
                &json!({"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": true}}}),
            ),
            json!({"stderr": "starting with sk-topsecret1\n"}),
            json!({"raw": "a banner\n"}),
            expect("session/new"),
            answer_to("session/new", &json!({"sessionId": "s1"})),
            expect("session/prompt"),
            update(&chunk("your key is sk-topsecret1")),
            notify(
                "_auth/status_update",
                &json!({"state": "authenticated", "accounts": [{"email": "jo@example.org"}]}),
            ),
            update(&json!({"sessionUpdate": "future_thing", "odd": [1, 2]})),
            end_turn(),
        ],
    );
    launch.env = vec![("MY_API_KEY".into(), "sk-topsecret1".into())];
    test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
    let secret = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let place = Place {
        mcp_servers: vec![
            McpServer::Stdio {
                name: "m".into(),
                command: "/m".into(),
                args: vec![],
                env: secret("X", "sk-topsecret2"),
            },
            McpServer::Http {
                name: "h".into(),
                url: "https://h".into(),
                headers: secret("Y", "sk-topsecret3"),
            },
        ],
        ..test.place()
    };
    test.send(Command::Open { agent: AGENT, session: SESSION, place });
    test.opened();
    test.prompt("x");
    test.stop_reason();
    let ending = || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("end_turn"));
    wait_for("the log's last line", ending);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains("sk-topsecret"), "{text}");
    assert!(text.contains("_auth/status_update") && !text.contains("jo@example.org"), "{text}");
    assert!(
        text.contains("future_thing") && text.contains("[1,2]"),
        "what is unknown is there whole: {text}"
    );
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has =
        |dir: &str, key: &str| records.iter().any(|record| record["dir"] == dir && record.get(key).is_some());
    assert!(
        has("client->agent", "msg")
            && has("agent->client", "msg")
            && has("agent->client", "raw")
            && has("stderr", "raw")
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&log).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "only its owner may read it");
    drop(test);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_to_be_computed_comes_back_with_its_number() {
    let mut test = Test::new();
    let work = Work::Edits { old: "a\n".into(), new: "b\n".into() };
    test.send(Command::Compute { job: JobId(3), work });
    let outcome = test.wait("Computed", |event| match event {
        Event::Computed { job: JobId(3), outcome } => Some(outcome.clone()),
        _ => None,
    });
    assert!(matches!(outcome, Outcome::Edits(edits) if edits.len() == 1));
    let diff = FileDiff { path: "a".into(), old_text: Some("a".into()), new_text: "b".into() };
    test.send(Command::Compute {
        job: JobId(4),
        work: Work::Place { text: "a\n".into(), diffs: vec![diff] },
    });
    let outcome = test.wait("Computed", |event| match event {
        Event::Computed { job: JobId(4), outcome } => Some(outcome.clone()),
        _ => None,
    });
    assert!(matches!(outcome, Outcome::Placed(placed) if placed.len() == 1));
}

/// Requests of all kinds, and everything that can happen to them, in an order that each round draws
/// anew.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn whatever_happens_each_request_has_one_answer() {
    for seed in 0..12 {
        let mut draw = Draw(seed);
        let mut test = Test::new();
        let path = test.file("loaded.txt", "text");
        test.send(Command::FileLoaded { path: path.clone() });
        let terminal = json!({"sessionId": "s1", "terminalId": "terminal-1"});
        let mut steps = vec![
            expect("session/prompt"),
            request(99, "terminal/create", &json!({"sessionId": "s1", "command": "sleep 600"})),
            json!({"answer": 99}),
        ];
        let outside = test.folder.join("outside.txt");
        std::fs::write(&outside, "text").unwrap();
        test.send(Command::Outside { rules: Rules { ask: true, ..Rules::default() } });
        for id in 100..120 {
            steps.push(match draw.below(8) {
                0 => permission(id, "c"),
                1 => request(id, "fs/read_text_file", &json!({"sessionId": "s1", "path": path})),
                2 => request(
                    id,
                    "fs/write_text_file",
                    &json!({"sessionId": "s1", "path": path, "content": "new"}),
                ),
                3 => request(id, "terminal/wait_for_exit", &terminal),
                4 => request(
                    id,
                    "elicitation/create",
                    &json!({"sessionId": "s1", "mode": "form", "message": "m", "requestedSchema": {}}),
                ),
                5 => request(id, "fs/read_text_file", &json!({"sessionId": "s1", "path": outside})),
                6 => request(
                    id,
                    "fs/write_text_file",
                    &json!({"sessionId": "s1", "path": outside, "content": "new"}),
                ),
                _ => request(id, "_vendor/x", &json!({})),
            });
            if draw.below(4) == 0 {
                steps.push(notify("$/cancel_request", &json!({ "requestId": 100 + draw.below(20) })));
            }
        }
        steps.push(request(120, "fs/read_text_file", &json!({"sessionId": "s1", "path": path, "line": 7})));
        test.open(&steps);
        test.prompt("x");
        // The last one comes when all others were read. It is among the questions of the editor.
        let last = Question::Read { path: path.clone(), line: Some(7), limit: None };
        let mut asks = Vec::new();
        wait_for("all questions", || {
            asks = test
                .events()
                .into_iter()
                .filter_map(|event| match event {
                    Event::Asked { ask, question, .. } => Some((ask, question)),
                    _ => None,
                })
                .collect();
            test.received().methods().len() == 3 && asks.iter().any(|(_, question)| *question == last)
        });
        for _ in 0..asks.len() {
            let (ask, question) = asks[draw.below(asks.len() as u64) as usize].clone();
            let fitting = match question {
                Question::Permission { .. } => Answer::Selected("yes".into()),
                Question::Read { .. } => Answer::Text("text".into()),
                Question::Write { .. } => Answer::Refused("no".into()),
                Question::Outside { .. } => {
                    Answer::Selected(["once", "session", "no", "never"][draw.below(4) as usize].into())
                }
                Question::Form { .. } | Question::Url { .. } => Answer::Declined,
            };
            match draw.below(8) {
                0 => test.send(Command::Cancel { session: SESSION }),
                1 => test.answer(ask, Answer::Cancelled),
                2 => test.answer(ask, Answer::Done { decided: None }),
                _ => test.answer(ask, fitting),
            }
        }
        if draw.below(2) == 0 {
            test.send(Command::Close { session: SESSION });
        }
        let received = test.finish();
        for id in 99..=120 {
            assert_eq!(received.answers(&json!(id)).len(), 1, "request {id} of round {seed}");
        }
    }
}

/// Numbers that look drawn, and are the same each time (xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        let mut next = self.0.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        next ^= next >> 12;
        next ^= next << 25;
        next ^= next >> 27;
        self.0 = next;
        (next >> 11) % limit
    }
}

#[test]
fn leaving_twice_is_harmless() {
    let test = Test::new();
    test.send(Command::Shutdown);
    assert!(test.background.shut_down(Duration::from_secs(5)));
    assert!(test.background.shut_down(Duration::from_secs(5)));
}

//! Sandboxes in a real Neovim: a hostile program runs as an agent and as an agent's command, and tries to leave. Each of
//! its tries is also made without a sandbox, where it must succeed, or the try would prove nothing.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use support::project::TempProject;
use support::script::{Scripted, asks, ends, prompt, says, steps, turn_that_runs};
use support::{demo_agent, neovim, unique};

const ESCAPE: &str = include_str!("sandbox/escape.py");

/// What every file outside has in it.
const INTACT: &str = "intact";

/// Each overwrites a file outside that has its name.
const ATTACKS: [&str; 26] = [
    "absolute",
    "dots",
    "link",
    "linked_folder",
    "hard_link",
    "rename_over",
    "rename_away",
    "delete",
    "truncate",
    "own_root",
    "root_of_neovim",
    "folder_of_neovim",
    "memory_of_neovim",
    "trace_neovim",
    "signal_neovim",
    "socket_of_neovim",
    "program_of_neovim",
    "abstract_socket",
    "datagrams",
    "daemon",
    "other_programs",
    "clean_environment",
    "mount",
    "read",
    "read_folder",
    "read_home",
];

/// Depend on who runs the tests, or on how the system is set up.
const MAY_FAIL: [&str; 6] =
    ["hard_link", "root_of_neovim", "folder_of_neovim", "memory_of_neovim", "trace_neovim", "mount"];

/// A chat whose agent tries to leave, and what it is after.
struct Stage {
    chat: Scripted,
    outside: TempProject,
    /// Held open: what is listened at.
    _sockets: (UnixListener, UnixDatagram, TcpListener, Option<TcpListener>),
}

impl Stage {
    /// `sandbox` is the option's value, in which `$CACHE` and the like stand for folders.
    fn new(turn: Vec<serde_json::Value>, sandbox: &str) -> Self {
        Self::of("", turn, sandbox)
    }

    /// The same with an agent that runs this before it is an agent.
    fn of(first: &str, turn: Vec<serde_json::Value>, sandbox: &str) -> Self {
        let files: Vec<(&str, &str)> = ATTACKS.iter().map(|name| (*name, INTACT)).collect();
        let outside = TempProject::new(&files);
        let [cache, shelf] = ["cache", "shelf"].map(|name| outside.path().join(name));
        outside.write("cache/old", "");
        outside.write("shelf/book", INTACT);
        let (python, prefix) = python();
        let turn = serde_json::Value::from(turn).to_string().replace("$PYTHON", &python);
        let turn: Vec<serde_json::Value> = serde_json::from_str(&turn).expect("steps");
        let first = first.replace("$PYTHON", &python);
        let mut script = steps(turn);
        script[1]["result"]["agentCapabilities"] = json!({ "mcpCapabilities": { "http": true } });
        let mut chat = Scripted::new(&[("escape.py", ESCAPE)], script);
        let abstract_name = format!("acp-test-{}", unique());
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("an address");
        let datagrams = outside.path().join("datagrams.socket");
        let sockets = (
            UnixListener::bind_addr(&address).expect("an abstract socket"),
            UnixDatagram::bind(&datagrams).expect("a socket"),
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"),
            TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).ok(),
        );
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let server = chat.nvim.exec_lua("return vim.v.servername", []);
        let toolchain = Path::new(env!("CARGO")).parent().expect("a folder").to_owned();
        let told = json!({
            "outside": outside.path(), "cache": cache, "shelf": shelf, "nvim": chat.nvim.pid(),
            "server": server.as_str(), "program": neovim(), "abstract": abstract_name, "datagrams": datagrams,
            "port": port(&sockets.2), "port6": sockets.3.as_ref().map(port), "toolchain": toolchain,
        });
        chat.project.write("told.json", &told.to_string());
        let agents_folder = demo_agent().parent().expect("a folder").display();
        let sandbox = sandbox
            .replace("$CACHE", &cache.to_string_lossy())
            .replace("$PYTHON", &prefix)
            .replace("$SHELF", &shelf.to_string_lossy())
            .replace("$AGENT", &agents_folder.to_string())
            .replace("$TOOLCHAIN", &toolchain.parent().expect("a folder").to_string_lossy());
        let (agent, script) = (demo_agent().display(), ".agent/script.json");
        let command = match &*first {
            "" => String::new(),
            first => format!(
                "command = 'sh', args = {{ '-c', [[{first}; exec {agent} --script {script} --record \
                 .agent/record.jsonl]] }},"
            ),
        };
        chat.configure(&format!("agents = {{ fake = {{ {command} sandbox = {sandbox} }} }}"));
        Self { chat, outside, _sockets: sockets }
    }

    /// What came of the tries, which the turn has made.
    fn results(&mut self) -> BTreeMap<String, String> {
        self.chat.chat();
        self.chat.send("go");
        let file = self.chat.project.file("results.json");
        let is_there =
            |_: &mut support::Nvim| fs::read_to_string(&file).is_ok_and(|text| text.ends_with('}'));
        self.chat.nvim.wait_within(Duration::from_secs(60), is_there, "the program's results");
        serde_json::from_str(&self.chat.project.read("results.json")).expect("results")
    }

    /// The files outside that are not as they were.
    fn harmed(&self) -> Vec<&'static str> {
        let text = |name: &&str| fs::read_to_string(self.outside.file(name)).unwrap_or_default();
        ATTACKS.into_iter().filter(|name| text(name) != INTACT).collect()
    }
}

/// The interpreter itself, not what chooses one, and what it is a part of.
fn python() -> (String, String) {
    let mut python = Command::new("python3");
    python.args(["-c", "import os, sys; print(os.path.realpath(sys.executable), sys.base_prefix)"]);
    let said = String::from_utf8(python.output().expect("python3").stdout).expect("text");
    let (program, prefix) = said.trim().split_once(' ').expect("two words");
    (program.to_owned(), prefix.to_owned())
}

fn turn(table: &str) -> Vec<serde_json::Value> {
    turn_that_runs(&[&format!("$PYTHON escape.py {table} results.json")])
}

#[track_caller]
fn refused_all(results: &BTreeMap<String, String>, but: &[&str]) {
    let done: Vec<&String> = results.iter().filter(|(_, how)| *how == "done").map(|(name, _)| name).collect();
    assert_eq!(done, but, "{results:#?}");
}

/// These only fail in what they start, which says nothing.
const SILENT: [&str; 4] = ["clean_environment", "daemon", "other_programs", "program_of_neovim"];

#[test]
fn without_a_sandbox_a_command_harms_what_it_likes() {
    let mut stage = Stage::new(turn("ATTACKS"), "false");
    let results = stage.results();
    assert_eq!(results.len(), ATTACKS.len());
    let harmed = stage.harmed();
    let must_work = ATTACKS.iter().filter(|name| !MAY_FAIL.contains(name));
    let failed: Vec<_> = must_work.filter(|name| !harmed.contains(name)).collect();
    assert!(failed.is_empty(), "{failed:?} of {results:#?}");
}

#[test]
fn a_command_of_a_confined_agent_harms_nothing_outside() {
    let mut stage = Stage::new(turn("ATTACKS"), "{ read = { '$PYTHON' } }");
    let results = stage.results();
    assert_eq!(stage.harmed(), Vec::<&str>::new(), "{results:#?}");
    refused_all(&results, &SILENT);
    assert_eq!(stage.chat.nvim.exec_lua("return 1", []), 1.into());
}

#[test]
fn a_confined_agent_itself_harms_nothing_outside() {
    let first = "$PYTHON escape.py ATTACKS results.json; $PYTHON escape.py CALLS calls.json";
    let mut stage = Stage::of(
        first,
        vec![prompt(), says("Ran."), ends("end_turn")],
        "{ read = { '$AGENT', '$PYTHON' } }",
    );
    let results = stage.results();
    assert_eq!(stage.harmed(), Vec::<&str>::new(), "{results:#?}");
    refused_all(&results, &SILENT);
    let calls = serde_json::from_str(&stage.chat.project.read("calls.json")).expect("results");
    refused_all(&calls, &[]);
}

#[test]
fn calls_that_would_lead_out_of_a_sandbox_are_refused() {
    let mut stage = Stage::new(turn("CALLS"), "{ read = { '$PYTHON' } }");
    refused_all(&stage.results(), &[]);
}

#[test]
fn without_a_network_nothing_connects_and_nothing_listens() {
    let mut stage = Stage::new(turn("NETWORK"), "{ network = false, read = { '$PYTHON' } }");
    refused_all(&stage.results(), &[]);
}

#[test]
fn a_port_that_is_named_is_reached_by_tcp_alone() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let lines = [
        format!(
            "$PYTHON -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))' && echo reached > a"
        ),
        "$PYTHON escape.py NETWORK results.json".to_owned(),
    ];
    let mut stage = Stage::new(
        turn_that_runs(&[&lines[0], &lines[1]]),
        &format!("{{ network = {{ {port} }}, read = {{ '$PYTHON' }} }}"),
    );
    refused_all(&stage.results(), &[]);
    assert_eq!(stage.chat.project.read("a"), "reached\n");
}

#[test]
fn with_the_network_connections_are_as_ever() {
    let mut stage = Stage::new(turn("NETWORK"), "{ read = { '$PYTHON' } }");
    let results = stage.results();
    for name in ["tcp", "udp", "listen", "bind"] {
        assert_eq!(results[name], "done", "{results:#?}");
    }
    assert_ne!(results["virtual_machine"], "done");
}

#[test]
fn what_a_project_needs_works_in_a_sandbox() {
    let sandbox = "{ write = { '$CACHE' }, read = { '$SHELF', '$TOOLCHAIN', '$PYTHON' }, network = false }";
    let mut stage = Stage::new(turn("WORK"), sandbox);
    let mut results = stage.results();
    assert_ne!(results.remove("not_named").as_deref(), Some("done"), "what may be read is not to be written");
    assert_eq!(stage.outside.read("shelf/book"), INTACT);
    assert_eq!(stage.outside.read("cache/new"), "gone");
    let failed: Vec<_> = results.iter().filter(|(_, how)| *how != "done").collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn a_command_that_is_refused_something_is_told_of_once_and_what_may_be_why() {
    let lines = ["echo x > $HOME/a", "echo x > $HOME/b"];
    let mut stage = Stage::new(turn_that_runs(&lines), "'project'");
    stage.chat.chat();
    stage.chat.send("go");
    stage.chat.wait_for("Ran.");
    stage.chat.wait_for("perhaps by its sandbox");
    assert_eq!(stage.chat.transcript().matches("perhaps by its sandbox").count(), 1);
}

/// The agent's program is elsewhere than the plugin's, which has the keeper.
#[test]
fn a_confined_agent_and_its_commands_have_keepers() {
    let mut turn = vec![prompt()];
    turn.push(asks("t", "terminal/create", json!({ "command": "sleep", "args": ["1000"] })));
    turn.extend([says("It runs."), json!({ "wait_eof": true })]);
    let mut chat = Scripted::new(&[], steps(turn));
    let agent = chat.project.file("agent");
    fs::copy(demo_agent(), &agent).expect("a copy of the agent");
    chat.configure(&format!(
        "agents = {{ fake = {{ command = '{}', sandbox = 'project' }} }}",
        agent.display()
    ));
    chat.chat();
    chat.send("go");
    chat.wait_for("It runs.");
    let processes = chat.nvim.processes();
    let keepers = processes.iter().filter(|process| process.command.starts_with("acp-keeper")).count();
    assert_eq!(keepers, 2, "{processes:?}");
}

#[test]
fn temporary_files_are_gone_with_the_agent() {
    let mut stage = Stage::new(turn_that_runs(&["echo $TMPDIR > where; echo x > $TMPDIR/x"]), "'project'");
    stage.chat.chat();
    stage.chat.send("go");
    stage.chat.wait_for("Ran.");
    let folder = stage.chat.project.read("where");
    let folder = Path::new(folder.trim()).to_owned();
    assert_eq!(fs::read_to_string(folder.join("x")).unwrap_or_default(), "x\n");
    stage.chat.nvim.command("Acp stop");
    stage.chat.nvim.wait_until(|_| !folder.exists(), "the folder to be gone");
}

#[test]
fn the_editors_tools_are_reached_from_a_sandbox_without_a_network() {
    let bridge = "$PYTHON -c '
import json, os, subprocess
told = [json.loads(line) for line in open(\".agent/record.jsonl\")]
server = [line for line in told if line.get(\"method\") == \"session/new\"][0][\"params\"][\"mcpServers\"][0]
env = dict(os.environ, **{pair[\"name\"]: pair[\"value\"] for pair in server[\"env\"]})
def message(**of):
    return json.dumps(dict(of, jsonrpc=\"2.0\")) + \"\\n\"
client = {\"protocolVersion\": \"2025-11-25\", \"capabilities\": {}, \"clientInfo\": {\"name\": \"t\", \"version\": \"1\"}}
asked = message(id=1, method=\"initialize\", params=client) + message(method=\"notifications/initialized\")
asked += message(id=2, method=\"tools/list\")
bridge = subprocess.Popen([server[\"command\"]] + server[\"args\"], env=env, stdin=-1, stdout=-1, text=True)
bridge.stdin.write(asked)
bridge.stdin.flush()
bridge.stdout.readline()
answer = bridge.stdout.readline()
bridge.kill()
open(\"results.json\", \"w\").write(json.dumps({\"tools\": str(len(json.loads(answer)[\"result\"][\"tools\"]))}))
'";
    let mut stage = Stage::new(turn_that_runs(&[bridge]), "{ network = false, read = { '$PYTHON' } }");
    let results = stage.results();
    assert!(results["tools"].parse::<u32>().is_ok_and(|count| count > 10), "{results:?}");
}

#[test]
fn the_editors_tools_are_reached_by_http_from_a_sandbox_without_a_network() {
    let client = "$PYTHON -c '
import json, urllib.request
told = [json.loads(line) for line in open(\".agent/record.jsonl\")]
server = [line for line in told if line.get(\"method\") == \"session/new\"][0][\"params\"][\"mcpServers\"][0]
client = {\"protocolVersion\": \"2025-11-25\", \"capabilities\": {}, \"clientInfo\": {\"name\": \"t\", \"version\": \"1\"}}
asked = json.dumps({\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"initialize\", \"params\": client}).encode()
headers = {pair[\"name\"]: pair[\"value\"] for pair in server[\"headers\"]}
headers.update({\"Content-Type\": \"application/json\", \"Accept\": \"application/json, text/event-stream\"})
said = \"\"
for line in urllib.request.urlopen(urllib.request.Request(server[\"url\"], asked, headers)):
    said += line.decode()
    if \"serverInfo\" in said:
        break
open(\"results.json\", \"w\").write(json.dumps({\"said\": said}))
'";
    let sandbox = "{ network = false, read = { '$PYTHON' } }, tools_transport = 'http'";
    let mut stage = Stage::new(turn_that_runs(&[client]), sandbox);
    let results = stage.results();
    assert!(results["said"].contains("\"name\":\"neovim\""), "{results:?}");
}

#[test]
fn a_project_that_is_opened_by_a_link_can_be_changed() {
    let mut stage = Stage::new(turn_that_runs(&["echo yes > here"]), "'project'");
    let link = stage.outside.path().join("project");
    std::os::unix::fs::symlink(stage.chat.project.path(), &link).expect("a link");
    stage.chat.nvim.command(&format!("cd {}", link.display()));
    stage.chat.chat();
    stage.chat.send("go");
    stage.chat.wait_for("Ran.");
    assert_eq!(stage.chat.project.read("here"), "yes\n");
}

#[test]
fn a_home_is_no_project_that_could_be_confined() {
    let mut stage = Stage::new(Vec::new(), "'project'");
    stage.chat.nvim.command("cd $HOME");
    stage.chat.nvim.command("AcpChat");
    stage.chat.wait_for("holds your home");
}

#[test]
fn an_agent_that_does_not_come_up_since_something_is_refused_is_told_of_with_what_may_be_why() {
    let mut stage = Stage::of("ls $HOME || exit 1", Vec::new(), "'project'");
    stage.chat.nvim.command("AcpChat");
    stage.chat.wait_for("perhaps its sandbox is why");
}

#[test]
fn a_chat_says_first_that_its_agent_is_in_a_sandbox() {
    let mut stage = Stage::new(Vec::new(), "'project'");
    stage.chat.chat();
    stage.chat.wait_for("Fake 1.0\nSandboxed: may write in the project\n");
    stage.chat.nvim.stop_insert();
    stage.chat.nvim.command("wincmd k");
    stage.chat.nvim.input("ggK");
    stage.chat.nvim.wait_for_screen("In a sandbox: it may change the session's folders");
}

#[test]
fn checkhealth_says_what_holds_and_the_status_who_is_confined() {
    let mut stage = Stage::new(Vec::new(), "{ network = { 443 }, write = { '$CACHE' } }");
    stage.chat.chat();
    let confined = stage.chat.nvim.exec_lua("return require('acp').status().agents[1].confined", []);
    assert_eq!(confined, true.into());
    stage.chat.nvim.command("checkhealth acp");
    let said = "fake's sandbox: it may change the session's folders";
    stage.chat.nvim.wait_until(
        |nvim| {
            let text =
                nvim.exec_lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')", []);
            let text = text.as_str().unwrap_or_default().to_owned();
            text.contains(said)
                && text.contains("connect to the port 443 by TCP")
                && text.contains("Landlock")
        },
        "the report",
    );
}

/// Programs of the tests must be there for a table to say anything.
#[test]
fn the_table_of_attacks_is_that_of_the_program() {
    let code = "import re, sys; print(' '.join(re.findall(r'^    \"(\\w+)\": ', sys.stdin.read().split('ATTACKS = ')[1]\
                .split('}')[0], re.M)))";
    let mut python = Command::new("python3");
    python.args(["-c", code]).stdin(fs::File::open("tests/sandbox/escape.py").expect("the program"));
    let names = String::from_utf8(python.output().expect("python3").stdout).expect("text");
    assert_eq!(names.split_whitespace().collect::<Vec<_>>(), ATTACKS);
}

//! How long a tool that only reads takes an agent: from its request to the answer, by the bridge that it starts. The
//! floor asks Neovim for the same by its own protocol, without an agent, a bridge or a server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::scenarios::{Samples, Values};
use super::stage::{Stage, Subject};
use crate::support::project::TempProject;
use crate::support::script::opened;

pub fn calls(subject: Subject, count: usize) -> Values {
    let mut times = Samples::default();
    if subject == Subject::Floor {
        let mut stage = Stage::open(subject, &[]);
        for _ in 0..count {
            let began = Instant::now();
            let buffers = stage.nvim.exec_lua("return vim.fn.getbufinfo({ buflisted = 1 })", []);
            times.0.push(began.elapsed().as_secs_f64() * 1e3);
            assert!(buffers.is_array());
        }
    } else {
        let project = TempProject::new(&[("a.txt", "one\n")]);
        let mut script = opened();
        script.push(json!({ "wait_eof": true }));
        project.write("script.json", &Value::Array(script).to_string());
        let path = |name: &str| project.file(name).to_string_lossy().into_owned();
        let args = ["--script", &path("script.json"), "--record", &path("record.jsonl")];
        let _stage = Stage::open_in(Some(project.path()), subject, &args);
        let mut bridge = Bridge::start(&project.read("record.jsonl"));
        for _ in 0..count {
            let began = Instant::now();
            let answer = bridge.ask("tools/call", json!({ "name": "buffers", "arguments": {} }));
            times.0.push(began.elapsed().as_secs_f64() * 1e3);
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        }
    }
    vec![("call p50 ms", times.at(50)), ("call p95 ms", times.at(95))]
}

/// The program that an agent was told to start.
struct Bridge {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: i64,
}

impl Bridge {
    fn start(record: &str) -> Self {
        let messages = record.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let opened = messages.into_iter().find(|message| message["method"] == "session/new");
        let server = opened.expect("a session")["params"]["mcpServers"][0].clone();
        let texts = |key: &str| server[key].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let mut command = Command::new(text(&server["command"]));
        command.args(texts("args").iter().map(text)).env_remove("NVIM");
        command.envs(texts("env").iter().map(|pair| (text(&pair["name"]), text(&pair["value"]))));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the bridge starts");
        let input = child.stdin.take().expect("its stdin");
        let output = BufReader::new(child.stdout.take().expect("its stdout"));
        let mut bridge = Self { child, input, output, last: 0 };
        let client = json!({ "name": "bench", "version": "1" });
        let begins = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        assert_eq!(bridge.ask("initialize", begins)["result"]["serverInfo"]["name"], "neovim");
        bridge.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        bridge
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the bridge reads");
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }));
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.output.read_line(&mut line).expect("the bridge answers");
            assert_ne!(read, 0, "the bridge ended");
            let message: Value = serde_json::from_str(&line).expect("a message");
            if message["id"] == self.last {
                return message;
            }
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

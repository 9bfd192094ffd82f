//! How long a tool that only reads takes an agent: from its request to the answer, by the bridge that it starts. The
//! floor asks Neovim for the same by its own protocol, without an agent, a bridge or a server.

#[expect(dead_code, reason = "the tests use other parts of it")]
#[path = "../../tests/tools/client.rs"]
mod client;

use std::time::Instant;

use serde_json::{Value, json};

use self::client::Told;
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
        let mut client = Told::by(&server(&project.read("record.jsonl"))).connect();
        for _ in 0..count {
            let began = Instant::now();
            client.gives("buffers", json!({}));
            times.0.push(began.elapsed().as_secs_f64() * 1e3);
        }
    }
    vec![("call p50 ms", times.at(50)), ("call p95 ms", times.at(95))]
}

/// The server that an agent was told of.
fn server(record: &str) -> Value {
    let mut messages = record.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let opened = messages.find(|message| message["method"] == "session/new").expect("a session");
    opened["params"]["mcpServers"][0].clone()
}

//! What reading an agent's messages costs: `cargo bench --bench decode -- [messages]`. The bytes of a long
//! session go through the same reading as those of a real process, up to the core's own types; beside it
//! the same bytes are only parsed, by `serde_json` into its `Value`.

use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use acp_nvim::acp::{updates_in, updates_unkept};
use acp_nvim::core::message::Dialect;

const MESSAGES: usize = 200_000;
const RUNS: usize = 5;

fn main() {
    let messages = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(MESSAGES);
    for (name, kind) in [("mixed updates", None), ("small chunks only", Some(0))] {
        let bytes = session(messages, kind);
        // In turns, so that a busy moment of the machine's meets all.
        let mut times = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        let draft = in_draft(&bytes);
        let read =
            |bytes, dialect| assert!(updates_in(black_box(bytes), dialect).count() >= messages * 9 / 10);
        for _ in 0..RUNS {
            times[0].push(timed(|| read(&bytes, None)));
            times[1].push(timed(|| parse(black_box(&bytes))));
            times[2].push(timed(|| read(&draft, Some(Dialect::Draft))));
            times[3].push(timed(|| assert!(updates_unkept(black_box(&bytes)).count() >= messages * 9 / 10)));
        }
        let [ours, bare, dialect, unkept] = times.map(|mut times| {
            times.sort();
            times[RUNS / 2].as_secs_f64()
        });
        let line = |what: &str, seconds: f64| {
            let (per_second, rate) = (messages as f64 / seconds, bytes.len() as f64 / seconds / 1e6);
            format!("| {name} | {what} | {:.2} | {rate:.0} |", per_second / 1e6)
        };
        say("\n| load | reader | million messages/s | MB/s |\n|---|---|---:|---:|");
        say(&line("ours, to the core's types", ours));
        say(&line("serde_json, to a Value", bare));
        say(&line("ours, from the draft dialect", dialect));
        say(&line("ours, nothing kept to inspect", unkept));
        say(&format!("\nratio {:.2}, goal 1.5; with the dialect {:.2}", ours / bare, dialect / bare));
        say(&format!("the inspector's ring costs {:.1} %, goal 2", (ours / unkept - 1.0) * 100.0));
    }
}

/// The same in the draft dialect, but for what that lacks.
fn in_draft(bytes: &[u8]) -> Vec<u8> {
    let mut draft = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut message: Value = serde_json::from_slice(line).expect("JSON");
        let update = message["params"]["update"].take();
        let text = &update["content"]["text"];
        let (kind, data) = match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_thought_chunk" => ("thought_message_chunk", json!({ "content": text, "index": 0 })),
            kind @ "agent_message_chunk" => (kind, json!({ "content": text, "index": 0 })),
            kind @ "tool_call" => (
                kind,
                json!({ "id": update["toolCallId"], "tool": "fs/write_text_file", "input": update["rawInput"] }),
            ),
            kind @ "tool_call_update" => {
                let diff = &update["content"][0];
                let lines = |sign: char, text: &Value| -> String {
                    text.as_str().unwrap_or_default().lines().map(|line| format!("{sign}{line}\n")).collect()
                };
                let hunk = json!({ "content": lines('-', &diff["oldText"]) + &lines('+', &diff["newText"]) });
                let output = json!({ "type": "diff", "path": diff["path"], "hunks": [hunk] });
                (kind, json!({ "id": update["toolCallId"], "status": "completed", "output": output }))
            }
            kind @ "plan" => {
                let step = |entry: &Value| json!({ "id": "1", "description": entry["content"], "status": "pending" });
                let steps: Vec<Value> =
                    update["entries"].as_array().into_iter().flatten().map(step).collect();
                (kind, json!({ "planId": "p", "steps": steps }))
            }
            _ => continue,
        };
        let params = json!({ "sessionId": message["params"]["sessionId"], "type": kind, "data": data });
        message["params"] = params;
        serde_json::to_writer(&mut draft, &message).expect("keys are texts");
        draft.push(b'\n');
    }
    draft
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn parse(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let value: Value = serde_json::from_slice(line).expect("JSON");
        black_box(value);
    }
}

/// The lines of a session: of every ten messages seven are small chunks, or all are of one kind.
fn session(messages: usize, only: Option<usize>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0..messages {
        let update = match only.unwrap_or(number % 10) {
            0..5 => chunk("agent_message_chunk", &format!("word {number} of \"the\" answer\n")),
            5 | 6 => chunk("agent_thought_chunk", &format!("thought {number}, ")),
            7 => json!({
                "sessionUpdate": "tool_call", "toolCallId": format!("call-{number}"), "kind": "edit",
                "title": format!("Edit src/part_{number}.rs"), "status": "pending",
                "locations": [{ "path": format!("/project/src/part_{number}.rs"), "line": 12 }],
                "rawInput": { "file_path": format!("/project/src/part_{number}.rs"), "old": "a", "new": "b" },
            }),
            8 => json!({
                "sessionUpdate": "tool_call_update", "toolCallId": format!("call-{}", number - 1),
                "status": "completed",
                "content": [{
                    "type": "diff", "path": format!("/project/src/part_{number}.rs"),
                    "oldText": "fn answer() -> u32 {\n    41\n}\n".repeat(8),
                    "newText": "fn answer() -> u32 {\n    42\n}\n".repeat(8),
                }],
            }),
            _ if number % 100 == 9 => json!({
                "sessionUpdate": "plan",
                "entries": (0..5).map(|step| json!({
                    "content": format!("Step {step} of the plan"), "priority": "medium", "status": "pending",
                })).collect::<Vec<_>>(),
            }),
            _ => json!({ "sessionUpdate": "usage_update", "used": number, "size": 200_000 }),
        };
        let message = json!({
            "jsonrpc": "2.0", "method": "session/update",
            "params": { "sessionId": "0199a2f5-6f2e-7c51-9d0a-2f4b7a3c8e11", "update": update },
        });
        serde_json::to_writer(&mut bytes, &message).expect("keys are texts");
        bytes.push(b'\n');
    }
    bytes
}

fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}

fn say(text: &str) {
    // Nobody reads a closed pipe.
    let _ = writeln!(io::stdout(), "{text}");
}

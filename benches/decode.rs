//! What reading an agent's messages costs: `cargo bench --bench decode -- [messages]`. The bytes of a long
//! session go through the same reading as those of a real process, up to the core's own types; beside it
//! the same bytes are only parsed, by `serde_json` into its `Value`.
//!
//! Readers are compared in many short rounds, in each of which all of them read the same messages by turns: a busy
//! moment of the machine's meets all. Two of them are alike, and what they seem to differ by is what the comparison is
//! worth.

use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use acp_nvim::acp::Reading;
use acp_nvim::core::message::Dialect;

const MESSAGES: usize = 200_000;
/// The messages of a round, which takes a few milliseconds.
const ROUND: usize = 5_000;
/// How often all is read. Each time the readers are new ones, so that where they are in memory differs.
const SITTINGS: usize = 9;

const OURS: usize = 0;
const PARSER: usize = 1;
const UNKEPT: usize = 2;
const UNKEPT_AGAIN: usize = 3;
/// The messages that both protocols have, in each of them.
const OFFICIAL: usize = 4;
const DRAFT: usize = 5;
const READERS: usize = 6;

/// The messages of a round in the official protocol and in the draft dialect.
type Both = (Vec<u8>, Vec<u8>);

/// How long each reader took in a round.
type Round = [f64; READERS];

fn main() {
    let messages = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(MESSAGES);
    for (name, kind) in [("mixed updates", None), ("small chunks only", Some(0))] {
        let bytes = session(messages, kind);
        let both = in_both(&bytes);
        let sittings: Vec<Vec<Round>> = (0..SITTINGS).map(|_| sitting(&bytes, &both)).collect();
        let fastest = |reader: usize| -> f64 {
            let sum = |sitting: &Vec<Round>| sitting.iter().map(|round| round[reader]).sum::<f64>();
            sittings.iter().map(sum).min_by(f64::total_cmp).expect("there are sittings")
        };
        say("\n| load | reader | million messages/s | MB/s |\n|---|---|---:|---:|");
        for (what, reader) in [("ours, to the core's types", OURS), ("serde_json, to a Value", PARSER)] {
            let seconds = fastest(reader);
            let (per_second, rate) = (messages as f64 / seconds, bytes.len() as f64 / seconds / 1e6);
            say(&format!("| {name} | {what} | {:.2} | {rate:.0} |", per_second / 1e6));
        }
        say(&format!("\nratio {:.2}, goal 1.5", fastest(OURS) / fastest(PARSER)));
        say(&format!("the draft dialect costs {}, goal 20", cost(&sittings, DRAFT, OFFICIAL)));
        say(&format!("the inspector's ring costs {}, goal 2", cost(&sittings, OURS, UNKEPT)));
        say(&format!("two readers that are alike differ by {}", cost(&sittings, UNKEPT, UNKEPT_AGAIN)));
    }
}

/// Reads a session once, each round by all readers.
fn sitting(bytes: &[u8], both: &[Both]) -> Vec<Round> {
    let mut readers = [
        Some(Reading::new(None)),
        None,
        Some(Reading::unkept()),
        Some(Reading::unkept()),
        Some(Reading::new(None)),
        Some(Reading::new(Some(Dialect::Draft))),
    ];
    let read = |(number, (part, (official, draft))): (usize, (&[u8], &Both))| {
        let mut took = Round::default();
        // Whoever comes first finds other caches than the next, so each comes after each other one in turns: of seven
        // numbers, which is a prime, each step makes an order.
        let order =
            (0..=READERS).map(|turn| (turn * (1 + number % READERS) + number / READERS) % (READERS + 1));
        for reader in order.filter(|reader| *reader < READERS) {
            let bytes = match reader {
                OFFICIAL => official,
                DRAFT => draft,
                _ => part,
            };
            took[reader] = match &mut readers[reader] {
                Some(reading) => timed(|| assert!(reading.updates(black_box(bytes)).count() > 0)),
                None => timed(|| parse(black_box(bytes))),
            }
            .as_secs_f64();
        }
        took
    };
    rounds(bytes).zip(both).enumerate().map(read).collect()
}

/// What one reader takes more than another: in half of the rounds more, in half of them less, with the least and the most
/// that one sitting says.
fn cost(sittings: &[Vec<Round>], of: usize, than: usize) -> String {
    let median = |rounds: &mut dyn Iterator<Item = &Round>| {
        let mut ratios: Vec<f64> = rounds.map(|round| (round[of] / round[than] - 1.0) * 100.0).collect();
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    };
    let mut each: Vec<f64> = sittings.iter().map(|sitting| median(&mut sitting.iter())).collect();
    each.sort_by(f64::total_cmp);
    let all = median(&mut sittings.iter().flatten());
    format!("{all:.1} % ({:.1} to {:.1})", each[0], each[each.len() - 1])
}

/// The bytes of each round.
fn rounds(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let ends = rest.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let end = ends.map(|(at, _)| at + 1).take(ROUND).last()?;
        let (round, after) = rest.split_at(end);
        rest = after;
        Some(round)
    })
}

/// What both protocols have of each round, in the official one and in the draft dialect.
fn in_both(bytes: &[u8]) -> Vec<Both> {
    let both = |round: &[u8]| {
        let (mut official, mut draft) = (Vec::new(), Vec::new());
        for line in round.split_inclusive(|byte| *byte == b'\n') {
            let before = draft.len();
            draft.extend(in_draft(line));
            if draft.len() > before {
                official.extend_from_slice(line);
            }
        }
        (official, draft)
    };
    rounds(bytes).map(both).collect()
}

/// The messages in the draft dialect, but for what that lacks.
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
                json!({
                    "id": update["toolCallId"], "tool": "fs/write_text_file", "input": update["rawInput"],
                    "status": update["status"], "location": update["locations"][0],
                }),
            ),
            kind @ "tool_call_update" => {
                let diff = &update["content"][0];
                let lines = |sign: char, text: &Value| -> String {
                    text.as_str().unwrap_or_default().lines().map(|line| format!("{sign}{line}\n")).collect()
                };
                let content = lines('-', &diff["oldText"]) + &lines('+', &diff["newText"]);
                let hunk = json!({ "oldStart": 1, "oldLines": 24, "newStart": 1, "newLines": 24, "content": content });
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

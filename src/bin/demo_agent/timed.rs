//! Requests one after the other, and how long the client took for each: reads and writes of a file,
//! and looks at a terminal that prints. The times go into a file, since it is the agent who waits and
//! a benchmark that wants to know.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1::{
    Error, Terminal, TerminalId, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdateFields, ToolKind,
};
use serde_json::{Value, json};

use crate::flood;
use crate::turn::{Played, Stop, Turn};

/// How often a terminal is looked at.
const POLL: Duration = Duration::from_millis(20);

#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    pub what: What,
    /// Where the times go: JSON with milliseconds.
    pub out: PathBuf,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Reads { count: usize, path: PathBuf },
    Writes { count: usize, path: PathBuf, changed: usize },
    Polls { command: String },
}

pub fn play(turn: &mut Turn, timed: &Timed) -> Played {
    let report = match &timed.what {
        What::Reads { count, path } => reads(turn, *count, path)?,
        What::Writes { count, path, changed } => writes(turn, *count, path, *changed)?,
        What::Polls { command } => polls(turn, command)?,
    };
    std::fs::write(&timed.out, report.to_string())
        .map_err(|error| failed(format!("couldn't write {}: {error}", timed.out.display())))?;
    flood::say(turn, flood::END);
    Ok(())
}

/// All reads, and how many of them were not what the disk holds.
fn reads(turn: &mut Turn, count: usize, path: &Path) -> Played<Value> {
    let saved = std::fs::read_to_string(path).unwrap_or_default();
    let (mut times, mut fresh) = (Vec::new(), 0);
    for _ in 0..count {
        let (text, time) = read(turn, path)?;
        times.push(time);
        fresh += usize::from(text != saved && text.lines().count() >= saved.lines().count());
    }
    Ok(json!({ "times": times, "fresh": fresh }))
}

/// Writes what the client holds, some lines of it changed each time.
fn writes(turn: &mut Turn, count: usize, path: &Path, lines: usize) -> Played<Value> {
    let (mut text, _) = read(turn, path)?;
    let mut times = Vec::new();
    for number in 0..count {
        text = changed(&text, lines, number);
        times.push(call(turn, "fs/write_text_file", json!({ "path": path, "content": text }))?.1);
    }
    Ok(json!({ "times": times }))
}

/// Runs a command in a terminal that is shown, and looks at its output until it is over.
fn polls(turn: &mut Turn, command: &str) -> Played<Value> {
    let params = json!({ "command": "sh", "args": ["-c", command] });
    let (created, _) = call(turn, "terminal/create", params)?;
    let id = created["terminalId"].as_str().unwrap_or_default().to_owned();
    let terminal = TerminalId::new(id.clone());
    turn.hold_terminal(&terminal);
    let shown = vec![ToolCallContent::Terminal(Terminal::new(terminal.clone()))];
    let open = turn.start_call(|call| {
        ToolCall::new(call, "flood").kind(ToolKind::Execute).status(ToolCallStatus::InProgress).content(shown)
    });
    let mut times = Vec::new();
    loop {
        let (output, time) = call(turn, "terminal/output", json!({ "terminalId": id }))?;
        times.push(time);
        if !output["exitStatus"].is_null() {
            break;
        }
        turn.sleep(POLL)?;
    }
    turn.finish_call(&open, ToolCallStatus::Completed, ToolCallUpdateFields::new());
    turn.release_terminal(&terminal)?.map_err(failed)?;
    Ok(json!({ "times": times }))
}

fn read(turn: &mut Turn, path: &Path) -> Played<(String, f64)> {
    let (mut answer, time) = call(turn, "fs/read_text_file", json!({ "path": path }))?;
    match answer["content"].take() {
        Value::String(text) => Ok((text, time)),
        other => Err(failed(format!("the client read {other}"))),
    }
}

/// A request's answer, and the milliseconds that it took.
fn call(turn: &mut Turn, method: &str, mut params: Value) -> Played<(Value, f64)> {
    params["sessionId"] = turn.session.0.as_ref().into();
    let begin = Instant::now();
    let answer = turn.call::<Value>(method, params)?;
    let time = begin.elapsed().as_secs_f64() * 1e3;
    Ok((answer.map_err(failed)?, time))
}

fn failed(text: String) -> Stop {
    Stop::Failed(Error::internal_error().data(text))
}

/// The text with so many lines changed, evenly spread; others for each number.
fn changed(text: &str, changed: usize, number: usize) -> String {
    let count = text.lines().count();
    let step = (count / changed.max(1)).max(1);
    let offset = number * 7 % step;
    let line = |(at, line): (usize, &str)| match at % step == offset && at / step < changed {
        true => format!("{line}, {number}\n"),
        false => format!("{line}\n"),
    };
    text.lines().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_lines_are_changed_and_all_others_stay() {
        let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
        for number in 0..20 {
            let new = changed(&text, 10, number);
            assert_eq!(new.lines().zip(text.lines()).filter(|(new, old)| new != old).count(), 10);
            assert_eq!(new.lines().count(), 100);
        }
        assert_eq!(changed("a\nb\n", 1, 3), "a\nb, 3\n");
    }
}

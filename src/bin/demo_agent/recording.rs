//! A recorded session as a file holds it: one JSON object a line with the time, the direction and the
//! message. Reads it and says what the user typed in it; playing it is for `replay`.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::wire::Incoming;

/// Where one agent process ends and the next begins, within one file.
const NEXT_PROCESS: &str = "a second agent process";

/// One line of the wire.
#[derive(Debug)]
pub struct Entry {
    /// Seconds since the recording began.
    pub at: f64,
    pub what: What,
}

#[derive(Debug)]
pub enum What {
    FromClient(Incoming),
    FromAgent(Value),
    /// A line of the agent's that was no JSON.
    Noise(String),
    Stderr(String),
}

#[derive(Deserialize)]
struct Written {
    t: f64,
    dir: String,
    msg: Option<Value>,
    raw: Option<String>,
    note: Option<String>,
}

/// What one agent process of the recording read and wrote; the first one has the number 1.
pub fn read(path: &Path, part: usize) -> Result<Vec<Entry>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut parts = parse(&text)?;
    if part == 0 || part > parts.len() {
        return Err(format!("it has {} parts, and part {part} is not one of them", parts.len()));
    }
    Ok(parts.swap_remove(part - 1))
}

fn parse(text: &str) -> Result<Vec<Vec<Entry>>, String> {
    let mut parts = vec![Vec::new()];
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = |error: String| format!("line {}: {error}", index + 1);
        let written: Written = serde_json::from_str(line).map_err(|error| place(error.to_string()))?;
        let what = match (written.dir.as_str(), written.msg, written.raw) {
            ("client->agent", Some(message), _) => {
                What::FromClient(Incoming::from_value(message).map_err(place)?)
            }
            ("agent->client", Some(message), _) => What::FromAgent(message),
            ("agent->client", None, Some(raw)) => What::Noise(raw),
            ("stderr", _, Some(raw)) => What::Stderr(raw),
            ("note", ..) => {
                if written.note.as_deref() == Some(NEXT_PROCESS) {
                    parts.push(Vec::new());
                }
                continue;
            }
            (other, ..) => return Err(place(format!("a direction or content that I don't know: {other}"))),
        };
        parts.last_mut().expect("there is always one").push(Entry { at: written.t, what });
    }
    Ok(parts)
}

/// What the user typed, prompt by prompt.
pub fn prompts(entries: &[Entry]) -> Vec<String> {
    let prompts = entries.iter().filter_map(|entry| match &entry.what {
        What::FromClient(Incoming::Request { method, params, .. }) if method == "session/prompt" => {
            params["prompt"].as_array()
        }
        _ => None,
    });
    let text = |blocks: &Vec<Value>| {
        blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    };
    prompts.map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_of_two_processes_has_two_parts() {
        let text = r#"{"t": 0, "dir": "note", "note": "begin"}
{"t": 1, "dir": "client->agent", "msg": {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}}
{"t": 2, "dir": "note", "note": "a second agent process"}
{"t": 3, "dir": "agent->client", "raw": "banner"}
{"t": 3, "dir": "stderr", "raw": "warning"}
"#;
        let parts = parse(text).expect("a recording");
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn an_error_names_the_line() {
        assert!(parse("{\"t\": 0, \"dir\": \"note\"}\nx\n").unwrap_err().starts_with("line 2: "));
    }
}

//! A recorded session as a file holds it: one JSON object a line with the time, the direction and the
//! message. Reads it, leaves out what a client would not have said, and says what the user typed in
//! it; playing it is for `replay`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::recorded::{self, Line, Said};
use crate::wire::Incoming;

/// Where one agent process ends and the next begins, within one file.
const NEXT_PROCESS: &str = "a second agent process";

/// Which part of a recording is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Which agent process, from 1.
    pub part: usize,
    /// Which of its sessions, from 1 and in the order in which they were opened; all without one.
    pub session: Option<usize>,
    /// Methods that the client does not use.
    pub without: Vec<String>,
}

impl Default for Selection {
    fn default() -> Self {
        Self { part: 1, session: None, without: Vec::new() }
    }
}

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

/// What one agent process of the recording read and wrote.
pub fn read(path: &Path, selection: &Selection) -> Result<Vec<Entry>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    select(parse(&text)?, selection)
}

fn select(mut parts: Vec<Vec<Entry>>, selection: &Selection) -> Result<Vec<Entry>, String> {
    let Selection { part, session, without } = selection;
    if *part == 0 || *part > parts.len() {
        return Err(format!("it has {} parts, and part {part} is not one of them", parts.len()));
    }
    let mut entries = parts.swap_remove(part - 1);
    if let Some(number) = session {
        entries = only_session(entries, *number)?;
    }
    Ok(leave_out_methods(entries, without))
}

/// The recording without requests of these methods. What a session says that is taken up by one of them goes with it,
/// until the client asks it for something else.
fn leave_out_methods(entries: Vec<Entry>, without: &[String]) -> Vec<Entry> {
    let mut taken_up: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in &entries {
        if let What::FromClient(Incoming::Request { method, params, .. }) = &entry.what
            && method == "session/resume"
            && let Some(session) = params["sessionId"].as_str()
        {
            taken_up.entry(session.to_owned()).or_insert_with(|| subagents_of(&entries, session));
        }
    }
    let mut silent = BTreeSet::new();
    leave_out(entries, |method, request, params| {
        let session = params["sessionId"].as_str().unwrap_or_default();
        if without.iter().any(|one| one == method) {
            if let Some(subagents) = taken_up.get(session).filter(|_| method == "session/resume") {
                silent.insert(session.to_owned());
                silent.extend(subagents.iter().cloned());
            }
            return true;
        }
        if request.is_some() && silent.contains(session) {
            silent.clear();
        }
        silent.contains(session)
    })
}

/// One of several sessions that ran side by side.
fn only_session(entries: Vec<Entry>, number: usize) -> Result<Vec<Entry>, String> {
    let opened = opened(&entries);
    let Some((request, session)) = number.checked_sub(1).and_then(|index| opened.get(index).cloned()) else {
        let count = opened.len();
        return Err(format!("it opens {count} sessions, and session {number} is not one of them"));
    };
    let subagents = session.as_deref().map(|session| subagents_of(&entries, session)).unwrap_or_default();
    // One that was never opened has no messages that a client could take for another's.
    Ok(leave_out(entries, |_, id, params| {
        let is_other_opening =
            id.is_some_and(|id| id != &request && opened.iter().any(|(request, _)| request == id));
        let is_other = params["sessionId"]
            .as_str()
            .is_some_and(|id| Some(id) != session.as_deref() && !subagents.contains(id));
        is_other_opening || is_other && session.is_some()
    }))
}

/// The sessions that work for a session.
fn subagents_of(entries: &[Entry], session: &str) -> BTreeSet<String> {
    let mut subagents = BTreeSet::new();
    for entry in entries {
        let What::FromAgent(message) = &entry.what else { continue };
        let (params, update) = (&message["params"], &message["params"]["update"]);
        if update["sessionUpdate"] != "subagent_update" {
            continue;
        }
        let works = |id: &str| id == session || subagents.contains(id);
        if params["sessionId"].as_str().is_some_and(works) {
            subagents.extend(update["sessionId"].as_str().map(str::to_owned));
        }
    }
    subagents
}

/// The requests that opened a session: each with its id, and the session's if it came to be.
fn opened(entries: &[Entry]) -> Vec<(Value, Option<String>)> {
    let mut opened = Vec::new();
    for entry in entries {
        match &entry.what {
            What::FromClient(Incoming::Request { id, method, params }) => match method.as_str() {
                "session/new" => opened.push((id.clone(), None)),
                "session/load" => opened.push((id.clone(), params["sessionId"].as_str().map(str::to_owned))),
                _ => {}
            },
            What::FromAgent(message) if message.get("method").is_none() => {
                let made = message["result"]["sessionId"].as_str();
                if let Some((_, session)) = opened.iter_mut().find(|(id, _)| *id == message["id"]) {
                    *session = session.take().or(made.map(str::to_owned));
                }
            }
            _ => {}
        }
    }
    opened
}

/// The recording without the messages that `is_out` says by method, id and parameters, the answers to
/// those requests among them. An id given is one of the client's requests.
fn leave_out(
    entries: Vec<Entry>,
    mut is_out: impl FnMut(&str, Option<&Value>, &Value) -> bool,
) -> Vec<Entry> {
    // The requests that are out and have no answer yet.
    let (mut of_client, mut of_agent) = (BTreeSet::new(), BTreeSet::new());
    let mut goes = |entry: &Entry| match &entry.what {
        What::FromClient(Incoming::Request { id, method, params }) => {
            let goes = is_out(method, Some(id), params);
            if goes {
                of_client.insert(id.to_string());
            }
            goes
        }
        What::FromClient(Incoming::Notification { method, params }) => is_out(method, None, params),
        What::FromClient(Incoming::Answer { id, .. }) => of_agent.remove(&id.to_string()),
        What::FromAgent(message) => match (message.get("id"), message["method"].as_str()) {
            (Some(id), None) => of_client.remove(&id.to_string()),
            (id, method) => {
                let goes = is_out(method.unwrap_or_default(), None, &message["params"]);
                if let (true, Some(id)) = (goes, id) {
                    of_agent.insert(id.to_string());
                }
                goes
            }
        },
        What::Noise(_) | What::Stderr(_) => false,
    };
    entries.into_iter().filter(|entry| !goes(entry)).collect()
}

fn parse(text: &str) -> Result<Vec<Vec<Entry>>, String> {
    let mut parts = vec![Vec::new()];
    for Line { at, said } in recorded::parse(text)? {
        let what = match said {
            Said::ByClient(message) => {
                let described = |error| format!("what the client says at {at} s: {error}");
                What::FromClient(Incoming::from_value(message).map_err(described)?)
            }
            Said::ByAgent(message) => What::FromAgent(message),
            Said::Noise(raw) => What::Noise(raw),
            Said::Stderr(raw) => What::Stderr(raw),
            Said::Note(note) => {
                if note == NEXT_PROCESS {
                    parts.push(Vec::new());
                }
                continue;
            }
        };
        parts.last_mut().expect("there is always one").push(Entry { at, what });
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
    fn what_a_session_says_that_was_taken_up_goes_with_the_request() {
        let says = |session: &str| {
            format!(
                r#"{{"t": 1, "dir": "agent->client", "msg": {{"jsonrpc": "2.0", "method": "session/update", "params": {{"sessionId": "{session}"}}}}}}"#
            )
        };
        let asks = |id: i32, method: &str| {
            format!(
                r#"{{"t": 1, "dir": "client->agent", "msg": {{"jsonrpc": "2.0", "id": {id}, "method": "{method}", "params": {{"sessionId": "s"}}}}}}"#
            )
        };
        let text = [
            says("s"),
            asks(1, "session/resume"),
            says("s"),
            says("other"),
            r#"{"t": 1, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "id": 1, "result": {}}}"#
                .to_owned(),
            asks(2, "session/load"),
            says("s"),
        ];
        let without = vec!["session/resume".to_owned()];
        let left = left(&text.join("\n"), &Selection { without, ..Selection::default() });
        assert_eq!(left, ["session/update", "session/update", "session/load", "session/update"]);
    }

    /// The method or the id of each message that is left.
    fn left(text: &str, selection: &Selection) -> Vec<String> {
        let entries = select(parse(text).expect("a recording"), selection).expect("a selection");
        let name = |method: &str, id: &Value| if method.is_empty() { id.to_string() } else { method.into() };
        let left = entries.iter().map(|entry| match &entry.what {
            What::FromClient(Incoming::Request { method, params, .. }) => {
                name(params["prompt"][0]["text"].as_str().unwrap_or(method), &Value::Null)
            }
            What::FromClient(Incoming::Notification { method, .. }) => name(method, &Value::Null),
            What::FromClient(Incoming::Answer { id, .. }) => name("", id),
            What::FromAgent(message) => name(message["method"].as_str().unwrap_or_default(), &message["id"]),
            What::Noise(text) | What::Stderr(text) => text.clone(),
        });
        left.collect()
    }

    const TWO: &str = r#"{"t": 0, "dir": "client->agent", "msg": {"jsonrpc": "2.0", "id": 1, "method": "initialize"}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "id": 1, "result": {}}}
{"t": 0, "dir": "client->agent", "msg": {"jsonrpc": "2.0", "id": 2, "method": "session/new"}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "method": "early", "params": {"sessionId": "a"}}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "a"}}}
{"t": 0, "dir": "client->agent", "msg": {"jsonrpc": "2.0", "id": 3, "method": "session/new"}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "id": 3, "result": {"sessionId": "b"}}}
{"t": 0, "dir": "client->agent", "msg": {"jsonrpc": "2.0", "id": 4, "method": "session/prompt", "params": {"sessionId": "b", "prompt": [{"text": "for b"}]}}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "id": 4, "method": "ask", "params": {"sessionId": "b"}}}
{"t": 0, "dir": "client->agent", "msg": {"jsonrpc": "2.0", "id": 4, "result": {}}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "id": 4, "result": {}}}
{"t": 0, "dir": "client->agent", "msg": {"jsonrpc": "2.0", "id": 5, "method": "session/list", "params": {}}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "id": 5, "result": {}}}
{"t": 0, "dir": "stderr", "raw": "bye"}
"#;

    #[test]
    fn one_of_two_sessions_is_as_if_it_had_been_alone() {
        let selection = |session| Selection { session: Some(session), ..Selection::default() };
        assert_eq!(
            left(TWO, &selection(1)),
            ["initialize", "1", "session/new", "early", "2", "session/list", "5", "bye"]
        );
        assert_eq!(
            left(TWO, &selection(2)),
            ["initialize", "1", "session/new", "3", "for b", "ask", "4", "4", "session/list", "5", "bye"]
        );
        let error = select(parse(TWO).expect("a recording"), &selection(3)).unwrap_err();
        assert_eq!(error, "it opens 2 sessions, and session 3 is not one of them");
    }

    #[test]
    fn a_session_keeps_what_works_for_it() {
        let text = r#"{"t": 0, "dir": "client->agent", "msg": {"jsonrpc": "2.0", "id": 2, "method": "session/new"}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "a"}}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "method": "one", "params": {"sessionId": "a", "update": {"sessionUpdate": "subagent_update", "sessionId": "k"}}}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "method": "two", "params": {"sessionId": "k", "update": {"sessionUpdate": "subagent_update", "sessionId": "l"}}}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "method": "three", "params": {"sessionId": "l"}}}
{"t": 0, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "method": "four", "params": {"sessionId": "b"}}}
"#;
        let selection = Selection { session: Some(1), ..Selection::default() };
        assert_eq!(left(text, &selection), ["session/new", "2", "one", "two", "three"]);
    }

    #[test]
    fn a_method_is_left_out_with_its_answers() {
        let without = ["session/list", "session/prompt", "ask"].map(str::to_owned).to_vec();
        let selection = Selection { without, ..Selection::default() };
        assert_eq!(
            left(TWO, &selection),
            ["initialize", "1", "session/new", "early", "2", "session/new", "3", "bye"]
        );
    }

    #[test]
    fn an_error_names_the_line() {
        assert!(parse("{\"t\": 0, \"dir\": \"note\"}\nx\n").unwrap_err().starts_with("line 2: "));
    }
}

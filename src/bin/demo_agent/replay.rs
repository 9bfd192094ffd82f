//! Plays the agent's side of a recorded session. Waits for the client's messages in the order of the
//! recording, by method and, for answers, by id; their content may differ. Names of this replay take the
//! place of the recorded ones. Ends with code 71 when the client said something that the recording does
//! not have.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use agent_client_protocol_schema::v1::Error;
use serde_json::{Value, json};

use crate::disk::Disk;
use crate::mapping::Mapping;
use crate::recording::{self, Entry, Selection, What};
use crate::wire::{Incoming, Output};
use crate::{lines, print_error};

const DIVERGED: u8 = 71;
const BAD_RECORDING: u8 = 64;

/// What to replay, and how.
#[derive(Debug, PartialEq)]
pub struct Options {
    pub recording: PathBuf,
    pub selection: Selection,
    /// Recorded folders, each with the one on this disk.
    pub folders: Vec<(String, String)>,
    /// How many times as fast as it was recorded; 0 waits nowhere.
    pub speed: f64,
    /// Whether to change the files that the recorded agent changed by itself.
    pub write_disk: bool,
    /// How long to wait between the steps of such a change.
    pub slow_disk: Option<Duration>,
    pub record: Option<PathBuf>,
}

/// Prints what the user typed in a recording, as a JSON array.
pub fn print_prompts(options: &Options) -> ExitCode {
    let entries = match recording::read(&options.recording, &options.selection) {
        Ok(entries) => entries,
        Err(error) => return bad(options, &error),
    };
    let prompts = Value::from(recording::prompts(&entries));
    // Nobody reads the prompts of a closed pipe.
    let _ = writeln!(std::io::stdout(), "{prompts:#}");
    ExitCode::SUCCESS
}

pub fn run(options: &Options) -> ExitCode {
    let entries = match recording::read(&options.recording, &options.selection) {
        Ok(entries) => entries,
        Err(error) => return bad(options, &error),
    };
    let record = match options.record.as_ref().map(File::create).transpose() {
        Ok(record) => record,
        Err(error) => return bad(options, &error.to_string()),
    };
    let (sender, lines) = mpsc::channel();
    lines::read_into(record, sender);
    let mut mapping = Mapping::default();
    for (recorded, real) in &options.folders {
        mapping.add_folder(recorded, real);
    }
    let mut player = Player {
        output: Output::new(),
        lines,
        kept: VecDeque::new(),
        expected: Expected::of(&entries),
        mapping,
        client_ids: BTreeMap::new(),
        asked: BTreeMap::new(),
        disk: options.write_disk.then(|| Disk::new(options.slow_disk)),
        open_prompts: BTreeSet::new(),
        is_live: false,
        diverged: false,
    };
    let mut ended = false;
    let mut before = entries.first().map_or(0.0, |entry| entry.at);
    for entry in &entries {
        if options.speed > 0.0 && !matches!(entry.what, What::FromClient(_)) {
            let seconds = ((entry.at - before) / options.speed).max(0.0);
            thread::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        }
        before = entry.at;
        if !player.play(entry) {
            ended = true;
            break;
        }
    }
    player.finish(ended)
}

fn bad(options: &Options, error: &str) -> ExitCode {
    print_error(&format!("couldn't replay {}: {error}", options.recording.display()));
    ExitCode::from(BAD_RECORDING)
}

/// How many messages of the client's, by method, are still to come in the recording.
#[derive(Debug, Default)]
struct Expected(BTreeMap<String, usize>);

impl Expected {
    fn of(entries: &[Entry]) -> Self {
        let mut expected = Self::default();
        for entry in entries {
            if let What::FromClient(
                Incoming::Request { method, .. } | Incoming::Notification { method, .. },
            ) = &entry.what
            {
                *expected.0.entry(method.clone()).or_default() += 1;
            }
        }
        expected
    }

    /// Whether one more of these is in the recording; then it is spoken for.
    fn take(&mut self, method: &str) -> bool {
        match self.0.get_mut(method) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }
}

struct Player {
    output: Output,
    lines: Receiver<Option<Vec<u8>>>,
    /// What the client sent before the recording had it.
    kept: VecDeque<Incoming>,
    expected: Expected,
    mapping: Mapping,
    /// The ids of the client's requests, by the recorded id.
    client_ids: BTreeMap<String, Value>,
    /// The methods of the agent's requests, by id; those ids are the recorded ones.
    asked: BTreeMap<String, String>,
    disk: Option<Disk>,
    /// The recorded ids of the prompts that have no answer yet.
    open_prompts: BTreeSet<String>,
    /// There has been a prompt, so that what the agent tells of happens now.
    is_live: bool,
    diverged: bool,
}

impl Player {
    /// False when stdin ended.
    fn play(&mut self, entry: &Entry) -> bool {
        match &entry.what {
            // Whose turn is over has nothing to stop.
            What::FromClient(Incoming::Notification { method, .. })
                if method == "session/cancel" && self.open_prompts.is_empty() => {}
            What::FromClient(recorded) => return self.wait_for(recorded),
            What::FromAgent(message) => self.send(message),
            What::Noise(line) => self.output.bytes(format!("{line}\n").as_bytes()),
            What::Stderr(line) => {
                // As the recorded agent said it, so without our name before it.
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
        true
    }

    fn send(&mut self, recorded: &Value) {
        // A session that is loaded tells of changes made long ago.
        if self.is_live
            && let Some(disk) = &mut self.disk
        {
            disk.follow(recorded, &self.mapping);
        }
        let mut message = self.mapping.to_real(recorded);
        match (recorded.get("id"), recorded["method"].as_str()) {
            (Some(id), Some(method)) => {
                self.asked.insert(id.to_string(), method.to_owned());
            }
            (Some(id), None) => {
                if self.open_prompts.remove(&id.to_string())
                    && let Some(disk) = &mut self.disk
                {
                    // No agent ends a turn in which it still writes.
                    disk.finish();
                }
                match self.client_ids.remove(&id.to_string()) {
                    Some(real) => message["id"] = real,
                    None => {
                        return print_error(&format!(
                            "the recording answers request {id}, which was never made"
                        ));
                    }
                }
            }
            _ => {}
        }
        self.output.send(&message);
    }

    /// Waits for the message of the client's that stands for the recorded one.
    fn wait_for(&mut self, recorded: &Incoming) -> bool {
        loop {
            if let Some(index) = self.kept.iter().position(|incoming| self.stands_for(incoming, recorded)) {
                let incoming = self.kept.remove(index).expect("an index that was just found");
                self.learn(&incoming, recorded);
                return true;
            }
            match self.lines.recv() {
                Ok(Some(line)) => self.receive(&line),
                Ok(None) | Err(_) => {
                    print_error(&format!("stdin ended before {}", recorded.describe()));
                    self.diverged = true;
                    return false;
                }
            }
        }
    }

    fn stands_for(&self, incoming: &Incoming, recorded: &Incoming) -> bool {
        match (incoming, recorded) {
            (
                Incoming::Request { method, params, .. },
                Incoming::Request { method: wanted, params: known, .. },
            )
            | (
                Incoming::Notification { method, params },
                Incoming::Notification { method: wanted, params: known },
            ) => {
                let is_same_session = || self.mapping.to_real(known)["sessionId"] == params["sessionId"];
                method == wanted && (names_its_session(method) || is_same_session())
            }
            (Incoming::Answer { id, .. }, Incoming::Answer { id: wanted, .. }) => id == wanted,
            _ => false,
        }
    }

    /// Takes over the names that the client gave to what the recording calls otherwise.
    fn learn(&mut self, incoming: &Incoming, recorded: &Incoming) {
        match (incoming, recorded) {
            (
                Incoming::Request { id, method, params },
                Incoming::Request { id: known_id, params: known, .. },
            ) => {
                self.client_ids.insert(known_id.to_string(), id.clone());
                if let (Some(real), Some(known)) = (params["cwd"].as_str(), known["cwd"].as_str()) {
                    self.mapping.add_folder(known, real);
                }
                if let (Some(real), Some(known)) = (params["sessionId"].as_str(), known["sessionId"].as_str())
                    && real != known
                {
                    self.mapping.add_id(known, real);
                }
                if method == "session/prompt" {
                    self.open_prompts.insert(known_id.to_string());
                    self.is_live = true;
                    if let Some(disk) = &mut self.disk {
                        disk.begin_turn();
                    }
                }
            }
            (Incoming::Answer { id, outcome }, Incoming::Answer { outcome: known, .. }) => {
                if let (Ok(real), Ok(known)) = (outcome, known)
                    && let (Some(real), Some(known)) =
                        (real["terminalId"].as_str(), known["terminalId"].as_str())
                {
                    self.mapping.add_id(known, real);
                }
                self.compare(id, outcome, known);
                self.asked.remove(&id.to_string());
            }
            _ => {}
        }
    }

    /// Another answer than the recorded one is no fault, but a reader of the log will want to know.
    fn compare(&self, id: &Value, outcome: &Result<Value, Value>, known: &Result<Value, Value>) {
        let text = |outcome: &Result<Value, Value>| {
            let (Ok(value) | Err(value)) = outcome;
            let text = value.to_string();
            text.char_indices().nth(200).map_or(text.clone(), |(end, _)| format!("{}...", &text[..end]))
        };
        let outcome = match outcome {
            Ok(result) => Ok(self.mapping.to_recorded(result)),
            Err(error) => Err(self.mapping.to_recorded(error)),
        };
        let without_nulls = |outcome: &Result<Value, Value>| outcome.clone().map(strip_nulls);
        if without_nulls(&outcome) != without_nulls(known) {
            let method = self.asked.get(&id.to_string()).map_or("a request", String::as_str);
            print_error(&format!(
                "note: {method} was answered with {}, in the recording with {}",
                text(&outcome),
                text(known)
            ));
        }
    }

    /// Sorts a line of the client's: kept for the recording to ask for, or not in it at all.
    fn receive(&mut self, line: &[u8]) {
        let incoming = match Incoming::parse(line) {
            Ok(incoming) => incoming,
            Err(error) => return self.diverge(&error),
        };
        match &incoming {
            Incoming::Request { id, method, .. } => {
                if self.expected.take(method) {
                    self.kept.push_back(incoming);
                } else if method == "session/close" {
                    // A polite end, which no recording has.
                    self.output.answer(id, Ok(json!({})));
                } else {
                    // So that a client that waits for it goes on.
                    let error = Error::method_not_found().data("not in the recording".to_owned());
                    self.output.refuse(id, &error);
                    self.diverge(&incoming.describe());
                }
            }
            Incoming::Notification { method, .. } => {
                if self.expected.take(method) {
                    self.kept.push_back(incoming);
                } else if method != "session/cancel" && !method.starts_with(['$', '_']) {
                    self.diverge(&incoming.describe());
                }
            }
            Incoming::Answer { id, .. } => {
                let is_second = self
                    .kept
                    .iter()
                    .any(|kept| matches!(kept, Incoming::Answer { id: known, .. } if known == id));
                if self.asked.contains_key(&id.to_string()) && !is_second {
                    self.kept.push_back(incoming);
                } else {
                    self.diverge(&incoming.describe());
                }
            }
        }
    }

    fn diverge(&mut self, what: &str) {
        print_error(&format!("not in the recording: {what}"));
        self.diverged = true;
    }

    /// Reads until the client closes stdin.
    fn finish(mut self, ended: bool) -> ExitCode {
        while !ended && let Ok(Some(line)) = self.lines.recv() {
            self.receive(&line);
        }
        // Requests that the recorded client never answered may be answered now.
        self.kept.retain(|incoming| !matches!(incoming, Incoming::Answer { .. }));
        for incoming in std::mem::take(&mut self.kept) {
            self.diverge(&incoming.describe());
        }
        if let Some(disk) = &mut self.disk {
            disk.finish();
        }
        if self.diverged { ExitCode::from(DIVERGED) } else { ExitCode::SUCCESS }
    }
}

/// Requests whose session is one that the client knows from elsewhere.
fn names_its_session(method: &str) -> bool {
    matches!(method, "session/load" | "session/resume" | "session/delete")
}

fn strip_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, field)| !field.is_null());
            Value::Object(kept.map(|(key, field)| (key, strip_nulls(field))).collect())
        }
        other => other,
    }
}

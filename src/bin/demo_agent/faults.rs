//! An agent that misbehaves on demand, for the soak test: a prompt says `fault NAME NUMBER`, the agent
//! commits that fault and then, where it still can, says `done-NUMBER` and ends its turn. Each request
//! that it makes and each answer that it gets is a line of its ledger. What the faults are is in the
//! files beside; when which one comes, and what has to follow, is for the test.

mod messages;
mod process;
mod requests;
mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::wire::{Incoming, Output};
use crate::{lines, print_error};

/// How an agent behaves before its first session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Start {
    #[default]
    Sound,
    /// Ends when it is asked to initialize.
    Crash,
    /// Answers `initialize` with an error.
    Refuse,
    /// Says nothing that is a message, and goes.
    Noise,
    /// Never answers.
    Mute,
}

impl Start {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "sound" => Self::Sound,
            "crash" => Self::Crash,
            "refuse" => Self::Refuse,
            "noise" => Self::Noise,
            "mute" => Self::Mute,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub ledger: PathBuf,
    pub start: Start,
}

pub fn run(options: &Options) -> ExitCode {
    let ledger = match OpenOptions::new().create(true).append(true).open(&options.ledger) {
        Ok(ledger) => ledger,
        Err(error) => {
            print_error(&format!("couldn't open the ledger: {error}"));
            return ExitCode::from(64);
        }
    };
    let (sender, lines) = mpsc::sync_channel(1);
    // Bounded, so that a fault can leave stdin unread.
    lines::read(None, move |line| sender.send(line).is_ok());
    let mut agent = Agent {
        output: Output::new(),
        lines,
        ledger,
        cwd: PathBuf::new(),
        session: String::new(),
        sessions: 0,
        last_id: 0,
        open: BTreeMap::new(),
        answers: BTreeMap::new(),
        waiting: VecDeque::new(),
        cancelled: false,
    };
    agent.serve(options.start)
}

/// What is left to do when a fault has been played.
enum After {
    /// The turn ends as any other does.
    Answer,
    /// The turn ends with this instead of a result.
    Reply(Value),
    /// The prompt has its answer already, or never gets one.
    Nothing,
}

struct Agent {
    output: Output,
    lines: Receiver<Option<Vec<u8>>>,
    ledger: File,
    cwd: PathBuf,
    session: String,
    sessions: u32,
    last_id: u64,
    /// How many answers are due to each request, by its id as JSON.
    open: BTreeMap<String, u32>,
    answers: BTreeMap<String, Value>,
    /// What the client asked while a fault was played.
    waiting: VecDeque<Incoming>,
    cancelled: bool,
}

impl Agent {
    fn serve(&mut self, start: Start) -> ExitCode {
        loop {
            let Some(message) = self.waiting.pop_front().or_else(|| self.next(None)) else { break };
            let Incoming::Request { id, method, params } = message else { continue };
            match method.as_str() {
                "initialize" => match start {
                    Start::Sound => self.reply(&id, &initialized()),
                    Start::Crash => return ExitCode::from(3),
                    Start::Refuse => self.refuse(&id, "not today"),
                    Start::Noise => {
                        self.output.bytes(b"Welcome!\n{\"level\":30}\n\x1b]0;title\x07\n");
                        return ExitCode::SUCCESS;
                    }
                    Start::Mute => {}
                },
                "session/new" => {
                    self.sessions += 1;
                    self.session = format!("f{}-{}", std::process::id(), self.sessions);
                    self.cwd = params["cwd"].as_str().unwrap_or("/").into();
                    let session = self.session.clone();
                    self.reply(&id, &json!({ "sessionId": session }));
                }
                "session/prompt" => self.prompt(&id, &params),
                other => self.refuse(&id, &format!("no method {other}")),
            }
        }
        self.note(&json!({ "end": "stdin closed" }));
        ExitCode::SUCCESS
    }

    fn prompt(&mut self, id: &Value, params: &Value) {
        self.cancelled = false;
        if let Some(session) = params["sessionId"].as_str() {
            self.session = session.to_owned();
        }
        let text = params["prompt"][0]["text"].as_str().unwrap_or_default().to_owned();
        let mut words = text.split_whitespace().skip_while(|word| *word != "fault").skip(1);
        let (name, number) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let seed = number.parse().unwrap_or_default();
        self.note(&json!({ "fault": name, "number": number }));
        let after = self
            .on_the_wire(name, seed, id)
            .or_else(|| self.in_messages(name, seed, id))
            .or_else(|| self.in_requests(name, seed))
            .or_else(|| self.of_the_process(name, id))
            .unwrap_or(After::Answer);
        match after {
            After::Answer => {
                self.say(&format!("\n\ndone-{number}\n"));
                let reason = if self.cancelled { "cancelled" } else { "end_turn" };
                self.reply(id, &json!({ "stopReason": reason }));
                self.late(name);
            }
            After::Reply(reply) => {
                let mut message = reply;
                message["jsonrpc"] = "2.0".into();
                message["id"] = id.clone();
                self.output.send(&message);
            }
            After::Nothing => {}
        }
    }

    /// Takes in the next message while a fault is played; false when stdin ends or the deadline is over.
    fn hear(&mut self, deadline: Option<Instant>) -> bool {
        match self.next(deadline) {
            Some(request @ Incoming::Request { .. }) => self.waiting.push_back(request),
            Some(_) => {}
            None => return false,
        }
        true
    }

    /// The next message, or nothing when stdin ends or the deadline is over. Answers and cancels are noted.
    fn next(&mut self, deadline: Option<Instant>) -> Option<Incoming> {
        let line = match deadline {
            None => self.lines.recv().ok()?,
            Some(at) => self.lines.recv_timeout(at.saturating_duration_since(Instant::now())).ok()?,
        };
        let Some(line) = line else {
            // Whoever waits for more waits in vain; the loop in `serve` hears of the end by the channel's.
            let _ = std::mem::replace(&mut self.lines, mpsc::channel().1);
            return None;
        };
        let message = match Incoming::parse(&line) {
            Ok(message) => message,
            Err(error) => {
                self.note(&json!({ "bad": error }));
                return self.next(deadline);
            }
        };
        match &message {
            Incoming::Answer { id, outcome } => {
                let key = id.to_string();
                let due = self.open.get_mut(&key);
                let expected = due.is_some();
                if let Some(due) = due {
                    *due -= 1;
                    if *due == 0 {
                        self.open.remove(&key);
                    }
                }
                self.note(&json!({ "answered": id, "expected": expected, "ok": outcome.is_ok() }));
                let outcome = match outcome {
                    Ok(result) => json!({ "result": result }),
                    Err(error) => json!({ "error": error }),
                };
                self.answers.insert(key, outcome);
            }
            Incoming::Notification { method, .. } if method == "session/cancel" => self.cancelled = true,
            _ => {}
        }
        Some(message)
    }

    /// Waits for the answers to all that was asked, or for the client to cancel the turn; never for long.
    fn settle(&mut self, limit: Duration) {
        let deadline = Instant::now() + limit;
        while !self.open.is_empty() && !self.cancelled && self.hear(Some(deadline)) {}
    }

    /// Waits until the turn is cancelled.
    fn wait_for_cancel(&mut self) {
        while !self.cancelled && self.hear(None) {}
    }

    /// Takes in what comes for a moment.
    fn listen(&mut self, millis: u64) {
        let deadline = Instant::now() + Duration::from_millis(millis);
        while self.hear(Some(deadline)) {}
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = json!(self.last_id);
        self.ask_as(&id, method, params);
        id
    }

    fn ask_as(&mut self, id: &Value, method: &str, mut params: Value) {
        if let Some(fields) = params.as_object_mut() {
            fields.entry("sessionId").or_insert_with(|| json!(self.session));
        }
        *self.open.entry(id.to_string()).or_default() += 1;
        self.note(&json!({ "asked": id, "method": method }));
        self.output.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    /// Asks, and waits for the answer: `result` or `error`, or null if none came.
    fn call(&mut self, method: &str, params: Value) -> Value {
        let key = self.ask(method, params).to_string();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.answers.contains_key(&key) && self.hear(Some(deadline)) {}
        self.answers.remove(&key).unwrap_or_default()
    }

    fn update(&self, update: Value) {
        self.update_of(&self.session, update);
    }

    fn update_of(&self, session: &str, update: Value) {
        let params = json!({ "sessionId": session, "update": update });
        self.output.send(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }

    fn say(&self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        self.update(json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    }

    fn reply(&self, id: &Value, result: &Value) {
        self.output.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn refuse(&self, id: &Value, message: &str) {
        let error = json!({ "code": -32603, "message": message });
        self.output.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    fn file(&self, name: &str) -> String {
        self.cwd.join(name).to_string_lossy().into_owned()
    }

    fn note(&mut self, what: &Value) {
        let mut line = what.clone();
        line["pid"] = std::process::id().into();
        // One write a line: several processes share the file. Without a ledger the test fails by itself.
        if let Err(error) = self.ledger.write_all(format!("{line}\n").as_bytes()) {
            print_error(&format!("couldn't write the ledger: {error}"));
        }
    }
}

fn initialized() -> Value {
    json!({
        "protocolVersion": 1,
        "agentInfo": { "name": "faulty", "title": "Faulty", "version": "1.0" },
        "agentCapabilities": { "promptCapabilities": { "image": true, "embeddedContext": true } },
    })
}

/// A file of the project that an agent has no business to touch outside of it.
fn beside(cwd: &Path) -> String {
    cwd.join("../soak-outside.txt").to_string_lossy().into_owned()
}

//! Plays a script of steps against a client, to drive one into corners that no real agent visits on
//! demand. A step that does not come true ends the process with code 70 and a line on stderr.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{self, ExitCode};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::steps::{self, Bytes, ExpectedCall, ExpectedReply, Save, Step, Variables};
use crate::wire::{Incoming, Output};
use crate::{lines, print_error};

const MISMATCH: u8 = 70;
const BAD_SCRIPT: u8 = 64;

pub fn run(script: &Path, record: Option<&Path>) -> ExitCode {
    let steps = match fs::read_to_string(script)
        .map_err(|error| error.to_string())
        .and_then(|text| steps::parse(&text))
    {
        Ok(steps) => steps,
        Err(error) => {
            print_error(&format!("couldn't read the script {}: {error}", script.display()));
            return ExitCode::from(BAD_SCRIPT);
        }
    };
    let record = match record.map(File::create).transpose() {
        Ok(record) => record,
        Err(error) => {
            print_error(&format!("couldn't make the record: {error}"));
            return ExitCode::from(BAD_SCRIPT);
        }
    };
    let (sender, lines) = mpsc::channel();
    lines::read_into(record, sender);
    let mut player = Player {
        output: Output::new(),
        lines,
        kept: VecDeque::new(),
        variables: Variables::default(),
        cues: HashMap::new(),
    };
    match player.play(&steps, "") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::from(MISMATCH)
        }
    }
}

struct Player {
    output: Output,
    lines: Receiver<Option<Vec<u8>>>,
    /// What came before any step expected it.
    kept: VecDeque<Incoming>,
    variables: Variables,
    /// Open files of cues, by name. Kept, since a reader holds lines that it has read ahead.
    cues: HashMap<String, BufReader<File>>,
}

impl Player {
    fn play(&mut self, steps: &[Step], within: &str) -> Result<(), String> {
        for (index, step) in steps.iter().enumerate() {
            let place = format!("{within}{}", index + 1);
            match step {
                Step::Repeat { times, steps } => {
                    for i in 0..*times {
                        self.variables.set("i", Value::from(i));
                        self.play(steps, &format!("{place}."))?;
                    }
                }
                step => self.step(step).map_err(|error| format!("step {place}: {error}"))?,
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Expect(expected) => self.expect(expected),
            Step::ExpectReply(expected) => self.expect_reply(expected),
            Step::Reply { to, outcome } => {
                let id = self.variables.get(to)?.clone();
                let answer = match outcome {
                    Ok(result) => {
                        json!({ "jsonrpc": "2.0", "id": id, "result": self.variables.fill(result)? })
                    }
                    Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": self.variables.fill(error)? }),
                };
                self.output.send(&answer);
                Ok(())
            }
            Step::Send(message) => {
                let mut message = self.variables.fill(message)?;
                if let Some(fields) = message.as_object_mut() {
                    fields.entry("jsonrpc").or_insert_with(|| Value::from("2.0"));
                }
                self.output.send(&message);
                Ok(())
            }
            Step::Write { bytes, each, pause } => {
                let bytes = match bytes {
                    Bytes::Text(text) => self.variables.fill_text(text)?.into_bytes(),
                    Bytes::Exact(bytes) => bytes.clone(),
                };
                for piece in bytes.chunks(each.unwrap_or(bytes.len().max(1))) {
                    self.output.bytes(piece);
                    thread::sleep(*pause);
                }
                Ok(())
            }
            Step::Cue(file) => self.cue(file),
            Step::Delay(duration) => {
                thread::sleep(*duration);
                Ok(())
            }
            Step::Stderr(line) => {
                let line = self.variables.fill_text(line)?;
                // The words of the script's agent, so without our name before them.
                let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes());
                Ok(())
            }
            Step::Exit(code) => process::exit(i32::from(*code)),
            Step::IgnoreTerm => ignore_term(),
            Step::WaitEof => {
                while self.lines.recv().is_ok_and(|line| line.is_some()) {}
                Ok(())
            }
            Step::Run(command) => run_command(command),
            Step::Spawn { command, name } => {
                self.variables.set(name, Value::from(spawn(command)?));
                Ok(())
            }
            Step::Repeat { .. } => unreachable!("a repeat is played by its caller"),
        }
    }

    /// Waits without a limit: the other end says when.
    fn cue(&mut self, file: &str) -> Result<(), String> {
        let file = self.variables.fill_text(file)?;
        let failed = |error| format!("couldn't read a cue from {file}: {error}");
        let cues = match self.cues.entry(file.clone()) {
            Entry::Occupied(opened) => opened.into_mut(),
            Entry::Vacant(new) => new.insert(BufReader::new(File::open(&file).map_err(failed)?)),
        };
        match cues.read_line(&mut String::new()).map_err(failed)? {
            0 => Err(format!("{file} has no more cues")),
            _ => Ok(()),
        }
    }

    fn expect(&mut self, expected: &ExpectedCall) -> Result<(), String> {
        let ExpectedCall { method: wanted, params, name, save, patience } = expected;
        let pattern = params.as_ref().map(|pattern| self.variables.fill(pattern)).transpose()?;
        let deadline = Instant::now() + *patience;
        let mut difference = None;
        loop {
            // Of several that wait, the first that fits, so that two sessions may run into each other.
            for (index, incoming) in self.kept.iter().enumerate() {
                let (Incoming::Request { method, params, .. } | Incoming::Notification { method, params }) =
                    incoming
                else {
                    continue;
                };
                if method != wanted {
                    continue;
                }
                match pattern.as_ref().map_or(Ok(()), |pattern| steps::fits(pattern, params)) {
                    Ok(()) => return self.take(index, name, save),
                    Err(error) => difference = Some(error),
                }
            }
            if let Some(difference) = difference {
                return Err(format!("{wanted} came with other params: {difference}"));
            }
            self.receive(deadline, wanted)?;
        }
    }

    fn expect_reply(&mut self, expected: &ExpectedReply) -> Result<(), String> {
        let ExpectedReply { to, name, pattern, save, patience } = expected;
        let to = self.variables.fill(to)?;
        let deadline = Instant::now() + *patience;
        let index = loop {
            let is_it = |incoming: &Incoming| matches!(incoming, Incoming::Answer { id, .. } if *id == to);
            match self.kept.iter().position(is_it) {
                Some(index) => break index,
                None => self.receive(deadline, &format!("the answer to {to}"))?,
            }
        };
        let Incoming::Answer { outcome, .. } = &self.kept[index] else {
            unreachable!("only answers are looked for");
        };
        match (pattern, outcome) {
            (None, _) => {}
            (Some(Ok(pattern)), Ok(value)) | (Some(Err(pattern)), Err(value)) => {
                let pattern = self.variables.fill(pattern)?;
                steps::fits(&pattern, value).map_err(|error| format!("another answer to {to}: {error}"))?;
            }
            (Some(Ok(_)), Err(error)) => return Err(format!("the answer to {to} is the error {error}")),
            (Some(Err(_)), Ok(result)) => return Err(format!("the answer to {to} is the result {result}")),
        }
        self.take(index, name, save)
    }

    /// Takes a kept message, with its id or result under the name and what else is to be saved.
    fn take(&mut self, index: usize, name: &str, save: &Save) -> Result<(), String> {
        let incoming = self.kept.remove(index).expect("an index that was just found");
        let (kept, inner, whole) = match incoming {
            Incoming::Request { id, method, params } => {
                let whole = json!({ "id": id, "method": method, "params": params });
                (Some(id), params, whole)
            }
            Incoming::Notification { method, params } => {
                let whole = json!({ "method": method, "params": params });
                (None, params, whole)
            }
            Incoming::Answer { id, outcome: Ok(result) } => {
                let whole = json!({ "id": id, "result": result });
                (Some(result.clone()), result, whole)
            }
            Incoming::Answer { id, outcome: Err(error) } => {
                let whole = json!({ "id": id, "error": error });
                (Some(error.clone()), error, whole)
            }
        };
        if let Some(kept) = kept {
            self.variables.set(name, kept);
        }
        for (variable, pointer) in save {
            let value = whole.pointer(pointer).or_else(|| inner.pointer(pointer));
            let value = value.ok_or_else(|| format!("nothing at {pointer} to save as {variable}"))?;
            self.variables.set(variable, value.clone());
        }
        Ok(())
    }

    /// Waits for one more message and keeps it.
    fn receive(&mut self, deadline: Instant, wanted: &str) -> Result<(), String> {
        match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Some(line)) => {
                let incoming = Incoming::parse(&line).map_err(|error| format!("the client sent {error}"))?;
                self.kept.push_back(incoming);
                Ok(())
            }
            Ok(None) | Err(RecvTimeoutError::Disconnected) => {
                Err(format!("stdin ended before {wanted}{}", self.in_hand()))
            }
            Err(RecvTimeoutError::Timeout) => Err(format!("waited too long for {wanted}{}", self.in_hand())),
        }
    }

    fn in_hand(&self) -> String {
        if self.kept.is_empty() {
            return String::new();
        }
        let kept: Vec<_> = self.kept.iter().map(Incoming::describe).collect();
        format!("; not expected so far: {}", kept.join(", "))
    }
}

/// Runs a command to its end, which must be well.
fn run_command(command: &[String]) -> Result<(), String> {
    let (program, args) = command.split_first().ok_or("an empty command")?;
    let ended = process::Command::new(program).args(args).stdin(process::Stdio::null()).output();
    let ended = ended.map_err(|error| format!("couldn't run {program}: {error}"))?;
    match ended.status.success() {
        true => Ok(()),
        false => {
            let told = String::from_utf8_lossy(&ended.stderr);
            Err(format!("{program} ended with {}: {}", ended.status, told.trim_end()))
        }
    }
}

/// Starts a command that stays, and gives its id.
fn spawn(command: &[String]) -> Result<u32, String> {
    let (program, args) = command.split_first().ok_or("an empty command")?;
    let child = process::Command::new(program)
        .args(args)
        .stdin(process::Stdio::null())
        .stdout(process::Stdio::null())
        .stderr(process::Stdio::null())
        .spawn()
        .map_err(|error| format!("couldn't start {program}: {error}"))?;
    Ok(child.id())
}

#[cfg(unix)]
fn ignore_term() -> Result<(), String> {
    // SAFETY: SIG_IGN installs no handler, so nothing of ours runs in a signal's context.
    let before = unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
    if before == libc::SIG_ERR { Err("couldn't ignore SIGTERM".to_owned()) } else { Ok(()) }
}

#[cfg(not(unix))]
fn ignore_term() -> Result<(), String> {
    Ok(())
}

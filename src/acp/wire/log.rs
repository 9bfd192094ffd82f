//! A record of what went over the wire in both directions, one JSON object a line, for the user who
//! asks why. It is bounded, written by a thread of its own, and holds no secrets that have the name
//! of one.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::ring::{AgentRing, SharedRing};
use super::secrets::Secrets;
use crate::core::inspector::ring::Way;
use crate::core::inspector::scrub::hide;
use crate::platform::files::private;

/// At this size the file is set aside as `{name}.old`, and a new one begun.
const LARGEST_FILE: u64 = 8 << 20;

/// A message larger than this is only mentioned.
const LARGEST_MESSAGE: usize = 256 << 10;

/// Records waiting for the disk; when it is too slow, the log has gaps rather than the agent a brake.
const WAITING: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToAgent,
    FromAgent,
    Stderr,
}

/// Cheap to clone. Without a file the ring alone gets what is written.
#[derive(Clone, Debug)]
pub struct WireLog {
    queue: Option<Arc<Queue>>,
    pub ring: SharedRing,
}

/// The log as one agent's messages go into it.
#[derive(Clone, Debug)]
pub struct AgentLog {
    log: WireLog,
    name: Arc<str>,
    pub secrets: Secrets,
    pub ring: AgentRing,
}

#[derive(Debug)]
struct Queue {
    records: SyncSender<Record>,
    lost: AtomicUsize,
    begun: Instant,
}

#[derive(Debug)]
struct Record {
    at: Duration,
    agent: Option<AgentLog>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Message(Direction, Vec<u8>),
    Raw(Direction, String),
    Note(String),
}

impl WireLog {
    /// Starts the log's thread, if there is a file to write.
    pub fn start(path: Option<PathBuf>) -> Self {
        let ring = SharedRing::default();
        let Some(path) = path else { return Self { queue: None, ring } };
        let (records, queue) = sync_channel(WAITING);
        let write = move || {
            // A log that cannot be written must not stop the work, and there is nowhere to tell.
            let _ = write_records(&path, &queue);
        };
        let started = std::thread::Builder::new().name("acp-log".into()).spawn(write);
        let queue = Queue { records, lost: AtomicUsize::new(0), begun: Instant::now() };
        Self { queue: started.is_ok().then(|| Arc::new(queue)), ring }
    }

    pub fn agent(&self, name: &str, env: &[(String, String)]) -> AgentLog {
        let (name, secrets): (Arc<str>, _) = (name.into(), Secrets::of(env));
        let ring = self.ring.agent(name.clone(), secrets.clone());
        AgentLog { log: self.clone(), name, secrets, ring }
    }

    pub fn note(&self, text: &str) {
        self.write(None, || Body::Note(text.to_owned()));
    }

    fn write(&self, agent: Option<&AgentLog>, body: impl FnOnce() -> Body) {
        let Some(queue) = &self.queue else { return };
        let at = queue.begun.elapsed();
        let lost = queue.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            queue
                .send(Record { at, agent: None, body: Body::Note(format!("{lost} records left out")) }, lost);
        }
        queue.send(Record { at, agent: agent.cloned(), body: body() }, 1);
    }
}

impl Queue {
    fn send(&self, record: Record, stands_for: usize) {
        if let Err(TrySendError::Full(_)) = self.records.try_send(record) {
            self.lost.fetch_add(stands_for, Ordering::Relaxed);
        }
    }
}

impl AgentLog {
    /// A JSON-RPC message, as the bytes of its line.
    pub fn message(&self, direction: Direction, line: &[u8]) {
        self.log.write(Some(self), || {
            if line.len() > LARGEST_MESSAGE {
                Body::Raw(direction, format!("a message of {} bytes, too long for the log", line.len()))
            } else {
                Body::Message(direction, line.to_vec())
            }
        });
    }

    /// A line that is no message.
    pub fn raw(&self, direction: Direction, text: &str) {
        if direction == Direction::Stderr {
            self.ring.push(Way::Stderr, text.as_bytes());
        }
        self.log.write(Some(self), || Body::Raw(direction, text.chars().take(LARGEST_MESSAGE).collect()));
    }

    pub fn note(&self, text: &str) {
        self.ring.push(Way::Note, text.as_bytes());
        self.log.write(Some(self), || Body::Note(text.to_owned()));
    }

    /// Fields of the agent's dialect, or for it, that the other protocol has nothing like.
    pub fn left_out(&self, fields: Vec<String>) {
        for field in fields {
            self.note(&format!("left out, since the other protocol has nothing like it: {field}"));
        }
    }

    /// Nothing comes from the agent any more.
    pub fn ended(&self, how: &str) {
        self.ring.push(Way::End, how.as_bytes());
    }
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Direction::ToAgent => "client->agent",
            Direction::FromAgent => "agent->client",
            Direction::Stderr => "stderr",
        }
    }
}

fn write_records(path: &Path, queue: &Receiver<Record>) -> io::Result<()> {
    let mut file = open(path)?;
    let mut size = file.metadata()?.len();
    for record in queue {
        let mut line = record.render();
        line.push('\n');
        if size + line.len() as u64 > LARGEST_FILE {
            let mut old = path.as_os_str().to_owned();
            old.push(".old");
            std::fs::rename(path, old)?;
            file = open(path)?;
            size = 0;
        }
        file.write_all(line.as_bytes())?;
        size += line.len() as u64;
    }
    Ok(())
}

/// The log holds whole conversations: only its owner may read it.
fn open(path: &Path) -> io::Result<File> {
    private().append(true).create(true).open(path)
}

impl Record {
    fn render(self) -> String {
        let mut record = Map::new();
        record.insert("t".into(), json!((self.at.as_secs_f64() * 1000.0).round() / 1000.0));
        let (dir, key, body) = match self.body {
            Body::Message(direction, line) => match serde_json::from_slice(&line) {
                Ok(mut message) => {
                    hide(&mut message);
                    (direction.name(), "msg", message)
                }
                Err(_) => (direction.name(), "raw", String::from_utf8_lossy(&line).into()),
            },
            Body::Raw(direction, text) => (direction.name(), "raw", text.into()),
            Body::Note(text) => ("note", "note", text.into()),
        };
        record.insert("dir".into(), dir.into());
        if let Some(agent) = &self.agent {
            record.insert("agent".into(), (*agent.name).into());
        }
        record.insert(key.into(), body);
        let line = Value::Object(record).to_string();
        match &self.agent {
            Some(agent) => agent.secrets.hidden(&line),
            None => line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::inspector::scrub::HIDDEN;

    fn render(body: Body) -> Value {
        let log = WireLog::start(None).agent("claude", &[("MY_API_KEY".into(), "sk-12345678".into())]);
        let record = Record { at: Duration::from_micros(1_234_567), agent: Some(log), body };
        serde_json::from_str(&record.render()).unwrap()
    }

    fn message(message: &Value) -> Value {
        render(Body::Message(Direction::ToAgent, message.to_string().into()))["msg"].take()
    }

    #[test]
    fn a_record_has_the_shape_of_the_recordings() {
        let record = render(Body::Message(Direction::FromAgent, br#"{"id":1}"#.to_vec()));
        assert_eq!(record, json!({"t": 1.235, "dir": "agent->client", "agent": "claude", "msg": {"id": 1}}));
    }

    #[test]
    fn what_is_named_like_a_secret_is_hidden() {
        let shown = message(&json!({
            "env": [{"name": "HOME", "value": "/root"}],
            "headers": {"X": "y"},
            "Authorization": "Bearer abc",
            "_meta": {"api-key": {"value": "abc"}, "totalTokens": 240, "access_token": "abc"},
            "text": "fine",
        }));
        assert_eq!(
            shown,
            json!({
                "env": [{"name": "HOME", "value": HIDDEN}],
                "headers": {"X": HIDDEN},
                "Authorization": HIDDEN,
                "_meta": {"api-key": {"value": HIDDEN}, "totalTokens": 240, "access_token": HIDDEN},
                "text": "fine",
            })
        );
    }

    #[test]
    fn what_was_filled_into_a_form_is_hidden() {
        let shown = message(&json!({"id": 1, "result": {
            "action": "accept", "content": {"name": "Ada", "age": 36, "tags": ["a"]},
        }}));
        let content = json!({"name": HIDDEN, "age": HIDDEN, "tags": HIDDEN});
        assert_eq!(shown, json!({"id": 1, "result": {"action": "accept", "content": content}}));
        let read = json!({"result": {"content": "text"}});
        assert_eq!(message(&read), read);
    }

    #[test]
    fn a_secret_of_the_environment_is_hidden_wherever_it_stands() {
        assert_eq!(message(&json!({"text": "key sk-12345678!"}))["text"], "key [hidden]!");
        assert_eq!(render(Body::Raw(Direction::Stderr, "using sk-12345678".into()))["raw"], "using [hidden]");
    }

    #[test]
    fn the_file_is_set_aside_before_it_grows_without_end() {
        let folder = std::env::temp_dir().join(format!("acp-wire-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("wire.jsonl");
        let (records, queue) = sync_channel(WAITING);
        let writer = std::thread::spawn({
            let path = path.clone();
            move || write_records(&path, &queue)
        });
        let text = "x".repeat(LARGEST_MESSAGE);
        for _ in 0..40 {
            let body = Body::Raw(Direction::FromAgent, text.clone());
            records.send(Record { at: Duration::ZERO, agent: None, body }).unwrap();
        }
        drop(records);
        writer.join().unwrap().unwrap();
        let size = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert!(size(&path) < LARGEST_FILE && size(&folder.join("wire.jsonl.old")) < LARGEST_FILE);
        assert!(size(&path) + size(&folder.join("wire.jsonl.old")) > LARGEST_FILE);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

//! A recording as an agent: a transport without a process, on which a thread says what `core::replay` plays, in the
//! recorded time or when the user asks for the next message. What the client says is answered by the recording, or not
//! at all.

mod converted;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self as blocking, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant as Clock};

use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use self::converted::converted;
use super::mutex::lock;
use super::wire::transport::{Batch, LineSender, MessageSink, Transport};
use crate::core::ids::AgentId;
use crate::core::message::Exit;
use crate::core::replay::{Pace, Player, Replay, lines};

/// A recording of more bytes is not read.
const MAX_RECORDING_BYTES: u64 = 256 << 20;

/// Among the lines for the agent: the user wants the next message. No message looks like this.
const NEXT: &[u8] = b"next";

/// The replays that are under way. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct Replays(Arc<Mutex<HashMap<AgentId, LineSender>>>);

impl Replays {
    /// Plays the next message, where a replay waits for that.
    pub fn next(&self, agent: AgentId) {
        if let Some(lines) = lock(&self.0).get(&agent) {
            lines.send(NEXT.to_vec());
        }
    }
}

pub struct ReplayTransport {
    lines: LineSender,
    incoming: mpsc::Receiver<Batch>,
    ended: watch::Receiver<Option<Exit>>,
    replays: Replays,
    agent: AgentId,
}

/// Reads a recording; the error is fit for "couldn't replay {file}: …".
pub fn read(path: &Path) -> Result<Player, String> {
    let size = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    })?;
    if size.is_dir() {
        return Err("it is a folder; name a file in it".to_owned());
    }
    if size.len() > MAX_RECORDING_BYTES {
        return Err(format!("it has more than {} MiB", MAX_RECORDING_BYTES >> 20));
    }
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8(text).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: it is no text in UTF-8")
    })?;
    Player::of(converted(lines::parse(&text)?))
}

impl ReplayTransport {
    /// `sink` is where the recorded agent's messages go.
    pub fn start(
        replay: &Replay,
        (replays, agent): (Replays, AgentId),
        (sink, incoming): (MessageSink, mpsc::Receiver<Batch>),
    ) -> Result<Self, String> {
        let player = read(&replay.path)?;
        let (lines, queue) = LineSender::channel();
        let (tell, ended) = watch::channel(None);
        let pace = replay.pace;
        let play = move || {
            Replaying { player, sink, pace, is_open: false, is_over: false }.play(&queue);
            // Whoever waited for that is gone only when nobody wants to know.
            let _ = tell.send(Some(Exit { code: Some(0), signal: None }));
        };
        let thread = thread::Builder::new().name("acp-replay".into()).spawn(play);
        thread.map_err(|error| error.to_string())?;
        lock(&replays.0).insert(agent, lines.clone());
        Ok(Self { lines, incoming, ended, replays, agent })
    }
}

impl Transport for ReplayTransport {
    fn lines(&self) -> LineSender {
        self.lines.clone()
    }

    async fn receive(&mut self) -> Option<Batch> {
        self.incoming.recv().await
    }

    fn ended(&self) -> watch::Receiver<Option<Exit>> {
        self.ended.clone()
    }

    async fn close(&mut self, leaving: &mut watch::Receiver<Option<Instant>>) {
        lock(&self.replays.0).remove(&self.agent);
        self.lines.close();
        // The thread may be about to say something.
        self.incoming.close();
        // What was asked last is answered before it counts as ended.
        tokio::select! {
            _ = self.ended.wait_for(Option::is_some) => {}
            _ = leaving.wait_for(Option::is_some) => {}
        }
    }
}

struct Replaying {
    player: Player,
    sink: MessageSink,
    pace: Pace,
    /// The client has opened the session: it begins.
    is_open: bool,
    is_over: bool,
}

impl Replaying {
    fn play(mut self, queue: &blocking::Receiver<Vec<u8>>) {
        let mut due: Option<Clock> = None;
        loop {
            let heard = match due {
                Some(due) => queue.recv_timeout(due.saturating_duration_since(Clock::now())),
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let said = match heard {
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.next(),
                Ok(line) if line == NEXT => self.step(),
                Ok(line) => {
                    let was_open = self.is_open;
                    if !self.hear(&line) {
                        break;
                    }
                    if was_open == self.is_open {
                        continue;
                    }
                    true
                }
            };
            if !said {
                break;
            }
            due = self.wait().map(|wait| Clock::now() + wait);
        }
        // Nobody may be listening any more, but the log tells of it.
        while let Ok(line) = queue.try_recv() {
            self.hear(&line);
        }
        self.sink.finish();
    }

    /// How long until the next line; nothing where it does not come by itself.
    fn wait(&self) -> Option<Duration> {
        if !self.is_open || self.is_over {
            return None;
        }
        let wait = self.player.wait().unwrap_or(0.0);
        match self.pace {
            Pace::Step => None,
            Pace::AtOnce => Some(Duration::ZERO),
            Pace::Percent(percent) => {
                Duration::try_from_secs_f64(wait * 100.0 / f64::from(percent.max(1))).ok()
            }
        }
    }

    /// What the client has written. Says whether it still listens.
    fn hear(&mut self, line: &[u8]) -> bool {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return true };
        // Only requests are answered; what the client answers went nowhere.
        if message.get("id").is_none() || message.get("method").is_none() {
            return true;
        }
        self.is_open |= message["method"] == "session/new";
        let answer = self.player.answer(&message);
        self.say(&answer)
    }

    /// Plays what comes until something is seen.
    fn step(&mut self) -> bool {
        if !self.is_open || self.is_over {
            return true;
        }
        loop {
            let messages = self.player.step();
            if !messages.is_empty() {
                return messages.iter().all(|message| self.say(message));
            }
            if self.player.is_over() {
                return self.end();
            }
        }
    }

    fn next(&mut self) -> bool {
        if self.player.is_over() {
            return self.end();
        }
        let messages = self.player.step();
        messages.iter().all(|message| self.say(message))
    }

    fn end(&mut self) -> bool {
        self.is_over = true;
        let last = self.player.last_word();
        self.say(&last)
    }

    fn say(&mut self, message: &Value) -> bool {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.sink.push(&line).is_continue()
    }
}

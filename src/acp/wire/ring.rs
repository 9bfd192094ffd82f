//! The ring of messages that all agents share: lines go in where they are read and written, and whoever looks at them
//! waits here for more. What is kept of a line is `core::inspector::ring`'s part.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::Notify;

use super::secrets::Secrets;
use crate::acp::mutex::lock;
use crate::core::inspector::ring::{LONGEST, Line, Ring, Way};

/// Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct SharedRing(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    ring: Mutex<Ring>,
    agents: Mutex<Vec<Agent>>,
    /// How many wait for a message.
    waiting: AtomicUsize,
    came: Notify,
}

/// Whose messages they are: one run of an agent.
#[derive(Clone, Debug)]
pub struct Agent {
    pub name: Arc<str>,
    pub secrets: Secrets,
}

/// The ring as one agent's messages go into it. Without a ring nothing is kept.
#[derive(Clone, Debug)]
pub struct AgentRing {
    ring: Option<SharedRing>,
    agent: u32,
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl SharedRing {
    pub fn agent(&self, name: Arc<str>, secrets: Secrets) -> AgentRing {
        let mut agents = lock(&self.0.agents);
        let agent = agents.len() as u32;
        agents.push(Agent { name, secrets });
        AgentRing { ring: Some(self.clone()), agent }
    }

    pub fn agents(&self) -> Vec<Agent> {
        lock(&self.0.agents).clone()
    }

    pub fn read<R>(&self, read: impl FnOnce(&Ring) -> R) -> R {
        read(&lock(&self.0.ring))
    }

    /// Waits until there is a message of this number or a later one.
    pub async fn wait_for(&self, number: u64) {
        self.0.waiting.fetch_add(1, Ordering::AcqRel);
        loop {
            let came = self.0.came.notified();
            if self.read(|ring| ring.numbers().end > number) {
                break;
            }
            came.await;
        }
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }

    fn push(&self, push: impl FnOnce(&mut Ring)) {
        push(&mut lock(&self.0.ring));
        if self.0.waiting.load(Ordering::Acquire) > 0 {
            self.0.came.notify_waiters();
        }
    }
}

impl AgentRing {
    pub fn none() -> Self {
        Self { ring: None, agent: 0 }
    }

    /// A line without its end.
    pub fn push(&self, way: Way, text: &[u8]) {
        self.push_with(way, text, &[]);
    }

    fn push_with(&self, way: Way, text: &[u8], envelope: &[u8]) {
        if let Some(ring) = &self.ring {
            let line = Line { at: now(), agent: self.agent, way, text, envelope };
            ring.push(|ring| ring.push(&line));
        }
    }

    /// A message of ours that is too long to be kept has to say by itself what it is.
    pub fn sent(&self, line: &[u8], envelope: impl FnOnce() -> Value) {
        match line.len() > LONGEST && self.ring.is_some() {
            true => self.push_with(Way::ToAgent, line, envelope().to_string().as_bytes()),
            false => self.push(Way::ToAgent, line),
        }
    }

    /// Takes the lines of what was read at once, so that a line costs no more than a copy.
    pub fn taking<'a>(&'a self, bytes: &'a [u8], found: &'a mut Vec<(u32, u32)>) -> Taking<'a> {
        Taking { agent: self, bytes, found }
    }
}

/// The lines of a read on their way into the ring.
pub struct Taking<'a> {
    agent: &'a AgentRing,
    bytes: &'a [u8],
    /// Where lines begin and end in the bytes.
    found: &'a mut Vec<(u32, u32)>,
}

impl Taking<'_> {
    /// A line without its end. Of one that is too long to be kept the envelope is asked for.
    pub fn line(&mut self, line: &[u8], envelope: impl FnOnce() -> Vec<u8>) {
        if self.agent.ring.is_none() {
            return;
        }
        // Before the bytes it wraps, and is behind them as well.
        let start = (line.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize);
        if start < self.bytes.len() && line.len() <= LONGEST {
            self.found.push((start as u32, (start + line.len()) as u32));
            return;
        }
        // One that came in several reads is not in this one.
        self.finish();
        let envelope = if line.len() > LONGEST { envelope() } else { Vec::new() };
        self.agent.push_with(Way::FromAgent, line, &envelope);
    }

    pub fn finish(&mut self) {
        let Some(ring) = &self.agent.ring else { return };
        if self.found.is_empty() {
            return;
        }
        let line =
            Line { at: now(), agent: self.agent.agent, way: Way::FromAgent, text: self.bytes, envelope: &[] };
        ring.push(|ring| ring.push_block(&line, self.found));
        self.found.clear();
    }
}

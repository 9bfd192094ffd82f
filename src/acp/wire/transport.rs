//! What carries messages between this client and an agent: a line out, a line in, and why it ended. The
//! conversation knows nothing else of the agent's side. An agent's process with its pipes is one transport
//! (`processes::agent_process`); tests have one without a process.

use std::future::ready;
use std::ops::ControlFlow;
use std::sync::mpsc as blocking;
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::dialect::Converter;
use super::fast_path::FastPath;
use super::incoming::Incoming;
use super::log::AgentLog;
use super::message_reader::MessageReader;
use crate::acp::mutex::lock;
use crate::acp::processes::escaped::Origin;
use crate::core::changes::half_written::Millis;
use crate::core::message::Exit;

/// Reads in flight between the reading thread and the background.
const BATCHES: usize = 4;

/// The way to one agent and back.
pub trait Transport: Send {
    /// Where lines for the agent are sent.
    fn lines(&self) -> LineSender;

    /// What came in since the last call; nothing once the agent has closed its side.
    fn receive(&mut self) -> impl Future<Output = Option<Batch>> + Send;

    /// Why the agent ended, once it has. What it wrote before may still be on its way.
    fn ended(&self) -> watch::Receiver<Option<Exit>>;

    /// What broke the way to the agent, where it is no process whose end says that. Fit after "couldn't start …: ".
    fn trouble(&self) -> Option<String> {
        None
    }

    /// The last of what the agent said beside its messages.
    fn last_words(&self) -> impl Future<Output = Vec<String>> + Send {
        ready(Vec::new())
    }

    /// By what all that the agent starts on this machine can be found.
    fn origin(&self) -> Option<Origin> {
        None
    }

    /// Ends the agent and all it started. `leaving` says until when that may take, since Neovim is leaving.
    fn close(&mut self, leaving: &mut watch::Receiver<Option<Instant>>) -> impl Future<Output = ()> + Send;
}

/// Messages that were read at once.
#[derive(Debug, Default)]
pub struct Batch {
    /// By the clock of [`FastPath::arrived`].
    pub at: Millis,
    /// By then the agent had not written any of it, as far as the system tells.
    pub unsaid: Option<Millis>,
    pub incoming: Vec<Incoming>,
}

/// The sending side of a transport: a queue without end, so that sending never waits. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LineSender(Arc<Mutex<Option<blocking::Sender<Vec<u8>>>>>);

impl LineSender {
    /// With the end of the queue from which lines are written.
    pub fn channel() -> (Self, blocking::Receiver<Vec<u8>>) {
        let (lines, queue) = blocking::channel();
        (Self(Arc::new(Mutex::new(Some(lines)))), queue)
    }

    /// Sends a whole line. After the end of the agent nothing is sent any more.
    pub fn send(&self, line: Vec<u8>) {
        if let Some(lines) = &*lock(&self.0) {
            // The queue's other end is gone only when the way to the agent broke: the agent's end is noticed elsewhere.
            let _ = lines.send(line);
        }
    }

    /// Closes this side once all that was sent is written.
    pub fn close(&self) {
        lock(&self.0).take();
    }
}

/// The receiving side of a transport. It blocks while the background is behind: call it on a thread that
/// only reads.
pub struct MessageSink {
    reader: MessageReader,
    batches: mpsc::Sender<Batch>,
    fast_path: Arc<FastPath>,
    /// When there was nothing to be read, before the beginning of what is read now.
    quiet: Option<Millis>,
}

impl MessageSink {
    /// With the end from which the background receives. A message of more than `limit` bytes ends it.
    pub fn channel(
        limit: usize,
        log: AgentLog,
        fast_path: Arc<FastPath>,
        converter: Converter,
    ) -> (Self, mpsc::Receiver<Batch>) {
        let (batches, queue) = mpsc::channel(BATCHES);
        (Self { reader: MessageReader::new(limit, log, converter), batches, fast_path, quiet: None }, queue)
    }

    /// Asks whether there is anything to be read: if not, all that begins from now on was written after this.
    pub fn look(&mut self, is_quiet: impl FnOnce() -> bool) {
        let now = self.fast_path.time();
        if !self.reader.is_in_message() && is_quiet() {
            self.quiet = Some(now);
        }
    }

    /// Takes what was read, in whatever pieces. Breaks when nothing can be read after it, or nobody wants it.
    pub fn push(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let incoming = self.slow_path(bytes);
        if incoming.is_empty() {
            return ControlFlow::Continue(());
        }
        let is_last = matches!(incoming.last(), Some(Incoming::TooLong | Incoming::LengthHeader));
        // The background may be late.
        let batch = Batch { at: self.fast_path.arrived(), unsaid: self.quiet, incoming };
        self.fast_path.slow_batch_sent();
        if self.batches.blocking_send(batch).is_err() || is_last {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// The agent has closed its side.
    pub fn finish(self) {
        let last = self.reader.finish();
        if !last.is_empty() {
            self.fast_path.slow_batch_sent();
            let batch = Batch { at: self.fast_path.arrived(), unsaid: self.quiet, incoming: last };
            // The other end is gone only when nobody wants to know.
            let _ = self.batches.blocking_send(batch);
        }
    }

    /// Posts the text that comes first; the rest takes the slow path, and so does text that comes after it.
    fn slow_path(&mut self, bytes: &[u8]) -> Vec<Incoming> {
        let mut slow = Vec::new();
        for incoming in self.reader.push(bytes) {
            match incoming {
                Incoming::Chunk(chunk) if slow.is_empty() => {
                    slow.extend(self.fast_path.post(chunk).err().map(Incoming::Chunk));
                }
                other => slow.push(other),
            }
        }
        slow
    }
}

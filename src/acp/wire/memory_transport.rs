//! A transport without a process, for tests: what the client writes is read from a channel, and what the agent
//! writes is pushed in.

use std::sync::Arc;
use std::sync::mpsc as blocking;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::dialect::Converter;
use super::fast_path::FastPath;
use super::log::AgentLog;
use super::transport::{Batch, LineSender, MessageSink, Transport};
use crate::core::message::Exit;

/// The most bytes of a message.
const LIMIT: usize = 1 << 20;

pub struct MemoryTransport {
    lines: LineSender,
    incoming: mpsc::Receiver<Batch>,
    ended: watch::Receiver<Option<Exit>>,
}

/// The agent's side. It is used on a thread of its own, as it blocks.
pub struct MemoryAgent {
    pub received: blocking::Receiver<Vec<u8>>,
    pub sink: MessageSink,
    pub ended: watch::Sender<Option<Exit>>,
}

impl MemoryTransport {
    pub fn pair(log: AgentLog, fast_path: Arc<FastPath>, converter: Converter) -> (Self, MemoryAgent) {
        let (lines, received) = LineSender::channel();
        let (sink, incoming) = MessageSink::channel(LIMIT, log, fast_path, converter);
        let (tell, ended) = watch::channel(None);
        (Self { lines, incoming, ended }, MemoryAgent { received, sink, ended: tell })
    }
}

impl Transport for MemoryTransport {
    fn lines(&self) -> LineSender {
        self.lines.clone()
    }

    async fn receive(&mut self) -> Option<Batch> {
        self.incoming.recv().await
    }

    fn ended(&self) -> watch::Receiver<Option<Exit>> {
        self.ended.clone()
    }

    async fn close(&mut self, _leaving: &mut watch::Receiver<Option<Instant>>) {
        self.lines.close();
    }
}

//! The background: agents, processes, terminals and the disk, spoken to in ACP. It runs on a thread
//! of its own; commands go in, events come out through the mailbox, and nothing here knows Neovim.

mod audit;
mod background;
mod compute;
mod connection;
mod dispatcher;
mod extension_methods;
pub mod files;
mod holds;
mod inspector;
mod mutex;
mod policy;
pub mod processes;
pub mod quirks;
mod refusals;
mod remote;
mod replay;
mod rules;
mod settings;
mod shared;
mod store;
pub mod terminals;
mod tools;
pub mod wire;
mod worker;

pub use background::{Background, start};
#[doc(hidden)]
pub use files::index::IndexedFolder;
pub use remote::Pace;
pub use settings::Settings;

use crate::core::message::{Dialect, Launch};
use wire::dialect::Converter;
use wire::incoming::Incoming;
use wire::log::{AgentLog, WireLog};
use wire::message_reader::MessageReader;
use wire::ring::AgentRing;
use wire::{from_acp, rpc};

/// The bytes of a read.
const READ: usize = 64 << 10;

/// Reads updates in an agent's bytes as those of its process are read; for benchmarks.
#[doc(hidden)]
pub struct Reading {
    reader: MessageReader,
    /// The bytes are copied to where each read leaves them, as a process's are.
    buffer: Vec<u8>,
}

impl Reading {
    pub fn new(dialect: Option<Dialect>) -> Self {
        Self::with(WireLog::start(None).agent("", &[]), dialect)
    }

    /// The same where nothing is kept for the inspector.
    pub fn unkept() -> Self {
        let mut log = WireLog::start(None).agent("", &[]);
        log.ring = AgentRing::none();
        Self::with(log, None)
    }

    fn with(log: AgentLog, dialect: Option<Dialect>) -> Self {
        let converter = Converter::to(&Launch { dialect, ..Launch::default() }, 1);
        let reader = MessageReader::new(Settings::default().message_limit, log, converter);
        Self { reader, buffer: Vec::new() }
    }

    /// What the updates say.
    pub fn updates(&mut self, bytes: &[u8]) -> impl Iterator<Item = from_acp::Fact> {
        let read = |read: &[u8]| {
            self.buffer.clear();
            self.buffer.extend_from_slice(read);
            self.reader.push(&self.buffer)
        };
        bytes.chunks(READ).flat_map(read).flat_map(|output| match output {
            Incoming::Chunk(chunk) => vec![from_acp::Fact::Update(chunk.update())],
            Incoming::Told(told) => told.facts(),
            Incoming::Message(rpc::Message::Notification { params, .. }) => {
                from_acp::update(&params["update"])
            }
            _ => Vec::new(),
        })
    }
}

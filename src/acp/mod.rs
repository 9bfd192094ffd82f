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
use wire::message_reader::{Incoming, MessageReader};
use wire::{from_acp, rpc};

/// What the updates in an agent's bytes say, read as they are read from its process; for benchmarks.
#[doc(hidden)]
pub fn updates_in(bytes: &[u8], dialect: Option<Dialect>) -> impl Iterator<Item = from_acp::Fact> {
    read_with(wire::log::WireLog::start(None).agent("", &[]), bytes, dialect)
}

/// The same where nothing is kept for the inspector.
#[doc(hidden)]
pub fn updates_unkept(bytes: &[u8]) -> impl Iterator<Item = from_acp::Fact> {
    let mut log = wire::log::WireLog::start(None).agent("", &[]);
    log.ring = wire::ring::AgentRing::none();
    read_with(log, bytes, None)
}

fn read_with(
    log: wire::log::AgentLog,
    bytes: &[u8],
    dialect: Option<Dialect>,
) -> impl Iterator<Item = from_acp::Fact> {
    let converter = Converter::to(&Launch { dialect, ..Launch::default() }, 1);
    let mut reader = MessageReader::new(Settings::default().message_limit, log, converter);
    bytes.chunks(64 << 10).flat_map(move |read| reader.push(read)).flat_map(|output| match output {
        Incoming::Chunk(chunk) => vec![from_acp::Fact::Update(chunk.update())],
        Incoming::Message(rpc::Message::Notification { params, .. }) => from_acp::update(&params["update"]),
        _ => Vec::new(),
    })
}

//! The wire: bytes, lines, JSON-RPC messages, and the protocol's words read into the core's types and
//! written from them. What is done with a message is left to `connection`.

mod converted;
pub(crate) mod dialect;
pub(crate) mod draft;
pub(crate) mod fast_path;
pub(crate) mod framing;
pub mod from_acp;
pub(crate) mod incoming;
pub(crate) mod log;
#[cfg(test)]
pub(crate) mod made_up_tests;
#[cfg(test)]
pub(crate) mod memory_transport;
pub(crate) mod message_reader;
pub(crate) mod outbox;
pub(crate) mod paths;
pub(crate) mod reply;
pub(crate) mod ring;
pub(crate) mod rpc;
pub(crate) mod secrets;
pub(crate) mod to_acp;
pub(crate) mod transport;
pub(super) mod v2;

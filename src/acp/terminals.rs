//! Stand-in until the terminals are merged.

use std::path::PathBuf;
use std::sync::Arc;

use crate::acp::guard::Guard;
use crate::core::message::{Exit, SessionKey, TerminalId};
use crate::mailbox::Mailbox;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalSpec {
    pub command: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub output_limit: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalOutput {
    pub text: String,
    pub truncated: bool,
    pub exit: Option<Exit>,
}

#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("this session has no terminal {:?}; create one first", .0.0)]
    Unknown(TerminalId),
}

pub struct Terminals;

impl Terminals {
    pub fn new(_mailbox: Arc<Mailbox>, _guard: Arc<Guard>) -> Self {
        Self
    }
    pub fn create(&self, _session: SessionKey, spec: TerminalSpec) -> Result<TerminalId, TerminalError> {
        Err(TerminalError::Unknown(TerminalId(spec.command)))
    }
    pub fn output(&self, _session: SessionKey, id: &TerminalId) -> Result<TerminalOutput, TerminalError> {
        Err(TerminalError::Unknown(id.clone()))
    }
    pub fn wait(
        &self,
        _session: SessionKey,
        id: &TerminalId,
    ) -> Result<impl Future<Output = Exit> + Send + use<>, TerminalError> {
        let never: Result<std::future::Ready<Exit>, TerminalError> = Err(TerminalError::Unknown(id.clone()));
        never
    }
    pub fn kill(&self, _session: SessionKey, id: &TerminalId) -> Result<(), TerminalError> {
        Err(TerminalError::Unknown(id.clone()))
    }
    pub fn release(&self, _session: SessionKey, id: &TerminalId) -> Result<(), TerminalError> {
        Err(TerminalError::Unknown(id.clone()))
    }
    pub fn type_bytes(&self, _session: SessionKey, _id: &TerminalId, _bytes: &[u8]) {}
    pub fn resize(&self, _session: SessionKey, _id: &TerminalId, _rows: u16, _columns: u16) {}
    pub fn end_session(&self, _session: SessionKey) {}
    pub fn end_all(&self) {}
}

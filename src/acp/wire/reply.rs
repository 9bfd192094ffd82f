//! The answer that each request of the agent gets, exactly once; and that of one of the editor's tools, which asks as
//! an agent would.

use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use super::outbox::Outbox;
use super::rpc::{INTERNAL_ERROR, REQUEST_CANCELLED, RequestId, RpcError};
use crate::acp::audit::Entry;
use crate::core::audit::Line;

/// The duty to answer one request of the agent. It can be kept, moved and handed to another thread;
/// it is used up by the answer, and one that is dropped answers that the request was cancelled.
#[derive(Debug)]
pub struct Reply {
    id: RequestId,
    way: Option<Way>,
    /// What is recorded of it; it ends with the answer.
    entry: Option<Entry>,
}

/// Where an answer goes.
#[derive(Debug)]
enum Way {
    Agent(Outbox),
    Tool(oneshot::Sender<Result<Value, RpcError>>),
}

impl Way {
    fn result(self, id: &RequestId, result: &impl Serialize) {
        match self {
            Self::Agent(outbox) => outbox.result(id, result),
            Self::Tool(tool) => {
                let result = serde_json::to_value(result);
                // It may have been given up.
                let _ = tool.send(result.map_err(|error| RpcError::new(INTERNAL_ERROR, error.to_string())));
            }
        }
    }

    fn error(self, id: &RequestId, error: &RpcError) {
        match self {
            Self::Agent(outbox) => outbox.error(id, error),
            // The same.
            Self::Tool(tool) => drop(tool.send(Err(error.clone()))),
        }
    }
}

impl Reply {
    pub fn new(id: RequestId, outbox: &Outbox) -> Self {
        Self { id, way: Some(Way::Agent(outbox.clone())), entry: None }
    }

    /// That of a request which no agent has sent.
    pub fn to_tool(id: RequestId, tool: oneshot::Sender<Result<Value, RpcError>>) -> Self {
        Self { id, way: Some(Way::Tool(tool)), entry: None }
    }

    /// Has it recorded how the request ends.
    pub fn recorded(self, entry: Option<Entry>) -> Self {
        let mut reply = self;
        reply.entry = entry;
        reply
    }

    /// Adds to what is recorded of it, if anything is.
    pub fn note(&mut self, change: impl FnOnce(&mut Line)) {
        if let Some(entry) = &mut self.entry {
            change(&mut entry.line);
        }
    }

    pub fn id(&self) -> &RequestId {
        &self.id
    }

    pub fn ok(mut self, result: impl Serialize) {
        if let Some(way) = self.way.take() {
            // Recorded first: what the agent does next comes after it.
            self.entry.take().into_iter().for_each(Entry::done);
            way.result(&self.id, &result);
        }
    }

    pub fn fail(mut self, error: &RpcError) {
        if let Some(way) = self.way.take() {
            if let Some(entry) = self.entry.take() {
                entry.refused(error.code, &error.message);
            }
            way.error(&self.id, error);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(way) = self.way.take() {
            way.error(&self.id, &RpcError::new(REQUEST_CANCELLED, "request cancelled"));
        }
    }
}

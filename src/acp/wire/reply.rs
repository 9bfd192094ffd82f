//! The answer that each request of the agent gets, exactly once.

use serde::Serialize;

use super::outbox::Outbox;
use super::rpc::{REQUEST_CANCELLED, RequestId, RpcError};

/// The duty to answer one request of the agent. It can be kept, moved and handed to another thread;
/// it is used up by the answer, and one that is dropped answers that the request was cancelled.
#[derive(Debug)]
pub struct Reply {
    id: RequestId,
    outbox: Option<Outbox>,
}

impl Reply {
    pub fn new(id: RequestId, outbox: &Outbox) -> Self {
        Self { id, outbox: Some(outbox.clone()) }
    }

    pub fn id(&self) -> &RequestId {
        &self.id
    }

    pub fn ok(mut self, result: impl Serialize) {
        if let Some(outbox) = self.outbox.take() {
            outbox.result(&self.id, &result);
        }
    }

    pub fn fail(mut self, error: &RpcError) {
        if let Some(outbox) = self.outbox.take() {
            outbox.error(&self.id, error);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(outbox) = self.outbox.take() {
            outbox.error(&self.id, &RpcError::new(REQUEST_CANCELLED, "request cancelled"));
        }
    }
}

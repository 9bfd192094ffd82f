//! The answer that each request of the agent gets, exactly once.

use serde::Serialize;

use super::outbox::Outbox;
use super::rpc::{REQUEST_CANCELLED, RequestId, RpcError};
use crate::acp::audit::Entry;
use crate::core::audit::Line;

/// The duty to answer one request of the agent. It can be kept, moved and handed to another thread;
/// it is used up by the answer, and one that is dropped answers that the request was cancelled.
#[derive(Debug)]
pub struct Reply {
    id: RequestId,
    outbox: Option<Outbox>,
    /// What is recorded of it; it ends with the answer.
    entry: Option<Entry>,
}

impl Reply {
    pub fn new(id: RequestId, outbox: &Outbox) -> Self {
        Self { id, outbox: Some(outbox.clone()), entry: None }
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
        if let Some(outbox) = self.outbox.take() {
            outbox.result(&self.id, &result);
            self.entry.take().into_iter().for_each(Entry::done);
        }
    }

    pub fn fail(mut self, error: &RpcError) {
        if let Some(outbox) = self.outbox.take() {
            outbox.error(&self.id, error);
            if let Some(entry) = self.entry.take() {
                entry.refused(error.code, &error.message);
            }
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

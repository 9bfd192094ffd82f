//! The MCP servers that an agent reaches by messages of ACP, and what it asks of them.

use std::collections::HashMap;

use tokio::task::AbortHandle;

use crate::acp::wire::rpc::RequestId;
use crate::core::ids::SessionKey;

/// What is asked is given up when it is dropped.
#[derive(Default)]
pub(super) struct ToolServers {
    /// Whose tools each of them has, by its name in messages.
    sessions: HashMap<String, SessionKey>,
    open: Vec<(RequestId, AbortHandle)>,
}

impl ToolServers {
    pub(super) fn add(&mut self, id: String, session: SessionKey) {
        self.sessions.insert(id, session);
    }

    pub(super) fn session(&self, id: &str) -> Option<SessionKey> {
        self.sessions.get(id).copied()
    }

    pub(super) fn asked(&mut self, request: RequestId, answering: AbortHandle) {
        self.open.retain(|(_, open)| !open.is_finished());
        self.open.push((request, answering));
    }

    /// Gives up a request that the agent takes back, if it is one of these.
    pub(super) fn take_back(&mut self, request: &RequestId) {
        self.open.iter().filter(|(id, _)| id == request).for_each(|(_, open)| open.abort());
    }
}

impl Drop for ToolServers {
    fn drop(&mut self) {
        self.open.iter().for_each(|(_, open)| open.abort());
    }
}

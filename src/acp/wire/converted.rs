//! What a message of an agent's becomes that speaks something else than the conversation knows.

use super::rpc::{Message, RequestId, RpcError};

#[derive(Debug, Default)]
pub struct Converted {
    /// In the first version of the official protocol, for the conversation.
    pub messages: Vec<Message>,
    /// A request that is answered here, as the agent speaks.
    pub refused: Option<(RequestId, RpcError)>,
}

impl From<Vec<Message>> for Converted {
    fn from(messages: Vec<Message>) -> Self {
        Self { messages, refused: None }
    }
}

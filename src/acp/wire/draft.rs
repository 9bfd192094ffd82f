//! The draft dialect: a document of early 2026 with the methods of ACP, but other fields, another envelope of
//! updates, permission by operation and scope, and error codes of its own. It stands between the framing and
//! the conversation, which knows the official protocol only: each message is converted on its way, and no
//! spelling of the one is ever written to an agent that speaks the other.
//!
//! Requests of ours and their answers are in `ours`, the agent's in `theirs`, what it tells in `updates`, and what of
//! that comes often in `quick`.

mod content;
mod errors;
mod fields;
mod left_out;
mod ours;
mod quick;
mod state;
mod theirs;
mod updates;

use serde_json::{Value, json};

use self::fields::{rename, take, with};
use self::left_out::LeftOut;
pub use self::state::Draft;
use super::converted::Converted;
use super::rpc::{Message, RequestId, RpcError};

impl Draft {
    /// Converts a request of ours, which the agent will answer by this id. The method stays.
    pub fn request(&mut self, id: i64, method: &str, params: Value) -> Value {
        let (params, request) = self.ours(method, params);
        self.ours.insert(id, request);
        params
    }

    /// What this client would have said in the official protocol where it said this.
    pub fn recorded(mut message: Value) -> Value {
        let params = &mut message["params"];
        rename(params, "workingDirectory", "cwd");
        if let Some(Value::Array(blocks)) = take(params, "content") {
            params["prompt"] =
                blocks.into_iter().map(|block| content::from_agent(block, &mut LeftOut::default())).collect();
        }
        let result = &message["result"];
        if let Some(granted) = result["granted"].as_bool() {
            let scope = if granted { result["scope"].as_str().unwrap_or("once") } else { theirs::REJECT };
            message["result"] = json!({ "outcome": { "outcome": "selected", "optionId": scope } });
        }
        message
    }

    /// Converts a notification of ours; nothing where the dialect has none like it.
    pub fn notification(&mut self, method: &str, params: Value) -> Option<Value> {
        match method {
            "session/cancel" => Some(with(params, "reason", json!("user_requested"))),
            "$/cancel_request" => {
                self.left_out.rest(method, &params);
                None
            }
            _ => Some(params),
        }
    }

    /// Converts our answer to a request of the agent's.
    pub fn result(&mut self, id: &RequestId, result: Value) -> Value {
        match self.theirs.remove(&id.to_string()) {
            Some(request) => self.answer(request, result),
            None => result,
        }
    }

    /// Converts our refusal of a request of the agent's.
    pub fn error(&mut self, id: &RequestId, error: RpcError) -> RpcError {
        match self.theirs.remove(&id.to_string()) {
            Some(request) => errors::to_agent(&request, error),
            None => error,
        }
    }

    /// The fields that the other protocol has nothing like, of which nobody was told yet.
    pub fn left_out(&mut self) -> Vec<String> {
        self.left_out.take()
    }

    /// Converts what the agent has sent.
    pub fn incoming(&mut self, message: Message) -> Converted {
        let messages = match message {
            Message::Request { id, method, params } => match self.theirs(&method, params) {
                Ok((params, request)) => {
                    self.theirs.insert(id.to_string(), request);
                    vec![Message::Request { id, method, params }]
                }
                Err(error) => return Converted { messages: Vec::new(), refused: Some((id, error)) },
            },
            Message::Notification { method, params } if method == "session/update" => self.update(params),
            Message::Notification { method, params } => vec![Message::Notification { method, params }],
            Message::Response { id, result } => self.answered(id, result),
            Message::Malformed { id } => vec![Message::Malformed { id }],
        };
        Converted { messages, refused: None }
    }
}

/// What the document itself shows of an agent's messages.
#[cfg(test)]
const EXAMPLES: &str = include_str!("draft/examples.jsonl");

#[cfg(test)]
mod tests;

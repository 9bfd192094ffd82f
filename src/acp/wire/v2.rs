//! Version 2 of the protocol. It stands between the framing and the conversation, which knows the first version only:
//! a turn is a state here, messages and calls are told as a whole, terminals are the agent's, and changes are patches.
//! An agent that answers with the first version is spoken to in that.
//!
//! Requests of ours and their answers are in `ours`, turns in `turns`, what the agent asks in `theirs`, what it tells
//! in `updates`; `messages`, `terminals` and `diffs` convert the parts of that.

mod diffs;
mod fields;
mod messages;
mod ours;
mod recent;
mod state;
mod terminals;
mod theirs;
mod turns;
mod updates;

use serde_json::Value;

pub use self::state::V2;
use self::state::Version;
use super::converted::Converted;
use super::rpc::Message;

impl V2 {
    /// Whether the agent speaks the first version after all.
    pub fn fell_back(&self) -> bool {
        self.version == Version::First
    }

    /// Converts a request of ours, which the agent will answer by this id.
    pub fn request(&mut self, id: i64, method: &str, params: Value) -> (String, Value) {
        if self.version == Version::First {
            return (method.to_owned(), params);
        }
        let (method, params, request) = self.ours(id, method, params);
        self.ours.insert(id, request);
        (method, params)
    }

    /// What this client would have said in the first version where it said this.
    pub fn recorded(mut message: Value) -> Value {
        if message["method"] == "session/resume" && !message["params"]["replayFrom"].is_null() {
            message["method"] = "session/load".into();
        }
        message
    }

    /// Converts what the agent has sent.
    pub fn incoming(&mut self, message: Message) -> Converted {
        if self.version == Version::First {
            return vec![message].into();
        }
        match message {
            Message::Request { id, method, params } if method == "session/request_permission" => {
                let params = self.permission(params);
                vec![Message::Request { id, method, params }]
            }
            Message::Notification { method, params } if method == "session/update" => self.update(params),
            Message::Response { id, result } => self.answered(id, result),
            message => vec![message],
        }
        .into()
    }
}

#[cfg(test)]
mod tests;

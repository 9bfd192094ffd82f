//! Turns. In the second version a prompt is answered when the agent has taken it, and the turn is over when the session
//! is idle; in the first the answer ends the turn. So the answer waits here.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::acp::wire::rpc::{INTERNAL_ERROR, Message, RequestId, RpcError};

/// Of each session, by the agent's name.
#[derive(Default)]
pub struct Turns(HashMap<String, Turn>);

#[derive(Default)]
struct Turn {
    /// What the session does, in the protocol's word; none before it was told.
    state: Option<String>,
    /// The prompt whose turn it is.
    prompt: Option<Prompt>,
}

struct Prompt {
    id: i64,
    /// The agent has it.
    taken: bool,
    /// It has been at work since.
    ran: bool,
    /// The turn was over before the agent said that it has the prompt.
    over: Option<Result<Value, RpcError>>,
}

impl Turns {
    pub fn prompted(&mut self, session: &str, id: i64) {
        let turn = self.0.entry(session.to_owned()).or_default();
        turn.prompt = Some(Prompt { id, taken: false, ran: false, over: None });
    }

    /// The agent has the prompt, or doesn't want it.
    pub fn answered(&mut self, session: &str, id: i64, result: Result<Value, RpcError>) -> Vec<Message> {
        let Some(turn) = self.0.get_mut(session) else { return vec![response(id, result)] };
        let Some(prompt) = turn.prompt.as_mut().filter(|prompt| prompt.id == id) else {
            // The session was closed.
            return Vec::new();
        };
        prompt.taken = true;
        let over = match result {
            // One that answers as in the first version has ended its turn.
            Ok(result) if result["stopReason"].is_string() => Some(Ok(result)),
            Ok(_) => prompt.over.take(),
            Err(error) => Some(Err(error)),
        };
        let Some(over) = over else { return Vec::new() };
        turn.prompt = None;
        vec![response(id, over)]
    }

    /// What a session does now. One that only repeats it has ended no turn.
    pub fn told(&mut self, session: &str, update: &Value) -> Option<Message> {
        // A child's state is told by its parent.
        let turn = self.0.get_mut(session)?;
        let state = update["state"].as_str().unwrap_or_default();
        let before = turn.state.replace(state.to_owned());
        let prompt = turn.prompt.as_mut()?;
        if matches!(state, "running" | "requires_action") {
            prompt.ran = true;
        }
        let is_first = before.is_none() && !update["stopReason"].is_null() && prompt.taken;
        if state != "idle" || !(prompt.ran || is_first) {
            return None;
        }
        let over = ended(update);
        if !prompt.taken {
            prompt.over = Some(over);
            return None;
        }
        let id = prompt.id;
        turn.prompt = None;
        Some(response(id, over))
    }

    /// The session is known from now on.
    pub fn opened(&mut self, session: &str) {
        self.0.entry(session.to_owned()).or_default();
    }

    /// Nothing more comes of it.
    pub fn closed(&mut self, session: &str) -> Option<Message> {
        let prompt = self.0.remove(session)?.prompt?;
        Some(response(prompt.id, Ok(json!({ "stopReason": "cancelled" }))))
    }
}

/// How a turn ended, as its prompt is answered in the first version.
fn ended(update: &Value) -> Result<Value, RpcError> {
    if update["stopReason"] == "error" {
        let error = &update["error"];
        let message = error["message"].as_str().filter(|message| !message.is_empty());
        let message = message.unwrap_or("the agent ended the turn with an error and gave no reason");
        let error = RpcError::new(error["code"].as_i64().unwrap_or(INTERNAL_ERROR), message)
            .with_data(error["data"].clone());
        return Err(error);
    }
    let mut result = json!({});
    for field in ["stopReason", "usage", "_meta"] {
        if let Some(value) = update.get(field).filter(|value| !value.is_null()) {
            result[field] = value.clone();
        }
    }
    Ok(result)
}

fn response(id: i64, result: Result<Value, RpcError>) -> Message {
    Message::Response { id: RequestId::own(id), result }
}

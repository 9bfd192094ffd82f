//! What replays say beside what the recorded agent did. That it is a replay that says so is for the session to know.

use serde_json::Value;

use super::json::{count, text};
use super::{failure, turn_end};
use crate::acp::wire::rpc::RpcError;
use crate::core::message::{Replayed, TurnEnd, Update};
use crate::core::replay;

pub fn replayed(kind: &str, update: &Value) -> Option<Update> {
    let told = match kind {
        replay::TURN_ENDED => Replayed::TurnEnded { end: end(update), took: count(&update["took"])? },
        replay::OVER => Replayed::Over,
        _ => return None,
    };
    Some(Update::Replayed(Box::new(told)))
}

/// As the answer to the prompt is read where an agent gives it.
fn end(update: &Value) -> TurnEnd {
    let error = &update["error"];
    if !error.is_object() {
        return turn_end(&update["result"]);
    }
    TurnEnd::Failed(failure(RpcError {
        code: error["code"].as_i64().unwrap_or_default(),
        message: text(&error["message"]).unwrap_or_else(|| "the agent gave no reason".into()),
        data: error.get("data").cloned(),
    }))
}

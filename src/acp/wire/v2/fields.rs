//! Fields of messages, and updates made of them.

use serde_json::{Value, json};

use crate::acp::wire::rpc::Message;

/// A `session/update` as the conversation reads it.
pub fn told(session: &str, update: Value) -> Message {
    let params = json!({ "sessionId": session, "update": update });
    Message::Notification { method: "session/update".to_owned(), params }
}

/// Takes a field away.
pub fn take(value: &mut Value, key: &str) -> Option<Value> {
    value.as_object_mut()?.remove(key).filter(|value| !value.is_null())
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

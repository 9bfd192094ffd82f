//! The two shapes of an update that is made here, and fields of objects taken out, put in and renamed.

use serde_json::{Map, Value, json};

use crate::acp::wire::rpc::Message;

/// An update as the official protocol has it.
pub fn update(session: &str, update: Value) -> Message {
    let params = object([("sessionId", session.into()), ("update", update)], 2).into();
    Message::Notification { method: "session/update".to_owned(), params }
}

/// An object with room for so many fields: one that grows asks for memory again and again.
pub fn object<const N: usize>(fields: [(&str, Value); N], room: usize) -> Map<String, Value> {
    let mut object = Map::with_capacity(room);
    object.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    object
}

/// Something that the user is told in the chat.
pub fn notice(severity: &str, text: &str) -> Value {
    json!({ "sessionUpdate": "notice", "severity": severity, "title": text })
}

pub fn with(mut params: Value, key: &str, value: Value) -> Value {
    if let Some(params) = params.as_object_mut() {
        params.insert(key.to_owned(), value);
    }
    params
}

/// Takes a field out of an object; null is as good as absent.
pub fn take(fields: &mut Value, key: &str) -> Option<Value> {
    fields.as_object_mut()?.remove(key).filter(|value| !value.is_null())
}

pub fn rename(fields: &mut Value, from: &str, to: &str) {
    if let Some(value) = take(fields, from) {
        fields[to] = value;
    }
}

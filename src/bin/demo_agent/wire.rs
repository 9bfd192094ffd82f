//! One JSON-RPC message a line: what comes in, sorted by shape, and what goes out, whole lines only
//! however many threads write. Knows no method; the meaning of a message is for others.

use std::io::{self, Write};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol_schema::rpc::{JsonRpcMessage, Notification, Request};
use agent_client_protocol_schema::v1::{Error, RequestId};
use serde::Serialize;
use serde_json::{Value, json};

/// A message of the client's.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Answer { id: Value, outcome: Outcome },
}

/// What the client answered: its result, or its error object as it stood.
pub type Outcome = Result<Value, Value>;

impl Incoming {
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let message: Value =
            serde_json::from_slice(line).map_err(|error| format!("a line that is not JSON: {error}"))?;
        Self::from_value(message)
    }

    pub fn from_value(mut message: Value) -> Result<Self, String> {
        let Some(object) = message.as_object_mut() else {
            return Err("a message that is not an object".to_owned());
        };
        if object.get("jsonrpc") != Some(&Value::from("2.0")) {
            return Err("a message without \"jsonrpc\": \"2.0\"".to_owned());
        }
        let id = object.remove("id");
        let method = object.remove("method");
        let params = object.remove("params").unwrap_or(Value::Null);
        match (id, method) {
            (Some(id), Some(Value::String(method))) => Ok(Self::Request { id, method, params }),
            (None, Some(Value::String(method))) => Ok(Self::Notification { method, params }),
            (_, Some(_)) => Err("a message whose method is not a string".to_owned()),
            (Some(id), None) => match (object.remove("result"), object.remove("error")) {
                (_, Some(error)) if !error.is_null() => Ok(Self::Answer { id, outcome: Err(error) }),
                (Some(result), _) => Ok(Self::Answer { id, outcome: Ok(result) }),
                _ => Err("an answer with neither result nor error".to_owned()),
            },
            (None, None) => Err("a message with neither id nor method".to_owned()),
        }
    }

    /// The message in a few words, for a person.
    pub fn describe(&self) -> String {
        match self {
            Self::Request { id, method, .. } => format!("the request {method} (id {id})"),
            Self::Notification { method, .. } => format!("the notification {method}"),
            Self::Answer { id, outcome: Ok(_) } => format!("the answer to request {id}"),
            Self::Answer { id, outcome: Err(_) } => format!("the error answer to request {id}"),
        }
    }
}

/// The agent's stdout.
#[derive(Clone)]
pub struct Output(Arc<Mutex<io::Stdout>>);

impl Output {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(io::stdout())))
    }

    pub fn notify(&self, method: &str, params: impl Serialize) {
        self.send(&JsonRpcMessage::wrap(Notification { method: method.into(), params: Some(params) }));
    }

    pub fn request(&self, id: i64, method: &str, params: impl Serialize) {
        self.send(&JsonRpcMessage::wrap(Request {
            id: RequestId::Number(id),
            method: method.into(),
            params: Some(params),
        }));
    }

    /// Answers the request whose id this is, whatever kind of token it is.
    pub fn answer(&self, id: &Value, outcome: Result<impl Serialize, Error>) {
        match outcome {
            Ok(result) => self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
            Err(error) => self.refuse(id, &error),
        }
    }

    pub fn refuse(&self, id: &Value, error: &Error) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    pub fn send(&self, message: &impl Serialize) {
        let mut line = serde_json::to_vec(message).expect("protocol types have string keys only");
        line.push(b'\n');
        self.bytes(&line);
    }

    /// Writes bytes as they are and flushes. A client that reads no more is gone, and so are we.
    pub fn bytes(&self, bytes: &[u8]) {
        let mut stdout = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if stdout.write_all(bytes).and_then(|()| stdout.flush()).is_err() {
            process::exit(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_with_a_null_result_beside_an_error_is_an_error() {
        let incoming = Incoming::from_value(
            json!({"jsonrpc": "2.0", "id": 1, "result": null, "error": {"code": 1, "message": "no"}}),
        );
        assert_eq!(
            incoming,
            Ok(Incoming::Answer { id: json!(1), outcome: Err(json!({"code": 1, "message": "no"})) })
        );
    }

    #[test]
    fn a_null_result_is_an_answer() {
        let incoming = Incoming::parse(br#"{"jsonrpc":"2.0","result":null,"id":"a"}"#);
        assert_eq!(incoming, Ok(Incoming::Answer { id: json!("a"), outcome: Ok(Value::Null) }));
    }

    #[test]
    fn a_message_without_the_version_is_refused() {
        assert!(Incoming::parse(br#"{"id":1,"method":"initialize"}"#).is_err());
    }
}

//! Messages on their way to the agent: each one a line, in the order they were sent. It writes the
//! envelope; what is inside comes from `to_acp`.

use serde::Serialize;
use serde_json::Value;

use super::dialect::Converter;
use super::log::{AgentLog, Direction};
use super::rpc::{RequestId, RpcError};
use super::transport::LineSender;

/// Cheap to clone; all clones write to the same agent. Sending never waits.
#[derive(Clone, Debug)]
pub struct Outbox {
    lines: LineSender,
    log: AgentLog,
    converter: Converter,
}

#[derive(Serialize)]
struct Request<'a, T> {
    jsonrpc: &'static str,
    id: i64,
    method: &'a str,
    params: &'a T,
}

#[derive(Serialize)]
struct Notification<'a, T> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a T,
}

#[derive(Serialize)]
struct Answer<'a, T> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a T,
}

#[derive(Serialize)]
struct Refusal<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    error: &'a RpcError,
}

const VERSION: &str = "2.0";

impl Outbox {
    pub fn new(lines: LineSender, log: AgentLog, converter: Converter) -> Self {
        Self { lines, log, converter }
    }

    /// Whether the agent expects the output of its commands to be sent as it comes.
    pub fn pushes_output(&self) -> bool {
        self.converter.translation().is_some_and(|translation| translation.pushes_output())
    }

    /// Whether the agent is told when a session is opened what that begins with.
    pub fn takes_beginning(&self) -> bool {
        self.converter.translation().is_some_and(|translation| translation.takes_beginning())
    }

    /// Whether the agent speaks an older version than it was asked for.
    pub fn fell_back(&self) -> bool {
        self.converter.translation().is_some_and(|translation| translation.fell_back())
    }

    /// Sends a request, unless its params can't be written, as a path that is no text.
    pub fn request(&self, id: i64, method: &str, params: &impl Serialize) -> Result<(), serde_json::Error> {
        if self.converter.is_none() {
            return self.write(&Request { jsonrpc: VERSION, id, method, params });
        }
        let mut params = serde_json::to_value(params)?;
        self.converter.paths().to_there(&mut params);
        match self.converter.translation() {
            None => self.write(&Request { jsonrpc: VERSION, id, method, params: &params }),
            Some(mut translation) => {
                let (method, params) = translation.request(id, method, params);
                self.log.left_out(translation.left_out());
                self.write(&Request { jsonrpc: VERSION, id, method: &method, params: &params })
            }
        }
    }

    pub fn notify(&self, method: &str, params: &impl Serialize) {
        if self.converter.is_none() {
            return self.write_surely(&Notification { jsonrpc: VERSION, method, params });
        }
        let converted = self.value(params).and_then(|params| match self.converter.translation() {
            Some(mut translation) => {
                let params = translation.notification(method, params);
                self.log.left_out(translation.left_out());
                params
            }
            None => Some(params),
        });
        if let Some(params) = converted {
            self.write_surely(&Notification { jsonrpc: VERSION, method, params: &params });
        }
    }

    pub fn result(&self, id: &RequestId, result: &impl Serialize) {
        if self.converter.is_none() {
            return self.write_surely(&Answer { jsonrpc: VERSION, id, result });
        }
        if let Some(mut result) = self.value(result) {
            if let Some(mut translation) = self.converter.translation() {
                result = translation.result(id, result);
                self.log.left_out(translation.left_out());
            }
            self.write_surely(&Answer { jsonrpc: VERSION, id, result: &result });
        }
    }

    pub fn error(&self, id: &RequestId, error: &RpcError) {
        let translation = self.converter.translation();
        let converted = translation.map(|mut translation| translation.error(id, error.clone()));
        self.write_surely(&Refusal { jsonrpc: VERSION, id, error: converted.as_ref().unwrap_or(error) });
    }

    fn value(&self, message: &impl Serialize) -> Option<Value> {
        let value = serde_json::to_value(message).map(|mut value| {
            self.converter.paths().to_there(&mut value);
            value
        });
        value.inspect_err(|error| self.log.note(&format!("couldn't write a message: {error}"))).ok()
    }

    /// For what is made of texts and numbers only.
    fn write_surely(&self, message: &impl Serialize) {
        if let Err(error) = self.write(message) {
            self.log.note(&format!("couldn't write a message: {error}"));
        }
    }

    fn write(&self, message: &impl Serialize) -> Result<(), serde_json::Error> {
        let mut line = serde_json::to_vec(message)?;
        self.log.message(Direction::ToAgent, &line);
        self.log.ring.sent(&line, || envelope(message));
        line.push(b'\n');
        self.lines.send(line);
        Ok(())
    }
}

/// A message without what is in it.
fn envelope(message: &impl Serialize) -> Value {
    let mut message = serde_json::to_value(message).unwrap_or_default();
    if let Value::Object(fields) = &mut message {
        fields.retain(|key, _| ["id", "method", "error"].contains(&key.as_str()));
    }
    message
}

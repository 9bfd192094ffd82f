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
        self.converter.draft().is_some()
    }

    /// Sends a request, unless its params can't be written, as a path that is no text.
    pub fn request(&self, id: i64, method: &str, params: &impl Serialize) -> Result<(), serde_json::Error> {
        match self.converter.draft() {
            None => self.write(&Request { jsonrpc: VERSION, id, method, params }),
            Some(mut draft) => {
                let params = &draft.request(id, method, serde_json::to_value(params)?);
                self.write(&Request { jsonrpc: VERSION, id, method, params })
            }
        }
    }

    pub fn notify(&self, method: &str, params: &impl Serialize) {
        let Some(draft) = self.converter.draft() else {
            return self.write_surely(&Notification { jsonrpc: VERSION, method, params });
        };
        if let Some(params) = self.value(params).and_then(|params| draft.notification(method, params)) {
            self.write_surely(&Notification { jsonrpc: VERSION, method, params: &params });
        }
    }

    pub fn result(&self, id: &RequestId, result: &impl Serialize) {
        let Some(mut draft) = self.converter.draft() else {
            return self.write_surely(&Answer { jsonrpc: VERSION, id, result });
        };
        if let Some(result) = self.value(result) {
            self.write_surely(&Answer { jsonrpc: VERSION, id, result: &draft.result(id, result) });
        }
    }

    pub fn error(&self, id: &RequestId, error: &RpcError) {
        let converted = self.converter.draft().map(|mut draft| draft.error(id, error.clone()));
        self.write_surely(&Refusal { jsonrpc: VERSION, id, error: converted.as_ref().unwrap_or(error) });
    }

    fn value(&self, message: &impl Serialize) -> Option<Value> {
        let value = serde_json::to_value(message);
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
        line.push(b'\n');
        self.lines.send(line);
        Ok(())
    }
}

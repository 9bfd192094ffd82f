//! Messages on their way to the agent: each one a line, in the order they were sent. It writes the
//! envelope; what is inside comes from `to_acp`.

use serde::Serialize;

use super::log::{AgentLog, Direction};
use super::rpc::{RequestId, RpcError};
use super::transport::LineSender;

/// Cheap to clone; all clones write to the same agent. Sending never waits.
#[derive(Clone, Debug)]
pub struct Outbox {
    lines: LineSender,
    log: AgentLog,
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
    pub fn new(lines: LineSender, log: AgentLog) -> Self {
        Self { lines, log }
    }

    /// Sends a request, unless its params can't be written, as a path that is no text.
    pub fn request(&self, id: i64, method: &str, params: &impl Serialize) -> Result<(), serde_json::Error> {
        self.write(&Request { jsonrpc: VERSION, id, method, params })
    }

    pub fn notify(&self, method: &str, params: &impl Serialize) {
        self.write_surely(&Notification { jsonrpc: VERSION, method, params });
    }

    pub fn result(&self, id: &RequestId, result: &impl Serialize) {
        self.write_surely(&Answer { jsonrpc: VERSION, id, result });
    }

    pub fn error(&self, id: &RequestId, error: &RpcError) {
        self.write_surely(&Refusal { jsonrpc: VERSION, id, error });
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

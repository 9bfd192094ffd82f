//! Clients that have no connection of their own: each of their requests comes alone, by another protocol.

use rmcp::model::{ClientJsonRpcMessage, ErrorData, ServerJsonRpcMessage};
use rmcp::service::serve_directly;
use rmcp::transport::OneshotTransport;
use serde_json::{Value, json};

use super::registry::Tools;
use super::server::Server;
use crate::core::ids::SessionKey;

/// A request of such a client's: its name for it, the method, and what it gives.
pub struct Request {
    pub id: String,
    pub method: String,
    pub params: Option<Value>,
}

/// Answers a request with its result, or else the error, both in the form of the Model Context Protocol. What is told
/// of it meanwhile, by its method and with what belongs to it, is passed on. The call is given up when the wait is.
pub async fn answer(
    tools: &Tools,
    session: SessionKey,
    request: Request,
    mut tell: impl FnMut(String, Option<Value>),
) -> Result<Value, Value> {
    let Some(mut given) = tools.given_to(session) else {
        return Err(error(ErrorData::invalid_request("the session is over", None)));
    };
    let Request { id, method, params } = request;
    let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
    if let Some(params) = params {
        message["params"] = params;
    }
    let Ok(message) = serde_json::from_value::<ClientJsonRpcMessage>(message) else {
        return Err(error(ErrorData::invalid_request("this is no request of the protocol", None)));
    };
    let (transport, mut messages) = OneshotTransport::new(message);
    // Stopped when it is dropped.
    let _running = serve_directly(Server::new(tools.clone(), session), transport, None);
    loop {
        let message = tokio::select! {
            message = messages.recv() => message,
            // It fails when the session is over.
            _ = given.over.changed() => None,
        };
        match message {
            Some(ServerJsonRpcMessage::Response(answer)) => {
                return serde_json::to_value(answer.result)
                    .map_err(|why| error(ErrorData::internal_error(why.to_string(), None)));
            }
            Some(ServerJsonRpcMessage::Error(failed)) => return Err(error(failed.error)),
            Some(ServerJsonRpcMessage::Notification(told)) => {
                let Ok(mut told) = serde_json::to_value(told.notification) else { continue };
                if let Some(method) = told["method"].as_str().map(str::to_owned) {
                    tell(method, told.get_mut("params").map(Value::take));
                }
            }
            // The server asks nothing.
            Some(ServerJsonRpcMessage::Request(_)) => {}
            None => return Err(error(ErrorData::internal_error("the session is over", None))),
        }
    }
}

fn error(error: ErrorData) -> Value {
    serde_json::to_value(error).unwrap_or_else(|why| json!({ "code": -32603, "message": why.to_string() }))
}

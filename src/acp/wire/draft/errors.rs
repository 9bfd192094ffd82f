//! Error codes. Both protocols have their own meaning for the same numbers, so that each code is read and
//! written by the dialect of its connection and never guessed.

use serde_json::{Value, json};

use super::state::Theirs;
use crate::acp::wire::rpc::{
    AUTH_REQUIRED, INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, NOT_FOUND, REQUEST_CANCELLED, RpcError,
};

const SESSION_NOT_FOUND: i64 = -32000;
const LOGIN_REQUIRED: i64 = -32001;
const PERMISSION_DENIED: i64 = -32002;
const CANCELLED: i64 = -32003;
const RESOURCE_NOT_FOUND: i64 = -32004;
const RESOURCE_DENIED: i64 = -32005;
const WRONG_STATE: i64 = -32006;
const NOT_SUPPORTED: i64 = -32007;
const RATE_LIMITED: i64 = -32008;
const TIMEOUT: i64 = -32009;

/// An error of the agent's, for the conversation.
pub fn from_agent(mut error: RpcError) -> RpcError {
    let suggestion =
        error.data.as_ref().and_then(|data| data["suggestion"].as_str()).unwrap_or_default().trim();
    if !suggestion.is_empty() {
        error.message = format!("{}. {suggestion}", error.message.trim().trim_end_matches('.'));
    }
    let (code, says) = match error.code {
        SESSION_NOT_FOUND => (NOT_FOUND, "session not found"),
        LOGIN_REQUIRED => (AUTH_REQUIRED, "authentication required"),
        PERMISSION_DENIED => (INTERNAL_ERROR, "permission denied"),
        CANCELLED => (REQUEST_CANCELLED, "cancelled"),
        RESOURCE_NOT_FOUND => (INTERNAL_ERROR, "resource not found"),
        RESOURCE_DENIED => (INTERNAL_ERROR, "access to a resource denied"),
        WRONG_STATE => (INVALID_REQUEST, "not in this state of the session"),
        NOT_SUPPORTED => (METHOD_NOT_FOUND, "not supported"),
        // The official protocol tells why an agent is busy by the reason.
        RATE_LIMITED => (RATE_LIMITED, "rate limited"),
        TIMEOUT => (TIMEOUT, "timeout"),
        _ => return error,
    };
    let is_told = matches!(code, RATE_LIMITED | TIMEOUT);
    if is_told || code == INTERNAL_ERROR {
        let mut data = match error.data.take() {
            Some(data) if data.is_object() => data,
            None | Some(Value::Null) => json!({}),
            Some(other) => json!({ "details": other }),
        };
        // What the agent calls it is no more than words for the user.
        if let Some(reason) = data.get("reason").filter(|reason| reason.is_string()).cloned()
            && data.get("details").is_none()
        {
            data = super::fields::with(data, "details", reason);
        }
        error.data = Some(super::fields::with(data, "reason", says.into()));
    }
    if !is_told && !error.message.to_lowercase().contains(says) {
        error.message = format!("{says}: {}", error.message);
    }
    RpcError { code, ..error }
}

/// An error of ours, for the agent.
pub fn to_agent(request: &Theirs, mut error: RpcError) -> RpcError {
    let names_session = error.data.as_ref().is_some_and(|data| data.get("sessionId").is_some());
    error.code = match error.code {
        NOT_FOUND if names_session => SESSION_NOT_FOUND,
        NOT_FOUND => RESOURCE_NOT_FOUND,
        REQUEST_CANCELLED => CANCELLED,
        METHOD_NOT_FOUND if !matches!(request, Theirs::Other) => NOT_SUPPORTED,
        INTERNAL_ERROR if request.is_file() => RESOURCE_DENIED,
        other => other,
    };
    error
}

/// A request that does not fit what goes on.
pub fn state(message: &str) -> RpcError {
    RpcError::new(WRONG_STATE, message)
}

pub fn denied(message: &str) -> RpcError {
    RpcError::new(RESOURCE_DENIED, message)
}

//! The messages of the Model Context Protocol, as far as a server of tools needs them: what a line asks, and the
//! answers. Written by hand, since it is five methods.

use serde_json::{Value, json};

use crate::core::message::{ToolAnswer, ToolSpec};

/// The versions that are spoken, the newest last.
const VERSIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const INSTRUCTIONS: &str = "What the user's Neovim knows of this project: language servers, diagnostics, open files with \
                            unsaved text, syntax trees. Prefer these tools to searching text where they can answer.";

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// What a line asks.
#[derive(Debug, PartialEq)]
pub enum Asked {
    Nothing,
    /// The client is ready for notifications.
    Initialized,
    /// It is answered already.
    Answered(Value),
    Call {
        id: Value,
        name: String,
        args: Value,
        /// By which the client wants to be told that it is still at work.
        progress: Option<Value>,
    },
    Cancel {
        id: Value,
    },
}

pub fn read(line: &[u8], list: impl FnOnce() -> Vec<ToolSpec>) -> Asked {
    if line.trim_ascii().is_empty() {
        return Asked::Nothing;
    }
    let Ok(mut message) = serde_json::from_slice::<Value>(line) else {
        return Asked::Answered(error(&Value::Null, PARSE_ERROR, "this is no JSON"));
    };
    let id = message.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    let params = message.get_mut("params").map(Value::take).unwrap_or_default();
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        return match (id, message.get("result").or(message.get("error"))) {
            // We ask nothing, so there is nothing to answer.
            (_, Some(_)) => Asked::Nothing,
            (id, None) => Asked::Answered(error(&id.unwrap_or_default(), INVALID_REQUEST, "no method")),
        };
    };
    match (method, id) {
        ("notifications/initialized", None) => Asked::Initialized,
        ("notifications/cancelled", None) => match params.get("requestId") {
            Some(id) => Asked::Cancel { id: id.clone() },
            None => Asked::Nothing,
        },
        (_, None) => Asked::Nothing,
        ("initialize", Some(id)) => Asked::Answered(result(&id, initialized(&params))),
        ("ping", Some(id)) => Asked::Answered(result(&id, json!({}))),
        ("tools/list", Some(id)) => {
            let tools: Vec<Value> = list().iter().map(told).collect();
            Asked::Answered(result(&id, json!({ "tools": tools })))
        }
        ("tools/call", Some(id)) => called(id, params),
        (method, Some(id)) => {
            Asked::Answered(error(&id, NO_METHOD, &format!("there is no method {method:?}")))
        }
    }
}

fn initialized(params: &Value) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.iter().find(|version| Some(**version) == wanted).or(VERSIONS.last());
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": { "name": "neovim", "title": "Neovim", "version": env!("CARGO_PKG_VERSION") },
        "instructions": INSTRUCTIONS,
    })
}

fn told(tool: &ToolSpec) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        "annotations": { "readOnlyHint": tool.reads_only },
    })
}

fn called(id: Value, mut params: Value) -> Asked {
    let token = params.get("_meta").and_then(|meta| meta.get("progressToken"));
    let progress = token.filter(|token| token.is_string() || token.is_number()).cloned();
    let args = match params.get_mut("arguments").map(Value::take) {
        None | Some(Value::Null) => json!({}),
        Some(args) => args,
    };
    match params.get("name").and_then(Value::as_str) {
        Some(name) if args.is_object() => Asked::Call { id, name: name.to_owned(), args, progress },
        Some(_) => Asked::Answered(error(&id, INVALID_PARAMS, "arguments should be an object")),
        None => Asked::Answered(error(&id, INVALID_PARAMS, "name: missing")),
    }
}

pub fn answered(id: &Value, answer: &ToolAnswer) -> Value {
    let content = json!([{ "type": "text", "text": answer.text }]);
    result(id, json!({ "content": content, "isError": answer.failed }))
}

pub fn refused(id: &Value, why: &str) -> Value {
    error(id, INVALID_PARAMS, why)
}

/// A call is still at work, after so many seconds.
pub fn progress(token: &Value, seconds: u64) -> Value {
    let params = json!({ "progressToken": token, "progress": seconds, "message": "still at work" });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
}

pub fn list_changed() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
}

fn result(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(message: &str) -> Asked {
        read(message.as_bytes(), Vec::new)
    }

    fn code(asked: Asked) -> i64 {
        let Asked::Answered(answer) = asked else { panic!("no answer: {asked:?}") };
        answer["error"]["code"].as_i64().unwrap_or_default()
    }

    #[test]
    fn a_version_that_is_known_is_agreed_to_and_for_others_the_newest_is_offered() {
        let version = |wanted: &str| {
            let params = json!({ "protocolVersion": wanted });
            let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
            match ask(&line.to_string()) {
                Asked::Answered(answer) => answer["result"]["protocolVersion"].clone(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(version("2025-03-26"), "2025-03-26");
        assert_eq!(version("2031-01-01"), "2025-11-25");
    }

    #[test]
    fn what_makes_no_sense_is_answered_with_an_error_and_never_with_silence() {
        assert_eq!(code(ask("{")), PARSE_ERROR);
        assert_eq!(code(ask("[]")), INVALID_REQUEST);
        assert_eq!(code(ask(r#"{"id":1}"#)), INVALID_REQUEST);
        assert_eq!(code(ask(r#"{"id":1,"method":"server/discover"}"#)), NO_METHOD);
        assert_eq!(code(ask(r#"{"id":1,"method":"tools/call"}"#)), INVALID_PARAMS);
        assert_eq!(
            code(ask(r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":[]}}"#)),
            INVALID_PARAMS
        );
    }

    #[test]
    fn notifications_and_answers_are_not_answered() {
        for line in ["", r#"{"method":"notifications/progress"}"#, r#"{"id":1,"result":{}}"#] {
            assert_eq!(ask(line), Asked::Nothing, "{line}");
        }
    }

    #[test]
    fn a_call_without_arguments_has_none() {
        let asked = ask(r#"{"id":"a","method":"tools/call","params":{"name":"buffers"}}"#);
        assert_eq!(
            asked,
            Asked::Call { id: "a".into(), name: "buffers".into(), args: json!({}), progress: None }
        );
    }

    #[test]
    fn progress_is_told_by_the_token_that_the_client_gave() {
        let token = |meta: Value| {
            let params = json!({ "name": "buffers", "_meta": meta });
            match ask(&json!({ "id": 1, "method": "tools/call", "params": params }).to_string()) {
                Asked::Call { progress, .. } => progress,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(token(json!({ "progressToken": "t" })), Some(json!("t")));
        assert_eq!(token(json!({ "progressToken": 0 })), Some(json!(0)));
        for none in [json!({}), json!(null), json!({ "progressToken": null }), json!({ "progressToken": {} })]
        {
            assert_eq!(token(none.clone()), None, "{none}");
        }
    }
}

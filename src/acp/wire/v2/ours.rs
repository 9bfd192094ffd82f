//! What this client asks of the agent, and what the agent answers.

use serde_json::{Value, json};

use super::fields::{take, text, told};
use super::state::{Ours, V2, Version};
use crate::acp::wire::rpc::{INTERNAL_ERROR, Message, RequestId, RpcError};

/// No version that both speak.
const NO_COMMON_VERSION: i64 = -32022;

impl V2 {
    pub(super) fn ours(&mut self, id: i64, method: &str, mut params: Value) -> (String, Value, Ours) {
        let session = text(&params["sessionId"]);
        let (method, request) = match method {
            "initialize" => {
                params = initialize(params);
                (method, Ours::Initialize)
            }
            "authenticate" => ("auth/login", Ours::Other),
            "logout" => ("auth/logout", Ours::Other),
            "session/new" | "session/fork" => {
                type_servers(&mut params);
                (method, Ours::New)
            }
            "session/load" => {
                type_servers(&mut params);
                params["replayFrom"] = json!({ "type": "start" });
                self.turns.opened(&session);
                ("session/resume", Ours::TakeUp { session })
            }
            "session/resume" => {
                type_servers(&mut params);
                self.turns.opened(&session);
                (method, Ours::TakeUp { session })
            }
            "session/prompt" => {
                self.turns.prompted(&session, id);
                (method, Ours::Prompt { session })
            }
            "session/close" => (method, Ours::Close { session }),
            "session/set_config_option" => {
                if params["type"].is_null() {
                    params["type"] = "id".into();
                }
                (method, Ours::Options)
            }
            // There are no modes but an option.
            "session/set_mode" => {
                let mode = take(&mut params, "modeId").unwrap_or_default();
                params["configId"] = "mode".into();
                (params["type"], params["value"]) = ("id".into(), mode);
                ("session/set_config_option", Ours::Options)
            }
            method => (method, Ours::Other),
        };
        (method.to_owned(), params, request)
    }

    pub(super) fn answered(&mut self, id: RequestId, result: Result<Value, RpcError>) -> Vec<Message> {
        let own = serde_json::from_str(&id.to_string()).ok();
        let request = own.and_then(|own: i64| self.ours.remove(&own)).unwrap_or(Ours::Other);
        if let (Ours::Prompt { session }, Some(own)) = (&request, own) {
            return self.turns.answered(session, own, result);
        }
        let mut more = Vec::new();
        let result = match (request, result) {
            (Ours::Initialize, Ok(result)) => self.initialized(result),
            (Ours::Initialize, Err(error)) => Err(no_version(error)),
            (Ours::New, Ok(mut result)) => {
                let session = text(&result["sessionId"]);
                self.turns.opened(&session);
                more.extend(opened(&session, &mut result));
                Ok(result)
            }
            (Ours::TakeUp { session }, Ok(mut result)) => {
                more.extend(opened(&session, &mut result));
                Ok(result)
            }
            (Ours::TakeUp { session }, Err(error)) => {
                // Nothing waits in it.
                drop(self.turns.closed(&session));
                Err(error)
            }
            (Ours::Close { session }, result) => {
                more.extend(self.turns.closed(&session));
                result
            }
            (Ours::Options, Ok(mut result)) => {
                options(&mut result["configOptions"]);
                Ok(result)
            }
            (_, result) => result,
        };
        // What follows from an answer can be told only when it is known.
        [Message::Response { id, result }].into_iter().chain(more).collect()
    }

    fn initialized(&mut self, mut result: Value) -> Result<Value, RpcError> {
        if result["protocolVersion"] != 2 {
            // It is judged where agents of the first version are.
            self.version = Version::First;
            return Ok(result);
        }
        self.version = Version::Second;
        let can = take(&mut result, "capabilities").unwrap_or_default();
        let (session, prompt) = (&can["session"], &can["session"]["prompt"]);
        if !session.is_object() {
            return Err(RpcError::new(INTERNAL_ERROR, "it has no sessions in version 2 of the protocol"));
        }
        let has = |capability: &Value| capability.is_object();
        let logins = result["authMethods"].as_array().is_some_and(|methods| !methods.is_empty());
        let mut sessions = json!({ "list": {}, "resume": {}, "close": {} });
        for name in ["delete", "fork", "additionalDirectories", "systemPrompt", "archive", "status", "title"]
        {
            if has(&session[name]) {
                sessions[name] = session[name].clone();
            }
        }
        let mut auth = json!({});
        if has(&can["auth"]["status"]) {
            auth["status"] = json!({});
        }
        if logins {
            auth["logout"] = json!({});
        }
        result["agentCapabilities"] = json!({
            "loadSession": true,
            "sessionCapabilities": sessions,
            "promptCapabilities": {
                "image": has(&prompt["image"]),
                "audio": has(&prompt["audio"]),
                "embeddedContext": has(&prompt["embeddedContext"]),
            },
            "mcpCapabilities": { "http": has(&session["mcp"]["http"]), "sse": false },
            "auth": auth,
            "_meta": can["_meta"],
        });
        if has(&can["providers"]) {
            result["agentCapabilities"]["providers"] = json!({});
        }
        result["agentInfo"] = take(&mut result, "info").unwrap_or_default();
        for method in result["authMethods"].as_array_mut().into_iter().flatten() {
            if let Some(id) = take(method, "methodId") {
                method["id"] = id;
            }
        }
        result["protocolVersion"] = 1.into();
        Ok(result)
    }
}

/// The form of the first version stays beside the second's: the agent may answer in either.
fn initialize(mut params: Value) -> Value {
    let can = &params["clientCapabilities"];
    let mut capabilities = json!({});
    if can["auth"]["terminal"] == true || can["auth"]["terminal"].is_object() {
        capabilities["auth"] = json!({ "terminal": {} });
    }
    for field in ["elicitation", "_meta"] {
        if can[field].is_object() {
            capabilities[field] = can[field].clone();
        }
    }
    params["info"] = params["clientInfo"].clone();
    params["capabilities"] = capabilities;
    params["protocolVersion"] = 2.into();
    params
}

/// What is started by a command is named as such.
fn type_servers(params: &mut Value) {
    for server in params["mcpServers"].as_array_mut().into_iter().flatten() {
        if server["type"].is_null() {
            server["type"] = "stdio".into();
        }
    }
}

fn no_version(error: RpcError) -> RpcError {
    if error.code != NO_COMMON_VERSION {
        return error;
    }
    let supported = error.data.as_ref().map(|data| &data["supported"]);
    let versions = supported.and_then(Value::as_array).into_iter().flatten().map(Value::to_string);
    let versions = versions.collect::<Vec<_>>().join(", ");
    let speaks = match versions.as_str() {
        "" => "it doesn't speak version 2 of the protocol".to_owned(),
        versions => format!("it speaks version {versions} of the protocol, not 2"),
    };
    RpcError::new(error.code, format!("{speaks}; take `protocol` out of its options"))
}

/// What the answer that opens a session has in it: its options, and its commands as an update.
fn opened(session: &str, result: &mut Value) -> Option<Message> {
    options(&mut result["configOptions"]);
    let commands = take(result, "availableCommands")?;
    let is_any = commands.as_array().is_some_and(|commands| !commands.is_empty());
    let commands = self::commands(commands);
    let update = json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands });
    is_any.then(|| told(session, update))
}

/// Options have other names for their ids.
pub fn options(list: &mut Value) {
    for option in list.as_array_mut().into_iter().flatten() {
        if let Some(id) = take(option, "configId") {
            option["id"] = id;
        }
        for value in option["options"].as_array_mut().into_iter().flatten() {
            if let Some(id) = take(value, "groupId") {
                value["group"] = id;
            }
        }
    }
}

/// Those that are commands; there may be others.
pub fn commands(list: Value) -> Value {
    let Value::Array(all) = list else { return list };
    all.into_iter().filter(|command| command["type"].is_null() || command["type"] == "command").collect()
}

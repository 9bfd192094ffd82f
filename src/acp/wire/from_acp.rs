//! What agents say, read into the core's own types. It is tolerant: whatever is only shown falls back
//! to something that can be shown, so that nothing unknown or broken costs its neighbours; what would
//! cause an action is refused when it is malformed (`requests`). Nothing here decides what to do.

mod accounts;
mod chunk;
mod content;
mod json;
mod notifications;
mod options;
mod quick;
mod replayed;
mod requests;
mod subagents;
mod told;
mod updates;
mod usage;

use std::collections::BTreeMap;
use std::path::PathBuf;

use agent_client_protocol_schema::{ProtocolVersion, v1};
use serde::Deserialize;
use serde_json::Value;

pub use self::accounts::{AUTH_STATUS_OF_META, auth_status, auth_status_of_meta};
pub use self::chunk::Chunk;
pub use self::notifications::{Notification, notification};
pub use self::requests::{AgentRequest, FORCE, Scope, TIMEOUT, request};
pub use self::subagents::{Roots, roots, started_by};
pub use self::told::{Told, What};
pub use self::updates::{Data, Fact, TOOK, command, kind, milliseconds, plan_status, status, update};

use self::json::{each, id, text};
use self::options::{named, options};
use self::subagents::stop_reason;
use super::rpc::{self, RpcError};
use crate::core::message::{
    AgentInfo, AuthKind, AuthMethod, Capabilities, ConfigOption, Failure, FailureKind, Models, Modes, Opened,
    Steering, StoredSession, StoredState, TurnEnd,
};
use crate::core::store::stored_sessions::milliseconds as milliseconds_of;

/// The answer to `initialize`. Another version of the protocol is a failure.
pub fn connected(result: &Value) -> Result<AgentInfo, Failure> {
    check_version(result)?;
    let agent = &result["agentCapabilities"];
    let session = &agent["sessionCapabilities"];
    let prompt = &agent["promptCapabilities"];
    let mcp = &agent["mcpCapabilities"];
    let can = Capabilities {
        load: yes(&agent["loadSession"]),
        resume: yes(&session["resume"]),
        list: yes(&session["list"]),
        close: yes(&session["close"]),
        delete: yes(&session["delete"]),
        fork: yes(&session["fork"]),
        set_title: yes(&session["title"]),
        archive: yes(&session["archive"]),
        status: yes(&session["status"]),
        additional_directories: yes(&session["additionalDirectories"]),
        logout: yes(&agent["auth"]["logout"]),
        auth_status: yes(&agent["auth"]["status"]),
        image: yes(&prompt["image"]),
        audio: yes(&prompt["audio"]),
        embedded_context: yes(&prompt["embeddedContext"]),
        mcp_http: yes(&mcp["http"]),
        mcp_sse: yes(&mcp["sse"]),
        mcp_acp: yes(&mcp["acp"]),
        steering: yes(&result["_meta"]["steering"]["supported"]),
        system_prompt: yes(&session["systemPrompt"]),
        system_prompt_override: yes(&session["systemPrompt"]["mode"]["override"]),
    };
    let info = &result["agentInfo"];
    Ok(AgentInfo {
        name: text(&info["name"]),
        title: text(&info["title"]),
        version: text(&info["version"]),
        can,
        auth_methods: each(&result["authMethods"], auth_method),
    })
}

/// The answer to `session/set_title`; agents may keep it in another form.
pub fn title_kept(answer: &Value) -> Option<String> {
    text(&answer["title"])
}

/// Whether an answer to `initialize` has the capabilities where only the draft dialect has them.
pub fn speaks_draft(result: &Value) -> bool {
    let is_one = result["protocolVersion"] == 1;
    is_one && result["capabilities"].is_object() && result["agentCapabilities"].is_null()
}

fn check_version(result: &Value) -> Result<(), Failure> {
    let ours = ProtocolVersion::V1.as_u16();
    let message = match &result["protocolVersion"] {
        version if version.as_u64() == Some(ours.into()) => return Ok(()),
        Value::Null => "it doesn't say which version of the protocol it speaks; check that its command starts an ACP agent".into(),
        version => format!("it speaks version {version} of the protocol, and this plugin version {ours}; update the older of the two"),
    };
    Err(Failure { kind: FailureKind::Version, message, details: None })
}

/// A capability is an object or `true`; absent, null and `false` are none.
fn yes(capability: &Value) -> bool {
    matches!(capability, Value::Object(_) | Value::Bool(true))
}

fn auth_method(method: &Value) -> Option<AuthMethod> {
    let id = id(&method["id"])?;
    let kind = match method["type"].as_str() {
        None | Some("agent") => command_login(method).unwrap_or(AuthKind::Agent),
        Some(other) => Some(method)
            .filter(|_| other == "terminal")
            .and_then(terminal_login)
            .or_else(|| command_login(method))
            .unwrap_or_else(|| AuthKind::Unsupported(other.to_owned())),
    };
    let label = || text(&method["_meta"][TERMINAL_AUTH]["label"]);
    let name = text(&method["name"]).or_else(label).unwrap_or_else(|| id.clone());
    Some(AuthMethod { id, name, description: text(&method["description"]), kind })
}

/// Where agents that ask for it by `_meta` say which command logs in.
const TERMINAL_AUTH: &str = "terminal-auth";

/// Only what is well-formed is run, and shown before. What the protocol itself has comes first.
fn command_login(method: &Value) -> Option<AuthKind> {
    let login = &method["_meta"][TERMINAL_AUTH];
    let command = text(&login["command"]).filter(|command| !command.is_empty())?;
    let args = Option::<Vec<String>>::deserialize(&login["args"]).ok()?.unwrap_or_default();
    let env = Option::<BTreeMap<String, String>>::deserialize(&login["env"]).ok()?.unwrap_or_default();
    let env: Vec<(String, String)> = env.into_iter().collect();
    let is_plain = has_no_controls(&command) && can_be_shown(&args, &env);
    is_plain.then_some(AuthKind::Command { command, args, env })
}

/// Only what is well-formed is run; the program is the agent's own and never in here.
fn terminal_login(method: &Value) -> Option<AuthKind> {
    let (args, env) = match v1::AuthMethodTerminal::deserialize(method) {
        Ok(terminal) => (terminal.args, sorted(terminal.env)),
        // Here the protocol has a map where it has lists of pairs everywhere else, so some agents send a list.
        Err(_) => {
            let args = Option::<Vec<String>>::deserialize(&method["args"]).ok()?.unwrap_or_default();
            let env = Vec::<v1::EnvVariable>::deserialize(&method["env"]).ok()?;
            (args, env.into_iter().map(|variable| (variable.name, variable.value)).collect())
        }
    };
    can_be_shown(&args, &env).then_some(AuthKind::Terminal { args, env })
}

/// Whether the user can be shown what is run as it is, and the system takes it.
fn can_be_shown(args: &[String], env: &[(String, String)]) -> bool {
    let is_variable = |(name, value): &(String, String)| {
        !name.is_empty() && !name.contains('=') && has_no_controls(name) && has_no_controls(value)
    };
    args.iter().all(|arg| has_no_controls(arg)) && env.iter().all(is_variable)
}

fn has_no_controls(text: &str) -> bool {
    !text.contains(char::is_control)
}

fn sorted(map: impl IntoIterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = map.into_iter().collect();
    pairs.sort();
    pairs
}

/// The answer to `session/new`, which must name the session.
pub fn created(result: &Value) -> Result<Opened, Failure> {
    match id(&result["sessionId"]) {
        Some(acp_id) => Ok(opened(acp_id, result)),
        None => Err(Failure {
            kind: FailureKind::Protocol,
            message: "the agent's answer names no session".into(),
            details: Some(shortened(result)),
        }),
    }
}

/// The answer to `session/load` or `session/resume`; null is as good as an object.
pub fn opened(acp_id: String, result: &Value) -> Opened {
    Opened {
        acp_id,
        modes: modes(&result["modes"]),
        models: models(&result["models"]),
        options: options(&result["configOptions"]),
    }
}

fn modes(value: &Value) -> Option<Modes> {
    let available = each(&value["availableModes"], |mode| named(mode, "id"));
    let current = id(&value["currentModeId"]).or_else(|| available.first().map(|mode| mode.id.clone()))?;
    Some(Modes { current, available })
}

/// Gone from the protocol, yet many agents have nothing else to choose a model with.
fn models(value: &Value) -> Option<Models> {
    let available = each(&value["availableModels"], |model| named(model, "modelId"));
    let current = id(&value["currentModelId"]).or_else(|| available.first().map(|model| model.id.clone()))?;
    Some(Models { current, available })
}

/// The answer to `session/set_config_option`, if it has the list that it should.
pub fn changed_options(result: &Value) -> Option<Vec<ConfigOption>> {
    result["configOptions"].is_array().then(|| options(&result["configOptions"]))
}

/// The answer to `session/status`. What this client does not know is as good as saved.
pub fn stored_state(result: Result<Value, Failure>) -> StoredState {
    match result {
        Ok(answer) if answer["status"] == "open" => StoredState::Open,
        Err(failure) if failure.kind == FailureKind::NotFound => StoredState::Gone,
        _ => StoredState::Saved,
    }
}

/// One page of `session/list`, with the cursor of the next.
pub fn listed(result: &Value) -> (Vec<StoredSession>, Option<String>) {
    let sessions = each(&result["sessions"], |session| {
        Some(StoredSession {
            acp_id: id(&session["sessionId"])?,
            cwd: PathBuf::from(text(&session["cwd"])?),
            title: text(&session["title"]),
            updated_at: text(&session["updatedAt"]),
            state: StoredState::Saved,
        })
    });
    (sessions, text(&result["nextCursor"]))
}

/// The answer to `session/prompt`. Whatever it says, the turn is over.
pub fn turn_end(result: &Value) -> TurnEnd {
    let reason = stop_reason(result["stopReason"].as_str().unwrap_or_default());
    TurnEnd::Stopped { reason, usage: usage::of_turn(result) }
}

/// The answer to `_session/steering`. Only what is said to be taken is taken: some agents answer
/// methods that they do not know with an empty success.
pub fn steered(result: &Value) -> Steering {
    match result["outcome"].as_str() {
        Some("injected") => Steering::Injected,
        Some("startedNewTurn") => Steering::StartedNewTurn,
        Some("promptRequired") => Steering::NotTaken(None),
        _ => {
            let message = text(&result["reason"]).unwrap_or_else(|| "the agent didn't take it".into());
            let details = Some(shortened(result));
            Steering::NotTaken(Some(Failure { kind: FailureKind::Agent, message, details }))
        }
    }
}

/// An error answer as a user may read it.
pub fn failure(error: RpcError) -> Failure {
    let RpcError { code, message, data } = error;
    let data = data.unwrap_or_default();
    let reason = text(&data["reason"]);
    let kind = match code {
        rpc::AUTH_REQUIRED => FailureKind::AuthRequired,
        rpc::NOT_FOUND => FailureKind::NotFound,
        rpc::REQUEST_CANCELLED => FailureKind::Cancelled,
        -32099..=-32001 | rpc::INTERNAL_ERROR => busy(code, reason.as_deref(), retry_after(&data)),
        _ => FailureKind::Agent,
    };
    let mut message = message.trim().trim_end_matches('.').to_owned();
    // The real reason is often in the data, beside a message that says only which code it was.
    let more = text(&data).or_else(|| text(&data["details"])).or_else(|| text(&data["message"])).or(reason);
    if let Some(more) = more.filter(|more| !message.contains(more.as_str())) {
        message = if message.is_empty() { more } else { format!("{message}: {more}") };
    }
    if let Some(ms) = retry_after(&data) {
        message = format!("{message}; try again in {} s", ms as f64 / 1000.0);
    }
    let details = (!data.is_null()).then(|| format!("code {code}, data {}", shortened(&data)));
    Failure { kind, message, details }
}

/// The kinds of errors that agents tell from each other by a reason, in whatever way that is written.
fn busy(code: i64, reason: Option<&str>, after: Option<u64>) -> FailureKind {
    let word = reason.map(|reason| reason.to_lowercase().replace(['_', '-'], " "));
    match word.as_deref() {
        _ if after.is_some() => FailureKind::RateLimited(after),
        Some("rate limited" | "rate limit" | "rate limit exceeded" | "too many requests" | "overloaded") => {
            FailureKind::RateLimited(None)
        }
        Some("timeout" | "timed out" | "deadline exceeded") => FailureKind::Timeout,
        Some("permission denied" | "access denied" | "denied" | "forbidden") => FailureKind::Denied,
        // Of the session alone: a file or a model that is not there is another thing.
        Some("session not found" | "unknown session") => FailureKind::NotFound,
        None if code == rpc::INTERNAL_ERROR => FailureKind::Internal,
        None => FailureKind::Agent,
        Some(_) if code == rpc::INTERNAL_ERROR => FailureKind::Agent,
        Some(_) => FailureKind::Busy,
    }
}

/// In milliseconds; agents that pass on what a server said have seconds as a text.
fn retry_after(data: &Value) -> Option<u64> {
    let told = &data["retryAfter"];
    let seconds = told.as_f64().or_else(|| told.as_str()?.trim().parse().ok())?;
    // More than a day is as good as never, and no number of milliseconds that is not one.
    (0.0..=86_400.0).contains(&seconds).then_some((seconds * 1000.0) as u64)
}

/// Whether an error is about the system prompt that was sent.
pub fn is_about_system_prompt(error: &RpcError) -> bool {
    let named = error.data.as_ref().is_some_and(|data| data.to_string().contains("systemPrompt"));
    let message = error.message.to_lowercase();
    error.code == rpc::INVALID_PARAMS
        && (named || message.contains("systemprompt") || message.contains("system prompt"))
}

/// Ways to log in that only the error tells which demands it.
pub fn logins_in_error(error: &RpcError) -> Vec<AuthMethod> {
    let methods =
        error.data.as_ref().filter(|_| error.code == rpc::AUTH_REQUIRED).map(|data| &data["authMethods"]);
    methods.map(|methods| each(methods, auth_method)).unwrap_or_default()
}

/// The session that a notification or request is about.
pub fn session_of(params: &Value) -> Option<String> {
    id(&params["sessionId"])
}

/// When the prompt was sent that an update is a piece of, in milliseconds since 1970, for agents that say so: Grok,
/// Qwen, and those whose dialect has a field for it.
pub fn said_at(params: &Value) -> Option<u64> {
    let update = &params["update"];
    let metas = [&params["_meta"], &update["_meta"]]
        .into_iter()
        .filter(|_| update["sessionUpdate"] == "user_message_chunk");
    metas.flat_map(|meta| ["agentTimestampMs", "timestamp", TIMESTAMP].map(|name| &meta[name])).find_map(time)
}

/// The protocol has no place for it.
pub const TIMESTAMP: &str = "acp.nvim/timestamp";

fn time(time: &Value) -> Option<u64> {
    match time {
        Value::String(time) => milliseconds_of(time),
        // Until the year 9999.
        time => {
            time.as_f64().filter(|time| (0.0..253_402_300_800_000.0).contains(time)).map(|time| time as u64)
        }
    }
}

/// The paths in an update or a question for permission: those of a call's places and diffs, as the agent
/// wrote them.
pub fn paths_named(params: &Value) -> impl Iterator<Item = &str> {
    let each = |list: &'static str| {
        [&params["update"][list], &params["toolCall"][list]].into_iter().filter_map(Value::as_array).flatten()
    };
    each("locations").chain(each("content")).filter_map(|item| item["path"].as_str())
}

/// The request that `$/cancel_request` takes back.
pub fn cancelled_request(params: &Value) -> Option<rpc::RequestId> {
    params.get("requestId").and_then(rpc::RequestId::of)
}

/// A message to an MCP server of ours, by the name that we gave the server.
pub fn mcp_message(params: &Value) -> Result<v1::MessageMcpRequest, RpcError> {
    v1::MessageMcpRequest::deserialize(params)
        .map_err(|error| RpcError::invalid("params", &error.to_string()))
}

/// The elicitation that `elicitation/complete` is about.
pub fn completed_elicitation(params: &Value) -> Option<String> {
    id(&params["elicitationId"])
}

fn shortened(value: &Value) -> String {
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(2000) {
        text.truncate(end);
        text.push_str(" …");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::core::message::{Named, OptionGroup, OptionKind, StopReason};

    #[test]
    fn a_prompt_was_sent_when_its_agent_says() {
        let told = |kind: &str, of_params: Value, of_update: Value| {
            let update = json!({ "sessionUpdate": kind, "_meta": of_update });
            said_at(&json!({ "sessionId": "s", "update": update, "_meta": of_params }))
        };
        let user = |of_params: Value, of_update: Value| told("user_message_chunk", of_params, of_update);
        let at = Some(1_788_754_813_345);
        for (meta, expected) in [
            (json!({ "agentTimestampMs": 1_788_754_813_345_u64, "turnStartMs": 5 }), at),
            (json!({ "timestamp": 1_788_754_813_345_u64 }), at),
            (json!({ "timestamp": "2026-02-04T10:30:00Z" }), Some(1_770_201_000_000)),
            (json!({ "acp.nvim/timestamp": "2026-02-04T11:30:00+01:00" }), Some(1_770_201_000_000)),
            (json!({ "timestamp": "yesterday" }), None),
            (json!({ "timestamp": -1 }), None),
            (json!({ "timestamp": 1e300 }), None),
            (json!({ "timestamp": [] }), None),
            (json!("odd"), None),
            (Value::Null, None),
        ] {
            assert_eq!(user(meta.clone(), Value::Null), expected, "{meta}");
            assert_eq!(user(Value::Null, meta.clone()), expected, "{meta}");
            assert_eq!(told("agent_message_chunk", meta, Value::Null), None);
        }
    }

    fn version(version: &Value) -> Result<(), FailureKind> {
        connected(&json!({ "protocolVersion": version })).map(drop).map_err(|failure| failure.kind)
    }

    #[test]
    fn only_version_one_will_do() {
        assert_eq!(version(&json!(1)), Ok(()));
        for other in [
            json!(0),
            json!(2),
            json!(65535),
            json!(70000),
            json!("1"),
            json!("2025-01-01"),
            json!(null),
            json!(1.5),
        ] {
            assert_eq!(version(&other), Err(FailureKind::Version), "{other}");
        }
    }

    #[test]
    fn a_capability_is_an_object_or_true() {
        let info = connected(&json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "sessionCapabilities": {"list": true, "close": {}, "resume": null, "delete": false, "zzz": {}},
                "promptCapabilities": {"image": "yes", "embeddedContext": true},
            },
            "_meta": {"steering": {"supported": true}},
        }))
        .unwrap();
        let can = Capabilities {
            load: true,
            list: true,
            close: true,
            embedded_context: true,
            steering: true,
            ..Default::default()
        };
        assert_eq!(info.can, can);
    }

    #[test]
    fn an_agent_that_says_only_its_version_can_nothing_more() {
        assert_eq!(connected(&json!({"protocolVersion": 1})).unwrap(), AgentInfo::default());
    }

    #[test]
    fn a_command_that_logs_in_is_one_by_its_meta_alone() {
        let kind = |method: Value| auth_method(&method).map(|method| method.kind);
        let meta = |login: Value| json!({"id": "a", "_meta": {"terminal-auth": login}});
        let command = |command: &str, args: &[&str], env: &[(&str, &str)]| {
            let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Some(AuthKind::Command {
                command: command.into(),
                args: args.iter().map(|&arg| arg.to_owned()).collect(),
                env,
            })
        };
        // As Copilot and Kimi write it.
        assert_eq!(
            kind(meta(json!({"command": "/opt/copilot", "args": ["login"], "label": "Copilot Login"}))),
            command("/opt/copilot", &["login"], &[])
        );
        let kimi = json!({"command": "/opt/kimi", "args": ["login"], "env": {"A": "1"}, "type": "terminal"});
        assert_eq!(kind(meta(kimi)), command("/opt/kimi", &["login"], &[("A", "1")]));
        // The protocol's own way comes first, if it is right.
        let mut both = meta(json!({"command": "node", "args": null}));
        both["type"] = "terminal".into();
        both["name"] = "A".into();
        both["args"] = json!(["--cli"]);
        assert_eq!(kind(both.clone()), Some(AuthKind::Terminal { args: vec!["--cli".into()], env: vec![] }));
        both["args"] = "--cli".into();
        assert_eq!(kind(both), command("node", &[], &[]));
        // What is not well-formed is not run.
        for login in [
            json!({"args": ["login"]}),
            json!({"command": ""}),
            json!({"command": ["a"]}),
            json!({"command": "a", "args": "login"}),
            json!({"command": "a", "env": [1]}),
            json!({"command": "a\nb"}),
            json!({"command": "a", "args": ["b\u{1b}[2J"]}),
            json!({"command": "a", "env": {"X": "1\n2"}}),
            json!({"command": "a", "env": {"X\u{1b}": "1"}}),
            json!({"command": "a", "env": {"": "1"}}),
            json!({"command": "a", "env": {"X=Y": "1"}}),
            json!("a"),
        ] {
            assert_eq!(kind(meta(login.clone())), Some(AuthKind::Agent), "{login}");
        }
        let named = auth_method(&meta(json!({"command": "a", "label": "A Login"})));
        assert_eq!(named.map(|method| method.name).as_deref(), Some("A Login"));
    }

    #[test]
    fn an_auth_method_of_an_unknown_type_is_shown_as_such() {
        let info = connected(&json!({"protocolVersion": 1, "authMethods": [
            {"id": "a", "name": "A"},
            {"id": "b", "name": "B", "type": "terminal", "args": ["login"], "env": {"X": "1"}, "command": "/bin/evil"},
            {"id": "c", "name": "C", "type": "terminal", "env": [{"name": "Y", "value": "2"}]},
            {"id": "d", "type": "terminal", "args": "login"},
            {"id": "e", "name": "E", "type": "env_var", "command": "/bin/evil"},
            {"name": "no id"},
            {"id": "f", "name": "F", "type": "terminal", "args": ["a\rb"]},
            {"id": "g", "name": "G", "type": "terminal", "env": {"X": "\u{1b}[2J"}},
            {"id": "h", "name": "H", "type": "terminal", "env": [{"name": "X=Y", "value": "2"}]},
        ]}))
        .unwrap();
        let kinds: Vec<_> = info.auth_methods.into_iter().map(|method| method.kind).collect();
        assert_eq!(
            kinds,
            [
                AuthKind::Agent,
                AuthKind::Terminal { args: vec!["login".into()], env: vec![("X".into(), "1".into())] },
                AuthKind::Terminal { args: vec![], env: vec![("Y".into(), "2".into())] },
                AuthKind::Unsupported("terminal".into()),
                AuthKind::Unsupported("env_var".into()),
                AuthKind::Unsupported("terminal".into()),
                AuthKind::Unsupported("terminal".into()),
                AuthKind::Unsupported("terminal".into()),
            ]
        );
    }

    #[test]
    fn options_are_read_flat_and_in_groups_and_unknown_types_are_left_out() {
        let options = options(&json!([
            {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "a",
             "options": [{"value": "a", "name": "A"}, {"group": "g", "name": "G", "options": [{"value": "b"}]}]},
            {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": true},
            {"id": "loud", "name": "Loud", "type": "slider", "currentValue": 3},
        ]));
        let named = |id: &str, name: &str| Named { id: id.into(), name: name.into(), description: None };
        assert_eq!(
            options[0].kind,
            OptionKind::Select {
                current: "a".into(),
                groups: vec![
                    OptionGroup { name: String::new(), values: vec![named("a", "A")] },
                    OptionGroup { name: "G".into(), values: vec![named("b", "b")] },
                ]
            }
        );
        assert_eq!(options[1].kind, OptionKind::Toggle { current: true });
        assert_eq!(options.len(), 2);
    }

    #[test]
    fn each_stop_reason_is_read_as_itself() {
        for (word, reason) in [
            ("end_turn", StopReason::EndTurn),
            ("max_tokens", StopReason::MaxTokens),
            ("max_turn_requests", StopReason::MaxTurnRequests),
            ("refusal", StopReason::Refusal),
            ("cancelled", StopReason::Cancelled),
        ] {
            let TurnEnd::Stopped { reason: read, .. } = turn_end(&json!({"stopReason": word})) else {
                panic!("{word} failed")
            };
            assert_eq!(read, reason, "{word}");
        }
    }

    #[test]
    fn what_opens_and_lists_sessions_is_read_field_by_field() {
        let opened = created(&json!({
            "sessionId": "s",
            "modes": {"currentModeId": "b", "availableModes": [{"id": "a"}, {"id": "b"}]},
            "models": {"currentModelId": "y", "availableModels": [{"modelId": "x"}, {"modelId": "y"}]},
            "configOptions": [{"id": "o", "type": "boolean", "currentValue": false, "category": "mode"}],
        }))
        .unwrap();
        assert_eq!(opened.modes.map(|modes| modes.current).as_deref(), Some("b"));
        assert_eq!(opened.models.map(|models| models.current).as_deref(), Some("y"));
        assert_eq!(opened.options[0].category.as_deref(), Some("mode"));
        let (sessions, next) = listed(&json!({
            "sessions": [{"sessionId": "s", "cwd": "/p", "title": "T", "updatedAt": "2026-01-01T00:00:00Z"}],
            "nextCursor": "more",
        }));
        assert_eq!(next.as_deref(), Some("more"));
        assert_eq!(sessions[0].updated_at.as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!((sessions[0].acp_id.as_str(), sessions[0].title.as_deref()), ("s", Some("T")));
        let outcome = |word: &str| steered(&json!({ "outcome": word }));
        assert_eq!(outcome("injected"), Steering::Injected);
        assert_eq!(outcome("startedNewTurn"), Steering::StartedNewTurn);
        assert_eq!(outcome("promptRequired"), Steering::NotTaken(None));
    }

    #[test]
    fn a_stored_session_is_open_gone_or_saved() {
        let status = |word: &str| stored_state(Ok(json!({ "status": word })));
        let failed =
            |kind: FailureKind| stored_state(Err(Failure { kind, message: String::new(), details: None }));
        assert_eq!(status("open"), StoredState::Open);
        assert_eq!(status("closed"), StoredState::Saved);
        assert_eq!(status("hibernating"), StoredState::Saved);
        assert_eq!(stored_state(Ok(Value::Null)), StoredState::Saved);
        assert_eq!(failed(FailureKind::NotFound), StoredState::Gone);
        assert_eq!(failed(FailureKind::Timeout), StoredState::Saved);
    }

    #[test]
    fn an_unknown_or_missing_stop_reason_still_ends_the_turn() {
        let reason = |result: &Value| match turn_end(result) {
            TurnEnd::Stopped { reason, .. } => reason,
            TurnEnd::Failed(failure) => panic!("failed: {failure:?}"),
        };
        assert_eq!(reason(&json!({"stopReason": "refusal"})), StopReason::Refusal);
        assert_eq!(reason(&json!({"stopReason": "error"})), StopReason::Other("error".into()));
        assert_eq!(reason(&json!({})), StopReason::Other(String::new()));
        assert_eq!(reason(&Value::Null), StopReason::Other(String::new()));
    }

    #[test]
    fn an_error_code_becomes_what_a_user_can_do_something_about() {
        for (code, data, kind, message) in [
            (-32000, json!(null), FailureKind::AuthRequired, "m"),
            (-32002, json!({"sessionId": "x"}), FailureKind::NotFound, "m"),
            (-32800, json!(null), FailureKind::Cancelled, "m"),
            (
                -32005,
                json!({"reason": "rate_limited", "retryAfter": 2}),
                FailureKind::RateLimited(Some(2000)),
                "m: rate_limited; try again in 2 s",
            ),
            (429, json!({"retryAfter": 1}), FailureKind::Agent, "m; try again in 1 s"),
            (
                -32603,
                json!({"retryAfter": " 1.5 "}),
                FailureKind::RateLimited(Some(1500)),
                "m; try again in 1.5 s",
            ),
            (-32603, json!({"retryAfter": -1}), FailureKind::Internal, "m"),
            (-32603, json!({"retryAfter": 1e300}), FailureKind::Internal, "m"),
            (
                -32050,
                json!({"reason": "Too-Many-Requests"}),
                FailureKind::RateLimited(None),
                "m: Too-Many-Requests",
            ),
            (-32009, json!({"reason": "timeout"}), FailureKind::Timeout, "m: timeout"),
            (-32003, json!({"reason": "permission_denied"}), FailureKind::Denied, "m: permission_denied"),
            (-32003, json!({"reason": "maintenance"}), FailureKind::Busy, "m: maintenance"),
            (-32603, json!({"reason": "session not found"}), FailureKind::NotFound, "m: session not found"),
            (-32603, json!({"reason": "no such file"}), FailureKind::Agent, "m: no such file"),
            (-32603, json!(null), FailureKind::Internal, "m"),
            (-32042, json!({"a": {"b": 1}}), FailureKind::Agent, "m"),
            (-32603, json!({"details": "Invalid Mode"}), FailureKind::Internal, "m: Invalid Mode"),
            (400, json!("no such model"), FailureKind::Agent, "m: no such model"),
        ] {
            let failure = failure(RpcError::new(code, "m.").with_data(data));
            assert_eq!((failure.kind, failure.message.as_str()), (kind, message));
        }
    }

    #[test]
    fn each_ability_is_read_by_itself() {
        type Read = fn(&Capabilities) -> bool;
        let table: [(&str, Read); 19] = [
            ("agentCapabilities/loadSession", |can| can.load),
            ("agentCapabilities/sessionCapabilities/resume", |can| can.resume),
            ("agentCapabilities/sessionCapabilities/list", |can| can.list),
            ("agentCapabilities/sessionCapabilities/close", |can| can.close),
            ("agentCapabilities/sessionCapabilities/archive", |can| can.archive),
            ("agentCapabilities/sessionCapabilities/status", |can| can.status),
            ("agentCapabilities/sessionCapabilities/delete", |can| can.delete),
            ("agentCapabilities/sessionCapabilities/fork", |can| can.fork),
            ("agentCapabilities/sessionCapabilities/title", |can| can.set_title),
            ("agentCapabilities/sessionCapabilities/additionalDirectories", |can| can.additional_directories),
            ("agentCapabilities/auth/logout", |can| can.logout),
            ("agentCapabilities/promptCapabilities/image", |can| can.image),
            ("agentCapabilities/promptCapabilities/audio", |can| can.audio),
            ("agentCapabilities/promptCapabilities/embeddedContext", |can| can.embedded_context),
            ("agentCapabilities/mcpCapabilities/http", |can| can.mcp_http),
            ("agentCapabilities/mcpCapabilities/sse", |can| can.mcp_sse),
            ("agentCapabilities/mcpCapabilities/acp", |can| can.mcp_acp),
            ("_meta/steering/supported", |can| can.steering),
            ("agentCapabilities/sessionCapabilities/systemPrompt", |can| can.system_prompt),
        ];
        // Each alone, each left out of all, and none.
        let all = (1u32 << table.len()) - 1;
        let ones = (0..table.len()).map(|at| 1 << at);
        for mix in ones.clone().chain(ones.map(|one| all & !one)).chain([0, all]) {
            let mut answer = json!({ "protocolVersion": 1 });
            for (at, (path, _)) in table.iter().enumerate().filter(|(at, _)| mix & (1 << at) != 0) {
                let place = path.split('/').fold(&mut answer, |value, key| &mut value[key]);
                *place = if at % 2 == 0 { json!(true) } else { json!({}) };
            }
            let can = connected(&answer).unwrap().can;
            for (at, (path, read)) in table.iter().enumerate() {
                assert_eq!(read(&can), mix & (1 << at) != 0, "{path} in {answer}");
            }
            assert!(!can.system_prompt_override);
        }
    }

    proptest! {
        #[test]
        fn nothing_that_an_agent_says_is_too_odd_to_be_read(method in 0usize..11, odd in odd(), key in "[a-zA-Z_]{1,20}") {
            let mut value = odd;
            if let Value::Object(fields) = &mut value {
                fields.insert(key, Value::Null);
            }
            // No answer is wrong here; a panic is.
            for fact in update(&value) {
                drop(fact);
            }
            drop(connected(&value));
            drop(created(&value));
            drop(opened("s".into(), &value));
            drop(listed(&value));
            drop(turn_end(&value));
            drop(steered(&value));
            drop(failure(RpcError::new(-32603, "m").with_data(value.clone())));
            drop(request(METHODS[method], &value));
        }
    }

    const METHODS: [&str; 11] = [
        "session/request_permission",
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/output",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/release",
        "elicitation/create",
        "_vendor/x",
        "",
    ];

    /// JSON of the protocol's own words, put together in any way.
    fn odd() -> impl Strategy<Value = Value> {
        const WORDS: [&str; 48] = [
            "sessionUpdate",
            "content",
            "type",
            "text",
            "toolCallId",
            "toolCall",
            "options",
            "optionId",
            "kind",
            "status",
            "locations",
            "path",
            "line",
            "rawInput",
            "_meta",
            "terminal_info",
            "terminal_output",
            "terminal_id",
            "data",
            "entries",
            "availableCommands",
            "input",
            "configOptions",
            "currentValue",
            "select",
            "boolean",
            "tool_call",
            "agent_message_chunk",
            "plan",
            "usage_update",
            "used",
            "cost",
            "resource",
            "uri",
            "blob",
            "sessionId",
            "cwd",
            "mode",
            "form",
            "url",
            "requestedSchema",
            "message",
            "env",
            "args",
            "protocolVersion",
            "agentCapabilities",
            "sessionCapabilities",
            "authMethods",
        ];
        let word = prop::sample::select(WORDS.as_slice());
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            word.clone().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((word.clone(), inner), 0..6).prop_map(|fields| {
                    Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
                }),
            ]
        })
    }

    #[test]
    fn a_list_of_sessions_leaves_out_what_cannot_be_opened() {
        let (sessions, cursor) = listed(&json!({"sessions": [
            {"sessionId": "a/ \u{1F600}", "cwd": "/p", "title": "T"},
            {"cwd": "/p"},
        ], "nextCursor": "==\"x"}));
        assert_eq!(sessions.len(), 1);
        assert_eq!((sessions[0].acp_id.as_str(), sessions[0].title.as_deref()), ("a/ \u{1F600}", Some("T")));
        assert_eq!(cursor.as_deref(), Some("==\"x"));
        assert_eq!(listed(&json!({"sessions": [], "nextCursor": null})).1, None);
    }
}

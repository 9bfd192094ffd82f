//! What agents ask of the client. These cause actions, so what is malformed is refused, and the
//! refusal names the field; null and absent are the same.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::json::{id, text};
use super::updates::patch;
use crate::acp::quirks::QUESTIONS_IN_META;
use crate::acp::wire::rpc::{RequestId, RpcError};
use crate::core::ids::{TerminalId, ToolCallId};
use crate::core::message::{PermissionKind, PermissionOption, ToolCallPatch};
use crate::core::text::url_check::Address;

/// A request, read. Sessions are still by the agent's own name.
#[derive(Debug, PartialEq)]
pub enum AgentRequest {
    Permission {
        session: String,
        call: Box<ToolCallPatch>,
        options: Vec<PermissionOption>,
    },
    Read {
        session: String,
        path: PathBuf,
        line: Option<u32>,
        limit: Option<u32>,
    },
    Write {
        session: String,
        path: PathBuf,
        content: String,
    },
    TerminalCreate {
        session: String,
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<PathBuf>,
        output_limit: Option<u64>,
        /// How long it may run.
        timeout: Option<Duration>,
    },
    TerminalOutput {
        session: String,
        terminal: TerminalId,
    },
    TerminalWait {
        session: String,
        terminal: TerminalId,
        /// How long the agent wants to wait.
        timeout: Option<Duration>,
    },
    TerminalKill {
        session: String,
        terminal: TerminalId,
        /// At once, without asking it to end.
        force: bool,
    },
    TerminalRelease {
        session: String,
        terminal: TerminalId,
    },
    Form {
        scope: Scope,
        message: String,
        schema: Value,
        call: Option<ToolCallId>,
    },
    Url {
        scope: Scope,
        message: String,
        url: String,
        elicitation: String,
    },
}

/// What an elicitation belongs to.
#[derive(Debug, PartialEq)]
pub enum Scope {
    Session(String),
    /// A request of ours that still runs.
    Request(RequestId),
}

/// Fields of `_meta` for what the protocol doesn't have: a limit of time for a command, or for waiting for one,
/// in milliseconds, and whether a command is killed without being asked to end.
pub const TIMEOUT: &str = "acp.nvim/timeoutMs";
pub const FORCE: &str = "acp.nvim/force";

/// Reads a request by its method; a method that this client does not serve is an error, too.
pub fn request(method: &str, params: &Value) -> Result<AgentRequest, RpcError> {
    let terminal = |fields: &Fields| Ok((fields.text("sessionId")?, TerminalId(fields.text("terminalId")?)));
    let fields = || Fields::of(params);
    Ok(match method {
        "session/request_permission" => permission(&fields()?)?,
        "fs/read_text_file" => {
            let fields = fields()?;
            AgentRequest::Read {
                session: fields.text("sessionId")?,
                path: fields.path("path")?,
                line: fields.number("line")?,
                limit: fields.number("limit")?,
            }
        }
        "fs/write_text_file" => {
            let fields = fields()?;
            AgentRequest::Write {
                session: fields.text("sessionId")?,
                path: fields.path("path")?,
                content: fields.text("content")?,
            }
        }
        "terminal/create" => terminal_create(&fields()?, params)?,
        "terminal/output" => {
            let (session, terminal) = terminal(&fields()?)?;
            AgentRequest::TerminalOutput { session, terminal }
        }
        "terminal/wait_for_exit" => {
            let (session, terminal) = terminal(&fields()?)?;
            AgentRequest::TerminalWait { session, terminal, timeout: timeout(params)? }
        }
        "terminal/kill" => {
            let (session, terminal) = terminal(&fields()?)?;
            AgentRequest::TerminalKill { session, terminal, force: params["_meta"][FORCE] == true }
        }
        "terminal/release" => {
            let (session, terminal) = terminal(&fields()?)?;
            AgentRequest::TerminalRelease { session, terminal }
        }
        "elicitation/create" => elicitation(&fields()?)?,
        other => return Err(RpcError::no_method(other)),
    })
}

fn permission(fields: &Fields) -> Result<AgentRequest, RpcError> {
    let session = fields.text("sessionId")?;
    let asked = fields.object("toolCall")?;
    let mut call =
        patch(asked).ok_or_else(|| RpcError::invalid("toolCall.toolCallId", "must be a string"))?;
    let in_meta = |meta: Option<&Value>| {
        let questions = QUESTIONS_IN_META.iter().find_map(|name| meta?.get(name));
        questions.map(|questions| json!({ "questions": questions }))
    };
    if let Some(questions) = in_meta(fields.given("_meta")).or_else(|| in_meta(asked.get("_meta"))) {
        // They are read where other agents have theirs.
        call.raw_input = Some(questions);
    }
    let mut options = Vec::new();
    for (index, option) in
        fields.list("options")?.ok_or_else(|| must("options", "a list"))?.iter().enumerate()
    {
        let id =
            id(&option["optionId"]).ok_or_else(|| must(&format!("options[{index}].optionId"), "a string"))?;
        let name = text(&option["name"]).unwrap_or_else(|| id.clone());
        let kind = match option["kind"].as_str().unwrap_or_default() {
            "allow_once" => PermissionKind::AllowOnce,
            "allow_always" => PermissionKind::AllowAlways,
            "reject_once" => PermissionKind::RejectOnce,
            "reject_always" => PermissionKind::RejectAlways,
            other => PermissionKind::Other(other.to_owned()),
        };
        options.push(PermissionOption { id, name, kind });
    }
    Ok(AgentRequest::Permission { session, call: Box::new(call), options })
}

fn terminal_create(fields: &Fields, params: &Value) -> Result<AgentRequest, RpcError> {
    let mut args = Vec::new();
    for (index, arg) in fields.list("args")?.unwrap_or_default().iter().enumerate() {
        args.push(text(arg).ok_or_else(|| must(&format!("args[{index}]"), "a string"))?);
    }
    Ok(AgentRequest::TerminalCreate {
        session: fields.text("sessionId")?,
        command: fields.text("command")?,
        args,
        env: environment(fields)?,
        cwd: fields.given("cwd").map(|_| fields.path("cwd")).transpose()?,
        output_limit: fields.number("outputByteLimit")?,
        timeout: timeout(params)?,
    })
}

fn timeout(params: &Value) -> Result<Option<Duration>, RpcError> {
    let given = params["_meta"].get(TIMEOUT).filter(|value| !value.is_null());
    let read = |value: &Value| value.as_u64().map(Duration::from_millis);
    given
        .map(|value| read(value).ok_or_else(|| must("timeout", "a whole number of milliseconds")))
        .transpose()
}

/// A list of pairs; the map that some agents send is as clear.
fn environment(fields: &Fields) -> Result<Vec<(String, String)>, RpcError> {
    if let Some(Value::Object(map)) = fields.given("env") {
        let pair = |(name, value): (&String, &Value)| {
            let value = text(value).ok_or_else(|| must(&format!("env.{name}"), "a string"))?;
            Ok((name.clone(), value))
        };
        return map.iter().map(pair).collect();
    }
    let pair = |(index, item): (usize, &Value)| {
        let part =
            |key: &str| text(&item[key]).ok_or_else(|| must(&format!("env[{index}].{key}"), "a string"));
        Ok((part("name")?, part("value")?))
    };
    fields.list("env")?.unwrap_or_default().iter().enumerate().map(pair).collect()
}

fn elicitation(fields: &Fields) -> Result<AgentRequest, RpcError> {
    let scope = match (fields.given("sessionId"), fields.given("requestId")) {
        (None, Some(request)) => {
            Scope::Request(RequestId::of(request).ok_or_else(|| must("requestId", "a request's id"))?)
        }
        _ => Scope::Session(fields.text("sessionId")?),
    };
    let message = fields.text("message")?;
    match fields.text("mode")?.as_str() {
        "form" => {
            let schema = fields.object("requestedSchema")?;
            check_schema(schema)?;
            let call = fields.given("toolCallId").and_then(id).map(ToolCallId);
            Ok(AgentRequest::Form { scope, message, schema: schema.clone(), call })
        }
        "url" => {
            let url = fields.text("url")?;
            // Anything else could make the system run a program or show a file.
            let web = ["https://", "http://"].iter().any(|scheme| {
                url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            });
            if !web
                || Address::read(&url).host.is_empty()
                || url.contains(|char: char| char.is_control() || char.is_whitespace())
            {
                return Err(must("url", "an http or https address"));
            }
            Ok(AgentRequest::Url { scope, message, url, elicitation: fields.text("elicitationId")? })
        }
        _ => Err(must("mode", "\"form\" or \"url\"")),
    }
}

/// A property that cannot be read is shown as one that cannot be filled in; this is about the rest.
fn check_schema(schema: &Value) -> Result<(), RpcError> {
    let is_list_of_texts =
        |value: &Value| value.as_array().is_some_and(|all| all.iter().all(Value::is_string));
    let (properties, required) = (&schema["properties"], &schema["required"]);
    if !properties.is_null() && !properties.is_object() {
        return Err(must("requestedSchema.properties", "an object"));
    }
    if !required.is_null() && !is_list_of_texts(required) {
        return Err(must("requestedSchema.required", "a list of strings"));
    }
    Ok(())
}

fn must(field: &str, be: &str) -> RpcError {
    RpcError::invalid(field, &format!("must be {be}"))
}

/// The params of a request, read field by field so that a refusal can name the one that is wrong.
struct Fields<'a>(Option<&'a Map<String, Value>>);

impl<'a> Fields<'a> {
    fn of(params: &'a Value) -> Result<Self, RpcError> {
        match params {
            Value::Object(map) => Ok(Self(Some(map))),
            Value::Null => Ok(Self(None)),
            _ => Err(must("params", "an object")),
        }
    }

    fn given(&self, key: &str) -> Option<&'a Value> {
        self.0?.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Result<String, RpcError> {
        self.given(key).and_then(text).ok_or_else(|| must(key, "a string"))
    }

    fn path(&self, key: &str) -> Result<PathBuf, RpcError> {
        let path = self.text(key)?;
        if Path::new(&path).is_absolute() {
            Ok(path.into())
        } else {
            Err(must(key, &format!("an absolute path, and {path:?} is not")))
        }
    }

    fn number<T: TryFrom<u64>>(&self, key: &str) -> Result<Option<T>, RpcError> {
        let read = |value: &Value| value.as_u64().and_then(|number| T::try_from(number).ok());
        self.given(key)
            .map(|value| read(value).ok_or_else(|| must(key, "a whole number, not negative")))
            .transpose()
    }

    fn list(&self, key: &str) -> Result<Option<&'a [Value]>, RpcError> {
        self.given(key)
            .map(|value| value.as_array().map(Vec::as_slice).ok_or_else(|| must(key, "a list")))
            .transpose()
    }

    fn object(&self, key: &str) -> Result<&'a Value, RpcError> {
        self.given(key).filter(|value| value.is_object()).ok_or_else(|| must(key, "an object"))
    }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::v1;

    use super::*;

    fn refused(method: &str, params: &Value) -> String {
        let error = request(method, params).expect_err(&format!("{method} {params} was taken"));
        assert_eq!(error.code, crate::acp::wire::rpc::INVALID_PARAMS);
        error.data.unwrap()["field"].as_str().unwrap().to_owned()
    }

    /// A well-formed request, one field of which is then spoiled.
    fn with(mut params: Value, key: &str, value: Value) -> Value {
        params[key] = value;
        params
    }

    #[test]
    fn questions_that_a_request_has_in_its_extra_data_are_read_as_its_input() {
        let questions =
            json!([{"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}]);
        let meta = json!({"qwenQuestions": questions});
        for (of_request, of_call) in [(meta.clone(), json!(null)), (json!(null), meta)] {
            let params = json!({"sessionId": "s", "_meta": of_request, "options": [],
                "toolCall": {"toolCallId": "c", "title": "Ask", "rawInput": {}, "_meta": of_call}});
            let Ok(AgentRequest::Permission { call, .. }) = request("session/request_permission", &params)
            else {
                panic!("a question for permission")
            };
            assert_eq!(call.raw_input, Some(json!({"questions": questions})));
            let question = call.raw_input.as_ref().and_then(crate::core::session::tool_input::question);
            assert_eq!(question.as_deref(), Some("Which colour? Red, Blue"));
        }
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn a_malformed_field_is_named() {
        let read = json!({"sessionId": "s", "path": "/a"});
        let create = json!({"sessionId": "s", "command": "ls"});
        let ask = json!({"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": []});
        let form = json!({"sessionId": "s", "mode": "form", "message": "m", "requestedSchema": {}});
        let url = json!({"sessionId": "s", "mode": "url", "message": "m", "url": "https://a.b", "elicitationId": "e"});
        for (method, good, key, bad, field) in [
            ("fs/read_text_file", &read, "path", json!(1), "path"),
            ("fs/read_text_file", &read, "path", json!("src/a"), "path"),
            ("fs/read_text_file", &read, "path", json!("~/a"), "path"),
            ("fs/read_text_file", &read, "path", json!("file:///a"), "path"),
            ("fs/read_text_file", &read, "sessionId", json!(null), "sessionId"),
            ("fs/read_text_file", &read, "line", json!(-5), "line"),
            ("fs/read_text_file", &read, "line", json!(1.0), "line"),
            ("fs/read_text_file", &read, "limit", json!(4_294_967_296_u64), "limit"),
            ("fs/write_text_file", &read, "content", json!(null), "content"),
            ("terminal/create", &create, "args", json!("-l"), "args"),
            ("terminal/create", &create, "args", json!(["-l", 5]), "args[1]"),
            ("terminal/create", &create, "env", json!([{"name": "A"}]), "env[0].value"),
            ("terminal/create", &create, "env", json!({"A": 1}), "env.A"),
            ("terminal/create", &create, "cwd", json!("sub"), "cwd"),
            ("terminal/create", &create, "outputByteLimit", json!(-1), "outputByteLimit"),
            ("terminal/output", &read, "terminalId", json!(null), "terminalId"),
            ("session/request_permission", &ask, "toolCall", json!({}), "toolCall.toolCallId"),
            ("session/request_permission", &ask, "toolCall", json!(null), "toolCall"),
            ("session/request_permission", &ask, "options", json!(null), "options"),
            ("session/request_permission", &ask, "options", json!([{"name": "a"}]), "options[0].optionId"),
            ("elicitation/create", &form, "mode", json!("voice"), "mode"),
            ("elicitation/create", &form, "requestedSchema", json!(null), "requestedSchema"),
            (
                "elicitation/create",
                &form,
                "requestedSchema",
                json!({"properties": []}),
                "requestedSchema.properties",
            ),
            (
                "elicitation/create",
                &form,
                "requestedSchema",
                json!({"required": [1]}),
                "requestedSchema.required",
            ),
            ("elicitation/create", &url, "url", json!("file:///etc/passwd"), "url"),
            ("elicitation/create", &url, "url", json!("https://"), "url"),
            ("elicitation/create", &url, "url", json!("https:///?q"), "url"),
            ("elicitation/create", &url, "url", json!("https://a b"), "url"),
        ] {
            assert_eq!(refused(method, &with(good.clone(), key, bad)), field);
        }
    }

    #[test]
    fn params_must_be_an_object_and_none_are_an_empty_one() {
        assert_eq!(refused("fs/read_text_file", &json!([])), "params");
        assert_eq!(refused("fs/read_text_file", &json!("x")), "params");
        assert_eq!(refused("fs/read_text_file", &Value::Null), "sessionId");
    }

    #[test]
    fn an_unknown_method_is_named() {
        for method in ["_vendor/x", "foo/bar", "session/update"] {
            let error = request(method, &json!({})).unwrap_err();
            assert_eq!(error, RpcError::no_method(method));
        }
    }

    #[test]
    fn null_is_absent() {
        let params = json!({"sessionId": "s", "command": "ls", "args": null, "env": null, "cwd": null, "outputByteLimit": null});
        assert_eq!(
            request("terminal/create", &params),
            Ok(AgentRequest::TerminalCreate {
                session: "s".into(),
                command: "ls".into(),
                args: vec![],
                env: vec![],
                cwd: None,
                output_limit: None,
                timeout: None,
            })
        );
    }

    #[test]
    fn a_permission_may_carry_almost_nothing_and_options_of_any_kind() {
        let params = json!({"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": [
            {"optionId": "x", "name": "For this session", "kind": "allow_session"},
            {"optionId": "y"},
        ]});
        let Ok(AgentRequest::Permission { call, options, .. }) =
            request("session/request_permission", &params)
        else {
            panic!("refused")
        };
        assert_eq!(*call, ToolCallPatch::new("c"));
        assert_eq!(options[0].kind, PermissionKind::Other("allow_session".into()));
        assert_eq!(
            (options[1].name.as_str(), &options[1].kind),
            ("y", &PermissionKind::Other(String::new()))
        );
    }

    #[test]
    fn each_kind_of_option_is_read_as_itself() {
        let read = |kind: &str| {
            let params = json!({"sessionId": "s", "toolCall": {"toolCallId": "c"},
                "options": [{"optionId": "x", "name": "X", "kind": kind}]});
            match request("session/request_permission", &params) {
                Ok(AgentRequest::Permission { options, .. }) => options[0].kind.clone(),
                other => panic!("no question: {other:?}"),
            }
        };
        assert_eq!(read("allow_once"), PermissionKind::AllowOnce);
        assert_eq!(read("allow_always"), PermissionKind::AllowAlways);
        assert_eq!(read("reject_once"), PermissionKind::RejectOnce);
        assert_eq!(read("reject_always"), PermissionKind::RejectAlways);
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn each_field_of_a_request_arrives_as_itself() {
        let read = json!({"sessionId": "s", "path": "/a", "line": 3, "limit": 7});
        let expected =
            AgentRequest::Read { session: "s".into(), path: "/a".into(), line: Some(3), limit: Some(7) };
        assert_eq!(request("fs/read_text_file", &read), Ok(expected));
        let create = json!({"sessionId": "s", "command": "ls", "args": ["-l"], "cwd": "/w", "outputByteLimit": 9,
            "env": [{"name": "A", "value": "1"}], "_meta": {TIMEOUT: 50}});
        let expected = AgentRequest::TerminalCreate {
            session: "s".into(),
            command: "ls".into(),
            args: vec!["-l".into()],
            env: vec![("A".into(), "1".into())],
            cwd: Some("/w".into()),
            output_limit: Some(9),
            timeout: Some(Duration::from_millis(50)),
        };
        assert_eq!(request("terminal/create", &create), Ok(expected));
        for forced in [true, false] {
            let kill = json!({"sessionId": "s", "terminalId": "t", "_meta": {FORCE: forced}});
            let (session, terminal) = ("s".into(), TerminalId("t".into()));
            let expected = AgentRequest::TerminalKill { session, terminal, force: forced };
            assert_eq!(request("terminal/kill", &kill), Ok(expected));
        }
    }

    #[test]
    fn an_elicitation_belongs_to_a_session_or_a_request() {
        let scope = |key: &str, value: Value| {
            let params = json!({"mode": "form", "message": "m", "requestedSchema": {}, key: value});
            match request("elicitation/create", &params) {
                Ok(AgentRequest::Form { scope, .. }) => scope,
                other => panic!("no form: {other:?}"),
            }
        };
        assert_eq!(scope("sessionId", json!("s")), Scope::Session("s".into()));
        assert_eq!(scope("requestId", json!(3)), Scope::Request(RequestId::of(&json!(3)).unwrap()));
    }

    /// The schema crate is the judge of what is strictly well-formed: all of that must be taken.
    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn whatever_the_schema_takes_is_taken() {
        fn holds<T: serde::de::DeserializeOwned>(method: &str, params: &Value) {
            if serde_json::from_value::<T>(params.clone()).is_ok() {
                assert!(request(method, params).is_ok(), "{method} {params}");
            }
        }
        let values = [
            json!(null),
            json!(1),
            json!(-1),
            json!("/x"),
            json!([]),
            json!(["/x"]),
            json!([{"name": "a", "value": "b"}]),
            json!({}),
        ];
        for value in &values {
            let base =
                json!({"sessionId": "s", "path": "/a", "content": "", "command": "ls", "terminalId": "t"});
            for key in ["line", "limit", "args", "env", "cwd", "outputByteLimit", "_meta", "zzz"] {
                let params = with(base.clone(), key, value.clone());
                holds::<v1::ReadTextFileRequest>("fs/read_text_file", &params);
                holds::<v1::WriteTextFileRequest>("fs/write_text_file", &params);
                holds::<v1::CreateTerminalRequest>("terminal/create", &params);
                holds::<v1::TerminalOutputRequest>("terminal/output", &params);
            }
            for key in ["type", "title", "properties", "required", "zzz"] {
                let schema = with(json!({"type": "object"}), key, value.clone());
                let form =
                    json!({"sessionId": "s", "mode": "form", "message": "m", "requestedSchema": schema});
                holds::<v1::CreateElicitationRequest>("elicitation/create", &form);
            }
        }
    }
}

//! What this client says, written with the protocol crate's own builders, so that it is well-formed
//! by construction. Reading is `from_acp`; when to say what is left to `connection`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agent_client_protocol_schema::{ProtocolVersion, v1};
use serde::Serialize;
use serde_json::{Value, json};

use crate::acp::settings::Settings;
use crate::core::message::{
    Beginning, Capabilities, Content, Exit, McpServer, OptionValue, Place, ResourceBody,
};
use crate::core::text::uri;

pub const INITIALIZE: &str = v1::AGENT_METHOD_NAMES.initialize;
pub const AUTHENTICATE: &str = v1::AGENT_METHOD_NAMES.authenticate;
pub const LOGOUT: &str = v1::AGENT_METHOD_NAMES.logout;
pub const AUTH_STATUS: &str = v1::AGENT_METHOD_NAMES.auth_status;
pub const SESSION_NEW: &str = v1::AGENT_METHOD_NAMES.session_new;
pub const SESSION_LOAD: &str = v1::AGENT_METHOD_NAMES.session_load;
pub const SESSION_RESUME: &str = v1::AGENT_METHOD_NAMES.session_resume;
pub const SESSION_FORK: &str = v1::AGENT_METHOD_NAMES.session_fork;
pub const SESSION_LIST: &str = v1::AGENT_METHOD_NAMES.session_list;
pub const SESSION_ARCHIVE: &str = v1::AGENT_METHOD_NAMES.session_archive;
pub const SESSION_UNARCHIVE: &str = v1::AGENT_METHOD_NAMES.session_unarchive;
pub const SESSION_STATUS: &str = v1::AGENT_METHOD_NAMES.session_status;
pub const SESSION_DELETE: &str = v1::AGENT_METHOD_NAMES.session_delete;
pub const SESSION_CLOSE: &str = v1::AGENT_METHOD_NAMES.session_close;
pub const SESSION_PROMPT: &str = v1::AGENT_METHOD_NAMES.session_prompt;
pub const SESSION_CANCEL: &str = v1::AGENT_METHOD_NAMES.session_cancel;
pub const SESSION_SET_MODE: &str = v1::AGENT_METHOD_NAMES.session_set_mode;
pub const SESSION_SET_TITLE: &str = v1::AGENT_METHOD_NAMES.session_set_title;
pub const SESSION_SET_OPTION: &str = v1::AGENT_METHOD_NAMES.session_set_config_option;
/// Both the agent's requests and what is told of them.
pub const MCP_MESSAGE: &str = v1::CLIENT_METHOD_NAMES.mcp_message;
pub const CANCEL_REQUEST: &str = v1::PROTOCOL_LEVEL_METHOD_NAMES.cancel_request;
/// Gone from the protocol, yet the only way to choose a model with many agents.
pub const SESSION_SET_MODEL: &str = "session/set_model";
/// An extension; only sent to agents that declare it.
pub const STEER: &str = "_session/steering";

/// What the user does not want an agent to do through the client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Without {
    pub files: bool,
    pub terminals: bool,
}

impl Without {
    /// Whether a method is declined.
    pub fn declines(self, method: &str) -> bool {
        self.files && method.starts_with("fs/") || self.terminals && method.starts_with("terminal/")
    }
}

pub fn initialize(settings: &Settings, without: Without) -> impl Serialize + use<> {
    let session = v1::ClientSessionCapabilities::new()
        .compaction(v1::CompactionCapabilities::new())
        .config_options(
            v1::SessionConfigOptionsCapabilities::new().boolean(v1::BooleanConfigOptionCapabilities::new()),
        )
        .notices(v1::NoticeCapabilities::new());
    let files = v1::FileSystemCapabilities::new()
        .read_text_file(settings.can_read && !without.files)
        .write_text_file(settings.can_write && !without.files);
    let elicitation = v1::ElicitationCapabilities::new()
        .form(v1::ElicitationFormCapabilities::new())
        .url(v1::ElicitationUrlCapabilities::new());
    // Agents that run commands themselves show their output only to clients that say so here, and some of those that
    // name a command to log in by do it only for these.
    let login = settings.wants_login_commands.then_some("terminal-auth");
    let meta = ["terminal_output"].into_iter().chain(login);
    let meta = v1::Meta::from_iter(meta.map(|name| (name.to_owned(), Value::Bool(true))));
    let capabilities = v1::ClientCapabilities::new()
        .fs(files)
        .terminal(settings.can_run && !without.terminals)
        .session(session)
        .subagents(v1::SubagentCapabilities::new())
        .plan(v1::PlanCapabilities::new())
        .auth(v1::AuthCapabilities::new().terminal(settings.can_log_in))
        .elicitation(elicitation)
        .meta(meta);
    v1::InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(capabilities)
        .client_info(v1::Implementation::new("acp.nvim", settings.client_version.clone()).title("acp.nvim"))
}

pub fn authenticate(method: &str) -> impl Serialize + use<> {
    v1::AuthenticateRequest::new(method.to_owned())
}

pub fn logout() -> impl Serialize {
    v1::LogoutRequest::new()
}

pub fn auth_status() -> impl Serialize {
    v1::AuthStatusRequest::new()
}

pub fn new_session(place: &Place, can: Capabilities) -> impl Serialize + use<> {
    let request = v1::NewSessionRequest::new(place.cwd.clone())
        .additional_directories(additional(place, can))
        .mcp_servers(servers(place, can))
        .system_prompt(system_prompt(place, can));
    let Beginning { mode, options } = (*place.beginning).clone();
    NewSession { request, initial_mode: mode, config_options: options.into_iter().collect() }
}

/// `session/new`, and what only the draft dialect has in it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewSession {
    #[serde(flatten)]
    request: v1::NewSessionRequest,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_mode: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    config_options: BTreeMap<String, String>,
}

pub fn load_session(acp_id: &str, place: &Place, can: Capabilities) -> impl Serialize + use<> {
    v1::LoadSessionRequest::new(acp_id.to_owned(), place.cwd.clone())
        .additional_directories(additional(place, can))
        .mcp_servers(servers(place, can))
        .system_prompt(system_prompt(place, can))
}

pub fn resume_session(acp_id: &str, place: &Place, can: Capabilities) -> impl Serialize + use<> {
    v1::ResumeSessionRequest::new(acp_id.to_owned(), place.cwd.clone())
        .additional_directories(additional(place, can))
        .mcp_servers(servers(place, can))
        .system_prompt(system_prompt(place, can))
}

pub fn fork_session(acp_id: &str, place: &Place, can: Capabilities) -> impl Serialize + use<> {
    v1::ForkSessionRequest::new(acp_id.to_owned(), place.cwd.clone())
        .additional_directories(additional(place, can))
        .mcp_servers(servers(place, can))
        .system_prompt(system_prompt(place, can))
}

/// The user's own system prompt, as far as the agent takes one.
fn system_prompt(place: &Place, can: Capabilities) -> Option<v1::SystemPrompt> {
    let prompt = place.system_prompt.as_ref().filter(|_| can.system_prompt)?;
    let text = prompt.text.trim();
    let mode = match prompt.replaces && can.system_prompt_override {
        true => v1::SystemPromptMode::Override,
        false => v1::SystemPromptMode::Append,
    };
    (!text.is_empty()).then(|| v1::SystemPrompt::new(vec![text.into()]).mode(mode))
}

/// Without a word on it, an agent lists those that are not archived.
pub fn list_sessions(cwd: Option<PathBuf>, cursor: Option<String>, archived: bool) -> impl Serialize {
    let archived = archived.then_some(v1::SessionArchiveFilter::Only);
    v1::ListSessionsRequest::new().cwd(cwd).cursor(cursor).archived(archived)
}

pub fn archive_session(acp_id: &str) -> impl Serialize + use<> {
    v1::ArchiveSessionRequest::new(acp_id.to_owned())
}

pub fn session_status(acp_id: &str) -> impl Serialize + use<> {
    v1::SessionStatusRequest::new(acp_id.to_owned())
}

pub fn unarchive_session(acp_id: &str) -> impl Serialize + use<> {
    v1::UnarchiveSessionRequest::new(acp_id.to_owned())
}

pub fn delete_session(acp_id: &str) -> impl Serialize + use<> {
    v1::DeleteSessionRequest::new(acp_id.to_owned())
}

pub fn close_session(acp_id: &str) -> impl Serialize + use<> {
    v1::CloseSessionRequest::new(acp_id.to_owned())
}

pub fn prompt(acp_id: &str, content: Vec<Content>, can: Capabilities) -> impl Serialize + use<> {
    v1::PromptRequest::new(acp_id.to_owned(), blocks(content, can))
}

pub fn cancel(acp_id: &str) -> impl Serialize + use<> {
    v1::CancelNotification::new(acp_id.to_owned())
}

pub fn cancel_request(id: i64) -> impl Serialize {
    v1::CancelRequestNotification::new(id)
}

pub fn set_mode(acp_id: &str, mode: &str) -> impl Serialize + use<> {
    v1::SetSessionModeRequest::new(acp_id.to_owned(), mode.to_owned())
}

pub fn set_title(acp_id: &str, title: &str) -> impl Serialize + use<> {
    v1::SetSessionTitleRequest::new(acp_id.to_owned(), title.to_owned())
}

pub fn set_model(acp_id: &str, model: &str) -> impl Serialize + use<> {
    json!({ "sessionId": acp_id, "modelId": model })
}

pub fn set_option(acp_id: &str, option: &str, value: &OptionValue) -> impl Serialize + use<> {
    let value = match value {
        OptionValue::Value(value) => v1::SessionConfigOptionValue::value_id(value.clone()),
        OptionValue::Toggle(on) => v1::SessionConfigOptionValue::boolean(*on),
    };
    v1::SetSessionConfigOptionRequest::new(acp_id.to_owned(), option.to_owned(), value)
}

/// Asks that an agent whose turn is over leaves the text to us rather than begins a turn that nobody
/// waits for.
pub fn steer(acp_id: &str, content: Vec<Content>, can: Capabilities) -> impl Serialize + use<> {
    json!({
        "sessionId": acp_id,
        "prompt": blocks(content, can),
        "_meta": { "steering": { "idleBehavior": "promptRequired" } },
    })
}

pub fn selected(option: &str) -> impl Serialize + use<> {
    let outcome = v1::SelectedPermissionOutcome::new(option.to_owned());
    v1::RequestPermissionResponse::new(v1::RequestPermissionOutcome::Selected(outcome))
}

pub fn permission_cancelled() -> impl Serialize {
    v1::RequestPermissionResponse::new(v1::RequestPermissionOutcome::Cancelled)
}

pub fn read(content: String) -> impl Serialize {
    v1::ReadTextFileResponse::new(content)
}

pub fn written() -> impl Serialize {
    v1::WriteTextFileResponse::new()
}

pub fn terminal_created(terminal: &str) -> impl Serialize + use<> {
    v1::CreateTerminalResponse::new(terminal.to_owned())
}

pub fn terminal_output(text: String, truncated: bool, exit: Option<Exit>) -> impl Serialize {
    v1::TerminalOutputResponse::new(text, truncated).exit_status(exit.map(exit_status))
}

pub fn terminal_exited(exit: Exit) -> impl Serialize {
    v1::WaitForTerminalExitResponse::new(exit_status(exit))
}

pub fn terminal_killed() -> impl Serialize {
    v1::KillTerminalResponse::new()
}

pub fn terminal_released() -> impl Serialize {
    v1::ReleaseTerminalResponse::new()
}

/// The values of a form, if they are what a form may hold: texts, numbers, yes or no, lists of texts.
pub fn accepted(values: Value) -> Result<impl Serialize, serde_json::Error> {
    let content: BTreeMap<String, Option<v1::ElicitationContentValue>> = match values {
        Value::Null => BTreeMap::new(),
        values => serde_json::from_value(values)?,
    };
    let content: BTreeMap<_, _> =
        content.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let accept = v1::ElicitationAcceptAction::new().content((!content.is_empty()).then_some(content));
    Ok(v1::CreateElicitationResponse::new(v1::ElicitationAction::Accept(accept)))
}

pub fn declined() -> impl Serialize {
    v1::CreateElicitationResponse::new(v1::ElicitationAction::Decline)
}

/// What an MCP server of ours answers: its own errors are no errors of ACP.
pub fn mcp_answer(outcome: Result<Value, Value>) -> impl Serialize {
    match outcome {
        Ok(result) => json!({ "result": result }),
        Err(error) => json!({ "error": error }),
    }
}

/// What an MCP server of ours tells of a request that is open.
pub fn mcp_told(of: &v1::MessageMcpRequest, method: String, params: Option<Value>) -> impl Serialize + use<> {
    let params = params.and_then(|params| match params {
        Value::Object(params) => Some(params),
        _ => None,
    });
    v1::MessageMcpNotification::new(of.server_id.clone(), of.request_id.clone(), method).params(params)
}

pub fn elicitation_cancelled() -> impl Serialize {
    v1::CreateElicitationResponse::new(v1::ElicitationAction::Cancel)
}

fn exit_status(exit: Exit) -> v1::TerminalExitStatus {
    v1::TerminalExitStatus::new().exit_code(exit.code).signal(exit.signal)
}

/// Further roots, where the agent takes them: each once, and not the session's own.
fn additional(place: &Place, can: Capabilities) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in place.additional.iter().filter(|_| can.additional_directories) {
        if *root != place.cwd && !roots.contains(root) && root.is_absolute() {
            roots.push(root.clone());
        }
    }
    roots
}

/// Whether the agent can reach a server of this kind.
pub fn takes(can: Capabilities, server: &McpServer) -> bool {
    match server {
        McpServer::Stdio { .. } => true,
        McpServer::Http { .. } => can.mcp_http,
        McpServer::Sse { .. } => can.mcp_sse,
        McpServer::Acp { .. } => can.mcp_acp,
    }
}

fn servers(place: &Place, can: Capabilities) -> Vec<v1::McpServer> {
    let header = |(name, value): &(String, String)| v1::HttpHeader::new(name, value);
    let variable = |(name, value): &(String, String)| v1::EnvVariable::new(name, value);
    let server = |server: &McpServer| match server {
        McpServer::Stdio { name, command, args, env } => v1::McpServer::Stdio(
            v1::McpServerStdio::new(name, command.clone())
                .args(args.clone())
                .env(env.iter().map(variable).collect()),
        ),
        McpServer::Http { name, url, headers } => v1::McpServer::Http(
            v1::McpServerHttp::new(name, url).headers(headers.iter().map(header).collect()),
        ),
        McpServer::Sse { name, url, headers } => {
            v1::McpServer::Sse(v1::McpServerSse::new(name, url).headers(headers.iter().map(header).collect()))
        }
        McpServer::Acp { name, id } => v1::McpServer::Acp(v1::McpServerAcp::new(name, id.clone())),
    };
    place.mcp_servers.iter().filter(|server| takes(can, server)).map(server).collect()
}

/// Only text and links are sent to every agent; the rest becomes one of them where it must.
fn blocks(content: Vec<Content>, can: Capabilities) -> Vec<v1::ContentBlock> {
    content.into_iter().filter_map(|content| block(content, can)).collect()
}

fn block(content: Content, can: Capabilities) -> Option<v1::ContentBlock> {
    Some(match with_uri(content) {
        Content::Text(text) => text.into(),
        Content::Image { data, mime, uri } if can.image => {
            v1::ContentBlock::Image(v1::ImageContent::new(data, mime).uri(uri))
        }
        Content::Image { mime, uri: Some(uri), .. } => link(uri, Some(mime)),
        Content::Image { mime, .. } => format!("[an image ({mime}) that you can't take]").into(),
        Content::Audio { data, mime } if can.audio => {
            v1::ContentBlock::Audio(v1::AudioContent::new(data, mime))
        }
        Content::Audio { mime, .. } => format!("[a recording ({mime}) that you can't take]").into(),
        Content::Link { uri, name, title, mime, size } => v1::ContentBlock::ResourceLink(
            v1::ResourceLink::new(name, uri)
                .title(title)
                .mime_type(mime)
                .size(size.and_then(|size| i64::try_from(size).ok())),
        ),
        Content::Resource { uri, mime, body } if can.embedded_context => {
            let resource = match body {
                ResourceBody::Text(text) => v1::EmbeddedResourceResource::TextResourceContents(
                    v1::TextResourceContents::new(text, uri).mime_type(mime),
                ),
                ResourceBody::Blob(blob) => v1::EmbeddedResourceResource::BlobResourceContents(
                    v1::BlobResourceContents::new(blob, uri).mime_type(mime),
                ),
            };
            v1::ContentBlock::Resource(v1::EmbeddedResource::new(resource))
        }
        // A file can be read by the agent; what is no file would be lost.
        Content::Resource { uri, body: ResourceBody::Text(text), .. } if !uri.starts_with("file:") => {
            format!("{uri}\n\n{text}").into()
        }
        Content::Resource { uri, mime, .. } => link(uri, mime),
        // Only agents send these.
        Content::Picture(_) | Content::Unknown { .. } => return None,
    })
}

/// The same with the path of a file written as the URI that the protocol wants.
fn with_uri(mut content: Content) -> Content {
    let uri = match &mut content {
        Content::Link { uri, .. } | Content::Resource { uri, .. } | Content::Image { uri: Some(uri), .. } => {
            uri
        }
        _ => return content,
    };
    if uri::is_path(uri) {
        *uri = uri::from_path(uri);
    }
    content
}

fn link(uri: String, mime: Option<String>) -> v1::ContentBlock {
    let name = uri.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    v1::ContentBlock::ResourceLink(v1::ResourceLink::new(name, uri).mime_type(mime))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::SystemPrompt;

    fn json(value: impl Serialize) -> Value {
        serde_json::to_value(value).expect("JSON")
    }

    #[test]
    fn each_ability_of_this_client_is_switched_by_itself() {
        let said = |can_read: bool, can_write: bool, can_run: bool, without: Without| {
            let settings = Settings { can_read, can_write, can_run, ..Settings::default() };
            let can = json(initialize(&settings, without))["clientCapabilities"].clone();
            [&can["fs"]["readTextFile"], &can["fs"]["writeTextFile"], &can["terminal"]]
                .map(|can| *can == true)
        };
        let with_all = Without::default();
        for can in [[true, false, false], [false, true, false], [false, false, true], [true; 3]] {
            assert_eq!(said(can[0], can[1], can[2], with_all), can);
        }
        assert_eq!(said(true, true, true, Without { files: true, ..with_all }), [false, false, true]);
        assert_eq!(said(true, true, true, Without { terminals: true, ..with_all }), [true, true, false]);
    }

    #[test]
    fn what_is_declined_is_what_is_not_said() {
        let (files, terminals) =
            (Without { files: true, terminals: false }, Without { files: false, terminals: true });
        for method in ["fs/read_text_file", "fs/write_text_file"] {
            assert_eq!((files.declines(method), terminals.declines(method)), (true, false));
        }
        for method in ["terminal/create", "terminal/kill"] {
            assert_eq!((files.declines(method), terminals.declines(method)), (false, true));
        }
        assert!(!files.declines("session/request_permission"));
    }

    #[test]
    fn a_session_is_opened_in_its_folder_with_the_others_each_once_where_they_are_taken() {
        let place = Place {
            cwd: "/p".into(),
            additional: ["/a", "/p", "/a", "b", "/b"].map(PathBuf::from).to_vec(),
            ..Place::default()
        };
        let takes = Capabilities { additional_directories: true, ..Capabilities::default() };
        let asked = [
            (json(new_session(&place, takes)), json(new_session(&place, Capabilities::default()))),
            (
                json(load_session("s", &place, takes)),
                json(load_session("s", &place, Capabilities::default())),
            ),
            (
                json(resume_session("s", &place, takes)),
                json(resume_session("s", &place, Capabilities::default())),
            ),
            (
                json(fork_session("s", &place, takes)),
                json(fork_session("s", &place, Capabilities::default())),
            ),
        ];
        for (with, without) in asked {
            assert_eq!((&with["cwd"], &without["cwd"]), (&json!("/p"), &json!("/p")));
            assert_eq!(with["additionalDirectories"], json!(["/a", "/b"]));
            assert!(without["additionalDirectories"].as_array().is_none_or(Vec::is_empty), "{without}");
        }
    }

    #[test]
    fn a_system_prompt_replaces_only_where_that_is_offered() {
        let mode = |replaces: bool, system_prompt: bool, system_prompt_override: bool| {
            let prompt = SystemPrompt { text: "Be brief.".into(), replaces, ..SystemPrompt::default() };
            let place = Place { cwd: "/p".into(), system_prompt: Some(prompt), ..Place::default() };
            let can = Capabilities { system_prompt, system_prompt_override, ..Capabilities::default() };
            json(new_session(&place, can))["systemPrompt"]["mode"].as_str().map(str::to_owned)
        };
        assert_eq!(mode(true, true, true).as_deref(), Some("override"));
        assert_eq!(mode(true, true, false).as_deref(), Some("append"));
        assert_eq!(mode(false, true, true).as_deref(), Some("append"));
        assert_eq!(mode(true, false, true), None);
    }

    #[test]
    fn servers_are_sent_by_the_way_in_which_they_are_reached() {
        let http = McpServer::Http { name: "h".into(), url: "https://h".into(), headers: Vec::new() };
        let sse = McpServer::Sse { name: "s".into(), url: "https://s".into(), headers: Vec::new() };
        let taken = |mcp_http, mcp_sse| {
            let can = Capabilities { mcp_http, mcp_sse, ..Capabilities::default() };
            [takes(can, &http), takes(can, &sse)]
        };
        assert_eq!(taken(true, false), [true, false]);
        assert_eq!(taken(false, true), [false, true]);
    }

    #[test]
    fn values_and_answers_are_written_as_they_are() {
        assert_eq!(json(set_option("s", "o", &OptionValue::Toggle(true)))["value"], true);
        assert_eq!(json(set_option("s", "o", &OptionValue::Toggle(false)))["value"], false);
        assert_eq!(json(declined())["action"], "decline");
        assert_eq!(json(elicitation_cancelled())["action"], "cancel");
        let exit = |code, signal: Option<&str>| Exit { code, signal: signal.map(str::to_owned) };
        assert_eq!(json(terminal_exited(exit(Some(3), None)))["exitCode"], 3);
        assert_eq!(json(terminal_exited(exit(None, Some("SIGTERM"))))["signal"], "SIGTERM");
        for truncated in [true, false] {
            assert_eq!(json(terminal_output("a".into(), truncated, None))["truncated"], truncated);
        }
    }
}

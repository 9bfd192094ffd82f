//! The official client of the Model Context Protocol, over each transport: what it makes of the server, every tool
//! called, calls cancelled, and a client that is not wanted any more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, Tool};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, RoleClient, ServiceError, ServiceExt as _};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::client::Told;
use crate::every::{PICKS_THE_FIRST, arguments};
use crate::support::script::{Scripted, initialized, opened, steps};

/// Counts how often it hears that there are other tools.
#[derive(Clone, Default)]
struct Listens(Arc<AtomicUsize>);

impl ClientHandler for Listens {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Client {
    runtime: Runtime,
    service: RunningService<RoleClient, Listens>,
    heard: Arc<AtomicUsize>,
}

/// A server that is reached by HTTP, as `session/new` has it.
struct Address {
    url: String,
    token: String,
}

impl Address {
    fn of(chat: &mut Scripted) -> Self {
        let servers = chat.got("session/new")["params"]["mcpServers"].clone();
        let server = servers.as_array().and_then(|all| all.last()).expect("a server").clone();
        assert_eq!((server["type"].as_str(), server["name"].as_str()), (Some("http"), Some("neovim")));
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        assert_eq!(server["headers"][0]["name"], "Authorization");
        let token = text(&server["headers"][0]["value"]);
        Self { url: text(&server["url"]), token: token.strip_prefix("Bearer ").expect("a token").to_owned() }
    }

    fn try_connect(&self) -> Result<Client, String> {
        let runtime = runtime();
        let config =
            StreamableHttpClientTransportConfig::with_uri(self.url.as_str()).auth_header(self.token.as_str());
        let service = runtime.block_on(async {
            let transport = StreamableHttpClientTransport::from_config(config);
            Listens::default().serve(transport).await
        });
        service.map(|service| Client::new(runtime, service)).map_err(|error| error.to_string())
    }

    fn connect(&self) -> Client {
        self.try_connect().expect("a connection")
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn over_stdio(chat: &mut Scripted) -> Client {
    let told = Told::of(chat);
    let runtime = runtime();
    let service = runtime.block_on(async {
        let mut command = tokio::process::Command::new(&told.command);
        command.args(&told.args).envs(told.env.iter().cloned()).env_remove("NVIM");
        Listens::default().serve(TokioChildProcess::new(command).expect("the bridge starts")).await
    });
    Client::new(runtime, service.expect("a connection"))
}

impl Client {
    fn new(runtime: Runtime, service: RunningService<RoleClient, Listens>) -> Self {
        let heard = service.service().0.clone();
        Self { runtime, service, heard }
    }

    fn tools(&self) -> Result<Vec<Tool>, ServiceError> {
        self.runtime.block_on(self.service.list_all_tools())
    }

    /// What a tool answers, and whether it is an error.
    fn call(&self, name: &str, args: Value) -> Result<(String, bool), ServiceError> {
        let answer = self.runtime.block_on(self.service.call_tool(request(name, args)))?;
        let text = answer.content.first().and_then(|content| content.as_text()).expect("a text");
        Ok((text.text.clone(), answer.is_error.expect("a word on success")))
    }
}

fn request(name: &str, args: Value) -> CallToolRequestParams {
    let args = args.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(name.to_owned()).with_arguments(args)
}

/// A chat whose agent takes servers that are reached by HTTP, which the user prefers.
fn chat_over_http() -> Scripted {
    let mut script = initialized(json!({ "mcpCapabilities": { "http": true } }), json!([]));
    script.extend(opened().split_off(2));
    let mut chat = Scripted::new(&[("a.lua", crate::CODE)], script);
    chat.configure("tools_transport = 'http'");
    chat.chat();
    chat
}

#[track_caller]
fn calls_all(chat: &mut Scripted, client: &Client) {
    crate::serve(&mut chat.nvim);
    chat.nvim.exec_lua(PICKS_THE_FIRST, []);
    let tools = client.tools().expect("tools");
    assert_eq!(tools.len(), crate::ALL);
    for tool in tools {
        let schema = Value::Object((*tool.input_schema).clone());
        let (text, _) = client.call(&tool.name, arguments(&schema)).expect("a result");
        assert!(!text.ends_with(": missing"), "{}: {text}", tool.name);
    }
    let (text, failed) = client.call("outline", json!({ "file": "a.lua" })).expect("a result");
    assert_eq!((text.lines().last(), failed), (Some("1-3: function declaration: login"), false));
    let (text, failed) = client.call("outline", json!({ "file": "/etc/passwd" })).expect("a result");
    assert_eq!((text.as_str(), failed), ("/etc/passwd is outside of the session's folders", true));
    let unknown = client.call("execute", json!({})).expect_err("an error");
    assert!(unknown.to_string().contains("there is no tool \"execute\""), "{unknown}");
    let server = client.service.peer_info().expect("a server");
    assert_eq!(server.server_info.as_ref().map(|info| info.name.as_str()), Some("neovim"));
}

#[test]
fn every_tool_is_called_over_stdio() {
    let mut chat = Scripted::new(&[("a.lua", crate::CODE)], steps([]));
    chat.chat();
    let client = over_stdio(&mut chat);
    calls_all(&mut chat, &client);
}

#[test]
fn every_tool_is_called_over_http() {
    let mut chat = chat_over_http();
    let client = Address::of(&mut chat).connect();
    calls_all(&mut chat, &client);
}

/// A tool that never answers, and says when it begins and when it is stopped.
const NEVER: &str = "require('acp').tool({ name = 'never', description = 'never', run = function(_, ctx)
      _G.begun = true
      ctx.on_end(function() _G.stopped = true end)
    end })";

#[track_caller]
fn wait_for_lua(chat: &mut Scripted, what: &str) {
    let code = format!("return {what} == true");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(&code, []) == true.into(), what);
}

#[test]
fn over_http_a_client_hears_of_other_tools_and_a_call_that_it_cancels_is_stopped() {
    let mut chat = chat_over_http();
    let client = Address::of(&mut chat).connect();
    assert_eq!(client.tools().expect("tools").len(), crate::ALL);
    chat.nvim.exec_lua(NEVER, []);
    chat.nvim.wait_until(|_| client.heard.load(Ordering::SeqCst) > 0, "word of the new tool");
    assert_eq!(client.tools().expect("tools").len(), crate::ALL + 1);
    let call = ClientRequest::CallToolRequest(CallToolRequest::new(request("never", json!({}))));
    let options = PeerRequestOptions::no_options();
    let call = client.runtime.block_on(client.service.send_cancellable_request(call, options));
    wait_for_lua(&mut chat, "_G.begun");
    client.runtime.block_on(call.expect("a call").cancel(None)).expect("word that it is cancelled");
    wait_for_lua(&mut chat, "_G.stopped");
    assert!(!client.call("buffers", json!({})).expect("a result").1);
}

#[test]
fn over_http_nobody_is_served_without_the_token_or_after_the_session() {
    let mut chat = chat_over_http();
    let address = Address::of(&mut chat);
    for token in ["", "guessed", &address.token[1..]] {
        let wrong = Address { url: address.url.clone(), token: token.to_owned() };
        assert!(wrong.try_connect().is_err(), "{token:?}");
    }
    assert!(address.url.starts_with("http://127.0.0.1:") && !address.url.contains(&address.token));
    let client = address.connect();
    chat.nvim.command("Acp close");
    chat.nvim.wait_until(|_| client.tools().is_err(), "the tools to be gone");
    assert!(address.try_connect().is_err());
}

#[test]
fn sessions_at_one_port_are_told_apart_by_their_tokens() {
    let mut script = initialized(json!({ "mcpCapabilities": { "http": true } }), json!([]));
    script.extend(opened().split_off(2));
    script.extend([
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s2" } }),
    ]);
    let mut chat = Scripted::new(&[], script);
    let code = "require('acp').tool({ name = 'who', description = 'who', run = function(_, ctx) return ctx.session end })";
    chat.configure("tools_transport = 'http'");
    chat.nvim.exec_lua(code, []);
    chat.chat();
    let first = Address::of(&mut chat);
    chat.nvim.command("Acp new");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return #require('acp').status().sessions == 2", []) == true.into(),
        "the second session",
    );
    let news = chat.record().into_iter().filter(|message| message["method"] == "session/new").count();
    assert_eq!(news, 2);
    let second = Address::of(&mut chat);
    assert_eq!(first.url, second.url);
    let mut answers = BTreeMap::new();
    for (name, address) in [("first", &first), ("second", &second)] {
        answers.insert(name, address.connect().call("who", json!({})).expect("a result").0);
    }
    assert_ne!(answers["first"], answers["second"]);
}

#[test]
fn an_agent_that_takes_no_http_starts_the_bridge_all_the_same() {
    let mut chat = Scripted::new(&[], steps([]));
    chat.configure("tools_transport = 'http'");
    chat.chat();
    assert_eq!(over_stdio(&mut chat).tools().expect("tools").len(), crate::ALL);
}

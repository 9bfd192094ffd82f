//! How an agent reaches the editor's tools: as the user prefers it, where the agent can. What it asks of them by messages
//! of ACP is passed on from here.

use std::io;
use std::path::PathBuf;

use serde_json::Value;

use super::state::Connection;
use crate::acp::mutex::lock;
use crate::acp::tools::{self, Entrance};
use crate::acp::wire::reply::Reply;
use crate::acp::wire::rpc::{NOT_FOUND, RpcError};
use crate::acp::wire::{from_acp, to_acp};
use crate::core::ids::SessionKey;
use crate::core::message::{Capabilities, EditorTools, Event, McpServer, Place, Severity, ToolsTransport};

/// What bridges are told of the place of their Neovim, and what lets them in. The inspector and the log leave out what
/// is called like the second.
const PLACE: &str = "ACP_NVIM_TOOLS";
const TOKEN: &str = "ACP_NVIM_TOOLS_TOKEN";

impl Connection {
    /// Adds the server of the editor's tools to those of a session that is about to be opened.
    pub(super) fn reach_tools(&mut self, session: SessionKey, place: &mut Place, can: Capabilities) {
        let Some(tools) = place.tools.take() else { return };
        if tools.prefers == ToolsTransport::Acp && can.mcp_acp {
            let id = format!("neovim-{}", session.0);
            self.tool_servers.add(id.clone(), session);
            return place.mcp_servers.push(McpServer::Acp { name: tools.name, id });
        }
        if tools.is_elsewhere {
            let text = format!(
                "{} takes no tools by ACP, so it can't reach the editor's from where it is",
                self.name
            );
            self.post(Event::ToolsOutOfReach { session });
            return self.note(Some(session), Severity::Info, text);
        }
        let by_http = tools.prefers == ToolsTransport::Http && can.mcp_http;
        let url = match by_http.then(|| self.tools_url()).transpose() {
            Ok(url) => url,
            Err(error) => {
                let text =
                    format!("the editor's tools can't be offered by HTTP, but by their bridge: {error}");
                self.note(Some(session), Severity::Warning, text);
                None
            }
        };
        place.mcp_servers.push(match url {
            Some(url) => {
                let headers = vec![("Authorization".to_owned(), format!("Bearer {}", tools.token))];
                McpServer::Http { name: tools.name, url, headers }
            }
            None => self.bridge(*tools),
        });
    }

    /// Has a server answer what the agent asks of it.
    pub(super) fn serve_mcp(&mut self, params: &Value, reply: Reply) {
        let message = match from_acp::mcp_message(params) {
            Ok(message) => message,
            Err(error) => return reply.fail(&error),
        };
        let Some(session) = self.tool_servers.session(&message.server_id.0) else {
            let text = format!("there is no MCP server {:?} here", message.server_id.0);
            return reply.fail(&RpcError::new(NOT_FOUND, text));
        };
        let request = tools::Request {
            id: message.request_id.0.to_string(),
            method: message.method.clone(),
            params: message.params.clone().map(Value::Object),
        };
        let (id, outbox, tools) = (reply.id().clone(), self.outbox.clone(), self.shared.tools.clone());
        let answering = tokio::spawn(async move {
            let tell = |method, params| {
                outbox.notify(to_acp::MCP_MESSAGE, &to_acp::mcp_told(&message, method, params));
            };
            reply.ok(to_acp::mcp_answer(tools::answer(&tools, session, request, tell).await));
        });
        self.tool_servers.asked(id, answering.abort_handle());
    }

    fn bridge(&self, tools: EditorTools) -> McpServer {
        // A confined agent reaches no socket that is a file.
        let port = self.sandbox.as_ref().map(|sandbox| sandbox.entrance.address());
        let place = port.map_or(tools.socket, PathBuf::from).to_string_lossy().into_owned();
        McpServer::Stdio {
            name: tools.name,
            command: tools.program,
            args: tools.args,
            env: vec![(PLACE.to_owned(), place), (TOKEN.to_owned(), tools.token)],
        }
    }

    /// Where HTTP is spoken: in a sandbox at its own port, which is the one that can be reached from there, else at one
    /// for all, which is opened when it is first needed.
    fn tools_url(&self) -> io::Result<String> {
        if let Some(sandbox) = &self.sandbox {
            return Ok(sandbox.entrance.url());
        }
        let mut entrance = lock(&self.shared.tools_entrance);
        if let Some(open) = &*entrance {
            return Ok(open.url());
        }
        let opened = Entrance::open(&self.shared.tools)?;
        Ok(entrance.insert(opened).url())
    }
}

//! What a client of the Model Context Protocol is answered, whichever way it comes in: the list of tools, calls with
//! their progress and their end, and word that the list is another one. The protocol itself is `rmcp`'s.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, interval_at};

use super::registry::Tools;
use crate::core::ids::{SessionKey, ToolRunId};
use crate::core::message::{ToolAnswer, ToolSpec};

/// Clients give up a call of which they hear nothing for a minute or less.
const BETWEEN_PROGRESS: Duration = Duration::from_secs(3);

const INSTRUCTIONS: &str = "What the user's Neovim knows of this project: language servers, diagnostics, open files with \
                            unsaved text, syntax trees. Prefer these tools to searching text where they can answer.";

/// One for each client.
pub struct Server {
    tools: Tools,
    session: SessionKey,
    /// Gone with the client, which those notice who tell it something.
    alive: watch::Sender<()>,
}

impl Server {
    pub fn new(tools: Tools, session: SessionKey) -> Self {
        Self { tools, session, alive: watch::Sender::new(()) }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let name = Implementation::new("neovim", env!("CARGO_PKG_VERSION")).with_title("Neovim");
        ServerConfig::new(can).with_server_info(name).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.list(self.session).into_iter().map(told).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = Value::Object(request.arguments.unwrap_or_default());
        let began = Instant::now();
        let (run, mut answer) =
            self.tools.call(self.session, request.name.into_owned(), args).map_err(|why| invalid(&why))?;
        let _open = Open { tools: &self.tools, run };
        let progress = context.meta.get_progress_token();
        let mut due = interval_at(began + BETWEEN_PROGRESS, BETWEEN_PROGRESS);
        loop {
            tokio::select! {
                answer = &mut answer => return match answer {
                    Ok(answer) => Ok(result(answer).into()),
                    Err(_) => Err(ErrorData::internal_error("the call was dropped", None)),
                },
                // Nobody reads what is answered.
                () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
                _ = due.tick(), if progress.is_some() => {
                    let Some(token) = progress.clone() else { continue };
                    let told = ProgressNotificationParam::new(token, began.elapsed().as_secs_f64().floor());
                    // Whoever is not there any more is told nothing.
                    let _ = context.peer.notify_progress(told.with_message("still at work")).await;
                }
            }
        }
    }

    /// What is called like a method of the protocol comes here where its parameters are none of that method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            "tools/call" => invalid("a call needs the name of a tool and, as arguments, an object"),
            method => {
                let message = format!("there is no method {method:?}");
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
            }
        })
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (mut listed, mut alive) = (self.tools.watch_list(), self.alive.subscribe());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = alive.changed() => return,
                    changed = listed.changed() => {
                        if changed.is_err() || context.peer.notify_tool_list_changed().await.is_err() {
                            return;
                        }
                    }
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    /// The same where clients say what they want to hear of.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut listed = self.tools.watch_list();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = listed.changed() => {
                    if changed.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// A call that waits; nobody waits for it any more when it is dropped.
struct Open<'a> {
    tools: &'a Tools,
    run: ToolRunId,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.tools.cancel(self.run);
    }
}

fn told(tool: ToolSpec) -> Tool {
    let schema = match tool.schema {
        Value::Object(schema) => schema,
        _ => JsonObject::default(),
    };
    let hints = ToolAnnotations::new().read_only(tool.reads_only);
    Tool::new(tool.name, tool.description, Arc::new(schema)).with_annotations(hints)
}

fn result(answer: ToolAnswer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    if answer.failed { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

fn invalid(why: &str) -> ErrorData {
    ErrorData::invalid_params(why.to_owned(), None)
}

//! What the editor's tools ask of a session's connection: the same that its agent could ask for, by the same way, so that
//! a tool can do nothing that the agent may not do. What the tools are is left to the editor.

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::pending_questions::EndReason;
use super::state::Connection;
use super::subagents::Actor;
use crate::acp::files::request::FileWork;
use crate::acp::wire::reply::Reply;
use crate::acp::wire::rpc::{METHOD_NOT_FOUND, RequestId, RpcError};
use crate::core::ids::{SessionKey, TerminalId, ToolRunId};
use crate::core::message::Event;

/// The protocol has no method for it. No agent can ask for it under this name.
const REMOVE_FILE: &str = "remove_file";

impl Connection {
    pub(super) fn serve_tool(
        &mut self,
        session: SessionKey,
        run: ToolRunId,
        method: &str,
        mut params: Value,
    ) {
        let (tool, answer) = oneshot::channel::<Result<Value, RpcError>>();
        let (shared, terminals) = (self.shared.clone(), self.tool_terminals.clone());
        let makes_terminal = method == "terminal/create";
        if makes_terminal {
            terminals.expect(run);
        }
        tokio::spawn(async move {
            let outcome = match answer.await {
                Ok(outcome) => outcome.map_err(|error| error.message),
                Err(_) => Err("it was cancelled".to_owned()),
            };
            if let Ok(made) = &outcome
                && let Some(terminal) = made["terminalId"].as_str().filter(|_| makes_terminal)
            {
                let terminal = TerminalId(terminal.to_owned());
                if !terminals.made(run, terminal.clone()) {
                    // It may have ended with its session.
                    let _ = shared.terminals.release(session, &terminal);
                }
            }
            shared.mailbox.post(Event::ToolServed { run, outcome });
        });
        let Some(acp_id) = self.sessions.get_mut(session).map(|known| known.acp_id.clone()) else { return };
        params["sessionId"] = json!(acp_id);
        let Some(id) = id_of(run) else { return };
        let reply = Reply::to_tool(id, tool);
        let removes = method == REMOVE_FILE;
        if !self.shared.policy.serves(if removes { "fs/write_text_file" } else { method }) {
            reply.fail(&RpcError::new(METHOD_NOT_FOUND, "the user has turned this off for agents"));
        } else if removes {
            let path = params["path"].as_str().unwrap_or_default().into();
            self.file(&Actor { session, branch: None }, FileWork::Remove { path }, reply);
        } else {
            self.serve_method(method, &params, reply);
        }
    }

    /// The call is over, however it ended.
    pub(super) fn leave_tool(&mut self, session: SessionKey, run: ToolRunId) {
        for terminal in self.tool_terminals.left(run) {
            // The same.
            let _ = self.shared.terminals.release(session, &terminal);
        }
        let Some(id) = id_of(run) else { return };
        self.deferred.take_back(&id);
        self.withdraw(&EndReason::CancelledByAgent(&id));
    }
}

/// No agent has a reason to choose such an id.
fn id_of(run: ToolRunId) -> Option<RequestId> {
    RequestId::of(&json!(format!("acp.nvim/tool/{}", run.0)))
}

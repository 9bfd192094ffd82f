//! What the agent asks of us: each request is answered exactly once, at once where possible, else by
//! the editor, the disk or a command's end. The protocol's words are `from_acp` and `to_acp`.

use std::time::Duration;

use tokio::time::timeout;

use super::deferred_replies::PendingCommand;
use super::open_requests::OutgoingRequest;
use super::pending_questions::{EndReason, EndsWith};
use super::state::{Connection, State};
use super::subagents::Actor;
use super::updates::call_news;
use crate::acp::files::queue::EditorRequest;
use crate::acp::files::request::{BufferRequest, FileRequest, FileWork, SharedReply};
use crate::acp::quirks::{self, Quirk};
use crate::acp::terminals::spec::GRACE;
use crate::acp::terminals::{TerminalError, TerminalSpec};
use crate::acp::wire::from_acp::{self, AgentRequest, Scope};
use crate::acp::wire::reply::Reply;
use crate::acp::wire::rpc::{Message, NOT_FOUND, RequestId, RpcError};
use crate::acp::wire::to_acp;
use crate::core::audit::What;
use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::{Access, Event, PermissionOption, Question, Severity, ToolCallPatch};
use crate::core::policy::{Action, Decision, Reason, Verdict};

impl Connection {
    pub(super) fn serve(&mut self, id: RequestId, method: &str, params: &serde_json::Value) {
        let reply = Reply::new(id, &self.outbox);
        if self.shared.extension_methods.serves(method) {
            let session = self.named_session(params);
            let ask = self.questions.open_call(session, reply);
            let (agent, method, params) = (self.agent, method.to_owned(), params.clone());
            return self.post(Event::Called { agent, session, ask, method, params });
        }
        if !self.shared.policy.serves(method) || self.without.declines(method) {
            return reply.fail(&RpcError::no_method(method));
        }
        if method == to_acp::MCP_MESSAGE {
            return self.serve_mcp(params, reply);
        }
        self.serve_method(method, params, reply);
    }

    pub(super) fn serve_method(&mut self, method: &str, params: &serde_json::Value, reply: Reply) {
        let served = from_acp::request(method, params).and_then(|request| {
            let mut actor = self.actor_of(&request)?;
            actor.branch = actor.branch.or_else(|| from_acp::started_by(&params["toolCall"]));
            Ok((actor, request))
        });
        match served {
            Ok((actor, request)) => self.serve_in(&actor, request, reply),
            Err(error) => reply.fail(&error),
        }
    }

    /// A notification beyond the protocol goes to the user, if to anyone.
    pub(super) fn extension_notification(&mut self, method: String, params: serde_json::Value) {
        if !self.shared.extension_methods.listens_to(&method) {
            return;
        }
        if let Some(acp_id) = self.still_unnamed(&params) {
            return self.buffered.push((acp_id, Message::Notification { method, params }));
        }
        let session = self.named_session(&params);
        self.post(Event::Told { agent: self.agent, session, method, params });
    }

    /// The session of ours that a message beyond the protocol names, if it does.
    fn named_session(&self, params: &serde_json::Value) -> Option<SessionKey> {
        let acp_id = from_acp::session_of(params)?;
        self.actor(&acp_id).map(|actor| actor.session)
    }

    fn actor_of(&self, request: &AgentRequest) -> Result<Actor, RpcError> {
        let acp_id = match request {
            AgentRequest::Permission { session, .. }
            | AgentRequest::Read { session, .. }
            | AgentRequest::Write { session, .. }
            | AgentRequest::TerminalCreate { session, .. }
            | AgentRequest::TerminalOutput { session, .. }
            | AgentRequest::TerminalWait { session, .. }
            | AgentRequest::TerminalKill { session, .. }
            | AgentRequest::TerminalRelease { session, .. } => session,
            AgentRequest::Form { scope, .. } | AgentRequest::Url { scope, .. } => match scope {
                Scope::Session(session) => session,
                Scope::Request(request) => {
                    let session = self.session_of_call(request)?;
                    return Ok(Actor { session, branch: None });
                }
            },
        };
        self.actor(acp_id).ok_or_else(|| {
            let message = format!("no session {acp_id:?}; open or load it first");
            RpcError::new(NOT_FOUND, message).with_data(serde_json::json!({ "sessionId": acp_id }))
        })
    }

    /// The session that a request of ours is about. One about none, such as a login, is shown in any;
    /// there may be none open yet.
    fn session_of_call(&self, request: &RequestId) -> Result<SessionKey, RpcError> {
        let of_call = match self.open_requests.get(request) {
            Some(
                OutgoingRequest::Open { session, .. }
                | OutgoingRequest::Load { session, .. }
                | OutgoingRequest::Prompt { session }
                | OutgoingRequest::Steer { session, .. }
                | OutgoingRequest::Other { session: Some(session), .. },
            ) => Some(*session),
            Some(_) => self.sessions.any().map(|session| session.key).or(self.home),
            None => None,
        };
        of_call.ok_or_else(|| RpcError::invalid("requestId", "must be that of a request that still runs"))
    }

    fn serve_in(&mut self, actor: &Actor, request: AgentRequest, reply: Reply) {
        let session = actor.session;
        match request {
            AgentRequest::Permission { call, options, .. } => self.permission(actor, call, options, reply),
            AgentRequest::Read { path, line, limit, .. } => {
                let missing_is_empty = self.needs(Quirk::MissingFileIsEmpty);
                self.file(actor, FileWork::Read { path, line, limit, missing_is_empty }, reply);
            }
            AgentRequest::Write { path, content, .. } => {
                self.file(actor, FileWork::Write { path, content }, reply)
            }
            AgentRequest::TerminalCreate { command, args, env, cwd, output_limit, timeout, .. } => {
                let Some(place) = self.place_of(actor) else { return };
                let cwd = cwd.unwrap_or_else(|| place.cwd.clone());
                let spec = TerminalSpec { command, args, env, cwd, output_limit, timeout };
                let in_turn = actor.subagent().is_none();
                let reply = reply.recorded(self.record_command(session, What::Command, &spec));
                let pending =
                    PendingCommand { session, in_turn, reply, spec, folder: None, is_allowed: false };
                self.deferred.add_command((&self.shared, self.agent), place, pending);
            }
            AgentRequest::TerminalOutput { terminal, .. } => {
                match self.shared.terminals.output(session, &terminal) {
                    Ok(output) => {
                        reply.ok(to_acp::terminal_output(output.text, output.truncated, output.exit))
                    }
                    Err(error) => reply.fail(&no_terminal(&terminal, &error)),
                }
            }
            AgentRequest::TerminalWait { terminal, timeout, .. } => {
                self.wait(session, &terminal, timeout, reply)
            }
            AgentRequest::TerminalKill { terminal, force, .. } => {
                let grace = if force { Duration::ZERO } else { GRACE };
                match self.shared.terminals.kill_within(session, &terminal, grace) {
                    Ok(()) => reply.ok(to_acp::terminal_killed()),
                    Err(error) => reply.fail(&no_terminal(&terminal, &error)),
                }
            }
            AgentRequest::TerminalRelease { terminal, .. } => {
                match self.shared.terminals.release(session, &terminal) {
                    Ok(()) => reply.ok(to_acp::terminal_released()),
                    Err(error) => return reply.fail(&no_terminal(&terminal, &error)),
                }
                if let Some(turn) = self.sessions.get_mut(session).and_then(|known| known.turn.as_mut()) {
                    turn.terminals.retain(|id| *id != terminal);
                }
            }
            AgentRequest::Form { scope, message, schema, call } => {
                let call = match actor.subagent() {
                    Some(id) => call.map(|call| call.within(id)),
                    None => call,
                };
                self.ask_within(scope, actor, Question::Form { message, schema, call }, reply);
            }
            AgentRequest::Url { scope, message, url, elicitation } => {
                self.ask_within(scope, actor, Question::Url { message, url, elicitation }, reply);
            }
        }
    }

    fn permission(
        &mut self,
        actor: &Actor,
        mut call: Box<ToolCallPatch>,
        options: Vec<PermissionOption>,
        reply: Reply,
    ) {
        let session = actor.session;
        let Some(place) = self.place_of(actor) else { return };
        if let Some(id) = actor.subagent() {
            call.id = call.id.within(id);
        }
        let mut reply = self.record_permission(session, &place, (&call, &options), reply);
        let turn = self.sessions.get(session).and_then(|known| known.turn.as_ref());
        // A turn that is cancelled ends those subagents that it waits for, and they take their questions back.
        let is_cancelled = actor.subagent().is_none() && turn.is_some_and(|turn| turn.cancelled);
        let ours = |terminal: &TerminalId| self.shared.terminals.has(session, terminal);
        let terminals = Self::agent_terminals(&mut self.sessions, &mut self.subagents, actor);
        let Some(terminals) = terminals else { return };
        let started = terminals.show(&mut call, ours);
        self.shared.images.take_all(session, call.content.iter_mut().flatten());
        let news = call_news(&call, &place.cwd);
        self.shared.folder_indexes.asked(session, &call.id, news, self.arrived);
        self.tell(actor, started);
        let action = Action::Permission { has_options: !options.is_empty(), is_cancelled };
        let (decision, _) = self.shared.policy.decide(session, &action);
        let Decision { verdict, reason } = decision;
        reply.note(|line| line.decided(decision));
        if reason == Reason::NothingToChoose {
            let what = call.title.as_deref().unwrap_or("something");
            let text = format!("{} asks for permission ({what}) but gives no answer to choose", self.name);
            self.note(Some(session), Severity::Warning, text);
        }
        // Nothing can be allowed for the user yet: that would be an answer of the agent's to choose.
        if verdict != Verdict::Ask {
            self.shared.folder_indexes.answered(session, &call.id, false);
            return reply.ok(to_acp::permission_cancelled());
        }
        self.ask(actor, Question::Permission { call, options }, reply);
    }

    fn ask(&mut self, actor: &Actor, question: Question, reply: Reply) {
        let in_turn = self.sessions.get_mut(actor.session).is_some_and(|known| known.turn.is_some());
        let ends_with = match actor.subagent() {
            Some(id) => EndsWith::Subagent(id.clone()),
            None if in_turn => EndsWith::Turn,
            None => EndsWith::Session,
        };
        self.ask_until(ends_with, actor, question, reply);
    }

    fn ask_within(&mut self, scope: Scope, actor: &Actor, question: Question, reply: Reply) {
        match scope {
            Scope::Session(_) => self.ask(actor, question, reply),
            Scope::Request(request) => self.ask_until(EndsWith::Request(request), actor, question, reply),
        }
    }

    fn ask_until(&mut self, ends_with: EndsWith, actor: &Actor, question: Question, reply: Reply) {
        let (session, branch) = (actor.session, actor.branch.clone());
        let page = match &question {
            Question::Url { elicitation, .. } => Some(elicitation.clone()),
            _ => None,
        };
        let ask = self.questions.open(session, ends_with, &question, reply);
        self.post(Event::Asked { session, branch, ask, question });
        if let Some(page) = page.filter(|page| self.questions.note_page(page, false)) {
            self.withdraw(&EndReason::Completed(&page));
        }
    }

    pub(super) fn file(&mut self, actor: &Actor, work: FileWork, reply: Reply) {
        let Some(place) = self.place_of(actor) else { return };
        let session = actor.session;
        let what = if work.access() == Access::Read { What::Read } else { What::Write };
        let entry = self.record(session, what, |line| line.add_path(&place.cwd.join(work.path())));
        let reply = reply.recorded(entry);
        let request = FileRequest { session, place, reply: SharedReply::new(reply), work };
        self.file_queue.serve(request);
    }

    /// Passes a request on for a file that a buffer holds, or that the user has to be asked about. One
    /// that nobody waits for any more is answered by its reply.
    pub(super) fn pass_to_editor(&mut self, passed: EditorRequest) {
        match passed {
            EditorRequest::Buffer(BufferRequest { session, reply, question }) => {
                if self.sessions.get_mut(session).is_some() {
                    self.ask(&Actor { session, branch: None }, question, reply);
                }
            }
            EditorRequest::Outside { reply, question, held } => {
                let session = held.session;
                let Some(known) = self.sessions.get_mut(session) else { return };
                let ends_with = match &known.turn {
                    Some(turn) if turn.cancelled => return,
                    Some(_) => EndsWith::Turn,
                    None => EndsWith::Session,
                };
                let ask = self.questions.open_outside(ends_with, held, reply);
                self.post(Event::Asked { session, branch: None, ask, question });
            }
        }
    }

    fn wait(&mut self, session: SessionKey, terminal: &TerminalId, patience: Option<Duration>, reply: Reply) {
        match self.shared.terminals.wait(session, terminal) {
            Ok(end) => {
                let all_pushed = self.pushed.all(terminal);
                let end = async move {
                    let exit = end.await;
                    all_pushed.await;
                    exit
                };
                match patience {
                    // How a command ended that runs on is not known.
                    Some(time) => {
                        let end = async move { timeout(time, end).await.unwrap_or_default() };
                        self.deferred.add_exit(reply, end)
                    }
                    None => self.deferred.add_exit(reply, end),
                }
            }
            Err(error) => reply.fail(&no_terminal(terminal, &error)),
        }
    }

    /// The agent takes a request of its own back.
    pub(super) fn cancelled_by_agent(&mut self, params: &serde_json::Value) {
        if let Some(request) = from_acp::cancelled_request(params) {
            self.deferred.take_back(&request);
            self.tool_servers.take_back(&request);
            self.withdraw(&EndReason::CancelledByAgent(&request));
        }
    }

    pub(super) fn needs(&self, special: Quirk) -> bool {
        matches!(&self.state, State::Ready(info) if quirks::has(info.name.as_deref(), special))
    }
}

fn no_terminal(terminal: &TerminalId, error: &TerminalError) -> RpcError {
    let data = serde_json::json!({ "terminalId": terminal.0 });
    RpcError::new(NOT_FOUND, format!("couldn't use the terminal: {error}")).with_data(data)
}

//! What the agent asks of us: each request is answered exactly once, at once where possible, else by
//! the editor, the disk or a command's end. The protocol's words are `from_acp` and `to_acp`.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::outgoing_requests::Call;
use super::pending_questions::{During, Over};
use super::{Connection, State};
use crate::acp::files::disks::Disks;
use crate::acp::files::{Due, FileRequest, FileWork, ForEditor, Passed};
use crate::acp::quirks::{self, Special};
use crate::acp::terminals::{TerminalError, TerminalSpec};
use crate::acp::wire::from_acp::{self, AgentRequest, Scope};
use crate::acp::wire::rpc::{INTERNAL_ERROR, INVALID_PARAMS, Message, NOT_FOUND, Reply, RequestId, RpcError};
use crate::acp::wire::to_acp;
use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::{Event, Exit, PermissionOption, Question, Severity, ToolCallPatch};

/// Requests that wait for a command's end, or for the disk that one is to run on.
pub struct Waits {
    open: BTreeMap<u64, Reply>,
    starting: BTreeMap<u64, Starting>,
    count: u64,
    tell: mpsc::UnboundedSender<(u64, Wait)>,
    over: mpsc::UnboundedReceiver<(u64, Wait)>,
}

/// What a request has waited for.
pub enum Wait {
    Ended(Exit),
    Answers,
}

/// A command that is to be started.
pub struct Starting {
    session: SessionKey,
    reply: Reply,
    spec: TerminalSpec,
}

impl Default for Waits {
    fn default() -> Self {
        let (tell, over) = mpsc::unbounded_channel();
        Self { open: BTreeMap::new(), starting: BTreeMap::new(), count: 0, tell, over }
    }
}

impl Waits {
    /// Has a command started once the disk of its folder answers.
    fn answering(&mut self, disks: &Disks, starting: Starting) {
        self.count += 1;
        let (wait, tell, disks) = (self.count, self.tell.clone(), disks.clone());
        let folder = starting.spec.cwd.clone();
        self.starting.insert(wait, starting);
        tokio::spawn(async move {
            // What is wrong with the folder is told when the command is started.
            let looked = disks.run(&folder.join("any"), move || drop(folder.metadata())).await;
            if looked.is_some() {
                // Nobody listens any more when the agent is gone.
                let _ = tell.send((wait, Wait::Answers));
            }
        });
    }

    /// The turn is cancelled or over.
    pub fn forget(&mut self, session: SessionKey) {
        // A reply that is dropped says that the request was cancelled.
        self.starting.retain(|_, starting| starting.session != session);
    }

    fn add(&mut self, reply: Reply, end: impl Future<Output = Exit> + Send + 'static) {
        self.count += 1;
        let (wait, tell) = (self.count, self.tell.clone());
        self.open.insert(wait, reply);
        tokio::spawn(async move {
            let exit = end.await;
            // Nobody listens any more when the agent is gone.
            let _ = tell.send((wait, Wait::Ended(exit)));
        });
    }

    /// The next wait that is over, one that nobody waits for any more included.
    pub async fn next(&mut self) -> (u64, Wait) {
        match self.over.recv().await {
            Some(over) => over,
            // There is always a sender, which is ours.
            None => std::future::pending().await,
        }
    }

    /// Answers the request, or gives the command that can be started now.
    pub fn answer(&mut self, (wait, over): (u64, Wait)) -> Option<Starting> {
        match over {
            Wait::Ended(exit) => {
                let reply = self.open.remove(&wait)?;
                reply.ok(to_acp::terminal_exited(exit));
                None
            }
            Wait::Answers => self.starting.remove(&wait),
        }
    }

    fn take_back(&mut self, request: &RequestId) {
        // A reply that is dropped says that the request was cancelled.
        self.open.retain(|_, reply| reply.id() != request);
        self.starting.retain(|_, starting| starting.reply.id() != request);
    }

    pub fn end(&mut self) {
        self.open.clear();
        self.starting.clear();
    }
}

impl Connection {
    pub(super) fn serve(&mut self, id: RequestId, method: &str, params: &serde_json::Value) {
        let reply = Reply::new(id, &self.outbox);
        if self.shared.handled.serves(method) {
            let session = self.named_session(params);
            let ask = self.asks.open_call(session, reply);
            let (agent, method, params) = (self.agent, method.to_owned(), params.clone());
            return self.post(Event::Called { agent, session, ask, method, params });
        }
        let settings = &self.shared.settings;
        let served = match method {
            "fs/read_text_file" => settings.can_read,
            "fs/write_text_file" => settings.can_write,
            _ if method.starts_with("terminal/") => settings.can_run,
            _ => true,
        };
        if !served {
            return reply.fail(&RpcError::no_method(method));
        }
        let served = from_acp::request(method, params).and_then(|request| {
            let session = self.session_for(&request)?;
            Ok((session, request))
        });
        match served {
            Ok((session, request)) => self.serve_in(session, request, reply),
            Err(error) => reply.fail(&error),
        }
    }

    /// A notification beyond the protocol goes to the user, if to anyone.
    pub(super) fn told(&mut self, method: String, params: serde_json::Value) {
        if !self.shared.handled.listens_to(&method) {
            return;
        }
        if let Some(acp_id) = self.still_unnamed(&params) {
            return self.held.push((acp_id, Message::Notification { method, params }));
        }
        let session = self.named_session(&params);
        self.post(Event::Told { agent: self.agent, session, method, params });
    }

    /// The session of ours that a message beyond the protocol names, if it does.
    fn named_session(&self, params: &serde_json::Value) -> Option<SessionKey> {
        let acp_id = from_acp::session_of(params)?;
        self.sessions.find(&acp_id).map(|session| session.key)
    }

    fn session_for(&self, request: &AgentRequest) -> Result<SessionKey, RpcError> {
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
                Scope::Request(request) => return self.session_of_call(request),
            },
        };
        self.sessions.find(acp_id).map(|session| session.key).ok_or_else(|| {
            let message = format!("no session {acp_id:?}; open or load it first");
            RpcError::new(NOT_FOUND, message).with_data(serde_json::json!({ "sessionId": acp_id }))
        })
    }

    /// The session that a request of ours is about. One about none, such as a login, is shown in any;
    /// there may be none open yet.
    fn session_of_call(&self, request: &RequestId) -> Result<SessionKey, RpcError> {
        let of_call = match self.calls.get(request) {
            Some(
                Call::Open { session, .. }
                | Call::Load { session }
                | Call::Prompt { session }
                | Call::Steer { session, .. }
                | Call::Wish { session: Some(session), .. },
            ) => Some(*session),
            Some(_) => self.sessions.any().map(|session| session.key).or(self.home),
            None => None,
        };
        of_call.ok_or_else(|| RpcError::invalid("requestId", "must be that of a request that still runs"))
    }

    fn serve_in(&mut self, session: SessionKey, request: AgentRequest, reply: Reply) {
        match request {
            AgentRequest::Permission { call, options, .. } => self.permission(session, call, options, reply),
            AgentRequest::Read { path, line, limit, .. } => {
                let missing_is_empty = self.needs(Special::MissingFileIsEmpty);
                self.file(session, FileWork::Read { path, line, limit, missing_is_empty }, reply);
            }
            AgentRequest::Write { path, content, .. } => {
                self.file(session, FileWork::Write { path, content }, reply)
            }
            AgentRequest::TerminalCreate { command, args, env, cwd, output_limit, .. } => {
                let Some(known) = self.sessions.get_mut(session) else { return };
                let cwd = cwd.unwrap_or_else(|| known.place.cwd.clone());
                let spec = TerminalSpec { command, args, env, cwd, output_limit };
                self.waits.answering(&self.shared.disks, Starting { session, reply, spec });
            }
            AgentRequest::TerminalOutput { terminal, .. } => {
                match self.shared.terminals.output(session, &terminal) {
                    Ok(output) => {
                        reply.ok(to_acp::terminal_output(output.text, output.truncated, output.exit))
                    }
                    Err(error) => reply.fail(&no_terminal(&terminal, &error)),
                }
            }
            AgentRequest::TerminalWait { terminal, .. } => self.wait(session, &terminal, reply),
            AgentRequest::TerminalKill { terminal, .. } => {
                match self.shared.terminals.kill(session, &terminal) {
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
                self.ask_within(scope, session, Question::Form { message, schema, call }, reply);
            }
            AgentRequest::Url { scope, message, url, elicitation } => {
                self.ask_within(scope, session, Question::Url { message, url, elicitation }, reply);
            }
        }
    }

    fn permission(
        &mut self,
        session: SessionKey,
        mut call: Box<ToolCallPatch>,
        options: Vec<PermissionOption>,
        reply: Reply,
    ) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        let ours = |terminal: &TerminalId| self.shared.terminals.has(session, terminal);
        let started = known.foreign.show(&mut call, ours);
        self.shared.images.take_all(session, call.content.iter_mut().flatten());
        let cancelled = known.turn.as_ref().is_some_and(|turn| turn.cancelled);
        started.into_iter().for_each(|event| self.post(event));
        if cancelled {
            return reply.ok(to_acp::permission_cancelled());
        }
        if options.is_empty() {
            let what = call.title.as_deref().unwrap_or("something");
            let text = format!("{} asks for permission ({what}) but gives no answer to choose", self.name);
            self.note(Some(session), Severity::Warning, text);
            return reply.ok(to_acp::permission_cancelled());
        }
        self.ask(session, Question::Permission { call, options }, reply);
    }

    fn ask(&mut self, session: SessionKey, question: Question, reply: Reply) {
        let in_turn = self.sessions.get_mut(session).is_some_and(|known| known.turn.is_some());
        self.ask_during(if in_turn { During::Turn } else { During::Nothing }, session, question, reply);
    }

    fn ask_within(&mut self, scope: Scope, session: SessionKey, question: Question, reply: Reply) {
        match scope {
            Scope::Session(_) => self.ask(session, question, reply),
            Scope::Request(request) => self.ask_during(During::Request(request), session, question, reply),
        }
    }

    fn ask_during(&mut self, during: During, session: SessionKey, question: Question, reply: Reply) {
        let ask = self.asks.open(session, during, &question, reply);
        self.post(Event::Asked { session, ask, question });
    }

    fn file(&mut self, session: SessionKey, work: FileWork, reply: Reply) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        let request = FileRequest { session, place: known.place.clone(), reply: Due::new(reply), work };
        self.files.serve(request);
    }

    /// Passes a request on for a file that a buffer holds, or that the user has to be asked about. One
    /// that nobody waits for any more is answered by its reply.
    pub(super) fn ask_editor(&mut self, passed: Passed) {
        match passed {
            Passed::Buffer(ForEditor { session, reply, question }) => {
                if self.sessions.get_mut(session).is_some() {
                    self.ask(session, question, reply);
                }
            }
            Passed::Outside { reply, question, held } => {
                let session = held.session;
                let Some(known) = self.sessions.get_mut(session) else { return };
                let during = match &known.turn {
                    Some(turn) if turn.cancelled => return,
                    Some(_) => During::Turn,
                    None => During::Nothing,
                };
                let ask = self.asks.open_outside(during, held, reply);
                self.post(Event::Asked { session, ask, question });
            }
        }
    }

    /// Starts a command, whose folder's disk answers.
    pub(super) fn start_command(&mut self, starting: Starting) {
        let Starting { session, reply, spec } = starting;
        let Some(known) = self.sessions.get_mut(session) else { return };
        match self.shared.terminals.create(session, spec) {
            Ok(terminal) => {
                reply.ok(to_acp::terminal_created(&terminal.0));
                if let Some(turn) = &mut known.turn {
                    turn.terminals.push(terminal);
                }
            }
            Err(error) => reply.fail(&not_run(&error)),
        }
    }

    fn wait(&mut self, session: SessionKey, terminal: &TerminalId, reply: Reply) {
        match self.shared.terminals.wait(session, terminal) {
            Ok(end) => self.waits.add(reply, end),
            Err(error) => reply.fail(&no_terminal(terminal, &error)),
        }
    }

    /// The agent takes a request of its own back.
    pub(super) fn taken_back(&mut self, params: &serde_json::Value) {
        if let Some(request) = from_acp::cancelled_request(params) {
            self.waits.take_back(&request);
            self.withdraw(&Over::TakenBack(&request));
        }
    }

    fn needs(&self, special: Special) -> bool {
        matches!(&self.state, State::Ready(info) if quirks::has(info.name.as_deref(), special))
    }
}

fn not_run(error: &TerminalError) -> RpcError {
    let code = match error {
        TerminalError::Start { .. }
        | TerminalError::System(_)
        | TerminalError::TooMany(_)
        | TerminalError::Leaving => INTERNAL_ERROR,
        _ => INVALID_PARAMS,
    };
    RpcError::new(code, format!("couldn't run the command: {error}"))
}

fn no_terminal(terminal: &TerminalId, error: &TerminalError) -> RpcError {
    let data = serde_json::json!({ "terminalId": terminal.0 });
    RpcError::new(NOT_FOUND, format!("couldn't use the terminal: {error}")).with_data(data)
}

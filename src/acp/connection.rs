//! The conversation with one agent, from the start to the end: who speaks next, and what is told to whom when
//! it is over. Requests are made in `outgoing_requests`, their answers taken in `responses`, and the agent's
//! served in `incoming_requests`. What messages look like is for `wire::from_acp` and `wire::to_acp`.

mod commands;
mod confined;
mod deadlines;
mod deferred_replies;
mod incoming_requests;
mod left_running;
mod open_requests;
mod outgoing_requests;
mod patience;
pub(crate) mod pending_questions;
mod pushed_output;
mod recorded;
mod responses;
mod sandbox;
pub(crate) mod sessions;
mod state;
mod subagent_updates;
mod subagents;
mod system_prompt;
mod tool_requests;
mod tool_servers;
mod tool_terminals;
mod tools;
mod updates;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use self::confined::Sandboxed;
use self::deadlines::Deadlines;
use self::deferred_replies::DeferredReplies;
use self::open_requests::OutgoingRequest;
use self::pending_questions::{EndReason, PendingQuestions};
use self::pushed_output::PushedOutput;
use self::sessions::Sessions;
use self::state::{Connection, State};
use self::subagents::Subagents;
use self::tool_servers::ToolServers;
use self::tool_terminals::ToolTerminals;
use super::audit::{Calls, Recorder};
use super::files::queue::{EditorRequest, FileQueue};
use super::processes::agent_process::{Context, Process, SpawnError};
use super::refusals::{failed_to_start, refuse};
use super::remote::{self, RemoteAgent};
use super::replay::ReplayTransport;
use super::shared::Shared;
use super::wire::dialect::Converter;
use super::wire::fast_path::{FastPath, Listener, SessionNames};
use super::wire::from_acp::{self, Notification};
use super::wire::incoming::Incoming;
use super::wire::log::AgentLog;
use super::wire::outbox::Outbox;
use super::wire::rpc::{self, Message, Noise, OpenRequests, RpcError};
use super::wire::to_acp;
use super::wire::to_acp::Without;
use super::wire::transport::{Batch, MessageSink, Transport};
use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{
    Command, Dialect, Ending, Event, Failure, FailureKind, Launch, Remote, Severity, Steering, TurnEnd,
};
use crate::core::replay::Replay;
use crate::core::session::exit_text;

/// How long the output of a process that is gone may still come, from a child that holds the pipe.
const OUTPUT_GRACE: Duration = Duration::from_millis(300);

/// How long after the end of its output a process is expected to be gone, so that its code is known.
const EXIT_GRACE: Duration = Duration::from_millis(500);

/// Why a conversation is over.
enum End {
    /// The user, or Neovim's end, wanted it.
    Wanted,
    /// The agent closed its output, most often since its process ended.
    Left,
    Fault(Failure),
}

/// What a conversation goes on with.
enum Next {
    Command(Command),
    /// What the agent wrote; nothing once it is over.
    Batch(Option<Batch>),
}

/// What a conversation is given besides its transport.
pub struct Link {
    pub agent: AgentId,
    /// What the user is told that it is called.
    pub name: String,
    pub log: AgentLog,
    pub recorder: Recorder,
    pub names: SessionNames,
    pub fast_path: Arc<FastPath>,
    pub converter: Converter,
    /// What the user says that it speaks.
    pub dialect: Option<Dialect>,
    pub without: Without,
    /// It is a recording: what happens in folders meanwhile is nothing of its.
    pub is_replay: bool,
    /// What it and its commands are kept to.
    pub sandbox: Option<Sandboxed>,
}

impl Link {
    pub fn new(shared: &Shared, agent: AgentId, launch: &Launch) -> Self {
        let names = SessionNames::default();
        let [arrived, time, heard] = [(); 3].map(|()| shared.folder_indexes.clone());
        let listener = Listener {
            arrived: Box::new(move || arrived.now()),
            time: Box::new(move || time.time()),
            heard: Box::new(move |session| heard.heard(session, heard.time())),
        };
        let log = shared.log.agent(&launch.name, &launch.env);
        // What a recording does was done, and recorded, before.
        let folder = shared.settings.audit.clone().filter(|_| launch.replay.is_none());
        let to = folder.map(|folder| (shared.audit.clone(), folder));
        Self {
            agent,
            name: launch.shown_name(),
            recorder: Recorder::new(to, &launch.name, log.clone()),
            log,
            fast_path: Arc::new(FastPath::new(shared.mailbox.clone(), names.clone(), listener)),
            names,
            converter: Converter::to(launch, shared.settings.terminals.at_once),
            dialect: launch.dialect,
            without: Without { files: launch.without_files, terminals: launch.without_terminals },
            is_replay: launch.replay.is_some(),
            sandbox: None,
        }
    }
}

/// Starts an agent and talks with it until one of both leaves; returns when nothing of it is left.
pub async fn run(
    shared: Arc<Shared>,
    agent: AgentId,
    launch: Launch,
    commands: mpsc::UnboundedReceiver<Command>,
    leaving: watch::Receiver<Option<Instant>>,
) {
    let mut link = Link::new(&shared, agent, &launch);
    if let Some(replay) = launch.replay.clone() {
        return match begin_replay(&shared, &link, replay).await {
            Ok(transport) => converse(shared, link, transport, commands, leaving).await,
            Err(failure) => shared.mailbox.post(Event::Exited { agent, why: failed_to_start(failure) }),
        };
    }
    if let Some(remote) = launch.remote {
        let transport = reach(&shared, launch.name, remote, &link);
        return converse(shared, link, transport, commands, leaving).await;
    }
    let started = match confined::confine(&shared, &launch).await {
        Ok(sandbox) => {
            link.sandbox = sandbox;
            start(&shared, launch, &link).await
        }
        Err(failure) => Err(failure),
    };
    match started {
        Ok(process) => {
            shared.mailbox.post(Event::Started { agent, pid: process.pid });
            shared.folder_indexes.agent_began(agent, process.root());
            converse(shared.clone(), link, process, commands, leaving).await;
            shared.folder_indexes.agent_ended(agent);
        }
        Err(failure) => shared.mailbox.post(Event::Exited { agent, why: failed_to_start(failure) }),
    }
}

/// Talks with an agent, whatever carries the messages, until one of both leaves.
pub async fn converse(
    shared: Arc<Shared>,
    link: Link,
    mut transport: impl Transport,
    mut commands: mpsc::UnboundedReceiver<Command>,
    mut leaving: watch::Receiver<Option<Instant>>,
) {
    let Link {
        agent,
        name,
        log,
        recorder,
        names,
        fast_path,
        converter,
        dialect,
        without,
        is_replay,
        sandbox,
    } = link;
    let (editor, for_editor) = mpsc::unbounded_channel();
    let file_queue = FileQueue::start(shared.clone(), agent, editor);
    let mut connection = Connection {
        outbox: Outbox::new(transport.lines(), log.clone(), converter),
        shared,
        agent,
        name,
        log,
        recorder,
        calls: Calls::default(),
        open_requests: OpenRequests::default(),
        sessions: Sessions::new(names),
        subagents: Subagents::default(),
        home: None,
        fast_path,
        dialect,
        without,
        is_replay,
        sandbox,
        origin: transport.origin(),
        questions: PendingQuestions::of(agent),
        deferred: DeferredReplies::default(),
        pushed: PushedOutput::default(),
        tool_terminals: ToolTerminals::default(),
        tool_servers: ToolServers::default(),
        file_queue,
        state: State::Starting(Vec::new()),
        unsent: Vec::new(),
        buffered: Vec::new(),
        patience: Deadlines::default(),
        is_slow: false,
        heard: Instant::now(),
        arrived: 0,
        unsaid: None,
        ended_calls: BTreeSet::new(),
        noise_told: false,
    };
    let end = connection.talk(&mut transport, &mut commands, for_editor, &mut leaving).await;
    connection.finish(end, transport, commands, leaving).await;
}

/// An agent that is a recording: no process is started.
async fn begin_replay(shared: &Arc<Shared>, link: &Link, replay: Replay) -> Result<ReplayTransport, Failure> {
    let ends = MessageSink::channel(
        shared.settings.message_limit,
        link.log.clone(),
        link.fast_path.clone(),
        link.converter.clone(),
    );
    let theirs = (shared.replays.clone(), link.agent);
    let started = spawn_blocking(move || ReplayTransport::start(&replay, theirs, ends)).await;
    let message = match started {
        Ok(Ok(transport)) => return Ok(transport),
        Ok(Err(why)) => why,
        Err(_) => "the plugin failed while reading it; see the log".to_owned(),
    };
    Err(Failure { kind: FailureKind::Spawn, message, details: None })
}

/// Begins to connect with an agent that runs elsewhere.
fn reach(shared: &Arc<Shared>, name: String, remote: Remote, link: &Link) -> RemoteAgent {
    let (mailbox, agent) = (shared.mailbox.clone(), link.agent);
    let tell = move |text| {
        mailbox.post(Event::Noted { agent, session: None, severity: Severity::Warning, text });
    };
    RemoteAgent::connect(remote::Context {
        name,
        remote,
        message_limit: shared.settings.message_limit,
        guard: shared.guard.clone(),
        log: link.log.clone(),
        fast_path: link.fast_path.clone(),
        converter: link.converter.clone(),
        pace: shared.settings.pace,
        reached: shared.reached.clone(),
        tell: Box::new(tell),
    })
}

async fn start(shared: &Arc<Shared>, launch: Launch, link: &Link) -> Result<Process, Failure> {
    let context = Context {
        message_limit: shared.settings.message_limit,
        keeper: shared.settings.keeper.clone(),
        confined: link.sandbox.as_ref().map(|sandbox| sandbox.confined.clone()),
        guard: shared.guard.clone(),
        log: link.log.clone(),
        fast_path: link.fast_path.clone(),
        converter: link.converter.clone(),
    };
    let failure = |message: String| Failure { kind: FailureKind::Spawn, message, details: None };
    match spawn_blocking(move || Process::start(&launch, context)).await {
        Ok(Ok(process)) => Ok(process),
        Ok(Err(error)) => Err(failure(SpawnError::to_string(&error))),
        Err(_) => Err(failure("the plugin failed while starting it; see the log".to_owned())),
    }
}

impl Connection {
    async fn talk(
        &mut self,
        transport: &mut impl Transport,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        mut for_editor: mpsc::UnboundedReceiver<EditorRequest>,
        leaving: &mut watch::Receiver<Option<Instant>>,
    ) -> End {
        let deadline = Instant::now() + self.shared.settings.initialize_timeout;
        self.request(
            OutgoingRequest::Initialize,
            to_acp::INITIALIZE,
            &to_acp::initialize(&self.shared.settings, self.without),
        );
        let mut ended = transport.ended();
        loop {
            let mailbox = self.shared.mailbox.clone();
            let is_gone = ended.borrow().is_some();
            let due = self.patience.next();
            let next = tokio::select! {
                biased;
                _ = leaving.wait_for(Option::is_some) => return End::Wanted,
                command = commands.recv() => match command {
                    Some(Command::Disconnect { .. }) | None => return End::Wanted,
                    Some(command) => Next::Command(command),
                },
                Some(request) = for_editor.recv() => {
                    self.pass_to_editor(request);
                    continue;
                }
                over = self.deferred.next() => {
                    if let Some(next) = self.deferred.answer(over) {
                        self.command_next(next);
                    }
                    continue;
                }
                () = sleep_until(deadline), if matches!(self.state, State::Starting(_)) => {
                    return End::Fault(self.too_slow());
                }
                () = sleep_until(due.unwrap_or(deadline)), if due.is_some() => {
                    self.lose_patience();
                    continue;
                }
                Ok(_) = ended.wait_for(Option::is_some), if !is_gone => continue,
                batch = async {
                    // An agent that is faster than the editor is held back here.
                    mailbox.room().await;
                    if is_gone {
                        timeout(OUTPUT_GRACE, transport.receive()).await.unwrap_or_default()
                    } else {
                        transport.receive().await
                    }
                } => Next::Batch(batch),
            };
            let Batch { at, unsaid, incoming: batch } = match next {
                Next::Batch(Some(batch)) => batch,
                Next::Batch(None) => return End::Left,
                Next::Command(mut command) => {
                    self.read_system_prompt(&mut command).await;
                    if let Command::Prompt { session, .. } = &command {
                        self.shared.folder_indexes.ready(*session).await;
                        if self.sessions.get(*session).is_some_and(|known| known.turn.is_none()) {
                            // What was changed before is not the agent's.
                            self.shared.folder_indexes.settle(*session).await;
                        }
                    }
                    self.command(command);
                    continue;
                }
            };
            self.heard = Instant::now();
            (self.arrived, self.unsaid) = (at, unsaid);
            let named = self.paths_named(&batch);
            if !named.is_empty() {
                self.shared.resolved_names.tell_new(named).await;
            }
            for incoming in batch {
                self.tell_changes_before(&incoming).await;
                if let ControlFlow::Break(failure) = self.incoming(incoming) {
                    self.check_ended_calls();
                    return End::Fault(failure);
                }
            }
            self.check_ended_calls();
            self.fast_path.slow_batch_done();
        }
    }

    fn too_slow(&self) -> Failure {
        let seconds = self.shared.settings.initialize_timeout.as_secs();
        Failure {
            kind: FailureKind::Timeout,
            message: format!(
                "it didn't answer within {seconds} s; see its last words, or allow it more time"
            ),
            details: None,
        }
    }

    fn incoming(&mut self, incoming: Incoming) -> ControlFlow<Failure> {
        let limit = self.shared.settings.message_limit >> 20;
        match incoming {
            Incoming::Chunk(chunk) => self.chunk(chunk),
            Incoming::Told(told) => self.told(told),
            Incoming::Message(message) => return self.message(message),
            Incoming::Refused(id, error) => self.outbox.error(&id, &error),
            Incoming::Noise(noise, line) if !self.noise_told => {
                self.noise_told = true;
                let what = match noise {
                    Noise::Array => "batches of messages, which the protocol doesn't have",
                    Noise::Text | Noise::Object => "what is no message",
                };
                self.note(
                    None,
                    Severity::Info,
                    format!("{} writes {what}, to its stdout: {line}", self.name),
                );
            }
            Incoming::Noise(..) => {}
            Incoming::TooLong => {
                return ControlFlow::Break(Failure {
                    kind: FailureKind::Protocol,
                    message: format!("it sent a message of more than {limit} MiB, which is the limit"),
                    details: None,
                });
            }
            Incoming::LengthHeader => {
                return ControlFlow::Break(Failure {
                    kind: FailureKind::Framing,
                    message:
                        "it frames messages as a language server does (Content-Length); use its ACP command"
                            .into(),
                    details: None,
                });
            }
        }
        ControlFlow::Continue(())
    }

    fn message(&mut self, message: Message) -> ControlFlow<Failure> {
        match message {
            Message::Response { id, result } => match self.open_requests.close(&id) {
                Some(call) => {
                    self.withdraw(&EndReason::Answered(&id));
                    return self.answered(call, result);
                }
                None => self.log.note(&format!("an answer to no request of ours: id {id}")),
            },
            Message::Notification { method, params } => self.notified(method, params),
            Message::Request { id, method, params } => {
                if let Some(acp_id) = self.still_unnamed(&params) {
                    self.buffered.push((acp_id, Message::Request { id, method, params }));
                } else {
                    self.serve(id, &method, &params);
                }
            }
            Message::Malformed { id } => {
                self.outbox.error(&id, &RpcError::new(rpc::INVALID_REQUEST, "invalid request: no method"));
            }
        }
        ControlFlow::Continue(())
    }

    fn notified(&mut self, method: String, params: serde_json::Value) {
        match from_acp::notification(&method) {
            Some(Notification::Update) => self.updated(params),
            Some(Notification::Cancelled) => self.cancelled_by_agent(&params),
            Some(Notification::PageDone) => {
                if let Some(done) = from_acp::completed_elicitation(&params) {
                    self.questions.note_page(&done, true);
                    self.withdraw(&EndReason::Completed(&done));
                }
            }
            Some(Notification::AuthStatus) => self.auth_reported(from_acp::auth_status(&params)),
            None => {
                if method == from_acp::AUTH_STATUS_OF_META {
                    self.auth_reported(from_acp::auth_status_of_meta(&params));
                }
                self.extension_notification(method, params);
            }
        }
    }

    async fn finish(
        mut self,
        end: End,
        mut transport: impl Transport,
        mut commands: mpsc::UnboundedReceiver<Command>,
        mut leaving: watch::Receiver<Option<Instant>>,
    ) {
        // What comes from here on is refused by the dispatcher; what is here already waits with all else.
        commands.close();
        while let Ok(command) = commands.try_recv() {
            self.unsent.push(command);
        }
        self.withdraw(&EndReason::All);
        self.deferred.end();
        self.file_queue.end().await;
        // What was changed until now is told while it is known who was at work.
        tokio::select! {
            () = self.shared.folder_indexes.settle_all(self.sessions.keys()) => {}
            _ = leaving.wait_for(Option::is_some) => {}
        }
        for session in self.sessions.keys() {
            self.shared.terminals.end_session(session);
            self.shared.watch.closed(session);
            self.shared.folder_indexes.session_ended(session);
            self.shared.policy.ended(session);
            self.end_agent_terminals(session);
        }
        match end {
            End::Wanted => {
                self.fail_all(&self.disconnected("was ended", Vec::new()));
                transport.close(&mut leaving).await;
                self.exited(None, &transport, true).await;
            }
            End::Fault(failure) => {
                self.fail_all(&failure);
                self.exited(Some(failure), &transport, false).await;
                transport.close(&mut leaving).await;
            }
            End::Left => {
                let mut ended = transport.ended();
                // With the process its exit code comes, which says more than that it is gone.
                tokio::select! {
                    _ = ended.wait_for(Option::is_some) => {}
                    () = sleep(EXIT_GRACE) => {}
                    _ = leaving.wait_for(Option::is_some) => {}
                }
                let exit = ended.borrow().clone();
                let trouble = transport.trouble();
                let how = match exit {
                    _ if trouble.is_some() => {
                        format!("lost its connection: {}", trouble.as_deref().unwrap_or_default())
                    }
                    Some(exit) => exit_text(Some(&exit)),
                    None => "closed its output".to_owned(),
                };
                let failure = self.disconnected(&how, transport.last_words().await);
                self.fail_all(&failure);
                let sandbox = if self.may_be_sandboxs_fault(&failure) { sandbox::MAY_BE_WHY } else { "" };
                let message = match (matches!(self.state, State::Starting(_)), trouble) {
                    (true, Some(trouble)) => Some(trouble),
                    (true, None) => {
                        let said = match failure.details {
                            Some(_) => "see what it said last",
                            None => "it said nothing; try its command in a terminal",
                        };
                        Some(format!("it {how} before it was ready; {said}{sandbox}"))
                    }
                    // Of a process the exit code says it.
                    (false, trouble) => trouble.and(Some(how)),
                };
                let failure = message.map(|message| Failure { message, ..failure });
                self.exited(failure, &transport, false).await;
                transport.close(&mut leaving).await;
            }
        }
    }

    fn disconnected(&self, how: &str, stderr: Vec<String>) -> Failure {
        let details = (!stderr.is_empty()).then(|| stderr.join("\n"));
        Failure { kind: FailureKind::Disconnected, message: format!("{} {how}", self.name), details }
    }

    async fn exited(&self, failure: Option<Failure>, transport: &impl Transport, expected: bool) {
        let exit = transport.ended().borrow().clone();
        let how = match (&failure, expected) {
            (_, true) => "it was ended".to_owned(),
            (Some(failure), _) => failure.message.clone(),
            (None, _) => exit_text(exit.as_ref()),
        };
        self.log.ended(&how);
        let why = Ending { failure, exit, stderr: transport.last_words().await, expected };
        self.post(Event::Exited { agent: self.agent, why });
    }

    /// No answer comes any more: says so to all who wait for one.
    fn fail_all(&mut self, failure: &Failure) {
        let failed = || failure.clone();
        for call in self.open_requests.drain() {
            match call {
                // A session is closed with its agent.
                OutgoingRequest::Initialize
                | OutgoingRequest::AuthStatus
                | OutgoingRequest::Status { .. }
                | OutgoingRequest::Unwanted
                | OutgoingRequest::Close { .. } => {}
                OutgoingRequest::Open { session, .. } | OutgoingRequest::Load { session, .. } => {
                    self.post(Event::OpenFailed { session, failure: failed() });
                }
                OutgoingRequest::Prompt { session } => {
                    if self.sessions.get_mut(session).is_some() {
                        self.post(Event::TurnEnded { session, end: TurnEnd::Failed(failed()) });
                    }
                }
                OutgoingRequest::Steer { session, content } => {
                    let outcome = Steering::NotTaken(Some(failed()));
                    self.post(Event::Steered { session, content, outcome });
                }
                OutgoingRequest::Other { is_late: true, .. } => {}
                OutgoingRequest::Other { session, what, .. } => self.request_failed(session, what, failed()),
            }
        }
        for session in self.sessions.keys() {
            self.fail_waiting(session, failure);
        }
        let mut unsent = Vec::new();
        if let State::Starting(waiting) = &mut self.state {
            unsent.append(waiting);
        }
        unsent.append(&mut self.unsent);
        for command in unsent {
            refuse(&self.shared.mailbox, Some(self.agent), command, failed());
        }
    }

    fn fail_waiting(&mut self, session: SessionKey, failure: &Failure) {
        let waiting = self.sessions.get_mut(session).map(|known| std::mem::take(&mut known.waiting));
        for _ in waiting.unwrap_or_default() {
            self.post(Event::TurnEnded { session, end: TurnEnd::Failed(failure.clone()) });
        }
    }
}

#[cfg(test)]
mod tests;

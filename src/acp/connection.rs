//! The conversation with one agent, from the start of its process to the end: who speaks next, and
//! what is told to whom when it is over. Our requests are made in `wishes` and their answers taken in
//! `answers`; the agent's are served in `serve`. What messages look like is for `from_acp` and `to_acp`.

mod incoming_requests;
mod left_running;
mod outgoing_requests;
pub(crate) mod pending_questions;
mod responses;
pub(crate) mod sessions;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use self::incoming_requests::Waits;
use self::outgoing_requests::Call;

use self::pending_questions::{Asks, Over};
use self::sessions::Sessions;
use super::files::{Files, Passed};
use super::stillborn;
use crate::acp::dispatcher::{self, Shared};
use crate::acp::processes::agent_process::{Output, Process, SpawnError};
use crate::acp::processes::escaped::Origin;
use crate::acp::wire::fast_path::{Names, Shortcut};
use crate::acp::wire::from_acp::{self, Chunk, Fact};
use crate::acp::wire::log::AgentLog;
use crate::acp::wire::outbox::Outbox;
use crate::acp::wire::rpc::{self, Calls, Message, Noise, RpcError};
use crate::acp::wire::to_acp;
use crate::core::ids::{AgentId, SessionKey, TerminalId};
use crate::core::message::{
    AgentInfo, Command, Ending, Event, Failure, FailureKind, Launch, Severity, Steering, TurnEnd, Update,
};
use crate::core::session::exit_text;

/// How long the output of a process that is gone may still come, from a child that holds the pipe.
const ECHO: Duration = Duration::from_millis(300);

/// How long after the end of its output a process is expected to be gone, so that its code is known.
const LAST_BREATH: Duration = Duration::from_millis(500);

/// Messages kept for sessions that the agent has not named yet.
const MOST_HELD: usize = 1000;

pub struct Connection {
    shared: Arc<Shared>,
    agent: AgentId,
    name: String,
    log: AgentLog,
    outbox: Outbox,
    calls: Calls<Call>,
    sessions: Sessions,
    /// The session that was opened last, or is yet to be: what is about none is shown there.
    home: Option<SessionKey>,
    shortcut: Arc<Shortcut>,
    /// By what all that the agent starts can be found.
    origin: Origin,
    asks: Asks,
    waits: Waits,
    files: Files,
    state: State,
    /// What was wanted of the agent when nobody listened any more.
    unheard: Vec<Command>,
    /// What came for sessions whose names are still on their way, with those names.
    held: Vec<(String, Message)>,
    /// The user was told that the agent writes other things than messages.
    noise_told: bool,
}

enum State {
    /// Until `initialize` is answered, wishes wait.
    Starting(Vec<Command>),
    Ready(Box<AgentInfo>),
}

/// Why a conversation is over.
enum End {
    /// The user, or Neovim's end, wanted it.
    Wanted,
    /// The agent closed its output, most often since its process ended.
    Left,
    Fault(Failure),
}

/// Starts an agent and talks with it until one of both leaves; returns when nothing of it is left.
pub async fn run(
    shared: Arc<Shared>,
    agent: AgentId,
    launch: Launch,
    mut commands: mpsc::UnboundedReceiver<Command>,
    mut leaving: watch::Receiver<Option<Instant>>,
) {
    let log = shared.log.agent(&launch.name, &launch.env);
    let names = Names::default();
    let shortcut = Arc::new(Shortcut::new(shared.mailbox.clone(), names.clone()));
    let (mut process, name) = match start(&shared, launch, &log, shortcut.clone()).await {
        Ok(started) => started,
        Err(failure) => return shared.mailbox.post(Event::Exited { agent, why: stillborn(failure) }),
    };
    shared.mailbox.post(Event::Started { agent, pid: process.pid });
    let (editor, for_editor) = mpsc::unbounded_channel();
    let files = Files::start(shared.clone(), agent, editor);
    let mut connection = Connection {
        outbox: Outbox::new(process.input.clone(), log.clone()),
        shared,
        agent,
        name,
        log,
        calls: Calls::default(),
        sessions: Sessions::new(names),
        home: None,
        shortcut,
        origin: process.origin(),
        asks: Asks::of(agent),
        waits: Waits::default(),
        files,
        state: State::Starting(Vec::new()),
        unheard: Vec::new(),
        held: Vec::new(),
        noise_told: false,
    };
    let end = connection.talk(&mut process, &mut commands, for_editor, &mut leaving).await;
    connection.finish(end, process, commands, leaving).await;
}

async fn start(
    shared: &Arc<Shared>,
    launch: Launch,
    log: &AgentLog,
    shortcut: Arc<Shortcut>,
) -> Result<(Process, String), Failure> {
    let name = launch.name.clone();
    let (limit, guard, log) = (shared.settings.message_limit, shared.guard.clone(), log.clone());
    let keeper = shared.settings.keeper.clone();
    let failure = |message: String| Failure { kind: FailureKind::Spawn, message, details: None };
    match spawn_blocking(move || Process::start(&launch, limit, keeper.as_deref(), guard, &log, shortcut))
        .await
    {
        Ok(Ok(process)) => Ok((process, name)),
        Ok(Err(error)) => Err(failure(SpawnError::to_string(&error))),
        Err(_) => Err(failure("the plugin failed while starting it; see the log".to_owned())),
    }
}

impl Connection {
    async fn talk(
        &mut self,
        process: &mut Process,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        mut for_editor: mpsc::UnboundedReceiver<Passed>,
        leaving: &mut watch::Receiver<Option<Instant>>,
    ) -> End {
        let deadline = Instant::now() + self.shared.settings.initialize_timeout;
        self.request(Call::Initialize, to_acp::INITIALIZE, &to_acp::initialize(&self.shared.settings));
        loop {
            let mailbox = self.shared.mailbox.clone();
            let (gone, exited) = (process.exit().is_some(), process.exited());
            let batch = tokio::select! {
                biased;
                _ = leaving.wait_for(Option::is_some) => return End::Wanted,
                command = commands.recv() => match command {
                    Some(Command::Disconnect { .. }) | None => return End::Wanted,
                    Some(command) => {
                        self.command(command);
                        continue;
                    }
                },
                Some(request) = for_editor.recv() => {
                    self.ask_editor(request);
                    continue;
                }
                over = self.waits.next() => {
                    if let Some(starting) = self.waits.answer(over) {
                        self.start_command(starting);
                    }
                    continue;
                }
                () = sleep_until(deadline), if matches!(self.state, State::Starting(_)) => {
                    return End::Fault(self.too_slow());
                }
                () = exited, if !gone => continue,
                batch = async {
                    // An agent that is faster than the editor is held back here.
                    mailbox.room().await;
                    if gone { timeout(ECHO, process.output.recv()).await.unwrap_or_default() } else { process.output.recv().await }
                } => batch,
            };
            let Some(batch) = batch else { return End::Left };
            let named = self.paths_named(&batch);
            if !named.is_empty() {
                self.shared.names.tell_new(named).await;
            }
            for output in batch {
                if let ControlFlow::Break(failure) = self.hear(output) {
                    return End::Fault(failure);
                }
            }
            self.shortcut.arrived();
        }
    }

    /// The files that calls in these messages name. The editor is told first what they are called.
    fn paths_named(&self, batch: &[Output]) -> Vec<PathBuf> {
        let mut named = BTreeSet::new();
        for output in batch {
            let Output::Message(Message::Notification { params, .. } | Message::Request { params, .. }) =
                output
            else {
                continue;
            };
            let mut paths = from_acp::paths_named(params).peekable();
            if paths.peek().is_none() {
                continue;
            }
            let session = from_acp::session_of(params).and_then(|acp_id| self.sessions.find(&acp_id));
            let Some(session) = session else { continue };
            named.extend(paths.map(|path| session.place.cwd.join(path)));
        }
        named.into_iter().collect()
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

    fn hear(&mut self, output: Output) -> ControlFlow<Failure> {
        let limit = self.shared.settings.message_limit >> 20;
        match output {
            Output::Chunk(chunk) => self.chunk(chunk),
            Output::Message(message) => return self.message(message),
            Output::Noise(noise, line) if !self.noise_told => {
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
            Output::Noise(..) => {}
            Output::TooLong => {
                return ControlFlow::Break(Failure {
                    kind: FailureKind::Protocol,
                    message: format!("it sent a message of more than {limit} MiB, which is the limit"),
                    details: None,
                });
            }
            Output::LengthHeader => {
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
            Message::Response { id, result } => match self.calls.close(&id) {
                Some(call) => {
                    self.withdraw(&Over::Answered(&id));
                    return self.answered(call, result);
                }
                None => self.log.note(&format!("an answer to no request of ours: id {id}")),
            },
            Message::Notification { method, params } => match method.as_str() {
                "session/update" => self.updated(params),
                "$/cancel_request" => self.taken_back(&params),
                "elicitation/complete" => {
                    if let Some(done) = from_acp::completed_elicitation(&params) {
                        self.withdraw(&Over::Completed(&done));
                    }
                }
                _ => self.told(method, params),
            },
            Message::Request { id, method, params } => {
                if let Some(acp_id) = self.still_unnamed(&params) {
                    self.held.push((acp_id, Message::Request { id, method, params }));
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

    fn chunk(&mut self, chunk: Chunk) {
        match self.sessions.find(&chunk.session).map(|known| known.key) {
            Some(session) => self.post(Event::Updated { session, update: chunk.update() }),
            None => self.updated(chunk.params()),
        }
    }

    fn updated(&mut self, params: Value) {
        if let Some(acp_id) = self.still_unnamed(&params) {
            return self
                .held
                .push((acp_id, Message::Notification { method: "session/update".into(), params }));
        }
        let session = from_acp::session_of(&params).and_then(|acp_id| self.sessions.find(&acp_id));
        let Some(session) = session.map(|session| session.key) else {
            return self.log.note("an update for no session of ours");
        };
        for fact in from_acp::update(&params["update"]) {
            self.fact(session, fact);
        }
    }

    fn fact(&mut self, session: SessionKey, fact: Fact) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        // An agent may also tell of a command that this client runs for it, whose output is known better.
        let ours = |terminal: &TerminalId| self.shared.terminals.has(session, terminal);
        let events = match fact {
            Fact::Update(mut update) => {
                self.shared.images.take(session, &mut update);
                let (mut events, mut told) = (Vec::new(), false);
                if let Update::ToolCall(call) = &mut update {
                    events = known.foreign.show(call, ours);
                    let streamed;
                    (streamed, told) = known.foreign.stream(call);
                    events.extend(streamed);
                }
                match &update {
                    Update::Options(options) => known.options.clone_from(options),
                    Update::Unknown { kind } => {
                        self.log.note(&format!("an update that can't be read: {kind:?}"))
                    }
                    _ => {}
                }
                if !told {
                    events.push(Event::Updated { session, update });
                }
                events
            }
            Fact::TerminalStarted { terminal, .. }
            | Fact::TerminalGrew { terminal, .. }
            | Fact::TerminalEnded { terminal, .. }
                if ours(&terminal) =>
            {
                Vec::new()
            }
            Fact::TerminalStarted { call, terminal, cwd } => known.foreign.announced(&call, terminal, cwd),
            Fact::TerminalGrew { call, terminal, data } => known.foreign.grew(&call, &terminal, &data),
            Fact::TerminalEnded { terminal, exit } => known.foreign.ended(&terminal, exit),
            Fact::CallOver { call, exit } => known.foreign.call_over(&call, &exit),
        };
        events.into_iter().for_each(|event| self.post(event));
    }

    /// The commands that the agent runs itself in a session are over, whether it says so or not.
    fn end_foreign(&mut self, session: SessionKey) {
        let ended = self.sessions.get_mut(session).map(|known| known.foreign.end_all());
        ended.into_iter().flatten().for_each(|event| self.post(event));
    }

    /// The session that a message names, if it may be one whose opening is still to be answered.
    fn still_unnamed(&self, params: &Value) -> Option<String> {
        let opening = self.calls.iter().any(|(_, call)| matches!(call, Call::Open { .. }));
        let acp_id = from_acp::session_of(params)?;
        (opening && self.sessions.find(&acp_id).is_none() && self.held.len() < MOST_HELD).then_some(acp_id)
    }

    /// Takes up what was held for sessions that have a name by now. What is for no session is
    /// dropped, or refused, once none is being opened.
    fn let_go_of_held(&mut self) {
        for (acp_id, message) in std::mem::take(&mut self.held) {
            let opening = self.calls.iter().any(|(_, call)| matches!(call, Call::Open { .. }));
            if opening && self.sessions.find(&acp_id).is_none() {
                self.held.push((acp_id, message));
            } else {
                // Neither updates nor requests end a conversation.
                let _ = self.message(message);
            }
        }
    }

    async fn finish(
        mut self,
        end: End,
        mut process: Process,
        mut commands: mpsc::UnboundedReceiver<Command>,
        mut leaving: watch::Receiver<Option<Instant>>,
    ) {
        // What comes from here on is refused by the hub; what is here already waits with all else.
        commands.close();
        while let Ok(command) = commands.try_recv() {
            self.unheard.push(command);
        }
        self.withdraw(&Over::All);
        self.waits.end();
        self.files.end().await;
        for session in self.sessions.keys() {
            self.shared.terminals.end_session(session);
            self.shared.watch.ended(session);
            self.shared.outside.ended(session);
            self.end_foreign(session);
        }
        match end {
            End::Wanted => {
                self.fail_all(&self.disconnected("was ended", Vec::new()));
                process.end(&mut leaving).await;
                self.exited(None, &process, true).await;
            }
            End::Fault(failure) => {
                self.fail_all(&failure);
                self.exited(Some(failure), &process, false).await;
                process.end(&mut leaving).await;
            }
            End::Left => {
                // With the process its exit code comes, which says more than that it is gone.
                tokio::select! {
                    () = process.exited() => {}
                    () = sleep(LAST_BREATH) => {}
                    _ = leaving.wait_for(Option::is_some) => {}
                }
                let how = match process.exit() {
                    Some(exit) => exit_text(Some(&exit)),
                    None => "closed its output".to_owned(),
                };
                let failure = self.disconnected(&how, process.stderr().await);
                self.fail_all(&failure);
                let too_early = matches!(self.state, State::Starting(_)).then_some(Failure {
                    message: format!("it {how} before it was ready; see what it said last"),
                    ..failure
                });
                self.exited(too_early, &process, false).await;
                process.end(&mut leaving).await;
            }
        }
    }

    fn disconnected(&self, how: &str, stderr: Vec<String>) -> Failure {
        let details = (!stderr.is_empty()).then(|| stderr.join("\n"));
        Failure { kind: FailureKind::Disconnected, message: format!("{} {how}", self.name), details }
    }

    async fn exited(&self, failure: Option<Failure>, process: &Process, expected: bool) {
        let why = Ending { failure, exit: process.exit(), stderr: process.stderr().await, expected };
        self.post(Event::Exited { agent: self.agent, why });
    }

    /// No answer comes any more: says so to all who wait for one.
    fn fail_all(&mut self, failure: &Failure) {
        let failed = || failure.clone();
        for call in self.calls.drain() {
            match call {
                // A session is closed with its agent.
                Call::Initialize | Call::Unwanted | Call::Close { .. } => {}
                Call::Open { session, .. } | Call::Load { session } => {
                    self.post(Event::OpenFailed { session, failure: failed() });
                }
                Call::Prompt { session } => {
                    if self.sessions.get_mut(session).is_some() {
                        self.post(Event::TurnEnded { session, end: TurnEnd::Failed(failed()) });
                    }
                }
                Call::Steer { session, content } => {
                    let outcome = Steering::NotTaken(Some(failed()));
                    self.post(Event::Steered { session, content, outcome });
                }
                Call::Wish { session, what, .. } => self.request_failed(session, what, failed()),
            }
        }
        for session in self.sessions.keys() {
            self.fail_waiting(session, failure);
        }
        let mut unheard = Vec::new();
        if let State::Starting(waiting) = &mut self.state {
            unheard.append(waiting);
        }
        unheard.append(&mut self.unheard);
        for command in unheard {
            dispatcher::refuse(&self.shared.mailbox, Some(self.agent), command, failed());
        }
    }

    fn fail_waiting(&mut self, session: SessionKey, failure: &Failure) {
        let waiting = self.sessions.get_mut(session).map(|known| std::mem::take(&mut known.waiting));
        for _ in waiting.unwrap_or_default() {
            self.post(Event::TurnEnded { session, end: TurnEnd::Failed(failure.clone()) });
        }
    }

    fn post(&self, event: Event) {
        self.shared.mailbox.post(event);
    }

    fn note(&self, session: Option<SessionKey>, severity: Severity, text: String) {
        self.post(Event::Noted { agent: self.agent, session, severity, text });
    }

    fn withdraw(&mut self, over: &Over) {
        match over {
            Over::TurnCancelled(session) | Over::TurnEnded(session) | Over::Session(session) => {
                self.files.cancel(*session);
                self.waits.forget(*session);
            }
            Over::TakenBack(request) => self.files.take_back(request),
            Over::Answered(_) | Over::Completed(_) | Over::All => {}
        }
        for (session, ask) in self.asks.withdraw(over) {
            self.post(Event::Withdrawn { session, ask });
        }
    }

    fn request_failed(&self, session: Option<SessionKey>, what: &str, failure: Failure) {
        self.post(Event::RequestFailed { agent: self.agent, session, what: what.to_owned(), failure });
    }
}

//! The conversation with one agent: its process, our requests and what their answers mean, and the
//! sessions in it. What the agent asks of us is served by `serve`; what the messages look like is
//! known to `from_acp` and `to_acp`.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout};

use super::asks::{Asks, Over};
use super::files::{self, FileRequest, ForEditor};
use super::from_acp::{self, Fact};
use super::hub::Shared;
use super::outbox::Outbox;
use super::process::{Output, Process, SpawnError};
use super::rpc::{self, Calls, Message, Noise, RequestId, RpcError};
use super::serve::Waits;
use super::session::{Session, Sessions, Turn};
use super::wire_log::AgentLog;
use super::{stillborn, to_acp};
use crate::core::message::{
    AgentId, AgentInfo, AuthKind, Chosen, Command, Content, Ending, Event, Failure, FailureKind, Launch,
    OptionValue, Place, SessionKey, Severity, StopReason, TurnEnd, Update,
};

/// How long the output of a process that is gone may still come, from a child that holds the pipe.
const ECHO: Duration = Duration::from_millis(300);

/// How long after the end of its output a process is expected to be gone, so that its code is known.
const LAST_BREATH: Duration = Duration::from_millis(500);

/// Messages kept for sessions that the agent has not named yet.
const MOST_HELD: usize = 1000;

pub struct Connection {
    pub(super) shared: Arc<Shared>,
    pub(super) agent: AgentId,
    pub(super) name: String,
    pub(super) log: AgentLog,
    pub(super) outbox: Outbox,
    pub(super) calls: Calls<Call>,
    pub(super) sessions: Sessions,
    pub(super) asks: Asks,
    pub(super) waits: Waits,
    pub(super) files: mpsc::UnboundedSender<FileRequest>,
    pub(super) state: State,
    /// What came for sessions whose names are still on their way, with those names.
    held: Vec<(String, Message)>,
    /// The user was told that the agent writes other things than messages.
    noise_told: bool,
}

pub(super) enum State {
    /// Until `initialize` is answered, wishes wait.
    Starting(Vec<Command>),
    Ready(Box<AgentInfo>),
}

/// A request of ours, and what its answer is for.
pub(super) enum Call {
    Initialize,
    Open {
        session: SessionKey,
        place: Arc<Place>,
    },
    Load {
        session: SessionKey,
    },
    /// A session that nobody wants any more; if it comes to be, it is closed.
    Unwanted,
    Prompt {
        session: SessionKey,
    },
    Choose {
        session: SessionKey,
        what: &'static str,
        choice: Choice,
    },
    List,
    Login,
    Logout,
    /// Nothing is to be done when it succeeds.
    Other {
        session: Option<SessionKey>,
        what: &'static str,
    },
}

pub(super) enum Choice {
    Mode(String),
    Model(String),
    Option(String, OptionValue),
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
    commands: mpsc::UnboundedReceiver<Command>,
    mut leaving: watch::Receiver<Option<Duration>>,
) {
    let log = shared.log.agent(&launch.name, &launch.env);
    let (mut process, name) = match start(&shared, launch, &log).await {
        Ok(started) => started,
        Err(failure) => return shared.mailbox.post(Event::Exited { agent, why: stillborn(failure) }),
    };
    shared.mailbox.post(Event::Started { agent, pid: process.pid });
    let (files, requests) = mpsc::unbounded_channel();
    let (editor, for_editor) = mpsc::unbounded_channel();
    tokio::spawn(files::serve(shared.clone(), agent, requests, editor));
    let mut connection = Connection {
        outbox: Outbox::new(process.input.clone(), log.clone()),
        shared,
        agent,
        name,
        log,
        calls: Calls::default(),
        sessions: Sessions::default(),
        asks: Asks::of(agent),
        waits: Waits::default(),
        files,
        state: State::Starting(Vec::new()),
        held: Vec::new(),
        noise_told: false,
    };
    let end = connection.talk(&mut process, commands, for_editor, &mut leaving).await;
    connection.finish(end, process, leaving).await;
}

async fn start(shared: &Arc<Shared>, launch: Launch, log: &AgentLog) -> Result<(Process, String), Failure> {
    let name = launch.name.clone();
    let (limit, guard, log) = (shared.settings.message_limit, shared.guard.clone(), log.clone());
    let failure = |message: String| Failure { kind: FailureKind::Spawn, message, details: None };
    match spawn_blocking(move || Process::start(&launch, limit, guard, &log)).await {
        Ok(Ok(process)) => Ok((process, name)),
        Ok(Err(error)) => Err(failure(SpawnError::to_string(&error))),
        Err(_) => Err(failure("the plugin failed while starting it; see the log".to_owned())),
    }
}

impl Connection {
    async fn talk(
        &mut self,
        process: &mut Process,
        mut commands: mpsc::UnboundedReceiver<Command>,
        mut for_editor: mpsc::UnboundedReceiver<ForEditor>,
        leaving: &mut watch::Receiver<Option<Duration>>,
    ) -> End {
        let deadline = Instant::now() + self.shared.settings.initialize_timeout;
        self.request(Call::Initialize, to_acp::INITIALIZE, &to_acp::initialize(&self.shared.settings));
        loop {
            let mailbox = self.shared.mailbox.clone();
            let (gone, exited) = (process.exit().is_some(), process.exited());
            tokio::select! {
                biased;
                _ = leaving.wait_for(Option::is_some) => return End::Wanted,
                command = commands.recv() => match command {
                    Some(Command::Disconnect { .. }) | None => return End::Wanted,
                    Some(command) => self.command(command),
                },
                Some(request) = for_editor.recv() => self.ask_editor(request),
                () = sleep_until(deadline), if matches!(self.state, State::Starting(_)) => {
                    return End::Fault(self.too_slow());
                }
                () = exited, if !gone => {}
                batch = async {
                    // An agent that is faster than the editor is held back here.
                    mailbox.room().await;
                    if gone { timeout(ECHO, process.output.recv()).await.unwrap_or_default() } else { process.output.recv().await }
                } => {
                    let Some(batch) = batch else { return End::Left };
                    for output in batch {
                        if let ControlFlow::Break(failure) = self.hear(output) {
                            return End::Fault(failure);
                        }
                    }
                }
            }
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

    fn hear(&mut self, output: Output) -> ControlFlow<Failure> {
        let limit = self.shared.settings.message_limit >> 20;
        match output {
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
                Some(call) => return self.answered(call, result),
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
                _ => {}
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

    // What the user wants.

    fn command(&mut self, command: Command) {
        let can = match &mut self.state {
            State::Ready(info) => info.can,
            State::Starting(waiting) => return waiting.push(command),
        };
        match command {
            Command::Open { session, place, .. } => {
                let params = to_acp::new_session(&place, can);
                self.tell_left_out(session, &place);
                let place = Arc::new(place);
                self.request(Call::Open { session, place }, to_acp::SESSION_NEW, &params);
            }
            Command::Load { session, place, acp_id, .. } => self.load(session, place, acp_id),
            Command::List { cwd, cursor, .. } => {
                if self.offered(can.list, None, "list sessions") {
                    self.request(Call::List, to_acp::SESSION_LIST, &to_acp::list_sessions(cwd, cursor));
                }
            }
            Command::Delete { acp_id, .. } => {
                if self.offered(can.delete, None, "delete the session") {
                    let call = Call::Other { session: None, what: "delete the session" };
                    self.request(call, to_acp::SESSION_DELETE, &to_acp::delete_session(&acp_id));
                }
            }
            Command::Close { session } => self.close(session),
            Command::Prompt { session, content } => self.prompt(session, content),
            Command::Steer { session, content } => {
                let Some(acp_id) = self.acp_id(session) else { return };
                if self.offered(can.steering, Some(session), "steer the turn") {
                    let call = Call::Other { session: Some(session), what: STEER };
                    self.request(call, to_acp::STEER, &to_acp::steer(&acp_id, content, can));
                }
            }
            Command::Cancel { session } => self.cancel(session),
            Command::Answer { ask, answer } => {
                if let Err(why) = self.asks.answer(ask, answer) {
                    self.log.note(&why);
                }
            }
            Command::SetMode { session, mode } => {
                let Some(acp_id) = self.acp_id(session) else { return };
                let params = to_acp::set_mode(&acp_id, &mode);
                let call = Call::Choose { session, what: "change the mode", choice: Choice::Mode(mode) };
                self.request(call, to_acp::SESSION_SET_MODE, &params);
            }
            Command::SetModel { session, model } => {
                let Some(acp_id) = self.acp_id(session) else { return };
                let params = to_acp::set_model(&acp_id, &model);
                let call = Call::Choose { session, what: "change the model", choice: Choice::Model(model) };
                self.request(call, to_acp::SESSION_SET_MODEL, &params);
            }
            Command::SetOption { session, option, value } => {
                let Some(acp_id) = self.acp_id(session) else { return };
                let params = to_acp::set_option(&acp_id, &option, &value);
                let call = Call::Choose {
                    session,
                    what: "change the option",
                    choice: Choice::Option(option, value),
                };
                self.request(call, to_acp::SESSION_SET_OPTION, &params);
            }
            Command::Login { method, .. } => self.login(&method),
            Command::Logout { .. } => {
                if self.offered(can.logout, None, "log out") {
                    self.request(Call::Logout, to_acp::LOGOUT, &to_acp::logout());
                }
            }
            // These never come here: the hub carries them out.
            Command::Connect { .. }
            | Command::Disconnect { .. }
            | Command::Kill { .. }
            | Command::Type { .. }
            | Command::Resize { .. }
            | Command::FileLoaded { .. }
            | Command::FileUnloaded { .. }
            | Command::Compute { .. }
            | Command::Shutdown => {}
        }
    }

    fn load(&mut self, session: SessionKey, place: Place, acp_id: String) {
        let State::Ready(info) = &self.state else { return };
        let can = info.can;
        self.tell_left_out(session, &place);
        let call = Call::Load { session };
        // The agent may show the session before it answers, so it is known from here on.
        let known = Session::new(session, acp_id.clone(), Arc::new(place.clone()));
        if can.load {
            self.sessions.insert(known);
            self.request(call, to_acp::SESSION_LOAD, &to_acp::load_session(&acp_id, &place, can));
        } else if can.resume {
            self.sessions.insert(known);
            self.request(call, to_acp::SESSION_RESUME, &to_acp::resume_session(&acp_id, &place, can));
        } else {
            let failure = self.not_offered("load sessions");
            self.post(Event::OpenFailed { session, failure });
        }
    }

    fn prompt(&mut self, session: SessionKey, content: Vec<Content>) {
        let State::Ready(info) = &self.state else { return };
        let can = info.can;
        let Some(known) = self.sessions.get_mut(session) else {
            let message = "the session isn't open".to_owned();
            let failure = Failure { kind: FailureKind::NotFound, message, details: None };
            return self.post(Event::TurnEnded { session, end: TurnEnd::Failed(failure) });
        };
        if known.turn.is_some() {
            return known.waiting.push_back(content);
        }
        known.turn = Some(Turn::default());
        let params = to_acp::prompt(&known.acp_id, content, can);
        self.request(Call::Prompt { session }, to_acp::SESSION_PROMPT, &params);
    }

    fn cancel(&mut self, session: SessionKey) {
        if self.give_up_opening(session) {
            return;
        }
        let Some(known) = self.sessions.get_mut(session) else { return };
        let waiting = std::mem::take(&mut known.waiting).len();
        let cancels = known.turn.as_mut().is_some_and(|turn| !std::mem::replace(&mut turn.cancelled, true));
        if cancels {
            let params = to_acp::cancel(&known.acp_id);
            self.outbox.notify(to_acp::SESSION_CANCEL, &params);
        }
        self.withdraw(&Over::TurnCancelled(session));
        for _ in 0..waiting {
            self.post(Event::TurnEnded {
                session,
                end: TurnEnd::Stopped { reason: StopReason::Cancelled, usage: None },
            });
        }
    }

    fn close(&mut self, session: SessionKey) {
        self.withdraw(&Over::Session(session));
        self.shared.terminals.end_session(session);
        if self.give_up_opening(session) {
            return;
        }
        let Some(known) = self.sessions.remove(session) else { return };
        let State::Ready(info) = &self.state else { return };
        if info.can.close {
            let call = Call::Other { session: Some(session), what: "close the session" };
            self.request(call, to_acp::SESSION_CLOSE, &to_acp::close_session(&known.acp_id));
        } else if known.turn.is_some_and(|turn| !turn.cancelled) {
            self.outbox.notify(to_acp::SESSION_CANCEL, &to_acp::cancel(&known.acp_id));
        }
    }

    /// Stops waiting for a session that is still being opened, if it is.
    fn give_up_opening(&mut self, session: SessionKey) -> bool {
        let opening = self.calls.iter_mut().find(|(_, call)| {
            matches!(call, Call::Open { session: opening, .. } | Call::Load { session: opening } if *opening == session)
        });
        let Some((id, call)) = opening else { return false };
        *call = Call::Unwanted;
        self.sessions.remove(session);
        self.outbox.notify(to_acp::CANCEL_REQUEST, &to_acp::cancel_request(id));
        let failure = Failure { kind: FailureKind::Cancelled, message: "given up".to_owned(), details: None };
        self.post(Event::OpenFailed { session, failure });
        self.let_go_of_held();
        true
    }

    fn login(&mut self, method: &str) {
        let State::Ready(info) = &self.state else { return };
        let known = info.auth_methods.iter().find(|known| known.id == method);
        if known.is_some_and(|known| known.kind == AuthKind::Agent) {
            self.request(Call::Login, to_acp::AUTHENTICATE, &to_acp::authenticate(method));
        } else {
            let failure = self.not_offered(&format!("log in by {method:?}"));
            self.request_failed(None, "log in", failure);
        }
    }

    // What the agent answers.

    fn answered(&mut self, call: Call, result: Result<Value, RpcError>) -> ControlFlow<Failure> {
        let result = match (call, result) {
            (Call::Prompt { session }, result) => {
                self.turn_answered(session, result);
                return ControlFlow::Continue(());
            }
            (call, result) => (call, result.map_err(from_acp::failure)),
        };
        match result {
            (Call::Initialize, result) => return self.initialized(result),
            (Call::Open { session, place }, result) => {
                match result.and_then(|answer| from_acp::created(&answer)) {
                    Ok(opened) => {
                        let mut known = Session::new(session, opened.acp_id.clone(), place);
                        known.options.clone_from(&opened.options);
                        self.sessions.insert(known);
                        self.post(Event::Opened { session, opened: Box::new(opened) });
                    }
                    Err(failure) => self.post(Event::OpenFailed { session, failure }),
                }
                self.let_go_of_held();
            }
            (Call::Load { session }, Ok(answer)) => {
                let Some(known) = self.sessions.get_mut(session) else { return ControlFlow::Continue(()) };
                let opened = from_acp::opened(known.acp_id.clone(), &answer);
                known.options.clone_from(&opened.options);
                self.post(Event::Opened { session, opened: Box::new(opened) });
            }
            (Call::Load { session }, Err(failure)) => {
                self.sessions.remove(session);
                self.post(Event::OpenFailed { session, failure });
            }
            (Call::Unwanted, result) => self.close_unwanted(result),
            (Call::Choose { session, choice, .. }, Ok(answer)) => self.chosen(session, choice, &answer),
            (Call::Choose { session, what, .. }, Err(failure)) => {
                self.request_failed(Some(session), what, failure)
            }
            (Call::List, Ok(answer)) => {
                let (sessions, next_cursor) = from_acp::listed(&answer);
                self.post(Event::Listed { agent: self.agent, sessions, next_cursor });
            }
            (Call::List, Err(failure)) => self.request_failed(None, "list sessions", failure),
            (Call::Login, Ok(_)) => self.post(Event::LoggedIn { agent: self.agent }),
            (Call::Login, Err(failure)) => self.request_failed(None, "log in", failure),
            (Call::Logout, Ok(_)) => self.post(Event::LoggedOut { agent: self.agent }),
            (Call::Logout, Err(failure)) => self.request_failed(None, "log out", failure),
            (Call::Other { session, what: STEER }, result) => {
                if let Err(failure) = result.and_then(|answer| from_acp::steered(&answer)) {
                    self.request_failed(session, STEER, failure);
                }
            }
            (Call::Other { session, what }, result) => {
                if let Err(failure) = result {
                    self.request_failed(session, what, failure);
                }
            }
            (Call::Prompt { .. }, _) => {}
        }
        ControlFlow::Continue(())
    }

    fn initialized(&mut self, result: Result<Value, Failure>) -> ControlFlow<Failure> {
        match result.and_then(|answer| from_acp::connected(&answer)) {
            Ok(info) => {
                let info = Box::new(info);
                self.post(Event::Connected { agent: self.agent, info: info.clone() });
                if let State::Starting(waiting) = std::mem::replace(&mut self.state, State::Ready(info)) {
                    waiting.into_iter().for_each(|command| self.command(command));
                }
                ControlFlow::Continue(())
            }
            Err(failure) => ControlFlow::Break(failure),
        }
    }

    fn close_unwanted(&mut self, result: Result<Value, Failure>) {
        self.let_go_of_held();
        let State::Ready(info) = &self.state else { return };
        if let Ok(opened) = result.and_then(|answer| from_acp::created(&answer))
            && info.can.close
        {
            let call = Call::Other { session: None, what: "close the session" };
            self.request(call, to_acp::SESSION_CLOSE, &to_acp::close_session(&opened.acp_id));
        }
    }

    fn turn_answered(&mut self, session: SessionKey, result: Result<Value, RpcError>) {
        // A session that was closed meanwhile is forgotten, and so is its turn.
        let Some(known) = self.sessions.get_mut(session) else { return };
        let turn = known.turn.take().unwrap_or_default();
        let next = known.waiting.pop_front();
        let cancelled = TurnEnd::Stopped { reason: StopReason::Cancelled, usage: None };
        let end = match result {
            Ok(answer) => match from_acp::turn_end(&answer) {
                TurnEnd::Stopped { reason: StopReason::Other(word), .. }
                    if turn.cancelled && word.is_empty() =>
                {
                    cancelled
                }
                end => end,
            },
            // Many agents let the exception out that their own cancelling throws.
            Err(_) if turn.cancelled => cancelled,
            Err(error) => TurnEnd::Failed(from_acp::failure(error)),
        };
        self.withdraw(&Over::TurnEnded(session));
        if matches!(end, TurnEnd::Stopped { reason: StopReason::Cancelled, .. }) {
            // Some agents forget the commands of a turn that was cancelled.
            for terminal in &turn.terminals {
                // One that is gone already needs no ending.
                let _ = self.shared.terminals.kill(session, terminal);
            }
        }
        self.post(Event::TurnEnded { session, end });
        if let Some(content) = next {
            self.prompt(session, content);
        }
    }

    fn chosen(&mut self, session: SessionKey, choice: Choice, answer: &Value) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        let chosen = match choice {
            Choice::Mode(mode) => Chosen::Mode(mode),
            Choice::Model(model) => Chosen::Model(model),
            Choice::Option(option, value) => {
                let options = from_acp::changed_options(answer);
                known.options = options.unwrap_or_else(|| known.options_with(&option, &value));
                Chosen::Options(known.options.clone())
            }
        };
        self.post(Event::Chosen { session, chosen });
    }

    // What the agent tells.

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
        let event = match fact {
            Fact::Update(update) => {
                match &update {
                    Update::Options(options) => known.options.clone_from(options),
                    Update::Unknown { kind } => {
                        self.log.note(&format!("an update that can't be read: {kind:?}"))
                    }
                    _ => {}
                }
                Event::Updated { session, update }
            }
            Fact::TerminalStarted { terminal, command, cwd } => {
                known.shown.insert(terminal.clone(), false);
                let cwd = cwd.unwrap_or_else(|| known.place.cwd.clone());
                Event::TerminalStarted { session, terminal, command, cwd }
            }
            Fact::TerminalGrew { terminal, text } => {
                if !known.shown.contains_key(&terminal) {
                    let (command, cwd) = (String::new(), known.place.cwd.clone());
                    self.shared.mailbox.post(Event::TerminalStarted {
                        session,
                        terminal: terminal.clone(),
                        command,
                        cwd,
                    });
                }
                let bytes = known.raw_output(&terminal, &text);
                Event::TerminalGrew { session, terminal, bytes, skipped: 0 }
            }
            Fact::TerminalEnded { terminal, exit } => Event::TerminalEnded { session, terminal, exit },
        };
        self.post(event);
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

    // The end.

    async fn finish(
        mut self,
        end: End,
        mut process: Process,
        mut leaving: watch::Receiver<Option<Duration>>,
    ) {
        self.withdraw(&Over::All);
        for session in self.sessions.keys() {
            self.shared.terminals.end_session(session);
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
                let _ = timeout(LAST_BREATH, process.exited()).await;
                let how = match process.exit() {
                    Some(exit) => match (exit.code, exit.signal) {
                        (_, Some(signal)) => format!("was ended by {signal}"),
                        (Some(code), None) => format!("ended with exit code {code}"),
                        (None, None) => "ended".to_owned(),
                    },
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
                Call::Initialize | Call::Unwanted => {}
                Call::Open { session, .. } | Call::Load { session } => {
                    self.post(Event::OpenFailed { session, failure: failed() });
                }
                Call::Prompt { session } => self.fail_turns(session, failure),
                Call::Choose { session, what, .. } => self.request_failed(Some(session), what, failed()),
                Call::List => self.request_failed(None, "list sessions", failed()),
                Call::Login => self.request_failed(None, "log in", failed()),
                Call::Logout => self.request_failed(None, "log out", failed()),
                // A session is closed with its agent.
                Call::Other { what: "close the session", .. } => {}
                Call::Other { session, what } => self.request_failed(session, what, failed()),
            }
        }
        if let State::Starting(waiting) = &mut self.state {
            for command in std::mem::take(waiting) {
                super::hub::refuse(&self.shared.mailbox, command, failed());
            }
        }
    }

    fn fail_turns(&mut self, session: SessionKey, failure: &Failure) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        let turns = 1 + std::mem::take(&mut known.waiting).len();
        for _ in 0..turns {
            self.post(Event::TurnEnded { session, end: TurnEnd::Failed(failure.clone()) });
        }
    }

    // Details.

    pub(super) fn request(&mut self, call: Call, method: &str, params: &impl Serialize) {
        let id = self.calls.open(call);
        if let Err(error) = self.outbox.request(id, method, params) {
            let error = RpcError::new(rpc::INTERNAL_ERROR, format!("the request can't be written: {error}"));
            if let Some(call) = self.calls.close(&RequestId::own(id)) {
                // Only `initialize` could end the conversation, and it has nothing that can't be written.
                let _ = self.answered(call, Err(error));
            }
        }
    }

    pub(super) fn post(&self, event: Event) {
        self.shared.mailbox.post(event);
    }

    pub(super) fn note(&self, session: Option<SessionKey>, severity: Severity, text: String) {
        self.post(Event::Noted { agent: self.agent, session, severity, text });
    }

    pub(super) fn withdraw(&mut self, over: &Over) {
        for (session, ask) in self.asks.withdraw(over) {
            self.post(Event::Withdrawn { session, ask });
        }
    }

    fn acp_id(&mut self, session: SessionKey) -> Option<String> {
        self.sessions.get_mut(session).map(|session| session.acp_id.clone())
    }

    fn request_failed(&self, session: Option<SessionKey>, what: &str, failure: Failure) {
        self.post(Event::RequestFailed { agent: self.agent, session, what: what.to_owned(), failure });
    }

    /// Whether the agent offers it; says so to the user if not.
    fn offered(&self, offered: bool, session: Option<SessionKey>, what: &str) -> bool {
        if !offered {
            self.request_failed(session, what, self.not_offered(what));
        }
        offered
    }

    fn not_offered(&self, what: &str) -> Failure {
        let message = format!("{} doesn't offer to {what}", self.name);
        Failure { kind: FailureKind::Protocol, message, details: None }
    }

    /// Says which parts of a place the agent can't take.
    fn tell_left_out(&self, session: SessionKey, place: &Place) {
        let State::Ready(info) = &self.state else { return };
        for server in place.mcp_servers.iter().filter(|server| !to_acp::takes(info.can, server)) {
            let text = format!(
                "{} can't reach the MCP server {:?}, which was left out",
                self.name,
                to_acp::name(server)
            );
            self.note(Some(session), Severity::Warning, text);
        }
        if !place.additional.is_empty() && !info.can.additional_directories {
            let text = format!("{} takes no further folders, so it isn't told of them", self.name);
            self.note(Some(session), Severity::Warning, text);
        }
    }
}

const STEER: &str = "steer the turn";

//! The demo agent as a client sees it: the handshake, sessions with their settings, and prompts, each of
//! which is played on a thread of its own. All state is on the thread that reads the events; what a
//! prompt plays is in the scenes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, ArchiveSessionRequest, AvailableCommandsUpdate, CancelNotification,
    ClientCapabilities, CloseSessionRequest, ConfigOptionUpdate, CurrentModeUpdate, DeleteSessionRequest,
    Error, ForkSessionRequest, ForkSessionResponse, Implementation, InitializeRequest, InitializeResponse,
    ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, Meta, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, ResumeSessionRequest,
    SessionArchiveCapabilities, SessionArchiveFilter, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionForkCapabilities, SessionId, SessionInfo, SessionInfoUpdate,
    SessionListCapabilities, SessionNotification, SessionResumeCapabilities, SessionStatus,
    SessionStatusCapabilities, SessionStatusRequest, SessionStatusResponse, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse, StopReason,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::scenes::{self, Scene};
use crate::settings::{Memory, Mode, Settings};
use crate::stored::{State, Store, Stored};
use crate::turn::{Later, Numbers, Open, Pace, Signal, Stop, Turn};
use crate::wire::{Incoming, Output};
use crate::{lines, print_error};

enum Event {
    Line(Vec<u8>),
    StdinEnded,
    TurnEnded(Box<TurnEnded>),
}

struct TurnEnded {
    session: SessionId,
    /// The id of the request that started the turn.
    prompt: Value,
    memory: Memory,
    /// What was said in it.
    said: Vec<Value>,
    /// Tokens that it took.
    tokens: u64,
    outcome: Result<StopReason, Error>,
}

struct Session {
    cwd: PathBuf,
    settings: Settings,
    memory: Memory,
    /// Where the running turn hears of answers and of a cancel.
    running: Option<Sender<Signal>>,
}

impl Session {
    fn state(&self) -> State {
        State {
            cwd: self.cwd.clone(),
            settings: self.settings.clone(),
            memory: self.memory.clone(),
            archived: false,
        }
    }
}

/// Adds to what is stored of a session, where that is done.
fn store(store: Option<&Store>, id: &SessionId, said: &[Value], state: &State) {
    if let Some(Err(error)) = store.map(|store| store.add(&id.0, said, state)) {
        print_error(&format!("couldn't store the session: {error}"));
    }
}

struct Agent {
    output: Output,
    /// What the client can do; nothing else is answered before it is known.
    client: Option<ClientCapabilities>,
    sessions: HashMap<SessionId, Session>,
    numbers: Numbers,
    pace: Pace,
    always: Option<Scene>,
    events: Sender<Event>,
    /// Where sessions are stored, if they are.
    store: Option<Store>,
    /// How many sessions were opened.
    opened: u32,
}

/// Serves until stdin ends; with a scene, that is what every prompt gets.
pub fn serve(always: Option<Scene>) -> ExitCode {
    let (events, inbox) = mpsc::channel();
    let lines = events.clone();
    lines::read(None, move |line| lines.send(line.map_or(Event::StdinEnded, Event::Line)).is_ok());
    let agent = Agent {
        output: Output::new(),
        client: None,
        sessions: HashMap::new(),
        numbers: Numbers::default(),
        pace: Pace::from_env(),
        // What is measured is not to wait for a disk.
        store: Store::from_env().filter(|_| always.is_none()),
        always,
        events,
        opened: 0,
    };
    agent.run(&inbox);
    ExitCode::SUCCESS
}

impl Agent {
    fn run(mut self, inbox: &Receiver<Event>) {
        for event in inbox {
            match event {
                Event::StdinEnded => return,
                Event::TurnEnded(ended) => self.end_turn(*ended),
                Event::Line(line) => match Incoming::parse(&line) {
                    Ok(incoming) => self.take(incoming),
                    Err(error) => {
                        print_error(&format!("the client sent {error}"));
                        self.output.refuse(&Value::Null, &Error::parse_error().data(error));
                    }
                },
            }
        }
    }

    fn take(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Request { id, method, params } if method == "session/prompt" => {
                if let Err(error) = self.prompt(&id, params) {
                    self.output.refuse(&id, &error);
                }
            }
            Incoming::Request { id, method, params } => self.request(&id, &method, params),
            Incoming::Notification { method, params } if method == "session/cancel" => {
                if let Ok(CancelNotification { session_id, .. }) = serde_json::from_value(params)
                    && let Some(Session { running: Some(turn), .. }) = self.sessions.get(&session_id)
                {
                    // A turn that just ended needs no cancel.
                    let _ = turn.send(Signal::Cancelled);
                }
            }
            Incoming::Notification { .. } => {}
            Incoming::Answer { id, outcome } => {
                let Some(id) = id.as_i64() else { return };
                // No turn takes the answer to a request of another one, so each may hear of it.
                for turn in self.sessions.values().filter_map(|session| session.running.as_ref()) {
                    let _ = turn.send(Signal::Answered { id, outcome: outcome.clone() });
                }
            }
        }
    }

    fn request(&mut self, id: &Value, method: &str, params: Value) {
        match method {
            "initialize" => {
                let outcome = read(params).map(|request| self.initialize(request));
                self.output.answer(id, outcome);
            }
            "session/new" => match read(params).and_then(|request| self.open(request)) {
                Ok((session, response)) => {
                    self.output.answer(id, Ok(response));
                    let commands = AvailableCommandsUpdate::new(scenes::commands());
                    self.update(&session, SessionUpdate::AvailableCommandsUpdate(commands));
                }
                Err(error) => self.output.refuse(id, &error),
            },
            "session/load" => match read::<LoadSessionRequest>(params) {
                Ok(request) => self.take_up(id, request.session_id, request.cwd, true),
                Err(error) => self.output.refuse(id, &error),
            },
            "session/resume" => match read::<ResumeSessionRequest>(params) {
                Ok(request) => self.take_up(id, request.session_id, request.cwd, false),
                Err(error) => self.output.refuse(id, &error),
            },
            "session/fork" => match read::<ForkSessionRequest>(params).and_then(|request| self.fork(request))
            {
                Ok((session, response)) => {
                    self.output.answer(id, Ok(response));
                    let commands = AvailableCommandsUpdate::new(scenes::commands());
                    self.update(&session, SessionUpdate::AvailableCommandsUpdate(commands));
                }
                Err(error) => self.output.refuse(id, &error),
            },
            "session/list" if self.store.is_some() => {
                let outcome = read(params).map(|request| self.list(&request));
                self.output.answer(id, outcome);
            }
            "session/delete" if self.store.is_some() => {
                let outcome = read(params).map(|request: DeleteSessionRequest| {
                    if let Some(store) = &self.store {
                        store.delete(&request.session_id.0);
                    }
                    json!({})
                });
                self.output.answer(id, outcome);
            }
            // Both name the session and nothing else.
            "session/archive" | "session/unarchive" if self.store.is_some() => {
                let archived = method == "session/archive";
                let outcome = read(params)
                    .and_then(|request: ArchiveSessionRequest| self.archive(request.session_id, archived));
                self.output.answer(id, outcome);
            }
            "session/status" if self.store.is_some() => {
                let outcome =
                    read(params).and_then(|request: SessionStatusRequest| self.status(request.session_id));
                self.output.answer(id, outcome);
            }
            "session/close" => {
                let outcome = read(params).map(|request: CloseSessionRequest| {
                    if let Some(Session { running: Some(turn), .. }) =
                        self.sessions.remove(&request.session_id)
                    {
                        // One that just ended needs no cancel.
                        let _ = turn.send(Signal::Cancelled);
                    }
                    json!({})
                });
                self.output.answer(id, outcome);
            }
            "session/set_mode" => {
                let outcome = read(params).and_then(|request| self.set_mode(&request));
                self.output.answer(id, outcome);
            }
            "session/set_config_option" => {
                let outcome = read(params).and_then(|request| self.set_option(&request));
                self.output.answer(id, outcome);
            }
            _ => {
                let error = Error::method_not_found().data(method.to_owned());
                self.output.refuse(id, &error);
            }
        }
    }

    fn initialize(&mut self, request: InitializeRequest) -> InitializeResponse {
        self.client = Some(request.client_capabilities);
        let prompts = PromptCapabilities::new().image(true).embedded_context(true);
        let mut sessions = SessionCapabilities::new()
            .close(SessionCloseCapabilities::new())
            .fork(SessionForkCapabilities::new());
        if self.store.is_some() {
            sessions = sessions
                .list(SessionListCapabilities::new())
                .resume(SessionResumeCapabilities::new())
                .delete(SessionDeleteCapabilities::new())
                .archive(SessionArchiveCapabilities::new())
                .status(SessionStatusCapabilities::new());
        }
        let can = AgentCapabilities::new()
            .load_session(self.store.is_some())
            .session_capabilities(sessions)
            .prompt_capabilities(prompts);
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_info(
                Implementation::new("acp-demo-agent", env!("CARGO_PKG_VERSION"))
                    .title("Demo agent".to_owned()),
            )
            .agent_capabilities(can)
    }

    fn open(&mut self, request: NewSessionRequest) -> Result<(SessionId, NewSessionResponse), Error> {
        let client = self
            .client
            .clone()
            .ok_or_else(|| Error::invalid_request().data("initialize comes before session/new".to_owned()))?;
        if !request.cwd.is_absolute() {
            let text = format!("the working folder is not absolute: {}", request.cwd.display());
            return Err(Error::invalid_params().data(text));
        }
        let id = self.next_id();
        let settings = Settings::default();
        let response = NewSessionResponse::new(id.clone())
            .modes(settings.modes())
            .config_options(settings.options(&client));
        let session = Session { cwd: request.cwd, settings, memory: Memory::default(), running: None };
        store(self.store.as_ref(), &id, &[], &session.state());
        self.sessions.insert(id.clone(), session);
        Ok((id, response))
    }

    fn next_id(&mut self) -> SessionId {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.opened += 1;
        SessionId::new(format!("demo-{now:x}-{}-{}", std::process::id(), self.opened))
    }

    /// Another session that begins as this one is now. What was said is stored with it, and told only when it is loaded.
    fn fork(&mut self, request: ForkSessionRequest) -> Result<(SessionId, ForkSessionResponse), Error> {
        let source = find(&mut self.sessions, &request.session_id)?;
        let (settings, memory) = (source.settings.clone(), source.memory.clone());
        let said = self.store.as_ref().and_then(|store| store.load(&request.session_id.0));
        let id = self.next_id();
        let client = self.client.clone().unwrap_or_default();
        let response = ForkSessionResponse::new(id.clone())
            .modes(settings.modes())
            .config_options(settings.options(&client));
        let session = Session { cwd: request.cwd, settings, memory, running: None };
        let said = said.map(|said| said.updates).unwrap_or_default();
        store(self.store.as_ref(), &id, &said, &session.state());
        self.sessions.insert(id.clone(), session);
        Ok((id, response))
    }

    /// Takes up a stored session, and tells what was said in it if that is wanted.
    fn take_up(&mut self, id: &Value, name: SessionId, cwd: PathBuf, tells: bool) {
        let stored = self.store.as_ref().and_then(|store| store.load(&name.0));
        let Some(Stored { updates, state, .. }) = stored else {
            return self.output.refuse(id, &Error::session_not_found(name));
        };
        if self.sessions.get(&name).is_some_and(|session| session.running.is_some()) {
            let error = Error::invalid_request().data("a turn is running in this session".to_owned());
            return self.output.refuse(id, &error);
        }
        for update in updates.into_iter().filter(|_| tells) {
            self.output.notify("session/update", json!({ "sessionId": name, "update": update }));
        }
        let State { settings, memory, .. } = state;
        let client = self.client.clone().unwrap_or_default();
        let answer = json!({ "modes": settings.modes(), "configOptions": settings.options(&client) });
        self.output.answer(id, Ok(answer));
        if let Some(title) = memory.title.clone() {
            let info = SessionInfoUpdate::new().title(title);
            self.update(&name, SessionUpdate::SessionInfoUpdate(info));
        }
        let commands = AvailableCommandsUpdate::new(scenes::commands());
        self.update(&name, SessionUpdate::AvailableCommandsUpdate(commands));
        self.sessions.insert(name, Session { cwd, settings, memory, running: None });
    }

    fn archive(&self, name: SessionId, archived: bool) -> Result<Value, Error> {
        let outcome = self.store.as_ref().map_or(Ok(false), |store| store.archive(&name.0, archived));
        match outcome {
            Ok(true) => Ok(json!({})),
            Ok(false) => Err(Error::session_not_found(name)),
            Err(error) => Err(Error::internal_error().data(error.to_string())),
        }
    }

    fn status(&self, name: SessionId) -> Result<SessionStatusResponse, Error> {
        let is_stored = || self.store.as_ref().is_some_and(|store| store.load(&name.0).is_some());
        match self.sessions.contains_key(&name) {
            true => Ok(SessionStatusResponse::new(SessionStatus::Open)),
            false if is_stored() => Ok(SessionStatusResponse::new(SessionStatus::Saved)),
            false => Err(Error::session_not_found(name)),
        }
    }

    fn list(&self, request: &ListSessionsRequest) -> ListSessionsResponse {
        let mut stored =
            self.store.as_ref().map(|store| store.list(request.cwd.as_deref())).unwrap_or_default();
        match request.archived {
            Some(SessionArchiveFilter::Include) => {}
            Some(SessionArchiveFilter::Only) => stored.retain(|stored| stored.state.archived),
            _ => stored.retain(|stored| !stored.state.archived),
        }
        let info = |stored: Stored| {
            let used = stored.updated_at();
            let said = |update: &Value| update["content"]["text"].as_str().map(str::to_owned);
            let title = stored.state.memory.title.or_else(|| stored.updates.iter().find_map(said));
            let title = title.map(|title| title.chars().take(60).collect::<String>());
            SessionInfo::new(stored.id, stored.state.cwd).title(title).updated_at(used)
        };
        ListSessionsResponse::new(stored.into_iter().map(info).collect())
    }

    fn set_mode(&mut self, request: &SetSessionModeRequest) -> Result<SetSessionModeResponse, Error> {
        let session = find(&mut self.sessions, &request.session_id)?;
        session.settings.set_mode(&request.mode_id.0).map_err(|text| Error::invalid_params().data(text))?;
        let options = session.settings.options(self.client.as_ref().unwrap_or(&ClientCapabilities::new()));
        self.update(&request.session_id, SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options)));
        Ok(SetSessionModeResponse::new())
    }

    fn set_option(
        &mut self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let session = find(&mut self.sessions, &request.session_id)?;
        let before: Mode = session.settings.mode;
        session
            .settings
            .set_option(&request.config_id.0, &request.value)
            .map_err(|text| Error::invalid_params().data(text))?;
        let after = session.settings.mode;
        let options = session.settings.options(self.client.as_ref().unwrap_or(&ClientCapabilities::new()));
        if before != after {
            let update = CurrentModeUpdate::new(after.id());
            self.update(&request.session_id, SessionUpdate::CurrentModeUpdate(update));
        }
        Ok(SetSessionConfigOptionResponse::new(options))
    }

    fn prompt(&mut self, id: &Value, params: Value) -> Result<(), Error> {
        let PromptRequest { session_id, prompt, .. } = read(params)?;
        let session = find(&mut self.sessions, &session_id)?;
        if session.running.is_some() {
            return Err(Error::invalid_request().data("a turn is running in this session".to_owned()));
        }
        session.memory.prompts += 1;
        let is_first = session.memory.prompts == 1;
        // As the client would send it back when it is loaded.
        let asked: Vec<Value> = prompt
            .iter()
            .map(|block| json!({ "sessionUpdate": "user_message_chunk", "content": block }))
            .filter(|update| update["content"]["type"] == "text")
            .collect();
        let scene = self.always.clone().unwrap_or_else(|| Scene::of(prompt, is_first));
        // At once: who crashes in this turn is started again.
        let state = session.state();
        store(self.store.as_ref(), &session_id, &asked, &state);
        let (signal, signals) = mpsc::channel();
        session.running = Some(signal);
        let turn = Turn {
            session: session_id,
            cwd: session.cwd.clone(),
            client: self.client.clone().unwrap_or_default(),
            settings: session.settings.clone(),
            memory: session.memory.clone(),
            pace: self.pace,
            output: self.output.clone(),
            numbers: self.numbers.clone(),
            signals,
            said: self.store.is_some().then(RefCell::default),
            later: Later::default(),
            open: Open::default(),
        };
        let events = self.events.clone();
        let prompt = id.clone();
        thread::spawn(move || {
            let ended = play(turn, scene, prompt);
            // The agent ends with its stdin; then nobody is there to be told.
            let _ = events.send(Event::TurnEnded(Box::new(ended)));
        });
        Ok(())
    }

    fn end_turn(&mut self, ended: TurnEnded) {
        if let Some(session) = self.sessions.get_mut(&ended.session) {
            session.running = None;
            session.memory = ended.memory;
            store(self.store.as_ref(), &ended.session, &ended.said, &session.state());
        }
        let count = json!({ "inputTokens": 0, "outputTokens": ended.tokens, "totalTokens": ended.tokens });
        let mut meta = Meta::new();
        meta.insert("quota".to_owned(), json!({ "token_count": count }));
        let answer = ended.outcome.map(|reason| PromptResponse::new(reason).meta(meta));
        self.output.answer(&ended.prompt, answer);
    }

    fn update(&self, session: &SessionId, update: SessionUpdate) {
        self.output.notify("session/update", SessionNotification::new(session.clone(), update));
    }
}

fn play(mut turn: Turn, scene: Scene, prompt: Value) -> TurnEnded {
    let before = turn.memory.used;
    // A client that is flooded is told nothing else.
    let tells_usage = !matches!(scene, Scene::Flood(_) | Scene::Timed(_));
    let outcome = match scenes::play(&mut turn, scene) {
        Ok(()) => Ok(StopReason::EndTurn),
        Err(Stop::Cancelled) => {
            turn.clean_up();
            Ok(StopReason::Cancelled)
        }
        Err(Stop::Failed(error)) => Err(error),
    };
    if tells_usage {
        turn.tell_usage();
    }
    let tokens = turn.memory.used - before;
    let said = turn.said.map(RefCell::into_inner).unwrap_or_default();
    TurnEnded { session: turn.session, prompt, memory: turn.memory, said, tokens, outcome }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| Error::invalid_params().data(error.to_string()))
}

fn find<'a>(sessions: &'a mut HashMap<SessionId, Session>, id: &SessionId) -> Result<&'a mut Session, Error> {
    sessions.get_mut(id).ok_or_else(|| Error::session_not_found(id.clone()))
}

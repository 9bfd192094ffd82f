//! The demo agent as a client sees it: the handshake, sessions with their settings, and prompts, each of
//! which is played on a thread of its own. All state is on the thread that reads the events; what a
//! prompt plays is in the scenes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AvailableCommandsUpdate, CancelNotification, ClientCapabilities, ConfigOptionUpdate,
    CurrentModeUpdate, Error, Implementation, InitializeRequest, InitializeResponse, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, SessionId, SessionNotification,
    SessionUpdate, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse, StopReason,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::scenes::{self, Scene};
use crate::settings::{Memory, Mode, Settings};
use crate::turn::{Numbers, Open, Pace, Signal, Stop, Turn};
use crate::wire::{Incoming, Output};
use crate::{complain, lines};

enum Event {
    Line(Vec<u8>),
    StdinEnded,
    TurnEnded(TurnEnded),
}

struct TurnEnded {
    session: SessionId,
    /// The id of the request that started the turn.
    prompt: Value,
    memory: Memory,
    outcome: Result<StopReason, Error>,
}

struct Session {
    cwd: PathBuf,
    settings: Settings,
    memory: Memory,
    /// Where the running turn hears of answers and of a cancel.
    running: Option<Sender<Signal>>,
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
        always,
        events,
    };
    agent.run(&inbox);
    ExitCode::SUCCESS
}

impl Agent {
    fn run(mut self, inbox: &Receiver<Event>) {
        for event in inbox {
            match event {
                Event::StdinEnded => return,
                Event::TurnEnded(ended) => self.end_turn(ended),
                Event::Line(line) => match Incoming::parse(&line) {
                    Ok(incoming) => self.take(incoming),
                    Err(error) => {
                        complain(&format!("the client sent {error}"));
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
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_info(
                Implementation::new("acp-demo-agent", env!("CARGO_PKG_VERSION"))
                    .title("Demo agent".to_owned()),
            )
            .agent_capabilities(AgentCapabilities::new().load_session(false).prompt_capabilities(prompts))
    }

    fn open(&mut self, request: NewSessionRequest) -> Result<(SessionId, NewSessionResponse), Error> {
        let client = self
            .client
            .as_ref()
            .ok_or_else(|| Error::invalid_request().data("initialize comes before session/new".to_owned()))?;
        if !request.cwd.is_absolute() {
            let text = format!("the working folder is not absolute: {}", request.cwd.display());
            return Err(Error::invalid_params().data(text));
        }
        let id = SessionId::new(format!("demo-{}", self.sessions.len() + 1));
        let settings = Settings::default();
        let response = NewSessionResponse::new(id.clone())
            .modes(settings.modes())
            .config_options(settings.options(client));
        let session = Session { cwd: request.cwd, settings, memory: Memory::default(), running: None };
        self.sessions.insert(id.clone(), session);
        Ok((id, response))
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
        let scene = self.always.clone().unwrap_or_else(|| Scene::of(prompt, is_first));
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
            open: Open::default(),
        };
        let events = self.events.clone();
        let prompt = id.clone();
        thread::spawn(move || {
            let ended = play(turn, scene, prompt);
            // The agent ends with its stdin; then nobody is there to be told.
            let _ = events.send(Event::TurnEnded(ended));
        });
        Ok(())
    }

    fn end_turn(&mut self, ended: TurnEnded) {
        if let Some(session) = self.sessions.get_mut(&ended.session) {
            session.running = None;
            session.memory = ended.memory;
        }
        self.output.answer(&ended.prompt, ended.outcome.map(PromptResponse::new));
    }

    fn update(&self, session: &SessionId, update: SessionUpdate) {
        self.output.notify("session/update", SessionNotification::new(session.clone(), update));
    }
}

fn play(mut turn: Turn, scene: Scene, prompt: Value) -> TurnEnded {
    let outcome = match scenes::play(&mut turn, scene) {
        Ok(()) => Ok(StopReason::EndTurn),
        Err(Stop::Cancelled) => {
            turn.clean_up();
            Ok(StopReason::Cancelled)
        }
        Err(Stop::Failed(error)) => Err(error),
    };
    TurnEnded { session: turn.session, prompt, memory: turn.memory, outcome }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| Error::invalid_params().data(error.to_string()))
}

fn find<'a>(sessions: &'a mut HashMap<SessionId, Session>, id: &SessionId) -> Result<&'a mut Session, Error> {
    sessions.get_mut(id).ok_or_else(|| Error::session_not_found(id.clone()))
}

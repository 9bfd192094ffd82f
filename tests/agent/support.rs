//! A background with a scripted agent at its other end. Tests send commands, wait for events, and
//! look at what the agent received; every line of that must be what the protocol's types allow. The
//! agent is a script in Python 3, which must be installed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use acp_nvim::acp::{self, Background, Settings};
use acp_nvim::core::ids::*;
use acp_nvim::core::message::remote::Address;
use acp_nvim::core::message::*;
use acp_nvim::mailbox::Mailbox;
use agent_client_protocol_schema::v1;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::official_server::Official;
use super::server::Server;

pub const AGENT: AgentId = AgentId(1);
pub const SESSION: SessionKey = SessionKey(1);

/// What the agents of all tests are reached over, if not by stdio.
pub const OVER: &str = "ACP_TEST_OVER";

/// Longer than anything here takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// A look at folders is waited for, however long it takes: a test that waits for what comes after it fails before.
const FOLDER_PATIENCE: Duration = Duration::from_secs(600);

/// The agent that plays a script.
pub fn scripted() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agent/scripted.py")
}

pub struct Test {
    pub background: Background,
    pub folder: PathBuf,
    mailbox: Arc<Mailbox>,
    bell: Arc<(Mutex<u64>, Condvar)>,
    /// Events that came, and whether a test has asked for them.
    seen: Vec<(Event, bool)>,
    /// Of the agent's requests, the method of each id.
    asked: HashMap<String, String>,
    /// What carries the messages.
    over: Option<String>,
    pub servers: Vec<Server>,
    officials: Vec<Official>,
}

impl Test {
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    /// With these settings, and a keeper as in real life.
    pub fn with(settings: Settings) -> Self {
        let keeper = Some(env!("CARGO_BIN_EXE_acp-demo-agent").into());
        Self::exactly(Settings { keeper, folder_patience: FOLDER_PATIENCE, ..settings })
    }

    pub fn exactly(settings: Settings) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("acp-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(folder.join("project")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let bell = Arc::new((Mutex::new(0), Condvar::new()));
        let ring = bell.clone();
        let mailbox = Mailbox::new(move |_| {
            *ring.0.lock().unwrap() += 1;
            ring.1.notify_all();
        });
        let background = acp::start(mailbox.clone(), settings);
        Self {
            background,
            folder,
            mailbox,
            bell,
            seen: Vec::new(),
            asked: HashMap::new(),
            over: std::env::var(OVER).ok(),
            servers: Vec::new(),
            officials: Vec::new(),
        }
    }

    pub fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.project().join(name)
    }

    /// Writes a file of the project.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn send(&self, command: Command) {
        self.background.send(command);
    }

    /// How to start an agent that plays these steps.
    pub fn launch(&mut self, name: &str, steps: &[Value]) -> Launch {
        for step in steps {
            self.note_requests(step);
        }
        let script = self.folder.join(format!("{name}.json"));
        std::fs::write(&script, json!(steps).to_string()).unwrap();
        let args = [scripted(), script, self.record(name)].map(|path| path.to_str().unwrap().to_owned());
        if let Some(scheme) = self.over.clone() {
            return self.launch_over(&scheme, name, args);
        }
        Launch {
            name: name.into(),
            title: None,
            command: "python3".into(),
            args: args.into(),
            env: Vec::new(),
            cwd: self.project(),
            ..Launch::default()
        }
    }

    /// The messages of the agents from here on go over this: `ws` or `http`, or `official-` before one of them for the
    /// protocol's own server.
    pub fn carried_over(mut self, scheme: &str) -> Self {
        self.over = Some(scheme.to_owned());
        self
    }

    fn launch_over(&mut self, scheme: &str, name: &str, args: [String; 3]) -> Launch {
        let cwd = self.project();
        if let Some(scheme) = scheme.strip_prefix("official-") {
            let [script, steps, record] = &args;
            let server = Official::start(&["python3", script, steps, record], &cwd);
            let address =
                Address::read(&format!("{scheme}://127.0.0.1:{}/acp", server.port)).expect("an address");
            self.officials.push(server);
            let remote = Some(Remote { address, headers: Vec::new() });
            return Launch { name: name.into(), cwd, remote, ..Launch::default() };
        }
        let server = Server::start(move || {
            let mut command = std::process::Command::new("python3");
            command.args(&args).current_dir(&cwd);
            command
        });
        let address = Address::read(&server.url(scheme)).expect("an address");
        self.servers.push(server);
        let remote = Some(Remote { address, headers: Vec::new() });
        Launch { name: name.into(), cwd: self.project(), remote, ..Launch::default() }
    }

    fn note_requests(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.note_requests(item)),
            Value::Object(fields) => {
                if let (Some(id), Some(Value::String(method))) = (fields.get("id"), fields.get("method")) {
                    self.asked.insert(id.to_string(), method.clone());
                }
                fields.values().for_each(|value| self.note_requests(value));
            }
            _ => {}
        }
    }

    fn record(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.record"))
    }

    /// Starts an agent without waiting for it.
    pub fn start(&mut self, steps: &[Value]) {
        let launch = self.launch("agent", steps);
        self.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
    }

    /// Starts an agent that is initialized; the steps are what comes after.
    pub fn connect(&mut self, steps: &[Value]) -> AgentInfo {
        self.connect_with(&json!({}), steps)
    }

    /// The same with more in the answer to `initialize`.
    pub fn connect_with(&mut self, answer: &Value, steps: &[Value]) -> AgentInfo {
        let mut result = json!({ "protocolVersion": 1 });
        for (key, value) in answer.as_object().unwrap() {
            result[key] = value.clone();
        }
        let mut all = vec![json!({"expect": "initialize"}), answer_to("initialize", &result)];
        all.extend_from_slice(steps);
        self.start(&all);
        self.wait("Connected", |event| match event {
            Event::Connected { info, .. } => Some((**info).clone()),
            _ => None,
        })
    }

    /// Starts an agent with a session open in it.
    pub fn open(&mut self, steps: &[Value]) {
        self.open_with(&json!({}), steps);
    }

    pub fn open_with(&mut self, answer: &Value, steps: &[Value]) {
        let mut all =
            vec![json!({"expect": "session/new"}), answer_to("session/new", &json!({"sessionId": "s1"}))];
        all.extend_from_slice(steps);
        self.connect_with(answer, &all);
        self.send(self.open_command(SESSION));
        self.opened();
    }

    pub fn place(&self) -> Place {
        Place { cwd: self.project(), ..Place::default() }
    }

    pub fn open_command(&self, session: SessionKey) -> Command {
        Command::Open { agent: AGENT, session, place: self.place() }
    }

    pub fn opened(&mut self) -> Opened {
        self.wait("Opened", |event| match event {
            Event::Opened { opened, .. } => Some((**opened).clone()),
            _ => None,
        })
    }

    /// What the agent says of its login next.
    pub fn auth_status(&mut self) -> AuthStatus {
        self.wait("AuthReported", |event| match event {
            Event::AuthReported { status, .. } => Some(status.clone()),
            _ => None,
        })
    }

    pub fn prompt(&self, text: &str) {
        self.send(Command::Prompt { session: SESSION, content: vec![Content::Text(text.into())] });
    }

    /// Waits for an event that no wait has taken yet, also among those that came already.
    pub fn wait<T>(&mut self, what: &str, wanted: impl Fn(&Event) -> Option<T>) -> T {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let rung = *self.bell.0.lock().unwrap();
            while let Some(event) = self.mailbox.take() {
                self.seen.push((event, false));
            }
            for (event, used) in self.seen.iter_mut().filter(|(_, used)| !used) {
                if let Some(found) = wanted(event) {
                    *used = true;
                    return found;
                }
            }
            let bell = self.bell.0.lock().unwrap();
            let left = deadline.saturating_duration_since(Instant::now());
            let (bell, timeout) = self.bell.1.wait_timeout_while(bell, left, |bell| *bell == rung).unwrap();
            // The background rings it, and must not find it poisoned.
            drop(bell);
            assert!(!timeout.timed_out(), "{what} didn't come; {}\n{}", self.shortly(), self.raw_record());
        }
    }

    /// What came, a line each, with a mark where a test has asked for it.
    fn shortly(&self) -> String {
        let line = |(event, used): &(Event, bool)| {
            let event: String = format!("{event:?}").chars().take(200).collect();
            format!("\n{} {event}", if *used { "+" } else { "-" })
        };
        self.seen.iter().map(line).collect()
    }

    /// Everything that came so far, in order.
    pub fn events(&mut self) -> Vec<Event> {
        while let Some(event) = self.mailbox.take() {
            self.seen.push((event, false));
        }
        self.seen.iter().map(|(event, _)| event.clone()).collect()
    }

    pub fn turn_end(&mut self) -> TurnEnd {
        self.wait("TurnEnded", |event| match event {
            Event::TurnEnded { end, .. } => Some(end.clone()),
            _ => None,
        })
    }

    pub fn stop_reason(&mut self) -> StopReason {
        match self.turn_end() {
            TurnEnd::Stopped { reason, .. } => reason,
            TurnEnd::Failed(failure) => panic!("the turn failed: {failure:?}"),
        }
    }

    pub fn question(&mut self) -> (AskId, Question) {
        self.wait("Asked", |event| match event {
            Event::Asked { ask, question, .. } => Some((*ask, question.clone())),
            _ => None,
        })
    }

    pub fn exited(&mut self) -> Ending {
        self.wait("Exited", |event| match event {
            Event::Exited { why, .. } => Some(why.clone()),
            _ => None,
        })
    }

    pub fn failed(&mut self) -> (String, Failure) {
        self.wait("RequestFailed", |event| match event {
            Event::RequestFailed { what, failure, .. } => Some((what.clone(), failure.clone())),
            _ => None,
        })
    }

    pub fn open_failed(&mut self) -> Failure {
        self.wait("OpenFailed", |event| match event {
            Event::OpenFailed { failure, .. } => Some(failure.clone()),
            _ => None,
        })
    }

    pub fn answer(&self, ask: AskId, answer: Answer) {
        self.send(Command::Answer { ask, answer });
    }

    /// The updates of the session that came so far.
    pub fn updates(&mut self) -> Vec<Update> {
        let update = |event| match event {
            Event::Updated { update, .. } => Some(update),
            _ => None,
        };
        self.events().into_iter().filter_map(update).collect()
    }

    /// Ends the agent and returns what it received, all of it checked.
    pub fn finish(mut self) -> Received {
        if !self.seen.iter().any(|(event, _)| matches!(event, Event::Exited { .. })) {
            self.send(Command::Disconnect { agent: AGENT });
            self.exited();
        }
        self.received()
    }

    /// What the agent received so far, all of it checked.
    pub fn received(&self) -> Received {
        self.received_by("agent")
    }

    pub fn received_by(&self, name: &str) -> Received {
        let bytes = std::fs::read(self.record(name)).unwrap_or_default();
        let text = String::from_utf8(bytes).expect("what is written is UTF-8");
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let messages: Vec<Value> =
            whole.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        for message in &messages {
            self.check(message);
        }
        Received(messages)
    }

    /// Waits until the agent has received what is wanted.
    pub fn wait_received(&self, what: &str, wanted: impl Fn(&Received) -> bool) {
        wait_for(what, || wanted(&self.received()));
    }

    fn raw_record(&self) -> String {
        std::fs::read_to_string(self.record("agent")).unwrap_or_default()
    }

    fn check(&self, message: &Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        let asked = message.get("id").and_then(|id| self.asked.get(&id.to_string()));
        super::schema::check(message, asked.map(String::as_str));
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => {
                only(message, &["jsonrpc", "id", "method", "params"]);
                assert!(id.is_i64(), "{message}");
                check_request(method, params);
            }
            (Some(method), None) => {
                only(message, &["jsonrpc", "method", "params"]);
                match method {
                    "session/cancel" => strict::<v1::CancelNotification>(params),
                    "$/cancel_request" => strict::<v1::CancelRequestNotification>(params),
                    other => panic!("an unknown notification: {other}"),
                }
            }
            (None, Some(id)) if message.get("error").is_some() => {
                only(message, &["jsonrpc", "id", "error"]);
                strict::<v1::Error>(&message["error"]);
                let _ = id;
            }
            (None, Some(id)) => {
                only(message, &["jsonrpc", "id", "result"]);
                let method = self
                    .asked
                    .get(&id.to_string())
                    .unwrap_or_else(|| panic!("an answer to nothing: {message}"));
                check_answer(method, &message["result"]);
            }
            (None, None) => panic!("no message: {message}"),
        }
    }
}

impl Drop for Test {
    fn drop(&mut self) {
        let gone = self.background.shut_down(Duration::from_secs(5));
        let _ = std::fs::remove_dir_all(&self.folder);
        assert!(gone || std::thread::panicking(), "something was left behind");
    }
}

/// The messages that an agent received.
#[derive(Debug)]
pub struct Received(pub Vec<Value>);

impl Received {
    pub fn methods(&self) -> Vec<&str> {
        self.0.iter().filter_map(|message| message["method"].as_str()).collect()
    }

    /// The params of the only message with this method.
    pub fn params(&self, method: &str) -> &Value {
        let all = self.all(method);
        assert_eq!(all.len(), 1, "{method}: {self:#?}");
        all[0]
    }

    pub fn all(&self, method: &str) -> Vec<&Value> {
        self.0
            .iter()
            .filter(|message| message["method"] == method)
            .map(|message| &message["params"])
            .collect()
    }

    pub fn answers(&self, id: &Value) -> Vec<&Value> {
        self.0
            .iter()
            .filter(|message| message.get("method").is_none() && message.get("id") == Some(id))
            .collect()
    }

    /// The result of the only answer to this id.
    pub fn result(&self, id: impl Into<Value>) -> &Value {
        let id = id.into();
        match self.answers(&id)[..] {
            [answer] => answer.get("result").unwrap_or_else(|| panic!("an error: {answer}")),
            ref other => panic!("{} answers to {id}: {self:#?}", other.len()),
        }
    }

    /// Code and message of the only answer to this id.
    pub fn error(&self, id: impl Into<Value>) -> (i64, &str) {
        let id = id.into();
        match self.answers(&id)[..] {
            [answer] => (
                answer["error"]["code"].as_i64().expect("an error"),
                answer["error"]["message"].as_str().unwrap(),
            ),
            ref other => panic!("{} answers to {id}: {self:#?}", other.len()),
        }
    }
}

/// A step that answers the request captured under this name.
pub fn answer_to(name: &str, result: &Value) -> Value {
    json!({"send": {"jsonrpc": "2.0", "id": format!("${name}"), "result": result}})
}

pub fn fail(name: &str, error: &Value) -> Value {
    json!({"send": {"jsonrpc": "2.0", "id": format!("${name}"), "error": error}})
}

pub fn expect(method: &str) -> Value {
    json!({ "expect": method })
}

pub fn notify(method: &str, params: &Value) -> Value {
    json!({"send": {"jsonrpc": "2.0", "method": method, "params": params}})
}

pub fn request(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    json!({"send": {"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}})
}

/// An update of the session "s1".
pub fn update(update: &Value) -> Value {
    notify("session/update", &json!({"sessionId": "s1", "update": update}))
}

pub fn chunk(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

pub fn end_turn() -> Value {
    answer_to("session/prompt", &json!({"stopReason": "end_turn"}))
}

/// A turn in which the agent says "Hello", asks for permission (7) and reads the second line of a file (8).
pub fn turn_with_a_file_and_a_question(path: &Path) -> Vec<Value> {
    vec![
        expect("session/prompt"),
        update(&chunk("Hel")),
        update(&chunk("lo")),
        permission(7, "c1"),
        json!({"answer": 7}),
        request(8, "fs/read_text_file", &json!({"sessionId": "s1", "path": path, "line": 2, "limit": 1})),
        json!({"answer": 8}),
        end_turn(),
    ]
}

pub fn permission(id: i64, call: &str) -> Value {
    request(
        id,
        "session/request_permission",
        &json!({
            "sessionId": "s1",
            "toolCall": {"toolCallId": call, "title": "Edit a file"},
            "options": [
                {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                {"optionId": "no", "name": "No", "kind": "reject_once"},
            ],
        }),
    )
}

pub fn text(update: &Update) -> Option<&str> {
    match update {
        Update::Message { role: Role::Agent, content: Content::Text(text), .. } => Some(text),
        _ => None,
    }
}

pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} didn't happen");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The process that the script started.
pub fn child(test: &Test) -> i32 {
    let path = test.folder.join("child");
    wait_for("the agent's child", || path.exists());
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

pub fn alive(pid: i32) -> bool {
    // A zombie that nobody has taken yet is no process any more.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or_else(
        // SAFETY: `kill` with signal 0 only asks.
        |_| !cfg!(target_os = "linux") && unsafe { libc::kill(pid, 0) == 0 },
        |stat| !stat.contains(") Z"),
    )
}

fn only(message: &Value, keys: &[&str]) {
    for key in message.as_object().expect("a message is an object").keys() {
        assert!(keys.contains(&key.as_str()), "{key:?} in {message}");
    }
}

/// It must be what the type reads and writes, without anything more.
fn strict<T: DeserializeOwned + Serialize>(value: &Value) {
    let typed: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    assert_eq!(&serde_json::to_value(typed).unwrap(), value);
}

fn check_request(method: &str, params: &Value) {
    match method {
        "initialize" => strict::<v1::InitializeRequest>(params),
        "authenticate" => strict::<v1::AuthenticateRequest>(params),
        "logout" => strict::<v1::LogoutRequest>(params),
        "auth/status" => strict::<v1::AuthStatusRequest>(params),
        "session/set_title" => strict::<v1::SetSessionTitleRequest>(params),
        "session/new" => strict::<v1::NewSessionRequest>(params),
        "session/load" => strict::<v1::LoadSessionRequest>(params),
        "session/resume" => strict::<v1::ResumeSessionRequest>(params),
        "session/fork" => strict::<v1::ForkSessionRequest>(params),
        "session/list" => strict::<v1::ListSessionsRequest>(params),
        "session/delete" => strict::<v1::DeleteSessionRequest>(params),
        "session/status" => strict::<v1::SessionStatusRequest>(params),
        "session/close" => strict::<v1::CloseSessionRequest>(params),
        "session/prompt" => strict::<v1::PromptRequest>(params),
        "session/set_mode" => strict::<v1::SetSessionModeRequest>(params),
        "session/set_config_option" => strict::<v1::SetSessionConfigOptionRequest>(params),
        "session/set_model" => only(params, &["sessionId", "modelId"]),
        "_session/steering" => only(params, &["sessionId", "prompt", "_meta"]),
        other => panic!("an unknown request: {other}"),
    }
}

fn check_answer(method: &str, result: &Value) {
    match method {
        "session/request_permission" => strict::<v1::RequestPermissionResponse>(result),
        "fs/read_text_file" => strict::<v1::ReadTextFileResponse>(result),
        "fs/write_text_file" => strict::<v1::WriteTextFileResponse>(result),
        "terminal/create" => strict::<v1::CreateTerminalResponse>(result),
        "terminal/output" => strict::<v1::TerminalOutputResponse>(result),
        "terminal/wait_for_exit" => strict::<v1::WaitForTerminalExitResponse>(result),
        "terminal/kill" => strict::<v1::KillTerminalResponse>(result),
        "terminal/release" => strict::<v1::ReleaseTerminalResponse>(result),
        "elicitation/create" => strict::<v1::CreateElicitationResponse>(result),
        other if other.starts_with('_') => {}
        other => panic!("an answer to {other}"),
    }
}

//! Drives the demo agent over real pipes with a small client, and holds every line that it writes
//! against the protocol's types. What the plugin makes of the agent is for other tests.

#![expect(clippy::unwrap_used, reason = "a step of a test's helper that fails, fails the test")]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(20);

/// A folder of its own for a test, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("acp-demo-agent-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        // The agent compares paths as text.
        Self(path.canonicalize().unwrap())
    }

    /// A copy of the sample project.
    fn with_project(name: &str) -> Self {
        let folder = Self::new(name);
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/project"), &folder.0);
        folder
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Where the agents of these tests store their sessions.
fn sessions() -> PathBuf {
    std::env::temp_dir().join(format!("acp-demo-agent-{}-sessions", std::process::id()))
}

/// A running agent and the client's end of its pipes.
struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Option<JoinHandle<String>>,
    next_id: i64,
    /// The methods of our requests, to know the type of their answers.
    asked: HashMap<i64, String>,
    /// Whether nothing may be in a message that the protocol's types do not know.
    strict: bool,
}

impl Agent {
    fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_acp-demo-agent"))
            .args(args)
            .env("ACP_DEMO_SPEED", "0")
            .env("ACP_DEMO_SESSIONS", sessions())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match stdout.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) if sender.send(line).is_err() => return,
                    Ok(_) => {}
                }
            }
        });
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let stdin = child.stdin.take();
        let asked = HashMap::new();
        Self { child, stdin, lines, stderr: Some(stderr), next_id: 1, asked, strict: true }
    }

    /// Starts the demo agent and opens a session.
    fn open(cwd: &Path, capabilities: &Value) -> (Self, String) {
        let mut agent = Self::start(&[]);
        agent.initialize(capabilities);
        let opened = agent.ask("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
        let session = opened["sessionId"].as_str().unwrap().to_owned();
        assert_eq!(agent.next()["params"]["update"]["sessionUpdate"], "available_commands_update");
        (agent, session)
    }

    fn initialize(&mut self, capabilities: &Value) -> Value {
        self.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": capabilities }))
    }

    fn write(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.asked.insert(id, method.to_owned());
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn prompt(&mut self, session: &str, text: &str) -> i64 {
        self.request(
            "session/prompt",
            json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] }),
        )
    }

    fn cancel(&mut self, session: &str) {
        self.write(
            &json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } }),
        );
    }

    fn answer(&mut self, request: &Value, result: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// The next line, valid as the protocol has it.
    fn next(&mut self) -> Value {
        let line = self.next_line();
        let message: Value = serde_json::from_slice(&line).unwrap();
        self.check(&message);
        message
    }

    fn next_line(&mut self) -> Vec<u8> {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => line,
            Err(error) => {
                let _ = self.child.kill();
                let stderr = self.stderr.take().unwrap().join().unwrap();
                panic!("no line from the agent: {error}; stderr: {stderr}");
            }
        }
    }

    /// Sends a request and waits for its answer, which must be the next message.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer.get("result").unwrap_or_else(|| panic!("{method} failed: {answer}")).clone()
    }

    fn ask_in_vain(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer["error"].clone()
    }

    /// Reads until a message is the one; that and all before it.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut messages = Vec::new();
        loop {
            let message = self.next();
            messages.push(message.clone());
            if is_it(&message) {
                return messages;
            }
            assert!(messages.len() < 100_000, "it never came");
        }
    }

    /// Closes stdin and waits for the end: the exit status and stderr.
    fn end(mut self) -> (ExitStatus, String) {
        self.stdin = None;
        self.wait()
    }

    /// Waits for the end; a process without stdout is at its end.
    fn wait(&mut self) -> (ExitStatus, String) {
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the agent does not end"),
            }
        }
        let status = self.child.wait().unwrap();
        (status, self.stderr.take().unwrap().join().unwrap())
    }

    fn check(&self, message: &Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        let strict = self.strict;
        if let Some(method) = message.get("method") {
            let params = &message["params"];
            match (method.as_str().unwrap(), message.get("id").is_some()) {
                ("session/update", false) => fits::<v1::SessionNotification>(params, strict),
                ("elicitation/create", true) => fits::<v1::CreateElicitationRequest>(params, strict),
                ("session/request_permission", true) => fits::<v1::RequestPermissionRequest>(params, strict),
                ("fs/read_text_file", true) => fits::<v1::ReadTextFileRequest>(params, strict),
                ("fs/write_text_file", true) => fits::<v1::WriteTextFileRequest>(params, strict),
                ("terminal/create", true) => fits::<v1::CreateTerminalRequest>(params, strict),
                ("terminal/output", true) => fits::<v1::TerminalOutputRequest>(params, strict),
                ("terminal/wait_for_exit", true) => fits::<v1::WaitForTerminalExitRequest>(params, strict),
                ("terminal/release", true) => fits::<v1::ReleaseTerminalRequest>(params, strict),
                (method, _) => assert!(!strict || method.starts_with('_'), "unknown: {message}"),
            }
        } else if let Some(error) = message.get("error") {
            fits::<v1::Error>(error, strict);
        } else {
            let id = message["id"].as_i64().unwrap();
            let result = &message["result"];
            match self.asked[&id].as_str() {
                "initialize" => fits::<v1::InitializeResponse>(result, strict),
                "session/new" => fits::<v1::NewSessionResponse>(result, strict),
                "session/prompt" => fits::<v1::PromptResponse>(result, strict),
                "session/load" => fits::<v1::LoadSessionResponse>(result, strict),
                "session/resume" => fits::<v1::ResumeSessionResponse>(result, strict),
                "session/list" => fits::<v1::ListSessionsResponse>(result, strict),
                "session/delete" => fits::<v1::DeleteSessionResponse>(result, strict),
                "session/archive" => fits::<v1::ArchiveSessionResponse>(result, strict),
                "session/unarchive" => fits::<v1::UnarchiveSessionResponse>(result, strict),
                "session/status" => fits::<v1::SessionStatusResponse>(result, strict),
                "session/close" => fits::<v1::CloseSessionResponse>(result, strict),
                "session/set_mode" => fits::<v1::SetSessionModeResponse>(result, strict),
                "session/set_config_option" => fits::<v1::SetSessionConfigOptionResponse>(result, strict),
                other => assert!(!strict, "unknown answer to {other}"),
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value is one of the type; strictly, nothing of it is lost on the way there and back. The types
/// drop silently what they do not understand.
fn fits<T: DeserializeOwned + Serialize>(value: &Value, strict: bool) {
    let typed: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    if strict {
        let back = serde_json::to_value(typed).unwrap();
        assert!(holds(&back, value), "lost on the way: {value}\nwhat is left: {back}");
    }
}

fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| holds(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| holds(whole, part))
        }
        _ => whole == part,
    }
}

fn everything() -> Value {
    json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true })
}

/// A client with one unsaved buffer, which runs commands for real and answers permission as told.
struct Editor {
    buffers: HashMap<PathBuf, String>,
    /// The kind of the option to choose.
    choice: &'static str,
    outputs: HashMap<String, (String, i32)>,
}

impl Editor {
    fn new(choice: &'static str) -> Self {
        Self { buffers: HashMap::new(), choice, outputs: HashMap::new() }
    }

    /// Line 3 of the greeting is changed and not saved.
    fn with_unsaved_greeting(mut self, cwd: &Path) -> Self {
        let path = cwd.join("src/greeting.lua");
        let text = fs::read_to_string(&path).unwrap();
        self.buffers.insert(path, text.replace("\"Hello\"", "\"Good evening\""));
        self
    }

    /// Serves the agent until the request is answered; everything the agent wrote.
    fn serve(&mut self, agent: &mut Agent, prompt: i64) -> Vec<Value> {
        let mut messages = Vec::new();
        loop {
            let message = agent.next();
            messages.push(message.clone());
            match message["method"].as_str() {
                None if message["id"] == prompt => return messages,
                Some(method) if message.get("id").is_some() => {
                    let result = self.result(method, &message["params"]);
                    agent.answer(&message, result);
                }
                _ => {}
            }
        }
    }

    fn result(&mut self, method: &str, params: &Value) -> Value {
        let path = || PathBuf::from(params["path"].as_str().unwrap());
        let terminal = || params["terminalId"].as_str().unwrap();
        match method {
            "fs/read_text_file" => {
                let text = self.buffers.get(&path()).cloned();
                json!({ "content": text.unwrap_or_else(|| fs::read_to_string(path()).unwrap()) })
            }
            "fs/write_text_file" => {
                self.buffers.insert(path(), params["content"].as_str().unwrap().to_owned());
                json!({})
            }
            "session/request_permission" => {
                let options = params["options"].as_array().unwrap();
                let option = options.iter().find(|option| option["kind"] == self.choice).unwrap();
                json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } })
            }
            "terminal/create" => {
                let args: Vec<_> =
                    params["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
                let output = Command::new(params["command"].as_str().unwrap())
                    .args(args)
                    .current_dir(params["cwd"].as_str().unwrap())
                    .output()
                    .unwrap();
                let id = format!("terminal {}", self.outputs.len());
                let text = String::from_utf8(output.stdout).unwrap();
                self.outputs.insert(id.clone(), (text, output.status.code().unwrap()));
                json!({ "terminalId": id })
            }
            "terminal/wait_for_exit" => json!({ "exitCode": self.outputs[terminal()].1 }),
            "terminal/output" => {
                let (text, code) = &self.outputs[terminal()];
                json!({ "output": text, "truncated": false, "exitStatus": { "exitCode": code } })
            }
            "terminal/release" => json!({}),
            other => panic!("the agent asks for {other}"),
        }
    }
}

fn updates<'a>(messages: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let updates = messages.iter().map(|message| &message["params"]["update"]);
    updates.filter(|update| update["sessionUpdate"] == kind).collect()
}

fn text(messages: &[Value], kind: &str) -> String {
    updates(messages, kind).iter().map(|update| update["content"]["text"].as_str().unwrap()).collect()
}

fn said(messages: &[Value]) -> String {
    text(messages, "agent_message_chunk")
}

fn stop_reason(messages: &[Value]) -> &str {
    messages.last().unwrap()["result"]["stopReason"].as_str().unwrap()
}

fn requests(messages: &[Value]) -> Vec<&str> {
    let requests = messages.iter().filter(|message| message.get("id").is_some());
    requests.filter_map(|message| message["method"].as_str()).collect()
}

fn position(messages: &[Value], is_it: impl Fn(&Value) -> bool) -> usize {
    messages.iter().position(is_it).unwrap()
}

#[test]
fn the_agent_introduces_itself() {
    let mut agent = Agent::start(&[]);
    let answer = agent.initialize(&json!({}));
    assert_eq!(answer["protocolVersion"], 1);
    assert_eq!(answer["agentInfo"]["name"], "acp-demo-agent");
    assert_eq!(answer["agentInfo"]["title"], "Demo agent");
    assert_eq!(answer["agentCapabilities"]["loadSession"], true);
    assert_eq!(answer["agentCapabilities"]["promptCapabilities"]["image"], true);
    assert_eq!(answer["agentCapabilities"]["promptCapabilities"]["embeddedContext"], true);
    let (status, _) = agent.end();
    assert!(status.success());
}

#[test]
fn a_session_has_modes_options_and_commands() {
    let folder = Folder::new("session");
    let mut agent = Agent::start(&[]);
    agent.initialize(&json!({ "session": { "configOptions": { "boolean": {} } } }));
    let opened = agent.ask("session/new", json!({ "cwd": folder.0, "mcpServers": [] }));
    assert_eq!(opened["modes"]["currentModeId"], "ask");
    let options: Vec<_> =
        opened["configOptions"].as_array().unwrap().iter().map(|option| &option["id"]).collect();
    assert_eq!(options, ["mode", "model", "thinking"]);
    let commands = agent.next();
    let commands = commands["params"]["update"]["availableCommands"].as_array().unwrap();
    assert_eq!(commands.len(), 14);

    let session = &opened["sessionId"];
    let chosen = agent.ask(
        "session/set_config_option",
        json!({ "sessionId": session, "configId": "thinking", "type": "boolean", "value": false }),
    );
    assert_eq!(chosen["configOptions"][2]["currentValue"], false);
    let refused = agent.ask_in_vain(
        "session/set_config_option",
        json!({ "sessionId": session, "configId": "model", "value": "huge" }),
    );
    assert_eq!(refused["code"], -32602);
}

#[test]
fn booleans_are_offered_only_to_a_client_that_takes_them() {
    let folder = Folder::new("booleans");
    let mut agent = Agent::start(&[]);
    agent.initialize(&json!({}));
    let opened = agent.ask("session/new", json!({ "cwd": folder.0, "mcpServers": [] }));
    assert_eq!(opened["configOptions"].as_array().unwrap().len(), 2);
}

#[test]
fn requests_that_make_no_sense_get_the_error_that_says_why() {
    let mut agent = Agent::start(&[]);
    let early = agent.ask_in_vain("session/new", json!({ "cwd": "/", "mcpServers": [] }));
    assert_eq!(early["code"], -32600);
    agent.initialize(&json!({}));
    assert_eq!(agent.ask_in_vain("session/new", json!({ "cwd": "src", "mcpServers": [] }))["code"], -32602);
    assert_eq!(agent.ask_in_vain("session/new", json!({}))["code"], -32602);
    assert_eq!(agent.ask_in_vain("session/fork", json!({}))["code"], -32602);
    assert_eq!(agent.ask_in_vain("session/unheard_of", json!({}))["code"], -32601);
    assert_eq!(agent.ask_in_vain("session/load", json!({}))["code"], -32602);
    let unknown = json!({ "sessionId": "../etc/passwd", "cwd": "/", "mcpServers": [] });
    assert_eq!(agent.ask_in_vain("session/load", unknown)["code"], -32002);
    let prompt = json!({ "sessionId": "none", "prompt": [] });
    assert_eq!(agent.ask_in_vain("session/prompt", prompt)["code"], -32002);
}

#[test]
fn the_tour_goes_from_start_to_end_when_the_edit_is_allowed() {
    let folder = Folder::with_project("tour-allow");
    let greeting = folder.0.join("src/greeting.lua");
    let mut editor = Editor::new("allow_once").with_unsaved_greeting(&folder.0);
    let (mut agent, session) = Agent::open(&folder.0, &everything());
    let prompt = agent.prompt(&session, "/tour");
    let messages = editor.serve(&mut agent, prompt);

    assert_eq!(stop_reason(&messages), "end_turn");
    assert!(text(&messages, "agent_thought_chunk").contains("quick and honest"));
    let plans = updates(&messages, "plan");
    assert!(plans.iter().all(|plan| plan["entries"].as_array().unwrap().len() == 4));
    let done = |plan: &Value| {
        plan["entries"].as_array().unwrap().iter().filter(|entry| entry["status"] == "completed").count()
    };
    assert_eq!(plans.iter().map(|plan| done(plan)).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);

    let said = said(&messages);
    for part in ["# The tour", "## What comes", "| you see |", "```lua", "```rust", "   - with colours"] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    assert!(said.contains("Your unsaved line 3 says `M.word = \"Good evening\"`"), "{said}");
    assert!(said.contains("The command ended with 0"), "{said}");
    assert!(!said.contains("I skipped"), "{said}");

    // The diff is of the buffer, not of the file, and so is what is written.
    let asked = &messages[position(&messages, |message| message["method"] == "session/request_permission")];
    let kinds: Vec<_> =
        asked["params"]["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
    let diff = &asked["params"]["toolCall"]["content"][0];
    assert_eq!(diff["path"], greeting.to_str().unwrap());
    assert!(diff["oldText"].as_str().unwrap().contains("M.word = \"Good evening\""));
    assert_eq!(diff["newText"], *editor.buffers[&greeting]);
    assert!(editor.buffers[&greeting].contains("name or \"world\""));

    assert_eq!(
        requests(&messages),
        [
            "fs/read_text_file",
            "session/request_permission",
            "fs/write_text_file",
            "terminal/create",
            "terminal/wait_for_exit",
            "terminal/output",
            "terminal/release",
            "fs/read_text_file",
        ]
    );
    let (output, code) = &editor.outputs["terminal 0"];
    assert_eq!(*code, 0);
    assert!(output.contains("\u{1b}[36mchecking\u{1b}[0m 100%") && output.contains("\r"), "{output:?}");

    // Two places in two files, each at a line, for those who follow.
    let calls = updates(&messages, "tool_call");
    let kinds: Vec<_> = calls.iter().map(|call| call["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["read", "edit", "execute", "read"]);
    assert_eq!(calls[0]["locations"][0]["line"], 3);
    assert_eq!(calls[3]["locations"][0]["path"], folder.0.join("tests/greeting_test.lua").to_str().unwrap());
    assert_eq!(calls[3]["locations"][0]["line"], 7);
    for call in calls {
        let last = updates(&messages, "tool_call_update")
            .into_iter()
            .rfind(|update| update["toolCallId"] == call["toolCallId"]);
        assert_eq!(last.unwrap()["status"], "completed", "{call}");
    }
    let wrote = position(&messages, |message| message["method"] == "fs/write_text_file");
    let shown =
        position(&messages, |message| message["params"]["update"]["content"][0]["type"] == "terminal");
    let released = position(&messages, |message| message["method"] == "terminal/release");
    assert!(wrote < shown && shown < released);

    assert_eq!(updates(&messages, "usage_update")[0]["size"], 32_000);
    assert_eq!(updates(&messages, "usage_update")[0]["cost"]["currency"], "USD");
    assert_eq!(updates(&messages, "session_info_update")[0]["title"], "The tour");
    let (status, stderr) = agent.end();
    assert!(status.success() && stderr.is_empty(), "{stderr}");
}

#[test]
fn the_tour_goes_on_when_the_edit_is_rejected() {
    let folder = Folder::with_project("tour-reject");
    let mut editor = Editor::new("reject_once");
    let (mut agent, session) = Agent::open(&folder.0, &everything());
    let prompt = agent.prompt(&session, "give me a tour");
    let messages = editor.serve(&mut agent, prompt);
    assert_eq!(stop_reason(&messages), "end_turn");
    assert!(!requests(&messages).contains(&"fs/write_text_file"));
    assert!(requests(&messages).contains(&"terminal/release"));
    assert!(said(&messages).contains("You said no"));
    assert!(said(&messages).contains("Line 3 says `M.word = \"Hello\"`, as it does on the disk"));
    let edit = updates(&messages, "tool_call").into_iter().find(|call| call["kind"] == "edit").unwrap();
    let last = updates(&messages, "tool_call_update")
        .into_iter()
        .rfind(|update| update["toolCallId"] == edit["toolCallId"]);
    assert_eq!(last.unwrap()["status"], "failed");
}

#[test]
fn the_tour_says_what_it_skips_for_a_client_without_capabilities() {
    let folder = Folder::with_project("tour-bare");
    let (mut agent, session) = Agent::open(&folder.0, &json!({}));
    let prompt = agent.prompt(&session, "");
    let messages = Editor::new("none").serve(&mut agent, prompt);
    assert_eq!(stop_reason(&messages), "end_turn");
    assert_eq!(requests(&messages), Vec::<&str>::new());
    let said = said(&messages);
    assert!(said.contains("I skipped reading through the editor, and the edit, and the command."), "{said}");
}

#[test]
fn outside_the_sample_project_a_new_file_is_proposed() {
    let folder = Folder::new("tour-elsewhere");
    let mut editor = Editor::new("allow_once");
    let (mut agent, session) = Agent::open(&folder.0, &everything());
    let prompt = agent.prompt(&session, "/tour");
    let mut messages = Vec::new();
    loop {
        let message = agent.next();
        messages.push(message.clone());
        if message["id"] == prompt && message.get("method").is_none() {
            break;
        } else if message["method"] == "fs/read_text_file" {
            let error = json!({ "code": -32002, "message": "there is no such file" });
            agent.write(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
        } else if message.get("id").is_some() {
            let result = editor.result(message["method"].as_str().unwrap(), &message["params"]);
            agent.answer(&message, result);
        }
    }
    assert_eq!(stop_reason(&messages), "end_turn");
    let edit = updates(&messages, "tool_call").into_iter().find(|call| call["kind"] == "edit").unwrap();
    assert!(edit["content"][0].get("oldText").is_none());
    assert!(editor.buffers.contains_key(&folder.0.join("acp-tour.lua")));
}

#[test]
fn a_session_is_listed_and_loaded_by_another_process_with_all_that_was_said() {
    let folder = Folder::new("stored");
    let (mut agent, session) = Agent::open(&folder.0, &json!({}));
    let first = agent.prompt(&session, "/plan");
    let said_before = said(&agent.until(|message| message["id"] == first));
    let crash = agent.prompt(&session, "/crash");
    assert_eq!(agent.wait().0.code(), Some(3));

    let mut agent = Agent::start(&[]);
    agent.initialize(&json!({}));
    let listed = agent.ask("session/list", json!({ "cwd": folder.0 }));
    assert_eq!(listed["sessions"][0]["sessionId"], session, "{listed}");
    assert_eq!(listed["sessions"][0]["title"], "/plan");
    let load = json!({ "sessionId": session, "cwd": folder.0, "mcpServers": [] });
    let id = agent.request("session/load", load);
    let messages = agent.until(|message| message["id"] == id);
    assert_eq!(text(&messages, "user_message_chunk"), "/plan/crash");
    assert_eq!(said(&messages), said_before);
    assert!(!updates(&messages, "plan").is_empty());
    assert_eq!(messages.last().unwrap()["result"]["modes"]["currentModeId"], "ask");
    assert_eq!(agent.next()["params"]["update"]["sessionUpdate"], "available_commands_update");

    // Its numbers go on, and it tells nothing again where it is only resumed.
    let next = agent.prompt(&session, "and now?");
    let messages = agent.until(|message| message["id"] == next);
    let used = updates(&messages, "usage_update").last().unwrap()["used"].as_u64().unwrap();
    assert!(used > (said_before.len() / 5) as u64, "{used}");
    // Servers may be left out here, unlike when it is loaded.
    let id = agent.request("session/resume", json!({ "sessionId": session, "cwd": folder.0 }));
    let messages = agent.until(|message| message["id"] == id);
    assert_eq!(messages.len(), 1, "{messages:?}");
    agent.next();
    agent.ask("session/close", json!({ "sessionId": session }));
    agent.ask("session/delete", json!({ "sessionId": session }));
    let listed = agent.ask("session/list", json!({ "cwd": folder.0 }));
    assert_eq!(listed["sessions"], json!([]));
    assert!(crash > first);
}

#[test]
fn a_session_that_was_put_away_is_left_out_until_it_is_brought_back() {
    let folder = Folder::new("archived");
    let (mut agent, session) = Agent::open(&folder.0, &json!({}));
    let first = agent.prompt(&session, "/plan");
    agent.until(|message| message["id"] == first);
    let listed = |agent: &mut Agent, archived: Value| {
        let mut params = json!({ "cwd": folder.0 });
        if !archived.is_null() {
            params["archived"] = archived;
        }
        agent.ask("session/list", params)["sessions"].as_array().map(Vec::len)
    };
    agent.ask("session/archive", json!({ "sessionId": session }));
    let found =
        [Value::Null, json!("exclude"), json!("only"), json!("include")].map(|how| listed(&mut agent, how));
    assert_eq!(found, [Some(0), Some(0), Some(1), Some(1)]);
    agent.ask("session/unarchive", json!({ "sessionId": session }));
    assert_eq!((listed(&mut agent, Value::Null), listed(&mut agent, json!("only"))), (Some(1), Some(0)));
    let id = agent.request("session/archive", json!({ "sessionId": "demo-0-0-0" }));
    let answer = agent.until(|message| message["id"] == id).pop().unwrap();
    assert!(answer["error"]["code"].is_number(), "{answer}");
}

#[test]
fn a_session_is_open_until_it_is_closed_and_saved_after_that() {
    let folder = Folder::new("states");
    let (mut agent, session) = Agent::open(&folder.0, &json!({}));
    let first = agent.prompt(&session, "/plan");
    agent.until(|message| message["id"] == first);
    let asked = json!({ "sessionId": session });
    assert_eq!(agent.ask("session/status", asked.clone()), json!({ "status": "open" }));
    agent.ask("session/close", asked.clone());
    assert_eq!(agent.ask("session/status", asked), json!({ "status": "saved" }));
    let id = agent.request("session/status", json!({ "sessionId": "demo-0-0-0" }));
    let answer = agent.until(|message| message["id"] == id).pop().unwrap();
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
}

#[test]
fn larger_scenes_ask_for_much_and_go_on_whatever_is_answered() {
    let folder = Folder::new("larger");
    let can = json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true,
        "elicitation": { "form": {} } });
    let (mut agent, session) = Agent::open(&folder.0, &can);
    let mut editor = Editor::new("allow_once");

    let long = agent.prompt(&session, "/long");
    let messages = editor.serve(&mut agent, long);
    let asked = &messages[position(&messages, |message| message["method"] == "session/request_permission")];
    let text = asked["params"]["toolCall"]["content"][0]["newText"].as_str().unwrap();
    assert_eq!(text.lines().count(), 120);

    // All three are asked for before one is answered; the second is rejected, and answered first.
    let several = agent.prompt(&session, "/files");
    let mut asked = Vec::new();
    while asked.len() < 3 {
        let message = agent.next();
        if message["method"] == "session/request_permission" {
            asked.push(message);
        }
    }
    for (index, option) in [(1, "reject"), (2, "allow"), (0, "allow")] {
        let answer = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        agent.answer(&asked[index], answer);
    }
    let messages = editor.serve(&mut agent, several);
    assert_eq!(requests(&messages), ["fs/write_text_file", "fs/write_text_file"]);
    assert!(said(&messages).contains("2 of 3 are written"), "{}", said(&messages));

    let subagent = agent.prompt(&session, "/agent");
    let messages = editor.serve(&mut agent, subagent);
    let calls = updates(&messages, "tool_call");
    for call in &calls[1..] {
        assert_eq!(call["_meta"]["claudeCode"]["parentToolUseId"], calls[0]["toolCallId"]);
    }
    assert_eq!(calls.len(), 3);

    let build = agent.prompt(&session, "/build 2");
    let messages = editor.serve(&mut agent, build);
    let last = updates(&messages, "tool_call_update").into_iter().next_back().unwrap();
    assert_eq!(last["status"], "failed");
    assert!(editor.outputs.values().any(|(output, code)| output.contains("acp-tour.lua:7:3") && *code == 1));

    for (answer, expected) in [
        (json!({ "action": "accept", "content": { "name": "Ada", "colour": "blue" } }), "\"Ada\""),
        (json!({ "action": "decline" }), "rather not"),
        (json!({ "action": "cancel" }), "closed"),
    ] {
        let form = agent.prompt(&session, "/form");
        let messages = agent.until(|message| message["method"] == "elicitation/create");
        agent.answer(messages.last().unwrap(), answer);
        let messages = agent.until(|message| message["id"] == form && message.get("method").is_none());
        assert!(said(&messages).contains(expected), "{}", said(&messages));
    }
}

#[test]
fn allowed_always_asks_once_and_auto_mode_asks_never() {
    let folder = Folder::with_project("always");
    let mut editor = Editor::new("allow_always");
    let (mut agent, session) = Agent::open(&folder.0, &everything());
    let first = agent.prompt(&session, "/edit");
    assert!(requests(&editor.serve(&mut agent, first)).contains(&"session/request_permission"));
    let second = agent.prompt(&session, "/edit");
    let messages = editor.serve(&mut agent, second);
    assert_eq!(requests(&messages), ["fs/read_text_file", "fs/write_text_file"]);
    let original = fs::read_to_string(folder.0.join("src/greeting.lua")).unwrap();
    assert_eq!(
        editor.buffers[&folder.0.join("src/greeting.lua")],
        original,
        "the second edit takes the first back"
    );

    let (mut agent, session) = Agent::open(&folder.0, &everything());
    let id = agent.request("session/set_mode", json!({ "sessionId": session, "modeId": "auto" }));
    let messages = agent.until(|message| message["id"] == id);
    let options = updates(&messages, "config_option_update")[0];
    assert_eq!(options["configOptions"][0]["currentValue"], "auto");
    let prompt = agent.prompt(&session, "/edit");
    let messages = editor.serve(&mut agent, prompt);
    assert_eq!(requests(&messages), ["fs/read_text_file", "fs/write_text_file"]);
}

#[test]
fn an_answer_for_the_session_counts_for_every_later_call_of_the_kind() {
    let folder = Folder::new("settled");
    let mut editor = Editor::new("allow_always");
    let (mut agent, session) = Agent::open(&folder.0, &everything());
    // Three are asked about at once; what is answered there counts from the next one on.
    for (command, asked) in
        [("/files", 3), ("/files", 0), ("/long", 0), ("/edit", 0), ("/ask", 1), ("/ask", 0)]
    {
        let prompt = agent.prompt(&session, command);
        let messages = editor.serve(&mut agent, prompt);
        let asks = requests(&messages);
        let asks = asks.iter().filter(|method| **method == "session/request_permission").count();
        assert_eq!(asks, asked, "{command}: {}", said(&messages));
    }
    let mut editor = Editor::new("reject_always");
    let (mut agent, session) = Agent::open(&folder.0, &everything());
    for asked in [true, false] {
        let prompt = agent.prompt(&session, "/ask");
        let messages = editor.serve(&mut agent, prompt);
        assert_eq!(requests(&messages).contains(&"session/request_permission"), asked, "{}", said(&messages));
        assert_eq!(updates(&messages, "tool_call_update").last().unwrap()["status"], "failed");
    }
}

#[test]
fn a_slow_turn_is_cancelled_at_once_and_the_next_one_works() {
    let folder = Folder::new("slow");
    let (mut agent, session) = Agent::open(&folder.0, &json!({}));
    let slow = agent.prompt(&session, "/slow");
    agent.until(|message| {
        message["params"]["update"]["content"]["text"].as_str().is_some_and(|text| text.ends_with(" s, "))
    });
    let busy = agent.prompt(&session, "too early");
    let refused = agent.until(|message| message["id"] == busy);
    assert_eq!(refused.last().unwrap()["error"]["code"], -32600);
    agent.cancel(&session);
    let begin = Instant::now();
    let messages = agent.until(|message| message["id"] == slow);
    assert_eq!(stop_reason(&messages), "cancelled");
    assert!(begin.elapsed() < Duration::from_secs(5));
    agent.cancel(&session);
    let next = agent.prompt(&session, "still there?");
    let messages = agent.until(|message| message["id"] == next);
    assert_eq!(stop_reason(&messages), "end_turn");
    assert!(said(&messages).contains("text: still there?"));
}

#[test]
fn a_cancel_while_permission_waits_ends_the_turn_and_late_answers_do_no_harm() {
    let folder = Folder::with_project("cancel-permission");
    let mut editor = Editor::new("allow_once");
    let (mut agent, session) = Agent::open(&folder.0, &everything());
    let prompt = agent.prompt(&session, "/edit");
    let request = loop {
        let message = agent.next();
        match message["method"].as_str() {
            Some("session/request_permission") => break message,
            Some("fs/read_text_file") => {
                let result = editor.result("fs/read_text_file", &message["params"]);
                agent.answer(&message, result);
            }
            _ => {}
        }
    };
    agent.cancel(&session);
    let messages = agent.until(|message| message["id"] == prompt && message.get("method").is_none());
    assert_eq!(stop_reason(&messages), "cancelled");
    assert_eq!(updates(&messages, "tool_call_update").last().unwrap()["status"], "failed");
    agent.answer(&request, json!({ "outcome": { "outcome": "cancelled" } }));
    let next = agent.prompt(&session, "hello");
    assert_eq!(stop_reason(&agent.until(|message| message["id"] == next)), "end_turn");
}

#[test]
fn a_permission_answered_with_cancelled_ends_the_turn_too() {
    let folder = Folder::with_project("cancelled-outcome");
    let (mut agent, session) = Agent::open(&folder.0, &everything());
    let prompt = agent.prompt(&session, "/ask");
    let messages = agent.until(|message| message["method"] == "session/request_permission");
    let request = messages.last().unwrap();
    assert_eq!(request["params"]["options"].as_array().unwrap().len(), 6);
    agent.answer(request, json!({ "outcome": { "outcome": "cancelled" } }));
    agent.cancel(&session);
    assert_eq!(
        stop_reason(&agent.until(|message| message["id"] == prompt && message.get("method").is_none())),
        "cancelled"
    );
}

#[test]
fn a_cancel_releases_the_terminal() {
    let folder = Folder::new("cancel-terminal");
    let (mut agent, session) = Agent::open(&folder.0, &everything());
    let prompt = agent.prompt(&session, "/run");
    let messages = agent.until(|message| message["method"] == "terminal/create");
    agent.answer(messages.last().unwrap(), json!({ "terminalId": "t" }));
    agent.until(|message| message["method"] == "terminal/wait_for_exit");
    agent.cancel(&session);
    let messages = agent.until(|message| message["id"] == prompt && message.get("method").is_none());
    assert_eq!(stop_reason(&messages), "cancelled");
    assert_eq!(requests(&messages), ["terminal/release"]);
}

#[test]
fn two_sessions_play_at_the_same_time() {
    let folder = Folder::new("two");
    let (mut agent, first) = Agent::open(&folder.0, &json!({}));
    let opened = agent.ask("session/new", json!({ "cwd": folder.0, "mcpServers": [] }));
    let second = opened["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    let slow = agent.prompt(&first, "/slow");
    let is_of_the_first = |message: &Value| message["params"]["sessionId"] == *first;
    agent.until(is_of_the_first);
    let quick = agent.prompt(&second, "hello");
    assert_eq!(stop_reason(&agent.until(|message| message["id"] == quick)), "end_turn");
    agent.until(is_of_the_first);
    agent.cancel(&first);
    assert_eq!(stop_reason(&agent.until(|message| message["id"] == slow)), "cancelled");
}

#[test]
fn the_small_scenes_do_what_they_say() {
    let folder = Folder::new("scenes");
    let (mut agent, session) = Agent::open(&folder.0, &json!({}));

    let plan = agent.prompt(&session, "/plan");
    assert_eq!(updates(&agent.until(|message| message["id"] == plan), "plan").len(), 5);

    let fail = agent.prompt(&session, "/fail no luck");
    let messages = agent.until(|message| message["id"] == fail);
    assert_eq!(messages.last().unwrap()["error"]["message"], "no luck");

    let big = agent.prompt(&session, "/big");
    let messages = agent.until(|message| message["id"] == big);
    assert_eq!(updates(&messages, "agent_message_chunk").len(), 2_000);
    assert!(said(&messages).contains("line 2000 of 2000"));

    let ask = agent.prompt(&session, "/ask");
    let messages = agent.until(|message| message["method"] == "session/request_permission");
    let choice = json!({ "outcome": { "outcome": "selected", "optionId": "0 " } });
    agent.answer(messages.last().unwrap(), choice);
    assert!(
        said(&agent.until(|message| message["id"] == ask && message.get("method").is_none()))
            .contains("You chose \"0 \"")
    );

    let prompt = json!([
        { "type": "text", "text": "two\nlines" },
        { "type": "resource_link", "name": "a.rs", "uri": "file:///a.rs" },
        { "type": "resource", "resource": { "uri": "file:///b.rs", "text": "12345" } },
        { "type": "image", "mimeType": "image/png", "data": "AAAA" },
    ]);
    let echo = agent.request("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
    let said = said(&agent.until(|message| message["id"] == echo));
    assert!(said.contains("demo agent") && said.contains("/tour"), "{said}");
    assert!(said.contains("> two\n  > lines"), "{said}");
    assert!(said.contains("a link to a.rs") && said.contains("the text of file:///b.rs, 5 bytes"), "{said}");
    assert!(said.contains("image/png, 4 bytes"), "{said}");

    agent.prompt(&session, "/crash");
    let (status, stderr) = agent.wait();
    assert_eq!(status.code(), Some(3));
    assert_eq!(stderr.lines().count(), 3);
}

/// Starts a script; what the steps are is in `steps`.
fn script(folder: &Folder, steps: &Value) -> Agent {
    let script = folder.file("script.json", &steps.to_string());
    let record = folder.0.join("record");
    let mut agent =
        Agent::start(&["--script", script.to_str().unwrap(), "--record", record.to_str().unwrap()]);
    agent.strict = false;
    agent
}

#[test]
fn a_script_expects_replies_and_sends_with_what_it_kept() {
    let folder = Folder::new("script");
    let mut agent = script(
        &folder,
        &json!([
            { "expect": "initialize" },
            { "reply": "initialize", "result": { "protocolVersion": 1 } },
            { "expect": "session/new", "params": { "mcpServers": [] }, "as": "new", "save": { "cwd": "/params/cwd" } },
            { "reply": "new", "result": { "sessionId": "in ${cwd}" } },
            { "expect": "session/prompt", "save": { "session": "/sessionId" } },
            { "repeat": 3, "steps": [
                { "send": { "method": "session/update", "params": { "sessionId": "${session}", "update":
                    { "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "part ${i} " } } } } },
            ] },
            { "send": { "id": "ask", "method": "fs/read_text_file", "params": { "sessionId": "${session}", "path": "/a" } } },
            { "expect_reply": "ask", "result": { "content": "text" }, "save": { "read": "/content" } },
            { "stderr": "read ${read}" },
            { "reply": "session/prompt", "error": { "code": -32603, "message": "${read}" } },
            { "wait_eof": true },
            { "exit": 9 },
        ]),
    );
    // The prompt comes before any step expects it.
    let first = agent.request("initialize", json!({ "protocolVersion": 1 }));
    let second = agent.request("session/new", json!({ "cwd": "/work", "mcpServers": [] }));
    let third = agent.prompt("in /work", "go");
    assert_eq!(agent.next()["id"], first);
    let opened = agent.next();
    assert_eq!((&opened["id"], &opened["result"]["sessionId"]), (&json!(second), &json!("in /work")));
    let messages = agent.until(|message| message["method"] == "fs/read_text_file");
    assert_eq!(said(&messages), "part 0 part 1 part 2 ");
    agent.answer(messages.last().unwrap(), json!({ "content": "text" }));
    let failed = agent.next();
    assert_eq!((&failed["id"], &failed["error"]["message"]), (&json!(third), &json!("text")));
    let (status, stderr) = agent.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(9), "read text\n"));
    let record = fs::read_to_string(folder.0.join("record")).unwrap();
    assert_eq!(record.lines().count(), 4);
    assert!(record.ends_with("\n"));
}

#[test]
fn a_script_that_does_not_come_true_exits_with_70_and_says_why() {
    let folder = Folder::new("script-mismatch");
    let mut agent = script(&folder, &json!([{ "expect": "initialize", "params": { "protocolVersion": 2 } }]));
    agent.request("initialize", json!({ "protocolVersion": 1 }));
    let (status, stderr) = agent.wait();
    assert_eq!(status.code(), Some(70));
    assert!(
        stderr.contains("step 1: initialize came with other params: /protocolVersion is 1, not 2"),
        "{stderr}"
    );

    let mut agent = script(&folder, &json!([{ "delay_ms": 1 }, { "expect": "session/new" }]));
    agent.request("initialize", json!({}));
    let (status, stderr) = agent.end();
    assert_eq!(status.code(), Some(70));
    assert!(stderr.contains("step 2: stdin ended before session/new"), "{stderr}");
    assert!(stderr.contains("not expected so far: the request initialize (id 1)"), "{stderr}");

    let mut agent = script(&folder, &json!([{ "expect": "initialize", "timeout_ms": 10 }]));
    let (status, stderr) = agent.wait();
    assert_eq!(status.code(), Some(70));
    assert!(stderr.contains("waited too long"), "{stderr}");

    let mut agent = script(&folder, &json!([{ "sned": {} }]));
    let (status, stderr) = agent.wait();
    assert_eq!(status.code(), Some(64));
    assert!(stderr.contains("step 1") && stderr.contains("sned"), "{stderr}");
}

#[test]
fn a_script_writes_any_bytes_in_any_pieces() {
    let folder = Folder::new("script-bytes");
    let mut agent = script(
        &folder,
        &json!([
            { "expect": "_x", "save": { "word": "/word" } },
            { "raw": "say ${word} \u{1f980}\n", "bytes_each": 1 },
            { "hex": "ff fe 0a" },
            { "raw": "no end" },
            { "exit": 5 },
        ]),
    );
    agent.write(&json!({ "jsonrpc": "2.0", "method": "_x", "params": { "word": "cheese" } }));
    assert_eq!(agent.next_line(), "say cheese \u{1f980}\n".as_bytes());
    assert_eq!(agent.next_line(), [0xff, 0xfe, b'\n']);
    assert_eq!(agent.next_line(), b"no end");
    assert_eq!(agent.wait().0.code(), Some(5));
}

#[test]
fn a_script_takes_a_line_for_each_cue_and_says_when_there_are_no_more() {
    let folder = Folder::new("script-cues");
    let cues = folder.file("cues", "first\nsecond\n");
    let cue = json!({ "cue": cues });
    let mut agent = script(&folder, &json!([cue, { "raw": "one\n" }, cue, { "raw": "two\n" }, cue]));
    assert_eq!(agent.next_line(), b"one\n");
    assert_eq!(agent.next_line(), b"two\n");
    let (status, stderr) = agent.wait();
    assert_eq!(status.code(), Some(70));
    assert!(stderr.contains("step 5:") && stderr.contains("no more cues"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn a_script_can_ignore_sigterm_and_leave_a_child_behind() {
    let folder = Folder::new("script-term");
    let mut agent = script(
        &folder,
        &json!([
            { "ignore_term": true },
            { "spawn": ["sleep", "60"], "as": "child" },
            { "raw": "${child}\n" },
            { "expect": "_go" },
            { "exit": 6 },
        ]),
    );
    let child: i32 = String::from_utf8(agent.next_line()).unwrap().trim().parse().unwrap();
    let pid = i32::try_from(agent.child.id()).unwrap();
    // SAFETY: a plain system call on a process that this test started.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
    agent.write(&json!({ "jsonrpc": "2.0", "method": "_go" }));
    assert_eq!(agent.wait().0.code(), Some(6));
    // SAFETY: as above.
    assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
}

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// What the user typed in a recording, as the agent tells it.
fn typed(recording: &Path) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_acp-demo-agent")).arg("--prompts").arg(recording).output();
    serde_json::from_slice(&output.unwrap().stdout).unwrap()
}

/// Starts a replay and opens its session in the folder.
fn replay(recording: &Path, folder: &Folder, options: &[&str]) -> (Agent, String) {
    let mut args = vec!["--replay", recording.to_str().unwrap()];
    args.extend(options);
    let mut agent = Agent::start(&args);
    agent.strict = false;
    let id = agent.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    agent.until(|message| message["id"] == id);
    let id = agent.request("session/new", json!({ "cwd": folder.0, "mcpServers": [] }));
    let messages = agent.until(|message| message["id"] == id);
    let session = messages.last().unwrap()["result"]["sessionId"].as_str().unwrap().to_owned();
    (agent, session)
}

const NOTES: &str = "alpha\nbeta\ngamma\ndelta\n";
const EDITED: &str = "alpha\nBETA\nbeta two\ngamma\ndelta\n";

#[test]
fn a_replayed_gemini_edits_through_the_client() {
    let folder = Folder::new("replay-gemini");
    let notes = folder.file("notes.txt", NOTES);
    let recording = recording("gemini-edit.jsonl");
    let (mut agent, session) = replay(&recording, &folder, &[]);
    let mut editor = Editor::new("allow_once");
    let prompts = typed(&recording);
    assert_eq!(prompts.len(), 1);
    let prompt = agent.prompt(&session, &prompts[0]);
    let messages = editor.serve(&mut agent, prompt);
    assert_eq!(stop_reason(&messages), "end_turn");
    assert_eq!(
        requests(&messages),
        ["fs/read_text_file", "session/request_permission", "fs/read_text_file", "fs/write_text_file"]
    );
    assert!(said(&messages).ends_with("Edited."));
    assert_eq!(editor.buffers[&notes], EDITED);
    assert_eq!(fs::read_to_string(&notes).unwrap(), NOTES, "the client has not saved it");
    let (status, stderr) = agent.end();
    assert!(status.success(), "{stderr}");
}

#[test]
fn a_replayed_claude_edits_the_disk_itself() {
    let folder = Folder::new("replay-claude");
    let notes = folder.file("notes.txt", NOTES);
    let map = format!("/project={}", folder.0.display());
    let recording = recording("claude-agent-acp-edit.jsonl");
    let (mut agent, session) = replay(&recording, &folder, &["--map", &map]);
    let prompt = agent.prompt(&session, &typed(&recording)[0]);
    let before = agent.until(|message| message["method"] == "session/request_permission");
    let asked = before.last().unwrap();
    assert_eq!(asked["params"]["toolCall"]["content"][0]["path"], notes.to_str().unwrap());
    assert_eq!(fs::read_to_string(&notes).unwrap(), NOTES, "nobody has allowed it yet");
    agent.answer(asked, json!({ "outcome": { "outcome": "selected", "optionId": "allow-once" } }));
    let messages = agent.until(|message| message["id"] == prompt && message.get("method").is_none());
    assert_eq!(stop_reason(&messages), "end_turn");
    assert_eq!(fs::read_to_string(&notes).unwrap(), EDITED);
    // The recording ends with a title, after the turn.
    agent.until(|message| message["params"]["update"]["sessionUpdate"] == "session_info_update");
    agent.cancel(&session);
    let (status, stderr) = agent.end();
    assert!(status.success(), "{stderr}");
}

#[test]
fn a_replay_leaves_the_disk_alone_when_told() {
    let folder = Folder::new("replay-no-disk");
    let notes = folder.file("notes.txt", NOTES);
    let recording = recording("claude-agent-acp-edit.jsonl");
    let (mut agent, session) = replay(&recording, &folder, &["--no-disk"]);
    let prompt = agent.prompt(&session, &typed(&recording)[0]);
    Editor::new("allow_once").serve(&mut agent, prompt);
    assert_eq!(fs::read_to_string(&notes).unwrap(), NOTES);
}

#[test]
fn a_replay_ends_with_71_when_the_client_said_something_else() {
    let folder = Folder::new("replay-other");
    let recording = recording("gemini-edit.jsonl");
    let (mut agent, session) = replay(&recording, &folder, &[]);
    agent.until(|message| message["params"]["update"]["sessionUpdate"] == "available_commands_update");
    let refused = agent.ask_in_vain("session/set_mode", json!({ "sessionId": session, "modeId": "yolo" }));
    assert_eq!(refused["code"], -32601);
    let (status, stderr) = agent.end();
    assert_eq!(status.code(), Some(71));
    assert!(stderr.contains("not in the recording: the request session/set_mode"), "{stderr}");
    assert!(stderr.contains("stdin ended before the request session/prompt"), "{stderr}");
}

#[test]
fn a_replay_uses_the_names_that_the_client_gives() {
    let folder = Folder::new("replay-names");
    let entry =
        |direction: &str, message: Value| json!({ "t": 0, "dir": direction, "msg": message }).to_string();
    let (us, them) = ("client->agent", "agent->client");
    let update = |update: Value| {
        let params = json!({ "sessionId": "recorded", "update": update });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
    };
    let diff =
        json!([{ "type": "diff", "path": "/project/new.txt", "oldText": null, "newText": "long ago" }]);
    let lines = [
        json!({ "t": 0, "dir": "note", "note": "a second agent process" }).to_string(),
        entry(
            us,
            json!({ "jsonrpc": "2.0", "id": 1, "method": "session/load", "params": { "sessionId": "recorded", "cwd": "/project", "mcpServers": [] } }),
        ),
        entry(
            them,
            update(
                json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "status": "completed", "content": diff }),
            ),
        ),
        entry(them, json!({ "jsonrpc": "2.0", "id": 1, "result": {} })),
        entry(
            us,
            json!({ "jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": { "sessionId": "recorded", "prompt": [] } }),
        ),
        entry(
            them,
            json!({ "jsonrpc": "2.0", "id": "x", "method": "terminal/create", "params": { "sessionId": "recorded", "command": "ls", "cwd": "/project" } }),
        ),
        entry(us, json!({ "jsonrpc": "2.0", "id": "x", "result": { "terminalId": "term_1" } })),
        entry(
            them,
            update(
                json!({ "sessionUpdate": "tool_call", "toolCallId": "d", "title": "t", "content": [{ "type": "terminal", "terminalId": "term_1" }] }),
            ),
        ),
        entry(them, json!({ "jsonrpc": "2.0", "id": 2, "result": { "stopReason": "end_turn" } })),
    ];
    let recording = folder.file("recording.jsonl", &lines.join("\n"));
    let mut agent = Agent::start(&["--replay", recording.to_str().unwrap(), "--part", "2"]);
    agent.strict = false;
    let load = json!({ "sessionId": "mine", "cwd": folder.0, "mcpServers": [] });
    let id = agent.request("session/load", load);
    let messages = agent.until(|message| message["id"] == id);
    assert_eq!(messages[0]["params"]["sessionId"], "mine");
    assert_eq!(
        updates(&messages, "tool_call")[0]["content"][0]["path"],
        folder.0.join("new.txt").to_str().unwrap()
    );
    assert!(!folder.0.join("new.txt").exists(), "that was done long ago");
    let prompt = agent.prompt("mine", "go");
    let create = agent.next();
    assert_eq!(create["params"]["cwd"], folder.0.to_str().unwrap());
    agent.answer(&create, json!({ "terminalId": "terminal seven" }));
    let messages = agent.until(|message| message["id"] == prompt);
    assert_eq!(updates(&messages, "tool_call")[0]["content"][0]["terminalId"], "terminal seven");
    assert!(agent.end().0.success());
}

/// Prompts a flooding agent and reads to the end of the turn: the number of chunks, and the last lines.
fn flood(args: &[&str]) -> (usize, Value, Value) {
    let folder = Folder::new(&format!("flood{}", args.join("-")));
    let mut agent = Agent::start(args);
    agent.initialize(&json!({}));
    let opened = agent.ask("session/new", json!({ "cwd": folder.0, "mcpServers": [] }));
    agent.next();
    let id = agent.prompt(opened["sessionId"].as_str().unwrap(), "go");
    let (mut chunks, mut before) = (0, Vec::new());
    loop {
        let line = agent.next_line();
        if !line.starts_with(b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\"") {
            let answer: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(answer["id"], id);
            return (chunks, serde_json::from_slice(&before).unwrap(), answer);
        }
        if chunks % 500 == 0 {
            agent.check(&serde_json::from_slice(&line).unwrap());
        }
        chunks += 1;
        before = line;
    }
}

#[test]
fn a_flood_has_as_many_chunks_as_told_and_one_that_ends_it() {
    let (chunks, last, answer) = flood(&["--flood", "20000", "--size", "11"]);
    assert_eq!(chunks, 20_001);
    assert_eq!(last["params"]["update"]["content"]["text"], "END-OF-FLOOD");
    assert_eq!(answer["result"]["stopReason"], "end_turn");
}

#[test]
fn a_paced_flood_takes_its_time() {
    let begin = Instant::now();
    let (chunks, ..) = flood(&["--paced", "2000", "0.25"]);
    assert_eq!(chunks, 501);
    assert!(begin.elapsed() >= Duration::from_millis(240));
}

#[test]
fn a_flood_tells_when_it_was_written() {
    let (chunks, last, _) = flood(&["--flood", "1000", "--stamps"]);
    assert_eq!(chunks, 1002, "one for the prompt's arrival, and one at the end");
    assert_eq!(last["params"]["update"]["content"]["text"], "END-OF-FLOOD");
}

#[test]
fn the_first_prompt_is_answered_with_what_fills_the_session() {
    let (chunks, last, _) = flood(&["--flood", "5", "--fill", "40960"]);
    assert_eq!(chunks, 11);
    assert_eq!(last["params"]["update"]["content"]["text"], "END-OF-FLOOD");
}

#[test]
fn a_flood_is_cancelled_like_any_turn() {
    let folder = Folder::new("flood-cancel");
    let mut agent = Agent::start(&["--flood", "1000000000"]);
    agent.initialize(&json!({}));
    let opened = agent.ask("session/new", json!({ "cwd": folder.0, "mcpServers": [] }));
    agent.next();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    agent.prompt(&session, "go");
    agent.next();
    agent.cancel(&session);
    loop {
        let line = agent.next_line();
        if !line.starts_with(b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\"") {
            let answer: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(answer["result"]["stopReason"], "cancelled");
            return;
        }
    }
}

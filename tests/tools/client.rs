//! The client of the Model Context Protocol that an agent would be: it starts the bridge as the agent was told, and
//! says and hears lines of JSON. What the tools do is left to the tests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

use crate::support::DEADLINE;
use crate::support::process::wait_for;
use crate::support::script::Scripted;

/// An agent's connection to the tools.
pub struct Client {
    pub bridge: Child,
    pub input: Option<ChildStdin>,
    pub lines: Receiver<Value>,
    last: i64,
}

/// How the agent of a chat was told to start the bridge.
pub struct Told {
    pub command: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

impl Told {
    pub fn of(chat: &mut Scripted) -> Self {
        let servers = chat.got("session/new")["params"]["mcpServers"].clone();
        let server = servers.as_array().and_then(|all| all.last()).expect("a server").clone();
        assert_eq!(server["name"], "neovim");
        Self::by(&server)
    }

    /// The same of a server as `session/new` has it.
    pub fn by(server: &Value) -> Self {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let each = |key: &str| server[key].as_array().expect("a list").clone();
        Self {
            command: text(&server["command"]),
            args: each("args").iter().map(text).collect(),
            env: each("env").iter().map(|pair| (text(&pair["name"]), text(&pair["value"]))).collect(),
        }
    }

    /// Starts the bridge and begins to speak with it.
    pub fn connect(&self) -> Client {
        let mut client = self.start();
        let answer = client.ask("initialize", begins());
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
        client.tell("notifications/initialized", json!({}));
        client
    }

    pub fn start(&self) -> Client {
        let mut command = Command::new(&self.command);
        command.args(&self.args).envs(self.env.iter().cloned());
        for name in ["NVIM", "VIM", "VIMRUNTIME", "NVIM_APPNAME"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut bridge = command.spawn().expect("the bridge starts");
        let output = BufReader::new(bridge.stdout.take().expect("an output"));
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("a message");
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        let input = bridge.stdin.take();
        Client { bridge, input, lines, last: 0 }
    }
}

/// What a client says of itself.
pub fn begins() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client })
}

impl Client {
    pub fn of(chat: &mut Scripted) -> Self {
        Told::of(chat).connect()
    }

    fn write(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an input");
        // A bridge that was refused is gone.
        let _ = writeln!(input, "{message}");
    }

    pub fn tell(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let id = self.last;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn next(&self) -> Value {
        self.lines.recv_timeout(DEADLINE * 3).expect("a message in time")
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer_to(id)
    }

    fn answer_to(&mut self, id: i64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
        }
    }

    pub fn names(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Calls a tool without waiting for what it answers.
    pub fn begin_call(&mut self, name: &str, args: Value) -> i64 {
        self.begin("tools/call", json!({ "name": name, "arguments": args }))
    }

    /// What a tool answers, and whether it is an error.
    pub fn call(&mut self, name: &str, args: Value) -> (String, bool) {
        let id = self.begin_call(name, args);
        self.answer(id)
    }

    /// The same of a call that was begun.
    pub fn answer(&mut self, id: i64) -> (String, bool) {
        let answer = self.answer_to(id);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), result["isError"].as_bool().expect("a word on success"))
    }

    #[track_caller]
    pub fn gives(&mut self, name: &str, args: Value) -> String {
        let (text, failed) = self.call(name, args);
        assert!(!failed, "{name}: {text}");
        text
    }

    #[track_caller]
    pub fn fails(&mut self, name: &str, args: Value) -> String {
        let (text, failed) = self.call(name, args);
        assert!(failed, "{name}: {text}");
        text
    }

    /// Waits until the bridge has ended, and gives what it said on its way out.
    #[track_caller]
    pub fn ended(&mut self) -> String {
        wait_for(|| self.bridge.try_wait().expect("a child").is_some(), "the bridge to end");
        let mut said = String::new();
        self.bridge.stderr.take().expect("an stderr").read_to_string(&mut said).expect("a text");
        said
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.bridge.kill();
        let _ = self.bridge.wait();
    }
}

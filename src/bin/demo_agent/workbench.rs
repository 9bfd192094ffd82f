//! The agent's own files and commands, for a client that has none for it: what the task behind asks of the client is
//! done here. The client is told of the commands, and is asked for nothing.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::between::{Output, Said};
use crate::protocol2::told;

#[derive(Default)]
pub struct Workbench {
    terminals: HashMap<String, Arc<Mutex<Terminal>>>,
    count: u64,
}

struct Terminal {
    child: Child,
    output: String,
    exit: Option<Value>,
    /// Who waits for its end: the ids of the requests.
    waiting: Vec<Value>,
}

impl Workbench {
    /// The answer to a request of the task's, unless it comes later.
    pub fn asked(&mut self, method: &str, request: &Value, output: &Output) -> Option<Value> {
        let (id, params) = (&request["id"], &request["params"]);
        let path = Path::new(params["path"].as_str().unwrap_or_default());
        let result = match method {
            "fs/read_text_file" => {
                fs::read_to_string(path).map(|content| json!({ "content": part(&content, params) }))
            }
            "fs/write_text_file" => {
                fs::write(path, params["content"].as_str().unwrap_or_default()).map(|()| json!({}))
            }
            "terminal/create" => self.create(params, output),
            method => return self.of_terminal(method, id, params),
        };
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => refusal(id, &error.to_string()),
        })
    }

    fn create(&mut self, params: &Value, output: &Output) -> std::io::Result<Value> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let args: Vec<String> = params["args"].as_array().into_iter().flatten().map(text).collect();
        let (command, cwd) = (text(&params["command"]), text(&params["cwd"]));
        let mut program = Command::new(&command);
        program.args(&args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        if !cwd.is_empty() {
            program.current_dir(&cwd);
        }
        let mut child = program.spawn()?;
        let stdout = child.stdout.take();
        self.count += 1;
        let (name, session) = (format!("terminal-{}", self.count), params["sessionId"].clone());
        let terminal = Terminal { child, output: String::new(), exit: None, waiting: Vec::new() };
        let terminal = Arc::new(Mutex::new(terminal));
        self.terminals.insert(name.clone(), terminal.clone());
        let line = std::iter::once(command).chain(args).collect::<Vec<_>>().join(" ");
        let begun = json!({ "sessionUpdate": "terminal_update", "terminalId": name, "command": line });
        // The client that is gone needs no news.
        let _ = output.write(&Said::to_client(told(&session, begun)));
        let (output, terminal_name) = (output.clone(), name.clone());
        thread::spawn(move || {
            if let Some(stdout) = stdout {
                follow(stdout, &terminal, &output, &session, &terminal_name);
            }
            end(&terminal, &output, &session, &terminal_name);
        });
        Ok(json!({ "terminalId": name }))
    }

    fn of_terminal(&mut self, method: &str, id: &Value, params: &Value) -> Option<Value> {
        let name = params["terminalId"].as_str().unwrap_or_default();
        let Some(terminal) = self.terminals.get(name) else { return Some(refusal(id, "no such terminal")) };
        let mut known = terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match method {
            "terminal/output" => {
                json!({ "output": known.output, "truncated": false, "exitStatus": known.exit })
            }
            "terminal/wait_for_exit" => match &known.exit {
                Some(exit) => exit.clone(),
                None => {
                    known.waiting.push(id.clone());
                    return None;
                }
            },
            "terminal/kill" | "terminal/release" => {
                if known.exit.is_none() {
                    // It may end by itself just now.
                    let _ = known.child.kill();
                }
                json!({})
            }
            _ => return Some(refusal(id, "no such method")),
        };
        drop(known);
        if method == "terminal/release" {
            self.terminals.remove(name);
        }
        Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }
}

fn follow(mut stdout: impl Read, terminal: &Mutex<Terminal>, output: &Output, session: &Value, name: &str) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = stdout.read(&mut bytes) {
        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
        terminal.lock().unwrap_or_else(PoisonError::into_inner).output.push_str(&text);
        let data = STANDARD.encode(&bytes[..count]);
        let chunk = json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": name, "data": data });
        let _ = output.write(&Said::to_client(told(session, chunk)));
    }
}

fn end(terminal: &Mutex<Terminal>, output: &Output, session: &Value, name: &str) {
    let mut known = terminal.lock().unwrap_or_else(PoisonError::into_inner);
    let code = known.child.wait().ok().and_then(|status| status.code());
    let exit = json!({ "exitCode": code });
    known.exit = Some(exit.clone());
    let waiting = std::mem::take(&mut known.waiting);
    drop(known);
    let ended = json!({ "sessionUpdate": "terminal_update", "terminalId": name, "exitStatus": exit });
    let _ = output.write(&Said::to_client(told(session, ended)));
    for id in waiting {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": exit });
        let _ = output.write(&Said::to_agent(answer));
    }
}

/// The lines that are asked for.
fn part(content: &str, params: &Value) -> String {
    let first = params["line"].as_u64().unwrap_or(1).saturating_sub(1);
    let count = params["limit"].as_u64().unwrap_or(u64::MAX);
    let lines = content.split_inclusive('\n').enumerate();
    let is_asked = |at: usize| (first..first.saturating_add(count)).contains(&(at as u64));
    lines.filter(|(at, _)| is_asked(*at)).map(|(_, line)| line).collect()
}

fn refusal(id: &Value, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": message } })
}

//! Faults in what the agent asks of the client: files that are none or are not its business, terminals
//! that are not there, questions with no answers or a thousand, and forms that make no sense.

use std::time::Duration;

use serde_json::{Value, json};

use super::{After, Agent, beside};

/// Most are answered at once; some wait for the user.
const PATIENCE: Duration = Duration::from_secs(20);

impl Agent {
    #[expect(clippy::too_many_lines, reason = "a flat match")]
    pub(super) fn in_requests(&mut self, name: &str, seed: u64) -> Option<After> {
        let id = format!("{name}-{seed}");
        match name {
            "released-twice" => {
                let terminal = self.terminal(json!({ "command": "echo", "args": ["a terminal"] }));
                self.call("terminal/wait_for_exit", json!({ "terminalId": terminal }));
                for method in ["output", "release", "release", "output", "kill", "wait_for_exit"] {
                    self.ask(&format!("terminal/{method}"), json!({ "terminalId": terminal }));
                }
            }
            "unknown-terminal" => {
                for method in ["output", "wait_for_exit", "kill", "release"] {
                    self.ask(&format!("terminal/{method}"), json!({ "terminalId": "nobody" }));
                    self.ask(&format!("terminal/{method}"), json!({ "terminalId": 5 }));
                    self.ask(&format!("terminal/{method}"), json!({}));
                }
                self.update(
                    json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": "shows nothing",
                    "content": [{ "type": "terminal", "terminalId": "nobody" }] }),
                );
            }
            "bad-command" => {
                for command in [json!("no-such-program"), json!(""), json!("/"), json!(5), Value::Null] {
                    self.ask("terminal/create", json!({ "command": command }));
                }
                self.ask("terminal/create", json!({ "command": "echo", "cwd": "/no/such/folder" }));
                self.ask("terminal/create", json!({ "command": "echo", "args": [1, null] }));
                self.ask("terminal/create", json!({ "command": "echo", "env": [{ "name": "=" }] }));
            }
            "wild-terminal" => {
                let code = "i=0; while [ $i -lt 3000 ]; do printf '\\033[31m%d\\033]52;c;QQ==\\a\\033[2J\\r\\n\\377' $i; \
                            i=$((i+1)); done";
                let terminal = self.terminal(json!({ "command": "sh", "args": ["-c", code],
                    "outputByteLimit": 1000 }));
                self.update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": "wild",
                    "kind": "execute", "content": [{ "type": "terminal", "terminalId": terminal }] }));
                self.call("terminal/wait_for_exit", json!({ "terminalId": terminal }));
                self.call("terminal/output", json!({ "terminalId": terminal }));
                self.call("terminal/release", json!({ "terminalId": terminal }));
            }
            "terminal-left" => {
                // Never released: it ends with its session.
                self.terminal(json!({ "command": "sleep", "args": ["1000"] }));
            }
            "write" => {
                let content = format!("one\ntwo {seed}\nthree\n");
                self.write(&self.file("c.txt"), &content);
            }
            "write-open" => {
                // The test types in this file at the same time, at its end.
                let content = format!("first {seed}\nsecond\nthird\nfourth\nfifth\n");
                self.call("fs/read_text_file", json!({ "path": self.file("open.txt") }));
                self.write(&self.file("open.txt"), &content);
            }
            "write-odd" => {
                for name in ["folder", "pipe", "a.txt/b.txt", "new/folder/file.txt", "", "nul\u{0}.txt"] {
                    self.write(&self.file(name), "x\n");
                }
                self.ask("fs/write_text_file", json!({ "path": self.file("c.txt") }));
                self.ask("fs/write_text_file", json!({ "path": "relative.txt", "content": "x" }));
                self.ask("fs/write_text_file", json!({ "path": ["x"], "content": 5 }));
            }
            "write-outside" => {
                // Each waits for the user's answer.
                let path = beside(&self.cwd);
                self.call("fs/write_text_file", json!({ "path": path, "content": "x\n" }));
            }
            "read-outside" => {
                self.call("fs/read_text_file", json!({ "path": "/etc/hostname" }));
            }
            "read-odd" => {
                for name in ["folder", "pipe", "missing.txt", "huge.txt", "binary.bin", "a.txt/b", "loop", ""]
                {
                    self.ask("fs/read_text_file", json!({ "path": self.file(name) }));
                }
                for (line, limit) in
                    [(json!(0), json!(0)), (json!(u32::MAX), json!(1)), (json!(-1), json!("x"))]
                {
                    self.ask(
                        "fs/read_text_file",
                        json!({ "path": self.file("a.txt"), "line": line, "limit": limit }),
                    );
                }
            }
            "many-reads" => {
                for _ in 0..500 {
                    self.ask("fs/read_text_file", json!({ "path": self.file("a.txt") }));
                }
            }
            "no-options" => {
                self.ask("session/request_permission", permission(&id, 0));
                self.ask("session/request_permission", json!({ "toolCall": { "toolCallId": id } }));
                self.ask("session/request_permission", json!({ "toolCall": 5, "options": [{}] }));
            }
            "many-options" => {
                self.call("session/request_permission", permission(&id, 1000));
            }
            "question" => {
                self.call("session/request_permission", permission(&id, 3));
            }
            "question-withdrawn" => {
                let asked = self.ask("session/request_permission", permission(&id, 2));
                self.listen(30);
                self.output.send(&json!({ "jsonrpc": "2.0", "method": "$/cancel_request",
                    "params": { "requestId": asked } }));
            }
            "question-left-open" => {
                // The turn ends while its question waits.
                self.ask("session/request_permission", permission(&id, 2));
                return Some(After::Answer);
            }
            "two-questions" => {
                self.ask("session/request_permission", permission(&format!("{id}-a"), 2));
                self.ask("session/request_permission", permission(&format!("{id}-b"), 2));
            }
            "bad-form" => {
                for params in [
                    json!({}),
                    json!({ "mode": "form" }),
                    json!({ "mode": "form", "message": 5, "requestedSchema": [] }),
                    json!({ "mode": "url", "message": "m", "url": "javascript:alert(1)",
                        "elicitationId": "e" }),
                    json!({ "mode": "telepathy", "message": "m" }),
                ] {
                    self.ask("elicitation/create", params);
                }
            }
            "form" => {
                let schema = json!({ "type": "object", "required": ["name"], "properties": {
                    "name": { "type": "string", "minLength": 1, "pattern": "(" },
                    "age": { "type": "integer", "minimum": 5, "maximum": 1 },
                    "odd": { "type": "rocket" },
                    "one": { "type": "string", "enum": [] },
                } });
                self.ask(
                    "elicitation/create",
                    json!({ "mode": "form", "message": "who are you?", "requestedSchema": schema }),
                );
            }
            _ => return None,
        }
        self.settle(PATIENCE);
        Some(After::Answer)
    }

    fn terminal(&mut self, params: Value) -> Value {
        self.call("terminal/create", params)["result"]["terminalId"].clone()
    }

    fn write(&mut self, path: &str, content: &str) {
        self.ask("fs/write_text_file", json!({ "path": path, "content": content }));
    }
}

fn permission(id: &str, count: usize) -> Value {
    let kinds = ["allow_once", "reject_once", "allow_always", "reject_always", "shrug"];
    let options: Vec<Value> = (0..count)
        .map(|at| {
            json!({ "optionId": format!("o{at}"), "name": format!("Option {at}"),
            "kind": kinds[at % kinds.len()] })
        })
        .collect();
    json!({ "toolCall": { "toolCallId": id, "title": "may I?", "kind": "execute" }, "options": options })
}

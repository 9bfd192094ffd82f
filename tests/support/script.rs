//! Scripted agents for the editor's tests: the first steps that each of them plays, the usual ones
//! after that, and a Neovim whose chat runs one. The record is what the agent was sent, line by line.

use std::path::Path;

use serde_json::{Value, json};

use super::project::TempProject;
use super::{Nvim, Options, demo_agent, schema};

/// An agent that plays steps; see the demo agent's `--script`.
pub struct Scripted {
    pub project: TempProject,
    pub nvim: Nvim,
}

/// The steps of a connection that opens the session `s1`.
pub fn opened() -> Vec<Value> {
    opened_with(json!({}))
}

/// The same with more in the answer to `session/new`.
pub fn opened_with(mut answer: Value) -> Vec<Value> {
    answer["sessionId"] = "s1".into();
    vec![
        json!({ "expect": "initialize" }),
        json!({ "reply": "initialize", "result": {
            "protocolVersion": 1,
            "agentInfo": { "name": "fake", "title": "Fake", "version": "1.0" },
        } }),
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": answer }),
    ]
}

/// The same, and what is played after it.
pub fn steps(parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all = opened();
    all.extend(parts);
    all
}

/// The steps of an agent that says at the start what it can do, and how to log in.
pub fn initialized(capabilities: Value, methods: Value) -> Vec<Value> {
    let answer = json!({
        "protocolVersion": 1,
        "agentInfo": { "name": "fake", "title": "Fake", "version": "1.0" },
        "agentCapabilities": capabilities,
        "authMethods": methods,
    });
    vec![json!({ "expect": "initialize" }), json!({ "reply": "initialize", "result": answer })]
}

/// What the agent sends of the session `s1`, as of the second one, `s2`.
pub fn in_second(mut step: Value) -> Value {
    step["send"]["params"]["sessionId"] = "s2".into();
    step
}

/// A `session/update` of the session `s1`.
pub fn update(update: Value) -> Value {
    json!({ "send": { "method": "session/update", "params": { "sessionId": "s1", "update": update } } })
}

/// A chunk of the agent's answer.
pub fn says(text: &str) -> Value {
    update(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } }))
}

/// A request of the agent's for the session `s1`; its answer is expected under the id.
pub fn asks(id: &str, method: &str, mut params: Value) -> Value {
    params["sessionId"] = "s1".into();
    json!({ "send": { "id": id, "method": method, "params": params } })
}

/// Holds the agent until its request of this id is answered.
pub fn answered(id: &str) -> Value {
    json!({ "expect_reply": id, "to": id })
}

/// The agent makes a request, and waits for its answer.
pub fn awaits(id: &str, method: &str, params: Value) -> [Value; 2] {
    [asks(id, method, params), answered(id)]
}

/// The agent writes a file of the project through the client.
pub fn writes(path: &str, content: &str) -> [Value; 2] {
    awaits("w", "fs/write_text_file", json!({ "path": format!("$PROJECT/{path}"), "content": content }))
}

/// The agent runs a shell's command line in a terminal of the client's, as the tool call of this id, and waits for its
/// end. It works in the project's folder. Use single quotes, since `${..}` is the script's own.
pub fn runs(id: &str, line: &str) -> Vec<Value> {
    let command = json!({ "command": "sh", "args": ["-c", line], "cwd": "$PROJECT" });
    let terminal = format!("{id}-terminal");
    let of_terminal = json!({ "sessionId": "s1", "terminalId": format!("${{{terminal}}}") });
    let content = json!([{ "type": "terminal", "terminalId": format!("${{{terminal}}}") }]);
    let new = format!("{id}-new");
    let wait = format!("{id}-wait");
    vec![
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": line, "kind": "execute",
            "status": "in_progress" })),
        asks(&new, "terminal/create", command),
        json!({ "expect_reply": new, "to": new, "save": { terminal: "/result/terminalId" } }),
        update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "content": content })),
        asks(&wait, "terminal/wait_for_exit", of_terminal.clone()),
        answered(&wait),
        update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed" })),
    ]
}

/// The same without a tool call.
pub fn runs_alone(id: &str, line: &str) -> Vec<Value> {
    let is_of_call =
        |step: &Value| step.pointer("/send/method").is_some_and(|method| method == "session/update");
    runs(id, line).into_iter().filter(|step| !is_of_call(step)).collect()
}

/// A turn in which the agent runs command lines, and says so.
pub fn turn_that_runs(lines: &[&str]) -> Vec<Value> {
    let calls = lines.iter().enumerate().flat_map(|(at, line)| runs(&format!("c{at}"), line));
    std::iter::once(prompt()).chain(calls).chain([says("Ran."), ends("end_turn")]).collect()
}

/// The agent asks whether it may do something; the answers are `Allow`, `Always allow` and `Reject`.
pub fn permission(id: &str, call: Value) -> Value {
    let options = json!([
        { "optionId": "a", "name": "Allow", "kind": "allow_once" },
        { "optionId": "aa", "name": "Always allow", "kind": "allow_always" },
        { "optionId": "r", "name": "Reject", "kind": "reject_once" },
    ]);
    asks(id, "session/request_permission", json!({ "toolCall": call, "options": options }))
}

pub fn prompt() -> Value {
    json!({ "expect": "session/prompt" })
}

pub fn ends(reason: &str) -> Value {
    json!({ "reply": "session/prompt", "result": { "stopReason": reason } })
}

/// All that the agent was sent is what the protocol allows.
impl Drop for Scripted {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let text = std::fs::read_to_string(self.project.file(".agent/record.jsonl")).unwrap_or_default();
        // The last line may be half written.
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let record: Vec<Value> =
            complete.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        let script = self.project.read(".agent/script.json");
        schema::check_all(&record, &serde_json::from_str(&script).expect("a script"));
    }
}

impl Scripted {
    /// A Neovim in a project with these files, whose agent plays these steps.
    pub fn new(files: &[(&str, &str)], steps: Vec<Value>) -> Self {
        Self::sized(files, steps, 100, 30)
    }

    pub fn sized(files: &[(&str, &str)], steps: Vec<Value>, columns: u16, rows: u16) -> Self {
        Self::begin(files, steps, (columns, rows), |_| Vec::new())
    }

    /// The same with an environment that depends on where the project is.
    pub fn with_env(
        files: &[(&str, &str)],
        steps: Vec<Value>,
        env: impl FnOnce(&TempProject) -> Vec<(String, String)>,
    ) -> Self {
        Self::begin(files, steps, (100, 30), env)
    }

    fn begin(
        files: &[(&str, &str)],
        mut steps: Vec<Value>,
        (columns, rows): (u16, u16),
        env: impl FnOnce(&TempProject) -> Vec<(String, String)>,
    ) -> Self {
        steps.push(json!({ "wait_eof": true }));
        let project = TempProject::new(files);
        let text = Value::Array(steps).to_string().replace("$PROJECT", &project.path().to_string_lossy());
        project.write(".agent/script.json", &text);
        // What the agent is sent is written down there, which is no change of the project's.
        project.write(".agent/.gitignore", "*\n");
        let nvim = Nvim::start(Options {
            columns,
            rows,
            cwd: Some(project.path().to_owned()),
            env: env(&project),
            ..Options::default()
        });
        let mut chat = Self { project, nvim };
        chat.configure("");
        chat
    }

    /// Sets the user's options: what stands between the braces of `setup({ .. })`, beside the agent.
    #[track_caller]
    pub fn configure(&mut self, options: &str) {
        let code = format!(
            "local command, script, record = ...
             local options = {{ {options} }}
             local fake = {{ command = command, args = {{ '--script', script, '--record', record }} }}
             options.agents = vim.tbl_deep_extend('keep', options.agents or {{}}, {{ fake = fake }})
             options.default_agent = options.default_agent or 'fake'
             require('acp').setup(options)"
        );
        let path = |path: &Path| path.to_str().expect("a path in UTF-8").into();
        let (script, record) =
            (self.project.file(".agent/script.json"), self.project.file(".agent/record.jsonl"));
        self.nvim.exec_lua(&code, [path(demo_agent()), path(&script), path(&record)]);
    }

    /// Opens the chat and waits until the agent's session is there.
    pub fn chat(&mut self) -> &mut Nvim {
        self.nvim.command("AcpChat");
        self.nvim.wait_for_screen("Fake 1.0");
        &mut self.nvim
    }

    /// Opens another chat beside the one there is; the cursor is in its prompt, in normal mode.
    #[track_caller]
    pub fn second_chat(&mut self) {
        self.nvim.stop_insert();
        self.nvim.command("Acp new");
        let count = "return #require('acp').status().sessions";
        self.nvim.wait_until(|nvim| nvim.exec_lua(count, []).as_u64() == Some(2), "a second chat");
        self.nvim.wait_until(|nvim| nvim.mode().name == "i", "the cursor in its prompt");
        self.nvim.stop_insert();
    }

    /// Goes to the transcript and there to the first line that holds a text.
    #[track_caller]
    pub fn go_to(&mut self, text: &str) {
        let code = "local text = ...
                    local chat = require('acp').status().sessions[1]
                    vim.cmd.stopinsert()
                    vim.api.nvim_set_current_win(vim.fn.bufwinid(chat.buffer))
                    for row, line in ipairs(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false)) do
                      if line:find(text, 1, true) then
                        vim.api.nvim_win_set_cursor(0, { row, 0 })
                        return row
                      end
                    end";
        let row = self.nvim.exec_lua(code, [text.into()]);
        assert!(row.as_u64().is_some(), "{text:?} is not in the transcript");
        self.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
    }

    /// Types a prompt and sends it.
    pub fn send(&mut self, text: &str) -> &mut Nvim {
        self.nvim.input(&format!("{text}<C-s>"));
        &mut self.nvim
    }

    /// Has the agent change something while a file is open beside the chat, where the user is once it is done.
    pub fn change_beside(&mut self, file: &str) {
        self.nvim.command(&format!("edit {file}"));
        self.chat();
        self.send("Change it");
        self.wait_for("Done");
        self.nvim.stop_insert();
        self.nvim.command("wincmd h");
    }

    /// What the agent has been sent so far, as JSON.
    pub fn record(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.project.file(".agent/record.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Answers a question for permission by `:Acp` and these words, once it is asked.
    pub fn decide(&mut self, words: &str) {
        let asked = "local at = require('acp').status()
                     return vim.iter(at.sessions):any(function(one) return one.state == 'waiting' end)";
        self.nvim.wait_until(|nvim| nvim.exec_lua(asked, []).as_bool() == Some(true), "a question");
        self.nvim.command(&format!("Acp {words}"));
    }

    /// The answer that the agent got to the request of this id, once it is there.
    pub fn answer(&mut self, id: &str) -> Value {
        let fits = |message: &Value| message["id"] == id && message.get("method").is_none();
        self.last_message(fits, &format!("an answer to {id}"))
    }

    /// Waits until the agent got a message of this method, and gives the last one.
    pub fn got(&mut self, method: &str) -> Value {
        self.last_message(|message| message["method"] == method, &format!("{method} to reach the agent"))
    }

    /// Waits until the agent has been sent a message that fits.
    fn last_message(&mut self, fits: impl Fn(&Value) -> bool, what: &str) -> Value {
        let mut found = None;
        let path = self.project.file(".agent/record.jsonl");
        self.nvim.wait_until(
            |_| {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                // The last line may be half written.
                let complete = text.rfind('\n').map_or("", |end| &text[..end]);
                let messages = complete.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                found = messages.filter(&fits).last();
                found.is_some()
            },
            what,
        );
        found.unwrap_or_default()
    }

    /// The transcript's text.
    pub fn transcript(&mut self) -> String {
        let code = "local chat = require('acp').status().sessions[1]
                    return table.concat(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false), '\\n')";
        self.nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
    }

    /// Waits until the transcript holds a text; it need not be on the screen.
    pub fn wait_for(&mut self, text: &str) {
        let code = "local chat = require('acp').status().sessions[1]
                    return chat and table.concat(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false), '\\n') or ''";
        self.nvim.wait_until(
            |nvim| nvim.exec_lua(code, []).as_str().is_some_and(|all| all.contains(text)),
            &format!("the transcript to hold {text:?}"),
        );
    }
}

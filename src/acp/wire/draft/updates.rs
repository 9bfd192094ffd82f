//! What the agent tells of its work: each update has a type and data, where the official protocol has one
//! object with all.

use serde_json::{Value, json};

use super::content;
use super::fields::{notice, take, update, with};
use super::state::{CALLS, Draft};
use crate::acp::wire::rpc::Message;

/// Where the official protocol has no place for it: the milliseconds that a call took.
const TOOK: &str = "acp.nvim/durationMs";

impl Draft {
    pub(super) fn update(&mut self, mut params: Value) -> Vec<Message> {
        let unchanged = |params| vec![Message::Notification { method: "session/update".to_owned(), params }];
        let (Some(kind), Some(session)) = (params["type"].as_str(), params["sessionId"].as_str()) else {
            return unchanged(params);
        };
        let (kind, session) = (kind.to_owned(), session.to_owned());
        let mut data = take(&mut params, "data").unwrap_or_default();
        for known in ["type", "sessionId"] {
            take(&mut params, known);
        }
        let meta = (take(&mut params, "_meta"), take(&mut data, "_meta"));
        self.left_out.rest("session/update", &params);
        let mut messages = self.converted(&session, &kind, &mut data);
        self.left_out.rest(&kind, &data);
        if let Some(Message::Notification { params, .. }) = messages.first_mut() {
            if let Some(meta) = meta.0 {
                params["_meta"] = meta;
            }
            if let Some(meta) = meta.1 {
                let own = take(&mut params["update"], "_meta");
                params["update"]["_meta"] = match own {
                    Some(own) => with(meta, TOOK, own[TOOK].clone()),
                    None => meta,
                };
            }
        }
        messages
    }

    /// Takes what it converts out of the data.
    fn converted(&mut self, session: &str, kind: &str, data: &mut Value) -> Vec<Message> {
        let mut more = None;
        let converted = match kind {
            "plan" => self.plan(data),
            "agent_message_chunk" | "user_message_chunk" => return self.chunks(session, kind, data),
            "thought_message_chunk" if data["visible"] == false => return Vec::new(),
            "thought_message_chunk" => return self.chunks(session, "agent_thought_chunk", data),
            "tool_call" => self.call(data),
            "tool_call_update" => self.call_update(data),
            "available_commands" => {
                json!({ "sessionUpdate": "available_commands_update", "availableCommands": take(data, "commands") })
            }
            "current_mode_update" => {
                let mode = take(data, "currentMode").unwrap_or_default();
                if let Some(name) = mode.as_str() {
                    self.sessions.entry(session.to_owned()).or_default().mode = name.to_owned();
                }
                let reason = take(data, "reason");
                more = reason.as_ref().and_then(Value::as_str).map(|reason| notice(session, "info", reason));
                json!({ "sessionUpdate": kind, "currentModeId": mode })
            }
            "config_option_update" => {
                let known = self.sessions.entry(session.to_owned()).or_default();
                if let Some(Value::String(key)) = take(data, "key") {
                    known.set(key, take(data, "currentValue").unwrap_or_default());
                }
                json!({ "sessionUpdate": kind, "configOptions": known.options() })
            }
            // Unknown to both: named as it is.
            _ => with(data.take(), "sessionUpdate", kind.into()),
        };
        [update(session, converted)].into_iter().chain(more).collect()
    }

    /// Steps in an order. The official protocol has ids for plans, not for their steps.
    fn plan(&mut self, data: &mut Value) -> Value {
        let mut entries = Vec::new();
        for mut step in take(data, "steps").and_then(|steps| steps.as_array().cloned()).unwrap_or_default() {
            let (content, status) = (take(&mut step, "description"), take(&mut step, "status"));
            entries.push(json!({ "content": content, "priority": "medium", "status": status }));
            self.left_out.rest("plan.steps", &step);
        }
        match take(data, "planId") {
            Some(id) => {
                json!({ "sessionUpdate": "plan_update", "plan": { "type": "items", "planId": id, "entries": entries } })
            }
            None => json!({ "sessionUpdate": "plan", "entries": entries }),
        }
    }

    /// A text, a block, or a list of blocks. The last piece of a message says so; what follows is another one.
    fn chunks(&mut self, session: &str, kind: &str, data: &mut Value) -> Vec<Message> {
        let blocks = match take(data, "content").unwrap_or_default() {
            Value::Array(blocks) => blocks,
            other => vec![other],
        };
        let known = self.sessions.entry(session.to_owned()).or_default();
        let message = (known.messages > 0).then(|| format!("message-{}", known.messages));
        known.messages += u64::from(take(data, "final").is_some_and(|is_last| is_last == true));
        let mut chunk = |block| {
            let content = content::from_agent(block, &mut self.left_out);
            let chunk = json!({ "sessionUpdate": kind, "content": content });
            match &message {
                Some(message) => with(chunk, "messageId", message.as_str().into()),
                None => chunk,
            }
        };
        blocks.into_iter().map(|block| update(session, chunk(block))).collect()
    }

    fn call(&mut self, data: &mut Value) -> Value {
        let mut call = self.call_update(data);
        if let Some(id) = call["toolCallId"].as_str() {
            if self.calls.len() == CALLS {
                self.calls.pop_front();
            }
            self.calls.push_back(id.to_owned());
        }
        let tool = take(data, "tool").unwrap_or_default();
        let tool = tool.as_str().unwrap_or_default();
        let input = take(data, "input");
        call["sessionUpdate"] = "tool_call".into();
        (call["title"], call["name"]) = (title(tool, input.as_ref()).into(), tool.into());
        call["kind"] = kind(tool).into();
        if call["locations"].is_null()
            && let Some(path) = input.as_ref().and_then(|input| input["path"].as_str())
        {
            call["locations"] = json!([{ "path": path }]);
        }
        if let Some(input) = input {
            call["rawInput"] = input;
        }
        call
    }

    fn call_update(&mut self, data: &mut Value) -> Value {
        let id = take(data, "id").unwrap_or_default();
        let mut call = json!({ "sessionUpdate": "tool_call_update", "toolCallId": id });
        let status = take(data, "status").unwrap_or_default();
        match status.as_str() {
            Some("awaiting_permission") => call["status"] = "pending".into(),
            Some("denied" | "cancelled") => call["status"] = "failed".into(),
            Some(status) => call["status"] = status.into(),
            None => {}
        }
        let (mut shown, mut line) = (Vec::new(), None);
        if let Some(output) = take(data, "output") {
            shown.extend(self.outputs(&output));
            line = output["hunks"][0]["newStart"].as_u64().map(|line| (output["path"].clone(), line));
            call["rawOutput"] = self.raw(output);
        }
        if let Some(error) =
            take(data, "error").map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned))
        {
            shown.push(text(&error));
        } else if status == "denied" && shown.is_empty() {
            shown.push(text("permission denied"));
        }
        if !shown.is_empty() {
            call["content"] = shown.into();
        }
        if let Some(duration) = take(data, "duration") {
            call["_meta"] = json!({ TOOK: duration });
        }
        if let Some(mut location) = take(data, "location") {
            let (path, line) = (take(&mut location, "path"), take(&mut location, "line"));
            call["locations"] = json!([{ "path": path, "line": line }]);
            self.left_out.rest("location", &location);
        } else if let Some((path, line)) = line {
            call["locations"] = json!([{ "path": path, "line": line }]);
        }
        call
    }
}

/// A call's tool with what it is about, as people read it.
fn title(tool: &str, input: Option<&Value>) -> String {
    let main = input.and_then(|input| {
        ["path", "command", "url", "pattern", "query"].iter().find_map(|key| input[*key].as_str())
    });
    match main {
        // The kind says the rest.
        Some(main) if kind(tool) != "other" => main.to_owned(),
        Some(main) => format!("{tool} {main}"),
        None => tool.to_owned(),
    }
}

fn kind(tool: &str) -> &'static str {
    match tool {
        "fs/read_text_file" => "read",
        "fs/write_text_file" => "edit",
        tool if tool.starts_with("terminal/") => "execute",
        _ => "other",
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

/// What a call has put out: a text, a diff, a command with what it printed, or blocks of content.
impl Draft {
    /// An output beside what is shown of it: how a command ended.
    fn raw(&mut self, mut output: Value) -> Value {
        if output["type"] == "diff" {
            let hunks = take(&mut output, "hunks").unwrap_or_default();
            for mut hunk in hunks.as_array().cloned().unwrap_or_default() {
                take(&mut hunk, "content");
                take(&mut hunk, "newStart");
                self.left_out.rest("diff.hunks", &hunk);
            }
        }
        output
    }

    fn outputs(&mut self, output: &Value) -> Vec<Value> {
        match output["type"].as_str() {
            Some("diff") => match diff(output) {
                Some((old, new)) => {
                    vec![json!({ "type": "diff", "path": output["path"], "oldText": old, "newText": new })]
                }
                None => {
                    let hunks = output["hunks"].as_array().into_iter().flatten();
                    hunks.filter_map(|hunk| hunk["content"].as_str()).map(text).collect()
                }
            },
            Some("terminal") => {
                let terminal = output["terminalId"].as_str();
                // Of a command that ran here, what it printed is known.
                if let Some(id) = terminal.filter(|id| self.terminals.contains(*id)) {
                    return vec![json!({ "type": "terminal", "terminalId": id })];
                }
                let printed: String =
                    ["stdout", "stderr"].iter().filter_map(|key| output[*key].as_str()).collect();
                let command = output["command"].as_str().map(|command| format!("$ {command}\n{printed}"));
                vec![text(&command.unwrap_or(printed))]
            }
            _ => {
                let blocks = match output {
                    Value::Array(blocks) => blocks.clone(),
                    other => vec![other.clone()],
                };
                let left_out = &mut self.left_out;
                let block = |block: Value| json!({ "type": "content", "content": content::from_agent(block, left_out) });
                blocks.into_iter().map(block).collect()
            }
        }
    }
}

/// The texts on both sides of a diff's hunks, one after the other. The lines count, not what the head says of
/// them. Nothing where a line doesn't say which side it is of.
fn diff(output: &Value) -> Option<(String, String)> {
    let (mut old, mut new) = (String::new(), String::new());
    for hunk in output["hunks"].as_array()? {
        for line in hunk["content"]
            .as_str()?
            .lines()
            .filter(|line| !line.starts_with("@@") && !line.starts_with('\\'))
        {
            let (side, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            let (in_old, in_new) = (side != "+", side != "-");
            if !["-", "+", " "].contains(&side) {
                return None;
            }
            for (text, _) in [(&mut old, in_old), (&mut new, in_new)].into_iter().filter(|(_, is_in)| *is_in)
            {
                text.push_str(rest);
                text.push('\n');
            }
        }
    }
    (old != new).then_some((old, new))
}

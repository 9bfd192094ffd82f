//! What the agent tells of its work: each update has a type and data, where the official protocol has one
//! object with all.

use std::mem;

use serde_json::{Value, json};

use super::content;
use super::fields::{notice, object, take, update, with};
use super::state::{CALLS, Draft};
use crate::acp::wire::from_acp::{TIMESTAMP, TOOK};
use crate::acp::wire::rpc::Message;

/// What a call shows that was not allowed, where the agent says no more of it.
pub const DENIED: &str = "permission denied";

/// What a call or an update of one says.
#[derive(Default)]
struct Call {
    id: Option<Value>,
    tool: Option<Value>,
    input: Option<Value>,
    status: Option<Value>,
    output: Option<Value>,
    error: Option<Value>,
    duration: Option<Value>,
    location: Option<Value>,
}

/// What a call has put out.
#[derive(Default)]
struct Output {
    /// As content of the official protocol.
    shown: Vec<Value>,
    /// What there is to know beside it, as how a command ended.
    raw: Option<Value>,
    /// Where what it shows begins: a path and a line.
    location: Option<(Value, u64)>,
}

impl Draft {
    pub(super) fn update(&mut self, mut params: Value) -> Vec<Message> {
        let is_known = params["type"].is_string() && params["sessionId"].is_string();
        let Some(fields) = params.as_object_mut().filter(|_| is_known) else {
            return vec![Message::Notification { method: "session/update".to_owned(), params }];
        };
        let (mut kind, mut data, mut timestamp) = (String::new(), Value::Null, None);
        // The object stays, without what the official protocol has elsewhere: a new one costs more than all that is read.
        fields.retain(|name, value| match (name.as_str(), value) {
            (_, Value::Null) => false,
            ("sessionId" | "_meta", _) => true,
            ("type", Value::String(text)) => {
                kind = mem::take(text);
                false
            }
            ("data", value) => {
                data = value.take();
                false
            }
            ("timestamp", value) => {
                timestamp = Some(value.take());
                false
            }
            _ => {
                self.left_out.field("session/update", name);
                false
            }
        });
        match timestamp {
            // Of a prompt that is told again it is when that was sent.
            Some(time) if kind == "user_message_chunk" => {
                let meta = fields.remove("_meta").filter(Value::is_object).unwrap_or_else(|| json!({}));
                fields.insert("_meta".to_owned(), with(meta, TIMESTAMP, time));
            }
            Some(_) => self.left_out.field("session/update", "timestamp"),
            None => {}
        }
        let meta = take(&mut data, "_meta");
        let session = params["sessionId"].as_str().unwrap_or_default();
        let mut converted = self.converted(session, &kind, &mut data);
        self.left_out.rest(&kind, &data);
        if let (Some(meta), Some(first)) = (meta, converted.first_mut()) {
            let own = take(first, "_meta");
            first["_meta"] = match own {
                Some(own) => with(meta, TOOK, own[TOOK].clone()),
                None => meta,
            };
        }
        let mut converted = converted.into_iter();
        let Some(first) = converted.next() else { return Vec::new() };
        let more: Vec<Message> = converted.map(|more| update(session, more)).collect();
        params["update"] = first;
        let first = Message::Notification { method: "session/update".to_owned(), params };
        [first].into_iter().chain(more).collect()
    }

    /// The updates of the official protocol that say the same. Takes what it converts out of the data.
    fn converted(&mut self, session: &str, kind: &str, data: &mut Value) -> Vec<Value> {
        let mut more = None;
        let converted = match kind {
            "plan" => self.plan(data),
            "agent_message_chunk" | "user_message_chunk" => return self.chunks(session, kind, data),
            "thought_message_chunk" if data["visible"] == false => return Vec::new(),
            "thought_message_chunk" => return self.chunks(session, "agent_thought_chunk", data),
            "tool_call" | "tool_call_update" => self.call(kind, data),
            "available_commands" => {
                json!({ "sessionUpdate": "available_commands_update", "availableCommands": take(data, "commands") })
            }
            "current_mode_update" => {
                let mode = take(data, "currentMode").unwrap_or_default();
                if let Some(name) = mode.as_str() {
                    self.sessions.entry(session.to_owned()).or_default().mode = name.to_owned();
                }
                let reason = take(data, "reason");
                more = reason.as_ref().and_then(Value::as_str).map(|reason| notice("info", reason));
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
        [converted].into_iter().chain(more).collect()
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
    fn chunks(&mut self, session: &str, kind: &str, data: &mut Value) -> Vec<Value> {
        let blocks = match take(data, "content").unwrap_or_default() {
            Value::Array(blocks) => blocks,
            other => vec![other],
        };
        let known = self.sessions.entry(session.to_owned()).or_default();
        let message = (known.messages > 0).then(|| format!("message-{}", known.messages));
        known.messages += u64::from(take(data, "final").is_some_and(|is_last| is_last == true));
        let chunk = |block| {
            let content = content::from_agent(block, &mut self.left_out);
            let mut chunk = object([("sessionUpdate", kind.into()), ("content", content)], 3);
            chunk.extend(message.as_deref().map(|message| ("messageId".to_owned(), message.into())));
            Value::from(chunk)
        };
        blocks.into_iter().map(chunk).collect()
    }

    fn call(&mut self, kind: &str, data: &mut Value) -> Value {
        let call = self.read_call(kind, data);
        let mut update = object([("sessionUpdate", kind.into())], 9);
        let mut put = |key: &str, value: Value| drop(update.insert(key.to_owned(), value));
        let mut location = call.location.map(|location| self.location(location));
        if kind == "tool_call" {
            let tool = call.tool.as_ref().and_then(Value::as_str).unwrap_or_default();
            let input = call.input.as_ref();
            put("title", title(tool, input).into());
            put("name", tool.into());
            put("kind", kind_of(tool).into());
            let path = input.and_then(|input| input["path"].as_str());
            location =
                location.or_else(|| path.map(|path| Value::Object(object([("path", path.into())], 1))));
        }
        let status = call.status.as_ref().and_then(Value::as_str);
        if let Some(status) = status {
            put("status", status_of(status).into());
        }
        let mut output = call.output.map(|output| self.output(output)).unwrap_or_default();
        match call.error {
            Some(Value::String(error)) => output.shown.push(text(&error)),
            Some(error) => output.shown.push(text(&error.to_string())),
            None if status == Some("denied") && output.shown.is_empty() => {
                output.shown.push(text(DENIED));
            }
            None => {}
        }
        if let Some(id) = call.id.as_ref().and_then(Value::as_str).filter(|_| kind == "tool_call") {
            self.remember(id);
        }
        put("toolCallId", call.id.unwrap_or_default());
        if !output.shown.is_empty() {
            put("content", output.shown.into());
        }
        let started = output.location.map(|(path, line)| json!({ "path": path, "line": line }));
        if let Some(location) = location.or(started) {
            put("locations", vec![location].into());
        }
        for (key, value) in [("rawOutput", output.raw), ("rawInput", call.input)] {
            if let Some(value) = value {
                put(key, value);
            }
        }
        if let Some(duration) = call.duration {
            put("_meta", json!({ TOOK: duration }));
        }
        update.into()
    }

    fn read_call(&mut self, kind: &str, data: &mut Value) -> Call {
        let mut call = Call::default();
        let fields = data.as_object_mut().map(mem::take).unwrap_or_default();
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_null()) {
            let field = match name.as_str() {
                "id" => &mut call.id,
                "status" => &mut call.status,
                "output" => &mut call.output,
                "error" => &mut call.error,
                "duration" => &mut call.duration,
                "location" => &mut call.location,
                "tool" if kind == "tool_call" => &mut call.tool,
                "input" if kind == "tool_call" => &mut call.input,
                _ => {
                    self.left_out.field(kind, &name);
                    continue;
                }
            };
            *field = Some(value);
        }
        call
    }

    pub(super) fn remember(&mut self, id: &str) {
        if self.calls.len() == CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(id.to_owned());
    }

    fn location(&mut self, mut location: Value) -> Value {
        if let Some(fields) = location.as_object_mut() {
            fields.retain(|name, value| {
                let is_known = matches!(name.as_str(), "path" | "line");
                if !is_known && !value.is_null() {
                    self.left_out.field("location", name);
                }
                is_known
            });
        }
        location
    }
}

/// A call's tool with what it is about, as people read it.
pub fn title(tool: &str, input: Option<&Value>) -> String {
    let main = input.and_then(|input| {
        ["path", "command", "url", "pattern", "query"].iter().find_map(|key| input[*key].as_str())
    });
    match main {
        // The kind says the rest.
        Some(main) if kind_of(tool) != "other" => main.to_owned(),
        Some(main) => format!("{tool} {main}"),
        None => tool.to_owned(),
    }
}

/// A call's status in the official protocol's words.
pub fn status_of(status: &str) -> &str {
    match status {
        "awaiting_permission" => "pending",
        "denied" | "cancelled" => "failed",
        other => other,
    }
}

pub fn kind_of(tool: &str) -> &'static str {
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

impl Draft {
    /// A text, a diff, a command with what it printed, or blocks of content.
    fn output(&mut self, output: Value) -> Output {
        let shown = match output["type"].as_str() {
            Some("diff") => return self.diff(output),
            Some("terminal") => {
                let terminal = output["terminalId"].as_str();
                // Of a command that ran here, what it printed is known.
                match terminal.filter(|id| self.terminals.contains(*id)) {
                    Some(id) => vec![json!({ "type": "terminal", "terminalId": id })],
                    None => vec![text(&printed(&output))],
                }
            }
            _ => {
                let blocks = match &output {
                    Value::Array(blocks) => blocks.clone(),
                    other => vec![other.clone()],
                };
                let left_out = &mut self.left_out;
                let block = |block: Value| json!({ "type": "content", "content": content::from_agent(block, left_out) });
                blocks.into_iter().map(block).collect()
            }
        };
        Output { shown, raw: Some(output), location: None }
    }

    /// All that a diff says is shown.
    fn diff(&mut self, mut output: Value) -> Output {
        let path = take(&mut output, "path").unwrap_or_default();
        let hunks = match take(&mut output, "hunks") {
            Some(Value::Array(hunks)) => hunks,
            _ => Vec::new(),
        };
        take(&mut output, "type");
        self.left_out.rest("diff", &output);
        let location = hunks.first().and_then(|hunk| hunk["newStart"].as_u64());
        let location = location.map(|line| (path.clone(), line));
        for (name, value) in hunks.iter().filter_map(Value::as_object).flatten() {
            if !["content", "newStart"].contains(&name.as_str()) && !value.is_null() {
                self.left_out.field("diff.hunks", name);
            }
        }
        let contents = hunks.iter().map(|hunk| hunk["content"].as_str());
        let shown = match contents.clone().collect::<Option<Vec<_>>>().and_then(|all| sides(&all)) {
            Some((old, new)) => {
                let sides = [("oldText", old.into()), ("newText", new.into())];
                let mut diff = object([("type", "diff".into()), ("path", path)], 4);
                diff.extend(sides.map(|(key, text)| (key.to_owned(), text)));
                vec![diff.into()]
            }
            None => contents.flatten().map(text).collect(),
        };
        Output { shown, raw: None, location }
    }
}

/// What stands for a command that ran elsewhere.
pub fn printed(output: &Value) -> String {
    let printed: String = ["stdout", "stderr"].iter().filter_map(|key| output[*key].as_str()).collect();
    let command = output["command"].as_str().map(|command| format!("$ {command}\n{printed}"));
    command.unwrap_or(printed)
}

/// The texts on both sides of a diff's hunks, one after the other. The lines count, not what the head says of
/// them. Nothing where a line doesn't say which side it is of.
pub fn sides(hunks: &[&str]) -> Option<(String, String)> {
    let room = hunks.iter().map(|content| content.len()).sum();
    let (mut old, mut new) = (String::with_capacity(room), String::with_capacity(room));
    for hunk in hunks {
        let mut rest = *hunk;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest.as_bytes());
            let line = end.map_or(rest, |end| &rest[..end]);
            rest = end.map_or("", |end| &rest[end + 1..]);
            let line = line.strip_suffix('\r').filter(|_| end.is_some()).unwrap_or(line);
            let (first, text) = match line.as_bytes() {
                [b'@', b'@', ..] | [b'\\', ..] => continue,
                [] => (b' ', ""),
                [first @ (b' ' | b'-' | b'+'), ..] => (*first, &line[1..]),
                _ => return None,
            };
            if first != b'+' {
                old.push_str(text);
                old.push('\n');
            }
            if first != b'-' {
                new.push_str(text);
                new.push('\n');
            }
        }
    }
    (old != new).then_some((old, new))
}

//! What the agent tells of its work: each update has a type and data, where the official protocol has one
//! object with all.

use serde_json::{Value, json};

use super::content;
use super::fields::{notice, take, update, with};
use super::state::{CALLS, Draft};
use crate::acp::wire::rpc::Message;

impl Draft {
    pub(super) fn update(&mut self, mut params: Value) -> Vec<Message> {
        let unchanged = |params| vec![Message::Notification { method: "session/update".to_owned(), params }];
        let (Some(kind), Some(session)) = (params["type"].as_str(), params["sessionId"].as_str()) else {
            return unchanged(params);
        };
        let (kind, session) = (kind.to_owned(), session.to_owned());
        let mut data = params.get_mut("data").map(Value::take).unwrap_or_default();
        let mut more = None;
        let converted = match kind.as_str() {
            "plan" => plan(&mut data),
            "agent_message_chunk" | "user_message_chunk" => return chunks(&session, &kind, &mut data),
            // What the agent wants hidden is thought all the same, and folded as all thought is.
            "thought_message_chunk" => return chunks(&session, "agent_thought_chunk", &mut data),
            "tool_call" => self.call(&mut data),
            "tool_call_update" => self.call_update(&mut data),
            "available_commands" => {
                json!({ "sessionUpdate": "available_commands_update", "availableCommands": take(&mut data, "commands") })
            }
            "current_mode_update" => {
                let mode = take(&mut data, "currentMode").unwrap_or_default();
                if let Some(name) = mode.as_str() {
                    self.sessions.entry(session.clone()).or_default().mode = name.to_owned();
                }
                more = data["reason"].as_str().map(|reason| notice(&session, "info", reason));
                json!({ "sessionUpdate": kind, "currentModeId": mode })
            }
            "config_option_update" => {
                let known = self.sessions.entry(session.clone()).or_default();
                if let Some(key) = data["key"].as_str() {
                    known.set(key.to_owned(), data["currentValue"].clone());
                }
                json!({ "sessionUpdate": kind, "configOptions": known.options() })
            }
            // Unknown to both: named as it is.
            _ => with(data, "sessionUpdate", kind.into()),
        };
        [update(&session, converted)].into_iter().chain(more).collect()
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
        let mut shown = Vec::new();
        if let Some(output) = take(data, "output") {
            shown.extend(self.outputs(&output));
            call["rawOutput"] = raw(output);
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
        if let Some(location) = take(data, "location") {
            call["locations"] = json!([{ "path": location["path"], "line": location["line"] }]);
        }
        call
    }
}

/// What the protocol's own form of a call has of an output beside what is shown: how a command ended.
fn raw(mut output: Value) -> Value {
    if output["type"] == "diff" {
        take(&mut output, "hunks");
    }
    output
}

fn plan(data: &mut Value) -> Value {
    let steps = take(data, "steps").unwrap_or_default();
    let entry = |step: &Value| json!({ "content": step["description"], "priority": "medium", "status": step["status"] });
    let entries: Vec<Value> = steps.as_array().into_iter().flatten().map(entry).collect();
    json!({ "sessionUpdate": "plan", "entries": entries })
}

/// A text, a block, or a list of blocks.
fn chunks(session: &str, kind: &str, data: &mut Value) -> Vec<Message> {
    let blocks = match take(data, "content").unwrap_or_default() {
        Value::Array(blocks) => blocks,
        other => vec![other],
    };
    let chunk = |block| json!({ "sessionUpdate": kind, "content": content::from_agent(block) });
    blocks.into_iter().map(|block| update(session, chunk(block))).collect()
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
    fn outputs(&self, output: &Value) -> Vec<Value> {
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
                let block =
                    |block: Value| json!({ "type": "content", "content": content::from_agent(block) });
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

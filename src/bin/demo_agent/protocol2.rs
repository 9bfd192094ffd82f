//! `--protocol 2`: any other task of this program, spoken in version 2 of the protocol where the client asks for it. It
//! is the agent's side of what the plugin converts, and shares no code with it. Files and commands are the agent's own in
//! that version, so what the task asks the client for is done in `workbench`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::between::{Output, Said, Translator};
use crate::workbench::Workbench;

pub fn translator() -> impl Translator {
    Protocol2::default()
}

#[derive(Default)]
struct Protocol2 {
    /// The client has asked for this version.
    is_second: bool,
    /// The client's requests by their ids: the method, and the session.
    asked: HashMap<String, (String, Value)>,
    /// The sessions in which the agent asks for permission, by the ids of its requests.
    asks: HashMap<String, Value>,
    messages: u64,
    workbench: Arc<Mutex<Workbench>>,
}

impl Translator for Protocol2 {
    fn client_says(&mut self, mut message: Value) -> Said {
        let id = message["id"].to_string();
        let method = message["method"].as_str().map(str::to_owned);
        if method.as_deref() == Some("initialize") {
            self.is_second = message["params"]["protocolVersion"] == 2;
        }
        if !self.is_second {
            return Said::to_agent(message);
        }
        let Some(method) = method else {
            let mut said = Said::to_agent(message);
            said.to_client =
                self.asks.remove(&id).map(|session| state(&session, "running")).into_iter().collect();
            return said;
        };
        let session = message["params"]["sessionId"].clone();
        let params = &mut message["params"];
        let (method, mut to_client) = match method.as_str() {
            "initialize" => {
                params["protocolVersion"] = 1.into();
                let files = json!({ "readTextFile": true, "writeTextFile": true });
                params["clientCapabilities"] = json!({
                    "fs": files, "terminal": true, "plan": {}, "subagents": {},
                    "elicitation": params["capabilities"]["elicitation"],
                    "session": { "configOptions": { "boolean": {} } },
                });
                (method, Vec::new())
            }
            "session/resume" => {
                let replays = params["replayFrom"]["type"] == "start";
                (if replays { "session/load" } else { "session/resume" }.to_owned(), Vec::new())
            }
            "session/set_config_option" => {
                if params["type"] == "id"
                    && let Some(params) = params.as_object_mut()
                {
                    params.remove("type");
                }
                (method, Vec::new())
            }
            "session/prompt" => {
                self.messages += 1;
                let name = format!("prompt-{}", self.messages);
                let message = json!({
                    "sessionUpdate": "user_message", "messageId": name, "content": params["prompt"],
                });
                let taken =
                    json!({ "jsonrpc": "2.0", "id": message_id(&id), "result": { "messageId": name } });
                (method, vec![told(&session, message), taken, state(&session, "running")])
            }
            _ => (method, Vec::new()),
        };
        message["method"] = method.clone().into();
        if message.get("id").is_some() {
            self.asked.insert(id, (method, session));
        }
        Said { to_agent: Some(message), to_client: std::mem::take(&mut to_client) }
    }

    fn agent_says(&mut self, mut message: Value, output: &Output) -> Said {
        if !self.is_second {
            return Said::to_client(message);
        }
        let id = message["id"].to_string();
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            let (method, session) = self.asked.remove(&id).unwrap_or_default();
            return Said { to_agent: None, to_client: vec![answer(&method, &session, message)] };
        };
        let session = message["params"]["sessionId"].clone();
        match method.as_str() {
            "session/update" => {
                let update = message["params"]["update"].take();
                let updates = update_of(update).into_iter().map(|update| told(&session, update)).collect();
                Said { to_agent: None, to_client: updates }
            }
            "session/request_permission" => {
                let mut call = message["params"]["toolCall"].take();
                content(&mut call);
                let params = &mut message["params"];
                params["title"] = call["title"].as_str().unwrap_or("May I do this?").into();
                params["subject"] = json!({ "type": "tool_call", "toolCall": call });
                if let Some(params) = params.as_object_mut() {
                    params.remove("toolCall");
                }
                self.asks.insert(id, session.clone());
                Said { to_agent: None, to_client: vec![state(&session, "requires_action"), message] }
            }
            method if method.starts_with("fs/") || method.starts_with("terminal/") => {
                let mut workbench = self.workbench.lock().unwrap_or_else(PoisonError::into_inner);
                let to_agent = workbench.asked(method, &message, output);
                Said { to_agent, to_client: Vec::new() }
            }
            _ => Said::to_client(message),
        }
    }
}

fn message_id(id: &str) -> Value {
    serde_json::from_str(id).unwrap_or_default()
}

pub fn told(session: &Value, update: Value) -> Value {
    let params = json!({ "sessionId": session, "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
}

fn state(session: &Value, state: &str) -> Value {
    told(session, json!({ "sessionUpdate": "state_update", "state": state, "background": [] }))
}

/// The agent's answer to a request of the client's.
fn answer(method: &str, session: &Value, mut message: Value) -> Value {
    if method == "session/prompt" {
        let mut update = message["result"].take();
        if !update.is_object() {
            update = json!({ "stopReason": "error", "error": message["error"] });
        }
        (update["sessionUpdate"], update["state"]) = ("state_update".into(), "idle".into());
        return told(session, update);
    }
    let Some(result) = message.get_mut("result") else { return message };
    if method == "initialize" {
        *result = initialized(result);
        return message;
    }
    options(&mut result["configOptions"]);
    if let Some(result) = result.as_object_mut() {
        result.remove("modes");
        if result.get("configOptions").is_some_and(Value::is_null) {
            result.remove("configOptions");
        }
    }
    message
}

fn initialized(result: &Value) -> Value {
    let prompt = json!({ "image": {}, "embeddedContext": {} });
    let mut session = json!({ "prompt": prompt, "mcp": { "stdio": {} } });
    for name in ["delete", "fork"] {
        if result["agentCapabilities"]["sessionCapabilities"][name].is_object() {
            session[name] = json!({});
        }
    }
    json!({ "protocolVersion": 2, "info": result["agentInfo"], "capabilities": { "session": session }, "authMethods": [] })
}

fn options(list: &mut Value) {
    for option in list.as_array_mut().into_iter().flatten() {
        if let Some(id) = option.as_object_mut().and_then(|option| option.remove("id")) {
            option["configId"] = id;
        }
    }
}

fn update_of(mut update: Value) -> Option<Value> {
    match update["sessionUpdate"].as_str().unwrap_or_default() {
        "tool_call" | "tool_call_update" => {
            update["sessionUpdate"] = "tool_call_update".into();
            content(&mut update);
        }
        "plan" => {
            let plan = json!({ "type": "items", "planId": "plan", "entries": update["entries"] });
            update = json!({ "sessionUpdate": "plan_update", "plan": plan });
        }
        // It is an option.
        "current_mode_update" => return None,
        "config_option_update" => options(&mut update["configOptions"]),
        "available_commands_update" => {
            for command in update["availableCommands"].as_array_mut().into_iter().flatten() {
                command["type"] = "command".into();
                if command["input"].is_object() {
                    command["input"]["type"] = "text".into();
                }
            }
        }
        _ => {}
    }
    Some(update)
}

/// Changes as patches.
fn content(call: &mut Value) {
    for part in call["content"].as_array_mut().into_iter().flatten() {
        if part["type"] != "diff" {
            continue;
        }
        let (old, new) = (part["oldText"].as_str(), part["newText"].as_str().unwrap_or_default());
        let path = part["path"].as_str().unwrap_or_default();
        let operation = if old.is_none() { "add" } else { "modify" };
        let text = patch(path, old.unwrap_or_default(), new);
        *part = json!({
            "type": "diff",
            "changes": [{ "operation": operation, "path": path, "fileType": "text" }],
            "patch": { "format": "git_patch", "text": text },
        });
    }
    if call["content"].is_null()
        && let Some(call) = call.as_object_mut()
    {
        call.remove("content");
    }
}

/// All of a file in one hunk.
fn patch(path: &str, old: &str, new: &str) -> String {
    let mut text = format!("diff --git {path} {path}\n--- {path}\n+++ {path}\n");
    let range = |text: &str| (usize::from(!text.is_empty()), text.lines().count());
    let ((old_at, old_count), (new_at, new_count)) = (range(old), range(new));
    text.push_str(&format!("@@ -{old_at},{old_count} +{new_at},{new_count} @@\n"));
    for (sign, side) in [('-', old), ('+', new)] {
        for line in side.split_inclusive('\n') {
            text.push(sign);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_patch_of_the_whole_file() {
        let text = patch("/p/x", "a\nb", "c\n");
        let body = "@@ -1,2 +1,1 @@\n-a\n-b\n\\ No newline at end of file\n+c\n";
        assert_eq!(text, format!("diff --git /p/x /p/x\n--- /p/x\n+++ /p/x\n{body}"));
    }

    #[test]
    fn a_client_of_the_first_version_is_spoken_to_in_that() {
        let mut agent = Protocol2::default();
        let ask =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } });
        assert_eq!(agent.client_says(ask.clone()).to_agent, Some(ask));
    }
}

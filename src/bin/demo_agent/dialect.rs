//! `--dialect draft`: any other task of this program, spoken in the draft dialect. The task runs as a process of
//! its own that speaks the official protocol; this one stands between it and the client, and converts line by
//! line in both directions. It is the agent's side of what the plugin converts, and shares no code with it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::between::{Output, Said, Translator};

/// The modes of the demo agent, which the dialect wants to know before there is a session.
const MODES: [&str; 2] = ["ask", "auto"];

pub fn translator() -> impl Translator {
    Dialect::default()
}

#[derive(Default)]
struct Dialect {
    /// The client's requests by their ids: the method, and the params as they went on.
    asked: HashMap<String, (String, Value)>,
    /// The agent's.
    asks: HashMap<String, (String, Value)>,
}

impl Translator for Dialect {
    fn client_says(&mut self, message: Value) -> Said {
        Said { to_agent: self.client_says(message), to_client: Vec::new() }
    }

    fn agent_says(&mut self, message: Value, _: &Output) -> Said {
        Said { to_agent: None, to_client: self.agent_says(message) }
    }
}

impl Dialect {
    fn client_says(&mut self, mut message: Value) -> Option<Value> {
        let id = message["id"].to_string();
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            let (method, params) = self.asks.remove(&id).unwrap_or_default();
            if let Some(result) = message.get_mut("result") {
                *result = answer(&method, &params, result.take());
            }
            return Some(message);
        };
        // What commands print is asked for by the demo agent.
        if method == "terminal/output" {
            return None;
        }
        let params = request(&method, message["params"].take());
        if message.get("id").is_some() {
            self.asked.insert(id, (method, params.clone()));
        }
        message["params"] = params;
        Some(message)
    }

    fn agent_says(&mut self, mut message: Value) -> Vec<Value> {
        let id = message["id"].to_string();
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            let (method, params) = self.asked.remove(&id).unwrap_or_default();
            let mut more = Vec::new();
            if let Some(result) = message.get_mut("result") {
                more = options(&result["sessionId"], &result["configOptions"]);
                *result = result_of(&method, &params, result.take());
            }
            if let Some(code) = message["error"]["code"].as_i64() {
                message["error"]["code"] = code_of(code).into();
            }
            more.insert(0, message);
            return more;
        };
        if method == "session/update" {
            let (session, update) =
                (message["params"]["sessionId"].take(), message["params"]["update"].take());
            return updates(&session, update);
        }
        let params = message["params"].take();
        message["params"] = asked_of_client(&method, params.clone());
        if message.get("id").is_some() {
            self.asks.insert(id, (method, params));
        }
        vec![message]
    }
}

/// A request of the client's, as the agent wants it.
fn request(method: &str, mut params: Value) -> Value {
    match method {
        "initialize" => {
            let can = take(&mut params, "capabilities");
            params["clientCapabilities"] = json!({
                "fs": { "readTextFile": can["fs"]["read"], "writeTextFile": can["fs"]["write"] },
                "terminal": can["terminal"]["create"],
            });
        }
        "session/new" | "session/load" => {
            let cwd = take(&mut params, "workingDirectory");
            let here = || std::env::current_dir().map(|path| path.to_string_lossy().into_owned());
            params["cwd"] = if cwd.is_null() { here().unwrap_or_default().into() } else { cwd };
            let servers = take(&mut params, "mcpServers");
            params["mcpServers"] = servers.as_array().into_iter().flatten().map(server).collect();
        }
        "session/prompt" => {
            let content = take(&mut params, "content");
            params["prompt"] = content.as_array().into_iter().flatten().cloned().map(block).collect();
        }
        "session/set_mode" => params["modeId"] = take(&mut params, "mode"),
        "session/set_config_option" => {
            params["configId"] = take(&mut params, "key");
            if params["value"].is_boolean() {
                params["type"] = "boolean".into();
            }
        }
        _ => {}
    }
    params
}

fn server(server: &Value) -> Value {
    let mut flat = server["transport"].clone();
    flat["name"] = server["name"].clone();
    for pairs in ["env", "headers"] {
        if let Some(map) = flat.get(pairs).and_then(Value::as_object) {
            let list: Value =
                map.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
            flat[pairs] = list;
        }
    }
    if flat["type"] == "stdio" {
        take(&mut flat, "type");
    }
    flat
}

fn block(mut block: Value) -> Value {
    match block["type"].as_str() {
        Some("image" | "audio") => {
            let mut source = take(&mut block, "source");
            block["mimeType"] = take(&mut source, "mediaType");
            block["data"] = take(&mut source, "data");
        }
        Some("resource") => {
            let text = take(&mut block, "content");
            let (uri, mime) = (take(&mut block, "uri"), take(&mut block, "mimeType"));
            return json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "text": text } });
        }
        Some("resource_link") => block["name"] = block["title"].clone(),
        _ => {}
    }
    block
}

/// The client's answer to a request of the agent's.
fn answer(method: &str, params: &Value, mut result: Value) -> Value {
    match method {
        "session/request_permission" => {
            let (granted, remember) = (result["granted"] == true, result["remember"] == true);
            let wanted = match (granted, remember) {
                (true, true) => ["allow_always", "allow_once"],
                (true, false) => ["allow_once", "allow_always"],
                (false, _) => ["reject_once", "reject_always"],
            };
            let options = params["options"].as_array().into_iter().flatten();
            let of_kind = |kind: &str| options.clone().find(|option| option["kind"] == kind);
            match wanted.into_iter().find_map(of_kind) {
                Some(option) => {
                    json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } })
                }
                None => json!({ "outcome": { "outcome": "cancelled" } }),
            }
        }
        "fs/read_text_file" => json!({ "content": result["content"] }),
        "terminal/wait_for_exit" => {
            if result.get("signal").is_some() {
                result["exitCode"] = Value::Null;
            }
            json!({ "exitCode": result["exitCode"], "signal": result["signal"] })
        }
        "fs/write_text_file" | "terminal/kill" | "terminal/release" => json!({}),
        _ => result,
    }
}

/// The agent's answer to a request of the client's.
fn result_of(method: &str, params: &Value, mut result: Value) -> Value {
    match method {
        "initialize" => {
            let can = take(&mut result, "agentCapabilities");
            let mcp = &can["mcpCapabilities"];
            let transports = [("stdio", true), ("http", mcp["http"] == true), ("sse", mcp["sse"] == true)];
            let transports: Value =
                transports.into_iter().filter(|(_, can)| *can).map(|(name, _)| Value::from(name)).collect();
            result["capabilities"] = json!({
                "loadSession": can["loadSession"],
                "mcpCapabilities": { "servers": true, "transport": transports },
                "promptCapabilities": { "streaming": true, "cancellation": true, "attachments": can["promptCapabilities"]["image"] },
                "sessionCapabilities": { "modes": MODES, "configOptions": [], "persistence": can["loadSession"] },
            });
            take(&mut result, "authMethods");
            result
        }
        "session/new" => json!({ "sessionId": result["sessionId"], "createdAt": "2026-02-04T10:30:00Z" }),
        "session/load" => {
            let options = result["configOptions"].as_array().into_iter().flatten();
            let options: Map<_, _> = options
                .filter_map(|option| {
                    Some((option["id"].as_str()?.to_owned(), option["currentValue"].clone()))
                })
                .collect();
            json!({ "sessionId": params["sessionId"], "workingDirectory": params["cwd"], "configOptions": options,
                "mode": result["modes"]["currentModeId"], "messageCount": 0 })
        }
        "session/set_mode" => json!({ "previousMode": MODES[0], "currentMode": params["modeId"] }),
        "session/set_config_option" => json!({ "key": params["configId"], "currentValue": params["value"] }),
        _ => result,
    }
}

/// A request of the agent's, as the client of the dialect wants it.
fn asked_of_client(method: &str, mut params: Value) -> Value {
    match method {
        "session/request_permission" => {
            let call = &params["toolCall"];
            let operation = match call["kind"].as_str() {
                Some("edit") => "file_write",
                Some("delete" | "move") => "file_delete",
                Some("read" | "search") => "file_read",
                Some("fetch") => "network_access",
                _ => "terminal_execute",
            };
            let resource = [&call["locations"][0]["path"], &call["content"][0]["path"], &call["title"]];
            let resource = resource.into_iter().find_map(Value::as_str).unwrap_or("something");
            json!({ "sessionId": params["sessionId"], "operation": operation, "resource": resource,
                "reason": call["title"], "toolCallId": call["toolCallId"] })
        }
        "fs/read_text_file" => {
            let (line, limit) = (take(&mut params, "line"), take(&mut params, "limit"));
            let first = line.as_u64().unwrap_or(1);
            if !line.is_null() {
                params["startLine"] = line;
            }
            if let Some(limit) = limit.as_u64() {
                params["endLine"] = (first + limit).saturating_sub(1).into();
            }
            take(&mut params, "sessionId");
            params
        }
        _ if method.starts_with("fs/") || method.starts_with("terminal/") => {
            if let Some(list) = params.get("env").and_then(Value::as_array) {
                let pair = |pair: &Value| Some((pair["name"].as_str()?.to_owned(), pair["value"].clone()));
                params["env"] = list.iter().filter_map(pair).collect::<Map<_, _>>().into();
            }
            take(&mut params, "sessionId");
            params
        }
        _ => params,
    }
}

fn updates(session: &Value, mut update: Value) -> Vec<Value> {
    let kind = take(&mut update, "sessionUpdate");
    let tell = |kind: &str, data: Value| {
        let params =
            json!({ "sessionId": session, "type": kind, "data": data, "timestamp": "2026-02-04T10:30:00Z" });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
    };
    match kind.as_str().unwrap_or_default() {
        kind @ ("agent_message_chunk" | "user_message_chunk" | "agent_thought_chunk") => {
            let name = if kind == "agent_thought_chunk" { "thought_message_chunk" } else { kind };
            let content = match update["content"]["type"].as_str() {
                Some("text") => update["content"]["text"].take(),
                _ => dialect_block(update["content"].take()),
            };
            vec![tell(name, json!({ "content": content, "index": 0 }))]
        }
        "plan" => {
            let entry = |(at, entry): (usize, &Value)| json!({ "id": format!("step_{at}"), "description": entry["content"], "status": entry["status"] });
            let steps: Value =
                update["entries"].as_array().into_iter().flatten().enumerate().map(entry).collect();
            vec![tell("plan", json!({ "planId": "plan", "steps": steps }))]
        }
        kind @ ("tool_call" | "tool_call_update") => {
            call(&update).into_iter().map(|data| tell(kind, data)).collect()
        }
        "available_commands_update" => {
            vec![tell("available_commands", json!({ "commands": update["availableCommands"] }))]
        }
        "current_mode_update" => {
            vec![tell(
                "current_mode_update",
                json!({ "previousMode": MODES[0], "currentMode": update["currentModeId"] }),
            )]
        }
        "config_option_update" => options(session, &update["configOptions"]),
        // The dialect has nothing like it.
        _ => Vec::new(),
    }
}

/// An update for each option of a list: the dialect tells one at a time.
fn options(session: &Value, list: &Value) -> Vec<Value> {
    let tell = |option: &Value| {
        let data = json!({ "key": option["id"], "currentValue": option["currentValue"], "source": "agent" });
        let params = json!({ "sessionId": session, "type": "config_option_update", "data": data });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
    };
    let list = list.as_array().into_iter().flatten();
    list.filter(|_| session.is_string()).map(tell).collect()
}

/// The data of a call's updates: one for each output, as the dialect has one at a time.
fn call(update: &Value) -> Vec<Value> {
    let mut data = json!({ "id": update["toolCallId"] });
    let tool = match update["kind"].as_str() {
        Some("read") => "fs/read_text_file",
        Some("edit") => "fs/write_text_file",
        Some("execute") => "terminal/create",
        other => other.unwrap_or("tool"),
    };
    if let Some(title) = update["title"].as_str() {
        data["tool"] = tool.into();
        data["input"] =
            if update["rawInput"].is_null() { json!({ "query": title }) } else { update["rawInput"].clone() };
    }
    if update["status"].is_string() {
        data["status"] = update["status"].clone();
    }
    if update["locations"][0].is_object() {
        data["location"] = update["locations"][0].clone();
    }
    let outputs = update["content"].as_array().into_iter().flatten().map(output);
    let mut all: Vec<Value> = outputs
        .map(|output| {
            let mut with = data.clone();
            with["output"] = output;
            with
        })
        .collect();
    if all.is_empty() {
        all.push(data);
    }
    all
}

fn output(item: &Value) -> Value {
    match item["type"].as_str() {
        Some("diff") => {
            let lines = |text: &Value, sign: char| -> String {
                text.as_str().unwrap_or_default().lines().map(|line| format!("{sign}{line}\n")).collect()
            };
            let (old, new) = (lines(&item["oldText"], '-'), lines(&item["newText"], '+'));
            let (old_lines, new_lines) = (old.lines().count(), new.lines().count());
            let hunk = json!({ "oldStart": 1, "oldLines": old_lines, "newStart": 1, "newLines": new_lines, "content": old + &new });
            json!({ "type": "diff", "path": item["path"], "hunks": [hunk] })
        }
        Some("terminal") => json!({ "type": "terminal", "terminalId": item["terminalId"], "command": "" }),
        _ => dialect_block(item["content"].clone()),
    }
}

fn dialect_block(mut block: Value) -> Value {
    if matches!(block["type"].as_str(), Some("image" | "audio")) {
        block["source"] = json!({ "type": "base64", "mediaType": take(&mut block, "mimeType"), "data": take(&mut block, "data") });
    }
    if block["type"] == "resource" {
        let mut resource = take(&mut block, "resource");
        return json!({ "type": "resource", "uri": take(&mut resource, "uri"), "content": take(&mut resource, "text") });
    }
    block
}

fn code_of(code: i64) -> i64 {
    match code {
        -32002 => -32000,
        -32000 => -32001,
        -32800 => -32003,
        other => other,
    }
}

fn take(fields: &mut Value, key: &str) -> Value {
    fields.as_object_mut().and_then(|fields| fields.remove(key)).unwrap_or_default()
}

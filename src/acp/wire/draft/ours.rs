//! What this client asks of the agent, and what the agent answers.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::content;
use super::errors;
use super::fields::{notice, rename, take, update, with};
use super::state::{Draft, Ours, Session, shown};
use crate::acp::wire::rpc::{INTERNAL_ERROR, Message, RequestId, RpcError};

/// What this client can do.
fn client(params: &Value, most_commands: usize) -> Value {
    let (files, can_run) = (&params["clientCapabilities"]["fs"], &params["clientCapabilities"]["terminal"]);
    json!({
        "fs": { "read": files["readTextFile"] == true, "write": files["writeTextFile"] == true, "watch": false },
        "terminal": { "create": *can_run == true, "interactive": false, "maxConcurrent": most_commands },
        "ui": { "permissionDialogs": true, "diffViewer": true, "codeNavigation": true },
    })
}

impl Draft {
    pub(super) fn ours(&mut self, method: &str, mut params: Value) -> (Value, Ours) {
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        let request = match method {
            "initialize" => {
                // The official form stays beside the dialect's: an agent may speak either.
                self.can = client(&params, self.most_commands);
                params["capabilities"] = self.can.clone();
                Ours::Initialize
            }
            "authenticate" => {
                rename(&mut params, "methodId", "method");
                params["credentials"] = json!({});
                Ours::Authenticate
            }
            "session/new" => {
                let cwd = take(&mut params, "cwd").unwrap_or_default();
                let (servers, left_out) = self.servers(take(&mut params, "mcpServers"));
                self.left_out_folders(method, take(&mut params, "additionalDirectories"));
                if let Some(prompt) = take(&mut params, "systemPrompt") {
                    if prompt["mode"] == "override" {
                        self.left_out.field(method, "systemPrompt.mode");
                    }
                    params["systemPrompt"] = system_prompt(prompt);
                }
                (params["workingDirectory"], params["mcpServers"]) = (cwd.clone(), servers);
                let (mode, options) = self.beginning(&mut params);
                Ours::New { cwd: path(&cwd), mode, options, left_out }
            }
            "session/load" => {
                let cwd = path(&params["cwd"]);
                self.left_out_folders(method, take(&mut params, "additionalDirectories"));
                let servers = take(&mut params, "mcpServers");
                if servers.as_ref().and_then(Value::as_array).is_some_and(|servers| !servers.is_empty()) {
                    self.left_out.field(method, "mcpServers");
                }
                for known in ["sessionId", "cwd"] {
                    take(&mut params, known);
                }
                self.left_out.rest(method, &params);
                params = json!({ "sessionId": session });
                Ours::Load { session, cwd }
            }
            "session/prompt" => {
                let blocks = take(&mut params, "prompt").unwrap_or_default();
                let blocks = blocks.as_array().cloned().unwrap_or_default();
                params["content"] =
                    blocks.into_iter().map(|block| content::to_agent(block, &mut self.left_out)).collect();
                self.sessions.entry(session.clone()).or_default().in_turn = true;
                Ours::Prompt { session }
            }
            "session/set_mode" => {
                rename(&mut params, "modeId", "mode");
                Ours::Mode { mode: text(&params["mode"]), session }
            }
            "session/set_config_option" => {
                rename(&mut params, "configId", "key");
                take(&mut params, "type");
                let key = text(&params["key"]);
                if let Some(value) = self.typed(&session, &key, &params["value"]) {
                    params["value"] = value;
                }
                Ours::Option { session }
            }
            _ => Ours::Other,
        };
        (params, request)
    }

    /// What a session is to begin with, as far as the agent offers it; the rest is taken out.
    fn beginning(&self, params: &mut Value) -> (Option<String>, Map<String, Value>) {
        let wanted = take(params, "initialMode").unwrap_or_default();
        let mode = wanted.as_str().and_then(|wanted| called(&self.offers.modes, wanted));
        if let Some(mode) = &mode {
            params["initialMode"] = mode.as_str().into();
        }
        let wanted = take(params, "configOptions").unwrap_or_default();
        let offered =
            |(name, value): (&String, &Value)| Some((called(&self.offers.options, name)?, plain(value)));
        let options: Map<_, _> = wanted.as_object().into_iter().flatten().filter_map(offered).collect();
        if !options.is_empty() {
            params["configOptions"] = options.clone().into();
        }
        (mode, options)
    }

    /// An agent of the dialect works in one folder.
    fn left_out_folders(&mut self, method: &str, folders: Option<Value>) {
        if folders.as_ref().and_then(Value::as_array).is_some_and(|folders| !folders.is_empty()) {
            self.left_out.field(method, "additionalDirectories");
        }
    }

    /// The servers that the agent can reach, in the dialect's form, and the names of the others.
    fn servers(&self, servers: Option<Value>) -> (Value, Vec<String>) {
        let (mut taken, mut left_out) = (Vec::new(), Vec::new());
        for mut server in servers.iter().flat_map(|servers| servers.as_array()).flatten().cloned() {
            let name = take(&mut server, "name").unwrap_or_default();
            let kind = take(&mut server, "type").map_or_else(|| "stdio".to_owned(), |kind| text(&kind));
            if !self.offers.servers.contains(&kind) {
                left_out.push(text(&name));
                continue;
            }
            for pairs in ["env", "headers"] {
                if let Some(list) = take(&mut server, pairs) {
                    server[pairs] = map(&list);
                }
            }
            server["type"] = kind.into();
            taken.push(json!({ "name": name, "transport": server }));
        }
        (taken.into(), left_out)
    }

    /// An option's value as the agent has it: the user's choice is always a text where it is not yes or no.
    fn typed(&self, session: &str, key: &str, value: &Value) -> Option<Value> {
        let seen = self.sessions.get(session)?.seen.get(key)?;
        let number = || serde_json::from_str(value.as_str()?).ok().filter(Value::is_number);
        let same = seen.iter().find(|known| shown(known) == shown(value)).cloned();
        same.or_else(|| number().filter(|_| seen.iter().any(Value::is_number)))
    }

    pub(super) fn answered(&mut self, id: RequestId, result: Result<Value, RpcError>) -> Vec<Message> {
        let request = serde_json::from_str(&id.to_string()).ok().and_then(|id: i64| self.ours.remove(&id));
        let request = request.unwrap_or(Ours::Other);
        if let Ours::Prompt { session } = &request
            && let Some(session) = self.sessions.get_mut(session)
        {
            session.in_turn = false;
        }
        let (result, more) = match result {
            Ok(result) => self.accepted(request, result),
            Err(error) => (Err(errors::from_agent(error)), Vec::new()),
        };
        // What follows from an answer can be told only when it is known.
        [Message::Response { id, result }].into_iter().chain(more).collect()
    }

    fn accepted(&mut self, request: Ours, mut result: Value) -> (Result<Value, RpcError>, Vec<Message>) {
        let mut more = Vec::new();
        let result = match request {
            Ours::Initialize => self.initialized(result),
            Ours::Authenticate if result["success"] == false => {
                let why = result["error"].as_str().unwrap_or("the agent gave no reason");
                Err(RpcError::new(INTERNAL_ERROR, format!("the login failed: {why}")))
            }
            Ours::New { cwd, mode, options, left_out } => {
                let name = text(&result["sessionId"]);
                let mode = mode.unwrap_or_else(|| "default".to_owned());
                let mut session = Session { cwd, mode, ..Session::default() };
                options.into_iter().for_each(|(key, value)| session.set(key, value));
                self.sessions.insert(name.clone(), session);
                if let Some(created) = take(&mut result, "createdAt") {
                    let info = json!({ "sessionUpdate": "session_info_update", "updatedAt": created });
                    more.push(update(&name, info));
                }
                more.extend(self.warnings(&name, &left_out));
                Ok(self.with_choices(&name, result))
            }
            Ours::Load { session: name, cwd } => {
                let folder = result["workingDirectory"].as_str().map(PathBuf::from);
                let session = self.sessions.entry(name.clone()).or_default();
                session.mode = result["mode"].as_str().unwrap_or("default").to_owned();
                if let Some(Value::Object(options)) = take(&mut result, "configOptions") {
                    options.into_iter().for_each(|(key, value)| session.set(key, value));
                }
                session.cwd.clone_from(&cwd);
                if let Some(other) = folder.filter(|folder| *folder != cwd) {
                    let text = format!(
                        "the agent has this session in {}; what it does there is asked about",
                        other.display()
                    );
                    more.push(update(&name, notice("warning", &text)));
                }
                more.extend(self.warnings(&name, &[]));
                Ok(self.with_choices(&name, result))
            }
            Ours::Prompt { .. } if result["stopReason"] == "error" => Err(RpcError::new(
                INTERNAL_ERROR,
                "the agent ended the turn with an error and gave no reason",
            )),
            Ours::Mode { session, mode } => {
                if !result["previousMode"].is_null() {
                    self.left_out.field("session/set_mode", "previousMode");
                }
                let current = result["currentMode"].as_str().unwrap_or(&mode).to_owned();
                if current != mode {
                    let changed = json!({ "sessionUpdate": "current_mode_update", "currentModeId": current });
                    more.push(update(&session, changed));
                }
                self.sessions.entry(session).or_default().mode = current;
                Ok(result)
            }
            Ours::Option { session } => {
                let key = text(&result["key"]);
                if !result["previousValue"].is_null() {
                    self.left_out.field("session/set_config_option", "previousValue");
                }
                let known = self.sessions.entry(session.clone()).or_default();
                known.set(key, result["currentValue"].clone());
                Ok(json!({ "configOptions": known.options() }))
            }
            Ours::Authenticate | Ours::Prompt { .. } | Ours::Other => Ok(result),
        };
        (result, more)
    }

    fn initialized(&mut self, mut result: Value) -> Result<Value, RpcError> {
        let Some(mut can) = take(&mut result, "capabilities") else {
            let text = "it doesn't speak the draft dialect but the official protocol; take `dialect` out of its options";
            return Err(RpcError::new(INTERNAL_ERROR, text));
        };
        if let Some(lacking) = lacking(&result["requiredClientCapabilities"], &self.can, "") {
            let text = format!("it needs {lacking}, which this client doesn't have or the options turn off");
            return Err(RpcError::new(INTERNAL_ERROR, text));
        }
        let mut part = |name: &str| take(&mut can, name).unwrap_or_default();
        let (mut session, mut prompt) = (part("sessionCapabilities"), part("promptCapabilities"));
        let (mut servers, load, custom) = (part("mcpCapabilities"), part("loadSession"), part("_custom"));
        self.offers.modes = texts(&take(&mut session, "modes").unwrap_or_default());
        self.offers.options = texts(&take(&mut session, "configOptions").unwrap_or_default());
        self.offers.no_cancelling = take(&mut prompt, "cancellation").is_some_and(|can| can == false);
        let transports = take(&mut servers, "transport").filter(Value::is_array);
        self.offers.servers = match take(&mut servers, "servers") {
            Some(Value::Bool(false)) => Vec::new(),
            _ => transports.map_or_else(|| vec!["stdio".to_owned()], |transports| texts(&transports)),
        };
        let attachments = take(&mut prompt, "attachments").is_some_and(|can| can == true);
        for (of, rest) in [
            ("capabilities", &can),
            ("sessionCapabilities", &session),
            ("promptCapabilities", &prompt),
            ("mcpCapabilities", &servers),
        ] {
            self.left_out.rest(of, rest);
        }
        let reaches = |kind: &str| self.offers.servers.iter().any(|known| known == kind);
        result["agentCapabilities"] = json!({
            "loadSession": load == true,
            "sessionCapabilities": { "systemPrompt": {} },
            "mcpCapabilities": { "http": reaches("http"), "sse": reaches("sse") },
            "promptCapabilities": { "image": attachments, "audio": attachments, "embeddedContext": true },
            "_meta": custom,
        });
        Ok(result)
    }

    /// What the user should know of a session from its start.
    fn warnings(&self, session: &str, left_out: &[String]) -> Vec<Message> {
        let mut warnings = Vec::new();
        if !left_out.is_empty() {
            let text = format!(
                "the agent can't reach these MCP servers, which were left out: {}",
                left_out.join(", ")
            );
            warnings.push(update(session, notice("warning", &text)));
        }
        if self.offers.no_cancelling {
            let text = "the agent can't stop a turn; only :Acp stop ends one early, and the agent with it";
            warnings.push(update(session, notice("warning", text)));
        }
        warnings
    }

    /// The answer that opens a session, with what can be chosen in it.
    fn with_choices(&self, name: &str, result: Value) -> Value {
        let Some(session) = self.sessions.get(name) else { return result };
        let mode = |mode: &String| json!({ "id": mode, "name": mode });
        let mut modes: Vec<Value> = self.offers.modes.iter().map(mode).collect();
        if !modes.is_empty() && !self.offers.modes.contains(&session.mode) {
            modes.push(mode(&session.mode));
        }
        let modes =
            (!modes.is_empty()).then(|| json!({ "currentModeId": session.mode, "availableModes": modes }));
        with(with(result, "modes", modes.into()), "configOptions", session.options().into())
    }
}

/// A prompt of the user's as one text.
fn system_prompt(mut prompt: Value) -> Value {
    match take(&mut prompt, "content") {
        Some(Value::Array(blocks)) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter(|block| block["type"] == "text")
                .filter_map(|block| block["text"].as_str())
                .collect();
            texts.join("\n\n").into()
        }
        _ => prompt,
    }
}

/// The one among these that the user means.
fn called(offered: &[String], wanted: &str) -> Option<String> {
    let same = offered.iter().find(|name| *name == wanted);
    same.or_else(|| offered.iter().find(|name| name.eq_ignore_ascii_case(wanted))).cloned()
}

/// A value that the user has written, where the agent has told none that shows its type.
fn plain(value: &Value) -> Value {
    let simple = |value: &Value| value.is_boolean() || value.is_number();
    let read = value.as_str().and_then(|text| serde_json::from_str(text).ok()).filter(simple);
    read.unwrap_or_else(|| value.clone())
}

/// The first capability that is required and not there, as "fs.watch".
fn lacking(required: &Value, has: &Value, under: &str) -> Option<String> {
    required.as_object()?.iter().find_map(|(name, value)| match value {
        Value::Object(_) => lacking(value, &has[name], &format!("{under}{name}.")),
        Value::Bool(true) if has[name] != true => Some(format!("{under}{name}")),
        _ => None,
    })
}

fn map(pairs: &Value) -> Value {
    let pair = |pair: &Value| Some((pair["name"].as_str()?.to_owned(), pair["value"].clone()));
    pairs.as_array().into_iter().flatten().filter_map(pair).collect::<Map<_, _>>().into()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn path(value: &Value) -> PathBuf {
    PathBuf::from(value.as_str().unwrap_or_default())
}

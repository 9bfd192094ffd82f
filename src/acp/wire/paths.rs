//! The paths in messages, where the agent's machine has other folders than this one: each is put into the words
//! of the side that reads it, so that nobody else has to know. Which path is which is `core::text::elsewhere`'s.

use std::sync::Arc;

use serde_json::Value;

use super::rpc::{INVALID_PARAMS, Message, RequestId, RpcError};
use crate::core::text::elsewhere::PathRules;
use crate::core::text::uri;

/// The fields that name a file or folder: the protocol's, and those that tools are given.
const FIELDS: [&str; 22] = [
    "path",
    "uri",
    "cwd",
    "additionalDirectories",
    "file",
    "file_path",
    "filePath",
    "filepath",
    "abs_path",
    "absolute_path",
    "absolutePath",
    "notebook_path",
    "notebookPath",
    "old_path",
    "oldPath",
    "new_path",
    "newPath",
    "directory",
    "workdir",
    "workingDirectory",
    "paths",
    "files",
];

/// What is meant for programs that the agent starts on its own machine.
const THEIRS: &str = "mcpServers";

/// The rules of one agent. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Paths(Option<Arc<Rules>>);

#[derive(Debug)]
struct Rules {
    /// The agent's configured name, for what the user is told.
    name: String,
    rules: PathRules,
}

impl Paths {
    pub fn of(name: &str, rules: &PathRules) -> Self {
        let rules = || Arc::new(Rules { name: name.to_owned(), rules: rules.clone() });
        Self((!rules().rules.is_empty()).then(rules))
    }

    /// Nothing where both sides call everything the same.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Puts a message into words that the agent understands. What no rule covers stays as it is.
    pub fn to_there(&self, message: &mut Value) {
        if let Some(rules) = &self.0 {
            walk(message, &|path| translated(path, |path| rules.rules.to_there(path)));
        }
    }

    /// Puts a message of the agent's into the words of this machine. A request about a file that this machine
    /// doesn't have is refused.
    pub fn to_here(&self, mut message: Message) -> Result<Message, (RequestId, RpcError)> {
        let Some(Rules { name, rules }) = self.0.as_deref() else { return Ok(message) };
        let here = |path: &str| translated(path, |path| rules.to_here(path));
        match &mut message {
            Message::Request { id, method, params } => {
                if let Some(path) = strange(method, params, &here) {
                    let text = format!(
                        "{path:?} is not on the client's machine: no rule of agents.{name}.paths covers it"
                    );
                    return Err((id.clone(), RpcError::new(INVALID_PARAMS, text)));
                }
                if method == "terminal/create" {
                    words(params, &here);
                }
                tell_here(params.get_mut("toolCall"), &here);
                walk(params, &here);
            }
            Message::Notification { params, .. } => {
                tell_here(params.get_mut("update"), &here);
                walk(params, &here);
            }
            Message::Response { result: Ok(result), .. } => walk(result, &here),
            Message::Response { .. } | Message::Malformed { .. } => {}
        }
        Ok(message)
    }
}

/// The path or `file:` URI in the other side's words; nothing where no rule covers it, or where it is neither.
fn translated(text: &str, translate: impl Fn(&str) -> Option<String>) -> Option<String> {
    match uri::to_path(text) {
        Some(path) => translate(&path).map(|path| uri::from_path(&path)),
        None => translate(text),
    }
}

/// The file or folder that a request is about, where no rule covers it.
fn strange(method: &str, params: &Value, here: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let field = match method {
        "fs/read_text_file" | "fs/write_text_file" => "path",
        "terminal/create" => "cwd",
        _ => return None,
    };
    let path = params.get(field)?.as_str()?;
    (uri::is_path(path) && here(path).is_none()).then(|| path.to_owned())
}

/// A command that runs here is given files of here, where a whole word names one.
fn words(params: &mut Value, here: &impl Fn(&str) -> Option<String>) {
    let list = params.get_mut("args").and_then(Value::as_array_mut);
    for word in list.into_iter().flatten() {
        if let Some(path) = word.as_str().filter(|word| uri::is_path(word)).and_then(here) {
            *word = path.into();
        }
    }
    if let Some(command) = params.get_mut("command")
        && let Some(path) = command.as_str().filter(|command| uri::is_path(command)).and_then(here)
    {
        *command = path.into();
    }
}

/// What a call says beside the fields that name a file.
fn tell_here(call: Option<&mut Value>, here: &impl Fn(&str) -> Option<String>) {
    if let Some(call) = call {
        title(call, here);
        leave_out_strange_places(call, here);
    }
}

/// A title names the call's places as they are called here. Other words in it may be a command of the agent's machine.
fn title(call: &mut Value, here: &impl Fn(&str) -> Option<String>) {
    let named = |word: &str| {
        let bare = word.trim_matches(['`', '"', '\'']);
        let places = call["locations"].as_array().into_iter().flatten();
        let is_place = places.filter_map(|place| place["path"].as_str()).any(|path| path == bare);
        let path = here(bare).filter(|_| is_place && uri::is_path(bare))?;
        Some(word.replace(bare, &path))
    };
    let Some(title) = call["title"].as_str() else { return };
    let words = || title.split(' ').map(|word| named(word).unwrap_or_else(|| word.to_owned()));
    let told = named(title).unwrap_or_else(|| words().collect::<Vec<_>>().join(" "));
    call["title"] = told.into();
}

/// Nobody can be taken to a file that isn't here, and another one of that name must not be shown for it.
fn leave_out_strange_places(call: &mut Value, here: &impl Fn(&str) -> Option<String>) {
    if let Some(places) = call.get_mut("locations").and_then(Value::as_array_mut) {
        let is_strange = |place: &Value| {
            place
                .get("path")
                .and_then(Value::as_str)
                .is_some_and(|path| uri::is_path(path) && here(path).is_none())
        };
        places.retain(|place| !is_strange(place));
    }
}

fn walk(value: &mut Value, translate: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, translate)),
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut().filter(|(name, _)| *name != THEIRS) {
                match value {
                    Value::String(text) if FIELDS.contains(&name.as_str()) => replace(text, translate),
                    Value::Array(items) if FIELDS.contains(&name.as_str()) => {
                        for item in items {
                            match item {
                                Value::String(text) => replace(text, translate),
                                item => walk(item, translate),
                            }
                        }
                    }
                    value => walk(value, translate),
                }
            }
        }
        _ => {}
    }
}

fn replace(text: &mut String, translate: &impl Fn(&str) -> Option<String>) {
    if let Some(path) = translate(text) {
        *text = path;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::rpc;
    use super::*;

    fn paths() -> Paths {
        Paths::of("far", &PathRules::new([("/remote/src", "/home/me/src")]))
    }

    fn there(mut message: Value) -> Value {
        paths().to_there(&mut message);
        message
    }

    /// What a message of the agent's is here, its params or result.
    fn here(message: Value) -> Result<Value, String> {
        match paths().to_here(rpc::read(&message.to_string()).expect("a message")) {
            Ok(Message::Request { params, .. } | Message::Notification { params, .. }) => Ok(params),
            Ok(Message::Response { result, .. }) => Ok(result.expect("a result")),
            Ok(other) => panic!("{other:?}"),
            Err((_, error)) => Err(error.message),
        }
    }

    #[test]
    fn what_the_client_sends_is_in_the_agents_words() {
        assert_eq!(
            there(json!({ "cwd": "/home/me/src", "additionalDirectories": ["/home/me/src/b", "/opt"],
                "mcpServers": [{ "name": "x", "command": "/home/me/src/x", "path": "/home/me/src/x" }] })),
            json!({ "cwd": "/remote/src", "additionalDirectories": ["/remote/src/b", "/opt"],
                "mcpServers": [{ "name": "x", "command": "/home/me/src/x", "path": "/home/me/src/x" }] }),
        );
        assert_eq!(
            there(json!({ "sessionId": "s", "prompt": [
                { "type": "text", "text": "/home/me/src/a.rs" },
                { "type": "resource_link", "name": "a b.rs", "uri": "file:///home/me/src/a%20b.rs" },
                { "type": "resource", "resource": { "uri": "file:///home/me/src/a.rs", "text": "/home/me/src" } },
            ] })),
            json!({ "sessionId": "s", "prompt": [
                { "type": "text", "text": "/home/me/src/a.rs" },
                { "type": "resource_link", "name": "a b.rs", "uri": "file:///remote/src/a%20b.rs" },
                { "type": "resource", "resource": { "uri": "file:///remote/src/a.rs", "text": "/home/me/src" } },
            ] }),
        );
    }

    #[test]
    fn what_the_agent_sends_is_in_the_words_of_this_machine() {
        let update = json!({ "method": "session/update", "params": { "sessionId": "s", "update": {
            "sessionUpdate": "tool_call", "toolCallId": "c",
            "title": "Edit `/remote/src/a.rs`  like /remote/src/b.rs",
            "locations": [{ "path": "/remote/src/a.rs", "line": 3 }, { "path": "/etc/hosts" }],
            "rawInput": { "file_path": "/remote/src/a.rs", "command": "cat /remote/src/a.rs" },
            "content": [{ "type": "diff", "path": "/remote/src/a.rs", "oldText": "/remote/src", "newText": "b" }],
        } } });
        assert_eq!(
            here(update),
            Ok(json!({ "sessionId": "s", "update": {
                "sessionUpdate": "tool_call", "toolCallId": "c",
                "title": "Edit `/home/me/src/a.rs`  like /remote/src/b.rs",
                "locations": [{ "path": "/home/me/src/a.rs", "line": 3 }],
                "rawInput": { "file_path": "/home/me/src/a.rs", "command": "cat /remote/src/a.rs" },
                "content": [{ "type": "diff", "path": "/home/me/src/a.rs", "oldText": "/remote/src", "newText": "b" }],
            } })),
        );
        let path = "/remote/src/a b.rs";
        let whole = json!({ "method": "session/update", "params": { "sessionId": "s", "update": {
            "sessionUpdate": "tool_call", "title": path, "locations": [{ "path": path }] } } });
        assert_eq!(here(whole).expect("an update")["update"]["title"], "/home/me/src/a b.rs");
        let listed =
            json!({ "id": 3, "result": { "sessions": [{ "sessionId": "s", "cwd": "/remote/src" }] } });
        assert_eq!(here(listed), Ok(json!({ "sessions": [{ "sessionId": "s", "cwd": "/home/me/src" }] })));
    }

    #[test]
    fn a_question_shows_no_place_that_is_not_here() {
        let places = json!([{ "path": "/remote/src/a.rs" }, { "path": "/etc/hosts" }]);
        let asked = json!({ "id": 1, "method": "session/request_permission",
            "params": { "sessionId": "s", "toolCall": { "toolCallId": "c", "locations": places } } });
        let here = here(asked).expect("a question");
        assert_eq!(here["toolCall"]["locations"], json!([{ "path": "/home/me/src/a.rs" }]));
    }

    #[test]
    fn a_file_that_is_not_here_is_refused() {
        let read = |path: &str| {
            here(
                json!({ "id": 1, "method": "fs/read_text_file", "params": { "sessionId": "s", "path": path } }),
            )
        };
        assert_eq!(read("/remote/src/a"), Ok(json!({ "sessionId": "s", "path": "/home/me/src/a" })));
        let refused = read("/etc/hosts").expect_err("another machine's file");
        assert!(refused.contains("agents.far.paths"), "{refused}");
        // What is wrong on any machine is for others to say.
        assert_eq!(read("a"), Ok(json!({ "sessionId": "s", "path": "a" })));
    }

    #[test]
    fn a_command_that_runs_here_gets_the_files_of_here() {
        let create = |cwd: &str| {
            here(json!({ "id": 1, "method": "terminal/create", "params": { "sessionId": "s", "cwd": cwd,
                "command": "/remote/src/run", "args": ["/remote/src/a", "-x", "/etc/hosts", "ls /remote/src"] } }))
        };
        assert_eq!(
            create("/remote/src"),
            Ok(json!({ "sessionId": "s", "cwd": "/home/me/src", "command": "/home/me/src/run",
                "args": ["/home/me/src/a", "-x", "/etc/hosts", "ls /remote/src"] })),
        );
        assert!(create("/var").is_err());
    }
}

//! What the agent asks of this client. It asks for no files and no terminals: those are its own.

use serde_json::{Value, json};

use super::fields::{take, text};
use super::state::V2;

impl V2 {
    /// A question for permission may be about a call, a command or anything else; in the first version it is about a
    /// call.
    pub(super) fn permission(&mut self, mut params: Value) -> Value {
        let title = take(&mut params, "title").unwrap_or_default();
        let description = take(&mut params, "description");
        let mut subject = take(&mut params, "subject").unwrap_or_default();
        let session = text(&params["sessionId"]);
        let mut call = match subject["type"].as_str() {
            Some("tool_call") => take(&mut subject, "toolCall").unwrap_or_default(),
            Some("command") => json!({
                "toolCallId": subject["toolCallId"],
                "kind": "execute",
                "rawInput": { "command": subject["command"], "cwd": subject["cwd"] },
            }),
            _ => json!({ "kind": "other" }),
        };
        if call["toolCallId"].as_str().is_none_or(str::is_empty) {
            self.questions += 1;
            call["toolCallId"] = format!("permission-{}", self.questions).into();
        }
        if call["title"].as_str().is_none_or(str::is_empty) {
            call["title"] = title;
        }
        if call.get("content").is_some() {
            let parts = self.parts(call["content"].take());
            call["content"] = parts.into();
        }
        if let Some(description) = description {
            let id = text(&call["toolCallId"]);
            let known = || self.calls.of((session, id)).clone();
            let mut content = call["content"].as_array().cloned().unwrap_or_else(known);
            let words = json!({ "type": "content", "content": { "type": "text", "text": description } });
            content.insert(0, words);
            call["content"] = content.into();
        }
        params["toolCall"] = call;
        params
    }
}

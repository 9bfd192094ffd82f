//! What the agent tells of a session.

use serde_json::{Value, json};

use super::diffs;
use super::fields::{take, text, told};
use super::ours::{commands, options};
use super::state::{PARTS, V2};
use crate::acp::wire::rpc::Message;

/// The chunks of messages, which the first version has too, and the whole messages.
const MESSAGES: [(&str, &str); 3] = [
    ("user_message_chunk", "user_message"),
    ("agent_message_chunk", "agent_message"),
    ("agent_thought_chunk", "agent_thought"),
];

impl V2 {
    pub(super) fn update(&mut self, mut params: Value) -> Vec<Message> {
        let session = text(&params["sessionId"]);
        let mut update = params["update"].take();
        let kind = text(&update["sessionUpdate"]);
        let updates = match kind.as_str() {
            "state_update" => return self.turns.told(&session, &update).into_iter().collect(),
            "tool_call_update" => self.call(&session, update),
            "tool_call_content_chunk" => self.call_grew(&session, update),
            "terminal_update" | "terminal_output_chunk" => self.terminals.told(&session, &update),
            "config_option_update" => {
                options(&mut update["configOptions"]);
                vec![update]
            }
            "available_commands_update" => {
                update["availableCommands"] = commands(update["availableCommands"].take());
                vec![update]
            }
            kind => match MESSAGES.iter().find(|(chunk, whole)| [*chunk, *whole].contains(&kind)) {
                Some((chunk, _)) if *chunk == kind => {
                    self.messages.grew(&session, chunk, &mut update);
                    vec![update]
                }
                Some((chunk, _)) => self.messages.told(&session, chunk, &update),
                None => vec![update],
            },
        };
        updates.into_iter().map(|update| told(&session, update)).collect()
    }

    /// The parts of a call as the first version has them.
    pub(super) fn parts(&self, content: Value) -> Vec<Value> {
        let Value::Array(parts) = content else { return Vec::new() };
        let part = |part: Value| match part["type"].as_str() {
            Some("diff") => diffs::parts(&part),
            _ => vec![part],
        };
        parts.into_iter().flat_map(part).take(PARTS).collect()
    }

    fn call(&mut self, session: &str, mut update: Value) -> Vec<Value> {
        let id = text(&update["toolCallId"]);
        // Null takes away what was there; in the first version it leaves it.
        for list in ["content", "locations"] {
            if update.get(list).is_some_and(Value::is_null) {
                update[list] = json!([]);
            }
        }
        let mut updates = Vec::new();
        if update["content"].is_array() {
            let parts = self.parts(update["content"].take());
            self.calls.of((session.to_owned(), id.clone())).clone_from(&parts);
            let (early, command) = self.terminals.shown(session, &id, &parts);
            updates = early;
            if let Some(command) = command.filter(|_| update["rawInput"]["command"].is_null()) {
                match update.get_mut("rawInput").and_then(Value::as_object_mut) {
                    Some(input) => drop(input.insert("command".to_owned(), command.into())),
                    None => update["rawInput"] = json!({ "command": command }),
                }
            }
            update["content"] = parts.into();
        }
        if update["status"] == "paused" {
            take(&mut update, "status");
        }
        updates.push(update);
        updates
    }

    fn call_grew(&mut self, session: &str, mut update: Value) -> Vec<Value> {
        let id = text(&update["toolCallId"]);
        let more = self.parts(json!([update["content"].take()]));
        let (mut updates, _) = self.terminals.shown(session, &id, &more);
        let parts = self.calls.of((session.to_owned(), id.clone()));
        parts.extend(more);
        parts.truncate(PARTS);
        updates.push(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "content": parts, "_meta": update["_meta"],
        }));
        updates
    }
}

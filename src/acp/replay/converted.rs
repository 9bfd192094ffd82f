//! A recording of an agent that speaks version 2 or the draft dialect, as one in the first version: what the agent said
//! goes through the conversion that a live agent's messages go through. Playing it is for `core::replay`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::acp::wire::dialect::Translation;
use crate::acp::wire::draft::Draft;
use crate::acp::wire::rpc::{self, Message};
use crate::acp::wire::v2::V2;
use crate::core::replay::lines::{Line, Said};

/// The lines as the first version has them; those of the first version stay as they are.
pub fn converted(lines: Vec<Line>) -> Vec<Line> {
    let Some(translation) = spoken(&lines) else { return lines };
    let mut conversion = Conversion { translation, prompts: BTreeSet::new() };
    let mut converted = Vec::new();
    for Line { at, said } in lines {
        match said {
            Said::ByClient(message) => {
                let said = Said::ByClient(conversion.by_client(message));
                converted.push(Line { at, said });
            }
            Said::ByAgent(message) => {
                let messages = conversion.by_agent(&message);
                converted.extend(messages.into_iter().map(|said| Line { at, said: Said::ByAgent(said) }));
            }
            said => converted.push(Line { at, said }),
        }
    }
    converted
}

/// What the recorded agent answered to `initialize`: that says which it speaks.
fn spoken(lines: &[Line]) -> Option<Translation> {
    let answer = lines.iter().find_map(|line| match &line.said {
        Said::ByAgent(message) => message.get("result").filter(|result| !result["protocolVersion"].is_null()),
        _ => None,
    })?;
    match answer["protocolVersion"].as_u64() {
        Some(2) => Some(Translation::V2(Box::<V2>::default())),
        Some(1) if crate::acp::wire::from_acp::speaks_draft(answer) => {
            Some(Translation::Draft(Box::new(Draft::replayed())))
        }
        _ => None,
    }
}

struct Conversion {
    translation: Translation,
    /// The ids of the prompts whose turns are not over.
    prompts: BTreeSet<String>,
}

impl Conversion {
    /// The message as the client would have said it in the first version.
    fn by_client(&mut self, message: Value) -> Value {
        let message = self.translation.recorded(message);
        let (id, method) = (message.get("id").and_then(Value::as_i64), message["method"].as_str());
        if let (Some(id), Some(method)) = (id, method) {
            if method == "session/prompt" {
                self.prompts.insert(id.to_string());
            }
            // What it is on the wire is in the recording; what matters is that its answer is known by it.
            self.translation.request(id, method, message["params"].clone());
        }
        message
    }

    fn by_agent(&mut self, message: &Value) -> Vec<Value> {
        let Ok(message) = rpc::read(&message.to_string()) else { return Vec::new() };
        let messages = self.translation.incoming(message).messages.into_iter().map(value);
        let messages: Vec<Value> = messages.collect();
        messages.into_iter().filter(|message| self.is_news(message)).collect()
    }

    /// What the user said in a turn stands there by the prompt.
    fn is_news(&mut self, message: &Value) -> bool {
        if message.get("method").is_none() {
            self.prompts.remove(&message["id"].to_string());
        }
        let kind = &message["params"]["update"]["sessionUpdate"];
        *kind != "user_message_chunk" || self.prompts.is_empty()
    }
}

fn value(message: Message) -> Value {
    match message {
        Message::Request { id, method, params } => {
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        }
        Message::Notification { method, params } => {
            json!({ "jsonrpc": "2.0", "method": method, "params": params })
        }
        Message::Response { id, result: Ok(result) } => {
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        }
        Message::Response { id, result: Err(error) } => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        Message::Malformed { id } => json!({ "jsonrpc": "2.0", "id": id }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::replay::Player;
    use crate::core::replay::lines::parse;

    /// What is seen of a recording: the kind of each message, with its first words.
    fn played(text: &str) -> Vec<String> {
        let mut player = Player::of(converted(parse(text).expect("a recording"))).expect("it can be played");
        let mut seen = Vec::new();
        while !player.is_over() {
            seen.extend(player.step().iter().map(|message| {
                let update = &message["params"]["update"];
                let ended = update["result"]["stopReason"].as_str();
                let words = update["title"].as_str().or(update["content"]["text"].as_str()).or(ended);
                let kind = update["sessionUpdate"].as_str().or(message["method"].as_str());
                format!("{} {}", kind.unwrap_or_default(), words.unwrap_or_default())
            }));
        }
        seen
    }

    #[test]
    fn a_recording_of_the_second_version_is_played_as_one_of_the_first() {
        let text = std::fs::read_to_string("tests/data/claude-agent-acp101-v2.jsonl").expect("the recording");
        let seen = played(&text);
        let count = |line: &str| seen.iter().filter(|seen| seen.starts_with(line)).count();
        assert_eq!(count("state_update"), 0, "{seen:#?}");
        // By the prompt, and when the session was loaded; not a third time by the agent's echo.
        assert_eq!(count("user_message_chunk mock: slow 40"), 2, "{seen:#?}");
        assert_eq!(count("session/request_permission"), 1);
        assert_eq!(count("notice The recorded answer: "), 1);
        assert_eq!(count("_replayed_turn_ended cancelled"), 1, "{seen:#?}");
        assert!(count("tool_call_update ") > 0 && count("agent_message_chunk ") > 0, "{seen:#?}");
    }

    #[test]
    fn a_recording_in_the_draft_dialect_is_played_as_one_of_the_first_version() {
        let line = |dir: &str, msg: Value| json!({ "t": 0.0, "dir": dir, "msg": msg }).to_string();
        let (ours, theirs) = ("client->agent", "agent->client");
        let update = |kind: &str, data: Value| {
            let params = json!({ "sessionId": "s", "type": kind, "data": data });
            line(theirs, json!({ "method": "session/update", "params": params }))
        };
        let text = json!([{ "type": "text", "text": "go" }]);
        let lines = [
            line(ours, json!({ "id": 0, "method": "initialize", "params": {} })),
            line(
                theirs,
                json!({ "id": 0, "result": { "protocolVersion": 1, "capabilities": {}, "agentInfo": { "name": "A" } } }),
            ),
            line(ours, json!({ "id": 1, "method": "session/new", "params": { "workingDirectory": "/p" } })),
            line(theirs, json!({ "id": 1, "result": { "sessionId": "s" } })),
            line(
                ours,
                json!({ "id": 2, "method": "session/prompt", "params": { "sessionId": "s", "content": text } }),
            ),
            update("thought_message_chunk", json!({ "content": "Hm" })),
            update(
                "tool_call",
                json!({ "id": "c", "tool": "fs/read_text_file", "input": { "path": "/p/a" } }),
            ),
            line(
                theirs,
                json!({ "id": 7, "method": "session/request_permission",
                    "params": { "sessionId": "s", "operation": "file_write", "resource": "/p/a" } }),
            ),
            line(
                ours,
                json!({ "id": 7, "result": { "granted": true, "remember": true, "scope": "session" } }),
            ),
            update("agent_message_chunk", json!({ "content": "Done." })),
            line(theirs, json!({ "id": 2, "result": { "stopReason": "max_tokens" } })),
        ];
        let text = lines.join("\n");
        assert_eq!(
            played(&text),
            [
                "user_message_chunk go",
                "agent_thought_chunk Hm",
                "tool_call /p/a",
                "session/request_permission ",
                "$/cancel_request ",
                "notice The recorded answer: Always allow for this session",
                "agent_message_chunk Done.",
                "_replayed_turn_ended max_tokens",
            ]
        );
        let player = Player::of(converted(parse(&text).expect("a recording"))).expect("it can be played");
        assert_eq!(player.cwd(), Some("/p"));
    }

    #[test]
    fn a_recording_of_the_first_version_stays_as_it_is() {
        let text = std::fs::read_to_string("tests/data/claude-agent-acp-edit.jsonl").expect("the recording");
        let lines = parse(&text).expect("a recording");
        assert_eq!(converted(lines.clone()), lines);
    }
}

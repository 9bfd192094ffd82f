//! A quick way for the one message that comes by the thousand: a piece of text. It takes what has exactly
//! the protocol's form; everything else, however close, is left to the reading of all messages, which
//! says the same about what is taken here.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use serde_json::{Value, json};

use crate::core::message::{Content, Role, Update};

/// A piece of a message's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The session as the agent calls it.
    pub session: String,
    role: Role,
    message: Option<String>,
    text: String,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(default)]
    id: Absent,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(rename = "sessionId")]
    session: String,
    #[serde(borrow)]
    update: Said<'a>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(rename = "sessionUpdate")]
    kind: &'a str,
    #[serde(rename = "messageId")]
    message: Option<String>,
    #[serde(borrow)]
    content: Text<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    text: String,
}

#[derive(Deserialize)]
struct DraftLine<'a> {
    #[serde(default)]
    id: Absent,
    method: &'a str,
    #[serde(borrow)]
    params: DraftParams<'a>,
}

#[derive(Deserialize)]
struct DraftParams<'a> {
    #[serde(rename = "sessionId")]
    session: String,
    #[serde(rename = "type")]
    kind: &'a str,
    data: DraftSaid,
    timestamp: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct DraftSaid {
    content: String,
    #[serde(default, rename = "final")]
    is_last: bool,
    visible: Option<bool>,
}

/// A key that must not stand there, whatever its value is.
#[derive(Default)]
struct Absent(bool);

impl<'de> Deserialize<'de> for Absent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self(true))
    }
}

impl Chunk {
    pub fn read(line: &str) -> Option<Self> {
        // Cheaper than to find out by reading.
        if !line.contains("_chunk\"") {
            return None;
        }
        // Some tell what a subagent says as the session's own, and by this that it is not.
        if line.contains("\"parentToolUseId\"") {
            return None;
        }
        let Line { id: Absent(false), method: "session/update", params } = serde_json::from_str(line).ok()?
        else {
            return None;
        };
        let Said { kind, message, content: Text { kind: "text", text } } = params.update else { return None };
        let role = role(kind)?;
        // A prompt may say when it was sent.
        if role == Role::User && line.contains("imestamp") {
            return None;
        }
        Some(Self { session: params.session, role, message, text })
    }

    /// The same in the draft dialect, where a piece of text is a text.
    pub fn read_draft(line: &str) -> Option<Self> {
        if !line.contains("_chunk\"") {
            return None;
        }
        let DraftLine { id: Absent(false), method: "session/update", params } =
            serde_json::from_str(line).ok()?
        else {
            return None;
        };
        // What comes after a last one is another message, and a hidden one is not shown.
        if params.data.is_last || params.data.visible == Some(false) {
            return None;
        }
        // Its word for a thought is another one; one of the official protocol's goes the other way.
        let role = role(params.kind).filter(|_| params.kind != "agent_thought_chunk")?;
        // A prompt may say when it was sent.
        if role == Role::User && params.timestamp.is_some() {
            return None;
        }
        Some(Self { session: params.session, role, message: None, text: params.data.content })
    }

    pub fn update(self) -> Update {
        Update::Message { role: self.role, message: self.message, content: Content::Text(self.text.into()) }
    }

    /// The params of the notification that it came as.
    pub fn params(&self) -> Value {
        let kind = match self.role {
            Role::User => "user_message_chunk",
            Role::Agent => "agent_message_chunk",
            Role::Thought => "agent_thought_chunk",
        };
        json!({
            "sessionId": self.session,
            "update": {
                "sessionUpdate": kind, "messageId": self.message,
                "content": { "type": "text", "text": self.text },
            },
        })
    }
}

/// Whose text the chunks of a kind are.
pub fn role(kind: &str) -> Option<Role> {
    match kind {
        "user_message_chunk" => Some(Role::User),
        "agent_message_chunk" => Some(Role::Agent),
        "agent_thought_chunk" | "thought_message_chunk" => Some(Role::Thought),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::acp::wire::from_acp::{Fact, session_of, update};
    use crate::acp::wire::rpc::{self, Message};

    /// What the reading of all messages says about a line.
    fn slowly(line: &str) -> Option<(String, Vec<Fact>)> {
        match rpc::read(line) {
            Ok(Message::Notification { method, params }) if method == "session/update" => {
                Some((session_of(&params)?, update(&params["update"])))
            }
            _ => None,
        }
    }

    fn line(update: &Value) -> String {
        let params = json!({ "sessionId": "s", "update": update });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string()
    }

    fn chunk(text: &str) -> Value {
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
    }

    #[test]
    fn a_chunk_is_read_as_all_messages_are() {
        let mut named = chunk("a");
        named["messageId"] = json!("m");
        named["_meta"] = json!({ "any": [1, null] });
        let mut thought = chunk("\u{1F600}\n\"");
        thought["sessionUpdate"] = json!("agent_thought_chunk");
        thought["messageId"] = Value::Null;
        for update in [chunk("a b"), chunk(""), named, thought] {
            let chunk = Chunk::read(&line(&update)).expect("a chunk");
            let params = chunk.params();
            assert_eq!((session_of(&params), crate::acp::wire::from_acp::update(&params["update"])), {
                let (session, facts) = slowly(&line(&update)).expect("an update");
                (Some(session), facts)
            });
            assert_eq!(slowly(&line(&update)), Some(("s".into(), vec![Fact::Update(chunk.update())])));
        }
    }

    #[test]
    fn what_is_no_plain_chunk_goes_the_other_way() {
        let mut numbered = chunk("a");
        numbered["messageId"] = json!(5);
        let mut noted = chunk("a");
        noted["content"]["annotations"] = json!({ "priority": 1 });
        let image =
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "image", "data": "" } });
        let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "agent_message_chunk\"" });
        for update in [numbered, noted, image, call] {
            assert_eq!(Chunk::read(&line(&update)), None, "{update}");
        }
        let plain = line(&chunk("a"));
        assert!(Chunk::read(&plain).is_some());
        // A prompt's time is no part of a piece of text.
        let prompt = plain.replacen("agent_message_chunk", "user_message_chunk", 1);
        assert!(Chunk::read(&prompt).is_some());
        let dated = prompt.replacen("\"update\"", "\"_meta\":{\"agentTimestampMs\":5},\"update\"", 1);
        assert!(dated != prompt && Chunk::read(&dated).is_none());
        for (from, to) in [
            ("\"method\"", "\"id\":null,\"method\""),
            ("\"method\"", "\"method\":\"m\",\"method\""),
            ("session/update", "session/other"),
            ("\"text\":\"a\"", "\"text\":\"\\ud83d\""),
            ("\"s\"", "7"),
        ] {
            let odd = plain.replacen(from, to, 1);
            assert_ne!(odd, plain);
            assert_eq!(Chunk::read(&odd), None, "{odd}");
        }
    }

    /// What the conversion of all messages says about a line in the draft dialect.
    fn converted(line: &str) -> Vec<(String, Vec<Fact>)> {
        let mut draft = crate::acp::wire::draft::Draft::new(1);
        let converted = draft.incoming(rpc::read(line).expect("a message"));
        let fact = |message| match message {
            Message::Notification { params, .. } => (session_of(&params).unwrap(), update(&params["update"])),
            other => panic!("{other:?}"),
        };
        converted.messages.into_iter().map(fact).collect()
    }

    #[test]
    fn a_chunk_in_the_draft_dialect_is_read_as_all_its_messages_are() {
        let line = |kind: &str, data: Value| {
            let params = json!({ "sessionId": "s", "type": kind, "data": data });
            json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string()
        };
        for kind in ["user_message_chunk", "agent_message_chunk", "thought_message_chunk"] {
            for data in [
                json!({ "content": "a\n\"", "index": 3, "final": false }),
                json!({ "content": "", "visible": true }),
            ] {
                let line = line(kind, data);
                let chunk = Chunk::read_draft(&line).expect("a chunk");
                let quick = (chunk.session.clone(), vec![Fact::Update(chunk.update())]);
                assert_eq!(vec![quick], converted(&line), "{line}");
            }
        }
        let block = json!({ "type": "text", "text": "a" });
        for other in [
            line("agent_message_chunk", json!({ "content": block })),
            line("agent_message_chunk", json!({ "content": "a", "final": true })),
            line("agent_message_chunk", json!({ "content": ["a"] })),
            line("thought_message_chunk", json!({ "content": "a", "visible": false })),
            line("agent_thought_chunk", json!({ "content": "a" })),
            line("tool_call", json!({ "id": "agent_message_chunk\"", "tool": "t" })),
            self::line(&chunk("a")),
        ] {
            assert_eq!(Chunk::read_draft(&other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_say_the_same_of_any_text(text in ".{0,30}", message in prop::option::of(".{0,5}")) {
            let mut update = chunk(&text);
            update["messageId"] = json!(message);
            let line = line(&update);
            let read = Chunk::read(&line).map(|chunk| (chunk.session.clone(), vec![Fact::Update(chunk.update())]));
            prop_assert_eq!(read, slowly(&line));
        }
    }
}

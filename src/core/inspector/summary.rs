//! What one message is, in a few words: request, notification or answer, of what method, with which id and how long. It
//! is read when somebody looks, from what the ring kept of the message.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::json::mended;
use super::ring::{Kept, Way};
use crate::core::text::cut;

/// Of a text that is no message so many bytes are told.
const TOLD: usize = 200;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub number: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub agent: u32,
    pub way: Way,
    /// The bytes that it had on the wire.
    pub size: u64,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    /// Ids are kept as the JSON that they came as.
    Request {
        id: String,
        method: String,
    },
    Notification {
        method: String,
        /// Of a `session/update`, which one.
        update: Option<String>,
    },
    Answer {
        id: String,
        error: Option<(i64, String)>,
    },
    /// A line that is no message.
    Noise(String),
    /// What was said beside the messages, or noted.
    Text(String),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    update: Option<&'a RawValue>,
    /// As the draft dialect has it.
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Update<'a> {
    #[serde(borrow, rename = "sessionUpdate")]
    kind: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Error {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

impl Summary {
    pub fn of(kept: &Kept<'_>) -> Self {
        let text = String::from_utf8_lossy(kept.text);
        let kind = match kept.way {
            Way::ToAgent | Way::FromAgent if kept.is_whole() => read(&text),
            Way::ToAgent | Way::FromAgent => {
                let beginning = read(&mended(&text));
                match read(&String::from_utf8_lossy(kept.envelope)) {
                    // The envelope says it in any case; what is in it only the beginning can.
                    Kind::Noise(_) => beginning,
                    Kind::Notification { method, .. } => match beginning {
                        Kind::Notification { update, .. } => Kind::Notification { method, update },
                        _ => Kind::Notification { method, update: None },
                    },
                    known => known,
                }
            }
            Way::Stderr | Way::Note | Way::End => Kind::Text(cut(&text, TOLD).to_owned()),
        };
        Self { number: kept.number, at: kept.at, agent: kept.agent, way: kept.way, size: kept.size, kind }
    }

    /// Changes every text in it that an agent is free to choose.
    pub fn hide(&mut self, hidden: &dyn Fn(&str) -> String) {
        match &mut self.kind {
            Kind::Request { id, method } => {
                *id = hidden(id);
                *method = hidden(method);
            }
            Kind::Notification { method, update } => {
                *method = hidden(method);
                if let Some(update) = update {
                    *update = hidden(update);
                }
            }
            Kind::Answer { id, error } => {
                *id = hidden(id);
                if let Some((_, text)) = error {
                    *text = hidden(text);
                }
            }
            Kind::Noise(text) | Kind::Text(text) => *text = hidden(text),
        }
    }

    /// About how much memory it takes.
    pub fn held(&self) -> usize {
        size_of::<Self>()
            + match &self.kind {
                Kind::Request { id, method } => id.len() + method.len(),
                Kind::Notification { method, update } => {
                    method.len() + update.as_ref().map_or(0, String::len)
                }
                Kind::Answer { id, error } => id.len() + error.as_ref().map_or(0, |(_, text)| text.len()),
                Kind::Noise(text) | Kind::Text(text) => text.len(),
            }
    }
}

fn read(text: &str) -> Kind {
    let short = |text: &str| cut(text, TOLD).to_owned();
    let noise = || Kind::Noise(short(text));
    let Ok(Envelope { id, method, params, error }) = serde_json::from_str(text) else { return noise() };
    let id = id.map(|id| short(id.get()));
    match (method, id) {
        (Some(method), Some(id)) => Kind::Request { id, method: short(&method) },
        (Some(method), None) => {
            let update = (method == "session/update").then(|| update_of(params?)).flatten();
            Kind::Notification { method: short(&method), update: update.map(|kind| short(&kind)) }
        }
        (None, Some(id)) => {
            let error = error.filter(|error| error.get() != "null").map(|error| {
                let read = serde_json::from_str::<Error>(error.get());
                read.map_or_else(|_| (0, short(error.get())), |error| (error.code, short(&error.message)))
            });
            Kind::Answer { id, error }
        }
        (None, None) => noise(),
    }
}

fn update_of(params: &RawValue) -> Option<String> {
    let params: Params<'_> = serde_json::from_str(params.get()).ok()?;
    let update = params.update.and_then(|update| serde_json::from_str::<Update<'_>>(update.get()).ok());
    update.and_then(|update| update.kind).or(params.kind).map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::inspector::ring::{LONGEST, Line, Ring};

    fn summary(text: &str, envelope: &str) -> Kind {
        let mut ring = Ring::default();
        ring.push(&Line {
            at: 5,
            agent: 0,
            way: Way::FromAgent,
            text: text.as_bytes(),
            envelope: envelope.as_bytes(),
        });
        Summary::of(&ring.get(0).expect("kept")).kind
    }

    #[test]
    fn each_kind_of_message_is_told_by_its_envelope() {
        let update =
            r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan"}}}"#;
        assert_eq!(
            summary(update, ""),
            Kind::Notification { method: "session/update".into(), update: Some("plan".into()) }
        );
        assert_eq!(
            summary(r#"{"id":"a","method":"fs/read_text_file","params":{}}"#, ""),
            Kind::Request { id: "\"a\"".into(), method: "fs/read_text_file".into() }
        );
        assert_eq!(
            summary(r#"{"id":3,"result":null,"error":null}"#, ""),
            Kind::Answer { id: "3".into(), error: None }
        );
        assert_eq!(
            summary(r#"{"id":3,"error":{"code":-32601,"message":"no such method"}}"#, ""),
            Kind::Answer { id: "3".into(), error: Some((-32601, "no such method".into())) }
        );
        assert_eq!(summary("Loading...", ""), Kind::Noise("Loading...".into()));
        assert_eq!(summary("{}", ""), Kind::Noise("{}".into()));
    }

    #[test]
    fn of_a_message_that_was_cut_off_the_envelope_is_known_all_the_same() {
        let long = "x".repeat(LONGEST);
        let read = format!(r#"{{"result":{{"content":"{long}"}},"id":7}}"#);
        assert_eq!(summary(&read, r#"{"id":7}"#), Kind::Answer { id: "7".into(), error: None });
        let update = format!(
            r#"{{"method":"session/update","params":{{"update":{{"sessionUpdate":"tool_call","x":"{long}"}}}}}}"#
        );
        assert_eq!(
            summary(&update, r#"{"method":"session/update"}"#),
            Kind::Notification { method: "session/update".into(), update: Some("tool_call".into()) }
        );
    }
}

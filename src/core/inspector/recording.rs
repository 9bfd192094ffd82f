//! A recording of what went over the wire: one JSON object a line, as the log writes it and a replay reads it.

use serde_json::{Map, Value, json};

use super::json::mended;
use super::ring::{Kept, Way};
use super::scrub::Scrubber;

/// A line of a recording. `begun` is when the recording begins, in milliseconds since 1970.
pub fn line(kept: &Kept<'_>, begun: u64, scrubber: &mut Scrubber) -> String {
    let mut fields = Map::new();
    fields.insert("t".into(), json!(kept.at.saturating_sub(begun) as f64 / 1000.0));
    let text = String::from_utf8_lossy(kept.text);
    let dir = match kept.way {
        Way::ToAgent => "client->agent",
        Way::FromAgent => "agent->client",
        Way::Stderr => "stderr",
        Way::Note | Way::End => "note",
    };
    fields.insert("dir".into(), dir.into());
    match kept.way {
        Way::ToAgent | Way::FromAgent => match message(kept, &text) {
            Some(mut message) => {
                scrubber.message(&mut message);
                if !kept.is_whole() {
                    fields.insert("cut".into(), kept.size.into());
                }
                fields.insert("msg".into(), message);
            }
            None => {
                fields.insert("raw".into(), scrubber.text(&text).into());
            }
        },
        Way::Stderr => {
            fields.insert("raw".into(), scrubber.text(&text).into());
        }
        Way::Note | Way::End => {
            let ended = if kept.way == Way::End { "the agent is gone: " } else { "" };
            fields.insert("note".into(), format!("{ended}{}", scrubber.text(&text)).into());
        }
    }
    Value::Object(fields).to_string()
}

/// The message, if it is one: of one that was cut off as much as is there.
fn message(kept: &Kept<'_>, text: &str) -> Option<Value> {
    if kept.is_whole() {
        return serde_json::from_str(text).ok().filter(Value::is_object);
    }
    let mut message: Value = serde_json::from_str(&mended(text)).ok().filter(Value::is_object)?;
    let envelope: Value = serde_json::from_slice(kept.envelope).unwrap_or_default();
    if let (Some(fields), Value::Object(known)) = (message.as_object_mut(), envelope) {
        fields.extend(known);
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::inspector::ring::{LONGEST, Line, Ring};

    fn recorded(way: Way, text: &str, envelope: &str) -> Value {
        let mut ring = Ring::default();
        ring.push(&Line { at: 2234, agent: 0, way, text: text.as_bytes(), envelope: envelope.as_bytes() });
        let line = line(&ring.get(0).expect("kept"), 1000, &mut Scrubber::default());
        serde_json::from_str(&line).expect("JSON")
    }

    #[test]
    fn a_line_has_the_shape_of_the_recordings() {
        assert_eq!(
            recorded(Way::FromAgent, r#"{"id":1,"result":{"token":"x"}}"#, ""),
            json!({ "t": 1.234, "dir": "agent->client", "msg": { "id": 1, "result": { "token": "[hidden]" } } })
        );
        assert_eq!(
            recorded(Way::FromAgent, "[1", ""),
            json!({ "t": 1.234, "dir": "agent->client", "raw": "[1" })
        );
        assert_eq!(recorded(Way::Stderr, "warm", ""), json!({ "t": 1.234, "dir": "stderr", "raw": "warm" }));
        assert_eq!(
            recorded(Way::End, "exited with code 1", ""),
            json!({ "t": 1.234, "dir": "note", "note": "the agent is gone: exited with code 1" })
        );
    }

    #[test]
    fn what_was_too_long_to_keep_is_still_a_message_with_its_id() {
        let long = "x".repeat(LONGEST);
        let text = format!(r#"{{"result":{{"content":"{long}"}},"id":7}}"#);
        let line = recorded(Way::ToAgent, &text, r#"{"id":7}"#);
        assert_eq!((&line["msg"]["id"], &line["cut"]), (&json!(7), &json!(text.len())));
        assert!(line["msg"]["result"]["content"].as_str().is_some_and(|text| text.ends_with("x\u{2026}")));
    }
}

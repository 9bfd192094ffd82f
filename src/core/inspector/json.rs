//! JSON as one reads it: pretty-printed, no line too long for a buffer, and what was cut off made whole so that it
//! can be read at all.

use serde_json::Value;

/// No line of a buffer is longer.
const LONGEST_LINE: usize = 4000;

/// A text that was cut off somewhere, as JSON: what was begun and can't be read is left out, what is open is closed.
pub fn mended(cut: &str) -> String {
    let bytes = cut.as_bytes();
    let mut closers: Vec<u8> = Vec::new();
    // Up to where all values are whole, and how many brackets are open there.
    let mut safe = (0, 0);
    let (mut in_text, mut is_key, mut begun, mut at) = (false, false, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_text => at += 1,
            b'"' => {
                in_text = !in_text;
                begun = at + 1;
            }
            _ if in_text => {}
            b'{' | b'[' => {
                let is_object = bytes[at] == b'{';
                closers.push(if is_object { b'}' } else { b']' });
                is_key = is_object;
                safe = (at + 1, closers.len());
            }
            b'}' | b']' => {
                closers.pop();
                is_key = false;
                safe = (at + 1, closers.len());
            }
            b',' => {
                safe = (at, closers.len());
                is_key = closers.last() == Some(&b'}');
            }
            b':' => is_key = false,
            _ => {}
        }
        at += 1;
    }
    let mut text = if in_text && !is_key {
        format!("{}{}\u{2026}\"", &cut[..begun], whole_characters(&cut[begun..]))
    } else {
        closers.truncate(safe.1);
        cut[..safe.0].to_owned()
    };
    text.extend(closers.iter().rev().map(|closer| char::from(*closer)));
    text
}

/// A JSON text's content without an escape that it ends in the middle of.
fn whole_characters(cut: &str) -> &str {
    let bytes = cut.as_bytes();
    let (mut at, mut end) = (0, 0);
    while at < bytes.len() {
        let length = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'u')) => {
                let digits = cut.get(at + 2..at + 6);
                match digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
                    // Half a character: the other half has to follow.
                    Some(0xd800..=0xdbff) => 12,
                    _ => 6,
                }
            }
            (b'\\', _) => 2,
            _ => 1,
        };
        if at + length > bytes.len() {
            break;
        }
        at += length;
        end = at;
    }
    &cut[..end]
}

/// The lines of a message.
pub fn pretty(message: &Value) -> String {
    let text = serde_json::to_string_pretty(message).unwrap_or_else(|_| message.to_string());
    shortened(&text)
}

/// The same text with no line that is too long for a buffer.
pub fn shortened(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for line in text.split('\n') {
        if !all.is_empty() {
            all.push('\n');
        }
        if line.len() <= LONGEST_LINE {
            all.push_str(line);
            continue;
        }
        let shown = crate::core::text::cut(line, LONGEST_LINE);
        all.push_str(shown);
        all.push_str(&format!("\u{2026} ({} bytes more)", line.len() - shown.len()));
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_cut_off_is_closed() {
        for (cut, whole) in [
            (r#"{"a":1,"b":[1,2"#, r#"{"a":1,"b":[1]}"#),
            (r#"{"a":"long te"#, r#"{"a":"long te…"}"#),
            (r#"{"a":"x\u00"#, r#"{"a":"x…"}"#),
            (r#"{"a":"x\"#, r#"{"a":"x…"}"#),
            (r#"{"a":"x\\"#, r#"{"a":"x\\…"}"#),
            (r#"{"a":"x\ud83d\ude"#, r#"{"a":"x…"}"#),
            (r#"{"a":{"b":-1"#, r#"{"a":{}}"#),
            (r#"{"a":1,"ke"#, r#"{"a":1}"#),
            (r#"{"a":["#, r#"{"a":[]}"#),
        ] {
            assert_eq!(mended(cut), whole);
        }
    }

    #[test]
    fn a_long_line_is_cut_with_what_is_missing() {
        let text = pretty(&json!({ "text": "x".repeat(10_000), "n": 1 }));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].ends_with("\u{2026} (6013 bytes more)"), "{}", &lines[1][3990..]);
        assert_eq!(lines[2], r#"  "n": 1"#);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\\u{1f600}\n{}\\[\\],:]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[a-z\"{:]{0,5}", inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_beginning_of_a_message_can_be_read(value in any_json(), cut in 1..400_usize) {
            let text = json!({ "params": value }).to_string();
            let text = crate::core::text::cut(&text, cut.min(text.len()));
            let mended = mended(text);
            prop_assert!(serde_json::from_str::<Value>(&mended).is_ok(), "{} -> {}", text, mended);
        }
    }
}

//! The JSON-RPC envelope: what kind of message a line is, and which of our requests an answer belongs to.
//! Answering the agent's is `reply`; what the messages mean is left to `from_acp` and `to_acp`.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;
pub const REQUEST_CANCELLED: i64 = -32800;
pub const AUTH_REQUIRED: i64 = -32000;
pub const NOT_FOUND: i64 = -32002;

/// One message of the agent.
#[derive(Debug)]
pub enum Message {
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Response {
        id: RequestId,
        result: Result<Value, RpcError>,
    },
    /// It has an id, so it wants an answer, but no method that could be read.
    Malformed {
        id: RequestId,
    },
}

/// The agent's id of its own request, kept as the text it came in: a number too large for any type
/// of ours goes back unchanged.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct RequestId(Box<RawValue>);

/// An error answer, the agent's or ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Why a line is no message.
#[derive(Debug, PartialEq, Eq)]
pub enum Noise {
    /// Not a JSON object: a banner, a log line, an escape sequence.
    Text,
    /// A JSON object, but neither request, notification nor answer.
    Object,
    /// A batch. ACP has none.
    Array,
}

/// Reads one line, already trimmed. `jsonrpc` is not looked at.
pub fn read(line: &str) -> Result<Message, Noise> {
    if line.starts_with('[') && serde_json::from_str::<&RawValue>(line).is_ok() {
        return Err(Noise::Array);
    }
    // In one pass where all is in order; with care where it is not.
    match serde_json::from_str::<Parts<Value>>(line) {
        Ok(parts) => parts.message(),
        Err(_) => match serde_json::from_str::<Parts<&RawValue>>(line) {
            Ok(parts) => parts.mended().message(),
            Err(_) => Err(Noise::Text),
        },
    }
}

/// The keys of the envelope; of one that stands several times, the last counts.
struct Parts<'a, T> {
    id: Option<&'a RawValue>,
    method: Option<T>,
    params: Option<T>,
    result: Option<T>,
    error: Option<T>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

impl Parts<'_, Value> {
    fn message(self) -> Result<Message, Noise> {
        let id = self.id.map(|raw| RequestId(raw.to_owned()));
        match (self.method, id) {
            (Some(method), id) => {
                let params = self.params.unwrap_or_default();
                match (method, id) {
                    (Value::String(method), Some(id)) => Ok(Message::Request { id, method, params }),
                    (Value::String(method), None) => Ok(Message::Notification { method, params }),
                    (_, Some(id)) => Ok(Message::Malformed { id }),
                    (_, None) => Err(Noise::Object),
                }
            }
            (None, Some(id)) => {
                let result = match self.error.filter(|error| !error.is_null()) {
                    Some(error) => Err(RpcError::read(error)),
                    None => Ok(self.result.unwrap_or_default()),
                };
                Ok(Message::Response { id, result })
            }
            (None, None) => Err(Noise::Object),
        }
    }
}

impl<'a> Parts<'a, &'a RawValue> {
    fn mended(self) -> Parts<'a, Value> {
        let [method, params, result, error] =
            [self.method, self.params, self.result, self.error].map(|part| part.map(value));
        Parts { id: self.id, method, params, result, error }
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Parts<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Envelope(PhantomData))
    }
}

struct Envelope<'a, T>(PhantomData<Parts<'a, T>>);

impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for Envelope<'a, T> {
    type Value = Parts<'a, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut parts = Parts { id: None, method: None, params: None, result: None, error: None };
        while let Some(key) = map.next_key()? {
            match key {
                Key::Id => parts.id = Some(map.next_value()?),
                Key::Method => parts.method = Some(map.next_value()?),
                Key::Params => parts.params = Some(map.next_value()?),
                Key::Result => parts.result = Some(map.next_value()?),
                Key::Error => parts.error = Some(map.next_value()?),
                Key::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(parts)
    }
}

/// Parses what has the form of JSON already, mending what would else cost the whole message.
fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get())
        .or_else(|_| serde_json::from_str(&mend(raw.get())))
        .unwrap_or_else(|_| Value::String(raw.get().to_owned()))
}

/// JSON is parsed recursively, so deeper nesting than this is refused by the parser.
const DEEPEST: usize = 100;

/// Rewrites well-formed JSON that the parser refuses: what is nested too deeply becomes null, and half
/// a surrogate pair, which JavaScript writes when it cuts a text in the middle of a character, becomes
/// the replacement character.
fn mend(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut mended = String::with_capacity(json.len());
    let (mut at, mut depth) = (0, 0);
    while at < bytes.len() {
        let start = at;
        let shown = match bytes[at] {
            b'{' | b'[' => {
                at += 1;
                depth += 1;
                if depth == DEEPEST + 1 {
                    mended.push_str("null");
                }
                depth <= DEEPEST
            }
            b'}' | b']' => {
                at += 1;
                depth -= 1;
                depth < DEEPEST
            }
            b'"' => {
                at = string_end(bytes, at);
                if depth <= DEEPEST {
                    mend_string(&json[start..at], &mut mended);
                }
                false
            }
            _ => {
                at +=
                    bytes[at..].iter().position(|byte| b"{}[]\"".contains(byte)).unwrap_or(bytes.len() - at);
                depth <= DEEPEST
            }
        };
        if shown {
            mended.push_str(&json[start..at]);
        }
    }
    mended
}

/// The end of the string literal that begins at `start`.
fn string_end(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < json.len() && json[at] != b'"' {
        at += if json[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(json.len())
}

fn mend_string(mut literal: &str, mended: &mut String) {
    while let Some(escape) = literal.find('\\') {
        mended.push_str(&literal[..escape]);
        literal = &literal[escape..];
        let length = match (surrogate(literal), literal.get(6..).and_then(surrogate)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(_), _) => {
                mended.push_str("\\ufffd");
                literal = &literal[6..];
                continue;
            }
            (None, _) => 2,
        };
        mended.push_str(&literal[..length]);
        literal = &literal[length..];
    }
    mended.push_str(literal);
}

/// The surrogate that a text begins with, as an escape.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub fn invalid(field: &str, rule: &str) -> Self {
        let message = format!("invalid params: `{field}` {rule}");
        Self { code: INVALID_PARAMS, message, data: Some(serde_json::json!({ "field": field })) }
    }

    pub fn no_method(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("method not found: {method}"))
    }

    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// Reads an error object; agents write codes as strings and leave out messages.
    fn read(error: Value) -> Self {
        let code = match error.get("code") {
            Some(Value::String(code)) => code.parse().ok(),
            #[expect(clippy::cast_possible_truncation, reason = "a code that large says nothing anyway")]
            Some(code) => code.as_i64().or_else(|| code.as_f64().map(|code| code as i64)),
            None => None,
        };
        let message = match (error.get("message"), &error) {
            (Some(Value::String(message)), _) | (_, Value::String(message)) => message.clone(),
            _ => "the agent gave no reason".to_owned(),
        };
        let data = error.get("data").filter(|data| !data.is_null()).cloned();
        Self { code: code.unwrap_or(INTERNAL_ERROR), message, data }
    }
}

impl RequestId {
    /// The id as one of ours. Some agents give numbers back as text.
    fn as_own(&self) -> Option<i64> {
        match serde_json::from_str(self.0.get()).ok()? {
            Value::String(text) => text.parse().ok(),
            number => number.as_i64(),
        }
    }

    pub fn own(id: i64) -> Self {
        Self(RawValue::from_string(id.to_string()).expect("a number is JSON"))
    }

    pub fn of(value: &Value) -> Option<Self> {
        serde_json::value::to_raw_value(value).ok().map(Self)
    }
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get())
    }
}

/// Our open requests, each with what is to be done with its answer.
pub struct OpenRequests<T> {
    next: i64,
    open: BTreeMap<i64, T>,
}

impl<T> Default for OpenRequests<T> {
    fn default() -> Self {
        Self { next: 1, open: BTreeMap::new() }
    }
}

impl<T> OpenRequests<T> {
    pub fn open(&mut self, request: T) -> i64 {
        let id = self.next;
        self.next += 1;
        self.open.insert(id, request);
        id
    }

    /// Takes the call that an answer belongs to; none if it was answered already, or never made.
    pub fn close(&mut self, id: &RequestId) -> Option<T> {
        self.open.remove(&id.as_own()?)
    }

    pub fn iter(&self) -> impl Iterator<Item = (i64, &T)> {
        self.open.iter().map(|(id, request)| (*id, request))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (i64, &mut T)> {
        self.open.iter_mut().map(|(id, request)| (*id, request))
    }

    pub fn get(&self, id: &RequestId) -> Option<&T> {
        self.open.get(&id.as_own()?)
    }

    /// Takes all that are open, in the order they were made.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.open).into_values()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn id_of(line: &str) -> String {
        match read(line) {
            Ok(Message::Request { id, .. } | Message::Response { id, .. } | Message::Malformed { id }) => {
                id.to_string()
            }
            other => panic!("no id in {other:?}"),
        }
    }

    fn params_of(line: &str) -> Value {
        match read(line) {
            Ok(Message::Notification { params, .. }) => params,
            other => panic!("no notification: {other:?}"),
        }
    }

    #[test]
    fn an_id_of_any_kind_is_kept_as_it_came() {
        for id in [
            "0",
            "-1",
            "\"a\"",
            "\"\"",
            "9007199254740993",
            "9223372036854775808",
            "null",
            "1.0",
            "1e400",
            "[1]",
        ] {
            assert_eq!(id_of(&format!(r#"{{"id":{id},"method":"m"}}"#)), id);
        }
    }

    #[test]
    fn a_message_is_told_by_its_keys() {
        assert!(matches!(read(r#"{"method":"m","id":1}"#), Ok(Message::Request { .. })));
        assert!(matches!(read(r#"{"method":"m"}"#), Ok(Message::Notification { .. })));
        assert!(matches!(
            read(r#"{"id":1,"result":null}"#),
            Ok(Message::Response { result: Ok(Value::Null), .. })
        ));
        assert!(matches!(read(r#"{"id":1}"#), Ok(Message::Response { result: Ok(Value::Null), .. })));
        assert!(matches!(read(r#"{"method":5,"id":1}"#), Ok(Message::Malformed { .. })));
    }

    #[test]
    fn what_is_no_message_is_noise() {
        for (line, noise) in [
            ("Welcome!", Noise::Text),
            ("[info] starting", Noise::Text),
            ("\u{1b}]0;title\u{7}", Noise::Text),
            ("42", Noise::Text),
            (r#"{"level":30}"#, Noise::Object),
            (r#"[{"method":"m"}]"#, Noise::Array),
            (r#"{"method":"#, Noise::Text),
        ] {
            assert_eq!(read(line).unwrap_err(), noise, "{line}");
        }
    }

    #[test]
    fn an_error_beside_a_null_result_is_an_error() {
        let line = r#"{"id":1,"result":null,"error":{"code":-32000,"message":"log in first"}}"#;
        let Ok(Message::Response { result: Err(error), .. }) = read(line) else { panic!("no error") };
        assert_eq!(error, RpcError::new(AUTH_REQUIRED, "log in first"));
        assert!(matches!(
            read(r#"{"id":1,"result":{},"error":null}"#),
            Ok(Message::Response { result: Ok(_), .. })
        ));
    }

    #[test]
    fn a_careless_error_is_read_all_the_same() {
        for (error, code, message) in [
            (json!({"code": "-32000", "message": "m"}), -32000, "m"),
            (json!({"code": 4_294_967_296_i64, "message": "m"}), 4_294_967_296, "m"),
            (json!({"code": 1.0}), 1, "the agent gave no reason"),
            (json!("broken"), INTERNAL_ERROR, "broken"),
        ] {
            let error = RpcError::read(error);
            assert_eq!((error.code, error.message.as_str()), (code, message));
        }
    }

    #[test]
    fn what_is_nested_too_deeply_is_left_out_and_the_rest_stays() {
        let deep = format!("{}{}{}", "[".repeat(200), "\"]\\\"\"", "]".repeat(200));
        let params = params_of(&format!(r#"{{"method":"m","params":{{"a":{deep},"b":[1,"x"]}}}}"#));
        assert_eq!(params["b"], json!([1, "x"]));
        assert!(params["a"].is_array());
    }

    #[test]
    fn half_a_surrogate_pair_does_not_cost_the_message() {
        let params = params_of(r#"{"method":"m","params":["a\ud83d","\ude00b","\ud83d\ude00","\\ud83d\n"]}"#);
        assert_eq!(params, json!(["a\u{fffd}", "\u{fffd}b", "\u{1F600}", "\\ud83d\n"]));
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd_to_be_told_what_it_is(line in r#"[\[\]{}":,\\ud8e0-9a-z \u{1F600}-]{0,60}"#) {
            // Neither reading nor mending may panic, whatever comes of it.
            drop(read(&line));
            drop(read(&format!(r#"{{"method":"m","params":{line}}}"#)));
            drop(read(&format!(r#"{{"id":{line},"result":"{line}"}}"#)));
        }

        #[test]
        fn mending_leaves_what_is_well_formed_alone(text in ".{0,40}", number in any::<f64>()) {
            let json = json!({"a": [text, {"b": number}], text.clone(): null}).to_string();
            prop_assert_eq!(mend(&json), json);
        }
    }

    #[test]
    fn a_key_that_stands_twice_does_not_cost_the_message() {
        assert_eq!(params_of(r#"{"method":"m","params":{"a":1,"a":2},"x":1,"x":2}"#), json!({"a": 2}));
    }

    #[test]
    fn an_answer_closes_its_call_once() {
        let mut open = OpenRequests::default();
        let (first, second) = (open.open("first"), open.open("second"));
        let id = |text: String| RequestId(RawValue::from_string(text).unwrap());
        assert_eq!(open.close(&id(format!("\"{second}\""))), Some("second"));
        assert_eq!(open.close(&id(second.to_string())), None);
        assert_eq!(open.close(&id("\"first\"".into())), None);
        assert_eq!(open.close(&id("99".into())), None);
        assert_eq!(open.close(&id(first.to_string())), Some("first"));
    }
}

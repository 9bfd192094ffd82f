//! The steps of a script: how they stand in the file, what a variable in them becomes and when a message
//! fits a pattern. Plain data and pure functions; playing them is for `script`.
//!
//! A script is an array of steps, each an object with one of these keys and those after it:
//!
//! - `expect` a method: waits for that request or notification. `params`: what its params have at least.
//!   `as`: the name under which a request's id is kept, else the method. `save`: variables from
//!   JSON pointers into the message, or else into its params. `timeout_ms`: 30 seconds unless told.
//! - `expect_reply` a name: waits for the answer `to` a request that was sent, by its id, and keeps the
//!   result (or the error) under the name. `result`, `error`: what it has at least. `save`, `timeout_ms`.
//! - `reply` a name or method: answers that request with `result` or `error`.
//! - `send` any JSON: a message of one line; `"jsonrpc"` is added where it is missing.
//! - `raw` a text, or `hex` bytes: written as they are. `bytes_each`: in pieces of this size, each
//!   flushed, `pause_ms` apart.
//! - `cue` a file: waits for the next line of it. Meant for a named pipe, whose other end writes a line
//!   when the script may go on.
//! - `delay_ms`, `stderr` a line, `exit` a code, `ignore_term` true, `wait_eof` true.
//! - `run` a command line, by the agent itself: waits until it has ended, which must be well.
//! - `spawn` a command line: a child process that stays; its id is kept under `as`.
//! - `repeat` a number, `steps`: in which `${i}` counts from 0.
//!
//! `"${name}"` alone becomes the kept value; inside a longer string it becomes text.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(30);

/// A request or notification that is waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedCall {
    pub method: String,
    pub params: Option<Value>,
    pub name: String,
    pub save: Save,
    pub patience: Duration,
}

/// An answer that is waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedReply {
    pub to: Value,
    pub name: String,
    pub pattern: Option<Result<Value, Value>>,
    pub save: Save,
    pub patience: Duration,
}

/// One step. Texts in it may name variables still.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Expect(ExpectedCall),
    ExpectReply(ExpectedReply),
    Reply { to: String, outcome: Result<Value, Value> },
    Send(Value),
    Write { bytes: Bytes, each: Option<usize>, pause: Duration },
    Cue(String),
    Delay(Duration),
    Stderr(String),
    Exit(u8),
    IgnoreTerm,
    WaitEof,
    Run(Vec<String>),
    Spawn { command: Vec<String>, name: String },
    Repeat { times: u64, steps: Vec<Step> },
}

/// Variables by name, each with a JSON pointer to its value.
pub type Save = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq)]
pub enum Bytes {
    Text(String),
    Exact(Vec<u8>),
}

/// A step as it stands in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    expect: Option<String>,
    expect_reply: Option<String>,
    reply: Option<String>,
    send: Option<Value>,
    raw: Option<String>,
    hex: Option<String>,
    cue: Option<String>,
    delay_ms: Option<u64>,
    stderr: Option<String>,
    exit: Option<u8>,
    ignore_term: Option<bool>,
    wait_eof: Option<bool>,
    run: Option<Vec<String>>,
    spawn: Option<Vec<String>>,
    repeat: Option<u64>,

    params: Option<Value>,
    #[serde(rename = "as", alias = "name")]
    name: Option<String>,
    save: Save,
    timeout_ms: Option<u64>,
    to: Option<Value>,
    // `null` is a result too.
    #[serde(deserialize_with = "present")]
    result: Option<Value>,
    error: Option<Value>,
    bytes_each: Option<usize>,
    pause_ms: u64,
    steps: Vec<Value>,
}

fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// Reads a whole script; an error names the step.
pub fn parse(text: &str) -> Result<Vec<Step>, String> {
    let steps: Vec<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    parse_all(steps, "")
}

fn parse_all(steps: Vec<Value>, within: &str) -> Result<Vec<Step>, String> {
    let step = |(index, value): (usize, Value)| {
        let place = format!("{within}{}", index + 1);
        let written = serde_json::from_value::<Written>(value).map_err(|error| error.to_string());
        written.and_then(|written| one(written, &place)).map_err(|error| format!("step {place}: {error}"))
    };
    steps.into_iter().enumerate().map(step).collect()
}

fn one(written: Written, place: &str) -> Result<Step, String> {
    let patience = written.timeout_ms.map_or(PATIENCE, Duration::from_millis);
    let outcome = match (written.result, written.error) {
        (Some(_), Some(_)) => return Err("both a result and an error".to_owned()),
        (Some(result), None) => Some(Ok(result)),
        (None, Some(error)) => Some(Err(error)),
        (None, None) => None,
    };
    let mut found = Vec::new();
    if let Some(method) = written.expect {
        let name = written.name.clone().unwrap_or_else(|| method.clone());
        let save = written.save.clone();
        found.push(Step::Expect(ExpectedCall { method, params: written.params, name, save, patience }));
    }
    if let Some(name) = written.expect_reply {
        let to = written.to.unwrap_or_else(|| Value::from(name.as_str()));
        let (pattern, save) = (outcome.clone(), written.save);
        found.push(Step::ExpectReply(ExpectedReply { to, name, pattern, save, patience }));
    }
    if let Some(to) = written.reply {
        let outcome = outcome.ok_or("a reply wants a result or an error")?;
        found.push(Step::Reply { to, outcome });
    }
    found.extend(written.send.map(Step::Send));
    let pause = Duration::from_millis(written.pause_ms);
    let write = |bytes| Step::Write { bytes, each: written.bytes_each.filter(|each| *each > 0), pause };
    found.extend(written.raw.map(Bytes::Text).map(write));
    if let Some(hex) = written.hex {
        found.push(write(Bytes::Exact(unhex(&hex)?)));
    }
    found.extend(written.cue.map(Step::Cue));
    found.extend(written.delay_ms.map(Duration::from_millis).map(Step::Delay));
    found.extend(written.stderr.map(Step::Stderr));
    found.extend(written.exit.map(Step::Exit));
    found.extend(written.ignore_term.map(|_| Step::IgnoreTerm));
    found.extend(written.wait_eof.map(|_| Step::WaitEof));
    found.extend(written.run.map(Step::Run));
    if let Some(command) = written.spawn {
        let name = written.name.unwrap_or_else(|| "spawned".to_owned());
        found.push(Step::Spawn { command, name });
    }
    if let Some(times) = written.repeat {
        found.push(Step::Repeat { times, steps: parse_all(written.steps, &format!("{place}."))? });
    }
    match (found.pop(), found.pop()) {
        (Some(step), None) => Ok(step),
        (None, _) => Err("it says nothing to do".to_owned()),
        (Some(_), Some(_)) => Err("it says more than one thing to do".to_owned()),
    }
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|character| character.to_digit(16).ok_or_else(|| format!("{character:?} is no hex digit")))
        .collect::<Result<_, _>>()?;
    if digits.len() % 2 == 1 {
        return Err("an odd number of hex digits".to_owned());
    }
    Ok(digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("two hex digits")).collect())
}

/// What is kept while a script plays.
#[derive(Debug, Default)]
pub struct Variables(BTreeMap<String, Value>);

impl Variables {
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    pub fn get(&self, name: &str) -> Result<&Value, String> {
        self.0.get(name).ok_or_else(|| format!("nothing is kept under {name:?}"))
    }

    /// The value with every variable in it replaced.
    pub fn fill(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => match text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
                Some(name) if !name.contains('}') => self.get(name)?.clone(),
                _ => Value::String(self.fill_text(text)?),
            },
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?,
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(key, field)| Ok((self.fill_text(key)?, self.fill(field)?)))
                    .collect::<Result<_, String>>()?,
            ),
            other => other.clone(),
        })
    }

    pub fn fill_text(&self, text: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or_else(|| format!("no end of ${{ in {text:?}"))?;
            filled.push_str(before);
            match self.get(name)? {
                Value::String(value) => filled.push_str(value),
                value => filled.push_str(&value.to_string()),
            }
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

/// Whether a value has at least what the pattern has. The first difference is named by its place.
pub fn fits(pattern: &Value, value: &Value) -> Result<(), String> {
    compare(pattern, value, "")
}

fn compare(pattern: &Value, value: &Value, place: &str) -> Result<(), String> {
    match (pattern, value) {
        (Value::Object(wanted), Value::Object(fields)) => wanted.iter().try_for_each(|(key, wanted)| {
            let place = format!("{place}/{key}");
            let field = fields.get(key).ok_or_else(|| format!("{place} is missing"))?;
            compare(wanted, field, &place)
        }),
        (Value::Array(wanted), Value::Array(items)) if wanted.len() == items.len() => wanted
            .iter()
            .zip(items)
            .enumerate()
            .try_for_each(|(index, (wanted, item))| compare(wanted, item, &format!("{place}/{index}"))),
        _ if pattern == value => Ok(()),
        _ => {
            let place = if place.is_empty() { "it" } else { place };
            Err(format!("{place} is {value}, not {pattern}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_names_the_step_within_its_repeat() {
        let error = parse(r#"[{"delay_ms": 1}, {"repeat": 2, "steps": [{"sned": 1}]}]"#).unwrap_err();
        assert!(error.contains("step 2.1") && error.contains("sned"), "{error}");
    }

    #[test]
    fn a_step_says_exactly_one_thing_to_do() {
        assert!(parse(r#"[{"delay_ms": 1, "exit": 0}]"#).unwrap_err().contains("more than one"));
        assert!(parse(r#"[{"save": {}}]"#).unwrap_err().contains("nothing to do"));
    }

    #[test]
    fn a_null_result_is_a_result() {
        let steps = parse(r#"[{"reply": "session/load", "result": null}]"#).expect("a script");
        assert_eq!(steps, [Step::Reply { to: "session/load".to_owned(), outcome: Ok(Value::Null) }]);
    }

    #[test]
    fn a_variable_alone_keeps_its_type_and_inside_text_becomes_text() {
        let mut variables = Variables::default();
        variables.set("id", json!(7));
        let filled = variables.fill(&json!({"id": "${id}", "text": "call ${id}!"}));
        assert_eq!(filled, Ok(json!({"id": 7, "text": "call 7!"})));
        assert!(variables.fill(&json!("${other}")).unwrap_err().contains("other"));
    }

    #[test]
    fn a_pattern_fits_what_has_more_and_names_the_first_difference() {
        let value = json!({"a": {"b": [1, {"c": 2, "d": 3}]}, "e": null});
        assert_eq!(fits(&json!({"a": {"b": [1, {"c": 2}]}}), &value), Ok(()));
        assert_eq!(fits(&json!({"a": {"b": [1, {"c": 4}]}}), &value), Err("/a/b/1/c is 2, not 4".to_owned()));
        assert_eq!(fits(&json!({"x": null}), &value), Err("/x is missing".to_owned()));
    }

    #[test]
    fn hex_is_bytes() {
        assert_eq!(unhex("ff 0A"), Ok(vec![0xff, 0x0a]));
        assert!(unhex("f").is_err());
    }
}

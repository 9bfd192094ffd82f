//! Recorded messages with fields that nobody knows, and with values of another type: nothing panics,
//! what is whole gets through, and each request has one answer.

use std::path::Path;

use acp_nvim::acp::Settings;
use acp_nvim::acp::wire::from_acp::{self, AgentRequest, Fact};
use acp_nvim::core::message::*;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::support::*;

/// What agents said in the recordings, apart from answers.
fn said() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|file| file.path()).collect();
    files.sort();
    let mut said = Vec::new();
    let texts = files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    // What an agent says in the second version is converted before it is read, see `acp::wire::v2`.
    for text in texts.filter(|text| !text.contains("\"protocolVersion\": 2")) {
        for record in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let (from_agent, message) = (record["dir"] == "agent->client", &record["msg"]);
            if let (true, Some(method)) = (from_agent, message["method"].as_str()) {
                said.push((method.to_owned(), message["params"].clone()));
            }
        }
    }
    assert!(said.len() > 50);
    said
}

/// What to do where, from one drawn number (splitmix).
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 40) as u8
    }
}

/// A number is all that is drawn: there is nothing to make smaller, and the message shows it.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() }
}

fn dice() -> impl Strategy<Value = Dice> {
    any::<u64>().prop_map(Dice)
}

fn odd_value(roll: u8) -> Value {
    match roll % 12 {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(1.5),
        4 => json!(u64::MAX),
        5 => json!(""),
        6 => json!("\u{1F600} \u{0}\n"),
        7 => json!([]),
        8 => json!({}),
        9 => json!([{}, null, "x", [1]]),
        10 => json!({"type": "future", "kind": 7}),
        _ => json!("future"),
    }
}

/// Fields whose insides are anybody's, so that one more is a difference.
const FREE: [&str; 4] = ["rawInput", "rawOutput", "requestedSchema", "_meta"];

/// Adds a field that nobody knows to every object, with a value of any type.
fn widen(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| widen(item, dice)),
        Value::Object(fields) => {
            let known = fields.iter_mut().filter(|(name, _)| !FREE.contains(&name.as_str()));
            known.for_each(|(_, inner)| widen(inner, dice));
            let before = std::mem::take(fields);
            let (first, last) = (dice.roll(), dice.roll());
            *fields = Map::from_iter([("zzFuture".to_owned(), odd_value(first))]);
            fields.extend(before);
            fields.insert("_future/x".to_owned(), odd_value(last));
        }
        _ => {}
    }
}

/// Replaces values here and there, but not at the places named by `spared`.
fn twist(value: &mut Value, path: &mut Vec<String>, spared: &[&[&str]], dice: &mut Dice) {
    // With what they are in, and what is in them.
    let is_spared = |path: &[String]| {
        spared.iter().any(|spared| path.iter().zip(*spared).all(|(have, spared)| have == spared))
    };
    let keys: Vec<String> = match value {
        Value::Object(fields) => fields.keys().cloned().collect(),
        Value::Array(items) => (0..items.len()).map(|at| at.to_string()).collect(),
        _ => return,
    };
    for key in keys {
        let inner = match value {
            Value::Object(fields) => &mut fields[&key],
            Value::Array(items) => &mut items[key.parse::<usize>().unwrap()],
            _ => return,
        };
        path.push(key);
        let roll = dice.roll();
        if roll.is_multiple_of(4) && !is_spared(path) {
            *inner = odd_value(roll / 4);
        } else {
            twist(inner, path, spared, dice);
        }
        path.pop();
    }
}

/// What must come of an update however the rest of it looks.
fn essence(update: &Value) -> Option<(&'static [&'static [&'static str]], String)> {
    let text = update["content"]["text"].as_str().unwrap_or_default();
    let id = update["toolCallId"].as_str().unwrap_or_default();
    Some(match update["sessionUpdate"].as_str()? {
        "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk"
            if update["content"]["type"] == "text" =>
        {
            (&[&["sessionUpdate"], &["content", "type"], &["content", "text"]], format!("Text({text:?})"))
        }
        "tool_call" | "tool_call_update" => {
            (&[&["sessionUpdate"], &["toolCallId"], &["_meta"]], format!("{id:?}"))
        }
        _ => return None,
    })
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn a_field_that_nobody_knows_changes_nothing(mut dice in dice()) {
        for (method, params) in said() {
            let mut wide = params.clone();
            widen(&mut wide, &mut dice);
            if method == "session/update" {
                let read = from_acp::update(&params["update"]);
                prop_assert_eq!(format!("{read:?}"), format!("{:?}", from_acp::update(&wide["update"])));
            } else {
                let read = from_acp::request(&method, &params);
                prop_assert_eq!(format!("{read:?}"), format!("{:?}", from_acp::request(&method, &wide)));
            }
        }
    }

    #[test]
    fn a_value_of_another_type_costs_no_more_than_itself(mut dice in dice()) {
        for (method, params) in said() {
            if method != "session/update" {
                let mut odd = params.clone();
                twist(&mut odd, &mut Vec::new(), &[], &mut dice);
                // It is served or refused; either is an answer.
                let _ = from_acp::request(&method, &odd);
                let mut odd = params.clone();
                let spared: &[&[&str]] = &[&["sessionId"], &["toolCall", "toolCallId"], &["options"]];
                twist(&mut odd, &mut Vec::new(), spared, &mut dice);
                if method == "session/request_permission" && odd["options"].is_array() {
                    let read = from_acp::request(&method, &odd);
                    let asked = matches!(&read, Ok(AgentRequest::Permission { .. }));
                    prop_assert!(asked, "{read:?} of {odd}");
                }
                continue;
            }
            let Some((spared, kept)) = essence(&params["update"]) else { continue };
            let mut odd = params["update"].clone();
            twist(&mut odd, &mut Vec::new(), spared, &mut dice);
            let facts = from_acp::update(&odd);
            let has = |fact: &Fact| format!("{fact:?}").contains(&kept);
            prop_assert!(facts.iter().any(has), "{kept} is not in {facts:?}, of {odd}");
        }
    }
}

proptest! {
    // Each case is a process.
    #![proptest_config(config(12))]

    #[test]
    fn whatever_a_recording_is_turned_into_each_request_has_one_answer(mut dice in dice()) {
        // What is turned into something else is not run as a command.
        let mut test = Test::with(Settings { can_run: false, ..Settings::default() });
        let mut steps = vec![expect("session/prompt")];
        let mut requests = Vec::new();
        for (number, (method, mut params)) in (1000_i64..).zip(said()) {
            params["sessionId"] = "s1".into();
            widen(&mut params, &mut dice);
            twist(&mut params, &mut Vec::new(), &[], &mut dice);
            if method == "session/update" || method.starts_with('$') {
                steps.push(notify(&method, &params));
            } else {
                requests.push(number);
                steps.push(request(number, &method, &params));
            }
        }
        steps.push(update(&chunk("the end")));
        // Files are served in order, so this is answered last.
        let last = json!({"sessionId": "s1", "path": test.path("missing.txt")});
        steps.extend([request(1, "fs/read_text_file", &last), json!({"answer": 1}), end_turn()]);
        test.open(&steps);
        test.prompt("x");
        test.stop_reason();
        let end = |update: &Update| text(update).is_some_and(|text| text.ends_with("the end"));
        prop_assert!(test.updates().iter().any(end));
        let received = test.finish();
        prop_assert!(!requests.is_empty());
        for id in requests {
            let asked = steps.iter().find(|step| step["send"]["id"] == id);
            prop_assert_eq!(received.answers(&json!(id)).len(), 1, "{:?}", asked);
        }
    }
}

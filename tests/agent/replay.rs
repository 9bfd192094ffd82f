//! Recorded sessions of real agents: every message in them must be understood, and each can be lived
//! again with the background in the place of the client that recorded it. More of them than the
//! project has are taken from the folder that `ACP_RECORDINGS` names.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use acp_nvim::acp::wire::from_acp::{self, Fact};
use acp_nvim::core::ids::*;
use acp_nvim::core::inspector::table::{NOTIFICATIONS, UPDATES};
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

fn recordings() -> Vec<PathBuf> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folders = [Some(ours), std::env::var_os("ACP_RECORDINGS").map(PathBuf::from)];
    let files = folders.into_iter().flatten().flat_map(|folder| std::fs::read_dir(folder).unwrap().flatten());
    let mut files: Vec<_> = files.map(|file| file.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    // The second version is turned into the first before any of this reads it, see `acp::wire::v2`.
    files.retain(|path| {
        let asked = messages(path).into_iter().find(|(_, message)| message["method"] == "initialize");
        asked.is_none_or(|(_, message)| message["params"]["protocolVersion"] != 2)
    });
    files.sort();
    assert!(files.len() >= 6);
    files
}

/// The messages of one recording, each with whether it came from the agent. Some recordings go on
/// with a second process; that part is left out.
fn messages(path: &Path) -> Vec<(bool, Value)> {
    let text = std::fs::read_to_string(path).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let first = records.take_while(|record| record["note"] != "a second agent process");
    first
        .filter(|record| record.get("msg").is_some())
        .map(|record| (record["dir"] == "agent->client", record["msg"].clone()))
        .collect()
}

#[test]
fn every_message_of_the_recordings_is_understood() {
    let mut kinds = BTreeSet::new();
    for path in recordings() {
        let mut ours = HashMap::new();
        for (from_agent, message) in messages(&path) {
            let (method, id) = (message["method"].as_str(), message.get("id"));
            match (from_agent, method, id) {
                (false, Some(method), Some(id)) => {
                    ours.insert(id.to_string(), method.to_owned());
                }
                (false, ..) => {}
                (true, Some(method), Some(_)) => {
                    let request = from_acp::request(method, &message["params"]);
                    let request = request.unwrap_or_else(|error| panic!("{error:?}: {message}"));
                    explained(&format!("{request:?}"), &message);
                    kinds.insert(method.to_owned());
                }
                (true, Some("session/update"), None) => {
                    assert!(from_acp::session_of(&message["params"]).is_some(), "{message}");
                    for fact in from_acp::update(&message["params"]["update"]) {
                        explained(&format!("{fact:?}"), &message);
                        if let Fact::Update(update) = fact {
                            kinds.insert(
                                format!("{update:?}").split(['(', ' ', '{']).next().unwrap().to_owned(),
                            );
                        }
                    }
                }
                (true, Some("$/cancel_request"), None) => {
                    assert!(from_acp::cancelled_request(&message["params"]).is_some(), "{message}");
                }
                (true, Some(method), None) => assert!(method.starts_with('_'), "{message}"),
                (true, None, Some(id)) if message.get("error").is_none() => {
                    answer(&ours[&id.to_string()], &message["result"])
                }
                (true, None, _) => assert!(message["error"]["message"].is_string(), "{message}"),
            }
        }
    }
    for kind in [
        "session/request_permission",
        "fs/read_text_file",
        "fs/write_text_file",
        "Message",
        "ToolCall",
        "Plan",
        "Commands",
    ] {
        assert!(kinds.contains(kind), "{kind} is in none of them; there are {kinds:?}");
    }
}

/// Nothing in it fell back to what stands for the unknown.
fn explained(read: &str, message: &Value) {
    for fallback in ["Unknown {", "Other(\""] {
        assert!(!read.contains(fallback), "{read}\n{message}");
    }
}

fn answer(method: &str, result: &Value) {
    match method {
        "initialize" => {
            let info = from_acp::connected(result).unwrap();
            let name = &result["agentInfo"]["name"];
            assert_eq!(info.name.as_deref(), name.as_str(), "{result}");
        }
        "session/new" => {
            let opened = from_acp::created(result).unwrap();
            for key in ["modes", "models", "configOptions"] {
                let read = match key {
                    "modes" => opened.modes.is_some(),
                    "models" => opened.models.is_some(),
                    _ => {
                        opened.options.len() == result[key].as_array().map_or(0, Vec::len)
                            && !opened.options.is_empty()
                    }
                };
                assert_eq!(read, result.get(key).is_some_and(|value| !value.is_null()), "{key} of {result}");
            }
        }
        "session/prompt" => {
            let TurnEnd::Stopped { reason, usage } = from_acp::turn_end(result) else { panic!("{result}") };
            assert!(!matches!(reason, StopReason::Other(_)), "{result}");
            let told = result["usage"].is_object() || result["_meta"]["quota"].is_object();
            assert_eq!(usage.is_some(), told, "{result}");
        }
        "session/set_config_option" => assert!(from_acp::changed_options(result).is_some(), "{result}"),
        "session/list" => {
            assert_eq!(from_acp::listed(result).0.len(), result["sessions"].as_array().unwrap().len())
        }
        _ => {}
    }
}

#[test]
fn the_inspector_knows_each_update_of_the_recordings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let files = std::fs::read_dir(folder).unwrap().flatten().map(|file| file.path());
    let mut kinds = BTreeSet::new();
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")) {
        for (_, message) in messages(&path) {
            kinds.extend(message["params"]["update"]["sessionUpdate"].as_str().map(str::to_owned));
        }
    }
    let unknown: Vec<&String> = kinds.iter().filter(|kind| !UPDATES.contains(&kind.as_str())).collect();
    assert!(unknown.is_empty() && kinds.contains("plan_update"), "{unknown:?} of {kinds:?}");
}

#[test]
fn the_inspector_knows_what_agents_tell_by_the_protocol() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/schema/schema.unstable.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let kinds = schema["$defs"]["SessionUpdate"]["oneOf"].as_array().unwrap().iter();
    let kinds = kinds.filter_map(|update| update["properties"]["sessionUpdate"]["const"].as_str());
    let told = schema["$defs"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, definition)| name.ends_with("Notification") && definition["x-side"] == "client");
    let methods = told.filter_map(|(_, definition)| definition["x-method"].as_str());
    let all: BTreeSet<(bool, &str)> =
        kinds.map(|kind| (true, kind)).chain(methods.map(|method| (false, method))).collect();
    let is_known = |(is_update, name): &(bool, &str)| match is_update {
        true => UPDATES.contains(name),
        false => NOTIFICATIONS.contains(name),
    };
    let unknown: Vec<_> = all.iter().filter(|one| !is_known(one)).collect();
    assert!(unknown.is_empty() && all.len() > 15, "{unknown:?}");
}

#[test]
fn the_recordings_can_be_lived_again() {
    for path in recordings() {
        println!("{}", path.display());
        live_again(&messages(&path));
    }
}

/// What the recording client sent that this one never would: to an agent that does not offer it, or
/// for a session that there is not.
fn foreign(message: &Value, can: Capabilities, sessions: &BTreeSet<&str>) -> bool {
    let session = message["params"]["sessionId"].as_str();
    let known = session.is_none_or(|session| sessions.contains(session));
    match message["method"].as_str() {
        None | Some("initialize") => false,
        Some("session/load") => !can.load,
        Some("session/list") => !can.list,
        Some("session/delete") => !can.delete,
        Some("session/close") => !can.close || !known,
        Some("session/resume" | "session/no_such_method") => true,
        Some(method) => method.starts_with('_') || !known,
    }
}

#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn live_again(messages: &[(bool, Value)]) {
    let result = |key: &'static str| {
        messages
            .iter()
            .filter(move |(from_agent, message)| *from_agent && message["result"].get(key).is_some())
            .map(|(_, message)| &message["result"])
    };
    let can = from_acp::connected(result("protocolVersion").next().unwrap()).unwrap().can;
    let sessions: BTreeSet<&str> =
        result("sessionId").map(|result| result["sessionId"].as_str().unwrap()).collect();
    let messages = without_idle_cancels(messages);
    let left_out: BTreeSet<String> = messages
        .iter()
        .filter(|(from_agent, message)| {
            !from_agent && message.get("id").is_some() && foreign(message, can, &sessions)
        })
        .map(|(_, message)| message["id"].to_string())
        .collect();
    let messages: Vec<&(bool, Value)> = messages
        .iter()
        .filter(|(from_agent, message)| {
            let answered = message.get("method").is_none()
                && message.get("id").is_some_and(|id| left_out.contains(&id.to_string()));
            !(if *from_agent { answered } else { foreign(message, can, &sessions) })
        })
        .collect();

    let mut test = Test::new();
    let project = test.project();
    let mut steps = Vec::new();
    for (from_agent, message) in &messages {
        steps.push(match (from_agent, message["method"].as_str(), message.get("id")) {
            (true, None, Some(id)) => {
                let mut message = message.clone();
                message["id"] = json!(format!("$own{id}"));
                json!({ "send": message })
            }
            (true, ..) => json!({ "send": message }),
            (false, Some(method), Some(id)) => json!({"expect": method, "as": format!("own{id}")}),
            (false, Some(method), None) => json!({ "expect": method }),
            (false, None, id) => json!({ "answer": id }),
        });
    }
    steps.push(json!({"exit": 0}));
    let steps = serde_json::to_string(&steps).unwrap().replace("/project", project.to_str().unwrap());
    test.start(&serde_json::from_str::<Vec<Value>>(&steps).unwrap());

    let mut keys: HashMap<String, SessionKey> = HashMap::new();
    let mut calls: HashMap<String, &str> = HashMap::new();
    let mut asks = HashMap::new();
    for (from_agent, message) in &messages {
        let (method, id) = (message["method"].as_str(), message.get("id").map(Value::to_string));
        let params = &message["params"];
        match (from_agent, method, id) {
            (false, Some(method), id) => {
                let key = params["sessionId"].as_str().and_then(|acp_id| keys.get(acp_id).copied());
                command(&test, method, params, key, keys.len());
                if let Some(id) = id {
                    calls.insert(id, method);
                }
            }
            (true, Some("session/request_permission" | "elicitation/create"), Some(id)) => {
                asks.insert(id, test.question().0);
            }
            (false, None, Some(id)) => {
                if let Some(ask) = asks.remove(&id) {
                    let outcome = &message["result"]["outcome"];
                    let answer = match (outcome["optionId"].as_str(), message["result"]["action"].as_str()) {
                        (Some(option), _) => Answer::Selected(option.into()),
                        (_, Some("accept")) => Answer::Accepted(message["result"]["content"].clone()),
                        _ => Answer::Cancelled,
                    };
                    test.answer(ask, answer);
                }
            }
            (true, None, Some(id)) => {
                if let Some(acp_id) = answered(&mut test, calls[&id], message) {
                    keys.insert(acp_id, SessionKey(u32::try_from(keys.len()).unwrap() + 1));
                }
            }
            _ => {}
        }
    }
    let ending = test.exited();
    assert_eq!((ending.failure, ending.exit.unwrap().code), (None, Some(0)), "{:?}", ending.stderr);
    let closed = messages.iter().any(|(_, message)| message["method"] == "session/close");
    let updates = messages.iter().filter(|(_, message)| message["method"] == "session/update").count();
    assert!(closed || updates == 0 || !test.updates().is_empty());
    test.received();
}

/// A turn that is over is not cancelled; the recording client was not always in time.
fn without_idle_cancels(messages: &[(bool, Value)]) -> Vec<(bool, Value)> {
    let mut prompts = BTreeSet::new();
    let mut kept = messages.to_vec();
    kept.retain(|(from_agent, message)| {
        let id = message["id"].to_string();
        match (from_agent, message["method"].as_str()) {
            (false, Some("session/prompt")) => drop(prompts.insert(id)),
            (true, None) => drop(prompts.remove(&id)),
            (false, Some("session/cancel")) => return !prompts.is_empty(),
            _ => {}
        }
        true
    });
    kept
}

/// The wish that made the recording client send this.
fn command(test: &Test, method: &str, params: &Value, key: Option<SessionKey>, sessions: usize) {
    let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
    let session = key.unwrap_or(SessionKey(u32::try_from(sessions).unwrap() + 1));
    test.send(match method {
        "initialize" => return,
        "session/new" => test.open_command(session),
        "session/load" => Command::Load {
            agent: AGENT,
            session: SessionKey(100),
            place: test.place(),
            acp_id: text("sessionId"),
            how: acp_nvim::core::message::Reopen::Load,
        },
        "session/fork" => Command::Load {
            agent: AGENT,
            session: SessionKey(u32::try_from(sessions).unwrap() + 1),
            place: test.place(),
            acp_id: text("sessionId"),
            how: acp_nvim::core::message::Reopen::Fork,
        },
        "session/prompt" => Command::Prompt { session, content: vec![Content::Text("go".into())] },
        "session/cancel" => Command::Cancel { session },
        "session/close" => Command::Close { session },
        "session/delete" => Command::Delete { agent: AGENT, acp_id: text("sessionId") },
        "session/list" => Command::List { agent: AGENT, cwd: None, cursor: None, archived: false },
        "session/set_mode" => Command::SetMode { session, mode: text("modeId") },
        "session/set_model" => Command::SetModel { session, model: text("modelId") },
        "session/set_config_option" => {
            let value = match &params["value"] {
                Value::Bool(on) => OptionValue::Toggle(*on),
                value => OptionValue::Value(value.as_str().unwrap().into()),
            };
            Command::SetOption { session, option: text("configId"), value }
        }
        other => panic!("no command for {other}"),
    });
}

/// Waits for the event that the answer becomes; gives the name of a new session.
fn answered(test: &mut Test, method: &str, message: &Value) -> Option<String> {
    let failed = message.get("error").is_some();
    match method {
        "initialize" => {
            test.wait("Connected", |event| matches!(event, Event::Connected { .. }).then_some(()))
        }
        "session/new" | "session/load" | "session/fork" if failed => drop(test.open_failed()),
        "session/new" | "session/fork" => return Some(test.opened().acp_id),
        "session/load" => drop(test.opened()),
        "session/prompt" => drop(test.turn_end()),
        "session/close" | "session/delete" if !failed => {}
        _ if failed => drop(test.failed()),
        "session/list" => test.wait("Listed", |event| matches!(event, Event::Listed { .. }).then_some(())),
        _ => test.wait("Chosen", |event| matches!(event, Event::Chosen { .. }).then_some(())),
    }
    None
}

//! A recording played into a chat: what the agent said is said again, what the user said stands in the transcript, and
//! what was asked is shown until the moment at which it was answered. Nothing is asked of anybody: files, commands and
//! terminals of the recording stay where they were. Values in, values out; when to play the next line is for others.

pub mod lines;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::lines::{Line, Said};

/// What the sessions of recordings are called instead of an agent's name; no agent can be.
pub const NAME: &str = "(replay)";

/// The kinds of the updates that no agent sends: [`crate::core::message::Replayed`].
pub const TURN_ENDED: &str = "_replayed_turn_ended";
pub const OVER: &str = "_replay_over";

/// Where one agent process ends and the next begins, within one file.
const NEXT_PROCESS: &str = "a second agent process";

/// A pause in which the recorded user did something is no longer than this, in seconds.
const LONGEST_THOUGHT: f64 = 2.0;

/// A recording to be played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// Absolute.
    pub path: PathBuf,
    pub pace: Pace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pace {
    /// So many percent of the recorded speed.
    Percent(u32),
    AtOnce,
    /// Each message when the user wants it.
    Step,
}

/// A replay that a chat shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaying {
    pub pace: Pace,
    pub is_over: bool,
}

impl Replaying {
    /// What the chat's bar says of it.
    pub fn state(&self) -> &'static str {
        match self.pace {
            _ if self.is_over => "played to its end",
            Pace::Step => "by steps",
            Pace::Percent(_) | Pace::AtOnce => "playing",
        }
    }
}

impl Pace {
    /// As it is typed: `2` is twice as fast, `0.5` half, `max` waits nowhere, `step` waits for a key.
    pub fn read(word: &str) -> Option<Self> {
        match word {
            "max" => Some(Self::AtOnce),
            "step" => Some(Self::Step),
            word => {
                let factor: f64 = word.strip_suffix('x').unwrap_or(word).parse().ok()?;
                (0.01..=10_000.0).contains(&factor).then(|| Self::Percent((factor * 100.0).round() as u32))
            }
        }
    }
}

/// What is still to be played.
#[derive(Debug)]
pub struct Player {
    lines: VecDeque<Line>,
    /// The time of the line that was played last.
    at: f64,
    initialized: Value,
    opened: Value,
    session: String,
    cwd: Option<String>,
    /// Other sessions of the recording, which are not shown.
    others: BTreeSet<String>,
    /// The recorded questions that are shown, with what their options are called.
    asked: HashMap<String, Vec<(String, String)>>,
    /// The recorded prompts that are not answered yet, with when they were sent.
    prompts: HashMap<String, f64>,
    /// Since when the recorded user has been asked something, and for how long before that in this turn, in seconds.
    asked_since: Option<f64>,
    was_asked: f64,
}

impl Player {
    /// Takes the lines of a recording in the first version of the protocol, or says what is wrong with it.
    pub fn of(mut lines: Vec<Line>) -> Result<Self, String> {
        // What a second process said again is the same once more.
        let end = lines.iter().position(|line| line.said == Said::Note(NEXT_PROCESS.into()));
        lines.truncate(end.unwrap_or(lines.len()));
        let answer = |id: &Value| {
            lines.iter().find_map(|line| match &line.said {
                Said::ByAgent(message) if message.get("method").is_none() && message["id"] == *id => {
                    Some(message["result"].clone())
                }
                _ => None,
            })
        };
        let request = |method: &str| {
            lines.iter().find_map(|line| match &line.said {
                Said::ByClient(message) if message["method"] == method => Some(message),
                _ => None,
            })
        };
        let initialized = request("initialize").and_then(|message| answer(&message["id"]));
        let initialized = initialized.unwrap_or_else(|| json!({ "protocolVersion": 1 }));
        if initialized["protocolVersion"] != 1 || initialized.get("capabilities").is_some() {
            return Err("its agent speaks a version of the protocol that can't be played".into());
        }
        let new = request("session/new");
        let opened = new.and_then(|message| answer(&message["id"])).unwrap_or_else(|| json!({}));
        let loaded = request("session/load").or_else(|| request("session/resume"));
        let loaded = loaded.map(|message| message["params"]["sessionId"].clone());
        let named = lines.iter().find_map(|line| match &line.said {
            Said::ByAgent(message) => message["params"]["sessionId"].as_str().map(str::to_owned),
            _ => None,
        });
        let session = opened["sessionId"].as_str().or(loaded.as_ref().and_then(Value::as_str));
        let Some(session) = session.map(str::to_owned).or(named) else {
            return Err("there is no session in it".into());
        };
        let others = others(&lines, &session);
        let cwd = lines.iter().find_map(|line| match &line.said {
            Said::ByClient(message) => message["params"]["cwd"].as_str().map(str::to_owned),
            _ => None,
        });
        Ok(Self {
            at: lines.first().map_or(0.0, |line| line.at),
            lines: lines.into(),
            initialized,
            opened,
            session,
            cwd,
            others,
            asked: HashMap::new(),
            prompts: HashMap::new(),
            asked_since: None,
            was_asked: 0.0,
        })
    }

    /// The folder in which the recorded session worked.
    pub fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// What the client is answered to a request of its own.
    pub fn answer(&self, request: &Value) -> Value {
        let outcome = match request["method"].as_str().unwrap_or_default() {
            "initialize" => Ok(self.introduction()),
            "session/new" => {
                let mut opened = self.opened.clone();
                opened["sessionId"] = self.session.as_str().into();
                Ok(opened)
            }
            "session/close" => Ok(json!({})),
            _ => Err(
                json!({ "code": -32600, "message": "this is a recording, which answers nobody; :Acp close ends it" }),
            ),
        };
        match outcome {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }),
        }
    }

    fn introduction(&self) -> Value {
        let mut initialized = self.initialized.clone();
        let info = &initialized["agentInfo"];
        let name = info["title"].as_str().or(info["name"].as_str()).unwrap_or("an agent").to_owned();
        if !info.is_object() {
            initialized["agentInfo"] = json!({ "name": "agent", "version": "" });
        }
        initialized["agentInfo"]["title"] = format!("Recording of {name}").into();
        // Nobody has to log in to a recording.
        initialized["authMethods"] = json!([]);
        initialized
    }

    /// How long after the line before the next one comes, in seconds; nothing where there is none.
    pub fn wait(&self) -> Option<f64> {
        let line = self.lines.front()?;
        let gap = (line.at - self.at).max(0.0);
        Some(match line.said {
            Said::ByClient(_) => gap.min(LONGEST_THOUGHT),
            _ => gap,
        })
    }

    /// Plays lines up to the next one that shows something: what the client is told by it. At the end, that it is over;
    /// after that nothing.
    pub fn step(&mut self) -> Vec<Value> {
        while let Some(line) = self.lines.pop_front() {
            self.at = line.at;
            let messages = match line.said {
                Said::ByAgent(message) => self.by_agent(message),
                Said::ByClient(message) => self.by_client(&message),
                Said::Noise(_) | Said::Stderr(_) | Said::Note(_) => Vec::new(),
            };
            if !messages.is_empty() {
                return messages;
            }
            if self.wait().is_some_and(|wait| wait > 0.0) {
                return Vec::new();
            }
        }
        Vec::new()
    }

    /// Whether all was played.
    pub fn is_over(&self) -> bool {
        self.lines.is_empty()
    }

    /// The last line of a replay.
    pub fn last_word(&self) -> Value {
        self.update(json!({ "sessionUpdate": OVER }))
    }

    fn by_agent(&mut self, message: Value) -> Vec<Value> {
        if message["params"]["sessionId"].as_str().is_some_and(|session| self.others.contains(session)) {
            return Vec::new();
        }
        let id = message.get("id").map(Value::to_string);
        match (message["method"].as_str(), id) {
            (Some("session/update" | "elicitation/complete"), None) => vec![message],
            (Some("session/request_permission" | "elicitation/create"), Some(id)) => {
                let options = message["params"]["options"].as_array().into_iter().flatten();
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let options =
                    options.map(|option| (text(&option["optionId"]), text(&option["name"]))).collect();
                self.asked.insert(id, options);
                self.asked_since.get_or_insert(self.at);
                vec![message]
            }
            (Some("$/cancel_request"), None) => {
                let asked = self.no_longer_asked(&message["params"]["requestId"]);
                asked.map(|_| message).into_iter().collect()
            }
            (None, Some(id)) => match self.prompts.remove(&id) {
                Some(since) => vec![self.turn_ended(&message, since)],
                None => Vec::new(),
            },
            // Files, commands and terminals are not this machine's.
            _ => Vec::new(),
        }
    }

    /// A recorded question is over; gives what its options are called.
    fn no_longer_asked(&mut self, id: &Value) -> Option<Vec<(String, String)>> {
        let options = self.asked.remove(&id.to_string())?;
        if self.asked.is_empty() {
            self.was_asked += self.asked_since.take().map_or(0.0, |since| self.at - since);
        }
        Some(options)
    }

    fn turn_ended(&mut self, answer: &Value, since: f64) -> Value {
        let asked = self.was_asked + self.asked_since.map_or(0.0, |since| self.at - since);
        self.was_asked = 0.0;
        self.asked_since = self.asked_since.map(|_| self.at);
        let took = Duration::try_from_secs_f64(self.at - since - asked).unwrap_or_default();
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let (result, error) = (&answer["result"], &answer["error"]);
        self.update(json!({ "sessionUpdate": TURN_ENDED, "took": took, "result": result, "error": error }))
    }

    fn by_client(&mut self, message: &Value) -> Vec<Value> {
        let id = message.get("id").map(Value::to_string);
        let is_ours = message["params"]["sessionId"] == self.session.as_str();
        match (message["method"].as_str(), id) {
            (Some("session/prompt"), Some(id)) if is_ours => {
                self.prompts.insert(id, self.at);
                let blocks = message["params"]["prompt"].as_array().into_iter().flatten();
                blocks
                    .map(|block| {
                        self.update(json!({ "sessionUpdate": "user_message_chunk", "content": block }))
                    })
                    .collect()
            }
            (Some("session/cancel"), None) if is_ours && !self.prompts.is_empty() => {
                vec![self.notice("info", "The turn was stopped here.")]
            }
            (None, Some(_)) => match self.no_longer_asked(&message["id"]) {
                Some(options) => vec![self.taken_back(&message["id"]), self.answered(message, &options)],
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The question goes from the screen.
    fn taken_back(&self, id: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": id } })
    }

    fn answered(&self, answer: &Value, options: &[(String, String)]) -> Value {
        let outcome = &answer["result"]["outcome"];
        let chosen = options.iter().find(|(id, _)| outcome["optionId"] == id.as_str());
        let said = match (chosen, outcome["outcome"].as_str(), answer["result"]["action"].as_str()) {
            (Some((_, name)), ..) => name.clone(),
            (None, Some(outcome), _) => outcome.to_owned(),
            (None, None, Some(action)) => action.to_owned(),
            (None, None, None) => "an error".to_owned(),
        };
        self.notice("info", &format!("The recorded answer: {said}"))
    }

    fn notice(&self, severity: &str, title: &str) -> Value {
        self.update(json!({ "sessionUpdate": "notice", "severity": severity, "title": title }))
    }

    fn update(&self, update: Value) -> Value {
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": self.session, "update": update } })
    }
}

/// The sessions that were opened beside the one that is shown.
fn others(lines: &[Line], session: &str) -> BTreeSet<String> {
    let mut asked = BTreeSet::new();
    let mut others = BTreeSet::new();
    for line in lines {
        match &line.said {
            Said::ByClient(message) if message["method"] == "session/new" => {
                asked.insert(message["id"].to_string());
            }
            Said::ByClient(message) if message["method"] == "session/load" => {
                others.extend(message["params"]["sessionId"].as_str().map(str::to_owned));
            }
            Said::ByAgent(message)
                if message.get("method").is_none() && asked.contains(&message["id"].to_string()) =>
            {
                others.extend(message["result"]["sessionId"].as_str().map(str::to_owned));
            }
            _ => {}
        }
    }
    others.remove(session);
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::replay::lines::parse;

    fn read(text: &str) -> Result<Player, String> {
        Player::of(parse(text)?)
    }

    fn line(at: f64, dir: &str, msg: &Value) -> String {
        json!({ "t": at, "dir": dir, "msg": msg }).to_string()
    }

    const OUT: &str = "client->agent";
    const IN: &str = "agent->client";

    fn recording() -> String {
        let chunk =
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "Hi" } });
        let lines = [
            line(0.0, OUT, &json!({ "id": 1, "method": "initialize", "params": {} })),
            line(
                0.1,
                IN,
                &json!({ "id": 1, "result": { "protocolVersion": 1, "agentInfo": { "name": "fake" }, "authMethods": [{}] } }),
            ),
            line(0.1, OUT, &json!({ "id": 2, "method": "session/new", "params": { "cwd": "/project" } })),
            line(0.2, IN, &json!({ "id": 2, "result": { "sessionId": "s" } })),
            line(
                60.0,
                OUT,
                &json!({ "id": 3, "method": "session/prompt", "params": { "sessionId": "s", "prompt": [{ "type": "text", "text": "go" }] } }),
            ),
            line(
                61.0,
                IN,
                &json!({ "method": "session/update", "params": { "sessionId": "s", "update": chunk } }),
            ),
            line(
                61.5,
                IN,
                &json!({ "id": 0, "method": "fs/write_text_file", "params": { "sessionId": "s", "path": "/project/a", "content": "" } }),
            ),
            line(61.6, OUT, &json!({ "id": 0, "result": {} })),
            line(
                62.0,
                IN,
                &json!({ "id": 1, "method": "session/request_permission", "params": { "sessionId": "s", "toolCall": {},
                "options": [{ "optionId": "y", "name": "Allow" }] } }),
            ),
            line(
                65.0,
                OUT,
                &json!({ "id": 1, "result": { "outcome": { "outcome": "selected", "optionId": "y" } } }),
            ),
            line(66.0, IN, &json!({ "id": 3, "result": { "stopReason": "max_tokens" } })),
        ];
        lines.join("\n")
    }

    fn played(player: &mut Player) -> Vec<String> {
        let mut all = Vec::new();
        while !player.is_over() {
            all.extend(player.step().into_iter().map(|message| {
                let update = &message["params"]["update"];
                let ended = update["result"]["stopReason"].as_str();
                let ended = ended.map(|reason| format!("{reason} after {} ms", update["took"]));
                let text =
                    update["title"].as_str().or(update["content"]["text"].as_str()).or(ended.as_deref());
                format!("{} {}", message["method"].as_str().unwrap_or_default(), text.unwrap_or_default())
            }));
        }
        all
    }

    #[test]
    fn what_was_said_is_played_and_nothing_is_asked_of_this_machine() {
        let mut player = read(&recording()).expect("a recording");
        assert_eq!(player.cwd(), Some("/project"));
        assert_eq!(
            played(&mut player),
            [
                "session/update go",
                "session/update Hi",
                "session/request_permission ",
                "$/cancel_request ",
                "session/update The recorded answer: Allow",
                "session/update max_tokens after 3000 ms",
            ]
        );
    }

    #[test]
    fn the_client_gets_the_recorded_answers_to_what_opens_the_session_and_no_others() {
        let player = read(&recording()).expect("a recording");
        let answer = |method: &str| player.answer(&json!({ "id": 9, "method": method }));
        let initialized = answer("initialize");
        assert_eq!(
            (&initialized["id"], &initialized["result"]["agentInfo"]["title"]),
            (&json!(9), &json!("Recording of fake"))
        );
        assert_eq!(initialized["result"]["authMethods"], json!([]));
        assert_eq!(answer("session/new")["result"]["sessionId"], "s");
        assert_eq!(answer("session/prompt")["error"]["code"], -32600);
    }

    #[test]
    fn pauses_are_those_of_the_recording_but_for_those_of_its_user() {
        let mut player = read(&recording()).expect("a recording");
        let mut waits = Vec::new();
        while let Some(wait) = player.wait() {
            waits.push((wait * 10.0).round() / 10.0);
            player.step();
        }
        assert_eq!(waits[..5], [0.0, 0.1, 0.1, 2.0, 1.0]);
    }

    #[test]
    fn what_can_t_be_played_says_why() {
        assert_eq!(read("{}").err(), Some("line 1: missing field `t` at line 1 column 2".into()));
        assert_eq!(read("").err(), Some("there is no session in it".into()));
        let other = recording().replace("\"protocolVersion\":1", "\"protocolVersion\":2");
        assert!(read(&other).is_err_and(|why| why.contains("a version of the protocol")));
    }

    #[test]
    fn a_recording_whose_beginning_is_gone_is_played_from_where_it_begins() {
        let text: Vec<String> = recording().lines().skip(5).map(str::to_owned).collect();
        let mut player = read(&text.join("\n")).expect("a recording");
        assert_eq!(player.cwd(), None);
        assert_eq!(played(&mut player)[0], "session/update Hi");
    }

    #[test]
    fn a_speed_is_what_people_type() {
        for (word, pace) in [
            ("1", Some(Pace::Percent(100))),
            ("2x", Some(Pace::Percent(200))),
            ("0.5", Some(Pace::Percent(50))),
            ("max", Some(Pace::AtOnce)),
            ("step", Some(Pace::Step)),
            ("0", None),
            ("-1", None),
            ("fast", None),
        ] {
            assert_eq!(Pace::read(word), pace, "{word}");
        }
    }
}

//! A recorded session from the user's side: what they typed, chose, answered and stopped, and how the
//! files were in the end. What the agent said is for the demo agent to say again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The project as every recording began with it.
const FILES: [(&str, &str); 2] = [
    ("notes.txt", "alpha\nbeta\ngamma\ndelta\n"),
    ("src/app.py", "def main():\n    print('hello')\n\n\nmain()\n"),
];

pub struct Recording {
    /// The file's name without its ending.
    pub name: String,
    pub path: PathBuf,
    /// What its client announced and this one doesn't, so that no agent would have this conversation with it.
    pub foreign: Option<String>,
    /// Of the protocol.
    pub version: u64,
    /// What the client told each session of its user's own system prompt, as it stood on the wire.
    pub system_prompt: Value,
    /// Which of them were begun, or taken up again, and what happened in each.
    pub sessions: Vec<Session>,
    /// For each permission question the number of the option that was chosen, from 1; 0 for none.
    pub answers: Vec<usize>,
    /// What was chosen in forms.
    pub filled: Vec<String>,
    /// Whether the session was closed at the end.
    pub closes: bool,
    /// Methods that the recorded client used and a user of this one cannot.
    pub without: BTreeSet<String>,
    /// The project's files at the end.
    pub files: BTreeMap<String, String>,
}

pub struct Session {
    /// For one that was taken up: its number in the agent's list, from 1.
    pub stored: Option<usize>,
    pub is_fork: bool,
    pub steps: Vec<Step>,
}

pub enum Step {
    Prompt(String),
    /// Stopped when the agent had sent so many messages, so many of them permission questions.
    Stop {
        after: usize,
        asked: usize,
    },
    /// Stopped a subagent alone, likewise.
    StopSubagent {
        after: usize,
    },
    /// An action of `:Acp` that takes words; it is over when the agent has sent so many messages.
    Choose {
        action: &'static str,
        words: Vec<String>,
        until: usize,
    },
    /// Went on twice, when the turn was over.
    Fork,
    /// Another session is busy.
    Nothing,
    /// Had the agent list its stored sessions, and took up none.
    List,
}

/// One line of the file.
struct Line {
    from_agent: bool,
    message: Value,
}

impl Recording {
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path);
        let text = text.unwrap_or_else(|error| panic!("couldn't read {}: {error}", path.display()));
        let records = records(&text);
        let files = records.iter().find_map(|record| record["summary"]["files"].as_object());
        let files = files.expect("a recording ends with a summary").iter();
        let files = files.map(|(name, text)| (name.clone(), text.as_str().expect("a text").to_owned()));
        let lines = lines(records.split(is_restart).next().expect("there is always one part"));
        let without = without(&lines);
        Self {
            foreign: foreign(&lines),
            version: version(&lines),
            system_prompt: system_prompts(&lines).next().cloned().unwrap_or_default(),
            name: path.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8").to_owned(),
            path: path.to_owned(),
            sessions: sessions(&lines, &without),
            answers: answers(&lines),
            filled: filled(&lines),
            closes: requests(&lines, false).any(|(_, method, _)| method == "session/close"),
            without,
            files: files.collect(),
        }
    }

    /// The project as it is at the beginning. Who comes back finds it as they left it.
    pub fn files_before(&self) -> Vec<(&str, &str)> {
        if self.sessions.iter().any(|session| session.stored.is_some()) {
            return self.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        }
        FILES.to_vec()
    }

    /// Whether it is a recording of this case.
    pub fn is(&self, case: &str) -> bool {
        self.name.ends_with(&format!("-{case}"))
    }
}

/// For a recording whose client came back to a session in a second process: the same by a client that
/// begins a new session, has the stored ones listed and takes up the one, as a user of this client does.
/// What the recorded client had no need to ask then is answered as in the first process.
pub fn come_back(recording: &Path) -> Option<String> {
    let records = records(&fs::read_to_string(recording).ok()?);
    let mut parts = records.split(is_restart);
    let (first, second) = (parts.next()?, parts.next()?);
    let first = lines(first);
    let exchange = |wanted: &str| {
        let (at, ..) = requests(&first, false).find(|(_, method, _)| *method == wanted)?;
        let (mut request, mut answer) = (first[at].message.clone(), answer(&first, at)?.1.clone());
        (request["id"], answer["id"]) = (wanted.into(), wanted.into());
        Some([("client->agent", request), ("agent->client", answer)])
    };
    let [new, mut opened] = exchange("session/new")?;
    opened.1["result"]["sessionId"] = "a new one".into();
    let [list, listed] = exchange("session/list")?;
    let before = second.iter().position(|record| record["msg"]["method"] == "session/load")?;
    let inserted = [new, opened, list, listed].map(|(dir, msg)| json!({ "t": 0, "dir": dir, "msg": msg }));
    let all = second[..before].iter().chain(&inserted).chain(&second[before..]);
    Some(all.map(|record| format!("{record}\n")).collect())
}

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn is_restart(record: &Value) -> bool {
    record["note"] == "a second agent process"
}

fn lines(records: &[Value]) -> Vec<Line> {
    let messages = records.iter().filter(|record| record["msg"].is_object());
    let line = |record: &Value| Line {
        from_agent: record["dir"] == "agent->client",
        message: record["msg"].clone(),
    };
    messages.map(line).collect()
}

fn requests(lines: &[Line], from_agent: bool) -> impl Iterator<Item = (usize, &str, &Value)> {
    let requests = lines.iter().enumerate().filter(move |(_, line)| line.from_agent == from_agent);
    requests.filter_map(|(at, line)| {
        line.message.get("id")?;
        Some((at, line.message["method"].as_str()?, &line.message))
    })
}

/// The answer to the request at `at`, with its place.
fn answer(lines: &[Line], at: usize) -> Option<(usize, &Value)> {
    let request = &lines[at];
    let mut later = lines.iter().enumerate().skip(at + 1);
    let (at, line) = later.find(|(_, line)| {
        line.from_agent != request.from_agent
            && line.message.get("method").is_none()
            && line.message["id"] == request.message["id"]
    })?;
    Some((at, &line.message))
}

/// The version of the protocol that the client asked for.
fn version(lines: &[Line]) -> u64 {
    let asked = requests(lines, false).find(|(_, method, _)| *method == "initialize");
    asked.and_then(|(_, _, message)| message["params"]["protocolVersion"].as_u64()).unwrap_or(1)
}

fn system_prompts(lines: &[Line]) -> impl Iterator<Item = &Value> {
    let new = requests(lines, false).filter(|(_, method, _)| *method == "session/new");
    new.map(|(_, _, message)| &message["params"]["systemPrompt"])
}

fn foreign(lines: &[Line]) -> Option<String> {
    let (_, _, message) = requests(lines, false).find(|(_, method, _)| *method == "initialize")?;
    let params = &message["params"];
    if params["protocolVersion"] == 2 {
        return None;
    }
    if params["protocolVersion"] != 1 {
        return Some(format!("version {}", params["protocolVersion"]));
    }
    // Its recorder told each session something else, some of it wrong on purpose.
    let prompts: Vec<&Value> = system_prompts(lines).collect();
    if prompts.windows(2).any(|two| two[0] != two[1]) {
        return Some("several system prompts".to_owned());
    }
    let announced = params["clientCapabilities"].as_object()?;
    let known = ["elicitation", "fs", "plan", "session", "subagents", "terminal", "_meta"];
    let own = announced.keys().find(|name| !known.contains(&name.as_str()));
    let meta = announced.get("_meta").and_then(Value::as_object);
    // The older form of subagents is understood, whoever asked for it.
    let known = ["terminal_output", "subagent-transcript"];
    let other = meta.and_then(|meta| meta.keys().find(|name| !known.contains(&name.as_str())));
    own.or(other).cloned()
}

fn without(lines: &[Line]) -> BTreeSet<String> {
    let used: BTreeSet<&str> = requests(lines, false).map(|(_, method, _)| method).collect();
    let new = requests(lines, false).find(|(_, method, _)| *method == "session/new");
    let options =
        new.and_then(|(at, ..)| answer(lines, at)).map(|(_, answer)| &answer["result"]["configOptions"]);
    let has = |category: &str| {
        let options = options.and_then(Value::as_array);
        options.is_some_and(|options| options.iter().any(|option| option["category"] == category))
    };
    let plays = |method: &str| match method {
        "initialize"
        | "session/new"
        | "session/load"
        | "session/fork"
        | "session/prompt"
        | "session/set_config_option"
        | "session/list"
        | "session/close" => true,
        // An option of the category takes the place of the older choice.
        "session/set_mode" => !has("mode"),
        "session/set_model" => !has("model"),
        _ => false,
    };
    used.into_iter().filter(|method| !plays(method)).map(str::to_owned).collect()
}

fn sessions(lines: &[Line], without: &BTreeSet<String>) -> Vec<Session> {
    let mut sessions = Vec::new();
    let mut listed: Vec<&str> = Vec::new();
    for (at, method, request) in requests(lines, false) {
        let answer = answer(lines, at).map_or(&Value::Null, |(_, answer)| &answer["result"]);
        let id = match method {
            "session/new" | "session/fork" => answer["sessionId"].as_str(),
            "session/load" => request["params"]["sessionId"].as_str(),
            "session/list" => {
                let all = answer["sessions"].as_array().into_iter().flatten();
                listed = all.filter_map(|one| one["sessionId"].as_str()).collect();
                None
            }
            _ => None,
        };
        if method == "session/fork" {
            // It begins when the session does that it comes from is so far.
            let before = sessions.iter().find_map(|session: &Session| {
                Some(session.steps.iter().position(|step| matches!(step, Step::Fork))? + 1)
            });
            let mut all: Vec<Step> = (0..before.unwrap_or_default()).map(|_| Step::Nothing).collect();
            all.extend(id.map_or_else(Vec::new, |id| steps(lines, id, without)));
            // What names no session is done in the one it comes from.
            all.retain(|step| !matches!(step, Step::List));
            sessions.push(Session { stored: None, is_fork: true, steps: all });
        }
        if ["session/new", "session/load"].contains(&method) {
            let stored = listed.iter().position(|listed| method == "session/load" && Some(*listed) == id);
            let steps = id.map_or_else(Vec::new, |id| steps(lines, id, without));
            sessions.push(Session { stored: stored.map(|index| index + 1), is_fork: false, steps });
        }
    }
    sessions
}

fn steps(lines: &[Line], session: &str, without: &BTreeSet<String>) -> Vec<Step> {
    let left_out: BTreeSet<usize> = requests(lines, false)
        .filter(|(_, method, message)| {
            let other = message["params"]["sessionId"].as_str().is_some_and(|id| id != session);
            without.contains(*method) || other
        })
        .filter_map(|(at, ..)| Some(answer(lines, at)?.0))
        .collect();
    let sent = |at: usize| (0..at).filter(|at| lines[*at].from_agent && !left_out.contains(at)).count();
    let mut steps = Vec::new();
    // The end of the turn under way.
    let mut ends = 0;
    let mut chosen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.from_agent) {
        let params = &line.message["params"];
        let Some(method) = line.message["method"].as_str() else { continue };
        if method == "session/cancel" && is_subagent(lines, &params["sessionId"]) {
            steps.push(Step::StopSubagent { after: sent(at) });
            continue;
        }
        let is_ours = params["sessionId"] == session || params["sessionId"].is_null();
        if !is_ours || without.contains(method) {
            continue;
        }
        let text = |name: &str| match &params[name] {
            Value::Bool(true) => "on".to_owned(),
            Value::Bool(false) => "off".to_owned(),
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        match method {
            "session/prompt" => {
                ends = turn_end(lines, at, session);
                let blocks = params["prompt"].as_array().expect("a prompt has blocks");
                let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
                steps.push(Step::Prompt(texts.join("\n")));
            }
            // Whoever takes a session up has them listed for that.
            "session/list" if !requests(lines, false).any(|(_, method, _)| method == "session/load") => {
                steps.push(Step::List);
            }
            "session/fork" => steps.push(Step::Fork),
            "session/cancel" if at < ends => {
                let asked = permission_questions(lines).filter(|(asked, _)| *asked < at).count();
                steps.push(Step::Stop { after: sent(at), asked });
            }
            "session/set_mode" | "session/set_model" | "session/set_config_option" => {
                let (action, words) = match method {
                    "session/set_mode" => ("mode", vec![text("modeId")]),
                    "session/set_model" => ("model", vec![text("modelId")]),
                    _ => ("config", vec![text("configId"), text("value")]),
                };
                let (end, answer) = answer(lines, at).expect("every choice is answered");
                // What the agent refused, or had not offered, was made up: this client offers only what there is.
                let known = chosen.entry(method.to_owned()).or_insert_with(|| words.clone());
                if answer.get("error").is_none() && (action != "config" || is_offered(&lines[..at], params)) {
                    known.clone_from(&words);
                }
                steps.push(Step::Choose { action, words: known.clone(), until: sent(end + 1) });
            }
            _ => {}
        }
    }
    steps
}

fn is_subagent(lines: &[Line], session: &Value) -> bool {
    let mut updates = lines.iter().map(|line| &line.message["params"]["update"]);
    updates.any(|update| update["sessionUpdate"] == "subagent_update" && update["sessionId"] == *session)
}

/// Where the turn of a prompt ends: in the first version of the protocol that is its answer.
fn turn_end(lines: &[Line], prompt: usize, session: &str) -> usize {
    let Some((at, answer)) = answer(lines, prompt) else { return usize::MAX };
    if answer["result"]["messageId"].is_null() {
        return at;
    }
    let is_idle = |line: &Line| {
        let params = &line.message["params"];
        params["sessionId"] == session && params["update"]["state"] == "idle"
    };
    let later = lines.iter().enumerate().skip(at);
    later.into_iter().find(|(_, line)| is_idle(line)).map_or(usize::MAX, |(at, _)| at)
}

/// Whether the options that the agent told last have this one, with this value.
fn is_offered(before: &[Line], params: &Value) -> bool {
    let told = before.iter().rev().filter(|line| line.from_agent).find_map(|line| {
        let message = &line.message;
        let updated = message["params"]["update"]["configOptions"].as_array();
        updated.or_else(|| message["result"]["configOptions"].as_array())
    });
    let option = told
        .into_iter()
        .flatten()
        .find(|option| [&option["id"], &option["configId"]].contains(&&params["configId"]));
    let Some(option) = option else { return false };
    if params["value"].is_boolean() {
        return true;
    }
    // Values may be in groups.
    let values = option["options"].as_array().into_iter().flatten();
    let mut values = values.flat_map(|one| match one["options"].as_array() {
        Some(group) => group.iter().collect(),
        None => vec![one],
    });
    values.any(|value| value["value"] == params["value"])
}

fn permission_questions(lines: &[Line]) -> impl Iterator<Item = (usize, &Value)> {
    let asked = requests(lines, true).filter(|(_, method, _)| *method == "session/request_permission");
    asked.map(|(at, _, message)| (at, message))
}

fn answers(lines: &[Line]) -> Vec<usize> {
    let chosen = permission_questions(lines).map(|(at, message)| {
        let (_, answer) = answer(lines, at)?;
        let chosen = answer["result"]["outcome"]["optionId"].as_str()?;
        let options = message["params"]["options"].as_array()?;
        options.iter().position(|option| option["optionId"] == chosen)
    });
    chosen.map(|index| index.map_or(0, |index| index + 1)).collect()
}

fn filled(lines: &[Line]) -> Vec<String> {
    let asked = requests(lines, true).filter(|(_, method, _)| *method == "elicitation/create");
    let filled = asked.filter_map(|(at, ..)| answer(lines, at)?.1["result"]["content"].as_object());
    filled.flat_map(|fields| fields.values()).filter_map(|value| Some(value.as_str()?.to_owned())).collect()
}

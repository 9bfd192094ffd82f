//! A recorded session from the user's side: what they typed, chose, answered and stopped, and how the
//! files were in the end. What the agent said is for the demo agent to say again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The project as every recording began with it.
pub const FILES: [(&str, &str); 2] = [
    ("notes.txt", "alpha\nbeta\ngamma\ndelta\n"),
    ("src/app.py", "def main():\n    print('hello')\n\n\nmain()\n"),
];

pub struct Recording {
    /// The file's name without its ending.
    pub name: String,
    pub path: PathBuf,
    /// What happened in each session, in the order of their opening.
    pub sessions: Vec<Vec<Step>>,
    /// For each permission question the number of the option that was chosen, from 1; 0 for none.
    pub answers: Vec<usize>,
    /// Methods that the recorded client used and a user of this one cannot.
    pub without: BTreeSet<String>,
    /// The project's files at the end.
    pub files: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub enum Step {
    Prompt(String),
    /// Stopped when the agent had sent so many messages, so many of them permission questions.
    Stop {
        after: usize,
        asked: usize,
    },
    /// An action of `:Acp` that takes words; it is over when the agent has sent so many messages.
    Choose {
        action: &'static str,
        words: Vec<String>,
        until: usize,
    },
}

/// One line of the file.
struct Line {
    from_agent: bool,
    message: Value,
}

impl Recording {
    pub fn read(path: &Path) -> Self {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8").to_owned();
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("couldn't read {name}: {error}"));
        let entries: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        let files = entries.iter().find_map(|entry| entry["summary"]["files"].as_object());
        let files = files.expect("a recording ends with a summary").iter();
        let files = files.map(|(name, text)| (name.clone(), text.as_str().expect("a text").to_owned()));
        let lines: Vec<Line> = entries
            .iter()
            // What an agent knows after its end is for clients that load sessions.
            .take_while(|entry| entry["note"] != "a second agent process")
            .filter(|entry| entry["msg"].is_object())
            .map(|entry| Line { from_agent: entry["dir"] == "agent->client", message: entry["msg"].clone() })
            .collect();
        let without = without(&lines);
        Self {
            name,
            path: path.to_owned(),
            sessions: sessions(&lines, &without),
            answers: answers(&lines),
            without,
            files: files.collect(),
        }
    }

    pub fn is_case(&self, case: &str) -> bool {
        self.name.ends_with(&format!("-{case}"))
    }
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
        "initialize" | "session/new" | "session/prompt" | "session/set_config_option" => true,
        // An option of the category takes the place of the older choice.
        "session/set_mode" => !has("mode"),
        "session/set_model" => !has("model"),
        _ => false,
    };
    used.into_iter().filter(|method| !plays(method)).map(str::to_owned).collect()
}

fn sessions(lines: &[Line], without: &BTreeSet<String>) -> Vec<Vec<Step>> {
    let opened = requests(lines, false).filter(|(_, method, _)| *method == "session/new");
    let ids = opened
        .map(|(at, ..)| answer(lines, at).and_then(|(_, answer)| answer["result"]["sessionId"].as_str()));
    ids.map(|id| id.map_or_else(Vec::new, |id| steps(lines, id, without))).collect()
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
        if params["sessionId"] != session || without.contains(method) {
            continue;
        }
        let text = |name: &str| match &params[name] {
            Value::Bool(true) => "on".to_owned(),
            Value::Bool(false) => "off".to_owned(),
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        match method {
            "session/prompt" => {
                ends = answer(lines, at).map_or(usize::MAX, |(at, _)| at);
                let blocks = params["prompt"].as_array().expect("a prompt has blocks");
                let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
                steps.push(Step::Prompt(texts.join("\n")));
            }
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
                // What the agent refused was made up, and this client offers only what there is.
                let known = chosen.entry(method.to_owned()).or_insert_with(|| words.clone());
                if answer.get("error").is_none() {
                    known.clone_from(&words);
                }
                steps.push(Step::Choose { action, words: known.clone(), until: sent(end + 1) });
            }
            _ => {}
        }
    }
    steps
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

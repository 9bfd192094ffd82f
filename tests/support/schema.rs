//! The published schema of the protocol: each message that the client writes is held against it, by its method. What
//! agents have beyond the protocol has no schema, and is named here.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

/// Methods of agents that no schema has, each with why it is written.
const BEYOND: &[(&str, &str)] = &[
    ("session/set_model", "gone from the protocol; agents have it that know no option for the model"),
    ("_session/steering", "an extension of Claude's and Codex's adapters"),
];

/// The names of the types by their methods: of what is asked, and of what is answered.
struct Schema {
    all: Value,
    requests: HashMap<String, String>,
    answers: HashMap<String, String>,
    /// Those that were needed, by the names of their types: a test binary needs few.
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

static STABLE: LazyLock<Schema> = LazyLock::new(|| Schema::read(include_str!("../data/schema/schema.json")));
static UNSTABLE: LazyLock<Schema> =
    LazyLock::new(|| Schema::read(include_str!("../data/schema/schema.unstable.json")));
static SECOND: LazyLock<Schema> =
    LazyLock::new(|| Schema::read(include_str!("../data/schema/schema.v2.unstable.json")));

impl Schema {
    fn read(text: &str) -> Self {
        let all: Value = serde_json::from_str(text).expect("a schema");
        let types = all["$defs"].as_object().expect("types");
        let by_method = |is_ours: &dyn Fn(&str, &str) -> bool| {
            let fits = types.iter().filter_map(|(name, schema)| {
                let (method, side) = (schema["x-method"].as_str()?, schema["x-side"].as_str()?);
                is_ours(name, side).then(|| (method.to_owned(), name.clone()))
            });
            fits.collect()
        };
        let requests = by_method(&|name, side| side != "client" && !name.ends_with("Response"));
        let answers = by_method(&|name, side| side == "client" && name.ends_with("Response"));
        Self { requests, answers, compiled: Mutex::default(), all }
    }

    fn validator(&self, name: &str) -> Arc<Validator> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let compile = || {
            let (schema, types) = (&self.all["$schema"], &self.all["$defs"]);
            let schema = json!({ "$schema": schema, "$ref": format!("#/$defs/{name}"), "$defs": types });
            Arc::new(jsonschema::validator_for(&schema).expect("a schema that stands alone"))
        };
        compiled.entry(name.to_owned()).or_insert_with(compile).clone()
    }

    /// What is wrong with a message and where; nothing too where the schema has no such method.
    fn wrong(&self, message: &Value, asked: Option<&str>) -> Option<Vec<String>> {
        let (name, part) = match (message["method"].as_str(), asked) {
            (Some(method), _) => (self.requests.get(method)?.as_str(), &message["params"]),
            (None, _) if message.get("error").is_some() => ("Error", &message["error"]),
            (None, Some(asked)) => (self.answers.get(asked)?.as_str(), &message["result"]),
            (None, None) => return Some(vec!["an answer to nothing".to_owned()]),
        };
        let validator = self.validator(name);
        let errors = validator.iter_errors(part);
        Some(errors.map(|error| format!("{error} at {}", error.instance_path())).collect())
    }
}

fn is_beyond(message: &Value, asked: Option<&str>) -> bool {
    let method = message["method"].as_str();
    BEYOND.iter().any(|(beyond, _)| Some(*beyond) == method.or(asked))
        || method.is_none() && asked.is_some_and(|asked| asked.starts_with('_'))
}

/// Panics with what is wrong and where, unless the message is one that the protocol allows. `asked` is the method
/// that an answer is for.
pub fn check(message: &Value, asked: Option<&str>) {
    if is_beyond(message, asked) {
        return;
    }
    // What only the unstable schema has is looked up there.
    let stable = STABLE.wrong(message, asked).unwrap_or_default();
    report(stable, message);
    check_by(&UNSTABLE, message, asked);
}

/// The same by one schema alone.
fn check_by(schema: &Schema, message: &Value, asked: Option<&str>) {
    if !is_beyond(message, asked) {
        report(schema.wrong(message, asked).unwrap_or_else(|| vec![NO_METHOD.to_owned()]), message);
    }
}

const NO_METHOD: &str = "the protocol has no such method";

fn report(wrong: Vec<String>, message: &Value) {
    assert!(wrong.is_empty(), "{}\n{message}", wrong.join("\n"));
}

/// Checks all that an agent was sent that plays this script. It may offer what only the unstable schema has.
pub fn check_all(record: &[Value], script: &Value) {
    let first = record.iter().find(|message| message["method"] == "initialize");
    let Some(params) = first.map(|message| &message["params"]) else { return };
    // The draft dialect has no schema; what is said first is in both forms there.
    if params.get("capabilities").is_some() && params.get("clientCapabilities").is_some() {
        return;
    }
    let asked = asked(script);
    let is_second = params["protocolVersion"] == 2 && said_version(script) == Some(2);
    for message in record {
        let id = message.get("id").filter(|_| message.get("method").is_none());
        let of = id.and_then(|id| asked.get(&id.to_string()));
        // Scripts may use an id for several things.
        if of.is_some_and(|methods| methods.len() > 1) {
            continue;
        }
        let of = of.and_then(|methods| methods.iter().next().copied());
        check_by(if is_second { &SECOND } else { &UNSTABLE }, message, of);
    }
}

/// The methods of the agent's requests, by their ids.
fn asked(script: &Value) -> HashMap<String, HashSet<&str>> {
    let mut asked: HashMap<String, HashSet<&str>> = HashMap::new();
    let mut values = vec![script];
    while let Some(value) = values.pop() {
        if let (Some(id), Some(method)) = (value.get("id"), value.get("method").and_then(Value::as_str)) {
            asked.entry(id.to_string()).or_default().insert(method);
        }
        match value {
            Value::Array(items) => values.extend(items),
            Value::Object(fields) => values.extend(fields.values()),
            _ => {}
        }
    }
    asked
}

/// The version of the protocol that the agent answers with.
fn said_version(script: &Value) -> Option<u64> {
    let answer = script.as_array()?.iter().find(|step| step["reply"] == "initialize")?;
    answer["result"]["protocolVersion"].as_u64()
}

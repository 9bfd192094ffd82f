//! The published schema of the protocol: each message that the client writes is held against it, by its method. What
//! agents have beyond the protocol has no schema, and is named here.

use std::collections::HashMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

/// Methods of agents that no schema has, each with why it is written.
const BEYOND: &[(&str, &str)] = &[
    ("session/set_model", "gone from the protocol; agents have it that know no option for the model"),
    ("_session/steering", "an extension of Claude's and Codex's adapters"),
];

/// The names of the types by their methods: of what is asked, and of what is answered.
struct Schema {
    requests: HashMap<String, Validator>,
    answers: HashMap<String, Validator>,
    error: Validator,
}

static STABLE: LazyLock<Schema> = LazyLock::new(|| Schema::read(include_str!("../data/schema/schema.json")));
static UNSTABLE: LazyLock<Schema> =
    LazyLock::new(|| Schema::read(include_str!("../data/schema/schema.unstable.json")));

impl Schema {
    fn read(text: &str) -> Self {
        let all: Value = serde_json::from_str(text).expect("a schema");
        let types = all["$defs"].as_object().expect("types");
        let validator = |name: &str| {
            let schema =
                json!({ "$schema": all["$schema"], "$ref": format!("#/$defs/{name}"), "$defs": types });
            jsonschema::validator_for(&schema).expect("a schema that stands alone")
        };
        let by_method = |is_ours: &dyn Fn(&str, &str) -> bool| {
            let fits = types.iter().filter_map(|(name, schema)| {
                let (method, side) = (schema["x-method"].as_str()?, schema["x-side"].as_str()?);
                is_ours(name, side).then(|| (method.to_owned(), validator(name)))
            });
            fits.collect()
        };
        Self {
            requests: by_method(&|name, side| side != "client" && !name.ends_with("Response")),
            answers: by_method(&|name, side| side == "client" && name.ends_with("Response")),
            error: validator("Error"),
        }
    }
}

/// Panics with what is wrong and where, unless the message is one that the protocol allows. `asked` is the method
/// that an answer is for.
pub fn check(message: &Value, asked: Option<&str>) {
    let method = message["method"].as_str();
    if BEYOND.iter().any(|(beyond, _)| Some(*beyond) == method.or(asked)) {
        return;
    }
    if asked.is_some_and(|asked| asked.starts_with('_')) && method.is_none() {
        return;
    }
    for (schema, value) in [&*STABLE, &*UNSTABLE].into_iter().map(|schema| (schema, message)) {
        let (validator, part) = match (method, asked) {
            (Some(method), _) => (schema.requests.get(method), &value["params"]),
            (None, _) if value.get("error").is_some() => (Some(&schema.error), &value["error"]),
            (None, Some(asked)) => (schema.answers.get(asked), &value["result"]),
            (None, None) => panic!("an answer to nothing: {message}"),
        };
        let Some(validator) = validator else {
            // What only the unstable schema has is looked up there.
            assert!(std::ptr::eq(schema, &*STABLE), "the protocol has no such method: {message}");
            continue;
        };
        let wrong: Vec<String> = validator
            .iter_errors(part)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{}\n{message}", wrong.join("\n"));
    }
}

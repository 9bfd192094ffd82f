//! Checks the arguments of a call against the tool's JSON schema, in that part of JSON Schema that tools need. What a
//! schema has beyond it is refused when the tool is made known, so that nothing goes unchecked in silence.

use serde_json::{Map, Value};

/// Schemas and values that are nested deeper are refused.
const DEEPEST: usize = 32;

const CHECKED: &[&str] = &[
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
];
/// They demand nothing.
const REMARKS: &[&str] =
    &["$schema", "$comment", "title", "description", "default", "examples", "deprecated", "format"];
const TYPES: &[&str] = &["string", "integer", "number", "boolean", "object", "array", "null"];

/// Why a schema can't be that of a tool; fit for "couldn't add the tool: ".
pub fn trouble(schema: &Value) -> Option<String> {
    if schema.get("type") != Some(&Value::from("object")) {
        return Some("its schema has to be of type \"object\"".to_owned());
    }
    trouble_at(schema, "schema", 0)
}

fn trouble_at(schema: &Value, place: &str, depth: usize) -> Option<String> {
    let Some(keys) = schema.as_object() else {
        return Some(format!("{place} should be an object"));
    };
    if depth > DEEPEST {
        return Some(format!("{place} is nested too deeply"));
    }
    if let Some(key) = keys.keys().find(|key| !CHECKED.contains(&&***key) && !REMARKS.contains(&&***key)) {
        return Some(format!("{place}.{key} is not checked here; check that in `run`"));
    }
    if let Some(kinds) = keys.get("type")
        && !types(kinds).all(|kind| TYPES.contains(&kind))
    {
        return Some(format!("{place}.type should be one of {}", TYPES.join(", ")));
    }
    let properties = keys.get("properties").and_then(Value::as_object).into_iter().flatten();
    let below = properties.map(|(name, schema)| (format!("{place}.{name}"), schema));
    let items = keys.get("items").map(|schema| (format!("{place}.items"), schema));
    let others = keys.get("additionalProperties").filter(|schema| !schema.is_boolean());
    let others = others.map(|schema| (format!("{place}.additionalProperties"), schema));
    below.chain(items).chain(others).find_map(|(place, schema)| trouble_at(schema, &place, depth + 1))
}

fn types(kinds: &Value) -> impl Iterator<Item = &str> {
    let several = kinds.as_array().map_or(std::slice::from_ref(kinds), Vec::as_slice);
    several.iter().map(|kind| kind.as_str().unwrap_or_default())
}

/// What is wrong with a call's arguments, for the agent.
pub fn check(schema: &Value, args: &Value) -> Result<(), String> {
    check_at(schema, args, "", 0)
}

fn check_at(schema: &Value, value: &Value, place: &str, depth: usize) -> Result<(), String> {
    let Some(keys) = schema.as_object() else { return Ok(()) };
    let named = if place.is_empty() { "the arguments" } else { place };
    if depth > DEEPEST {
        return Err(format!("{named}: nested too deeply"));
    }
    if let Some(kinds) = keys.get("type")
        && !types(kinds).any(|kind| is_of(value, kind))
    {
        let kinds: Vec<&str> = types(kinds).collect();
        return Err(format!("{named}: expected {}, got {}", kinds.join(" or "), kind_of(value)));
    }
    if let Some(Value::Array(allowed)) = keys.get("enum")
        && !allowed.contains(value)
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return Err(format!("{named}: expected one of {}", allowed.join(", ")));
    }
    if let Some(wanted) = keys.get("const")
        && wanted != value
    {
        return Err(format!("{named}: expected {wanted}"));
    }
    match value {
        Value::Object(fields) => check_fields(keys, fields, place, depth),
        Value::Array(items) => {
            within(keys, ("minItems", "maxItems"), items.len() as f64, named, "items")?;
            let Some(schema) = keys.get("items") else { return Ok(()) };
            let mut each = items.iter().enumerate();
            each.try_for_each(|(index, item)| check_at(schema, item, &format!("{place}[{index}]"), depth + 1))
        }
        Value::String(text) => {
            within(keys, ("minLength", "maxLength"), text.chars().count() as f64, named, "characters")
        }
        Value::Number(number) => {
            within(keys, ("minimum", "maximum"), number.as_f64().unwrap_or(f64::NAN), named, "")
        }
        Value::Bool(_) | Value::Null => Ok(()),
    }
}

fn check_fields(
    keys: &Map<String, Value>,
    fields: &Map<String, Value>,
    place: &str,
    depth: usize,
) -> Result<(), String> {
    let below = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    let required = keys.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Err(format!("{}: missing", below(name)));
        }
    }
    let known = keys.get("properties").and_then(Value::as_object);
    for (name, value) in fields {
        match (known.and_then(|known| known.get(name)), keys.get("additionalProperties")) {
            (Some(schema), _) => check_at(schema, value, &below(name), depth + 1)?,
            (None, Some(Value::Bool(false))) => {
                let known: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                return Err(format!("{}: unknown; known are {}", below(name), known.join(", ")));
            }
            (None, Some(schema @ Value::Object(_))) => check_at(schema, value, &below(name), depth + 1)?,
            (None, _) => {}
        }
    }
    Ok(())
}

/// Whether a number is between two bounds of the schema.
fn within(
    keys: &Map<String, Value>,
    (least, most): (&str, &str),
    number: f64,
    named: &str,
    unit: &str,
) -> Result<(), String> {
    let bound = |key: &str| keys.get(key).and_then(Value::as_f64);
    let text =
        |bound: f64, side: &str| format!("{named}: expected {side} {bound} {unit}").trim_end().to_owned();
    match (bound(least), bound(most)) {
        (Some(least), _) if number < least => Err(text(least, "at least")),
        (_, Some(most)) if number > most => Err(text(most, "at most")),
        _ => Ok(()),
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        // Some agents write whole numbers with a fraction.
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        kind => kind_of(value) == kind,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(schema: Value, args: Value) -> String {
        check(&schema, &args).expect_err("something to be wrong")
    }

    #[test]
    fn a_mistake_names_the_argument_and_what_was_expected() {
        let schema = json!({
            "type": "object",
            "properties": {
                "line": { "type": "integer", "minimum": 1 },
                "how": { "type": "string", "enum": ["a", "b"] },
                "names": { "type": "array", "items": { "type": "string", "maxLength": 3 }, "minItems": 1 },
            },
            "required": ["line"],
            "additionalProperties": false,
        });
        assert_eq!(check(&schema, &json!({ "line": 2.0, "how": "b", "names": ["abc"] })), Ok(()));
        let wrong = |args| problem(schema.clone(), args);
        assert_eq!(wrong(json!([])), "the arguments: expected object, got array");
        assert_eq!(wrong(json!({})), "line: missing");
        assert_eq!(wrong(json!({ "line": 0 })), "line: expected at least 1");
        assert_eq!(wrong(json!({ "line": 1.5 })), "line: expected integer, got number");
        assert_eq!(wrong(json!({ "line": 1, "how": "c" })), "how: expected one of \"a\", \"b\"");
        assert_eq!(wrong(json!({ "line": 1, "names": [] })), "names: expected at least 1 items");
        assert_eq!(wrong(json!({ "line": 1, "names": ["abcd"] })), "names[0]: expected at most 3 characters");
        assert_eq!(wrong(json!({ "line": 1, "row": 1 })), "row: unknown; known are line, how, names");
    }

    #[test]
    fn what_would_not_be_checked_is_refused_at_the_start() {
        let schema = json!({ "type": "object", "properties": { "name": { "pattern": "^a" } } });
        let text = "schema.name.pattern is not checked here; check that in `run`";
        assert_eq!(trouble(&schema).as_deref(), Some(text));
        assert!(trouble(&json!({ "type": "string" })).is_some());
        assert!(trouble(&json!({ "type": "object", "properties": { "a": { "type": "text" } } })).is_some());
        assert_eq!(trouble(&json!({ "type": "object" })), None);
    }

    #[test]
    fn what_is_nested_without_end_is_refused() {
        let mut schema = json!({ "type": "object" });
        for _ in 0..100 {
            schema = json!({ "type": "object", "properties": { "a": schema } });
        }
        assert!(trouble(&schema).is_some_and(|why| why.ends_with("is nested too deeply")));
    }
}

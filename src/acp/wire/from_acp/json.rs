//! Single values of a message, read as tolerantly as they are written.

use serde_json::Value;

pub fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Ids are text; agents that number them are understood, too.
pub fn id(value: &Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

/// A number of things. JavaScript has only floating point numbers, and some writers show it.
pub fn count(value: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, which is what is wanted"
    )]
    value.as_u64().or_else(|| value.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
}

/// Reads a list item by item; those that cannot be read are left out.
pub fn each<T>(list: &Value, read: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    list.as_array().into_iter().flatten().filter_map(read).collect()
}

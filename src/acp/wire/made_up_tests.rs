//! Parts of messages that agents might send, made up for the tests that hold two readings of them against each other.

use proptest::prelude::*;
use serde_json::Value;

/// Any number that JSON has.
pub fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..50_u64).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
    ]
}

/// An object with some of the fields, of which some are null.
pub fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            let given = prop_oneof![6 => value.prop_map(Some), 1 => Just(Some(Value::Null)), 2 => Just(None)];
            given.prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect())).boxed()
}

/// One of these words.
pub fn word(words: &'static [&'static str]) -> BoxedStrategy<Value> {
    prop::sample::select(words).prop_map(Value::from).boxed()
}

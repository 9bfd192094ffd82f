//! Fields that have no counterpart in the other protocol. Each is told once on a connection, for its log: nothing gets
//! lost in silence, and what every message has does not fill the log.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::core::text::cut;

/// Agents choose the names; nobody reads more of them.
const MOST: usize = 200;
const LONGEST: usize = 80;

#[derive(Default)]
pub struct LeftOut {
    /// By what they are fields of.
    known: BTreeMap<String, BTreeSet<String>>,
    news: Vec<String>,
}

impl LeftOut {
    pub fn field(&mut self, of: &str, name: &str) {
        let [of, name] = [of, name].map(|text| cut(text, LONGEST));
        // Most of them come with each message.
        if self.known.get(of).is_some_and(|names| names.contains(name)) {
            return;
        }
        if self.known.values().map(BTreeSet::len).sum::<usize>() < MOST {
            self.known.entry(of.to_owned()).or_default().insert(name.to_owned());
            self.news.push(format!("{of}.{name}"));
        }
    }

    /// All that is still in an object from which was taken what the other protocol has.
    pub fn rest(&mut self, of: &str, fields: &Value) {
        for (name, _) in fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            self.field(of, name);
        }
    }

    /// Those that have not been told.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }
}

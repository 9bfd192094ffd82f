//! Fields that have no counterpart in the other protocol. Each is told once on a connection, for its log: nothing gets
//! lost in silence, and what every message has does not fill the log.

use std::collections::BTreeSet;

use serde_json::Value;

/// Agents choose the names; nobody reads more of them.
const MOST: usize = 200;
const LONGEST: usize = 80;

#[derive(Default)]
pub struct LeftOut {
    known: BTreeSet<String>,
    news: Vec<String>,
}

impl LeftOut {
    pub fn field(&mut self, of: &str, name: &str) {
        let field: String = format!("{of}.{name}").chars().take(LONGEST).collect();
        if self.known.len() < MOST && self.known.insert(field.clone()) {
            self.news.push(field);
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

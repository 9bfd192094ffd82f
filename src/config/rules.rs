//! Rules for what agents may do, as the options give them: a list of tables, each with a decision and what it is about.

use super::read::{Field, Table};
use crate::core::message::ToolKind;
use crate::core::rules::sets::SETS;
use crate::core::rules::{Decision, Rule, Source};

const KEYS: &[&str] = &["decision", "command", "path", "host", "mcp", "kind", "agent", "mode", "reason"];
const LIST: &str = "a list of rules, each { decision = \"allow\", command = \"cargo test **\" } or the like";

/// Kinds of tools that no agent names: all that writes a file, and all there are.
const MORE_KINDS: [&str; 2] = ["write", "any"];

impl Field<'_> {
    pub fn rules(&self) -> Option<Vec<Rule>> {
        let list = self.list(LIST)?;
        // Lua counts from one.
        let rules = list.iter().zip(1..).map(|(field, at)| field.rule(Source::Options(at)));
        // Each is read, so that every mistake is told.
        rules.collect::<Vec<_>>().into_iter().collect()
    }

    /// Names of ready sets.
    pub fn rule_sets(&self) -> Option<Vec<String>> {
        let names = self.strings()?;
        for name in &names {
            if !SETS.iter().any(|set| set.name == name) {
                let known: Vec<String> = SETS.iter().map(|set| format!("{:?}", set.name)).collect();
                return self.invalid(&format!("there is no set {name:?}; there are {}", known.join(", ")));
            }
        }
        Some(names)
    }

    fn rule(&self, source: Source) -> Option<Rule> {
        let table = self.table_of(KEYS.to_vec())?;
        let decisions = [("allow", Decision::Allow), ("ask", Decision::Ask), ("reject", Decision::Reject)];
        let decision = table.require("decision").and_then(|field| field.one_of(&decisions));
        let kind = table.get("kind").map(|field| field.kind_of_tool());
        let rule = Rule {
            decision: decision.unwrap_or(Decision::Ask),
            source,
            agent: text(&table, "agent"),
            mode: text(&table, "mode"),
            kind: kind.clone().flatten(),
            path: text(&table, "path"),
            command: text(&table, "command"),
            host: text(&table, "host"),
            mcp: text(&table, "mcp"),
            reason: text(&table, "reason"),
        };
        let named: Vec<&str> =
            ["path", "command", "host", "mcp"].into_iter().filter(|key| table.get(key).is_some()).collect();
        table.close();
        match named[..] {
            [] if kind.is_none() => {
                self.invalid("a rule needs one of command, path, host, mcp or kind, to say what it is about")
            }
            [_, _, ..] => {
                self.invalid(&format!("a rule is about one thing, not both of {}", named.join(" and ")))
            }
            _ if kind == Some(None) => None,
            _ => decision.map(|_| rule),
        }
    }

    fn kind_of_tool(&self) -> Option<String> {
        let words = ToolKind::ALL.map(ToolKind::word).into_iter().chain(MORE_KINDS);
        let known: Vec<(&str, &str)> = words.map(|word| (word, word)).collect();
        self.one_of(&known).map(str::to_owned)
    }
}

fn text(table: &Table<'_>, key: &str) -> Option<String> {
    table.get(key).and_then(|field| field.string())
}

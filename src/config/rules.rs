//! Rules for what agents may do, as the options give them: a list of tables, each with a decision and what it is about.

use super::read::Field;
use crate::core::rules::{Decision, Rule, Source, sets};

const KEYS: &[&str] = &["decision", "command", "path", "host", "mcp", "kind", "agent", "mode", "reason"];
const LIST: &str = "a list of rules, each { decision = \"allow\", command = \"cargo test **\" } or the like";

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
        match names.iter().find(|name| !sets::is_known(name)) {
            Some(name) => self.invalid(&sets::unknown(name)),
            None => Some(names),
        }
    }

    fn rule(&self, source: Source) -> Option<Rule> {
        let table = self.table_of(KEYS.to_vec())?;
        let decisions = [("allow", Decision::Allow), ("ask", Decision::Ask), ("reject", Decision::Reject)];
        let decision = table.require("decision").and_then(|field| field.one_of(&decisions));
        let text = |key: &str| table.get(key).map(|field| field.string());
        let texts = ["agent", "mode", "kind", "path", "command", "host", "mcp", "reason"].map(text);
        table.close();
        // What was given and is no text is told of already.
        let is_sound = !texts.contains(&Some(None));
        let [agent, mode, kind, path, command, host, mcp, reason] = texts.map(Option::flatten);
        let decision = decision.filter(|_| is_sound)?;
        let rule = Rule { decision, source, agent, mode, kind, path, command, host, mcp, reason };
        match rule.checked() {
            Ok(rule) => Some(rule),
            Err(why) => self.invalid(&why),
        }
    }
}

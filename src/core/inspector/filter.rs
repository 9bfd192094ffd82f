//! Which messages are shown: words as one types them. Each has to hold. A word is looked for in what the line says
//! and in the text of the message; some words mean something else, see [`Word`].

use std::collections::{HashMap, HashSet};

use super::ring::Way;
use super::summary::Kind;
use super::table::{Row, Table};

/// What the window says of it.
pub const HELP: &str = "word \u{b7} -word \u{b7} > sent \u{b7} < received \u{b7} ! problems \u{b7} #id \u{b7} method:m \u{b7} size>10k \u{b7} time>1s";

#[derive(Clone, Debug, PartialEq)]
enum Word {
    /// `>`: to the agent.
    Sent,
    /// `<`: from it.
    Received,
    /// `!`
    Problem,
    /// `#3`
    Id(String),
    /// `method:prompt`, and of `session/update` also which.
    Method(String),
    /// `agent:claude`
    Agent(String),
    /// `size>10k`, in bytes.
    Larger(u64),
    /// `time>1s`, in milliseconds.
    Longer(u64),
    /// Anything else, in lower case.
    Text(String),
}

/// The words, each with whether it must not hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    typed: String,
    words: Vec<(bool, Word)>,
}

/// Whether what is typed is to hold of none, and what that is.
pub fn unnegated(typed: &str) -> (bool, &str) {
    match typed.strip_prefix('-').filter(|word| !word.is_empty()) {
        Some(word) => (true, word),
        None => (false, typed),
    }
}

/// For each text which messages hold it.
pub type Found = HashMap<String, HashSet<u64>>;

impl Filter {
    pub fn read(typed: &str) -> Self {
        let words = typed.split_whitespace().map(|typed| {
            let (is_not, word) = unnegated(typed);
            (is_not, read(word))
        });
        Self { typed: typed.trim().to_owned(), words: words.collect() }
    }

    pub fn typed(&self) -> &str {
        &self.typed
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The texts that have to be looked for in messages.
    pub fn texts(&self) -> Vec<String> {
        let texts = self.words.iter().filter_map(|(_, word)| match word {
            Word::Text(text) => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    }

    /// With `!`, or without it.
    pub fn toggled_problems(&self) -> Self {
        let words: Vec<&str> = self.typed.split_whitespace().collect();
        let kept: Vec<&str> = words.iter().copied().filter(|word| *word != "!").collect();
        if kept.len() < words.len() {
            Self::read(&kept.join(" "))
        } else {
            Self::read(&format!("{} !", self.typed))
        }
    }

    pub fn shows(&self, table: &Table, row: &Row, now: u64, found: &Found) -> bool {
        self.words.iter().all(|(is_not, word)| word.holds(table, row, now, found) != *is_not)
    }
}

fn read(word: &str) -> Word {
    let lower = word.to_lowercase();
    let number = |text: &str, units: &[(&str, u64)]| -> Option<u64> {
        let (digits, unit) =
            text.split_at(text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len()));
        let factor = units.iter().find(|(name, _)| *name == unit)?.1;
        digits.parse::<u64>().ok()?.checked_mul(factor)
    };
    let size = |text| {
        number(text, &[("", 1), ("b", 1), ("k", 1 << 10), ("kb", 1 << 10), ("m", 1 << 20), ("mb", 1 << 20)])
    };
    let time = |text| number(text, &[("", 1), ("ms", 1), ("s", 1000), ("m", 60_000)]);
    if let Some(larger) = lower.strip_prefix("size>").and_then(size) {
        return Word::Larger(larger);
    }
    if let Some(longer) = lower.strip_prefix("time>").and_then(time) {
        return Word::Longer(longer);
    }
    match lower.split_once(':') {
        Some(("method", method)) => return Word::Method(method.to_owned()),
        Some(("agent", agent)) => return Word::Agent(agent.to_owned()),
        _ => {}
    }
    match lower.as_str() {
        ">" => Word::Sent,
        "<" => Word::Received,
        "!" => Word::Problem,
        _ => match lower.strip_prefix('#').filter(|id| !id.is_empty()) {
            Some(id) => Word::Id(id.to_owned()),
            None => Word::Text(lower),
        },
    }
}

impl Word {
    fn holds(&self, table: &Table, row: &Row, now: u64, found: &Found) -> bool {
        let summary = &row.summary;
        let is_in = |text: &str, word: &str| text.to_lowercase().contains(word);
        match self {
            Self::Sent => summary.way == Way::ToAgent,
            Self::Received => summary.way == Way::FromAgent,
            Self::Problem => row.problem_at(now).is_some(),
            Self::Id(id) => match &summary.kind {
                Kind::Request { id: its, .. } | Kind::Answer { id: its, .. } => {
                    its.trim_matches('"').to_lowercase() == *id
                }
                _ => false,
            },
            Self::Method(word) => method(row).is_some_and(|method| is_in(&method, word)),
            Self::Agent(word) => {
                table.agents.get(summary.agent as usize).is_some_and(|agent| is_in(agent, word))
            }
            Self::Larger(size) => summary.size > *size,
            Self::Longer(took) => row.took.is_some_and(|its| its > *took),
            Self::Text(text) => {
                found.get(text).is_some_and(|numbers| numbers.contains(&summary.number))
                    || method(row).is_some_and(|method| is_in(&method, text))
                    || row.problem_at(now).is_some_and(|problem| is_in(&problem.text(), text))
            }
        }
    }
}

/// The method, with the kind of an update; of an answer that of its request.
fn method(row: &Row) -> Option<String> {
    match &row.summary.kind {
        Kind::Request { method, .. } | Kind::Notification { method, update: None } => Some(method.clone()),
        Kind::Notification { method, update: Some(update) } => Some(format!("{method} {update}")),
        Kind::Answer { .. } => Some(format!("answer to {}", row.answers.as_deref().unwrap_or("nothing"))),
        Kind::Noise(_) | Kind::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::inspector::Batch;
    use crate::core::inspector::summary::Summary;

    fn table() -> Table {
        let kinds = [
            (Way::ToAgent, 0, Kind::Request { id: "1".into(), method: "session/new".into() }),
            (Way::FromAgent, 3000, Kind::Answer { id: "1".into(), error: None }),
            (
                Way::FromAgent,
                3001,
                Kind::Notification { method: "session/update".into(), update: Some("plan".into()) },
            ),
            (Way::Stderr, 3002, Kind::Text("warming up".into())),
        ];
        let summaries = kinds.into_iter().enumerate().map(|(number, (way, at, kind))| {
            let number = number as u64;
            Summary { number, at, agent: 0, way, size: 1000 * number, kind }
        });
        let mut table = Table::default();
        table.add(Batch { first: 0, next: 4, agents: vec!["Fake".into()], summaries: summaries.collect() });
        table
    }

    fn shown(typed: &str) -> Vec<u64> {
        let (table, filter) = (table(), Filter::read(typed));
        let found =
            Found::from([("warm".to_owned(), HashSet::from([3])), ("sess".to_owned(), HashSet::new())]);
        let rows = table.rows().filter(|row| filter.shows(&table, row, 3002, &found));
        rows.map(|row| row.summary.number).collect()
    }

    #[test]
    fn words_are_what_people_type() {
        for (typed, numbers) in [
            ("", &[0, 1, 2, 3][..]),
            (">", &[0]),
            ("<", &[1, 2]),
            ("!", &[0, 1]),
            ("-!", &[2, 3]),
            ("#1", &[0, 1]),
            ("method:NEW", &[0, 1]),
            ("method:plan", &[2]),
            ("agent:fake < ", &[1, 2]),
            ("size>1k", &[2, 3]),
            ("time>2s", &[0, 1]),
            ("warm", &[3]),
            ("sess", &[0, 1, 2]),
            ("sess -plan >", &[0]),
            ("slow", &[0, 1]),
            ("answer", &[1]),
            ("nowhere", &[]),
            ("-", &[]),
        ] {
            assert_eq!(shown(typed), numbers, "{typed:?}");
        }
    }

    #[test]
    fn problems_alone_are_a_word_that_comes_and_goes() {
        let filter = Filter::read("plan");
        assert_eq!(filter.toggled_problems().typed(), "plan !");
        assert_eq!(filter.toggled_problems().toggled_problems(), filter);
        assert_eq!(filter.texts(), ["plan"]);
    }
}

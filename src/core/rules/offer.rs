//! Rules that the user can make by an answer, as they are named there, and for how long they count.

use serde::{Deserialize, Serialize};

use super::rule::{Decision, Rule, Source};

/// Rules that together answer a request; all decide alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub rules: Vec<Rule>,
}

/// For how long a rule counts that was made by an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Session,
    Project,
}

impl Scope {
    pub const ALL: [Self; 2] = [Self::Session, Self::Project];

    pub fn source(self) -> Source {
        match self {
            Self::Session => Source::Session,
            Self::Project => Source::Kept,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Session => "in this session",
            Self::Project => "in this project",
        }
    }
}

impl Offer {
    /// As an answer: "Allow `cargo test` with any arguments in this session".
    pub fn in_words(&self, scope: Scope) -> String {
        self.said(scope, in_words)
    }

    /// As the rules are written: `Allow cargo test ** in this session`.
    pub fn label(&self, scope: Scope) -> String {
        self.said(scope, about)
    }

    fn said(&self, scope: Scope, about: fn(&Rule) -> String) -> String {
        let verb = match self.rules.first().map(|rule| rule.decision) {
            Some(Decision::Reject) => "Reject",
            Some(Decision::Ask) => "Ask about",
            _ => "Allow",
        };
        let what: Vec<String> = self.rules.iter().map(about).collect();
        format!("{verb} {} {}", what.join(" and "), scope.words())
    }

    /// What the user is told of rules that they have made, and where they are changed.
    pub fn made_words(&self, scope: Scope) -> String {
        let what: Vec<String> = self.rules.iter().map(quoted).collect();
        let decision = self.rules.first().map_or(Decision::Allow, |rule| rule.decision).word();
        format!(
            "Rule made: {decision} {} {} \u{b7} :Acp permissions has it",
            what.join(" and "),
            scope.words()
        )
    }

    /// The rules as they count from now on.
    pub fn within(self, scope: Scope) -> Vec<Rule> {
        self.rules.into_iter().map(|rule| Rule { source: scope.source(), ..rule }).collect()
    }
}

fn quoted(rule: &Rule) -> String {
    if rule.command.is_some() { format!("`{}`", about(rule)) } else { about(rule) }
}

/// What a rule is about, to somebody who does not know how rules are written.
fn in_words(rule: &Rule) -> String {
    if let Some(command) = &rule.command {
        return command_in_words(command);
    }
    let text = about(rule);
    match text.strip_suffix("/**").and_then(|text| text.split_once(' ')) {
        Some((doing, folder)) => format!("{doing} any file in {folder}"),
        None => text,
    }
}

/// Says "`cargo test` with any arguments but -Z" for `cargo test ** !-Z`.
fn command_in_words(shape: &str) -> String {
    let Some((command, rest)) = shape.split_once(" **") else { return format!("`{shape}`") };
    let never: Vec<String> =
        rest.split_whitespace().map(|word| word.trim_start_matches('!').replace('*', "\u{2026}")).collect();
    let but = match never.split_last() {
        None => String::new(),
        Some((last, [])) => format!(" but {last}"),
        Some((last, others)) => format!(" but {} and {last}", others.join(", ")),
    };
    format!("`{command}` with any arguments{but}")
}

fn about(rule: &Rule) -> String {
    let doing = if rule.kind.as_deref() == Some("write") { "writing" } else { "reading" };
    match rule.path.as_deref() {
        Some("**") => format!("{doing} any file"),
        Some(path) => format!("{doing} {}", path.strip_prefix("./").unwrap_or(path)),
        _ => {
            let named = [&rule.command, &rule.host, &rule.mcp].into_iter().flatten().next();
            named.cloned().unwrap_or_default()
        }
    }
}

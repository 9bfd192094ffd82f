//! What comes of a request by the rules, and why.

use serde::{Deserialize, Serialize};

use super::danger::Danger;
use super::offer::Offer;
use super::request::Request;
use super::rule::{Decision, Rule};

/// What a decision rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ground {
    Rule,
    /// It can't be known what is run or touched.
    Doubt,
    /// It is outside of the session's folders.
    Place,
    Nothing,
}

/// Stands before a rule that may be about something else.
const PERHAPS: &str = "it may be what a rule is about: ";

/// What was made of one part of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub what: String,
    pub decision: Option<Decision>,
    pub ground: Ground,
    /// The rule that decided, or why none did.
    pub why: String,
}

impl Step {
    pub fn doubts(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), decision: Some(Decision::Ask), ground: Ground::Doubt, why: why.into() }
    }

    pub fn outside(what: impl Into<String>, why: &str) -> Self {
        Self { ground: Ground::Place, ..Self::doubts(what, why) }
    }

    /// Why it is as it is, for who does not see what it is about.
    pub fn reason(&self) -> String {
        match self.why.strip_prefix("it ") {
            Some(rest) => format!("{} {rest}", self.what),
            None => self.why.clone(),
        }
    }

    /// No rule decides about it, for this reason.
    pub fn open(what: impl Into<String>, why: &str) -> Self {
        Self { what: what.into(), decision: None, ground: Ground::Nothing, why: why.to_owned() }
    }

    /// It is not sure that there is such a thing, so it is asked about.
    pub fn perhaps(self) -> Self {
        let why = match self.why.starts_with(PERHAPS) {
            true => self.why,
            false => format!("{PERHAPS}{}", self.why),
        };
        Self { decision: Some(Decision::Ask), why, ..self }
    }

    pub fn ruled(what: impl Into<String>, rule: Option<(&Rule, Decision)>) -> Self {
        let (decision, ground, why) = match rule {
            Some((rule, decision)) if rule.decision == decision => {
                (Some(decision), Ground::Rule, rule.describe())
            }
            Some((rule, decision)) => (Some(decision), Ground::Rule, format!("{PERHAPS}{}", rule.describe())),
            None => return Self::open(what, "no rule is about it"),
        };
        Self { what: what.into(), decision, ground, why }
    }
}

/// What comes of a request, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// Nothing if no rule is about it: then what the agent asks is asked.
    pub decision: Option<Decision>,
    pub why: String,
    /// No rule has decided it: the user had left the session alone, and nothing was to wait for them.
    pub by_auto: bool,
    pub steps: Vec<Step>,
    pub dangers: Vec<Danger>,
    /// What requests that are like it have in common; nothing where it is to be looked at alone.
    pub likeness: Option<String>,
    /// Rules that the user can make by an answer.
    pub offers: Vec<Offer>,
    /// What the user should know of rules that don't count.
    pub problem: Option<String>,
}

/// What an agent is about to do, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    pub request: Request,
    pub ruling: Ruling,
}

impl Ruling {
    /// What comes of something that an agent does without asking for it, and why: what rules say, and where nobody may
    /// know what it does, a question if the user has rules that forbid.
    pub fn unasked(&self, forbids: bool) -> Option<(Decision, String)> {
        let why = |step: &Step| match step.ground {
            Ground::Rule if step.decision != Some(Decision::Allow) => Some(step.why.clone()),
            Ground::Doubt if forbids => {
                Some(format!("you have rules that reject or ask about commands, and here {}", step.why))
            }
            _ => None,
        };
        let steps = self.steps.iter().filter_map(|step| Some((step.decision?, why(step)?)));
        steps.min_by_key(|(decision, _)| *decision)
    }
}

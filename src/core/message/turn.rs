//! How a turn ends, and what happened to text that was steered into it.

use serde::{Deserialize, Serialize};

use super::agent::Failure;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnEnd {
    Stopped { reason: StopReason, usage: Option<TurnUsage> },
    Failed(Failure),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Steering {
    /// The running turn takes it in.
    Injected,
    /// The turn was over, so the agent works on it in a turn of its own, whose end it will not tell.
    StartedNewTurn,
    /// The agent does not have it; without a failure, because no turn ran any more.
    NotTaken(Option<Failure>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    /// Any other word, or none (empty).
    Other(String),
}

/// A command of a turn that was stopped, which goes on all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftCommand {
    pub process: i32,
    /// When it was started, in the system's ticks: tells it from a later one of the same number.
    pub start: u64,
    pub line: String,
}

impl StopReason {
    /// As the protocol writes it.
    pub fn word(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
            Self::Other(word) => word,
        }
    }
}

/// Token counts of one turn, where the agent says them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    pub total: u64,
    pub input: u64,
    pub output: u64,
}

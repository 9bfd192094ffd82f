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

/// Token counts as an agent tells them at the end of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    pub tokens: Tokens,
    pub counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    pub total: u64,
    pub input: u64,
    pub output: u64,
    /// Of the input, what was read from a cache, and what was put there.
    pub cached_read: u64,
    pub cached_write: u64,
}

/// What the numbers at the end of a turn are a count of. Agents differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counts {
    /// The turn.
    Turn,
    /// The last of its requests to the model; the turn may have had more.
    LastRequest,
    /// All turns since the agent's process has had the session.
    Process,
    /// All turns of the session, as the protocol has it.
    #[default]
    Session,
}

impl Tokens {
    /// What has come since an earlier count. A lower one has begun anew.
    pub fn since(self, earlier: Self) -> Self {
        if self.total < earlier.total {
            return self;
        }
        Self {
            total: self.total - earlier.total,
            input: self.input.saturating_sub(earlier.input),
            output: self.output.saturating_sub(earlier.output),
            cached_read: self.cached_read.saturating_sub(earlier.cached_read),
            cached_write: self.cached_write.saturating_sub(earlier.cached_write),
        }
    }

    pub fn add(&mut self, more: Self) {
        self.total = self.total.saturating_add(more.total);
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cached_read = self.cached_read.saturating_add(more.cached_read);
        self.cached_write = self.cached_write.saturating_add(more.cached_write);
    }
}

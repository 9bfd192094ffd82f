//! What changes in a session while an agent works or afterwards: messages, plans, commands, costs. Tool
//! calls have a file of their own, `call`.

use serde::{Deserialize, Serialize};

use super::call::ToolCallPatch;
use super::choices::ConfigOption;
use super::content::Content;
use super::subagent::{Branch, SessionMessage, SubagentPatch};
use super::turn::TurnEnd;
use crate::core::text::Text;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    User,
    Agent,
    Thought,
}

/// What a replay says beside what the recorded agent did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replayed {
    /// A recorded prompt was answered after so many milliseconds, without those in which its user was asked.
    TurnEnded { end: TurnEnd, took: u64 },
    /// Nothing more comes.
    Over,
}

/// One `session/update`, read tolerantly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Update {
    /// A chunk of a message. Chunks with the same `message` belong together.
    Message {
        role: Role,
        message: Option<String>,
        content: Content,
    },
    /// What a recording tells that is no agent's to tell.
    Replayed(Box<Replayed>),
    /// When the prompt was sent whose message comes next, in milliseconds since 1970, as the agent says.
    Dated(u64),
    /// `tool_call` and `tool_call_update` alike: given fields replace, absent ones stay.
    ToolCall(Box<ToolCallPatch>),
    /// The whole plan.
    Plan(Vec<PlanItem>),
    /// One of several plans, by its id: all of it.
    PlanTold {
        id: String,
        plan: PlanContent,
    },
    PlanRemoved {
        id: String,
    },
    /// The whole list of slash commands.
    Commands(Vec<SlashCommand>),
    Mode(String),
    Options(Vec<ConfigOption>),
    /// `None` leaves a field as it was, `Some(None)` clears it.
    Info {
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "super::nullable::present"
        )]
        title: Option<Option<String>>,
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "super::nullable::present"
        )]
        updated_at: Option<Option<String>>,
    },
    Usage {
        used: u64,
        size: u64,
        cost: Option<Cost>,
    },
    /// What the user might say next, in place of what was suggested before.
    Suggestions(Vec<Text>),
    /// How much the user's account may still be used.
    Limit(Limit),
    Notice {
        severity: Severity,
        title: String,
        description: Option<String>,
    },
    Compaction {
        id: String,
        status: Option<String>,
        /// `None` leaves, `Some(None)` clears.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "super::nullable::present"
        )]
        summary: Option<Option<String>>,
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "super::nullable::present"
        )]
        error: Option<Option<String>>,
    },
    CompactionSummary {
        id: String,
        text: String,
    },
    Subagent(Box<SubagentPatch>),
    SessionMessage(Box<SessionMessage>),
    /// It is no news of the session itself, but of what works for it.
    Within {
        branch: Branch,
        update: Box<Update>,
    },
    /// A kind this client does not know, or a known one too broken to read; it is in the log.
    Unknown {
        kind: String,
    },
}

impl Update {
    /// Whether it is a part of the conversation, which an agent that loads a session tells again.
    pub fn is_told_again(&self) -> bool {
        match self {
            Self::Message { .. }
            | Self::Dated(_)
            | Self::ToolCall(_)
            | Self::Plan(_)
            | Self::PlanTold { .. }
            | Self::PlanRemoved { .. }
            | Self::Compaction { .. }
            | Self::CompactionSummary { .. }
            | Self::SessionMessage(_) => true,
            Self::Within { update, .. } => update.is_told_again(),
            Self::Commands(_)
            | Self::Mode(_)
            | Self::Options(_)
            | Self::Info { .. }
            | Self::Usage { .. }
            | Self::Limit(_)
            | Self::Suggestions(_)
            // Agents keep none.
            | Self::Notice { .. }
            // Known ones are patched by it, so it adds nothing that stands there already.
            | Self::Subagent(_)
            | Self::Replayed(_)
            | Self::Unknown { .. } => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub amount: f64,
    /// ISO 4217 as the agent wrote it.
    pub currency: String,
}

/// A rate limit of the user's account, where an agent tells of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// What it counts, in the agent's word: `five_hour`.
    pub window: String,
    pub status: LimitStatus,
    /// The part that is used, 1 when it is reached.
    pub used: Option<f64>,
    /// When it begins anew, in milliseconds since 1970.
    pub resets: Option<u64>,
    /// What goes beyond it is paid for.
    pub overage: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitStatus {
    Fine,
    Near,
    Reached,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanItem {
    pub content: String,
    pub priority: Priority,
    pub status: PlanStatus,
}

/// What a plan with an id holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanContent {
    Items(Vec<PlanItem>),
    Markdown(Text),
    /// It is in the file at this address.
    File(String),
    /// A form that this client does not know.
    Unknown {
        kind: String,
    },
}

impl PlanContent {
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Items(items) => items.is_empty(),
            Self::Markdown(text) => text.trim().is_empty(),
            Self::File(_) | Self::Unknown { .. } => false,
        }
    }

    /// Roughly, in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Items(items) => items.iter().map(|item| size_of::<PlanItem>() + item.content.len()).sum(),
            Self::Markdown(text) => text.len(),
            Self::File(text) | Self::Unknown { kind: text } => text.len(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Priority {
    High,
    Medium,
    Low,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlashCommand {
    pub name: String,
    pub description: String,
    pub hint: Option<String>,
}

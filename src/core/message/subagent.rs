//! Subagents: sessions that an agent opens by itself to get work done for another of its sessions. What they
//! are and do is told as a part of that one, whose chat shows it.

use serde::{Deserialize, Serialize};

use super::content::Content;
use super::turn::{StopReason, Tokens};
use crate::core::ids::{SubagentId, ToolCallId};

/// Whose update it is, where it is not the session's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Branch {
    Subagent(SubagentId),
    /// An older form: what a subagent does is told as the session's own, with the call that started it.
    Call(ToolCallId),
}

/// What is told of a subagent. `None` leaves a field as it was, `Some(None)` clears it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubagentPatch {
    pub id: SubagentId,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::nullable::present")]
    pub title: Option<Option<String>>,
    /// Its role, such as `general-purpose`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::nullable::present")]
    pub description: Option<Option<String>>,
    /// Whether it can be cancelled by itself, now.
    pub can_cancel: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::nullable::present")]
    pub state: Option<Option<SubagentState>>,
}

impl SubagentPatch {
    pub fn new(id: &str) -> Self {
        Self { id: SubagentId(id.into()), title: None, description: None, can_cancel: None, state: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SubagentState {
    Running,
    RequiresAction,
    /// The agent can't tell now.
    Unknown,
    /// It has done what it was told; it may be told more.
    Idle {
        reason: Option<StopReason>,
        /// It failed; why, as far as the agent says.
        error: Option<String>,
        usage: Option<Tokens>,
    },
    /// A word that this client does not know.
    Other(String),
}

impl SubagentState {
    /// Whether it is at work, as far as it is known.
    pub fn is_working(&self) -> bool {
        matches!(self, Self::Running | Self::RequiresAction)
    }
}

/// What one session says to another: a task, or what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionMessage {
    pub id: String,
    /// By the agent's names for its sessions.
    pub sender: Option<String>,
    pub recipient: Option<String>,
    /// Its id in the transcript of the other session.
    pub counterpart: Option<String>,
    /// `None` leaves what is known; nothing clears it.
    pub content: Option<Vec<Content>>,
    /// The content comes after what is known.
    pub is_piece: bool,
}

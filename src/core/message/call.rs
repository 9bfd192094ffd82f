//! What one message says about a tool call. How that changes the call is left to
//! `core::session::tool_call`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::Content;
use crate::core::ids::{TerminalId, ToolCallId};
use crate::core::text::Text;

/// The fields of a tool call that one message carried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCallPatch {
    pub id: ToolCallId,
    pub title: Option<String>,
    /// The programmatic name of the tool.
    pub name: Option<String>,
    pub kind: Option<ToolKind>,
    pub status: Option<WireStatus>,
    pub content: Option<Vec<ToolContent>>,
    pub locations: Option<Vec<Location>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::nullable::present")]
    pub raw_input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::nullable::present")]
    pub raw_output: Option<Value>,
    /// How many milliseconds it took, as the agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<u64>,
}

impl ToolCallPatch {
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: ToolCallId(id.into()),
            title: None,
            name: None,
            kind: None,
            status: None,
            content: None,
            locations: None,
            raw_input: None,
            raw_output: None,
            took: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

impl ToolKind {
    /// As the protocol writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Think => "think",
            Self::Fetch => "fetch",
            Self::SwitchMode => "switch_mode",
            Self::Other => "other",
        }
    }
}

/// A tool call's status as the agent wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WireStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
    /// Any other word; `cancelled`, `denied` and `error` are seen in the field.
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolContent {
    Content(Content),
    Diff(FileDiff),
    Terminal(TerminalId),
}

impl ToolContent {
    pub fn text(&self) -> Option<&Text> {
        match self {
            Self::Content(Content::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// A `diff` content item. `new_text` may be the whole file, the whole file without its last
/// newline, a fragment, or a hunk with context lines; nothing on the wire tells which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// As the agent wrote it; may be relative to the session's root.
    pub path: PathBuf,
    /// `None` for a new file.
    pub old_text: Option<Text>,
    pub new_text: Text,
}

/// A place in a file; `line` is 1-based.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// As the agent wrote it; may be relative to the session's root.
    pub path: PathBuf,
    pub line: Option<u32>,
}

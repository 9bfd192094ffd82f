//! What the background knows of the tools that agents are offered, and what becomes of a call. What the tools do is
//! left to the editor's side.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool as an agent is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema of an object.
    pub schema: Value,
    /// It changes nothing and runs nothing.
    pub reads_only: bool,
    /// A call may take so long.
    pub patience: Duration,
}

/// What a call led to, for the agent to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolAnswer {
    pub text: String,
    pub failed: bool,
}

impl ToolAnswer {
    pub fn failure(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: true }
    }
}

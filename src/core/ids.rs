//! Ids, and the unit of the clock. Everything else in the core may use them; they use nothing from the
//! core.

use serde::{Deserialize, Serialize};

/// One running agent process, numbered by the editor's thread. A restart gets a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AgentId(pub u32);

/// One session as this plugin knows it, numbered by the editor's thread before the agent has named
/// it. The agent's own `sessionId` is opaque and stays in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey(pub u32);

impl SessionKey {
    /// Stands for all sessions of Neovims that are gone.
    pub const EARLIER: Self = Self(u32::MAX);
}

/// An entry's number in its session: 0-based, in order of appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub usize);

/// The agent's `toolCallId`: opaque, unique within a turn only (some agents use them again).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolCallId(pub String);

/// The agent's name for the session of a subagent: opaque, may be long and hold any character.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SubagentId(pub String);

impl ToolCallId {
    /// The same id in a subagent's session: there it may be that of another call.
    pub fn within(&self, subagent: &SubagentId) -> Self {
        Self(format!("{}{SEPARATOR}{}", subagent.0, self.0))
    }

    /// As the agent wrote it.
    pub fn as_told(&self) -> &str {
        self.0.rsplit(SEPARATOR).next().unwrap_or(&self.0)
    }
}

/// Between the names of a subagent and of its call; a unit separator stands in no name that was seen.
const SEPARATOR: char = '\u{1f}';

/// A question that waits for exactly one [`Answer`]; numbered by the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AskId(pub u64);

/// One run of a command in a terminal, of this client's or of the agent's own. It is never used again,
/// unlike the names that agents give to their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TerminalId(pub String);

/// A call of one of the editor's tools; numbered by the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolRunId(pub u64);

/// A piece of computing done in the background; numbered by the editor's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobId(pub u64);

/// What was behind a change; what the number stands for is kept beside the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OriginId(pub u32);

/// Milliseconds on the editor's clock; the core has none of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment(pub u64);

impl Moment {
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

//! What an agent asks, and how it is answered. The session ensures that each question has exactly one
//! answer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::ToolCallPatch;
use super::files::Access;
use crate::core::ids::ToolCallId;
use crate::core::rules::Judgement;
use crate::core::text::Text;

/// What an agent asks of the editor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    Permission {
        call: Box<ToolCallPatch>,
        options: Vec<PermissionOption>,
    },
    /// `fs/read_text_file` of a file that a buffer holds; the path is absolute and inside the roots.
    /// `line` is 1-based.
    Read {
        path: PathBuf,
        line: Option<u32>,
        limit: Option<u32>,
    },
    /// `fs/write_text_file` of a file that a buffer holds.
    Write {
        path: PathBuf,
        content: Text,
    },
    /// A read or write outside of the session's folders, or of what has a name there, too. `path` is without links; an answer that counts
    /// for more than this once counts for `target`. Answered by a `core::store::allowlist::Choice`.
    Outside {
        path: PathBuf,
        target: PathBuf,
        access: Access,
        why: AskReason,
        /// It is a folder, in which the agent wants to run this.
        #[serde(default)]
        command: Option<String>,
        /// What rules say of it.
        #[serde(default)]
        judgement: Option<Box<Judgement>>,
    },
    /// `elicitation/create`.
    Form {
        message: String,
        schema: Value,
        call: Option<ToolCallId>,
    },
    Url {
        message: String,
        url: String,
        elicitation: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    pub id: String,
    pub name: String,
    pub kind: PermissionKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PermissionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    Other(String),
}

impl PermissionKind {
    /// As the protocol writes it.
    pub fn word(&self) -> &str {
        match self {
            Self::AllowOnce => "allow_once",
            Self::AllowAlways => "allow_always",
            Self::RejectOnce => "reject_once",
            Self::RejectAlways => "reject_always",
            Self::Other(word) => word,
        }
    }

    pub fn allows(&self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }

    pub fn rejects(&self) -> bool {
        matches!(self, Self::RejectOnce | Self::RejectAlways)
    }
}

/// Why the user is asked about a file or a command that the agent has not asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AskReason {
    OutsideFolders,
    /// It is in a folder of the session's, but has other names elsewhere.
    LinkedOutside,
    /// A rule of the user's wants it, which is described.
    Rule(String),
}

/// What has chosen an answer in the user's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuledBy {
    /// A rule of theirs, which is described.
    Rule(String),
    /// They have left the session alone, and nothing is to wait for them. Why they would have been asked.
    Auto(String),
}

impl RuledBy {
    /// What an agent is told whose request is rejected so; fits after "couldn't run the command: ".
    pub fn refusal(&self) -> String {
        match self {
            Self::Rule(rule) => format!("the user's rules reject it ({rule})"),
            Self::Auto(why) => format!("the user is not there to be asked ({why})"),
        }
    }
}

/// The editor's answer to a [`Question`]. One that does not fit its question is an internal error
/// to the agent, never silence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// A permission option's id.
    Selected(String),
    /// The same, and the user was not asked.
    Ruled {
        option: String,
        by: RuledBy,
    },
    /// The turn was cancelled; also the answer to an elicitation that was closed.
    Cancelled,
    /// A read: the text asked for.
    Text(Text),
    /// A write is done. Where the user had changed the same lines, what they decided about them.
    Done {
        decided: Option<String>,
    },
    /// A method beyond the protocol: its result.
    Returned(Value),
    /// A read, a write or such a method could not be done; the text goes to the agent.
    Refused(String),
    /// The user refused a write, in whose lines they had changed some, too; the text goes to the agent.
    RefusedByUser(String),
    /// An elicitation's values.
    Accepted(Value),
    Declined,
}

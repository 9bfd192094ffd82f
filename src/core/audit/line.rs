//! One line of the record as plain data: what was asked for or done, what was decided by whom, and what came of it.

use serde::{Deserialize, Serialize};

use crate::core::message::call::ToolKind;

/// One line of the record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// When it was asked for or, of a call or a command's end, when it was over: milliseconds since 1970.
    pub at: u64,
    /// The configured name.
    pub agent: String,
    /// The agent's own id of the session.
    pub session: String,
    /// The session's folder.
    pub project: String,
    pub what: What,
    /// The tool call that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The command line, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The arguments of a command that were given apart from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The kinds of the answers that the agent offered, as the protocol writes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What was answered: the kind of the option that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// The rule, where one decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The rule that would have asked about it or rejected it, where nobody was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unasked: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the user decided about lines that they had changed, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Of a command that has ended: what it returned, unless a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The agent asked for permission.
    Permission,
    /// It read or wrote a file through this client.
    Read,
    Write,
    /// It ran a command in a terminal of this client.
    Command,
    /// That command has ended.
    Exit,
    /// It did something that rules would have asked about or rejected, and asked nobody.
    Unasked,
    /// A tool call is over, whoever did what it says.
    #[default]
    Call,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allowed,
    Rejected,
    /// It was over before anyone decided.
    Undecided,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Person,
    /// The rule that `rule` names.
    Rule,
    /// An option, or an answer that counted for more than once.
    Earlier,
    /// What holds where nothing else is said.
    Default,
    /// The agent did it without asking.
    Agent,
    /// The user had left the session alone: what would have been asked was rejected.
    Auto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Failed,
    /// It was taken back, or its turn, session or agent ended.
    Cancelled,
}

//! The entries of a transcript: what was said, thought and done, in order. An entry never moves; only its
//! body may change. How it is displayed is left to `transcript`.

use std::path::PathBuf;

use crate::core::ids::{EntryId, Moment};
use crate::core::message::{
    Access, AgentInfo, AskReason, AuthMethod, Cost, Failure, Picture, PlanContent, PlanItem, Reopen,
    Severity, StopReason, Tokens,
};
use crate::core::replay::Pace;
use crate::core::rules::Judgement;
use crate::core::session::budget::Word;
use crate::core::session::form::Form;
use crate::core::session::subagent::{Relayed, Subagent};
use crate::core::session::tool_call::ToolCall;
use crate::core::session::written_files::Written;
use crate::core::store::allowlist::Choice;
use crate::core::text::url_check::Address;
use crate::core::text::{Text, one_line};

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub at: Moment,
    /// When that was by the clock on the wall, in milliseconds since 1970; of what was said before it was loaded
    /// only the agent knows.
    pub clock: Option<u64>,
    /// The entry that it stands under: that of a subagent, or of the call that started one.
    pub parent: Option<EntryId>,
    pub body: Body,
    /// The user opened what is folded at first.
    pub open: bool,
    /// The agent refused the turn: it does not know of this any more.
    pub refused: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The head of a chat: what is being started, or who is there.
    Greeting(Greeting),
    User {
        text: Text,
        /// One line for each thing sent along.
        attachments: Vec<String>,
    },
    /// The agent's name, above what it says and does in a turn.
    Speaker(String),
    /// Markdown that only ever grows.
    Message {
        text: String,
    },
    Thought {
        text: String,
        ended: Option<Moment>,
    },
    /// An image among what the agent says.
    Picture(Picture),
    Tool(Box<ToolCall>),
    /// A session that works for this one; what it says and does are entries that stand under this.
    Subagent(Box<Subagent>),
    /// What one session said to another.
    Relayed(Box<Relayed>),
    /// The agent wants to know something of the user.
    Elicitation(Box<Elicitation>),
    Plan(Vec<PlanItem>),
    /// A plan that is a text or in a file, or one that the agent has dropped.
    Document(Box<Document>),
    /// Files that the agent wrote, and no call says so.
    Written(Box<Written>),
    Notice {
        severity: Severity,
        text: String,
        /// How often it was said.
        times: u32,
    },
    /// The conversation was made shorter by the agent.
    Compaction(Compaction),
    /// How a turn ended.
    Stop {
        reason: StopReason,
        silent: bool,
        took: u64,
        tokens: Option<Tokens>,
        /// What this turn has cost.
        cost: Option<Cost>,
    },
    TurnFailed(Failure, Then),
}

/// What becomes of a prompt whose turn has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is for the user to send it again.
    Nothing,
    /// It goes out again by itself in so many seconds.
    Again { seconds: u64 },
    /// It has gone out again.
    Sent,
    /// The user has stopped that: it waits in line for them.
    Held,
    /// It waits for a new session.
    NewSession,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub content: PlanContent,
    /// The agent goes by it no more.
    pub removed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// In the protocol's words; empty once nobody can tell any more.
    pub status: String,
    /// What the agent keeps of what was said, in Markdown.
    pub summary: String,
    pub error: Option<String>,
}

/// What the top of a chat says about how to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// It was said before, further up.
    Said,
    Prompt,
    /// Prompts go nowhere: a recording is played.
    Replay(Pace),
}

/// The chat that the user had last in this project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChat {
    pub title: String,
    /// How long ago it was used.
    pub ago: String,
    /// What takes it up.
    pub command: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeting {
    Connecting {
        name: String,
        command: String,
    },
    /// The process runs and says so; the session is not open yet.
    Opening {
        title: String,
    },
    Ready {
        title: String,
        version: Option<String>,
        /// It runs in a sandbox.
        is_confined: bool,
        steps: Steps,
        last: Option<LastChat>,
    },
    /// The agent wants a login first.
    LoginNeeded {
        title: String,
        methods: Vec<AuthMethod>,
        message: String,
    },
    /// The agent is asked again for a session in so many seconds.
    Waiting {
        name: String,
        failure: Failure,
        seconds: u64,
    },
    /// It never came to a session.
    Failed {
        name: String,
        failure: Failure,
        stderr: Vec<String>,
        restart: Restart,
    },
    /// The user gave up waiting for it.
    Stopped {
        name: String,
        restart: Restart,
    },
    /// The agent of an open chat is gone.
    Gone {
        name: String,
        what: String,
        stderr: Vec<String>,
        expected: bool,
        restart: Restart,
    },
}

/// What becomes of a session when its agent is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It goes on where it was.
    Resume,
    /// The agent loads it, and tells all of it again.
    Load,
    /// It is another one: the agent knows nothing of this one.
    New,
    /// There was none.
    First,
    /// It was started again since.
    Done,
    /// It goes on without the user, in one of the first two ways.
    ByItself(Reopen),
}

/// A form to fill in or a page to open. What the user filled in is not part of it: it is for the
/// agent alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicitation {
    /// What the agent is called.
    pub asker: String,
    pub message: String,
    pub subject: Subject,
    pub verdict: Verdict,
    /// What the user may answer to a question for permission, while it waits.
    pub choices: Vec<String>,
    /// Not all that they are asked about can be seen at once: they are told how to read and to answer it.
    pub is_long: bool,
}

impl Elicitation {
    /// The command that it is about.
    pub fn command(&self) -> Option<&str> {
        match &self.subject {
            Subject::Outside { command, .. } => command.as_deref(),
            _ => None,
        }
    }

    /// Why the user is asked about a file or a command that the agent has not asked about.
    pub fn asked_because(&self) -> Option<String> {
        match &self.subject {
            Subject::Outside { why: AskReason::Rule(rule), .. } => Some(rule.clone()),
            Subject::Outside { why: AskReason::OutsideFolders, .. } => {
                Some("it is outside of the session's folders".to_owned())
            }
            Subject::Outside { why: AskReason::LinkedOutside, .. } => {
                Some("it has other names outside of the session's folders".to_owned())
            }
            Subject::Form(_) | Subject::Page(_) | Subject::Limit => None,
        }
    }

    /// What a rule of the user's has asked about.
    pub fn asked_by_rule(&self) -> Option<&Judgement> {
        match &self.subject {
            Subject::Outside { why: AskReason::Rule(_), judgement, .. } => judgement.as_deref(),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    Form(Form),
    Page(Address),
    /// A file outside of the session's folders, which are these. Its path is the message.
    Outside {
        access: Access,
        folders: Vec<PathBuf>,
        why: AskReason,
        /// It is a folder, in which the agent wants to run this.
        command: Option<String>,
        /// What rules say of it.
        judgement: Option<Box<Judgement>>,
    },
    /// A limit that is reached, as the message says.
    Limit,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits for the user.
    Open,
    /// The form was sent with values in the fields of these names.
    Answered(Vec<String>),
    /// What the user said to a file outside of the session's folders.
    Chosen(Choice),
    /// The same to a limit that was reached.
    Limited(Word),
    /// The user wanted the page opened.
    Agreed,
    Declined,
    /// The user had left the session alone, and nothing was to wait for them.
    ByAuto,
    Cancelled,
    /// It went away without the user.
    Withdrawn,
    /// So did one about a limit, with the turn that it was about.
    TurnOver,
}

impl Entry {
    /// The text that only grows, for entries that stream.
    pub fn stream(&self) -> Option<&str> {
        match &self.body {
            // What stands under another entry is drawn with it.
            Body::Message { text } if self.parent.is_none() => Some(text),
            _ => None,
        }
    }

    pub fn tool(&self) -> Option<&ToolCall> {
        match &self.body {
            Body::Tool(call) => Some(call),
            _ => None,
        }
    }

    pub fn subagent(&self) -> Option<&Subagent> {
        match &self.body {
            Body::Subagent(subagent) => Some(subagent),
            _ => None,
        }
    }
}

/// What an agent is called on screen.
pub fn display_name(configured: &str, info: Option<&AgentInfo>) -> String {
    info.and_then(|info| info.title.clone().or_else(|| info.name.clone()))
        .map(|name| one_line(&name))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| configured.to_owned())
}

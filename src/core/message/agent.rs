//! What an agent reports about itself and its sessions once it has started, and why it has ended. What it
//! says within a session is left to `update`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::choices::{ConfigOption, Models, Modes};
use crate::core::text::typed;

/// Why an agent is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Empty when the process simply ended; else what went wrong, fit for "couldn't start {name}: …".
    pub failure: Option<Failure>,
    pub exit: Option<Exit>,
    /// The last lines of the agent's stderr, oldest first.
    pub stderr: Vec<String>,
    /// The user asked for it.
    pub expected: bool,
}

/// Output of a command that came faster than anyone could read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    pub bytes: usize,
    /// How many lines ended in it.
    pub lines: usize,
}

/// How a process ended (`terminal/wait_for_exit`): either a code or the name of a signal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub code: Option<u32>,
    pub signal: Option<String>,
}

impl AuthMethod {
    /// The command that the agent names with its variables, as one would type it.
    pub fn command_line(&self) -> Option<String> {
        let AuthKind::Command { command, args, env } = &self.kind else { return None };
        let words: Vec<String> = std::iter::once(command).chain(args).cloned().collect();
        Some(typed(env, &words))
    }
}

impl Exit {
    /// `exit 1`, `SIGTERM`.
    pub fn words(&self) -> String {
        match (&self.signal, self.code_text()) {
            (Some(signal), _) => signal.clone(),
            (None, Some(code)) => format!("exit {code}"),
            (None, None) => "ended".to_owned(),
        }
    }

    /// The code as one looks it up: those of Windows that stand for an error, such as 0xC0000005, are known
    /// by their hexadecimal form. Others are never as large.
    pub fn code_text(&self) -> Option<String> {
        self.code.map(|code| match code {
            0..=0xffff => code.to_string(),
            _ => format!("0x{code:08X}"),
        })
    }
}

/// An error as a user may read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// Lowercase, no full stop, naming the thing.
    pub message: String,
    /// More for the log and for those who ask.
    pub details: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailureKind {
    /// The program could not be started.
    Spawn,
    /// The agent speaks another version of the protocol.
    Version,
    /// The agent speaks another dialect than it was asked in.
    Dialect,
    /// The agent frames its messages as a language server does.
    Framing,
    /// No answer within the time set for it, or the agent had none within its own.
    Timeout,
    /// -32000.
    AuthRequired,
    /// -32002.
    NotFound,
    /// -32800, or the user gave up waiting.
    Cancelled,
    /// The connection ended before the answer came.
    Disconnected,
    /// Too much was asked of it; it may be asked again after so many milliseconds, if it said so.
    RateLimited(Option<u64>),
    /// It may not, or does not want to.
    Denied,
    /// -32603 without a reason.
    Internal,
    /// -32001 to -32099 with another reason.
    Busy,
    /// Any other error of the agent.
    Agent,
    /// The agent's answer does not fit the protocol.
    Protocol,
}

impl FailureKind {
    /// Asked in the same way again, it would be refused again.
    pub fn is_final(self) -> bool {
        matches!(self, Self::NotFound | Self::Agent | Self::Internal | Self::Denied | Self::Protocol)
    }
}

/// What an agent said about itself in `initialize`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    pub name: Option<String>,
    pub title: Option<String>,
    pub version: Option<String>,
    pub can: Capabilities,
    pub auth_methods: Vec<AuthMethod>,
}

/// `agentCapabilities`, one flag per thing a user could want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    pub load: bool,
    pub resume: bool,
    pub list: bool,
    pub close: bool,
    pub delete: bool,
    pub fork: bool,
    pub set_title: bool,
    pub archive: bool,
    pub status: bool,
    pub additional_directories: bool,
    pub logout: bool,
    pub auth_status: bool,
    pub image: bool,
    pub audio: bool,
    pub embedded_context: bool,
    pub mcp_http: bool,
    pub mcp_sse: bool,
    pub mcp_acp: bool,
    pub steering: bool,
    pub system_prompt: bool,
    /// It may take the place of the agent's own.
    pub system_prompt_override: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthMethod {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub kind: AuthKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuthKind {
    /// `authenticate` does it.
    Agent,
    /// The agent's own program, run in a terminal with these added.
    Terminal { args: Vec<String>, env: Vec<(String, String)> },
    /// A command that the agent names, run in a terminal: how it was done before the protocol had a
    /// word for it.
    Command { command: String, args: Vec<String>, env: Vec<(String, String)> },
    /// A type that this client does not know; shown, never called.
    Unsupported(String),
}

/// What `session/new` and `session/load` answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The agent's own id, opaque; kept for load, resume and the log.
    pub acp_id: String,
    pub modes: Option<Modes>,
    pub models: Option<Models>,
    pub options: Vec<ConfigOption>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSession {
    pub acp_id: String,
    pub cwd: PathBuf,
    pub title: Option<String>,
    pub updated_at: Option<String>,
    pub state: StoredState,
}

/// What an agent says of a session that it has stored (`session/status`), or what is known of it here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredState {
    /// It is not in the agent's memory, or nobody knows.
    #[default]
    Saved,
    /// The agent has it in memory.
    Open,
    /// The agent has no such session.
    Gone,
    /// Another Neovim has it open.
    Elsewhere,
}

impl StoredState {
    /// That it is open in another Neovim counts more than what an agent says.
    pub fn joined(self, told: Self) -> Self {
        if self == Self::Elsewhere { self } else { told }
    }
}

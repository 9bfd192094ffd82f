//! How agents are started, and where their sessions work. Plain data for the background; `config`
//! provides it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::remote::Remote;
use crate::core::replay::Replay;
use crate::core::text::elsewhere::PathRules;
use crate::core::text::one_line;

/// What an agent speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dialect {
    /// The Agent Client Protocol.
    Official,
    /// Its second version, and the first where the agent has no other.
    V2,
    /// A document of early 2026 that calls itself so, with other fields.
    Draft,
}

/// How to start an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The configured name, as in `:AcpChat {name}`.
    pub name: String,
    /// What the user has configured that it is called.
    pub title: Option<String>,
    pub command: String,
    pub args: Vec<String>,
    /// Added to Neovim's own environment.
    pub env: Vec<(String, String)>,
    /// The working folder of the process; absolute.
    pub cwd: PathBuf,
    /// Where the user hasn't said it, the official one is tried.
    pub dialect: Option<Dialect>,
    /// In place of a program: what one said before is said again.
    pub replay: Option<Replay>,
    /// It runs elsewhere already, and no command starts it.
    pub remote: Option<Remote>,
    /// What its machine calls the folders of this one.
    pub paths: PathRules,
    /// It reads and writes no files through the client.
    pub without_files: bool,
    /// It runs no commands in terminals of the client.
    pub without_terminals: bool,
    /// What it and its commands are kept to.
    pub sandbox: Option<Box<Sandbox>>,
}

/// What an agent, and all that it starts, can reach beside the system's own files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// The session's folders.
    pub folders: Vec<PathBuf>,
    /// What else may be written, and read.
    pub write: Vec<PathBuf>,
    /// What else may be read.
    pub read: Vec<PathBuf>,
    pub network: Network,
}

/// Where a confined agent may connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    #[default]
    All,
    /// These ports of any machine, by TCP only. None at all is no network.
    Ports(Vec<u16>),
}

impl Launch {
    /// What it is called on screen before it has said its name.
    pub fn shown_name(&self) -> String {
        let title = self.title.as_deref().map(one_line).filter(|title| !title.is_empty());
        title.unwrap_or_else(|| self.name.clone())
    }
}

/// An MCP server passed on to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum McpServer {
    Stdio {
        name: String,
        command: PathBuf,
        args: Vec<String>,
        env: Vec<(String, String)>,
    },
    Http {
        name: String,
        url: String,
        headers: Vec<(String, String)>,
    },
    Sse {
        name: String,
        url: String,
        headers: Vec<(String, String)>,
    },
    /// One of ours, reached by messages of ACP.
    Acp {
        name: String,
        id: String,
    },
}

impl McpServer {
    pub fn name(&self) -> &str {
        match self {
            Self::Stdio { name, .. }
            | Self::Http { name, .. }
            | Self::Sse { name, .. }
            | Self::Acp { name, .. } => name,
        }
    }
}

/// By which way an agent reaches the tools of the editor's, where it can go that way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolsTransport {
    /// By a program that it starts.
    #[default]
    Stdio,
    /// By HTTP on this machine's own address.
    Http,
    /// By messages of ACP.
    Acp,
}

/// The MCP server of the editor's tools, as it is offered to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorTools {
    /// What the agent calls it.
    pub name: String,
    pub prefers: ToolsTransport,
    /// The agent runs on another machine, which has no bridge and reaches no port of this one.
    pub is_elsewhere: bool,
    /// Knowing it lets in, to this session's tools.
    pub token: String,
    /// The bridge: a program that an agent can start, and what it is given.
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Where the bridge comes in.
    pub socket: PathBuf,
}

/// Where a new session works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The session's root; absolute.
    pub cwd: PathBuf,
    /// Further roots; absolute, only sent where the agent takes them.
    pub additional: Vec<PathBuf>,
    pub mcp_servers: Vec<McpServer>,
    /// Joins the servers once it is known how the agent reaches them.
    pub tools: Option<Box<EditorTools>>,
    /// Only sent where the agent takes one.
    pub system_prompt: Option<SystemPrompt>,
    /// Only sent where the agent wants to know it when it opens the session.
    pub beginning: Box<Beginning>,
}

impl Place {
    /// All of its roots, where it works first.
    pub fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.cwd].into_iter().chain(&self.additional)
    }
}

/// What a new session is to be set to from its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beginning {
    pub mode: Option<String>,
    /// By name; of several values of one the last counts.
    pub options: Vec<(String, String)>,
}

/// What the user tells the model before anybody says anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemPrompt {
    pub text: String,
    /// More of it is in this file; absolute.
    pub file: Option<PathBuf>,
    /// It takes the place of the agent's own, where the agent offers that.
    pub replaces: bool,
}

/// How to take up a stored session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reopen {
    /// `session/load`: the agent sends all of it again, before it answers.
    Load,
    /// `session/resume`: the agent sends nothing of what was.
    Resume,
    /// `session/fork`: another session begins with all that was said in that one, of which the agent sends nothing.
    Fork,
}

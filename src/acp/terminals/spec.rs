//! What is run in a terminal, within which limits, and what can be said of it to an agent.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::core::ids::TerminalId;
use crate::core::message::Exit;

/// How long a command that is asked to end may take to do so.
pub const GRACE: Duration = Duration::from_secs(2);
/// Until a window says otherwise.
pub const SIZE: (u16, u16) = (24, 80);

/// What commands may use; each is an option of the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many may run at once. Ended ones do not count, since many agents never release a terminal.
    pub at_once: usize,
    /// The most bytes kept of a command's output, whatever the agent asks for.
    pub output: usize,
    /// How long one may run.
    pub time: Option<Duration>,
    /// That time is what the agent wants, which is less than the user's.
    pub is_agents: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { at_once: 32, output: 1 << 20, time: None, is_agents: false }
    }
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalSpec {
    /// A program, or with no `args` a line of shell code.
    pub command: String,
    pub args: Vec<String>,
    /// On top of Neovim's own environment and of what makes programs behave.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// In bytes; more than our own limit has no effect.
    pub output_limit: Option<u64>,
    /// How long it may run, if that is less than our own limit.
    pub timeout: Option<Duration>,
}

/// What an agent may know of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalOutput {
    pub text: String,
    /// The text lacks its beginning.
    pub truncated: bool,
    /// Only once the command is over and all that it wrote is in the text.
    pub exit: Option<Exit>,
}

/// Fits after "couldn't run the command: " and, for the last four, "couldn't use the terminal: ".
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("the command is empty; name a program")]
    NoCommand,
    #[error("no such program {0:?}; check its name and $PATH, or give its full path")]
    NoProgram(String),
    #[error("no such file {}; check the path", .0.display())]
    NoFile(PathBuf),
    #[error("{} is not an executable file; run it through its interpreter, or make it executable", .0.display())]
    NotExecutable(PathBuf),
    #[error("the folder {} is not absolute; give the full path", .0.display())]
    RelativeFolder(PathBuf),
    #[error("there is no folder {}; create it first, or give another", .0.display())]
    NoFolder(PathBuf),
    #[error("by now the folder {} leads elsewhere; ask for it again", .0.display())]
    Moved(PathBuf),
    #[error("{0:?} is not the name of an environment variable; leave it out")]
    Variable(String),
    #[error("the system can't start {command:?}: {source}")]
    Start { command: String, source: io::Error },
    #[error("the system has no terminal for it: {0}; end other commands first")]
    System(io::Error),
    #[error(
        "{0} commands run already, which is the user's limit (terminal.limit); wait for one or kill one first"
    )]
    TooMany(usize),
    #[error("Neovim is leaving")]
    Leaving,
    #[error("the terminal {:?} was released; create a new one", .0.0)]
    Released(TerminalId),
    #[error("this session has no terminal {:?}; create one first", .0.0)]
    Unknown(TerminalId),
}

//! What the background needs to know of the user's options.

use std::path::PathBuf;
use std::time::Duration;

use super::files::index::MAX_FILES;
use super::remote::Pace;
use super::terminals::Limits;

#[derive(Clone, Debug)]
pub struct Settings {
    /// This plugin's version, as agents are told.
    pub client_version: String,
    /// How long an agent may take to answer `initialize`; the first start of many is a download.
    pub initialize_timeout: Duration,
    /// How long it may take to answer other requests that somebody waits for.
    pub request_timeout: Duration,
    /// How long a prompt and the end of a turn may wait for a look at the session's folders.
    pub folder_patience: Duration,
    /// Of a folder with more files no changes are noticed.
    pub most_files: usize,
    /// The most bytes of one message of an agent.
    pub message_limit: usize,
    /// Where to keep a log of all messages.
    pub log: Option<PathBuf>,
    /// The folder of the record of what agents ask for and do, if it is kept.
    pub audit: Option<PathBuf>,
    /// Folders of Neovim's own: what changes there is nobody's change of a project.
    pub own: Vec<PathBuf>,
    /// Whether agents may write files through the client.
    pub can_write: bool,
    /// Whether agents may read files through the client.
    pub can_read: bool,
    /// Whether agents may run commands in terminals of the client.
    pub can_run: bool,
    /// Whether the user can log in by running the agent's program in a terminal.
    pub can_log_in: bool,
    /// Whether agents are told that they may name another program for that.
    pub wants_login_commands: bool,
    /// The program that adopts what agents and commands leave behind, where the system has such a thing.
    pub keeper: Option<PathBuf>,
    /// How long connections to agents elsewhere are waited for.
    pub pace: Pace,
    /// What commands in terminals may use.
    pub terminals: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            initialize_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(30),
            folder_patience: Duration::from_secs(1),
            most_files: MAX_FILES,
            message_limit: 32 << 20,
            log: None,
            audit: None,
            own: Vec::new(),
            can_write: true,
            can_read: true,
            can_run: true,
            can_log_in: true,
            wants_login_commands: false,
            keeper: None,
            pace: Pace::default(),
            terminals: Limits::default(),
        }
    }
}

//! The background, as the editor's side sees it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::core::message::Command;
use crate::mailbox::Mailbox;

/// The other side, as this one sees it.
pub trait Background {
    /// Never blocks.
    fn send(&self, command: Command);
    /// Frees what is not needed any more, and may take long to free.
    fn discard(&self, what: Box<dyn Send>);
    /// Ends every process, or leaves that to whoever outlives Neovim. Waits for at most `limit`.
    fn leave(&self, limit: Duration);
}

/// Starts the background.
pub type Start = fn(Arc<Mailbox>, &Config, Places) -> Box<dyn Background>;

/// Where things are on this machine.
pub struct Places {
    /// The log of all messages, if it is kept.
    pub log: Option<PathBuf>,
    /// The folder of the record of what agents do, if it is kept.
    pub audit: Option<PathBuf>,
    /// The program that comes along with the library.
    pub bundled: Option<PathBuf>,
    /// Where Neovim, and this plugin, keep what is theirs.
    pub own: Vec<PathBuf>,
}

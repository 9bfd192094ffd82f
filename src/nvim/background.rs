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

/// Starts the background; the last arguments are where to write the messages down, where to record what
/// agents do, and the program that comes with the library.
pub type Start =
    fn(Arc<Mailbox>, &Config, Option<PathBuf>, Option<PathBuf>, Option<PathBuf>) -> Box<dyn Background>;

//! The background, as the editor's side sees it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mlua::Result;

use crate::config::Config;
use crate::core::message::Command;
use crate::mailbox::Mailbox;
use crate::nvim::context::Context;

/// So long the editor waits for the other side when it exits.
const PARTING: Duration = Duration::from_millis(400);

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

/// The way to the other side, which is started when something is to be sent.
pub struct Link {
    start: Start,
    mailbox: Arc<Mailbox>,
    background: Option<Box<dyn Background>>,
}

impl Link {
    pub fn new(start: Start, mailbox: Arc<Mailbox>) -> Self {
        Self { start, mailbox, background: None }
    }

    pub fn is_started(&self) -> bool {
        self.background.is_some()
    }

    pub fn start(&mut self, config: &Config, places: Places) {
        self.background = Some((self.start)(self.mailbox.clone(), config, places));
    }

    pub fn send(&self, command: Command) {
        if let Some(background) = &self.background {
            background.send(command);
        }
    }

    pub fn discard(&self, what: Box<dyn Send>) {
        if let Some(background) = &self.background {
            background.discard(what);
        }
    }

    /// Waits for a short while at the most.
    pub fn leave(&mut self) {
        if let Some(background) = self.background.take() {
            background.leave(PARTING);
        }
    }

    /// Has the drain run again.
    pub fn ring(&self) {
        self.mailbox.wake_after_failed_read();
    }
}

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

impl Places {
    /// `audit` is the folder of the record if that is kept.
    pub fn of(cx: &Context, audit: &Path, bundled: Option<&Path>) -> Result<Self> {
        let mut own = Vec::new();
        for name in ["state", "cache", "log"] {
            let folder = PathBuf::from(cx.editor.func::<String>("stdpath", name)?);
            // Of who works on Neovim's state itself, only the plugin's part of it is left out.
            own.extend([folder.join("acp"), folder]);
        }
        let audit = cx.config.audit.then(|| audit.to_owned());
        Ok(Self { log: cx.log(), audit, bundled: bundled.map(Path::to_owned), own })
    }
}

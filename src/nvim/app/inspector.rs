//! The router's part for the inspector.

use std::path::PathBuf;

use mlua::Result;

use crate::core::inspector::Target;
use crate::nvim::app::App;
use crate::nvim::arguments::{Args, fail};
use crate::platform::paths::home_expanded;

impl App {
    /// Saves what went over the wire: of the session's agent here, else of whichever spoke last.
    pub fn record_wire(&mut self, args: &Args) -> Result<()> {
        let Some(name) = args.first() else {
            return fail("name the file to save to, as in :Acp record bug.jsonl");
        };
        let path = self.absolute(name);
        let session = self.cx.session_here().and_then(|key| self.cx.sessions.get(&key));
        let agent = session.map(|session| session.agent_name.clone());
        let target = Target { path, replaces: args.bang };
        self.inspector.record(&mut self.cx, target, agent)
    }

    /// A file that the user named, from where they are.
    pub(super) fn absolute(&self, name: &str) -> PathBuf {
        self.cx.editor.cwd().join(home_expanded(name))
    }
}

//! The router's part for agents: what others want of them, and what they need to know of others.

use std::path::PathBuf;

use mlua::Result;

use crate::core::message::Launch;
use crate::core::store::registry::Change;
use crate::nvim::app::App;
use crate::nvim::app_of;
use crate::nvim::context::Then;

impl App {
    /// Asks the disk what is approved and downloaded, after a change to it.
    pub fn read_agents(
        &mut self,
        change: Change,
        then: impl FnOnce(&mut Self, Option<String>) -> Result<()> + 'static,
    ) -> Result<()> {
        let then: Then<Option<String>> = Box::new(move |features, failure| then(app_of(features), failure));
        self.agents.read(&mut self.cx, change, move |_, cx, failure| {
            cx.resume(then, failure);
            Ok(())
        });
        self.route()
    }

    /// Finds out how an agent is started, which may take questions and a download, and goes on with that.
    pub fn launch_agent(
        &mut self,
        name: &str,
        cwd: PathBuf,
        then: impl FnOnce(&mut Self, Launch) -> Result<()> + 'static,
    ) -> Result<()> {
        let then: Then<Launch> = Box::new(move |features, launch| then(app_of(features), launch));
        self.agents.launch(&mut self.cx, name, cwd, then)?;
        self.route()
    }
}

//! The router's part for agents: what others want of them, and what they need to know of others.

use std::path::PathBuf;

use mlua::{Function, Result};

use crate::config::Choice;
use crate::core::message::Launch;
use crate::core::store::registry::Change;
use crate::nvim::app::App;
use crate::nvim::app_of;
use crate::nvim::arguments::Args;
use crate::nvim::context::Then;

impl App {
    pub fn open_agents(&mut self, args: &Args) -> Result<()> {
        self.agents.open(&mut self.cx, args.bang)?;
        self.route()
    }

    pub fn tell_agents(&mut self, then: Function) -> Result<()> {
        self.agents.tell(&mut self.cx, then);
        self.route()
    }

    pub fn all_agents(&self) -> Vec<Choice> {
        self.agents.all(&self.cx)
    }

    /// The agents that can be started, as far as it is known.
    pub fn available_agents(&self) -> Vec<Choice> {
        self.agents.available(&self.cx)
    }

    pub fn show_agents(&mut self, name: Option<&str>) -> Result<()> {
        self.agents.show(&self.cx, name)
    }

    pub fn hide_agents(&mut self) -> Result<()> {
        self.agents.hide(&self.cx)
    }

    pub fn draw_agents(&mut self) -> Result<()> {
        self.agents.draw(&self.cx)
    }

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

    pub fn agents_key(&mut self, name: &str) -> Option<Result<()>> {
        let done = match name {
            "agents_help" => self.show_keys(),
            "agents_remove" => {
                let programs = self.sessions.programs();
                self.agents.remove_listed(&mut self.cx, &programs)
            }
            _ => self.agents.key(&mut self.cx, name)?,
        };
        Some(done.and_then(|()| self.route()))
    }
}

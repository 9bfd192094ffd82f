//! Nothing to be done: whatever agents and commands start is in jobs of this Neovim's
//! (`platform::group`), and the system ends those with the process that holds them, however it ends.

use std::sync::Arc;

use crate::acp::processes::escaped::{Mark, Noted};
use crate::acp::wire::log::WireLog;
use crate::platform::group::Group;

pub struct Guard {
    agents: Mark,
}

impl Guard {
    pub fn start() -> Arc<Self> {
        Arc::new(Self { agents: Mark::of_agents() })
    }

    pub fn logging(_: WireLog) -> Arc<Self> {
        Self::start()
    }

    /// Nobody looks for it, but agents find the same variables on all systems.
    pub fn mark_of_agent(&self) -> Mark {
        self.agents.clone()
    }

    pub fn mark_agents(&self) {}

    pub fn mark_kept_agents(&self) {}

    pub fn mark_kept(&self, _: &Mark) {}

    pub fn mark(&self, _: &Mark) {}

    pub fn note(&self, _: &[Noted]) {}

    pub fn add(&self, _: &Group) {}

    pub fn remove(&self, _: &Group) {}

    /// Whether what is left when Neovim ends will be ended: by the system.
    pub fn holds(&self) -> bool {
        true
    }
}

//! The process between Neovim and an agent that adopts whatever the agent's processes leave behind, where
//! the system has such a thing. Without one, agents are started straight, and `guard` and `escaped` find
//! what they can.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use self::linux::{Keeper, spawn};

#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(not(target_os = "linux"))]
pub use self::none::{Keeper, spawn};

use std::process::Child;

use crate::platform::group::Group;

/// An agent that was started under a keeper.
pub struct Kept {
    /// The keeper, which has the agent's pipes.
    pub child: Child,
    /// The keeper's own group.
    pub keepers: Group,
    /// The agent itself, and the group that it leads.
    pub agent: u32,
    pub group: Group,
    pub keeper: Keeper,
}

/// Why an agent does not run under a keeper.
pub enum Unkept {
    /// There is none, or it does not do as it should.
    NoKeeper,
    /// The agent's program cannot be run.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nobody but a keeper says so"))]
    Agent(std::io::Error),
}

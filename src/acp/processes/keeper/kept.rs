//! What comes of starting a program under a keeper.

use std::process::Child;

use crate::platform::group::Group;

/// An agent that was started under a keeper.
pub struct Kept<K> {
    /// The keeper, which has the agent's pipes.
    pub child: Child,
    /// The keeper's own group.
    pub keepers: Group,
    /// The agent itself, and the group that it leads.
    pub agent: u32,
    pub group: Group,
    pub keeper: K,
}

/// Why a program does not run under a keeper.
pub enum Unkept {
    /// There is none, or it does not do as it should.
    NoKeeper,
    /// The program cannot be run.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nobody but a keeper says so"))]
    Program(std::io::Error),
}

//! By what a process is known that has left its parents and its group: a mark in its environment, its start,
//! the process it came from.

use std::ops::RangeInclusive;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that every command in a terminal has.
const TERMINAL: &str = "ACP_TERMINAL";
/// The variable that every agent has. A command of a terminal has it only if Neovim itself has.
const AGENT: &str = "ACP_AGENT";

/// A variable that a process and all that it starts carry, or how those of several processes begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    name: &'static str,
    value: String,
}

/// A process that needs no mark. With its start it is told from a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(windows, expect(dead_code, reason = "nobody can leave a job"))]
pub struct Noted {
    pub process: i32,
    pub start: u64,
}

impl Mark {
    /// How the marks of all terminals begin; no other Neovim's do so.
    pub fn of_terminals() -> Self {
        Self { name: TERMINAL, value: unique() }
    }

    /// The same for all agents.
    pub fn of_agents() -> Self {
        Self { name: AGENT, value: unique() }
    }

    /// A longer mark, for some of those that this one is for.
    pub fn with(&self, part: u64) -> Self {
        Self { name: self.name, value: format!("{}{part}.", self.value) }
    }

    /// Gives the mark to a command that is about to be started.
    pub fn put_on(&self, command: &mut Command) {
        command.env(self.name, &self.value);
    }

    /// As it stands in an environment.
    #[cfg_attr(windows, expect(dead_code, reason = "nobody can leave a job"))]
    pub fn entry(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

/// An agent's process and its mark: all that is needed to find what it has started.
#[derive(Clone, Debug)]
#[cfg_attr(windows, expect(dead_code, reason = "nobody can leave a job"))]
pub struct Origin {
    pub process: u32,
    pub mark: Mark,
}

/// When something was started, in the ticks of [`now`].
pub type Span = RangeInclusive<u64>;

/// Takes the marks off a command that is to outlive what has them: Neovim may itself run in one.
#[cfg_attr(windows, expect(dead_code, reason = "there is no guard"))]
pub fn unmark(command: &mut Command) {
    command.env_remove(TERMINAL).env_remove(AGENT);
}

fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{:x}-{count}.", std::process::id(), since.as_nanos())
}

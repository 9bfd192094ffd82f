//! All terminals that there are, by the names that agents use and by what is left to be done for them. Their
//! threads tell here what became of each.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::spec::TerminalError;
use super::terminal::Terminal;
use crate::acp::processes::guard::Guard;
use crate::core::ids::{SessionKey, TerminalId};
use crate::mailbox::Mailbox;

/// What the terminals' threads have in common.
pub struct Registry {
    pub mailbox: Arc<Mailbox>,
    pub guard: Arc<Guard>,
    pub table: Mutex<Table>,
    /// Rung when a process group is gone.
    pub gone: Condvar,
}

#[derive(Default)]
pub struct Table {
    /// By the names that agents use; none once it is released.
    pub named: HashMap<(SessionKey, TerminalId), Option<Arc<Terminal>>>,
    /// By number, as long as anything of the terminal is left to be done.
    pub alive: HashMap<u64, Arc<Terminal>>,
    pub last_number: u64,
    /// Commands that have not ended.
    pub running: usize,
    /// Process groups of which something is left.
    pub groups: usize,
    pub leaving: bool,
    /// What runs is the guard's business.
    pub left: bool,
}

impl Table {
    /// From here on nothing starts. Gives what still runs.
    pub fn leave(&mut self) -> Vec<Arc<Terminal>> {
        self.leaving = true;
        self.named.clear();
        self.alive.values().cloned().collect()
    }
}

impl Registry {
    /// Counts a command before it starts, so that the limit holds however many start at once.
    pub fn reserve(&self, limit: usize) -> Result<u64, TerminalError> {
        let mut table = self.lock();
        if table.leaving {
            return Err(TerminalError::Leaving);
        }
        if table.running >= limit {
            return Err(TerminalError::TooMany(limit));
        }
        table.running += 1;
        table.last_number += 1;
        Ok(table.last_number)
    }

    /// Whether everything is ending, and so must this.
    pub fn register(&self, terminal: &Arc<Terminal>) -> bool {
        self.guard.add(&terminal.group);
        let mut table = self.lock();
        table.groups += 1;
        table.alive.insert(terminal.number, terminal.clone());
        if !table.leaving {
            table.named.insert((terminal.session, terminal.id.clone()), Some(terminal.clone()));
        }
        table.leaving
    }

    /// A command is over.
    pub fn ended(&self) {
        self.lock().running -= 1;
    }

    /// Nothing of the terminal's process group is left.
    pub fn gone(&self, terminal: &Terminal) {
        self.guard.remove(&terminal.group);
        self.lock().groups -= 1;
        self.gone.notify_all();
    }

    /// Nothing is left to be done for the terminal.
    pub fn over(&self, terminal: &Terminal) {
        self.lock().alive.remove(&terminal.number);
    }

    pub fn lock(&self) -> MutexGuard<'_, Table> {
        // No step under this lock can panic halfway.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

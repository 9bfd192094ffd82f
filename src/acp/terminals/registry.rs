//! All terminals that there are, by the names that agents use and by what is left to be done for them. Their
//! threads tell here what became of each.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::spec::TerminalError;
use super::terminal::Terminal;
use crate::acp::processes::guard::Guard;
use crate::acp::processes::keeper::CommandKeeper;
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
    /// By number, as long as they keep anything.
    pub kept: HashMap<u64, Kept>,
    pub leaving: bool,
    /// What runs is the guard's business.
    pub left: bool,
}

/// What adopts all that a command starts.
pub struct Kept {
    session: SessionKey,
    keeper: Arc<CommandKeeper>,
    /// The command has ended.
    is_over: bool,
    /// Whatever it left behind is to end.
    is_unwanted: bool,
}

impl Kept {
    /// A command that runs is asked to end as such, and has the time for it that it is given.
    fn end_if_over(&self) {
        if self.is_over && self.is_unwanted {
            self.keeper.end();
        }
    }
}

impl Table {
    /// What the commands of a session have left behind, or will leave, is to end with them; without a session, that of
    /// all.
    pub fn end_kept(&mut self, session: Option<SessionKey>) {
        for kept in self.kept.values_mut().filter(|kept| session.is_none_or(|of| of == kept.session)) {
            kept.is_unwanted = true;
            kept.end_if_over();
        }
    }

    /// From here on nothing starts. Gives what still runs.
    pub fn leave(&mut self) -> Vec<Arc<Terminal>> {
        self.leaving = true;
        self.end_kept(None);
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
        // What a keeper has is ended by that.
        if terminal.keeper.is_none() {
            self.guard.add(&terminal.group);
        }
        let mut table = self.lock();
        if let Some(keeper) = &terminal.keeper {
            let (session, keeper) = (terminal.session, keeper.clone());
            let kept = Kept { session, keeper, is_over: false, is_unwanted: table.leaving };
            table.kept.insert(terminal.number, kept);
        }
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

    /// The keeper was ended by somebody.
    pub fn keeper_lost(&self, terminal: &Terminal) {
        self.guard.add(&terminal.group);
        self.guard.mark(&terminal.mark);
    }

    /// A command that has a keeper is over.
    pub fn command_over(&self, terminal: &Terminal) {
        if let Some(kept) = self.lock().kept.get_mut(&terminal.number) {
            kept.is_over = true;
            kept.end_if_over();
        }
    }

    /// Nothing of all that the command has started is left.
    pub fn keeper_gone(&self, terminal: &Terminal) {
        self.lock().kept.remove(&terminal.number);
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

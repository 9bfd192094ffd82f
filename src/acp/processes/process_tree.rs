//! An agent with all that it started, from the start to the end: its group, its mark, its keeper, and how each
//! of them is signalled and waited for.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::escaped::{self, Mark, Noted};
use super::guard::Guard;
use super::keeper::Keeper;
use crate::core::message::Exit;
use crate::platform::Signal;
use crate::platform::group::Group;

/// An agent with all that it started.
pub struct ProcessTree {
    /// The agent's process, or its keeper's: all else is below.
    pub root: u32,
    /// The agent's process.
    pub pid: u32,
    pub group: Group,
    /// Of those that have left the group.
    pub mark: Mark,
    /// Of those as well that have no mark; known from the beginning of the end.
    pub noted: Vec<Noted>,
    pub guard: Arc<Guard>,
    /// The keeper, and its group.
    pub kept: Option<(Arc<Keeper>, Group)>,
    /// Somebody has ended the keeper.
    pub lost: Arc<AtomicBool>,
    pub state: TreeState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TreeState {
    Ours,
    /// Left to the guard, since Neovim leaves.
    Left,
    Gone,
}

/// What a thread needs to wait for the agent.
pub struct Waiting {
    group: Group,
    keeper: Option<Arc<Keeper>>,
    lost: Arc<AtomicBool>,
    guard: Arc<Guard>,
}

impl Waiting {
    /// Blocks until the agent has ended, and tells how. `child` is the agent, or its keeper.
    pub fn wait(self, mut child: Child, ended: &watch::Sender<Option<Exit>>) {
        let Some(keeper) = self.keeper else {
            // An error means that somebody else has taken the status; the process is gone in any case.
            let exit = child.wait().map(|status| self.group.exit(status)).unwrap_or_default();
            ended.send_replace(Some(exit));
            return;
        };
        let exit = keeper.wait_for_leader().map(|status| self.group.exit(status));
        if exit.is_none() {
            // Somebody has ended the keeper, and nobody adopts what the agent leaves any more.
            self.lost.store(true, Ordering::Release);
            self.guard.add(&self.group);
            self.guard.mark_agents();
        }
        // Told before the keeper's end comes.
        ended.send_replace(Some(exit.unwrap_or_default()));
        // It stays in the table of processes otherwise.
        let _ = child.wait();
    }
}

impl ProcessTree {
    pub fn waiting(&self) -> Waiting {
        Waiting {
            group: self.group.clone(),
            keeper: self.kept.as_ref().map(|(keeper, _)| keeper.clone()),
            lost: self.lost.clone(),
            guard: self.guard.clone(),
        }
    }

    /// Notes what the agent has started that may have neither its group nor its mark any more.
    pub async fn note(&mut self) {
        // What a keeper that is gone had adopted is nobody's.
        let agent = if self.lost.load(Ordering::Acquire) { self.pid } else { self.root };
        // A panic is as good as nothing to note: groups and marks find most.
        self.noted = spawn_blocking(move || escaped::below(agent)).await.unwrap_or_default();
        if !self.is_kept() {
            self.guard.note(&self.noted);
        }
    }

    pub async fn signal(&self, signal: Signal) {
        let (mark, noted) = (self.mark.clone(), self.noted.clone());
        // A keeper that does not do its work is the last to be ended.
        let keepers = self.kept.as_ref().filter(|_| self.is_kept()).map(|(_, group)| group.clone());
        let group = self.group.clone();
        let work = move || match keepers {
            Some(keepers) => {
                escaped::signal(&mark, &noted, &[], signal);
                keepers.signal(signal);
            }
            None => {
                group.signal(signal);
                escaped::signal(&mark, &noted, &[group], signal);
            }
        };
        // A panic is as good as a signal that nobody took: the next step follows.
        let _ = spawn_blocking(work).await;
    }

    /// Whether a keeper ends what is left.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some() && !self.lost.load(Ordering::Acquire)
    }

    pub fn forget(&mut self) {
        self.state = TreeState::Gone;
        self.guard.remove(&self.group);
    }
}

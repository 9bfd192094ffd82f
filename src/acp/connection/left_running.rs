//! What goes on of turns that were stopped. Commands in terminals are ended: some agents wait for one that waits for
//! input. What an agent has started itself is named a moment after the end of the turn, and again whenever some of
//! it has ended; ending that is the dispatcher's part.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::state::Connection;
use crate::acp::processes::escaped::{self, Origin, Span};
use crate::acp::shared::Shared;
use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::{Event, LeftCommand};

/// What was asked to end needs a moment for it.
const PATIENCE: Duration = Duration::from_millis(700);

/// An agent that ends its commands itself has done so by then.
const OWN_CARE: Duration = Duration::from_millis(1000);

/// Looks at what goes on of a session's turns, until a later one does.
struct LeftRunning {
    shared: Arc<Shared>,
    session: SessionKey,
    origin: Origin,
    turns: Vec<Span>,
    number: u64,
    last: Arc<AtomicU64>,
}

impl Connection {
    /// Ends commands of a turn that is being stopped, unless their agent does so first.
    pub(super) fn end_terminals_soon(&self, session: SessionKey, terminals: Vec<TerminalId>) {
        if terminals.is_empty() {
            return;
        }
        let shared = self.shared.clone();
        tokio::spawn(async move {
            sleep(OWN_CARE).await;
            for terminal in &terminals {
                // One that is gone already needs no ending.
                let _ = shared.terminals.kill(session, terminal);
            }
        });
    }

    /// SessionNames what was started since then and goes on, if there is anything.
    pub(super) fn tell_left_running(&mut self, session: SessionKey, since: u64) {
        // What belongs to which of two turns cannot be told.
        if self.sessions.any_turn() {
            return;
        }
        let Some(origin) = self.origin.clone() else { return };
        let Some(known) = self.sessions.get_mut(session) else { return };
        known.left.turns.push(since..=escaped::now());
        let watch = LeftRunning {
            shared: self.shared.clone(),
            session,
            origin,
            turns: known.left.turns.clone(),
            number: known.left.watch.fetch_add(1, Ordering::Relaxed) + 1,
            last: known.left.watch.clone(),
        };
        tokio::spawn(async move {
            sleep(PATIENCE).await;
            // A panic is as good as nothing that goes on.
            let _ = spawn_blocking(move || watch.begin()).await;
        });
    }
}

impl LeftRunning {
    /// Tells what goes on. If anything does, a thread waits for its end, perhaps for days.
    fn begin(self) {
        let commands = self.look();
        if commands.is_empty() {
            return;
        }
        self.tell(&commands);
        // Without a thread what has ended is still said to go on, until the agent ends.
        let _ = thread::Builder::new().name("acp-left".into()).spawn(move || self.wait(commands));
    }

    fn wait(&self, mut commands: Vec<LeftCommand>) {
        while !commands.is_empty() {
            escaped::wait_for_one(&commands);
            let now = self.look();
            // Where the system does not tell when one ends, nobody asks again and again.
            if now == commands || self.last.load(Ordering::Relaxed) != self.number {
                return;
            }
            commands = now;
            self.tell(&commands);
        }
    }

    fn look(&self) -> Vec<LeftCommand> {
        escaped::begun(&self.origin, &self.turns)
    }

    fn tell(&self, commands: &[LeftCommand]) {
        self.shared.mailbox.post(Event::LeftRunning { session: self.session, commands: commands.to_vec() });
    }
}

//! The editor's handle to the background: commands go in, and Neovim's end waits here for all agents and
//! all they run. The work itself is `dispatcher`'s.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::mpsc;

use super::dispatcher::{Dispatcher, EXIT_LIMIT, Order};
use super::mutex::lock;
use super::refusals::refuse;
use super::settings::Settings;
use crate::core::message::{Command, Failure, FailureKind};
use crate::mailbox::Mailbox;
use crate::platform::memory;

/// The editor's side of the background.
pub struct Background {
    orders: mpsc::UnboundedSender<Order>,
    mailbox: Arc<Mailbox>,
    end: Arc<EndSignal>,
}

/// Starts the background on its own thread.
pub fn start(mailbox: Arc<Mailbox>, settings: Settings) -> Background {
    // Before the first of its threads has a heap.
    memory::keep_little();
    let (orders, queue) = mpsc::unbounded_channel();
    let end = Arc::new(EndSignal::default());
    let started = thread::Builder::new().name("acp".into()).spawn({
        let (mailbox, end) = (mailbox.clone(), end.clone());
        move || {
            // Also after a panic: a caller that waits for the end must not wait in vain.
            let _set = SetOnDrop(end);
            // The reason is in the log of the panic hook; what is left to do is to say that it is over.
            let _ = catch_unwind(AssertUnwindSafe(|| work(mailbox, settings, queue)));
        }
    });
    if started.is_err() {
        end.set();
    }
    Background { orders, mailbox, end }
}

fn work(mailbox: Arc<Mailbox>, settings: Settings, orders: mpsc::UnboundedReceiver<Order>) {
    // Without a runtime the orders' other end closes, and each is answered as from a background that is gone.
    let Ok(runtime) = runtime::Builder::new_current_thread().enable_io().enable_time().build() else {
        return;
    };
    runtime.block_on(async { Dispatcher::new(mailbox, settings).run(orders).await });
    // A read of a dead network drive must not hold up Neovim's end.
    runtime.shutdown_background();
}

impl Background {
    /// Passes on a request. Never waits.
    pub fn send(&self, command: Command) {
        let order = match command {
            Command::Shutdown => Order::End(EXIT_LIMIT),
            command => Order::Do(command),
        };
        if let Err(mpsc::error::SendError(Order::Do(command))) = self.orders.send(order) {
            let message = "the plugin's background has ended; restart Neovim".to_owned();
            let failure = Failure { kind: FailureKind::Disconnected, message, details: None };
            refuse(&self.mailbox, None, command, failure);
        }
    }

    /// Frees what nobody needs any more, off the editor's thread: large data consists of many small pieces.
    pub fn discard(what: Box<dyn Send>) {
        let free = move || {
            drop(what);
            memory::give_back();
        };
        // Without a thread it was freed just now.
        let _ = thread::Builder::new().name("acp-discard".into()).spawn(free);
    }

    /// Ends all agents and all they run, and waits until they are gone, but no longer than `limit`.
    /// Returns whether they are.
    pub fn shut_down(&self, limit: Duration) -> bool {
        // A closed queue means that it is over already.
        let _ = self.orders.send(Order::End(limit));
        self.end.wait(limit)
    }

    /// Asks all agents and all they run to end, since Neovim does, and waits until what must be written is,
    /// but no longer than `limit`. The guard ends what doesn't.
    pub fn leave(&self, limit: Duration) {
        // The same.
        let _ = self.orders.send(Order::Leave);
        self.end.wait(limit);
    }
}

/// Whether the background's thread has ended.
#[derive(Default)]
struct EndSignal {
    ended: Mutex<bool>,
    told: Condvar,
}

impl EndSignal {
    fn set(&self) {
        *lock(&self.ended) = true;
        self.told.notify_all();
    }

    fn wait(&self, limit: Duration) -> bool {
        let ended = lock(&self.ended);
        *self.told.wait_timeout_while(ended, limit, |ended| !*ended).unwrap_or_else(PoisonError::into_inner).0
    }
}

struct SetOnDrop(Arc<EndSignal>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

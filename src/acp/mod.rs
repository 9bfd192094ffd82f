//! The background: agents, processes, terminals and the disk, spoken to in ACP. It runs on a thread
//! of its own; commands go in, events come out through the mailbox, and nothing here knows Neovim.

mod compute;
mod connection;
mod dispatcher;
mod extension_methods;
pub mod files;
pub mod processes;
pub mod quirks;
mod store;
pub mod terminals;
pub mod wire;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::mpsc;

use crate::core::message::{Command, Ending, Failure, FailureKind};
use crate::mailbox::Mailbox;
use crate::platform::memory;
use dispatcher::{Hub, Order};
use processes::agent_process;
use wire::{from_acp, rpc};

/// What the background needs to know of the user's options.
#[derive(Clone, Debug)]
pub struct Settings {
    /// This plugin's version, as agents are told.
    pub client_version: String,
    /// How long an agent may take to answer `initialize`; the first start of many is a download.
    pub initialize_timeout: Duration,
    /// The most bytes of one message of an agent.
    pub message_limit: usize,
    /// Where to keep a log of all messages.
    pub log: Option<PathBuf>,
    /// Whether agents may write files through the client.
    pub can_write: bool,
    /// Whether agents may read files through the client.
    pub can_read: bool,
    /// Whether agents may run commands in terminals of the client.
    pub can_run: bool,
    /// Whether the user can log in by running the agent's program in a terminal.
    pub can_log_in: bool,
    /// The program that adopts what agents leave behind, where the system has such a thing.
    pub keeper: Option<PathBuf>,
    /// What commands in terminals may use.
    pub terminals: terminals::Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            initialize_timeout: Duration::from_secs(60),
            message_limit: 32 << 20,
            log: None,
            can_write: true,
            can_read: true,
            can_run: true,
            can_log_in: true,
            keeper: None,
            terminals: terminals::Limits::default(),
        }
    }
}

/// How long everything may take to end when nobody says a limit, and nobody is there to take care of the rest.
const LEAVING: Duration = Duration::from_millis(300);
/// How long agents have when Neovim ends, before the guard takes care of them. Most need no more.
const EXIT_GRACE: Duration = Duration::from_millis(30);

/// The editor's side of the background.
pub struct Background {
    orders: mpsc::UnboundedSender<Order>,
    mailbox: Arc<Mailbox>,
    over: Arc<Over>,
}

/// Starts the background on its own thread.
pub fn start(mailbox: Arc<Mailbox>, settings: Settings) -> Background {
    let (orders, queue) = mpsc::unbounded_channel();
    let over = Arc::new(Over::default());
    let started = thread::Builder::new().name("acp".into()).spawn({
        let (mailbox, over) = (mailbox.clone(), over.clone());
        move || {
            // Also when it panics: whoever waits for the end must not wait in vain.
            let _tell = Tell(over);
            // The reason is in the log of the panic hook; what is left to do is to say that it is over.
            let _ = catch_unwind(AssertUnwindSafe(|| work(mailbox, settings, queue)));
        }
    });
    if started.is_err() {
        over.set();
    }
    Background { orders, mailbox, over }
}

fn work(mailbox: Arc<Mailbox>, settings: Settings, orders: mpsc::UnboundedReceiver<Order>) {
    // Without a runtime the orders' other end closes, and each is answered as from a background that is gone.
    let Ok(runtime) = runtime::Builder::new_current_thread().enable_time().build() else { return };
    runtime.block_on(async { Hub::new(mailbox, settings).run(orders).await });
    // A read of a dead network drive must not hold up Neovim's end.
    runtime.shutdown_background();
}

impl Background {
    /// Passes on a wish. Never waits.
    pub fn send(&self, command: Command) {
        let order = match command {
            Command::Shutdown => Order::End(LEAVING),
            command => Order::Do(command),
        };
        if let Err(mpsc::error::SendError(Order::Do(command))) = self.orders.send(order) {
            let message = "the plugin's background has ended; restart Neovim".to_owned();
            let failure = Failure { kind: FailureKind::Disconnected, message, details: None };
            dispatcher::refuse(&self.mailbox, None, command, failure);
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
        self.over.wait(limit)
    }

    /// Asks all agents and all they run to end, since Neovim does, and waits until what must be written is,
    /// but no longer than `limit`. The guard ends what doesn't.
    pub fn leave(&self, limit: Duration) {
        // The same.
        let _ = self.orders.send(Order::Leave);
        self.over.wait(limit);
    }
}

/// Whether the background's thread has ended.
#[derive(Default)]
struct Over {
    is: Mutex<bool>,
    told: Condvar,
}

/// For plain data that a panic cannot leave half changed in a way that matters.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Over {
    fn set(&self) {
        *lock(&self.is) = true;
        self.told.notify_all();
    }

    fn wait(&self, limit: Duration) -> bool {
        let is = lock(&self.is);
        *self.told.wait_timeout_while(is, limit, |over| !*over).unwrap_or_else(PoisonError::into_inner).0
    }
}

struct Tell(Arc<Over>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// What the updates in an agent's bytes say, read as they are read from its process; for benchmarks.
#[doc(hidden)]
pub fn updates_in(bytes: &[u8]) -> impl Iterator<Item = from_acp::Fact> {
    let log = wire::log::WireLog::start(None).agent("", &[]);
    let mut hearing = agent_process::Hearing::new(Settings::default().message_limit, log);
    bytes.chunks(64 << 10).flat_map(move |read| hearing.hear(read)).flat_map(|output| match output {
        agent_process::Output::Chunk(chunk) => vec![from_acp::Fact::Update(chunk.update())],
        agent_process::Output::Message(rpc::Message::Notification { params, .. }) => {
            from_acp::update(&params["update"])
        }
        _ => Vec::new(),
    })
}

/// Says why an agent that never came to life is gone.
fn stillborn(failure: Failure) -> Ending {
    Ending { failure: Some(failure), exit: None, stderr: Vec::new(), expected: false }
}

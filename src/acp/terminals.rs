//! The commands that agents run: each on a terminal of its own, in a process group of its own, with
//! a record that the agent reads and a paced stream that the editor shows. Who may run what, and
//! the protocol's words for it, are the callers' business.

pub(crate) mod agent_terminals;
mod output_throttle;
mod program;
mod pty;
mod pump;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::acp::processes::escaped::{self, Mark};
use crate::acp::processes::guard::Guard;
use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::{Event, Exit};
use crate::mailbox::Mailbox;
use crate::platform::Signal;
use crate::platform::group::Group;
use pump::Terminal;

/// How long a command that is asked to end may take to do so.
const GRACE: Duration = Duration::from_secs(2);
/// The same when Neovim is leaving, and waits.
const GRACE_AT_EXIT: Duration = Duration::from_millis(100);
/// Until a window says otherwise.
const SIZE: (u16, u16) = (24, 80);

/// What commands may use; each is an option of the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many may run at once. Ended ones do not count, since many agents never release a terminal.
    pub at_once: usize,
    /// The most bytes kept of a command's output, whatever the agent asks for.
    pub output: usize,
    /// How long one may run.
    pub time: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { at_once: 32, output: 1 << 20, time: None }
    }
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalSpec {
    /// A program, or with no `args` a line of shell code.
    pub command: String,
    pub args: Vec<String>,
    /// On top of Neovim's own environment and of what makes programs behave.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// In bytes; more than our own limit has no effect.
    pub output_limit: Option<u64>,
}

/// What an agent may know of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalOutput {
    pub text: String,
    /// The text lacks its beginning.
    pub truncated: bool,
    /// Only once the command is over and all that it wrote is in the text.
    pub exit: Option<Exit>,
}

/// Fits after "couldn't run the command: " and, for the last four, "couldn't use the terminal: ".
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("the command is empty; name a program")]
    NoCommand,
    #[error("no such program {0:?}; check its name and $PATH, or give its full path")]
    NoProgram(String),
    #[error("no such file {}; check the path", .0.display())]
    NoFile(PathBuf),
    #[error("{} is not an executable file; run it through its interpreter, or make it executable", .0.display())]
    NotExecutable(PathBuf),
    #[error("the folder {} is not absolute; give the full path", .0.display())]
    RelativeFolder(PathBuf),
    #[error("there is no folder {}; create it first, or give another", .0.display())]
    NoFolder(PathBuf),
    #[error("{0:?} is not the name of an environment variable; leave it out")]
    Variable(String),
    #[error("the system can't start {command:?}: {source}")]
    Start { command: String, source: io::Error },
    #[error("the system has no terminal for it: {0}; end other commands first")]
    System(io::Error),
    #[error(
        "{0} commands run already, which is the user's limit (terminal.limit); wait for one or kill one first"
    )]
    TooMany(usize),
    #[error("Neovim is leaving")]
    Leaving,
    #[error("the terminal {:?} was released; create a new one", .0.0)]
    Released(TerminalId),
    #[error("this session has no terminal {:?}; create one first", .0.0)]
    Unknown(TerminalId),
}

/// All terminals of all sessions. Everything may be called from any thread and returns at once;
/// only [`Self::end_all`] waits a moment.
pub struct Terminals {
    shared: Arc<Shared>,
    limits: Limits,
    /// How the marks of all commands begin.
    mark: Mark,
}

/// What the terminals' threads have in common.
struct Shared {
    mailbox: Arc<Mailbox>,
    guard: Arc<Guard>,
    registry: Mutex<Registry>,
    /// Rung when a process group is gone.
    gone: Condvar,
}

#[derive(Default)]
struct Registry {
    /// By the names that agents use; none once it is released.
    named: HashMap<(SessionKey, TerminalId), Option<Arc<Terminal>>>,
    /// By number, as long as anything of the terminal is left to be done.
    alive: HashMap<u64, Arc<Terminal>>,
    last_number: u64,
    /// Commands that have not ended.
    running: usize,
    /// Process groups of which something is left.
    groups: usize,
    leaving: bool,
    /// What runs is the guard's business.
    left: bool,
}

impl Terminals {
    pub fn new(mailbox: Arc<Mailbox>, guard: Arc<Guard>) -> Self {
        let shared = Shared { mailbox, guard, registry: Mutex::default(), gone: Condvar::new() };
        Self { shared: Arc::new(shared), limits: Limits::default(), mark: Mark::of_terminals() }
    }

    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Starts a command; its output can be read at once.
    pub fn create(&self, session: SessionKey, spec: TerminalSpec) -> Result<TerminalId, TerminalError> {
        let mut command = program::command(&spec)?;
        let number = self.shared.reserve(self.limits.at_once)?;
        let mark = self.mark_of(session).with(number);
        mark.put_on(&mut command);
        if number == 1 {
            self.shared.guard.mark(&self.mark);
        }
        let limit = spec.output_limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let id = TerminalId(format!("terminal-{number}"));
        let limits = Limits { output: limit.min(self.limits.output), ..self.limits };
        let started = Terminal::start(session, id.clone(), (number, mark), command, limits);
        let (terminal, listener) = match started {
            Ok(started) => started,
            Err(error) => {
                self.shared.ended();
                return Err(match error {
                    pump::StartError::Terminal(error) => TerminalError::System(error),
                    pump::StartError::Program(source) => {
                        TerminalError::Start { command: spec.command, source }
                    }
                });
            }
        };
        let leaving = self.shared.register(&terminal);
        if !leaving {
            self.shared.mailbox.post(Event::TerminalStarted {
                session,
                terminal: id.clone(),
                command: program::line(&spec),
                cwd: spec.cwd,
                typing: true,
            });
        }
        if let Err(error) = terminal.run(&self.shared, listener) {
            self.shared.lock().named.remove(&(session, id));
            return Err(TerminalError::System(error));
        }
        if leaving {
            terminal.end(Duration::ZERO);
            return Err(TerminalError::Leaving);
        }
        Ok(id)
    }

    /// Whether the terminal was made here, for this session.
    pub fn has(&self, session: SessionKey, id: &TerminalId) -> bool {
        self.shared.lock().named.contains_key(&(session, id.clone()))
    }

    /// What the command printed so far.
    pub fn output(&self, session: SessionKey, id: &TerminalId) -> Result<TerminalOutput, TerminalError> {
        Ok(self.find(session, id)?.output())
    }

    /// Resolves when the command is over, at once if it is; any number may wait, and all are
    /// answered even if the terminal is released or everything ends.
    pub fn wait(
        &self,
        session: SessionKey,
        id: &TerminalId,
    ) -> Result<impl Future<Output = Exit> + Send + use<>, TerminalError> {
        Ok(self.find(session, id)?.wait())
    }

    /// Asks the command and all its children to end, and makes them after two seconds. The terminal
    /// stays readable.
    pub fn kill(&self, session: SessionKey, id: &TerminalId) -> Result<(), TerminalError> {
        self.find(session, id)?.end(GRACE);
        Ok(())
    }

    /// Ends the command if it runs, and forgets the terminal. What a command that is over has left
    /// behind on purpose (`nohup`) may run on until the session ends.
    pub fn release(&self, session: SessionKey, id: &TerminalId) -> Result<(), TerminalError> {
        let terminal = self.find(session, id)?;
        if terminal.is_running() {
            terminal.end(GRACE);
        }
        self.shared.lock().named.insert((session, id.clone()), None);
        Ok(())
    }

    /// Types into the terminal; nothing happens if it is gone.
    pub fn type_bytes(&self, session: SessionKey, id: &TerminalId, bytes: &[u8]) {
        if let Ok(terminal) = self.find(session, id) {
            terminal.type_bytes(bytes);
        }
    }

    /// Gives the terminal another size, in cells; nothing happens if it is gone.
    pub fn resize(&self, session: SessionKey, id: &TerminalId, rows: u16, columns: u16) {
        if let Ok(terminal) = self.find(session, id) {
            terminal.resize(rows, columns);
        }
    }

    /// Ends and forgets all that the session runs.
    pub fn end_session(&self, session: SessionKey) {
        let mut registry = self.shared.lock();
        registry.named.retain(|(of, _), _| *of != session);
        let ending: Vec<_> = registry.alive.values().filter(|t| t.session == session).cloned().collect();
        drop(registry);
        let groups = ending.iter().map(|terminal| terminal.group.clone()).collect();
        for terminal in ending {
            terminal.end(GRACE);
        }
        if self.shared.lock().last_number > 0 {
            escaped::end(self.mark_of(session), groups, GRACE);
        }
    }

    /// Ends everything, for good: asks all commands to end, waits until they have or 100 ms are
    /// over, and kills what is left.
    pub fn end_all(&self) {
        let (ending, has_run) = {
            let mut registry = self.shared.lock();
            if registry.left {
                return;
            }
            (registry.leave(), registry.last_number > 0)
        };
        for terminal in &ending {
            terminal.end(GRACE_AT_EXIT);
        }
        let groups: Vec<Group> = ending.iter().map(|terminal| terminal.group.clone()).collect();
        let escaped = has_run && escaped::signal(&self.mark, &[], &groups, Signal::Terminate) > 0;
        let registry = self.shared.lock();
        // Nobody tells of the end of what has escaped: that is given the whole time.
        let waited =
            self.shared.gone.wait_timeout_while(registry, GRACE_AT_EXIT, |r| r.groups > 0 || escaped);
        drop(waited);
        for terminal in &ending {
            terminal.end(Duration::ZERO);
        }
        if escaped {
            escaped::signal(&self.mark, &[], &[], Signal::Kill);
        }
    }

    /// Asks all commands to end, for good, and waits for none: Neovim leaves, and the guard does the rest.
    pub fn leave_to_guard(&self) {
        let ending = {
            let mut registry = self.shared.lock();
            registry.left = true;
            registry.leave()
        };
        for terminal in ending {
            terminal.end(GRACE);
        }
    }

    /// How the marks of a session's commands begin.
    fn mark_of(&self, session: SessionKey) -> Mark {
        self.mark.with(session.0.into())
    }

    fn find(&self, session: SessionKey, id: &TerminalId) -> Result<Arc<Terminal>, TerminalError> {
        match self.shared.lock().named.get(&(session, id.clone())) {
            Some(Some(terminal)) => Ok(terminal.clone()),
            Some(None) => Err(TerminalError::Released(id.clone())),
            None => Err(TerminalError::Unknown(id.clone())),
        }
    }
}

impl Drop for Terminals {
    fn drop(&mut self) {
        self.end_all();
    }
}

impl Registry {
    /// From here on nothing starts. Gives what still runs.
    fn leave(&mut self) -> Vec<Arc<Terminal>> {
        self.leaving = true;
        self.named.clear();
        self.alive.values().cloned().collect()
    }
}

impl Shared {
    /// Counts a command before it starts, so that the limit holds however many start at once.
    fn reserve(&self, limit: usize) -> Result<u64, TerminalError> {
        let mut registry = self.lock();
        if registry.leaving {
            return Err(TerminalError::Leaving);
        }
        if registry.running >= limit {
            return Err(TerminalError::TooMany(limit));
        }
        registry.running += 1;
        registry.last_number += 1;
        Ok(registry.last_number)
    }

    /// Whether everything is ending, and so must this.
    fn register(&self, terminal: &Arc<Terminal>) -> bool {
        self.guard.add(&terminal.group);
        let mut registry = self.lock();
        registry.groups += 1;
        registry.alive.insert(terminal.number, terminal.clone());
        if !registry.leaving {
            registry.named.insert((terminal.session, terminal.id.clone()), Some(terminal.clone()));
        }
        registry.leaving
    }

    /// A command is over.
    fn ended(&self) {
        self.lock().running -= 1;
    }

    /// Nothing of the terminal's process group is left.
    fn gone(&self, terminal: &Terminal) {
        self.guard.remove(&terminal.group);
        self.lock().groups -= 1;
        self.gone.notify_all();
    }

    /// Nothing is left to be done for the terminal.
    fn over(&self, terminal: &Terminal) {
        self.lock().alive.remove(&terminal.number);
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        // No step under this lock can panic halfway.
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

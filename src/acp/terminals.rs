//! The commands that agents run: each on a terminal of its own, in a process group of its own, with
//! a record that the agent reads and a paced stream that the editor shows. Who may run what, and
//! the protocol's words for it, are the callers' business.

pub(crate) mod agent_terminals;
mod followed_output;
mod output_throttle;
mod program;
mod pty;
mod pump;
mod registry;
pub mod spec;
mod terminal;

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use self::registry::Registry;
use self::spec::GRACE;
use self::terminal::{Start, StartError, Terminal};
use super::processes::escaped::{self, Mark};
use super::processes::guard::Guard;
use super::processes::sandbox::Confined;
use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::{Event, Exit};
use crate::mailbox::Mailbox;
use crate::platform::Signal;
use crate::platform::group::Group;

pub use followed_output::FollowedOutput;
pub use program::{line, shell};
pub use spec::{Limits, TerminalError, TerminalOutput, TerminalSpec};

/// The same when Neovim is leaving, and waits.
const GRACE_AT_EXIT: Duration = Duration::from_millis(100);

/// All terminals of all sessions. Everything may be called from any thread and returns at once;
/// only [`Self::end_all`] waits a moment.
pub struct Terminals {
    registry: Arc<Registry>,
    limits: Limits,
    /// The program that adopts what commands leave behind.
    keeper: Option<PathBuf>,
    /// How the marks of all commands begin.
    mark: Mark,
}

impl Terminals {
    pub fn new(mailbox: Arc<Mailbox>, guard: Arc<Guard>) -> Self {
        let registry = Registry { mailbox, guard, table: Mutex::default(), gone: Condvar::new() };
        let (registry, limits, mark) = (Arc::new(registry), Limits::default(), Mark::of_terminals());
        Self { registry, limits, keeper: None, mark }
    }

    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub fn with_keeper(mut self, keeper: Option<PathBuf>) -> Self {
        self.keeper = keeper;
        self
    }

    /// Starts a command; its output can be read at once.
    pub fn create(&self, session: SessionKey, spec: TerminalSpec) -> Result<TerminalId, TerminalError> {
        self.create_within(session, spec, None)
    }

    /// The same for one that is kept to what its agent is kept to, if that is.
    pub fn create_within(
        &self,
        session: SessionKey,
        spec: TerminalSpec,
        confined: Option<&Confined>,
    ) -> Result<TerminalId, TerminalError> {
        let mut command = program::command(&spec)?;
        let temporary = confined.into_iter().flat_map(Confined::env);
        let asked = |name: &str| spec.env.iter().any(|(asked, _)| asked == name);
        command.envs(temporary.filter(|(name, _)| !asked(name)));
        let number = self.registry.reserve(self.limits.at_once)?;
        let mark = self.mark_of(session).with(number);
        match self.keeper {
            Some(_) => self.registry.guard.mark_kept(&self.mark),
            None => self.registry.guard.mark(&self.mark),
        }
        let limit = spec.output_limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let id = TerminalId(format!("terminal-{number}"));
        let time = spec.timeout.into_iter().chain(self.limits.time).min();
        let limits = Limits {
            output: limit.min(self.limits.output),
            time,
            is_agents: time != self.limits.time,
            ..self.limits
        };
        let start = Start { command, confined, keeper: self.keeper.as_deref() };
        let started = Terminal::start(session, id.clone(), (number, mark), start, limits);
        let (terminal, listener) = match started {
            Ok(started) => started,
            Err(error) => {
                self.registry.ended();
                return Err(match error {
                    StartError::Terminal(error) => TerminalError::System(error),
                    StartError::Program(source) => TerminalError::Start { command: spec.command, source },
                });
            }
        };
        if terminal.keeper.is_none() {
            self.registry.guard.mark(&self.mark);
        }
        let leaving = self.registry.register(&terminal);
        if !leaving {
            self.registry.mailbox.post(Event::TerminalStarted {
                session,
                terminal: id.clone(),
                command: program::line(&spec),
                cwd: spec.cwd,
                typing: true,
            });
        }
        if let Err(error) = pump::start(&terminal, &self.registry, listener) {
            self.registry.lock().named.remove(&(session, id));
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
        self.registry.lock().named.contains_key(&(session, id.clone()))
    }

    /// The process from which all comes that the command starts, as long as there is one: its keeper, which adopts what
    /// leaves it, or the command itself.
    pub fn root(&self, session: SessionKey, id: &TerminalId) -> Option<u32> {
        let terminal = self.find(session, id).ok()?;
        match &terminal.keeper {
            Some(keeper) => keeper.process(),
            None => terminal.is_running().then(|| terminal.group.process()).flatten(),
        }
    }

    /// Resolves when nothing is left of all that the command has started, as far as that can be told: at its end, or at
    /// its keeper's.
    pub fn wait_for_all(
        &self,
        session: SessionKey,
        id: &TerminalId,
    ) -> Result<impl Future<Output = ()> + Send + use<>, TerminalError> {
        Ok(self.find(session, id)?.wait_for_all())
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
        self.kill_within(session, id, GRACE)
    }

    /// The same with another time; with none, nobody is asked.
    pub fn kill_within(
        &self,
        session: SessionKey,
        id: &TerminalId,
        grace: Duration,
    ) -> Result<(), TerminalError> {
        self.find(session, id)?.end(grace);
        Ok(())
    }

    /// What the command prints from here on, as it comes. For one reader a terminal.
    pub fn follow(&self, session: SessionKey, id: &TerminalId) -> Result<FollowedOutput, TerminalError> {
        Ok(FollowedOutput::of(self.find(session, id)?))
    }

    /// Ends the command if it runs, and forgets the terminal. What a command that is over has left
    /// behind on purpose (`nohup`) may run on until the session ends.
    pub fn release(&self, session: SessionKey, id: &TerminalId) -> Result<(), TerminalError> {
        let terminal = self.find(session, id)?;
        if terminal.is_running() {
            terminal.end(GRACE);
        }
        self.registry.lock().named.insert((session, id.clone()), None);
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
        let mut table = self.registry.lock();
        table.named.retain(|(of, _), _| *of != session);
        let ending: Vec<_> = table.alive.values().filter(|t| t.session == session).cloned().collect();
        table.end_kept(Some(session));
        drop(table);
        let groups = ending.iter().map(|terminal| terminal.group.clone()).collect();
        for terminal in ending {
            terminal.end(GRACE);
        }
        if self.registry.lock().last_number > 0 {
            escaped::end(self.mark_of(session), groups, GRACE, Vec::new);
        }
    }

    /// Ends everything, for good: asks all commands to end, waits until they have or 100 ms are
    /// over, and kills what is left.
    pub fn end_all(&self) {
        let (ending, has_run) = {
            let mut table = self.registry.lock();
            if table.left {
                return;
            }
            (table.leave(), table.last_number > 0)
        };
        for terminal in &ending {
            terminal.end(GRACE_AT_EXIT);
        }
        let groups: Vec<Group> = ending.iter().map(|terminal| terminal.group.clone()).collect();
        let escaped = has_run && escaped::signal(&self.mark, &[], &groups, Signal::Terminate) > 0;
        let table = self.registry.lock();
        // Nobody tells of the end of what has escaped: that is given the whole time.
        let waited = self.registry.gone.wait_timeout_while(table, GRACE_AT_EXIT, |r| r.groups > 0 || escaped);
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
            let mut table = self.registry.lock();
            table.left = true;
            table.leave()
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
        match self.registry.lock().named.get(&(session, id.clone())) {
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

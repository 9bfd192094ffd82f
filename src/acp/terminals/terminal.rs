//! One command on its terminal as others see it: what it printed so far, whether it still runs, and how it
//! is asked to end. The threads that serve it are `pump`'s.

use std::future::Future;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

use super::pty::{self, Listener, Notifier, Ours, Program, Pty, Theirs};
use super::spec::{GRACE, Limits, SIZE, TerminalOutput};
use crate::acp::processes::escaped::{self, Mark};
use crate::acp::processes::keeper::{self, CommandKeeper, Unkept};
use crate::acp::processes::sandbox::Confined;
use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::Exit;
use crate::core::terminal::output::Output;
use crate::platform::Signal;
use crate::platform::group::Group;

/// What is typed beyond this, into a program that does not read, is lost.
const MAX_TYPED: usize = 1 << 20;

/// A command, its process group and its terminal.
pub struct Terminal {
    pub session: SessionKey,
    pub id: TerminalId,
    pub number: u64,
    pub group: Group,
    /// What all that it starts has in its environment, unless that was cleared.
    pub mark: Mark,
    /// What adopts all that it starts.
    pub keeper: Option<Arc<CommandKeeper>>,
    /// How long it may run.
    pub time: Option<Duration>,
    /// That is so by the agent's request, not by the user's.
    pub is_agents_limit: bool,
    pub state: Mutex<State>,
    pub exit: watch::Sender<Option<Exit>>,
    /// Nothing is left of what it has started and its keeper has kept.
    pub nothing_left: watch::Sender<bool>,
    /// Something was put out.
    pub grown: Notify,
}

pub struct State {
    pub record: Output,
    /// As the program was last told.
    pub rows: u16,
    pub process: ProgramState,
    /// The group of its own that a shell gave to what it ran when it was asked to end.
    pub job: Option<Group>,
    /// What the system said about the process's end.
    pub ended: Option<Exit>,
    pub ending: EndRequest,
    /// It was asked to end because it had run for too long.
    pub overdue: bool,
    /// Our side of the terminal, until all is read or nobody wants it.
    pub ours: Option<Arc<Ours>>,
    /// Typed, but not yet taken by the terminal.
    pub typed: Vec<u8>,
    /// As long as there is a thread to wake. An agent that never releases its terminals must not
    /// use up Neovim's descriptors.
    pub notifier: Option<Arc<Notifier>>,
}

/// A process that has ended stays in the system's table until we ask for its status, under this
/// lock; so a signal sent under this lock cannot reach a stranger with the same number.
pub enum ProgramState {
    Running(Leader),
    /// It is over, but others of its group are left. They keep the group's number from being used
    /// again.
    Left,
    Gone,
}

/// The process that the terminal was made for.
pub enum Leader {
    Own(Program),
    /// A keeper has started it, and holds its status.
    Kept(Arc<CommandKeeper>),
}

/// What is to be started, and how.
pub struct Start<'a> {
    pub command: Command,
    /// What it is kept to.
    pub confined: Option<&'a Confined>,
    /// The program that becomes its keeper.
    pub keeper: Option<&'a Path>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum EndRequest {
    NotAsked,
    /// It was asked to end and will be killed.
    Asked {
        kill_at: Instant,
    },
    Killed {
        at: Instant,
    },
}

/// Why a command could not be started.
pub enum StartError {
    /// There is no terminal for it.
    Terminal(io::Error),
    Program(io::Error),
}

impl Terminal {
    /// Starts the command. Nothing reads from it before [`Self::run`].
    pub fn start(
        session: SessionKey,
        id: TerminalId,
        (number, mark): (u64, Mark),
        start: Start<'_>,
        limits: Limits,
    ) -> Result<(Arc<Self>, Listener), StartError> {
        let (notifier, listener) = Notifier::with_listener().map_err(StartError::Terminal)?;
        let Pty { ours, theirs } = pty::open(SIZE.0, SIZE.1, &notifier).map_err(StartError::Terminal)?;
        let (leader, group) = start.begin(theirs, &mark).map_err(StartError::Program)?;
        let keeper = match &leader {
            Leader::Own(_) => None,
            Leader::Kept(keeper) => Some(keeper.clone()),
        };
        let state = State {
            record: Output::new(limits.output),
            rows: SIZE.0,
            process: ProgramState::Running(leader),
            job: None,
            ended: None,
            ending: EndRequest::NotAsked,
            overdue: false,
            ours: Some(Arc::new(ours)),
            typed: Vec::new(),
            notifier: Some(notifier),
        };
        let (state, exit, time) = (Mutex::new(state), watch::Sender::new(None), limits.time);
        let (nothing_left, grown) = (watch::Sender::new(false), Notify::new());
        let terminal = Self {
            session,
            id,
            number,
            group,
            mark,
            keeper,
            time,
            is_agents_limit: limits.is_agents,
            state,
            exit,
            nothing_left,
            grown,
        };
        Ok((Arc::new(terminal), listener))
    }

    pub fn output(&self) -> TerminalOutput {
        // In this order: once the exit is known, the text is whole.
        let exit = self.exit.borrow().clone();
        let state = self.lock();
        TerminalOutput { text: state.record.text(), truncated: state.record.truncated(), exit }
    }

    pub fn wait(&self) -> impl Future<Output = Exit> + Send + use<> {
        let mut exit = self.exit.subscribe();
        async move {
            // The sender only goes after it has told the exit.
            exit.wait_for(Option::is_some).await.ok().and_then(|exit| exit.clone()).unwrap_or_default()
        }
    }

    pub fn wait_for_all(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut nothing_left = self.nothing_left.subscribe();
        async move {
            // The sender only goes after it has told.
            let _ = nothing_left.wait_for(|nothing_left| *nothing_left).await;
        }
    }

    pub fn is_running(&self) -> bool {
        matches!(self.lock().process, ProgramState::Running(_))
    }

    /// Asks the whole process group to end, and kills it after the `grace`; without one, at once.
    /// Asking again can only shorten the time.
    pub fn end(&self, grace: Duration) {
        let now = Instant::now();
        let mut state = self.lock();
        state.ending = match state.ending {
            EndRequest::Killed { .. } => return,
            _ if grace.is_zero() => {
                state.signal(&self.group, Signal::Kill);
                self.end_escaped(&state, grace);
                EndRequest::Killed { at: now }
            }
            EndRequest::Asked { kill_at } => EndRequest::Asked { kill_at: kill_at.min(now + grace) },
            EndRequest::NotAsked => {
                self.ask(&mut state);
                EndRequest::Asked { kill_at: now + grace }
            }
        };
        drop(state);
        self.notify();
    }

    pub fn ask(&self, state: &mut State) {
        state.signal(&self.group, Signal::Terminate);
        self.end_escaped(state, GRACE);
    }

    /// Ends what has left the groups that are signalled as such.
    fn end_escaped(&self, state: &State, grace: Duration) {
        let groups = [self.group.clone()].into_iter().chain(state.job(&self.group)).collect();
        let keeper = self.keeper.clone();
        let below = move || keeper.as_ref().map(|keeper| keeper.below()).unwrap_or_default();
        escaped::end(self.mark.clone(), groups, grace, below);
    }

    pub fn type_bytes(&self, bytes: &[u8]) {
        let mut state = self.lock();
        let room = MAX_TYPED - state.typed.len();
        state.typed.extend_from_slice(&bytes[..bytes.len().min(room)]);
        drop(state);
        self.notify();
    }

    pub fn resize(&self, rows: u16, columns: u16) {
        let mut state = self.lock();
        state.rows = rows;
        let ours = state.ours.clone();
        drop(state);
        if let Some(ours) = ours {
            // A terminal that just went away needs no size.
            let _ = pty::resize(&ours, rows, columns);
        }
    }

    pub fn notify(&self) {
        let notifier = self.lock().notifier.clone();
        if let Some(notifier) = notifier {
            notifier.notify();
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in mid-change can at worst garble the record.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Start<'_> {
    /// Starts it under a keeper, or directly where there is none.
    fn begin(self, theirs: Theirs, mark: &Mark) -> io::Result<(Leader, Group)> {
        let Self { mut command, confined, keeper } = self;
        let confinement = confined.map(|confined| &confined.terminals);
        if let Some(confinement) = confinement {
            pty::allow(&theirs, confinement)?;
        }
        match keeper::spawn_command(keeper, &command, &theirs, mark, confinement) {
            Ok((keeper, group)) => return Ok((Leader::Kept(Arc::new(keeper)), group)),
            Err(Unkept::Program(error)) => return Err(error),
            Err(Unkept::NoKeeper) => {}
        }
        mark.put_on(&mut command);
        if let Some(confinement) = confinement {
            confinement.put_on(&mut command)?;
        }
        let (program, group) = pty::spawn(theirs, command)?;
        Ok((Leader::Own(program), group))
    }
}

impl Leader {
    /// How it has ended, if that is known. Its number may be another's from now on.
    pub fn take_status(&mut self, group: &Group) -> Option<Exit> {
        match self {
            // It fails when someone in Neovim took the status first.
            Self::Own(program) => pty::take_status(program, group).ok(),
            Self::Kept(keeper) => keeper.take_status().map(|status| group.exit(status)),
        }
    }
}

impl State {
    /// Nothing of the group is left.
    pub fn all_gone(&mut self) {
        self.process = ProgramState::Gone;
        if let Some(ours) = &self.ours {
            pty::all_gone(ours);
        }
    }

    pub fn signal(&mut self, group: &Group, signal: Signal) {
        // Looked up first: when the process ends the terminal forgets what ran on it.
        if let ProgramState::Running(_) = self.process {
            self.job = self.ours.as_deref().and_then(pty::foreground_group).or(self.job.take());
        }
        if !matches!(self.process, ProgramState::Gone) {
            pty::signal(group, signal, self.ours.as_deref());
        }
        if let Some(job) = self.job(group) {
            pty::signal(&job, signal, None);
        }
    }

    /// The shell's job, if it is still that.
    pub fn job(&self, group: &Group) -> Option<Group> {
        self.job.clone().filter(|job| pty::is_job_of(job, group))
    }

    pub fn is_over(&self, group: &Group) -> bool {
        let is_gone = matches!(self.process, ProgramState::Gone);
        // A job that was asked to end is waited for, to be killed.
        is_gone && !(matches!(self.ending, EndRequest::Asked { .. }) && self.job(group).is_some())
    }
}

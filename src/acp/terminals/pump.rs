//! One running command: a thread that moves its bytes and keeps its deadlines, asleep in a single
//! `poll` while nothing happens, and a second one that sleeps until the process ends.

use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::pin::Pin;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::output_throttle::Display;
use super::pty::{self, Bell, Listener, Ours, Program, Pty};
use super::{GRACE, Limits, SIZE, Shared, TerminalOutput};
use crate::acp::processes::escaped::{self, Mark};
use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::{Event, Exit};
use crate::core::terminal::output::Output;
use crate::platform::Signal;
use crate::platform::group::Group;

/// How long to wait, once a process has ended, for what it wrote; one that it left behind may hold
/// the terminal open for hours.
const DRAIN: Duration = Duration::from_millis(200);
/// The same if there is always more to read.
const LONGEST_DRAIN: Duration = Duration::from_secs(1);
/// How long a killed process may take to die before those who wait for it are told that it did.
const DYING: Duration = Duration::from_secs(2);
/// What is typed beyond this, into a program that does not read, is lost.
const TYPED: usize = 1 << 20;
const READ: usize = 64 << 10;
const STACK: usize = 512 << 10;

/// A command, its process group and its terminal.
pub struct Terminal {
    pub session: SessionKey,
    pub id: TerminalId,
    pub number: u64,
    pub group: Group,
    /// What all that it starts has in its environment.
    mark: Mark,
    /// How long it may run.
    time: Option<Duration>,
    state: Mutex<State>,
    exit: watch::Sender<Option<Exit>>,
}

struct State {
    record: Output,
    process: Process,
    /// The group of its own that a shell gave to what it ran when it was asked to end.
    job: Option<Group>,
    /// What the system said about the process's end.
    ended: Option<Exit>,
    ending: Ending,
    /// It was asked to end because it had run for too long.
    overdue: bool,
    /// Our side of the terminal, until all is read or nobody wants it.
    ours: Option<Arc<Ours>>,
    /// Typed, but not yet taken by the terminal.
    typed: Vec<u8>,
    /// As long as there is a thread to wake. An agent that never releases its terminals must not
    /// use up Neovim's descriptors.
    bell: Option<Arc<Bell>>,
}

/// A process that has ended stays in the system's table until we ask for its status, under this
/// lock; so a signal sent under this lock cannot reach a stranger with the same number.
enum Process {
    Running(Program),
    /// It is over, but others of its group are left. They keep the group's number from being used
    /// again.
    Left,
    Gone,
}

#[derive(Clone, Copy, PartialEq)]
enum Ending {
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
        command: Command,
        limits: Limits,
    ) -> Result<(Arc<Self>, Listener), StartError> {
        let (bell, listener) = Bell::with_listener().map_err(StartError::Terminal)?;
        let Pty { ours, theirs } = pty::open(SIZE.0, SIZE.1, &bell).map_err(StartError::Terminal)?;
        let (program, group) = pty::spawn(theirs, command).map_err(StartError::Program)?;
        let state = State {
            record: Output::new(limits.output),
            process: Process::Running(program),
            job: None,
            ended: None,
            ending: Ending::NotAsked,
            overdue: false,
            ours: Some(Arc::new(ours)),
            typed: Vec::new(),
            bell: Some(bell),
        };
        let (state, exit, time) = (Mutex::new(state), watch::Sender::new(None), limits.time);
        let terminal = Self { session, id, number, group, mark, time, state, exit };
        Ok((Arc::new(terminal), listener))
    }

    /// Starts the two threads.
    pub fn run(self: &Arc<Self>, shared: &Arc<Shared>, listener: Listener) -> io::Result<()> {
        let state = self.lock();
        let pump = Pump {
            terminal: self.clone(),
            shared: shared.clone(),
            listener,
            waker: state.bell.clone().map_or_else(|| Waker::noop().clone(), Waker::from),
            ours: state.ours.clone(),
            hung_up: false,
            reopened: Patience::default(),
            overdue_at: self.time.map(|time| Instant::now() + time),
            drained: false,
            quiet: false,
            ended: None,
            display: Display::default(),
            room: None,
            over: None,
            told: false,
            left: Patience::default(),
        };
        drop(state);
        spawn("acp-terminal", move || pump.run())?;
        let (terminal, waiting) = (self.clone(), shared.clone());
        spawn("acp-wait", move || terminal.wait_for_end(&waiting)).inspect_err(|_| {
            self.end(Duration::ZERO);
            self.wait_for_end(shared);
        })
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

    pub fn is_running(&self) -> bool {
        matches!(self.lock().process, Process::Running(_))
    }

    /// Asks the whole process group to end, and kills it after the `grace`; without one, at once.
    /// Asking again can only shorten the time.
    pub fn end(&self, grace: Duration) {
        let now = Instant::now();
        let mut state = self.lock();
        state.ending = match state.ending {
            Ending::Killed { .. } => return,
            _ if grace.is_zero() => {
                state.signal(&self.group, Signal::Kill);
                Ending::Killed { at: now }
            }
            Ending::Asked { kill_at } => Ending::Asked { kill_at: kill_at.min(now + grace) },
            Ending::NotAsked => {
                self.ask(&mut state);
                Ending::Asked { kill_at: now + grace }
            }
        };
        drop(state);
        self.ring();
    }

    fn ask(&self, state: &mut State) {
        state.signal(&self.group, Signal::Terminate);
        let job = state.job(&self.group);
        escaped::end(self.mark.clone(), [self.group.clone()].into_iter().chain(job).collect(), GRACE);
    }

    pub fn type_bytes(&self, bytes: &[u8]) {
        let mut state = self.lock();
        let room = TYPED - state.typed.len();
        state.typed.extend_from_slice(&bytes[..bytes.len().min(room)]);
        drop(state);
        self.ring();
    }

    pub fn resize(&self, rows: u16, columns: u16) {
        let ours = self.lock().ours.clone();
        if let Some(ours) = ours {
            // A terminal that just went away needs no size.
            let _ = pty::resize(&ours, rows, columns);
        }
    }

    fn ring(&self) {
        let bell = self.lock().bell.clone();
        if let Some(bell) = bell {
            bell.ring();
        }
    }

    fn wait_for_end(&self, shared: &Shared) {
        pty::wait_for_end(&self.group);
        self.reap(shared);
    }

    /// Takes the status of a process that has ended.
    fn reap(&self, shared: &Shared) {
        let mut state = self.lock();
        let Process::Running(program) = &mut state.process else { return };
        // It fails when someone in Neovim took the status first: then nobody knows it.
        let exit = pty::take_status(program, &self.group).unwrap_or_default();
        let is_left = pty::is_left(&self.group);
        state.process = Process::Left;
        if !is_left {
            state.all_gone();
        }
        state.ended = Some(exit);
        drop(state);
        shared.ended();
        if !is_left {
            shared.gone(self);
        }
        self.ring();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in mid-change can at worst garble the record.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Nothing of the group is left.
    fn all_gone(&mut self) {
        self.process = Process::Gone;
        if let Some(ours) = &self.ours {
            pty::all_gone(ours);
        }
    }

    fn signal(&mut self, group: &Group, signal: Signal) {
        // Looked up first: when the process ends the terminal forgets what ran on it.
        if let Process::Running(_) = self.process {
            self.job = self.ours.as_deref().and_then(pty::foreground_group).or(self.job.take());
        }
        if !matches!(self.process, Process::Gone) {
            pty::signal(group, signal, self.ours.as_deref());
        }
        if let Some(job) = self.job(group) {
            pty::signal(&job, signal, None);
        }
    }

    /// The shell's job, if it is still that.
    fn job(&self, group: &Group) -> Option<Group> {
        self.job.clone().filter(|job| pty::is_job_of(job, group))
    }

    fn is_over(&self, group: &Group) -> bool {
        let is_gone = matches!(self.process, Process::Gone);
        // A job that was asked to end is waited for, to be killed.
        is_gone && !(matches!(self.ending, Ending::Asked { .. }) && self.job(group).is_some())
    }
}

/// What the thread of a terminal has for itself.
struct Pump {
    terminal: Arc<Terminal>,
    shared: Arc<Shared>,
    listener: Listener,
    waker: Waker,
    ours: Option<Arc<Ours>>,
    /// Nobody has the other side open. While the process runs it may open it again, and would be
    /// sent SIGHUP if ours was closed.
    hung_up: bool,
    reopened: Patience,
    /// When it will have run for as long as it may.
    overdue_at: Option<Instant>,
    /// It hung up after the process had ended, so all is read.
    drained: bool,
    /// There was nothing to read a moment ago.
    quiet: bool,
    /// When this thread, which may be late on a busy machine, learnt that the process has ended.
    ended: Option<Instant>,
    display: Display,
    /// Waits for the editor to catch up; rings the bell.
    room: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// How it ended, once all that it wrote is in the record.
    over: Option<Exit>,
    /// The end was posted.
    told: bool,
    /// Whether what the process left behind is still there.
    left: Patience,
}

impl Pump {
    fn run(mut self) {
        let mut buffer = vec![0; READ];
        loop {
            let now = Instant::now();
            let deadline = earliest([self.enforce(now), self.conclude(now), self.show(now)]);
            if self.is_done() {
                return;
            }
            let time = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let write = !self.terminal.lock().typed.is_empty();
            let ours = self.ours.as_deref().filter(|_| !self.hung_up);
            let ready = pty::poll(&self.listener, ours, write, time);
            if ready.woken {
                self.listener.drain();
                self.left = Patience::default();
            }
            self.quiet = !ready.readable;
            if ready.readable {
                self.read(&mut buffer);
            }
            if ready.writable {
                self.write();
            }
        }
    }

    /// Kills what was asked to end and did not, and notices when a process group is gone. Gives
    /// the time when to come again.
    fn enforce(&mut self, now: Instant) -> Option<Instant> {
        let mut state = self.terminal.lock();
        let mut deadline = None;
        if matches!((&state.process, state.ending), (Process::Running(_), Ending::NotAsked)) {
            if self.overdue_at.is_some_and(|at| at <= now) {
                self.terminal.ask(&mut state);
                (state.ending, state.overdue) = (Ending::Asked { kill_at: now + GRACE }, true);
            } else {
                deadline = self.overdue_at;
            }
        }
        if let Ending::Asked { kill_at } = state.ending {
            if kill_at <= now {
                state.signal(&self.terminal.group, Signal::Kill);
                state.ending = Ending::Killed { at: now };
                self.left = Patience::default();
            } else {
                deadline = Some(kill_at);
            }
        }
        match state.process {
            Process::Running(_) if self.hung_up => {
                // It is hung up again as soon as we look, if nobody has opened it.
                self.hung_up = !self.reopened.is_over(now);
                return earliest([deadline, self.reopened.until]);
            }
            Process::Running(_) | Process::Gone => return deadline,
            Process::Left if !self.left.is_over(now) || pty::is_left(&self.terminal.group) => {
                return earliest([deadline, self.left.until]);
            }
            Process::Left => {}
        }
        state.all_gone();
        drop(state);
        self.shared.gone(&self.terminal);
        None
    }

    /// Once the process has ended and its output is read, tells all who wait.
    fn conclude(&mut self, now: Instant) -> Option<Instant> {
        let mut state = self.terminal.lock();
        if self.over.is_none() {
            let exit = match (&state.ended, state.ending) {
                (Some(exit), _) if self.drained => exit.clone(),
                (Some(exit), _) => {
                    let ended = *self.ended.get_or_insert_with(|| {
                        (self.hung_up, self.quiet) = (false, false);
                        now
                    });
                    if now < ended + DRAIN {
                        return Some(ended + DRAIN);
                    }
                    if !self.quiet && now < ended + LONGEST_DRAIN {
                        return Some(now);
                    }
                    exit.clone()
                }
                (None, Ending::Killed { at }) if at + DYING <= now => {
                    Exit { code: None, signal: Some("SIGKILL".into()) }
                }
                (None, Ending::Killed { at }) => return Some(at + DYING),
                (None, _) => return None,
            };
            if state.overdue {
                let note = self.note();
                state.record.feed(note.as_bytes());
                self.display.push(note.as_bytes());
            }
            state.record.finish();
            self.over = Some(exit.clone());
            drop(state);
            self.terminal.exit.send_replace(Some(exit));
            state = self.terminal.lock();
        }
        // What the process left behind may go on writing, unless it was asked to end.
        if state.ended.is_some() && (self.drained || state.ending != Ending::NotAsked) {
            state.ours = None;
            self.ours = None;
        }
        None
    }

    /// Why a command was ended that nobody has asked to be ended: nothing else would tell the agent.
    fn note(&self) -> String {
        let seconds = self.terminal.time.unwrap_or_default().as_secs_f64();
        format!("\x1b[0m\r\n[ended after {seconds} s, the user's limit for a command (terminal.timeout)]\r\n")
    }

    /// Posts what may be shown now, and the end after all of it.
    fn show(&mut self, now: Instant) -> Option<Instant> {
        if self.display.due(now).is_some_and(|due| due <= now)
            && self.has_room()
            && let Some(chunk) = self.display.take(now)
        {
            let cut = self.terminal.lock().record.dropped();
            self.shared.mailbox.post(Event::TerminalGrew {
                session: self.terminal.session,
                terminal: self.terminal.id.clone(),
                bytes: chunk.bytes,
                skipped: chunk.skipped,
                cut,
            });
        }
        if self.display.is_empty() && !self.told && self.over.is_some() {
            self.tell_end();
        }
        // Without room the bell rings when there is some.
        self.display.due(now).filter(|_| self.room.is_none())
    }

    fn tell_end(&mut self) {
        self.told = true;
        self.shared.mailbox.post(Event::TerminalEnded {
            session: self.terminal.session,
            terminal: self.terminal.id.clone(),
            exit: self.over.clone().unwrap_or_default(),
        });
    }

    fn is_done(&self) -> bool {
        self.told && self.ours.is_none() && self.terminal.lock().is_over(&self.terminal.group)
    }

    /// Whether the editor keeps up.
    fn has_room(&mut self) -> bool {
        let mailbox = &self.shared.mailbox;
        let room = self.room.get_or_insert_with(|| {
            let mailbox = mailbox.clone();
            Box::pin(async move { mailbox.room().await })
        });
        let has_room = room.as_mut().poll(&mut Context::from_waker(&self.waker)).is_ready();
        if has_room {
            self.room = None;
        }
        has_room
    }

    fn read(&mut self, buffer: &mut [u8]) {
        let Some(mut ours) = self.ours.as_deref() else { return };
        // Asked before: between reading and asking, the process could write once more and end.
        let has_ended = self.terminal.lock().ended.is_some();
        let mut length = 0;
        while length < buffer.len() {
            match ours.read(&mut buffer[length..]) {
                Ok(0) => self.hung_up = true,
                Ok(read) => {
                    length += read;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.quiet = true,
                // On Linux EIO is the end.
                Err(_) => self.hung_up = true,
            }
            break;
        }
        self.drained = self.hung_up && has_ended;
        self.terminal.lock().record.feed(&buffer[..length]);
        if self.over.is_none() {
            self.display.push(&buffer[..length]);
        }
    }

    fn write(&mut self) {
        let Some(mut ours) = self.ours.as_deref() else { return };
        let typed: Vec<u8> = self.terminal.lock().typed.iter().copied().take(4096).collect();
        let written = match ours.write(&typed) {
            Ok(written) => written,
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => 0,
            Err(_) => typed.len(),
        };
        // Others only add to its end.
        self.terminal.lock().typed.drain(..written);
    }
}

/// After a panic, or if the thread could not be started: nobody waits in vain and nothing runs on.
impl Drop for Pump {
    fn drop(&mut self) {
        if !self.is_done() {
            self.terminal.end(Duration::ZERO);
            self.terminal.wait_for_end(&self.shared);
            let exit = self.terminal.lock().ended.clone().unwrap_or_default();
            self.terminal.exit.send_replace(Some(exit.clone()));
            self.over = Some(exit);
            if !self.told {
                self.tell_end();
            }
            let mut state = self.terminal.lock();
            state.ours = None;
            if matches!(state.process, Process::Left) {
                state.process = Process::Gone;
                drop(state);
                self.shared.gone(&self.terminal);
            }
        }
        self.terminal.lock().bell = None;
        self.shared.over(&self.terminal);
    }
}

/// For the few things that can only be learnt by looking: soon at first, then ever more seldom.
#[derive(Default)]
struct Patience {
    until: Option<Instant>,
    times: u32,
}

impl Patience {
    /// Whether it is time to look; if so, the next time is set.
    fn is_over(&mut self, now: Instant) -> bool {
        let is_over = self.until.is_none_or(|until| until <= now);
        if is_over {
            let wait = Duration::from_millis(10 << self.times.min(11));
            self.times += 1;
            self.until = Some(now + wait);
        }
        is_over
    }
}

fn earliest<const N: usize>(times: [Option<Instant>; N]) -> Option<Instant> {
    times.into_iter().flatten().min()
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).stack_size(STACK).spawn(run).map(drop)
}

//! One running command: a thread that moves its bytes and keeps its deadlines, asleep in a single
//! `poll` while nothing happens, and a second one that sleeps until the process ends.

use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::output_throttle::OutputThrottle;
use super::pty::{self, Listener, Ours};
use super::registry::Registry;
use super::spec::GRACE;
use super::terminal::{EndRequest, ProgramState, Terminal};
use crate::core::message::{Event, Exit};
use crate::core::terminal::render::Renderer;
use crate::platform::Signal;

/// How long to wait, once a process has ended, for what it wrote; one that it left behind may hold
/// the terminal open for hours.
const DRAIN: Duration = Duration::from_millis(200);
/// The same if there is always more to read.
const LONGEST_DRAIN: Duration = Duration::from_secs(1);
/// How long a killed process may take to die before those who wait for it are told that it did.
const DYING: Duration = Duration::from_secs(2);
const READ: usize = 64 << 10;
const STACK: usize = 512 << 10;

/// Starts the two threads.
pub fn start(terminal: &Arc<Terminal>, registry: &Arc<Registry>, listener: Listener) -> io::Result<()> {
    let state = terminal.lock();
    let pump = Pump {
        terminal: terminal.clone(),
        registry: registry.clone(),
        listener,
        waker: state.notifier.clone().map_or_else(|| Waker::noop().clone(), Waker::from),
        ours: state.ours.clone(),
        hung_up: false,
        reopened: Patience::default(),
        overdue_at: terminal.time.map(|time| Instant::now() + time),
        drained: false,
        quiet: false,
        ended: None,
        throttle: OutputThrottle::default(),
        renderer: Renderer::default(),
        room: None,
        over: None,
        told: false,
        left: Patience::default(),
    };
    drop(state);
    spawn("acp-terminal", move || pump.run())?;
    let (waited_for, owner) = (terminal.clone(), registry.clone());
    spawn("acp-wait", move || wait_for_end(&waited_for, &owner)).inspect_err(|_| {
        terminal.end(Duration::ZERO);
        terminal.keeper.iter().for_each(|keeper| keeper.end());
        wait_for_end(terminal, registry);
    })
}

/// Waits until the command has ended, and then, where it has a keeper, until nothing of it is left.
fn wait_for_end(terminal: &Terminal, registry: &Registry) {
    wait_for_command(terminal, registry);
    if let Some(keeper) = &terminal.keeper {
        registry.command_over(terminal);
        keeper.wait();
        registry.keeper_gone(terminal);
    }
    terminal.nothing_left.send_replace(true);
}

fn wait_for_command(terminal: &Terminal, registry: &Registry) {
    match &terminal.keeper {
        None => pty::wait_for_end(&terminal.group),
        Some(keeper) if keeper.wait_for_command() => {}
        Some(_) => {
            // Somebody has ended the keeper, and nobody adopts what the command leaves any more.
            registry.keeper_lost(terminal);
            terminal.end(Duration::ZERO);
        }
    }
    reap(terminal, registry);
}

/// Takes the status of a process that has ended.
fn reap(terminal: &Terminal, registry: &Registry) {
    let mut state = terminal.lock();
    let ProgramState::Running(leader) = &mut state.process else { return };
    let exit = leader.take_status(&terminal.group).unwrap_or_default();
    let is_left = pty::is_left(&terminal.group);
    state.process = ProgramState::Left;
    if !is_left {
        state.all_gone();
    }
    state.ended = Some(exit);
    drop(state);
    registry.ended();
    if !is_left {
        registry.gone(terminal);
    }
    terminal.notify();
}

/// What the thread of a terminal has for itself.
struct Pump {
    terminal: Arc<Terminal>,
    registry: Arc<Registry>,
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
    throttle: OutputThrottle,
    renderer: Renderer,
    /// Waits for the editor to catch up; rings the notifier.
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
        if matches!((&state.process, state.ending), (ProgramState::Running(_), EndRequest::NotAsked)) {
            if self.overdue_at.is_some_and(|at| at <= now) {
                self.terminal.ask(&mut state);
                (state.ending, state.overdue) = (EndRequest::Asked { kill_at: now + GRACE }, true);
            } else {
                deadline = self.overdue_at;
            }
        }
        if let EndRequest::Asked { kill_at } = state.ending {
            if kill_at <= now {
                state.signal(&self.terminal.group, Signal::Kill);
                state.ending = EndRequest::Killed { at: now };
                self.left = Patience::default();
            } else {
                deadline = Some(kill_at);
            }
        }
        match state.process {
            ProgramState::Running(_) if self.hung_up => {
                // It is hung up again as soon as we look, if nobody has opened it.
                self.hung_up = !self.reopened.is_over(now);
                return earliest([deadline, self.reopened.until]);
            }
            ProgramState::Running(_) | ProgramState::Gone => return deadline,
            ProgramState::Left if !self.left.is_over(now) || pty::is_left(&self.terminal.group) => {
                return earliest([deadline, self.left.until]);
            }
            ProgramState::Left => {}
        }
        state.all_gone();
        drop(state);
        self.registry.gone(&self.terminal);
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
                (None, EndRequest::Killed { at }) if at + DYING <= now => {
                    Exit { code: None, signal: Some("SIGKILL".into()) }
                }
                (None, EndRequest::Killed { at }) => return Some(at + DYING),
                (None, _) => return None,
            };
            if state.overdue {
                let note = self.note();
                state.record.feed(note.as_bytes());
                self.throttle.push(note.as_bytes());
            }
            state.record.finish();
            self.over = Some(exit.clone());
            drop(state);
            self.terminal.exit.send_replace(Some(exit));
            state = self.terminal.lock();
        }
        // What the process left behind may go on writing, unless it was asked to end.
        if state.ended.is_some() && (self.drained || state.ending != EndRequest::NotAsked) {
            state.ours = None;
            self.ours = None;
        }
        None
    }

    /// Why a command was ended that nobody has asked to be ended: nothing else would tell the agent.
    fn note(&self) -> String {
        let seconds = self.terminal.time.unwrap_or_default().as_secs_f64();
        let whose = match self.terminal.is_agents_limit {
            true => "the agent's limit for it",
            false => "the user's limit for a command (terminal.timeout)",
        };
        format!("\x1b[0m\r\n[ended after {seconds} s, {whose}]\r\n")
    }

    /// Posts what may be shown now, and the end after all of it.
    fn show(&mut self, now: Instant) -> Option<Instant> {
        if self.throttle.due(now).is_some_and(|due| due <= now)
            && self.has_room()
            && let Some(chunk) = self.throttle.take(now)
        {
            let state = self.terminal.lock();
            let (cut, rows) = (state.record.dropped(), state.rows);
            drop(state);
            self.renderer.resize(rows);
            let (bytes, lines) = self.renderer.render(&chunk.bytes);
            self.registry.mailbox.post(Event::TerminalGrew {
                session: self.terminal.session,
                terminal: self.terminal.id.clone(),
                bytes,
                lines,
                skipped: chunk.skipped,
                cut,
            });
        }
        if self.throttle.is_empty() && !self.told && self.over.is_some() {
            self.tell_end();
        }
        // Without room the notifier rings when there is some.
        self.throttle.due(now).filter(|_| self.room.is_none())
    }

    fn tell_end(&mut self) {
        self.told = true;
        self.registry.mailbox.post(Event::TerminalEnded {
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
        let mailbox = &self.registry.mailbox;
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
        self.terminal.grown.notify_one();
        if self.over.is_none() {
            self.throttle.push(&buffer[..length]);
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
            wait_for_command(&self.terminal, &self.registry);
            let exit = self.terminal.lock().ended.clone().unwrap_or_default();
            self.terminal.exit.send_replace(Some(exit.clone()));
            self.over = Some(exit);
            if !self.told {
                self.tell_end();
            }
            let mut state = self.terminal.lock();
            state.ours = None;
            if matches!(state.process, ProgramState::Left) {
                state.process = ProgramState::Gone;
                drop(state);
                self.registry.gone(&self.terminal);
            }
        }
        self.terminal.lock().notifier = None;
        self.registry.over(&self.terminal);
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

//! A keeper on Linux: the demo agent's program, which comes with the library, as another process. It is
//! told on a socket what to run, a length and then words that each end with a zero: the mark, the program,
//! its arguments. It answers `S` and the number of the process, or `E` and why there is none; and in the end `X`
//! and the status. A command's number is its own until the keeper is told `R`, that it may be reaped. The end of
//! the socket, which is Neovim's end, too, has it end everything.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::kept::{Kept, Unkept};
use crate::acp::mutex::lock;
use crate::acp::processes::escaped::{self, Mark, Noted};
use crate::acp::processes::sandbox::Confined;
use crate::platform::confine::Confinement;
use crate::platform::group::Group;

/// A program that takes longer for its first word is no keeper.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Our end of the socket.
pub struct Keeper(UnixStream);

impl Keeper {
    /// Waits until the agent or command has ended. None if the keeper was ended before it could say how.
    pub fn wait_for_leader(&self) -> Option<ExitStatus> {
        match read_message(&self.0) {
            Ok((b'X', status)) => Some(ExitStatus::from_raw(status)),
            _ => None,
        }
    }

    /// Has the keeper end all that is left, and then itself: an agent's input is closed by now.
    pub fn end(&self) {
        // One that is gone has ended already. What it says is still heard.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// The keeper of a command in a terminal.
pub struct CommandKeeper {
    process: u32,
    /// None once nothing is left of it: its number may be a stranger's, and it holds no descriptor.
    running: Mutex<Option<Running>>,
    status: OnceLock<ExitStatus>,
    /// Who waits for the status; the others find it.
    waiting: Mutex<()>,
}

struct Running {
    child: Child,
    keeper: Arc<Keeper>,
}

impl CommandKeeper {
    /// Waits until the command has ended; whether the keeper says so. If not, somebody has ended the keeper.
    pub fn wait_for_command(&self) -> bool {
        let _waiting = lock(&self.waiting);
        if self.status.get().is_none()
            && let Some(keeper) = self.keeper()
            && let Some(status) = keeper.wait_for_leader()
        {
            self.status.get_or_init(|| status);
        }
        self.status.get().is_some()
    }

    /// How the command has ended, if that is known. From now on its number is no more its own.
    pub fn take_status(&self) -> Option<ExitStatus> {
        if let Some(keeper) = self.keeper() {
            // One that was ended by somebody keeps nothing.
            let _ = (&keeper.0).write_all(b"R");
        }
        self.status.get().copied()
    }

    /// The keeper's process, from which all comes that it keeps, as long as there is one.
    pub fn process(&self) -> Option<u32> {
        lock(&self.running).as_ref().map(|_| self.process)
    }

    /// Waits until nothing is left of all that it keeps.
    pub fn wait(&self) {
        let Some(process) = Pid::from_raw(self.process.cast_signed()) else { return };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(process), options).is_err_and(|error| error == rustix::io::Errno::INTR) {}
        if let Some(mut running) = lock(&self.running).take() {
            // It stays in the table of processes otherwise.
            let _ = running.child.wait();
        }
    }

    /// All that it keeps, in whatever group or environment.
    pub fn below(&self) -> Vec<Noted> {
        match &*lock(&self.running) {
            Some(_) => escaped::below(self.process),
            None => Vec::new(),
        }
    }

    /// Has it end all that is left, and then itself.
    pub fn end(&self) {
        if let Some(keeper) = self.keeper() {
            keeper.end();
        }
    }

    fn keeper(&self) -> Option<Arc<Keeper>> {
        lock(&self.running).as_ref().map(|running| running.keeper.clone())
    }
}

/// How a keeper is started.
struct Start<'a> {
    task: &'static str,
    pipes: [Stdio; 3],
    confinement: Option<&'a Confinement>,
}

/// Starts an agent by this program as its keeper. The agent's own pipes are the keeper's to give on, and so is
/// what it is kept to.
pub fn spawn(
    program: Option<&Path>,
    command: &Command,
    mark: &Mark,
    confined: Option<&Confined>,
) -> Result<Kept<Keeper>, Unkept> {
    let pipes = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
    let confinement = confined.map(Confined::of_agent);
    start(program, command, mark, Start { task: "--keep", pipes, confinement })
}

/// Starts a command on this side of a terminal by this program as its keeper, as the leader of a session.
pub fn spawn_command(
    program: Option<&Path>,
    command: &Command,
    theirs: &File,
    mark: &Mark,
    confinement: Option<&Confinement>,
) -> Result<(CommandKeeper, Group), Unkept> {
    let theirs = || theirs.try_clone().map(Stdio::from).map_err(|_| Unkept::NoKeeper);
    let pipes = [theirs()?, theirs()?, theirs()?];
    let kept = start(program, command, mark, Start { task: "--keep-command", pipes, confinement })?;
    let Kept { child, group, keeper, .. } = kept;
    let (process, running) = (child.id(), Running { child, keeper: Arc::new(keeper) });
    let (status, waiting) = (OnceLock::new(), Mutex::default());
    Ok((CommandKeeper { process, running: Mutex::new(Some(running)), status, waiting }, group))
}

fn start(
    program: Option<&Path>,
    command: &Command,
    mark: &Mark,
    start: Start<'_>,
) -> Result<Kept<Keeper>, Unkept> {
    let Some(program) = program else { return Err(Unkept::NoKeeper) };
    let Ok((ours, theirs)) = UnixStream::pair() else { return Err(Unkept::NoKeeper) };
    let keeper = keeper(program, command, theirs.as_raw_fd(), start);
    let Ok(mut keeper) = keeper else { return Err(Unkept::NoKeeper) };
    let Ok((child, keepers)) = Group::spawn(&mut keeper) else { return Err(Unkept::NoKeeper) };
    drop((theirs, keeper));
    match talk(&ours, command, mark) {
        Ok((b'S', leader)) => {
            let agent = leader.cast_unsigned();
            Ok(Kept { child, keepers, agent, group: Group::of(agent), keeper: Keeper(ours) })
        }
        Ok((b'E', error)) => {
            reap(child);
            Err(Unkept::Program(io::Error::from_raw_os_error(error)))
        }
        _ => {
            reap(child);
            Err(Unkept::NoKeeper)
        }
    }
}

fn keeper(program: &Path, command: &Command, descriptor: i32, start: Start<'_>) -> io::Result<Command> {
    let Start { task, pipes: [stdin, stdout, stderr], confinement } = start;
    let mut keeper = Command::new(program);
    keeper.arg0("acp-keeper").arg(task).arg(descriptor.to_string());
    keeper.stdin(stdin).stdout(stdout).stderr(stderr);
    if let Some(folder) = command.get_current_dir() {
        keeper.current_dir(folder);
    }
    // Whoever ends by their marks what was started must leave this to the last.
    escaped::unmark(&mut keeper);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => keeper.env(name, value),
            None => keeper.env_remove(name),
        };
    }
    // Before the descriptor is left to it: the confined begin with no other.
    if let Some(confinement) = confinement {
        confinement.put_on(&mut keeper)?;
    }
    // SAFETY: between fork and exec only a call is made that is safe in a signal handler.
    unsafe {
        keeper.pre_exec(move || match libc::fcntl(descriptor, libc::F_SETFD, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    Ok(keeper)
}

fn talk(ours: &UnixStream, command: &Command, mark: &Mark) -> io::Result<(u8, i32)> {
    let mark = mark.entry();
    let mut words = Vec::new();
    for word in [OsStr::new(&mark), command.get_program()].into_iter().chain(command.get_args()) {
        words.extend_from_slice(word.as_bytes());
        words.push(0);
    }
    let mut message = u32::try_from(words.len()).unwrap_or(u32::MAX).to_ne_bytes().to_vec();
    message.append(&mut words);
    let mut stream = ours;
    ours.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    ours.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    stream.write_all(&message)?;
    let answer = read_message(ours)?;
    ours.set_read_timeout(None)?;
    Ok(answer)
}

fn read_message(mut stream: &UnixStream) -> io::Result<(u8, i32)> {
    let mut message = [0; 5];
    stream.read_exact(&mut message)?;
    let [what, number @ ..] = message;
    Ok((what, i32::from_ne_bytes(number)))
}

/// Ends a keeper that keeps nothing.
fn reap(mut child: Child) {
    // It may have ended by itself; either way its status is taken, which says nothing.
    let _ = child.kill();
    let _ = child.wait();
}

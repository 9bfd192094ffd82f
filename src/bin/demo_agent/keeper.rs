//! Not an agent: the process between Neovim and an agent on Linux, or a command in a terminal. It adopts whatever
//! that starts that leaves its parents, so that nothing needs a mark to be found, and ends all of it when Neovim is
//! gone or says so. What it says and hears is described in the library's `acp/processes/keeper/linux.rs`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// From Neovim's end or word: when all are asked to end, and when they are killed. As the library does it with an agent
/// where there is no keeper.
const ASKED_AFTER: Duration = Duration::from_millis(250);
const KILLED_AFTER: Duration = Duration::from_millis(750);
/// What a kill has not ended by then waits inside the kernel.
const LEFT_AFTER: Duration = Duration::from_secs(4);
/// Between two kills: something may have been started meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

/// What a keeper is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    /// An agent, which leads a group and has pipes.
    Agent,
    /// A command, which leads the session of its terminal.
    Command,
}

/// Starts what is told of on this descriptor, and waits until nothing of it is left. None if the task is another.
pub fn run(task: &OsStr, descriptor: &OsStr) -> Option<ExitCode> {
    let task = match task.to_str()? {
        "--keep" => Task::Agent,
        "--keep-command" => Task::Command,
        _ => return None,
    };
    Some(run_task(task, descriptor))
}

fn run_task(task: Task, descriptor: &OsStr) -> ExitCode {
    let descriptor = descriptor.to_str().and_then(|number| number.parse::<i32>().ok()).filter(|fd| *fd > 2);
    let Some(descriptor) = descriptor else { return ExitCode::from(64) };
    // SAFETY: whoever starts a keeper leaves it this descriptor, which nothing else in here knows.
    let neovim = unsafe { UnixStream::from_raw_fd(descriptor) };
    match keep(task, neovim) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep(task: Task, mut neovim: UnixStream) -> io::Result<()> {
    // SAFETY: these take numbers, and a function that does nothing.
    unsafe {
        check(libc::fcntl(neovim.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC))?;
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        // Only the end of Neovim, or its word, ends a keeper. A handler is not inherited by programs, as a
        // signal that is ignored would be.
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE] {
            libc::signal(signal, nothing as extern "C" fn(libc::c_int) as libc::sighandler_t);
        }
    }
    let words = read_words(&mut neovim)?;
    let mut words = words.into_iter();
    let (Some(mark), Some(program)) = (words.next(), words.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut command = Command::new(program);
    command.args(words);
    match task {
        // An agent that kills its whole group is not to kill its keeper.
        Task::Agent => command.process_group(0),
        // SAFETY: between fork and exec only calls are made that are safe in a signal handler.
        Task::Command => unsafe { command.pre_exec(lead_terminal) },
    };
    if let Some(at) = mark.as_bytes().iter().position(|byte| *byte == b'=') {
        let (name, value) = mark.as_bytes().split_at(at);
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(&value[1..]));
    }
    let leader = match command.spawn() {
        Ok(child) => child.id().cast_signed(),
        Err(error) => return tell(&mut neovim, b'E', error.raw_os_error().unwrap_or(libc::EIO)),
    };
    let ends = signals_of_ends()?;
    let_go_of_pipes()?;
    tell(&mut neovim, b'S', leader)?;
    let may_reap = task == Task::Agent;
    Kept { neovim, ends, leader, may_reap, told: false, to_end: None, asked: false }.wait()
}

/// A command begins as the leader of a session of its own, whose terminal is its input.
fn lead_terminal() -> io::Result<()> {
    // SAFETY: these take numbers.
    unsafe {
        check(libc::setsid())?;
        check(libc::ioctl(0, libc::TIOCSCTTY, 0))?;
        // A signal that Neovim ignores would be ignored by the command, too.
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    Ok(())
}

extern "C" fn nothing(_: libc::c_int) {}

/// What to run: its length, and then words that each end with a zero.
fn read_words(neovim: &mut UnixStream) -> io::Result<Vec<OsString>> {
    let mut length = [0; 4];
    neovim.read_exact(&mut length)?;
    let mut words = vec![0; usize::try_from(u32::from_ne_bytes(length)).unwrap_or_default()];
    neovim.read_exact(&mut words)?;
    let words = words.strip_suffix(&[0]).unwrap_or(&words);
    Ok(words.split(|byte| *byte == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect())
}

fn tell(neovim: &mut UnixStream, what: u8, number: i32) -> io::Result<()> {
    let mut message = vec![what];
    message.extend(number.to_ne_bytes());
    neovim.write_all(&message)
}

/// A descriptor that can be read when a child has ended. From here on no program may be started: it would
/// inherit that the signal is held back.
fn signals_of_ends() -> io::Result<File> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is filled before it is read, and the descriptor is new.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        check(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()))?;
        let descriptor = check(libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(File::from(OwnedFd::from_raw_fd(descriptor)))
    }
}

/// The pipes or the terminal are the leader's: their ends are to be its ends.
fn let_go_of_pipes() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    for pipe in 0..3 {
        // SAFETY: takes numbers; nothing in here uses what these stood for.
        check(unsafe { libc::dup2(null.as_raw_fd(), pipe) })?;
    }
    Ok(())
}

/// What is kept, and how far its end is.
struct Kept {
    neovim: UnixStream,
    ends: File,
    leader: i32,
    /// The leader's number may be another's from now on. Neovim signals the group of a command by it, and says when
    /// it doesn't any more.
    may_reap: bool,
    /// The leader's end was told.
    told: bool,
    /// When Neovim was gone, or wanted the end.
    to_end: Option<Instant>,
    asked: bool,
}

impl Kept {
    /// Waits until no child is left, and tells when the leader has ended. Once Neovim is gone, or wants the end,
    /// all are asked to end, and killed.
    fn wait(mut self) -> io::Result<()> {
        loop {
            if !self.reap()? {
                return Ok(());
            }
            let passed = self.to_end.map(|since| since.elapsed());
            let pause = match passed {
                None => None,
                Some(passed) if passed < ASKED_AFTER => Some(ASKED_AFTER - passed),
                Some(passed) if passed < KILLED_AFTER => {
                    if !self.asked {
                        self.asked = true;
                        signal_all(&[libc::SIGTERM, libc::SIGCONT]);
                    }
                    Some(KILLED_AFTER - passed)
                }
                Some(passed) if passed < LEFT_AFTER => {
                    signal_all(&[libc::SIGKILL]);
                    Some(PAUSE)
                }
                Some(_) => return Ok(()),
            };
            // Once Neovim is gone its descriptor says nothing more.
            let neovims = if self.to_end.is_none() { self.neovim.as_raw_fd() } else { -1 };
            if poll(neovims, self.ends.as_raw_fd(), pause) {
                self.hear();
            }
            while self.ends.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {}
        }
    }

    /// Neovim has a word, which is that the leader may be reaped, or it is gone.
    fn hear(&mut self) {
        let is_word = self.neovim.read(&mut [0; 1]).is_ok_and(|read| read > 0);
        if !is_word {
            self.to_end = Some(Instant::now());
        }
        self.may_reap = true;
    }

    /// Takes the status of all that have ended; whether any child is left. While the leader's number is to stay its
    /// own, nobody's is taken: which of them the system names first is its business.
    fn reap(&mut self) -> io::Result<bool> {
        while let Some(child) = ended()? {
            if child == 0 {
                return Ok(false);
            }
            if child == self.leader && !self.told {
                self.told = true;
                // A Neovim that is gone does not want to know.
                let _ = tell(&mut self.neovim, b'X', status(child, libc::WNOWAIT)?);
            }
            if child == self.leader && !self.may_reap {
                break;
            }
            status(child, 0)?;
        }
        Ok(true)
    }
}

/// A child that has ended and is still in the table of processes. The child 0 says that there are no children.
fn ended() -> io::Result<Option<i32>> {
    match wait_id(libc::P_ALL, 0, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) {
        // SAFETY: the call was one that fills this.
        Ok(facts) => Ok(Some(unsafe { facts.si_pid() }).filter(|child| *child > 0)),
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(Some(0)),
        Err(error) => Err(error),
    }
}

/// How a child has ended, as `wait()` says it.
fn status(child: i32, how: libc::c_int) -> io::Result<i32> {
    let facts = wait_id(libc::P_PID, child.cast_unsigned(), libc::WEXITED | how)?;
    // SAFETY: the call was one that fills this.
    let status = unsafe { facts.si_status() };
    Ok(match facts.si_code {
        libc::CLD_EXITED => (status & 0xff) << 8,
        libc::CLD_DUMPED => status | 0x80,
        _ => status,
    })
}

fn wait_id(which: libc::idtype_t, child: libc::id_t, how: libc::c_int) -> io::Result<libc::siginfo_t> {
    // SAFETY: all zeros is one that says nothing, and the call fills it.
    unsafe {
        let mut facts: libc::siginfo_t = std::mem::zeroed();
        check(libc::waitid(which, child, &mut facts, how))?;
        Ok(facts)
    }
}

/// Waits for an end, for Neovim, or for the time; whether Neovim has said something, or closed its side.
fn poll(neovim: i32, ends: i32, time: Option<Duration>) -> bool {
    let wait = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut both = [wait(neovim), wait(ends)];
    let time = time.map_or(-1, |time| i32::try_from(time.as_millis() + 1).unwrap_or(i32::MAX));
    // SAFETY: the pointer and the length are those of the array.
    unsafe { libc::poll(both.as_mut_ptr(), 2, time) };
    both[0].revents != 0
}

/// Signals all that was started, and what that has started. Who is adopted in between is found
/// the next time.
fn signal_all(signals: &[i32]) {
    let own = std::process::id().cast_signed();
    let all: Vec<(i32, i32)> = processes().collect();
    let mut parents = vec![own];
    while let Some(parent) = parents.pop() {
        for (process, _) in all.iter().filter(|(process, of)| *of == parent && *process != own) {
            parents.push(*process);
            for signal in signals {
                // SAFETY: takes numbers. A child of ours keeps its number until it is reaped; one of its
                // children may end in between, as with any kill.
                unsafe { libc::kill(*process, *signal) };
            }
        }
    }
}

/// All processes with their parents.
fn processes() -> impl Iterator<Item = (i32, i32)> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    folders.filter_map(|folder| {
        let process = folder.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(folder.path().join("stat")).ok()?;
        // "pid (name) state parent …", and the name may hold anything.
        let mut fields = stat.rsplit(')').next()?.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some((process, parent))
    })
}

fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

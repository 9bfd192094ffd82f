//! Not an agent: the process between Neovim and an agent on Linux. It adopts whatever the agent starts that
//! leaves its parents, so that nothing needs a mark to be found, and ends all of it when Neovim is gone or
//! says so. What it says and hears is described in the library's `acp/keeper/linux.rs`.

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

/// From the end of the agent's input: when all are asked to end, and when they are killed. As the library
/// does it where there is no keeper.
const ASKED_AFTER: Duration = Duration::from_millis(250);
const KILLED_AFTER: Duration = Duration::from_millis(750);
/// What a kill has not ended by then waits inside the kernel.
const LEFT_AFTER: Duration = Duration::from_secs(4);
/// Between two kills: something may have been started meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts the agent that is told of on this descriptor, and waits until nothing of it is left.
pub fn run(descriptor: &OsStr) -> ExitCode {
    let descriptor = descriptor.to_str().and_then(|number| number.parse::<i32>().ok()).filter(|fd| *fd > 2);
    let Some(descriptor) = descriptor else { return ExitCode::from(64) };
    // SAFETY: whoever starts a keeper leaves it this descriptor, which nothing else in here knows.
    let neovim = unsafe { UnixStream::from_raw_fd(descriptor) };
    match keep(neovim) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep(mut neovim: UnixStream) -> io::Result<()> {
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
    // An agent that kills its whole group is not to kill its keeper.
    command.args(words).process_group(0);
    if let Some(at) = mark.as_bytes().iter().position(|byte| *byte == b'=') {
        let (name, value) = mark.as_bytes().split_at(at);
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(&value[1..]));
    }
    let agent = match command.spawn() {
        Ok(child) => child.id().cast_signed(),
        Err(error) => return tell(&mut neovim, b'E', error.raw_os_error().unwrap_or(libc::EIO)),
    };
    let ends = signals_of_ends()?;
    let_go_of_pipes()?;
    tell(&mut neovim, b'S', agent)?;
    wait(neovim, &ends, agent)
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

/// The agent's pipes are the agent's: their ends are to be its ends.
fn let_go_of_pipes() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    for pipe in 0..3 {
        // SAFETY: takes numbers; nothing in here uses what these stood for.
        check(unsafe { libc::dup2(null.as_raw_fd(), pipe) })?;
    }
    Ok(())
}

/// Waits until no child is left, and tells when the agent has ended. Once Neovim is gone, or wants the end,
/// all are asked to end, and killed.
fn wait(mut neovim: UnixStream, ends: &File, agent: i32) -> io::Result<()> {
    let mut to_end: Option<Instant> = None;
    let mut asked = false;
    loop {
        while let Some((child, status)) = reap()? {
            if child == agent {
                // A Neovim that is gone does not want to know.
                let _ = tell(&mut neovim, b'X', status);
            }
            if child == 0 {
                return Ok(());
            }
        }
        let passed = to_end.map(|since| since.elapsed());
        let pause = match passed {
            None => None,
            Some(passed) if passed < ASKED_AFTER => Some(ASKED_AFTER - passed),
            Some(passed) if passed < KILLED_AFTER => {
                if !asked {
                    asked = true;
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
        let neovims = if to_end.is_none() { neovim.as_raw_fd() } else { -1 };
        if poll(neovims, ends.as_raw_fd(), pause) {
            to_end = Some(Instant::now());
        }
        let mut signals = ends;
        while signals.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {}
    }
}

/// One child that has ended, and how. The child 0 says that there are no children any more.
fn reap() -> io::Result<Option<(i32, i32)>> {
    let mut status = 0;
    // SAFETY: the number is ours to be written to.
    match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
        0 => Ok(None),
        child if child > 0 => Ok(Some((child, status))),
        _ if io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) => Ok(Some((0, 0))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits for an end, for Neovim, or for the time; whether Neovim has closed its side.
fn poll(neovim: i32, ends: i32, time: Option<Duration>) -> bool {
    let wait = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut both = [wait(neovim), wait(ends)];
    let time = time.map_or(-1, |time| i32::try_from(time.as_millis() + 1).unwrap_or(i32::MAX));
    // SAFETY: the pointer and the length are those of the array.
    unsafe { libc::poll(both.as_mut_ptr(), 2, time) };
    // It sends nothing more, so whatever there is to read is the end.
    both[0].revents != 0
}

/// Signals all that the agent has started, and what that has started. Who is adopted in between is found
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

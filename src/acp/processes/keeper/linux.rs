//! A keeper on Linux: the demo agent's program, which comes with the library, as another process. It is
//! told on a socket what to run, a length and then words that each end with a zero: the mark, the program,
//! its arguments. It answers `S` and the agent's number, or `E` and why there is none; and in the end `X`
//! and the agent's status. The end of the socket, which is Neovim's end, too, has it end everything.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use super::kept::{Kept, Unkept};
use crate::acp::processes::escaped::{self, Mark};
use crate::acp::processes::sandbox::Confined;
use crate::platform::group::Group;

/// A program that takes longer for its first word is no keeper.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Our end of the socket.
pub struct Keeper(UnixStream);

impl Keeper {
    /// Waits until the agent has ended. None if the keeper was ended before it could say how.
    pub fn wait_for_agent(&self) -> Option<ExitStatus> {
        match read_message(&self.0) {
            Ok((b'X', status)) => Some(ExitStatus::from_raw(status)),
            _ => None,
        }
    }

    /// Has the keeper end all that is left, and then itself: the agent's input is closed by now.
    pub fn end(&self) {
        // One that is gone has ended already. What it says is still heard.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// Starts a command by this program as its keeper. The command's own pipes are the keeper's to give on, and so is
/// what it is kept to.
pub fn spawn(
    program: Option<&Path>,
    command: &Command,
    mark: &Mark,
    confined: Option<&Confined>,
) -> Result<Kept<Keeper>, Unkept> {
    let Some(program) = program else { return Err(Unkept::NoKeeper) };
    let Ok((ours, theirs)) = UnixStream::pair() else { return Err(Unkept::NoKeeper) };
    let keeper = keeper(program, command, theirs.as_raw_fd(), confined);
    let Ok(mut keeper) = keeper else { return Err(Unkept::NoKeeper) };
    let Ok((child, keepers)) = Group::spawn(&mut keeper) else { return Err(Unkept::NoKeeper) };
    drop(theirs);
    match talk(&ours, command, mark) {
        Ok((b'S', agent)) => {
            let agent = agent.cast_unsigned();
            Ok(Kept { child, keepers, agent, group: Group::of(agent), keeper: Keeper(ours) })
        }
        Ok((b'E', error)) => {
            reap(child);
            Err(Unkept::Agent(io::Error::from_raw_os_error(error)))
        }
        _ => {
            reap(child);
            Err(Unkept::NoKeeper)
        }
    }
}

fn keeper(
    program: &Path,
    command: &Command,
    descriptor: i32,
    confined: Option<&Confined>,
) -> io::Result<Command> {
    let mut keeper = Command::new(program);
    keeper.arg0("acp-keeper").arg("--keep").arg(descriptor.to_string());
    keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(folder) = command.get_current_dir() {
        keeper.current_dir(folder);
    }
    // Whoever ends by their marks what an agent has started must leave this to the last.
    escaped::unmark(&mut keeper);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => keeper.env(name, value),
            None => keeper.env_remove(name),
        };
    }
    // Before the descriptor is left to it: the confined begin with no other.
    if let Some(confined) = confined {
        confined.put_on_agent(&mut keeper)?;
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

//! The transport over stdio: an agent's process, started with pipes in a process group of its own, read and
//! written by threads, and ended in steps until nothing of it is left. What goes through the pipes is read by
//! `wire`; what it means is left to `connection`.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc as blocking;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::escaped::{self, Origin};
use super::guard::Guard;
use super::keeper::{self, Kept, Unkept};
use super::process_tree::{ProcessTree, TreeState};
use super::sandbox::Confined;
use crate::acp::mutex::lock;
use crate::acp::wire::dialect::Converter;
use crate::acp::wire::fast_path::FastPath;
use crate::acp::wire::log::{AgentLog, Direction};
use crate::acp::wire::transport::{Batch, LineSender, MessageSink, Transport};
use crate::core::message::{Exit, Launch};
use crate::platform::group::{CAN_ASK, Group};
use crate::platform::{Signal, pipes, program};

/// How an agent is ended, once its stdin is closed: how long to wait for it, and what to do then. The guard
/// does the same after Neovim's end. Whatever starts while others are killed is found by killing again; and
/// what a kill does not end waits inside the kernel, where nobody can do more.
const END_STEPS: &[(Duration, Signal)] = if CAN_ASK {
    &[
        (Duration::from_millis(250), Signal::Terminate),
        (Duration::from_millis(500), Signal::Kill),
        (Duration::from_millis(100), Signal::Kill),
        (Duration::from_millis(900), Signal::Kill),
    ]
} else {
    &[(Duration::from_secs(1), Signal::Kill), (Duration::from_secs(1), Signal::Kill)]
};

/// The same where a keeper does all that: what to do about one that doesn't.
const END_STEPS_KEPT: &[(Duration, Signal)] =
    &[(Duration::from_millis(1500), Signal::Kill), (Duration::from_millis(900), Signal::Kill)];

const STDERR_LINES: usize = 20;

/// Why a process couldn't be started; the text is fit for "couldn't start {agent}: …".
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("no program \"{command}\" in PATH; install it or set agents.{name}.command")]
    NotInPath { command: String, name: String },
    #[error("no program \"{command}\"; set agents.{name}.command to where it is")]
    NoFile { command: String, name: String },
    #[error("\"{command}\" needs an interpreter that is not there; see its first line")]
    NoInterpreter { command: String },
    #[error("\"{command}\" may not be run; make it executable or set agents.{name}.command")]
    NotExecutable { command: String, name: String },
    #[error("no folder \"{}\" to start it in; set agents.{name}.cwd or create it", cwd.display())]
    NoFolder { cwd: PathBuf, name: String },
    #[error("running \"{command}\" failed: {source}")]
    Other { command: String, source: std::io::Error },
    #[error(
        "running \"{command}\" in its sandbox failed: {source}; name in agents.{name}.sandbox.read what it needs, \
         see :help acp-sandbox"
    )]
    Confined { command: String, name: String, source: std::io::Error },
}

/// What a process is started with, besides its command.
pub struct Context {
    /// The most bytes of one message.
    pub message_limit: usize,
    /// The program that adopts what the agent leaves behind.
    pub keeper: Option<PathBuf>,
    /// What it is kept to.
    pub confined: Option<Arc<Confined>>,
    pub guard: Arc<Guard>,
    pub log: AgentLog,
    pub fast_path: Arc<FastPath>,
    pub converter: Converter,
}

/// An agent as a process with three pipes.
pub struct Process {
    pub pid: u32,
    lines: LineSender,
    incoming: mpsc::Receiver<Batch>,
    stderr: Stderr,
    exit: watch::Receiver<Option<Exit>>,
    tree: ProcessTree,
}

impl Process {
    /// The process from which all comes that the agent starts: its keeper where it has one, which adopts what leaves the
    /// agent.
    pub fn root(&self) -> u32 {
        self.tree.root
    }

    pub fn start(launch: &Launch, context: Context) -> Result<Self, SpawnError> {
        let Context { message_limit, keeper, confined, guard, log, fast_path, converter } = context;
        let (mut child, tree) = spawn(launch, keeper.as_deref(), confined.as_deref(), guard)?;
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");

        let (lines, queue) = LineSender::channel();
        let (sink, incoming) = MessageSink::channel(message_limit, log.clone(), fast_path, converter);
        let (ended, exit) = watch::channel(None);
        let tail = Stderr::default();
        run("acp-in", move || write_lines(stdin, &queue));
        run("acp-out", {
            let log = log.clone();
            move || read_stdout(stdout, sink, &log)
        });
        run("acp-err", {
            let tail = tail.clone();
            move || read_stderr(stderr, &tail, &log)
        });
        let waiting = tree.waiting();
        run("acp-wait", move || waiting.wait(child, &ended));
        Ok(Self { pid: tree.pid, lines, incoming, stderr: tail, exit, tree })
    }

    /// Waits for the process itself; what it started may live on.
    fn exited(&self) -> impl Future<Output = ()> + use<> {
        let mut exit = self.exit.clone();
        async move {
            // The waiting thread tells before it ends, and without one there is nothing to wait for.
            let _ = exit.wait_for(Option::is_some).await;
        }
    }

    async fn wait_for_end(
        &self,
        patience: Duration,
        leaving: &mut watch::Receiver<Option<Instant>>,
    ) -> Waited {
        let left = async {
            let until = leaving.wait_for(Option::is_some).await.ok().and_then(|until| *until);
            match until {
                Some(until) => sleep_until(until).await,
                // Nobody is there any more who could say so.
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.gone() => Waited::Gone,
            () = left => Waited::Leaving,
            () = sleep(patience) => Waited::InVain,
        }
    }

    async fn gone(&self) {
        self.exited().await;
        let mut pause = Duration::from_millis(5);
        loop {
            let ProcessTree { group, kept, mark, noted, .. } = &self.tree;
            // The keeper is the last. Who leads the agent's group may have been reaped, so that its number
            // is a stranger's.
            let keepers = kept.as_ref().filter(|_| self.tree.is_kept()).map(|(_, group)| group);
            let (group, mark, noted) = (keepers.unwrap_or(group).clone(), mark.clone(), noted.clone());
            // Looking may take a moment where many processes run. A panic is as good as "gone".
            if !spawn_blocking(move || group.lives() || escaped::live(&mark, &noted)).await.unwrap_or(false) {
                return;
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }
}

impl Transport for Process {
    fn lines(&self) -> LineSender {
        self.lines.clone()
    }

    async fn receive(&mut self) -> Option<Batch> {
        self.incoming.recv().await
    }

    fn ended(&self) -> watch::Receiver<Option<Exit>> {
        self.exit.clone()
    }

    /// The last lines of stderr. Waits a moment for those that are still on their way.
    async fn last_words(&self) -> Vec<String> {
        if self.tree.state != TreeState::Left {
            let mut closed = self.stderr.closed.subscribe();
            // A child of the agent's may hold the pipe open for long; then these are the lines so far.
            let _ = timeout(Duration::from_millis(200), closed.wait_for(|closed| *closed)).await;
        }
        lock(&self.stderr.lines).iter().cloned().collect()
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin { process: self.tree.root, mark: self.tree.mark.clone() })
    }

    /// Closes stdin, then asks, then kills. What is left when Neovim waits no longer is left to the guard.
    async fn close(&mut self, leaving: &mut watch::Receiver<Option<Instant>>) {
        // Before it can leave, and its children with it.
        self.tree.note().await;
        self.lines.close();
        if let Some((keeper, _)) = &self.tree.kept {
            keeper.end();
        }
        let steps = if self.tree.is_kept() { END_STEPS_KEPT } else { END_STEPS };
        for (patience, signal) in steps {
            match self.wait_for_end(*patience, leaving).await {
                Waited::Gone => break,
                Waited::InVain => self.tree.signal(*signal).await,
                Waited::Leaving if self.tree.guard.holds() => {
                    self.tree.state = TreeState::Left;
                    return;
                }
                Waited::Leaving => {
                    self.tree.signal(Signal::Kill).await;
                    break;
                }
            }
        }
        self.tree.forget();
    }
}

enum Waited {
    Gone,
    InVain,
    /// Neovim is leaving, and waits no longer.
    Leaving,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.lines.close();
        if let Some((keeper, _)) = self.tree.kept.as_ref().filter(|_| self.tree.is_kept()) {
            keeper.end();
        } else if self.tree.state == TreeState::Ours {
            self.tree.group.signal(Signal::Kill);
            escaped::signal(&self.tree.mark, &self.tree.noted, &[], Signal::Kill);
            self.tree.forget();
        }
    }
}

#[derive(Clone)]
struct Stderr {
    lines: Arc<Mutex<VecDeque<String>>>,
    closed: watch::Sender<bool>,
}

impl Default for Stderr {
    fn default() -> Self {
        Self { lines: Arc::default(), closed: watch::Sender::new(false) }
    }
}

fn run(name: &str, body: impl FnOnce() + Send + 'static) {
    // A thread that can't be had drops its end of the channel, which reads as the end of the agent.
    let _ = thread::Builder::new().name(name.to_owned()).spawn(body);
}

fn write_lines(mut stdin: ChildStdin, queue: &blocking::Receiver<Vec<u8>>) {
    for line in queue {
        if stdin.write_all(&line).is_err() {
            return;
        }
    }
}

fn read_stdout(mut stdout: ChildStdout, mut sink: MessageSink, log: &AgentLog) {
    let mut block = vec![0; 64 * 1024];
    loop {
        sink.look(|| pipes::is_quiet(&stdout));
        match stdout.read(&mut block) {
            Ok(0) => break,
            Ok(read) if sink.push(&block[..read]).is_break() => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                log.note(&format!("couldn't read the agent's stdout: {error}"));
                break;
            }
        }
    }
    sink.finish();
}

fn read_stderr(stderr: ChildStderr, tail: &Stderr, log: &AgentLog) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    // A line without an end must not grow without one.
    while reader.by_ref().take(8 * 1024).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = plain(&String::from_utf8_lossy(&line));
        if !text.is_empty() {
            log.raw(Direction::Stderr, &text);
            let mut lines = lock(&tail.lines);
            if lines.len() == STDERR_LINES {
                lines.pop_front();
            }
            lines.push_back(text);
        }
        line.clear();
    }
    tail.closed.send_replace(true);
}

/// A line as it reads on a screen: without colours and other control sequences.
fn plain(line: &str) -> String {
    let mut plain = String::new();
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => {
                if chars.next() == Some('[') {
                    chars.by_ref().find(|char| ('@'..='~').contains(char));
                }
            }
            '\t' => plain.push(char),
            char if char.is_control() => {}
            char => plain.push(char),
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

/// Starts the agent, under a keeper where there is one. Gives the child, which may be the keeper.
fn spawn(
    launch: &Launch,
    keeper: Option<&Path>,
    confined: Option<&Confined>,
    guard: Arc<Guard>,
) -> Result<(Child, ProcessTree), SpawnError> {
    let mut command = command(launch);
    command.envs(confined.into_iter().flat_map(Confined::env));
    let mark = guard.mark_of_agent();
    let (child, pid, group, kept) = match keeper::spawn(keeper, &command, &mark, confined) {
        Ok(Kept { child, keepers, agent, group, keeper }) => {
            // What comes after the keeper, should somebody end that.
            guard.mark_kept_agents();
            (child, agent, group, Some((Arc::new(keeper), keepers)))
        }
        Err(Unkept::Program(error)) => return Err(explain(launch, error)),
        Err(Unkept::NoKeeper) => {
            mark.put_on(&mut command);
            let confine = confined.map_or(Ok(()), |confined| confined.put_on_agent(&mut command));
            let spawned = confine.and_then(|()| Group::spawn(&mut command));
            let (child, group) = spawned.map_err(|error| explain(launch, error))?;
            guard.add(&group);
            guard.mark_agents();
            let pid = child.id();
            (child, pid, group, None)
        }
    };
    let (root, lost, noted) = (child.id(), Arc::default(), Vec::new());
    let tree = ProcessTree { root, pid, group, mark, noted, guard, kept, lost, state: TreeState::Ours };
    Ok((child, tree))
}

fn command(launch: &Launch) -> Command {
    let path = launch
        .env
        .iter()
        .rev()
        .find(|(name, _)| program::is_path_variable(name))
        .map(|(_, value)| value.as_ref());
    let mut command = Command::new(program::find(launch.command.as_ref(), &launch.cwd, path));
    command
        .args(&launch.args)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn explain(launch: &Launch, source: std::io::Error) -> SpawnError {
    let (command, name) = (launch.command.clone(), launch.name.clone());
    let file = Path::new(&command);
    match source.kind() {
        _ if !launch.cwd.is_dir() => SpawnError::NoFolder { cwd: launch.cwd.clone(), name },
        ErrorKind::NotFound if file.components().count() == 1 => SpawnError::NotInPath { command, name },
        ErrorKind::NotFound if launch.cwd.join(file).exists() => SpawnError::NoInterpreter { command },
        ErrorKind::NotFound => SpawnError::NoFile { command, name },
        _ if launch.sandbox.is_some() => SpawnError::Confined { command, name, source },
        ErrorKind::PermissionDenied => SpawnError::NotExecutable { command, name },
        _ => SpawnError::Other { command, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stderr_loses_its_colours() {
        assert_eq!(plain("\u{1b}[1;31merror\u{1b}[0m:\tno\u{7} key \r\n"), "error:\tno key");
        assert_eq!(plain("\u{1b}[2K\n"), "");
    }
}

//! One agent's process: started with pipes in a process group of its own, read and written by
//! threads, and ended in steps until nothing of it is left. What goes through the pipes is read by
//! `framing` and `rpc`; what it means is left to `connection`.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as blocking;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::escaped::{self, Mark, Noted, Origin};
use super::guard::Guard;
use super::keeper::{self, Keeper, Kept, Unkept};
use crate::acp::mutex::lock;
use crate::acp::wire::fast_path::FastPath;
use crate::acp::wire::framing::{Framer, TooLong, is_length_header, trim};
use crate::acp::wire::from_acp::Chunk;
use crate::acp::wire::log::{AgentLog, Direction};
use crate::acp::wire::rpc::{self, Message, Noise};
use crate::core::message::{Exit, Launch};
use crate::platform::group::{CAN_ASK, Group};
use crate::platform::{Signal, program};

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

/// Reads in flight between the reading thread and the background.
const BATCHES: usize = 4;

const STDERR_LINES: usize = 20;

/// What the agent wrote to its stdout.
#[derive(Debug)]
pub enum Output {
    /// A message that is a piece of text, and is nothing else.
    Chunk(Chunk),
    Message(Message),
    /// A line that is no message, or its beginning.
    Noise(Noise, String),
    /// A message longer than allowed; nothing can be read after it.
    TooLong,
    /// Messages are framed as a language server does.
    LengthHeader,
}

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
}

pub struct Process {
    pub pid: u32,
    pub input: Input,
    pub output: mpsc::Receiver<Vec<Output>>,
    stderr: Stderr,
    exit: watch::Receiver<Option<Exit>>,
    tree: ProcessTree,
}

impl Process {
    pub fn start(
        launch: &Launch,
        message_limit: usize,
        keeper: Option<&Path>,
        guard: Arc<Guard>,
        log: &AgentLog,
        fast_path: Arc<FastPath>,
    ) -> Result<Self, SpawnError> {
        let mut command = command(launch);
        let mark = guard.mark_of_agent();
        let (mut child, pid, group, kept) = match keeper::spawn(keeper, &command, &mark) {
            Ok(Kept { child, keepers, agent, group, keeper }) => {
                // What comes after the keeper, should somebody end that.
                guard.mark_kept();
                (child, agent, group, Some((Arc::new(keeper), keepers)))
            }
            Err(Unkept::Agent(error)) => return Err(explain(launch, error)),
            Err(Unkept::NoKeeper) => {
                mark.put_on(&mut command);
                let (child, group) = Group::spawn(&mut command).map_err(|error| explain(launch, error))?;
                guard.add(&group);
                guard.mark_agents();
                let pid = child.id();
                (child, pid, group, None)
            }
        };
        let (root, keeper) = (child.id(), kept.as_ref().map(|(keeper, _)| keeper.clone()));
        let (lost, noted, state) = (Arc::<AtomicBool>::default(), Vec::new(), TreeState::Ours);
        let tree = ProcessTree {
            root,
            pid,
            group: group.clone(),
            mark,
            noted,
            guard,
            kept,
            lost: lost.clone(),
            state,
        };
        let stdin = child.stdin.take().expect("stdin is piped above");
        let stdout = child.stdout.take().expect("stdout is piped above");
        let stderr = child.stderr.take().expect("stderr is piped above");

        let (lines, queue) = blocking::channel();
        let (batches, output) = mpsc::channel(BATCHES);
        let (ended, exit) = watch::channel(None);
        let tail = Stderr::default();
        run("acp-in", move || write_lines(stdin, &queue));
        run("acp-out", {
            let log = log.clone();
            move || read_messages(stdout, message_limit, &batches, &log, &fast_path)
        });
        run("acp-err", {
            let (log, tail) = (log.clone(), tail.clone());
            move || read_stderr(stderr, &tail, &log)
        });
        let unkept = tree.guard.clone();
        run("acp-wait", move || match keeper {
            Some(keeper) => {
                let exit = keeper.wait_for_agent().map(|status| group.exit(status));
                if exit.is_none() {
                    // Somebody has ended the keeper, and nobody adopts what the agent leaves any more.
                    lost.store(true, Ordering::Release);
                    unkept.add(&group);
                    unkept.mark_agents();
                }
                wait_for_kept(child, exit, &ended);
            }
            None => wait(child, &group, &ended),
        });
        Ok(Self { pid, input: Input(Arc::new(Mutex::new(Some(lines)))), output, stderr: tail, exit, tree })
    }

    /// By what all that it starts can be found.
    pub fn origin(&self) -> Origin {
        Origin { process: self.tree.root, mark: self.tree.mark.clone() }
    }

    /// Waits for the process itself; what it started may live on.
    pub fn exited(&self) -> impl Future<Output = ()> + use<> {
        let mut exit = self.exit.clone();
        async move {
            // The waiting thread tells before it ends, and without one there is nothing to wait for.
            let _ = exit.wait_for(Option::is_some).await;
        }
    }

    pub fn exit(&self) -> Option<Exit> {
        self.exit.borrow().clone()
    }

    /// The last lines of stderr. Waits a moment for those that are still on their way.
    pub async fn stderr(&self) -> Vec<String> {
        if self.tree.state != TreeState::Left {
            let mut closed = self.stderr.closed.subscribe();
            // A child of the agent's may hold the pipe open for long; then these are the lines so far.
            let _ = timeout(Duration::from_millis(200), closed.wait_for(|closed| *closed)).await;
        }
        lock(&self.stderr.lines).iter().cloned().collect()
    }

    /// Ends the process and all it started: closes its stdin, then asks, then kills. `leaving` says until
    /// when that may take, since Neovim is leaving; what is left then is left to the guard.
    pub async fn end(&mut self, leaving: &mut watch::Receiver<Option<Instant>>) {
        // Before it can leave, and its children with it.
        self.tree.note().await;
        self.input.close();
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

enum Waited {
    Gone,
    InVain,
    /// Neovim is leaving, and waits no longer.
    Leaving,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input.close();
        if let Some((keeper, _)) = self.tree.kept.as_ref().filter(|_| self.tree.is_kept()) {
            keeper.end();
        } else if self.tree.state == TreeState::Ours {
            self.tree.group.signal(Signal::Kill);
            escaped::signal(&self.tree.mark, &self.tree.noted, &[], Signal::Kill);
            self.tree.forget();
        }
    }
}

/// The agent's stdin: a queue without end, emptied by a thread, so that sending never waits.
#[derive(Clone, Debug)]
pub struct Input(Arc<Mutex<Option<blocking::Sender<Vec<u8>>>>>);

impl Input {
    /// Sends a whole line. After the end of the agent nothing is sent any more.
    pub fn send(&self, line: Vec<u8>) {
        if let Some(lines) = &*lock(&self.0) {
            // The queue's other end is gone only when the pipe broke: the agent's end is noticed elsewhere.
            let _ = lines.send(line);
        }
    }

    /// Closes stdin once all that was sent is written.
    pub fn close(&self) {
        lock(&self.0).take();
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

fn read_messages(
    mut stdout: ChildStdout,
    limit: usize,
    batches: &mpsc::Sender<Vec<Output>>,
    log: &AgentLog,
    fast_path: &FastPath,
) {
    let mut hearing = Hearing::new(limit, log.clone());
    let mut block = vec![0; 64 * 1024];
    loop {
        let read = match stdout.read(&mut block) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                log.note(&format!("couldn't read the agent's stdout: {error}"));
                break;
            }
        };
        let batch = slow_path(hearing.hear(&block[..read]), fast_path);
        if batch.is_empty() {
            continue;
        }
        let over = matches!(batch.last(), Some(Output::TooLong | Output::LengthHeader));
        fast_path.slow_batch_sent();
        if batches.blocking_send(batch).is_err() || over {
            return;
        }
    }
    if let Some(output) = hearing.end() {
        fast_path.slow_batch_sent();
        // The other end is gone only when nobody wants to know.
        let _ = batches.blocking_send(vec![output]);
    }
}

/// Posts the text that comes first; what is left goes another way, the text behind it as well.
fn slow_path(batch: Vec<Output>, fast_path: &FastPath) -> Vec<Output> {
    let mut long = Vec::new();
    for output in batch {
        match output {
            Output::Chunk(chunk) if long.is_empty() => {
                long.extend(fast_path.post(chunk).err().map(Output::Chunk));
            }
            other => long.push(other),
        }
    }
    long
}

/// From the bytes of an agent's stdout, in whatever pieces they come, to messages.
pub struct Hearing {
    framer: Framer,
    /// A message has come.
    heard: bool,
    log: AgentLog,
}

impl Hearing {
    pub fn new(limit: usize, log: AgentLog) -> Self {
        Self { framer: Framer::new(limit), heard: false, log }
    }

    pub fn hear(&mut self, bytes: &[u8]) -> Vec<Output> {
        let mut batch = Vec::new();
        let (heard, log) = (&mut self.heard, &self.log);
        let pushed = self.framer.push(bytes, |line| batch.extend(read_line(line, heard, log)));
        if pushed == Err(TooLong) {
            batch.push(Output::TooLong);
        }
        batch
    }

    /// The last line, if it had no end.
    fn end(mut self) -> Option<Output> {
        self.framer.finish().and_then(|line| read_line(&line, &mut self.heard, &self.log))
    }
}

fn read_line(line: &[u8], heard: &mut bool, log: &AgentLog) -> Option<Output> {
    let line = trim(line);
    if line.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    if let Some(chunk) = Chunk::read(&text) {
        *heard = true;
        log.message(Direction::FromAgent, line);
        return Some(Output::Chunk(chunk));
    }
    match rpc::read(&text) {
        Ok(message) => {
            *heard = true;
            log.message(Direction::FromAgent, line);
            Some(Output::Message(message))
        }
        Err(noise) => {
            log.raw(Direction::FromAgent, &text);
            // A program that has sent a message knows the framing; such a line is its own output.
            if is_length_header(line) && !*heard {
                return Some(Output::LengthHeader);
            }
            Some(Output::Noise(noise, text.chars().take(200).collect()))
        }
    }
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

fn wait(mut child: Child, group: &Group, ended: &watch::Sender<Option<Exit>>) {
    // An error means that somebody else has taken the status; the process is gone in any case.
    let exit = child.wait().map(|status| group.exit(status)).unwrap_or_default();
    ended.send_replace(Some(exit));
}

/// The same of an agent under a keeper, whose end is told before the keeper's comes.
fn wait_for_kept(mut keeper: Child, exit: Option<Exit>, ended: &watch::Sender<Option<Exit>>) {
    ended.send_replace(Some(exit.unwrap_or_default()));
    // It stays in the table of processes otherwise.
    let _ = keeper.wait();
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
        ErrorKind::PermissionDenied => SpawnError::NotExecutable { command, name },
        _ => SpawnError::Other { command, source },
    }
}

/// An agent with all that it started.
struct ProcessTree {
    /// The agent's process, or its keeper's: all else is below.
    root: u32,
    /// The agent's process.
    pid: u32,
    group: Group,
    /// Of those that have left the group.
    mark: Mark,
    /// Of those as well that have no mark; known from the beginning of the end.
    noted: Vec<Noted>,
    guard: Arc<Guard>,
    /// The keeper, and its group.
    kept: Option<(Arc<Keeper>, Group)>,
    /// Somebody has ended the keeper.
    lost: Arc<AtomicBool>,
    state: TreeState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TreeState {
    Ours,
    /// Left to the guard, since Neovim leaves.
    Left,
    Gone,
}

impl ProcessTree {
    /// Notes what the agent has started that may have neither its group nor its mark any more.
    async fn note(&mut self) {
        // What a keeper that is gone had adopted is nobody's.
        let agent = if self.lost.load(Ordering::Acquire) { self.pid } else { self.root };
        // A panic is as good as nothing to note: groups and marks find most.
        self.noted = spawn_blocking(move || escaped::below(agent)).await.unwrap_or_default();
        if !self.is_kept() {
            self.guard.note(&self.noted);
        }
    }

    async fn signal(&self, signal: Signal) {
        let (mark, noted) = (self.mark.clone(), self.noted.clone());
        // A keeper that does not do its work is the last to be ended.
        let keepers = self.kept.as_ref().filter(|_| self.is_kept()).map(|(_, group)| group.clone());
        let group = self.group.clone();
        let work = move || match keepers {
            Some(keepers) => {
                escaped::signal(&mark, &noted, &[], signal);
                keepers.signal(signal);
            }
            None => {
                group.signal(signal);
                escaped::signal(&mark, &noted, &[group], signal);
            }
        };
        // A panic is as good as a signal that nobody took: the next step follows.
        let _ = spawn_blocking(work).await;
    }

    /// Whether a keeper ends what is left.
    fn is_kept(&self) -> bool {
        self.kept.is_some() && !self.lost.load(Ordering::Acquire)
    }

    fn forget(&mut self) {
        self.state = TreeState::Gone;
        self.guard.remove(&self.group);
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

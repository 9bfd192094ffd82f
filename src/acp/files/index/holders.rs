//! Which sessions' process has a file open for writing: asked where the changes of several may be meant. It is
//! read from /proc, as far as that answers; a process that has closed the file already cannot be found.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::acp::mutex::lock;
use crate::core::changes::attribution::Holder;
use crate::core::ids::{AgentId, SessionKey, TerminalId};

/// Looking at all processes takes a few milliseconds; it is not done more often than this.
const PAUSE: Duration = Duration::from_millis(40);

/// The processes from which all that sessions run comes.
#[derive(Debug, Default)]
pub struct Holders {
    roots: Mutex<HashMap<u32, Root>>,
    last: Mutex<Option<Instant>>,
}

/// Whose a process is, with all that it has started.
#[derive(Clone, Debug)]
enum Root {
    Command {
        session: SessionKey,
        terminal: TerminalId,
        /// What it has left behind may go on.
        is_over: bool,
    },
    /// An agent, which runs commands itself, and its sessions.
    Agent(AgentId, BTreeSet<SessionKey>),
}

impl Root {
    fn is_command(&self, session: SessionKey, terminal: &TerminalId) -> bool {
        matches!(self, Self::Command { session: of, terminal: known, .. } if (*of, known) == (session, terminal))
    }

    fn holder(&self) -> Holder {
        match self {
            Self::Command { session, terminal, .. } => {
                Holder { sessions: BTreeSet::from([*session]), terminal: Some(terminal.clone()) }
            }
            Self::Agent(_, sessions) => Holder { sessions: sessions.clone(), terminal: None },
        }
    }
}

impl Holders {
    pub fn command_began(&self, process: u32, session: SessionKey, terminal: TerminalId) {
        lock(&self.roots).insert(process, Root::Command { session, terminal, is_over: false });
    }

    pub fn command_ended(&self, session: SessionKey, terminal: &TerminalId) {
        for root in lock(&self.roots).values_mut().filter(|root| root.is_command(session, terminal)) {
            if let Root::Command { is_over, .. } = root {
                *is_over = true;
            }
        }
    }

    /// The root is gone: its number may be another process's.
    pub fn nothing_left(&self, session: SessionKey, terminal: &TerminalId) {
        lock(&self.roots).retain(|_, root| !root.is_command(session, terminal));
    }

    /// Whether commands that are over may have left something behind that goes on.
    pub fn is_anything_left(&self) -> bool {
        lock(&self.roots).values().any(|root| matches!(root, Root::Command { is_over: true, .. }))
    }

    pub fn agent_began(&self, process: u32, agent: AgentId) {
        lock(&self.roots).insert(process, Root::Agent(agent, BTreeSet::new()));
    }

    pub fn agent_ended(&self, agent: AgentId) {
        lock(&self.roots).retain(|_, root| !matches!(root, Root::Agent(known, _) if *known == agent));
    }

    pub fn session_began(&self, agent: AgentId, session: SessionKey) {
        for root in lock(&self.roots).values_mut() {
            if let Root::Agent(known, sessions) = root
                && *known == agent
            {
                sessions.insert(session);
            }
        }
    }

    pub fn session_ended(&self, session: SessionKey) {
        lock(&self.roots).retain(|_, root| match root {
            Root::Command { session: of, .. } => *of != session,
            Root::Agent(_, sessions) => {
                sessions.remove(&session);
                true
            }
        });
    }

    /// Of whom a process has the file open for writing, if it can't be somebody else as well.
    pub fn of(&self, path: &Path) -> Option<Holder> {
        let roots = lock(&self.roots).clone();
        if roots.is_empty() {
            return None;
        }
        let mut last = lock(&self.last);
        if last.is_some_and(|last| last.elapsed() < PAUSE) {
            return None;
        }
        let writers = processes::writers(path, &|process| roots.contains_key(&process));
        *last = Some(Instant::now());
        let mut found = writers.into_iter().filter_map(|process| roots.get(&process)).map(Root::holder);
        let mut holder = found.next()?;
        for other in found {
            if other.sessions != holder.sessions {
                return None;
            }
            if other.terminal != holder.terminal {
                holder.terminal = None;
            }
        }
        Some(holder).filter(|holder| !holder.sessions.is_empty())
    }
}

#[cfg(target_os = "linux")]
mod processes {
    use std::fs;
    use std::path::Path;

    /// A chain of parents is not followed further.
    const DEEPEST: usize = 32;

    /// Of the roots, those below which a process has the file open for writing.
    pub fn writers(path: &Path, is_root: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let mut writers = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // Of most processes the parents are soon found to be none of ours.
            if let Some(root) = root(process, is_root)
                && writes(process, path)
            {
                writers.push(root);
            }
        }
        writers
    }

    fn root(process: u32, is_root: &dyn Fn(u32) -> bool) -> Option<u32> {
        let mut process = process;
        for _ in 0..DEEPEST {
            if is_root(process) {
                return Some(process);
            }
            process = parent(process).filter(|parent| *parent > 1)?;
        }
        None
    }

    fn parent(process: u32) -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // "pid (name) state parent …", and the name may hold anything.
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    }

    fn writes(process: u32, path: &Path) -> bool {
        let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        let mut open = files.filter(|file| fs::read_link(file.path()).is_ok_and(|target| target == path));
        open.any(|file| {
            let info = format!("/proc/{process}/fdinfo/{}", file.file_name().to_string_lossy());
            let info = fs::read_to_string(info).unwrap_or_default();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
            let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
            flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod processes {
    use std::path::Path;

    pub fn writers(_path: &Path, _is_root: &dyn Fn(u32) -> bool) -> Vec<u32> {
        Vec::new()
    }
}

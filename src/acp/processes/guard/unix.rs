//! The watchdog on Unix: a small shell that outlives Neovim by a moment and ends what Neovim has left to it,
//! or could not end since it was killed. It learns of process groups and marks, and of Neovim's end, through
//! its stdin.

use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::acp::processes::escaped::{self, Mark, Noted};
use crate::acp::wire::log::WireLog;
use crate::platform::group::Group;

/// Has what is known at its start as its arguments, since Neovim may end before it could say more. Reads
/// `+ PGID`, `- PGID`, `= MARK`, `! MARK` of what has a keeper, and `~ PID:START`. At the end of its input,
/// which is Neovim's end, agents have lost theirs: it waits a quarter of a second for them to clean up and
/// leave, asks what is left to end, waits for half a second, and kills. That goes for the groups that are
/// left, for whatever has a mark in its environment, and for single processes, each once; what has a keeper
/// is asked by that, and only killed here. It kills until nothing is found, since something may start while
/// it looks. It ignores what a closed terminal or a user's CTRL-C sends, since that is when it is needed.
const SCRIPT: &str = r#"
trap '' HUP INT TERM QUIT
groups=" $1 "
marks=$2
noted=$3
kept=$4
while read -r sign what; do
  case $sign in
    +) groups="$groups$what " ;;
    =) marks="$marks -e $what" ;;
    '!') kept="$kept -e $what" ;;
    '~') noted="$noted $what" ;;
    -) case $groups in *" $what "*) groups="${groups%%" $what "*} ${groups#*" $what "}" ;; esac ;;
  esac
done
marked() {
  all=$marks
  [ "$1" = TERM ] || all=$marks$kept
  [ -z "$all" ] || grep -lsF $all /proc/[0-9]*/environ
}
look() {
  read -r stat <"/proc/$1/stat" || return
  set -- ${stat##*) }
  group=$3
  start=${20}
  [ "$1" != Z ]
}
signal() {
  still=' '
  found=
  for group in $groups; do
    if kill -s "$1" -- "-$group"; then still="$still$group " found=yes; fi
  done 2>/dev/null
  groups=$still
  for one in $(marked "$1") $noted; do
    process=${one#/proc/}
    process=${process%%[:/]*}
    look "$process" || continue
    case $one in *:*) [ "${one#*:}" = "$start" ] || continue ;; esac
    case $groups in *" ${group:-none} "*) continue ;; esac
    if kill -s "$1" "$process"; then found=yes; fi
  done 2>/dev/null
  [ -n "$found" ] || [ "$1" = TERM ] || exit 0
}
pause() {
  sleep 0.05 2>/dev/null || sleep 1
}
for _ in 1 2 3 4 5; do signal 0; pause; done
signal TERM
for _ in 1 2 3 4 5 6 7 8 9 10; do signal 0; pause; done
for _ in 1 2 3 4 5 6 7 8 9 10; do signal KILL; pause; done
"#;

/// How often a shell is started again that somebody has ended.
const MOST_STARTS: u32 = 8;

/// Agents and commands that must not outlive Neovim. Nothing runs until the first one is added.
pub struct Guard {
    /// For the thread that waits for the shell, and must not keep the guard from going.
    own: Weak<Self>,
    state: Mutex<State>,
    /// How the marks of all agents begin.
    agents: Mark,
    agent: AtomicU64,
    log: WireLog,
}

#[derive(Default)]
struct State {
    /// None before the first group, and when it cannot be had. Agents work without it.
    shell: Option<ChildStdin>,
    /// How many shells were started; the number of the last one.
    starts: u32,
    groups: Vec<i32>,
    marks: Vec<String>,
    /// Of what has a keeper, which does the most.
    kept: Vec<String>,
    noted: Vec<Noted>,
}

impl Guard {
    pub fn start() -> Arc<Self> {
        Self::logging(WireLog::start(None))
    }

    /// A guard that says in the log when it can't do its duty.
    pub fn logging(log: WireLog) -> Arc<Self> {
        let agents = Mark::of_agents();
        let state = Mutex::default();
        Arc::new_cyclic(|own| Self { own: own.clone(), state, agents, agent: AtomicU64::new(0), log })
    }

    /// A mark for an agent, by which what it starts is found after Neovim's end.
    pub fn mark_of_agent(&self) -> Mark {
        self.agents.with(self.agent.fetch_add(1, Ordering::Relaxed))
    }

    /// Some agents' processes are to be found by their marks: they have no keeper.
    pub fn mark_agents(&self) {
        self.mark(&self.agents);
    }

    /// Some agents have a keeper, which may be killed: then what has their marks is killed in the end.
    pub fn mark_kept_agents(&self) {
        self.mark_kept(&self.agents);
    }

    /// What begins a mark of something that has keepers.
    pub fn mark_kept(&self, mark: &Mark) {
        let entry = mark.entry();
        let mut state = self.lock();
        if !state.kept.contains(&entry) {
            state.kept.push(entry.clone());
            self.tell(&mut state, &format!("! {entry}\n"));
        }
    }

    /// What begins a mark of something that must not outlive Neovim.
    pub fn mark(&self, mark: &Mark) {
        let entry = mark.entry();
        let mut state = self.lock();
        if !state.marks.contains(&entry) {
            state.marks.push(entry.clone());
            self.tell(&mut state, &format!("= {entry}\n"));
        }
    }

    /// Processes that must not outlive Neovim and may have neither a group of ours nor a mark.
    pub fn note(&self, noted: &[Noted]) {
        let mut state = self.lock();
        state.noted.extend(noted);
        let lines: String = noted.iter().map(|noted| format!("~ {}\n", written(noted))).collect();
        self.tell(&mut state, &lines);
    }

    pub fn add(&self, group: &Group) {
        let mut state = self.lock();
        state.groups.push(group.id());
        self.tell(&mut state, &format!("+ {}\n", group.id()));
    }

    pub fn remove(&self, group: &Group) {
        let mut state = self.lock();
        state.groups.retain(|id| *id != group.id());
        self.tell(&mut state, &format!("- {}\n", group.id()));
    }

    /// Whether what is left when Neovim ends will be ended.
    pub fn holds(&self) -> bool {
        self.lock().shell.is_some()
    }

    fn tell(&self, state: &mut State, line: &str) {
        match &mut state.shell {
            // A shell that is gone is missed by the thread that waits for it, and a new one is told all.
            Some(shell) => drop(shell.write_all(line.as_bytes())),
            None => self.start_shell(state),
        }
    }

    /// Starts a shell and tells it all that it should know.
    fn start_shell(&self, state: &mut State) {
        if state.starts >= MOST_STARTS {
            return;
        }
        state.starts += 1;
        let started = spawn(state).map(|(child, stdin)| {
            self.wait_for(child, state.starts);
            stdin
        });
        match started {
            Ok(stdin) => state.shell = Some(stdin),
            Err(error) => self.log.note(&format!(
                "couldn't keep a watchdog: {error}; a killed Neovim may leave processes behind"
            )),
        }
    }

    /// Takes the shell's status when it ends, so that it does not stay in the table of processes. If it was
    /// not this guard that ended it, there is need for another.
    fn wait_for(&self, mut child: Child, number: u32) {
        let own = self.own.clone();
        let wait = move || {
            // The status says nothing that matters: a shell never ends by itself while the guard is there.
            let _ = child.wait();
            let Some(guard) = own.upgrade() else { return };
            let mut state = guard.lock();
            if state.starts == number {
                state.shell = None;
                guard.start_shell(&mut state);
            }
        };
        // Without the thread a shell that somebody ends is not replaced.
        let _ = std::thread::Builder::new().name("acp-guard".into()).spawn(wait);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No step under this lock can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn written(noted: &Noted) -> String {
    format!("{}:{}", noted.process, noted.start)
}

fn spawn(known: &State) -> std::io::Result<(Child, ChildStdin)> {
    let groups: Vec<_> = known.groups.iter().map(i32::to_string).collect();
    let written_all = |marks: &[String]| marks.iter().map(|mark| format!(" -e {mark}")).collect::<String>();
    let (marks, kept) = (written_all(&known.marks), written_all(&known.kept));
    let noted: Vec<_> = known.noted.iter().map(written).collect();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "sh", &groups.join(" "), &marks, &noted.join(" "), &kept]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Whoever ends the agent or the terminal that Neovim itself runs in must not find the guard.
    escaped::unmark(&mut command);
    // SAFETY: between fork and exec only a call is made that is safe in a signal handler.
    unsafe {
        command.pre_exec(|| match libc::setsid() {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let mut child = command.spawn()?;
    let stdin = child.stdin.take().expect("stdin is piped above");
    Ok((child, stdin))
}

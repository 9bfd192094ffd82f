//! The watchdog on Unix: a small shell that outlives Neovim by a moment and ends the process groups that a
//! killed Neovim could not. It learns of them, and of Neovim's end, through its stdin.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::acp::wire_log::WireLog;
use crate::platform::group::Group;

/// Reads `+ PGID`, `- PGID` and `= MARK`. At the end of its input it asks the groups that are left to go,
/// and those that have left them but still have the mark in their environment, and kills what is still
/// there two seconds later. It ignores what a closed terminal or a user's CTRL-C
/// sends, since that is when it is needed.
const SCRIPT: &str = r#"
trap '' HUP INT TERM QUIT
groups=' '
mark=
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    =) mark=$group ;;
    -) case $groups in *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;; esac ;;
  esac
done
left() {
  still=
  for group in $groups; do
    if kill -s "$1" -- "-$group"; then still="$still $group"; fi
  done 2>/dev/null
  groups=$still
  strays=
  [ -n "$mark" ] || return
  for file in $(grep -lsF "ACP_TERMINAL=$mark" /proc/[0-9]*/environ); do
    process=${file#/proc/}
    if kill -s "$1" "${process%/environ}"; then strays=found; fi
  done 2>/dev/null
}
left TERM
for _ in 1 2; do
  [ -n "$groups$strays" ] || exit 0
  sleep 1
  left 0
done
left KILL
"#;

/// Process groups that must not outlive Neovim. Nothing runs until the first one is added.
pub struct Guard {
    shell: Mutex<Shell>,
    log: WireLog,
}

enum Shell {
    NotStarted,
    Running(ChildStdin),
    /// It could not be started, or it died. Agents work without it.
    Gone,
}

impl Guard {
    pub fn start() -> Arc<Self> {
        Self::logging(WireLog::start(None))
    }

    /// A guard that says in the log when it can't do its duty.
    pub fn logging(log: WireLog) -> Arc<Self> {
        Arc::new(Self { shell: Mutex::new(Shell::NotStarted), log })
    }

    pub fn add(&self, group: &Group) {
        self.tell(&format!("+ {}\n", group.id()));
    }

    pub fn remove(&self, group: &Group) {
        self.tell(&format!("- {}\n", group.id()));
    }

    /// What the environments of all commands hold.
    pub fn mark(&self, mark: &str) {
        self.tell(&format!("= {mark}\n"));
    }

    fn tell(&self, line: &str) {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        if let Shell::NotStarted = *shell {
            *shell = match spawn() {
                Ok(stdin) => Shell::Running(stdin),
                Err(error) => self.give_up(&error),
            };
        }
        if let Shell::Running(stdin) = &mut *shell
            && let Err(error) = stdin.write_all(line.as_bytes())
        {
            *shell = self.give_up(&error);
        }
    }

    fn give_up(&self, error: &std::io::Error) -> Shell {
        self.log
            .note(&format!("couldn't keep a watchdog: {error}; a killed Neovim may leave processes behind"));
        Shell::Gone
    }
}

fn spawn() -> std::io::Result<ChildStdin> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // In a Neovim that itself runs as such a command: it is needed when that is ended.
    command.env_remove("ACP_TERMINAL");
    let mut child = command.spawn()?;
    let stdin = child.stdin.take().expect("stdin is piped above");
    reap(child);
    Ok(stdin)
}

/// Takes the shell's status when it ends, so that it does not stay in the table of processes.
fn reap(mut child: Child) {
    // A status that nobody takes costs one entry of that table until Neovim ends.
    let _ = std::thread::Builder::new().name("acp-guard".into()).spawn(move || child.wait());
}

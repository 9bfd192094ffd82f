//! What looking after a session's folders costs: `cargo bench --bench folders -- [files]`. A tree in a git repository is
//! walked and watched; then come ends of turns that changed nothing, and one that changed a thousand files; and the same
//! where the system tells nothing of changes.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use acp_nvim::acp::IndexedFolder;

const FILES: usize = 100_000;
const IN_FOLDER: usize = 20;
const CHANGED: usize = 1000;
const TURNS: u32 = 100;
/// All files are looked at in each.
const UNWATCHED_TURNS: u32 = 10;

fn main() {
    let files = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(FILES);
    let root = std::env::temp_dir().join(format!("acp-bench-folders-{}", std::process::id()));
    for in_git in [true, false] {
        make(&root, files);
        if in_git {
            git(&root, &["init", "-q", "."]);
            git(&root, &["add", "-A"]);
        }
        let place = if in_git { "in git" } else { "without git" };
        let (mut folder, wall, cpu) = timed(|| IndexedFolder::new(root.clone()));
        say(&format!("\n| {files} files, {place} | ms | CPU ms | goal |\n|---|---:|---:|---:|"));
        say(&format!("| known and watched | {:.1} | | 500 ms |", ms(folder.walked())));
        row("the same, with the texts that they hold", wall, cpu, "");
        turns(&mut folder, &root, files, &Turns { count: TURNS, text: "another text", watched: "" });
        folder.stop_watching();
        let unwatched = Turns { count: UNWATCHED_TURNS, text: "a third text", watched: ", not watched" };
        turns(&mut folder, &root, files, &unwatched);
        drop(folder);
        fs::remove_dir_all(&root).expect("the tree");
    }
}

/// Ends of turns that changed nothing, and then of one that gave files this text.
struct Turns {
    count: u32,
    text: &'static str,
    watched: &'static str,
}

fn turns(folder: &mut IndexedFolder, root: &Path, files: usize, turns: &Turns) {
    let Turns { count, text, watched } = *turns;
    let (told, wall, cpu) = timed(|| (0..count).map(|_| folder.check()).sum::<usize>());
    assert_eq!(told, 0, "nothing has changed");
    let goal = if watched.is_empty() { "30 ms of CPU" } else { "" };
    row(&format!("a turn that changed nothing{watched}"), wall / count, cpu / count, goal);
    change(root, files, text);
    let (told, wall, cpu) = timed(|| until_told(folder));
    row(&format!("a turn that changed {told}{watched}"), wall, cpu, "");
}

fn change(root: &Path, files: usize, text: &str) {
    for number in 0..CHANGED.min(files) {
        fs::write(path(root, number), format!("{number} is {text}\n")).expect("a file");
    }
}

/// What changed just now may still be somebody's.
fn until_told(folder: &mut IndexedFolder) -> usize {
    loop {
        match folder.check() {
            0 => {}
            told => return told,
        }
    }
}

fn path(root: &Path, number: usize) -> std::path::PathBuf {
    let folder = number / IN_FOLDER;
    root.join(format!("part{}/folder{folder}/file{number}.txt", folder / 50))
}

fn make(root: &Path, files: usize) {
    for number in 0..files {
        let path = path(root, number);
        if number % IN_FOLDER == 0 {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        }
        fs::write(path, format!("{number}\n")).expect("a file");
    }
}

fn git(root: &Path, args: &[&str]) {
    let status = Command::new("git").args(args).current_dir(root).status().expect("git");
    assert!(status.success(), "git {args:?}");
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration, Duration) {
    let (begun, cpu) = (Instant::now(), cpu_time());
    let done = work();
    (done, begun.elapsed(), cpu_time().saturating_sub(cpu))
}

/// Of all threads of this process; of git's nothing.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to, and outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn row(what: &str, wall: Duration, cpu: Duration, goal: &str) {
    say(&format!("| {what} | {:.1} | {:.1} | {goal} |", ms(wall), ms(cpu)));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn say(line: &str) {
    writeln!(io::stdout(), "{line}").expect("stdout");
}

//! What makes a request dangerous, in a few words that stand beside the question. It decides nothing: rules do.

use std::path::Path;

use super::line::{BUILT_COMMAND, Certainty, Line, PIPED_CODE, READ_CODE, Run, UNKNOWN_COMMAND, base};
use super::pattern::path_fits;
use super::sets::{OFTEN_CHANGED, RUNS_LATER, SECRETS, may_be_guarded};

/// A reason to look twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Danger {
    Deletes,
    Outside,
    RunsLater,
    NetworkToShell,
    ForcePush,
    OtherRights,
    Escapes,
    Secrets,
}

impl Danger {
    /// In words, as a part of a line.
    pub fn words(self) -> &'static str {
        match self {
            Self::Deletes => "deletes",
            Self::Outside => "outside the project",
            Self::RunsLater => "code that runs later",
            Self::NetworkToShell => "runs what the network sends",
            Self::ForcePush => "overwrites what was pushed",
            Self::OtherRights => "other rights",
            Self::Escapes => "outside the agent's sandbox",
            Self::Secrets => "secrets",
        }
    }
}

const DELETES: &[&str] = &["rm", "rmdir", "unlink", "shred", "truncate", "srm", "mkfs", "wipefs", "dd"];
const RIGHTS: &[&str] = &["sudo", "doas", "su", "pkexec", "runuser"];
const FETCHES: &[&str] = &["curl", "wget", "fetch", "nc", "ncat", "aria2c"];

/// What is dangerous about the commands of a line.
pub fn of_line(line: &Line) -> Vec<Danger> {
    // Where all is understood, what may be a command is most likely text.
    let counts = |run: &&Run| run.certainty != Certainty::Possible || !line.doubts.is_empty();
    let mut found: Vec<Danger> = line.runs.iter().filter(counts).flat_map(of_run).collect();
    let runs = |names: &[&str]| line.runs.iter().any(|run| names.contains(&name(run)));
    let code = [PIPED_CODE, READ_CODE, UNKNOWN_COMMAND, BUILT_COMMAND];
    if runs(FETCHES) && line.doubts.iter().any(|doubt| code.contains(doubt)) {
        found.push(Danger::NetworkToShell);
    }
    found
}

fn name(run: &Run) -> &str {
    run.words.first().map(|word| base(&word.text)).unwrap_or_default()
}

/// What is dangerous about a command by itself.
pub fn of_run(run: &Run) -> Option<Danger> {
    let has = |options: &[&str]| {
        let short = |word: &str, option: &str| {
            !word.starts_with("--")
                && word.starts_with('-')
                && option.len() == 2
                && word.contains(&option[1..])
        };
        run.words.iter().skip(1).any(|word| {
            options.iter().any(|option| word.text.starts_with(option) || short(&word.text, option))
        })
    };
    let says = |word: &str| run.words.iter().skip(1).any(|it| it.text == word);
    match name(run) {
        name if DELETES.contains(&name) => Some(Danger::Deletes),
        name if RIGHTS.contains(&name) => Some(Danger::OtherRights),
        "git" if says("push") && has(&["--force", "-f", "--mirror", "--delete", "-d", "+"]) => {
            Some(Danger::ForcePush)
        }
        "git" if says("clean") || says("rm") => Some(Danger::Deletes),
        "git" if says("reset") && has(&["--hard"]) => Some(Danger::Deletes),
        "git" if (says("branch") && has(&["-D"])) || (says("checkout") && says("--")) || says("restore") => {
            Some(Danger::Deletes)
        }
        _ => None,
    }
}

/// Whether what is written to a file runs later, unseen, and is nothing that installing and building change all the time.
pub fn is_run_unseen(path: &Path) -> bool {
    let path = path.to_string_lossy();
    let is_of = |patterns: &[&str]| fits_any(patterns, &path);
    may_be_guarded(&path) && is_of(RUNS_LATER) && !is_of(OFTEN_CHANGED)
}

fn fits_any(patterns: &[&str], path: &str) -> bool {
    let roots: [&str; 0] = [];
    patterns.iter().any(|pattern| path_fits(pattern, path, &roots, None, true))
}

/// What is dangerous about a file, by its real path.
pub fn of_file(path: &str, writes: bool, is_outside: bool) -> Vec<Danger> {
    let is_guarded = may_be_guarded(path);
    let is_of = |patterns: &[&str]| is_guarded && fits_any(patterns, path);
    let all = [
        (is_outside, Danger::Outside),
        (writes && is_of(RUNS_LATER), Danger::RunsLater),
        (is_of(SECRETS), Danger::Secrets),
    ];
    all.into_iter().filter(|(is, _)| *is).map(|(_, danger)| danger).collect()
}

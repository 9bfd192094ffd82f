//! What `git` does: files that it writes, settings that name programs, and commands that it runs.

use super::options::Options;
use super::{Effects, RUNS_MORE};
use crate::core::rules::line::Word;

/// Options before the command, whose value may be the next word.
const GLOBAL: &[&str] =
    &["-C", "-c", "--config-env", "--exec-path", "--git-dir", "--namespace", "--super-prefix", "--work-tree"];
/// Those that give it other settings, and with them other programs to run.
const SETTINGS: &[&str] = &["-c", "--config-env", "--exec-path=", "--git-dir", "--work-tree"];
/// Options of its commands that name a program.
const RUNS: &[&str] = &[
    "--exec",
    "--ext-diff",
    "--extcmd",
    "--open-files-in-pager",
    "--receive-pack",
    "--template",
    "--textconv",
    "--upload-pack",
];
/// Commands that run others.
const RUNNERS: &[&str] = &[
    "bisect",
    "difftool",
    "filter-branch",
    "for-each-repo",
    "hook",
    "instaweb",
    "mergetool",
    "send-email",
    "gui",
    "citool",
];
/// Commands that write files of the project.
const OTHERS: &[&str] = &[
    "am",
    "apply",
    "checkout",
    "checkout-index",
    "cherry-pick",
    "clean",
    "clone",
    "init",
    "lfs",
    "merge",
    "pull",
    "read-tree",
    "rebase",
    "reset",
    "restore",
    "revert",
    "sparse-checkout",
    "stash",
    "submodule",
    "subtree",
    "switch",
    "worktree",
    "archive",
    "bundle",
    "format-patch",
    "bugreport",
    "fast-import",
    "unpack-file",
    "mailsplit",
    "mailinfo",
];

pub fn effects(words: &[Word]) -> Effects {
    let mut effects = Effects::default();
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        let text = &*word.text;
        if SETTINGS.iter().any(|name| text.starts_with(name)) {
            effects.doubts.push(RUNS_MORE);
        }
        at += if GLOBAL.contains(&text) && text != "--exec-path" { 2 } else { 1 };
    }
    let Some(command) = words.get(at) else { return effects };
    let behind = &words[at..];
    let command = &*command.text;
    let valued: &[&str] = match command {
        "config" => &["-f", "--file"],
        "archive" | "format-patch" => &["-o", "--output", "--output-directory"],
        "diff" | "log" | "show" => &["--output"],
        _ => &[],
    };
    let options = Options::read(behind, valued);
    let says = |word: &str| options.arguments.iter().any(|argument| argument.text == word);
    let runs = RUNS.iter().any(|name| options.has(name) && (*name != "--template" || is_new(command)))
        || RUNNERS.contains(&command)
        || command == "clone" && (options.has("-u") || options.has("-c") || options.has("--config"))
        || command == "rebase" && options.has("-x")
        || command == "grep" && options.has("-O")
        || command == "submodule" && says("foreach")
        || options.arguments.iter().any(|argument| argument.text.contains("ext::"));
    if runs {
        effects.doubts.push(RUNS_MORE);
        effects.is_opaque = true;
    }
    effects.writes = match command {
        "config" => settings(&options),
        "rm" | "mv" => options.arguments.clone(),
        _ => [options.values("--output"), options.values("--output-directory")].concat(),
    };
    if matches!(command, "archive" | "format-patch") {
        effects.writes.extend(options.values("-o"));
    }
    if matches!(command, "rm" | "mv") {
        effects.below.clone_from(&effects.writes);
    }
    effects.writes_others = OTHERS.contains(&command) && !only_tells(command, &options);
    effects
}

/// Whether one of those commands only says what it would do, or what there is.
fn only_tells(command: &str, options: &Options) -> bool {
    let first = options.arguments.first().map(|word| &*word.text);
    match command {
        "apply" => {
            let tells = ["--check", "--stat", "--numstat", "--summary"].iter().any(|name| options.has(name));
            tells && !options.has("--apply")
        }
        "stash" => matches!(first, Some("list" | "show")),
        "worktree" => first == Some("list"),
        "bundle" => matches!(first, Some("verify" | "list-heads")),
        _ => false,
    }
}

/// Whether it makes a repository, from a template that has hooks. Elsewhere that is one for a message.
fn is_new(command: &str) -> bool {
    matches!(command, "init" | "clone")
}

/// The file of settings that is changed.
fn settings(options: &Options) -> Vec<Word> {
    let reads = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--list",
        "-l",
        "--get-color",
        "--get-colorbool",
    ];
    let arguments: Vec<&str> = options.arguments.iter().map(|word| &*word.text).collect();
    let edits = [
        "-e",
        "--edit",
        "--unset",
        "--unset-all",
        "--remove-section",
        "--rename-section",
        "--add",
        "--replace-all",
    ];
    let is_edit = edits.iter().any(|name| options.has(name));
    let is_read = reads.iter().any(|name| options.has(name))
        || matches!(arguments[..], ["get" | "list", ..] | [] | [_])
        || matches!(arguments[..], [_, "--default", _]);
    if is_read && !is_edit {
        return Vec::new();
    }
    let file = [options.values("-f"), options.values("--file")].concat();
    match () {
        () if !file.is_empty() => file,
        () if options.has("--global") => vec![Word::known("~/.gitconfig")],
        () if options.has("--system") => vec![Word::known("/etc/gitconfig")],
        () => vec![Word::known(".git/config")],
    }
}

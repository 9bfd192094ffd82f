//! Commands whose arguments are commands themselves: what is run by them, and how sure that is. Options that
//! are not known make everything behind them possible only, and what can't be judged at all is a doubt.

use super::line::{
    BUILT_COMMAND, Certainty, READ_CODE, SETS_VARIABLES, UNKNOWN_COMMAND, Word, WordKind, base,
};
use super::variables;

/// Who reads a line, and is told what its commands come to.
pub trait Reader {
    /// Why the line can't be judged in full.
    fn doubt(&mut self, why: &'static str);
    /// Reads a line that is run by what was read so far.
    fn read(&mut self, text: &str, certainty: Certainty);
    /// Reads text that may be code.
    fn guess(&mut self, text: &str);
    /// A command with its words, and what it runs in turn.
    fn run(&mut self, words: Vec<Word>, certainty: Certainty);
    /// Takes a command in as one that is judged.
    fn add(&mut self, words: &[Word], certainty: Certainty);
}

/// What a wrapper does with the command behind it.
#[derive(Clone, Copy)]
enum Way {
    /// Runs it as it stands.
    Same,
    /// Runs it with other rights, arguments or elsewhere, which is always asked about.
    Changed(&'static str),
}

struct Wrapper {
    name: &'static str,
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options whose value is the next word.
    valued: &'static [&'static str],
    /// Arguments before the command.
    before: usize,
    way: Way,
}

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    before: usize,
    way: Way,
) -> Wrapper {
    Wrapper { name, flags, valued, before, way }
}

const RIGHTS: Way = Way::Changed("it runs with other rights");
const ARGUMENTS: Way = Way::Changed("it runs with arguments that are read from elsewhere");
const ELSEWHERE: Way = Way::Changed("it runs elsewhere");
const AGAIN: Way = Way::Changed("it may run more than once, or later");

const WITHIN: Way = Way::Changed("it is run by another program");

const WRAPPERS: &[Wrapper] = &[
    wrapper("nohup", &[], &[], 0, Way::Same),
    wrapper("nice", &[], &["-n", "--adjustment"], 0, Way::Same),
    wrapper("ionice", &["-t"], &["-c", "-n"], 0, Way::Same),
    wrapper("time", &["-p", "-v"], &["-f", "--format"], 0, Way::Same),
    wrapper(
        "timeout",
        &["--preserve-status", "--foreground", "-v", "--verbose"],
        &["-s", "-k", "--signal", "--kill-after"],
        1,
        Way::Same,
    ),
    wrapper("stdbuf", &[], &["-i", "-o", "-e"], 0, Way::Same),
    wrapper("setsid", &["-w", "--wait"], &[], 0, Way::Same),
    wrapper("chrt", &["-b", "-f", "-i", "-o", "-r"], &[], 1, Way::Same),
    wrapper("taskset", &["-c"], &[], 1, Way::Same),
    wrapper("command", &["-p"], &[], 0, Way::Same),
    wrapper("builtin", &[], &[], 0, Way::Same),
    wrapper("exec", &["-c", "-l"], &["-a"], 0, Way::Same),
    wrapper("coproc", &[], &[], 0, Way::Changed("it runs beside the rest")),
    wrapper("sudo", &["-n", "-E", "-H", "-S", "-k", "-i", "-s", "-b"], &["-u", "-g", "-h", "-p"], 0, RIGHTS),
    wrapper("doas", &["-n", "-s", "-L"], &["-u", "-C"], 0, RIGHTS),
    wrapper("su", &["-", "-l"], &[], 0, RIGHTS),
    wrapper("pkexec", &[], &["--user"], 0, RIGHTS),
    wrapper("unshare", &[], &[], 0, RIGHTS),
    wrapper("chroot", &[], &[], 1, RIGHTS),
    wrapper("nsenter", &[], &[], 0, RIGHTS),
    wrapper("runuser", &[], &["-u"], 0, RIGHTS),
    wrapper("strace", &["-f"], &["-o", "-e", "-p", "-s"], 0, RIGHTS),
    wrapper(
        "xargs",
        &["-0", "-r", "-t", "--null", "--no-run-if-empty", "-x"],
        &["-n", "-P", "-I", "-L", "-d", "-s", "-a", "--max-args", "--max-procs", "--replace"],
        0,
        ARGUMENTS,
    ),
    wrapper("parallel", &["-0", "-k"], &["-j", "-I", "-a"], 0, ARGUMENTS),
    wrapper("watch", &["-d", "-t", "-g", "-c", "-x"], &["-n"], 0, AGAIN),
    wrapper("entr", &["-r", "-c", "-d", "-n", "-s"], &[], 0, AGAIN),
    wrapper("script", &["-q", "-c"], &[], 0, WITHIN),
    wrapper("flock", &["-n", "-x", "-s"], &["-w"], 1, WITHIN),
    wrapper("busybox", &[], &[], 0, Way::Same),
    wrapper("npx", &["-y", "--yes"], &["-p", "--package"], 0, ELSEWHERE),
    wrapper("docker", &[], &[], 0, ELSEWHERE),
    wrapper("podman", &[], &[], 0, ELSEWHERE),
    wrapper("kubectl", &[], &[], 0, ELSEWHERE),
];

/// Shells whose lines are read as bash reads them.
const SHELLS: &[&str] = &["sh", "bash", "dash"];
const OTHER_SHELLS: &[&str] = &[
    "zsh",
    "ksh",
    "mksh",
    "fish",
    "ash",
    "csh",
    "tcsh",
    "pwsh",
    "powershell",
    "cmd",
    "nu",
    "xonsh",
    "elvish",
];
/// Programs that run a script, or what an option or their input says, in a language of their own.
const INTERPRETERS: &[&str] = &[
    "python",
    "pypy",
    "node",
    "deno",
    "bun",
    "perl",
    "ruby",
    "php",
    "lua",
    "luajit",
    "Rscript",
    "osascript",
    "tclsh",
    "jshell",
    "julia",
    "elixir",
    "expect",
    "psql",
    "sqlite",
];
/// The same, where the first argument is code.
const INLINE: &[&str] = &[
    "awk", "gawk", "mawk", "nawk", "gdb", "vi", "vim", "nvim", "ex", "ed", "emacs", "m4", "bc", "dc", "at",
    "batch", "crontab", "screen", "tmux",
];
/// Builtins that change what words mean from then on.
const CHANGES: &[&str] = &[
    "alias",
    "unalias",
    "trap",
    "enable",
    "shopt",
    "set",
    "hash",
    "bind",
    "export",
    "read",
    "mapfile",
    "readarray",
    "printf",
    "declare",
    "typeset",
    "local",
    "readonly",
    "complete",
    "getopts",
    "let",
];

/// Words that are no commands where one may stand.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "until", "while",
];

/// Whether a program runs what it reads.
pub fn reads_code(name: &str) -> bool {
    let name = base(name);
    [SHELLS, OTHER_SHELLS].concat().contains(&name)
        || is_interpreter(name)
        || INLINE.contains(&name)
        || matches!(name, "xargs" | "parallel" | "sudo" | "doas" | "env" | "ssh" | "at" | "batch" | "crontab")
        || matches!(name, "source" | "." | "eval")
}

fn is_interpreter(name: &str) -> bool {
    let stem = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&stem)
}

/// Takes in a command, and those that it runs.
pub fn unwrap(reader: &mut impl Reader, words: &[Word], certainty: Certainty) {
    let Some(first) = words.first() else { return };
    let Some(name) = first.plain().filter(|name| !name.is_empty()) else {
        reader.doubt(UNKNOWN_COMMAND);
        return reader.add(words, Certainty::Possible.min(certainty));
    };
    if !name.is_ascii() {
        reader.doubt("a command's name has letters that are easily taken for others");
    }
    if name.contains('=') {
        reader.doubt(SETS_VARIABLES);
        return reader.run(words[1..].to_vec(), certainty);
    }
    if RESERVED.contains(&name) {
        // The parser took for a command what the shell does not.
        reader.doubt("it can't be parsed");
        suffixes(reader, &words[1..]);
    }
    let name = base(name);
    let rest = &words[1..];
    match name {
        "env" => env(reader, rest, certainty),
        "eval" => {
            reader.doubt(BUILT_COMMAND);
            code(reader, &join(rest), Certainty::Likely);
            suffixes(reader, rest);
        }
        "ssh" | "mosh" => {
            reader.add(words, certainty);
            reader.doubt("it runs elsewhere");
            suffixes(reader, rest);
        }
        "find" => find(reader, words, certainty),
        "fd" | "fdfind" => fd(reader, words, certainty),
        "source" | "." => {
            reader.add(words, certainty);
            reader.doubt("it runs code that isn't judged");
        }
        "trap" => {
            reader.doubt("it changes what commands mean");
            code(reader, rest.first().map_or("", |word| &word.text), Certainty::Likely);
        }
        "printf" if !rest.iter().any(|word| word.text.starts_with("-v")) => reader.add(words, certainty),
        "read" if rest.iter().all(is_own_name) => reader.add(words, certainty),
        _ if CHANGES.contains(&name) => {
            reader.add(words, certainty);
            reader.doubt("it changes what commands mean");
        }
        _ if SHELLS.contains(&name) => shell(reader, words, certainty, true),
        _ if OTHER_SHELLS.contains(&name) => shell(reader, words, certainty, false),
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => wrapped(reader, wrapper, words, certainty),
            None => {
                reader.add(words, certainty);
                if INLINE.contains(&name) {
                    reader.doubt("it runs code that isn't judged");
                    suffixes(reader, rest);
                } else if is_interpreter(name) {
                    interpreter(reader, rest);
                }
            }
        },
    }
}

/// An option, or a variable that only the line itself uses.
fn is_own_name(word: &Word) -> bool {
    word.plain().is_some_and(|text| text.starts_with('-') || variables::is_own(text))
}

fn join(words: &[Word]) -> String {
    words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ")
}

fn code(reader: &mut impl Reader, text: &str, certainty: Certainty) {
    if !text.trim().is_empty() {
        reader.read(text, certainty);
    }
}

/// Each word may begin a command, or be a line of code itself.
fn suffixes(reader: &mut impl Reader, words: &[Word]) {
    for (at, word) in words.iter().enumerate().take(24) {
        if word.text.starts_with('-') {
            continue;
        }
        if word.text.contains([' ', ';', '\n', '|', '&']) {
            code(reader, &word.text, Certainty::Possible);
        } else {
            reader.add(&words[at..], Certainty::Possible);
        }
    }
    let line = join(words);
    if line.contains([';', '|', '&', '\n', '$', '`']) {
        code(reader, &line, Certainty::Possible);
    }
}

/// An unknown program may be given lines of code. A command in several words is looked for when it is judged.
pub fn guesses(reader: &mut impl Reader, words: &[Word]) {
    for text in words.iter().skip(1).filter_map(Word::plain) {
        let value = text.split_once('=').map(|(_, value)| value);
        for text in [Some(text).filter(|text| !text.starts_with('-')), value].into_iter().flatten() {
            if text.contains([' ', ';', '\n', '|', '&', '$', '`', '(']) {
                reader.guess(text);
            }
        }
    }
}

fn wrapped(reader: &mut impl Reader, wrapper: &Wrapper, words: &[Word], certainty: Certainty) {
    let rest = &words[1..];
    let certainty = match wrapper.way {
        Way::Same => certainty,
        Way::Changed(why) => {
            // It is a command that rules may be about, too.
            reader.add(words, certainty);
            reader.doubt(why);
            certainty.min(Certainty::Likely)
        }
    };
    let mut at = 0;
    let is_known = loop {
        let Some(word) = rest.get(at) else { break true };
        let Some(text) = word.plain() else { break !word.text.starts_with('-') };
        if text == "--" {
            at += 1;
            break true;
        }
        if !text.starts_with('-') || text == "-" && !wrapper.flags.contains(&"-") {
            break true;
        }
        let attached = |option: &&str| {
            let long =
                option.starts_with("--") && text.strip_prefix(*option).is_some_and(|it| it.starts_with('='));
            long || !option.starts_with("--") && text.starts_with(*option)
        };
        let is_number = text[1..].bytes().all(|byte| byte.is_ascii_digit());
        if wrapper.flags.contains(&text) || (wrapper.name == "nice" && is_number) {
            at += 1;
        } else if wrapper.valued.contains(&text) {
            at += 2;
        } else if wrapper.valued.iter().any(attached) {
            at += 1;
        } else {
            break false;
        }
    };
    if !is_known {
        reader.doubt("it has options that aren't judged");
        reader.add(words, Certainty::Possible.min(certainty));
        return suffixes(reader, rest);
    }
    let at = at + wrapper.before;
    let behind = rest.get(at..).unwrap_or_default();
    match (behind, wrapper.way) {
        ([], Way::Same) => reader.add(words, certainty),
        ([], Way::Changed(_)) => {}
        // A line in one word, as `su -c` and `watch` take it.
        ([line, ..], Way::Changed(_)) if line.text.contains(' ') => {
            code(reader, &line.text, certainty);
            suffixes(reader, rest);
        }
        (_, Way::Same) => reader.run(behind.to_vec(), certainty),
        (_, Way::Changed(_)) => {
            reader.run(behind.to_vec(), certainty);
            suffixes(reader, rest);
        }
    }
}

fn env(reader: &mut impl Reader, rest: &[Word], certainty: Certainty) {
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        let text = &*word.text;
        if text.starts_with('-') {
            reader.doubt("it has options that aren't judged");
            return suffixes(reader, rest);
        }
        // A name that only the shell knows may be an assignment or an option as well.
        let assigned = word.plain().and_then(|text| text.split_once('='));
        if !assigned.is_some_and(|(name, value)| variables::is_harmless(name, value)) {
            if !text.contains('=') {
                break;
            }
            reader.doubt(SETS_VARIABLES);
        }
        at += 1;
    }
    match rest.get(at..) {
        Some(behind) if !behind.is_empty() => reader.run(behind.to_vec(), certainty),
        _ => reader.add(&[Word::known("env")], certainty),
    }
}

fn shell(reader: &mut impl Reader, words: &[Word], certainty: Certainty, is_posix: bool) {
    let rest = &words[1..];
    if !is_posix {
        reader.doubt("it is read by another shell");
    }
    let is_flag = |word: &Word| {
        word.plain().is_some_and(|text| {
            text.strip_prefix('-')
                .is_some_and(|flags| !flags.is_empty() && flags.bytes().all(|byte| b"celuxi".contains(&byte)))
        })
    };
    let flags = rest.iter().take_while(|word| is_flag(word)).count();
    let has_code = rest[..flags].iter().any(|word| word.text.contains('c'));
    match rest.get(flags) {
        Some(line) if has_code => {
            match line.plain() {
                Some(text) => {
                    code(reader, text, if is_posix { certainty } else { Certainty::Likely.min(certainty) })
                }
                None => {
                    reader.doubt(UNKNOWN_COMMAND);
                    code(reader, &line.text, Certainty::Possible);
                }
            }
            if rest.len() > flags + 1 {
                reader.doubt(BUILT_COMMAND);
            }
        }
        // A script; rules may be about it.
        Some(script) if !script.text.starts_with(['-', '+']) => reader.add(words, certainty),
        Some(_) => {
            reader.add(words, certainty);
            reader.doubt("it has options that aren't judged");
            suffixes(reader, rest);
        }
        None => {
            reader.add(words, certainty);
            reader.doubt(READ_CODE);
        }
    }
}

fn interpreter(reader: &mut impl Reader, rest: &[Word]) {
    // A script or a module that is named is judged by the rules; anything else is code.
    let named = match rest {
        [first, module, ..] if first.plain() == Some("-m") => module.plain(),
        [first, ..] => first.plain().filter(|text| !text.starts_with('-') || *text == "--version"),
        [] => None,
    };
    // Deno and Bun have commands of that name.
    if named.is_none_or(|name| matches!(name, "eval" | "exec" | "x" | "repl")) {
        reader.doubt("it runs code that isn't judged");
        suffixes(reader, rest);
    }
}

fn fd(reader: &mut impl Reader, words: &[Word], certainty: Certainty) {
    reader.add(words, certainty);
    for (at, word) in words.iter().enumerate().skip(1) {
        let text = &*word.text;
        let glued = match text.strip_prefix("--") {
            Some(long) => {
                long.strip_prefix("exec").map(|_| text.split_once('=').map_or("", |(_, value)| value))
            }
            // Among other letters, and with the command at once behind it.
            None => {
                text.strip_prefix('-').and_then(|letters| letters.split_once(['x', 'X'])).map(|(_, it)| it)
            }
        };
        if let Some(glued) = glued {
            reader.doubt("it runs a command for what it finds");
            let first = Word { text: glued.trim_start_matches('=').to_owned(), kind: word.kind };
            let first = Some(first).filter(|first| !first.text.is_empty());
            let behind = first.into_iter().chain(words[at + 1..].iter().cloned()).collect();
            reader.run(behind, Certainty::Likely.min(certainty));
        }
    }
}

fn find(reader: &mut impl Reader, words: &[Word], certainty: Certainty) {
    reader.add(words, certainty);
    for (at, word) in words.iter().enumerate().skip(1) {
        match &*word.text {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                reader.doubt("it runs a command for what it finds");
                let behind = &words[at + 1..];
                let end =
                    behind.iter().position(|word| matches!(&*word.text, ";" | "+")).unwrap_or(behind.len());
                reader.run(behind[..end].to_vec(), Certainty::Likely.min(certainty));
            }
            "-delete" => {
                reader.doubt("it deletes what it finds");
                let removed = [Word::known("rm"), Word::known("-rf"), Word::unknown("{}")];
                reader.add(&removed, Certainty::Likely.min(certainty));
            }
            text if text.starts_with("-fprint") || text == "-fls" => {
                reader.doubt("it writes what it finds to a file");
            }
            _ if word.kind == WordKind::Unknown => {
                reader.doubt("which options it gets is known only to the shell")
            }
            _ => {}
        }
    }
}

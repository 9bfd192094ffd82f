//! Which files a command writes by its arguments, and which of its options run something else: a table with a row for
//! each program, and a few that are read by code of their own. A program that isn't here and isn't a known reader may do
//! anything with what it is given.

use super::line::{STREAMS, Word, WordKind, base};

mod archives;
mod git;
mod options;
mod sed;
mod tar;

use self::options::Options;

/// What a command does beyond reading its arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Files that it names and writes, links, moves or removes.
    pub writes: Vec<Word>,
    /// Folders in which it writes, links, moves or removes what it doesn't name.
    pub below: Vec<Word>,
    /// It writes files that it doesn't name.
    pub writes_others: bool,
    /// It is a program of which nothing is known, or runs what its arguments say: they may be commands, and files that
    /// are written.
    pub is_opaque: bool,
    /// Why it can't be judged in full; each fits after "because".
    pub doubts: Vec<&'static str>,
}

/// Its arguments make it run something.
const RUNS_MORE: &str = "it has options that run or set something else";
/// Copies of what a folder holds, for example.
const UNNAMED: &str = "which files it writes is known only to the disk";

/// How a program names what it writes, beside options.
#[derive(Clone, Copy)]
enum How {
    /// Nothing but what its options say.
    Options,
    /// All arguments.
    All,
    /// The same, but for the first one.
    AfterFirst,
    /// The second argument.
    Second,
    /// All arguments, and what is in them.
    Removes,
    /// The last one, or files in it that are named as those before.
    Copies,
    /// The same, or all of them as folders.
    Installs,
    /// The last one, and what is in it.
    Syncs,
    /// The same, and those before are gone then.
    Moves,
    /// The same, and those before can be written by another name.
    Links,
    /// It doesn't.
    Others,
}

struct Row {
    names: &'static [&'static str],
    /// Options whose value may be the next word.
    valued: &'static [&'static str],
    /// The same where the value is a file that is written.
    written: &'static [&'static str],
    /// Options that run another program.
    runs: &'static [&'static str],
    how: How,
}

const fn row(
    names: &'static [&'static str],
    how: How,
    written: &'static [&'static str],
    valued: &'static [&'static str],
    runs: &'static [&'static str],
) -> Row {
    Row { names, valued, written, runs, how }
}

const COPYING: &[&str] = &["-S", "--suffix", "--no-preserve", "--sparse", "--reflink"];
const INTO: &[&str] = &["-t", "--target-directory"];

const ROWS: &[Row] = &[
    row(&["cp", "gcp"], How::Copies, INTO, COPYING, &[]),
    row(&["mv", "gmv"], How::Moves, INTO, COPYING, &[]),
    row(&["ln", "gln", "link"], How::Links, INTO, COPYING, &[]),
    row(
        &["install", "ginstall"],
        How::Installs,
        INTO,
        &["-S", "-g", "-m", "-o", "--suffix", "--group", "--mode", "--owner"],
        &["--strip-program"],
    ),
    row(
        &["rsync"],
        How::Syncs,
        &[
            "-T",
            "--temp-dir",
            "--backup-dir",
            "--partial-dir",
            "--log-file",
            "--write-batch",
            "--only-write-batch",
        ],
        &[
            "-B",
            "-f",
            "--exclude",
            "--include",
            "--filter",
            "--files-from",
            "--exclude-from",
            "--include-from",
            "--port",
        ],
        &["-e", "--rsh", "--rsync-path", "--daemon", "--config", "-M", "--remote-option"],
    ),
    row(&["scp", "sftp"], How::Syncs, &[], &["-P", "-c", "-i", "-J", "-l"], &["-S", "-o", "-F", "-D", "-b"]),
    row(&["tee", "gtee", "sponge"], How::All, &[], &[], &[]),
    row(&["touch", "gtouch"], How::All, &[], &["-d", "-r", "-t", "--date", "--reference", "--time"], &[]),
    row(&["truncate", "fallocate"], How::All, &[], &["-s", "-r", "-l", "-o", "--size", "--reference"], &[]),
    row(&["mkdir", "rmdir", "mkfifo", "mknod"], How::All, &[], &["-m", "--mode"], &[]),
    row(&["rm", "grm", "unlink", "shred", "trash"], How::Removes, &[], &["-n", "-s"], &[]),
    row(&["chmod", "chown", "chgrp", "chattr"], How::AfterFirst, &[], &["--reference", "--from"], &[]),
    row(&["setfacl", "xattr", "setfattr"], How::All, &[], &["-m", "-x", "-n", "-v"], &[]),
    row(
        &["sort", "gsort"],
        How::Options,
        &["-o", "--output", "-T", "--temporary-directory"],
        &["-k", "-t", "-S", "--key", "--field-separator", "--buffer-size", "--files0-from", "--parallel"],
        &["--compress-program"],
    ),
    row(
        &["uniq"],
        How::Second,
        &[],
        &["-f", "-s", "-w", "--skip-fields", "--skip-chars", "--check-chars"],
        &[],
    ),
    row(&["xxd"], How::Second, &[], &["-c", "-g", "-l", "-n", "-o", "-R", "-s"], &[]),
    row(&["shuf"], How::Options, &["-o", "--output"], &["-i", "-n", "--random-source"], &[]),
    row(&["split", "csplit"], How::Others, &[], &[], &["--filter"]),
    row(&["tree"], How::Options, &["-o", "--output"], &["-L", "-P", "-I"], &["-R"]),
    row(&["find"], How::Options, &["-fprint", "-fprint0", "-fprintf", "-fls"], &[], &[]),
    row(
        &[
            "gzip",
            "gunzip",
            "bzip2",
            "bunzip2",
            "xz",
            "unxz",
            "lzma",
            "zstd",
            "unzstd",
            "compress",
            "uncompress",
        ],
        How::All,
        &["-o"],
        &["-S", "--suffix", "-T", "--threads"],
        &[],
    ),
    row(
        &["zip"],
        How::All,
        &["-O", "--out"],
        &["-b", "-t", "-n"],
        &["-T", "-TT", "--test", "--unzip-command"],
    ),
    row(
        &["curl"],
        How::Options,
        &[
            "-o",
            "--output",
            "--output-dir",
            "-D",
            "--dump-header",
            "-c",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--libcurl",
            "--hsts",
            "--alt-svc",
            "--etag-save",
        ],
        &[
            "-A",
            "-b",
            "-C",
            "-d",
            "-e",
            "-E",
            "-F",
            "-H",
            "-m",
            "-P",
            "-Q",
            "-r",
            "-t",
            "-T",
            "-u",
            "-U",
            "-w",
            "-x",
            "-X",
            "-y",
            "-Y",
            "-z",
            "--data",
            "--header",
            "--request",
            "--url",
            "--user",
            "--form",
            "--max-time",
        ],
        // A file of options may hold any of them.
        &["-K", "--config"],
    ),
    row(
        &["wget", "aria2c", "youtube-dl", "yt-dlp"],
        How::Others,
        &[
            "-O",
            "--output-document",
            "-o",
            "--output-file",
            "-a",
            "--append-output",
            "-P",
            "--directory-prefix",
            "-d",
            "--dir",
        ],
        &["-t", "-T", "-w", "-Q", "-U", "-A", "-R", "-D", "-I", "-X", "-l", "-B", "-i"],
        &["-e", "--execute", "--config", "--use-askpass", "--exec", "--on-download-complete", "--conf-path"],
    ),
    row(
        &["less", "more", "most"],
        How::Options,
        &["-o", "-O", "--log-file", "--LOG-FILE"],
        &[],
        &["-k", "--lesskey-file", "--lesskey-src", "--lesskey-content"],
    ),
    row(
        &["man"],
        How::Options,
        &[],
        &["-M", "-S", "-L"],
        &["-P", "--pager", "-H", "--html", "-C", "--config-file", "-X", "-T"],
    ),
    row(
        &["date", "gdate"],
        How::Options,
        &[],
        &["-d", "-f", "-r", "--date", "--file", "--reference"],
        &["-s", "--set"],
    ),
    row(
        &["rg"],
        How::Options,
        &[],
        &["-e", "-f", "-g", "-t", "-T", "-A", "-B", "-C", "-m"],
        &["--pre", "--hostname-bin"],
    ),
    row(
        &["cc", "c++", "gcc", "g++", "clang", "clang++", "ld", "as"],
        How::Others,
        &["-o", "-MF", "-MD"],
        &[],
        &["-wrapper", "-B", "-fplugin", "-specs", "--plugin"],
    ),
    row(
        &["gpg", "gpg2"],
        How::Others,
        &["-o", "--output"],
        &[],
        &["--exec", "--photo-viewer", "--options", "--homedir"],
    ),
    row(&["ctags"], How::Others, &["-f", "-o"], &[], &["--options"]),
    row(&["sqlite3", "column", "sdiff"], How::Options, &["-o", "--output"], &[], &["--diff-program"]),
    row(&["diff3"], How::Options, &[], &[], &["--diff-program"]),
    row(&["test", "["], How::Options, &[], &[], &["-v", "-R"]),
    row(&["printf"], How::Options, &[], &[], &["-v"]),
];

/// Programs that only read what they are given, apart from what a row says of them.
const READERS: &[&str] = &[
    "basename",
    "cat",
    "cd",
    "cmp",
    "comm",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "env",
    "expr",
    "false",
    "fd",
    "fdfind",
    "fgrep",
    "file",
    "fold",
    "grep",
    "head",
    "hexdump",
    "id",
    "jq",
    "ls",
    "lsof",
    "md5sum",
    "nl",
    "nproc",
    "od",
    "paste",
    "printenv",
    "ps",
    "pushd",
    "popd",
    "pwd",
    "readlink",
    "realpath",
    "sha1sum",
    "sha256sum",
    "shasum",
    "sleep",
    "stat",
    "strings",
    "tac",
    "tail",
    "tr",
    "true",
    "type",
    "uname",
    "wait",
    "wc",
    "which",
    "whereis",
    "whoami",
    "yes",
    "zipinfo",
    ":",
    "break",
    "continue",
    "exit",
    "return",
    "shift",
    "ulimit",
    "umask",
];

/// What a command does by its arguments.
pub fn effects(words: &[Word]) -> Effects {
    let Some(name) = words.first().map(|word| base(&word.text)) else { return Effects::default() };
    let mut effects = match name {
        "git" => git::effects(words),
        "sed" | "gsed" => sed::effects(words),
        "tar" | "gtar" | "bsdtar" | "jar" => tar::effects(words),
        "dd" => {
            let of =
                |word: &Word| Some(Word { text: word.text.strip_prefix("of=")?.to_owned(), kind: word.kind });
            Effects { writes: words.iter().filter_map(of).collect(), ..Effects::default() }
        }
        "cargo" => of_cargo(words),
        _ => match (archives::effects(words), ROWS.iter().find(|row| row.names.contains(&name))) {
            (Some(effects), _) => effects,
            (None, Some(row)) => by_row(row, words),
            (None, None) => Effects {
                is_opaque: !READERS.contains(&name),
                writes_others: name.starts_with("python") && archives::by_module(words),
                ..Effects::default()
            },
        },
    };
    if matches!(name, "less" | "more" | "most") && words.iter().skip(1).any(|word| word.text.starts_with('+'))
    {
        effects.doubts.push(RUNS_MORE);
    }
    if name == "curl" {
        let letters = |word: &Word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(['O', 'J'])
        };
        let named = |word: &Word| word.text.starts_with("--remote-");
        effects.writes_others |= words.iter().skip(1).any(|word| letters(word) || named(word));
    }
    // What it runs is among its arguments.
    effects.is_opaque |= !effects.doubts.is_empty();
    effects.writes.retain(|word| word.text != "-" && !STREAMS.contains(&&*word.text));
    effects
}

/// Its first word is no command, but those behind it may be: `cargo run -- rm x`.
fn of_cargo(words: &[Word]) -> Effects {
    let runs = ["run", "r", "watch", "xtask", "script"];
    let is_opaque =
        words.iter().skip(1).any(|word| runs.contains(&&*word.text) || word.kind != WordKind::Known);
    Effects { is_opaque, ..Effects::default() }
}

fn by_row(row: &Row, words: &[Word]) -> Effects {
    let mut effects = Effects::default();
    let options = Options::read(words, &[row.valued, row.written, row.runs].concat());
    if row.runs.iter().any(|name| options.has(name)) {
        effects.doubts.push(RUNS_MORE);
    }
    let given: Vec<Word> = row.written.iter().flat_map(|name| options.values(name)).collect();
    let arguments = &options.arguments[..];
    match row.how {
        How::Options => {}
        How::All => effects.writes.extend_from_slice(arguments),
        How::AfterFirst => effects.writes.extend_from_slice(arguments.get(1..).unwrap_or_default()),
        How::Second => effects.writes.extend(arguments.get(1).cloned()),
        How::Others => effects.writes_others = true,
        How::Removes => {
            effects.writes.extend_from_slice(arguments);
            effects.below.extend_from_slice(arguments);
        }
        How::Syncs => {
            effects.writes_others = true;
            effects.writes.extend(arguments.last().cloned());
            effects.below.extend(arguments.last().cloned());
        }
        How::Installs if options.has("-d") || options.has("--directory") => {
            effects.writes.extend_from_slice(arguments);
        }
        How::Installs | How::Copies | How::Moves | How::Links => {
            copied(row.how, &options, given.first(), &mut effects);
        }
    }
    effects.writes.extend(given);
    effects
}

/// What is copied, moved or linked, and to where: to the last argument or into that folder, if none is given for it.
fn copied(how: How, options: &Options, folder: Option<&Word>, effects: &mut Effects) {
    let here = Word::known(".");
    let (target, sources) = match (folder, &options.arguments[..]) {
        (Some(folder), sources) => (folder, sources),
        // A link of the same name, here.
        (None, [source]) if matches!(how, How::Links) => (&here, std::slice::from_ref(source)),
        (None, [sources @ .., target]) => (target, sources),
        (None, []) => return,
    };
    if STREAMS.contains(&&*target.text) {
        return;
    }
    let has = |names: &[&str]| names.iter().any(|name| options.has(name));
    let is_recursive = has(&["-r", "-R", "-a", "--recursive", "--archive"]);
    let is_whole = is_recursive || matches!(how, How::Moves | How::Links);
    effects.writes.push(target.clone());
    if is_whole || sources.iter().any(|source| source.kind == WordKind::Glob) {
        effects.below.push(target.clone());
    }
    for source in sources {
        let name = base(source.text.trim_end_matches('/'));
        if matches!(name, "." | ".." | "") || has(&["-T", "--no-target-directory"]) {
            if is_recursive {
                effects.doubts.push(UNNAMED);
            }
        } else if source.kind == WordKind::Known {
            let inside = Word { text: format!("{}/{name}", target.text), kind: target.kind };
            effects.below.extend(is_whole.then(|| inside.clone()));
            effects.writes.push(inside);
        }
        match how {
            How::Moves => {
                effects.writes.push(source.clone());
                effects.below.push(source.clone());
            }
            How::Links => linked(source, &target.text, effects),
            _ => {}
        }
    }
}

/// What a link leads to can be written by its name. A relative path is meant from the folder of the link.
fn linked(source: &Word, target: &str, effects: &mut Effects) {
    let mut names = vec![source.clone()];
    if !source.text.starts_with(['/', '~']) {
        let folder = target.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let from = |folder: &str| Word { text: format!("{folder}/{}", source.text), kind: source.kind };
        names.extend([from(folder), from(target)]);
    }
    effects.writes.extend(names.iter().cloned());
    effects.below.extend(names);
}

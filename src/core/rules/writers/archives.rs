//! What programs do that unpack, list or apply: which files an archive or a patch names is known only to it. Each is told
//! by what it is asked to do: an option, or a letter or word that comes first.

use super::options::Options;
use super::{Effects, RUNS_MORE};
use crate::core::rules::line::{Word, base};

/// How a program is told what to do.
enum Asked {
    /// It unpacks, unless one of these options is given, and given just so.
    Unless(&'static [&'static str]),
    /// It lists, unless one of these options is given.
    If(&'static [&'static str]),
    /// By its first argument: it lists if that is one of these, and writes the archive, which comes next, if it is one of
    /// the others.
    Word(&'static [&'static str], &'static [&'static str]),
    /// The same, by letters among others in that argument.
    Letters(&'static [char], &'static [char]),
}

struct Row {
    names: &'static [&'static str],
    asked: Asked,
    /// Options whose value may be the next word.
    valued: &'static [&'static str],
    /// The same where the value is a file or a folder that is written.
    written: &'static [&'static str],
    /// Options that run another program.
    runs: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        names: &["unzip"],
        asked: Asked::Unless(&["-l", "-t", "-v", "-z", "-Z", "-p", "-c"]),
        valued: &["-x", "-P", "-I", "-O"],
        written: &["-d"],
        runs: &[],
    },
    Row {
        names: &["7z", "7za", "7zr", "7zz"],
        asked: Asked::Word(&["l", "t", "h", "i", "b"], &["a", "d", "u", "rn"]),
        valued: &[],
        written: &[],
        runs: &[],
    },
    Row {
        names: &["unrar", "rar"],
        asked: Asked::Word(
            &["l", "la", "lb", "lt", "t", "v", "va", "vb", "vt", "p"],
            &["a", "c", "d", "f", "k", "m", "r", "rn", "s", "u"],
        ),
        valued: &[],
        written: &["-op"],
        runs: &[],
    },
    Row {
        names: &["unar"],
        asked: Asked::Unless(&["-h", "-v"]),
        valued: &["-p", "-e", "-E", "-k"],
        written: &["-o", "-output-directory"],
        runs: &[],
    },
    Row {
        names: &["ar"],
        asked: Asked::Letters(&['t', 'p'], &['r', 'q', 'd', 'm', 's']),
        valued: &[],
        written: &[],
        runs: &[],
    },
    Row {
        names: &["cpio"],
        asked: Asked::Unless(&["-t", "-it", "-tv", "-itv", "--list"]),
        valued: &["-C", "-E", "-H", "-I", "-M", "-R", "--file", "--pattern-file", "--format", "--owner"],
        written: &["-D", "--directory", "-F", "-O"],
        runs: &["--rsh-command", "--to-stdout-command"],
    },
    Row {
        names: &["pax"],
        asked: Asked::If(&["-r", "-w"]),
        valued: &["-b", "-o", "-p", "-s", "-x", "-E", "-U", "-G", "-T", "-B"],
        written: &[],
        runs: &["--use-compress-program"],
    },
    Row {
        names: &["dpkg", "dpkg-deb"],
        asked: Asked::Unless(&[
            "-c",
            "-I",
            "-f",
            "-l",
            "-L",
            "-s",
            "-S",
            "-W",
            "-V",
            "--contents",
            "--info",
            "--field",
            "--list",
            "--listfiles",
            "--status",
            "--search",
            "--show",
            "--verify",
            "--print-architecture",
        ]),
        valued: &[],
        written: &[],
        runs: &["--pre-invoke", "--post-invoke"],
    },
    Row {
        names: &["unsquashfs"],
        asked: Asked::Unless(&[
            "-l",
            "-ll",
            "-lc",
            "-llc",
            "-lls",
            "-ls",
            "-s",
            "-stat",
            "-mkfs-time",
            "-cat",
        ]),
        valued: &["-e", "-ef", "-p", "-da", "-fr"],
        written: &["-d", "-dest"],
        runs: &[],
    },
    Row { names: &["uudecode"], asked: Asked::Unless(&[]), valued: &[], written: &["-o"], runs: &[] },
    Row {
        names: &["patch", "gpatch"],
        asked: Asked::Unless(&["--dry-run"]),
        valued: &["-p", "-i", "-D", "-F", "-g", "-V", "-z", "-B", "-Y"],
        written: &["-o", "-r", "-d", "--output", "--reject-file", "--directory"],
        runs: &["-e", "--ed"],
    },
];

/// What one of them does; nothing of another program.
pub fn effects(words: &[Word]) -> Option<Effects> {
    let name = base(&words.first()?.text);
    let row = ROWS.iter().find(|row| row.names.contains(&name))?;
    let options = Options::read(words, &[row.valued, row.written, row.runs].concat());
    let has = |names: &[&str]| names.iter().any(|name| options.has(name));
    let mut effects = Effects::default();
    if has(row.runs) {
        effects.doubts.push(RUNS_MORE);
    }
    let first = words.get(1).map(|word| word.text.trim_start_matches('-')).unwrap_or_default();
    let archive = || words.get(2).cloned();
    match &row.asked {
        Asked::Unless(lists) if lists.iter().any(|name| options.has_word(name)) => return Some(effects),
        Asked::If(writes) if !has(writes) => return Some(effects),
        Asked::Word(lists, _) if lists.contains(&first) => return Some(effects),
        Asked::Word(_, archives) if archives.contains(&first) => {
            effects.writes.extend(archive());
            // Some take files into the archive and remove them.
            effects.writes_others = true;
            return Some(effects);
        }
        Asked::Letters(_, archives) if first.contains(*archives) => {
            effects.writes.extend(archive());
            return Some(effects);
        }
        Asked::Letters(lists, _) if first.contains(*lists) && !first.contains('x') => return Some(effects),
        _ => {}
    }
    effects.writes_others = true;
    effects.writes.extend(row.written.iter().flat_map(|name| options.values(name)));
    if matches!(name, "patch" | "gpatch") {
        effects.writes.extend(options.arguments.first().cloned());
    }
    Some(effects)
}

/// Whether Python is to unpack or pack: `python3 -m zipfile -e a.zip out`.
pub fn by_module(words: &[Word]) -> bool {
    let mut words = words.iter().skip(1).map(|word| word.text.as_str()).skip_while(|word| *word != "-m");
    let module = words.nth(1);
    let lists = ["-l", "--list", "-t", "--test"];
    matches!(module, Some("zipfile" | "tarfile" | "shutil")) && !words.any(|word| lists.contains(&word))
}

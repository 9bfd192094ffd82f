//! File locations in the output of commands: `src/main.rs:3:5: what is wrong`. They are found by their
//! form alone; whether such a file exists is left to others.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex_lite::{Captures, Regex};
use serde::{Deserialize, Serialize};

/// A place, and what is said about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// As it was printed, under the folder that it is meant from.
    pub path: PathBuf,
    /// 1-based, as is the column.
    pub line: u32,
    pub column: Option<u32>,
    pub kind: Option<Kind>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Error,
    Warning,
    Note,
}

/// A place in a single line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'t> {
    pub path: &'t str,
    pub line: u32,
    pub column: Option<u32>,
    /// The bytes where it stands.
    pub start: usize,
    pub end: usize,
}

/// In this order; each has a path, a line and perhaps a column.
static LOOKS: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [
        // Python.
        r#"File "([^"]+)", line (\d+)"#,
        // Perl.
        r"\bat ((?:[A-Za-z]:[\\/])?[^\s:]+) line (\d+)",
        // Microsoft's and TypeScript's compilers.
        r#"((?:[A-Za-z]:[\\/])?[^\s:()\[\]"'`<>|,;]+)\((\d+)(?:,(\d+))?\)"#,
        // Most others.
        r#"((?:[A-Za-z]:[\\/])?[^\s:()\[\]{}"'`<>|,;=]+):(\d+)(?::(\d+))?"#,
    ]
    .map(|look| Regex::new(look).expect("each is tested below"))
});

/// Below a line with nothing but a path, as ESLint has it.
static UNDER_A_PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s+(\d+):(\d+)\s+(\S.*)$").expect("it is tested below"));

static FOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(Entering|Leaving) directory [`']([^']+)'").expect("it is tested below"));

/// All places in one line.
pub fn in_line(line: &str) -> Vec<Found<'_>> {
    let mut found: Vec<Found> = Vec::new();
    for look in LOOKS.iter() {
        for captures in look.captures_iter(line) {
            if let Some(new) = read(&captures)
                && !found.iter().any(|known| known.start < new.end && new.start < known.end)
            {
                found.push(new);
            }
        }
    }
    found.sort_by_key(|found| found.start);
    found
}

/// The place that is meant at a byte of a line: the one that stands there, else the next one, else the
/// last before it.
pub fn at(line: &str, byte: usize) -> Option<Found<'_>> {
    let mut found = in_line(line);
    let index = found.iter().position(|found| found.end > byte).or(found.len().checked_sub(1))?;
    Some(found.swap_remove(index))
}

/// The places in what a command printed, at most one for a line. `cwd` is where it ran.
pub fn all(text: &str, cwd: &Path, is_file: impl FnMut(&Path) -> bool) -> Vec<Place> {
    let mut is_file = is_file;
    let mut places = Vec::new();
    let mut folders = vec![cwd.to_owned()];
    let mut said: Option<&str> = None;
    let mut heading: Option<PathBuf> = None;
    for line in text.lines() {
        let here = folders.last().map_or(cwd, PathBuf::as_path).to_owned();
        if let Some(folder) = FOLDER.captures(line) {
            match &folder[1] {
                "Entering" => folders.push(here.join(&folder[2])),
                _ if folders.len() > 1 => drop(folders.pop()),
                _ => {}
            }
            continue;
        }
        if let (Some(path), Some(captures)) = (&heading, UNDER_A_PATH.captures(line)) {
            let (Ok(line), Ok(column)) = (captures[1].parse(), captures[2].parse()) else { continue };
            let kind = kind(&captures[3]);
            let text = without_kind(&captures[3], kind).to_owned();
            places.push(Place { path: path.clone(), line, column: Some(column), kind, text });
            continue;
        }
        let place = in_line(line).into_iter().find(|found| is_file(&here.join(found.path)));
        let Some(found) = place else {
            let trimmed = line.trim_end();
            let is_path = !trimmed.is_empty() && !trimmed.contains(char::is_whitespace);
            let path = here.join(trimmed);
            if is_path && is_file(&path) {
                heading = Some(path);
            } else if trimmed.is_empty() {
                heading = None;
            }
            // Rust's compiler says first what is wrong, and then where.
            said = if kind(line).is_some() { Some(line) } else { said.filter(|_| !trimmed.is_empty()) };
            continue;
        };
        let rest = line[found.end..].trim_start_matches([':', ' ', ')', '\t']).trim();
        let pointed = line.trim_start().starts_with("-->");
        let text = match said.filter(|_| pointed) {
            Some(said) => said.trim(),
            None if rest.is_empty() => line.trim(),
            None => rest,
        };
        let kind = kind(text);
        places.push(Place {
            path: here.join(found.path),
            line: found.line,
            column: found.column,
            kind,
            text: without_kind(text, kind).to_owned(),
        });
    }
    places
}

fn read<'t>(captures: &Captures<'t>) -> Option<Found<'t>> {
    let (whole, path) = (captures.get(0)?, captures.get(1)?);
    let line = captures.get(2)?.as_str().parse().ok().filter(|line| *line > 0)?;
    let column = captures.get(3).and_then(|column| column.as_str().parse().ok()).filter(|column| *column > 0);
    // A number before the colon is a time or an address.
    let named = path.as_str().contains(|c: char| c.is_alphabetic() || c == '_');
    let found = Found { path: path.as_str(), line, column, start: whole.start(), end: whole.end() };
    named.then_some(found)
}

/// What is said, by its first word that says it.
fn kind(text: &str) -> Option<Kind> {
    let lower = text.to_ascii_lowercase();
    let words = [
        ("error", Kind::Error),
        ("fatal", Kind::Error),
        ("failed", Kind::Error),
        ("panicked", Kind::Error),
        ("warning", Kind::Warning),
        ("note", Kind::Note),
    ];
    let found = words.iter().filter_map(|(word, kind)| Some((lower.find(word)?, *kind)));
    found.min_by_key(|(at, _)| *at).map(|(_, kind)| kind)
}

/// What is said without the word for its kind before it: lists have that beside the place already. A code that it came
/// with stays.
fn without_kind(text: &str, kind: Option<Kind>) -> &str {
    let word = match kind {
        Some(Kind::Error) => "error",
        Some(Kind::Warning) => "warning",
        Some(Kind::Note) => "note",
        None => return text,
    };
    let Some((begin, rest)) = text.split_at_checked(word.len()) else { return text };
    let says_more = !rest.trim_start_matches([':', ' ']).is_empty();
    match rest.chars().next() {
        _ if !begin.eq_ignore_ascii_case(word) || !says_more => text,
        Some(':' | ' ') => rest.trim_start_matches([':', ' ']),
        Some('[') => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn places(text: &str) -> Vec<String> {
        let all = all(text, Path::new("/p"), |path| path.extension().is_some() || path.ends_with("Makefile"));
        let one = |place: &Place| {
            let kind = match place.kind {
                Some(Kind::Error) => "E ",
                Some(Kind::Warning) => "W ",
                Some(Kind::Note) => "N ",
                None => "",
            };
            let column = place.column.map(|column| format!(":{column}")).unwrap_or_default();
            format!("{kind}{}:{}{column} {}", place.path.display(), place.line, place.text)
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn a_drive_is_part_of_the_path() {
        let first =
            |line| in_line(line).first().map(|found| (found.path.to_owned(), found.line, found.column));
        let place = |path: &str, line, column| Some((path.to_owned(), line, column));
        assert_eq!(first(r"C:\p\a.c(12,5): error C2143"), place(r"C:\p\a.c", 12, Some(5)));
        assert_eq!(first(r" --> C:\p\src\a.rs:3:9"), place(r"C:\p\src\a.rs", 3, Some(9)));
        assert_eq!(first("d:/p/a.py:7: no"), place("d:/p/a.py", 7, None));
        assert_eq!(first(r#"File "C:\p\a b.py", line 2"#), place(r"C:\p\a b.py", 2, None));
        assert_eq!(first(r"died at C:\p\a.pl line 4."), place(r"C:\p\a.pl", 4, None));
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn compilers_and_tests_name_places_in_many_ways() {
        assert_eq!(
            places("src/a.c:3:5: error: no such thing\nsrc/b.go:7: undefined: x\n/abs/c.py:2:1: E302 lines"),
            ["E /p/src/a.c:3:5 no such thing", "/p/src/b.go:7 undefined: x", "/abs/c.py:2:1 E302 lines"]
        );
        assert_eq!(
            places("Traceback:\n  File \"x y.py\", line 4, in <module>\ndied at z.pl line 9."),
            ["/p/x y.py:4 , in <module>", "/p/z.pl:9 ."]
        );
        assert_eq!(
            places("src/a.ts(3,15): error TS2304: Cannot find name\n    at run (/p/b.js:10:20)"),
            ["E /p/src/a.ts:3:15 TS2304: Cannot find name", "/p/b.js:10:20 at run (/p/b.js:10:20)"]
        );
        assert_eq!(
            places("thread 'x' panicked at src/lib.rs:7:9:\nMakefile:3: recipe failed"),
            ["E /p/src/lib.rs:7:9 thread 'x' panicked at src/lib.rs:7:9:", "E /p/Makefile:3 recipe failed"]
        );
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn what_is_wrong_may_stand_before_where() {
        let text = "warning: unused variable: `x`\n --> src/main.rs:2:9\n  |\n\nerror[E0308]: mismatched\n   --> src/a.rs:5:1";
        assert_eq!(
            places(text),
            ["W /p/src/main.rs:2:9 unused variable: `x`", "E /p/src/a.rs:5:1 [E0308]: mismatched"]
        );
    }

    #[test]
    fn what_is_said_does_not_repeat_its_kind_and_is_never_nothing() {
        let said = |text: &str| without_kind(text, kind(text)).to_owned();
        for (text, left) in [
            ("Error: no", "no"),
            ("note: see", "see"),
            ("error", "error"),
            ("error: ", "error: "),
            ("errors: 3", "errors: 3"),
            ("fatal error: no such file", "fatal error: no such file"),
            ("no error: a warning", "no error: a warning"),
            ("warning: an error", "an error"),
            ("\u{e9}rror", "\u{e9}rror"),
        ] {
            assert_eq!(said(text), left, "{text}");
        }
    }

    #[test]
    fn places_may_stand_under_their_file() {
        let text =
            "/p/src/a.js\n  1:10  error  'x' is unused\n  22:3  warning  Missing\n\n✖ 2 problems\n 3:4 no";
        assert_eq!(places(text), ["E /p/src/a.js:1:10 'x' is unused", "W /p/src/a.js:22:3 Missing"]);
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn make_tells_the_folder() {
        let text =
            "make[1]: Entering directory '/q/sub'\nx.c:1: a\nmake[1]: Leaving directory '/q/sub'\ny.c:2: b";
        assert_eq!(places(text), ["/q/sub/x.c:1 a", "/p/y.c:2 b"]);
    }

    #[test]
    fn times_addresses_and_names_that_are_no_files_are_none() {
        assert_eq!(
            places("12:30:45 listening on 127.0.0.1:8080\nhttp://localhost:3000\nkey:5\nline 0: a.c:0"),
            [""; 0]
        );
    }

    #[test]
    fn under_the_cursor_is_the_place_there_or_the_next() {
        let line = "from a.c:1:2 to b.c:3 end";
        let path = |byte| at(line, byte).map(|found| (found.path, found.line, found.column));
        assert_eq!(path(0), Some(("a.c", 1, Some(2))));
        assert_eq!(path(8), Some(("a.c", 1, Some(2))));
        assert_eq!(path(13), Some(("b.c", 3, None)));
        assert_eq!(path(24), Some(("b.c", 3, None)));
        assert_eq!(at("nothing", 0), None);
    }

    proptest! {
        #[test]
        fn whatever_is_printed_places_stand_in_their_lines(line in "[a-z:(),\"/. 0-9\u{e9}\u{20ac}-]{0,60}") {
            let mut end = 0;
            for found in in_line(&line) {
                prop_assert!(found.start >= end && line[found.start..found.end].contains(found.path));
                end = found.end;
            }
        }
    }
}

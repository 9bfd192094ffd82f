//! Patterns of rules: shapes of commands, and paths. `*` stands for letters, `**` for any number of words or
//! folders, `{a,b}` for one of several, and in a command `!word` for what must not occur. What may be meant
//! for sure and what only perhaps are told apart, since a rule that allows needs the former.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::line::{Word, WordKind, base};

/// How a pattern stands to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    No,
    Perhaps,
    Sure,
}

/// Patterns fall apart into so many at the most.
const MAX_ALTERNATIVES: usize = 64;
/// Words of a command that are looked at.
pub const MOST_WORDS: usize = 256;

/// The patterns that braces stand for.
pub fn alternatives(pattern: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(next) = open.pop() {
        let braces = next.find('{').and_then(|from| Some((from, from + next[from..].find('}')?)));
        match braces {
            Some((from, to)) if done.len() + open.len() < MAX_ALTERNATIVES => {
                let (before, inner, after) = (&next[..from], &next[from + 1..to], &next[to + 1..]);
                let all = inner.split(',').map(|one| format!("{before}{one}{after}"));
                open.extend(all.collect::<Vec<_>>().into_iter().rev());
            }
            _ => done.push(next),
        }
    }
    done
}

/// Whether one of the patterns that braces stand for fits.
fn any_fits(pattern: &str, fits: impl Fn(&str) -> bool) -> bool {
    let Some((before, rest)) = pattern.split_once('{') else { return fits(pattern) };
    match rest.split_once('}') {
        // Most have braces once, around all that they say or around its end.
        Some((inner, after)) if !rest.contains('{') => {
            let mut whole = String::with_capacity(pattern.len());
            inner.split(',').any(|one| {
                if before.is_empty() && after.is_empty() {
                    return fits(one);
                }
                whole.clear();
                [before, one, after].iter().for_each(|part| whole.push_str(part));
                fits(&whole)
            })
        }
        _ => alternatives(pattern).iter().any(|pattern| fits(pattern)),
    }
}

/// Whether letters fit a pattern in which `*` stands for any. Takes no more steps than their product. All files that an
/// agent touches are held against dozens of patterns, so nothing is copied.
pub fn fits(pattern: &str, text: &str, is_loose: bool) -> bool {
    // No letter begins within another one in UTF-8, so bytes do.
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let is_same = |one: u8, other: u8| one == other || is_loose && one.eq_ignore_ascii_case(&other);
    let (mut at, mut to) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while to < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, to));
            at += 1;
        } else if pattern.get(at).is_some_and(|byte| is_same(*byte, text[to])) {
            (at, to) = (at + 1, to + 1);
        } else if let Some((from, taken)) = star {
            star = Some((from, taken + 1));
            (at, to) = (from + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// How specific the shape of a command is: its words that say something.
pub fn command_depth(shape: &str) -> usize {
    shape.split_whitespace().filter(|word| says(word) && !word.starts_with('!')).count()
}

fn says(word: &str) -> bool {
    word.chars().any(|char| char != '*')
}

/// How a command fits a shape. `allows`: the rule lets it run, so it has to be just this command.
pub fn command_fit(shape: &str, words: &[Word], allows: bool) -> Fit {
    if words.len() > MOST_WORDS {
        return if allows { Fit::No } else { Fit::Perhaps };
    }
    alternatives(shape).iter().map(|shape| one_fit(shape, words, allows)).max().unwrap_or(Fit::No)
}

fn one_fit(shape: &str, words: &[Word], allows: bool) -> Fit {
    let (never, shape): (Vec<_>, Vec<_>) =
        shape.split_whitespace().partition(|word| word.starts_with('!') && word.len() > 1);
    let forbidden = |word: &Word| never.iter().any(|never| is_option(&never[1..], &word.text));
    if words.iter().skip(1).any(forbidden) {
        return Fit::No;
    }
    let fit = words_fit(&shape, words, allows);
    if allows {
        let is_sure = words.iter().all(is_judged);
        return if is_sure { fit } else { fit.min(Fit::Perhaps) };
    }
    if fit != Fit::No {
        return fit;
    }
    // With other options between its words.
    let mut wanted = shape.iter().filter(|word| says(word)).peekable();
    for (at, word) in words.iter().enumerate() {
        match wanted.peek() {
            Some(want) if word_fit(want, word, at == 0, false) != Fit::No => drop(wanted.next()),
            Some(_) if at == 0 => return Fit::No,
            _ => {}
        }
    }
    if wanted.peek().is_none() && shape.iter().any(|word| says(word)) { Fit::Perhaps } else { Fit::No }
}

/// A word that isn't an option by surprise.
fn is_judged(word: &Word) -> bool {
    match word.kind {
        WordKind::Known => true,
        WordKind::Glob => !word.text.starts_with(['*', '?', '[', '-']),
        WordKind::Unknown => false,
    }
}

/// Whether a word is an option, or has it among its letters, or shortens it.
fn is_option(option: &str, word: &str) -> bool {
    if fits(option, word, false) {
        return true;
    }
    // Programs that have long options with one dash mostly take two as well.
    let has_long_name = option.starts_with('-') && !option.starts_with("--") && option.chars().count() > 2;
    if has_long_name && word.starts_with("--") {
        return fits(option, &word[1..], false);
    }
    let name = word.split('=').next().unwrap_or(word);
    if let Some(long) = option.strip_prefix("--") {
        let long = long.trim_end_matches('*');
        return name.strip_prefix("--").is_some_and(|short| {
            !short.is_empty() && (long.starts_with(short) || option.ends_with('*') && short.starts_with(long))
        });
    }
    let letter = option.strip_prefix('-').filter(|letter| letter.chars().count() == 1);
    letter
        .is_some_and(|letter| word.starts_with('-') && !word.starts_with("--") && word[1..].contains(letter))
}

fn word_fit(pattern: &str, word: &Word, is_name: bool, allows: bool) -> Fit {
    let text = if is_name && !allows { base(&word.text) } else { &word.text };
    match word.kind {
        WordKind::Known if fits(pattern, text, !allows) => Fit::Sure,
        WordKind::Known => Fit::No,
        WordKind::Glob | WordKind::Unknown => Fit::Perhaps,
    }
}

/// Each word after the other; `**` is any number of them.
fn words_fit(shape: &[&str], words: &[Word], allows: bool) -> Fit {
    // How each end of the words fits the shape so far.
    let mut row = vec![Fit::No; words.len() + 1];
    row[0] = Fit::Sure;
    for pattern in shape {
        let mut next = vec![Fit::No; words.len() + 1];
        if *pattern == "**" {
            let mut best = Fit::No;
            for (at, fit) in row.iter().enumerate() {
                best = best.max(*fit);
                next[at] = best;
            }
        } else {
            for (at, word) in words.iter().enumerate() {
                next[at + 1] = row[at].min(word_fit(pattern, word, at == 0, allows));
            }
        }
        row = next;
    }
    row[words.len()]
}

/// How specific a pattern of paths is. One that names the file outweighs those that name folders.
pub fn path_depth(pattern: &str) -> usize {
    let parts: Vec<_> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let named = parts.iter().filter(|part| says(part)).count();
    named + if parts.last().is_some_and(|last| says(last)) { 10 } else { 0 }
}

/// Whether a path fits a pattern. Without a slash it is a name anywhere; a relative one begins at `root`. What allows
/// something (it is not loose) says so where it reaches out of the roots: by `/` or `~`.
pub fn path_fits(
    pattern: &str,
    path: &str,
    roots: &[impl AsRef<str>],
    home: Option<&str>,
    is_loose: bool,
) -> bool {
    let is_inside = below(path, roots).next().is_some();
    any_fits(pattern, |pattern| {
        if !is_loose && !is_inside && !pattern.starts_with(['/', '~']) {
            return false;
        }
        if !pattern.contains('/') {
            return path.rsplit('/').next().is_some_and(|name| fits(pattern, name, is_loose))
                || pattern.chars().all(|char| char == '*');
        }
        let below = below(path, roots).filter(|rest| !rest.is_empty());
        from_start(pattern, path, below, home, |pattern, path| {
            parts_by(pattern, path, |part, name| fits(part, name, is_loose))
        })
    })
}

/// Finds in one go that none of many patterns fits a path: where one does, its needle stands in the path, in letters of
/// any case.
pub struct Needles(Option<AhoCorasick>);

impl Needles {
    pub fn of(patterns: &[&str]) -> Self {
        let needles: Vec<String> = patterns
            .iter()
            .flat_map(|pattern| alternatives(pattern))
            .map(|pattern| needle(&pattern).to_owned())
            .collect();
        if needles.iter().any(String::is_empty) {
            return Self(None);
        }
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
        // Without it each pattern is held against each path.
        Self(builder.build(needles).ok())
    }

    /// Whether one of the patterns may fit.
    pub fn may_fit(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|needles| needles.is_match(path))
    }
}

/// Letters that stand together in every path that a pattern without braces fits; none if there are no such letters.
fn needle(pattern: &str) -> &str {
    // Where it begins stands in no path.
    let named = ["~/", "./"].iter().find_map(|start| pattern.strip_prefix(start)).unwrap_or(pattern);
    named.split(['*', '/']).max_by_key(|letters| letters.len()).unwrap_or_default()
}

/// Whether a folder is on the way to what a pattern of paths names: to `a/b/c`, `a` is, and so is `a/b`. A name in any
/// folder leads nowhere.
pub fn leads_to(pattern: &str, folder: &str, roots: &[impl AsRef<str>], home: Option<&str>) -> bool {
    let begins = |pattern: &str, path: &str| {
        let parts: Vec<&str> = parts(pattern).collect();
        let is_way = |end: usize| match parts[..end] {
            [] => path.trim_matches('/').is_empty(),
            [.., last] => {
                says(last) && parts_by(&parts[..end].join("/"), path, |part, name| fits(part, name, true))
            }
        };
        (0..parts.len()).any(is_way)
    };
    any_fits(pattern, |pattern| {
        pattern.contains('/') && from_start(pattern, folder, below(folder, roots), home, begins)
    })
}

/// Whether what a glob of the shell's stands for may be what a pattern of paths names.
pub fn path_meets(pattern: &str, glob: &str, roots: &[impl AsRef<str>], home: Option<&str>) -> bool {
    any_fits(pattern, |pattern| {
        if !pattern.contains('/') {
            return glob.rsplit('/').next().is_some_and(|name| name_meets(pattern, name));
        }
        let below = below(glob, roots).filter(|rest| !rest.is_empty());
        from_start(pattern, glob, below, home, |pattern, glob| parts_by(pattern, glob, name_meets))
    })
}

/// Holds a path against a pattern with slashes from where that begins: at home, at the root of all, or in a root, where
/// this is left of it.
fn from_start<'a>(
    pattern: &str,
    path: &str,
    mut below: impl Iterator<Item = &'a str>,
    home: Option<&str>,
    fits: impl Fn(&str, &str) -> bool,
) -> bool {
    if let Some(rest) = pattern.strip_prefix("~/") {
        return home.is_some_and(|home| fits(&format!("{home}/{rest}"), path));
    }
    if pattern.starts_with('/') || pattern.starts_with("**/") {
        return fits(pattern, path);
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    below.any(|rest| fits(pattern, rest))
}

/// What is left of a path in each root that it is in, from the slash on.
fn below<'a>(path: &'a str, roots: &'a [impl AsRef<str>]) -> impl Iterator<Item = &'a str> {
    let rest = |root: &'a _| path.strip_prefix(AsRef::<str>::as_ref(root).trim_end_matches('/'));
    roots.iter().filter_map(rest).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a name can fit both, a pattern of a rule's and a glob of the shell's. A hidden file's dot has to be written.
fn name_meets(pattern: &str, glob: &str) -> bool {
    let lower = |text: &str| -> Vec<char> { text.chars().map(|char| char.to_ascii_lowercase()).collect() };
    let (pattern, mut glob) = (lower(pattern), lower(glob));
    // A class is any letter here.
    while let Some(from) = glob.iter().position(|char| *char == '[') {
        let to = glob[from..].iter().position(|char| *char == ']').map_or(glob.len() - 1, |to| from + to);
        glob.splice(from..=to, ['?']);
    }
    if pattern.first() == Some(&'.') && matches!(glob.first(), Some('*' | '?')) {
        return false;
    }
    // Whether the rest of the glob from each letter on can fit the rest of the pattern.
    let mut row: Vec<bool> = vec![false; glob.len() + 1];
    for at in (0..=pattern.len()).rev() {
        let below = row.clone();
        for to in (0..=glob.len()).rev() {
            row[to] = match (pattern.get(at), glob.get(to)) {
                (None, None) => true,
                (Some('*'), one) => below[to] || one.is_some() && row[to + 1],
                (one, Some('*')) => row[to + 1] || one.is_some() && below[to],
                (Some(_), Some('?')) => below[to + 1],
                (Some(one), Some(other)) => one == other && below[to + 1],
                _ => false,
            };
        }
    }
    row[0]
}

fn parts(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|part| !part.is_empty())
}

/// Folder by folder, where `**` is any number of them.
fn parts_by(pattern: &str, path: &str, fits: impl Fn(&str, &str) -> bool) -> bool {
    let (mut pattern, mut path) = (parts(pattern), parts(path));
    // What follows the last `**`, and the parts of the path that it may still take.
    let mut star = None;
    loop {
        let (mut wanted, mut left) = (pattern.clone(), path.clone());
        match (wanted.next(), left.next()) {
            (Some("**"), _) => {
                pattern = wanted;
                star = Some((pattern.clone(), path.clone()));
            }
            (None, None) => return true,
            (Some(_), None) => return false,
            (Some(part), Some(name)) if fits(part, name) => (pattern, path) = (wanted, left),
            (_, Some(_)) => {
                let Some((after, taken)) = &mut star else { return false };
                taken.next();
                (pattern, path) = (after.clone(), taken.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_needle_is_the_longest_part_of_a_pattern_that_stands_for_itself() {
        for (pattern, letters) in [
            (".env", ".env"),
            ("*.pem", ".pem"),
            ("**/.ssh/**", ".ssh"),
            ("~/.config/*", ".config"),
            ("./a/bc*d", "bc"),
            ("/proc/**", "proc"),
            ("./*", ""),
            ("**", ""),
            ("", ""),
        ] {
            assert_eq!(needle(pattern), letters, "{pattern}");
        }
    }

    #[test]
    fn patterns_of_which_one_has_no_needle_may_fit_any_path() {
        assert!(Needles::of(&[".env", "src/{*,main.rs}"]).may_fit("/p/src/a.rs"));
        assert!(!Needles::of(&[".env", "src/{main,lib}.rs"]).may_fit("/p/src/a.rs"));
        assert!(!Needles::of(&[]).may_fit("/p/a"));
    }

    #[test]
    fn a_glob_meets_a_pattern_where_a_name_can_fit_both() {
        for (pattern, glob) in [
            (".env", ".e*"),
            (".env", ".en?"),
            (".env.*", ".e*"),
            ("*.pem", "*"),
            ("*.pem", "a*"),
            ("*.pem", "*.p[ea]m"),
            ("id_rsa", "[i]d*"),
            ("a*c", "ab*"),
            (".ENV", ".e*"),
        ] {
            assert!(name_meets(pattern, glob), "{pattern} {glob}");
        }
        for (pattern, glob) in [
            (".env", "*"),
            (".env", "?env"),
            (".env", "[.]env"),
            ("*.pem", "*.rs"),
            ("abc", "ab"),
            ("a", "ab*"),
        ] {
            assert!(!name_meets(pattern, glob), "{pattern} {glob}");
        }
        let meets =
            |pattern: &str, glob: &str| path_meets(pattern, glob, &["/p".to_owned()], Some("/home/me"));
        assert!(
            meets("vendor/**", "/p/v*/x")
                && meets("**/.ssh/**", "/home/me/.s*/x")
                && meets("~/a/*", "/home/me/*/b")
        );
        assert!(!meets("vendor/**", "/p/src/*") && !meets("**/.ssh/**", "/p/*/x"));
    }
}

//! What `sed` does: files that it edits in place, and scripts that write files or run commands. A script that isn't
//! plainly understood is taken for one of these.

use super::options::Options;
use super::{Effects, RUNS_MORE};
use crate::core::rules::line::{Word, WordKind};

pub fn effects(words: &[Word]) -> Effects {
    let options = Options::read(words, &["-e", "-f", "-l", "--expression", "--file", "--line-length"]);
    let in_place =
        options.has("-i") || options.has("-I") || options.has("--in-place") || options.has("--inplace");
    let mut scripts = [options.values("-e"), options.values("--expression")].concat();
    let reads_script = options.has("-f") || options.has("--file");
    if scripts.is_empty() && !reads_script {
        scripts.extend(options.arguments.first().cloned());
    }
    let is_plain = |script: &Word| script.kind != WordKind::Unknown && only_prints(&script.text);
    let mut effects = Effects::default();
    // `-s` and the letters behind `-i` are a matter of the version: a word of letters is read in the strict way.
    if reads_script || !scripts.iter().all(is_plain) {
        effects.doubts.push(RUNS_MORE);
    }
    if in_place {
        effects.writes = options.arguments;
    }
    effects
}

/// Whether a script changes nothing but what is printed.
fn only_prints(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '}']);
        if rest.is_empty() {
            return true;
        }
        let Some(after) = command(rest) else { return false };
        rest = after;
    }
}

/// What stands behind one command, if that is harmless.
fn command(text: &str) -> Option<&str> {
    let text = addresses(text)?.trim_start_matches([' ', '!']);
    let command = text.chars().next()?;
    let rest = &text[command.len_utf8()..];
    match command {
        // A block's first command may follow at once.
        '{' => Some(rest),
        '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => ends(rest),
        'q' | 'Q' | 'l' => {
            ends(rest.trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']))
        }
        // Up to the end of the line.
        'a' | 'i' | 'c' | '#' if !rest.contains('\\') => {
            Some(rest.split_once('\n').map_or("", |(_, next)| next))
        }
        'b' | 't' | 'T' | ':' => {
            Some(rest.trim_start_matches(|char: char| char.is_alphanumeric() || char == ' '))
        }
        's' | 'y' => {
            let sign =
                rest.chars().next().filter(|sign| !sign.is_alphanumeric() && !matches!(sign, '\\' | '\n'))?;
            let rest = until(until(&rest[sign.len_utf8()..], sign)?, sign)?;
            let flags =
                |char: char| char.is_ascii_digit() || matches!(char, 'g' | 'p' | 'i' | 'I' | 'm' | 'M');
            ends(rest.trim_start_matches(flags))
        }
        _ => None,
    }
}

/// Behind a command only another one may begin.
fn ends(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([' ', '\t']);
    (text.is_empty() || text.starts_with([';', '\n', '}'])).then_some(text)
}

/// What stands behind the lines that a command is for.
fn addresses(mut text: &str) -> Option<&str> {
    for _ in 0..2 {
        text = match text.chars().next()? {
            '/' => until(&text[1..], '/')?.trim_start_matches(['I', 'M']),
            '$' => &text[1..],
            char if char.is_ascii_digit() || matches!(char, '+' | '~') => {
                text.trim_start_matches(|char: char| char.is_ascii_digit() || matches!(char, '+' | '~'))
            }
            _ => return Some(text),
        };
        text = text.trim_start_matches(' ');
        match text.strip_prefix(',') {
            Some(next) => text = next.trim_start_matches(' '),
            None => return Some(text),
        }
    }
    Some(text)
}

/// What stands behind the next sign that isn't escaped or in brackets.
fn until(text: &str, sign: char) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()?),
            // Versions differ in what a sign in brackets is.
            '[' => return None,
            '\n' => return None,
            _ if char == sign => return Some(&text[at + char.len_utf8()..]),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scripts_that_print_are_harmless() {
        for script in [
            "p",
            "1,3p",
            "$p",
            "/a/p",
            "/a/,/b/p",
            "5q",
            "s/a/b/",
            "s/a/b/g;s|c|d|2p",
            "/x/{p;d}",
            "2!d",
            "y/ab/cd/",
            "s/e/w/",
            "$!N",
            "=",
            "/w/d",
            "1~2p",
            "/a/I,+3p",
        ] {
            assert!(only_prints(script), "{script}");
        }
        for script in [
            "w out",
            "1w out",
            "/a/w out",
            "s/a/b/w out",
            "s/a/b/gw out",
            "e",
            "1e rm x",
            "s/a/b/e",
            "s/a/b/ge",
            "r /etc/passwd",
            "R x",
            "W x",
            "{w out",
            "p;w out",
            "p\nw out",
            "s/a/b/;e",
            "}w x",
            "\\,a,w x",
            "s,a,b,w x",
            "b;e rm x",
            "a x\ne rm x",
            "s/a/b/;1,2e",
            "s/[/]/b/e/",
            "!e x",
            "1!e x",
        ] {
            assert!(!only_prints(script), "{script}");
        }
    }
}

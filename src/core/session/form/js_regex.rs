//! Whether a text matches a JSON schema's `pattern`. Such patterns are JavaScript regular expressions.
//! Those that mean the same in our regex engine are checked; all others are left undecided rather than
//! guessed.

use regex_lite::RegexBuilder;

/// A pattern that needs more than this is left undecided: it comes from an agent, and is tried on the
/// editor's thread.
const MAX_REGEX_BYTES: usize = 64 << 10;

/// Nothing where it cannot be told.
pub fn fits(pattern: &str, text: &str) -> Option<bool> {
    if !is_common(pattern) || text.chars().any(is_read_differently) {
        return None;
    }
    let regex = RegexBuilder::new(pattern).size_limit(MAX_REGEX_BYTES).build().ok()?;
    Some(regex.is_match(text))
}

/// Whether a pattern is in the part of the language that both engines read in the same way.
pub fn is_decided(pattern: &str) -> bool {
    is_common(pattern) && RegexBuilder::new(pattern).size_limit(MAX_REGEX_BYTES).build().is_ok()
}

/// JavaScript's `.` and `\s` know line ends and blanks that are not ASCII.
fn is_read_differently(char: char) -> bool {
    matches!(char, '\r' | '\u{2028}' | '\u{2029}' | '\u{feff}') || (!char.is_ascii() && char.is_whitespace())
}

fn is_common(pattern: &str) -> bool {
    let mut rest = pattern;
    let mut in_class = false;
    // What stands just before can be repeated.
    let mut repeatable = false;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        let was_repeatable = std::mem::replace(&mut repeatable, true);
        match first {
            '\\' => {
                let Some(length) = escape(rest, in_class) else { return false };
                repeatable = !rest.starts_with(['b', 'B']);
                rest = &rest[length..];
            }
            // The engine knows classes in classes, and a bracket that is the first in one.
            '[' if in_class => return false,
            '[' => {
                rest = rest.strip_prefix('^').unwrap_or(rest);
                if rest.starts_with(']') {
                    return false;
                }
                in_class = true;
            }
            ']' => in_class = false,
            _ if in_class => {}
            '(' => {
                match rest.strip_prefix('?') {
                    None => {}
                    Some(kind) if kind.starts_with(':') => rest = &kind[1..],
                    Some(kind) if is_name(kind) => rest = &kind[1..],
                    Some(_) => return false,
                }
                repeatable = false;
            }
            '^' | '$' | '|' => repeatable = false,
            '*' | '+' | '?' | '{' => {
                if !was_repeatable {
                    return false;
                }
                if first == '{' {
                    let Some(length) = count(rest) else { return false };
                    rest = &rest[length..];
                }
                rest = rest.strip_prefix('?').unwrap_or(rest);
                repeatable = false;
            }
            _ => {}
        }
    }
    true
}

/// Whether a name of a group follows, and no look behind.
fn is_name(kind: &str) -> bool {
    kind.strip_prefix('<').is_some_and(|name| !name.starts_with(['=', '!']))
}

/// The length of an escape that means the same to both.
fn escape(rest: &str, in_class: bool) -> Option<usize> {
    let digits = |count: usize| {
        let digits = rest.get(1..=count)?;
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(1 + count)
    };
    match rest.chars().next()? {
        'd' | 'D' | 'w' | 'W' | 's' | 'S' | 't' | 'n' | 'r' | 'f' | 'v' => Some(1),
        'b' if rest[1..].starts_with('{') => None,
        'b' | 'B' if !in_class => Some(1),
        'x' => digits(2),
        'u' => digits(4),
        '<' | '>' => None,
        other => other.is_ascii_punctuation().then_some(1),
    }
}

/// The length of `3}`, `3,}` or `3,5}`.
fn count(rest: &str) -> Option<usize> {
    let (inside, _) = rest.split_once('}')?;
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    (!least.is_empty() && is_number(least) && is_number(most)).then_some(inside.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_looks_anywhere_unless_it_is_anchored() {
        for (pattern, text, expected) in [
            ("b", "abc", true),
            ("^b", "abc", false),
            ("^[a-z]{2,4}$", "abc", true),
            ("^[a-z]{2,4}$", "abcde", false),
            (r"^\d{3}-\d{4}$", "555-0100", true),
            (r"^(?:[A-Z]+-)?\d+$", "ACP-12", true),
            (r"^(?<year>\d{4})$", "2026", true),
            (r"^[^\s@]+@[^\s@]+$", "a b@c", false),
            (r"^\/\w+\.rs$", "/main.rs", true),
            (r"^\x41\u0042$", "AB", true),
            (r"^.*?x+?$", "yyx", true),
            ("^.$", "\u{1f600}", true),
            ("", "anything", true),
        ] {
            assert_eq!(fits(pattern, text), Some(expected), "{pattern} on {text}");
            assert!(is_decided(pattern), "{pattern}");
        }
    }

    #[test]
    fn what_the_two_languages_read_differently_is_left_undecided() {
        for pattern in [
            r"^(?=.*\d).+$",
            r"^(?!x)",
            r"(?<=a)b",
            r"(a)\1",
            r"\k<a>",
            r"\p{L}",
            r"\u{41}",
            r"\x{41}",
            r"\Aab\z",
            r"\<a\>",
            r"\b{start}",
            r"(?i)a",
            r"(?P<a>b)",
            r"(?x) a",
            "[]a]",
            "[^]",
            "[[:alpha:]]",
            "[a&&b]",
            r"[\b]",
            "a{,3}",
            "a{ 3 }",
            "a{b",
            "a++",
            "a**",
            "^*",
            "(",
            "a)",
            "[a",
            "\\",
            "(((a{99}){99}){99}){99}",
        ] {
            assert_eq!(fits(pattern, "a"), None, "{pattern}");
            assert!(!is_decided(pattern), "{pattern}");
        }
    }

    #[test]
    fn a_text_with_blanks_that_only_javascript_knows_is_left_undecided() {
        assert_eq!(fits(r"^\S+$", "a\u{a0}b"), None);
        assert_eq!(fits("^.$", "\u{2028}"), None);
    }

    #[test]
    fn a_pattern_made_to_take_forever_does_not() {
        let text = "a".repeat(2000) + "!";
        assert_eq!(fits("^(a+)+$", &text), Some(false));
    }
}

//! Navigation in a transcript's text: the file that a word names, the code block around a line, the
//! headings. Plain functions of lines; going there is left to the editor's side.

use std::ops::Range;

use crate::core::text::uri;

/// A file named in a text. The path is as it stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub path: String,
    /// 1-based.
    pub line: Option<u32>,
}

/// The files that may be meant at a byte of a line, the likeliest first: with blanks in their names between quotes
/// (`@"my notes.md"`) and in the line that says what went with a prompt (`+ my notes.md (3 lines)`), then what
/// [`reference_at`] finds. That there are such files is not known here.
pub fn references_at(line: &str, column: usize) -> Vec<Reference> {
    let has_blanks = |name: &&str| name.contains(char::is_whitespace) && name.trim() == *name;
    let attached = line.trim_start().strip_prefix("+ ").and_then(|rest| Some(rest.rsplit_once(" (")?.0));
    let quoted = ['"', '`'].into_iter().filter_map(|quote| between(line, column, quote));
    let long = attached.into_iter().chain(quoted).filter(has_blanks).filter_map(named);
    long.chain(reference_at(line, column)).collect()
}

/// What stands between the quotes around a byte of a line, or just behind it.
fn between(line: &str, column: usize, quote: char) -> Option<&str> {
    let mut quotes = line.match_indices(quote).map(|(at, _)| at);
    while let (Some(first), Some(last)) = (quotes.next(), quotes.next()) {
        if (first.saturating_sub(1)..=last).contains(&column) {
            return line.get(first + 1..last);
        }
    }
    None
}

/// The file that the word at a byte of a line names: `src/a.rs:12`, `a.rs#L12`, `(a.rs)`, `[a](src/a.rs:3)`,
/// `file:///p/a.rs`. That there is such a file is not known here.
pub fn reference_at(line: &str, column: usize) -> Option<Reference> {
    let column = (0..=column.min(line.len())).rev().find(|at| line.is_char_boundary(*at))?;
    let blank = |text: &str| text.find(char::is_whitespace);
    let start = line[..column]
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
    let word = &line[start..blank(&line[column..]).map_or(line.len(), |at| column + at)];
    // Of a link its target counts, wherever the cursor stands in it.
    let word = word.rsplit_once("](").map_or(word, |(_, target)| target);
    let word = word.trim_matches(|c: char| "`'\"()[]{}<>,;*|…".contains(c));
    let word = word.trim_end_matches(['.', ':', '!', '?']).trim_end_matches(['`', '\'', '"', ')', ']', '*']);
    let file = word.strip_prefix("file://").map(|path| match path.strip_prefix('/') {
        // The slash before a drive belongs to the URI.
        Some(plain) if uri::has_drive(plain) => plain,
        _ => path,
    });
    let word = file.unwrap_or(word);
    named(word.strip_prefix('@').unwrap_or(word))
}

/// A name, with the line that may stand behind it.
fn named(word: &str) -> Option<Reference> {
    if word.is_empty() || word.contains("://") {
        return None;
    }
    if let Some((path, rest)) = word.split_once("#L") {
        return Some(Reference { path: path.to_owned(), line: number(rest) });
    }
    // A path may hold colons; a line's number comes after the last one or two of them.
    let mut path = word;
    let mut line = None;
    for _ in 0..2 {
        match path.rsplit_once(':') {
            Some((before, rest)) if !before.is_empty() && number(rest).is_some() => {
                line = number(rest);
                path = before;
            }
            _ => break,
        }
    }
    Some(Reference { path: path.to_owned(), line })
}

/// The first word of a text that can only be a file: it has a folder before its name.
pub fn file_named(text: &str) -> Option<Reference> {
    let mut found = text.split_whitespace().filter_map(|word| reference_at(word, 0));
    found.find(|found| found.path.contains(['/', '\\']))
}

/// The number at the start of a text such as `12` or `12-20`.
fn number(text: &str) -> Option<u32> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
    let rest = &text[digits.len()..];
    (rest.is_empty() || rest.starts_with('-')).then(|| digits.parse().ok()).flatten()
}

/// A fence's marker: its indent, its character and how many of them, and whether words follow.
fn fence(line: &str) -> Option<(char, usize, bool)> {
    let text = line.trim_start_matches([' ', '>']);
    let mark = text.chars().next().filter(|c| ['`', '~'].contains(c))?;
    let rest = text.trim_start_matches(mark);
    let count = text.len() - rest.len();
    (count >= 3 && !(mark == '`' && rest.contains('`'))).then(|| (mark, count, !rest.trim().is_empty()))
}

/// The rows inside each fenced block of code, its fences left out. One that is not closed goes to the end.
pub fn code_blocks(lines: &[String]) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut open: Option<(char, usize, usize)> = None;
    for (row, line) in lines.iter().enumerate() {
        match (open, fence(line)) {
            (None, Some((mark, count, _))) => open = Some((mark, count, row + 1)),
            (Some((mark, count, first)), Some((closing, length, false)))
                if closing == mark && length >= count =>
            {
                blocks.push(first..row);
                open = None;
            }
            _ => {}
        }
    }
    blocks.extend(open.map(|(_, _, first)| first..lines.len()));
    blocks
}

/// The block of code at a row; its fences count as part of it.
pub fn code_block_at(lines: &[String], row: usize) -> Option<Range<usize>> {
    code_blocks(lines).into_iter().find(|block| (block.start.saturating_sub(1)..=block.end).contains(&row))
}

/// The headings of a text of Markdown: row, level, words.
pub fn headings(lines: &[String]) -> Vec<(usize, usize, &str)> {
    let blocks = code_blocks(lines);
    let mut blocks = blocks.iter().peekable();
    let mut headings = Vec::new();
    for (row, line) in lines.iter().enumerate() {
        while blocks.next_if(|block| block.end <= row).is_some() {}
        let words = line.trim_start_matches('#');
        let level = line.len() - words.len();
        let in_code = blocks.peek().is_some_and(|block| block.contains(&row));
        if (1..=6).contains(&level) && words.starts_with(' ') && !in_code {
            headings.push((row, level, words.trim()));
        }
    }
    headings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_first_word_of_a_text_that_has_a_folder_names_a_file() {
        let named = |text: &str| file_named(text).map(|found| (found.path, found.line));
        let text = "the rules in .acp/rules.json don't count: read the file, or src/a.rs:3";
        assert_eq!(named(text), Some((".acp/rules.json".to_owned(), None)));
        assert_eq!(named("see `src/a.rs:3`."), Some(("src/a.rs".to_owned(), Some(3))));
        assert_eq!(named("ready; read https://example.org/a or a.rs"), None);
    }

    #[test]
    fn a_word_names_a_file_and_its_line_in_many_ways() {
        let found = |text: &str| {
            let at = text.find('|').expect("a cursor");
            let reference = reference_at(&text.replace('|', ""), at)?;
            Some((reference.path, reference.line))
        };
        let file = |path: &str, line| Some((path.to_owned(), line));
        assert_eq!(found("see src/a|.rs:12, then"), file("src/a.rs", Some(12)));
        assert_eq!(found("|src/a.rs:12:5"), file("src/a.rs", Some(12)));
        assert_eq!(found("in `a.rs|`."), file("a.rs", None));
        assert_eq!(found("(a.rs:3-9|)"), file("a.rs", Some(3)));
        assert_eq!(found("the [lo|ck](src/lock.rs#L7) here"), file("src/lock.rs", Some(7)));
        assert_eq!(found("[a](file:///p/a.r|s)"), file("/p/a.rs", None));
        assert_eq!(found(r"in `C:\p\a.r|s:12`"), file(r"C:\p\a.rs", Some(12)));
        assert_eq!(found("file:///C:/p/a.r|s"), file("C:/p/a.rs", None));
        assert_eq!(found("**über/ä.rs:1**|"), file("über/ä.rs", Some(1)));
        assert_eq!(found("@src/a.rs:40-8|8"), file("src/a.rs", Some(40)));
        assert_eq!(found("http://a.b/|c"), None);
        assert_eq!(found("a | b"), None);
        assert_eq!(found("|"), None);
    }

    #[test]
    fn a_name_with_blanks_is_found_where_it_is_quoted_or_was_attached() {
        let found = |text: &str| {
            let at = text.find('|').expect("a cursor");
            let all = references_at(&text.replace('|', ""), at);
            all.into_iter().map(|found| (found.path, found.line)).collect::<Vec<_>>()
        };
        let first = |text: &str| found(text).into_iter().next().unwrap_or_default();
        for text in [
            "see @\"my no|tes.md\" and",
            "see |@\"my notes.md\"",
            "in `my notes|.md`.",
            "+ my no|tes.md (3 lines)",
        ] {
            assert_eq!(first(text), ("my notes.md".to_owned(), None), "{text}");
        }
        assert_eq!(first("in `my notes.md:1|2`"), ("my notes.md".to_owned(), Some(12)));
        // What is quoted may be more than a name, and what follows a sign no attachment.
        let in_command = found("run `cargo test a.r|s`");
        assert_eq!(in_command.last(), Some(&("a.rs".to_owned(), None)));
        assert_eq!(found("+ a|.rs (1 line)"), [("a.rs".to_owned(), None)]);
        assert_eq!(found("\"one\" a|.rs \"two\""), [("a.rs".to_owned(), None)]);
        assert_eq!(found("not \"closed a|.rs"), [("a.rs".to_owned(), None)]);
    }

    #[test]
    fn the_block_around_a_row_is_found_with_the_cursor_on_its_fence_too() {
        let text = lines("a\n```rust\nlet x;\n~~~\n```\nb\n- c\n  ````\n  ```\n  d\n  ````\n```\nopen");
        let at: Vec<_> = (0..text.len()).map(|row| code_block_at(&text, row)).collect();
        assert_eq!((&at[0], &at[5], &at[6]), (&None, &None, &None));
        assert!(at[1..5].iter().all(|block| *block == Some(2..4)), "{at:?}");
        assert!(at[7..11].iter().all(|block| *block == Some(8..10)), "{at:?}");
        assert_eq!(at[12], Some(12..13));
    }

    #[test]
    fn a_comment_in_code_is_no_heading() {
        let text = lines("# One\n```sh\n# no\n```\n## Two\n#no\n####### no");
        assert_eq!(headings(&text), [(0, 1, "One"), (4, 2, "Two")]);
    }
}

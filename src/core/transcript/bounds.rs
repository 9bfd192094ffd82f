//! Limits how much of one entry is put into a buffer: Neovim redraws a line from its start whenever it
//! grows, and a frame has time for only so many lines. Long lines are broken, long texts shown in part.
//! Where the rest can be read is left to others.

/// A line gets no longer than this, in bytes.
pub const LONGEST_LINE: usize = 4096;

/// From here on a line is broken at the next blank.
const LONG_LINE: usize = 3072;

/// Of one text at most so many lines and bytes are shown in the transcript.
pub const MOST_ROWS: usize = 500;
pub const MOST_BYTES: usize = 32 << 10;

/// The lines of a text from an agent, none of them longer than a buffer's line should be. Where a line is
/// broken depends on what stands before that point alone, so a text that comes in pieces gets the
/// same lines as one that comes whole.
///
/// `column` is how many bytes the first line has already, and `before` the character it ends with.
pub fn broken_lines(text: &str, column: usize, before: Option<char>) -> impl Iterator<Item = &str> {
    let mut first = Some((column, before));
    text.split('\n').flat_map(move |line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (column, before) = first.take().unwrap_or_default();
        Broken { rest: Some(line), column, before }
    })
}

struct Broken<'t> {
    rest: Option<&'t str>,
    column: usize,
    before: Option<char>,
}

impl<'t> Iterator for Broken<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let rest = self.rest.take()?;
        let column = std::mem::take(&mut self.column);
        let mut before = self.before.take();
        if column + rest.len() <= LONG_LINE {
            return Some(rest);
        }
        // Nothing is looked for where the line is short yet.
        let mut from = LONG_LINE.saturating_sub(column).min(rest.len());
        while !rest.is_char_boundary(from) {
            from -= 1;
        }
        before = rest[..from].chars().next_back().or(before);
        for (at, char) in rest[from..].char_indices() {
            let at = from + at;
            let length = column + at;
            if length >= LONG_LINE && before == Some(' ') || length + char.len_utf8() > LONGEST_LINE {
                let (line, more) = rest.split_at(at);
                self.rest = Some(more);
                return Some(line);
            }
            before = Some(char);
        }
        Some(rest)
    }
}

/// The lines that a text begins with, and how many more it has.
pub fn beginning(text: &str, rows: usize, bytes: usize) -> (Vec<&str>, usize) {
    let mut lines = Vec::new();
    let mut taken = 0;
    let mut more = broken_lines(text, 0, None);
    for line in more.by_ref() {
        if lines.len() == rows || taken > bytes {
            let start = line.as_ptr() as usize - text.as_ptr() as usize;
            return (lines, text[start..].matches('\n').count() + 1);
        }
        taken += line.len() + 1;
        lines.push(line);
    }
    (lines, 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<&str> {
        broken_lines(text, 0, None).collect()
    }

    #[test]
    fn short_lines_are_left_as_they_are() {
        assert_eq!(lines(""), [""]);
        assert_eq!(lines("a\r\n\nb\n"), ["a", "", "b", ""]);
        let line = "x".repeat(LONGEST_LINE);
        assert_eq!(lines(&line), [&line]);
    }

    #[test]
    fn a_long_line_is_broken_at_a_blank_else_where_it_is_too_long() {
        let words = format!("{} {}", "x".repeat(LONG_LINE), "y".repeat(10));
        assert_eq!(lines(&words), [&words[..=LONG_LINE], &"y".repeat(10)]);
        let word = "é".repeat(LONGEST_LINE);
        assert!(lines(&word).iter().all(|line| line.len() == LONGEST_LINE), "{}", lines(&word).len());
    }

    #[test]
    fn a_long_text_is_shown_in_part_and_the_rest_is_counted() {
        assert_eq!(beginning("a\nb", 2, 100), (vec!["a", "b"], 0));
        assert_eq!(beginning("a\nb\nc\nd", 2, 100), (vec!["a", "b"], 2));
        let many = "0123456789\n".repeat(100_000);
        let (shown, more) = beginning(&many, MOST_ROWS, 100);
        assert_eq!((shown.len(), more), (10, 99_991));
    }

    proptest! {
        #[test]
        fn text_in_pieces_gets_the_lines_of_the_whole(
            words in prop::collection::vec(("[aé \n]{0,3}", 0..2000_usize), 1..12),
            size in 1..5000_usize,
        ) {
            let text: String = words.iter().map(|(word, times)| word.repeat(*times)).collect();
            let mut pieces: Vec<String> = vec![String::new()];
            let mut at = 0;
            while at < text.len() {
                let end = (at + 1..=text.len()).find(|end| *end >= at + size && text.is_char_boundary(*end));
                let end = end.unwrap_or(text.len());
                let column = pieces.last().map_or(0, String::len);
                let mut new = broken_lines(&text[at..end], column, text[..at].chars().next_back());
                let first = new.next().unwrap_or_default();
                pieces.last_mut().expect("never empty").push_str(first);
                pieces.extend(new.map(str::to_owned));
                at = end;
            }
            prop_assert_eq!(&pieces, &lines(&text));
            prop_assert!(pieces.iter().all(|line| line.len() <= LONGEST_LINE));
            prop_assert_eq!(pieces.concat(), text.replace('\n', ""));
        }
    }
}

//! The lines that a read asks for, taken from a file's whole text. Where the text comes from, a buffer or
//! the disk, is up to the caller.

/// The part of `text` from the 1-based `line` on, at most `limit` lines of it, exactly as it
/// stands: line ends are kept, the last line's too if it has one. Line 0 is taken for 1, and past
/// the end there is nothing.
pub fn lines(text: &str, line: Option<u32>, limit: Option<u32>) -> &str {
    let skipped = line.unwrap_or(1).saturating_sub(1);
    let rest = &text[after_lines(text, skipped)..];
    limit.map_or(rest, |limit| &rest[..after_lines(rest, limit)])
}

/// Where the line after the first `count` starts.
fn after_lines(text: &str, count: u32) -> usize {
    let Some(last) = count.checked_sub(1) else { return 0 };
    let last = usize::try_from(last).unwrap_or(usize::MAX);
    text.match_indices('\n').nth(last).map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_line_and_limit_it_is_the_whole_text() {
        assert_eq!(lines("a\nb\n", None, None), "a\nb\n");
        assert_eq!(lines("", None, None), "");
    }

    #[test]
    fn lines_count_from_one_and_zero_is_taken_for_one() {
        let text = "1\n2\n3\n4\n";
        assert_eq!(lines(text, Some(3), Some(1)), "3\n");
        assert_eq!(lines(text, Some(2), Some(2)), "2\n3\n");
        assert_eq!(lines(text, Some(0), Some(1)), "1\n");
        assert_eq!(lines(text, Some(1), Some(1)), "1\n");
        assert_eq!(lines(text, Some(3), None), "3\n4\n");
    }

    #[test]
    fn past_the_end_there_is_nothing() {
        assert_eq!(lines("1\n2\n", Some(3), None), "");
        assert_eq!(lines("1\n2", Some(3), Some(1)), "");
        assert_eq!(lines("1\n2\n", Some(u32::MAX), Some(u32::MAX)), "");
        assert_eq!(lines("1\n2\n", None, Some(0)), "");
    }

    #[test]
    fn a_limit_beyond_the_end_gives_what_is_there() {
        assert_eq!(lines("1\n2", Some(2), Some(9)), "2");
        assert_eq!(lines("1\n2", None, Some(u32::MAX)), "1\n2");
    }

    #[test]
    fn line_ends_are_kept_as_they_are() {
        assert_eq!(lines("a\r\nb\r\nc", Some(2), Some(1)), "b\r\n");
        assert_eq!(lines("a\rb\nc", Some(1), Some(1)), "a\rb\n");
        assert_eq!(lines("\n\n\n", Some(2), Some(1)), "\n");
    }

    #[test]
    fn a_byte_order_mark_is_text() {
        assert_eq!(lines("\u{feff}a\nb", None, Some(1)), "\u{feff}a\n");
    }

    #[test]
    fn slices_of_one_line_make_up_the_text() {
        let text = "\u{fc}ber\r\n\n\tzwei\nend";
        let joined: String = (1..=4).map(|line| lines(text, Some(line), Some(1))).collect();
        assert_eq!(joined, text);
    }
}

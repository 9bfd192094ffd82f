//! Bytes in, lines out: the framing of ACP over stdio, which is one message a line. It knows about
//! lengths and line ends only; what a line means is `rpc`'s business.

/// Cuts a stream of bytes into lines, whatever the boundaries of the reads were.
pub struct Framer {
    /// The part of a line that has come so far. It never holds a line end.
    partial: Vec<u8>,
    limit: usize,
}

/// A line is longer than any message may be.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl Framer {
    pub fn new(limit: usize) -> Self {
        Self { partial: Vec::new(), limit }
    }

    /// Takes what was read and hands over each line that is complete with it, without its line end.
    pub fn push(&mut self, mut bytes: &[u8], mut line: impl FnMut(&[u8])) -> Result<(), TooLong> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (head, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.partial.len() + head.len() > self.limit {
                return Err(TooLong);
            }
            if self.partial.is_empty() {
                line(head);
            } else {
                self.partial.extend_from_slice(head);
                line(&self.partial);
                self.partial.clear();
                // One huge message must not hold its memory for ever.
                self.partial.shrink_to(64 * 1024);
            }
            bytes = rest;
        }
        if self.partial.len() + bytes.len() > self.limit {
            return Err(TooLong);
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    /// A line has begun, and has no end yet.
    pub fn is_in_line(&self) -> bool {
        !self.partial.is_empty()
    }

    /// The last line, if the stream ended without a line end.
    pub fn finish(self) -> Option<Vec<u8>> {
        (!self.partial.is_empty()).then_some(self.partial)
    }
}

/// A line without what some programs put around it: a byte order mark, a carriage return, spaces.
pub fn trim(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii()
}

/// Whether a line is the header that a language server puts before each message. ACP has none.
pub fn is_length_header(line: &[u8]) -> bool {
    const NAME: &[u8] = b"content-length:";
    line.len() > NAME.len()
        && line[..NAME.len()].eq_ignore_ascii_case(NAME)
        && line[NAME.len()..].trim_ascii().iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(reads: &[&[u8]], limit: usize) -> Result<Vec<String>, TooLong> {
        let mut framer = Framer::new(limit);
        let mut lines = Vec::new();
        for read in reads {
            framer.push(read, |line| lines.push(String::from_utf8_lossy(line).into_owned()))?;
        }
        lines.extend(framer.finish().map(|line| String::from_utf8_lossy(&line).into_owned()));
        Ok(lines)
    }

    #[test]
    fn one_read_may_hold_many_lines_and_one_line_many_reads() {
        assert_eq!(
            lines(&[b"a\nb\nc", b"d", b"e\nf"], 10),
            Ok(vec!["a".into(), "b".into(), "cde".into(), "f".into()])
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_before_its_end_comes() {
        assert_eq!(lines(&[b"12345"], 5), Ok(vec!["12345".into()]));
        assert_eq!(lines(&[b"123", b"456"], 5), Err(TooLong));
        assert_eq!(lines(&[b"123456\n"], 5), Err(TooLong));
    }

    #[test]
    fn a_mark_a_carriage_return_and_spaces_are_cut_off() {
        assert_eq!(trim(b"\xef\xbb\xbf{}\r"), b"{}");
        assert_eq!(trim(b" \t\r"), b"");
    }

    #[test]
    fn the_header_of_a_language_server_is_known() {
        assert!(is_length_header(b"Content-Length: 120"));
        assert!(is_length_header(b"content-length:5"));
        assert!(!is_length_header(b"Content-Length: many"));
        assert!(!is_length_header(b"Content-Type: text"));
    }

    proptest! {
        #[test]
        fn where_the_reads_are_cut_does_not_matter(text in "[aé\u{1F600}\n]{0,40}", cuts in prop::collection::vec(0usize..160, 0..8)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let reads: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let mut whole: Vec<String> = text.split('\n').map(str::to_owned).collect();
            whole.pop_if(|last| last.is_empty());
            prop_assert_eq!(lines(&reads, 1000), Ok(whole));
        }
    }
}

//! A command's output as an agent should read it: bytes in, plain text out. Escape sequences are removed,
//! progress bars have overwritten themselves, and only the last bytes are kept. Running the command and
//! showing its colours are left to others.

use std::mem;

use vte::{Params, Parser, Perform};

/// A row as long as this is settled even without a line break, so that a command that never breaks
/// a line costs no more than one that does.
const LONGEST_ROW: usize = 4096;

/// How far a cursor may move past the end of its row; more is noise, and would be filled up with
/// blanks.
const FARTHEST_GAP: usize = 512;

/// A device control string may hold line breaks (pictures do), but not without end.
const LONGEST_DEVICE_STRING: usize = 256 << 10;

/// The text of a terminal of endless height in which only the last row can still change. Rows
/// count characters, not cells.
pub struct Output {
    parser: Parser,
    page: Page,
    /// The start of a character whose other bytes have not come yet; at most three bytes.
    partial: Vec<u8>,
}

impl Output {
    /// Keeps the last `limit` bytes of the text, or a little less where a character would be cut.
    pub fn new(limit: usize) -> Self {
        let page = Page { kept: Tail::new(limit), row: Row::default(), plain: true, device: None };
        Self { parser: Parser::default(), page, partial: Vec::new() }
    }

    /// Takes the next bytes; how they are cut into pieces makes no difference.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.partial.is_empty() {
            self.decode(bytes);
        } else {
            let mut joined = mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            self.decode(&joined);
        }
    }

    /// Nothing more comes: half a character is one that cannot be read, and spare memory is freed.
    pub fn finish(&mut self) {
        if !mem::take(&mut self.partial).is_empty() {
            self.read("\u{fffd}");
        }
        self.page.kept.shrink();
    }

    /// The kept text; never longer than the limit.
    pub fn text(&self) -> String {
        let row = suffix(&self.page.row.text, self.page.kept.limit);
        let room = self.page.kept.limit - self.page.row.text.len().min(self.page.kept.limit);
        [suffix(self.page.kept.text(), room), row].concat()
    }

    /// What has come after the byte `at` of the whole text: the last so many bytes of it, how many were left out
    /// before those, and where it ends. Without `all` that is as far as the text can no longer change.
    pub fn piece_after(&self, at: usize, most: usize, all: bool) -> (String, usize, usize) {
        let Page { kept, row, .. } = &self.page;
        let row = if all { row.text.as_str() } else { "" };
        let settled = kept.dropped + kept.text().len();
        let new = kept.text().get(at.saturating_sub(kept.dropped)..).unwrap_or_default();
        let new = [new, row].concat();
        let piece = suffix(&new, most).to_owned();
        let end = settled + row.len();
        let left_out = end.saturating_sub(at) - piece.len();
        (piece, left_out, end)
    }

    /// Whether the text lacks its beginning.
    pub fn truncated(&self) -> bool {
        self.dropped() > 0
    }

    /// How many bytes of the text are gone from its beginning.
    pub fn dropped(&self) -> usize {
        let Page { kept, row, .. } = &self.page;
        let all = kept.text().len() + row.text.len();
        if all <= kept.limit {
            return kept.dropped;
        }
        let row_kept = suffix(&row.text, kept.limit).len();
        let room = kept.limit - row.text.len().min(kept.limit);
        kept.dropped + all - row_kept - suffix(kept.text(), room).len()
    }

    fn decode(&mut self, bytes: &[u8]) {
        let mut end = 0;
        for chunk in bytes.utf8_chunks() {
            end += chunk.valid().len() + chunk.invalid().len();
            self.read(chunk.valid());
            if end == bytes.len() && is_incomplete(chunk.invalid()) {
                self.partial = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                self.read("\u{fffd}");
            }
        }
    }

    /// Plain text goes straight to the page. The parser only sees escape sequences: it is slow on
    /// text, and loses characters that are cut in two.
    fn read(&mut self, mut text: &str) {
        while !text.is_empty() {
            if self.page.plain {
                let (plain, rest) = text.split_at(text.find('\x1b').unwrap_or(text.len()));
                self.page.write(plain);
                if !rest.is_empty() {
                    self.page.plain = false;
                    self.page.device = None;
                }
                text = rest;
            }
            if !self.page.plain {
                text = self.read_sequence(text);
            }
        }
    }

    /// Reads one character of an escape sequence and gives back the rest. The parser does not tell
    /// the end of every sequence; after such a one it prints, and that tells.
    fn read_sequence<'t>(&mut self, text: &'t str) -> &'t str {
        let (first, rest) = text.split_at(ceil(text, 1));
        let goes_on = first != "\n" || self.page.device.is_some_and(|length| length < LONGEST_DEVICE_STRING);
        if goes_on {
            self.parser.advance(&mut self.page, first.as_bytes());
            rest
        } else {
            // No sequence but a device control string goes on after the end of a line: this was
            // noise, and what follows is text again.
            self.parser.advance(&mut self.page, b"\x18");
            text
        }
    }
}

/// What the parser writes on.
struct Page {
    kept: Tail,
    row: Row,
    /// No escape sequence is open, as far as the parser lets us know.
    plain: bool,
    /// The length of the device control string that is open.
    device: Option<usize>,
}

impl Page {
    /// Text without escape characters.
    fn write(&mut self, mut text: &str) {
        while let Some(first) = text.chars().next() {
            let run = run(text);
            if run == 0 {
                self.control(first);
                text = &text[first.len_utf8()..];
            } else {
                self.row.write(&text[..run], &mut self.kept);
                text = &text[run..];
            }
        }
    }

    fn control(&mut self, control: char) {
        match control {
            '\n' => self.end_row(),
            '\r' => self.row.go_to(0),
            '\x08' => self.row.back(1),
            _ => {}
        }
    }

    fn end_row(&mut self) {
        self.row.settle(&mut self.kept);
        self.kept.push("\n");
    }

    /// The cursor goes where a settled row is: what comes there is a row of its own here.
    fn leave_row(&mut self) {
        if !self.row.text.is_empty() {
            self.end_row();
        }
    }
}

/// How many bytes at the start of `text` are no control characters; tabs are text.
fn run(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&b| b < 0x20 && b != b'\t' || b == 0x7f || b == 0xc2)
    {
        from += at;
        if bytes[from] != 0xc2 || bytes[from + 1] < 0xa0 {
            return from;
        }
        from += 2;
    }
    bytes.len()
}

impl Perform for Page {
    fn print(&mut self, c: char) {
        self.plain = true;
        self.write(c.encode_utf8(&mut [0; 4]));
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            0x18 | 0x1a => self.plain = true,
            _ => self.control(char::from(byte)),
        }
    }

    fn hook(&mut self, _: &Params, _: &[u8], _: bool, _: char) {
        self.device = Some(0);
    }

    fn put(&mut self, _: u8) {
        self.device = self.device.map(|length| length + 1);
    }

    fn unhook(&mut self) {
        self.device = None;
    }

    fn osc_dispatch(&mut self, _: &[&[u8]], bell_terminated: bool) {
        // One that an escape character ended goes on with a backslash.
        self.plain = bell_terminated;
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        self.plain = true;
        if ignore || !intermediates.is_empty() {
            return;
        }
        let mode = params.iter().next().and_then(|param| param.first().copied()).unwrap_or(0);
        let count = usize::from(mode.max(1));
        match (action, mode) {
            ('K', 0) | ('J', 0) => self.row.erase_after(),
            ('K', 1) | ('J', 1) => self.row.erase_before(),
            ('K', 2) => self.row.erase(),
            ('C' | 'a', _) => self.row.forward(count),
            ('D', _) => self.row.back(count),
            ('G' | '`', _) => self.row.go_to(count - 1),
            ('@', _) => self.row.insert(count),
            ('P', _) => self.row.delete(count),
            ('X', _) => self.row.blank(count),
            ('J' | 'A' | 'B' | 'E' | 'F' | 'H' | 'd' | 'e' | 'f', _) => self.leave_row(),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, byte: u8) {
        self.plain = true;
        match (intermediates, byte) {
            ([], b'D' | b'E') => self.end_row(),
            ([], b'M' | b'c') => self.leave_row(),
            _ => {}
        }
    }
}

/// The last row and its cursor.
#[derive(Default)]
struct Row {
    text: String,
    /// Where the next character goes: a byte of `text` where a character starts, or its end.
    cursor: usize,
    /// How many columns past the end of the text the cursor is.
    gap: usize,
}

impl Row {
    /// Writes text without control characters at the cursor, over what is there.
    fn write(&mut self, mut text: &str, kept: &mut Tail) {
        if self.gap > 0 {
            self.text.extend(std::iter::repeat_n(' ', mem::take(&mut self.gap)));
            self.cursor = self.text.len();
        }
        while self.cursor < self.text.len() {
            let Some(c) = text.chars().next() else { return };
            let (new, rest) = text.split_at(c.len_utf8());
            self.text.replace_range(self.cursor..self.at(1), new);
            self.cursor += new.len();
            text = rest;
        }
        while !text.is_empty() {
            if self.text.len() >= LONGEST_ROW {
                self.settle(kept);
            }
            let (fits, rest) = text.split_at(ceil(text, LONGEST_ROW - self.text.len()));
            self.text.push_str(fits);
            self.cursor = self.text.len();
            text = rest;
        }
    }

    /// The row can no longer change; the next one is empty.
    fn settle(&mut self, kept: &mut Tail) {
        kept.push(&self.text);
        self.text.clear();
        self.go_to(0);
    }

    fn go_to(&mut self, column: usize) {
        (self.cursor, self.gap) = (0, 0);
        self.forward(column);
    }

    fn forward(&mut self, count: usize) {
        let passed = self.text[self.cursor..].chars().take(count).count();
        self.cursor = self.at(passed);
        if self.cursor == self.text.len() {
            self.gap = (self.gap + count - passed).min(FARTHEST_GAP);
        }
    }

    fn back(&mut self, count: usize) {
        let over = count.min(self.gap);
        self.gap -= over;
        let before = self.text[..self.cursor].char_indices().rev();
        self.cursor = before.take(count - over).last().map_or(self.cursor, |(at, _)| at);
    }

    fn erase(&mut self) {
        let column = self.text[..self.cursor].chars().count() + self.gap;
        self.text.clear();
        self.go_to(column);
    }

    fn erase_after(&mut self) {
        self.text.truncate(self.cursor);
    }

    /// The cursor's own column goes, too.
    fn erase_before(&mut self) {
        let column = self.text[..self.cursor].chars().count() + self.gap;
        self.go_to(0);
        self.blank(column + 1);
        self.go_to(column);
    }

    fn insert(&mut self, count: usize) {
        if self.cursor < self.text.len() && self.text.len() < LONGEST_ROW {
            self.text.insert_str(self.cursor, &" ".repeat(count.min(FARTHEST_GAP)));
        }
    }

    fn delete(&mut self, count: usize) {
        self.text.replace_range(self.cursor..self.at(count), "");
    }

    fn blank(&mut self, count: usize) {
        let end = self.at(count);
        let blanks = self.text[self.cursor..end].chars().count();
        self.text.replace_range(self.cursor..end, &" ".repeat(blanks));
    }

    /// Where the character stands that is `count` after the cursor's.
    fn at(&self, count: usize) -> usize {
        let mut rest = self.text[self.cursor..].char_indices();
        rest.nth(count).map_or(self.text.len(), |(at, _)| self.cursor + at)
    }
}

/// The last bytes of a text that only grows. What is dropped is moved over at once and moved out
/// rarely, so that a byte costs the same however many have come.
struct Tail {
    buffer: String,
    start: usize,
    limit: usize,
    /// How many bytes are gone.
    dropped: usize,
}

impl Tail {
    fn new(limit: usize) -> Self {
        Self { buffer: String::new(), start: 0, limit, dropped: 0 }
    }

    fn push(&mut self, text: &str) {
        self.buffer.push_str(text);
        if self.text().len() > self.limit {
            let before = self.start;
            self.start = self.buffer.len() - suffix(&self.buffer, self.limit).len();
            self.dropped += self.start - before;
        }
        if self.start > self.limit.max(LONGEST_ROW) {
            self.compact();
        }
    }

    fn compact(&mut self) {
        self.buffer.drain(..mem::take(&mut self.start));
    }

    fn shrink(&mut self) {
        self.compact();
        self.buffer.shrink_to_fit();
    }

    fn text(&self) -> &str {
        &self.buffer[self.start..]
    }
}

/// The longest end of `text` that has at most `limit` bytes and begins with a whole character.
fn suffix(text: &str, limit: usize) -> &str {
    &text[ceil(text, text.len().saturating_sub(limit))..]
}

/// The first place at or after `at` where a character starts.
fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: impl AsRef<[u8]>) -> String {
        let mut output = Output::new(usize::MAX);
        output.feed(bytes.as_ref());
        output.finish();
        assert!(!output.truncated());
        output.text()
    }

    fn kept(limit: usize, bytes: impl AsRef<[u8]>) -> (String, bool) {
        let mut output = Output::new(limit);
        output.feed(bytes.as_ref());
        (output.text(), output.truncated())
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(read("one\n\ttwo  \n\n3 \u{20ac}"), "one\n\ttwo  \n\n3 \u{20ac}");
    }

    #[test]
    fn a_terminals_line_ends_become_plain_ones() {
        assert_eq!(read("a\r\nb\r\n"), "a\nb\n");
    }

    #[test]
    fn colours_titles_and_links_are_removed() {
        assert_eq!(read("\x1b[1;31mred\x1b[0m\x1b]0;title\x07 and\x1b[38:2::1:2:3m more"), "red and more");
        assert_eq!(read("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\."), "link.");
        assert_eq!(read("a\x1bP1$qm\x1b\\b\x1b_apc\x1b\\c\x1b(Bd\x1b=e\x1b[?25hf"), "abcdef");
    }

    #[test]
    fn other_control_characters_are_dropped() {
        assert_eq!(read("a\0b\x07c\x0bd\x0ce\x7ff\u{85}g\u{9b}h"), "abcdefgh");
    }

    #[test]
    fn a_progress_bar_overwrites_itself() {
        assert_eq!(read("10%\r20%\r100%\r\ndone"), "100%\ndone");
        assert_eq!(read("long line\rshort"), "shortline");
        assert_eq!(read("long line\r\x1b[Kshort\n"), "short\n");
        assert_eq!(read("long line\x1b[1G\x1b[0Kshort"), "short");
        assert_eq!(read("long line\x1b[2K\rshort"), "short");
    }

    #[test]
    fn backspace_moves_back_over_whole_characters() {
        assert_eq!(read("ab\x08c"), "ac");
        assert_eq!(read("\u{65e5}\u{672c}\x08x\x08\x08yz"), "yz");
        assert_eq!(read("\x08\x08a"), "a");
    }

    #[test]
    fn a_line_can_be_edited_as_shells_do_it() {
        assert_eq!(read("abcdef\x1b[3D\x1b[PX"), "abcXf");
        assert_eq!(read("abc\r\x1b[C\x1b[2@xy"), "axybc");
        assert_eq!(read("abc\r\x1b[2X!"), "! c");
        assert_eq!(read("abc\x1b[1K|"), "   |");
        assert_eq!(read("abc\x1b[2D\x1b[1K|"), " |c");
        assert_eq!(read("a\x1b[3Cb"), "a   b");
        assert_eq!(read("ab\x1b[6Gc"), "ab   c");
        assert_eq!(read("abc\x1b[2Kd"), "   d");
    }

    #[test]
    fn moving_the_cursor_alone_adds_nothing() {
        assert_eq!(read("ab\x1b[70C\x1b[60D"), "ab");
        assert_eq!(read("ab\x1b[70C\r"), "ab");
    }

    #[test]
    fn a_far_move_is_not_filled_with_blanks_without_end() {
        assert_eq!(read("\x1b[65535Cx").len(), FARTHEST_GAP + 1);
    }

    #[test]
    fn earlier_lines_cannot_be_changed_but_are_not_glued_together() {
        assert_eq!(read("one\r\ntwo\x1b[A\rONE"), "one\ntwo\nONE");
        assert_eq!(read("one\n\x1b[1A\x1b[2Ktwo\n"), "one\ntwo\n");
        assert_eq!(read("old\x1b[H\x1b[2J\x1b[3Jnew"), "old\nnew");
        assert_eq!(read("a\x1bEb\x1b[5;1Hc"), "a\nb\nc");
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(read(b"a\xffb\x80c\xe2\x82"), "a\u{fffd}b\u{fffd}c\u{fffd}");
        assert_eq!(read(b"\xe2\x82\x1b[31mx"), "\u{fffd}x");
    }

    #[test]
    fn a_string_that_never_ends_hides_no_more_than_its_line() {
        assert_eq!(read("a\x1b]0;never ended\nb\n\x1b_nor this\nc"), "a\nb\n\nc");
        assert_eq!(read("\x1b[3\nx\x1b\ny"), "\nx\ny");
    }

    #[test]
    fn a_picture_with_line_breaks_is_removed_whole() {
        assert_eq!(read("a\x1bPq#0;2;0;0;0\n#1~~@@vv\n-\x1b\\b"), "ab");
        let endless = format!("\x1bPq{}x", "~\n".repeat(LONGEST_DEVICE_STRING));
        assert!(read(endless).ends_with("~\nx"));
    }

    #[test]
    fn a_character_cut_in_two_is_whole_in_the_end() {
        let mut output = Output::new(100);
        output.feed(b"\xc3");
        assert_eq!(output.text(), "");
        output.feed(b"\xa9A\xe2");
        assert_eq!(output.text(), "\u{e9}A");
        output.finish();
        assert_eq!(output.text(), "\u{e9}A\u{fffd}");
    }

    #[test]
    fn small_limits_are_exact() {
        let text = "a\u{e9}\u{20ac}"; // one, two and three bytes
        assert_eq!(kept(0, text), (String::new(), true));
        assert_eq!(kept(1, text), (String::new(), true));
        assert_eq!(kept(2, text), (String::new(), true));
        assert_eq!(kept(3, text), ("\u{20ac}".into(), true));
        assert_eq!(kept(4, text), ("\u{20ac}".into(), true));
        assert_eq!(kept(5, text), ("\u{e9}\u{20ac}".into(), true));
        assert_eq!(kept(6, text), (text.into(), false));
        assert_eq!(kept(0, ""), (String::new(), false));
    }

    #[test]
    fn the_limit_holds_across_lines() {
        assert_eq!(kept(3, "ab\ncd"), ("\ncd".into(), true));
        assert_eq!(kept(5, "ab\ncd"), ("ab\ncd".into(), false));
        assert_eq!(kept(1, "ab\n"), ("\n".into(), true));
    }

    #[test]
    fn a_row_that_shrinks_makes_room_for_what_was_before() {
        assert_eq!(kept(4, "ab\nlong line\r\x1b[Kc"), ("ab\nc".into(), false));
    }

    #[test]
    fn a_line_without_end_is_kept_as_one() {
        let long = "\u{20ac}x".repeat(10 * LONGEST_ROW);
        assert!(read(&long) == long);
        assert_eq!(kept(8, &long), ("\u{20ac}x\u{20ac}x".into(), true));
        assert_eq!(kept(10, &long), ("x\u{20ac}x\u{20ac}x".into(), true));
    }

    #[test]
    fn memory_is_bounded_by_the_limit() {
        let mut output = Output::new(1000);
        for _ in 0..1000 {
            output.feed("some text\r\n".repeat(100).as_bytes());
        }
        assert!(output.page.kept.buffer.capacity() < 4 * (1000 + LONGEST_ROW));
        output.finish();
        assert!(output.page.kept.buffer.capacity() <= 1000);
        assert_eq!(output.text().len(), 1000);
    }

    /// Bytes as commands write them, and as they never should.
    fn noise() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => "[a-z\u{e9}\u{20ac}\u{1f600}\u{9c}\u{71c} ]{0,12}".prop_map(String::into_bytes),
            2 => Just(b"\r\n".to_vec()),
            2 => "[\r\n\t\x08\x18\x1b]".prop_map(String::into_bytes),
            3 => "\x1b\\[\\??[0-9]{0,3}(;[0-9]{1,2})?[@-`m<]".prop_map(String::into_bytes),
            1 => "\x1b[\\]P_X^\\[][a-z0-9;\u{71c}]{0,8}(\x07|\x1b\\\\|\n)?".prop_map(String::into_bytes),
            1 => vec(any::<u8>(), 0..6),
            1 => (1..3usize).prop_map(|n| "\u{e9}z".repeat(n * LONGEST_ROW / 2).into_bytes()),
        ];
        vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn the_kept_text_is_the_longest_suffix_that_fits(bytes in noise(), limit in 0..64usize) {
            let (text, truncated) = kept(limit, &bytes);
            let (whole, _) = kept(usize::MAX, &bytes);
            prop_assert_eq!(&text, suffix(&whole, limit));
            prop_assert_eq!(truncated, text != whole);
            let mut output = Output::new(limit);
            output.feed(&bytes);
            prop_assert_eq!(output.dropped(), whole.len() - text.len());
        }

        #[test]
        fn pieces_read_the_same_as_the_whole(bytes in noise(), cuts in vec(any::<prop::sample::Index>(), 0..12), limit in 0..9000usize) {
            let mut whole = Output::new(limit);
            whole.feed(&bytes);
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut pieces = Output::new(limit);
            for cut in cuts.windows(2) {
                pieces.feed(&bytes[cut[0]..cut[1]]);
            }
            prop_assert_eq!(pieces.text(), whole.text());
            prop_assert_eq!(pieces.truncated(), whole.truncated());
            pieces.finish();
            whole.finish();
            prop_assert_eq!(pieces.text(), whole.text());
        }

        #[test]
        fn no_escape_character_is_left(bytes in noise()) {
            let (text, _) = kept(usize::MAX, &bytes);
            prop_assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{:?}", text);
        }
    }
}

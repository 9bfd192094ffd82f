//! The raw output of a terminal, as far as it is kept: what a window must still be given, and what a new
//! buffer would be given again. Giving it is left to others.

/// How much is kept.
const MAX_BACKLOG_BYTES: usize = 256 << 10;
/// How much goes to Neovim at once, which takes it in before the user's next key: some 1 ms of work.
const PIECE_BYTES: usize = 4 << 10;
/// How far a good place to cut may be away.
const MAX_CUT_SHIFT_BYTES: usize = 4 << 10;

#[derive(Default)]
pub struct Backlog {
    bytes: Vec<u8>,
    /// Of `bytes`, what has been given.
    given: usize,
    /// What was dropped before it could be given.
    lost: usize,
    /// The beginning of the output is not kept any more.
    is_cut: bool,
}

impl Backlog {
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Twice as much for a moment: moving it for every push would cost more than the memory.
        if self.bytes.len() > 2 * MAX_BACKLOG_BYTES {
            let over = self.bytes.len() - MAX_BACKLOG_BYTES;
            let near = &self.bytes[over..over + MAX_CUT_SHIFT_BYTES];
            let cut = over + near.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.bytes.drain(..cut);
            self.is_cut = true;
            self.lost += cut.saturating_sub(self.given);
            self.given = self.given.saturating_sub(cut);
        }
    }

    /// Has other bytes in place of so many at the end. They count as given if those were.
    pub fn replace_end(&mut self, count: usize, bytes: &[u8]) {
        let is_given = !self.has_more();
        self.bytes.truncate(self.bytes.len().saturating_sub(count));
        self.bytes.extend_from_slice(bytes);
        if is_given {
            self.given = self.bytes.len();
        }
    }

    pub fn has_more(&self) -> bool {
        self.given < self.bytes.len()
    }

    pub fn is_begun(&self) -> bool {
        self.given > 0
    }

    /// Whether all of the output could be given once more.
    pub fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// The next piece to give, and how many bytes before it were lost.
    pub fn next_piece(&mut self) -> (&[u8], usize) {
        let start = self.given;
        self.given = self.bytes.len().min(start + PIECE_BYTES);
        (&self.bytes[start..self.given], std::mem::take(&mut self.lost))
    }

    /// There is a new buffer, which has been given nothing.
    pub fn again(&mut self) {
        self.given = 0;
    }

    pub fn all(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_given_in_pieces_and_once() {
        let mut backlog = Backlog::default();
        let text: Vec<u8> = (0..100_000u32).flat_map(|n| n.to_string().into_bytes()).take(100_000).collect();
        backlog.push(&text[..60_000]);
        let mut given = Vec::new();
        while backlog.has_more() {
            let (piece, lost) = backlog.next_piece();
            assert!(piece.len() <= PIECE_BYTES && lost == 0);
            given.extend_from_slice(piece);
        }
        backlog.push(&text[60_000..]);
        while backlog.has_more() {
            given.extend_from_slice(backlog.next_piece().0);
        }
        assert!(given == text && backlog.is_begun() && backlog.is_whole());
        backlog.again();
        assert!(!backlog.is_begun());
        assert!(backlog.next_piece().0 == &text[..PIECE_BYTES]);
    }

    #[test]
    fn what_is_too_much_goes_by_whole_lines_and_is_counted() {
        let mut backlog = Backlog::default();
        let mut pushed = 0;
        while pushed < 4 * MAX_BACKLOG_BYTES {
            backlog.push(b"0123456789\n");
            pushed += 11;
        }
        assert!(backlog.all().len() <= 2 * MAX_BACKLOG_BYTES && backlog.all().starts_with(b"0123"));
        let kept = backlog.all().len();
        let (piece, lost) = backlog.next_piece();
        assert!(piece.starts_with(b"0123"));
        assert_eq!(lost + kept, pushed);
        assert!(!backlog.is_whole());
    }
}

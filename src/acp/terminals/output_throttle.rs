//! What a terminal's window is sent of a command's output: at a pace that an editor can draw, and
//! with a gap where the command was faster. A pure account of bytes and times; the clock and the
//! sending are the caller's.

use std::time::{Duration, Instant};

use crate::core::message::Skipped;

/// One frame.
pub const PACE: Duration = Duration::from_millis(16);
/// As much as can be drawn in a frame without the user feeling it.
pub const CHUNK: usize = 16 << 10;
/// What waits beyond this is dropped, oldest first.
pub const BACKLOG: usize = 64 << 10;
/// How far a good place to cut may be away.
const MAX_CUT_SHIFT_BYTES: usize = 2 << 10;

/// The bytes that wait.
#[derive(Default)]
pub struct OutputThrottle {
    backlog: Vec<u8>,
    /// Where the backlog starts in its buffer; what is before has been sent or dropped.
    start: usize,
    skipped: Skipped,
    /// When the next chunk may go.
    free: Option<Instant>,
}

/// One event's worth; what is `skipped` came before it and was dropped.
#[derive(Debug, PartialEq, Eq)]
pub struct Chunk {
    pub bytes: Vec<u8>,
    pub skipped: Skipped,
}

impl OutputThrottle {
    pub fn push(&mut self, bytes: &[u8]) {
        self.backlog.extend_from_slice(bytes);
        let over = self.waiting().len().saturating_sub(BACKLOG);
        if over > 0 {
            let dropped = over + clean_start(&self.waiting()[over..]);
            self.skipped.lines += memchr::memchr_iter(b'\n', &self.waiting()[..dropped]).count();
            self.skipped.bytes += dropped;
            self.start += dropped;
        }
        self.compact();
    }

    pub fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// When there is something to send, the time from which on it may be sent.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        if self.is_empty() { None } else { Some(self.free.unwrap_or(now)) }
    }

    /// Takes what may be sent now.
    pub fn take(&mut self, now: Instant) -> Option<Chunk> {
        if self.due(now)? > now {
            return None;
        }
        let bytes = self.waiting()[..clean_end(self.waiting())].to_vec();
        self.start += bytes.len();
        self.free = Some(now + PACE);
        self.compact();
        Some(Chunk { bytes, skipped: std::mem::take(&mut self.skipped) })
    }

    fn waiting(&self) -> &[u8] {
        &self.backlog[self.start..]
    }

    fn compact(&mut self) {
        if self.start >= BACKLOG || self.start == self.backlog.len() {
            self.backlog.drain(..std::mem::take(&mut self.start));
        }
    }
}

/// How much more to drop so that what is left starts with a line, an escape sequence or at least a
/// whole character.
fn clean_start(bytes: &[u8]) -> usize {
    let near = &bytes[..bytes.len().min(MAX_CUT_SHIFT_BYTES)];
    if let Some(at) = near.iter().position(|&b| b == b'\n') {
        return at + 1;
    }
    if let Some(at) = near.iter().position(|&b| b == b'\x1b') {
        return at;
    }
    near.iter().take(3).take_while(|&&b| b & 0xc0 == 0x80).count()
}

/// How much of it to send: all, or up to a line's end, so that dropping what follows tears nothing
/// apart.
fn clean_end(bytes: &[u8]) -> usize {
    if bytes.len() <= CHUNK {
        return bytes.len();
    }
    let near = CHUNK - MAX_CUT_SHIFT_BYTES;
    bytes[near..CHUNK].iter().rposition(|&b| b == b'\n').map_or(CHUNK, |at| near + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(bytes: &[u8]) -> Option<Chunk> {
        Some(Chunk { bytes: bytes.to_vec(), skipped: Skipped::default() })
    }

    #[test]
    fn the_first_bytes_go_at_once_and_the_next_a_frame_later() {
        let now = Instant::now();
        let mut throttle = OutputThrottle::default();
        assert_eq!(throttle.due(now), None);
        throttle.push(b"a");
        assert_eq!(throttle.due(now), Some(now));
        assert_eq!(throttle.take(now), chunk(b"a"));
        throttle.push(b"b");
        throttle.push(b"c");
        assert_eq!(throttle.due(now), Some(now + PACE));
        assert_eq!(throttle.take(now), None);
        assert_eq!(throttle.take(now + PACE), chunk(b"bc"));
        assert_eq!(throttle.take(now + 2 * PACE), None);
    }

    #[test]
    fn after_a_pause_bytes_go_at_once() {
        let now = Instant::now();
        let mut throttle = OutputThrottle::default();
        throttle.push(b"a");
        throttle.take(now);
        throttle.push(b"b");
        assert!(throttle.due(now + 10 * PACE).is_some_and(|due| due <= now + 10 * PACE));
        assert_eq!(throttle.take(now + 10 * PACE), chunk(b"b"));
    }

    #[test]
    fn a_chunk_has_a_bound_and_ends_with_a_line_where_one_is_near() {
        let now = Instant::now();
        let mut throttle = OutputThrottle::default();
        throttle.push(&[b'x'; CHUNK - 10]);
        throttle.push(b"\nrest of more than ten bytes");
        assert_eq!(throttle.take(now).map(|chunk| chunk.bytes.len()), Some(CHUNK - 9));
        assert_eq!(throttle.take(now + PACE), chunk(b"rest of more than ten bytes"));
        throttle.push(&[b'x'; CHUNK + 1]);
        assert_eq!(throttle.take(now + 2 * PACE).map(|chunk| chunk.bytes.len()), Some(CHUNK));
        assert_eq!(throttle.take(now + 3 * PACE), chunk(b"x"));
    }

    #[test]
    fn a_backlog_drops_its_oldest_lines_and_says_how_much() {
        let now = Instant::now();
        let mut throttle = OutputThrottle::default();
        throttle.push(b"one\ntwo\n");
        throttle.push(&[b'x'; BACKLOG - 2]);
        // Over by six bytes: the cut falls into the second line, so that one goes whole.
        assert_eq!(
            throttle.take(now).map(|chunk| (chunk.bytes[0], chunk.skipped)),
            Some((b'x', Skipped { bytes: 8, lines: 2 }))
        );
        assert_eq!(throttle.take(now + PACE).map(|chunk| chunk.skipped), Some(Skipped::default()));
    }

    #[test]
    fn without_a_line_break_a_cut_spares_sequences_and_characters() {
        assert_eq!(clean_start(b"31mred\x1b[0m"), 6);
        assert_eq!(clean_start("\u{20ac}uro".as_bytes().split_at(1).1), 2);
        assert_eq!(clean_start(b"plain"), 0);
        assert_eq!(clean_start(b""), 0);
    }

    #[test]
    fn every_byte_and_every_line_is_sent_or_counted_and_memory_is_bounded() {
        let mut now = Instant::now();
        let mut throttle = OutputThrottle::default();
        let (mut sent, mut skipped, mut pushed) = (0, 0, 0);
        let (mut lines, mut pushed_lines) = (0, 0);
        let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        for round in 0..2000_usize {
            let bytes: Vec<u8> =
                (0..round * 37 % 9000).map(|n| if n % 50 == 0 { b'\n' } else { b'a' }).collect();
            pushed += bytes.len();
            pushed_lines += count(&bytes);
            throttle.push(&bytes);
            now += PACE / 4;
            if let Some(chunk) = throttle.take(now) {
                assert!(chunk.bytes.len() <= CHUNK && !chunk.bytes.is_empty());
                sent += chunk.bytes.len();
                lines += count(&chunk.bytes) + chunk.skipped.lines;
                skipped += chunk.skipped.bytes;
            }
            assert!(throttle.backlog.capacity() <= 4 * BACKLOG);
        }
        now += PACE;
        while let Some(chunk) = throttle.take(now) {
            sent += chunk.bytes.len();
            lines += count(&chunk.bytes) + chunk.skipped.lines;
            skipped += chunk.skipped.bytes;
            now += PACE;
        }
        assert!(skipped > 0);
        assert_eq!((sent + skipped, lines), (pushed, pushed_lines));
    }
}

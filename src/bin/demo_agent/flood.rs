//! Text as fast as the pipe takes it, or at a steady rate: what benchmarks measure a client with. The
//! messages are formatted beforehand, so that the flood costs little more than the writing. On request
//! words in the text tell when they were written, for whoever looks at a screen.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent_client_protocol_schema::rpc::{JsonRpcMessage, Notification};
use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, SessionId, SessionNotification, SessionUpdate,
};

use crate::turn::{Played, Turn};

/// The text of the last chunk.
pub const END: &str = "END-OF-FLOOD";

/// The bytes of text in a chunk unless told.
pub const SIZE: usize = 24;

/// So many chunks are different; then they come again.
const ROUND: usize = 1024;

/// The size of the chunks that fill a session before the flood.
const FILL_SIZE: usize = 4096;

/// The place for a time in a chunk that was formatted beforehand: a word of letters and digits, which no
/// line break and no Markdown takes apart.
const STAMP: &str = "t00000000";

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flood {
    pub amount: Amount,
    pub size: usize,
    /// Whether words in the text tell when they were written.
    pub stamps: bool,
    /// The first prompt is answered with this many bytes of text instead.
    pub fill: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// This many chunks, as fast as can be.
    Count(u64),
    Paced {
        per_second: f64,
        seconds: f64,
    },
}

pub fn play(turn: &mut Turn, flood: Flood) -> Played {
    if flood.fill > 0 && turn.memory.prompts == 1 {
        let mut round = Round::new(&turn.session, FILL_SIZE, false);
        all(turn, &mut round, (flood.fill / FILL_SIZE) as u64)?;
        say(turn, END);
        return Ok(());
    }
    if flood.stamps {
        // As soon as the prompt is here: when this was written is when the prompt arrived.
        say(turn, &format!("{}\n\n", stamp()));
    }
    let mut round = Round::new(&turn.session, flood.size, flood.stamps);
    match flood.amount {
        Amount::Count(count) => all(turn, &mut round, count)?,
        Amount::Paced { per_second, seconds } => {
            let count = (per_second * seconds) as u64;
            let begin = Instant::now();
            let mut sent = 0;
            while sent < count {
                let due = (begin.elapsed().as_secs_f64() * per_second) as u64;
                while sent < due.min(count) {
                    sent = round.send(turn, sent, due.min(count));
                }
                turn.sleep(Duration::from_millis(1))?;
            }
        }
    }
    say(turn, END);
    Ok(())
}

/// Sends this many chunks as fast as can be.
fn all(turn: &mut Turn, round: &mut Round, count: u64) -> Played {
    let mut sent = 0;
    while sent < count {
        sent = round.send(turn, sent, count);
        // A cancel is heard once a round.
        turn.sleep(Duration::ZERO)?;
    }
    Ok(())
}

pub fn say(turn: &Turn, text: &str) {
    turn.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(text))));
}

/// Now, in units of ten microseconds, of which the last eight digits.
fn stamp() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("t{:08}", now.as_micros() / 10 % 100_000_000)
}

/// The lines of all different chunks, one after the other.
struct Round {
    bytes: Vec<u8>,
    /// Where each line begins, and where the last one ends.
    bounds: Vec<usize>,
    /// Where the stamps are.
    stamps: Vec<usize>,
}

impl Round {
    fn new(session: &SessionId, size: usize, stamped: bool) -> Self {
        let text = document(ROUND * size.max(1));
        let mut bytes = Vec::new();
        let mut bounds = vec![0];
        let mut stamps = Vec::new();
        let mut ticks = 0;
        for piece in text.as_bytes().chunks(size.max(1)) {
            let piece = std::str::from_utf8(piece).expect("the document is ASCII");
            ticks += piece.matches('`').count();
            let prose = ticks % 2 == 0 && !piece.contains('`');
            let stamp = (stamped && prose).then(|| with_stamp(piece)).flatten();
            let place = stamp.is_some();
            let piece = stamp.unwrap_or_else(|| piece.to_owned());
            let chunk = SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(piece)));
            let message = JsonRpcMessage::wrap(Notification {
                method: "session/update".into(),
                params: Some(SessionNotification::new(session.clone(), chunk)),
            });
            let line = bytes.len();
            serde_json::to_writer(&mut bytes, &message).expect("protocol types have string keys only");
            if place {
                let text = std::str::from_utf8(&bytes[line..]).expect("JSON is text");
                stamps.extend(text.find(STAMP).map(|at| line + at));
            }
            bytes.push(b'\n');
            bounds.push(bytes.len());
        }
        Self { bytes, bounds, stamps }
    }

    /// Sends from chunk number `sent` to the end of the round, or to `count`; how far that was.
    fn send(&mut self, turn: &Turn, sent: u64, count: u64) -> u64 {
        let round = (self.bounds.len() - 1) as u64;
        let start = sent % round;
        let end = (start + count - sent).min(round);
        let (from, to) = (self.bounds[start as usize], self.bounds[end as usize]);
        let now = stamp();
        for at in self.stamps.iter().filter(|at| (from..to).contains(at)) {
            self.bytes[*at..at + now.len()].copy_from_slice(now.as_bytes());
        }
        turn.output.bytes(&self.bytes[from..to]);
        sent + end - start
    }
}

/// The piece with the place for a stamp between two of its words, if it has two.
fn with_stamp(piece: &str) -> Option<String> {
    let letters = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[2].is_ascii_lowercase();
    let at = piece.as_bytes().windows(3).position(|three| three[1] == b' ' && letters(three))? + 1;
    Some(format!("{} {STAMP}{}", &piece[..at], &piece[at..]))
}

/// Deterministic words with line breaks and some Markdown, exactly this long.
fn document(length: usize) -> String {
    const WORDS: [&str; 16] = [
        "the", "buffer", "of", "a", "session", "grows", "while", "an", "agent", "writes", "into", "it",
        "line", "by", "line", "again",
    ];
    const CODE: &str = "```lua\nlocal answer = 6 * 7\nprint(answer)\n```\n";
    let mut text = String::with_capacity(length + 128);
    let mut state = 1_u32;
    let mut line = 0;
    while text.len() < length {
        line += 1;
        let mut word = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            WORDS[(state >> 28) as usize]
        };
        let words: Vec<_> = (0..10).map(|_| word()).collect();
        let words = words.join(" ");
        text.push_str(&match line % 20 {
            1 => format!("\n## Part {line}: {words}\n\n"),
            5..=8 => format!("- {words}\n"),
            // A fence that is cut off would swallow the next round.
            12 if text.len() + 256 < length => CODE.to_owned(),
            15 => format!("{words}, **{words}** and `{words}`\n\n"),
            _ => format!("{words}\n"),
        });
    }
    text.truncate(length - 1);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_as_long_as_told_and_closes_its_fences() {
        for length in [1, 24, 1024, 40_000] {
            let text = document(length);
            assert_eq!(text.len(), length);
            assert!(text.is_ascii() && text.ends_with('\n'));
            assert_eq!(text.matches("```").count() % 2, 0);
        }
    }

    #[test]
    fn a_round_has_every_chunk_as_one_line() {
        for stamped in [false, true] {
            let round = Round::new(&SessionId::new("s"), 7, stamped);
            assert_eq!(round.bounds.len(), ROUND + 1);
            let lines = round.bytes.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(lines, ROUND);
        }
    }

    #[test]
    fn a_stamp_stands_between_words_and_in_no_code() {
        assert_eq!(with_stamp("## Part 1: the line"), Some("## Part 1: the t00000000 line".to_owned()));
        assert_eq!(with_stamp("- the"), None);
        let round = Round::new(&SessionId::new("s"), 24, true);
        assert!(round.stamps.len() > ROUND / 2);
        for at in &round.stamps {
            assert_eq!(&round.bytes[*at..at + STAMP.len()], STAMP.as_bytes());
        }
        let text = String::from_utf8(round.bytes).unwrap();
        assert!(
            text.lines()
                .filter(|line| line.contains("print(") || line.contains("= 6"))
                .all(|line| !line.contains(STAMP))
        );
    }
}

//! The last messages of all agents, in so many bytes and no more. It is always on, so putting a message in costs a copy
//! and nothing else: what a message says is found out by who looks at it.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The bytes that a ring holds, counting what it notes beside each message.
pub const BOUND: usize = 4 << 20;

/// Of a message that is longer only the beginning is kept.
pub const LONGEST: usize = 64 << 10;

/// Room is made by giving up the oldest of so many parts.
const SEGMENTS: usize = 16;

/// Where a line comes from or goes to, or what else it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Way {
    ToAgent,
    FromAgent,
    Stderr,
    /// What the client noted.
    Note,
    /// The agent is gone; the text says how.
    End,
}

/// A line as it is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept<'a> {
    pub number: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub agent: u32,
    pub way: Way,
    /// The bytes that it had.
    pub size: u64,
    /// The bytes of it that are kept.
    pub text: &'a [u8],
    /// Of a message that is cut off, its envelope as JSON: its id may stand at its end.
    pub envelope: &'a [u8],
}

/// Lines that were put in at once. Its lines are noted in the fewest bytes: there are many of them in what is read at once,
/// and what is noted has to be written, too.
#[derive(Debug)]
struct Block {
    /// The index of its first line.
    first: u32,
    /// What its lines' positions are counted from; below zero it wraps.
    base: u32,
    at: u64,
    agent: u32,
    way: Way,
}

/// A line that is cut off.
#[derive(Debug)]
struct CutOff {
    /// The index of the line.
    line: u32,
    /// Where its text ends, and its envelope begins.
    middle: u32,
    size: u64,
}

/// Where a line begins and ends.
type Span = (u32, u32);

/// The most that is noted beside a line.
const NOTED: usize = size_of::<Span>() + size_of::<Block>() + size_of::<CutOff>();

#[derive(Debug, Default)]
struct Segment {
    /// The number of its first line.
    first: u64,
    bytes: Vec<u8>,
    lines: Vec<Span>,
    blocks: Vec<Block>,
    cut_off: Vec<CutOff>,
}

#[derive(Debug)]
pub struct Ring {
    segments: VecDeque<Segment>,
    next: u64,
    /// The bytes of a segment.
    room: usize,
}

impl Default for Ring {
    fn default() -> Self {
        Self::new(BOUND)
    }
}

/// A line to be kept.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    pub at: u64,
    pub agent: u32,
    pub way: Way,
    pub text: &'a [u8],
    /// See [`Kept::envelope`].
    pub envelope: &'a [u8],
}

impl Ring {
    pub fn new(bound: usize) -> Self {
        Self { segments: VecDeque::new(), next: 0, room: bound / SEGMENTS }
    }

    pub fn push(&mut self, line: &Line<'_>) {
        let longest = self.longest();
        let envelope = if line.text.len() > longest { line.envelope } else { &[] };
        let envelope = if envelope.len() <= longest / 2 { envelope } else { &[] };
        let text = &line.text[..line.text.len().min(longest - envelope.len())];
        let is_whole = text.len() == line.text.len();
        let Some(last) = self.room_for(text.len() + envelope.len() + NOTED) else { return };
        last.begin_block(line, 0);
        let start = last.bytes.len() as u32;
        last.bytes.extend_from_slice(text);
        let middle = last.bytes.len() as u32;
        if !is_whole {
            last.bytes.extend_from_slice(envelope);
            let size = line.text.len() as u64;
            last.cut_off.push(CutOff { line: last.lines.len() as u32, middle, size });
        }
        last.lines.push((start, last.bytes.len() as u32));
        self.next += 1;
    }

    /// Puts in what was read at once: `found` says where its lines begin and end, in order. To copy all of it costs less than
    /// to copy line by line.
    pub fn push_block(&mut self, line: &Line<'_>, found: &[Span]) {
        let (Some((begin, _)), Some((_, end))) = (found.first(), found.last()) else { return };
        let (longest, length) = (self.longest(), (end - begin) as usize);
        let fits = length <= longest || found.iter().all(|(start, end)| (end - start) as usize <= longest);
        let wanted = length + size_of_val(found) + NOTED;
        if !fits || wanted > self.room {
            for (start, end) in found {
                self.push(&Line { text: &line.text[*start as usize..*end as usize], ..*line });
            }
            return;
        }
        let Some(last) = self.room_for(wanted) else { return };
        last.begin_block(line, (last.bytes.len() as u32).wrapping_sub(*begin));
        last.lines.extend_from_slice(found);
        last.bytes.extend_from_slice(&line.text[*begin as usize..*end as usize]);
        self.next += found.len() as u64;
    }

    /// The bytes that are kept of a line.
    fn longest(&self) -> usize {
        LONGEST.min(self.room.saturating_sub(NOTED))
    }

    /// The segment that so many bytes go into.
    fn room_for(&mut self, wanted: usize) -> Option<&mut Segment> {
        if self.segments.back().is_none_or(|last| last.held() + wanted > self.room) {
            self.begin_segment(self.next);
        }
        self.segments.back_mut()
    }

    fn begin_segment(&mut self, first: u64) {
        let mut segment = match self.segments.len() {
            SEGMENTS => self.segments.pop_front().unwrap_or_default(),
            _ => Segment { bytes: Vec::with_capacity(self.room), ..Segment::default() },
        };
        segment.first = first;
        segment.bytes.clear();
        segment.lines.clear();
        segment.blocks.clear();
        segment.cut_off.clear();
        self.segments.push_back(segment);
    }

    /// The numbers of the messages that there still are.
    pub fn numbers(&self) -> Range<u64> {
        self.segments.front().map_or(self.next, |segment| segment.first)..self.next
    }

    pub fn get(&self, number: u64) -> Option<Kept<'_>> {
        let at = self.segments.partition_point(|segment| segment.first <= number).checked_sub(1)?;
        let segment = self.segments.get(at)?;
        let index = u32::try_from(number - segment.first).ok()?;
        let (start, end) = *segment.lines.get(index as usize)?;
        let block = segment.blocks.partition_point(|block| block.first <= index).checked_sub(1)?;
        let block = segment.blocks.get(block)?;
        let (start, end) = (start.wrapping_add(block.base), end.wrapping_add(block.base));
        let cut_off = segment.cut_off.binary_search_by_key(&index, |cut_off| cut_off.line);
        let (middle, size) = match cut_off.ok().and_then(|at| segment.cut_off.get(at)) {
            Some(cut_off) => (cut_off.middle, cut_off.size),
            None => (end, u64::from(end - start)),
        };
        Some(Kept {
            number,
            at: block.at,
            agent: block.agent,
            way: block.way,
            size,
            text: &segment.bytes[start as usize..middle as usize],
            envelope: &segment.bytes[middle as usize..end as usize],
        })
    }

    /// Those from a number on, the oldest first.
    pub fn since(&self, from: u64) -> impl Iterator<Item = Kept<'_>> {
        let numbers = self.numbers();
        (from.max(numbers.start)..numbers.end).filter_map(|number| self.get(number))
    }

    /// The bytes that are held, with what is noted beside each message.
    pub fn held(&self) -> usize {
        self.segments.iter().map(Segment::held).sum()
    }
}

impl Segment {
    fn held(&self) -> usize {
        self.bytes.len()
            + size_of_val(&*self.lines)
            + size_of_val(&*self.blocks)
            + size_of_val(&*self.cut_off)
    }

    fn begin_block(&mut self, line: &Line<'_>, base: u32) {
        let first = self.lines.len() as u32;
        self.blocks.push(Block { first, base, at: line.at, agent: line.agent, way: line.way });
    }
}

impl Kept<'_> {
    /// Nothing of it is missing.
    pub fn is_whole(&self) -> bool {
        self.size == self.text.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(at: u64, text: &[u8]) -> Line<'_> {
        Line { at, agent: 1, way: Way::FromAgent, text, envelope: b"" }
    }

    #[test]
    fn what_was_put_in_comes_out_in_order() {
        let mut ring = Ring::default();
        assert_eq!(ring.numbers(), 0..0);
        for at in 0..3 {
            ring.push(&line(at, format!("line {at}").as_bytes()));
        }
        let texts: Vec<&[u8]> = ring.since(1).map(|kept| kept.text).collect();
        assert_eq!(texts, [b"line 1", b"line 2"]);
        assert!(ring.get(2).is_some_and(|kept| kept.is_whole() && kept.at == 2) && ring.get(3).is_none());
    }

    #[test]
    fn of_a_huge_message_the_beginning_is_kept_with_its_size_and_its_envelope() {
        let mut ring = Ring::default();
        let huge = vec![b'x'; 20 << 20];
        ring.push(&Line { envelope: b"{\"id\":7}", ..line(0, &huge) });
        let kept = ring.get(0).expect("kept");
        assert_eq!((kept.size, kept.text.len(), kept.is_whole()), (20 << 20, LONGEST - 8, false));
        assert_eq!(kept.envelope, b"{\"id\":7}");
        ring.push(&Line { envelope: &huge, ..line(0, &huge) });
        assert_eq!(ring.get(1).expect("kept").envelope, b"");
        assert!(ring.held() < BOUND);
    }

    #[test]
    fn what_was_read_at_once_is_kept_as_line_by_line() {
        let bytes = b"{}\n\n{\"a\":1}\r\n noise\n".repeat(50);
        let mut found = Vec::new();
        let mut start = 0;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = part.trim_ascii();
            if !text.is_empty() {
                found.push((start, start + text.len() as u32));
            }
            start += part.len() as u32;
        }
        for bound in [BOUND, 40_000, 2_000] {
            let (mut at_once, mut one_by_one) = (Ring::new(bound), Ring::new(bound));
            for _ in 0..40 {
                at_once.push_block(&line(7, &bytes), &found);
                for (start, end) in &found {
                    one_by_one.push(&line(7, &bytes[*start as usize..*end as usize]));
                }
                assert!(at_once.held() <= bound);
            }
            assert_eq!(at_once.numbers().end, one_by_one.numbers().end);
            let from = at_once.numbers().start.max(one_by_one.numbers().start);
            assert!(at_once.since(from).eq(one_by_one.since(from)), "{bound}");
            assert!(at_once.since(from).count() > 0);
        }
    }

    proptest! {
        #[test]
        fn it_never_holds_more_than_its_bound_and_always_the_newest(
            sizes in prop::collection::vec(prop_oneof![0..200_usize, 0..80_000_usize], 1..300),
            bound in 20_000..400_000_usize,
        ) {
            let mut ring = Ring::new(bound);
            for (at, size) in sizes.iter().enumerate() {
                let text = vec![b'a' + (at % 26) as u8; *size];
                ring.push(&line(at as u64, &text));
                prop_assert!(ring.held() <= bound);
                let kept = ring.get(at as u64).expect("the newest");
                prop_assert_eq!(kept.size, *size as u64);
                prop_assert!(kept.text.iter().all(|byte| *byte == b'a' + (at % 26) as u8));
            }
            let numbers = ring.numbers();
            prop_assert_eq!(numbers.end, sizes.len() as u64);
            for (number, kept) in numbers.zip(ring.since(0)) {
                prop_assert_eq!((kept.number, kept.at), (number, number));
                prop_assert_eq!(kept.size, sizes[number as usize] as u64);
            }
        }
    }
}

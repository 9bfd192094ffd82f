//! The state machine against simulated writers: each has its own habits and its own waits before every
//! step, on a system that reports all of its steps, some of them, or none.

use proptest::prelude::*;

use super::*;

const BEFORE: &str = "one\ntwo\nthree\n";
const AFTER: &str = "one\nTWO\nthree\nfour\n";
const LONGER: &str = "one\ntwo\nthree\nfour\nfive\n";

/// What a writer does, each by its own number.
#[derive(Clone, Debug)]
enum Act {
    /// Opens the file and empties it.
    Truncate(usize),
    /// Opens the file to write behind its end.
    Append(usize),
    Put(usize, &'static str),
    Close(usize),
    Remove,
    /// A file with this text gets the name.
    Rename(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum System {
    /// Linux: it says what was written, and what was closed.
    Tells,
    /// It says that something happened.
    Vague,
    Silent,
}

struct Disk {
    file: Option<Vec<u8>>,
    changed: Millis,
    /// Where each open writer stands.
    open: [Option<usize>; 2],
}

impl Disk {
    fn act(&mut self, now: Millis, act: &Act) -> Input {
        self.changed = now;
        match act {
            Act::Truncate(writer) => {
                self.file = Some(Vec::new());
                self.open[*writer] = Some(0);
            }
            Act::Append(writer) => {
                self.open[*writer] = Some(self.file.get_or_insert_default().len());
            }
            Act::Put(writer, piece) => {
                let at = self.open[*writer].expect("it is open");
                let file = self.file.get_or_insert_default();
                let end = at + piece.len();
                file.resize(file.len().max(end), 0);
                file[at..end].copy_from_slice(piece.as_bytes());
                self.open[*writer] = Some(end);
            }
            Act::Close(writer) => {
                self.open[*writer] = None;
                return Input::Closed;
            }
            Act::Remove => self.file = None,
            Act::Rename(text) => {
                self.file = Some((*text).into());
                return Input::Closed;
            }
        }
        Input::Touched
    }
}

struct Case {
    acts: Vec<(Millis, Act)>,
    system: System,
    /// The call begins before everything else, and ends at this time.
    call_ends: Millis,
    /// When somebody asks for the text.
    asked: Vec<Millis>,
    /// When the file is first looked at.
    begin: Millis,
    announced: Vec<FileDiff>,
}

/// What the editor got, and what there was to get: at times when nobody had the file open.
struct Played {
    got: Vec<Option<String>>,
    whole: Vec<Option<String>>,
    last: Option<String>,
}

fn play(case: &Case) -> Played {
    let mut disk = Disk { file: Some(BEFORE.into()), changed: 0, open: [None; 2] };
    let start = 100_000;
    let mut tracker = Tracker::default();
    let mut before: Option<Vec<u8>> = None;
    let text = |file: &Option<Vec<u8>>| file.clone().map(|file| String::from_utf8(file).expect("text"));
    let mut played = Played { got: Vec::new(), whole: vec![text(&disk.file)], last: None };
    let mut acts = case.acts.iter().scan(start, |at, (wait, act)| {
        *at += wait;
        Some((*at, act))
    });
    let mut next = acts.next();
    let mut asked: Vec<Millis> = case.asked.iter().map(|at| start + at).collect();
    // What is asked for once the call is over has no call that could be waited for.
    let end = start + case.call_ends.max(case.begin);
    asked.extend([start + case.begin, end + 1]);
    if case.system == System::Silent {
        // Nobody else says that there was something after that.
        asked.push(start + 1 + case.acts.iter().map(|(wait, _)| wait).sum::<Millis>());
    }
    asked.sort_unstable();
    asked.reverse();
    let mut call_ends = Some(end);
    tracker.step(start - 1, Input::CallBegan);
    for _ in 0..10_000 {
        let due = tracker.due();
        let times = [next.map(|(at, _)| at), call_ends, asked.last().copied(), due];
        let Some(now) = times.iter().flatten().min().copied() else { break };
        if next.is_some_and(|(at, _)| at == now) {
            let (_, act) = next.take().expect("it was just seen");
            let said = disk.act(now, act);
            if now >= start + case.begin {
                match case.system {
                    System::Tells => drop(tracker.step(now, said)),
                    System::Vague => drop(tracker.step(now, Input::Uncertain)),
                    System::Silent => {}
                }
            }
            if disk.open == [None; 2] {
                played.whole.push(text(&disk.file));
            }
            next = acts.next();
            continue;
        }
        if call_ends == Some(now) {
            call_ends = None;
            tracker.step(now, Input::CallEnded);
            continue;
        }
        let asks = asked.pop_if(|at| *at == now).is_some();
        if now < start + case.begin {
            continue;
        }
        let shape = disk.file.as_deref().map(|file| shape(file, before.as_deref(), &case.announced));
        let seen = Seen {
            content: disk.file.as_deref().map(hash),
            shape: shape.unwrap_or(Shape::Plain),
            stamp: disk.changed,
            age: now - disk.changed,
        };
        let tells = tracker.step(now, Input::Looked(seen));
        if tracker.known() == Some(seen.content) {
            before.clone_from(&disk.file);
        }
        if tells || asks && tracker.is_whole(seen.content) {
            played.got.push(text(&disk.file));
        }
    }
    assert_eq!(tracker.due(), None, "it comes to rest");
    played.last = text(&disk.file);
    played
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(7, |hash, byte| hash * 31 % 1_000_003 + u64::from(*byte))
}

fn wait() -> impl Strategy<Value = Millis> {
    prop_oneof![Just(0), 0..=10u64, 0..=500u64, Just(500)]
}

/// A text in up to four pieces, each put after a wait.
fn puts(writer: usize, text: &'static str) -> impl Strategy<Value = Vec<(Millis, Act)>> {
    let cuts = prop::collection::vec((wait(), 0..=text.len()), 0..3);
    (cuts, wait()).prop_map(move |(mut cuts, last)| {
        cuts.sort_by_key(|(_, at)| *at);
        let mut from = 0;
        let mut acts = Vec::new();
        for (wait, to) in cuts.into_iter().chain([(last, text.len())]) {
            // Writing nothing is no step.
            if to > from {
                acts.push((wait, Act::Put(writer, &text[from..to])));
            }
            from = to;
        }
        acts
    })
}

fn between(first: Vec<Act>, writer: usize, text: &'static str) -> impl Strategy<Value = Vec<(Millis, Act)>> {
    let waits = prop::collection::vec(wait(), first.len() + 1);
    (waits, puts(writer, text)).prop_map(move |(waits, puts)| {
        let mut acts: Vec<_> = waits.iter().copied().zip(first.iter().cloned()).collect();
        acts.extend(puts);
        acts.push((waits[first.len()], Act::Close(writer)));
        acts
    })
}

fn one_writer() -> impl Strategy<Value = Vec<(Millis, Act)>> {
    prop_oneof![
        between(vec![Act::Truncate(0)], 0, AFTER),
        // The same text again.
        between(vec![Act::Truncate(0)], 0, BEFORE),
        between(vec![Act::Remove, Act::Truncate(0)], 0, AFTER),
        between(vec![Act::Truncate(0), Act::Close(0), Act::Truncate(0)], 0, AFTER),
        between(vec![Act::Append(0)], 0, &LONGER[BEFORE.len()..]),
        (wait(), wait()).prop_map(|(a, b)| vec![(a, Act::Rename(AFTER)), (b, Act::Rename(LONGER))]),
        (wait(), wait()).prop_map(|(a, b)| vec![(a, Act::Remove), (b, Act::Rename(AFTER))]),
        // It is really emptied, or removed.
        wait().prop_map(|a| vec![(a, Act::Truncate(0)), (0, Act::Close(0))]),
        wait().prop_map(|a| vec![(a, Act::Remove)]),
    ]
}

/// Two writers whose steps come in any order.
fn two_writers() -> impl Strategy<Value = Vec<(Millis, Act)>> {
    let one = between(vec![Act::Truncate(0)], 0, AFTER);
    let other = between(vec![Act::Truncate(1)], 1, LONGER);
    (one, other, prop::collection::vec(any::<bool>(), 20)).prop_map(|(one, other, order)| {
        let (mut one, mut other) = (one.into_iter(), other.into_iter());
        let mut all = Vec::new();
        for first in order {
            all.extend(if first { one.next() } else { other.next() });
        }
        all.into_iter().chain(one).chain(other).collect()
    })
}

fn system() -> impl Strategy<Value = System> {
    prop_oneof![Just(System::Tells), Just(System::Vague), Just(System::Silent)]
}

fn announced() -> impl Strategy<Value = Vec<FileDiff>> {
    let diff = |old: Option<&str>, new: &str| FileDiff {
        path: "a".into(),
        old_text: old.map(Into::into),
        new_text: new.into(),
    };
    prop_oneof![
        Just(vec![]),
        Just(vec![diff(None, AFTER)]),
        Just(vec![diff(Some(BEFORE), AFTER)]),
        Just(vec![diff(Some("two"), "TWO"), diff(Some("three\n"), "three\nfour\n")]),
        Just(vec![diff(Some("what nobody wrote"), "x")]),
    ]
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let played = play(case);
    for got in &played.got {
        prop_assert!(played.whole.contains(got), "{:?} is not one of {:?}", got, played.whole);
    }
    // Who had the text before everything has the last one now.
    let has = played.got.last().unwrap_or(&played.whole[0]);
    prop_assert_eq!(has, &played.last);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn only_whole_texts_are_taken_and_the_last_one_always_is(
        acts in one_writer(), system in system(), call_ends in 0..3000u64,
        asked in prop::collection::vec(0..3000u64, 0..12), announced in announced(),
    ) {
        check(&Case { acts, system, call_ends, asked, begin: 0, announced })?;
    }

    #[test]
    fn two_writers_at_once_are_waited_for(
        acts in two_writers(), system in system(), asked in prop::collection::vec(0..8000u64, 0..12),
    ) {
        check(&Case { acts, system, call_ends: 20_000, asked, begin: 0, announced: Vec::new() })?;
    }

    /// A call that names its file for the first time while it writes.
    #[test]
    fn a_file_that_is_found_half_written_is_not_taken(
        acts in one_writer(), system in system(), begin in 0..2000u64,
        asked in prop::collection::vec(0..3000u64, 0..12),
    ) {
        check(&Case { acts, system, call_ends: 8000, asked, begin, announced: Vec::new() })?;
    }
}

/// Feeds inputs, each at its time, and says at which of them the editor was told.
fn told(inputs: &[(Millis, Input)]) -> Vec<Millis> {
    let mut tracker = Tracker::default();
    let first = Seen { content: Some(1), shape: Shape::Plain, stamp: 0, age: 60_000 };
    assert!(!tracker.step(START, Input::Looked(first)), "what a session begins with is no news");
    inputs.iter().filter(|(at, input)| tracker.step(START + at, *input)).map(|(at, _)| *at).collect()
}

const START: Millis = 100_000;

fn looked(content: Option<u64>, shape: Shape) -> Input {
    Input::Looked(Seen { content, shape, stamp: content.unwrap_or(0), age: 40 })
}

#[test]
fn a_closed_file_is_taken_at_once_and_one_that_is_open_is_not() {
    let plain = looked(Some(2), Shape::Plain);
    assert_eq!(told(&[(100, Input::Closed), (140, plain)]), [140]);
    assert_eq!(told(&[(100, Input::Closed), (110, Input::Touched), (140, plain), (1000, plain)]), [0; 0]);
    assert_eq!(told(&[(100, Input::Touched), (200, plain), (1700, plain)]), [1700], "some never close");
    assert_eq!(told(&[(100, plain), (600, plain), (700, plain)]), [700], "nobody tells");
}

#[test]
fn what_is_cut_waits_for_the_end_of_its_call_and_a_little_longer() {
    for cut in [looked(Some(2), Shape::Cut), looked(None, Shape::Plain)] {
        let inputs =
            [(10, Input::CallBegan), (20, Input::Closed), (60, cut), (9000, cut), (9001, Input::CallEnded)];
        assert_eq!(told(&inputs), [0; 0]);
        let late = [(9041, cut), (9500, cut), (10_001, cut)];
        assert_eq!(told(&[&inputs[..], &late[..]].concat()), [10_001]);
    }
}

#[test]
fn what_was_announced_is_whole_as_soon_as_it_is_there() {
    let inputs = [(10, Input::CallBegan), (20, Input::Touched), (30, looked(Some(2), Shape::Announced))];
    assert_eq!(told(&inputs), [30]);
}

#[test]
fn a_file_that_grows_without_end_is_taken_every_ten_seconds() {
    let mut inputs = Vec::new();
    for number in 1..=250 {
        let at = number * 100;
        inputs.extend([(at, Input::Touched), (at + 1, looked(Some(number + 1), Shape::Plain))]);
    }
    assert_eq!(told(&inputs).len(), 2);
    inputs.insert(0, (1, Input::CallBegan));
    assert_eq!(told(&inputs), [0; 0], "not while its call is under way");
}

#[test]
fn a_file_that_is_written_again_and_again_is_taken_every_second() {
    let mut inputs = Vec::new();
    for number in 1..=250 {
        let at = number * 10;
        inputs.extend([(at, Input::Touched), (at, Input::Closed)]);
        inputs.push((at + 1, looked(Some(number + 1), Shape::Plain)));
    }
    assert_eq!(told(&inputs).len(), 2);
}

#[test]
fn a_text_is_cut_if_it_is_the_beginning_of_the_one_before_or_of_the_announced_one() {
    let diff = FileDiff { path: "a".into(), old_text: Some("two".into()), new_text: "TWO".into() };
    let shape = |now: &str| shape(now.as_bytes(), Some(BEFORE.as_bytes()), std::slice::from_ref(&diff));
    assert_eq!(shape(""), Shape::Cut);
    assert_eq!(shape("one\ntw"), Shape::Cut);
    assert_eq!(shape("one\nTW"), Shape::Cut);
    assert_eq!(shape("one\nTWO\nthree\n"), Shape::Announced);
    assert_eq!(shape("one\nTWO\nthree\n\n"), Shape::Announced, "agents forget the last line break");
    assert_eq!(shape("one\nTWO\nthree"), Shape::Cut);
    assert_eq!(shape("two\n"), Shape::Plain);
    assert_eq!(super::shape(b"one\n", None, &[]), Shape::Plain);
    assert_eq!(super::shape(b"\xff", Some(b"\xff\xfe"), &[]), Shape::Cut);
}

//! What a user notices who types while an agent works: each key is followed to the screen, and so are the
//! agent's chunks. Which figures come of it is for the report.

use std::collections::VecDeque;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::scenarios::{Samples, Size, Values};
use super::stage::{Area, Clock, Measured, Stage, Subject, millis, stamp_of, stamps};

const KEY_EVERY: Duration = Duration::from_millis(50);
/// A burst is soon over.
const BURST_KEY_EVERY: Duration = Duration::from_millis(5);

/// A steady stream into a chat that holds `fill` bytes, while somebody types beside it.
pub fn paced(subject: Subject, size: &Size, fill: usize) -> Values {
    let (rate, seconds, fill_text) =
        (size.per_second.to_string(), size.seconds.to_string(), fill.to_string());
    let mut stage = Stage::open(subject, &["--paced", &rate, &seconds, "--stamps", "--fill", &fill_text]);
    if fill > 0 {
        stage.prompt_and_rest(Clock::Silent);
    }
    let typed = stage.type_beside();
    let chat = stage.chat_area();
    let (mut keys, mut chunks) = (Keys::new(typed, KEY_EVERY), Chunks::default());
    // Looking for stalls costs more than showing text, so that has a turn of its own.
    let [silent, ticking] = [Clock::Silent, Clock::Ticking].map(|clock| {
        let until = Instant::now() + Duration::from_secs_f64(size.seconds);
        stage.prompt(clock);
        keys.begin();
        loop {
            if Instant::now() < until {
                keys.type_due(&mut stage);
            }
            // A key is due more often than this.
            if let Some(at) = stage.nvim.next_flush(Duration::from_millis(5)) {
                keys.painted(&stage, at);
                if clock == Clock::Silent {
                    chunks.painted(&stage.text(chat), at);
                }
            }
            if let Some(measured) = stage.has_rest() {
                break measured;
            }
        }
    });
    assert!(keys.waiting.is_empty(), "keys that were never painted: {:?}", keys.waiting);
    assert!(!chunks.times.0.is_empty(), "no chunk was seen on the screen");
    vec![
        ("key p50 ms", keys.times().at(50)),
        ("key p95 ms", keys.times().at(95)),
        ("chunk p50 ms", chunks.times.at(50)),
        ("chunk p95 ms", chunks.times.at(95)),
        ("key max ms", keys.times().at(100)),
        ("stall ms", ticking.stall_ms),
        ("gap ms", ticking.gap_ms),
        ("CPU s", silent.cpu_s),
        ("CPU s with ticks", ticking.cpu_s),
        ("main thread s", silent.main_s),
        ("memory MB", silent.memory_mb),
    ]
}

/// Somebody types while many chunks come at once, some times over.
pub fn in_bursts(subject: Subject, size: &Size) -> Values {
    let count = size.key_burst.to_string();
    let mut stage = Stage::open(subject, &["--flood", &count]);
    let typed = stage.type_beside();
    let mut keys = Keys::new(typed, BURST_KEY_EVERY);
    let mut times = Samples::default();
    let mut stall = Samples::default();
    for _ in 0..size.key_bursts {
        let measured = one_burst(&mut stage, &mut keys);
        stall.0.push(measured.stall_ms);
        // What was typed when all was there already tells nothing.
        let end = keys.begun + Duration::from_secs_f64(measured.wall_ms / 1e3);
        times.0.extend(keys.times.drain(..).filter(|(typed, _)| *typed <= end).map(|(_, time)| time));
    }
    vec![
        ("key p50 ms", times.at(50)),
        ("key p95 ms", times.at(95)),
        ("key max ms", times.at(100)),
        ("stall ms", stall.at(100)),
    ]
}

fn one_burst(stage: &mut Stage, keys: &mut Keys) -> Measured {
    keys.begin();
    stage.prompt(Clock::Ticking);
    let mut measured = None;
    while measured.is_none() || !keys.waiting.is_empty() {
        if measured.is_none() {
            keys.type_due(stage);
        }
        if let Some(at) = stage.nvim.next_flush(Duration::from_millis(2)) {
            keys.painted(stage, at);
        }
        measured = measured.or_else(|| stage.has_rest());
    }
    measured.expect("the loop ends with it")
}

/// One process for each core that does nothing but compute, until this is dropped.
pub struct Busy(Vec<Child>);

impl Busy {
    pub fn everywhere() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let spin = || {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
            command.spawn().expect("a shell")
        };
        Self((0..cores).map(|_| spin()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // One that is gone already needs no end.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A user who types a letter now and then, and looks when each is on the screen.
struct Keys {
    area: Area,
    begun: Instant,
    /// How many since then, and in all.
    since: u32,
    typed: usize,
    waiting: VecDeque<(usize, Instant)>,
    every: Duration,
    /// When each was typed, and how many milliseconds it took.
    times: Vec<(Instant, f64)>,
}

impl Keys {
    fn new(area: Area, every: Duration) -> Self {
        let (waiting, times) = (VecDeque::new(), Vec::new());
        Self { area, begun: Instant::now(), since: 0, typed: 0, waiting, every, times }
    }

    fn times(&self) -> Samples {
        Samples(self.times.iter().map(|(_, time)| *time).collect())
    }

    fn begin(&mut self) {
        (self.begun, self.since) = (Instant::now(), 0);
    }

    fn letter(number: usize) -> char {
        char::from(b'a' + (number % 26) as u8)
    }

    fn type_due(&mut self, stage: &mut Stage) {
        // What scrolls away would never be seen.
        let room = self.area.width * (self.area.height - 1);
        while self.typed < room && self.begun + self.every * self.since <= Instant::now() {
            let at = Instant::now();
            stage.nvim.type_ahead(&Self::letter(self.typed).to_string());
            self.waiting.push_back((self.typed, at));
            self.typed += 1;
            self.since += 1;
        }
    }

    fn painted(&mut self, stage: &Stage, at: Instant) {
        while let Some((number, since)) = self.waiting.front() {
            let row = self.area.row + number / self.area.width;
            let column = self.area.column + number % self.area.width;
            if stage.nvim.grid().part(row..row + 1, column..column + 1) != Self::letter(*number).to_string() {
                return;
            }
            self.times.push((*since, at.duration_since(*since).as_secs_f64() * 1e3));
            self.waiting.pop_front();
        }
    }
}

/// How long chunks took from the agent's hands to the screen.
#[derive(Default)]
struct Chunks {
    last: Option<u64>,
    times: Samples,
}

impl Chunks {
    fn painted(&mut self, text: &str, at: Instant) {
        let now = stamp_of(at);
        let new: Vec<u64> =
            stamps(text).filter(|stamp| self.last.is_none_or(|last| millis(*stamp, last) > 0.0)).collect();
        for stamp in new {
            // Several of one moment count as one.
            if self.last.is_none_or(|last| millis(stamp, last) > 0.0) {
                self.last = Some(stamp);
                self.times.0.push(millis(now, stamp));
            }
        }
    }
}

//! What is measured: a few loads that an agent can be, each played once per run against a fresh Neovim.
//! How to get the figures out of a Neovim is for `stage`, what to make of them for `report`.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::json;

use super::stage::{self, Area, Clock, Measured, Stage, Subject, millis, stamp_of, stamps};
use crate::support::project::TempProject;
use crate::support::script::{asks, ends, opened, prompt, says, update};

/// The figures of one run by their names.
pub type Values = Vec<(&'static str, f64)>;

/// How large everything is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub runs: usize,
    burst: usize,
    per_second: u32,
    seconds: f64,
    fill: [usize; 2],
    tools: usize,
    /// Bytes that a command prints.
    printed: usize,
    prompts: usize,
}

impl Size {
    pub const FULL: Self = Self {
        runs: 3,
        burst: 100_000,
        per_second: 200,
        seconds: 10.0,
        fill: [100 << 10, 10 << 20],
        tools: 2000,
        printed: 1 << 30,
        prompts: 20,
    };

    /// Enough to see that everything works.
    pub const QUICK: Self = Self {
        runs: 1,
        burst: 2000,
        per_second: 200,
        seconds: 0.5,
        fill: [20 << 10, 200 << 10],
        tools: 30,
        printed: 200 << 10,
        prompts: 2,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    Burst,
    Paced,
    Paced100K,
    Paced10M,
    Prompt,
    Tools,
    Terminal,
    Startup,
}

impl Scenario {
    pub const ALL: [Self; 8] = [
        Self::Burst,
        Self::Paced,
        Self::Paced100K,
        Self::Paced10M,
        Self::Prompt,
        Self::Tools,
        Self::Terminal,
        Self::Startup,
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::Paced => "paced",
            Self::Paced100K => "paced-100k",
            Self::Paced10M => "paced-10m",
            Self::Prompt => "prompt",
            Self::Tools => "tools",
            Self::Terminal => "terminal",
            Self::Startup => "startup",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Burst => "small chunks as fast as the agent can",
            Self::Paced => "200 chunks a second while a key is typed every 50 ms in another window",
            Self::Paced100K => "the same in a chat that holds 100 KB already",
            Self::Paced10M => "the same in a chat that holds 10 MB already",
            Self::Prompt => "from sending a prompt until the agent has it",
            Self::Tools => "thoughts, tool calls and their updates as fast as the agent can",
            Self::Terminal => "what `yes` prints, in a terminal that is shown, beside Neovim's own",
            Self::Startup => "from nothing to a chat",
        }
    }

    pub fn subjects(self) -> &'static [Subject] {
        use Subject::{AtOnce, Floor, Ours, OwnTerminal, PerChunk, Plain};
        match self {
            Self::Burst => &[Ours, Floor, Plain, PerChunk, AtOnce],
            Self::Paced => &[Ours, Floor, Plain, PerChunk],
            Self::Paced100K | Self::Paced10M => &[Ours, Floor, Plain],
            Self::Prompt | Self::Tools => &[Ours, Floor],
            Self::Terminal => &[Ours, OwnTerminal],
            Self::Startup => &[Ours],
        }
    }

    /// Plays it once.
    pub fn run(self, subject: Subject, size: &Size) -> Values {
        match self {
            Self::Burst => {
                let count = size.burst.to_string();
                at_once(&Stage::open(subject, &["--flood", &count]).prompt_and_rest(Clock::Ticking))
            }
            Self::Paced => paced(subject, size, 0),
            Self::Paced100K => paced(subject, size, size.fill[0]),
            Self::Paced10M => paced(subject, size, size.fill[1]),
            Self::Prompt => {
                let mut stage = Stage::open(subject, &["--flood", "1", "--stamps"]);
                let mut times = Samples::default();
                (0..size.prompts).for_each(|_| times.0.push(stage.prompt_latency()));
                vec![("sent p50 ms", times.at(50)), ("sent p95 ms", times.at(95))]
            }
            Self::Tools => tools(subject, size.tools),
            Self::Terminal => terminal(subject, size.printed),
            Self::Startup => stage::startup(&mut stage::neovim()),
        }
    }
}

/// The figures of what comes as fast as it can.
fn at_once(measured: &Measured) -> Values {
    vec![
        ("wall ms", measured.wall_ms),
        ("stall ms", measured.stall_ms),
        ("CPU s", measured.cpu_s),
        ("main thread s", measured.main_s),
        ("memory MB", measured.memory_mb),
    ]
}

fn paced(subject: Subject, size: &Size, fill: usize) -> Values {
    let (rate, seconds, fill_text) =
        (size.per_second.to_string(), size.seconds.to_string(), fill.to_string());
    let mut stage = Stage::open(subject, &["--paced", &rate, &seconds, "--stamps", "--fill", &fill_text]);
    if fill > 0 {
        stage.prompt_and_rest(Clock::Silent);
    }
    let typed = stage.type_beside();
    let chat = stage.chat_area();
    let (mut keys, mut chunks) = (Keys::new(typed), Chunks::default());
    // Looking for stalls costs more than showing text, so that has a turn of its own.
    let [silent, ticking] = [Clock::Silent, Clock::Ticking].map(|clock| {
        stage.prompt(clock);
        keys.begin();
        let until = Instant::now() + Duration::from_secs_f64(size.seconds);
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
        ("key p50 ms", keys.times.at(50)),
        ("key p95 ms", keys.times.at(95)),
        ("chunk p50 ms", chunks.times.at(50)),
        ("chunk p95 ms", chunks.times.at(95)),
        ("stall ms", ticking.stall_ms),
        ("gap ms", ticking.gap_ms),
        ("CPU s", silent.cpu_s),
        ("CPU s with ticks", ticking.cpu_s),
        ("main thread s", silent.main_s),
        ("memory MB", silent.memory_mb),
    ]
}

fn tools(subject: Subject, count: usize) -> Values {
    let mut steps = opened();
    steps.push(prompt());
    let text = |text: &str| json!({ "type": "text", "text": text });
    steps.push(json!({ "repeat": count, "steps": [
        update(json!({ "sessionUpdate": "agent_thought_chunk", "content": text("What is in number ${i}?") })),
        update(json!({
            "sessionUpdate": "tool_call", "toolCallId": "call-${i}", "title": "Read number ${i}",
            "kind": "read", "status": "pending", "rawInput": { "path": "src/number_${i}.rs" },
        })),
        update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call-${i}", "status": "completed",
            "content": [{ "type": "content", "content": text("the text of number ${i}\nin two lines") }],
        })),
    ] }));
    steps.extend([says("END-OF-FLOOD"), ends("end_turn"), json!({ "wait_eof": true })]);
    let project = TempProject::new(&[]);
    project.write("script.json", &serde_json::Value::Array(steps).to_string());
    let script = project.file("script.json");
    let script = script.to_str().expect("a path in UTF-8");
    at_once(&Stage::open(subject, &["--script", script]).prompt_and_rest(Clock::Ticking))
}

fn terminal(subject: Subject, bytes: usize) -> Values {
    let code = format!("yes 'a line of the flood' | head -c {bytes}; printf '\\nEND-OF-FLOOD\\n'");
    let ask = |id: &str, method: &str| asks(id, method, json!({ "terminalId": "${term}" }));
    let mut steps = opened();
    steps.extend([
        prompt(),
        asks("c", "terminal/create", json!({ "command": "sh", "args": ["-c", code] })),
        json!({ "expect_reply": "c", "to": "c", "save": { "term": "/result/terminalId" } }),
        update(json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "flood", "kind": "execute",
            "status": "in_progress", "content": [{ "type": "terminal", "terminalId": "${term}" }],
        })),
        ask("w", "terminal/wait_for_exit"),
        json!({ "expect_reply": "w", "to": "w", "timeout_ms": 900_000 }),
        ask("r", "terminal/release"),
        json!({ "expect_reply": "r", "to": "r" }),
        says("END-OF-FLOOD"),
        ends("end_turn"),
        json!({ "wait_eof": true }),
    ]);
    let project = TempProject::new(&[]);
    project.write("script.json", &serde_json::Value::Array(steps).to_string());
    let script = project.file("script.json");
    let script = script.to_str().expect("a path in UTF-8");
    let args = match subject {
        Subject::OwnTerminal => ["sh", "-c", &code].to_vec(),
        _ => vec!["--script", script],
    };
    at_once(&Stage::open(subject, &args).prompt_and_rest(Clock::Ticking))
}

/// Milliseconds, in the order they came.
#[derive(Default)]
struct Samples(Vec<f64>);

impl Samples {
    /// The time that so many in a hundred do not exceed.
    fn at(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
    }
}

/// A user who types a letter every 50 ms, and looks when each is on the screen.
struct Keys {
    area: Area,
    begun: Instant,
    /// How many since then, and in all.
    since: u32,
    typed: usize,
    waiting: VecDeque<(usize, Instant)>,
    times: Samples,
}

const KEY_EVERY: Duration = Duration::from_millis(50);

impl Keys {
    fn new(area: Area) -> Self {
        let (waiting, times) = (VecDeque::new(), Samples::default());
        Self { area, begun: Instant::now(), since: 0, typed: 0, waiting, times }
    }

    fn begin(&mut self) {
        (self.begun, self.since) = (Instant::now(), 0);
    }

    fn letter(number: usize) -> char {
        char::from(b'a' + (number % 26) as u8)
    }

    fn type_due(&mut self, stage: &mut Stage) {
        while self.begun + KEY_EVERY * self.since <= Instant::now() {
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
            self.times.0.push(at.duration_since(*since).as_secs_f64() * 1e3);
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

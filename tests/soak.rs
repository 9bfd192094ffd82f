//! A Neovim that is worn out: turn after turn an agent commits one fault of many while the user does
//! something else, and after each turn all has to be in order; after each chat nothing may be left. `make
//! test` runs the short form with a fixed seed, `make soak` the long one, which prints a table.

#![cfg(target_os = "linux")]

#[path = "soak/faults.rs"]
mod faults;
#[path = "soak/ledger.rs"]
mod ledger;
#[path = "soak/meter.rs"]
mod meter;
#[path = "soak/report.rs"]
mod report;
#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use rmpv::Value;
use support::project::TempProject;
use support::{Mode, Nvim, Options, demo_agent};

use faults::{ACTIONS, Action, COMMANDS, Ending, FAULTS, Fault, NONE, STARTS};
use ledger::Ledger;
use meter::Sample;

/// How long any one thing may take that has to happen. Builds may run at the same time.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many turns a chat has before it is closed and what is left is counted.
const TURNS_OF_A_CHAT: u64 = 25;
/// The first chats fill caches and load what is loaded once.
const WARM_UP: usize = 2;
/// So many MB more may be resident in the end, and with each 1,000 turns: paths that were named and the like are kept up to
/// a number, and each thread's part of the heap has holes.
const MOST_RESIDENT: (f64, f64) = (48.0, 8.0);
/// After so many the rest would say the same.
const MOST_VIOLATIONS: usize = 40;

/// How much is to be done.
pub struct Plan {
    pub turns: u64,
    pub limit: Duration,
    pub seed: u64,
    pub long: bool,
    /// One fault alone, to look into it.
    only: Option<String>,
    /// Tells of each turn how long it took.
    trace: bool,
}

impl Plan {
    fn from_env() -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.trim().parse::<u64>().ok());
        let long = number("ACP_SOAK_TURNS").is_some();
        Self {
            turns: number("ACP_SOAK_TURNS").unwrap_or(150),
            limit: number("ACP_SOAK_MINUTES")
                .map_or(Duration::from_secs(60), |minutes| Duration::from_secs(60 * minutes)),
            seed: number("ACP_SOAK_SEED").unwrap_or(1),
            long,
            trace: std::env::var_os("ACP_SOAK_TRACE").is_some(),
            only: std::env::var("ACP_SOAK_FAULT").ok().filter(|name| !name.is_empty()),
        }
    }
}

/// Numbers by chance that are the same for the same seed (splitmix).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit.max(1)
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }

    fn weighted<'a, T>(&mut self, all: &'a [T], weight: impl Fn(&T) -> u32) -> &'a T {
        let mut at = self.below(all.iter().map(|one| u64::from(weight(one))).sum());
        all.iter()
            .find(|one| {
                let weight = u64::from(weight(one));
                let here = at < weight;
                at = at.saturating_sub(weight);
                here
            })
            .expect("weights that are more than nothing")
    }
}

/// What the plugin told of a turn that is over.
struct Ended {
    reason: String,
    error: String,
}

#[derive(Default)]
pub struct Count {
    pub turns: u64,
    pub violations: u64,
}

struct Soak {
    plan: Plan,
    nvim: Nvim,
    project: TempProject,
    ledger: Ledger,
    dice: Dice,
    deck: Vec<&'static Fault>,
    turn: u64,
    faults: BTreeMap<&'static str, Count>,
    actions: BTreeMap<String, u64>,
    violations: Vec<String>,
    samples: Vec<Sample>,
    /// Descriptors and threads of the last warm-up sample, by name, to tell which are new.
    at_first: (Vec<String>, Vec<String>),
    rss_at_start: f64,
    rss_most: f64,
    /// What is done now, for the text of a violation.
    now: String,
    /// The longest of the main thread, in milliseconds, with what was done.
    slices: Vec<(f64, String)>,
    ends: Vec<Ended>,
    gone: bool,
}

#[test]
fn an_agent_that_misbehaves_costs_neither_an_answer_nor_a_key_and_leaves_nothing_behind() {
    let plan = Plan::from_env();
    let began = Instant::now();
    let mut soak = Soak::new(plan);
    // The seed is what somebody needs who wants to see it again, also when Neovim ends.
    let outcome = catch_unwind(AssertUnwindSafe(|| soak.run(began)));
    let after = match &outcome {
        Ok(()) => catch_unwind(AssertUnwindSafe(|| soak.leave())),
        Err(_) => Ok(()),
    };
    let text = report::table(&soak, began.elapsed());
    if soak.plan.long {
        report::print(&text);
    }
    if let Err(panic) = outcome.and(after) {
        report::print(&text);
        report::print(&format!("turn {}: {}\n", soak.turn, soak.now));
        resume_unwind(panic);
    }
    assert!(soak.violations.is_empty(), "{text}");
}

impl Soak {
    fn new(plan: Plan) -> Self {
        let project = TempProject::new(&[
            ("a.txt", "one\ntwo\nthree\n"),
            ("b.txt", "one\ntwo\n"),
            ("c.txt", "one\ntwo\nthree\n"),
            ("open.txt", "first\nsecond\nthird\nfourth\nfifth\n"),
            ("folder/inside.txt", "x\n"),
            ("big.txt", &"a line of some length\n".repeat(15_000)),
        ]);
        std::fs::write(project.file("binary.bin"), [0, 159, 146, 150, 255, 0]).expect("a file");
        std::os::unix::fs::symlink("loop", project.file("loop")).expect("a link to itself");
        let huge = std::fs::File::create(project.file("huge.txt")).expect("a file");
        huge.set_len(100 << 20).expect("a file with nothing in it");
        let pipe = std::ffi::CString::new(project.file("pipe").to_str().expect("UTF-8")).expect("no NUL");
        // SAFETY: takes a path that ends with a NUL.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);

        let mut nvim = Nvim::start(Options {
            columns: 120,
            rows: 40,
            cwd: Some(project.path().to_owned()),
            timeout: PATIENCE,
            ..Options::default()
        });
        let ledger = Ledger::new(nvim.home().join("ledger.jsonl"));
        let text = |path: &std::path::Path| Value::from(path.to_str().expect("a path in UTF-8"));
        nvim.exec_lua(
            "local command, ledger, probe = ...
             local agents = { faulty = { command = command, args = { '--faults', ledger } } }
             for _, start in ipairs({ 'crash', 'refuse', 'noise', 'mute' }) do
               agents[start] = { command = command, args = { '--faults', ledger, '--start', start } }
             end
             require('acp').setup({
               agents = agents,
               default_agent = 'faulty',
               files = { conflict = 'markers' },
               timeouts = { initialize = 2 },
               -- Each turn has one prompt and one fault.
               recovery = { again = false },
             })
             _G.soak = dofile(probe)
             _G.soak.start()",
            [
                text(demo_agent()),
                text(&nvim.home().join("ledger.jsonl")),
                text(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soak/probe.lua")),
            ],
        );
        let rss_at_start = meter::resident_mb(nvim.pid());
        let dice = Dice(plan.seed);
        Self {
            plan,
            nvim,
            project,
            ledger,
            dice,
            deck: Vec::new(),
            turn: 0,
            faults: BTreeMap::new(),
            actions: BTreeMap::new(),
            violations: Vec::new(),
            samples: Vec::new(),
            at_first: Default::default(),
            rss_at_start,
            rss_most: rss_at_start,
            now: String::new(),
            slices: Vec::new(),
            ends: Vec::new(),
            gone: false,
        }
    }

    fn run(&mut self, began: Instant) {
        while self.turn < self.plan.turns
            && began.elapsed() < self.plan.limit
            && self.violations.len() < MOST_VIOLATIONS
        {
            self.project.write("open.txt", "first\nsecond\nthird\nfourth\nfifth\n");
            self.attempt("edit! open.txt");
            if self.samples.len() < WARM_UP {
                // What listens for it is made once, and stays.
                self.attempt("Acp follow on");
            }
            let last = (self.turn + TURNS_OF_A_CHAT).min(self.plan.turns);
            self.come_to_rest();
            while self.turn < last
                && began.elapsed() < self.plan.limit
                && self.violations.len() < MOST_VIOLATIONS
            {
                self.one_turn();
            }
            self.close_all();
            self.count_what_is_left();
        }
    }

    fn one_turn(&mut self) {
        self.turn += 1;
        let began = Instant::now();
        let fault = self.draw();
        let action = (self.dice.below(100) < 40).then(|| self.dice.weighted(ACTIONS, |action| action.1).0);
        let number = self.turn;
        self.now = format!("{} {number}, with {action:?}", fault.name);
        let before = self.violations.len();
        self.lua("soak.turn(...)", [self.now.as_str().into()]);
        self.drain();
        if action == Some(Action::BadStart) {
            self.bad_start();
        }
        self.come_to_rest();
        self.drain();
        self.gone = false;
        self.ends.clear();
        self.send(&format!("fault {} {number}", fault.name));
        let mut queued = None;
        if let Some(action) = action {
            *self.actions.entry(format!("{action:?}")).or_default() += 1;
            if action == Action::Queue {
                queued = Some(number + 1_000_000);
                self.send(&format!("fault {} {}", NONE.name, number + 1_000_000));
            } else {
                self.act(action);
            }
        }
        let disturbed = action.is_some_and(Action::ends_turn);
        self.expect(fault, number, disturbed);
        if let (Some(queued), Ending::Answered | Ending::Failed | Ending::Either | Ending::Cancelled) =
            (queued, fault.ending)
        {
            if fault.ending == Ending::Cancelled {
                // What waits when the user stops a turn is held until the user sends it.
                self.send_held();
            }
            self.wait_for_answer(queued);
        }
        self.check();
        if self.plan.trace {
            report::print(&format!(
                "{:>8.3} s  {}
",
                began.elapsed().as_secs_f64(),
                self.now
            ));
        }
        let count = self.faults.entry(fault.name).or_default();
        count.turns += 1;
        count.violations += (self.violations.len() - before) as u64;
        self.rss_most = self.rss_most.max(meter::resident_mb(self.nvim.pid()));
    }

    /// The next fault: at first each once, then each as often as its weight says, always shuffled.
    fn draw(&mut self) -> &'static Fault {
        if self.deck.is_empty() {
            let first = self.faults.is_empty();
            let Plan { long, only, .. } = &self.plan;
            let allowed =
                |fault: &&Fault| only.as_ref().map_or(*long || !fault.slow, |only| only == fault.name);
            for fault in FAULTS.iter().filter(allowed) {
                let times = if first { 1 } else { fault.weight };
                self.deck.extend((0..times).map(|_| fault));
            }
            for at in (1..self.deck.len()).rev() {
                let other = self.dice.below(at as u64 + 1) as usize;
                self.deck.swap(at, other);
            }
        }
        self.deck.pop().expect("a fault of this name: see tests/soak/faults.rs")
    }

    /// Waits until the turn is over as its fault has it, and does what the user has to do for that.
    fn expect(&mut self, fault: &Fault, number: u64, disturbed: bool) {
        match fault.ending {
            // These need more of the user, whatever was done before.
            _ if disturbed && !matches!(fault.ending, Ending::Login | Ending::Deaf) => {
                // It may be answered, cancelled or lost with its agent; it must not go on.
                self.wait_for_rest();
            }
            Ending::Answered => self.wait_for_answer(number),
            Ending::Failed | Ending::Either => {
                let over = self.wait_for(|soak| !soak.ends.is_empty() || soak.gone);
                let told =
                    self.ends.first().is_some_and(|end| end.reason != "failed" || !end.error.is_empty());
                if !over || !told {
                    self.violate("the turn's error was not told");
                } else if fault.ending == Ending::Failed && self.ends[0].reason != "failed" {
                    let reason = self.ends[0].reason.clone();
                    self.violate(&format!("ended with {reason}, not with an error"));
                }
            }
            Ending::Gone => {
                let gone =
                    self.wait_for(|soak| matches!(soak.state().0.as_str(), "ended" | "failed" | "none"));
                if !gone {
                    self.violate("nobody told that the agent is gone");
                }
            }
            Ending::Cancelled => {
                if !self.wait_for(|soak| soak.ledger_has(number)) {
                    self.violate("the prompt never reached the agent");
                }
                self.attempt("Acp cancel");
                if !self.wait_for(|soak| !soak.ends.is_empty()) {
                    self.violate("the cancelled turn did not end");
                }
            }
            Ending::Login => {
                // Whatever ended the chat in between.
                if !self.wait_for(|soak| disturbed || soak.state().0 == "waiting") {
                    self.violate("nobody was told that a login is needed");
                }
                self.close_all();
            }
            Ending::Deaf => {
                self.attempt("Acp cancel");
                self.attempt(if number.is_multiple_of(2) { "Acp stop" } else { "Acp restart" });
                self.wait_for_rest();
            }
        }
    }

    fn wait_for_answer(&mut self, number: u64) {
        let mark = format!("done-{number}");
        let mut asked = Instant::now();
        let shown = self.wait_for(|soak| {
            soak.answer_questions(&mut asked);
            // Its buffers may have been wiped out; what was said is there again when they are.
            soak.show_chat();
            soak.is("return soak.shown(...)", [mark.as_str().into()])
        });
        if !shown {
            self.violate(&format!("the answer {mark} is not in the transcript"));
        }
        // A turn may end right after its last words; the next prompt would wait in line for that.
        let rested = self.wait_for(|soak| {
            soak.answer_questions(&mut asked);
            !matches!(soak.state().0.as_str(), "working" | "waiting")
        });
        if !rested {
            self.violate("the turn did not end");
        }
    }

    /// What waits for the user is answered, in one way or another.
    fn answer_questions(&mut self, asked: &mut Instant) {
        if self.state().0 != "waiting" || asked.elapsed() < Duration::from_millis(20) {
            return;
        }
        *asked = Instant::now();
        let answer = *self.dice.of(&["reject", "allow", "answer decline", "answer cancel", "reject"]);
        self.attempt(&format!("Acp {answer}"));
    }

    fn act(&mut self, action: Action) {
        let open = self.project.file("open.txt");
        let open = open.to_str().expect("UTF-8").to_owned();
        match action {
            Action::Close => self.attempt("Acp close"),
            Action::Stop => {
                self.attempt("Acp stop");
                if !self.wait_for(|soak| matches!(soak.state().0.as_str(), "ended" | "failed" | "none")) {
                    self.violate("the agent was not stopped");
                }
            }
            Action::Restart => self.attempt("Acp restart"),
            Action::Cancel => self.attempt("Acp cancel"),
            Action::WipeTranscript => drop(self.lua("soak.wipe('buffer')", [])),
            Action::WipePrompt => drop(self.lua("soak.wipe('prompt')", [])),
            Action::Type => {
                let keys = format!("Gotyped {}<Esc>", self.turn);
                self.lua("soak.in_file(...)", [open.into(), keys.into()]);
            }
            Action::Undo => drop(self.lua("soak.in_file(...)", [open.into(), "uu<C-r>".into()])),
            Action::Resize => {
                let (columns, rows) = *self.dice.of(&[(120, 40), (80, 24), (40, 12), (200, 60), (60, 16)]);
                self.resize(columns, rows);
            }
            Action::Tab => {
                for command in ["tabnew", "AcpChat", "tabclose"] {
                    self.attempt(command);
                }
            }
            Action::Toggle => {
                self.attempt("Acp toggle");
                self.attempt("Acp toggle");
            }
            Action::Command => {
                let command = *self.dice.of(COMMANDS);
                self.now = format!("{}, :{command}", self.now);
                self.attempt(command);
            }
            Action::Queue | Action::BadStart => {}
        }
    }

    /// Neovim takes what is too small as it likes.
    fn resize(&mut self, columns: u16, rows: u16) {
        if let Err(error) = self.nvim.request("nvim_ui_try_resize", vec![columns.into(), rows.into()]) {
            self.violate(&format!("couldn't resize to {columns}x{rows}: {error}"));
        }
    }

    /// A chat with an agent that cannot be started, which says so.
    fn bad_start(&mut self) {
        let start = *self.dice.of(STARTS);
        self.close_all();
        self.attempt(&format!("AcpChat {start}"));
        if !self.wait_for(|soak| matches!(soak.state().0.as_str(), "failed" | "ended")) {
            self.violate(&format!("nobody told that {start} failed to start"));
        }
        self.close_all();
    }

    /// Sends a prompt by command, or types it where the chat is.
    fn send(&mut self, text: &str) {
        if self.dice.below(4) > 0 {
            self.attempt(&format!("Acp send {text}"));
            return;
        }
        self.attempt("stopinsert");
        self.attempt("AcpChat");
        let ready = "local chat = require('acp').status().sessions[1]
                     return chat ~= nil and vim.api.nvim_get_current_buf() == chat.prompt";
        if self.is(ready, []) {
            // What waited in line when an agent went away stands in the prompt again.
            let empty = "vim.api.nvim_buf_set_lines(0, 0, -1, false, {})";
            self.lua(empty, []);
            self.nvim.input(&format!("<Esc>A{text}<C-s><Esc>"));
        } else {
            self.attempt(&format!("Acp send {text}"));
        }
    }

    /// Brings a chat with a live agent about, as a user would, whatever was before.
    fn come_to_rest(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        let mut asked = Instant::now();
        let mut last = String::new();
        while Instant::now() < deadline {
            let (state, _, queued) = self.state();
            match state.as_str() {
                // Its buffers may have been wiped out.
                "idle" if queued == 0 && self.show_chat() => return,
                "none" if last != state => self.attempt("AcpChat faulty"),
                "ended" | "failed" if last != state => self.attempt("Acp restart"),
                "working" if last != state => self.attempt("Acp cancel"),
                "waiting" => self.answer_questions(&mut asked),
                "idle" if queued > 0 && last != state => self.send_held(),
                _ => {}
            }
            last = state;
            self.listen();
        }
        let screen = self.nvim.screen();
        let (state, ..) = self.state();
        panic!("no chat came to rest: {state}\n{screen}");
    }

    fn send_held(&mut self) {
        let (state, _, queued) = self.state();
        if state == "idle" && queued > 0 {
            self.attempt("Acp send");
        }
    }

    /// Whether the chat has its buffers; if somebody wiped them out, they are made again.
    fn show_chat(&mut self) -> bool {
        let visible = self.is("return soak.visible()", []);
        if !visible {
            // There has to be room for it.
            self.resize(120, 40);
            self.attempt("AcpChat");
        }
        visible
    }

    /// Waits until nothing goes on.
    fn wait_for_rest(&mut self) {
        let mut asked = Instant::now();
        let mut cancelled = false;
        let rested = self.wait_for(|soak| {
            soak.answer_questions(&mut asked);
            let (state, ..) = soak.state();
            if state == "working" && !cancelled {
                // A prompt that was restarted on may begin anew, and wait for its cancel.
                cancelled = true;
                soak.attempt("Acp cancel");
            }
            !matches!(state.as_str(), "working" | "waiting" | "starting")
        });
        if !rested {
            self.violate("the turn went on after what should have ended it");
        }
    }

    fn close_all(&mut self) {
        // It listens to more while it is on.
        self.attempt("Acp follow off");
        let mut last = 0;
        let closed = self.wait_for(|soak| {
            let (state, number, _) = soak.state();
            if state != "none" && number != last {
                last = number;
                soak.attempt("Acp close");
            }
            state == "none"
        });
        if !closed {
            self.violate("the chat could not be closed");
        }
        self.ledger.catch_up();
    }

    /// What has to hold after each turn.
    fn check(&mut self) {
        let mode = self.nvim.mode();
        if is_waiting(&mode) {
            self.violate(&format!("Neovim waits for a key: {mode:?}\n{}", self.nvim.grid().text()));
            self.nvim.input("<CR><Esc>");
        }
        let trouble = self.lua("return soak.trouble()", []);
        for text in trouble.as_array().into_iter().flatten() {
            self.violate(&text.to_string());
        }
        let answered = self.wait_for(|soak| {
            soak.ledger.catch_up();
            soak.ledger.unanswered().is_empty() || soak.state().0 == "waiting"
        });
        if !answered {
            let waiting = self.ledger.unanswered().join("; ");
            self.violate(&format!("requests without an answer: {waiting}"));
        }
        self.ledger.forget_the_gone();
        for surplus in std::mem::take(&mut self.ledger.surplus) {
            self.violate(&format!("an answer that nobody had asked for: {surplus}"));
        }
        for bad in std::mem::take(&mut self.ledger.bad) {
            self.violate(&format!("sent what is no message: {bad}"));
        }
        let panics = std::fs::read_to_string(self.panic_log()).unwrap_or_default();
        if !panics.is_empty() {
            self.violate(&format!("a panic: {panics}"));
            std::fs::remove_file(self.panic_log()).expect("a file of ours");
        }
    }

    fn panic_log(&self) -> std::path::PathBuf {
        self.nvim.home().join("state/nvim/acp-panic.log")
    }

    /// Looks at all that may grow, while no chat is open.
    fn count_what_is_left(&mut self) {
        self.now = format!("after the chat that ended with turn {}", self.turn);
        self.resize(120, 40);
        self.lua("soak.tidy()", []);
        self.ledger.forget_the_gone();
        let pid = self.nvim.pid();
        // The guard of the processes stays as long as Neovim.
        if !self.wait_for(|soak| soak.nvim.processes().len() <= 1) {
            let left: Vec<_> = self.nvim.processes().into_iter().map(|process| process.command).collect();
            self.violate(&format!("processes left: {left:?}"));
            for process in self.nvim.processes() {
                if process.command.contains("sleep") || process.command.contains("acp-demo-agent") {
                    process.kill();
                }
            }
        }
        let (first_descriptors, first_threads) = self.at_first.clone();
        let warm = self.samples.len() >= WARM_UP;
        if warm {
            // Threads for blocking work end by themselves when they are idle.
            let few = self.wait_for(|_| {
                meter::descriptors(pid).len() <= first_descriptors.len() + 2
                    && meter::threads(pid).len() <= first_threads.len() + 4
            });
            if !few {
                let (now, threads) = (meter::descriptors(pid), meter::threads(pid));
                self.violate(&format!(
                    "descriptors: {}\nbefore: {}\nthreads: {threads:?}\nbefore: {first_threads:?}",
                    now.join(" "),
                    first_descriptors.join(" ")
                ));
            }
        }
        let (mut sample, mut left) = self.sample();
        if warm {
            // What was under way when the chat was closed takes a moment.
            self.wait_for(|soak| {
                (sample, left) = soak.sample();
                grown(&sample, &soak.samples[WARM_UP - 1]).is_empty()
            });
        }
        if warm && !grown(&sample, &self.samples[WARM_UP - 1]).is_empty() {
            let names = left["names"].as_str().unwrap_or_default();
            let grown = grown(&sample, &self.samples[WARM_UP - 1]).join(", ");
            self.violate(&format!("left after closing: {grown} ({names})"));
        }
        if warm {
            let before = self.samples[WARM_UP - 1].rss;
            let most = before + MOST_RESIDENT.0 + MOST_RESIDENT.1 * self.turn as f64 / 1000.0;
            if sample.rss > most {
                let (now, turns) = (sample.rss, self.turn);
                self.violate(&format!(
                    "{now:.0} MB are resident, {before:.0} were; {most:.0} may be after {turns} turns"
                ));
            }
        }
        if !warm {
            self.at_first = (meter::descriptors(pid), meter::threads(pid));
        }
        self.samples.push(sample);
        let slices = self.lua("return soak.slices()", []);
        let one = |slice: &Value| {
            (slice["ms"].as_f64().unwrap_or_default(), slice["turn"].as_str().unwrap_or_default().to_owned())
        };
        self.slices = slices.as_array().into_iter().flatten().map(one).collect();
    }

    /// The numbers, and the names behind some of them.
    fn sample(&mut self) -> (Sample, Value) {
        let pid = self.nvim.pid();
        let left = self.lua("return soak.left()", []);
        let of = |name: &str| left[name].as_f64().unwrap_or_default();
        let sample = Sample {
            turns: self.turn,
            rss: meter::resident_mb(pid),
            heap: of("heap") / 1024.0,
            descriptors: meter::descriptors(pid).len() as f64,
            threads: meter::threads(pid).len() as f64,
            children: self.nvim.processes().len() as f64,
            buffers: of("buffers"),
            marks: of("marks"),
            autocommands: of("autocommands"),
            timers: of("timers"),
            handles: of("handles"),
        };
        (sample, left)
    }

    /// The end of Neovim ends all.
    fn leave(&mut self) {
        self.now = "leaving".to_owned();
        self.attempt("AcpChat faulty");
        self.come_to_rest();
        self.attempt("Acp send fault child-left 0");
        self.wait_for_answer(0);
        self.attempt("Acp send fault never-answers 1");
        let status = self.nvim.quit();
        if !status.success() {
            self.violations.push(format!("neovim left with {status}"));
        }
        let deadline = Instant::now() + PATIENCE;
        while !self.nvim.processes().is_empty() && Instant::now() < deadline {
            std::thread::yield_now();
        }
        for process in self.nvim.processes() {
            self.violations.push(format!("outlived neovim: {}", process.command));
        }
    }

    fn ledger_has(&self, number: u64) -> bool {
        let text = std::fs::read_to_string(self.nvim.home().join("ledger.jsonl")).unwrap_or_default();
        text.contains(&format!("\"number\":\"{number}\""))
    }

    /// State, number and queue of the session that commands mean.
    fn state(&mut self) -> (String, u64, u64) {
        let state = self.lua("return soak.state()", []);
        let name = state[0].as_str().unwrap_or_default().to_owned();
        (name, state[1].as_u64().unwrap_or_default(), state[2].as_u64().unwrap_or_default())
    }

    /// A command as the user gives it; that it does not apply now is an answer, too.
    fn attempt(&mut self, command: &str) {
        self.lua("soak.try(...)", [command.into()]);
    }

    #[track_caller]
    fn lua<const N: usize>(&mut self, code: &str, args: [Value; N]) -> Value {
        self.unblock();
        self.nvim.exec_lua(code, args)
    }

    fn is<const N: usize>(&mut self, code: &str, args: [Value; N]) -> bool {
        self.lua(code, args).as_bool().unwrap_or_default()
    }

    /// While Neovim waits for a key it answers nothing else.
    fn unblock(&mut self) {
        let mode = self.nvim.mode();
        if is_waiting(&mode) {
            self.violate(&format!("Neovim waits for a key: {mode:?}\n{}", self.nvim.grid().text()));
            self.nvim.input("<CR><Esc>");
        }
    }

    /// Lets events come in for a moment.
    fn listen(&mut self) {
        self.nvim.next_flush(Duration::from_millis(10));
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(args) = self.nvim.take_notification("soak") {
            let data = &args[1];
            let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
            match args[0].as_str().unwrap_or_default() {
                "TurnEnded" => self.ends.push(Ended { reason: text("reason"), error: text("error") }),
                "Failed" => self.gone = true,
                _ => {}
            }
        }
    }

    /// Whether it comes true in time.
    fn wait_for(&mut self, mut condition: impl FnMut(&mut Self) -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.drain();
            if condition(self) {
                return true;
            }
            if Instant::now() > deadline {
                return false;
            }
            self.listen();
        }
    }

    fn violate(&mut self, what: &str) {
        let mode = self.nvim.mode();
        let tail = match is_waiting(&mode) {
            true => String::new(),
            false => {
                let tail = self.nvim.exec_lua("return soak.tail() .. '\\n' .. vim.inspect(soak.state())", []);
                tail.as_str().unwrap_or_default().to_owned()
            }
        };
        let text = format!("turn {} ({}): {what}\n{tail}\n", self.turn, self.now);
        if self.plan.long {
            report::print(&text);
        }
        self.violations.push(text);
    }
}

/// What there is more of than before.
fn grown(now: &Sample, before: &Sample) -> Vec<String> {
    let counts: [meter::Row; 4] = [
        ("buffers", |sample| sample.buffers),
        ("extmarks", |sample| sample.marks),
        ("autocommands", |sample| sample.autocommands),
        ("timers", |sample| sample.timers),
    ];
    let more = counts.iter().filter(|(_, value)| value(now) > value(before));
    more.map(|(what, value)| format!("{what}: {} after {}", value(now), value(before))).collect()
}

/// Whether Neovim shows a hit-enter prompt, a question or the like.
fn is_waiting(mode: &Mode) -> bool {
    mode.blocking || mode.name.starts_with('r')
}

//! What is measured: the loads that an agent can be, each played once per run against a fresh Neovim.
//! How each is played is for the files beside this one, what to make of the figures for `report`.

use super::stage::{Clock, Measured, Stage, Subject};
use super::{files, hostile, large, lines, scripts, startup, tools, typing};

/// The figures of one run by their names.
pub type Values = Vec<(&'static str, f64)>;

/// How large everything is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub runs: usize,
    burst: usize,
    pub per_second: u32,
    pub seconds: f64,
    fill: [usize; 2],
    pub key_burst: usize,
    pub key_bursts: usize,
    tools: usize,
    loaded: usize,
    /// Lines of chats that are long already, and chunks of an answer then.
    held: [usize; 3],
    chunks: usize,
    /// Bytes that a command prints.
    pub printed: usize,
    prompts: usize,
    starts: usize,
    places: usize,
    reads: usize,
    read_lines: usize,
    writes: usize,
    rewritten: usize,
    /// Lines of the larger diff.
    diff: usize,
    /// Chunks of a paragraph, and steps of a plan.
    many: usize,
    /// Bytes of a prompt.
    typed: usize,
    /// Bytes of a diff whose chat is closed.
    closed: usize,
    chats: usize,
    /// Texts that are hard to parse.
    hostile: usize,
    /// Calls of a tool.
    calls: usize,
    /// Files that a command changes.
    changed: usize,
}

impl Size {
    pub const FULL: Self = Self {
        runs: 3,
        burst: 50_000,
        per_second: 200,
        seconds: 10.0,
        fill: [100 << 10, 10 << 20],
        key_burst: 10_000,
        key_bursts: 10,
        tools: 2000,
        loaded: 5000,
        held: [1000, 10_000, 100_000],
        chunks: 200,
        printed: 200 << 20,
        prompts: 20,
        starts: 20,
        places: 1000,
        reads: 1000,
        read_lines: 200_000,
        writes: 200,
        rewritten: 100_000,
        diff: 50_000,
        many: 100_000,
        typed: 5 << 20,
        closed: 20 << 20,
        chats: 100,
        hostile: 17,
        calls: 500,
        changed: 1000,
    };

    /// Enough to see that everything works.
    pub const QUICK: Self = Self {
        runs: 1,
        burst: 2000,
        per_second: 200,
        seconds: 0.5,
        fill: [20 << 10, 200 << 10],
        key_burst: 1000,
        key_bursts: 2,
        tools: 30,
        loaded: 40,
        held: [90, 180, 360],
        chunks: 10,
        printed: 200 << 10,
        prompts: 2,
        starts: 1,
        places: 40,
        reads: 10,
        read_lines: 5000,
        writes: 5,
        rewritten: 5000,
        diff: 2000,
        many: 500,
        typed: 200 << 10,
        closed: 200 << 10,
        chats: 3,
        hostile: 2,
        calls: 5,
        changed: 30,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    Burst,
    KeysBurst,
    Paced,
    Paced100K,
    Paced10M,
    Busy,
    Prompt,
    Tools,
    Load,
    Lines,
    Diff,
    DiffLarge,
    Review,
    LongHunk,
    Reads,
    ReadLarge,
    Writes,
    Rewrite,
    Terminal,
    TerminalCaptured,
    Follow,
    Startup,
    Paragraph,
    Plan,
    PromptLong,
    ToolsFiles,
    Closed,
    Chats,
    Hostile,
    EditorTools,
    CommandFiles,
}

impl Scenario {
    pub const ALL: [Self; 31] = [
        Self::Burst,
        Self::KeysBurst,
        Self::Paced,
        Self::Paced100K,
        Self::Paced10M,
        Self::Busy,
        Self::Prompt,
        Self::Tools,
        Self::Load,
        Self::Lines,
        Self::Diff,
        Self::DiffLarge,
        Self::Review,
        Self::LongHunk,
        Self::Reads,
        Self::ReadLarge,
        Self::Writes,
        Self::Rewrite,
        Self::Terminal,
        Self::TerminalCaptured,
        Self::Follow,
        Self::Startup,
        Self::Paragraph,
        Self::Plan,
        Self::PromptLong,
        Self::ToolsFiles,
        Self::Closed,
        Self::Chats,
        Self::Hostile,
        Self::EditorTools,
        Self::CommandFiles,
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::KeysBurst => "keys-burst",
            Self::Paced => "paced",
            Self::Paced100K => "paced-100k",
            Self::Paced10M => "paced-10m",
            Self::Busy => "busy",
            Self::Prompt => "prompt",
            Self::Tools => "tools",
            Self::Load => "load",
            Self::Lines => "lines",
            Self::Diff => "diff",
            Self::DiffLarge => "diff-large",
            Self::Review => "review",
            Self::LongHunk => "long-hunk",
            Self::Reads => "reads",
            Self::ReadLarge => "read-large",
            Self::Writes => "writes",
            Self::Rewrite => "rewrite",
            Self::Terminal => "terminal",
            Self::TerminalCaptured => "terminal-captured",
            Self::Follow => "follow",
            Self::Startup => "startup",
            Self::Paragraph => "paragraph",
            Self::Plan => "plan",
            Self::PromptLong => "prompt-long",
            Self::ToolsFiles => "tools-files",
            Self::Closed => "closed",
            Self::Chats => "chats",
            Self::Hostile => "hostile",
            Self::EditorTools => "editor-tools",
            Self::CommandFiles => "command-files",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Burst => "50,000 small chunks as fast as the agent can",
            Self::KeysBurst => "10,000 chunks at once while a key is typed every 5 ms in another window",
            Self::Paced => "200 chunks a second while a key is typed every 50 ms in another window",
            Self::Paced100K => "the same in a chat that holds 100 KB already",
            Self::Paced10M => "the same in a chat that holds 10 MB already",
            Self::Busy => "the same in an empty chat while every core does other work",
            Self::Prompt => "from sending a prompt until the agent has it",
            Self::Tools => "2,000 thoughts, tool calls and their updates as fast as the agent can",
            Self::Load => "an earlier session of 5,000 messages",
            Self::Lines => "an answer, scrolls and openings in chats of 1,000, 10,000 and 100,000 lines",
            Self::Diff => "a question about a change of 5,000 lines in 100 hunks",
            Self::DiffLarge => "a question about a change of 50,000 lines in 500 hunks",
            Self::Review => "the review of 500 hunks in 50,000 lines: opened, and a hunk kept ten times",
            Self::LongHunk => "a new file of 50,000 lines, in which a line is typed",
            Self::Reads => "1,000 reads of 2,000 lines that are not saved",
            Self::ReadLarge => "a read of 200,000 lines that are not saved",
            Self::Writes => "200 writes to 5,000 lines, of which each changes one",
            Self::Rewrite => "a write that changes 100,000 lines in 1,000 places",
            Self::Terminal => "what `yes` prints, in a terminal that is shown, beside Neovim's own",
            Self::TerminalCaptured => "the same, beside Lua that keeps what `yes` prints and shows nothing",
            Self::Follow => "1,000 places in 20 files as fast as the agent can, followed and not",
            Self::Startup => "from nothing to a chat",
            Self::Paragraph => "100,000 chunks of one paragraph",
            Self::Plan => "a plan of 100,000 steps, three times over",
            Self::PromptLong => "a prompt of 5 MB, put into the prompt's buffer and sent",
            Self::ToolsFiles => "2,000 calls that name 2,000 files",
            Self::Closed => "a diff of 20 MB, after which its chat is closed",
            Self::Chats => "5,000 small chunks in one of 100 chats",
            Self::Hostile => "17 texts that no parser likes, each at once and in pieces of 16 KiB",
            Self::EditorTools => "500 calls of a tool that reads, each after the other's answer",
            Self::CommandFiles => {
                "a command that changes 1,000 files: told, reviewed, scrolled, and all undone"
            }
        }
    }

    pub fn subjects(self) -> &'static [Subject] {
        use Subject::{AtOnce, Captured, Floor, Ours, OwnTerminal, PerChunk, Plain};
        match self {
            Self::Burst => &[Ours, Floor, Plain, PerChunk, AtOnce],
            Self::Paced => &[Ours, Floor, Plain, PerChunk],
            Self::Paced100K | Self::Paced10M => &[Ours, Floor, Plain],
            Self::Terminal => &[Ours, OwnTerminal],
            Self::TerminalCaptured => &[Ours, Captured],
            Self::Follow
            | Self::Review
            | Self::LongHunk
            | Self::Plan
            | Self::PromptLong
            | Self::Closed
            | Self::Chats
            | Self::Hostile
            | Self::CommandFiles => &[Ours],
            _ => &[Ours, Floor],
        }
    }

    /// What the plugin is compared with.
    pub fn floor(self) -> Subject {
        match self {
            Self::Terminal => Subject::OwnTerminal,
            Self::TerminalCaptured => Subject::Captured,
            _ => Subject::Floor,
        }
    }

    /// Plays it once.
    pub fn run(self, subject: Subject, size: &Size) -> Values {
        match self {
            Self::Burst => {
                let count = size.burst.to_string();
                at_once(&Stage::open(subject, &["--flood", &count]).prompt_and_rest(Clock::Ticking))
            }
            Self::KeysBurst => typing::in_bursts(subject, size),
            Self::Paced => typing::paced(subject, size, 0),
            Self::Paced100K => typing::paced(subject, size, size.fill[0]),
            Self::Paced10M => typing::paced(subject, size, size.fill[1]),
            Self::Busy => {
                let busy = typing::Busy::everywhere();
                let values = typing::paced(subject, size, 0);
                drop(busy);
                values
            }
            Self::Prompt => {
                let mut stage = Stage::open(subject, &["--flood", "1", "--stamps"]);
                let mut times = Samples::default();
                (0..size.prompts).for_each(|_| times.0.push(stage.prompt_latency()));
                vec![("sent p50 ms", times.at(50)), ("sent p95 ms", times.at(95))]
            }
            Self::Tools => scripts::tools(subject, size.tools),
            Self::Load => scripts::load(subject, size.loaded),
            Self::Lines => lines::lines(subject, size.held, size.chunks),
            Self::Diff => scripts::diff(subject, size.diff / 10, (size.diff / 500).min(100)),
            Self::DiffLarge => scripts::diff(subject, size.diff, size.diff / 100),
            Self::Review => scripts::review(subject, size.diff, size.diff / 100),
            Self::LongHunk => scripts::long_hunk(subject, size.diff),
            Self::Reads => files::reads(subject, 2000, size.reads),
            Self::ReadLarge => files::reads(subject, size.read_lines, 1),
            Self::Writes => files::writes(subject, 5000, size.writes, 1),
            Self::Rewrite => files::writes(subject, size.rewritten, 1, size.rewritten / 100),
            Self::Terminal | Self::TerminalCaptured => files::terminal(subject, size.printed),
            Self::Follow => scripts::follow(subject, size.places),
            Self::Startup => startup::startup(subject, size.starts),
            Self::Paragraph => large::paragraph(subject, size.many),
            Self::Plan => large::plan(subject, size.many),
            Self::PromptLong => large::prompt_long(subject, size.typed),
            Self::ToolsFiles => large::calls_on_files(subject, size.tools),
            Self::Closed => large::closed(subject, size.closed),
            Self::Chats => large::chats(subject, size.chats),
            Self::Hostile => hostile::hostile(size.hostile),
            Self::EditorTools => tools::calls(subject, size.calls),
            Self::CommandFiles => large::changed_by_command(subject, size.changed),
        }
    }
}

/// The figures of what comes as fast as it can.
pub fn at_once(measured: &Measured) -> Values {
    vec![
        ("wall ms", measured.wall_ms),
        ("stall ms", measured.stall_ms),
        ("CPU s", measured.cpu_s),
        ("main thread s", measured.main_s),
        ("memory MB", measured.memory_mb),
    ]
}

/// Milliseconds, in the order they came.
#[derive(Default)]
pub struct Samples(pub Vec<f64>);

impl Samples {
    /// The time that so many in a hundred do not exceed.
    pub fn at(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
    }
}

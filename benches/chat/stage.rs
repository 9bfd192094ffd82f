//! One Neovim with one subject in it: the plugin, or one of the ways of `floor.lua`, in the same windows
//! and with the same agent. It starts, prompts and waits; what is measured and how often is for others.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rmpv::Value;

use crate::support::{Nvim, Options, demo_agent};

/// The text of an agent's last chunk.
const LAST: &str = "END-OF-FLOOD";

/// How long one measurement may take at all.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Stamps are counted modulo this.
const ROUND: u64 = 100_000_000;

/// Who shows the agent's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The plugin as users have it.
    Ours,
    /// The plugin without the colours of Markdown.
    Plain,
    /// Lua that writes into a buffer once in 16 ms.
    Floor,
    /// Lua that writes into a buffer with every chunk.
    PerChunk,
    /// Lua that writes all text at the end.
    AtOnce,
    /// Neovim's own terminal, with the command that an agent runs else.
    OwnTerminal,
    /// Lua that keeps what that command prints, and shows none of it.
    Captured,
}

impl Subject {
    pub fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Ours,
            Self::Plain,
            Self::Floor,
            Self::PerChunk,
            Self::AtOnce,
            Self::OwnTerminal,
            Self::Captured,
        ];
        all.into_iter().find(|subject| subject.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Plain => "no colours",
            Self::Floor => "floor",
            Self::PerChunk => "per chunk",
            Self::AtOnce => "at once",
            Self::OwnTerminal => ":terminal",
            Self::Captured => "captured",
        }
    }

    /// The module that drives it, and its name there.
    pub fn module(self) -> (&'static str, &'static str) {
        match self {
            Self::Ours => (include_str!("ours.lua"), "ours"),
            Self::Plain => (include_str!("ours.lua"), "plain"),
            Self::Floor => (include_str!("floor.lua"), "floor"),
            Self::PerChunk => (include_str!("floor.lua"), "chunk"),
            Self::AtOnce => (include_str!("floor.lua"), "once"),
            Self::OwnTerminal => (include_str!("terminal.lua"), "own"),
            Self::Captured => (include_str!("terminal.lua"), "captured"),
        }
    }
}

/// Whether stalls are looked for, which costs something by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    Ticking,
    Silent,
}

/// A rectangle of the screen.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    pub row: usize,
    pub column: usize,
    pub width: usize,
    pub height: usize,
}

pub struct Stage {
    pub nvim: Nvim,
}

/// A Neovim of the benchmarks' size, with nothing in it.
pub fn neovim() -> Nvim {
    neovim_in(None)
}

fn neovim_in(folder: Option<&Path>) -> Nvim {
    let cwd = folder.map(Path::to_owned);
    let mut nvim = Nvim::start(Options { columns: 120, rows: 40, timeout: LIMIT, cwd, ..Options::default() });
    nvim.exec_lua("probe = load(...)()", [include_str!("probe.lua").into()]);
    nvim
}

/// The demo agent with these arguments, as an `argv` for Lua.
pub fn argv(args: &[&str]) -> Value {
    let agent = demo_agent().to_str().expect("a path in UTF-8");
    Value::Array(std::iter::once(agent).chain(args.iter().copied()).map(Value::from).collect())
}

impl Stage {
    /// Opens the chat, and waits until the agent is ready and the windows are drawn.
    pub fn open(subject: Subject, args: &[&str]) -> Self {
        Self::open_in(None, subject, args)
    }

    /// The same in a project's folder, whose files the agent may touch.
    pub fn open_in(folder: Option<&Path>, subject: Subject, args: &[&str]) -> Self {
        let mut nvim = neovim_in(folder);
        let (code, way) = subject.module();
        nvim.exec_lua(
            "local code, argv, way = ...
             bench = load(code)()
             bench.open(argv, way)",
            [code.into(), argv(args), way.into()],
        );
        let mut stage = Self { nvim };
        stage.wait_idle();
        // What is prepared once a chat is open, such as parsers, is no part of what is measured next.
        stage.nvim.exec_lua("probe.tell_at_rest()", []);
        let rested = |nvim: &mut Nvim| nvim.take_notification("rested").is_some();
        stage.nvim.wait_within(LIMIT, rested, "Neovim to be at rest");
        stage
    }

    fn wait_idle(&mut self) {
        self.nvim.wait_within(
            LIMIT,
            |nvim| nvim.exec_lua("return bench.idle()", []) == true.into(),
            "the agent to be ready",
        );
    }

    /// Prompts, and waits until the answer is complete and Neovim is at rest.
    pub fn prompt_and_rest(&mut self, clock: Clock) -> Measured {
        self.prompt(clock);
        self.rest()
    }

    /// Prompts; the answer comes while others look on.
    pub fn prompt(&mut self, clock: Clock) {
        let code = "local last, ticks = ...
                    probe.run(last, ticks, function()
                      bench.prompt('go')
                      return bench.buffer()
                    end)";
        self.nvim.exec_lua(code, [LAST.into(), (clock == Clock::Ticking).into()]);
    }

    /// Takes up an earlier session of the agent's, and waits until all of it is there.
    pub fn load_and_rest(&mut self, clock: Clock) -> Measured {
        let args = [LAST.into(), (clock == Clock::Ticking).into()];
        self.nvim.exec_lua("bench.load(probe, ...)", args);
        self.rest()
    }

    /// Shows a file beside the chat.
    pub fn show(&mut self, path: &Path) {
        let code = "local path = ...
                    vim.api.nvim_win_call(vim.fn.win_getid(1), function()
                      vim.cmd.edit(vim.fn.fnameescape(path))
                    end)";
        self.nvim.exec_lua(code, [path.to_str().expect("a path in UTF-8").into()]);
    }

    /// Shows a file beside the chat, with unsaved edits and with marks.
    pub fn edit(&mut self, path: &Path) {
        self.nvim.exec_lua("probe.edit(...)", [path.to_str().expect("a path in UTF-8").into()]);
    }

    /// Milliseconds of the main thread for a scroll through the chat by half a window.
    pub fn scroll_cost(&mut self) -> f64 {
        self.nvim.input("<C-\\><C-n>");
        self.nvim.exec_lua("return probe.scroll_cost(bench.buffer())", []).as_f64().expect("a number")
    }

    /// Milliseconds of the main thread for showing the chat's windows again.
    pub fn open_cost(&mut self) -> f64 {
        self.nvim.exec_lua("return probe.open_cost(bench.toggle)", []).as_f64().expect("a number")
    }

    /// How many of the file's marks are not where they were.
    pub fn lost_marks(&mut self) -> f64 {
        self.nvim.exec_lua("return probe.lost_marks()", []).as_f64().expect("a number")
    }

    /// Waits for the end of what [`Self::prompt`] began.
    pub fn rest(&mut self) -> Measured {
        let mut measured = None;
        let take = |nvim: &mut Nvim| {
            measured = nvim.take_notification("measured");
            measured.is_some()
        };
        self.nvim.wait_within(LIMIT, take, "the end of the answer");
        self.wait_idle();
        Measured::of(&measured.expect("waited for above")[0])
    }

    pub fn has_rest(&mut self) -> Option<Measured> {
        self.nvim.take_notification("measured").map(|args| Measured::of(&args[0]))
    }

    /// Has Lua do something, and waits until Neovim is at rest.
    pub fn act_and_rest(&mut self, code: &str) -> Measured {
        self.nvim.exec_lua(&format!("probe.run(nil, true, function() {code} end)"), []);
        self.rest()
    }

    /// The same, and until a file holds so many bytes: what is done in the background leaves Neovim at rest, too.
    pub fn act_until_written(&mut self, code: &str, path: &Path, bytes: usize) -> Measured {
        let code = format!(
            "local path, bytes = ...
             probe.run(nil, true, function() {code} end, function()
               local file = assert(io.open(path))
               local size = file:seek('end')
               file:close()
               return size == bytes
             end)"
        );
        self.nvim.exec_lua(&code, [path.to_string_lossy().into_owned().into(), (bytes as u64).into()]);
        self.rest()
    }

    /// Prompts, and says how many milliseconds went by until the agent had it.
    pub fn prompt_latency(&mut self) -> f64 {
        let code = "local buf, last = bench.buffer(), ...
                    first = vim.api.nvim_buf_line_count(buf) - 1
                    sent = probe.stamp()
                    probe.run(last, false, function()
                      bench.prompt('go')
                      return buf
                    end)
                    return sent";
        let sent = self.nvim.exec_lua(code, [LAST.into()]).as_u64().expect("a number");
        self.rest();
        let code = "local lines = vim.api.nvim_buf_get_lines(bench.buffer(), first, -1, false)
                    return table.concat(lines, '\\n')";
        let text = self.nvim.exec_lua(code, []);
        // The line that it begins in may hold the end of an earlier one.
        let mut since = stamps(text.as_str().expect("a text")).map(|stamp| millis(stamp, sent));
        since.find(|time| *time > 0.0).expect("a stamp in the answer")
    }

    /// Goes to the window beside the chat and starts to insert text there; says where that window is.
    pub fn type_beside(&mut self) -> Area {
        self.nvim.input("<C-\\><C-n>");
        self.nvim.exec_lua("vim.api.nvim_set_current_win(vim.fn.win_getid(1))", []);
        self.nvim.input("i");
        self.nvim.wait_until(|nvim| nvim.mode().name == "i", "insert mode");
        self.area("return vim.fn.win_getid(1)")
    }

    /// Where the chat's text is shown.
    pub fn chat_area(&mut self) -> Area {
        self.area("return vim.fn.bufwinid(bench.buffer())")
    }

    fn area(&mut self, win: &str) -> Area {
        let code = format!(
            "local win = (function() {win} end)()
             local row, column = unpack(vim.fn.win_screenpos(win))
             return {{ row - 1, column - 1, vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }}"
        );
        let area = self.nvim.exec_lua(&code, []);
        let [row, column, width, height] =
            [0, 1, 2, 3].map(|index| area[index].as_u64().expect("a number") as usize);
        Area { row, column, width, height }
    }

    /// What stands in a part of the screen.
    pub fn text(&self, area: Area) -> String {
        let rows = area.row..area.row + area.height;
        self.nvim.grid().part(rows, area.column..area.column + area.width)
    }
}

/// What Neovim's own clocks say about one answer; see `probe.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub wall_ms: f64,
    pub cpu_s: f64,
    pub main_s: f64,
    pub stall_ms: f64,
    pub gap_ms: f64,
    /// Until the user could see a question.
    pub shown_ms: f64,
    pub memory_mb: f64,
    /// The most that the resident set had grown by at any time, where the system tells.
    pub peak_mb: f64,
}

impl Measured {
    fn of(result: &Value) -> Self {
        let number = |name: &str| result[name].as_f64().expect("a number");
        Self {
            wall_ms: number("wall_ms"),
            cpu_s: number("cpu_s"),
            main_s: number("main_s"),
            stall_ms: number("stall_ms"),
            gap_ms: number("gap_ms"),
            shown_ms: number("shown_ms"),
            memory_mb: number("memory_mb"),
            peak_mb: number("peak_mb"),
        }
    }
}

/// The times that the agent wrote into its text, see its `--stamps`.
pub fn stamps(text: &str) -> impl Iterator<Item = u64> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter_map(|word| {
        let digits = word.strip_prefix('t').filter(|digits| digits.len() == 8)?;
        digits.parse().ok()
    })
}

/// A moment in the unit of the stamps.
pub fn stamp_of(at: Instant) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is set");
    let then = now - at.elapsed();
    (then.as_micros() / 10) as u64 % ROUND
}

/// Milliseconds between two stamps; below zero counts as zero, since the clocks are read apart.
pub fn millis(later: u64, earlier: u64) -> f64 {
    let between = (later + ROUND - earlier) % ROUND;
    if between > ROUND / 2 { 0.0 } else { between as f64 / 100.0 }
}

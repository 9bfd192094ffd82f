//! The stage: Neovim in a small project, with an agent that plays a script. The agent waits for a cue
//! wherever there is something to see, so each screen is taken after a condition, not after some time.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::screen::Screen;
use super::times::Times;
use crate::support::project::TempProject;
use crate::support::{DEADLINE, Nvim, Options, demo_agent, neovim};

/// A screen counts as settled when nothing was drawn for this long. Only details are left to this: the
/// important parts have been waited for by then.
const QUIET: Duration = Duration::from_millis(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Dark,
    Light,
}

impl Theme {
    pub const BOTH: [Self; 2] = [Self::Dark, Self::Light];

    pub fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }
}

pub struct Stage {
    pub nvim: Nvim,
    project: TempProject,
    pub times: Times,
    /// Named pipes: the agent waits for lines from the one, the commands that it runs from the other.
    cues: File,
    checks: File,
    /// The colour of times in the chat.
    meta: u32,
}

const PROJECT: &[(&str, &str)] = &[
    ("src/retry.lua", include_str!("project/src/retry.lua")),
    ("tests/check.lua", include_str!("project/tests/check.lua")),
    ("tests/retry_test.lua", include_str!("project/tests/retry_test.lua")),
    ("tests/soak.lua", include_str!("project/tests/soak.lua")),
];

impl Stage {
    /// `options` is what stands between the braces of `setup({ .. })`.
    pub fn new(theme: Theme, (columns, rows): (u16, u16), mut steps: Vec<Value>, options: &str) -> Self {
        let project = TempProject::new(PROJECT);
        std::fs::create_dir(project.file(".git")).expect("a folder of the project");
        std::fs::create_dir(project.file(".agent")).expect("a folder of the project");
        // What the agent is told and writes down there is no change of the project's.
        project.write(".agent/.gitignore", "*\n");
        let cues = make_pipe(&project.file(".agent/cues"));
        let checks = make_pipe(&project.file(".agent/checks"));
        steps.push(json!({ "wait_eof": true }));
        let root = project.path().to_str().expect("a path in UTF-8");
        let script = Value::Array(steps).to_string().replace("$PROJECT", root);
        project.write(".agent/script.json", &script);
        // For the agent's commands, `nvim -l ..`. Not a link: `nvim` may be a script that finds the rest of
        // Neovim by its own path.
        let nvim = format!("#!/bin/sh\nexec '{}' \"$@\"\n", neovim().display());
        project.write(".agent/nvim", &nvim);
        let may_run = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(project.file(".agent/nvim"), may_run).expect("a file of our own");
        let path = std::env::var("PATH").unwrap_or_default();
        let set = format!(
            "set termguicolors background={} number signcolumn=yes laststatus=3 fillchars=eob:\\  nowrap noswapfile",
            theme.name()
        );
        let nvim = Nvim::start(Options {
            columns,
            rows,
            cwd: Some(project.path().to_owned()),
            args: vec!["--cmd".into(), set, "src/retry.lua".into()],
            env: vec![
                ("PATH".into(), format!("{root}/.agent:{path}")),
                ("CHECK_CUES".into(), format!("{root}/.agent/checks")),
            ],
            ..Options::default()
        });
        let mut stage = Self { nvim, project, times: Times::default(), cues, checks, meta: 0 };
        let code = format!(
            "local command, script = ...
             local options = {{ {options} }}
             options.agents = {{ demo = {{ command = command, args = {{ '--script', script }} }} }}
             options.default_agent = 'demo'
             options.permission = {{ open = 'never' }}
             require('acp').setup(options)
             vim.o.statusline = [[ %f %= %{{v:lua.require'acp'.statusline()}}  %l:%c ]]"
        );
        // The default colour scheme sets none for terminals; these are its own colours by other names.
        let colors = "local shade = vim.o.background == 'dark' and 'NvimLight' or 'NvimDark'
            for number, name in pairs({ 'Red', 'Green', 'Yellow', 'Blue', 'Magenta', 'Cyan' }) do
              local color = vim.api.nvim_get_color_by_name(shade .. name)
              vim.g['terminal_color_' .. number] = ('#%06x'):format(color)
            end";
        stage.nvim.exec_lua(colors, []);
        let text = |path: &Path| path.to_str().expect("a path in UTF-8").into();
        let script = stage.project.file(".agent/script.json");
        stage.nvim.exec_lua(&code, [text(demo_agent()), text(&script)]);
        stage
    }

    /// The agent goes on.
    pub fn cue(&mut self) {
        self.cues.write_all(b"go\n").expect("a pipe that takes a line");
    }

    /// The command that the agent runs goes on.
    pub fn check(&mut self) {
        self.checks.write_all(b"go\n").expect("a pipe that takes a line");
    }

    /// Presses the digit of an answer until it is taken: the first moment of a question takes none.
    pub fn answer(&mut self, digit: &str, question: &str) {
        self.nvim.wait_until(
            |nvim| {
                nvim.input(&format!("<Esc>{digit}"));
                nvim.next_flush(QUIET);
                !nvim.screen().contains(question)
            },
            "the answer to be taken",
        );
        // The last digit may have come too late, and be a count now.
        self.nvim.input("<Esc>");
    }

    /// Waits until a text is on the screen so many times.
    pub fn sees_times(&mut self, times: usize, text: &str) {
        let what = format!("{text:?} to be on the screen {times} times");
        self.nvim.wait_until(|nvim| nvim.screen().matches(text).count() == times, &what);
    }

    /// Waits until a word has another style than the sign before it: a review is shown first and coloured
    /// then. `before` and `word` are one text on the screen.
    pub fn sees_colored(&mut self, before: &str, word: &str) {
        let sign = before.trim_end().chars().count() - 1;
        let is_colored = |nvim: &mut Nvim| {
            let grid = nvim.grid();
            grid.find(&format!("{before}{word}")).is_some_and(|(row, column)| {
                grid.style(row, column + sign) != grid.style(row, column + before.chars().count())
            })
        };
        self.nvim.wait_until(is_colored, &format!("{word:?} to have its colours"));
    }

    /// Waits until what has been typed is in the command line, or else in the buffer.
    pub fn typed(&mut self, text: &str) {
        let code = "return vim.fn.mode() == 'c' and ':' .. vim.fn.getcmdline()
            or table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')";
        self.nvim.wait_until(|nvim| nvim.exec_lua(code, []).as_str() == Some(text), "keys to arrive");
    }

    /// The agent goes on, until a text is on the screen.
    pub fn cue_for(&mut self, text: &str) {
        self.cue();
        self.nvim.wait_for_screen(text);
    }

    /// Opens the chat and sends a prompt, up to what the agent does at first.
    pub fn send(&mut self, prompt: &str, text: &str) {
        self.nvim.command("AcpChat");
        self.nvim.wait_for_screen("ready");
        self.nvim.input(&format!("{prompt}<C-s>"));
        self.nvim.wait_for_screen(text);
    }

    /// Waits until the screen is up to date and nothing is drawn any more.
    pub fn settle(&mut self) {
        let mode = self.nvim.mode();
        if !mode.blocking && mode.name != "c" {
            // Bars are updated once a second, or when windows change. The corners of separators depend on
            // what Neovim drew before, unless it draws everything again.
            self.nvim.exec_lua("vim.api.nvim_exec_autocmds('WinResized', {})", []);
            self.nvim.command("redraw!");
            // Drawn again, the mode's name has the cursor behind it for a moment.
            let last = self.nvim.grid().size().1 - 1;
            let is_back =
                |nvim: &mut Nvim| nvim.exec_lua("return true", []) == true.into() && nvim.cursor().0 < last;
            self.nvim.wait_until(is_back, "the cursor to be in its window");
            let code = "return vim.api.nvim_get_hl(0, { name = 'AcpMeta', link = false }).fg or 0";
            self.meta = self.nvim.exec_lua(code, []).as_u64().expect("a colour") as u32;
        }
        let deadline = Instant::now() + DEADLINE;
        while self.nvim.next_flush(QUIET).is_some() {
            assert!(Instant::now() < deadline, "the screen never stands still:\n{}", self.nvim.screen());
        }
    }

    /// The screen, with the screenplay's times on it.
    pub fn screen(&mut self) -> Screen {
        self.settle();
        let mut screen = Screen::of(self.nvim.grid());
        self.times.put(&mut screen, self.meta);
        screen
    }
}

/// A named pipe; the standard library can't make one.
fn make_pipe(path: &Path) -> File {
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).expect("a path without a zero");
    // SAFETY: takes a path that ends with a zero, and the rights of the new file.
    let made = unsafe { libc::mkfifo(name.as_ptr(), 0o600) };
    assert_eq!(made, 0, "couldn't make {}: {}", path.display(), std::io::Error::last_os_error());
    // Opened for writing alone, it would wait for a reader.
    OpenOptions::new().read(true).write(true).open(path).expect("a pipe of our own")
}

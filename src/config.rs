//! The user's options as one typed struct. [`Config::from_value`] parses the table given to `setup()` and
//! names the key of every mistake at once. The options are listed in [`options`], the known agents in
//! [`catalog`], and how to start one is in [`agents`]. Acting on an option is left to others.

pub mod agents;
pub mod catalog;
#[cfg(test)]
mod help_tests;
pub mod options;
mod read;
#[cfg(test)]
mod tests;

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

pub use self::agents::{Agent, Choice, Machine, Standing};
pub use self::catalog::{Catalog, Preset, preset, presets};
pub use self::options::{KEYS, KeySpec, OPTIONS, OptionSpec, Pane};
use self::read::{Field, Report, Table};
use crate::core::message::McpServer;

#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// By name; one that is also a preset's extends that preset.
    pub agents: BTreeMap<String, AgentOptions>,
    pub default_agent: Option<String>,
    pub registry: RegistryOptions,
    pub window: WindowOptions,
    pub prompt: PromptOptions,
    pub icons: bool,
    pub timestamps: bool,
    pub follow: FollowOptions,
    pub permission: PermissionOptions,
    pub keys: Keys,
    pub chat: ChatOptions,
    pub terminal: TerminalOptions,
    pub diff: DiffOptions,
    pub files: FilesOptions,
    pub mcp_servers: Vec<McpServer>,
    /// As written: a relative one is meant from the session's root.
    pub additional_directories: Vec<PathBuf>,
    /// By folder, as written with `~` resolved.
    pub projects: BTreeMap<PathBuf, ProjectOptions>,
    pub log: Log,
    pub notify: bool,
    pub bell: bool,
    pub record: bool,
    pub checkpoints: CheckpointOptions,
    pub timeouts: Timeouts,
}

/// One entry of `agents`. What is `None` comes from the preset of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOptions {
    pub command: Option<String>,
    pub args: Option<Vec<String>>,
    pub env: Vec<(String, String)>,
    /// As written: a relative one is meant from the session's root.
    pub cwd: Option<PathBuf>,
    pub title: Option<String>,
    /// In place of the servers given for all agents.
    pub mcp_servers: Option<Vec<McpServer>>,
    pub enabled: bool,
    /// In place of what holds for all.
    pub follow: Option<bool>,
}

/// What one project, and all below its folder, has beside what all have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectOptions {
    pub mcp_servers: Vec<McpServer>,
    pub additional_directories: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowOptions {
    pub layout: Layout,
    /// What fits the layout where there is none.
    pub width: Option<Size>,
    pub height: Option<Size>,
    pub prompt_height: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryOptions {
    /// Where the index of agents is fetched from.
    pub url: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptOptions {
    pub complete: Complete,
}

/// When completion opens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complete {
    /// Where no completion plugin does it.
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Right,
    Left,
    Bottom,
    Top,
    Float,
    Tab,
    Current,
}

/// A window's width or height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Cells(u16),
    /// 1 to 100, of the whole editor.
    Percent(u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowOptions {
    pub enabled: bool,
    /// After the user has been quiet for so long.
    pub resume_after: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermissionOptions {
    pub open: OpenQuestions,
}

/// When a question of an agent's opens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenQuestions {
    /// Not while the user types.
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatOptions {
    pub images: Images,
}

/// How images of agents' show in the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Images {
    /// In place, where something can draw them.
    Auto,
    /// As a line that leads to them.
    Link,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalOptions {
    pub auto_open: AutoOpen,
    pub position: Position,
    pub size: Size,
    pub auto_close: AutoClose,
    /// Whether what the user types in a terminal reaches the command.
    pub input: bool,
    /// How many commands may run at once.
    pub limit: u16,
    /// How long a command may run.
    pub timeout: Option<Duration>,
    /// How many bytes of a command's output an agent may have kept.
    pub output_limit: usize,
}

/// When the window of an agent's command that opened by itself closes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoClose {
    Never,
    /// Once the command has ended well.
    Success,
}

/// When an agent's command gets a window of its own without being asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoOpen {
    Always,
    /// Once it has run for a while.
    Long,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    Bottom,
    Top,
    Right,
    Left,
    Tab,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffOptions {
    pub style: DiffStyle,
    /// How long changes stay marked that are neither kept nor undone.
    pub stay: Stay,
    pub tell_undone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// Until the user has decided.
    Decided,
    /// Until the session's next prompt.
    Prompt,
    /// Until the turn is over.
    Turn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffStyle {
    Inline,
    /// What is proposed stands beside the file.
    Split,
    Off,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesOptions {
    pub conflict: OnConflict,
    pub format_on_save: bool,
    pub save: Save,
    pub unsaved: Unsaved,
    pub outside: OutsideFiles,
    /// Absolute, with all that is in them.
    pub allowed_read: Vec<PathBuf>,
    pub allowed_write: Vec<PathBuf>,
}

/// What becomes of an agent's wish for a file outside of its session's folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideFiles {
    Ask,
    Refuse,
}

/// What to do about lines that the user and the agent changed both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    Ask,
    Refuse,
    Markers,
}

/// Which buffers are saved after an agent wrote into them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Save {
    Clean,
    Always,
}

/// What to do about unsaved edits before a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsaved {
    Mention,
    Save,
    Nothing,
}

/// Whether the messages exchanged with agents are written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Log {
    Off,
    /// In the plugin's log file.
    On,
    File(PathBuf),
}

/// Whether and for how long it is kept what files held before turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointOptions {
    pub enabled: bool,
    pub days: u16,
    /// MiB, of all projects together.
    pub size: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub initialize: Duration,
}

/// The chat's keys: for each of [`KEYS`], in that order, what the user types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys(Vec<Vec<String>>);

/// What is wrong with the options, or with what they lead to. The texts fit after a colon.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    #[error("{key}: unknown key, {}", advice(.nearest.as_deref(), "acp-config"))]
    UnknownKey { key: String, nearest: Option<String> },
    #[error("{key}: expected {expected}, got {got}")]
    Unexpected { key: String, expected: String, got: String },
    #[error("{key}: {problem}")]
    Invalid { key: String, problem: String },
    #[error("no agent is called {name:?}, {}", advice(.nearest.as_deref(), "acp-agents"))]
    UnknownAgent { name: String, nearest: Option<String> },
    #[error("{name:?} is switched off: remove `enabled = false` from agents.{name}")]
    Disabled { name: String },
    #[error("no such program {program:?}: {todo}")]
    NoProgram { program: String, todo: String },
    #[error("{name} isn't published for this system ({system}): see its website in :Acp agents")]
    OtherSystem { name: String, system: String },
}

fn advice(nearest: Option<&str>, help: &str) -> String {
    match nearest {
        Some(nearest) => format!("did you mean {nearest:?}?"),
        None => format!("see :help {help}"),
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            agents: BTreeMap::new(),
            default_agent: None,
            registry: RegistryOptions { url: REGISTRY.to_owned() },
            window: WindowOptions { layout: Layout::Right, width: None, height: None, prompt_height: 5 },
            prompt: PromptOptions { complete: Complete::Auto },
            icons: true,
            timestamps: false,
            follow: FollowOptions { enabled: false, resume_after: Duration::from_secs(5) },
            permission: PermissionOptions { open: OpenQuestions::Auto },
            keys: Keys::default(),
            chat: ChatOptions { images: Images::Auto },
            terminal: TerminalOptions {
                auto_open: AutoOpen::Long,
                position: Position::Bottom,
                size: Size::Cells(12),
                auto_close: AutoClose::Never,
                input: true,
                limit: 32,
                timeout: None,
                output_limit: 1 << 20,
            },
            diff: DiffOptions { style: DiffStyle::Inline, stay: Stay::Decided, tell_undone: true },
            files: FilesOptions {
                outside: OutsideFiles::Ask,
                allowed_read: Vec::new(),
                allowed_write: Vec::new(),
                conflict: OnConflict::Ask,
                format_on_save: false,
                save: Save::Clean,
                unsaved: Unsaved::Mention,
            },
            mcp_servers: Vec::new(),
            additional_directories: Vec::new(),
            projects: BTreeMap::new(),
            log: Log::Off,
            notify: true,
            bell: false,
            record: true,
            checkpoints: CheckpointOptions { enabled: true, days: 30, size: 200 },
            timeouts: Timeouts { initialize: Duration::from_secs(300) },
        }
    }
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            command: None,
            args: None,
            env: Vec::new(),
            cwd: None,
            title: None,
            mcp_servers: None,
            enabled: true,
            follow: None,
        }
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self(KEYS.iter().map(|key| key.default.iter().map(|&lhs| lhs.to_owned()).collect()).collect())
    }
}

impl Keys {
    /// The bindings of one of the chat's buffers: which key, what to type for it.
    pub fn of(&self, pane: Pane) -> impl Iterator<Item = (&'static KeySpec, &str)> {
        KEYS.iter()
            .zip(&self.0)
            .filter(move |(key, _)| key.panes.contains(&pane))
            .flat_map(|(key, all)| all.iter().map(move |lhs| (key, lhs.as_str())))
    }

    /// What is typed for the key of that name, as one reads it: digits in a row are `1 .. 9`.
    pub fn shown(&self, name: &str) -> String {
        shown(self.get(name))
    }

    /// A line that says what to type for what: pairs of a key's name and what it does. Keys that are switched
    /// off are not named.
    pub fn line(&self, of: &[(&str, &str)]) -> String {
        let named = of.iter().filter_map(|(name, what)| Some(format!("{} {what}", self.get(name).first()?)));
        named.collect::<Vec<_>>().join(" \u{b7} ")
    }

    /// What is typed for the key of that name; empty when it is switched off or there is none.
    pub fn get(&self, name: &str) -> &[String] {
        KEYS.iter().zip(&self.0).find(|(key, _)| key.name == name).map_or(&[], |(_, all)| all)
    }
}

/// Keys in a row as one reads them.
fn shown<S: AsRef<str>>(keys: &[S]) -> String {
    let all: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    match all.as_slice() {
        ["1", "2", .., "9"] if all.len() == 9 => "1 .. 9".to_owned(),
        all => all.join(" "),
    }
}

impl Size {
    /// The size in cells where the editor has `total` of them; at least one, at most all.
    pub fn of(self, total: u16) -> u16 {
        let cells = match self {
            Size::Cells(cells) => cells,
            Size::Percent(percent) => {
                u16::try_from(u32::from(total) * u32::from(percent) / 100).unwrap_or(total)
            }
        };
        cells.clamp(1, total.max(1))
    }
}

impl Config {
    /// Reads the table that was given to `setup()`. All mistakes are reported, not just the first.
    pub fn from_value(value: &Value) -> Result<Self, Vec<ConfigError>> {
        let report = Report::default();
        let mut config = Self::default();
        if let Some(table) = Field::root(value, &report).table("") {
            config.read(&table);
            table.close();
        }
        config.check(&report);
        report.into_result(config)
    }

    /// The servers that a session with this agent in `cwd` gets: those of the agent, or of all, and
    /// those of the projects that `cwd` is in. ACP wants their programs as absolute paths.
    pub fn mcp_servers(
        &self,
        agent: &str,
        cwd: &Path,
        find: impl Fn(&str) -> Option<PathBuf>,
    ) -> Vec<McpServer> {
        let own = self.agents.get(agent).and_then(|options| options.mcp_servers.as_ref());
        let mut servers = own.unwrap_or(&self.mcp_servers).clone();
        servers.extend(self.projects_of(cwd).flat_map(|project| project.mcp_servers.clone()));
        for server in &mut servers {
            if let McpServer::Stdio { command, .. } = server
                && let Some(found) = command.to_str().and_then(&find)
            {
                *command = found;
            }
        }
        servers
    }

    /// The further roots of a session that works in `cwd`.
    pub fn additional_directories(&self, cwd: &Path) -> Vec<PathBuf> {
        let of_projects = self.projects_of(cwd).flat_map(|project| &project.additional_directories);
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in self.additional_directories.iter().chain(of_projects) {
            let folder = cwd.join(folder);
            if folder != cwd && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    fn projects_of<'a>(&'a self, cwd: &'a Path) -> impl Iterator<Item = &'a ProjectOptions> {
        self.projects.iter().filter(|(folder, _)| cwd.starts_with(folder)).map(|(_, options)| options)
    }

    #[expect(clippy::too_many_lines, reason = "one entry an option")]
    fn read(&mut self, table: &Table<'_>) {
        if let Some(agents) = table.get("agents").and_then(|field| field.map()) {
            self.agents = agents
                .into_iter()
                .filter_map(|(name, field)| Some((name.to_owned(), AgentOptions::read(&field)?)))
                .collect();
        }
        self.default_agent = table.get("default_agent").and_then(|field| field.string());
        if let Some(registry) = table.group("registry") {
            registry.set("url", &mut self.registry.url, |field| field.address());
            registry.close();
        }
        if let Some(window) = table.group("window") {
            let known = &mut self.window;
            window.set("layout", &mut known.layout, |field| field.one_of(LAYOUTS));
            window.set("width", &mut known.width, |field| field.size().map(Some));
            window.set("height", &mut known.height, |field| field.size().map(Some));
            window.set("prompt_height", &mut known.prompt_height, |field| field.cells());
            window.close();
        }
        if let Some(prompt) = table.group("prompt") {
            prompt.set("complete", &mut self.prompt.complete, |field| field.one_of(COMPLETES));
            prompt.close();
        }
        table.set("icons", &mut self.icons, |field| field.bool());
        table.set("timestamps", &mut self.timestamps, |field| field.bool());
        if let Some(field) = table.get("follow") {
            self.follow.read(&field);
        }
        if let Some(permission) = table.group("permission") {
            permission.set("open", &mut self.permission.open, |field| field.one_of(OPEN_QUESTIONS));
            permission.close();
        }
        if let Some(keys) = table.group("keys") {
            for (key, all) in KEYS.iter().zip(&mut self.keys.0) {
                keys.set(key.name, all, |field| field.keys());
            }
            keys.close();
        }
        if let Some(chat) = table.group("chat") {
            chat.set("images", &mut self.chat.images, |field| field.one_of(IMAGES));
            chat.close();
        }
        if let Some(terminal) = table.group("terminal") {
            let known = &mut self.terminal;
            terminal.set("auto_open", &mut known.auto_open, |field| field.one_of(AUTO_OPEN));
            terminal.set("position", &mut known.position, |field| field.one_of(POSITIONS));
            terminal.set("size", &mut known.size, |field| field.size());
            terminal.set("auto_close", &mut known.auto_close, |field| field.one_of(AUTO_CLOSE));
            terminal.set("input", &mut known.input, |field| field.bool());
            terminal.set("limit", &mut known.limit, |field| field.cells());
            terminal.set("timeout", &mut known.timeout, |field| field.seconds_or_never());
            terminal.set("output_limit", &mut known.output_limit, |field| field.bytes());
            terminal.close();
        }
        if let Some(diff) = table.group("diff") {
            diff.set("style", &mut self.diff.style, |field| field.one_of(DIFF_STYLES));
            diff.set("stay", &mut self.diff.stay, |field| field.one_of(STAYS));
            diff.set("tell_undone", &mut self.diff.tell_undone, |field| field.bool());
            diff.close();
        }
        if let Some(files) = table.group("files") {
            files.set("conflict", &mut self.files.conflict, |field| field.one_of(CONFLICTS));
            files.set("format_on_save", &mut self.files.format_on_save, |field| field.bool());
            files.set("save", &mut self.files.save, |field| field.one_of(SAVES));
            files.set("unsaved", &mut self.files.unsaved, |field| field.one_of(UNSAVED));
            files.set("outside", &mut self.files.outside, |field| field.one_of(OUTSIDE_FILES));
            if let Some(allowed) = files.get("allowed").and_then(|field| field.table("files.allowed")) {
                allowed.set("read", &mut self.files.allowed_read, |field| field.absolute_paths());
                allowed.set("write", &mut self.files.allowed_write, |field| field.absolute_paths());
                allowed.close();
            }
            files.close();
        }
        table.set("mcp_servers", &mut self.mcp_servers, |field| field.mcp_servers());
        table.set("additional_directories", &mut self.additional_directories, |field| field.paths());
        if let Some(projects) = table.get("projects").and_then(|field| field.map()) {
            self.projects = projects
                .into_iter()
                .filter_map(|(folder, field)| {
                    Some((PathBuf::from(field.expanded(folder)?), ProjectOptions::read(&field)?))
                })
                .collect();
        }
        table.set("log", &mut self.log, |field| field.log());
        table.set("notify", &mut self.notify, |field| field.bool());
        table.set("bell", &mut self.bell, |field| field.bool());
        table.set("record", &mut self.record, |field| field.bool());
        if let Some(checkpoints) = table.group("checkpoints") {
            let known = &mut self.checkpoints;
            checkpoints.set("enabled", &mut known.enabled, |field| field.bool());
            checkpoints.set("days", &mut known.days, |field| field.cells());
            checkpoints.set("size", &mut known.size, |field| field.cells());
            checkpoints.close();
        }
        if let Some(timeouts) = table.group("timeouts") {
            timeouts.set("initialize", &mut self.timeouts.initialize, |field| field.seconds());
            timeouts.close();
        }
    }

    /// What only the whole can tell.
    fn check(&self, report: &Report) {
        // Most options name no agent that has to be looked for.
        let catalog = LazyCell::new(Catalog::default);
        for (name, options) in &self.agents {
            let is_known = || catalog.entry(name).is_some() || preset(name).is_some();
            if !options.enabled || options.command.is_some() || is_known() {
                continue;
            }
            let known = presets().iter().map(|preset| preset.name.as_str());
            let problem = match read::nearest(name, known) {
                Some(near) => format!("which program to start is not said; did you mean agents.{near}?"),
                // The registry's index on the disk may have it; it is read when it is needed.
                None if agents::may_be_registered(name) => continue,
                None => "missing; say which program to start".to_owned(),
            };
            report.add(ConfigError::Invalid { key: format!("agents.{name}.command"), problem });
        }
        if let Some(name) = &self.default_agent
            && let Err(error) = self.enabled_agent(name, &catalog)
            && !(matches!(error, ConfigError::UnknownAgent { nearest: None, .. })
                && agents::may_be_registered(name))
        {
            report.add(ConfigError::Invalid { key: "default_agent".into(), problem: error.to_string() });
        }
    }
}

impl FollowOptions {
    /// `true` alone, or a table.
    fn read(&mut self, field: &Field<'_>) {
        if let Some(enabled) = field.is_bool() {
            self.enabled = enabled;
        } else if let Some(table) = field.table("follow") {
            table.set("enabled", &mut self.enabled, |field| field.bool());
            table.set("resume_after", &mut self.resume_after, |field| field.seconds());
            if let Some(window) = table.get("window") {
                // Functions do not come this way.
                window.invalid::<()>("should be a function that takes a place");
            }
            table.close();
        }
    }
}

impl AgentOptions {
    fn read(field: &Field<'_>) -> Option<Self> {
        let table = field.table("agents.{name}")?;
        let mut options = Self {
            command: table.get("command").and_then(|field| field.program()),
            args: table.get("args").and_then(|field| field.strings()),
            ..Self::default()
        };
        if let Some(field) = table.get("cmd")
            && let Some((command, args)) = field.command_line()
        {
            if options.command.is_some() || options.args.is_some() {
                return field.invalid("stands for command and args: give either it or them");
            }
            (options.command, options.args) = (Some(command), Some(args));
        }
        table.set("env", &mut options.env, |field| field.pairs());
        options.cwd = table.get("cwd").and_then(|field| field.path());
        options.title = table.get("title").and_then(|field| field.string());
        options.mcp_servers = table.get("mcp_servers").and_then(|field| field.mcp_servers());
        table.set("enabled", &mut options.enabled, |field| field.bool());
        options.follow = table.get("follow").and_then(|field| field.bool());
        table.close();
        Some(options)
    }
}

impl ProjectOptions {
    fn read(field: &Field<'_>) -> Option<Self> {
        let table = field.table("projects.{folder}")?;
        let mut options = Self::default();
        table.set("mcp_servers", &mut options.mcp_servers, |field| field.mcp_servers());
        table.set("additional_directories", &mut options.additional_directories, |field| field.paths());
        table.close();
        Some(options)
    }
}

/// The official registry.
const REGISTRY: &str = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json";

const LAYOUTS: &[(&str, Layout)] = &[
    ("right", Layout::Right),
    ("left", Layout::Left),
    ("bottom", Layout::Bottom),
    ("top", Layout::Top),
    ("float", Layout::Float),
    ("tab", Layout::Tab),
    ("current", Layout::Current),
];

const OUTSIDE_FILES: &[(&str, OutsideFiles)] =
    &[("ask", OutsideFiles::Ask), ("refuse", OutsideFiles::Refuse)];

const COMPLETES: &[(&str, Complete)] =
    &[("auto", Complete::Auto), ("always", Complete::Always), ("never", Complete::Never)];

const AUTO_OPEN: &[(&str, AutoOpen)] =
    &[("always", AutoOpen::Always), ("long", AutoOpen::Long), ("never", AutoOpen::Never)];

const OPEN_QUESTIONS: &[(&str, OpenQuestions)] =
    &[("auto", OpenQuestions::Auto), ("always", OpenQuestions::Always), ("never", OpenQuestions::Never)];

const IMAGES: &[(&str, Images)] = &[("auto", Images::Auto), ("link", Images::Link)];
const AUTO_CLOSE: &[(&str, AutoClose)] = &[("never", AutoClose::Never), ("success", AutoClose::Success)];

const POSITIONS: &[(&str, Position)] = &[
    ("bottom", Position::Bottom),
    ("top", Position::Top),
    ("right", Position::Right),
    ("left", Position::Left),
    ("tab", Position::Tab),
];

const STAYS: &[(&str, Stay)] = &[("decided", Stay::Decided), ("prompt", Stay::Prompt), ("turn", Stay::Turn)];
const CONFLICTS: &[(&str, OnConflict)] =
    &[("ask", OnConflict::Ask), ("refuse", OnConflict::Refuse), ("markers", OnConflict::Markers)];
const SAVES: &[(&str, Save)] = &[("clean", Save::Clean), ("always", Save::Always)];
const UNSAVED: &[(&str, Unsaved)] =
    &[("mention", Unsaved::Mention), ("save", Unsaved::Save), ("nothing", Unsaved::Nothing)];
const DIFF_STYLES: &[(&str, DiffStyle)] =
    &[("inline", DiffStyle::Inline), ("split", DiffStyle::Split), ("off", DiffStyle::Off)];

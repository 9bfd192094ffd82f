//! The agents that can be started: those the user configured and those known by name or from the
//! registry, each with the command that runs it on this machine, or with what is missing. The caller
//! checks which programs exist; nothing is started here.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::catalog::{self, Catalog, DEMO, Preset};
use super::{AgentOptions, Config, ConfigError, read};
use crate::core::message::{Launch, Network, Remote, Sandbox};
use crate::core::store::registry::{self, Entry, Plan};
use crate::core::text::elsewhere::PathRules;

/// What is known of the machine that agents are started on.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// Looks for a program in $PATH.
    pub find: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// The demo agent.
    pub bundled: Option<&'a Path>,
    pub catalog: &'a Catalog,
    /// As the registry calls systems: `linux-x86_64`.
    pub system: &'a str,
    /// The folder of downloaded agents.
    pub downloads: &'a Path,
}

/// An agent's name with all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Agent<'a> {
    pub name: &'a str,
    pub preset: Option<&'static Preset>,
    pub entry: Option<&'a Entry>,
    pub options: Option<&'a AgentOptions>,
}

/// How an agent stands on this machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// It can be started.
    Ready(Launch, Source),
    /// The user has approved of it, but what it needs has to be downloaded (again).
    Undownloaded(Plan),
    /// The user has to approve of it first. `changed` says that another plan was approved before.
    Unapproved { plan: Plan, changed: bool },
    /// Something is missing.
    Missing(Lack, ConfigError),
}

/// Why an agent can be started as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Configured,
    Installed,
    /// `npx` fetches a package that the plugin knows.
    Npx,
    Approved,
}

/// What is missing where an agent can't be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    Program,
    Node,
    Uv,
    /// It isn't published for this system.
    System,
}

/// A [`Standing`] in a word, in the order in which agents are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ready,
    Unapproved,
    Missing,
    OtherSystem,
}

/// An agent as a list offers it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    pub name: String,
    pub title: String,
    /// What would be run, or what to do first.
    pub detail: String,
    #[serde(skip)] // Holds the environment, which is nobody's business.
    pub standing: Standing,
    pub state: State,
    /// The state as one reads it: "ready", "not approved yet", "needs Node.js".
    pub status: String,
    /// It can be started without a question.
    pub found: bool,
    /// The user has an entry for it.
    pub configured: bool,
    /// The registry's id.
    pub id: Option<String>,
    /// What the registry's entry would run; of an installed program it isn't known.
    pub version: Option<String>,
    pub description: Option<String>,
    pub license: Option<String>,
    pub website: Option<String>,
    /// "npx", "uvx", "download", or the program.
    pub runs_by: String,
    /// What is doubtful about the command that the user has given.
    pub note: Option<String>,
    /// What the user wants it to be kept to.
    pub sandbox: Option<String>,
    /// What this system holds it to, or why it can't; whoever asks the system fills it in.
    pub sandbox_holds: Option<String>,
    pub sandbox_problem: Option<String>,
    /// For the known ones.
    pub install: Option<&'static str>,
    pub login: Option<&'static str>,
}

/// A program to start and what to say about it.
struct Start {
    command: String,
    args: Vec<String>,
    source: Source,
}

impl Config {
    /// An agent by its name or by the registry's id.
    pub fn agent<'a>(&'a self, name: &'a str, catalog: &'a Catalog) -> Option<Agent<'a>> {
        let options = self.agents.get(name);
        let preset = catalog::preset(name).or_else(|| catalog::preset_of(name).filter(|_| options.is_none()));
        let name = preset.map_or(name, |preset| preset.name.as_str());
        let options = options.or_else(|| self.agents.get(name));
        let id = preset.map_or(Some(name), |preset| preset.id.as_deref());
        let entry = id.and_then(|id| catalog.entry(id));
        (preset.is_some() || entry.is_some() || options.is_some()).then_some(Agent {
            name,
            preset,
            entry,
            options,
        })
    }

    /// The agents to offer: the configured ones by name, then those that can be started as they are, the
    /// demo last.
    pub fn available(&self, machine: &Machine<'_>) -> Vec<Choice> {
        let all = self.all(machine);
        all.into_iter().filter(|choice| choice.found || (choice.configured && choice.name != DEMO)).collect()
    }

    /// All agents, for those who ask what there is: the configured ones, the known ones, the registry's,
    /// the demo.
    pub fn all(&self, machine: &Machine<'_>) -> Vec<Choice> {
        let configured =
            self.agents.iter().filter(|(_, options)| options.enabled).map(|(name, _)| name.as_str());
        let known = catalog::presets().iter().map(|preset| preset.name.as_str());
        let registered = machine.catalog.unnamed().map(|entry| entry.id.as_str());
        let demo = self.enabled_agent(DEMO, machine.catalog).is_ok().then_some(DEMO);
        configured
            .chain(known.chain(registered).filter(|name| !self.agents.contains_key(*name)))
            .filter(|name| *name != DEMO)
            .chain(demo)
            .filter_map(|name| self.agent(name, machine.catalog))
            .map(|agent| agent.choice(machine))
            .collect()
    }

    /// How the agent of this name stands here. A launch is for a session that works in `cwd`.
    pub fn standing(&self, name: &str, cwd: &Path, machine: &Machine<'_>) -> Result<Standing, ConfigError> {
        let agent = self.enabled_agent(name, machine.catalog)?;
        Ok(match agent.standing(machine) {
            Standing::Ready(mut launch, source) => {
                launch.cwd = cwd.join(launch.cwd);
                Standing::Ready(launch, source)
            }
            other => other,
        })
    }

    /// Whether the user has given the agent a command or an address.
    pub fn has_command(&self, name: &str) -> bool {
        self.agents.get(name).is_some_and(AgentOptions::runs)
    }

    /// How an agent is started by a plan that the user has approved just now.
    pub fn launch_of(
        &self,
        name: &str,
        plan: &Plan,
        cwd: &Path,
        machine: &Machine<'_>,
    ) -> Result<Launch, ConfigError> {
        let agent = self.enabled_agent(name, machine.catalog)?;
        let mut launch = agent.launch_of(plan, machine);
        launch.cwd = cwd.join(launch.cwd);
        Ok(launch)
    }

    /// The names of agents that can be asked for.
    pub fn names<'a>(&'a self, catalog: &'a Catalog) -> Vec<&'a str> {
        let known = catalog::presets().iter().map(|preset| preset.name.as_str());
        let registered = catalog.unnamed().map(|entry| entry.id.as_str());
        let configured = self.agents.iter().filter(|(_, options)| options.enabled);
        let others = known.chain(registered).filter(|name| !self.agents.contains_key(*name));
        configured.map(|(name, _)| name.as_str()).chain(others).collect()
    }

    pub fn enabled_agent<'a>(
        &'a self,
        name: &'a str,
        catalog: &'a Catalog,
    ) -> Result<Agent<'a>, ConfigError> {
        let Some(agent) = self.agent(name, catalog) else {
            let nearest = read::nearest(name, self.names(catalog).into_iter()).map(str::to_owned);
            return Err(ConfigError::UnknownAgent { name: name.to_owned(), nearest });
        };
        match agent.options {
            Some(options) if !options.enabled => Err(ConfigError::Disabled { name: agent.name.to_owned() }),
            _ => Ok(agent),
        }
    }
}

impl AgentOptions {
    /// Whether they say how to come to the agent.
    pub(super) fn runs(&self) -> bool {
        self.command.is_some() || self.url.is_some()
    }

    fn remote(&self) -> Option<Remote> {
        Some(Remote { address: self.url.clone()?, headers: self.headers.clone() })
    }
}

impl Agent<'_> {
    pub fn title(&self) -> &str {
        let own = self.options.and_then(|options| options.title.as_deref());
        let known = self.preset.map(|preset| preset.title.as_str());
        own.or(known).or(self.entry.map(|entry| entry.name.as_str())).unwrap_or(self.name)
    }

    /// What the user should know about the command that they have given: it is the agent's own program, without the
    /// arguments by which that speaks the protocol.
    pub fn command_note(&self) -> Option<String> {
        let options = self.options.filter(|options| options.args.is_none())?;
        let preset = self.preset.filter(|preset| !preset.args.is_empty())?;
        let command = Path::new(options.command.as_deref()?);
        let words: Vec<String> = preset.args.iter().map(|word| format!("{word:?}")).collect();
        let words = words.join(", ");
        (command.file_stem() == Path::new(&preset.program).file_stem()).then(|| {
            format!(
                "agents.{0}.command replaces the arguments, too: to speak ACP, {1} needs agents.{0}.args = \
                 {{ {words} }}",
                self.name,
                self.title()
            )
        })
    }

    /// Its own program comes first, then a package that the plugin knows, then the registry's ways.
    fn standing(&self, machine: &Machine<'_>) -> Standing {
        if let Some(remote) = self.options.and_then(AgentOptions::remote) {
            let source = Source::Configured;
            // Shown where others have their command.
            let start = Start { command: remote.address.shown(), args: Vec::new(), source };
            let launch = Launch { remote: Some(remote), ..self.launch(start, &Default::default()) };
            return Standing::Ready(launch, source);
        }
        let error = match self.start(machine) {
            Ok(start) => {
                let source = start.source;
                return Standing::Ready(self.launch(start, &Default::default()), source);
            }
            Err(error) => error,
        };
        let own = self.options.is_some_and(|options| options.command.is_some());
        let Some(entry) = self.entry.filter(|_| !own) else {
            return Standing::Missing(Lack::Program, error);
        };
        let mut plans = entry.plans(machine.system);
        let approved = machine.catalog.approved(self.name);
        let runs = |plan: &Plan| plan.runner().is_none_or(|runner| (machine.find)(runner).is_some());
        // What was approved is not asked about again, even when there is a lighter way by now.
        let chosen = plans
            .iter()
            .position(|plan| Some(plan) == approved && runs(plan))
            .or_else(|| plans.iter().position(runs));
        let Some(chosen) = chosen else {
            let lack = match plans.first().and_then(Plan::runner) {
                Some("npx") => Lack::Node,
                Some(_) => Lack::Uv,
                None => Lack::System,
            };
            return Standing::Missing(lack, self.no_way(lack, error, machine.system));
        };
        let plan = plans.swap_remove(chosen);
        if approved != Some(&plan) {
            return Standing::Unapproved { changed: approved.is_some(), plan };
        }
        if !machine.catalog.is_downloaded(&plan) {
            return Standing::Undownloaded(plan);
        }
        Standing::Ready(self.launch_of(&plan, machine), Source::Approved)
    }

    /// The agent's own program, or the package that stands in for it.
    fn start(&self, machine: &Machine<'_>) -> Result<Start, ConfigError> {
        let find = machine.find;
        let given = self.options.and_then(|options| options.args.clone());
        let command = self.options.and_then(|options| options.command.as_deref());
        // What the user gives replaces the whole command line, not its first word.
        let known = self.preset.filter(|_| command.is_none());
        let args = given.unwrap_or_else(|| known.map_or_else(Vec::new, |preset| preset.args.clone()));
        if let Some(command) = command {
            let source = Source::Configured;
            return match find(command) {
                Some(path) => Ok(Start { command: text(&path, command), args, source }),
                // Looked for along that path when it is started.
                None if self.has_own_path() => Ok(Start { command: command.into(), args, source }),
                None => Err(self.no_program(command)),
            };
        }
        let Some(preset) = self.preset else {
            return Err(ConfigError::Invalid {
                key: format!("agents.{}.command", self.name),
                problem: "missing; say which program to start".to_owned(),
            });
        };
        let bundled = machine.bundled.filter(|_| preset.name == DEMO).map(Path::to_owned);
        if let Some(path) = bundled.or_else(|| find(&preset.program)) {
            return Ok(Start { command: text(&path, &preset.program), args, source: Source::Installed });
        }
        match preset.npx.as_ref().zip(find("npx")) {
            Some((package, npx)) => {
                let via = ["-y".to_owned(), package.to_owned()];
                let args = via.into_iter().chain(args).collect();
                Ok(Start { command: text(&npx, "npx"), args, source: Source::Npx })
            }
            None => Err(self.no_program(&preset.program)),
        }
    }

    /// What it may reach, with what it keeps for itself. The session's folders are the caller's to add.
    fn sandbox(&self, command: &str) -> Option<Sandbox> {
        let options = self.options?.sandbox.as_ref()?;
        let own = self.preset.map_or(&[][..], |preset| &preset.state);
        let cache = runners_state(command);
        let home = std::env::home_dir();
        let state = own.iter().map(String::as_str).chain(cache.iter().copied());
        let state = state.filter_map(|path| Some(home.as_ref()?.join(path.strip_prefix("~/")?)));
        Some(Sandbox {
            folders: Vec::new(),
            write: options.write.iter().cloned().chain(state).collect(),
            read: options.read.clone(),
            network: options.network.clone(),
        })
    }

    fn launch(&self, start: Start, env: &std::collections::BTreeMap<String, String>) -> Launch {
        let known = env.iter().map(|(name, value)| (name.clone(), value.clone()));
        let own = self.options.map_or_else(Vec::new, |options| options.env.clone());
        let paths = self.options.map_or(&[][..], |options| &options.paths);
        Launch {
            name: self.name.to_owned(),
            title: self.options.and_then(|options| options.title.clone()),
            sandbox: self.sandbox(&start.command).map(Box::new),
            command: start.command,
            args: start.args,
            // Of two with one name the last counts.
            env: known.chain(own).collect(),
            cwd: self.options.and_then(|options| options.cwd.clone()).unwrap_or_default(),
            dialect: self.options.and_then(|options| options.dialect.or(options.protocol)),
            replay: None,
            remote: None,
            paths: PathRules::new(paths.iter().map(|(there, here)| (there.as_str(), here.as_str()))),
            without_files: self.options.is_some_and(|options| !options.files),
            without_terminals: self.options.is_some_and(|options| !options.terminals),
        }
    }

    fn launch_of(&self, plan: &Plan, machine: &Machine<'_>) -> Launch {
        // Plans are made from entries here; what the disk says is only compared with them.
        let (program, before) = plan.command.split_first().expect("a plan names a program");
        let command = match &plan.download {
            Some(download) => machine.downloads.join(&download.folder).join(program),
            None => (machine.find)(program).unwrap_or_else(|| program.into()),
        };
        let own = self.options.and_then(|options| options.args.clone());
        let args = before.iter().cloned().chain(own.unwrap_or_else(|| plan.args.clone())).collect();
        let start = Start { command: text(&command, program), args, source: Source::Approved };
        self.launch(start, &plan.env)
    }

    fn choice(&self, machine: &Machine<'_>) -> Choice {
        let standing = self.standing(machine);
        let (state, status) = standing.in_words();
        let entry = self.entry;
        Choice {
            name: self.name.to_owned(),
            title: self.title().to_owned(),
            detail: match &standing {
                Standing::Ready(..) if self.name == DEMO => {
                    "a tour of the plugin without an account".to_owned()
                }
                standing => standing.describe(),
            },
            state,
            status,
            found: matches!(standing, Standing::Ready(..) | Standing::Undownloaded(_)),
            configured: self.options.is_some(),
            id: entry.map(|entry| entry.id.clone()),
            version: entry
                .filter(|_| !standing.is_own_program())
                .map(|entry| entry.version.clone())
                .filter(|version| !version.is_empty()),
            description: self.description(),
            license: entry
                .and_then(|entry| entry.license.clone())
                .or_else(|| self.preset.and_then(|preset| preset.license.clone())),
            website: entry
                .and_then(Entry::page)
                .map(str::to_owned)
                .or_else(|| self.preset.and_then(|preset| preset.website.clone())),
            runs_by: standing.runs_by(entry),
            note: self.command_note(),
            sandbox: match &standing {
                Standing::Ready(launch, _) => launch.sandbox.as_deref().map(describe_sandbox),
                _ => None,
            },
            sandbox_holds: None,
            sandbox_problem: None,
            standing,
            install: self.preset.map(|preset| preset.install.as_str()),
            login: self.preset.map(|preset| preset.login.as_str()),
        }
    }

    fn description(&self) -> Option<String> {
        let entry = self.entry.map(|entry| entry.description.clone()).filter(|text| !text.is_empty());
        entry.or_else(|| self.preset.and_then(|preset| preset.description.clone()))
    }

    fn has_own_path(&self) -> bool {
        self.options.is_some_and(|options| options.env.iter().any(|(name, _)| name == "PATH"))
    }

    /// What to do where no way of the registry's works here.
    fn no_way(&self, lack: Lack, error: ConfigError, system: &str) -> ConfigError {
        if let ConfigError::NoProgram { .. } = error {
            return error;
        }
        match lack {
            Lack::Node => ConfigError::NoProgram { program: "npx".into(), todo: "install Node.js".into() },
            Lack::Uv => ConfigError::NoProgram { program: "uvx".into(), todo: "install uv".into() },
            Lack::System | Lack::Program => {
                ConfigError::OtherSystem { name: self.name.to_owned(), system: system.to_owned() }
            }
        }
    }

    fn no_program(&self, program: &str) -> ConfigError {
        let own = self.options.is_some_and(|options| options.command.is_some());
        let ways = self.entry.map(|entry| &entry.distribution);
        let by_npx = |preset: &Preset| preset.npx.is_some() || ways.is_some_and(|ways| ways.npx.is_some());
        let todo = match self.preset {
            _ if program.contains(char::is_whitespace) => {
                format!("put its arguments into agents.{}.args", self.name)
            }
            Some(preset) if !own && preset.name == DEMO => {
                format!("run `{}`", preset.install)
            }
            Some(preset) if !own && by_npx(preset) => {
                format!("{}, or install Node.js, whose npx runs it", preset.how_to_install())
            }
            Some(preset) if !own && ways.is_some_and(|ways| ways.uvx.is_some()) => {
                format!("{}, or install uv, whose uvx runs it", preset.how_to_install())
            }
            Some(preset) if !own => preset.how_to_install(),
            _ => format!("install it, or correct agents.{}.command", self.name),
        };
        ConfigError::NoProgram { program: program.to_owned(), todo }
    }
}

impl Preset {
    /// Fit after a colon.
    pub fn how_to_install(&self) -> String {
        match self.install.strip_prefix("see ") {
            Some(_) => self.install.clone(),
            None => format!("install it with `{}`", self.install),
        }
    }
}

impl Standing {
    /// A program that the user has installed, of whichever version.
    fn is_own_program(&self) -> bool {
        matches!(self, Self::Ready(_, source) if *source != Source::Approved)
    }

    fn in_words(&self) -> (State, String) {
        let (state, status) = match self {
            Self::Ready(_, Source::Configured) => (State::Ready, "configured"),
            Self::Ready(_, Source::Installed) => (State::Ready, "installed"),
            Self::Ready(_, Source::Npx) => (State::Ready, "ready"),
            Self::Ready(_, Source::Approved) => (State::Ready, "approved"),
            Self::Undownloaded(_) => (State::Ready, "to download"),
            Self::Unapproved { changed: false, .. } => (State::Unapproved, "not approved"),
            Self::Unapproved { changed: true, .. } => (State::Unapproved, "changed"),
            Self::Missing(Lack::Program, _) => (State::Missing, "not installed"),
            Self::Missing(Lack::Node, _) => (State::Missing, "needs Node.js"),
            Self::Missing(Lack::Uv, _) => (State::Missing, "needs uv"),
            Self::Missing(Lack::System, _) => (State::OtherSystem, "other systems"),
        };
        (state, status.to_owned())
    }

    /// What would be run, or what to do first.
    fn describe(&self) -> String {
        match self {
            Self::Ready(launch, _) if launch.remote.is_some() => launch.command.clone(),
            Self::Ready(launch, source) => {
                let name = Path::new(&launch.command)
                    .file_name()
                    .map_or_else(|| launch.command.clone(), |name| name.to_string_lossy().into_owned());
                let words = std::iter::once(name.as_str()).chain(launch.args.iter().map(String::as_str));
                let line = words.collect::<Vec<_>>().join(" ");
                match source {
                    Source::Npx => format!("{line} (the first start downloads it)"),
                    _ => line,
                }
            }
            Self::Undownloaded(plan) | Self::Unapproved { plan, .. } => plan.line(),
            Self::Missing(_, error) => error.to_string(),
        }
    }

    fn runs_by(&self, entry: Option<&Entry>) -> String {
        let by = |plan: &Plan| plan.runner().unwrap_or("download").to_owned();
        match self {
            Self::Ready(_, Source::Npx) => "npx".to_owned(),
            Self::Ready(launch, _) if launch.remote.is_some() => "network".to_owned(),
            Self::Ready(launch, Source::Approved) => {
                let stem = Path::new(&launch.command).file_stem().and_then(|stem| stem.to_str());
                match stem {
                    Some(runner @ ("npx" | "uvx")) => runner.to_owned(),
                    _ => "download".to_owned(),
                }
            }
            Self::Ready(..) => "program".to_owned(),
            Self::Undownloaded(plan) | Self::Unapproved { plan, .. } => by(plan),
            Self::Missing(..) => entry
                .map_or("program", |entry| match &entry.distribution {
                    ways if ways.npx.is_some() => "npx",
                    ways if ways.uvx.is_some() => "uvx",
                    _ => "download",
                })
                .to_owned(),
        }
    }
}

/// The name of this system in the registry.
pub fn system() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    format!("{os}-{}", std::env::consts::ARCH)
}

/// Whether a name may be one of the registry's that isn't known yet.
pub(super) fn may_be_registered(name: &str) -> bool {
    registry::is_id(name)
}

/// Where programs keep what they have fetched that run packages.
fn runners_state(command: &str) -> &'static [&'static str] {
    match Path::new(command).file_stem().and_then(|name| name.to_str()) {
        Some("npx") => &["~/.npm"],
        Some("uvx") => &["~/.cache/uv", "~/.local/share/uv"],
        _ => &[],
    }
}

/// What a confined agent may reach beside the session's folders.
pub fn describe_sandbox(sandbox: &Sandbox) -> String {
    let list = |paths: &[PathBuf]| {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        paths.join(", ")
    };
    let mut words = vec!["may change the session's folders and temporary files of its own".to_owned()];
    if !sandbox.write.is_empty() {
        words.push(format!("and {}", list(&sandbox.write)));
    }
    if !sandbox.read.is_empty() {
        words.push(format!("may read {}", list(&sandbox.read)));
    }
    words.push(match &sandbox.network {
        Network::All => "has the network".to_owned(),
        Network::Ports(ports) if ports.is_empty() => "has no network".to_owned(),
        Network::Ports(ports) => {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            let word = if ports.len() == 1 { "port" } else { "ports" };
            format!("may connect to the {word} {} by TCP", ports.join(", "))
        }
    });
    words.join("; ").replacen("; and ", ", ", 1)
}

/// The path, or the name it was found by where the path is not text.
fn text(path: &Path, name: &str) -> String {
    path.to_str().unwrap_or(name).to_owned()
}

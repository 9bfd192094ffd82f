//! The agents that can be started: those that the user configured and those known by name, each
//! with the program to look for, how to install it and how to log in. Whether a program is there is
//! asked of the caller, and nothing is started here.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{AgentOptions, Config, ConfigError, read};
use crate::core::message::Launch;

/// An agent known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    pub name: &'static str,
    pub title: &'static str,
    pub program: &'static str,
    pub args: &'static [&'static str],
    /// The package that `npx` runs where the program is not installed.
    pub npm: Option<&'static str>,
    pub install: &'static str,
    pub login: &'static str,
}

/// In the order in which they are offered.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "claude",
        title: "Claude",
        program: "claude-agent-acp",
        args: &[],
        npm: Some("@agentclientprotocol/claude-agent-acp"),
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        login: "run `claude` once and type /login, or set $ANTHROPIC_API_KEY",
    },
    Preset {
        name: "codex",
        title: "Codex",
        program: "codex-acp",
        args: &[],
        npm: Some("@agentclientprotocol/codex-acp"),
        install: "npm install -g @agentclientprotocol/codex-acp",
        login: "run `codex login` once, or set $OPENAI_API_KEY",
    },
    Preset {
        name: "gemini",
        title: "Gemini",
        program: "gemini",
        args: &["--acp"],
        npm: None,
        install: "npm install -g @google/gemini-cli",
        login: "run `gemini` once and choose how, or set $GEMINI_API_KEY",
    },
    Preset {
        name: "opencode",
        title: "OpenCode",
        program: "opencode",
        args: &["acp"],
        npm: None,
        install: "npm install -g opencode-ai",
        login: "run `opencode auth login` once",
    },
    Preset {
        name: "goose",
        title: "Goose",
        program: "goose",
        args: &["acp"],
        npm: None,
        install: "brew install block-goose-cli",
        login: "run `goose configure` once",
    },
    Preset {
        name: "qwen",
        title: "Qwen Code",
        program: "qwen",
        args: &["--acp"],
        npm: None,
        install: "npm install -g @qwen-code/qwen-code",
        login: "run `qwen` once and choose how",
    },
    Preset {
        name: "kimi",
        title: "Kimi",
        program: "kimi",
        args: &["acp"],
        npm: None,
        install: "uv tool install kimi-cli",
        login: "run `kimi login` once",
    },
    Preset {
        name: "vibe",
        title: "Mistral Vibe",
        program: "vibe-acp",
        args: &[],
        npm: None,
        install: "uv tool install mistral-vibe",
        login: "run `vibe --setup` once, or set $MISTRAL_API_KEY",
    },
    Preset {
        name: "copilot",
        title: "GitHub Copilot",
        program: "copilot",
        args: &["--acp"],
        npm: None,
        install: "npm install -g @github/copilot",
        login: "run `copilot` once and type /login",
    },
    Preset {
        name: DEMO,
        title: "Demo",
        program: "acp-demo-agent",
        args: &[],
        npm: None,
        install: "cargo build --release",
        login: "none needed",
    },
];

/// The agent that is built with the plugin: needs no account, offered last.
pub const DEMO: &str = "demo";

pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// An agent's name with all that is known of it: a preset, the user's entry, or both.
#[derive(Clone, Copy, Debug)]
pub struct Agent<'a> {
    pub name: &'a str,
    pub preset: Option<&'static Preset>,
    pub options: Option<&'a AgentOptions>,
}

/// An agent as a list offers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub name: String,
    pub title: String,
    /// What would be run, or what to do first.
    pub detail: String,
    /// Empty where the program is not found; its `cwd` is empty where the session's root is meant.
    #[serde(skip)] // Holds the environment, which is nobody's business.
    pub launch: Launch,
    pub found: bool,
    /// The user has an entry for it.
    pub configured: bool,
    /// For the known ones.
    pub install: Option<&'static str>,
    pub login: Option<&'static str>,
}

/// A program to start and what to say about it.
struct Start {
    command: String,
    args: Vec<String>,
    downloads: bool,
}

impl Config {
    pub fn agent<'a>(&'a self, name: &'a str) -> Option<Agent<'a>> {
        let (preset, options) = (preset(name), self.agents.get(name));
        (preset.is_some() || options.is_some()).then_some(Agent { name, preset, options })
    }

    /// The agents to offer: the configured ones by name, then the known ones that are installed (or
    /// that `npx` can fetch), the demo last. `find` looks for a program, `bundled` is the demo's.
    pub fn available(&self, find: impl Fn(&str) -> Option<PathBuf>, bundled: Option<PathBuf>) -> Vec<Choice> {
        let all = self.all(find, bundled.as_deref());
        all.into_iter().filter(|choice| choice.found || (choice.configured && choice.name != DEMO)).collect()
    }

    /// The same with the known agents that are not installed, for those who ask what is missing.
    pub fn all(&self, find: impl Fn(&str) -> Option<PathBuf>, bundled: Option<&Path>) -> Vec<Choice> {
        let configured =
            self.agents.iter().filter(|(_, options)| options.enabled).map(|(name, _)| name.as_str());
        let known = PRESETS.iter().map(|preset| preset.name).filter(|name| !self.agents.contains_key(*name));
        let demo = self.enabled_agent(DEMO).is_ok().then_some(DEMO);
        configured
            .chain(known)
            .filter(|name| *name != DEMO)
            .chain(demo)
            .filter_map(|name| self.agent(name))
            .map(|agent| agent.choice(&find, bundled))
            .collect()
    }

    /// How to start an agent for a session that works in `cwd`.
    pub fn launch(
        &self,
        name: &str,
        cwd: &Path,
        find: impl Fn(&str) -> Option<PathBuf>,
        bundled: Option<&Path>,
    ) -> Result<Launch, ConfigError> {
        let agent = self.enabled_agent(name)?;
        let mut launch = agent.launch(agent.start(&find, bundled)?);
        launch.cwd = cwd.join(launch.cwd);
        Ok(launch)
    }

    /// The names that [`Self::launch`] takes.
    pub fn names(&self) -> Vec<&str> {
        let known = PRESETS.iter().map(|preset| preset.name).filter(|name| !self.agents.contains_key(*name));
        let configured = self.agents.iter().filter(|(_, options)| options.enabled);
        configured.map(|(name, _)| name.as_str()).chain(known).collect()
    }

    pub(super) fn enabled_agent<'a>(&'a self, name: &'a str) -> Result<Agent<'a>, ConfigError> {
        let Some(agent) = self.agent(name) else {
            let nearest = read::nearest(name, self.names().into_iter()).map(str::to_owned);
            return Err(ConfigError::UnknownAgent { name: name.to_owned(), nearest });
        };
        match agent.options {
            Some(options) if !options.enabled => Err(ConfigError::Disabled { name: name.to_owned() }),
            _ => Ok(agent),
        }
    }
}

impl Agent<'_> {
    pub fn title(&self) -> &str {
        let own = self.options.and_then(|options| options.title.as_deref());
        own.or(self.preset.map(|preset| preset.title)).unwrap_or(self.name)
    }

    fn start(
        &self,
        find: &impl Fn(&str) -> Option<PathBuf>,
        bundled: Option<&Path>,
    ) -> Result<Start, ConfigError> {
        let given = self.options.and_then(|options| options.args.clone());
        let args = given.unwrap_or_else(|| {
            self.preset
                .map_or_else(Vec::new, |preset| preset.args.iter().map(|&arg| arg.to_owned()).collect())
        });
        if let Some(command) = self.options.and_then(|options| options.command.as_deref()) {
            return match find(command) {
                Some(path) => Ok(Start { command: text(&path, command), args, downloads: false }),
                // Looked for along that path when it is started.
                None if self.has_own_path() => Ok(Start { command: command.into(), args, downloads: false }),
                None => Err(self.no_program(command)),
            };
        }
        let Some(preset) = self.preset else {
            return Err(ConfigError::Invalid {
                key: format!("agents.{}.command", self.name),
                problem: "missing; say which program to start".to_owned(),
            });
        };
        let bundled = bundled.filter(|_| preset.name == DEMO).map(Path::to_owned);
        if let Some(path) = bundled.or_else(|| find(preset.program)) {
            return Ok(Start { command: text(&path, preset.program), args, downloads: false });
        }
        match preset.npm.zip(find("npx")) {
            Some((package, npx)) => {
                let via = ["-y".to_owned(), package.to_owned()];
                let args = via.into_iter().chain(args).collect();
                Ok(Start { command: text(&npx, "npx"), args, downloads: true })
            }
            None => Err(self.no_program(preset.program)),
        }
    }

    fn launch(&self, start: Start) -> Launch {
        Launch {
            name: self.name.to_owned(),
            command: start.command,
            args: start.args,
            env: self.options.map_or_else(Vec::new, |options| options.env.clone()),
            cwd: self.options.and_then(|options| options.cwd.clone()).unwrap_or_default(),
        }
    }

    fn choice(&self, find: &impl Fn(&str) -> Option<PathBuf>, bundled: Option<&Path>) -> Choice {
        let started = self.start(find, bundled);
        let found = started.is_ok();
        let (detail, start) = match started {
            Ok(start) if self.name == DEMO => {
                ("a tour of the plugin without an account".to_owned(), Some(start))
            }
            Ok(start) => (start.describe(), Some(start)),
            Err(error) => (error.to_string(), None),
        };
        Choice {
            name: self.name.to_owned(),
            title: self.title().to_owned(),
            detail,
            launch: start.map_or_else(Launch::default, |start| self.launch(start)),
            found,
            configured: self.options.is_some(),
            install: self.preset.map(|preset| preset.install),
            login: self.preset.map(|preset| preset.login),
        }
    }

    fn has_own_path(&self) -> bool {
        self.options.is_some_and(|options| options.env.iter().any(|(name, _)| name == "PATH"))
    }

    fn no_program(&self, program: &str) -> ConfigError {
        let own = self.options.is_some_and(|options| options.command.is_some());
        let todo = match self.preset {
            _ if program.contains(char::is_whitespace) => {
                format!("put its arguments into agents.{}.args", self.name)
            }
            Some(preset) if !own && preset.name == DEMO => {
                format!("run `{}` in the plugin's folder", preset.install)
            }
            Some(preset) if !own && preset.npm.is_some() => {
                format!("install it with `{}`, or install Node.js, whose npx runs it", preset.install)
            }
            Some(preset) if !own => format!("install it with `{}`", preset.install),
            _ => format!("install it, or correct agents.{}.command", self.name),
        };
        ConfigError::NoProgram { program: program.to_owned(), todo }
    }
}

impl Start {
    /// The command line, with the program by its name alone.
    fn describe(&self) -> String {
        let name = Path::new(&self.command)
            .file_name()
            .map_or_else(|| self.command.clone(), |name| name.to_string_lossy().into_owned());
        let words = std::iter::once(name.as_str()).chain(self.args.iter().map(String::as_str));
        let line = words.collect::<Vec<_>>().join(" ");
        if self.downloads { format!("{line} (the first start downloads it)") } else { line }
    }
}

/// The path, or the name it was found by where the path is not text.
fn text(path: &Path, name: &str) -> String {
    path.to_str().unwrap_or(name).to_owned()
}

//! The user's options as one typed struct. [`Config::from_value`] reads what `setup()` was given and
//! names the key of every mistake at once. The options are in [`options`], the
//! keys in [`keys`], the subcommands in [`commands`], the agents that are known in
//! [`catalog`], how one is started in [`agents`]. What acts on an option is not known here.

pub mod agents;
pub mod catalog;
pub mod commands;
mod error;
mod for_sessions;
#[cfg(test)]
mod help_tests;
pub mod keys;
mod kinds;
pub mod options;
mod own_tables;
mod read;
mod rules;
mod sandbox;
mod spec;
#[cfg(test)]
mod tests;
mod values;
mod words;

use std::cell::LazyCell;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use self::agents::{Agent, Choice, Machine, Standing};
pub use self::catalog::{Catalog, Preset, preset, presets};
pub use self::commands::{Bang, COMMAND_GROUPS, COMMANDS, CommandSpec, Completion, group_of};
pub use self::error::ConfigError;
pub use self::keys::{KEYS, KeySpec, Keys, Pane, Section};
pub use self::options::*;
use self::read::{Field, Report};
pub use self::sandbox::SandboxOptions;
pub use self::spec::{GroupSpec, OptionSpec, Takes};
pub use self::values::{Log, Size};
pub use self::words::*;
use crate::core::message::{McpServer, SystemPrompt, ToolsTransport};
use crate::core::session::defaults::Defaults;

impl Config {
    /// Reads the table that was given to `setup()`. All mistakes are reported, not just the first.
    pub fn from_value(value: &Value) -> Result<Self, Vec<ConfigError>> {
        let report = Report::default();
        let mut config = Self::default();
        if let Some(table) = Field::root(value, &report).table_of(Self::GROUP.known()) {
            config.read(&table);
            table.close();
        }
        config.check(&report);
        report.into_result(config)
    }

    /// What new sessions with this agent are set to.
    pub fn defaults(&self, agent: &str) -> Defaults {
        let Some(options) = self.agents.get(agent) else { return Defaults::default() };
        Defaults {
            mode: options.mode.clone(),
            model: options.model.clone(),
            effort: options.effort.clone(),
            options: options.options.clone(),
            remembered: Vec::new(),
        }
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

    /// Whether a session with this agent in `cwd` is given the editor's tools: as the innermost project says, else the
    /// agent's options, else those of all.
    pub fn gives_tools(&self, agent: &str, cwd: &Path) -> bool {
        let projects = self.projects.iter().filter(|(folder, _)| cwd.starts_with(folder));
        let told = projects.filter_map(|(folder, options)| Some((folder, options.tools?)));
        let innermost = told.max_by_key(|(folder, _)| folder.components().count());
        let own = self.agents.get(agent).and_then(|options| options.tools);
        innermost.map(|(_, tools)| tools).or(own).unwrap_or(self.tools)
    }

    pub fn tools_transport(&self, agent: &str) -> ToolsTransport {
        let own = self.agents.get(agent).and_then(|options| options.tools_transport);
        own.unwrap_or(self.tools_transport)
    }

    /// The tools that a session with this agent in `cwd` is not given, whoever denies them.
    pub fn tools_denied(&self, agent: &str, cwd: &Path) -> Vec<String> {
        let own = self.agents.get(agent).and_then(|options| options.tools_denied.as_ref());
        let of_projects = self.projects_of(cwd).filter_map(|project| project.tools_denied.as_ref());
        self.tools_denied.iter().chain(own).chain(of_projects).flatten().cloned().collect()
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

    /// What the agent is told in each of its sessions in `cwd`: by its own option, and by the innermost project's file.
    pub fn system_prompt(&self, agent: &str, cwd: &Path) -> Option<SystemPrompt> {
        let own = self.agents.get(agent);
        let text = own.and_then(|options| options.system_prompt.clone()).unwrap_or_default();
        let projects = self.projects.iter().filter(|(folder, _)| cwd.starts_with(folder));
        let files = projects.filter_map(|(folder, options)| Some((folder, options.system_prompt.as_ref()?)));
        let innermost = files.max_by_key(|(folder, _)| folder.components().count());
        let file = innermost.map(|(folder, file)| folder.join(file));
        let replaces = own.is_some_and(|options| options.system_prompt_mode == PromptMode::Override);
        (!text.trim().is_empty() || file.is_some()).then_some(SystemPrompt { text, file, replaces })
    }

    fn projects_of<'a>(&'a self, cwd: &'a Path) -> impl Iterator<Item = &'a ProjectOptions> {
        self.projects.iter().filter(|(folder, _)| cwd.starts_with(folder)).map(|(_, options)| options)
    }

    /// What only the whole can tell.
    fn check(&self, report: &Report) {
        // Most options name no agent that has to be looked for.
        let catalog = LazyCell::new(Catalog::default);
        for (name, options) in &self.agents {
            let is_known = || catalog.entry(name).is_some() || preset(name).is_some();
            if !options.enabled || options.runs() || is_known() {
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

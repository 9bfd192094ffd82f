//! What may be written for an option: how it is read, what the help and the language server call it, and how its
//! default is written in Lua. Which option takes what is in [`super::options`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::keys::{KEYS, Keys};
use super::options::{
    AgentOptions, FollowOptions, LimitOptions, ProjectOptions, RecoveryOptions, SessionLimits, TurnLimits,
};
use super::read::Field;
use super::sandbox::SandboxOptions;
use super::{Log, Size};
use crate::core::message::remote::Address;
use crate::core::message::{Dialect, McpServer};
use crate::core::rules::Rule;
use crate::core::session::budget::{Bounds, Limits};
use crate::core::session::recovery::Recovery;

/// What an option takes, for its readers.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// In the help's words and as a type of the language server.
    Type(&'static str, &'static str),
    /// One of these.
    Word(&'static [&'static str]),
}

impl Takes {
    pub fn help(self) -> String {
        match self {
            Self::Type(help, _) => help.to_owned(),
            Self::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                let (last, others) = quoted.split_last().expect("an option has two words at least");
                format!("{} or {last}", others.join(", "))
            }
        }
    }

    pub fn lua(self) -> String {
        match self {
            Self::Type(_, lua) => lua.to_owned(),
            Self::Word(words) => words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join("|"),
        }
    }
}

pub(super) struct Kind<T> {
    pub takes: Takes,
    pub read: fn(&Field<'_>) -> Option<T>,
    /// A default as Lua writes it.
    pub shown: fn(&T) -> String,
}

/// Where there is no default, or none that Lua could write.
fn nil<T>(_: &T) -> String {
    "nil".to_owned()
}

fn empty<T>(_: &T) -> String {
    "{}".to_owned()
}

const fn kind<T>(
    help: &'static str,
    lua: &'static str,
    read: fn(&Field<'_>) -> Option<T>,
    shown: fn(&T) -> String,
) -> Kind<T> {
    Kind { takes: Takes::Type(help, lua), read, shown }
}

pub(super) const BOOLEAN: Kind<bool> = kind("boolean", "boolean", |field| field.bool(), bool::to_string);

/// Whether, or as for all.
pub(super) const CHOICE: Kind<Option<bool>> = kind("boolean", "boolean", |field| field.bool().map(Some), nil);

pub(super) const STRING: Kind<Option<String>> =
    kind("string", "string", |field| field.string().map(Some), nil);

pub(super) const STRINGS: Kind<Option<Vec<String>>> =
    kind("list of strings", "string[]", |field| field.strings().map(Some), nil);

pub(super) const PAIRS: Kind<Vec<(String, String)>> =
    kind("table of strings", "table<string, string|number>", |field| field.pairs(), empty);

/// Options of agents, with values that are text, numbers or switches.
pub(super) const VALUES: Kind<Vec<(String, String)>> =
    kind("table of values", "table<string, string|number|boolean>", |field| field.values(), empty);

/// What an agent speaks, if that is said.
pub(super) const DIALECT: Kind<Option<Dialect>> = Kind {
    takes: Takes::Word(&["official", "draft"]),
    read: |field| field.one_of(&[("official", Dialect::Official), ("draft", Dialect::Draft)]).map(Some),
    shown: nil,
};

/// Which version of the protocol an agent is asked for, if that is said.
pub(super) const PROTOCOL: Kind<Option<Dialect>> = kind(
    "1 or 2",
    "1|2",
    |field| field.one_of_numbers(&[(1, Dialect::Official), (2, Dialect::V2)]).map(Some),
    nil,
);

/// A program, or a list that begins with one; what follows in it are arguments, see `AgentOptions::of`.
pub(super) const PROGRAM: Kind<Option<String>> = kind(
    "string, or list of strings",
    "string|string[]",
    |field| match field.value() {
        Value::Array(_) => field.command_line().map(|(program, _)| Some(program)),
        _ => field.program().map(Some),
    },
    nil,
);

pub(super) const ADDRESS: Kind<String> =
    kind("string", "string", |field| field.address(), |address| format!("{address:?}"));

/// Where an agent is.
pub(super) const URL: Kind<Option<Address>> =
    kind("address", "string", |field| field.agents_address().map(Some), nil);

pub(super) const HEADERS: Kind<Vec<(String, String)>> =
    kind("table of strings", "table<string, string>", |field| field.headers(), empty);

/// Folders by what another machine calls them.
pub(super) const FOLDERS: Kind<Vec<(String, String)>> =
    kind("table of paths", "table<string, string>", |field| field.folders(), empty);

pub(super) const PATH: Kind<Option<PathBuf>> = kind("path", "string", |field| field.path().map(Some), nil);

pub(super) const PATHS: Kind<Vec<PathBuf>> = kind("list of paths", "string[]", |field| field.paths(), empty);

/// Paths that are the same wherever they are meant from.
pub(super) const ABSOLUTE_PATHS: Kind<Vec<PathBuf>> =
    kind("list of paths", "string[]", |field| field.absolute_paths(), empty);

pub(super) const NUMBER: Kind<u16> = kind("number", "integer", |field| field.cells(), u16::to_string);

pub(super) const BYTES: Kind<usize> = kind("bytes", "integer", |field| field.bytes(), usize::to_string);

pub(super) const SECONDS: Kind<Duration> =
    kind("seconds", "number", |field| field.seconds(), |time| time.as_secs_f64().to_string());

pub(super) const SECONDS_OR_NEVER: Kind<Option<Duration>> = kind(
    "seconds, or `false`",
    "number|false",
    |field| field.seconds_or_never(),
    |time| time.map_or_else(|| "false".to_owned(), |time| time.as_secs_f64().to_string()),
);

/// A limit, where there is one.
pub(super) const TIME_LIMIT: Kind<Option<Duration>> =
    kind("seconds", "number", |field| field.seconds().map(Some), nil);

pub(super) const COUNT_LIMIT: Kind<Option<usize>> =
    kind("number", "integer", |field| field.count().map(Some), nil);

pub(super) const COST_LIMIT: Kind<Option<f64>> =
    kind("amount", "number", |field| field.amount().map(Some), nil);

pub(super) const SIZE: Kind<Size> = kind(
    "number or \"N%\"",
    "number|string",
    |field| field.size(),
    |size| match size {
        Size::Cells(cells) => cells.to_string(),
        Size::Percent(percent) => format!("\"{percent}%\""),
    },
);

/// A size, or what fits.
pub(super) const OWN_SIZE: Kind<Option<Size>> =
    kind("number or \"N%\"", "number|string", |field| field.size().map(Some), nil);

pub(super) const SERVERS: Kind<Vec<McpServer>> =
    kind("list of servers", "acp.McpServer[]", |field| field.mcp_servers(), empty);

pub(super) const RULES: Kind<Vec<Rule>> = kind("list of rules", "acp.Rule[]", |field| field.rules(), empty);

pub(super) const SETS: Kind<Vec<String>> =
    kind("list of names", "acp.RuleSet[]", |field| field.rule_sets(), empty);

/// Servers in place of those for all.
pub(super) const OWN_SERVERS: Kind<Option<Vec<McpServer>>> =
    kind("list of servers", "acp.McpServer[]", |field| field.mcp_servers().map(Some), nil);

pub(super) const SANDBOX: Kind<Option<SandboxOptions>> =
    kind("\"project\", `false` or a table", "\"project\"|false|acp.Sandbox", |field| field.sandbox(), nil);

pub(super) const LOG: Kind<Log> = kind(
    "boolean or path",
    "boolean|string",
    |field| field.log(),
    |log| match log {
        Log::Off => "false".to_owned(),
        Log::On => "true".to_owned(),
        Log::File(path) => format!("{path:?}"),
    },
);

/// Functions do not come with the other options; see `configure` in `nvim/actions.rs`.
pub(super) const FUNCTION: Kind<()> =
    kind("function", "fun(place: acp.Location): integer|boolean|nil", |_| None, nil);

pub(super) const AGENTS: Kind<BTreeMap<String, AgentOptions>> = kind(
    "table of agents by name",
    "table<string, acp.AgentOptions>",
    |field| {
        let agents = field.map()?.into_iter();
        Some(agents.filter_map(|(name, field)| Some((name.to_owned(), AgentOptions::of(&field)?))).collect())
    },
    empty,
);

pub(super) const PROJECTS: Kind<BTreeMap<PathBuf, ProjectOptions>> = kind(
    "table by folder",
    "table<string, acp.ProjectOptions>",
    |field| {
        let project = |(folder, field): (&str, Field<'_>)| {
            Some((PathBuf::from(field.expanded(folder)?), ProjectOptions::of(&field)?))
        };
        Some(field.map()?.into_iter().filter_map(project).collect())
    },
    empty,
);

pub(super) const FOLLOW: Kind<FollowOptions> =
    kind("boolean or table", "boolean|acp.FollowOptions", FollowOptions::of, |follow| {
        follow.enabled.to_string()
    });

pub(super) const KEY_OPTIONS: Kind<Keys> = kind(
    "table",
    "acp.KeyOptions",
    |field| {
        let table = field.table_of(KEYS.iter().map(|key| key.name).collect())?;
        let mut keys = Keys::default();
        keys.read(&table);
        table.close();
        Some(keys)
    },
    empty,
);

impl AgentOptions {
    fn of(field: &Field<'_>) -> Option<Self> {
        let table = field.table_of(Self::GROUP.known())?;
        let mut options = Self::default();
        options.read(&table);
        if let Some(field) = table.get("command").filter(|field| field.value().is_array())
            && options.command.is_some()
            && let Some((_, args)) = field.command_line()
        {
            if options.args.is_some() {
                return field.invalid("the list has the arguments, too: give either it or args");
            }
            options.args = Some(args);
        }
        if let Some(field) = table.get("cmd")
            && let Some((command, args)) = field.command_line()
        {
            if options.command.is_some() || options.args.is_some() {
                return field.invalid("stands for command and args: give either it or them");
            }
            (options.command, options.args) = (Some(command), Some(args));
        }
        let runs = options.command.is_some() || options.args.is_some() || !options.env.is_empty();
        if options.url.is_some() && (runs || options.cwd.is_some()) {
            return field
                .invalid("has a url, so nothing is run: leave out command, args, env and cwd, or the url");
        }
        if options.url.is_some() && options.sandbox.is_some() {
            return field.invalid(
                "has a url, so nothing is run here that a sandbox could hold: leave one of them out",
            );
        }
        if options.url.is_none() && !options.headers.is_empty() && table.get("url").is_none() {
            return field.invalid("has headers, which are sent to a url: give one, or leave them out");
        }
        table.close();
        Some(options)
    }
}

impl ProjectOptions {
    fn of(field: &Field<'_>) -> Option<Self> {
        let table = field.table_of(Self::GROUP.known())?;
        let mut options = Self::default();
        options.read(&table);
        table.close();
        Some(options)
    }
}

impl LimitOptions {
    /// As sessions have it.
    pub fn bounds(&self) -> Bounds {
        let time =
            |time: Option<Duration>| time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let TurnLimits { time: in_turn, cost, commands, files, lines } = self.turn;
        let turn = Limits { time: time(in_turn), cost, commands, files, lines };
        let SessionLimits { time: in_session, cost, commands, files, lines } = self.session;
        let session = Limits { time: time(in_session), cost, commands, files, lines };
        Bounds { turn, session }
    }
}

impl RecoveryOptions {
    /// As sessions have it.
    pub fn wanted(&self) -> Recovery {
        let longest = u64::try_from(self.longest.as_millis()).unwrap_or(u64::MAX);
        Recovery { again: self.again, reconnect: self.reconnect, longest }
    }
}

impl FollowOptions {
    /// `true` alone, or a table.
    fn of(field: &Field<'_>) -> Option<Self> {
        let mut options = Self::default();
        if let Value::Bool(enabled) = field.value() {
            options.enabled = *enabled;
            return Some(options);
        }
        if !matches!(field.value(), Value::Object(_) | Value::Array(_)) {
            return field.unexpected("true, false or a table");
        }
        let table = field.table_of(Self::GROUP.known())?;
        options.read(&table);
        if let Some(window) = table.get("window") {
            window.invalid::<()>("should be a function that takes a place");
        }
        table.close();
        Some(options)
    }
}

//! What may be written for an option: how it is read, what the help and the language server call it, and how its
//! default is written in Lua. Which option takes what is in [`super::options`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::keys::{KEYS, Keys};
use super::read::Field;
use super::sandbox::SandboxOptions;
use super::spec::Takes;
use super::values::{Log, Size};
use crate::core::message::remote::Address;
use crate::core::message::{Dialect, McpServer, ToolsTransport};
use crate::core::rules::Rule;

pub(super) struct Kind<T> {
    pub takes: Takes,
    pub read: fn(&Field<'_>) -> Option<T>,
    /// A default as Lua writes it.
    pub shown: fn(&T) -> String,
}

/// A table of options that is read by itself.
pub(super) trait OwnTable: Sized {
    fn of(field: &Field<'_>) -> Option<Self>;
}

/// Where there is no default, or none that Lua could write.
fn nil<T>(_: &T) -> String {
    "nil".to_owned()
}

fn empty<T>(_: &T) -> String {
    "{}".to_owned()
}

pub(super) const fn kind<T>(
    help: &'static str,
    lua: &'static str,
    read: fn(&Field<'_>) -> Option<T>,
    shown: fn(&T) -> String,
) -> Kind<T> {
    Kind { takes: Takes::Type(help, lua), read, shown }
}

/// Tables of options by names that the user chooses.
pub(super) const fn by_name<T: OwnTable>(help: &'static str, lua: &'static str) -> Kind<BTreeMap<String, T>> {
    let read = |field: &Field<'_>| {
        let tables = field.map()?.into_iter();
        Some(tables.filter_map(|(name, field)| Some((name.to_owned(), T::of(&field)?))).collect())
    };
    kind(help, lua, read, empty)
}

/// Tables of options by folders.
pub(super) const fn by_folder<T: OwnTable>(
    help: &'static str,
    lua: &'static str,
) -> Kind<BTreeMap<PathBuf, T>> {
    let read = |field: &Field<'_>| {
        let table = |(folder, field): (&str, Field<'_>)| {
            Some((PathBuf::from(field.expanded(folder)?), T::of(&field)?))
        };
        Some(field.map()?.into_iter().filter_map(table).collect())
    };
    kind(help, lua, read, empty)
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

/// How an agent reaches the editor's tools, in place of what counts for all.
pub(super) const TOOLS_TRANSPORT: Kind<Option<ToolsTransport>> = Kind {
    takes: ToolsTransport::KIND.takes,
    read: |field| field.one_of(ToolsTransport::WORDS).map(Some),
    shown: nil,
};

/// Which version of the protocol an agent is asked for, if that is said.
pub(super) const PROTOCOL: Kind<Option<Dialect>> = kind(
    "1 or 2",
    "1|2",
    |field| field.one_of_numbers(&[(1, Dialect::Official), (2, Dialect::V2)]).map(Some),
    nil,
);

/// A program, or a list that begins with one; what follows in it are arguments, see `own_tables`.
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

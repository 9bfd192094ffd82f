//! Reads a plain value field by field. A [`Field`] knows the path that led to it, so a mistake is
//! reported with the key as the user wrote it. Valid values are kept, invalid ones are left out.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::error::ConfigError;
use super::spec::GroupSpec;
use super::values::{Log, Size};
use crate::core::message::McpServer;
use crate::core::message::remote::{Address, header_problem};
use crate::core::store::registry;
use crate::core::text::uri;

/// The mistakes found so far.
#[derive(Default)]
pub(super) struct Report(RefCell<Vec<ConfigError>>);

impl Report {
    pub fn add(&self, error: ConfigError) {
        self.0.borrow_mut().push(error);
    }

    pub fn into_result<T>(self, value: T) -> Result<T, Vec<ConfigError>> {
        let errors = self.0.into_inner();
        if errors.is_empty() { Ok(value) } else { Err(errors) }
    }
}

/// One value and the path to it.
pub(super) struct Field<'a> {
    path: String,
    value: &'a Value,
    report: &'a Report,
}

/// A table whose keys are fixed.
pub(super) struct Table<'a> {
    path: String,
    /// `None` for Lua's empty table, which may have come as a list.
    map: Option<&'a Map<String, Value>>,
    report: &'a Report,
    known: Vec<&'static str>,
}

const MCP_SERVER: &[&str] = &["name", "type", "command", "args", "env", "url", "headers"];
const PAIR: &[&str] = &["name", "value"];

impl<'a> Table<'a> {
    /// The field of that name, if it is given; Lua's `nil` is not.
    pub fn get(&self, key: &str) -> Option<Field<'a>> {
        let value = self.map?.get(key)?;
        (!value.is_null()).then(|| Field { path: self.path_to(key), value, report: self.report })
    }

    /// The field of that name; its absence is a mistake.
    pub fn require(&self, key: &str) -> Option<Field<'a>> {
        let field = self.get(key);
        if field.is_none() {
            let key = self.path_to(key);
            self.report.add(ConfigError::Invalid { key, problem: "missing".to_owned() });
        }
        field
    }

    /// Reads a field into `target`, which keeps what it has if the field is absent or wrong.
    pub fn set<T>(&self, key: &str, target: &mut T, read: impl FnOnce(&Field<'a>) -> Option<T>) {
        if let Some(value) = self.get(key).and_then(|field| read(&field)) {
            *target = value;
        }
    }

    /// The table of options of that name in this one.
    pub fn group(&self, name: &str, group: &GroupSpec) -> Option<Table<'a>> {
        self.get(name)?.table_of(group.known())
    }

    /// Reports the keys that are not known.
    pub fn close(self) {
        for key in self.map.into_iter().flat_map(Map::keys) {
            if !self.known.contains(&key.as_str()) {
                let nearest = nearest(key, self.known.iter().copied()).map(str::to_owned);
                self.report.add(ConfigError::UnknownKey { key: self.path_to(key), nearest });
            }
        }
    }

    fn path_to(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

impl<'a> Field<'a> {
    pub fn root(value: &'a Value, report: &'a Report) -> Self {
        Self { path: String::new(), value, report }
    }

    /// A table that may have these keys.
    pub fn table_of(&self, known: Vec<&'static str>) -> Option<Table<'a>> {
        let map = match self.value {
            Value::Object(map) => Some(map),
            Value::Array(list) if list.is_empty() => None,
            _ => return self.unexpected("a table"),
        };
        Some(Table { path: self.path.clone(), map, report: self.report, known })
    }

    /// A table whose keys are free.
    pub fn map(&self) -> Option<Vec<(&'a str, Field<'a>)>> {
        match self.value {
            Value::Object(map) => Some(
                map.iter()
                    .map(|(key, value)| {
                        let path = format!("{}.{key}", self.path);
                        (key.as_str(), Field { path, value, report: self.report })
                    })
                    .collect(),
            ),
            Value::Array(list) if list.is_empty() => Some(Vec::new()),
            _ => self.unexpected("a table"),
        }
    }

    pub fn list(&self, expected: &str) -> Option<Vec<Field<'a>>> {
        match self.value {
            Value::Array(list) => Some(
                list.iter()
                    .enumerate()
                    .map(|(index, value)| {
                        // Lua counts from one.
                        let path = format!("{}[{}]", self.path, index + 1);
                        Field { path, value, report: self.report }
                    })
                    .collect(),
            ),
            Value::Object(map) if map.is_empty() => Some(Vec::new()),
            _ => self.unexpected(expected),
        }
    }

    pub fn value(&self) -> &'a Value {
        self.value
    }

    pub fn bool(&self) -> Option<bool> {
        self.value.as_bool().or_else(|| self.unexpected("true or false"))
    }

    pub fn string(&self) -> Option<String> {
        match self.value.as_str() {
            Some(text) if !text.is_empty() => Some(text.to_owned()),
            _ => self.unexpected("a string"),
        }
    }

    /// A string that may be empty.
    fn text(&self) -> Option<String> {
        self.value.as_str().map(str::to_owned).or_else(|| self.unexpected("a string"))
    }

    pub fn strings(&self) -> Option<Vec<String>> {
        each(&self.list("a list of strings")?, Field::text)
    }

    pub fn path(&self) -> Option<PathBuf> {
        self.program().map(PathBuf::from)
    }

    pub fn paths(&self) -> Option<Vec<PathBuf>> {
        each(&self.list("a list of paths")?, Field::path)
    }

    /// Paths that are the same from wherever they are meant.
    pub fn absolute_paths(&self) -> Option<Vec<PathBuf>> {
        each(&self.list("a list of paths")?, Field::absolute_path)
    }

    fn absolute_path(&self) -> Option<PathBuf> {
        let path = self.path()?;
        if path.is_absolute() {
            // `//` and `/./` would be another name of the same folder.
            return Some(path.components().collect());
        }
        self.invalid(match cfg!(windows) {
            true => "is not absolute: begin it with a drive, as in C:/, or with ~/",
            false => "is not absolute: begin it with / or ~/",
        })
    }

    /// A program's name, or a path in which `~` is the user's home.
    pub fn program(&self) -> Option<String> {
        self.expanded(&self.string()?)
    }

    /// An address that may be fetched.
    pub fn address(&self) -> Option<String> {
        let address = self.string()?;
        match registry::may_be_fetched(&address) {
            true => Some(address),
            false => self.invalid("should be an address that begins with https://"),
        }
    }

    /// Where an agent is reached.
    pub fn agents_address(&self) -> Option<Address> {
        match Address::read(&self.string()?) {
            Ok(address) => Some(address),
            Err(problem) => self.invalid(&problem.to_string()),
        }
    }

    /// Headers of requests. What is wrong with one is said without its value.
    pub fn headers(&self) -> Option<Vec<(String, String)>> {
        each(&self.map()?, |(name, field)| {
            let Value::String(value) = field.value else { return field.invalid("should be a string") };
            match header_problem(name, value) {
                Some(problem) => field.invalid(&problem),
                None => Some(((*name).to_owned(), value.clone())),
            }
        })
    }

    /// Folders of this machine by what another one calls them.
    pub fn folders(&self) -> Option<Vec<(String, String)>> {
        let pairs = each(&self.map()?, |(there, field)| {
            if !uri::is_path(there) {
                return field.invalid("is a folder of the agent's machine, so it has to begin with /");
            }
            Some(((*there).to_owned(), field.absolute_path()?.to_str()?.to_owned()))
        })?;
        let folder = |pair: &(String, String)| pair.1.trim_end_matches(['/', '\\']).to_owned();
        let twice = pairs
            .iter()
            .enumerate()
            .find(|(at, pair)| pairs[..*at].iter().any(|it| folder(it) == folder(pair)));
        match twice {
            Some((_, (there, _))) => self
                .invalid(&format!("{there} leads to the same folder as another: files need one name each")),
            None => Some(pairs),
        }
    }

    /// A path in which `~` is the user's home.
    pub fn expanded(&self, text: &str) -> Option<String> {
        let home = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => std::env::home_dir(),
            _ => return Some(text.to_owned()),
        };
        match home.as_deref().map(|home| home.to_str()) {
            Some(Some(home)) => Some(format!("{home}{}", &text[1..])),
            _ => self.invalid("where ~ is, is not known here; write the whole path"),
        }
    }

    /// A program and its arguments in one list.
    pub fn command_line(&self) -> Option<(String, Vec<String>)> {
        let expected = "a list with a program and its arguments";
        let list = self.list(expected)?;
        let Some((program, args)) = list.split_first() else {
            return self.unexpected(expected);
        };
        let args = each(args, Field::text);
        Some((program.program()?, args?))
    }

    pub fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let given = self.value.as_str().unwrap_or_default();
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == given) {
            return Some(*value);
        }
        let quoted: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        self.unexpected(&format!("one of {}", quoted.join(", ")))
    }

    pub fn one_of_numbers<T: Copy>(&self, numbers: &[(u64, T)]) -> Option<T> {
        let given = self.value.as_f64();
        if let Some((_, value)) = numbers.iter().find(|(number, _)| Some(*number as f64) == given) {
            return Some(*value);
        }
        let all: Vec<String> = numbers.iter().map(|(number, _)| number.to_string()).collect();
        self.unexpected(&all.join(" or "))
    }

    pub fn cells(&self) -> Option<u16> {
        match self.value.as_f64() {
            Some(number) if (1.0..=10_000.0).contains(&number) => Some(number as u16),
            _ => self.unexpected("a number from 1"),
        }
    }

    pub fn seconds(&self) -> Option<Duration> {
        match self.value.as_f64() {
            Some(number) if number > 0.0 && number <= 86_400.0 => Some(Duration::from_secs_f64(number)),
            _ => self.unexpected("a number of seconds"),
        }
    }

    pub fn seconds_or_never(&self) -> Option<Option<Duration>> {
        match self.value {
            Value::Bool(false) => Some(None),
            _ => self.seconds().map(Some),
        }
    }

    /// A whole number of things, from 0.
    pub fn count(&self) -> Option<usize> {
        match self.value.as_f64() {
            Some(number) if number.fract() == 0.0 && (0.0..1e9).contains(&number) => Some(number as usize),
            _ => self.unexpected("a whole number"),
        }
    }

    /// An amount of money.
    pub fn amount(&self) -> Option<f64> {
        match self.value.as_f64() {
            Some(number) if number > 0.0 && number < 1e9 => Some(number),
            _ => self.unexpected("an amount, in whatever the agent counts"),
        }
    }

    pub fn bytes(&self) -> Option<usize> {
        match self.value.as_f64() {
            Some(number) if (0.0..=(1u32 << 30) as f64).contains(&number) => Some(number as usize),
            _ => self.unexpected("a number of bytes, 1 GiB at the most"),
        }
    }

    /// `60` are cells; `"40%"` and `0.4` are a share.
    pub fn size(&self) -> Option<Size> {
        let size = match self.value {
            Value::String(text) => text
                .strip_suffix('%')
                .and_then(|number| number.trim().parse().ok())
                .filter(|percent| (1..=100).contains(percent))
                .map(Size::Percent),
            Value::Number(number) => match number.as_f64() {
                Some(share) if share > 0.0 && share < 1.0 => {
                    Some(Size::Percent((share * 100.0).round().max(1.0) as u16))
                }
                Some(cells) if (1.0..=10_000.0).contains(&cells) => Some(Size::Cells(cells as u16)),
                _ => None,
            },
            _ => None,
        };
        size.or_else(|| self.unexpected("a number or a string such as \"40%\""))
    }

    /// What to type for a key: a string, several, or `false` for none.
    pub fn keys(&self) -> Option<Vec<String>> {
        match self.value {
            Value::Bool(false) => Some(Vec::new()),
            Value::String(_) => self.string().map(|lhs| vec![lhs]),
            Value::Array(_) => each(&self.list("a list of strings")?, Field::string),
            _ => self.unexpected("a string, a list of strings, or false"),
        }
    }

    pub fn log(&self) -> Option<Log> {
        match self.value {
            Value::Bool(false) => Some(Log::Off),
            Value::Bool(true) => Some(Log::On),
            Value::String(_) => self.path().map(Log::File),
            _ => self.unexpected("true, false or a path"),
        }
    }

    /// Names with values: a table, or as in ACP a list of `{ name, value }`.
    pub fn pairs(&self) -> Option<Vec<(String, String)>> {
        if let Value::Array(_) = self.value {
            return each(&self.list("a table of strings")?, |field| {
                let table = field.table_of(PAIR.to_vec())?;
                let name = table.require("name").and_then(|field| field.string());
                let value = table.require("value").and_then(|field| field.scalar());
                table.close();
                name.zip(value)
            });
        }
        each(&self.map()?, |(name, field)| Some(((*name).to_owned(), field.scalar()?)))
    }

    /// A table of strings, numbers and booleans, all as strings.
    pub fn values(&self) -> Option<Vec<(String, String)>> {
        let value = |field: &Field<'_>| match field.value {
            Value::Bool(on) => Some(on.to_string()),
            Value::String(_) | Value::Number(_) => field.scalar(),
            _ => field.unexpected("a string, a number or a boolean"),
        };
        each(&self.map()?, |(name, field)| Some(((*name).to_owned(), value(field)?)))
    }

    /// A string, or a number as one.
    fn scalar(&self) -> Option<String> {
        match self.value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => self.unexpected("a string"),
        }
    }

    pub fn mcp_servers(&self) -> Option<Vec<McpServer>> {
        let list = self.list("a list of servers, each { name = …, command = … } or { name = …, url = … }")?;
        each(&list, Field::mcp_server)
    }

    fn mcp_server(&self) -> Option<McpServer> {
        let table = self.table_of(MCP_SERVER.to_vec())?;
        let name = table.require("name").and_then(|field| field.string());
        let kind = table.get("type").and_then(|field| {
            field.one_of(&[("stdio", Transport::Stdio), ("http", Transport::Http), ("sse", Transport::Sse)])
        });
        let command = table.get("command").and_then(|field| field.path());
        let url = table.get("url").and_then(|field| field.string());
        let (mut args, mut env, mut headers) = (Vec::new(), Vec::new(), Vec::new());
        table.set("args", &mut args, |field| field.strings());
        table.set("env", &mut env, |field| field.pairs());
        table.set("headers", &mut headers, |field| field.pairs());
        table.close();
        let name = name?;
        match (kind, command, url) {
            (None | Some(Transport::Stdio), Some(command), None) => {
                Some(McpServer::Stdio { name, command, args, env })
            }
            (None | Some(Transport::Http), None, Some(url)) => Some(McpServer::Http { name, url, headers }),
            (Some(Transport::Sse), None, Some(url)) => Some(McpServer::Sse { name, url, headers }),
            _ => self.invalid("a server needs either a command (stdio) or a url (http, sse)"),
        }
    }

    /// Reports that the value is not what it should be. Returns `None` for the caller to pass on.
    pub fn unexpected<T>(&self, expected: &str) -> Option<T> {
        let key = if self.path.is_empty() { "setup()" } else { &self.path };
        let (key, expected) = (key.to_owned(), expected.to_owned());
        self.report.add(ConfigError::Unexpected { key, expected, got: describe(self.value) });
        None
    }

    pub fn invalid<T>(&self, problem: &str) -> Option<T> {
        self.report.add(ConfigError::Invalid { key: self.path.clone(), problem: problem.to_owned() });
        None
    }
}

/// Reads all before giving up on any, so that every mistake is reported.
fn each<I, T>(items: &[I], read: impl Fn(&I) -> Option<T>) -> Option<Vec<T>> {
    items.iter().map(read).collect::<Vec<_>>().into_iter().collect()
}

#[derive(Clone, Copy)]
enum Transport {
    Stdio,
    Http,
    Sse,
}

/// The value as its author would call it.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if text.chars().count() > 40 => {
            format!("{:?}", text.chars().take(40).chain(['…']).collect::<String>())
        }
        Value::String(text) => format!("{text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
    }
}

/// The known word that `word` is most likely meant to be.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters to insert, remove, replace, or swap with a neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        (before, last) = (last, row);
    }
    last[b.len()]
}

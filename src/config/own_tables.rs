//! Tables of options that are more than their options: which of these exclude each other, and what may stand in place
//! of a table.

use serde_json::Value;

use super::kinds::OwnTable;
use super::options::{AgentOptions, FollowOptions, ProjectOptions};
use super::read::Field;

impl OwnTable for AgentOptions {
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

impl OwnTable for ProjectOptions {
    fn of(field: &Field<'_>) -> Option<Self> {
        let table = field.table_of(Self::GROUP.known())?;
        let mut options = Self::default();
        options.read(&table);
        table.close();
        Some(options)
    }
}

impl OwnTable for FollowOptions {
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

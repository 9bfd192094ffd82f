//! What a tool's raw input says, for agents that say it nowhere else: which files, what change, which command,
//! which question, which things to do. Nothing in the protocol names these arguments; the tables here hold the
//! names that tools in the field give them. What a call makes of it is left to `tool_call`.

use std::borrow::Cow;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::tool_patch;
use crate::core::message::{FileDiff, Location, PlanItem, PlanStatus, Priority, ToolKind};
use crate::core::rules::Act;
use crate::core::text::{Text, cut, one_line};

/// A file that a tool works on.
const PATHS: &[&str] = &[
    "path",
    "file_path",
    "filePath",
    "filepath",
    "file",
    "file_name",
    "fileName",
    "filename",
    "target_file",
    "targetFile",
    "target_path",
    "absolute_path",
    "absolutePath",
    "relative_path",
    "notebook_path",
];
/// Several files: a list of paths, or of objects with one each.
const PATH_LISTS: &[&str] = &["files", "paths", "file_paths", "filePaths"];
/// Both ends of a move.
const ENDS: &[&str] = &[
    "old_path",
    "source",
    "source_path",
    "from",
    "oldPath",
    "new_path",
    "destination",
    "destination_path",
    "to",
    "newPath",
];
const LINES: &[&str] = &["line", "line_number", "lineNumber", "start_line", "startLine", "insert_line"];

/// The text that goes, and the one that comes for it.
const PAIRS: &[(&str, &str)] = &[
    ("old_string", "new_string"),
    ("old_text", "new_text"),
    ("old_str", "new_str"),
    ("oldString", "newString"),
    ("oldText", "newText"),
    ("oldStr", "newStr"),
    ("old_content", "new_content"),
    ("oldContent", "newContent"),
    ("old_code", "new_code"),
    ("search", "replace"),
    ("find", "replace"),
];
/// The same by names that mean other things elsewhere.
const PAIRS_OF_EDITS: &[(&str, &str)] =
    &[("old", "new"), ("original", "updated"), ("original", "replacement"), ("before", "after")];
/// The text of a whole file.
const WHOLE: &[&str] = &[
    "content",
    "contents",
    "file_text",
    "fileText",
    "new_text",
    "newText",
    "new_content",
    "newContent",
    "file_content",
];
/// With one of these, a text without an older one is put in somewhere.
const POSITIONS: &[&str] = &["insert_line", "insertLine", "line", "line_number", "start_line", "position"];
/// Several changes of a file, or of several.
const EDIT_LISTS: &[&str] = &["edits", "changes", "replacements", "multi_edit"];
const PATCHES: &[&str] = &["diff", "patch", "unified_diff", "patchText", "patch_text", "input"];

const COMMANDS: &[&str] = &["command", "cmd", "commands", "command_line", "commandLine", "script"];

/// What tools that edit files call their own commands.
const EDITORS_WORDS: &[&str] = &["view", "create", "str_replace", "insert", "undo_edit"];
const FOLDERS: &[&str] =
    &["cwd", "workdir", "working_directory", "workingDirectory", "directory", "dir_path"];
const ADDRESSES: &[&str] = &["url", "urls", "uri"];
/// Arguments that take away what holds a command back.
const ESCAPES: &[&str] = &[
    "with_escalated_permissions",
    "sandbox_permissions",
    "dangerouslyDisableSandbox",
    "dangerously_disable_sandbox",
    "env",
    "environment",
];

const QUESTIONS: &[&str] = &["question", "questions"];
const ANSWERS: &[&str] = &["options", "choices", "answers", "suggestions"];

const TODO_LISTS: &[&str] = &["todos", "todo_list", "todoList", "plan"];
const TODO_TEXTS: &[&str] = &["content", "step", "text", "title", "task", "description", "name"];

/// What may hold the arguments of a tool as a whole.
const WRAPPERS: &[&str] = &["arguments", "args", "input", "parameters", "params", "tool_input"];

/// Of a longer text that holds JSON, the JSON is not read on the editor's thread; and so of a patch.
const MAX_PARSED_BYTES: usize = 256 << 10;
/// Of one input no more edits and files are read.
const MAX_EDITS: usize = 1000;
const MOST_PATH: usize = 4096;

/// The arguments, in whatever they come: some agents send JSON as a text, some put them into another object.
pub fn arguments(input: &Value) -> Option<Cow<'_, Map<String, Value>>> {
    let fields = match input {
        Value::Object(fields) => Cow::Borrowed(fields),
        Value::String(text) => match read_json(text)? {
            Value::Object(fields) => Cow::Owned(fields),
            _ => return None,
        },
        _ => return None,
    };
    let holds_more = |fields: &Map<String, Value>| {
        let known = [PATHS, PATH_LISTS, COMMANDS, QUESTIONS, TODO_LISTS];
        known.iter().any(|names| first(fields, names, Some).is_some())
    };
    let inner = match holds_more(&fields) {
        true => None,
        false => WRAPPERS.iter().find_map(|name| fields.get(*name)?.as_object()).cloned(),
    };
    Some(inner.map_or(fields, Cow::Owned))
}

/// A text that is JSON, if it is an object or a list.
pub fn read_json(text: &str) -> Option<Value> {
    let text = text.trim();
    (text.starts_with(['{', '[']) && text.len() <= MAX_PARSED_BYTES)
        .then(|| serde_json::from_str(text).ok())?
}

/// The files that a call of this kind is about.
pub fn locations(input: &Value, kind: ToolKind) -> Vec<Location> {
    let Some(fields) = arguments(input) else { return Vec::new() };
    match kind {
        ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {}
        // A tool of any kind that gives an old text and a new one edits a file.
        ToolKind::Other if !edits(input, kind).is_empty() => {}
        // A folder to search or to run in is no file that is worked on.
        _ => return Vec::new(),
    }
    let ends = if kind == ToolKind::Move { ENDS } else { &[] };
    let mut found: Vec<Location> = Vec::new();
    let mut add = |location: Option<Location>| {
        if let Some(location) = location
            && found.len() < MAX_EDITS
            && !found.contains(&location)
        {
            found.push(location);
        }
    };
    add(path(&fields).map(|path| Location { path, line: line(&fields) }));
    for name in ends {
        add(fields.get(*name).and_then(as_path).map(|path| Location { path, line: None }));
    }
    for item in PATH_LISTS.iter().chain(EDIT_LISTS).filter_map(|name| fields.get(*name)?.as_array()).flatten()
    {
        add(match item {
            Value::Object(item) => path(item).map(|path| Location { path, line: line(item) }),
            item => as_path(item).map(|path| Location { path, line: None }),
        });
    }
    for diff in edits(input, kind) {
        if found.len() < MAX_EDITS && !found.iter().any(|location| location.path == diff.path) {
            found.push(Location { path: diff.path, line: None });
        }
    }
    found
}

/// The changes that a call of this kind makes to files.
pub fn edits(input: &Value, kind: ToolKind) -> Vec<FileDiff> {
    let Some(fields) = arguments(input) else { return Vec::new() };
    if !matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Other) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let of_all = path(&fields);
    found.extend(edit(&fields, of_all.as_ref(), kind));
    for name in EDIT_LISTS {
        match fields.get(*name) {
            Some(Value::Array(items)) => {
                let items = items.iter().take(MAX_EDITS).filter_map(Value::as_object);
                found.extend(items.filter_map(|item| {
                    let path = path(item).or_else(|| of_all.clone());
                    edit(item, path.as_ref(), ToolKind::Other)
                }));
            }
            Some(Value::Object(files)) => found.extend(files.iter().take(MAX_EDITS).flat_map(change)),
            _ => {}
        }
    }
    if found.is_empty() {
        let patches = PATCHES.iter().filter_map(|name| fields.get(*name)?.as_str());
        let patch =
            patches.filter(|text| text.len() <= MAX_PARSED_BYTES).find(|text| tool_patch::is_patch(text));
        found.extend(patch.map(|text| tool_patch::read(text, of_all.as_deref())).unwrap_or_default());
    }
    found.truncate(MAX_EDITS);
    found
}

/// One change. Whatever has a path and a content is a new file only to a tool that is known to edit.
fn edit(fields: &Map<String, Value>, path: Option<&PathBuf>, kind: ToolKind) -> Option<FileDiff> {
    let path = path?.clone();
    let text = |name: &str| fields.get(name)?.as_str();
    // What comes may still be on its way.
    let edits = PAIRS_OF_EDITS.iter().filter(|(_, new)| kind == ToolKind::Edit && text(new).is_some());
    let mut pairs = PAIRS.iter().chain(edits);
    if let Some((old, new)) = pairs.find_map(|(old, new)| text(old).map(|old| (old, text(new)))) {
        return Some(FileDiff { path, old_text: Some(old.into()), new_text: new?.into() });
    }
    if kind != ToolKind::Edit || first(fields, POSITIONS, Some).is_some() {
        return None;
    }
    let whole = WHOLE.iter().find_map(|name| text(name))?;
    Some(FileDiff { path, old_text: None, new_text: whole.into() })
}

/// A change by the file that it is about.
fn change((path, change): (&String, &Value)) -> Vec<FileDiff> {
    let path = PathBuf::from(path);
    let text = |name: &str| change[name].as_str();
    if let Some(patch) = text("unified_diff").or(text("diff")).filter(|patch| patch.len() <= MAX_PARSED_BYTES)
    {
        return tool_patch::read(patch, Some(&path));
    }
    let content = text("content").map(Text::from);
    let (old_text, new_text) = match (text("type"), content) {
        (Some("add"), Some(content)) => (None, content),
        (Some("delete"), content) => (content, Text::default()),
        _ => return Vec::new(),
    };
    vec![FileDiff { path, old_text, new_text }]
}

/// The command line, its line breaks included.
pub fn command(input: &Value) -> Option<String> {
    let fields = arguments(input)?;
    let command = match first(&fields, COMMANDS, Some)? {
        Value::String(command) => command.clone(),
        Value::Array(words) => {
            let text = |word: &Value| word.as_str().or(word["command"].as_str()).map(str::to_owned);
            let words: Vec<String> = words.iter().map(text).collect::<Option<_>>()?;
            match &words[..] {
                // What a shell is given to run is the command.
                [shell, flag, command] if shell.ends_with("sh") && matches!(&**flag, "-c" | "-lc") => {
                    command.clone()
                }
                words if fields.contains_key("commands") && !fields.contains_key("command") => {
                    words.join("\n")
                }
                words => words.join(" "),
            }
        }
        _ => return None,
    };
    Some(command).filter(|command| !command.trim().is_empty())
}

/// All that is run, for rules to judge: each line of shell code, and each program with its arguments.
pub fn runs(input: &Value) -> Vec<Act> {
    let Some(fields) = arguments(input) else { return Vec::new() };
    let mut acts = Vec::new();
    for value in COMMANDS.iter().filter_map(|name| fields.get(*name)) {
        match value {
            Value::String(line) if EDITORS_WORDS.contains(&&**line) => {}
            Value::String(line) => acts.push(Act::Line(line.clone())),
            Value::Array(items) => {
                let words: Option<Vec<String>> =
                    items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                match words {
                    Some(words) if !fields.contains_key("commands") => acts.push(Act::Words(words)),
                    Some(lines) => acts.extend(lines.into_iter().map(Act::Line)),
                    None => acts.extend(items.iter().map(|item| {
                        let line = item.as_str().or(item["command"].as_str());
                        // What isn't understood is nothing that a rule allows.
                        Act::Line(line.map_or_else(|| item.to_string(), str::to_owned))
                    })),
                }
            }
            Value::Null => {}
            other => acts.push(Act::Line(other.to_string())),
        }
    }
    acts
}

/// The folder that a command is to run in.
pub fn folder(input: &Value) -> Option<PathBuf> {
    let fields = arguments(input)?;
    first(&fields, FOLDERS, Value::as_str).map(PathBuf::from)
}

/// Whether a command is to run without the sandbox that its agent has, or with variables that change what it does.
pub fn escapes(input: &Value) -> bool {
    let Some(fields) = arguments(input) else { return false };
    let holds = |name: &&&str| match fields.get(**name) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(word)) => !matches!(&**word, "" | "false" | "default" | "use_default"),
        Some(Value::Object(pairs)) => !pairs.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    };
    ESCAPES.iter().any(|name| holds(&name))
}

/// Addresses that a tool gets.
pub fn addresses(input: &Value) -> Vec<String> {
    let Some(fields) = arguments(input) else { return Vec::new() };
    let of = |name: &&str| match fields.get(*name) {
        Some(Value::String(address)) => vec![address.clone()],
        Some(Value::Array(items)) => {
            items.iter().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    };
    ADDRESSES.iter().flat_map(of).collect()
}

/// A command on one line, in which its line breaks are seen.
pub fn command_line(command: &str) -> String {
    let lines = command.lines().map(one_line).filter(|line| !line.is_empty());
    one_line(&lines.collect::<Vec<_>>().join(BREAK))
}

/// Where the next line of a command begins.
const BREAK: &str = " \u{21b5} ";

/// A question with its answers, on one line: `Which colour? Red, Blue`.
pub fn question(input: &Value) -> Option<String> {
    let fields = arguments(input)?;
    let asked = match first(&fields, QUESTIONS, Some)? {
        Value::Array(several) => several.iter().filter_map(|one| ask(one.as_object()?)).collect(),
        Value::String(_) => vec![ask(&fields)?],
        _ => return None,
    };
    Some(asked.join(" · ")).filter(|asked| !asked.is_empty())
}

fn ask(fields: &Map<String, Value>) -> Option<String> {
    let question = one_line(first(fields, QUESTIONS, Value::as_str)?);
    let labels = ["label", "name", "title", "text", "value"];
    let label = |answer: &Value| {
        let label = answer.as_str().or_else(|| first(answer.as_object()?, &labels, Value::as_str))?;
        Some(one_line(label))
    };
    let answers: Vec<String> =
        first(fields, ANSWERS, Value::as_array).into_iter().flatten().filter_map(label).collect();
    let question = [question, answers.join(", ")];
    Some(question.join(" ").trim().to_owned()).filter(|asked| !asked.is_empty())
}

/// A list of things to do that is a tool's argument.
pub fn todos(input: &Value) -> Option<Vec<PlanItem>> {
    let fields = arguments(input)?;
    items(first(&fields, TODO_LISTS, Value::as_array)?)
}

/// A list of things to do: each has a text, and says how far it is.
pub fn items(list: &[Value]) -> Option<Vec<PlanItem>> {
    let mut items = Vec::new();
    for item in list {
        let item = item.as_object()?;
        let content = one_line(first(item, TODO_TEXTS, Value::as_str)?);
        let status = match (item.get("status").or(item.get("state")), item.get("done")) {
            (Some(Value::String(word)), _) => match word.to_lowercase().replace(['-', ' '], "_").as_str() {
                "completed" | "complete" | "done" | "finished" => PlanStatus::Completed,
                "in_progress" | "inprogress" | "active" | "doing" => PlanStatus::InProgress,
                // Nothing will be done about it.
                "cancelled" | "canceled" | "skipped" => continue,
                _ => PlanStatus::Pending,
            },
            (_, Some(Value::Bool(done))) => {
                if *done {
                    PlanStatus::Completed
                } else {
                    PlanStatus::Pending
                }
            }
            _ => return None,
        };
        let priority = match item.get("priority").and_then(Value::as_str) {
            Some("high") => Priority::High,
            Some("low") => Priority::Low,
            _ => Priority::Medium,
        };
        items.push(PlanItem { content, priority, status });
    }
    (!items.is_empty()).then_some(items)
}

/// What the arguments are, one to a line: `url: https://example.org`.
pub fn lines(input: &Value) -> Vec<String> {
    let Some(fields) = arguments(input) else {
        return match input {
            Value::String(text) if !text.trim().is_empty() => vec![one_line(text)],
            _ => Vec::new(),
        };
    };
    fields.iter().filter_map(|(name, value)| field_line(name, value)).collect()
}

fn field_line(name: &str, value: &Value) -> Option<String> {
    Some(format!("{}: {}", name.replace('_', " "), words(value)?))
}

/// The same to be judged: a text of several lines has all of them, below its name.
pub fn asked_lines(input: &Value) -> Vec<String> {
    let Some(fields) = arguments(input) else { return lines(input) };
    let field = |(name, value): (&String, &Value)| -> Vec<String> {
        match value.as_str().map(str::trim_end).filter(|text| text.contains('\n')) {
            Some(text) => {
                let below = text.lines().map(|line| format!("  {line}"));
                std::iter::once(format!("{}:", name.replace('_', " "))).chain(below).collect()
            }
            None => field_line(name, value).into_iter().collect(),
        }
    };
    fields.iter().flat_map(field).collect()
}

/// A value in words; nothing for one that says nothing.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(one_line(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(if *is { "yes" } else { "no" }.to_owned()),
        Value::Array(items) if items.iter().all(|item| !item.is_array() && !item.is_object()) => {
            Some(items.iter().filter_map(words).collect::<Vec<_>>().join(", "))
        }
        Value::Array(_) | Value::Object(_) => Some(cut(&value.to_string(), 500).to_owned()),
        Value::Null => None,
    }
    .filter(|text| !text.is_empty() && text != "{}")
}

fn path(fields: &Map<String, Value>) -> Option<PathBuf> {
    first(fields, PATHS, as_path)
}

fn as_path(value: &Value) -> Option<PathBuf> {
    let text = value.as_str()?;
    let is_path = !text.trim().is_empty()
        && text.len() <= MOST_PATH
        && !text.contains(['\n', '\0'])
        && !text.contains("://");
    is_path.then(|| PathBuf::from(text))
}

fn line(fields: &Map<String, Value>) -> Option<u32> {
    first(fields, LINES, |value| u32::try_from(value.as_u64()?).ok()).map(|line| line.max(1))
}

/// The first of these fields that can be read so.
fn first<'a, T>(
    fields: &'a Map<String, Value>,
    names: &[&str],
    read: impl Fn(&'a Value) -> Option<T>,
) -> Option<T> {
    names.iter().find_map(|name| read(fields.get(*name).filter(|value| !value.is_null())?))
}

#[cfg(test)]
mod tests;

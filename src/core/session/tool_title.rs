//! What a tool call is called: in words, the verb first, whatever its agent made of the title. Some give a tool's
//! name with its arguments as JSON, some a bare path or command, some a sentence.

use std::path::Path;

use serde_json::Value;

use super::tool_call::{Status, ToolCall, kind_word};
use super::tool_input;
use crate::core::message::{ToolContent, ToolKind};
use crate::core::text::{cut, one_line, without_ticks};
use crate::core::tools::titles;

impl ToolCall {
    /// What it does, the verb first.
    pub fn headline(&self) -> String {
        headline(self)
    }

    /// What it is about; of a command, as it is typed.
    pub fn subject(&self) -> String {
        subject(self)
    }

    /// What the agent wants, to stand after its name: `wants to edit notes.txt`.
    pub fn request(&self) -> String {
        request(self)
    }
}

/// What it does, the verb first: agents' titles may be a bare path or a bare command.
fn headline(call: &ToolCall) -> String {
    if let Some(title) = of_editors_tool(call) {
        return match found(call) {
            Some(found) => format!("{title}: {found}"),
            None => title,
        };
    }
    let subject = subject(call);
    let verb = match call.kind {
        ToolKind::Other if call.command().is_some_and(|command| command == subject) => "run",
        ToolKind::Other => return subject,
        kind => kind_word(kind),
    };
    match starts_with_verb(&subject, verb) || names_a_deed(&subject) {
        true => subject,
        false => format!("{verb} {subject}"),
    }
}

/// What the agent wants, to stand after its name: `wants to edit notes.txt`.
fn request(call: &ToolCall) -> String {
    if let Some(title) = of_editors_tool(call) {
        return format!("wants to {title}");
    }
    let headline = headline(call);
    let (first, rest) = headline.split_once(' ').unwrap_or((&headline, ""));
    let word = first.trim_end_matches(':').to_lowercase();
    let verb = match VERBS.iter().find(|(verb, now)| *verb == word || *now == word) {
        Some((verb, _)) => verb,
        None if starts_with_verb(&headline, kind_word(call.kind)) => word.as_str(),
        None => return format!("asks: {headline}"),
    };
    // Which file it is follows, and says more.
    let rest = rest.strip_prefix("file: ").or(rest.strip_prefix("files: ")).unwrap_or(rest);
    format!("wants to {verb} {rest}").trim_end().to_owned()
}

/// Agents call the editor's own tools by the names that their servers have. What such a name must not hide is a command
/// or a change.
fn of_editors_tool(call: &ToolCall) -> Option<String> {
    let title = titles::title([call.name.as_deref(), Some(&call.title)], call.raw_input.as_ref())?;
    let is_told = call.command().is_none_or(|command| title.contains(&command));
    (is_told && call.diffs().next().is_none()).then_some(title)
}

/// How much a call of one of the editor's tools has found.
fn found(call: &ToolCall) -> Option<String> {
    if call.status != Status::Done {
        return None;
    }
    let shown = call.content.iter().find_map(ToolContent::text).map(ToString::to_string);
    let names = [call.name.as_deref(), Some(&*call.title)];
    titles::found(names, call.raw_input.as_ref(), &shown.or(call.output())?)
}

/// What agents say in a title that they do, and how they say that they are at it.
const VERBS: &[(&str, &str)] = &[
    ("add", "adding"),
    ("apply", "applying"),
    ("change", "changing"),
    ("create", "creating"),
    ("delete", "deleting"),
    ("edit", "editing"),
    ("execute", "executing"),
    ("fetch", "fetching"),
    ("find", "finding"),
    ("insert", "inserting"),
    ("install", "installing"),
    ("list", "listing"),
    ("make", "making"),
    ("modify", "modifying"),
    ("move", "moving"),
    ("open", "opening"),
    ("overwrite", "overwriting"),
    ("patch", "patching"),
    ("read", "reading"),
    ("remove", "removing"),
    ("rename", "renaming"),
    ("replace", "replacing"),
    ("run", "running"),
    ("search", "searching"),
    ("set", "setting"),
    ("update", "updating"),
    ("use", "using"),
    ("view", "viewing"),
    ("write", "writing"),
];

/// What tools that run commands are called.
const SHELLS: &[&str] = &["bash", "cmd", "command", "exec", "powershell", "sh", "shell", "terminal"];

fn starts_with_verb(title: &str, verb: &str) -> bool {
    title
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .is_some_and(|first| first.eq_ignore_ascii_case(verb.split(' ').next().unwrap_or(verb)))
}

fn names_a_deed(title: &str) -> bool {
    title.split_whitespace().next().is_some_and(|word| {
        let word = word.trim_end_matches(':');
        word.chars().next().is_some_and(char::is_uppercase) && word.chars().all(char::is_alphabetic)
    })
}

/// The title on one line; when the agent gave none, its name or kind. What the call is about follows where the
/// title does not say it: whoever is asked has to know which file, and which command.
fn subject(call: &ToolCall) -> String {
    if let Some(title) = of_editors_tool(call) {
        return title;
    }
    let sets_plan = |input: &Value| tool_input::todos(input).is_some();
    if call.kind == ToolKind::Other && call.raw_input.as_ref().is_some_and(sets_plan) {
        return "update the plan".to_owned();
    }
    let command = call.command();
    let mut title = match call.kind {
        ToolKind::Execute => tool_input::command_line(&call.title),
        _ => one_line(&call.title),
    };
    title = without_markdown(title, call.kind, command.as_deref());
    let named = Named::of(&title, call, command.as_deref());
    if matches!(named, Named::Sentence) && is_about_files(call.kind) {
        title = without_folder(&title, &call.root);
    }
    let about = match call.kind {
        // A command is shown as it runs, down to its folders.
        ToolKind::Execute | ToolKind::Other if command.is_some() => command,
        kind if is_about_files(kind) => files(call, if named == Named::Sentence { &title } else { "" }),
        ToolKind::Other if named != Named::Sentence => match call.input_diffs() {
            [] => question(call),
            _ => files(call, "").map(|files| format!("edit {files}")),
        },
        _ if named != Named::Sentence => question(call),
        _ => None,
    };
    match (named, about) {
        (Named::Sentence, Some(about)) if title.contains(&about) => title,
        // The program alone, before the whole command.
        (Named::Sentence, Some(about)) if about.starts_with(&format!("{title} ")) => about,
        (Named::Sentence, Some(about)) if is_verb(&title) => format!("{title} {about}"),
        (Named::Sentence, Some(about)) => format!("{title}: {about}"),
        (Named::Sentence, None) => title,
        (_, Some(about)) => about,
        (Named::Json(tool), None) => {
            let input = call.raw_input.as_ref().map(tool_input::lines).unwrap_or_default();
            let tool = match tool.is_empty() {
                true => kind_word(call.kind).to_owned(),
                false => tool.replace('_', " "),
            };
            match input.is_empty() {
                true => tool,
                false => format!("{tool} · {}", cut(&input.join(" · "), MOST_ARGUMENTS)),
            }
        }
        (Named::Tool(tool), None) => tool,
    }
}

/// A title without the backticks of Markdown. In a command they are the shell's.
fn without_markdown(title: String, kind: ToolKind, command: Option<&str>) -> String {
    let inside = title.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    match (kind, inside, command) {
        _ if !title.contains('`') => title,
        (_, Some(inside), _) if !inside.contains('`') && !inside.is_empty() => inside.to_owned(),
        (_, _, Some(command)) if command.contains('`') => title,
        (ToolKind::Execute, _, None) => title,
        _ => without_ticks(&title),
    }
}

/// Of the arguments no more is part of a title.
const MOST_ARGUMENTS: usize = 200;

/// How a title names what is done.
#[derive(Clone, Debug, PartialEq)]
enum Named {
    /// In words, or by the path or the command that it is about.
    Sentence,
    /// By the tool's name alone, or with what is known anyway.
    Tool(String),
    /// By the tool's arguments as JSON, after its name or without one.
    Json(String),
}

impl Named {
    fn of(title: &str, call: &ToolCall, command: Option<&str>) -> Self {
        if title.is_empty() {
            return Self::Tool(call.name.clone().unwrap_or_else(|| kind_word(call.kind).to_owned()));
        }
        if is_name(title) {
            // A word may also be the file, or the whole command.
            let known = call.name.as_deref() == Some(title)
                || title.contains('_')
                || SHELLS.iter().any(|shell| title.eq_ignore_ascii_case(shell))
                || call.kind == ToolKind::Other;
            let is_file = call.places().iter().any(|place| place.path.ends_with(Path::new(title)));
            return match known && !is_file && !is_verb(title) && command != Some(title) {
                true => Self::Tool(title.to_owned()),
                false => Self::Sentence,
            };
        }
        let start = title.find(['{', '[', ' ', '(', ':']).unwrap_or(title.len());
        let (tool, rest) = title.split_at(start);
        let rest = rest.trim_start_matches([':', ' ', '(']);
        if (tool.is_empty() || is_name(tool)) && is_json(rest, call.raw_input.as_ref()) {
            return Self::Json(tool.to_owned());
        }
        match is_name(tool) && tool.contains('_') && command == Some(rest) {
            true => Self::Tool(tool.to_owned()),
            false => Self::Sentence,
        }
    }
}

fn is_verb(word: &str) -> bool {
    VERBS.iter().any(|(verb, now)| word.eq_ignore_ascii_case(verb) || word.eq_ignore_ascii_case(now))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|char| char.is_ascii_alphanumeric() || "_-".contains(char))
}

/// Whether a text is arguments as JSON, which may be cut off.
fn is_json(text: &str, input: Option<&Value>) -> bool {
    text.starts_with("{\"")
        || text.starts_with("[{\"")
        || text.starts_with('{') && text.ends_with(['}', ')']) && input.is_some_and(Value::is_object)
}

fn question(call: &ToolCall) -> Option<String> {
    tool_input::question(call.raw_input.as_ref()?)
}

fn is_about_files(kind: ToolKind) -> bool {
    use ToolKind::{Delete, Edit, Move, Read, Search};
    matches!(kind, Read | Edit | Delete | Move | Search)
}

/// The files that a title does not name, if it names none of them.
fn files(call: &ToolCall, title: &str) -> Option<String> {
    let places = call.places();
    let mut names: Vec<String> = Vec::new();
    for place in places.iter().take(NAMED) {
        let file = place.path.file_name()?.to_string_lossy();
        if title.contains(&*file) {
            return None;
        }
        let name = call.relative(&place.path).display().to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let others = places.len().saturating_sub(NAMED);
    match &names[..] {
        [] => None,
        [first, second, third, more @ ..] if more.len() + others > 0 => {
            Some(format!("{first}, {second}, {third} and {} more", more.len() + others))
        }
        names => Some(names.join(", ")),
    }
}

/// Of so many files of a call it is looked whether its title names them.
const NAMED: usize = 100;

/// A text with the paths in a folder written from there.
fn without_folder(text: &str, folder: &Path) -> String {
    let Some(folder) = folder.to_str().filter(|folder| folder.len() > 1) else { return text.to_owned() };
    let folder = format!("{}/", folder.trim_end_matches('/'));
    let mut short = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&folder) {
        let (before, after) = (&rest[..at], &rest[at + folder.len()..]);
        short.push_str(before);
        // The end of a longer path is another folder.
        if short.ends_with(|last: char| last.is_alphanumeric() || "/._-~".contains(last)) {
            short.push_str(&folder);
        }
        rest = after;
    }
    short + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::ids::{Moment, ToolCallId};
    use crate::core::message::{Location, ToolCallPatch};

    fn call(title: &str, kind: ToolKind, input: Option<Value>) -> ToolCall {
        let mut call = ToolCall::new(ToolCallId("1".into()), Moment(0));
        call.root = "/p".into();
        let patch = ToolCallPatch {
            title: Some(title.into()),
            kind: Some(kind),
            raw_input: input,
            ..ToolCallPatch::new("1")
        };
        call.patch(patch, Moment(0));
        call
    }

    /// The subject of a call in `/p` that is about these paths.
    fn subject_of(title: &str, kind: ToolKind, paths: &[&str], command: Option<&str>) -> String {
        let mut call = call(title, kind, command.map(|command| json!({ "command": command })));
        let location = |path: &&str| Location { path: path.into(), line: None };
        let locations = Some(paths.iter().map(location).collect());
        call.patch(ToolCallPatch { locations, ..ToolCallPatch::new("1") }, Moment(0));
        call.subject()
    }

    #[test]
    fn a_title_that_is_json_is_put_into_words() {
        for (title, kind, input, expected) in [
            (
                r#"editor: {"path":"notes.txt","new_text":"BETA","old_text":"beta"}"#,
                ToolKind::Edit,
                json!({"path": "notes.txt", "new_text": "BETA", "old_text": "beta"}),
                "edit notes.txt",
            ),
            (
                r#"read_files: {"files":[{"path":"a"},{"path":"/p/b"}]}"#,
                ToolKind::Read,
                json!({"files": [{"path": "a"}, {"path": "/p/b"}]}),
                "read a, b",
            ),
            (r#"editor: {"path":"notes.t"#, ToolKind::Edit, json!(null), "edit editor"),
            (
                "run_commands: sleep 20; echo x",
                ToolKind::Execute,
                json!({"commands": ["sleep 20; echo x"]}),
                "run sleep 20; echo x",
            ),
            ("exec_command", ToolKind::Other, json!({"cmd": "cat notes.txt"}), "run cat notes.txt"),
            ("bash", ToolKind::Other, json!({"command": "ls"}), "run ls"),
            ("Terminal", ToolKind::Execute, json!({"command": "ls"}), "run ls"),
            ("edit", ToolKind::Edit, json!({"filePath": "/p/notes.txt"}), "edit notes.txt"),
            ("Write", ToolKind::Edit, json!({"file_path": "n", "content": "x"}), "Write n"),
            ("str_replace", ToolKind::Other, json!({"path": "n", "old_str": "a", "new_str": "b"}), "edit n"),
            (
                r#"ask_question: {"question":"Which colour?","options":["Red","Blue"]}"#,
                ToolKind::Other,
                json!({"question": "Which colour?", "options": ["Red", "Blue"]}),
                "Which colour? Red, Blue",
            ),
            (
                "2 todos",
                ToolKind::Other,
                json!({"todos": [{"content": "a", "status": "pending"}]}),
                "update the plan",
            ),
            (
                r#"create_ticket: {"name":"x","count":3}"#,
                ToolKind::Other,
                json!({"name": "x", "count": 3}),
                "create ticket · name: x · count: 3",
            ),
            ("Read File", ToolKind::Read, json!({}), "Read File"),
            ("notes.txt: beta => BETA", ToolKind::Edit, json!(null), "edit notes.txt: beta => BETA"),
            ("make", ToolKind::Execute, json!({"command": "make"}), "run make"),
            ("make", ToolKind::Execute, json!({"command": "make test"}), "run make test"),
            ("Run", ToolKind::Execute, json!({"command": "make test"}), "Run make test"),
            ("Makefile", ToolKind::Read, json!({"path": "Makefile"}), "Makefile"),
            (r#"{"a":"#, ToolKind::Fetch, json!(null), "fetch"),
            ("`make test`", ToolKind::Execute, json!(null), "run make test"),
            ("echo `date`", ToolKind::Execute, json!(null), "run echo `date`"),
            ("echo `date`", ToolKind::Execute, json!({"command": "echo `date`"}), "run echo `date`"),
            ("Run `make` in `src`", ToolKind::Other, json!(null), "Run make in src"),
        ] {
            assert_eq!(call(title, kind, Some(input)).headline(), expected, "{title}");
        }
    }

    #[test]
    fn what_an_agent_wants_is_a_sentence_with_its_verb() {
        let request = |title: &str, kind| call(title, kind, None).request();
        for (title, kind, expected) in [
            ("Edit `notes.txt`", ToolKind::Edit, "wants to edit notes.txt"),
            ("/p/notes.txt", ToolKind::Edit, "wants to edit notes.txt"),
            ("Write new/hello.txt", ToolKind::Edit, "wants to write new/hello.txt"),
            ("Editing files", ToolKind::Edit, "wants to edit files"),
            ("Modifying critical file", ToolKind::Edit, "wants to modify critical file"),
            ("Run a shell command", ToolKind::Execute, "wants to run a shell command"),
            ("`sleep 20`", ToolKind::Execute, "wants to run sleep 20"),
            ("Edit file: notes.txt", ToolKind::Edit, "wants to edit notes.txt"),
            ("Approve Plan", ToolKind::SwitchMode, "asks: Approve Plan"),
            ("Set 3 todo(s)", ToolKind::Other, "wants to set 3 todo(s)"),
            ("Which colour?", ToolKind::Other, "asks: Which colour?"),
            ("", ToolKind::Edit, "wants to edit"),
        ] {
            assert_eq!(request(title, kind), expected);
        }
    }

    #[test]
    fn a_headline_names_the_files_that_the_title_keeps_to_itself() {
        let edit = |title: &str, paths: &[&str]| subject_of(title, ToolKind::Edit, paths, None);
        assert_eq!(edit("Edit file", &["/p/src/a.rs"]), "Edit file: src/a.rs");
        assert_eq!(edit("Edit files", &["/p/a1", "/p/a2", "/p/a1"]), "Edit files: a1, a2");
        assert_eq!(edit("Edit files", &["a1", "a2", "a3", "a4", "a5"]), "Edit files: a1, a2, a3 and 2 more");
        assert_eq!(edit("Edit a.rs", &["/p/src/a.rs"]), "Edit a.rs");
        assert_eq!(edit("Edit file", &["/other/a.rs"]), "Edit file: /other/a.rs");
        assert_eq!(edit("Edit file", &[]), "Edit file");
    }

    #[test]
    fn a_headline_names_the_command_that_the_title_keeps_to_itself() {
        let run = |title: &str, command: &str| subject_of(title, ToolKind::Execute, &[], Some(command));
        assert_eq!(run("Run the tests", "cargo  test\n--all"), "Run the tests: cargo test ↵ --all");
        assert_eq!(run("`cargo test`", "cargo test"), "cargo test");
        assert_eq!(run("Run the tests", ""), "Run the tests");
        assert_eq!(subject_of("bash", ToolKind::Other, &[], Some("ls")), "ls");
    }

    #[test]
    fn paths_in_the_project_are_short_and_commands_are_left_as_they_are() {
        let edit = |title: &str| subject_of(title, ToolKind::Edit, &[], None);
        assert_eq!(edit("Edit `/p/src/a.rs` and /p/b"), "Edit src/a.rs and b");
        assert_eq!(edit("Edit /home/p/a.rs, /px/a and /p"), "Edit /home/p/a.rs, /px/a and /p");
        assert_eq!(subject_of("rm -r /p/build", ToolKind::Execute, &[], None), "rm -r /p/build");
    }

    #[test]
    fn a_title_of_many_lines_is_one_line_and_a_command_shows_where_its_lines_end() {
        assert_eq!(call("run\n  ls\r\n", ToolKind::Other, None).subject(), "run ls");
        let run = |title: &str| {
            call(title, ToolKind::Execute, Some(json!({"command": "cd a\n\n  rm  b\n"}))).subject()
        };
        assert_eq!(run("cd a\n\n  rm  b"), "cd a ↵ rm b");
        assert_eq!(run("Clean up"), "Clean up: cd a ↵ rm b");
    }
}

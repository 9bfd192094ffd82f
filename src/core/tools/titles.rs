//! What a call of one of the editor's tools is called in words, whatever its agent made of the tool's name: the verb
//! first, then what it is about.

use serde_json::{Map, Value};

use super::table::{Tool, find};
use crate::core::text::{cut, one_line};

/// What agents are told that the server of the tools is called.
pub const SERVER: &str = "neovim";

/// Of a question, a name or a command line no more is part of a title.
const LONGEST: usize = 120;

/// A call of one of the editor's tools in words, from what agents give: the name or a title, and the arguments.
/// Nothing where it is another tool.
pub fn title(names: [Option<&str>; 2], input: Option<&Value>) -> Option<String> {
    let (tool, args) = called(names, input)?;
    let (deed, joint) = tool.deed;
    Some(words(deed, joint, args))
}

/// How much such a call has found, from what its agent shows of the answer: `12 places`.
pub fn found(names: [Option<&str>; 2], input: Option<&Value>, answer: &str) -> Option<String> {
    let (one, several) = called(names, input)?.0.items;
    // Some agents have it in a fence.
    let first = answer.lines().find(|line| !line.trim().is_empty() && !line.starts_with("```"))?;
    let (number, rest) = first.split_once(' ')?;
    let noun = if number == "1" { one } else { several };
    let is_number = number == "no" || !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', ',']);
    (is_number && rest.strip_prefix(noun).is_some_and(ends)).then(|| format!("{number} {noun}"))
}

/// Which of the editor's tools it is, and with which arguments.
fn called<'c>(
    names: [Option<&'c str>; 2],
    input: Option<&'c Value>,
) -> Option<(&'static Tool, Option<&'c Map<String, Value>>)> {
    let fields = input.and_then(Value::as_object);
    // Codex has the server and the tool beside the arguments.
    let server = |input: &&Map<String, Value>| input.get("server").is_some_and(|server| server == SERVER);
    let inner = fields.filter(server);
    let apart = inner.and_then(|input| input.get("tool")?.as_str());
    let named = || names.into_iter().flatten().find_map(named);
    let tool = apart.filter(|tool| find(tool).is_some()).or_else(named)?;
    let args = fields.and_then(|input| input.get("arguments")?.as_object()).or(fields);
    Some((find(tool)?, args))
}

/// The tool that a name is of: `mcp__neovim__hover`, `neovim/hover`, `neovim_hover`, `hover (neovim MCP Server)`.
fn named(name: &str) -> Option<&str> {
    let (before, after) = name.split_once(SERVER)?;
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let after = after.trim_start_matches(|char: char| !char.is_ascii_alphanumeric());
    let last = before.trim_end_matches(|char: char| !char.is_ascii_alphanumeric());
    let after = &after[..after.find(|char| !is_part(char)).unwrap_or(after.len())];
    let last = &last[last.rfind(|char| !is_part(char)).map_or(0, |at| at + 1)..];
    [after, last].into_iter().find(|tool| find(tool).is_some())
}

fn words(deed: &str, joint: &str, args: Option<&Map<String, Value>>) -> String {
    let text = |name: &str| args.and_then(|args| args.get(name)?.as_str()).filter(|text| !text.is_empty());
    let line = args.and_then(|args| args.get("line")?.as_u64());
    let short = |text: &str| cut(&one_line(text), LONGEST).to_owned();
    let about = ["symbol", "query", "question", "command", "title"].into_iter().find_map(|name| {
        // Another tool has no command, whatever an agent puts there.
        if name == "command" && deed != "run" {
            return None;
        }
        let text = short(text(name)?);
        Some(if matches!(name, "symbol" | "query") { format!("`{text}`") } else { text })
    });
    let place = || {
        let file = short(text("file")?);
        Some(line.map_or(file.clone(), |line| format!("{file}:{line}")))
    };
    let mut words = deed.to_owned();
    if let Some(about) = about.or_else(place) {
        for word in [joint, &about].into_iter().filter(|word| !word.is_empty()) {
            words = format!("{words} {word}");
        }
    }
    match (text("new_name"), text("apply")) {
        (Some(name), _) => format!("{words} to `{}`", short(name)),
        (None, Some(action)) => format!("{words}, apply {}", short(action)),
        (None, None) => words,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_known_in_each_way_in_which_agents_name_it() {
        let args = json!({ "file": "src/a.rs", "line": 5, "symbol": "login" });
        let expected = Some("look up references to `login`".to_owned());
        for name in [
            "mcp__neovim__references",
            "Tool: neovim/references",
            "neovim.references",
            "neovim_references",
            "neovim-references",
            "references (neovim MCP Server)",
            "neovim - references (MCP)",
        ] {
            assert_eq!(title([None, Some(name)], Some(&args)), expected, "{name}");
        }
        let apart = json!({ "server": "neovim", "tool": "references", "arguments": args });
        assert_eq!(title([None, Some("Tool call")], Some(&apart)), expected);
        for other in
            ["mcp__github__references", "references", "neovim", "mcp__neovim__mine", "edit neovim.lua"]
        {
            assert_eq!(title([Some(other), None], Some(&args)), None, "{other}");
        }
    }

    #[test]
    fn how_much_was_found_is_what_the_answer_begins_with() {
        let found =
            |tool: &str, answer: &str| found([Some(&format!("mcp__neovim__{tool}")), None], None, answer);
        for (tool, answer, expected) in [
            (
                "references",
                "12 places for `login`, 1 to 10 (the next with offset 10)\na.rs:1",
                Some("12 places"),
            ),
            ("references", "```\n1 place for `login`\n```", Some("1 place")),
            ("diagnostics", "no diagnostics", Some("no diagnostics")),
            ("buffers", "3 open files\na.rs", Some("3 open files")),
            // What only looks like it.
            ("references", "1 places", None),
            ("references", "12 placeholders", None),
            ("references", "many places", None),
            ("hover", "12 places", None),
            ("references", "", None),
        ] {
            assert_eq!(found(tool, answer).as_deref(), expected, "{tool}: {answer}");
        }
        assert_eq!(super::found([Some("mcp__other__references"), None], None, "12 places"), None);
    }

    #[test]
    fn what_it_is_about_follows_as_far_as_it_is_known() {
        let words =
            |tool: &str, args: Value| title([Some(&format!("mcp__neovim__{tool}")), None], Some(&args));
        for (tool, args, expected) in [
            ("hover", json!({ "file": "a.rs", "line": 5 }), "look up the documentation of a.rs:5"),
            ("diagnostics", json!({}), "look up diagnostics"),
            ("diagnostics", json!({ "file": "a.rs" }), "look up diagnostics of a.rs"),
            ("workspace_symbols", json!({ "query": "log" }), "look up symbols like `log`"),
            (
                "rename",
                json!({ "file": "a", "line": 1, "symbol": "x", "new_name": "y" }),
                "rename `x` to `y`",
            ),
            ("edit_buffer", json!({ "file": "a", "old": "x", "new": "y" }), "edit a"),
            (
                "code_action",
                json!({ "file": "a", "line": 3, "apply": "Fix it" }),
                "look up code actions for a:3, apply Fix it",
            ),
            ("ask_user", json!({ "question": "Which\none?", "choices": ["a"] }), "ask Which one?"),
            ("run_task", json!({ "command": "make test" }), "run make test"),
            ("open_place", json!({ "file": 7 }), "show"),
        ] {
            assert_eq!(words(tool, args).as_deref(), Some(expected));
        }
        assert_eq!(title([Some("mcp__neovim__buffers"), None], None).as_deref(), Some("look up open files"));
    }
}

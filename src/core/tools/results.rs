//! The answers of the plugin's own tools as text: short lines with paths from the project's root and lines from 1, a
//! page at a time.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::table::Tool;
use crate::core::text::cut;

/// More of one line is no help.
const LONGEST_LINE: usize = 400;
/// An agent has to pay for each byte.
const LONGEST: usize = 40_000;

/// What a tool has found out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Found {
    pub items: Vec<Item>,
    /// Where the items are a page.
    pub total: Option<usize>,
    /// In place of items.
    pub text: Option<String>,
    /// What the agent should know of the answer beside it.
    pub note: Option<String>,
}

/// A line of an answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Item {
    pub path: Option<String>,
    pub line: Option<usize>,
    pub last_line: Option<usize>,
    pub column: Option<usize>,
    pub depth: usize,
    pub text: Option<String>,
    pub kind: Option<String>,
    /// As Neovim counts: 1 is an error.
    pub severity: Option<u8>,
    pub source: Option<String>,
    pub code: Option<String>,
}

/// The answer for the agent. `args` are complete.
pub fn words(tool: &Tool, args: &Map<String, Value>, cwd: &Path, found: &Found) -> String {
    let text = found.text.clone().unwrap_or_else(|| listed(tool, args, cwd, found));
    match &found.note {
        Some(note) => format!("{}\n({note})", bounded(&text)),
        None => bounded(&text),
    }
}

/// The items, below how many there are.
fn listed(tool: &Tool, args: &Map<String, Value>, cwd: &Path, found: &Found) -> String {
    let total = found.total.unwrap_or(found.items.len());
    let (one, several) = tool.items;
    let number = |name: &str| args.get(name).and_then(Value::as_f64).map_or(0, |number| number as usize);
    let (offset, shown) = (number("offset"), found.items.len());
    let about = subject(args);
    let mut text = match total {
        0 => return format!("no {several}{about}"),
        1 => format!("1 {one}{about}"),
        total => format!("{total} {several}{about}"),
    };
    if shown < total {
        let (first, last) = (offset + 1, offset + shown);
        text += &match shown {
            0 => format!(", none from offset {offset} on"),
            _ => format!(", {first} to {last}"),
        };
        if last < total && shown > 0 {
            text += &format!(" (the next with offset {last})");
        }
    }
    for item in &found.items {
        text.push('\n');
        text += &line(item, cwd);
    }
    text
}

/// What was asked about.
fn subject(args: &Map<String, Value>) -> String {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    match (text("symbol").or(text("query")), text("file")) {
        (Some(symbol), _) => format!(" for `{symbol}`"),
        (None, Some(file)) => format!(" for {file}"),
        (None, None) => String::new(),
    }
}

fn line(item: &Item, cwd: &Path) -> String {
    let mut line = "  ".repeat(item.depth.min(20));
    if let Some(path) = &item.path {
        let path = Path::new(path);
        line += &path.strip_prefix(cwd).unwrap_or(path).to_string_lossy();
    }
    let mut numbers = item.line.map(|line| line.to_string()).unwrap_or_default();
    if let Some(last) = item.last_line.filter(|last| item.line.is_some_and(|line| *last > line)) {
        numbers += &format!("-{last}");
    }
    if let Some(column) = item.column {
        numbers += &format!(":{column}");
    }
    if !numbers.is_empty() {
        if item.path.is_some() {
            line.push(':');
        }
        line += &numbers;
    }
    let severity = item.severity.map(|severity| match severity {
        1 => "error",
        2 => "warning",
        3 => "info",
        _ => "hint",
    });
    for word in [severity, item.kind.as_deref()].into_iter().flatten() {
        line += &format!(": {word}");
    }
    if let Some(text) = item.text.as_deref().filter(|text| !text.is_empty()) {
        // The lines of a text of several are told from the next item by their indent.
        line += &format!(": {}", cut(text, LONGEST_LINE).replace('\n', "\n    "));
    }
    match (&item.source, &item.code) {
        (Some(source), Some(code)) => line + &format!(" [{source} {code}]"),
        (Some(one), None) | (None, Some(one)) => line + &format!(" [{one}]"),
        (None, None) => line,
    }
}

fn bounded(text: &str) -> String {
    match text.len() > LONGEST {
        true => format!("{}\n… (the rest is left out; ask for less)", cut(text, LONGEST)),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::tools::find;

    fn answer(tool: &str, args: Value, found: Value) -> String {
        let found: Found = serde_json::from_value(found).expect("what a tool finds");
        let args = args.as_object().expect("arguments").clone();
        words(find(tool).expect("a tool"), &args, Path::new("/project"), &found)
    }

    #[test]
    fn places_are_told_from_the_projects_root() {
        let items = json!([
            { "path": "/project/src/a.rs", "line": 3, "column": 5, "text": "login();" },
            { "path": "/elsewhere/b.rs", "line": 1, "column": 1, "text": "" },
        ]);
        let args = json!({ "file": "src/a.rs", "symbol": "login", "offset": 0 });
        assert_eq!(
            answer("references", args, json!({ "items": items, "total": 2 })),
            "2 places for `login`\nsrc/a.rs:3:5: login();\n/elsewhere/b.rs:1:1"
        );
    }

    #[test]
    fn a_note_follows_the_answer() {
        let args = || json!({ "file": "a.rs", "symbol": "login" });
        let none = json!({ "items": [], "total": 0, "note": "still at work" });
        assert_eq!(answer("references", args(), none), "no places for `login`\n(still at work)");
        let text = json!({ "text": "a function", "note": "still at work" });
        assert_eq!(answer("hover", args(), text), "a function\n(still at work)");
    }

    #[test]
    fn a_page_says_where_the_next_begins() {
        let items = json!([{ "line": 1, "last_line": 4, "depth": 1, "text": "new", "kind": "function" }]);
        let args = json!({ "file": "a.rs", "offset": 2 });
        let text = answer("outline", args.clone(), json!({ "items": items, "total": 9 }));
        let head = "9 definitions for a.rs, 3 to 3 (the next with offset 3)";
        assert_eq!(text, format!("{head}\n  1-4: function: new"));
        assert_eq!(
            answer("outline", args.clone(), json!({ "items": [], "total": 0 })),
            "no definitions for a.rs"
        );
        let beyond = answer("outline", args, json!({ "items": [], "total": 1 }));
        assert_eq!(beyond, "1 definition for a.rs, none from offset 2 on");
    }

    #[test]
    fn a_diagnostic_says_how_severe_it_is_and_whose() {
        let item = json!({ "path": "/project/a.rs", "line": 2, "column": 1, "severity": 1, "text": "no such\nname",
            "source": "rustc", "code": "E0425" });
        assert_eq!(
            answer("diagnostics", json!({}), json!({ "items": [item], "total": 1 })),
            "1 diagnostic\na.rs:2:1: error: no such\n    name [rustc E0425]"
        );
    }

    #[test]
    fn no_answer_is_longer_than_an_agent_can_bear() {
        let text = "é".repeat(LONGEST);
        assert!(answer("hover", json!({}), json!({ "text": text })).len() < LONGEST + 100);
    }
}

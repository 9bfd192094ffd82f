//! The parts of `doc/acp.txt` that list options, keys and agents are generated from the tables in the
//! code. These tests check that they are up to date; with `ACP_WRITE_HELP=1` they write them instead.

use std::fmt::Write as _;
use std::path::Path;

use super::*;

/// The help's width.
const WIDTH: usize = 78;
const INDENT: &str = "    ";

/// Text filled into indented lines, broken at blanks, but not between backticks.
fn filled(text: &str) -> String {
    let mut in_code = false;
    let glued = text.chars().map(|c| {
        in_code ^= c == '`';
        if in_code && c == ' ' { '\0' } else { c }
    });
    let glued: String = glued.collect();
    let mut lines = vec![String::new()];
    for word in glued.split(' ') {
        let word = word.replace('\0', " ");
        let line = lines.last_mut().expect("begins with one");
        if !line.is_empty() && INDENT.len() + line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word);
        } else {
            let gap = if line.is_empty() { "" } else { " " };
            write!(line, "{gap}{word}").expect("a String takes all");
        }
    }
    lines.iter().map(|line| format!("{INDENT}{line}\n")).collect()
}

/// A line with a tag at its right end.
fn tagged(text: &str, tag: &str) -> String {
    let tag = format!("*{tag}*");
    format!("{text} {tag:>width$}\n", width = WIDTH.saturating_sub(text.chars().count() + 1))
}

fn options() -> String {
    let one = |option: &OptionSpec| {
        let tag = format!("acp-config-{}", option.key.replace("{name}.", ""));
        let default = match option.default {
            "nil" => String::new(),
            default => format!(", default `{default}`"),
        };
        format!(
            "{}{}{}",
            tagged(option.key, &tag),
            filled(&format!("{}{default}", option.takes)),
            filled(option.about)
        )
    };
    OPTIONS.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn keys() -> String {
    let one = |key: &KeySpec| {
        let pane = match key.panes {
            [Pane::Prompt] => "prompt",
            [Pane::Transcript] => "transcript",
            [Pane::File] => "file",
            [Pane::Queue] => "queue",
            [Pane::Agents] => "agents",
            [Pane::Review] => "review",
            _ => "both",
        };
        let mode = if key.modes.contains(&"i") {
            if key.modes.len() == 1 { ", insert mode" } else { ", insert mode too" }
        } else {
            ""
        };
        let head = format!("{:<15} {pane}{mode}", shown(key.default));
        format!("{}{}", tagged(&head, &format!("acp-key-{}", key.name)), filled(key.about))
    };
    KEYS.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn agents() -> String {
    let catalog = Catalog::default();
    let one = |preset: &Preset| {
        let line = |program: &str| {
            std::iter::once(program)
                .chain(preset.args.iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let head =
            tagged(&format!("{:<15} {}", preset.name, preset.title), &format!("acp-agent-{}", preset.name));
        let entry = preset.id.as_deref().and_then(|id| catalog.entry(id));
        let mut ways = vec![("runs:", format!("`{}`", line(&preset.program)))];
        if let Some(package) = &preset.npx {
            ways.push(("or:", format!("`{}`", line(&format!("npx -y {package}")))));
        } else if let Some(plan) = entry.and_then(|entry| entry.plans("linux-x86_64").into_iter().next()) {
            ways.push((
                "or:",
                match plan.runner() {
                    Some(_) => format!("`{}`", plan.line()),
                    None => "a download, from |:Acp-agents|".to_owned(),
                },
            ));
        }
        let install = match preset.install.starts_with("see ") {
            true => preset.install.clone(),
            false => format!("`{}`", preset.install),
        };
        ways.extend([("install:", install), ("log in:", preset.login.clone())]);
        let ways: String = ways.iter().map(|(what, how)| format!("{INDENT}{what:<9} {how}\n")).collect();
        format!("{head}{ways}")
    };
    presets().iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The same in short: a row for each agent.
fn table() -> String {
    let row = |name: &str, install: &str, login: &str| {
        let row = format!("{INDENT}{name:<11} {install:<48} {login}");
        format!("{}\n", row.trim_end())
    };
    let mut table = row("agent", "install", "log in");
    for preset in presets() {
        // In full it stands below.
        let login = preset.login.split(['`']).nth(1).filter(|_| preset.login.starts_with("run `"));
        let short = login.unwrap_or(match preset.login.as_str() {
            login if login.starts_with("`:Acp login`") => ":Acp login",
            login if login.contains("none") => "-",
            _ => "an API key",
        });
        table.push_str(&row(&preset.name, &preset.install, short));
    }
    table
}

/// The agents of the registry that have no name of the plugin's.
fn registered() -> String {
    let catalog = Catalog::default();
    let one = |entry: &crate::core::store::registry::Entry| {
        let by = match &entry.distribution {
            ways if ways.npx.is_some() => "npx",
            ways if ways.uvx.is_some() => "uvx",
            _ => "download",
        };
        format!("{INDENT}{:<15} {by:<9} {}\n", entry.id, entry.page().unwrap_or_default())
    };
    catalog.unnamed().map(one).collect()
}

/// Holds what stands between two lines of the help to `wanted`.
fn check(from: &str, to: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("doc/acp.txt");
    let help = std::fs::read_to_string(&path).expect("the help");
    let begin = help.find(&format!("{from}\n")).expect("where it begins") + from.len() + 1;
    let end = begin + help[begin..].find(&format!("\n{to}")).expect("where it ends");
    let wanted = format!("\n{wanted}");
    if help[begin..end] == wanted {
        return;
    }
    assert!(
        std::env::var_os("ACP_WRITE_HELP").is_some(),
        "the help is not up to date after {from:?}: ACP_WRITE_HELP=1 cargo test help -- --test-threads=1"
    );
    let written = format!("{}{wanted}{}", &help[..begin], &help[end..]);
    std::fs::write(&path, written).expect("the help is written");
}

#[test]
fn the_help_lists_every_option() {
    check("All options, with what they take and do: ~", "=====", &options());
}

#[test]
fn the_help_lists_every_key() {
    check("All keys, by the buffer they work in: ~", "The names ", &keys());
}

#[test]
fn the_help_lists_every_agent() {
    check("In brief, how to get each agent and how to log in: >", "<\nIn full: ~", &table());
    check("Agents that need no configuration: ~", "Further agents ", &agents());
    check(
        "Further agents of the registry, as this version of the plugin knows it: ~",
        "=====",
        &registered(),
    );
}

#[test]
fn the_language_server_knows_every_option_and_key() {
    let types = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("lua/acp/types.lua"));
    let types = types.expect("the types");
    let names = OPTIONS.iter().map(|option| option.key.rsplit('.').next().unwrap_or(option.key));
    for name in names.chain(KEYS.iter().map(|key| key.name)) {
        assert!(types.contains(&format!("---@field {name}? ")), "lua/acp/types.lua lacks {name}");
    }
}

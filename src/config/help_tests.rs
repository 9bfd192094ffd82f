//! The parts of `doc/acp.txt` that list options, keys and agents are made from the tables in the
//! code. These tests hold the help to them; with `ACP_WRITE_HELP=1` they write it instead.

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
    let one = |preset: &Preset| {
        let line = |program: &str| {
            std::iter::once(program).chain(preset.args.iter().copied()).collect::<Vec<_>>().join(" ")
        };
        let head =
            tagged(&format!("{:<15} {}", preset.name, preset.title), &format!("acp-agent-{}", preset.name));
        let npx =
            preset.npm.map(|package| format!("{INDENT}or:       `{}`\n", line(&format!("npx -y {package}"))));
        format!(
            "{head}{INDENT}runs:     `{}`\n{}{INDENT}install:  `{}`\n{INDENT}log in:   {}\n",
            line(preset.program),
            npx.unwrap_or_default(),
            preset.install,
            preset.login
        )
    };
    PRESETS.iter().map(one).collect::<Vec<_>>().join("\n")
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
    check("Agents that need no configuration: ~", "=====", &agents());
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

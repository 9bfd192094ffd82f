//! The parts of `doc/acp.txt` that list options, keys and agents are generated from the tables in the
//! code. These tests check that they are up to date; with `ACP_WRITE_HELP=1` they write them instead.

use std::fmt::Write as _;
use std::path::Path;

use super::*;
use crate::core::rules::sets::SETS;

/// The help's width.
const WIDTH: usize = 78;
const INDENT: &str = "    ";

/// Where the explanation of a term begins.
const TERM: usize = 16;

/// Text filled into indented lines.
fn filled(text: &str) -> String {
    filled_to(text, WIDTH - INDENT.len()).lines().map(|line| format!("{INDENT}{line}\n")).collect()
}

/// Text in lines of that width, broken at blanks, but not between backticks.
fn filled_to(text: &str, width: usize) -> String {
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
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word);
        } else {
            let gap = if line.is_empty() { "" } else { " " };
            write!(line, "{gap}{word}").expect("a String takes all");
        }
    }
    lines.join("\n") + "\n"
}

/// A line with a tag at its right end.
fn tagged(text: &str, tag: &str) -> String {
    let tag = format!("*{tag}*");
    format!("{text} {tag:>width$}\n", width = WIDTH.saturating_sub(text.chars().count() + 1))
}

fn all_options() -> String {
    let one = |option: &OptionSpec| {
        let tag = format!("acp-config-{}", option.key.replace("{name}.", ""));
        let default = match (option.default)().as_str() {
            "nil" => String::new(),
            default => format!(", default `{default}`"),
        };
        format!(
            "{}{}{}",
            tagged(option.key, &tag),
            filled(&format!("{}{default}", option.takes.help())),
            filled(option.about)
        )
    };
    options::all().map(one).collect::<Vec<_>>().join("\n")
}

fn all_keys() -> String {
    let one = |key: &KeySpec| {
        let name = |pane: &Pane| match pane {
            Pane::Prompt => "prompt",
            Pane::Transcript => "transcript",
            Pane::File => "file",
            Pane::Proposal => "proposal",
            Pane::Queue => "queue",
            Pane::Terminal => "terminal",
            Pane::Agents => "agents",
            Pane::Review => "review",
            Pane::Inspector => "inspector",
            Pane::Audit => "audit",
            Pane::Rules => "permissions",
            Pane::Comment => "comment",
        };
        let pane = match key.panes {
            [Pane::Transcript, Pane::Prompt] | [Pane::Prompt, Pane::Transcript] => "both".to_owned(),
            panes if panes.len() > 3 => "several".to_owned(),
            panes => panes.iter().map(name).collect::<Vec<_>>().join(", "),
        };
        let mode = if key.modes.contains(&"i") {
            if key.modes.len() == 1 { ", insert mode" } else { ", insert mode too" }
        } else {
            ""
        };
        let lhs = if key.default.is_empty() { "(no key)".to_owned() } else { keys::shown(key.default) };
        let head = format!("{lhs:<15} {pane}{mode}");
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

/// A text of several blocks, as `CommandSpec::help` writes them.
fn blocks(text: &str) -> String {
    let mut made = String::new();
    let mut in_code = false;
    for block in text.split('\n') {
        if let Some(code) = block.strip_prefix(INDENT) {
            if !in_code {
                made.truncate(made.trim_end().len());
                made.push_str(" >\n");
            }
            writeln!(made, "{INDENT}{INDENT}{code}").expect("a String takes all");
            in_code = true;
            continue;
        }
        let lines = match block.split_once('\t') {
            Some((term, about)) => {
                let lines = filled_to(about, WIDTH - TERM);
                let lines = lines.lines().map(|line| format!("{}{}\n", " ".repeat(TERM), line));
                let lines: String = lines.collect();
                format!("{INDENT}{term:<12}{}", &lines[TERM..])
            }
            None => filled(block),
        };
        match in_code {
            true => write!(made, "<{}", &lines[1..]).expect("a String takes all"),
            false => made.push_str(&lines),
        }
        in_code = false;
    }
    made
}

fn commands() -> String {
    let section = |tag: &str, head: &str, help: &str| {
        format!("{:>WIDTH$}\n{head}\n{}", format!("*{tag}*"), blocks(help))
    };
    let one = |command: &CommandSpec| {
        let CommandSpec { name, takes, help, .. } = command;
        let range = if command.range { "[range]" } else { "" };
        let bang = if command.bang == Bang::Yes { "[!]" } else { "" };
        let head = |name: &str| format!(":{range}Acp{bang} {name} {takes}").trim_end().to_owned();
        let mut text = section(&format!(":Acp-{name}"), &head(name), help);
        if let Bang::Apart(help) = command.bang {
            let name = format!("{name}!");
            text.push('\n');
            text.push_str(&section(&format!(":Acp-{name}"), &head(&name), help));
        }
        text
    };
    COMMANDS.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The subcommands as Lua.
fn subcommands() -> String {
    let mut lua = "\
--- All subcommands of :Acp, in the order in which |:Acp| alone offers them. Made from src/config/commands.rs;
--- `ACP_WRITE_HELP=1 cargo test help` writes it.

---@type acp.Subcommand[]
return {
"
    .to_owned();
    for command in COMMANDS {
        let words = |words: &[&str]| {
            let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            format!("{{ {} }}", quoted.join(", "))
        };
        let mut fields =
            vec![("name", format!("{:?}", command.name)), ("about", format!("{:?}", command.about))];
        fields.insert(1, ("group", format!("{:?}", group_of(command.name))));
        match command.completion {
            Completion::Nothing => {}
            Completion::OneOf(one) => fields.push(("words", words(one))),
            Completion::AnyOf(any) => {
                fields.extend([("words", words(any)), ("several", "true".to_owned())]);
            }
            Completion::File => fields.push(("files", "true".to_owned())),
            Completion::FileOr(some) => {
                fields.extend([("words", words(some)), ("files", "true".to_owned())]);
            }
            Completion::Asked(kind) => fields.push(("asked", format!("{kind:?}"))),
        }
        if command.takes.is_empty() {
            fields.push(("alone", "true".to_owned()));
        }
        if command.bang != Bang::No {
            fields.push(("bang", "true".to_owned()));
        }
        if command.without_library {
            fields.push(("without_library", "true".to_owned()));
        }
        let fields: String = fields.iter().map(|(name, value)| format!("    {name} = {value},\n")).collect();
        write!(lua, "  {{\n{fields}  }},\n").expect("a String takes all");
    }
    lua + "}\n"
}

/// The options and keys as classes of the language server.
fn classes() -> String {
    let class = |name: &str| match name {
        "Config" => "acp.Options".to_owned(),
        name => format!("acp.{name}"),
    };
    let mut text = String::new();
    for group in options::GROUPS {
        writeln!(text, "---@class {}", class(group.name)).expect("a String takes all");
        for option in group.options {
            let name = &option.key[group.prefix.len()..];
            writeln!(text, "---@field {name}? {}", option.takes.lua()).expect("a String takes all");
        }
        for (name, of) in group.groups {
            writeln!(text, "---@field {name}? {}", class(of)).expect("a String takes all");
        }
        text.push('\n');
    }
    text.push_str("---@alias acp.Key string|string[]|false\n\n---@class acp.KeyOptions\n");
    text.extend(KEYS.iter().map(|key| format!("---@field {}? acp.Key\n", key.name)));
    text
}

/// Holds what stands between two lines of the help to `wanted`.
fn check(from: &str, to: &str, wanted: &str) {
    check_in("doc/acp.txt", from, to, wanted);
}

/// The same for any file that has a made part.
fn check_in(file: &str, from: &str, to: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let help = std::fs::read_to_string(&path).expect("a file of the project");
    let begin = help.find(&format!("{from}\n")).expect("where it begins") + from.len() + 1;
    let end = begin + help[begin..].find(&format!("\n{to}")).expect("where it ends");
    let wanted = format!("\n{wanted}");
    if help[begin..end] == wanted {
        return;
    }
    assert!(
        std::env::var_os("ACP_WRITE_HELP").is_some(),
        "{file} is not up to date after {from:?}: ACP_WRITE_HELP=1 cargo test help -- --test-threads=1"
    );
    let written = format!("{}{wanted}{}", &help[..begin], &help[end..]);
    std::fs::write(&path, written).expect("the file is written");
}

/// Holds a file that is made as a whole.
fn check_file(file: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("ACP_WRITE_HELP").is_some() {
        std::fs::write(&path, wanted).expect("the file is written");
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == wanted, "{file} is not up to date: ACP_WRITE_HELP=1 cargo test help -- --test-threads=1");
}

#[test]
fn the_help_lists_every_subcommand() {
    check("    cursor. Everything can be completed with <Tab>.", "=====", &commands());
}

#[test]
fn lua_knows_every_subcommand() {
    check_file("lua/acp/subcommands.lua", &subcommands());
}

#[test]
fn the_language_server_is_told_of_each_option_once() {
    let mut class = "";
    let mut seen = std::collections::BTreeSet::new();
    let classes = classes();
    for line in classes.lines() {
        class = line.strip_prefix("---@class ").unwrap_or(class);
        let Some(field) = line.strip_prefix("---@field ") else { continue };
        let name = field.split(' ').next().unwrap_or_default();
        assert!(seen.insert((class, name)), "{name} is in {class} twice");
    }
}

#[test]
fn every_group_of_subcommands_names_such_as_there_are() {
    let named: Vec<&str> = COMMAND_GROUPS.iter().flat_map(|(_, commands)| commands.iter().copied()).collect();
    for name in &named {
        assert!(COMMANDS.iter().any(|command| command.name == *name), "there is no {name}");
        assert_eq!(named.iter().filter(|other| *other == name).count(), 1, "{name}");
    }
}

/// What a name stands for is in code, which no table can hold; that there is some can be seen.
#[test]
fn every_subcommand_and_key_has_an_action() {
    let mut sources = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/nvim")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry of a folder").path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(kind) if kind == "rs" => {
                    sources.push_str(&std::fs::read_to_string(path).expect("a source"));
                }
                _ => {}
            }
        }
    }
    let commands = COMMANDS.iter().filter(|command| !command.without_library).map(|command| command.name);
    for name in commands.chain(KEYS.iter().map(|key| key.name)) {
        let meant = [format!("\"{name}\" =>"), format!("\"{name}\" |"), format!("| \"{name}\"")];
        let is_constant = sources.contains(&format!("&str = \"{name}\";"));
        assert!(
            is_constant || meant.iter().any(|meant| sources.contains(meant)),
            "nothing is done for {name}"
        );
    }
}

#[test]
fn the_help_lists_every_option() {
    check("All options, with what they take and do: ~", "=====", &all_options());
}

#[test]
fn the_help_lists_the_sets_of_rules_in_full() {
    let mut text = String::new();
    for set in SETS {
        let name = format!("{:?}", set.name);
        write!(text, "\n{name} ~\n{}\n", filled(set.about)).expect("a String takes all");
        set.commands.iter().for_each(|shape| {
            writeln!(text, "    `{shape}`").expect("a String takes all");
        });
    }
    text.push('\n');
    check(
        "|acp-config-permission.sets|. They allow these commands:",
        "                                                               *acp-questions*",
        &text,
    );
}

#[test]
fn the_help_lists_every_key() {
    check("All keys, by the buffer they work in: ~", "The names ", &all_keys());
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
    check_in(
        "lua/acp/types.lua",
        "-- From here to the next such line made from src/config; `ACP_WRITE_HELP=1 cargo test help` writes it.",
        "-- Made from src/config up to here.",
        &classes(),
    );
}

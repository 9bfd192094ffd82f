//! What the user is told has to fit one line of 80 columns: the middle of a longer message is cut out.

use std::path::Path;

use super::{read, rust_files};

/// What Neovim leaves for a message on a screen of 80 columns, without the name before it.
const ROOM: usize = 80 - 12 - "acp: ".len();

/// What stands in place of a value: most are names and words.
const VALUE: &str = "a name";

/// The texts of messages that are written down in a source, without its tests.
fn messages(source: &str) -> Vec<String> {
    let value = expression(VALUE_IN_TEXT);
    let call = r#"\b(?:fail|notify)\(\s*(?:format!\(\s*)?"#;
    let texts = literals(source, call).into_iter();
    let plain = |text: String| text.replace("{{", "(").replace("}}", ")");
    texts.map(|text| value.replace_all(&plain(text), VALUE).into_owned()).collect()
}

/// A value that is put into a text.
const VALUE_IN_TEXT: &str = r"\{[^{}]*\}";

fn expression(text: &str) -> regex_lite::Regex {
    regex_lite::Regex::new(text).expect("an expression")
}

/// The texts of a source that stand after this, with their lines joined, without those of its tests.
fn literals(source: &str, before: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let literal = expression(&format!(r#"{before}"((?:[^"\\]|\\[\s\S])*)""#));
    let broken = expression(r"\\\n\s*");
    literal.captures_iter(source).map(|found| broken.replace_all(&found[1], "").into_owned()).collect()
}

#[test]
fn messages_fit_80_columns() {
    let files = rust_files("src/nvim");
    let all: Vec<String> = files.iter().flat_map(|file| messages(&read(file))).collect();
    assert!(all.len() > 100, "they are found");
    let long: Vec<&String> = all.iter().filter(|text| text.chars().count() > ROOM).collect();
    assert!(long.is_empty(), "to be said in {ROOM} characters: {long:#?}");
}

/// The cells of what to do that a message keeps which is cut on such a screen (`what_to_do` in `lua/acp/notify.lua`).
const ROOM_TO_ACT: usize = 41;

/// Texts that say what to do, each with a path of 30 characters for its first value, and the clause that says it.
fn told_to_do(source: &str) -> Vec<(String, String)> {
    let value = expression(VALUE_IN_TEXT);
    let act = expression(r"(?:; |: |, |\. | \()(?:[^;:,.(]* )?:(?:Acp|write|edit|quit)");
    let path = "x".repeat(30);
    let told = |text: String| {
        let (head, clause) = text.split_at(act.find(&text)?.start());
        let head = value.replace(head, path.as_str());
        let clause = value.replace_all(clause, VALUE).into_owned();
        Some((format!("{}{clause}", value.replace_all(&head, VALUE)), clause))
    };
    literals(source, "").into_iter().filter_map(told).collect()
}

#[test]
fn what_to_do_is_short_enough_to_stay_of_a_message_that_is_cut() {
    let files = ["src/nvim", "src/core/session"].into_iter().flat_map(rust_files);
    let all: Vec<(String, String)> = files.flat_map(|file| told_to_do(&read(&file))).collect();
    assert!(all.len() > 60, "they are found: {}", all.len());
    let is_long = |(whole, clause): &&(String, String)| {
        whole.chars().count() > ROOM && clause.chars().count() > ROOM_TO_ACT
    };
    let long: Vec<_> = all.iter().filter(is_long).collect();
    assert!(long.is_empty(), "to be said in {ROOM_TO_ACT} characters: {long:#?}");
}

/// What stands behind `:Acp` in texts about the command without a subcommand.
const NO_SUBCOMMANDS: &[&str] = &["alone", "lists"];

#[test]
fn commands_that_texts_name_are_there() {
    let name = expression(r#"name: "([a-z-]+)""#);
    let commands = read(Path::new("src/config/commands.rs"));
    let known: Vec<&str> =
        name.captures_iter(&commands).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let named = expression(":Acp!? ([a-z-]+)");
    let texts = ["src/nvim", "src/core", "src/acp"].into_iter().flat_map(rust_files);
    let texts: Vec<String> = texts.flat_map(|file| literals(&read(&file), "")).collect();
    let named = texts.iter().flat_map(|text| named.captures_iter(text).map(|found| found[1].to_owned()));
    let named: Vec<String> = named.collect();
    assert!(known.len() > 50 && named.len() > 60, "they are found");
    let is_there = |word: &&String| known.contains(&word.as_str()) || NO_SUBCOMMANDS.contains(&word.as_str());
    let missing: Vec<&String> = named.iter().filter(|word| !is_there(word)).collect();
    assert!(missing.is_empty(), "there are no such commands: {missing:?}");
}

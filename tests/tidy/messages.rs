//! What the user is told has to fit one line of 80 columns: the middle of a longer message is cut out.

use super::{read, rust_files};

/// What Neovim leaves for a message on a screen of 80 columns, without the name before it.
const ROOM: usize = 80 - 12 - "acp: ".len();

/// What stands in place of a value: most are names and words.
const VALUE: &str = "a name";

/// The texts of messages that are written down in a source, without its tests.
fn messages(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let call = r#"\b(?:fail|notify)\(\s*(?:format!\(\s*)?"((?:[^"\\]|\\[\s\S])*)""#;
    let call = regex_lite::Regex::new(call).expect("an expression");
    let value = regex_lite::Regex::new(r"\{[^{}]*\}").expect("an expression");
    let broken = regex_lite::Regex::new(r"\\\n\s*").expect("an expression");
    let text = |found: regex_lite::Captures<'_>| {
        let whole = broken.replace_all(&found[1], "").replace("{{", "(").replace("}}", ")");
        value.replace_all(&whole, VALUE).into_owned()
    };
    call.captures_iter(source).map(text).collect()
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
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let expression = |text: &str| regex_lite::Regex::new(text).expect("an expression");
    let literal = expression(r#""((?:[^"\\]|\\[\s\S])*)""#);
    let (broken, value) = (expression(r"\\\n\s*"), expression(r"\{[^{}]*\}"));
    let act = expression(r"(?:; |: |, |\. | \()(?:[^;:,.(]* )?:(?:Acp|write|edit|quit)");
    let texts = literal.captures_iter(source).map(|found| broken.replace_all(&found[1], "").into_owned());
    let path = "x".repeat(30);
    let told = |text: String| {
        let (head, clause) = text.split_at(act.find(&text)?.start());
        let head = value.replace(head, path.as_str());
        let clause = value.replace_all(clause, VALUE).into_owned();
        Some((format!("{}{clause}", value.replace_all(&head, VALUE)), clause))
    };
    texts.filter_map(told).collect()
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

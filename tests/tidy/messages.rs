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

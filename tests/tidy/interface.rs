//! Holds `lua/acp/interface.lua` to what the library and the Lua beside it call of each other, so that a library
//! of other sources is used as long as both still understand each other. `ACP_WRITE_INTERFACE=1` writes it anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{read, root, rust_files};
use crate::support::source::{Kind, tokens};

const FILE: &str = "lua/acp/interface.lua";

const HEAD: &str = "\
-- What the library and the Lua beside it call of each other, as one text: a library with another one can't be
-- used. Written by `ACP_WRITE_INTERFACE=1 cargo test --test tidy interface`, when a test asks for it.
";

/// Every function that one side calls of the other, with what it takes.
fn interface() -> Vec<String> {
    let types = read(Path::new("lua/acp/types.lua"));
    let native = types.split("---@class acp.Native\n").nth(1).expect("the library's class in types.lua");
    let native =
        native.lines().take_while(|line| line.starts_with("---@field ")).filter(|line| line.contains("fun("));
    let mut lines: Vec<String> = native.map(|line| format!("library: {line}")).collect();
    for module in modules_that_the_library_calls() {
        let path = format!("lua/{}.lua", module.replace('.', "/"));
        let text = read(Path::new(&path));
        let heads = text.lines().filter(|line| line.starts_with("function M."));
        lines.extend(heads.map(|head| format!("{module}: {head}")));
    }
    lines
}

/// Those that Rust, or the Lua that is built into the library, requires.
fn modules_that_the_library_calls() -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for file in rust_files("src") {
        let texts = tokens(&read(&file));
        let mut words: Vec<&str> = Vec::new();
        for token in &texts {
            match &token.kind {
                Kind::Text(text) if text.starts_with("acp.") && words.ends_with(&["call"]) => {
                    modules.insert(text.clone());
                }
                Kind::Word(word) => words.push(word),
                _ => {}
            }
        }
    }
    for file in super::all_files() {
        if file.starts_with("src") && file.extension().is_some_and(|extension| extension == "lua") {
            let text = read(&file);
            let required = text.split("require(\"acp.").skip(1).filter_map(|rest| rest.split('"').next());
            modules.extend(required.map(|name| format!("acp.{name}")));
        }
    }
    modules
}

#[test]
fn the_interface_of_library_and_lua_has_the_text_that_is_written_down() {
    let lines = interface();
    // Proof that something is looked at.
    for known in ["library: ---@field call ", "acp.notify: function M.", "acp.complete: function M.attach("] {
        assert!(lines.iter().any(|line| line.starts_with(known)), "no {known} in {lines:#?}");
    }
    let sum = hmac_sha256::Hash::hash(lines.join("\n").as_bytes());
    let sum: String = sum[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let wanted = format!("{HEAD}return \"{sum}\"\n");
    if std::env::var_os("ACP_WRITE_INTERFACE").is_some() {
        fs::write(root().join(FILE), &wanted).expect("the file to be written");
    }
    assert_eq!(
        read(Path::new(FILE)),
        wanted,
        "library and Lua call something else of each other now: ACP_WRITE_INTERFACE=1 cargo test --test tidy interface"
    );
}

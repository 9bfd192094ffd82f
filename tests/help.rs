//! The help holds together: Neovim takes it, its links lead somewhere, and no name that a user meets
//! is missing from it or was left in it. Its lists of options, keys and agents are held to their
//! tables by `config`.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use support::project::TempProject;
use support::source::{Kind, tokens};
use support::{Nvim, Options};

fn help() -> String {
    fs::read_to_string(root().join("doc/acp.txt")).expect("the help")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The help's tags as Neovim finds them; a tag that stands twice is an error of Neovim's.
fn tags(help: &str) -> BTreeSet<String> {
    let project = TempProject::new(&[("doc/acp.txt", help)]);
    let mut nvim = Nvim::in_project(&project);
    nvim.command("helptags doc");
    first_fields(&project.read("doc/tags"))
}

/// The tags of Neovim's own help.
fn neovims_tags() -> BTreeSet<String> {
    let mut nvim = Nvim::start(Options::default());
    let file = nvim.exec_lua("return vim.env.VIMRUNTIME .. '/doc/tags'", []);
    first_fields(&fs::read_to_string(file.as_str().expect("a path")).expect("Neovim's own tags"))
}

fn first_fields(tags: &str) -> BTreeSet<String> {
    tags.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
}

/// What stands between bars outside of code (`:help help-writing`).
fn links(help: &str) -> BTreeSet<&str> {
    let mut links = BTreeSet::new();
    let mut code = false;
    for line in help.lines() {
        if code && line.starts_with(|first: char| !first.is_whitespace()) {
            code = false;
        }
        if !code {
            // Every other piece is inside of `backticks`.
            for text in line.split('`').step_by(2) {
                // Every other piece is between bars, unless there is a blank in it.
                let mut rest = text;
                while let Some((_, after)) = rest.split_once('|') {
                    match after.split_once('|') {
                        Some((link, after)) if is_link(link) => {
                            links.insert(link);
                            rest = after;
                        }
                        _ => rest = after,
                    }
                }
            }
            let last = line.rsplit(' ').next().unwrap_or_default();
            code = last.strip_prefix('>').is_some_and(|language| language.chars().all(char::is_alphanumeric));
        }
    }
    links
}

fn is_link(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// The names of commands, events and highlight groups in a text, `AcpChat` for one.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(|word| {
        word.strip_prefix("Acp")
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
    })
}

/// The names in all of the plugin's code.
fn names_in_code() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders: Vec<_> = ["src", "lua", "plugin"].map(|folder| root().join(folder)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the plugin") {
            let path = entry.expect("an entry of a folder").path();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("rs") => {
                    let source = fs::read_to_string(&path).expect("a source");
                    for token in tokens(&source) {
                        if let Kind::Text(text) = token.kind {
                            names.extend(names_in(&text).map(str::to_owned));
                        }
                    }
                }
                Some("lua") => {
                    let source = fs::read_to_string(&path).expect("a source");
                    names.extend(names_in(&source).map(str::to_owned));
                }
                _ => {}
            }
        }
    }
    names
}

#[test]
fn every_link_of_the_help_leads_somewhere() {
    let help = help();
    let known = &tags(&help) | &neovims_tags();
    let links = links(&help);
    assert!(links.contains("acp-config"), "{links:?}");
    let lost: Vec<_> = links.into_iter().filter(|link| !known.contains(*link)).collect();
    assert!(lost.is_empty(), "no tag for these: {lost:?}");
}

#[test]
fn every_name_in_the_code_stands_in_the_help() {
    let tags = tags(&help());
    let mut missing = names_in_code();
    missing.retain(|name| !["", "hl-", ":"].iter().any(|kind| tags.contains(&format!("{kind}{name}"))));
    assert!(missing.is_empty(), "the help has no tag for these: {missing:?}");
}

#[test]
fn the_help_tells_of_no_name_that_the_code_has_not() {
    let named = names_in_code();
    let mut stale = tags(&help());
    stale.retain(|tag| {
        let name = tag.trim_start_matches("hl-").trim_start_matches(':');
        names_in(name).any(|name| !named.contains(name))
    });
    assert!(stale.is_empty(), "nothing in the code goes by these: {stale:?}");
}

#[test]
fn a_link_is_what_stands_between_bars_and_is_not_code() {
    let help =
        "See |acp-one| and |acp-two|, `a|b|c`, a | b | c. >lua\n  x = |no|\n<\nthen |three| >\n |no|\n";
    assert_eq!(links(help), BTreeSet::from(["acp-one", "acp-two", "three"]));
}

#[test]
#[should_panic(expected = "E154")]
fn a_tag_that_stands_twice_is_an_error() {
    tags("*acp*\n\n*acp-one*\n\n*acp-one*\n");
}

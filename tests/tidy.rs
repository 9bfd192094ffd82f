//! Rules of this repository that no lint knows: which part may name which, how files begin, what
//! the built library may ask of Neovim. ARCHITECTURE.md says why; this file only holds to it.

#[path = "tidy/arguments.rs"]
mod arguments;
#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/features.rs"]
mod features;
#[path = "tidy/interface.rs"]
mod interface;
#[path = "tidy/messages.rs"]
mod messages;
#[path = "tidy/running.rs"]
mod running;
#[path = "tidy/shrinking.rs"]
mod shrinking;
#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;
#[path = "tidy/waiting.rs"]
mod waiting;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::source::{By, Kind, paths, tokens};

/// What one part of the sources may name. The standard library is open to all but where said.
struct Part {
    /// The first name under `src/`.
    name: &'static str,
    /// Other parts of this crate.
    parts: &'static [&'static str],
    crates: &'static [&'static str],
    never: &'static [&'static str],
}

const PARTS: &[Part] = &[
    Part {
        name: "core",
        parts: &[],
        crates: &[
            "aho_corasick",
            "base64",
            "foldhash",
            "regex_lite",
            "serde",
            "serde_json",
            "similar",
            "tree_sitter",
            "tree_sitter_bash",
            "unicode_width",
            "vte",
        ],
        // Neither files nor processes nor a clock: the same data gives the same conversation.
        never: &[
            "std::env",
            "std::fs",
            "std::io",
            "std::net",
            "std::os",
            "std::process",
            "std::thread",
            "std::time::Instant",
            "std::time::SystemTime",
        ],
    },
    Part {
        name: "config",
        parts: &["core"],
        crates: &["serde", "serde_json", "thiserror"],
        never: &["std::fs", "std::process", "std::thread"],
    },
    // For tests and `fuzz/` alone; no other part may name it.
    Part { name: "fuzzing", parts: &["core", "acp"], crates: &["serde_json"], never: &[] },
    // `build.rs` is made of it, too.
    Part { name: "fingerprint", parts: &[], crates: &["hmac_sha256"], never: &[] },
    Part { name: "mailbox", parts: &["core"], crates: &["tokio"], never: &[] },
    // Where the operating systems differ; both edges may use it.
    Part {
        name: "platform",
        parts: &["core"],
        crates: &["landlock", "libc", "rustix", "seccompiler", "windows_sys"],
        never: &[],
    },
    Part {
        name: "acp",
        parts: &["core", "config", "fingerprint", "mailbox", "platform"],
        crates: &[
            "agent_client_protocol_schema",
            "base64",
            "futures_util",
            "http_body_util",
            "hyper",
            "hyper_rustls",
            "hyper_util",
            "ignore",
            "libc",
            "memchr",
            "notify",
            "nucleo_matcher",
            "portable_pty",
            "rmcp",
            "rustix",
            "rustls",
            "rustls_native_certs",
            "tokio_rustls",
            "tokio_tungstenite",
            "serde",
            "serde_json",
            "tempfile",
            "thiserror",
            "tokio",
            "windows_sys",
        ],
        never: &[],
    },
    Part {
        name: "nvim",
        parts: &["core", "config", "mailbox", "platform"],
        crates: &["mlua", "nvim_oxi", "serde", "serde_json", "thiserror", "tokio"],
        // What may take long, or block, is the background's.
        never: &["std::process", "std::net", "std::thread", "tokio::runtime", "tokio::task", "tokio::spawn"],
    },
    Part {
        name: "bin",
        parts: &[],
        crates: &["base64", "agent_client_protocol_schema", "libc", "serde", "serde_json"],
        never: &["acp_nvim"],
    },
];

/// The modules, below `acp`, that know the protocol's types.
const SPEAKS_PROTOCOL: &[&str] = &["wire::from_acp", "wire::to_acp"];

#[test]
fn each_part_names_only_what_it_may() {
    let dependencies = dependencies();
    let mut wrong = Vec::new();
    for file in rust_files("src") {
        let module = module_of(&file);
        let Some(first) = module.first() else {
            assert_eq!(file, Path::new("src/lib.rs"));
            continue;
        };
        let Some(part) = PARTS.iter().find(|part| part.name == first) else {
            panic!("{} belongs to no part that tests/tidy.rs knows", file.display());
        };
        if is_test_file(&file) {
            continue;
        }
        for named in paths(&read(&file)).into_iter().filter(|named| !named.test) {
            let path = resolve(&module, named.path);
            if let Some(why) = objection(part, &module, &path, &dependencies) {
                wrong.push(format!("{}:{}: {} {why}", file.display(), named.line, path.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "these cross a line that ARCHITECTURE.md draws:\n{}", wrong.join("\n"));
}

/// Why a part may not name a path that is written from the crate's root.
fn objection(part: &Part, module: &[String], path: &[String], dependencies: &[String]) -> Option<String> {
    // A whole module, or all in it, opens the way to each thing inside.
    let text = path.strip_suffix(&["*".to_owned()]).unwrap_or(path).join("::");
    if let Some(never) =
        part.never.iter().find(|never| begins_with(&text, never) || begins_with(never, &text))
    {
        return Some(format!("is not for {} ({never})", part.name));
    }
    let other = match path {
        // A program of its own: `crate` is not the library.
        _ if part.name == "bin" => None,
        [root, other, ..] if root == "crate" => Some(other),
        _ => None,
    };
    if let Some(other) = other
        && other != part.name
        && PARTS.iter().any(|part| part.name == other)
        && !part.parts.contains(&other.as_str())
    {
        return Some(format!("is not for {}", part.name));
    }
    let [dependency, _, ..] = path else { return None };
    if !dependencies.contains(dependency) {
        return None;
    }
    if !part.crates.contains(&dependency.as_str()) {
        return Some(format!("is not for {}", part.name));
    }
    let below = module[1..].join("::");
    let knows = part.name == "bin" || SPEAKS_PROTOCOL.iter().any(|module| begins_with(&below, module));
    if dependency == "agent_client_protocol_schema" && !knows {
        return Some(format!("is for {} only", SPEAKS_PROTOCOL.join(", ")));
    }
    None
}

#[test]
fn a_forbidden_name_is_found_however_it_is_written() {
    let core = &PARTS[0];
    let dependencies = ["tokio".to_owned(), "serde".to_owned()];
    let module = ["core".to_owned(), "diff".to_owned()];
    let objections = |source: &str| -> Vec<String> {
        let named = paths(source).into_iter().filter(|named| !named.test);
        let resolved = named.map(|named| resolve(&module, named.path));
        let wrong = resolved.filter(|path| objection(core, &module, path, &dependencies).is_some());
        wrong.map(|path| path.join("::")).collect()
    };
    assert_eq!(
        objections("use serde::Serialize;\nuse crate::{core::message, nvim::{self, chat}};"),
        ["crate::nvim", "crate::nvim::chat"]
    );
    assert_eq!(objections("fn f() { super::super::acp::go() }"), ["crate::acp::go"]);
    assert_eq!(objections("use std::{fmt, fs::File};"), ["std::fs::File"]);
    assert_eq!(objections("fn f() { vec![std::time::Instant::now()]; }"), ["std::time::Instant::now"]);
    assert_eq!(objections("use std::time;"), ["std::time"]);
    assert_eq!(objections("use std::time::*;"), ["std::time::*"]);
    assert_eq!(objections("use std::time::Duration;"), [""; 0]);
    assert_eq!(objections("// use tokio::sync;\nconst A: &str = \"tokio::sync\";"), [""; 0]);
    assert_eq!(objections("#[cfg(test)]\nmod tests { use std::fs; }\nuse tokio::sync;"), ["tokio::sync"]);
}

#[test]
fn comments_strings_and_lifetimes_are_told_apart() {
    let texts = |source: &str| -> Vec<String> {
        let texts = tokens(source).into_iter().filter_map(|token| match token.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        });
        texts.collect()
    };
    assert_eq!(texts(r##"f("a \" b", r#"c "d""#, b"e", 'g', '\'', b'h', '"') // "i""##), {
        ["a \\\" b", "c \"d\"", "e", "g", "\\'", "h", "\""]
    });
    assert_eq!(texts("fn f<'a>(x: &'a str, y: &'static str) { 'l: loop { break 'l } }"), [""; 0]);
    assert_eq!(texts("/* /* \"a\" */ \"b\" */ \"c\" r\"\\\" \"\\\\\" \"d\""), ["c", "\\", "\\\\", "d"]);
    assert_eq!(paths("a\n// b\n\"\n\";\nr#type::c")[1].path, ["type", "c"]);
    assert_eq!(paths("a\n// b\n\"\n\";\nr#type::c")[1].line, 5);
}

#[test]
fn each_source_file_says_first_what_it_is() {
    let files = rust_files("src").into_iter().filter(|file| !is_test_file(file));
    let files = files.chain(rust_files("tests"));
    let silent: Vec<_> = files.filter(|file| !read(file).starts_with("//! ")).collect();
    assert!(silent.is_empty(), "these do not open with //!: {silent:?}");
}

#[test]
fn no_test_sleeps() {
    let mut wrong = Vec::new();
    for file in rust_files("src").into_iter().chain(rust_files("tests")) {
        // The one place that looks at a condition again and again.
        if file == Path::new("tests/support/process.rs") {
            continue;
        }
        let all = file.starts_with("tests") || is_test_file(&file);
        for named in paths(&read(&file)) {
            if (all || named.test) && named.path.ends_with(&["thread".into(), "sleep".into()]) {
                wrong.push(format!("{}:{}", file.display(), named.line));
            }
        }
    }
    assert!(wrong.is_empty(), "wait for a condition with a deadline instead: {wrong:?}");
}

/// Anything else may scroll the screen, and have Neovim wait for a key.
#[test]
fn one_place_shows_messages() {
    const WAYS: [&str; 12] = [
        "nvim_echo",
        "nvim_err_write",
        "nvim_out_write",
        "nvim_notify",
        "vim.notify(",
        "print(",
        "echomsg",
        "echoerr",
        "echo ",
        "inputlist(",
        "confirm(",
        "getchar(",
    ];
    let mut wrong = Vec::new();
    let sources =
        all_files().into_iter().filter(|file| file.starts_with("lua") || file.starts_with("src/nvim"));
    let sources = sources.filter(|file| file.extension().is_some_and(|kind| kind == "lua" || kind == "rs"));
    for file in sources.filter(|file| file != Path::new("lua/acp/notify.lua")) {
        let text = read(&file);
        for (number, line) in text.lines().enumerate() {
            let code = line.trim_start();
            let is_comment = code.starts_with("//") || code.starts_with("--") || code.starts_with("///");
            // What `win_execute()` gives back is shown to nobody.
            let code =
                code.replace("fingerprint(", "").replace("Fingerprint(", "").replace("\"echo win_getid", "");
            if !is_comment && WAYS.iter().any(|way| code.contains(way)) && !code.contains(":echo stdpath") {
                wrong.push(format!("{}:{}", file.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "notify the user by lua/acp/notify.lua or Editor::notify: {wrong:?}");
}

#[test]
fn the_library_asks_neovim_for_no_function_that_changes_between_versions() {
    let library = support::library();
    let arguments: &[&str] = match std::env::consts::OS {
        "macos" => &["-u"],
        _ => &["-D", "--undefined-only"],
    };
    let nm = Command::new("nm").args(arguments).arg(&library).output();
    let nm = nm.expect("nm, which comes with a C compiler");
    assert!(nm.status.success(), "nm {}: {}", library.display(), String::from_utf8_lossy(&nm.stderr));
    let symbols = String::from_utf8(nm.stdout).expect("symbols in ASCII");
    let symbols: Vec<_> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    // Proof that the list is of the right library, and whole.
    assert!(symbols.iter().any(|symbol| symbol.contains("lua_pcall")), "{symbols:?}");
    let unstable = |symbol: &&&str| symbol.trim_start_matches('_').starts_with("nvim_");
    let wrong: Vec<_> = symbols.iter().filter(unstable).collect();
    assert!(wrong.is_empty(), "call these through vim.api: {wrong:?}");
}

#[test]
fn no_file_names_this_machine_or_a_package_registrys_host() {
    let home = std::env::var("HOME").unwrap_or_default();
    let mut places = vec![env!("CARGO_MANIFEST_DIR").to_owned()];
    if home.len() > 1 {
        places.push(format!("{home}/"));
    }
    // Written in halves, or this file would be the first to be found.
    for (name, domain) in [
        ("crates", ".io"),
        ("pypi", ".org"),
        ("pythonhosted", ".org"),
        ("debian", ".org"),
        ("ubuntu", ".com/ubuntu"),
        ("npmjs", ".org"),
        ("npmjs", ".com"),
        ("proxy.golang", ".org"),
    ] {
        places.push(format!("{name}{domain}"));
    }
    let mut wrong = Vec::new();
    for file in all_files() {
        // Names the registry by cargo's own rule.
        if file.ends_with("Cargo.lock") {
            continue;
        }
        let Ok(text) = fs::read_to_string(root().join(&file)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if let Some(place) = places.iter().find(|place| line.contains(place.as_str())) {
                wrong.push(format!("{}:{}: {place}", file.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "these are true on one machine only:\n{}", wrong.join("\n"));
}

/// Tree-sitter's time can grow with the square of what an agent sends. `treesitter.start` is Neovim's own highlighter, for
/// a twin of a buffer that has one.
#[test]
fn every_parse_keeps_to_a_budget() {
    const PARSING: [&str; 7] = [
        ":parse(",
        ".parse(parser",
        "get_parser",
        "get_string_parser",
        "_create_ts_parser",
        "LanguageTree.new",
        "iter_captures(",
    ];
    let allowed = |file: &Path, sign: &str| {
        file.ends_with("lua/acp/highlight/budget.lua")
            || file.ends_with("lua/acp/highlight/spans.lua") && sign == "iter_captures("
    };
    let mut found = Vec::new();
    for file in all_files() {
        let lua = file.extension().is_some_and(|extension| extension == "lua");
        if !lua || !(file.starts_with("lua") || file.starts_with("src")) {
            continue;
        }
        let text = read(&file);
        let code = text.lines().filter(|line| !line.trim_start().starts_with("--"));
        for (line, sign) in code.flat_map(|line| PARSING.map(|sign| (line, sign))) {
            let message = line.contains('"') && line.contains("get_parser()");
            if line.contains(sign) && !message && !allowed(&file, sign) {
                found.push(format!("{}: {}", file.display(), line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "parses without a budget:\n{}", found.join("\n"));
}

#[test]
fn quotes_are_plain() {
    let mut wrong = Vec::new();
    for file in all_files() {
        let written = ["rs", "lua", "md", "txt", "toml", "yml"];
        if !file.extension().is_some_and(|extension| written.iter().any(|one| *one == extension)) {
            continue;
        }
        for (number, line) in read(&file).lines().enumerate() {
            if line.contains(['\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}']) {
                wrong.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "write these with \" and ':\n{}", wrong.join("\n"));
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &Path) -> String {
    fs::read_to_string(root().join(file))
        .unwrap_or_else(|error| panic!("couldn't read {}: {error}", file.display()))
}

/// Every file of the project, relative to its root, in order. What was built or fetched is none.
fn all_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let inside = fs::read_dir(root().join(&folder)).expect("a folder of the project");
        for entry in inside.map(|entry| entry.expect("an entry of a folder")) {
            let path = folder.join(entry.file_name());
            let kind = entry.file_type().expect("a kind of file");
            if kind.is_file() {
                files.push(path);
            } else if kind.is_dir()
                // Cargo marks what it builds, wherever that is; a copy of it may have lost the mark.
                && ![".git", ".deps", "target"].iter().any(|name| path == Path::new(name))
                && !entry.path().join("CACHEDIR.TAG").exists()
            {
                folders.push(path);
            }
        }
    }
    files.sort();
    files
}

fn rust_files(folder: &str) -> Vec<PathBuf> {
    let mut files = all_files();
    files.retain(|file| {
        file.starts_with(folder) && file.extension().is_some_and(|extension| extension == "rs")
    });
    assert!(!files.is_empty());
    files
}

fn is_test_file(file: &Path) -> bool {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem == "tests" || stem.ends_with("_tests") || file.components().any(|part| part.as_os_str() == "tests")
}

/// The names of the modules down to a file of `src/`.
fn module_of(file: &Path) -> Vec<String> {
    let path = file.strip_prefix("src").expect("a source").with_extension("");
    let mut names: Vec<_> =
        path.iter().map(|name| name.to_str().expect("a name in ASCII").to_owned()).collect();
    if names.last().is_some_and(|last| last == "mod" || last == "lib") {
        names.pop();
    }
    names
}

/// The crates in Cargo.toml, as code writes them.
fn dependencies() -> Vec<String> {
    let manifest = read(Path::new("Cargo.toml"));
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
        } else if inside && let Some((name, _)) = line.split_once('=') {
            names.push(name.trim().replace('-', "_"));
        }
    }
    assert!(names.iter().any(|name| name == "tokio"), "{names:?}");
    names
}

/// Writes a path from the crate's root, where it begins with `self` or `super`.
fn resolve(module: &[String], path: Vec<String>) -> Vec<String> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let begins = ups + usize::from(ups == 0 && path[0] == "self");
    if begins == 0 {
        return path;
    }
    let from = &module[..module.len().saturating_sub(ups)];
    [&["crate".to_owned()], from, &path[begins..]].concat()
}

fn begins_with(path: &str, start: &str) -> bool {
    path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

//! Neovim's thread asks no disk: it might never answer. What does so all the same stands here, each place with
//! its reason; one that is no longer there has to go from the list.

use std::path::{Path, PathBuf};

use super::{all_files, is_test_file, read};

/// What reads a disk while its caller waits, in Rust and in the names of Neovim's functions.
const RUST: &[&str] = &[
    "std::fs",
    "fs::",
    "canonicalize(",
    ".metadata()",
    "symlink_metadata(",
    ".exists()",
    ".try_exists()",
    ".is_file()",
    ".is_dir()",
    ".is_symlink()",
    ".read_dir()",
    ".read_link()",
    "File::open",
    "\"exepath\"",
    "\"executable\"",
    "\"filereadable\"",
    "\"filewritable\"",
    "\"findfile\"",
    "\"finddir\"",
    "\"getfsize\"",
    "\"getftime\"",
    "\"getftype\"",
    "\"glob\"",
    "\"globpath\"",
    "\"isdirectory\"",
    "\"readfile\"",
    "\"resolve\"",
    "\"writefile\"",
    "\":p\"",
    "\"bufadd\"",
    "\"bufload\"",
    "checktime",
    ".get(\"root\")",
];

const LUA: &[&str] = &[
    "uv.fs_",
    "fs.dir(",
    "fs.find(",
    "fs.root(",
    "fs.rm(",
    "io.open(",
    "\":p",
    "fn.bufadd",
    "bufload(",
    "fn.bufload,",
    "fn.executable",
    "fn.exepath",
    "fn.filereadable",
    "fn.filewritable",
    "fn.findfile",
    "fn.finddir",
    "fn.getfsize",
    "fn.getftime",
    "fn.getftype",
    "fn.glob",
    "fn.isdirectory",
    "fn.mkdir",
    "fn.readfile",
    "fn.resolve",
    "fn.writefile",
    "checktime",
];

/// Lua that does not run for a chat: it gets the library, or answers `:checkhealth`.
const ELSEWHERE: &[&str] =
    &["lua/acp/install/", "lua/acp/health", "lua/acp/helptags.lua", "lua/acp/native.lua"];

/// File, what it says, and why it may.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("src/nvim/mod.rs", "std::fs", "a panic is written down in the log folder"),
    ("src/nvim/waker/windows.rs", "std::fs", "a named pipe"),
    (
        "src/nvim/buffers/saving.rs",
        ".metadata()",
        "of a file that Neovim saves right before or right after, or that the background has examined just now",
    ),
    (
        "src/nvim/buffers/saving.rs",
        "\"filewritable\"",
        "Neovim writes the file next; the background has examined it",
    ),
    ("src/nvim/buffers/saving.rs", "\"filereadable\"", "the same"),
    ("src/nvim/buffers/saving.rs", ".exists()", "the same"),
    ("src/nvim/buffers/saving.rs", ".is_file()", "the same: whether a file that is gone is there again"),
    ("src/nvim/buffers/saving.rs", "std::fs", "the same: the folder that it is written into"),
    ("src/nvim/editor.rs", "\"exepath\"", "an agent's program in the PATH, when the user starts it"),
    (
        "src/nvim/context.rs",
        ".get(\"root\")",
        "where the project begins is looked for when the user opens a chat",
    ),
    ("src/nvim/chat/export.rs", "\":p\"", "the user names the file, and it is written next, as by :write"),
    ("src/nvim/chat/export.rs", "\"getftype\"", "the same"),
    ("src/nvim/chat/export.rs", "\"isdirectory\"", "the same"),
    (
        "src/nvim/buffers/open.lua",
        "fn.bufadd",
        "Neovim opens the file; the background has looked at it before",
    ),
    ("src/nvim/buffers/open.lua", "bufload(", "the same"),
    (
        "src/nvim/files/times.lua",
        "checktime",
        "Neovim compares at that moment by itself, and would ask the user, or the background has just examined the file",
    ),
    ("src/nvim/files/times.lua", "uv.fs_", "the same, for a file that Neovim was told is not there"),
    ("src/nvim/files/times.lua", "\":p", "the user's own :write"),
    ("lua/acp/highlight/ahead.lua", "uv.fs_", "with callbacks, on libuv's threads"),
    ("lua/acp/highlight/spans.lua", "fn.readfile", "a query of Neovim's runtime files"),
    ("lua/acp/images.lua", "uv.fs_", "with callbacks, on libuv's threads"),
    ("lua/acp/tools/file.lua", "uv.fs_", "with callbacks, on libuv's threads"),
    ("lua/acp/tools/workspace_edit.lua", "uv.fs_", "with a callback, on libuv's threads"),
    ("lua/acp/undecided.lua", "uv.fs_", "with callbacks, on libuv's threads"),
    ("lua/acp/mksession.lua", "fn.readfile", "a session file that :mksession has just written"),
    ("lua/acp/mksession.lua", "fn.writefile", "the same"),
];

fn found_in(text: &str, words: &[&'static str], comment: &str) -> Vec<&'static str> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with(comment)).collect();
    let code = lines.join("\n");
    words.iter().copied().filter(|word| code.contains(word)).collect()
}

#[test]
fn neovims_thread_asks_no_disk_but_where_it_says_why() {
    let mut found: Vec<(PathBuf, &str)> = Vec::new();
    for file in all_files() {
        let name = file.to_string_lossy().replace('\\', "/");
        let is_lua = name.ends_with(".lua");
        let here = name.starts_with("src/nvim/") && (is_lua || name.ends_with(".rs"))
            || name.starts_with("lua/") && is_lua;
        if !here || is_test_file(&file) || ELSEWHERE.iter().any(|other| name.starts_with(other)) {
            continue;
        }
        let (words, comment) = if is_lua { (LUA, "--") } else { (RUST, "//") };
        // What says `std::fs` says `fs::`, too.
        let words = found_in(&read(&file), words, comment);
        let whole = words.contains(&"std::fs");
        found.extend(
            words.into_iter().filter(|word| !(whole && *word == "fs::")).map(|word| (file.clone(), word)),
        );
    }
    let is_allowed = |(file, word): &&(PathBuf, &str)| {
        ALLOWED.iter().any(|(name, allowed, _)| file == Path::new(name) && word == allowed)
    };
    let wrong: Vec<String> = found
        .iter()
        .filter(|one| !is_allowed(one))
        .map(|(file, word)| format!("{}: {word}", file.display()))
        .collect();
    assert!(wrong.is_empty(), "leave these to the background, or say why not:\n{}", wrong.join("\n"));
    let gone: Vec<_> = ALLOWED
        .iter()
        .filter(|(name, word, _)| !found.iter().any(|(file, other)| file == Path::new(name) && other == word))
        .collect();
    assert!(gone.is_empty(), "these are allowed for nothing: {gone:?}");
}

#[test]
fn what_asks_a_disk_is_found_and_comments_and_tests_are_not() {
    let source = "// .exists()\nfn f() { path.is_file() }\n#[cfg(test)]\nmod tests { std::fs }";
    assert_eq!(found_in(source, RUST, "//"), [".is_file()"]);
    assert_eq!(found_in("vim.uv.fs_stat(name)", LUA, "--"), ["uv.fs_"]);
}

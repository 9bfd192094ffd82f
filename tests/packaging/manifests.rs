//! What other tools read: the flake, the rockspec, and all places that name a script or the repository.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use regex_lite::Regex;
use rnix::{Root, SyntaxKind};

use super::tree::{Tree, files_below, read, root};
use crate::support;

/// owner/name on GitHub, from the one line that says it.
fn repository() -> String {
    let file = read("lua/acp/repository.lua");
    let line = file.lines().find_map(|line| line.strip_prefix("return \"")?.strip_suffix('"'));
    line.expect("a line that returns the repository").to_owned()
}

#[test]
fn each_script_that_is_named_is_there_and_can_be_run() {
    let named = Regex::new(r"scripts/[\w./-]*\w").unwrap();
    let mut files = files_below("scripts");
    files.extend(files_below(".github"));
    files.extend(files_below("packaging"));
    files.extend(["Makefile", ".ci/run", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(str::to_owned));
    let mut seen = BTreeSet::new();
    for file in files {
        for found in named.find_iter(&read(&file)) {
            let path = root().join(found.as_str());
            let metadata = fs::metadata(&path).unwrap_or_else(|_| panic!("{file} names {}", found.as_str()));
            let started = metadata.is_file() && path.extension().is_none();
            let executable = metadata.permissions().mode() & 0o111 == 0o111;
            assert!(!started || executable, "{} can't be run", found.as_str());
            seen.insert(found.as_str().to_owned());
        }
    }
    for script in ["scripts/release/build", "scripts/ci/install-neovim", "scripts/lint-lua"] {
        assert!(seen.contains(script), "{seen:?}");
    }
}

#[test]
fn scripts_stop_at_the_first_failure() {
    for file in files_below("scripts") {
        let text = read(&file);
        // Python stops by itself.
        if !text.starts_with("#!") || text.starts_with("#!/usr/bin/env python3") {
            continue;
        }
        let strict =
            text.lines().any(|line| ["set -eu", "set -uo pipefail", "set -euo pipefail"].contains(&line));
        assert!(strict, "{file}");
        assert!(
            text.lines().nth(1).is_some_and(|line| line.starts_with("# ")),
            "{file} doesn't say what it does"
        );
    }
}

#[test]
fn the_owner_is_named_as_the_installer_has_it() {
    let repository = repository();
    let named = Regex::new(r"github(?:\.com/|:)([\w.-]+/acp\.nvim)\b").unwrap();
    let mut count = 0;
    for file in
        ["README.md", "flake.nix", "packaging/acp.nvim-scm-1.rockspec", "CONTRIBUTING.md", "doc/acp.txt"]
    {
        for found in named.captures_iter(&read(file)) {
            assert_eq!(&found[1], repository, "{file}");
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn the_flake_is_nix_and_the_sources_that_it_names_exist() {
    let flake = read("flake.nix");
    let parsed = Root::parse(&flake);
    assert!(parsed.errors().is_empty(), "{:?}", parsed.errors());
    let mut named = BTreeSet::new();
    for node in parsed.syntax().descendants().filter(|node| node.kind() == SyntaxKind::NODE_PATH_REL) {
        let path = node.text().to_string();
        let may_be_missing = node
            .parent()
            .is_some_and(|parent| parent.text().to_string().starts_with("lib.fileset.maybeMissing"));
        assert!(may_be_missing || root().join(&path).exists(), "{path} is missing");
        named.insert(path);
    }
    for file in
        ["./Cargo.lock", "./src", "./lua", "./plugin", "./doc", "./lua/acp/interface.lua", "./build.rs"]
    {
        assert!(named.contains(file), "{named:?}");
    }
    assert!(flake.contains("libacp_nvim${") && flake.contains("/bin/acp-demo-agent $out/lib/"), "{flake}");
}

#[test]
fn what_the_sources_include_comes_into_the_flake() {
    let included = Regex::new(r#"include_(?:str|bytes)!\("((?:\.\./)+[^"]*)"\)"#).unwrap();
    let flake = read("flake.nix");
    for file in files_below("src").iter().filter(|file| file.ends_with(".rs")) {
        for found in included.captures_iter(&read(file)) {
            let folder = root().join(file).parent().expect("a folder").join(&found[1]);
            let path = folder.canonicalize().unwrap_or_else(|error| panic!("{file}: {}: {error}", &found[1]));
            let path = path.strip_prefix(root().canonicalize().unwrap()).expect("a file of the project");
            let top = path.iter().next().and_then(|top| top.to_str()).expect("a name in UTF-8");
            assert!(flake.contains(&format!("./{top}\n")), "{file} includes {}", path.display());
        }
    }
}

#[test]
fn no_rockspec_lies_where_lazy_nvim_would_take_it_for_the_build() {
    for entry in fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(
            !name.to_string_lossy().ends_with(".rockspec"),
            "{name:?} keeps lazy.nvim from running build.lua"
        );
    }
}

/// What a rockspec sets, seen with Lua's eyes on one system.
fn rockspec(file: &std::path::Path, show: &str) -> String {
    let code = "local spec = {}
        local chunk = assert(loadfile(arg[1]))
        setfenv(chunk, spec)()
        io.stdout:write((assert(loadstring(arg[2]))(spec)))";
    let tree = Tree::new();
    tree.write("show.lua", code);
    let mut command = Command::new(support::neovim());
    command.args(["--clean", "--headless", "-l"]).arg(tree.file("show.lua")).arg(file).arg(show);
    for name in ["NVIM", "VIM", "VIMRUNTIME", "NVIM_APPNAME"] {
        command.env_remove(name);
    }
    let output = command.output().expect("Neovim starts; NVIM=/path names another");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a text in UTF-8")
}

#[test]
fn the_rockspec_installs_every_lua_file_under_its_module() {
    let file = root().join("packaging/acp.nvim-scm-1.rockspec");
    let shown = rockspec(
        &file,
        "local lines = {}
         for module, path in pairs((...).build.install.lua) do
           table.insert(lines, module .. ' ' .. path .. '\\n')
         end
         table.sort(lines)
         return table.concat(lines)",
    );
    let mut wanted: Vec<_> = files_below("lua")
        .into_iter()
        .map(|path| {
            let module = path.strip_prefix("lua/").expect("below it").strip_suffix(".lua").expect("Lua");
            format!("{} {path}\n", module.replace('/', "."))
        })
        .collect();
    wanted.sort();
    assert_eq!(
        shown,
        wanted.concat(),
        "packaging/acp.nvim-scm-1.rockspec lists other files than there are in lua/"
    );
}

#[test]
fn the_rockspec_builds_what_it_installs() {
    let file = root().join("packaging/acp.nvim-scm-1.rockspec");
    let shown = rockspec(
        &file,
        "local spec = ...
         local build = spec.build
         local systems = { linux = {}, macosx = build.platforms.macosx, windows = build.platforms.windows }
         local text = spec.package .. ' ' .. spec.version .. '\\n'
         for _, system in ipairs({ 'linux', 'macosx', 'windows' }) do
           local lib = (systems[system].install or build.install).lib
           local command = systems[system].build_command or build.build_command
           text = text .. system .. ': ' .. command .. '\\n  ' .. lib.acp_nvim .. ' ' .. lib[1] .. '\\n'
         end
         return text .. table.concat(build.copy_directories, ' ') .. '\\n'",
    );
    let cargo = "cargo build --locked --lib --bins --profile dist --target-dir target";
    assert_eq!(
        shown,
        format!(
            "acp.nvim scm-1\n\
             linux: {cargo} && cp target/dist/libacp_nvim.so target/dist/acp_nvim.so\n  \
             target/dist/acp_nvim.so target/dist/acp-demo-agent\n\
             macosx: {cargo} && cp target/dist/libacp_nvim.dylib target/dist/acp_nvim.so\n  \
             target/dist/acp_nvim.so target/dist/acp-demo-agent\n\
             windows: {cargo}\n  target/dist/acp_nvim.dll target/dist/acp-demo-agent.exe\n\
             doc plugin\n"
        )
    );
    for folder in ["doc", "plugin"] {
        assert!(root().join(folder).is_dir());
    }
}

#[test]
fn a_versions_rockspec_takes_the_versions_tag() {
    let tree = Tree::new();
    let written = tree.run("scripts/release/rockspec", &[]).succeeded();
    assert_eq!(written, "target/release-files/acp.nvim-1.2.3-1.rockspec\n");
    let file = tree.file(written.trim_end());
    let shown = rockspec(
        &file,
        "local spec = ...; return spec.version .. ' ' .. spec.source.url .. ' ' .. spec.source.tag",
    );
    assert_eq!(shown, format!("1.2.3-1 git+https://github.com/{} v1.2.3", repository()));
}

//! A small copy of the project with its real scripts, in which they can be run, and stand-ins for the programs that
//! they call.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::project::TempProject;

const FILES: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        "[package]\nname = \"acp-nvim\"\nversion = \"1.2.3\"\n\n[dependencies]\nother = { version = \"9\" }\n",
    ),
    (
        "Cargo.lock",
        "version = 4\n\n[[package]]\nname = \"acp-nvim\"\nversion = \"1.2.3\"\n\n[[package]]\nname = \"other\"\n\
         version = \"9.0.0\"\n",
    ),
    (
        "CHANGELOG.md",
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- One thing, which takes\n  two lines.\n- Another.\n\n\
         ## [1.2.3] - 2026-01-31\n\nThe first\nof all.\n\n```sh\nmake\n  it\n```\n\n[1.2.3]: somewhere\n",
    ),
    ("LICENSE", "Do what you like.\n"),
    ("lua/acp/interface.lua", "-- Changes with every function.\nreturn \"0123abc\"\n"),
    ("src/lib.rs", "pub fn main() {}\n"),
    ("src/nvim/mod.rs", "//! The editor.\n"),
    ("src/bin/agent/main.rs", "fn main() {}\n"),
];

/// The targets as the installer knows them.
pub fn targets() -> Vec<String> {
    let lines = read("lua/acp/targets.lua");
    let lines = lines.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","));
    lines.map(str::to_owned).collect()
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file of the project itself.
pub fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("couldn't read {file}: {error}"))
}

/// Every file below a folder of the project, relative to its root.
pub fn files_below(folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join(folder)).expect("a folder of the project") {
        let entry = entry.expect("an entry of a folder");
        let path = format!("{folder}/{}", entry.file_name().to_str().expect("a name in UTF-8"));
        if entry.file_type().expect("a kind of file").is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

pub struct Tree {
    project: TempProject,
}

/// Runs a line of shell code in the project's root.
#[track_caller]
fn sh(code: &str, args: &[&Path]) {
    let status = Command::new("sh").args(["-c", code, "sh"]).args(args).current_dir(root()).status();
    assert!(status.expect("a shell").success(), "{code}");
}

/// What a script did.
#[derive(Debug)]
pub struct Ran {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

impl Tree {
    pub fn new() -> Self {
        let tree = Self { project: TempProject::new(FILES) };
        // By another process: what this one writes may still be open for writing in a child that another test is
        // about to start, and can't be executed then.
        let copy = "cp -R scripts \"$1/\" && cp lua/acp/repository.lua lua/acp/targets.lua \"$1/lua/acp/\" &&
            mkdir \"$1/packaging\" && cp packaging/acp.nvim-scm-1.rockspec \"$1/packaging/\"";
        sh(copy, &[tree.project.path()]);
        fs::create_dir(tree.file("programs")).expect("a folder");
        tree
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.project.file(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        self.project.write(name, text);
    }

    pub fn read(&self, name: &str) -> String {
        self.project.read(name)
    }

    /// Puts a shell script in front of a program; it finds the tree in $TREE.
    pub fn program(&self, name: &str, body: &str) {
        self.write("program", &format!("#!/bin/sh\n{body}\n"));
        let program = self.file(&format!("programs/{name}"));
        sh("cp \"$1\" \"$2\" && chmod 755 \"$2\"", &[&self.file("program"), &program]);
    }

    /// What `scripts/release/build` would leave for a target.
    pub fn build(&self, target: &str) {
        let (library, demo_agent) = match target {
            _ if target.contains("windows") => ("acp_nvim.dll", "acp-demo-agent.exe"),
            _ if target.contains("apple") => ("libacp_nvim.dylib", "acp-demo-agent"),
            _ => ("libacp_nvim.so", "acp-demo-agent"),
        };
        self.write(&format!("target/release-files/{target}/{library}"), &format!("library for {target}"));
        self.write(&format!("target/release-files/{target}/{demo_agent}"), &format!("agent for {target}"));
    }

    pub fn run(&self, script: &str, args: &[&str]) -> Ran {
        self.run_with(script, args, &[])
    }

    pub fn run_with(&self, script: &str, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.file("programs")).chain(std::env::split_paths(&path));
        let mut command = Command::new(self.file(script));
        command
            .args(args)
            // A script finds its project by itself.
            .current_dir("/")
            .env("PATH", std::env::join_paths(path).expect("folders that can be joined"))
            .env("TREE", self.project.path())
            .env("ACP_RELEASE_PATIENCE", "0");
        for name in [
            "CARGO_TARGET_DIR",
            "ACP_RELEASE_DIR",
            "ACP_PROFILE",
            "GITHUB_OUTPUT",
            "GITHUB_REPOSITORY",
            "RUNNER_ARCH",
        ] {
            command.env_remove(name);
        }
        command.envs(env.iter().copied());
        let output = command.output().unwrap_or_else(|error| panic!("couldn't start {script}: {error}"));
        Ran {
            ok: output.status.success(),
            out: String::from_utf8(output.stdout).expect("a text in UTF-8"),
            err: String::from_utf8(output.stderr).expect("a text in UTF-8"),
        }
    }
}

impl Ran {
    /// The output of a script that succeeds.
    #[track_caller]
    pub fn succeeded(self) -> String {
        assert!(self.ok, "{self:?}");
        self.out
    }

    /// The error text of a script that fails.
    #[track_caller]
    pub fn failed(self) -> String {
        assert!(!self.ok, "{self:?}");
        self.err
    }
}

//! The demo, as `make demo` plays it where nobody is at the keyboard.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::path::Path;
use std::process::Command;

#[test]
fn the_tour_is_played_to_its_end_and_all_of_it_is_seen() {
    plays_the_tour(None);
}

#[test]
fn the_tour_is_the_same_with_an_agent_that_speaks_the_draft_dialect() {
    plays_the_tour(Some("draft"));
}

fn plays_the_tour(dialect: Option<&str>) {
    let home = support::project::TempProject::new(&[]);
    let nvim = std::env::var_os("NVIM").unwrap_or_else(|| "nvim".into());
    let agent = support::demo_agent().parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(agent).chain(std::env::split_paths(&path));
    let mut command = Command::new(&nvim);
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .args(["--headless", "-i", "NONE", "-u", "demo/init.lua"])
        .args(["-c", "lua require('acp-demo').check()"])
        .env("ACP_NVIM_LIB", support::library())
        .env("PATH", std::env::join_paths(folders).expect("folders that can be joined"))
        .envs(dialect.map(|name| ("ACP_DEMO_DIALECT", name)))
        .env_remove("NVIM");
    for kind in ["CONFIG", "DATA", "STATE", "CACHE"] {
        command.env(format!("XDG_{kind}_HOME"), home.file(kind));
    }
    let output = command.output().expect("Neovim runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("all is well"), "{said}");
}

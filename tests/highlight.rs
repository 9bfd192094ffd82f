//! Runs tests/highlight_spec.lua and tests/highlight_fuzz.lua in a bare Neovim each (`$NVIM`, else `nvim` in the path)
//! and fails when one of their checks does. What is checked, and against what, is said there.

use std::path::Path;
use std::process::Command;

#[test]
fn a_streamed_answer_is_coloured_as_neovim_would_colour_it() {
    run("tests/highlight_spec.lua");
}

#[test]
fn whatever_an_agent_sends_is_coloured_in_small_portions() {
    run("tests/highlight_fuzz.lua");
}

fn run(script: &str) {
    let nvim = std::env::var_os("NVIM").unwrap_or_else(|| "nvim".into());
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
    let output = Command::new(&nvim)
        .args(["-u", "NONE", "-i", "NONE", "-n", "--headless", "-S"])
        .arg(spec)
        // Reached only when the spec could not be run to its end.
        .arg("+cquit 2")
        .output()
        .unwrap_or_else(|error| panic!("couldn't start {}: {error}", nvim.display()));
    let lines = String::from_utf8_lossy(&output.stdout);
    let passed = lines.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(
        output.status.success() && passed > 0 && !lines.contains("not ok "),
        "{lines}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

//! How long texts that no parser likes hold Neovim for their colours. The work is `hostile.lua`'s, in a Neovim without
//! a screen and without the library.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::scenarios::Values;
use crate::support;
use crate::support::project::TempProject;

/// The first so many of the texts.
pub fn hostile(texts: usize) -> Values {
    let home = TempProject::new(&[]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/hostile.lua");
    let mut nvim = Command::new(support::neovim());
    nvim.args(["-u", "NONE", "-i", "NONE", "-n", "--headless", "-S"]).arg(script);
    nvim.env("ACP_HOSTILE", home.file("figures")).env("ACP_HOSTILE_TEXTS", texts.to_string());
    nvim.env_remove("NVIM").env("NVIM_LOG_FILE", home.file("log"));
    nvim.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = nvim.status().expect("a Neovim");
    assert!(status.success(), "neovim ended with {status}");
    let figures: Value = serde_json::from_str(&home.read("figures")).expect("figures");
    let figure = |name: &str| figures[name].as_f64().expect("a number");
    vec![
        ("slice ms", figure("slice")),
        ("redraw ms", figure("redraw")),
        ("over the goals", figure("over")),
        ("CPU s", figure("cpu")),
        ("texts", figure("texts")),
    ]
}

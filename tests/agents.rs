//! Agents that others wrote: a turn with the example of each official SDK in a real Neovim. The agents
//! are fetched by `scripts/test-agents`, which runs these tests and says where they are.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::path::PathBuf;

use serde_json::{Value, json};

use support::process::wait_for;
use support::project::TempProject;
use support::{Nvim, Options};

const UNKNOWN: &str = "not tried: where the agent is was not said; scripts/test-agents does";

const PREPARE: &str = r"
    local agent = vim.json.decode(...)
    _G.asked = {}
    vim.ui.select = function(items, options, choose)
      table.insert(_G.asked, options.prompt .. '\n> ' .. table.concat(items, '\n  '))
      choose(items[1], 1)
    end
    require('acp').setup({ agents = { example = agent }, default_agent = 'example' })";

const TRANSCRIPT: &str = r"
    local chat = require('acp').status().sessions[1]
    return table.concat(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false), '\n')";

#[test]
#[ignore = "needs the network and node"]
fn the_example_of_the_typescript_sdk_works_a_turn() {
    let Some(program) = fetched("ACP_TYPESCRIPT_AGENT") else {
        println!("{UNKNOWN}");
        return;
    };
    let seen = turn(&json!({ "command": "node", "args": [program] }), "Have a look around.");
    println!("\n{seen}\n");
    for part in [
        "You\nHave a look around.\n\nexample\n",
        "✓ Reading project files",
        "✓ Modifying critical ",
        "The changes have been applied.\n\nDone · ",
        "example wants to modify critical configuration file",
        "> Allow this change\n  Skip this change",
    ] {
        assert!(seen.contains(part), "{part:?} is missing");
    }
}

#[test]
#[ignore = "needs the network and python3"]
fn the_example_of_the_python_sdk_works_a_turn() {
    let (program, packages) = (fetched("ACP_PYTHON_AGENT"), fetched("ACP_PYTHON_PACKAGES"));
    let (Some(program), Some(packages)) = (program, packages) else {
        println!("{UNKNOWN}");
        return;
    };
    let agent = json!({ "command": "python3", "args": [program], "env": { "PYTHONPATH": packages } });
    let seen = turn(&agent, "Say that again.");
    println!("\n{seen}\n");
    assert!(seen.contains("Client sent:"), "no answer");
    assert!(seen.matches("Say that again.").count() == 2, "no echo");
    assert!(seen.contains("\n\nDone · "), "no end");
}

fn fetched(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

/// All that a user sees of one turn.
fn turn(agent: &Value, prompt: &str) -> String {
    let project = TempProject::new(&[("README.md", "# A project\n")]);
    let cwd = Some(project.path().to_owned());
    let mut nvim = Nvim::start(Options { columns: 120, rows: 40, cwd, ..Options::default() });
    nvim.exec_lua(PREPARE, [agent.to_string().into()]);
    nvim.command("AcpChat");
    nvim.wait_until(|nvim| state(nvim) == "idle", "the session to be open");
    nvim.input(&format!("{prompt}<C-s>"));
    nvim.wait_until(|nvim| state(nvim) != "idle", "the turn to begin");
    nvim.wait_until(|nvim| state(nvim) == "idle", "the turn to end");
    let ends = |nvim: &mut Nvim| transcript(nvim).lines().last().is_some_and(|line| line.contains(" · "));
    nvim.wait_until(ends, "the end to be shown");
    let asked = nvim.exec_lua("return table.concat(_G.asked, '\\n')", []);
    let seen = format!("{}\n{}", transcript(&mut nvim), asked.as_str().expect("a text"));
    assert_eq!(nvim.messages(), "");
    assert!(nvim.quit().success());
    wait_for(|| nvim.processes().is_empty(), "every process to be gone");
    seen
}

fn transcript(nvim: &mut Nvim) -> String {
    nvim.exec_lua(TRANSCRIPT, []).as_str().expect("a text").to_owned()
}

fn state(nvim: &mut Nvim) -> String {
    let state = nvim.exec_lua("return require('acp').status().sessions[1].state", []);
    state.as_str().expect("a state").to_owned()
}

//! The plugin in a script that Neovim runs without a screen (`:help -l`): however the script ends, Neovim
//! ends with its exit code, and no agent is left behind.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::process::Command;

use support::process::{processes_with_env, wait_for};
use support::project::TempProject;

/// Runs a script that opens a chat and ends in this way; gives the exit code.
fn run(end: &str) -> Option<i32> {
    let project = TempProject::new(&[]);
    let script = format!(
        "vim.opt.runtimepath:prepend(vim.env.ACP_TEST_ROOT)
         require('acp').setup({{
           agents = {{ fake = {{ command = vim.env.ACP_TEST_AGENT, args = {{}} }} }},
         }})
         local _, err = require('acp').chat('fake')
         assert(not err, err)
         local function is_idle()
           return require('acp').status().sessions[1].state == 'idle'
         end
         assert(vim.wait(10000, is_idle, 10), 'no session')
         {end}"
    );
    project.write("script.lua", &script);
    let mark = format!("ACP_TEST_MARK={}", support::unique());
    let (name, value) = mark.split_once('=').expect("written above");
    let ended = Command::new(support::neovim())
        .args(["--clean", "-n", "-l"])
        .arg(project.file("script.lua"))
        .current_dir(project.path())
        .env("ACP_TEST_ROOT", env!("CARGO_MANIFEST_DIR"))
        .env("ACP_TEST_AGENT", support::demo_agent())
        .env("ACP_NVIM_LIB", support::library())
        .env("XDG_STATE_HOME", project.file("state"))
        .env("XDG_DATA_HOME", project.file("data"))
        .env("XDG_CACHE_HOME", project.file("cache"))
        .env(name, value)
        .output()
        .expect("a Neovim");
    wait_for(|| processes_with_env(&mark).is_empty(), "every process to be gone");
    ended.status.code()
}

#[test]
fn a_script_with_a_chat_ends_with_its_own_exit_code() {
    assert_eq!(run(""), Some(0));
    assert_eq!(run("vim.cmd('qall!')"), Some(0));
    assert_eq!(run("vim.cmd('cquit 4')"), Some(4));
    assert_eq!(run("error('on purpose')"), Some(1));
    assert_eq!(run("os.exit(3)"), Some(3));
    // Closes the Lua state first.
    assert_eq!(run("os.exit(5, true)"), Some(5));
}

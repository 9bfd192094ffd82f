//! The demo, as `make demo` plays it where nobody is at the keyboard.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

// The attribute tells clippy that helpers in there are tests, too.
#[cfg(test)]
#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
#[path = "support/remote.rs"]
mod remote;

use std::path::Path;
use std::process::Command;

use remote::Server;
use support::{Nvim, Options};

#[test]
fn the_tour_is_played_to_its_end_and_all_of_it_is_seen() {
    plays_the_tour(&[]);
}

#[test]
fn the_tour_is_the_same_in_the_second_version_of_the_protocol() {
    plays_the_tour(&[("ACP_DEMO_PROTOCOL", "2")]);
}

#[test]
fn the_tour_is_the_same_with_an_agent_that_speaks_the_draft_dialect() {
    plays_the_tour(&[("ACP_DEMO_DIALECT", "draft")]);
}

/// The agent behind a server, which speaks WebSocket and HTTP.
fn plays_the_tour_from_afar(scheme: &str) {
    let sessions = support::project::TempProject::new(&[]);
    let folder = sessions.path().to_owned();
    let server = Server::start(move || {
        let mut agent = Command::new(support::demo_agent());
        agent.env("ACP_DEMO_SPEED", "3").env("ACP_DEMO_SESSIONS", &folder);
        agent
    });
    plays_the_tour(&[("ACP_DEMO_URL", &server.url(scheme))]);
    assert!(!server.requests.lock().expect("the requests").is_empty());
}

#[test]
fn the_tour_is_the_same_over_a_websocket() {
    plays_the_tour_from_afar("ws");
}

#[test]
fn the_tour_is_the_same_over_http() {
    plays_the_tour_from_afar("http");
}

fn plays_the_tour(spoken: &[(&str, &str)]) {
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
        .envs(spoken.iter().copied())
        .env_remove("NVIM");
    for kind in ["CONFIG", "DATA", "STATE", "CACHE"] {
        command.env(format!("XDG_{kind}_HOME"), home.file(kind));
    }
    let output = command.output().expect("Neovim runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("all is well"), "{said}");
}

/// The commands and prompts of the help's tour, step by step, as they stand between backticks.
fn steps() -> Vec<Vec<String>> {
    let help =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("doc/acp.txt")).expect("the help");
    let tour = help.split("*acp-tour*").nth(1).expect("a section");
    let tour = tour.split("\nSome mappings").next().expect("its end");
    let mut steps: Vec<String> = Vec::new();
    for line in tour.lines() {
        let begins = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        match steps.last_mut() {
            _ if begins => steps.push(line.to_owned()),
            Some(step) => {
                step.push(' ');
                step.push_str(line.trim());
            }
            None => {}
        }
    }
    let spoken = |step: &String| step.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    steps.iter().map(spoken).collect()
}

/// What is on the screen, or in the chat, once a command or prompt of the help has done what the help says.
fn expected(number: usize, said: &str) -> &'static [&'static str] {
    match (number, said) {
        (1, "/tour") | (3 | 4, "/edit") | (5, "/long") | (6, "/files") => &["waiting for you"],
        (1, ":Acp allow") => &["That was the tour."],
        (2, "/plan") => &["All four done."],
        (2, ":Acp plan") => &[],
        (3, ":Acp reject") => &["You said no"],
        (4, ":Acp allow") => &["on the change takes it back"],
        (4, ":Acp keep" | ":Acp undo") => &[],
        (5, ":Acp allow") => &["`acp-tour-long.txt` is changed"],
        (6, ":Acp allow" | ":Acp reject") => &[],
        (6, ":Acp review") => &["Review: 4 files"],
        (7, "/agent") => &["The subagent says that there are"],
        (8, "/run") => &["The command ended with 0"],
        (8, ":Acp terminal") => &["2 passed"],
        (8, ":Acp terminal close") => &[],
        (9, "/build") => &["lists the places that it names"],
        (9, ":Acp terminal quickfix") => &[],
        (10, "/slow") => &["I count until you stop me."],
        (10, ":Acp cancel") => &["Cancelled"],
        (11, "/form") => &["waiting for you"],
        (11, ":Acp answer decline") => &["You would rather not say."],
        (12, "/fail") => &["the demo agent was asked to fail"],
        (13, "/crash") => &["goodbye"],
        (13, ":Acp restart") => &["ready"],
        (14, ":Acp model large!") => &["begins with model large in this project"],
        (14, ":Acp remembered") => &["is forgotten"],
        (15, ":Acp usage") => &["This session, Demo agent", "Today"],
        (16, ":Acp close") => &[],
        (16, ":Acp resume") => &["That was the tour.", "You would rather not say."],
        (17, ":Acp checkpoints") => &[],
        (17, ":Acp export") => &["# The tour"],
        other => panic!("the help's tour has {other:?}, of which this test does not know what it shows"),
    }
}

/// All that a user can read: the screen, the chat and what was notified.
fn readable(nvim: &mut Nvim) -> String {
    let code = "local all = { table.concat(_G.said or {}, '\\n') }
                for _, session in ipairs(require('acp').status().sessions) do
                  table.insert(all, table.concat(vim.api.nvim_buf_get_lines(session.buffer, 0, -1, false), '\\n'))
                end
                return table.concat(all, '\\n')";
    let text = nvim.exec_lua(code, []).as_str().expect("a text").to_owned();
    text + "\n" + &nvim.screen()
}

#[test]
fn the_tour_of_the_help_shows_what_the_help_says_in_an_empty_folder() {
    let project = support::project::TempProject::new(&[]);
    let agent = support::demo_agent().parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(agent).chain(std::env::split_paths(&path));
    let path =
        std::env::join_paths(folders).expect("folders that can be joined").into_string().expect("UTF-8");
    let env = vec![("PATH".to_owned(), path), ("ACP_DEMO_SPEED".to_owned(), "0".to_owned())];
    let cwd = Some(project.path().to_owned());
    let mut nvim = Nvim::start(Options { columns: 140, rows: 40, cwd, env, ..Options::default() });
    nvim.listen();
    // A picker that waits, like a window; only what is forgotten is picked.
    nvim.exec_lua(
        "vim.ui.input = function() end
         vim.ui.select = function(items, options, choose)
           local picked = 1
           for index, item in ipairs(items) do
             if item:find('^exit 1') then picked = index end
           end
           if options.kind == 'acp_remembered' or options.kind == 'acp_terminal' then
             choose(items[picked], picked)
           end
         end",
        [],
    );
    nvim.command("AcpChat demo");
    nvim.wait_for_screen("Demo agent ");
    let steps = steps();
    assert_eq!(steps.len(), 17, "{steps:#?}");
    let state = |nvim: &mut Nvim| {
        let state = nvim.exec_lua("return (require('acp').status().sessions[1] or {}).state", []);
        state.as_str().unwrap_or_default().to_owned()
    };
    for (number, step) in steps.iter().enumerate().map(|(index, step)| (index + 1, step)) {
        for said in step.iter().filter(|said| said.starts_with([':', '/'])) {
            let before = readable(&mut nvim);
            let wanted = expected(number, said);
            match said.strip_prefix(':') {
                Some(command) => {
                    if number == 6 && ["Acp allow", "Acp reject"].contains(&command) {
                        nvim.wait_until(|nvim| state(nvim) == "waiting", "the next question");
                    }
                    nvim.stop_insert();
                    nvim.command(command);
                }
                None => {
                    let code = "require('acp').send((...))";
                    nvim.exec_lua(code, [said.as_str().into()]);
                }
            }
            // What was there before does not count, but what a chat shows again does.
            let count = |text: &str, part: &str| text.matches(part).count();
            let is_new = |now: &str, part: &str| match number {
                13..=17 => now.contains(part),
                _ => {
                    count(now, part) > count(&before, part) || part == "waiting for you" && now.contains(part)
                }
            };
            nvim.wait_until(
                |nvim| {
                    let now = readable(nvim);
                    wanted.iter().all(|part| is_new(&now, part))
                },
                &format!("step {number}, {said}, to show {wanted:?}"),
            );
            match said.as_str() {
                ":Acp usage" | ":Acp review" => nvim.input("q"),
                ":Acp plan" => nvim.command("Acp plan"),
                ":Acp export" => nvim.command("tabclose!"),
                _ => {}
            }
        }
        if ![16].contains(&number) {
            nvim.wait_until(|nvim| state(nvim) == "idle", &format!("step {number} to be over"));
        }
    }
    for name in ["acp-tour.lua", "acp-tour-long.txt", "acp-tour-one.md", "acp-tour-three.md"] {
        let loaded = nvim.exec_lua("return vim.fn.bufnr((...)) > 0", [name.into()]).as_bool() == Some(true);
        assert!(loaded || project.file(name).exists(), "{name} was not written");
    }
    assert!(!project.file("acp-tour-two.md").exists());
}

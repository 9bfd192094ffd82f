//! Agents that a command starts elsewhere, as the help has them word for word: in place of `ssh`, `docker` and
//! `devcontainer` stand programs that start the agent in another root, where the project has another name.

#![cfg(unix)]

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use support::demo_agent;
use support::script::{Scripted, awaits, ends, initialized, opened, prompt, writes};

const HELP: &str = include_str!("../doc/acp.txt");

/// The code of the section about agents elsewhere that has this program.
fn recipe(program: &str) -> &'static str {
    let section = HELP.split_once("*acp-elsewhere*").expect("the section").1;
    let section = section.split_once("*acp-agents-page*").expect("its end").0;
    let code = section.split(">lua\n").skip(1).filter_map(|rest| rest.split("\n<").next());
    code.into_iter().find(|code| code.contains(&format!("\"{program}\""))).expect("its recipe")
}

/// Puts the arguments and the folder that it is started with on record, and goes into the other root as the program
/// does that it stands for.
const STAND_INS: [(&str, &str); 3] = [
    // What comes after the machine's name is a line for its shell.
    ("ssh", "cd() { command cd \"$OTHER_ROOT$1\" || exit 1; }\nshift 2\neval \"$*\""),
    ("docker", "cd \"$OTHER_ROOT$4\" || exit 1\nshift 5\nexec \"$@\""),
    ("devcontainer", "cd \"$OTHER_ROOT/workspaces/shop\" || exit 1\nshift 3\nexec \"$@\""),
];

fn program(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("a program");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it can be run");
}

/// A turn with the agent of a recipe, which calls the project `there`; the user has it `here`, below their home. Gives
/// what the program was told, and where it and the agent were started.
#[track_caller]
fn turn(name: &str, command: &str, (here, there): (&str, &str)) -> [String; 3] {
    let mut script = initialized(json!({}), json!([]));
    script.extend(opened().split_off(2));
    script.push(prompt());
    let notes = format!("{there}/notes.txt");
    script.extend(awaits("r", "fs/read_text_file", json!({ "path": notes })));
    script.extend(awaits("o", "fs/read_text_file", json!({ "path": "/etc/hosts" })));
    let mut write = writes("new.txt", "from there\n");
    write[0]["send"]["params"]["path"] = json!(format!("{there}/new.txt"));
    script.extend(write);
    script.push(ends("end_turn"));
    let mut chat = Scripted::new(&[], script);
    let (bin, other) = (chat.project.file("bin"), chat.project.file("other"));
    fs::create_dir_all(&bin).expect("a folder");
    fs::create_dir_all(other.join(&there[1..])).expect("the other root");
    for (name, text) in STAND_INS {
        let record = "printf '%s\\n' \"$*\" \"$PWD\" > \"$OTHER_ROOT/started\"";
        program(&bin.join(name), &format!("{record}\n{text}"));
    }
    let files = |name: &str| chat.project.file(&format!(".agent/{name}")).display().to_string();
    let (script, record) = (files("script.json"), files("record.jsonl"));
    let agent = demo_agent().display();
    let starts =
        format!("pwd >> \"$OTHER_ROOT/started\"\nexec '{agent}' --script '{script}' --record '{record}'");
    program(&bin.join("claude-agent-acp"), &starts);
    let home = chat.nvim.exec_lua("return vim.fn.expand('~')", []).as_str().expect("a home").to_owned();
    let here = here.replace('~', &home);
    fs::create_dir_all(&here).expect("the project");
    fs::write(Path::new(&here).join("notes.txt"), "alpha\n").expect("a file");
    let code = format!(
        "local bin, other, here = ...
         vim.env.PATH, vim.env.OTHER_ROOT = bin .. ':' .. vim.env.PATH, other
         vim.cmd.cd(here)
         local recipe = {{ {} }}
         require('acp').setup(recipe)",
        recipe(command)
    );
    let text = |path: &Path| path.to_string_lossy().into_owned().into();
    chat.nvim.exec_lua(&code, [text(&bin), text(&other), here.clone().into()]);
    chat.nvim.command(&format!("AcpChat {name}"));
    chat.nvim.wait_for_screen("Fake 1.0");
    chat.send("Look at @notes.txt");
    assert_eq!(chat.answer("r")["result"]["content"], "alpha\n", "{name}");
    assert!(chat.answer("o")["error"].is_object(), "{name}: a file of this machine was read");
    assert_eq!(chat.answer("w").get("error"), None, "{name}");
    chat.nvim.wait_until(|_| Path::new(&here).join("new.txt").exists(), "the file that the agent wrote");
    let got = |chat: &mut Scripted, method: &str| chat.got(method)["params"].clone();
    assert_eq!(got(&mut chat, "initialize")["clientCapabilities"]["terminal"], false, "{name}");
    assert_eq!(got(&mut chat, "session/new")["cwd"], there, "{name}");
    let sent = got(&mut chat, "session/prompt")["prompt"].to_string();
    assert!(sent.contains(&format!("file://{notes}")) && !sent.contains(&here), "{name}: {sent}");
    assert_eq!(
        got(&mut chat, "session/new")["mcpServers"],
        Value::Array(Vec::new()),
        "{name}: tools of here"
    );
    let started = fs::read_to_string(other.join("started")).expect("it was started");
    let lines: Vec<String> = started.lines().map(|line| line.replace(&here, "HERE")).collect();
    let lines: [String; 3] = lines.try_into().expect("three lines");
    lines.map(|line| line.replace(&*other.to_string_lossy(), "OTHER"))
}

#[test]
fn over_ssh_an_agent_works_in_the_folder_that_its_machine_has() {
    let [told, _, agent] = turn("box", "ssh", ("~/mnt/shop", "/srv/shop"));
    assert_eq!(told, "-T box cd /srv/shop && exec claude-agent-acp");
    assert_eq!(agent, "OTHER/srv/shop");
}

#[test]
fn in_a_container_an_agent_works_in_the_folder_that_the_container_has() {
    let [told, _, agent] = turn("boxed", "docker", ("~/src/shop", "/work"));
    assert_eq!(told, "exec -i -w /work dev claude-agent-acp");
    assert_eq!(agent, "OTHER/work");
}

#[test]
fn a_development_container_is_that_of_the_project() {
    let [told, from, agent] = turn("dev", "devcontainer", ("~/src/shop", "/workspaces/shop"));
    assert_eq!(told, "exec --workspace-folder . claude-agent-acp");
    assert_eq!((from.as_str(), agent.as_str()), ("HERE", "OTHER/workspaces/shop"));
}

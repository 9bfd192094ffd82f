//! What agents and users may make as large as they like: paragraphs, plans, prompts, calls, and what a chat
//! leaves behind when it is closed. The steps of the agent are the demo agent's.

use serde_json::{Value, json};

use super::scenarios::{Values, at_once};
use super::scripts::{text, with_script};
use super::stage::{Clock, LIMIT, Stage, Subject};
use crate::support::Nvim;
use crate::support::project::TempProject;
use crate::support::script::{ends, opened, prompt, runs, says, update};

/// An agent that answers one prompt with these steps.
fn answering(subject: Subject, project: &TempProject, parts: impl IntoIterator<Item = Value>) -> Stage {
    let mut steps = opened();
    steps.push(prompt());
    steps.extend(parts);
    steps.extend([says("\n\nEND-OF-FLOOD"), ends("end_turn")]);
    with_script(subject, project, steps)
}

pub fn paragraph(subject: Subject, count: usize) -> Values {
    let project = TempProject::new(&[]);
    let chunks = json!({ "repeat": count, "steps": [says("word${i} ")] });
    at_once(&answering(subject, &project, [chunks]).prompt_and_rest(Clock::Ticking))
}

/// A plan whose first steps are done one after the other.
pub fn plan(subject: Subject, count: usize) -> Values {
    let project = TempProject::new(&[]);
    let plan = |done: usize| {
        let step = |number: usize| {
            let status = if number < done { "completed" } else { "pending" };
            json!({ "content": format!("step {number} of the plan"), "priority": "medium", "status": status })
        };
        update(json!({ "sessionUpdate": "plan", "entries": (0..count).map(step).collect::<Vec<_>>() }))
    };
    at_once(&answering(subject, &project, (0..3).map(plan)).prompt_and_rest(Clock::Ticking))
}

/// Calls that name a file each.
pub fn calls_on_files(subject: Subject, count: usize) -> Values {
    let names: Vec<String> = (0..count).map(|number| format!("file_{number}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a line\n")).collect();
    let project = TempProject::new(&files);
    let folder = project.path().display().to_string();
    let calls = json!({ "repeat": count, "steps": [
        update(json!({
            "sessionUpdate": "tool_call", "toolCallId": "call-${i}", "title": "Read file_${i}.txt", "kind": "read",
            "status": "pending", "locations": [{ "path": format!("{folder}/file_${{i}}.txt"), "line": 1 }],
        })),
        update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call-${i}", "status": "completed",
            "content": [{ "type": "content", "content": text("a line") }],
        })),
    ] });
    at_once(&answering(subject, &project, [calls]).prompt_and_rest(Clock::Ticking))
}

/// Files that a command changes, the review of them, and the undo of all.
pub fn changed_by_command(subject: Subject, count: usize) -> Values {
    let names: Vec<String> =
        (0..count).map(|number| format!("src/{}/file_{number}.rs", number % 20)).collect();
    let text: String = (0..200).map(|line| format!("let value_{line} = compute({line});\n")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    let project = TempProject::new(&files);
    let line = "find src -name '*.rs' | xargs sed -i 's/compute(1*0)/computed()/'";
    let mut stage = answering(subject, &project, runs("c", line));
    let told = stage.prompt_and_rest(Clock::Ticking);
    stage.nvim.input("<C-\\><C-n>");
    let reviewed = stage.act_and_rest("vim.cmd('Acp review')");
    let scrolled = stage.act_and_rest("vim.cmd('normal! G')");
    let last = project.file(names.iter().max().expect("files"));
    let undone = stage.act_until_written("vim.cmd('Acp undo! all')", &last, text.len());
    let is_undone = |_: &mut Nvim| names.iter().all(|name| project.read(name) == text);
    stage.nvim.wait_until(is_undone, "all to be as it was");
    vec![
        ("told stall ms", told.stall_ms),
        ("told main ms", told.main_s * 1000.0),
        ("review stall ms", reviewed.stall_ms),
        ("scroll stall ms", scrolled.stall_ms),
        ("undo stall ms", undone.stall_ms),
        ("undo main ms", undone.main_s * 1000.0),
        ("memory MB", told.memory_mb),
    ]
}

/// A prompt that is put into its buffer and sent by a key.
pub fn prompt_long(subject: Subject, bytes: usize) -> Values {
    let project = TempProject::new(&[]);
    let mut stage = answering(subject, &project, []);
    let code = "local buf, bytes = require('acp').status().sessions[1].prompt, ...
                local line = 'a line of a log that somebody has pasted'
                local lines = {}
                for i = 1, math.floor(bytes / (#line + 1)) do
                  lines[i] = line
                end
                vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)";
    stage.nvim.exec_lua(code, [(bytes as u64).into()]);
    stage.nvim.exec_lua("probe.tell_at_rest()", []);
    let rested = |nvim: &mut crate::support::Nvim| nvim.take_notification("rested").is_some();
    stage.nvim.wait_within(LIMIT, rested, "Neovim to be at rest");
    stage.nvim.exec_lua("bench.prompt = function() vim.api.nvim_input('<C-s>') end", []);
    at_once(&stage.prompt_and_rest(Clock::Ticking))
}

/// How much of the memory stays that a chat took, once it is closed.
pub fn closed(subject: Subject, bytes: usize) -> Values {
    let project = TempProject::new(&[]);
    let line = |number: usize, word: &str| {
        format!("{word} line {number} of a text that is neither short nor long\n")
    };
    let lines = bytes / line(0, "old").len() / 2;
    let [old, new] = ["old", "new"].map(|word| {
        (0..lines)
            .map(|number| line(number, if number % 10 == 0 { word } else { "same" }))
            .collect::<String>()
    });
    let call = update(json!({
        "sessionUpdate": "tool_call", "toolCallId": "edit", "title": "Edit a.txt", "kind": "edit",
        "status": "completed",
        "content": [{ "type": "diff", "path": project.file("a.txt"), "oldText": old, "newText": new }],
    }));
    let mut stage = answering(subject, &project, [call]);
    let resident = |stage: &mut Stage| {
        let memory = stage.nvim.exec_lua("return vim.uv.resident_set_memory() / 2 ^ 20", []);
        memory.as_f64().expect("a number")
    };
    let before = resident(&mut stage);
    let measured = stage.prompt_and_rest(Clock::Ticking);
    let most = resident(&mut stage);
    stage.nvim.exec_lua("vim.cmd('Acp close') vim.wait(2000)", []);
    let after = resident(&mut stage);
    vec![
        ("stall ms", measured.stall_ms),
        ("before MB", before),
        ("open MB", most),
        ("closed MB", after),
        ("left times", after / before),
    ]
}

/// A flood of text in the last of so many chats, which share an agent.
pub fn chats(subject: Subject, count: usize) -> Values {
    let mut stage = Stage::open(subject, &["--flood", "5000"]);
    let code = "for _ = 2, ... do
                  require('acp').chat({ new = true })
                end";
    stage.nvim.exec_lua(code, [(count as u64).into()]);
    let idle = "for _, session in ipairs(require('acp').status().sessions) do
                  if session.state ~= 'idle' then
                    return false
                  end
                end
                return true";
    stage.nvim.wait_within(LIMIT, |nvim| nvim.exec_lua(idle, []) == true.into(), "all chats to be open");
    at_once(&stage.prompt_and_rest(Clock::Ticking))
}

//! What agents play from scripts: tool calls, an earlier session, and questions with large diffs. The
//! scripts' steps are the demo agent's; the times are the stage's.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use acp_nvim::core::changes::diff::place;
use acp_nvim::core::message::FileDiff;
use serde_json::{Value, json};

use super::scenarios::{Values, at_once};
use super::stage::{Clock, Measured, Stage, Subject};
use crate::support::project::TempProject;
use crate::support::script::{asks, awaits, ends, opened, prompt, says, update};

/// The agent of a script, in a project of its own.
pub fn with_script(subject: Subject, project: &TempProject, mut steps: Vec<Value>) -> Stage {
    steps.push(json!({ "wait_eof": true }));
    let steps = Value::Array(steps).to_string().replace("$PROJECT", &project.path().to_string_lossy());
    project.write("script.json", &steps);
    let script = project.file("script.json");
    Stage::open_in(Some(project.path()), subject, &["--script", script.to_str().expect("a path in UTF-8")])
}

pub fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Thoughts, each with a call that is over at once.
pub fn tools(subject: Subject, count: usize) -> Values {
    let mut steps = opened();
    steps.push(prompt());
    steps.push(json!({ "repeat": count, "steps": [
        update(json!({ "sessionUpdate": "agent_thought_chunk", "content": text("What is in number ${i}?") })),
        update(json!({
            "sessionUpdate": "tool_call", "toolCallId": "call-${i}", "title": "Read number ${i}",
            "kind": "read", "status": "pending", "rawInput": { "path": "src/number_${i}.rs" },
        })),
        update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call-${i}", "status": "completed",
            "content": [{ "type": "content", "content": text("the text of number ${i}\nin two lines") }],
        })),
    ] }));
    steps.extend([says("END-OF-FLOOD"), ends("end_turn")]);
    let project = TempProject::new(&[]);
    at_once(&with_script(subject, &project, steps).prompt_and_rest(Clock::Ticking))
}

/// An earlier session of so many messages, half of them the user's.
pub fn load(subject: Subject, count: usize) -> Values {
    let project = TempProject::new(&[]);
    at_once(&with_script(subject, &project, earlier(subject, count)).load_and_rest(Clock::Ticking))
}

/// An agent that has such a session, and then answers one prompt with so many chunks, 20 ms apart.
pub fn earlier_and_more(subject: Subject, project: &TempProject, count: usize, chunks: usize) -> Stage {
    let mut steps = earlier(subject, count);
    // The end of the earlier one is not that of the answer.
    steps.insert(steps.len() - 1, said("agent_message_chunk", "\n\nAnd that was it."));
    let words = "some words of an answer ${i}, ";
    let chunk = [said("agent_message_chunk", words), json!({ "delay_ms": 20 })];
    let line =
        [json!({ "repeat": 10, "steps": chunk }), said("agent_message_chunk", "with a *last* one.\n\n")];
    steps.extend([
        json!({ "expect": "session/prompt", "timeout_ms": 60_000 }),
        json!({ "repeat": chunks.div_ceil(10), "steps": line }),
        said("agent_message_chunk", "END-OF-FLOOD"),
        ends("end_turn"),
    ]);
    with_script(subject, project, steps)
}

fn said(kind: &str, words: &str) -> Value {
    let mut update = update(json!({ "sessionUpdate": kind, "content": text(words) }));
    update["send"]["params"]["sessionId"] = "old".into();
    update
}

fn earlier(subject: Subject, count: usize) -> Vec<Value> {
    let answer = "It is a *matter* of `taste`, says number ${i}:\n\n- one thing\n- and another\n";
    let mut steps = opened();
    steps[1]["result"]["agentCapabilities"] =
        json!({ "loadSession": true, "sessionCapabilities": { "list": {} } });
    if subject != Subject::Floor {
        let listed = json!({ "sessionId": "old", "cwd": "/", "title": "An earlier session" });
        steps.push(json!({ "expect": "session/list" }));
        steps.push(json!({ "reply": "session/list", "result": { "sessions": [listed] } }));
    }
    steps.push(json!({ "expect": "session/load" }));
    steps.push(json!({ "repeat": count / 2, "steps": [
        said("user_message_chunk", "What about number ${i}?"),
        said("agent_message_chunk", answer),
    ] }));
    steps.push(said("agent_message_chunk", "\nEND-OF-FLOOD"));
    steps.push(json!({ "reply": "session/load", "result": null }));
    steps
}

/// Places in files that no buffer holds at first, by turns not followed and followed.
pub fn follow(subject: Subject, count: usize) -> Values {
    const FILES: usize = 20;
    const TURNS: usize = 4;
    let rows: String = (1..=count).map(|row| format!("row {row}\n")).collect();
    let names: Vec<String> = (0..FILES).map(|file| format!("file_{file}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), rows.as_str())).collect();
    let project = TempProject::new(&files);
    let calls: Vec<Value> = names
        .iter()
        .map(|name| {
            update(json!({
                "sessionUpdate": "tool_call", "toolCallId": format!("{name}-${{i}}"), "title": format!("Read {name}"),
                "kind": "read", "status": "completed",
                "locations": [{ "path": project.file(name), "line": "${i}" }],
            }))
        })
        .collect();
    let mut steps = opened();
    for _ in 0..2 * TURNS {
        steps.push(prompt());
        steps.push(json!({ "repeat": count / FILES, "steps": calls }));
        steps.extend([says("END-OF-FLOOD"), ends("end_turn")]);
    }
    let mut stage = with_script(subject, &project, steps);
    let (mut more_s, mut main_s, mut stall_ms) = (0.0, 0.0, 0.0_f64);
    // A longer chat costs more by itself: what is followed comes first as often as what is not.
    for number in 0..2 * TURNS {
        let follow = matches!(number % 4, 1 | 2);
        stage.nvim.exec_lua("require('acp').follow(...)", [follow.into()]);
        let turn = stage.prompt_and_rest(Clock::Ticking);
        if follow {
            main_s += turn.main_s;
            more_s += turn.main_s;
            stall_ms = stall_ms.max(turn.stall_ms);
        } else {
            more_s -= turn.main_s;
        }
    }
    let moves = stage.nvim.exec_lua("return bench.moves", []).as_f64().expect("a number");
    vec![
        ("moves", moves),
        ("a move ms", more_s.max(0.0) * 1e3 / moves),
        ("stall ms", stall_ms),
        ("main thread s", main_s),
    ]
}

/// A text, and the same with so many changes in it.
fn changed(lines: usize, hunks: usize) -> (String, String) {
    let step = lines / hunks;
    let (mut old, mut new) = (String::new(), String::new());
    for line in 0..lines {
        let text = format!("    let value_{line} = compute({line}, \"text {}\");", line % 97);
        let _ = writeln!(old, "{text}");
        match line % step == step / 2 {
            true => {
                let _ = writeln!(new, "{text} // changed\n    check(value_{line});");
            }
            false => {
                let _ = writeln!(new, "{text}");
            }
        }
    }
    (old, new)
}

/// An agent that writes a file, which is on the screen, when it is prompted.
fn writing(subject: Subject, project: &TempProject, name: &str, text: &str) -> Stage {
    let path = project.file(name);
    let mut steps = opened();
    steps.push(prompt());
    steps.extend(awaits("w", "fs/write_text_file", json!({ "path": path, "content": text })));
    steps.extend([says("END-OF-FLOOD"), ends("end_turn")]);
    let mut stage = with_script(subject, project, steps);
    stage.show(&path);
    stage
}

fn most(all: &[Measured], of: fn(&Measured) -> f64) -> f64 {
    all.iter().map(of).fold(0.0, f64::max)
}

/// The review of what an agent has written into a file that is on the screen.
pub fn review(subject: Subject, lines: usize, hunks: usize) -> Values {
    const KEPT: usize = 10;
    let (old, new) = changed(lines, hunks);
    let project = TempProject::new(&[("a.rs", &old)]);
    let mut stage = writing(subject, &project, "a.rs", &new);
    stage.prompt_and_rest(Clock::Ticking);
    stage.nvim.input("<C-\\><C-n>");
    let opened = stage.act_and_rest("vim.cmd('Acp review')");
    let mut kept: Vec<Measured> = Vec::new();
    for _ in 0..KEPT {
        kept.push(stage.act_and_rest("vim.api.nvim_input('ga')"));
    }
    let left = stage.nvim.exec_lua("return vim.api.nvim_buf_get_lines(0, 0, 1, true)[1]", []);
    assert!(left.to_string().contains(&(hunks - KEPT).to_string()), "{left}");
    vec![
        ("open stall ms", opened.stall_ms),
        ("open main ms", opened.main_s * 1000.0),
        ("keep stall ms", most(&kept, |measured| measured.stall_ms)),
        ("keep main ms", most(&kept, |measured| measured.main_s * 1000.0)),
        ("memory MB", opened.memory_mb),
    ]
}

/// A new file that is one hunk, in which the user types.
pub fn long_hunk(subject: Subject, lines: usize) -> Values {
    const TYPED: usize = 10;
    let text: String = (0..lines).map(|line| format!("let value_{line} = compute({line});\n")).collect();
    let project = TempProject::new(&[("a.txt", "")]);
    let mut stage = writing(subject, &project, "a.txt", &text);
    let written = stage.prompt_and_rest(Clock::Ticking);
    stage.nvim.input("<C-\\><C-n>");
    stage.nvim.exec_lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", ["a.txt".into()]);
    stage.nvim.input(&format!("{}Go", lines / 2));
    let mut typed: Vec<Measured> = Vec::new();
    for _ in 0..TYPED {
        typed.push(stage.act_and_rest("vim.api.nvim_input('x')"));
    }
    let line = stage.nvim.exec_lua("return vim.api.nvim_get_current_line()", []);
    assert_eq!(line.as_str(), Some("x".repeat(TYPED).as_str()));
    vec![
        ("written stall ms", written.stall_ms),
        ("typed stall ms", most(&typed, |measured| measured.stall_ms)),
        ("typed main ms", most(&typed, |measured| measured.main_s * 1000.0)),
    ]
}

/// A question about a change of a file that is on the screen.
pub fn diff(subject: Subject, lines: usize, hunks: usize) -> Values {
    let (old, new) = changed(lines, hunks);
    let project = TempProject::new(&[("a.txt", &old)]);
    let path = project.file("a.txt");
    let mut steps = opened();
    steps.extend([
        prompt(),
        asks("p", "session/request_permission", json!({
            "toolCall": { "toolCallId": "edit", "title": "Edit a.txt", "kind": "edit", "status": "pending",
                "content": [{ "type": "diff", "path": path, "oldText": old, "newText": new }] },
            "options": [{ "optionId": "yes", "name": "Allow", "kind": "allow_once" }],
        })),
        json!({ "expect_reply": "p", "to": "p", "timeout_ms": 60_000 }),
        says("END-OF-FLOOD"),
        ends("end_turn"),
    ]);
    let mut stage = with_script(subject, &project, steps);
    stage.show(&path);
    stage.nvim.exec_lua("probe.answer_question()", []);
    let measured = stage.prompt_and_rest(Clock::Ticking);
    vec![
        ("shown ms", measured.shown_ms),
        ("background ms", background(&path, old, new)),
        ("stall ms", measured.stall_ms),
        ("CPU s", measured.cpu_s),
        ("memory MB", measured.memory_mb),
    ]
}

/// What of it the plugin's background computes: where the change belongs.
fn background(path: &std::path::Path, old: String, new: String) -> f64 {
    let text = old.trim_end().to_owned();
    let diff = FileDiff { path: path.to_owned(), old_text: Some(old.into()), new_text: new.into() };
    let began = Instant::now();
    let placed = black_box(place(black_box(&text), &[diff]));
    let took = began.elapsed();
    assert!(placed.iter().any(|placed| !placed.hunks.is_empty()), "the change has a place");
    took.as_secs_f64() * 1000.0
}

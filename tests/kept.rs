//! What is left to decide outlives Neovim: undecided changes and comments stand again after `:qa`, after a Neovim that
//! was killed, and with the branch that has them.
//!
//! `Home` is a project with a state folder that several Neovims share, one after the other or at once.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use support::script::{Scripted, ends, prompt, says, steps, writes};
use support::{Nvim, Options};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\n";
const CHANGED: &str = "one\nTWO\nthree\nfour\nfive\nsix\n";

/// An agent that changes `a.txt`, and makes a file.
fn changed() -> Scripted {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", CHANGED));
    all.extend(writes("new.txt", "fresh\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let state = |project: &support::project::TempProject| {
        vec![("XDG_STATE_HOME".to_owned(), project.file(".agent/state").to_string_lossy().into_owned())]
    };
    let mut chat = Scripted::with_env(&[("a.txt", LINES)], steps(all), state);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h");
    chat.nvim.wait_for_screen("- two");
    wait_until_kept(&mut chat, "\"added\":[\"fresh\"]");
    chat
}

/// Waits until the journals hold a text.
#[track_caller]
fn wait_until_kept(chat: &mut Scripted, text: &str) {
    let folder = chat.project.file(".agent/state/nvim/acp/reviews");
    let journals = || {
        let projects = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let files =
            projects.flat_map(|project| std::fs::read_dir(project.path()).into_iter().flatten().flatten());
        files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect::<String>()
    };
    chat.nvim.wait_until(|_| journals().contains(text), &format!("{text} to be kept"));
}

/// Another Neovim in the same project, with the same state.
fn another(chat: &Scripted, args: &[&str]) -> Nvim {
    let state = chat.project.file(".agent/state").to_string_lossy().into_owned();
    Nvim::start(Options {
        columns: 100,
        rows: 30,
        cwd: Some(chat.project.path().to_owned()),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: vec![("XDG_STATE_HOME".into(), state)],
        ..Options::default()
    })
}

#[test]
fn what_is_undecided_stands_again_after_neovim_has_ended() {
    let mut chat = changed();
    chat.nvim.quit();
    let mut nvim = another(&chat, &["a.txt"]);
    nvim.wait_for_screen("- two");
    nvim.wait_for_screen("undecided changes in 2 files: :Acp review");
    nvim.command("Acp review");
    nvim.wait_for_screen("Review: 2 files · 3 hunks");
    let screen = nvim.screen();
    for part in ["@@ 2  Fake: write", "+ six", "new.txt  1 hunk · +1 -0 · new file"] {
        assert!(screen.contains(part), "{part:?} is missing in\n{screen}");
    }
    nvim.command("Acp undo all");
    let project = &chat.project;
    nvim.wait_until(|_| project.read("a.txt") == LINES, "the file to be as it was");
    nvim.wait_until(|_| !project.file("new.txt").exists(), "the new file to go");
}

#[test]
fn what_is_undecided_stands_again_after_neovim_was_killed_and_is_decided_once() {
    let mut chat = changed();
    chat.nvim.command("Acp keep");
    chat.nvim.input("gg]c");
    chat.nvim.command("Acp keep");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunk to go");
    wait_until_kept(&mut chat, "\"undecided\":{\"path\"");
    let six = "return vim.fn.line('.')";
    chat.nvim.input("]c");
    assert_eq!(chat.nvim.exec_lua(six, []), 6.into());
    chat.nvim.kill9();
    let mut nvim = another(&chat, &["a.txt"]);
    nvim.command("Acp review");
    nvim.wait_for_screen("+ six");
    nvim.input("gg");
    nvim.command("Acp keep all");
    nvim.wait_for_screen("Nothing is left to decide");
    nvim.quit();
    let mut nvim = another(&chat, &["a.txt"]);
    nvim.input(":Acp review<CR>");
    nvim.wait_for_screen("nothing is left to decide");
}

#[test]
fn what_a_file_does_not_hold_any_more_is_said_and_stands_again_with_it() {
    let mut chat = changed();
    chat.nvim.quit();
    chat.project.write("a.txt", "of another branch\n");
    let mut nvim = another(&chat, &["a.txt"]);
    nvim.wait_for_screen("undecided changes in 2 files, 2 not in their files now");
    nvim.command("Acp review");
    nvim.wait_for_screen("a.txt  2 undecided changes are not in the file now");
    assert_eq!(chat.project.read("a.txt"), "of another branch\n");
    chat.project.write("a.txt", CHANGED);
    nvim.command("checktime");
    nvim.wait_for_screen("+ six");
    nvim.quit();
    let mut nvim = another(&chat, &["a.txt"]);
    nvim.wait_for_screen("- two");
}

#[test]
fn a_branch_that_is_left_and_comes_back_brings_its_changes_back() {
    let mut chat = changed();
    chat.project.write("a.txt", LINES);
    chat.nvim.command("checktime");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunks to go");
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("2 undecided changes are not in the file now");
    chat.project.write("a.txt", CHANGED);
    chat.nvim.command("checktime");
    chat.nvim.wait_for_screen("+ six");
    assert!(chat.nvim.screen().contains("Review: 2 files · 3 hunks"));
}

#[test]
fn two_neovims_lose_nothing_of_each_other() {
    let mut chat = changed();
    let mut other = another(&chat, &["a.txt"]);
    other.input(":Acp review<CR>");
    other.wait_for_screen("another Neovim has 2 files to decide on");
    chat.nvim.kill9();
    other.input(":Acp review<CR>");
    other.wait_for_screen("Review: 2 files · 3 hunks");
    other.kill9();
    let mut third = another(&chat, &["a.txt"]);
    third.wait_for_screen("- two");
}

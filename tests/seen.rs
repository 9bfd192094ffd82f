//! Changes that agents make without the editor's help, by real commands in real terminals: each is a hunk that can be
//! judged, and counts once. What others change meanwhile is no agent's.
//!
//! To write such a test: `turn_that_runs(&[".."])` is a turn in which the agent runs shell lines in the project's
//! folder, `Ran` is a Neovim whose agent has played such turns, `review()` is the page of hunks once it holds a text.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::process::Command;

use serde_json::Value;
use support::script::{Scripted, ends, prompt, says, steps, turn_that_runs, writes};

/// A Neovim in a project, and an agent that plays these turns.
struct Ran {
    chat: Scripted,
    turns: usize,
}

impl Ran {
    fn new(files: &[(&str, &str)], turns: &[Vec<Value>]) -> Self {
        let chat = Scripted::new(files, steps(turns.concat()));
        Self { chat, turns: 0 }
    }

    /// Opens a file in the window beside the chat, if there is a chat.
    fn edit(&mut self, name: &str) {
        self.chat.nvim.command(&format!("edit {name}"));
    }

    fn open_chat(&mut self) {
        self.chat.chat();
        self.chat.nvim.stop_insert();
        self.chat.nvim.command("wincmd h");
    }

    /// Has the agent play its next turn, and waits for the end.
    fn turn(&mut self) {
        self.chat.nvim.command("AcpChat");
        self.chat.nvim.command("startinsert");
        self.chat.send("Go on");
        self.turns += 1;
        let done = "local chat = require('acp').status().sessions[1]
                    local text = table.concat(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false), '\\n')
                    return select(2, text:gsub('Done', ''))";
        let turns = self.turns as u64;
        self.chat.nvim.wait_until(|nvim| nvim.exec_lua(done, []).as_u64() >= Some(turns), "the turn to end");
        self.chat.nvim.stop_insert();
        self.chat.nvim.command("wincmd h");
    }

    /// Runs a command as another program of the user's would.
    fn outside(&self, program: &str, args: &[&str]) {
        let status = Command::new(program).args(args).current_dir(self.chat.project.path()).status();
        assert!(status.expect("the program to start").success(), "{program} {args:?}");
    }

    /// The review's lines below its head, once one of them holds a text.
    #[track_caller]
    fn review(&mut self, text: &str) -> String {
        let lines = "vim.cmd('silent! Acp review')
                     local page = vim.fn.bufnr('acp://review')
                     if page < 0 then return '' end
                     local lines = table.concat(vim.api.nvim_buf_get_lines(page, 3, -1, false), '\\n')
                     vim.api.nvim_buf_delete(page, { force = true })
                     return lines";
        let mut found = String::new();
        self.chat.nvim.wait_until(
            |nvim| {
                found = nvim.exec_lua(lines, []).as_str().unwrap_or_default().to_owned();
                found.contains(text)
            },
            &format!("the review to hold {text:?}"),
        );
        found
    }

    #[track_caller]
    fn wait_for_file(&mut self, name: &str, text: &str) {
        let project = &self.chat.project;
        self.chat.nvim.wait_until(|_| project.read(name) == text, &format!("{name} to hold {text:?}"));
    }
}

const LINES: &str = "one\ntwo\nthree\nfour\nfive\n";

#[test]
fn what_others_change_between_two_turns_is_no_agents() {
    let mut first = vec![prompt()];
    first.extend(writes("a.txt", "one\nTWO\nthree\nfour\nfive\n"));
    first.extend([says("Changed."), ends("end_turn")]);
    let second = vec![prompt(), says("Heard."), ends("end_turn")];
    let mut ran = Ran::new(&[("a.txt", LINES)], &[first, second]);
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    ran.outside("sed", &["-i", "s/four/4/", "a.txt"]);
    ran.chat.nvim.wait_until(|nvim| nvim.buffer_text(0).contains('4'), "the buffer to take the text");
    assert_eq!(ran.review("TWO").lines().count(), 4, "one hunk: a file, a head, two lines");
    ran.chat.nvim.command("Acp undo all");
    ran.wait_for_file("a.txt", "one\ntwo\nthree\n4\nfive\n");
    ran.turn();
    let told = ran.chat.got("session/prompt")["params"]["prompt"].to_string();
    assert!(told.contains("TWO") && !told.contains('4'), "{told}");
}

#[test]
fn what_a_command_changes_is_a_hunk_of_its_call() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["sed -i s/two/TWO/ a.txt"])]);
    ran.open_chat();
    ran.turn();
    assert_eq!(
        ran.review("TWO"),
        "a.txt  1 hunk · +1 -1\n  @@ 2  Fake: sed -i s/two/TWO/ a.txt\n  - two\n  + TWO"
    );
    ran.chat.nvim.command("Acp undo all");
    ran.wait_for_file("a.txt", LINES);
}

#[test]
fn what_a_command_changes_in_a_buffers_file_is_a_hunk_in_the_buffer() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["sed -i s/two/TWO/ a.txt"])]);
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    ran.chat.nvim.wait_for_screen("- two");
    assert_eq!(
        ran.review("TWO"),
        "a.txt  1 hunk · +1 -1\n  @@ 2  Fake: sed -i s/two/TWO/ a.txt\n  - two\n  + TWO"
    );
    ran.chat.nvim.command("Acp undo all");
    ran.wait_for_file("a.txt", LINES);
}

#[test]
fn what_a_command_changes_below_unsaved_edits_is_a_hunk_beside_them() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["sed -i s/two/TWO/ a.txt"])]);
    ran.edit("a.txt");
    ran.chat.nvim.input("Gomine<Esc>");
    ran.open_chat();
    ran.turn();
    ran.chat.nvim.wait_for_screen("- two");
    let review = ran.review("TWO");
    assert_eq!(review.lines().count(), 4, "{review}");
    ran.chat.nvim.command("Acp undo all");
    assert_eq!(ran.chat.nvim.buffer_text(0), "one\ntwo\nthree\nfour\nfive\nmine");
    assert_eq!(ran.chat.project.read("a.txt"), LINES.replace("two", "TWO"), "unsaved edits stay unsaved");
}

#[test]
fn made_removed_and_renamed_files_are_listed_and_brought_back() {
    let commands = ["printf 'x\\ny\\n' > new.txt", "rm gone.txt", "mv old.txt moved.txt", "touch empty.txt"];
    let files = [("a.txt", LINES), ("gone.txt", "g\n"), ("old.txt", "first\nsecond\n")];
    let mut ran = Ran::new(&files, &[turn_that_runs(&commands)]);
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    let review = ran.review("empty.txt");
    let heads: Vec<&str> = review.lines().filter(|line| !line.starts_with("  ")).collect();
    insta::assert_snapshot!(heads.join("\n"), @r"
    empty.txt  empty · new file  Fake: touch empty.txt
    gone.txt  1 hunk · +0 -1 · deleted
    moved.txt  1 hunk · +2 -0 · new file
    new.txt  1 hunk · +2 -0 · new file
    old.txt  1 hunk · +0 -2 · deleted
    ");
    assert!(!review.lines().any(|line| line == "  - "), "no line of a file that was not there: {review}");
    ran.chat.nvim.command("Acp undo all");
    ran.wait_for_file("gone.txt", "g\n");
    ran.wait_for_file("old.txt", "first\nsecond\n");
    for name in ["new.txt", "moved.txt", "empty.txt"] {
        let path = ran.chat.project.file(name);
        ran.chat.nvim.wait_until(|_| !path.exists(), &format!("{name} to go"));
    }
}

#[test]
fn a_new_file_that_is_undone_leaves_no_buffer() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["printf 'x\\ny\\n' > new.txt"])]);
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    ran.review("new.txt");
    ran.edit("new.txt");
    ran.chat.nvim.command("Acp undo file");
    let path = ran.chat.project.file("new.txt");
    ran.chat.nvim.wait_until(|_| !path.exists(), "the file to go");
    ran.chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.bufloaded('new.txt')", []) == 0.into(),
        "its buffer to go",
    );
}

#[test]
fn a_file_of_which_nobody_knows_the_text_is_listed_with_the_reason() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["printf '\\000\\001' > pic.bin"])]);
    ran.open_chat();
    ran.turn();
    let review = ran.review("pic.bin");
    assert!(review.contains("pic.bin  new file · no hunks: "), "{review}");
    assert_eq!(review.lines().count(), 1);
}

//! What is left to decide outlives Neovim: undecided changes and comments stand again after `:qa`, after a Neovim that
//! was killed, and with the branch that has them.
//!
//! `Home` is a project with a state folder that several Neovims share, one after the other or at once.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use support::script::{Scripted, ends, prompt, says, steps, turn_that_runs, writes};
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
    chat.change_beside("a.txt");
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
    nvim.command("Acp undo! all");
    let project = &chat.project;
    nvim.wait_until(|_| project.read("a.txt") == LINES, "the file to be as it was");
    nvim.wait_until(|_| !project.file("new.txt").exists(), "the new file to go");
}

#[test]
fn what_was_undone_beside_unsaved_edits_stands_again_where_neovim_ends_without_saving_them() {
    for (is_saved, left) in [(false, "Review: 2 files · 3 hunks"), (true, "Review: 1 file · 1 hunk")] {
        let mut chat = changed();
        chat.nvim.command("buffer a.txt | call setline(4, 'mine')");
        chat.nvim.command("2 | Acp undo");
        chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the first hunk to go");
        chat.nvim.command("6 | Acp undo");
        let last_line = "return vim.fn.getline('$')";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(last_line, []) == "five".into(), "the other one to go");
        if is_saved {
            chat.nvim.command("write");
        }
        chat.nvim.quit();
        let mut nvim = another(&chat, &["a.txt"]);
        nvim.wait_for_screen("undecided changes in ");
        assert!(!nvim.messages().contains("not in their files"), "{}", nvim.messages());
        nvim.command("Acp review");
        nvim.wait_for_screen(left);
    }
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
    nvim.command("Acp keep! all");
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
    other.wait_for_screen("another Neovim has 2 files");
    chat.nvim.kill9();
    other.input(":Acp review<CR>");
    other.wait_for_screen("Review: 2 files · 3 hunks");
    other.kill9();
    let mut third = another(&chat, &["a.txt"]);
    third.wait_for_screen("- two");
}

#[test]
fn an_open_review_does_not_say_that_all_is_decided_where_that_is_not_known() {
    let mut chat = changed();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("Review: 2 files · 3 hunks");
    // What other Neovims have left cannot be read.
    let folder = chat.project.file(".agent/state/nvim/acp/reviews");
    std::fs::rename(&folder, folder.with_extension("away")).expect("to move the folder");
    std::fs::write(&folder, "").expect("to write a file in its place");
    chat.nvim.command("Acp review");
    chat.nvim.command("Acp keep! all");
    chat.nvim.wait_for_screen("Nothing is left to decide in this Neovim, but");
}

#[test]
fn the_list_of_changes_has_what_is_undecided_from_before_neovim_was_started() {
    const LISTED: &str = "a.txt 2 hunks · +2 -1, undecided from before\n\
                          new.txt 1 hunk · +1 -0 · new file, undecided from before";
    let mut chat = changed();
    chat.nvim.quit();
    for has_chat in [false, true] {
        chat.nvim = another(&chat, &["a.txt"]);
        chat.nvim.wait_for_screen("undecided changes in 2 files: :Acp review");
        if has_chat {
            chat.configure("");
            chat.chat();
            chat.nvim.stop_insert();
        }
        let choose = "vim.ui.select = function(items, options, done)
                        _G.listed, _G.title = table.concat(items, '\\n'), options.prompt
                        done(items[2], 2)
                      end";
        chat.nvim.exec_lua(choose, []);
        chat.nvim.command("Acp changes");
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua("return _G.listed", []).as_str() == Some(LISTED),
            "what is undecided to be listed",
        );
        let title = chat.nvim.exec_lua("return _G.title", []);
        assert!(title.as_str().is_some_and(|title| title.starts_with("Undecided from before")), "{title}");
        chat.nvim.wait_until(|nvim| nvim.buffer_text(0).contains("fresh"), "the file that was chosen");
        chat.nvim.command("Acp changes quickfix");
        let list = "return #vim.fn.getqflist() .. ' ' .. vim.fn.getqflist()[2].lnum";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(list, []).as_str() == Some("3 6"), "each hunk");
        chat.nvim.quit();
    }
}

// Files without lines, files that were renamed, and all at once.

/// An agent that has run command lines in a project with a state folder of its own.
fn ran(files: &[(&str, &str)], lines: &[&str]) -> Scripted {
    let state = |project: &support::project::TempProject| {
        vec![("XDG_STATE_HOME".to_owned(), project.file(".agent/state").to_string_lossy().into_owned())]
    };
    let mut chat = Scripted::with_env(files, steps(turn_that_runs(lines)), state);
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat
}

#[test]
fn a_file_without_lines_can_be_undone_after_neovim_has_ended() {
    let mut chat = ran(&[("a.bin", "\0old")], &["printf '\\000new' > a.bin; chmod 600 a.bin"]);
    wait_until_kept(&mut chat, "not a text");
    chat.nvim.quit();
    assert_eq!(chat.project.read("a.bin"), "\0new");
    let mut nvim = another(&chat, &[]);
    nvim.wait_for_screen("undecided changes in 1 file: :Acp review");
    nvim.command("Acp undo all");
    let project = &chat.project;
    nvim.wait_until(|_| project.read("a.bin") == "\0old", "the bytes to be as they were");
    let messages = nvim.messages();
    assert!(!messages.contains("couldn't undo"), "{messages}");
}

#[test]
fn a_file_without_lines_that_is_restored_elsewhere_is_not_offered_any_more() {
    let mut chat = ran(&[("a.bin", "\0old")], &["printf '\\000new' > a.bin"]);
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("a.bin");
    chat.project.write("a.bin", "\0other");
    chat.nvim.wait_for_screen("a.bin");
    // As another Neovim's `:Acp undo` does.
    chat.project.write("a.bin", "\0old");
    chat.nvim.wait_for_screen("Nothing is left to decide");
}

#[test]
fn what_was_put_back_while_no_neovim_ran_is_not_told_as_undecided() {
    for (is_put_back, told) in [(false, true), (true, false)] {
        let mut chat = ran(&[("a.txt", LINES)], &["rm a.txt"]);
        wait_until_kept(&mut chat, "a.txt");
        chat.nvim.quit();
        if is_put_back {
            chat.project.write("a.txt", LINES);
        }
        let mut nvim = another(&chat, &[]);
        nvim.input(":Acp review<CR>");
        let about = if told { "a.txt" } else { "nothing is left to decide" };
        nvim.wait_for_screen(about);
        assert_eq!(nvim.messages().contains("undecided changes in 1 file"), told, "{}", nvim.messages());
    }
}

#[test]
fn one_that_is_too_large_to_be_kept_says_so() {
    let make = "head -c 800000 /dev/zero > a.bin";
    let mut chat = ran(&[("a.bin", "\0old")], &[make]);
    wait_until_kept(&mut chat, "too large to be kept for a later Neovim to undo");
    chat.nvim.quit();
    let mut nvim = another(&chat, &[]);
    nvim.wait_for_screen("undecided changes in 1 file: :Acp review");
    nvim.command("Acp undo all");
    nvim.wait_until(|nvim| nvim.messages().contains("a.bin: not a text, and too large"), "the reason");
    assert_eq!(chat.project.read("a.bin").len(), 800_000);
}

#[test]
fn a_renamed_file_is_one_in_the_chat_the_list_the_question_and_the_notice() {
    let files = &[("a.txt", LINES), ("b.txt", "b\n")];
    let mut chat = ran(files, &["mv a.txt z.txt; echo c >> b.txt"]);
    chat.nvim.wait_for_screen("changed 2 files");
    chat.nvim.command("Acp changes quickfix");
    let list = "return vim.tbl_map(function(item) return item.text end, vim.fn.getqflist())";
    let list = chat.nvim.exec_lua(&format!("return table.concat((function() {list} end)(), '; ')"), []);
    assert_eq!(list.as_str(), Some("1 hunk · +1 -0; renamed from a.txt"));
    chat.nvim.command("cclose");
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("Review: 2 files");
    chat.nvim.command("quit");
    chat.nvim
        .exec_lua("vim.ui.select = function(items, _, done) _G.asked = items[1] done(items[1], 1) end", []);
    chat.nvim.command("Acp undo all");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.asked ~= nil", []) == true.into(), "the question");
    let asked = chat.nvim.exec_lua("return _G.asked", []);
    assert!(asked.as_str().is_some_and(|asked| asked.ends_with("in 2 files")), "{asked}");
    let project = &chat.project;
    chat.nvim.wait_until(|_| project.file("a.txt").exists() && !project.file("z.txt").exists(), "its name");
    chat.nvim.command("Acp undo last");
    chat.nvim.wait_until(
        |nvim| {
            let messages = nvim.messages();
            messages.contains("took back the last decision") && !messages.contains("in 3 files")
        },
        "the decision to be taken back",
    );
}

#[test]
fn all_at_once_is_asked_about_whether_by_key_or_by_command_unless_a_bang_says_so() {
    let mut chat = changed();
    chat.nvim.exec_lua(
        "_G.asked = {}
         vim.ui.select = function(items, _, done) table.insert(_G.asked, items[1]) done(nil) end",
        [],
    );
    let asked = |nvim: &mut Nvim| nvim.exec_lua("return table.concat(_G.asked, '; ')", []);
    chat.nvim.command("Acp undo all");
    let question = "Undo all 3 hunks in 2 files";
    chat.nvim.wait_until(|nvim| asked(nvim).as_str() == Some(question), "the question");
    chat.nvim.command("Acp keep all");
    let both = format!("{question}; Keep all 3 hunks in 2 files");
    chat.nvim.wait_until(|nvim| asked(nvim).as_str() == Some(&both), "the other one");
    assert_eq!(chat.project.read("a.txt"), CHANGED);
    chat.nvim.command("Acp undo! all");
    let project = &chat.project;
    chat.nvim.wait_until(|_| project.read("a.txt") == LINES, "all to be undone");
    assert_eq!(asked(&mut chat.nvim).as_str(), Some(&*both), "it was not asked about");
}

//! Comments on lines of files: written in a small window, kept as drafts, listed, sent, shared, and there again in the
//! next Neovim.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use support::script::{Scripted, ends, prompt, says, steps, writes};
use support::{Nvim, Options};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\n";

fn opened() -> Scripted {
    let all = [prompt(), says("Heard."), ends("end_turn")];
    let state = |project: &support::project::TempProject| {
        vec![("XDG_STATE_HOME".to_owned(), project.file(".agent/state").to_string_lossy().into_owned())]
    };
    let mut chat = Scripted::with_env(&[("a.txt", LINES)], steps(all), state);
    chat.nvim.command("edit a.txt");
    chat
}

/// Writes a comment with a command.
fn write(nvim: &mut Nvim, command: &str, text: &str) {
    nvim.command(command);
    nvim.wait_for_screen("Comment on");
    nvim.input(text);
    nvim.wait_until(|nvim| !nvim.screen().contains("Comment on"), "the window to go");
}

fn listed(nvim: &mut Nvim) -> String {
    nvim.command("Acp comments");
    nvim.wait_until(|nvim| nvim.exec_lua("return vim.bo.buftype", []) == "quickfix".into(), "the list");
    let text = nvim.buffer_text(0);
    nvim.command("cclose");
    text
}

#[test]
fn a_comment_of_several_lines_stands_at_its_lines_and_is_sent() {
    let mut chat = opened();
    write(&mut chat.nvim, "2,3Acp comment", "why these?<CR>both of them<C-s>");
    chat.nvim.wait_for_screen("✎ why these? …");
    chat.nvim.command("normal! ggOnew");
    assert_eq!(listed(&mut chat.nvim), "a.txt|3-4| why these? …");
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("Acp comments send");
    chat.wait_for("Heard.");
    let sent = chat.got("session/prompt")["params"]["prompt"][0]["text"].to_string();
    assert_eq!(sent, r#""My comments:\n\na.txt:3-4\n```\ntwo\nthree\n```\nwhy these?\nboth of them""#);
    chat.nvim.input(":Acp comments<CR>");
    chat.nvim.wait_for_screen("there is no comment yet");
    assert!(!chat.nvim.screen().contains('✎'));
}

#[test]
fn a_comment_on_a_files_line_of_the_review_is_on_its_first_line() {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\ntwo\nthree\nFOUR\nfive\n"));
    all.push(ends("end_turn"));
    let mut chat = Scripted::new(&[("a.txt", LINES)], steps(all));
    chat.change_beside("a.txt");
    chat.nvim.wait_for_screen("- four");
    let nvim = &mut chat.nvim;
    nvim.command("Acp review");
    nvim.wait_for_screen("+ FOUR");
    nvim.command("call search('^a.txt')");
    // Whoever types on writes the comment.
    nvim.input("gcwhy this file?<C-s>");
    nvim.wait_for_screen("\u{270e} 1  why this file?");
    nvim.command("call search('^a.txt')");
    nvim.input("gc");
    nvim.wait_for_screen("Comment on a.txt:1");
    // The cursor is behind what is there, as at the end of a new one.
    nvim.input(" It is fine.<C-s>");
    nvim.wait_for_screen("why this file? It is fine.");
    assert_eq!(nvim.exec_lua("return vim.bo.modified", []), false.into());
}

#[test]
fn a_comment_in_an_open_review_hides_no_file_below_it() {
    let mut all = vec![prompt()];
    all.extend(writes("one.md", "# One\n"));
    all.extend(writes("two.md", "# Two\n"));
    all.push(ends("end_turn"));
    let mut chat = Scripted::new(&[("a.txt", LINES)], steps(all));
    chat.change_beside("a.txt");
    let nvim = &mut chat.nvim;
    nvim.command("Acp review");
    nvim.wait_for_screen("+ # Two");
    nvim.command("call search('+ # One')");
    nvim.input("gcwhy?<CR>and how?<C-s>");
    nvim.wait_for_screen("and how?");
    nvim.input("zM");
    nvim.wait_until(|nvim| !nvim.screen().contains("# Two"), "the folds to close");
    let screen = nvim.screen();
    assert!(screen.contains("\none.md") && screen.contains("\ntwo.md"), "{screen}");
    assert!(!screen.contains("why?"), "{screen}");
}

#[test]
fn an_open_list_of_comments_shows_those_that_are_left() {
    let mut chat = opened();
    write(&mut chat.nvim, "2Acp comment", "why?<C-s>");
    write(&mut chat.nvim, "4Acp comment", "and this?<C-s>");
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("Acp comments");
    let list = "return vim.iter(vim.fn.getqflist()):map(function(item) return item.text end):join('|')";
    let texts = |texts: &[&str]| texts.join("|").into();
    assert_eq!(chat.nvim.exec_lua(list, []), texts(&["why?", "and this?"]));
    chat.nvim.command("wincmd t");
    write(&mut chat.nvim, "5Acp comment", "more<C-s>");
    assert_eq!(chat.nvim.exec_lua(list, []), texts(&["why?", "and this?", "more"]));
    chat.nvim.command("Acp comments send");
    chat.wait_for("Heard.");
    assert_eq!(chat.nvim.exec_lua(list, []), texts(&[]));
    // A list of something else is left alone.
    chat.nvim.command("call setqflist([{ 'text': 'mine' }])");
    write(&mut chat.nvim, "5Acp comment", "again<C-s>");
    assert_eq!(chat.nvim.exec_lua(list, []), texts(&["mine"]));
}

#[test]
fn the_window_of_a_comment_covers_none_of_its_lines() {
    let mut chat = opened();
    let nvim = &mut chat.nvim;
    let many = "call setline(1, map(range(1, 60), '\"line \" .. v:val .. \" of many\"'))";
    nvim.command(many);
    for (view, first, last) in [("2Gzt", 2, 6), ("40Gzb", 36, 40), ("40Gzb", 40, 40)] {
        nvim.command(&format!("normal! {view}"));
        let command = format!("{first},{last}Acp comment");
        nvim.command(&command);
        nvim.wait_for_screen("Comment on");
        let screen = nvim.screen();
        for line in first..=last {
            assert!(screen.contains(&format!("line {line} of many")), "{command}: line {line}:\n{screen}");
        }
        nvim.input("<Esc>");
        nvim.command("quit");
        nvim.wait_until(|nvim| !nvim.screen().contains("Comment on"), "the window to go");
    }
}

#[test]
fn a_line_that_was_begun_in_a_comment_takes_no_blanks_out_of_the_file() {
    let mut chat = opened();
    chat.nvim.command("call setline(2, '    two') | call cursor(2, 1)");
    write(&mut chat.nvim, "Acp comment", "why?<CR><C-s>");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
    assert_eq!(chat.nvim.buffer_text(0), "one\n    two\nthree\nfour\nfive");
}

#[test]
fn what_is_left_in_the_window_is_a_draft_which_can_be_edited_and_deleted() {
    let mut chat = opened();
    let nvim = &mut chat.nvim;
    write(nvim, "2Acp comment", "half<Esc><Esc>");
    assert_eq!(listed(nvim), "a.txt|2| (draft) half");
    nvim.input(":Acp comments send<CR>");
    nvim.wait_for_screen("all comments are drafts");
    nvim.command("2");
    write(nvim, "Acp comment", " done<Esc><CR>");
    assert_eq!(listed(nvim), "a.txt|2| half done");
    write(nvim, "4Acp comment", "another<Esc>:quit<CR>");
    assert_eq!(listed(nvim), "a.txt|2| half done\na.txt|4| (draft) another");
    nvim.command("4");
    nvim.command("Acp! comment");
    assert_eq!(listed(nvim), "a.txt|2| half done");
    nvim.command("2");
    write(nvim, "Acp comment", "<Esc>ggdG:write<CR>");
    nvim.input(":Acp comments<CR>");
    nvim.wait_for_screen("there is no comment yet");
}

#[test]
fn comments_are_shared_as_markdown() {
    let mut chat = opened();
    write(&mut chat.nvim, "2Acp comment", "why?<C-s>");
    chat.nvim.command("Acp comments share");
    assert_eq!(chat.nvim.buffer_text(0), "# Comments\n\n## a.txt:2\n\n```\ntwo\n```\n\nwhy?");
    assert_eq!(chat.nvim.exec_lua("return { vim.bo.filetype, vim.bo.modified }", [])[0], "markdown".into());
}

#[test]
fn comments_are_there_again_at_their_lines_in_the_next_neovim() {
    let mut chat = opened();
    write(&mut chat.nvim, "4Acp comment", "why four?<C-s>");
    chat.nvim.quit();
    chat.project.write("a.txt", &format!("new\n{LINES}"));
    let state = chat.project.file(".agent/state").to_string_lossy().into_owned();
    let mut nvim = Nvim::start(Options {
        cwd: Some(chat.project.path().to_owned()),
        args: vec!["a.txt".into()],
        env: vec![("XDG_STATE_HOME".into(), state)],
        ..Options::default()
    });
    nvim.wait_for_screen("✎ why four?");
    assert_eq!(listed(&mut nvim), "a.txt|5| why four?");
}

#[test]
fn a_line_of_a_change_is_commented_as_the_change_and_stands_in_the_review() {
    let mut all = vec![prompt()];
    all.extend(support::script::writes("a.txt", "one\nTWO\nthree\nfour\nfive\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", LINES)], steps(all));
    chat.change_beside("a.txt");
    chat.nvim.wait_for_screen("- two");
    chat.nvim.command("2");
    write(&mut chat.nvim, "Acp comment", "too loud<C-s>");
    chat.nvim.command("5");
    write(&mut chat.nvim, "Acp comment", "and this<C-s>");
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("2 commented");
    let review = chat.nvim.buffer_text(0);
    assert!(review.ends_with("  + TWO\n  ✎ too loud\n  ✎ 5  and this"), "{review}");
    chat.nvim.command("call search('and this')");
    chat.nvim.command("Acp! comment");
    chat.nvim.wait_for_screen("1 commented");
}

#[test]
fn a_comment_on_a_new_file_quotes_the_lines_that_it_has_alone() {
    let mut all = vec![prompt()];
    all.extend(support::script::writes("new.txt", "first\nsecond\n"));
    all.extend([says("Made."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", LINES)], steps(all));
    chat.chat();
    chat.send("go");
    chat.wait_for("Made.");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ first");
    chat.nvim.command("call search('first')");
    chat.nvim.input("gc");
    chat.nvim.wait_for_screen("Comment on");
    chat.nvim.input("why?<C-s>");
    chat.nvim.wait_for_screen("1 commented");
    chat.nvim.command("Acp comments share");
    let text = "# Comments\n\n## new.txt:1-2\n\n```diff\n+first\n+second\n```\n\nwhy?";
    assert_eq!(chat.nvim.buffer_text(0), text);
}

#[test]
fn a_comment_whose_window_was_left_for_the_list_is_gone_on_with_and_done_in_normal_mode() {
    let mut chat = opened();
    write(&mut chat.nvim, "2Acp comment", "why?<Esc><C-s>");
    assert_eq!(listed(&mut chat.nvim), "a.txt|2| why?");
    for _ in 0..2 {
        chat.nvim.command("wincmd t | 2");
        chat.nvim.command("Acp comment");
        chat.nvim.wait_for_screen("Comment on a.txt:2");
        let count = "return #vim.tbl_filter(function(win)
            return vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-comment'
          end, vim.api.nvim_list_wins())";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(count, []) == 1.into(), "one window");
        assert_eq!(chat.nvim.exec_lua("return vim.bo.filetype", []), "acp-comment".into());
        assert_eq!(listed(&mut chat.nvim), "a.txt|2| why?");
    }
}

#[test]
fn a_comment_is_typed_on_at_its_end_however_often_its_window_opens() {
    let mut chat = opened();
    write(&mut chat.nvim, "2Acp comment", "why these?<CR>both<C-s>");
    for more in [" of", " them"] {
        chat.nvim.command("2");
        write(&mut chat.nvim, "Acp comment", &format!("{more}<C-s>"));
        chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode in the file");
    }
    chat.nvim.command("2 | Acp comment");
    chat.nvim.wait_for_screen("both of them");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "insert mode");
    assert_eq!(chat.nvim.buffer_text(0), "why these?\nboth of them");
}

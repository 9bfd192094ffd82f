//! Judging what agents changed: hunks in files after the fact, kept and undone by keys, reviewed,
//! commented, restored; in a real Neovim, against scripted agents.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};
use support::Nvim;
use support::script::{Scripted, answered, ends, permission, prompt, says, steps, update, writes};

/// A file `a.txt` of five lines in which an agent has changed the second and added one at the end.
fn written() -> Scripted {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\nTWO\nthree\nfour\nfive\nsix\n"));
    all.extend([says("Changed."), ends("end_turn"), prompt(), says("Heard."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\nfour\nfive\n")], steps(all));
    chat.change_beside("a.txt");
    chat.nvim.wait_for_screen("- two");
    chat
}

/// An agent has written `a.txt`, which held something else before, or was not there. No window shows it.
fn agent_wrote(before: Option<&str>, after: &str) -> Scripted {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", after));
    all.extend([says("Changed."), ends("end_turn")]);
    let files: Vec<(&str, &str)> = before.map(|text| ("a.txt", text)).into_iter().collect();
    let mut chat = Scripted::new(&files, steps(all));
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat
}

/// An agent that makes `a.txt` in its first turn, and changes it in the second one.
fn writes_twice() -> Scripted {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\ntwo\n"));
    all.extend([says("First."), ends("end_turn"), prompt()]);
    all.extend(writes("a.txt", "one\nTWO\nthree\n"));
    all.extend([says("Second."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps(all));
    chat.chat();
    chat
}

#[test]
fn a_hunk_is_undone_by_a_command_in_one_step_and_comes_back_with_u() {
    let mut chat = written();
    assert!(chat.nvim.groups_of("TWO").contains(&"DiffAdd".to_owned()));
    chat.nvim.input("gg]c");
    chat.nvim.command("Acp undo");
    assert_eq!(chat.nvim.buffer_text(0), "one\ntwo\nthree\nfour\nfive\nsix");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunk to go");
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\nthree\nfour\nfive\nsix\n", "it is saved as it was");
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("- two");
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nthree\nfour\nfive\nsix");
    chat.nvim.input("<C-r>");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunk to go again");
}

/// The rows of hunks' signs, and what stands above lines.
fn marks(nvim: &mut Nvim) -> String {
    let code = "local ns, found = vim.api.nvim_get_namespaces()['acp.review'], {}
        for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
          local sign = mark[4].sign_text and vim.trim(mark[4].sign_text)
          if sign or mark[4].virt_lines then
            found[#found + 1] = mark[2] + 1 .. (sign or '') .. ('^'):rep(#(mark[4].virt_lines or {}))
          end
        end
        return table.concat(found, ' ')";
    nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

#[test]
fn lines_that_are_kept_lose_their_signs_and_stay_kept_when_the_rest_is_undone_and_back() {
    let mut chat = agent_wrote(None, "one\ntwo\nthree\nfour\n");
    let nvim = &mut chat.nvim;
    nvim.command("wincmd h | edit a.txt");
    for (command, left) in [
        ("1Acp keep", "2+ 3+ 4+"),
        ("4Acp undo", "2+ 3+"),
        ("2Acp keep", "3+"),
        // Neovim's own undo brings the line back; what was kept is decided.
        ("undo", "3+ 4+"),
        ("redo", "3+"),
        ("undo", "3+ 4+"),
    ] {
        nvim.command(command);
        nvim.wait_until(|nvim| marks(nvim) == left, &format!("{left:?} after {command}"));
    }
}

#[test]
fn of_blank_lines_that_are_alike_the_one_that_is_kept_loses_its_sign() {
    for (text, command, before, left) in [
        ("one\n\n\ntwo\nthree\n", "2Acp keep", "2+ 3+", "3+"),
        ("one\n\n\ntwo\nthree\n", "3Acp keep", "2+ 3+", "2+"),
        ("one\n\ntwo\n\nthree\n", "2Acp keep", "2+ 4+", "4+"),
        ("one\n\ntwo\n\nthree\n", "4Acp keep", "2+ 4+", "2+"),
    ] {
        let mut chat = agent_wrote(Some("one\ntwo\nthree\n"), text);
        let nvim = &mut chat.nvim;
        nvim.command("wincmd h | edit a.txt");
        nvim.wait_until(|nvim| marks(nvim) == before, &format!("{before:?} of {text:?}"));
        nvim.command(command);
        nvim.wait_until(|nvim| marks(nvim) == left, &format!("{left:?} after {command} in {text:?}"));
        nvim.command("Acp undo last");
        nvim.wait_until(|nvim| marks(nvim) == before, &format!("{before:?} again in {text:?}"));
    }
}

#[test]
fn a_hunk_that_any_edit_took_away_is_marked_again_when_that_is_undone() {
    let mut chat = written();
    let nvim = &mut chat.nvim;
    let before = "2+ 2^ 6+";
    nvim.wait_until(|nvim| marks(nvim) == before, "the hunks");
    // As gitsigns resets a hunk; as a formatter, a user and a whole other text do.
    for (edit, left) in [
        ("lua vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'two' })", "6+"),
        ("lua vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'one', 'two', 'three', 'four', 'five' })", ""),
        ("2delete", "2~^ 5+"),
        ("%delete", ""),
        ("2substitute/TWO/two/ | 6delete", ""),
        ("silent %!sed s/TWO/two/", "6+"),
    ] {
        for jumps in [false, true] {
            let number = |nvim: &mut Nvim| format!("undo {}", nvim.exec_lua("return vim.fn.changenr()", []));
            let from = number(nvim);
            nvim.command(edit);
            if edit != "%delete" {
                nvim.wait_until(|nvim| marks(nvim) == left, &format!("{left:?} after {edit}"));
            }
            // As `:earlier` and `:later` do, which may come from another branch of the undo tree.
            let (back, again) = if jumps { (from, number(nvim)) } else { ("undo".into(), "redo".into()) };
            for (command, wanted) in [(&back, before), (&again, left), (&back, before)] {
                nvim.command(command);
                if edit != "%delete" || wanted == before {
                    nvim.wait_until(
                        |nvim| marks(nvim) == wanted,
                        &format!("{wanted:?} after {edit}, {command}"),
                    );
                }
            }
            // Too quickly for anything to be drawn in between.
            nvim.command(&format!("{again} | {back}"));
            nvim.wait_until(
                |nvim| marks(nvim) == before,
                &format!("{before:?} after {edit}, {again}, {back}"),
            );
        }
    }
    // What is decided meanwhile stays so.
    nvim.command("lua vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'two' })");
    nvim.command("Acp keep file");
    nvim.wait_until(|nvim| marks(nvim).is_empty(), "the last hunk to be kept");
    nvim.command("undo");
    nvim.wait_until(|nvim| marks(nvim) == "2+ 2^", "the one that was not decided");
}

#[test]
fn a_hunk_is_kept_and_the_keys_go_on_to_the_next() {
    let mut chat = written();
    chat.nvim.input("gg]c");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('.')", []), 2.into());
    chat.nvim.command("Acp keep");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunk to go");
    chat.nvim.input("]c");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('.')", []), 6.into());
    chat.nvim.command("Acp undo file");
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nthree\nfour\nfive");
    chat.nvim.input(":Acp undo<CR>");
    chat.nvim.wait_for_screen("no agent has changed anything here");
}

#[test]
fn what_the_user_types_is_no_hunk_and_survives_the_undoing() {
    let mut chat = written();
    chat.nvim.input("ggOmine<Esc>Gomine, too<Esc>3GA!<Esc>");
    chat.nvim.input(":Acp undo 1<CR>");
    chat.nvim.wait_for_screen("keep and undo take hunk, file");
    chat.nvim.input("5GAby me<Esc>");
    assert_eq!(chat.nvim.buffer_text(0), "mine\none\nTWO!\nthree\nfourby me\nfive\nsix\nmine, too");
    chat.nvim.exec_lua(
        "vim.ui.select = function(items, options, answer) _G.asked = { options.prompt, items }; answer(items[2], 2) end",
        [],
    );
    chat.nvim.command("Acp undo file");
    assert_eq!(
        chat.nvim.exec_lua("return _G.asked[1]", []).as_str(),
        Some("You have changed 1 of these 2 hunks, too")
    );
    assert_eq!(chat.nvim.buffer_text(0), "mine\none\nTWO!\nthree\nfourby me\nfive\nmine, too");
    assert_eq!(
        chat.project.read("a.txt"),
        "one\nTWO\nthree\nfour\nfive\nsix\n",
        "unsaved edits stay unsaved"
    );
}

#[test]
fn who_closes_a_page_is_where_they_came_from() {
    let mut chat = written();
    chat.nvim.exec_lua("vim.cmd.wincmd('b')", []);
    let window = "return vim.fn.win_getid()";
    let prompt = chat.nvim.exec_lua(window, []);
    let file = chat.nvim.exec_lua("return vim.fn.win_getid(1)", []);
    let review = ("Acp review", "Review: 1 file \u{b7} 2 hunks");
    let inspect = ("Acp inspect", "session/prompt");
    let help = Some(("g?", "q"));
    for ((command, shown), over, close, back) in [
        (review, None, "q", &prompt),
        (review, None, ":q<CR>", &prompt),
        (review, None, "<C-w>c", &prompt),
        // What floats over it, or was opened from it, is nothing that the user came from.
        (review, help, "q", &prompt),
        (review, help, "<C-w>c", &prompt),
        (review, Some(("]cgc", "<Esc><Esc>")), "q", &prompt),
        (inspect, help, "q", &prompt),
        (inspect, Some(("G<CR>", "q")), "q", &prompt),
        // The last window that they were in of their own accord.
        (review, Some(("<C-w>t", "<C-w>b")), "q", &file),
    ] {
        let case = format!("{command} {over:?} {close}");
        chat.nvim.exec_lua("vim.api.nvim_set_current_win(...)", [prompt.clone()]);
        chat.nvim.command(command);
        chat.nvim.wait_for_screen(shown);
        let page = chat.nvim.exec_lua(window, []);
        assert_ne!(page, prompt, "{case}");
        if let Some((open, away)) = over {
            chat.nvim.input(open);
            chat.nvim
                .wait_until(|nvim| nvim.exec_lua(window, []) != page, &format!("another window: {case}"));
            chat.nvim.input(away);
            chat.nvim
                .wait_until(|nvim| nvim.exec_lua(window, []) == page, &format!("the page again: {case}"));
        }
        chat.nvim.input(close);
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua(window, []) == *back,
            &format!("the window from before: {case}"),
        );
    }
}

#[test]
fn a_page_that_is_opened_while_one_types_is_in_normal_mode() {
    let mut chat = written();
    chat.nvim.exec_lua("vim.cmd.wincmd('b')", []);
    let window = "return vim.fn.win_getid()";
    let before = chat.nvim.exec_lua(window, []);
    chat.nvim.input("i<C-o>:Acp review<CR>");
    chat.nvim.wait_for_screen("Review: 1 file \u{b7} 2 hunks");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(window, []) == before, "the window from before");
}

#[test]
fn all_changes_are_reviewed_in_one_buffer_and_comments_go_to_the_agent() {
    let mut chat = written();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("Review: 1 file · 2 hunks");
    let screen = chat.nvim.screen();
    let from = screen.find("Review:").expect("on the screen");
    insta::assert_snapshot!(screen[from..].trim_end(), @r"
    Review: 1 file · 2 hunks
    ga keep · gx undo · u take back · gc comment · gs send · <CR> go · g? keys

    a.txt  2 hunks · +2 -1
      @@ 2  Fake: write
      - two
      + TWO
      @@ 6
      + six
    ~
    ~
    ~
    ~
    ~
    ~
    ~
    ~
    ~
    acp://review
    ");
    assert!(chat.nvim.groups_of("- two").contains(&"AcpDiffDeleteSign".to_owned()));
    chat.nvim.input("]cgc");
    chat.nvim.wait_for_screen("Comment on a.txt:6");
    chat.nvim.input("not six, seven<C-s>");
    chat.nvim.wait_for_screen("✎ not six, seven");
    chat.nvim.input("[cga");
    chat.nvim.wait_for_screen("Review: 1 file · 1 hunk · 1 kept · 1 commented");
    chat.nvim.input("gs");
    chat.wait_for("Heard.");
    let prompt = chat.got("session/prompt")["params"]["prompt"][0]["text"].to_string();
    assert_eq!(prompt, r#""My comments on your changes:\n\na.txt:6\n```diff\n+six\n```\nnot six, seven""#);
    chat.nvim.input("gX");
    chat.nvim.wait_for_screen("Nothing is left to decide");
    assert_eq!(chat.project.read("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    chat.nvim.input("q");
    chat.nvim.input(":Acp review<CR>");
    chat.nvim.wait_for_screen("nothing is left to decide");
}

#[test]
fn after_a_decision_the_cursor_is_on_the_next_hunk() {
    let old: String = (1..=60).map(|number| format!("line {number}\n")).collect();
    let changed = |rows: &[u32]| {
        let line = |number: u32| match rows.contains(&number) {
            // Alike, as those of a search and replace are.
            true => "same\nnew\n".to_owned(),
            false => format!("line {number}\n"),
        };
        (1..=60).map(line).collect::<String>()
    };
    let mut all = vec![prompt()];
    for (name, rows) in [("a.txt", &[5, 20, 40][..]), ("b.txt", &[10, 30]), ("c.txt", &[50])] {
        all.extend(writes(name, &changed(rows)));
    }
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", &old), ("b.txt", &old), ("c.txt", &old)], steps(all));
    chat.chat();
    chat.send("go");
    chat.wait_for("Changed.");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("Review: 3 files · 6 hunks");
    // What the cursor is on, what is typed there, and the lines where it is then: from the head of the next hunk.
    let all = [
        ("- line 20", "gx", "5 hunks", "- line 40"),
        ("- line 40", "gx", "4 hunks", "- line 10"),
        ("b.txt", "ga", "2 hunks", "- line 50"),
        ("- line 50", "ga", "1 hunk ", "- line 5"),
    ];
    for (on, keys, left, then) in all {
        chat.nvim.exec_lua("vim.fn.search((...), 'w')", [on.into()]);
        chat.nvim.input(keys);
        chat.nvim.wait_for_screen(left);
        let here = "local row = vim.fn.line('.') return table.concat(vim.fn.getline(row, row + 2), '\\n')";
        let here = chat.nvim.exec_lua(here, []);
        let here = here.as_str().expect("lines").to_owned();
        assert!(
            here.contains(then) && here.trim_start().starts_with("@"),
            "{on} {keys}: {here}\n{}",
            chat.nvim.screen()
        );
    }
}

#[test]
fn what_is_made_of_added_lines_in_the_review_is_written_into_the_file_in_one_step() {
    let mut chat = written();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ TWO");
    chat.nvim.command("call search('TWO')");
    chat.nvim.input("IMY <Esc>omore<Esc>");
    chat.nvim.wait_for_screen("  + more");
    // Whoever edits decides nothing by accident.
    chat.nvim.input("gx");
    chat.nvim.wait_for_screen("write the review first: :w applies its edits");
    chat.nvim.command("call search('six') | normal! dd");
    chat.nvim.command("write");
    chat.nvim.wait_for_screen("(with your edits)");
    assert_eq!(chat.project.read("a.txt"), "one\nMY TWO\nmore\nthree\nfour\nfive\n");
    assert_eq!(chat.nvim.exec_lua("return vim.bo.modified", []), false.into());
    chat.nvim.command("wincmd k");
    chat.nvim.input("u");
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nthree\nfour\nfive\nsix", "one step of undo");
}

#[test]
fn on_a_small_screen_the_review_leaves_the_chat_enough_to_be_read() {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\nTWO\nthree\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::sized(&[("a.txt", "one\ntwo\nthree\n")], steps(all), 80, 24);
    chat.change_beside("a.txt");
    chat.nvim.wait_for_screen("- two");
    let heights = |nvim: &mut Nvim| {
        let code = "local chat = require('acp').status().sessions[1]
            local wins = { vim.fn.bufwinid(chat.buffer), vim.fn.bufwinid(chat.prompt), 0 }
            return vim.tbl_map(vim.api.nvim_win_get_height, wins)";
        let found = nvim.exec_lua(code, []);
        [0, 1, 2].map(|at: usize| found[at].as_u64().unwrap_or_default())
    };
    let before = heights(&mut chat.nvim);
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ TWO");
    let [transcript, prompt, review] = heights(&mut chat.nvim);
    assert!(transcript >= 5 && prompt >= 2 && review >= 11, "{}", chat.nvim.screen());
    chat.nvim.wait_for_screen(" Changed.");
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| heights(nvim)[..2] == before[..2], "the chat's heights as before");
}

#[test]
fn an_edited_review_is_refused_where_the_file_has_changed_or_the_lines_tell_nothing() {
    let mut chat = written();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ TWO");
    chat.nvim.command("call search('- two') | normal! A!");
    chat.nvim.input(":w<CR>");
    chat.nvim.wait_for_screen("couldn't write: what is removed can't be changed (line 6)");
    chat.nvim.input("u");
    chat.nvim.command("call search('TWO') | normal! A!");
    let file = chat.nvim.exec_lua("return vim.fn.bufnr('a.txt')", []).as_u64().expect("a buffer");
    chat.nvim.exec_lua("vim.api.nvim_buf_set_lines(..., 1, 2, true, { 'TWO, mine' })", [file.into()]);
    chat.nvim.input(":w<CR>");
    chat.nvim.wait_for_screen("couldn't write: a.txt:2 has changed since; :edit! reloads it");
    assert_eq!(chat.nvim.buffer_text(file), "one\nTWO, mine\nthree\nfour\nfive\nsix");
    chat.nvim.command("edit!");
    chat.nvim.wait_for_screen("+ TWO, mine");
    assert_eq!(chat.nvim.exec_lua("return vim.bo.modified", []), false.into());
    chat.nvim.input("g?");
    chat.nvim.wait_for_screen("keep all");
    chat.nvim.input("g?");
    chat.nvim.wait_for_screen(" In the review (:Acp review)");
    chat.nvim.input("q");
}

#[test]
fn typing_into_a_heading_of_the_review_is_told_of_at_once_and_u_takes_it_back() {
    let mut chat = written();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ TWO");
    chat.nvim.command("call search('@@')");
    chat.nvim.input("Aoops<Esc>");
    chat.nvim.wait_for_screen("only lines with + can be changed (line 5); u takes it back");
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("oops"), "the heading as it was");
    chat.nvim.input("omore<Esc>");
    chat.nvim.wait_for_screen("line 6 belongs to no change: it has no +; u takes it back");
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("more"), "no line of its own");
    // What may be changed is written as ever.
    chat.nvim.command("call search('TWO')");
    chat.nvim.input("A!<Esc>:w<CR>");
    chat.nvim.wait_for_screen("(with your edits)");
    assert_eq!(chat.project.read("a.txt"), "one\nTWO!\nthree\nfour\nfive\nsix\n");
}

#[test]
fn a_file_without_a_buffer_is_changed_from_the_review() {
    let mut all = vec![prompt()];
    all.extend(writes("b.txt", "one\nTWO\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("b.txt", "one\ntwo\n")], steps(all));
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ TWO");
    chat.nvim.command("call search('TWO') | normal! A!");
    chat.nvim.command("write");
    assert_eq!(chat.project.read("b.txt"), "one\nTWO!\n");
}

#[test]
fn the_changes_are_listed_in_the_quickfix_list() {
    let mut chat = written();
    chat.nvim.command("Acp! review");
    chat.nvim.wait_for_screen("a.txt|6");
    chat.nvim.input("<CR>");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('.')", []), 2.into());
}

#[test]
fn a_file_that_no_buffer_holds_is_put_back_on_the_disk_unless_it_has_changed_since() {
    let mut all = vec![prompt()];
    all.extend(writes("b.txt", "one\nTWO\n"));
    all.extend(writes("deep/new.txt", "fresh\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("b.txt", "one\ntwo\n")], steps(all));
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.project.write("b.txt", "one\nTWO\nmine\n");
    chat.nvim.input(":Acp undo! all<CR>");
    chat.nvim.wait_for_screen("open it and undo it there");
    assert_eq!(chat.project.read("b.txt"), "one\nTWO\nmine\n");
    let new = chat.project.file("deep/new.txt");
    chat.nvim.wait_until(|_| !new.exists(), "the new file to go");
    chat.project.write("b.txt", "one\nTWO\n");
    chat.nvim.command("Acp undo! all");
    let project = &chat.project;
    chat.nvim.wait_until(|_| project.read("b.txt") == "one\ntwo\n", "the file to be put back");
}

#[test]
fn a_file_whose_text_nobody_knew_is_not_undone_into_nothing() {
    let mut all = vec![prompt()];
    all.extend(writes("latin.txt", "uber\n"));
    all.extend(writes("b.txt", "TWO\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("b.txt", "two\n")], steps(all));
    let latin = chat.project.file("latin.txt");
    std::fs::write(&latin, b"\xfcber\n").expect("a file");
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp undo! all");
    let project = &chat.project;
    chat.nvim.wait_until(|_| project.read("b.txt") == "two\n", "the other file to be put back");
    assert_eq!(project.read("latin.txt"), "uber\n");
}

#[test]
fn an_agent_that_writes_itself_is_believed_by_its_diffs_also_before_the_file_is_open() {
    let edit = |file: &str, old: &str, new: &str| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": file, "title": format!("Edit {file}"),
            "kind": "edit", "status": "completed", "content": [
                { "type": "diff", "path": format!("$PROJECT/{file}"), "oldText": old, "newText": new },
            ] }))
    };
    let mut chat = Scripted::new(
        &[("a.txt", "one\nTWO\n"), ("b.txt", "uno\nDUE\ntre\n")],
        steps([
            prompt(),
            edit("a.txt", "two", "TWO"),
            edit("b.txt", "due", "DUE"),
            says("Changed."),
            ends("end_turn"),
        ]),
    );
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.wait_for_screen("- two");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h | edit b.txt");
    chat.nvim.wait_for_screen("- due");
    chat.nvim.input("]c");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('.')", []), 2.into());
    chat.nvim.command("Acp undo");
    assert_eq!(chat.project.read("b.txt"), "uno\ndue\ntre\n");
}

#[test]
fn many_files_that_nobody_opened_are_reviewed_without_being_opened() {
    let text = |word: &str| format!("one\r\n{word}\r\nthree\r\n");
    let names: Vec<String> = (0..150).map(|number| format!("f{number:03}.txt")).collect();
    let new = text("TWO");
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), new.as_str())).collect();
    let edits = names.iter().map(|name| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": name, "title": format!("Edit {name}"),
            "kind": "edit", "status": "completed", "content": [
                { "type": "diff", "path": format!("$PROJECT/{name}"), "oldText": "two", "newText": "TWO" },
            ] }))
    });
    let parts = [prompt()].into_iter().chain(edits).chain([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&files, steps(parts));
    chat.chat();
    chat.send("Change all");
    chat.wait_for("Done");
    chat.nvim.command("stopinsert");
    let buffers = "return #vim.api.nvim_list_bufs()";
    let before = chat.nvim.exec_lua(buffers, []).as_u64().expect("a number");
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("Review: 150 files · 150 hunks");
    chat.nvim.wait_for_screen("- two");
    assert_eq!(chat.nvim.exec_lua(buffers, []).as_u64(), Some(before + 1), "the review alone");
    chat.nvim.input("gx");
    chat.nvim.wait_for_screen("Review: 149 files");
    let project = &chat.project;
    chat.nvim.wait_until(|_| project.read("f000.txt") == text("two"), "the first file to be put back");
    chat.nvim.input("]c<CR>");
    let place = "return ('%s:%d'):format(vim.fn.expand('%:t'), vim.fn.line('.'))";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(place, []) == "f002.txt:2".into(), "the place in the file");
    chat.nvim.wait_for_screen("- two");
}

/// The lines of the review's window that are on the screen.
fn shown_in_review(nvim: &mut Nvim) -> Vec<String> {
    let screen = nvim.screen();
    let from = screen.find("Review:").expect("a review on the screen");
    let lines = screen[from..].lines().skip(3).map(|line| line.trim_end().to_owned());
    lines.take_while(|line| line != "~" && line != "acp://review").collect()
}

#[test]
fn files_are_folds_of_the_review_that_stay_as_the_user_has_left_them() {
    let edit = |name: &str| {
        let diff =
            json!({ "type": "diff", "path": format!("$PROJECT/{name}"), "oldText": "two", "newText": "TWO" });
        let more =
            json!({ "type": "diff", "path": format!("$PROJECT/{name}"), "oldText": "nine", "newText": "9" });
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": name, "title": format!("Edit {name}"),
            "kind": "edit", "status": "completed", "content": [diff, more] }))
    };
    let text = "one\nTWO\n3\n4\n5\n6\n7\n8\n9\nten\n";
    let names = ["a.txt", "b.txt", "c.txt", "d.txt"];
    let parts = [prompt()].into_iter().chain(names.map(edit)).chain([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&names.map(|name| (name, text)), steps(parts));
    chat.chat();
    chat.send("Change all");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("Review: 4 files · 8 hunks");
    assert!(shown_in_review(&mut chat.nvim).contains(&"  + TWO".to_owned()), "open at first");
    chat.nvim.input("zM");
    let closed = |count: usize| format!("{count} hunks · +{count} -{count}");
    let all = names.map(|name| format!("{name}  {}", closed(2)));
    chat.nvim.wait_until(|nvim| shown_in_review(nvim) == all, "one line a file");
    // A closed fold is one place, and what is decided there is decided about all of it.
    let here = "return vim.fn.getline(vim.fn.foldclosed('.'))";
    for (keys, name) in [("gg]c", "a.txt"), ("]c", "b.txt"), ("]c]c", "d.txt"), ("[c", "c.txt")] {
        chat.nvim.input(keys);
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua(here, []).as_str().is_some_and(|line| line.starts_with(name)),
            name,
        );
    }
    chat.nvim.input("ga");
    chat.nvim.wait_for_screen("Review: 3 files · 6 hunks · 2 kept");
    let left = [&all[0], &all[1], &all[3]].map(String::clone);
    assert_eq!(shown_in_review(&mut chat.nvim), left, "what was closed stays closed");
    // One that is open stays open, too, and so does a hunk that is closed.
    chat.nvim.input("[czo");
    let hunk = |row: usize| format!("  @@ {row}");
    let first = format!("{}  Fake: Edit b.txt · +1 -1", hunk(2));
    let open =
        [all[0].clone(), all[1].clone(), first.clone(), format!("{} · +1 -1", hunk(9)), all[3].clone()];
    chat.nvim.wait_until(|nvim| shown_in_review(nvim) == open, "one file with closed hunks");
    chat.nvim.input("]cga");
    chat.nvim.wait_for_screen("Review: 3 files · 5 hunks · 3 kept");
    let second = format!("{}  Fake: Edit b.txt · +1 -1", hunk(9));
    let open = [all[0].clone(), format!("b.txt  {}", "1 hunk · +1 -1"), second, all[3].clone()];
    assert_eq!(shown_in_review(&mut chat.nvim), open);
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("Review: 3 files · 6 hunks");
    assert_eq!(shown_in_review(&mut chat.nvim).first(), Some(&all[0]));
    chat.nvim.input("gg]cgx");
    chat.nvim.wait_for_screen("Review: 2 files");
    let project = &chat.project;
    let undone = text.replace("TWO", "two").replace("9", "nine");
    chat.nvim.wait_until(|_| project.read("a.txt") == undone, "all of the first file to be undone");
    chat.nvim.input("G<CR>");
    let place = "return vim.fn.expand('%:t')";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(place, []) == "d.txt".into(), "the file of the fold");
}

#[test]
fn what_agents_did_to_files_that_nobody_opened_is_reviewed_and_undone_too() {
    let edit = |call: &str, file: &str, old: Value, new: &str| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": call, "title": format!("Edit {file}"),
            "kind": "edit", "status": "completed", "content": [
                { "type": "diff", "path": format!("$PROJECT/{file}"), "oldText": old, "newText": new },
            ] }))
    };
    let mut chat = Scripted::new(
        &[("b.txt", "uno\nDUE\ntre\n"), ("c.txt", "fresh\n")],
        steps([
            prompt(),
            edit("1", "b.txt", json!("due"), "DUE"),
            edit("2", "gone.txt", json!("old\n"), ""),
            says("Changed."),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("Review: 2 files · 2 hunks");
    let screen = chat.nvim.screen();
    for part in ["- due", "+ DUE", "gone.txt  1 hunk · +0 -1 · deleted", "- old"] {
        assert!(screen.contains(part), "{part:?} is missing in\n{screen}");
    }
    chat.nvim.exec_lua("vim.ui.select = function(items, _, answer) answer(items[1], 1) end", []);
    chat.nvim.input("gX");
    chat.nvim.wait_for_screen("Nothing is left to decide");
    let project = &chat.project;
    chat.nvim.wait_until(|_| project.read("b.txt") == "uno\ndue\ntre\n", "the file to be put back");
    let gone = chat.project.file("gone.txt");
    chat.nvim.wait_until(|_| gone.exists(), "the deleted file to come back");
    assert_eq!(chat.project.read("gone.txt"), "old\n");
}

#[test]
fn what_was_undone_is_told_to_the_agent_with_the_next_prompt() {
    let mut chat = written();
    chat.nvim.input("gg]c");
    chat.nvim.command("Acp undo");
    chat.nvim.command("Acp send Go on");
    chat.wait_for("I undid these changes of yours");
    chat.wait_for("Heard.");
    let prompt = chat.got("session/prompt")["params"]["prompt"].clone();
    assert_eq!(prompt[0]["text"], "Go on");
    assert_eq!(prompt[1]["text"], "\n\nI undid these changes of yours:\n- a.txt:2 (+1 -1): TWO");
}

#[test]
fn what_was_undone_and_is_there_again_is_not_told() {
    for back in ["normal! u", "Acp undo last", "normal! u | Acp keep", "Acp undo last | Acp keep"] {
        let mut chat = written();
        chat.nvim.input("gg]c");
        chat.nvim.command("Acp undo");
        back.split(" | ").for_each(|command| chat.nvim.command(command));
        chat.nvim.command("Acp send Go on");
        chat.wait_for("Heard.");
        let prompt = chat.got("session/prompt")["params"]["prompt"].clone();
        assert!(!prompt.to_string().contains("I undid"), "{back}: {prompt}");
    }
}

#[test]
fn a_line_tells_who_wrote_it_and_what_for_wherever_it_has_moved() {
    let mut chat = written();
    chat.nvim.input("ggOmine<Esc>3G");
    chat.nvim.command("Acp blame");
    chat.nvim.wait_for_screen("asked: Change it");
    assert!(chat.nvim.screen().contains("Fake · turn 1"), "{}", chat.nvim.screen());
    chat.nvim.input("1G:Acp blame<CR>");
    chat.nvim.wait_for_screen("no agent wrote this line, as far as is recorded");
}

#[test]
fn who_wrote_a_line_of_several_rows_is_told_below_all_of_them() {
    let line = format!("begins {} ends", "here goes on ".repeat(20));
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", &format!("one\n{line}\nthree\n")));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::sized(&[("a.txt", "one\ntwo\nthree\n")], steps(all), 80, 24);
    chat.change_beside("a.txt");
    chat.nvim.input("2G0:Acp blame<CR>");
    chat.nvim.wait_for_screen("asked: Change it");
    let screen = chat.nvim.screen();
    let row = |text: &str| screen.lines().position(|row| row.contains(text));
    assert!(row("ends").is_some() && row("Fake · turn 1") > row("ends"), "{screen}");
}

#[test]
fn changes_that_are_to_stay_until_the_next_prompt_are_kept_then() {
    let mut chat = written();
    chat.nvim.exec_lua("require('acp').setup({ diff = { stay = 'prompt' } })", []);
    chat.nvim.command("Acp send Go on");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the marks to go");
}

#[test]
fn five_hundred_hunks_in_a_large_file_are_compared_in_the_background_and_drawn_in_slices() {
    let text = |word: &str| -> String {
        let line =
            |n: usize| if n.is_multiple_of(100) { format!("{word} {n}\n") } else { format!("line {n}\n") };
        (0..50_000).map(line).collect()
    };
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", &text("new")));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", &text("old"))], steps(all));
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.wait_for_screen("- old 0");
    let marks = "return #vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('a.txt'),
        vim.api.nvim_create_namespace('acp.review'), 0, -1, {})";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(marks, []).as_u64() >= Some(1000), "all hunks to be drawn");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h");
    chat.nvim.input("Gggomine<Esc>[c");
    chat.nvim.command("Acp undo! all");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(marks, []).as_u64() == Some(0), "all to be undone");
    assert_eq!(chat.nvim.buffer_text(0), text("old").replacen("old 0\n", "old 0\nmine\n", 1).trim_end());
}

#[test]
fn a_large_file_that_is_written_again_and_again_has_the_agents_hunks_alone() {
    let text = |word: &str| -> String {
        let line =
            |n: usize| if n.is_multiple_of(20) { format!("{word} {n}\n") } else { format!("line {n}\n") };
        (0..20_000).map(line).collect()
    };
    let mut all = Vec::new();
    for (word, said) in [("new", "First."), ("newer", "Second."), ("newest", "Third.")] {
        all.push(prompt());
        all.extend(writes("a.txt", &text(word)));
        all.extend([says(said), ends("end_turn")]);
    }
    let mut chat = Scripted::new(&[("a.txt", &text("old"))], steps(all));
    chat.nvim.command("edit a.txt");
    let buf = chat.nvim.exec_lua("return vim.api.nvim_get_current_buf()", []);
    chat.chat();
    for said in ["First.", "Second.", "Third."] {
        chat.send("Change it");
        chat.wait_for(said);
        // While the texts are compared.
        let typed = "local buf, said = ...
                     vim.api.nvim_buf_set_lines(buf, -1, -1, true, { 'mine after ' .. said })";
        chat.nvim.exec_lua(typed, [buf.clone(), said.into()]);
    }
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h");
    chat.nvim.wait_for_screen("- old 0");
    chat.nvim.command("Acp undo! all");
    let mine = "mine after First.\nmine after Second.\nmine after Third.";
    let text = text("old") + mine;
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0) == text, "all to be undone but what the user typed");
}

#[test]
fn some_lines_of_a_hunk_are_kept_and_others_undone_by_a_range() {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\nTWO\nTHREE\nFOUR\nfive\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\nfour\nfive\n")], steps(all));
    chat.change_beside("a.txt");
    chat.nvim.wait_for_screen("- three");
    chat.nvim.input("2GV:Acp keep<CR>");
    let is_part = |screen: &str| !screen.contains("- two") && screen.contains("- three");
    chat.nvim.wait_until(|nvim| is_part(&nvim.screen()), "the part to go, and the rest to stay");
    chat.nvim.command("4,4Acp undo");
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nTHREE\nfour\nfive");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- four"), "the part to go");
    chat.nvim.command("Acp undo file");
    assert_eq!(chat.project.read("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
}

#[test]
fn each_line_of_a_new_file_is_marked_once_whatever_is_typed_in_it() {
    marks_each_line_once(None, 600);
}

/// So many marks are not removed at once.
#[test]
fn each_line_of_a_long_file_that_was_empty_is_marked_once_whatever_is_typed_in_it() {
    marks_each_line_once(Some(""), 1500);
}

#[test]
fn the_lines_that_a_long_hunk_replaced_stay_in_view_when_its_first_line_is_typed_in() {
    let text = |word: &str, lines: usize| (0..lines).map(|at| format!("{word} {at}\n")).collect::<String>();
    let mut chat = agent_wrote(Some(&text("old", 150)), &text("new", 400));
    chat.nvim.command("wincmd h | edit a.txt");
    chat.nvim.wait_for_screen("old 149");
    for keys in ["ggAx<Esc>", "AxX<Esc>", "jAy<Esc>", "AyY<Esc>"] {
        chat.nvim.input(keys);
        let shown = "local ns, count = vim.api.nvim_get_namespaces()['acp.review'], 0
            for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
              count = count + (mark[4].virt_lines and 1 or 0)
            end
            return count";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(shown, []).as_u64() == Some(1), keys);
        chat.nvim.wait_for_screen("old 149");
    }
}

fn marks_each_line_once(before: Option<&str>, lines: usize) {
    let mut chat = agent_wrote(before, &(0..lines).map(|line| format!("line {line}\n")).collect::<String>());
    chat.nvim.command("wincmd h | edit a.txt");
    let unmarked = "local ns = vim.api.nvim_get_namespaces()['acp.review']
        local count = {}
        for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
          if mark[4].sign_text then
            count[mark[2]] = (count[mark[2]] or '') .. mark[4].sign_text
          end
        end
        local signs, wrong = {}, {}
        for row = 0, vim.api.nvim_buf_line_count(0) - 1 do
          signs[count[row] or 'none'] = true
          if count[row] == nil or #count[row] ~= 2 then
            wrong[#wrong + 1] = row .. ' ' .. (count[row] or 'none')
          end
        end
        return #wrong == 0 and #vim.tbl_keys(signs) == 1 and 'all' or vim.inspect(wrong)";
    let wait = |chat: &mut Scripted, what: &str| {
        let is_marked = |nvim: &mut support::Nvim| nvim.exec_lua(unmarked, []).as_str() == Some("all");
        chat.nvim.wait_until(is_marked, what);
    };
    wait(&mut chat, "all lines to be marked");
    let first = "return vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['acp.review'], 0, 0, {})[1][1]";
    chat.nvim.input("300Gonew<Esc>");
    wait(&mut chat, "all lines to be marked as those of both");
    let mark = chat.nvim.exec_lua(first, []);
    chat.nvim.input("amore<Esc>");
    wait(&mut chat, "the line to be marked again");
    assert_eq!(chat.nvim.exec_lua(first, []), mark, "other lines are not marked anew");
    for keys in
        ["300Gomine<Esc>", "aX<Esc>", "oand more<Esc>", "kdd", "3dd", "p", "u", "ggdd", "Gdd", "250GdGu"]
    {
        chat.nvim.input(keys);
        wait(&mut chat, &format!("all lines to be marked after {keys}"));
    }
}

#[test]
fn a_page_that_has_become_short_is_seen_from_its_beginning() {
    let mut chat = agent_wrote(None, &"a line\n".repeat(100));
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ a line");
    chat.nvim.input("G");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("Review:"), "the end of the page");
    chat.nvim.input("ga");
    chat.nvim.wait_for_screen("Nothing is left to decide");
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("@@ 1");
    let row = chat.nvim.exec_lua("return vim.api.nvim_get_current_line()", []);
    assert!(row.to_string().contains("@@ 1"), "the cursor is where something came back: {row}");
}

#[test]
fn a_review_is_coloured_to_its_end_also_when_it_is_read_again() {
    let mut chat = agent_wrote(None, &"a line\n".repeat(1000));
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ a line");
    let coloured = "local ns = vim.api.nvim_get_namespaces()['acp.panel']
        return #vim.api.nvim_buf_get_extmarks(0, ns, { 4, 0 }, -1, {})";
    let is_coloured = |nvim: &mut Nvim| nvim.exec_lua(coloured, []).as_u64() >= Some(1001);
    chat.nvim.wait_until(is_coloured, "all lines to be coloured");
    chat.nvim.command("edit!");
    chat.nvim.wait_until(is_coloured, "all lines to be coloured again");
}

#[test]
fn letters_that_edit_do_that_in_the_review_and_u_takes_decisions_back() {
    let mut chat = written();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ TWO");
    chat.nvim.command("call search('TWO')");
    chat.nvim.input("$x");
    chat.nvim.wait_for_screen("  + TW");
    assert_eq!(chat.nvim.exec_lua("return vim.bo.modified", []), true.into());
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("  + TWO");
    assert_eq!(chat.nvim.exec_lua("return vim.bo.modified", []), false.into());
    chat.nvim.input("ga");
    chat.nvim.wait_for_screen("1 hunk · 1 kept");
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("  + TWO");
    assert!(!chat.nvim.screen().contains("1 kept"), "{}", chat.nvim.screen());
    chat.nvim.input("gx");
    chat.nvim.wait_for_screen("1 hunk");
    let project = &chat.project;
    chat.nvim.wait_until(|_| project.read("a.txt").starts_with("one\ntwo"), "the file to be as it was");
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("  + TWO");
    assert_eq!(chat.project.read("a.txt"), "one\nTWO\nthree\nfour\nfive\nsix\n");
    chat.nvim.command("call search('TWO') | normal! A!");
    chat.nvim.command("write");
    chat.nvim.wait_for_screen("(with your edits)");
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("TWO!"), "what was written to be taken back");
    assert_eq!(chat.project.read("a.txt"), "one\nTWO\nthree\nfour\nfive\nsix\n");
    assert!(!chat.nvim.messages().contains("Already at oldest change"));
}

#[test]
fn to_decide_about_all_is_asked_first_and_can_be_taken_back() {
    let mut chat = written();
    chat.nvim.exec_lua(
        "vim.ui.select = function(items, options, answer) _G.asked = items; answer(items[_G.choice], _G.choice) end",
        [],
    );
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ TWO");
    chat.nvim.exec_lua("_G.choice = 2", []);
    chat.nvim.input("gA");
    let asked = "return _G.asked and _G.asked[1]";
    let is_asked =
        |nvim: &mut support::Nvim| nvim.exec_lua(asked, []).as_str() == Some("Keep all 2 hunks in 1 file");
    chat.nvim.wait_until(is_asked, "the question");
    chat.nvim.wait_for_screen("1 file · 2 hunks");
    chat.nvim.exec_lua("_G.choice = 1", []);
    chat.nvim.input("gA");
    chat.nvim.wait_for_screen("Nothing is left to decide");
    chat.nvim.command("Acp undo last");
    chat.nvim.wait_for_screen("1 file · 2 hunks");
    chat.nvim.input("gA");
    chat.nvim.wait_for_screen("Nothing is left to decide");
    chat.nvim.input("q");
    chat.nvim.command("2 | Acp undo");
    assert_eq!(chat.nvim.buffer_text(0), "one\ntwo\nthree\nfour\nfive\nsix", "what was kept is undone");
}

#[test]
fn selected_lines_of_a_hunk_are_decided_in_the_review() {
    let mut chat = agent_wrote(Some("one\ntwo\nthree\nfour\n"), "one\nTWO\nTHREE\nfour\n");
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ THREE");
    chat.nvim.command("call search('+ THREE')");
    chat.nvim.input("Vga");
    chat.nvim.wait_for_screen("1 kept");
    assert!(!chat.nvim.screen().contains("+ THREE"));
    assert_eq!(chat.nvim.mode().name, "n");
    chat.nvim.command("Acp undo! all");
    let project = &chat.project;
    chat.nvim.wait_until(|_| project.read("a.txt").contains("two"), "the rest to be undone");
    assert!(project.read("a.txt").contains("THREE"));
}

#[test]
fn folders_that_were_made_for_a_file_go_with_it() {
    let mut all = vec![prompt()];
    all.extend(writes("mine/deep/new.txt", "fresh\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\n")], steps(all));
    std::fs::create_dir(chat.project.file("mine")).expect("a folder");
    chat.chat();
    chat.send("Make it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp undo! all");
    let deep = chat.project.file("mine/deep");
    chat.nvim.wait_until(|_| !deep.exists(), "the folder that was made to go");
    assert!(chat.project.file("mine").exists(), "the user's own stays");
}

/// A chat whose agent has made `a.txt`, which the user is in.
fn in_a_new_file() -> Scripted {
    let mut chat = agent_wrote(None, "fresh\n\nlines\n");
    chat.nvim.command("wincmd h");
    chat.nvim.command("edit a.txt");
    chat.nvim.wait_for_screen("+ fresh");
    chat
}

#[test]
fn a_new_file_with_the_users_unsaved_edits_is_undone_on_the_disk_too_and_comes_back() {
    let mut chat = in_a_new_file();
    let file = chat.project.file("a.txt");
    chat.nvim.listen();
    chat.nvim.input("ccmine<Esc>");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0).starts_with("mine"), "the user's line");
    for round in ["undo last", "undo last", "u"] {
        chat.nvim.exec_lua("vim.ui.select = function(items, _, done) done(items[1], 1) end", []);
        chat.nvim.command("Acp undo file");
        chat.nvim.wait_until(|_| !file.exists(), "the file to go");
        chat.nvim.wait_until(|nvim| nvim.buffer_text(0).is_empty(), "the buffer to be empty");
        chat.nvim.command("checktime");
        match round {
            "u" => chat.nvim.input("u"),
            _ => {
                chat.nvim.command("Acp undo last");
                chat.nvim.wait_until(|_| file.exists(), "the file to come back");
                assert_eq!(chat.project.read("a.txt"), "fresh\n\nlines\n", "as it was saved last");
            }
        }
        chat.nvim.wait_until(|nvim| nvim.buffer_text(0) == "mine\n\nlines", "the text with the user's edits");
        assert!(chat.nvim.exec_lua("return vim.bo.modified", []).as_bool().expect("a bool"));
    }
    let said = chat.nvim.exec_lua("return table.concat(_G.said, '\\n')", []);
    assert!(!said.as_str().expect("a text").contains("couldn't"), "{said:?}");
    // Who has a file undone need not be told that it is gone.
    assert!(!chat.transcript().contains("is gone from the disk"), "{}", chat.transcript());
    chat.nvim.command("write");
    assert_eq!(chat.project.read("a.txt"), "mine\n\nlines\n");
}

#[test]
fn what_is_kept_has_no_signs_any_more_also_where_the_file_was_read_again_before() {
    let mut chat = agent_wrote(None, "fresh\n\nlines\n");
    chat.nvim.command("wincmd h");
    chat.nvim.command("edit a.txt");
    chat.nvim.wait_until(|nvim| marks(nvim) == "1+ 2+ 3+", "all lines to be marked");
    chat.nvim.command("Acp keep file");
    chat.nvim.wait_until(|nvim| marks(nvim).is_empty(), "the marks to go");
    chat.nvim.command("Acp undo last");
    chat.nvim.wait_until(|nvim| marks(nvim) == "1+ 2+ 3+", "the marks to be back");
    chat.nvim.command("edit!");
    chat.nvim.wait_until(|nvim| marks(nvim) == "1+ 2+ 3+", "the marks to stay");
    chat.nvim.command("Acp keep file");
    chat.nvim.wait_until(|nvim| marks(nvim).is_empty(), "the marks to go again");
}

#[test]
fn a_new_file_that_is_undone_with_the_users_edits_counts_as_unsaved_however_far_u_goes() {
    let mut chat = in_a_new_file();
    let file = chat.project.file("a.txt");
    chat.nvim.input("Ax<Esc>");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0).starts_with("freshx"), "the user's edit");
    chat.nvim.exec_lua("vim.ui.select = function(items, _, done) done(items[1], 1) end", []);
    chat.nvim.command("Acp undo file");
    chat.nvim.wait_until(|_| !file.exists(), "the file to go");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0).is_empty(), "the buffer to be empty");
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0) == "freshx\n\nlines", "the text with the user's edit");
    chat.nvim.input("u");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0) == "fresh\n\nlines", "the agent's text");
    let is_modified = |nvim: &mut Nvim| nvim.exec_lua("return vim.bo.modified", []).as_bool() == Some(true);
    chat.nvim.wait_until(is_modified, "the buffer to count as unsaved");
    chat.nvim.command("write");
    assert_eq!(chat.project.read("a.txt"), "fresh\n\nlines\n");
    assert!(!is_modified(&mut chat.nvim));
}

#[test]
fn an_empty_line_of_a_new_file_stays_the_agents_when_the_user_adds_lines() {
    let mut chat = in_a_new_file();
    chat.nvim.input("Go-- mine<Esc>");
    chat.nvim.wait_until(|nvim| marks(nvim) == "1+ 2+ 3+", "all lines of the agent's to be marked");
    chat.nvim.command("Acp undo file");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0) == "-- mine", "the user's line to be left alone");
}

#[test]
fn a_new_file_that_was_undone_and_opened_again_is_written_when_the_agent_makes_it_again() {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "fresh\n"));
    all.extend([says("Changed."), ends("end_turn"), prompt()]);
    let call = json!({ "toolCallId": "c", "title": "Write a.txt", "kind": "edit", "status": "pending",
        "locations": [{ "path": "$PROJECT/a.txt" }],
        "content": [{ "type": "diff", "path": "$PROJECT/a.txt", "oldText": null, "newText": "again\n" }] });
    all.extend([permission("p", call), answered("p")]);
    all.extend(writes("a.txt", "again\n"));
    all.extend([says("Made again."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps(all));
    let file = chat.project.file("a.txt");
    chat.chat();
    chat.send("Make it");
    chat.wait_for("Changed.");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp undo turn");
    chat.nvim.wait_until(|_| !file.exists(), "the file to go");
    chat.nvim.exec_lua("vim.fn.win_execute(vim.fn.win_getid(1), 'edit a.txt')", []);
    chat.send("Once more");
    chat.wait_for("Allow this edit?");
    chat.nvim.wait_for_screen("+ again");
    chat.nvim.command("Acp allow");
    chat.wait_for("Made again.");
    assert_eq!(chat.project.read("a.txt"), "again\n");
    let text = chat.transcript();
    assert!(!text.contains("is gone from the disk") && !text.contains("had unsaved edits"), "{text}");
}

#[test]
fn a_decision_that_u_has_taken_back_is_passed_over() {
    let mut chat = written();
    let nvim = &mut chat.nvim;
    let before = "2+ 2^ 6+";
    nvim.wait_until(|nvim| marks(nvim) == before, "both hunks");
    nvim.input("6G");
    nvim.command("Acp keep");
    nvim.wait_until(|nvim| marks(nvim) == "2+ 2^", "the first hunk alone");
    nvim.input("2G");
    nvim.command("Acp undo");
    nvim.wait_until(|nvim| marks(nvim).is_empty(), "no hunk");
    nvim.input("u");
    nvim.wait_until(|nvim| marks(nvim) == "2+ 2^", "the first hunk again");
    nvim.command("Acp undo last");
    nvim.wait_until(|nvim| marks(nvim) == before, "what was kept to be marked again");
    assert!(!nvim.messages().contains("couldn't"), "{}", nvim.messages());
}

#[test]
fn a_decision_that_u_has_brought_back_is_taken_back_again_and_not_an_earlier_one() {
    let mut chat = written();
    let nvim = &mut chat.nvim;
    nvim.wait_until(|nvim| marks(nvim) == "2+ 2^ 6+", "both hunks");
    nvim.command("6 | Acp keep");
    nvim.wait_until(|nvim| marks(nvim) == "2+ 2^", "the first hunk alone");
    nvim.command("2 | Acp undo");
    nvim.wait_until(|nvim| marks(nvim).is_empty(), "no hunk");
    for _ in 0..2 {
        nvim.command("Acp undo last");
        nvim.wait_until(|nvim| marks(nvim) == "2+ 2^", "the first hunk again, and not the one that was kept");
        nvim.input("u");
        nvim.wait_until(|nvim| marks(nvim).is_empty(), "the first hunk to go again");
    }
    assert!(!nvim.messages().contains("couldn't"), "{}", nvim.messages());
}

#[test]
fn a_buffer_that_is_saved_as_another_file_leaves_its_changes_to_the_one_it_held() {
    for typed in ["", "6delete"] {
        let mut chat = written();
        chat.nvim.command("edit a.txt");
        chat.nvim.wait_until(|nvim| marks(nvim) == "2+ 2^ 6+", "both hunks");
        chat.nvim.command(typed);
        chat.nvim.command("saveas other.txt");
        chat.nvim.wait_until(|nvim| marks(nvim).is_empty(), "no marks in the other file");
        chat.nvim.command("2 | Acp undo");
        chat.nvim.wait_for_screen("no agent has changed anything here");
        assert_eq!(chat.project.read("a.txt"), "one\nTWO\nthree\nfour\nfive\nsix\n", "{typed}");
        chat.nvim.command("Acp review");
        chat.nvim.wait_for_screen("a.txt  2 hunks · +2 -1");
        chat.nvim.command("close | edit a.txt");
        chat.nvim.wait_until(|nvim| marks(nvim) == "2+ 2^ 6+", "both hunks where they are");
        chat.nvim.command("6 | Acp undo");
        let project = &chat.project;
        chat.nvim.wait_until(|_| project.read("a.txt") == "one\nTWO\nthree\nfour\nfive\n", "it to be undone");
        assert!(chat.project.read("other.txt").starts_with("one\nTWO\n"), "{typed}");
    }
}

#[test]
fn what_was_undone_beside_unsaved_edits_is_undecided_again_where_they_are_thrown_away() {
    for away in ["edit!", "bdelete! a.txt | edit a.txt"] {
        let mut chat = written();
        chat.nvim.command("edit a.txt");
        chat.nvim.wait_until(|nvim| marks(nvim) == "2+ 2^ 6+", "both hunks");
        chat.nvim.command("call setline(4, 'mine')");
        chat.nvim.command("2 | Acp undo");
        chat.nvim.wait_until(|nvim| marks(nvim) == "6+", "one hunk");
        chat.nvim.command(away);
        chat.nvim
            .wait_until(|nvim| marks(nvim) == "2+ 2^ 6+", "both hunks, as the file on the disk has them");
        chat.nvim.command("2 | Acp undo");
        let project = &chat.project;
        chat.nvim.wait_until(|_| project.read("a.txt").starts_with("one\ntwo\n"), "it to be undone");
    }
}

#[test]
fn a_hunk_is_gone_to_in_the_window_that_shows_its_file_whatever_that_is_kept_to() {
    let mut chat = written();
    chat.nvim.command("set winfixbuf");
    let file = chat.nvim.exec_lua("return vim.api.nvim_get_current_win()", []);
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("a.txt  2 hunks");
    let count = "return #vim.api.nvim_tabpage_list_wins(0)";
    let before = chat.nvim.exec_lua(count, []);
    chat.nvim.input("/+ six<CR><CR>");
    let here = "return { vim.api.nvim_get_current_win(), vim.fn.line('.') }";
    let there = vec![file, 6.into()].into();
    chat.nvim.wait_until(|nvim| nvim.exec_lua(here, []) == there, "the line in its window");
    assert_eq!(chat.nvim.exec_lua(count, []), before);
}

#[test]
fn a_narrow_review_names_whole_keys_and_the_one_that_shows_them_all() {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\nTWO\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::sized(&[("a.txt", "one\ntwo\n")], steps(all), 60, 24);
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("Review: 1 file");
    let keys = chat.nvim.buffer_text(0).lines().nth(1).unwrap_or_default().to_owned();
    assert!(keys.chars().count() <= 60 && keys.starts_with("ga keep \u{b7} "), "{keys}");
    assert!(keys.ends_with(" \u{b7} g? keys"), "{keys}");
}

#[test]
fn edits_that_went_with_their_buffer_are_not_in_the_review() {
    let mut chat = written();
    chat.nvim.command("edit a.txt");
    chat.nvim.wait_until(|nvim| marks(nvim) == "2+ 2^ 6+", "both hunks");
    chat.nvim.command("6delete");
    chat.nvim.wait_until(|nvim| marks(nvim) == "2+ 2^", "one hunk");
    chat.nvim.command("bdelete! a.txt");
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("a.txt  2 hunks · +2 -1");
    chat.nvim.command("Acp undo! all");
    let project = &chat.project;
    chat.nvim.wait_until(|_| project.read("a.txt") == "one\ntwo\nthree\nfour\nfive\n", "all to be undone");
}

#[test]
fn a_new_file_that_is_there_again_is_shown_where_it_was_unless_the_user_is_somewhere_else() {
    let mut all = vec![prompt()];
    all.extend(writes("new.txt", "one\ntwo\nthree\n"));
    all.extend([says("Made."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "a\n"), ("b.txt", "b\n")], steps(all));
    chat.chat();
    chat.send("Make it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h");
    let new = chat.project.file("new.txt");
    let here = |nvim: &mut Nvim| {
        let code = "return vim.fn.bufname() .. ':' .. vim.fn.line('.')";
        nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned()
    };
    for (before, between, is_shown) in
        [("enew", "", true), ("edit a.txt", "", true), ("edit a.txt", "edit b.txt", false)]
    {
        chat.nvim.command(before);
        chat.nvim.command("edit new.txt | 3");
        chat.nvim.wait_until(|nvim| marks(nvim).contains("1+"), "the hunk");
        let listed = |nvim: &mut Nvim| nvim.exec_lua("return #vim.fn.getbufinfo({ buflisted = 1 })", []);
        let count = listed(&mut chat.nvim);
        chat.nvim.command("Acp undo");
        chat.nvim.wait_until(|nvim| !new.exists() && !here(nvim).contains("new.txt"), "the file to go");
        chat.nvim.command(between);
        let left = here(&mut chat.nvim);
        chat.nvim.command("Acp undo last");
        chat.nvim.wait_until(|_| new.exists(), "the file to come back");
        match is_shown {
            true => {
                chat.nvim.wait_until(|nvim| here(nvim) == "new.txt:3", "the file to be shown again");
                assert_eq!(listed(&mut chat.nvim), count, "no buffer is left over");
            }
            false => assert_eq!(here(&mut chat.nvim), left),
        }
    }
}

#[test]
fn what_was_kept_and_changed_by_another_turn_since_is_not_said_to_be_taken_back() {
    let mut chat = writes_twice();
    chat.send("Go on");
    chat.wait_for("First.");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp keep! all");
    chat.send("Go on");
    chat.wait_for("Second.");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp undo last");
    chat.nvim.wait_for_screen("couldn't take back the decision in a.txt: it was changed since");
}

#[test]
fn what_another_turn_did_is_not_undone_along_with_the_last_one_without_a_question() {
    let mut chat = writes_twice();
    for said in ["First.", "Second."] {
        chat.send("Go on");
        chat.wait_for(said);
    }
    chat.nvim.stop_insert();
    let choose = |number: u64| {
        format!(
            "_G.asked = nil
             vim.ui.select = function(items, options, done)
               _G.asked = options.prompt .. ': ' .. table.concat(items, ', ')
               done(items[{number}], {number})
             end"
        )
    };
    let file = chat.project.file("a.txt");
    chat.nvim.exec_lua(&choose(2), []);
    chat.nvim.command("Acp undo turn");
    let asked = "return _G.asked or ''";
    chat.nvim
        .wait_until(|nvim| !nvim.exec_lua(asked, []).as_str().unwrap_or_default().is_empty(), "a question");
    assert_eq!(
        chat.nvim.exec_lua(asked, []).as_str(),
        Some(
            "Other turns have changed this hunk, too: Undo it as a whole, \
             Leave it as it is (:Acp checkpoints goes back by turns)"
        )
    );
    assert_eq!(chat.project.read("a.txt"), "one\nTWO\nthree\n");
    chat.nvim.exec_lua(&choose(1), []);
    chat.nvim.command("Acp undo turn");
    chat.nvim.wait_until(|_| !file.exists(), "all of it to go");
    // The session as a whole is one thing.
    chat.nvim.command("Acp undo last");
    chat.nvim.wait_until(|_| file.exists(), "the file to come back");
    chat.nvim.exec_lua(&choose(2), []);
    chat.nvim.command("Acp undo session");
    chat.nvim.wait_until(|_| !file.exists(), "all of it to go, without a question");
}

#[test]
fn u_says_so_where_there_is_nothing_to_take_back() {
    let mut chat = written();
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ TWO");
    let before = chat.nvim.buffer_text(0);
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("no decision of this Neovim is left to take back");
    assert_eq!(chat.nvim.buffer_text(0), before);
}

#[test]
fn counts_count_between_the_hunks_of_a_page() {
    let mut chat =
        agent_wrote(Some("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n"), "A\n2\n3\n4\nB\n6\n7\n8\nC\n10\nD\n");
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("+ A");
    let here = |nvim: &mut Nvim| {
        let code = "return vim.fn.getline(vim.fn.search('^  + ', 'nW'))";
        nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned()
    };
    for (keys, line) in [("gg3]c", "  + C"), ("2[c", "  + A"), ("9]c", "  + D")] {
        chat.nvim.input(keys);
        chat.nvim.wait_until(|nvim| here(nvim) == line, keys);
    }
}

#[test]
fn a_kept_hunk_that_neovims_undo_took_away_is_said_to_be_undone_already() {
    let mut chat = written();
    chat.nvim.wait_until(|nvim| marks(nvim) == "2+ 2^ 6+", "both hunks");
    chat.nvim.command("2 | Acp keep");
    chat.nvim.command("6 | Acp keep");
    chat.nvim.wait_until(|nvim| marks(nvim).is_empty(), "no hunk");
    chat.nvim.input("u");
    chat.nvim
        .wait_until(|nvim| nvim.buffer_text(0) == "one\ntwo\nthree\nfour\nfive", "the agent's lines to go");
    for _ in 0..2 {
        chat.nvim.listen();
        chat.nvim.command("Acp undo last");
        let said = "return table.concat(_G.said, '\\n')";
        chat.nvim
            .wait_until(|nvim| !nvim.exec_lua(said, []).as_str().unwrap_or_default().is_empty(), "a word");
        let said = chat.nvim.exec_lua(said, []);
        assert_eq!(said.as_str(), Some("acp: what was kept in a.txt is undone already"));
    }
    assert_eq!(chat.nvim.buffer_text(0), "one\ntwo\nthree\nfour\nfive");
}

#[test]
fn a_word_that_keep_and_undo_do_not_know_is_answered_with_those_that_they_do() {
    let mut chat = written();
    for command in ["keep nonsense", "undo nonsense", "keep last"] {
        chat.nvim.command("messages clear");
        chat.nvim.input(&format!(":Acp {command}<CR>"));
        let words = "keep and undo take hunk, file, turn, session or all; undo also last";
        chat.nvim.wait_until(|nvim| nvim.messages().contains(words), &format!("an answer to {command}"));
    }
}

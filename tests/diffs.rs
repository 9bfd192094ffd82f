//! How agents' changes look in the files themselves: hunks among wrapped, folded, concealed and wide lines,
//! in new, empty, deleted and renamed files, in the colours of their language, and side by side; in a real
//! Neovim, against scripted agents.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::json;
use support::Nvim;
use support::screens::{assert_looks, timeless};
use support::script::{Scripted, answered, asks, ends, permission, prompt, says, steps, update, writes};

/// A file before and after an agent's turn, in the only window there is.
fn changed(name: &str, before: Option<&str>, after: &str) -> Scripted {
    let mut all = vec![prompt()];
    all.extend(writes(name, after));
    all.extend([says("Changed."), ends("end_turn"), prompt(), says("Heard."), ends("end_turn")]);
    let files: Vec<(&str, &str)> = before.map(|text| (name, text)).into_iter().collect();
    let mut chat = Scripted::new(&files, steps(all));
    chat.change_beside(name);
    chat.nvim.command("Acp toggle");
    chat.nvim.command("set noshowmode");
    chat.nvim.resize(50, 16);
    chat
}

fn screen(chat: &mut Scripted, name: &str, shows: &str) {
    chat.nvim.wait_for_screen(shows);
    chat.nvim.command("redraw! | echo ''");
    assert_looks(&format!("diffs/{name}"), &timeless(&chat.nvim.screen()));
}

// Screens.

#[test]
fn long_lines_that_wrap() {
    let long = |word: &str| format!("a\n{}\nz\n", format!("{word} ").repeat(14));
    let mut chat = changed("a.txt", Some(&long("first")), &long("second"));
    chat.nvim.command("set wrap number");
    screen(&mut chat, "wrapped", "\n-     first first");
}

#[test]
fn hunks_within_a_fold() {
    let text = |word: &str| {
        (1..=20)
            .map(|n| if n == 8 { format!("{word} 8\n") } else { format!("line {n}\n") })
            .collect::<String>()
    };
    let mut chat = changed("a.txt", Some(&text("old")), &text("new"));
    chat.nvim.command("setlocal foldmethod=manual | 4,12fold");
    screen(&mut chat, "folded", "+--");
    chat.nvim.input("gg]c");
    screen(&mut chat, "unfolded", "- old 8");
}

#[test]
fn lines_with_something_concealed() {
    let mut chat = changed("a.txt", Some("one\nsee *old* now\nend\n"), "one\nsee *new* now\nend\n");
    chat.nvim.command(r"syntax match Star /\*/ conceal | setlocal conceallevel=3 concealcursor=nvic");
    screen(&mut chat, "concealed", "see new now");
}

#[test]
fn tabs_are_as_wide_as_in_the_buffer_and_visible_where_the_buffers_are() {
    let text = |word: &str| format!("x\n\t{word}\tb\n\ty  \n");
    let mut chat = changed("a.txt", Some(&text("a")), &text("long"));
    chat.nvim.command("setlocal tabstop=6");
    screen(&mut chat, "tabs", "-       a     b");
    chat.nvim.command("setlocal list listchars=tab:>-,trail:.");
    screen(&mut chat, "tabs-listed", "- >-----a>----b");
}

#[test]
fn characters_that_are_two_cells_wide() {
    let mut chat = changed(
        "a.txt",
        Some("\u{4f60}\u{597d}\u{ff0c}\u{4e16}\u{754c}\tend\n\u{1f600} smile\nlast\n"),
        "\u{4f60}\u{597d}\u{ff0c}\u{670b}\u{53cb}\tend\n\u{1f680} smile\nlast\n",
    );
    screen(&mut chat, "wide", "- \u{1f600} smile");
}

#[test]
fn the_last_line_is_gone() {
    let mut chat = changed("a.txt", Some("one\ntwo\nthree\n"), "one\ntwo\n");
    screen(&mut chat, "last-line", "- three");
}

#[test]
fn the_first_line_is_gone() {
    let mut chat = changed("a.txt", Some("one\ntwo\nthree\n"), "two\nthree\n");
    screen(&mut chat, "first-line", "- one");
}

#[test]
fn a_file_that_was_empty_and_one_that_is_empty_now() {
    let mut chat = changed("a.txt", Some(""), "one\ntwo\n");
    screen(&mut chat, "was-empty", "one");
    let mut chat = changed("a.txt", Some("one\ntwo\n"), "");
    screen(&mut chat, "is-empty", "- two");
}

#[test]
fn a_new_file() {
    let mut chat = changed("new.txt", None, "one\ntwo\n");
    screen(&mut chat, "new", "two");
}

#[test]
fn files_that_were_deleted_and_renamed_stand_in_the_review() {
    let mut all = vec![prompt()];
    all.extend(writes("b.txt", "uno\nDUE\n"));
    all.extend([says("Written."), ends("end_turn"), prompt()]);
    all.push(update(json!({ "sessionUpdate": "tool_call", "toolCallId": "d", "title": "Delete a.txt",
        "kind": "delete", "status": "completed", "content": [
            { "type": "diff", "path": "$PROJECT/a.txt", "oldText": "one\ntwo\n", "newText": "" },
        ] })));
    all.push(update(
        json!({ "sessionUpdate": "tool_call", "toolCallId": "m", "title": "Move c.txt to d.txt",
        "kind": "move", "status": "completed", "content": [
            { "type": "diff", "path": "$PROJECT/c.txt", "oldText": "moved\n", "newText": "" },
            { "type": "diff", "path": "$PROJECT/d.txt", "newText": "moved\n" },
        ] }),
    ));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::sized(
        &[("a.txt", "one\ntwo\n"), ("b.txt", "uno\ndue\n"), ("c.txt", "moved\n")],
        steps(all),
        100,
        30,
    );
    chat.nvim.command("edit a.txt | split b.txt | split c.txt");
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    std::fs::remove_file(chat.project.file("a.txt")).expect("it is there");
    std::fs::rename(chat.project.file("c.txt"), chat.project.file("d.txt")).expect("it is there");
    chat.send("And the others");
    chat.wait_for("Changed.");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp toggle");
    // A file that is missing for a moment is not gone. What its new name is may be found out after that.
    let both = |nvim: &mut Nvim| {
        let screen = nvim.screen();
        screen.contains("deleted on the disk") && screen.contains("renamed to d.txt")
    };
    chat.nvim.wait_until(both, "both files to be gone");
    chat.nvim.command("only");
    chat.nvim.command("Acp review");
    screen(&mut chat, "deleted-renamed", "4 hunks");
}

// Colours.

const BEFORE: &str = "local x = 1\nlocal function f()\n  return 'old'\nend\n";
const AFTER: &str = "local x = 1\nlocal function f()\n  return 'new' .. x\nend\n";

#[test]
fn lines_that_are_gone_have_the_colours_of_their_language() {
    let mut chat = changed("a.lua", Some(BEFORE), AFTER);
    chat.nvim.wait_for_screen("- ");
    let groups = chat.nvim.groups_of("return 'old'");
    assert_eq!(groups.first().map(String::as_str), Some("AcpDiffDelete"), "{groups:?}");
    assert!(groups.len() > 1, "a keyword: {groups:?}");
    let groups = chat.nvim.groups_of("old'");
    assert!(groups.contains(&"DiffText".to_owned()), "the changed word: {groups:?}");
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("  + ");
    let (keyword, word) = (chat.nvim.groups_of("return 'new'"), chat.nvim.groups_of("x"));
    assert!(!keyword.is_empty() && keyword != word, "a keyword: {keyword:?}");
}

// Side by side.

fn windows(nvim: &mut Nvim) -> String {
    let code = "local all = {}
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local name = vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))
          local mark = win == vim.api.nvim_get_current_win() and '*' or ''
          all[#all + 1] = mark .. name .. (vim.wo[win].diff and ' diff' or '')
        end
        return table.concat(all, ', ')";
    nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

fn options(nvim: &mut Nvim) -> String {
    let code = "local all = {}
        for _, name in ipairs({ 'diff', 'wrap', 'scrollbind', 'cursorbind', 'foldmethod', 'foldcolumn',
            'foldenable', 'foldlevel', 'winbar' }) do
          all[#all + 1] = name .. '=' .. tostring(vim.wo[name])
        end
        return table.concat(all, ' ')";
    nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

#[test]
fn a_changed_file_stands_beside_what_it_was_and_gets_its_window_back() {
    let mut chat = changed("a.lua", Some(BEFORE), AFTER);
    chat.nvim.resize(100, 16);
    chat.nvim.command("setlocal nowrap foldmethod=indent foldlevel=3 winbar=mine");
    let before = options(&mut chat.nvim);
    chat.nvim.command("Acp diff");
    chat.nvim.wait_until(|nvim| windows(nvim) == "a.lua diff, *a.lua diff", "two windows");
    screen(&mut chat, "split", "a.lua: before");
    assert_eq!(chat.nvim.exec_lua("return vim.bo[vim.fn.winbufnr(1)].filetype", []).as_str(), Some("lua"));
    // What is kept is no difference any more, and then there is nothing to see side by side.
    chat.nvim.command("Acp keep! all");
    chat.nvim.wait_until(|nvim| windows(nvim) == "*a.lua", "one window");
    assert_eq!(options(&mut chat.nvim), before);
    chat.nvim.input(":Acp diff<CR>");
    chat.nvim.wait_for_screen("nothing is left to decide");
}

/// Whether Neovim takes a line of the window of that number for one that the other window lacks.
fn is_new_line(nvim: &mut Nvim, window: u64, line: u64) -> bool {
    let code = "local window, line = ...
        return vim.api.nvim_win_call(vim.fn.win_getid(window), function()
          return vim.fn.synIDattr(vim.fn.diff_hlID(line, 1), 'name') == 'DiffAdd'
        end)";
    nvim.exec_lua(code, [window.into(), line.into()]) == true.into()
}

#[test]
fn a_blank_line_of_a_new_file_is_new_side_by_side_as_its_others_are() {
    let mut chat = changed("a.txt", None, "one\n\ntwo\n");
    // Before, a text without a line has an empty one for Neovim.
    if chat.nvim.exec_lua("return vim.fn.has('nvim-0.11')", []) == 0.into() {
        return;
    }
    chat.nvim.resize(100, 16);
    chat.nvim.command("Acp diff");
    chat.nvim.wait_until(|nvim| windows(nvim) == "a.txt diff, *a.txt diff", "two windows");
    for line in 1..=3 {
        chat.nvim.wait_until(|nvim| is_new_line(nvim, 2, line), &format!("line {line} to be new"));
    }
}

#[test]
fn what_is_proposed_for_an_empty_file_has_no_line_more_side_by_side() {
    let diff = json!({ "type": "diff", "path": "$PROJECT/a.txt", "newText": "one\n\ntwo\n" });
    let call = json!({ "toolCallId": "1", "title": "Write it", "kind": "edit", "content": [diff] });
    let all = steps([prompt(), permission("p", call), answered("p"), ends("end_turn")]);
    let mut chat = Scripted::sized(&[("a.txt", "")], all, 170, 20);
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.nvim.exec_lua("require('acp').setup({ diff = { style = 'split' } })", []);
    chat.send("go");
    chat.nvim.wait_until(|nvim| windows(nvim).starts_with("a.txt diff, a.txt diff"), "two windows");
    let proposed = "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.winbufnr(2), 0, -1, true), '|')";
    assert_eq!(chat.nvim.exec_lua(proposed, []).as_str(), Some("one||two"));
    chat.decide("reject");
    chat.nvim.wait_until(|nvim| !windows(nvim).contains("diff"), "nothing side by side");
}

#[test]
fn closing_either_window_ends_the_diff() {
    for close in ["wincmd h | quit", "Acp diff", "Acp diff close", "edit b.txt"] {
        let mut chat = changed("a.lua", Some(BEFORE), AFTER);
        let before = options(&mut chat.nvim);
        chat.nvim.command("Acp diff");
        chat.nvim.wait_until(|nvim| windows(nvim).contains(", "), "two windows");
        chat.nvim.command("wincmd l");
        chat.nvim.command(close);
        chat.nvim.wait_until(|nvim| !windows(nvim).contains(", "), "one window");
        assert_eq!(options(&mut chat.nvim), before, "{close}");
        if close != "edit b.txt" {
            chat.nvim.wait_for_screen("-   return 'old'");
        }
    }
}

#[test]
fn a_window_has_what_it_showed_once_a_diff_is_put_away() {
    let text: String = (1..=60).map(|n| format!("other {n}\n")).collect();
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\nTWO\n"));
    all.extend(writes("b.txt", "uno\nDUE\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let files = [("a.txt", "one\ntwo\n"), ("b.txt", "uno\ndue\n"), ("other.txt", &*text)];
    let mut chat = Scripted::new(&files, steps(all));
    chat.nvim.command("edit other.txt");
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h | normal! 40Gzt");
    for steps in [&["Acp diff"][..], &["Acp diff", "Acp diff next"], &["Acp diff", "Acp diff open"]] {
        for step in steps {
            chat.nvim.command(step);
            chat.nvim.wait_until(|nvim| windows(nvim).contains(" diff, "), "two windows");
        }
        let shown = if steps.contains(&"Acp diff next") { "b.txt diff" } else { "a.txt diff" };
        chat.nvim.wait_until(|nvim| windows(nvim).contains(shown), shown);
        chat.nvim.command("Acp diff");
        chat.nvim.wait_until(|nvim| windows(nvim).starts_with("*other.txt, "), "what was there");
        let view = "local view = vim.fn.winsaveview() return view.lnum .. ' ' .. view.topline .. ' ' .. vim.fn.bufnr('#')";
        assert_eq!(chat.nvim.exec_lua(view, []).as_str(), Some("40 40 1"), "{steps:?}");
    }
    // Who goes on to another file stays there.
    chat.nvim.command("Acp diff");
    chat.nvim.wait_until(|nvim| windows(nvim).contains(" diff, "), "two windows");
    chat.nvim.command("edit b.txt");
    chat.nvim.wait_until(|nvim| windows(nvim).starts_with("*b.txt, "), "the other file");
}

#[test]
fn a_window_has_its_view_back_once_the_diff_of_its_file_is_put_away() {
    let lines = |last: &str| -> String {
        let long = "long ".repeat(120);
        (1..=9).map(|number| format!("line {number}\n")).collect::<String>() + long.trim_end() + "\n" + last
    };
    let mut chat = changed("a.txt", Some(&lines("end\n")), &lines("END\n"));
    // The long line has room in the whole window, but not in a half of it.
    chat.nvim.resize(100, 20);
    chat.nvim.command("normal! 10G$");
    let view =
        "local view = vim.fn.winsaveview() return view.lnum .. ' ' .. view.topline .. ' ' .. view.skipcol";
    let view = |nvim: &mut Nvim| nvim.exec_lua(view, []).as_str().unwrap_or_default().to_owned();
    let before = view(&mut chat.nvim);
    chat.nvim.command("Acp diff");
    chat.nvim.wait_until(|nvim| windows(nvim).contains(" diff, "), "two windows");
    chat.nvim.command("Acp diff");
    chat.nvim.wait_until(|nvim| !windows(nvim).contains(" diff"), "one window");
    assert_eq!(view(&mut chat.nvim), before);
}

#[test]
fn the_keys_go_on_to_the_next_file_side_by_side() {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\nTWO\n"));
    all.extend(writes("b.txt", "uno\nDUE\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n"), ("b.txt", "uno\ndue\n")], steps(all));
    chat.change_beside("a.txt");
    chat.nvim.command("Acp diff");
    chat.nvim.wait_until(|nvim| windows(nvim).starts_with("a.txt diff, *a.txt diff"), "the first file");
    chat.nvim.input("gg]c");
    chat.nvim.input("]c");
    chat.nvim.wait_until(|nvim| windows(nvim).starts_with("b.txt diff, *b.txt diff"), "the second file");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.getline('.')", []).as_str(), Some("DUE"));
    chat.nvim.command("Acp diff previous");
    chat.nvim.wait_until(|nvim| windows(nvim).starts_with("a.txt diff, *a.txt diff"), "the first file again");
    chat.nvim.command("Acp undo file");
    chat.nvim.wait_until(|nvim| !windows(nvim).contains("diff"), "nothing side by side");
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\n");
}

#[test]
fn a_proposal_stands_beside_the_file_until_it_is_answered() {
    let diff = |file: &str, old: &str, new: &str| json!({ "type": "diff", "path": format!("$PROJECT/{file}"), "oldText": old, "newText": new });
    let call = json!({ "toolCallId": "1", "title": "Edit both", "kind": "edit", "content": [
        diff("a.txt", "two", "TWO\nand a half"), diff("b.txt", "due", "DUE"),
    ] });
    let options = json!([
        { "optionId": "a", "name": "Allow", "kind": "allow_once" },
        { "optionId": "r", "name": "Reject", "kind": "reject_once" },
    ]);
    let ask = asks("p", "session/request_permission", json!({ "toolCall": call, "options": options }));
    let mut chat = Scripted::sized(
        &[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "uno\ndue\n")],
        steps([prompt(), ask, answered("p"), says("Well."), ends("end_turn")]),
        170,
        20,
    );
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    // What the versions of Neovim show each in its own way.
    chat.nvim.command("set diffopt=internal,filler,closeoff | edit a.txt");
    chat.chat();
    chat.nvim.exec_lua("require('acp').setup({ diff = { style = 'split' } })", []);
    chat.send("go");
    chat.nvim.wait_until(|nvim| windows(nvim).starts_with("a.txt diff, a.txt diff"), "two windows");
    chat.nvim.wait_for_screen("1 Allow   2 Reject");
    screen(&mut chat, "proposal", "a.txt: Fake proposes");
    assert!(
        windows(&mut chat.nvim).ends_with(", *fake prompt"),
        "the cursor stays: {}",
        windows(&mut chat.nvim)
    );
    chat.nvim.command("Acp diff next");
    chat.nvim.wait_until(|nvim| windows(nvim).starts_with("b.txt diff, b.txt diff"), "the other file");
    // What is typed meanwhile is no part of what is proposed.
    chat.nvim.input("<Esc>");
    chat.nvim.command("call win_gotoid(win_getid(1))");
    chat.nvim.input("ggOmine<Esc>");
    let proposed = "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.winbufnr(2), 0, -1, true), ' ')";
    let wanted = Some("mine uno DUE");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(proposed, []).as_str() == wanted, "the proposal to follow");
    chat.decide("reject");
    chat.nvim.wait_until(|nvim| !windows(nvim).contains("diff"), "nothing side by side");
    chat.nvim.wait_until(|nvim| windows(nvim).starts_with("*a.txt, "), "what the window showed before");
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn nothing_is_left_above_the_first_line_of_a_file_that_was_proposed() {
    let diff = json!({ "type": "diff", "path": "$PROJECT/new.txt", "oldText": "zero", "newText": "one\ntwo\nthree\nzero" });
    let call = json!({ "toolCallId": "c1", "title": "Write new.txt", "kind": "edit", "content": [diff] });
    let mut all = vec![prompt(), permission("p", call), answered("p")];
    all.extend([says("Answered."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("code.txt", "code\n"), ("new.txt", "zero\n")], steps(all));
    chat.nvim.command("edit new.txt");
    chat.nvim.exec_lua("vim.ui.select = function(_, _, choose) _G.answer = choose end", []);
    chat.chat();
    chat.send("Write it");
    let topfill = "local win = vim.fn.bufwinid('new.txt')
        return win > 0 and vim.api.nvim_win_call(win, vim.fn.winsaveview).topfill or -1";
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua(topfill, []).as_i64() == Some(3), "the lines that are proposed");
    chat.nvim.input("<Esc>");
    chat.decide("reject");
    chat.wait_for("Answered.");
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua(topfill, []).as_i64() == Some(0), "nothing above the first line");
}

//! Where chats stand: each layout in a small and a large Neovim, several chats and tab pages, and what
//! becomes of the two windows when a user closes, resizes and leaves them.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::screens::{assert_looks, timeless};
use support::script::{Scripted, ends, opened, prompt, says, steps};

/// Without what the versions of Neovim show each in its own way.
fn plain(mut chat: Scripted) -> Scripted {
    chat.nvim.command("set statusline=%f");
    chat
}

/// An agent that says what it is given to say, one prompt each, in its first session.
fn talking(answers: &[&str], columns: u16, rows: u16) -> Scripted {
    let mut steps = opened();
    for answer in answers {
        steps.extend([prompt(), says(answer), ends("end_turn")]);
    }
    plain(Scripted::sized(&[("code.txt", "one\ntwo\nthree\n")], steps, columns, rows))
}

/// An agent with as many sessions as wanted, none of which is prompted.
fn sessions(count: usize, columns: u16, rows: u16) -> Scripted {
    let mut steps = opened();
    for number in 2..=count {
        steps.push(json!({ "expect": "session/new" }));
        steps.push(json!({ "reply": "session/new", "result": { "sessionId": format!("s{number}") } }));
    }
    plain(Scripted::sized(&[("code.txt", "one\ntwo\nthree\n")], steps, columns, rows))
}

/// Two chats one after the other beside a file, with these drafts; the user types in the second one.
fn drafts(first: &str, second: &str) -> Scripted {
    let mut chat = sessions(2, 80, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.nvim.input(first);
    chat.nvim.wait_for_screen(first);
    chat.nvim.command("AcpChat!");
    idle(&mut chat, 2);
    chat.nvim.wait_for_screen("Fake 1.0");
    chat.nvim.input(second);
    chat.nvim.wait_for_screen(second);
    chat
}

/// Gives the chat's windows these options.
fn window(chat: &mut Scripted, options: &Value) {
    chat.configure(&format!("window = vim.json.decode([[{options}]])"));
}

/// Compares the screen with its snapshot, without the time that a turn took.
fn assert_screen(nvim: &mut Nvim, name: &str) {
    assert_looks(&format!("windows/{name}"), &timeless(&nvim.screen()));
}

/// The windows of the tab page in their order: what is in each, and its size.
fn windows(nvim: &mut Nvim) -> Vec<String> {
    let code = "return vim.tbl_map(function(win)
        local buf = vim.api.nvim_win_get_buf(win)
        local name = vim.bo[buf].filetype == 'acp' and 'chat' or vim.bo[buf].filetype == 'acp-prompt' and 'prompt'
          or vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':t')
        return name
      end, vim.api.nvim_tabpage_list_wins(0))";
    let found = nvim.exec_lua(code, []);
    found.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

fn wait_for_windows(nvim: &mut Nvim, wanted: &[&str]) {
    let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    nvim.wait_until(|nvim| windows(nvim) == wanted, &format!("the windows {wanted:?}"));
}

fn current(nvim: &mut Nvim) -> String {
    let name = nvim.exec_lua("return vim.api.nvim_buf_get_name(0)", []);
    let name = name.as_str().expect("a name").to_owned();
    name.rsplit('/').next().unwrap_or_default().to_owned()
}

fn idle(chat: &mut Scripted, count: u64) {
    chat.nvim.wait_until(
        |nvim| {
            let code = "local all = require('acp').status().sessions
                return #vim.tbl_filter(function(each) return each.state == 'idle' end, all)";
            nvim.exec_lua(code, []).as_u64() == Some(count)
        },
        "the sessions to be open",
    );
}

/// The chat in a layout over a file, with something said.
fn in_layout(layout: &str, columns: u16, rows: u16) -> Scripted {
    let mut chat = talking(&["Hello, you."], columns, rows);
    window(&mut chat, &json!({ "layout": layout }));
    chat.nvim.command("edit code.txt");
    chat.nvim.command("AcpChat");
    idle(&mut chat, 1);
    chat.send("Good morning");
    chat.wait_for("Done");
    chat.nvim.input("a draft");
    chat.nvim.wait_for_screen("a draft");
    chat.nvim.wait_for_screen("ready");
    chat
}

#[test]
fn each_layout_is_as_it_says_in_a_small_and_in_a_large_neovim() {
    for layout in ["right", "left", "bottom", "top", "float", "tab", "current"] {
        for (columns, rows) in [(80, 24), (200, 60)] {
            let mut chat = in_layout(layout, columns, rows);
            assert_screen(&mut chat.nvim, &format!("layout_{layout}_{columns}x{rows}"));
        }
    }
}

#[test]
fn a_chat_that_floats_goes_when_the_user_goes_behind_it_and_comes_again_as_it_was() {
    for (columns, rows) in [(80, 24), (140, 40)] {
        for go in ["wincmd p", "Acp audit"] {
            let mut chat = in_layout("float", columns, rows);
            chat.nvim.stop_insert();
            chat.nvim.command(go);
            let what = format!("{go} at {columns}x{rows}");
            chat.nvim.wait_until(
                |nvim| !windows(nvim).contains(&"chat".to_owned()),
                &format!("no chat after {what}"),
            );
            assert!(!windows(&mut chat.nvim).contains(&"prompt".to_owned()), "{what}");
            chat.nvim.command("AcpChat");
            chat.nvim.wait_for_screen("a draft");
        }
    }
}

#[test]
fn a_chat_that_floats_stays_over_windows_that_can_be_seen() {
    let mut chat = talking(&["Hello, you."], 140, 40);
    window(&mut chat, &json!({ "layout": "float" }));
    chat.nvim.command("edit code.txt | botright split other.txt | resize 5 | wincmd p");
    chat.nvim.command("AcpChat");
    idle(&mut chat, 1);
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd b");
    assert_eq!(current(&mut chat.nvim), "other.txt");
    chat.nvim.command("Acp send Good morning");
    chat.wait_for("Done");
    assert_eq!(windows(&mut chat.nvim), ["code.txt", "other.txt", "prompt", "chat"]);
}

#[test]
fn in_a_tab_page_without_room_the_chat_floats() {
    for layout in ["right", "bottom", "current", "tab"] {
        for (columns, rows) in [(20, 6), (80, 24)] {
            let mut chat = sessions(1, columns, rows);
            window(&mut chat, &json!({ "layout": layout }));
            // As many windows as there can be, of one line and of one column.
            let code = "local count = 0
                while pcall(vim.cmd, 'split') do count = count + 1 end
                while pcall(vim.cmd, 'vsplit') do count = count + 1 end
                return count + 1";
            let full = chat.nvim.exec_lua(code, []).as_u64().expect("a number");
            chat.nvim.command("AcpChat");
            let mode = chat.nvim.mode();
            assert!(!mode.blocking, "{layout}, {columns}x{rows}: {mode:?}\n{}", chat.nvim.grid().text());
            chat.nvim.wait_until(
                |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []) == "idle".into(),
                "the session",
            );
            let prompt = "local chat = require('acp').status().sessions[1]
                return vim.api.nvim_get_current_buf() == chat.prompt and vim.fn.bufwinid(chat.buffer) > 0";
            assert_eq!(chat.nvim.exec_lua(prompt, []), true.into(), "{layout}, {columns}x{rows}");
            assert_eq!(chat.nvim.messages(), "", "{layout}, {columns}x{rows}");
            chat.nvim.command("stopinsert");
            chat.nvim.command("Acp toggle");
            let windows = "vim.cmd.tabonly() return #vim.api.nvim_tabpage_list_wins(0)";
            if layout != "tab" || columns == 20 {
                assert_eq!(
                    chat.nvim.exec_lua(windows, []),
                    full.into(),
                    "the user's windows are as they were"
                );
            }
        }
    }
}

#[test]
fn sizes_may_be_columns_lines_and_shares() {
    for (options, expected) in [
        (json!({ "layout": "right", "width": 30 }), (30, 16)),
        (json!({ "layout": "left", "width": "25%" }), (20, 16)),
        (json!({ "layout": "bottom", "height": 12, "prompt_height": 3 }), (80, 8)),
        (json!({ "layout": "top", "height": "50%", "prompt_height": 2 }), (80, 9)),
        // Most of it is the transcript's.
        (json!({ "layout": "bottom", "height": 10, "prompt_height": 20 }), (80, 5)),
    ] {
        let mut chat = sessions(1, 80, 24);
        window(&mut chat, &options);
        chat.nvim.command("AcpChat");
        let code = "local win = vim.fn.bufwinid(require('acp').status().sessions[1].buffer)
            return { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }";
        let size = chat.nvim.exec_lua(code, []);
        let size = (size[0].as_u64(), size[1].as_u64());
        assert_eq!(size, (Some(expected.0), Some(expected.1)), "{options}");
    }
}

#[test]
fn a_second_chat_takes_the_place_of_the_first_and_both_keep_their_drafts() {
    let mut chat = drafts("first draft", "second draft");
    assert_eq!(windows(&mut chat.nvim), ["code.txt", "chat", "prompt"]);
    assert_screen(&mut chat.nvim, "second_chat");
    chat.nvim.command("Acp sessions 1");
    chat.nvim.wait_for_screen("first draft");
    chat.nvim.input("!");
    chat.nvim.wait_for_screen("first draft!");
    assert_eq!(windows(&mut chat.nvim), ["code.txt", "chat", "prompt"]);
}

#[test]
fn going_to_another_chat_by_a_key_of_insert_mode_goes_on_typing_there() {
    let mut chat = drafts("first", "second");
    chat.nvim.command("inoremap <F5> <Cmd>Acp sessions 1<CR>");
    chat.nvim.command("inoremap <F6> <Cmd>Acp sessions 2<CR>");
    for (key, typed, shown) in [
        ("<F5>", " one", "first one"),
        ("<F6>", " two", "second two"),
        // In the chat that is shown already.
        ("<F6>", " more", "second two more"),
        ("<F5>", " again", "first one again"),
    ] {
        chat.nvim.input(&format!("{key}{typed}"));
        chat.nvim.wait_for_screen(shown);
        assert_eq!(chat.nvim.mode().name, "i", "after {key}");
    }
    assert_eq!(chat.nvim.messages(), "");
}

#[test]
fn a_buffer_of_another_chat_that_is_shown_in_a_chats_window_brings_its_other_half() {
    for (go, open, is_prompt) in [
        ("", "vim.cmd.buffer(prompt)", true),
        ("<C-w>k", "vim.cmd.buffer(transcript)", false),
        // In the window that is for the other one.
        ("<C-w>k", "vim.cmd.buffer(prompt)", true),
        ("", "vim.cmd.buffer(transcript)", false),
        ("", "vim.api.nvim_win_set_buf(0, prompt)", true),
    ] {
        let mut chat = drafts("first draft", "second draft");
        let code = "for _, session in ipairs(require('acp').status().sessions) do
              if session.prompt ~= vim.api.nvim_get_current_buf() then
                transcript, prompt = session.buffer, session.prompt
              end
            end
            function is_whole()
              local shown = vim.tbl_map(vim.api.nvim_win_get_buf, vim.api.nvim_tabpage_list_wins(0))
              return shown[2] == transcript and shown[3] == prompt
            end";
        chat.nvim.exec_lua(code, []);
        chat.nvim.input(&format!("<Esc>{go}"));
        let what = format!("{open} after {go:?}");
        chat.nvim.command(&format!("lua {open}"));
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua("return is_whole()", []).as_bool() == Some(true),
            &format!("both halves of the first chat: {what}"),
        );
        chat.nvim.wait_for_screen("first draft");
        assert_eq!(windows(&mut chat.nvim), ["code.txt", "chat", "prompt"], "{what}");
        let code =
            "local win = vim.fn.bufwinid(transcript); return vim.fn.line('.', win) - vim.fn.line('$', win)";
        assert_eq!(chat.nvim.exec_lua(code, []).as_i64(), Some(0), "its end is followed: {what}");
        let is_in_prompt = chat.nvim.exec_lua("return vim.bo.filetype == 'acp-prompt'", []);
        assert_eq!(is_in_prompt.as_bool(), Some(is_prompt), "{what}");
        assert_eq!(chat.nvim.messages(), "", "{what}");
        chat.nvim.command("Acp sessions 2");
        chat.nvim.wait_for_screen("second draft");
        assert_eq!(windows(&mut chat.nvim), ["code.txt", "chat", "prompt"], "{what}");
    }
}

#[test]
fn a_chat_stands_in_several_tab_pages_at_once() {
    let mut chat = talking(&["in both"], 80, 24);
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("tabnew code.txt");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "insert mode to be over");
    chat.nvim.command("AcpChat");
    wait_for_windows(&mut chat.nvim, &["code.txt", "chat", "prompt"]);
    chat.send("say it");
    chat.wait_for("Done");
    chat.nvim.wait_for_screen("in both");
    chat.nvim.wait_for_screen("Done");
    chat.nvim.wait_for_screen("ready");
    assert_screen(&mut chat.nvim, "second_tab");
    chat.nvim.stop_insert();
    chat.nvim.command("tabfirst");
    chat.nvim.wait_for_screen("in both");
    // Hidden here, it still stands there.
    chat.nvim.command("Acp toggle");
    wait_for_windows(&mut chat.nvim, &[""]);
    chat.nvim.command("tabnext");
    assert_eq!(windows(&mut chat.nvim), ["code.txt", "chat", "prompt"]);
}

#[test]
fn toggling_keeps_the_place_in_the_text_and_in_the_draft() {
    let long: String = (1..=60).map(|line| format!("line {line}\n\n")).collect();
    let mut chat = talking(&[&long], 80, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.nvim.input("one two three<Esc>0w");
    chat.nvim.input("<C-w>kgg/line 20<CR>zt");
    chat.nvim.wait_until(|nvim| nvim.screen().contains("line 22"), "the place to read");
    let before = chat.nvim.screen();
    chat.nvim.input("q");
    wait_for_windows(&mut chat.nvim, &["code.txt"]);
    assert_eq!(chat.nvim.mode().name, "n");
    chat.nvim.command("Acp toggle");
    wait_for_windows(&mut chat.nvim, &["code.txt", "chat", "prompt"]);
    let text = |screen: &str| {
        let lines = screen.lines().take(16).skip(1).filter_map(|line| line.split_once('│'));
        lines.map(|(_, chat)| chat.to_owned()).collect::<Vec<_>>()
    };
    let after = chat.nvim.screen();
    assert_eq!(text(&after), text(&before), "{after}");
    chat.nvim.input("new ");
    chat.nvim.wait_for_screen("one new two three");
}

#[test]
fn who_reads_the_end_follows_it_after_toggling() {
    let long: String = (1..=60).map(|line| format!("line {line}\n\n")).collect();
    let mut chat = talking(&["first", &long], 80, 24);
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.nvim.command("Acp toggle");
    chat.nvim.command("Acp send more");
    chat.wait_for("line 60");
    chat.nvim.command("Acp toggle");
    chat.nvim.wait_for_screen("line 60");
}

#[test]
fn a_paragraph_that_is_higher_than_the_window_is_followed_to_its_end() {
    let words = |from: usize| (from..from + 400).map(|word| format!("word-{word} ")).collect::<String>();
    let all = steps([prompt(), says(&words(0)), says(&words(400)), says("and the last")]);
    let mut chat = Scripted::sized(&[], all, 80, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.send("go");
    chat.nvim.wait_for_screen("and the last");
    // Who reads in it stays there.
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd k");
    chat.nvim.input("gg");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("and the last"), "the beginning");
}

#[test]
fn hiding_from_insert_mode_ends_it() {
    let mut chat = talking(&[], 80, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.nvim.input("half a word");
    chat.nvim.wait_for_screen("half a word");
    chat.nvim.command("Acp toggle");
    wait_for_windows(&mut chat.nvim, &["code.txt"]);
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
    chat.nvim.command("Acp toggle");
    chat.nvim.input(" and more");
    chat.nvim.wait_for_screen("half a word and more");
}

#[test]
fn closing_one_of_the_two_windows_closes_the_other() {
    for (go, close) in
        [("<Esc>", ":q<CR>"), ("<Esc><C-w>k", ":q<CR>"), ("<Esc><C-w>k", "<C-w>c"), ("", "<C-o>:q<CR>")]
    {
        let mut chat = sessions(1, 80, 24);
        chat.nvim.command("edit code.txt");
        chat.chat();
        chat.nvim.input("kept");
        chat.nvim.input(go);
        chat.nvim.input(close);
        wait_for_windows(&mut chat.nvim, &["code.txt"]);
        chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode in the file");
        chat.nvim.command("AcpChat");
        chat.nvim.wait_for_screen("kept");
        assert_eq!(windows(&mut chat.nvim), ["code.txt", "chat", "prompt"], "{go}{close}");
    }
}

#[test]
fn only_gives_the_chat_the_whole_screen() {
    for (go, there) in [("<Esc>", "prompt"), ("<Esc><C-w>k", "chat")] {
        let mut chat = sessions(1, 80, 24);
        chat.nvim.command("edit code.txt");
        chat.chat();
        chat.nvim.input("a draft");
        chat.nvim.input(go);
        chat.nvim.command("only");
        wait_for_windows(&mut chat.nvim, &["chat", "prompt"]);
        chat.nvim.wait_until(|nvim| !nvim.screen().contains("code.txt"), "the whole screen");
        let here = chat.nvim.exec_lua("return vim.bo.filetype", []);
        assert_eq!(here.as_str(), Some(if there == "chat" { "acp" } else { "acp-prompt" }));
        chat.nvim.wait_for_screen("Fake 1.0");
        chat.nvim.wait_for_screen("a draft");
        assert_screen(&mut chat.nvim, &format!("only_{there}"));
    }
}

#[test]
fn only_in_a_file_hides_the_chat() {
    let mut chat = sessions(1, 80, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.nvim.input("<Esc><C-w>h");
    chat.nvim.command("only");
    wait_for_windows(&mut chat.nvim, &["code.txt"]);
    chat.nvim.command("AcpChat");
    wait_for_windows(&mut chat.nvim, &["code.txt", "chat", "prompt"]);
}

#[test]
fn quitting_the_last_file_quits_neovim() {
    let mut chat = sessions(1, 80, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.nvim.input("<Esc><C-w>h");
    chat.nvim.wait_until(|nvim| current(nvim) == "code.txt", "the file");
    chat.nvim.type_ahead(":q<CR>");
    assert!(chat.nvim.wait_for_end().success());
}

#[test]
fn quitting_with_unsaved_edits_keeps_file_and_chat() {
    let mut chat = sessions(1, 80, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.nvim.input("<Esc><C-w>hxx");
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_for_screen("E37");
    chat.nvim.input("<CR>");
    wait_for_windows(&mut chat.nvim, &["code.txt", "chat", "prompt"]);
    chat.nvim.wait_until(|nvim| current(nvim) == "code.txt", "the cursor in the file");
    assert_eq!(chat.nvim.mode().name, "n");
}

#[test]
fn quitting_while_an_agent_works_in_a_hidden_chat_is_said_once() {
    let mut steps = opened();
    steps.extend([prompt(), says("busy")]);
    let mut chat = Scripted::sized(&[("code.txt", "one\n")], steps, 80, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.send("go");
    chat.wait_for("busy");
    chat.nvim.command("Acp toggle");
    wait_for_windows(&mut chat.nvim, &["code.txt"]);
    // Another window is closed as ever.
    chat.nvim.stop_insert();
    chat.nvim.command("split");
    chat.nvim.input(":q<CR>");
    wait_for_windows(&mut chat.nvim, &["code.txt"]);
    assert_eq!(chat.nvim.messages(), "");
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_until(|nvim| nvim.messages().contains("Fake is still at work"), "to be told why");
    wait_for_windows(&mut chat.nvim, &["code.txt"]);
    assert_eq!(current(&mut chat.nvim), "code.txt");
    chat.nvim.type_ahead(":q<CR>");
    assert!(chat.nvim.wait_for_end().success());
}

#[test]
fn quitting_while_an_agent_works_keeps_file_and_chat_once() {
    let mut steps = opened();
    steps.extend([prompt(), says("busy")]);
    let mut chat = Scripted::sized(&[("code.txt", "one\n")], steps, 80, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.send("go");
    chat.wait_for("busy");
    chat.nvim.input("<Esc><C-w>h");
    chat.nvim.wait_until(|nvim| current(nvim) == "code.txt", "the file");
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_until(|nvim| nvim.messages().contains("Fake is still at work"), "to be told why");
    wait_for_windows(&mut chat.nvim, &["code.txt", "chat", "prompt"]);
    chat.nvim.wait_until(|nvim| current(nvim) == "code.txt", "the cursor in the file");
    chat.nvim.type_ahead(":q<CR>");
    assert!(chat.nvim.wait_for_end().success());
}

#[test]
fn a_page_that_is_quit_beside_a_chat_leaves_the_chat() {
    for open in ["help", "copen", "Acp keys", "split | terminal"] {
        let mut chat = sessions(1, 80, 24);
        chat.nvim.command("edit code.txt");
        chat.chat();
        chat.nvim.input("<Esc>");
        chat.nvim.command("only");
        wait_for_windows(&mut chat.nvim, &["chat", "prompt"]);
        chat.nvim.command(open);
        chat.nvim.input(":q<CR>");
        wait_for_windows(&mut chat.nvim, &["chat", "prompt"]);
    }
}

#[test]
fn quitting_a_chat_that_has_the_whole_screen_shows_the_file_again() {
    for (go, quit) in [("", ":q<CR>"), ("<C-w>k", ":q<CR>"), ("", "ZQ")] {
        let mut chat = sessions(1, 80, 24);
        chat.nvim.command("edit code.txt");
        chat.nvim.command("normal! j");
        chat.chat();
        chat.nvim.input("<Esc>");
        chat.nvim.command("only");
        wait_for_windows(&mut chat.nvim, &["chat", "prompt"]);
        chat.nvim.input(go);
        chat.nvim.input(quit);
        wait_for_windows(&mut chat.nvim, &["code.txt"]);
        let place =
            chat.nvim.exec_lua("return { vim.fn.line('.'), vim.wo.foldcolumn, vim.wo.winhighlight }", []);
        assert_eq!(place, rmpv::Value::Array(vec![2.into(), "0".into(), "".into()]), "{go}{quit}");
        chat.nvim.type_ahead(":q<CR>");
        assert!(chat.nvim.wait_for_end().success());
    }
}

#[test]
fn a_chat_that_has_the_whole_screen_goes_with_either_of_its_buffers() {
    for (go, delete) in [("", ":bd<CR>"), ("<C-w>k", ":bd<CR>"), ("", ":bw!<CR>"), ("<C-w>k", ":bw<CR>")] {
        let mut chat = talking(&["still here"], 80, 24);
        chat.nvim.command("edit code.txt");
        chat.chat();
        chat.send("go");
        chat.wait_for("Done");
        chat.nvim.input("typed<Esc>");
        chat.nvim.command("only");
        wait_for_windows(&mut chat.nvim, &["chat", "prompt"]);
        chat.nvim.input(go);
        chat.nvim.input(delete);
        wait_for_windows(&mut chat.nvim, &["code.txt"]);
        assert_eq!(chat.nvim.mode().name, "n");
        chat.nvim.command("AcpChat");
        chat.nvim.wait_for_screen("still here");
        chat.nvim.wait_for_screen("typed");
        assert_eq!(windows(&mut chat.nvim), ["code.txt", "chat", "prompt"], "{go}{delete}");
    }
}

#[test]
fn a_chat_without_a_file_does_not_keep_neovim() {
    let mut chat = sessions(1, 80, 24);
    chat.chat();
    chat.nvim.input("<Esc>");
    chat.nvim.command("only");
    wait_for_windows(&mut chat.nvim, &["chat", "prompt"]);
    chat.nvim.type_ahead(":q<CR>");
    assert!(chat.nvim.wait_for_end().success());
}

/// Neovim to 0.12 lays fixed heights in a column within a column out beyond the screen, and then ends.
#[test]
fn a_neovim_that_gets_small_with_a_chat_above_a_list_goes_on() {
    let mut chat = in_layout("right", 120, 40);
    chat.nvim.stop_insert();
    let state = "local prompt = vim.fn.bufwinid(require('acp').status().sessions[1].prompt)
        return ('%d %s'):format(vim.api.nvim_win_get_height(prompt), vim.wo[prompt].winfixheight)";
    let before = chat.nvim.exec_lua(state, []);
    chat.nvim.command("botright copen");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(state, []).as_str().is_some_and(|state| state.ends_with("false")),
        "the prompt to give way",
    );
    for (columns, rows) in [(60, 16), (120, 40), (40, 12), (80, 24), (60, 9), (120, 40)] {
        chat.nvim.resize(columns, rows);
        let below = "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
            local row = vim.api.nvim_win_get_position(win)[1]
            assert(row + vim.api.nvim_win_get_height(win) < vim.o.lines, 'a window lies beyond the screen')
          end";
        chat.nvim.exec_lua(below, []);
    }
    chat.nvim.command("cclose");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(state, []) == before, "the prompt to be as it was");
}

#[test]
fn a_resized_neovim_keeps_the_chats_share() {
    for layout in ["right", "left", "bottom", "top", "float"] {
        let mut chat = in_layout(layout, 120, 40);
        if layout == "float" {
            // Where no share was asked for, a float takes what it needs.
            window(&mut chat, &json!({ "layout": layout, "width": "50%", "height": "50%" }));
        }
        chat.nvim.resize(60, 20);
        let share = "local win = vim.fn.bufwinid(require('acp').status().sessions[1].buffer)
            local prompt = vim.fn.bufwinid(require('acp').status().sessions[1].prompt)
            local high = vim.api.nvim_win_get_height(win) + vim.api.nvim_win_get_height(prompt)
            return { math.floor(100 * vim.api.nvim_win_get_width(win) / vim.o.columns + 0.5),
              math.floor(100 * high / vim.o.lines + 0.5), vim.api.nvim_win_get_height(prompt) }";
        let sized = |nvim: &mut Nvim, what: &str| {
            nvim.wait_until(
                |nvim| {
                    let share = nvim.exec_lua(share, []);
                    let near = |index: usize| (44..=56).contains(&share[index].as_u64().unwrap_or_default());
                    let prompt = share[2].as_u64().unwrap_or_default();
                    match layout {
                        "right" | "left" => near(0) && prompt == 5,
                        "float" => near(0),
                        _ => near(1) && prompt >= 4,
                    }
                },
                what,
            );
        };
        sized(&mut chat.nvim, &format!("{layout} in a small neovim"));
        assert_screen(&mut chat.nvim, &format!("resized_{layout}"));
        chat.nvim.resize(160, 50);
        sized(&mut chat.nvim, &format!("{layout} in a large neovim"));
    }
}

#[test]
fn equal_windows_leave_the_prompt_as_it_is() {
    let mut chat = sessions(1, 120, 40);
    window(&mut chat, &json!({ "width": 40 }));
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.nvim.input("<Esc><C-w>h:vsplit<CR><C-w>=");
    let sizes = "local of = require('acp').status().sessions[1]
        local win, prompt = vim.fn.bufwinid(of.buffer), vim.fn.bufwinid(of.prompt)
        return { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(prompt) }";
    chat.nvim.wait_until(|nvim| windows(nvim).len() == 4, "the split");
    let sizes = chat.nvim.exec_lua(sizes, []);
    assert_eq!((sizes[0].as_u64(), sizes[1].as_u64()), (Some(40), Some(5)));
}

#[test]
fn a_window_that_showed_a_chat_shows_a_file_as_any_other_does() {
    let mut chat = talking(&[], 80, 24);
    window(&mut chat, &json!({ "layout": "current" }));
    chat.nvim.command("set number | edit code.txt");
    chat.chat();
    chat.nvim.input("<Esc><C-w>kq");
    wait_for_windows(&mut chat.nvim, &["code.txt"]);
    chat.nvim.wait_for_screen("  1 one");
}

#[test]
fn buffers_that_were_wiped_are_made_anew_and_none_is_listed() {
    let mut chat = talking(&["still here"], 80, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    for wipe in ["bwipeout!", "bdelete!"] {
        for which in ["buffer", "prompt"] {
            let code = format!("vim.cmd('{wipe} ' .. require('acp').status().sessions[1].{which})");
            chat.nvim.exec_lua(&code, []);
            wait_for_windows(&mut chat.nvim, &["code.txt"]);
            chat.nvim.command("AcpChat");
            chat.nvim.wait_for_screen("still here");
            assert_eq!(windows(&mut chat.nvim), ["code.txt", "chat", "prompt"], "{wipe} {which}");
            chat.nvim.stop_insert();
        }
    }
    let listed = chat.nvim.exec_lua("return vim.api.nvim_exec2('ls', { output = true }).output", []);
    assert_eq!(listed.as_str().expect("a text").trim().lines().count(), 1, "{listed}");
}

#[test]
fn a_saved_session_brings_back_a_text_that_says_how_to_go_on() {
    let mut chat = talking(&["Said before."], 100, 24);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("mksession! saved.vim");
    // In the same Neovim, whose chat lives on.
    chat.nvim.command("source saved.vim");
    chat.nvim.wait_for_screen("Nothing in it is running");
    assert_eq!(chat.nvim.messages().find("E95"), None);
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("Said before.");
    wait_for_windows(&mut chat.nvim, &["code.txt", "chat", "prompt"]);
    // In another one.
    chat.nvim.quit();
    let mut next = Nvim::start(support::Options {
        columns: 100,
        cwd: Some(chat.project.path().to_owned()),
        ..support::Options::default()
    });
    next.command("set statusline=%f");
    next.command("silent source saved.vim");
    next.wait_for_screen("Nothing in it is running");
    assert_eq!(next.messages().find("E95"), None);
    assert_screen(&mut next, "restored");
    let loaded = next.exec_lua("return package.loaded['acp'] ~= nil", []);
    assert_eq!(loaded.as_bool(), Some(false));
}

#[test]
fn filetype_autocommands_find_both_buffers_in_their_windows_and_a_failing_one_is_told() {
    let mut chat = talking(&[], 100, 30);
    chat.nvim.exec_lua(
        "_G.seen = {}
         vim.api.nvim_create_autocmd('FileType', { pattern = { 'acp', 'acp-prompt' }, callback = function(args)
           vim.opt_local.colorcolumn = '7'
           _G.seen[args.match] = vim.api.nvim_win_get_buf(0) == args.buf
           if args.match == 'acp' then error('a plugin broke') end
         end })
         -- What other plugins are told before that has it, too.
         vim.api.nvim_create_autocmd('BufWinEnter', { callback = function(args)
           _G.first = _G.first or vim.bo[args.buf].filetype
         end })",
        [],
    );
    chat.chat();
    let told = |nvim: &mut Nvim| nvim.exec_lua("return vim.fn.execute('messages')", []).to_string();
    chat.nvim.wait_until(|nvim| told(nvim).contains("a plugin broke"), "the error to be told");
    let code = "local wins = {}
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local filetype = vim.bo[vim.api.nvim_win_get_buf(win)].filetype
          if vim.wo[win].colorcolumn == '7' then table.insert(wins, filetype .. tostring(_G.seen[filetype])) end
        end
        return table.concat(wins, ' ') .. ' first ' .. _G.first";
    assert_eq!(chat.nvim.exec_lua(code, []).as_str(), Some("acptrue acp-prompttrue first acp"));
}

#[test]
fn a_file_that_is_opened_in_a_chat_goes_to_a_file_window() {
    for layout in ["right", "bottom", "float"] {
        for (go, open) in [
            ("", "edit other.txt"),
            ("<C-w>k", "edit other.txt"),
            ("", "bnext"),
            ("", "buffer other.txt"),
            ("", "lua vim.cmd('edit other.txt'); vim.api.nvim_win_set_cursor(0, { 2, 0 })"),
            ("", "lua vim.api.nvim_win_set_buf(0, vim.fn.bufnr('other.txt'))"),
        ] {
            if layout == "float" && !go.is_empty() {
                // From a float that key goes to the file.
                continue;
            }
            let files = [("code.txt", "one\ntwo\nthree\n"), ("other.txt", "four\nfive\n")];
            let mut chat = plain(Scripted::sized(&files, opened(), 100, 30));
            window(&mut chat, &json!({ "layout": layout }));
            chat.nvim.command("edit other.txt | edit code.txt | normal! j");
            chat.nvim.command("AcpChat");
            idle(&mut chat, 1);
            chat.nvim.input("kept");
            chat.nvim.wait_for_screen("kept");
            chat.nvim.input(&format!("<Esc>{go}"));
            chat.nvim.command(open);
            let what = format!("{layout}, {go}, {open}");
            let wanted: &[&str] = match layout {
                "float" => &["other.txt"],
                _ => &["other.txt", "chat", "prompt"],
            };
            chat.nvim.wait_until(|nvim| windows(nvim) == wanted, &format!("the windows after {what}"));
            assert_eq!(current(&mut chat.nvim), "other.txt", "{what}");
            let line = chat.nvim.exec_lua("return vim.fn.line('.')", []);
            assert_eq!(line.as_u64(), Some(if open.contains("cursor") { 2 } else { 1 }), "{what}");
            assert_eq!(chat.nvim.messages(), "", "{what}");
            chat.nvim.command("AcpChat");
            chat.nvim.wait_for_screen("kept");
            assert_eq!(windows(&mut chat.nvim).len(), 3, "{what}");
        }
    }
}

/// The layout of the tab page's windows, by the files in them.
fn arranged(nvim: &mut Nvim) -> String {
    let code = "local function named(node)
          if node[1] ~= 'leaf' then return node[1] .. '(' .. table.concat(vim.tbl_map(named, node[2]), ' ') .. ')' end
          local buf = vim.api.nvim_win_get_buf(node[2])
          local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':t')
          return vim.bo[buf].filetype:match('^acp.*') or name == '' and 'empty' or name
        end
        return named(vim.fn.winlayout())";
    nvim.exec_lua(code, []).as_str().expect("a layout").to_owned()
}

#[test]
fn a_file_for_which_a_window_of_a_chat_is_split_stands_beside_the_files() {
    let above = "row(col(other.txt code.txt) col(acp acp-prompt))";
    for (layout, go, open, wanted) in [
        ("right", "", "vsplit other.txt", "row(other.txt code.txt col(acp acp-prompt))"),
        ("right", "<C-w>k", "vsplit other.txt", "row(other.txt code.txt col(acp acp-prompt))"),
        ("right", "", "split other.txt", above),
        ("right", "<C-w>k", "split other.txt", above),
        ("right", "", "vnew | edit other.txt", "row(other.txt code.txt col(acp acp-prompt))"),
        ("right", "", "vsplit | edit other.txt", "row(other.txt code.txt col(acp acp-prompt))"),
        // These ask for an edge of the screen.
        ("right", "", "botright split other.txt", "col(row(code.txt col(acp acp-prompt)) other.txt)"),
        ("right", "", "topleft vsplit other.txt", "row(other.txt code.txt col(acp acp-prompt))"),
        ("bottom", "", "split other.txt", "col(other.txt code.txt acp acp-prompt)"),
        ("bottom", "", "vsplit other.txt", "col(row(other.txt code.txt) acp acp-prompt)"),
        // Where it stands above the chat already it may stay.
        ("bottom", "<C-w>k", "split other.txt", "col(code.txt other.txt acp acp-prompt)"),
        // There is no window for files.
        ("current", "", "vsplit other.txt", "row(other.txt col(acp acp-prompt))"),
        ("current", "", "split other.txt", "col(other.txt acp acp-prompt)"),
        // What is no file goes where it is put, and a chat may be looked at twice.
        ("right", "", "split", "row(code.txt col(acp acp-prompt acp-prompt))"),
    ] {
        let files = [("code.txt", "one\ntwo\nthree\n"), ("other.txt", "four\nfive\n")];
        let mut chat = plain(Scripted::sized(&files, opened(), 120, 40));
        window(&mut chat, &json!({ "layout": layout }));
        chat.nvim.command("edit code.txt");
        chat.nvim.command("AcpChat");
        idle(&mut chat, 1);
        chat.nvim.input(&format!("kept<Esc>{go}"));
        chat.nvim.wait_for_screen("kept");
        let sizes = |nvim: &mut Nvim| {
            nvim.exec_lua("return vim.fn.winwidth(vim.fn.bufwinid('acp://fake prompt'))", [])
        };
        let before = sizes(&mut chat.nvim);
        assert!(before.as_u64() > Some(0), "the prompt's width: {before}");
        chat.nvim.command(open);
        let what = format!("{layout}, {go}, {open}");
        chat.nvim.wait_until(|nvim| arranged(nvim) == wanted, &format!("{wanted} after {what}"));
        if open != "split" {
            assert_eq!(current(&mut chat.nvim), "other.txt", "{what}");
        }
        // Two windows for files have a half each.
        let is_at_edge = open.contains("topleft") || open.contains("botright");
        if open != "split" && !is_at_edge && layout != "current" && (layout, go) != ("bottom", "<C-w>k") {
            let what_size = if open.contains("vsplit") || open.contains("vnew") { "width" } else { "height" };
            let are_halves = |nvim: &mut Nvim| matches!(nvim.sizes_of_files(what_size)[..], [one, other] if one.abs_diff(other) <= 2);
            chat.nvim.wait_until(are_halves, &format!("halves after {what}"));
        }
        if layout == "right" && !open.contains("botright") {
            chat.nvim.wait_until(|nvim| sizes(nvim) == before, &format!("the chat's width after {what}"));
        }
        assert_eq!(chat.nvim.messages(), "", "{what}");
    }
}

#[test]
fn a_file_that_is_opened_in_a_chat_which_is_split_goes_to_the_files_however_narrow_they_are() {
    let files = [("code.txt", "one\n"), ("other.txt", "four\n")];
    let mut chat = plain(Scripted::sized(&files, opened(), 80, 24));
    chat.nvim.command("edit code.txt");
    chat.nvim.command("AcpChat");
    idle(&mut chat, 1);
    chat.nvim.input("<Esc><C-w>k");
    chat.nvim.command("vsplit");
    let split = "row(code.txt col(row(acp acp) acp-prompt))";
    chat.nvim.wait_until(|nvim| arranged(nvim) == split, "the split");
    chat.nvim.command("wincmd l");
    chat.nvim.command("edit other.txt");
    let wanted = "row(other.txt col(row(acp acp) acp-prompt))";
    chat.nvim.wait_until(|nvim| arranged(nvim) == wanted, wanted);
    assert_eq!(current(&mut chat.nvim), "other.txt");
    assert!(chat.nvim.sizes_of_files("width") >= vec![10], "{}", chat.nvim.screen());
}

#[test]
fn a_chat_that_has_the_tab_page_keeps_its_windows_when_a_file_is_opened_in_it() {
    for (go, open) in [("", "edit other.txt"), ("<C-w>k", "edit other.txt"), ("", "bnext")] {
        let files = [("code.txt", "one\n"), ("other.txt", "four\n")];
        let mut chat = plain(Scripted::sized(&files, opened(), 80, 24));
        window(&mut chat, &json!({ "layout": "tab" }));
        chat.nvim.command("edit other.txt | edit code.txt");
        chat.nvim.command("AcpChat");
        idle(&mut chat, 1);
        chat.nvim.input(&format!("<Esc>{go}"));
        chat.nvim.command(open);
        let wanted = "row(other.txt col(acp acp-prompt))";
        chat.nvim.wait_until(|nvim| arranged(nvim) == wanted, &format!("{wanted} after {go} {open}"));
        let height = "return vim.api.nvim_win_get_height(vim.fn.bufwinid('acp://fake prompt'))";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(height, []).as_u64() == Some(5), "the prompt's height");
    }
}

#[test]
fn a_chat_in_the_current_window_has_its_prompts_height_again_after_a_terminal() {
    let mut chat = plain(Scripted::sized(&[("code.txt", "one\n")], opened(), 80, 24));
    window(&mut chat, &json!({ "layout": "current" }));
    chat.nvim.command("edit code.txt");
    chat.nvim.command("AcpChat");
    idle(&mut chat, 1);
    let height = "return vim.api.nvim_win_get_height(vim.fn.bufwinid('acp://fake prompt'))";
    for _ in 0..2 {
        chat.nvim.wait_until(|nvim| nvim.exec_lua(height, []).as_u64() == Some(5), "the prompt's height");
        chat.nvim.input("<Esc>");
        chat.nvim.command("terminal");
        chat.nvim.wait_until(|nvim| !windows(nvim).contains(&"prompt".to_owned()), "the terminal");
        chat.nvim.input("<C-\\><C-n>");
        chat.nvim.command("AcpChat");
    }
    chat.nvim.wait_until(|nvim| nvim.exec_lua(height, []).as_u64() == Some(5), "the prompt's height");
}

#[test]
fn a_chat_at_the_top_that_is_alone_leaves_the_lines_for_commands_alone() {
    let mut chat = plain(Scripted::sized(&[("code.txt", "one\n"), ("other.txt", "two\n")], opened(), 80, 24));
    window(&mut chat, &json!({ "layout": "top" }));
    chat.nvim.command("edit code.txt");
    chat.nvim.command("AcpChat");
    idle(&mut chat, 1);
    chat.nvim.input("<Esc>");
    chat.nvim.command("only");
    wait_for_windows(&mut chat.nvim, &["chat", "prompt"]);
    for _ in 0..3 {
        chat.nvim.command("call win_gotoid(win_getid(1)) | split other.txt");
        chat.nvim.wait_until(|nvim| windows(nvim).contains(&"other.txt".to_owned()), "the file");
        chat.nvim.command("call win_gotoid(bufwinid('other.txt')) | close");
        chat.nvim.wait_until(|nvim| windows(nvim) == ["chat", "prompt"], "the chat alone");
        assert_eq!(chat.nvim.exec_lua("return vim.o.cmdheight", []).as_u64(), Some(1));
    }
}

#[test]
fn a_file_that_is_opened_in_a_chat_never_takes_a_window_that_is_to_keep_its_buffer() {
    let files = [("code.txt", "one\n"), ("other.txt", "four\n")];
    let mut chat = plain(Scripted::sized(&files, opened(), 120, 30));
    chat.nvim.command("edit code.txt | set winfixbuf");
    chat.nvim.command("AcpChat");
    idle(&mut chat, 1);
    chat.nvim.input("<Esc>");
    chat.nvim.command("edit other.txt");
    wait_for_windows(&mut chat.nvim, &["other.txt", "code.txt", "chat", "prompt"]);
    assert_eq!(current(&mut chat.nvim), "other.txt");
}

#[test]
fn a_chat_that_is_deleted_in_favour_of_a_file_is_closed() {
    let mut chat = sessions(1, 100, 30);
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.nvim.input("<Esc>");
    // As plugins do that delete buffers but leave windows.
    chat.nvim.exec_lua(
        "local buf = vim.api.nvim_get_current_buf()
         vim.cmd('buffer code.txt')
         vim.api.nvim_buf_delete(buf, { force = true })",
        [],
    );
    wait_for_windows(&mut chat.nvim, &["code.txt"]);
    chat.nvim.command("AcpChat");
    wait_for_windows(&mut chat.nvim, &["code.txt", "chat", "prompt"]);
}

#[test]
fn a_start_screen_or_a_directory_makes_room_for_a_file() {
    for screen in ["enew | setlocal buftype=nofile bufhidden=wipe nobuflisted", "edit ."] {
        let files = [("code.txt", "one\n"), ("other.txt", "four\n")];
        let mut chat = plain(Scripted::sized(&files, opened(), 80, 24));
        chat.nvim.command(screen);
        chat.nvim.command("AcpChat");
        idle(&mut chat, 1);
        chat.nvim.input("<Esc>");
        chat.nvim.command("edit code.txt");
        wait_for_windows(&mut chat.nvim, &["code.txt", "chat", "prompt"]);
        let width = chat.nvim.exec_lua("return vim.api.nvim_win_get_width(0)", []);
        assert_eq!(width.as_u64(), Some(39));
    }
}

#[test]
fn a_narrow_column_is_no_window_for_files() {
    let files = [("code.txt", "one\n"), ("other.txt", "four\n")];
    let mut chat = plain(Scripted::sized(&files, opened(), 120, 30));
    chat.nvim.command("edit code.txt | vsplit");
    chat.nvim.command("enew | setlocal buftype=nofile bufhidden=wipe nobuflisted");
    chat.nvim.command("AcpChat");
    idle(&mut chat, 1);
    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua("vim.api.nvim_win_set_width(vim.fn.bufwinid('code.txt'), 5)", []);
    chat.nvim.command("edit other.txt");
    chat.nvim.wait_until(|nvim| current(nvim) == "other.txt", "the file");
    let width = chat.nvim.exec_lua("return vim.api.nvim_win_get_width(0)", []);
    assert!(width.as_u64() >= Some(20), "{width}");
    wait_for_windows(&mut chat.nvim, &["other.txt", "code.txt", "chat", "prompt"]);
    assert_eq!(chat.nvim.messages(), "");
}

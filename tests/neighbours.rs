//! Other people's plugins beside this one: their real checkouts, in the folder that `ACP_NEIGHBOURS` names. Run by
//! `make test-neighbours`, which gets them; what they do can be tried without them in `windows`, `review` and `prompt`.
//! Where a checkout is missing, or does not run on this Neovim, the test says on stderr what it skips.

#[path = "neighbours/completion.rs"]
mod completion;
#[path = "neighbours/messages.rs"]
mod messages;
#[path = "neighbours/pickers.rs"]
mod pickers;
#[path = "neighbours/renderers.rs"]
mod renderers;
#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::path::PathBuf;

use support::Nvim;
use support::script::{Scripted, ends, prompt, says, steps, writes};

/// Says what is not tested here; the script looks for it.
#[expect(clippy::print_stderr, reason = "a test that runs nothing must say so")]
fn skip(why: &str) -> bool {
    eprintln!("skipped: {why}");
    false
}

/// Loads plugins from their checkouts. Says which of them is missing or needs a newer Neovim, if one does: then there
/// is nothing to test. `since` is the oldest version that all of them run on.
fn load(nvim: &mut Nvim, since: &str, plugins: &[&str]) -> bool {
    let folder = std::env::var_os("ACP_NEIGHBOURS").expect("ACP_NEIGHBOURS, a folder of checkouts");
    let checkout = |plugin: &&str| PathBuf::from(&folder).join(plugin);
    if let Some(missing) = plugins.iter().find(|plugin| !checkout(plugin).join("lua").is_dir()) {
        return skip(&format!("no checkout of {missing} in {}", folder.display()));
    }
    if nvim.exec_lua("return vim.fn.has('nvim-' .. ...)", [since.into()]) == 0.into() {
        return skip(&format!("{} needs Neovim {since}", plugins.join(" with ")));
    }
    if plugins.contains(&"fzf-lua") && nvim.exec_lua("return vim.fn.executable('fzf')", []) == 0.into() {
        return skip("fzf-lua needs the program fzf");
    }
    for plugin in plugins {
        nvim.exec_lua(
            "vim.opt.runtimepath:append(...)
             for _, file in ipairs(vim.fn.glob(... .. '/plugin/*', true, true)) do vim.cmd.source(file) end",
            [checkout(plugin).to_str().expect("a path in UTF-8").into()],
        );
    }
    true
}

fn git(chat: &Scripted, args: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    let mut git = std::process::Command::new("git");
    let done = git.current_dir(chat.project.path()).args(identity).args(args).output().expect("git");
    assert!(done.status.success(), "{done:?}");
}

#[test]
#[ignore = "make test-neighbours"]
fn u_after_gitsigns_reset_hunk_brings_the_mark_back() {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\nTWO\nthree\nfour\nfive\nsix\n"));
    all.extend([says("Changed."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\nfour\nfive\n")], steps(all));
    git(&chat, &["init", "-q"]);
    git(&chat, &["add", "a.txt"]);
    git(&chat, &["commit", "-qm", "first"]);
    if !load(&mut chat.nvim, "0.10", &["gitsigns.nvim"]) {
        return;
    }
    chat.nvim.exec_lua("require('gitsigns').setup({})", []);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h | 2");
    chat.nvim.wait_for_screen("- two");
    // Its own marks come a moment after the text.
    let hunks = "return #(require('gitsigns').get_hunks() or {})";
    chat.nvim.exec_lua("require('gitsigns').attach()", []);
    chat.nvim.wait_until(|nvim| nvim.exec_lua(hunks, []).as_u64() == Some(2), "gitsigns' hunks");
    chat.nvim.command("Gitsigns reset_hunk");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunk to go");
    assert!(chat.nvim.buffer_text(0).starts_with("one\ntwo\nthree\n"));
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("- two");
}

#[test]
#[ignore = "make test-neighbours"]
fn from_an_oil_buffer_the_session_is_in_that_folders_project() {
    let files = [("a.txt", "one\n"), ("other/.git/HEAD", ""), ("other/src/b.txt", "two\n")];
    let mut chat = Scripted::new(&files, steps([]));
    if !load(&mut chat.nvim, "0.10", &["oil.nvim"]) {
        return;
    }
    chat.nvim.exec_lua("require('oil').setup({})", []);
    chat.nvim.command("Oil other/src");
    chat.nvim.wait_for_screen("b.txt");
    chat.chat();
    let root = chat.project.file("other");
    assert_eq!(chat.got("session/new")["params"]["cwd"], root.to_str().expect("a path in UTF-8"));
    // From the prompt, too, it lists in a window for files.
    chat.nvim.stop_insert();
    chat.nvim.command("Oil .");
    chat.nvim.wait_for_screen("a.txt");
    chat.nvim.wait_for_screen("Fake 1.0");
}

#[test]
#[ignore = "make test-neighbours"]
fn lualine_with_the_recipe_leaves_the_bars() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], steps([]));
    if !load(&mut chat.nvim, "0.10", &["lualine.nvim"]) {
        return;
    }
    chat.nvim.exec_lua(
        "require('lualine').setup({
           winbar = { lualine_c = { 'filename' } },
           inactive_winbar = { lualine_c = { 'filename' } },
           options = { disabled_filetypes = { winbar = { 'acp', 'acp-prompt', 'acp-proposal', 'acp-terminal', 'acp-plan', 'acp-messages', 'acp-audit' } } },
         })",
        [],
    );
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd p | wincmd p");
    chat.nvim.wait_for_screen("ready");
    chat.nvim.wait_for_screen("g? keys");
}

#[test]
#[ignore = "make test-neighbours"]
fn a_terminal_of_snacks_that_comes_and_goes_leaves_the_prompt_as_it_was() {
    let mut chat = Scripted::sized(&[("a.txt", "one\n")], steps([]), 140, 40);
    if !load(&mut chat.nvim, "0.10", &["snacks.nvim"]) {
        return;
    }
    chat.nvim.exec_lua("require('snacks').setup({})", []);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd t");
    let heights = "local chat = require('acp').status().sessions[1]
        local win, prompt = vim.fn.bufwinid(chat.buffer), vim.fn.bufwinid(chat.prompt)
        return vim.api.nvim_win_get_height(win) .. '/' .. vim.api.nvim_win_get_height(prompt)";
    let before = chat.nvim.exec_lua(heights, []);
    let toggle = "require('snacks').terminal.toggle('sh', { win = { position = 'bottom' } })";
    let count = "return #vim.api.nvim_tabpage_list_wins(0)";
    for wins in [4, 3, 4, 3] {
        chat.nvim.exec_lua(toggle, []);
        chat.nvim.wait_until(|nvim| nvim.exec_lua(count, []).as_u64() == Some(wins), "the terminal");
    }
    chat.nvim.wait_until(|nvim| nvim.exec_lua(heights, []) == before, "the heights");
}

/// The text of the window for files, and whether the chat has its windows.
const PLACES: &str = "local chat = require('acp').status().sessions[1]
    local first = vim.fn.win_getid(1)
    return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(first))) .. ' '
      .. tostring(vim.fn.bufwinid(chat.buffer) > 0 and vim.fn.bufwinid(chat.prompt) > 0)";

#[test]
#[ignore = "make test-neighbours"]
fn a_file_that_mini_files_opens_from_the_chat_goes_to_a_window_for_files() {
    let mut chat = Scripted::sized(&[("a.txt", "one\n"), ("b.txt", "two\n")], steps([]), 140, 40);
    if !load(&mut chat.nvim, "0.10", &["mini.nvim"]) {
        return;
    }
    chat.nvim.exec_lua("require('mini.files').setup()", []);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.nvim.stop_insert();
    for wincmd in ["wincmd b", "wincmd b | wincmd k"] {
        chat.nvim.command(wincmd);
        chat.nvim.exec_lua("MiniFiles.open(vim.fn.getcwd())", []);
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua("return vim.bo.filetype", []) == "minifiles".into(),
            "the explorer",
        );
        chat.nvim.exec_lua("vim.fn.search('b.txt') MiniFiles.go_in({ close_on_file = true })", []);
        chat.nvim
            .wait_until(|nvim| nvim.exec_lua(PLACES, []) == "b.txt true".into(), "the file beside the chat");
        chat.nvim.command("wincmd t | edit a.txt");
    }
}

#[test]
#[ignore = "make test-neighbours"]
fn a_buffer_that_mini_bufremove_takes_from_the_chat_leaves_the_chat_there() {
    let mut chat = Scripted::sized(&[("a.txt", "one\n"), ("b.txt", "two\n")], steps([]), 140, 40);
    if !load(&mut chat.nvim, "0.10", &["mini.nvim"]) {
        return;
    }
    chat.nvim.exec_lua("require('mini.bufremove').setup()", []);
    chat.nvim.command("edit b.txt | edit a.txt");
    chat.chat();
    chat.nvim.stop_insert();
    // The file goes from its window, which shows another one.
    chat.nvim.command("wincmd t");
    chat.nvim.exec_lua("MiniBufremove.delete()", []);
    chat.nvim.wait_until(|nvim| nvim.exec_lua(PLACES, []) == "b.txt true".into(), "the other file");
    // What it puts in the prompt's place goes to the window for files.
    chat.nvim.command("wincmd b");
    chat.nvim.exec_lua("MiniBufremove.unshow_in_window()", []);
    chat.nvim.wait_until(|nvim| nvim.exec_lua(PLACES, []) == "b.txt true".into(), "the chat in its windows");
    let count = "return #vim.api.nvim_tabpage_list_wins(0)";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(count, []) == 3.into(), "no other window");
}

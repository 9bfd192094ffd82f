//! What writing and quitting mean in a prompt: that `:w` sends it and `:wq` hides the chat, too, and that nothing
//! that saves buffers by itself does either, or fails.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::Value;

use support::Nvim;
use support::script::{Scripted, ends, opened, prompt, says};

/// An agent that answers each of so many prompts.
fn answering(count: usize) -> Vec<Value> {
    let mut all = opened();
    all.extend((0..count).flat_map(|at| [prompt(), says(&format!("Answer {at}.")), ends("end_turn")]));
    all
}

fn typed(nvim: &mut Nvim) -> String {
    let code = "local chat = require('acp').status().sessions[1]
                return table.concat(vim.api.nvim_buf_get_lines(chat.prompt, 0, -1, false), '\\n')";
    nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

fn name(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return vim.api.nvim_buf_get_name(0)", []).as_str().unwrap_or_default().to_owned()
}

fn is_shown(nvim: &mut Nvim) -> bool {
    let code = "return vim.fn.bufwinid(require('acp').status().sessions[1].prompt) > 0";
    nvim.exec_lua(code, []).as_bool().unwrap_or_default()
}

/// What was sent, in order, once it is so many prompts.
fn sent(chat: &mut Scripted, count: usize) -> Vec<String> {
    let path = chat.project.file(".agent/record.jsonl");
    let mut found = Vec::new();
    chat.nvim.wait_until(
        |_| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let prompts = lines.filter(|line| line["method"] == "session/prompt");
            let text = |prompt: &Value| {
                prompt["params"]["prompt"][0]["text"].as_str().unwrap_or_default().to_owned()
            };
            found = prompts.map(|prompt| text(&prompt)).collect();
            found.len() >= count
        },
        &format!("{count} prompts to reach the agent"),
    );
    found
}

/// Shows the chat, in normal mode.
fn open(chat: &mut Scripted) {
    chat.nvim.command("AcpChat");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "insert mode");
    chat.nvim.stop_insert();
}

/// Types a text and leaves insert mode.
fn write(chat: &mut Scripted, text: &str) {
    chat.nvim.input(&format!("i{text}<Esc>"));
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n" && typed(nvim) == text, "the text to stand there");
}

#[test]
fn writing_the_prompt_sends_it_however_it_is_typed() {
    let mut chat = Scripted::new(&[], answering(4));
    chat.chat();
    chat.nvim.stop_insert();
    // As many users have it.
    chat.nvim.command("nnoremap <C-s> <Cmd>w<CR><Esc>");
    chat.nvim.command("nnoremap gs :update<CR>");
    for (at, keys) in [":w<CR>", "<C-s>", "gs", ":silent write!<CR>"].iter().enumerate() {
        write(&mut chat, &format!("prompt {at}"));
        chat.nvim.input(keys);
        chat.wait_for(&format!("Answer {at}."));
        chat.nvim.wait_until(|nvim| typed(nvim).is_empty(), "the prompt to be empty");
    }
    assert!(is_shown(&mut chat.nvim));
    assert_eq!(sent(&mut chat, 4), ["prompt 0", "prompt 1", "prompt 2", "prompt 3"]);
    assert_eq!(chat.nvim.messages().trim(), "");
}

#[test]
fn writing_and_quitting_sends_the_prompt_and_hides_the_chat() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], answering(4));
    chat.nvim.command("edit a.txt");
    for (at, keys) in [":wq<CR>", ":x<CR>", "ZZ", ":exit<CR>"].iter().enumerate() {
        open(&mut chat);
        write(&mut chat, &format!("prompt {at}"));
        chat.nvim.input(keys);
        chat.nvim.wait_until(|nvim| !is_shown(nvim), "the chat to be hidden");
        chat.wait_for(&format!("Answer {at}."));
        chat.nvim.wait_until(|nvim| name(nvim).ends_with("a.txt"), "the file");
        assert_eq!(typed(&mut chat.nvim), "");
    }
    // That the agent is done is said where no chat shows it.
    let messages = chat.nvim.messages();
    assert!(messages.lines().all(|line| line.is_empty() || line == "acp: Fake is done"), "{messages}");
    // Without a text it is as :q is.
    open(&mut chat);
    chat.nvim.input(":wq<CR>");
    chat.nvim.wait_until(|nvim| !is_shown(nvim), "the chat to be hidden");
    assert_eq!(sent(&mut chat, 4).len(), 4);
}

#[test]
fn a_copy_of_the_prompt_can_be_saved_and_all_files_without_it() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], answering(1));
    chat.nvim.command("edit a.txt");
    chat.nvim.command("call setline(1, 'two')");
    chat.chat();
    chat.nvim.stop_insert();
    write(&mut chat, "kept");
    chat.nvim.input(":w copy.md<CR>");
    let copy = chat.project.file("copy.md");
    let read = move || std::fs::read_to_string(&copy).unwrap_or_default();
    chat.nvim.wait_until(|_| read() == "kept\n", "the copy");
    // All files are saved, and what is typed is none; undoing leaves it as little modified.
    chat.nvim.input("xu:wa<CR>");
    let file = chat.project.file("a.txt");
    chat.nvim.wait_until(|_| std::fs::read_to_string(&file).unwrap_or_default() == "two\n", "the file");
    assert_eq!(typed(&mut chat.nvim), "kept");
    chat.nvim.input(":w<CR>");
    chat.wait_for("Answer 0.");
    assert_eq!(sent(&mut chat, 1), ["kept"]);
    let messages = chat.nvim.messages();
    assert!(
        !messages.contains("acp:") && !messages.contains("E37") && !messages.contains("E382"),
        "{messages}"
    );
    chat.nvim.input("ihalf a thought<Esc>");
    chat.nvim.wait_until(|nvim| typed(nvim) == "half a thought", "the text");
    chat.nvim.type_ahead(":qa<CR>");
    assert!(chat.nvim.wait_for_end().success(), "what is typed does not keep Neovim");
}

#[test]
fn a_mapping_sends_whatever_it_runs_to_write_the_prompt() {
    for (mapping, keys) in [
        ("nnoremap <C-y> :w<CR>", "<C-y>"),
        ("nnoremap <C-y> <Cmd>write<CR>", "<C-y>"),
        ("lua vim.keymap.set('n', '<C-y>', function() vim.cmd.write() end)", "<C-y>"),
        ("lua vim.keymap.set('n', '<C-y>', '<Cmd>lua vim.cmd(\"silent write\")<CR>')", "<C-y>"),
        ("lua vim.keymap.set('i', '<C-y>', function() vim.cmd.stopinsert() vim.cmd.write() end)", "A<C-y>"),
        ("function Save() \n write \n endfunction \n nnoremap <C-y> :call Save()<CR>", "<C-y>"),
        ("command Save lua vim.cmd.write()", ":Save<CR>"),
        ("lua function _G.save() vim.cmd.write() end", ":lua save()<CR>"),
    ] {
        let mut chat = Scripted::new(&[], answering(1));
        chat.nvim.exec_lua("vim.cmd(...)", [mapping.into()]);
        chat.chat();
        chat.nvim.stop_insert();
        write(&mut chat, "sent");
        chat.nvim.input(keys);
        chat.wait_for("Answer 0.");
        assert_eq!(sent(&mut chat, 1), ["sent"], "{mapping}");
    }
}

#[test]
fn what_saves_buffers_by_itself_sends_nothing_and_does_not_fail() {
    for autosave in [
        "autocmd TextChanged,TextChangedI,InsertLeave,BufLeave,CursorHold * silent! wall",
        "autocmd TextChanged,TextChangedI,InsertLeave,BufLeave * ++nested silent! wall",
        "autocmd TextChanged,TextChangedI,InsertLeave,BufLeave * update",
        "autocmd TextChanged,TextChangedI,InsertLeave,BufLeave * ++nested update",
        "autocmd TextChanged,TextChangedI,InsertLeave,BufLeave * silent! write",
        "autocmd TextChanged,TextChangedI,InsertLeave * ++nested write",
        "autocmd InsertLeave,TextChanged * ++nested lua vim.cmd('silent! write')",
        "autocmd InsertLeave,TextChanged,TextChangedI * lua vim.schedule(function() vim.cmd('silent! write') end)",
        "autocmd InsertLeave,TextChanged,TextChangedI * call timer_start(1, {-> execute('silent! write')})",
        "autocmd InsertLeave,TextChanged * lua vim.defer_fn(function() vim.api.nvim_buf_call(0, function() vim.cmd('silent! write') end) end, 1)",
        "lua vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, { nested = true, callback = function() vim.cmd.write() end })",
        "lua vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, { callback = vim.schedule_wrap(function() vim.cmd.write() end) })",
        "function Save() \n write \n endfunction \n autocmd TextChanged,InsertLeave * ++nested call Save()",
        "function Save(_) \n write \n endfunction \n autocmd TextChanged,InsertLeave * call timer_start(1, 'Save')",
        "set autowriteall",
        "set updatetime=1 | autocmd CursorHold,CursorHoldI * ++nested write",
    ] {
        let mut chat = Scripted::new(&[("a.txt", "one\n")], answering(1));
        chat.nvim.exec_lua("vim.cmd(...)", [autosave.into()]);
        chat.nvim.command("edit a.txt");
        chat.chat();
        chat.nvim.stop_insert();
        write(&mut chat, "not sent");
        chat.nvim.input("xu<C-w>h");
        chat.nvim.wait_until(|nvim| name(nvim).ends_with("a.txt"), "the file");
        // Whatever was put off has been done by the third time that there is nothing else to do.
        let idle = "_G.idle = (_G.idle or 0) return _G.idle";
        chat.nvim.exec_lua(
            "local timer, count = vim.uv.new_timer(), 0
             timer:start(5, 5, vim.schedule_wrap(function()
               _G.idle = (_G.idle or 0) + 1
               if _G.idle > 3 and not timer:is_closing() then timer:close() end
             end))",
            [],
        );
        chat.nvim.wait_until(|nvim| nvim.exec_lua(idle, []).as_u64() > Some(2), "what was put off");
        assert_eq!(typed(&mut chat.nvim), "not sent", "{autosave}");
        let messages = chat.nvim.messages();
        assert!(
            !messages.contains("E3") && !messages.contains("E6") && !messages.contains("Error"),
            "{autosave}: {messages}"
        );
        chat.nvim.input("<C-w>l<C-w>j");
        chat.nvim.wait_until(|nvim| name(nvim).ends_with("prompt"), "the prompt");
        chat.nvim.stop_insert();
        chat.nvim.input(":w<CR>");
        chat.wait_for("Answer 0.");
        assert_eq!(sent(&mut chat, 1), ["not sent"], "{autosave}");
    }
}

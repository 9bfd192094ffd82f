//! Completion in the prompt beside plugins that complete: in their menu with the source, else in the plugin's own.

use serde_json::json;

use crate::load;
use crate::support::script::{Scripted, steps, update};

const BLINK: &str = "require('blink.cmp').setup({ fuzzy = { implementation = 'lua' }, %s })";

fn with_blink(options: &str) -> Option<Scripted> {
    let commands = update(json!({ "sessionUpdate": "available_commands_update",
        "availableCommands": [{ "name": "tour", "description": "Show all" }] }));
    let mut chat = Scripted::new(&[("notes.txt", "one\n"), ("numbers.txt", "two\n")], steps([commands]));
    if !load(&mut chat.nvim, "0.10", &["blink.cmp"]) {
        return None;
    }
    chat.nvim.exec_lua(&BLINK.replace("%s", options), []);
    chat.chat();
    Some(chat)
}

/// Whether a menu of blink's is open.
const IS_OPEN: &str = "return require('blink.cmp').is_menu_visible()";

#[test]
#[ignore = "make test-neighbours"]
fn blink_completes_references_with_the_source() {
    let source = "sources = { per_filetype = { ['acp-prompt'] = { 'acp' } },
        providers = { acp = { name = 'acp', module = 'acp.blink' } } }";
    let Some(mut chat) = with_blink(source) else { return };
    chat.nvim.input("look at @not");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(IS_OPEN, []) == true.into(), "the menu");
    chat.nvim.wait_for_screen("notes.txt");
    // The plugin's own stays away.
    assert_eq!(chat.nvim.exec_lua("return vim.fn.pumvisible()", []), 0.into());
    chat.nvim.input("<C-y>");
    chat.nvim.wait_for_screen("look at @notes.txt");
    // While it is open, its key does not change the agent's mode.
    chat.nvim.input(" @n");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(IS_OPEN, []) == true.into(), "the menu again");
    chat.nvim.input("<S-Tab>");
    chat.nvim.wait_for_screen("look at @notes.txt");
}

#[test]
#[ignore = "make test-neighbours"]
fn blink_completes_in_prompts_without_set_up_and_nothing_else_does() {
    let Some(mut chat) = with_blink("") else { return };
    chat.nvim.input("/");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(IS_OPEN, []) == true.into(), "the menu");
    chat.nvim.wait_for_screen("/tour");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.pumvisible()", []), 0.into());
    chat.nvim.input("<C-y>");
    let line = "return vim.api.nvim_get_current_line()";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(line, []) == "/tour".into(), "the command, without brackets");
}

#[test]
#[ignore = "make test-neighbours"]
fn where_blink_is_turned_off_the_plugins_own_menu_opens() {
    let off = "enabled = function() return vim.bo.filetype ~= 'acp-prompt' end";
    let Some(mut chat) = with_blink(off) else { return };
    chat.nvim.input("look at @not");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.pumvisible()", []) == 1.into(),
        "the plugin's own menu",
    );
    chat.nvim.wait_for_screen("notes.txt");
    assert_eq!(chat.nvim.exec_lua(IS_OPEN, []), false.into());
    chat.nvim.input("<C-y>");
    chat.nvim.wait_for_screen("look at @notes.txt");
}

#[test]
#[ignore = "make test-neighbours"]
fn mini_completion_leaves_the_menu_of_references_alone() {
    let mut chat = Scripted::new(&[("notes.txt", "one\n"), ("numbers.txt", "two\n")], steps([]));
    if !load(&mut chat.nvim, "0.10", &["mini.nvim"]) {
        return;
    }
    chat.nvim.exec_lua("require('mini.completion').setup({ delay = { completion = 10 } })", []);
    chat.chat();
    chat.nvim.input("look at @not");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.pumvisible()", []) == 1.into(),
        "the plugin's own menu",
    );
    chat.nvim.wait_for_screen("notes.txt");
    // It has nothing selected from the start.
    chat.nvim.input("<C-n>");
    let selected = "return vim.fn.complete_info({ 'selected' }).selected";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(selected, []) == 0.into(), "the file to be selected");
    chat.nvim.input("<C-y>");
    chat.nvim.wait_for_screen("look at @notes.txt");
}

/// nvim-cmp, set up as the help says if `setup` does that.
fn with_cmp(setup: &str) -> Option<Scripted> {
    let mut chat = Scripted::new(&[("notes.txt", "one\n"), ("numbers.txt", "two\n")], steps([]));
    if !load(&mut chat.nvim, "0.10", &["nvim-cmp"]) {
        return None;
    }
    let keys = "local cmp = require('cmp')
        cmp.setup({ mapping = cmp.mapping.preset.insert({ ['<C-y>'] = cmp.mapping.confirm({ select = true }) }) })";
    chat.nvim.exec_lua(&format!("{keys} {setup}"), []);
    chat.chat();
    Some(chat)
}

#[test]
#[ignore = "make test-neighbours"]
fn nvim_cmp_completes_references_with_the_source() {
    let source = "cmp.register_source('acp', require('acp.cmp').new())
        cmp.setup.filetype('acp-prompt', { sources = { { name = 'acp' } } })";
    let Some(mut chat) = with_cmp(source) else { return };
    let is_open = "return require('cmp').visible()";
    chat.nvim.input("look at @not");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(is_open, []) == true.into(), "the menu");
    chat.nvim.wait_for_screen("notes.txt");
    // The plugin's own stays away.
    assert_eq!(chat.nvim.exec_lua("return vim.fn.pumvisible()", []), 0.into());
    chat.nvim.input("<C-y>");
    chat.nvim.wait_for_screen("look at @notes.txt");
    // While it is open, the key does not change the agent's mode.
    chat.nvim.wait_until(|nvim| nvim.exec_lua(is_open, []) == false.into(), "the menu to go");
    chat.nvim.input(" ");
    let line = "return vim.api.nvim_get_current_line()";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(line, []) == "look at @notes.txt ".into(), "the blank");
    chat.nvim.input("@");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(is_open, []) == true.into(), "the menu again");
    chat.nvim.input("<S-Tab>");
    chat.nvim.wait_for_screen("look at @notes.txt");
}

#[test]
#[ignore = "make test-neighbours"]
fn nvim_cmp_completes_in_prompts_without_set_up() {
    let Some(mut chat) = with_cmp("") else { return };
    chat.nvim.input("look at @not");
    let is_open = "return require('cmp').visible()";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(is_open, []) == true.into(), "the menu");
    chat.nvim.wait_for_screen("notes.txt");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.pumvisible()", []), 0.into());
}

#[test]
#[ignore = "make test-neighbours"]
fn where_nvim_cmp_has_other_sources_for_prompts_the_plugins_own_menu_opens() {
    let Some(mut chat) = with_cmp("cmp.setup.filetype('acp-prompt', { sources = {} })") else { return };
    chat.nvim.input("look at @not");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.pumvisible()", []) == 1.into(),
        "the plugin's own menu",
    );
    chat.nvim.wait_for_screen("notes.txt");
}

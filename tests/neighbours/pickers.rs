//! Pickers in place of `vim.ui.select`, with the recipes of the help: what is asked about stays in view beside them, or
//! is in their preview; they answer, and they go when the question is over.

use serde_json::{Value, json};

use crate::load;
use crate::support::Nvim;
use crate::support::script::{Scripted, answered, ends, permission, prompt, says, steps};

struct Picker {
    plugins: &'static [&'static str],
    /// The oldest Neovim that it runs on.
    since: &'static str,
    /// As the help has it.
    recipe: &'static str,
    /// The same without a layout of its own.
    plain: &'static str,
    /// What is typed to see the preview.
    preview: &'static str,
    /// A file type of its windows.
    filetype: &'static str,
}

const MINI: Picker = Picker {
    plugins: &["mini.nvim"],
    since: "0.10",
    recipe: "require('mini.pick').setup()
        vim.ui.select = function(items, options, choose)
          local window = { config = { height = 8 } }
          return MiniPick.ui_select(items, options, choose, { window = window })
        end",
    plain: "require('mini.pick').setup() vim.ui.select = MiniPick.ui_select",
    preview: "<Tab>",
    filetype: "minipick",
};

const SNACKS: Picker = Picker {
    plugins: &["snacks.nvim"],
    since: "0.10",
    recipe: "require('snacks').setup({ picker = { ui_select = true,
          sources = { select = { layout = { preset = 'ivy',
            hidden = { 'preview' }, layout = { height = 10 } } } } } })",
    plain: "require('snacks').setup({ picker = { ui_select = true } })",
    preview: "",
    filetype: "snacks_picker_input",
};

const TELESCOPE: Picker = Picker {
    plugins: &["plenary.nvim", "telescope.nvim", "telescope-ui-select.nvim"],
    since: "0.11",
    recipe: "require('telescope').setup({ extensions = {
          ['ui-select'] = require('telescope.themes').get_ivy({
            layout_config = { height = 10 } }) } })
        require('telescope').load_extension('ui-select')",
    plain: "require('telescope').setup({}) require('telescope').load_extension('ui-select')",
    preview: "",
    filetype: "TelescopePrompt",
};

/// Hands the options for telescope on; the extension for `vim.ui.select` does not.
const DRESSING: Picker = Picker {
    plugins: &["plenary.nvim", "telescope.nvim", "dressing.nvim"],
    since: "0.11",
    recipe: "",
    plain: "require('telescope').setup({})
        require('dressing').setup({ select = { backend = { 'telescope' } } })",
    preview: "",
    filetype: "TelescopePrompt",
};

/// Its own list, which is no line to search in.
const DRESSING_LIST: Picker = Picker {
    plugins: &["dressing.nvim"],
    since: "0.10",
    recipe: "",
    plain: "require('dressing').setup({ select = { backend = { 'builtin' } } })",
    preview: "",
    filetype: "DressingSelect",
};

const FZF: Picker = Picker {
    plugins: &["fzf-lua"],
    since: "0.10",
    recipe: "require('fzf-lua').register_ui_select({ winopts = { split = 'belowright 10new' } })",
    plain: "require('fzf-lua').register_ui_select({})",
    preview: "",
    filetype: "fzf",
};

/// A chat beside a file, whose agent asks whether it may write a new one of eight lines.
fn asking(picker: &Picker, setup: &str, (columns, rows): (u16, u16), then: &[Value]) -> Option<Scripted> {
    let text: String = (1..=8).map(|number| format!("new {number}\n")).collect();
    let diff = json!({ "type": "diff", "path": "$PROJECT/new.txt", "newText": text });
    let call = json!({ "toolCallId": "c", "title": "Write new.txt", "kind": "edit", "content": [diff] });
    let mut all = vec![prompt(), permission("p", call)];
    all.extend(then.iter().cloned());
    let mut chat = Scripted::sized(&[("a.txt", "mine\n")], steps(all), columns, rows);
    if !load(&mut chat.nvim, picker.since, picker.plugins) {
        return None;
    }
    chat.nvim.exec_lua(setup, []);
    chat.nvim.command("edit a.txt");
    chat.chat();
    Some(chat)
}

/// Something is done inside of Neovim once a picker is open: some of them read keys in a loop of their own.
fn once_open(nvim: &mut Nvim, filetype: &str, code: &str) {
    nvim.exec_lua(
        &format!(
            "local filetype = ...
             local timer = vim.uv.new_timer()
             timer:start(20, 20, vim.schedule_wrap(function()
               if vim.bo.filetype == filetype and not timer:is_closing() then
                 timer:close()
                 {code}
               end
             end))"
        ),
        [filetype.into()],
    );
}

fn the_proposal_stays_in_view(picker: &Picker) {
    for size in [(80, 24), (140, 40)] {
        let then = [answered("p"), says("Answered."), ends("end_turn")];
        let Some(mut chat) = asking(picker, picker.recipe, size, &then) else { return };
        let windows = "return #vim.api.nvim_tabpage_list_wins(0)";
        let before = chat.nvim.exec_lua(windows, []);
        chat.send("go");
        chat.nvim.wait_for_screen("Allow \u{b7} this once");
        chat.nvim.wait_until(
            |nvim| {
                let screen = nvim.screen();
                (1..=8).all(|number| screen.contains(&format!("+ new {number}")))
            },
            "all of the proposal beside the picker",
        );
        chat.nvim.input("<CR>");
        assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
        chat.wait_for("Answered.");
        chat.nvim.wait_until(|nvim| nvim.exec_lua(windows, []) == before, "the picker's windows to be gone");
    }
}

fn a_preview_shows_the_proposal(picker: &Picker) {
    let then = [answered("p"), says("Answered."), ends("end_turn")];
    let Some(mut chat) = asking(picker, picker.plain, (140, 40), &then) else { return };
    chat.send("go");
    chat.nvim.wait_for_screen("Allow \u{b7} this once");
    if !picker.preview.is_empty() {
        chat.nvim.input(picker.preview);
    }
    // Where the picker stands: beside it the window shows the proposal as well, but not these rows of it twice.
    let count = "local found = 0
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false)
          local is_preview = vim.api.nvim_win_get_config(win).relative ~= ''
          if is_preview and table.concat(lines, '\\n'):find('+ new 8', 1, true) then found = found + 1 end
        end
        _G.previews = found";
    once_open(&mut chat.nvim, picker.filetype, "");
    chat.nvim.wait_until(
        |nvim| {
            nvim.exec_lua(count, []);
            nvim.exec_lua("return _G.previews", []).as_u64() == Some(1)
        },
        "the preview",
    );
    chat.nvim.input("<Esc><Esc>");
    chat.nvim.wait_until(
        |nvim| {
            nvim.exec_lua(count, []);
            nvim.exec_lua("return _G.previews", []).as_u64() == Some(0)
        },
        "the picker to be closed",
    );
    chat.nvim.stop_insert();
    chat.decide("reject");
    chat.wait_for("Answered.");
}

fn it_closes_when_the_turn_is_cancelled(picker: &Picker, setup: &str) {
    let then = [json!({ "expect": "session/cancel" }), answered("p"), says("Stopped."), ends("cancelled")];
    let Some(mut chat) = asking(picker, setup, (80, 24), &then) else { return };
    let windows = "return #vim.api.nvim_tabpage_list_wins(0)";
    let before = chat.nvim.exec_lua(windows, []);
    once_open(&mut chat.nvim, picker.filetype, "require('acp').call('cancel')");
    chat.send("go");
    chat.wait_for("Stopped.");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(windows, []) == before, "the picker's windows to be gone");
    // Nor does it leave the mode behind in which it was typed into.
    chat.nvim.wait_until(|nvim| ["n", "i"].contains(&nvim.mode().name.as_str()), "a mode to go on in");
}

/// The keys come at once, and the items that fit them a moment later.
fn what_is_typed_in_a_burst_is_not_answered_by_another_item(picker: &Picker) {
    let then = [answered("p"), says("Answered."), ends("end_turn")];
    let Some(mut chat) = asking(picker, picker.plain, (140, 40), &then) else { return };
    chat.send("go");
    chat.nvim.wait_for_screen("Allow \u{b7} this once");
    once_open(&mut chat.nvim, picker.filetype, "_G.is_open = true");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.is_open == true", []) == true.into(), "the picker");
    chat.nvim.input("Rej<CR>");
    let answered = |chat: &Scripted| chat.record().iter().any(|line| line["id"] == "p");
    let said = "\"Rej\" does not lead to Allow";
    let mut is_told = false;
    let path = chat.project.file(".agent/record.jsonl");
    chat.nvim.wait_until(
        |nvim| {
            is_told = nvim.messages().contains(said);
            is_told || std::fs::read_to_string(&path).is_ok_and(|record| record.contains("\"outcome\""))
        },
        "the picker to be asked again, or to have been quick",
    );
    if is_told {
        assert!(!answered(&chat), "{:?}", chat.record());
        chat.nvim.wait_for_screen("Allow \u{b7} this once");
        chat.nvim.input("Rej");
        chat.nvim.wait_until(|nvim| !nvim.screen().contains("Allow \u{b7} this once"), "the items that fit");
        chat.nvim.input("<CR>");
    }
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "r");
}

#[test]
#[ignore = "make test-neighbours"]
fn in_telescope_what_is_typed_in_a_burst_is_not_answered_by_another_item() {
    what_is_typed_in_a_burst_is_not_answered_by_another_item(&TELESCOPE);
    what_is_typed_in_a_burst_is_not_answered_by_another_item(&DRESSING);
}

#[test]
#[ignore = "make test-neighbours"]
fn in_snacks_what_is_typed_in_a_burst_is_not_answered_by_another_item() {
    what_is_typed_in_a_burst_is_not_answered_by_another_item(&SNACKS);
}

#[test]
#[ignore = "make test-neighbours"]
fn mini_pick_leaves_the_proposal_in_view() {
    the_proposal_stays_in_view(&MINI);
}

#[test]
#[ignore = "make test-neighbours"]
fn mini_pick_previews_the_proposal() {
    a_preview_shows_the_proposal(&MINI);
}

#[test]
#[ignore = "make test-neighbours"]
fn mini_pick_closes_when_its_turn_is_cancelled() {
    it_closes_when_the_turn_is_cancelled(&MINI, MINI.plain);
    it_closes_when_the_turn_is_cancelled(&MINI, MINI.recipe);
}

#[test]
#[ignore = "make test-neighbours"]
fn snacks_leaves_the_proposal_in_view() {
    the_proposal_stays_in_view(&SNACKS);
}

#[test]
#[ignore = "make test-neighbours"]
fn snacks_previews_the_proposal() {
    a_preview_shows_the_proposal(&SNACKS);
}

#[test]
#[ignore = "make test-neighbours"]
fn snacks_closes_when_its_turn_is_cancelled() {
    it_closes_when_the_turn_is_cancelled(&SNACKS, SNACKS.plain);
    it_closes_when_the_turn_is_cancelled(&SNACKS, SNACKS.recipe);
}

#[test]
#[ignore = "make test-neighbours"]
fn telescope_leaves_the_proposal_in_view() {
    the_proposal_stays_in_view(&TELESCOPE);
}

#[test]
#[ignore = "make test-neighbours"]
fn telescope_previews_the_proposal_where_dressing_opens_it() {
    a_preview_shows_the_proposal(&DRESSING);
}

#[test]
#[ignore = "make test-neighbours"]
fn a_list_of_dressings_that_opens_over_an_empty_prompt_is_answered_by_its_keys() {
    let then = [answered("p"), says("Answered."), ends("end_turn")];
    let setup = DRESSING_LIST.plain;
    let Some(mut chat) = asking(&DRESSING_LIST, setup, (120, 34), &then) else { return };
    chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "the prompt to be typed into");
    chat.nvim.input("go<C-s>");
    let filetype = "return vim.bo.filetype";
    let is_open = |nvim: &mut Nvim| nvim.exec_lua(filetype, []).as_str() == Some(DRESSING_LIST.filetype);
    chat.nvim.wait_until(is_open, "the list");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "keys to be the list's");
    chat.nvim.input("<CR>");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
    chat.wait_for("Answered.");
}

#[test]
#[ignore = "make test-neighbours"]
fn telescope_closes_when_its_turn_is_cancelled() {
    it_closes_when_the_turn_is_cancelled(&TELESCOPE, TELESCOPE.plain);
    it_closes_when_the_turn_is_cancelled(&TELESCOPE, TELESCOPE.recipe);
}

#[test]
#[ignore = "make test-neighbours"]
fn fzf_lua_leaves_the_proposal_in_view() {
    the_proposal_stays_in_view(&FZF);
}

#[test]
#[ignore = "make test-neighbours"]
fn fzf_lua_previews_the_proposal() {
    a_preview_shows_the_proposal(&FZF);
}

#[test]
#[ignore = "make test-neighbours"]
fn fzf_lua_closes_when_its_turn_is_cancelled() {
    it_closes_when_the_turn_is_cancelled(&FZF, FZF.plain);
    it_closes_when_the_turn_is_cancelled(&FZF, FZF.recipe);
}

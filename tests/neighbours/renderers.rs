//! Plugins that draw Markdown, in the transcript: with the recipe they draw what is still being written, too.

use crate::load;
use crate::support::script::{Scripted, prompt, says, steps};

/// What the help has for the lines that are being written.
const DRAWS: &str = "vim.api.nvim_create_autocmd('FileType', {
  pattern = 'acp',
  callback = function(event)
    local due = false
    vim.api.nvim_buf_attach(event.buf, false, {
      on_lines = function(_, buf)
        if due then return end
        due = true
        vim.defer_fn(function()
          due = false
          if vim.api.nvim_buf_is_loaded(buf) then draw(buf) end
        end, 200)
      end,
    })
  end,
})";

const RENDER_MARKDOWN: &str = "vim.treesitter.language.register('markdown', 'acp')
    require('render-markdown').setup({ file_types = { 'markdown', 'acp' }, render_modes = true,
      overrides = { filetype = { acp = { debounce = 0, pipe_table = { enabled = false } } } } })
    local function draw(buf) require('render-markdown').render({ buf = buf }) end";

/// The same, with tables that it draws itself.
const RENDER_MARKDOWN_WITH_TABLES: &str = "vim.treesitter.language.register('markdown', 'acp')
    require('render-markdown').setup({ file_types = { 'markdown', 'acp' }, render_modes = true,
      overrides = { filetype = { acp = { debounce = 0 } } } })
    local function draw(buf) require('render-markdown').render({ buf = buf }) end";

const MARKVIEW: &str = "vim.treesitter.language.register('markdown', 'acp')
    require('markview').setup({ preview = { filetypes = { 'markdown', 'acp' }, ignore_buftypes = {} } })
    local function draw(buf) require('markview').render(buf) end";

/// A chat in which an answer has begun and goes no further; the cursor is in the prompt.
fn writing(plugin: &str, setup: &str, since: &str) -> Option<Scripted> {
    let all = [prompt(), says("# Head\n\n- first\n- second\n\n## Grows\n\n- third")];
    let mut chat = Scripted::new(&[], steps(all));
    if !load(&mut chat.nvim, since, &[plugin]) {
        return None;
    }
    chat.nvim.exec_lua(&format!("{setup} {DRAWS}"), []);
    chat.chat();
    chat.send("go");
    chat.wait_for("- third");
    Some(chat)
}

#[test]
#[ignore = "make test-neighbours"]
fn render_markdown_draws_what_is_being_written() {
    let Some(mut chat) = writing("render-markdown.nvim", RENDER_MARKDOWN, "0.10") else { return };
    // Its bullets, also of the line that is written last.
    chat.nvim.wait_until(|nvim| nvim.screen().matches("\u{25cf}").count() == 3, "its marks");
}

#[test]
#[ignore = "make test-neighbours"]
fn markview_draws_what_is_being_written() {
    let Some(mut chat) = writing("markview.nvim", MARKVIEW, "0.10") else { return };
    chat.nvim.wait_until(|nvim| nvim.screen().matches("\u{25cf}").count() == 3, "its marks");
}

/// A table whose columns lack blanks.
const TABLE: &str = "Said:\n\n| a | long |\n| --- | --- |\n| much longer | b |\n\nafter";

/// Where the rows of the table end on the screen. A plugin may draw the bars in its own way.
fn ends_of_rows(nvim: &mut crate::support::Nvim) -> Vec<usize> {
    let screen = nvim.screen();
    let rows = screen.lines().filter(|line| line.contains(" long") || line.contains("much longer"));
    rows.map(|row| row.trim_end().chars().count()).collect()
}

/// Once the plugin has drawn, which the screen shows, the table's rows end in the same column.
fn a_table_is_aligned(plugin: &str, setup: &str, (table, rows): (&str, usize), is_drawn: fn(&str) -> bool) {
    let mut chat = Scripted::sized(&[], steps([prompt(), says(table)]), 140, 40);
    if !load(&mut chat.nvim, "0.10", &[plugin]) {
        return;
    }
    chat.nvim.exec_lua(&format!("{setup} {DRAWS}"), []);
    chat.chat();
    chat.send("go");
    chat.wait_for("after");
    let is_aligned = |nvim: &mut crate::support::Nvim| {
        let ends = ends_of_rows(nvim);
        is_drawn(&nvim.screen()) && ends.len() == rows && ends.iter().all(|end| *end == ends[0])
    };
    chat.nvim.wait_until(is_aligned, "a table that is aligned");
}

/// With the plugin's own frame.
fn a_table_is_aligned_once(plugin: &str, setup: &str) {
    a_table_is_aligned(plugin, setup, (TABLE, 2), |screen| screen.contains(['\u{250c}', '\u{256d}']));
}

#[test]
#[ignore = "make test-neighbours"]
fn render_markdown_aligns_tables_alone() {
    a_table_is_aligned_once("render-markdown.nvim", RENDER_MARKDOWN_WITH_TABLES);
}

#[test]
#[ignore = "make test-neighbours"]
fn tables_with_code_are_aligned_beside_render_markdown_as_the_help_sets_it_up() {
    let table = "# Head\n\n| a | long |\n| --- | --- |\n| `much longer` | b |\n| c | much longer |\n\nafter";
    let is_drawn = |screen: &str| !screen.contains("# Head");
    a_table_is_aligned("render-markdown.nvim", RENDER_MARKDOWN, (table, 3), is_drawn);
}

#[test]
#[ignore = "make test-neighbours"]
fn markview_aligns_tables_alone() {
    a_table_is_aligned_once("markview.nvim", MARKVIEW);
}

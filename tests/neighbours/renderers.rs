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

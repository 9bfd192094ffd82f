-- What pickers that replace `vim.ui.select` take beside the items: the lines that are asked about as a preview, in the
-- forms that each of them knows. And how an open one is closed whose question is over.
local api = vim.api

-- Holds the lines of the last preview; the pickers show it in their own windows.
local buffer

local function preview_buffer(lines)
  if not buffer or not api.nvim_buf_is_valid(buffer) then
    buffer = api.nvim_create_buf(false, true)
    vim.bo[buffer].bufhidden = "hide"
    vim.bo[buffer].undolevels = -1
    vim.bo[buffer].filetype = "diff"
  end
  vim.bo[buffer].modifiable = true
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  return buffer
end

-- For plugins that hand telescope's own options on. Not where telescope is not in use: nothing is loaded for this.
local function for_telescope(lines)
  if not package.loaded["telescope"] then
    return nil
  end
  local ok, previewers = pcall(require, "telescope.previewers")
  return ok
      and {
        previewer = previewers.new_buffer_previewer({
          title = "What is asked about",
          define_preview = function(self)
            api.nvim_buf_set_lines(self.state.bufnr, 0, -1, false, lines)
            vim.bo[self.state.bufnr].filetype = "diff"
          end,
        }),
      }
    or nil
end

local function add_preview(options, lines)
  -- Neovim 0.12, fzf-lua, mini.pick.
  options.preview_item = function()
    return { buf = preview_buffer(lines), pos = { 1, 0 } }
  end
  options.snacks = {
    preview = function(context)
      context.preview:reset()
      context.preview:set_lines(lines)
      context.preview:highlight({ ft = "diff" })
    end,
    -- Its list of items for choices hides the preview.
    layout = { preset = "select", hidden = { "none" } },
  }
  options.telescope = for_telescope(lines)
end

-- Pickers by the file type of the window that they have the cursor in.
local closers = {
  TelescopePrompt = function(buf)
    require("telescope.actions").close(buf)
  end,
  snacks_picker_input = function()
    for _, picker in ipairs(require("snacks").picker.get()) do
      picker:close()
    end
  end,
  minipick = function()
    require("mini.pick").stop()
  end,
  fzf = function()
    api.nvim_input("<C-c>")
  end,
}

-- Closes what has opened since these windows were there, if the user is in it.
local function close(before)
  local win = api.nvim_get_current_win()
  local buf = api.nvim_win_get_buf(win)
  if vim.tbl_contains(before, win) or api.nvim_win_get_config(win).relative == "" then
    return
  end
  local closer = closers[vim.bo[buf].filetype]
  if closer and pcall(closer, buf) then
    return
  end
  pcall(api.nvim_win_close, win, true)
end

return {
  add_preview = add_preview,
  close = close,
  windows = api.nvim_list_wins,
  -- The buffer goes when nothing is asked any more.
  forget = function()
    if buffer and api.nvim_buf_is_valid(buffer) and vim.fn.bufwinid(buffer) < 0 then
      api.nvim_buf_delete(buffer, { force = true })
    end
  end,
}

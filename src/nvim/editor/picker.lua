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

-- Its list of items for choices hides the preview, unless the user has a layout of their own for it.
local function snacks_layout()
  local snacks = package.loaded["snacks"]
  local own = type(snacks) == "table"
    and vim.tbl_get(snacks, "config", "picker", "sources", "select", "layout")
  return not own and { preset = "select", hidden = { "none" } } or nil
end

local function add_preview(options, lines)
  -- Neovim 0.12 and fzf-lua look for a buffer in what this gives, mini.pick takes it for lines: it is both.
  local shown = setmetatable(vim.list_extend({}, lines), {
    __index = function(_, key)
      return key == "buf" and preview_buffer(lines) or key == "pos" and { 1, 0 } or nil
    end,
  })
  options.preview_item = function()
    return shown
  end
  options.snacks = {
    preview = function(context)
      context.preview:reset()
      context.preview:set_lines(lines)
      context.preview:highlight({ ft = "diff" })
    end,
    layout = snacks_layout(),
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
  fzf = function(buf)
    -- Not as a key: it may be a moment before those reach the program.
    vim.fn.chansend(vim.bo[buf].channel, "\3")
  end,
}

-- Closes what has opened since these windows were there, if the user is in it.
local function close(before)
  local win = api.nvim_get_current_win()
  local buf = api.nvim_win_get_buf(win)
  if vim.tbl_contains(before, win) then
    return
  end
  -- Those that are known may have a window of any kind; of the others, a window that floats is one.
  local closer = closers[vim.bo[buf].filetype]
  if closer and pcall(closer, buf) then
    return
  end
  if api.nvim_win_get_config(win).relative ~= "" then
    pcall(api.nvim_win_close, win, true)
  end
end

-- A list, unlike a line to search in, has no use for the insert mode that the user was in: keys would become text in it.
local function leave_insert()
  local floats = api.nvim_win_get_config(0).relative ~= ""
  local is_list = vim.bo.filetype == "DressingSelect" or vim.bo.buftype == "nofile" and not vim.bo.modifiable
  if floats and is_list and api.nvim_get_mode().mode:find("^i") then
    vim.cmd("stopinsert")
  end
end

-- The lines of pickers that filter their items a moment after the keys: what <CR> takes in between is what was the first
-- of all items.
local slow_lines = { TelescopePrompt = true, snacks_picker_input = true }

-- Follows what is typed into a picker's line. Gives what it is, or nothing where the buffer is no such line.
local function listen(buf)
  local typed = ""
  if not slow_lines[vim.bo[buf].filetype] then
    return nil
  end
  local function read()
    local line = table.concat(api.nvim_buf_get_lines(buf, 0, -1, false), " ")
    local prefix = vim.bo[buf].buftype == "prompt" and vim.fn.prompt_getprompt(buf) or ""
    typed = vim.startswith(line, prefix) and line:sub(#prefix + 1) or line
  end
  read()
  api.nvim_buf_attach(buf, false, { on_lines = read })
  return function()
    return typed
  end
end

-- Whether an item may be what was typed: its letters and digits are in there, in their order. What a pattern may say
-- beyond that (`!not this`, `one | other`) is not looked into.
local function fits(typed, item)
  if typed:find("|", 1, true) then
    return true
  end
  for word in typed:gmatch("%S+") do
    local at = 0
    for _, char in ipairs(word:find("^!") and {} or vim.fn.split(vim.fn.tolower(word), "\\zs")) do
      if char:find("^%w$") or #char > 1 then
        local _, found = vim.fn.tolower(item):find(char, at + 1, true)
        if not found then
          return false
        end
        at = found
      end
    end
  end
  return true
end

-- Opens the picker that is in the place of Neovim's own. One that gives an item that what was typed does not lead to was
-- not done with that: it is opened again.
local function ask(items, options, choose, notify)
  local typed
  local group = api.nvim_create_augroup("acp.picker", { clear = true })
  local waits
  local function chosen(item, index)
    -- It may have been for its one event.
    pcall(api.nvim_del_autocmd, waits)
    local text = index and typed and typed() or ""
    if index and items[index] and not fits(text, index .. " " .. items[index]) then
      notify(("%q does not lead to %s: choose once more"):format(text, items[index]), vim.log.levels.WARN)
      -- Once the picker that was answered has closed.
      return vim.schedule(function()
        ask(items, options, choose, notify)
      end)
    end
    choose(item, index)
  end
  -- Some open a moment later.
  waits = api.nvim_create_autocmd("FileType", {
    group = group,
    once = true,
    pattern = vim.tbl_keys(slow_lines),
    callback = function(event)
      typed = listen(event.buf)
    end,
  })
  vim.ui.select(items, vim.tbl_extend("force", {}, options), chosen)
  leave_insert()
  vim.schedule(leave_insert)
end

-- Whether Neovim's own picker is drawn by noice: in the middle of the screen, over what is asked about.
local function is_popup()
  local noice = package.loaded["noice.config"]
  return type(noice) == "table" and type(noice.is_running) == "function" and noice.is_running() == true
end

return {
  add_preview = add_preview,
  close = close,
  is_popup = is_popup,
  ask = ask,
  windows = api.nvim_list_wins,
  -- The buffer goes when nothing is asked any more.
  forget = function()
    if buffer and api.nvim_buf_is_valid(buffer) and vim.fn.bufwinid(buffer) < 0 then
      api.nvim_buf_delete(buffer, { force = true })
    end
  end,
}

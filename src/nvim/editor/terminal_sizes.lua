-- Terminals, the user's own and those of agents, while a chat comes or goes beside them: what runs in one draws all of
-- its screen anew for each size. So the windows of files give the chat its room, and take it back.

local api = vim.api

local function set(win, option, value)
  api.nvim_set_option_value(option, value, { scope = "local", win = win })
end

local function is_terminal(win)
  local buf = api.nvim_win_get_buf(win)
  return vim.bo[buf].buftype == "terminal" or vim.bo[buf].filetype == "acp-terminal"
end

-- The sizes of the chats' windows in this tab page.
local function chats()
  local sizes = {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local filetype = vim.bo[api.nvim_win_get_buf(win)].filetype
    if (filetype == "acp" or filetype == "acp-prompt") and api.nvim_win_get_config(win).relative == "" then
      sizes[win] = { api.nvim_win_get_width(win), api.nvim_win_get_height(win) }
    end
  end
  return sizes
end

-- Gives a terminal a size again, unless that takes room from a chat, or has it wider than it is to be.
local function resize(set_size, win, size)
  local before, back = chats(), vim.fn.winrestcmd()
  set_size(win, size)
  for chat, now in pairs(chats()) do
    if now[1] ~= before[chat][1] or now[2] < before[chat][2] then
      vim.cmd(back)
      return
    end
  end
end

-- Whether a window is one of several above each other ("col") or beside each other ("row").
local function is_split(layout, win, kind)
  if layout[1] == "leaf" then
    return false
  end
  for _, child in ipairs(layout[2]) do
    if child[1] == "leaf" and child[2] == win then
      return layout[1] == kind
    elseif is_split(child, win, kind) then
      return true
    end
  end
  return false
end

local function window_options(win)
  local options = {}
  for name, info in pairs(api.nvim_get_all_options_info()) do
    if info.scope == "win" then
      options[name] = api.nvim_get_option_value(name, { win = win, scope = "local" })
    end
  end
  return options
end

-- Gives windows of a buffer their views, each once there are the lines for it.
local function restore_views(buf, views)
  api.nvim_buf_attach(buf, false, {
    on_lines = function()
      local count = api.nvim_buf_line_count(buf)
      for win, view in pairs(views) do
        if view.lnum < count then
          views[win] = nil
          vim.schedule(function()
            if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf then
              api.nvim_win_call(win, function()
                vim.fn.winrestview(view)
              end)
            end
          end)
        end
      end
      return next(views) == nil
    end,
  })
end

return {
  -- Gives a window another height or width, each where the windows that it shares a column or a row with can give or
  -- take it: Neovim would resize the command line otherwise.
  resize_within = function(win, height, width)
    if not height and not width then
      return
    end
    local layout, cmdheight = vim.fn.winlayout(), vim.o.cmdheight
    if height and is_split(layout, win, "col") then
      resize(api.nvim_win_set_height, win, height)
    end
    if width and is_split(layout, win, "row") then
      resize(api.nvim_win_set_width, win, width)
    end
    if vim.o.cmdheight ~= cmdheight then
      vim.o.cmdheight = cmdheight
    end
  end,

  is_terminal = is_terminal,

  -- Has the windows of a terminal show another buffer in its place, as they are: their options, and, once its lines are
  -- there, their view.
  replace_terminal = function(old, new)
    local ignored = vim.o.eventignore
    vim.o.eventignore = "all"
    local last, views = api.nvim_buf_line_count(old), {}
    for _, win in ipairs(vim.fn.win_findbuf(old)) do
      local options, view = window_options(win), api.nvim_win_call(win, vim.fn.winsaveview)
      if options.winfixbuf then
        set(win, "winfixbuf", false)
      end
      api.nvim_win_call(win, function()
        vim.cmd("silent keepalt keepjumps buffer " .. new)
      end)
      for name, value in pairs(options) do
        set(win, name, value)
      end
      api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(new), 0 })
      -- At the end, a window goes along with what is written.
      if view.lnum < last then
        views[win] = view
      end
    end
    vim.o.eventignore = ignored
    if next(views) then
      restore_views(new, views)
    end
  end,

  -- Has the terminals of this tab page keep their sizes; gives what `release_terminals` takes.
  hold_terminals = function()
    local held = {}
    for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
      if is_terminal(win) and api.nvim_win_get_config(win).relative == "" then
        held[#held + 1] = {
          win = win,
          wide = vim.wo[win].winfixwidth,
          high = vim.wo[win].winfixheight,
          width = api.nvim_win_get_width(win),
          height = api.nvim_win_get_height(win),
        }
        set(win, "winfixwidth", true)
        set(win, "winfixheight", true)
      end
    end
    return held
  end,

  release_terminals = function(held)
    for _, terminal in ipairs(held) do
      if api.nvim_win_is_valid(terminal.win) then
        -- Where nothing but terminals was beside the chat, one of them had to change. The chat may have taken the window
        -- of another.
        local is_there = is_terminal(terminal.win)
        if is_there and api.nvim_win_get_width(terminal.win) ~= terminal.width then
          resize(api.nvim_win_set_width, terminal.win, terminal.width)
        end
        if is_there and api.nvim_win_get_height(terminal.win) ~= terminal.height then
          resize(api.nvim_win_set_height, terminal.win, terminal.height)
        end
        set(terminal.win, "winfixwidth", terminal.wide)
        set(terminal.win, "winfixheight", terminal.high)
      end
    end
  end,
}

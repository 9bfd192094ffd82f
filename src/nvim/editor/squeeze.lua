-- Windows that are squeezed. Where windows with a bar ('winbar') are low, Neovim may make room for another one so that
-- all of them are higher than the screen; drawing that, 0.11 may end (`grid_put_linebuf`). So low windows of ours have no
-- bar, and windows that do not fit are laid out anew. What the bars say is left to others.

local api = vim.api

-- Of fewer lines, the bar included, all are for text.
local LEAST = 3

local function is_ours(win)
  return vim.bo[api.nvim_win_get_buf(win)].filetype:find("^acp") ~= nil
end

local function set(win, option, value)
  api.nvim_set_option_value(option, value, { scope = "local", win = win })
end

-- Where the last line for windows is, from 0; `count` is how many there are.
local function last_line(count)
  local status = vim.o.laststatus
  local has_status = status > 1 or status == 1 and count > 1
  return vim.o.lines - vim.o.cmdheight - (has_status and 1 or 0)
end

-- Lays the windows out anew, with the sizes that they have as far as there is room.
local function lay_out(wins)
  local fixed = {}
  for _, win in ipairs(wins) do
    fixed[win] = vim.wo[win].winfixheight
    set(win, "winfixheight", false)
  end
  local before = vim.o.eadirection
  vim.o.eadirection = "ver"
  pcall(vim.cmd, "noautocmd wincmd =")
  vim.o.eadirection = before
  for win, was in pairs(fixed) do
    set(win, "winfixheight", was)
  end
end

-- A float of one row has none either: E36.
local function has_room(win)
  local height = api.nvim_win_get_height(win)
  return height >= LEAST or height > 1 and api.nvim_win_get_config(win).relative ~= ""
end

return {
  -- A bar for a window that has room for one.
  set_bar = function(win, bar)
    local text = has_room(win) and bar or ""
    if vim.wo[win].winbar ~= text then
      set(win, "winbar", text)
    end
  end,

  -- Whether one of these windows has no bar, or one that it has no room for.
  lacks_bar = function(wins)
    return vim.iter(wins):any(function(win)
      return (vim.wo[win].winbar ~= "") ~= has_room(win)
    end)
  end,

  -- To be called when windows have come or have other sizes, before they are drawn.
  keep_on_screen = function()
    local wins, bars, bottom = {}, {}, 0
    for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
      if api.nvim_win_get_config(win).relative == "" then
        wins[#wins + 1] = win
        local height = api.nvim_win_get_height(win)
        bottom = math.max(bottom, api.nvim_win_get_position(win)[1] + height)
        if vim.wo[win].winbar ~= "" and is_ours(win) then
          bars[win] = vim.wo[win].winbar
        end
      end
    end
    local overflows = bottom > last_line(#wins)
    for win in pairs(bars) do
      if overflows or not has_room(win) then
        set(win, "winbar", "")
      end
    end
    if overflows then
      lay_out(wins)
      for win, bar in pairs(bars) do
        set(win, "winbar", has_room(win) and bar or "")
      end
    end
  end,
}

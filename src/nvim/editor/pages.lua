-- Windows for pages, below all others: what they take from the others they give back when they are closed, and the
-- user is where they came from then. Neovim would choose a window beside the page's, after a floating one stood over it.
local api = vim.api

-- By the page's window: the windows that the user was in while it is open, the last one at the end.
local visited = {}

local function is_floating(win)
  return api.nvim_win_get_config(win).relative ~= ""
end

local function visit(page, win)
  if not visited[page] or win == page or is_floating(win) then
    return
  end
  local wins = vim.tbl_filter(function(other)
    return other ~= win
  end, visited[page])
  wins[#wins + 1] = win
  visited[page] = wins
end

-- By the page's window: its height, the screen's, and which part of that it has.
local shares = {}

-- Where the user was last of the windows that are still there.
local function last_visited(wins)
  for at = #wins, 1, -1 do
    local win = wins[at]
    if api.nvim_win_is_valid(win) and api.nvim_win_get_tabpage(win) == api.nvim_get_current_tabpage() then
      return win
    end
  end
end

-- Which windows there are, and the room that they share.
local function arrangement()
  return { api.nvim_get_current_tabpage(), vim.fn.winlayout(), vim.o.lines, vim.o.columns }
end

-- Not by winrestcmd(), which goes by the windows' numbers: a floating window that is gone has had one.
local function sizes()
  local all = {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if not is_floating(win) then
      all[#all + 1] = { win, api.nvim_win_get_width(win), api.nvim_win_get_height(win) }
    end
  end
  return all
end

local function restore_sizes(all)
  -- Each takes from its neighbours, so that the first ones are right after the second time only.
  for _ = 1, 2 do
    for _, size in ipairs(all) do
      local win, width, height = unpack(size)
      api.nvim_win_set_height(win, height)
      api.nvim_win_set_width(win, width)
    end
  end
end

local function go_back(wins)
  local win = last_visited(wins)
  if win then
    api.nvim_set_current_win(win)
  end
end

return {
  -- Opens a window of so many rows, and goes there. The others have the sizes again that they had when it is closed,
  -- unless windows came or went meanwhile.
  split_for_page = function(rows)
    local before, had = arrangement(), sizes()
    local from = api.nvim_get_current_win()
    vim.cmd(("botright %dsplit"):format(rows))
    local page = api.nvim_get_current_win()
    -- From a prompt by |i_CTRL-O|, or by a mapping: a page is read, and its keys are those of normal mode.
    vim.cmd("stopinsert")
    visited[page] = {}
    visit(page, from)
    local group = api.nvim_create_augroup("acp.page." .. page, { clear = true })
    api.nvim_create_autocmd("WinLeave", {
      group = group,
      callback = function()
        visit(page, api.nvim_get_current_win())
      end,
    })
    api.nvim_create_autocmd("WinClosed", {
      group = group,
      pattern = tostring(page),
      callback = function()
        api.nvim_del_augroup_by_id(group)
        local wins = visited[page]
        visited[page], shares[page] = nil, nil
        local was_in_it = api.nvim_get_current_win() == page
        vim.schedule(function()
          if vim.deep_equal(before, arrangement()) then
            restore_sizes(had)
          end
          if was_in_it and wins then
            go_back(wins)
          end
        end)
      end,
    })
    return page
  end,

  -- Gives pages the same part of a screen that is lower or higher than before: Neovim takes what is missing from the lowest
  -- windows, which pages are. To be called when windows have other sizes.
  keep_page_shares = function()
    for page in pairs(visited) do
      local is_here = api.nvim_win_is_valid(page)
        and api.nvim_win_get_tabpage(page) == api.nvim_get_current_tabpage()
      if is_here and not is_floating(page) then
        local known = shares[page]
        if known and known.lines ~= vim.o.lines then
          api.nvim_win_set_height(page, math.max(math.floor(known.share * vim.o.lines + 0.5), 1))
        end
        local height = api.nvim_win_get_height(page)
        local is_users = not known or known.lines == vim.o.lines and known.height ~= height
        local share = is_users and height / vim.o.lines or known.share
        shares[page] = { height = height, lines = vim.o.lines, share = share }
      end
    end
  end,

  -- Closes the window of a page that the user is in; where it is the last one, the page goes and a file takes its place.
  close_page = function()
    local page = api.nvim_get_current_win()
    local wins = visited[page] or { vim.fn.win_getid(vim.fn.winnr("#")) }
    -- What comes after this may go to another window.
    visited[page] = nil
    local ok, err = pcall(vim.cmd, "silent close")
    if ok then
      go_back(wins)
    elseif tostring(err):find("E444:", 1, true) then
      vim.cmd("silent bdelete")
    else
      error(err, 0)
    end
  end,
}

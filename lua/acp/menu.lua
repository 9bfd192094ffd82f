--- What `:Acp` alone shows where there is no picker but Neovim's own: all subcommands on one small page, those for the
--- same thing in a row. Under them stands what the one at the cursor does; <CR> runs it.

local api = vim.api

local M = {}

---@class acp.Group
---@field name string
---@field subcommands acp.Subcommand[]

--- The subcommands by what they are for, in the order of the first of each group; those of no group come last.
---@param subcommands acp.Subcommand[]
---@return acp.Group[]
function M.groups(subcommands)
  local order = { "Chat", "Ask", "Answer", "Review", "Follow", "Settings", "Agent", "Plugin", "More" }
  local groups = {}
  for _, name in ipairs(order) do
    local of_group = vim.tbl_filter(function(subcommand)
      return subcommand.group == name
    end, subcommands)
    if #of_group > 0 then
      groups[#groups + 1] = { name = name, subcommands = of_group }
    end
  end
  return groups
end

---@class acp.MenuWord
---@field row integer from 1
---@field from integer the byte it begins at, from 0
---@field to integer the byte after it
---@field subcommand acp.Subcommand

--- The lines of the page, at most this many cells wide, and where its words are.
---@param groups acp.Group[]
---@param width integer
---@return string[] lines
---@return acp.MenuWord[] words
local function layout(groups, width)
  local lines, words = {}, {}
  for _, group in ipairs(groups) do
    local line = (" %-9s"):format(group.name)
    for _, subcommand in ipairs(group.subcommands) do
      -- A blank before the border, as behind the one at the left.
      if #line + 2 + #subcommand.name + 1 > width and #line > 10 then
        lines[#lines + 1] = line
        line = (" "):rep(10)
      end
      local from = #line + 2
      line = line .. "  " .. subcommand.name
      words[#words + 1] = { row = #lines + 1, from = from, to = #line, subcommand = subcommand }
    end
    lines[#lines + 1] = line
  end
  return lines, words
end

-- A text in lines of at most `width` cells, two of them.
local function wrapped(text, width)
  local lines = { "" }
  for word in text:gmatch("%S+") do
    local last = lines[#lines]
    if last ~= "" and #last + 1 + #word > width then
      lines[#lines + 1] = word
    else
      lines[#lines] = last == "" and word or last .. " " .. word
    end
  end
  return { lines[1], lines[2] or "" }
end

--- Shows the page; `choose` gets the subcommand that the user takes.
---@param groups acp.Group[]
---@param choose fun(subcommand: acp.Subcommand)
function M.open(groups, choose)
  local width = math.max(math.min(vim.o.columns - 4, 76), 24)
  local lines, words = layout(groups, width)
  local about = #lines + 2
  vim.list_extend(
    lines,
    { "", "", "", " <CR> runs it · <Tab> goes on · q closes this · :help acp-commands" }
  )
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  local ns = api.nvim_create_namespace("acp.menu")
  for row = 1, about - 2 do
    api.nvim_buf_set_extmark(buf, ns, row - 1, 0, { end_col = 10, hl_group = "Title" })
  end
  api.nvim_buf_set_extmark(buf, ns, #lines - 1, 0, { end_col = #lines[#lines], hl_group = "Comment" })
  vim.bo[buf].modifiable = false
  local height = math.max(math.min(#lines, vim.o.lines - 4), 1)
  local win = api.nvim_open_win(buf, true, {
    relative = "editor",
    row = math.max(math.floor((vim.o.lines - height) / 2) - 1, 0),
    col = math.max(math.floor((vim.o.columns - width) / 2) - 1, 0),
    width = width,
    height = height,
    style = "minimal",
    border = "rounded",
    title = " :Acp ",
  })
  vim.wo[win].wrap = false
  -- Where the colours of what stands in it can be read.
  local background = "NormalFloat:Normal,FloatBorder:Normal"
  api.nvim_set_option_value("winhighlight", background, { win = win, scope = "local" })
  local at, mark = 1, nil

  local function show(index)
    at = (index - 1) % #words + 1
    local word = words[at]
    vim.bo[buf].modifiable = true
    local said = vim.tbl_map(function(line)
      return " " .. line
    end, wrapped(word.subcommand.about, width - 2))
    api.nvim_buf_set_lines(buf, about - 1, about + 1, false, said)
    vim.bo[buf].modifiable = false
    mark = api.nvim_buf_set_extmark(buf, ns, word.row - 1, word.from, {
      id = mark,
      end_col = word.to,
      hl_group = "Visual",
    })
    api.nvim_win_set_cursor(win, { word.row, word.from })
  end

  -- The word that the cursor has come to: in its line the nearest one.
  local function follow()
    local row, column = unpack(api.nvim_win_get_cursor(win))
    local before = words[at]
    if row == before.row and column >= before.from and column < before.to then
      -- Within the word: to the next one in that direction.
      if column > before.from then
        return show(at + 1)
      end
      return
    elseif row == before.row and column == before.from - 1 then
      return show(at - 1)
    end
    local best, distance
    for index, word in ipairs(words) do
      local away = math.abs(word.row - row) * 1000 + math.abs(word.from - column)
      if not distance or away < distance then
        best, distance = index, away
      end
    end
    show(best)
  end

  local function close()
    if api.nvim_win_is_valid(win) then
      api.nvim_win_close(win, true)
    end
  end
  local function map(keys, fn)
    for _, key in ipairs(keys) do
      vim.keymap.set("n", key, fn, { buffer = buf, nowait = true })
    end
  end
  map({ "q", "<Esc>" }, close)
  map({ "<CR>", "<2-LeftMouse>" }, function()
    local subcommand = words[at].subcommand
    close()
    choose(subcommand)
  end)
  map({ "g?" }, function()
    local keys = "<CR> runs it, <Tab> and <S-Tab> move, q closes"
    require("acp.notify").show(keys, vim.log.levels.INFO)
  end)
  map({ "<Tab>", "w" }, function()
    show(at + 1)
  end)
  map({ "<S-Tab>", "b" }, function()
    show(at - 1)
  end)
  api.nvim_create_autocmd("CursorMoved", { buffer = buf, callback = follow })
  api.nvim_create_autocmd("WinLeave", { buffer = buf, once = true, callback = vim.schedule_wrap(close) })
  show(1)
end

return M

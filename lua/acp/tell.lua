--- How the user is told something. Where `vim.notify` is Neovim's own, by what never has Neovim wait for a
--- key: an error of its kind would, after another message, and it holds the editor for a second while
--- somebody types. Who types does not see messages, since Neovim shows the mode there: a line that floats
--- over the text says it then, for a while.

local api = vim.api

local groups = { [3] = "WarningMsg", [4] = "ErrorMsg" }
-- What comes within so many milliseconds is shown in one line, and how long a line floats.
local together, lasting = 50, 6000

-- What is to be told, what was in the last moment, what floats for a while, what floats until it is taken back, and
-- the float.
local waiting, told, passing, sign, float = {}, {}, nil, nil, nil
-- The autocommand that waits for a moment in which messages can be shown.
local postponed

local function width(text)
  return vim.fn.strdisplaywidth(text)
end

local function length(chunks)
  local all = 0
  for _, chunk in ipairs(chunks) do
    all = all + width(chunk[1])
  end
  return all
end

-- As much of the chunks as has room; the last cells say where the rest is.
local function fit(chunks, room)
  if length(chunks) <= room then
    return chunks
  end
  local more = room > 40 and "… :messages" or "…"
  -- On a narrow screen there may be none left, which is no length for printf().
  local left, kept = math.max(room - width(more), 0), {}
  for _, chunk in ipairs(chunks) do
    local text = vim.fn.printf("%." .. left .. "S", chunk[1])
    left = left - width(text)
    kept[#kept + 1] = { text, chunk[2] }
    if left <= 0 or text ~= chunk[1] then
      break
    end
  end
  kept[#kept + 1] = { more, "Comment" }
  return kept
end

-- A text in pieces that have room, broken between words where that can be.
local function pieces(text, room)
  local all = {}
  while width(text) > room do
    local head = vim.fn.printf("%." .. room .. "S", text)
    local space = head:find(" [^ ]*$")
    if space and space > #head / 2 then
      head = head:sub(1, space)
    end
    all[#all + 1] = head
    text = text:sub(#head + 1)
  end
  all[#all + 1] = text
  return all
end

-- The messages of one moment as one: the newest where they have no room together.
local function joined(room)
  local chunks = {}
  for index, message in ipairs(told) do
    chunks[index] = { (index == 1 and "acp: " or "; ") .. message[1], message[2] }
  end
  if #told > 1 and length(chunks) > room then
    local newest = told[#told]
    local others = (" (+%d in :messages)"):format(#told - 1)
    chunks = fit({ { "acp: " .. newest[1], newest[2] } }, room - width(others))
    chunks[#chunks + 1] = { others, "Comment" }
  end
  return chunks
end

local function close()
  if float and api.nvim_win_is_valid(float) then
    pcall(api.nvim_win_close, float, true)
  end
  float = nil
end

local function floats_here()
  local tab = float and api.nvim_win_is_valid(float) and api.nvim_win_get_tabpage(float)
  return tab == api.nvim_get_current_tabpage()
end

-- One line over the last of the text, or the first where the cursor is in its way. Who is told something in the midst
-- of what allows no window (E565) is not shown it.
local function show_float()
  close()
  local chunks = passing or sign
  if not chunks then
    return
  end
  chunks = fit(chunks, vim.o.columns - 2)
  local last = vim.o.lines - vim.o.cmdheight - (vim.o.laststatus > 0 and 1 or 0) - 1
  local wide = length(chunks) + 2
  local hidden = vim.fn.screenrow() - 1 >= last and vim.fn.screencol() > vim.o.columns - wide
  pcall(function()
    local buf = api.nvim_create_buf(false, true)
    vim.bo[buf].bufhidden = "wipe"
    local text, marks, from = " ", {}, 1
    for _, chunk in ipairs(chunks) do
      text = text .. chunk[1]
      marks[#marks + 1] = { from, #text, chunk[2] }
      from = #text
    end
    api.nvim_buf_set_lines(buf, 0, -1, false, { text .. " " })
    local ns = api.nvim_create_namespace("acp.told")
    for _, mark in ipairs(marks) do
      if mark[3] then
        api.nvim_buf_set_extmark(buf, ns, 0, mark[1], { end_col = mark[2], hl_group = mark[3] })
      end
    end
    -- Neovim says which file a window has, without this flag, and waits for a key where that is too long.
    local before = vim.o.shortmess
    vim.o.shortmess = before:find("F") and before or before .. "F"
    local ok, win = pcall(api.nvim_open_win, buf, false, {
      relative = "editor",
      row = hidden and 1 or last,
      col = vim.o.columns - wide,
      width = wide,
      height = 1,
      style = "minimal",
      focusable = false,
      noautocmd = true,
      zindex = 60,
    })
    vim.o.shortmess = before
    float = ok and win or nil
  end)
end

-- Draws a float also where Neovim would not before the next key.
local function flush()
  if api.nvim__redraw then
    api.nvim__redraw({ flush = true })
  elseif not api.nvim_get_mode().mode:find("^c") then
    vim.cmd.redraw()
  end
end

local function float_for_a_while(chunks)
  passing = chunks
  show_float()
  vim.defer_fn(function()
    if passing == chunks then
      passing = nil
      show_float()
    end
  end, lasting)
end

-- Whether messages are on Neovim's own command line: a screen that draws them itself has room for all.
local function has_command_line()
  local uis = api.nvim_list_uis()
  for _, ui in ipairs(uis) do
    if ui.ext_messages then
      return false
    end
  end
  return #uis > 0
end

local function is_neovims_own(notify)
  local source = debug.getinfo(notify, "S").source
  return source == "?" or source:find("^@vim/") ~= nil
end

local deliver, show

-- Whether a message can be shown without a key that Neovim would wait for after it. While it waits for a part of a
-- command (`getchar()`, an operator's motion, a command line) a message would scroll the screen, or stand in what is
-- being typed. A terminal is never safe by Neovim's word (`:help SafeState`).
local function is_safe()
  local mode = api.nvim_get_mode()
  return not mode.blocking
    and not mode.mode:find("^[cr]")
    and (mode.mode:find("^t") ~= nil or not vim.fn.state():find("[moasxS]"))
end

-- What is told in the midst of a command floats, and is a message once the command is over.
local function deliver_later()
  local chunks = {}
  for index, message in ipairs(waiting) do
    chunks[index] = { (index == 1 and "acp: " or "; ") .. message[1], message[2] }
  end
  float_for_a_while(chunks)
  pcall(flush)
  if postponed then
    return
  end
  postponed = api.nvim_create_autocmd("SafeState", {
    callback = function()
      if postponed and not api.nvim_get_mode().mode:find("^[cr]") then
        api.nvim_del_autocmd(postponed)
        postponed = nil
        vim.schedule(deliver)
      end
    end,
  })
end

-- Shows what has been told since the last time. What fails in here would be a message itself, and a long one.
function deliver()
  local ok, why = pcall(show)
  if not ok then
    waiting = {}
    api.nvim_echo({ { tostring(why):sub(1, math.max(vim.v.echospace, 8)), "ErrorMsg" } }, true, {})
  end
end

function show()
  if #waiting == 0 then
    return
  elseif not is_safe() then
    return deliver_later()
  end
  -- Each row but the last may lose a cell: a character that is two cells wide is not cut in two.
  local room = math.max(vim.v.echospace, 8) + math.max(vim.o.cmdheight - 1, 0) * (vim.o.columns - 1)
  local mode = api.nvim_get_mode().mode
  -- What somebody else wrote just now would be scrolled up by this, and Neovim wait for a key.
  pcall(vim.cmd.redraw)
  local worst = 0
  for _, message in ipairs(waiting) do
    for _, piece in ipairs(pieces("acp: " .. message[1], room)) do
      api.nvim_echo({ { piece, message[2] } }, true, {})
    end
    told[#told + 1] = message
    worst = math.max(worst, message[3])
  end
  waiting = {}
  local now = told
  vim.defer_fn(function()
    if told == now then
      told = {}
    end
  end, together)
  -- Without a trace in the history, which has each message as it is.
  api.nvim_echo(fit(joined(room), room), false, {})
  if mode:find("^[iRt]") and vim.o.showmode and (worst == vim.log.levels.ERROR or not sign) then
    float_for_a_while(joined(vim.o.columns - 2))
  end
end

local M = {}

--- Tells the user something, in one line.
---@param text string
---@param level integer one of `vim.log.levels`
function M.notify(text, level)
  if not is_neovims_own(vim.notify) then
    vim.notify("acp: " .. text, level, { title = "acp" })
    return
  end
  text = text:gsub("%c", " ")
  if not has_command_line() then
    api.nvim_echo({ { "acp: " .. text, groups[level] } }, true, {})
    return
  end
  waiting[#waiting + 1] = { text, groups[level], level }
  if #waiting == 1 or postponed then
    -- Not within a command, whose messages stand one below the other.
    vim.schedule(deliver)
  end
end

--- A function for Neovim to call back. An error that left it would be shown with its trace, over several lines, and
--- Neovim would wait for a key.
---@param fn function
---@return function
function M.guarded(fn)
  return function(...)
    local ok, result = pcall(fn, ...)
    if ok then
      return result
    end
    M.notify(vim.split(tostring(result), "\n", { trimempty = true })[1] or "", vim.log.levels.ERROR)
  end
end

--- What stays on the screen for somebody who types, until it is nil.
---@param text string?
function M.sign(text)
  local before = sign and sign[1][1]
  if text ~= before or text and not floats_here() then
    sign = text and { { text, "WarningMsg" } }
    show_float()
  end
end

return M

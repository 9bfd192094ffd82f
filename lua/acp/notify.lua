--- Shows messages without ever causing a hit-enter prompt. `vim.notify` itself can: an error after another message
--- scrolls the screen, and in insert mode it blocks the editor for a second. So it is used only where another plugin has
--- replaced it. In insert mode Neovim draws the mode over messages, and where 'cmdheight' is 0 the text; there a floating line
--- shows them for a while.

local api = vim.api

local groups = { [3] = "WarningMsg", [4] = "ErrorMsg" }
-- Milliseconds: messages this close together share a line, and a floating line stays this long.
local together, lasting = 50, 6000
-- Cells: a command line that has fewer shows nothing that one could read.
local LEAST_ROOM = 8

-- Messages still to be shown, those shown a moment ago, the line that floats for a while, the one that floats until it
-- is taken back, and the floating window.
local waiting, recent, passing, lasting_line, float = {}, {}, nil, nil, nil
-- The autocommand that waits until messages can be shown, and what floats until then.
local postponed, meanwhile

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

-- What is left of a message's beginning, at least.
local LEAST_HEAD = 16

-- A word that is longer than this is cut itself.
local LONGEST_WORD = 16

-- The beginning of a text in at most `room` cells, without the word that it would end in the middle of.
local function beginning(text, room)
  local head = vim.fn.printf("%." .. math.max(room, 0) .. "S", text)
  if head == text or text:sub(#head + 1, #head + 1) == " " then
    return head
  end
  local space = head:find(" [^ ]*$")
  return space and #head - space <= LONGEST_WORD and head:sub(1, space) or head
end

-- How a text ends, in at most `room` cells: with what to do about it, which is its last clause.
local function ending(text, room)
  for _, mark in ipairs({ "; ", "%. ", ": ", ", " }) do
    local at = text:find(mark .. "[^" .. mark:sub(-2, -2) .. "]*$")
    if at and width(text:sub(at)) <= room then
      return text:sub(at)
    elseif at and mark == "; " then
      -- Of a long clause the end is what one can do without.
      return ""
    end
  end
  local from = math.max(vim.fn.strchars(text) - room, 0)
  local tail = vim.fn.strcharpart(text, from)
  while width(tail) > room do
    tail = vim.fn.strcharpart(tail, 1)
  end
  -- Not from the middle of a word.
  local space = tail:find(" ", 1, true)
  return space and space <= LONGEST_WORD and tail:sub(space) or tail
end

-- What a text says to do: the clause with its first command, such as `; :Acp answer decides`, and where the command ends.
local function what_to_do(text)
  local at, stop = text:find("[ (]:%a+!? ?%a*")
  if not at then
    return nil
  end
  local from = at
  for _, mark in ipairs({ "; ", "%. ", ": ", ", ", " %(" }) do
    local before = text:sub(1, at):find(mark .. "[^;.:,(]*$")
    if before then
      from = from == at and before or math.max(from, before)
    end
  end
  return text:sub(from), stop
end

-- How a text is cut that has no room: its beginning and its end. What to do stays, also where little is left of the rest.
local function halves(text, room)
  local clause, stop = what_to_do(text)
  if clause and (width(clause) <= room - LEAST_HEAD or width(text:sub(1, stop)) > room) then
    local tail = beginning(clause, room - LEAST_HEAD)
    local head = beginning(text, room - width(tail))
    -- A long name is cut itself rather than left out.
    return width(head) < LEAST_HEAD and vim.fn.printf("%." .. room - width(tail) .. "S", text) or head,
      tail,
      true
  elseif clause then
    -- What to do begins with the command: of a long clause the end is what one can do without.
    return beginning(text, room), "", true
  end
  local tail = ending(text, math.floor(room / 2))
  return beginning(text, room - width(tail)), tail, false
end

-- What a sentence says the opposite without.
local DENIALS = { " no ", " not ", " never ", " nothing ", " none ", " without ", "n't " }

-- The end of a text from the word before a denial that would be left out between its head and its tail; nothing if none
-- would.
local function from_denial(text, head, tail)
  local last
  for _, denial in ipairs(DENIALS) do
    local at = text:find(denial, 1, true)
    while at do
      if at + #denial > #head and at <= #text - #tail and at > (last or 0) then
        last = at
      end
      at = text:find(denial, at + 1, true)
    end
  end
  local before = last and text:sub(1, last - 1):find(" [^ ]*$")
  return before and text:sub(before)
end

-- A text up to the end of the quoted name that its head ends in the middle of; nothing if there is none.
local function to_end_of_name(text, head)
  local _, quotes = head:gsub('"', "")
  local last = quotes % 2 == 1 and text:find('"', #head + 1, true)
  return last and text:sub(1, last)
end

-- The chunks cut to `room` cells; the last cells say where the rest is, unless something else does. Of a single message
-- the end stays, too.
local function fit(chunks, room, is_told)
  if length(chunks) <= room then
    return chunks
  end
  if #chunks == 1 and room > 40 then
    local text, group = unpack(chunks[1])
    local more = is_told and "" or " :messages"
    local left = room - width(more) - 1
    local head, tail, is_told_what_to_do = halves(text, left)
    if is_told_what_to_do then
      return { { head .. "…" .. tail, group }, { more, "Comment" } }
    end
    local named = to_end_of_name(text, head)
    if named and width(named) <= left then
      head, tail = named, ending(text, left - width(named))
    end
    local denied = from_denial(text, head, tail)
    if denied then
      -- Where there is no room for all of that, the end is what is left out.
      tail = width(denied) <= left - LEAST_HEAD and denied or ""
      head = beginning(text, left - width(tail))
    end
    return { { head .. "…" .. tail, group }, { more, "Comment" } }
  end
  local more = room > 40 and "… :messages" or "…"
  -- A narrow screen may leave none; printf() takes no negative length.
  local left, kept = math.max(room - width(more), 0), {}
  for _, chunk in ipairs(chunks) do
    local text = beginning(chunk[1], left)
    left = left - width(text)
    kept[#kept + 1] = { text, chunk[2] }
    if left <= 0 or text ~= chunk[1] then
      break
    end
  end
  kept[#kept + 1] = { more, "Comment" }
  return kept
end

-- Splits a text into pieces of at most `room` cells, between words where possible.
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

-- Joins the recent messages into one; the newest alone if they do not fit.
local function joined(room)
  local chunks = {}
  for index, message in ipairs(recent) do
    chunks[index] = { (index == 1 and "acp: " or "; ") .. message[1], message[2] }
  end
  if #recent > 1 and length(chunks) > room then
    local newest = recent[#recent]
    local others = (" (+%d in :messages)"):format(#recent - 1)
    chunks = fit({ { "acp: " .. newest[1], newest[2] } }, room - width(others), true)
    chunks[#chunks + 1] = { others, "Comment" }
  end
  return chunks
end

-- The cells of a line that snacks' notifier shows, which cuts what is longer; nothing where something else shows messages.
local function line_of_snacks()
  -- Some plugins put a table there that can be called.
  local source = type(vim.notify) == "function" and debug.getinfo(vim.notify, "S").source or ""
  return source:find("snacks", 1, true) and math.max(math.floor(vim.o.columns * 0.4) - 2, 24) or nil
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

-- One line over the last line of the text, or over the first if the cursor is in the way. Shows nothing where no window
-- may be opened (E565).
local function show_float()
  close()
  local chunks = passing or lasting_line
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
    -- Without this flag Neovim names the window's file, which can cause a hit-enter prompt.
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
      -- Over the messages of noice, which stand in the same line, and those of snacks, which fill the column; but not over
      -- a completion menu (100) without need.
      zindex = line_of_snacks() and 101 or 65,
    })
    vim.o.shortmess = before
    float = ok and win or nil
  end)
end

-- Draws a float even where Neovim would only do so at the next key.
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

-- What draws messages in windows of its own, from inside Neovim: they are not among its UIs.
local function has_message_windows()
  for _, name in ipairs({ "vim._core.ui2", "vim._extui.shared" }) do
    local ui2 = package.loaded[name]
    if type(ui2) == "table" and vim.tbl_get(ui2, "cfg", "enable") ~= false and vim.tbl_get(ui2, "cfg") then
      return true
    end
  end
  local noice = package.loaded["noice.config"]
  return type(noice) == "table" and type(noice.is_running) == "function" and noice.is_running() == true
end

-- Whether Neovim draws messages on its own command line; whatever else draws them has room for all of them, and shows
-- what is said twice twice.
local function has_command_line()
  if has_message_windows() then
    return false
  end
  local uis = api.nvim_list_uis()
  for _, ui in ipairs(uis) do
    if ui.ext_messages then
      return false
    end
  end
  return #uis > 0
end

-- `vim.schedule_wrap()` and its like make functions that are Neovim's, too: those hold a plugin's.
local function is_neovims_own(notify)
  if type(notify) ~= "function" then
    return false
  end
  local info = debug.getinfo(notify, "Su")
  for number = 1, info.nups do
    local _, held = debug.getupvalue(notify, number)
    if type(held) == "function" then
      return false
    end
  end
  return info.source == "?" or info.source:find("^@vim/") ~= nil
end

local deliver, show

-- Whether a message can be shown without a hit-enter prompt. While Neovim waits for the rest of a command (`getchar()`,
-- an operator's motion, a command line) a message would scroll the screen or end up in what is being typed. Neovim never
-- calls a terminal safe (`:help SafeState`).
local function is_safe()
  local mode = api.nvim_get_mode()
  return not mode.blocking
    and not mode.mode:find("^[cr]")
    and (mode.mode:find("^t") ~= nil or not vim.fn.state():find("[moasxS]"))
end

-- In the middle of a command the message floats; it becomes a real message when the command is over.
local function deliver_later()
  local chunks = {}
  for index, message in ipairs(waiting) do
    chunks[index] = { (index == 1 and "acp: " or "; ") .. message[1], message[2] }
  end
  float_for_a_while(chunks)
  meanwhile = chunks
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

-- The cells of the last line that Neovim has for messages. It counts the ruler only where no window has a status line, but
-- draws it there, too, while the user is in a window that floats, which has none.
local function last_line_room()
  local floats = api.nvim_win_get_config(0).relative ~= ""
  if not floats or not vim.o.ruler or vim.o.laststatus == 3 then
    return vim.v.echospace
  end
  local ruler = tonumber(vim.o.rulerformat:match("^%%%-?(%d+)%(")) or 18
  return math.min(vim.v.echospace, vim.o.columns - ruler - 2)
end

-- How many cells a message may have. Each row but the last may lose one to a character that is two cells wide.
local function echo_room()
  return math.max(last_line_room(), 1) + math.max(vim.o.cmdheight - 1, 0) * (vim.o.columns - 1)
end

-- Gives messages room while something is shown, where 'showcmd' and 'ruler' take all of a narrow screen's last line: what
-- does not fit beside them makes Neovim wait for a key.
local function with_room(work)
  local set = {}
  for _, name in ipairs(last_line_room() < LEAST_ROOM and { "showcmd", "ruler" } or {}) do
    if vim.o[name] then
      set[#set + 1] = name
      vim.cmd("noautocmd set no" .. name)
    end
  end
  local ok, why = pcall(work)
  for _, name in ipairs(set) do
    vim.cmd("noautocmd set " .. name)
  end
  if not ok then
    error(why, 0)
  end
end

-- Shows what is waiting. An error in here would itself be a message, and a long one.
function deliver()
  local ok, why = pcall(show)
  if not ok then
    waiting = {}
    with_room(function()
      api.nvim_echo({ { tostring(why):sub(1, math.max(last_line_room(), 0)), "ErrorMsg" } }, true, {})
    end)
  end
end

function show()
  if #waiting == 0 then
    return
  elseif not is_safe() then
    return deliver_later()
  end
  local mode = api.nvim_get_mode().mode
  -- A message that somebody else has just shown would be scrolled up: a hit-enter prompt.
  pcall(vim.cmd.redraw)
  local worst = 0
  for _, message in ipairs(waiting) do
    recent[#recent + 1] = message
    worst = math.max(worst, message[3])
  end
  -- Without a line for them messages are gone with the next redraw.
  local is_drawn_over = vim.o.cmdheight == 0 or mode:find("^[iRt]") and vim.o.showmode
  local floats = is_drawn_over and (worst == vim.log.levels.ERROR or not lasting_line)
  if floats then
    float_for_a_while(joined(vim.o.columns - 2))
  elseif meanwhile and passing == meanwhile then
    -- What floated in the middle of a command is a message now.
    passing = nil
    show_float()
  end
  meanwhile = nil
  with_room(function()
    local room = echo_room()
    for _, message in ipairs(waiting) do
      for _, piece in ipairs(pieces("acp: " .. message[1], room)) do
        api.nvim_echo({ { piece, message[2] } }, true, {})
      end
    end
    -- Not into the history, which has each message in full; and not twice on the screen.
    api.nvim_echo(floats and float and { { "" } } or fit(joined(room), room), false, {})
  end)
  waiting = {}
  local now = recent
  vim.defer_fn(function()
    if recent == now then
      recent = {}
    end
  end, together)
end

local M = {}

--- Shows a message of one line.
---@param text string
---@param level integer one of `vim.log.levels`
function M.show(text, level)
  if not is_neovims_own(vim.notify) then
    -- Without a title, which not all of them show, and those that do would say it twice.
    local room = line_of_snacks()
    text = "acp: " .. text
    vim.notify(room and table.concat(pieces(text, room), "\n") or text, level)
    return
  end
  text = text:gsub("%c", " ")
  if not has_command_line() then
    api.nvim_echo({ { "acp: " .. text, groups[level] } }, true, {})
    return
  end
  waiting[#waiting + 1] = { text, groups[level], level }
  if #waiting == 1 or postponed then
    -- Not inside a command: its messages would stand one below the other.
    vim.schedule(deliver)
  end
end

--- Wraps a callback for Neovim. An error that leaves one is shown with its trace, over several lines: a hit-enter
--- prompt.
---@param fn function
---@return function
function M.guarded(fn)
  return function(...)
    local ok, result = pcall(fn, ...)
    if ok then
      return result
    end
    M.show(vim.split(tostring(result), "\n", { trimempty = true })[1] or "", vim.log.levels.ERROR)
  end
end

-- The questions that the user was told of, as they stand among the messages.
local asked = {}

--- Says something about questions that wait for the user, until none does.
---@param text string
---@param level integer one of `vim.log.levels`
function M.ask(text, level)
  asked[#asked + 1] = "acp: " .. text:gsub("%c", " ")
  M.show(text, level)
end

--- Nothing waits for the user any more: what said so goes, unless something else has taken its place already.
function M.answered()
  local told = asked
  asked = {}
  if #told == 0 or not is_neovims_own(vim.notify) then
    return
  end
  local function is_about(text)
    for _, question in ipairs(told) do
      if text ~= "" and vim.endswith(question, text) then
        return true
      end
    end
    return false
  end
  waiting = vim.tbl_filter(function(message)
    return not is_about("acp: " .. message[1])
  end, waiting)
  for at = #recent, 1, -1 do
    if is_about("acp: " .. recent[at][1]) then
      table.remove(recent, at)
    end
  end
  if passing and is_about(passing[1][1]) then
    passing = nil
    show_float()
  end
  -- Not inside a command, which is no safe place for it.
  vim.schedule(function()
    if not has_command_line() or not is_safe() or api.nvim_get_mode().mode:find("^[iRt]") then
      return
    end
    if is_about(vim.fn.execute("messages"):match("[^\n]*$")) then
      api.nvim_echo({ { "" } }, false, {})
    end
  end)
end

--- Keeps a floating line on the screen until it is called with nil.
---@param text string?
function M.float(text)
  local before = lasting_line and lasting_line[1][1]
  if text ~= before or text and not floats_here() then
    lasting_line = text and { { text, "WarningMsg" } }
    show_float()
  end
end

return M

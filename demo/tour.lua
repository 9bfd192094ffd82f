-- Plays the tour of the demo agent without anyone at the keyboard, then says for each step of it whether
-- Neovim shows what it should. Prints the transcript and a line per step; leaves with 0 when all is
-- well, with 1 when a step failed. Run by `require("acp-demo").check()`, see init.lua, which hands over its start.

local start = ...

local DEADLINE = 120000

vim.env.ACP_DEMO_SPEED = vim.env.ACP_DEMO_SPEED or "3"

local function say(text)
  io.stdout:write(text, "\n")
end

-- What happened, by event: a list of the events' data.
local seen = {}
for _, name in ipairs({
  "AcpOpened",
  "AcpPromptSent",
  "AcpTurnEnded",
  "AcpPermissionAsked",
  "AcpPermissionAnswered",
  "AcpFileChanged",
  "AcpTerminalStarted",
  "AcpLocation",
  "AcpFailed",
}) do
  seen[name] = {}
  vim.api.nvim_create_autocmd("User", {
    pattern = name,
    callback = function(event)
      table.insert(seen[name], event.data or {})
    end,
  })
end

local project

--- Whether the buffer shows a diff: virtual lines, or lines with a background, of a namespace of ours.
local function shows_diff(buf)
  for name, namespace in pairs(vim.api.nvim_get_namespaces()) do
    if name:lower():find("acp", 1, true) then
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true })) do
        local details = mark[4] or {}
        if details.virt_lines or details.line_hl_group or (details.hl_group and details.hl_eol) then
          return true
        end
      end
    end
  end
  return false
end

-- The user: looks whether there is a diff to judge, then takes the first option that allows it.
local selects, diff_was_shown = 0, false
---@diagnostic disable-next-line: duplicate-set-field
vim.ui.select = function(items, opts, on_choice)
  selects = selects + 1
  local function label(item)
    return (opts and opts.format_item or tostring)(item)
  end
  local choice = 1
  for index = #items, 1, -1 do
    local kind = type(items[index]) == "table" and items[index].kind
    if
      (type(kind) == "string" and kind:find("^allow")) or label(items[index]):lower():find("allow", 1, true)
    then
      choice = index
    end
  end
  local patience = 100
  local function choose()
    diff_was_shown = diff_was_shown or shows_diff(project.buf)
    patience = patience - 1
    if diff_was_shown or patience == 0 then
      on_choice(items[choice], choice)
    else
      vim.defer_fn(choose, 50)
    end
  end
  vim.defer_fn(choose, 50)
end

local function chat_buffer()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].filetype == "acp" then
      return buf
    end
  end
end

local function text(buf)
  if not buf or not vim.api.nvim_buf_is_loaded(buf) then
    return ""
  end
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
end

local function on_disk(path)
  local file = io.open(path, "r")
  local content = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return content
end

local function ends_with(path, tail)
  return vim.endswith(vim.fs.normalize(path or ""), tail)
end

--- The event's data of the first one that fits.
local function find(name, fits)
  for _, data in ipairs(seen[name]) do
    if fits(data) then
      return data
    end
  end
end

local failures = 0
local function check(step, ok, detail)
  failures = failures + (ok and 0 or 1)
  say((ok and "ok      " or "FAILED  ") .. step .. ((ok or not detail) and "" or ": " .. detail))
end

local function run()
  -- Room enough for titles and plans to stand uncut.
  vim.o.columns, vim.o.lines = 160, 50
  project = start()

  -- How often the chat changed says whether the text streamed in or came all at once.
  local changes, last = 0, nil
  local ended = vim.wait(DEADLINE, function()
    local buf = chat_buffer()
    local tick = buf and vim.api.nvim_buf_get_changedtick(buf)
    if tick ~= last then
      changes, last = changes + 1, tick
    end
    return #seen.AcpTurnEnded > 0 or #seen.AcpFailed > 0
  end, 20)
  local chat = chat_buffer()
  -- The last words may be drawn a frame later than the turn ends.
  vim.wait(5000, function()
    return text(chat):find("That was the tour", 1, true) ~= nil
  end, 20)

  local transcript = text(chat)
  local function has(...)
    for _, part in ipairs({ ... }) do
      if not transcript:find(part, 1, true) then
        return false
      end
    end
    return true
  end
  say(transcript)
  say("")

  check("the turn ends", ended and #seen.AcpTurnEnded > 0, vim.inspect(seen.AcpFailed))
  check("the prompt is in the transcript", has("/tour"))
  check(
    "a thought is shown or folded",
    transcript:lower():find("thought", 1, true) or has("quick and honest")
  )
  check("a plan is shown", has("Read a file", "Run a command", "Look at a test"))
  check("Markdown is shown", has("The tour", "| this table |", 'require("greeting")', "fn greet("))
  check("the text streams", changes >= 5, changes .. " changes")
  -- In version 2 of the protocol the agent has only what is on the disk.
  local is_shared = vim.env.ACP_DEMO_PROTOCOL ~= "2"
  check(
    "the unsaved line is seen",
    not is_shared or has('Your unsaved line 3 says `M.word = "Good evening"`')
  )
  check("permission is asked", selects > 0 and #seen.AcpPermissionAsked > 0)
  check("the diff is shown while permission waits", diff_was_shown)
  check("permission is answered", #seen.AcpPermissionAnswered > 0)

  local greeting = text(project.buf)
  check("the edit is in the buffer", greeting:find('name or "world"', 1, true), greeting)
  check("the unsaved line is kept", greeting:find('M.word = "Good evening"', 1, true), greeting)
  check(
    "saving it is left to the user",
    not is_shared or not on_disk(project.cwd .. "/src/greeting.lua"):find('name or "world"', 1, true)
  )
  check("the chat says so", has("had unsaved edits"))
  local changed = find("AcpFileChanged", function(data)
    return ends_with(data.path, "/src/greeting.lua")
  end)
  check("the change is announced", changed, vim.inspect(seen.AcpFileChanged))

  local terminal = seen.AcpTerminalStarted[1] or {}
  vim.wait(5000, function()
    return text(terminal.buf):find("2 passed", 1, true) ~= nil
  end, 20)
  check(
    "the command's output is in a terminal",
    text(terminal.buf):find("2 passed", 1, true),
    text(terminal.buf)
  )
  check("its progress line ends at the end", text(terminal.buf):find("greets by name", 1, true))

  local location = find("AcpLocation", function(data)
    return ends_with(data.path, "/tests/greeting_test.lua")
  end)
  check("the other place is announced", location, vim.inspect(seen.AcpLocation))
  local followed = false
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window))
    if ends_with(name, "/tests/greeting_test.lua") then
      local line = vim.api.nvim_win_get_cursor(window)[1]
      followed = followed or not location or line == location.line
    end
  end
  check("the other place is followed", followed)

  local turn = seen.AcpTurnEnded[1] or {}
  check("the turn ends well", turn.stop_reason == "end_turn", vim.inspect(turn))
  local status = require("acp").status().sessions[1] or {}
  check("nothing is left to do", status.state == "idle", vim.inspect(status))
  -- The draft dialect has no titles.
  local title = not vim.env.ACP_DEMO_DIALECT and "The tour" or nil
  check("the session has its title", status.title == title, vim.inspect(status))
end

local ok, error_text = xpcall(run, debug.traceback)
if not ok then
  check("the check itself", false, error_text)
end
say(failures == 0 and "all is well" or failures .. " failed")
io.stdout:flush()
vim.cmd(failures == 0 and "qall!" or "cquit 1")

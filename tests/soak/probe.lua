--- What the soak test asks of the Neovim that it wears out: what the plugin's events said, what is left
--- over after a chat was closed, and the longest time that the main thread computed without a break.

local ffi = require("ffi")
local uv, api = vim.uv, vim.api

ffi.cdef([[
  typedef struct { long sec; long nsec; } soak_time;
  int clock_gettime(int clock, soak_time *time);
  int malloc_trim(size_t pad);
]])
local THREAD = jit.os == "OSX" and 16 or 3
local time = ffi.new("soak_time")

--- Milliseconds that this thread has computed for.
local function main_ms()
  ffi.C.clock_gettime(THREAD, time)
  return tonumber(time.sec) * 1e3 + tonumber(time.nsec) / 1e6
end

local M = {}

-- The turn that runs, for the list of slices.
local turn = ""
local slices = {}

--- From one look for input to the next; waiting for it takes no time of the processor.
local function watch_slices()
  local prepare = assert(uv.new_prepare())
  local before = main_ms()
  prepare:start(function()
    local now = main_ms()
    local slice = now - before
    before = now
    if slice > 8 then
      slices[#slices + 1] = { ms = slice, turn = turn }
      if #slices > 200 then
        table.sort(slices, function(a, b)
          return a.ms > b.ms
        end)
        for index = 101, #slices do
          slices[index] = nil
        end
      end
    end
  end)
end

--- Tells the driver of each event, without the texts that may be long.
local function tell(event)
  require("acp").on(event, function(data)
    vim.rpcnotify(0, "soak", event, {
      session = data.session or 0,
      reason = data.stop_reason or "",
      error = tostring(data.error or data.message or ""):sub(1, 200),
      state = data.state or "",
      text = data.text and data.text:sub(-60) or "",
    })
  end)
end

M.told = { count = 0, errors = {} }

function M.start()
  watch_slices()
  for _, event in ipairs({ "Opened", "TurnEnded", "Failed", "Closed", "PermissionAsked", "QuestionAsked" }) do
    tell(event)
  end
  -- Neither may hold the editor here; answers come by command.
  vim.ui.select = function() end
  vim.ui.input = function() end
  vim.notify = function(text, level)
    M.told.count = M.told.count + 1
    if text:find("stack traceback", 1, true) or text:find("panic", 1, true) then
      table.insert(M.told.errors, (text:sub(1, 300)))
    end
    local _ = level
  end
end

function M.turn(name)
  turn = name
end

--- The slices that took longest, and how many took more than 8 ms.
function M.slices()
  table.sort(slices, function(a, b)
    return a.ms > b.ms
  end)
  return vim.list_slice(slices, 1, 10)
end

local function session(number)
  for _, each in ipairs(require("acp").status().sessions) do
    if not number or each.session == number then
      return each
    end
  end
end

--- The state of the session that commands mean, and its number.
function M.state()
  local found = session()
  return found and { found.state, found.session, found.queued or 0 } or { "none", 0, 0 }
end

--- Whether the session has its buffers.
function M.visible()
  local found = session()
  return found ~= nil
    and api.nvim_buf_is_valid(found.buffer or -1)
    and api.nvim_buf_is_valid(found.prompt or -1)
end

--- Whether the end of the transcript holds a text. `number`: the session, or nil for the one commands mean.
function M.shown(text, number)
  local found = session(number)
  local buf = found and found.buffer
  if not buf or not api.nvim_buf_is_valid(buf) then
    return false
  end
  local last = api.nvim_buf_line_count(buf)
  for _, line in ipairs(api.nvim_buf_get_lines(buf, math.max(0, last - 300), last, false)) do
    if line:find(text, 1, true) then
      return true
    end
  end
  return false
end

--- The last lines of the transcript, for the report of what went wrong.
function M.tail()
  local found = session()
  local buf = found and found.buffer
  if not buf or not api.nvim_buf_is_valid(buf) then
    return "(no transcript) " .. tostring(M.last) .. " " .. vim.inspect(found)
  end
  local lines = api.nvim_buf_get_lines(buf, -12, -1, false)
  for index, line in ipairs(lines) do
    lines[index] = line:sub(1, 160)
  end
  return table.concat(lines, "\n")
end

--- What an error left behind, taken away with it.
function M.trouble()
  local errmsg = vim.v.errmsg
  vim.v.errmsg = ""
  local told = M.told.errors
  M.told.errors = {}
  if errmsg ~= "" then
    table.insert(told, "v:errmsg: " .. errmsg:sub(1, 300))
  end
  return told
end

--- Runs an Ex command as a user does; that it does not apply just now is an answer.
function M.try(command)
  local ok, result = pcall(api.nvim_exec2, command, { output = true })
  M.last = command .. ": " .. (ok and result.output or tostring(result)):sub(1, 200)
  vim.v.errmsg = ""
end

--- Shows a file in a window that is no chat, and types into it.
function M.in_file(path, keys)
  for _, win in ipairs(api.nvim_list_wins()) do
    local buf = api.nvim_win_get_buf(win)
    if api.nvim_buf_get_name(buf) == path then
      api.nvim_set_current_win(win)
      vim.cmd.stopinsert()
      api.nvim_feedkeys(vim.keycode(keys), "nx", false)
      return true
    end
  end
  return false
end

--- Wipes a buffer of the chat out: "buffer" is the transcript's, "prompt" the prompt's.
function M.wipe(which)
  local found = session()
  local buf = found and found[which]
  if buf and api.nvim_buf_is_valid(buf) then
    M.try("bwipeout! " .. buf)
  end
end

--- One window with an empty buffer, as before any chat.
function M.tidy()
  vim.cmd.stopinsert()
  M.try("tabonly!")
  -- What floats can't be the only window (E5601).
  for _, win in ipairs(api.nvim_list_wins()) do
    if api.nvim_win_get_config(win).relative ~= "" then
      pcall(api.nvim_win_close, win, true)
    end
  end
  for _, command in ipairs({ "only!", "enew!", "only!" }) do
    M.try(command)
  end
  local here = api.nvim_get_current_buf()
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if buf ~= here then
      M.try("bwipeout! " .. buf)
    end
  end
  vim.cmd("messages clear")
end

--- All but those that are there once, until the user stops typing or leaves a window.
function M.autocommands()
  return vim.tbl_filter(function(each)
    return each.group_name ~= "acp.ask"
  end, api.nvim_get_autocmds({}))
end

--- Which of what is there by name was not there the first time.
local known
local function new_autocommands()
  local now, new = {}, {}
  for _, each in ipairs(M.autocommands()) do
    local name = ("%s %s %s %s"):format(each.event, each.group_name or "", each.pattern, each.desc or "")
    now[name] = (now[name] or 0) + 1
    if known and now[name] > (known[name] or 0) then
      new[#new + 1] = name
    end
  end
  known = known or now
  return table.concat(new, ", ")
end

--- What there is of everything, when all chats are closed.
function M.left()
  collectgarbage()
  collectgarbage()
  -- What is free but kept for the next time is no leak. Only glibc has this.
  pcall(function()
    ffi.C.malloc_trim(0)
  end)
  local marks = 0
  local by_namespace = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    for name, namespace in pairs(api.nvim_get_namespaces()) do
      local count = #api.nvim_buf_get_extmarks(buf, namespace, 0, -1, {})
      marks = marks + count
      if count > 0 then
        by_namespace[#by_namespace + 1] = ("%d of %s in %d"):format(count, name, buf)
      end
    end
  end
  local handles = 0
  uv.walk(function()
    handles = handles + 1
  end)
  local names = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    -- "hidden" is Neovim's own count of windows, which is not what the windows say if it has lost count.
    local info = vim.fn.getbufinfo(buf)[1]
    local facts = ("loaded %d, hidden %d, in %d windows"):format(
      info.loaded,
      info.hidden,
      #vim.fn.win_findbuf(buf)
    )
    names[#names + 1] = ("%d:%s (%s)"):format(buf, api.nvim_buf_get_name(buf):sub(-40), facts)
  end
  return {
    heap = collectgarbage("count"),
    buffers = #api.nvim_list_bufs(),
    windows = #api.nvim_list_wins(),
    marks = marks,
    autocommands = #M.autocommands(),
    timers = #vim.fn.timer_info(),
    handles = handles,
    names = table.concat(names, " ")
      .. "; extmarks: "
      .. table.concat(by_namespace, ", ")
      .. "; autocommands: "
      .. new_autocommands(),
  }
end

return M

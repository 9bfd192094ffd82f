--- What a user's own Lua may call. Works without setup(). Each function asks the library, which is loaded
--- by the first of them; what goes wrong is shown as a notification, never as a stack trace.

local M = {}

--- The events that |acp-events| describes.
M.events = {
  "AcpOpened",
  "AcpPromptSent",
  "AcpTurnEnded",
  "AcpPermissionAsked",
  "AcpPermissionAnswered",
  "AcpQuestionAsked",
  "AcpQuestionAnswered",
  "AcpFileChanged",
  "AcpTerminalStarted",
  "AcpTerminalEnded",
  "AcpLocation",
  "AcpFailed",
  "AcpClosed",
}

---@type acp.Native? the library, once it has been started
local native
---@type acp.Options what setup() was given
local options = {}
-- Whether the library knows these options.
local configured = false
-- Who serves the methods that agents call beyond the protocol.
---@type { request: table<string, acp.RequestHandler>, notification: table<string, acp.NotificationHandler> }
local handlers = { request = {}, notification = {} }
-- The advice that has been given already; once is enough.
local advised

--- The text of an error, whether Lua, Neovim or the library raised it.
---@param err any
---@return string
local function text_of(err)
  -- The library's errors are userdata.
  local text = tostring(err)
  text = text:gsub("\nstack traceback:.*", "")
  text = text:gsub("^runtime error: ", "")
  text = text:gsub("^[^\n]-%.lua:%d+: ", ""):gsub("^%[[^\n]-%]:%d+: ", "")
  return vim.trim(text)
end

--- `value` without the nulls of JSON in it: they count as true in Lua.
local function without_nulls(value)
  if type(value) == "userdata" then
    return nil
  elseif type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, each in pairs(value) do
    copy[key] = without_nulls(each)
  end
  return copy
end

--- Shows an error as one line: more would stop the user with a hit-enter prompt.
---@param err any
---@return string text
local function show(err)
  local text = text_of(err)
  local lines = vim.split(text, "\n", { trimempty = true })
  local line = lines[1] or "an error without a text"
  if #lines > 1 then
    line = ("%s (%d more: `:checkhealth acp`)"):format(line, #lines - 1)
  end
  vim.notify("acp: " .. line, vim.log.levels.ERROR, { title = "acp" })
  return text
end

--- The library, started and configured.
---@return acp.Native
local function ready()
  if not native then
    local library, place = require("acp.native").load()
    library.start({ root = place.root, lib = place.lib, demo = place.demo })
    native = library
    vim.api.nvim_create_autocmd("VimLeavePre", {
      group = vim.api.nvim_create_augroup("acp_shutdown", {}),
      callback = function()
        pcall(library.shutdown)
      end,
    })
    for kind, known in pairs(handlers) do
      for name, handler in pairs(known) do
        library.handle(kind, name, handler)
      end
    end
  end
  if not configured then
    native.configure(options)
    configured = true
  end
  return native
end

--- Runs `fn` with the library. What goes wrong is shown, and returned as the second value.
local function with_library(fn)
  local ok, result = pcall(function()
    return fn(ready())
  end)
  if ok then
    return result
  end
  return nil, show(result)
end

--- Takes the options of |acp-config|, in place of those of an earlier call. Not needed for the defaults.
--- The library is not loaded for it; mistakes are shown when it is, or at once if it is loaded already.
---@param opts? acp.Options
function M.setup(opts)
  options = opts or {}
  configured = false
  if native then
    with_library(function() end)
  end
end

--- Does what |:Acp| does for the subcommand `name`, or |:AcpChat| for "chat".
---@param name string
---@param args? acp.Args
---@return any value
---@return string? err
function M.call(name, args)
  if vim.in_fast_event() or (not native and require("acp.native").in_coroutine()) then
    vim.schedule(function()
      M.call(name, args)
    end)
    return nil
  end
  return with_library(function(library)
    return without_nulls(library.call(name, args or {}))
  end)
end

--- Shows the chat, or begins one. `opts` may be the agent's name.
---@param opts? string|acp.ChatOptions
function M.chat(opts)
  if type(opts) ~= "table" then
    opts = { agent = opts }
  end
  M.call("chat", { args = { opts.agent }, bang = opts.new or false, range = opts.range })
  if native then
    local advice = require("acp.native").outdated()
    if advice and advice ~= advised then
      advised = advice
      vim.notify("acp: " .. advice, vim.log.levels.WARN, { title = "acp" })
    end
  end
end

--- Sends a prompt in the current chat; with `steer` into the turn that runs.
---@param text string
---@param opts? { range?: acp.Range, steer?: boolean }
function M.send(text, opts)
  opts = opts or {}
  M.call("send", { args = { text }, text = text, range = opts.range, bang = opts.steer })
end

--- Stops the agent's turn in the current chat.
function M.cancel()
  M.call("cancel")
end

--- Follows the agent through the files it works on: true, false, or the other of the two if not given.
---@param on? boolean
function M.follow(on)
  M.call("follow", { args = on ~= nil and { on and "on" or "off" } or {} })
end

--- What the sessions are doing. Does not load the library: without it there are none.
---@param session? integer one session; without it all
---@return acp.Status
function M.status(session)
  local status
  if native and not vim.in_fast_event() then
    status = with_library(function(library)
      return without_nulls(library.status(session))
    end)
  end
  return status or { sessions = {}, agents = {} }
end

-- What needs the user comes first.
local urgency = { "waiting", "failed", "working", "starting", "idle", "ended" }

--- A few words for a status line: the agent and what it does, of the session that most needs you. Empty
--- without a session.
---@return string
function M.statusline()
  if not native then
    return ""
  end
  -- Silent when it fails: this runs at every redraw.
  local ok, status = pcall(native.status)
  local sessions = ok and status.sessions or {}
  for _, state in ipairs(urgency) do
    local first
    local count = 0
    for _, session in ipairs(sessions) do
      if session.state == state then
        first = first or session
        count = count + 1
      end
    end
    if first then
      local more = count > 1 and (" +%d"):format(count - 1) or ""
      return state == "idle" and first.agent .. more or ("%s: %s%s"):format(first.agent, state, more)
    end
  end
  return ""
end

--- Calls `fn` with the event's data whenever an event of |acp-events| happens.
---@param event string "AcpTurnEnded" or "TurnEnded"
---@param fn fun(data: table)
---@return integer id of the autocommand, for |nvim_del_autocmd()|
function M.on(event, fn)
  local name = vim.startswith(event, "Acp") and event or "Acp" .. event
  if not vim.list_contains(M.events, name) then
    error(("no event is called %q: see :help acp-events"):format(event), 2)
  end
  return vim.api.nvim_create_autocmd("User", {
    pattern = name,
    desc = "acp: " .. name,
    callback = function(args)
      fn(without_nulls(args.data) or {})
    end,
  })
end

---@param kind "request"|"notification"
---@param name string
---@param fn? acp.RequestHandler|acp.NotificationHandler
local function handle(kind, name, fn)
  if type(name) ~= "string" or not vim.startswith(name, "_") then
    error(("a method that you may serve begins with _, unlike %s"):format(vim.inspect(name)), 3)
  end
  if fn ~= nil and not vim.is_callable(fn) then
    error(("the handler for %s should be a function, not a %s"):format(name, type(fn)), 3)
  end
  local handler = fn and function(params, session)
    return fn(without_nulls(params), session)
  end
  handlers[kind][name] = handler
  if native then
    native.handle(kind, name, handler)
  end
end

--- Answers the requests of a method beyond the protocol, whose name begins with an underscore: with what
--- `fn` returns, or with its error. Without `fn` agents get to know again that there is no such method.
---@param name string
---@param fn? acp.RequestHandler
function M.on_request(name, fn)
  handle("request", name, fn)
end

--- Calls `fn` for each notification of a method beyond the protocol; without `fn` no longer.
---@param name string
---@param fn? acp.NotificationHandler
function M.on_notification(name, fn)
  handle("notification", name, fn)
end

--- The words that may follow; nothing where the library cannot be had, as a completion must not fail.
---@param kind string
---@param lead string
---@param args? string[] the words before
---@return string[]
function M.complete(kind, lead, args)
  local ok, words = pcall(function()
    return ready().complete(kind, lead, args or {})
  end)
  return ok and words or {}
end

--- Whether the library runs, and if not why; the options' mistakes, if any. For |:checkhealth|.
---@return acp.Native? library
---@return string? problem
function M.probe()
  local ok, problem = pcall(ready)
  return native, not ok and text_of(problem) or nil
end

return M

--- What a user's own Lua may call. Works without setup(). Each function asks the library, which is loaded
--- by the first of them; what goes wrong is shown as a notification, never as a stack trace.

local M = {}

--- The events that |acp-events| describes.
M.events = {
  "AcpOpened",
  "AcpPromptSent",
  "AcpTurnStarted",
  "AcpTurnEnded",
  "AcpToolCall",
  "AcpUnasked",
  "AcpModeChanged",
  "AcpStateChanged",
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
-- The user's handlers of methods beyond the protocol.
---@type { request: table<string, acp.RequestHandler>, notification: table<string, acp.NotificationHandler> }
local handlers = { request = {}, notification = {} }
-- The user's tools for agents, by their names.
---@type table<string, acp.Tool>
local tools = {}
-- The advice about the library that has been given already; once is enough.
local last_advice

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

-- What is wrong with the options that setup() was given.
local setup_error = {
  __tostring = function(self)
    return self.text
  end,
}

--- Shows an error as one line: more would stop the user with a hit-enter prompt.
---@param err any
---@return string text
local function show(err)
  local text = text_of(err)
  local lines = vim.split(text, "\n", { trimempty = true })
  local line = lines[1] or "an error without a text"
  if getmetatable(err) == setup_error then
    line = "setup() failed: " .. line
  end
  if #lines > 1 then
    line = ("%s; :checkhealth acp: %d more"):format(line, #lines - 1)
  end
  require("acp.notify").show(line, vim.log.levels.ERROR)
  return text
end

--- Tells the library of a tool.
---@param library acp.Native
---@param tool acp.Tool
local function tell(library, tool)
  local facts = {
    name = tool.name,
    description = tool.description or "",
    schema = tool.schema,
    timeout = tool.timeout,
    reads_only = tool.reads_only,
  }
  library.tool(vim.json.encode(facts), tool.run)
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
    for _, tool in pairs(tools) do
      local ok, err = pcall(tell, library, tool)
      if not ok then
        show(err)
      end
    end
  end
  if not configured then
    local ok, err = pcall(native.configure, options)
    if not ok then
      error(setmetatable({ text = text_of(err) }, setup_error))
    end
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

-- A rule that does not count should not be found out about by what it was to keep from happening.
local function check_rules()
  local permission = options.permission
  if type(permission) ~= "table" or not (permission.rules or permission.sets) then
    return
  end
  local given = options
  local check = vim.schedule_wrap(function()
    local loader = require("acp.native")
    if native or given ~= options or loader.missing() then
      return
    end
    local ok, err = pcall(function()
      loader.load().check(given)
    end)
    if not ok then
      show(err)
    end
  end)
  if vim.v.vim_did_enter == 1 then
    check()
  else
    vim.api.nvim_create_autocmd("VimEnter", { once = true, callback = check })
  end
end

--- Takes the options of |acp-config|, in place of those of an earlier call. Not needed for the defaults.
--- The library is not loaded for it, unless there are rules in them; mistakes are shown when it is, or at once if it
--- is loaded already. Those of options with rules are shown when Neovim has started.
---@param opts? acp.Options
function M.setup(opts)
  options = opts or {}
  configured = false
  if native then
    with_library(function() end)
  else
    check_rules()
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

--- Raises an error at the caller's level if an argument has the wrong type.
---@param name string
---@param value any
---@param kind string
---@param optional? boolean
local function expect(name, value, kind, optional)
  if type(value) ~= kind and not (optional and value == nil) then
    error(("%s should be a %s, not a %s"):format(name, kind, type(value)), 3)
  end
end

--- Says so, once, if the library is not of the sources in the plugin's folder. The background reads them.
local function compare_with_sources()
  local loader = require("acp.native")
  if not native or loader.is_chosen() then
    return
  end
  M.call("fingerprint", {
    args = { loader.root() },
    ["then"] = function(fingerprint)
      local advice = loader.outdated(fingerprint)
      if advice and advice ~= last_advice then
        last_advice = advice
        require("acp.notify").show(advice, vim.log.levels.WARN)
      end
    end,
  })
end

--- Shows the chat, or begins one. `opts` may be the agent's name.
---@param opts? string|acp.OpenOptions
---@return nil
---@return string? err
function M.chat(opts)
  if type(opts) ~= "table" then
    expect("the agent's name", opts, "string", true)
    opts = { agent = opts }
  end
  local _, err
  if opts.session then
    _, err = M.call("sessions", { args = { tostring(opts.session) } })
  else
    _, err = M.call("chat", { args = { opts.agent }, bang = opts.new or false, range = opts.range })
  end
  if not err then
    compare_with_sources()
  end
  return nil, err
end

--- Hides the chat if it is on the screen, else shows it, or begins one.
---@return nil
---@return string? err
function M.toggle()
  return M.call("toggle")
end

--- Sends a prompt in the current chat; with `steer` into the turn that runs.
---@param text string
---@param opts? acp.SendOptions
---@return nil
---@return string? err
function M.send(text, opts)
  expect("the prompt", text, "string")
  expect("the options", opts, "table", true)
  opts = opts or {}
  local args = { args = { text }, text = text, range = opts.range, bang = opts.steer, session = opts.session }
  return M.call("send", args)
end

--- Sends a prompt, and calls `fn` once with the agent's answer, or with nil and the reason why there is none. Begins a
--- session if there is none; also where none is begun, as when the picker of agents is closed, `fn` is called. Only where
--- nothing can be sent at all it is not, and the reason is returned.
---@param text string
---@param opts? acp.SendOptions
---@param fn fun(answer?: string, err?: string)
---@return fun()? off stops waiting for the answer
---@return string? err
function M.ask(text, opts, fn)
  expect("the prompt", text, "string")
  expect("the options", opts, "table", true)
  expect("what takes the answer", fn, "function")
  opts = opts or {}
  local early, sent = {}, nil
  local offs, is_off = {}, false
  local function off()
    is_off = true
    for _, each in ipairs(offs) do
      each()
    end
    offs = {}
  end
  local function heard(data)
    if not sent then
      -- An agent may be done before this function is.
      early[#early + 1] = data
    elseif data.session == sent.session and (data.turn == nil or data.turn == sent.turn) then
      off()
      if data.stop_reason and data.stop_reason ~= "failed" then
        fn(data.text or "")
      else
        fn(nil, data.error or data.message or "the session has ended")
      end
    end
  end
  for _, event in ipairs({ "TurnEnded", "Failed", "Closed" }) do
    offs[#offs + 1] = M.on(event, heard)
  end
  local function known(prompt)
    sent = prompt
    for _, data in ipairs(early) do
      heard(data)
    end
    early = {}
  end
  local prompt, err = M.call("send_for_answer", {
    args = { text },
    text = text,
    range = opts.range,
    session = opts.session,
    -- Where a session is begun it is known later which one, or why there is none.
    ["then"] = function(begun, why)
      if begun then
        known(without_nulls(begun))
      else
        -- What failed at once is returned below.
        vim.schedule(function()
          if not is_off then
            off()
            fn(nil, why)
          end
        end)
      end
    end,
  })
  if err then
    off()
    return nil, err
  elseif prompt then
    known(prompt)
  end
  return off
end

--- Adds references to the prompt without going there: this file or the lines of a range, files by their names, or
--- what |:Acp-add| takes. Begins a session if there is none.
---@param what? string|string[] a word of |:Acp-add|, or a list of files
---@param opts? acp.AddOptions
---@return nil
---@return string? err
function M.add(what, opts)
  expect("the options", opts, "table", true)
  opts = opts or {}
  if type(what) == "table" then
    what = vim.tbl_map(function(path)
      local is_absolute = path:find("^[/~\\]") or path:find("^%a:[/\\]")
      return is_absolute and path or vim.fs.joinpath(vim.fn.getcwd(), path)
    end, what)
    if #what == 0 then
      return nil
    end
  else
    expect("what is added", what, "string", true)
    what = { what }
  end
  return M.call("add", { args = what, range = opts.range, session = opts.session })
end

--- Stops the agent's turn in the current chat.
---@param opts? acp.SessionOptions
---@return nil
---@return string? err
function M.cancel(opts)
  return M.call("cancel", opts and { session = opts.session })
end

--- Answers what the agent asks: "allow", "reject" or an option's id for permission, "decline" or "cancel"
--- for a form or a page. Without an answer the user is asked again.
---@param answer? "allow"|"reject"|"decline"|"cancel"|string
---@param opts? acp.SessionOptions
---@return nil
---@return string? err
function M.answer(answer, opts)
  expect("the answer", answer, "string", true)
  local args = { args = {}, session = opts and opts.session }
  if answer == nil or answer == "decline" or answer == "cancel" then
    args.args = { answer }
    return M.call("answer", args)
  elseif answer == "allow" or answer == "reject" then
    return M.call(answer, args)
  end
  args.args = { answer }
  return M.call("choose", args)
end

--- A function that does what the subcommand of the same name does.
---@param name string
---@param takes string[] what its arguments are called, all of them texts that may be left out
local function same_as(name, takes)
  return function(...)
    local args = {}
    for i, what in ipairs(takes) do
      local value = select(i, ...)
      expect(what, value, "string", true)
      args[i] = value
    end
    local opts = select(#takes + 1, ...)
    expect("the options", opts, "table", true)
    return M.call(name, { args = args, session = opts and opts.session })
  end
end

---@type fun(mode?: string, opts?: acp.SessionOptions): nil, string?
M.mode = same_as("mode", { "the mode" })
---@type fun(model?: string, opts?: acp.SessionOptions): nil, string?
M.model = same_as("model", { "the model" })
---@type fun(option?: string, value?: string, opts?: acp.SessionOptions): nil, string?
M.config = same_as("config", { "the option", "the value" })
---@type fun(name?: string, opts?: acp.SessionOptions): nil, string?
M.rename = same_as("rename", { "the name" })
---@type fun(agent?: string): nil, string?
M.resume = same_as("resume", { "the agent's name" })
---@type fun(opts?: acp.SessionOptions): nil, string?
M.close = same_as("close", {})
---@type fun(opts?: acp.SessionOptions): nil, string?
M.stop = same_as("stop", {})
---@type fun(opts?: acp.SessionOptions): nil, string?
M.restart = same_as("restart", {})
---@type fun(method?: string, opts?: acp.SessionOptions): nil, string?
M.login = same_as("login", { "the method" })
---@type fun(opts?: acp.SessionOptions): nil, string?
M.logout = same_as("logout", {})
---@type fun(agent?: string): nil, string?
M.inspect = same_as("inspect", { "the agent's name" })
---@type fun(file?: string, speed?: string): nil, string?
M.replay = same_as("replay", { "the file", "the speed" })

--- Saves the last messages of the session's agent, once the user has read what is left of them.
---@param file string
---@param opts? { force?: boolean, session?: integer }
---@return nil
---@return string? err
function M.record(file, opts)
  expect("the file", file, "string")
  opts = opts or {}
  return M.call("record", { args = { file }, bang = opts.force, session = opts.session })
end

--- Writes the conversation down as Markdown: into a file, or a new buffer if none is named.
---@param path? string
---@param opts? acp.ExportOptions
---@return nil
---@return string? err
function M.export(path, opts)
  expect("the file", path, "string", true)
  opts = opts or {}
  return M.call("export", { args = { path }, bang = opts.force, range = opts.range, session = opts.session })
end

--- The sessions of this Neovim; `fn` is given the earlier ones that are remembered, once they are known.
---@param fn? fun(sessions: acp.StoredSession[])
---@param words? string[] only those that hold all of these
---@return acp.SessionStatus[]
function M.sessions(fn, words)
  expect("what takes the sessions", fn, "function", true)
  expect("the words", words, "table", true)
  if fn then
    M.call("recall", {
      args = words or {},
      ["then"] = function(list)
        fn(without_nulls(list))
      end,
    })
  end
  return M.status().sessions
end

--- All agents that are known, as |:Acp-agents| lists them. Which ones are approved and downloaded is certain for
--- those that `fn` is given, once the disk has been asked.
---@param fn? fun(agents: acp.AgentChoice[])
---@return acp.AgentChoice[]? agents
---@return string? err
function M.agents(fn)
  expect("what takes the agents", fn, "function", true)
  return M.call("list_agents", {
    ["then"] = fn and function(list)
      fn(without_nulls(list))
    end,
  })
end

--- Follows the agent through the files it works on: true, false, or the other of the two if not given.
---@param on? boolean
---@return nil
---@return string? err
function M.follow(on)
  expect("on", on, "boolean", true)
  return M.call("follow", { args = on ~= nil and { on and "on" or "off" } or {} })
end

--- Leaves a session alone, as |:Acp-auto| does: true or what becomes of what rules leave open, false to be asked again,
--- or the other of the two if not given.
---@param how? boolean|"wait"|"reject"
---@param session? integer without it the one that is meant in the current window
---@return nil
---@return string? err
function M.auto(how, session)
  if how ~= nil and type(how) ~= "boolean" then
    expect("how", how, "string")
  end
  local words = { ["true"] = "on", ["false"] = "off" }
  return M.call("auto", { args = { how ~= nil and (words[tostring(how)] or how) or nil }, session = session })
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
local urgency = { "waiting", "failed", "stopping", "working", "starting", "idle", "ended" }

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
---@return fun() off ends it
function M.on(event, fn)
  expect("the event", event, "string")
  expect("what hears the event", fn, "function")
  local name = vim.startswith(event, "Acp") and event or "Acp" .. event
  if not vim.list_contains(M.events, name) then
    error(("no event is called %q: see :help acp-events"):format(event), 2)
  end
  local id = vim.api.nvim_create_autocmd("User", {
    pattern = name,
    desc = "acp: " .. name,
    callback = require("acp.notify").guarded(function(args)
      fn(without_nulls(args.data) or {})
    end),
  })
  return function()
    -- Twice does no harm.
    pcall(vim.api.nvim_del_autocmd, id)
  end
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

--- Offers a tool to agents, in place of an earlier one of that name; without `run` it is taken away.
---@param tool acp.Tool
function M.tool(tool)
  if
    type(tool) ~= "table"
    or type(tool.name) ~= "string"
    or (tool.run and type(tool.description) ~= "string")
  then
    error("a tool should have a name and a description", 2)
  end
  if tool.run ~= nil and not vim.is_callable(tool.run) then
    error(("tool %s: run should be a function, not a %s"):format(tool.name, type(tool.run)), 2)
  end
  if native then
    local ok, err = pcall(tell, native, tool)
    if not ok then
      error(text_of(err), 2)
    end
  end
  tools[tool.name] = tool.run and tool or nil
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
---@return acp.Options options what setup() was given
function M.probe()
  local ok, problem = pcall(ready)
  return native, not ok and text_of(problem) or nil, options
end

return M

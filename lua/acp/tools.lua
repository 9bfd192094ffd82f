--- The tools that the library offers to agents, as far as they need the editor: the library checks what an agent sends
--- and words the answers. Each takes its arguments and a context, and is done when it calls `ctx.done`.

local M = {}

---@class acp.tools.Item a line of an answer
---@field path? string
---@field line? integer from 1
---@field column? integer from 1, in bytes
---@field last_line? integer
---@field depth? integer
---@field text? string
---@field kind? string
---@field severity? integer
---@field source? string
---@field code? string

---@class acp.tools.Found
---@field items? acp.tools.Item[]
---@field total? integer # where the items are not all
---@field text? string # in place of items

---@class acp.tools.Context: acp.ToolContext
---@field roots string[] the session's folders, without links
---@field done fun(found?: acp.tools.Found, why?: string)
---@field load fun(path: string): integer
---@field request fun(method: string, params: table, go_on: fun(result: table, why?: string)) asks what an agent could ask
---@field note? string what the agent is told beside what was found

--- How often agents have called which tool.
---@type table<string, integer>
M.calls = {}

local MODULES = {
  diagnostics = "diagnostics",
  hover = "lsp",
  definition = "lsp",
  declaration = "lsp",
  type_definition = "lsp",
  implementation = "lsp",
  references = "lsp",
  document_symbols = "lsp",
  workspace_symbols = "lsp",
  call_hierarchy = "lsp",
  buffers = "editor",
  selection = "editor",
  jumps = "editor",
  marks = "editor",
  quickfix = "editor",
  messages = "editor",
  git_hunks = "editor",
  outline = "syntax",
  node = "syntax",
  rename = "change",
  code_action = "actions",
  format = "change",
  organize_imports = "actions",
  edit_buffer = "change",
  ask_user = "show",
  run_task = "task",
  set_quickfix = "show",
  open_place = "show",
}

---@param name string
local function count(name)
  M.calls[name] = (M.calls[name] or 0) + 1
end

--- An error as an agent may read it: without the place in the user's files.
local function words(err)
  local text = tostring(err):gsub("\nstack traceback:.*", "")
  text = text:gsub("^[^\n]-%.lua:%d+: ", ""):gsub("^%[[^\n]-%]:%d+: ", "")
  return vim.trim(text):sub(1, 2000)
end

--- What a tool of the user's gives, as a text.
local function as_text(value)
  if type(value) == "string" then
    return value
  end
  return value == nil and "done" or vim.json.encode(value)
end

---@class acp.tools.Facts
---@field name string
---@field session integer
---@field cwd string the session's folder
---@field roots string[] all of its folders, without links
---@field load fun(path: string): integer
---@field request fun(method: string, params: table, go_on: fun(result?: table, why?: string))

--- What a call is given beside its arguments, and what ends it.
---@param facts acp.tools.Facts
---@param answer fun(is_done: boolean, value: any)
local function context(facts, answer)
  local is_over, at_end = false, {}
  local ctx =
    { session = facts.session, cwd = facts.cwd, roots = facts.roots, load = facts.load, cancelled = false }
  local function close()
    is_over = true
    for _, fn in ipairs(at_end) do
      pcall(fn)
    end
  end
  local function finish(value, why)
    if is_over then
      return
    end
    close()
    if why ~= nil then
      return answer(false, words(why))
    end
    answer(true, value)
  end
  function ctx.done(value, why)
    if vim.in_fast_event() then
      return vim.schedule(function()
        finish(value, why)
      end)
    end
    finish(value, why)
  end
  function ctx.on_end(fn)
    table.insert(at_end, fn)
  end
  -- A callback of which an error ends the call.
  function ctx.guard(fn)
    return function(...)
      local args = vim.F.pack_len(...)
      local function run()
        if is_over then
          return
        end
        local ok, err = pcall(fn, vim.F.unpack_len(args))
        if not ok then
          finish(nil, err)
        end
      end
      if vim.in_fast_event() then
        return vim.schedule(run)
      end
      run()
    end
  end
  function ctx.relative(path)
    local root = facts.cwd:gsub("/$", "") .. "/"
    return vim.startswith(path, root) and path:sub(#root + 1) or path
  end
  local function stop()
    ctx.cancelled = true
    if not is_over then
      close()
    end
  end
  return ctx, stop
end

--- Runs a tool: one of the plugin's by its name, or one of the user's. Gives what stops it.
---@param facts acp.tools.Facts
---@param args table
---@param answer fun(is_done: boolean, value: any)
---@param own? fun(args: table, ctx: acp.ToolContext): any
---@return fun() stop
function M.start(facts, args, answer, own)
  count(facts.name)
  local ctx, stop
  if own then
    ctx, stop = context(facts, function(is_done, value)
      local ok, text = pcall(is_done and as_text or tostring, value)
      answer(is_done and ok, ok and text or words(text))
    end)
    local ok, value = pcall(own, args, ctx)
    if not ok then
      ctx.done(nil, value)
    elseif value ~= nil then
      ctx.done(value)
    end
  else
    ctx, stop = context(facts, function(is_done, value)
      if is_done then
        value.note = ctx.note
      end
      answer(is_done, value)
    end)
    function ctx.request(method, params, go_on)
      facts.request(method, params, ctx.guard(go_on))
    end
    ctx.guard(function()
      require("acp.tools." .. MODULES[facts.name])[facts.name](args, ctx)
    end)()
  end
  return stop
end

--- Where the library listens for agents' bridges, and how they are started. The folder is Neovim's own: it is private,
--- and goes with Neovim.
---@return { program: string, bridge: string, socket: string }
function M.door()
  local here = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
  local is_windows = vim.fn.has("win32") == 1
  local socket = is_windows and [[\\.\pipe\acp-]] .. M.token() or vim.fn.tempname()
  return { program = vim.v.progpath, bridge = vim.fs.normalize(here .. "/bridge.lua"), socket = socket }
end

--- What nobody can guess.
---@return string
function M.token()
  local bytes = assert(vim.uv.random(32))
  return (bytes:gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end

return M

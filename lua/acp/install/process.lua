--- Programs that the installer runs: without a terminal, in a process group of their own that ends with the task
--- that runs them, with Neovim, and when Neovim is killed. Which programs, and what their output means, is up to
--- the caller.

local task = require("acp.install.task")

local M = {}

local windows = jit.os == "Windows"

---@class acp.Ran
---@field code integer
---@field signal integer
---@field out string what it wrote to stdout
---@field err string what it wrote to stderr

--- Runs the command in its arguments. Its own stdin is a pipe that only Neovim holds: when that closes, because the
--- task was cancelled or Neovim is gone, however it went, the whole group is ended. The command has no stdin.
local GUARD = [[
exec 3<&0
(cat; kill -s TERM 0) <&3 >/dev/null 2>&1 3<&- &
"$@" </dev/null 3<&-
]]

--- Ends what is left of a command: all that it has started.
---@param handle uv.uv_process_t
---@param stdin? uv.uv_pipe_t
local function finish(handle, stdin)
  if windows then
    if handle:is_active() then
      -- Its children, too, which a signal would leave.
      vim.uv.spawn("taskkill", { args = { "/t", "/f", "/pid", tostring(handle:get_pid()) } }, function() end)
    end
  elseif stdin and not stdin:is_closing() then
    stdin:close()
  end
end

--- Cuts a stream into lines. Programs that draw a progress bar end its states by `\r`.
---@param on_line fun(line: string)
---@return fun(chunk?: string)
local function lines_to(on_line)
  local rest = ""
  return function(chunk)
    if not chunk then
      if rest ~= "" then
        on_line(rest)
      end
      return
    end
    rest = rest .. chunk
    while true do
      local first, last = rest:find("[\r\n]+")
      if not first then
        return
      end
      if first > 1 then
        on_line(rest:sub(1, first - 1))
      end
      rest = rest:sub(last + 1)
    end
  end
end

--- Runs a program and waits for its end, in a task. Raises one line if it can't be started.
---@param cmd string[]
---@param opts? { cwd?: string, env?: table<string, string>, on_line?: fun(line: string) }
--- `on_line` hears each line of its stderr, in the task, so it may `say`.
---@return acp.Ran
function M.run(cmd, opts)
  opts = opts or {}
  local program = vim.fn.exepath(cmd[1])
  if program == "" then
    task.fail(("couldn't run %s: no such program"):format(cmd[1]))
  end
  local args = vim.list_slice(cmd, 2)
  if not windows then
    args = vim.list_extend({ "-c", GUARD, "sh", program }, args)
    program = "/bin/sh"
  end
  local env = vim.fn.environ()
  for name, value in pairs(opts.env or {}) do
    env[name] = value
  end
  local pairs_of = {}
  for name, value in pairs(env) do
    pairs_of[#pairs_of + 1] = name .. "=" .. value
  end

  local stdin, stdout, stderr = not windows and vim.uv.new_pipe() or nil, vim.uv.new_pipe(), vim.uv.new_pipe()
  local open = 3
  local ran = { code = -1, signal = 0, out = "", err = "" }
  local lines, first = {}, 1
  local wake = function() end
  local function ended()
    open = open - 1
    wake()
  end
  local handle, pid
  handle, pid = vim.uv.spawn(program, {
    args = args,
    stdio = { stdin, stdout, stderr },
    cwd = opts.cwd,
    env = pairs_of,
    detached = not windows,
    hide = true,
  }, function(code, signal)
    ran.code, ran.signal = code, signal
    if stdin and not stdin:is_closing() then
      stdin:close()
    end
    handle:close()
    ended()
  end)
  if not handle then
    for _, pipe in pairs({ stdout, stderr, stdin }) do
      pipe:close()
    end
    task.fail(("couldn't run %s: %s"):format(cmd[1], pid))
  end
  local cut = lines_to(function(line)
    lines[#lines + 1] = line
    wake()
  end)
  local function read(pipe, name)
    pipe:read_start(function(_, chunk)
      if name == "err" then
        cut(chunk)
      end
      if chunk then
        ran[name] = ran[name] .. chunk
      else
        pipe:close()
        ended()
      end
    end)
  end
  read(stdout, "out")
  read(stderr, "err")

  task.with_cleanup(function()
    finish(handle, stdin)
  end, function()
    while open > 0 or lines[first] do
      task.wait(function(fn)
        wake = fn
      end, function()
        return open == 0 or lines[first] ~= nil
      end)
      while lines[first] do
        if opts.on_line then
          opts.on_line(lines[first])
        end
        first = first + 1
      end
    end
  end)
  return ran
end

--- The last lines that say something of what a program printed, as one line.
---@param ran acp.Ran
---@return string
function M.last_words(ran)
  local words = {}
  for line in (ran.err .. "\n" .. ran.out):gmatch("[^\r\n]+") do
    if vim.trim(line) ~= "" then
      words[#words + 1] = vim.trim(line)
    end
  end
  local last = words[#words] or ("it ended with exit code %d"):format(ran.code)
  return #last > 200 and last:sub(1, 200) .. "…" or last
end

return M

--- Work that takes a while, written from top to bottom: a coroutine that waits without holding up Neovim and says
--- how far it is. It may be one of our own or a plugin manager's: lazy.nvim runs `build.lua` in one. What the work
--- is, and how its progress is shown, is up to the caller.

local M = {}

---@class acp.Task
---@field cancel fun(self: acp.Task) ends it: what it waits for is ended, it cleans up, and `on_done` is told "cancelled"
---@field running fun(self: acp.Task): boolean

--- What wakes a coroutine that waits, where there is something better than asking again and again.
---@type table<thread, fun()>
local wakers = setmetatable({}, { __mode = "k" })

M.CANCELLED = "cancelled"

--- Errors that are one line for the user have no position in front.
---@param text string
function M.fail(text)
  error(text, 0)
end

--- Whether this runs in a coroutine.
---@return boolean
function M.is_inside()
  -- The main one is nil, or said to be the main one where LuaJIT was built like Lua 5.2.
  local thread, is_main = coroutine.running()
  return thread ~= nil and not is_main
end

--- The task of lazy.nvim's that runs here, if one does. It resumes its coroutines without a pause otherwise.
local function of_lazy()
  local async = package.loaded["lazy.async"]
  local running = type(async) == "table" and type(async.running) == "function" and async.running()
  return running and type(running.suspend) == "function" and running or nil
end

--- Gives the others their turn. A plugin manager takes the text for progress, and may want the work to end.
---@param text? string
local function yield(text)
  local reply = coroutine.yield(text)
  if reply == "abort" or reply == M.CANCELLED then
    M.fail(M.CANCELLED)
  end
end

--- Says how far the work is. Outside of a coroutine it does nothing.
---@param text string one line
function M.say(text)
  if M.is_inside() then
    yield(text)
  end
end

--- Waits until `is_done()`. `begin` is given the function to call when that may have changed.
---@param begin fun(wake: fun())
---@param is_done fun(): boolean
function M.wait(begin, is_done)
  local thread = coroutine.running()
  local lazy = of_lazy()
  begin(function()
    if wakers[thread] then
      wakers[thread]()
    elseif lazy then
      lazy:resume()
    end
  end)
  while not is_done() do
    if lazy then
      -- It raises a text of its own when lazy.nvim is told to stop.
      if not pcall(lazy.suspend, lazy) then
        M.fail(M.CANCELLED)
      end
    else
      yield()
    end
  end
end

--- Runs `fn`, and `clean` if it raises or Neovim leaves before it is done. What it raises is raised again.
---@generic T
---@param clean fun()
---@param fn fun(): T
---@return T
function M.with_cleanup(clean, fn)
  local leaving = vim.api.nvim_create_autocmd("VimLeavePre", { callback = clean })
  local ok, result = pcall(fn)
  vim.api.nvim_del_autocmd(leaving)
  if not ok then
    clean()
    error(result, 0)
  end
  return result
end

--- Runs `fn` in a coroutine of its own, from the event loop's next turn on.
---@generic T
---@param fn fun(): T
---@param opts { on_progress?: fun(text: string), on_done: fun(err?: string, result?: T) }
---@return acp.Task
function M.start(fn, opts)
  local due, wanted = false, nil
  local thread
  thread = coroutine.create(function()
    if wanted then
      M.fail(wanted)
    end
    return fn()
  end)
  local function step()
    due = false
    if coroutine.status(thread) ~= "suspended" then
      return
    end
    local ok, said = coroutine.resume(thread, wanted)
    if coroutine.status(thread) == "dead" then
      wakers[thread] = nil
      if ok then
        return opts.on_done(nil, said)
      end
      return opts.on_done(tostring(said))
    end
    if said and opts.on_progress then
      opts.on_progress(said)
    end
    -- A task that reports progress goes on; one that waits is woken. Whoever heard it may have cancelled it.
    if said and wakers[thread] then
      wakers[thread]()
    end
  end
  wakers[thread] = function()
    if not due then
      due = true
      vim.schedule(step)
    end
  end
  wakers[thread]()
  return {
    cancel = function()
      wanted = M.CANCELLED
      local status = coroutine.status(thread)
      if status == "suspended" then
        -- At once: the caller may tell others that the work has ended.
        step()
      elseif status ~= "dead" then
        wakers[thread]()
      end
    end,
    running = function()
      return coroutine.status(thread) ~= "dead"
    end,
  }
end

return M

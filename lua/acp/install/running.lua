--- The one installation that this Neovim runs at a time. A plugin manager may have begun it, `:Acp build`, or the first
--- `:AcpChat`; a second request meanwhile joins it. What is installed is up to `acp.install`.

local task = require("acp.install.task")

local M = {}

---@class acp.Installation
---@field root string
---@field said string how far it is
---@field began integer as nanoseconds
---@field cancel fun()
---@field listen fun(listener: acp.InstallListener): fun() off

---@class acp.InstallListener
---@field on_progress? fun(text: string)
---@field on_done fun(err?: string, installed?: acp.Installed)

-- Not in this module: after an update a newer one of the same name is loaded while the older one's work goes on.
local shared = package.loaded["acp.installing"] or {}
package.loaded["acp.installing"] = shared

---@return acp.Installation?
function M.current()
  return shared.installation
end

--- Begins to install, or joins what runs for the same folder.
---@param root string
---@param opts? acp.InstallOptions
---@return acp.Installation
function M.start(root, opts)
  local current = shared.installation
  if current and current.root == root then
    return current
  end
  local listeners = {}
  local work
  local installation = {
    root = root,
    said = "starting",
    began = vim.uv.hrtime(),
    cancel = function()
      work:cancel()
    end,
  }
  function installation.listen(listener)
    listeners[#listeners + 1] = listener
    return function()
      for i, each in ipairs(listeners) do
        if each == listener then
          return table.remove(listeners, i)
        end
      end
    end
  end
  shared.installation = installation
  work = task.start(function()
    return require("acp.install").run(root, opts)
  end, {
    on_progress = function(text)
      installation.said = text
      for _, listener in ipairs(vim.list_slice(listeners)) do
        if listener.on_progress then
          listener.on_progress(text)
        end
      end
    end,
    on_done = function(err, installed)
      shared.installation = nil
      for _, listener in ipairs(vim.list_slice(listeners)) do
        listener.on_done(err, installed)
      end
    end,
  })
  return installation
end

--- Installs in the coroutine that calls, and says its progress there. Raises one line if it fails.
---@param root string
---@param opts? acp.InstallOptions
---@return acp.Installed
function M.wait(root, opts)
  local installation = M.start(root, opts)
  local done, err, result = false, nil, nil
  local said, heard = {}, function() end
  local unlisten = installation.listen({
    on_progress = function(text)
      said[#said + 1] = text
      heard()
    end,
    on_done = function(...)
      done, err, result = true, ...
      heard()
    end,
  })
  local ok, why = pcall(function()
    while not done do
      task.wait(function(wake)
        heard = wake
      end, function()
        return done or #said > 0
      end)
      -- What was said in between is of no use any more.
      local last = said[#said]
      said = {}
      if last then
        task.say(last)
      end
    end
  end)
  if not ok then
    unlisten()
    installation.cancel()
    error(why, 0)
  elseif err then
    task.fail(err)
  end
  return result --[[@as acp.Installed]]
end

return M

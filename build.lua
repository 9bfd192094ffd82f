-- Gets the plugin's library. Plugin managers run this after installing and updating: lazy.nvim by itself, in a coroutine
-- whose progress it shows; others by their hooks, see `:help acp-install`. Without a coroutine it works in the
-- background, and without a screen it waits until all is done.

local root = vim.fs.dirname(vim.fn.fnamemodify(vim.fn.resolve(debug.getinfo(1, "S").source:sub(2)), ":p"))

-- The plugin may not be on the 'runtimepath' yet, or with modules of before the update.
for name in pairs(package.loaded) do
  if name == "acp.install" or name:find("^acp%.install%.") then
    package.loaded[name] = nil
  end
end
for name in vim.fs.dir(root .. "/lua/acp/install") do
  local module = name:match("^(.+)%.lua$")
  if module then
    local full = module == "init" and "acp.install" or "acp.install." .. module
    package.preload[full] = assert(loadfile(root .. "/lua/acp/install/" .. name))
  end
end
for _, module in ipairs({ "helptags", "notify", "repository", "targets" }) do
  package.preload["acp." .. module] = assert(loadfile(("%s/lua/acp/%s.lua"):format(root, module)))
end

local running = require("acp.install.running")
local notify = require("acp.notify")

---@param installed acp.Installed
local function told(installed)
  local text = "library from " .. installed.from
  return installed.note and text .. ": " .. installed.note or text
end

-- A folder that can't be written is seen to when the plugin is loaded.
pcall(vim.cmd.helptags, vim.fn.fnameescape(root .. "/doc"))

-- Nor is the help of a plugin found that lazy.nvim loads only when one of its commands is used.
local lazy = package.loaded["lazy.core.config"]
local spec = type(lazy) == "table" and type(lazy.plugins) == "table" and lazy.plugins["acp.nvim"]
if spec and (spec.lazy or spec.cmd) then
  pcall(require("acp.helptags").publish, root)
end

local task = require("acp.install.task")
if task.is_inside() then
  return task.say(told(running.wait(root)))
end

local done, failed = false, nil
running.start(root).listen({
  on_done = function(err, installed)
    done, failed = true, err
    if err then
      notify.show(err, vim.log.levels.ERROR)
    else
      notify.show(told(installed), vim.log.levels.INFO)
    end
  end,
})
if #vim.api.nvim_list_uis() == 0 then
  -- A script that sets up a machine ends after this line.
  vim.wait(30 * 60 * 1000, function()
    return done
  end)
  assert(not failed, failed)
else
  notify.show("getting the library; `:Acp build` shows how far it is", vim.log.levels.INFO)
end

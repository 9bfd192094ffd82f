-- Stands in for plugin managers, by what they do with a plugin: lazy.nvim clones it, runs its build.lua in a coroutine
-- that it resumes again and again, defines stubs of its commands and loads it when one is used; mini.deps clones it and
-- calls hooks. Which of them is meant is up to the configuration that is run.

local M = {}

local folder = vim.fn.stdpath("data") .. "/lazy"

--- What build.lua said, by plugin.
M.progress = {}
--- Why a build failed, by plugin.
M.failed = {}
--- What was in the plugin's folder of libraries at the moment its build ended, by plugin.
M.libraries = {}

---@param source string "owner/name", or an address
---@return string path
---@return boolean cloned
local function clone(source)
  local path = folder .. "/" .. source:match("([^/]+)$"):gsub("%.git$", "")
  if vim.uv.fs_stat(path) then
    return path, false
  end
  local url = source:find("://") and source or ("https://github.com/%s.git"):format(source)
  local output = vim.fn.system({ "git", "clone", "-q", url, path })
  assert(vim.v.shell_error == 0, output)
  return path, true
end

--- Resumes a coroutine at each turn of the event loop, without a pause and without arguments. What it yields is progress;
--- "abort" ends it.
function M.build(path, on_done)
  local name = vim.fs.basename(path)
  M.progress[name] = {}
  local thread = coroutine.create(function()
    assert(loadfile(path .. "/build.lua"))()
  end)
  local check = assert(vim.uv.new_check())
  local function step()
    if coroutine.status(thread) == "dead" then
      return
    end
    local ok, said = coroutine.resume(thread, M.aborted and "abort" or nil)
    if ok and said then
      table.insert(M.progress[name], said)
    elseif not ok then
      M.failed[name] = said
    end
    if coroutine.status(thread) == "dead" then
      check:stop()
      check:close()
      M.libraries[name] = vim.fn.isdirectory(path .. "/lib") == 1 and vim.fn.readdir(path .. "/lib") or {}
      on_done(M.failed[name])
    end
  end
  check:start(vim.schedule_wrap(step))
end

--- Defines commands that load the plugin when they are used for the first time.
local function stub(spec, path)
  local function load()
    for _, name in ipairs(spec.cmd or {}) do
      pcall(vim.api.nvim_del_user_command, name)
    end
    vim.opt.runtimepath:prepend(path)
    for _, file in ipairs(vim.fn.glob(path .. "/plugin/*.lua", true, true)) do
      vim.cmd.source(file)
    end
    require("acp").setup(spec.opts)
  end
  for _, name in ipairs(spec.cmd or {}) do
    vim.api.nvim_create_user_command(name, function(event)
      load()
      vim.cmd({ cmd = name, args = event.fargs, bang = event.bang })
    end, { nargs = "*", bang = true, range = true })
  end
  if not spec.cmd then
    load()
  end
end

--- require("lazy").setup()
function M.setup(specs)
  if type(specs[1]) == "string" or specs.dir then
    specs = { specs }
  end
  M.installing = 0
  -- What lazy.nvim tells others of its plugins.
  package.loaded["lazy.core.config"] = { plugins = {} }
  for _, spec in ipairs(specs) do
    local path, cloned = spec.dir, false
    local name = vim.fs.basename(spec.dir or spec[1])
    package.loaded["lazy.core.config"].plugins[name] = { cmd = spec.cmd, lazy = spec.cmd ~= nil }
    if not path then
      path, cloned = clone(spec[1])
    end
    if cloned then
      M.installing = M.installing + 1
      M.build(path, function()
        M.installing = M.installing - 1
        vim.cmd.helptags(path .. "/doc")
        -- What is loaded at once is so when it is installed.
        if not spec.cmd then
          stub(spec, path)
        end
      end)
    end
    if spec.cmd or not cloned then
      stub(spec, path)
    end
  end
end

-- MiniDeps.add()
-- The recipe names it so.
-- selene: allow(global_usage)
rawset(_G, "MiniDeps", {
  add = function(spec)
    local path, cloned = clone(spec.source)
    if cloned then
      spec.hooks.post_install({ path = path, source = spec.source, name = vim.fs.basename(path) })
    end
    vim.opt.runtimepath:prepend(path)
    vim.cmd.source(path .. "/plugin/acp.lua")
  end,
})

package.loaded["lazy"] = M
return M

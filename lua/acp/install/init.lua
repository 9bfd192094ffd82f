--- Gets the library: the published one of these very sources, else one built here, else a published one that the
--- plugin's Lua can work with. Runs in a task (`acp.install.task`), so a plugin manager's coroutine will do; how the
--- progress is shown is left to the caller.

local cargo = require("acp.install.cargo")
local file = require("acp.install.file")
local fingerprint = require("acp.install.fingerprint")
local place = require("acp.install.place")
local process = require("acp.install.process")
local release = require("acp.install.release")
local target = require("acp.install.target")
local task = require("acp.install.task")

local M = {}

---@class acp.InstallOptions
---@field force? boolean get it again though it is there
---@field from? "release"|"cargo" from there only

---@class acp.Installed
---@field library string
---@field from string
---@field note? string what the user should know of it

---@param root string
---@return string
local function version_in(root)
  return (file.read(root .. "/Cargo.toml") or ""):match('\nversion%s*=%s*"([^"]+)"') or "0.0.0"
end

--- Whether this Neovim can load the library, in a task; raises why not.
---@param library string
local function try(library)
  task.say("trying the library")
  local check = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2)) .. "/check.lua"
  local ran = process.run({ vim.v.progpath, "--clean", "--headless", "-l", check, library }, {
    env = { NVIM_LOG_FILE = jit.os == "Windows" and "NUL" or "/dev/null" },
  })
  if ran.code ~= 0 then
    task.fail(("couldn't load the library on this system: %s"):format(process.last_words(ran)))
  end
end

--- The release for these sources, if there is one, or one whose library understands the same calls.
---@param wanted { fingerprint?: string, interface: string, version: string }
---@return acp.Release? exact
---@return acp.Release? similar
---@return string? problem
local function find_release(wanted)
  local similar, problem
  for _, tag in ipairs({ "v" .. wanted.version, "edge" }) do
    task.say("looking for a library in release " .. tag)
    local ok, found = pcall(release.find, tag)
    if not ok then
      if found == task.CANCELLED then
        task.fail(found)
      end
      problem = problem or found
    elseif found and not release.has_this_system(found) then
      problem = problem
        or ("release %s has no library for %s"):format(tag, target.here() or select(2, target.here()))
    elseif found and found.fingerprint == wanted.fingerprint then
      return found
    elseif found and found.interface == wanted.interface then
      similar = similar or found
    end
  end
  return nil, similar, problem
end

--- The ways that there are, best first; each raises what went wrong.
---@param root string
---@param wanted { fingerprint?: string, interface: string, version: string }
---@param from? "release"|"cargo"
---@return (fun(scratch: string): string, acp.Built, string?)[] ways
---@return string? problem why there is no published library
local function ways(root, wanted, from)
  local list = {}
  local exact, similar, problem
  if from ~= "cargo" then
    exact, similar, problem = find_release(wanted)
  end
  if exact then
    list[#list + 1] = function(scratch)
      return release.get(exact, scratch)
    end
  end
  if from ~= "release" and cargo.is_there() and wanted.fingerprint then
    list[#list + 1] = function(scratch)
      local folder = cargo.build(root, scratch)
      return folder,
        {
          fingerprint = wanted.fingerprint,
          interface = wanted.interface,
          version = wanted.version,
          from = cargo.COMMAND,
        }
    end
  end
  if similar then
    list[#list + 1] = function(scratch)
      local folder, built = release.get(similar, scratch)
      return folder, built, "it was built from other sources, and understands the same calls"
    end
  end
  return list, problem or not exact and "no release has a library of these sources" or nil
end

--- What to do when no way was left, as one line.
---@param from? "release"|"cargo"
---@param unreachable boolean whether releases could not even be looked at
local function help_out(from, unreachable)
  local downloads = vim.fn.executable("curl") == 1 or vim.fn.executable("wget") == 1
  if not downloads and from ~= "cargo" then
    return "install curl, then run :Acp build"
  elseif from == "release" then
    return "`:Acp build cargo` builds it here"
  elseif unreachable and not cargo.is_there() then
    return "check the network and run :Acp build again, or install Rust (https://rustup.rs), which builds it here"
  elseif not cargo.is_there() then
    return "install Rust (https://rustup.rs), then run :Acp build"
  end
  return "run :Acp build to try again"
end

--- Gets the library and has it count from now on, in a task. Raises one line that says what went wrong and what to do.
---@param root string the plugin's folder
---@param opts? acp.InstallOptions
---@return acp.Installed
function M.run(root, opts)
  opts = opts or {}
  local wanted = {
    fingerprint = fingerprint.of(root),
    interface = dofile(root .. "/lua/acp/interface.lua"),
    version = version_in(root),
  }
  local folder = place.folder(root)
  local there = not opts.force and wanted.fingerprint and place.of(folder, wanted.fingerprint)
  if there then
    local built = place.built(there) or { from = "before" }
    place.use(folder, there)
    return { library = there, from = built.from, note = "nothing had to be done" }
  end

  local list, problem = ways(root, wanted, opts.from)
  local made, scratch = pcall(place.scratch, folder)
  if not made then
    task.fail(("couldn't write to %s: %s"):format(folder, scratch))
  end
  local function remove_scratch()
    vim.fn.delete(scratch, "rf")
  end
  return task.with_cleanup(remove_scratch, function()
    local problems = { problem }
    for _, way in ipairs(list) do
      local ok, result = pcall(function()
        local from, built, note = way(scratch)
        built.sources = wanted.fingerprint
        try(from .. "/" .. target.library())
        local library = place.put(folder, from, built)
        place.use(folder, library)
        return { library = library, from = built.from, note = note }
      end)
      if ok then
        remove_scratch()
        return result
      elseif result == task.CANCELLED then
        task.fail(result)
      end
      problems[#problems + 1] = tostring(result)
    end
    local text = #problems > 0 and table.concat(problems, "; ") or "there is no way to get it"
    local unreachable = problem ~= nil and problem:find("^couldn't download") ~= nil
    return task.fail(("couldn't get the library: %s; %s"):format(text, help_out(opts.from, unreachable)))
  end) --[[@as acp.Installed]]
end

return M

--- Finds and loads the library that is the plugin. It stays loaded until Neovim ends; all that can be
--- done about a newer one is to say so. What is done with the library is up to `acp`.

local M = {}

---@class acp.Place Where the library was loaded from.
---@field root string the plugin's folder
---@field lib string the library's file
---@field demo? string the demo agent's program, if it is beside the library
---@field changed integer when the library's file was written, in seconds

local windows = jit.os == "Windows"

-- Taken while this file is read: it may have been found by a path relative to the folder of then.
local root = vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h:h:h"))

---@type acp.Native?
local loaded
---@type acp.Place?
local place

--- The plugin's folder.
---@return string
function M.root()
  return root
end

---@param path string
---@return integer? written when it was written, if it is there
local function written(path)
  local stat = vim.uv.fs_stat(path)
  return stat and stat.type == "file" and stat.mtime.sec or nil
end

--- Whether the user chose the library, so that nothing is said of its sources, and nothing installed.
---@return boolean
function M.is_chosen()
  return (vim.env.ACP_NVIM_LIB or "") ~= ""
end

--- The files that are looked for. Of those that are there the one that was written last counts, and a debug build
--- only without any other.
---@return string[]
function M.candidates()
  if M.is_chosen() then
    return { vim.fs.normalize(vim.fn.fnamemodify(vim.env.ACP_NVIM_LIB, ":p")) }
  end
  local places = require("acp.install.place")
  local name = require("acp.install.target").library()
  local files = {}
  local function add(file)
    files[#files + 1] = file
  end
  -- What `:Acp build` and plugin managers have installed.
  add(places.current(root .. "/lib"))
  add(places.current(places.outside(root)))
  -- What a package brings along; LuaRocks keeps libraries apart from Lua files.
  add(("%s/lib/%s"):format(root, name))
  add(package.searchpath and package.searchpath("acp_nvim", package.cpath))
  for _, profile in ipairs({ "release", "debug" }) do
    add(("%s/target/%s/%s"):format(root, profile, name))
  end
  return files
end

---@return acp.Place?
local function find()
  local best, is_debug
  for _, lib in ipairs(M.candidates()) do
    local changed = written(lib)
    local debug_build = lib:find("/target/debug/", 1, true) ~= nil
    if changed and (not best or (not debug_build and (is_debug or changed > best.changed))) then
      local demo = vim.fs.dirname(lib) .. "/" .. require("acp.install.target").demo_agent()
      best = { root = root, lib = lib, demo = written(demo) and demo or nil, changed = changed }
      is_debug = debug_build
    end
  end
  return best
end

--- The file to load. Windows lets nobody write a library's file while it is loaded, so that it could not be
--- built again as long as any Neovim runs: there a copy is loaded, one for each build.
---@param lib string
---@return string
local function loadable(lib)
  local stat = windows and vim.uv.fs_stat(lib)
  if not stat then
    return lib
  end
  local folder = vim.fn.stdpath("cache") .. "/acp"
  local name = ("acp_nvim-%d.%d-%d.dll"):format(stat.mtime.sec, stat.mtime.nsec, stat.size)
  local copy = folder .. "/" .. name
  if written(copy) then
    return copy
  end
  require("acp.install.file").make_folder(folder)
  for old in vim.fs.dir(folder) do
    if old:find("^acp_nvim%-.*%.dll$") then
      -- One that another Neovim has loaded stays, and goes another time.
      os.remove(folder .. "/" .. old)
    end
  end
  -- Whole or not at all: another Neovim may do the same at this moment.
  local new = ("%s.%d"):format(copy, vim.uv.os_getpid())
  local copied = vim.uv.fs_copyfile(lib, new) and os.rename(new, copy)
  if not copied then
    os.remove(new)
  end
  return (copied or written(copy)) and copy or lib
end

--- Why there is no library that could be loaded, as one sentence, or nothing if there is one. Looks at files only.
---@return string?
---@return acp.Place? found what there is to load
function M.missing()
  if loaded then
    return nil
  end
  local found = find()
  if not found then
    return M.is_chosen() and ("$ACP_NVIM_LIB names no file: %s"):format(M.candidates()[1])
      or "the plugin's library is not here yet"
  end
  local built = require("acp.install.place").built(found.lib)
  if built and built.interface and built.interface ~= require("acp.interface") then
    return "the plugin's library is of another version than its Lua files, and can't be used with them"
  end
  return nil, found
end

--- Whether this runs where the library must not be loaded: it would keep the coroutine's state, which is
--- collected some day.
---@return boolean
function M.in_coroutine()
  return require("acp.install.task").is_inside()
end

--- The library, loaded at the first call. Raises a text that says what to do.
---@return acp.Native, acp.Place
function M.load()
  if loaded and place then
    return loaded, place
  end
  if M.in_coroutine() then
    error("couldn't load the library inside of a coroutine: wrap the call in vim.schedule()", 0)
  end
  local missing, found = M.missing()
  if missing or not found then
    error(M.is_chosen() and missing or ("%s: run :Acp build"):format(missing), 0)
  end
  -- By its path, not through package.cpath: no other plugin's library can be meant.
  local open, why = package.loadlib(loadable(found.lib), "luaopen_acp_nvim")
  if not open then
    error(("couldn't load %s: %s; `:Acp build!` gets it again"):format(found.lib, why), 0)
  end
  local library = open("acp_nvim", found.lib)
  if library.interface ~= require("acp.interface") then
    error(
      ("run :Acp build, then restart Neovim: the library is of another version than the plugin (%s)"):format(
        found.lib
      ),
      0
    )
  end
  loaded, place = library, found
  return library, found
end

--- What to do if the library that runs is not the one of the plugin's sources.
---@param fingerprint? string of the sources on the disk, nothing if there are none
---@return string? advice
function M.outdated(fingerprint)
  if not loaded or not place or not fingerprint or M.is_chosen() or loaded.fingerprint == fingerprint then
    return nil
  end
  local built = require("acp.install.place").built(place.lib)
  if built and built.sources == fingerprint then
    -- Nothing closer could be had, which was said then.
    return nil
  end
  if M.rebuilt() then
    return "the plugin was updated: restart Neovim to use its new library"
  end
  return "the plugin was updated without its library, which still works: `:Acp build` gets the one that belongs to it"
end

--- Whether there is another library by now than the one that runs.
---@return boolean
function M.rebuilt()
  if not place then
    return false
  end
  local found = find()
  return found ~= nil and (found.lib ~= place.lib or found.changed ~= place.changed)
end

return M

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

--- The version in Cargo.toml, which is that of the plugin as it lies on the disk.
---@return string?
function M.version_on_disk()
  local file = io.open(root .. "/Cargo.toml", "r")
  if not file then
    return nil
  end
  local text = file:read("*a")
  file:close()
  return text:match('\nversion%s*=%s*"([^"]+)"')
end

---@param path string
---@return integer? written when it was written, if it is there
local function written(path)
  local stat = vim.uv.fs_stat(path)
  return stat and stat.type == "file" and stat.mtime.sec or nil
end

--- The files that are looked for, best first.
---@return string[]
function M.candidates()
  local given = vim.env.ACP_NVIM_LIB
  if given and given ~= "" then
    return { vim.fs.normalize(vim.fn.fnamemodify(given, ":p")) }
  end
  local extension = windows and ".dll" or jit.os == "OSX" and ".dylib" or ".so"
  local files = {}
  for _, profile in ipairs({ "release", "debug" }) do
    for _, prefix in ipairs({ "lib", "" }) do
      files[#files + 1] = ("%s/target/%s/%sacp_nvim%s"):format(root, profile, prefix, extension)
    end
  end
  return files
end

---@return acp.Place?
local function find()
  for _, lib in ipairs(M.candidates()) do
    local changed = written(lib)
    if changed then
      local demo = vim.fs.dirname(lib) .. "/acp-demo-agent" .. (windows and ".exe" or "")
      return { root = root, lib = lib, demo = written(demo) and demo or nil, changed = changed }
    end
  end
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
  vim.fn.mkdir(folder, "p")
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

local function absent()
  if vim.env.ACP_NVIM_LIB and vim.env.ACP_NVIM_LIB ~= "" then
    return ("$ACP_NVIM_LIB names no file: %s"):format(M.candidates()[1])
  end
  return ("the library is not built: run `cargo build --release` in %s"):format(root)
end

--- Whether this runs where the library must not be loaded: it would keep the coroutine's state, which is
--- collected some day.
---@return boolean
function M.in_coroutine()
  -- The main one is nil, or said to be the main one where LuaJIT was built like Lua 5.2.
  local coroutine_, main = coroutine.running()
  return coroutine_ ~= nil and not main
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
  local found = find()
  if not found then
    error(absent(), 0)
  end
  -- By its path, not through package.cpath: no other plugin's library can be meant.
  local open, why = package.loadlib(loadable(found.lib), "luaopen_acp_nvim")
  if not open then
    error(("couldn't load %s: %s; build it again with `cargo build --release`"):format(found.lib, why), 0)
  end
  loaded, place = open("acp_nvim", found.lib), found
  return loaded, place
end

--- What to do if the library that runs is not the one that belongs to the plugin on the disk.
---@return string? advice
function M.outdated()
  if not loaded or not place then
    return nil
  end
  local wanted = M.version_on_disk()
  if not wanted or wanted == loaded.version then
    return nil
  end
  if written(place.lib) ~= place.changed then
    return ("acp.nvim is %s now, %s still runs: restart Neovim"):format(wanted, loaded.version)
  end
  return ("acp.nvim is %s, but its library is %s: run `cargo build --release` in %s and restart Neovim"):format(
    wanted,
    loaded.version,
    root
  )
end

--- Whether the library's file was written since it was loaded.
---@return boolean
function M.rebuilt()
  return place ~= nil and written(place.lib) ~= place.changed
end

return M

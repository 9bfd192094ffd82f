--- Where libraries are put, and which one counts: a folder for each, named by the sources it was built from, and a
--- file `current` that names one of them. So a library that is loaded is never written over, two Neovims may install
--- at once, and going back to an older commit needs no download.

local file = require("acp.install.file")
local target = require("acp.install.target")

local M = {}

-- Beside the one that counts, for going back and forth.
local KEPT = 2

---@class acp.Built What is known of a library, in `build.json` beside it.
---@field fingerprint? string which sources it was built from
---@field sources? string which sources it was taken for, where that is known to differ
---@field interface? string
---@field version? string
---@field from string where it is from: "release v0.1.0" or "cargo build --release"

--- In the plugin's folder, so that it goes with it; where that can't be written, in the user's own.
---@param root string
---@return string
function M.folder(root)
  local inside = root .. "/lib"
  if vim.uv.fs_access(vim.uv.fs_stat(inside) and inside or root, "W") then
    return inside
  end
  return M.outside(root)
end

--- The folder for a plugin that can't be written. Other copies of the plugin have others.
---@param root string
---@return string
function M.outside(root)
  return ("%s/acp/library/%s"):format(vim.fn.stdpath("data"), vim.fn.sha256(root):sub(1, 16))
end

--- Writes a file that is old or new at any moment, never half of it. Raises what went wrong.
---@param path string
---@param text string
local function write(path, text)
  local new = ("%s.%d"):format(path, vim.uv.os_getpid())
  local handle = assert(io.open(new, "w"))
  handle:write(text)
  assert(handle:close())
  assert(vim.uv.fs_rename(new, path))
end

--- The library that counts in a folder, if there is one.
---@param folder string
---@return string? library
function M.current(folder)
  local name = vim.trim(file.read(folder .. "/current") or "")
  local library = ("%s/%s/%s"):format(folder, name, target.library())
  return name ~= "" and vim.uv.fs_stat(library) and library or nil
end

--- What is known of a library from the file beside it.
---@param library string
---@return acp.Built?
function M.built(library)
  local ok, built = pcall(vim.json.decode, file.read(vim.fs.dirname(library) .. "/build.json") or "")
  return ok and type(built) == "table" and built or nil
end

--- The library of these sources, if it is there already.
---@param folder string
---@param fingerprint string
---@return string? library
function M.of(folder, fingerprint)
  local library = ("%s/%s/%s"):format(folder, fingerprint:sub(1, 16), target.library())
  return vim.uv.fs_stat(library) and library or nil
end

--- A new folder to work in, below the one for libraries.
---@param folder string
---@return string
function M.scratch(folder)
  file.make_folder(folder)
  return assert(vim.uv.fs_mkdtemp(("%s/new-%d-XXXXXX"):format(folder, vim.uv.os_getpid())))
end

--- Takes a library, in a folder of its own below the scratch folder, to where the libraries are.
---@param folder string
---@param from string holds the library
---@param built acp.Built
---@return string library
function M.put(folder, from, built)
  write(from .. "/build.json", vim.json.encode(built))
  local to = ("%s/%s"):format(folder, built.fingerprint:sub(1, 16))
  if vim.uv.fs_stat(to) then
    -- An older build of the same sources. A library that is loaded from there stays loaded.
    local old = M.scratch(folder) .. "/old"
    vim.uv.fs_rename(to, old)
    vim.fn.delete(vim.fs.dirname(old), "rf")
  end
  local ok, why = vim.uv.fs_rename(from, to)
  -- Another Neovim may have been faster with the same library.
  if not ok and not M.of(folder, built.fingerprint) then
    error(("couldn't put the library into %s: %s"):format(to, why), 0)
  end
  return to .. "/" .. target.library()
end

--- Has this library count from now on, and removes what is no longer needed.
---@param folder string
---@param library string
function M.use(folder, library)
  local name = vim.fs.basename(vim.fs.dirname(library))
  write(folder .. "/current", name .. "\n")
  local others = {}
  for each, kind in vim.fs.dir(folder) do
    local pid = tonumber(each:match("^new%-(%d+)%-"))
    local path = folder .. "/" .. each
    if pid and (pid == vim.uv.os_getpid() or vim.uv.kill(pid, 0) ~= 0) then
      vim.fn.delete(path, "rf")
    elseif kind == "directory" and not pid and each ~= name then
      local stat = vim.uv.fs_stat(path)
      others[#others + 1] = { path = path, time = stat and stat.mtime.sec or 0 }
    end
  end
  table.sort(others, function(a, b)
    return a.time > b.time
  end)
  for i = KEPT + 1, #others do
    vim.fn.delete(others[i].path, "rf")
  end
end

return M

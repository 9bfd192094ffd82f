--- Unpacks an archive into a folder, and nowhere else: what it holds is looked at before and afterwards. Where the
--- archive comes from, and whether it is the right one, is up to the caller.

local files = require("acp.install.file")
local process = require("acp.install.process")
local task = require("acp.install.task")

local M = {}

---@param path string
---@return boolean
local function is_zip(path)
  return path:lower():find("%.zip$") ~= nil
end

--- What lists and unpacks this archive: `tar` finds out how it is compressed; bsdtar, which is Windows' and macOS'
--- `tar`, reads zip files, too.
---@param path string
---@return { list: string[], unpack: fun(folder: string): string[] }
local function tools(path)
  local zip = is_zip(path)
  if zip and vim.fn.executable("unzip") == 1 then
    return {
      list = { "unzip", "-Z1", path },
      unpack = function(folder)
        return { "unzip", "-q", "-o", path, "-d", folder }
      end,
    }
  end
  local tar = zip and vim.fn.executable("bsdtar") == 1 and "bsdtar" or "tar"
  if zip and tar == "tar" and jit.os ~= "Windows" and jit.os ~= "OSX" then
    task.fail(("couldn't unpack %s: install unzip"):format(vim.fs.basename(path)))
  end
  return {
    list = { tar, "-tf", path },
    unpack = function(folder)
      return { tar, "-xf", path, "-C", folder }
    end,
  }
end

--- Why a member of an archive must not be unpacked by this name.
---@param name string
---@return boolean
local function leaves(name)
  local path = name:gsub("\\", "/")
  return path:find("^/") ~= nil
    or path:find("^%a:") ~= nil
    or path == ".."
    or vim.startswith(path, "../")
    or vim.endswith(path, "/..")
    or path:find("/../", 1, true) ~= nil
end

--- The links below the folder that lead out of it.
---@param folder string
---@return string? first
local function escaping_link(folder)
  local root = assert(vim.uv.fs_realpath(folder))
  for name, kind in vim.fs.dir(folder, { depth = 64 }) do
    if kind == "link" then
      local target = vim.uv.fs_realpath(folder .. "/" .. name)
      if not target or not vim.startswith(target, root .. "/") then
        return name
      end
    end
  end
end

--- Unpacks the archive into a folder, which is made for it, in a task. Raises one line, and leaves no folder, if the
--- archive is damaged or one of its names or links leads out of the folder.
---@param path string .tar.gz, .tgz, .tar.bz2, .tbz2, .tar.xz or .zip
---@param folder string not there yet
function M.unpack(path, folder)
  local name = vim.fs.basename(path)
  local with = tools(path)
  local listed = process.run(with.list)
  if listed.code ~= 0 then
    task.fail(("couldn't unpack %s: %s"):format(name, process.last_words(listed)))
  end
  for member in listed.out:gmatch("[^\r\n]+") do
    if leaves(member) then
      task.fail(("couldn't unpack %s: it holds %s, which leads out of the folder"):format(name, member))
    end
  end
  files.make_folder(folder)
  local ok, why = pcall(function()
    local ran = process.run(with.unpack(folder))
    if ran.code ~= 0 then
      task.fail(("couldn't unpack %s: %s"):format(name, process.last_words(ran)))
    end
    local link = escaping_link(folder)
    if link then
      task.fail(("couldn't unpack %s: it holds %s, a link that leads out of the folder"):format(name, link))
    end
  end)
  if not ok then
    vim.fn.delete(folder, "rf")
    error(why, 0)
  end
end

return M

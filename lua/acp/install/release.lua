--- The libraries that are published: which release has one for these sources, and how it comes onto this machine.
--- `scripts/release/` makes what is read here.

local archive = require("acp.install.archive")
local download = require("acp.install.download")
local target = require("acp.install.target")
local task = require("acp.install.task")

local M = {}

---@class acp.Release
---@field tag string
---@field address string
---@field sums table<string, string> SHA-256 in hex, by file
---@field fingerprint string
---@field interface string
---@field version string

---@return string
function M.address()
  local given = vim.env.ACP_NVIM_RELEASES
  if given and given ~= "" then
    return (given:gsub("/$", ""))
  end
  return ("https://github.com/%s/releases/download"):format(require("acp.repository"))
end

--- What there is under a tag, in a task; nothing if there is no such release, or none that this can read.
---@param tag string
---@return acp.Release?
function M.find(tag)
  local address = M.address() .. "/" .. tag
  local sums_text = download.fetch(address .. "/SHA256SUMS")
  local text = sums_text and download.fetch(address .. "/build.json")
  if not text then
    return nil
  end
  local sums = {}
  for sum, name in sums_text:gmatch("(%x+) [ *]([^\r\n]+)") do
    sums[name] = sum:lower()
  end
  if vim.fn.sha256(text) ~= sums["build.json"] then
    task.fail(("couldn't use release %s: build.json isn't what SHA256SUMS says"):format(tag))
  end
  local ok, built = pcall(vim.json.decode, text)
  if not ok or type(built) ~= "table" or type(built.fingerprint) ~= "string" then
    task.fail(("couldn't use release %s: build.json can't be understood"):format(tag))
  end
  return {
    tag = tag,
    address = address,
    sums = sums,
    fingerprint = built.fingerprint,
    interface = built.interface,
    version = built.version,
  }
end

--- What the archive for a target is called.
---@param name string
---@return string
local function file_for(name)
  return ("acp-nvim-%s.tar.gz"):format(name)
end

--- Whether a release has a library for this system.
---@param release acp.Release
---@return boolean
function M.has_this_system(release)
  local here = target.here()
  return here ~= nil and release.sums[file_for(here)] ~= nil
end

--- Downloads, checks and unpacks the library into a folder of its own, in a task.
---@param release acp.Release
---@param scratch string
---@return string folder holds the library and the demo agent
---@return acp.Built
function M.get(release, scratch)
  local here = assert(target.here())
  local name = file_for(here)
  local file, folder = scratch .. "/" .. name, scratch .. "/unpacked"
  local _, missing = download.fetch(release.address .. "/" .. name, file)
  if missing then
    task.fail(("couldn't download %s: release %s doesn't have it"):format(name, release.tag))
  end
  task.say("checking " .. name)
  download.check(file, release.sums[name])
  archive.unpack(file, folder)
  if not vim.uv.fs_stat(folder .. "/" .. target.library()) then
    task.fail(("couldn't use %s: it doesn't hold %s"):format(name, target.library()))
  end
  return folder,
    {
      fingerprint = release.fingerprint,
      interface = release.interface,
      version = release.version,
      from = "release " .. release.tag,
    }
end

return M

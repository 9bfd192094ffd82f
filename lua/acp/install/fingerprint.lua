--- Which sources lie in the plugin's folder, as one text: the same that `src/fingerprint.rs` computes when a library is
--- built, so that the library of these very sources can be told from all others.

local file = require("acp.install.file")

local M = {}

-- Files beside those below src/ that the library is made of.
local FILES = { "Cargo.lock", "Cargo.toml", "build.rs", "lua/acp/interface.lua" }

--- The sources, relative to the root, sorted by bytes. The demo agent is a program of its own.
---@param root string
---@return string[]
local function sources(root)
  local found = vim.tbl_filter(function(name)
    return vim.uv.fs_stat(root .. "/" .. name) ~= nil
  end, FILES)
  local function keep(folder)
    return folder ~= "bin"
  end
  for name, kind in vim.fs.dir(root .. "/src", { depth = 64, skip = keep }) do
    if kind ~= "directory" and not vim.startswith(name, "bin/") then
      found[#found + 1] = "src/" .. name
    end
  end
  table.sort(found)
  return found
end

--- Nothing where there are no sources, as in a package. Reads all of them: about 10 ms.
---@param root string
---@return string? in hex
function M.of(root)
  if not vim.uv.fs_stat(root .. "/src/lib.rs") then
    return nil
  end
  local list = {}
  for _, source in ipairs(sources(root)) do
    list[#list + 1] = ("%s  %s\n"):format(vim.fn.sha256(file.read(root .. "/" .. source) or ""), source)
  end
  return vim.fn.sha256(table.concat(list))
end

return M

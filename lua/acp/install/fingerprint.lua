--- Which sources lie in the plugin's folder, as one text: the same that `src/fingerprint.rs` computes when a library is
--- built, so that the library of these very sources can be told from all others.

local M = {}

-- Files beside those below src/ that the library is made of.
local FILES = { "Cargo.lock", "Cargo.toml", "build.rs", "lua/acp/interface.lua" }

---@param path string
---@return string?
local function content(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text
end

--- The sources, relative to the root, sorted by bytes. The demo agent is a program of its own.
---@param root string
---@return string[]
local function sources(root)
  local found = vim.tbl_filter(function(file)
    return vim.uv.fs_stat(root .. "/" .. file) ~= nil
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
    list[#list + 1] = ("%s  %s\n"):format(vim.fn.sha256(content(root .. "/" .. source) or ""), source)
  end
  return vim.fn.sha256(table.concat(list))
end

return M

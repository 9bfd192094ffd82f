--- A file's whole content, for the small files that the installer and `:checkhealth` look at; and folders, made by
--- several Neovims at once.

local M = {}

--- The bytes of a file, or nil if it can't be read.
---@param path string
---@return string?
function M.read(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text
end

--- Makes a folder and those above it. Another Neovim may make the same ones at the same moment, at which `mkdir()` fails.
---@param path string
function M.make_folder(path)
  if vim.fn.isdirectory(path) == 1 then
    return
  end
  local above = vim.fs.dirname(path)
  if above ~= path then
    M.make_folder(above)
  end
  local made, why = vim.uv.fs_mkdir(path, 493) -- 0755
  if not made and vim.fn.isdirectory(path) == 0 then
    error(("couldn't make the folder %s: %s"):format(path, why), 0)
  end
end

return M

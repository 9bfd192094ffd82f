--- A file's whole content, for the small files that the installer and `:checkhealth` look at.

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

return M

--- The help's tags, for whoever installed the plugin without a plugin manager that makes them. They lie beside the help;
--- where that folder can't be written, both lie in a copy in the user's own.

local M = {}

---@param path string
local function time(path)
  return vim.fn.getftime(path)
end

--- Makes the tags unless they are there and newer than the help.
---@param root string the plugin's folder
function M.make(root)
  local doc = root .. "/doc"
  if time(doc .. "/tags") >= time(doc .. "/acp.txt") then
    return
  end
  if vim.uv.fs_access(doc, "W") then
    vim.cmd.helptags(vim.fn.fnameescape(doc))
    return
  end
  local own = vim.fn.stdpath("data") .. "/acp/help"
  local copy = own .. "/doc/acp.txt"
  if time(copy) < time(doc .. "/acp.txt") then
    vim.fn.mkdir(own .. "/doc", "p")
    assert(vim.uv.fs_copyfile(doc .. "/acp.txt", copy))
    vim.cmd.helptags(vim.fn.fnameescape(own .. "/doc"))
  end
  vim.opt.runtimepath:append(own)
end

return M

--- The help's tags, for whoever installed the plugin without a plugin manager that makes them. They lie beside the help;
--- where that folder can't be written, both lie in a copy in the user's own.

local file = require("acp.install.file")

local M = {}

---@param path string
local function time(path)
  return vim.fn.getftime(path)
end

--- Puts a copy of the help and its tags into a folder.
---@param root string the plugin's folder
---@param to string holds a folder doc/ afterwards
local function copy_help(root, to)
  local copy = to .. "/doc/acp.txt"
  if time(copy) < time(root .. "/doc/acp.txt") then
    file.make_folder(to .. "/doc")
    assert(vim.uv.fs_copyfile(root .. "/doc/acp.txt", copy))
    vim.cmd.helptags(vim.fn.fnameescape(to .. "/doc"))
  end
end

--- Has the help found before the plugin is loaded, where a plugin manager puts it on the 'runtimepath' only then. What
--- is in this folder of the user's is always found.
---@param root string the plugin's folder
function M.publish(root)
  copy_help(root, vim.fn.stdpath("data") .. "/site")
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
  copy_help(root, own)
  vim.opt.runtimepath:append(own)
end

return M

--- Tells language servers what an agent has changed on the disk. Of a file that is open Neovim tells them itself; of others
--- most learn nothing otherwise, and go on to speak of what was there before.

local file = require("acp.tools.file")

local M = {}

--- As the protocol of language servers numbers them.
local CREATED, CHANGED, DELETED = 1, 2, 3

--- What is to be told, by path.
---@type table<string, integer>
local changes = {}

--- What two changes of a file are together.
local function together(before, now)
  if before == CREATED and now == CHANGED then
    return CREATED
  elseif before == DELETED and now == CREATED then
    return CHANGED
  end
  return now
end

--- The names of the buffers that a server is told of by Neovim.
local function open_in(client)
  local names = {}
  for buf in pairs(client.attached_buffers) do
    if vim.api.nvim_buf_is_valid(buf) then
      names[vim.fs.normalize(vim.api.nvim_buf_get_name(buf))] = true
    end
  end
  return names
end

--- The folders that a server works in.
local function folders_of(client)
  local folders = {}
  for _, folder in ipairs(client.workspace_folders or {}) do
    table.insert(folders, vim.fs.normalize(vim.uri_to_fname(folder.uri)))
  end
  if client.root_dir then
    table.insert(folders, vim.fs.normalize(client.root_dir))
  end
  return folders
end

local function tell(client, told)
  local folders, open, events = folders_of(client), open_in(client), {}
  for path, kind in pairs(told) do
    if file.is_inside(path, folders) and not (kind == CHANGED and open[path]) then
      table.insert(events, { uri = vim.uri_from_fname(path), type = kind })
    end
  end
  if #events > 0 then
    -- Not before there is a server.
    require("acp.tools.lsp").invoke(client, "notify", "workspace/didChangeWatchedFiles", { changes = events })
  end
end

local function tell_all()
  local told = changes
  changes = {}
  for _, client in ipairs(vim.lsp.get_clients()) do
    tell(client, told)
  end
end

--- A file has changed on the disk. Many are told at once.
---@param path string absolute, without links
---@param was_there boolean
---@param is_there boolean
function M.changed(path, was_there, is_there)
  -- Where no server was ever started, there is no reason to load what starts them.
  if not package.loaded["vim.lsp"] then
    return
  end
  if next(changes) == nil then
    vim.schedule(tell_all)
  end
  local kind = not is_there and DELETED or was_there and CHANGED or CREATED
  changes[path] = together(changes[path], kind)
end

return M

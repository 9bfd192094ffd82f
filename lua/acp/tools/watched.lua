--- Tells language servers what an agent has changed on the disk. Of a file that is open Neovim tells them itself; of others
--- most learn nothing otherwise, and go on to speak of what was there before.

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

local function is_open(path, client)
  local buf = vim.fn.bufnr("^" .. vim.fn.escape(path, "[]*?{},\\^$") .. "$")
  return buf > 0 and client.attached_buffers[buf] ~= nil
end

--- The folders that a server works in, each with a slash at its end.
local function folders_of(client)
  local folders = {}
  for _, folder in ipairs(client.workspace_folders or {}) do
    table.insert(folders, vim.fs.normalize(vim.uri_to_fname(folder.uri)) .. "/")
  end
  if client.root_dir then
    table.insert(folders, vim.fs.normalize(client.root_dir) .. "/")
  end
  return folders
end

local function is_in(path, folders)
  for _, folder in ipairs(folders) do
    if vim.startswith(path, folder) then
      return true
    end
  end
  return false
end

local function tell(client, told)
  local folders, events = folders_of(client), {}
  for path, kind in pairs(told) do
    if is_in(path, folders) and not (kind == CHANGED and is_open(path, client)) then
      table.insert(events, { uri = vim.uri_from_fname(path), type = kind })
    end
  end
  if #events > 0 then
    local params = { changes = events }
    if vim.fn.has("nvim-0.11") == 1 then
      client:notify("workspace/didChangeWatchedFiles", params)
    else
      client.notify("workspace/didChangeWatchedFiles", params)
    end
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

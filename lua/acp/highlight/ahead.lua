--- Loads the languages that a project's chat is likely to show before they are needed: those of the user's buffers and
--- of the most frequent files. One part to a tick, and only while nobody types; the files are looked for without
--- waiting for the disk.

local api, uv = vim.api, vim.uv
local languages = require("acp.highlight.languages")

local M = {}

--- ms without a key before something is loaded, and between two parts.
local QUIET, PAUSE = 300, 50
--- How many languages are loaded, and how many folders and names are looked at to find them.
local LANGUAGES, FOLDERS, NAMES = 8, 60, 3000
--- Folders that hold others' code, or none.
local SKIPPED = { node_modules = true, target = true, vendor = true, build = true, dist = true }

local begun = false

--- Counts what the files below a folder end in.
---@param folder string
---@param done fun(endings: table<string, integer>)
local function count_endings(folder, done)
  local endings, folders, at, names = {}, { folder }, 0, 0
  local function next_folder()
    at = at + 1
    if not folders[at] or at > FOLDERS or names > NAMES then
      vim.schedule(function()
        done(endings)
      end)
      return
    end
    uv.fs_scandir(folders[at], function(_, entries)
      while entries and names <= NAMES do
        local name, kind = uv.fs_scandir_next(entries)
        if not name then
          break
        end
        names = names + 1
        local ending = kind == "file" and name:match("^.+%.([%w_]+)$")
        if ending then
          endings[ending] = (endings[ending] or 0) + 1
        elseif kind == "directory" and name:sub(1, 1) ~= "." and not SKIPPED[name] then
          folders[#folders + 1] = folders[at] .. "/" .. name
        end
      end
      next_folder()
    end)
  end
  next_folder()
end

--- The file types of the listed buffers.
---@return string[]
local function filetypes_of_buffers()
  local filetypes = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local filetype = vim.bo[buf].buflisted and vim.bo[buf].filetype or ""
    if filetype ~= "" and not vim.list_contains(filetypes, filetype) then
      filetypes[#filetypes + 1] = filetype
    end
  end
  return filetypes
end

--- Calls a function once in a while when no key has come for a moment, until it says that it is done.
---@param step fun(): boolean done
local function while_quiet(step)
  local ns = api.nvim_create_namespace("acp.highlight.ahead")
  local key = uv.now()
  vim.on_key(function()
    key = uv.now()
  end, ns)
  local timer = assert(uv.new_timer())
  local function tick()
    local quiet = uv.now() - key
    if quiet < QUIET then
      timer:start(QUIET - quiet, 0, vim.schedule_wrap(tick))
    elseif step() then
      vim.on_key(nil, ns)
      timer:close()
    else
      timer:start(PAUSE, 0, vim.schedule_wrap(tick))
    end
  end
  timer:start(PAUSE, 0, vim.schedule_wrap(tick))
end

--- Begins, once in a Neovim.
function M.begin()
  if begun then
    return
  end
  begun = true
  local names, endings, listed = {}, nil, false
  count_endings(uv.cwd() or ".", function(counted)
    endings = {}
    for ending, count in pairs(counted) do
      endings[#endings + 1] = { ending, count }
    end
    table.sort(endings, function(a, b)
      return a[2] > b[2] or a[2] == b[2] and a[1] < b[1]
    end)
  end)
  while_quiet(function()
    if names[1] then
      if not languages.load_part(names[1]) then
        table.remove(names, 1)
      end
    elseif not listed then
      listed, names = true, filetypes_of_buffers()
    elseif not endings then
      return false
    elseif endings[1] then
      local ending = table.remove(endings, 1)[1]
      if #endings > LANGUAGES then
        endings = vim.list_slice(endings, 1, LANGUAGES)
      end
      names = { vim.filetype.match({ filename = "x." .. ending }) }
    else
      return true
    end
    return false
  end)
end

return M

--- The files that agents' tools look into: found without making Neovim wait for a disk, only in the session's folders,
--- and opened without a window. What is asked about a file is left to the tools.

local M = {}

--- Larger files are not loaded for an agent.
local LARGEST = 8 * 1024 * 1024

---@param path string without links
---@param roots string[]
function M.is_inside(path, roots)
  for _, root in ipairs(roots) do
    local folder = root:sub(-1) == "/" and root or root .. "/"
    if path == root or vim.startswith(path, folder) then
      return true
    end
  end
  return false
end

---@param name string
---@param cwd string
---@return string
function M.absolute(name, cwd)
  local path = vim.fs.normalize(name)
  local is_absolute = vim.startswith(path, "/") or path:match("^%a:/") ~= nil
  return is_absolute and path or vim.fs.normalize(cwd .. "/" .. path)
end

--- The buffer that has this name, loaded or not.
---@param path string absolute
---@return integer?
function M.buffer(path)
  local buf = vim.fn.bufnr("^" .. vim.fn.escape(path, "[]*?{},\\^$") .. "$")
  return buf > 0 and buf or nil
end

--- The same if it is loaded.
---@param path string absolute
---@return integer?
function M.loaded(path)
  local buf = M.buffer(path)
  return buf and vim.api.nvim_buf_is_loaded(buf) and buf or nil
end

--- Goes on with the loaded buffer of a file, and whether it was loaded just now. Whatever is wrong with it ends the call.
---@param name string absolute, or relative to the session's folder
---@param ctx acp.tools.Context
---@param go_on fun(buf: integer, is_new: boolean)
function M.open(name, ctx, go_on)
  local path = M.absolute(name, ctx.cwd)
  local function found(real, stat)
    if not M.is_inside(real, ctx.roots) then
      return ctx.done(nil, name .. " is outside of the session's folders")
    end
    local buf = M.loaded(real) or M.loaded(path)
    if buf then
      return go_on(buf, false)
    elseif not stat or stat.type ~= "file" then
      return ctx.done(nil, name .. (stat and " is no file" or ": there is no such file"))
    elseif stat.size > LARGEST then
      return ctx.done(nil, name .. " is too large to be opened")
    end
    go_on(ctx.load(real), true)
  end
  local guarded = ctx.guard
  vim.uv.fs_realpath(
    path,
    guarded(function(_, real)
      if not real then
        -- A new file may be in a buffer only. Links in what is not there lead nowhere.
        return found(path, nil)
      end
      vim.uv.fs_stat(
        real,
        guarded(function(_, stat)
          found(vim.fs.normalize(real), stat)
        end)
      )
    end)
  )
end

--- Goes on with the lines of a file as the buffer has them, else the disk; with none if it can't be had.
---@param path string
---@param ctx acp.tools.Context
---@param go_on fun(lines: string[])
function M.lines(path, ctx, go_on)
  local buf = M.loaded(path)
  if buf then
    return go_on(vim.api.nvim_buf_get_lines(buf, 0, -1, false))
  end
  local uv, guarded = vim.uv, ctx.guard
  uv.fs_open(path, "r", 0, function(_, file)
    if not file then
      return guarded(go_on)({})
    end
    uv.fs_read(file, LARGEST, 0, function(_, text)
      uv.fs_close(file, function() end)
      guarded(function()
        go_on(vim.split(text or "", "\n", { plain = true }))
      end)()
    end)
  end)
end

--- The byte in a line, from 0, at which a symbol is; where none is named, the first that is no blank.
---@param line string
---@param symbol? string
---@param column? integer from 1
---@return integer?
function M.byte_of(line, symbol, column)
  if column then
    return math.min(column - 1, #line)
  elseif not symbol then
    return (line:find("%S") or 1) - 1
  end
  local from = 1
  while true do
    local first, last = line:find(symbol, from, true)
    if not first then
      -- Part of a word is better than nothing.
      local part = line:find(symbol, 1, true)
      return part and part - 1
    end
    local is_word = not line:sub(first - 1, first - 1):match("[%w_]")
      and not line:sub(last + 1, last + 1):match("[%w_]")
    if first == 1 then
      is_word = not line:sub(last + 1, last + 1):match("[%w_]")
    end
    if is_word then
      return first - 1
    end
    from = last + 1
  end
end

return M

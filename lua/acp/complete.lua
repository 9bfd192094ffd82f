--- Completion in the prompt: the agent's slash commands, which begin a prompt.

local M = {}

--- For 'omnifunc'; |complete-functions| says what it is given and gives.
---@param findstart 0|1
---@param base string
---@return integer|table
function M.omnifunc(findstart, base)
  if findstart == 1 then
    local row, column = unpack(vim.api.nvim_win_get_cursor(0))
    local before = vim.api.nvim_get_current_line():sub(1, column)
    -- Elsewhere a slash is a slash: -3 leaves completion without a word.
    return row == 1 and before:match("^/%S*$") and 0 or -3
  end
  local items = {}
  for _, command in ipairs(require("acp").call("commands") or {}) do
    local word = "/" .. command.name
    if vim.startswith(word, base) then
      local hint = command.hint and (" <%s>"):format(command.hint) or ""
      items[#items + 1] = { word = word, menu = (command.description .. hint):gsub("%s+", " "), kind = "/" }
    end
  end
  return items
end

return M

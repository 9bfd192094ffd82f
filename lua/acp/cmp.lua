--- A source for nvim-cmp: what |acp-completion| offers, in its menu. It takes its items from
--- `acp.complete`, and does nothing outside of prompts.

local complete = require("acp.complete")

---@class acp.CmpSource
local Source = {}
Source.__index = Source

function Source.new()
  return setmetatable({}, Source)
end

function Source.is_available(_)
  return vim.bo.filetype == "acp-prompt"
end

function Source.get_debug_name(_)
  return "acp"
end

function Source.get_trigger_characters(_)
  return { "@", "/", '"' }
end

-- A path is one word.
function Source.get_keyword_pattern(_)
  return [[\%(@\|/\)\S*]]
end

--- nvim-cmp calls it with where the cursor is, and takes the items when they are there.
---@param params { context: { cursor_line: string, cursor: { row: integer, col: integer } } }
---@param callback fun(response?: table)
function Source.complete(_, params, callback)
  local cursor, line = params.context.cursor, params.context.cursor_line
  -- Their columns are 1-based.
  local column = cursor.col - 1
  local start, text = complete.token(line, column, cursor.row)
  if not start or not text then
    return callback({ items = {}, isIncomplete = false })
  end
  complete.items(text, function(items)
    local list = complete.lsp_items(items or {}, text, cursor.row - 1, start, column)
    callback({ items = list, isIncomplete = true })
  end)
end

--- The columns of the ranges above are bytes.
function Source.get_position_encoding_kind(_)
  return "utf-8"
end

return Source

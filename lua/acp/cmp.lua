--- A source for nvim-cmp: what |acp-completion| offers, in its menu. It takes its items from
--- `acp.complete`, and does nothing outside of prompts.

local complete = require("acp.complete")

---@class acp.CmpSource
local Source = {}
Source.__index = Source

-- As the language server protocol numbers them. Commands are keywords: functions get brackets behind them.
local kinds = { command = 14, context = 18, file = 17, folder = 19 }

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
    local list = {}
    local range = {
      start = { line = cursor.row - 1, character = start },
      ["end"] = { line = cursor.row - 1, character = column },
    }
    for index, item in ipairs(items or {}) do
      list[index] = {
        label = item.word,
        kind = kinds[item.kind],
        -- What a file is, its kind says.
        labelDetails = item.menu ~= item.kind and { description = item.menu } or nil,
        -- They come in the order in which they fit; nvim-cmp filters by what is typed, which they all do.
        filterText = text,
        sortText = ("%05d"):format(index),
        textEdit = { newText = item.word, range = range },
      }
    end
    callback({ items = list, isIncomplete = true })
  end)
end

--- The columns of the ranges above are bytes.
function Source.get_position_encoding_kind(_)
  return "utf-8"
end

return Source

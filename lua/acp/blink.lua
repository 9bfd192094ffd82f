--- A source for blink.cmp: what |acp-completion| offers, in blink's menu. It takes its items from
--- `acp.complete`, and does nothing outside of prompts.

local complete = require("acp.complete")

---@class acp.BlinkSource
local Source = {}
Source.__index = Source

function Source.new()
  return setmetatable({}, Source)
end

function Source.enabled(_)
  return vim.bo.filetype == "acp-prompt"
end

function Source.get_trigger_characters(_)
  return { "@", "/", '"' }
end

--- Blink calls it with where the cursor is, and takes the items when they are there.
---@param context { bufnr: integer, cursor: integer[], line: string }
---@param callback fun(response?: table)
---@return fun()? cancel
function Source.get_completions(_, context, callback)
  local row, column = context.cursor[1], context.cursor[2]
  local start, text = complete.token(context.line, column, row)
  local empty = { items = {}, is_incomplete_forward = false, is_incomplete_backward = false }
  if not start or not text then
    callback(empty)
    return nil
  end
  local cancelled = false
  complete.items(text, function(items)
    if cancelled then
      return
    end
    local list = complete.lsp_items(items or {}, text, row - 1, start, column)
    callback({ items = list, is_incomplete_forward = true, is_incomplete_backward = true })
  end)
  return function()
    cancelled = true
  end
end

return Source

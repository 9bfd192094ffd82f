--- A part of the code in a closed fence, read as a text of its own and painted some rows at a time. A fence that is
--- not long has one part. Where a part ends, and when it is painted, is up to the caller.

local budget = require("acp.highlight.budget")
local fences = require("acp.highlight.fence")
local limits = require("acp.highlight.limits")
local spans = require("acp.highlight.spans")

local M = {}

---@class acp.highlight.Part
---@field first integer the region's row of the first line of code
---@field lines string[] of code
---@field parser vim.treesitter.LanguageTree?
---@field source string|integer?
---@field guard userdata? as in a text
---@field parsed boolean? whether the tree is there
---@field whole boolean? whether it is, and is known to be fit for a query or not
---@field fast boolean? whether the parser's last slice was short

--- CPU seconds of a parser's slice that leave room for others.
local FAST = 0.001

--- Parses for a slice, at its beginning if the last one was long.
---@param part acp.highlight.Part
---@param range boolean|Range
---@return boolean done
---@return string? state
local function parse(part, range)
  if not part.fast and budget.is_late() then
    return false
  end
  local began = os.clock()
  local done, state = spans.parse_slice(assert(part.parser), range)
  part.fast = os.clock() - began < FAST
  return done, state
end

--- Takes the code out of the buffer.
---@param buf integer
---@param base integer
---@param block acp.highlight.Block
---@return acp.highlight.Part
function M.open(buf, base, block)
  local fence = assert(block.fence)
  local first = math.max(block.from, fence.row + 1)
  local stop = block.closing and block.to - 1 or block.to
  local lang = fence.looks.lang
  local part = { first = first, lines = spans.lines(buf, base + first, base + stop, limits.CODE_LINE, lang) }
  if lang and not block.plain and #part.lines > 0 then
    local lines = part.lines
    part.parser, part.source, part.guard = spans.parser(lines, lang)
    -- The part itself must not be held by what its parser calls.
    budget.spare(part.parser, function(tree)
      return limits.is_tangled(tree, lines, 0)
    end)
  end
  return part
end

--- Reads a slice of what some rows need.
---@param part acp.highlight.Part
---@param block acp.highlight.Block
---@param from integer
---@param to integer exclusive
---@return boolean done
function M.read(part, block, from, to)
  local parser = part.parser
  if not parser or block.plain then
    return true
  elseif not part.whole then
    local done, state = parse(part, false)
    if not done then
      return false
    elseif not part.parsed then
      part.parsed = true
      if budget.is_over() then
        -- To look whether it is fit may take as long.
        return false
      end
    end
    block.plain = state == "given up" and "slow" or nil
    for _, tree in pairs(parser:trees()) do
      if limits.is_tangled(tree, part.lines, 0) then
        block.plain = "tangled"
      end
    end
    part.whole = true
    return block.plain ~= nil
  end
  from, to = math.max(from - part.first, 0), math.min(to - part.first, #part.lines)
  return from >= to or (parse(part, { from, to }))
end

local function walk(rows, part, ltree, from, to)
  for _, tree in pairs(ltree:trees()) do
    if limits.is_tangled(tree, part.lines, 0) then
      return
    end
  end
  spans.captures(rows, part.first, ltree, part.source, 0, part.lines, from, to)
  for _, child in pairs(ltree:children()) do
    walk(rows, part, child, from, to)
  end
end

--- The segments of some rows.
---@param part acp.highlight.Part
---@param block acp.highlight.Block
---@param from integer
---@param to integer exclusive
---@param last string? the fence's closing line, when it is among them
---@return acp.highlight.Rows
function M.rows(part, block, from, to, last)
  local fence = assert(block.fence)
  local rows = fences.plain_rows(fence, from, to, part.first, part.lines)
  if last then
    rows[block.to - 1] = fences.closing(fence, last)
  end
  if part.parser and not block.plain then
    from, to = math.max(from - part.first, 0), math.min(to - part.first, #part.lines)
    if from < to then
      walk(rows, part, part.parser, from, to)
    end
  end
  return rows
end

return M

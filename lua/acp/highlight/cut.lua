--- Finds where text that can no longer change may be cut into pieces, without a look inside its blocks: for
--- replayed history, and for what came while nobody looked. Which region to cut, and how far, is up to the
--- caller.

local fences = require("acp.highlight.fence")
local pieces = require("acp.highlight.pieces")
local spans = require("acp.highlight.spans")

local M = {}

--- Bytes that are read in one go ...
local BYTES = 4096
--- ... unless a single block is longer. One of more than these is cut wherever that is.
local LONGEST_BLOCK = 65536

--- The lines from the cut on, up to some bytes, and whether they reach the region's end.
---@return string[] lines
---@return boolean whole
local function read(buf, region, base, limit)
  local lines, bytes = {}, 0
  while region.cut + #lines < region.rows and bytes < limit do
    local from = region.cut + #lines
    for _, line in ipairs(spans.lines(buf, base + from, base + math.min(from + 32, region.rows))) do
      lines[#lines + 1] = line
      bytes = bytes + #line + 1
    end
  end
  return lines, region.cut + #lines >= region.rows
end

--- Turns the open fence into pieces.
---@param buf integer
---@param region acp.highlight.Region
---@param base integer
---@param stop integer the row after it
function M.fence(buf, region, base, stop)
  local fence = region.fence
  fences.free(fence)
  region.fence = nil
  local lines = spans.lines(buf, base + fence.row, base + stop)
  pieces.add(region, fence.row, lines, 1, #lines)
  region.cut = stop
end

--- Cuts some blocks off at the region's cut, or searches an open fence a little further.
---@param buf integer
---@param region acp.highlight.Region
---@param base integer
---@return boolean progress
function M.step(buf, region, base)
  local fence = region.fence
  if fence then
    local upto = region.closed and region.rows or region.rows - 1
    local searched = fence.searched
    local stop = fences.stop(buf, base, fence, upto)
    if not stop and region.closed and fence.searched >= region.rows then
      stop = region.rows
    end
    if stop then
      M.fence(buf, region, base, stop)
    end
    return stop ~= nil or fence.searched > searched
  end
  local limit = BYTES
  while true do
    local lines, whole = read(buf, region, base, limit)
    if #lines == 0 then
      return false
    end
    local text = spans.text(lines)
    text.parser:parse()
    local starts = spans.starts(text)
    local last = starts[#starts] or 0
    -- Half a line does not open a fence for good.
    local opens = starts.kind == "fenced_code_block" and last + 1 < #lines
    fence = opens and fences.at(region.cut + last, lines[last + 1]) or nil
    if whole and region.closed and not fence then
      pieces.cut(region, lines, starts, #lines)
      return true
    elseif last > 0 and last + 1 < #lines then
      pieces.cut(region, lines, starts, last)
      region.fence = fence
      return true
    elseif fence then
      region.fence = fence
      return true
    elseif limit >= LONGEST_BLOCK then
      -- Neither Markdown nor we care how a block of that size goes on.
      pieces.cut(region, lines, { 0 }, whole and #lines - 1 or #lines)
      return true
    elseif whole then
      return false
    end
    limit = limit * 4
  end
end

return M

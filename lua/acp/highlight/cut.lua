--- Finds where text that can no longer change may be cut into pieces, without a look inside its blocks: for
--- replayed history, and for what came while nobody looked. Which region to cut, and how far, is up to the
--- caller.

local budget = require("acp.highlight.budget")
local fences = require("acp.highlight.fence")
local limits = require("acp.highlight.limits")
local pieces = require("acp.highlight.pieces")
local seams = require("acp.highlight.seams")
local spans = require("acp.highlight.spans")

local M = {}

---@class acp.highlight.Reading Text from a region's cut on, read to find where its blocks begin.
---@field cut integer
---@field closed boolean whether the region was closed
---@field limit integer bytes
---@field whole boolean whether the region ended with it
---@field text acp.highlight.Text

--- Bytes whose lines are looked at in one go.
local SCANNED = 4096
--- Bytes that are parsed in one go, where lines tell nothing ...
local BYTES = 4096
--- ... unless a single block is longer. One of more than these is cut wherever that is.
local LONGEST_BLOCK = limits.BLOCK

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
      if bytes >= limit then
        break
      end
    end
  end
  return lines, region.cut + #lines >= region.rows
end

--- Turns rows of the open fence into pieces: those up to its end, or a part of them.
---@param buf integer
---@param region acp.highlight.Region
---@param base integer
---@param stop integer the row after them
---@param whole boolean whether the fence ends there
function M.fence(buf, region, base, stop, whole)
  local fence = region.fence
  local lines = spans.lines(buf, base + fence.from, base + stop, limits.CODE_LINE)
  pieces.add_code(region, fence.from, lines, fence.head, fence.stop == stop, fence.plain)
  fences.leave(fence, stop)
  region.cut = stop
  if whole then
    region.fence = nil
  end
end

--- Turns a part of the fence into pieces when that is complete, or all of it when its end is there.
---@param buf integer
---@param region acp.highlight.Region
---@param base integer
---@return boolean progress
function M.next_part(buf, region, base)
  local fence = region.fence
  fences.search(buf, base, fence, region.closed and region.rows or region.rows - 1)
  local part = fences.part(buf, base, fence)
  local stop = fence.stop or region.closed and fence.searched >= region.rows and region.rows or nil
  if part or stop then
    M.fence(buf, region, base, part or stop, not part)
  end
  return (part or stop) ~= nil
end

local function bytes_of(lines, first)
  local bytes = 0
  for i = first, #lines do
    bytes = bytes + #lines[i] + 1
  end
  return bytes
end

--- Cuts off what the lines alone show to be whole blocks, where no fence is open.
---@param buf integer
---@param region acp.highlight.Region
---@param base integer
---@return boolean progress
function M.by_seams(buf, region, base)
  local lines, whole = read(buf, region, base, SCANNED)
  local found = seams.find(lines)
  local starts, opens = found.starts, found.fence
  -- What begins with the last line, which may be half of one, is left.
  while #starts > 0 and starts[#starts] + 1 >= #lines do
    starts[#starts], opens = nil, false
  end
  local last = starts[#starts] or 0
  if whole and region.closed and not opens and bytes_of(lines, last + 1) <= pieces.SIZE then
    pieces.cut(region, lines, starts, #lines)
    return true
  end
  local fence = opens and fences.at(region.cut + last, lines[last + 1]) or nil
  if last > 0 then
    pieces.cut(region, lines, starts, last)
  end
  region.fence = fence
  return last > 0 or fence ~= nil
end

---@return acp.highlight.Reading? reading nil when there is no text
local function begin(buf, region, base, limit)
  local lines, whole = read(buf, region, base, limit)
  region.reading = #lines > 0
      and {
        cut = region.cut,
        closed = region.closed,
        limit = limit,
        whole = whole,
        text = spans.text(lines),
      }
    or nil
  return region.reading
end

--- Cuts some blocks off at the region's cut, or searches an open fence a little further.
---@param buf integer
---@param region acp.highlight.Region
---@param base integer
---@return boolean progress
function M.step(buf, region, base)
  local fence = region.fence
  if fence then
    local searched = fence.searched
    return M.next_part(buf, region, base) or fence.searched > searched
  end
  if M.by_seams(buf, region, base) then
    return true
  end
  local reading = region.reading
  if not reading or reading.cut ~= region.cut or reading.closed ~= region.closed then
    reading = begin(buf, region, base, BYTES)
    if not reading then
      return false
    end
  end
  if budget.is_over() or not spans.parse_blocks(reading.text) or budget.is_over() then
    return true
  end
  region.reading = nil
  local lines = reading.text.lines
  -- The region may have grown since they were read.
  local whole = region.cut + #lines >= region.rows
  local starts = spans.starts(reading.text)
  local last = starts[#starts] or 0
  -- Half a line does not open a fence for good.
  local opens = starts.kind == "fenced_code_block" and last + 1 < #lines
  fence = opens and fences.at(region.cut + last, lines[last + 1]) or nil
  if whole and region.closed and not fence then
    pieces.cut(region, lines, starts, #lines)
  elseif last > 0 and last + 1 < #lines then
    pieces.cut(region, lines, starts, last)
    region.fence = fence
  elseif fence then
    region.fence = fence
  elseif whole and not region.closed then
    return false
  elseif reading.whole and not whole then
    -- There is more of the block by now: it is read anew.
    return true
  elseif whole or reading.limit >= LONGEST_BLOCK then
    -- Neither Markdown nor we care how a block of that size goes on.
    pieces.cut(region, lines, { 0 }, #lines)
  else
    begin(buf, region, base, reading.limit * 4)
  end
  return true
end

return M

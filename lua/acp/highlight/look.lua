--- Reads and paints the growing end of a region, from its cut on. What turned out to be closed is cut off
--- with its marks in place. When to look, and at which region, is up to the caller.

local api, uv = vim.api, vim.uv
local budget = require("acp.highlight.budget")
local cut = require("acp.highlight.cut")
local fences = require("acp.highlight.fence")
local limits = require("acp.highlight.limits")
local marks = require("acp.highlight.marks")
local pieces = require("acp.highlight.pieces")
local plain = require("acp.highlight.plain")
local spans = require("acp.highlight.spans")

local M = {}

--- Milliseconds after which a growing block is read again ...
M.pace = 80
--- ... or this many times what the last reading took.
M.pace_by_cost = 10

--- Bytes that are read in one go.
local AT_ONCE = 1200
--- When there are more bytes than this and lines do not tell what is closed among them, a parser does.
local BACKLOG = 4096
--- So many rows that have been seen are worth the search for where they end.
local PASSED = 4
--- Rows of a long block that are painted in one go.
local ROWS = 24
--- Milliseconds to the next step of what is not done.
local PAUSE = 5

---@class acp.highlight.Look Text from the cut on, as it was when the look began.
---@field text acp.highlight.Text
---@field long boolean whether its languages are parsed row by row
---@field painted integer rows

local function now()
  return uv.hrtime() / 1e6
end

--- Declares painted what has just been cut off.
local function settle_from(chat, region, first, unfinished)
  for i = first, #region.pieces do
    local piece = region.pieces[i]
    if not unfinished or not unfinished(piece.from, piece.to) then
      pieces.settle(chat, region, piece)
    end
  end
end

--- Turns what is painted of a fence into pieces.
local function cut_fence(chat, region, base, upto, whole)
  local unfinished, n = fences.unfinished(region.fence, upto), #region.pieces
  cut.fence(chat.buf, region, base, upto, whole)
  settle_from(chat, region, n + 1, unfinished)
end

---@return "open"|"searching"|"closed"
local function look_at_fence(chat, region, base)
  local fence = region.fence
  fences.search(chat.buf, base, fence, region.rows - 1)
  local part = fences.part(chat.buf, base, fence)
  if part then
    cut_fence(chat, region, base, part, false)
    return "searching"
  elseif not fence.stop and fence.searched < region.rows - 1 or not fences.look(chat.buf, base, region) then
    return "searching"
  elseif not fence.stop then
    return "open"
  end
  cut_fence(chat, region, base, fence.stop, true)
  region.seen = { row = region.cut, col = 0 }
  return "closed"
end

local function begin_look(chat, region, base)
  local lines = spans.lines(chat.buf, base + region.cut, base + region.rows)
  local bytes = 0
  for _, line in ipairs(lines) do
    bytes = bytes + #line
  end
  local look = { painted = 0, long = bytes > AT_ONCE }
  if look.long then
    look.text = spans.long_text(lines)
  else
    look.text = spans.text(lines)
  end
  region.look = look
end

--- Reads and paints some rows of a look.
---@return boolean done
local function continue_look(chat, region, base)
  local look = region.look
  local text = look.text
  local count = #text.lines
  if not (look.long and spans.parse_blocks or spans.parse)(text) then
    return false
  end
  while look.painted < count do
    local from = look.painted
    local to = math.min(from + ROWS, count)
    if look.long and (not spans.parse(text, from, to) or budget.is_over()) then
      return false
    end
    local rows = spans.rows(text, from, to, region.cut)
    region.has_bars = region.has_bars or text.has_bars
    marks.paint(chat.buf, base, region.marks, rows, region.cut + from, region.cut + to)
    look.painted = to
    if to < count and budget.is_over() then
      return false
    end
  end
  region.look = nil
  local first = region.cut
  -- A block is closed by the first line of the next, once that line is whole. Half of it may still become
  -- part of the block before (`-` an underline), or something else (`#` a `#tag`).
  local starts = spans.starts(text)
  local last = starts[#starts] or 0
  if last + 1 < count then
    local n = #region.pieces
    if last > 0 then
      pieces.cut(region, text.lines, starts, last)
    end
    settle_from(chat, region, n + 1)
    if starts.kind == "fenced_code_block" then
      region.fence = fences.at(region.cut, text.lines[last + 1])
    end
  end
  region.seen = not region.fence and plain.after_look(region, text.lines, first) or nil
  return true
end

--- Passes over words that change no mark.
---@return boolean passed
local function pass(chat, region, base)
  local seen, ended
  if region.seen then
    seen, ended = plain.more(chat.buf, base, region, region.seen)
  end
  region.seen = seen
  if ended then
    local n = #region.pieces
    if cut.by_seams(chat.buf, region, base) then
      settle_from(chat, region, n + 1)
    end
  end
  return seen ~= nil
end

--- Cuts off what is closed of a great deal of text. What of it has been seen is not read again.
---@param seen acp.highlight.Seen? before the text grew
---@return boolean progress
local function catch_up(chat, region, base, seen)
  local bytes = api.nvim_buf_get_offset(chat.buf, base + region.rows)
    - api.nvim_buf_get_offset(chat.buf, base + region.cut)
  local passed = seen ~= nil and seen.row > region.cut + PASSED
  if not passed and bytes <= AT_ONCE or bytes <= math.min(2 * region.uncut, limits.BLOCK) then
    return false
  end
  local n = #region.pieces
  local progress = cut.by_seams(chat.buf, region, base)
    or bytes > BACKLOG and cut.step(chat.buf, region, base)
  region.uncut = progress and 0 or bytes
  settle_from(chat, region, n + 1, function(_, to)
    return not seen or to > seen.row
  end)
  return progress
end

--- Takes a step of the look that is under way, or begins one.
---@return boolean done
local function step(chat, region, base)
  if not region.look then
    region.grown = false
    local seen = region.seen
    if pass(chat, region, base) then
      return true
    end
    if region.fence then
      if not region.fence.head.looks and cut.next_part(chat.buf, region, base) then
        region.grown = true
        return false
      end
      local state = fences.prepare(region.fence.head) and look_at_fence(chat, region, base)
      if state == "open" then
        return true
      elseif state ~= "closed" then
        region.grown = true
        return false
      end
    end
    if catch_up(chat, region, base, seen) then
      region.grown = true
      return false
    end
    begin_look(chat, region, base)
    if budget.is_over() then
      return false
    end
  end
  return continue_look(chat, region, base)
end

--- Looks at a region. A long look takes several calls.
---@param chat acp.highlight.Chat
---@param region acp.highlight.Region
---@param base integer
---@return number? wait ms to the next call, when there is to be one
function M.step(chat, region, base)
  local began = now()
  region.spent = region.look and region.spent or 0
  local done = step(chat, region, base)
  region.spent = region.spent + now() - began
  if not done then
    return PAUSE
  end
  region.next_look = began + math.max(M.pace, M.pace_by_cost * region.spent)
  return region.grown and region.next_look - now() or nil
end

return M

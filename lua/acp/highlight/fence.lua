--- A code fence at the left margin that has not been closed. Its code is mirrored into a hidden buffer,
--- where an incremental parser reads only what is new; Markdown's own marks for such lines are found once,
--- on a fence of one line. Long code is read in parts: those that are complete are pieces, like all of a closed fence,
--- and no longer known here.

local api = vim.api
local budget = require("acp.highlight.budget")
local languages = require("acp.highlight.languages")
local limits = require("acp.highlight.limits")
local marks = require("acp.highlight.marks")
local spans = require("acp.highlight.spans")

local M = {}

--- Rows and bytes of code painted in one go, and rows searched for the end in one go.
local ROWS, BYTES, SEARCHED = 48, 3000, 1000
--- Lines that a parser is asked about in one go.
local ASKED = 16
--- Bytes of the opening line that are read.
local LONGEST_INFO = 1000
--- Bytes of a line that may close a fence, and how many such lines are remembered.
local LONGEST_CLOSING, REMEMBERED = 200, 500

---@class acp.highlight.FenceHead
---@field row integer of the opening line
---@field info string that line
---@field mark string its backticks or tildes
---@field looks acp.highlight.FenceLooks?

---@class acp.highlight.Fence
---@field head acp.highlight.FenceHead
---@field from integer the rows before are in pieces; at first that of the opening line
---@field searched integer the first row not yet searched for the closing line
---@field stop integer? the row after that, when it was found
---@field closing acp.highlight.Segment[]? what that looks like
---@field rows integer how many rows of code from `from` on have been looked at
---@field buf integer? the hidden buffer
---@field parser vim.treesitter.LanguageTree?
---@field dirty integer the lowest row of code whose segments may have changed
---@field todo {from: integer, to: integer}? rows of code that are still to be painted
---@field reading acp.highlight.FenceReading? of code that is in the hidden buffer, and not parsed yet
---@field plain string? why the code from `from` on is not read, a key of `limits.reasons`

---@class acp.highlight.FenceReading
---@field last integer the row after the code
---@field line string? the last line
---@field parsed boolean? whether the parser is done with it

---@class acp.highlight.FenceLooks What the opening line says.
---@field first acp.highlight.Segment[] the segments of the opening line
---@field body acp.highlight.Segment[] Markdown's segments of a line of code, as if it were one byte long
---@field lang string? the code's language

---@type table<string, acp.highlight.FenceLooks> by opening line
local looks_by_info = setmetatable({}, { __mode = "v" })
---@type table<string, acp.highlight.Segment[]|false> by the fence's mark and the line
local closings = {}
local closings_count = 0

---@param row integer
---@param line string
---@return acp.highlight.Fence? fence nil when the line opens none at the left margin
function M.at(row, line)
  local mark = line:match("^```+") or line:match("^~~~+")
  local head = mark and { row = row, info = line:sub(1, LONGEST_INFO), mark = mark }
  return head and { head = head, from = row, searched = row + 1, rows = 0, dirty = 0 } or nil
end

--- The row of the first line of code that is not in a piece.
---@param fence acp.highlight.Fence
---@return integer
local function first_of(fence)
  return math.max(fence.from, fence.head.row + 1)
end

local function read_looks(info)
  local text = spans.text({ info, "x" })
  budget.parse_all(text.parser, true)
  local body = {}
  spans.captures(body, 0, text.parser, text.source, 1, text.lines, 1, 2)
  local looks = { first = spans.rows(text, 0, 1, 0)[0] or {}, body = body[1] or {} }
  for lang, child in pairs(text.parser:children()) do
    for _, tree in pairs(child:trees()) do
      local ranges = tree:included_ranges()
      if ranges[1] and ranges[1][1] == 2 then
        looks.lang = lang
      end
    end
  end
  return looks
end

--- Finds out what a fence looks like, or loads a part of its language.
---@param head acp.highlight.FenceHead
---@return boolean ready
function M.prepare(head)
  if not head.looks then
    if not looks_by_info[head.info] then
      if languages.load_next({ head.info }) then
        return false
      end
      looks_by_info[head.info] = read_looks(head.info)
    end
    head.looks = looks_by_info[head.info]
  end
  return true
end

--- Whether a line is one that a parser has to be asked about.
local function may_close(line)
  return #line <= LONGEST_CLOSING and (line:find("```%s*$") or line:find("~~~%s*$")) ~= nil
end

--- Whether a line would close the fence. Markdown parsers differ in this (does a longer run close a
--- shorter one? does one in a quote?), so the parser is asked, once for each such line.
---@param head acp.highlight.FenceHead
---@param line string
---@return acp.highlight.Segment[]|false segments of the closing line
local function closes(head, line)
  if not may_close(line) then
    return false
  end
  local mark = head.mark:sub(1, LONGEST_CLOSING)
  local key = mark .. " " .. line
  local closing = closings[key]
  if closing == nil then
    if closings_count >= REMEMBERED then
      closings, closings_count = {}, 0
    end
    local text = spans.text({ mark, "x", line, "x" })
    budget.parse_all(text.parser, false)
    closing = #spans.starts(text) > 1 and (spans.rows(text, 2, 3, 0)[2] or {})
    closings[key], closings_count = closing, closings_count + 1
  end
  return closing
end

--- Whether `closes` would have to ask.
local function is_unknown(head, line)
  return may_close(line) and closings[head.mark:sub(1, LONGEST_CLOSING) .. " " .. line] == nil
end

--- Searches the rows that have come since the last search for the line that closes the fence.
---@param buf integer
---@param base integer
---@param fence acp.highlight.Fence
---@param upto integer the first row that may still change
function M.search(buf, base, fence, upto)
  upto = math.min(upto, fence.searched + SEARCHED)
  if fence.stop or upto <= fence.searched then
    return
  end
  local asked, head = 0, fence.head
  for i, line in ipairs(spans.lines(buf, base + fence.searched, base + upto, limits.CODE_LINE)) do
    asked = asked + (is_unknown(head, line) and 1 or 0)
    if asked > ASKED then
      fence.searched = fence.searched + i - 1
      return
    end
    local closing = closes(head, line)
    if closing then
      fence.searched = fence.searched + i
      fence.stop, fence.closing = fence.searched, closing
      return
    end
  end
  fence.searched = upto
end

--- Tells where the first part of long code ends: before the last line at the margin that follows an empty one, or
--- before the last one at the margin, or wherever that is. The same text is always parted at the same rows.
---@param buf integer
---@param base integer
---@param fence acp.highlight.Fence
---@return integer? row the first one of the next part
function M.part(buf, base, fence)
  local row, bytes, margin, blank = fence.from, 0, nil, nil
  local before
  while row < fence.searched do
    for _, line in
      ipairs(spans.lines(buf, base + row, base + math.min(row + 64, fence.searched), limits.CODE_LINE))
    do
      bytes = bytes + #line + 1
      if bytes > limits.CODE then
        return blank or margin or math.max(row, fence.from + 1)
      elseif bytes > limits.CODE / 2 and line:find("^%S") then
        margin = row
        blank = before == "" and row or blank
      end
      row, before = row + 1, line
    end
  end
end

local function copy(segments)
  local copies = {}
  for i, segment in ipairs(segments) do
    copies[i] = { unpack(segment, 1, 7) }
  end
  return copies
end

--- Replaces the code from a row on.
local function feed(fence, from, lines)
  if fence.buf then
    api.nvim_buf_set_lines(fence.buf, from, -1, false, lines)
  else
    fence.buf = api.nvim_create_buf(false, true)
    vim.bo[fence.buf].undolevels = -1
    -- Up to 0.10 this parses what is there.
    fence.parser = budget.parser(fence.buf, fence.head.looks.lang)
    fence.parser:register_cbs({
      on_changedtree = function(ranges)
        for _, range in ipairs(ranges) do
          fence.dirty = math.min(fence.dirty, range[1])
        end
      end,
    })
    api.nvim_buf_set_lines(fence.buf, 0, -1, false, lines)
  end
end

local function leave_plain(fence, reason)
  M.free(fence)
  fence.buf, fence.parser, fence.plain = nil, nil, reason
  fence.dirty = 0
end

--- Parses a slice of the code. When that takes too long in all, what has its colours loses them.
---@return boolean done
local function read(fence)
  if not fence.parser then
    return true
  end
  local state, reading = budget.parse(fence.parser, false), fence.reading
  if state == "done" and not reading.parsed then
    reading.parsed = true
    if budget.is_over() then
      -- What is left to do with it may take as long.
      return false
    end
  end
  if state == "given up" then
    leave_plain(fence, "slow")
  elseif state == "done" then
    for _, tree in pairs(fence.parser:trees()) do
      if
        tree:root():has_error()
        and limits.is_tangled(tree, api.nvim_buf_get_lines(fence.buf, 0, -1, false), 0)
      then
        leave_plain(fence, "tangled")
        break
      end
    end
  end
  return state ~= "paused"
end

--- The segments of rows of a fence as far as Markdown knows them.
---@param head acp.highlight.FenceHead that is prepared
---@param from integer
---@param to integer exclusive
---@param first integer the row of the first of the lines
---@param lines string[] of code
---@return acp.highlight.Rows
function M.plain_rows(head, from, to, first, lines)
  local rows = {}
  for row = math.max(from, first), to - 1 do
    local line = lines[row - first + 1]
    if line and #line > 0 then
      local segments = copy(head.looks.body)
      for _, segment in ipairs(segments) do
        segment[2] = #line
      end
      rows[row] = segments
    end
  end
  if from <= head.row and to > head.row then
    rows[head.row] = copy(head.looks.first)
  end
  return rows
end

--- The segments of a line that closes a fence.
---@param head acp.highlight.FenceHead
---@param line string
---@return acp.highlight.Segment[]
function M.closing(head, line)
  return copy(closes(head, line) or {})
end

--- The first of the rows up to one that may be painted in one go.
local function window(buf, base, fence, low, to)
  local first, bytes = first_of(fence), 0
  local from = math.max(low, to - ROWS)
  local lines = spans.lines(buf, base + first + from, base + first + to, limits.CODE_LINE)
  for i = #lines, 1, -1 do
    bytes = bytes + #lines[i]
    if bytes > BYTES and i < #lines then
      return from + i
    end
  end
  return from
end

--- Paints rows of code.
local function paint(buf, base, region, from, to)
  local fence = region.fence
  local head, first = fence.head, first_of(fence)
  local lines = spans.lines(buf, base + first + from, base + first + to, limits.CODE_LINE)
  local rows = M.plain_rows(head, first + from, first + to, first + from, lines)
  if fence.parser then
    local by_row = setmetatable({}, {
      __index = function(_, i)
        return lines[i - from]
      end,
    })
    spans.captures(rows, first, fence.parser, fence.buf, 0, by_row, from, to)
  end
  local closing = first + to == region.rows and #lines > 0 and closes(head, lines[#lines])
  if closing then -- the last line is not whole, but would close the fence as it stands
    rows[region.rows - 1] = copy(closing)
  end
  marks.paint(buf, base, region.marks, rows, first + from, first + to)
end

--- Notes the code up to now, to be read.
---@return acp.highlight.FenceReading
local function begin(buf, base, region)
  local fence = region.fence
  local head, first = fence.head, first_of(fence)
  local last = fence.stop and fence.stop - 1 or region.rows
  if fence.from == head.row and not region.marks[head.row] then
    local rows = { [head.row] = copy(head.looks.first) }
    marks.paint(buf, base, region.marks, rows, head.row, first)
  end
  -- The last row looked at may have been half a line.
  local from = math.max(fence.rows - 1, 0)
  fence.rows, fence.dirty = last - first, from
  local lang = head.looks.lang
  -- How much of a line of Markdown is read depends on the lines before.
  local above = lang and lang:find("^markdown") and 0 or from
  local lines = spans.lines(buf, base + first + above, base + last, limits.CODE_LINE, lang)
  if lang and not fence.plain and (fence.buf or fence.rows > 0) then
    feed(fence, from, vim.list_slice(lines, from - above + 1))
  end
  return { last = last, line = spans.lines(buf, base + last - 1, base + last, limits.CODE_LINE)[1] }
end

--- Reads a slice of what has come, and paints it once it is read. When that is much, what is farther up is left for
--- `more`.
---@param buf integer
---@param base integer
---@param region acp.highlight.Region
---@return boolean done
function M.look(buf, base, region)
  local fence = region.fence
  local resumed = fence.reading ~= nil
  local reading = fence.reading or begin(buf, base, region)
  fence.reading = reading
  if not read(fence) then
    return false
  end
  fence.reading = nil
  local dirty = fence.dirty
  local near = window(buf, base, fence, dirty, fence.rows)
  if near > dirty then
    local todo = fence.todo
    fence.todo = { from = math.min(dirty, todo and todo.from or dirty), to = near }
  elseif fence.todo then
    fence.todo.to = math.min(fence.todo.to, fence.rows)
  end
  paint(buf, base, region, near, fence.rows)
  local last = reading.last
  if fence.stop and fence.stop ~= last + 1 then
    -- Its end was found while this was read.
    return false
  elseif fence.stop then
    marks.paint(buf, base, region.marks, { [last] = copy(fence.closing) }, last, last + 1)
    return true
  end
  local line = spans.lines(buf, base + last - 1, base + last, limits.CODE_LINE)[1]
  return not resumed or region.rows == last and line == reading.line
end

--- Paints some of the rows that were left.
---@param buf integer
---@param base integer
---@param region acp.highlight.Region
---@return boolean painted whether there were any
function M.more(buf, base, region)
  local fence = region.fence
  local todo = fence.todo
  if fence.reading then
    return false
  elseif not todo or todo.from >= todo.to then
    fence.todo = nil
    return false
  end
  local from = window(buf, base, fence, todo.from, todo.to)
  paint(buf, base, region, from, todo.to)
  todo.to = from
  return true
end

--- Tells which rows up to one do not look yet as if they had been read from scratch: those with other languages in the
--- code. All of them where the code has errors, for what an incremental parser makes of those depends on how they came
--- to be, and all of long code, to be done in slices.
---@param fence acp.highlight.Fence
---@param upto integer
---@return fun(from: integer, to: integer): boolean unfinished
function M.unfinished(fence, upto)
  local first, rows = first_of(fence), {}
  local looked = first + fence.rows + (fence.stop == upto and 1 or 0)
  local all = fence.todo ~= nil or fence.reading ~= nil or looked < upto
  -- What an incremental parser makes of Markdown depends on that, too.
  all = all or fence.parser ~= nil and (fence.rows > 100 or fence.head.looks.lang:find("^markdown") ~= nil)
  if fence.parser and not all then
    for _, tree in pairs(fence.parser:trees()) do
      all = all or tree:root():has_error()
    end
  end
  if fence.parser and not all then
    local ok, state = pcall(budget.parse, fence.parser, true)
    if not ok then
      spans.report(state)
    end
    all = ok and state ~= "done"
    for _, child in pairs(fence.parser:children()) do
      for _, tree in pairs(child:trees()) do
        local from, _, to = tree:root():range()
        for row = from, to do
          rows[first + row] = true
        end
      end
    end
  end
  return function(from, to)
    for row = from, to - 1 do
      if rows[row] then
        return true
      end
    end
    return all
  end
end

--- Leaves the rows before one, which are in pieces now.
---@param fence acp.highlight.Fence
---@param row integer
function M.leave(fence, row)
  M.free(fence)
  fence.from, fence.rows, fence.dirty = row, 0, 0
  fence.buf, fence.parser, fence.plain, fence.todo, fence.reading = nil, nil, nil, nil, nil
end

---@param fence acp.highlight.Fence?
function M.free(fence)
  if fence and fence.buf and api.nvim_buf_is_valid(fence.buf) then
    api.nvim_buf_delete(fence.buf, { force = true })
  end
end

return M

--- A code fence at the left margin that has not been closed. Its code is mirrored into a hidden buffer,
--- where an incremental parser reads only what is new; Markdown's own marks for such lines are found once,
--- on a fence of one line. A closed fence is a block like any other, and no longer known here.

local api, ts = vim.api, vim.treesitter
local budget = require("acp.highlight.budget")
local languages = require("acp.highlight.languages")
local marks = require("acp.highlight.marks")
local spans = require("acp.highlight.spans")

local M = {}

--- Rows of code painted in one go, and rows searched for the end in one go.
local ROWS, SEARCHED = 48, 4000
--- Lines that a parser is asked about in one go.
local ASKED = 16
--- Bytes of the opening line that are read.
local LONGEST_INFO = 1000

---@class acp.highlight.Fence
---@field row integer of the opening line
---@field info string that line
---@field mark string its backticks or tildes
---@field searched integer the first row not yet searched for the closing line
---@field looks acp.highlight.FenceLooks?
---@field rows integer how many rows of code have been looked at
---@field buf integer? the hidden buffer
---@field parser vim.treesitter.LanguageTree?
---@field dirty integer the lowest row of code whose segments may have changed
---@field todo {from: integer, to: integer}? rows of code that are still to be painted
---@field reading acp.highlight.FenceReading? of code that is in the hidden buffer, and not parsed yet
---@field plain boolean? whether the code took too long to be read

---@class acp.highlight.FenceReading
---@field last integer the row after the code
---@field line string? the last line
---@field stop integer? of `M.stop`
---@field closing acp.highlight.Segment[]?

---@class acp.highlight.FenceLooks What the opening line says.
---@field first acp.highlight.Segment[] the segments of the opening line
---@field body acp.highlight.Segment[] Markdown's segments of a line of code, as if it were one byte long
---@field lang string? the code's language

---@type table<string, acp.highlight.FenceLooks> by opening line
local looks_by_info = setmetatable({}, { __mode = "v" })
---@type table<string, acp.highlight.Segment[]|false> by the fence's mark and the line
local closings = {}

---@param row integer
---@param line string
---@return acp.highlight.Fence? fence nil when the line opens none at the left margin
function M.at(row, line)
  local mark = line:match("^```+") or line:match("^~~~+")
  return mark and { row = row, info = line, mark = mark, searched = row + 1, rows = 0, dirty = 0 }
end

local function read_looks(info)
  local text = spans.text({ info:sub(1, LONGEST_INFO), "x" })
  repeat
    local done = spans.parse(text)
  until done
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
---@param fence acp.highlight.Fence
---@return boolean ready
function M.prepare(fence)
  if not fence.looks then
    if not looks_by_info[fence.info] then
      if languages.load_next({ fence.info }) then
        return false
      end
      looks_by_info[fence.info] = read_looks(fence.info)
    end
    fence.looks = looks_by_info[fence.info]
  end
  return true
end

--- Whether a line would close the fence. Markdown parsers differ in this (does a longer run close a
--- shorter one? does one in a quote?), so the parser is asked, once for each such line.
---@return acp.highlight.Segment[]|false segments of the closing line
local function closes(fence, line)
  if not line:find("```%s*$") and not line:find("~~~%s*$") then
    return false
  end
  local key = fence.mark .. " " .. line
  local closing = closings[key]
  if closing == nil then
    local text = spans.text({ fence.mark, "x", line, "x" })
    text.parser:parse()
    closing = #spans.starts(text) > 1 and (spans.rows(text, 2, 3, 0)[2] or {})
    closings[key] = closing
  end
  return closing
end

--- Whether `closes` would have to ask.
local function is_unknown(fence, line)
  return (line:find("```%s*$") or line:find("~~~%s*$")) and closings[fence.mark .. " " .. line] == nil
end

--- Searches the rows that have come since the last search.
---@param buf integer
---@param base integer
---@param fence acp.highlight.Fence
---@param upto integer the first row that may still change
---@return integer? stop the row after the closing line
---@return acp.highlight.Segment[]? closing the segments of that line
function M.stop(buf, base, fence, upto)
  upto = math.min(upto, fence.searched + SEARCHED)
  local asked = 0
  for i, line in ipairs(spans.lines(buf, base + fence.searched, base + upto)) do
    asked = asked + (is_unknown(fence, line) and 1 or 0)
    if asked > ASKED then
      fence.searched = fence.searched + i - 1
      return nil
    end
    local closing = closes(fence, line)
    if closing then
      return fence.searched + i, closing
    end
  end
  fence.searched = math.max(fence.searched, upto)
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
    fence.parser = assert(ts.get_parser(fence.buf, fence.looks.lang))
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

--- Parses a slice of the code. When that takes too long in all, what has its colours loses them.
---@return boolean done
local function read(fence)
  if not fence.parser then
    return true
  end
  local state = budget.parse(fence.parser, false)
  if state == "given up" then
    M.free(fence)
    fence.buf, fence.parser, fence.plain = nil, nil, true
    fence.dirty = 0
  end
  return state ~= "paused"
end

--- Paints rows of code.
local function paint(buf, base, region, from, to)
  local fence = region.fence
  local first = fence.row + 1
  local lines = spans.lines(buf, base + first + from, base + first + to)
  local rows = {}
  for i, line in ipairs(lines) do
    if #line > 0 then
      local segments = copy(fence.looks.body)
      for _, segment in ipairs(segments) do
        segment[2] = #line
      end
      rows[first + from + i - 1] = segments
    end
  end
  if fence.parser then
    local by_row = setmetatable({}, {
      __index = function(_, i)
        return lines[i - from]
      end,
    })
    spans.captures(rows, first, fence.parser, fence.buf, 0, by_row, from, to)
  end
  local closing = first + to == region.rows and #lines > 0 and closes(fence, lines[#lines])
  if closing then -- the last line is not whole, but would close the fence as it stands
    rows[region.rows - 1] = copy(closing)
  end
  marks.paint(buf, base, region.marks, rows, first + from, first + to)
end

--- Notes the code up to now, to be read.
---@return acp.highlight.FenceReading
local function begin(buf, base, region, stop, closing)
  local fence = region.fence
  local first, last = fence.row + 1, stop and stop - 1 or region.rows
  if not region.marks[fence.row] then
    local rows = { [fence.row] = copy(fence.looks.first) }
    marks.paint(buf, base, region.marks, rows, fence.row, first)
  end
  -- The last row looked at may have been half a line.
  local from = math.max(fence.rows - 1, 0)
  fence.rows, fence.dirty = last - first, from
  local lines = spans.lines(buf, base + first + from, base + last)
  if fence.looks.lang and not fence.plain and (fence.buf or fence.rows > 0) then
    feed(fence, from, lines)
  end
  return { last = last, line = lines[#lines], stop = stop, closing = closing }
end

--- Reads a slice of what has come, and paints it once it is read. When that is much, what is farther up is left for
--- `more`.
---@param buf integer
---@param base integer
---@param region acp.highlight.Region
---@param stop integer? of `M.stop`
---@param closing acp.highlight.Segment[]?
---@return boolean done
---@return integer? stop the row after the closing line, when all up to it has been read
function M.look(buf, base, region, stop, closing)
  local fence = region.fence
  local resumed = fence.reading ~= nil
  local reading = fence.reading or begin(buf, base, region, stop, closing)
  fence.reading = reading
  if not read(fence) then
    return false
  end
  fence.reading = nil
  local dirty = fence.dirty
  local near = math.max(dirty, fence.rows - ROWS)
  if near > dirty then
    local todo = fence.todo
    fence.todo = { from = math.min(dirty, todo and todo.from or dirty), to = near }
  elseif fence.todo then
    fence.todo.to = math.min(fence.todo.to, fence.rows)
  end
  paint(buf, base, region, near, fence.rows)
  local last = reading.last
  if reading.closing then
    marks.paint(buf, base, region.marks, { [last] = copy(reading.closing) }, last, last + 1)
  elseif
    resumed and (region.rows > last or spans.lines(buf, base + last - 1, base + last)[1] ~= reading.line)
  then
    -- More has come while this was read.
    return false
  end
  return true, reading.stop
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
  local from = math.max(todo.from, todo.to - ROWS)
  paint(buf, base, region, from, todo.to)
  todo.to = from
  return true
end

--- Tells which rows of a closed fence do not look yet as if they had been read from scratch: those with
--- other languages in the code. All of them where the code has errors, for what an incremental parser
--- makes of those depends on how they came to be, and all of a long fence, to be done in slices.
---@param fence acp.highlight.Fence
---@return fun(from: integer, to: integer): boolean unfinished
function M.unfinished(fence)
  local first, rows = fence.row + 1, {}
  local all = fence.todo ~= nil or fence.parser ~= nil and fence.rows > 100
  for _, tree in pairs(fence.parser and fence.parser:trees() or {}) do
    all = all or tree:root():has_error()
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

---@param fence acp.highlight.Fence?
function M.free(fence)
  if fence and fence.buf and api.nvim_buf_is_valid(fence.buf) then
    api.nvim_buf_delete(fence.buf, { force = true })
  end
end

return M

--- Tells when text was appended that no mark depends on, so that nothing has to be read again: plain words after
--- plain words. Most of what agents write is that. When in doubt the answer is no.

local api = vim.api
local limits = require("acp.highlight.limits")
local spans = require("acp.highlight.spans")

local M = {}

--- Characters that may mean something anywhere in a line, or to the one before them.
local SIGNS = "[%*_`~%[%]<>\\!&|$%^{}#:]"
--- Rows and bytes that are looked at, and bytes of a line: longer ones are cut short elsewhere.
local ROWS, BYTES, LONGEST = 64, 4096, limits.LINE

---@class acp.highlight.Seen Up to where in a region all marks are right, and nothing there waits for what follows.
---@field row integer
---@field col integer

--- Words at the margin: the start of a paragraph, or more of what is above.
local function is_words(line)
  return line == "" or (line:find("^%a") ~= nil and not line:find(SIGNS))
end

---@param marks acp.highlight.Marks?
---@param col integer
local function ends_at(marks, col)
  for key in pairs(marks or {}) do
    if tonumber(key:match("^%d+,(%d+)")) == col then
      return true
    end
  end
  return false
end

--- What is known after a look at all rows from the cut on.
---@param region acp.highlight.Region
---@param lines string[] the rows from `first` on
---@param first integer
---@return acp.highlight.Seen?
function M.after_look(region, lines, first)
  for _, line in ipairs(lines) do
    -- What such lines begin may go on in words: HTML, the target of a link, a footnote.
    if line:find("^%s*[<%[]") then
      return nil
    end
  end
  local last = lines[#lines]
  local row = first + #lines - 1
  if
    last:find(SIGNS .. "$")
    or last:find("^%s*[^%a]?%s*$")
    or #last >= LONGEST
    or ends_at(region.marks[row], #last)
  then
    return nil
  end
  return { row = row, col = #last }
end

--- Looks at what came after what has been seen.
---@param buf integer
---@param base integer
---@param region acp.highlight.Region
---@param seen acp.highlight.Seen
---@return acp.highlight.Seen? seen to the end; nil when what came has to be read
---@return boolean? ended whether an empty line is among it
function M.more(buf, base, region, seen)
  local began, stop = base + seen.row, base + region.rows
  if
    region.rows - seen.row > ROWS
    or api.nvim_buf_get_offset(buf, stop) - api.nvim_buf_get_offset(buf, began) > seen.col + BYTES
  then
    return nil
  end
  local lines = spans.lines(buf, began, stop)
  local count, ended = #lines, false
  if count == 0 or #lines[count] >= LONGEST then
    return nil
  end
  for i, line in ipairs(lines) do
    if i == 1 and seen.col > 0 then
      if line:find(SIGNS, seen.col) then
        return nil
      end
    elseif not is_words(line) then
      return nil
    end
    ended = ended or (i < count and line == "")
  end
  return { row = region.rows - 1, col = #lines[count] }, ended
end

return M

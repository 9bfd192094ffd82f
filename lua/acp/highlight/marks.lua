--- Sets the extmarks of rows of segments, and only those that differ from the row's marks of before:
--- Neovim redraws a row for each mark that comes or goes. Where the segments come from is not known here.

local api = vim.api

local M = {}

M.ns = api.nvim_create_namespace("acp.highlight")

--- The marks of a row, by what they show.
---@alias acp.highlight.Marks table<string, integer>

local has_conceal_lines = vim.fn.has("nvim-0.11") == 1
local opts = { undo_restore = false }

local function set(buf, row, segment)
  opts.end_row, opts.end_col = row, segment[2]
  opts.hl_group = segment[3] > 0 and segment[3] or nil
  opts.priority = segment[8]
  opts.conceal = segment[5]
  opts.url = segment[6]
  opts.conceal_lines = has_conceal_lines and segment[7] or nil
  opts.virt_text = segment.blank
    and { { segment.blank, segment.blank:find("-", 1, true) and "@punctuation.special" } }
  opts.virt_text_pos = segment.blank and "inline" or nil
  -- Where it stands before a bar, what is written there stays before it.
  opts.right_gravity = not segment.blank
  return api.nvim_buf_set_extmark(buf, M.ns, row, segment[1], opts)
end

local function key_of(segment)
  local key = segment[1] .. "," .. segment[2] .. "," .. segment[3] .. "," .. segment[8]
  if segment[5] or segment[6] or segment[7] then
    key = ("%s,%s,%s,%s"):format(key, segment[5], segment[6], segment[7])
  end
  if segment.blank then
    key = ("%s,%s"):format(key, segment.blank)
  end
  return key
end

local heights = {}

--- Neovim draws marks of one place and one priority in no fixed order, so what lies over what is said by
--- the priority: a segment's is one more than that of any before it which it overlaps. A priority that
--- the query asks for goes before the order.
local function rank(segments)
  local length = 0
  for i = 1, #segments do
    local segment, j = segments[i], i - 1
    while j > 0 and segments[j][4] > segment[4] do
      segments[j + 1] = segments[j]
      j = j - 1
    end
    segments[j + 1] = segment
    length = math.max(length, segment[2])
  end
  for col = 1, length do
    heights[col] = 99
  end
  for _, segment in ipairs(segments) do
    local height = 99
    for col = segment[1] + 1, segment[2] do
      if heights[col] > height then
        height = heights[col]
      end
    end
    -- A user's own marks (200) stay on top.
    height = math.min(height + 1, 189)
    for col = segment[1] + 1, segment[2] do
      heights[col] = height
    end
    segment[8] = height
  end
end

---@param buf integer
---@param row integer in the buffer
---@param segments acp.highlight.Segment[]?
---@param known acp.highlight.Marks?
---@return acp.highlight.Marks?
local function paint_row(buf, row, segments, known)
  local marks
  if segments then
    rank(segments)
    marks = {}
    for _, segment in ipairs(segments) do
      local key = key_of(segment)
      if known and known[key] then
        marks[key] = known[key]
        known[key] = nil
      else
        marks[key] = set(buf, row, segment)
      end
    end
  end
  for _, mark in pairs(known or {}) do
    api.nvim_buf_del_extmark(buf, M.ns, mark)
  end
  return marks
end

--- Makes rows show their segments, and nothing else.
---@param buf integer
---@param base integer the row in the buffer at which row 0 stands
---@param marks table<integer, acp.highlight.Marks> by row, kept up to date
---@param rows acp.highlight.Rows
---@param from integer
---@param to integer exclusive
function M.paint(buf, base, marks, rows, from, to)
  if marks.as_typed then
    for row = from, to - 1 do
      for _, segment in ipairs(rows[row] or {}) do
        -- Coloured, but with every character that was typed.
        segment[5], segment[7], segment.blank = nil, nil, nil
      end
    end
  end
  for row = from, to - 1 do
    if rows[row] or marks[row] then
      marks[row] = paint_row(buf, base + row, rows[row], marks[row])
    end
  end
end

return M

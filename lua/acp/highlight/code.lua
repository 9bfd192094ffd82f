--- The colours of code that is in no buffer, such as lines that are gone: read as a text of their own, since
--- what stood around them is gone as well. What is too much to be read at once stays plain; how it is shown
--- and what is remembered is up to the caller.

local budget = require("acp.highlight.budget")
local languages = require("acp.highlight.languages")
local limits = require("acp.highlight.limits")
local spans = require("acp.highlight.spans")

local M = {}

--- Bytes that are read, and the parser's slices that they may take: whoever asks waits.
local MOST, SLICES = 6000, 2
--- Lines that are searched for colours in one go, each with a limit of its own.
local ROWS = 16

--- How many pieces of code are remembered.
local REMEMBERED = 500

---@type table<string, integer[][]|false> by file type and text
local remembered = {}
local count = 0

--- One run of bytes after the other, each with the group that wins there.
---@param segments acp.highlight.Segment[]
---@param length integer
---@return integer[] flat start, end, group, ...
local function flattened(segments, length)
  local best = {}
  for _, segment in ipairs(segments) do
    if segment[3] > 0 then
      for at = segment[1], math.min(segment[2], length) - 1 do
        local other = best[at]
        if not other or segment[4] >= other[4] then
          best[at] = segment
        end
      end
    end
  end
  local flat, at = {}, 0
  while at < length do
    local group, from = best[at] and best[at][3], at
    repeat
      at = at + 1
    until at >= length or (best[at] and best[at][3]) ~= group
    if group then
      vim.list_extend(flat, { from, at, group })
    end
  end
  return flat
end

---@type table<string, string> by path
local filetypes = {}

--- What Neovim takes a file of this name for, without looking into it.
---@param path string
---@return string?
function M.filetype(path)
  local known = filetypes[path]
  if known == nil then
    -- Neovim would look at the file, whose disk may not answer. Nothing is below a file, and that is known at once.
    local name = vim.fn.has("win32") == 0 and "/dev/null" .. path or path
    known = vim.filetype.match({ filename = name }) or ""
    filetypes[path] = known
  end
  return known ~= "" and known or nil
end

--- Reads code.
---@param lines string[]
---@param filetype string
---@return integer[][]?
local function read(lines, filetype)
  local lang = languages.find(filetype)
  if not lang then
    return nil
  end
  lines = limits.lines(vim.list_slice(lines), limits.CODE_LINE)
  local made = { pcall(spans.parser, lines, lang) }
  local parser, source = made[2], made[3]
  if not made[1] or not parser then
    return nil
  end
  local slices, parsed, state = 0, true, "paused"
  while parsed and state == "paused" and slices < SLICES do
    slices, parsed, state = slices + 1, pcall(budget.parse, parser, false)
  end
  if not parsed then
    spans.report(state)
  end
  if not parsed or state ~= "done" then
    return nil
  end
  for _, tree in pairs(parser:trees()) do
    if limits.is_tangled(tree, lines, 0) then
      return nil
    end
  end
  local rows = {}
  for from = 0, #lines - 1, ROWS do
    spans.captures(rows, 0, parser, source, 0, lines, from, math.min(from + ROWS, #lines))
  end
  local colours = {}
  for at, line in ipairs(lines) do
    colours[at] = flattened(rows[at - 1] or {}, #line)
  end
  -- The hidden buffer, if there is one, was needed up to here.
  made[4] = nil
  return colours
end

--- The colours of lines of a file type: for each, `start, end, group, ...`. Nothing when they can't be had.
---@param lines string[]
---@param filetype string
---@return integer[][]?
function M.colours(lines, filetype)
  local text = table.concat(lines, "\n")
  if #text > MOST then
    return nil
  end
  local key = filetype .. "\n" .. text
  if remembered[key] == nil then
    if count >= REMEMBERED then
      remembered, count = {}, 0
    end
    remembered[key], count = read(lines, filetype) or false, count + 1
  end
  return remembered[key] or nil
end

return M

--- Text that can no longer change is cut into pieces, each small enough to be painted in one go. A piece
--- is painted when it comes on screen, and may be forgotten when it is far away. Where to cut is found by
--- the caller.

local api = vim.api
local budget = require("acp.highlight.budget")
local fences = require("acp.highlight.fence")
local languages = require("acp.highlight.languages")
local marks = require("acp.highlight.marks")
local parts = require("acp.highlight.part")
local spans = require("acp.highlight.spans")

local M = {}

--- Bytes to be painted in one go: some 2 ms.
M.SIZE = 768

---@class acp.highlight.Block Rows that have to be read together.
---@field from integer
---@field to integer exclusive
---@field plain string? why the languages in it are not read, a key of `limits.reasons`
---@field fence acp.highlight.FenceHead? where it is code of a fence
---@field closing boolean? whether its last row closes that

---@class acp.highlight.Piece
---@field from integer
---@field to integer exclusive
---@field block acp.highlight.Block the piece itself, or the long block that it is a slice of
---@field painted boolean
---@field plain string? as in a block
---@field fence acp.highlight.FenceHead?
---@field closing boolean?

local function size_of(lines, first, last)
  local size = 0
  for i = first, last do
    size = size + #lines[i] + 1
  end
  return size
end

local function add_piece(region, from, to, block)
  local piece = { from = from, to = to, painted = false }
  piece.block = block or piece
  region.pieces[#region.pieces + 1] = piece
  region.unpainted = region.unpainted + 1
end

--- Adds some rows that have to be read together: one piece, or slices of a long block.
---@param region acp.highlight.Region
---@param from integer the row of the first line
---@param lines string[]
---@param first integer
---@param last integer
function M.add(region, from, lines, first, last)
  if size_of(lines, first, last) <= 1.5 * M.SIZE then
    add_piece(region, from, from + last - first + 1)
    return
  end
  local block = { from = from, to = from + last - first + 1 }
  local start, size = first, 0
  for i = first, last do
    size = size + #lines[i] + 1
    if size >= M.SIZE or i == last then
      add_piece(region, from + start - first, from + i - first + 1, block)
      start, size = i + 1, 0
    end
  end
end

--- Adds rows of a fence that are read together.
---@param region acp.highlight.Region
---@param from integer
---@param lines string[]
---@param fence acp.highlight.FenceHead
---@param closing boolean whether the last line closes it
---@param plain string?
function M.add_code(region, from, lines, fence, closing, plain)
  local n = #region.pieces
  M.add(region, from, lines, 1, #lines)
  local block = region.pieces[n + 1].block
  block.plain = plain
  -- A short fence is read as Markdown.
  if block ~= region.pieces[n + 1] or from ~= fence.row then
    block.fence, block.closing = fence, closing
  end
end

--- Cuts blocks off at the region's cut. Small ones share a piece.
---@param region acp.highlight.Region
---@param lines string[] from the cut on
---@param starts integer[] the lines' rows at which blocks begin
---@param upto integer the row of the first line that is not to be cut off
function M.cut(region, lines, starts, upto)
  local from, size = 0, 0
  for i = 1, #starts do
    local start = i == 1 and 0 or starts[i]
    if start >= upto then
      break
    end
    local stop = math.min(starts[i + 1] or upto, upto)
    local bytes = size_of(lines, start + 1, stop)
    if size > 0 and size + bytes > M.SIZE then
      M.add(region, region.cut + from, lines, from + 1, start)
      from, size = start, 0
    end
    size = size + bytes
  end
  M.add(region, region.cut + from, lines, from + 1, upto)
  region.cut = region.cut + upto
end

--- Declares a piece painted. Its marks are no longer told apart: it goes as a whole, or not at all.
---@param chat acp.highlight.Chat
---@param region acp.highlight.Region
---@param piece acp.highlight.Piece
function M.settle(chat, region, piece)
  for row = piece.from, piece.to - 1 do
    region.marks[row] = nil
  end
  piece.painted = true
  region.unpainted = region.unpainted - 1
  chat.painted_rows = chat.painted_rows + piece.to - piece.from
end

--- Removes a painted piece's marks.
---@param chat acp.highlight.Chat
---@param region acp.highlight.Region
---@param base integer
---@param piece acp.highlight.Piece
function M.forget(chat, region, base, piece)
  api.nvim_buf_clear_namespace(chat.buf, marks.ns, base + piece.from, base + piece.to)
  piece.painted = false
  region.unpainted = region.unpainted + 1
  chat.painted_rows = chat.painted_rows - (piece.to - piece.from)
end

--- The place of the first piece that ends after a row.
---@param region acp.highlight.Region
---@param row integer
---@return integer
function M.after(region, row)
  local low, high = 1, #region.pieces + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if region.pieces[middle].to > row then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

--- Reads a slice of what a piece of Markdown needs.
---@param text acp.highlight.Text
---@param piece acp.highlight.Piece
---@return boolean done
local function read(text, piece)
  local block = piece.block
  if block == piece and not block.plain then
    return spans.parse(text)
  end
  if not spans.parse_blocks(text) or budget.is_over() then
    return false
  end
  return block.plain ~= nil or spans.parse(text, piece.from - block.from, piece.to - block.from)
end

---@return acp.highlight.Rows? rows nil when there is more to be read first
local function rows_of(chat, base, piece)
  local block = piece.block
  -- The parser of the last block is kept: for the next slice, and for the other pieces of a long one.
  local text = chat.read and chat.read.block == block and chat.read.text
  if not text then
    local lines = spans.lines(chat.buf, base + block.from, base + block.to)
    if languages.load_next(lines) then
      return nil
    end
    text = block == piece and spans.text(lines) or spans.long_text(lines)
    chat.read = { block = block, text = text }
  end
  if not read(text, piece) or budget.is_over() then
    return nil
  end
  block.plain = block.plain or budget.gave_up(text.parser) and "slow" or nil
  return spans.rows(text, piece.from - block.from, piece.to - block.from, block.from)
end

---@return acp.highlight.Rows?
local function rows_of_code(chat, base, piece)
  local block = piece.block
  local part = chat.read and chat.read.block == block and chat.read.part
  if not part then
    if not fences.prepare(block.fence) then
      return nil
    end
    part = parts.open(chat.buf, base, block)
    chat.read = { block = block, part = part }
  end
  if not parts.read(part, block, piece.from, piece.to) or budget.is_over() then
    return nil
  end
  local last = block.closing
    and piece.to == block.to
    and spans.lines(chat.buf, base + piece.to - 1, base + piece.to)[1]
  return parts.rows(part, block, piece.from, piece.to, last or nil)
end

--- Paints a piece, or prepares it: loads what a language lacks, reads a slice of the block.
---@param chat acp.highlight.Chat
---@param region acp.highlight.Region
---@param base integer
---@param piece acp.highlight.Piece
function M.paint(chat, region, base, piece)
  local rows = (piece.block.fence and rows_of_code or rows_of)(chat, base, piece)
  if rows then
    region.has_bars = region.has_bars or chat.read.text and chat.read.text.has_bars
    marks.paint(chat.buf, base, region.marks, rows, piece.from, piece.to)
    M.settle(chat, region, piece)
  end
end

return M

--- Colours the Markdown of a chat buffer while it streams, at a cost that does not grow with the chat.
--- Regions of the buffer are announced by the caller, who owns the text; this module only sets extmarks in a
--- namespace of its own. What is text, where it stands and when it changes is left to the caller.
---
--- No parser is ever attached to the chat: a LanguageTree re-reads the whole buffer on each change. Instead every
--- block of Markdown is read as a string. The last block, the one that still grows, is read again at a slow pace, a
--- fence that is still open by an incremental parser on a hidden buffer. A block that can no longer change becomes a
--- *piece*: it is painted once, when it is on screen, a small piece at a time.
---
--- This is the one file under lua/ with a state of its own: parsers and queries are Lua objects of Neovim's, and
--- handing each of their captures through the library would cost more than the painting.
---
--- Rows in here are counted from the region's first row, unless named `base` or `abs`: an earlier region may grow or
--- shrink at any time, and only the region's anchor moves then.

local api, ts, uv = vim.api, vim.treesitter, vim.uv

local M = {}

--- Called with a text, once for each text, when a parser or a query fails. The region stays plain then.
--- @type fun(message: string)?
M.on_error = nil

local ns = api.nvim_create_namespace("acp.highlight")
local anchors = api.nvim_create_namespace("acp.highlight.regions")

--- A growing block is read again after this many milliseconds, or after ten times what the last reading took.
local PACE, PACE_BY_COST = 60, 10
local pace, pace_by_cost = PACE, PACE_BY_COST
--- One slice of work, and the pause that lets keys and redraws through before the next.
local SLICE_NS, TICK = 2e6, 5
--- Bytes painted in one go: some 2 ms with injections.
local PIECE = 768
--- More unread text than this is first cut into blocks, without looking inside them.
local BACKLOG = 4096
--- Pieces far from every window are forgotten when more rows than this are painted.
local PAINTED_ROWS = 20000

local has_conceal_lines = vim.fn.has("nvim-0.11") == 1

--- @class acp.highlight.Block rows that only make sense when parsed together
--- @field from integer
--- @field to integer exclusive

--- @class acp.highlight.Piece
--- @field from integer
--- @field to integer exclusive
--- @field block acp.highlight.Block the piece itself, or the long block it is a slice of
--- @field painted boolean

--- @class acp.highlight.Fence a top-level code fence that has not been closed
--- @field row integer of the opening line
--- @field info string that line
--- @field mark string its backticks or tildes
--- @field closing string pattern of the closing line
--- @field scan integer the first row not yet searched for the closing line
--- @field buf integer? hidden buffer holding the code
--- @field sent integer rows of code that were painted
--- @field looks table? of `read_fence`
--- @field parser vim.treesitter.LanguageTree?
--- @field dirty integer? lowest row of code whose captures may have changed

--- @class acp.highlight.Region
--- @field anchor integer extmark at the first row
--- @field firm boolean? whether the region holds text
--- @field rows integer
--- @field cut integer rows below this are in pieces
--- @field closed boolean
--- @field pieces acp.highlight.Piece[]
--- @field unpainted integer how many of them are not painted
--- @field marks table<integer, table<string, integer>> by row: the marks of text that is not in a painted piece
--- @field dirty boolean
--- @field next_look number
--- @field fence acp.highlight.Fence?

--- @class acp.highlight.Chat
--- @field buf integer
--- @field regions table<integer, acp.highlight.Region> by the caller's id
--- @field order acp.highlight.Region[] as they stand in the buffer
--- @field timer uv.uv_timer_t
--- @field due number? when the timer fires
--- @field drawn table<integer, {top: integer, bot: integer, count: integer, from: integer}> by window: what a redraw showed
--- @field growing table<acp.highlight.Region, true> those that are not closed
--- @field waiting boolean? whether the next redraw is to bring us back, whatever it shows
--- @field painted_rows integer
--- @field parsed {block: acp.highlight.Block, parser: vim.treesitter.LanguageTree, text: string, lines: string[]}?

--- @type table<integer, acp.highlight.Chat>
local chats = {}
local plain = false -- no Markdown parser here: every call returns at once
local warmed = false
local reported = {} --- @type table<string, true>

local function now()
  return uv.hrtime() / 1e6
end

local function report(message)
  message = tostring(message)
  if not reported[message] then
    reported[message] = true
    if M.on_error then
      pcall(M.on_error, message)
    end
  end
end

-- Reading: text in, rows of segments out ------------------------------------------------------------------------

local hl_ids = {} --- @type table<string, table<integer, integer>>

--- The groups of a language's captures; 0 for those that only carry data (`@_url`).
local function groups(lang, query)
  local ids = hl_ids[lang]
  if not ids then
    ids = {}
    for id, name in pairs(query.captures) do
      if name == "spell" or name == "nospell" then
        ids[id] = -1
      elseif name:sub(1, 1) == "_" then
        ids[id] = 0
      else
        ids[id] = api.nvim_get_hl_id_by_name("@" .. name .. "." .. lang)
      end
    end
    hl_ids[lang] = ids
  end
  return ids
end

--- The text is read one row further down: a `---` in the first row of a text would be front matter.
local function parser_of(lines)
  local text = "\n" .. table.concat(lines, "\n") .. "\n"
  return ts.get_string_parser(text, "markdown"), text
end

--- A link's target may be the text of another capture of the match. `get_node_text` ignores `#offset!` in a string.
local function url_of(url, match, md, text)
  if type(url) ~= "number" then
    return url
  end
  local nodes = (match.captures and match:captures() or match)[url]
  local node = type(nodes) == "table" and nodes[1] or nodes
  if not node or type(text) ~= "string" then
    return nil
  end
  local range = ts.get_range(node, text, md[url])
  return text:sub(range[3] + 1, range[6])
end

--- @class acp.highlight.Segment {col, end_col, hl, asked priority, conceal, url, conceal_lines, priority}

--- Adds the captures of one tree, cut into one segment per row: a mark that spans rows would have to be set anew,
--- and all its rows drawn anew, each time its end moves.
--- @param rows table<integer, table[]> by row
--- @param shift integer subtracted from the tree's rows
--- @param lines string[] by row + 1
--- @param from integer
--- @param to integer exclusive
local function captures(rows, tree, lang, source, shift, lines, from, to)
  local query = ts.query.get(lang, "highlights")
  if not query then
    return
  end
  local ids = groups(lang, query)
  for id, node, md, match in query:iter_captures(tree:root(), source, from + shift, to + shift) do
    local hl = ids[id]
    local own = md[id]
    local conceal = md.conceal or own and own.conceal
    local conceal_lines = md.conceal_lines or own and own.conceal_lines
    local url = own and own.url
    if url then
      url = url_of(url, match, md, source)
    end
    if hl > 0 or conceal or conceal_lines or url then
      local sr, sc, er, ec
      if own and own.range then
        local range = ts.get_range(node, source, own)
        sr, sc, er, ec = range[1], range[2], range[4], range[5]
      else
        sr, sc, er, ec = node:range()
      end
      sr, er = sr - shift, er - shift
      local asked = tonumber(md.priority or own and own.priority) or 100
      for row = math.max(sr, from), math.min(er, to - 1) do
        local len = #lines[row + 1]
        local col = row == sr and sc or 0
        local end_col = row == er and math.min(ec, len) or len
        if col < end_col then
          local segs = rows[row]
          if not segs then
            segs = {}
            rows[row] = segs
          end
          segs[#segs + 1] = { col, end_col, hl, asked, conceal, url, conceal_lines }
        end
      end
    end
  end
end

--- Neovim draws marks of one place and one priority in no fixed order, so what lies over what is said by priority.
--- A segment comes after those it lies over: outer trees before injected ones, within a tree in the query's order;
--- a pattern's own priority goes before both.
local function rank(segs)
  for i = 2, #segs do
    local seg, j = segs[i], i - 1
    while j > 0 and segs[j][4] > seg[4] do
      segs[j + 1] = segs[j]
      j = j - 1
    end
    segs[j + 1] = seg
  end
  for i = 1, #segs do
    local seg = segs[i]
    local col, end_col, above = seg[1], seg[2], 99
    for j = 1, i - 1 do
      local other = segs[j]
      if other[8] > above and other[1] < end_col and other[2] > col then
        above = other[8]
      end
    end
    -- Under 190: a user's own marks (200) stay on top.
    seg[8] = above < 189 and above + 1 or above
  end
end

--- All captures of a tree of languages, outer before inner.
local function walk(rows, ltree, source, shift, lines, from, to)
  local lang = ltree:lang()
  for _, tree in pairs(ltree:trees()) do
    local sr, _, er = tree:root():range()
    if sr - shift < to and er - shift >= from then
      captures(rows, tree, lang, source, shift, lines, from, to)
    end
  end
  for _, child in pairs(ltree:children()) do
    walk(rows, child, source, shift, lines, from, to)
  end
end

--- The rows at which blocks begin. A list can be taken apart at its items; nothing else can.
local function blocks(node, starts)
  for child in node:iter_children() do
    local kind = child:type()
    if kind == "section" or kind == "list" then
      blocks(child, starts)
    elseif child:named() then
      local row = child:range() - 1
      if row > (starts[#starts] or -1) then
        starts[#starts + 1] = row
      end
      starts.kind = kind
    end
  end
end

--- @param parser vim.treesitter.LanguageTree of `parser_of`, parsed
--- @return integer[] starts with the kind of the last block
local function block_starts(parser)
  local starts = {} --- @type integer[]|{kind: string?}
  for _, tree in pairs(parser:trees()) do
    blocks(tree:root(), starts)
  end
  return starts
end

-- Painting: rows of segments in, marks out ----------------------------------------------------------------------

local opts = { undo_restore = false }

local function set_mark(buf, abs, seg)
  opts.end_row, opts.end_col = abs, seg[2]
  opts.hl_group = seg[3] > 0 and seg[3] or nil
  opts.priority = seg[8]
  opts.conceal = seg[5]
  opts.url = seg[6]
  opts.conceal_lines = has_conceal_lines and seg[7] or nil
  return api.nvim_buf_set_extmark(buf, ns, abs, seg[1], opts)
end

local function key_of(seg)
  local key = seg[1] .. "," .. seg[2] .. "," .. seg[3] .. "," .. seg[8]
  if seg[5] or seg[6] or seg[7] then
    key = key .. "," .. tostring(seg[5]) .. "," .. tostring(seg[6]) .. "," .. tostring(seg[7])
  end
  return key
end

--- Touches only the marks that differ, so that Neovim redraws only the lines that do.
--- @param known table<string, integer>? the row's marks
--- @return table<string, integer>?
local function paint_row(buf, abs, segs, known)
  if not segs then
    for _, mark in pairs(known or {}) do
      api.nvim_buf_del_extmark(buf, ns, mark)
    end
    return nil
  end
  rank(segs)
  local marks = {}
  for _, seg in ipairs(segs) do
    local key = key_of(seg)
    if known and known[key] then
      marks[key] = known[key]
      known[key] = nil
    elseif not marks[key] then
      marks[key] = set_mark(buf, abs, seg)
    end
  end
  for _, mark in pairs(known or {}) do
    api.nvim_buf_del_extmark(buf, ns, mark)
  end
  return marks
end

--- @param chat acp.highlight.Chat
--- @param region acp.highlight.Region
local function paint(chat, region, base, rows, from, to)
  local marks = region.marks
  for row = from, to - 1 do
    if rows[row] or marks[row] then
      marks[row] = paint_row(chat.buf, base + row, rows[row], marks[row])
    end
  end
end

-- Regions -------------------------------------------------------------------------------------------------------

local function base_of(chat, region)
  local at = api.nvim_buf_get_extmark_by_id(chat.buf, anchors, region.anchor, {})
  return assert(at[1], "a region's anchor is gone")
end

local function lines_of(chat, base, from, to)
  return api.nvim_buf_get_lines(chat.buf, base + from, base + to, false)
end

--- The rows of the buffer that are on screen, with a screenful above and below.
--- @return {[1]: integer, [2]: integer}[] half-open
local function views(chat)
  local out = {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local drawn = chat.drawn[win]
    if drawn and api.nvim_win_get_buf(win) == chat.buf then
      local height = drawn.bot - drawn.top + 1
      out[#out + 1] = { drawn.top - height, drawn.bot + 1 + height }
    end
  end
  return out
end

local function on_screen(seen, from, to)
  for _, view in ipairs(seen) do
    if from < view[2] and to > view[1] then
      return true
    end
  end
  return false
end

--- A piece's marks are no longer told apart: it is repainted as a whole or not at all.
local function settle(chat, region, piece)
  for row = piece.from, piece.to - 1 do
    region.marks[row] = nil
  end
  piece.painted = true
  region.unpainted = region.unpainted - 1
  chat.painted_rows = chat.painted_rows + piece.to - piece.from
end

local function add_piece(region, from, to, block)
  local piece = { from = from, to = to, painted = false }
  piece.block = block or piece
  region.pieces[#region.pieces + 1] = piece
  region.unpainted = region.unpainted + 1
  return piece
end

--- Turns a closed block into pieces: slices of it when it is long.
local function add_block(region, from, lines, first, last)
  local bytes = 0
  for i = first, last do
    bytes = bytes + #lines[i] + 1
  end
  if bytes <= 2 * PIECE then
    add_piece(region, from, from + last - first + 1)
    return
  end
  local block = { from = from, to = from + last - first + 1 }
  local start, size = first, 0
  for i = first, last do
    size = size + #lines[i] + 1
    if size >= PIECE or i == last then
      add_piece(region, from + start - first, from + i - first + 1, block)
      start, size = i + 1, 0
    end
  end
end

--- Cuts `lines`, which begin at `region.cut`, into pieces along `starts`, up to row `upto` of them.
local function cut_blocks(region, lines, starts, upto)
  local from, size, done = 0, 0, 0
  local function flush(to)
    if to > from then
      add_block(region, region.cut + from, lines, from + 1, to)
    end
    from, size = to, 0
  end
  for i = 1, #starts do
    local start = i == 1 and 0 or starts[i]
    local stop = math.min(starts[i + 1] or upto, upto)
    if start >= upto then
      break
    end
    local bytes = 0
    for row = start, stop - 1 do
      bytes = bytes + #lines[row + 1] + 1
    end
    if size > 0 and size + bytes > PIECE then
      flush(start)
    end
    size = size + bytes
    done = stop
  end
  flush(math.max(done, upto))
  region.cut = region.cut + upto
end

-- An open fence -------------------------------------------------------------------------------------------------

--- What Markdown's own query says about a fence's lines, by the text of the opening line: the segments of the first
--- line, those of any line of code (as if it were one byte long), those of the last, and the code's language.
--- @type table<string, {first: table[], body: table[], last: table[], lang: string?}>
local fences = setmetatable({}, { __mode = "v" })
local loaded = {} --- @type table<string, true> languages whose parser and query were used before

local function read_fence(info, mark)
  local lines = { info, "x", mark }
  local parser, text = parser_of(lines)
  parser:parse(true)
  local rows, outer = {}, {}
  walk(rows, parser, text, 1, lines, 0, 3)
  for _, tree in pairs(parser:trees()) do
    captures(outer, tree, "markdown", text, 1, lines, 1, 2)
  end
  local looks = { first = rows[0] or {}, body = outer[1] or {}, last = rows[2] or {} }
  for lang, child in pairs(parser:children()) do
    for _, tree in pairs(child:trees()) do
      local ranges = tree:included_ranges()
      if ranges[1] and ranges[1][1] == 2 then
        looks.lang = lang
      end
    end
  end
  return looks
end

--- A language's first use costs some 10 ms for its parser and as much for its query: one to a tick.
--- @return boolean ready
local function prepare_fence(fence)
  if not fence.looks then
    local known = fences[fence.info]
    fence.looks = known or read_fence(fence.info, fence.mark)
    fences[fence.info] = fence.looks
    local lang = fence.looks.lang
    return known ~= nil or not lang or loaded[lang] ~= nil
  end
  local lang = fence.looks.lang
  if lang and not loaded[lang] then
    loaded[lang] = true
    ts.query.get(lang, "highlights")
    return false
  end
  return true
end

local function copy_segs(segs, into)
  for _, seg in ipairs(segs) do
    into[#into + 1] = { unpack(seg, 1, 7) }
  end
  return into
end

local function free_fence(region)
  local fence = region.fence
  region.fence = nil
  if fence and fence.buf and api.nvim_buf_is_valid(fence.buf) then
    api.nvim_buf_delete(fence.buf, { force = true })
  end
end

--- @return acp.highlight.Fence? nil when the line opens no fence at the left margin
local function fence_at(row, line)
  local mark = line:match("^```+") or line:match("^~~~+")
  if not mark then
    return nil
  end
  local char = mark:sub(1, 1)
  return { row = row, info = line, mark = mark, closing = "^ ? ? ?" .. mark .. char .. "*%s*$", scan = row + 1, sent = 0 }
end

--- @return integer? stop the row after the fence, when it is closed
local function fence_end(chat, region, base)
  local fence = region.fence
  local complete = region.closed and region.rows or region.rows - 1
  for i, line in ipairs(lines_of(chat, base, fence.scan, complete)) do
    if line:find(fence.closing) then
      return fence.scan + i
    end
  end
  fence.scan = math.max(fence.scan, complete)
  return region.closed and region.rows or nil
end

--- Turns the fence into pieces, none of them painted.
local function cut_fence(chat, region, base, stop)
  local row = region.fence.row
  free_fence(region)
  add_block(region, row, lines_of(chat, base, row, stop), 1, stop - row)
  region.cut = stop
end

local function hidden_buffer()
  local ignored = vim.o.eventignore
  vim.o.eventignore = "all"
  local ok, buf = pcall(api.nvim_create_buf, false, true)
  if ok then
    vim.bo[buf].undolevels = -1
  end
  vim.o.eventignore = ignored
  return ok and buf or error(buf, 0)
end

local function feed_fence(fence, from, lines)
  if not fence.buf then
    fence.buf = hidden_buffer()
    api.nvim_buf_set_lines(fence.buf, 0, -1, false, lines)
    fence.parser = ts.get_parser(fence.buf, fence.looks.lang)
    fence.parser:register_cbs({
      on_changedtree = function(ranges)
        for _, range in ipairs(ranges) do
          fence.dirty = math.min(fence.dirty, range[1])
        end
      end,
    })
  else
    api.nvim_buf_set_lines(fence.buf, from, -1, false, lines)
  end
  fence.parser:parse()
end

--- Paints a fence from the lowest row that changed.
--- @param stop integer? the row after its closing line
local function look_at_fence(chat, region, base, stop)
  local fence = region.fence
  local looks = fence.looks
  local first, last = fence.row + 1, stop and stop - 1 or region.rows
  local placed = {}
  if not region.marks[fence.row] then
    paint(chat, region, base, { [fence.row] = copy_segs(looks.first, {}) }, fence.row, first)
  end
  -- The last line sent may have been half a line.
  local from = math.max(fence.sent - 1, 0)
  local lines = lines_of(chat, base, first + from, last)
  fence.sent, fence.dirty = last - first, from
  if looks.lang and (fence.buf or #lines > 0) then
    feed_fence(fence, from, lines)
  end
  local dirty = fence.dirty
  if dirty < from then
    lines = lines_of(chat, base, first + dirty, last)
  end
  local rows = {}
  for i, line in ipairs(lines) do
    if #line > 0 then
      local segs = copy_segs(looks.body, {})
      for _, seg in ipairs(segs) do
        seg[2] = #line
      end
      rows[dirty + i - 1] = segs
    end
  end
  if fence.parser then
    local by_row = setmetatable({}, {
      __index = function(_, row)
        return lines[row - dirty]
      end,
    })
    for _, tree in pairs(fence.parser:trees()) do
      captures(rows, tree, looks.lang, fence.buf, 0, by_row, dirty, fence.sent)
    end
  end
  for row, segs in pairs(rows) do
    placed[first + row] = segs
  end
  if stop then
    placed[last] = copy_segs(looks.last, {})
  elseif lines[#lines] and lines[#lines]:find(fence.closing) then
    placed[last - 1] = copy_segs(looks.last, {})
  end
  paint(chat, region, base, placed, first + dirty, stop or region.rows)
end

--- The rows of a closed fence that do not look yet as if read from scratch: those with languages in the code. All of
--- them where the code has errors, for what an incremental parser makes of those depends on how it came there.
--- @return (fun(from: integer, to: integer): boolean) unfinished
local function fence_leftovers(fence)
  local first, rows = fence.row + 1, {}
  if fence.parser then
    local whole = fence.sent > 100
    for _, tree in pairs(fence.parser:trees()) do
      whole = whole or tree:root():has_error()
    end
    if whole then
      return function()
        return true
      end
    end
    fence.parser:parse(true)
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
    return false
  end
end

-- Looking at what grows, cutting what is closed, painting what is seen --------------------------------------------

--- The rows from the cut on, up to some bytes.
--- @return string[] lines
--- @return boolean whole whether they reach the region's end
local function read(chat, region, base, limit)
  local from, lines, bytes = region.cut, {}, 0
  while from + #lines < region.rows and bytes < limit do
    local at = from + #lines
    for _, line in ipairs(lines_of(chat, base, at, math.min(at + 32, region.rows))) do
      lines[#lines + 1] = line
      bytes = bytes + #line + 1
    end
  end
  return lines, from + #lines >= region.rows
end

--- Cuts some closed blocks off without looking inside them.
--- @return boolean progress
local function cut(chat, region, base)
  if region.fence then
    local stop = fence_end(chat, region, base)
    if stop then
      cut_fence(chat, region, base, stop)
    end
    return stop ~= nil
  end
  local limit = BACKLOG
  while true do
    local lines, whole = read(chat, region, base, limit)
    if #lines == 0 then
      return false
    end
    local parser = parser_of(lines)
    parser:parse()
    local starts = block_starts(parser)
    local last = starts[#starts] or 0
    local fence = starts.kind == "fenced_code_block" and last + 1 < #lines and fence_at(region.cut + last, lines[last + 1])
    if whole and region.closed and not fence then
      cut_blocks(region, lines, starts, #lines)
      return true
    end
    if last > 0 and last + 1 < #lines then
      cut_blocks(region, lines, starts, last)
      region.fence = fence or nil
      return true
    end
    if fence then
      region.fence = fence
      return true
    end
    if whole then
      return false
    end
    limit = limit * 4
  end
end

--- Reads the growing end of a region and paints it. What turned out to be closed is painted for good.
--- @param chat acp.highlight.Chat
--- @param region acp.highlight.Region
local function look(chat, region, base)
  local fence = region.fence
  if fence then
    if not prepare_fence(fence) then
      region.dirty = true
      return
    end
    local stop = fence_end(chat, region, base)
    look_at_fence(chat, region, base, stop)
    if not stop then
      return
    end
    local unfinished, n = fence_leftovers(fence), #region.pieces
    cut_fence(chat, region, base, stop)
    for i = n + 1, #region.pieces do
      local piece = region.pieces[i]
      if not unfinished(piece.from, piece.to) then
        settle(chat, region, piece)
      end
    end
  end
  local lines = lines_of(chat, base, region.cut, region.rows)
  if #lines == 0 then
    return
  end
  local parser, text = parser_of(lines)
  parser:parse(true)
  local rows = {}
  walk(rows, parser, text, 1, lines, 0, #lines)
  local placed = {}
  for row, segs in pairs(rows) do
    placed[region.cut + row] = segs
  end
  paint(chat, region, base, placed, region.cut, region.rows)

  -- A block is closed by the next one's first line, once that line is whole: half of it may still become part of
  -- the block before (`-` an underline, `#` a `#tag`).
  local starts = block_starts(parser)
  local last = starts[#starts] or 0
  if last + 1 >= #lines then
    return
  end
  if last > 0 then
    local n = #region.pieces
    cut_blocks(region, lines, starts, last)
    for i = n + 1, #region.pieces do
      settle(chat, region, region.pieces[i])
    end
  end
  region.fence = starts.kind == "fenced_code_block" and fence_at(region.cut, lines[last + 1]) or nil
end

--- @param piece acp.highlight.Piece
local function paint_piece(chat, region, base, piece)
  local block = piece.block
  local parsed = chat.parsed
  if not parsed or parsed.block ~= block then
    local lines = lines_of(chat, base, block.from, block.to)
    local parser, text = parser_of(lines)
    parser:parse()
    parsed = { block = block, parser = parser, text = text, lines = lines }
    chat.parsed = block ~= piece and parsed or nil
  end
  local from, to = piece.from - block.from, piece.to - block.from
  parsed.parser:parse({ from + 1, to + 1 })
  local rows, placed = {}, {}
  walk(rows, parsed.parser, parsed.text, 1, parsed.lines, from, to)
  for row, segs in pairs(rows) do
    placed[block.from + row] = segs
  end
  paint(chat, region, base, placed, piece.from, piece.to)
  settle(chat, region, piece)
end

--- The first piece that ends after `row`.
local function piece_after(region, row)
  local lo, hi = 1, #region.pieces + 1
  while lo < hi do
    local mid = math.floor((lo + hi) / 2)
    if region.pieces[mid].to > row then
      hi = mid
    else
      lo = mid + 1
    end
  end
  return lo
end

--- One small piece of work on rows `from` to `to` of a region.
--- @return boolean done whether there was any
local function advance_region(chat, region, base, from, to)
  if region.unpainted > 0 then
    for i = piece_after(region, from), #region.pieces do
      local piece = region.pieces[i]
      if piece.from >= to then
        break
      end
      if not piece.painted then
        paint_piece(chat, region, base, piece)
        return true
      end
    end
  end
  return region.closed and region.cut < math.min(to, region.rows) and cut(chat, region, base)
end

--- A parser or a query failed: the region stays as it is.
local function give_up(region, message)
  report(message)
  free_fence(region)
  region.broken = true
end

--- The place of the first region, from the top, that begins below a row. (Asking Neovim for the anchors in a range
--- would go through every mark in it.)
local function region_below(chat, abs)
  local lo, hi = 1, #chat.order + 1
  while lo < hi do
    local mid = math.floor((lo + hi) / 2)
    if base_of(chat, chat.order[mid]) > abs then
      hi = mid
    else
      lo = mid + 1
    end
  end
  return lo
end

--- One small piece of work on what is on screen, from below upwards: the newest first.
local function advance(chat, seen)
  for _, view in ipairs(seen) do
    local top, bot = view[1], view[2]
    for i = region_below(chat, bot) - 1, 1, -1 do
      local region = chat.order[i]
      local base = base_of(chat, region)
      if not region.broken and (region.unpainted > 0 or region.closed and region.cut < region.rows) then
        local ok, worked = pcall(advance_region, chat, region, base, top - base, bot - base)
        if not ok then
          give_up(region, worked)
        elseif worked then
          return true
        end
      end
      if base <= top then
        break
      end
    end
  end
  return false
end

--- Forgets the marks of painted pieces that no window is near to.
local function forget_far(chat, seen)
  for _, region in pairs(chat.regions) do
    local base = base_of(chat, region)
    for _, piece in ipairs(region.pieces) do
      if piece.painted and not on_screen(seen, base + piece.from - 1000, base + piece.to + 1000) then
        api.nvim_buf_clear_namespace(chat.buf, ns, base + piece.from, base + piece.to)
        piece.painted = false
        region.unpainted = region.unpainted + 1
        chat.painted_rows = chat.painted_rows - (piece.to - piece.from)
      end
    end
  end
end

local run

--- @param delay number milliseconds
local function arm(chat, delay)
  local due = now() + delay
  if chat.due and chat.due <= due then
    return
  end
  chat.due = due
  chat.timer:start(math.max(math.ceil(delay), 0), 0, chat.wake)
end

--- Looks at a region's growing end when it is on screen and its turn has come.
local function look_if_due(chat, region, seen, time)
  if not region.dirty or region.broken or region.closed then
    return
  end
  if time < region.next_look then
    arm(chat, region.next_look - time)
    return
  end
  local base = base_of(chat, region)
  if not on_screen(seen, base + region.cut, base + region.rows) then
    chat.waiting = true
    return
  end
  local start = uv.hrtime()
  local ok, err = pcall(function()
    local bytes = api.nvim_buf_get_offset(chat.buf, base + region.rows)
      - api.nvim_buf_get_offset(chat.buf, base + region.cut)
    if bytes > BACKLOG and not region.fence and cut(chat, region, base) then
      arm(chat, TICK)
      return
    end
    region.dirty = false
    look(chat, region, base)
    if region.dirty then -- a language is still to be loaded
      arm(chat, TICK)
      return
    end
    local cost = (uv.hrtime() - start) / 1e6
    region.next_look = time + math.max(pace, pace_by_cost * cost)
  end)
  if not ok then
    give_up(region, err)
  end
end

function run(chat)
  chat.due = nil
  if not api.nvim_buf_is_loaded(chat.buf) then
    M.detach(chat.buf)
    return
  end
  local seen = views(chat)
  if #seen == 0 then
    chat.waiting = true
    return
  end
  local stop = uv.hrtime() + SLICE_NS
  for region in pairs(chat.growing) do
    look_if_due(chat, region, seen, now())
  end
  repeat
    if not advance(chat, seen) then
      chat.parsed = nil
      if chat.painted_rows > PAINTED_ROWS then
        forget_far(chat, seen)
      end
      return
    end
  until uv.hrtime() > stop
  arm(chat, TICK)
end

-- What the caller says ----------------------------------------------------------------------------------------------

--- First use of a parser and its queries costs some 10 ms each: one to a tick, when the chat opens.
local function warm_up()
  if warmed then
    return
  end
  warmed = true
  local steps = {}
  for _, lang in ipairs({ "markdown", "markdown_inline" }) do
    steps[#steps + 1] = function()
      ts.get_string_parser("", lang):parse()
    end
    steps[#steps + 1] = function()
      ts.query.get(lang, "highlights")
    end
  end
  local function step()
    local next_step = table.remove(steps, 1)
    if next_step then
      local ok, err = pcall(next_step)
      if not ok then
        report(err)
      end
      vim.schedule(step)
    end
  end
  vim.schedule(step)
end

local function guarded(f)
  return function(buf, id, ...)
    local chat = chats[buf]
    if not chat or not api.nvim_buf_is_loaded(buf) then
      return
    end
    local ok, err = pcall(f, chat, id, ...)
    if not ok then
      report(err)
    end
  end
end

local function set_rows(chat, region, end_row)
  local base = base_of(chat, region)
  region.rows = math.max(end_row - base, 0)
  if not region.firm and (region.rows > 1 or api.nvim_buf_get_offset(chat.buf, base + 1) - api.nvim_buf_get_offset(chat.buf, base) > 1) then
    -- From now on text that is put in at the first row's start belongs to whatever stands above.
    region.firm = true
    api.nvim_buf_set_extmark(chat.buf, anchors, base, 0, { id = region.anchor, undo_restore = false })
  end
end

--- Once for each chat buffer. Quietly does nothing where there is no Markdown parser.
--- @param buf integer
function M.attach(buf)
  if chats[buf] or plain then
    return
  end
  if not pcall(ts.get_string_parser, "", "markdown") then
    plain = true
    return
  end
  pcall(ts.language.register, "markdown", "acp")
  local chat = {
    buf = buf,
    regions = {},
    order = {},
    growing = {},
    timer = assert(uv.new_timer()),
    drawn = {},
    painted_rows = 0,
  }
  chat.wake = vim.schedule_wrap(function()
    if chats[buf] == chat then
      local ok, err = pcall(run, chat)
      if not ok then
        report(err)
      end
    end
  end)
  chats[buf] = chat
  warm_up()
end

--- A Markdown region begins at a row, which exists and holds, or will hold, the region's first line. Lines put in
--- above move the region; at the row itself only once the region holds text (open it again if need be).
--- @param buf integer
--- @param id integer
--- @param row integer 0-based
M.open = guarded(function(chat, id, row)
  M.drop(chat.buf, id)
  local anchor = api.nvim_buf_set_extmark(chat.buf, anchors, row, 0, { right_gravity = false, undo_restore = false })
  local region = {
    anchor = anchor,
    rows = 0,
    cut = 0,
    closed = false,
    pieces = {},
    unpainted = 0,
    marks = {},
    dirty = false,
    next_look = 0,
  }
  chat.regions[id] = region
  table.insert(chat.order, region_below(chat, row), region)
  chat.growing[region] = true
end)

--- Text was appended to the region's end. At most once a frame; most calls do nothing but set a timer.
--- @param buf integer
--- @param id integer
--- @param end_row integer 0-based, exclusive: where the region ends now
M.grew = guarded(function(chat, id, end_row)
  local region = chat.regions[id]
  if not region or region.closed then
    return
  end
  set_rows(chat, region, end_row)
  region.dirty = true
  local time = now()
  if time < region.next_look then
    arm(chat, region.next_look - time)
  else
    look_if_due(chat, region, views(chat), time)
  end
end)

--- The region is complete. What is on screen is finished in the next ticks, the rest when it comes on screen.
--- @param buf integer
--- @param id integer
--- @param end_row integer 0-based, exclusive
M.close = guarded(function(chat, id, end_row)
  local region = chat.regions[id]
  if not region then
    return
  end
  set_rows(chat, region, end_row)
  region.closed = true
  chat.growing[region] = nil
  arm(chat, 0)
end)

--- The region's text is about to be replaced or removed: forgets the region and its marks.
--- @param buf integer
--- @param id integer
M.drop = guarded(function(chat, id)
  local region = chat.regions[id]
  if not region then
    return
  end
  local base = base_of(chat, region)
  for _, piece in ipairs(region.pieces) do
    if piece.painted then
      chat.painted_rows = chat.painted_rows - (piece.to - piece.from)
    end
  end
  free_fence(region)
  if region.rows > 0 then
    api.nvim_buf_clear_namespace(chat.buf, ns, base, base + region.rows)
  end
  api.nvim_buf_del_extmark(chat.buf, anchors, region.anchor)
  for i = region_below(chat, base), 1, -1 do
    if chat.order[i] == region then
      table.remove(chat.order, i)
      break
    end
  end
  chat.growing[region] = nil
  chat.regions[id] = nil
end)

--- Forgets a chat, and removes its marks.
--- @param buf integer
function M.detach(buf)
  local chat = chats[buf]
  if not chat then
    return
  end
  chats[buf] = nil
  chat.timer:stop()
  chat.timer:close()
  for _, region in pairs(chat.regions) do
    pcall(free_fence, region)
  end
  if api.nvim_buf_is_loaded(buf) then
    api.nvim_buf_clear_namespace(buf, ns, 0, -1)
    api.nvim_buf_clear_namespace(buf, anchors, 0, -1)
  end
end

--- Another pace, for tests and measurements; without arguments the usual one.
--- @param ms number?
--- @param by_cost number?
function M.pace(ms, by_cost)
  pace, pace_by_cost = ms or PACE, by_cost or PACE_BY_COST
end

--- A redraw is the only sign that rows came on screen which also tells of folds, resizes and new windows. Nothing is
--- drawn from in here: marks are set in a tick of their own, and only after the window moved by more than a part of
--- the screenful that is painted around it, or lines came or went.
api.nvim_set_decoration_provider(anchors, {
  on_win = function(_, win, buf, top, bot)
    local chat = chats[buf]
    if not chat then
      return false
    end
    local drawn = chat.drawn[win]
    if not drawn then
      drawn = { from = -math.huge }
      chat.drawn[win] = drawn
    end
    drawn.top, drawn.bot = top, bot
    local count = api.nvim_buf_line_count(buf)
    if drawn.count ~= count or chat.waiting or math.abs(top - drawn.from) > (bot - top) / 2 then
      drawn.count, drawn.from, chat.waiting = count, top, false
      arm(chat, TICK)
    end
    return false
  end,
})

return M

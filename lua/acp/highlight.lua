--- Colours the Markdown of a chat buffer while it streams, at a cost that does not grow with the chat. The
--- caller owns the text and says where its regions of Markdown stand and when they grow; this module only
--- sets marks in a namespace of its own.
---
--- No parser is ever attached to the chat, since it would read the whole buffer again on each change.
--- Instead every block of Markdown is read as a text of its own. The last one, which still grows, is read
--- again at a slow pace; an open fence is read by an incremental parser over a hidden buffer
--- (`highlight/fence.lua`). A block that can no longer change is painted once, and only while it is on
--- screen (`highlight/pieces.lua`). Work is done in slices, so that no key has to wait.
---
--- It is here that lua/ has a state of its own: parsers, queries and captures are Lua objects of Neovim's,
--- and to carry each capture through the library would cost more than to paint it.
---
--- Rows are counted from a region's first row; `base` is where that stands in the buffer just now.

local api, ts, uv = vim.api, vim.treesitter, vim.uv
local ahead = require("acp.highlight.ahead")
local budget = require("acp.highlight.budget")
local cut = require("acp.highlight.cut")
local fences = require("acp.highlight.fence")
local languages = require("acp.highlight.languages")
local limits = require("acp.highlight.limits")
local look = require("acp.highlight.look")
local marks = require("acp.highlight.marks")
local pieces = require("acp.highlight.pieces")
local spans = require("acp.highlight.spans")
local tables = require("acp.highlight.tables")

local M = {}

--- Called with a text, once for each different one, when a parser or a query fails. What it was to colour
--- stays plain.
---@type fun(message: string)?
M.on_error = nil

spans.on_error = function(message)
  if M.on_error then
    M.on_error(message)
  end
end

--- When more rows than this are painted, those far from every window are forgotten.
M.painted_rows = 20000

--- The pause after a slice of work, which lets keys and redraws through before the next. ms.
local PAUSE = 5

--- Rows that come together and are still for somebody who reads along.
local SEEN_AT_ONCE = 100

---@class acp.highlight.Region
---@field anchor integer extmark at the first row
---@field firm boolean whether the region holds text
---@field rows integer
---@field cut integer the rows before are in pieces
---@field closed boolean
---@field broken boolean whether a parser or a query failed on it
---@field pieces acp.highlight.Piece[]
---@field unpainted integer how many of them are not painted
---@field marks table<integer, acp.highlight.Marks> by row, of what is not in a painted piece
---@field fence acp.highlight.Fence? when the rows from the cut on are one that is open
---@field grown boolean whether there is text that was not looked at
---@field seen acp.highlight.Seen? when the last look was at all there was
---@field look acp.highlight.Look? that is not done
---@field reading acp.highlight.Reading? to find where to cut, that is not done
---@field has_bars boolean? whether there may be a table in it
---@field spent number ms, on that look
---@field next_look number ms
---@field uncut integer bytes in which no cut was found

---@class acp.highlight.Chat
---@field buf integer
---@field regions table<integer, acp.highlight.Region> by the caller's id
---@field order acp.highlight.Region[] as they stand in the buffer
---@field growing table<acp.highlight.Region, true> those that are not closed
---@field timer uv.uv_timer_t
---@field due number? when it fires, ms
---@field wake fun() schedules a slice of work
---@field drawn table<integer, acp.highlight.Drawn> by window
---@field waiting boolean whether the next redraw is to wake us, whatever it shows
---@field lines integer? the buffer's, when we were last woken or told of all that came since
---@field painted_rows integer
---@field room integer? the cells that tables were aligned for
---@field read {block: acp.highlight.Block, text: acp.highlight.Text}? the block that was read last

---@class acp.highlight.Drawn What the last redraw of a window showed.
---@field top integer
---@field bot integer inclusive
---@field count integer the buffer's lines
---@field from integer the top row when we were last woken
---@field width integer

---@type table<integer, acp.highlight.Chat>
local chats = {}
local anchors = api.nvim_create_namespace("acp.highlight.regions")
local no_parser = false
--- When the pause after the last slice is over, in ms.
local rested = 0
local warm = false

local function now()
  return uv.hrtime() / 1e6
end

---@param chat acp.highlight.Chat
---@param delay number ms
local function arm(chat, delay)
  local due = now() + delay
  if not chat.due or due < chat.due then
    chat.due = due
    chat.timer:start(math.max(math.ceil(delay), 0), 0, chat.wake)
  end
end

--- Whether a slice may begin. When the last one has just been, as two events may come in one tick, or when there is
--- memory to be freed first, it may not, and the timer is set.
---@param chat acp.highlight.Chat
---@return boolean
local function may_begin(chat)
  if now() >= rested and budget.collect() then
    rested = now() + PAUSE
  end
  local wait = rested - now()
  if wait > 0 then
    arm(chat, wait)
  end
  return wait <= 0
end

-- Where things stand ------------------------------------------------------------------------------

---@return integer
local function base_of(chat, region)
  return api.nvim_buf_get_extmark_by_id(chat.buf, anchors, region.anchor, {})[1]
    or error("a region's anchor was removed", 0)
end

local function lines_of(chat, base, from, to)
  return spans.lines(chat.buf, base + from, base + to)
end

--- The place of the first region that begins below a row of the buffer. (Asking Neovim for the anchors in
--- a range would visit every other mark in it.)
local function region_below(chat, row)
  local low, high = 1, #chat.order + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if base_of(chat, chat.order[middle]) > row then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

---@class acp.highlight.View Rows of the buffer that are on screen, with a screenful above and below.
---@field from integer
---@field to integer exclusive

---@return acp.highlight.View[]
local function views_of(chat)
  local views = {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local drawn = chat.drawn[win]
    if drawn and api.nvim_win_get_buf(win) == chat.buf then
      local height = api.nvim_win_get_height(win)
      views[#views + 1] = { from = drawn.top - height, to = drawn.bot + 1 + height }
    end
  end
  return views
end

local function in_view(views, from, to)
  for _, view in ipairs(views) do
    if from < view.to and to > view.from then
      return true
    end
  end
  return false
end

-- Closed text -------------------------------------------------------------------------------------

--- One small piece of work on the closed text in some rows of a region.
---@return boolean worked
local function advance_region(chat, region, base, from, to)
  if region.unpainted > 0 then
    for i = pieces.after(region, from), #region.pieces do
      local piece = region.pieces[i]
      if piece.from >= to then
        break
      elseif not piece.painted then
        pieces.paint(chat, region, base, piece)
        return true
      end
    end
  end
  if region.closed then
    return region.cut < math.min(to, region.rows) and cut.step(chat.buf, region, base)
  end
  return region.fence ~= nil and fences.more(chat.buf, base, region)
end

--- The region stays as it is.
local function give_up(region, message)
  spans.report(message)
  fences.free(region.fence)
  region.fence, region.look, region.broken = nil, nil, true
end

--- One small piece of work on the closed text on screen, from below upwards, for the newest is read first.
---@return boolean worked
local function advance(chat, views)
  for _, view in ipairs(views) do
    for i = region_below(chat, view.to) - 1, 1, -1 do
      local region = chat.order[i]
      local base = base_of(chat, region)
      local done = region.closed and region.unpainted == 0 and region.cut == region.rows
      if not region.broken and not done then
        local from, to = view.from - base, view.to - base
        local ok, worked = pcall(advance_region, chat, region, base, from, to)
        if not ok then
          give_up(region, worked)
        elseif worked then
          return true
        end
      end
      if base <= view.from then
        break
      end
    end
  end
  return false
end

--- Forgets what no window is near to.
local function forget_far(chat, views)
  for _, region in ipairs(chat.order) do
    local base = base_of(chat, region)
    for _, piece in ipairs(region.pieces) do
      if piece.painted and not in_view(views, base + piece.from - 500, base + piece.to + 500) then
        pieces.forget(chat, region, base, piece)
      end
    end
  end
end

--- Forgets the tables, which were aligned for windows of another width.
local function forget_tables(chat)
  for _, region in ipairs(chat.order) do
    if region.has_bars and not region.broken then
      local base = base_of(chat, region)
      for _, piece in ipairs(region.pieces) do
        if piece.painted and not piece.block.fence then
          local lines = lines_of(chat, base, piece.from, piece.to)
          if tables.may_be_in(lines) then
            pieces.forget(chat, region, base, piece)
          end
        end
      end
      if not region.closed then
        -- What still grows is read anew, though it has not grown.
        region.look, region.seen, region.grown = nil, nil, true
        region.next_look = 0
      end
    end
  end
end

--- Has tables fit the narrowest window of a chat.
local function fit_tables(chat)
  local narrowest = math.huge
  for _, win in ipairs(vim.fn.win_findbuf(chat.buf)) do
    -- Without the margin.
    narrowest = math.min(narrowest, api.nvim_win_get_width(win) - 1)
  end
  if tables.are_drawn_by_others(chat.buf) then
    narrowest = 0
  end
  tables.room = narrowest
  if chat.room ~= narrowest then
    local before = chat.room
    chat.room = narrowest
    if before then
      forget_tables(chat)
    end
  end
end

-- Growing text ------------------------------------------------------------------------------------

--- Looks at a growing region when it is on screen and its turn has come.
local function look_if_due(chat, region, views)
  if region.broken or not (region.grown or region.look) then
    return
  end
  if not region.look then
    local wait = region.next_look - now()
    if wait > 0 then
      arm(chat, wait)
      return
    end
  end
  local base = base_of(chat, region)
  if not in_view(views, base + region.cut, base + region.rows) then
    chat.waiting = true
    return
  end
  local ok, wait = pcall(look.step, chat, region, base)
  rested = now() + PAUSE
  if not ok then
    give_up(region, wait)
  elseif wait then
    arm(chat, wait)
  end
end

--- One slice of work.
local function run(chat)
  chat.due = nil
  if not api.nvim_buf_is_loaded(chat.buf) or not may_begin(chat) then
    return
  end
  local views = views_of(chat)
  if #views == 0 then
    chat.waiting = true
    return
  end
  fit_tables(chat)
  budget.begin_slice()
  for region in pairs(chat.growing) do
    look_if_due(chat, region, views)
  end
  repeat
    if budget.is_over() then
      rested = now() + PAUSE
      arm(chat, PAUSE)
      return
    end
  until not advance(chat, views)
  if chat.painted_rows > M.painted_rows then
    forget_far(chat, views)
  end
end

-- What the caller says ----------------------------------------------------------------------------

--- The first use of a parser and of a query costs some 10 ms each: one to a tick. Markdown is needed at once, other
--- languages may never be.
local function warm_up()
  if warm then
    return
  end
  warm = true
  local function step()
    local ok, worked = pcall(function()
      return languages.load_part("markdown") or languages.load_part("markdown_inline")
    end)
    if not ok then
      spans.report(worked)
    elseif worked then
      vim.defer_fn(step, PAUSE)
    else
      ahead.begin()
    end
  end
  vim.defer_fn(step, PAUSE)
end

--- Makes a function of a buffer that does nothing when it is no chat, and whose errors are reported.
local function for_chat(f)
  return function(buf, ...)
    local chat = chats[buf]
    if chat and api.nvim_buf_is_loaded(buf) then
      local ok, err = budget.without_collector(f, chat, ...)
      if not ok then
        spans.report(err)
      end
    end
  end
end

---@param chat acp.highlight.Chat
---@param region acp.highlight.Region
---@param end_row integer in the buffer
local function set_end(chat, region, end_row)
  local base = base_of(chat, region)
  region.rows = math.max(end_row - base, 0)
  if not region.firm then
    local line = lines_of(chat, base, 0, 1)[1] or ""
    if region.rows > 1 or line ~= "" then
      -- From now on what is put in at the first row's start belongs to what stands above.
      region.firm = true
      api.nvim_buf_set_extmark(chat.buf, anchors, base, 0, { id = region.anchor, undo_restore = false })
    end
  end
end

--- Says that a buffer is a chat. Where there is no parser for Markdown its text stays plain.
---@param buf integer
function M.attach(buf)
  if chats[buf] or no_parser then
    return
  end
  if not pcall(function()
    return budget.parser("", "markdown")
  end) then
    no_parser = true
    return
  end
  pcall(ts.language.register, "markdown", "acp")
  local chat
  chat = {
    buf = buf,
    regions = {},
    order = {},
    growing = {},
    timer = assert(uv.new_timer()),
    wake = vim.schedule_wrap(function()
      if chats[buf] == chat then
        local ok, err = budget.without_collector(run, chat)
        if not ok then
          spans.report(err)
        end
      end
    end),
    drawn = {},
    waiting = true,
    painted_rows = 0,
  }
  chats[buf] = chat
  api.nvim_create_autocmd({ "BufUnload", "BufWipeout" }, {
    buffer = buf,
    desc = "forget what was to be coloured in a chat that is gone",
    callback = vim.schedule_wrap(function()
      if chats[buf] == chat then
        M.detach(buf)
      end
    end),
  })
  warm_up()
end

--- Says that a region of Markdown begins at a row, which exists and holds, or is about to hold, the
--- region's first line. Lines put in above move it: lines put in at the row itself only once the region
--- holds text (until then, open it again at its new row).
--- With `as_typed` nothing in it is concealed.
---@type fun(buf: integer, id: integer, row: integer, as_typed?: boolean)
M.open = for_chat(function(chat, id, row, as_typed)
  M.drop(chat.buf, id)
  local region = {
    anchor = api.nvim_buf_set_extmark(chat.buf, anchors, row, 0, {
      right_gravity = false,
      undo_restore = false,
    }),
    firm = false,
    rows = 0,
    cut = 0,
    closed = false,
    broken = false,
    pieces = {},
    unpainted = 0,
    marks = { as_typed = as_typed or nil },
    grown = false,
    seen = { row = 0, col = 0 },
    spent = 0,
    next_look = 0,
    uncut = 0,
  }
  table.insert(chat.order, region_below(chat, row), region)
  chat.regions[id] = region
  chat.growing[region] = true
end)

local complete = { undo_restore = false }

--- Says that regions stand below all others and are complete, as `open` and `close` would of each: `list` has id, first
--- row and row after the last of one after the other, from above. Each holds text.
--- Nothing is concealed in those whose ids are in `typed`.
---@type fun(buf: integer, list: integer[], typed?: integer[])
M.add = for_chat(function(chat, list, typed)
  local order = chat.order
  if #list > 0 and region_below(chat, list[2]) <= #order then
    error("a region stands below those that are added", 0)
  end
  for i = 1, #list, 3 do
    local id, row = list[i], list[i + 1]
    if chat.regions[id] then
      M.drop(chat.buf, id)
    end
    local region = {
      anchor = api.nvim_buf_set_extmark(chat.buf, anchors, row, 0, complete),
      firm = true,
      rows = list[i + 2] - row,
      cut = 0,
      closed = true,
      broken = false,
      pieces = {},
      unpainted = 0,
      marks = { as_typed = vim.list_contains(typed or {}, id) or nil },
    }
    order[#order + 1] = region
    chat.regions[id] = region
  end
  -- What is about to be seen is seen with its colours. A whole history scrolls by.
  if #list > 0 and list[#list] - list[2] < SEEN_AT_ONCE then
    fit_tables(chat)
    local views = views_of(chat)
    budget.begin_slice()
    local painting = true
    while painting do
      painting = advance(chat, views) and not budget.is_over()
    end
  end
  arm(chat, 0)
end)

--- Says that text was appended to a region, which now ends before `end_row`. To be called once a frame at
--- most; most calls just set a timer, and the others take some 2 ms.
---@type fun(buf: integer, id: integer, end_row: integer)
M.grew = for_chat(function(chat, id, end_row)
  local region = chat.regions[id]
  if region and not region.closed then
    local before = region.rows
    set_end(chat, region, end_row)
    region.grown = true
    if chat.lines then
      local lines = chat.lines + region.rows - before
      chat.lines = lines == api.nvim_buf_line_count(chat.buf) and lines or nil
    end
    local wait = region.next_look - now()
    if region.look then
      return
    elseif wait > 0 then
      arm(chat, wait)
    elseif may_begin(chat) then
      fit_tables(chat)
      budget.begin_slice()
      look_if_due(chat, region, views_of(chat))
    end
  end
end)

--- Says that a region is complete, and ends before `end_row`. What of it is on screen is finished in the
--- next ticks, the rest when it comes on screen.
---@type fun(buf: integer, id: integer, end_row: integer)
M.close = for_chat(function(chat, id, end_row)
  local region = chat.regions[id]
  if region and not region.closed then
    set_end(chat, region, end_row)
    region.closed = true
    region.look = nil
    chat.growing[region] = nil
    arm(chat, 0)
  end
end)

--- Says that a region's text is about to be replaced or removed: forgets the region and its marks.
---@type fun(buf: integer, id: integer)
M.drop = for_chat(function(chat, id)
  local region = chat.regions[id]
  if not region then
    return
  end
  chat.regions[id] = nil
  chat.growing[region] = nil
  for i, other in ipairs(chat.order) do
    if other == region then
      table.remove(chat.order, i)
      break
    end
  end
  fences.free(region.fence)
  for _, piece in ipairs(region.pieces) do
    if piece.painted then
      chat.painted_rows = chat.painted_rows - (piece.to - piece.from)
    end
    if chat.read and chat.read.block == piece.block then
      chat.read = nil
    end
  end
  local base = base_of(chat, region)
  api.nvim_buf_del_extmark(chat.buf, anchors, region.anchor)
  if region.rows > 0 then
    api.nvim_buf_clear_namespace(chat.buf, marks.ns, base, base + region.rows)
  end
end)

--- How far above a row the fence is looked for that it is in.
local FENCE_ABOVE = 2000

--- The language of the fence that a row is in, if there is no parser for it.
---@param chat acp.highlight.Chat
---@param row integer
---@param first integer the first row of its text
---@return string?
local function unknown_language(chat, row, first)
  local above = api.nvim_buf_get_lines(chat.buf, math.max(first, row - FENCE_ABOVE), row, false)
  for i = #above, 1, -1 do
    local name = above[i]:match("^%s*```+%s*([%w_+#-]*)") or above[i]:match("^%s*~~~+%s*([%w_+#-]*)")
    if name then
      -- What closes a fence has no name.
      return name ~= "" and not languages.find(name:lower()) and name or nil
    end
  end
end

--- Why a row has no colours, or not all of them.
---@param chat acp.highlight.Chat
---@param row integer
---@return string? reason
local function why_plain(chat, row)
  local region = chat.order[region_below(chat, row) - 1]
  if not region then
    return nil
  end
  local base = base_of(chat, region)
  local at, fence, reason, code = row - base, region.fence, nil, false
  if at >= region.rows then
    return nil
  elseif fence and at >= fence.from then
    reason, code = fence.plain, true
  else
    local piece = region.pieces[pieces.after(region, at)]
    local block = piece and piece.from <= at and piece.block
    reason, code = block and block.plain, block and block.fence ~= nil
  end
  if not reason then
    local bytes = api.nvim_buf_get_offset(chat.buf, row + 1) - api.nvim_buf_get_offset(chat.buf, row) - 1
    local longest = code and limits.CODE_LINE or limits.LINE
    local line = bytes <= longest and api.nvim_buf_get_lines(chat.buf, row, row + 1, false)[1] or nil
    reason = (not line or limits.is_cut(line, longest)) and "cut" or nil
  end
  local unknown = not reason and unknown_language(chat, row, base)
  if unknown then
    return ("there is no parser for %s; plugins such as nvim-treesitter install one"):format(unknown)
  end
  return limits.reasons[reason]
end

--- Why the parser was not asked about a row, or not about all of it, as a text that follows "these lines have no
--- colours: ". Nothing when it was.
---@param buf integer
---@param row integer
---@return string?
function M.why_plain(buf, row)
  local chat = chats[buf]
  local ok, reason = pcall(why_plain, chat or {}, row)
  return chat and ok and reason or nil
end

--- Forgets a chat and removes its marks. A buffer that is gone is forgotten by itself.
---@param buf integer
function M.detach(buf)
  local chat = chats[buf]
  if not chat then
    return
  end
  chats[buf] = nil
  chat.timer:stop()
  chat.timer:close()
  for _, region in ipairs(chat.order) do
    pcall(fences.free, region.fence)
  end
  if api.nvim_buf_is_loaded(buf) then
    api.nvim_buf_clear_namespace(buf, marks.ns, 0, -1)
    api.nvim_buf_clear_namespace(buf, anchors, 0, -1)
  end
  budget.forget()
end

-- A redraw alone tells of every way in which rows come on screen: scrolls, folds, resizes, new windows.
-- Nothing is drawn in here. Marks are set in a tick of their own, and only after the window moved by more
-- than a part of the screenful that is painted around it, lines came or went, or tables have another width to fit.
api.nvim_set_decoration_provider(anchors, {
  on_win = function(_, win, buf, top, bot)
    local chat = chats[buf]
    if chat then
      local drawn = chat.drawn[win]
      if not drawn then
        drawn = { from = -math.huge }
        chat.drawn[win] = drawn
      end
      drawn.top, drawn.bot = top, bot
      local count, width = api.nvim_buf_line_count(buf), api.nvim_win_get_width(win)
      local is_resized = drawn.width ~= nil and drawn.width ~= width
      drawn.width = width
      -- Lines of a text that grows are nothing new: `grew` has told of them, and sees to them at its own pace.
      if
        is_resized
        or chat.waiting
        or drawn.count ~= count and chat.lines ~= count
        or math.abs(top - drawn.from) > (bot - top) / 2
      then
        drawn.from, chat.waiting, chat.lines = top, false, count
        arm(chat, PAUSE)
      end
      drawn.count = count
    end
    return false
  end,
})

return M

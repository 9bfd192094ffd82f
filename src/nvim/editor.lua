-- The loops that are dear to cross between Rust and Lua, as plain functions without state.
local api = vim.api
local before_row = { right_gravity = false }

-- A floating window has the background of all others: the colours of what stands in it can be read there.
local function on_normal(win)
  local groups = "NormalFloat:Normal,FloatBorder:Normal"
  api.nvim_set_option_value("winhighlight", groups, { win = win, scope = "local" })
end

-- Calls a function that has a window show a buffer: without 'F' in 'shortmess' Neovim says afterwards which file that
-- is, and on a small screen waits for a key then.
local function quietly(fn, ...)
  local before = vim.o.shortmess
  if before:find("F") then
    return fn(...)
  end
  vim.o.shortmess = before .. "F"
  local results = { pcall(fn, ...) }
  vim.o.shortmess = before
  if not results[1] then
    error(results[2], 0)
  end
  return unpack(results, 2, table.maxn(results))
end

-- Has a window show a buffer without a jump; the file that it showed is not its other one (`#`) for that.
local function show_quietly(win, buf)
  quietly(api.nvim_win_call, win, function()
    vim.cmd("silent keepalt keepjumps hide buffer " .. buf)
  end)
end

-- What a window shows, and where: the same as long as nobody does anything in it.
local function state_of(win)
  local buf = api.nvim_win_get_buf(win)
  return { buf = buf, tick = api.nvim_buf_get_changedtick(buf), cursor = api.nvim_win_get_cursor(win) }
end

-- Calls a function at each of these events in a buffer, in place of those the group had.
local function listen(name, buf, callbacks)
  local group = api.nvim_create_augroup(name, { clear = true })
  for event, callback in pairs(callbacks) do
    api.nvim_create_autocmd(event, {
      group = group,
      buffer = buf,
      callback = function()
        callback()
      end,
    })
  end
end

-- Whether a line of so many bytes takes more rows than its window has.
local function is_higher_than(win, line, bytes)
  local rows = api.nvim_win_get_height(win) - (vim.wo[win].winbar ~= "" and 1 or 0)
  if not vim.wo[win].wrap or bytes <= (rows - 1) * api.nvim_win_get_width(win) / 2 then
    return false
  end
  return api.nvim_win_text_height(win, { start_row = line - 1, end_row = line - 1 }).all > rows
end

-- The bytes of a row between two columns, with the characters that are meant.
local function meant(buf, ns, group, row, from, to)
  local text = api.nvim_buf_get_text(buf, row, from, row, to, {})[1]
  if not text:find("[<^]") then
    return text
  end
  local marks = api.nvim_buf_get_extmarks(buf, ns, { row, from }, { row, to }, { details = true })
  for i = #marks, 1, -1 do
    local first, details = marks[i][3], marks[i][4]
    if details.hl_group == group and details.end_col <= to then
      local look = text:sub(first - from + 1, details.end_col - from)
      local char = look:sub(1, 1) == "^" and string.char(bit.bxor(look:byte(2), 0x40))
        or vim.fn.nr2char(tonumber(look:sub(2, -2), 16), true)
      text = text:sub(1, first - from) .. char .. text:sub(details.end_col - from + 1)
    end
  end
  return text
end

-- Puts into the register what was meant by the text that has just been yanked. Where it was added to what the
-- register had (`"Ayy`), Neovim tells all of that.
local function yanked(buf, ns, group, event)
  local first, last = vim.fn.getpos("'["), vim.fn.getpos("']")
  local all, differs = event.regcontents, false
  local before = #all - (last[2] - first[2] + 1)
  local block = event.regtype:byte() == 22 and vim.fn.virtcol("'[")
  local lines = vim.deepcopy(all)
  for i = math.max(before, 0) + 1, #all do
    local row = first[2] - 2 + i - before
    local text = api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
    local from = block and vim.fn.virtcol2col(0, row + 1, block) - 1 or 0
    if not block and i == before + 1 and event.regtype == "v" then
      from = first[3] - 1
    end
    -- How much of the line was there before.
    local old = 0
    while old < #all[i] and text:sub(from + 1, from + #all[i] - old) ~= all[i]:sub(old + 1) do
      old = (before > 0 or event.regname:find("%u")) and old + 1 or #all[i]
    end
    if from >= 0 and old < #all[i] then
      lines[i] = all[i]:sub(1, old) .. meant(buf, ns, group, row, from, from + #all[i] - old)
      differs = differs or lines[i] ~= all[i]
    end
  end
  if not differs then
    return
  end
  local names = { event.regname == "" and '"' or event.regname:lower() }
  for word, name in pairs({ unnamedplus = "+", unnamed = "*" }) do
    if event.regname == "" and vim.tbl_contains(vim.split(vim.o.clipboard, ","), word) then
      names[#names + 1] = name
    end
  end
  for _, name in ipairs(names) do
    vim.fn.setreg(name, lines, event.regtype)
  end
end

-- How many columns of windows a window is in, or how many rows, the whole tab page being one if it is.
local function depth_in(win, kind, node, above)
  if node[1] == "leaf" then
    return node[2] == win and above or nil
  end
  for _, child in ipairs(node[2]) do
    local found = depth_in(win, kind, child, node[1] == kind and above + 1 or above)
    if found then
      return found
    end
  end
end

-- Whether a window is in a part of a tab page's layout.
local function holds(node, win)
  if node[1] == "leaf" then
    return node[2] == win
  end
  for _, child in ipairs(node[2]) do
    if holds(child, win) then
      return true
    end
  end
  return false
end

-- The height of all that stands from one window down to another in the same column; nothing if they don't.
local function height_of_both(node, upper, lower)
  if node[1] == "leaf" then
    return nil
  end
  local first
  for i, child in ipairs(node[2]) do
    local has_upper, has_lower = holds(child, upper), holds(child, lower)
    if has_upper and has_lower then
      return height_of_both(child, upper, lower)
    elseif has_upper then
      first = i
    elseif has_lower then
      if node[1] ~= "col" or not first then
        return nil
      end
      local top = api.nvim_win_get_position(upper)[1]
      local bottom = api.nvim_win_get_position(lower)[1] + api.nvim_win_get_height(lower)
      -- As if nothing was between them but the upper one's last line.
      return bottom - top - (i - first - 1)
    end
  end
end

-- Where a window stands in the part of the layout that a chat's two windows have for themselves: beside one of them
-- ("row"), or above or below ("col"). Nothing where it is not there, or where others may be: above and below a chat that
-- is as wide as the screen.
local function place_in_chat(node, upper, lower, win, is_root)
  local kind, children = node[1], node[2]
  if kind == "leaf" then
    return nil
  end
  for _, child in ipairs(children) do
    if holds(child, upper) and holds(child, lower) then
      return place_in_chat(child, upper, lower, win, false)
    end
  end
  if kind ~= "col" then
    return nil
  end
  local is_between = false
  for _, child in ipairs(children) do
    local has_upper, has_lower = holds(child, upper), holds(child, lower)
    if holds(child, win) then
      local is_in = is_between or has_upper or has_lower
      return (is_in or not is_root) and (child[1] == "leaf" and "col" or child[1]) or nil
    end
    is_between = (is_between or has_upper) and not has_lower
  end
end

-- Marks that draw a bar in the margin of a row: the column before the text. Where the row wraps, what follows has a
-- thinner one: text that an agent has filled up to there must not look like the beginning of a line.
local bars = {}
local THIN = { ["|"] = ":", ["\u{258e}"] = "\u{258f}" }
local function margin_bar(text, group, wraps)
  local name = text .. group
  if not bars[name] then
    local options = { virt_text = { { text, group } }, virt_text_win_col = -1, hl_mode = "combine" }
    local rest = vim.tbl_extend("force", options, {
      virt_text = { { THIN[text], group } },
      virt_text_repeat_linebreak = true,
      -- The first row's own bar lies above it.
      priority = 4095,
    })
    bars[name] = { options, rest }
  end
  return bars[name][1], wraps and bars[name][2] or nil
end

-- Bytes of JSON that Neovim's own highlighter may parse, as many as are read at once in a chat.
local LONGEST_PARSED = 16384

-- The rows on the screen of a buffer's lines in a window, without those that are not in the buffer; from 0.
local function rows_of_lines(win, first, last)
  if last < first then
    return 0
  end
  local height = api.nvim_win_text_height(win, { start_row = first, end_row = last })
  return height.all - height.fill
end

return {
  bar = margin_bar,

  colour_json = function(buf)
    local bytes = api.nvim_buf_get_offset(buf, api.nvim_buf_line_count(buf))
    -- The syntax file does it without a parser, and where a parser could hold Neovim for longer than one notices.
    if bytes > LONGEST_PARSED or not pcall(vim.treesitter.start, buf, "json") then
      vim.bo[buf].syntax = "json"
    end
  end,

  -- Takes Neovim's own highlighter from a buffer that a file type, or the user's autocommand for it, has given it to;
  -- whether there was one. It parses whatever is in a buffer for as long as that takes.
  stop_highlighter = function(buf)
    local was_active = vim.treesitter.highlighter.active[buf] ~= nil
    if was_active then
      vim.treesitter.stop(buf)
      vim.bo[buf].syntax = ""
    end
    return was_active
  end,

  -- Has windows keep their height, and others their width, when windows elsewhere come and go; terminals and the
  -- pinned plan their height as well. Not those in a column that is part of another (beside a file, above the quickfix
  -- list), or in such a row: when Neovim gets small it would lay that tab page out beyond the screen, and end at the
  -- next redraw.
  fix_sizes = function(high, wide)
    for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
      local kind = vim.bo[api.nvim_win_get_buf(win)].filetype
      if kind == "acp-plan" or kind == "acp-terminal" then
        high[#high + 1] = win
      end
    end
    local layouts = {}
    local function fix(wins, option, kind)
      for _, win in ipairs(wins) do
        local tab = api.nvim_tabpage_get_number(api.nvim_win_get_tabpage(win))
        layouts[tab] = layouts[tab] or vim.fn.winlayout(tab)
        local fixed = (depth_in(win, kind, layouts[tab], 0) or 0) < 2
        if fixed ~= vim.wo[win][option] then
          api.nvim_set_option_value(option, fixed, { scope = "local", win = win })
        end
      end
    end
    fix(high, "winfixheight", "col")
    fix(wide, "winfixwidth", "row")
  end,

  place_in_chat = function(transcript, prompt, win)
    return place_in_chat(vim.fn.winlayout(), transcript, prompt, win, true)
  end,

  -- Has a window stand beside another, or above it; without one it gets an edge of the screen.
  move_window = function(win, target, vertical)
    if target then
      local is_last = vertical and vim.o.splitright or not vertical and vim.o.splitbelow
      vim.fn.win_splitmove(win, target, { vertical = vertical, rightbelow = is_last })
    else
      api.nvim_win_call(win, function()
        vim.cmd.wincmd(vertical and "H" or "K")
      end)
    end
  end,

  -- Gives two windows that stand beside each other, or one above the other, a half each. The border between them moves,
  -- and no other one.
  halve = function(one, other, vertical)
    local axis = vertical and 2 or 1
    local size = vertical and api.nvim_win_get_width or api.nvim_win_get_height
    local move = vertical and vim.fn.win_move_separator or vim.fn.win_move_statusline
    local is_first = api.nvim_win_get_position(one)[axis] < api.nvim_win_get_position(other)[axis]
    local first = is_first and one or other
    move(first, math.floor((size(one) + size(other)) / 2) - size(first))
  end,

  -- Which windows this tab page has, and how they are arranged on a screen of this size.
  arrangement = function()
    return vim.inspect(vim.fn.winlayout(), { newline = "", indent = "" }) .. vim.o.lines
  end,

  -- Brings the last line to the end of a window in which blank rows stand below it, while lines are hidden above: as it
  -- is after lines have gone. Only where the user follows the end.
  fill = function(win)
    local buf = api.nvim_win_get_buf(win)
    local last = api.nvim_buf_line_count(buf)
    if api.nvim_win_get_cursor(win)[1] < last then
      return
    end
    api.nvim_win_call(win, function()
      local view, info = vim.fn.winsaveview(), vim.fn.getwininfo(win)[1]
      -- Those below the bar.
      local rows, top = info.height, view.topline
      local function fits(line)
        return api.nvim_win_text_height(win, { start_row = line - 1 }).all <= rows
      end
      while top > 1 and fits(top - 1) do
        top = top - 1
      end
      if top < view.topline or (view.skipcol or 0) > 0 and fits(top) then
        vim.fn.winrestview({ topline = top, skipcol = 0 })
      end
    end)
  end,

  -- Has a window begin with a row, from 0, with the cursor there; sooner where that leaves room at its end.
  begin_with = function(win, row)
    local last = api.nvim_buf_line_count(api.nvim_win_get_buf(win))
    local rows, top = vim.fn.getwininfo(win)[1].height, math.min(row + 1, last)
    api.nvim_set_option_value("scrolloff", 0, { scope = "local", win = win })
    api.nvim_win_set_cursor(win, { top, 0 })
    while top > 1 and api.nvim_win_text_height(win, { start_row = top - 2 }).all <= rows do
      top = top - 1
    end
    api.nvim_win_call(win, function()
      vim.fn.winrestview({ topline = top, skipcol = 0 })
    end)
  end,

  -- Closes the channel of a terminal's buffer, which keeps what it shows. What Neovim writes of it (`[Terminal closed]`) is
  -- taken for the rest of a control string (SOS), which is shown nowhere. A closed one has no use for terminal mode, in
  -- which the next key would wipe it out.
  close_terminal = function(buf, channel)
    api.nvim_chan_send(channel, "\27X")
    vim.cmd(("noautocmd call chanclose(%d)"):format(channel))
    api.nvim_create_autocmd("TermEnter", { buffer = buf, command = "stopinsert" })
  end,

  -- Has another text in place of a line near the end of a buffer that is not for editing.
  replace_line = function(buf, before, now)
    local first = math.max(api.nvim_buf_line_count(buf) - 200, 0)
    local lines = api.nvim_buf_get_lines(buf, first, -1, false)
    for at = #lines, 1, -1 do
      if lines[at] == before then
        vim.bo[buf].modifiable = true
        api.nvim_buf_set_lines(buf, first + at - 1, first + at, false, { now })
        vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
        return
      end
    end
  end,

  -- Calls a function once when the user has left terminal mode in a buffer.
  after_terminal_mode = function(buf, call)
    api.nvim_create_autocmd("TermLeave", { buffer = buf, once = true, callback = vim.schedule_wrap(call) })
  end,

  -- Brings a row of a page that is not wrapped into a window, with as many others as it has room for: no blank rows stand
  -- below the last one while others are hidden above.
  show_row = function(win, row)
    api.nvim_win_call(win, function()
      local view, info = vim.fn.winsaveview(), vim.fn.getwininfo(win)[1]
      local rows = info.height
      local last = math.max(vim.fn.line("$") - rows + 1, 1)
      local top = math.min(view.topline, last)
      if row < top or row > top + rows - 1 then
        top = math.min(math.max(row - math.floor(rows / 2), 1), last)
      end
      vim.fn.winrestview({ topline = top, lnum = row, col = 0 })
    end)
  end,

  view_of = function(win)
    return api.nvim_win_call(win, vim.fn.winsaveview)
  end,

  set_view = function(win, view)
    api.nvim_win_call(win, function()
      vim.fn.winrestview(view)
    end)
  end,

  -- The folder that a buffer lists: netrw's, oil's or mini.files'. Asks no disk.
  folder_of = function(buf)
    if not api.nvim_buf_is_valid(buf) then
      return nil
    end
    local name, kind = api.nvim_buf_get_name(buf), vim.bo[buf].filetype
    local folder = kind == "netrw" and vim.b[buf].netrw_curdir
      or name:match("^oil://(/.*)$")
      or name:match("^minifiles://%d+/(/.*)$")
    if type(folder) ~= "string" or folder == "" then
      return nil
    end
    if vim.fn.has("win32") == 1 then
      -- `oil:///C/Users`
      folder = folder:gsub("^/(%a)/", "%1:/")
    end
    return (folder:gsub("(.)/+$", "%1"))
  end,

  -- The file that the user saw last, of those that no window of this tab page shows.
  hidden_file = function()
    local best
    for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
      local is_file = vim.bo[info.bufnr].buftype == "" and (info.name ~= "" or info.changed == 1)
      if is_file and vim.fn.bufwinid(info.bufnr) < 0 and (not best or info.lastused > best.lastused) then
        best = info
      end
    end
    return best and best.bufnr
  end,

  -- What there is to see of a chat's two windows in this tab page; nothing where they do not stand one above the other.
  chat_sizes = function(transcript, prompt)
    if
      not api.nvim_win_is_valid(transcript)
      or not api.nvim_win_is_valid(prompt)
      or api.nvim_win_get_tabpage(transcript) ~= api.nvim_get_current_tabpage()
      or api.nvim_win_get_tabpage(prompt) ~= api.nvim_get_current_tabpage()
    then
      return nil
    end
    local above, below = api.nvim_win_get_height(transcript), api.nvim_win_get_height(prompt)
    local layout = vim.fn.winlayout()
    local whole = above + below
    if api.nvim_win_get_config(transcript).relative == "" then
      whole = height_of_both(layout, transcript, prompt)
    end
    local here = api.nvim_get_current_win()
    local entered = here ~= transcript
      and here ~= prompt
      and (api.nvim_win_get_width(here) == vim.o.winwidth or api.nvim_win_get_height(here) == vim.o.winheight)
    local tabline = vim.o.showtabline == 2 or vim.o.showtabline == 1 and #api.nvim_list_tabpages() > 1
    return whole
      and {
        free = vim.o.lines - vim.o.cmdheight - (tabline and 1 or 0) - (vim.o.laststatus == 3 and 1 or 0),
        entered = entered,
        arrangement = vim.json.encode(layout),
        -- One of the two may share its columns with a window that was split off it.
        width = math.max(api.nvim_win_get_width(transcript), api.nvim_win_get_width(prompt)),
        transcript = above,
        prompt = below,
        whole = whole,
      }
  end,

  -- The rows that the text in a prompt takes, with the bar above it; as many as the screen has, if it is long.
  typed_rows = function(win)
    local buf = api.nvim_win_get_buf(win)
    local last = api.nvim_buf_line_count(buf)
    if last > vim.o.lines or api.nvim_buf_get_offset(buf, last) > vim.o.lines * vim.o.columns then
      return vim.o.lines
    end
    local bar = vim.wo[win].winbar ~= "" and 1 or 0
    return api.nvim_win_text_height(win, {}).all + bar
  end,

  -- Gives two floating windows, one above the other, these heights; the outer edges stay where they are.
  set_float_heights = function(upper, height, lower, below)
    local config = api.nvim_win_get_config(lower)
    local row = type(config.row) == "table" and config.row[false] or config.row
    row = row + config.height - below
    api.nvim_win_set_config(upper, { height = height })
    api.nvim_win_set_config(
      lower,
      { relative = config.relative, row = row, col = config.col, height = below }
    )
  end,

  open_win = function(buf, enter, config)
    local win = quietly(api.nvim_open_win, buf, enter, config)
    if config.relative and config.relative ~= "" then
      on_normal(win)
    end
    return win
  end,

  -- A key's action, for |q|.
  unless_recording = function(action)
    return function()
      local register = vim.fn.reg_recording():lower()
      if register == "" then
        return action()
      end
      vim.cmd("normal! q")
      -- The key itself was recorded, too.
      local recorded = vim.fn.getreg(register):gsub("q$", "")
      vim.fn.setreg(register, recorded, "v")
    end
  end,

  -- Closes a window once the user is in another one that was not opened over it (`w:acp_over`).
  close_when_left = function(win)
    local group = api.nvim_create_augroup("acp.left." .. win, { clear = true })
    local function check()
      local here = api.nvim_get_current_win()
      if api.nvim_win_is_valid(win) and (here == win or vim.w[here].acp_over == win) then
        return
      end
      pcall(api.nvim_del_augroup_by_id, group)
      pcall(api.nvim_win_close, win, true)
    end
    api.nvim_create_autocmd("WinEnter", { group = group, callback = vim.schedule_wrap(check) })
  end,

  win_set_buf = function(win, buf)
    quietly(api.nvim_win_set_buf, win, buf)
  end,

  -- Runs an Ex command that says nothing but its error.
  command = function(command)
    quietly(api.nvim_command, "silent " .. command)
  end,

  -- Sets many extmarks. `marks` is a flat list: row, column, options, row, column, options, ...
  paint = function(buf, ns, marks)
    for i = 1, #marks, 3 do
      api.nvim_buf_set_extmark(buf, ns, marks[i], marks[i + 1], marks[i + 2])
    end
  end,

  -- Has marks stand at these rows, which go along with the text.
  anchor = function(buf, ns, rows)
    api.nvim_buf_clear_namespace(buf, ns, 0, -1)
    for _, row in ipairs(rows) do
      -- The line, and where it begins: of a line that is replaced as a whole only the latter stays.
      api.nvim_buf_set_extmark(buf, ns, row, 0, { end_row = row + 1, end_col = 0, strict = false })
      api.nvim_buf_set_extmark(buf, ns, row, 0, { right_gravity = false })
    end
  end,

  -- The rows at which those marks are by now.
  anchored = function(buf, ns)
    local marks = api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })
    -- Their ids count up.
    table.sort(marks, function(one, other)
      return one[1] < other[1]
    end)
    local rows = {}
    for at = 1, #marks - 1, 2 do
      local line, begin = marks[at], marks[at + 1]
      rows[#rows + 1] = (line[4].end_row or 0) > line[2] and line[2] or begin[2]
    end
    return rows
  end,

  -- Sets the same extmark at the beginning of many rows, the last of which is the one before `last`; their ids count up.
  paint_lines = function(buf, ns, first, last, id, options)
    for row = first, last - 1 do
      options.id = id + row - first
      api.nvim_buf_set_extmark(buf, ns, row, 0, options)
    end
  end,

  -- Removes extmarks by their ids; some may be gone.
  unpaint = function(buf, ns, first, last)
    for id = first, last - 1 do
      api.nvim_buf_del_extmark(buf, ns, id)
    end
  end,

  -- Puts lines at a buffer's end, the first of them behind what stands there, and sets marks: one of `regions` at
  -- each row of `starts`, whose ids it gives, and one of `ns` on each span, which has a group in `groups`.
  -- `spans` is a flat list: row, first column, column after the last, row, ... The rows of `frames` get a bar, also where they wrap if `wraps` says so.
  extend = function(buf, lines, regions, starts, ns, spans, groups, frames, colours, wraps, text)
    api.nvim_buf_set_text(buf, -1, -1, -1, -1, lines)
    local ids, options = {}, {}
    for i, row in ipairs(starts) do
      ids[i] = api.nvim_buf_set_extmark(buf, regions, row, 0, before_row)
    end
    for i, group in ipairs(groups) do
      options.end_col, options.hl_group = spans[3 * i], group
      -- Above the colours of Markdown.
      options.priority = group == "AcpUnprintable" and 5000 or nil
      api.nvim_buf_set_extmark(buf, ns, spans[3 * i - 2], spans[3 * i - 1], options)
    end
    for i, row in ipairs(frames) do
      local bar, rest = margin_bar(text, colours[i], wraps[i])
      api.nvim_buf_set_extmark(buf, ns, row, 0, bar)
      if rest then
        api.nvim_buf_set_extmark(buf, ns, row, 0, rest)
      end
    end
    return ids
  end,

  -- Lets a buffer be edited that its user cannot change, until `lock`. Gives the windows that stand at its end,
  -- and the width of the one in this tab page; nothing for a buffer that is gone.
  unlock = function(buf)
    if not api.nvim_buf_is_loaded(buf) then
      return nil
    end
    local last, following, here = api.nvim_buf_line_count(buf), {}, nil
    local tab = api.nvim_get_current_tabpage()
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      if api.nvim_win_get_cursor(win)[1] >= last then
        following[#following + 1] = win
      end
      if not here and api.nvim_win_get_tabpage(win) == tab then
        here = win
      end
    end
    api.nvim_set_option_value("modifiable", true, { buf = buf })
    return following, here and api.nvim_win_get_width(here)
  end,

  -- Has the windows stand at the end of what was edited: in a line that is higher than the window at the line's end, or
  -- that would not be seen.
  lock = function(buf, following)
    api.nvim_set_option_value("modifiable", false, { buf = buf })
    local last = api.nvim_buf_line_count(buf)
    local bytes = #following > 0 and #api.nvim_buf_get_lines(buf, last - 1, last, false)[1] or 0
    for _, win in ipairs(following) do
      if api.nvim_win_is_valid(win) then
        api.nvim_win_set_cursor(win, { last, is_higher_than(win, last, bytes) and bytes or 0 })
      end
    end
  end,

  -- Some of a buffer's lines in one string, rows from 0.
  slice = function(buf, first, last)
    return table.concat(api.nvim_buf_get_lines(buf, first, last, true), "\n")
  end,

  -- Has what follows belong to the same undo step as the last change, where that can be.
  join_undo = function(buf)
    pcall(api.nvim_buf_call, buf, function()
      vim.cmd("undojoin")
    end)
  end,

  -- Has what follows belong to an undo step of its own, also while the user types: then Neovim must save for undo
  -- again what it takes for saved, or undo would bring back a mixture. `first` says that nothing is in yet.
  break_undo = function(buf, first)
    if first then
      vim.bo[buf].undolevels = vim.bo[buf].undolevels
    end
    if api.nvim_get_current_buf() == buf and api.nvim_get_mode().mode:find("^[iR]") then
      if not first then
        api.nvim_feedkeys("\7u", "in", false)
      end
    elseif not first then
      vim.bo[buf].undolevels = vim.bo[buf].undolevels
    end
  end,

  -- Neovim moves marks along with the text, but not where a selection begins: `unpin` does it.
  pin_selection = function(buf, ns)
    if api.nvim_get_current_buf() ~= buf or not api.nvim_get_mode().mode:find("^[vV\22]") then
      return nil
    end
    local start = vim.fn.getpos("v")
    local options = { strict = false }
    return api.nvim_buf_set_extmark(buf, ns, start[2] - 1, math.max(start[3] - 1, 0), options)
  end,

  unpin_selection = function(buf, ns, pin)
    local at = api.nvim_buf_get_extmark_by_id(buf, ns, pin, {})
    api.nvim_buf_del_extmark(buf, ns, pin)
    local start = vim.fn.getpos("v")
    if #at == 0 or (at[1] == start[2] - 1 and at[2] == start[3] - 1) then
      return
    end
    if api.nvim_get_current_buf() == buf and api.nvim_get_mode().mode:find("^[vV\22]") then
      vim.cmd("normal! o")
      pcall(api.nvim_win_set_cursor, 0, { at[1] + 1, at[2] })
      vim.cmd("normal! o")
    end
  end,

  -- Whether the user is in the middle of something in a buffer that an edit would spoil: a completion, a key
  -- that waits for another.
  is_occupied = function(buf)
    local mode = api.nvim_get_mode()
    return api.nvim_get_current_buf() == buf
      and mode.mode:find("^[iR]") ~= nil
      and (mode.blocking or vim.fn.pumvisible() == 1)
  end,

  -- The user wants the file back that was deleted, its folder included.
  write_back = function(buf)
    api.nvim_buf_call(buf, function()
      vim.cmd("silent write ++p")
    end)
  end,

  -- The windows stay, with the buffer that was in them before, as far as there is one. They know what they showed.
  drop_buffer = function(buf)
    local name = api.nvim_buf_get_name(buf)
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      api.nvim_win_call(win, function()
        local view = vim.fn.winsaveview()
        local other = vim.fn.bufnr("#")
        if other <= 0 or other == buf or not vim.bo[other].buflisted then
          other = api.nvim_create_buf(true, false)
        end
        quietly(api.nvim_win_set_buf, win, other)
        vim.w[win].acp_dropped = { name = name, view = view, state = state_of(win) }
      end)
    end
    api.nvim_buf_delete(buf, { force = true })
  end,

  -- A file whose buffer was dropped is there again: the windows that showed it and in which nobody has done anything
  -- since.
  take_dropped = function(name)
    local wins = {}
    for _, win in ipairs(api.nvim_list_wins()) do
      local dropped = vim.w[win].acp_dropped
      if dropped and dropped.name == name then
        vim.w[win].acp_dropped = nil
        if vim.deep_equal(dropped.state, state_of(win)) then
          table.insert(wins, { win = win, view = dropped.view })
        end
      end
    end
    return #wins > 0 and wins or nil
  end,

  -- Has these windows show the buffer; one that only kept a window open goes.
  show_dropped = function(wins, buf)
    for _, shown in ipairs(wins) do
      local other = api.nvim_win_get_buf(shown.win)
      show_quietly(shown.win, buf)
      api.nvim_win_call(shown.win, function()
        vim.fn.winrestview(shown.view)
      end)
      local is_empty = api.nvim_buf_get_name(other) == "" and not vim.bo[other].modified
      if is_empty and #vim.fn.win_findbuf(other) == 0 then
        api.nvim_buf_delete(other, {})
      end
    end
  end,

  -- Runs a command in a terminal in a split, in insert mode; `done` gets its exit code.
  run_in_terminal = function(command, env, cwd, done)
    quietly(vim.cmd, "silent botright new")
    local options = {
      cwd = cwd,
      env = next(env) and env or nil,
      on_exit = function(_, code)
        done(code)
      end,
    }
    if vim.fn.has("nvim-0.11") == 1 then
      options.term = true
      vim.fn.jobstart(command, options)
    else
      vim.fn.termopen(command, options)
    end
    vim.cmd("startinsert")
  end,

  -- A scratch buffer that looks like another one, with other lines in it. Nothing that belongs to the file type
  -- is started for it: only its colours.
  twin = function(buf, name, lines)
    local stale = vim.fn.bufnr("^" .. vim.fn.escape(name, "\\^$.*~[]{},?") .. "$")
    if stale > 0 then
      pcall(api.nvim_buf_delete, stale, { force = true })
    end
    local twin = api.nvim_create_buf(false, true)
    pcall(api.nvim_buf_set_name, twin, name)
    vim.bo[twin].bufhidden = "wipe"
    vim.bo[twin].undolevels = -1
    api.nvim_buf_set_lines(twin, 0, -1, false, lines)
    vim.bo[twin].modifiable = false
    for _, option in ipairs({ "tabstop", "shiftwidth", "expandtab" }) do
      vim.bo[twin][option] = vim.bo[buf][option]
    end
    local kind = vim.bo[buf].filetype
    api.nvim_buf_call(twin, function()
      vim.cmd("noautocmd setlocal filetype=" .. kind)
    end)
    local active = vim.treesitter.highlighter.active[buf]
    local started = active and pcall(vim.treesitter.start, twin, active.tree:lang())
    if not started then
      vim.bo[twin].syntax = vim.bo[buf].syntax
    end
    return twin
  end,

  -- Has a window show another buffer for a while. Neither its jumps nor its other file (`#`) know of it, and what was in it
  -- is kept for as long, whatever 'bufhidden' says. Gives what `give_back` needs.
  lend = function(win, buf)
    local before = api.nvim_win_get_buf(win)
    local lent = { win = win, buf = before, shown = buf, view = api.nvim_win_call(win, vim.fn.winsaveview) }
    if before ~= buf then
      lent.bufhidden = vim.bo[before].bufhidden
      vim.bo[before].bufhidden = "hide"
      show_quietly(win, buf)
    end
    return lent
  end,

  -- Has a window that was lent show one more buffer in place of the one before.
  lend_again = function(lent, buf)
    if api.nvim_win_get_buf(lent.win) ~= buf then
      if lent.unfolded then
        api.nvim_set_option_value("foldenable", true, { scope = "local", win = lent.win })
        lent.unfolded = nil
      end
      if not lent.bufhidden and lent.buf ~= buf and api.nvim_buf_is_valid(lent.buf) then
        lent.bufhidden = vim.bo[lent.buf].bufhidden
        vim.bo[lent.buf].bufhidden = "hide"
      end
      show_quietly(lent.win, buf)
    end
    lent.shown = buf
  end,

  -- Whether a window shows what it was lent for.
  is_lent = function(lent)
    return api.nvim_win_is_valid(lent.win) and api.nvim_win_get_buf(lent.win) == lent.shown
  end,

  -- The window shows again what it did. Not where the user has gone on to something else in it, or has moved about in
  -- their own file.
  give_back = function(lent)
    local is_valid = api.nvim_buf_is_valid(lent.buf)
    if is_valid and lent.bufhidden then
      vim.bo[lent.buf].bufhidden = lent.bufhidden
    end
    if not api.nvim_win_is_valid(lent.win) or api.nvim_win_get_buf(lent.win) ~= lent.shown then
      return
    end
    if lent.unfolded then
      api.nvim_set_option_value("foldenable", true, { scope = "local", win = lent.win })
    end
    if lent.buf ~= lent.shown then
      show_quietly(lent.win, is_valid and lent.buf or api.nvim_create_buf(true, false))
    elseif lent.moved then
      local here = api.nvim_win_get_cursor(lent.win)
      if here[1] ~= lent.moved[1] or here[2] ~= lent.moved[2] then
        return
      end
    else
      return
    end
    if is_valid then
      api.nvim_win_call(lent.win, function()
        vim.fn.winrestview(lent.view)
      end)
    end
  end,

  -- How many rows of a window's text stay in sight when so many at the bottom of the screen are covered.
  rows_in_sight = function(win, covered)
    local top = api.nvim_win_get_position(win)[1] + (vim.wo[win].winbar ~= "" and 1 or 0)
    local bottom = api.nvim_win_get_position(win)[1] + api.nvim_win_get_height(win)
    return math.max(math.min(bottom, vim.o.lines - covered) - top, 0)
  end,

  rows_of_lines = rows_of_lines,

  -- The same as soon as there are signs beside lines: Neovim has a column for them only when it has drawn the first one.
  rows_beside_signs = function(win, first, last)
    local rows, before = rows_of_lines(win, first, last), vim.wo[win].signcolumn
    if not before:find("^auto") then
      return rows
    end
    local function set(value)
      api.nvim_win_call(win, function()
        vim.cmd("noautocmd setlocal signcolumn=" .. value)
      end)
    end
    set("yes")
    local ok, beside = pcall(rows_of_lines, win, first, last)
    set(before)
    return ok and math.max(rows, beside) or rows
  end,

  -- The cells of a line's text in a window, and whether lines break there at other places than its right edge; from 0.
  cells_of_line = function(win, row)
    return api.nvim_win_call(win, function()
      return vim.fn.virtcol({ row + 1, "$" }) - 1,
        vim.wo.linebreak or vim.wo.breakindent or vim.o.showbreak ~= ""
    end)
  end,

  -- Opens the fold that hides a line in a window; says whether one did. From 0.
  open_fold = function(win, row)
    return api.nvim_win_call(win, function()
      local line = row + 1
      local is_hidden = vim.fn.foldclosed(line) > 0
      if is_hidden then
        vim.cmd(line .. "foldopen!")
      end
      return is_hidden
    end)
  end,

  -- Whether two windows lie over each other.
  overlap = function(one, other)
    local function area(win)
      local at = api.nvim_win_get_position(win)
      return at[1], at[1] + api.nvim_win_get_height(win), at[2], at[2] + api.nvim_win_get_width(win)
    end
    local top, bottom, left, right = area(one)
    local top2, bottom2, left2, right2 = area(other)
    return top < bottom2 and top2 < bottom and left < right2 and left2 < right
  end,

  -- All rows that a window's text takes. Of more lines than `most` it is the number of lines: who only wants to know
  -- whether there is room for them need not have all of them measured.
  rows_of_text = function(win, most)
    local lines = api.nvim_buf_line_count(api.nvim_win_get_buf(win))
    return most and lines > most and lines or api.nvim_win_text_height(win, {}).all
  end,

  -- The first line that is seen from its beginning; from 0.
  first_line_in_sight = function(win)
    local view = api.nvim_win_call(win, vim.fn.winsaveview)
    return vim.fn.line("w0", win) - ((view.skipcol or 0) > 0 and 0 or 1)
  end,

  is_scrolled_sideways = function(win)
    return api.nvim_win_call(win, vim.fn.winsaveview).leftcol > 0
  end,

  -- The cells of a line that a window shows without scrolling sideways; nothing where lines wrap.
  cuts_lines_at = function(win)
    local info = vim.fn.getwininfo(win)[1]
    return not vim.wo[win].wrap and info.width - info.textoff or nil
  end,

  -- Has a window that does not wrap lines show as many of them as it has room for, if it was scrolled to lines that are
  -- gone.
  fill_window = function(win)
    local lines = api.nvim_buf_line_count(api.nvim_win_get_buf(win))
    local top = math.max(lines - vim.fn.getwininfo(win)[1].height + 1, 1)
    api.nvim_win_call(win, function()
      if vim.fn.winsaveview().topline > top then
        vim.fn.winrestview({ topline = top })
      end
    end)
  end,

  -- Has Neovim look at all folds of a buffer again. Setting the option does it and leaves each fold open or closed. In
  -- insert mode it looks at none, so there it is done once the user leaves that.
  update_folds = function(buf)
    local function update()
      for _, win in ipairs(vim.fn.win_findbuf(buf)) do
        if vim.wo[win].foldmethod == "expr" then
          api.nvim_set_option_value("foldmethod", "expr", { win = win })
          -- Now: a command that closes folds would go by the old ones.
          api.nvim_win_call(win, function()
            vim.fn.foldlevel(1)
          end)
        end
      end
    end
    if not api.nvim_get_mode().mode:find("^[iR]") then
      return update()
    end
    api.nvim_create_autocmd("ModeChanged", {
      group = api.nvim_create_augroup("acp.folds", {}),
      pattern = { "i*:[^i]*", "R*:[^R]*" },
      once = true,
      callback = update,
    })
  end,

  -- Has a window's text begin with a line, from 0, as far as its cursor lets it.
  scroll_to = function(win, first)
    api.nvim_win_call(win, function()
      vim.fn.winrestview({ topline = first + 1, skipcol = 0 })
    end)
  end,

  -- Scrolls a window so that lines are in sight, from 0, as far as the first of them stays there.
  show_lines = function(win, first, last)
    api.nvim_win_call(win, function()
      -- Without its bar.
      local rows, top = vim.fn.getwininfo(win)[1].height, vim.fn.winsaveview().topline - 1
      last = math.min(last, first + rows, api.nvim_buf_line_count(0) - 1)
      local function is_cut()
        return api.nvim_win_text_height(win, { start_row = top, end_row = last }).all > rows
      end
      local from = top
      while top < first and is_cut() do
        top = top + 1
      end
      if top > from then
        vim.fn.winrestview({ topline = top + 1, skipcol = 0 })
      end
    end)
  end,

  -- Has a lent window show its file from a line on, with the cursor on another one; from 0.
  show_from = function(lent, first, line)
    api.nvim_win_call(lent.win, function()
      vim.fn.winrestview({ topline = first + 1, lnum = line + 1, col = 0, leftcol = 0, skipcol = 0 })
    end)
    lent.moved = api.nvim_win_get_cursor(lent.win)
  end,

  -- Has a lent window show all lines of its file; for as long as it is lent.
  unfold = function(lent)
    local scope = { scope = "local", win = lent.win }
    if api.nvim_get_option_value("foldenable", scope) then
      lent.unfolded = true
      api.nvim_set_option_value("foldenable", false, scope)
    end
  end,

  -- What a page of a proposal looks like in its window. The options belong to the page: what the window shows afterwards
  -- has its own.
  dress_proposal = function(win, bar)
    for name, value in pairs({
      number = false,
      relativenumber = false,
      wrap = true,
      -- A line that is higher than the window is scrolled by rows.
      smoothscroll = true,
      linebreak = true,
      -- Below the text, not below its sign.
      showbreak = "    ",
      list = false,
      spell = false,
      signcolumn = "no",
      foldcolumn = "0",
      foldenable = false,
      statuscolumn = "",
      colorcolumn = "",
      conceallevel = 0,
      diff = false,
      scrollbind = false,
      cursorbind = false,
      winbar = bar,
    }) do
      api.nvim_set_option_value(name, value, { scope = "local", win = win })
    end
    api.nvim_win_call(win, function()
      vim.fn.winrestview({ topline = 1, lnum = 1, col = 0, leftcol = 0, skipcol = 0 })
    end)
  end,

  -- Has a window be one of a diff's two. What it had is given back to `end_diff`. Folds made by hand would not
  -- survive another 'foldmethod': such a window stays unfolded.
  begin_diff = function(win, bar)
    local before = { folds = false }
    for _, name in ipairs({ "foldmethod", "foldcolumn", "foldenable", "foldlevel", "wrap", "winbar" }) do
      before[name] = api.nvim_get_option_value(name, { scope = "local", win = win })
    end
    local set = function(name, value)
      api.nvim_set_option_value(name, value, { scope = "local", win = win })
    end
    api.nvim_win_call(win, function()
      if before.foldmethod == "manual" then
        local view = vim.fn.winsaveview()
        vim.cmd("keepjumps normal! gg")
        before.folds = vim.fn.foldlevel(1) > 0
          or pcall(vim.cmd, "keepjumps normal! zj") and vim.fn.line(".") > 1
        vim.fn.winrestview(view)
      end
    end)
    set("diff", true)
    set("scrollbind", true)
    set("cursorbind", true)
    if not vim.o.diffopt:find("followwrap") then
      set("wrap", false)
    end
    if before.folds then
      set("foldenable", false)
    else
      set("foldmethod", "diff")
      set("foldenable", true)
      set("foldlevel", 0)
    end
    if api.nvim_win_get_height(win) > 2 then
      set("winbar", bar)
    end
    return before
  end,

  end_diff = function(win, before)
    local set = function(name, value)
      api.nvim_set_option_value(name, value, { scope = "local", win = win })
    end
    for _, name in ipairs({ "diff", "scrollbind", "cursorbind" }) do
      set(name, false)
    end
    local folded = api.nvim_get_option_value("foldmethod", { win = win }) == "diff"
    for name, value in pairs(before) do
      if name ~= "folds" then
        set(name, value)
      end
    end
    if folded and before.foldmethod == "manual" then
      api.nvim_win_call(win, function()
        pcall(vim.cmd, "normal! zE")
      end)
      set("foldenable", before.foldenable)
    end
  end,

  -- Calls a function when the user has changed a buffer; without one, no more.
  when_typed = function(buf, callback)
    local typed = callback
      and api.nvim_buf_is_valid(buf)
      and { TextChanged = callback, TextChangedI = callback }
    listen("acp.split." .. buf, buf, typed or {})
  end,

  -- Runs an Ex command in a window without going there.
  in_window = function(win, command)
    api.nvim_win_call(win, function()
      vim.cmd(command)
    end)
  end,

  -- A page whose lines that begin with + may be edited: what writing it and reading it again do.
  edit_page = function(buf, written, read, edited)
    vim.bo[buf].comments = ":+"
    vim.bo[buf].formatoptions = "ro"
    vim.bo[buf].autoindent = true
    -- The beginning of such a line is behind its sign.
    vim.keymap.set("n", "I", function()
      return api.nvim_get_current_line():find("^  %+ ") and "4|a" or "I"
    end, { buffer = buf, expr = true, desc = "acp: insert at the beginning of the line" })
    listen("acp.page." .. buf, buf, {
      BufWriteCmd = written,
      BufReadCmd = read,
      TextChanged = edited,
      InsertLeave = edited,
    })
  end,

  -- A comment is finished by `:write`, and left with its window.
  edit_comment = function(buf, written, left)
    vim.bo[buf].textwidth = 0
    -- Whatever stands in it is kept, so `:quit` need not ask (E37).
    local function unmodified()
      vim.bo[buf].modified = false
    end
    listen("acp.comment." .. buf, buf, {
      BufWriteCmd = written,
      BufWinLeave = left,
      TextChanged = unmodified,
      TextChangedI = unmodified,
    })
  end,

  -- Has what is yanked from a buffer hold the characters that are meant, where the buffer shows `<202e>` or `^[` for
  -- what cannot be seen. Marks of this group say where that is so.
  yank_meant = function(buf, ns, group)
    api.nvim_create_autocmd("TextYankPost", {
      buffer = buf,
      callback = require("acp.notify").guarded(function()
        yanked(buf, ns, group, vim.v.event)
      end),
    })
  end,

  -- Runs an Ex command with `buf` as the current buffer.
  in_buffer = function(buf, command)
    api.nvim_buf_call(buf, function()
      api.nvim_command(command)
    end)
  end,

  -- What a transcript holds as the window's location list: the words alone, without the line numbers between them.
  outline = function(win, items, title)
    vim.fn.setloclist(win, {}, " ", {
      items = items,
      title = title,
      quickfixtextfunc = function(info)
        local list = vim.fn.getloclist(win, { id = info.id, items = 1 }).items
        local lines = {}
        for number = info.start_idx, info.end_idx do
          lines[#lines + 1] = list[number].text
        end
        return lines
      end,
    })
    vim.cmd.lopen()
    -- It would take the words up to a bar for a file's name.
    vim.bo.syntax = "OFF"
  end,

  -- The rows of the screen that lines of a window take, as far as they can be seen, from 0 to before the last; then the
  -- column of the cursor and how many rows there are for windows. Nothing where none of the lines can be seen.
  screen_rows = function(win, first, last)
    first = math.max(first, vim.fn.line("w0", win))
    last = math.min(last, vim.fn.line("w$", win))
    if first > last then
      return nil
    end
    local from = vim.fn.screenpos(win, first, 1).row
    local to = vim.fn.screenpos(win, last, vim.fn.col({ last, "$" }, win)).row
    if from == 0 or to < from then
      return nil
    end
    local cursor = api.nvim_win_get_cursor(win)
    local column = vim.fn.screenpos(win, cursor[1], cursor[2] + 1).col
    return from - 1, to, math.max(column - 1, 0), vim.o.lines - vim.o.cmdheight
  end,

  -- Shows lines about a row of a buffer, beside its text where there is room and else below it, until the cursor goes
  -- elsewhere. Does nothing where it has left the row already. Gives the window.
  beside_line = function(buf, row, lines)
    local win = api.nvim_get_current_win()
    if api.nvim_win_get_buf(win) ~= buf or api.nvim_win_get_cursor(win)[1] - 1 ~= row then
      return nil
    end
    local wide = 1
    for _, line in ipairs(lines) do
      wide = math.max(wide, vim.fn.strdisplaywidth(line) + 1)
    end
    local columns, rows = api.nvim_win_get_width(win), api.nvim_win_get_height(win)
    -- Cells from the window's left edge to the end of the line's text.
    local place = vim.fn.screenpos(win, row + 1, vim.fn.col({ row + 1, "$" }, win))
    local left = vim.fn.win_screenpos(win)[2]
    local after = place.endcol > 0 and place.endcol - left + 2 or columns
    local is_beside = after + wide <= columns
    -- From the window's first row.
    local cursor = vim.fn.winline() - 1
    -- The line may take several rows, of which the ends may be off the screen.
    local cursor_row = vim.fn.screenpos(win, row + 1, vim.fn.col(".")).row
    local function row_of(column, otherwise)
      local found = vim.fn.screenpos(win, row + 1, column).row
      return found > 0 and cursor + found - cursor_row or otherwise
    end
    local first, last = row_of(1, 0), row_of(vim.fn.col({ row + 1, "$" }, win), rows - 1)
    local below = last + 1
    if not is_beside and below + #lines > rows and first >= #lines then
      below = first - #lines
    end
    local text = api.nvim_create_buf(false, true)
    vim.bo[text].bufhidden = "wipe"
    api.nvim_buf_set_lines(text, 0, -1, false, lines)
    local float = api.nvim_open_win(text, false, {
      relative = "win",
      win = win,
      row = is_beside and last or below,
      col = is_beside and after or 0,
      width = math.min(wide, math.max(columns, 1)),
      height = math.min(#lines, math.max(rows, 1)),
      style = "minimal",
      focusable = false,
      noautocmd = true,
    })
    vim.wo[float].wrap = false
    on_normal(float)
    local group = api.nvim_create_augroup("acp.beside." .. float, {})
    api.nvim_create_autocmd(
      { "CursorMoved", "InsertEnter", "WinLeave", "BufLeave", "WinScrolled", "WinClosed" },
      {
        group = group,
        callback = function(event)
          if event.event == "CursorMoved" and event.buf == buf and api.nvim_win_is_valid(win) then
            local here = api.nvim_get_current_win() == win and api.nvim_win_get_cursor(win)[1] - 1
            if here == row and api.nvim_win_get_cursor(win)[2] == vim.w[float].acp_column then
              return
            end
          elseif event.event == "WinScrolled" and event.match ~= tostring(win) then
            return
          end
          pcall(api.nvim_del_augroup_by_id, group)
          if api.nvim_win_is_valid(float) then
            pcall(api.nvim_win_close, float, true)
          end
        end,
      }
    )
    vim.w[float].acp_column = api.nvim_win_get_cursor(win)[2]
    return float
  end,

  -- A transcript can't be edited: the keys that begin to type go to the prompt, those that change say where that is done.
  not_edited = function(buf)
    local function map(keys, action)
      for key in keys:gmatch("%S+") do
        if vim.fn.maparg(key, "n", false, true).buffer ~= 1 then
          vim.keymap.set("n", key, action, { buffer = buf, nowait = true, remap = true })
        end
      end
    end
    local function hint()
      local key = vim.fn.maparg("i", "n", false, true).buffer == 1 and "i goes" or ":AcpChat goes"
      require("acp.notify").show(
        "the transcript can't be edited; " .. key .. " to the prompt",
        vim.log.levels.INFO
      )
    end
    api.nvim_buf_call(buf, function()
      map("I A o O s S c C gi", "<Plug>(acp-prompt)")
      map("d D x J r ~ u <C-r> p P . gp gP", hint)
    end)
  end,
}

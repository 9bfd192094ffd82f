--- What the editor itself knows, for agents' tools: buffers, the cursor and selection, lists of places, messages. Only
--- files in the session's folders are told of.

local file = require("acp.tools.file")

local M = {}

local api = vim.api

--- The path of a buffer that holds a file of the session's folders.
local function path_of(buf, ctx)
  if not api.nvim_buf_is_valid(buf) or vim.bo[buf].buftype ~= "" then
    return nil
  end
  local name = api.nvim_buf_get_name(buf)
  local path = name ~= "" and vim.fs.normalize(name) or nil
  return path and file.is_inside(path, ctx.roots) and path or nil
end

--- The window that the user works in: the current one, or the last that held a file.
local function window(ctx)
  local current = api.nvim_get_current_win()
  local before = vim.fn.win_getid(vim.fn.winnr("#"))
  for _, win in ipairs(vim.list_extend({ current, before }, api.nvim_tabpage_list_wins(0))) do
    if win ~= 0 and api.nvim_win_is_valid(win) and path_of(api.nvim_win_get_buf(win), ctx) then
      return win
    end
  end
end

local function page(list, args)
  return { total = #list, items = vim.list_slice(list, args.offset + 1, args.offset + args.limit) }
end

function M.buffers(args, ctx)
  local items, current = {}, window(ctx)
  local shown = current and api.nvim_win_get_buf(current)
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local path = api.nvim_buf_is_loaded(buf) and path_of(buf, ctx)
    if path and (vim.bo[buf].buflisted or vim.bo[buf].modified) then
      local facts = { ("%d lines"):format(api.nvim_buf_line_count(buf)) }
      table.insert(facts, vim.bo[buf].filetype ~= "" and vim.bo[buf].filetype or nil)
      table.insert(facts, vim.bo[buf].modified and "unsaved changes" or nil)
      table.insert(facts, buf == shown and "the user is here" or nil)
      table.insert(items, { path = path, text = table.concat(facts, ", ") })
    end
  end
  ctx.done(page(items, args))
end

--- What is selected: now, or last in this buffer.
local function selection(win, buf)
  local mode = api.nvim_get_mode().mode
  local is_visual = win == api.nvim_get_current_win() and mode:match("^[vV\22]") ~= nil
  local from, to
  if is_visual then
    from, to = vim.fn.getpos("v"), vim.fn.getpos(".")
  else
    local first, last = api.nvim_buf_get_mark(buf, "<"), api.nvim_buf_get_mark(buf, ">")
    from, to = { 0, first[1], first[2] + 1 }, { 0, last[1], last[2] + 1 }
    mode = vim.fn.visualmode()
  end
  if from[2] == 0 or to[2] > api.nvim_buf_line_count(buf) then
    return nil
  end
  if from[2] > to[2] or from[2] == to[2] and from[3] > to[3] then
    from, to = to, from
  end
  local lines = api.nvim_buf_get_lines(buf, from[2] - 1, to[2], false)
  if mode:sub(1, 1) == "v" and #lines > 0 then
    lines[#lines] = lines[#lines]:sub(1, to[3])
    lines[1] = lines[1]:sub(from[3])
  end
  return is_visual and "Selected" or "Selected last", from[2], to[2], lines
end

function M.selection(_, ctx)
  local win = window(ctx)
  if not win then
    return ctx.done({ text = "The user has no file of this project on the screen." })
  end
  local buf, cursor = api.nvim_win_get_buf(win), api.nvim_win_get_cursor(win)
  local name = ctx.relative(path_of(buf, ctx))
  local line = api.nvim_buf_get_lines(buf, cursor[1] - 1, cursor[1], false)[1] or ""
  local text = { ("Cursor: %s:%d:%d: %s"):format(name, cursor[1], cursor[2] + 1, vim.trim(line)) }
  local first, last = vim.fn.line("w0", win), vim.fn.line("w$", win)
  table.insert(
    text,
    ("On the screen: lines %d to %d of %d"):format(first, last, api.nvim_buf_line_count(buf))
  )
  local what, from, to, lines = selection(win, buf)
  if what then
    table.insert(text, ("%s: lines %d to %d\n%s"):format(what, from, to, table.concat(lines, "\n")))
  end
  ctx.done({ text = table.concat(text, "\n") })
end

function M.jumps(args, ctx)
  local win = window(ctx) or api.nvim_get_current_win()
  local items = {}
  local function add(buf, line, column)
    local path = path_of(buf, ctx)
    if path then
      local text = api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_lines(buf, line - 1, line, false)[1]
      table.insert(items, { path = path, line = line, column = column + 1, text = vim.trim(text or "") })
    end
  end
  local number, tab = api.nvim_win_get_number(win), api.nvim_tabpage_get_number(api.nvim_win_get_tabpage(win))
  if args.list == "changes" then
    local buf = api.nvim_win_get_buf(win)
    for _, change in ipairs(vim.fn.reverse(vim.fn.getchangelist(buf)[1] or {})) do
      add(buf, change.lnum, change.col)
    end
  else
    for _, jump in ipairs(vim.fn.reverse(vim.fn.getjumplist(number, tab)[1] or {})) do
      add(jump.bufnr, jump.lnum, jump.col)
    end
  end
  ctx.done(page(items, args))
end

--- The marks with a letter, which nobody but the user sets: those of each file, and those that have one for all.
function M.marks(args, ctx)
  local items = {}
  local function add(mark, path)
    local letter = mark.mark:match("^'(%a)$")
    if not (letter and path and file.is_inside(path, ctx.roots)) then
      return
    end
    local buf = vim.fn.bufnr(path)
    local is_there = buf > 0 and api.nvim_buf_is_loaded(buf)
    local line = is_there and api.nvim_buf_get_lines(buf, mark.pos[2] - 1, mark.pos[2], false)[1]
    table.insert(items, {
      path = path,
      line = mark.pos[2],
      column = mark.pos[3],
      kind = letter,
      text = vim.trim(line or ""),
    })
  end
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local path = path_of(buf, ctx)
    for _, mark in ipairs(path and vim.fn.getmarklist(buf) or {}) do
      add(mark, path)
    end
  end
  for _, mark in ipairs(vim.fn.getmarklist()) do
    local buf = mark.pos[1]
    add(mark, vim.fs.normalize(buf > 0 and api.nvim_buf_get_name(buf) or mark.file))
  end
  ctx.done(page(items, args))
end

function M.quickfix(args, ctx)
  local win = window(ctx) or api.nvim_get_current_win()
  local list = args.list == "location" and vim.fn.getloclist(win) or vim.fn.getqflist()
  local items = {}
  for _, each in ipairs(list) do
    local name = each.bufnr > 0 and api.nvim_buf_get_name(each.bufnr) or ""
    local path = name ~= "" and vim.fs.normalize(name) or nil
    if not path or file.is_inside(path, ctx.roots) then
      table.insert(items, {
        path = path,
        line = each.lnum > 0 and each.lnum or nil,
        column = each.col > 0 and each.col or nil,
        text = vim.trim(each.text),
        kind = each.type ~= "" and each.type or nil,
      })
    end
  end
  ctx.done(page(items, args))
end

function M.messages(args, ctx)
  local lines = vim.split(api.nvim_exec2("messages", { output = true }).output, "\n", { trimempty = true })
  local first = math.max(#lines - args.lines, 0) + 1
  local text = table.concat(vim.list_slice(lines, first), "\n")
  ctx.done({ text = text ~= "" and text or "There are no messages." })
end

--- Hunks as the plugin that shows them has them.
local function hunks_of(buf)
  local signs = package.loaded["gitsigns"]
  if type(signs) == "table" and signs.get_hunks then
    local hunks = signs.get_hunks(buf)
    return hunks
      and vim.tbl_map(function(hunk)
        local added = hunk.added or { start = 0, count = 0 }
        local text = ("%s\n%s"):format(hunk.head or hunk.type, table.concat(hunk.lines or {}, "\n"))
        return {
          line = math.max(added.start, 1),
          last_line = added.start + math.max(added.count, 1) - 1,
          text = text,
        }
      end, hunks)
  end
  local diff = package.loaded["mini.diff"]
  local data = type(diff) == "table" and diff.get_buf_data and diff.get_buf_data(buf)
  return data
    and data.hunks
    and vim.tbl_map(function(hunk)
      local last = hunk.buf_start + math.max(hunk.buf_count, 1) - 1
      return { line = math.max(hunk.buf_start, 1), last_line = last, text = hunk.type }
    end, data.hunks)
end

function M.git_hunks(args, ctx)
  file.open(args.file, ctx, function(buf)
    local hunks = hunks_of(buf)
    if not hunks then
      ctx.done(nil, "no plugin of the user's knows the hunks of this file (gitsigns.nvim and mini.diff do)")
      return
    end
    ctx.done(page(hunks, args))
  end)
end

return M

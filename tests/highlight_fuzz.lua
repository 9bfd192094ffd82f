-- Streams generated texts that no parser likes through acp.highlight, in one piece, in many, and cut at every byte.
-- What is counted: bytes that a parser is given, captures and marks of one go. Small texts must look the same however
-- they came. Run by tests/highlight.rs in a bare Neovim; prints TAP-like lines.

local api = vim.api
local root = vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2))))
vim.opt.runtimepath:prepend(root)

local budget = require("acp.highlight.budget")
local limits = require("acp.highlight.limits")
local look = require("acp.highlight.look")
local marks = require("acp.highlight.marks")
local spans = require("acp.highlight.spans")

-- The most of each kind of work that was done in one go.
local most = { bytes = 0, captures = 0, marks = 0, lines = 0, nodes = 0 }
local function note(kind, count)
  most[kind] = math.max(most[kind], count)
end

local make = budget.parser
budget.parser = function(source, ...) ---@diagnostic disable-line: duplicate-set-field
  if type(source) == "string" then
    note("bytes", #source)
  end
  return make(source, ...)
end
local begin = budget.parse
local parsed = 0
budget.parse = function(parser, ...) ---@diagnostic disable-line: duplicate-set-field
  local source = parser:source()
  if type(source) == "number" then
    note("bytes", api.nvim_buf_get_offset(source, api.nvim_buf_line_count(source)))
  end
  parsed = parsed + 1
  return begin(parser, ...)
end
local collect = budget.collect
budget.collect = function() ---@diagnostic disable-line: duplicate-set-field
  local worked = collect()
  parsed = parsed + (worked and 1 or 0)
  return worked
end
local capture = spans.captures
spans.captures = function(rows, ...) ---@diagnostic disable-line: duplicate-set-field
  local before = 0
  for _, segments in pairs(rows) do
    before = before + #segments
  end
  capture(rows, ...)
  local after = 0
  for _, segments in pairs(rows) do
    after = after + #segments
  end
  note("captures", after - before)
end
local set, count, painted = api.nvim_buf_set_extmark, 0, 0
api.nvim_buf_set_extmark = function(...) ---@diagnostic disable-line: duplicate-set-field
  count = count + 1
  return set(...)
end
local paint = marks.paint
marks.paint = function(...) ---@diagnostic disable-line: duplicate-set-field
  count, painted = 0, painted + 1
  paint(...)
  note("marks", count)
end
local read = spans.lines
spans.lines = function(...) ---@diagnostic disable-line: duplicate-set-field
  local lines = read(...)
  local bytes = 0
  for _, line in ipairs(lines) do
    bytes = bytes + #line + 1
  end
  note("lines", bytes)
  return lines
end

local hl = require("acp.highlight")
local errors = {}
hl.on_error = function(message)
  errors[#errors + 1] = message
end

local failed = 0
local function test(name, f)
  local ok, err = xpcall(f, debug.traceback)
  if ok and #errors > 0 then
    ok, err = false, table.concat(errors, "; ")
  end
  errors = {}
  io.stdout:write(
    ok and "ok " or "not ok ",
    name,
    "\n",
    ok and "" or "  " .. tostring(err):gsub("\n", "\n  ") .. "\n"
  )
  failed = failed + (ok and 0 or 1)
end

vim.o.lines, vim.o.columns = 60, 100

local function append(buf, last, text)
  local lines = vim.split(text, "\n", { plain = true })
  local len = #api.nvim_buf_get_lines(buf, last - 1, last, true)[1]
  api.nvim_buf_set_text(buf, last - 1, len, last - 1, len, lines)
  return last + #lines - 1
end

-- Turns of the loop in which nothing happens until all is taken to be done. Where the machine has much to do, a pause of
-- the parser's may be longer.
local quiet = 20

-- Waits until some turns of the loop have passed in which nothing was parsed and no mark was set.
local function until_quiet()
  local before, turns = nil, 0
  assert(
    vim.wait(20000, function()
      local now = parsed * 1e6 + painted
      turns, before = now == before and turns + 1 or 0, now
      return turns > quiet
    end, 1),
    "it never came to an end"
  )
end

-- Streams a text in pieces: `next_size` tells how many bytes come next.
local function stream(text, next_size)
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].undolevels = -1
  api.nvim_win_set_buf(0, buf)
  hl.attach(buf)
  vim.cmd("redraw")
  hl.open(buf, 1, 0)
  local at, last = 1, 1
  while at <= #text do
    local size = next_size()
    last = append(buf, last, text:sub(at, at + size - 1))
    at = at + size
    hl.grew(buf, 1, last)
    api.nvim_win_set_cursor(0, { last, 0 })
  end
  hl.close(buf, 1, last)
  vim.cmd("redraw")
  until_quiet()
  assert(table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), "\n") == text, "the text is another one")
  return buf, last
end

-- The groups that each byte shows, from below upwards.
local function cells_of(buf)
  local by_cell = {}
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, marks.ns, 0, -1, { details = true })) do
    local row, col, details = mark[2], mark[3], mark[4]
    for at = col, details.end_col - 1 do
      local cell = row .. ":" .. at
      by_cell[cell] = by_cell[cell] or {}
      table.insert(
        by_cell[cell],
        ("%03d %s %s"):format(details.priority or 0, details.hl_group or "", details.conceal or "")
      )
    end
  end
  for cell, groups in pairs(by_cell) do
    table.sort(groups)
    by_cell[cell] = table.concat(groups, ","):gsub("%d%d%d ", "")
  end
  return by_cell
end

local function difference_of(cells, whole)
  for cell in pairs(vim.tbl_extend("keep", cells, whole)) do
    if whole[cell] ~= cells[cell] then
      return ("at %s: %s, and whole %s"):format(cell, cells[cell] or "nothing", whole[cell] or "nothing")
    end
  end
end

local function finish(buf)
  hl.detach(buf)
  assert(#api.nvim_buf_get_extmarks(buf, marks.ns, 0, -1, {}) == 0, "marks are left")
  api.nvim_buf_delete(buf, { force = true })
end

local LANGS = { "c", "lua", "markdown", "markdown_inline", "query", "vim", "vimdoc", "", "text" }
local UNITS = {
  "(",
  "{",
  "[",
  "[[",
  "]]",
  ")",
  "}",
  '"',
  "'",
  "`",
  "``",
  "/*",
  "--[==[",
  "<<EOF",
  "#if x\n",
  "if (x) {\n",
  "x = ",
  "{\n",
  "=\n",
  "function(",
  "do ",
  "- ",
  "> ",
  "1. ",
  "*a ",
  "_b ",
  "**",
  "![",
  "[a](",
  "<b>",
  "<!--",
  "&amp;",
  "|",
  "|-|\n",
  "\t",
  "    ",
  "\n",
  "\n\n",
  "```\n",
  "~~~\n",
  "\\",
  "a.b.",
  "1+",
  "!",
  "((a) @b ",
  "let x=",
  ">lua\n",
  "*t*",
  "word ",
  "words and words ",
  "é",
  "\u{1f600}",
  "# ",
  "===\n",
  "x y\n",
  'local s = [==[ x ]] "y\n',
}

local function unit()
  return UNITS[math.random(#UNITS)]
end

-- A text of some size: a few units over and over, or one line, or nothing but units.
local function generated(size)
  local way, parts, bytes = math.random(4), {}, 0
  local few = { unit(), unit(), unit() }
  while bytes < size do
    local part = way == 1 and few[1] or way == 2 and few[math.random(3)] or unit()
    part = way == 4 and part:gsub("\n", " ") or part
    parts[#parts + 1], bytes = part, bytes + #part
  end
  local body = table.concat(parts)
  if math.random(3) > 1 then
    body = "```"
      .. LANGS[math.random(#LANGS)]
      .. "\n"
      .. body
      .. (math.random(2) == 1 and "\n```\n\nafter *it*" or "")
  end
  return body
end

-- Everything is loaded before anything is counted.
test("texts of each language are read", function()
  look.pace, look.pace_by_cost = 0, 0
  for _, lang in ipairs(LANGS) do
    finish(stream("```" .. lang .. "\nx\n```\n\nafter *it*", function()
      return 1e6
    end))
  end
end)

test("quotes and lists nested without end do not crash Neovim", function()
  local indented = {}
  for i = 1, 400 do
    indented[i] = (" "):rep(2 * i) .. "- x"
  end
  for _, text in ipairs({
    (">"):rep(3000),
    ("> "):rep(300) .. "x\n" .. (">"):rep(300),
    ("- "):rep(300) .. "x",
    ("1. > "):rep(300) .. "x",
    ("-\t"):rep(300) .. "x",
    table.concat(indented, "\n"),
    "````markdown\n" .. (">"):rep(3000) .. "\n````\n",
    "- a\n\n  ```markdown\n  " .. (">"):rep(3000) .. "\n  ```\n",
    ("> - "):rep(60) .. "x\n" .. ("> - "):rep(80) .. "x\n",
    "```vim\nlet x =<< " .. ("E"):rep(3000) .. "\nx\n```\n",
  }) do
    for _, size in ipairs({ 1e6, 100 }) do
      finish(stream(text, function()
        return size
      end))
    end
  end
end)

test("large texts of any kind are worked on in small portions, however they come", function()
  for seed = 1, 60 do
    math.randomseed(seed)
    local text = generated(math.random(2000, 60000))
    finish(stream(text, function()
      return 1e8
    end))
    math.randomseed(seed)
    finish(stream(text, function()
      return math.random(1000, 6000)
    end))
  end
end)

-- How a text that comes in pieces differs from one that comes whole, if it does.
local function difference_in_pieces(text, size)
  local buf = stream(text, function()
    return 1e6
  end)
  local whole = cells_of(buf)
  finish(buf)
  buf = stream(text, function()
    return size
  end)
  local difference
  vim.wait(3000, function()
    vim.cmd("redraw")
    difference = difference_of(cells_of(buf), whole)
    return not difference
  end, 30)
  finish(buf)
  return difference
end

test("small texts look the same however they come", function()
  for seed = 1, 140 do
    math.randomseed(seed)
    -- A parser may take a fence's mark within a line for its end, which is not known before the line is whole.
    local text = generated(math.random(20, 400)):gsub("([^\n])```+", "%1"):gsub("([^\n])~~~+", "%1")
    for _, size in ipairs({ 1, 7 }) do
      local difference = difference_in_pieces(text, size)
      if difference then
        -- It was perhaps looked at too early.
        quiet = 500
        difference = difference_in_pieces(text, size)
        quiet = 20
      end
      assert(not difference, ("seed %d in pieces of %d, %s\n%s"):format(seed, size, difference or "", text))
    end
  end
end)

test("no portion of work was a large one", function()
  assert(most.bytes <= limits.CODE + 8 * 1024, vim.inspect(most))
  assert(most.captures <= 16 * limits.CAPTURES, vim.inspect(most))
  assert(most.marks <= 4 * limits.CAPTURES, vim.inspect(most))
  io.stdout:write("# ", vim.inspect(most):gsub("%s+", " "), "\n")
end)

vim.cmd(failed > 0 and "cquit 1" or "qall!")

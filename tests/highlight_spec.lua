-- Streams hostile Markdown through acp.highlight and compares every byte with what Neovim's own highlighter rule
-- gives for the same text in a buffer of its own. Run by tests/highlight.rs in a bare Neovim; prints TAP-like lines.

local api = vim.api
local function print(line)
  io.stdout:write(line, "\n")
end
local root = vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2))))
vim.opt.runtimepath:prepend(root)

local hl = require("acp.highlight")
local errors = {}
hl.on_error = function(message)
  errors[#errors + 1] = message
end

local failed = 0
local look = require("acp.highlight.look")
local budget = require("acp.highlight.budget")
local cut = require("acp.highlight.cut")
local pace, pace_by_cost, painted_rows = look.pace, look.pace_by_cost, hl.painted_rows
local most, clock = budget.MOST, budget.clock
local function test(name, f)
  local ok, err = xpcall(f, debug.traceback)
  look.pace, look.pace_by_cost, hl.painted_rows = pace, pace_by_cost, painted_rows
  budget.MOST, budget.clock = most, clock
  if #errors > 0 then
    ok, err = false, "reported: " .. table.concat(errors, "; ") .. "\n" .. tostring(err)
  end
  errors = {}
  if ok then
    print("ok " .. name)
  else
    failed = failed + 1
    print("not ok " .. name .. "\n  " .. tostring(err):gsub("\n", "\n  "))
  end
end

local CORPUS = table.concat({
  'Intro with *emphasis*, **strong**, `code`, ~~gone~~ and a [link](https://example.org/a_b "title").',
  "",
  "# ATX one",
  "## ATX *two* with `code` ##",
  "Setext one",
  "==========",
  "Setext *two*",
  "over two lines",
  "---",
  "",
  "#tag is no heading, nor is #another.",
  "***bold and italic*** then **bold",
  "over a line end** and _more",
  "of it_ here.",
  "",
  "- one",
  "- two with `code`",
  "  continued",
  "",
  "  a second paragraph",
  "  - nested *a*",
  "  - nested b",
  "    1. deeper",
  "    2. deeper **still**",
  "- [ ] open task",
  "- [x] done task",
  "",
  "  ```lua",
  "  local in_list = { a = 1 }",
  "  ```",
  "- last",
  "lazy continuation *here*",
  "* other list",
  "+ and another",
  "",
  "3. three",
  "4. four",
  "",
  "   > quote in a list with **bold**",
  "   > ```lua",
  "   > return 'quoted'",
  "   > ```",
  "5) paren list",
  "",
  "> quote *with* emphasis",
  "> over `two` lines",
  "lazily continued",
  ">",
  "> > nested quote",
  "> > with a [link](x)",
  "> - list in a quote",
  ">   and on",
  "> ```c",
  "> int main(void) { return 0; }",
  "> ```",
  "",
  "| head `x` | *two* | three |",
  "|----------|:-----:|------:|",
  "| a        | `b|c` | **d** |",
  "| [l](u)   | e     | &amp; |",
  "",
  "Text before a table",
  "| not | yet |",
  "| --- | --- |",
  "| a | b |",
  "after the table",
  "",
  '<div class="x">',
  "  *not emphasis*",
  "</div>",
  "",
  "Inline <b>html</b>, <https://auto.link/>, <me@example.org>, &nbsp; &copy; &quot;, \\*escaped\\*.",
  '[ref][one], [one][], [one], ![image](pic.png "t")',
  "",
  '[one]: https://example.org/one "One"',
  "[two]: <https://example.org/two>",
  "",
  "---",
  "",
  "+++",
  "",
  "***",
  "",
  "    indented code",
  "    local x = 1",
  "",
  "    after a blank",
  "",
  "```lua",
  "-- a comment with *stars*",
  "local function f(a, b)",
  "  --[[ a long",
  "  comment ]]",
  "  return a .. [[",
  "long string",
  ']], ("%d"):format(b)',
  "end",
  "vim.cmd([[echo 'nested vim']])",
  "",
  'return { f = f, [1] = true, x.y.z:call("s") }',
  "```",
  "Right after the fence.",
  "~~~c",
  "#include <stdio.h>",
  "/* comment",
  "   goes on */",
  'int main(int argc, char **argv) { printf("%s\\n", argv[0]); return 1; }',
  "```",
  "~~~",
  "",
  "````markdown",
  "# inner heading",
  "```lua",
  "local inner = 1",
  "```",
  "- item *em*",
  "````",
  "",
  "```nosuchlanguage",
  "plain *code*",
  "```",
  "```",
  "no language",
  "",
  "   ```",
  "  ```lua",
  "  local indented_fence = 1",
  "  ```",
  "",
  "Unicode: h\u{e9}llo *w\u{f6}rld* \u{1f600} `c\u{f6}de` \u{65e5}\u{672c}\u{8a9e} **\u{592a}\u{5b57}**",
  "",
  "```lua",
  "local unclosed = function() return 'x' end",
  "-- still open",
}, "\n")

local REFERENCES = { "shortcut_link", "collapsed_reference_link", "full_reference_link" }

-- The stack of groups over each byte, lowest first, by the rule of Neovim's highlighter: priority, then the order in
-- which the trees and their captures come. Links that name a definition are none.
local function expected_of(lines)
  local text = "\n" .. table.concat(lines, "\n") .. "\n"
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, "\n", { plain = true }))
  local parser = assert(vim.treesitter.get_parser(buf, "markdown"))
  parser:parse(true)
  local spans = {}
  parser:for_each_tree(function(tree, ltree)
    local ok, query = pcall(vim.treesitter.query.get, ltree:lang(), "highlights")
    if not ok or not query then
      return
    end
    for id, node, md, match in query:iter_captures(tree:root(), buf, 0, -1) do
      local name = query.captures[id]
      local above = ltree:lang() == "markdown_inline" and node:parent()
      local is_reference = above
        and vim.list_contains(REFERENCES, above:type())
        and name:find("^markup%.link")
      if name ~= "spell" and name ~= "nospell" and not is_reference then
        local range = vim.treesitter.get_range(node, buf, md[id])
        local conceal = md.conceal or md[id] and md[id].conceal
        local group = name:sub(1, 1) == "_" and "" or ("@" .. name .. "." .. ltree:lang())
        local url = md[id] and md[id].url
        if type(url) == "number" then
          local other = (match.captures and match:captures() or match)[url]
          other = type(other) == "table" and other[1] or other
          url = vim.treesitter.get_node_text(other, buf, { metadata = md[url] })
        end
        local hides = md.conceal_lines or md[id] and md[id].conceal_lines
        if group ~= "" or conceal or url then
          spans[#spans + 1] = {
            range[1] - 1,
            range[2],
            range[4] - 1,
            range[5],
            group .. (conceal and ("/" .. conceal) or "") .. (hides and "-" or ""),
            tonumber(md.priority or md[id] and md[id].priority) or 100,
            #spans,
            url,
          }
        end
      end
    end
  end)
  api.nvim_buf_delete(buf, { force = true })
  table.sort(spans, function(a, b)
    if a[6] ~= b[6] then
      return a[6] < b[6]
    end
    return a[7] < b[7]
  end)
  local cells, urls = {}, {}
  for _, s in ipairs(spans) do
    for row = math.max(s[1], 0), math.min(s[3], #lines - 1) do
      local stop = row == s[3] and math.min(s[4], #lines[row + 1]) or #lines[row + 1]
      for col = row == s[1] and s[2] or 0, stop - 1 do
        local key = row .. ":" .. col
        cells[key] = (cells[key] or "") .. (s[5] == "" and "" or " " .. s[5])
        urls[key] = s[8] or urls[key]
      end
    end
  end
  for key, url in pairs(urls) do
    cells[key] = cells[key] .. " ^" .. url
  end
  return cells
end

local ns = api.nvim_create_namespace("acp.highlight")

local function painted_in(buf, first, last)
  local marks = api.nvim_buf_get_extmarks(buf, ns, { first, 0 }, { last - 1, -1 }, { details = true })
  table.sort(marks, function(a, b)
    return (a[4].priority or 0) < (b[4].priority or 0)
  end)
  local cells, at, urls = {}, {}, {}
  for _, mark in ipairs(marks) do
    local row, col, d = mark[2], mark[3], mark[4]
    assert(d.end_row == row, "a mark spans rows: " .. vim.inspect(mark))
    local group = (d.hl_group or "")
      .. (d.conceal and ("/" .. d.conceal) or "")
      .. (d.conceal_lines and "-" or "")
    for c = col, d.end_col - 1 do
      local key = (row - first) .. ":" .. c
      assert(at[key] ~= (d.priority or 0), "two marks of one priority at " .. key)
      at[key] = d.priority or 0
      cells[key] = (cells[key] or "") .. (group == "" and "" or " " .. group)
      urls[key] = d.url or urls[key]
    end
  end
  for key, url in pairs(urls) do
    cells[key] = cells[key] .. " ^" .. url
  end
  return cells, #marks
end

local function compare(buf, first, last, opts)
  opts = opts or {}
  local lines = api.nvim_buf_get_lines(buf, first, last, false)
  local want, have = expected_of(lines), painted_in(buf, first, last)
  local wrong, shown = 0, {}
  for row, line in ipairs(lines) do
    for col = row <= (opts.from or 0) and #line or opts.indent and #line:match("^%s*") or 0, #line - 1 do
      local key = (row - 1) .. ":" .. col
      if want[key] ~= have[key] then
        wrong = wrong + 1
        if #shown < 8 then
          shown[#shown + 1] = ("%s of %q: want %s, have %s"):format(key, line, want[key], have[key])
        end
      end
    end
  end
  assert(wrong == 0, wrong .. " bytes differ:\n" .. table.concat(shown, "\n"))
  assert(next(want), "the reference is empty")
end

local function until_true(what, f)
  assert(vim.wait(30000, f, 2), "never happened: " .. what)
end

local function chat(lines)
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].undolevels = -1
  vim.bo[buf].filetype = "acp"
  api.nvim_buf_set_lines(buf, 0, -1, false, lines or { "" })
  api.nvim_win_set_buf(0, buf)
  hl.attach(buf)
  vim.cmd("redraw")
  return buf
end

-- Rows the buffer's other parts take: the last row of a region, exclusive.
local function append(buf, last, text)
  local lines = vim.split(text, "\n", { plain = true })
  local len = #api.nvim_buf_get_lines(buf, last - 1, last, true)[1]
  api.nvim_buf_set_text(buf, last - 1, len, last - 1, len, lines)
  return last + #lines - 1
end

local function stream(buf, id, first, text, after)
  local at, last = 1, first + 1
  while at <= #text do
    local size = math.random(8, 32)
    last = append(buf, last, text:sub(at, at + size - 1))
    at = at + size
    hl.grew(buf, id, last)
    if after then
      after(last)
    end
  end
  return last
end

-- How often something was parsed, or memory freed.
local worked = 0
for _, name in ipairs({ "parse", "collect" }) do
  local work = budget[name]
  budget[name] = function(...)
    local result = work(...)
    worked = worked + (result and 1 or 0)
    return result
  end
end

-- Waits until some turns of the loop pass without work and without a new mark. (Time alone also passes where another
-- program runs.)
local function until_quiet()
  local count, turns = -1, 0
  until_true("no more marks are set", function()
    local now = #api.nvim_buf_get_extmarks(0, ns, 0, -1, {}) + worked
    turns, count = now == count and turns + 1 or 0, now
    return turns > 24
  end)
end

local function settled(buf, first, last, opts)
  local deadline = vim.uv.now() + 30000
  repeat
    vim.cmd("redraw")
    until_quiet()
    local ok, err = pcall(compare, buf, first, last, opts)
    if not ok and vim.uv.now() > deadline then
      error(err, 0)
    end
  until ok
end

-- Nothing is left: no mark, no hidden buffer.
local function done(buf)
  hl.detach(buf)
  assert(#api.nvim_buf_get_extmarks(buf, -1, 0, -1, {}) == 0, "marks are left")
  api.nvim_buf_delete(buf, { force = true })
  until_true("no hidden buffer is left", function()
    collectgarbage()
    for _, other in ipairs(api.nvim_list_bufs()) do
      if not vim.bo[other].buflisted and #vim.fn.win_findbuf(other) == 0 then
        return false
      end
    end
    return true
  end)
end

-- Paces make a test slow and hide the cuts between: look at each piece.
local function unpaced(f)
  look.pace, look.pace_by_cost = 0, 0
  f()
end

vim.o.lines, vim.o.columns = 200, 120

for seed = 1, 4 do
  test("a stream cut at random (" .. seed .. ") ends up as Neovim's own highlighter would draw it", function()
    math.randomseed(seed)
    unpaced(function()
      local buf = chat()
      hl.open(buf, 1, 0)
      local last = stream(buf, 1, 0, CORPUS)
      hl.close(buf, 1, last)
      settled(buf, 0, last)
      done(buf)
    end)
  end)
end

local PIECES =
  vim.split(CORPUS .. "\n===\n\n```\n~~~\n]]\n> ```lua\n   ```\n\tcode\n****\n|\n-\n\n#\n  - x\n> - y", "\n")

test("a paced stream of random pieces of Markdown ends up the same", function()
  for seed = 1, 25 do
    math.randomseed(seed)
    local lines = { "first" }
    for _ = 1, math.random(5, 50) do
      lines[#lines + 1] = PIECES[math.random(#PIECES)]
    end
    look.pace, look.pace_by_cost = math.random(0, 3), 0
    local buf = chat()
    hl.open(buf, 1, 0)
    local last = stream(buf, 1, 0, table.concat(lines, "\n"), function()
      if math.random(4) == 1 then
        vim.wait(2)
      end
    end)
    hl.close(buf, 1, last)
    -- Where a block ends in the indent of the next line, that indent may belong to either.
    local ok, err = pcall(settled, buf, 0, last, { indent = true })
    assert(ok, "seed " .. seed .. ": " .. tostring(err))
    done(buf)
  end
end)

test("where lines alone say that a block begins, the parser finds one, too", function()
  local seams, spans = require("acp.highlight.seams"), require("acp.highlight.spans")
  local found = 0
  for seed = 1, 600 do
    math.randomseed(seed)
    local lines = {}
    for _ = 1, math.random(5, 60) do
      lines[#lines + 1] = PIECES[math.random(#PIECES)]
    end
    local text = spans.text(lines)
    text.parser:parse()
    local begins = {}
    for _, row in ipairs(spans.starts(text)) do
      begins[row] = true
    end
    for i, row in ipairs(seams.find(lines).starts) do
      local from = math.max(row - 4, 0)
      local around = table.concat(vim.list_slice(lines, from + 1, row + 2), "\n")
      assert(
        i == 1 or begins[row],
        ("seed %d: no block begins at row %d:\n%s"):format(seed, row - from, around)
      )
      found = found + 1
    end
  end
  assert(found > 1000, found)
end)

test("an answer that is cut off anywhere is coloured to its last word, after a pace at most", function()
  look.pace, look.pace_by_cost = 5, 0
  for at = 40, #CORPUS, 257 do
    local text = CORPUS:sub(1, at):gsub("[\128-\255]+$", "")
    local buf = chat()
    hl.open(buf, 1, 0)
    local last = stream(buf, 1, 0, text)
    -- No more calls: the timer has to do it.
    local ok, err = pcall(settled, buf, 0, last)
    assert(ok, "cut off at byte " .. at .. ": " .. tostring(err))
    done(buf)
  end
end)

test("a region keeps to its rows while others grow and shrink above and below", function()
  unpaced(function()
    local buf = chat({ "## not *Markdown* above", "tool: running", "", "## nor *below*" })
    hl.open(buf, 1, 2)
    local last, below = 3, 1
    local above = 2
    math.randomseed(7)
    local at, text = 1, CORPUS
    while at <= #text do
      local size = math.random(8, 32)
      last = append(buf, last, text:sub(at, at + size - 1))
      at = at + size
      hl.grew(buf, 1, last)
      local dice = math.random(6)
      if dice == 1 then -- at the very row where the region begins
        api.nvim_buf_set_lines(buf, above, above, true, { "tool: *more*", "tool: **more**" })
        above, last = above + 2, last + 2
      elseif dice == 2 and above > 3 then
        api.nvim_buf_set_lines(buf, 1, 3, true, { "tool: less" })
        above, last = above - 1, last - 1
      elseif dice == 3 then
        api.nvim_buf_set_lines(buf, -1, -1, true, { "*below*" })
        below = below + 1
      end
    end
    hl.close(buf, 1, last)
    settled(buf, above, last)
    assert(vim.tbl_isempty(painted_in(buf, 0, above)), "marks above the region")
    assert(vim.tbl_isempty(painted_in(buf, last, last + below)), "marks below the region")
    done(buf)
  end)
end)

test("regions that stream at the same time do not disturb each other, and one can be dropped", function()
  unpaced(function()
    local buf = chat({ "", "--", "", "--" })
    hl.open(buf, 20, 2)
    hl.open(buf, 10, 0)
    local ends = { [10] = 1, [20] = 3 }
    local at = 1
    while at <= #CORPUS do
      local piece = CORPUS:sub(at, at + 40)
      at = at + 41
      local before = ends[10]
      ends[10] = append(buf, ends[10], piece)
      ends[20] = append(buf, ends[20] + ends[10] - before, piece)
      hl.grew(buf, 10, ends[10])
      hl.grew(buf, 20, ends[20])
    end
    hl.close(buf, 20, ends[20])
    hl.close(buf, 10, ends[10])
    settled(buf, 0, ends[10])
    settled(buf, ends[10] + 1, ends[20])
    hl.drop(buf, 10)
    assert(vim.tbl_isempty(painted_in(buf, 0, ends[10])), "a dropped region kept marks")
    compare(buf, ends[10] + 1, ends[20])
    -- Its text may be replaced, and it may begin anew.
    api.nvim_buf_set_lines(buf, 0, ends[10], true, { "*new*" })
    hl.open(buf, 10, 0)
    hl.close(buf, 10, 1)
    settled(buf, 0, 1)
    settled(buf, 2, 2 + ends[20] - ends[10] - 1)
    done(buf)
  end)
end)

local function history(entries, added)
  local lines = {}
  local text = vim.split(CORPUS:gsub("\n[^\n]+\n[^\n]+$", "\n```\n"), "\n", { plain = true })
  local buf = chat()
  for _ = 1, entries do
    vim.list_extend(lines, text)
  end
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  local list = {}
  for id = 1, entries do
    if added then
      vim.list_extend(list, { id, (id - 1) * #text, id * #text })
    else
      hl.open(buf, id, (id - 1) * #text)
      hl.close(buf, id, id * #text)
    end
  end
  if added then
    hl.add(buf, list)
  end
  return buf, #text
end

local function see_history(added)
  local buf, rows = history(60, added)
  settled(buf, 0, rows)
  until_quiet()
  local marks = select(2, painted_in(buf, 0, 60 * rows))
  assert(
    marks > 0 and select(2, painted_in(buf, 8 * rows, 60 * rows)) == 0,
    "rows far below the window have marks"
  )
  for _, id in ipairs({ 60, 31, 2 }) do
    api.nvim_win_set_cursor(0, { (id - 1) * rows + 1, 0 })
    vim.cmd("normal! zt")
    settled(buf, (id - 1) * rows, id * rows)
  end
  -- And what is far away is forgotten again.
  hl.painted_rows = 500
  api.nvim_win_set_cursor(0, { 30 * rows + 1, 0 })
  vim.cmd("redraw")
  until_true("far marks are forgotten", function()
    return select(2, painted_in(buf, 0, rows)) == 0
  end)
  api.nvim_win_set_cursor(0, { 1, 0 })
  settled(buf, 0, rows)
  done(buf)
end

test("of a replayed history only what is on screen is coloured, wherever that is", function()
  see_history(false)
end)

test("regions that are added all at once are coloured in the same way", function()
  see_history(true)
  local buf, rows = history(2, true)
  -- Only below all others; but one of them may begin anew.
  hl.add(buf, { 3, 0, rows })
  assert(#errors == 1, vim.inspect(errors))
  errors = {}
  hl.drop(buf, 2)
  hl.add(buf, { 2, rows, 2 * rows })
  settled(buf, 0, 2 * rows)
  done(buf)
end)

test("long blocks are painted a slice at a time and look the same", function()
  local list, items, tab, code, quote = { "- outer" }, {}, { "| a | b |", "|---|---|" }, { "```lua" }, {}
  for i = 1, 150 do
    list[#list + 1] = ("  - item *%d* with `code`\n    and a **second** line"):format(i)
    items[#items + 1] = ("%d. item *%d* with `code`\n   and a **second** line"):format(i, i)
    tab[#tab + 1] = ("| *%d* | `x%d` |"):format(i, i)
    code[#code + 1] = ("local v%d = { %q, %d } -- note\nprint(('%%d'):format(v%d))"):format(i, "s", i, i)
    quote[#quote + 1] = ("> quoted *%d* and `code`"):format(i)
  end
  code[#code + 1] = "```"
  local para = ("A paragraph in **one line** with `code` and *emphasis*. "):rep(70)
  for _, text in ipairs({ list, items, tab, code, quote, { para } }) do
    text = table.concat(text, "\n")
    local lines = vim.split(text, "\n", { plain = true })
    local buf = chat(lines)
    vim.cmd("redraw")
    hl.open(buf, 1, 0)
    hl.close(buf, 1, #lines)
    settled(buf, 0, math.min(#lines, 150))
    api.nvim_win_set_cursor(0, { #lines, 0 })
    settled(buf, 0, #lines)
    done(buf)
    -- The same as a stream.
    look.pace, look.pace_by_cost = 1, 0
    buf = chat()
    hl.open(buf, 1, 0)
    local last, at = 1, 1
    while at <= #text do
      last = append(buf, last, text:sub(at, at + 999))
      at = at + 1000
      hl.grew(buf, 1, last)
      api.nvim_win_set_cursor(0, { last, 0 })
      vim.cmd("redraw")
      vim.wait(1)
    end
    settled(buf, 0, last, { from = last - 150 })
    hl.close(buf, 1, last)
    settled(buf, 0, last)
    done(buf)
  end
end)

test("brackets that name no target are shown as they are written", function()
  local text = "take arr[i], a[0][1], app/[id].tsx, [todo][], [^1] and [a link](https://example.org)"
  local buf = chat()
  hl.open(buf, 1, 0)
  local last = append(buf, 1, text)
  hl.close(buf, 1, last)
  local function marks_with(what)
    return vim.tbl_filter(function(mark)
      return mark[4][what] ~= nil
    end, api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true }))
  end
  until_true("the link's signs are concealed", function()
    return #marks_with("conceal") > 0
  end)
  local link = assert(text:find("[a link]", 1, true)) - 1
  for _, mark in ipairs(marks_with("hl_group")) do
    assert(mark[3] >= link, "marked at " .. mark[3] .. ": " .. vim.inspect(mark[4]))
  end
  done(buf)
end)

test("a block that has grown since it was read is not cut", function()
  local lines = { "- outer" }
  for i = 1, 250 do
    lines[#lines + 1] = ("  - item *%d* with `code`"):format(i)
  end
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  local region = { cut = 0, rows = 200, closed = false, pieces = {}, unpainted = 0, marks = {} }
  repeat
    budget.begin_slice()
    assert(cut.step(buf, region, 0) and region.cut == 0)
  until region.reading and #region.reading.text.lines == region.rows
  region.rows = #lines
  for _ = 1, 5 do
    budget.begin_slice()
    cut.step(buf, region, 0)
  end
  api.nvim_buf_delete(buf, { force = true })
  assert(region.cut == 0, "cut at row " .. region.cut)
end)

test("a line or a block without end does not stop the editor", function()
  local line = ("*word* `code` "):rep(20000)
  local item = "- item" .. ("\n  *goes* on"):rep(20000)
  for _, text in ipairs({ line, item, "```lua\n" .. ("local x = { 1 }\n"):rep(10000) }) do
    local buf = chat()
    hl.open(buf, 1, 0)
    local last, at, worst = 1, 1, 0
    while at <= #text do
      last = append(buf, last, text:sub(at, at + 9999))
      at = at + 10000
      local before = os.clock()
      hl.grew(buf, 1, last)
      worst = math.max(worst, os.clock() - before)
      api.nvim_win_set_cursor(0, { last, 0 })
      vim.cmd("redraw")
      vim.wait(2)
    end
    hl.close(buf, 1, last)
    until_true("the end is coloured", function()
      return text == line or select(2, painted_in(buf, last - 3, last)) > 0
    end)
    -- Read as a whole, each takes seconds.
    assert(worst < 0.4, ("a call took %d ms"):format(worst * 1000))
    done(buf)
  end
end)

-- CPU ms that Neovim is held at most between two turns of its loop. Other programs' time does not count.
local function longest_hold(f)
  local worst, seen = 0, os.clock()
  local function turn()
    local now = os.clock()
    worst, seen = math.max(worst, (now - seen) * 1e3), now
  end
  local timer = assert(vim.uv.new_timer())
  timer:start(1, 1, turn)
  local ok, err = pcall(f)
  turn()
  timer:stop()
  timer:close()
  assert(ok, err)
  return worst
end

-- Gives a text in pieces of some size, and waits until all that is to be read of it has been.
local function give(text, size)
  local buf = chat()
  -- Loading a language is not what is measured.
  vim.wait(30)
  hl.open(buf, 1, 0)
  local last
  local worst = longest_hold(function()
    local at, row = 1, 1
    while at <= #text do
      row = append(buf, row, text:sub(at, at + size - 1))
      at = at + size
      hl.grew(buf, 1, row)
      api.nvim_win_set_cursor(0, { row, 0 })
      vim.cmd("redraw")
      vim.wait(1)
    end
    last = row
    hl.close(buf, 1, last)
    local parse, turns = budget.parse, 0
    budget.parse = function(...) ---@diagnostic disable-line: duplicate-set-field
      turns = 0
      return parse(...)
    end
    until_true("nothing is parsed any more", function()
      turns = turns + 1
      return turns > 60
    end)
    budget.parse = parse
  end)
  return worst, buf, last
end

local BAD = 'local s = [==[ x ]] "y\n'

-- What no parser likes, as lines and as one line.
local HOSTILE = {
  BAD,
  "([{<'\"` \\\\ |= /* <<EOF *a* [[ ![ <!-- _b ",
  "((((((((((",
  "} ) ] end */ ]] EOF \n",
}

for _, lang in ipairs({ "c", "lua", "markdown", "markdown_inline", "query", "vim", "vimdoc" }) do
  test("hostile " .. lang .. " holds Neovim for no longer than it notices, however it comes", function()
    budget.MOST = 50
    done(select(2, give("```" .. lang .. "\nx\n```\n", 1000)))
    for i, unit in ipairs(HOSTILE) do
      local text = "```" .. lang .. "\n" .. unit:rep(math.floor(30000 / #unit)) .. "\n```\n"
      for _, size in ipairs({ #text, 1000 }) do
        local worst, buf = give(text, size)
        done(buf)
        assert(worst < 250, ("text %d in pieces of %d: %d ms"):format(i, size, worst))
      end
    end
  end)
end

test("a long fence of bad code and a sea of brackets hold Neovim for no longer than it notices", function()
  local fence = "```lua\n" .. BAD:rep(4500) .. "```\n"
  local sea = ("[`[[`]( `` ] ![ *_[\n"):rep(100000)
  for i, text in ipairs({ fence, sea, (sea:gsub("\n", "")) }) do
    local worst, buf = give(text, #text)
    done(buf)
    assert(worst < 250, ("text %d: %d ms"):format(i, worst))
  end
end)

test("when the time for a text is used up its parser is left, and the text stays plain", function()
  for _, size in ipairs({ 1e6, 500 }) do
    local parse, slices, left = budget.parse, 0, 0
    local time = 0
    budget.parse = function(parser, range)
      slices = slices + 1
      budget.clock = function()
        time = time + 200 * 1e6
        return time
      end
      local state = parse(parser, range)
      budget.clock = clock
      left = left + (state == "given up" and 1 or 0)
      return state
    end
    -- Long enough not to be done in five slices.
    local ok, _, buf, last = pcall(give, "```lua\n" .. BAD:rep(1400) .. "```\n\n*after*\n", size)
    budget.parse = parse
    assert(ok, buf)
    assert(left > 0 and slices > 5, ("%d slices, left %d times"):format(slices, left))
    until_quiet()
    local cells = painted_in(buf, last - 100, last)
    assert(next(cells), "nothing is coloured")
    for _, groups in pairs(cells) do
      assert(not groups:find("%.lua"), groups)
    end
    assert(slices < (size == 500 and 3000 or 60), slices .. " slices")
    -- What stays plain is not tried again when it comes on screen again.
    local again = 0
    budget.parse = function(parser, range)
      local state = parse(parser, range)
      again = again + (state == "given up" and 1 or 0)
      return state
    end
    hl.painted_rows = 10
    for _, row in ipairs({ last, 1, last }) do
      api.nvim_win_set_cursor(0, { row, 0 })
      vim.cmd("redraw")
      until_quiet()
    end
    budget.parse = parse
    assert(again == 0, again .. " times given up again")
    done(buf)
  end
end)

test("bad code that is read in slices looks as if it had been read at once", function()
  look.pace, look.pace_by_cost = 1, 0
  local parse, paused = budget.parse, 0
  budget.parse = function(...) ---@diagnostic disable-line: duplicate-set-field
    local state = parse(...)
    paused = paused + (state == "paused" and 1 or 0)
    return state
  end
  local ok, err = pcall(function()
    for _, size in ipairs({ 1e6, 700 }) do
      local text = "Before.\n\n```lua\n" .. BAD:rep(300) .. "```\n\n*after*"
      local _, buf, last = give(text, size)
      for _, row in ipairs({ last, 100, 1 }) do
        api.nvim_win_set_cursor(0, { row, 0 })
        vim.cmd("redraw")
        until_quiet()
      end
      settled(buf, 0, last)
      done(buf)
    end
  end)
  budget.parse = parse
  assert(ok, err)
  assert(paused > 0, "nothing was read in slices")
end)

test("code that is in no buffer stays plain when it takes too long", function()
  local code = require("acp.highlight.code")
  local good = vim.split(("local v = { 's', 12 }\n"):rep(20), "\n")
  assert(code.colours(good, "lua"))
  local worst = longest_hold(function()
    assert(code.colours(vim.split(BAD:rep(690), "\n"), "lua") == nil)
  end)
  assert(worst < 100, worst .. " ms")
  assert(#code.colours(good, "lua")[1] > 0)
end)

test("a language without a parser is named", function()
  local buf = chat()
  hl.open(buf, 1, 0)
  local last = append(buf, 1, "before\n\n```nosuchlang\na = b\n```\n\nafter\n")
  hl.close(buf, 1, last)
  assert(hl.why_plain(buf, 4):find("no parser for nosuchlang", 1, true))
  assert(hl.why_plain(buf, 1) == nil and hl.why_plain(buf, last - 1) == nil)
  done(buf)
end)

test("what parsers took is given back with their chat", function()
  local ffi = require("ffi")
  ffi.cdef("int malloc_trim(size_t pad);")
  -- MB, where the system tells.
  local function resident()
    collectgarbage()
    collectgarbage()
    pcall(function()
      ffi.C.malloc_trim(0)
    end)
    for line in
      vim.fn.filereadable("/proc/self/status") == 1 and io.lines("/proc/self/status") or function() end
    do
      local kilobytes = line:match("^VmRSS:%s*(%d+)")
      if kilobytes then
        return tonumber(kilobytes) / 1024
      end
    end
    return 0
  end
  local text = (("word "):rep(800) .. "\n"):rep(500)
  local function say()
    local buf = chat()
    hl.open(buf, 1, 0)
    local last = 1
    for at = 1, #text, 16384 do
      last = append(buf, last, text:sub(at, at + 16383))
      hl.grew(buf, 1, last)
      api.nvim_win_set_cursor(0, { last, 0 })
      vim.cmd("redraw")
      vim.wait(1)
    end
    hl.close(buf, 1, last)
    vim.wait(50)
    done(buf)
  end
  say()
  local before = resident()
  for _ = 1, 6 do
    say()
  end
  local grown = resident() - before
  assert(grown < 20, grown .. " MB")
end)

test("it is known why something is plain, of open fences and of closed ones", function()
  local tangled = "```c\n" .. ("{\n"):rep(3000)
  for _, text in ipairs({
    tangled,
    tangled .. "```\n\nafter *it*",
    "```lua\n" .. ("x."):rep(2000) .. "\n```\n",
  }) do
    local buf = chat()
    hl.open(buf, 1, 0)
    local last = append(buf, 1, text)
    hl.grew(buf, 1, last)
    local want = text:find("^```c") and "errors" or "this long"
    until_true("a reason is given", function()
      vim.cmd("redraw")
      return (hl.why_plain(buf, 1) or ""):find(want) ~= nil
    end)
    hl.close(buf, 1, last)
    api.nvim_win_set_cursor(0, { 1, 0 })
    until_true("a reason is still given", function()
      vim.cmd("redraw")
      return (hl.why_plain(buf, 1) or ""):find(want) ~= nil
    end)
    assert(not text:find("after") or hl.why_plain(buf, last - 1) == nil)
    assert(hl.why_plain(buf, last + 5) == nil)
    done(buf)
    assert(hl.why_plain(buf, 1) == nil)
  end
end)

test("a fence of lines that might close it is searched a little at a time", function()
  local lines = { "```lua" }
  for i = 1, 3000 do
    lines[#lines + 1] = ("print(%d) ```"):format(i)
  end
  local worst, buf = give(table.concat(lines, "\n"), 1e6)
  assert(worst < 100, worst .. " ms")
  done(buf)
end)

test("a chat that no window shows is left alone until one does", function()
  local buf = chat()
  local other = api.nvim_create_buf(false, true)
  api.nvim_win_set_buf(0, other)
  vim.cmd("redraw")
  unpaced(function()
    hl.open(buf, 1, 0)
    local last = stream(buf, 1, 0, CORPUS)
    vim.wait(30)
    assert(vim.tbl_isempty(painted_in(buf, 0, last)), "marks that nobody sees")
    api.nvim_win_set_buf(0, buf)
    api.nvim_buf_delete(other, { force = true })
    settled(buf, 0, last)
    hl.close(buf, 1, last)
    settled(buf, 0, last)
  end)
  done(buf)
end)

test("a parser that fails is reported once, and the text stays plain", function()
  local get = vim.treesitter.get_string_parser
  vim.treesitter.get_string_parser = function(text, ...) ---@diagnostic disable-line: duplicate-set-field
    if text ~= "" then
      error("couldn't make a parser", 0)
    end
    return get(text, ...)
  end
  local ok, err = pcall(unpaced, function()
    local buf = chat()
    hl.open(buf, 1, 0)
    local last = stream(buf, 1, 0, CORPUS)
    hl.close(buf, 1, last)
    vim.cmd("redraw")
    vim.wait(30)
    assert(vim.tbl_isempty(painted_in(buf, 0, last)))
    done(buf)
  end)
  vim.treesitter.get_string_parser = get
  assert(ok, err)
  assert(vim.deep_equal(errors, { "couldn't make a parser" }), vim.inspect(errors))
  errors = {}
end)

test("a language whose query fails stays plain by itself, and is reported once", function()
  local get = vim.treesitter.query.get
  vim.treesitter.query.get = function(lang, name) ---@diagnostic disable-line: duplicate-set-field
    if lang == "c" and name == "highlights" then
      error("couldn't read the query of " .. lang, 0)
    end
    return get(lang, name)
  end
  local ok, err = pcall(unpaced, function()
    local buf = chat()
    hl.open(buf, 1, 0)
    local last = stream(buf, 1, 0, CORPUS)
    hl.close(buf, 1, last)
    settled(buf, 0, last)
    done(buf)
  end)
  vim.treesitter.query.get = get
  assert(ok, err)
  assert(vim.deep_equal(errors, { "couldn't read the query of c" }), vim.inspect(errors))
  errors = {}
end)

test("calls about what is not there do nothing", function()
  hl.grew(999, 1, 1)
  hl.close(999, 1, 1)
  hl.drop(999, 1)
  hl.detach(999)
  local buf = chat()
  hl.grew(buf, 5, 1)
  hl.close(buf, 5, 1)
  hl.drop(buf, 5)
  hl.open(buf, 1, 0)
  local bufs = #api.nvim_list_bufs()
  local last = append(buf, 1, "```c\nint x;\nint y")
  hl.grew(buf, 1, last)
  until_true("an open fence has its hidden buffer", function()
    last = append(buf, last, "y")
    hl.grew(buf, 1, last)
    vim.cmd("redraw")
    return #api.nvim_list_bufs() == bufs + 1
  end)
  api.nvim_buf_delete(buf, { force = true })
  hl.grew(buf, 1, last)
  hl.close(buf, 1, last)
  until_true("the hidden buffer goes with the chat", function()
    return #api.nvim_list_bufs() <= bufs
  end)
end)

test("a project's languages are loaded ahead, but not while somebody types", function()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. "/src", "p")
  for _, name in ipairs({ "/src/a.c", "/src/b.c", "/a.vim", "/none.unheardof" }) do
    vim.fn.writefile({ "" }, folder .. name)
  end
  local script = folder .. "/script.lua"
  vim.fn.writefile({
    "local loaded, key = {}, -1e9",
    "local languages = require('acp.highlight.languages')",
    "local load = languages.load_part",
    "languages.load_part = function(name)",
    "  local typing = vim.uv.hrtime() - key < 2e8",
    "  loaded[#loaded + 1] = (typing and 'typing:' or '') .. name",
    "  return load(name)",
    "end",
    "vim.cmd('edit note.lua')",
    "vim.bo.filetype = 'lua'",
    "require('acp.highlight').attach(vim.api.nvim_create_buf(false, true))",
    "local keys = 0",
    "vim.wait(20000, function()",
    "  vim.api.nvim_feedkeys('l', 'x', false)",
    "  key, keys = vim.uv.hrtime(), keys + 1",
    "  return keys > 12",
    "end, 50)",
    "local ok = vim.wait(20000, function()",
    "  return vim.list_contains(loaded, 'lua') and vim.list_contains(loaded, 'c') and vim.list_contains(loaded, 'vim')",
    "end, 5)",
    "io.stdout:write(ok and 'all ' or 'not all ', table.concat(loaded, ' '))",
    "vim.cmd('qall!')",
  }, script)
  local out = vim
    .system({
      vim.v.progpath,
      "-u",
      "NONE",
      "-i",
      "NONE",
      "-n",
      "--headless",
      "--cmd",
      "set runtimepath^=" .. vim.fn.fnameescape(root),
      "-S",
      script,
    }, { text = true, timeout = 60000, cwd = folder })
    :wait()
  assert(vim.startswith(out.stdout, "all "), vim.inspect(out))
  for name in out.stdout:gmatch("typing:(%S+)") do
    assert(name:find("^markdown"), out.stdout)
  end
end)

test("without a Markdown parser the text stays plain and nothing is said", function()
  -- Neovim finds its Lua modules by the runtime path, so only its parsers are taken away.
  local script = vim.fn.tempname() .. ".lua"
  vim.fn.writefile({
    "local said = {}",
    "local ok, err = pcall(function()",
    "  local hl = require('acp.highlight')",
    "  hl.on_error = function(m) said[#said + 1] = m end",
    "  local buf = vim.api.nvim_get_current_buf()",
    "  vim.api.nvim_buf_set_lines(buf, 0, -1, true, { 'some *text*' })",
    "  hl.attach(buf) hl.open(buf, 1, 0) hl.grew(buf, 1, 1) hl.close(buf, 1, 1)",
    "  vim.wait(100, function() vim.cmd('redraw') end)",
    "  hl.drop(buf, 1) hl.detach(buf)",
    "end)",
    "io.stdout:write(ok and #said == 0 and 'fine' or vim.inspect({ err, said }))",
    "vim.cmd('qall!')",
  }, script)
  local out = vim
    .system({
      vim.v.progpath,
      "-u",
      "NONE",
      "-i",
      "NONE",
      "-n",
      "--headless",
      "--cmd",
      "set runtimepath=" .. vim.fn.fnameescape(root) .. ",$VIMRUNTIME packpath=",
      "-S",
      script,
    }, { text = true, timeout = 20000 })
    :wait()
  assert(out.stdout == "fine", vim.inspect(out))
end)

vim.cmd(failed > 0 and "cquit 1" or "qall!")

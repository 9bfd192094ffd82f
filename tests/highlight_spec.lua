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
local function test(name, f)
  local ok, err = xpcall(f, debug.traceback)
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
  "Intro with *emphasis*, **strong**, `code`, ~~gone~~ and a [link](https://example.org/a_b \"title\").",
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
  "<div class=\"x\">",
  "  *not emphasis*",
  "</div>",
  "",
  "Inline <b>html</b>, <https://auto.link/>, <me@example.org>, &nbsp; &copy; &quot;, \\*escaped\\*.",
  "[ref][one], [one][], [one], ![image](pic.png \"t\")",
  "",
  "[one]: https://example.org/one \"One\"",
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
  "]], (\"%d\"):format(b)",
  "end",
  "vim.cmd([[echo 'nested vim']])",
  "",
  "return { f = f, [1] = true, x.y.z:call(\"s\") }",
  "```",
  "Right after the fence.",
  "~~~c",
  "#include <stdio.h>",
  "/* comment",
  "   goes on */",
  "int main(int argc, char **argv) { printf(\"%s\\n\", argv[0]); return 1; }",
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

-- The stack of groups over each byte, lowest first, by the rule of Neovim's highlighter: priority, then the order in
-- which the trees and their captures come.
local function expected_of(lines)
  local text = "\n" .. table.concat(lines, "\n") .. "\n"
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, "\n", { plain = true }))
  local parser = assert(vim.treesitter.get_parser(buf, "markdown"))
  parser:parse(true)
  local spans = {}
  parser:for_each_tree(function(tree, ltree)
    local query = vim.treesitter.query.get(ltree:lang(), "highlights")
    if not query then
      return
    end
    for id, node, md, match in query:iter_captures(tree:root(), buf, 0, -1) do
      local name = query.captures[id]
      if name ~= "spell" and name ~= "nospell" then
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
            range[1] - 1, range[2], range[4] - 1, range[5],
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
local names = {}

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

local function compare(buf, first, last)
  local lines = api.nvim_buf_get_lines(buf, first, last, false)
  local want, have = expected_of(lines), painted_in(buf, first, last)
  local wrong, shown = 0, {}
  for row, line in ipairs(lines) do
    for col = 0, #line - 1 do
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
  assert(vim.wait(5000, f, 2), "never happened: " .. what)
end

local function chat(lines)
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].undolevels = -1
  vim.bo[buf].filetype = "acp"
  api.nvim_buf_set_lines(buf, 0, -1, false, lines or { "" })
  api.nvim_win_set_buf(0, buf)
  hl.attach(buf)
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

local function settled(buf, first, last)
  local ok, err
  if not vim.wait(3000, function()
    vim.cmd("redraw")
    ok, err = pcall(compare, buf, first, last)
    return ok
  end, 10) then
    error(err, 0)
  end
end

-- Paces make a test slow and hide the cuts between: look at each piece.
local function unpaced(f)
  hl.pace(0, 0)
  local ok, err = pcall(f)
  hl.pace()
  assert(ok, err)
end

vim.o.lines, vim.o.columns = 200, 120

for seed = 1, 5 do
  test("a stream cut at random (" .. seed .. ") ends up as Neovim's own highlighter would draw it", function()
    math.randomseed(seed)
    unpaced(function()
      local buf = chat()
      hl.open(buf, 1, 0)
      local last = stream(buf, 1, 0, CORPUS)
      hl.close(buf, 1, last)
      settled(buf, 0, last)
      hl.detach(buf)
    end)
  end)
end

vim.cmd(failed > 0 and "cquit 1" or "qall!")

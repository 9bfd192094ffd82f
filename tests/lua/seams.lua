-- Where a transcript's Markdown is cut: seams.lua tells from how lines begin alone, and must say the same however much
-- came so far. Whether a parser finds a block there, too, is looked at in tests/highlight_spec.lua.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local support = require("support")
local eq = support.eq
vim.opt.runtimepath:prepend(support.root)
local seams = require("acp.highlight.seams")

-- What fences, lists, HTML and headings are made of, and what is none of these.
local PIECES = {
  "```",
  "````lua",
  "~~~",
  "  ```",
  "\t```",
  "``` `",
  "- a",
  "* b",
  "10. c",
  "+",
  "# h",
  "#######",
  "<script>",
  "</script>",
  "<!--",
  "-->",
  "<?",
  "<![CDATA[",
  "<div>",
  "    code",
  "> q",
  "|a|b|",
  "===",
  "",
  "",
  " ",
  "text",
  "[[",
  "\0",
  "\r",
  "\255\254",
  ("([{\"'"):rep(200),
  ("`"):rep(500),
}

local function random_lines()
  local lines = {}
  for i = 1, math.random(0, 60) do
    lines[i] = PIECES[math.random(#PIECES)]
    if math.random(6) == 1 then
      lines[i] = lines[i] .. string.char(math.random(0, 9), math.random(11, 255))
    end
  end
  return lines
end

local found = 0
for seed = 1, 2000 do
  math.randomseed(seed)
  local lines = random_lines()
  local whole = seams.find(lines)
  for i, row in ipairs(whole.starts) do
    assert(
      row >= (whole.starts[i - 1] or -1) + 1 and row < #lines,
      "seed " .. seed .. ": rows ascend and are there"
    )
  end
  if whole.fence then
    local opening = lines[whole.starts[#whole.starts] + 1]
    assert(opening:find("^```") or opening:find("^~~~"), "seed " .. seed .. ": a fence begins with one")
  end
  -- A stream may have come so far when it is looked at.
  local count = math.random(0, #lines)
  local part = seams.find(vim.list_slice(lines, 1, count))
  local expected = vim.tbl_filter(function(row)
    return row < count
  end, whole.starts)
  if not vim.deep_equal(part.starts, expected) then
    eq("seed " .. seed .. ": what came later changes no seam", part.starts, expected)
  end
  found = found + #whole.starts
end
assert(found > 1500, "only " .. found .. " rows were found")
eq("each of them holds", true, true)

support.done()

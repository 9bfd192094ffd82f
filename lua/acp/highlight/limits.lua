--- What is too much for tree-sitter: how much of a text a parser is given, and which trees are not searched for
--- colours. Each limit counts bytes, columns or nodes, so that the same text always looks the same; time is
--- `highlight/budget.lua`'s part.

local M = {}

--- Bytes of a line that are read, in Markdown and in code. The rest stays plain. (Neovim's own 'synmaxcol' is 3000.)
M.LINE, M.CODE_LINE = 4000, 1000

--- Bytes of one block of Markdown, and of code, that are read as one text. Longer ones are read in parts.
M.BLOCK, M.CODE = 16384, 16384

--- Captures that are looked at in one go. Where code is nested a thousand deep in a line, one takes 5 us.
M.CAPTURES = 1000

--- Columns of what opens and indents quotes and lists. The Markdown parser writes out its open blocks into 1 KiB
--- without a look at the size: at 250 of them, such as a line of `>`, Neovim crashes. Each takes a column at least.
local NESTED = 200
--- Bytes that can't have more columns than that.
local SURELY_FEW = NESTED / 4

--- Bytes of tokens without a name that may stand side by side in a tree. A query looks from each of them at all that
--- follow, up to the next node with a name.
local RUN = 300
--- CPU seconds that the search for such a run may take. Only where a tree is thousands of nodes deep it takes so long.
local SEARCH = 0.004

--- Signs of Markdown that are open at once in a paragraph: the parser tries each as what it may be, and as plain text.
local OPEN = 100
local SIGNS = { "*", "_", "~", "[" }

--- As much of a line as a parser may read.
---@param line string
---@param longest integer bytes
---@return string
function M.line(line, longest)
  if #line > longest then
    line = line:sub(1, longest)
  end
  if #line > SURELY_FEW then
    local _, stop = line:find("^[%s>*+%-%d.)]*")
    if stop > SURELY_FEW then
      local column = 0
      for at = 1, stop do
        column = line:byte(at) == 9 and column + 4 - column % 4 or column + 1
        if column > NESTED then
          return line:sub(1, at - 1)
        end
      end
    end
  end
  return line
end

--- Cuts the lines of a paragraph where too much is open. A sign that may open and close closes what is open.
---@param lines string[] that are changed
---@param first integer
---@param last integer
local function cut_unclosed(lines, first, last)
  local open, total = { ["["] = 0, ["*"] = 0, ["_"] = 0, ["~"] = 0 }, 0
  for i = first, last do
    local line = lines[i]
    local opened, previous = false, 0
    for at, sign in line:gmatch("()([%*_~%[%]])") do
      local kind = sign == "]" and "[" or sign
      -- A run of a sign is of one kind.
      local goes_on = previous == at - 1 and line:byte(previous) == line:byte(at)
      local may_close = sign == "]"
        or sign ~= "["
          and (goes_on and not opened or not goes_on and line:find("^%S", at - 1) ~= nil and at > 1)
      previous, opened = at, false
      if may_close and open[kind] > 0 then
        open[kind], total = open[kind] - 1, total - 1
      elseif sign ~= "]" and (sign == "[" or line:find("^%S", at + 1)) then
        open[kind], total, opened = open[kind] + 1, total + 1, true
      end
      if total > OPEN then
        lines[i] = line:sub(1, at - 1)
        open[kind], total = open[kind] - 1, total - 1
        break
      end
    end
  end
end

--- How many of these signs a line has, up to one more than may be open. Nearly all lines have few: to look for each
--- sign by itself takes a tenth of the time that a pattern takes.
---@param line string
---@return integer
local function count_signs(line)
  local count = 0
  for _, sign in ipairs(SIGNS) do
    local at = line:find(sign, 1, true)
    while at and count <= OPEN do
      count = count + 1
      at = line:find(sign, at + 1, true)
    end
  end
  return count
end

--- The same in each paragraph that has so many signs at all.
---@param lines string[] that are changed
local function cut_paragraphs(lines)
  local first, signs = 1, 0
  for i = 1, #lines + 1 do
    local line = lines[i]
    if not line or not line:find("%S") then
      if signs > OPEN then
        cut_unclosed(lines, first, i - 1)
      end
      first, signs = i + 1, 0
    elseif #line > 1 and not line:find("^~~~") then
      signs = signs + count_signs(line)
    end
  end
end

--- What a parser may read of lines.
---@param lines string[] that are changed
---@param longest integer bytes of a line
---@param lang string? of code
---@return string[]
function M.lines(lines, longest, lang)
  for i, line in ipairs(lines) do
    lines[i] = M.line(line, longest)
  end
  if lang == "markdown_inline" then
    cut_unclosed(lines, 1, #lines)
  elseif lang == "markdown" or longest ~= M.CODE_LINE then
    cut_paragraphs(lines)
  end
  return lines
end

---@param root TSNode
---@param row integer
---@param col integer
---@return boolean
local function begins_run(root, row, col)
  local node = root:descendant_for_range(row, col, row, col + 1)
  if not node or node:named() then
    return false
  end
  local _, _, from = node:start()
  local following, upto = node:next_named_sibling(), nil
  if following then
    _, _, upto = following:start()
  else
    _, _, upto = assert(node:parent() or root):end_()
  end
  return upto - from > RUN
end

---@param root TSNode
---@param lines string[]
---@param shift integer
---@return boolean
local function has_run(root, lines, shift)
  local first, _, last = root:range()
  local unseen, deadline = RUN, os.clock() + SEARCH
  for i = math.max(first - shift + 1, 1), math.min(last - shift + 1, #lines) do
    local line = lines[i]
    local at = RUN - unseen
    while at < #line do
      local col = line:find("%S", at + 1)
      if col and begins_run(root, i - 1 + shift, col - 1) or os.clock() > deadline then
        return true
      end
      at, unseen = at + RUN, 0
    end
    unseen = #line == 0 and unseen or math.min(#line - (at - RUN), RUN)
  end
  return false
end

---@type table<TSTree, boolean>
local known = setmetatable({}, { __mode = "k" })

--- Whether a query would take too long for a tree: only one of code that is no code. To iterate over the children of
--- such a node takes as long, so the tree is sampled.
---@param tree TSTree
---@param lines string[] all that the tree was made of
---@param shift integer how much further down than `lines` the tree stands
---@return boolean
function M.is_tangled(tree, lines, shift)
  local tangled = known[tree]
  if tangled == nil then
    local root = tree:root()
    tangled = root:has_error() and has_run(root, lines, shift)
    known[tree] = tangled
  end
  return tangled
end

--- Why something is plain, in words that follow "these lines have no colours: ".
M.reasons = {
  cut = "a line that is this long, or that opens this much, is read up to a limit",
  slow = "the parser takes too long to read this code",
  tangled = "this code has too many errors",
}

--- Whether a parser reads less of a line than there is.
---@param line string
---@param longest integer
---@return boolean
function M.is_cut(line, longest)
  return #M.lines({ line }, longest)[1] < #line
end

return M

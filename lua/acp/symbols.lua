--- The functions, classes and the like of a buffer, as its treesitter parser knows them: the one at the cursor, or
--- one by its name. Without a parser there are none. Used by what prompts refer to.

---@diagnostic disable-next-line: unresolved-require
local budget = require("acp.highlight.budget")

local M = {}

-- A text of more bytes is not parsed for this, nor one that takes more slices.
local MOST_BYTES = 256 * 1024
local MOST_SLICES = 20
-- No more nodes are looked at.
local MOST_NODES = 20000

local things = {
  "function",
  "method",
  "class",
  "struct",
  "enum",
  "interface",
  "trait",
  "impl",
  "module",
  "constructor",
  "type",
}
local endings = { "_definition$", "_declaration$", "_item$", "_specifier$" }
local others =
  { method = true, singleton_method = true, class = true, module = true, section = true, mod_item = true }

--- Whether a node of this type is something that one would name.
---@param kind string
local function is_definition(kind)
  if others[kind] then
    return true
  end
  for _, ending in ipairs(endings) do
    if kind:find(ending) then
      for _, thing in ipairs(things) do
        if kind:find(thing, 1, true) then
          return true
        end
      end
    end
  end
  return false
end

--- What a definition is called, if it has a name.
---@param text string
---@param node TSNode
---@return string?
local function name_of(text, node)
  local name = node:field("name")[1] or node:field("type")[1]
  local inner = node
  while not name do
    inner = inner:field("declarator")[1]
    if not inner then
      break
    end
    if #inner:field("declarator") == 0 then
      name = inner
    end
  end
  if not name and node:type() == "section" then
    name = node:named_child(0)
  end
  local called = name and vim.treesitter.get_node_text(name, text)
  return called and vim.trim((called:gsub("^#+%s*", ""):match("^[^\n]*")))
end

--- The root of a buffer's tree, and the text that it is of. The user's own parser of the buffer is left alone: it
--- knows nothing of slices.
---@param buf integer
---@return TSNode? root
---@return string text
local function root_of(buf)
  local bytes = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf))
  local lang = vim.treesitter.language.get_lang(vim.bo[buf].filetype)
  if bytes > MOST_BYTES or not lang then
    return nil, ""
  end
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  local ok, parser = pcall(budget.parser, text, lang, { injections = { [lang] = "" } })
  if not ok then
    return nil, ""
  end
  for _ = 1, MOST_SLICES do
    local well, state = pcall(budget.parse, parser, false)
    if well and state == "done" then
      local tree = select(2, next(parser:trees()))
      return tree and tree:root(), text
    elseif state ~= "paused" then
      break
    end
  end
  return nil, ""
end

--- Calls `fn` with each definition and its name, until it returns something.
---@param buf integer
---@param fn fun(node: TSNode, name: string?): boolean?
local function each(buf, fn)
  local root, text = root_of(buf)
  local queue, at, seen = { root }, 1, 0
  while queue[at] and seen < MOST_NODES do
    local node = queue[at]
    at = at + 1
    for child in node:iter_children() do
      seen = seen + 1
      if child:named() then
        if is_definition(child:type()) and fn(child, name_of(text, child)) then
          return
        end
        queue[#queue + 1] = child
      end
    end
  end
end

---@param node TSNode
local function lines_of(node)
  local first, _, last, column = node:range()
  -- One that ends at the beginning of a line ends with the line before.
  if column == 0 and last > first then
    last = last - 1
  end
  return first + 1, last + 1
end

--- The names of what a buffer defines, in the order of its lines, each once.
---@param buf integer
---@return string[]
function M.names(buf)
  local found, seen = {}, {}
  each(buf, function(node, name)
    if name and name ~= "" and not name:find("%s") and not seen[name] then
      seen[name] = true
      found[#found + 1] = { name = name, line = (node:range()) }
    end
  end)
  table.sort(found, function(a, b)
    return a.line < b.line
  end)
  return vim.tbl_map(function(one)
    return one.name
  end, found)
end

--- The first and the last line of a definition: of the one with this name, else of the innermost at the cursor.
---@param buf integer
---@param name? string
---@return integer? first
---@return integer? last
function M.lines(buf, name)
  local found
  if name then
    each(buf, function(node, called)
      -- `M.new` may be called new.
      if called and (called == name or called:match("[%w_]+$") == name) then
        found = node
        return true
      end
    end)
  else
    local win = vim.fn.bufwinid(buf)
    local row, column
    if win > 0 then
      row, column = unpack(vim.api.nvim_win_get_cursor(win))
    else
      row, column = unpack(vim.api.nvim_buf_get_mark(buf, '"'))
    end
    local root = root_of(buf)
    local line = row > 0 and vim.api.nvim_buf_get_lines(buf, row - 1, row, false)[1] or ""
    -- In the indent one is in what begins there.
    column = math.max(column, #line:match("^%s*"))
    local node = root and row > 0 and root:named_descendant_for_range(row - 1, column, row - 1, column)
    while node and not is_definition(node:type()) do
      node = node:parent()
    end
    found = node
  end
  if found then
    return lines_of(found)
  end
end

return M

--- The functions, classes and the like of a buffer: the one at the cursor, or one by its name. A language server that is
--- attached to the buffer knows best, and is asked with a deadline (`fetch`); where there is none, or it has not
--- answered, the buffer's treesitter parser is asked. Without that there are none. Used by what prompts refer to.

---@diagnostic disable-next-line: unresolved-require
local budget = require("acp.highlight.budget")

local M = {}

-- A text of more bytes is not parsed for this, nor one that takes more slices.
local MOST_BYTES = 256 * 1024
local MOST_SLICES = 20
-- No more nodes are looked at.
local MOST_NODES = 20000

-- A language server that takes longer, in ms, is not waited for.
M.patience = 1000

--- What a language server said of a buffer, as long as that has not changed since. One buffer at a time is enough.
---@type { buf: integer, tick: integer, symbols: { name: string, first: integer, last: integer, is_thing: boolean }[] }?
local told

-- Kinds of symbols that one would name, as the protocol numbers them: module, namespace, package, class, method,
-- constructor, enum, interface, function, object, struct.
local kinds =
  { [2] = 1, [3] = 1, [4] = 1, [5] = 1, [6] = 1, [9] = 1, [10] = 1, [11] = 1, [12] = 1, [19] = 1, [23] = 1 }

local METHOD = "textDocument/documentSymbol"

--- The clients that may be asked about a buffer's symbols.
---@param buf integer
---@return vim.lsp.Client[]
local function clients_of(buf)
  -- Nobody has to load it for this.
  if not package.loaded["vim.lsp"] then
    return {}
  end
  return vim.lsp.get_clients({ bufnr = buf, method = METHOD })
end

---@param buf integer
local function is_fresh(buf)
  return told ~= nil and told.buf == buf and told.tick == vim.api.nvim_buf_get_changedtick(buf)
end

--- Whether it is worth to wait for what a language server says of a buffer.
---@param buf integer
---@return boolean
function M.is_worth_asking(buf)
  return not is_fresh(buf) and #clients_of(buf) > 0
end

--- The symbols of an answer, with those in others.
local function flat(result)
  local list, queue, at = {}, { result }, 1
  while queue[at] and #list < MOST_NODES do
    for _, symbol in ipairs(queue[at]) do
      -- A server may give ranges, or locations as the older form of the answer has them.
      local range = symbol.range or symbol.location and symbol.location.range
      if type(symbol.name) == "string" and range then
        local last = range["end"].line + 1
        if range["end"].character == 0 and last > range.start.line + 1 then
          last = last - 1
        end
        list[#list + 1] = {
          name = vim.trim(symbol.name),
          first = range.start.line + 1,
          last = last,
          is_thing = kinds[symbol.kind] ~= nil,
        }
      end
      if type(symbol.children) == "table" then
        queue[#queue + 1] = symbol.children
      end
    end
    at = at + 1
  end
  return list
end

--- Has the buffer's language servers asked, and calls `done` when one has answered, or none will in time. Not at once.
---@param buf integer
---@param done fun()
function M.fetch(buf, done)
  local is_done = false
  local function finish()
    if not is_done then
      is_done = true
      done()
    end
  end
  local left = 0
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local params = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
  local function answered(_, result)
    left = left - 1
    local ok, symbols = pcall(flat, type(result) == "table" and result or {})
    if ok and #symbols > 0 then
      told = { buf = buf, tick = tick, symbols = symbols }
      return finish()
    elseif left == 0 then
      finish()
    end
  end
  for _, client in ipairs(clients_of(buf)) do
    local handler = vim.schedule_wrap(answered)
    local ok, sent
    if vim.fn.has("nvim-0.11") == 1 then
      ok, sent = pcall(client.request, client, METHOD, params, handler, buf)
    else
      ok, sent = pcall(client.request, METHOD, params, handler, buf)
    end
    left = left + (ok and sent and 1 or 0)
  end
  if left == 0 then
    vim.schedule(finish)
  else
    vim.defer_fn(finish, M.patience)
  end
end

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
  if told and is_fresh(buf) then
    for _, symbol in ipairs(told.symbols) do
      if symbol.is_thing and symbol.name ~= "" and not symbol.name:find("%s") and not seen[symbol.name] then
        seen[symbol.name] = true
        found[#found + 1] = symbol
      end
    end
    table.sort(found, function(a, b)
      return a.first < b.first
    end)
    return vim.tbl_map(function(symbol)
      return symbol.name
    end, found)
  end
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

--- Where the user is in a buffer, from 1 and from 0.
---@param buf integer
---@return integer row
---@return integer column
local function place_in(buf)
  local win = vim.fn.bufwinid(buf)
  local place = win > 0 and vim.api.nvim_win_get_cursor(win) or vim.api.nvim_buf_get_mark(buf, '"')
  return place[1] or 1, place[2] or 0
end

---@param called string
---@param name string
local function is_called(called, name)
  -- `M.new` may be called new.
  return called == name or called:match("[%w_]+$") == name
end

--- The same as `lines` by what a language server has said.
---@param symbols { name: string, first: integer, last: integer, is_thing: boolean }[]
local function told_lines(symbols, buf, name)
  local best
  local row = place_in(buf)
  for _, symbol in ipairs(symbols) do
    local fits
    if name then
      fits = is_called(symbol.name, name) and (not best or symbol.is_thing and not best.is_thing)
    else
      fits = symbol.is_thing and symbol.first <= row and row <= symbol.last
      -- The innermost one.
      fits = fits and (not best or symbol.last - symbol.first <= best.last - best.first)
    end
    if fits then
      best = symbol
    end
  end
  if best then
    return best.first, math.min(best.last, vim.api.nvim_buf_line_count(buf))
  end
end

--- The first and the last line of a definition: of the one with this name, else of the innermost at the cursor.
---@param buf integer
---@param name? string
---@return integer? first
---@return integer? last
function M.lines(buf, name)
  if told and is_fresh(buf) then
    local first, last = told_lines(told.symbols, buf, name)
    if first then
      return first, last
    end
  end
  local found
  if name then
    each(buf, function(node, called)
      if called and is_called(called, name) then
        found = node
        return true
      end
    end)
  else
    local row, column = place_in(buf)
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

--- What the syntax trees know, for agents' tools: the outline of a file, and what is around a line. They need a parser
--- for the file's language, and no language server.

---@diagnostic disable-next-line: unresolved-require
local budget = require("acp.highlight.budget")
local file = require("acp.tools.file")

local M = {}

-- What a file of this many bytes or more holds is not parsed for an agent.
local LARGEST = 1024 * 1024
-- An outline names no more, and looks no deeper.
local MOST, DEEPEST = 2000, 60
-- Of the text around a line, no more.
local LINES = 200

-- A node of which the type has one of these in it defines something.
local DEFINES = {
  "function",
  "method",
  "class",
  "struct",
  "enum",
  "interface",
  "trait",
  "impl",
  "module",
  "namespace",
  "type_alias",
  "macro",
  "constructor",
}
-- Unless it ends like this.
local NOT =
  { "call", "type", "parameters", "body", "invocation", "expression", "specifier", "identifier", "name" }

local function defines(kind)
  for _, word in ipairs(NOT) do
    if
      vim.endswith(kind, word)
      and kind ~= "arrow_function"
      and kind ~= "class_specifier"
      and kind ~= "struct_specifier"
    then
      return false
    end
  end
  for _, word in ipairs(DEFINES) do
    if kind:find(word, 1, true) then
      return true
    end
  end
  return false
end

--- Goes on with the tree of a file.
local function with_tree(args, ctx, go_on)
  file.open(args.file, ctx, function(buf)
    if vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) > LARGEST then
      ctx.done(nil, args.file .. " is too large for a syntax tree")
      return
    end
    local kind = vim.bo[buf].filetype
    local language = vim.treesitter.language.get_lang(kind) or kind
    local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
    -- The user's own parser of the buffer is left alone: it knows nothing of slices.
    local ok, parser = pcall(budget.parser, text, language, { injections = { [language] = "" } })
    if not ok then
      local name = kind ~= "" and kind or "this kind of file"
      ctx.done(nil, ("there is no treesitter parser for %s"):format(name))
      return
    end
    local slice
    slice = ctx.guard(function()
      local well, state = pcall(budget.parse, parser, false)
      if well and state == "paused" then
        return vim.defer_fn(slice, 1)
      end
      local tree = select(2, next(parser:trees()))
      if not well or state ~= "done" or not tree then
        ctx.done(nil, args.file .. " takes too long to parse")
        return
      end
      go_on(buf, tree:root(), text)
    end)
    slice()
  end)
end

--- What a definition is called: its name, or else its first line.
local function name_of(node, buf, source)
  local names = node:field("name")
  local named = names[1] or node:field("declarator")[1] or node:field("type")[1]
  local text = named and vim.treesitter.get_node_text(named, source)
  if not text then
    local row = node:start()
    text = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
  end
  return vim.trim((text:gsub("\n.*", "")))
end

local function item(node, buf, depth, source)
  local first, _, last, column = node:range()
  return {
    line = first + 1,
    last_line = column == 0 and math.max(last, first + 1) or last + 1,
    depth = depth,
    text = name_of(node, buf, source),
    kind = node:type():gsub("_", " "),
  }
end

function M.outline(args, ctx)
  with_tree(args, ctx, function(buf, root, source)
    local items = {}
    local function walk(node, depth, level)
      for child in node:iter_children() do
        if #items >= MOST or level > DEEPEST then
          return
        end
        local is_definition = child:named() and defines(child:type())
        if is_definition then
          table.insert(items, item(child, buf, depth, source))
        end
        walk(child, is_definition and depth + 1 or depth, level + 1)
      end
    end
    walk(root, 0, 0)
    ctx.done({ total = #items, items = vim.list_slice(items, args.offset + 1, args.offset + args.limit) })
  end)
end

function M.node(args, ctx)
  with_tree(args, ctx, function(buf, root)
    local line = vim.api.nvim_buf_get_lines(buf, args.line - 1, args.line, false)[1]
    if not line then
      ctx.done(nil, ("%s has %d lines"):format(args.file, vim.api.nvim_buf_line_count(buf)))
      return
    end
    local column = file.byte_of(line, nil, args.column)
    local node = root:named_descendant_for_range(args.line - 1, column, args.line - 1, column)
    local around, definition = {}, nil
    while node and node:parent() do
      local first, _, last = node:range()
      table.insert(around, ("%s, lines %d to %d"):format(node:type(), first + 1, last + 1))
      definition = definition or (defines(node:type()) and node or nil)
      node = node:parent()
    end
    local text =
      { "From the inside out: " .. (#around > 0 and table.concat(around, "; ") or "the whole file") }
    if definition then
      local first, _, last, end_column = definition:range()
      last = end_column == 0 and last or last + 1
      local lines = vim.api.nvim_buf_get_lines(buf, first, math.min(last, first + LINES), false)
      table.insert(text, ("Lines %d to %d:"):format(first + 1, first + #lines))
      table.insert(text, table.concat(lines, "\n"))
      if last > first + LINES then
        table.insert(text, ("(%d more lines)"):format(last - first - LINES))
      end
    end
    ctx.done({ text = table.concat(text, "\n") })
  end)
end

return M

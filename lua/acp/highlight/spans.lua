--- Reads Markdown that stands in a list of lines: the segments to colour, row by row, and the rows at
--- which blocks begin. Uses Neovim's public treesitter functions only, so a user's own parsers and queries
--- count. Which text to read, and when, is up to the caller.

local api, ts = vim.api, vim.treesitter
local budget = require("acp.highlight.budget")
local limits = require("acp.highlight.limits")
local tables = require("acp.highlight.tables")

local M = {}

---@type fun(message: string)? called with what went wrong, once for each different text
M.on_error = nil
---@type table<string, true>
local reported = {}

--- What fails is a parser or a query, often one of the user's own: the text stays plain, and one message
--- says so.
---@param message any
function M.report(message)
  message = tostring(message)
  if not reported[message] then
    reported[message] = true
    if M.on_error then
      pcall(M.on_error, message)
    end
  end
end

---@class acp.highlight.Text A text and the parser over it.
---@field lines string[]
---@field source string|integer what is parsed, one row further down than the lines
---@field parser vim.treesitter.LanguageTree
---@field has_bars boolean? whether there may be a table in it
---@field guard userdata? removes the hidden buffer that is the source, when the text is no longer used

--- Part of one row: the column, the column after it, the group's id or 0, the priority that the query
--- asks for, and `conceal`, `url`, `conceal_lines`. The eighth is the rank among the row's segments. One with `blank`
--- has no text of its own: that is what is shown there.
---@alias acp.highlight.Segment table

---@alias acp.highlight.Rows table<integer, acp.highlight.Segment[]>

---@type table<vim.treesitter.Query, {groups: table<integer, integer>, links: table<integer, true>}>
local captures_by_query = setmetatable({}, { __mode = "k" })
---@type table<string, true> languages whose query can't be used
local failing = {}

--- Links that name a definition. Agents hardly ever give one, and what looks like such a link is code or a path nearly
--- always (`items[i]`, `app/[id].tsx`, `[todo]`), which has to be read as it is written: these are no links here.
local REFERENCES = { shortcut_link = true, collapsed_reference_link = true, full_reference_link = true }

--- A language's query, and the groups of its captures: 0 for those that only carry data (`@_url`), -1 for
--- those that say where to spell. With the captures that are parts of links.
---@param lang string
---@return vim.treesitter.Query?
---@return table<integer, integer>? groups
---@return table<integer, true>? links
function M.query(lang)
  if failing[lang] then
    return nil
  end
  local ok, query = pcall(ts.query.get, lang, "highlights")
  if not ok then
    failing[lang] = true
    M.report(query)
    return nil
  elseif not query then
    return nil
  end
  local known = captures_by_query[query]
  if not known then
    local groups, links = {}, {}
    for id, name in pairs(query.captures) do
      if lang == "markdown_inline" and vim.startswith(name, "markup.link") then
        links[id] = true
      end
      if name == "spell" or name == "nospell" then
        groups[id] = -1
      elseif name:sub(1, 1) == "_" then
        groups[id] = 0
      else
        groups[id] = api.nvim_get_hl_id_by_name("@" .. name .. "." .. lang)
      end
    end
    known = { groups = groups, links = links }
    captures_by_query[query] = known
  end
  return query, known.groups, known.links
end

---@param node TSNode
local function is_of_reference(node)
  local parent = node:parent()
  return parent ~= nil and REFERENCES[parent:type()] ~= nil
end

--- A link's target may be the text of another capture of the match. In a string, `get_node_text` does
--- not know of `#offset!`, so the text is cut out here.
local function url_of(url, match, metadata, source)
  if type(url) ~= "number" then
    return url
  end
  -- Up to 0.10 the match is the table of its nodes.
  local nodes = (type(match) == "table" and match or match:captures())[url]
  local node = type(nodes) == "table" and nodes[1] or nodes
  if not node then
    return nil
  end
  local range = ts.get_range(node, source, metadata[url])
  if type(source) ~= "string" then
    return table.concat(api.nvim_buf_get_text(source, range[1], range[2], range[4], range[5], {}), "\n")
  end
  return source:sub(range[3] + 1, range[6])
end

--- Bytes of rows from which on the rows are read one by one, each up to its limit.
local MANY = 65536

--- Lines of a buffer, those cut short that are too much for a parser.
---@param buf integer
---@param from integer
---@param to integer exclusive
---@param longest integer? bytes of a line
---@param lang string? of code
---@return string[]
function M.lines(buf, from, to, longest, lang)
  longest = longest or limits.LINE
  local lines
  to = math.min(to, api.nvim_buf_line_count(buf))
  if to > from and api.nvim_buf_get_offset(buf, to) - api.nvim_buf_get_offset(buf, from) > MANY then
    lines = {}
    for row = from, to - 1 do
      lines[#lines + 1] = api.nvim_buf_get_text(buf, row, 0, row, longest, {})[1]
    end
  else
    lines = api.nvim_buf_get_lines(buf, from, to, false)
  end
  return limits.lines(lines, longest, lang)
end

--- From Neovim 0.12 on a parser keeps to its slices in buffers only. Longer texts than this are worth one. Bytes.
local LONGEST_STRING = vim.fn.has("nvim-0.12") == 1 and 1500 or math.huge

--- A parser over lines, and what it reads.
---@param lines string[]
---@param lang string
---@param opts table?
---@return vim.treesitter.LanguageTree parser
---@return string|integer source
---@return userdata? guard to be kept as long as the parser is used
function M.parser(lines, lang, opts)
  local text = table.concat(lines, "\n") .. "\n"
  if #text <= LONGEST_STRING then
    return budget.parser(text, lang, opts), text
  end
  local buf = api.nvim_create_buf(false, true)
  -- Nothing says when a text is no longer used, so that is left to the collector of garbage.
  local guard = newproxy(true)
  getmetatable(guard).__gc = vim.schedule_wrap(function()
    if api.nvim_buf_is_valid(buf) then
      api.nvim_buf_delete(buf, { force = true })
    end
  end)
  vim.bo[buf].undolevels = -1
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  return budget.parser(buf, lang, opts), buf, guard
end

--- The text is read one row further down, for a `---` in the first row of a text would be front matter.
---@param lines string[]
---@param opts table? of the parser
---@return acp.highlight.Text
function M.text(lines, opts)
  local shifted = { "" }
  for i, line in ipairs(lines) do
    shifted[i + 1] = line
  end
  local parser, source, guard = M.parser(shifted, "markdown", opts)
  budget.spare(parser, function(tree)
    return limits.is_tangled(tree, lines, 1)
  end)
  return { lines = lines, source = source, parser = parser, guard = guard }
end

--- The languages in Markdown, but none of those that are read as one text in all their places: such a one
--- makes Neovim search a whole text for each few rows of it.
local function injections()
  local source = {}
  for _, file in ipairs(ts.query.get_files("markdown", "injections")) do
    source[#source + 1] = table.concat(vim.fn.readfile(file), "\n")
  end
  local query = table.concat(source, "\n"):gsub("%(#set!%s+injection%.combined[^)]*%)", "")
  return { markdown = query }
end

---@type table<string, string>|false|nil
local own_injections

--- A text that is too long to be parsed with all its languages at once.
---@param lines string[]
---@return acp.highlight.Text
function M.long_text(lines)
  if own_injections == nil then
    local ok, found = pcall(injections)
    own_injections = ok and found
  end
  return M.text(lines, own_injections and { injections = own_injections })
end

--- Parses for a slice. One that fails, or that would take too long, is left out.
---@param parser vim.treesitter.LanguageTree
---@param range boolean|Range
---@return boolean done
---@return string? state
function M.parse_slice(parser, range)
  local ok, state = pcall(budget.parse, parser, range)
  if not ok then
    M.report(state)
  end
  return not ok or state ~= "paused", ok and state or nil
end

--- Parses a slice of the blocks of a text, without the languages in them.
---@param text acp.highlight.Text
---@return boolean done
function M.parse_blocks(text)
  return (M.parse_slice(text.parser, false))
end

--- Parses a slice of a text, or of some rows of it, with all languages.
---@param text acp.highlight.Text
---@param from integer?
---@param to integer? exclusive
---@return boolean done
function M.parse(text, from, to)
  return (M.parse_slice(text.parser, from and { from + 1, to + 1 } or true))
end

--- Adds the captures of one tree, cut into one segment for each row: a mark over many rows would have
--- to be set anew, and all of its rows be drawn anew, each time its end moves.
local function add_captures(rows, offset, tree, query, groups, links, source, shift, lines, from, to)
  local captures = query:iter_captures(tree:root(), source, from + shift, to + shift)
  local count = 0
  for id, node, metadata, match in captures do
    count = count + 1
    if count > limits.CAPTURES then
      return
    end
    local group = groups[id]
    local own = metadata[id]
    local conceal = metadata.conceal or own and own.conceal
    local conceal_lines = metadata.conceal_lines or own and own.conceal_lines
    local url = own and own.url
    if url then
      url = url_of(url, match, metadata, source)
    end
    local is_shown = group > 0 or conceal or conceal_lines or url
    if is_shown and not (links[id] and is_of_reference(node)) then
      local first, col, last, end_col
      if own and (own.range or own.offset) then
        local range = ts.get_range(node, source, own)
        first, col, last, end_col = range[1], range[2], range[4], range[5]
      else
        first, col, last, end_col = node:range()
      end
      first, last = first - shift, last - shift
      local priority = tonumber(metadata.priority or own and own.priority) or 100
      for row = math.max(first, from), math.min(last, to - 1) do
        -- A block ends at the start of the next row, which may not exist yet: no mark may end there,
        -- or it would grow with the text.
        local length = #lines[row + 1]
        local start = row == first and col or 0
        local stop = row == last and math.min(end_col, length) or length
        if start < stop then
          local segments = rows[row + offset]
          if not segments then
            segments = {}
            rows[row + offset] = segments
          end
          segments[#segments + 1] = { start, stop, math.max(group, 0), priority, conceal, url, conceal_lines }
        end
      end
    end
  end
end

--- Adds the captures of a language's trees, but not those of the languages in it.
---@param rows acp.highlight.Rows
---@param offset integer added to the row of a line, to give the row in `rows`
---@param ltree vim.treesitter.LanguageTree
---@param source integer|string
---@param shift integer how much further down than `lines` the trees stand
---@param lines table<integer, string> by row + 1
---@param from integer
---@param to integer exclusive
function M.captures(rows, offset, ltree, source, shift, lines, from, to)
  local query, groups, links = M.query(ltree:lang())
  if not query or not groups or not links then
    return
  end
  for _, tree in pairs(ltree:trees()) do
    local first, _, last = tree:root():range()
    if first - shift < to and last - shift >= from then
      add_captures(rows, offset, tree, query, groups, links, source, shift, lines, from, to)
    end
  end
end

local function is_tangled(ltree, lines)
  for _, tree in pairs(ltree:trees()) do
    if limits.is_tangled(tree, lines, 1) then
      return true
    end
  end
  return false
end

local function walk(rows, offset, ltree, text, from, to)
  if ltree == text.parser or not is_tangled(ltree, text.lines) then
    M.captures(rows, offset, ltree, text.source, 1, text.lines, from, to)
  end
  for _, child in pairs(ltree:children()) do
    walk(rows, offset, child, text, from, to)
  end
end

--- The segments of some rows of a text that has been parsed, those of outer trees before inner ones.
---@param text acp.highlight.Text
---@param from integer
---@param to integer exclusive
---@param offset integer added to each row
---@return acp.highlight.Rows
function M.rows(text, from, to, offset)
  local rows = {}
  walk(rows, offset, text.parser, text, from, to)
  tables.add(rows, text, from, to, offset)
  return rows
end

local function add_starts(node, starts)
  for child in node:iter_children() do
    local kind = child:type()
    if kind == "section" or kind == "list" then
      add_starts(child, starts)
    elseif child:named() then
      local row = child:range() - 1
      if row > (starts[#starts] or -1) then
        starts[#starts + 1] = row
      end
      starts.kind = kind
    end
  end
end

--- The rows at which blocks begin, and the kind of the last. A list is taken apart at its items, since
--- each may be read without the others; nothing else is.
---@param text acp.highlight.Text
---@return integer[]|{kind: string?}
function M.starts(text)
  local starts = {}
  for _, tree in pairs(text.parser:trees()) do
    add_starts(tree:root(), starts)
  end
  return starts
end

return M

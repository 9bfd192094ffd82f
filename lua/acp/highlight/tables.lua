--- Aligns the columns of Markdown's tables with blanks that are only shown: the text stays as it is, for whoever copies
--- it. Which rows are a table is the parser's word; a table that would be wider than its window is left alone.

local M = {}

--- Cells that a line of the transcript has on the screen; none where somebody else draws its tables.
M.room = 80

--- Plugins that draw tables, by a module that they load, and how each is asked whether it draws in a buffer.
---@type table<string, fun(module: table, buf: integer): boolean>
local others = {
  ["render-markdown.core.manager"] = function(manager, buf)
    local table = manager.attached(buf) and require("render-markdown.state").get(buf).pipe_table
    return table and table.enabled ~= false
  end,
  ["markview.spec"] = function(spec, buf)
    local filetypes = spec.get({ "preview", "filetypes" }, { fallback = {}, ignore_enable = true })
    return vim.list_contains(filetypes, vim.bo[buf].filetype)
  end,
}

--- Whether another plugin draws the tables of a buffer: its blanks and ours would be too many.
---@param buf integer
---@return boolean
function M.are_drawn_by_others(buf)
  for name, draws in pairs(others) do
    local module = package.loaded[name]
    -- One that is built otherwise than we know may draw what it likes.
    local ok, found = pcall(draws, module, buf)
    if module and ok and found then
      return true
    end
  end
  return false
end

--- Longer tables are left alone.
local MOST_ROWS = 200

local width = vim.fn.strdisplaywidth

--- The cells of a row: where each begins and the byte after it, between its bars.
---@param line string
---@return integer[][]
local function cells_of(line)
  local cells, from, at = {}, nil, 1
  local first = line:find("%S") or 1
  if line:sub(first, first) == "|" then
    from, at = first + 1, first + 1
  else
    from = first
  end
  while at <= #line do
    local byte = line:sub(at, at)
    if byte == "\\" then
      at = at + 1
    elseif byte == "|" then
      cells[#cells + 1] = { from, at }
      from = at + 1
    end
    at = at + 1
  end
  if line:sub(from):find("%S") then
    cells[#cells + 1] = { from, #line + 1 }
  end
  return cells
end

--- A text without the signs of Markdown that are concealed in it.
---@param text string
---@return string
local function shown(text)
  if not text:find("[`*_~%[]") then
    return text
  end
  return (
    text
      :gsub("!?%[([^%]]*)%]%([^)]*%)", "%1")
      :gsub("`([^`]+)`", "%1")
      :gsub("%*%*(%S.-)%*%*", "%1")
      :gsub("~~(%S.-)~~", "%1")
      :gsub("%f[*]%*(%S[^*]-)%*%f[^*]", "%1")
  )
end

---@class acp.highlight.Cell
---@field from integer column, from 0
---@field to integer the column after it
---@field width integer on the screen

---@param line string
---@return acp.highlight.Cell[]
local function measured(line)
  local cells = {}
  for number, cell in ipairs(cells_of(line)) do
    local text = line:sub(cell[1], cell[2] - 1)
    cells[number] = { from = cell[1] - 1, to = cell[2] - 1, width = width(shown(text)) }
  end
  return cells
end

--- Which side the blanks of each column go to, as the row of dashes says.
---@param line string
---@return ("left"|"right"|"both")[]
local function sides_of(line)
  local sides = {}
  for number, cell in ipairs(cells_of(line)) do
    local text = vim.trim(line:sub(cell[1], cell[2] - 1))
    local left, right = text:sub(1, 1) == ":", text:sub(-1) == ":"
    sides[number] = right and (left and "both" or "left") or "right"
  end
  return sides
end

--- The blanks that a table lacks: for each row, from 0, where they go and how many.
---@param lines string[]
---@return table<integer, {[1]: integer, [2]: integer, [3]: string}[]>
function M.blanks(lines)
  if #lines < 2 or #lines > MOST_ROWS then
    return {}
  end
  local rows, widths = {}, {}
  for number, line in ipairs(lines) do
    rows[number] = measured(line)
    for column, cell in ipairs(rows[number]) do
      -- Dashes are as many as the widest cell needs.
      local least = number == 2 and 5 or cell.width
      widths[column] = math.max(widths[column] or 0, least)
    end
  end
  local all = 1
  for _, wide in ipairs(widths) do
    all = all + wide + 1
  end
  if all > M.room then
    return {}
  end
  local sides, blanks = sides_of(lines[2]), {}
  for number, cells in ipairs(rows) do
    local of_row = {}
    for column, cell in ipairs(cells) do
      local lacking = widths[column] - cell.width
      if lacking > 0 then
        local side = number == 2 and "dashes" or sides[column] or "right"
        local before = side == "left" and lacking or side == "both" and math.floor(lacking / 2) or 0
        if side == "dashes" then
          local dash = lines[number]:sub(cell.from + 1, cell.to):find("%-[^-]*$")
          of_row[#of_row + 1] = { dash and cell.from + dash or cell.to, lacking, "-" }
        else
          if before > 0 then
            of_row[#of_row + 1] = { cell.from, before, " " }
          end
          if lacking > before then
            of_row[#of_row + 1] = { cell.to, lacking - before, " " }
          end
        end
      end
    end
    blanks[number - 1] = of_row
  end
  return blanks
end

local function tables_in(node, found)
  for child in node:iter_children() do
    local kind = child:type()
    if kind == "pipe_table" then
      found[#found + 1] = child
    elseif kind == "section" then
      tables_in(child, found)
    end
  end
end

--- Whether lines may have a table: a row of dashes is what makes one.
---@param lines string[]
---@return boolean
function M.may_be_in(lines)
  return vim.iter(lines):any(function(line)
    return line:find("|", 1, true) ~= nil and line:find("^[%s|:>-]+$") ~= nil
  end)
end

--- Adds the blanks of the tables in a text to the segments of its rows.
---@param rows acp.highlight.Rows
---@param text acp.highlight.Text
---@param from integer
---@param to integer exclusive
---@param offset integer added to each row
function M.add(rows, text, from, to, offset)
  if text.has_bars == nil then
    text.has_bars = M.may_be_in(text.lines)
  end
  if not text.has_bars then
    return
  end
  for _, tree in pairs(text.parser:trees()) do
    local found = {}
    tables_in(tree:root(), found)
    for _, node in ipairs(found) do
      -- The text stands one row further down in its tree.
      local first, _, last, end_column = node:range()
      first, last = first - 1, end_column > 0 and last or last - 1
      local lines = vim.list_slice(text.lines, first + 1, last)
      while #lines > 0 and not lines[#lines]:find("|", 1, true) do
        lines[#lines] = nil
      end
      if first < to and first + #lines > from then
        for at, blanks in pairs(M.blanks(lines)) do
          local row = first + at
          if row >= from and row < to then
            for _, blank in ipairs(blanks) do
              rows[row + offset] = rows[row + offset] or {}
              table.insert(rows[row + offset], { blank[1], blank[1], 0, 100, blank = blank[3]:rep(blank[2]) })
            end
          end
        end
      end
    end
  end
end

return M

--- Finds rows at which a block of Markdown begins whatever stood before, from how lines begin alone: in a small
--- part of the time that a parser takes. Some such rows are missed, none is made up; where there is too
--- little, the parser is asked by the caller.

local M = {}

--- HTML blocks that go on over empty lines: how they begin, and what ends them.
local HTML = {
  { "^<[sS][cC][rR][iI][pP][tT][%s>]", "</[sS][cC][rR][iI][pP][tT]>" },
  { "^<[sS][cC][rR][iI][pP][tT]$", "</[sS][cC][rR][iI][pP][tT]>" },
  { "^<[pP][rR][eE][%s>]", "</[pP][rR][eE]>" },
  { "^<[pP][rR][eE]$", "</[pP][rR][eE]>" },
  { "^<[sS][tT][yY][lL][eE][%s>]", "</[sS][tT][yY][lL][eE]>" },
  { "^<[sS][tT][yY][lL][eE]$", "</[sS][tT][yY][lL][eE]>" },
  { "^<!%-%-", "%-%->" },
  { "^<%?", "%?>" },
  { "^<!%[CDATA%[", "%]%]>" },
  { "^<![A-Za-z]", ">" },
}

--- What ends the HTML block that a line begins, when that line does not.
---@param line string
---@return string? pattern
local function html_of(line)
  for _, kind in ipairs(HTML) do
    if line:find(kind[1]) then
      return not line:find(kind[2], 3) and kind[2] or nil
    end
  end
end

--- What the items of the list look like that a line begins.
---@param line string
---@return string? pattern
local function items_of(line)
  local sign = line:match("^([-*+])%s")
  if sign then
    return "^%" .. sign .. "%s"
  end
  local after = line:match("^%d+([.)])%s")
  return after and "^%d+%" .. after .. "%s"
end

---@class acp.highlight.Seams
---@field starts integer[] rows at which blocks begin, ascending
---@field fence boolean whether the last of them begins with a fence

--- Looks at lines that begin where a block does, up to the first fence, or up to where lines do not tell.
---@param lines string[]
---@return acp.highlight.Seams
function M.find(lines)
  local starts = {}
  -- Whether the next line at the margin begins a block; the items of the list that it may go on instead; whether
  -- the block may be HTML, which holds no fences; and what ends HTML that goes on over empty lines.
  local fresh, items, tagged, html = true, nil, false, nil
  for i, line in ipairs(lines) do
    local first = line:byte()
    local opens = line:find("^```+[^`]*$") or line:find("^~~~")
    if html then
      html = not line:find(html) and html or nil
    elseif not line:find("%S") then
      fresh, tagged = true, false
    elseif first == 32 or first == 9 then
      -- It goes on what is above, or is code.
      if line:find("^ ? ? ?```") or line:find("^ ? ? ?~~~") or line:find("^ ? ? ?<") then
        break
      end
      fresh = false
    elseif (opens and tagged) or (not fresh and html_of(line)) then
      break
    elseif opens then
      starts[#starts + 1] = i - 1
      return { starts = starts, fence = true }
    elseif fresh or (items and line:find(items)) then
      starts[#starts + 1] = i - 1
      items, html = items_of(line), html_of(line)
      tagged = first == 60
      fresh = line:find("^##?#?#?#?#?%s") ~= nil
    else
      items, tagged = nil, tagged or first == 60
    end
  end
  return { starts = starts, fence = false }
end

return M

--- The word that somebody is likely to have meant.

local M = {}

--- How many letters to insert, remove, replace, or swap with a neighbour.
---@param a string
---@param b string
---@return integer
local function distance(a, b)
  local before, last = {}, {} ---@type integer[], integer[]
  for j = 0, #b do
    last[j] = j
  end
  for i = 1, #a do
    local row = { [0] = i } ---@type integer[]
    for j = 1, #b do
      local replaced = last[j - 1] + (a:byte(i) == b:byte(j) and 0 or 1)
      row[j] = math.min(replaced, last[j] + 1, row[j - 1] + 1)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before, last = last, row
  end
  return last[#b] --[[@as integer]]
end

--- The known word that is nearest to this one; nil where none is near, as for a mistake in the options.
---@param word string
---@param known string[]
---@return string?
function M.of(word, known)
  local best, nearest
  for _, candidate in ipairs(known) do
    local far = distance(word, candidate)
    if far <= math.floor(math.max(#candidate, 3) / 3) and far < (best or math.huge) then
      best, nearest = far, candidate
    end
  end
  return nearest
end

return M

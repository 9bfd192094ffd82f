-- Greets people.
local M = {}
M.word = "Hello"

--- The line that greets one person.
function M.greet(name)
  return M.word .. ", " .. name .. "!"
end

return M

-- Calls a function until it succeeds.
local M = {}

--- The pause after attempt `n`, in ms.
function M.pause(n)
  return 100 * 2 ^ n
end

--- Calls `fn` up to `attempts` times.
function M.call(fn, attempts)
  for n = 1, attempts do
    local ok, result = pcall(fn)
    if ok then
      return result
    end
    vim.wait(M.pause(n))
  end
  error("gave up")
end

return M

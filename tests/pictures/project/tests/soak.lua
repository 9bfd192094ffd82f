-- Retries a function that often fails, many times: `nvim -l tests/soak.lua 5000`.
package.path = "src/?.lua;" .. package.path
local retry = require("retry")

-- A named pipe, when a picture is taken of a run: it stops halfway and waits for two lines.
local cues = vim.env.CHECK_CUES and assert(io.open(vim.env.CHECK_CUES))
local calls = tonumber(arg[1]) or 1000

retry.pause = function()
  return 0
end

io.stdout:write(("%d calls, every third may fail\n"):format(calls))
for count = 1, calls do
  retry.call(function()
    assert(count % 3 ~= 0 or math.random(2) == 1)
  end, 100)
  if count % 100 == 0 then
    io.stdout:write(("\r\27[36m%d of %d\27[0m"):format(count, calls))
    io.stdout:flush()
  end
  if cues and count == 3100 then
    cues:read("l")
    cues:read("l")
  end
end
io.stdout:write("\n\27[32mok\27[0m\n")

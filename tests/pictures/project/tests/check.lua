-- A small test runner: prints a line for each check.
local M = {}

local passed, failed = 0, 0

-- A named pipe, when pictures are taken of a run: each step waits for a line from it.
local cues = vim.env.CHECK_CUES and assert(io.open(vim.env.CHECK_CUES))

local function pause()
  if cues then
    cues:read("l")
  end
end

local function say(text)
  io.stdout:write(text, "\n")
  io.stdout:flush()
end

---@param name string
---@param run fun()
function M.that(name, run)
  pause()
  local ok, problem = pcall(run)
  if ok then
    passed = passed + 1
    say("\27[32mok\27[0m    " .. name)
  else
    failed = failed + 1
    say("\27[31mfail\27[0m  " .. name)
    say("  " .. problem)
  end
end

function M.done()
  pause()
  local colour = failed == 0 and "32" or "31"
  say(("\27[1;%sm%d passed, %d failed\27[0m"):format(colour, passed, failed))
  pause()
  os.exit(failed == 0 and 0 or 1)
end

return M

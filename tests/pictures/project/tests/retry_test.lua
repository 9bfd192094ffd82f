-- Run with `nvim -l tests/retry_test.lua`.
package.path = "src/?.lua;tests/?.lua;" .. package.path
local check = require("check")
local retry = require("retry")

check.that("returns the result", function()
  assert(retry.call(function()
    return 42
  end, 3) == 42)
end)

check.that("tries again", function()
  local calls = 0
  retry.call(function()
    calls = calls + 1
    assert(calls == 2, "too early")
  end, 2)
  assert(calls == 2)
end)

check.done()

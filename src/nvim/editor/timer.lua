-- A libuv timer whose callback runs in the main loop.
local callback = ...
local timer = assert(vim.uv.new_timer())
local run = vim.schedule_wrap(callback)

return {
  start = function(after, pace)
    timer:start(after, pace, run)
  end,
  stop = function()
    timer:stop()
  end,
}

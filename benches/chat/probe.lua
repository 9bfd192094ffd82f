--- What the driver of the benchmarks asks of the Neovim that is measured: how much time went by, how much
--- of it was spent computing, and how long the editor could not have taken a key. Results go to the driver
--- as the notification "measured".

local ffi = require("ffi")
local uv, api = vim.uv, vim.api

ffi.cdef([[
  typedef struct { long sec; long nsec; } bench_time;
  int clock_gettime(int clock, bench_time *time);
]])
local THREAD = jit.os == "OSX" and 16 or 3
local time = ffi.new("bench_time")

--- Milliseconds that this thread has computed for. `os.clock` would count the library's own threads.
local function main_ms()
  ffi.C.clock_gettime(THREAD, time)
  return tonumber(time.sec) * 1e3 + tonumber(time.nsec) / 1e6
end

--- Milliseconds that all threads together have computed for.
local function all_ms()
  local usage = uv.getrusage()
  return (usage.utime.sec + usage.stime.sec) * 1e3 + (usage.utime.usec + usage.stime.usec) / 1e3
end

--- The most that was ever resident, in MB; what is now, where the system does not tell.
local function peak()
  local file = io.open("/proc/self/status")
  local kilobytes = file and file:read("*a"):match("VmHWM:%s*(%d+)")
  if file then
    file:close()
  end
  return kilobytes and kilobytes / 1024 or uv.resident_set_memory() / 2 ^ 20
end

local M = {}

--- The time as the agent writes it into its text: units of ten microseconds, the last eight digits.
function M.stamp()
  local sec, usec = uv.gettimeofday()
  return (sec * 100000 + math.floor(usec / 10)) % 100000000
end

--- Calls back once the main thread has next to nothing to do, and `is_done` says so, if it is given. That is called where
--- no function of Neovim's can be.
function M.when_at_rest(act, is_done)
  local rest, before = assert(uv.new_timer()), main_ms()
  rest:start(100, 100, function()
    local main = main_ms()
    -- Less than a tenth of the time, of which the ticks are a part.
    if main - before < 10 and (not is_done or is_done()) then
      rest:close()
      act()
    end
    before = main
  end)
end

--- Says so to the driver.
function M.tell_at_rest()
  M.when_at_rest(vim.schedule_wrap(function()
    vim.rpcnotify(0, "rested")
  end))
end

local begun, shown

--- Measures from now until `last` stands in the buffer that `act` returns, or gives to its argument, and Neovim has come to rest;
--- without `last`, until it has come to rest after `act`, and `is_done` says so. With
--- `ticks` a timer looks every millisecond how much was computed since it last could: the most is the stall.
--- The timer itself costs some 4 % of a core, so what things cost is measured without it.
function M.run(last, ticks, act, is_done)
  local start = { wall = uv.hrtime(), main = main_ms(), all = all_ms(), memory = uv.resident_set_memory() }
  local stall, gap = 0, 0
  local timer = assert(uv.new_timer())
  local found
  begun, shown = start.wall, nil

  if ticks then
    local before, before_wall = start.main, start.wall
    timer:start(1, 1, function()
      local main, wall = main_ms(), uv.hrtime()
      stall, gap = math.max(stall, main - before), math.max(gap, (wall - before_wall) / 1e6)
      before, before_wall = main, wall
    end)
  end

  local function report()
    timer:close()
    local result = {
      wall_ms = (found - start.wall) / 1e6,
      cpu_s = (all_ms() - start.all) / 1e3,
      main_s = (main_ms() - start.main) / 1e3,
      stall_ms = stall,
      gap_ms = gap,
      shown_ms = shown and (shown - begun) / 1e6 or 0,
      memory_mb = (uv.resident_set_memory() - start.memory) / 2 ^ 20,
      peak_mb = peak() - start.memory / 2 ^ 20,
    }
    vim.schedule(function()
      vim.rpcnotify(0, "measured", result)
    end)
  end

  -- Reports once Neovim is at rest, and says so, if the end stands in one of the last of these lines, whatever
  -- else came with it: what follows in a later turn may stand behind it.
  local function report_end(buf, first, stop)
    for _, line in ipairs(api.nvim_buf_get_lines(buf, math.max(first, stop - 64), stop, false)) do
      if vim.endswith(line, last) then
        found = uv.hrtime()
        M.when_at_rest(report)
        return true
      end
    end
  end

  local function watch(buf)
    api.nvim_buf_attach(buf, false, {
      on_lines = function(_, _, _, first, _, stop)
        return report_end(buf, first, stop)
      end,
    })
  end

  -- A buffer that comes only now may have all of the text already.
  local function watch_new(buf)
    if not report_end(buf, 0, api.nvim_buf_line_count(buf)) then
      watch(buf)
    end
  end

  local buf = act(watch_new)
  if not last then
    found = uv.hrtime()
    M.when_at_rest(report, is_done)
  elseif buf then
    watch(buf)
  end
end

--- Answers the next question with its first choice, and notes when the user could see it.
function M.answer_question()
  vim.ui.select = function(items, _, choose)
    vim.cmd.redraw()
    shown = uv.hrtime()
    vim.schedule(function()
      choose(items[1], 1)
    end)
  end
end

--- What a run of a function costs the main thread on average, with what comes of it in the next ticks, in ms. Some
--- runs prepare what later ones need, so the middle one would be either.
local function cost_of(count, act)
  local before = main_ms()
  for _ = 1, count do
    act()
    vim.cmd.redraw()
    vim.wait(30)
  end
  return (main_ms() - before) / count
end

--- What a scroll by half a window costs in the middle of a buffer that is shown.
function M.scroll_cost(buf)
  local win = vim.fn.bufwinid(buf)
  api.nvim_set_current_win(win)
  api.nvim_win_set_cursor(win, { math.floor(api.nvim_buf_line_count(buf) / 2), 0 })
  return cost_of(20, function()
    vim.cmd.normal({ vim.keycode("<C-d>"), bang = true })
  end)
end

--- What it costs to show what `toggle` hides and shows.
function M.open_cost(toggle)
  return cost_of(10, function()
    toggle()
    toggle()
  end)
end

local NS = api.nvim_create_namespace("bench")

--- Shows a file beside the chat, changes its first and its last line, and puts a mark into every tenth.
function M.edit(path)
  local win = vim.fn.win_getid(1)
  api.nvim_win_call(win, function()
    vim.cmd.edit(vim.fn.fnameescape(path))
  end)
  local buf = api.nvim_win_get_buf(win)
  api.nvim_buf_set_lines(buf, 0, 1, true, { "the first line, which nobody saved" })
  api.nvim_buf_set_lines(buf, -2, -1, true, { "the last line, which nobody saved" })
  for row = 5, api.nvim_buf_line_count(buf) - 1, 10 do
    api.nvim_buf_set_extmark(buf, NS, row, 2, {})
  end
end

--- How many of these marks are not where they were put.
function M.lost_marks()
  local buf = api.nvim_win_get_buf(vim.fn.win_getid(1))
  local marks = api.nvim_buf_get_extmarks(buf, NS, 0, -1, {})
  local lost = 0
  for index, mark in ipairs(marks) do
    if mark[2] ~= index * 10 - 5 or mark[3] ~= 2 then
      lost = lost + 1
    end
  end
  return lost
end

return M

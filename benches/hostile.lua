-- How long texts that no parser likes hold Neovim for their colours: CPU of its main thread, of each slice of colouring
-- and of each redraw. Other programs' work is not in it. The scenario `hostile` of the benchmarks, or by hand:
--
--   nvim -u NONE -i NONE -n --headless -S benches/hostile.lua
--
-- $ACP_HOSTILE is a file for the figures as JSON, $ACP_HOSTILE_TEXTS how many of the texts to take. Each text comes at once and in pieces of 16 KiB, and is scrolled through. Goal: no slice over 8 ms, no redraw over 20.

local api, uv = vim.api, vim.uv
local root = vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2))))
vim.opt.runtimepath:prepend(root)
local SLICE, REDRAW = 8, 20

local ffi = require("ffi")
ffi.cdef([[typedef struct { long s; long ns; } acp_time; int clock_gettime(int, acp_time*);]])
local time = ffi.new("acp_time")
-- Of this thread alone, where the system tells (on Linux).
local function cpu()
  return ffi.C.clock_gettime(3, time) == 0 and tonumber(time.s) * 1e3 + tonumber(time.ns) / 1e6
    or os.clock() * 1e3
end

local worst, over, within = {}, 0, false
local function timed(kind, f)
  return function(...)
    if within then
      return f(...)
    end
    within = true
    local began = cpu()
    local ok, err = pcall(f, ...)
    local took = cpu() - began
    within = false
    worst[kind] = math.max(worst[kind] or 0, took)
    over = over + (took > (kind == "redraw" and REDRAW or SLICE) and 1 or 0)
    assert(ok, err)
  end
end

local wrap = vim.schedule_wrap
vim.schedule_wrap = function(f) ---@diagnostic disable-line: duplicate-set-field
  return wrap(timed("slice", f))
end
local hl = require("acp.highlight")
local marks = require("acp.highlight.marks")
for _, name in ipairs({ "open", "grew", "close" }) do
  hl[name] = timed("slice", hl[name])
end
local redraw = timed("redraw", function()
  vim.cmd("redraw")
end)

local function fence(lang, body)
  return "Before *it*.\n\n```" .. lang .. "\n" .. body .. "\n```\n\n*after* it\n"
end
local BAD = 'local s = [==[ x ]] "y\n'
local GOOD = '-- Reads it.\nlocal function read(path)\n  local file, err = io.open(path, "rb")\n'
  .. '  if not file then\n    return nil, ("no %s: %s"):format(path, err)\n  end\n  return file:read("*a")\nend\n\n'
local WORDS = {}
for i = 1, 100000 do
  WORDS[i] = "word" .. i .. " "
end
local TEXTS = {
  { "a paragraph in long lines", (table.concat(WORDS):gsub(("."):rep(4000), "%0\n")) },
  { "bad Lua, 0.03 MB", fence("lua", BAD:rep(1400)) },
  { "bad Lua, 0.1 MB", fence("lua", BAD:rep(4500)) },
  { "good Lua, 1 MB", fence("lua", GOOD:rep(5000)) },
  { "12,000 lines, no language", fence("", ("some words of output, nothing else\n"):rep(12000)) },
  { "12,000 lines, unknown one", fence("text", ("some words of output, nothing else\n"):rep(12000)) },
  { "2 MB of brackets", ("[`[[`]( `` ] ![ *_[\n"):rep(100000) },
  { "2 MB of them in a line", ("[`[[`]( `` ] ![ *_["):rep(100000) },
  { "8,000 brackets deep", fence("lua", ("("):rep(8000)) },
  { "20,000 braces over lines", fence("lua", ("{\n"):rep(20000)) },
  { "quotes 5,000 deep", (">"):rep(5000) .. " x\n" },
  { "2 MB of backticks", (("`"):rep(100) .. "\n"):rep(20000) },
  { "open emphasis", ("*a _b "):rep(300000) },
  { "a table of 20,000 rows", "|a|b|\n|-|-|\n" .. ("|*x*|`y`|\n"):rep(20000) },
  { "a paragraph of 2 MB", ("some *words* and `code` go on\n"):rep(70000) },
  { "10,000 fences", ("```lua\nlocal x\n```\n"):rep(10000) },
  { "fences in a fence", "````markdown\n" .. ("> - *x* [`\n```lua\n("):rep(5000) .. "\n````\n" },
}

vim.o.lines, vim.o.columns = 40, 120

local function give(text, size)
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].undolevels = -1
  api.nvim_win_set_buf(0, buf)
  hl.attach(buf)
  vim.cmd("redraw")
  hl.open(buf, 1, 0)
  worst, over = {}, 0
  local began, at, row = cpu(), 1, 1
  while at <= #text do
    local lines = vim.split(text:sub(at, at + size - 1), "\n", { plain = true })
    -- To take a line of megabytes out of the buffer would leave garbage, which is collected in somebody's slice.
    local length = api.nvim_buf_get_offset(buf, row) - api.nvim_buf_get_offset(buf, row - 1) - 1
    api.nvim_buf_set_text(buf, row - 1, length, row - 1, length, lines)
    at, row = at + size, row + #lines - 1
    hl.grew(buf, 1, row)
    api.nvim_win_set_cursor(0, { row, 0 })
    redraw()
    vim.wait(1)
  end
  hl.close(buf, 1, row)
  for _, to in ipairs({ row, 1, math.ceil(row / 2), row }) do
    api.nvim_win_set_cursor(0, { to, 0 })
    local count, since = -1, uv.now()
    repeat
      redraw()
      vim.wait(5)
      local now = #api.nvim_buf_get_extmarks(buf, marks.ns, 0, -1, {})
      count, since = now, now ~= count and uv.now() or since
    until uv.now() - since > 200
  end
  local total = cpu() - began
  hl.detach(buf)
  api.nvim_buf_delete(buf, { force = true })
  return total
end

-- What is loaded once is not what is measured.
give(fence("lua", GOOD) .. fence("c", "int x;") .. fence("markdown", "*x*"), 1e8)
io.stdout:write(
  ("%-28s %8s %9s %10s %6s %8s\n"):format("text", "pieces", "slice ms", "redraw ms", "over", "CPU s")
)
local sum = { slice = 0, redraw = 0, over = 0, cpu = 0, texts = 0 }
for at, entry in ipairs(TEXTS) do
  if at > (tonumber(os.getenv("ACP_HOSTILE_TEXTS")) or #TEXTS) then
    break
  end
  for _, size in ipairs({ 1e8, 16384 }) do
    local total = give(entry[2], size)
    sum.slice, sum.redraw = math.max(sum.slice, worst.slice or 0), math.max(sum.redraw, worst.redraw or 0)
    sum.over, sum.cpu, sum.texts = sum.over + over, sum.cpu + total / 1e3, sum.texts + 1
    io.stdout:write(
      ("%-28s %8s %9.1f %10.1f %6d %8.2f\n"):format(
        entry[1],
        size > 1e6 and "one" or "16 KiB",
        worst.slice or 0,
        worst.redraw or 0,
        over,
        total / 1e3
      )
    )
  end
end
local file = os.getenv("ACP_HOSTILE")
if file then
  vim.fn.writefile({ vim.json.encode(sum) }, file)
end
vim.cmd("qall!")

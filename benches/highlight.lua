-- What it costs to colour a streaming answer: CPU of Neovim for ten seconds of a paced stream, without colour, with
-- acp.highlight, and with a treesitter highlighter attached to the chat. Run by hand, in a quiet machine:
--
--   nvim -l benches/highlight.lua [way[:pace]] [prefill in KB] [seconds]
--
-- Ways: bare, ours, treesitter; without arguments a table of them. Every measurement is a Neovim of its own with a
-- terminal UI, in which a key is typed every 50 ms in another window.

local uv, api = vim.uv, vim.api
local self = debug.getinfo(1, "S").source:sub(2)
local root = vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(self, ":p"))))
local FRAME_MS, BYTES_PER_S = 12, 4000

local BLOCKS = {
  "The function below *reads* the file in one go, which is fine for **small** ones; see `io.lines` for the rest. "
    .. "It returns `nil` and a message when the file can't be opened, as [most of the library](https://lua.org) does, "
    .. "so the caller decides what to say about it.\n\n",
  "## What changes\n\n",
  "- the first item names the file `src/main.lua`\n- the second says *why* it matters\n  - nested, with **bold**\n"
    .. "  - nested again\n- and the last one has a [link](https://example.org/a/b)\n\n",
  '```lua\n-- Reads a whole file.\nlocal function slurp(path)\n  local file, err = io.open(path, "rb")\n'
    .. '  if not file then\n    return nil, ("couldn\'t open %s: %s"):format(path, err)\n  end\n'
    .. '  local text = file:read("*a")\n  file:close()\n  return text\nend\n\n'
    .. 'for _, name in ipairs({ "a", "b" }) do\n  print(#assert(slurp(name)))\nend\n```\n\n',
  "| option | default | what it does |\n|--------|---------|--------------|\n| `pace` | 60 | how *often* |\n"
    .. "| `size` | 768 | how **much** |\n| `tick` | 5 | how long it waits |\n\n",
  "> A quote that goes on for a while, so that it has to be read\n> again with every look, with `code` in it.\n\n",
  "1. First, build it.\n2. Then run the tests, all of them, and look at the ones that fail.\n3. Commit.\n\n",
  "```c\n#include <stdio.h>\n\nint main(int argc, char **argv)\n{\n    for (int i = 0; i < argc; i++) {\n"
    .. '        printf("%s\\n", argv[i]); /* one a line */\n    }\n    return 0;\n}\n```\n\n',
}

local function corpus(bytes)
  local out, size, i = {}, 0, 0
  while size < bytes do
    local block = BLOCKS[i % #BLOCKS + 1]
    out[#out + 1] = block
    size = size + #block
    i = i + 1
  end
  return table.concat(out)
end

local function cpu_ms()
  local usage = uv.getrusage()
  return (usage.utime.sec + usage.stime.sec) * 1e3 + (usage.utime.usec + usage.stime.usec) / 1e3
end

-- In the Neovim that is measured.
local function measured(way, prefill_kb, seconds, result)
  local name, pace = way:match("^(%a+):?(%d*)$")
  vim.opt.runtimepath:prepend(root)
  local worst, long, slices, in_slices = 0, 0, 0, 0
  local started
  local function timed(f)
    return function(...)
      local start = cpu_ms()
      f(...)
      local took = cpu_ms() - start
      -- The first of each language loads its parser and query.
      if started and uv.hrtime() - started > 2e9 then
        worst = math.max(worst, took)
        if took > 3 then
          long = long + 1
        end
      end
      slices, in_slices = slices + 1, in_slices + took
    end
  end
  local wrap = vim.schedule_wrap
  vim.schedule_wrap = function(f) ---@diagnostic disable-line: duplicate-set-field
    return wrap(timed(f))
  end
  local hl = require("acp.highlight")
  local grew = timed(hl.grew)
  if pace ~= "" then
    require("acp.highlight.look").pace = tonumber(pace)
  end
  local failure
  hl.on_error = function(message)
    failure = message
  end

  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].undolevels = -1
  vim.bo[buf].filetype = "acp"
  local win = api.nvim_get_current_win()
  api.nvim_win_set_buf(win, buf)
  vim.wo[win].wrap = true
  if name == "ours" then
    hl.attach(buf)
  end
  local row = 0
  local history = vim.split(corpus(1024), "\n")
  local entries = math.floor(prefill_kb)
  local all = {}
  for _ = 1, entries do
    vim.list_extend(all, history)
  end
  all[#all + 1] = ""
  api.nvim_buf_set_lines(buf, 0, -1, false, all)
  for i = 1, entries do
    if name == "ours" then
      hl.open(buf, i, row)
      hl.close(buf, i, row + #history)
    end
    row = row + #history
  end
  if name == "treesitter" then
    vim.treesitter.language.register("markdown", "acp")
    vim.treesitter.start(buf, "markdown")
  end
  local last = row + 1
  if name == "ours" then
    hl.open(buf, entries + 1, row)
  end
  api.nvim_win_set_cursor(win, { last, 0 })
  vim.cmd("botright 5new | startinsert")

  local text = corpus(BYTES_PER_S * (seconds + 1))
  local sent = 0
  local cpu, lua_kb
  local late, frames, previous = 0, 0, nil
  local timer = assert(uv.new_timer())
  local function frame()
    if not started then
      started, cpu = uv.hrtime(), cpu_ms()
      worst, slices, in_slices = 0, 0, 0
    end
    local at = uv.hrtime()
    if previous then
      late = math.max(late, (at - previous) / 1e6 - FRAME_MS)
    end
    previous, frames = at, frames + 1
    local elapsed = (at - started) / 1e9
    -- Chunks of 20 bytes, as many as are due.
    local due = math.min(math.floor(elapsed * BYTES_PER_S / 20) * 20, #text)
    if due > sent then
      local lines = vim.split(text:sub(sent + 1, due), "\n", { plain = true })
      sent = due
      api.nvim_buf_set_text(buf, -1, -1, -1, -1, lines)
      last = last + #lines - 1
      if name == "ours" then
        grew(buf, entries + 1, last)
      end
      api.nvim_win_set_cursor(win, { last, 0 })
    end
    if elapsed >= seconds then
      timer:stop()
      cpu = cpu_ms() - cpu
      lua_kb = collectgarbage("count")
      local marks = api.nvim_buf_get_extmarks(buf, api.nvim_create_namespace("acp.highlight"), 0, -1, {})
      vim.fn.writefile({
        vim.json.encode({
          cpu = cpu,
          worst = worst,
          slices = slices,
          long = long,
          in_slices = in_slices,
          marks = #marks,
          lua_kb = lua_kb,
          late = late,
          frames = frames,
          failure = failure,
        }),
      }, result)
      vim.cmd("qall!")
    end
  end
  vim.defer_fn(function()
    timer:start(0, FRAME_MS, wrap(frame))
  end, 2500)
end

local function measure(way, prefill_kb, seconds)
  local result = vim.fn.tempname()
  local job = vim.fn.jobstart({
    vim.v.progpath,
    "-u",
    "NONE",
    "-i",
    "NONE",
    "-n",
    "--cmd",
    ("lua vim.g.acp_bench = { %q, %d, %d, %q }"):format(way, prefill_kb, seconds, result),
    "-c",
    "luafile " .. self,
  }, { pty = true, width = 120, height = 50, on_stdout = function() end })
  local keys = assert(uv.new_timer())
  keys:start(
    3000,
    50,
    vim.schedule_wrap(function()
      pcall(vim.fn.chansend, job, "x")
    end)
  )
  vim.fn.jobwait({ job }, (seconds + 120) * 1000)
  keys:stop()
  keys:close()
  return vim.json.decode(assert(io.open(result)):read("*a"))
end

if vim.g.acp_bench then
  measured(unpack(vim.g.acp_bench))
  return
end

local seconds = tonumber(arg[3]) or 10
local rows = arg[1] and { { arg[1], tonumber(arg[2]) or 0 } }
  or {
    { "bare", 0 },
    { "ours", 0 },
    { "ours", 100 },
    { "ours", 10000 },
    { "treesitter", 0 },
    { "treesitter", 100 },
  }
io.stdout:write(
  ("%-14s %8s %9s %9s %7s %10s %9s %8s\n"):format(
    "way",
    "KB",
    "cpu s",
    "worst ms",
    "> 3 ms",
    "slices s",
    "late ms",
    "marks"
  )
)
for _, row in ipairs(rows) do
  local r = measure(row[1], row[2], seconds)
  io.stdout:write(
    ("%-14s %8d %9.2f %9.1f %7d %10.2f %9.1f %8d %s\n"):format(
      row[1],
      row[2],
      r.cpu / 1e3,
      r.worst,
      r.long,
      r.in_slices / 1e3,
      r.late,
      r.marks,
      r.failure or ""
    )
  )
end

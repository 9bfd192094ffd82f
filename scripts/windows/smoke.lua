--- What `scripts/check-windows` runs in Neovim for Windows: a turn of the demo agent that answers, reads and
--- writes a file, and runs commands in terminals. Each thing that holds is a line "ok", each that does not
--- a line "FAILED", in the file that $SMOKE_REPORT names.

local root = vim.env.SMOKE_ROOT
local report = assert(io.open(vim.env.SMOKE_REPORT, "wb"))
local began = vim.uv.hrtime()

local function tell(line)
  report:write(("%6.2f  %s\n"):format((vim.uv.hrtime() - began) / 1e9, line))
  report:flush()
end

local function check(name, holds, seen)
  tell((holds and "ok      " or "FAILED  ") .. name .. (holds and "" or ": " .. vim.inspect(seen)))
end

vim.opt.runtimepath:prepend(root)
vim.cmd.runtime("plugin/acp.lua")

local project = vim.fn.tempname()
vim.fn.mkdir(project .. "/.agent", "p")
vim.fn.mkdir(project .. "/bin", "p")
project = assert(vim.uv.fs_realpath(project))
vim.cmd.cd(vim.fn.fnameescape(project))
local function file(name)
  local path = (project .. "/" .. name):gsub("/", "\\")
  return path
end
local function write(name, text)
  local out = assert(io.open(file(name), "wb"))
  out:write(text)
  out:close()
end
local function read(name)
  local from = io.open(file(name), "rb")
  local text = from and from:read("*a")
  if from then
    from:close()
  end
  return text
end
write("a.txt", "one\r\ntwo\r\n")
write("b.txt", "before\n")
write("with space.cmd", "@echo script [%1] [%2]>CON\r\n@exit /b 5\r\n")

-- As npm installs agents: a script, found by its name without the extension.
write("bin/smoke-agent.cmd", '@"%SMOKE_AGENT%" %*\r\n')
vim.env.PATH = file("bin") .. ";" .. vim.env.PATH

-- The agent's side of the turn.
local steps = {}
local function add(...)
  vim.list_extend(steps, { ... })
end
local function ask(id, method, params)
  params.sessionId = "s1"
  add({ send = { id = id, method = method, params = params } }, { expect_reply = id, to = id })
end
local function run(name, command, args, env)
  local params = { sessionId = "s1", command = command, args = args, env = env, cwd = project }
  add({ send = { id = name, method = "terminal/create", params = params } })
  add({ expect_reply = name, to = name, save = { [name] = "/result/terminalId" } })
end
local function about(name, method)
  ask(name .. "-" .. method, "terminal/" .. method, { terminalId = "${" .. name .. "}" })
end
local function run_to_end(name, ...)
  run(name, ...)
  about(name, "wait_for_exit")
  about(name, "output")
  about(name, "release")
end
local function says(text)
  local content = { type = "text", text = text }
  local update = { sessionUpdate = "agent_message_chunk", content = content }
  add({ send = { method = "session/update", params = { sessionId = "s1", update = update } } })
end

add({ expect = "initialize" }, {
  reply = "initialize",
  result = { protocolVersion = 1, agentInfo = { name = "fake", title = "Fake", version = "1.0" } },
})
add({ expect = "session/new" }, { reply = "session/new", result = { sessionId = "s1" } })
add({ expect = "session/prompt" })
says("Hello from Windows.")
ask("read", "fs/read_text_file", { path = file("a.txt") })
ask("outside", "fs/read_text_file", { path = "C:\\windows\\win.ini" })
ask("write", "fs/write_text_file", { path = file("b.txt"), content = "after\n" })
ask("new", "fs/write_text_file", { path = file("sub\\new.txt"), content = "new\n" })
-- Wine gives programs no standard output in a pseudo console, so they open the console themselves.
run_to_end("line", '(echo one "two  three" && echo four)>CON & exit 3')
local env = { { name = "ACP_SMOKE", value = "from env" } }
run_to_end("args", "cmd.exe", { "/d", "/c", "echo %ACP_SMOKE%>CON" }, env)
run_to_end("builtin", "md", { "new folder" })
run_to_end("script", ".\\with space.cmd", { "plain", 'say "hi" & exit 9' })
run("missing", "no-such-program", { "x" })
steps[#steps].save = nil
-- Each starts two processes that go on for ten minutes; the second command is still there when Neovim ends.
run("long", "start /b ping -n 600 127.0.0.1 & ping -n 600 127.0.0.1")
about("long", "output")
about("long", "kill")
about("long", "wait_for_exit")
run("longer", "start /b ping -n 600 127.0.0.1 & ping -n 600 127.0.0.1")
about("longer", "output")
says(" Done.")
add({ reply = "session/prompt", result = { stopReason = "end_turn" } }, { wait_eof = true })
write(".agent/script.json", vim.json.encode(steps))

local failures = {}
local notify = vim.notify
vim.notify = function(text, level, ...)
  if level == vim.log.levels.ERROR then
    failures[#failures + 1] = text
  end
  return notify(text, level, ...)
end

-- Nobody is there to be asked.
vim.ui.select = function(items, options, choose)
  for at, item in ipairs(items) do
    if (options.format_item or tostring)(item):find("^No") then
      return choose(item, at)
    end
  end
  choose(items[1], 1)
end

local function main()
  local _, place = require("acp.native").load()
  tell("ok      the library is loaded")
  require("acp").setup({
    agents = {
      fake = {
        command = "smoke-agent",
        env = { SMOKE_AGENT = (place.demo:gsub("/", "\\")) },
        args = { "--script", file(".agent/script.json"), "--record", file(".agent/record.jsonl") },
      },
    },
    default_agent = "fake",
    log = vim.env.SMOKE_LOG ~= nil,
  })
  vim.cmd("edit b.txt")
  vim.cmd.AcpChat()
  local answer, why
  require("acp").ask("go", {}, function(given, reason)
    answer, why, vim.g.smoke_done = given, reason, true
  end)
  vim.wait(tonumber(vim.env.SMOKE_PATIENCE or "60") * 1000, function()
    return vim.g.smoke_done ~= nil
  end, 20)
  check("the agent answers", answer == "Hello from Windows.\n\nDone.", { answer, why, failures })

  -- What the client answered, by the id of the request.
  local got = {}
  for line in (read(".agent/record.jsonl") or ""):gmatch("[^\n]+") do
    local ok, message = pcall(vim.json.decode, line)
    if ok and message.id and not message.method then
      got[message.id] = message
    end
  end
  local function result(id)
    return got[id] and got[id].result or {}
  end
  local function plain(text)
    return vim.trim(((text or ""):gsub("[ \t]*\r?\n", "\n")))
  end
  check("a file is read", result("read").content == "one\r\ntwo\r\n", got.read)
  check("a file outside is refused as the user says", got.outside and got.outside.error, got.outside)
  check(
    "a buffer is written",
    read("b.txt") == "after\n" or vim.fn.getbufline("b.txt", 1, "$")[1] == "after",
    {
      read("b.txt"),
      got.write,
    }
  )
  check("a file in a new folder is written", read("sub/new.txt") == "new\n", { read("sub/new.txt"), got.new })
  local line = plain(result("line-output").output)
  check("a line runs in the shell", line == 'one "two  three"\nfour', { line, got.line, got["line-output"] })
  check("its exit code comes back", result("line-wait_for_exit").exitCode == 3, got["line-wait_for_exit"])
  local args = plain(result("args-output").output)
  check("arguments and environment reach a program", args == "from env", { args, got.args })
  local made = vim.fn.isdirectory("new folder") == 1
  check("a command of the shell's own runs", made, got["builtin-wait_for_exit"])
  local script = plain(result("script-output").output)
  check("a script gets its arguments as they are", script == 'script [plain] ["say ""hi"" & exit 9"]', {
    script,
    got.script,
  })
  check("its exit code comes back", result("script-wait_for_exit").exitCode == 5, got["script-wait_for_exit"])
  local why_not = got.missing and got.missing.error and got.missing.error.message or ""
  check("a program that is not there is named", why_not:find("no%-such%-program") ~= nil, got.missing)
  local killed = result("long-wait_for_exit")
  check("a command is ended", killed.signal or (killed.exitCode or 0) ~= 0, got["long-wait_for_exit"])
  tell("        it ended with " .. vim.json.encode(killed))
  local running = result("longer-output")
  check("a command runs on", running.output and not running.exitStatus, got["longer-output"])
  check("nothing went wrong", #failures == 0, failures)
  tell("        the transcript:")
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buf):find("acp://", 1, true) then
      for _, text in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
        if text ~= "" then
          tell("        | " .. text)
        end
      end
    end
  end
  tell("done")
end

vim.schedule(function()
  local ok, why = xpcall(main, debug.traceback)
  if not ok then
    tell("FAILED  " .. why)
  end
  if vim.env.SMOKE_STAY then
    -- Whoever started this kills it.
    return
  end
  vim.cmd("qall!")
end)

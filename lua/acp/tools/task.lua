--- What agents run by a tool: a command line in a terminal that the user sees, as if the agent had asked for the terminal
--- itself. The library ends what still runs when the call is over.

local file = require("acp.tools.file")

local M = {}

--- The end of the output is what matters, and an agent has to pay for each byte.
local LONGEST = 30000

--- What a command has written, as a reader sees it: without colours, and of each line what stands there last.
local function plain(text)
  text = text:gsub("\27%][^\7\27]*\7", ""):gsub("\27%][^\7\27]*\27\\", "")
  text = text:gsub("\27%[[%d;:?<=>!]*[@-~]", ""):gsub("\27[^%[%]]", "")
  return (text:gsub("\r+\n", "\n"):gsub("[^\n]*\r", ""))
end

local function ending(exit)
  if type(exit.exitCode) == "number" then
    return ("exit code %d"):format(exit.exitCode)
  elseif type(exit.signal) == "string" then
    return "ended by " .. exit.signal
  end
  return "ended"
end

function M.run_task(args, ctx)
  local cwd = file.absolute(args.folder or ".", ctx.cwd)
  local wanted = {
    command = args.command,
    cwd = cwd,
    outputByteLimit = LONGEST,
    _meta = { ["acp.nvim/timeoutMs"] = args.timeout * 1000 },
  }
  ctx.request("terminal/create", wanted, function(made, why)
    if why then
      return ctx.done(nil, why)
    end
    local terminal = { terminalId = made.terminalId }
    ctx.request("terminal/wait_for_exit", terminal, function(exit, trouble)
      if trouble then
        return ctx.done(nil, trouble)
      end
      ctx.request("terminal/output", terminal, function(written, no_output)
        if no_output then
          return ctx.done(nil, no_output)
        end
        local head = ending(exit)
        if written.truncated then
          head = head .. (" (only the last %d bytes of the output)"):format(LONGEST)
        end
        local text = vim.trim(plain(written.output))
        ctx.done({ text = text == "" and head .. ", no output" or head .. "\n" .. text })
      end)
    end)
  end)
end

return M

--- The plugin as the benchmarks drive it. `floor.lua` has the same functions.

local M = {}

--- Without colours, the text is put into the buffer and that is all.
function M.open(argv, way)
  if way == "plain" then
    package.loaded["acp.highlight"] = {}
  end
  local acp = require("acp")
  acp.setup({
    agents = { bench = { command = table.remove(argv, 1), args = argv } },
    default_agent = "bench",
    terminal = { auto_open = "always" },
  })
  acp.chat()
end

function M.idle()
  local session = require("acp").status().sessions[1]
  return session ~= nil and session.state == "idle"
end

function M.buffer()
  return require("acp").status().sessions[1].buffer
end

function M.prompt(text)
  require("acp").send(text)
end

return M

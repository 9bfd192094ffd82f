--- The plugin as the benchmarks drive it. `floor.lua` has the same functions.

local M = {}

--- How often the window that follows the agent went elsewhere.
M.moves = 0

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
    follow = {
      window = function()
        M.moves = M.moves + 1
      end,
    },
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

--- Takes up the session that the agent lists as the only one, and has it measured.
function M.load(probe, last, ticks)
  local function place_of(items, title)
    for i, item in ipairs(items) do
      if tostring(item):find(title, 1, true) then
        return i
      end
    end
  end
  vim.ui.select = function(items, _, choose)
    local i = place_of(items, "An earlier session")
    if not i then
      -- The agent was late: what it lists stands behind a line of its own.
      i = assert(place_of(items, "Earlier sessions"), vim.inspect(items))
      return choose(items[i], i)
    end
    probe.run(last, ticks, function(watch)
      vim.api.nvim_create_autocmd("FileType", {
        pattern = "acp",
        once = true,
        callback = function(args)
          watch(args.buf)
        end,
      })
      choose(items[i], i)
    end)
  end
  vim.cmd("Acp sessions")
end

function M.toggle()
  require("acp").toggle()
end

function M.prompt(text)
  require("acp").send(text)
end

return M

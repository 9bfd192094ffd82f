--- A command in Neovim's own terminal, in a window of the size that the plugin's has, or one whose output is only
--- kept in a table: what the plugin's terminals are measured against. `floor.lua` has the same functions.

local api = vim.api

local M = {}
local buf, sign, command, captured
local ended = true

--- What would be an agent's arguments are the command.
function M.open(argv, way)
  command, captured = vim.list_slice(argv, 2), way == "captured" and {} or nil
  buf, sign = api.nvim_create_buf(false, true), api.nvim_create_buf(false, true)
  api.nvim_open_win(buf, false, { split = "below", win = -1, height = 12 })
end

function M.idle()
  return ended
end

--- Where the end is written once Neovim says that it has come; a terminal's own lines are painted over.
function M.buffer()
  return sign
end

function M.prompt()
  ended = false
  local options = {
    on_exit = function()
      ended = true
      api.nvim_buf_set_lines(sign, 0, -1, true, { "END-OF-FLOOD" })
    end,
  }
  if captured then
    options.on_stdout = function(_, data)
      captured[#captured + 1] = table.concat(data, "\n")
    end
    vim.fn.jobstart(command, options)
    return
  end
  api.nvim_buf_call(buf, function()
    if vim.fn.has("nvim-0.11") == 1 then
      options.term = true
      vim.fn.jobstart(command, options)
    else
      vim.fn.termopen(command, options)
    end
  end)
end

return M

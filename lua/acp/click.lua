--- Clicks on the bars above windows, which name these functions ('statusline', `%@`).

local M = {}

--- On the state of a session that waits for the user: what `:Acp answer` does in its chat.
---@param clicks integer
---@param button string
function M.question(_, clicks, button)
  local win = vim.fn.getmousepos().winid
  if clicks ~= 1 or button ~= "l" then
    return
  end
  -- A picker opens over what was clicked, so not before Neovim is done with the click.
  vim.schedule(function()
    if vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_call(win, function()
        vim.cmd.Acp("answer")
      end)
    end
  end)
end

return M

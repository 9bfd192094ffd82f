--- The part of `:checkhealth acp` about other plugins: what one of them takes from the chat, and the setting that gives
--- it back. `:help acp-neighbours` has the recipes.

local M = {}

local health = vim.health

local ours = { "acp", "acp-prompt", "acp-proposal", "acp-terminal", "acp-plan", "acp-messages", "acp-audit" }

-- Whether lualine draws bars, and leaves ours alone.
---@return boolean draws
---@return boolean spares
local function lualine()
  local module = package.loaded["lualine"]
  local ok, config = pcall(function()
    return module.get_config()
  end)
  if not ok or type(config) ~= "table" then
    return false, true
  end
  local draws = false
  for _, bar in ipairs({ "winbar", "inactive_winbar" }) do
    for _, section in pairs(config[bar] or {}) do
      draws = draws or type(section) == "table" and next(section) ~= nil
    end
  end
  local disabled = vim.tbl_get(config, "options", "disabled_filetypes", "winbar") or {}
  local spares = true
  for _, filetype in ipairs(ours) do
    spares = spares and vim.list_contains(disabled, filetype)
  end
  return draws, spares
end

--- What draws over the chat's bars.
function M.bars()
  local draws, spares = lualine()
  if not draws then
    return
  end
  health.start("acp: other plugins")
  if spares then
    health.ok("lualine leaves the bars of chats and terminals alone")
  else
    health.warn(
      "lualine's winbar replaces the bars of chats and terminals: state, mode and cost aren't seen",
      {
        'In its setup: `options = { disabled_filetypes = { winbar = { "'
          .. table.concat(ours, '", "')
          .. '" } } }`. See `:help acp-neighbours`.',
      }
    )
  end
end

return M

-- Defines :AcpChat and :Acp, and sees to the help's tags. Nothing else happens before one of them is used, unless
-- there are changes of agents' in this project that were left undecided.

if vim.g.loaded_acp then
  return
end
vim.g.loaded_acp = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.notify("acp.nvim needs Neovim 0.10 or newer", vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command("AcpChat", function(command)
  require("acp.commands").chat(command)
end, {
  desc = "Show the chat with an agent, or begin one",
  bang = true,
  range = true,
  nargs = "?",
  complete = function(lead)
    return require("acp.commands").complete_agents(lead)
  end,
})

for name, command in pairs({ keep = "keep", undo = "undo", comment = "comment" }) do
  vim.keymap.set(
    { "n", "x" },
    ("<Plug>(acp-%s)"):format(name),
    (":Acp %s<CR>"):format(command),
    { silent = true }
  )
end
vim.keymap.set("n", "<Plug>(acp-answer)", "<Cmd>Acp answer<CR>")
for _, name in ipairs({ "next-hunk", "previous-hunk" }) do
  vim.keymap.set("n", ("<Plug>(acp-%s)"):format(name), function()
    require("acp").call((name:gsub("-", "_")))
  end)
end

vim.api.nvim_create_user_command("Acp", function(command)
  require("acp.commands").run(command)
end, {
  desc = "Do something with the agent at hand",
  bang = true,
  range = true,
  nargs = "*",
  complete = function(lead, line, position)
    return require("acp.commands").complete(lead, line, position)
  end,
})

-- `:help acp`, however the plugin was installed. Two looks at files if all is well.
local root = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h:h")
if vim.fn.getftime(root .. "/doc/tags") < vim.fn.getftime(root .. "/doc/acp.txt") then
  vim.schedule(function()
    -- Help that can't be had is no reason to disturb a start.
    pcall(require("acp.helptags").make, root)
  end)
end

-- Changes that an earlier Neovim left undecided stand again.
local function look()
  vim.schedule(function()
    pcall(require("acp.undecided").look)
  end)
end
if vim.v.vim_did_enter == 1 then
  look()
else
  vim.api.nvim_create_autocmd("VimEnter", { once = true, callback = look })
end

-- What a saved session brings back of chats.
local group = vim.api.nvim_create_augroup("acp_session", {})
vim.api.nvim_create_autocmd("SessionLoadPost", {
  group = group,
  callback = function()
    require("acp.mksession").after_load()
  end,
})
if vim.fn.exists("##SessionWritePost") == 1 then
  vim.api.nvim_create_autocmd("SessionWritePost", {
    group = group,
    callback = function()
      if package.loaded["acp"] or package.loaded["acp.mksession"] then
        require("acp.mksession").after_write()
      end
    end,
  })
end

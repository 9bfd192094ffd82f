-- A Neovim for the demo, with nothing of your own in it:
--
--   nvim -u demo/init.lua                                              watch the tour
--   nvim --headless -u demo/init.lua -c "lua require('acp-demo').check()"          check it, see tour.lua
--
-- Copies the sample project to a temporary folder, changes a line without saving it, and asks the demo
-- agent for its tour. Needs the plugin's library and `acp-demo-agent`, built or installed.

local demo = vim.fs.dirname(vim.fn.fnamemodify(vim.fn.resolve(debug.getinfo(1, "S").source:sub(2)), ":p"))
local root = vim.fs.dirname(demo)

for _, kind in ipairs({ "config", "data" }) do
  local mine = vim.fn.stdpath(kind)
  vim.opt.runtimepath:remove({ mine, mine .. "/after", mine .. "/site", mine .. "/site/after" })
  vim.opt.packpath:remove({ mine, mine .. "/after", mine .. "/site", mine .. "/site/after" })
end
vim.opt.runtimepath:prepend(root)

vim.g.mapleader = " "
vim.o.number = true
vim.o.signcolumn = "yes"
vim.o.termguicolors = true
vim.o.swapfile = false
vim.o.shadafile = "NONE"
vim.o.autoread = true

-- The agent of this working tree before an installed one; who names a library has its agent in $PATH.
for _, build in ipairs(vim.env.ACP_NVIM_LIB and {} or { "debug", "release" }) do
  local folder = root .. "/target/" .. build
  if vim.uv.fs_stat(folder .. "/acp-demo-agent") then
    vim.env.PATH = folder .. ":" .. vim.env.PATH
  end
end

-- The tests play the tour in another dialect of the protocol, in its second version, and over a network, too.
local dialect, version = vim.env.ACP_DEMO_DIALECT, tonumber(vim.env.ACP_DEMO_PROTOCOL)
local spoken = dialect and { dialect = dialect, args = { "--dialect", dialect } }
if version then
  spoken = { protocol = version, args = { "--protocol", tostring(version) } }
end
if vim.env.ACP_DEMO_URL then
  spoken = { url = vim.env.ACP_DEMO_URL }
end
require("acp").setup({ default_agent = "demo", agents = spoken and { demo = spoken } or nil })

---@param from string
---@param to string
local function copy(from, to)
  vim.fn.mkdir(to, "p")
  for name, kind in vim.fs.dir(from) do
    if kind == "directory" then
      copy(from .. "/" .. name, to .. "/" .. name)
    else
      assert(vim.uv.fs_copyfile(from .. "/" .. name, to .. "/" .. name))
    end
  end
end

local M = {}
-- For `:lua require("acp-demo").check()`, which scripts/demo runs.
package.loaded["acp-demo"] = M

local is_checked = false

--- Opens the sample project and the chat, and asks for the tour as soon as the session is there.
---@return { cwd: string, buf: integer } project
function M.start()
  local folder = vim.fn.tempname()
  copy(demo .. "/project", folder)
  -- The temporary folder may be behind a symbolic link.
  local cwd = assert(vim.uv.fs_realpath(folder))
  vim.cmd.cd(vim.fn.fnameescape(cwd))
  vim.cmd.edit("src/greeting.lua")
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buf, 2, 3, true, { 'M.word = "Good evening"' })

  vim.api.nvim_create_autocmd("User", {
    pattern = "AcpOpened",
    once = true,
    callback = vim.schedule_wrap(function()
      require("acp").follow(true)
      require("acp").send("/tour")
    end),
  })
  vim.cmd("AcpChat demo")
  return { cwd = cwd, buf = buf }
end

--- Plays the tour without anyone at the keyboard, prints what came of it and leaves: see tour.lua.
function M.check()
  is_checked = true
  local function check()
    assert(loadfile(demo .. "/tour.lua"))(M.start)
  end
  if vim.v.vim_did_enter == 1 then
    check()
  else
    vim.api.nvim_create_autocmd("VimEnter", { once = true, callback = vim.schedule_wrap(check) })
  end
end

vim.api.nvim_create_autocmd("VimEnter", {
  once = true,
  callback = vim.schedule_wrap(function()
    -- The command line with the check comes before this event.
    if not is_checked then
      M.start()
    end
  end),
})

-- Whether an error that the library raises arrives in Lua. It passes through the library's frames on its way, which
-- crashes Neovim where a library was linked with an unwinder of its own. Run by `smoke` beside this; says "ok".

local function try()
  vim.opt.runtimepath:prepend(vim.env.SMOKE_ROOT)
  local library = require("acp.native").load()
  for _, name in ipairs({ "configure", "call", "complete" }) do
    -- None of them takes a function.
    local ok, why = pcall(library[name], print)
    assert(not ok and tostring(why) ~= "", name .. "(print) raised no error")
  end
end

local ok, why = pcall(try)
io.stdout:write(ok and "ok      an error arrives in Lua\n" or ("FAILED  %s\n"):format(tostring(why)))
vim.cmd(ok and "qall!" or "cquit 1")

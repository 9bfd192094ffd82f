-- Loads a library in a Neovim of its own, as `nvim -l check.lua {library}`, so that one that doesn't fit this system is
-- found out before it is used. Prints why; the exit code is 0 if all is well.

local opened, why = package.loadlib(arg[1], "luaopen_acp_nvim")
if not opened then
  io.stderr:write(tostring(why), "\n")
  os.exit(1)
end
os.exit(0)

-- What :checkhealth says on machines that lack one thing or another.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local support = require("support")
local eq, holds = support.eq, support.holds

local library
local outdated
local place =
  { root = "/plugin", lib = "/plugin/target/release/libacp_nvim.so", demo = "/plugin/demo", changed = 1 }
local loader = {
  root = function()
    return "/plugin"
  end,
  candidates = function()
    return { "/plugin/target/release/libacp_nvim.so", "/plugin/target/debug/libacp_nvim.so" }
  end,
  load = function()
    if not library then
      error("the plugin's library is not here yet: run :Acp build", 0)
    end
    return library, place
  end,
  in_coroutine = function()
    return false
  end,
  outdated = function()
    return outdated
  end,
  rebuilt = function()
    return false
  end,
}

local function check(options)
  package.loaded["acp"] = nil
  package.loaded["acp.health"] = nil
  package.loaded["acp.native"] = loader
  require("acp").setup(options)
  vim.cmd("checkhealth acp")
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  vim.cmd("bwipeout!")
  return table.concat(lines, "\n")
end

local report = check()
holds("without a library", report, {
  "ERROR the plugin's library is not here yet",
  "`:Acp build`",
  "/plugin/target/debug/libacp_nvim.so",
  "OK Neovim",
})
eq("nothing is asked of a library that is not there", report:find("acp: agents", 1, true), nil)

library = support.library()
library.answers.list_agents = {
  { name = "mine", title = "Mine", detail = 'no such program "mine"', found = false, configured = true },
  {
    name = "claude",
    title = "Claude",
    detail = "npx -y x",
    found = true,
    configured = false,
    login = "type /login",
  },
  {
    name = "goose",
    title = "Goose",
    detail = "",
    status = "not installed",
    found = false,
    configured = false,
    install = "brew install g",
  },
  {
    name = "hello",
    title = "Hello",
    detail = "",
    status = "not approved",
    found = false,
    configured = false,
  },
}
library.answers.status = {
  sessions = {},
  agents = { { agent = "claude", pid = 11, state = "running" }, { agent = "codex", state = "ended" } },
  log = "/elsewhere/acp.log",
  unwatched = {
    { folder = "/p", why = "the limit fs.inotify.max_user_watches is reached", noticed = "late" },
    { folder = "/q", why = "it has more than 400000 files", noticed = "never" },
  },
}
report = check()
holds("with a library", report, {
  "OK 0.1.0, built quickly, so not fully optimized",
  "of sources ffffffffffffffff",
  "OK no mistakes",
  'ERROR Mine (mine): no such program "mine"',
  "OK Claude (claude): npx -y x\n  login: type /login",
  "Goose (goose): not installed; `brew install g`",
  "1 more of the registry are known",
  "log: /elsewhere/acp.log",
  "claude runs as process 11",
  "WARNING /p is not watched: the limit fs.inotify.max_user_watches is reached; what changes there is only noticed when",
  "sudo sysctl fs.inotify.max_user_watches=1048576",
  "WARNING /q is not watched: it has more than 400000 files; what changes there is not noticed",
  "Have a .gitignore or .ignore leave out",
})
eq("what is well is not warned of", report:find("debug build", 1, true), nil)

library = support.library()
library.profile = "debug"
library.raises.configure = "icon: unknown key\nwindow.width: expected a number"
outdated = "acp.nvim is 2 now, 1 still runs: restart Neovim"
place.demo = nil
report = check()
holds("with mistakes", report, {
  "WARNING this is a debug build",
  "WARNING acp.nvim is 2 now",
  "ERROR icon: unknown key",
  "ERROR window.width: expected a number",
  "demo agent is not beside",
})

outdated = nil
library = support.library()
report = check()
holds("without agents", report, { "WARNING no agent was found", "OK no agent runs" })

library.call = function()
  error(support.native_error("there is no action"), 0)
end
holds(
  "a library that does not know its agents",
  check(),
  { "ERROR couldn't list the agents: there is no action" }
)

-- The agent that chats begin with.
library = support.library()
library.answers.list_agents = {
  {
    name = "claude",
    id = "claude-acp",
    title = "Claude",
    detail = "npx -y x",
    found = true,
    configured = false,
  },
}
local unknown = "WARNING default_agent: no agent is called"
holds(
  "an unknown agent",
  check({ default_agent = "nosuch" }),
  { unknown .. ' "nosuch"', "`:Acp agents` lists" }
)
for _, name in ipairs({ "claude", "claude-acp" }) do
  local said = check({ default_agent = name })
  eq("nothing is said of " .. name, said:find(unknown, 1, true), nil)
end
eq("nor where none is named", check():find(unknown, 1, true), nil)

-- What is around the plugin.
local folder = vim.fs.normalize(assert(vim.uv.fs_realpath(vim.fn.tempname():match("(.*)/"))) .. "/plugin")
loader.root = function()
  return folder
end
vim.fn.mkdir(folder .. "/lib/new-999999-abcdef", "p")
package.loaded["lazy.core.config"] = {
  options = { git = { timeout = 120 } },
  plugins = { ["acp.nvim"] = { build = "cargo build --release" } },
}
local agent = folder .. "/some-agent"
vim.fn.writefile({ "#!/bin/sh", "echo agent 1.2.3" }, agent)
vim.uv.fs_chmod(agent, 493)
library = support.library()
library.profile = "dist"
library.answers.list_agents = {
  { name = "some", title = "Some", detail = agent .. " --acp", found = true, configured = true },
  { name = "npm", title = "Npm", detail = "/usr/bin/npx -y some-agent", found = true, configured = false },
}
report = check()
holds("it", report, {
  "OK 0.1.0, optimized",
  "version: agent 1.2.3",
  "ended after 120 seconds",
  "lazy.nvim runs the plugin's build.lua automatically",
  "new-999999-abcdef was left by an installation that was killed",
  "acp: terminal",
  "acp: clipboard",
})
package.loaded["lazy.core.config"].plugins["acp.nvim"].build = nil
vim.fn.delete(folder .. "/lib", "rf")
report = check()
holds("it", report, { "OK it runs build.lua" })
eq("what was removed is not told of", report:find("new-999999", 1, true), nil)

-- Other plugins.
eq("nothing is said of plugins that are not there", report:find("acp: other plugins", 1, true), nil)
local lualine = { options = {}, winbar = {}, inactive_winbar = {} }
package.loaded["lualine"] = {
  get_config = function()
    return lualine
  end,
}
eq("nor of one without a winbar", check():find("acp: other plugins", 1, true), nil)
lualine.winbar = { lualine_c = { "filename" } }
lualine.options = { disabled_filetypes = { winbar = { "acp" } } }
holds("it", check(), {
  "WARNING lualine's winbar replaces the bars",
  'winbar = { "acp", "acp-prompt", "acp-proposal", "acp-terminal", "acp-plan", "acp-messages", "acp-audit" }',
})
lualine.options.disabled_filetypes.winbar =
  { "acp", "acp-prompt", "acp-terminal", "acp-plan", "acp-messages", "acp-audit" }
holds("it", check(), { "WARNING lualine's winbar replaces the bars" })
lualine.options.disabled_filetypes.winbar =
  { "acp", "acp-prompt", "acp-proposal", "acp-terminal", "acp-plan", "acp-messages", "acp-audit", "help" }
holds("it", check(), { "OK lualine leaves the bars" })
package.loaded["lualine"] = nil

support.done()

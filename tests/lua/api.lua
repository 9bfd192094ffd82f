-- What :AcpChat, :Acp and require("acp") ask of the library.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local support = require("support")
local eq, notified = support.eq, support.notified
local levels = vim.log.levels

vim.cmd.source(support.root .. "/plugin/acp.lua")
eq("nothing is loaded before it is used", package.loaded["acp"], nil)

local library = support.library()
local asked = library.asked
local outdated, missing
local chosen = true
package.loaded["acp.native"] = {
  missing = function()
    return missing
  end,
  root = function()
    return "/plugin"
  end,
  is_chosen = function()
    return chosen
  end,
  load = function()
    return library, { root = "/plugin", lib = "/plugin/lib.so", demo = "/plugin/demo", changed = 1 }
  end,
  in_coroutine = function()
    local running, main = coroutine.running()
    return running ~= nil and not main
  end,
  outdated = function(fingerprint)
    return fingerprint == "of the sources" and outdated or nil
  end,
}
local acp = require("acp")

-- Before the library is there.
eq("without a library there is no status line", acp.statusline(), "")
eq("without a library there is no session", acp.status(), { sessions = {}, agents = {} })
acp.setup({ icons = false })
eq("setup alone does not load the library", asked(), {})
acp.on_request("_early/x", function() end)
acp.on_request("_early/y", function() end)
acp.on_request("_early/y", nil)
eq("serving a method does not load the library either", asked(), {})

-- Options with mistakes.
library.raises.configure = "icon: unknown key\nb: two\nc: three"
vim.cmd("AcpChat")
eq("nothing is done with wrong options", asked(), {
  { "start", { root = "/plugin", lib = "/plugin/lib.so", demo = "/plugin/demo" } },
  { "handle", "request", "_early/x", "function" },
  { "configure", { icons = false } },
})
eq("mistakes take one line", notified(), {
  { levels.ERROR, "acp: setup() failed: icon: unknown key; :checkhealth acp: 2 more" },
})
library.raises.configure = nil
acp.setup({ icons = true })
eq("setup is heard at once when the library runs", asked(), { { "configure", { icons = true } } })

-- :AcpChat.
vim.api.nvim_buf_set_lines(0, 0, -1, false, { "a", "b", "c" })
local buffer = vim.api.nvim_get_current_buf()
vim.cmd("AcpChat")
vim.cmd("AcpChat! claude")
vim.cmd("2,3AcpChat")
eq(":AcpChat gives agent, bang and range", asked(), {
  { "chat", { args = {}, bang = false } },
  { "chat", { args = { "claude" }, bang = true } },
  { "chat", { args = {}, bang = false, range = { buffer = buffer, first = 2, last = 3 } } },
})

-- :Acp.
vim.cmd("Acp send fix  the | bug")
vim.cmd("2Acp send")
vim.cmd("Acp! stop")
vim.cmd("Acp send! go left")
eq(":Acp gives words, text, bang and range", asked(), {
  { "send", { args = { "fix", "the", "|", "bug" }, text = "fix  the | bug", bang = false } },
  { "send", { args = {}, text = "", bang = false, range = { buffer = buffer, first = 2, last = 2 } } },
  { "stop", { args = {}, text = "", bang = true } },
  { "send", { args = { "go", "left" }, text = "go left", bang = true } },
})
vim.cmd("Acp stop!")
eq("an exclamation mark is passed on only where it means something", asked(), {})
eq("a subcommand that takes none is unknown with it", notified(), {
  { levels.ERROR, 'acp: :Acp has no subcommand "stop!"; `:Acp` alone lists them' },
})
for typed, meant in pairs({
  alow = "allow",
  ["sesions"] = "sessions",
  ["uasge"] = "usage",
  ["chekpoints!"] = "checkpoints",
}) do
  vim.cmd("Acp " .. typed)
  eq("a subcommand that is nearly one is named with it", notified(), {
    { levels.ERROR, ("acp: :Acp has no subcommand %q; did you mean %s?"):format(typed, meant) },
  })
end
vim.cmd("Acp terminal colse")
vim.cmd("Acp locations turn lcolist")
vim.cmd("Acp build relaese")
eq("a word that is nearly one of a subcommand's is named with it", notified(), {
  { levels.ERROR, 'acp: :Acp terminal does not know "colse"; did you mean close?' },
  { levels.ERROR, 'acp: :Acp locations does not know "lcolist"; did you mean loclist?' },
  { levels.ERROR, 'acp: :Acp build does not know "relaese"; did you mean release?' },
})
eq("and not passed on", asked(), {})
vim.cmd("Acp terminal frob")
vim.cmd("Acp add diffs.lua")
eq("what is like no word is left to who knows more, and a file may have any name", asked(), {
  { "terminal", { args = { "frob" }, text = "frob", bang = false } },
  { "add", { args = { "diffs.lua" }, text = "diffs.lua", bang = false } },
})
vim.cmd("Acp nonsense")
eq("an unknown subcommand is not passed on", asked(), {})
eq("an unknown subcommand is named", notified(), {
  { levels.ERROR, 'acp: :Acp has no subcommand "nonsense"; `:Acp` alone lists them' },
})

local offered
vim.ui.select = function(items, options, choose)
  offered = options.format_item(items[1])
  choose(items[2])
end
vim.cmd("Acp")
eq(":Acp alone offers what there is", offered, "Chat      new         Start another session with an agent")
eq(":Acp alone does what was chosen", asked(), { { "toggle", { args = {}, bang = false } } })
vim.ui.select = function(_, _, choose)
  choose(nil)
end
vim.cmd("Acp")
eq(":Acp alone does nothing when nothing is chosen", asked(), {})

-- Completion.
local function completed(line)
  return vim.fn.getcompletion(line, "cmdline")
end
eq("agents are completed", completed("AcpChat cl"), { "agents cl after " })
eq("subcommands are completed", completed("Acp mod"), { "mode", "model" })
eq("subcommands are completed behind a range", completed("1,2Acp! mod"), { "mode", "model" })
eq("arguments are completed by the library", completed("Acp mode a"), { "mode a after " })
eq("second arguments know the first", completed("Acp config thought h"), { "config h after thought" })
eq("an agent may follow new", completed("Acp new "), { "agents  after " })
eq("fixed words are completed", completed("Acp follow o"), { "on", "off" })
eq("fixed words are completed once", completed("Acp follow on "), {})
eq("nothing may follow some", completed("Acp stop "), {})
eq("nothing may follow what is unknown", completed("Acp nonsense "), {})
library.raises.complete = "boom"
eq("a completion never fails", completed("Acp mode "), {})
library.raises.complete = nil
asked()
eq("a completion is silent", notified(), {})

-- Functions.
acp.chat()
acp.chat("claude")
acp.chat({ agent = "codex", new = true })
acp.send("hello", { range = { buffer = 1, first = 1, last = 2 } })
acp.send("hello", { steer = true })
acp.cancel()
acp.follow()
acp.follow(false)
eq("functions ask what the commands ask", asked(), {
  { "chat", { args = {}, bang = false } },
  { "chat", { args = { "claude" }, bang = false } },
  { "chat", { args = { "codex" }, bang = true } },
  { "send", { args = { "hello" }, text = "hello", range = { buffer = 1, first = 1, last = 2 } } },
  { "send", { args = { "hello" }, text = "hello", bang = true } },
  { "cancel", {} },
  { "follow", { args = {} } },
  { "follow", { args = { "off" } } },
})
library.answers.log = "/log"
eq("call returns what the library returns", acp.call("log"), "/log")

asked()

-- Methods that the user serves.
acp.on_request("_x", function() end)
acp.on_notification("_x", function() end)
acp.on_request("_x", nil)
eq("methods are served as soon as it is said", asked(), {
  { "handle", "request", "_x", "function" },
  { "handle", "notification", "_x", "function" },
  { "handle", "request", "_x", "nil" },
})
for _, wrong in ipairs({
  { "fs/read_text_file", function() end },
  { 5, function() end },
  { "_x", "no function" },
}) do
  eq("what cannot be served is an error", (pcall(acp.on_request, unpack(wrong))), false)
end
eq("what cannot be served is not passed on", asked(), {})

-- Failures.
library.raises.cancel = support.native_error("couldn't cancel: no session")
local value, err = acp.call("cancel")
eq("call returns the failure's text", { value, err }, { nil, "couldn't cancel: no session" })
eq("a failure is shown without a stack trace", notified(), {
  { levels.ERROR, "acp: couldn't cancel: no session" },
})
library.raises.cancel = nil
library.call = function()
  error("attempt to index a nil value")
end
acp.cancel()
eq(
  "a failure is shown without its place",
  notified(),
  { { levels.ERROR, "acp: attempt to index a nil value" } }
)

-- An update under a running Neovim.
outdated, chosen = "restart Neovim", false
local roots = {}
library.call = function(name, args)
  if name == "fingerprint" then
    roots[#roots + 1] = args.args[1]
    args["then"]("of the sources")
  end
end
acp.chat()
acp.chat()
eq("an update is told once", notified(), { { levels.WARN, "acp: restart Neovim" } })
eq("the plugin's folder is looked at", roots, { "/plugin", "/plugin" })
outdated, chosen = nil, true

-- Without a library, and without a screen to offer it on.
missing, chosen = "the plugin's library is not here yet", false
local called
library.call = function(name)
  called = name
end
vim.cmd("Acp cancel")
eq("the call says what is missing", called, "cancel")
missing = nil

-- Status line.
eq("without a session the status line is empty", acp.statusline(), "")
local sessions = { { agent = "Claude", state = "idle" } }
library.answers.status = { agents = {}, sessions = sessions }
eq("an idle agent is its name", acp.statusline(), "Claude")
sessions[2] = { agent = "Codex", state = "waiting" }
sessions[3] = { agent = "Gemini", state = "waiting" }
eq("who waits for the user comes first", acp.statusline(), "Codex: waiting +1")
sessions[1].title = vim.NIL
eq("what is null in JSON is absent", acp.status().sessions[1], { agent = "Claude", state = "idle" })
library.status = function()
  error("boom")
end
eq("the status line never fails", acp.statusline(), "")
eq("the status line is silent", notified(), {})

-- Events.
local heard = {}
acp.on("TurnEnded", function(data)
  heard[#heard + 1] = data.session
end)
acp.on("AcpTurnEnded", function(data)
  heard[#heard + 1] = data.session
end)
vim.api.nvim_exec_autocmds("User", { pattern = "AcpTurnEnded", data = { session = 7 } })
eq("an event may be named with and without its prefix", heard, { 7, 7 })
local ok, why = pcall(acp.on, "TurnOver", print)
eq("an event that does not exist is refused", ok, false)
support.holds("the refusal", why, { '"TurnOver"', ":help acp-events" })

-- The end.
asked()
vim.api.nvim_exec_autocmds("VimLeavePre", {})
eq("agents are ended with Neovim", asked(), { { "shutdown" } })

-- From a coroutine, with the library not loaded yet.
package.loaded["acp"] = nil
acp = require("acp")
local late = support.library()
library = late
coroutine.wrap(function()
  acp.chat("claude")
end)()
eq("a coroutine does not load the library", late.asked(), {})
vim.wait(5000, function()
  return #late.calls == 3
end)
eq(
  "what a coroutine asked for comes later",
  late.asked()[3],
  { "chat", { args = { "claude" }, bang = false } }
)

-- What is documented is what is there.
local help = table.concat(vim.fn.readfile(support.root .. "/doc/acp.txt"), "\n")
for _, subcommand in ipairs(require("acp.commands").subcommands) do
  support.holds("the help", help, { ("*:Acp-%s*"):format(subcommand.name) })
end
for _, event in ipairs(acp.events) do
  support.holds("the help", help, { ("*%s*"):format(event) })
end
for name, member in pairs(acp) do
  if type(member) == "function" and not vim.list_contains({ "complete", "probe" }, name) then
    support.holds("the help", help, { ("*acp.%s()*"):format(name) })
  end
end

support.done()

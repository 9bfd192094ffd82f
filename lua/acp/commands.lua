--- The commands: which subcommands :Acp has, what they take, and how a command line becomes a call.

local acp = require("acp")
local tell = require("acp.tell")

local M = {}

---@class acp.Subcommand
---@field name string
---@field about string one line, shown by |:Acp| without arguments
---@field takes? string its arguments, as the help writes them
---@field words? string[] fixed words to complete its argument with
---@field completes? true the library knows what may follow
---@field files? true its argument is a file
---@field bang? true it means something else with a !
---@field here? string the function of this module that does it, without the library

--- All subcommands, in the order in which |:Acp| without arguments offers them.
---@type acp.Subcommand[]
M.subcommands = {
  { name = "new", about = "Start another session with an agent", takes = "[agent]", completes = true },
  { name = "toggle", about = "Show or hide the chat" },
  {
    name = "agents",
    about = "List all agents, to start or inspect one; with ! fetch the registry, too",
    bang = true,
  },
  {
    name = "send",
    about = "Send a prompt, with the selected lines if there is a range; with ! even while a turn is running",
    takes = "{text}",
    bang = true,
  },
  {
    name = "ask",
    about = "Ask without leaving the window, about the selected lines if any",
    takes = "{text}",
  },
  { name = "history", about = "Pick an earlier prompt" },
  { name = "queue", about = "Edit the queued prompts" },
  { name = "paste", about = "Put the clipboard's image into the prompt" },
  { name = "cancel", about = "Stop the agent's turn" },
  { name = "allow", about = "Allow what the agent asks for", takes = "[option]", completes = true },
  { name = "reject", about = "Reject what the agent asks for", takes = "[option]", completes = true },
  {
    name = "answer",
    about = "Answer what the agent wants to know",
    takes = "[decline|cancel]",
    words = { "decline", "cancel" },
  },
  {
    name = "changes",
    about = "Go to a file that the agent has changed; with ! or quickfix, list all in the quickfix list",
    takes = "[quickfix]",
    words = { "quickfix" },
    bang = true,
  },
  {
    name = "follow",
    about = "Follow the agent through the files it works on",
    takes = "[on|off|toggle|resume|pin|unpin]",
    words = { "on", "off", "toggle", "resume", "pin", "unpin" },
  },
  {
    name = "locations",
    about = "List the locations that the agent has visited",
    takes = "[turn|session] [quickfix|loclist|pick]",
    completes = true,
  },
  {
    name = "keep",
    about = "Keep what the agent changed: the hunk at the cursor or in the range, or more",
    takes = "[which]",
    words = { "hunk", "file", "turn", "session", "all" },
  },
  {
    name = "undo",
    about = "Undo what the agent changed: the hunk at the cursor or in the range, or more",
    takes = "[which]",
    words = { "hunk", "file", "turn", "session", "all" },
  },
  { name = "checkpoints", about = "Restore files to their state before a turn or a tool call" },
  { name = "settle", about = "Resolve a file with conflicts, or one that was deleted or renamed" },
  { name = "blame", about = "Show which agent wrote the line at the cursor, and for which prompt" },
  {
    name = "review",
    about = "Review what agents changed in one buffer; with ! in the quickfix list",
    takes = "[what]",
    words = { "turn", "session", "file", "all", "quickfix" },
    bang = true,
  },
  {
    name = "diff",
    about = "Show a changed file beside its old version, or close that",
    takes = "[open|close|next|previous]",
    words = { "open", "close", "next", "previous" },
  },
  { name = "mode", about = "Choose the agent's mode", takes = "[mode]", completes = true },
  { name = "model", about = "Choose the agent's model", takes = "[model]", completes = true },
  {
    name = "config",
    about = "Choose one of the agent's other options",
    takes = "[option] [value]",
    completes = true,
  },
  {
    name = "sessions",
    about = "Go to another session, or resume an earlier one",
    takes = "[number|words]",
    completes = true,
  },
  {
    name = "resume",
    about = "Resume the last session of this project",
    takes = "[agent]",
    completes = true,
  },
  { name = "rename", about = "Give the session a name", takes = "[name]" },
  {
    name = "export",
    about = "Export the conversation as Markdown; with ! overwrite an existing file",
    takes = "[file]",
    files = true,
    bang = true,
  },
  { name = "close", about = "End the session and close its chat" },
  { name = "delete", about = "Delete one of the stored sessions" },
  { name = "terminals", about = "Go to the terminal of a command" },
  { name = "plan", about = "Show the agent's plan in a small window, or close it" },
  { name = "paths", about = "See or revoke what agents may use outside their folders" },
  {
    name = "terminal",
    about = "Show, close or kill a command, or list the locations in its output",
    takes = "[verb]",
    words = { "open", "close", "kill", "quickfix" },
  },
  { name = "login", about = "Log in to the agent", takes = "[method]", completes = true },
  { name = "logout", about = "Log out of the agent" },
  {
    name = "build",
    about = "Get the plugin's library for this system; with ! again",
    takes = "[release|cargo]",
    words = { "release", "cargo" },
    bang = true,
    here = "build",
  },
  { name = "restart", about = "Start the agent again" },
  { name = "stop", about = "End the agent and everything that it runs" },
  { name = "log", about = "Open the log" },
  { name = "keys", about = "Show the chat's keys" },
}

--- The subcommand of this name, which may end in a ! if that means something, and whether it does.
---@param name string
---@return acp.Subcommand?
---@return boolean bang
function M.find(name)
  for _, subcommand in ipairs(M.subcommands) do
    local bang = subcommand.bang ~= nil and name == subcommand.name .. "!"
    if bang or name == subcommand.name then
      return subcommand, bang
    end
  end
  return nil, false
end

--- The lines that a command was given, or nil without a range.
---@param command vim.api.keyset.create_user_command.command_args
---@return acp.Range?
local function range_of(command)
  if command.range == 0 then
    return nil
  end
  return { buffer = vim.api.nvim_get_current_buf(), first = command.line1, last = command.line2 }
end

--- Goes on with `fn` when there is a library: one that is missing is offered first.
---@param fn fun()
local function with_library(fn)
  local loader = require("acp.native")
  local missing = loader.missing()
  -- Without a screen nobody can answer; the call says what is missing.
  if not missing or loader.is_chosen() or #vim.api.nvim_list_uis() == 0 then
    return fn()
  end
  local why = missing:sub(1, 1):upper() .. missing:sub(2) .. "."
  require("acp.install.view").offer(loader.root(), why, fn)
end

--- Calls what the subcommand is for.
---@param subcommand acp.Subcommand
---@param args acp.Args
local function call(subcommand, args)
  if subcommand.here then
    return M[subcommand.here](args)
  end
  with_library(function()
    acp.call(subcommand.name, args)
  end)
end

--- :AcpChat[!] [agent]
---@param command vim.api.keyset.create_user_command.command_args
function M.chat(command)
  local opts = { agent = command.fargs[1], new = command.bang, range = range_of(command) }
  with_library(function()
    acp.chat(opts)
  end)
end

--- :Acp[!] build [release|cargo]
---@param args acp.Args
function M.build(args)
  local loader = require("acp.native")
  local from = args.args and args.args[1]
  if from and from ~= "release" and from ~= "cargo" then
    return tell.notify((":Acp build takes release or cargo, not %q"):format(from), vim.log.levels.ERROR)
  end
  require("acp.install.view").run(loader.root(), { force = args.bang, from = from }, {
    fn = function()
      if loader.rebuilt() then
        tell.notify("restart Neovim to use the new library", vim.log.levels.INFO)
      end
    end,
  })
end

--- :Acp[!] {subcommand} [argument ..]
---@param command vim.api.keyset.create_user_command.command_args
function M.run(command)
  local name, rest = command.args:match("^(%S+)%s*(.*)$")
  local range = range_of(command)
  if not name then
    return M.pick(range)
  end
  local subcommand, bang = M.find(name)
  if not subcommand then
    return tell.notify(
      (":Acp has no subcommand %q; `:Acp` alone lists them"):format(name),
      vim.log.levels.ERROR
    )
  end
  local args = { unpack(command.fargs, 2) }
  call(subcommand, { args = args, text = rest, bang = bang or command.bang, range = range })
end

--- Offers all subcommands.
---@param range? acp.Range
function M.pick(range)
  vim.ui.select(M.subcommands, {
    prompt = "acp",
    kind = "acp_subcommand",
    format_item = function(subcommand)
      return ("%-10s %s"):format(subcommand.name, subcommand.about)
    end,
  }, function(subcommand)
    if subcommand then
      call(subcommand, { args = {}, bang = false, range = range })
    end
  end)
end

---@param words string[]
---@param lead string
---@return string[]
local function beginning_with(words, lead)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

---@param lead string
---@return string[]
function M.complete_agents(lead)
  return acp.complete("agents", lead)
end

--- Completes :Acp, as |:command-completion-customlist| has it.
---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  -- What stands before the command is a range or modifiers; none of them holds the word.
  local before = line:sub(1, position - #lead):match("Acp!?%s+(.*)$") or ""
  local words = vim.split(before, "%s+", { trimempty = true })
  local subcommand = M.find(words[1] or "")
  if #words == 0 then
    local names = vim.tbl_map(function(each)
      return each.name
    end, M.subcommands)
    return beginning_with(names, lead)
  elseif not subcommand then
    return {}
  elseif subcommand.words then
    return #words == 1 and beginning_with(subcommand.words, lead) or {}
  elseif subcommand.files then
    return #words == 1 and vim.fn.getcompletion(lead, "file") or {}
  elseif subcommand.completes then
    local kind = (subcommand.name == "new" or subcommand.name == "resume") and "agents" or subcommand.name
    return acp.complete(kind, lead, vim.list_slice(words, 2))
  end
  return {}
end

return M

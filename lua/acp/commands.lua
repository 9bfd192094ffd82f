--- The commands: how a command line becomes a call, and what completes it. Which subcommands there are is in
--- acp.subcommands.

local acp = require("acp")
local notify = require("acp.notify")

local M = {}

---@class acp.Subcommand
---@field name string
---@field group string what it is for, in a word
---@field about string one line, shown by |:Acp| without arguments
---@field words? string[] fixed words to complete its argument with
---@field several? true it takes several of the words
---@field asked? string the name by which the library knows what may follow
---@field files? true its argument is a file
---@field alone? true it takes no argument
---@field bang? true it means something else with a !
---@field without_library? true the function of its name in this module does it

--- All subcommands, in the order in which |:Acp| without arguments offers them.
---@type acp.Subcommand[]
M.subcommands = require("acp.subcommands")

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
  -- Without a UI there is nobody to ask; the call itself says what is missing.
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
  if subcommand.without_library then
    return M[subcommand.name](args)
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
    return notify.show((":Acp build takes release or cargo, not %q"):format(from), vim.log.levels.ERROR)
  end
  require("acp.install.view").run(loader.root(), { force = args.bang, from = from }, {
    fn = function()
      if loader.rebuilt() then
        notify.show("restart Neovim to use the new library", vim.log.levels.INFO)
      end
    end,
  })
end

--- What to say of a subcommand that there is none.
---@param name string
---@return string
function M.unknown(name)
  local names = vim.tbl_map(function(each)
    return each.name
  end, M.subcommands)
  local bare = name:gsub("!$", "")
  local nearest = require("acp.nearest").of(bare, names)
  -- It may be the ! alone that is too much.
  local what = nearest and nearest ~= bare and ("did you mean %s?"):format(nearest)
    or "`:Acp` alone lists them"
  return (":Acp has no subcommand %q; %s"):format(name, what)
end

--- What to say of an argument that is nearly one of a subcommand's words. The library knows what else it may be.
---@param subcommand acp.Subcommand
---@param args string[]
---@return string?
function M.slip(subcommand, args)
  local words = not subcommand.files and subcommand.words or {}
  for _, word in ipairs(#words > 0 and args or {}) do
    local nearest = not vim.tbl_contains(words, word) and require("acp.nearest").of(word, words)
    if nearest then
      return (":Acp %s does not know %q; did you mean %s?"):format(subcommand.name, word, nearest)
    end
  end
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
    return notify.show(M.unknown(name), vim.log.levels.ERROR)
  end
  if subcommand.alone and rest ~= "" then
    local text = (":Acp %s takes no argument; you gave %q"):format(name, rest)
    return notify.show(text, vim.log.levels.ERROR)
  end
  local args = { unpack(command.fargs, 2) }
  local slip = M.slip(subcommand, args)
  if slip then
    return notify.show(slip, vim.log.levels.ERROR)
  end
  call(subcommand, { args = args, text = rest, bang = bang or command.bang, range = range })
end

--- Offers all subcommands, those for the same thing together.
---@param range? acp.Range
function M.pick(range)
  local function choose(subcommand)
    if subcommand then
      call(subcommand, { args = {}, bang = false, range = range })
    end
  end
  local groups = require("acp.menu").groups(M.subcommands)
  if require("acp.select").is_builtin() then
    return require("acp.menu").open(groups, choose)
  end
  local ordered = {}
  for _, group in ipairs(groups) do
    vim.list_extend(ordered, group.subcommands)
  end
  vim.ui.select(ordered, {
    prompt = "acp",
    kind = "acp_subcommand",
    format_item = function(subcommand)
      return ("%-9s %-11s %s"):format(subcommand.group, subcommand.name, subcommand.about)
    end,
  }, choose)
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
  elseif subcommand.files and subcommand.words then
    local files = vim.fn.getcompletion(lead, "file")
    return vim.list_extend(beginning_with(subcommand.words, lead), files)
  elseif subcommand.words then
    return (#words == 1 or subcommand.several) and beginning_with(subcommand.words, lead) or {}
  elseif subcommand.files then
    return #words == 1 and vim.fn.getcompletion(lead, "file") or {}
  elseif subcommand.asked then
    return acp.complete(subcommand.asked, lead, vim.list_slice(words, 2))
  end
  return {}
end

return M

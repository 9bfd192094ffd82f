--- Code actions of language servers, for agents' tools: what servers offer, and one of it done. An action is an edit, a
--- command that its server runs, or both; what the server then wants edited goes the way of every edit.

local file = require("acp.tools.file")
local lsp = require("acp.tools.lsp")
local quiet = require("acp.tools.quiet")
local workspace_edit = require("acp.tools.workspace_edit")

local M = {}

local APPLY_EDIT = "workspace/applyEdit"
local RUN, DECLINE = "Run it", "Don't run it"

--- The servers that run a command now, by their ids: what they want edited is asked of the client, not of a command.
---@type table<integer, boolean>
local running = {}

--- Takes what a server wants edited, until it is told to stop. `edit` gets the edit and a function for its end.
---@param client vim.lsp.Client
---@param ctx acp.tools.Context
---@param edit fun(edit: table, done: fun())
---@return fun() stop
local function take_edits(client, ctx, edit)
  local usual = client.handlers[APPLY_EDIT]
  local unanswered = {}
  running[client.id] = true
  local function stop()
    if running[client.id] then
      running[client.id] = nil
      client.handlers[APPLY_EDIT] = usual
      local answers = unanswered
      unanswered = {}
      for _, answer in pairs(answers) do
        answer({ applied = false, failureReason = "the edit was not made" })
      end
    end
  end
  client.handlers[APPLY_EDIT] = function(_, params)
    local thread, result = coroutine.running(), nil
    local key = {}
    local function answer(value)
      unanswered[key] = nil
      if result == nil then
        result = value
        if coroutine.status(thread) == "suspended" then
          coroutine.resume(thread, value)
        end
      end
    end
    unanswered[key] = answer
    ctx.guard(edit)(params.edit, function()
      answer({ applied = true })
    end)
    -- Neovim answers the server when this returns, and lets it wait.
    return result or coroutine.yield()
  end
  ctx.on_end(stop)
  return stop
end

--- Why a server can't run a command now.
local function trouble(client, command)
  local provider = client.server_capabilities.executeCommandProvider
  if not (provider and vim.tbl_contains(provider.commands or {}, command.command)) then
    local why = "%q is a command that the editor would have to run itself, which is not done for agents"
    return why:format(command.title or command.command)
  end
  return running[client.id] and client.name .. " runs another command; ask again"
end

--- Runs a command of a server's, and goes on with the files that it had changed.
local function run(client, command, before, ctx, go_on)
  local items, waiting, is_applying, is_done = {}, {}, false, false
  local stop
  local function next_edit()
    local first = table.remove(waiting, 1)
    if first then
      is_applying = true
      return workspace_edit.apply(first.edit, client, before, ctx, function(changed)
        vim.list_extend(items, changed)
        before, is_applying = workspace_edit.ticks(), false
        first.done()
        next_edit()
      end)
    elseif is_done then
      stop()
      go_on(items)
    end
  end
  stop = take_edits(client, ctx, function(edit, done)
    table.insert(waiting, { edit = edit, done = done })
    if not is_applying then
      next_edit()
    end
  end)
  local function params()
    return { command = command.command, arguments = command.arguments }
  end
  local function is_held()
    return is_applying
  end
  lsp.ask({ client }, "workspace/executeCommand", params, nil, ctx, function()
    is_done = true
    if is_applying then
      return
    elseif #items > 0 then
      return next_edit()
    end
    -- Some servers say first that they have begun.
    vim.defer_fn(
      ctx.guard(function()
        if not is_applying then
          next_edit()
        end
      end),
      quiet.QUIET
    )
  end, is_held)
end

--- Asks the user whether a server may run a command: it may do more than edit.
local function with_leave(client, title, ctx, go_on)
  local answer = { type = "string", enum = { RUN, DECLINE } }
  local form = { type = "object", properties = { answer = answer }, required = { "answer" } }
  local message = ("%s has to run a command of its own to do %q. It may do more than edit files."):format(
    client.name,
    title
  )
  local question = { mode = "form", message = message, requestedSchema = form }
  ctx.request("elicitation/create", question, function(result, why)
    if why then
      return ctx.done(nil, why)
    elseif result.action ~= "accept" or result.content.answer ~= RUN then
      return ctx.done(nil, "the user did not allow it")
    end
    go_on()
  end)
end

local function told(items, ctx)
  if #items == 0 then
    return ctx.done({ text = "no file was changed" })
  end
  local lines = { #items == 1 and "1 changed file" or ("%d changed files"):format(#items) }
  for _, item in ipairs(items) do
    table.insert(lines, ("%s: %s"):format(ctx.relative(item.path), item.text))
  end
  ctx.done({ text = table.concat(lines, "\n") })
end

--- Does an action that is known in full: its edit, then its command.
local function act(client, action, before, ctx)
  local command = action.command
  if type(command) == "string" then
    command = action
  end
  local why = command and trouble(client, command)
  if why then
    return ctx.done(nil, why)
  end
  local function then_run(items)
    if not command then
      return told(items, ctx)
    end
    with_leave(client, action.title, ctx, function()
      local meanwhile = trouble(client, command)
      if meanwhile then
        return ctx.done(nil, meanwhile)
      end
      run(client, command, workspace_edit.ticks(), ctx, function(more)
        told(vim.list_extend(items, more), ctx)
      end)
    end)
  end
  if action.edit then
    return workspace_edit.apply(action.edit, client, before, ctx, then_run)
  elseif not command then
    return ctx.done(nil, ("the language server does not say what %q does"):format(action.title))
  end
  then_run({})
end

--- Does an action that a server has listed, which need not have said yet what it is.
local function resolve(client, action, buf, before, ctx)
  local method = "codeAction/resolve"
  if action.disabled then
    return ctx.done(nil, action.disabled.reason)
  elseif action.edit or type(action.command) == "string" or not lsp.supports(client, method, buf) then
    return act(client, action, before, ctx)
  end
  local function params()
    before = workspace_edit.ticks()
    return action
  end
  lsp.ask({ client }, method, params, buf, ctx, function(answers)
    act(client, answers[1] and answers[1].result or action, before, ctx)
  end)
end

--- Asks the servers of a file what they offer, and goes on with it in their order.
local function offered(buf, params, ctx, go_on)
  local method = "textDocument/codeAction"
  lsp.with_clients(buf, method, ctx, function(clients)
    local before = workspace_edit.ticks()
    lsp.ask(clients, method, params, buf, ctx, function(answers)
      local list = {}
      for _, answer in ipairs(answers) do
        for _, action in ipairs(answer.result) do
          table.insert(list, { client = answer.client, action = action })
        end
      end
      go_on(list, before)
    end)
  end)
end

--- The diagnostics of some rows, from 0, as their servers have sent them.
local function diagnostics_of(buf, first, last)
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(buf)) do
    if each.lnum <= last and (each.end_lnum or each.lnum) >= first then
      table.insert(found, each.user_data and each.user_data.lsp)
    end
  end
  return found
end

local function listed(list, ctx)
  local items = {}
  for index, each in ipairs(list) do
    table.insert(items, { text = each.action.title, kind = each.action.kind, line = index })
  end
  ctx.done({ total = #items, items = items })
end

function M.code_action(args, ctx)
  lsp.find_place(args, ctx, function(buf, position)
    local last = math.max(args.last_line or args.line, args.line)
    local function params(client)
      local range = { start = position(client), ["end"] = position(client) }
      if args.last_line then
        range = { start = { line = args.line - 1, character = 0 }, ["end"] = lsp.end_of(client, buf, last) }
      end
      return {
        textDocument = { uri = vim.uri_from_bufnr(buf) },
        range = range,
        context = { diagnostics = diagnostics_of(buf, args.line - 1, last - 1), triggerKind = 1 },
      }
    end
    offered(buf, params, ctx, function(list, before)
      if not args.apply then
        return listed(list, ctx)
      end
      local chosen = list[tonumber(args.apply)]
      for _, each in ipairs(list) do
        chosen = each.action.title == args.apply and each or chosen
      end
      if not chosen then
        ctx.done(nil, ("there is no %q among the %d actions"):format(args.apply, #list))
        return
      end
      resolve(chosen.client, chosen.action, buf, before, ctx)
    end)
  end)
end

local ORGANIZE = "source.organizeImports"

function M.organize_imports(args, ctx)
  file.open(args.file, ctx, function(buf)
    local function params(client)
      return {
        textDocument = { uri = vim.uri_from_bufnr(buf) },
        range = {
          start = { line = 0, character = 0 },
          ["end"] = lsp.end_of(client, buf, vim.api.nvim_buf_line_count(buf)),
        },
        context = { diagnostics = {}, only = { ORGANIZE }, triggerKind = 1 },
      }
    end
    offered(buf, params, ctx, function(list, before)
      -- Not every server heeds what it was asked for.
      for _, each in ipairs(list) do
        local kind = each.action.kind or ""
        if kind == ORGANIZE or vim.startswith(kind, ORGANIZE .. ".") then
          return resolve(each.client, each.action, buf, before, ctx)
        end
      end
      ctx.done({ text = "The language server has no imports to organize in " .. args.file .. "." })
    end)
  end)
end

return M

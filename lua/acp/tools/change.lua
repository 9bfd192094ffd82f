--- What agents' tools change: edits of language servers, and of a text that the agent names. Each file is read and
--- written as the agent itself would do it, so that the same rules, questions, merges and reviews are met.

local file = require("acp.tools.file")
local lsp = require("acp.tools.lsp")

local M = {}

--- The text of a file after a server's edits, or nil and why not.
---@param text string
---@param edits table[] of the protocol of language servers
---@param encoding string
---@return string?, string?
local function edited(text, edits, encoding)
  local starts, at = { 1 }, text:find("\n", 1, true)
  while at do
    table.insert(starts, at + 1)
    at = text:find("\n", at + 1, true)
  end
  local function offset(position)
    local first = starts[position.line + 1]
    if not first then
      return #text + 1
    end
    local last = (starts[position.line + 2] or #text + 1) - 1
    local line = text:sub(first, last):gsub("\r?\n$", "")
    return first + lsp.byte_at(line, position.character, encoding)
  end
  local list = {}
  for index, edit in ipairs(edits) do
    local from, to = offset(edit.range.start), offset(edit.range["end"])
    table.insert(list, { from = from, to = to, index = index, text = edit.newText })
  end
  table.sort(list, function(a, b)
    if a.from ~= b.from then
      return a.from < b.from
    elseif a.to ~= b.to then
      return a.to < b.to
    end
    return a.index < b.index
  end)
  local parts, done = {}, 1
  for _, edit in ipairs(list) do
    if edit.from < done or edit.to < edit.from then
      return nil, "the language server's edits overlap"
    end
    table.insert(parts, text:sub(done, edit.from - 1))
    table.insert(parts, (edit.text:gsub("\r\n", "\n")))
    done = edit.to
  end
  table.insert(parts, text:sub(done))
  return table.concat(parts)
end

local function ticks()
  local all = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      all[buf] = vim.api.nvim_buf_get_changedtick(buf)
    end
  end
  return all
end

--- Whether a file's buffer is as it was.
local function is_as_before(path, before)
  local buf = vim.fn.bufnr("^" .. vim.fn.escape(path, "[]*?{},\\^$") .. "$")
  return not (buf > 0 and before[buf]) or vim.api.nvim_buf_get_changedtick(buf) == before[buf]
end

--- What a workspace edit does, in its order.
local function operations_of(edit)
  local operations = {}
  local function path_of(uri)
    return vim.fs.normalize(vim.uri_to_fname(uri))
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    local options = change.options or {}
    if change.kind == "rename" then
      local from, to = path_of(change.oldUri), path_of(change.newUri)
      table.insert(operations, { kind = "rename", path = from, to = to, options = options })
    elseif change.kind then
      table.insert(operations, { kind = change.kind, path = path_of(change.uri), options = options })
    else
      local path = path_of(change.textDocument.uri)
      table.insert(operations, { kind = "edit", path = path, edits = change.edits })
    end
  end
  if not edit.documentChanges then
    for uri, edits in pairs(edit.changes or {}) do
      table.insert(operations, { kind = "edit", path = path_of(uri), edits = edits })
    end
    table.sort(operations, function(a, b)
      return a.path < b.path
    end)
  end
  return operations
end

local function count(number)
  return number == 1 and "1 edit" or ("%d edits"):format(number)
end

local function told(items, ctx)
  if not ctx.is_action then
    return ctx.done({ total = #items, items = items })
  end
  local lines = { #items == 1 and "1 changed file" or ("%d changed files"):format(#items) }
  for _, item in ipairs(items) do
    table.insert(lines, ("%s: %s"):format(ctx.relative(item.path), item.text))
  end
  ctx.done({ text = table.concat(lines, "\n") })
end

--- Writes what was worked out, one file after the other. Files are removed once all others are written, so that what is
--- renamed is never nowhere.
local function write(steps, ctx)
  local items, done = {}, 0
  local function next_file(index)
    local step = steps[index]
    if not step then
      return told(items, ctx)
    end
    local function go_on(_, why)
      if why then
        local before = done > 0 and (" (%d files before it were changed)"):format(done) or ""
        return ctx.done(nil, why .. before)
      end
      done = done + 1
      if step.what then
        table.insert(items, { path = step.path, text = step.what })
      end
      next_file(index + 1)
    end
    if step.text then
      return ctx.request("fs/write_text_file", { path = step.path, content = step.text }, go_on)
    end
    ctx.request("remove_file", { path = step.path }, go_on)
  end
  next_file(1)
end

--- How a file came to be as it is after all operations.
local function what_of(state, ctx)
  local edits = state.edits > 0 and count(state.edits) or nil
  if state.from then
    local what = "renamed from " .. ctx.relative(state.from)
    return edits and ("%s, %s"):format(what, edits) or what
  end
  return state.is_new and "created" or edits
end

--- What is to be written and removed for the files to be as they were worked out.
local function steps_of(order, ctx)
  local written, removed = {}, {}
  for _, state in ipairs(order) do
    local step = { path = state.path, text = state.text }
    if state.text and (not state.was_there or state.text ~= state.before) then
      step.what = what_of(state, ctx)
      table.insert(written, step)
    elseif not state.text and state.was_there then
      step.what = not state.is_moved and "deleted" or nil
      table.insert(removed, step)
    end
  end
  return vim.list_extend(written, removed)
end

--- What an operation does to files as they are known so far: what is wrong with it, if anything is.
local operate = {}

function operate.edit(operation, state, _, ctx, encoding)
  if not state.text then
    return ctx.relative(state.path) .. ": there is no such file"
  end
  local text, why = edited(state.text, operation.edits, encoding)
  if not text then
    return why
  end
  state.text, state.edits = text, state.edits + #operation.edits
end

function operate.create(operation, state, _, ctx)
  if state.text and not operation.options.overwrite then
    return not operation.options.ignoreIfExists and ctx.relative(state.path) .. " is there already" or nil
  end
  state.text, state.is_new, state.edits, state.from = "", true, 0, nil
end

function operate.delete(operation, state, _, ctx)
  if not state.text and not operation.options.ignoreIfNotExists then
    return ctx.relative(state.path) .. ": there is no such file"
  end
  state.text, state.is_moved = nil, false
end

function operate.rename(operation, state, target, ctx)
  if not state.text then
    return ctx.relative(state.path) .. ": there is no such file"
  elseif target.text and not operation.options.overwrite then
    return not operation.options.ignoreIfExists and ctx.relative(target.path) .. " is there already" or nil
  end
  target.text, target.edits, target.is_new = state.text, state.edits, state.is_new
  target.from = state.from or (not state.is_new and state.path or nil)
  state.text, state.is_moved, state.from = nil, true, nil
end

--- Does what a server wants: first all is read and worked out, then all is written.
---@param edit table a workspace edit
---@param encoding string
---@param before table<integer, integer> what the server's answer is about
local function apply(edit, encoding, before, ctx)
  local operations, states, order = operations_of(edit), {}, {}
  local function known(path, state)
    state.path, state.edits, state.before, state.was_there = path, 0, state.text, state.text ~= nil
    states[path] = state
    table.insert(order, state)
    return state
  end
  -- A file that is only removed need not be a text.
  local function with(path, is_read, go_on)
    if not path or states[path] then
      return go_on(path and states[path])
    elseif not is_as_before(path, before) then
      return ctx.done(nil, ctx.relative(path) .. " was changed meanwhile; ask again")
    end
    vim.uv.fs_lstat(
      path,
      ctx.guard(function(_, stat)
        local buf = vim.fn.bufnr("^" .. vim.fn.escape(path, "[]*?{},\\^$") .. "$")
        if stat and stat.type == "directory" then
          return ctx.done(nil, ctx.relative(path) .. " is a folder, and only files are changed here")
        elseif not stat and not (buf > 0 and vim.api.nvim_buf_is_loaded(buf)) then
          return go_on(known(path, {}))
        elseif not is_read then
          return go_on(known(path, { text = "" }))
        end
        ctx.request("fs/read_text_file", { path = path }, function(result, why)
          if why then
            return ctx.done(nil, why)
          elseif not is_as_before(path, before) then
            return ctx.done(nil, ctx.relative(path) .. " was changed meanwhile; ask again")
          end
          go_on(known(path, { text = result.content }))
        end)
      end)
    )
  end
  local function work_out(index)
    local operation = operations[index]
    if not operation then
      return write(steps_of(order, ctx), ctx)
    elseif not operate[operation.kind] then
      local kind = tostring(operation.kind)
      return ctx.done(nil, ("the language server wants to %s files, which is not done here"):format(kind))
    end
    with(operation.path, operation.kind ~= "delete", function(state)
      with(operation.to, true, function(target)
        local why = operate[operation.kind](operation, state, target, ctx, encoding)
        if why then
          return ctx.done(nil, why)
        end
        work_out(index + 1)
      end)
    end)
  end
  work_out(1)
end

local function encoding_of(client)
  return client.offset_encoding or "utf-16"
end

function M.rename(args, ctx)
  local before
  local function more()
    before = ticks()
    return { newName = args.new_name }
  end
  lsp.at_place("textDocument/rename", args, ctx, more, function(answers)
    local answer = answers[1]
    if not answer then
      return ctx.done(nil, "the language server renames nothing here")
    end
    apply(answer.result, encoding_of(answer.client), before, ctx)
  end)
end

--- Does one of the things that a server offers.
local function act(client, action, buf, before, ctx)
  if action.disabled then
    return ctx.done(nil, action.disabled.reason)
  elseif action.edit then
    -- What a command would do beside the edit would be done by the server alone.
    if action.command then
      return ctx.done(nil, ("%q runs a command of the server, which is not done here"):format(action.title))
    end
    return apply(action.edit, encoding_of(client), before, ctx)
  elseif type(action.command) == "string" or action.is_resolved or action.command then
    return ctx.done(nil, ("%q runs a command of the server, which is not done here"):format(action.title))
  end
  local method = "codeAction/resolve"
  lsp.ask(
    { client },
    method,
    function()
      before = ticks()
      return action
    end,
    buf,
    ctx,
    function(answers)
      local resolved = answers[1] and answers[1].result
      if not (resolved and resolved.edit) then
        ctx.done(nil, ("the language server does not say what %q does"):format(action.title))
        return
      end
      act(client, resolved, buf, before, ctx)
    end
  )
end

--- What servers offer, in their order.
local function offered(answers)
  local list = {}
  for _, answer in ipairs(answers) do
    for _, action in ipairs(answer.result) do
      table.insert(list, { client = answer.client, action = action })
    end
  end
  return list
end

function M.code_action(args, ctx)
  local before
  local function more(position, buf)
    before = ticks()
    local found = {}
    for _, each in ipairs(vim.diagnostic.get(buf, { lnum = position.line })) do
      table.insert(found, each.user_data and each.user_data.lsp)
    end
    return { range = { start = position, ["end"] = position }, context = { diagnostics = found } }
  end
  lsp.at_place("textDocument/codeAction", args, ctx, more, function(answers, buf)
    local list = offered(answers)
    if not args.apply then
      local items = {}
      for index, each in ipairs(list) do
        table.insert(items, { text = each.action.title, kind = each.action.kind, line = index })
      end
      return ctx.done({ total = #items, items = items })
    end
    local chosen = list[tonumber(args.apply)]
    for _, each in ipairs(list) do
      chosen = each.action.title == args.apply and each or chosen
    end
    if not chosen then
      return ctx.done(nil, ("there is no %q among the %d actions"):format(args.apply, #list))
    end
    -- What is told then are files, not actions.
    ctx.is_action = true
    act(chosen.client, chosen.action, buf, before, ctx)
  end)
end

--- Asks the servers about a whole file.
local function of_file(method, args, ctx, params, go_on)
  file.open(args.file, ctx, function(buf)
    lsp.with_clients(buf, method, ctx, function(clients)
      local before = ticks()
      local function all()
        local asked = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
        return vim.tbl_extend("force", asked, params(buf))
      end
      lsp.ask({ clients[1] }, method, all, buf, ctx, function(answers)
        go_on(answers, buf, before)
      end)
    end)
  end)
end

function M.format(args, ctx)
  local function options(buf)
    local width = vim.bo[buf].shiftwidth
    local size = width > 0 and width or vim.bo[buf].tabstop
    return { options = { tabSize = size, insertSpaces = vim.bo[buf].expandtab } }
  end
  of_file("textDocument/formatting", args, ctx, options, function(answers, buf, before)
    local answer = answers[1]
    if not answer then
      return ctx.done({ total = 0, items = {} })
    end
    local edit = { changes = { [vim.uri_from_bufnr(buf)] = answer.result } }
    apply(edit, encoding_of(answer.client), before, ctx)
  end)
end

function M.organize_imports(args, ctx)
  local function whole(buf)
    local last = { line = vim.api.nvim_buf_line_count(buf), character = 0 }
    return {
      range = { start = { line = 0, character = 0 }, ["end"] = last },
      context = { diagnostics = {}, only = { "source.organizeImports" } },
    }
  end
  of_file("textDocument/codeAction", args, ctx, whole, function(answers, buf, before)
    local first = offered(answers)[1]
    if not first then
      return ctx.done({ total = 0, items = {} })
    end
    act(first.client, first.action, buf, before, ctx)
  end)
end

--- The text with the old replaced, and how often; or nil and why not.
local function replaced(text, args)
  local parts, at, number = {}, 1, 0
  while true do
    local first, last = text:find(args.old, at, true)
    if not first then
      break
    end
    number = number + 1
    table.insert(parts, text:sub(at, first - 1))
    table.insert(parts, args.new)
    at = last + 1
  end
  if number == 0 then
    return nil, "the old text is not in the file"
  elseif number > 1 and not args.all then
    return nil, ("the old text is there %d times; give more of it, or set `all`"):format(number)
  end
  table.insert(parts, text:sub(at))
  return table.concat(parts), number
end

function M.edit_buffer(args, ctx)
  local path = file.absolute(args.file, ctx.cwd)
  ctx.request("fs/read_text_file", { path = path }, function(result, why)
    if why then
      return ctx.done(nil, why)
    end
    local text, number = replaced(result.content, args)
    if not text then
      return ctx.done(nil, number)
    end
    write({ { path = path, text = text, what = count(number) } }, ctx)
  end)
end

return M

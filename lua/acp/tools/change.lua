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

--- The files of a workspace edit with what is done to each, in their order; or nil and why not.
local function steps_of(edit)
  local steps, by_path = {}, {}
  local function add(uri, edits, creates)
    local path = vim.fs.normalize(vim.uri_to_fname(uri))
    local step = by_path[path]
    if not step then
      step = { path = path, edits = {}, creates = creates }
      by_path[path] = step
      table.insert(steps, step)
    end
    vim.list_extend(step.edits, edits)
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.kind == "create" then
      add(change.uri, {}, true)
    elseif change.kind then
      return nil, ("the language server wants to %s files, which is not done here"):format(change.kind)
    else
      add(change.textDocument.uri, change.edits)
    end
  end
  if not edit.documentChanges then
    for uri, edits in pairs(edit.changes or {}) do
      add(uri, edits)
    end
    table.sort(steps, function(a, b)
      return a.path < b.path
    end)
  end
  return steps
end

--- Writes what was worked out, one file after the other.
local function write(steps, ctx)
  local items = {}
  local function next_file(index)
    local step = steps[index]
    if not step then
      if ctx.is_action then
        local lines = { #items == 1 and "1 changed file" or ("%d changed files"):format(#items) }
        for _, item in ipairs(items) do
          table.insert(lines, ("%s: %s"):format(ctx.relative(item.path), item.text))
        end
        return ctx.done({ text = table.concat(lines, "\n") })
      end
      return ctx.done({ total = #items, items = items })
    end
    ctx.request("fs/write_text_file", { path = step.path, content = step.text }, function(_, why)
      if why then
        local before = #items > 0 and (" (%d files before it were changed)"):format(#items) or ""
        return ctx.done(nil, why .. before)
      end
      table.insert(items, { path = step.path, text = step.what })
      next_file(index + 1)
    end)
  end
  next_file(1)
end

local function count(number)
  return number == 1 and "1 edit" or ("%d edits"):format(number)
end

--- Does what a server wants: first all is read and worked out, then all is written.
---@param edit table a workspace edit
---@param encoding string
---@param before table<integer, integer> what the server's answer is about
local function apply(edit, encoding, before, ctx)
  local steps, why = steps_of(edit)
  if not steps then
    return ctx.done(nil, why)
  end
  local changing = {}
  local function work_out(index)
    local step = steps[index]
    if not step then
      return write(changing, ctx)
    end
    local function go_on(text)
      if not is_as_before(step.path, before) then
        return ctx.done(nil, ctx.relative(step.path) .. " was changed meanwhile; ask again")
      end
      local new, trouble = edited(text, step.edits, encoding)
      if not new then
        return ctx.done(nil, trouble)
      elseif new ~= text or step.creates then
        local what = step.creates and "created" or count(#step.edits)
        table.insert(changing, { path = step.path, text = new, what = what })
      end
      work_out(index + 1)
    end
    if step.creates then
      return vim.uv.fs_stat(
        step.path,
        ctx.guard(function(_, stat)
          if stat then
            return ctx.done(nil, ctx.relative(step.path) .. " is there already")
          end
          go_on("")
        end)
      )
    end
    ctx.request("fs/read_text_file", { path = step.path }, function(result, trouble)
      if trouble then
        return ctx.done(nil, trouble)
      end
      go_on(result.content)
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

--- Workspace edits of language servers, for agents' tools. Each file is read and written as the agent itself would do it,
--- so that the same rules, questions, merges and reviews are met.

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

--- The b:changedtick of each loaded buffer: what a server's answer is about.
---@return table<integer, integer>
function M.ticks()
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
  local buf = file.buffer(path)
  return not (buf and before[buf]) or vim.api.nvim_buf_get_changedtick(buf) == before[buf]
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

--- How many edits there were, in words.
---@param number integer
---@return string
function M.count(number)
  return number == 1 and "1 edit" or ("%d edits"):format(number)
end

--- Writes what was worked out, one file after the other. Files are removed once all others are written, so that what is
--- renamed is never nowhere.
local function write(steps, ctx, go_on)
  local done = 0
  local function next_file(index)
    local step = steps[index]
    if not step then
      return go_on()
    end
    local function written(_, why)
      if why then
        local before = done > 0 and (" (%d files before it were changed)"):format(done) or ""
        return ctx.done(nil, why .. before)
      end
      done = done + 1
      next_file(index + 1)
    end
    if step.text then
      return ctx.request("fs/write_text_file", { path = step.path, content = step.text }, written)
    end
    ctx.request("remove_file", { path = step.path }, written)
  end
  next_file(1)
end

--- How a file came to be as it is after all operations.
local function what_of(state, ctx)
  local edits = state.edits > 0 and M.count(state.edits) or nil
  if state.from then
    local what = "renamed from " .. ctx.relative(state.from)
    return edits and ("%s, %s"):format(what, edits) or what
  end
  return state.is_new and "created" or edits
end

--- What is to be written and removed for the files to be as they were worked out, and what the agent is told of that.
local function steps_of(order, ctx)
  local in_buffers, written, removed, items = {}, {}, {}, {}
  for _, state in ipairs(order) do
    local what
    local step = { path = state.path, text = state.text }
    if state.text and (not state.was_there or state.text ~= state.before) then
      what = what_of(state, ctx)
      table.insert(file.loaded(state.path) and in_buffers or written, step)
    elseif not state.text and state.was_there then
      what = not state.is_moved and "deleted" or nil
      table.insert(removed, step)
    end
    table.insert(items, what and { path = state.path, text = what })
  end
  -- A server looks again at what is open when its text changes: what it includes should be as it is to be by then.
  return vim.list_extend(vim.list_extend(written, in_buffers), removed), items
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

--- Does what a server wants: first all is read and worked out, then all is written. What is wrong ends the call.
---@param edit table a workspace edit
---@param client vim.lsp.Client whose it is
---@param before table<integer, integer> the ticks that it is about
---@param ctx acp.tools.Context
---@param go_on fun(items: acp.tools.Item[]) gets the files that were changed
function M.apply(edit, client, before, ctx, go_on)
  local encoding = lsp.encoding_of(client)
  local operations, states, order = operations_of(edit), {}, {}
  local function known(path, state)
    state.path, state.edits, state.before, state.was_there = path, 0, state.text, state.text ~= nil
    states[path] = state
    table.insert(order, state)
    return state
  end
  -- A file that is only removed need not be a text.
  local function with(path, is_read, then_do)
    if not path or states[path] then
      return then_do(path and states[path])
    elseif not is_as_before(path, before) then
      return ctx.done(nil, ctx.relative(path) .. " was changed meanwhile; ask again")
    end
    vim.uv.fs_lstat(
      path,
      ctx.guard(function(_, stat)
        if stat and stat.type == "directory" then
          return ctx.done(nil, ctx.relative(path) .. " is a folder, and only files are changed here")
        elseif not stat and not file.loaded(path) then
          return then_do(known(path, {}))
        elseif not is_read then
          return then_do(known(path, { text = "" }))
        end
        ctx.request("fs/read_text_file", { path = path }, function(result, why)
          if why then
            return ctx.done(nil, why)
          elseif not is_as_before(path, before) then
            return ctx.done(nil, ctx.relative(path) .. " was changed meanwhile; ask again")
          end
          then_do(known(path, { text = result.content }))
        end)
      end)
    )
  end
  local function work_out(index)
    local operation = operations[index]
    if not operation then
      local steps, items = steps_of(order, ctx)
      return write(steps, ctx, function()
        go_on(items)
      end)
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

return M

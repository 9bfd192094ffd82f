--- What agents' tools change: by edits of language servers, and in a text that the agent names.

local file = require("acp.tools.file")
local lsp = require("acp.tools.lsp")
local workspace_edit = require("acp.tools.workspace_edit")

local M = {}

local function told(items, ctx)
  ctx.done({ total = #items, items = items })
end

function M.rename(args, ctx)
  local before
  local function more()
    before = workspace_edit.ticks()
    return { newName = args.new_name }
  end
  lsp.at_place("textDocument/rename", args, ctx, more, function(answers)
    local answer = answers[1]
    if not answer then
      return ctx.done(nil, "the language server renames nothing here")
    end
    workspace_edit.apply(answer.result, answer.client, before, ctx, function(items)
      told(items, ctx)
    end)
  end)
end

function M.format(args, ctx)
  local method = "textDocument/formatting"
  file.open(args.file, ctx, function(buf)
    lsp.with_clients(buf, method, ctx, function(clients)
      local before, uri = workspace_edit.ticks(), vim.uri_from_bufnr(buf)
      local width = vim.bo[buf].shiftwidth
      local size = width > 0 and width or vim.bo[buf].tabstop
      local function params()
        local options = { tabSize = size, insertSpaces = vim.bo[buf].expandtab }
        return { textDocument = { uri = uri }, options = options }
      end
      lsp.ask({ clients[1] }, method, params, buf, ctx, function(answers)
        local answer = answers[1]
        if not answer then
          return told({}, ctx)
        end
        local edit = { changes = { [uri] = answer.result } }
        workspace_edit.apply(edit, answer.client, before, ctx, function(items)
          told(items, ctx)
        end)
      end)
    end)
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
    ctx.request("fs/write_text_file", { path = path, content = text }, function(_, trouble)
      if trouble then
        return ctx.done(nil, trouble)
      end
      told({ { path = path, text = workspace_edit.count(number) } }, ctx)
    end)
  end)
end

return M

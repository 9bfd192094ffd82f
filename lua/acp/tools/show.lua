--- What agents' tools show to the user: questions, places, lists. No window of the user's is taken for it.

local file = require("acp.tools.file")

local M = {}

--- It is the form that an agent could put to the user itself, so that it is shown, queued and taken away alike.
function M.ask_user(args, ctx)
  local answer = { type = "string", enum = args.choices }
  local form = { type = "object", properties = { answer = answer }, required = { "answer" } }
  local question = { mode = "form", message = args.question, requestedSchema = form }
  ctx.request("elicitation/create", question, function(result, why)
    if why then
      return ctx.done(nil, why)
    elseif result.action ~= "accept" then
      return ctx.done(
        nil,
        result.action == "decline" and "the user declined to answer" or "the user gave no answer"
      )
    end
    ctx.done({ text = result.content and result.content.answer or "" })
  end)
end

function M.set_quickfix(args, ctx)
  local items, entries = {}, {}
  for _, place in ipairs(args.places) do
    local name, line, column, text = place:match("^(.-):(%d+):(%d+):%s*(.*)$")
    if not name then
      name, line, text = place:match("^(.-):(%d+):%s*(.*)$")
    end
    local path = name and file.absolute(name, ctx.cwd)
    if not path then
      return ctx.done(nil, ("%q is no `path:line: text`"):format(place))
    elseif not file.is_inside(path, ctx.roots) then
      return ctx.done(nil, name .. " is outside of the session's folders")
    end
    line, column = tonumber(line), tonumber(column)
    table.insert(items, { filename = path, lnum = line, col = column, text = text })
    table.insert(entries, { path = path, line = line, column = column, text = text })
  end
  vim.fn.setqflist({}, " ", { title = args.title, items = items })
  ctx.done({ total = #entries, items = entries })
end

function M.open_place(args, ctx)
  -- The library shows to those who follow an agent what each of its calls is about.
  file.open(args.file, ctx, function(buf)
    if args.line > vim.api.nvim_buf_line_count(buf) then
      local lines = vim.api.nvim_buf_line_count(buf)
      ctx.done(nil, ("%s has %d lines"):format(args.file, lines))
      return
    end
    ctx.done({ text = "It is shown where the user follows you, if they do." })
  end)
end

return M

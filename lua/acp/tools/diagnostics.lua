--- The diagnostics, for agents' tools. Neovim copies each that it gives out, so only those are asked for that are told,
--- and in slices: a project may have ten thousand.

local file = require("acp.tools.file")

local M = {}

-- Neovim may be used between two slices of this many milliseconds.
local SLICE = 2
-- Servers are quiet when they have said nothing for so long.
local QUIET = 500
-- Nobody waits longer for that.
local LIMIT = 15000

--- Goes on once no server has told anything for a while.
local function when_quiet(ctx, go_on)
  local timer = assert(vim.uv.new_timer())
  local group = vim.api.nvim_create_augroup("acp_tool_" .. tostring(timer):gsub("%W", "_"), {})
  local is_over = false
  local function stop()
    if not is_over then
      is_over = true
      timer:stop()
      timer:close()
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end
  end
  local ready = ctx.guard(function()
    if not is_over then
      stop()
      go_on()
    end
  end)
  local function again()
    if not is_over then
      timer:start(QUIET, 0, ready)
    end
  end
  vim.api.nvim_create_autocmd(
    { "DiagnosticChanged", "LspProgress", "LspAttach" },
    { group = group, callback = again }
  )
  ctx.on_end(stop)
  vim.defer_fn(ready, LIMIT)
  again()
end

--- Those of the buffers that are on the page, in the order of files and lines.
local function tell(bufs, args, ctx)
  local severity = { min = vim.diagnostic.severity[args.severity:upper()] }
  local items, total, index = {}, 0, 1
  local function take(buf)
    local count = 0
    for _, each in pairs(vim.diagnostic.count(buf, { severity = severity })) do
      count = count + each
    end
    local from, last = total, args.offset + args.limit
    total = total + count
    if count == 0 or from >= last or total <= args.offset then
      return
    end
    local found = vim.diagnostic.get(buf, { severity = severity })
    table.sort(found, function(a, b)
      return a.lnum < b.lnum or a.lnum == b.lnum and a.col < b.col
    end)
    local path = vim.fs.normalize(vim.api.nvim_buf_get_name(buf))
    for number = math.max(args.offset - from, 0) + 1, math.min(last - from, #found) do
      local each = found[number]
      table.insert(items, {
        path = path,
        line = each.lnum + 1,
        column = each.col + 1,
        severity = each.severity,
        text = each.message,
        source = each.source,
        code = each.code ~= nil and tostring(each.code) or nil,
      })
    end
  end
  local function slice()
    local began = vim.uv.hrtime()
    while bufs[index] do
      take(bufs[index])
      index = index + 1
      if (vim.uv.hrtime() - began) / 1e6 > SLICE and bufs[index] then
        return vim.defer_fn(ctx.guard(slice), 1)
      end
    end
    ctx.done({ items = items, total = total })
  end
  slice()
end

function M.diagnostics(args, ctx)
  local function of_all()
    local bufs = vim.tbl_filter(function(buf)
      local name = vim.api.nvim_buf_get_name(buf)
      return name ~= "" and file.is_inside(vim.fs.normalize(name), ctx.roots)
    end, vim.api.nvim_list_bufs())
    table.sort(bufs, function(a, b)
      return vim.api.nvim_buf_get_name(a) < vim.api.nvim_buf_get_name(b)
    end)
    tell(bufs, args, ctx)
  end
  if not args.file then
    if args.wait then
      return when_quiet(ctx, of_all)
    end
    return of_all()
  end
  file.open(args.file, ctx, function(buf, is_new)
    local function go_on()
      tell({ buf }, args, ctx)
    end
    -- Nothing is known yet of a file that was opened just now.
    if args.wait or is_new then
      return when_quiet(ctx, go_on)
    end
    go_on()
  end)
end

return M

--- The diagnostics, for agents' tools. Neovim copies each that it gives out, so only those are asked for that are told,
--- and in slices: a project may have ten thousand.

local file = require("acp.tools.file")
local quiet = require("acp.tools.quiet")

local M = {}

-- Neovim may be used between two slices of this many milliseconds.
local SLICE = 2
-- A server that was just told of a text has begun to look at it by then, or has no diagnostics at all.
local FIRST_WORD = 5000

--- The b:changedtick of each buffer when a server last told of it.
---@type table<integer, integer>
local told = {}

vim.api.nvim_create_autocmd("DiagnosticChanged", {
  group = vim.api.nvim_create_augroup("acp_tool_diagnostics", {}),
  callback = function(args)
    told[args.buf] = vim.api.nvim_buf_get_changedtick(args.buf)
  end,
})

--- Whether a server is looking at these buffers, as far as Neovim knows: it starts, was asked, or says how far it is.
local function is_busy(bufs)
  for _, buf in ipairs(bufs) do
    -- Also those that are still starting, which the filter calls so.
    for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf, _uninitialized = true })) do
      if not client.initialized or next(client.progress.pending) then
        return true
      end
      for _, request in pairs(client.requests) do
        local is_asked = request.type == "pending" and request.method:find("^%a+/diagnostic$")
        if is_asked and (request.bufnr == buf or request.method:find("^workspace")) then
          return true
        end
      end
    end
  end
  return false
end

--- Whether there is a server for each of these buffers that has said nothing about its text.
local function is_to_begin(bufs)
  for _, buf in ipairs(bufs) do
    local is_new = vim.api.nvim_buf_is_loaded(buf) and told[buf] ~= vim.api.nvim_buf_get_changedtick(buf)
    if is_new and #vim.lsp.get_clients({ bufnr = buf, _uninitialized = true }) > 0 then
      return true
    end
  end
  return false
end

local PULL = "textDocument/diagnostic"

--- Neovim asks the servers that want to be asked about the buffers in windows alone.
local function ask_about_hidden(bufs)
  for _, buf in ipairs(bufs) do
    local is_hidden = vim.api.nvim_buf_is_loaded(buf) and #vim.fn.win_findbuf(buf) == 0
    if is_hidden and #vim.lsp.get_clients({ bufnr = buf, method = PULL }) > 0 then
      vim.lsp.buf_request(buf, PULL, { textDocument = { uri = vim.uri_from_bufnr(buf) } })
    end
  end
end

--- Goes on once the servers of these buffers have begun, and none has told anything for a while.
local function when_quiet(ctx, bufs_of, go_on)
  local how = { events = { "DiagnosticChanged" } }
  function how.is_early(waited)
    local bufs = bufs_of()
    return is_busy(bufs) or waited < FIRST_WORD and is_to_begin(bufs)
  end
  function how.on_attach(buf)
    ask_about_hidden({ buf })
  end
  ask_about_hidden(bufs_of())
  quiet.wait(ctx, how, go_on)
end

--- What vim.diagnostic.get() copies the answer of, for it alone: that function, if it is Neovim's own.
---@type fun(buf: integer, opts: vim.diagnostic.GetOpts, clamp: boolean): vim.Diagnostic[]
local uncopied
for number = 1, debug.getinfo(vim.diagnostic.get, "u").nups do
  local name, value = debug.getupvalue(vim.diagnostic.get, number)
  if name == "get_diagnostics" and type(value) == "function" then
    uncopied = value
  end
end

--- The diagnostics of a buffer, which are not to be changed: Neovim's own, since to copy ten thousand takes long.
local function borrowed(buf, severity)
  local opts = { severity = severity }
  return uncopied and uncopied(buf, opts, false) or vim.diagnostic.get(buf, opts)
end

--- Those from one number to another in the order of lines and columns. It pauses between its steps.
local function in_order(found, first, last, pause)
  local of_line, lines = {}, {}
  for number, each in ipairs(found) do
    local list = of_line[each.lnum]
    if not list then
      list = {}
      of_line[each.lnum] = list
      lines[#lines + 1] = each.lnum
    end
    list[#list + 1] = each
    if number % 500 == 0 then
      pause()
    end
  end
  table.sort(lines)
  pause()
  local count, page = 0, {}
  for _, line in ipairs(lines) do
    local list = of_line[line]
    if count + #list >= first and count < last then
      table.sort(list, function(a, b)
        return a.col < b.col
      end)
      for number = math.max(first - count, 1), math.min(last - count, #list) do
        page[#page + 1] = list[number]
      end
    end
    count = count + #list
  end
  return page
end

--- Those of the buffers that are on the page, in the order of files and lines.
local function tell(bufs, args, ctx)
  local severity = { min = vim.diagnostic.severity[args.severity:upper()] }
  local items, total = {}, 0
  local function take(buf, pause)
    local count = 0
    for _, each in pairs(vim.diagnostic.count(buf, { severity = severity })) do
      count = count + each
    end
    local from, last = total, args.offset + args.limit
    total = total + count
    if count == 0 or from >= last or total <= args.offset then
      return
    end
    pause()
    local path = vim.fs.normalize(vim.api.nvim_buf_get_name(buf))
    for _, each in ipairs(in_order(borrowed(buf, severity), args.offset - from + 1, last - from, pause)) do
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
  local began
  local function pause()
    if (vim.uv.hrtime() - began) / 1e6 > SLICE then
      coroutine.yield()
    end
  end
  local work = coroutine.create(function()
    for _, buf in ipairs(bufs) do
      if vim.api.nvim_buf_is_valid(buf) then
        take(buf, pause)
      end
      pause()
    end
  end)
  local function slice()
    began = vim.uv.hrtime()
    local ok, err = coroutine.resume(work)
    if not ok then
      error(err, 0)
    end
    if coroutine.status(work) == "suspended" then
      return vim.defer_fn(ctx.guard(slice), 1)
    end
    ctx.done({ items = items, total = total })
  end
  slice()
end

function M.diagnostics(args, ctx)
  local function all()
    local bufs = vim.tbl_filter(function(buf)
      local name = vim.api.nvim_buf_get_name(buf)
      return name ~= "" and file.is_inside(vim.fs.normalize(name), ctx.roots)
    end, vim.api.nvim_list_bufs())
    table.sort(bufs, function(a, b)
      return vim.api.nvim_buf_get_name(a) < vim.api.nvim_buf_get_name(b)
    end)
    return bufs
  end
  if not args.file then
    local function go_on()
      tell(all(), args, ctx)
    end
    if args.wait then
      return when_quiet(ctx, all, go_on)
    end
    return go_on()
  end
  file.open(args.file, ctx, function(buf, is_new)
    local function go_on()
      tell({ buf }, args, ctx)
    end
    -- Nothing is known yet of a file that was opened just now.
    if args.wait or is_new then
      return when_quiet(ctx, function()
        return { buf }
      end, go_on)
    end
    go_on()
  end)
end

return M

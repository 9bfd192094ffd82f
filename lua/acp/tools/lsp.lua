--- What the language servers know, for agents' tools. Requests never make Neovim wait: each has a time limit, and all
--- servers of a file are asked at once.

local file = require("acp.tools.file")
local quiet = require("acp.tools.quiet")

local M = {}

-- A server that has not answered by then is said not to answer.
local LIMIT = 20000
-- How long a server may take to attach to a file that was opened for the agent.
local ATTACH = 5000
-- The same where nothing says that there is one at all.
local APPEAR = 1000

-- What is about the whole project: only a server that has read it can answer these.
local OF_PROJECT = {
  ["textDocument/implementation"] = true,
  ["textDocument/prepareCallHierarchy"] = true,
  ["textDocument/references"] = true,
  ["textDocument/rename"] = true,
}

local is_method_style = vim.fn.has("nvim-0.11") == 1

--- Calls a method of a client's, which older Neovims have as functions.
local function invoke(client, name, ...)
  if is_method_style then
    return client[name](client, ...)
  end
  return client[name](...)
end

local function supports(client, method, buf)
  if is_method_style then
    return client:supports_method(method, buf)
  end
  return client.supports_method(method, { bufnr = buf })
end

--- The unit of a server's columns for a byte of a line, from 0.
local function character(line, byte, encoding)
  if encoding == "utf-8" then
    return byte
  elseif is_method_style then
    return vim.str_utfindex(line, encoding, byte, false)
  end
  local utf32, utf16 = vim.str_utfindex(line, math.min(byte, #line))
  return encoding == "utf-32" and utf32 or utf16
end

--- The byte for a server's column.
local function byte_at(line, column, encoding)
  if encoding == "utf-8" then
    return math.min(column, #line)
  elseif is_method_style then
    return vim.str_byteindex(line, encoding, column, false)
  end
  local ok, byte = pcall(vim.str_byteindex, line, column, encoding == "utf-16")
  return ok and byte or #line
end

local function clients_of(buf, method)
  return vim.tbl_filter(function(client)
    return client.initialized ~= false and supports(client, method, buf)
  end, vim.lsp.get_clients({ bufnr = buf }))
end

--- Servers of the file, also those that are being started: only newer Neovims list these.
local function any_client(buf)
  return #vim.lsp.get_clients({ bufnr = buf, _uninitialized = true }) > 0
end

--- Goes on with the servers of a file that can do something, once there is one and it knows enough for that.
local function with_clients(buf, method, ctx, then_do)
  local function go_on(clients)
    if not OF_PROJECT[method] then
      return then_do(clients)
    end
    quiet.when_settled(clients, ctx, function()
      then_do(clients)
    end)
  end
  local clients = clients_of(buf, method)
  if #clients > 0 then
    return go_on(clients)
  end
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ":t")
  if #vim.lsp.get_clients({ bufnr = buf }) > 0 then
    ctx.done(nil, ("no language server of %s can do this (%s)"):format(name, method))
    return
  end
  local waiting, listener = true, nil
  local function stop()
    waiting = false
    if listener then
      pcall(vim.api.nvim_del_autocmd, listener)
      listener = nil
    end
  end
  listener = vim.api.nvim_create_autocmd("LspAttach", {
    buffer = buf,
    callback = vim.schedule_wrap(ctx.guard(function()
      local attached = clients_of(buf, method)
      if waiting and #attached > 0 then
        stop()
        go_on(attached)
      end
    end)),
  })
  ctx.on_end(stop)
  local function give_up()
    if waiting then
      stop()
      ctx.done(nil, ("no language server works in %s that can do this (%s)"):format(name, method))
    end
  end
  vim.defer_fn(
    ctx.guard(function()
      if waiting and not any_client(buf) then
        give_up()
      end
    end),
    APPEAR
  )
  vim.defer_fn(ctx.guard(give_up), ATTACH)
end

--- Calls a function when a server leaves a buffer, as it does at its end, until the call is over.
local function on_server_left(ctx, fn)
  local listener = vim.api.nvim_create_autocmd("LspDetach", { callback = ctx.guard(fn) })
  ctx.on_end(function()
    pcall(vim.api.nvim_del_autocmd, listener)
  end)
end

--- Asks all of the servers, and goes on with what they have answered.
---@param clients vim.lsp.Client[]
---@param buf? integer
---@param params fun(client: vim.lsp.Client): table
---@param go_on fun(answers: { client: vim.lsp.Client, result: any }[])
---@param is_held? fun(): boolean whether the server waits for something itself, which is no fault of its own
local function ask(clients, method, params, buf, ctx, go_on, is_held)
  local answers, errors, open = {}, {}, {}
  local function finish()
    if #answers == 0 and #errors > 0 then
      ctx.done(nil, table.concat(errors, "; "))
      return
    end
    go_on(answers)
  end
  local function answered(client, err, result)
    if not open[client.id] then
      return
    end
    open[client.id] = nil
    if err then
      table.insert(errors, ("%s: %s"):format(client.name, tostring(err.message or err)))
    elseif result ~= nil and result ~= vim.NIL then
      table.insert(answers, { client = client, result = result })
    end
    if next(open) == nil then
      finish()
    end
  end
  for _, client in ipairs(clients) do
    open[client.id] = { client = client }
  end
  on_server_left(ctx, function(args)
    local each = open[args.data.client_id]
    if each and invoke(each.client, "is_stopped") then
      answered(each.client, { message = "the server has ended" })
    end
  end)
  for _, client in ipairs(clients) do
    local handler = ctx.guard(function(err, result)
      answered(client, err, result)
    end)
    local sent, request = invoke(client, "request", method, params(client), handler, buf)
    if not sent then
      handler({ message = "the server has ended" })
    elseif open[client.id] then
      open[client.id].request = request
    end
  end
  local function stop()
    for id, each in pairs(open) do
      open[id] = nil
      pcall(invoke, each.client, "cancel_request", each.request)
    end
  end
  ctx.on_end(stop)
  local limit
  limit = ctx.guard(function()
    if next(open) == nil then
      return
    elseif is_held and is_held() then
      return vim.defer_fn(limit, LIMIT)
    end
    local names = vim.tbl_map(function(each)
      return each.client.name
    end, vim.tbl_values(open))
    stop()
    ctx.done(nil, ("%s did not answer within %d s"):format(table.concat(names, ", "), LIMIT / 1000))
  end)
  vim.defer_fn(limit, LIMIT)
end

local function encoding_of(client)
  return client.offset_encoding or "utf-16"
end

--- Where a line ends, from 1, in a server's units.
local function end_of(client, buf, line)
  line = math.min(line, vim.api.nvim_buf_line_count(buf))
  local text = vim.api.nvim_buf_get_lines(buf, line - 1, line, false)[1] or ""
  return { line = line - 1, character = character(text, #text, encoding_of(client)) }
end

--- Goes on with the buffer of a place and with a function that gives the place in a server's units. What is wrong with
--- the place ends the call.
---@param go_on fun(buf: integer, position: fun(client: vim.lsp.Client): table)
local function find_place(args, ctx, go_on)
  file.open(args.file, ctx, function(buf)
    local line = vim.api.nvim_buf_get_lines(buf, args.line - 1, args.line, false)[1]
    if not line then
      ctx.done(nil, ("%s has %d lines"):format(args.file, vim.api.nvim_buf_line_count(buf)))
      return
    end
    local byte = file.byte_of(line, args.symbol, args.column)
    if not byte then
      ctx.done(nil, ("line %d has no %q: %s"):format(args.line, args.symbol, vim.trim(line):sub(1, 120)))
      return
    end
    go_on(buf, function(client)
      return { line = args.line - 1, character = character(line, byte, encoding_of(client)) }
    end)
  end)
end

--- Asks the servers about a place in a file. `more` is what the request has beside the place.
local function at_place(method, args, ctx, more, go_on)
  find_place(args, ctx, function(buf, position)
    with_clients(buf, method, ctx, function(clients)
      local function params(client)
        local place = { textDocument = { uri = vim.uri_from_bufnr(buf) }, position = position(client) }
        return vim.tbl_extend("force", place, type(more) == "function" and more() or more)
      end
      ask(clients, method, params, buf, ctx, function(answers)
        go_on(answers, buf)
      end)
    end)
  end)
end

--- The part of a list that was asked for.
local function page(list, args)
  return vim.list_slice(list, args.offset + 1, args.offset + args.limit)
end

--- Words places as lines with their texts. `places` have a path, a server's range and the server's encoding.
local function tell_places(places, args, ctx)
  table.sort(places, function(a, b)
    if a.path ~= b.path then
      return a.path < b.path
    elseif a.range.start.line ~= b.range.start.line then
      return a.range.start.line < b.range.start.line
    end
    return a.range.start.character < b.range.start.character
  end)
  local unique = {}
  for _, place in ipairs(places) do
    local last = unique[#unique]
    if not (last and last.path == place.path and vim.deep_equal(last.range.start, place.range.start)) then
      table.insert(unique, place)
    end
  end
  local items, texts = page(unique, args), {}
  local function tell()
    ctx.done({
      total = #unique,
      items = vim.tbl_map(function(place)
        local start = place.range.start
        local line = texts[place.path][start.line + 1] or ""
        return {
          path = place.path,
          line = start.line + 1,
          column = byte_at(line, start.character, place.encoding) + 1,
          text = place.text or vim.trim(line),
          kind = place.kind,
        }
      end, items),
    })
  end
  local function read(index)
    local place = items[index]
    if not place then
      return tell()
    elseif texts[place.path] then
      return read(index + 1)
    end
    file.lines(place.path, ctx, function(lines)
      texts[place.path] = lines
      read(index + 1)
    end)
  end
  read(1)
end

--- A tool that gives the places of one request.
local function locations(method, more)
  return function(args, ctx)
    local extra = more and more(args) or {}
    at_place(method, args, ctx, extra, function(answers)
      local places = {}
      for _, answer in ipairs(answers) do
        local list = answer.result
        list = (list.uri or list.targetUri) and { list } or list
        for _, each in ipairs(list) do
          table.insert(places, {
            path = vim.fs.normalize(vim.uri_to_fname(each.uri or each.targetUri)),
            range = each.range or each.targetSelectionRange,
            encoding = encoding_of(answer.client),
          })
        end
      end
      tell_places(places, args, ctx)
    end)
  end
end

M.definition = locations("textDocument/definition")
M.declaration = locations("textDocument/declaration")
M.type_definition = locations("textDocument/typeDefinition")
M.implementation = locations("textDocument/implementation")
M.references = locations("textDocument/references", function(args)
  return { context = { includeDeclaration = args.declaration } }
end)

function M.hover(args, ctx)
  at_place("textDocument/hover", args, ctx, {}, function(answers)
    local texts = {}
    for _, answer in ipairs(answers) do
      local lines = vim.lsp.util.convert_input_to_markdown_lines(answer.result.contents or {})
      local text = vim.trim(table.concat(lines, "\n"))
      if text ~= "" then
        table.insert(texts, text)
      end
    end
    ctx.done({
      text = #texts > 0 and table.concat(texts, "\n\n")
        or "The language server says nothing about this place.",
    })
  end)
end

local function kind_of(symbol)
  local kind = vim.lsp.protocol.SymbolKind[symbol.kind]
  return type(kind) == "string" and kind:lower() or nil
end

function M.document_symbols(args, ctx)
  local method = "textDocument/documentSymbol"
  file.open(args.file, ctx, function(buf)
    with_clients(buf, method, ctx, function(clients)
      ask(
        clients,
        method,
        function()
          return { textDocument = { uri = vim.uri_from_bufnr(buf) } }
        end,
        buf,
        ctx,
        function(answers)
          local items = {}
          local function add(symbols, depth)
            for _, symbol in ipairs(symbols) do
              local range = symbol.range or symbol.location.range
              local detail = symbol.detail and symbol.detail ~= "" and " " .. symbol.detail or ""
              table.insert(items, {
                line = range.start.line + 1,
                last_line = range["end"].line + 1,
                depth = depth,
                text = symbol.name .. detail,
                kind = kind_of(symbol),
              })
              add(symbol.children or {}, depth + 1)
            end
          end
          for _, answer in ipairs(answers) do
            add(answer.result, 0)
          end
          ctx.done({ total = #items, items = page(items, args) })
        end
      )
    end)
  end)
end

function M.workspace_symbols(args, ctx)
  local method = "workspace/symbol"
  local clients = vim.tbl_filter(function(client)
    return client.initialized ~= false and supports(client, method, nil)
  end, vim.lsp.get_clients())
  if #clients == 0 then
    ctx.done(
      nil,
      "no language server that knows the symbols of the project is running; ask about a file first"
    )
    return
  end
  local function query()
    return { query = args.query }
  end
  local function found(answers)
    local places = {}
    for _, answer in ipairs(answers) do
      for _, symbol in ipairs(answer.result) do
        local container = symbol.containerName
        table.insert(places, {
          path = vim.fs.normalize(vim.uri_to_fname(symbol.location.uri)),
          range = symbol.location.range or { start = { line = 0, character = 0 } },
          encoding = encoding_of(answer.client),
          text = container and container ~= "" and ("%s (in %s)"):format(symbol.name, container)
            or symbol.name,
          kind = kind_of(symbol),
        })
      end
    end
    tell_places(places, args, ctx)
  end
  quiet.when_settled(clients, ctx, function()
    ask(clients, method, query, nil, ctx, found)
  end)
end

function M.call_hierarchy(args, ctx)
  at_place("textDocument/prepareCallHierarchy", args, ctx, {}, function(answers, buf)
    local answer = answers[1]
    local item = answer and answer.result[1]
    if not item then
      return ctx.done({ total = 0, items = {} })
    end
    local is_incoming = args.direction == "incoming"
    local method = is_incoming and "callHierarchy/incomingCalls" or "callHierarchy/outgoingCalls"
    ask(
      { answer.client },
      method,
      function()
        return { item = item }
      end,
      buf,
      ctx,
      function(results)
        local places = {}
        for _, call in ipairs(results[1] and results[1].result or {}) do
          local other = is_incoming and call.from or call.to
          table.insert(places, {
            path = vim.fs.normalize(vim.uri_to_fname(other.uri)),
            range = other.selectionRange or other.range,
            encoding = encoding_of(answer.client),
            text = other.name,
            kind = kind_of(other),
          })
        end
        tell_places(places, args, ctx)
      end
    )
  end)
end

M.byte_at, M.supports, M.end_of = byte_at, supports, end_of
M.invoke, M.encoding_of = invoke, encoding_of
M.with_clients, M.ask, M.find_place, M.at_place = with_clients, ask, find_place, at_place

return M

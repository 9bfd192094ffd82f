--- The least that a client in plain Lua can do with an agent's text: spawn, decode, put it into a buffer, in
--- three ways. It shows nothing else, asks nothing, colours nothing and survives nothing: it is what the
--- plugin is measured against, not a client.

local uv, api = vim.uv, vim.api
local FRAME_MS = 16

local M = {}
local buf, prompt, win, stdin, session
-- The id of the last request, and of the last that was answered.
local asked, answered = 2, 0
local pending = {}
local take
local marks = api.nvim_create_namespace("floor")

local function append(text)
  api.nvim_buf_set_text(buf, -1, -1, -1, -1, vim.split(text, "\n", { plain = true }))
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
end

local function flush()
  if #pending > 0 then
    local text = table.concat(pending)
    pending = {}
    append(text)
  end
end

local ways = {
  --- One edit for all that came in a frame.
  floor = function()
    uv.new_timer():start(FRAME_MS, FRAME_MS, function()
      if #pending > 0 then
        vim.schedule(flush)
      end
    end)
    return function(text)
      pending[#pending + 1] = text
    end
  end,
  --- One edit for each chunk.
  chunk = function()
    return function(text)
      vim.schedule(function()
        append(text)
      end)
    end
  end,
  --- One edit for all.
  once = function()
    return function(text)
      pending[#pending + 1] = text
      if text == "END-OF-FLOOD" then
        vim.schedule(flush)
      end
    end
  end,
}

local function send(message)
  message.jsonrpc = "2.0"
  stdin:write(vim.json.encode(message) .. "\n")
end

--- What stands in the buffer for an update: a text, or a line for a call and for what becomes of it.
local function text_of(update)
  local kind = update.sessionUpdate
  if kind == "agent_message_chunk" then
    return update.content.text
  elseif kind == "user_message_chunk" then
    return "\n" .. update.content.text .. "\n"
  elseif kind == "agent_thought_chunk" then
    return update.content.text .. "\n"
  elseif kind == "tool_call" then
    return update.title .. "\n"
  elseif kind == "tool_call_update" then
    return update.status .. "\n"
  end
end

local function lines_of(text)
  local lines = vim.split(text, "\n", { plain = true })
  if lines[#lines] == "" then
    lines[#lines] = nil
  end
  return lines
end

--- A diff as lines in the chat, and as marks in the file.
local function show_diff(diff)
  local target = vim.fn.bufadd(diff.path)
  local old, new = lines_of(diff.oldText), lines_of(diff.newText)
  local hunks = vim.diff(diff.oldText, diff.newText, { result_type = "indices" })
  local text = {}
  for _, hunk in ipairs(hunks) do
    local from, count, to, more = unpack(hunk)
    local virtual = {}
    for row = from, from + count - 1 do
      text[#text + 1] = "- " .. old[row]
      api.nvim_buf_set_extmark(target, marks, row - 1, 0, { line_hl_group = "DiffDelete" })
    end
    for row = to, to + more - 1 do
      text[#text + 1] = "+ " .. new[row]
      virtual[#virtual + 1] = { { new[row], "DiffAdd" } }
    end
    local row = math.max(from + math.max(count, 1) - 2, 0)
    api.nvim_buf_set_extmark(target, marks, row, 0, { virt_lines = virtual })
  end
  append(table.concat(text, "\n") .. "\n")
end

--- What the agent asks for. A write replaces the whole buffer.
local requests = {
  ["fs/read_text_file"] = function(params)
    local lines = api.nvim_buf_get_lines(vim.fn.bufadd(params.path), 0, -1, false)
    return { content = table.concat(lines, "\n") .. "\n" }
  end,
  ["fs/write_text_file"] = function(params)
    api.nvim_buf_set_lines(vim.fn.bufadd(params.path), 0, -1, false, lines_of(params.content))
    return vim.empty_dict()
  end,
  ["session/request_permission"] = function(params, answer)
    show_diff(params.toolCall.content[1])
    vim.ui.select(params.options, {}, function(option)
      answer({ outcome = { outcome = "selected", optionId = option.optionId } })
    end)
  end,
}

local function serve(message)
  local function answer(result)
    send({ id = message.id, result = result })
  end
  local result = requests[message.method](message.params, answer)
  if result then
    answer(result)
  end
end

local function hear(message)
  if requests[message.method] then
    vim.schedule(function()
      serve(message)
    end)
  elseif message.method == "session/update" then
    local text = text_of(message.params.update)
    if text then
      take(text)
    end
  elseif message.id == 1 then
    send({ id = 2, method = "session/new", params = { cwd = uv.cwd(), mcpServers = {} } })
  elseif message.id == 2 then
    session = message.result.sessionId
    answered = 2
  elseif message.id then
    answered = message.id
  end
end

local function listen(stdout)
  local rest = ""
  stdout:read_start(function(_, data)
    if not data then
      return
    end
    rest = rest .. data
    local from = 1
    while true do
      local stop = rest:find("\n", from, true)
      if not stop then
        break
      end
      hear(vim.json.decode(rest:sub(from, stop - 1)))
      from = stop + 1
    end
    rest = rest:sub(from)
  end)
end

--- The same windows as the plugin's, with plain buffers in them.
local function open_windows()
  if not buf then
    buf, prompt = api.nvim_create_buf(false, true), api.nvim_create_buf(false, true)
    vim.bo[buf].undolevels = -1
  end
  local width = math.floor(vim.o.columns / 2)
  win = api.nvim_open_win(buf, false, { split = "right", win = -1, width = width })
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
  local below = api.nvim_open_win(prompt, true, { split = "below", win = win, height = 5 })
  vim.wo[below].winfixheight = true
  vim.cmd.startinsert()
end

function M.toggle()
  if #vim.fn.win_findbuf(buf) == 0 then
    return open_windows()
  end
  for _, shown in ipairs({ buf, prompt }) do
    api.nvim_win_close(vim.fn.bufwinid(shown), true)
  end
end

function M.open(argv, way)
  open_windows()
  take = ways[way]()
  stdin = assert(uv.new_pipe())
  local stdout = assert(uv.new_pipe())
  local command = table.remove(argv, 1)
  assert(uv.spawn(command, { args = argv, stdio = { stdin, stdout, nil } }, function() end))
  listen(stdout)
  send({
    id = 1,
    method = "initialize",
    params = { protocolVersion = 1, clientCapabilities = vim.empty_dict() },
  })
end

function M.idle()
  return session ~= nil and answered == asked
end

function M.buffer()
  return buf
end

function M.prompt(text)
  asked = asked + 1
  send({
    id = asked,
    method = "session/prompt",
    params = { sessionId = session, prompt = { { type = "text", text = text } } },
  })
end

--- Takes up an earlier session, and has it measured.
function M.load(probe, last, ticks)
  probe.run(last, ticks, function()
    asked = asked + 1
    send({
      id = asked,
      method = "session/load",
      params = { sessionId = "old", cwd = uv.cwd(), mcpServers = {} },
    })
    return buf
  end)
end

return M

--- Waiting until language servers are quiet, for agents' tools. What a server does is told by events; only one that says
--- nothing is given up by time.

local M = {}

--- A server is quiet when it has said nothing for so long. Milliseconds, as below.
M.QUIET = 500
--- Nobody waits longer for that.
M.LIMIT = 15000

--- When each server came, or last said how far it is.
---@type table<integer, number>
local signs = {}
--- Of one that was there before, nothing else is known.
local began = vim.uv.now()
--- The servers that are waited for no more: they were quiet once and know the project, or nobody saw the end of it.
---@type table<integer, "knows"|"given up">
local known = {}

vim.api.nvim_create_autocmd({ "LspAttach", "LspProgress" }, {
  group = vim.api.nvim_create_augroup("acp_tool_quiet", {}),
  callback = function(args)
    signs[args.data.client_id] = vim.uv.now()
  end,
})
vim.api.nvim_create_autocmd("LspDetach", {
  group = "acp_tool_quiet",
  callback = function(args)
    signs[args.data.client_id] = nil
  end,
})

---@class acp.tools.Quiet
---@field events string[] what begins the quiet anew, beside what servers say of their progress
---@field is_early fun(waited: number): boolean whether to wait on, after so many milliseconds
---@field on_attach? fun(buf: integer) a server has come

--- Goes on once all have been quiet for a while, or at the limit.
---@param ctx acp.tools.Context
---@param how acp.tools.Quiet
---@param go_on fun()
function M.wait(ctx, how, go_on)
  local timer = assert(vim.uv.new_timer())
  local group = vim.api.nvim_create_augroup("acp_tool_" .. tostring(timer):gsub("%W", "_"), {})
  local is_over, first = false, vim.uv.now()
  local function stop()
    if not is_over then
      is_over = true
      timer:stop()
      timer:close()
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end
  end
  local again
  local ready = ctx.guard(function()
    if is_over then
      return
    end
    local waited = vim.uv.now() - first
    if waited < M.LIMIT and how.is_early(waited) then
      return again()
    end
    stop()
    go_on()
  end)
  function again()
    if not is_over then
      local left = math.max(M.LIMIT - (vim.uv.now() - first), 1)
      timer:start(math.min(M.QUIET, left), 0, vim.schedule_wrap(ready))
    end
  end
  local events = vim.list_extend({ "LspProgress" }, how.events)
  vim.api.nvim_create_autocmd(events, { group = group, callback = again })
  vim.api.nvim_create_autocmd("LspAttach", {
    group = group,
    callback = ctx.guard(function(args)
      if how.on_attach then
        how.on_attach(args.buf)
      end
      again()
    end),
  })
  ctx.on_end(stop)
  again()
end

--- What a server says that it is doing: "indexing".
---@param client vim.lsp.Client
---@return string?
local function work_of(client)
  local _, title = next(client.progress.pending)
  return title and tostring(title) or nil
end

--- Whether a server that was just started may still read the project. What it is busy with later is another matter.
local function is_reading(client)
  if known[client.id] == "knows" then
    return false
  end
  local is_new = vim.uv.now() - (signs[client.id] or began) < M.QUIET
  if is_new or next(client.progress.pending) then
    return true
  end
  known[client.id] = "knows"
  return false
end

--- Goes on once servers know the whole project, as far as they say: one that was just started reads it first, and what it
--- answers meanwhile leaves things out. After the limit the agent is told so, and nobody waits for that server again.
---@param clients vim.lsp.Client[]
---@param ctx acp.tools.Context
---@param go_on fun()
function M.when_settled(clients, ctx, go_on)
  local function is_early()
    for _, client in ipairs(clients) do
      if is_reading(client) and not known[client.id] then
        return true
      end
    end
    return false
  end
  local function then_do()
    for _, client in ipairs(clients) do
      local work = is_reading(client) and work_of(client)
      if work then
        known[client.id] = "given up"
        ctx.note = ("%s is still at work (%s), so this may not be all"):format(client.name, work)
      end
    end
    go_on()
  end
  if not is_early() then
    return then_do()
  end
  M.wait(ctx, { events = {}, is_early = is_early }, then_do)
end

return M

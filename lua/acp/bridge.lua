--- The program that an agent starts as an MCP server: `nvim --clean -l bridge.lua`. It passes on what comes between
--- its own stdin and stdout and the Neovim that offers the tools, which it finds by its environment. What is said
--- is the library's part.

local uv = vim.uv

local over, failed = false, false

--- What went wrong, for the agent's log.
local function fail(text)
  io.stderr:write("acp.nvim: " .. text .. "\n")
  over, failed = true, true
end

local door, token = os.getenv("ACP_NVIM_TOOLS"), os.getenv("ACP_NVIM_TOOLS_TOKEN")

--- Passes on all that one side says, and ends with it, once the other has taken all.
local function pump(from, to)
  from:read_start(function(err, data)
    if not err and data then
      to:write(data, function(trouble)
        over = over or trouble ~= nil
      end)
      return
    end
    from:read_stop()
    -- It comes after all that is being written.
    local is_ending = to:shutdown(function()
      over = true
    end)
    over = over or not is_ending
  end)
end

local function join(editor)
  local input, output = uv.new_pipe(false), uv.new_pipe(false)
  local is_open = input and output and input:open(0) and output:open(1)
  if not (input and output and is_open) then
    return fail("stdin and stdout are no pipes")
  end
  editor:write(vim.json.encode({ token = token }) .. "\n")
  pump(input, editor)
  pump(editor, output)
end

-- In a sandbox no socket that is a file can be reached.
local port = (door or ""):match("^127%.0%.0%.1:(%d+)$")
local editor = port and uv.new_tcp() or uv.new_pipe(false)
local function connected(err)
  if err then
    return fail("the Neovim that offered its tools is gone: " .. err)
  end
  join(editor)
end
if not (door and token) then
  fail("this is started by an agent, which Neovim tells where it is")
elseif not editor then
  fail("no pipe could be made")
elseif port then
  editor:connect("127.0.0.1", tonumber(port), connected)
else
  editor:connect(door, connected)
end

-- Events end the wait, not the clock: each of them has the condition looked at again.
while not over do
  vim.wait(1000000000, function()
    return over
  end, 1000000000)
end
os.exit(failed and 1 or 0)

-- Listens on a new pipe and gives its name; each time something comes `heard` is called, in the event loop.
-- Libuv keeps the handles until Neovim ends. It refuses a name that is taken, and only one is let in, which
-- is the caller, at once.
return function(heard)
  local name = ([[\\.\pipe\acp-nvim-%d-%d]]):format(vim.uv.os_getpid(), vim.uv.hrtime())
  local server = assert(vim.uv.new_pipe(false))
  assert(server:bind(name))
  assert(server:listen(1, function()
    local pipe = assert(vim.uv.new_pipe(false))
    server:accept(pipe)
    server:close()
    pipe:read_start(function(_, data)
      if data then
        heard()
      end
    end)
  end))
  return name
end

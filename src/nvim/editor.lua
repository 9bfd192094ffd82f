-- The loops that are dear to cross between Rust and Lua, as plain functions without state.
local api = vim.api

return {
  -- A buffer's lines in one string.
  text = function(buf)
    return table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
  end,

  -- Sets many extmarks. `marks` is a flat list: row, column, options, row, column, options, ...
  paint = function(buf, ns, marks)
    for i = 1, #marks, 3 do
      api.nvim_buf_set_extmark(buf, ns, marks[i], marks[i + 1], marks[i + 2])
    end
  end,

  -- Runs a command in a terminal in a split, in insert mode; `done` gets its exit code.
  run_in_terminal = function(command, env, cwd, done)
    vim.cmd("botright new")
    local options = {
      cwd = cwd,
      env = next(env) and env or nil,
      on_exit = function(_, code)
        done(code)
      end,
    }
    if vim.fn.has("nvim-0.11") == 1 then
      options.term = true
      vim.fn.jobstart(command, options)
    else
      vim.fn.termopen(command, options)
    end
    vim.cmd("startinsert")
  end,

  -- Runs an Ex command with `buf` as the current buffer.
  in_buffer = function(buf, command)
    api.nvim_buf_call(buf, function()
      api.nvim_command(command)
    end)
  end,
}

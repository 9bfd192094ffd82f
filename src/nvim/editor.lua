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

  -- Lets a buffer be edited that its user cannot change, until `lock`. Gives the windows that stand at its end,
  -- and the width of the one in this tab page; nothing for a buffer that is gone.
  unlock = function(buf)
    if not api.nvim_buf_is_loaded(buf) then
      return nil
    end
    local last, following = api.nvim_buf_line_count(buf), {}
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      if api.nvim_win_get_cursor(win)[1] >= last then
        following[#following + 1] = win
      end
    end
    api.nvim_set_option_value("modifiable", true, { buf = buf })
    local here = vim.fn.bufwinid(buf)
    return following, here > 0 and api.nvim_win_get_width(here) or nil
  end,

  -- Has the windows stand at the end of what was edited.
  lock = function(buf, following)
    api.nvim_set_option_value("modifiable", false, { buf = buf })
    local last = api.nvim_buf_line_count(buf)
    for _, win in ipairs(following) do
      if api.nvim_win_is_valid(win) then
        api.nvim_win_set_cursor(win, { last, 0 })
      end
    end
  end,

  -- Reads the file of a buffer without unsaved edits again if it has changed. Neovim must not ask: about
  -- a file that is new to an empty buffer it always does (W13), so such a buffer is edited anew.
  take_from_disk = function(buf)
    if api.nvim_buf_line_count(buf) == 1 and api.nvim_buf_get_lines(buf, 0, 1, true)[1] == "" then
      api.nvim_buf_call(buf, function()
        vim.cmd("silent keepalt edit")
      end)
      return
    end
    local answer = api.nvim_create_autocmd("FileChangedShell", {
      buffer = buf,
      callback = function()
        vim.v.fcs_choice = "reload"
      end,
    })
    local ok, err = pcall(vim.cmd, "silent checktime " .. buf)
    api.nvim_del_autocmd(answer)
    if not ok then
      error(err, 0)
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

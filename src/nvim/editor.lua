-- The loops that are dear to cross between Rust and Lua, as plain functions without state.
local api = vim.api
local before_row = { right_gravity = false }

-- Calls a function at each of these events in a buffer, in place of those the group had.
local function listen(name, buf, callbacks)
  local group = api.nvim_create_augroup(name, { clear = true })
  for event, callback in pairs(callbacks) do
    api.nvim_create_autocmd(event, {
      group = group,
      buffer = buf,
      callback = function()
        callback()
      end,
    })
  end
end

return {
  -- Sets many extmarks. `marks` is a flat list: row, column, options, row, column, options, ...
  paint = function(buf, ns, marks)
    for i = 1, #marks, 3 do
      api.nvim_buf_set_extmark(buf, ns, marks[i], marks[i + 1], marks[i + 2])
    end
  end,

  -- Puts lines at a buffer's end, the first of them behind what stands there, and sets marks: one of `regions` at
  -- each row of `starts`, whose ids it gives, and one of `ns` on each span, which has a group in `groups`.
  -- `spans` is a flat list: row, first column, column after the last, row, ...
  extend = function(buf, lines, regions, starts, ns, spans, groups)
    api.nvim_buf_set_text(buf, -1, -1, -1, -1, lines)
    local ids, options = {}, {}
    for i, row in ipairs(starts) do
      ids[i] = api.nvim_buf_set_extmark(buf, regions, row, 0, before_row)
    end
    for i, group in ipairs(groups) do
      options.end_col, options.hl_group = spans[3 * i], group
      api.nvim_buf_set_extmark(buf, ns, spans[3 * i - 2], spans[3 * i - 1], options)
    end
    return ids
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

  -- Some of a buffer's lines in one string, rows from 0.
  slice = function(buf, first, last)
    return table.concat(api.nvim_buf_get_lines(buf, first, last, true), "\n")
  end,

  -- Has what follows belong to the same undo step as the last change, where that can be.
  join_undo = function(buf)
    pcall(api.nvim_buf_call, buf, function()
      vim.cmd("undojoin")
    end)
  end,

  -- Has what follows belong to an undo step of its own, also while the user types: then Neovim must save for undo
  -- again what it takes for saved, or undo would bring back a mixture. `first` says that nothing is in yet.
  break_undo = function(buf, first)
    if first then
      vim.bo[buf].undolevels = vim.bo[buf].undolevels
    end
    if api.nvim_get_current_buf() == buf and api.nvim_get_mode().mode:find("^[iR]") then
      if not first then
        api.nvim_feedkeys("\7u", "in", false)
      end
    elseif not first then
      vim.bo[buf].undolevels = vim.bo[buf].undolevels
    end
  end,

  -- Neovim moves marks along with the text, but not where a selection begins: `unpin` does it.
  pin_selection = function(buf, ns)
    if api.nvim_get_current_buf() ~= buf or not api.nvim_get_mode().mode:find("^[vV\22]") then
      return nil
    end
    local start = vim.fn.getpos("v")
    local options = { strict = false }
    return api.nvim_buf_set_extmark(buf, ns, start[2] - 1, math.max(start[3] - 1, 0), options)
  end,

  unpin_selection = function(buf, ns, pin)
    local at = api.nvim_buf_get_extmark_by_id(buf, ns, pin, {})
    api.nvim_buf_del_extmark(buf, ns, pin)
    local start = vim.fn.getpos("v")
    if #at == 0 or (at[1] == start[2] - 1 and at[2] == start[3] - 1) then
      return
    end
    if api.nvim_get_current_buf() == buf and api.nvim_get_mode().mode:find("^[vV\22]") then
      vim.cmd("normal! o")
      pcall(api.nvim_win_set_cursor, 0, { at[1] + 1, at[2] })
      vim.cmd("normal! o")
    end
  end,

  -- Whether the user is in the middle of something in a buffer that an edit would spoil: a completion, a key
  -- that waits for another.
  is_occupied = function(buf)
    local mode = api.nvim_get_mode()
    return api.nvim_get_current_buf() == buf
      and mode.mode:find("^[iR]") ~= nil
      and (mode.blocking or vim.fn.pumvisible() == 1)
  end,

  -- The user wants the file back that was deleted, its folder included.
  write_back = function(buf)
    api.nvim_buf_call(buf, function()
      vim.cmd("silent write ++p")
    end)
  end,

  -- The windows stay, with the buffer that was in them before, as far as there is one.
  drop_buffer = function(buf)
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      api.nvim_win_call(win, function()
        local other = vim.fn.bufnr("#")
        if other <= 0 or other == buf or not vim.bo[other].buflisted then
          other = api.nvim_create_buf(true, false)
        end
        api.nvim_win_set_buf(win, other)
      end)
    end
    api.nvim_buf_delete(buf, { force = true })
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

  -- A scratch buffer that looks like another one, with other lines in it. Nothing that belongs to the file type
  -- is started for it: only its colours.
  twin = function(buf, name, lines)
    local stale = vim.fn.bufnr("^" .. vim.fn.escape(name, "\\^$.*~[]{},?") .. "$")
    if stale > 0 then
      pcall(api.nvim_buf_delete, stale, { force = true })
    end
    local twin = api.nvim_create_buf(false, true)
    pcall(api.nvim_buf_set_name, twin, name)
    vim.bo[twin].bufhidden = "wipe"
    vim.bo[twin].undolevels = -1
    api.nvim_buf_set_lines(twin, 0, -1, false, lines)
    vim.bo[twin].modifiable = false
    for _, option in ipairs({ "tabstop", "shiftwidth", "expandtab" }) do
      vim.bo[twin][option] = vim.bo[buf][option]
    end
    local kind = vim.bo[buf].filetype
    api.nvim_buf_call(twin, function()
      vim.cmd("noautocmd setlocal filetype=" .. kind)
    end)
    local active = vim.treesitter.highlighter.active[buf]
    local started = active and pcall(vim.treesitter.start, twin, active.tree:lang())
    if not started then
      vim.bo[twin].syntax = vim.bo[buf].syntax
    end
    return twin
  end,

  -- Has a window be one of a diff's two. What it had is given back to `end_diff`. Folds made by hand would not
  -- survive another 'foldmethod': such a window stays unfolded.
  begin_diff = function(win, bar)
    local before = { folds = false }
    for _, name in ipairs({ "foldmethod", "foldcolumn", "foldenable", "foldlevel", "wrap", "winbar" }) do
      before[name] = api.nvim_get_option_value(name, { scope = "local", win = win })
    end
    local set = function(name, value)
      api.nvim_set_option_value(name, value, { scope = "local", win = win })
    end
    api.nvim_win_call(win, function()
      if before.foldmethod == "manual" then
        local view = vim.fn.winsaveview()
        vim.cmd("keepjumps normal! gg")
        before.folds = vim.fn.foldlevel(1) > 0
          or pcall(vim.cmd, "keepjumps normal! zj") and vim.fn.line(".") > 1
        vim.fn.winrestview(view)
      end
    end)
    set("diff", true)
    set("scrollbind", true)
    set("cursorbind", true)
    if not vim.o.diffopt:find("followwrap") then
      set("wrap", false)
    end
    if before.folds then
      set("foldenable", false)
    else
      set("foldmethod", "diff")
      set("foldenable", true)
      set("foldlevel", 0)
    end
    set("winbar", bar)
    return before
  end,

  end_diff = function(win, before)
    local set = function(name, value)
      api.nvim_set_option_value(name, value, { scope = "local", win = win })
    end
    for _, name in ipairs({ "diff", "scrollbind", "cursorbind" }) do
      set(name, false)
    end
    local folded = api.nvim_get_option_value("foldmethod", { win = win }) == "diff"
    for name, value in pairs(before) do
      if name ~= "folds" then
        set(name, value)
      end
    end
    if folded and before.foldmethod == "manual" then
      api.nvim_win_call(win, function()
        pcall(vim.cmd, "normal! zE")
      end)
      set("foldenable", before.foldenable)
    end
  end,

  -- Calls a function when the user has changed a buffer; without one, no more.
  when_typed = function(buf, callback)
    local typed = callback
      and api.nvim_buf_is_valid(buf)
      and { TextChanged = callback, TextChangedI = callback }
    listen("acp.split." .. buf, buf, typed or {})
  end,

  -- Runs an Ex command in a window without going there.
  in_window = function(win, command)
    api.nvim_win_call(win, function()
      vim.cmd(command)
    end)
  end,

  -- A page whose lines that begin with + may be edited: what writing it and reading it again do.
  edit_page = function(buf, written, read)
    vim.bo[buf].comments = ":+"
    vim.bo[buf].formatoptions = "ro"
    vim.bo[buf].autoindent = true
    -- The beginning of such a line is behind its sign.
    vim.keymap.set("n", "I", function()
      return api.nvim_get_current_line():find("^  %+ ") and "4|a" or "I"
    end, { buffer = buf, expr = true, desc = "acp: insert at the beginning of the line" })
    listen("acp.page." .. buf, buf, { BufWriteCmd = written, BufReadCmd = read })
  end,

  -- Runs an Ex command with `buf` as the current buffer.
  in_buffer = function(buf, command)
    api.nvim_buf_call(buf, function()
      api.nvim_command(command)
    end)
  end,
}

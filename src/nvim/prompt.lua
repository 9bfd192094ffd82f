-- What a prompt may refer to in the editor, as text; each function gives nothing where there is nothing.
local api, fn = vim.api, vim.fn

local words = { "error", "warning", "info", "hint" }

local function name_of(buf)
  local name = api.nvim_buf_get_name(buf)
  return name == "" and ("buffer %d"):format(buf) or fn.fnamemodify(name, ":.")
end

-- Whether a :write that is being carried out was the user's: typed, or a mapping's. An autosave's comes from an
-- autocommand, a script or a Lua function, which are on one of the two stacks then.
local function is_by_hand()
  -- This autocommand itself is on it.
  if fn.expand("<stack>"):find("..", 1, true) then
    return false
  end
  local level, frame = 1, nil
  repeat
    level = level + 1
    frame = debug.getinfo(level, "S")
  until not frame or (frame.what ~= "C" and not frame.source:find("acp/prompt", 1, true))
  return frame == nil
end

-- Whether a command writes a buffer only if that is modified, which a prompt never is.
local function writes_if_modified(line)
  local name = line:match("^[%s:]*(%a+)!?%s*$") or ""
  local function is(long, least)
    return #name >= least and vim.startswith(long, name)
  end
  return is("update", 2) or is("xit", 1) or is("exit", 3)
end

-- Has :write send what is typed. Nothing in the prompt is ever left for Neovim to save: it is kept as it is typed, so
-- that neither :qall nor :wall, nor plugins that write what is modified, have to do with it.
local function send_when_written(buf, group, send)
  vim.bo[buf].buftype = "acwrite"
  local function settle()
    if api.nvim_buf_is_valid(buf) and vim.bo[buf].modified then
      vim.bo[buf].modified = false
    end
  end
  api.nvim_buf_attach(buf, false, { on_lines = settle })
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    group = group,
    buffer = buf,
    callback = settle,
  })
  api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    buffer = buf,
    callback = function()
      if fn.getcmdtype() == ":" and not vim.v.event.abort and writes_if_modified(fn.getcmdline()) then
        vim.bo[buf].modified = true
        -- Should the command fail, it is as before.
        vim.schedule(settle)
      end
    end,
  })
  api.nvim_create_autocmd("BufWriteCmd", {
    group = group,
    buffer = buf,
    callback = function(event)
      vim.bo[buf].modified = false
      if not is_by_hand() then
        return
      end
      local name = api.nvim_buf_get_name(buf)
      if event.match ~= name and event.file ~= name then
        -- A copy in a file, as Neovim writes it.
        local range = ("%d,%d"):format(fn.line("'["), fn.line("']"))
        local target = vim.v.cmdarg .. " " .. fn.fnameescape(event.file)
        local ok, why = pcall(vim.cmd, "silent noautocmd keepalt " .. range .. "write! " .. target)
        if not ok then
          require("acp.notify").show((tostring(why):gsub("^.-(E%d+:)", "%1")), vim.log.levels.ERROR)
        end
        return
      end
      -- Not in the midst of writing it.
      vim.schedule(send)
    end,
  })
  vim.keymap.set("n", "ZZ", "<Cmd>wq<CR>", { buffer = buf, desc = "acp: send the prompt and hide the chat" })
end

return {
  -- The diagnostics of a buffer, one a line.
  diagnostics = function(buf)
    local lines = {}
    for _, each in ipairs(vim.diagnostic.get(buf)) do
      local message = each.message:gsub("%s+", " ")
      local source = each.source and (" [%s]"):format(each.source) or ""
      lines[#lines + 1] = ("%s:%d:%d: %s: %s%s"):format(
        name_of(buf),
        each.lnum + 1,
        each.col + 1,
        words[each.severity] or "note",
        message,
        source
      )
    end
    return #lines > 0 and table.concat(lines, "\n") or nil
  end,

  -- The quickfix list, one entry a line.
  quickfix = function()
    local lines = {}
    for _, each in ipairs(fn.getqflist()) do
      local place = each.bufnr > 0 and ("%s:%d: "):format(name_of(each.bufnr), each.lnum) or ""
      lines[#lines + 1] = place .. each.text
    end
    return #lines > 0 and table.concat(lines, "\n") or nil
  end,

  -- The first and the last line of what was selected last in a buffer.
  selection = function(buf)
    local first, last = api.nvim_buf_get_mark(buf, "<")[1], api.nvim_buf_get_mark(buf, ">")[1]
    if first > 0 and last >= first then
      return first, math.min(last, api.nvim_buf_line_count(buf))
    end
  end,

  -- The first and the last line of a buffer on the screen.
  viewport = function(buf)
    local win = fn.bufwinid(buf)
    if win > 0 then
      return fn.line("w0", win), fn.line("w$", win)
    end
  end,

  -- The first and the last line of the function, class or the like of that name, or at the buffer's cursor.
  symbol = function(buf, name)
    return require("acp.symbols").lines(buf, name)
  end,

  -- The end of the terminal that was used last, other than those that `skip` names.
  terminal = function(skip)
    local best
    for _, each in ipairs(fn.getbufinfo({ bufloaded = 1 })) do
      local wanted = vim.bo[each.bufnr].buftype == "terminal" and not skip[each.bufnr]
      if wanted and (not best or each.lastused > best.lastused) then
        best = each
      end
    end
    if not best then
      return nil
    end
    local lines = api.nvim_buf_get_lines(best.bufnr, -500, -1, false)
    while lines[#lines] == "" do
      lines[#lines] = nil
    end
    return #lines > 0 and table.concat(lines, "\n") or nil
  end,

  -- Calls `changed` when a prompt's text has changed, `entered` when its user comes to it, and `send` when they write
  -- it.
  attach = function(buf, complete, changed, entered, send)
    local group = api.nvim_create_augroup("acp.prompt", { clear = false })
    api.nvim_clear_autocmds({ group = group, buffer = buf })
    api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
      group = group,
      buffer = buf,
      callback = function()
        changed()
      end,
    })
    api.nvim_create_autocmd("BufEnter", {
      group = group,
      buffer = buf,
      callback = function()
        entered()
      end,
    })
    send_when_written(buf, group, send)
    require("acp.complete").attach(buf, complete)
  end,

  -- Puts a text in place of a prompt's, as an undo step of its own, with the cursor at its end.
  replace = function(buf, lines)
    if fn.pumvisible() == 1 and api.nvim_get_current_buf() == buf then
      -- The menu would be put over what is new.
      fn.complete(fn.col("."), {})
    end
    -- As |undo-break| has it.
    vim.bo[buf].undolevels = vim.bo[buf].undolevels
    api.nvim_buf_set_lines(buf, 0, -1, false, lines)
    for _, win in ipairs(fn.win_findbuf(buf)) do
      api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
    end
  end,
}

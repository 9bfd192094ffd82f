-- What a prompt may refer to in the editor, as text; each function gives nothing where there is nothing.
local api, fn = vim.api, vim.fn

local words = { "error", "warning", "info", "hint" }

local function name_of(buf)
  local name = api.nvim_buf_get_name(buf)
  return name == "" and ("buffer %d"):format(buf) or fn.fnamemodify(name, ":.")
end

-- What is read in place of a key whose mapping is a Lua function, or a command: |<Cmd>|.
local mapped = { ["\128\253g"] = true, [vim.keycode("<Cmd>")] = true }
-- Prompts, by their buffers.
local prompts = {}
-- The user has just pressed such a key in a prompt, or ended a command line: what runs is theirs. Whatever was put off,
-- as timers and |vim.schedule()| do, runs after that.
local is_pressed = false

local function press()
  is_pressed = true
  vim.schedule(function()
    is_pressed = false
  end)
end

vim.on_key(function(key)
  is_pressed = false
  if mapped[key] and prompts[api.nvim_get_current_buf()] then
    press()
  end
end, api.nvim_create_namespace("acp.prompt.keys"))

-- Whether autocommands, scripts or Vimscript functions are being run, of which this autocommand itself is the last; and
-- whether there is an autocommand among the others.
local function callers()
  local stack = vim.split(fn.expand("<stack>"), "..", { plain = true })
  stack[#stack] = nil
  local has_autocommand = vim.iter(stack):any(function(entry)
    -- Neovim says in the user's language that it is one.
    return vim.iter(entry:gmatch("%u%a+")):any(function(word)
      return fn.exists("##" .. word) == 1
    end)
  end)
  return #stack > 0, has_autocommand
end

-- Whether a :write that is being carried out was the user's: typed, or a mapping's, whatever that runs. An autosave's
-- comes from an autocommand, or from something that was put off, whose Lua or Vimscript function is on a stack then.
local function is_by_hand()
  local is_called, has_autocommand = callers()
  if has_autocommand then
    return false
  elseif is_pressed or is_called then
    return is_pressed
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
  prompts[buf] = true
  local function settle()
    if api.nvim_buf_is_valid(buf) and vim.bo[buf].modified then
      vim.bo[buf].modified = false
    end
  end
  api.nvim_buf_attach(buf, false, {
    on_lines = settle,
    on_detach = function()
      prompts[buf] = nil
    end,
  })
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    group = group,
    buffer = buf,
    callback = settle,
  })
  api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    buffer = buf,
    callback = function()
      if fn.getcmdtype() ~= ":" or vim.v.event.abort then
        return
      end
      press()
      if writes_if_modified(fn.getcmdline()) then
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

-- What shows in an empty prompt, by buffer: the text, and what its keys meant before.
local suggested = {}
local ghosts = api.nvim_create_namespace("acp.suggestions")

local function forget_suggestion(buf)
  local before = suggested[buf]
  suggested[buf] = nil
  if not before or not api.nvim_buf_is_valid(buf) then
    return
  end
  api.nvim_buf_clear_namespace(buf, ghosts, 0, -1)
  for lhs, mapping in pairs(before.keys) do
    -- Somebody else may have mapped or unmapped it since.
    local now = api.nvim_buf_call(buf, function()
      return fn.maparg(lhs, "i", false, true)
    end)
    if now.buffer == 1 and now.callback == before.take then
      vim.keymap.del("i", lhs, { buffer = buf })
      if mapping then
        api.nvim_buf_call(buf, function()
          fn.mapset("i", false, mapping)
        end)
      end
    end
  end
end

return {
  -- Shows a text in an empty prompt that keys put there, or none. The keys are those of the user until then, and after.
  suggest = function(buf, text, keys, take)
    local before = suggested[buf]
    if (before and before.text) == text then
      return
    end
    forget_suggestion(buf)
    if not text then
      return
    end
    local shown = { text = text, keys = {}, take = take }
    for _, lhs in ipairs(keys) do
      local mapping = api.nvim_buf_call(buf, function()
        return fn.maparg(lhs, "i", false, true)
      end)
      shown.keys[lhs] = mapping.buffer == 1 and mapping or false
      vim.keymap.set("i", lhs, take, { buffer = buf, nowait = true, desc = "acp: take the suggestion" })
    end
    suggested[buf] = shown
    api.nvim_buf_set_extmark(
      buf,
      ghosts,
      0,
      0,
      { virt_text = { { text, "AcpMeta" } }, virt_text_pos = "overlay" }
    )
  end,

  -- The cursor goes behind the last character.
  to_end = function(buf)
    local last = api.nvim_buf_line_count(buf)
    local line = api.nvim_buf_get_lines(buf, last - 1, last, true)[1]
    for _, win in ipairs(fn.win_findbuf(buf)) do
      api.nvim_win_set_cursor(win, { last, #line })
    end
  end,

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

  -- Whether a language server is to be asked first about that.
  asks_server = function(buf)
    return require("acp.symbols").is_worth_asking(buf)
  end,

  -- Has it asked, and calls `done` when it has answered, or will not.
  ask_server = function(buf, done)
    require("acp.symbols").fetch(buf, done)
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
    require("acp.complete").was_given(buf)
    for _, win in ipairs(fn.win_findbuf(buf)) do
      api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
    end
  end,
}

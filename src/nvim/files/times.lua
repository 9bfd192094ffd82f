-- Neovim's own looks at the times of files, for buffers that sessions have to do with: none of its dialogs comes
-- (:help W11, W12, W13, and the question before a :write). What is done about a file that has changed is left to the
-- callbacks of `guard`.
local api = vim.api

-- What a look of our own makes of a changed file, by buffer.
local answers = {}
-- Buffers whose file holds something that they do not know yet.
local behind = {}
-- Buffers that had no file when it was last looked at.
local absent = {}
-- Buffers with the only text of a file that is gone.
local only_text = {}
-- Buffers whose file Neovim asks nothing about.
local guarded = {}
-- The 'autoread' that they had of their own, if any.
local autoread = {}
-- Called when the file of such a buffer is another one, and after a :write that would have overwritten it.
local changed, refused

-- Calls a function so that autocommands run in it, also when this is called from one that is not |autocmd-nested|,
-- or with 'eventignore' set.
local function nested(work)
  local group = api.nvim_create_augroup("acp.nested", { clear = true })
  local ignored = vim.o.eventignore
  local ok, result
  api.nvim_create_autocmd("User", {
    group = group,
    pattern = "acp.nested",
    nested = true,
    once = true,
    callback = function()
      ok, result = pcall(work)
    end,
  })
  if ignored ~= "" then
    vim.o.eventignore = ""
  end
  api.nvim_exec_autocmds("User", { group = group, pattern = "acp.nested", modeline = false })
  if ignored ~= "" then
    vim.o.eventignore = ignored
  end
  if not ok then
    error(result, 0)
  end
  return result
end

local function is_there(buf)
  return vim.uv.fs_stat(api.nvim_buf_get_name(buf)) ~= nil
end

-- Has Neovim compare a buffer with its file, and do what it would ask about else: "reload", or nothing for "".
local function check(buf, answer)
  local other = api.nvim_create_autocmd("FileChangedShell", {
    buffer = buf,
    callback = function()
      vim.v.fcs_choice = answer
    end,
  })
  answers[buf] = answer
  local ok, err = pcall(nested, function()
    vim.cmd("silent checktime " .. buf)
  end)
  answers[buf] = nil
  api.nvim_del_autocmd(other)
  if not ok then
    error(err, 0)
  end
end

-- Has Neovim look at a buffer's file, as it does by itself elsewhere.
local function look(buf)
  -- A buffer that an autocommand deletes meanwhile is nothing to look at.
  pcall(nested, function()
    vim.cmd("silent checktime " .. buf)
  end)
end

-- Takes back what refuses writes, if there is anything.
local function allow_writes(buf)
  pcall(api.nvim_del_augroup_by_name, "acp.refuse." .. buf)
end

-- Has Neovim take the file as it is now for the one that the buffer was read from. It does so after it has written
-- a buffer, also when an autocommand has done that for it, and by FileAppendCmd it asks for less than by any other:
-- nothing is written. Should that autocommand be kept from running, 'buftype' prevents that Neovim writes itself.
local function trust(buf)
  local kind = vim.bo[buf].buftype
  nested(function()
    local command = api.nvim_create_autocmd("FileAppendCmd", { buffer = buf, callback = function() end })
    local name = vim.fn.fnameescape(api.nvim_buf_get_name(buf))
    local ok, err = pcall(api.nvim_buf_call, buf, function()
      vim.cmd("noautocmd setlocal buftype=acwrite")
      local done, why = pcall(vim.cmd, "silent keepalt lockmarks write! >> " .. name)
      vim.cmd("noautocmd setlocal buftype=" .. kind)
      if not done then
        error(why, 0)
      end
    end)
    api.nvim_del_autocmd(command)
    if not ok then
      error(err, 0)
    end
  end)
  behind[buf] = nil
  absent[buf] = not is_there(buf) or nil
  allow_writes(buf)
end

-- A :write of the text as it is now was refused.
local function refuse(buf)
  local tick = api.nvim_buf_get_changedtick(buf)
  vim.schedule(function()
    refused(buf, tick)
  end)
end

-- While the file is known to be another one, a :write ends here, without a word from Neovim.
local function refuse_writes(buf)
  behind[buf] = true
  local group = api.nvim_create_augroup("acp.refuse." .. buf, { clear = true })
  api.nvim_create_autocmd("BufWriteCmd", {
    group = group,
    buffer = buf,
    nested = true,
    callback = function(event)
      local name = api.nvim_buf_get_name(buf)
      local is_own = event.match == name or vim.fn.fnamemodify(event.file, ":p") == name
      if is_own and behind[buf] and vim.v.cmdbang == 0 then
        refuse(buf)
        return
      end
      allow_writes(buf)
      local target = is_own and "" or " " .. vim.fn.fnameescape(event.file)
      local bang = vim.v.cmdbang == 1 and "!" or ""
      local ok, err = pcall(vim.cmd, "write" .. bang .. " " .. vim.v.cmdarg .. target)
      if not ok then
        require("acp.notify").show((tostring(err):gsub("^.-(E%d+:)", "%1")), vim.log.levels.ERROR)
      end
      if behind[buf] and api.nvim_buf_is_loaded(buf) then
        refuse_writes(buf)
      end
    end,
  })
end

-- The file is another one. Nothing can be done about it right here (:help E811).
local function has_changed(buf)
  refuse_writes(buf)
  vim.schedule(function()
    changed(buf)
  end)
end

-- With 'autoread', Neovim reads a file again without a word to anyone, whole or not.
local function ask_first(buf)
  autoread[buf] = vim.bo[buf].autoread
  vim.bo[buf].autoread = false
end

local function ask_as_before(buf)
  -- The user may have set it meanwhile.
  if vim.bo[buf].autoread == false then
    vim.bo[buf].autoread = autoread[buf]
  end
  autoread[buf] = nil
end

local function choose(buf)
  local reason = vim.v.fcs_reason
  if answers[buf] then
    vim.v.fcs_choice = answers[buf]
  elseif reason == "time" then
    -- The text is the same. Neovim asks nothing then, and takes note of the time.
    vim.v.fcs_choice = "ask"
  else
    vim.v.fcs_choice = ""
    if reason ~= "mode" then
      has_changed(buf)
    end
  end
end

-- Whether a buffer's file is another one than the buffer knows. Neovim does not look for one that it has been told
-- is not there.
local function is_behind(buf)
  if absent[buf] and not behind[buf] then
    behind[buf] = is_there(buf) or nil
  elseif not behind[buf] then
    look(buf)
  end
  return behind[buf] == true
end

local function before_write(buf, event)
  local name = api.nvim_buf_get_name(buf)
  local is_own = event.match == name or vim.fn.fnamemodify(event.file, ":p") == name
  if vim.v.cmdbang == 1 or not is_own then
    return
  end
  if is_behind(buf) then
    vim.b[buf].acp_refused = vim.fn.fnamemodify(name, ":t") .. " has changed on the disk; write it again"
    refuse(buf)
  end
end

-- The Ex commands that write: the buffer that the user is in, and all that have unsaved edits.
local ONE, ALL = {}, {}
for _, name in ipairs({ "write", "update", "wq", "xit", "exit", "wnext", "wNext", "wprevious" }) do
  ONE[name] = true
end
for _, name in ipairs({ "wall", "wqall", "xall" }) do
  ALL[name] = true
end

-- Before a command line that writes is run: Neovim has no other word for what is refused later than an error. No disk
-- is looked at but where the command writes to, since another one may not answer.
local function before_command()
  if not next(guarded) or vim.v.event.abort then
    return
  end
  local ok, command = pcall(api.nvim_parse_cmd, vim.fn.getcmdline(), {})
  -- With a "!", what is on the disk does not count. Other files that it names are no buffer's own.
  if not ok or command.bang or #(command.args or {}) > 0 then
    return
  end
  local written = {}
  if ONE[command.cmd] then
    written = { api.nvim_get_current_buf() }
  elseif ALL[command.cmd] then
    written = vim.tbl_keys(guarded)
  end
  for _, buf in ipairs(written) do
    local may_be_refused = guarded[buf] and api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified
    if may_be_refused and is_behind(buf) then
      refuse_writes(buf)
    end
  end
end

local function known(buf)
  behind[buf], absent[buf], only_text[buf] = nil, nil, nil
  allow_writes(buf)
end

-- An undo may lead to the text that was saved last, which Neovim takes for saved then. The file is gone, though.
local function stay_modified(buf)
  local has_text = api.nvim_buf_line_count(buf) > 1 or api.nvim_buf_get_lines(buf, 0, 1, true)[1] ~= ""
  if not only_text[buf] or not has_text or vim.bo[buf].modified then
    return
  end
  if is_there(buf) then
    only_text[buf] = nil
  else
    vim.bo[buf].modified = true
  end
end

local function guard(buf)
  if guarded[buf] then
    return
  end
  guarded[buf] = api.nvim_create_augroup("acp.times." .. buf, { clear = true })
  ask_first(buf)
  local on = function(event, options)
    options.group, options.buffer = guarded[buf], buf
    api.nvim_create_autocmd(event, options)
  end
  on("FileChangedShell", {
    callback = function()
      choose(buf)
    end,
  })
  on("BufWritePre", {
    callback = function(event)
      before_write(buf, event)
    end,
  })
  -- What is thrown ends a :write without a word, and leaves the keys alone that were typed behind it. An error of
  -- a Lua function would be shown and end nothing.
  on("BufWritePre", {
    command = "if exists('b:acp_refused') | silent! throw remove(b:, 'acp_refused') | endif",
  })
  on("BufWritePost", {
    callback = function(event)
      if event.match == api.nvim_buf_get_name(buf) then
        known(buf)
      end
    end,
  })
  on("BufModifiedSet", {
    callback = function()
      stay_modified(buf)
    end,
  })
  on("BufReadPost", {
    callback = function()
      known(buf)
    end,
  })
  on({ "BufUnload", "BufWipeout" }, {
    callback = function()
      pcall(api.nvim_del_augroup_by_id, guarded[buf])
      guarded[buf] = nil
      ask_as_before(buf)
      known(buf)
    end,
  })
end

return {
  -- Who is told of files that have changed.
  listen = function(on_change, on_refusal)
    changed, refused = on_change, on_refusal
    local group = api.nvim_create_augroup("acp.times", { clear = true })
    api.nvim_create_autocmd("CmdlineLeave", { group = group, pattern = ":", callback = before_command })
    -- Neovim may leave before it has said that something is saved.
    api.nvim_create_autocmd("QuitPre", {
      group = group,
      callback = function()
        vim.iter(pairs(only_text)):each(stay_modified)
      end,
    })
  end,

  guard = guard,

  -- Leaves a buffer to Neovim again. Not one without a file, nor one whose file is still to be merged: Neovim would
  -- overwrite what appears there.
  unguard = function(buf)
    if guarded[buf] and not behind[buf] and not absent[buf] and not only_text[buf] then
      api.nvim_del_augroup_by_id(guarded[buf])
      guarded[buf] = nil
      ask_as_before(buf)
    end
  end,

  -- The buffer knows what its file holds, or that there is none. Of a buffer that began without a file Neovim asks
  -- about one that appears, whatever autocommands say (W13), unless it was told so.
  acknowledge = trust,

  -- The file is gone: what the buffer holds counts as unsaved until it is written or read.
  has_only_text = function(buf)
    guard(buf)
    only_text[buf] = true
    stay_modified(buf)
  end,

  -- The file holds something that the buffer does not know yet.
  fall_behind = refuse_writes,

  is_behind = function(buf)
    return behind[buf] == true
  end,

  -- The same, with another look at the file.
  is_behind_now = function(buf)
    return guarded[buf] ~= nil and is_behind(buf)
  end,

  -- Looks at the file of a buffer that is about to be shown, since Neovim does so itself then, and asks.
  look = function(buf)
    if vim.bo[buf].buftype ~= "" or not api.nvim_buf_is_loaded(buf) or api.nvim_buf_get_name(buf) == "" then
      return
    end
    local passing = not guarded[buf]
      and api.nvim_create_autocmd("FileChangedShell", {
        buffer = buf,
        callback = function()
          choose(buf)
        end,
      })
    if passing then
      ask_first(buf)
    end
    look(buf)
    if passing and api.nvim_buf_is_valid(buf) then
      api.nvim_del_autocmd(passing)
      ask_as_before(buf)
    end
    if behind[buf] then
      guard(buf)
    end
  end,

  -- Reads the file of a buffer without unsaved edits again if it has changed. Neovim must not ask: about
  -- a file that is new to an empty buffer it always does (W13), so such a buffer is edited anew.
  take_from_disk = function(buf)
    if api.nvim_buf_line_count(buf) == 1 and api.nvim_buf_get_lines(buf, 0, 1, true)[1] == "" then
      api.nvim_buf_call(buf, function()
        vim.cmd("silent keepalt edit")
      end)
    else
      check(buf, "reload")
    end
  end,
}
